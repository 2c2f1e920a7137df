"""What was held at a failure as a step; the batch that is sure; how a search asks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.builders import capture, timeline
from tests.what_if.test_replayed_step import PEAK, known, row
from tests.what_if.test_row_scaling import A, P
from tests.what_if.test_row_scaling import known as listed
from tfmemlens import pipeline
from tfmemlens.estimation.batch_scaling.scaling import laws_of, proportional
from tfmemlens.model.allocation import TEMPORARY, Allocation, AllocationTable
from tfmemlens.model.attribution import Attribution, Kind, Owner, Phase
from tfmemlens.model.capture import Hints
from tfmemlens.model.case import Balance, Candidate, Moment, Naming, Request
from tfmemlens.model.incident import FailedRequest
from tfmemlens.model.tensor import TensorType
from tfmemlens.model.timeline import NeededLimit
from tfmemlens.units import Size
from tfmemlens.values import replace
from tfmemlens.what_if import basis as basis_of_rows
from tfmemlens.what_if import changes
from tfmemlens.what_if.failure import _growing, _likely_requests, _nameless, of_failure
from tfmemlens.what_if.largest_batch import FitBasis, _limit_for_sure, nearest, sure_batch
from tfmemlens.what_if.summed import RowsBasis, saving

UNKNOWN = Owner(None, Kind.UNATTRIBUTED, Phase.NONE)


def failed(temporary: bool = False, device: str | None = "first", **balance: Any) -> Moment:
    """A tensor with a shape, two chunks whose tensor is guessed, a weight; and a request of 16 KiB."""
    table = AllocationTable.of(
        [
            Allocation("a/Relu", 32_768, device=device, allocator="cpu", shape=(8, 1024), dtype="float32"),
            Allocation("x", 4096, device="second", allocator="other", count=2),
            Allocation("w", 2048),
        ]
    )
    owners = [Owner("a", A, Phase.FORWARD), UNKNOWN, Owner("w", P, Phase.FORWARD)]
    request = Request(
        FailedRequest(node="b", shape=(8, 512), dtype="float32", device="first", temporary=temporary),
        Owner("b", A, Phase.FORWARD),
        16_384,
    )
    guess = Naming((Candidate(TensorType((8, 128), "float32"), 0),), "size")
    moment = Moment(Attribution(table, owners), Balance(**balance))
    return replace(moment, request=request, namings=(None, guess, None))


def test_a_failure_is_a_step_that_was_born_at_once_and_the_request_after_it() -> None:
    found = of_failure(failed(outside_report=Size.exactly(1000)), Hints(batch=8))
    step = found.step
    assert (step.timeline.device, step.timeline.allocator, step.batch) == ("first", "cpu", 8)
    assert step.timeline.baseline_bytes == 1000 and step.is_bound
    table = step.timeline.table
    assert list(table.node) == ["a/Relu", "x", "x", "w", "b"]
    assert list(table.start_micros) == [0.0, 0.0, 0.0, 0.0, 1.0]
    assert list(table.shape) == [(8, 1024), (8, 128), (8, 128), None, (8, 512)]
    assert list(table.dtype) == ["float32", "float32", "float32", None, "float32"]
    assert [owner.kind for owner in found.owners] == [A, UNKNOWN.kind, UNKNOWN.kind, P, A]
    assert (found.limit_bytes, found.most_batch, found.complete, found.grows) == (None, None, False, True)
    bare = of_failure(replace(failed(device=None), namings=()), Hints(batch=8)).step.timeline
    assert (bare.device, bare.baseline_bytes, bare.table.shape[1]) == ("", 0, None)


@pytest.mark.parametrize("temporary, purpose", [(True, TEMPORARY), (False, None)])
def test_scratch_memory_that_failed_stays_scratch(temporary: bool, purpose: str | None) -> None:
    table = of_failure(failed(temporary), Hints(batch=8)).step.timeline.table
    assert table.purpose[len(table) - 1] == purpose


@pytest.mark.parametrize(
    "printed, given, limit, most",
    [
        (60_000, None, 60_000, 7),
        (60_000, 60_000, 60_000, 7),
        (60_000, 50_000, 50_000, 7),
        (60_000, 60_001, 60_001, None),  # more than what it failed under
        (None, 50_000, 50_000, None),
        (None, None, None, None),
    ],
)
def test_a_batch_that_failed_is_too_large_for_this_limit_and_any_below(
    printed: int | None, given: int | None, limit: int | None, most: int | None
) -> None:
    moment = failed(limit=Size.exactly(printed) if printed else None)
    found = of_failure(moment, Hints(batch=8, limit_bytes=given))
    assert (found.limit_bytes, found.most_batch) == (limit, most)


def law_of(each: Allocation) -> Any:
    return laws_of(timeline(each), None, 8)[0]


@pytest.mark.parametrize(
    "node, kind, changed",
    [
        ("c/Conv3DBackpropFilterV2", Kind.WORKSPACE, True),
        ("c/Conv2DBackpropFilter", Kind.WORKSPACE, False),
        (None, Kind.WORKSPACE, False),
    ],
)
def test_the_buffers_of_a_volume_may_not_be_there_at_a_smaller_batch(
    node: str | None, kind: Kind, changed: bool
) -> None:
    each = replace(row("x", None), node=node, size_bytes=4096, requested_bytes=4096)
    law = law_of(each)
    found = _growing(law, each, Owner("c", kind, Phase.GRADIENT), 8, [])
    assert (found is not law) is changed
    if changed:
        assert [found.least(batch) for batch in (7, 8)] == [0, law.request(8)]


@pytest.mark.parametrize(
    "sizes, asked",
    [((1024, 2048), 4096), ((2048, 2049), 2049), ((4096,), 4096), ((4097,), 4096), ((), 4096)],
)
def test_a_nameless_chunk_grows_and_may_be_less_than_twice_its_request(
    sizes: tuple[int, ...], asked: int
) -> None:
    each = replace(row("x", None), size_bytes=4096, requested_bytes=None)
    found = _growing(law_of(each), each, UNKNOWN, 8, sizes)
    assert [found.request(batch) for batch in (4, 16)] == [2048, 8192]
    assert found.least(16) == proportional(asked, 8).request(16)


@pytest.mark.parametrize(
    "node, shape, kind",
    [
        ("w", None, Kind.PARAMETER),
        ("w", None, Kind.OPTIMIZER_SLOT),
        ("w", None, Kind.CONSTANT),
        ("a", (6, 64), A),
        ("a", (8, 64), A),
    ],
)
def test_what_has_a_shape_or_belongs_to_weights_is_left_as_it_is(
    node: str, shape: tuple[int, ...] | None, kind: Kind
) -> None:
    each = row(node, shape)
    law = law_of(each)
    assert _growing(law, each, Owner("l", kind, Phase.NONE), 8, []) is law


def test_likely_requests_are_sizes_of_shapes_and_those_that_come_twice() -> None:
    def nameless(size: int) -> Allocation:
        return replace(row("x", None), size_bytes=size, requested_bytes=size)

    table = AllocationTable.of([row("a", (8, 128)), nameless(1024), nameless(1024), nameless(999)])
    laws = laws_of(timeline(*table), None, 8)
    assert _likely_requests(table, laws, 8) == [1024, 4096]


@pytest.mark.parametrize("nameless, told", [(1024, True), (1023, False)])
def test_a_tenth_without_a_name_is_told(nameless: int, told: bool) -> None:
    sizes = (10_240 - nameless, nameless)
    rows = [replace(row("x", None), size_bytes=size, requested_bytes=size) for size in sizes]
    measured = timeline(*rows)
    step = replace(known().step, timeline=measured, laws=laws_of(measured, None, 8))
    assert step.timeline.peak_bytes == 10_240
    remark = _nameless(step, [Owner("a", A, Phase.FORWARD), UNKNOWN])
    assert (remark is not None) is told
    if remark:
        assert remark.startswith("1.0 KiB of it has no name")


# ------------------------------------------------------------------ the batch that is sure


def asked_again(asked: list[int], needs: bool = True) -> FitBasis:
    def repredict(batch: int) -> FitBasis:
        asked.append(batch)
        return again(1000 * batch)

    def again(high: int) -> FitBasis:
        step = known().step
        needed = NeededLimit(high // 2, high) if needs else None
        return replace(known(), step=replace(step, timeline=replace(step.timeline, needed_limit=needed)))

    return replace(again(8000), repredict=repredict, limit_bytes=12_000)


def test_a_prediction_is_asked_for_the_batch_whose_whole_bar_fits() -> None:
    asked: list[int] = []
    assert sure_batch(asked_again(asked), 100) == 12
    assert asked[0] == int(100 / 1.06)
    assert sure_batch(asked_again([]), 10) == 10
    assert sure_batch(replace(asked_again([]), complete=False), 10) is None
    assert sure_batch(replace(asked_again([]), limit_bytes=None), 10) is None
    assert sure_batch(asked_again([], needs=False), 8) == 8  # by the measured step


def test_without_a_needed_limit_the_bar_of_the_peak_counts() -> None:
    step = known().step
    assert _limit_for_sure(step) == round(1.06 * PEAK)
    needing = replace(step, timeline=replace(step.timeline, needed_limit=NeededLimit(1, 2)))
    assert _limit_for_sure(needing) == 2


@pytest.mark.parametrize(
    "most, guess, expected",
    [
        (130, 100, [100, 102, 106, 114, 130, 162, 146, 138, 134, 132, 131]),
        (70, 100, [100, 98, 94, 86, 70, 86, 78, 74, 72, 71]),
        (1000, 1000, [1000, 1020, 1010, 1005]),
        (5150, 5150, [5150, 5253, 5201, 5175]),
    ],
)
def test_a_dear_question_is_asked_round_a_guess_in_growing_steps(
    most: int, guess: int, expected: list[int]
) -> None:
    asked: list[int] = []

    def fits(batch: int) -> bool:
        asked.append(batch)
        return batch <= most

    assert nearest(fits, guess) == most
    assert asked == expected


# ------------------------------------------------------------------ rows, and which basis there is


@pytest.mark.parametrize("most, kind", [(3, FitBasis), (2, RowsBasis)])
def test_a_step_is_simulated_up_to_so_many_rows(
    most: int, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(basis_of_rows, "MAX_REPLAYED_ROWS", most)
    step = timeline(row("a/Relu", (8, 4)), row("b/Relu", (8, 4)), row("c/Relu", (8, 4)))
    given = replace(capture(step), hints=Hints(batch=8))
    (moment,) = pipeline.report(given).case.moments
    assert type(basis_of_rows.basis_of(given, moment)) is kind
    assert basis_of_rows.with_batch(given, step) is given.hints


@pytest.mark.parametrize(
    "shape, words",
    [((8, 4, 4, 3), "images of half the height and width"), ((8, 5, 3), "sequences of half the length")],
)
def test_which_input_is_made_smaller(shape: tuple[int, ...], words: str) -> None:
    rows = listed(("a", A, 100, shape))
    assert saving(rows, changes.SMALLER_INPUT).text == words
    for change in (changes.SMALLER_BATCH, changes.MIXED_PRECISION):
        assert saving(rows, change).text == changes.CHANGES[change].text


def test_rows_that_are_held_many_times_are_recomputed_as_many() -> None:
    found = saving(listed(("a", A, 100, (8, 5)), count=16), changes.RECOMPUTE)
    assert (found.best_bytes, found.low_bytes, found.high_bytes) == (800, 0, 1600)


def test_without_a_batch_half_of_what_grows_goes() -> None:
    assert saving(listed(("a", A, 100, None)), changes.SMALLER_BATCH).best_bytes == 50


def test_rows_without_any_name_are_no_basis_unless_a_compiler_lists_them() -> None:
    table = AllocationTable.of([Allocation("x", 100)])
    moment = Moment(Attribution(table, [UNKNOWN]), Balance())
    other: Any = SimpleNamespace(compiler=None)
    program: Any = SimpleNamespace(compiler=1)
    assert basis_of_rows.rows_basis(moment, Hints()) is None
    assert basis_of_rows.rows_basis(replace(moment, incident=other), Hints()) is None
    assert basis_of_rows.rows_basis(replace(moment, incident=program), Hints()) is not None
    named = replace(moment, attribution=Attribution(table, [Owner("a", A, Phase.FORWARD)]))
    assert basis_of_rows.rows_basis(named, Hints()) is not None


def test_a_basis_is_a_whole_step_whose_pool_grows_unless_told() -> None:
    bare = FitBasis(known().step, "--batch", (), ())
    assert (bare.grows, bare.complete, bare.limit_bytes, bare.most_batch) == (True, True, None, None)
