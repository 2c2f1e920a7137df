"""A Hessian whose side the text states, Equinox's derivatives, and samplers that a loop makes anew."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

ASKED = "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate {} bytes.\n"
SQUARE = 4 * 407_050**2
FLAT = (
    "import jax\nfrom jax.flatten_util import ravel_pytree\nflat, unravel = ravel_pytree(params)   # 407,050"
    " params\n"
)
HESSIAN = FLAT + "H = jax.hessian(lambda w: loss(unravel(w), x, y))(flat)\neig = jnp.linalg.eigvalsh(H)\n"
KERNEL = "import jax\nN = 407_050\nK = rbf(x, x)\n"


def explained(code: str, asked: int = SQUARE) -> Report:
    return pipeline.explain(f"```python\n{code}```\n\n{ASKED.format(asked)}")


def test_a_square_of_parameters_is_the_hessian() -> None:
    report = explained(HESSIAN)
    assert "the Hessian of line 5" in report.verdict
    assert "compare-shapes" not in [action.remedy.slug for action in report.actions]


def test_a_square_of_rows_is_none() -> None:
    assert "Hessian" not in explained(KERNEL).verdict


@pytest.mark.parametrize("call", ["eqx.filter_jacrev(f)(model, x)", "eqx.filter_jacfwd(f)(model, x)"])
def test_the_jacobian_of_equinox(call: str) -> None:
    code = f"import jax\nimport equinox as eqx\nJ = jax.vmap(lambda x: {call})(X)\n"
    assert "makes the whole Jacobian for every example at once" in explained(code, 880_000_000_004).verdict


LOOP = (
    "import numpyro\nfor i in range(200):\n    svi = SVI(model, guide, optim.Adam(1e-3), Trace_ELBO())\n"
    "    res = svi.run(jax.random.PRNGKey(i), 2000, X[i], y[i])\n"
)
KILLED = (
    "slurmstepd: error: Detected 1 oom_kill event in StepId=88123.batch. Some of the step tasks have been OOM"
    " Killed.\n"
)


def killed(code: str) -> Report:
    return pipeline.explain(f"numpyro: memory keeps climbing until the host is killed\n\n{code}\n{KILLED}")


def test_a_sampler_that_each_turn_makes() -> None:
    report = killed(LOOP)
    assert "makes another `SVI` in each turn of the loop" in report.verdict
    assert report.actions[0].remedy.slug == "compile-once"


@pytest.mark.parametrize(
    "code",
    [
        LOOP.replace("for i in range(200):\n    svi", "svi").replace(
            "    res", "for i in range(200):\n    res"
        ),
        LOOP + "    jax.clear_caches()\n",
        "def SVI(*a):\n    return a\n\n" + LOOP,
    ],
)
def test_a_sampler_that_is_made_once(code: str) -> None:
    assert "makes another `SVI`" not in killed(code).verdict
