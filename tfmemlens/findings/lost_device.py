"""The GPU is gone, or its driver cannot work any more: next to nothing is refused again and again.

What it means: a GPU that was pulled out or fell off its bus leaves a driver that answers each request with
its code of no memory, be it for two kilobytes of pinned host RAM. More RAM or a smaller batch changes
nothing.
When it fires: the driver could not pin at most 64 KiB, three times and never more than that, or beside words
of a GPU that is lost; or it refused anything beside its own log of that.
What to do: end the program, bring the GPU back, and see in the kernel's log why it went.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.host_ram.gone import Lost, lost_device
from tfmemlens.findings.support.rows import failures
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity

BASIS = Basis.NAME
EXPLAINS = "no bytes: next to none were asked for"

_OF_A_SHORTAGE = (
    *("smaller-batch", "smaller-pipeline", "free-shared-ram", "container-limit", "more-ram", "growth"),
    *("see-device-users", "smaller-part", "more-pinned-memory", "larger-host-pool", "smaller-input"),
)


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        if (lost := lost_device(case, moment)) is None:
            continue
        assert moment.request
        yield Finding(
            severity=Severity.CAUSE,
            headline=lost.words,
            because=lost.words,
            evidence=(
                Evidence("the message", moment.request.failed.line),
                *((Evidence("what tells of the GPU", lost.line),) if lost.line else ()),
            ),
            remedies=tuple(_remedies(lost)),
            moment=index,
            rules_out=_OF_A_SHORTAGE,
        )


def _remedies(lost: Lost) -> Iterator[Remedy]:
    """A program cannot go on with a GPU that is gone; else the first error tells what happened to it."""
    show, words = ("rocm-smi", "amdgpu|kfd") if lost.rocm else ("nvidia-smi", "nvrm|xid|fallen off")
    if lost.line is not None:
        yield Remedy(
            "end the program, to which nothing gives its GPU back, and start it from its last checkpoint once"
            f" {show} lists the GPU again; the machine may have to boot for that",
            show,
            slug="start-it-again",
        )
    yield Remedy(
        "see in the kernel's log what happened to the GPU before these lines: its power, its cable or slot,"
        " its heat, a card that was taken out, an error of its driver",
        f"dmesg -T | grep -i -E '{words}'; {show}",
        slug="why-it-went",
    )
    if lost.line is None:
        yield Remedy(
            "then end the program and whatever else is on the GPU; where a new one is refused as well, load"
            " the driver's module anew, or boot the machine",
            slug="reload-the-driver",
        )
