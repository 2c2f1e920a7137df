"""A timeline cut into columns: what each kind or layer holds over time."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.model.attribution import Kind
from tfmemlens.model.report import Report
from tfmemlens.values import dataclass


@dataclass(frozen=True, slots=True)
class StackedSeries:
    """Bytes by group at evenly spaced moments; `bytes_by_group[name][column]` is the most it held in that
    column's instant of the highest total.
    """

    micros: Sequence[float]
    """Microseconds after the first allocation."""
    bytes_by_group: dict[str, Sequence[int]]
    """`before the step` first, then groups from the largest to the smallest, `other` last."""


@dataclass(frozen=True, slots=True)
class LiveCurve:
    """A report on traced steps with the curve of the first, stacked by `key` (`kind` or `layer`)."""

    report: Report
    series: StackedSeries
    key: str
    row_kinds: Sequence[Kind] = ()
    """The kind of each row of that step's table, where somebody draws rows."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a picture of a traced step shows, and how large."""

    panels: tuple[str, ...] = ()
    """Of `curve`, `lifetimes` and `layers`, from top to bottom; all three when empty."""
    size: tuple[float, float] | None = None
    """Width and height in inches; None: as the panels need."""
    title: str | None = None
    """Above the picture; None: the verdict."""
