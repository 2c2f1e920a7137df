"""Processes that compute on GPUs of their own hold a part of another one as well.

What it means: a CUDA context takes some hundred MiB of its GPU. A process opens one on the first GPU as soon
as anything in it asks for a GPU before it was told which is its own: a check whether one is there, a decoder,
another framework.
When it fires: a table of processes names one process on two GPUs, of which it holds far more on one, and the
other is full.
What to do: show each process its own GPU alone, before it starts.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.model.capture import DeviceProcess, DeviceUse
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.units import human

BASIS = Basis.MEASURED
EXPLAINS = "what these processes hold of the GPU that is not theirs"

_FULL, _FAR_MORE = 0.9, 4
_BEFORE_IT_STARTS = Remedy(
    "show each process its own GPU alone, from outside: nothing that it loads can then open another",
    "CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_LOCAL_RANK python train.py   # for each rank",
    slug="one-device-each",
)
_AFTER_THE_CHOICE = Remedy(
    "or let whatever asks for a GPU (is_gpu_available(), torch.cuda.is_available(), a decoder, an import that"
    " does so) come after the line that chooses the GPU",
    slug="leave-it-out",
)


def check(case: Case) -> Iterator[Finding]:
    uses = case.capture.surroundings.device_uses
    for use in uses:
        visitors = [each for each in use.processes if _is_at_home_elsewhere(each, use, uses)]
        held = sum(each.used.bytes for each in visitors if each.used)
        if not visitors or not (use.used and use.total and use.used.bytes >= _FULL * use.total.bytes):
            continue
        pids = ", ".join(str(each.pid) for each in visitors[:4])
        what = (
            f"processes that compute on GPUs of their own (pid {pids}) hold {human(held)} of GPU {use.device}"
            " as well: something in each opened it before it was told which GPU is its own"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=held,
            evidence=tuple(Evidence(f"pid {each.pid}", each.line) for each in visitors[:3]),
            remedies=(_BEFORE_IT_STARTS, _AFTER_THE_CHOICE),
        )
        return


def _is_at_home_elsewhere(process: DeviceProcess, here: DeviceUse, uses: tuple[DeviceUse, ...]) -> bool:
    """Whether it holds far more of another device of the table."""
    if process.draws or not process.used:
        return False
    least = _FAR_MORE * process.used.bytes
    return any(
        each.pid == process.pid and each.used is not None and each.used.bytes >= least
        for use in uses
        if use is not here
        for each in use.processes
    )
