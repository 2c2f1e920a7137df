"""Counters without a word: what is one, and what only looks like one."""

from __future__ import annotations

import pytest

from tfmemlens.model.line import Line
from tfmemlens.readers.oom.counters import Counters


def steps(*lines: str) -> list[int]:
    counters = Counters()
    for number, text in enumerate(lines, start=1):
        counters.observe(Line(number, text))
    return [step for step, _ in counters.steps()]


@pytest.mark.parametrize(
    "lines, found",
    [
        (("0 2.2713", "5 1.35", "10 5.3e-01"), [0, 5, 10]),
        (
            tuple(f"{n}: tf.Tensor({n / 7}, shape=(), dtype=float32)" for n in range(20, 81, 20)),
            [20, 40, 60, 80],
        ),
        (("10 0.5 nan", "20 0.4 nan", "30 0.3 nan"), [10, 20, 30]),
        (tuple(f"clip {n} of 300 done" for n in (3, 4, 5, 6)), [3, 4, 5, 6]),
        (tuple(f"Fold [{n}/10] acc: 0.{n}" for n in (1, 2, 3, 4)), [1, 2, 3, 4]),
        # the words begin anew with each epoch: the end counts
        (tuple(f"{n} 0.5" for n in (0, 10, 20, 30, 0, 10, 20)), [0, 10, 20]),
    ],
)
def test_what_rises_evenly_is_a_counter(lines: tuple[str, ...], found: list[int]) -> None:
    assert steps(*lines) == found


@pytest.mark.parametrize(
    "lines",
    [
        ("0 2.2713", "5 1.35"),  # two lines show nothing
        ("0 2.27", "5 1.35", "11 0.5"),  # not evenly
        ("30 2.27", "20 1.35", "10 0.5"),  # falling
        ("0 3", "5 4", "10 5"),  # whole numbers alone: a table
        tuple(f"{n} 0.5 1.5" for n in range(5)),  # rows of a table are numbered one by one
        ("100 Chunks of size 256 totalling 25.0KiB", "200 Chunks of size 256 totalling 50.0KiB") * 2,
        tuple(f"rank {n} started" for n in range(8)),
        tuple(f"GPU {n}: 11 GiB" for n in range(8)),
        tuple(f"worker {n} sees 0.5" for n in range(8)),
        tuple(f"2026-11-{n} 10:00:00 0.5" for n in range(10, 20)),
        tuple(f"{n}% 0.5" for n in range(0, 100, 10)),
        tuple(f"{n}.5 0.5" for n in range(0, 100, 10)),
    ],
)
def test_near_misses(lines: tuple[str, ...]) -> None:
    assert steps(*lines) == []


def test_lines_that_come_once_make_room() -> None:
    noise = [f"w{'x' * (n % 19)} {'y' * (n // 19 + 1)} {n} 0.5" for n in range(300)]
    counters = Counters()
    for number, text in enumerate([*noise[:150], "0 0.5", "5 0.5", "10 0.5", *noise[150:]], start=1):
        counters.observe(Line(number, text))
    assert [step for step, _ in counters.steps()] == [0, 5, 10]
    assert len(counters._series) == 100


def test_the_longest_series_is_taken() -> None:
    assert steps("a 1 x", "a 2 x", "a 3 x", "a 4 x", *(f"b {n} y" for n in range(9))) == list(range(9))
