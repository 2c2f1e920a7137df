"""Blocks of code in Markdown are called by the language that they are in."""

from __future__ import annotations

import pytest

import tfmemlens
from tests.conftest import SAMPLES
from tfmemlens.model.capture import Capture, Source
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Finding, Remedy, Severity
from tfmemlens.model.report import Report
from tfmemlens.renderers.markdown import _fences
from tfmemlens.renderers.markdown import report as markdown

SHELL = [
    "export TF_BFC_MEMORY_DUMP=/tmp/bfc",
    "export XLA_PYTHON_CLIENT_MEM_FRACTION=.60   # before Python starts",
    "python train.py 2> train.log; tfmemlens explain train.log",
    "JAX_PLATFORMS=cpu python train.py",
    "LD_PRELOAD=/usr/lib/libjemalloc.so.2 tensorflow_model_server ...",
    "nvidia-smi",
    "nvidia-smi   # then: export CUDA_VISIBLE_DEVICES=1",
    "# who is it?\nps -fp 4711\nkill 4711",
    "sudo fallocate -l 4G /swapfile && sudo mkswap /swapfile",
    "pip install tensorflow==1.15.5",
    "dmesg -T | grep -i 'killed process'",
]
PYTHON = [
    "block = tf.recompute_grad(block)",
    "free = [1]",
    "top = 3; kill = None; export = save(model)",
    "python.run(model)",
    "with tf.device('/cpu:0'):",
    "@tf.function(reduce_retracing=True)",
    "for x in ds:\n    step(x)",
    "# nothing but a remark",
]
TEXT = [
    "tfmemlens run --trace -- python train.py\n# or by hand:\ntf.profiler.experimental.start('logdir')",
    "const y = tf.tidy(() => model.predict(x));",
    "config.mutable_gpu_options()->set_allow_growth(true);",
    "dynamic_batching { max_queue_delay_microseconds: 100 }",
]


def fence_of(code: str) -> str:
    """What Markdown calls a remedy's code."""
    finding = Finding(Severity.CAUSE, "it failed", remedies=(Remedy("try this", code=code),))
    lines = markdown.render(Report(Case(Capture(Source("log")), ()), (finding,), "it failed")).split("\n")
    at = next(number for number, line in enumerate(lines) if line.startswith("  ```"))
    assert lines[at + 1 : at + 2 + code.count("\n")] == [f"  {line}" for line in code.split("\n")]
    assert lines[at + 2 + code.count("\n")] == "  ```"
    return lines[at][5:]


@pytest.mark.parametrize("code", SHELL)
def test_commands_are_a_shells(code: str) -> None:
    assert fence_of(code) == "sh"


@pytest.mark.parametrize("code", PYTHON)
def test_what_parses_is_python(code: str) -> None:
    assert fence_of(code) == "python"


@pytest.mark.parametrize("code", TEXT)
def test_what_is_neither_or_both_is_text(code: str) -> None:
    assert fence_of(code) == "text"


def test_a_real_page_has_both() -> None:
    text = tfmemlens.explain(SAMPLES / "oom_log" / "2.21-layer-exception.txt").to_markdown()
    assert "  ```python\n  squares = " in text
    shown = text.partition("<details>")[0]
    assert "```python\n  export" not in shown and "```python\n  tfmemlens" not in shown


def test_no_line_inside_closes_a_block() -> None:
    assert _fences.block("a\n````\nb", "text") == ["`````text", "a", "````", "b", "`````"]
    assert _fences.block("a `b`", "text") == ["```text", "a `b`", "```"]


def test_a_fence_in_a_verdict_leaves_the_page_whole() -> None:
    lines = markdown.render(Report(Case(Capture(Source("log")), ()), (), "```\nit failed")).split("\n")
    assert [line for line in lines if line.startswith("````")] == ["````text", "````"]
