"""What the benchmarks measured, as committed: the figures in docs/ come from there."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tfmemlens.cli.main import main

RESULTS = json.loads((ROOT / "scripts" / "benchmarks" / "simulate_results.json").read_text())
FITS = json.loads((ROOT / "scripts" / "benchmarks" / "fit_results.json").read_text())


def errors(key: str) -> list[float]:
    return sorted(abs(each[key] / each["max_in_use_bytes"] - 1) for each in RESULTS if each[key])


def test_predictions_are_nearer_than_what_others_say() -> None:
    found = errors("predicted_bytes")
    assert len(found) >= 350
    assert statistics.median(found) < 0.03
    assert found[int(0.9 * len(found))] < 0.08
    assert statistics.median(errors("grappler_bytes")) > 0.2
    assert statistics.median(errors("formula_bytes")) > 0.3


def test_the_benchmark_has_seen_what_it_should() -> None:
    assert len({each["model"] for each in RESULTS}) >= 12
    assert {each["tf"] for each in RESULTS} == {"tf1.15", "tf2.11", "tf2.21"}
    assert {each["inference"] for each in RESULTS} == {True, False}


def test_every_net_ran_with_three_batches_and_two_optimizers_in_each_tensorflow() -> None:
    cells = {(each["tf"], each["model"], each["batch"], each["optimizer"]) for each in RESULTS}
    for tensorflow in ("tf1.15", "tf2.11", "tf2.21"):
        models = {model for tf, model, _, _ in cells if tf == tensorflow}
        assert len(models) >= 12
        assert all(sum(each[:2] == (tensorflow, model) for each in cells) == 9 for model in models)


def test_graphs_that_tensorflow_made_of_keras_models() -> None:
    recorded = json.loads((ROOT / "scripts" / "benchmarks" / "keras_graphs_results.json").read_text())
    found = sorted(abs(each["predicted_bytes"] / each["max_in_use_bytes"] - 1) for each in recorded)
    assert len({each["model"] for each in recorded}) >= 8
    assert statistics.median(found) < 0.03
    assert found[int(0.9 * len(found))] < 0.1


def test_the_docs_count_the_fits_that_were_right() -> None:
    right = [each for each in FITS if abs(each["predicted"] - each["real"]) <= max(1, 0.03 * each["real"])]
    assert f"in {len(right)} of {len(FITS)} cases" in (ROOT / "docs/accuracy.md").read_text(encoding="utf-8")


def test_a_failure_bounds_the_batch_from_above() -> None:
    bounds = [
        (bound, each["real"]) for each in FITS for bound in each["bounds"].values() if bound is not None
    ]
    assert all(bound >= real for bound, real in bounds)
    assert f"in all {len(bounds)} failures" in (ROOT / "docs/accuracy.md").read_text(encoding="utf-8")


def test_without_tensorflow_the_recorder_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model.json"
    model.write_text("{}")
    assert main(["estimate", str(model), "--tensorflow", "--python", str(tmp_path / "no-python")]) == 2
    complaint = capsys.readouterr().err
    assert "--python" in complaint
    assert "Traceback" not in complaint
