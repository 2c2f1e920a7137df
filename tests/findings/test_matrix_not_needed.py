"""Square matrices that a program can do without."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.test_what_is_no_batch import explained
from tfmemlens.model.finding import Finding

HEAD = "import tensorflow as tf\nphi = layer(x)\nw = gate(x)\n"
FRAME = 'Traceback (most recent call last):\n  File "fit.py", line 4, in <module>\n    {}\n'


def told(text: str) -> Finding | None:
    return next((each for each in explained(text).findings if each.rule == "matrix-not-needed"), None)


def diagonal(code: str, shape: str = "9000,9000", node: str = "MatMul") -> Finding | None:
    return told(f"{HEAD}{code}\n{oom(shape, node)}")


@pytest.mark.parametrize(
    "code",
    [
        "W = tf.linalg.diag(w)\nA = tf.matmul(phi, tf.matmul(W, phi), transpose_a=True)",
        "W = tf.linalg.diag(w)\nA = W @ phi",
        "A = tf.matmul(tf.matrix_diag(w), phi)",
        "A = tf.linalg.diag(w) @ phi",
    ],
)
def test_a_product_with_a_diagonal_matrix(code: str) -> None:
    finding = diagonal(code)
    assert finding is not None and "diag(w)" in finding.headline and "9,000" in finding.headline
    remedy = finding.remedies[0]
    assert remedy.slug == "rows-times-numbers" and (remedy.code or "").startswith("y = w[:, None] * x")
    assert remedy.saves_bytes == 9000 * 9000 * 4


@pytest.mark.parametrize(
    ("code", "shape", "node"),
    [
        ("W = tf.linalg.diag(w)\nA = W + phi", "9000,9000", "MatMul"),  # no product
        ("W = tf.linalg.diag_part(k)\nA = tf.matmul(W, phi)", "9000,9000", "MatMul"),  # takes it out
        ("W = tf.linalg.diag(w)\nA = W @ phi", "9000,300", "MatMul"),
        ("W = tf.linalg.diag(w)\nA = W @ phi", "400,400", "MatMul"),
        ("W = tf.linalg.diag(w)\nA = W @ phi", "9000,9000", "net/Softmax"),
        ("W = tf.linalg.diag(w)\nV = tf.linalg.diag(v)\nA = W @ phi @ V", "9000,9000", "MatMul"),  # which?
    ],
)
def test_near_misses_of_a_diagonal(code: str, shape: str, node: str) -> None:
    assert diagonal(code, shape, node) is None


def factors(line: str, framework: str = "tensorflow as tf") -> Finding | None:
    return told(f"import {framework}\n{line}\n{FRAME.format(line)}{oom('12000,12000', 'Svd')}")


@pytest.mark.parametrize(
    "line",
    [
        "s, u, v = tf.linalg.svd(x, full_matrices=True)",
        "q, r = tf.linalg.qr(x, full_matrices=True)",
        "q, r = jnp.linalg.qr(x, 'complete')",
        "u, s, vt = jnp.linalg.svd(x)",
    ],
)
def test_full_factors(line: str) -> None:
    finding = factors(line)
    assert finding is not None and finding.remedies[0].slug == "thin-factors"


@pytest.mark.parametrize(
    "line",
    [
        "s, u, v = tf.linalg.svd(x)",
        "u, s, vt = jnp.linalg.svd(x, full_matrices=False)",
        "s = jnp.linalg.svd(x, compute_uv=False)",
        "q, r = jnp.linalg.qr(x)",
    ],
)
def test_thin_factors_are_asked_for_already(line: str) -> None:
    assert factors(line) is None


@pytest.mark.parametrize(("made", "diagonal_"), [("diag(w)", True), ("outer(w, w)", False)])
def test_a_diagonal_matrix_of_jax_is_known_by_the_program(made: str, diagonal_: bool) -> None:
    code = (
        "import jax, jax.numpy as jnp\nX = jnp.ones((480000, 9))\nw = jnp.ones(480000)\n"
        f"W = jnp.{made}\nA = X.T @ W @ X\n"
    )
    message = "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 921600000000 bytes.\n"
    first = explained(f"{code}{message}").actions[0].remedy
    assert (first.slug == "rows-times-numbers") is diagonal_
