"""Predicted peaks against those that real TensorFlow measured (sample_models/peaks-*.json.gz).

Steps of one run differ by up to 40 %, since ops that overlap differ; with one executor thread they hardly do. Bounds are a little above what
scripts/benchmarks/estimate.py prints for all runs.
"""

from __future__ import annotations

import json
import statistics

import pytest

from tests.models import gzipped
from tfmemlens.estimation.prediction import predict
from tfmemlens.model.settings import Settings
from tfmemlens.readers.networks._documents import network_of

QUICK = ("lenet", "perceptron", "vgg", "swish", "unet", "autoencoder", "volume", "text", "transformer", "lstm", "gru", "mobilenet", "xception")


def errors(version: str, mode: str) -> list[float]:
    """The share by which each quick model's prediction is off the median of its steps."""
    told = gzipped(f"peaks-{version}.json.gz")
    found = []
    for key, run in told["runs"].items():
        name, batch, optimizer, how = key.split("/")
        if how == mode and name in QUICK:
            settings = Settings(int(batch), optimizer, training=how != "inference", workers=1 if how.endswith("-1") else 4)
            predicted = predict(network_of(json.loads(told["models"][name]), name), settings).timeline.peak_bytes
            found.append(abs(predicted / statistics.median(run["peaks"]) - 1))
    return found


@pytest.mark.parametrize("version", ["2.11", "2.21"])
@pytest.mark.parametrize(("mode", "median"), [("inference", 0.03), ("training-1", 0.12), ("training", 0.12)])
def test_half_of_the_predictions_are_near(version: str, mode: str, median: float) -> None:
    found = errors(version, mode)
    assert len(found) >= 10
    assert statistics.median(found) <= median


@pytest.mark.parametrize("version", ["2.11", "2.21"])
def test_weights_and_slots_stand_as_measured(version: str) -> None:
    """What stands before the step, where the run says: for models with more than a megabyte of it."""
    told = gzipped(f"peaks-{version}.json.gz")
    compared = 0
    for key, run in told["runs"].items():
        name, batch, optimizer, mode = key.split("/")
        if mode == "inference" and name in QUICK and run["before"] > 1 << 20:
            compared += 1
            settings = Settings(int(batch), optimizer, training=False)
            stands = predict(network_of(json.loads(told["models"][name]), name), settings).timeline.baseline_bytes
            assert abs(stands / run["before"] - 1) < 0.1, key
    assert compared >= 3
