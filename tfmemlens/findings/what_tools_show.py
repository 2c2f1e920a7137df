"""What a tool shows of a process that does not fail, and somebody asks about.

What it means: `top` has VIRT, the addresses that a process reserved (CUDA takes tens of gigabytes of them),
and RES, what is in RAM. `nvidia-smi` counts CUDA's context and the code of its libraries, some hundred MiB of
each process, which lie outside of TensorFlow's pool.
When it fires: the text tells of no failure and of no growth, asks whether that is normal, and a row of `top`
has far more VIRT than RES, or a table shows next to nothing in use.
What to do: nothing; what it costs, and how to do without.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.model.capture import DeviceUse
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, MIB, human

BASIS = Basis.NAME
EXPLAINS = "no bytes"

_FAILS = (
    *("running short", "growing in words", "ended in words", "killed in words", "hanging in words"),
    *("taking the whole GPU", "much memory in words", "kept in words", "raising an exception"),
)
_RESIDENT = Remedy(
    "look at RES (of top) or RSS (of ps) alone: CUDA and TensorFlow reserve tens of gigabytes of addresses,"
    " which cost nothing; only a limit of addresses (ulimit -v) would count them",
    "ps -o pid,rss,vsz,cmd -C python",
    slug="look-at-resident",
)
_HIDE = Remedy(
    "nothing to mend. A process that computes nothing on the GPU does without where it sees none",
    "CUDA_VISIBLE_DEVICES=-1 python app.py",
    slug="hide-the-gpu",
)
_CONTEXT, _LITTLE = 1 * GIB, 0.15
"""What a context with its libraries takes at most, and the part of a GPU that is next to nothing."""
_TIMES, _MUCH = 4, 8 * GIB


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    asks = told.shows("asked: normal")
    if asks is None or case.moments or told.foreign or told.elsewhere or told.without_figures or told.crash:
        return
    if any(map(told.shows, _FAILS)) or told.raised or told.kernel_died or told.soft_warnings:
        return
    row = told.shows("a row of top")
    sizes = _of_top(row) if row else None
    if row and sizes and sizes[0] >= max(_TIMES * sizes[1], _MUCH):
        yield _finding(
            f"no failure is told: {human(sizes[0])} of VIRT ({row.place}) are addresses that the process"
            f" reserved, most of them CUDA's; in RAM are {human(sizes[1])} (RES)",
            row,
            _RESIDENT,
        )
    elif use := next(filter(_is_a_context, told.device_uses), None):
        assert use.used and use.total
        yield _finding(
            f"no failure is told: {human(use.used.bytes)} of {human(use.total.bytes)} ({use.line.place}) are"
            " what a process takes of a GPU as soon as it uses it, before any tensor: CUDA's context and the"
            " code of its libraries and kernels, some hundred MiB that lie outside the framework's pool",
            use.line,
            _HIDE,
        )


def _is_a_context(use: DeviceUse) -> bool:
    if not (use.used and use.total and use.total.bytes):
        return False
    return 50 * MIB <= use.used.bytes <= min(_CONTEXT, int(_LITTLE * use.total.bytes))


_ROW = regex(
    r"\A\s*\d{1,8} +\S+ +-?\w{1,4} +-?\d{1,3} +(?P<virtual>[\d.,]{1,12}[kmgt]?)"
    r" +(?P<resident>[\d.,]{1,12}[kmgt]?) "
)
_UNITS = {"": 1 << 10, "k": 1 << 10, "m": MIB, "g": GIB, "t": 1 << 40}


def _of_top(row: Line) -> tuple[int, int] | None:
    """VIRT and RES of a row, whose figures without a letter are KiB."""
    match = _ROW.match(row.text)
    return (_bytes(match["virtual"]), _bytes(match["resident"])) if match else None


def _bytes(text: str) -> int:
    figure = text.rstrip("kmgt").replace(",", ".")
    return int(float(figure) * _UNITS[text[len(figure) :]]) if figure.count(".") <= 1 else 0


def _finding(what: str, line: Line, remedy: Remedy) -> Finding:
    return Finding(
        severity=Severity.FACTOR,
        headline=what,
        because=what,
        evidence=(Evidence("what it shows", line),),
        remedies=(remedy,),
    )
