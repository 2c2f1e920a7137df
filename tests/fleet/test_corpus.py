"""The corpus of a fleet, small: each failure is found once, where its truth says, and nothing else is."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def corpus() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "fleet_corpus", ROOT / "scripts" / "benchmarks" / "fleet_corpus.py"
    )
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["fleet_corpus"] = module
    spec.loader.exec_module(module)
    return module


def test_every_failure_is_found_once(
    corpus: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(corpus, "SAMPLES", corpus.SAMPLES[::12])
    monkeypatch.setattr(corpus, "BROKEN", 0.05)
    corpus.failing.cache_clear()
    truths = corpus.make(tmp_path, count=60, size=60 * 12_000, seed=4, failing_share=0.3)
    assert {truth.status for truth in truths} == {"read", "no failure", "broken"}
    counts = corpus.check(tmp_path, None)
    assert counts["incidents"] == sum(truth.incidents for truth in truths) > 10
    assert set(counts) <= {"logs", "incidents", "milliseconds"}, capsys.readouterr().out


def test_the_check_sees_what_is_missed_and_double(corpus: ModuleType) -> None:
    from tfmemlens.fleet import flow

    truth = corpus.Truth("a.log", "read", start=100, end=200, incidents=2)
    rows = [{"offset": offset} for offset in (50, 100, 150, 199, 200)]
    result = flow.ReadResult(rows, "read")
    assert list(corpus.compare(truth, result)) == [("double", 1), ("where none is", 2)]
    assert list(corpus.compare(truth, flow.ReadResult(rows[1:2], "read"))) == [("missed", 1)]
    quiet = corpus.Truth("a.log", "no failure")
    assert list(corpus.compare(quiet, result)) == [("where none is", 5), ("status read", 1)]
    assert list(corpus.compare(corpus.Truth("a.log", "broken"), result)) == [("broken, but read", 1)]
