"""What loops of JAX and PyTorch/XLA make anew in each turn, and near misses that make it once."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

HEAD = "# {}\n\n```python\nimport jax\nimport jax.numpy as jnp\nfrom jax import lax\n\n"
GROWS = "The memory of my program grows with each step"
JIT = "for k in range(10):\n    f = jax.jit(jax.grad(loss))\n    f(x)\n"
OF_TURN = "for k in range(10):\n    f = jax.jit(lambda p: loss(p, k))\n    f(x)\n"
DECORATED = "for k in range(10):\n    @jax.jit\n    def f(x):\n        return x * k\n    f(x)\n"
SCAN = "while True:\n    c, _ = lax.scan(lambda c, z: (c + z, None), c, xs)\n"
IN_A_CALL = (
    "def roll(c):\n    def body(i, c):\n        return c + 1\n    return jax.lax.fori_loop(0, 5, body, c)\n"
    "\nfor k in range(10):\n    c = roll(c)\n"
)
LIVE = "for _ in range(5):\n    A = jnp.ones(1000)\n    bs = jax.live_arrays()\n    print(len(bs))\n"
LOADS = "for run in range(10):\n    model, params = FlaxModel.from_pretrained('x')\n"
LOADS_EACH = LOADS.replace("'x'", "names[run]")
LOADED_ONCE = "model, params = FlaxModel.from_pretrained('x')\nfor run in range(10):\n    model(x)\n"
PARTIAL = (
    "from functools import partial\nfor k in range(10):\n    fx = partial(body, p)\n"
    "    c, _ = lax.scan(fx, c, xs)\n"
)
OF_A_LIBRARY = "cost = qml.QNode(circuit, dev)\nfor k in range(10):\n    g = jax.grad(cost)(p)\n"
OF_A_LIBRARY_ONCE = (
    "cost = qml.QNode(circuit, dev)\nderive = jax.jit(jax.grad(cost))\n"
    "for k in range(10):\n    g = derive(p)\n"
)
HESSIAN = "f = jax.jit(loss)\nfor k in range(10):\n    h = jax.hessian(f)(x)\n"
HESSIAN_ONCE = "f = jax.jit(jax.hessian(loss))\nfor k in range(10):\n    h = f(x)\n"
OF_GRAD = "for k in range(10):\n    y = jax.lax.map(jax.grad(loss), xs)\n"
STATIC = (
    "@partial(jax.jit, static_argnames='n')\ndef f(x, n):\n    return x * n\n"
    "for k in range(9):\n    f(x, k)\n"
)
STATIC_BY_NAME = STATIC.replace("f(x, k)", "f(x, n=k + 1)")
DERIVED_STATIC = STATIC.replace("    f(x, k)", "    size = len(xs[k])\n    f(x, size)")
COUNTED_STATIC = STATIC.replace("for k in range(9):\n    f(x, k)", "while True:\n    m += 1\n    f(x, m)")
STATIC_SHAPE = STATIC.replace("    f(x, k)", "    m = xs[k].shape[0]\n    f(x, m)")
FIXED_STATIC = STATIC.replace("    f(x, k)", "    m = 5\n    f(x + k, m)")
SAME_STATIC = STATIC.replace("f(x, k)", "f(x + k, 3)")
TRACED_ONE = STATIC.replace(", static_argnames='n'", "")
ONCE = "f = jax.jit(jax.grad(loss))\nfor k in range(10):\n    f(x)\n"
TWICE = "for k in range(2):\n    f = jax.jit(jax.grad(loss))\n    f(x)\n"
REMEMBERED = (
    "for k in range(10):\n    if k not in made:\n        made[k] = jax.jit(jax.grad(loss))\n    made[k](x)\n"
)
TRACED = (
    "@jax.jit\ndef f(c):\n    for k in range(10):\n        c, _ = lax.scan(lambda c, z: (c, None), c, xs)\n"
    "    return c\n"
)
JITTED_LATER = IN_A_CALL.replace("\nfor", "roll = jax.jit(roll)\nfor")
NAMED = (
    "def body(c, z):\n    return c + z, None\n\nfor k in range(10):\n    c, _ = jax.lax.scan(body, c, xs)\n"
)
DELETED = LIVE + "    del bs\n"


def explained(code: str, says: str = GROWS) -> Report:
    return pipeline.explain(f"{HEAD.format(says)}{code}```\n")


@pytest.mark.parametrize(
    ("code", "said", "slugs"),
    [
        (
            JIT,
            "line 9 makes and compiles another function in each turn of the loop on line 8",
            "compile-once",
        ),
        (OF_TURN, "line 9 makes and compiles another function", "compile-once"),
        (DECORATED, "line 10 makes and compiles another function", "compile-once"),
        (SCAN, "line 9 gives `lax.scan` another function in each turn of the loop on line 8", "compile-once"),
        (IN_A_CALL, "line 11 gives `jax.lax.fori_loop` another function", "compile-once"),
        (PARTIAL, "line 11 gives `lax.scan` another function", "compile-once"),
        (OF_GRAD, "line 9 gives `jax.lax.map` another function", "compile-once"),
        (STATIC, "line 12 gives `f` another value of a static argument", "compile-once"),
        (STATIC_BY_NAME, "line 12 gives `f` another value of a static argument", "compile-once"),
        (DERIVED_STATIC, "line 13 gives `f` another value of a static argument", "compile-once"),
        (COUNTED_STATIC, "line 13 gives `f` another value of a static argument", "compile-once"),
        (LOADS, "line 9 reads weights in each turn of the loop on line 8", "make-once"),
        (LOADS_EACH, "line 9 reads weights in each turn", "own-process"),
        (OF_A_LIBRARY, "line 10 takes the derivative of a library's function", "compile-once"),
        (HESSIAN, "line 10 takes the second derivative of a jitted function", "compile-once"),
        (LIVE, "`bs` (line 10), which keeps all arrays that are alive", "keep-numbers"),
    ],
)
def test_what_each_turn_makes_is_named_with_its_line(code: str, said: str, slugs: str) -> None:
    report = explained(code)
    assert said in report.verdict
    assert report.actions[0].remedy.slug == slugs


@pytest.mark.parametrize(
    "code",
    [
        ONCE,
        TWICE,
        REMEMBERED,
        TRACED,
        JITTED_LATER,
        NAMED,
        DELETED,
        SAME_STATIC,
        STATIC_SHAPE,
        FIXED_STATIC,
        TRACED_ONE,
        OF_A_LIBRARY_ONCE,
        HESSIAN_ONCE,
        LOADED_ONCE,
    ],
)
def test_what_is_made_once_is_not_blamed(code: str) -> None:
    report = explained(code)
    assert (
        "another" not in report.verdict
        and "reads weights" not in report.verdict
        and "derivative" not in report.verdict
        and "keeps all arrays" not in report.verdict
    )
    assert all("make once" not in each.remedy.text for each in report.actions)


def test_the_users_own_line_is_moved_where_it_uses_nothing_of_the_loop() -> None:
    assert explained(JIT).actions[0].remedy.code == "f = jax.jit(jax.grad(loss))   # above the loop"
    changing = explained(OF_TURN).actions[0].remedy
    assert changing.code is None and changing.text.endswith("as an argument")


def test_a_loop_that_makes_nothing_leaves_the_library_to_blame() -> None:
    report = explained(ONCE, "Memory usage grows without bound with a jitted function")
    assert report.actions[0].remedy.slug == "newer-release"
    kept = explained(ONCE.replace("f(x)", "out.append(f(x))"), "Memory usage grows without bound")
    assert "newer-release" not in [each.remedy.slug for each in kept.actions]


def test_a_loader_of_each_epoch_goes_before_ends_of_steps() -> None:
    made = "    para_loader = pl.ParallelLoader(loader, [device])\n"
    loop = "for epoch in range(20):\n"
    using = (
        "    for x, y in para_loader.per_device_loader(d):\n        pass\n    print(getrusage(0).ru_maxrss)\n"
    )
    head = (
        "# Memory grows with each epoch\n\n```python\nimport torch_xla.distributed.parallel_loader as pl\n\n"
    )
    report = pipeline.explain(f"{head}{loop}{made}{using}```\n")
    assert "host RAM grows" in report.verdict and "line 7 makes another `ParallelLoader`" in report.verdict
    assert [each.remedy.slug for each in report.actions][:2] == ["make-once", "fewer-batches-ahead"]
    once = pipeline.explain(f"{head}{made.strip()}\n{loop}{using}```\n")
    assert "another `ParallelLoader`" not in once.verdict
