"""What to say of a failure on a TPU whose message is cut: TensorFlow's strategy keeps all of a model on each
core.
"""

from __future__ import annotations

from tfmemlens.findings.support.stated_weights import StatedWeights, stated_weights
from tfmemlens.knowledge.device_names import TPU, kind_of_device
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy
from tfmemlens.patterns import regex
from tfmemlens.units import GIB

_SMALLEST_CORE = 8 * GIB
"""What a core of v2 has; one of v3 has twice that."""
_MUCH = 0.5
"""Of it, for weights and what training adds to them: then no batch is the first thing to change."""
_REST = Remedy(
    "add the rest of the message: of a TPU it says how much of its HBM the program needs, and lists the"
    " largest allocations",
    slug="read-the-log",
)
_SMALLER = Remedy(
    "take a smaller model, an optimizer that keeps less (Adafactor, SGD), or bfloat16 for what is computed;"
    " a core of a v3 has 16 GB instead of 8; a smaller batch changes nothing in these",
    slug="smaller-model",
)


def ran_on_a_tpu(case: Case, moment: Moment) -> bool:
    """Whether the text names a TPU, and neither it nor the message says that a GPU ran out."""
    told = case.capture.surroundings
    line = told.shows("on a TPU")
    failed = moment.request.failed if moment.request else None
    device = kind_of_device(failed.device or "", failed.allocator or "") if failed else None
    of_gpu = told.shows("GPU memory named") or told.shows("fails on the GPU alone")
    if line is None or of_gpu or _RUNS_THERE.search(line.text):
        return False
    return device in (None, TPU)


_RUNS_THERE = regex(
    r"(?i)\bTPUs?\b[^.\n]{0,30}\b(?:runs?|works?|worked|trains?|fits?|fine)\b"
    r"|\b(?:works?|worked|fits|fine) (?:\w+ )?(?:on|with) (?:an? |the )?TPUs?\b"
)


def weights_of_a_core(case: Case) -> StatedWeights | None:
    """The weights that the text states, where training them takes much of a core."""
    weights = stated_weights(case.capture.surroundings)
    return weights if weights and weights.trained_bytes >= _MUCH * _SMALLEST_CORE else None


def because(case: Case) -> str:
    """How much each core keeps, as a clause."""
    weights = weights_of_a_core(case)
    whole = (
        "; on a TPU each core keeps a whole copy of the model, and its 8 GB (v2) or 16 GB (v3) are no pool"
    )
    return f"{whole}; {weights.needs}" if weights else whole


def remedies(case: Case) -> tuple[Remedy, ...]:
    """What helps on a TPU."""
    if weights_of_a_core(case):
        return (_SMALLER, _REST)
    told = case.capture.surroundings
    batch = told.setting("batch_size")
    of = f" ({batch[0]} in all, shared by the cores)" if batch and batch[0].isdigit() else ""
    smaller = Remedy(
        f"train with a smaller batch on each core{of}, or shorter or smaller samples; if one sample on each"
        " fails, too, the model is too large for a core",
        slug="smaller-batch",
    )
    return (smaller, _REST)
