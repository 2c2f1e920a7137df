"""What a prediction would have to guess is refused, with what to do instead."""

from __future__ import annotations

import pytest

from tests.models import document
from tfmemlens.errors import Unpredictable
from tfmemlens.estimation.graph_step import capture as graph_step
from tfmemlens.estimation.keras_step import capture as keras_step
from tfmemlens.model.capture import Source
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.network import LayerSpec, Network, WeightSpec
from tfmemlens.model.settings import StepSettings
from tfmemlens.readers.keras_models._documents import network_of
from tfmemlens.values import replace


def test_weights_alone_are_no_step() -> None:
    dense = LayerSpec("dense", "Dense", weights=(WeightSpec("kernel", (1000, 1000)),))
    with pytest.raises(Unpredictable, match="weights alone") as refusal:
        keras_step.capture(Network((dense,), dialect="variables"))
    assert "--tensorflow" in refusal.value.hint


def _with_a_strange_layer(name: str) -> Network:
    """LeNet with one layer of a class that nobody knows; its output's shape is that of its input."""
    network = network_of(document("lenet"), "lenet")
    layers = [
        replace(layer, class_name="Mystery", stored=(), module="my.own") if layer.name == name else layer
        for layer in network.layers
    ]
    return replace(network, layers=tuple(layers))


def test_a_layer_whose_output_is_not_known_is_refused() -> None:
    with pytest.raises(Unpredictable, match="conv1") as refusal:
        keras_step.capture(_with_a_strange_layer("conv1"))
    assert "--tensorflow" in refusal.value.hint


def _graph(elements: int) -> Graph:
    """A chain: 16 MiB through known ops, and `elements` numbers through one that nobody knows."""
    shape = (4 << 20,)
    nodes = [
        Node("x", "Placeholder", (), attributes={"shape": shape, "dtype": "float32"}),
        Node("y", "Exp", ("x",), attributes={"T": "float32"}),
        Node("small", "Placeholder", (), attributes={"shape": (elements,), "dtype": "float32"}),
        Node("odd", "MyVeryOwnOp", ("small",), attributes={"T": "float32"}),
    ]
    return Graph({node.name: node for node in nodes})


def test_an_op_that_is_not_known_is_refused_where_it_weighs_more_than_the_bar() -> None:
    source, settings = Source("graph", ("graph-def",), "tensorflow"), StepSettings(1)
    [timeline] = graph_step.capture(_graph(16), source, settings, ["y", "odd"]).timelines
    assert timeline.error_share is not None
    bar = round(timeline.peak_bytes * timeline.error_share)
    assert graph_step.capture(_graph(bar // 8), source, settings, ["y", "odd"]).timelines
    with pytest.raises(Unpredictable, match="MyVeryOwnOp"):
        graph_step.capture(_graph(bar // 2), source, settings, ["y", "odd"])


def test_a_step_whose_end_is_not_reached_is_refused() -> None:
    """A loop's own value that nothing enters: what waits for it never runs."""
    graph = _graph(16)
    nodes = {
        **graph.nodes,
        "again": Node("again", "Merge", ("next",), attributes={"T": "float32"}),
        "next": Node("next", "NextIteration", ("again",), attributes={"T": "float32"}),
        "end": Node("end", "Identity", ("again",), attributes={"T": "float32"}),
    }
    source, settings = Source("graph", ("graph-def",), "tensorflow"), StepSettings(1)
    with pytest.raises(Unpredictable, match="to its end: end was never reached") as refusal:
        graph_step.capture(Graph(nodes), source, settings, ["y", "end"])
    assert "trace one step" in refusal.value.hint
