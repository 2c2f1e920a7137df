"""What a loss keeps of an output, as traces of TensorFlow 2.21 show it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.estimation.test_updates import layer, network
from tfmemlens.errors import Unpredictable
from tfmemlens.estimation.keras_step.capture import capture
from tfmemlens.estimation.keras_step.losses import loss_of, losses_of
from tfmemlens.estimation.keras_step.prediction import PredictedStep, predict
from tfmemlens.estimation.keras_step.tape import Tape
from tfmemlens.model.attribution import Kind
from tfmemlens.model.network import Network
from tfmemlens.model.settings import StepSettings

UNITS, BATCH = 5_000, 64
OUTPUT = UNITS * BATCH * 4


def questions(loss: Any, activation: str = "sigmoid") -> Network:
    return network(
        [
            layer("InputLayer", "facts", batch_input_shape=[None, 4], dtype="float32"),
            layer("Dense", "answer", "facts", units=UNITS, activation=activation),
        ],
        loss=loss,
    )


def step(loss: Any, **settings: Any) -> PredictedStep:
    return predict(
        questions(loss), StepSettings(BATCH, "sgd", threads=1, workers=1, onednn=False, **settings)
    )


def ops(predicted: PredictedStep) -> list[str]:
    return [op.op for op in predicted.step.tape.ops if op.owner.layer == "loss" and op.reads]


def test_yes_and_no_is_computed_from_what_the_sigmoid_reads() -> None:
    made = ops(step("binary_crossentropy"))
    assert {"GreaterEqual", "Exp", "Log1p", "Reciprocal"} <= set(made)
    assert "SquaredDifference" not in made


@pytest.mark.parametrize("loss", ["mse", "mae", None])
def test_another_loss_is_a_mean_of_squares(loss: str | None) -> None:
    assert "SquaredDifference" in ops(step(loss))
    assert "Log1p" not in ops(step(loss))


def test_yes_and_no_holds_more_than_squares() -> None:
    """Twice the output's size and more, and no more than six times."""
    more = step("binary_crossentropy").timeline.peak_bytes - step("mse").timeline.peak_bytes
    assert 0.5 * OUTPUT < more < 6 * OUTPUT


def test_probabilities_are_read_where_no_sigmoid_made_them() -> None:
    tape = Tape()
    output = tape.source("y", (8, 3), "float32", Kind.ACTIVATION, trainable=True)
    loss = loss_of(tape, output, "binarycrossentropy")
    assert loss.read is output
    assert loss.labels.shape == loss.gradient.shape == (8, 3)


def test_each_output_has_the_loss_that_was_compiled_for_it() -> None:
    told = questions({"answer": "binary_crossentropy"})
    assert told.losses == {"answer": "binarycrossentropy"}
    assert losses_of(told, 1) == ["binarycrossentropy"]


@pytest.mark.parametrize(
    ("loss", "name"),
    [
        ("mse", "mse"),
        ({"class_name": "BinaryCrossentropy", "config": {}}, "binarycrossentropy"),
        (["mae"], "mae"),
        (None, None),
    ],
)
def test_one_loss_is_that_of_all_outputs(loss: Any, name: str | None) -> None:
    told = questions(loss)
    assert not told.losses
    assert losses_of(told, 2) == [name, name]


@pytest.mark.parametrize("activation", ["softmax", "linear"])
def test_labels_that_give_each_class_its_share_are_as_large_as_the_output(activation: str) -> None:
    predicted = predict(
        questions("categorical_crossentropy", activation),
        StepSettings(BATCH, "sgd", threads=1, workers=1, onednn=False),
    )
    assert ops(predicted) == ["SoftmaxCrossEntropyWithLogits", "Mul"]
    (labels,) = [each for each in predicted.step.inputs if each.shape[-1:] == (UNITS,)]
    assert labels.dtype == "float32"


def test_hubers_loss_makes_the_square_and_the_line_and_chooses() -> None:
    predicted = step("huber")
    assert ops(predicted)[:7] == ["Sub", "Abs", "LessEqual", "Square", "Mul", "Sub", "SelectV2"]
    buffers = predicted.step.tape.buffers
    kept = [op for op in predicted.step.tape.ops if op.owner.layer == "loss" and op.writes]
    small = next(op for op in kept if op.op == "LessEqual")
    assert buffers[small.writes[0]].bytes == OUTPUT // 4


@pytest.mark.parametrize(
    ("loss", "kept"),
    [("kl_divergence", 3), ("categorical_focal_crossentropy", 7), ("binary_focal_crossentropy", 9)],
)
def test_a_loss_of_many_products_keeps_them(loss: str, kept: int) -> None:
    made = step(loss)
    buffers = made.step.tape.buffers
    forward = [op for op in made.step.tape.ops if op.op == "Mul" and op.owner.layer == "loss"]
    whole = [op for op in forward if op.writes and buffers[op.writes[0]].bytes == OUTPUT]
    assert len([op for op in whole if buffers[op.writes[0]].owner.kind is not Kind.GRADIENT]) == kept
    more = made.timeline.peak_bytes - step("mse").timeline.peak_bytes
    assert (kept - 3) * OUTPUT < more < (kept + 1) * OUTPUT


def test_a_loss_over_paths_is_refused_in_training_alone() -> None:
    with pytest.raises(Unpredictable, match="loss ctc"):
        capture(questions("ctc"), StepSettings(BATCH, "sgd", threads=1))
    assert capture(questions("ctc"), StepSettings(BATCH, "sgd", threads=1, training=False)).timelines
