"""Models of the running process and of functions, that do not describe themselves."""

from __future__ import annotations

import contextlib
import copy
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import tfmemlens
from tests.models import document
from tfmemlens.errors import Unpredictable, UnreadableInput
from tfmemlens.model.settings import StepSettings
from tfmemlens.recording import training_graph
from tfmemlens.use_cases import estimate


class Subclass:
    """As Keras has it: `to_json` is there and raises."""

    name = "mine"
    trainable_variables = ()

    def to_json(self) -> str:
        raise NotImplementedError


class Described(Subclass):
    def to_json(self) -> str:
        return json.dumps(document("lenet"))


class OwnStep(Described):
    def train_step(self, data: Any) -> Any:
        raise AssertionError("nothing is run")


def test_a_model_that_tells_nothing_needs_the_tensorflow_that_made_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    with pytest.raises(UnreadableInput, match="does not describe its layers") as refusal:
        tfmemlens.estimate(Subclass())
    assert "TensorFlow backend" in refusal.value.hint


@pytest.mark.parametrize(
    ("model", "is_traced"), [(Described(), False), (Subclass(), True), (OwnStep(), True)]
)
def test_who_is_traced(model: Any, is_traced: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A described model is not; a step of its own would not be the one that its layers tell."""
    asked: list[Any] = []

    def recorded(model: Any, out: str, settings: StepSettings) -> dict[str, list[object]]:
        asked.append((model, settings.batch))
        raise UnreadableInput("enough", "of this")

    monkeypatch.setattr(training_graph, "record_live", recorded)
    if is_traced:
        with pytest.raises(UnreadableInput, match="enough"):
            estimate.estimate_live(model, StepSettings(8))
        assert asked == [(model, 8)]
    else:
        assert estimate.estimate_live(model, StepSettings(8)).timelines
        assert not asked


@pytest.mark.parametrize(
    "ours", ["tfmemlens.readers.keras_models.of_text", "tfmemlens.use_cases.estimate.estimate"]
)
@pytest.mark.parametrize("error", [TypeError, ValueError, NotImplementedError])
def test_an_error_of_ours_in_the_prediction_comes_out(
    ours: str, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The traced graph would hide it: only what Keras raises says that the model has no description."""

    def mistaken(*given: Any, **named: Any) -> Any:
        raise error("a slip of ours")

    def recorded(model: Any, out: str, settings: StepSettings) -> dict[str, list[object]]:
        raise AssertionError("the model describes itself")

    monkeypatch.setitem(sys.modules, "tensorflow", object())
    monkeypatch.setattr(training_graph, "record_live", recorded)
    monkeypatch.setattr(ours, mistaken)
    with pytest.raises(error, match="a slip of ours"):
        estimate.estimate_live(Described(), StepSettings(8))


@pytest.mark.parametrize("error", [TypeError, ValueError, NotImplementedError])
def test_what_keras_raises_for_a_model_without_a_description_is_no_error_of_ours(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Undescribed(Subclass):
        def to_json(self) -> str:
            raise error("Object was created by passing non-serializable argument values")

    def recorded(model: Any, out: str, settings: StepSettings) -> dict[str, list[object]]:
        raise UnreadableInput("enough", "of this")

    monkeypatch.setattr(training_graph, "record_live", recorded)
    with pytest.raises(UnreadableInput, match="enough"):
        estimate.estimate_live(Undescribed(), StepSettings(8))


def test_a_function_whose_model_tells_nothing_is_traced_by_its_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "class build:\n    layers = ()\n    def to_json(self):\n        raise TypeError\n"
    (tmp_path / "mine.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    asked: list[str] = []

    def recorded(model: str, out: str, settings: StepSettings, python: str | None) -> dict[str, list[object]]:
        asked.append(model)
        raise UnreadableInput("enough", "of this")

    monkeypatch.setattr(training_graph, "record", recorded)
    with pytest.raises(UnreadableInput, match="enough"):
        estimate.estimate_file("mine:build", StepSettings(8))
    assert asked == ["mine:build"]


@pytest.mark.parametrize(
    ("settings", "arguments"),
    [
        (StepSettings(8), []),
        (StepSettings(8, "sgd"), ["--optimizer", "sgd"]),
        (StepSettings(8, sequence=50), ["--shape", "50"]),
        (StepSettings(8, inputs={"a": (4, 5)}, sequence=50), ["--shape", "4x5"]),
    ],
)
def test_the_recorder_is_asked_for_what_was_given_alone(settings: StepSettings, arguments: list[str]) -> None:
    """Without an optimizer the recorder takes the compiled one."""
    told = training_graph._arguments("m.keras", "out.pb", settings)
    assert told[3:5] == ["--batch", "8"]
    assert told[5:] == arguments


class Unheard(Described):
    """A description with a layer of the user's own among those that are known."""

    def to_json(self) -> str:
        model = copy.deepcopy(document("lenet"))
        last = model["config"]["layers"][-1]
        last["class_name"] = "MyOwn"
        last["registered_name"] = "mine>MyOwn"
        return json.dumps(model)


@pytest.mark.parametrize(("loaded", "is_traced"), [(True, True), (False, False)])
def test_a_layer_of_the_users_own_is_traced_where_tensorflow_can(
    loaded: bool, is_traced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def recorded(model: Any, out: str, settings: StepSettings) -> dict[str, list[object]]:
        asked.append(model)
        raise UnreadableInput("enough", "of this")

    if loaded:
        monkeypatch.setitem(sys.modules, "tensorflow", object())
    else:
        monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    monkeypatch.setattr(training_graph, "record_live", recorded)
    model = Unheard()
    with contextlib.suppress(Unpredictable):  # what its description alone tells may be too little
        estimate.estimate_live(model, StepSettings(8))
    assert asked == ([model] if is_traced else [])
