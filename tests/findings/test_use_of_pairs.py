"""A covariance that is factorised takes fewer rows, similarities that are ranked blocks of rows."""

from __future__ import annotations

import pytest

from tests.readers.test_tuned_kernels import tried
from tfmemlens import pipeline
from tfmemlens.findings.support.use_of_pairs import compares_samples, fewer_rows

PAIRS = ("f32[46000,46000]", "f32[46000,64]", "jit(matmul)/dot_general", "7.90GiB")
HEAD = "import jax\nimport jax.numpy as jnp\nrows = 46_000\nx = jnp.zeros((46_000, 64))\n"
FACTORISED = "factor = jax.scipy.linalg.cho_factor(k, lower=True)\n"
RANKED = "best = jax.lax.top_k(s, 10)\n"


def slugs(code: str) -> list[str]:
    report = pipeline.explain(f"{HEAD}{code}\n{tried(*PAIRS)}")
    return [each.remedy.slug for each in report.actions]


@pytest.mark.parametrize(
    ("code", "first", "never"),
    [
        (FACTORISED, "subsampling", "in-blocks"),
        ("covariance = kernel(x, x, scale)\n", "subsampling", "in-blocks"),
        (RANKED, "in-blocks", "subsampling"),
    ],
)
def test_what_the_pairs_go_into_decides(code: str, first: str, never: str) -> None:
    found = slugs(code)
    assert found[0] == first and never not in found


@pytest.mark.parametrize("code", ["", FACTORISED + RANKED, "cov = x.T @ x / rows\n"])
def test_where_the_use_is_open_blocks_come_first(code: str) -> None:
    assert slugs(code)[0] == "in-blocks"


@pytest.mark.parametrize(("rows", "few"), [(18_000, 3_000), (46_000, 7_000), (1_500, 750), (100_000, 16_000)])
def test_no_more_rows_are_drawn_than_there_are(rows: int, few: int) -> None:
    assert f"key, {rows}, ({few},)" in (fewer_rows(rows).code or "")


CONTRASTIVE = """\
BATCH = 28672
params = jnp.ones((384, 128))

def loss(w, x, y):
    zi = x @ w
    all_zt = jax.lax.all_gather(y @ w, "data", tiled=True)
    labels = jnp.arange(x.shape[0])
    return optax.softmax_cross_entropy_with_integer_labels(zi @ all_zt.T, labels).mean()

@jax.jit
@partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=P())
def train_step(w, x, y):
    return jax.value_and_grad(loss)(w, x, y)

x = jnp.ones((BATCH, 384))
value = train_step(params, x, x)
"""
ASKED = (
    "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate {} bytes."
    " [executable_name='jit_train_step']\n"
)


@pytest.mark.parametrize(
    ("code", "told"),
    [(CONTRASTIVE, True), (CONTRASTIVE.replace("BATCH = 28672", "BATCH = 512"), False)],
)
def test_all_samples_with_all_samples_are_found_within_shard_map(code: str, told: bool) -> None:
    report = pipeline.explain(
        "import jax\nimport jax.numpy as jnp\nimport optax\nfrom functools import partial\n"
        f"from jax.sharding import PartitionSpec as P\n\n{code}\n{ASKED.format(6782722816)}"
    )
    assert ("`zi @ all_zt.T` (line 14) makes [28672,28672]" in report.verdict) is told
    texts = [each.remedy.text for each in report.actions]
    assert any("half of them take a quarter" in text for text in texts) is told
    assert not any("keeps the effective batch" in text for text in texts)


def test_a_loss_over_words_has_parts_that_add_up() -> None:
    code = CONTRASTIVE.replace("labels = jnp.arange(x.shape[0])", "labels = ids")
    for text, told in ((CONTRASTIVE, True), (code, False)):
        case = pipeline.explain(f"{HEAD}{text}\n{ASKED.format(6782722816)}").case
        assert bool(compares_samples(case)) is told


UPDATED = """\
import jax
import jax.numpy as jnp

counts = jnp.zeros(70_001)

def visit(cell):
    return counts.at[{index}].set(1.0).max()

cells = jnp.arange(counts.size)
top = jax.vmap(visit)(cells)

XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 19600560004 bytes.
"""


def test_an_update_inside_vmap_copies_the_array_for_each_row() -> None:
    report = pipeline.explain(UPDATED.format(index="cell"))
    assert "`counts.at[cell].set(1.0)` (line 7) makes [70001,70001] float32" in report.verdict
    assert report.actions[0].remedy.slug == "update-once"
    outside = UPDATED.replace("jax.vmap(visit)(cells)", "visit(cells[0])").format(index="cell")
    assert all(each.remedy.slug != "update-once" for each in pipeline.explain(outside).actions)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("a linear regression", False),
        ("Kernel ridge regression", True),
        ("pairwise distances of my points", True),
        ("s = z @ z.T", True),
        ("mu = x @ w.T", False),
        ("from numpyro import distributions as dist", False),
    ],
)
def test_pairs_are_meant_where_words_or_code_say_so(said: str, meant: bool) -> None:
    text = f"jax: {said}, of 50021 rows.\n{ASKED.format(50021**2 * 4)}"
    slug = pipeline.explain(text).actions[0].remedy.slug
    assert (slug == "compare-shapes") is not meant


@pytest.mark.parametrize(
    ("update", "copied"),
    [
        ("at[7].set(1.0)", False),
        ("at[7].set(cell)", True),
        ("at[cell].set(1.0)", True),
        ("at[7].add(2)", False),
    ],
)
def test_an_update_that_is_the_same_for_all_rows_is_no_copy_of_each(update: str, copied: bool) -> None:
    report = pipeline.explain(UPDATED.replace("at[{index}].set(1.0)", update))
    assert any(each.remedy.slug == "update-once" for each in report.actions) is copied


@pytest.mark.parametrize(("update", "shown"), [("add(1.0)", True), ("set(1.0)", False)])
def test_only_updates_that_add_up_are_shown_as_one(update: str, shown: bool) -> None:
    report = pipeline.explain(UPDATED.replace("set(1.0)", update).format(index="cell"))
    assert (report.actions[0].remedy.code is not None) is shown
