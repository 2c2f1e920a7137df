"""Whether a run went on below what the driver refused it: then nothing failed there.

TensorFlow asks the driver for a region of its pool, or for pinned host RAM, and for a tenth less after each
refusal; XLA does the same with unified memory. Such a line by itself ends no run.
"""

from __future__ import annotations

from collections.abc import Iterable

from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.readers.oom.disguises import IndirectFailure
from tfmemlens.readers.oom.same_failure import IncidentDraft

_REFUSED = ("driver", "host")
LOGGING_ON = "logging on"
"""What a later stage of a run logs: its fact's name."""
_LATER = regex(
    r"\b(?:direct_session|dso_loader|cuda_dnn|cuda_blas|xla/service/service|service/platform_util)\.cc\Z"
)
"""Files of TensorFlow that log once a device is up: a session's devices, libraries of a first op, XLA's
service.
"""
_OF_ESTIMATOR = regex(
    r"\A(?:INFO:tensorflow:)?(?:Restoring parameters from \S|Saving checkpoints for \d"
    r"|Running local_init_op\.?\Z|Done running local_init_op|Starting evaluation at|Finished evaluation at"
    r"|Graph was finalized)"
)
"""What TensorFlow 1's sessions and estimators log once their device is up."""


def logs_on(text: str, origin: str) -> bool:
    """Whether a later stage of a run logged the line, `origin` being the file that did: it is no end."""
    if _OF_AN_END.search(text):
        return False
    return bool(_LATER.search(origin) or _OF_ESTIMATOR.match(text))


def refusals(draft: IncidentDraft) -> list[IndirectFailure]:
    """What the driver refused, where the draft is of nothing else; empty where it tells of a failure."""
    if draft.tellings or draft.dumps or draft.executables:
        return []
    refused = draft.disguises
    alone = all(part.what in _REFUSED and part.size is not None and part.alone for part in refused)
    return refused if alone else []


def is_below(refused: list[IndirectFailure], lines: Iterable[Line]) -> bool:
    """Whether a line of progress stands below the last refusal; a sentence of where it fails is none."""
    last = refused[-1].line
    below = (line for line in lines if line.source == last.source and line.number > last.number)
    return any(not _OF_AN_END.search(line.text) for line in below)


_OF_AN_END = regex(
    r"(?i)\b(?:fail|crash|di(?:es?|ed)\b|dying|stop|abort|quit|kill|hang|stuck|freez|error|exception|OOM\b"
    r"|out of memory)"
)
