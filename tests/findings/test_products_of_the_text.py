"""Sizes of the text that make a request to the byte say more than an optimizer that the code names."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered
from tfmemlens import pipeline

ASKED = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
CODE = "import jax\nfit = jaxopt.LBFGS(fun=loss, maxiter=200).run\n"


@pytest.mark.parametrize(("need", "exact"), [(8_000_000_000, True), (8_000_000_012, False)])
def test_a_product_goes_before_the_history_of_an_optimizer(need: int, exact: bool) -> None:
    text = f"From 10,000 starting points; the data are 200,000 x 50.\n{CODE}{ASKED} {need} bytes.\n"
    assert ("in float32, to the byte" in explained(text).verdict) is exact
    assert ("L-BFGS keeps" in explained(text).verdict) is not exact
    assert ("shorter-history" in offered(text)) is not exact


@pytest.mark.parametrize(
    ("told", "sizes"),
    [
        ("data of 200,000 x 50", (200000, 50)),
        ("data of 200,000 x 1,250,000 numbers", (200000, 1250000)),
        ("data of 200000 x 50", (200000, 50)),
    ],
)
def test_thousands_may_have_commas(told: str, sizes: tuple[int, ...]) -> None:
    stated = pipeline.capture(f"import jax\n{told}\n{ASKED} 8000000000 bytes.\n").surroundings.sizes
    assert sizes in [each.sizes for each in stated]
    assert all(0 not in each.sizes for each in stated)


def test_a_pair_in_16_bits_is_one_number_in_32() -> None:
    text = f"points of 164,254 x 2, width = 512, 20 frames: batch_size=20.\n{ASKED} 6727843840 bytes.\n"
    verdict = explained(f"import jax\n{text}").verdict
    assert "164,254" in verdict
    assert "in float32" in verdict
    assert "16 bits" not in verdict
