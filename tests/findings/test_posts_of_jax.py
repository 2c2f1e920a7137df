"""What posts tell of where a program of JAX computes, and of what lies beside its pool."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered
from tfmemlens.model.incident import RequestKind

ASKED = "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 123480309760 bytes."
FOLDING = "AlphaFold, a complex of 4100 residues."


@pytest.mark.parametrize("told", ["these nodes have no GPU", "a cpu-only cluster", "a machine without a GPU"])
def test_without_a_gpu_a_message_that_names_no_device_is_of_host_ram(told: str) -> None:
    text = f"{FOLDING} {told}\nXLA_PYTHON_CLIENT_MEM_FRACTION=0.2\n{ASKED}\n"
    page = explained(text)
    request = page.case.moments[0].request
    assert request and request.failed.kind is RequestKind.HOST
    assert page.verdict.startswith("Host RAM (not GPU memory) ran out: 115.00 GiB were asked for at once")
    assert not {"raise-own-limit", "unified-memory", "larger-pool"} & set(offered(text))


@pytest.mark.parametrize("told", ["it runs on the CPU, and fails on an A100", "A100 80GB; no GPU is free"])
def test_a_gpu_that_is_named_keeps_the_message(told: str) -> None:
    request = explained(f"{FOLDING} {told}\n{ASKED}\n").case.moments[0].request
    assert request and request.failed.kind is RequestKind.XLA


def test_a_pool_of_unified_memory_is_as_large_as_it_is_told_and_no_larger_than_the_machine_holds() -> None:
    text = (
        f"{FOLDING} RTX 3080 (10 GB), 96 GB RAM\n"
        "TF_FORCE_UNIFIED_MEMORY=1 XLA_PYTHON_CLIENT_MEM_FRACTION=3.0\n"
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 41.00GiB (rounded to 44023414784)\n"
        f"{ASKED.replace('123480309760', '44023414784')}\n"
    )
    assert "limit of about 30.00 GiB" in explained(text).verdict
    assert "export XLA_PYTHON_CLIENT_MEM_FRACTION=6.0 " in first(text)
    assert "more-unified-memory" not in offered(text.replace("96 GB", "24 GB"))


GRAPHS = (
    "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Failed to instantiate CUDA graph:"
    " CUDA_ERROR_OUT_OF_MEMORY: out of memory: Underlying backend ran out of memory trying to instantiate"
    " graph with 80 nodes and 2 conditionals (total of 512 alive graphs in the process)."
)


def test_cuda_graphs_without_room_are_left_out_first() -> None:
    assert "one more CUDA graph of a compiled program (512 are alive" in explained(GRAPHS).verdict
    assert [each.slug for each in explained(GRAPHS).findings[0].remedies][:2] == [
        "constant-shapes",
        "smaller-fraction",
    ]
    assert "xla_gpu_enable_command_buffer" in first(GRAPHS)


@pytest.mark.parametrize(
    "error",
    [
        "CUDA_ERROR_INVALID_IMAGE: device kernel image is invalid",
        "CUDA_ERROR_NO_BINARY_FOR_GPU: no kernel image is available for execution on the device",
        "CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the provided PTX was compiled with an unsupported toolchain.",
    ],
)
def test_code_that_does_not_fit_the_gpu_is_no_lack_of_memory(error: str) -> None:
    text = f"jaxlib.xla_extension.XlaRuntimeError: INTERNAL: Failed to load PTX text as a module: {error}\n"
    assert explained(text).verdict.startswith(
        "No lack of memory: the code that was compiled for the GPU does"
    )
    assert offered(text) == ["matching-driver"]


HANDLE = "import jax\nfailed to create cublas handle: CUBLAS_STATUS_NOT_INITIALIZED\n"


@pytest.mark.parametrize(
    "told",
    [
        "A tf model for the embeddings is loaded in the same process.",
        "In this notebook there is a keras encoder, too.",
    ],
)
def test_a_model_of_tensorflow_beside_is_told_to_take_memory_as_needed(told: str) -> None:
    text = f"{told}\n{HANDLE}"
    assert offered(text)[0] == "tensorflow-off-the-gpu" and "set_memory_growth" in first(text)


@pytest.mark.parametrize("told", ["A keras 3 model on jax in this notebook.", "a model in the same process"])
def test_keras_on_jax_is_no_other_framework(told: str) -> None:
    assert "tensorflow-off-the-gpu" not in offered(f"{told}\n{HANDLE}")


SHOWN = "import jax\nnvidia-smi shows {used}MiB / 24576MiB for three small arrays\n"


def test_a_table_that_shows_just_the_pool_is_no_failure() -> None:
    assert explained(SHOWN.format(used=18690)).verdict.startswith(
        "JAX's pool (line 2), and no failure is told"
    )
    assert "JAX's pool" not in explained(SHOWN.format(used=12000)).verdict


GROWS = "import jax\nRSS grows with every call until the machine swaps.\n"


@pytest.mark.parametrize(
    "told",
    [
        "With @jax.jit on rollout memory stays flat.",
        "Wrapping the call in eqx.filter_jit fixes it.",
        "If I use jit on the solver it does not leak.",
    ],
)
def test_what_jit_ends_is_compiled_anew_in_each_call(told: str) -> None:
    text = f"{GROWS}sol = diffeqsolve(term, Tsit5(), 0, 1, 0.1, y0)  # diffrax\n{told}\n"
    assert "traces and compiles anew without jit round it" in explained(text).verdict
    assert offered(text)[0] == "compile-once"


def test_how_much_one_call_holds_explains_no_growth_over_many() -> None:
    text = f"{GROWS}sol = diffeqsolve(term, Tsit5(), 0, 1, 0.1, y0)  # diffrax, on the CPU\n"
    assert "Diffrax" not in explained(text).verdict


LOOP = "import jax\nHost RAM grows from turn to turn:\n\n{made}"
LOOP += "for i in range(100000):\n    state = step(state)\n"


@pytest.mark.parametrize(
    ("made", "known"),
    [("", False), ("step = jax.jit(advance)\n", True), ("import env\nstep = env.step\n", False)],
)
def test_a_library_that_is_called_without_jit_may_compile_anew(made: str, known: bool) -> None:
    pages = " ".join(action.remedy.text for action in explained(LOOP.format(made=made)).actions)
    assert ("a function anew" in pages) is known


def test_a_checkpoint_that_is_read_whole_fills_every_host() -> None:
    text = (
        "A TPU pod with jax: every host runs out of RAM when we restore the checkpoint.\n\n"
        "restored = manager.restore(step, args=ocp.args.{args})\n"
    )
    assert offered(text.format(args="PyTreeRestore()"))[0] == "restore-sharded"
    assert "whole arrays" not in explained(text.format(args="StandardRestore(abstract)")).verdict


def test_a_save_of_every_process_of_torch_xla_is_of_host_ram() -> None:
    text = (
        "import torch_xla\nIt trains for an epoch and dies when it saves the checkpoint.\n"
        "torch.multiprocessing.spawn.ProcessExitedException: process 2 terminated with signal SIGKILL\n"
    )
    assert offered(text)[0] == "one-checkpoint-at-a-time" and "xm.save" in first(text)
    assert "while a checkpoint is saved" in explained(text).verdict


def test_a_save_in_words_of_a_job_that_was_killed_is_the_cause() -> None:
    text = (
        'torch_xla on a v3-8: after each epoch the job dies: "Killed". It happens when the checkpoint is'
        " saved by all 8 processes, RAM jumps to 300 GB.\n"
    )
    assert "most likely the checkpoint" in explained(text).verdict
    assert offered(text)[0] == "one-checkpoint-at-a-time"


def test_a_model_that_is_whole_on_one_device_before_it_is_sharded_is_the_cause() -> None:
    told = "torch_xla, FSDPv2: it first copies the whole model to one chip, and runs out of memory there."
    assert "the whole model, which lies on one device before" in explained(told).verdict
    assert offered(told)[0] == "wrap-blocks" and "mark-step" not in offered(told)


ADAM = (
    "It is always out of memory, a model of 900M params on {card}, f32, whatever the batch.\n\n"
    "import jax, optax\ntx = optax.adam(lr)\n{sums}"
    "updates, state = tx.update(grads, state, params)\n"
)


def test_the_sum_of_gradients_is_one_more_copy_of_the_weights() -> None:
    text = ADAM.format(card="a 16GB card", sums="tx = optax.MultiSteps(tx, every_k_schedule=1)\n")
    assert "16.76 GiB with the sum of gradients of MultiSteps" in explained(text).verdict
    assert offered(text)[:2] == ["gradient-inside-loop", "donate-buffers"]
    assert "MultiSteps" not in explained(ADAM.format(card="a 16GB card", sums="")).verdict


@pytest.mark.parametrize(("card", "one"), [("a 16GB card", True), ("8 x 16GB cards", False)])
def test_nothing_is_spread_over_devices_where_there_is_one_card(card: str, one: bool) -> None:
    assert ("shard-arguments" not in offered(ADAM.format(card=card, sums=""))) is one


VMEM = (
    "A train script in jax on a v4-64.\n\njaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU"
    " compile permanent error. Ran out of memory in memory space vmem. Used {used}.00M of 16.00M vmem."
    " Exceeded vmem capacity by 9.00M.\n\n{told}\n"
)


@pytest.mark.parametrize(
    ("told", "used", "said"),
    [
        (
            "query_block_size=1024, kv_block_size=2048",
            40,
            "`query_block_size` 1,024 -> 512 and `kv_block_size`",
        ),
        ("tile_size: 512", 60, "`tile_size` 512 -> 128 (line 5)"),
        ("num_blocks=512", 40, "Pallas: block shapes"),
        ("block_size = 8", 40, "Pallas: block shapes"),
    ],
)
def test_blocks_that_the_text_states_are_made_smaller_by_name(told: str, used: int, said: str) -> None:
    text = VMEM.format(told=told, used=used)
    assert said in " ".join(action.remedy.text for action in explained(text).actions)


CHIP = (
    'import jax\n  File "/env/lib/python3.12/site-packages/{library}/_src/ops/api.py", line 33, in run\n'
    "    return kernel(x)\n"
    "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Shared memory size limit exceeded: requested 200704,"
    " available: 101376\n"
)


def test_a_kernel_of_a_library_is_its_own_to_mend() -> None:
    assert "the kernel is fastops's (line 2)" in first(CHIP.format(library="fastops"))
    others = " ".join(action.remedy.text for action in explained(CHIP.format(library="jax")).actions)
    assert "the kernel is" not in others and "if nobody wrote this kernel" in others


def test_a_kernel_that_xla_made_is_another_release_s_to_mend() -> None:
    text = "import jax\nXlaRuntimeError: INTERNAL: Failed to launch CUDA kernel: {name} with block 64x1x1\n"
    assert "XLA made of the program (loop_fusion_88)" in first(text.format(name="loop_fusion_88"))
    assert "XLA made of the program" not in first(text.format(name="my_kernel"))


ALONE = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2.40GiB. [executable_name='{name}'] jax\n"


def test_one_operation_outside_of_jit_has_no_temporaries() -> None:
    page = explained(ALONE.format(name="jit_multiply"))
    assert "one operation that runs by itself, outside of jit (`multiply`)" in page.verdict
    assert offered(ALONE.format(name="jit_multiply"))[0] == "compile-the-call"
    assert "runs by itself" not in explained(ALONE.format(name="jit_train_step")).verdict
