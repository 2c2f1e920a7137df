"""What a memory profile, or a program's own print of its arrays, says of a failure beside it."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

HEAD = "$ pprof -top memory.prof\nType: space\n      flat  flat%   sum%        cum   cum%\n"
FAILED = (
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
    " 1610612736 bytes.\n"
)
WEIGHTS = (
    "init_params /home/u/model.py",
    "init_fn /v/site-packages/optax/t.py",
    "zeros_like /v/lib/python3.11/o.py",
)
OTHERS = ("embed /home/u/model.py", "encode /home/u/model.py", "decode /home/u/model.py")


def top(*rows: tuple[str, str]) -> str:
    return HEAD + "".join(f"    {size} 25.49% 25.49%     {size} 25.49%  {name}\n" for size, name in rows)


def profile(sets: tuple[str, ...] = WEIGHTS, extra: str = "collect /home/u/evaluate.py") -> str:
    return top(*(("2.49GB", name) for name in sets), ("2.24GB", extra))


def slugs(report: Report) -> list[str]:
    return [action.remedy.slug for action in report.actions]


def test_a_profile_beside_a_failure_says_what_was_held() -> None:
    report = pipeline.explain(profile() + "\nthen the next step dies with\n" + FAILED)
    assert "3 sets of 2.49 GiB (most likely weights and Adam's two moments)" in report.verdict
    assert "2.24 GiB made in `collect`" in report.verdict
    assert slugs(report)[:2] == ["keep-numbers", "smaller-moments"]


def test_equal_sets_of_other_functions_are_no_optimizer_state() -> None:
    report = pipeline.explain(profile(OTHERS) + FAILED)
    assert "3 sets of 2.49 GiB of the same size" in report.verdict
    assert "smaller-moments" not in slugs(report)


@pytest.mark.parametrize("extra", ["wrapper /v/site-packages/jax/_src/api.py", "main"])
def test_a_library_function_is_not_told_as_the_programs_own(extra: str) -> None:
    assert "made in" not in pipeline.explain(profile(extra=extra) + FAILED).verdict


def test_a_profile_alone_with_nothing_alike_keeps_its_verdict() -> None:
    report = pipeline.explain(top(("2.49GB", WEIGHTS[0]), ("1.20GB", OTHERS[0])))
    assert report.verdict.startswith("Arrays on") and "sets of" not in report.verdict


def live(many: int, figure: int = 524288000, asked: int = 524288000) -> Report:
    return pipeline.explain(
        ">>> for a in jax.live_arrays(): print(a.shape, a.dtype, a.nbytes)\n"
        + many * f"(32000, 4096) float32 {figure}\n"
        + FAILED.replace("1610612736", str(asked))
    )


def test_arrays_of_two_states() -> None:
    report = live(6)
    assert "6 arrays of [32000,4096] are alive, 2.93 GiB together: as many as of 2 states" in report.verdict
    assert slugs(report)[0] == "drop-references"
    assert "states" not in live(4).verdict and "4 arrays of" in live(4).verdict


@pytest.mark.parametrize("report", [live(3), live(6, figure=524288001), live(4, asked=8 << 30)])
def test_arrays_that_explain_nothing(report: Report) -> None:
    assert "are alive" not in report.verdict


@pytest.mark.parametrize(
    ("shape", "fires"), [("(16, 4096)", True), ("(16, 600)", False), ("(4096)", False), ("12", False)]
)
def test_a_batch_longer_than_those_before(shape: str, fires: bool) -> None:
    steps = "".join(f"step {step} batch (16, 512) loss 3.{step}\n" for step in range(2))
    report = pipeline.explain(f"import jax\n{steps}step 2 batch {shape}\n{FAILED}")
    assert (f"this batch is {shape}" in report.verdict) is fires


def on_chip(space: str) -> Report:
    return pipeline.explain(
        "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory"
        f" in memory space {space}. Used 1.03M of 1.00M {space}. Exceeded {space} capacity by 31.2K.\n"
    )


def test_scalar_memory_is_no_memory_for_tiles() -> None:
    assert "holds scalars" in on_chip("smem").verdict
    assert "tables of indices" in on_chip("smem").actions[0].remedy.text
    assert "tiles that a kernel works on" in on_chip("vmem").verdict
    assert "kernel's blocks smaller" in on_chip("vmem").actions[0].remedy.text


def failing(said: str, line: str, need: int) -> Report:
    return pipeline.explain(
        f"{said}\nTraceback (most recent call last):\n"
        f'  File "/home/u/fit.py", line 9, in <module>\n    {line}\n'
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
        f" {need} bytes.\n"
    )


@pytest.mark.parametrize(
    ("line", "fires"),
    [
        ("snapshots.append(jax.tree.map(lambda p: p.copy(), state.params))", True),
        ("history.append(params)", True),
        ("history.append(jax.device_get(params))", False),
        ("history.append(eval_loss)", False),
        ("steps.append(state.step)", False),
    ],
)
def test_a_list_that_keeps_weights(line: str, fires: bool) -> None:
    report = failing("import jax", line, 64 << 20)
    assert ("keeps a whole set of weights" in report.verdict) is fires


STEP = "state, loss = train_step(state, batch)"


@pytest.mark.parametrize(
    ("name", "classes", "fires"),
    [("vocab_size", 151000, True), ("n", 151936, True), ("rows", 151000, False)],
)
def test_a_product_with_a_vocabulary_is_logits(name: str, classes: int, fires: bool) -> None:
    report = failing(f"{name}={classes}, batch_size=32, seq_len=1024", STEP, classes * 32 * 1024 * 4)
    assert (f"most likely logits over {classes:,} classes" in report.verdict) is fires
    assert ("part-of-positions" in slugs(report)) is fires


def test_what_leads_a_shape_counts_no_classes() -> None:
    report = failing("probes (49152, 3), particles=40000", STEP, 49152 * 3 * 40000 * 4)
    assert "logits" not in report.verdict and "49,152 x 3" in report.verdict


def test_waiting_batches_are_told_where_the_code_shows_them() -> None:
    said = "it = flax.jax_utils.prefetch_to_device(it, size=16)"
    assert "copied to the device ahead" in failing(said, "batch = next(it)", 768 << 20).verdict
    assert "ahead" not in failing("it = iter(loader)", "batch = next(it)", 768 << 20).verdict


PADDED = "tokens = tokenizer(texts, padding='max_length', max_length=8192, truncation=True)"


def test_padding_to_one_length_is_advised_against() -> None:
    assert slugs(failing(PADDED, STEP, 52 << 30))[0] == "shorter-sequences"
    assert "shorter-sequences" not in slugs(
        failing(PADDED.replace("'max_length'", "'longest'"), STEP, 52 << 30)
    )


def moving(loaded: str) -> Report:
    return pipeline.explain(
        f"import torch_xla\nmodel = AutoModelForCausalLM.from_pretrained('llama-13b'{loaded})\n"
        '  File "/v/site-packages/torch/nn/modules/module.py", line 1158, in convert\n'
        "    return t.to(device)\n"
        "RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to"
        " allocate 135.00M. That was not possible. There are 61.20M free.; (0x0x0_HBM0)\n"
    )


def test_weights_in_16_bits_are_not_advised_16_bits() -> None:
    wide, half = moving(""), moving(", torch_dtype=torch.bfloat16")
    assert "48.43 GiB in float32" in wide.verdict and "narrow-weights-of-torch" in slugs(wide)
    assert "24.21 GiB in bfloat16" in half.verdict and "narrow-weights-of-torch" not in slugs(half)


def constant(size: int) -> Report:
    return pipeline.explain(
        "import jax\njaxlib.xla_extension.XlaRuntimeError: INTERNAL: Failed to allocate"
        f" {size} bytes for new constant\n"
    )


def test_a_small_constant_finds_a_full_device() -> None:
    small, large = constant(30 << 20), constant(3 << 30)
    assert "only where the device is full already" in small.verdict
    assert "pass-as-argument" not in slugs(small) and "pass-as-argument" in slugs(large)


def pinned(allocator: str) -> Report:
    return pipeline.explain(
        "import jax\n2025-01-01 10:00:00.000000: W external/xla/xla/tsl/framework/bfc_allocator.cc:497]"
        f" Allocator ({allocator}) ran out of memory trying to allocate 4.00GiB (rounded to"
        " 4294967296)requested by op\n"
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
        " 4294967296 bytes.\n"
    )


def test_the_pool_of_pinned_memory_is_no_gpu_memory() -> None:
    assert "pinned host RAM" in pinned("xla_gpu_host_bfc").verdict
    assert slugs(pinned("xla_gpu_host_bfc"))[0] == "more-pinned-memory"
    assert "pinned" not in pinned("GPU_0_bfc").verdict
