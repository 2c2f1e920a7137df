"""Predicted peaks against those that real TensorFlow measured (sample_models/peaks-*.json.gz).

Steps of one run differ by up to 40 %, since ops that overlap differ; with one executor thread they hardly do.
Bounds are a little above what scripts/benchmarks/estimate.py prints for all runs.
"""

from __future__ import annotations

import json
import statistics

import pytest

from tests.models import gzipped
from tfmemlens.estimation.keras_step.capture import error_shares
from tfmemlens.estimation.keras_step.prediction import predict
from tfmemlens.model.settings import StepSettings
from tfmemlens.readers.keras_models._documents import network_of
from tfmemlens.units import MIB

QUICK = (
    "lenet", "perceptron", "vgg", "swish", "unet", "autoencoder", "volume", "text", "transformer", "lstm",
    "gru", "mobilenet", "xception",
    "generator", "encoder", "bilstm", "waves", "squeezed", "residual",
)  # fmt: skip


MEASURED_L3_BYTES = 384 << 20
"""The cache of the processor that the runs were measured on: Conv3D's gradients had no room for buffers."""
EVERY_THIRD = 3
"""Of the 126 trained runs of a version the suite predicts a third; all with `--slow`."""


def errors(version: str, mode: str, step: int = 1) -> list[float]:
    """The share by which each quick model's prediction is off the median of its steps; of every `step`-th
    run.
    """
    told = gzipped(f"peaks-{version}.json.gz")
    asked = [key for key in told["runs"] if key.split("/")[0] in QUICK and key.split("/")[3] == mode]
    shares = []
    for key in asked[::step]:
        name, batch, optimizer, how = key.split("/")
        settings = StepSettings(
            int(batch),
            optimizer,
            training=how != "inference",
            threads=4,
            workers=1 if how.endswith("-1") else 4,
            l3_bytes=MEASURED_L3_BYTES,
        )
        predicted = predict(network_of(json.loads(told["models"][name]), name), settings).timeline.peak_bytes
        shares.append(abs(predicted / statistics.median(told["runs"][key]["peaks"]) - 1))
    return shares


@pytest.mark.parametrize("version", ["2.11", "2.21"])
@pytest.mark.parametrize(
    ("mode", "step", "median", "ninety"),
    [
        ("inference", 1, 0.01, 0.12),
        ("training-1", 1, 0.06, 0.16),
        ("training", EVERY_THIRD, 0.06, 0.20),
        pytest.param("training", 1, 0.06, 0.20, marks=pytest.mark.slow),
    ],
)
@pytest.mark.whole
def test_predictions_are_near(version: str, mode: str, step: int, median: float, ninety: float) -> None:
    found = sorted(errors(version, mode, step))
    assert len(found) >= 15
    assert statistics.median(found) <= median
    assert found[int(0.9 * len(found))] <= ninety


@pytest.mark.parametrize(
    ("version", "name", "batch", "optimizer", "mode"),
    [
        ("2.11", "text", 64, "adam", "inference"),  # the pool's first regions decide whether a chunk is split
        ("2.21", "text", 64, "adam", "inference"),
        ("2.11", "text", 64, "momentum", "training-1"),  # Keras 2 updates the rows of a table, and copies it
        (
            "2.21",
            "encoder",
            16,
            "adam",
            "inference",
        ),  # Keras 3's attention turns the scores where weights are dropped
        ("2.21", "encoder", 16, "adam", "training-1"),
        ("2.11", "lstm", 32, "adam", "training-1"),  # 32 gradients of the weights wait to be summed
        ("2.21", "gru", 32, "adam", "training-1"),  # two transpositions fall away
        ("2.21", "lenet", 64, "rmsprop", "training-1"),  # decayed slots are there from the step's beginning
        ("2.21", "perceptron", 256, "lion", "training-1"),
        ("2.21", "perceptron", 256, "sgd", "training-1"),
        ("2.21", "densenet", 8, "adam", "training-1"),  # gradients of concatenations, last part first
    ],
)
@pytest.mark.whole
def test_what_profiles_showed_is_there(
    version: str, name: str, batch: int, optimizer: str, mode: str
) -> None:
    told = gzipped(f"peaks-{version}.json.gz")
    settings = StepSettings(
        batch, optimizer, training=mode != "inference", workers=1 if mode.endswith("-1") else 4
    )
    predicted = predict(network_of(json.loads(told["models"][name]), name), settings).timeline.peak_bytes
    assert (
        abs(predicted / statistics.median(told["runs"][f"{name}/{batch}/{optimizer}/{mode}"]["peaks"]) - 1)
        < 0.05
    )


@pytest.mark.parametrize(("threads", "mib", "off"), [(2, 97.0, 0.03), (4, 105.8, 0.09), (4, 111.8, 0.13)])
@pytest.mark.whole
def test_nadam_of_three_processes_is_inside_the_bar(threads: int, mib: float, off: float) -> None:
    """One executor thread, kernels on two and four. In the profile of the second the largest weight's second
    slot is read when all else has run, so what waits for it stands beside a convolution's patches.
    """
    model = json.loads(gzipped("peaks-2.21.json.gz")["models"]["lenet"])
    settings = StepSettings(64, "nadam", threads=threads, workers=1, onednn=False)
    predicted = predict(network_of(model, "lenet"), settings)
    shares = error_shares(predicted, settings)
    assert shares is not None
    below, above = shares
    peak = predicted.timeline.peak_bytes / MIB
    assert abs(peak / mib - 1) <= off
    assert (1 - below) * peak <= mib <= (1 + above) * peak


@pytest.mark.parametrize("version", ["2.11", "2.21"])
def test_weights_and_slots_stand_as_measured(version: str) -> None:
    """What stands before the step, where the run says: for models with more than a megabyte of it."""
    told = gzipped(f"peaks-{version}.json.gz")
    compared = 0
    for key, run in told["runs"].items():
        name, batch, optimizer, mode = key.split("/")
        if mode == "inference" and name in QUICK and run["before"] > 1 << 20:
            compared += 1
            settings = StepSettings(int(batch), optimizer, training=False)
            found = predict(network_of(json.loads(told["models"][name]), name), settings)
            stands = found.timeline.baseline_bytes - sum(
                value.bytes for value in found.step.inputs
            )  # a batch comes with each call
            assert abs(stands / run["before"] - 1) < 0.1, key
    assert compared >= 3
