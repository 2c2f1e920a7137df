"""Ops in no scope by the line of the program that makes them."""

from __future__ import annotations

import pytest

from tfmemlens.attribution.names.live_names import LiveNames
from tfmemlens.model.attribution import NOBODY, Kind
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
