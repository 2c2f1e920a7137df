"""How programs write layers and sizes: functions of slim, names with dots, arithmetic on sizes."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from tfmemlens.knowledge.layer_calls import as_saved, of_slim
from tfmemlens.knowledge.tree_values import dotted, known_sizes


@pytest.mark.parametrize(
    "name, positional, named, made",
    [
        ("conv2d", [8, 3], {}, ("Conv2D", {"filters": 8, "kernel_size": 3, "strides": 1, "padding": "same"})),
        (
            "conv2d",
            [8, 3, 2],
            {"padding": "VALID"},
            ("Conv2D", {"filters": 8, "kernel_size": 3, "strides": 2, "padding": "VALID"}),
        ),
        (
            "conv2d",
            [],
            {"num_outputs": 4, "kernel_size": 5, "stride": 3},
            ("Conv2D", {"filters": 4, "kernel_size": 5, "strides": 3, "padding": "same"}),
        ),
        ("max_pool2d", [2], {}, ("MaxPooling2D", {"pool_size": 2, "strides": 2, "padding": "valid"})),
        (
            "avg_pool2d",
            [],
            {"kernel_size": 3},
            ("AveragePooling2D", {"pool_size": 3, "kernel_size": 3, "strides": 2, "padding": "valid"}),
        ),
        (
            "fully_connected",
            [],
            {"num_outputs": 9},
            ("Dense", {"units": 9, "filters": 9, "strides": 1, "padding": "same"}),
        ),
        ("fully_connected", [9], {}, ("Dense", {"units": 9, "strides": 1, "padding": "same"})),
    ],
)
def test_functions_of_slim(name: str, positional: list[Any], named: dict[str, Any], made: Any) -> None:
    assert of_slim(name, positional, named) == made


def test_settings_as_files_have_them() -> None:
    assert [as_saved(each) for each in ((2, 3), "SAME", 4, None)] == [[2, 3], "same", 4, None]


@pytest.mark.parametrize(
    "code, name",
    [("x", "x"), ("tf.layers.dense", "tf.layers.dense"), ("f().x", ""), ("1", ""), ("a[0].b", "")],
)
def test_names_with_dots(code: str, name: str) -> None:
    assert dotted(ast.parse(code, mode="eval").body) == name


@pytest.mark.parametrize(
    "shape, sizes",
    [
        ((2, 3), (2, 3)),
        ((0,), (0,)),
        ((), ()),
        ([2, 3], ()),
        (None, ()),
        ((2, None), ()),
        ((2, True), ()),
        ((2, 1.5), ()),
    ],
)
def test_sizes_that_are_all_known(shape: Any, sizes: tuple[int, ...]) -> None:
    assert known_sizes(shape) == sizes
