"""Of a big log only regions are read: each line once, as it stands at its byte, and the whole of every
failure.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.findings.logs import dump, oom
from tfmemlens.readers.bytes import regions, texts
from tfmemlens.readers.gathering import inputs, opening

QUIET = b"step 100 loss 0.25 images/sec 312.5 learning_rate 0.001\n"
LOUD = (dump(512, 4000, 3900, (20, 30)) + oom("64,256,256,32")).encode()
MIDDLES = {
    "nothing": (b"",),
    "one": (LOUD,),
    "two, close": (LOUD, QUIET * 100, LOUD),
    "two, far": (LOUD, QUIET * 100_000, LOUD),
}


def lines(path: Path, content: bytes) -> Iterator[tuple[int, str]]:
    path.write_bytes(content)
    opened = opening.open_input(inputs.Input(str(path)))
    with opened.file:
        found, whole = texts.text_lines(opened)
        assert not whole
        yield from found


@pytest.mark.parametrize("middle", MIDDLES)
@pytest.mark.parametrize("end", [b"", b"the last line", LOUD], ids=("even", "open", "loud"))
def test_each_line_stands_at_its_byte_once(middle: str, end: bytes, tmp_path: Path) -> None:
    content = b"the first line\n" + QUIET * 250_000 + b"".join(MIDDLES[middle]) + QUIET * 250_000 + end
    found = list(lines(tmp_path / "train.log", content))
    places = [place for place, _ in found]
    assert places == sorted(set(places))
    assert found[0] == (0, "the first line")
    for place, text in found:
        raw = text.encode()
        assert content[place : place + len(raw)] == raw
        assert place == 0 or content[place - 1 : place] == b"\n"
    expected = (
        LOUD if end == LOUD else content
    )  # where the tail tells of a failure, nothing before it is searched
    for word in ("OOM when allocating", "InUse at"):
        assert sum(word in text for _, text in found) == expected.count(word.encode())
    assert found[-1][1] == content.rsplit(b"\n", 1)[1].decode()
    assert sum(len(text) for _, text in found) < 4 << 20


def test_a_long_dump_is_read_to_both_its_ends(tmp_path: Path) -> None:
    """Far above what surrounds one hit: the region grows while its neighbourhood speaks the allocator's
    language.
    """
    chunk = (
        b"2024-01-01 00:00:00.000000: I tensorflow/core/common_runtime/bfc_allocator.cc:1086] InUse at"
        b" 7f0000000000 of size 256 next 1\n"
    )
    content = (
        QUIET * 300_000 + chunk * 20_000 + oom("64,256,256,32").encode() + chunk * 20_000 + QUIET * 300_000
    )
    found = list(lines(tmp_path / "train.log", content))
    assert sum("InUse at" in text for _, text in found) == 40_000


def test_of_very_many_failures_an_even_choice_is_read(tmp_path: Path) -> None:
    content = (QUIET * 5000 + oom("64,256,256,32").encode()) * 300
    told = [place for place, text in lines(tmp_path / "train.log", content) if "OOM when allocating" in text]
    assert 20 <= len(told) <= 300
    assert told[0] < len(content) // 4 or len(content) - regions.TAIL <= told[0]


@pytest.mark.parametrize("literal", regions.LITERALS)
def test_a_literal_is_found_wherever_the_blocks_part(
    literal: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regions, "_BLOCK", 64)
    for before in range(200):
        path = tmp_path / "train.log"
        path.write_bytes(b"-" * before + literal + b"-" * 100)
        opened = opening.open_input(inputs.Input(str(path)))
        with opened.file:
            assert regions._search_range(opened, 0, opened.size) == [before]
