"""`tfmemlens.estimate(...)` in Python."""

from __future__ import annotations

import json

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
    report = tfmemlens.estimate(Model(), batch=64, optimizer="adam", limit_bytes=1 << 30)
    assert report.case.layers[1].parameters == 832
    assert report.case.moments[0].predicted
    assert "conv1" in str(report)


def test_usage_errors_are_ours() -> None:
    with pytest.raises(UsageError):
        tfmemlens.estimate(KERAS, batch=0)
    with pytest.raises(UsageError):
        tfmemlens.estimate(KERAS, optimizer="magic")
