"""The examples that `help()` shows are true."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import tfmemlens

MODULES = ("tfmemlens", "tfmemlens.api", "tfmemlens.api.trace", "tfmemlens.fleet")
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_are_true(name: str, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder()
    found = [test for test in finder.find(module, name, globs={"tfmemlens": tfmemlens}) if test.examples]
    assert found
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    told: list[str] = []
    for test in found:
        for example in test.examples:
            example.source = example.source.replace('"report.html"', repr(str(page)))
        runner.run(test, out=told.append)
    assert not runner.failures, "".join(told)


OTHERS = {"TfmemlensError", "__version__", "keras", "session_hook", "trace_step", "watch"}
"""Of these only frameworks could run an example."""


@pytest.mark.parametrize("name", sorted(set(tfmemlens.__all__) - OTHERS))
def test_every_function_has_an_example(name: str) -> None:
    assert ">>> " in (getattr(tfmemlens, name).__doc__ or "")
