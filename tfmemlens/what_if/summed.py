"""What a change buys where no step can be simulated: the rows scaled, then added up or walked along the
curve.

A sum over one moment is what that moment holds less with the change. Another moment may then be the highest,
and rows without names or shapes may scale or not: so the interval is wide, and says so. What a layout copy
was made from, and how long that would have to live in its place, rows do not tell: ending copies has no
figure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfmemlens.model.allocation import UNLISTED
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.case import Moment
from tfmemlens.model.finding import Certainty
from tfmemlens.model.incident import CompilerMemory
from tfmemlens.model.ledger import Ledger
from tfmemlens.model.what_if import Saving, SavingBasis
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass
from tfmemlens.what_if import changes

_STAYING = (Kind.PARAMETER, Kind.OPTIMIZER_SLOT, Kind.CONSTANT)
_MIN_SHARE_SAVED = 0.5
"""A rule of thumb may be too high by half: chunks are not split, casts and sums need memory of their own."""

_MIN_SHARE_OF_SMALLER_INPUT = 0.25
"""Where an axis could be followed along a graph, at the least a quarter of what rows alone let expect was
saved.
"""

_HALVED = 0.45
"""What mixed precision takes off what it halves: a tenth of the half stays as casts and float32 losses
(scripts/benchmarks/what_if.py).
"""

_MARGIN = 0.05
"""Of a step's peak: chunks are not simulated here, and what goes may free larger ones (as in `replayed`)."""
FIRST_VALUE = regex(r"/(?:Adam|Momentum|RMSProp|Adagrad|Adadelta|Ftrl)(?:_\d+)?/Initializer/")
"""Constants of a session that first filled slots, and stay."""

Parts = Sequence[float]
"""For each row the part of it that goes."""


@dataclass(frozen=True, slots=True)
class RowsBasis:
    """Rows with what scales them: of one moment, or of a step with its order of births and deaths."""

    moment: Moment
    rows: Ledger
    basis: SavingBasis
    """LIST or TIMELINE."""


@dataclass(frozen=True, slots=True)
class _Estimate:
    """Parts that go: as the kinds tell, and of all that could go; `extra` bytes come in any case."""

    best: Parts
    most: Parts
    extra_bytes: int = 0
    least: float = _MIN_SHARE_SAVED


def saving(known: RowsBasis, change: str, to_batch: int | None = None) -> Saving:
    """What the change buys, no figure where nothing here tells."""
    if compiler := _compiled(known.moment):
        return _of_program(known, compiler, change, _gone(known, to_batch))
    if change == changes.RECOMPUTE:
        return _recompute(known)
    estimate = _other_batch(known, to_batch) if change == changes.SMALLER_BATCH else None
    if rule := _RULES.get(change):
        estimate = rule(known)
    if estimate is None or not any(estimate.best):
        return Saving(change)
    gone = _bytes(known, estimate.best)
    best, most = gone - estimate.extra_bytes, _bytes(known, estimate.most) - estimate.extra_bytes
    if known.moment.timeline is not None:
        most += round(_MARGIN * known.moment.timeline.peak_bytes)
    least = round(gone * estimate.least) - estimate.extra_bytes
    batch = known.rows.scaling.batch
    text = _input_text(known) if change == changes.SMALLER_INPUT else changes.CHANGES[change].text
    half = batch // 2 if batch and change == changes.SMALLER_BATCH else None
    return Saving(
        change, known.basis, best, min(least, best, most), max(least, best, most), Certainty.ESTIMATE, text,
        batch,
        to_batch=half if to_batch is None else to_batch,
    )  # fmt: skip


def _bytes(known: RowsBasis, parts: Parts) -> int:
    """How much less is held: at the moment, or between the two highest points of the curves."""
    sizes = [
        each * count for each, count in zip(known.rows.table.size_bytes, known.rows.table.count, strict=True)
    ]
    gone = [size * part for size, part in zip(sizes, parts, strict=True)]
    timeline = known.moment.timeline
    if known.basis is SavingBasis.LIST or timeline is None:
        return round(sum(gone))
    return round(
        _highest(known.rows, sizes)
        - _highest(known.rows, [size - less for size, less in zip(sizes, gone, strict=True)])
    )


def _highest(rows: Ledger, sizes: Sequence[float]) -> float:
    changes_at: dict[int, float] = {}
    for size, born, died in zip(sizes, rows.birth, rows.death, strict=True):
        changes_at[born] = changes_at.get(born, 0.0) + size
        changes_at[died] = changes_at.get(died, 0.0) - size
    held = highest = 0.0
    last = max(rows.death, default=0)
    for event in sorted(changes_at):
        if event >= last and rows.death:
            break
        held += changes_at[event]
        highest = max(highest, held)
    return highest


def _where(known: RowsBasis, part: float, test: Callable[[int], bool]) -> list[float]:
    return [part if test(row) else 0.0 for row in range(len(known.rows.owners))]


def _movable(known: RowsBasis, part: float) -> list[float]:
    """All that is no weight, slot or constant could go by this part."""
    return _where(known, part, lambda row: known.rows.owners[row].kind not in _STAYING)


def _gone(known: RowsBasis, to_batch: int | None) -> float | None:
    """The part of a row that another batch takes away, half of it unless given; None of a batch of one."""
    batch = known.rows.scaling.batch
    if batch is None:
        return 0.5
    other = batch // 2 if to_batch is None else to_batch
    return 1 - other / batch if other else None


def _other_batch(known: RowsBasis, to_batch: int | None) -> _Estimate | None:
    part = _gone(known, to_batch)
    if part is None:
        return None
    grows = _where(known, part, lambda row: bool(known.rows.scaling.grows[row]))
    return _Estimate(_with_the_unlisted(known, grows), _movable(known, part))


def _with_the_unlisted(known: RowsBasis, parts: Parts) -> Parts:
    """A list names its largest rows, and of the rest the sum: as much of that goes as of what is named."""
    table = known.rows.table
    unlisted = [row for row, purpose in enumerate(table.purpose) if purpose == UNLISTED]
    if not unlisted:
        return parts
    sizes = [size * count for size, count in zip(table.size_bytes, table.count, strict=True)]
    named = sum(sizes) - sum(sizes[row] for row in unlisted)
    gone = sum(size * part for size, part in zip(sizes, parts, strict=True))
    share = gone / named if named else 0.0
    return [
        share if purpose == UNLISTED else part for purpose, part in zip(table.purpose, parts, strict=True)
    ]


def _accumulation(known: RowsBasis) -> _Estimate | None:
    half = _other_batch(known, None)
    return half and _Estimate(half.best, half.most, _weights(known))


def _mixed_precision(known: RowsBasis) -> _Estimate | None:
    from tfmemlens.what_if.row_scaling import wide

    touched = wide(known.rows)
    best = _where(known, _HALVED, lambda row: touched[row])
    return _Estimate(best, _movable(known, 0.5), _weights(known) // 2)


def _weights(known: RowsBasis) -> int:
    table = known.rows.table
    sizes = zip(table.size_bytes, table.count, known.rows.owners, strict=True)
    return sum(size * count for size, count, owner in sizes if owner.kind is Kind.PARAMETER)


def _lighter_optimizer(known: RowsBasis) -> _Estimate | None:
    """The slots; of a step at least nothing, for another moment may hold as much without them. At most also
    the constants that first filled them.
    """
    owners, nodes = known.rows.owners, known.rows.table.node
    slots = _where(known, 1.0, lambda row: owners[row].kind is Kind.OPTIMIZER_SLOT)
    filled = _where(known, 1.0, lambda row: bool(slots[row] or FIRST_VALUE.search(nodes[row] or "")))
    return _Estimate(slots, filled, least=0.0 if known.moment.timeline else _MIN_SHARE_SAVED)


def _input_text(known: RowsBasis) -> str:
    images = known.rows.scaling.axis == "side"
    return "images of half the height and width" if images else "sequences of half the length"


def _smaller_input(known: RowsBasis) -> _Estimate | None:
    scaling = known.rows.scaling
    if scaling.axis is None:
        return None
    parts = [1 - 0.5**power for power in scaling.exponent]
    return _Estimate(parts, _movable(known, 0.75), least=_MIN_SHARE_OF_SMALLER_INPUT)


def _recompute(known: RowsBasis) -> Saving:
    """As if the kept activations were cut into as many stretches as is best for equal ones: what stays is the
    stretches' ends and one stretch. Of few, or of one that is most of them, only a bound is known: whole
    blocks may be recomputed, so all that grows with the batch may go.
    """
    table, owners = known.rows.table, known.rows.owners
    kept = [
        (size, count)
        for size, count, owner in zip(table.size_bytes, table.count, owners, strict=True)
        if owner.kind is Kind.ACTIVATION and owner.phase is Phase.FORWARD and size
    ]
    total, many = sum(size * count for size, count in kept), sum(count for _, count in kept)
    if known.basis is not SavingBasis.LIST or many < 2:
        return Saving(changes.RECOMPUTE)
    grows = zip(table.size_bytes, table.count, known.rows.scaling.grows, strict=True)
    high = max(sum(size * count for size, count, grew in grows if grew), total)
    best = round(total - 2 * total / many**0.5)
    plausible = 0 < best <= total - max(size for size, _ in kept)
    return Saving(
        changes.RECOMPUTE, known.basis, best if plausible else total, 0, high,
        Certainty.ESTIMATE if plausible else Certainty.BOUND, changes.CHANGES[changes.RECOMPUTE].text,
        known.rows.scaling.batch,
    )  # fmt: skip


def _compiled(moment: Moment) -> CompilerMemory | None:
    return moment.incident.compiler if moment.incident else None


def _of_program(known: RowsBasis, compiler: CompilerMemory, change: str, gone: float | None) -> Saving:
    """Of a compiled program its temporaries, for its list names only the largest."""
    temporaries = compiler.temporaries
    if change != changes.SMALLER_BATCH or temporaries is None or not temporaries.bytes or gone is None:
        return Saving(change)
    part = round(temporaries.bytes * gone)
    low, high = sorted((0, part))
    text = changes.CHANGES[change].text
    return Saving(change, known.basis, part, low, high, Certainty.ESTIMATE, text, known.rows.scaling.batch)


_RULES: dict[str, Callable[[RowsBasis], _Estimate | None]] = {
    changes.GRADIENT_ACCUMULATION: _accumulation,
    changes.MIXED_PRECISION: _mixed_precision,
    changes.LIGHTER_OPTIMIZER: _lighter_optimizer,
    changes.SMALLER_INPUT: _smaller_input,
}
