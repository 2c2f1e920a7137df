"""Ledgers as the browser gets them: columns of small integers, names as numbers, gzip and base64."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Moment
from tfmemlens.model.incident import ChunkMap
from tfmemlens.model.ledger import Ledger
from tfmemlens.model.page import Tab
from tfmemlens.model.tensor import format_shape
from tfmemlens.model.timeline import Timeline
from tfmemlens.renderers.kinds import slug
from tfmemlens.units import Size

KINDS = [slug(kind) for kind in Kind]
_NUMBERS = {kind: number for number, kind in enumerate(Kind)}
_WORDS = {"exact": "", "estimate": "about ", "lower bound": "at least "}
MAX_CHUNKS = 200_000


def packed(tab: Tab) -> str:
    """The tab's figures: JSON, gzipped, in base64. No name of the user's can leave it, for base64 has no
    `<`.
    """
    names = Names()
    moments = [
        _moment(moment, ledger, names)
        for moment, ledger in zip(tab.report.case.moments, tab.ledgers, strict=True)
    ]
    document = {"kinds": KINDS, "moments": moments, "names": names.texts}
    raw = json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
    return base64.b64encode(gzip.compress(raw, 6, mtime=0)).decode("ascii")


class Names:
    """Numbers for texts, in the order of their first use; 0 is no name."""

    def __init__(self) -> None:
        self.texts: list[str | None] = [None]
        self._numbers: dict[str | None, int] = {None: 0}

    def of(self, text: str | None) -> int:
        """The number of a text."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return number


def column(values: Iterable[int], delta: bool = False) -> Any:
    """A column: `{"v": value, "n": length}` when all are equal, `{"d": differences}` or the plain list."""
    listed = list(values)
    if listed and listed.count(listed[0]) == len(listed):
        return {"v": listed[0], "n": len(listed)}
    if not delta:
        return listed
    return {"d": [value - before for value, before in zip(listed, [0, *listed], strict=False)]}


def _moment(moment: Moment, ledger: Ledger, names: Names) -> dict[str, Any]:
    timeline, scaling = moment.axis, ledger.scaling
    fields: dict[str, Any] = {
        "rows": _rows(ledger, names),
        "balance": _balance(moment),
        "scaling": {
            "batch": scaling.batch,
            "axis": scaling.axis,
            "size": scaling.axis_size,
            "levers": [
                {
                    "slug": each.slug,
                    "text": each.text,
                    "factor": each.factor,
                    "certainty": each.saving.certainty.value if each.saving.certainty else None,
                    "saves": each.saving.best_bytes,
                }
                for each in scaling.levers
            ],
            "batches": [list(pair) for pair in scaling.batch_savings],
            "axes": [list(pair) for pair in scaling.axis_savings],
        },
        "request": _request(moment),
        "chunks": _chunks(moment, names),
    }
    if timeline and timeline.curve:
        fields |= _time(moment, timeline) | _replay(ledger, timeline)
    return fields


def _rows(ledger: Ledger, names: Names) -> dict[str, Any]:
    """The columns, in the order of the births: neighbours are alike, and differences stay small."""
    table, owners = ledger.table, ledger.owners
    birth = list(ledger.birth)
    order = sorted(range(len(birth)), key=birth.__getitem__)

    def pick(values: Sequence[int], delta: bool = False) -> Any:
        return column([values[row] for row in order], delta)

    def named(values: Iterable[str | None]) -> list[int]:
        return [names.of(value) for value in values]

    shapes = _each(
        ledger.tensors,
        lambda tensor: names.of(format_shape(tensor.shape) if tensor and tensor.shape is not None else None),
    )
    dtypes = _each(ledger.tensors, lambda tensor: names.of(tensor.dtype if tensor else None))
    pairs = list(zip(table.device, table.allocator, strict=True))
    places = {pair: names.of(" ".join(filter(None, pair)) or None) for pair in dict.fromkeys(pairs)}
    levers = [0] * len(birth)
    for bit, lever in enumerate(ledger.scaling.levers):
        levers = [known | touched << bit for known, touched in zip(levers, lever.touches, strict=True)]
    return {
        "size": pick(list(table.size_bytes)),
        "count": pick(list(table.count)),
        "error": pick(list(table.error_bytes)),
        "node": pick(named(table.node), delta=True),
        "op": pick(named(op or owner.op for op, owner in zip(table.op, owners, strict=True))),
        "layer": pick(named(owner.layer for owner in owners)),
        "kind": pick(_each([owner.kind for owner in owners], lambda kind: _NUMBERS[kind])),
        "phase": pick(_each([owner.phase for owner in owners], lambda phase: names.of(phase.value))),
        "device": pick([places[pair] for pair in pairs]),
        "shape": pick(shapes),
        "dtype": pick(
            [names.of(dtype) if dtype else known for dtype, known in zip(table.dtype, dtypes, strict=True)]
        ),
        "birth": pick(birth, delta=True),
        "life": pick([died - born for born, died in zip(birth, ledger.death, strict=True)]),
        "grows": pick(list(map(int, ledger.scaling.grows)) or [0] * len(birth)),
        "exponent": pick(list(ledger.scaling.exponent) or [0] * len(birth)),
        "levers": pick(levers),
        "reader": pick(named(ledger.last_reader) or [0] * len(birth)),
    }


def _each(values: Sequence[Any], number: Callable[[Any], int]) -> list[int]:
    """A number for each value, worked out once for each object: hashing a tensor's type costs more than
    looking at it.
    """
    known = {id(value): value for value in values}
    numbers = {key: number(value) for key, value in known.items()}
    return [numbers[id(value)] for value in values]


def _time(moment: Moment, timeline: Timeline) -> dict[str, Any]:
    """The time axis: events as differences in microseconds, or nanoseconds where the trace is finer; lines
    where a log has no clock.
    """
    times = timeline.events[0]
    origin = times[0]
    unit = 1.0 if all(float(time).is_integer() for time in times) else 0.001
    return {
        "unit": unit,
        "times": column((round((time - origin) / unit) for time in times), delta=True),
        "peak": timeline.peak_index,
        "bound": _WORDS[timeline.precision],
        **({"predicted": True} if timeline.predicted else {}),
        **({"ordinal": int(origin), "place": timeline.place} if timeline.ordinal else {}),
        "phases": [
            [phase.name, phase.start_micros - origin, phase.end_micros - origin] for phase in moment.phases
        ],
    }


def _replay(ledger: Ledger, timeline: Timeline) -> dict[str, Any]:
    """Addresses of the rows from the lowest, -1 where unknown, in the order of `_rows`; fragmentation in
    thousandths at ticks of the time axis.
    """
    fields: dict[str, Any] = {}
    if timeline.addresses and len(timeline.addresses) == len(timeline.table):
        lowest, birth = min(timeline.addresses), list(ledger.birth)
        known = [address - lowest for address in timeline.addresses] + [-1] * len(birth)
        order = sorted(range(len(birth)), key=birth.__getitem__)
        fields["address"] = column((known[row] for row in order), delta=True)
    if timeline.fragmentation:
        times = timeline.events[0]
        unit = 1.0 if all(float(time).is_integer() for time in times) else 0.001
        fields["fragmentation"] = {
            "times": column((round((time - times[0]) / unit) for time, _ in timeline.fragmentation), True),
            "share": column((round(1000 * share) for _, share in timeline.fragmentation), delta=True),
        }
    return fields


def _balance(moment: Moment) -> dict[str, int | None]:
    books = moment.balance
    return {
        "limit": _bytes(books.limit),
        "in_use": None if moment.timeline else _bytes(books.in_use),
        "free": _bytes(books.available),
        "largest": _bytes(books.largest_free_chunk),
        "outside": _bytes(books.outside_report),
        "unlisted": moment.unlisted_buffer_bytes or None,
        "peak": _bytes(books.peak),
        "waste": _bytes(books.waste),
        "missing": books.missing,
        "rounded": int(
            not all(size.exact for size in (books.listed, books.unlisted, books.outside_report) if size)
        ),
    }


def _request(moment: Moment) -> dict[str, Any] | None:
    """What was asked for beyond what is listed: a compiled program's need is the sum of that."""
    whole = moment.incident is not None and moment.incident.compiler is not None
    if moment.request is None or moment.request.needed_bytes is None or whole:
        return None
    return {
        "bytes": moment.request.needed_bytes,
        "grows": int(moment.request.owner.kind in (Kind.ACTIVATION, Kind.LAYOUT_TRANSPOSE, Kind.LOOP_STACK)),
    }


def _chunks(moment: Moment, names: Names) -> dict[str, Any] | None:
    """The allocator's chunks in address order, with the kinds of those that have a name."""
    chunks = moment.incident.chunks if moment.incident else None
    if chunks is None or not len(chunks):
        return None
    kinds = {
        node: _NUMBERS[owner.kind]
        for node, owner in zip(moment.attribution.table.node, moment.attribution.owners, strict=True)
        if node
    }
    kept = range(min(len(chunks), MAX_CHUNKS))
    ops = chunks.op or [None] * len(chunks)
    return {
        "address": column((address for address in _addresses(chunks, kept)), delta=True),
        "size": column(chunks.size_bytes[index] for index in kept),
        "used": column(int(chunks.in_use[index]) for index in kept),
        "region": column(chunks.region[index] if chunks.region else 0 for index in kept),
        "op": column(names.of(ops[index]) for index in kept),
        "kind": column(kinds.get(ops[index] or "", -1) for index in kept),
        "left_out": len(chunks) - len(kept),
        "complete": int(chunks.complete),
    }


def _addresses(chunks: ChunkMap, kept: range) -> Iterable[int]:
    """Offsets from the first address: full addresses exceed what a browser's numbers hold."""
    if not chunks.address:
        return [0] * len(kept)
    first = min(chunks.address)
    return [chunks.address[index] - first for index in kept]


def _bytes(size: Size | None) -> int | None:
    return size.bytes if size else None
