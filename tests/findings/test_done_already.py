"""What a text says of its own program: it updates seldom, has 16 bits, its buffer or its limit is known."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

HBM = "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 20.00G of 7.48G hbm. Exceeded hbm"
TORCH = "pytorch_xla on a TPU"


def slugs(text: str) -> list[str]:
    return [each.remedy.slug for each in pipeline.explain(text).actions]


@pytest.mark.parametrize(
    ("told", "seldom"),
    [
        ("I call loss.backward() each iteration and optimizer.step() every 24 iterations.", True),
        ("We accumulate gradients over 8 batches.", True),
        ("I accumulate gradients over 8 batches, with xm.mark_step() after each of them.", False),
        ("optimizer.step() runs in every iteration.", False),
        ("We accumulate losses over an epoch.", False),
    ],
)
def test_words_tell_that_a_step_ends_with_the_update_alone(told: str, seldom: bool) -> None:
    report = pipeline.explain(f"{TORCH}\n{HBM} capacity by 12.52G.\n{told}\n")
    assert ("ends a step only with the update" in report.verdict) is seldom


MOVED = (
    "----> 1 trainer.train()\n/usr/lib/python3.11/dist-packages/torch/nn/modules/module.py in convert(t)\n"
    "-> 1329             return t.to(\n   1330                 device,\n\n"
    "RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to"
    " allocate 112.00M. That was not possible. There are 64.41M free.; (0x0x0_HBM0)\n"
)


@pytest.mark.parametrize(
    ("told", "narrow"),
    [
        ("the model is a Mistral-7B in bf16", True),
        ("the weights are loaded as bfloat16", True),
        ("the model is a Mistral-7B; should the model be in bf16?", False),
        ("the model is trained in bf16", False),
        ("the model is not in bf16", False),
    ],
)
def test_weights_that_are_in_16_bits_are_not_told_to_be(told: str, narrow: bool) -> None:
    assert ("narrow-weights-of-torch" not in slugs(f"{TORCH}\n{MOVED}\n{told}\n")) is narrow


def test_a_limit_is_raised_above_what_it_is() -> None:
    text = (
        "memory: usage 209715200kB, limit 209715200kB, failcnt 9\n"
        "oom-kill:constraint=CONSTRAINT_MEMCG,cpuset=cri-containerd-5f0c,oom_memcg=/kubepods.slice/pod7\n"
        "Memory cgroup out of memory: Killed process 29 (python3) total-vm:411820132kB, anon-rss:99kB\n"
    )
    (code,) = {
        each.remedy.code
        for each in pipeline.explain(text).actions
        if each.remedy.slug == "raise-container-limit"
    }
    assert code is not None and "--memory=240g" in code


REPLAYED = (
    "train = partial(sac.train, num_timesteps={steps}, num_envs=1, batch_size=32)\n"
    "jax, brax: SAC with a replay buffer fails, environments or not.\n"
    "BufferAssignment OOM Debugging.\n"
    "BufferAssignment stats:\n"
    "             parameter allocation:        16B\n"
    "              constant allocation:         8B\n"
    "        maybe_live_out allocation:    7.45GiB\n"
    "     preallocated temp allocation:        40B\n"
    "                 total allocation:    7.45GiB\n"
    "Peak buffers:\n"
    "\tBuffer 1:\n"
    "\t\tSize: 7.45GiB\n"
    '\t\tOperator: op_name="jit(init)/jit(main)/broadcast_in_dim"\n'
    "\t\tXLA Label: broadcast\n"
    "\t\tShape: f32[1,10000000,200]\n"
    "\t\t==========================\n"
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
    " 8000000000 bytes.\n"
)


@pytest.mark.parametrize(
    ("steps", "first"), [("10_000_000", "smaller-replay"), ("5_000_000", "narrow-weights")]
)
def test_an_array_as_long_as_the_training_is_the_replay_buffer(steps: str, first: str) -> None:
    assert slugs(REPLAYED.format(steps=steps))[0] == first


def test_two_programs_on_one_tpu_get_chips_of_their_own() -> None:
    text = "ABORTED: The TPU is already in use by process with pid 42. Not attempting to load libtpu.so\n"
    assert slugs(text)[:2] == ["free-the-tpu", "chips-of-its-own"]


HEAD = (
    "2026-01-01 10:00:00.1: W bfc_allocator.cc:433] Allocator (GPU_0_bfc) ran out of memory trying to"
    " allocate 36.0KiB (rounded to 36864)requested by op\n"
    "2026-01-01 10:00:00.2: W bfc_allocator.cc:441] ************************\n"
)
RAISED = (
    'Traceback (most recent call last):\n  File "fit.py", line 7, in <module>\n    g = vg(p)\n'
    "RuntimeError: Resource exhausted: Out of memory while trying to allocate 36864 bytes.\n"
)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        (f"import jax\n{HEAD}{RAISED}", False),  # a program of JAX's logs no more
        (f"import jax\n{HEAD}", True),
        (f"import tensorflow as tf\n{HEAD}", True),
    ],
)
def test_a_log_of_jax_that_is_whole_is_not_asked_for(text: str, cut: bool) -> None:
    findings = pipeline.explain(text).findings
    assert any(each.rule == "cut-dump" for each in findings) is cut
