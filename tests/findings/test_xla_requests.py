"""What an XLA request is, as far as its message tells, and what helps each."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.finding import Remedy
from tfmemlens.model.report import Report

ASKED = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
TPU = "XlaRuntimeError: RESOURCE_EXHAUSTED: "


def account(arguments: float, results: float, temporaries: float, total: float) -> str:
    """XLA's account of a program that asks for its temporaries; sizes in GiB."""
    return "\n".join(
        [
            f"{ASKED} {int(temporaries * 2**30)} bytes.",
            "BufferAssignment OOM Debugging.",
            "BufferAssignment stats:",
            f"             parameter allocation:    {arguments:.2f}GiB",
            f"        maybe_live_out allocation:    {results:.2f}GiB",
            f"     preallocated temp allocation:   {temporaries:.2f}GiB",
            f"                 total allocation:   {total:.2f}GiB",
            "",
        ]
    )


def explained(text: str) -> Report:
    return pipeline.explain(text)


def remedies(text: str) -> dict[str, Remedy]:
    return {remedy.slug: remedy for finding in explained(text).findings for remedy in finding.remedies}


def test_a_message_alone_does_not_say_what_was_asked_for() -> None:
    assert explained(f"{ASKED} 17179869184 bytes.\n").verdict == (
        "XLA could not allocate 16.00 GiB: one array, or all temporaries of a compiled program (the message"
        " does not say which)."
    )


def test_an_account_with_that_figure_says_it() -> None:
    assert explained(account(3, 3, 16, 22)).verdict == (
        "A compiled program could not allocate 16.00 GiB: these are the program's temporaries, which XLA"
        " allocates as one block."
    )
    other = account(3, 3, 16, 22).replace(f"{16 * 2**30} bytes", f"{3 * 2**30} bytes")
    assert "these are the program's temporaries" not in explained(other).verdict


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        (account(3, 3, 16, 22), True),
        (account(3, 3, 16, 19), False),  # the results lie in the arguments' place already
        (account(3, 0, 16, 19), False),
        (account(0, 3, 16, 19), False),
        (f"{ASKED} 17179869184 bytes.\n", False),  # nothing shows a step that returns what it is given
        (f"{ASKED} 17179869184 bytes.\nstate = train_step(state, batch)\n", True),
        (account(3, 3, 16, 22) + "step = jax.jit(step, donate_argnums=(0,))\n", False),
    ],
)
def test_buffers_are_donated_where_that_can_save_anything(text: str, offered: bool) -> None:
    assert ("donate-buffers" in remedies(text)) == offered


def reduced(needed: float, goal: float) -> str:
    low, high = int(goal * 2**30), int(needed * 2**30)
    return (
        f"W hlo_rematerialization.cc:3021] Can't reduce memory use below {goal:.2f}GiB ({low} bytes) by"
        f" rematerialization; only reduced to {needed:.2f}GiB ({high} bytes)\n"
        f"{ASKED} {high} bytes.\n"
    )


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        (reduced(61, 56), True),
        (reduced(56 * 0.95 / 0.75 - 0.1, 56), True),
        (reduced(56 * 0.95 / 0.75 + 0.1, 56), False),
        (f"{TPU}Ran out of memory in memory space hbm. Used 16.10G of 15.75G hbm.\n", False),
        ("XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 34359738368 bytes.\n", False),
    ],
)
def test_a_larger_pool_is_for_gpus_whose_pool_it_may_fill(text: str, offered: bool) -> None:
    assert ("larger-pool" in remedies(text)) == offered
    assert "no allocator flag" not in explained(text).verdict


def test_an_array_that_a_tpu_could_not_place_is_no_program() -> None:
    place = "Attempting to allocate 9.40G. That was not possible. There are 6.02G free.; (0x0x0_HBM0)\n"
    text = f"{TPU}Error allocating device buffer: {place}"
    assert "a buffer of about 9.40 GiB" in explained(text).verdict
    assert set(remedies(text)) == {"drop-references", "shard-arguments"}
    loading = f"{TPU}{place.replace('allocate', 'reserve')}"
    assert "a buffer" not in explained(loading).verdict
    assert "in-pieces" in remedies(loading)
    assert "recompute" in remedies(f"{loading}state = train_step(state, batch)\n")


def test_users_of_pytorch_xla_end_their_steps() -> None:
    text = (
        'File "/usr/lib/python3.10/site-packages/torch_xla/core/xla_model.py", line 1055, in mark_step\n'
        "RuntimeError: RESOURCE_EXHAUSTED: Attempting to reserve 7.91G at the bottom of memory. That was not"
        " possible. There are 5.70G free, 0B reserved, and 5.70G reservable.\n"
    )
    first, second, *_ = remedies(text).values()
    assert first.slug == "smaller-batch"  # it failed where a step ends: nothing shows that the graph grows
    stepping = f"for x, y in loader:\n    loss = model(x)\n    loss.backward()\n{text}"
    assert "mark_step" in (remedies(stepping)["mark-step"].code or "")
    assert second.slug == "drop-references" and second.code is None
    assert "mark-step" not in remedies(f"import jax\n{text.splitlines()[1]}\n")


@pytest.mark.parametrize(
    ("kernel", "sequences"), [("paged_attention.3", True), ("flash_attn_fwd", True), ("fused_mlp.1", False)]
)
def test_a_kernel_on_the_chip(kernel: str, sequences: bool) -> None:
    text = (
        f"{TPU}Ran out of memory in memory space vmem while allocating on stack for %{kernel} ="
        " bf16[4096,2048]{1,0} custom-call(%Arg_0.1). Scoped allocation with size 20.50M and limit 16.00M"
        " exceeded scoped vmem limit by 4.50M. It should not be possible to run out of scoped vmem.\n"
    )
    report = explained(text)
    assert "needs about 20.50 MiB" in report.verdict and "about 4.50 MiB too little" in report.verdict
    assert all("arrays that other code keeps" not in finding.detail for finding in report.findings)
    assert ("shorter sequences" in remedies(text)["smaller-kernel-blocks"].text) == sequences


def test_a_wording_alone_proves_no_host_memory() -> None:
    text = "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 34359738368 bytes.\n"
    assert "most likely host RAM" in explained(text).verdict
    known = explained(f"[CpuDevice(id=0)]\n{text}")
    assert known.verdict.startswith("Host RAM (not GPU memory) ran out")
    assert "check-the-device" in remedies(text)
    assert "check-the-device" not in remedies(f"[CpuDevice(id=0)]\n{text}")


def test_an_account_is_no_failure() -> None:
    text = (
        "CompiledMemoryStats(generated_code_size_in_bytes=1480912, argument_size_in_bytes=3758096384,"
        " output_size_in_bytes=3758096384, alias_size_in_bytes=0, temp_size_in_bytes=38654705664)\n"
    )
    report = explained(text)
    assert report.case.capture.source.formats == ("xla-account",)
    assert "compare-with-device" in remedies(text)
    assert explained(f"{ASKED} 1073741824 bytes.\n").case.capture.source.formats == ("xla-oom",)


def test_nccl_takes_its_memory_outside_the_pool() -> None:
    told = "gpu07:31881:31990 [1] include/alloc.h:48 NCCL WARN Cuda failure 'out of memory'\n"
    text = f"{told}jaxlib.xla_extension.XlaRuntimeError: INTERNAL: NCCL operation ncclCommInitRank failed\n"
    report = explained(text)
    assert "NCCL got no memory for its buffers, which lie outside JAX's pool" in report.verdict
    assert "XLA_PYTHON_CLIENT_PREALLOCATE=false" in (remedies(text)["growth"].code or "")
    assert "smaller-batch" not in remedies(text)


def test_cudnns_workspace_lies_outside_the_pool_of_the_framework_in_use() -> None:
    text = (
        "jaxlib.xla_extension.XlaRuntimeError: UNKNOWN: Failed to determine best cudnn convolution algorithm"
        " for:\n  Profiling failure on cuDNN engine eng0{}: UNKNOWN: CUDNN_STATUS_ALLOC_FAILED\n"
    )
    assert "outside JAX's pool" in explained(text).verdict
    assert "default-algorithm" in remedies(text) and "cudnn-workspace-limit" not in remedies(text)
    elsewhere = "UnknownError: Failed to get convolution algorithm.\nCUDNN_STATUS_ALLOC_FAILED\n"
    assert "outside TensorFlow's pool" in explained(elsewhere).verdict
    assert "default-algorithm" not in remedies(elsewhere)


REQUEST = "Resource exhausted: Failed to allocate request for 40.00GiB (42949672960B) on device ordinal 0"


@pytest.mark.parametrize(
    ("code", "copied"),
    [
        ("x = jnp.asarray(train)", True),
        ("data = jax.device_put(images, gpu)", True),
        ("x = jnp.array(f(train))", False),
        ("loss = step(jnp.asarray(train))", False),
    ],
)
def test_a_line_that_only_copies_is_told_to_copy_a_batch(code: str, copied: bool) -> None:
    text = f'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    {code}\n'
    report = pipeline.explain(f"batch_size=64\n{text}jaxlib.xla_extension.XlaRuntimeError: {REQUEST}\n")
    slugs = [action.remedy.slug for action in report.actions]
    assert ("one-batch-to-the-device" in slugs) is copied
    assert ("smaller-batch" in slugs) is not copied
    assert ("copies one array to the device whole" in report.verdict) is copied


def test_a_limit_set_for_a_kernel_is_not_the_core_s() -> None:
    scoped = (
        "RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem while allocating on stack for %k.1 ="
        " f32[8,128]{1,0} custom-call(). Scoped allocation with size 40.00M and limit 32.00M exceeded scoped"
        " vmem limit by 8.00M.\n"
    )
    verdict = pipeline.explain("jax.errors.JaxRuntimeError: " + scoped).verdict
    assert "the limit of this kernel is about 32.00 MiB of vmem" in verdict
    assert "a TPU core has" not in verdict


@pytest.mark.parametrize(("code", "ended"), [("xm.mark_step()", True), ("loss.backward()", False)])
def test_what_the_failing_line_does_is_not_advised(code: str, ended: bool) -> None:
    text = (
        f'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    {code}\n'
        "RuntimeError: torch_xla: RESOURCE_EXHAUSTED: Attempting to reserve 9.00G at the bottom of memory."
        " That was not possible. There are 6.00G free, 0B reserved, and 6.00G reservable.\n"
    )
    report = pipeline.explain(text)
    code_of = {action.remedy.slug: action.remedy.code for action in report.actions}
    assert ("mark_step()" in (code_of["mark-step"] or "")) is not ended


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (f"{ASKED} 1208256760 bytes.\n", True),
        (f"{ASKED} 20803256760 bytes.\n", False),
        (f"I have a 24 GB card\n{ASKED} 5208256760 bytes.\n", True),
    ],
)
def test_what_was_held_before_is_asked_first_unless_the_request_is_large(text: str, first: bool) -> None:
    told = [action.remedy.slug for action in explained(text).actions]
    assert "ask-what-is-in-use" in told
    assert (told[0] == "ask-what-is-in-use") is first


@pytest.mark.parametrize(
    "text",
    [
        f"I have a 12 GB card\n{ASKED} 14208256760 bytes.\n",
        f"{ASKED} 1208256760 bytes. [executable_name='jit_step']\n",
        f"step 10 bytes_in_use 5.00 GB\nstep 20 bytes_in_use 9.00 GB\n{ASKED} 1208256760 bytes.\n",
    ],
)
def test_what_is_known_is_not_asked(text: str) -> None:
    assert "ask-what-is-in-use" not in remedies(text)


@pytest.mark.parametrize(("size", "told"), [(6210718745600, True), (62107187456, False)])
def test_more_than_any_device_has_is_told_and_not_asked_about(size: int, told: bool) -> None:
    text = f"{ASKED} {size} bytes.\n"
    assert ("no single device has so much" in explained(text).verdict) is told
    assert ("ask-what-is-in-use" in remedies(text)) is not told


@pytest.mark.parametrize(("where", "asked"), [("on v3-8 TPU\n", False), ("on my GPU\n", True)])
def test_a_tpu_has_no_nvidia_smi(where: str, asked: bool) -> None:
    text = f"{where}{ASKED} 13107200 bytes.\n"
    assert "the device is full already" in explained(text).verdict
    assert ("see-device-users" in remedies(text)) is asked


ENTRY = (
    "     Shape: bf16[512,16,3072]{{2,1,0}}\n{}     Unpadded size: 48.00M\n"
    "     XLA label: %reshape.7 = bf16[512,16,3072] reshape(%fusion.4)\n     Allocation type: {}\n"
    "     ==========================\n\n [[{{{{node XRTCompile}}}}]]\n"
)


@pytest.mark.parametrize(
    ("between", "kind", "left", "less"),
    [
        ("", "HLO temp", "[512,16,3072] bfloat16 (48.00 MiB), a temporary that `reshape` makes", True),
        ("", "argument", "[512,16,3072] bfloat16 (48.00 MiB)", False),
        ("anything else\n", "HLO temp", None, False),
    ],
)
def test_the_end_of_a_list_names_what_is_left(between: str, kind: str, left: str | None, less: bool) -> None:
    text = "import torch_xla\n" + ENTRY.format(between, kind).replace("{{", "{").replace("}}", "}")
    report = pipeline.explain(text)
    assert ("the largest that is left" in report.verdict) is (left is not None)
    assert left is None or f"{left}." in report.verdict
    assert (bool(report.actions) and report.actions[0].remedy.slug == "smaller-batch") is less


@pytest.mark.parametrize(
    "label", ["XLA label: %f.4 = (f32[1024]{0}, bf16[24,128,1024]{2,1,0})", "%f.4 = f32[8]"]
)
def test_a_label_that_is_left_of_a_list_names_its_largest_array(label: str) -> None:
    hint = (
        "Hint: If you want to see a list of allocated tensors when OOM happens, add report_tensor_allocations"
    )
    text = f"import torch_xla\n  {label}\n\t [[{{{{node XRTCompile}}}}]]\n{hint}_upon_oom to RunOptions.\n"
    report = pipeline.explain(text)
    named = "the largest array that is left is bf16[24,128,1024] (6.00 MiB, line 2)" in report.verdict
    assert named is label.startswith("XLA label")
    assert report.actions[0].remedy.slug == "smaller-batch"


def _listed(*nodes: str) -> str:
    """An account with most of it in results, and its buffers, made by these."""
    buffers = "".join(
        f"\tBuffer {number}:\n\t\tSize: {5 - number}.00GiB\n"
        f'\t\tOperator: op_name="{node}"\n\t\tXLA Label: custom-call\n'
        f"\t\tShape: f32[{5 - number},1024,262144]\n\t\t==========================\n\n"
        for number, node in enumerate(nodes, 1)
    )
    return f"{account(1, 4, 2, 7)}Peak buffers:\n{buffers}"


def test_a_function_that_ran_by_itself_is_no_step() -> None:
    text = _listed("jit(matmul)/jit(main)/dot_general", "jit(matmul)/jit(main)/transpose")
    assert "`matmul` ran by itself, outside of jit" in explained(text).verdict
    offered = remedies(text)
    assert "compile-the-call" in offered
    assert not {"donate-buffers", "return-less"} & set(offered)


@pytest.mark.parametrize(
    "nodes",
    [
        ("jit(step)/jit(main)/dot_general", "jit(step)/jit(main)/transpose"),
        ("jit(matmul)/jit(main)/dot_general", "jit(step)/jit(main)/transpose"),
        ("jit(forward)/jit(matmul)/dot_general",),
    ],
)
def test_a_step_that_calls_such_a_function_is_one(nodes: tuple[str, ...]) -> None:
    assert "ran by itself" not in explained(_listed(*nodes)).verdict
    assert "return-less" in remedies(_listed(*nodes))
