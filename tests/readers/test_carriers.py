"""A failure reads the same whatever carried its text to us."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.carriers import CARRIERS, FORMS, LOGS, carried, facts, journeys, lines_of
from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.readers.oom.cleaning import clean, continues
from tfmemlens.readers.oom.prefixes import learned
from tfmemlens.readers.oom.records import text_of
from tfmemlens.readers.oom.rules import whole_allocator, whole_device
from tfmemlens.readers.oom.wraps import (
    Wrap,
    chopped_at,
    find_frame,
    find_wrap,
    loses_letters,
    without_last_word,
)

WHOLE = sorted(name for name, carrier in CARRIERS.items() if not carrier.lossy)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path, str], dict[str, Any]]:
    """The facts of a sample as it was, worked out once."""
    folder = tmp_path_factory.mktemp("plain")

    @cache
    def of(sample: Path, form: str) -> dict[str, Any]:
        return facts("\n".join(lines_of(sample, form)).encode(), folder)

    return of


@pytest.mark.parametrize("name", WHOLE)
def test_one_carrier_changes_no_fact(
    name: str, tmp_path: Path, plain: Callable[[Path, str], dict[str, Any]]
) -> None:
    for sample, form in (
        ("2.11-layer-exception.txt", "traceback"),
        ("1.15-unet-hint.txt", "traceback"),
        ("2.4-fragmentation.txt", "whole"),
    ):
        if name == "pytest" and form == "whole":
            sample = "2.21-leak.txt"  # pytest shows the last of several exceptions only
        log = SAMPLES / "oom_log" / sample
        assert facts(carried(lines_of(log, form), CARRIERS[name]), tmp_path) == plain(log, form), sample


@pytest.mark.whole
def test_two_carriers_in_a_row_change_next_to_none(
    tmp_path: Path, plain: Callable[[Path, str], dict[str, Any]]
) -> None:
    """Pairs drawn once; what one in thirty of them changes stands in no list of ours."""
    dice = Random(2)
    changed = []
    count = 0
    for first, second in journeys(2, 120):
        log, form = dice.choice(LOGS), dice.choice(FORMS)
        if first.lossy or second.lossy:
            continue
        count += 1
        if facts(carried(lines_of(log, form), first, second), tmp_path) != plain(log, form):
            changed.append((first.name, second.name, log.name, form))
    assert count > 90
    assert len(changed) <= count // 30, changed


@pytest.mark.parametrize("name", sorted(name for name, carrier in CARRIERS.items() if carrier.lossy))
def test_what_takes_letters_away_gives_no_other_figure(
    name: str, tmp_path: Path, plain: Callable[[Path, str], dict[str, Any]]
) -> None:
    for sample in ("2.11-layer-exception.txt", "2.4-fragmentation.txt", "1.10-unet-report.txt"):
        log = SAMPLES / "oom_log" / sample
        clean, found = plain(log, "whole"), facts(carried(lines_of(log, "whole"), CARRIERS[name]), tmp_path)
        for fact in ("node", "shape", "dtype", "device", "allocator", "rounded_bytes"):
            if clean[fact] is not None:
                assert found[fact] in (None, clean[fact]), (sample, fact)
        for figure in ("limit_bytes", "peak_bytes"):
            allowed = (None, clean["allocator figures"][figure])
            assert found["allocator figures"][figure] in allowed, (sample, figure)


class TestLostLetters:
    def test_a_row_that_contradicts_itself_is_not_read(self) -> None:
        text = "\n".join(
            [
                "2 Chunks of size 67108864 totalling 3.25GiB",
                "3 Chunks of size 67108864 totalling 192.00MiB",
                "Sum Total of in-use chunks: 3.44GiB",
            ]
        )
        capture = pipeline.capture(text)
        assert [(row.count, row.size_bytes) for row in capture.incidents[0].size_classes] == [(3, 67108864)]
        assert [note.text for note in capture.notes if "digits are missing" in note.text]

    def test_what_stands_beside_a_gap_is_no_figure(self) -> None:
        broken = [
            "2022-01-01 10:00:00.1: W op_kernel.cc:4] OOM when allocating tensor with sha",
            "[8,256,64] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by",
            "allocator GPU_0_bfc",
            "2022-01-01 10:00:00.1: I bfc_allocator.cc:4] 12 Chunks of size 67108864 tota",
            "ing 768.00MiB",
        ] * 3
        texts = [each.line.text for each in clean(enumerate(broken, 1))]
        assert loses_letters(broken)
        assert not [text for text in texts if "Chunks" in text and "totalling" in text]
        notes = pipeline.capture("\n".join(broken)).notes
        assert [note.text for note in notes if "lost characters" in note.text]

    @pytest.mark.parametrize(
        ("text", "following", "lost"),
        [
            ("x" * 40 + " /job:loc", "host/replica:0", True),
            ("x" * 40 + " /job:local", "host/replica:0", False),
            ("x" * 40 + " alloc", "or", True),
            ("x" * 40 + " /job:l", "calhost/replica:0", True),
            ("x" * 40 + " al", "or", False),  # so few letters tell nothing
            ("/job:loc", "host/replica:0", False),  # no screen is as narrow
        ],
    )
    def test_letters_between_two_lines(self, text: str, following: str, lost: bool) -> None:
        assert loses_letters([text, following]) is lost

    def test_a_pager_cuts_lines_of_several_kinds(self) -> None:
        ends = ["abcd", "ef g", "h ij", "k lm"]
        texts = ["x" * 70 + end for end in ends]
        assert chopped_at([*texts, "short"]) == 74
        assert chopped_at([*texts[:3], "short"]) == 0
        assert chopped_at([*texts, "x" * 80]) == 0
        assert without_last_word("of size 12") == "of size \u2026"

    def test_rows_without_their_first_digits(self) -> None:
        rows = [".00MiB from conv/Conv2D", ".50MiB from a/b", "2.50MiB from c/d"]
        capture = pipeline.capture(
            "\n".join(["Current usage from device: /device:GPU:0, allocator: x", *rows])
        )
        assert not [block for incident in capture.incidents for block in incident.holders]
        assert [note.text for note in capture.notes] == ["3 rows of the list of tensors could not be read"]

    def test_lines_left_out_of_all_ranks(self) -> None:
        dump = [
            "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.00MiB (rounded to 1048576)",
            "InUse at 7f0000000000 of size 1048576 next 1",
            "... 300 lines omitted ...",
            "Sum Total of in-use chunks: 1.00MiB",
        ]
        lines = [text if text.startswith("...") else f"[1,0]<stderr>:{text}" for text in dump]
        for text in (lines, dump):
            chunks = pipeline.capture("\n".join(text)).incidents[0].chunks
            assert chunks is not None and not chunks.complete


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("GPU_0_bfc", "GPU_0_bfc"),
        ("DmlAllocator.", "DmlAllocator"),
        ("cpu", "cpu"),
        ("bfc_cp", None),
        ("GPU_0_b", None),
        ("Simple", None),
        ("bfc_\u2026", None),
        (None, None),
    ],
)
def test_an_allocator_that_is_cut_has_no_name(name: str | None, whole: str | None) -> None:
    assert whole_allocator(name) == whole


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("/job:localhost/replica:0/task:0/device:GPU:0", True),
        ("/job:worker/replica:0/task:1/device:XLA_GPU:0", True),
        ("/gpu:0", True),
        ("/job:localhot/replica:0/task:0/device:GPU:0", False),
        ("/job:localhost/replictask:0", False),
    ],
)
def test_a_device_whose_letters_are_gone_is_none(name: str, kept: bool) -> None:
    assert (whole_device(name) == name) is kept


class TestStamps:
    """What stands before every line, learned from what a program begins lines with."""

    @staticmethod
    def of(*texts: str) -> list[tuple[str, str]] | None:
        stamps = learned(texts, lambda text, end: False)
        return stamps and [stamps.split(text) for text in texts]

    def test_one_process_has_no_name(self) -> None:
        found = self.of(
            "[12:00:01] job/7: Traceback (most recent call last):",
            '[12:00:01] job/7:   File "a.py", line 3, in f',
            "[12:00:02] job/7:",
            "[12:00:02] job/7: x",
        )
        assert found == [
            ("", "Traceback (most recent call last):"),
            ("", '  File "a.py", line 3, in f'),
            ("", ""),
            ("", "x"),
        ]

    def test_a_number_that_comes_back_is_a_process(self) -> None:
        lines = [
            f"[pod/asr-{rank}/main] tensorflow.python.f.XError: {at}" for at in range(4) for rank in (0, 1)
        ]
        assert self.of(*lines) == [
            (f"pod/asr-{rank}/main", f"tensorflow.python.f.XError: {at}")
            for at in range(4)
            for rank in (0, 1)
        ]

    def test_what_counts_lines_is_none(self) -> None:
        found = self.of(*(f"{at} tensorflow.python.f.XError: x" for at in range(9)))
        assert found == [("", "tensorflow.python.f.XError: x")] * 9

    @pytest.mark.parametrize(
        "line",
        [
            "Traceback (most recent call last):",
            '  File "a.py", line 3, in f',
            " 12%|#2 | 12/100 [00:03<00:21] 2022-01-01 10:00:00.123456: W a.cc:4] x",
            "nothing of the kind",
        ],
    )
    def test_what_begins_lines_by_itself_is_none(self, line: str) -> None:
        assert self.of(*[line] * 5) is None

    def test_few_stamped_lines_among_many_are_none(self) -> None:
        stamped = ["a> Traceback (most recent call last):"] * 3
        assert self.of(*stamped, *["x"] * 7) is not None
        assert self.of(*stamped, *["x"] * 8) is None

    def test_a_known_stamp_is_left_to_those_who_know_it(self) -> None:
        texts = ["a> Traceback (most recent call last):"] * 3
        assert learned(texts, lambda text, end: text[:end] == "a> ") is None

    def test_numbers_of_a_stamp_are_whole(self) -> None:
        texts = ["12 345 678 Traceback (most recent call last):"] * 3
        stamps = learned(texts, lambda text, end: False)
        assert stamps is not None
        assert stamps.begins("9 8 7 x")
        assert not stamps.begins("987 x"), "one number is not three"


class TestBrokenLines:
    LONG = tuple(f"{word} " + "abcdefg " * 30 for word in ("one", "two", "six"))

    @pytest.mark.parametrize(
        ("indent", "end"), [("", ""), ("  ", ""), ("    ", ""), ("\u21aa ", ""), ("", "\\"), ("", "-")]
    )
    def test_marks_where_a_screen_broke(self, indent: str, end: str) -> None:
        texts = []
        for line in self.LONG:
            rest, room = line, 80 - len(end)
            while len(rest) > room:
                texts.append(rest[:room] + end)
                rest = indent + rest[room:]
            texts.append(rest)
        assert find_wrap(texts, continues) == Wrap(80, indent, end)
        assert [each.line.text.rstrip() for each in clean(enumerate(texts, 1))] == [
            line.rstrip() for line in self.LONG
        ]

    def test_a_mailer_breaks_between_words(self) -> None:
        text = "alpha beta gamma to of delta epsilon or zeta eta theta iota kappa " * 4
        starts = [f"2022-01-01 10:00:00.123456: W a.cc:{at}] {text}".rstrip() for at in range(3)]
        texts = [part for line in starts for part in textwrap.wrap(line, 66)]
        found = find_wrap(texts, continues)
        assert found is not None and found.words
        assert [each.line.text for each in clean(enumerate(texts, 1))] == [text.rstrip()] * 3

    def test_code_below_frames_is_not_joined_to_them(self) -> None:
        texts = [
            '  File "site-packages/keras/src/utils/traceback_utils_of_length_80.py", line 122, in f',
            "    raise e.with_traceback(filtered_tb) from None",
        ] * 4
        assert find_wrap(texts, continues) is None


class TestFrames:
    def test_a_box(self) -> None:
        texts = [f"\u2502 line {at:<60} \u2502" for at in range(6)]
        frame = find_frame(texts)
        assert frame.boxed
        assert [frame.inside(text) for text in texts] == [f"line {at}" for at in range(6)]

    def test_an_empty_line_behind_each(self) -> None:
        texts = ["a", "", "b", "", "", "", "c", "", "d", "", "e"]
        assert find_frame(texts).spaced
        assert [each.line.text for each in clean(enumerate(texts, 1))] == ["a", "b", "", "c", "d", "e"]
        assert not find_frame([*texts, "f"]).spaced

    def test_times_on_lines_of_their_own(self) -> None:
        texts = ["12:00", "a", "12:01", "b", "[12:02:03] jdoe:", "c"]
        assert [each.line.text for each in clean(enumerate(texts, 1))] == ["a", "b", "c"]
        assert find_frame(["12:00", "a", "12:01", "b", "c", "d"]).between is None

    def test_four_lines_tell_no_habit(self) -> None:
        assert find_frame(["| a |"] * 4) == find_frame([])
        assert find_frame(["| a |"] * 5).boxed


class TestRecords:
    @pytest.mark.parametrize(
        ("line", "text"),
        [
            ('{"log":"a\\n","stream":"stderr"}', "a"),
            ('2022-03-09 12:51:51 tag: {"message": "a\\n  b"}', "a\n  b"),
            ('{"severity": "ERROR", "textPayload": "a"},', "a"),
            ('{"jsonPayload": {"message": "a"}, "x": 1}', "a"),
            ('{"event": "failed", "exception": "Traceback"}', "failed\nTraceback"),
            ('{"loss": "0.3"}', None),
            ('{"log": 3}', None),
            ('feed = {"x": x}', None),
            ('["log"]', None),
        ],
    )
    def test_what_the_program_wrote(self, line: str, text: str | None) -> None:
        assert text_of(line) == text
