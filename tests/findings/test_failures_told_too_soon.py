"""What is no failure of memory, or none of the cause that its words suggest, with near misses for each."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, oom
from tests.findings.test_texts_of_strangers import explained, leading

WARNING = (
    "W tensorflow/core/common_runtime/bfc_allocator.cc:272] Allocator (GPU_0_bfc) ran out of memory trying to"
    " allocate 3.10GiB with freed_by_count=0. The caller indicates that this is not a failure, but may mean"
    " that there could be performance gains if more memory were available.\n"
)
REDZONE = (
    "Failed to allocate memory for convolution redzone checking; skipping this check. This is benign and only"
    " means that we won't check cudnn for out-of-bounds reads and writes.\n"
)
SOFT = "soft-warnings-only"


def test_a_check_that_is_left_out_is_no_failure() -> None:
    found = explained(f"{WARNING}{REDZONE}Epoch 4/90\nis this bad?\n")
    assert found.findings[0].rule == SOFT
    assert not found.actions


def test_words_of_a_failure_beside_that_check_are_one() -> None:
    assert leading(f"{WARNING}{REDZONE}then it dies with an out of memory error\n") == "told-in-words"


NAN = "[train] [INFO] epoch=0.40 step=900, 7.5 examples/sec loss=nan\nException: loss is nan\n"


def test_a_loss_that_is_no_number_ended_it_and_not_the_warnings() -> None:
    said = "I took a batch of 2 because of the out of memory, and it ends as before\n"
    found = explained(said + WARNING + NAN)
    assert found.findings[0].rule == SOFT
    assert [action.remedy.slug for action in found.actions] == ["find-the-nan"]


def test_without_steps_below_the_warnings_the_words_count() -> None:
    said = "I get an out of memory error with a batch of 2\n"
    assert leading(f"{said}step 20 loss=nan\n{WARNING}") == "told-in-words"
    assert leading(f"{said}{WARNING}step 900 loss=0.2\n") == "told-in-words"


def test_arguments_that_an_error_prints_are_no_setting() -> None:
    printed = "tf.Tensor(shape=(4, 512, 512, 64), dtype=float32)"
    text = oom("4,64,512,512") + f"\nCall arguments received:\n  • inputs={printed}\n"
    verdict = explained(text).verdict
    assert "`shape`" not in verdict
    assert not any("`shape`" in action.remedy.text for action in explained(text).actions)


def test_a_setting_of_that_size_is_named_all_the_same() -> None:
    text = "image_size = 384\n" + oom("6,96,384,384")
    assert "`image_size`" in explained(text).verdict


GRAPH = "ValueError: GraphDef cannot be larger than 2GB.\n"


def test_a_graph_that_is_too_large_after_steps_has_grown() -> None:
    found = explained(f"epoch 31/80 (nll: 3.02)\n{GRAPH}")
    assert "larger than the 2 GiB that it may hold; steps as far as 31" in found.verdict
    assert [action.remedy.slug for action in found.actions] == ["build-once"]


@pytest.mark.parametrize("before", ["", "epoch_length = 31\n", "I set epoch 31 of 80 as the limit\n"])
def test_a_graph_that_is_too_large_at_once_holds_data(before: str) -> None:
    found = explained(before + GRAPH)
    assert "constant or data set" in found.verdict
    assert found.actions[0].remedy.slug == "data-out-of-the-graph"


def test_steps_below_it_tell_nothing() -> None:
    assert "constant or data set" in explained(f"{GRAPH}epoch 31/80 (nll: 3.02)\n").verdict


def torch(allocated: str) -> str:
    return (
        "import jax\nCUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 39.50 GiB"
        " of which 512.00 MiB is free. Including non-PyTorch memory, this process has 38.90 GiB memory in"
        f" use. Of the allocated memory {allocated} is allocated by PyTorch, and 1.00 GiB is reserved by"
        " PyTorch but unallocated.\n"
    )


@pytest.mark.parametrize(("allocated", "offered"), [("36.50 GiB", False), ("8.00 GiB", True)])
def test_jax_took_nothing_where_pytorch_itself_holds_nearly_all(allocated: str, offered: bool) -> None:
    slugs = [action.remedy.slug for action in explained(torch(allocated)).actions]
    assert ("growth" in slugs) is offered


def test_a_log_stamped_with_seconds_and_numbers_is_one_process() -> None:
    log = "2025-03-08 11:02:51.402113: E external/local_xla/xla/stream_executor/cuda/cuda_fft.cc:477] again"
    device = "I0000 00:00:1741431771.402113      23 gpu_device.cc:2022] Created device"
    frame = '  File "/opt/lib/python3.11/site-packages/nbclient/client.py", line 80, in run'
    lines = [log, device, "Traceback (most recent call last):", *[frame] * 4]
    lines += ['    raise DeadKernelError("Kernel died")', "nbclient.exceptions.DeadKernelError: Kernel died"]
    seconds = [17.9, 312.6, *[315.0] * 7]
    text = "".join(f"{at}s\t{n}\t{line}\n" for n, (at, line) in enumerate(zip(seconds, lines, strict=True)))
    assert "kernel died" in explained(text).verdict


SHADER = "Error: Failed to compile fragment shader.\n  at createProgram (gpgpu_context.js:90)\n"


def test_a_shader_that_did_not_compile_is_a_guess() -> None:
    found = explained(SHADER)
    assert "as happens where its GPU has no memory left, or for its driver" in found.verdict
    assert found.findings[0].severity.value != "cause"


def test_a_context_that_was_lost_says_more_than_a_shader() -> None:
    verdict = explained(f"{SHADER}WebGL: CONTEXT_LOST_WEBGL: loseContext: context lost\n").verdict
    assert "took the context" in verdict and "had no memory left" not in verdict
    assert "had no memory left" in explained("Error: Unable to create WebGLTexture.\n").verdict
    assert "shader" not in verdict


def test_what_a_checkpoint_restores_into_pinned_ram_has_no_batch() -> None:
    found = explained(oom("40000,768", "save/RestoreV2", on=CPU, by="gpu_host_bfc"))
    assert found.findings[0].rule == "host-memory"
    assert "pinned host RAM" in found.verdict
    assert "smaller-batch" not in [action.remedy.slug for action in found.actions]


@pytest.mark.parametrize(
    ("node", "on", "by"),
    [("net/conv/Conv2D", CPU, "gpu_host_bfc"), ("save/RestoreV2", "/device:GPU:0", "GPU_0_bfc")],
)
def test_another_op_or_the_gpus_own_memory_is_told_as_before(node: str, on: str, by: str) -> None:
    assert "checkpoint restores" not in explained(oom("40000,768", node, on=on, by=by)).verdict


@pytest.mark.parametrize(
    ("words", "grows"),
    [
        ("It keeps on adding nodes to the graph during training.", True),
        ("The preview helper creates new ops into the default graph.", True),
        ("I am not adding nodes to the graph.", False),
        ("I added a plot of the graph.", False),
    ],
)
def test_words_tell_that_a_graph_grows(words: str, grows: bool) -> None:
    found = explained(f"{GRAPH}{words}\n")
    assert ("speaks of ops that are added to the graph" in found.verdict) is grows
    assert found.actions[0].remedy.slug == ("build-once" if grows else "data-out-of-the-graph")
