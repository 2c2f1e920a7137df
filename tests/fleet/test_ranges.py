"""A long log in ranges: each failure once and whole, wherever the log is cut."""

from __future__ import annotations

import io
import random
from itertools import pairwise
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tfmemlens.fleet import flow, ranges, rows, schema
from tfmemlens.patterns import regex

LOGS = ROOT / "sample_traces" / "oom_log"
SAMPLES = sorted(LOGS.glob("*.txt"))
SMALL = ranges.Sizes(
    piece=1 << 10,
    quiet=4,
    context=2,
    longest=64 << 10,
    head=4 << 10,
    tail=16 << 10,
    end=8 << 10,
    block=8 << 10,
)
ORIGIN = flow.Origin("big.log", {})


def quiet(size: int, chance: random.Random) -> bytes:
    lines, length = [], 0
    while length < size:
        line = b"2024-05-01 10:00:00,000 INFO step %d loss 0.%d" % (length, chance.randrange(10**6))
        lines.append(line + b" x" * chance.randrange(20) + b"\n")
        length += len(lines[-1])
    return b"".join(lines)


def whole(raw: bytes, sizes: ranges.Sizes = SMALL) -> flow.ReadResult:
    return ranges.read_stream(io.BytesIO(raw), ORIGIN, sizes)


def cut(raw: bytes, places: list[int], sizes: ranges.Sizes = SMALL) -> flow.ReadResult:
    borders = [0, *sorted(places), None]
    parts = [ranges.Range(start or 0, end) for start, end in pairwise(borders)]
    read = [ranges.read_range(io.BytesIO(raw), part, source="big.log", sizes=sizes) for part in parts]
    return ranges.joined(read)


@pytest.mark.parametrize("seed", range(5))
def test_wherever_a_log_is_cut_its_rows_are_the_same(seed: int) -> None:
    chance = random.Random(seed)
    raw = quiet(chance.randrange(30_000), chance)
    for sample in chance.sample(SAMPLES, 4):
        raw += sample.read_bytes() + b"\n" + quiet(chance.randrange(40_000), chance)
    together = whole(raw)
    assert together.rows
    places = [at * SMALL.piece for at in chance.sample(range(1, len(raw) // SMALL.piece), 6)]
    assert cut(raw, places) == together


def test_a_cut_in_every_piece_of_a_failure_finds_it_once() -> None:
    chance = random.Random(5)
    raw = quiet(20_000, chance) + (LOGS / "1.15-unet-layout.txt").read_bytes() + quiet(20_000, chance)
    together = whole(raw)
    assert len(together.rows) == 1
    for place in range(SMALL.piece, len(raw), 7 * SMALL.piece):
        assert cut(raw, [place]) == together


def test_a_log_that_fails_without_end_is_cut_at_the_same_places() -> None:
    line = b"2024-05-01 10:00:%02d OOM when allocating tensor with shape[%d,8] and type float on /gpu:0\n"
    raw = b"".join(line % (at % 60, at // 100 + 1) for at in range(900))
    sizes = ranges.Sizes(piece=1 << 10, longest=16 << 10, head=4 << 10, tail=8 << 10, block=4 << 10)
    together = whole(raw, sizes)
    assert sum(row["occurrences"] for row in together.rows) == 900
    for place in (17 << 10, 32 << 10, 63 << 10):
        assert cut(raw, [place], sizes) == together


@pytest.mark.parametrize("sample", SAMPLES[::20], ids=lambda sample: sample.stem)
def test_a_story_says_what_the_whole_log_says(sample: Path) -> None:
    chance = random.Random(3)
    raw = quiet(1 << 17, chance) + sample.read_bytes() + b"\n" + quiet(1 << 17, chance)
    as_one = rows.read_bytes(io.BytesIO(raw), source="big.log")
    in_stories = whole(raw, ranges.Sizes(tail=32 << 10))
    same = ("offset", "line", "time", "limit_bytes", "requested_bytes", "occurrences", "signature", "verdict")
    assert [[_unnumbered(row[name]) for name in same] for row in in_stories.rows] == [
        [_unnumbered(row[name]) for name in same] for row in as_one.rows
    ]


def _unnumbered(said: object) -> object:
    """Without the numbers of other lines: in a part of a long log they are byte positions."""
    return regex(r"line \d+").sub("line", said) if isinstance(said, str) else said


def test_the_last_lines_are_read_for_every_word() -> None:
    raw = quiet(100_000, random.Random(1)) + b"slurmstepd: error: Detected 1 oom_kill event.\n"
    together = whole(raw)
    assert [row["offset"] for row in together.rows] == [raw.rindex(b"slurmstepd")]
    assert cut(raw, [96 << 10]) == together


def test_a_phrase_of_a_failure_is_found_before_the_last_lines() -> None:
    chance = random.Random(1)
    after = quiet(12_000, chance)
    assert SMALL.end < len(after) < SMALL.tail
    for line, count in ((b"Dst tensor is not initialized.\n", 1), (b"Buffer 1:\n\tSize: 3.15GiB\n", 0)):
        raw = quiet(100_000, chance) + line + after
        assert len(whole(raw).rows) == count
        assert len(whole(raw[: -len(after)]).rows) == 1
        assert cut(raw, [96 << 10]) == whole(raw)


@pytest.mark.parametrize("shift", range(-40, 8, 7))
def test_words_across_two_blocks_are_found(shift: int) -> None:
    chance = random.Random(2)
    place = 3 * SMALL.block + shift
    raw = quiet(place, chance)
    raw = raw[: raw.rindex(b"\n", 0, place - 1) + 1].ljust(place - 1, b"x") + b"\n"
    raw += b"OOM when allocating tensor with shape[8,8] and type float on /gpu:0\n"
    together = whole(raw + quiet(40_000, chance))
    assert [(row["offset"], row["line"]) for row in together.rows] == [(place, raw.count(b"\n"))]


def test_a_log_in_two_bytes_a_character_is_read_once() -> None:
    text = (quiet(30_000, random.Random(2)) + (LOGS / "1.15-unet-layout.txt").read_bytes()).decode()
    raw = text.encode("utf-16")
    found = cut(raw, [32 << 10])
    assert [row["line"] for row in found.rows] == [row["line"] for row in whole(text.encode()).rows]


def test_a_stream_above_the_limit_of_a_text_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "WHOLE", 1 << 20)
    raw = (
        quiet(1 << 20, random.Random(1))
        + (LOGS / "2.4-conv3d.txt").read_bytes()
        + quiet(9000, random.Random(2))
    )
    result = rows.read_bytes(io.BytesIO(raw), source="big.log")
    assert result.status == schema.READ and result.size_read == len(raw)
    assert [raw[row["offset"] - 1 : row["offset"]] for row in result.rows] == [b"\n"]
    assert (result.lines, str(result.first_time)) == (raw.count(b"\n"), "2024-05-01 10:00:00")


def test_ranges_cover_a_log() -> None:
    mib = 1 << 20
    assert ranges.ranges(255 * mib) == [ranges.Range(0, None)]
    for size in (256 * mib, 1000 * mib + 5, 10_000 * mib):
        parts = ranges.ranges(size)
        assert [part.start for part in parts[1:]] == [part.end for part in parts[:-1]]
        assert parts[0].start == 0 and parts[-1].end is None
        assert size - parts[-1].start <= 1.5 * ranges.LENGTH
        assert all(part.start % ranges.SIZES.longest == 0 for part in parts)
