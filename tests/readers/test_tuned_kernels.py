"""Kernels that XLA tried while it compiled: the log quotes them, and one of their arrays is the request."""

from __future__ import annotations

import pytest

from tfmemlens.model.capture import Capture
from tfmemlens.readers.formats import oom_log

REFUSED = (
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate {size} with allocator GPU_0_bfc on device 0."
)
EMPTY = " [tf-allocator-allocation-error='']"
NAMED = " [executable_name='jit_fit']"


def read(text: str) -> Capture:
    return oom_log.read_lines(list(enumerate(text.split("\n"), 1)))


def tried(shape: str, operand: str, name: str, size: str) -> str:
    """What the log quotes of a kernel, and the exception that follows."""
    return "\n".join(
        [
            "E1127 22:07:13.762243 534 config_assigner.cc:536] Could not get config for HLO:"
            f" %gemm.59 = {shape}{{2,1,0}} fusion(%a.1, %b.1), kind=kCustom, calls=",
            f"(parameter_0.1: {operand}) -> {shape} {{",
            f'  ROOT %mul.86 = {shape}{{2,1,0}} dot(%a.35, %b.37), metadata={{op_name="{name}" id=18}}',
            f'}}, metadata={{op_name="{name}"}}. Status: NOT_FOUND: All configs failed during profiling.',
            f"EXECUTION FAILED: {REFUSED.format(size=size)}{EMPTY}",
            "Traceback (most recent call last):",
            '  File "/home/user/net.py", line 66, in <module>',
            "    loss = train_step(model, tiles)",
            "jax.errors.JaxRuntimeError: NOT_FOUND: Failed to get configs for: 3 out of 104 instructions.",
            f"EXECUTION FAILED: {REFUSED.format(size=size)}{EMPTY}",
        ]
    )


@pytest.mark.parametrize("brackets", [NAMED + EMPTY, EMPTY + NAMED, NAMED])
def test_brackets_come_in_either_order(brackets: str) -> None:
    request = read(f"XlaRuntimeError: {REFUSED.format(size='1.00GiB')}{brackets}").incidents[0].request
    assert request.executable == "jit_fit" and request.allocator == "GPU_0_bfc"


def test_the_request_is_the_array_with_its_guards() -> None:
    text = tried(
        "f32[8,16384,16384]", "f32[16384,8,16]", "jit(train_step)/jvp(vmap(a->b))/dot_general", "8.02GiB"
    )
    incident = read(text).incidents[0]
    assert incident.request.shape == (8, 16384, 16384) and incident.request.dtype == "float32"
    assert incident.request.node == "jit(train_step)/jvp(vmap(a->b))/dot_general"
    assert incident.compiler and incident.compiler.tried and incident.compiler.squares == (16384,)
    assert incident.request.line and incident.request.line.number == 10, (
        "the exception, not the kernel's text"
    )


@pytest.mark.parametrize(
    ("size", "known"), [("8.02GiB", True), ("8.00GiB", True), ("8.20GiB", False), ("7.90GiB", False)]
)
def test_other_sizes_are_no_array_of_the_kernel(size: str, known: bool) -> None:
    request = read(tried("f32[8,16384,16384]", "f32[4]", "jit(f)/a/dot", size)).incidents[0].request
    assert (request.shape is not None) is known


def test_a_program_that_ran_is_no_kernel() -> None:
    text = tried("f32[8,16384,16384]", "f32[4]", "jit(f)/a/dot", "8.02GiB").partition("EXECUTION")[0]
    request = read(f"{text}\nJaxRuntimeError: {REFUSED.format(size='8.02GiB')}{NAMED}").incidents[0].request
    assert request.shape is None and request.executable == "jit_fit"


BEYOND = (
    "E1127 22:08:07.6 3928 gpu_hlo_schedule.cc:1068] The byte size of input/output arguments ({given})"
    " exceeds the base limit (4504682496). This indicates an error in the calculation!"
)
DUMP = (
    "W1127 22:08:17.7 3928 bfc_allocator.cc:598] Allocator (GPU_0_bfc) ran out of memory trying to allocate"
    " 219.73MiB (rounded to 230400000) from the lower end requested by op"
)


@pytest.mark.parametrize("before", [True, False])
def test_what_xla_warns_of_behind_a_refusal_is_of_a_later_program(before: bool) -> None:
    warned = BEYOND.format(given=5530426704)
    lines = [warned, DUMP] if before else [DUMP, warned]
    lines.append(f"JaxRuntimeError: {REFUSED.format(size='219.73MiB')}{NAMED}{EMPTY}")
    compiler = read("\n".join(lines)).incidents[0].compiler
    assert bool(compiler and compiler.arguments_and_results) is before


CONVOLUTION = tried("(f32[2048,64,64,64], u8[0])", "f32[3,3,64,64]", "jit(sample)/Conv_0/conv", "{size}")
SCRATCH = f"EXECUTION FAILED: {REFUSED.format(size='16.00MiB')}{EMPTY}"


def test_an_empty_part_of_a_result_is_never_the_request() -> None:
    text = CONVOLUTION.replace("{size}", "16.00MiB")
    request = read(text).incidents[0].request
    assert request.shape is None and request.size and request.size.bytes == 16 << 20


@pytest.mark.parametrize("first", [True, False])
def test_the_largest_array_of_what_was_tried_leads(first: bool) -> None:
    kernel, below = CONVOLUTION.replace("{size}", "2.02GiB").split("\nEXECUTION FAILED", 1)
    texts = [SCRATCH, f"EXECUTION FAILED{below}"]
    text = "\n".join([kernel, *(texts if first else reversed(texts))])
    incidents = read(text).incidents
    assert len(incidents) == 1
    assert incidents[0].request.shape == (2048, 64, 64, 64)


def test_a_later_program_that_ran_is_a_failure_of_its_own() -> None:
    kernel = CONVOLUTION.replace("{size}", "16.00MiB")
    text = f"{kernel}\nJaxRuntimeError: {REFUSED.format(size='3.00GiB')}{NAMED}"
    assert len(read(text).incidents) == 2
