"""Models as Keras saved them: every format gives the same model, and what is broken gives one sentence."""

from __future__ import annotations

import contextlib
import gzip
import json
import shutil
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models import FOLDER, small
from tfmemlens import pipeline
from tfmemlens.errors import TfmemlensError, UnreadableInput
from tfmemlens.knowledge.keras_layers.model_types import complete
from tfmemlens.model.settings import StepSettings
from tfmemlens.readers import keras_models
from tfmemlens.readers.keras_models import _documents, hdf5, saved_model
from tfmemlens.readers.keras_models._documents import network_of
from tfmemlens.use_cases.estimate import estimate

WHOLE = [
    "files-2.11/small.json",
    "files-2.11/small.h5",
    "files-2.11/saved_model",
    "files-2.21/small.json",
    "files-2.21/small.h5",
    "files-2.21/small.keras",
]
WEIGHTS = ["files-2.11/small.weights.h5", "files-2.21/small.weights.h5", "files-2.21/saved_model"]


@pytest.mark.parametrize("name", WHOLE)
def test_every_format_gives_the_same_model(name: str) -> None:
    network = complete(keras_models.read(FOLDER / name))
    assert [(layer.name, layer.parameters) for layer in network] == [
        ("x", 0),
        ("first", 28),
        ("norm", 16),
        ("second", 30),
        ("both", 0),
        ("out", 77),
    ]
    assert network["both"].inbound == ((network["norm"].name, 0, 0), ("second", 0, 0))
    assert network.optimizer in (None, "RMSprop", "rmsprop")


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_alone_still_count(name: str) -> None:
    network = keras_models.read(FOLDER / name)
    assert network.dialect == "variables"
    assert network.parameters == 151


def test_a_model_file_knows_its_optimizer() -> None:
    assert keras_models.read(FOLDER / "files-2.21/small.keras").optimizer == "rmsprop"
    assert keras_models.read(FOLDER / "files-2.11/small.h5").optimizer == "RMSprop"


@pytest.mark.parametrize("name", ["files-2.11/own.h5", "files-2.21/own.keras"])
def test_weights_of_the_users_own_layer_are_those_in_the_file(name: str) -> None:
    network = complete(keras_models.read(FOLDER / name))
    assert (network["mine"].parameters, network["out"].parameters) == (35, 12)
    assert "its weights are those in the file" in (network["mine"].problem or "")


def test_a_json_text_within_a_json_text(tmp_path: Path) -> None:
    """`json.dump(model.to_json(), file)` is what many write."""
    target = tmp_path / "model.json"
    target.write_text(
        json.dumps((FOLDER / "files-2.11/small.json").read_text(encoding="utf-8")), encoding="utf-8"
    )
    assert complete(keras_models.read(target)).parameters == 151


@pytest.mark.parametrize(
    "name", [*(name for name in WHOLE if "saved" not in name), "files-2.21/small.weights.h5"]
)
@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.9, 0.99])
def test_a_cut_file_is_one_sentence(name: str, share: float, tmp_path: Path) -> None:
    raw = (FOLDER / name).read_bytes()
    target = tmp_path / Path(name).name
    target.write_bytes(raw[: int(len(raw) * share)])
    with pytest.raises(UnreadableInput) as caught:
        keras_models.read(target)
    assert caught.value.hint


@pytest.mark.parametrize("name", ["files-2.11/saved_model", "files-2.21/saved_model"])
@pytest.mark.parametrize("file", ["saved_model.pb", "keras_metadata.pb"])
def test_a_cut_saved_model_is_one_sentence(name: str, file: str, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    shutil.copytree(FOLDER / name, folder)
    (folder / file).write_bytes(
        (folder / file).read_bytes()[:1001] if (folder / file).exists() else b"\xff\xff"
    )
    try:
        assert keras_models.read(folder).parameters in (0, 151)
    except UnreadableInput as problem:
        assert problem.hint


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        "[1, 2]",
        "null",
        '"model"',
        '{"class_name": "Dense"}',
        '{"class_name": "Functional", "config": 3}',
        "{",
        "hello",
    ],
)
def test_foreign_text_is_one_sentence(text: str, tmp_path: Path) -> None:
    target = tmp_path / "model.json"
    target.write_text(text, encoding="utf-8")
    with pytest.raises(UnreadableInput) as caught:
        keras_models.read(target)
    assert caught.value.hint


def test_other_files_and_folders_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("OOM when allocating tensor", encoding="utf-8")
    (tmp_path / "log.gz").write_bytes(gzip.compress(b"OOM when allocating tensor"))
    for path in (tmp_path, tmp_path / "log.txt", tmp_path / "log.gz", tmp_path / "nothing"):
        with pytest.raises(UnreadableInput) as caught:
            keras_models.read(path)
        assert caught.value.hint


def _functional(**config: object) -> dict[str, Any]:
    layer = {"class_name": "InputLayer", "config": {}, "name": "x", "inbound_nodes": []}
    return {
        "class_name": "Functional",
        "config": {"layers": [layer], "input_layers": ["x", 0, 0], "output_layers": ["x", 0, 0], **config},
    }


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (_functional(layers=3), "the list of layers is a number, and not a list"),
        (_functional(layers=[3]), "a layer is a number, and not an object"),
        (_functional(layers=[{"config": {}}]), "a layer has no class_name"),
        (_functional(layers=[{"class_name": "Dense"}]), "a layer Dense has no config"),
        (_functional(output_layers=None), "output_layers is missing, or neither a list nor an object"),
        (
            _functional(layers=[{"class_name": "A", "config": {}, "inbound_nodes": 5}]),
            "inbound_nodes is a number, and not a list",
        ),
        (
            _functional(
                layers=[
                    {
                        "class_name": "A",
                        "config": {},
                        "inbound_nodes": [
                            {
                                "args": [
                                    {"class_name": "__keras_tensor__", "config": {"keras_history": ["x", 0]}}
                                ]
                            }
                        ],
                    }
                ]
            ),
            "keras_history has 2 parts",
        ),
        ({"class_name": "Sequential", "config": "x"}, "the model's config is a text, and not an object"),
    ],
)
def test_a_description_that_no_keras_writes_is_named(document: Any, reason: str) -> None:
    with pytest.raises(UnreadableInput) as problem:
        network_of(document, "m.json")
    assert (
        problem.value.sentence == f"m.json looks like a Keras model, but its layers cannot be read: {reason}"
    )
    assert len(network_of(_functional(), "m.json").layers) == 1


@pytest.mark.parametrize("name", [*WHOLE, *WEIGHTS])
@pytest.mark.parametrize("error", [KeyError, TypeError, ValueError, RuntimeError])
def test_a_defect_of_ours_is_not_taken_for_a_damaged_file(
    name: str, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> NoReturn:
        raise error("a slip")

    for module in (_documents, saved_model):
        monkeypatch.setattr(module, "Network", broken)
    monkeypatch.setattr(hdf5, "LayerSpec", broken)
    with pytest.raises(error, match="a slip"):
        keras_models.read(FOLDER / name)


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**6) | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@given(_ANYTHING)
@settings(max_examples=60, deadline=None)
def test_any_json_is_a_model_or_one_sentence(value: Any) -> None:
    with contextlib.suppress(TfmemlensError):
        network_of(value, "anything")
    with contextlib.suppress(TfmemlensError):
        network_of(
            {
                "class_name": "Functional",
                "config": {"layers": value, "input_layers": value, "output_layers": []},
            },
            "anything",
        )


@given(st.sampled_from(sorted(small("2.21"))), st.integers(0, 10**6), _ANYTHING)
@settings(max_examples=60, deadline=None)
@pytest.mark.whole
def test_a_damaged_description_is_a_prediction_or_one_sentence(name: str, place: int, value: Any) -> None:
    document = json.loads(json.dumps(small("2.21")[name]["json"]))
    holders = list(_holders(document))
    holder, key = holders[place % len(holders)]
    holder[key] = value
    try:
        pipeline.report(estimate(network_of(document, name), StepSettings(2)))
    except TfmemlensError as problem:
        assert problem.hint


def _holders(value: Any) -> Any:
    inside: Any = value.items() if isinstance(value, dict) else ()
    for key, inner in enumerate(value) if isinstance(value, list) else inside:
        yield value, key
        yield from _holders(inner)
