"""Servers of language models on JAX or PyTorch/XLA, and what each calls its settings."""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.stated_sizes import stated_number
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

A_SERVER = "program: a server"


@dataclass(frozen=True, slots=True)
class Flags:
    """What is set on one server's command line."""

    part: str
    """Of the device, for weights and cache."""
    call: str
    """The tokens and sequences of one call."""
    kernel: str
    """The same, as the sizes of a kernel's blocks follow from it."""
    devices: str


_VLLM = Flags(
    "--gpu-memory-utilization 0.8",
    "--max-model-len 8192 --max-num-seqs 64 --max-num-batched-tokens 2048",
    "--max-num-batched-tokens 1024 --max-model-len 8192",
    "--tensor-parallel-size 8",
)
_OTHERS = (
    (
        regex(r"(?i)\bsgl(?:ang)?\b|\bsgl[-_]jax\b|\bmem[-_]fraction[-_]static\b"),
        Flags(
            "--mem-fraction-static 0.7",
            "--context-length 8192 --max-running-requests 64 --chunked-prefill-size 2048",
            "--chunked-prefill-size 1024 --max-running-requests 64",
            "--tp-size 8",
        ),
    ),
    (
        regex(r"(?i)\bjetstream\b|\bmaxengine\b"),
        Flags(
            "python -m ... per_device_batch_size=16 quantize_kvcache=True",
            "python -m ... max_prefill_predict_length=1024 max_target_length=2048",
            "python -m ... max_prefill_predict_length=1024",
            "python -m ... ici_tensor_parallelism=8",
        ),
    ),
)
_SETTING = regex(r"(?P<name>(?:--)?[a-z][\w-]{3,40})(?P<mark>[= ])(?P<value>\d+(?:\.\d+)?)")
_SMALLER = 0.1
"""By so much a part of the device that is set already is made smaller."""


def flags_of(told: Surroundings) -> Flags:
    """Those of the server that the text names; vLLM's where it names no other."""
    line = told.shows(A_SERVER)
    text = line.text if line else ""
    return next((flags for named, flags in _OTHERS if named.search(text)), _VLLM)


def lower_than_set(told: Surroundings, code: str) -> str:
    """The same settings, each below what the text says it is now; of the devices more."""
    return _SETTING.sub(lambda match: _lowered(told, match["name"], match["mark"], match["value"]), code)


def runs_with(told: Surroundings, words: str, value: int) -> Iterator[Line]:
    """The lines that say that the server runs with a setting at this value."""
    runs = regex(
        rf"(?i)\b{words.replace('_', '[-_]')}[= ]{{1,3}}{value}\b[`'\" ]{{0,3}}(?:\w+ )?"
        r"(?:runs|works|worked|starts|is fine|is ok|goes through|fits)\b"
    )
    lines = (*told.code, *(line for _, line in told.purposes))
    return (line for line in lines if runs.search(line.text))


def _lowered(told: Surroundings, name: str, mark: str, value: str) -> str:
    words = name.lstrip("-").replace("-", "_")
    line = told.shows(A_SERVER)
    if "." in value:
        found = regex(rf"(?i){words.replace('_', '[-_]')}[= ]{{1,3}}(?P<part>[01]?\.\d+)").search(
            line.text if line else ""
        )
        new = f"{max(float(found['part']) - _SMALLER, 0.3):.2g}" if found else value
        return f"{name}{mark}{new}"
    if "parallel" in words or "tp_size" in words:
        set_now = told.setting("tensor_parallel_size")  # over more devices than it is now
        return f"{name}{mark}{max(int(value), 2 * int(set_now[0])) if set_now else value}"
    knob = regex(rf"(?i)\A{words.replace('_', '[-_]')}\Z")
    stated = stated_number(told.sizes, knob)
    if stated is None or stated[1] > int(value):
        return f"{name}{mark}{value}"
    if any(runs_with(told, words, stated[1])):
        return f"{name}{mark}{stated[1]}"
    return f"{name}{mark}{max(stated[1] // 2, 1)}"
