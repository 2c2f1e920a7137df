"""The GPU's driver refused the first streams of a device that had just been given all of its memory.

What it means: TensorFlow makes a device's streams right behind the device itself, before any tensor. A driver
that answers with its code of no memory there, where the log has a device of gigabytes, cannot work with this
card: its release does not fit, or it was told that the card is another one.
When it fires: the driver could not make a stream, and the log shows the device with at least 1 GiB.
What to do: see which card the runtime finds, take a release that supports it, and leave out what gives it out
as another card; then see whether others hold it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.rows import failures
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, Size, human_size

BASIS = Basis.NAME
EXPLAINS = "no bytes: a stream takes next to none"

_STREAM = regex(r"could not allocate (?P<vendor>ROCM|CUDA) stream for device")
_ANOTHER_CARD = regex(r"\bHSA_OVERRIDE_GFX_VERSION ?= ?['\"]?(?P<value>[\d.]{3,9})")
_OF_A_SHORTAGE = ("smaller-batch", "growth", "see-device-users", "smaller-part")


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        if (refused := first_stream(case, moment)) is None:
            continue
        vendor, limit = refused
        override = _override(case) if vendor == "ROCM" else None
        as_another = ""
        if override:
            line, value = override
            as_another = f"; {line.place} gives it out as another card (HSA_OVERRIDE_GFX_VERSION={value})"
        what = (
            f"the device's first streams were refused right after it was made with {human_size(limit)},"
            f" before any tensor: most likely no lack of memory, but a driver or {_RUNTIME[vendor]} that does"
            f" not fit this card{as_another}"
        )
        assert moment.request
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            evidence=(
                Evidence("the message", moment.request.failed.line),
                *((Evidence("what gives the card out as another", override[0]),) if override else ()),
            ),
            remedies=tuple(_remedies(vendor, override is not None)),
            moment=index,
            rules_out=_OF_A_SHORTAGE,
        )


_RUNTIME = {"ROCM": "ROCm", "CUDA": "CUDA runtime"}


def first_stream(case: Case, moment: Moment) -> tuple[str, Size] | None:
    """Whose stream was refused, and the memory that the device was made with; None of other failures."""
    failed = moment.request.failed if moment.request else None
    if failed is None or failed.kind is not RequestKind.DRIVER or failed.line is None:
        return None
    match = _STREAM.search(failed.line.text)
    made = (each.limit for each in case.capture.surroundings.devices if each.limit)
    limit = next((each for each in made if each.bytes >= GIB), None)
    return (match["vendor"], limit) if match and limit else None


def _override(case: Case) -> tuple[Line, str] | None:
    """The line that gives the card out as another one, and as which."""
    for line in code_lines(case.capture.surroundings):
        if match := _ANOTHER_CARD.search(line.text):
            return line, match["value"]
    return None


def _remedies(vendor: str, overridden: bool) -> Iterator[Remedy]:
    if vendor == "ROCM":
        yield Remedy(
            f"{'leave the override out, ' if overridden else ''}see which card ROCm finds, and take a ROCm"
            " and a tensorflow-rocm whose release lists it",
            "rocminfo | grep gfx; pip list | grep -i rocm   # without HSA_OVERRIDE_GFX_VERSION",
            slug="matching-driver",
        )
    else:
        yield Remedy(
            "see whether the driver is as new as the CUDA that TensorFlow was built for, and the card one"
            " that it supports",
            'nvidia-smi; python -c "import tensorflow as tf; print(tf.sysconfig.get_build_info())"',
            slug="matching-driver",
        )
    yield Remedy(
        "run the smallest program that uses the card by itself: if it fails, too, no program of yours is the"
        " reason",
        'python -c "import tensorflow as tf; print(tf.reduce_sum(tf.ones([2, 2])))"',
        slug="smallest-program",
    )
