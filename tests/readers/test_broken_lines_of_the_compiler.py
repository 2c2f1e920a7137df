"""The compiler's warning, which an editor broke at any of its words and indented."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

HEAD = "import jax\nW hlo_rematerialization.cc:3282] "
WARNING = (
    "Can't reduce memory use below 93.50GiB (100394860544 bytes) by rematerialization; only reduced to"
    " 180.25GiB (193541963776 bytes), down from 181.00GiB (194347270144 bytes) originally"
)
FAILS = "\nRESOURCE_EXHAUSTED: Out of memory while trying to allocate 120.00GiB.\n"


@pytest.mark.parametrize(
    "before", ["by rematerialization", "rematerialization;", "only reduced", "(100394860544"]
)
@pytest.mark.parametrize("indent", ["", "  ", "      "])
def test_the_warning_is_whole_again(before: str, indent: str) -> None:
    broken = WARNING.replace(f" {before}", f"\n{indent}{before}", 1)
    report = pipeline.explain(HEAD + broken + FAILS)
    assert "it needs 180.25 GiB, and 93.50 GiB was the compiler's goal" in report.verdict


def test_what_stands_below_a_cut_warning_is_none_of_it() -> None:
    cut = WARNING[: WARNING.index(" by remat")]
    report = pipeline.explain(f"{HEAD}{cut}\n  only then it failed{FAILS}")
    assert "compiler's goal" not in report.verdict and "120.00 GiB" in report.verdict
