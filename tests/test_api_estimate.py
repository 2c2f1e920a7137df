"""`tfmemlens.estimate(...)` in Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tfmemlens
from tests.models import document
from tfmemlens.errors import UsageError

KERAS = "sample_models/files-2.21/small.keras"


class Model:
    """Whatever has `to_json` is a Keras model to us."""

    name = "lenet"

    def to_json(self) -> str:
        return json.dumps(document("lenet"))


def test_a_path_and_a_model_are_predicted() -> None:
    assert "is predicted to need" in tfmemlens.estimate(KERAS, batch=4).verdict
    report = tfmemlens.estimate(Model(), batch=64, optimizer="adam", limit=1 << 30)
    assert report.case.layers[1].parameters == 832
    assert report.case.moments[0].predicted
    assert "fc1" in str(report)


@pytest.mark.parametrize(
    "arguments",
    [
        {"batch": 0},
        {"sequence": 0},
        {"optimizer": "magic"},
        {"dtype": "float31"},
        {"device": "tpu"},
        {"mode": "train"},
    ],
    ids=str,
)
def test_usage_errors_are_ours(arguments: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as problem:
        tfmemlens.estimate(KERAS, **arguments)
    assert problem.value.hint


def test_the_package_shows_what_it_offers() -> None:
    assert set(tfmemlens.__all__) <= set(dir(tfmemlens))
    assert all(getattr(tfmemlens, name).__doc__ for name in tfmemlens.__all__)
    with pytest.raises(AttributeError):
        tfmemlens.nothing  # noqa: B018


def test_a_shape_that_is_none_is_named() -> None:
    with pytest.raises(ValueError, match=r"'2xbig'.*'big'"):
        tfmemlens.explain("OOM when allocating tensor with shape[8]", input_shape="2xbig")


def test_a_trace_without_a_timeline_says_why_once(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("the step ran out of memory, says nobody\n" * 2)
    with pytest.raises(tfmemlens.TfmemlensError) as problem:
        tfmemlens.read(text)
    assert str(problem.value).count("unrecognised") == 1
