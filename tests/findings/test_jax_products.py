"""What a followed JAX program makes a large matrix for: one-hot rows, pairs of parameters, gradients of each
sample, and loops that a gradient by a few numbers goes through.
"""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

HEAD = "import jax\nimport jax.numpy as jnp\nimport numpy as np\n\nkey = jax.random.PRNGKey(0)\n"
ASKED = "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating"
GRAPH = (
    "E, N = 90_000, 50_000\nids = jax.random.randint(key, (E,), 0, N)\nh = jnp.ones((N, 16))\n"
    "edges = jnp.ones((E, 16))\n@jax.jit\ndef step(h, edges):\n    route = {rows}\n    return {used}\n"
    "step(h, edges)\n"
)
ROUTE = 4 * 90_000 * 50_000
ONE_HOT, COMPARED = "jax.nn.one_hot(ids, N)", "(ids[:, None] == jnp.arange(N)).astype(jnp.float32)"
SUMMED, EINSUM, TAKEN = "route.T @ edges", "jnp.einsum('en,ed->nd', route, edges)", "route @ h"
SCORES = "(route * 2.0).max(1)"
SOLVED = (
    "from jax.flatten_util import ravel_pytree\nnet = {{'w': jnp.ones((40, 900)), 'v': jnp.ones(900)}}\n"
    "w, back = ravel_pytree(net)\nx = jnp.ones(({rows}, 40))\n"
    "def f(w, row):\n    p = back(w)\n    return jnp.tanh(row @ p['w']) @ p['v']\n"
    "@jax.jit\ndef step(w):\n    J = jax.vmap(jax.grad(f), in_axes=(None, 0))(w, x)\n"
    "    A = {product}\n    return jnp.linalg.solve(A + jnp.eye(w.size), J.T @ jnp.ones({rows}))\n"
    "step(w)\n"
)
PAIRS = 36_900**2 * 4
PRIVATE = (
    "BATCH = 320\nparams = {'a': jnp.zeros((900, 700)), 'b': jnp.zeros((700, 900))}\n"
    "def loss(p, x):\n    return jnp.tanh(x @ p['a'] @ p['b']).sum()\n"
    "@jax.jit\ndef step(p, xs):\n    def one(x):\n        g = jax.grad(loss)(p, x)\n"
    "        return jax.tree.map(lambda a: a * 0.5, g)\n"
    "    return jax.tree.map(lambda a: a.sum(0), jax.vmap(one)(xs))\n"
    "step(params, jnp.zeros((BATCH, 900)))\n"
)
ALL_GRADIENTS = 320 * 2 * 630_000 * 4
MEAN = PRIVATE.replace("def one(x):\n        g = jax.grad(loss)(p, x)\n", "def one(x):\n        g = p\n")
LOOP = (
    "PATHS, STEPS = 500_000, 800\ndef value(spot, vol):\n    def body(s, k):\n"
    "        return s * jnp.exp(vol * jax.random.normal(k, s.shape)), None\n"
    "    s, _ = jax.lax.scan(body, jnp.full((PATHS,), spot), jax.random.split(key, STEPS))\n"
    "    return s.mean()\n"
)
GREEKS = f"{LOOP}g = jax.jit(jax.grad(value, argnums=(0, 1)))(100.0, 0.2)\nprint(g)\n"
PRICED_FIRST = (
    f"{LOOP}print(jax.jit(value)(100.0, 0.2))\ng = jax.jit(jax.grad(value))(100.0, 0.2)\nprint(g)\n"
)
BY_MANY = f"{LOOP}g = jax.jit(jax.grad(value))(jnp.ones(500_000), 0.2)\nprint(g)\n"
BY_UNKNOWN = f"{LOOP}g = jax.jit(jax.grad(value))(load(), 0.2)\nprint(g)\n"
KEPT = 800 * 500_000 * 4 * 3 + 70_000


def explained(code: str, need: int) -> Report:
    return pipeline.explain(f"{HEAD}{code}\n{ASKED} {need} bytes.\n")


def advised(report: Report) -> list[tuple[str, str]]:
    return [(each.remedy.slug, each.remedy.code or "") for each in report.actions]


@pytest.mark.parametrize(
    ("rows", "used", "said", "code"),
    [
        (ONE_HOT, SUMMED, "only sums 90,000 rows into 50,000", "segment_sum(edges, ids, num_segments=N)"),
        (ONE_HOT, EINSUM, "only sums 90,000 rows into 50,000", "segment_sum(edges, ids, num_segments=N)"),
        (ONE_HOT, TAKEN, "only looks up 90,000 of 50,000 rows", "rows = h[ids]"),
        (COMPARED, SUMMED, "only sums 90,000 rows", "segment_sum(edges, ids, num_segments=N)"),
        ("jnp.eye(N)[ids]", TAKEN, "only looks up 90,000 of 50,000 rows", "rows = h[ids]"),
    ],
)
def test_a_one_hot_matrix_is_told_by_what_it_is_for(rows: str, used: str, said: str, code: str) -> None:
    report = explained(GRAPH.format(rows=rows, used=used), ROUTE + 1_000_000)
    assert said in report.verdict
    assert advised(report)[0][0] == "stay-sparse"
    assert code in advised(report)[0][1]


@pytest.mark.parametrize(
    ("rows", "used"),
    [(ONE_HOT, SCORES), ("jnp.ones((E, N)) * h[0, 0]", SUMMED), (ONE_HOT, "other.T @ edges")],
)
def test_another_matrix_or_use_is_none_of_these(rows: str, used: str) -> None:
    report = explained(GRAPH.format(rows=rows, used=used), ROUTE)
    assert "only sums" not in report.verdict and "only looks up" not in report.verdict


@pytest.mark.parametrize("product", ["J.T @ J", "jnp.dot(J.T, J)", "jnp.einsum('ni,nj->ij', J, J) / 64"])
def test_pairs_of_parameters_are_no_pairs_of_rows(product: str) -> None:
    for need in (PAIRS, 2 * PAIRS + 90_000):
        report = explained(SOLVED.format(rows=64, product=product), need)
        assert "a row and a column for each of 36,900 parameters" in report.verdict
        assert [slug for slug, _ in advised(report)][:2] == ["dual-form", "hessian-products"]
        assert "J @ J.T + lam * jnp.eye(64)" in advised(report)[0][1]


def test_of_nearly_as_many_rows_the_dual_form_is_no_smaller() -> None:
    report = explained(SOLVED.format(rows=20_000, product="J.T @ J"), PAIRS)
    assert "dual-form" not in [slug for slug, _ in advised(report)]


def test_a_kernel_of_rows_stays_one() -> None:
    code = "N = 36_900\nX = jnp.ones((N, 8))\nK = jnp.exp(X @ X.T)\nprint(K)\n"
    report = explained(code, PAIRS)
    assert "parameters" not in report.verdict
    assert "dual-form" not in [slug for slug, _ in advised(report)]


def test_a_function_of_ones_own_is_no_jacobian_of_jax() -> None:
    code = "def jacobian(x):\n    return jnp.tanh(x)\nprint(jacobian(load()))\n"
    assert "Jacobian" not in explained(code, PAIRS).verdict
    assert "Jacobian" in explained("print(jax.jacobian(f)(load()))\n", PAIRS).verdict


def test_gradients_of_each_sample_are_counted_together() -> None:
    report = explained(PRIVATE, ALL_GRADIENTS + 200_000_000)
    assert "for each of 320 samples (`BATCH`)" in report.verdict
    assert "320 x 1,260,000 float32" in report.verdict
    assert advised(report)[0][0] == "in-blocks"
    assert "recompute-body" not in [slug for slug, _ in advised(report)]


@pytest.mark.parametrize(("code", "need"), [(MEAN, ALL_GRADIENTS), (PRIVATE, 4 * ALL_GRADIENTS)])
def test_other_needs_are_no_gradients_of_each_sample(code: str, need: int) -> None:
    assert "for each of 320 samples (`BATCH`)" not in explained(code, need).verdict


@pytest.mark.parametrize(("code", "many"), [(GREEKS, "2 numbers"), (PRICED_FIRST, "one number")])
def test_a_gradient_by_a_few_numbers_goes_forward(code: str, many: str) -> None:
    report = explained(code, KEPT)
    first = report.actions[0].remedy
    assert first.slug == "forward-derivatives"
    assert f"is by {many} only" in first.text
    assert "jax.jacfwd(value)" in (first.code or "")


@pytest.mark.parametrize("code", [BY_MANY, BY_UNKNOWN])
def test_a_gradient_by_many_or_nobody_knows_how_many_goes_back(code: str) -> None:
    slugs = [slug for slug, _ in advised(explained(code, KEPT))]
    assert "forward-derivatives" not in slugs
    assert slugs[0] in ("in-blocks", "recompute-body")


HIDDEN = (
    "import pickle\nparams = pickle.load(open('p.pkl', 'rb'))\nd = np.load('d.npz')\n"
    "def client(x, y):\n    {body}\n    return loss, g\n"
    "def step(params, x, y):\n    return jax.vmap(client)(x, y)\n"
    "out = jax.jit(step)(params, d['x'], d['y'])\nprint(out)\n\n"
)
SAID = "model has 1,507,500 parameters; 500 clients\n"
SHARED = "loss, g = jax.value_and_grad(objective)(params, x, y)"


def test_a_mapped_function_that_grades_a_free_name_makes_gradients_of_each() -> None:
    report = explained(HIDDEN.format(body=SHARED) + SAID, 3_024_030_208)
    assert "gradients of all weights once for each example" in report.verdict
    assert "500 x 1,507,500 float32 are 2.81 GiB of the 2.82 GiB" in report.verdict
    assert advised(report)[0][0] == "in-blocks"


@pytest.mark.parametrize(
    "body",
    [
        "loss, g = jax.value_and_grad(objective)(x, params, y)",  # by the row itself
        "loss, g = jax.value_and_grad(objective, argnums=1)(params, x, y)",
        "params = 2.0 * x\n    loss, g = jax.value_and_grad(objective)(params, x, y)",
        "loss, g = objective(params, x, y), 0",
    ],
)
def test_gradients_by_what_each_row_has_are_none_of_the_weights(body: str) -> None:
    assert "gradients of all weights" not in explained(HIDDEN.format(body=body), 3_024_030_208).verdict


CACHE = (
    "L, B, T, H, D = 4, 32, 8192, 16, 64\ndef new_{name}():\n    return jnp.zeros((L, B, T, H, D))\n"
    "@jax.jit\ndef decode(c, q, i):\n    a = jax.nn.softmax(jnp.einsum('bhd,bthd->bht', q, c[i]))\n"
    "    return a, c.at[i].set(c[i] + 1.0)\nc = new_{name}()\nfor i in range(L):\n"
    "    a, c = decode(c, jnp.ones((B, H, D)), i)\n"
)


def test_a_cache_of_keys_takes_16_bits_and_fewer_texts() -> None:
    need = 4 * 32 * 8192 * 16 * 64 * 4
    slugs = [slug for slug, _ in advised(explained(CACHE.format(name="cache"), need))]
    assert slugs[:3] == ["donate-buffers", "narrow-array", "smaller-generation"]
    others = [slug for slug, _ in advised(explained(CACHE.format(name="field"), need))]
    assert "smaller-generation" not in others


STACKED = (
    "xs = jnp.ones((900, 64, 64, 64, 3))\n@jax.jit\ndef sample(x):\n"
    "    return jax.lax.scan(lambda c, t: (c * 0.5 + t, c), x, xs)\n"
    "_, history = sample(jnp.ones((64, 64, 64, 3)))\nprint(history)\n"
)
PINN = (
    "params = {{'w': jnp.ones((3, 512)), 'v': jnp.ones(512)}}\npts = jnp.ones((90_000, 3))\n"
    "def u(p, x):\n    return jnp.tanh(x @ p['w']) @ p['v']\n"
    "def residual(p, x):\n    return jnp.trace(jax.hessian(u, argnums=1)(p, x))\n"
    "def loss(p, pts):\n    return (jax.vmap(residual, in_axes=(None, 0))(p, pts) ** 2).mean()\n"
    "step = jax.jit({step}(loss))\nprint(step(params, pts))\n"
)


def test_without_a_gradient_no_advice_speaks_of_one() -> None:
    report = explained(STACKED, 900 * 64 * 64 * 64 * 3 * 4)
    assert not [each for each in report.actions if each.remedy.text.startswith("under a gradient")]
    graded = STACKED + "g = jax.grad(lambda x: sample(x)[0].sum())(jnp.ones((64, 64, 64, 3)))\n"
    report = explained(graded, 900 * 64 * 64 * 64 * 3 * 4)
    assert [each for each in report.actions if "checkpoint" in (each.remedy.code or "")]


@pytest.mark.parametrize(("step", "kept"), [("jax.value_and_grad", True), ("jax.checkpoint", False)])
def test_second_derivatives_of_points_under_a_gradient_are_computed_again(step: str, kept: bool) -> None:
    report = explained(PINN.format(step=step), 13_028_431_872)
    assert ("the gradient that is taken of it keeps" in report.verdict) is kept
    assert "so one row takes that" not in report.verdict  # a third of it is a third by chance


@pytest.mark.parametrize("line", ["36900 unknowns, 400 residuals", "n_params=36900", "parameters: 36,900"])
def test_a_printed_count_of_parameters_is_no_count_of_rows(line: str) -> None:
    for need in (PAIRS, 2 * PAIRS + 90_000):
        report = pipeline.explain(f"{line}\n{ASKED} {need} bytes.\n")
        assert "36,900 parameters" in report.verdict
        assert advised(report)[0][0] == "dual-form"


@pytest.mark.parametrize("line", ["36900 rows, 400 parameters", "n_samples=36900", "points: 36,900"])
def test_a_printed_count_of_rows_is_none_of_parameters(line: str) -> None:
    report = pipeline.explain(f"{line}\n{ASKED} {2 * PAIRS + 90_000} bytes.\n")
    assert "36,900 parameters" not in report.verdict


def test_a_grid_is_known() -> None:
    code = "@jax.jit\ndef f(p):\n    y, x = jnp.mgrid[:9000, 0:9001]\n    return y * p + x\nf(2.0)\n"
    assert "[9000,9001]" in explained(code, 9000 * 9001 * 4).verdict
