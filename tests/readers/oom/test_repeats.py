"""Of lines of progress without end the first and the last are read, and nothing else is passed over."""

from __future__ import annotations

import pytest

from tfmemlens.model.line import Line
from tfmemlens.readers.formats.oom_log import read_lines
from tfmemlens.readers.oom.cleaning import Cleaned
from tfmemlens.readers.oom.repeats import _FIRST, _LAST, Repeats

STEP = "step {} loss 0.{:04d} ({}.2 sec/step)"
FAILED = "OOM when allocating tensor with shape[256,64,112,112] and type float"


def _line(number: int, text: str, origin: str = "") -> Cleaned:
    return Cleaned(Line(number, text, ""), "", origin)


def test_the_first_and_the_last_of_a_kind_are_read_in_their_order() -> None:
    repeats, numbers = Repeats(), []
    for number in range(1000):
        text = STEP.format(number, number, number % 7) if number % 2 else f"eta {number}s"
        if not repeats.holds(_line(number, text)):
            numbers.append(number)
    assert numbers == list(range(2 * _FIRST))
    assert [held.line.number for held in repeats.released()] == list(range(1000 - 2 * _LAST, 1000))
    assert repeats.released() == []
    assert repeats.holds(_line(1001, STEP.format(1, 1, 1)))  # it still is of a kind that came often


@pytest.mark.parametrize(
    "text",
    [
        "step {}: 5{} MB in use",
        "epoch {} batch size {}",
        "iter {} gpu 0: {} %",
        "  InUse at 0x7f{} of size {} next 0",
        "{}/80 warning {}",
        "1. {}.00M step {}",
        "the {}th man and the {}th dog",
        "step {} failed {}",
    ],
)
def test_what_speaks_of_memory_or_is_no_progress_is_never_held(text: str) -> None:
    repeats = Repeats()
    assert not any(repeats.holds(_line(number, text.format(number, number))) for number in range(500))


def test_a_line_of_the_runtimes_own_logger_is_no_progress() -> None:
    repeats = Repeats()
    lines = [_line(number, STEP.format(number, 1, 1), "op_kernel.cc") for number in range(500)]
    assert not any(map(repeats.holds, lines))


def test_of_thousands_of_kinds_most_are_read() -> None:
    repeats = Repeats()
    kinds = [chr(97 + first) + chr(97 + second) for first in range(26) for second in range(26)]
    for kind in kinds:
        for number in range(_FIRST + 1):
            held = repeats.holds(_line(number, f"step {number} of {kind}"))
            assert held == (number == _FIRST and kinds.index(kind) < 200)


def test_a_failure_after_very_many_steps_is_told_with_the_last_of_them() -> None:
    lines = [STEP.format(number, number % 10_000, number % 7) for number in range(5000)]
    capture = read_lines(enumerate([*lines, FAILED, *lines[:300]], 1))
    assert [each.request.shape for each in capture.incidents] == [(256, 64, 112, 112)]
    steps = [number for number, line in capture.surroundings.steps if line.number <= 5000]
    assert steps[-1] == 4999 and len(steps) < 500


def test_a_log_that_ends_in_progress_is_read_to_its_end() -> None:
    lines = [STEP.format(number, number % 10_000, number % 7) for number in range(5000)]
    capture = read_lines(enumerate([FAILED, *lines], 1))
    assert capture.surroundings.steps[-1][0] == 4999


def test_rows_of_an_array_are_of_a_kind() -> None:
    repeats = Repeats()
    held = [repeats.holds(_line(number, f"[ 0.{number} -1.{number} ]")) for number in range(_FIRST + 2)]
    assert held == [False] * _FIRST + [True] * 2
