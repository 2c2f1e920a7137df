"""The plugin: what a marked test needs, without TensorFlow."""

from __future__ import annotations

import subprocess
import sys
import weakref
from pathlib import Path

import pytest

from tests.conftest import ROOT, SAMPLES
from tfmemlens import pytest_plugin

TRACE = SAMPLES / "xspace" / "2.21-function.xplane.pb"


def test_what_was_recorded_decides(tmp_path: Path) -> None:
    assert "not known" in pytest_plugin._problem(str(tmp_path), 1 << 30)
    (tmp_path / "step-0000001.xplane.pb").write_bytes(TRACE.read_bytes())
    assert pytest_plugin._problem(str(tmp_path), 1 << 30) == ""
    over = pytest_plugin._problem(str(tmp_path), 1 << 10)
    assert over.startswith("tf_memory: the test needs")
    assert "LARGEST LAYERS" in over or "BY LAYER" in over


def test_a_marked_test_that_records_nothing_fails_and_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "test_step.py").write_text(
        "import pytest\n"
        "@pytest.mark.tf_memory('1GiB')\ndef test_marked(): pass\n"
        "@pytest.mark.tf_memory('2 cows')\ndef test_odd(): pass\n"
        "def test_plain(memory_trace): assert callable(memory_trace)\n"
    )
    words = [sys.executable, "-m", "pytest", "-q", "-p", "tfmemlens.pytest_plugin", "-p", "no:cacheprovider"]
    ended = subprocess.run(
        [*words, "--rootdir", str(tmp_path), "--strict-markers", str(tmp_path)],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "2 failed, 1 passed" in ended.stdout
    assert "tf_memory('2 cows'): it takes one size" in ended.stdout and "ValueError" not in ended.stdout
    assert "TensorFlow" in ended.stdout


class Large:
    """Stands for a tensor."""


def test_what_a_failed_test_kept_is_let_go_before_a_marked_one(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[weakref.ref[Large]] = []

    def failing() -> None:
        batch = Large()
        kept.append(weakref.ref(batch))
        raise MemoryError

    with pytest.raises(MemoryError) as failure:
        failing()
    monkeypatch.setattr(sys, "last_traceback", failure.tb, raising=False)
    assert kept[0]() is not None
    pytest_plugin._let_go_of_failed_tests()
    assert kept[0]() is None
