"""The conditions under which a step runs: what was asked for, else what the model's file says, else what this
machine has; each with where it is from, for the page.
"""

from __future__ import annotations

import os

from tfmemlens.errors import Unpredictable
from tfmemlens.estimation.batch_scaling import conv3d_cache
from tfmemlens.knowledge.convolution.onednn import FIRST_BY_DEFAULT
from tfmemlens.model.settings import StepSettings
from tfmemlens.units import human
from tfmemlens.values import dataclass, replace

ONEDNN_ERROR = 0.03
"""What is added to the bar where oneDNN computes convolutions: with it, 30 of its
32 cases lay inside (scripts/benchmarks/predictions.py, the sets before the sixth).
"""
OPEN_ONEDNN_ERROR = 0.10
"""The same where nobody says whether it does: of 13 nets in TensorFlow 2.21 the worst was predicted 26 % too
high.
"""
GPU_ERROR = 0.30
"""No GPU was measured: at least so far off may a step on one be."""
XLA_LESS, XLA_MORE = 0.6, 1.0
"""XLA took 0.4 to 2 times as much as TensorFlow's executor in seven nets on a CPU."""
GPU_NOTE = (
    "no GPU was measured: cuDNN's and cuBLAS's workspaces, XLA's fusions, copies between layouts,"
    " fragmentation of the pool and the CUDA context are what CPU measurements cannot confirm; the range is a"
    " guess that admits them, not an error that was found"
)
_THIS_MACHINE = "this machine"


@dataclass(frozen=True, slots=True)
class Machine:
    """What a machine decides; None: it does not say."""

    threads: int = 4
    l3_bytes: int | None = None
    onednn: bool | None = None
    """As TF_ENABLE_ONEDNN_OPTS says; without it, TensorFlow's build decides."""


def this_machine() -> Machine:
    """The machine that this runs on, as TensorFlow would see it."""
    try:
        threads = len(os.sched_getaffinity(0))
    except AttributeError:  # no such call on macOS and Windows
        threads = os.cpu_count() or 1
    switch = os.environ.get("TF_ENABLE_ONEDNN_OPTS")
    onednn = None if switch is None else switch not in ("0", "false", "False")
    return Machine(threads, conv3d_cache.this_machines_cache_bytes(), onednn)


@dataclass(frozen=True, slots=True)
class Conditions:
    """Settings with nothing left open but what nobody knows, and a line that says where they are from."""

    settings: StepSettings
    line: str


def settled(asked: StepSettings, compiled: bool | None = None, version: str | None = None) -> Conditions:
    """The conditions of a step. `compiled`: what the model's file says of XLA (`jit_compile`), None where it
    says nothing; `version`: the TensorFlow that wrote a graph, as far as that is known.
    """
    machine = this_machine()
    digits = tuple(int(each) for each in (version or "").split(".")[:2] if each.isdecimal())
    too_old = len(digits) == len(FIRST_BY_DEFAULT) and digits < FIRST_BY_DEFAULT
    jit = asked.jit if asked.jit is not None else compiled
    if jit is None and asked.device == "cpu":
        jit = False
    onednn, source = asked.onednn, f"--{'' if asked.onednn else 'no-'}onednn"
    if onednn is None and too_old:
        onednn, source = False, f"TensorFlow {version}"
    elif onednn is None:
        onednn, source = machine.onednn, "TF_ENABLE_ONEDNN_OPTS"
    settings = replace(
        asked,
        threads=asked.threads or asked.workers or machine.threads,
        workers=asked.workers or machine.threads,
        l3_bytes=asked.l3_bytes or machine.l3_bytes,
        onednn=onednn,
        jit=jit,
    )
    told = [f"{_threads(settings.workers or 1)} ({'--threads' if asked.workers else _THIS_MACHINE})"]
    if settings.device == "cpu":
        told += [_cache(asked, machine), _onednn(onednn, source)]
    told.append(_xla(jit, _source_of_jit(asked, compiled)))
    return Conditions(settings, f"taken: {', '.join(told)}")


def check_no_xla(settings: StepSettings, name: str) -> None:
    """Raises Unpredictable for a step that XLA compiles for the CPU: its program keeps an arena of which the
    ops tell nothing.
    """
    if settings.jit and settings.device == "cpu":
        raise Unpredictable(
            f"XLA compiles the step of {name}, and what its program needs is not predicted",
            "--no-jit predicts the step without XLA; with XLA four nets took 0.4 to 2 times as much on a CPU",
        )


def _threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def _cache(asked: StepSettings, machine: Machine) -> str:
    if asked.l3_bytes:
        return f"L3 cache {human(asked.l3_bytes)} (--l3)"
    return f"L3 cache {human(machine.l3_bytes)} ({_THIS_MACHINE})" if machine.l3_bytes else "L3 cache unknown"


def _onednn(onednn: bool | None, source: str) -> str:
    if onednn is None:
        return "oneDNN left open (the error bar holds both)"
    return f"oneDNN {'on' if onednn else 'off'} ({source})"


def _xla(jit: bool | None, source: str) -> str:
    if jit is None:
        return "XLA left open (the range holds both)"
    return f"XLA {'on' if jit else 'off'} ({source})"


def gpu_shares(settings: StepSettings, share: float) -> tuple[float, float]:
    """How far below and above a prediction for a GPU the range reaches."""
    if settings.jit is False:
        return max(share, GPU_ERROR), max(share, GPU_ERROR)
    return max(share, XLA_LESS), max(share, XLA_MORE)


def _source_of_jit(asked: StepSettings, compiled: bool | None) -> str:
    if asked.jit is not None:
        return "--jit" if asked.jit else "--no-jit"
    return "Keras's default on a CPU" if compiled is None else "jit_compile of the file"
