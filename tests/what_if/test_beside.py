"""Which batch a step traced beside a failure says to fit."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tests.what_if.test_replayed_step import LIMIT, PEAK, known
from tfmemlens.estimation.batch_scaling.replay import ReplayedStep
from tfmemlens.model.what_if import TracedFit
from tfmemlens.units import Size
from tfmemlens.values import replace
from tfmemlens.what_if.beside import traced_fit


def failure(
    limit: int | None = LIMIT,
    allocator: str | None = "cpu",
    shape: tuple[int, ...] | None = None,
    batch: int | None = None,
) -> Any:
    request = Made(failed=Made(allocator=allocator, node=shape and "enc/mul", shape=shape), batch=batch)
    size = None if limit is None else Size.exactly(limit)
    return Made(request=request, timeline=None, below_peak=False, balance=Made(limit=size))


def step(
    allocator: str = "CPU",
    predicted: bool = False,
    below_peak: bool = False,
    node: str = "Partitioned/enc/mul",
    shape: tuple[int, ...] | None = None,
) -> Any:
    table = Made(node=[None, node], shape=[None, shape])
    timeline = Made(allocator=allocator, predicted=predicted, table=table)
    return Made(timeline=timeline, request=None, below_peak=below_peak)


def asked(*moments: Any, basis: Any = None) -> TracedFit | None:
    case: Any = Made(moments=moments)
    return traced_fit(case, 0, lambda index: known() if basis is None else basis)


def test_the_limit_of_the_failure_decides() -> None:
    assert asked(failure(), step()) == TracedFit(8, PEAK, 12, 11)
    assert asked(failure(2 * LIMIT), step()) == TracedFit(8, PEAK, 26, 24)


@pytest.mark.parametrize(
    "moments",
    [
        (failure(None), step()),
        (failure(0), step()),
        (failure(allocator=None), step()),
        (failure(allocator="gpu"), step()),
        (failure(), step(predicted=True)),
        (failure(), step(below_peak=True)),
        (failure(),),
        (step(), step()),
    ],
)
def test_without_a_limit_or_a_step_on_that_allocator_nothing_is_told(moments: Any) -> None:
    if moments[0].request is None:
        moments[0].balance = Made(limit=Size.exactly(LIMIT))
    assert asked(*moments) is None


def test_a_step_that_is_incomplete_or_only_rows_tells_nothing() -> None:
    assert asked(failure(), step(), basis=replace(known(), complete=False)) is None
    assert asked(failure(), step(), basis=Made(step=known().step)) is None


def test_a_limit_that_not_even_a_sample_fits_tells_nothing() -> None:
    assert asked(failure(20_000), step()) is None


def test_of_several_steps_the_one_with_most_samples_tells() -> None:
    larger = known()
    smaller = replace(larger, step=ReplayedStep(larger.step.timeline, larger.step.laws, 4, is_bound=True))
    case: Any = Made(moments=(failure(), step(), step()))
    found = traced_fit(case, 0, {1: smaller, 2: larger}.get)
    assert found and found.batch == 8


@pytest.mark.parametrize(
    "failed, batch, traced, node, told",
    [
        ((32, 300, 4), 32, (8, 100, 4), "Partitioned/enc/mul", False),  # three times as long
        ((32, 100, 4), 32, (8, 100, 4), "Partitioned/enc/mul", True),
        ((32, 32), 32, (8, 8), "enc/mul", True),  # of pairs
        ((3, 4), 32, (3, 4), "enc/mul", True),  # a weight's
        ((32, 300, 4), 32, (8, 100, 4), "other_enc/mul", True),  # not that op
        ((32, 300, 4), None, (8, 100, 4), "enc/mul", True),
    ],
)
def test_a_step_of_other_sizes_says_nothing_of_the_batch(
    failed: tuple[int, ...], batch: int | None, traced: tuple[int, ...], node: str, told: bool
) -> None:
    found = asked(failure(shape=failed, batch=batch), step(shape=traced, node=node))
    assert (found is not None) is told
