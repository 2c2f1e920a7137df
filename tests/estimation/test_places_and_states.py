"""Attention along some axes, loops that begin with others' states, kernels of their own at each place, and
gradients that are summed in parts: shapes and counts as records of real steps on TensorFlow 2.11 and 2.21
showed them in other models.
"""

from __future__ import annotations

import pytest

from tests.estimation.test_time_steps import ops, sizes, step, tags
from tests.estimation.test_updates import layer, network
from tfmemlens.errors import Unpredictable
from tfmemlens.estimation.keras_step.capture import capture
from tfmemlens.estimation.keras_step.prediction import PredictedStep
from tfmemlens.model.network import Network
from tfmemlens.model.settings import StepSettings
from tfmemlens.readers.keras_models._documents import network_of
from tfmemlens.units import MIB

VERSIONS = ("2.11.0", "3.9.0")


def looks(version: str, axes: list[int] | None, *places: int) -> PredictedStep:
    """Two heads of 8 look along these axes of 5 samples; what they see needs gradients."""
    more = {} if axes is None else {"attention_axes": axes}
    attention = layer("MultiHeadAttention", "look", num_heads=2, key_dim=8, dropout=0.0, **more)
    attention["inbound_nodes"] = [[["wide", 0, 0, {"value": ["wide", 0, 0]}]]]
    net = network(
        [
            layer("InputLayer", "x", batch_input_shape=[None, *places, 24], dtype="float32"),
            layer("Dense", "wide", "x", units=16),
            attention,
        ],
        version,
    )
    return step(net, 5)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("axes", "scores"),
    [
        (None, 5 * 2 * 21 * 21 * 4),
        ([2], 5 * 3 * 2 * 7 * 7 * 4),
        ([-2], 5 * 3 * 2 * 7 * 7 * 4),
        ([1], 5 * 7 * 2 * 3 * 3 * 4),
        ([1, 2], 5 * 2 * 21 * 21 * 4),
    ],
)
def test_places_look_along_the_axes_of_attention_alone(
    version: str, axes: list[int] | None, scores: int
) -> None:
    assert sizes(looks(version, axes, 3, 7), "Softmax") == [scores]


def test_keras_3_sums_kernels_gradients_of_samples_for_sequences_alone() -> None:
    """It writes "abc,cde->abde" as products of matrices, and leaves what has more axes to `tf.einsum`."""
    flat, nested = looks("3.9.0", None, 21), looks("3.9.0", [2], 3, 7)
    of_samples = 5 * 16 * 16 * 4
    assert sizes(flat, "MatMul").count(of_samples) == 4
    assert sizes(nested, "MatMul").count(of_samples) == 0


def translated(version: str, reads_states: bool) -> Network:
    """A net that reads a sequence, and one that writes another from its last states."""
    reader = layer("LSTM", "reader", "past", units=32, return_sequences=True, return_state=True)
    writer = layer("LSTM", "writer", "plan", units=32, return_sequences=True)
    if reads_states:
        writer["inbound_nodes"] = [[["plan", 0, 0, {}], ["reader", 0, 1, {}], ["reader", 0, 2, {}]]]
    config = {
        "name": "net",
        "layers": [
            layer("InputLayer", "past", batch_input_shape=[None, 12, 4], dtype="float32"),
            layer("InputLayer", "plan", batch_input_shape=[None, 6, 3], dtype="float32"),
            reader,
            writer,
            layer("Dense", "end", "writer", units=2),
        ],
        "input_layers": [["past", 0, 0], ["plan", 0, 0]],
        "output_layers": [["end", 0, 0]],
    }
    return network_of({"class_name": "Functional", "config": config, "keras_version": version}, "net")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_gradient_of_a_first_state_goes_back_through_the_loop_that_made_it(version: str) -> None:
    predicted = step(translated(version, reads_states=True), 16)
    assert {weight for weight, _, _ in predicted.step.weights} == {"reader", "writer", "end"}
    assert len(predicted.step.tape.gradients) == len(predicted.step.weights)
    assert [each.owner.layer for each in ops(predicted, "TensorListPushBack")].count("reader") == 12


@pytest.mark.parametrize("version", VERSIONS)
def test_near_miss_states_that_nobody_reads_give_no_gradient(version: str) -> None:
    predicted = step(translated(version, reads_states=False), 16)
    assert len(predicted.step.tape.gradients) == len(predicted.step.weights) - 3


def places(implementation: int = 1) -> PredictedStep:
    net = network(
        [
            layer("InputLayer", "x", batch_input_shape=[None, 9, 9, 2], dtype="float32"),
            layer("Conv2D", "conv", "x", filters=4, kernel_size=[1, 1]),
            layer(
                "LocallyConnected2D",
                "own",
                "conv",
                filters=6,
                kernel_size=[3, 3],
                implementation=implementation,
            ),
        ],
        "2.11.0",
    )
    return step(net, 8)


def test_kernels_of_their_own_cut_a_window_for_each_place() -> None:
    """49 places: each window's gradient is as large as the layer's input, and they wait for their sum."""
    predicted = places()
    assert sizes(predicted, "StridedSlice") == [8 * 3 * 3 * 4 * 4] * 49
    assert sizes(predicted, "StridedSliceGrad") == [8 * 9 * 9 * 4 * 4] * 49
    assert 49 * 8 * 6 * 4 in sizes(predicted, "BatchMatMulV2")
    assert not predicted.step.unknown and not predicted.step.not_understood


def test_near_miss_other_implementations_are_not_understood() -> None:
    predicted = places(implementation=2)
    assert not ops(predicted, "StridedSlice")
    assert "implementation 2 or 3" in predicted.step.not_understood["own"][0]


def waiting(predicted: PredictedStep) -> int:
    timeline = predicted.timeline
    alive = timeline.alive_after(timeline.peak_index)
    return sum(timeline.table.op[row] == "StridedSliceGrad" for row in alive)


@pytest.mark.parametrize(("batch", "share"), [(32, 1.0), (512, 0.4)])
def test_many_large_gradients_are_summed_in_parts(batch: int, share: float) -> None:
    """Beyond 128 MiB together some of them are summed before the last is there, and how many wait is open."""
    net = network_of({**tags(64), "keras_version": "3.9.0"}, "net")
    predicted = step(net, batch)
    (size, *_) = sizes(predicted, "StridedSliceGrad")
    assert (50 * size > 128 * MIB) is (share < 1)
    assert waiting(predicted) == pytest.approx(50 * share, abs=2)
    settings = StepSettings(batch, "sgd", workers=1, onednn=False)
    if share < 1:
        with pytest.raises(Unpredictable, match="wait to be summed, which is chance"):
            capture(net, settings)
    else:
        assert (capture(net, settings).timelines[0].error_share or 1) < 0.4
