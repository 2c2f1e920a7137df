"""How wide the bar round a prediction is: never narrower than what was measured, wider by what is not
known.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import row, timeline
from tests.models import document
from tfmemlens.estimation.allocator_pasts import old_blocks, pasts_to_try
from tfmemlens.estimation.graph_step import capture as graph_capture
from tfmemlens.estimation.keras_step.capture import error_share
from tfmemlens.estimation.keras_step.prediction import PredictedStep, predict
from tfmemlens.knowledge.bfc import RecordedPool
from tfmemlens.model.settings import StepSettings
from tfmemlens.model.timeline import Timeline
from tfmemlens.readers.keras_models._documents import network_of
from tfmemlens.units import MIB

SETTINGS = StepSettings(4, "sgd", device="cpu")


@pytest.fixture(scope="module")
def lenet() -> PredictedStep:
    return predict(network_of(document("lenet"), "lenet"), SETTINGS)


def blinded(step: PredictedStep, count: int) -> PredictedStep:
    """The step with so many of its layers not understood."""
    layers = tuple(
        replace(layer, problem="no such layer") if index < count else layer
        for index, layer in enumerate(step.network.layers)
    )
    return replace(step, network=replace(step.network, layers=layers))


def test_the_spread_of_the_orders_counts_a_third(lenet: PredictedStep) -> None:
    narrow, wide = (error_share(replace(lenet, spread=spread), SETTINGS) for spread in (0.0, 0.1))
    assert narrow is not None
    assert wide == pytest.approx(narrow + 0.1 / 3)


def test_up_to_a_quarter_of_the_layers_may_be_unknown(lenet: PredictedStep) -> None:
    layers = len(lenet.network.layers)
    known, quarter = error_share(lenet, SETTINGS), error_share(blinded(lenet, layers // 4), SETTINGS)
    assert known is not None and quarter is not None
    assert quarter == pytest.approx(known + 0.5 * (layers // 4) / layers)
    assert error_share(blinded(lenet, layers // 4 + 1), SETTINGS) is None


def test_a_graph_whose_orders_agree_keeps_a_tenth() -> None:
    step = timeline(row("a", 100, 0, 1), ran=(("a", 0, 1),))
    assert graph_capture._error_share(step, lambda variant: step) == 0.10


@pytest.mark.parametrize(
    ("threads", "device", "mib"),
    [(1, "cpu", 0), (2, "cpu", 30), (3, "cpu", 50), (64, "cpu", 60), (4, "gpu", 0)],
)
def test_further_threads_hold_a_temporary_each(threads: int, device: str, mib: int) -> None:
    """Beside the largest, which the peak may hold, those that come next, of at most three threads."""
    rows = [row(str(size), size, 0, 1, scratch=True) for size in (40, 30, 20, 10, 5)]
    step = timeline(*rows, row("output", 1000, 0, 1), ran=(("a", 0, 1),))
    settings = StepSettings(4, device=device, workers=threads)
    assert graph_capture._overlapping_bytes(step, settings) == mib * MIB


def test_the_order_that_is_farthest_off_decides() -> None:
    step = timeline(row("a", 100, 0, 1), ran=(("a", 0, 1),))

    def walked(variant: int) -> Timeline:
        return timeline(row("a", 80 if variant == 1 else 100, 0, 1))

    assert graph_capture._error_share(step, walked) == pytest.approx(0.2)


def test_a_graph_of_very_many_nodes_is_walked_once() -> None:
    """Each order takes as long as the first, so fifteen percent are assumed."""
    many = timeline(
        row("a", 100, 0, 1),
        ran=tuple((f"n{index}", 0.0, 1.0) for index in range(graph_capture._MAX_REORDERED_NODES + 1)),
    )
    assert graph_capture._error_share(many, lambda variant: pytest.fail("walked")) == 0.15


def test_other_pasts_of_the_allocator_widen_a_traced_step_by_what_they_add() -> None:
    """Each past begins with other blocks, and its calls are kept for the limit."""
    step = timeline(row("a", 100, 0, 1), ran=(("a", 0, 1),))
    begun: list[list[int]] = []

    def walked(variant: int, recording: RecordedPool, old_blocks: list[int]) -> Timeline:
        begun.append(old_blocks)
        recording.allocate(MIB)
        return timeline(row("a", 112 if len(begun) == 2 else 90, 0, 1))

    pasts, more = graph_capture._further_pasts(step, RecordedPool(), walked)
    assert more == pytest.approx(0.12)
    assert len(pasts) == len(begun) == 4 and all(len(calls) == 1 for calls in pasts)
    assert len({tuple(blocks) for blocks in begun}) == 4


def test_near_miss_pasts_that_take_less_widen_nothing() -> None:
    step = timeline(row("a", 100, 0, 1), ran=(("a", 0, 1),))
    lower = timeline(row("a", 90, 0, 1))
    assert graph_capture._further_pasts(step, RecordedPool(), lambda *given, **named: lower)[1] == 0


@pytest.mark.parametrize("ops, count", [(1_999, 4), (2_000, 2), (20_000, 0)])
def test_few_pasts_are_tried_of_large_steps(ops: int, count: int) -> None:
    assert pasts_to_try(ops) == count
    assert old_blocks(0, MIB) == [] and max(old_blocks(1, MIB)) <= MIB // 2


def test_on_several_threads_a_limit_is_asked_about_ops_in_turn() -> None:
    """An op that finds no room waits for the others to end."""
    alone, several = (
        predict(network_of(document("lenet"), "lenet"), replace(SETTINGS, workers=workers))
        for workers in (1, 3)
    )
    assert several.pasts()[0] == alone.pasts()[0]
