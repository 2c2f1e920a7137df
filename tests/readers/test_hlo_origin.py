"""Names of what XLA adds to a program by itself: a copy has that of what it copies."""

from __future__ import annotations

from typing import Any

import pytest

from tests.readers.test_hlo_order import computation, proto, step
from tfmemlens.readers.timelines.hlo_origin import Origins

GRADIENT = "jit(f)/vmap(transpose(jvp()))/transpose"


def names(*computations: Any) -> dict[str, str]:
    return dict(Origins(proto(*computations, allocations=(), values={})).names())


def result_of(*steps: Any, wrapped: tuple[Any, ...] = ()) -> str | None:
    """The name of instruction 9, which is all that the program gives back; 1 is a gradient, 2 an argument."""
    entry = computation(
        1,
        step(1, "fusion", named=GRADIENT),
        step(2, "parameter", named="params['w']"),
        *steps,
        step(20, "tuple", 9),
    )
    return names(entry, *wrapped).get("i9")


@pytest.mark.parametrize(
    "opcode", ["copy", "bitcast", "transpose", "convert", "reshape", "get-tuple-element"]
)
def test_a_result_without_a_name_has_that_of_what_it_copies(opcode: str) -> None:
    assert result_of(step(9, opcode, 1)) == GRADIENT


def test_several_copies_lead_to_what_computes() -> None:
    assert result_of(step(5, "transpose", 1), step(6, "convert", 5), step(9, "copy", 6)) == GRADIENT


@pytest.mark.parametrize("opcode", ["negate", "add", "broadcast", "reduce", "custom-call"])
def test_what_computes_something_without_a_name_is_unknown(opcode: str) -> None:
    assert result_of(step(9, opcode, 1)) is None
    assert result_of(step(5, opcode, 1), step(9, "copy", 5)) is None


@pytest.mark.parametrize("given, name", [(0, "params['w']"), (1, GRADIENT), (2, None)])
def test_a_fusion_that_only_copies_has_the_name_of_the_operand_that_it_copies(
    given: int, name: str | None
) -> None:
    body = computation(2, step(30, "parameter", given=given), step(31, "copy", 30))
    assert result_of(step(9, "fusion", 2, 1, calls=(2,)), wrapped=(body,)) == name


def test_a_fusion_without_a_name_has_that_of_its_end() -> None:
    body = computation(2, step(30, "parameter"), step(31, "multiply", 30, named="jit(f)/mul"))
    assert result_of(step(9, "fusion", 1, calls=(2,)), wrapped=(body,)) == "jit(f)/mul"


@pytest.mark.parametrize("end", ["negate", "tuple"])
def test_a_fusion_that_computes_or_makes_several_things_is_unknown(end: str) -> None:
    body = computation(2, step(30, "parameter"), step(31, end, 30))
    assert result_of(step(9, "fusion", 1, calls=(2,)), wrapped=(body,)) is None


def test_a_part_of_a_tuple_is_what_was_put_there() -> None:
    whole = step(5, "tuple", 2, 1)
    assert result_of(whole, step(6, "get-tuple-element", 5, part=1), step(9, "copy", 6)) == GRADIENT
    assert result_of(whole, step(6, "get-tuple-element", 5, part=2), step(9, "copy", 6)) is None


def test_what_a_loop_gives_back_is_what_its_turn_writes() -> None:
    turn = computation(
        2,
        step(30, "parameter"),
        step(31, "get-tuple-element", 30),
        step(32, "add", 31, named="jit(f)/while/body/add"),
        step(33, "tuple", 32),
    )
    steps = (step(5, "tuple", 2), step(6, "while", 5, calls=(2,), named="jit(f)/while"))
    made = result_of(*steps, step(7, "get-tuple-element", 6), step(9, "copy", 7), wrapped=(turn,))
    assert made == "jit(f)/while/body/add"


def test_what_a_branch_is_given_is_not_told_by_the_number_of_the_branch() -> None:
    branch = computation(2, step(30, "parameter"), step(31, "copy", 30))
    entry = computation(
        1,
        step(1, "compare", named="jit(f)/lt"),
        step(2, "parameter", named="x"),
        step(9, "conditional", 1, 2, calls=(2,)),
    )
    assert "i31" not in names(entry, branch)


def test_an_argument_that_is_laid_out_anew_is_told_by_its_reader() -> None:
    dot = step(9, "dot", 5, named="jit(f)/dot_general")
    entry = computation(1, step(2, "parameter", named="params['w']"), step(5, "copy", 2), dot)
    assert names(entry)["i5"] == "jit(f)/dot_general"


def test_a_copy_that_is_read_keeps_the_name_of_what_it_copies() -> None:
    entry = computation(
        1,
        step(1, "dot", named=GRADIENT),
        step(5, "copy", 1),
        step(6, "reduce", 5, named="jit(f)/reduce_sum"),
        step(7, "tuple", 5, 6),
    )
    assert names(entry)["i5"] == GRADIENT


def test_copies_of_one_another_end() -> None:
    assert result_of(step(5, "copy", 9), step(9, "copy", 5)) is None


def test_a_copy_of_nothing_is_unknown() -> None:
    assert result_of(step(9, "copy")) is None
    assert result_of(step(9, "copy", 99)) is None
