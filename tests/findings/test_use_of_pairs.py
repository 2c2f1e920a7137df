"""A covariance that is factorised takes fewer rows, similarities that are ranked blocks of rows."""

from __future__ import annotations

import pytest

from tests.readers.test_tuned_kernels import tried
from tfmemlens import pipeline
from tfmemlens.findings.support.use_of_pairs import fewer_rows

PAIRS = ("f32[46000,46000]", "f32[46000,64]", "jit(matmul)/dot_general", "7.90GiB")
HEAD = "import jax\nimport jax.numpy as jnp\nrows = 46_000\nx = jnp.zeros((46_000, 64))\n"
FACTORISED = "factor = jax.scipy.linalg.cho_factor(k, lower=True)\n"
RANKED = "best = jax.lax.top_k(s, 10)\n"


def slugs(code: str) -> list[str]:
    report = pipeline.explain(f"{HEAD}{code}\n{tried(*PAIRS)}")
    return [each.remedy.slug for each in report.actions]


@pytest.mark.parametrize(
    ("code", "first", "never"),
    [(FACTORISED, "subsampling", "in-blocks"), (RANKED, "in-blocks", "subsampling")],
)
def test_what_the_pairs_go_into_decides(code: str, first: str, never: str) -> None:
    found = slugs(code)
    assert found[0] == first and never not in found


@pytest.mark.parametrize("code", ["", FACTORISED + RANKED])
def test_where_the_use_is_open_blocks_come_first(code: str) -> None:
    assert slugs(code)[0] == "in-blocks"


@pytest.mark.parametrize(("rows", "few"), [(18_000, 3_000), (46_000, 7_000), (1_500, 750), (100_000, 16_000)])
def test_no_more_rows_are_drawn_than_there_are(rows: int, few: int) -> None:
    assert f"key, {rows}, ({few},)" in (fewer_rows(rows).code or "")
