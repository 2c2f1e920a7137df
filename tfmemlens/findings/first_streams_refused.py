"""The GPU's driver refused the first streams of a device that had just been given all of its memory.

What it means: TensorFlow makes a device's streams right behind the device itself, before any tensor. A driver
that answers with its code of no memory there, where the log has a device of gigabytes, cannot work with this
card: its release does not fit, or it was told that the card is another one.
When it fires: the driver could not make a stream, no step went well before, no table shows a full device, and
the log shows the device with at least 1 GiB, or a variable that gives the card out as another one.
What to do: see which card the runtime finds, take a release that supports it, and leave out what gives it out
as another card; then see whether others hold it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import failures
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, Size, human_size

BASIS = Basis.NAME
EXPLAINS = "no bytes: a stream takes next to none"

_STREAM = regex(r"could not allocate (?P<vendor>ROCM|CUDA) stream for (?:device|context)\b")
_BUT_OTHERS = ("smaller-batch", "growth", "smaller-part", "smaller-evaluation-batch", "smaller-input")
"""Another process may take a GPU of CUDA's between the device and its streams."""
_OF_A_SHORTAGE = (*_BUT_OTHERS, "see-device-users")


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        if (refused := first_stream(case, moment)) is None:
            continue
        vendor, limit = refused
        override = _override(case, vendor)
        as_another = ""
        if override:
            value, line = override
            as_another = f"; {line.place} gives it out as another card (HSA_OVERRIDE_GFX_VERSION={value})"
        made = f" right after it was made with {human_size(limit)}" if limit else ""
        what = (
            f"the device's first streams were refused{made}, before any tensor: most likely"
            f" no lack of memory, but a driver or {_RUNTIME[vendor]} that does"
            f" not fit this card{as_another}"
        )
        assert moment.request
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            evidence=(
                Evidence("the message", moment.request.failed.line),
                *((Evidence("what gives the card out as another", override[1]),) if override else ()),
            ),
            remedies=tuple(_remedies(vendor, override is not None)),
            moment=index,
            rules_out=_OF_A_SHORTAGE if vendor == "ROCM" else _BUT_OTHERS,
        )


_RUNTIME = {"ROCM": "ROCm", "CUDA": "CUDA runtime"}


def first_stream(case: Case, moment: Moment) -> tuple[str, Size | None] | None:
    """Whose stream was refused, and the memory that the device was made with, where the text has that; None
    of other failures.
    """
    failed = moment.request.failed if moment.request else None
    if failed is None or failed.kind is not RequestKind.DRIVER or failed.line is None:
        return None
    match = _STREAM.search(failed.line.text)
    if match is None or _went_well_before(case, failed.line) or _is_full(case):
        return None
    made = [each.limit for each in case.capture.surroundings.devices if each.limit]
    limit = next((each for each in made if each.bytes >= GIB), None)
    known = limit or (not made and _override(case, match["vendor"]))
    return (match["vendor"], limit) if known else None


def _override(case: Case, vendor: str) -> tuple[str, Line] | None:
    """What gives the card out as another one, as which, and its line."""
    return case.capture.surroundings.setting("HSA_OVERRIDE_GFX_VERSION") if vendor == "ROCM" else None


def _went_well_before(case: Case, line: Line) -> bool:
    """Whether steps were done on the device before, so that it had streams and could work."""
    return case.capture.surroundings.progress_before(line) is not None


_LEFT = 0.1
"""The share of a device that must be free, where a table shows it, so that memory is not the better guess."""


def _is_full(case: Case) -> bool:
    """Whether a table shows that hardly anything of a device is left, whoever holds it."""
    uses = case.capture.surroundings.device_uses
    return any(
        use.used and use.total and use.total.bytes - use.used.bytes < _LEFT * use.total.bytes for use in uses
    )


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
