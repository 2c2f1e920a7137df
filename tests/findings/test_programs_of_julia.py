"""Programs of Julia's, which XLA compiles: no Python is for them."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained
from tfmemlens.findings.support.situation import situation

_FAILS = (
    "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 90.00G of 15.50G hbm. Exceeded hbm"
    " capacity by 74.50G.\n"
)


@pytest.mark.parametrize(
    ("said", "julia"),
    [
        (f"ERROR: LoadError: {_FAILS}", True),
        (f"using Reactant\nERROR: {_FAILS}", True),
        (f"jax.errors.JaxRuntimeError: {_FAILS}", False),
        (f"I moved from Julia to JAX.\njax.errors.JaxRuntimeError: {_FAILS}", False),
    ],
    ids=["julia's error", "its package", "python's error", "julia in passing"],
)
def test_julia_is_given_words_and_no_python(said: str, julia: bool) -> None:
    report = explained(f"A solver on a grid of 512x512x64 cells, with XLA\n{said}")
    told = report.case.capture.surroundings
    assert (told.shows("code of Julia") is not None) is julia
    codes = [action.remedy.code for action in report.actions if action.remedy.code]
    assert situation(report.case).no_python is julia
    assert not (julia and any("jax." in code for code in codes))
