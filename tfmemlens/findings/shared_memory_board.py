"""CPU and GPU of this board have one memory: what the system holds, the GPU lacks.

What it means: on Jetson boards (Tegra, Xavier, Orin) TensorFlow gets what the system leaves free when it
starts. The desktop, a browser, Python itself and the data in RAM all take from the same memory.
When it fires: the log or the text names such a board, and a request on its GPU failed.
What to do: start without a desktop, end other programs, add swap for what may leave RAM, and run a smaller
model: in float16, converted by TensorRT.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.board import RASPBERRY_PI, board, what_helps
from tfmemlens.findings.support.rows import failures, on_host
from tfmemlens.findings.support.weights import finds_a_full_device
from tfmemlens.knowledge.gpu_memory import shares_ram
from tfmemlens.knowledge.kernel_shapes import like_a_kernel
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Severity
from tfmemlens.units import GIB, human_size

BASIS = Basis.MEASURED
EXPLAINS = "what TensorFlow got of the board's RAM; or the small weight for which nothing was left"
_MAX_BOARD_BYTES = 2 * GIB
"""A model that was made for such boards fits into as much."""


def check(case: Case) -> Iterator[Finding]:
    named = board(case)
    if named is None:
        return
    name, line = named
    device = next((each for each in case.capture.surroundings.devices if shares_ram(each.model)), None)
    for index, moment in list(failures(case))[:1]:
        if on_host(moment) or name == RASPBERRY_PI:
            continue
        limit = device.limit if device else moment.balance.limit
        got = f": TensorFlow got {human_size(limit)} when it started" if limit else ""
        because = f"CPU and GPU of this board ({name}) share one RAM{got}, what other programs left"
        if limit is None:
            because = f"CPU and GPU of this board ({name}) share one RAM with all other programs"
        little = limit is not None and limit.bytes < _MAX_BOARD_BYTES
        full = _is_weight(moment) and finds_a_full_device(case, moment)
        explains = moment.request.needed_bytes if moment.request and full else None
        if limit and little:
            explains = limit.bytes
        yield Finding(
            severity=Severity.CAUSE if little or full else Severity.FACTOR,
            headline=because,
            because=because,
            explains=explains,
            evidence=(Evidence(f"the device is {name}", line),),
            remedies=what_helps(name, trains=_trains(moment)),
            moment=index,
        )


def _trains(moment: Moment) -> bool:
    """Whether it failed on the way back or in an update, as its op or its C++ kernel shows."""
    request = moment.request
    of_gradients = request is not None and "_grad_" in (request.failed.kernel or "")
    return of_gradients or (request is not None and request.owner.phase in (Phase.GRADIENT, Phase.OPTIMIZER))


def _is_weight(moment: Moment) -> bool:
    """Whether a weight was refused, by its owner or its shape."""
    request = moment.request
    if request is None:
        return False
    of_model = request.owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
    return of_model or like_a_kernel(request.failed.shape or ())
