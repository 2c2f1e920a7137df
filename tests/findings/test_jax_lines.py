"""What a failing line of JAX code makes, where the message has the size alone."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.findings.support.jax_lines import made_by
from tfmemlens.model.incident import Frame
from tfmemlens.model.report import Report

GIB = 1 << 30


@pytest.mark.parametrize(
    ("line", "need", "what"),
    [
        ("K = jnp.zeros((50000, 50000))", 50000**2 * 4, "zeros makes [50000,50000] float32"),
        ("K = jnp.full((50_000, 40_000), -1.0)", 50000 * 40000 * 8, "full makes [50000,40000] float64"),
        ("m = jnp.ones((4096, 4096, 64), jnp.bfloat16)", 4096**2 * 64 * 2, "[4096,4096,64] bfloat16 or"),
        ("x = jax.random.normal(key, (30000, 30000))", 30000**2 * 4, "normal makes [30000,30000] float32"),
        ("P = P - jnp.eye(40000)", 40000**2 * 4, "eye makes [40000,40000] float32"),
        ("y = jax.nn.one_hot(labels, 30000)", 80000 * 30000 * 4, "30,000 numbers for each of 80,000 labels"),
        (
            "y = jax.nn.one_hot(labels, num_classes=30000)",
            80000 * 30000 * 4 + 4,
            "30,000 numbers for each label",
        ),
        ("s = jnp.einsum('bqhd,bkhd->bhqk', q, k)", GIB, "every q with every k"),
        ('g = jnp.einsum("ni,nj->nij", a, b)', GIB, "every i with every j"),
        ("d = jnp.sum((x[:, None, :] - y[None, :, :]) ** 2, -1)", GIB, "pairs every row"),
        ("per_example = jax.vmap(jax.grad(f), in_axes=(None, 0))(w, xs)", GIB, "one gradient"),
        ("mcmc.run(jax.random.PRNGKey(0), X, y)", GIB, "MCMC keeps every draw"),
        ("opt_state = tx.init(params)", GIB, "the optimizer's state"),
        ("state = TrainState.create(apply_fn=f, params=p, tx=tx)", GIB, "the optimizer's state"),
        ("k = jnp.kron(a, b)", GIB, "repeats its operand"),
        ("x = jnp.asarray(frames, dtype=jnp.float32) / 255.", GIB, "copies one array to the device whole"),
    ],
)
def test_the_line_says_what_is_made(line: str, need: int, what: str) -> None:
    made = made_by(line, need)
    assert made and what in made.what
    assert made.remedies


@pytest.mark.parametrize(
    ("line", "need"),
    [
        (
            "K = jnp.zeros((50000, 50000))",
            50000**2 * 4 + 4,
        ),  # another array of the line, or a program's arena
        ("K = jnp.zeros((5000, 500))", 5000 * 500 * 4),  # small: the device is full
        ("x = x[:, None]", GIB),
        ("x = jnp.stack(parts)[:, None]", 1 << 20),
        ("y = jnp.einsum('ij,ij->i', a, b)", GIB),
        ("state, loss = train_step(state, x[:, None] - y[None])", GIB),
        ("print(loss)", GIB),
        (None, GIB),
        ("x = f(y)", None),
    ],
)
def test_near_misses(line: str | None, need: int | None) -> None:
    assert made_by(line, need) is None


def explained(line: str, need: int) -> Report:
    return pipeline.explain(
        f'Traceback (most recent call last):\n  File "/home/u/gp.py", line 12, in kernel\n    {line}\n'
        f"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating {need} bytes.\n"
    )


def test_the_page_names_the_shape_and_asks_for_no_operands() -> None:
    report = explained("K = jnp.zeros((50000, 50000))", 10_000_000_000)
    assert report.verdict.endswith("zeros makes [50000,50000] float32 in one piece.")
    assert report.actions[0].remedy.slug == "in-blocks"
    assert "in-pieces" not in [action.remedy.slug for action in report.actions]


def test_tensorflow_s_lines_are_not_read_as_jax_s() -> None:
    text = (
        'File "a.py", line 3, in f\n    d = x[:, None] - y[None]\nResourceExhaustedError: OOM when allocating'
    )
    report = pipeline.explain(f"{text} tensor with shape[9000,9000,8] and type float on /device:GPU:0\n")
    assert "failing-line-of-jax" not in [finding.rule for finding in report.findings]


LIB = "/env/lib/python3.11/site-packages"


def stack(*frames: tuple[str, str, str]) -> tuple[Frame, ...]:
    """Frames of (place, function, code)."""
    return tuple(Frame(place, text, name) for place, name, text in frames)


@pytest.mark.parametrize(
    ("frames", "what"),
    [
        (
            stack(
                ("net.py:9", "__init__", "self.up = nnx.Linear(2048, 8192, rngs=rngs)"),
                (f"{LIB}/flax/nnx/nn/linear.py:331", "__init__", "self.kernel = nnx.Param(...)"),
            ),
            "a weight of the model (2048 x 8192 in float32",
        ),
        (
            stack(
                ("net.py:9", "__call__", "x = nn.Dense(8192)(x)"),
                (f"{LIB}/flax/core/scope.py:960", "param", "value = init_fn(...)"),
            ),
            "a weight of the model",
        ),
        (stack(("net.py:9", "init_params", "w = jax.random.normal(key, (d, h))")), "a weight of the model"),
        (
            stack(
                ("train.py:30", "main", "optimizer = make_optimizer(net)"),
                ("opt.py:8", "make_optimizer", "return tx.init(weights)"),
                (f"{LIB}/optax/_src/transform.py:284", "init_fn", "mu = optax.tree.zeros_like(params)"),
            ),
            "the optimizer's state",
        ),
        (
            stack(
                ("train.py:30", "main", "updates, opt_state = tx.update(grads, opt_state, params)"),
                (f"{LIB}/optax/_src/transform.py:290", "update_fn", "nu = update_moment(...)"),
            ),
            "runs outside of jit",
        ),
        (
            stack(
                ("train.py:12", "<module>", "variables = model.init(jax.random.key(0), images)"),
                ("net.py:9", "__call__", "x = jnp.tanh(x)"),
            ),
            "init runs the model once",
        ),
        (stack(("train.py:12", "main", "state = jax_utils.replicate(state)")), "to every device"),
        (stack(("serve.py:3", "main", "params = load_checkpoint(path)")), "weights are being loaded"),
        (
            stack(
                ("fit.py:3", "main", "H = jax.hessian(loss)(theta)"),
                (f"{LIB}/jax/_src/api.py:867", "jacfun", "y, jac = vmap(pushfwd)(basis)"),
            ),
            "all rows of a Hessian are computed at once, and a matrix of 2,048 x 2,048",
        ),
        (
            stack(
                ("fit.py:3", "main", "states = inference_loop(key, kernel, state, 5000)"),
                ("fit.py:9", "inference_loop", "_, states = jax.lax.scan(one_step, state, keys)"),
            ),
            "state of every draw",
        ),
    ],
)
def test_the_traceback_says_what_is_made_whatever_its_size(frames: tuple[Frame, ...], what: str) -> None:
    text = next(frame.text for frame in reversed(frames) if "site-packages" not in frame.place)
    need = 2048 * (2048 if "Hessian" in what else 8192) * 4
    made = made_by(text, need, frames)
    assert made and what in made.what


@pytest.mark.parametrize(
    "frames",
    [
        stack(
            ("net.py:20", "__call__", "y = self.up(x)"),
            (f"{LIB}/flax/nnx/nn/linear.py:390", "__call__", "y = self.dot_general(inputs, kernel)"),
        ),
        stack(("train.py:30", "main", "params, opt_state, loss = update(params, opt_state, x)")),
        stack(("sample.py:4", "draw", "z = jax.random.normal(key, shape)")),
        stack(("net.py:4", "init_cache", "x = f(y)")),
        stack(("net.py:4", "__init__", "self.conv = nn.Conv(128, (3, 3))")),
    ],
)
def test_frames_that_make_nothing_that_lasts(frames: tuple[Frame, ...]) -> None:
    assert made_by(frames[0].text, 1 << 20, frames) is None


def test_a_weight_is_no_batch_and_no_program() -> None:
    report = pipeline.explain(
        'Traceback (most recent call last):\n  File "/home/u/net.py", line 61, in __init__\n'
        "    self.gate = nnx.Linear(4096, 14336, rngs=rngs)\n"
        f'  File "{LIB}/flax/nnx/nn/linear.py", line 331, in __init__\n'
        "    self.kernel = nnx.Param(kernel_init(key, shape))\n"
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
        f" {4096 * 14336 * 4} bytes.\n"
    )
    assert "a weight [4096,14336] float32 of `nnx.Linear(4096, 14336, rngs=rngs)`" in report.verdict
    code = {action.remedy.slug: action.remedy.code or "" for action in report.actions}
    assert "smaller-batch" not in code
    assert "param_dtype" in code["narrow-weights"]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("return jnp.asarray(np.concatenate(xs)), jnp.asarray(np.concatenate(ys))", "copies one array"),
        ("images = jnp.array(np.load('x.npy'))", "copies one array"),
        ("params = jax.device_put(params)", "copies weights"),
        ("batch = jax.device_put(batch)", "copies a batch"),
        ("ll = log_likelihood(model, posterior, X, y)", "all posterior draws"),
        ("u, s, vt = jnp.linalg.svd(a)", "singular vectors"),
        ("_, hs = jax.lax.scan(step, h0, xs)", "scan stacks"),
        ("K = jax.vmap(lambda a: jax.vmap(lambda b: k(a, b))(Y))(X)", "every pair of rows (16,384 x 16,384"),
        ("K = X @ X.T", "a number for each pair of rows: 16,384 x 16,384"),
        ("buf = buf.at[i].set(x)", "copies the whole array"),
        ("m = h[senders]", "gathered for every index"),
        ("A = adj.todense()", "every zero"),
        ("x = nn.Conv(128, (3, 3))(x)", "whole output"),
        ("for x in prefetch_to_device(batches, 8):", "wait there"),
        ("return jax.tree.map(jnp.zeros_like, params)", "the optimizer's state"),
    ],
)
def test_calls_that_run_by_themselves(line: str, what: str) -> None:
    made = made_by(line, GIB)
    assert made and what in made.what


@pytest.mark.parametrize(
    "line",
    [
        "y = X @ W",
        "logits = forward(params, x)",
        "x = jnp.array(f(train))",
        "y = jnp.asarray(a) @ jnp.asarray(b)",
    ],
)
def test_calls_that_may_make_anything(line: str) -> None:
    assert made_by(line, GIB + 4) is None


def test_a_line_that_only_waits_is_not_blamed() -> None:
    report = pipeline.explain(
        'Traceback (most recent call last):\n  File "/home/u/attn.py", line 8, in <module>\n'
        "    print(y.sum())\njax.errors.JaxRuntimeError: INTERNAL: Error dispatching computation: Out of"
        " memory allocating 68719476736 bytes.\n"
    )
    assert "an earlier call asked for 64.00 GiB" in report.verdict
    assert report.actions[0].remedy.slug == "wait-for-each-call"
    assert "check-the-device" not in [action.remedy.slug for action in report.actions]


def test_the_deepest_cell_of_a_notebook_is_the_user_s_line() -> None:
    report = pipeline.explain(
        "Cell In[21], line 4\n      3 x = load()\n----> 4 acc = accuracy(params, x)\n\n"
        "Cell In[12], line 3, in accuracy(params, x)\n      2     # all\n"
        "----> 3     y = forward(params, x)\n\n"
        "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 20480000000 bytes.\n"
    )
    assert report.case.capture.incidents[0].request.source == "In[12]:3"


def test_a_list_that_keeps_results_is_named_where_the_device_is_full() -> None:
    report = pipeline.explain(
        'Traceback (most recent call last):\n  File "/home/u/ppo.py", line 20, in <module>\n'
        "    state, metrics = update_step(state)\n"
        "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2097152 bytes.\n"
        " 21     all_metrics.append(metrics)\n"
    )
    assert "`all_metrics`" in report.actions[0].remedy.text
