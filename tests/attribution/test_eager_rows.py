"""Layers of what eager execution calls by its op alone."""

from __future__ import annotations

import pytest

from tests.builders import timeline
from tfmemlens.attribution.moments.eager_rows import named_by_width
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.live_model import LiveModel, LiveVariable
from tfmemlens.model.tensor import TensorType

WIDE = LiveVariable("wide/kernel", "wide", Kind.PARAMETER, TensorType((8, 512), "float32"))
BACK = LiveVariable("back/kernel", "back", Kind.PARAMETER, TensorType((512, 8), "float32"))
MODEL = LiveModel((), (("wide", "Dense"), ("back", "Dense")), (WIDE, BACK))


def row(node: str, shape: tuple[int, ...], size: int = 4096) -> Allocation:
    return Allocation(node, size, start_micros=1.0, end_micros=4.0, shape=shape, dtype="float32")


@pytest.mark.parametrize(
    "node, shape, name, kind, phase",
    [
        ("Relu", (2, 512), "wide/Relu", Kind.ACTIVATION, Phase.FORWARD),
        ("ReluGrad", (2, 512), "wide/gradient/ReluGrad", Kind.GRADIENT, Phase.GRADIENT),
        ("MatMul", (512, 8), "back/gradient/MatMul", Kind.GRADIENT, Phase.GRADIENT),
    ],
)
def test_an_ops_tensor_is_of_the_layer_that_is_as_wide(
    node: str, shape: tuple[int, ...], name: str, kind: Kind, phase: Phase
) -> None:
    named = named_by_width(timeline(row(node, shape)), MODEL, None)
    owner = named.owners[name]
    assert (list(named.table.node), owner.layer, owner.kind, owner.phase) == (
        [name], name.split("/")[0], kind, phase,
    )  # fmt: skip


@pytest.mark.parametrize("kind, phase", [("Conv2DTranspose", Phase.FORWARD), ("Conv2D", Phase.GRADIENT)])
def test_a_transposed_convolution_runs_forward_what_others_run_backward(kind: str, phase: Phase) -> None:
    kernel = (3, 3, 96, 32) if phase is Phase.FORWARD else (3, 3, 32, 96)
    layer = LiveVariable("up/kernel", "up", Kind.PARAMETER, TensorType(kernel, "float32"))
    step = timeline(row("Conv2DBackpropInput", (8, 64, 64, 96)))
    (owner,) = named_by_width(step, LiveModel((), (("up", kind),), (layer,)), None).owners.values()
    assert (owner.layer, owner.phase) == ("up", phase)


@pytest.mark.parametrize(
    "node, shape, size",
    [
        ("Relu", (2, 511), 4096),
        ("Relu", (2, 512), 1023),
        ("mine/Relu", (2, 512), 4096),
        ("body", (2, 512), 4096),  # no op's type
    ],
)
def test_others_keep_their_names(node: str, shape: tuple[int, ...], size: int) -> None:
    assert list(named_by_width(timeline(row(node, shape, size)), MODEL, None).table.node) == [node]


def test_a_node_of_a_graph_keeps_its_name() -> None:
    graph = Graph({"Relu": Node("Relu", "Relu")})
    step = timeline(row("Relu", (2, 512)))
    assert list(named_by_width(step, MODEL, graph).table.node) == ["Relu"]
    assert named_by_width(step, None, None) is step
