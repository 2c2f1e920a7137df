"""JAX and PyTorch/XLA word one failure in many ways: each is read, and the framework recognised."""

from __future__ import annotations

import pytest

from tfmemlens.model.capture import Capture
from tfmemlens.readers.formats import oom_log

GIB = 1 << 30


def read(text: str) -> Capture:
    return oom_log.read_lines(list(enumerate(text.split("\n"), 1)))


@pytest.mark.parametrize(
    ("text", "framework", "kind", "size"),
    [
        (
            "RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in\n"
            "memory space vmem. Used 65.05M of 64.00M vmem. Exceeded vmem capacity by 1.05M",
            "torch_xla",
            "TPU",
            68209869,
        ),
        (
            "Ran out of memory in memory space vmem.\nEstimated 268.96MB exceeds 67.11MB vmem capacity.",
            "xla",
            "TPU",
            268960000,
        ),
        (
            "jax: RESOURCE_EXHAUSTED: Error loading program 'jit__multi_slice': Attempting to reserve 6.00G at the bottom"
            " of memory. That was not possible.",
            "jax",
            "TPU",
            6 * GIB,
        ),
        (
            "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 51367680000 bytes.",
            "jax",
            "HOST",
            51367680000,
        ),
        (
            "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: Error dispatching computation: Out of memory allocating"
            " 274877906944 bytes.",
            "jax",
            "HOST",
            274877906944,
        ),
        (
            "XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for 2.00GiB on device ordinal 0",
            "xla",
            "XLA",
            2 * GIB,
        ),
        (
            "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate\n"
            "request for 9.50GiB (10200547328B) on device\nordinal 0",
            "jax",
            "XLA",
            10200547328,
        ),
        (
            "jaxlib._jax.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate\n"
            "17179869184 bytes.",
            "jax",
            "XLA",
            16 * GIB,
        ),
        (
            'I get "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 21474836480 bytes." from my pmapped step',
            "jax",
            "XLA",
            20 * GIB,
        ),
        (
            "RuntimeError: Resource exhausted: Out of memory while trying to allocate 12884901888 bytes.: while running"
            " replica 0 and partition 0 of a replicated computation (other replicas may have failed as well).",
            "jax",
            "XLA",
            12 * GIB,
        ),
        (
            "Ran out of memory in memory space hbm.Used 20.00G of 16.00G hbm.Exceeded hbm capacity by 4.00G.",
            "xla",
            "TPU",
            20 * GIB,
        ),
        (
            'File "/usr/lib/python3.10/site-packages/torch_xla/core/xla_model.py", line 1055, in mark_step\n'
            "RuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 20.00G of 16.00G hbm."
            " Exceeded hbm capacity by 4.00G.",
            "torch_xla",
            "TPU",
            20 * GIB,
        ),
        (
            "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 864144000 bytes. [Op:__inference_f_14]",
            "tensorflow",
            "XLA",
            864144000,
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_wording(text: str, framework: str, kind: str, size: int) -> None:
    capture = read(text)
    assert capture.source.framework == framework
    (incident,) = capture.incidents
    assert incident.request.kind.name == kind
    assert incident.request.size is not None
    assert abs(incident.request.size.bytes - size) <= incident.request.size.error_bytes


def test_the_user_s_line_is_above_the_message_though_the_traceback_s_head_is_cut() -> None:
    capture = read(
        '  File "train.py", line 40, in main\n'
        "    params = replicate(init(rng))\n"
        '  File "/usr/lib/python3.11/site-packages/jax/_src/api.py", line 2118, in device_put\n'
        "    out_flat = dispatch._batched_device_put_impl(\n"
        "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 14400000000 bytes.\n"
    )
    (incident,) = capture.incidents
    assert (incident.request.source, incident.request.source_text) == (
        "train.py:40",
        "params = replicate(init(rng))",
    )


def test_a_runtime_s_own_node_is_no_layer() -> None:
    capture = read(
        "RESOURCE_EXHAUSTED: Attempting to reserve 8.00G at the bottom of memory. That was not possible. There are"
        " 6.00G free, 0B reserved, and 6.00G reservable.\n\t [[{{node XRTExecute}}]]"
    )
    assert capture.source.framework == "torch_xla"
    assert capture.incidents[0].request.node is None


def test_a_program_that_imports_jax_beside_tensorflow_fails_in_tensorflow() -> None:
    capture = read(
        "jax 0.4.30, flax 0.8\n"
        "ResourceExhaustedError: OOM when allocating tensor with shape[8,64] and type float on /device:GPU:0 by"
        " allocator GPU_0_bfc [Op:Mul]"
    )
    assert capture.source.framework == "tensorflow"


def test_the_allocator_s_dump_of_an_arena_belongs_to_the_program() -> None:
    """BFC rounds what XLA asks for up to 256 bytes."""
    capture = read(
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 12.90GiB (rounded to 13851270400)requested by"
        " op \nExecution of replica 0 failed: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
        " 13851270272 bytes.\nBufferAssignment stats:\n     preallocated temp allocation:   12.90GiB\n"
    )
    (incident,) = capture.incidents
    assert incident.compiler is not None


@pytest.mark.parametrize(
    ("header", "era"),
    [
        ("Exception encountered when calling Conv2D.call().", ("2.16", "2.21")),
        ("Exception encountered when calling layer 'conv2d_5' (type Conv2D).", ("2.7", "2.21")),
        ("Node: 'model/conv2d_5/Relu'", ("2.4", "2.21")),
    ],
)
def test_a_cut_sentence_below_a_header_of_tf_2_is_not_of_tf_1(header: str, era: tuple[str, str]) -> None:
    sentence = "Resource exhausted: OOM when allocating tensor with shape[64,28,28,128]"
    assert read(sentence).source.version == ("0.8", "1.4")
    assert read(f"{header}\n\n{sentence}").source.version == era


@pytest.mark.parametrize(
    "gap", [" and\n  type float on ", "\n  and type float on ", " and type float\n   on "]
)
def test_a_sentence_wrapped_with_an_indent(gap: str) -> None:
    capture = read(
        f"OOM when allocating tensor with shape[8,256,256,64]{gap}/device:GPU:0 by allocator GPU_0_bfc\n"
    )
    (incident,) = capture.incidents
    assert (incident.request.dtype, incident.request.allocator) == ("float32", "GPU_0_bfc")


def test_a_memory_analysis_is_an_account_and_no_failure() -> None:
    """argument + output + temp - alias."""
    capture = read(
        "CompiledMemoryStats(generated_code_size_in_bytes=10, argument_size_in_bytes=1000,"
        " output_size_in_bytes=200, alias_size_in_bytes=200, temp_size_in_bytes=5000,"
        " host_generated_code_size_in_bytes=0, host_temp_size_in_bytes=7)"
    )
    assert capture.source.framework == "jax"
    (incident,) = capture.incidents
    assert (incident.request.kind.name, incident.fatal) == ("PROGRAM", False)
    assert incident.request.size is not None and incident.request.size.bytes == 6010
    assert incident.compiler is not None
    section = incident.compiler.section("preallocated temp")
    assert section is not None and section.bytes == 5000


def test_a_failure_outranks_the_account_above_it() -> None:
    capture = read(
        "CompiledMemoryStats(argument_size_in_bytes=1000, output_size_in_bytes=200, temp_size_in_bytes=5000)\n"
        "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 51367680000 bytes."
    )
    assert [incident.request.kind.name for incident in capture.incidents] == ["HOST", "PROGRAM"]
