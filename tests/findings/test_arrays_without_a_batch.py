"""Arrays of JAX that no smaller batch makes smaller: by the names of their sizes, or drawn before a vmap."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

GIB = 1 << 30
HEAD = "import jax\nimport jax.numpy as jnp\n\n"
OFFSETS = """\
SPAN, WIDTH, {batch} = 2048, 64, {rows}

def bias(q, table):
    place = jnp.arange(SPAN)
    near = table[place[:, None] - place[None, :] + SPAN - 1]
    return jnp.einsum("bqd,qkd->bqk", q, jnp.tanh(near))

def loss(table, q):
    return bias(q, table).sum()

@jax.jit
def step(table, q):
    return jax.grad(loss)(table, q)

step(jnp.zeros((2 * SPAN - 1, WIDTH)), jnp.zeros(({batch}, SPAN, WIDTH)))
"""
LISTED = """
jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 17.00G of 15.75G
hbm. Exceeded hbm capacity by 1.25G.
Total hbm usage >= 17.00G:
    reserved        530.00M
    program          16.47G
  Largest program allocations in hbm:
  1. Size: 1.00G
     Operator: op_name="jit(step)/jvp()/tanh"
     Shape: f32[{shape}]{{2,1,0:T(8,128)}}
     Unpadded size: 1.00G
     XLA label: %fusion.1
     Allocation type: HLO temp
     ==========================
"""


def slugs(report: Report) -> list[str | None]:
    return [action.remedy.slug for action in report.actions]


def listed(batch: str = "BATCH", rows: int = 2, shape: str = "2048,2048,64") -> Report:
    return pipeline.explain(HEAD + OFFSETS.format(batch=batch, rows=rows) + LISTED.format(shape=shape))


def test_no_smaller_batch_is_advised_for_an_array_without_one() -> None:
    told = listed()
    assert "smaller-batch" not in slugs(told)
    (parts,) = (action.remedy for action in told.actions if action.remedy.slug == "in-pieces")
    assert "jax.checkpoint" in parts.text and "2,048 (size 1 of 3, `SPAN`)" in parts.text
    assert parts.code and "jax.lax.map(jax.checkpoint(f), xs, batch_size=1000)" in parts.code


@pytest.mark.parametrize(
    ("batch", "rows", "shape"),
    [
        ("LANES", 2, "2048,2048,64"),  # the program names no batch
        ("BATCH", 64, "2048,2048,64"),  # the batch is one of its sizes
        ("BATCH", 2, "2,2048,2048"),  # of another array
    ],
)
def test_elsewhere_the_batch_may_help(batch: str, rows: int, shape: str) -> None:
    assert "smaller-batch" in slugs(listed(batch, rows, shape))


def asked(code: str) -> Report:
    message = "Out of memory while trying to allocate 5760000000 bytes."
    return pipeline.explain(f"{HEAD}{code}\njax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: {message}\n")


DRAWS = """\
@jax.jit
def generation(w, key):
    noise = {draw}
    crowd = w + 0.1 * noise
    scores = jax.vmap(lambda g: fly(g))({mapped})
    return scores @ noise

generation(w, key)
"""


@pytest.mark.parametrize("mapped", ["crowd", "noise"])
def test_numbers_that_are_drawn_before_a_vmap_exist_whole(mapped: str) -> None:
    draw = "jax.random.normal(key, (n, w.size))"
    told = asked(DRAWS.format(draw=draw, mapped=mapped))
    assert "line 6 draws numbers for all rows at once" in told.verdict
    assert "draw each row within the function" in told.actions[0].remedy.text


@pytest.mark.parametrize(
    ("draw", "mapped"),
    [
        ("jax.random.normal(key, (n, w.size))", "others"),  # it is not mapped
        ("jax.random.normal(key, w.shape)", "crowd"),
        ("jax.random.normal(key, (n,))", "crowd"),
        ("jax.random.split(key, n)", "crowd"),
        ("load(key, (n, w.size))", "crowd"),
    ],
)
def test_other_rows_are_mapped_as_before(draw: str, mapped: str) -> None:
    told = asked(DRAWS.format(draw=draw, mapped=mapped))
    assert "the vmap of line 8 runs its function for all rows at once" in told.verdict
