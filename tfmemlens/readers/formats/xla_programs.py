"""`programs.json` of a bundle: the compiled programs of JAX that may have asked for what failed, as XLA's
HloProto has them, with the user's own lines of code.

XLA's message of the CPU names bytes and nothing else. A program whose arena, or one of whose results, has
just that many is most likely the one that asked: its account then is the failure's. Read of jax 0.10.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from tfmemlens import schema
from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.capture import Capture, Hints, Holds, Source
from tfmemlens.model.incident import CompilerMemory, Frame, Incident, RequestKind
from tfmemlens.model.line import ReadNote
from tfmemlens.patterns import regex
from tfmemlens.readers.bytes import own_json
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.readers.timelines import compiled_program, hlo_assignment, hlo_order, hlo_origin
from tfmemlens.units import IMPOSSIBLE, Size, round_up
from tfmemlens.values import replace

HOLDS = Holds.FAILURES
KEY = "tfmemlens_programs"
FORMAT = "xla-programs"
_LEAST_RESULT = 64 << 20
"""Smaller arrays of one size are made in many places."""
_OPEN = (RequestKind.HOST, RequestKind.XLA)


def sniff(sample: Sample) -> Confidence:
    """A JSON object that begins with our key."""
    return own_json.sniff(sample, KEY)


def read(opened: Opened, hints: Hints = Hints()) -> Capture:
    """Each program as an account of memory. Raises UnreadableInput."""
    del hints
    document = own_json.read(opened)
    incidents, damaged = [], 0
    for row in own_json.rows(document, "programs"):
        try:
            incidents.append(_program(row, opened.label))
        except (ValueError, binascii.Error, schema.damage()):
            damaged += 1
    notes = (
        (ReadNote(f"{damaged} of the compiled programs that were kept cannot be read"),) if damaged else ()
    )
    return Capture(Source(opened.path, (FORMAT,), "jax"), incidents=tuple(incidents), notes=notes)


def join(captures: list[Capture]) -> list[Capture]:
    """The failure that a program's bytes explain takes over its account; beside a failure the programs are no
    accounts of their own.
    """
    accounts = [capture for capture in captures if FORMAT in capture.source.formats]
    programs = [each for capture in accounts for each in capture.incidents]
    if not programs or not any(each.fatal for capture in captures for each in capture.incidents):
        return captures
    joined = []
    for capture in captures:
        if FORMAT in capture.source.formats:
            source = replace(capture.source, holds=Holds.SURROUNDINGS)
            joined.append(replace(capture, incidents=(), source=source))
            continue
        mine = tuple(_explained(each, programs) for each in capture.incidents)
        joined.append(replace(capture, incidents=mine))
    return joined


def _explained(incident: Incident, programs: list[Incident]) -> Incident:
    request = incident.request
    named = any(row.node for block in incident.holders for row in block.table)
    told = named or (incident.compiler and incident.compiler.sections)
    if request.kind not in _OPEN or request.size is None or told:
        return incident
    programs = sorted(programs, key=lambda each: not _is_called_by(request.source_text, each))
    for program in programs:
        own = program.compiler
        if own and own.temporaries and _is_asked(request.size, own.temporaries.bytes):
            known = replace(
                incident.compiler or CompilerMemory(),
                sections=own.sections,
                schedule=own.schedule,
                values=own.values,
            )
            asked = replace(
                request,
                kind=RequestKind.XLA,
                executable=program.request.executable,
                first_call=program.request.first_call,
            )
            return replace(incident, request=asked, compiler=known, holders=program.holders)
    if request.size.bytes < _LEAST_RESULT:
        return incident
    return next(
        (
            _of_result(incident, program, row)
            for program in programs
            if (row := _result(program, request.size))
        ),
        incident,
    )


def _is_called_by(code: str | None, program: Incident) -> bool:
    """Whether the line that failed calls the function that this program was made of: others may have a
    result as large.
    """
    name = (program.request.executable or "").removeprefix("jit_")
    return bool(name) and re.search(rf"(?<!\w){re.escape(name)}\s*\(", code or "") is not None


def _result(program: Incident, size: Size) -> Allocation | None:
    """The result of a program that has these bytes."""
    rows = (row for block in program.holders for row in block.table)
    results = (row for row in rows if row.purpose == "maybe_live_out")
    return next((row for row in results if _is_asked(size, row.size_bytes)), None)


def _is_asked(size: Size, wanted: int) -> bool:
    """Whether a request of this size is for so many bytes: a dump states it as the allocator rounds it up."""
    return size.may_be(wanted) or size.may_be(round_up(wanted))


def _of_result(incident: Incident, program: Incident, row: Allocation) -> Incident:
    made = replace(program.request, source=None) if _waits(incident) else program.request
    values = program.compiler.values if program.compiler else ()
    own_line = next(
        (each for each in values if (each.node, each.size_bytes) == (row.node, row.size_bytes)), None
    )
    if own_line and own_line.place and own_line.text and not _waits(incident):
        made = replace(made, source=own_line.place, source_text=own_line.text)
    named = replace(
        incident.request,
        node=row.node,
        op=row.op,
        shape=row.shape,
        dtype=row.dtype,
        source=made.source or incident.request.source,
        source_text=made.source_text if made.source else incident.request.source_text,
        executable=made.executable,
        first_call=made.first_call,
    )
    own, rows = program.compiler, [each for block in program.holders for each in block.table]
    given_back = any(each.purpose == "parameter" and each.size_bytes == row.size_bytes for each in rows)
    if own is None or not given_back:
        return replace(incident, request=named)
    sections = tuple(each for each in own.sections if each[1].bytes)  # a function is no single operation
    if sections and _ONE_PRIMITIVE.fullmatch(row.node or ""):
        sections += (("preallocated temp", Size.exactly(0), sections[0][2]),)
    if own.needed and sections:
        sections += (("shared", Size.exactly(0), sections[0][2]), ("total", own.needed, sections[0][2]))
    known = replace(incident.compiler or CompilerMemory(), sections=sections, values=own.values)
    asked = replace(named, kind=RequestKind.XLA)
    return replace(incident, request=asked, compiler=known, holders=program.holders)


_ONE_PRIMITIVE = regex(r"jit\((?P<name>\w+)\)/(?P=name)")
"""What JAX names an operation that runs by itself: the program and what is in it are one."""


def _waits(incident: Incident) -> bool:
    """Whether the traceback shows where a result was waited for: the line that asked is another one."""
    frames = incident.request.frames
    return any(frame.name == "_value" and "jax/_src/array.py" in frame.place for frame in frames)


def _program(row: dict[str, Any], label: str) -> Incident:
    proto = schema.parse("HloProto", base64.b64decode(str(row.get("hlo_proto")), validate=True))
    module = proto.hlo_module
    if not proto.buffer_assignment.buffer_allocations:
        hlo_assignment.assign(proto, _bytes(row.get("temporary_bytes")))
    origins = hlo_origin.Origins(proto)
    program = hlo_order.program_of(proto, label, origins)
    if not program.blocks:
        raise ValueError("no allocations")
    account = compiled_program.incident(program, module.name or None)
    told = row.get("lines")
    lines = {str(place): str(text) for place, text in told.items()} if isinstance(told, dict) else {}
    place, text = _made_at(module, lines)
    call = _first_call(module, lines)
    values = tuple(origins.values(lines))
    return replace(
        account,
        request=replace(account.request, source=place, source_text=text, first_call=call),
        compiler=replace(account.compiler or CompilerMemory(), values=values),
    )


def _first_call(module: Any, lines: dict[str, str]) -> Frame | None:
    """The user's line that called the function which the program was made of, when it was compiled: the one
    above that function's own. None where its own stands in no stack.
    """
    name = (module.name or "").removeprefix("jit_")
    for computation in module.computations if name else ():
        for each in computation.instructions:
            stack = list(hlo_origin.frames(module, each.metadata.stack_frame_id))
            functions = [function or "" for _, function in stack]
            own = next((each for each in functions if each.rpartition(".")[2] == name), None)
            if own is None:
                continue
            last = len(stack) - 1 - functions[::-1].index(own)
            above = (place for place, _ in stack[last + 1 :] if user_frame(place))
            place = next(above, "")
            if place and lines.get(place):
                return Frame(place, lines[place])
    return None


def _bytes(told: Any) -> int | None:
    return told if isinstance(told, int) and 0 < told < IMPOSSIBLE else None


def _made_at(module: Any, lines: dict[str, str]) -> tuple[str | None, str | None]:
    """The user's line of the program's result."""
    place = next(filter(user_frame, hlo_order.places_of_result(module)), None)
    return place, lines.get(place or "") or None
