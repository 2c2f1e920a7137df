"""Which arguments of the user's own step can be donated."""

from __future__ import annotations

import pytest

from tfmemlens.findings.support.program_account import donating
from tfmemlens.model.line import Line
from tfmemlens.readers.program import read_program

CASES = {
    "pmap": (
        "p_step = jax.pmap(step, axis_name='batch')\nfor x in ds:\n    state, loss = p_step(state, x)",
        "p_step = jax.pmap(step, axis_name='batch', donate_argnums=(0,))",
    ),
    "a decorator": (
        "@jax.jit\ndef step(w, x, opt):\n    return w, opt\nw, opt = step(w, x, opt)",
        "@functools.partial(jax.jit, donate_argnums=(0, 2))   # above def step",
    ),
    "donated already": ("f = jax.jit(g, donate_argnums=(0,))\ns = f(s, x)", None),
    "nothing comes back": ("f = jax.jit(g)\nloss = f(s, x)", None),
    "no code": ("It fails, why?", None),
}


@pytest.mark.parametrize(("code", "wanted"), CASES.values(), ids=CASES)
def test_what_the_calls_replace_is_donated(code: str, wanted: str | None):
    lines = tuple(Line(number, text) for number, text in enumerate(code.splitlines(), 1))
    assert donating(read_program(lines)) == wanted
