"""What a failing line of JAX code makes, where the message has the size alone."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.findings.support.jax_lines import made_by
from tfmemlens.model.report import Report

GIB = 1 << 30


@pytest.mark.parametrize(
    ("line", "need", "what"),
    [
        ("K = jnp.zeros((50000, 50000))", 50000**2 * 4, "zeros makes [50000,50000] float32"),
        ("K = jnp.full((50_000, 40_000), -1.0)", 50000 * 40000 * 8, "full makes [50000,40000] float64"),
        ("m = jnp.ones((4096, 4096, 64), jnp.bfloat16)", 4096**2 * 64 * 2, "[4096,4096,64] bfloat16 or"),
        ("x = jax.random.normal(key, (30000, 30000))", 30000**2 * 4, "normal makes [30000,30000] float32"),
        ("P = P - jnp.eye(40000)", 40000**2 * 4, "eye makes [40000,40000] float32"),
        ("y = jax.nn.one_hot(labels, 30000)", 80000 * 30000 * 4, "30,000 numbers for each of 80,000 labels"),
        (
            "y = jax.nn.one_hot(labels, num_classes=30000)",
            80000 * 30000 * 4 + 4,
            "30,000 numbers for each label",
        ),
        ("s = jnp.einsum('bqhd,bkhd->bhqk', q, k)", GIB, "every q with every k"),
        ('g = jnp.einsum("ni,nj->nij", a, b)', GIB, "every i with every j"),
        ("d = jnp.sum((x[:, None, :] - y[None, :, :]) ** 2, -1)", GIB, "pairs every row"),
        ("per_example = jax.vmap(jax.grad(f), in_axes=(None, 0))(w, xs)", GIB, "one gradient"),
        ("mcmc.run(jax.random.PRNGKey(0), X, y)", GIB, "MCMC keeps every draw"),
        ("opt_state = tx.init(params)", GIB, "the optimizer's state"),
        ("state = TrainState.create(apply_fn=f, params=p, tx=tx)", GIB, "the optimizer's state"),
        ("k = jnp.kron(a, b)", GIB, "repeats its operand"),
        ("x = jnp.asarray(frames, dtype=jnp.float32) / 255.", GIB, "copies one array to the device whole"),
    ],
)
def test_the_line_says_what_is_made(line: str, need: int, what: str) -> None:
    made = made_by(line, need)
    assert made and what in made.what
    assert made.remedies


@pytest.mark.parametrize(
    ("line", "need"),
    [
        (
            "K = jnp.zeros((50000, 50000))",
            50000**2 * 4 + 4,
        ),  # another array of the line, or a program's arena
        ("K = jnp.zeros((5000, 500))", 5000 * 500 * 4),  # small: the device is full
        ("x = x[:, None]", GIB),
        ("x = jnp.stack(parts)[:, None]", 1 << 20),
        ("y = jnp.einsum('ij,ij->i', a, b)", GIB),
        ("state, loss = train_step(state, x[:, None] - y[None])", GIB),
        ("print(loss)", GIB),
        (None, GIB),
        ("x = f(y)", None),
    ],
)
def test_near_misses(line: str | None, need: int | None) -> None:
    assert made_by(line, need) is None


def explained(line: str, need: int) -> Report:
    return pipeline.explain(
        f'Traceback (most recent call last):\n  File "/home/u/gp.py", line 12, in kernel\n    {line}\n'
        f"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating {need} bytes.\n"
    )


def test_the_page_names_the_shape_and_asks_for_no_operands() -> None:
    report = explained("K = jnp.zeros((50000, 50000))", 10_000_000_000)
    assert report.verdict.endswith("zeros makes [50000,50000] float32 in one piece.")
    assert report.actions[0].remedy.slug == "in-blocks"
    assert "in-pieces" not in [action.remedy.slug for action in report.actions]


def test_tensorflow_s_lines_are_not_read_as_jax_s() -> None:
    text = (
        'File "a.py", line 3, in f\n    d = x[:, None] - y[None]\nResourceExhaustedError: OOM when allocating'
    )
    report = pipeline.explain(f"{text} tensor with shape[9000,9000,8] and type float on /device:GPU:0\n")
    assert "failing-line-of-jax" not in [finding.rule for finding in report.findings]
