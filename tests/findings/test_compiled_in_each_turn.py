"""What is compiled anew in each turn of a loop: programs that pile up."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

CUBIN = "RuntimeError: Internal: Failed to load in-memory CUBIN: CUDA_ERROR_OUT_OF_MEMORY: out of memory"


def read(text: str) -> Report:
    return pipeline.explain(f"Hello,\n{text}\n")


def slugs(text: str) -> list[str]:
    return [action.remedy.slug for action in read(text).actions]


def test_code_that_finds_no_room_late_is_of_programs_that_pile_up() -> None:
    text = f"My jax loop makes a model in each pass. It goes well for hundreds of passes.\n{CUBIN}"
    assert "compiled anew in each turn pile up" in read(text).verdict
    assert slugs(text)[:2] == ["compile-once", "start-anew"]
    assert "smaller-batch" not in slugs(text)


def test_code_that_finds_no_room_at_first_has_a_full_device() -> None:
    text = f"import jax\nx = jax.jit(f)(y)\nIt fails at once.\n{CUBIN}"
    assert "pile up" not in read(text).verdict
    assert slugs(text) == ["smaller-fraction", "see-device-users", "roll-loops"]


GROWS = "Memory keeps growing when I call it, in host RAM.\n"


@pytest.mark.parametrize(
    ("imports", "body", "anew"),
    [
        ("from jax.experimental.ode import odeint", "sol = odeint(f, y0, ts)", True),
        ("import diffrax", "sol = diffrax.diffeqsolve(diffrax.ODETerm(f), solver, 0, 1, 0.1, y0)", True),
        ("import jax", "res = jax.scipy.optimize.minimize(f, y0, method='BFGS')", True),
        ("import jax\nfrom scipy.integrate import odeint", "sol = odeint(f, y0, ts)", False),
        ("import jax", "sol = solve(f, y0, ts)", False),
    ],
)
def test_a_solver_that_gets_another_function_in_each_turn_compiles_it(
    imports: str, body: str, anew: bool
) -> None:
    text = f"{GROWS}```python\nimport jax.numpy as jnp\n{imports}\nwhile True:\n    f = lambda y, t: -y\n"
    text += f"    {body}\n```"
    assert ("another function in each turn" in read(text).verdict) is anew
    assert (slugs(text)[:1] == ["compile-once"]) is anew


def test_one_function_for_all_turns_is_compiled_once() -> None:
    text = (
        f"{GROWS}```python\nimport jax.numpy as jnp\nfrom jax.experimental.ode import odeint\n"
        "f = lambda y, t: -y\nwhile True:\n    sol = odeint(f, y0, ts)\n```"
    )
    assert "another function in each turn" not in read(text).verdict


@pytest.mark.parametrize(
    ("suspects", "told"),
    [
        ("I suspect JAX itself has a leak somewhere.", False),
        ("I suspect a memory leak.", False),
        ("I suspect the data loader.", True),
        ("I suspect a leak in my loader.", True),
    ],
)
def test_a_leak_that_is_suspected_names_no_part_that_could_be_left_out(suspects: str, told: bool) -> None:
    text = f"Memory of my jax training grows with each step, in host RAM.\n{suspects}"
    assert ("what-differs" in slugs(text)) is told
