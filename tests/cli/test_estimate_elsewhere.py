"""A saved model in the place of a trace: explain, report and diff predict it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.models import document
from tfmemlens import pipeline, readers
from tfmemlens.cli.main import main
from tfmemlens.model.capture import Hints
from tfmemlens.readers.gathering import inputs

KERAS = "sample_models/files-2.21/small.keras"


@pytest.mark.parametrize(
    "path",
    [
        KERAS,
        "sample_models/files-2.11/small.h5",
        "sample_models/files-2.21/small.json",
        "sample_models/applications-2.11/VGG16.json.gz",
    ],
)
def test_a_model_is_known_by_its_content(path: str) -> None:
    assert readers.read(inputs.resolve(path)).network


@pytest.mark.parametrize(
    "path", ["sample_traces/run_metadata/1.15-lenet.pb", "sample_traces/README.md", "README.md"]
)
def test_other_files_are_none(path: str) -> None:
    assert not readers.read(inputs.resolve(path)).network


def test_explain_predicts_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", KERAS, "--batch", "64", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["peaks"][0]["predicted"] is True
    assert "batch 64" in found["notes"][0]["text"]


def test_two_models_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A wider model needs more, and `diff` says so."""
    wide = json.loads(json.dumps(document("lenet")).replace('"units": 1024', '"units": 2048'))
    for name, told in (("a.json", document("lenet")), ("b.json", wide)):
        (tmp_path / name).write_text(json.dumps(told), encoding="utf-8")
    assert main(["diff", str(tmp_path / "a.json"), str(tmp_path / "b.json")]) in (0, 1)
    assert "fc1" in capsys.readouterr().out


def test_a_page_of_a_model(tmp_path: Path) -> None:
    assert main(["report", KERAS, "-o", str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "page.html").stat().st_size > 10_000


def test_hints_of_other_commands_become_settings() -> None:
    found = pipeline.capture(KERAS, Hints(input_shape=(8, 6), limit_bytes=1 << 30))
    assert (found.hints.batch, found.timelines[0].limit_bytes) == (8, 1 << 30)
