"""How rows answer to another batch, another size of the input, and a change: each kind of row alone."""

from __future__ import annotations

from typing import Any

import pytest

from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import Attribution, Kind, Owner, Phase
from tfmemlens.model.capture import Hints
from tfmemlens.model.case import Balance, Moment, Request
from tfmemlens.model.finding import Certainty
from tfmemlens.model.incident import CompilerMemory, FailedRequest, Incident
from tfmemlens.model.ledger import Ledger
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import TensorType
from tfmemlens.model.what_if import SavingBasis
from tfmemlens.units import Size
from tfmemlens.values import replace
from tfmemlens.what_if import changes
from tfmemlens.what_if.largest_batch import _sizes, largest, nearest
from tfmemlens.what_if.row_scaling import scaling_of
from tfmemlens.what_if.summed import RowsBasis, saving

A, G, P, S, T = Kind.ACTIVATION, Kind.GRADIENT, Kind.PARAMETER, Kind.OPTIMIZER_SLOT, Kind.LAYOUT_TRANSPOSE
Row = tuple[str, Kind, int, tuple[int, ...] | None]
"""Node, kind, bytes, shape."""


def rows(*given: Row, dtype: str | None = "float32", count: int = 1) -> tuple[Moment, Ledger]:
    table = AllocationTable.of([Allocation(node, size, count=count) for node, _, size, _ in given])
    owners = [Owner("l", kind, Phase.FORWARD) for _, kind, _, _ in given]
    tensors = [None if shape is None else TensorType(shape, dtype) for *_, shape in given]
    ledger = Ledger(table, owners, tensors, [-1] * len(given), [0] * len(given))
    return Moment(Attribution(table, owners), Balance()), ledger


def known(*given: Row, hints: Hints = Hints(), **kept: Any) -> RowsBasis:
    moment, ledger = rows(*given, **kept)
    return RowsBasis(moment, replace(ledger, scaling=scaling_of(moment, ledger, hints)), SavingBasis.LIST)


def test_the_batch_is_what_most_bytes_begin_with() -> None:
    few, many = ("a", A, 100, (8, 5)), ("b", A, 60, (4, 5))
    assert known(few, many).rows.scaling.batch == 8
    assert known(few, many, ("c", A, 60, (4, 9))).rows.scaling.batch == 4
    assert known(("a", A, 100, (8,)), ("k", P, 900, (3, 5))).rows.scaling.batch is None
    assert known(("a", A, 100, (0, 5))).rows.scaling.batch is None
    assert known(few, hints=Hints(batch=2)).rows.scaling.batch == 2
    assert known(few, hints=Hints(input_shape=(2, 5))).rows.scaling.batch == 2
    assert known(few, hints=Hints(input_shape=(None, 5))).rows.scaling.batch == 8


def test_a_request_tells_the_batch_where_no_row_does() -> None:
    def batch(*given: Row, hints: Hints = Hints()) -> int | None:
        moment, ledger = rows(*given)
        request = Request(FailedRequest(), Owner("l", A, Phase.FORWARD), 100, batch=32)
        return scaling_of(replace(moment, request=request), ledger, hints).batch

    weights = ("w", P, 100, (5, 5))
    assert batch(weights) == 32
    assert batch(weights, ("a", A, 100, (8, 5))) == 8
    assert batch(weights, hints=Hints(batch=4)) == 4


@pytest.mark.parametrize(
    "row, grows",
    [
        (("a", A, 1, (8, 5)), True),
        (("a", A, 1, (16, 5)), True),
        (("a", A, 1, (12, 5)), False),
        (("a", A, 1, ()), False),
        (("a", A, 1, None), True),
        (("a", T, 1, (8, 5)), True),
        (("a", Kind.LOOP_STACK, 1, (8, 5)), True),
        (("gradients/a/Relu_grad/ReluGrad", G, 1, (8, 5)), True),
        (("gradients/a/Conv2D_grad/Conv2DBackpropFilter", G, 1, (8, 5)), False),
        (("k", P, 1, (8, 5)), False),
        (("k", S, 1, (8, 5)), False),
        (("k", Kind.WORKSPACE, 1, (8, 5)), False),
    ],
)
def test_what_grows_with_the_batch(row: Row, grows: bool) -> None:
    assert known(row, hints=Hints(batch=8)).rows.scaling.grows == [grows]


@pytest.mark.parametrize(
    "given, axis, size, exponents",
    [
        ([(8, 5)], None, None, [0]),
        ([(8, 7, 7, 3)], "side", None, [2]),
        ([(8, 6, 7, 7, 3)], "side", None, [3]),
        ([(8, 7, 3)], "length", 7, [1]),
        ([(8, 7, 3), (8, 7, 7)], "length", 7, [1, 2]),
        ([(8, 7, 3), (8, 2, 7, 7)], "length", 7, [1, 2]),
        ([(8, 7, 3), (8, 7, 7, 3)], "side", None, [0, 2]),
        ([(8, 7, 3), (8, 9, 3), (8, 9, 3)], "length", 9, [0, 1, 1]),
        ([(8, 6, 3, 7)], "side", None, [2]),
        ([(8, 6, 6, 6), (8, 6, 3)], "side", None, [2, 0]),
        ([(8, 3, 7, 7), (8, 2, 3)], "length", 2, [0, 1]),
    ],
)
def test_along_which_axis_rows_grow(
    given: list[tuple[int, ...]], axis: str | None, size: int | None, exponents: list[int]
) -> None:
    scaling = known(*[("a", A, 10, shape) for shape in given], hints=Hints(batch=8)).rows.scaling
    assert (scaling.axis, scaling.axis_size, list(scaling.exponent)) == (axis, size, exponents)


def test_levers_are_those_that_touch_a_row() -> None:
    every = known(("a", A, 1, (8, 5)), ("t", T, 1, (8, 5)), ("s", S, 1, (8, 5)), ("w", P, 1, (8, 5)))
    assert {lever.slug: (lever.factor, list(lever.touches)) for lever in every.rows.scaling.levers} == {
        changes.NO_LAYOUT_COPIES: (0.0, [False, True, False, False]),
        changes.MIXED_PRECISION: (0.5, [True, True, False, False]),
        changes.RECOMPUTE: (0.5, [True, False, False, False]),
        changes.LIGHTER_OPTIMIZER: (0.0, [False, False, True, False]),
    }
    slug = [lever.slug for lever in known(("a", A, 1, (8, 5)), dtype="float16").rows.scaling.levers]
    assert slug == [changes.RECOMPUTE]


def interval(found: RowsBasis, change: str, to_batch: int | None = None) -> tuple[Any, ...]:
    saved = saving(found, change, to_batch)
    return saved.low_bytes, saved.best_bytes, saved.high_bytes, saved.to_batch


ROWS = (("a", A, 1000, (8, 5)), ("w", P, 100, (5, 5)), ("s", S, 300, (5, 5)), ("x", Kind.WORKSPACE, 80, None))


@pytest.mark.parametrize(
    "change, to_batch, expected",
    [
        (changes.SMALLER_BATCH, None, (250, 500, 540, 4)),
        (changes.SMALLER_BATCH, 2, (375, 750, 810, 2)),
        (changes.SMALLER_BATCH, 16, (-1080, -1000, -500, 16)),
        (changes.SMALLER_BATCH, 0, (None, None, None, None)),
        (changes.GRADIENT_ACCUMULATION, None, (150, 400, 440, None)),
        (changes.MIXED_PRECISION, None, (175, 400, 490, None)),
        (changes.LIGHTER_OPTIMIZER, None, (150, 300, 300, None)),
        (changes.SMALLER_INPUT, None, (None, None, None, None)),
        (changes.NO_LAYOUT_COPIES, None, (None, None, None, None)),
    ],
)
def test_savings_of_a_list(change: str, to_batch: int | None, expected: tuple[Any, ...]) -> None:
    assert interval(known(*ROWS), change, to_batch) == expected


def test_each_row_counts_as_often_as_it_is_held() -> None:
    twice = known(*ROWS, count=2)
    assert interval(twice, changes.SMALLER_BATCH) == (500, 1000, 1080, 4)
    assert interval(twice, changes.GRADIENT_ACCUMULATION) == (300, 800, 880, None)


def test_a_smaller_input_leaves_a_quarter_or_half() -> None:
    images, sequences = known(("a", A, 1000, (8, 7, 7, 3))), known(("a", A, 1000, (8, 7, 3)))
    assert interval(images, changes.SMALLER_INPUT) == (188, 750, 750, None)
    assert interval(sequences, changes.SMALLER_INPUT) == (125, 500, 750, None)
    assert "height" in saving(images, changes.SMALLER_INPUT).text
    assert "length" in saving(sequences, changes.SMALLER_INPUT).text


def test_slots_take_the_constants_that_filled_them_along() -> None:
    filled = known(*ROWS, ("w/Adam/Initializer/zeros", Kind.CONSTANT, 70, (5, 5)))
    assert interval(filled, changes.LIGHTER_OPTIMIZER) == (150, 300, 370, None)


def test_a_batch_of_one_has_no_half() -> None:
    one = known(("a", A, 1000, (1, 5)))
    assert interval(one, changes.SMALLER_BATCH) == (None, None, None, None)
    assert interval(one, changes.GRADIENT_ACCUMULATION) == (None, None, None, None)


@pytest.mark.parametrize(
    "sizes, expected, certainty",
    [
        ((1000,), (None, None, None), None),
        ((500, 500), (0, 1000, 1000), Certainty.BOUND),
        ((100,) * 16, (0, 800, 1600), Certainty.ESTIMATE),
        ((100,) * 9 + (1500,), (0, 882, 2400), Certainty.ESTIMATE),
        ((100,) * 9 + (1600,), (0, 2500, 2500), Certainty.BOUND),
    ],
)
def test_recomputing(sizes: tuple[int, ...], expected: Any, certainty: Certainty | None) -> None:
    found = saving(known(*[("a", A, size, (8, 5)) for size in sizes]), changes.RECOMPUTE)
    assert (found.low_bytes, found.best_bytes, found.high_bytes) == expected
    assert found.certainty is certainty


@pytest.mark.parametrize(
    "section, expected", [("preallocated temp", 40), ("HLO temp", 40), ("parameter", None)]
)
def test_of_a_compiled_program_its_temporaries_shrink(section: str, expected: int | None) -> None:
    found = known(*ROWS)
    compiler = CompilerMemory(sections=((section, Size.exactly(80), Line(1, "")),))
    moment = replace(found.moment, incident=Incident(FailedRequest(), compiler=compiler))
    program = replace(found, moment=moment)
    low = None if expected is None else 0
    assert interval(program, changes.SMALLER_BATCH)[:3] == (low, expected, expected)
    assert interval(program, changes.MIXED_PRECISION)[:3] == (None, None, None)


@pytest.mark.parametrize("most", [0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 1000])
@pytest.mark.parametrize("start", [0, 1, 8, 100])
def test_the_largest_number_for_which_it_holds(most: int, start: int) -> None:
    assert largest(lambda number: number <= most, start) == most


def test_a_search_that_never_ends_ends() -> None:
    assert largest(lambda _: True, 1) == 1 << 24


@pytest.mark.parametrize("most", [0, 1, 2, 9, 64, 199, 200])
@pytest.mark.parametrize("guess", [0, 1, 8, 150, 5000])
def test_the_same_round_a_guess(most: int, guess: int) -> None:
    asked: list[int] = []
    assert nearest(lambda number: asked.append(number) or number <= most, guess) == most
    assert len(asked) <= 20


@pytest.mark.parametrize(
    "batch, fitting, sizes",
    [(1, None, [1, 2, 4]), (8, None, [4, 8, 16, 32]), (8, 10, [4, 8, 10, 16, 32]), (8, 0, [4, 8, 16, 32])],
)
def test_batches_that_are_told(batch: int, fitting: int | None, sizes: list[int]) -> None:
    assert _sizes(batch, fitting) == sizes
