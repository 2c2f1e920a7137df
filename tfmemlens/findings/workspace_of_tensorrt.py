"""TensorRT may take a workspace that the device has no room for.

What it means: TensorRT tries kernels of each layer with a workspace of up to `max_workspace_size_bytes`, and
asks CUDA for it, outside of TensorFlow's pool, which has taken nearly all of the GPU. On a Jetson both come
out of the RAM that all programs share.
When it fires: TensorRT's own message says that an allocation failed, or a process of such a board was killed,
and the text states the workspace.
What to do: a smaller workspace, which only rules out some kernels; and a part of the GPU for TensorFlow that
leaves room for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets
from tfmemlens.findings.support.board import RASPBERRY_PI, board, what_helps
from tfmemlens.findings.support.rows import failures
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
from tfmemlens.units import MIB, Size, human, human_size

BASIS = Basis.MEASURED
EXPLAINS = "the workspace that is stated"

_NAME, _USUAL_BYTES = "max_workspace_size_bytes", 256 * MIB
_OF_TENSORRT = "TensorRT"


def check(case: Case) -> Iterator[Finding]:
    stated = case.capture.surroundings.setting(_NAME)
    refused = dict(case.capture.surroundings.foreign).get(_OF_TENSORRT)
    if stated is None or (killed := _killed(case)) is None:
        return
    size, on_board = _bytes(stated[0]), board(case)
    shares = on_board is not None and on_board[0] != RASPBERRY_PI
    if not size or not (refused or (killed and shares)):
        return
    free = _free(case)
    beyond = free is not None and size > free[0].bytes
    if not refused and not beyond:
        return
    what = f"TensorRT may take a workspace of {human(size)} (`{_NAME}`, {stated[1].place})"
    if free and beyond:
        of = "the RAM that CPU and GPU share" if shares else "the device"
        what += (
            f", and TensorFlow got no more than {human_size(free[0])} of {of} ({free[1].place})"
            if _is_a_pool(case, free[1])
            else f", and only {human_size(free[0])} of {of} was free before ({free[1].place})"
        )
    if refused:
        what += f"; its own message says that CUDA had nothing left ({refused.place})"
    yield Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=size,
        evidence=(
            Evidence("the workspace", stated[1]),
            *((Evidence("what was free", free[1]),) if free else ()),
            *((Evidence("TensorRT's message", refused),) if refused else ()),
        ),
        remedies=tuple(_remedies(case, size, on_board[0] if shares and on_board else None)),
        moment=killed[0] if killed else 0,
    )


def _killed(case: Case) -> tuple[int, Moment] | tuple[()] | None:
    """The failure that the input tells, if it is a process that was killed; None where another is told."""
    told = list(failures(case))
    if not told:
        return ()
    index, moment = told[0]
    request = moment.request
    if request is None or len(told) > 1 or request.needed_bytes is not None:
        return None
    return (index, moment) if request.failed.kind is RequestKind.HOST else None


def _bytes(value: str) -> int:
    """`512 << 20` as bytes."""
    number, _, shift = value.partition("<<")
    return int(number) << int(shift or 0)


def _free(case: Case) -> tuple[Size, Line] | None:
    """What TensorFlow found free when it started."""
    devices = case.capture.surroundings.devices
    found = ((each.free, each.line) for each in devices if each.free and each.line)
    got = ((each.limit, each.line) for each in devices if each.limit and each.line)
    return next(found, None) or next(got, None)


def _is_a_pool(case: Case, line: Line) -> bool:
    """Whether the line tells what TensorFlow's pool got, rather than what was free."""
    return any(each.line == line and not each.free for each in case.capture.surroundings.devices)


def _remedies(case: Case, size: int, on_board: str | None) -> Iterator[Remedy]:
    free = _free(case)
    if size > _USUAL_BYTES:
        yield Remedy(
            f"let TensorRT take less ({human(size)} -> {human(_USUAL_BYTES)}): most nets need no more, and a"
            " smaller workspace only rules out some kernels",
            f"{_NAME}={_USUAL_BYTES >> 20} << 20",
            slug="smaller-workspace",
        )
    yield Remedy(
        "leave TensorRT room outside TensorFlow's pool: let that take a part of the memory",
        code_snippets.limit(case.api, free[0] if free else None),
        slug="room-beside-the-pool",
    )
    if on_board:
        yield from what_helps(on_board, converts=True)
