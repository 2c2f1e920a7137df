"""What quoted JAX programs make, read from their syntax trees."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

ASKED = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
HEAD = "import jax\nimport jax.numpy as jnp\nimport numpy as np\n\n"
LARGE = f"\n{ASKED} 5760000000 bytes.\n"
LAMBDA = "data = jax.device_put(np.load('d.npy'))\nstep = jax.jit(lambda key: sample(data, key))\nstep(key)\n"
PASSED = LAMBDA.replace("lambda key: sample(data, key)", "lambda d, key: sample(d, key)")
TABLE = "table = jnp.array([1, 2, 3, 4])\nstep = jax.jit(lambda key: sample(table, key))\nstep(key)\n"
DECORATED = (
    "data = jnp.asarray(np.load('d.npy'))\n\n@jax.jit\ndef step(w, i):\n    return w @ data[i]\n\n"
    "step(w, 3)\n"
)
IN_A_LOOP = (
    "def main():\n    x = jax.device_put(np.load('d.npy'))\n    for i in range(16):\n"
    "        def f(v):\n            return jnp.dot(x, v)\n        f = jax.jit(f)\n        f(v)\n"
)
HESSIAN = "g = jax.jacrev(energy)\nh = jax.jacfwd(g)\nh(np.random.rand(2483, 3))\n"
JACOBIAN = "j = jax.jacfwd(energy)\nj(x)\n"
STACKED = (
    "@jax.jit\ndef f(x):\n    x, big = jax.lax.scan(lambda c, y: (c + y, c + y), x, ys)\n"
    "    return big.sum()\n"
)
DROPPED = STACKED.replace("x, big =", "x, _ =").replace("big.sum()", "x.sum()")
GRADED = "def loss(p):\n    c, _ = jax.lax.scan(body, p, xs)\n    return c.sum()\n\ng = jax.grad(loss)(p)\n"
RECOMPUTED = "@jax.checkpoint\ndef body(c, x):\n    return c * x, None\n\n" + GRADED
SHARDED = "x = jax.device_put(jnp.zeros((9, n)), NamedSharding(mesh, P('x')))\n"
FROM_HOST = SHARDED.replace("jnp.zeros", "np.zeros")


def explained(text: str) -> Report:
    return pipeline.explain(text)


@pytest.mark.parametrize(
    ("code", "said", "slug"),
    [
        (LAMBDA, "uses the array `data` (line 5) without being given it", "pass-as-argument"),
        (DECORATED, "uses the array `data` (line 5) without being given it", "pass-as-argument"),
        (IN_A_LOOP, "each turn of the loop compiles it anew", "pass-as-argument"),
        (HESSIAN, "all rows of the Hessian of line 6", "in-blocks"),
        (JACOBIAN, "all rows of the Jacobian of line 5", "in-blocks"),
        (STACKED, "stacks `big`, one row for each of its steps", "stack-less"),
        (GRADED, "the gradient keeps what each step of the scan of line 6 needs", "recompute-body"),
        (RECOMPUTED, "it still keeps every step's carry", "in-blocks"),
        (SHARDED, "made before, whole, on one device", "shard-arguments"),
    ],
)
@pytest.mark.parametrize("end", [LARGE, "\nthis ends with an OOM on my GPU\n"])
def test_what_the_program_makes_is_told_as_a_guess(code: str, said: str, slug: str, end: str) -> None:
    report = explained(HEAD + code + end)
    assert said in report.verdict
    assert "most likely" in report.verdict
    assert report.actions[0].remedy.slug == slug


@pytest.mark.parametrize("code", [PASSED, TABLE, DROPPED, FROM_HOST, "h = energy(x)\n"])
@pytest.mark.parametrize("end", [LARGE, "\nthis ends with an OOM on my GPU\n"])
def test_what_is_passed_small_or_dropped_is_not_told(code: str, end: str) -> None:
    told = {finding.rule for finding in explained(HEAD + code + end).findings}
    assert not {"failing-line-of-jax", "code-without-message"} & told


def test_code_alone_is_no_failure() -> None:
    assert (
        explained(HEAD + LAMBDA + "\nthis is slow on my GPU\n").verdict
        == "No out-of-memory message was found."
    )
    assert not explained(LAMBDA.replace("jax.", "lib.") + "\nthis ends with an OOM\n").findings


def test_a_small_request_is_not_what_the_program_makes() -> None:
    report = explained(f"{HEAD}{LAMBDA}\n{ASKED} 4096 bytes.\n")
    assert "`data`" not in report.verdict


def test_a_scan_stands_behind_what_a_line_says_more_of() -> None:
    code = "train(num_envs=65536)\n" + GRADED
    assert "65536 environments" in explained(HEAD + code + LARGE).verdict


TPU = "XlaRuntimeError: RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 196.00M."
TPU += " That was not possible. There are 60.94M free.; (0x0x0_HBM0)\n"


@pytest.mark.parametrize(
    ("model", "told"), [("gemma-2-27b-it", True), ("llama-7b", True), ("gemma-2-2b-it", False)]
)
def test_a_model_that_the_text_names_is_set_against_a_chip(model: str, told: bool) -> None:
    report = explained(f'model = GemmaCausalLM.from_preset("hf://google/{model}")\n{TPU}')
    assert ("most likely weights fill it (60.94 MiB was left)" in report.verdict) is told
    assert (report.actions[0].remedy.slug == "shard-arguments") is told
