"""A program that was ended still holds a GPU.

What it means: a process gives a GPU back when the driver lets it go. One that was interrupted may leave
children, or wait in the driver for work on several GPUs that never ends: it stays as a zombie, nvidia-smi may
list no process, and no other program finds room. That is no lack of memory of the next program.
When it fires: the text tells of a zombie, or of a GPU that stays occupied after a program was interrupted or
killed, and quotes no message.
What to do: find every process that has the GPU's device files open, and end it; else reset the driver.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex

BASIS = Basis.NAME
EXPLAINS = "no bytes"

_END = Remedy(
    "see which processes still have the GPU open, children and workers as well, and end what is yours:"
    " nvidia-smi does not list all of them. A zombie goes when its parent ends",
    "sudo fuser -v /dev/nvidia*   # then: kill -9 PID; ps -o ppid= -p PID tells the parent",
    slug="end-what-is-left",
)
_RESET = Remedy(
    "if one cannot be killed it waits in the driver: reset the GPU, which needs that nothing else uses it, or"
    " restart the machine; a newer driver helps against that, and with several GPUs to end the program by"
    " itself (SIGTERM, a last step) instead of Ctrl+C",
    "sudo nvidia-smi --gpu-reset -i 0",
    slug="reload-the-driver",
)


_THREADS = Remedy(
    "let the generator's workers be threads: a process that is forked when TensorFlow already runs takes its"
    " locks and the GPU's open files along, and may wait for ever",
    "model.fit(..., workers=4, use_multiprocessing=False)",
    slug="fewer-forks",
)
_GROWS = regex(r"(?i)\bgrow|\bleak|\bincreas|\bris(?:es|ing)\b")


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    line = told.shows("left behind")
    if line is None or case.moments or told.foreign or told.elsewhere or told.without_figures:
        return
    grows = told.shows("growing in words")
    if grows and (grows != line or _GROWS.search(grows.text)):
        return
    what = (
        f"a program that was ended still holds the GPU ({line.place}): a process of it is left, or waits in"
        " the driver, and its memory comes back when that is gone"
    )
    yield Finding(
        severity=Severity.FACTOR,
        headline=what,
        because=what,
        evidence=(Evidence("what the text says", line),),
        remedies=(_END, _THREADS, _RESET) if told.shows("worker processes") else (_END, _RESET),
    )
