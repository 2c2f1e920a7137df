"""What a change buys in a step that is simulated: a step of five rows, each figure worked out by hand.

Per sample 4096 bytes of one activation, 2048 of another and 1024 of a gradient, all alive at once with 3584
bytes that stay; 10,240 bytes stood before the step. With a batch of 8 that is a peak of 71,168 bytes.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import capture, timeline
from tfmemlens import pipeline
from tfmemlens.errors import UsageError
from tfmemlens.estimation.batch_scaling.recompute import _segments, plan
from tfmemlens.estimation.batch_scaling.replay import ReplayedStep
from tfmemlens.estimation.batch_scaling.scaling import laws_of
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.attribution import Kind, Owner, Phase
from tfmemlens.model.capture import Hints
from tfmemlens.model.finding import Certainty
from tfmemlens.model.fit import BatchPrediction
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.tensor import TensorType
from tfmemlens.model.what_if import Saving, SavingBasis
from tfmemlens.values import replace
from tfmemlens.what_if import basis as basis_of_rows
from tfmemlens.what_if import changes
from tfmemlens.what_if.largest_batch import FitBasis, constraints, error_share, fit, predict
from tfmemlens.what_if.replayed import reach, saving
from tfmemlens.what_if.savings import ranked_savings, savings

BEFORE_BYTES, FIXED, SAMPLE = 10_240, 3_584, 7_168
PEAK = BEFORE_BYTES + FIXED + 8 * SAMPLE
LIMIT = 102_000
"""Holds a batch of 12 with 2,160 bytes to spare; 94 % of it holds one of 11."""
W, M = ("w", 8192, Kind.PARAMETER), ("w/Adam", 2048, Kind.OPTIMIZER_SLOT)


def row(
    node: str, shape: tuple[int, ...] | None, start: float = 0, end: float = 9, dtype: str = "float32"
) -> Allocation:
    item = 2 if dtype == "float16" else 4
    size = item
    for side in shape or ():
        size *= side
    return Allocation(
        node, size, requested_bytes=size, start_micros=start, end_micros=end, shape=shape, dtype=dtype
    )


ROWS = (
    (row("a/Relu", (8, 1024)), Owner("a", Kind.ACTIVATION, Phase.FORWARD)),
    (row("b/Relu", (8, 512)), Owner("b", Kind.ACTIVATION, Phase.FORWARD)),
    (row("gradients/b", (8, 256)), Owner("b", Kind.GRADIENT, Phase.GRADIENT)),
    (row("c", (4, 128)), Owner("c", Kind.PARAMETER, Phase.FORWARD)),
    (row("d", (6, 64)), Owner("d", Kind.WORKSPACE, Phase.FORWARD)),
)


def known(
    *standing: tuple[str | None, int, Kind], rows: Any = ROWS, bound: bool = True, **more: Any
) -> FitBasis:
    """The step, under a limit; of a `bound` one the chunks are exactly as large as requests."""
    measured = replace(timeline(*(each for each, _ in rows)), baseline_bytes=BEFORE_BYTES)
    step = ReplayedStep(measured, laws_of(measured, None, 8), 8, is_bound=bound)
    more.setdefault("limit_bytes", LIMIT)
    return FitBasis(step, "--batch", [owner for _, owner in rows], standing, **more)


def figures(found: Saving) -> tuple[Any, ...]:
    return found.low_bytes, found.best_bytes, found.high_bytes, found.largest_batch


def test_the_step_is_what_it_says() -> None:
    step = known().step
    assert step.timeline.peak_bytes == PEAK == 71_168
    assert [step.peak_bytes(batch) for batch in (1, 8, 16)] == [20_992, 71_168, 128_512]
    assert step.fits(8, PEAK, True) and not step.fits(8, PEAK - 1, True)


@pytest.mark.parametrize(
    "change, to_batch, low, best, high, largest",
    [
        # 4 samples less; then at the least 42,496, at the most that and the largest chunk of 16,384 again
        (changes.SMALLER_BATCH, None, 12_288 - 3_558, 28_672, 28_672 + 3_558, 12),
        (changes.SMALLER_BATCH, 1, 46_080 - 3_558, 50_176, 50_176 + 3_558, 12),
        (changes.SMALLER_BATCH, 16, -122_880 - 3_558, -57_344, -57_344 + 3_558, 12),
        # half of what grows, and a copy of 4,096 bytes of the weights
        (changes.MIXED_PRECISION, None, 8_192 - 3_558, 24_576, 24_576 + 3_558, 23),
        (changes.LIGHTER_OPTIMIZER, None, -30_720 - 3_558, 2_048, 2_048 + 3_558, 12),
        # two steps of 4 samples, sums of 8,192 that may be there twice
        (changes.GRADIENT_ACCUMULATION, None, 4_096 - 3_558 - 8_192, 20_480, 20_480 + 3_558, 22),
    ],
)  # fmt: skip
def test_what_a_change_saves(
    change: str, to_batch: int | None, low: int, best: int, high: int, largest: int
) -> None:
    found = saving(known(W, M), change, to_batch)
    assert figures(found) == (low, best, high, largest)
    assert (found.basis, found.certainty, found.batch) == (SavingBasis.REPLAY, Certainty.ESTIMATE, 8)
    if change == changes.SMALLER_BATCH:
        assert found.to_batch == (4 if to_batch is None else to_batch)
    else:
        assert reach(known(W, M), change) == largest


@pytest.mark.parametrize("to_batch", [0, -1])
def test_a_batch_below_one_has_no_figure(to_batch: int) -> None:
    assert saving(known(), changes.SMALLER_BATCH, to_batch) == Saving(changes.SMALLER_BATCH, batch=8)


def test_without_a_limit_no_batch_is_the_largest() -> None:
    for change in (changes.SMALLER_BATCH, changes.MIXED_PRECISION, changes.LIGHTER_OPTIMIZER):
        assert saving(known(W, M, limit_bytes=None), change).largest_batch is None
    assert reach(known(W, limit_bytes=None), changes.MIXED_PRECISION) is None
    assert reach(known(W), changes.LIGHTER_OPTIMIZER) is None
    assert reach(known(W), changes.SMALLER_BATCH) is None


def test_what_does_not_apply_has_no_figure() -> None:
    assert not saving(known(W), changes.LIGHTER_OPTIMIZER).known
    assert not saving(known(W, M), changes.SMALLER_INPUT).known
    assert not saving(known(W, M), changes.RECOMPUTE).known
    assert not saving(known(W, M), changes.NO_LAYOUT_COPIES).known
    assert not saving(known(W, M, complete=False), changes.GRADIENT_ACCUMULATION).known
    halves = tuple((replace(each, dtype="float16"), owner) for each, owner in ROWS)
    assert not saving(known(W, rows=halves), changes.MIXED_PRECISION).known


def test_no_saving_is_more_than_the_peak() -> None:
    huge = saving(known(("w/Adam", 70_000, Kind.OPTIMIZER_SLOT)), changes.LIGHTER_OPTIMIZER)
    assert huge.best_bytes == BEFORE_BYTES and (huge.high_bytes or 0) <= PEAK


def test_what_stood_without_a_name_is_a_third_weights() -> None:
    """10,240 bytes less 1,024 that are named: 3,072 of weights as with Adam; the copy takes half of them."""
    nameless = known(("x", 1024, Kind.CONSTANT))
    assert saving(nameless, changes.MIXED_PRECISION).best_bytes == 28_672 - 3_072 // 2
    assert "about 3.0 KiB for the sums" in saving(nameless, changes.GRADIENT_ACCUMULATION).text
    assert "(8.0 KiB for the sums)" in saving(known(W), changes.GRADIENT_ACCUMULATION).text


def test_where_nothing_stood_the_weights_are_those_of_the_step() -> None:
    bare = known()
    step = replace(bare.step, timeline=replace(bare.step.timeline, baseline_bytes=0))
    assert saving(replace(bare, step=step), changes.MIXED_PRECISION).best_bytes == 28_672 - 2_048 // 2


def test_constants_that_filled_slots_go_with_them_and_are_named() -> None:
    filled = known(M, ("w/Adam/Initializer/zeros", 512, Kind.CONSTANT), ("other", 256, Kind.CONSTANT))
    found = saving(filled, changes.LIGHTER_OPTIMIZER)
    assert found.best_bytes == 2_560
    assert found.text == "an optimizer without slots, such as plain SGD (2.5 KiB of slots now)"


def test_mixed_precision_leaves_what_is_16_bits_already_and_what_stays() -> None:
    rows = ((row("a/Relu", (8, 1024), dtype="float16"), ROWS[0][1]), *ROWS[1:])
    assert saving(known(W, rows=rows), changes.MIXED_PRECISION).best_bytes == 3072 * 8 // 2 - 4096
    rows = ((ROWS[0][0], Owner("a", Kind.PARAMETER, Phase.FORWARD)), *ROWS[1:])
    assert saving(known(W, rows=rows), changes.MIXED_PRECISION).best_bytes == 3072 * 8 // 2 - 4096


# ------------------------------------------------------------------ recomputing


def chain(*sizes: int, turn: int = 1024) -> tuple[ReplayedStep, list[Owner]]:
    """Activations that are born in this order and die in the other, after a gradient is there."""
    many = len(sizes)
    rows = [
        (
            row(f"a{at}", (8, size // 32), at, 2 * many + 1 - at),
            Owner(f"a{at}", Kind.ACTIVATION, Phase.FORWARD),
        )
        for at, size in enumerate(sizes)
    ]
    rows.append((row("g", (8, turn // 32), many, 3 * many), Owner("g", Kind.GRADIENT, Phase.GRADIENT)))
    measured = timeline(*(each for each, _ in rows))
    return ReplayedStep(measured, laws_of(measured, None, 8), 8), [owner for _, owner in rows]


def test_the_first_half_goes_when_its_end_is_there_and_comes_back_when_the_second_is_done() -> None:
    found = plan(*chain(1024, 1024, 1024, 1024))
    assert found is not None and found.cuts == (1,)
    assert found.order == (
        (0, True), (1, True), (0, False), (2, True), (3, True), (4, True),
        (3, False), (2, False), (0, True), (1, False), (0, False), (4, False),
    )  # fmt: skip


@pytest.mark.parametrize(
    "sizes, stretches",
    [
        ([1] * 4, [(0, 1), (2, 3)]),
        ([1] * 9, [(0, 2), (3, 5), (6, 8)]),
        ([9, 1, 1, 1], [(0, 0), (1, 3)]),
        ([1, 1, 1, 9], [(0, 3)]),
        ([1, 9, 1, 9, 1], [(0, 2), (3, 4)]),
        ([5, 5], [(0, 1)]),
    ],
)
def test_stretches(sizes: list[int], stretches: list[tuple[int, int]]) -> None:
    assert _segments(sizes) == stretches


def test_few_or_small_activations_are_left_alone() -> None:
    assert plan(*chain(1024, 1024)) is None
    assert plan(*chain(1024, 1024, 1024)) is not None
    assert plan(*chain(101_888, 101_888, 1024)) is not None  # 1,024 are a two-hundredth of all
    assert plan(*chain(102_400, 102_400, 1024)) is None


def test_the_backward_pass_begins_with_a_gradient_of_a_hundredth_of_the_largest_tensor() -> None:
    assert plan(*chain(25_600, 25_600, 25_600, turn=256)) is not None
    assert plan(*chain(26_112, 26_112, 26_112, turn=256)) is None
    step, owners = chain(1024, 1024, 1024, 1024)
    assert plan(step, [replace(owner, phase=Phase.FORWARD) for owner in owners]) is None
    assert plan(step, [replace(owner, kind=Kind.WORKSPACE) for owner in owners]) is None


def test_a_recomputed_step_says_what_it_keeps_and_at_most_saves_what_grows() -> None:
    step, owners = chain(*[256 * 64] * 25)
    found = saving(FitBasis(step, "--batch", owners, ()), changes.RECOMPUTE)
    assert found.text == "recompute activations in the backward pass, keeping a4, a9, a14, a19"
    peak = 26 * 256 * 64 - 15 * 1024
    assert step.timeline.peak_bytes == peak
    assert found.high_bytes == peak and (found.low_bytes or 0) <= 0
    step, owners = chain(*[256 * 64] * 49)
    text = saving(FitBasis(step, "--batch", owners, ()), changes.RECOMPUTE).text
    assert text.endswith("keeping a6, a13, a20, a27 and 2 more")
    assert not saving(FitBasis(step, "--batch", owners, (), complete=False), changes.RECOMPUTE).known


# ------------------------------------------------------------------ the largest batch


def test_the_fit_of_the_step() -> None:
    found = fit(known(W, M))
    assert (found.batch, found.batch_source, found.peak_bytes) == (8, "--batch", PEAK)
    assert (found.largest_batch, found.sure_batch, found.reported_batch) == (12, 11, 12)
    assert (found.fixed_bytes, found.per_sample_bytes) == (BEFORE_BYTES + FIXED, SAMPLE)
    assert (found.pixel_bytes, found.sequence_bytes) == (0, 0)
    assert (found.constraint, found.runner_up) == ("activations", "gradients")
    assert found.certainty is Certainty.ESTIMATE and not found.predicted
    assert [each.batch for each in found.predictions] == [4, 8, 12, 16, 32]


@pytest.mark.parametrize(
    "limit, largest, sure, reported",
    [
        (None, None, None, 32),
        (BEFORE_BYTES + FIXED + SAMPLE, 1, 0, 1),
        (BEFORE_BYTES + FIXED + SAMPLE - 1, 0, 0, 1),
        (PEAK, 8, 8, 8),  # measured, so that it is sure
        (PEAK + SAMPLE - 1, 8, 8, 8),
        (int(1.06 * (PEAK + SAMPLE)) + 1, 9, 9, 9),
    ],
)
def test_the_largest_batch_under_a_limit(
    limit: int | None, largest: int | None, sure: int | None, reported: int
) -> None:
    found = fit(known(limit_bytes=limit))
    assert (found.largest_batch, found.sure_batch, found.reported_batch) == (largest, sure, reported)


def test_a_failed_batch_is_beyond_the_largest_and_nothing_of_it_is_sure() -> None:
    found = fit(known(most_batch=7, complete=False))
    assert (found.largest_batch, found.sure_batch) == (7, None)
    assert found.certainty is Certainty.BOUND
    assert fit(known(most_batch=40)).largest_batch == 12


def test_a_step_in_which_nothing_grows_has_no_fit() -> None:
    with pytest.raises(UsageError):
        fit(known(rows=ROWS[3:]))


def test_predictions_have_a_bar_of_6_percent_and_never_more_than_fits() -> None:
    step = known().step
    assert predict(step, 8) == BatchPrediction(8, PEAK, PEAK, PEAK, PEAK)
    assert predict(step, 4) == BatchPrediction(4, 42_496, round(0.94 * 42_496), round(1.06 * 42_496))
    simulated = known(bound=False)
    off = PEAK - simulated.step.peak_bytes(8)
    assert predict(simulated.step, 4).bytes == simulated.step.peak_bytes(4) + off
    predicted = replace(step, timeline=replace(step.timeline, predicted=True, error_share=0.25))
    assert predict(predicted, 8) == BatchPrediction(8, PEAK, PEAK - 17_792, PEAK + 17_792, None)
    assert (error_share(step), error_share(predicted)) == (0.06, 0.25)
    unsure = replace(step, timeline=replace(step.timeline, predicted=True))
    assert error_share(unsure) == 0.06 and predict(unsure, 8).low_bytes == PEAK - round(0.06 * PEAK)
    measured = replace(step, timeline=replace(step.timeline, error_share=0.25))
    assert error_share(measured) == 0.06


def test_a_model_is_asked_again_for_another_batch() -> None:
    """Where it can be, its own peak counts, not the scaled one."""
    asked: list[int] = []

    def repredict(batch: int) -> FitBasis:
        asked.append(batch)
        base = known()
        larger = replace(base.step.timeline, baseline_bytes=BEFORE_BYTES + 1000 * batch)
        return replace(base, step=replace(base.step, timeline=larger))

    again = known(repredict=repredict)
    found = predict(again.step, 4, again)
    assert asked == [4] and found.bytes == 42_496 + 4000
    assert found == BatchPrediction(4, 46_496, 46_496 - round(0.06 * 46_496), 46_496 + round(0.06 * 46_496))
    unlimited = replace(again, limit_bytes=None)
    assert predict(again.step, 4, unlimited).bytes == PEAK + 4000
    assert saving(again, changes.SMALLER_BATCH).largest_batch == 10  # (102000 - 13824) / 8168


def test_what_holds_most() -> None:
    bare = known()
    assert constraints(bare, 8) == ("activations", "gradients")
    assert constraints(known(("w", 500_000, Kind.PARAMETER)), 8) == ("weights", "activations")
    one = known(rows=ROWS[:1])
    assert constraints(one, 8) == ("activations", None)
    assert constraints(replace(one, step=replace(one.step, order=())), 8) == (None, None)
    scratch = known(rows=(ROWS[4], (row("e", (6, 6400)), Owner(None, Kind.WORKSPACE, Phase.FORWARD))))
    assert constraints(scratch, 8) == ("the workspace", "the workspace of d")
    odd = known(rows=((ROWS[0][0], Owner(None, Kind.TRANSFER, Phase.NONE)),))
    assert constraints(odd, 8)[0] == Kind.TRANSFER.value


@pytest.mark.parametrize(
    "shape, pixels, length",
    [
        ((8, 16, 16, 3), True, False),
        ((8, 4, 16, 16, 3), True, False),
        ((8, 16, 3), False, True),
        ((8, 48), False, True),
    ],
)
def test_what_grows_with_the_size_of_the_input(shape: tuple[int, ...], pixels: bool, length: bool) -> None:
    """By the rank of the largest input: images have 4 or 5 dimensions, sequences 2 or 3."""
    nodes = [
        Node("x", "Placeholder", outputs=(TensorType(shape, "float32"),)),
        Node("y", "Relu", ("x",), outputs=(TensorType(shape, "float32"),)),
    ]
    graph = Graph({node.name: node for node in nodes})
    measured = timeline(row("y", shape))
    step = ReplayedStep(measured, laws_of(measured, graph, 8), 8, is_bound=True)
    found = fit(FitBasis(step, "--batch", [ROWS[0][1]], (), graph))
    assert (found.pixel_bytes > 0, found.sequence_bytes > 0) == (pixels, length)
    saved = saving(FitBasis(step, "--batch", [ROWS[0][1]], (), graph), changes.SMALLER_INPUT)
    assert saved.known
    assert ("height" in saved.text, "sequences" in saved.text) == (pixels, length)
    grown = step.peak_bytes(8)
    left = {4: 4, 5: 8, 3: 2, 2: 2}[len(shape)]
    assert saved.best_bytes == grown - grown // left


# ------------------------------------------------------------------ who is asked


def test_savings_are_ranked_by_the_batch_they_allow_then_by_what_they_save() -> None:
    found = ranked_savings(known(W, M))
    assert [each.change for each in found] == [
        changes.MIXED_PRECISION, changes.GRADIENT_ACCUMULATION, changes.LIGHTER_OPTIMIZER,
    ]  # fmt: skip
    unlimited = ranked_savings(known(W, M, limit_bytes=None))
    assert [each.best_bytes for each in unlimited] == [24_576, 20_480, 2_048]


def test_of_nothing_and_of_a_failure_without_names_nothing_is_said() -> None:
    assert savings(None, changes.SMALLER_BATCH, 3) == Saving(changes.SMALLER_BATCH, to_batch=3)
    assert not savings(known(W, complete=False), changes.MIXED_PRECISION).known
    assert savings(known(W), changes.MIXED_PRECISION).known


# ------------------------------------------------------------------ the simulated pool


def test_requests_are_rounded_up_to_chunks_and_never_negative() -> None:
    step = known().step
    assert step.requests(3) == [12_288, 6_144, 3_072, 2_048, 1_536]
    odd = replace(step, shares=[0.5, 0.25, 0.1, 1.0, 0.0])
    assert odd.requests(3) == [6_144, 1_536, 512, 2_048, 0]


def test_what_stands_before_a_step() -> None:
    step = known().step
    assert replace(step, removed_bytes=240, added_bytes=7).baseline_bytes == 10_007
    assert replace(step, removed_bytes=20_000, added_bytes=7).baseline_bytes == 7
    grown = replace(step, standing_laws=laws_of(timeline(row("s", (8, 64)), row("t", (6, 64))), None, 8))
    assert [grown.standing_grown(batch) for batch in (4, 8, 16)] == [1024, 2048, 4096]
    assert [grown.baseline_at(batch) for batch in (4, 8, 16)] == [9_216, 10_240, 12_288]


def test_what_lives_at_the_peak() -> None:
    rows = (row("a", (8, 64), 0, 2), row("b", (8, 32), 1, 5), row("c", (8, 48), 3, 4), row("d", (8, 8), 6, 7))
    measured = timeline(*rows)
    step = ReplayedStep(measured, laws_of(measured, None, 8), 8, is_bound=True)
    assert step.alive_at_peak(8) == [(0, 2048), (1, 1024)]
    assert step.alive_at_peak(16) == [(0, 4096), (1, 2048)]
    shrunk = replace(step, shares=[0.25, 1.0, 1.0, 1.0])
    assert shrunk.alive_at_peak(8) == [(1, 1024), (2, 1536)]


# ------------------------------------------------------------------ how much is walked


@pytest.mark.parametrize("most, basis", [(3, SavingBasis.TIMELINE), (2, SavingBasis.LIST)])
def test_a_curve_is_scaled_up_to_so_many_rows(
    most: int, basis: SavingBasis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 20,000 rows; of a larger step, and at another moment than the peak, the moment's own rows are."""
    assert (basis_of_rows.MAX_REPLAYED_ROWS, basis_of_rows.MAX_WALKED_ROWS) == (5_000, 20_000)
    monkeypatch.setattr(basis_of_rows, "MAX_WALKED_ROWS", most)
    step = timeline(row("a/Relu", (8, 4)), row("b/Relu", (8, 4)), row("c/Relu", (8, 4)))
    (moment,) = pipeline.report(capture(step)).case.moments
    found = basis_of_rows.rows_basis(moment, Hints(batch=8))
    assert found is not None and found.basis is basis
