"""What a setting of a JAX program makes a library keep."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.findings.support.kept_by_settings import kept_by_settings
from tfmemlens.values import replace

HEAD = (
    "import jax\nimport jax.numpy as jnp\nimport diffrax\nimport optax\nfrom functools import lru_cache\n\n"
)
BEYOND = (
    "E1127 22:08:07.6 3928 gpu_hlo_schedule.cc:1068] The byte size of input/output arguments ({given})"
    " exceeds the base limit (4504682496). This indicates an error in the calculation!\n"
)
REFUSED = (
    "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate {need} bytes."
    " [executable_name='jit_{name}']\n"
)
LBFGS = (
    "solver = optax.lbfgs(memory_size=120)\n\n@jax.jit\ndef iterate(x, state):\n"
    "    return solver.update(x, state)\n\niterate(x, state)\n\n"
)
SOLVED = (
    "def solve(x, saveat):\n    return diffrax.diffeqsolve(term, y0=x, saveat=saveat, max_steps=16384)\n\n"
    "@jax.jit\ndef forecast(xs):\n    return jax.vmap(lambda x: solve(x, diffrax.SaveAt(steps=True)))(xs)\n\n"
    "@jax.jit\ndef other(xs):\n    return xs\n\nforecast(xs)\n\n"
)


def verdict(code: str, need: int, name: str, given: int | None = 15616641124) -> str:
    warned = BEYOND.format(given=given) if given else ""
    return pipeline.explain(f"{HEAD}{code}{warned}{REFUSED.format(need=need, name=name)}").verdict


@pytest.mark.parametrize(
    ("code", "need", "told"),
    [
        (LBFGS, 3840000000, True),
        (LBFGS.replace("120", "10"), 3840000000, False),  # the usual history
        (LBFGS, 3840000004, False),  # no multiple of 120 rows
        (LBFGS.replace("solver.update", "other.update"), 3840000000, False),  # not reached
    ],
)
def test_the_history_of_an_optimizer(code: str, need: int, told: bool) -> None:
    said = verdict(code, need, "iterate")
    assert ("`lbfgs(memory_size=120)` (line 7)" in said) is told
    assert not told or ("each 30.52 MiB, 7.15 GiB together" in said and "14.54 GiB" in said)


def test_what_is_given_and_returned_is_told_once() -> None:
    goal = "Can't reduce memory use below 7.27GiB (7808000632 bytes) by rematerialization; only reduced to"
    goal = f"W1127 22:08:09.2 9160 hlo_rematerialization.cc:3363] {goal} 10.88GiB (11680050691 bytes)\n"
    said = verdict(LBFGS + goal, 3840000000, "iterate")
    assert "given and returned is 14.54 GiB" in said and "rematerialisation" not in said


def test_fewer_changes_are_advised() -> None:
    text = f"{HEAD}{LBFGS}{REFUSED.format(need=3840000000, name='iterate')}"
    assert "120 -> 10 leaves 610.35 MiB" in pipeline.explain(text).actions[0].remedy.text


@pytest.mark.parametrize(
    ("code", "name", "told"),
    [
        (SOLVED, "forecast", True),
        (SOLVED, "other", False),
        (SOLVED.replace("steps=True", "t1=True"), "forecast", False),
        (SOLVED.replace("16384", "n"), "forecast", False),
    ],
)
def test_rows_of_steps_that_may_be_taken(code: str, name: str, told: bool) -> None:
    said = verdict(code, 8589934592, name)
    assert ("max_steps=16384 (line 8) of 512.0 KiB" in said) is told


def test_a_power_of_two_alone_tells_no_rows() -> None:
    assert "max_steps" not in verdict(SOLVED, 8589934592, "forecast", given=None)


CACHED = (
    "@jax.jit\ndef augment(x):\n    return x * 2\n\n@lru_cache(maxsize=512)\ndef load(i, seed):\n"
    "    return augment(i), jnp.asarray(i)\n\n@jax.jit\ndef step(x):\n    return x\n\nstep(load(1, 2))\n\n"
)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (CACHED, True),
        (CACHED.replace("augment(i), jnp.asarray(i)", "len(i)"), False),
        (CACHED.replace("augment(i), jnp.asarray(i)", "jax.jit(augment)"), False),  # a program
        (CACHED.replace("def load(i, seed)", "def load()"), False),  # one result
    ],
)
def test_results_of_a_cached_function(code: str, told: bool) -> None:
    report = pipeline.explain(f"{HEAD}{code}{REFUSED.format(need=4000000, name='step')}")
    assert ("the cache of `load` keeps (line 11)" in report.verdict) is told
    assert ("take the cache off `load`" in report.actions[0].remedy.text) is told


def of_shape(shape: tuple[int, ...]) -> str | None:
    """What is said of a request whose array is known, though another function asked for it."""
    text = f"{HEAD}{LBFGS}{REFUSED.format(need=3840000000, name='broadcast_in_dim')}"
    case = pipeline.explain(text).case
    request = case.moments[0].request
    assert request
    failed = replace(request.failed, shape=shape)
    moment = replace(case.moments[0], request=replace(request, failed=failed))
    made = kept_by_settings(case, moment, 3840000000, of_shape=True)
    return made.what if made else None


def test_an_axis_as_long_as_the_history_tells_it() -> None:
    assert "lbfgs(memory_size=120)" in (of_shape((120, 200, 200, 200)) or "")
    assert of_shape((240, 100, 200, 200)) is None


BLOCKS = "".join(
    f"2026-01-01 00:00:0{each}.0: I bfc_allocator.cc:1040] InUse at 7f000{each}000000 of size 16777216 next"
    f" {each}\n"
    for each in range(3)
)


def test_nameless_blocks_beside_it_do_not_hide_the_program() -> None:
    """An allocator's dump lists nothing of a compiled program that found no room."""
    text = f"{HEAD}{SOLVED}{BLOCKS}{BEYOND.format(given=15616641124)}"
    report = pipeline.explain(text + REFUSED.format(need=8589934592, name="forecast"))
    assert "max_steps=16384" in report.verdict
    assert not report.case.moments[0].unlisted_buffer_bytes
