"""Layers of a compiled program by the arguments that its values are computed with."""

from __future__ import annotations

import pytest

from tfmemlens.attribution.moments.arguments import with_arguments
from tfmemlens.attribution.moments.owners import attribute_table
from tfmemlens.model.allocation import Allocation, AllocationTable, Shape
from tfmemlens.model.incident import ProgramValue

FORWARD, BACKWARD = "jit(f)/jvp()/dot_general", "jit(f)/transpose(jvp())/dot_general"


def layers(rows: list[tuple[str, Shape]], *values: ProgramValue) -> list[str | None]:
    table = AllocationTable.of([Allocation(node, 1024, shape=shape) for node, shape in rows])
    return [owner.layer for owner in with_arguments(attribute_table(table), values).owners]


@pytest.mark.parametrize(
    "arguments, layer",
    [
        (("net['decoder']['w']",), "net['decoder']['w']"),
        (("x", "net[0].w"), "net[0].w"),
        (("w",), None),
        (("net['a']", "net['b']"), None),
        (("batch['image']",), None),
        ((), None),
    ],
)
def test_one_argument_that_lies_in_a_tree_is_the_layer(arguments: tuple[str, ...], layer: str | None) -> None:
    assert layers([(FORWARD, (8, 32))], ProgramValue(FORWARD, 1024, arguments=arguments)) == [layer]


def test_a_value_of_another_size_is_another() -> None:
    assert layers([(FORWARD, (8, 32))], ProgramValue(FORWARD, 2048, arguments=("net['a']",))) == [None]


def test_a_scope_that_the_code_names_stays() -> None:
    node = "jit(f)/jvp(Net)/first/dot_general"
    assert layers([(node, (8, 32))], ProgramValue(node, 1024, arguments=("net['a']",))) == ["Net/first"]


def test_a_gradient_is_of_what_has_its_shape_and_not_of_what_it_is_computed_with() -> None:
    rows: list[tuple[str, Shape]] = [(FORWARD, (8, 32)), (BACKWARD, (8, 32)), (BACKWARD, (4, 64))]
    values = (
        ProgramValue(FORWARD, 1024, arguments=("net['a']",)),
        ProgramValue(BACKWARD, 1024, arguments=("net['b']",)),
    )
    assert layers(rows, *values) == ["net['a']", "net['a']", None]
