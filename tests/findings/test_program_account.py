"""A compiled program's account: what its arguments are, what donating them buys, what is advised first."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

GIB = 1 << 30
ASKED = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes."
STEP = 'File "train.py", line 8, in <module>\n    state = train_step(state, batch)\n'


def tpu(arguments: str, program: str, output: str, shared: str, capacity: str = "15.75G") -> Report:
    return pipeline.explain(
        f"{STEP}jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of"
        f" memory in memory space hbm. Used 21.37G of {capacity} hbm. Exceeded hbm capacity by 5.62G.\n\n"
        f"Total hbm usage >= 21.63G:\n    reserved        258.00M\n    program          {program}\n"
        f"    arguments        {arguments}\n\nOutput size {output}; shares {shared} with arguments.\n"
        f"Program hbm requirement {program}:\n    HLO temp         {program} (99.8% utilization)\n"
    )


def slugs(report: Report) -> list[str]:
    return [action.remedy.slug or "" for action in report.actions]


def test_arguments_that_are_returned_are_state_and_can_be_donated() -> None:
    report = tpu("12.25G", "9.12G", "12.25G", "0B")
    assert "12.25 GiB of it are its arguments (returned anew, so most likely weights and" in report.verdict
    first = report.actions[0].remedy
    assert first.slug == "donate-buffers"
    assert first.saves_bytes == int(12.25 * GIB)


def test_donated_arguments_are_not_donated_again() -> None:
    report = tpu("12.25G", "9.12G", "12.25G", "12.25G")
    assert "donate-buffers" not in slugs(report)
    assert slugs(report)[0] == "lighter-optimizer"


def test_arguments_larger_than_the_device_need_no_smaller_batch() -> None:
    report = tpu("16.90G", "4.47G", "8.45G", "8.45G", "15.48G")
    assert "about 8.45 GiB of them returned anew" in report.verdict
    assert "smaller-batch" not in slugs(report)


def test_arguments_that_are_only_read_ask_for_no_optimizer() -> None:
    report = tpu("16.90G", "4.47G", "64.00M", "0B", "15.48G")
    assert "hardly any of it returned" in report.verdict
    assert "lighter-optimizer" not in slugs(report)


def test_results_beside_arguments_on_a_gpu_are_state_that_is_not_donated() -> None:
    parts = (("parameter", 33.5), ("maybe_live_out", 33.5), ("preallocated temp", 17.5), ("total", 84.5))
    account = "".join(f"{name:>19} allocation:   {size:.2f}GiB\n" for name, size in parts)
    message = f"RESOURCE_EXHAUSTED: Out of memory while trying to allocate {51 * GIB} bytes.\n"
    head = "BufferAssignment OOM Debugging.\nBufferAssignment stats:\n"
    report = pipeline.explain(f"{STEP}jax.errors.JaxRuntimeError: {message}{head}{account}")
    assert "33.50 GiB of it are results, made beside arguments of about 33.50 GiB" in report.verdict
    assert report.actions[0].remedy.slug == "donate-buffers"
    aliased = account.replace("84.50", "51.00")
    report = pipeline.explain(f"{STEP}jax.errors.JaxRuntimeError: {message}{head}{aliased}")
    assert "donate-buffers" not in slugs(report)


def test_donation_that_saves_next_to_nothing_is_not_advised() -> None:
    parts = (("parameter", 20), ("maybe_live_out", 12), ("preallocated temp", 9000), ("total", 9032))
    account = "".join(f"{name:>19} allocation:   {size:.2f}MiB\n" for name, size in parts)
    message = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9437184000 bytes.\n"
    report = pipeline.explain(
        f"{STEP}jax.errors.JaxRuntimeError: {message}BufferAssignment stats:\n{account}"
    )
    assert "donate-buffers" not in slugs(report)


def test_temporaries_are_the_batch_s() -> None:
    report = tpu("1.25G", "20.12G", "1.25G", "1.25G")
    assert "arguments (" not in report.verdict
    assert slugs(report)[0] == "smaller-batch"


@pytest.mark.parametrize(("alias", "saves"), [(0, 3 * GIB), (3 * GIB, None)])
def test_an_analysis_tells_what_donation_saves(alias: int, saves: int | None) -> None:
    report = pipeline.explain(
        f"CompiledMemoryStats(generated_code_size_in_bytes=0, argument_size_in_bytes={3 * GIB},"
        f" output_size_in_bytes={3 * GIB}, alias_size_in_bytes={alias}, temp_size_in_bytes={9 * GIB})\n"
    )
    donated = [
        action.remedy.saves_bytes for action in report.actions if action.remedy.slug == "donate-buffers"
    ]
    assert donated == ([saves] if saves else [])
    assert ("3.00 GiB of results beside them" in report.verdict) is (alias == 0)


@pytest.mark.parametrize(
    ("library", "donated", "recomputed"),
    [
        ('File "site-packages/flax/nnx/transforms.py", line 3', "nnx.jit(donate_argnums", "nnx.remat"),
        ('File "site-packages/equinox/_jit.py", line 3', "eqx.filter_jit(donate", "eqx.filter_checkpoint"),
        ('File "site-packages/haiku/_src/x.py", line 3', "jax.jit(step, donate", "hk.remat"),
        ('File "site-packages/flax/linen/x.py", line 3', "jax.jit(step, donate", "nn.remat"),
        ('os.environ["KERAS_BACKEND"] = "jax"', None, "keras.RematScope"),
        ("import jax", "jax.jit(step, donate", "jax.checkpoint(block)"),
    ],
)
def test_the_library_decides_the_code(library: str, donated: str | None, recomputed: str) -> None:
    report = pipeline.explain(f"{library}\n{STEP}jaxlib.xla_extension.XlaRuntimeError: {ASKED}\n")
    code = {action.remedy.slug: action.remedy.code or "" for action in report.actions}
    assert recomputed in code["recompute"]
    assert ("donate-buffers" in code) is (donated is not None)
    assert donated is None or donated in code["donate-buffers"]


@pytest.mark.parametrize(
    ("text", "framework"),
    [
        (f"XlaRuntimeError: {ASKED}", "xla"),
        (f"import jax\nXlaRuntimeError: {ASKED}", "jax"),
        (f"errors_impl.ResourceExhaustedError: Graph execution error:\n\n{ASKED}", "tensorflow"),
    ],
)
def test_a_program_that_nobody_names(text: str, framework: str) -> None:
    report = pipeline.explain(text + "\n")
    assert report.case.capture.source.framework == framework
    code = " ".join(action.remedy.code or "" for action in report.actions)
    assert framework == "jax" or "jax" not in code


def test_a_compiler_that_gave_up_early_says_what_it_needs() -> None:
    report = pipeline.explain(
        "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Aborting compilation early because it's unlikely to"
        " have enough device memory. Requires 24.10G, has 14.71G available.\n"
    )
    assert report.verdict.startswith("The TPU program needs about 24.10 GiB: the device has about 14.71 GiB")


def gpu_account(size: float, *parts: tuple[str, float], before: str = "") -> Report:
    account = "".join(f"{name:>19} allocation:   {each:.2f}GiB\n" for name, each in parts)
    message = f"RESOURCE_EXHAUSTED: Out of memory while trying to allocate {int(size * GIB)} bytes.\n"
    head = "BufferAssignment OOM Debugging.\nBufferAssignment stats:\n"
    return pipeline.explain(f"{before}jaxlib.xla_extension.XlaRuntimeError: {message}{head}{account}")


LARGE_RESULTS = (("parameter", 0.5), ("maybe_live_out", 9.5), ("preallocated temp", 4.5), ("total", 14.5))


def test_results_that_are_the_largest_part_are_told_and_returned_less() -> None:
    report = gpu_account(4.5, *LARGE_RESULTS)
    assert "its largest part are its results, about 9.50 GiB, more than its temporaries" in report.verdict
    assert slugs(report)[0] == "return-less"
    small = gpu_account(
        4.5, ("parameter", 0.5), ("maybe_live_out", 0.1), ("preallocated temp", 4.5), ("total", 5.1)
    )
    assert "results" not in small.verdict
    assert "return-less" not in slugs(small)


def test_who_runs_anothers_program_is_told_of_no_step_of_his_own() -> None:
    report = gpu_account(4.5, *LARGE_RESULTS, before="I use jax on a GPU of 12 GB.\n")
    assert not {"smaller-batch", "donate-buffers"} & set(slugs(report))
    assert report.actions[0].remedy.slug == "return-less" and report.actions[0].remedy.code is None
    own = gpu_account(4.5, *LARGE_RESULTS, before="I train with jax, batch_size=8, on a GPU of 12 GB.\n")
    assert "smaller-batch" in slugs(own)
    assert any(each.remedy.code for each in own.actions if each.remedy.slug == "return-less")


@pytest.mark.parametrize(
    ("asks", "first", "offered"),
    [
        ("Does it only run on a more powerful GPU?", True, True),
        ("I train it with batch_size=8. How much VRAM is required?", False, True),
        ("A more powerful GPU is on its way.", False, False),
        ("I use it on a GPU.", False, False),
    ],
)
def test_what_device_a_program_needs_is_answered(asks: str, first: bool, offered: bool) -> None:
    report = gpu_account(4.5, *LARGE_RESULTS, before=f"I use jax on a GPU of 12 GB.\n{asks}\n")
    found = slugs(report)
    assert ("larger-device" in found) is offered
    assert (found[:2] == ["larger-device", "unified-memory"]) is first
    if offered:
        text = next(each.remedy.text for each in report.actions if each.remedy.slug == "larger-device")
        assert "19.33 GiB or more" in text  # 14.5 / 0.75
    small = gpu_account(4.5, *LARGE_RESULTS, before=f"I use jax on a GPU of 24 GB.\n{asks}\n")
    assert "larger-device" not in slugs(small)


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("mesh_size 6 and gnn_msg_steps 16", True),
        ("dataset_source-era5_date-2021-03-04_res-0.25.nc is read", True),
        ("the source-code and a gnn with msg_steps", False),
    ],
)
def test_a_weather_model_is_known_by_its_settings_and_files(said: str, known: bool) -> None:
    reduced = (
        "hlo_rematerialization.cc:2202] Can't reduce memory use below 20.00GiB (21474836480 bytes) by"
        " rematerialization; only reduced to 60.00GiB (64424509440 bytes), down from 70.00GiB (75161927680"
        " bytes) originally\n"
    )
    asked = (
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
        " 64424509440 bytes.\n"
    )
    report = pipeline.explain(f"I use jax for training: {said}.\n{reduced}{asked}")
    assert ("a weather model" in report.verdict) is known
    assert "needs 60.00 GiB" in report.verdict
    assert any("gradient_checkpointing" in (each.remedy.code or "") for each in report.actions) is known


@pytest.mark.parametrize(
    ("given", "constant", "new"), [(0.0, 0.0, True), (0.01, 0.0, False), (0.0, 0.01, False)]
)
def test_results_of_next_to_nothing_are_new_weights(given: float, constant: float, new: bool) -> None:
    parts = ("parameter", given), ("constant", constant), ("maybe_live_out", 5.25), ("total", 5.5)
    report = gpu_account(0.75, *parts, before="import jax\n")
    assert ("most likely new weights, or draws" in report.verdict) is new
    assert slugs(report)[0] == ("narrow-weights" if new else "return-less")
    assert ("smaller-batch" not in slugs(report)) or not new


CLEARED = (
    "jax.clear_backends()\nb = g(b)\n"
    "E external/xla/xla/stream_executor/cuda/cuda_driver.cc:1571] failed to allocate"
    " 29.67GiB (31861358592 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
)


@pytest.mark.parametrize(("code", "told"), [("", True), ("# ", False)])
def test_a_pool_of_an_earlier_backend_is_kept(code: str, told: bool) -> None:
    report = pipeline.explain(f"```python\nimport jax\na = g(jnp.zeros(9))\n{code}{CLEARED}")
    assert (slugs(report)[0] == "without-clearing") is told


def test_a_program_larger_than_the_card_gets_no_larger_pool() -> None:
    report = gpu_account(4.5, *LARGE_RESULTS, before="I have a 12 GB card\n")
    assert "the whole program needs about 14.50 GiB, more than the device has" in report.verdict
    assert "larger-pool" not in slugs(report)
    roomy = gpu_account(4.5, *LARGE_RESULTS, before="I have a 24 GB card\n")
    assert "more than the device has" not in roomy.verdict
    assert "larger-pool" in slugs(roomy)


@pytest.mark.parametrize(("size", "full"), [(0.01, True), (4.0, False)])
def test_one_operation_is_no_step_that_could_donate(size: float, full: bool) -> None:
    parts = (("parameter", size), ("maybe_live_out", size), ("preallocated temp", 0), ("total", 2 * size))
    report = gpu_account(size, *parts)
    assert ("the device is full already" in report.verdict) is full
    assert ("one operation ran by itself, and its result (about 4.00 GiB)" in report.verdict) is not full
    assert (slugs(report)[0] == "in-blocks") is not full
    assert "donate-buffers" not in slugs(report)
    step = gpu_account(1, ("parameter", 4), ("maybe_live_out", 4), ("preallocated temp", 1), ("total", 9))
    assert "donate-buffers" in slugs(step)


KERNEL = """Peak buffers:
	Buffer 1:
		Size: 4.00GiB
		Entry Parameter Subshape: f64[32,200,300,280]
		==========================

	Buffer 2:
		Size: 4.00GiB
		Operator: op_name="jit(fn)/jit(main)/mul" source_file="scalar.py" source_line=103
		XLA Label: fusion
		Shape: f64[32,200,300,280]
		==========================
"""


def test_what_one_operation_is_given_is_no_weight() -> None:
    parts = (("parameter", 4.0), ("maybe_live_out", 4.0), ("preallocated temp", 0), ("total", 8.0))
    account = "".join(f"{name:>19} allocation:   {each:.2f}GiB\n" for name, each in parts)
    asked = ASKED.replace("8589934592", "4300800000")
    head = f"{asked}\nBufferAssignment OOM Debugging.\nBufferAssignment stats:\n"
    report = pipeline.explain(f"jaxlib.xla_extension.XlaRuntimeError: {head}{account}{KERNEL}")
    assert "weights" not in report.verdict
    assert slugs(report)[:2] == ["single-precision-jax", "in-blocks"]
    assert "lighter-optimizer" not in slugs(report)
