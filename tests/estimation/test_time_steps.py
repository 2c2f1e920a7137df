"""What layers that work time step by time step hold, and gradients of volumes: rows that TensorFlow 2.21
booked on the CPU without oneDNN (one executor thread), each measured once.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.estimation.test_updates import layer, network
from tests.models import gzipped
from tfmemlens.errors import Unpredictable
from tfmemlens.estimation.keras_step import prediction
from tfmemlens.estimation.keras_step.capture import _sums_may_take, capture
from tfmemlens.estimation.keras_step.prediction import PredictedStep, predict
from tfmemlens.estimation.keras_step.tape import Tape, TapeOp
from tfmemlens.model.attribution import Kind
from tfmemlens.model.capture import Capture
from tfmemlens.model.network import Network
from tfmemlens.model.settings import StepSettings
from tfmemlens.readers.keras_models._documents import network_of
from tfmemlens.units import MIB
from tfmemlens.values import replace


def step(net: Network, batch: int, optimizer: str = "sgd", **settings: Any) -> PredictedStep:
    chosen = {"workers": 1, "onednn": False, **settings}
    return predict(net, StepSettings(batch, optimizer, threads=1, **chosen))


def ops(predicted: PredictedStep, op: str) -> list[TapeOp]:
    return [each for each in predicted.step.tape.ops if each.op == op and (each.reads or each.writes)]


def sizes(predicted: PredictedStep, op: str) -> list[int]:
    return [predicted.step.tape.buffers[each.writes[0]].bytes for each in ops(predicted, op)]


def tags(width: int, steps: int = 50) -> dict[str, Any]:
    dense = {"class_name": "Dense", "config": {"name": "tag", "units": 40}}
    layers = [
        layer("InputLayer", "states", batch_input_shape=[None, steps, 8], dtype="float32"),
        layer("Dense", "hidden", "states", units=width),
        layer("TimeDistributed", "tags", "hidden", layer=dense),
    ]
    return {
        "class_name": "Functional",
        "config": {
            "name": "net",
            "layers": layers,
            "input_layers": [["states", 0, 0]],
            "output_layers": [["tags", 0, 0]],
        },
    }


def test_keras_3_calls_what_is_distributed_once_a_time_step() -> None:
    """Each slice's gradient is as large as all of them, and all wait for their sum."""
    predicted = step(network_of({**tags(192), "keras_version": "3.9.0"}, "net"), 32)
    assert sizes(predicted, "StridedSliceGrad") == [1_228_800] * 50
    timeline = predicted.timeline
    alive = [
        timeline.table.requested_bytes[row]
        for row in timeline.alive_after(timeline.peak_index)
        if timeline.table.op[row] == "StridedSliceGrad"
    ]
    assert set(alive) == {1_228_800}
    assert len(alive) >= 49  # the sum may be written over one of them
    assert sizes(predicted, "Pack") == [256_000]
    assert not ops(predicted, "StridedSlice")  # 192 floats a sample are aligned: a slice lies in the tensor


def captured(width: int, steps: int) -> Capture:
    net = network_of({**tags(width, steps), "keras_version": "3.9.0"}, "net")
    return capture(net, StepSettings(32, "sgd", threads=1, workers=1, onednn=False), needs_limit=False)


def test_a_step_is_refused_where_chance_decides_how_many_gradients_wait() -> None:
    """120 gradients of 3,686,400 bytes each: together more than 128 MiB, so a variable sums them, once one of
    them is there that comes at a place of chance.
    """
    with pytest.raises(Unpredictable) as refused:
        captured(240, 120)
    assert "tags calls its layer once a time step" in str(refused.value)
    least, most = re.findall(r"between ([\d.]+) MiB and ([\d.]+) MiB", str(refused.value))[0]
    assert float(most) - float(least) == pytest.approx(120 * 3_686_400 / MIB, abs=0.02)
    assert "a Dense layer works on the last axis by itself" in str(refused.value.hint)
    assert f"give it {most} MiB or more" in str(refused.value.hint)


def test_near_miss_few_bytes_of_gradients_are_summed_at_once() -> None:
    """36 times 3,686,400 bytes are 126.6 MiB."""
    (timeline,) = captured(800, 36).timelines
    assert timeline.peak_bytes > 36 * 3_686_400


def test_the_bar_holds_sums_that_are_a_small_part() -> None:
    """Between none and all of them waiting, where that is less than half of what is there anyway."""
    net = network_of({**tags(240, 120), "keras_version": "3.9.0"}, "net")
    predicted = predict(net, StepSettings(32, "sgd", threads=1, workers=1, onednn=False))
    least, most = _sums_may_take(predicted)
    assert most - least == 120 * 3_686_400
    assert least <= predicted.timeline.peak_bytes <= most


def rows_and_one(name: str, units: int = 400, shared: int | None = None) -> Network:
    """A layer over eight rows, and a layer of this name over one more."""
    dense = {"class_name": "Dense", "config": {"name": "encoder", "units": 400}}
    one = layer("Dense", name, "single", units=units)
    one["config"] |= {"shared_object_id": shared} if shared else {}
    layers = [
        layer("InputLayer", "rows", batch_input_shape=[None, 8, 200], dtype="float32"),
        layer("InputLayer", "single", batch_input_shape=[None, 200], dtype="float32"),
        layer("TimeDistributed", "each", "rows", layer=dense),
        one,
    ]
    net = network(layers, ends=["each", name])
    return replace(net, inputs=(*net.inputs, net.inputs[0]._replace(layer="single")))


@pytest.mark.parametrize("shared", [None, 7])
def test_what_reads_rows_and_one_row_has_its_weights_once(shared: int | None) -> None:
    """Of two descriptions of one layer the second has a number of its own."""
    predicted = step(rows_and_one("encoder", shared=shared), 4)
    assert [weight.shape for _, weight, _ in predicted.step.weights] == [(200, 400), (400,)]
    assert len(predicted.step.tape.gradients) == 2


@pytest.mark.parametrize(("name", "units"), [("decoder", 400), ("encoder", 300)])
def test_near_miss_another_layer_has_weights_of_its_own(name: str, units: int) -> None:
    assert len(step(rows_and_one(name, units), 4).step.weights) == 4


def test_an_encoder_of_many_titles_and_one_has_its_table_once() -> None:
    """A nested model: its layers stand in the file twice, too."""
    inner = {
        "name": "encoder",
        "layers": [
            layer("InputLayer", "words", batch_input_shape=[None, 6], dtype="int32"),
            layer("Embedding", "table", "words", input_dim=900, output_dim=32),
            layer("GlobalAveragePooling1D", "mean", "table"),
        ],
        "input_layers": [["words", 0, 0]],
        "output_layers": [["mean", 0, 0]],
    }
    encoder = {"class_name": "Functional", "config": inner}
    layers = [
        layer("InputLayer", "seen", batch_input_shape=[None, 5, 6], dtype="int32"),
        layer("InputLayer", "wanted", batch_input_shape=[None, 6], dtype="int32"),
        layer("TimeDistributed", "each", "seen", layer=encoder),
        {**encoder, "name": "encoder", "inbound_nodes": [[["wanted", 0, 0, {}]]]},
    ]
    net = network(layers, ends=["each", "encoder"])
    net = replace(net, inputs=(*net.inputs, net.inputs[0]._replace(layer="wanted")))
    predicted = step(net, 4)
    assert [weight.shape for _, weight, _ in predicted.step.weights] == [(900, 32)]


def test_keras_2_calls_it_once_on_all_time_steps() -> None:
    predicted = step(network_of({**tags(192), "keras_version": "2.11.0"}, "net"), 32)
    assert not ops(predicted, "StridedSliceGrad")
    assert not ops(predicted, "Pack")


@pytest.mark.parametrize(("width", "copies"), [(16, 0), (17, 3)])
def test_rows_that_are_not_aligned_are_copied(width: int, copies: int) -> None:
    predicted = step(network_of({**tags(width, 3), "keras_version": "3.9.0"}, "net"), 1)
    assert len(ops(predicted, "StridedSlice")) == copies


def test_a_slice_is_no_place_for_a_result_of_its_size() -> None:
    tape = Tape()
    rows = tape.slices(tape.op("Transpose", [tape.source("x", (4, 32), "float32", Kind.INPUT)]))
    tape.op("Relu", [rows[0]], over=[rows[0]])
    assert tape.ops[-1].over == ()


def maps(keras: str = "3.9.0", **config: Any) -> Network:
    return network(
        [
            layer("InputLayer", "maps", batch_input_shape=[None, 6, 32, 32, 2], dtype="float32"),
            layer("ConvLSTM2D", "weather", "maps", filters=16, kernel_size=[3, 3], padding="same", **config),
        ],
        keras,
    )


@pytest.mark.parametrize(
    ("keras", "config", "kept"),
    [
        ("3.9.0", {}, 7),
        ("3.9.0", {"return_sequences": True}, 7),
        ("2.11.0", {}, 10),  # its default is `hard_sigmoid`
        ("2.11.0", {"recurrent_activation": "sigmoid"}, 7),
        ("3.9.0", {"recurrent_activation": "hard_sigmoid"}, 10),
    ],
)
def test_a_convolutional_lstm_keeps_seven_maps_a_time_step(
    keras: str, config: dict[str, Any], kept: int
) -> None:
    """Four gates, their product, the state's tanh and the output, beside the input; of gates that are cut off
    three more.
    """
    predicted = step(maps(keras, **config), 8)
    assert sizes(predicted, "TensorListPushBack") == [kept * 524_288 + 65_536] * 6
    assert not predicted.step.unknown


def test_its_gradients_unroll_patches_of_one_gate() -> None:
    predicted = step(maps(), 8)
    assert {each.temporary_bytes for each in ops(predicted, "While")} == {0, 48 * 1024 * 144 * 4}
    without = step(maps(), 8, onednn=True)
    assert {each.temporary_bytes for each in ops(without, "While")} == {0}


@pytest.mark.parametrize(("workers", "halves"), [(1, 2), (2, 3), (4, 8), (8, 16)])
def test_threads_unroll_for_several_gates_at_once(workers: int, halves: int) -> None:
    """Half a buffer more on two, never more than the eight convolutions of a step."""
    predicted = step(maps(), 8, workers=workers)
    buffer = 48 * 1024 * 144 * 4
    assert max(each.temporary_bytes for each in ops(predicted, "While")) == halves * buffer // 2


def test_the_bar_holds_threads_that_do_not_meet() -> None:
    shares = {
        workers: capture(maps(), StepSettings(8, "sgd", threads=1, workers=workers, onednn=False)).timelines[
            0
        ]
        for workers in (1, 4)
    }
    buffer, (alone, four) = 48 * 1024 * 144 * 4, shares.values()
    assert four.lower_error_share is not None and alone.lower_error_share is not None
    assert four.peak_bytes * (1 - four.lower_error_share) < alone.peak_bytes + 1.5 * buffer


def scan(**config: Any) -> Network:
    return network(
        [
            layer("InputLayer", "scan", batch_input_shape=[None, 12, 12, 12, 24], dtype="float32"),
            layer("Conv3D", "first", "scan", filters=24, kernel_size=[1, 1, 1]),
            layer("Conv3DTranspose", "up", "first", filters=12, kernel_size=[2, 2, 2], strides=[2, 2, 2]),
        ]
    )


PATCHES = 12**3 * 2**3 * 12 * 4
"""Of one volume: 663,552 bytes."""


@pytest.mark.parametrize(
    ("batch", "l3_bytes", "forward", "backward"),
    [
        (3, 384 * MIB, 0, 0),  # 481 volumes would be more than 25 times the tensors: measured, none
        (3, 1 * MIB, 2 * PATCHES, 2 * PATCHES),
        (1, 1 * MIB, PATCHES, 2 * PATCHES),
    ],
)
def test_a_transposed_convolution_of_volumes_unrolls_as_the_gradient_that_it_is(
    batch: int, l3_bytes: int, forward: int, backward: int
) -> None:
    predicted = step(scan(), batch, l3_bytes=l3_bytes)
    up = {each.op: each.temporary_bytes for each in predicted.step.tape.ops if each.owner.layer == "up"}
    assert up["Conv3DBackpropInput"] == forward
    assert up["Conv3DBackpropFilter"] == backward


def test_a_nested_model_may_be_the_output_of_keras_3() -> None:
    """`output_layers` counts its calls from 1: ["judge", 1, 0]."""
    inside = {
        "name": "judge",
        "layers": [
            layer("InputLayer", "seen", batch_input_shape=[None, 8], dtype="float32"),
            layer("Dense", "verdict", "seen", units=3),
        ],
        "input_layers": [["seen", 0, 0]],
        "output_layers": [["verdict", 0, 0]],
    }
    judge = layer("Functional", "judge") | {"config": inside}
    tensor = {"shape": [None, 8], "dtype": "float32", "keras_history": ["noise", 0, 0]}
    judge["inbound_nodes"] = [{"args": [{"class_name": "__keras_tensor__", "config": tensor}], "kwargs": {}}]
    outer = {
        "name": "net",
        "layers": [layer("InputLayer", "noise", batch_input_shape=[None, 8], dtype="float32"), judge],
        "input_layers": [["noise", 0, 0]],
        "output_layers": [["judge", 1, 0]],
    }
    document = {"class_name": "Functional", "config": outer, "keras_version": "3.9.0"}
    predicted = step(network_of(document, "net"), 4)
    assert [value.shape for value in predicted.step.outputs] == [(4, 3)]
    assert ops(predicted, "MatMul")


def pooled(between: str | None = None) -> Network:
    layers = [
        layer("InputLayer", "x", batch_input_shape=[None, 32, 32, 4], dtype="float32"),
        layer("Conv2D", "conv", "x", filters=16, kernel_size=[3, 3], padding="same"),
        *([layer(between, "between", "conv", activation="relu")] if between else []),
        layer("MaxPooling2D", "pool", "between" if between else "conv", pool_size=[2, 2], strides=[2, 2]),
        layer("Conv2D", "end", "pool", filters=4, kernel_size=[1, 1]),
    ]
    return network(layers)


POOLED_FROM = 8 * 32 * 32 * 16 * 4


def born(predicted: PredictedStep, op: str) -> list[int | None]:
    table = predicted.timeline.table
    return [size for name, size in zip(table.op, table.requested_bytes, strict=True) if name == op]


def test_the_gradient_of_a_pooling_is_written_over_what_was_pooled() -> None:
    """8 bytes a maximum for its place; the maxima are copied while others still read them."""
    maxima = POOLED_FROM // 4
    assert set(born(step(pooled(), 8), "MaxPoolGrad")) <= {2 * maxima, 3 * maxima}


def test_it_is_not_where_an_activation_reads_what_was_pooled() -> None:
    assert POOLED_FROM in born(step(pooled("Activation"), 8), "MaxPoolGrad")


def test_onednn_keeps_a_byte_for_each_maximum_instead() -> None:
    with_onednn = step(pooled(), 8, onednn=True)
    assert born(with_onednn, "MaxPoolGrad") == [POOLED_FROM]
    assert sorted(sizes(with_onednn, "MaxPool")) == [POOLED_FROM // 16, POOLED_FROM // 4]
    assert sizes(step(pooled(), 8, training=False, onednn=True), "MaxPool") == [POOLED_FROM // 4]


@pytest.mark.parametrize(
    ("keras", "onednn", "kernel_runs_first"), [("3.9.0", True, True), ("2.11.0", True, True),
                                               ("3.9.0", False, False), ("2.11.0", False, True)]
)  # fmt: skip
def test_which_gradient_of_a_convolution_mostly_runs_first(
    keras: str, onednn: bool, kernel_runs_first: bool
) -> None:
    """The reader with the highest rank does; oneDNN's kernel makes the bias's gradient as well, and this step
    is short."""
    net = pooled()
    net = replace(net, dialect="keras-3" if keras.startswith("3") else "keras-2")
    (kernel,) = (each.rank for each in ops(step(net, 8, onednn=onednn), "Conv2DBackpropFilter")[:1])
    (data,) = (each.rank for each in ops(step(net, 8, onednn=onednn), "Conv2DBackpropInput")[:1])
    assert (kernel > data) is kernel_runs_first


def gates() -> Network:
    """Two convolutions of one reach and one of another, of the same series."""
    gated = {"filters": 8, "padding": "causal", "kernel_size": [2]}
    layers = [
        layer("InputLayer", "x", batch_input_shape=[None, 40, 8], dtype="float32"),
        layer("Dense", "wide", "x", units=8),
        layer("Conv1D", "a", "wide", **gated, dilation_rate=[4]),
        layer("Conv1D", "b", "wide", **gated, dilation_rate=[4]),
        layer("Conv1D", "c", "wide", **gated, dilation_rate=[1]),
        layer("Add", "sum") | {"inbound_nodes": [[[name, 0, 0, {}] for name in "abc"]]},
    ]
    return network(layers)


def test_two_convolutions_share_what_is_padded_for_both() -> None:
    """Grappler computes the same Pad once; another reach is another Pad."""
    assert sorted(sizes(step(gates(), 2), "Pad")) == [2 * (40 + reach) * 8 * 4 for reach in (1, 4)]


def test_two_convolutions_share_what_is_cut_apart_for_both_and_no_gradient() -> None:
    """`daffodils` of the thirty-fourth set of predictions was told 27 % too much for seven of them."""
    predicted = step(gates(), 2)
    forward = [op for op in ops(predicted, "SpaceToBatchND") if not op.name.startswith("gradient_tape")]
    assert len(forward) == 1
    back = [op for op in ops(predicted, "BatchToSpaceND") if op.name.startswith("gradient_tape")]
    assert len(back) == 2


def upper_end(net: Network) -> tuple[float, float]:
    """Of the bar, and of most ways in which the step may go without the fifth that is hardly used."""
    settings = StepSettings(128, "sgd", threads=1, workers=1, onednn=False)
    (timeline,) = capture(net, settings).timelines
    assert timeline.error_share is not None
    ways = 0.8 * predict(net, settings).high_bytes + 0.2 * timeline.peak_bytes
    return timeline.peak_bytes * (1 + timeline.error_share), ways


def test_the_bar_leaves_room_for_the_chunk_of_large_logits() -> None:
    """Upwards alone, and only where a product of matrices is the largest tensor."""
    net = {
        "class_name": "Functional",
        "config": {
            "name": "net",
            "layers": [
                layer("InputLayer", "x", batch_input_shape=[None, 600], dtype="float32"),
                layer("Dense", "logits", "x", units=9_000),
            ],
            "input_layers": [["x", 0, 0]],
            "output_layers": [["logits", 0, 0]],
        },
        "keras_version": "3.9.0",
    }
    end, ways = upper_end(network_of(net, "net"))
    assert end > 1.15 * ways
    end, ways = upper_end(pooled())
    assert end == pytest.approx(1.11 * ways)


def normalised(kind: str, **config: Any) -> Network:
    layers = [
        layer("InputLayer", "bands", batch_input_shape=[None, 48, 48, 4], dtype="float32"),
        layer("Conv2D", "conv", "bands", filters=32, kernel_size=[3, 3], padding="same"),
        layer(kind, "norm", "conv", **config),
        layer("Activation", "swish", "norm", activation="silu"),
        layer("Conv2D", "next", "swish", filters=48, kernel_size=[3, 3], padding="same"),
        layer("GlobalAveragePooling2D", "pool", "next"),
    ]
    return network(layers)


def test_group_normalisation_scales_with_a_number_a_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a real step on TensorFlow 2.21, batch 16: means turn the map first, by way of 4.5 MiB each;
    beside its input the norm keeps one map, and its gradient passes over three more.
    """
    monkeypatch.setattr(prediction, "pasts_to_try", lambda ops: 0)
    predicted = step(normalised("GroupNormalization", groups=8, epsilon=1e-3), 16, onednn=True)
    whole = 16 * 48 * 48 * 32 * 4
    made = {op: sizes(predicted, op).count(whole) for op in ("Tile", "SquaredDifference", "AddV2", "Mean")}
    assert made == {"Tile": 2, "SquaredDifference": 1, "AddV2": 2, "Mean": 0}
    assert [op.temporary_bytes for op in ops(predicted, "Mean")][:2] == [whole, whole]
    timeline = predicted.timeline
    alive = timeline.alive_after(timeline.peak_index)
    maps = [row for row in alive if timeline.table.requested_bytes[row] == whole]
    assert (
        len(maps) == 5
    )  # at the swish's gradient, as measured beside the map that waited for the next kernel's


def test_near_miss_one_group_turns_nothing() -> None:
    predicted = step(normalised("GroupNormalization", groups=1, epsilon=1e-3), 16, onednn=True)
    assert [op.temporary_bytes for op in ops(predicted, "Mean")][:2] == [0, 0]


def test_attention_keeps_the_product_of_its_weights_for_the_first_layer_alone() -> None:
    """In a real step of TensorFlow 2.21 with two layers of attention it stood for the one whose input needs
    no gradient.
    """
    told = json.loads(gzipped("peaks-2.21.json.gz")["models"]["transformer"])
    predicted = step(network_of(told, "net"), 16)
    whole = 16 * 4 * 128 * 128 * 4
    assert len([op for op in ops(predicted, "Mul") if op.reads and _is_kept(predicted, op, whole)]) == 1


def _is_kept(predicted: PredictedStep, op: TapeOp, size: int) -> bool:
    buffer = predicted.step.tape.buffers[op.writes[0]]
    return buffer.bytes == size and buffer.owner.kind is Kind.ACTIVATION
