"""A matrix that a layer of the user's own keeps goes by the names of its variables."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tfmemlens.findings import dense_kernel_gradient
from tfmemlens.model.attribution import Kind
from tfmemlens.model.live_model import LiveModel, LiveVariable
from tfmemlens.model.tensor import TensorType

SHAPE = (40_000, 256)


def variable(name: str, kind: Kind = Kind.PARAMETER, layer: str | None = "memory") -> LiveVariable:
    return LiveVariable(name, layer, kind, TensorType(SHAPE, "float32"))


def told(*variables: LiveVariable, shape: tuple[int, ...] = SHAPE) -> str:
    model = LiveModel((), (), variables) if variables else None
    case: Any = SimpleNamespace(capture=SimpleNamespace(live_model=model))
    request: Any = SimpleNamespace(failed=SimpleNamespace(shape=shape))
    return dense_kernel_gradient._own_variables(case, request)


@pytest.mark.parametrize(
    ("variables", "names"),
    [
        ([variable("net/memory/keys:0")], "the variable `keys`"),
        ([variable("net/memory/keys"), variable("net/memory/values")], "the variables `keys` and `values`"),
        ([variable("net/memory/keys"), variable("m", Kind.OPTIMIZER_SLOT)], "the variable `keys`"),
        ([variable("net/memory/keys"), variable("net/table/embeddings")], ""),
        ([variable("net/dense/kernel")], ""),
        ([variable("keys", layer=None)], ""),
        ([variable(f"net/memory/part_{at}") for at in range(4)], ""),
        ([], ""),
    ],
)
def test_variables_of_ones_own_are_named(variables: list[LiveVariable], names: str) -> None:
    assert told(*variables) == names


def test_near_miss_variables_of_another_shape() -> None:
    assert told(variable("net/memory/keys"), shape=(256, 40_000)) == ""
