"""What `fit(x, y)` holds beside the step: the arrays, copied whole, and two batches that it fetches ahead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.models import document
from tfmemlens.cli.main import main
from tfmemlens.errors import Unpredictable
from tfmemlens.estimation.keras_step.capture import capture
from tfmemlens.estimation.keras_step.prediction import predict
from tfmemlens.model.settings import StepSettings
from tfmemlens.readers.keras_models._documents import network_of
from tfmemlens.use_cases.estimate import estimate_graph

BATCH, SAMPLES = 8, 16_000


def settings(samples: int | None) -> StepSettings:
    return StepSettings(BATCH, "sgd", threads=1, workers=1, onednn=False, samples=samples)


def told(samples: int | None) -> Any:
    return capture(network_of(document("lenet"), "lenet"), settings(samples))


def test_the_arrays_and_two_batches_stand_before_the_step() -> None:
    step = predict(network_of(document("lenet"), "lenet"), settings(SAMPLES)).step
    batch = sum(value.bytes for value in step.inputs)
    assert sum(value.bytes for value in step.arrays) == batch * SAMPLES // BATCH
    assert sum(value.bytes for value in step.fetched) == 2 * batch
    alone = predict(network_of(document("lenet"), "lenet"), settings(None)).step
    assert not alone.arrays and not alone.fetched


def test_the_peak_and_the_limit_hold_them_once() -> None:
    alone, beside = told(None).timelines[0], told(SAMPLES).timelines[0]
    step = predict(network_of(document("lenet"), "lenet"), settings(SAMPLES)).step
    held = sum(value.bytes for value in (*step.arrays, *step.fetched))
    assert beside.peak_bytes - alone.peak_bytes == pytest.approx(held, rel=0.5)
    assert beside.needed_limit and beside.needed_limit.bytes >= beside.peak_bytes


def test_the_note_says_what_is_counted() -> None:
    def notes(samples: int | None) -> list[str]:
        return [note.text for note in told(samples).notes if "copie" in note.text]

    assert any("add them" in text for text in notes(None))
    assert any(f"arrays of {SAMPLES} samples" in text for text in notes(SAMPLES))
    assert not any("add them" in text for text in notes(SAMPLES))


def test_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "lenet.json"
    model.write_text(json.dumps(document("lenet")))
    peaks = []
    for more in ([], ["--samples", "4000"]):
        assert (
            main(["estimate", str(model), "--batch", "8", "--threads", "1", "--no-onednn", "--json", *more])
            == 0
        )
        peaks.append(json.loads(capsys.readouterr().out)["peaks"][0]["bytes"])
    assert peaks[1] > peaks[0]


@pytest.mark.whole
def test_a_functions_graph_holds_them_and_a_sessions_does_not() -> None:
    decoder = str(ROOT / "sample_models" / "recorded" / "2.21-concrete-decoder.meta.gz")
    unet = str(ROOT / "sample_traces" / "fit" / "1.15-unet.meta.gz")
    for path, batch, grows in ((decoder, 32, True), (unet, 2, False)):
        alone, beside = (
            estimate_graph(path, StepSettings(batch, threads=1, workers=1, samples=samples)).timelines[0]
            for samples in (None, 1000 * batch)
        )
        assert (beside.peak_bytes > alone.peak_bytes) is grows


@pytest.mark.whole
def test_fit_holds_them_at_every_batch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also at batches larger than the arrays, of which `fit` cuts one batch. How its regions lie is worth a
    tenth, and a quarter that the gradient of the first filter comes last there.
    """
    model = tmp_path / "lenet.json"
    model.write_text(json.dumps(document("lenet")))
    command = [
        "fit",
        str(model),
        "--batch",
        "8",
        "--threads",
        "1",
        "--no-onednn",
        "--limit",
        "250MiB",
        "--json",
    ]
    largest = []
    for more in ([], ["--samples", "10"], ["--samples", "6000"]):
        assert main([*command, *more]) == 0
        largest.append(json.loads(capsys.readouterr().out)["fit"]["largest_batch"])
    assert 0 < 0.9 * largest[2] <= largest[1] <= 1.3 * largest[0]
    assert largest[1] > 10


def test_fit_refuses_arrays_that_hold_no_batch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "lenet.json"
    model.write_text(json.dumps(document("lenet")))
    assert main(["fit", str(model), "--batch", "8", "--samples", "7"]) == 2
    assert "hold no batch of 8" in capsys.readouterr().err


def test_an_output_of_unknown_shape_is_refused_or_traced_and_no_defect() -> None:
    """A layer of the user's own in Keras 2: nobody knows what it makes."""
    model = document("lenet")
    mine = {"class_name": "Mine", "module": "own", "registered_name": "own>Mine", "config": {"name": "mine"}}
    model["config"]["layers"].append(mine)
    with pytest.raises(Unpredictable):
        capture(network_of(model, "lenet"), settings(SAMPLES))
