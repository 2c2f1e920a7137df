"""Blocks as large as the request: what lives is no block of temporaries, which ends with its call."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

_SIZE = 3_000_000_000


def _dump(size: int = _SIZE, count: int = 4, others: int = 0, below: str = "") -> str:
    stamp = "2025-03-02 10:00:00.000001: "
    at = f"{stamp}I xla/tsl/framework/bfc_allocator.cc:"
    used = [(size, count)] if not others else [(size, count), (others, 1)]
    chunks = [each for each, many in used for _ in range(many)]
    held = sum(chunks)
    lines = [
        f"{stamp}W xla/tsl/framework/bfc_allocator.cc:501] Allocator (GPU_0_bfc) ran out of memory trying to"
        f" allocate {_SIZE / 2**30:.2f}GiB (rounded to {_SIZE})requested by op",
        f"{at}1058] BFCAllocator dump for GPU_0_bfc",
        f"{at}1094] Next region of size {held + 2_000_000_000}",
        *(f"{at}1114] InUse at 7f00{i:08x} of size {each} next {i + 1}" for i, each in enumerate(chunks)),
        f"{at}1114] Free  at 7f00ffffff00 of size 2000000000 next 18446744073709551615",
        f"{at}1119]      Summary of in-use Chunks by size:",
        *(f"{at}1122] {n} Chunks of size {each} totalling {n * each / 2**30:.2f}GiB" for each, n in used),
        f"{at}1126] Sum Total of in-use chunks: {held / 2**30:.2f}GiB",
        f"{at}1133] Stats:",
        f"Limit:            {held + 2_000_000_000}",
        f"InUse:            {held}",
        f"MaxInUse:         {held}",
        f"NumAllocs:        {len(chunks)}",
        f"MaxAllocSize:     {max(chunks)}",
        "",
        "E0302 10:00:00.000002 77 pjrt_stream_executor_client.cc:3088] Execution of replica 0 failed:"
        f" RESOURCE_EXHAUSTED: Out of memory while trying to allocate {_SIZE} bytes.",
        below,
    ]
    return "\n".join(lines)


_JULIA = """ERROR: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3000000000 bytes.

Stacktrace:
 [1] reactant_err(msg::Cstring)
   @ Reactant.XLA ~/.julia/packages/Reactant/a1b2c/src/XLA.jl:90
 [2] top-level scope
   @ ./REPL[3]:2"""
_PYTHON = """Traceback (most recent call last):
  File "/home/user/waves.py", line 12, in <module>
    field = propagate(field, kernel)
  File "/usr/lib/python3.11/site-packages/jax/_src/pjit.py", line 340, in cache_miss
    out = compiled(*args)
XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3000000000 bytes."""


def test_four_live_as_large_as_the_request() -> None:
    report = pipeline.explain(_dump(below=_JULIA))
    assert "4 arrays of just this size (2.79 GiB) live on the device already" in report.verdict
    assert report.actions[0].remedy.slug == "drop-references"
    assert "GC.gc()" in report.actions[0].remedy.text and report.actions[0].remedy.code is None
    slugs = {action.remedy.slug for action in report.actions}
    assert not slugs & {"name-the-buffers", "look-for-lists", "smaller-batch"}


def test_in_python_they_are_dropped_or_donated() -> None:
    report = pipeline.explain(_dump(below=_PYTHON))
    assert "arrays of just this size" in report.verdict
    assert "donate_argnums" in str(report.actions[0].remedy.code)


@pytest.mark.parametrize(
    "text",
    [
        _dump(count=3, below=_JULIA),  # as few as an input, a weight and a result
        _dump(size=2_999_000_064, below=_JULIA),  # of another size
        _dump(others=13_000_000_000, below=_JULIA),  # less than half of what is in use
    ],
)
def test_near_misses(text: str) -> None:
    assert "arrays of just this size" not in pipeline.explain(text).verdict


_COMPILING = """Traceback (most recent call last):
  File "/home/user/step.py", line 40, in <module>
    params, loss = update_fn(params, batch, rate)
  File "/usr/lib/python3.11/site-packages/jax/_src/compiler.py", line 238, in {frame}
    return {call}
XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 900000000 bytes."""


def test_what_fails_while_it_is_compiled_is_no_step() -> None:
    text = _COMPILING.format(
        frame="backend_compile", call="backend.compile(built_c, compile_options=options)"
    )
    report = pipeline.explain(text)
    assert "still compiling the program (`backend_compile`)" in report.verdict
    assert "all temporaries" not in report.verdict
    slugs = [action.remedy.slug for action in report.actions]
    assert slugs[:2] == ["ask-what-is-in-use", "default-algorithm"]


def test_what_fails_when_it_runs_is_the_step() -> None:
    text = _COMPILING.format(frame="__call__", call="self.xla_executable.execute_sharded(args)")
    report = pipeline.explain(text)
    assert "all temporaries of the compiled step" in report.verdict
    assert "default-algorithm" not in [action.remedy.slug for action in report.actions]
