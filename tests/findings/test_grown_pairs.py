"""Pairs of the rows of an array that a loop makes longer."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

CODE = """import jax
import jax.numpy as jnp

@jax.jit
def kernel(x, y):
    return jnp.exp(x @ y.T)

archive = jax.random.normal(jax.random.key(0), (5000, 48))
for turn in range(200):
    gram = kernel(archive, archive)
    archive = jnp.concatenate([archive, best(gram)])
    print(float(gram.mean()))

"""
FAILED = """Traceback (most recent call last):
  File "fit.py", line 12, in <module>
    print(float(gram.mean()))
jax.errors.JaxRuntimeError: INTERNAL: Error dispatching computation: Out of memory allocating {} bytes.
"""


@pytest.mark.parametrize(
    ("code", "need", "told"),
    [
        (CODE, 4 * 15_000**2, True),
        (CODE, 4 * 15_000**2 + 4, False),
        (CODE, 4 * 16_384**2, False),  # a power of two, which many a request is
        (CODE.replace("kernel(archive, archive)", "kernel(archive, best)"), 4 * 15_000**2, False),
        (CODE.replace("archive = jnp.concatenate", "joined = jnp.concatenate"), 4 * 15_000**2, False),
    ],
)
def test_pairs_of_rows_that_become_more(code: str, need: int, told: bool) -> None:
    report = pipeline.explain(code + FAILED.format(need))
    assert ("`archive` grows in each turn of a loop (line 11)" in report.verdict) is told
    assert ("15,000 x 15,000 float32, the request to the byte" in report.verdict) is told
    assert (report.actions[0].remedy.slug == "bounded-history") is told
