"""Where a remedy applies, as data: framework, version, device, what the run is and what it does already."""

from __future__ import annotations

from collections.abc import Iterable

from tfmemlens.findings.support.rows import is_forward_only, on_host
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.case import Case, FrontEnd, Moment
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

TENSORFLOW, JAX, TORCH_XLA = "tensorflow", "jax", "torch_xla"
CPU, GPU, TPU = "cpu", "gpu", "tpu"
FRAMEWORKS, DEVICES = (TENSORFLOW, JAX, TORCH_XLA), (CPU, GPU, TPU)
_NEVER = (0, 0)


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known of a run that decides which remedies apply to it."""

    framework: str = TENSORFLOW
    oldest: tuple[int, int] = _NEVER
    newest: tuple[int, int] = (2, 99)
    """TensorFlow's version, as far as it is known; of other frameworks it says nothing."""
    device: str | None = None
    """`cpu`, `gpu` or `tpu`; None where nothing tells."""
    training: bool | None = None
    """None where nothing tells."""
    optimizer: bool | None = None
    """Whether the optimizer keeps slots; None where nothing tells."""
    half: bool = False
    """Whether activations are in 16 bits already."""
    done: frozenset[str] = frozenset()
    """Changes that the input says are in place."""


@dataclass(frozen=True, slots=True)
class Applicability:
    """Where a remedy applies."""

    frameworks: frozenset[str] = frozenset(FRAMEWORKS)
    since: tuple[int, int] = _NEVER
    """The first TensorFlow that has it."""
    devices: frozenset[str] = frozenset(DEVICES)
    training: bool = False
    """Whether it helps training alone."""
    wide: bool = False
    """Whether activations must be in 32 bits."""
    optimizer: bool = False
    """Whether it is idle when the optimizer is known to keep no slots."""

    def holds(self, slug: str, run: Situation) -> bool:
        """Whether the remedy of this slug applies to the run."""
        return (
            run.framework in self.frameworks
            and (run.framework != TENSORFLOW or run.newest >= self.since)
            and (run.device is None or run.device in self.devices)
            and not (self.training and run.training is False)
            and not (self.wide and run.half)
            and not (self.optimizer and run.optimizer is False)
            and slug not in run.done
        )


TABLE = {
    "smaller-batch": Applicability(),
    "mixed-precision": Applicability(frozenset({TENSORFLOW}), since=(1, 14), wide=True),
    "recompute": Applicability(frozenset({TENSORFLOW, JAX}), since=(1, 4), training=True),
    "lighter-optimizer": Applicability(training=True, optimizer=True),
    "gradient-accumulation": Applicability(training=True),
    "smaller-input": Applicability(),
    "no-layout-copies": Applicability(frozenset({TENSORFLOW}), devices=frozenset({CPU, GPU})),
    "growth": Applicability(frozenset({TENSORFLOW}), devices=frozenset({GPU})),
}
"""The remedies that several rules offer."""

_DONE = (
    ("mixed-precision", regex(r"mixed_b?float16|mixed_precision")),
    ("recompute", regex(r"recompute_grad|jax\.checkpoint|\bremat\b")),
    ("gradient-accumulation", regex(r"gradient_accumulation|accum(?:ulation)?_steps")),
)


def applies(slug: str, case: Case, moment: Moment) -> bool:
    """Whether the remedy of this slug applies to what the case shows."""
    return TABLE[slug].holds(slug, situation(case, moment))


def situation(case: Case, moment: Moment) -> Situation:
    """What a case tells of its run."""
    owners = moment.attribution.owners
    trained = any(owner.phase in (Phase.GRADIENT, Phase.OPTIMIZER) for owner in owners)
    if moment.request and moment.request.owner.phase in (Phase.GRADIENT, Phase.OPTIMIZER):
        trained = True
    training = False if is_forward_only(moment) else trained or None
    return Situation(
        _framework(case),
        case.api.oldest,
        case.api.newest,
        _device(moment),
        training,
        _keeps_slots(moment),
        _is_half(moment),
        frozenset(_done(case)),
    )


def _keeps_slots(moment: Moment) -> bool | None:
    """A list may leave slots out; a traced step that updates weights shows them."""
    if any(owner.kind is Kind.OPTIMIZER_SLOT for owner in moment.attribution.owners):
        return True
    return False if moment.timeline and len(moment.timeline.standing) else None


def _framework(case: Case) -> str:
    known = case.capture.source.framework
    if case.api.front_end is FrontEnd.JAX or known == JAX:
        return JAX
    return TORCH_XLA if known == TORCH_XLA else TENSORFLOW


def _device(moment: Moment) -> str | None:
    if moment.timeline is not None:
        name = f"{moment.timeline.device} {moment.timeline.allocator}".upper()
    elif moment.request is not None:
        if on_host(moment):
            return CPU
        name = f"{moment.request.failed.device} {moment.request.failed.allocator}".upper()
    else:
        return None
    return next((device for device in (TPU, GPU, CPU) if device.upper() in name), None)


def _is_half(moment: Moment) -> bool:
    """Whether most bytes of activations are in 16 bits."""
    held = {True: 0, False: 0}
    for row, owner in zip(moment.attribution.table, moment.attribution.owners, strict=True):
        if owner.kind is Kind.ACTIVATION and row.dtype is not None:
            held[row.dtype in ("float16", "bfloat16")] += row.total_bytes
    if not any(held.values()) and moment.request:
        return moment.request.failed.dtype in ("float16", "bfloat16", "half")
    return held[True] > held[False]


def _done(case: Case) -> Iterable[str]:
    """Changes that the log says are made already."""
    for name, value, _ in case.capture.surroundings.settings:
        if name == "allow_growth" and value == "True":
            yield "growth"
        yield from (slug for slug, pattern in _DONE if pattern.search(f"{name}={value}"))
