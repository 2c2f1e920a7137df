"""CPU and GPU of this board have one memory: what the system holds, the GPU lacks.

What it means: on Jetson boards (Tegra, Xavier, Orin) TensorFlow gets what the system leaves free when it
starts. The desktop, a browser, Python itself and the data in RAM all take from the same memory.
When it fires: the log names such a GPU, and a request on it failed.
What to do: start without a desktop, end other programs, add swap for what may leave RAM, and run a smaller
model: in float16, converted by TensorRT.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import failures, on_host
from tfmemlens.knowledge.gpu_memory import shares_ram
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.units import GIB, human_size

BASIS = Basis.MEASURED
EXPLAINS = "what the board's other programs hold of the GPU's share"
_LITTLE = 2 * GIB
"""A model that was made for such boards fits into as much."""


def check(case: Case) -> Iterator[Finding]:
    device = next((each for each in case.capture.surroundings.devices if shares_ram(each.model)), None)
    if device is None:
        return
    for index, moment in list(failures(case))[:1]:
        if on_host(moment):
            continue
        got = f": TensorFlow got {human_size(device.limit)} when it started" if device.limit else ""
        because = f"CPU and GPU of this board ({device.model}) share one RAM{got}, what other programs left"
        little = device.limit is not None and device.limit.bytes < _LITTLE
        yield Finding(
            severity=Severity.CAUSE if little else Severity.FACTOR,
            headline=because,
            because=because,
            explains=device.limit.bytes if device.limit and little else None,
            evidence=(Evidence(f"the device is {device.model}", device.line),),
            remedies=(
                Remedy(
                    "free RAM before the program starts: run without a desktop, close browsers and other"
                    " programs, and watch what is left",
                    "sudo systemctl isolate multi-user.target   # then: tegrastats",
                    slug="free-shared-ram",
                ),
                Remedy(
                    "run a smaller model: convert it with TensorRT in float16, or a net made for such boards",
                    slug="smaller-model",
                ),
            ),
            moment=index,
        )
