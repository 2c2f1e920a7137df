"""How wide the bar round a prediction is: never narrower than what was measured, wider by what is not
known.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import row, timeline
from tests.models import document
from tfmemlens.estimation.graph_step import capture as graph_capture
from tfmemlens.estimation.keras_step.capture import error_share
from tfmemlens.estimation.keras_step.prediction import PredictedStep, predict
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
