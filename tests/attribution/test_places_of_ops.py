"""Ops in no scope by the line of the program that makes them."""

from __future__ import annotations

import pytest

from tfmemlens.attribution.names.live_names import LiveNames
from tfmemlens.model.attribution import NOBODY, Kind, Phase
from tfmemlens.model.live_model import LiveModel, OpPlace
from tfmemlens.values import replace

PLACES = (OpPlace("encode", "net.py", 24, ("MatMul", "conv")), OpPlace("<module>", "net.py", 9, ("Sum",)))


@pytest.mark.parametrize(
    ("layer", "kind", "told"),
    [
        ("MatMul", Kind.ACTIVATION, "encode (net.py:24)"),
        ("MatMul", Kind.GRADIENT, "encode (net.py:24)"),
        ("Sum", Kind.ACTIVATION, "net.py:9"),
        ("MatMul_1", Kind.ACTIVATION, "MatMul_1"),
        ("trunk/MatMul", Kind.ACTIVATION, "trunk/MatMul"),
        ("MatMul", Kind.PARAMETER, "MatMul"),  # a variable of that name
        ("conv", Kind.ACTIVATION, "conv"),  # a layer of that name
        (None, Kind.ACTIVATION, None),
    ],
)
def test_the_function_and_its_line(layer: str | None, kind: Kind, told: str | None) -> None:
    names = LiveNames(LiveModel((), (("conv", "Conv2D"),), places=PLACES))
    assert names.owner(replace(NOBODY, layer=layer, kind=kind)).layer == told


def test_a_gradient_of_its_own_place_is_told_apart_from_a_forward_op_of_the_name() -> None:
    places = (
        OpPlace("step", "net.py", 28, ("mul_5",)), OpPlace("attend", "net.py", 10, ("gradient_tape/mul_5",)),
    )  # fmt: skip
    names = LiveNames(LiveModel((), (), places=places))
    told = [
        names.owner(replace(NOBODY, layer="mul_5", phase=phase)).layer
        for phase in (Phase.FORWARD, Phase.GRADIENT, Phase.FORWARD)
    ]
    assert told == ["step (net.py:28)", "attend (net.py:10)", "step (net.py:28)"]


@pytest.mark.parametrize(
    ("function", "label"),
    [
        ("encode", "encode (net.py:24)"),
        ("<module>", "net.py:24"),
        ("<lambda>", "net.py:24"),
        ("", "net.py:24"),
    ],
)
def test_a_place_without_a_function_is_its_line(function: str, label: str) -> None:
    assert OpPlace(function, "net.py", 24, ()).label == label
