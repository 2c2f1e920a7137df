"""Host RAM that ran out while a program was compiled: it holds operations then, and no data yet."""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.situation import JAX, TORCH_XLA, framework_of
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line


def compiled_then(case: Case) -> Line | None:
    """Where the text says that it was compiling, or, of a program of XLA's, at a function's first call."""
    told = case.capture.surroundings
    first = told.shows("at its first call") if framework_of(case) in (JAX, TORCH_XLA) else None
    return told.shows("compiling in words") or first


def less_to_compile(case: Case) -> Iterator[Remedy]:
    """Fewer operations in one program."""
    if framework_of(case) == TORCH_XLA:
        yield Remedy(
            "compile less at once: end the graph more often, so that no program holds several steps",
            "xm.mark_step()   # torch_xla.sync() in newer versions",
            slug="mark-step",
        )
    elif framework_of(case) == JAX:
        yield Remedy(
            "let loops of Python within the function (over time steps, layers) be loops of XLA: else each"
            " turn is compiled, again for the gradient, and arrays of several turns may exist at once",
            "state, ys = jax.lax.scan(step, state, xs)   # for: for x in xs: state = step(state, x)",
            slug="roll-loops",
        )
        yield Remedy(
            "count what is compiled, with few steps and with many: if it grows with them, loops are unrolled",
            "print(str(jax.make_jaxpr(jax.grad(f))(x)).count('\\n'))",
            slug="count-operations",
        )
