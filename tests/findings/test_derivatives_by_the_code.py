"""Derivatives of a quoted program: how many passes they take, by the shapes that the code states."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.knowledge.jax_arrays import arrays_of
from tfmemlens.model.finding import Finding
from tfmemlens.model.line import Line
from tfmemlens.readers.program import read_program

CODE = """
import numpy as onp
import jax, jax.numpy as np
x = {made}
def f(a):
    return {gives}
J = jax.{kind}(f{how})
print(J(x))
"""
SCALAR, LONG = "np.sum(a ** 2)", "np.ones((20000,)) * np.sum(a)"
MANY, FEW = "onp.random.rand(10000000)", "onp.random.RandomState(0).randn(20)"


def code(kind: str, made: str, gives: str, how: str = "") -> str:
    return CODE.format(kind=kind, made=made, gives=gives, how=how)


def first(text: str) -> Finding | None:
    return next(iter(pipeline.explain(text).findings), None)


def derived(text: str) -> list[tuple[str, int, int, bool]]:
    lines = tuple(Line(number, each) for number, each in enumerate(text.splitlines(), 1))
    return [
        (each.kind, each.given, each.by, each.second)
        for each in arrays_of(read_program(lines)).derived
        if each.kind != "grad"
    ]


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (code("jacfwd", MANY, SCALAR), [("jacfwd", 1, 10_000_000, False)]),
        (code("jacrev", FEW, LONG), [("jacrev", 20_000, 20, False)]),
        (code("hessian", FEW, SCALAR), [("hessian", 1, 20, True)]),
        (code("jacrev", "load()", LONG), []),  # nobody knows its size
        (code("jacrev", FEW, LONG, ", argnums=(0,)"), [("jacrev", 20_000, 20, False)]),
    ],
)
def test_sizes_of_derivatives(text: str, known: list[tuple[str, int, int, bool]]) -> None:
    assert derived(text) == known


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        (code("jacfwd", MANY, SCALAR), "backward-derivatives"),
        (code("jacrev", FEW, LONG), "forward-derivatives"),
        (code("jacfwd", FEW, LONG), "in-blocks"),  # the right way: nothing but fewer rows helps
        (code("jacrev", MANY, SCALAR), "in-blocks"),
        (code("hessian", MANY, SCALAR), "in-blocks"),
    ],
)
def test_the_other_way_is_the_shorter(text: str, slug: str) -> None:
    found = first(f"It runs out of memory.\n{text}")
    assert found is not None
    assert found.remedies[0].slug == slug


@pytest.mark.parametrize(
    ("words", "named"),
    [("Where does it need all this memory?", True), ("Is it fast?", False), ("I have 8 GB of RAM.", False)],
)
def test_counted_derivatives_explain_memory_that_is_said_to_be_much(words: str, named: bool) -> None:
    found = first(f"{words}\n{code('jacrev', FEW, LONG)}")
    assert (found is not None and "20,000 x 20,000" in found.headline) is named


def test_a_small_one_explains_nothing() -> None:
    small = code("jacrev", FEW, "np.ones((200,)) * np.sum(a)")
    found = first(f"Where does it need all this memory?\n{small}")
    assert found is None or "jacrev" not in found.headline


@pytest.mark.parametrize(("bytes_", "counted"), [(20_000_000_000, True), (20_000_000_004, False)])
def test_a_request_that_is_a_whole_number_of_rows(bytes_: int, counted: bool) -> None:
    error = f"RuntimeError: Resource exhausted: Out of memory while trying to allocate {bytes_} bytes.\n"
    found = first(code("hessian", "onp.random.rand(2000)", SCALAR) + error)
    assert found is not None
    assert ("2,000 x " in found.headline) is counted


TAPE = """
with tf.GradientTape() as g:
    matrix = generate(net(x))
jac = g.jacobian(matrix, net.trainable_variables{more})
"""


@pytest.mark.parametrize(
    ("words", "more", "named"),
    [
        ("It runs out of GPU memory.", "", True),
        ("It runs out of GPU memory.", ", experimental_use_pfor=False", False),
        ("It is slow.", "", False),
    ],
)
def test_a_jacobian_by_a_tape(words: str, more: str, named: bool) -> None:
    found = first(f"{words}\n{TAPE.format(more=more)}")
    assert (found is not None and "the Jacobian of line 5" in found.headline) is named


SCAN = """
import jax, jax.numpy as jnp
def f(x, ys):
    def body(c, y):
        return c + x * y, None
    return jax.lax.scan(body, 0., ys)[0]
print({call})
"""


@pytest.mark.parametrize(
    ("words", "call", "named"),
    [
        ("The gradient takes 908MB.", "jax.grad(f)(1.0, ys)", True),
        ("The gradient takes 908 steps.", "jax.grad(f)(1.0, ys)", False),
        ("It takes 908MB.", "f(1.0, ys)", False),
    ],
)
def test_a_figure_of_memory_beside_the_gradient_of_a_scan(words: str, call: str, named: bool) -> None:
    found = first(f"{words}\n{SCAN.format(call=call)}")
    assert (found is not None and "the gradient keeps what each step of the scan" in found.headline) is named


SQUARE = (
    'Traceback (most recent call last):\n  File "/home/u/bend.py", line 30, in bend\n    {}\n'
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating {} bytes.\n"
)


@pytest.mark.parametrize(
    ("line", "hessian"),
    [
        ("h = jax.hessian(loss)(flat)", True),
        ("self.bent = jax.jacfwd(jax.grad(loss))(flat) * n", True),
        ("h = jacrev(jacfwd(loss))(flat)", True),
        ("k = kernel(x, x)", False),
    ],
)
def test_a_square_of_all_parameters_is_no_kernel(line: str, hessian: bool) -> None:
    report = pipeline.explain(SQUARE.format(line, 310_000**2 * 4))
    rules = {each.rule for each in report.findings}
    assert ("every-row-with-every-row" in rules) is not hessian
    assert ("second-order-matrix" in rules) is hessian
    if hessian:
        slugs = [action.remedy.slug for action in report.actions]
        assert slugs[0] == "hessian-products" and not {"smaller-batch", "recompute"} & {*slugs}
