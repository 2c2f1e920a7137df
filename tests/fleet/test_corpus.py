"""The corpus of a fleet, small: each failure is found once, where its truth says, and nothing else is."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT
from tests.fleet.needed import fleet
from tests.fleet.test_scan import Here
from tfmemlens.fleet.scanning import scan

pytestmark = fleet


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


@pytest.mark.whole
def test_every_failure_is_found_once(
    corpus: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(corpus, "SAMPLES", corpus.SAMPLES[::12])
    for share, value in (("BROKEN", 0.06), ("ROTATED", 0.3), ("ARCHIVED", 0.3)):
        monkeypatch.setattr(corpus, share, value)
    monkeypatch.setattr(corpus, "HUGE", 60_000)
    corpus.failing.cache_clear()
    truths = corpus.make(tmp_path, count=60, size=60 * 20_000, seed=4, failing_share=0.3)
    assert {truth.status for truth in truths} == {"read", "no failure", "broken"}
    assert {".tar", ".zst", ".1", ".log"} <= {file.suffix for file in tmp_path.rglob("*.*")}
    counts = corpus.check(tmp_path, None)
    assert counts["incidents"] == sum(truth.incidents for truth in truths) > 10
    known = {"logs", "incidents", "milliseconds"}
    assert set(counts) <= known, capsys.readouterr().out
    jobs = str(tmp_path / "jobs")
    for number, order in enumerate(([jobs], sorted(map(str, tmp_path.glob("jobs/*/*")), reverse=True))):
        scan(order, str(tmp_path / f"found-{number}"), Here())
    found = [str(tmp_path / "found-0"), str(tmp_path / "found-1")]
    assert set(corpus.check(tmp_path, None, found[0])) <= known, capsys.readouterr().out
    assert corpus.differences(*found) == 0
    scan(jobs, found[1], Here(), rescan=True, job_pattern="(?P<job>huge)")
    assert corpus.differences(*found) > 0


def test_the_check_sees_what_is_missed_and_double(corpus: ModuleType) -> None:
    truth = corpus.Truth("a.log", "read", start=100, end=200, incidents=2)
    result = corpus.Found("read", [50, 100, 150, 199, 200])
    assert list(corpus.compare(truth, result)) == [("double", 1), ("where none is", 2)]
    assert list(corpus.compare(truth, corpus.Found("read", [100]))) == [("missed", 1)]
    quiet = corpus.Truth("a.log", "no failure")
    assert list(corpus.compare(quiet, result)) == [("where none is", 5), ("status read", 1)]
    assert list(corpus.compare(corpus.Truth("a.log", "broken"), result)) == [("broken, but read", 1)]
