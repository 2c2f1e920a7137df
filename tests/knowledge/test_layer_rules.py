"""Layer rules one by one: sides that all differ, defaults, the names of Keras 1, and sizes that are open."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tfmemlens.knowledge.keras_layers import LayerCall, describe
from tfmemlens.knowledge.keras_layers.model_types import complete
from tfmemlens.model.network import LayerSpec, Network, NetworkCall, TensorRef
from tfmemlens.model.tensor import TensorType

Shape = tuple["int | None", ...]


def layer(
    name: str, *shapes: Shape, inner: tuple[LayerSpec, ...] = (), dialect: str = "keras-3", **config: Any
) -> LayerCall:
    """A call of a layer that reads tensors of these shapes."""
    types = tuple(TensorType(shape, "float32") for shape in shapes)
    return LayerCall(LayerSpec(name.lower(), name, config, inner=inner), types, {}, dialect)


def made(call: LayerCall) -> list[Shape | None]:
    return [kind.shape for kind in describe(call).outputs]


def owned(call: LayerCall) -> list[tuple[str, tuple[int, ...]]]:
    return [(weight.name, weight.shape) for weight in describe(call).weights]


IMAGE = (8, 32, 20, 3)


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        (layer("InputLayer", input_shape=[4, 5]), (None, 4, 5)),
        (layer("Dense", (2, 9, 5), units=7), (2, 9, 7)),
        (layer("RepeatVector", (2, 5), n=3), (2, 3, 5)),
        (layer("Permute", (2, 5, 7), dims=[2, 1]), (2, 7, 5)),
        (layer("Flatten", (2, 5, 7)), (2, 35)),
        (layer("Flatten", (2,)), (2, 1)),
        (layer("Flatten", (2, None, 7)), (2, None)),
        (layer("Reshape", (2, 6, 4), target_shape=[3, -1]), (2, 3, 8)),
        (layer("Reshape", (2, None, 4), target_shape=[3, -1]), (2, 3, None)),
        (layer("Reshape", (2, 6, 4), target_shape=[0, -1]), (2, 0, 24)),
        (layer("Embedding", (2, None), input_dim=9, output_dim=4, input_length=6), (2, 6, 4)),
        (layer("Embedding", (2, None, 3), input_dim=9, output_dim=4, input_length=6), (2, None, 3, 4)),
        (layer("CategoryEncoding", (2, 5), num_tokens=9), (2, 9)),
        (layer("CategoryEncoding", (2,), num_tokens=9), (2, 9)),
        (layer("CategoryEncoding", (2, 5), num_tokens=9, output_mode="one_hot"), (2, 5, 9)),
        (layer("CategoryEncoding", (2, 1), num_tokens=9, output_mode="one_hot"), (2, 9)),
        (layer("StringLookup", (2, 5), output_mode="multi_hot", vocabulary=["a", "b"]), (2, 2)),
        (layer("StringLookup", (2, 5), output_mode="multi_hot"), (2, None)),
        (layer("TextVectorization", (2, 1), output_sequence_length=6), (2, 6)),
        (layer("TextVectorization", (2, 1), output_mode="count", max_tokens=50), (2, 50)),
        (layer("MaxoutDense", (2, 5), output_dim=7), (2, 7)),
        (layer("RandomCrop", IMAGE, height=10, width=12), (8, 10, 12, 3)),
        (
            layer("Conv2D", IMAGE, filters=7, kernel_size=[3, 5], strides=[2, 3], padding="valid"),
            (8, 15, 6, 7),
        ),
        (
            layer("Conv2D", IMAGE, filters=7, kernel_size=[3, 5], strides=[2, 3], padding="same"),
            (8, 16, 7, 7),
        ),
        (layer("Conv2D", IMAGE, filters=7, kernel_size=3, dilation_rate=[2, 4]), (8, 28, 12, 7)),
        (layer("Conv2D", (8, None, 20, 3), filters=7, kernel_size=3), (8, None, 18, 7)),
        (
            layer("Conv2D", (8, 3, 32, 20), filters=7, kernel_size=3, data_format="channels_first"),
            (8, 7, 30, 18),
        ),
        (layer("Convolution2D", IMAGE, nb_filter=7, nb_row=3, nb_col=5, border_mode="full"), (8, 34, 24, 7)),
        (layer("Convolution2D", IMAGE, nb_filter=7, nb_row=3, nb_col=5, subsample=[2, 3]), (8, 15, 6, 7)),
        (layer("Conv1D", (8, 32, 3), filters=7, kernel_size=3, padding="causal", strides=5), (8, 7, 7)),
        (layer("Conv2D", (8, 2, 2, 3), filters=7, kernel_size=5), (8, 0, 0, 7)),
        (layer("Conv2DTranspose", IMAGE, filters=7, kernel_size=[5, 3], strides=[2, 3]), (8, 67, 60, 7)),
        (layer("Conv2DTranspose", IMAGE, filters=7, kernel_size=[5, 1], strides=[2, 3]), (8, 67, 60, 7)),
        (
            layer("Conv2DTranspose", IMAGE, filters=7, kernel_size=5, strides=2, padding="same"),
            (8, 64, 40, 7),
        ),
        (
            layer(
                "Conv2DTranspose",
                IMAGE,
                filters=7,
                kernel_size=5,
                strides=2,
                padding="same",
                output_padding=1,
            ),
            (8, 64, 40, 7),
        ),
        (
            layer(
                "Conv2DTranspose",
                IMAGE,
                filters=7,
                kernel_size=4,
                strides=3,
                padding="same",
                output_padding=0,
            ),
            (8, 93, 57, 7),
        ),
        (
            layer("Conv2DTranspose", IMAGE, filters=7, kernel_size=5, strides=2, output_padding=1),
            (8, 68, 44, 7),
        ),
        (
            layer("Conv2DTranspose", IMAGE, filters=7, kernel_size=3, strides=2, dilation_rate=3),
            (8, 69, 45, 7),
        ),
        (layer("DepthwiseConv2D", IMAGE, kernel_size=3, depth_multiplier=2), (8, 30, 18, 6)),
        (layer("MaxPooling2D", IMAGE), (8, 16, 10, 3)),
        (layer("MaxPooling2D", IMAGE, pool_size=[3, 5], strides=[2, 4]), (8, 15, 4, 3)),
        (layer("MaxPooling2D", IMAGE, pool_size=[3, 5]), (8, 10, 4, 3)),
        (layer("GlobalAveragePooling2D", IMAGE), (8, 3)),
        (layer("GlobalAveragePooling2D", IMAGE, keepdims=True), (8, 1, 1, 3)),
        (layer("GlobalAveragePooling2D", (8, 3, 32, 20), keepdims=True, dim_ordering="th"), (8, 3, 1, 1)),
        (layer("AdaptiveAveragePooling2D", IMAGE, output_size=[4, 6]), (8, 4, 6, 3)),
        (layer("ZeroPadding2D", IMAGE, padding=[[1, 2], [3, 5]]), (8, 35, 28, 3)),
        (layer("ZeroPadding2D", IMAGE, padding=[1, 3]), (8, 34, 26, 3)),
        (layer("ZeroPadding2D", IMAGE, padding=[1, 2, 3, 5]), (8, 35, 28, 3)),
        (layer("ZeroPadding2D", IMAGE, padding={"top_pad": 1, "right_pad": 4}), (8, 33, 24, 3)),
        (layer("ZeroPadding2D", IMAGE), (8, 34, 22, 3)),
        (layer("ZeroPadding1D", (8, 32, 3), padding=[1, 3]), (8, 36, 3)),
        (layer("Cropping1D", (8, 32, 3), cropping=[1, 3]), (8, 28, 3)),
        (layer("Cropping1D", (8, 3, 3), cropping=[1, 3]), (8, 0, 3)),
        (layer("UpSampling2D", IMAGE, size=[2, 3]), (8, 64, 60, 3)),
        (layer("UpSampling2D", (8, None, 20, 3)), (8, None, 40, 3)),
        (layer("Resizing", IMAGE, height=10, width=12), (8, 10, 12, 3)),
        (layer("Concatenate", (2, 5, 3), (2, 7, 3), axis=1), (2, 12, 3)),
        (layer("Concatenate", (2, None, 3), (2, 7, 4)), (2, 7, 7)),
        (layer("Concatenate", (2, None, 3), (2, 7, 4), axis=1), (2, None, 3)),
        (layer("Add", (2, 5, 1), (2, 1, 7)), (2, 5, 7)),
        (layer("Add", (2, 5, 7), (2, 7)), (2, 5, 7)),
        (layer("Dot", (2, 5, 3), (2, 5, 7), axes=1), (2, 3, 7)),
        (layer("Dot", (2, 5), (2, 5), axes=1), (2, 1)),
        (layer("Dot", (2, 5, 3), (2, 7, 5), axes=[1, 2]), (2, 3, 7)),
        (layer("Merge", (2, 5), (2, 6), mode="concat"), (2, 11)),
        (layer("Merge", (2, 5), (2, 5)), (2, 5)),
        (layer("LSTM", (2, 9, 5), units=7), (2, 7)),
        (layer("LSTM", (2, 9, 5), units=7, return_sequences=True), (2, 9, 7)),
        (layer("GRU", (9, 2, 5), units=7, return_sequences=True, time_major=True), (9, 2, 7)),
        (layer("GRU", (9, 2, 5), units=7, time_major=True), (2, 7)),
        (
            layer("ConvLSTM2D", (2, 9, 32, 20, 3), filters=7, kernel_size=[3, 5], strides=[2, 3]),
            (2, 15, 6, 7),
        ),
        (
            layer(
                "ConvLSTM2D",
                (2, 9, 32, 20, 3),
                filters=7,
                kernel_size=3,
                dilation_rate=[2, 4],
                return_sequences=True,
            ),
            (2, 9, 28, 12, 7),
        ),
        (
            layer(
                "ConvLSTM2D",
                (2, 9, 3, 32, 20),
                filters=7,
                kernel_size=3,
                padding="same",
                data_format="channels_first",
            ),
            (2, 7, 32, 20),
        ),
        (layer("MultiHeadAttention", (2, 9, 5), (2, 6, 7), num_heads=3, key_dim=4), None),
        (layer("Attention", (2, 9, 5), (2, 6, 5)), None),
    ],
    ids=lambda value: value.spec.class_name if isinstance(value, LayerCall) else "",
)
def test_outputs(call: LayerCall, shape: Shape | None) -> None:
    if shape is None:
        query, value = call.inputs
        call = replace(call, arguments={"query": query, "value": value})
        shape = (2, 9, 5)
    assert made(call) == [shape]


@pytest.mark.parametrize(
    ("call", "shapes"),
    [
        (layer("LSTM", (2, 9, 5), units=7, return_state=True), [(2, 7)] * 3),
        (layer("GRU", (2, 9, 5), units=7, return_state=True), [(2, 7)] * 2),
        (layer("GRU", (9, 2, 5), units=7, return_state=True, time_major=True), [(2, 7)] * 2),
        (
            layer("ConvLSTM1D", (2, 9, 32, 3), filters=7, kernel_size=3, return_state=True),
            [(2, 30, 7)] * 3,
        ),
    ],
    ids=lambda value: value.spec.class_name if isinstance(value, LayerCall) else "",
)
def test_states(call: LayerCall, shapes: list[Shape]) -> None:
    assert made(call) == shapes


@pytest.mark.parametrize(
    ("call", "weights"),
    [
        (layer("Dense", (2, 5), units=7), {"kernel": (5, 7), "bias": (7,)}),
        (layer("Dense", (2, 5), output_dim=7, bias=False), {"kernel": (5, 7)}),
        (
            layer("Dense", (2, 5), units=7, lora_rank=2),
            {"kernel": (5, 7), "bias": (7,), "lora_kernel_a": (5, 2), "lora_kernel_b": (2, 7)},
        ),
        (
            layer("Conv2D", (8, 32, 20, 6), filters=8, kernel_size=[3, 5], groups=2),
            {"kernel": (3, 5, 3, 8), "bias": (8,)},
        ),
        (
            layer("Conv2DTranspose", IMAGE, filters=7, kernel_size=[3, 5]),
            {"kernel": (3, 5, 7, 3), "bias": (7,)},
        ),
        (
            layer("SeparableConv2D", IMAGE, filters=7, kernel_size=5, depth_multiplier=2),
            {"depthwise_kernel": (5, 5, 3, 2), "pointwise_kernel": (1, 1, 6, 7), "bias": (7,)},
        ),
        (
            layer("LocallyConnected1D", (2, 9, 3), filters=4, kernel_size=2),
            {"kernel": (8, 6, 4), "bias": (8, 4)},
        ),
        (layer("MaxoutDense", (2, 5), output_dim=7), {"kernel": (4, 5, 7), "bias": (4, 7)}),
        (layer("PReLU", IMAGE, shared_axes=[1, 2]), {"alpha": (1, 1, 3)}),
        (
            layer("BatchNormalization", (8, 3, 32, 20), axis=[1], scale=False),
            {"beta": (3,), "moving_mean": (3,), "moving_variance": (3,)},
        ),
        (layer("LayerNormalization", (8, 6, 5), axis=[1, 2], center=False), {"gamma": (6, 5)}),
        (layer("LayerNormalization", (8, 6, 5), rms_scaling=True), {"gamma": (5,)}),
        (layer("GroupNormalization", IMAGE), {"gamma": (3,), "beta": (3,)}),
        (layer("GRU", (2, 9, 5), units=7), {"kernel": (5, 21), "recurrent_kernel": (7, 21), "bias": (2, 21)}),
        (
            layer("GRU", (2, 9, 5), units=7, dialect="keras-2"),
            {"kernel": (5, 21), "recurrent_kernel": (7, 21), "bias": (21,)},
        ),
        (
            layer("CuDNNGRU", (2, 9, 5), units=7),
            {"kernel": (5, 21), "recurrent_kernel": (7, 21), "bias": (42,)},
        ),
        (
            layer("SimpleRNN", (2, 9, 5), units=7, use_bias=False),
            {"kernel": (5, 7), "recurrent_kernel": (7, 7)},
        ),
        (
            layer(
                "ConvLSTM2D", (2, 9, 3, 32, 20), filters=7, kernel_size=[3, 5], data_format="channels_first"
            ),
            {"kernel": (3, 5, 3, 28), "recurrent_kernel": (3, 5, 7, 28), "bias": (28,)},
        ),
    ],
    ids=lambda value: value.spec.class_name if isinstance(value, LayerCall) else "",
)
def test_weights(call: LayerCall, weights: dict[str, tuple[int, ...]]) -> None:
    told = describe(call)
    assert dict(owned(call)) == weights
    assert eval(told.formula) == sum(weight.size for weight in told.weights)


def test_the_projections_of_attention() -> None:
    call = layer("MultiHeadAttention", (2, 9, 5), num_heads=3, key_dim=4, value_dim=6)
    call = replace(call, arguments={"query": call.inputs[0], "value": TensorType((2, 8, 7), "float32")})
    weights = {
        "query/kernel": (5, 3, 4), "query/bias": (3, 4), "key/kernel": (7, 3, 4), "key/bias": (3, 4),
        "value/kernel": (7, 3, 6), "value/bias": (3, 6),
        "attention_output/kernel": (3, 6, 5), "attention_output/bias": (5,),
    }  # fmt: skip
    assert dict(owned(call)) == weights
    plain = replace(call, spec=replace(call.spec, config={**call.config, "use_bias": False}))
    assert dict(owned(plain)) == {name: shape for name, shape in weights.items() if "kernel" in name}


def test_two_directions_of_different_widths_stand_beside_each_other() -> None:
    inner = tuple(LayerSpec(f"r{units}", "GRU", {"units": units, "return_state": True}) for units in (3, 5))
    assert made(layer("Bidirectional", (2, 9, 4), inner=inner)) == [(2, 8), (2, 3), (2, 5)]
    assert made(layer("Bidirectional", (2, 9, 4), inner=inner, merge_mode=None))[:2] == [(2, 3), (2, 5)]
    same = inner[:1]
    assert made(layer("Bidirectional", (2, 9, 4), inner=same, merge_mode="sum")) == [(2, 3)] * 3


def test_a_layer_is_repeated_over_time() -> None:
    inner = (LayerSpec("d", "Dense", {"units": 7}),)
    assert made(layer("TimeDistributed", (2, 9, 5), inner=inner)) == [(2, 9, 7)]
    assert made(layer("TimeDistributed", (2, None, 5), inner=inner)) == [(2, None, 7)]


def test_cells_stand_above_each_other() -> None:
    cells = (LayerSpec("a", "LSTMCell", {"units": 3}), LayerSpec("b", "GRUCell", {"units": 7}))
    stacked = (LayerSpec("s", "StackedRNNCells", {}, inner=cells),)
    call = layer("RNN", (2, 9, 5), inner=stacked, return_state=True)
    assert made(call) == [(2, 7), (2, 3), (2, 3), (2, 7)]
    assert owned(call)[3] == ("cell_1/kernel", (3, 21))


def test_a_stated_shape_takes_the_batch_that_is_asked_for() -> None:
    """A layer of somebody's own: the file states what it makes, at an open batch."""
    mine = NetworkCall((TensorRef("x"),))
    reader = NetworkCall((TensorRef("mine"),), declared=(TensorType((None, 9, 4), "float32"),))
    network = Network(
        (
            LayerSpec("x", "InputLayer", {"batch_shape": [None, 6]}, (NetworkCall(),)),
            LayerSpec("mine", "Mine", {}, (mine,)),
            LayerSpec("d", "Dense", {"units": 2}, (reader,)),
        ),
        (TensorRef("x"),),
        (TensorRef("d"),),
        "m",
        "keras-3",
    )
    assert complete(network)["mine"].outputs[0].shape == (None, 9, 4)
    assert complete(network, 3)["mine"].outputs[0].shape == (3, 9, 4)
    assert complete(network, 3)["d"].outputs[0].shape == (3, 9, 2)
