"""Layers of a compiled program by the arguments that its values are computed with."""

from __future__ import annotations

import pytest

from tfmemlens.attribution.moments.arguments import with_arguments
from tfmemlens.attribution.moments.owners import attribute_table
from tfmemlens.model.allocation import Allocation, AllocationTable, Shape
from tfmemlens.model.attribution import Kind
from tfmemlens.model.incident import ProgramValue
from tfmemlens.values import replace

FORWARD, BACKWARD = "jit(f)/jvp()/dot_general", "jit(f)/transpose(jvp())/dot_general"


def layers(rows: list[tuple[str, Shape]], *values: ProgramValue) -> list[str | None]:
    table = AllocationTable.of([Allocation(node, 1024, shape=shape) for node, shape in rows])
    return [owner.layer for owner in with_arguments(attribute_table(table), values).owners]


@pytest.mark.parametrize(
    "arguments, layer",
    [
        (("net['decoder']['w']",), "net['decoder']"),
        (("net['decoder']['w']", "net['decoder']['b']"), "net['decoder']"),
        (("net['decoder']['w']", "net['encoder']['w']"), None),
        (("net['decoder']['attention']",), "net['decoder']['attention']"),
        (("x", "net[0].w"), "net[0]"),
        (("net['w']",), "net['w']"),
        (("w",), None),
        (("net['a']", "net['b']"), None),
        (("batch['image']",), None),
        ((), None),
    ],
)
def test_one_argument_that_lies_in_a_tree_is_the_layer(arguments: tuple[str, ...], layer: str | None) -> None:
    assert layers([(FORWARD, (8, 32))], ProgramValue(FORWARD, 1024, arguments=arguments)) == [layer]


def test_what_a_loop_stacks_is_of_the_weight_that_its_rows_are_made_with() -> None:
    node = "jit(f)/jvp()/while/body/dynamic_update_slice"
    table = AllocationTable.of([Allocation(node, 1024, shape=(50, 8, 32))])
    attribution = attribute_table(table)
    owners = [replace(owner, kind=Kind.LOOP_STACK) for owner in attribution.owners]
    values = [ProgramValue(node, 1024, arguments=("net['a']",))]
    stacked = with_arguments(replace(attribution, owners=owners), values)
    assert [owner.layer for owner in stacked.owners] == ["net['a']"]


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


@pytest.mark.parametrize(
    "shape, dtype, layer",
    [
        ((64, 16, 32), "float32", "net['a']"),  # one for each of 64 rows
        ((64, 16, 32), "uint32", "net['b']"),  # random numbers
        ((64, 32, 16), "float32", "net['b']"),
        ((16, 32), "float32", "net['b']"),  # a batch of 16 has this shape, too
        ((64, 8, 8), "float32", None),  # two weights are alike
    ],
)
def test_what_has_a_weights_shape_for_each_row_is_of_that_weight(
    shape: Shape, dtype: str, layer: str | None
) -> None:
    node = "jit(f)/vmap()/integer_pow"
    table = AllocationTable.of(
        [
            Allocation("net['a']['w']", 1024, shape=(16, 32), dtype="float32", purpose="parameter"),
            Allocation("net['c']['w']", 256, shape=(8, 8), dtype="float32", purpose="parameter"),
            Allocation("net['d']['w']", 256, shape=(8, 8), dtype="float32", purpose="parameter"),
            Allocation(node, 4096, shape=shape, dtype=dtype),
        ]
    )
    values = [ProgramValue(node, 4096, arguments=("net['b']['b']",))]
    assert with_arguments(attribute_table(table), values).owners[-1].layer == layer


@pytest.mark.parametrize("dtype, layer", [("float32", "net['a']"), ("bfloat16", None)])
def test_a_gradient_of_a_weights_shape_is_of_that_weight(dtype: str, layer: str | None) -> None:
    table = AllocationTable.of(
        [
            Allocation("net['a']['w']", 1024, shape=(16, 32), dtype="float32", purpose="parameter"),
            Allocation(BACKWARD, 1024, shape=(16, 32), dtype=dtype),
        ]
    )
    assert with_arguments(attribute_table(table), ()).owners[-1].layer == layer


def argument(name: str, *shape: int) -> Allocation:
    return Allocation(name, 1024, shape=shape, dtype="float32", purpose="parameter")


def owner_of(row: Allocation, value: ProgramValue, *arguments: Allocation) -> str | None:
    table = AllocationTable.of([*arguments, row])
    return with_arguments(attribute_table(table), [value]).owners[-1].layer


def test_a_vector_beside_matrices_owns_nothing_and_the_line_is_told() -> None:
    row = Allocation(FORWARD, 4096, shape=(192, 8, 128), dtype="float32")
    made = ProgramValue(FORWARD, 4096, "/home/u/nca.py:30", "h = x + b", ("params['bias']",), "rule")
    matrix = argument("params['to_hidden']", 48, 128)
    assert owner_of(row, made, matrix, argument("params['bias']", 128)) == "rule (nca.py:30)"
    assert owner_of(row, made, matrix, argument("params['bias']", 8, 128)) == "params['bias']"


@pytest.mark.parametrize(
    ("function", "label"),
    [("fit.<locals>.body", "body (nca.py:30)"), ("<module>", "nca.py:30"), (None, "nca.py:30")],
)
def test_a_value_that_nothing_names_is_of_its_line(function: str | None, label: str) -> None:
    row = Allocation(FORWARD, 4096, shape=(192, 8, 128), dtype="float32")
    assert owner_of(row, ProgramValue(FORWARD, 4096, "nca.py:30", function=function)) == label
    assert owner_of(row, ProgramValue(FORWARD, 4096, None, function=function)) is None


@pytest.mark.parametrize(("numbers", "layer"), [(96, "params['w']"), (95, None)])
def test_a_gradient_for_each_row_of_a_vmap_may_be_flat(numbers: int, layer: str | None) -> None:
    name = "jit(f)/vmap(transpose(jvp()))/transpose"
    row = Allocation(name, 4096, shape=(64, numbers), dtype="float32")
    assert owner_of(row, ProgramValue("other", 1), argument("params['w']", 8, 12)) == layer


def of_loop(*values: tuple[str, int | None, str]) -> str | None:
    """The layer of what a loop stacks, of which the program has several values of one name and size."""
    node = "jit(f)/jvp()/while/body/dynamic_update_slice"
    made = (
        ProgramValue(
            node,
            1024,
            place=line and f"/x/net.py:{line}",
            arguments=(argument,) if argument else (),
            function=function,
        )
        for argument, line, function in values
    )
    return layers([(node, (50, 8, 32))], *made)[0]


def test_values_that_cannot_be_told_apart_are_of_no_single_weight() -> None:
    assert of_loop(("net['a']", 3, "cell"), ("net['a']", 4, "cell")) == "net['a']"
    assert of_loop(("net['a']", 3, "cell"), ("net['b']", 4, "cell")) == "cell (net.py:3 to 4)"
    assert of_loop(("net['a']", 3, "cell"), ("", 5, "cell")) == "cell (net.py:3 to 5)"
    assert of_loop(("net['a']", 3, "cell"), ("", 3, "cell")) == "net['a']"  # a copy that the line makes
    assert of_loop(("", 3, "cell"), ("", 9, "head")) == "cell (net.py:3)"


@pytest.mark.parametrize(
    ("first", "second", "layer"),
    [
        ((32, 10, 1), (32, 10, 1), None),  # a batch, in parts
        ((512, 64), (64, 512), "pairs[0]"),
        ((512, 512), (512, 512), "pairs[0]"),  # multiplied in turn
        ((3, 3, 8, 16), (3, 3, 16, 32), "pairs[0]"),
        ((512, 64), (256, 64), "pairs[0]"),
    ],
)
def test_arguments_with_as_many_rows_each_are_no_weights(
    first: Shape, second: Shape, layer: str | None
) -> None:
    table = AllocationTable.of(
        [
            Allocation(FORWARD, 1024, shape=(8, 32)),
            *(
                Allocation(f"pairs[{number}]", 512, shape=shape, purpose="parameter")
                for number, shape in enumerate((first, second))
            ),
        ]
    )
    values = [ProgramValue(FORWARD, 1024, arguments=("pairs[0]",))]
    assert with_arguments(attribute_table(table), values).owners[0].layer == layer


NEW = "jit(step)/sub"


@pytest.mark.parametrize(
    "node, shape, purpose, beside, layer",
    [
        (NEW, (8, 32), "maybe_live_out", BACKWARD, "net['a']"),
        (NEW, (8, 32), "maybe_live_out", FORWARD, None),  # it trains nothing
        (NEW, (8, 32), "preallocated temp", BACKWARD, None),
        (NEW, (32, 8), "maybe_live_out", BACKWARD, None),
        (NEW, (4, 4), "maybe_live_out", BACKWARD, None),  # of two weights
        (NEW, (8,), "maybe_live_out", BACKWARD, None),
        ("jit(step)/jvp()/add", (8, 32), "maybe_live_out", BACKWARD, None),
        ("jit(step)/jvp(Net)/add", (8, 32), "maybe_live_out", BACKWARD, "Net"),
    ],
)
def test_what_a_step_gives_back_in_one_weights_shape_is_of_that_weight(
    node: str, shape: Shape, purpose: str, beside: str, layer: str | None
) -> None:
    weights = [("net['a']['w']", (8, 32)), ("net['b']['w']", (4, 4)), ("net['c']['w']", (4, 4))]
    rows = [Allocation(name, 1024, shape=sides, purpose="parameter") for name, sides in weights]
    rows += [Allocation(beside, 1024, shape=(5, 5)), Allocation(node, 1024, shape=shape, purpose=purpose)]
    owners = with_arguments(attribute_table(AllocationTable.of(rows)), ()).owners
    assert owners[-1].layer == layer
