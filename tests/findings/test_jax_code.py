"""Rows of the table of JAX idioms: each fits its own lines, and not those that look alike."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.findings.support.applicability import TABLE as REMEDIES
from tfmemlens.findings.support.jax_code import TABLE, JaxIdiom, Where, shown_by
from tfmemlens.findings.support.jax_lines import made_by
from tfmemlens.model.incident import Frame
from tfmemlens.model.line import Line
from tfmemlens.model.report import Report

GIB = 1 << 30
LIB = "/env/lib/python3.11/site-packages"


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.slug)
def test_a_row_fits_its_examples_and_not_its_near_misses(row: JaxIdiom) -> None:
    assert row.examples and row.near
    for line in row.examples:
        match = row.in_line(line)
        assert match, line
        what, remedies = row.told(match)
        assert "{" not in what, "every group that the words name is in the pattern"
        assert remedies and all(remedy.slug in REMEDIES for remedy in remedies)
    for line in row.near:
        assert row.in_line(line) is None, line


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.slug)
def test_an_example_is_explained_by_its_own_row(row: JaxIdiom) -> None:
    """No row before it takes the line."""
    for line in row.examples:
        beside = ("MCMC(kernel, chain_method='vectorized')", "g = jax.grad(loss)(params)")
        code = [Line(1, text) for text in beside] if row.beside else []
        shown = next(shown_by((), line, code, GIB), None)
        assert shown and shown[0] is row, line


@pytest.mark.parametrize(
    ("place", "function", "slug"),
    [
        (f"{LIB}/flashbax/buffers/trajectory_buffer.py:145", "init", "replay-buffer"),
        (f"{LIB}/transformers/models/llama/modeling_flax_llama.py:465", "init_cache", "cache-of-keys"),
        (f"{LIB}/numpyro/util.py:413", "fori_collect", "mcmc-draws"),
    ],
)
def test_a_library_s_frame_shows_it(place: str, function: str, slug: str) -> None:
    frames = (Frame("run.py:3", "out = go(x)", "main"), Frame(place, "x = f(y)", function))
    assert next(shown_by(frames, "out = go(x)", (), GIB))[0].slug == slug


def test_the_failing_line_is_asked_before_quoted_code() -> None:
    code = (Line(3, "states = jax.vmap(create_state)(jax.random.split(key, 64))"),)
    assert next(shown_by((), "x = jnp.concatenate([a, b])", code, GIB))[0].slug == "joined"
    row, match, line = next(shown_by((), "x = f(y)", code, GIB))
    assert (row.slug, line) == ("ensemble", code[0])
    assert row.told(match)[0].startswith("all 64 members")


def test_a_row_of_the_failing_line_alone_is_not_read_in_quoted_code() -> None:
    row = next(row for row in TABLE if row.slug == "joined")
    assert row.where is Where.LINE
    assert not list(shown_by((), "x = f(y)", (Line(1, row.examples[0]),), GIB))


def test_a_small_request_is_explained_by_what_is_made_of_many_arrays_alone() -> None:
    assert made_by("y = jax.vmap(f)(xs)", 1 << 20) is None
    made = made_by("ema = jax.tree.map(jnp.copy, params)", 1 << 20)
    assert made and "second copy of all weights" in made.what
    assert made.remedies[0].code and made.remedies[0].code.startswith("ema = ")


def explained(line: str, need: int, beside: str = "") -> Report:
    return pipeline.explain(
        f'Traceback (most recent call last):\n  File "/home/u/run.py", line 12, in main\n    {line}\n'
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
        f" {need} bytes.\n\n{beside}\n"
    )


def test_sizes_that_the_text_states_are_named() -> None:
    beside = "capacity: 1_000_000\nobs (84, 84, 4)"
    need = 1_000_000 * 84 * 84 * 4 * 4
    report = explained("state = buffer.init(first)", need, beside)
    assert "1,000,000 (`capacity`) x 84 x 84 x 4 (`obs`) in float32" in report.verdict
    assert report.actions[0].remedy.slug == "narrow-copy"
    assert report.actions[0].remedy.saves_bytes == 1_000_000 * 84 * 84 * 4 * 3


def test_a_line_that_tells_nothing_is_explained_by_sizes_alone() -> None:
    report = explained("k = kernel(x, x)", 45_000**2 * 4, "n = 45_000")
    assert "to the byte it is 45,000 x 45,000 in float32" in report.verdict
    near = explained("k = kernel(x, x)", 45_000**2 * 4 + 4, "n = 45_000")
    assert "but for a thousandth it is 45,000 x 45,000" in near.verdict
    other = explained("k = kernel(x, x)", 45_000**2 * 5, "n = 45_000")
    assert "45,000" not in other.verdict


def test_quoted_code_is_no_more_than_most_likely_the_cause() -> None:
    code = "states = jax.vmap(create_state)(jax.random.split(key, 48))"
    report = explained("out = run_all(states, x)", 39 * GIB, code)
    assert "most likely all 48 members of an ensemble" in report.verdict
    assert report.findings[0].evidence[0].line and report.findings[0].evidence[0].line.text == code


def stack(*frames: tuple[str, str, str]) -> tuple[Frame, ...]:
    """Frames of (place, function, code)."""
    return tuple(Frame(place, text, name) for place, name, text in frames)


LAYER = (f"{LIB}/flax/nnx/nn/linear.py:904", "__call__", "y = self.conv_general_dilated(x, kernel)")


@pytest.mark.parametrize(
    ("frames", "need", "what"),
    [
        (stack(("run.py:9", "<module>", "y = net(images)"), LAYER), GIB, "the model runs op by op"),
        (
            stack(("run.py:9", "<module>", "g = jax.grad(loss)(w, x)"), LAYER),
            GIB,
            "the gradient keeps those of all layers",
        ),
        (
            stack(
                ("run.py:9", "<module>", "x = keras.layers.Dense(1024)(x)"),
                (f"{LIB}/jax/_src/random/core.py:508", "uniform", "return _uniform(key)"),
            ),
            GIB,
            "a weight of the model",
        ),
        (
            stack(("run.py:9", "<module>", "params = jax.random.normal(jax.random.key(0), (65536, 4096))")),
            GIB,
            "a weight of the model (65536 x 4096 in float32",
        ),
        (
            stack(
                ("run.py:9", "<module>", "vals = jax.vmap(score, in_axes=(0, None))(a, b)"),
                ("run.py:3", "score", "return jnp.exp(a - b)"),
            ),
            GIB,
            "vmap runs the function for all rows",
        ),
        (stack(("run.py:9", "f", "d = jnp.exp(-(k @ k.T))")), 30_000**2 * 8, "30,000 x 30,000 in float64"),
    ],
)
def test_frames_show_what_is_made(frames: tuple[Frame, ...], need: int, what: str) -> None:
    made = made_by([frame for frame in frames if "site-packages" not in frame.place][-1].text, need, frames)
    assert made and what in made.what


@pytest.mark.parametrize(
    ("frames", "need"),
    [
        (stack(("run.py:9", "<module>", "y = net(images)"), LAYER), 1 << 20),  # the device is full
        (
            stack(("run.py:9", "<module>", "x = keras.layers.Dense(1024)(x)")),
            GIB,
        ),  # a call may be a forward pass
        (
            stack(("run.py:3", "loss", "return (x @ w).sum()")),
            65536**2 * 4,
        ),  # a power of two is many products
    ],
)
def test_frames_that_show_nothing(frames: tuple[Frame, ...], need: int) -> None:
    assert made_by(frames[0].text, need, frames) is None


def test_one_weight_of_many_gigabytes_is_rather_a_mistake() -> None:
    made = made_by("w = self.param('w', init, (n, m))", 48 * GIB)
    assert made and made.remedies[0].slug == "smaller-model"
    usual = made_by("w = self.param('w', init, (n, m))", GIB)
    assert usual and usual.remedies[0].slug == "narrow-weights"


LOOP = """
@jax.jit
def rollout(controls):
    s = s0
    for t in range(500):
        s = sim(s, controls[t])
    return s.sum()
"""


def test_a_python_loop_within_a_compiled_function_is_unrolled() -> None:
    report = explained("loss, g = value_and_grad(controls)", 31 * GIB, LOOP)
    assert "the Python loop of `rollout` (line 10): its 500 iterations are unrolled" in report.verdict
    assert report.actions[0].remedy.slug == "recompute-body"
    for other in (
        LOOP.replace("@jax.jit", ""),
        LOOP.replace("500", "12"),
        LOOP.replace("range(500)", "loader"),
    ):
        assert "unrolled" not in explained("loss, g = value_and_grad(controls)", 31 * GIB, other).verdict


@pytest.mark.parametrize(
    ("function", "line", "phase"),
    [
        ("render_image", "return model.apply(params, rays)", "prediction"),
        ("evaluate", "logits = apply(params, x)", "evaluation"),
        ("main", "out = eval_step(state, batch)", "evaluation"),
        ("train", "metrics = evaluate_all(state)", "evaluation"),
        ("train", "state = apply(state, batch)", None),
        ("train_step", "x = model.apply(params, generate(key))", None),
        ("main", "value = ast.literal_eval(text)", None),
    ],
)
def test_the_user_s_functions_say_what_ran(function: str, line: str, phase: str | None) -> None:
    report = pipeline.explain(
        f'Traceback (most recent call last):\n  File "/home/u/run.py", line 12, in {function}\n    {line}\n'
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying"
        f" to allocate {9 * GIB + 12} bytes.\n"
    )
    named = [finding.headline for finding in report.findings if finding.rule == "failed-in-evaluation"]
    assert named == ([f"it failed in {phase}, not in a training step"] if phase else [])
    if phase:
        assert "8 parts need 1.13 GiB each" in report.actions[0].remedy.text
        assert not {"donate-buffers", "recompute"} & {action.remedy.slug for action in report.actions}


STEP = "state, loss = train_step(state, batch)"


@pytest.mark.parametrize(
    "beside",
    [
        "fine-tuning a 1.3B params model",
        "gpt_1.3b, adamw",
        "Total params: 1,300,000,000",
        "1.3 billion weights",
    ],
)
def test_weights_that_the_text_counts_explain_a_step(beside: str) -> None:
    report = explained(STEP, GIB, beside)
    assert "4.84 GiB in float32; to train all of them with Adam takes 19.37 GiB" in report.verdict
    assert report.actions[0].remedy.slug == "low-rank-tuning"


@pytest.mark.parametrize(
    "beside",
    [
        "fine-tuning a 1.3B params model with LoRA",
        "a 120M params model",  # its training needs 2 GiB
        "1.3B rows",
        "sharding = NamedSharding(mesh, P('data'))\na 1.3B params model",
    ],
)
def test_weights_that_explain_no_step(beside: str) -> None:
    assert "to train all of them" not in explained(STEP, GIB, beside).verdict


def test_weights_that_are_made_are_told_with_those_of_the_whole_model() -> None:
    report = explained("opt_state = tx.init(params)", 200 << 20, "a 7B model")
    assert "the optimizer's state" in report.verdict and "26.08 GiB in float32" in report.verdict


def test_a_longer_batch_is_told_by_what_jax_logs_of_compilations() -> None:
    shapes = [(32, 217, 80), (32, 431, 80), (32, 298, 80), (32, 2871, 80)]
    logged = [
        f"Compiling jit(step) with global shapes and types (ShapedArray(f32[80,4]),"
        f" ShapedArray(f32{list(x)}))."
        for x in shapes
    ]
    lines = "\n".join(logged).replace(", ", ",")
    report = pipeline.explain(
        f"{lines}\njaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying"
        f" to allocate"
        f" {17 * GIB} bytes.\n"
    )
    assert "this batch is (32, 2871, 80), and none of the 3 before was above (32, 431, 80)" in report.verdict


def test_a_fisher_matrix_may_be_kept_as_its_diagonal() -> None:
    made = made_by("return (g.T @ g) / len(g)", 70_000**2 * 4)
    assert made and made.remedies[0].slug == "diagonal-guide"
    other = made_by("return x @ y", 70_000**2 * 4)
    assert other and other.remedies[0].slug == "in-blocks"


def test_a_module_that_pytorch_xla_moves_is_weights_and_ends_no_step() -> None:
    report = pipeline.explain(
        'Traceback (most recent call last):\n  File "/home/u/tune.py", line 31, in <module>\n'
        '    model = Model.from_pretrained("llama-3-8b").to(xm.xla_device())\n'
        '  File "/env/site-packages/torch/nn/modules/module.py", line 1160, in convert\n    return t.to(\n'
        "RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to"
        " allocate 224.00M. That was not possible. There are 112.30M free.; (0x0x0_HBM0)\n"
    )
    assert "the module's weights are being moved to the device (about 8 billion weights" in report.verdict
    assert [action.remedy.slug for action in report.actions] == ["narrow-weights-of-torch", "shard-arguments"]


def test_a_loss_of_all_pairs_is_computed_for_blocks() -> None:
    buffers = "".join(
        f'  {at}. Size: 16.00G\n     Operator: op_name="pmap(step)/jit(main)/jvp()/{op}"\n'
        f"     Shape: f32[65536,65536]{{1,0:T(8,128)}}\n     Unpadded size: 16.00G\n"
        "     ==========================\n\n"
        for at, op in enumerate(("dot_general", "exp"), 1)
    )
    report = pipeline.explain(
        "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used"
        " 49.61G of"
        f" 15.75G hbm. Exceeded hbm capacity by 33.86G.\n\n  Largest program allocations in hbm:\n\n{buffers}"
    )
    assert "a value for every pair of 65,536 x 65,536 rows" in report.verdict
    assert report.actions[0].remedy.code and "jax.checkpoint" in report.actions[0].remedy.code


def test_arrays_that_were_donated_in_vain_are_told() -> None:
    warning = (
        "mlir.py:1184: UserWarning: Some donated buffers were not usable: ShapedArray(float32[50304,4096])."
    )
    report = explained(STEP, 24 * GIB, warning)
    assert "donated arrays (float32[50304,4096] and others) were not usable" in report.verdict
    assert report.actions[0].remedy.slug == "donatable-results"
    assert "donated" not in explained(STEP, 24 * GIB).verdict


def test_readings_that_quoted_code_prints_as_in_use_are_growth() -> None:
    readings = "\n".join(f"step {1000 * at} | in_use {2 + 3 * at}.1 GiB" for at in range(1, 5))
    report = explained("state = update(state, batch)", 3 * GIB, f"{readings}\nckpts.append((val, state))")
    assert "rose from 5.10 GiB to 14.10 GiB" in report.verdict and "`ckpts`" in report.verdict


def test_a_layer_of_all_pairs_is_told_by_its_line() -> None:
    frames = stack(
        ("joint.py:30", "__call__", "logits = self.out(jnp.tanh(enc[:, :, None, :] + pred[:, None, :, :]))"),
        LAYER,
    )
    made = made_by(frames[0].text, 6 * GIB, frames)
    assert made and "pairs every row" in made.what


def test_what_a_scan_stacks_is_no_data_that_could_be_narrower() -> None:
    line = "x, traj = jax.lax.scan(step, x_T, jnp.arange(1000))"
    report = explained(line, 1000 * 64 * 200 * 200 * 3 * 4, "x_T: (64, 200, 200, 3)")
    assert "1,000 x 64 x 200 x 200 x 3 (`x_T`)" in report.verdict
    assert "narrow-copy" not in [action.remedy.slug for action in report.actions]


def test_dispatch_of_a_mixture_of_experts() -> None:
    buffers = "".join(
        f"\tBuffer {at}:\n\t\tSize: 8.00GiB\n\t\tOperator:"
        f' op_name="jit(step)/jit(main)/jvp(MoE)/router/{op}"\n'
        "\t\tShape: f32[16384,64,2048]\n\t\t==========================\n\n"
        for at, op in enumerate(("one_hot", "mul"), 1)
    )
    report = pipeline.explain(
        "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
        " 36507222016 bytes.\n"
        f"BufferAssignment OOM Debugging.\nPeak buffers:\n{buffers}"
    )
    assert "a mixture of experts" in report.verdict
    assert report.actions[0].remedy.slug == "sorted-tokens"


def test_listed_buffers_tell_more_than_lines_above_the_failing_one() -> None:
    frames = stack(
        ("run.py:9", "<module>", "x, ys = jax.lax.scan(body, x, None, 1000)"),
        ("run.py:3", "body", "y = f(x)"),
    )
    assert made_by("y = f(x)", GIB, frames)
    assert made_by("y = f(x)", GIB, frames, way=False) is None
    assert made_by(frames[0].text, GIB, frames[:1], way=False)


def test_a_program_s_constants_are_no_request_of_the_same_size() -> None:
    size = 40_000 * 128 * 128 * 3 * 4
    account = (
        f"BufferAssignment stats:\n  constant allocation: {size / GIB:.2f}GiB\n  total allocation: 7.9GiB\n"
    )
    report = pipeline.explain(
        f"jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate {size}"
        f" bytes.\n"
        f"{account}X_train (40000, 128, 128, 3)\n"
    )
    assert report.actions[0].remedy.slug == "pass-as-argument"


def test_weights_do_not_explain_what_found_a_device_full() -> None:
    report = pipeline.explain(
        f'File "run.py", line 3, in <module>\n    {STEP}\n'
        "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Error"
        " loading program 'jit_train_step': Attempting to reserve 11.35G at the bottom of memory. That"
        " was not"
        " possible. There are 6.94G free, 0B reserved, and 6.94G reservable.\n\ngemma-2b\n"
    )
    assert "only about 6.94 GiB was free" in report.verdict


def test_what_shares_a_gpu_explains_nothing_on_a_tpu() -> None:
    code = (Line(1, 'net = Net.from_pretrained(name, device_map="auto")'),)
    on_gpu, on_tpu = (list(shown_by((), "", code, GIB, on_tpu=on_tpu)) for on_tpu in (False, True))
    assert [row.slug for row, _, _ in on_gpu] == ["pytorch-beside"] and not on_tpu
