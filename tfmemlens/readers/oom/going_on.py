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
