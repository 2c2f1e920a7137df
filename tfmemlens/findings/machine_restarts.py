"""The machine itself restarts or switches off, which no lack of memory does.

What it means: TensorFlow and JAX report a full GPU as an error, and the kernel kills a process where RAM is
full; both leave the machine running. A machine that goes down under load has a power supply that cannot give
the peaks of its GPUs, becomes too hot, or has a fault in its hardware or driver.
When it fires: the text says that the machine, the computer or the server went down by itself.
What to do: cap the GPU's power, which tells the supply from the rest, and read what the system logged before.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.board import board
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line

BASIS = Basis.NAME
EXPLAINS = "no bytes"

_CAP = Remedy(
    "cap the power of the GPU, and run the same again: if the machine then stays up, the power supply (or its"
    " cables) cannot give the peaks; -q shows which values the card allows",
    "sudo nvidia-smi -pl 150   # nvidia-smi -q -d POWER; Windows: as an administrator",
    slug="cap-the-power",
)
_LOOK = Remedy(
    "if it goes down all the same, see what the system logged last (an Xid is the driver or the card; thermal"
    " or machine check is heat or hardware), and write power and temperature to a file, which survives",
    "journalctl -b -1 -e; nvidia-smi --query-gpu=timestamp,power.draw,temperature.gpu --format=csv -l 1 -f"
    " gpu.csv",
    slug="log-the-hardware",
)


_OF_A_BOARD = (
    Remedy(
        "run the board in a mode that draws less, and feed it by the supply that its makers name (a Jetson"
        " by the barrel jack with its jumper set, not by USB; a Raspberry Pi by its own supply), with a fan",
        "sudo nvpmodel -m 1   # Jetson: 5 W or 10 W, by the board; Raspberry Pi: vcgencmd get_throttled",
        slug="cap-the-power",
    ),
    Remedy(
        "write power, temperature and memory to a file while it runs, and see the last rows",
        "tegrastats --logfile stats.log   # Raspberry Pi: vcgencmd measure_temp",
        slug="log-the-hardware",
    ),
)


def check(case: Case) -> Iterator[Finding]:
    line = case.capture.surroundings.shows("the machine restarts")
    if line is None:
        return
    what = (
        f"the machine itself goes down ({line.place}), which no lack of memory does: a full GPU ends in an"
        " error, full RAM in a killed process. Most likely the power supply cannot give the peaks of the GPU,"
        " or heat, hardware or the driver is at fault"
    )
    yield Finding(
        severity=Severity.NOTE if case.moments else Severity.FACTOR,
        headline=f"{what}{_besides(case, line)}",
        because=what,
        evidence=(Evidence("what the text says", line),),
        remedies=_OF_A_BOARD if board(case) else (_CAP, _LOOK),
    )


def _besides(case: Case, line: Line) -> str:
    """That what is told of memory besides is another matter."""
    short = case.capture.surroundings.shows("running short")
    if short is None or case.moments:
        return ""
    where = "what it says of memory" if short == line else f"what {short.place} says of memory"
    return f"; {where} is another matter: a smaller load may only draw less power"
