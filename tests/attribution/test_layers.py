"""A model's layers from the variables that stood and the outputs that a step made."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import row, timeline
from tfmemlens.attribution.moments.layers import formula, summaries
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.attribution import Kind, Owner, Phase
from tfmemlens.model.live_model import LiveModel, LiveVariable
from tfmemlens.model.tensor import TensorType

STEP = timeline(row("net/conv/Relu", 1, 0, 1))


def variable(
    name: str, shape: tuple[int, ...], requested: int | None, kind: Kind
) -> tuple[Allocation, Owner]:
    stands = replace(row(name, 1, 0, None), shape=shape, dtype="float32", requested_bytes=requested)
    return stands, Owner("net/conv", kind, Phase.FORWARD)


def test_a_variable_counts_as_requested_or_else_as_its_shape() -> None:
    stood = [
        variable("net/conv/kernel", (3, 3, 1, 8), 300, Kind.PARAMETER),
        variable("net/conv/bias", (8,), None, Kind.PARAMETER),
        variable("net/conv/kernel/Adam", (3, 3, 1, 8), None, Kind.OPTIMIZER_SLOT),
    ]
    (layer,) = summaries([STEP], [stood])
    assert (layer.parameters, layer.parameter_bytes, layer.slot_bytes) == (72 + 8, 300 + 32, 288)
    assert layer.formula == "(3*3*1+1)*8"


def test_a_variable_that_two_devices_hold_counts_once() -> None:
    stood = [variable("net/conv/kernel", (3, 3, 1, 8), 288, Kind.PARAMETER)]
    (layer,) = summaries([STEP, STEP], [stood, stood])
    assert (layer.parameters, layer.parameter_bytes) == (72, 288)


def test_a_layer_of_the_program_has_all_its_weights() -> None:
    def weight(
        name: str, *shape: int, layer: str | None = "net/conv", kind: Kind = Kind.PARAMETER
    ) -> LiveVariable:
        return LiveVariable(name, layer, kind, TensorType(shape, "float32"))

    told = (
        weight("kernel", 3, 3, 1, 8),
        weight("bias", 8),
        weight("m", 8, kind=Kind.OPTIMIZER_SLOT),
        weight("step", 1, layer=None),
    )
    stood = [variable("net/conv/bias", (8,), 32, Kind.PARAMETER)]
    (layer,) = summaries([STEP], [stood], model=LiveModel((), (("net/conv", "Conv2D"),), told))
    assert (layer.parameters, layer.parameter_bytes, layer.slot_bytes) == (80, 320, 0)
    assert layer.formula == "(3*3*1+1)*8"


@pytest.mark.parametrize(
    ("shapes", "text"),
    [
        ([(5, 5, 1, 32), (32,)], "(5*5*1+1)*32"),
        ([(5, 5, 1, 32), (31,)], "5*5*1*32+31"),
        ([(5, 5, 1, 32)], "5*5*1*32"),
        ([(8,), (8,), (4,)], "2*8+4"),
        ([(2, 3), (4, 5), (5,)], "4*5+2*3+5"),
    ],
)
def test_formulas(shapes: list[tuple[int, ...]], text: str) -> None:
    assert formula(shapes) == text
