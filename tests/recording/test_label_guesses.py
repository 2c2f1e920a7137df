"""What the labels of a step may be that no compiled loss tells."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tfmemlens.recording.trace_training_graph import label_guesses, traced_with_some


class Spec:
    """tf.TensorSpec, as far as it is asked."""

    def __init__(self, shape: tuple[int | None, ...], dtype: str = "float32", name: str = "") -> None:
        self.shape, self.dtype, self.name = shape, dtype, name


class Model:
    def train_step(self) -> None:
        """Keras's own."""


class Own(Model):
    def train_step(self) -> None:
        """The user's."""


TF = SimpleNamespace(TensorSpec=Spec, int32="int32", float32="float32", keras=SimpleNamespace(Model=Model))
PICTURE, CLASSES = (8, 40, 40, 3), (8, 40, 40, 12)


def guesses(model: Any, inputs: tuple[int, ...], *outputs: tuple[int, ...]) -> list[list[tuple[Any, str]]]:
    found = label_guesses(TF, model, [Spec(inputs)], [Spec(shape) for shape in outputs])
    return [[(each.shape, each.dtype) for each in labels] for labels in found]


def test_pictures_of_the_inputs_size_are_values_first() -> None:
    values, classes = guesses(Own(), PICTURE, PICTURE)
    assert values == [(PICTURE, "float32")]
    assert classes == [((8, 40, 40), "int32")]


def test_other_outputs_of_a_step_of_its_own_are_classes_first() -> None:
    assert [labels[0][1] for labels in guesses(Own(), PICTURE, CLASSES)] == ["int32", "float32"]


def test_near_miss_a_row_of_the_inputs_width_is_no_picture() -> None:
    assert [labels[0][1] for labels in guesses(Own(), (8, 10), (8, 10))] == ["int32", "float32"]


@pytest.mark.parametrize(("model", "loss"), [(Model(), None), (Own(), "mse"), (Model(), "mse")])
def test_near_miss_kerass_own_step_and_compiled_losses_leave_nothing_to_guess(model: Any, loss: Any) -> None:
    model.loss = loss
    assert len(guesses(model, PICTURE, PICTURE)) == 1


def takes(wanted: str) -> Any:
    def trace(labels: str) -> str:
        if labels != wanted:
            raise TypeError(f"no {labels}")
        return f"graph with {labels}"

    return trace


def test_the_first_guess_that_the_step_takes_is_taken() -> None:
    assert traced_with_some(["values", "classes"], takes("classes")) == "graph with classes"
    assert traced_with_some(["values", "classes"], takes("values")) == "graph with values"


def test_where_it_takes_none_the_first_error_is_told() -> None:
    with pytest.raises(TypeError, match="no values"):
        traced_with_some(["values", "classes"], takes("words"))
