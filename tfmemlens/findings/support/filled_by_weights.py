"""Whether a text shows that weights fill a device on which a small request fails: then nothing is kept by
mistake, and what helps makes them smaller or spreads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tfmemlens.findings.support.situation import JAX, framework_of
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex


class Filled(NamedTuple):
    """What fills the device, in words, and whether that is sure enough to look for nothing else."""

    what: str
    alone: bool


_NEAR = 6
_IS_LOADING = regex(
    r"(?i)\b(?:loading|restoring|converting)\b[^.\n]{0,40}"
    r"\b(?:weights|params|parameters|checkpoint|shards?)\b"
    r"|\b(?:can(?:not|'t)|could not|unable to|fails? to) load\b[^.\n]{0,20}\bmodel\b"
)
_STEPS = ("fitting", "growing in words", "stepping")


def filled_by_weights(case: Case, moment: Moment) -> Filled | None:
    """What the text says of it: weights were being loaded right above the message, or no smaller batch
    helped. None where steps ran or arrays are kept.
    """
    told = case.capture.surroundings
    if told.stores or told.steps or told.progress or told.readings or any(map(told.shows, _STEPS)):
        return None
    if loading := _loading(case, moment):
        return Filled(f"by the model's weights, which were to be loaded ({loading.place})", True)
    if vain := told.shows("a smaller batch in vain"):
        return Filled(
            "by weights and, in training, what is kept beside each (gradients, the optimizer's slots): a"
            f" smaller batch did not help ({vain.place})",
            False,
        )
    return None


def _loading(case: Case, moment: Moment) -> Line | None:
    """The line right above the message that says that weights are being loaded."""
    line = case.capture.surroundings.shows("jax: restoring")
    failed = moment.request.failed.line if moment.request else None
    if line is None or failed is None or line.source != failed.source:
        return None
    near = 0 <= failed.number - line.number <= _NEAR
    return line if near and _IS_LOADING.search(line.text) else None


def _has_several(case: Case, moment: Moment) -> bool:
    """Whether there are devices to spread weights over: a TPU has several cores, and texts name meshes."""
    of_a_tpu = moment.request is not None and moment.request.failed.kind is RequestKind.TPU
    return of_a_tpu or case.capture.surroundings.shows("several GPUs named") is not None


def less_of_them(case: Case, moment: Moment, filled: Filled) -> Iterator[Remedy]:
    """Fewer bytes of weights on one device."""
    if not filled.alone:
        yield Remedy(
            "take a smaller model (fewer layers, a smaller vocabulary), hold its weights in 16 bits, or, in"
            " training, take an optimizer that keeps less beside each weight: no batch changes these",
            slug="smaller-model",
        )
        return
    if framework_of(case) == JAX and _has_several(case, moment):
        yield Remedy(
            "shard the weights over all devices, and place each part where it belongs; what one device then"
            " holds is all their bytes divided by the number of parts: work it out before you load",
            "w = jax.device_put(w, jax.sharding.NamedSharding(mesh, P('data', 'model')))",
            slug="shard-arguments",
        )
    yield Remedy(
        "load the weights in 16 bits (half of float32) or fewer, straight from the file, or take a smaller"
        " model",
        slug="smaller-model",
    )
