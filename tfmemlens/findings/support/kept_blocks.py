"""How large a result is that a loop keeps, by its shape in the code and by blocks of its size in the dump."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tfmemlens.findings.support.rows import rows
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.tensor import TensorType, format_shape, tensor_bytes
from tfmemlens.units import round_up
from tfmemlens.values import replace

if TYPE_CHECKING:
    from tfmemlens.findings.support.kept_trees import Kept

_MANY = 8
"""So many blocks of a size are what a loop has kept."""


def sized_by_blocks(case: Case, moment: Moment, found: Sequence[Kept]) -> list[Kept]:
    """The same, with the sizes of those whose shape the code tells but for its batch: at the one batch at
    which most of the blocks are theirs. One shape alone fits by chance.
    """
    found = _sized_by_the_code(case, found)
    open_ones = [each for each in found if _is_open(each)]
    blocks = {row.allocation.size_bytes: row.allocation.count for row in rows(moment)}
    blocks = {size: count for size, count in blocks.items() if count >= _MANY}
    if len(open_ones) < 2 or not blocks:
        return [*found]
    from tfmemlens.knowledge.keras_program.appended import appended

    shapes = appended(case.capture.surroundings.program())
    known = {each: shapes[each.line] for each in open_ones if each.line in shapes}
    batch = _batch([*known.values()], blocks)
    if batch is None:
        return [*found]
    return [_at(each, known[each], batch) if each in known else each for each in found]


def _sized_by_the_code(case: Case, found: Sequence[Kept]) -> list[Kept]:
    """The same, with the sizes of those whose whole shape the code tells."""
    if not any(_is_open(each) for each in found):
        return [*found]
    from tfmemlens.knowledge.keras_program.appended import appended

    shapes = appended(case.capture.surroundings.program())
    sized = []
    for each in found:
        of = shapes.get(each.line) if _is_open(each) else None
        known = of is not None and bool(of.shape) and all(of.shape or ())
        sized.append(_at(each, of, of.shape[0] or 0) if known and of and of.shape else each)
    return sized


def _is_open(keeping: Kept) -> bool:
    return not (keeping.each or keeping.number or keeping.model or keeping.on_host)


def _at(keeping: Kept, of: TensorType, batch: int) -> Kept:
    shape = _shape(of, batch)
    return replace(
        keeping,
        each=round_up(tensor_bytes(shape, of.dtype) or 0) or None,
        shape=f"{format_shape(shape)} {of.dtype}",
    )


def _shape(of: TensorType, batch: int) -> tuple[int, ...]:
    return (batch, *(size or 0 for size in (of.shape or ())[1:]))


def _batch(kept: Sequence[TensorType], blocks: Mapping[int, int]) -> int | None:
    """The batch at which blocks have the size of two and more of these; None where several have."""
    open_shapes = [each for each in kept if each.shape and each.shape[0] is None and all(each.shape[1:])]
    fitting: dict[int, int] = {}
    for each in open_shapes:
        sample = tensor_bytes(_shape(each, 1), each.dtype) or 0
        for size in blocks:
            batch = size // sample if sample else 0
            if batch and round_up(batch * sample) == size:
                fitting[batch] = fitting.get(batch, 0) + 1
    best = [batch for batch, many in fitting.items() if many > 1]
    return best[0] if len(best) == 1 else None
