"""What changed from one input to another."""

from __future__ import annotations

from collections.abc import Iterable

from tfmemlens import attribution, pipeline
from tfmemlens.attribution import difference as stage
from tfmemlens.errors import UnreadableInput
from tfmemlens.model.capture import Hints
from tfmemlens.model.case import Case
from tfmemlens.model.difference import Difference
from tfmemlens.pipeline import Input


def difference(
    before: Input | Iterable[Input],
    after: Input | Iterable[Input],
    hints: Hints = Hints(),
    device: str | None = None,
) -> Difference:
    """What changed from one input to another. Raises UnreadableInput when one of them has no memory
    figures.
    """
    return compare(_case(before, hints, device), _case(after, hints, device))


def _case(source: Input | Iterable[Input], hints: Hints, device: str | None) -> Case:
    case = attribution.attribute(pipeline.capture(source, hints, device))
    must_hold_figures(case)
    return case


def must_hold_figures(case: Case) -> None:
    """Raises UnreadableInput where a case says nothing of who held the memory: nothing can be compared."""
    capture = case.capture
    if not case.moments:
        raise UnreadableInput(f"{capture.source.path} holds no memory figures to compare", capture.reasons())
    if not case.moments[0].accounted_bytes and not case.moments[0].balance.in_use:
        raise UnreadableInput(
            f"{capture.source.path} shows what failed, not what was using the memory, so there is nothing to"
            " compare",
            "compare logs that hold TensorFlow's list or the allocator's dump",
        )


def compare(before: Case, after: Case) -> Difference:
    """What changed from one case to another."""
    return stage.difference(before, after)
