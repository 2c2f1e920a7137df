"""The failed request: what asked, for how much, from where."""

from __future__ import annotations

from tfmemlens.model.case import Moment
from tfmemlens.model.incident import FailedRequest, RequestKind
from tfmemlens.model.tensor import TensorType
from tfmemlens.patterns import regex
from tfmemlens.renderers.terminal._blocks import heading, paragraph
from tfmemlens.renderers.view import View
from tfmemlens.units import human, human_size

CODE, CALL, LATER = "your code", "started by", "seen later at"
"""What stands before a line of the user's: the line that makes the tensor, only the one that ran all, or one
that waits for what an earlier line started.
"""
INSTALLED = "called in"
"""What stands before a line of an installed program."""
_RUNS_ALL = regex(
    r"\.(?:fit|fit_generator|evaluate|predict|(?:train|test|predict)_on_batch|train_and_evaluate)\("
)
"""A line that runs a whole model says nothing about which tensor it was."""
_LAST_ARGUMENT = regex(r"\s*(?:\w{1,60}=[\w.'\"]{1,120},?|[^()]{0,120}\))\)*\s*\Z")
"""Only the end of a call, as Python before 3.8 quotes it."""
_CALLED = regex(r"([\w.]+)\s*\(")
_WAIT = {
    *("print", "float", "int", "bool", "str", "format", "round", "asarray", "array", "item", "tolist"),
    *("block_until_ready", "device_get", "append", "write", "info", "flush"),
}
"""Calls that compute nothing of a compiled program: a line of these alone waits for its results."""

HEADINGS = {RequestKind.PROGRAM: "the program", RequestKind.PROFILE: "the profile"}


def page(moment: Moment, view: View) -> list[str]:
    """The facts under their heading, nothing for a traced step."""
    told = facts(moment)
    if not told or moment.request is None:
        return []
    name = HEADINGS.get(moment.request.failed.kind, "the failed request")
    return heading(name, view) + [
        line for label, text in told for line in paragraph(text, view.width, " " * 12, f"  {label:9} ")
    ]


def facts(moment: Moment) -> list[tuple[str, str]]:
    """What failed, as pairs of a label and a text; empty for a traced step."""
    request = moment.request
    if request is None:
        return []
    failed = request.failed
    rounded = (
        request.rounded_bytes
        if failed.tensor_bytes and request.rounded_bytes != failed.tensor_bytes
        else None
    )
    told = [
        ("tensor" if failed.shape is not None else "size", tensor(failed)),
        ("rounded", f"{human(rounded)} after allocator rounding" if rounded else ""),
        ("layer", _layer(moment)),
        ("op", _op(moment)),
        ("phase", "" if request.owner.phase.value == "none" else request.owner.phase.value),
        (
            "device",
            " ".join(
                part
                for part in (failed.device, f"allocator {failed.allocator}" if failed.allocator else "")
                if part
            ),
        ),
        (
            _label(failed),
            " ".join(
                part
                for part in (failed.source, f"`{failed.source_text}`" if failed.source_text else "")
                if part
            ),
        ),
        ("run by", f"{failed.ran_by.place} `{failed.ran_by.text}`" if failed.ran_by else ""),
        ("first call", _first_call(failed)),
        ("program", _program(failed)),
        ("log", _reported(moment)),
    ]
    return [(name, text) for name, text in told if text]


def waits(failed: FailedRequest) -> bool:
    """Whether the line only waits for an array that JAX computes beside the program."""
    return any(frame.name == "_value" and "jax/_src/array.py" in frame.place for frame in failed.frames)


def _first_call(failed: FailedRequest) -> str:
    """The line that called the program's function first, where no other line of it is told."""
    call = failed.first_call
    return f"{call.place} `{call.text}`" if call and call.place != failed.source else ""


def _program(failed: FailedRequest) -> str:
    """The program's name; JAX gives that of the array that was waited for, which a program before may have
    failed.
    """
    name = failed.executable or ""
    if not waits(failed) or not name:
        return name
    return "" if name.startswith("jit__") else f"{name}, or a program before it"


def _label(failed: FailedRequest) -> str:
    text = failed.source_text or ""
    called = {name.rpartition(".")[2] for name in _CALLED.findall(text)}
    if waits(failed) or (failed.executable and called and called <= _WAIT):
        return LATER
    if "-packages" in (failed.source or ""):
        return INSTALLED
    return CALL if _RUNS_ALL.search(text) or _LAST_ARGUMENT.match(text) else CODE


_PLACE = regex(
    r"(?:/job:(?P<job>\w+))?(?:/replica:(?P<replica>\d+))?(?:/task:(?P<task>\d+))?"
    r"/(?:device:)?(?P<kind>[A-Z]PU):(?P<number>\d+)\Z"
)


def other_device(failed: FailedRequest) -> str:
    """`GPU:3, worker task 2`, where that is not the first device of the only process; else empty."""
    match = _PLACE.fullmatch(failed.device or "")
    if match is None:
        return ""
    job, task, replica = match["job"] or "localhost", match["task"] or "0", match["replica"] or "0"
    process = [
        *([f"replica {replica}"] if replica != "0" else []),
        *([f"{job} task {task}"] if job != "localhost" or task != "0" else []),
    ]
    if not process and match["number"] == "0":
        return ""
    return ", ".join((f"{match['kind']}:{match['number']}", *process))


def tensor(failed: FailedRequest) -> str:
    """What was asked for: `[8,256,256,64] float32 = 128.00 MiB`, or only a size."""
    if failed.shape is None:
        return human_size(failed.size) if failed.size else ""
    need = failed.tensor_bytes
    size = f" = {human(need)}" if need is not None else ""
    return f"{TensorType(failed.shape, failed.dtype)}{size}{' (temporary)' if failed.temporary else ''}"


def _layer(moment: Moment) -> str:
    layer = (moment.request.owner.layer if moment.request else None) or ""
    calls = moment.attribution.calls.get(layer, 1)
    return f"{layer}, called at least {calls} times" if calls > 1 else layer


def _op(moment: Moment) -> str:
    assert moment.request
    failed, op = moment.request.failed, moment.request.owner.op
    node = failed.node
    return f"{node} ({op})" if node and op and op not in node.rpartition("/")[2] else node or op or ""


def _reported(moment: Moment) -> str:
    incident = moment.incident
    if incident is None or incident.request.line is None:
        return ""
    count = incident.occurrences
    times = f" ({count}×)" if count > 1 else ""
    names = ", ".join(incident.ranks[:4]) + (" …" if len(incident.ranks) > 4 else "")
    line = incident.request.line
    processes = "one process" if len(incident.ranks) == 1 else f"{len(incident.ranks)} processes"
    who = (
        f", in {len(incident.ranks)} files ({names})"
        if line.source in incident.ranks
        else f", by {processes} ({names})"
    )
    first = "first reported on " if count > 1 else ""
    return f"{first}{line.place}{times}{who if incident.ranks else ''}"
