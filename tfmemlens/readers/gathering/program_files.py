"""The program itself, where it lies beside its log: files that a failure's traceback names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from tfmemlens.errors import TfmemlensError
from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.model.capture import Capture
from tfmemlens.model.incident import Frame, Incident
from tfmemlens.model.line import ReadNote
from tfmemlens.model.program import Program
from tfmemlens.readers.bytes import texts
from tfmemlens.readers.formats import python_source
from tfmemlens.readers.gathering import inputs, merge_logs, opening
from tfmemlens.values import replace

FOLDER = "tfmemlens-program"
"""Where a bundle keeps the files of the program that it explains."""
_MOST_FAILURES = 3
_MOST_FILES = 4
_MOST_ROWS = 20
"""Of one statement."""


def with_programs(capture: Capture, places: Sequence[inputs.Place]) -> Capture:
    """The same with the programs that the tracebacks of its failures name, read where they still are what
    ran: the line that the traceback quotes must stand in the file under its number. A program that was
    killed left no traceback: its bundle has the script itself.
    """
    frames = _frames_of(capture)
    files = _files_of(frames, places) if frames else _kept_scripts(capture, places)
    programs = [read for file in files if (read := _read(file)) is not None]
    if not (frames or programs):
        return capture
    told = merge_logs.surroundings([capture, *programs]) if programs else capture.surroundings
    names = " and ".join(os.path.basename(each.source.path) for each in programs)
    why = "the traceback quotes it" if frames else "it is what ran"
    note = ReadNote(f"{names} was read, too: {why}")
    return replace(
        capture,
        incidents=tuple(_with_statements(each, places) for each in capture.incidents)
        if programs
        else capture.incidents,
        surroundings=replace(told, program=partial(_marked, told.program, tuple(frames))),
        notes=(*capture.notes, note) if programs else capture.notes,
    )


def _kept_scripts(capture: Capture, places: Sequence[inputs.Place]) -> list[str]:
    """Scripts that a bundle keeps of a run whose end no traceback tells."""
    if not capture.incidents:
        return []
    folders = [Path(place, FOLDER) for place in places if os.path.isdir(place)]
    return [str(file) for folder in folders for file in sorted(folder.glob("*.py"))][:_MOST_FILES]


def _with_statements(incident: Incident, places: Sequence[inputs.Place]) -> Incident:
    """The same with the whole statement where the traceback quotes a later line of it."""
    request = incident.request
    ran_by = request.ran_by and request.ran_by._replace(text=_statement(request.ran_by, places))
    text = request.source_text or _unquoted(request.source, incident, places)
    if request.source and text:
        text = _statement(Frame(request.source, text), places)
    return replace(incident, request=replace(request, source_text=text, ran_by=ran_by))


def _unquoted(source: str | None, incident: Incident, places: Sequence[inputs.Place]) -> str | None:
    """The line of a place that the text names without its code, as that of a graph's function, where another
    frame's quote shows the file to be what ran.
    """
    path, _, number = (source or "").rpartition(":")
    same = (frame for frame in _frames(incident) if frame.place.rpartition(":")[0] == path)
    file = next((file for frame in same for file in _files(frame, places)), None) if path else None
    lines = _lines(file) if file and number.isdecimal() else []
    return whole_statement(lines, int(number)) or None if 0 < int(number or 0) <= len(lines) else None


def _statement(frame: Frame, places: Sequence[inputs.Place]) -> str:
    number = frame.place.rpartition(":")[2]
    if not number.isdecimal() or not _is_part(frame.text):
        return frame.text
    lines = next((_lines(file) for file in _files(frame, places)), [])
    return whole_statement(lines, int(number)) if lines else frame.text


def whole_statement(lines: Sequence[str], number: int) -> str:
    """The call that a line of a file is the end of, on one line; the line as it is where no call begins
    above it. Python up to 3.7 names the line of a call's last argument.
    """
    line = lines[number - 1].strip()
    if not _is_part(line):
        return line
    first, last, rows = number - 1, number, [line]
    opened = 0 if _depth(rows) < 0 else 1
    while _depth(rows) < opened and first and len(rows) < _MOST_ROWS:
        first -= 1
        rows.insert(0, lines[first].strip())
    begins = _depth(rows) >= opened
    while _depth(rows) > 0 and last < len(lines) and len(rows) < _MOST_ROWS:
        rows.append(lines[last].strip())
        last += 1
    return " ".join(rows) if begins and _depth(rows) == 0 else line


def _is_part(text: str) -> bool:
    """Whether a line can only be a later one of a statement."""
    depth = _depth([text])
    return depth < 0 or (depth == 0 and text.rstrip().endswith(","))


def _depth(rows: Sequence[str]) -> int:
    """How many brackets stay open; a comment or a string that holds some is rare, and then nothing fits."""
    text = "".join(rows)
    return sum(map(text.count, "([{")) - sum(map(text.count, ")]}"))


def files(capture: Capture, places: Sequence[inputs.Place]) -> list[str]:
    """The files of the user's that the tracebacks name, where they still are what ran."""
    return _files_of(_frames_of(capture), places)


def _frames_of(capture: Capture) -> list[Frame]:
    return [frame for incident in capture.incidents[:_MOST_FAILURES] for frame in _frames(incident)]


def _files_of(frames: Sequence[Frame], places: Sequence[inputs.Place]) -> list[str]:
    return [*dict.fromkeys(file for frame in frames for file in _files(frame, places))][:_MOST_FILES]


def _marked(program: Callable[[], Program], frames: Sequence[Frame]) -> Program:
    """The program, its files' statements with the lines that the traceback goes through."""
    lines: dict[str, set[int]] = {}
    for frame in frames:
        path, _, number = frame.place.rpartition(":")
        if number.isdecimal():
            lines.setdefault(os.path.basename(path), set()).add(int(number))
    return Program(
        tuple(
            replace(statement, running=frozenset(lines[statement.line.source]))
            if statement.line.source in lines
            else statement
            for statement in program()
        )
    )


def _frames(incident: Incident) -> list[Frame]:
    """The user's frames of a failure, that of the failing line among them."""
    request = incident.request
    frames = [*request.frames, *filter(None, [request.ran_by])]
    if request.source:
        frames.append(Frame(request.source, request.source_text or ""))
    return [frame for frame in frames if user_frame(frame.place)]


def _files(frame: Frame, places: Sequence[inputs.Place]) -> Iterator[str]:
    path, _, number = frame.place.rpartition(":")
    if path.endswith(".py") and number.isdecimal() and frame.text.strip():
        here = (each for each in _candidates(path, places) if _quoted(each, int(number), frame.text))
        yield from (str(Path(each).resolve()) for each in islice(here, 1))


def _candidates(path: str, places: Sequence[inputs.Place]) -> Iterator[str]:
    """Where the file may lie: where the traceback says, else beside the log, in its bundle or here."""
    folders = [str(Path(place).parent) for place in places if os.path.exists(place)]
    folders += [os.fspath(place) for place in places if os.path.isdir(place)]
    for folder in ("", *folders, *(os.path.join(folder, FOLDER) for folder in folders)):
        yield os.path.join(folder, path)
        yield os.path.join(folder, os.path.basename(path))


def _quoted(path: str, number: int, text: str) -> bool:
    """Whether a file of a sensible size has this line under this number."""
    lines = _lines(path)
    if not 0 < number <= len(lines):
        return False
    quoted = text.strip()
    return quoted == lines[number - 1].strip() or quoted == whole_statement(lines, number)


def _lines(path: str) -> list[str]:
    """A file of a sensible size; nothing where it cannot be read."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > python_source.LARGEST:
            return []
        with open(path, "rb") as file:
            content = file.read(python_source.LARGEST)
    except (OSError, ValueError):
        return []
    return content.decode(texts.encoding_of(content[:4096]), "replace").splitlines()


def _read(path: str) -> Capture | None:
    try:
        with (opened := opening.open_input(inputs.Input(path))).file:
            opened.label = os.path.basename(path)
            if not python_source.is_program(opened):
                return None
            capture = python_source.read(opened)
    except TfmemlensError:
        return None
    return replace(capture, source=replace(capture.source, holds=python_source.HOLDS))
