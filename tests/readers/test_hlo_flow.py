"""What instructions of a compiled program are computed with, across fusions and the turns of a loop."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tfmemlens.readers.timelines.hlo_flow import Flow


def step(
    number: int, opcode: str, *operands: int, calls: tuple[int, ...] = (), part: int = 0, given: int = 0
) -> Any:
    return Made(id=number, opcode=opcode, operand_ids=operands, called_computation_ids=calls,
                tuple_index=part, parameter_number=given)  # fmt: skip


def computation(number: int, *steps: Any) -> Any:
    return Made(id=number, instructions=steps, root_id=steps[-1].id)


def a_loop(*, root: str = "tuple") -> Flow:
    """`carry, stack = scan(cell, first, weight)`: 10 and 11 are arguments, 20 to 29 one turn, 30 to 33 what
    writes a row.
    """
    entry = computation(
        1,
        step(10, "parameter", given=0),  # the first carry
        step(11, "parameter", given=1),  # a weight
        step(12, "broadcast"),  # an empty stack
        step(13, "tuple", 10, 11, 12),
        step(14, "while", 13, calls=(2, 4)),
        step(15, "get-tuple-element", 14, part=0),
        step(16, "get-tuple-element", 14, part=2),
    )
    turn = computation(
        2,
        step(20, "parameter"),
        step(21, "get-tuple-element", 20, part=0),
        step(22, "copy", 21),
        step(23, "get-tuple-element", 20, part=1),
        step(24, "dot", 22, 23),
        step(25, "get-tuple-element", 20, part=2),
        step(26, "fusion", 25, 24, calls=(3,)),
        step(27, root, 24, 23, 26),
    )
    row = computation(
        3,
        step(30, "parameter", given=0),
        step(31, "parameter", given=1),
        step(32, "bitcast", 31),
        step(33, "dynamic-update-slice", 30, 32),
    )
    return Flow(Made(computations=[entry, turn, row, computation(4, step(40, "parameter"))]))


def test_a_part_of_a_loops_state_comes_from_before_it_and_from_the_turn_before() -> None:
    flow = a_loop()
    assert list(flow.sources(21)) == [10, 24]
    assert list(flow.sources(23)) == [11, 23]  # handed on as it is
    assert list(flow.sources(15)) == [10, 24]


def test_a_product_in_a_loop_is_computed_with_the_programs_argument() -> None:
    assert set(a_loop().computed_with(24)) == {10, 11, 24}


def test_in_a_fusion_a_parameter_is_what_the_fusion_is_given() -> None:
    assert a_loop().computed_with(32) == [24]


@pytest.mark.parametrize("number, row", [(26, 32), (33, 32), (24, None), (14, None)])
def test_the_row_that_a_stack_is_given(number: int, row: int | None) -> None:
    assert a_loop().row_of_stack(number) == row


@pytest.mark.parametrize("number, before", [(32, 31), (31, 24), (22, 21), (21, 24), (24, None), (12, None)])
def test_what_is_only_moved_leads_to_what_a_turn_writes(number: int, before: int | None) -> None:
    assert a_loop().moved_from(number) == before


def test_a_body_that_ends_in_no_tuple_tells_what_stood_before() -> None:
    assert list(a_loop(root="call").sources(21)) == [10]
    unknown = Flow(Made(computations=[computation(1, step(1, "get-tuple-element", 9))]))
    assert list(unknown.sources(1)) == []


def met(first: tuple[int, ...], second: tuple[int, ...], beside: tuple[int, ...] = (64, 16)) -> bool:
    """Whether a fusion meets two arrays as pairs: broadcast to 64 x 64 x 16 along these dimensions."""

    def sized(made: Any, *sides: int, along: tuple[int, ...] = ()) -> Any:
        made.shape, made.dimensions = Made(dimensions=sides), along
        return made

    side = {0: 64, 1: 64, 2: 16}
    whole = (64, 64, 16)
    entry = computation(
        1,
        sized(step(10, "dot"), *beside),
        sized(step(11, "dot"), *(side[each] for each in second)),
        sized(step(12, "fusion", 10, 11, calls=(2,)), *whole),
    )
    body = computation(
        2,
        sized(step(20, "parameter", given=0), *(side[each] for each in first)),
        sized(step(21, "parameter", given=1), *(side[each] for each in second)),
        sized(step(22, "broadcast", 20), *whole, along=first),
        sized(step(23, "broadcast", 21), *whole, along=second),
        sized(step(24, "subtract", 22, 23), *whole),
    )
    return Flow(Made(computations=[entry, body])).combines(12)


def test_all_pairs_of_two_arrays_rows_are_the_work_of_neither() -> None:
    assert met((0, 2), (1, 2))
    assert met((0,), (1,))
    assert not met((2,), (2,))  # a scale and a shift
    assert not met((0, 1), (2,), beside=(64, 64, 16))  # a norm: what it norms is as large already


def test_zeros_before_a_loop_are_its_stack() -> None:
    flow = a_loop()
    assert flow.fills(12) and not flow.fills(26) and not flow.fills(24)
