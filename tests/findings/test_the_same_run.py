"""What belongs to the run that failed, and what to another of the same text."""

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

ASKED = "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate {} bytes.\n"


def slugs(report: Report) -> list[str]:
    return [action.remedy.slug for action in report.actions]


@pytest.mark.parametrize(
    ("used", "asked", "more", "first"),
    [
        (61430, 14 << 30, "", True),
        (61430, 50 << 30, "", False),
        (30110, 14 << 30, "", False),
        (61430, 14 << 30, "export XLA_PYTHON_CLIENT_PREALLOCATE=false\n", False),
    ],
)
def test_a_pool_of_the_usual_size_may_be_larger(used: int, asked: int, more: str, first: bool) -> None:
    text = (
        "# jax 0.5 on an A100 80GB\n\n"
        f"{more}Allocator (GPU_0_bfc) ran out of memory trying to allocate {asked >> 30}.00GiB\n"
        f"{ASKED.format(asked)}\nGPU 0: {used} MiB / 81920 MiB\nGPU 1: {used} MiB / 81920 MiB\n"
    )
    offered = slugs(pipeline.explain(text))
    assert (offered[:1] == ["larger-pool"]) is first


VMEM = (
    "# {what}\nvLLM on TPU v6e, with jax.\n\nRESOURCE_EXHAUSTED: Ran out of memory in memory space vmem while"
    " allocating on stack for %{kernel}.1 = bf16[1,12,20480,80]. Scoped allocation with size 36.10M and"
    " limit 32.00M exceeded scoped vmem limit by 4.10M.\n"
)


@pytest.mark.parametrize(
    ("what", "kernel", "paged"),
    [
        ("The ViT's flash-attention needs more vmem", "flash_attention", False),
        ("Attention of the vision encoder needs more vmem", "splash_attention", False),
        ("Ragged paged attention needs more vmem", "ragged_paged_attention", True),
        ("The server needs more vmem", "fusion", True),
    ],
)
def test_a_kernel_of_a_server_that_has_no_pages(what: str, kernel: str, paged: bool) -> None:
    report = pipeline.explain(VMEM.format(what=what, kernel=kernel))
    advice = " ".join(action.remedy.text for action in report.actions)
    assert ("fewer pages" in advice) is paged
    assert ("larger-vmem" in slugs(report)[:1]) is not paged


FRAMES = """Traceback (most recent call last):
  File "/home/me/draw.py", line 9, in <module>
    {call}
  File "/env/lib/python3.10/site-packages/{place}", line 812, in {name}
    {line}
RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: Attempting to allocate 52.10M. That was not possible. \
There are 11.20M free.; (0x0x0_HBM0)
"""


@pytest.mark.parametrize(
    ("place", "name", "infers"),
    [
        ("diffusers/pipelines/kandinsky/pipeline_kandinsky.py", "__call__", True),
        ("transformers/generation/utils.py", "generate", True),
        ("diffusers/models/unets/unet_2d.py", "forward", False),
        ("transformers/trainer.py", "_inner_training_loop", False),
    ],
)
def test_a_pipeline_of_a_library_takes_no_gradient(place: str, name: str, infers: bool) -> None:
    call = 'out = pipe(prompt="a red boat")' if infers else "out = net(x)"
    text = "import torch_xla.core.xla_model as xm\n" + FRAMES.format(
        place=place, name=name, line="x = self.decode(y)", call=call
    )
    report = pipeline.explain(text)
    assert ("weights and what the run has made" in report.verdict) is infers
    assert ("the optimizer's state" in report.verdict) is not infers
    assert ("narrow-weights-of-torch" in slugs(report)) is infers
    assert ("smaller-batch" in slugs(report)) is not infers


@pytest.mark.parametrize(
    ("second", "kept"), [("bfloat16", set()), ("float16", {"float16"}), ("float32", {"float16"})]
)
def test_two_formats_that_exclude_each_other_are_of_two_runs(second: str, kept: set[str]) -> None:
    text = (
        "import torch_xla\npipe = Pipe.from_pretrained(name, torch_dtype=torch.float16)\n"
        f"pipe = Pipe.from_pretrained(name, torch_dtype=torch.{second})\n"
    )
    told = pipeline.explain(text + ASKED.format(1 << 30)).case.capture.surroundings
    assert {value for name, value, _ in told.settings if name == "mixed_precision"} == kept


OF_A_KERNEL = (
    "# jax, a kernel of mine\nimport jax\npl.pallas_call(kernel, grid=(8,))\n{said}\nRESOURCE_EXHAUSTED:"
    " XLA:TPU compile permanent error. Ran out of memory in memory space vmem. Used {used} of 32.00M vmem."
    " Exceeded vmem capacity by 4.00M.\n"
)


@pytest.mark.parametrize(
    ("said", "used", "first"),
    [
        ("With vmem_limit_bytes=48 << 20 it compiles.", "36.00M", "larger-vmem"),
        ("With vmem_limit_bytes=48 << 20 it compiles.", "260.00M", "smaller-kernel-blocks"),
        ("Nothing helps.", "36.00M", "smaller-kernel-blocks"),
    ],
)
def test_the_limit_that_the_text_names_goes_first(said: str, used: str, first: str) -> None:
    assert slugs(pipeline.explain(OF_A_KERNEL.format(said=said, used=used)))[0] == first


@pytest.mark.parametrize(
    ("device", "said", "torch"),
    [
        ("8 TPU cores", "ProcessExitedException: process 3 terminated with signal SIGKILL", True),
        ("8 TPU cores", "process 3 terminated with signal SIGKILL", True),
        ("4 GPUs", "ProcessExitedException: process 3 terminated with signal SIGKILL", False),
    ],
)
def test_what_spawn_raises_on_a_tpu_is_of_pytorch(device: str, said: str, torch: bool) -> None:
    report = pipeline.explain(f"# My training on {device} dies\n{said}\n")
    code = " ".join(action.remedy.code or "" for action in report.actions)
    assert ("MpModelWrapper" in code) is torch
