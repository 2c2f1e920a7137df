"""Which lines tell of one failure: from tellings, dumps, reports and disguises to incidents.

A failure is told in a fixed order: the allocator's dump, then C++ log lines, then Python's exception, perhaps several times.
So a dump waits for the sentence that fits it, a sentence equal to an earlier one is a retelling, and a new dump after a
Python exception begins a new failure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tfmemlens.model.incident import AllocatorState, FailedRequest, HolderBlock, Incident, RequestKind
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import tensor_bytes
from tfmemlens.readers.oom.compiler import Executable
from tfmemlens.readers.oom.context import Context, constant_type, output_dtype
from tfmemlens.readers.oom.disguises import Disguise
from tfmemlens.readers.oom.dump import Dump
from tfmemlens.readers.oom.report import Block
from tfmemlens.readers.oom.rules import FIRST, LAST, Era, narrow
from tfmemlens.readers.oom.sentence import Telling
from tfmemlens.units import Size, round_up

Part = Telling | Dump | Block | Executable | Disguise


@dataclass
class Draft:
    """One failure while its parts are gathered."""

    tellings: list[Telling] = field(default_factory=list)
    dumps: list[Dump] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    executables: list[Executable] = field(default_factory=list)
    disguises: list[Disguise] = field(default_factory=list)
    driver: list[Disguise] = field(default_factory=list)
    rank: str = ""
    order: int = 0

    @property
    def in_python(self) -> bool:
        """Whether the failure has reached Python."""
        return any(telling.in_python for telling in self.tellings) or any(part.in_python for part in self.disguises)

    @property
    def root(self) -> int | None:
        """Its number among several root errors."""
        return next((telling.root for telling in self.tellings if telling.root is not None), None)

    def fits(self, telling: Telling) -> bool:
        """Whether this telling can speak of the same failure."""
        if not self.tellings:
            return False
        for known in self.tellings:
            if (
                (known.shape != telling.shape and not (telling.cut and telling.shape is None))
                or not _agree(known.dtype, telling.dtype)
                or not _agree(known.allocator, telling.allocator)
            ):
                return False
            if not _agree(known.device, telling.device):
                return False
        nodes = {known.node for known in self.tellings if known.node}
        return telling.node is None or not nodes or telling.node in nodes


def _agree(one: object, other: object) -> bool:
    return one is None or other is None or one == other


class Joiner:
    """Takes the parts of one process's log in order and makes incidents of them."""

    def __init__(self, rank: str = "") -> None:
        self.rank = rank
        self.drafts: list[Draft] = []
        self.waiting: list[Dump] = []
        self.driver: list[Disguise] = []

    def take(self, part: Part) -> None:
        """Add the next part."""
        if isinstance(part, Telling):
            self._telling(part)
        elif isinstance(part, Dump):
            self._dump(part)
        elif isinstance(part, Block):
            self._block(part)
        elif isinstance(part, Executable):
            self._executable(part)
        else:
            self._disguise(part)

    def _new(self, **parts: list[object]) -> Draft:
        draft = Draft(rank=self.rank, order=len(self.drafts), **parts)  # type: ignore[arg-type]
        draft.driver, self.driver = self.driver, []
        self.drafts.append(draft)
        return draft

    def _telling(self, telling: Telling) -> None:
        fitting = [dump for dump in self.waiting if _dump_fits(dump, telling)]
        for draft in reversed(self.drafts):
            if draft.fits(telling) and not (draft.in_python and not telling.in_python and (fitting or not self._mid_story(draft))):
                draft.tellings.append(telling)
                self._attach(draft, fitting)
                return
        draft = self._new(tellings=[telling])
        self._attach(draft, fitting)

    def _mid_story(self, draft: Draft) -> bool:
        """Python tells last; a C++ line after it belongs to the same story only while nothing else came between."""
        return self.drafts[-1] is draft or self.drafts[-1].tellings[-1:] == []

    def _attach(self, draft: Draft, dumps: list[Dump]) -> None:
        for dump in dumps:
            self.waiting.remove(dump)
            draft.dumps.append(dump)

    def _dump(self, dump: Dump) -> None:
        last = self.drafts[-1] if self.drafts else None
        if last and last.tellings and not last.dumps and not last.in_python and _dump_fits(dump, last.tellings[-1]) and dump.start is None:
            last.dumps.append(dump)
            return
        self.waiting.append(dump)

    def _block(self, block: Block) -> None:
        candidates = sorted((draft for draft in self.drafts if draft.tellings), key=lambda draft: -draft.tellings[-1].line.number)
        for draft in self.drafts:
            if any(known.fingerprint == block.fingerprint for known in draft.blocks):
                return
        for draft in candidates:
            telling = draft.tellings[-1]
            if _agree(telling.allocator, block.allocator) or _agree(telling.device, block.device):
                draft.blocks.append(block)
                return
        if self.drafts and not self.drafts[-1].tellings and self.drafts[-1].blocks:
            self.drafts[-1].blocks.append(block)
        else:
            self._new(blocks=[block])

    def _executable(self, program: Executable) -> None:
        for draft in reversed(self.drafts):
            if draft.executables and _same_program(draft.executables[-1], program):
                draft.executables.append(program)
                return
        draft = self._new(executables=[program])
        self._attach(draft, [dump for dump in self.waiting if dump.size and program.size and _overlap(dump.size, program.size)])

    def _disguise(self, part: Disguise) -> None:
        last = self.drafts[-1] if self.drafts else None
        if part.kind is RequestKind.DRIVER and part.what == "driver":
            if last and last.disguises and last.disguises[-1].kind is part.kind and part.size is None:
                last.disguises.append(part)
            else:
                self.driver.append(part)
            return
        for draft in reversed(self.drafts):
            known = draft.disguises[-1] if draft.disguises else None
            if (
                known
                and known.kind is part.kind
                and known.what == part.what
                and all(_agree(getattr(known, name), getattr(part, name)) for name in ("op", "node", "shape"))
            ):
                draft.disguises.append(part)
                return
        draft = self._new(disguises=[part])
        if part.what == "batch" or part.kind in (RequestKind.COPY, RequestKind.WORKSPACE, RequestKind.DRIVER, RequestKind.TENSOR):
            self._attach(draft, [dump for dump in self.waiting if "host" not in (dump.allocator or "")])

    def finish(self) -> list[Draft]:
        """All failures of this process; dumps and driver errors that nothing followed become their own."""
        for dump in list(self.waiting):
            same = [
                draft
                for draft in self.drafts
                if draft.dumps and not draft.tellings and not draft.executables and not draft.disguises and _same_dump(draft.dumps[-1], dump)
            ]
            if not same and any(dump.size is not None and known.size == dump.size and known.op == dump.op for draft in self.drafts for known in draft.dumps):
                same = [draft for draft in self.drafts for known in draft.dumps if known.size == dump.size][-1:]
            same = same or [draft for draft in self.drafts if draft.executables and not draft.dumps and all(one.size is None for one in draft.executables)][-1:]
            if not same and dump.size is None and len(self.drafts) == 1 and not self.drafts[0].dumps:
                same = self.drafts  # the head of the dump is missing, and there is but one failure
            if same:
                same[0].dumps.append(dump)
            else:
                self._new(dumps=[dump])
        self.waiting.clear()
        if self.driver and not self.drafts:
            self._new(disguises=list(self.driver))
        return self.drafts


def _dump_fits(dump: Dump, telling: Telling) -> bool:
    """Whether a dump can be about the request of a sentence: same allocator, same size."""
    if not _agree(dump.allocator, telling.allocator):
        return False
    need = tensor_bytes(telling.shape, telling.dtype)
    if dump.size is None or need is None:
        return dump.op is None or telling.node is None or dump.op == telling.node or dump.size is None
    return dump.size.may_be(round_up(need)) or dump.size.may_be(need)


def _same_dump(one: Dump, other: Dump) -> bool:
    return one.size == other.size and one.allocator == other.allocator and one.op == other.op


def _same_program(one: Executable, other: Executable) -> bool:
    if one.kind is not other.kind or not _agree(one.name, other.name):
        return False
    return one.size is None or other.size is None or _overlap(one.size, other.size)


def _overlap(one: Size, other: Size) -> bool:
    return one.low <= other.high and other.low <= one.high


def incident(draft: Draft) -> Incident:
    """The value that a draft stands for."""
    dump = _best_dump(draft)
    program = _best_program(draft)
    request = _request(draft, dump, program)
    if request.kind is RequestKind.DUMP:
        program = None  # its one sentence says less than the dump
    state = dump.state() if dump else AllocatorState()
    if program and program.capacity and state.limit is None:
        state = replace(state, limit=program.capacity, free=program.free, lines=(*state.lines, ("limit", program.line)))
    blocks = tuple(block.holders() for block in _distinct(draft.blocks))
    return Incident(
        request=request,
        occurrences=max(
            len(draft.tellings), len([part for part in draft.executables if part.tellings]), len([part for part in draft.disguises if not part.echo]), 1
        ),
        state=state,
        holders=(*blocks, *_buffers(program)),
        chunks=dump.chunk_map() if dump else None,
        size_classes=tuple(dump.classes) if dump else (),
        compiler=program.memory() if program else None,
        ranks=(draft.rank,) if draft.rank else (),
        hint=next((telling.hint for telling in draft.tellings if telling.hint), None),
        driver_failures=tuple((part.size, part.line) for part in draft.driver if part.size),
        tellings=(*(telling.line for telling in draft.tellings), *(part.line for part in draft.disguises)),
        era=_era(draft),
    )


def _distinct(blocks: list[Block]) -> list[Block]:
    """A call inside the step reports first, its caller again with what is left by then: the later block is part of the first."""
    kept: list[Block] = []
    for block in blocks:
        nodes = {node for node, _, _ in block.rows}
        if not any(known.device == block.device and known.allocator == block.allocator and nodes <= {node for node, _, _ in known.rows} for known in kept):
            kept.append(block)
    return kept


def _best_dump(draft: Draft) -> Dump | None:
    nodes = {telling.node for telling in draft.tellings if telling.node}
    ranked = sorted(draft.dumps, key=lambda dump: (dump.op in nodes, bool(dump.stats), len(dump.sizes)), reverse=True)
    return ranked[0] if ranked else None


def _best_program(draft: Draft) -> Executable | None:
    if not draft.executables:
        return None
    best = max(draft.executables, key=lambda program: (len(program.buffers), len(program.sections)))
    best.size = best.size or next((program.size for program in draft.executables if program.size), None)
    best.remat = best.remat or next((program.remat for program in draft.executables if program.remat), None)
    best.tellings = best.tellings or next((program.tellings for program in draft.executables if program.tellings), [])
    return best


def _buffers(program: Executable | None) -> tuple[HolderBlock, ...]:
    if program is None or not program.buffers:
        return ()
    from tfmemlens.model.allocation import AllocationTable

    rows = [replace(buffer.allocation(), device=program.device, allocator=program.allocator) for buffer in program.buffers]
    return (HolderBlock(program.device, program.allocator, AllocationTable.of(rows), header=program.line),)


def _request(draft: Draft, dump: Dump | None, program: Executable | None) -> FailedRequest:
    if draft.tellings:
        return _tensor_request(draft, dump)
    if program and not (dump and dump.start and not program.listed):
        return FailedRequest(
            program.kind,
            device=program.device,
            allocator=program.allocator or (dump.allocator if dump else None),
            size=program.size or (dump.size if dump else None),
            source=program.source,
            line=(program.tellings or [dump.start if dump and dump.start else program.line])[0],
            executable=program.name,
        )
    if draft.disguises:
        return _disguised_request(draft, dump)
    if dump:
        return FailedRequest(RequestKind.DUMP, node=dump.op, allocator=dump.allocator, size=dump.size, line=dump.start)
    block = draft.blocks[0]
    return FailedRequest(RequestKind.TENSOR, device=block.device, allocator=block.allocator)


def _first(known: Sequence[Context], name: str) -> Any:
    """What the first telling that knows says; an empty shape is knowledge."""
    return next((value for telling in known if (value := getattr(telling, name, None)) is not None and (value != () or name == "shape")), None)


def _around(known: Sequence[Context]) -> dict[str, Any]:
    """The context of a request: the union of what all tellings say."""
    ran_at = next((telling.ran_at for telling in known if telling.ran_at[0]), (None, None))
    source = _first(known, "source")
    return {
        "op": _first(known, "op"),
        "line": known[0].line,
        "inputs": _first(known, "inputs") or (),
        "attributes": _first(known, "attributes") or (),
        "source": source or ran_at[0],
        "source_text": _first(known, "source_text") if source else ran_at[1],
        "forward_node": _first(known, "forward_node"),
        "keras_layer": _first(known, "keras_layer"),
        "function": _first(known, "function"),
        "caller": _first(known, "caller"),
        "updating": any(telling.updating for telling in known),
    }


def _tensor_request(draft: Draft, dump: Dump | None) -> FailedRequest:
    known = draft.tellings
    around = _around(known)
    return FailedRequest(
        RequestKind.TENSOR,
        node=_first(known, "node") or (dump.op if dump else None),
        shape=_first(known, "shape"),
        dtype=_first(known, "dtype") or output_dtype(around["op"], around["attributes"]) or _dtype_by_size(_first(known, "shape"), dump),
        device=_first(known, "device"),
        allocator=_first(known, "allocator") or (dump.allocator if dump else None),
        size=dump.size if dump else None,
        temporary=any(telling.temporary for telling in known),
        kernel=_first(known, "kernel"),
        **around,
    )


def _dtype_by_size(shape: tuple[int, ...] | None, dump: Dump | None) -> str | None:
    """What elements of four bytes are as a rule, where the dump asks for just that many; a sentence of TF <= 1.4 names no dtype."""
    if shape is None or dump is None or dump.size is None:
        return None
    fitting = [dtype for dtype in ("float16", "float32", "float64") if dump.size.may_be(round_up(tensor_bytes(shape, dtype) or 0))]
    return "float32" if fitting == ["float32"] else None


def _disguised_request(draft: Draft, dump: Dump | None) -> FailedRequest:
    """What is known of a request whose message names no tensor; a constant's NodeDef shows its own."""
    known = draft.disguises
    around = _around(known)
    kind = known[0].kind
    constant = constant_type(around["attributes"]) if kind is RequestKind.COPY else None
    shape, dtype = constant or (_first(known, "shape"), _first(known, "dtype"))
    return FailedRequest(
        kind,
        node=_first(known, "node") or (dump.op if dump and kind is RequestKind.TENSOR else None),
        shape=shape,
        dtype=dtype,
        device=_first(known, "device") or _placed(around["attributes"]),
        allocator=dump.allocator if dump else None,
        size=_first(known, "size") or (dump.size if dump else None),
        **around,
    )


def _placed(attributes: tuple[tuple[str, str], ...]) -> str | None:
    """The device that a NodeDef names."""
    return dict(attributes).get("_device", "").strip('"') or None


def _era(draft: Draft) -> tuple[str, str] | None:
    era: Era = (FIRST, LAST)
    for seen in (*(telling.era for telling in draft.tellings), *(part.era for part in draft.disguises), *(dump.era for dump in draft.dumps)):
        era = narrow(era, seen)
    return None if era == (FIRST, LAST) else (version_text(era[0]), version_text(era[1]))


def version_text(version: tuple[int, int]) -> str:
    """`1.14`; the open end is the newest TensorFlow that was read."""
    return "2.21" if version == LAST else f"{version[0]}.{version[1]}"


def order(incidents: list[tuple[Incident, Draft]]) -> list[Incident]:
    """The fatal failure first: the last story that reached Python, in it the first root error; the others in the order of the log."""
    if not incidents:
        return []
    reached = [index for index, (_, draft) in enumerate(incidents) if draft.in_python]
    roots = [index for index in reached if incidents[index][1].root == 0]
    fatal = roots[-1] if roots else reached[-1] if reached else _last_story(incidents)
    first = replace(incidents[fatal][0], fatal=True)
    rest = [replace(found, fatal=bool(draft.root) or index > fatal) for index, (found, draft) in enumerate(incidents) if index != fatal]
    return [first, *rest]


def _last_story(incidents: list[tuple[Incident, Draft]]) -> int:
    """Without an exception the best explained failure is the one to show: with a sentence, else with a dump; the last of these."""
    return max(
        range(len(incidents)),
        key=lambda index: (bool(incidents[index][1].tellings), bool(incidents[index][1].executables), bool(incidents[index][1].disguises), index),
    )


def merge_ranks(incidents: list[tuple[Incident, Draft]]) -> list[tuple[Incident, Draft]]:
    """The same request on several ranks is one failure with a count; each rank calls its device GPU:0."""
    merged: dict[tuple[object, ...], int] = {}
    times: Counter[tuple[object, ...]] = Counter()
    result: list[tuple[Incident, Draft]] = []
    for found, draft in incidents:
        request = (found.request.node, found.request.shape, found.request.dtype, found.request.kind, found.request.allocator)
        times[(draft.rank, *request)] += 1
        key = (times[(draft.rank, *request)], *request)
        index = merged.get(key)
        if index is None or not draft.rank:
            merged.setdefault(key, len(result))
            result.append((found, draft))
            continue
        known, first = result[index]
        result[index] = (replace(known, occurrences=known.occurrences + found.occurrences, ranks=(*known.ranks, draft.rank)), first)
    return result


def first_line(part: Part) -> Line:
    """Where a part begins."""
    if isinstance(part, Dump | Block):
        return part.first
    return part.line
