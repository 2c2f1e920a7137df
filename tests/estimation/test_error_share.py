"""How wide the bar round a prediction is: never narrower than what was measured, wider by what is not
known.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import row, timeline
from tests.models import document
from tfmemlens.errors import Unpredictable
from tfmemlens.estimation.allocator_pasts import old_blocks, pasts_to_try
from tfmemlens.estimation.error_bar import drawn_in
from tfmemlens.estimation.graph_step import capture as graph_capture
from tfmemlens.estimation.graph_step import walks
from tfmemlens.estimation.keras_step import capture as keras_capture
from tfmemlens.estimation.keras_step import prediction
from tfmemlens.estimation.keras_step.capture import error_shares
from tfmemlens.estimation.keras_step.prediction import PredictedStep, predict
from tfmemlens.knowledge.bfc import RecordedPool
from tfmemlens.model.settings import StepSettings
from tfmemlens.model.timeline import Timeline
from tfmemlens.readers.keras_models._documents import network_of
from tfmemlens.units import MIB
from tfmemlens.use_cases.estimate import estimate_graph

SETTINGS = StepSettings(4, "sgd", device="cpu")
UNET = "sample_traces/fit/1.15-unet.meta.gz"


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


def ways(step: PredictedStep, low: float, high: float) -> PredictedStep:
    """The step whose ways lie between these parts of its peak."""
    peak = step.timeline.peak_bytes
    return replace(step, low_bytes=round(peak * low), high_bytes=round(peak * high))


def test_the_bar_lies_beyond_most_ways_and_further_above_than_below(lenet: PredictedStep) -> None:
    """7 % below (0.93 x 0.8 = 0.744), 11 % above (1.11 x 1.3 = 1.443)."""
    settings = replace(SETTINGS, onednn=False)
    assert error_shares(ways(lenet, 1, 1), settings) == pytest.approx((0.07, 0.11), abs=1e-4)
    assert error_shares(ways(lenet, 0.8, 1.3), settings) == pytest.approx((0.256, 0.443), abs=1e-4)


def test_eight_of_ten_ways_count_and_of_few_all() -> None:
    assert prediction._most_of([9, 1, 3, 2, 5, 4, 7, 8, 6, 0, 10]) == (1, 9)
    assert prediction._most_of([3, 1, 2]) == (1, 3)
    assert prediction._most_of([7]) == (7, 7)


def test_the_likely_way_lies_inside_the_bar(lenet: PredictedStep) -> None:
    """Whatever the pasts add to all ways."""
    assert 0 < lenet.low_bytes <= lenet.timeline.peak_bytes <= lenet.high_bytes


def test_the_lower_end_leaves_out_half_of_the_arrays() -> None:
    network = network_of(document("lenet"), "lenet")
    with_arrays = replace(SETTINGS, samples=400)
    step = predict(network, with_arrays)
    arrays = sum(value.bytes for value in step.step.arrays)
    below = keras_capture._lower_share(network, step, replace(with_arrays, onednn=False), 0.1)
    assert arrays and below == pytest.approx(0.1 + 0.5 * arrays / step.timeline.peak_bytes)


def test_near_miss_a_step_without_arrays_leaves_nothing_out(lenet: PredictedStep) -> None:
    network = network_of(document("lenet"), "lenet")
    assert keras_capture._lower_share(network, lenet, replace(SETTINGS, onednn=False), 0.1) == 0.1


def test_up_to_a_quarter_of_the_layers_may_be_unknown(lenet: PredictedStep) -> None:
    layers = len(lenet.network.layers)
    known, quarter = error_shares(lenet, SETTINGS), error_shares(blinded(lenet, layers // 4), SETTINGS)
    assert known is not None and quarter is not None
    more = 0.5 * (layers // 4) / layers
    assert quarter == pytest.approx(tuple(share + more for share in known))
    assert error_shares(blinded(lenet, layers // 4 + 1), SETTINGS) is None


def test_what_unknown_layers_make_need_not_be_kept(lenet: PredictedStep) -> None:
    """The lower end leaves out all of it that is alive at the peak, the upper one a share by their number."""
    peak = lenet.timeline.peak_bytes
    table, alive = lenet.timeline.table, lenet.timeline.alive_after(lenet.timeline.peak_index)
    made = {}
    for index in alive:
        layer = (table.node[index] or "").rpartition("/")[0]
        made[layer] = made.get(layer, 0) + table.size_bytes[index]
    heaviest = max((name for name in made if name in dict(lenet.network.walk())), key=lambda name: made[name])
    guess = replace(lenet, step=replace(lenet.step, unknown=[heaviest]))
    known, shares = error_shares(lenet, SETTINGS), error_shares(guess, SETTINGS)
    assert known and shares and keras_capture._kept_by_guess(lenet) == 0
    share = 0.5 / len(list(lenet.network.walk()))
    assert shares[0] == pytest.approx(known[0] + max(made[heaviest] / peak, share))
    assert shares[1] == pytest.approx(known[1] + share)


def test_a_graph_whose_orders_agree_keeps_a_tenth() -> None:
    step = timeline(row("a", 100, 0, 1), ran=(("a", 0, 1),))
    assert walks.error_shares(step, lambda variant, late: step, 5) == (0.10, 0.10)


@pytest.mark.parametrize(
    ("threads", "device", "further"), [(1, "cpu", 0), (2, "cpu", 1), (64, "cpu", 3), (4, "gpu", 0)]
)
def test_no_more_than_three_further_threads_are_walked(threads: int, device: str, further: int) -> None:
    assert walks.further_threads(StepSettings(4, device=device, workers=threads)) == further


def test_the_order_that_is_farthest_off_decides() -> None:
    step = timeline(row("a", 100, 0, 1), ran=(("a", 0, 1),))

    def walked(variant: int, late: bool) -> Timeline:
        return timeline(row("a", 80 if variant == 1 else 100, 0, 1))

    assert walks.error_shares(step, walked, 5) == pytest.approx((0.2, 0.10))
    assert walks.error_shares(step, walked, 1) == (0.10, 0.10)  # a session's order is known


def test_a_step_after_many_others_widens_the_bar() -> None:
    step = timeline(row("a", 100, 0, 1), ran=(("a", 0, 1),))

    def walked(variant: int, late: bool) -> Timeline:
        return timeline(row("a", 117 if late and variant == 0 else 100, 0, 1))

    assert walks.error_shares(step, walked, 1) == pytest.approx((0.10, 0.17))


def test_a_graph_of_very_many_nodes_is_walked_once() -> None:
    """Each order takes as long as the first, so fifteen percent are assumed."""
    many = timeline(
        row("a", 100, 0, 1),
        ran=tuple((f"n{index}", 0.0, 1.0) for index in range(walks._MAX_REORDERED_NODES + 1)),
    )
    shares = walks.error_shares(many, lambda variant, late: pytest.fail("walked"), 5)
    assert shares == (0.15, 0.15)


def test_other_pasts_of_the_allocator_widen_a_traced_step_by_what_they_add() -> None:
    """Each past begins with other blocks, and its calls are kept for the limit."""
    step = timeline(row("a", 100, 0, 1), ran=(("a", 0, 1),))
    begun: list[list[int]] = []

    def walked(variant: int, recording: RecordedPool, old_blocks: list[int]) -> Timeline:
        begun.append(old_blocks)
        recording.allocate(MIB)
        return timeline(row("a", 112 if len(begun) == 2 else 90, 0, 1))

    pasts, more = walks.further_pasts(step, RecordedPool(), walked)
    assert more == pytest.approx(0.12)
    assert len(pasts) == len(begun) == 4 and all(len(calls) == 1 for calls in pasts)
    assert len({tuple(blocks) for blocks in begun}) == 4


def test_near_miss_pasts_that_take_less_widen_nothing() -> None:
    step = timeline(row("a", 100, 0, 1), ran=(("a", 0, 1),))
    lower = timeline(row("a", 90, 0, 1))
    assert walks.further_pasts(step, RecordedPool(), lambda *given, **named: lower)[1] == 0


@pytest.mark.parametrize("ops, count", [(1_999, 9), (2_000, 2), (20_000, 0)])
def test_few_pasts_are_tried_of_large_steps(ops: int, count: int) -> None:
    assert pasts_to_try(ops) == count


def test_pasts_differ_in_how_many_blocks_there_were_and_how_large() -> None:
    assert old_blocks(0, MIB) == []
    assert len(old_blocks(1, MIB)) == 6 and max(old_blocks(1, MIB)) <= MIB // 2
    assert max(max(old_blocks(number, MIB)) for number in range(1, 5)) <= MIB // 2
    assert MIB < max(old_blocks(6, MIB)) <= 2 * MIB
    assert old_blocks(10, MIB) != old_blocks(1, MIB)


def test_on_several_threads_a_limit_is_asked_about_ops_in_turn() -> None:
    """An op that finds no room waits for the others to end."""
    alone, several = (
        predict(network_of(document("lenet"), "lenet"), replace(SETTINGS, workers=workers))
        for workers in (1, 3)
    )
    assert several.pasts()[0] == alone.pasts()[0]


def test_the_bar_leaves_out_a_fifth_of_the_ways_above_the_likely_one(
    lenet: PredictedStep, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit does not: it is found with the whole."""
    settings = replace(SETTINGS, threads=1, workers=1, onednn=False)
    monkeypatch.setattr(keras_capture, "predict", lambda *_: ways(lenet, 1, 1.5))
    (timeline,) = keras_capture.capture(lenet.network, settings).timelines
    below, above = 1 - 0.93, 1.11 * 1.5 - 1 - 0.2 * 1.11 * 0.5
    assert timeline.error_share == pytest.approx(drawn_in(below, above)[1], abs=0.001)
    assert timeline.lower_error_share == 0.15  # every bar reaches so far down
    assert timeline.needed_limit is not None
    assert timeline.needed_limit.high_bytes >= 1.66 * timeline.peak_bytes


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        ((0.10, 0.15), (0.10, 0.15)),
        ((0.10, 0.30), (0.10, 0.30)),  # two fifths in all: as wide as a narrow one may be
        ((0.24, 0.24), (0.20, 0.20)),
        ((0.18, 0.30), (0.15, 0.25)),
        ((0.40, 0.60), (0.308, 0.462)),
    ],
)
def test_a_wide_bar_is_drawn_in_at_both_ends_and_a_narrow_one_stays(
    found: tuple[float, float], kept: tuple[float, float]
) -> None:
    assert drawn_in(*found) == pytest.approx(kept)


@pytest.mark.parametrize(("more", "above"), [(0.0, 0.10), (0.15, 0.10), (0.28, 0.14)])
def test_a_graphs_bar_reaches_up_for_half_of_what_pasts_add_and_its_limit_for_all(
    more: float, above: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Downwards it reaches as far as other orders do."""
    limits: list[float] = []
    monkeypatch.setattr(walks, "further_pasts", lambda *_: ([], more))
    monkeypatch.setattr(walks, "error_shares", lambda *_: (0.12, 0.10))
    monkeypatch.setattr(
        graph_capture, "needed_limit", lambda calls, peak, share, *_, **__: limits.append(share)
    )
    settings = StepSettings(2, threads=1, workers=1, onednn=False)
    (timeline,) = estimate_graph(UNET, settings, ["Adam"]).timelines
    assert (timeline.lower_error_share, timeline.error_share) == pytest.approx((0.12, above))
    assert limits == pytest.approx([max(0.13, more)])  # what a limit is found with at least


@pytest.mark.parametrize(
    ("later", "told", "below"), [(100, 100, 0.10), (110, 100, 0.10), (120, 120, 0.375), (250, 250, 0.70)]
)
def test_a_step_that_takes_more_later_is_told_as_that_and_its_bar_holds_the_first(
    later: int, told: int, below: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TensorFlow 1.15: 93 MiB in the first steps of two LSTM layers, 248 within twelve."""

    def walked(*_: object, steps: int, late: bool, **__: object) -> Timeline:
        young = 83 if steps < 4 else 100
        size = later if late else young
        return timeline(row("a", size, 0, 1), ran=(("a", 0, 1),))

    monkeypatch.setattr(walks, "of_graph", walked)
    settings = StepSettings(2, threads=1, workers=1, onednn=False)
    found = estimate_graph(UNET, settings, ["Adam"])
    (step,) = found.timelines
    assert (step.peak_bytes // MIB, step.lower_error_share) == (told, pytest.approx(below, abs=0.01))
    assert any("the first take about 83.00 MiB" in note.text for note in found.notes) == (told != 100)


LOOP = "sample_traces/fit/1.15-while-rnn.meta.gz"


@pytest.mark.parametrize(
    ("slower", "faster", "bar"),
    [(100, 100, (0.10, 0.10)), (75, 100, (0.25, 0.10)), (100, 112, (0.10, 0.12)), (70, 100, (0.30, 0.10))],
)
def test_a_loops_bar_holds_slower_and_faster_processors(
    slower: int, faster: int, bar: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = of_paces(monkeypatch, LOOP, slower, faster)
    assert (found.lower_error_share, found.error_share) == pytest.approx(bar, abs=0.001)


def test_a_loop_that_is_no_one_figure_is_refused_with_both_and_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """141 MiB on one processor, 391 on one half as fast again."""
    with pytest.raises(Unpredictable, match=r"about 60\.00 MiB or 100\.00 MiB") as refused:
        of_paces(monkeypatch, LOOP, 60, 100)
    assert "most likely a limit of 115.00 MiB serves either" in str(refused.value.hint)


def test_near_miss_without_a_loop_no_pace_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    assert of_paces(monkeypatch, UNET, 10, 900).lower_error_share == pytest.approx(0.10)


def of_paces(monkeypatch: pytest.MonkeyPatch, path: str, slower: int, faster: int) -> Timeline:
    def walked(*_: object, pace: float, **__: object) -> Timeline:
        size = {0.5: slower, 1.0: 100, 2.0: faster}[pace]
        return timeline(row("a", size, 0, 1), ran=(("a", 0, 1),))

    monkeypatch.setattr(walks, "of_graph", walked)
    settings = StepSettings(2, threads=1, workers=1, onednn=False)
    (found,) = estimate_graph(path, settings).timelines
    return found
