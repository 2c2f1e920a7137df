"""What settings of a layer add to a step: gates of their own, masks, holes in a kernel, scores of sums.
Shapes are those of rows that TensorFlow 2.11 and 2.21 booked on the CPU, one thread, without oneDNN.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.estimation.test_time_steps import ops, sizes, step
from tests.estimation.test_updates import layer, network
from tfmemlens.estimation.keras_step.prediction import PredictedStep
from tfmemlens.estimation.keras_step.tape import TapeOp

STEPS, FEATURES, UNITS, BATCH = 40, 8, 16, 4
GATES = {"LSTM": 4, "GRU": 3, "SimpleRNN": 1}


def loop(
    kind: str, version: str = "3.9.0", before: tuple[dict[str, Any], ...] = (), **config: Any
) -> PredictedStep:
    """A step of one recurrent layer over a dense one."""
    first = layer("InputLayer", "x", batch_input_shape=[None, STEPS, FEATURES], dtype="float32")
    layers = [first, layer("Dense", "stem", "x", units=FEATURES), *before]
    layers.append(layer(kind, "loop", layers[-1]["name"], units=UNITS, return_sequences=True, **config))
    return step(network(layers, version), BATCH)


def pushed(predicted: PredictedStep) -> set[int]:
    return set(sizes(predicted, "TensorListPushBack"))


def waiting(predicted: PredictedStep) -> dict[tuple[int, ...], int]:
    """Gradients of weights that wait for their sum, by shape."""
    found: dict[tuple[int, ...], int] = {}
    for op in ops(predicted, "MatMul"):
        shape = predicted.step.tape.buffers[op.writes[0]].shape
        if op.name.startswith("loop/while"):
            found[shape[1:]] = found.get(shape[1:], 0) + shape[0]
    return found


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_recurrent_dropout_keeps_parts_of_the_kernels_of_each_step(kind: str) -> None:
    plain, dropped = loop(kind), loop(kind, recurrent_dropout=0.2)
    gates = GATES[kind]
    (values,) = pushed(plain)
    more = values + BATCH * gates * UNITS * 4  # the state as each gate sees it
    kernels = {width * gates * UNITS * 4 for width in (FEATURES, UNITS)}
    assert pushed(dropped) == {more, *kernels}


def test_gates_apart_without_dropout_keep_the_parts_alone() -> None:
    (values,) = pushed(loop("LSTM"))
    assert pushed(loop("LSTM", implementation=1)) == {values, FEATURES * 4 * UNITS * 4, UNITS * 4 * UNITS * 4}


def test_near_miss_a_simple_cell_has_one_gate() -> None:
    (values,) = pushed(loop("SimpleRNN"))
    assert pushed(loop("SimpleRNN", recurrent_dropout=0.2)) == {values + BATCH * UNITS * 4}


@pytest.mark.parametrize(
    ("kind", "config", "kernel", "recurrent"),
    [
        ("LSTM", {}, 1, 1),
        ("GRU", {}, 0, 1),
        ("SimpleRNN", {}, 1, 1),
        ("LSTM", {"recurrent_dropout": 0.2}, 1, 4),  # the parts of the input's kernel are joined
        ("GRU", {"recurrent_dropout": 0.2}, 3, 3),
        ("GRU", {"reset_after": False}, 0, 2),
    ],
)
def test_gradients_that_wait_in_a_loop_of_keras_3(
    kind: str, config: dict[str, Any], kernel: int, recurrent: int
) -> None:
    wide = GATES[kind] * UNITS
    most = 32
    found = waiting(loop(kind, **config))
    # of one thread: so many wait where the loop is laid out in full, fewer in its first pieces
    ratio = found.get((FEATURES, wide), 0) / max(found[UNITS, wide], 1)
    assert ratio == kernel / recurrent
    assert found[UNITS, wide] >= recurrent * most


@pytest.mark.parametrize(
    ("config", "together"),
    [
        ({}, True),
        ({"activation": "relu"}, False),
        ({"use_bias": False}, False),
        ({"recurrent_activation": "hard_sigmoid"}, False),
        ({"recurrent_dropout": 0.1}, False),
        ({"unroll": True}, False),
    ],
)
def test_a_loop_of_keras_2_stands_in_a_function_where_cudnn_has_a_kernel(
    config: dict[str, Any], together: bool
) -> None:
    """The function holds all that its steps keep until its end; elsewhere what is popped is freed."""
    backward = [op for op in ops(loop("LSTM", "2.11.0", **config), "While") if op.name.startswith("gradient")]
    reads = [len(op.reads) for op in backward if len(op.reads) > 2]
    assert (len(reads) == 1) == together


def test_no_gradient_waits_where_a_function_masks_its_steps() -> None:
    masked = (layer("Masking", "mask", "stem"),)
    assert not waiting(loop("LSTM", "2.11.0", masked))
    assert waiting(loop("LSTM", "2.11.0"))
    assert waiting(loop("LSTM", "3.9.0", masked))


def test_a_mask_goes_through_what_hands_it_on() -> None:
    through = (layer("Masking", "mask", "stem"), layer("Dropout", "drop", "mask", rate=0.1))
    assert not waiting(loop("LSTM", "2.11.0", through))
    ends = (layer("Masking", "mask", "stem"), layer("Conv1D", "c", "mask", filters=FEATURES, kernel_size=1))
    assert waiting(loop("LSTM", "2.11.0", ends))


QUERIES, KEYS, WIDTH = 12, 10, 6


def scores(kind: str, **config: Any) -> PredictedStep:
    layers = [
        layer("InputLayer", "q", batch_input_shape=[None, QUERIES, WIDTH], dtype="float32"),
        layer("Dense", "a", "q", units=WIDTH),
        layer("Conv1D", "b", "q", filters=WIDTH, kernel_size=QUERIES - KEYS + 1),
        {
            "class_name": kind,
            "name": "look",
            "config": {"name": "look", **config},
            "inbound_nodes": [[["a", 0, 0, {}], ["b", 0, 0, {}]]],
        },
    ]
    return step(network(layers), BATCH)


def wide(predicted: PredictedStep) -> list[TapeOp]:
    size = BATCH * QUERIES * KEYS * WIDTH * 4
    buffers = predicted.step.tape.buffers
    found = predicted.step.tape.ops
    return [
        op for op in found if op.owner.layer == "look" and op.writes and buffers[op.writes[0]].bytes == size
    ]


def test_scores_of_sums_are_as_wide_as_the_features() -> None:
    """tanh(query + key), times a scale: the sum over the features comes last."""
    forward = [op.op for op in wide(scores("AdditiveAttention")) if not op.name.startswith("gradient")]
    assert forward == ["AddV2", "Tanh", "Mul"]
    forward = [
        op.op for op in wide(scores("Attention", score_mode="concat")) if not op.name.startswith("gradient")
    ]
    assert forward == ["AddV2", "Tanh"]


def test_near_miss_products_have_no_axis_of_features() -> None:
    assert not wide(scores("Attention"))


@pytest.mark.parametrize(
    ("padding", "length"),
    [("valid", 10), ("same", 12), ("causal", 12)],  # of 20: holes of 2 make 10, with 4 more beside it 12
)
def test_a_series_goes_into_the_batch_where_its_kernel_has_holes(padding: str, length: int) -> None:
    layers = [
        layer("InputLayer", "x", batch_input_shape=[None, 20, 4], dtype="float32"),
        layer("Conv1D", "c", "x", filters=5, kernel_size=3, padding=padding, dilation_rate=2),
    ]
    predicted = step(network(layers), BATCH)
    buffers = predicted.step.tape.buffers
    (moved,) = [op for op in ops(predicted, "SpaceToBatchND") if not op.name.startswith("gradient")]
    assert buffers[moved.writes[0]].shape == (2 * BATCH, length, 4)
    (made,) = ops(predicted, "Conv2D")
    assert buffers[made.writes[0]].shape == (2 * BATCH, length - 2, 5)


@pytest.mark.parametrize(
    ("rate", "edge"),
    [(2, 12), (3, 9)],  # of 20, with 4 and 6 more beside it, in 2 and 3 parts
)
def test_so_does_a_picture(rate: int, edge: int) -> None:
    layers = [
        layer("InputLayer", "x", batch_input_shape=[None, 20, 20, 4], dtype="float32"),
        layer("Conv2D", "c", "x", filters=5, kernel_size=3, padding="same", dilation_rate=rate),
    ]
    predicted = step(network(layers), BATCH)
    assert sizes(predicted, "SpaceToBatchND")[0] == BATCH * rate**2 * edge**2 * 4 * 4


def test_near_miss_a_kernel_without_holes() -> None:
    layers = [
        layer("InputLayer", "x", batch_input_shape=[None, 20, 20, 4], dtype="float32"),
        layer("Conv2D", "c", "x", filters=5, kernel_size=3),
    ]
    assert not ops(step(network(layers), BATCH), "SpaceToBatchND")


def test_a_volume_is_repeated_axis_after_axis() -> None:
    layers = [
        layer("InputLayer", "x", batch_input_shape=[None, 4, 4, 4, 2], dtype="float32"),
        layer("Conv3D", "c", "x", filters=2, kernel_size=1),
        layer("UpSampling3D", "up", "c", size=[2, 2, 2]),
    ]
    predicted = step(network(layers), BATCH)
    assert sizes(predicted, "Repeat") == [BATCH * 128 * 4 * times for times in (2, 4, 8)]


@pytest.mark.parametrize(("axis", "means"), [(-1, 36), ([1, 2, 3], 1), ([2], 12)])
def test_a_norm_of_keras_3_has_a_mean_for_what_it_normalises(axis: Any, means: int) -> None:
    layers = [
        layer("InputLayer", "x", batch_input_shape=[None, 6, 6, 2], dtype="float32"),
        layer("Conv2D", "c", "x", filters=2, kernel_size=1),
        layer("LayerNormalization", "norm", "c", axis=axis),
    ]
    predicted = step(network(layers), BATCH)
    first = next(op for op in ops(predicted, "Mean") if op.owner.layer == "norm")
    assert predicted.step.tape.buffers[first.writes[0]].bytes == BATCH * means * 4


def both_ways(workers: int = 1) -> PredictedStep:
    """A step of a convolutional loop that runs both ways."""
    inner = {
        "class_name": "ConvLSTM2D",
        "config": {"name": "inner", "filters": 6, "kernel_size": [3, 3], "return_sequences": True},
    }
    layers = [
        layer("InputLayer", "x", batch_input_shape=[None, 5, 24, 24, 3], dtype="float32"),
        layer("Bidirectional", "loop", "x", layer=inner, merge_mode="concat"),
    ]
    return step(network(layers, "2.11.0"), BATCH, workers=workers)


def test_a_convolutional_loop_both_ways_unrolls_as_one_does() -> None:
    """Its weights are named by their way, and were not found."""
    assert not both_ways().step.not_understood
    unrolled = [op.temporary_bytes for op in both_ways().step.tape.ops if op.temporary_bytes]
    assert len(unrolled) == 2 * 5
    assert min(unrolled) >= 22 * 22 * 9 * 6 * 4


def test_threads_that_unroll_are_shared_by_both_ways() -> None:
    one, four = (max(op.temporary_bytes for op in both_ways(workers).step.tape.ops) for workers in (1, 4))
    assert four == pytest.approx(1.5 * one)


PICTURE = [layer("InputLayer", "x", batch_input_shape=[None, 6, 6, 2], dtype="float32")]


def shapes(predicted: PredictedStep, op: str, owner: str) -> list[tuple[int, ...]]:
    buffers = predicted.step.tape.buffers
    return [buffers[each.writes[0]].shape for each in ops(predicted, op) if each.owner.layer == owner]


@pytest.mark.parametrize("kind", ["Max", "Average"])
def test_an_adaptive_pool_joins_two_poolings_along_each_axis(kind: str) -> None:
    conv = layer("Conv2D", "c", "x", filters=2, kernel_size=1)
    pool = layer(f"Adaptive{kind}Pooling2D", "pool", "c", output_size=[3, 2])
    predicted = step(network([*PICTURE, conv, pool], "3.13.0"), BATCH)
    assert not predicted.step.unknown
    assert shapes(predicted, "ConcatV2", "pool") == [(BATCH, 9, 6, 2), (BATCH, 3, 7, 2)]
    assert shapes(predicted, "GatherV2", "pool") == [(BATCH, 3, 6, 2), (BATCH, 3, 2, 2)]


def test_a_wrapper_of_a_norm_runs_its_layer() -> None:
    conv = {"name": "c", "filters": 3, "kernel_size": [3, 3], "padding": "same"}
    wrapped = layer("SpectralNormalization", "w", "x", layer={"class_name": "Conv2D", "config": conv})
    predicted = step(network([*PICTURE, wrapped]), BATCH)
    assert not predicted.step.unknown and shapes(predicted, "Conv2D", "w") == [(BATCH, 6, 6, 3)]


def test_near_miss_a_wrapper_of_a_layer_that_is_not_known_is_not_known() -> None:
    wrapped = layer("Wrapper", "w", "x", layer={"class_name": "UnitNormalization", "config": {}})
    assert step(network([*PICTURE, wrapped]), BATCH).step.unknown == ["w"]


@pytest.mark.parametrize(
    ("settings", "made"),
    [
        ({}, {"Relu"}),
        ({"max_value": 6.0}, {"Relu6"}),
        ({"negative_slope": 0.1}, {"LeakyRelu"}),
        ({"threshold": 0.5}, {"Greater", "SelectV2"}),
        ({"max_value": 2.0}, {"Relu", "Minimum", "Maximum"}),
        (
            {"negative_slope": 0.1, "max_value": 6.0, "threshold": 0.5},
            {"Neg", "Relu", "Greater", "SelectV2", "Minimum", "Maximum", "Mul", "AddV2"},
        ),
    ],
)
def test_a_rectifier_is_as_many_ops_as_its_settings_ask_for(settings: dict[str, Any], made: set[str]) -> None:
    layers = [
        *PICTURE,
        layer("Conv2D", "c", "x", filters=2, kernel_size=1),
        layer("ReLU", "r", "c", **settings),
    ]
    forward = step(network(layers), BATCH).step.tape.ops
    assert {op.op for op in forward if op.owner.layer == "r" and "gradient" not in op.name} == made


def penalised(kind: str = "Conv2D", **config: Any) -> PredictedStep:
    sizes_of = {"filters": 3, "kernel_size": 1} if kind == "Conv2D" else {}
    stem = layer("Conv2D", "c", "x", filters=3, kernel_size=1)
    return step(network([*PICTURE, stem, layer(kind, "p", "c", **sizes_of, **config)], "3.9.0"), BATCH)


def told(kind: str, **settings: float) -> dict[str, Any]:
    return {"class_name": kind, "config": settings}


@pytest.mark.parametrize(
    ("regularizer", "made"),
    [
        (None, []),
        ("l2", ["Mul", "Mul"]),
        (told("L2", l2=0.01), ["Mul", "Mul"]),
        (told("L1", l1=0.01), ["Sign", "Mul"]),
        (told("L1L2", l1=0.01, l2=0.01), ["Sign", "Mul", "Mul", "Mul"]),
        (told("L1L2", l1=0.0, l2=0.01), ["Mul", "Mul"]),
    ],
)
def test_a_penalty_on_a_weight_waits_from_the_beginning(regularizer: Any, made: list[str]) -> None:
    """Beside it stands one number as often as the weight has elements, for each shape once."""
    predicted = penalised(kernel_regularizer=regularizer)
    early = [op.op for op in predicted.step.tape.ops if op.early and op.owner.layer == "p"]
    assert early == made
    constants = [buffer.node for buffer in predicted.step.tape.buffers if "numbers" in buffer.node]
    assert len(constants) == bool(made)


def test_a_penalty_on_what_a_layer_gives_is_as_large_as_that() -> None:
    predicted = penalised("ActivityRegularization", l1=0.01, l2=0.0)
    assert shapes(predicted, "Sign", "p") == [(BATCH, 6, 6, 3)]
    assert not ops(penalised("ActivityRegularization", l1=0.0, l2=0.0), "Sign")
    by_setting = penalised(activity_regularizer=told("L1", l1=0.01))
    assert shapes(by_setting, "Sign", "p") == [(BATCH, 6, 6, 3)]


def test_numbers_that_several_elements_share_are_drawn_once() -> None:
    shared, apart = (
        penalised("Dropout", rate=0.5, noise_shape=[None, 1, 1, 3]),
        penalised("Dropout", rate=0.5),
    )
    assert shapes(shared, "GreaterEqual", "p") == [(BATCH, 1, 1, 3)]
    assert shapes(apart, "GreaterEqual", "p") == [(BATCH, 6, 6, 3)]


@pytest.mark.parametrize(("kind", "masks"), [("AlphaDropout", 1), ("GaussianDropout", 0), ("Dropout", 1)])
def test_factors_and_numbers_of_noise_are_kept_as_numbers(kind: str, masks: int) -> None:
    predicted = penalised(kind, rate=0.5)
    assert len(shapes(predicted, "GreaterEqual", "p")) == masks
    factors = {"AlphaDropout": "Cast", "GaussianDropout": "StatelessRandomNormalV2"}
    assert len(shapes(predicted, factors.get(kind, "none"), "p")) == (kind in factors)


def test_a_cell_that_computes_in_16_bits_keeps_its_kernels_of_each_step() -> None:
    """Keras 3 casts them in each step anew."""
    plain, half = pushed(loop("LSTM")), pushed(loop("LSTM", dtype="mixed_float16"))
    assert len(plain) == 1
    assert half - {max(plain) // 2} == {size * 4 * UNITS * 2 for size in (FEATURES, UNITS)}
