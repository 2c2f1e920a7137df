"""Names of layers that Keras 3 numbered by their calls. The names stand in graphs of TF 2.21 with Keras
3.15.1 (functional, sequential and own models, trained), TF 1.15 and TF 2.11.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import capture, row, timeline
from tfmemlens import attribution
from tfmemlens.attribution.names.keras_scopes import scopes_of
from tfmemlens.model.capture import Capture
from tfmemlens.model.incident import FailedRequest, Incident
from tfmemlens.model.lazy_column import ComputedColumn

UPDATE = "adam/AssignSubVariableOp_3"
"""Keras 3's Adam, written as single ops."""
FUNCTION = "__inference_one_step_on_data_1531"


def traced(*nodes: str) -> Capture:
    return capture(timeline(*(row(node, 1, place, place + 2) for place, node in enumerate(nodes))))


def named(*nodes: str) -> dict[str, str]:
    return dict(scopes_of(traced(*nodes)).names)


def failed(node: str, version: tuple[str, str] | None = None, **facts: object) -> Capture:
    request = replace(FailedRequest(node=node), **facts)  # type: ignore[arg-type]
    empty = capture()
    return replace(empty, incidents=(Incident(request),), source=replace(empty.source, version=version))


@pytest.mark.parametrize(
    ("node", "layer"),
    [
        ("outer_1/unet_1/unet0_1/Relu", "outer/unet/unet0"),
        ("outer_1/unet_3/unet0_1/Relu", "outer/unet/unet0"),
        ("m_1/unet_1_3/unet_10_1/BiasAdd", "m/unet_1/unet_10"),
        ("gradient_tape/m_1/block_1_1/conv_1_3/convolution/Conv2DBackpropFilter", "m/block_1/conv_1"),
        ("m_1/block_0_1/conv_1_1/convolution/ReadVariableOp", "m/block_0/conv_1"),
        ("sequential_1/conv2d_1_2/convolution", "sequential/conv2d_1"),  # conv2d had taken conv2d_1
        ("encoder_1/self_attention_1/einsum_1/Einsum", "encoder/self_attention"),
    ],
)
def test_the_call_is_taken_off_each_part(node: str, layer: str) -> None:
    assert [*named(node, UPDATE).values()] == [layer]


@pytest.mark.parametrize(
    "nodes",
    [
        ("block_1/conv_1/Relu", "block_1/bn_1/add", "block_1/pool_1/MaxPool"),  # TF 1.15, no sign of Keras 3
        ("model/conv2d_1/Relu", "model/conv2d_3/Relu", "Adam/AssignAddVariableOp"),  # Keras 2
        ("block_1/conv_1/Relu", "adam/update_block_1/conv_1/kernel/ApplyAdam"),  # tf.train's, called `adam`
        ("stage_2/scores/add", UPDATE),  # no call has an even number
        ("block_1/kernel", UPDATE),  # a variable's own path has no calls
        ("AddN_1", "compile_loss/loss_1/sub"),
    ],
)
def test_the_users_own_numbers_stay(nodes: tuple[str, ...]) -> None:
    assert named(*nodes) == {}


def test_a_failing_step_of_keras_3_tells_who_numbered() -> None:
    node = "sequential_1/grain_b_1/Relu"
    assert scopes_of(failed(node, function=FUNCTION)).names == {
        "sequential_1/grain_b_1": "sequential/grain_b"
    }
    assert not scopes_of(failed(node, function="__inference_train_function_1531")).names  # Keras 2


def test_names_alone_need_a_number_behind_a_number_and_a_version() -> None:
    twice, once = "outer_1/unet_1_1/unet_10_1/Relu", "outer_1/unet_1/Relu"
    assert scopes_of(failed(twice, ("2.21", "2.21"))).names
    assert not scopes_of(failed(twice, ("2.11", "2.15"))).names
    assert not scopes_of(failed(twice)).names
    assert not scopes_of(failed(once, ("2.21", "2.21"))).names
    assert not scopes_of(failed("stage_2/unet_1_1/Relu", ("2.21", "2.21"))).names


def test_the_calls_of_one_layer_are_one_layer() -> None:
    nodes = [f"outer_1/block_1_{number}/BiasAdd" for number in (1, 3, 5, 7)]
    inner = [f"outer_1/unet_{number}/unet0_1/Relu" for number in (1, 3)]
    (moment,) = attribution.attribute(traced(*nodes, *inner, UPDATE)).moments
    groups = {group.name: group for group in moment.attribution.by("layer")}
    assert scopes_of(traced(*nodes, *inner, UPDATE)).calls == {"outer/block_1": 4, "outer/unet/unet0": 2}
    assert moment.attribution.calls["outer/block_1"] == 4
    assert set(groups) <= {"outer/block_1", "outer/unet/unet0", None}


def test_a_single_late_call_counts_those_before_it() -> None:
    scopes = scopes_of(failed("outer_1/unet_1_5/unet_11_1/convolution/Conv2D", function=FUNCTION))
    assert scopes.calls == {"outer/unet_1/unet_11": 3}


def test_the_whole_timeline_goes_by_the_users_names() -> None:
    nodes = ("net_1/pool_1/MaxPool", UPDATE)
    frame = attribution.frame(traced(*nodes).timelines[0])
    case = attribution.attribute(traced(*nodes))
    assert next(iter(frame["layer"])) == "net/pool"
    assert case.capture.timelines[0].owners["net_1/pool_1/MaxPool"].layer == "net/pool"
    assert next(each.layer for each in case.layers) == "net/pool"


def test_ops_are_looked_up_only_where_names_may_have_numbers_of_calls() -> None:
    asked: list[int] = []

    def op_of(row: int) -> str:
        asked.append(row)
        return "Relu"

    def looked_at(*names: str) -> list[int]:
        traced_step = traced(*names)
        (step,) = traced_step.timelines
        table = replace(step.table, op=ComputedColumn(len(names), op_of))
        asked.clear()
        scopes_of(replace(traced_step, timelines=(replace(step, table=table),)))
        return asked

    assert looked_at("outer_1/unet_1/Relu") == []
    assert looked_at("outer_1/unet_1/Relu", UPDATE) == [0, 1]
