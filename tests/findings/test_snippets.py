"""The lines of code that pages print are those that were tried in real programs."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest

from tests.conftest import ROOT


def snippets() -> ModuleType:
    path = ROOT / "scripts" / "benchmarks" / "snippets.py"
    spec = importlib.util.spec_from_file_location("snippets", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["snippets"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_every_line_that_was_tried_is_still_printed() -> None:
    tried = snippets()
    strings = tried.printed()
    assert not [case.code for case in tried.CASES if not any(case.code in each for each in strings)]


@pytest.mark.slow
@pytest.mark.tensorflow
def test_the_lines_run_where_they_claim_to_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = snippets()
    if not (tried.ENVIRONMENTS / "tf2.21").exists():
        pytest.skip("no environment")
    monkeypatch.setattr(sys, "argv", ["snippets.py"])
    assert tried.main() == 0, capsys.readouterr().out
