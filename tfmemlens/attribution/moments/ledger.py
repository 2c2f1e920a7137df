"""The ledger of a moment: all that a step allocated with its owners."""

from __future__ import annotations

from functools import partial
from typing import Any

from tfmemlens.attribution.moments.consumers import MAX_ROWS, graph_of, last_reader
from tfmemlens.attribution.moments.held import held
from tfmemlens.attribution.moments.timelines import owners_of
from tfmemlens.model.allocation import AllocationTable
from tfmemlens.model.attribution import Owner
from tfmemlens.model.case import Moment
from tfmemlens.model.graph import Graph
from tfmemlens.model.lazy_column import LazyColumn
from tfmemlens.model.ledger import Ledger
from tfmemlens.model.tensor import TensorType
from tfmemlens.model.timeline import Timeline
from tfmemlens.values import fields, replace


def ledger_of(moment: Moment, graph: Graph | None = None) -> Ledger:
    """All rows of a timeline and what stood before it; of a failure the rows that were held then."""
    if moment.counted:
        return held(replace(moment, attribution=moment.counted, namings=()))
    rows = rows_of(moment)
    if moment.timeline is None:
        return rows
    return replace(rows, last_reader=_readers(rows.table, moment.timeline, graph))


def rows_of(moment: Moment) -> Ledger:
    """The same without who read each row last, which takes longest to find."""
    return Ledger(*_timed(moment, moment.axis)) if moment.axis else held(moment)


def _readers(table: AllocationTable, timeline: Timeline, graph: Graph | None) -> list[str | None]:
    """Who kept each row, unless there are so many rows that asking takes longer than all the rest."""
    graph = graph or graph_of(timeline)
    return list(last_reader(table, graph, timeline)) if graph is not None and len(table) <= MAX_ROWS else []


Rows = tuple[AllocationTable, list[Owner], list["TensorType | None"], list[int], list[int]]


def _timed(moment: Moment, timeline: Timeline) -> Rows:
    """The timeline's rows, then those that stood before the step."""
    ours = timeline.table
    held_then = list(zip(moment.attribution.table, moment.attribution.owners, strict=True))
    standing = (
        held_then[: len(timeline.standing)]  # of a program: they come first, and have no time either
        if moment.schedule
        else [(row, owner) for row, owner in held_then if row.start_micros is None]
    )
    before = AllocationTable.of([row for row, _ in standing])
    table = AllocationTable(
        **{
            column.name: LazyColumn(partial(_joined, ours, before, column.name))
            for column in fields(AllocationTable)
        }
    )
    owners = [*owners_of(timeline), *(owner for _, owner in standing)]
    types: dict[object, TensorType] = {}
    tensors = [
        None if shape is None else types.setdefault((shape, dtype), TensorType(shape, dtype))
        for shape, dtype in zip(table.shape, table.dtype, strict=True)
    ]
    changes, rows = timeline.events[1:]
    birth, death = [len(rows)] * len(ours), [len(rows)] * len(ours)
    for index, (change, row) in enumerate(zip(changes, rows, strict=True)):
        if change >= 0 and birth[row] == len(rows):
            birth[row] = index
        else:
            death[row] = index
    return table, owners, tensors, [*birth, *([-1] * len(standing))], [*death, *([len(rows)] * len(standing))]


def _joined(one: AllocationTable, other: AllocationTable, name: str) -> list[Any]:
    return [*getattr(one, name), *getattr(other, name)]
