"""What the words and the code around a failure say of the program: proteins, pmap within jit, states that are
made, draws, vmap; and what of a traceback shows that a function is compiled.
"""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.findings.support.jax_stack import calls_compiled
from tfmemlens.model.finding import Remedy
from tfmemlens.model.incident import Frame
from tfmemlens.model.report import Report

ASKED = "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
AT = "2025-03-02 10:00:00.000001: "


def explained(text: str) -> Report:
    return pipeline.explain(text)


def remedies(text: str) -> dict[str, Remedy]:
    return {action.remedy.slug: action.remedy for action in explained(text).actions}


def test_a_protein_has_no_batch() -> None:
    text = f"Running colabfold 1.5 on 700 aa\n  out = runner.predict(features)\n{ASKED} 8589934592 bytes.\n"
    assert "predicts a protein's structure" in explained(text).verdict
    assert list(remedies(text))[:2] == ["shorter-sequences", "unified-memory"]
    assert not {"smaller-batch", "smaller-prediction-batch", "recompute"} & set(remedies(text))
    unified = f"export TF_FORCE_UNIFIED_MEMORY=1\n{text}"
    assert "unified-memory" not in remedies(unified) and "more-unified-memory" in remedies(unified)


REDUCED = (
    "W hlo_rematerialization.cc:3005] Can't reduce memory use below 10.00GiB (10737418240 bytes) by"
    " rematerialization; only reduced to 18.00GiB (19327352832 bytes), down from 18.50GiB (19864223744 bytes)"
    " originally\n"
)


@pytest.mark.parametrize(("program", "folds"), [("alphafold on 700 aa", True), ("my net", False)])
def test_a_warning_of_the_compiler_alone_tells_what_it_needs(program: str, folds: bool) -> None:
    text = f"Running {program} with jax, I get OOM errors.\n{REDUCED}"
    report = explained(text)
    assert ("predicts a protein's structure" in report.verdict) is folds
    assert "18.00 GiB" in report.verdict and "10.00 GiB" in report.verdict
    assert ("shorter-sequences" in remedies(text)) is folds


@pytest.mark.parametrize(
    "text",
    [
        f"import jax\n{ASKED} 8589934592 bytes.\n",
        f"colabfold on 700 aa\n{ASKED} 65536 bytes.\n",
        f"alphafold\nloss, grads = jax.value_and_grad(f)(params)\n{ASKED} 8589934592 bytes.\n",
    ],
)
def test_no_protein_or_no_prediction_of_one(text: str) -> None:
    assert "predicts a protein's structure" not in explained(text).verdict


PMAP = "UserWarning: The jitted function sample_all includes a pmap. Using jit-of-pmap can lead to more.\n"


def test_jit_around_pmap_gathers_on_one_device() -> None:
    text = f"import jax\n{PMAP}{ASKED} 68719476736 bytes.\n"
    assert "the jitted `sample_all` includes a pmap" in explained(text).verdict
    assert next(iter(remedies(text))) == "no-pmap-within-jit"
    assert "includes a pmap" not in explained(f"import jax\n{ASKED} 68719476736 bytes.\n").verdict
    assert not explained(f"import jax\n{PMAP}").case.moments


def test_a_dump_below_the_compilers_warning_is_of_its_program() -> None:
    warned = (
        f"{AT}W external/xla/xla/service/hlo_rematerialization.cc:2946] Can't reduce memory use below 8.00GiB"
        " (8589934592 bytes) by rematerialization; only reduced to 12.00GiB (12884901888 bytes), down from"
        " 20.00GiB (21474836480 bytes) originally\n"
    )
    failed = (
        f"{AT}W external/tsl/tsl/framework/bfc_allocator.cc:482] Allocator (GPU_0_bfc) ran out of memory"
        " trying to allocate 14.00GiB (rounded to 15032385536)requested by op\n"
    )
    told = explained(warned + failed)
    assert told.verdict.startswith(
        "A compiled program could not allocate 14.00 GiB: even after rematerialisation it needs 12.00 GiB"
    )
    assert "even after" not in explained(failed + warned).verdict


def trace(name: str, code: str, *below: str) -> str:
    frames = "".join(f'  File "{place}", line 8, in call\n    return fn(x)\n' for place in below)
    head = "Traceback (most recent call last):\n"
    return f'{head}  File "/home/me/run.py", line 9, in {name}\n    {code}\n{frames}'


def test_a_function_that_makes_the_state_needs_no_large_request() -> None:
    text = f"{trace('init_train_state', 'state = jax.jit(')}{ASKED} 134217728 bytes.\n"
    assert "`init_train_state` makes the weights and the optimizer's state" in explained(text).verdict
    assert "fails only where the device is full already" in explained(text).verdict
    assert "see-device-users" in [each.remedy.slug for each in explained(text).actions]
    larger = explained(text.replace("134217728", "4294967296"))
    assert "fails only where" not in larger.verdict
    assert next(each.remedy.slug for each in larger.actions) == "shard-arguments"
    assert list(remedies(text))[:2] == ["see-device-users", "shard-arguments"]
    assert "smaller-batch" not in remedies(text)
    other = text.replace("init_train_state", "restart")
    assert "makes the weights" not in explained(other).verdict


def test_a_library_below_the_users_line_is_python() -> None:
    code = "out = simulate_all(x)"
    own, jax = Frame("/home/me/run.py:9", code, "main"), "/usr/lib/site-packages/jax/_src/api.py:8"
    library = "/usr/lib/site-packages/solver/model.py:8"
    assert calls_compiled(code, (own, Frame(jax, "fn(x)"))) == "simulate_all"
    assert calls_compiled(code, (own, Frame(library, "fn(x)"), Frame(jax, "fn(x)"))) is None
    assert calls_compiled("sys.exit(main())") is None


def test_a_request_larger_than_the_named_gpu_says_so() -> None:
    text = f"I use an RTX 3090 (24 GB) with jax\n{ASKED} 42949672960 bytes.\n"
    assert "more than all of the device (about 24.00 GiB)" in explained(text).verdict
    fits = text.replace("42949672960", "8589934592")
    assert "more than all" not in explained(fits).verdict


def test_a_device_with_a_number_alone_is_the_cpu_where_there_is_no_gpu() -> None:
    message = (
        "RuntimeError: Resource exhausted: Failed to allocate request for 40.00GiB on device ordinal 0\n"
    )
    told = explained(f"jax with mpirun, no gpus\n{message}")
    assert told.verdict.startswith("Host RAM (not GPU memory) ran out")
    assert "Host RAM" not in explained(f"jax with mpirun\n{message}").verdict


def test_next_to_nothing_free_is_a_full_device() -> None:
    place = "Attempting to allocate 30.00M. That was not possible. There are 50.00M free.; (0x0x0_HBM0)\n"
    text = f"import jax\nXlaRuntimeError: RESOURCE_EXHAUSTED: {place}"
    assert "only about 50.00 MiB of the device was free, in pieces" in explained(text).verdict
    large = text.replace("30.00M", "3.00G").replace("50.00M", "5.00G")
    assert "in one piece, beside" in explained(large).verdict


@pytest.mark.parametrize(
    ("said", "slug"),
    [
        ("jax: a function that I vmap runs out of memory", "in-blocks"),
        ("jax: out of memory when I differentiate through the solver", "recompute-body"),
        ("With numpyro I get OOM errors at the last of 2000 draws", "fewer-draws"),
        ("jax: num_envs=4096 and I get OOM errors", "fewer-environments"),
        ("jax: a seq_len of 8192 runs out of memory", "shorter-sequences"),
    ],
)
def test_words_alone_say_what_helps(said: str, slug: str) -> None:
    assert next(iter(remedies(f"{said}\n"))) == slug
    assert slug not in remedies("jax: the notebook runs out of memory\n")


def test_what_is_read_of_a_call_is_a_statement() -> None:
    text = "import jax\n>>> jax.vmap(f)(indices).shape\n" + f"{ASKED} 40000000000 bytes.\n"
    assert "the vmap of line 2 runs `f` for all rows at once" in explained(text).verdict


REFUSED = (
    "2022-09-06 13:49:08.8: F external/xla/xla/stream_executor/cuda/cuda_fft.cc:439] failed to initialize"
    " batched cufft plan with customized allocator: Allocating 8589934592 bytes exceeds the memory limit of"
    " 4294967296 bytes.\n"
)


def test_the_scratch_of_a_transform_has_a_limit_of_its_own() -> None:
    told = explained(f"y = jnp.fft.rfft(x, axis=1)\n{REFUSED}")
    assert told.verdict == (
        "A Fourier transform needs 8.00 GiB of scratch in one call, and XLA gives cuFFT 4.00 GiB at most,"
        " whatever the GPU has."
    )
    assert next(iter(action.remedy.slug for action in told.actions)) == "in-blocks"


@pytest.mark.parametrize(
    ("said", "slug"),
    [
        ("jax: if the call errors, the GPU memory is not released", "clear-the-exception"),
        ("jax: my jitted function grows the RAM usage with inputs of different shapes", "one-shape-of-jax"),
        ("In jax with blackjax samplers the process is simply killed after MCMC", "fewer-draws"),
        ("vmap(vmap(fn)) gives me OOM errors", "in-blocks"),
    ],
)
def test_more_words_that_say_what_helps(said: str, slug: str) -> None:
    assert slug in remedies(f"{said}\n")
    assert slug not in remedies("jax: the notebook's memory usage keeps increasing\n")


def test_models_of_transformers_make_random_weights_first() -> None:
    text = (
        "```python\nmodel, params = DalleModel.from_pretrained(NAME, dtype=jnp.float16)\n```\n"
        f"{AT}W external/tsl/tsl/framework/bfc_allocator.cc:482] Allocator (GPU_0_bfc) ran out of memory"
        " trying to allocate 384.00MiB (rounded to 402653184)requested by op\n"
    )
    assert next(iter(remedies(text))) == "without-random-weights"
    assert "without-random-weights" not in remedies(text.replace("NAME, ", "NAME, _do_init=False, "))


def test_what_runs_after_a_long_time_is_another_program() -> None:
    text = f"jax: after 12 hours of training this fails\n{ASKED} 8589934592 bytes.\n"
    assert "what-runs-then" in remedies(text)
    assert "what-runs-then" not in remedies(f"jax: this fails\n{ASKED} 8589934592 bytes.\n")


def test_few_rows_of_a_vmap_are_a_batch() -> None:
    buffer = (
        "        Buffer 15:\n\t\tSize: 1.69GiB\n"
        '\t\tOperator: op_name="pmap(train_step)/jit(main)/vmap(jvp(Net))/mlp/mul"\n'
        "\t\tXLA Label: fusion\n\t\tShape: f32[ROWS,256,3072,577]\n\t\t==========================\n"
    )
    assert "what vmap makes" not in explained(buffer.replace("ROWS", "1")).verdict
    assert "what vmap makes" in explained(buffer.replace("ROWS", "2000")).verdict


def test_a_tag_of_a_model_is_no_precision() -> None:
    told = explained(f"jax: downloading mega-fp16:latest\n{ASKED} 8589934592 bytes.\n")
    assert not told.case.capture.surroundings.setting("mixed_precision")
