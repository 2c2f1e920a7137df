"""Rollouts whose scan stacks the whole state of a simulator, and settings of which the text tells several."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

MESSAGE = "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 23557701512 bytes.\n"
CODE = """import jax

def rollout(state, key):
    def step(carry, _):
        state, key = carry
        key, sub = jax.random.split(key)
        nstate = env.step(state, policy(state.obs, sub))
        return (nstate, key), nstate
    (_, _), traj = jax.lax.scan(step, (state, key), None, length=1000)
    return traj

traj = jax.jit(rollout)(state, key)
returns = traj.reward.sum(0)
"""


def explained(code: str, above: str = "") -> Report:
    return pipeline.explain(f"{above}\n\n```python\n{code}```\n\n{MESSAGE}")


def test_a_whole_state_of_each_step() -> None:
    report = explained(CODE)
    assert "stacks the whole `nstate` for each of 1000 steps" in report.verdict
    assert "and only `.reward` of it is used (line 16)" in report.verdict
    assert "return carry, nstate.reward" in (report.actions[0].remedy.code or "")


def test_a_state_that_is_used_elsewhere() -> None:
    report = explained(CODE + "save(traj)\n")
    assert "stacks the whole `nstate`" in report.verdict
    assert "of it is used" not in report.verdict


@pytest.mark.parametrize(
    "code",
    [
        CODE.replace("(nstate, key), nstate", "(nstate, key), nstate.reward"),
        CODE.replace("(nstate, key), nstate", "(nstate, key), None"),
        CODE.replace("env.step(", "jnp.tanh("),
    ],
)
def test_less_of_each_step(code: str) -> None:
    assert "stacks the whole" not in explained(code).verdict


def test_of_two_numbers_the_one_that_fails() -> None:
    said = "brax PPO on an RTX 3080. num_envs=2048 works, num_envs=8192 OOMs:"
    report = explained("import jax\nimport brax\n", said)
    assert "a rollout of 8192 environments" in report.verdict
    assert (report.actions[0].remedy.code or "").startswith("num_envs=8192 // 4")
