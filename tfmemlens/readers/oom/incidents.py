"""From a draft to an incident: the best of what its tellings, dumps, reports and compilers say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tfmemlens.model.incident import AllocatorState, FailedRequest, Frame, HolderBlock, Incident, RequestKind
from tfmemlens.model.tensor import tensor_bytes
from tfmemlens.readers.oom.compiler import Executable
from tfmemlens.readers.oom.context import Context, constant_type, output_dtype
from tfmemlens.readers.oom.disguises import IndirectFailure
from tfmemlens.readers.oom.dump_figures import Dump
from tfmemlens.readers.oom.report import Block
from tfmemlens.readers.oom.rules import FIRST, LAST, Era, narrow
from tfmemlens.readers.oom.same_failure import IncidentDraft, Part, first_line, heads_the_text
from tfmemlens.readers.oom.tuning import is_tried
from tfmemlens.readers.oom.wraps import LOST
from tfmemlens.units import round_up
from tfmemlens.values import replace


def incident(draft: IncidentDraft) -> Incident:
    """The value that a draft stands for."""
    dump = _best_dump(draft)
    program = _best_program(draft)
    request = _request(draft, dump, program)
    if request.kind is RequestKind.DUMP:
        request = replace(request, compiled=program is not None)
        program = None  # its one sentence says less than the dump
    state = dump.state() if dump else _state_of_the_killed(draft)
    if program and program.capacity and state.limit is None:
        state = replace(
            state, limit=program.capacity, free=program.free, lines=(*state.lines, ("limit", program.line))
        )
    blocks = tuple(block.holders() for block in _distinct(draft.blocks))
    return Incident(
        request=request,
        occurrences=max(
            len(draft.tellings),
            len([part for part in draft.executables if part.tellings]),
            len([part for part in draft.disguises if not part.echo]),
            1,
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
        first=min((first_line(part) for part in _parts(draft)), key=lambda line: line.number),
        fatal=request.kind is not RequestKind.PROGRAM,
    )


def _state_of_the_killed(draft: IncidentDraft) -> AllocatorState:
    """What the killer says of the process: no allocator's figures, but as good as these."""
    limit = next(((part.limit, part.line) for part in draft.disguises if part.limit), None)
    held = next(((part.held, part.line) for part in draft.disguises if part.held), None)
    figures = (("limit", limit), ("in_use", held))
    return AllocatorState(
        limit=limit[0] if limit else None,
        in_use=held[0] if held else None,
        lines=tuple((name, figure[1]) for name, figure in figures if figure),
    )


def _parts(draft: IncidentDraft) -> list[Part]:
    """All that tells of the failure."""
    parts: list[Part] = [*draft.tellings, *draft.dumps, *draft.blocks]
    return [*parts, *draft.executables, *draft.disguises, *draft.driver]


def _distinct(blocks: list[Block]) -> list[Block]:
    """A call inside the step reports first, its caller again with what is left by then: the later block is
    part of the first. Of lists that lack rows nobody can tell what they share: only the longest counts.
    """
    kept: list[Block] = []
    for block in sorted(blocks, key=lambda block: -len(block.rows)) if _lacks_rows(blocks) else blocks:
        nodes = {node for node, _, _ in block.rows}
        if not any(
            known.device == block.device
            and known.allocator == block.allocator
            and (known.cut or block.cut or nodes <= {node for node, _, _ in known.rows})
            for known in kept
        ):
            kept.append(block)
    return kept


def _lacks_rows(blocks: list[Block]) -> bool:
    return any(block.cut for block in blocks)


def _best_dump(draft: IncidentDraft) -> Dump | None:
    nodes = {telling.node for telling in draft.tellings if telling.node}
    ranked = sorted(
        draft.dumps,
        key=lambda dump: (dump.op in nodes, bool(dump.stats), len(dump.sizes), dump.map is not None),
        reverse=True,
    )
    return ranked[0] if ranked else None


def _best_program(draft: IncidentDraft) -> Executable | None:
    if not draft.executables:
        return None
    refused = [dump.start for dump in draft.dumps if dump.start]
    for program in draft.executables if refused else ():
        program.believe(min(refused, key=lambda line: line.number))
    best = max(
        draft.executables,
        key=lambda program: (
            len(program.buffers),
            len(program.sections),
            program.tuned.bytes if program.tuned else 0,
        ),
    )
    best.size = best.size or next((program.size for program in draft.executables if program.size), None)
    if best.size and not best.size.exact:
        asked = (dump.size for dump in draft.dumps if dump.size and dump.size.exact)
        best.size = next((size for size in asked if best.size.may_be(size.bytes)), best.size)
    best.tuned = best.tuned or next((each.tuned for each in draft.executables if each.tuned), None)
    best.remat = best.remat or next((program.remat for program in draft.executables if program.remat), None)
    best.beyond = best.beyond or next(
        (program.beyond for program in draft.executables if program.beyond), None
    )
    if best.beyond and not draft.dumps:
        best.size = best.size or best.needed
    best.size = best.size or next(
        (size for name, size, _ in best.sections if name == "preallocated temp"), None
    )
    best.tellings = best.tellings or next(
        (program.tellings for program in draft.executables if program.tellings), []
    )
    return best


def _buffers(program: Executable | None) -> tuple[HolderBlock, ...]:
    if program is None or not program.buffers:
        return ()
    from tfmemlens.model.allocation import AllocationTable

    rows = [
        replace(buffer.allocation(), device=program.device, allocator=program.allocator)
        for buffer in program.buffers
        if buffer.size.bytes >= 0
    ]
    return (HolderBlock(program.device, program.allocator, AllocationTable.of(rows), header=program.line),)


def _request(draft: IncidentDraft, dump: Dump | None, program: Executable | None) -> FailedRequest:
    if draft.tellings:
        return _tensor_request(draft, dump)
    if program and not (dump and dump.start and not program.listed):
        return _program_request(draft, dump, program)
    if draft.disguises:
        return _disguised_request(draft, dump)
    if dump:
        return _dumped_request(draft, dump)
    block = draft.blocks[0]
    return FailedRequest(RequestKind.TENSOR, device=block.device, allocator=block.allocator)


def _dumped_request(draft: IncidentDraft, dump: Dump) -> FailedRequest:
    """A request that only the dump describes; a compiled program's one sentence adds where it was called."""
    known = [part.context for part in draft.executables if part.context]
    around = _around(known) if known else {}
    return FailedRequest(
        RequestKind.DUMP,
        node=next(_nodes((), dump), None),
        allocator=dump.allocator,
        size=dump.size,
        executable=next((part.name for part in draft.executables if part.name), None),
        **{**around, "line": dump.start},
    )


_RUNTIME = ("XRTExecute", "XRTCompile", "TPUReplicateMetadata", "LoopCond", "_SOURCE")
"""Nodes of TensorFlow's runtime, which belong to no layer."""


def _program_request(draft: IncidentDraft, dump: Dump | None, program: Executable) -> FailedRequest:
    """The request of a compiled program; the compiler's own source line is closer than the traceback's."""
    known = [part.context for part in draft.executables if part.context]
    around = _around(known) if known else {}
    if program.source:
        around |= {"source": program.source, "source_text": None}
    told = program.tellings or [dump.start if dump and dump.start else program.line]
    if program.tuned:
        told = [each for part in draft.executables for each in part.tellings]
        told = [each for each in told if not is_tried(each)] or told[-1:]
    around["line"] = told[0]
    tuned = program.tuned
    if tuned:
        around |= {"shape": tuned.shape, "dtype": tuned.dtype}
    return FailedRequest(
        program.kind,
        node=tuned.name if tuned else next((node for node in _nodes(known) if node not in _RUNTIME), None),
        device=program.device,
        allocator=program.allocator or (dump.allocator if dump else None),
        size=program.size or (dump.size if dump else None),
        executable=program.name,
        **around,
    )


def _first(known: Sequence[Context], name: str) -> Any:
    """What the first telling that knows says; an empty shape is knowledge."""
    return next(
        (
            value
            for telling in known
            if (value := getattr(telling, name, None)) is not None and (value != () or name == "shape")
        ),
        None,
    )


def _nodes(known: Sequence[Context], dump: Dump | None = None) -> Iterator[str]:
    """The nodes that the messages' own brackets name, then the dump's, then those of headers above."""
    names = [telling.node for telling in known]
    names += [dump.op] if dump else []
    names += [telling.node_above for telling in known]
    yield from (name for name in names if name and LOST not in name)


def _around(known: Sequence[Context]) -> dict[str, Any]:
    """The context of a request: the union of what all tellings say."""
    ran_at = next((telling.ran_at for telling in known if telling.ran_at[0]), (None, None))
    source = _first(known, "source")
    quoted = _first(known, "source_text") if source else None
    if source is None or (quoted is None and source == ran_at[0]):
        source, quoted = ran_at
    place, code = ran_at
    source = _rooted(source, place)
    return {
        "op": _first(known, "op"),
        "line": next((each.line for each in known if not heads_the_text(each.line)), known[0].line),
        "inputs": _first(known, "inputs") or (),
        "attributes": _first(known, "attributes") or (),
        "source": source,
        "source_text": quoted,
        "ran_by": Frame(place, code) if place and code and place != source else None,
        "frames": _first(known, "frames") or (),
        "forward_node": _first(known, "forward_node"),
        "keras_layer": _first(known, "keras_layer"),
        "arguments": tuple(_first(known, "arguments") or ()),
        "function": _first(known, "function"),
        "caller": _first(known, "caller"),
        "updating": any(telling.updating for telling in known),
        "creating": any(telling.creating for telling in known),
        "optimizer": _first(known, "optimizer"),
        "pipeline": any(telling.pipeline for telling in known),
        "training": _first(known, "training"),
        "keras_call": _first(known, "keras_call"),
    }


def _rooted(source: str | None, ran_at: str | None) -> str | None:
    """The place with the slash that TensorFlow 1.15 takes off the paths of an op's own stack, where the
    traceback has the same file with it.
    """
    if not source or not ran_at or not ran_at.startswith("/"):
        return source
    same = f"/{source}".rpartition(":")[0] == ran_at.rpartition(":")[0]
    return f"/{source}" if same else source


def _tensor_request(draft: IncidentDraft, dump: Dump | None) -> FailedRequest:
    known = draft.tellings
    around = _around(known)
    device = _first(known, "device") or _placed(around["attributes"])
    return FailedRequest(
        RequestKind.TENSOR,
        node=next(_nodes(known, dump), None),
        shape=_first(known, "shape"),
        dtype=_first(known, "dtype")
        or output_dtype(around["op"], around["attributes"])
        or _dtype_by_size(_first(known, "shape"), dump),
        device=device,
        allocator=_first(known, "allocator") or (dump.allocator if dump else None),
        size=dump.size if dump else None,
        temporary=any(telling.temporary for telling in known),
        kernel=_first(known, "kernel"),
        **{**around, "pipeline": around["pipeline"] and "GPU" not in (device or "")},
    )


def _dtype_by_size(shape: tuple[int, ...] | None, dump: Dump | None) -> str | None:
    """What elements of four bytes are as a rule, where the dump asks for just that many; a sentence of TF <=
    1.4 names no dtype.
    """
    if shape is None or dump is None or dump.size is None:
        return None
    fitting = [
        dtype
        for dtype in ("float16", "float32", "float64")
        if dump.size.may_be(round_up(tensor_bytes(shape, dtype) or 0))
    ]
    return "float32" if fitting == ["float32"] else None


def _disguised_request(draft: IncidentDraft, dump: Dump | None) -> FailedRequest:
    """What is known of a request whose message names no tensor; a constant's NodeDef shows its own."""
    known = _without_heading(draft.disguises)
    around = _around(known)
    kind = known[0].kind
    constant = constant_type(around["attributes"]) if kind is RequestKind.COPY else None
    shape, dtype = constant or (_first(known, "shape"), _first(known, "dtype"))
    return FailedRequest(
        kind,
        node=next(_nodes(known, dump if kind is RequestKind.TENSOR else None), None),
        shape=shape,
        dtype=dtype,
        device=_first(known, "device") or _placed(around["attributes"]),
        allocator=dump.allocator if dump else None,
        size=_first(known, "size") or (dump.size if dump else None),
        **around,
    )


def _without_heading(parts: list[IndirectFailure]) -> list[IndirectFailure]:
    """The parts that a log told. A pool asks for less after each refusal, so a first line of the text that
    asks for less than the next is a heading, of another's run.
    """
    known = [part for part in parts if not heads_the_text(part.line)] or parts
    first, rest = known[0], known[1:]
    if not rest or first.kind is not RequestKind.DRIVER or first.line.number > 1:
        return known
    next_one = rest[0].size
    return rest if first.size and next_one and next_one.low > first.size.high else known


def _placed(attributes: tuple[tuple[str, str], ...]) -> str | None:
    """The device that a NodeDef names."""
    return dict(attributes).get("_device", "").strip('"') or None


def _era(draft: IncidentDraft) -> tuple[str, str] | None:
    era: Era = (FIRST, LAST)
    for seen in (
        *(telling.era for telling in draft.tellings),
        *(part.era for part in draft.disguises),
        *(dump.era for dump in draft.dumps),
    ):
        era = narrow(era, seen)
    return None if era == (FIRST, LAST) else (version_text(era[0]), version_text(era[1]))


def version_text(version: tuple[int, int]) -> str:
    """`1.14`; the open end is the newest TensorFlow that was read."""
    return "2.21" if version == LAST else f"{version[0]}.{version[1]}"
