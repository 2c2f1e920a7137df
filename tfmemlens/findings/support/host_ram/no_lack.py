"""A std::bad_alloc that no lack of RAM explains: what is known to throw it with most of the RAM free; and
unified memory that the driver refuses for another reason.
"""

from __future__ import annotations

from tfmemlens.findings.support.situation import situation
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import human
from tfmemlens.values import dataclass


@dataclass(frozen=True, slots=True)
class NoLack:
    """What most likely threw it."""

    verdict: str
    words: str
    remedy: Remedy
    line: Line


_FIXED = {"2.9": "2.9.3", "2.10": "2.10.1"}
"""The first release of each that has the fix."""


def refused_a_server(case: Case, moment: Moment) -> bool:
    """Whether std::bad_alloc is all that a server of a release that is not named says, and nothing tells that
    RAM ran out: the bug that some releases have may be the reason as well.
    """
    failed = moment.request.failed if moment.request else None
    told = case.capture.surroundings
    if failed is None or failed.line is None or "bad_alloc" not in failed.line.text or failed.size:
        return False
    if told.large_host_requests or told.shows("growing in words") or told.shows("a server's release"):
        return False
    short = told.shows("running short")
    if (short and "bad_alloc" not in short.text) or told.shows("host RAM in words"):
        return False
    may_be = case.api.oldest <= (2, 10) and case.api.newest >= (2, 9)
    return may_be and situation(case, moment).program == "TensorFlow Serving"


OTHER_SERVER = Remedy(
    "or take another release of the server, if it is 2.9.0 to 2.9.2 or 2.10.0: these throw std::bad_alloc at"
    " tensors whose rank is unknown, however much RAM is free",
    slug="newer-release",
)


def no_lack(case: Case, moment: Moment) -> NoLack | None:
    """What most likely threw it; None where RAM is the better guess."""
    failed = moment.request.failed if moment.request else None
    told = case.capture.surroundings
    if failed is None or failed.line is None:
        return None
    if refused := _UNIFIED.search(failed.line.text):
        return _of_unified_memory(refused["error"], failed.line)
    if short := _UNIFIED_SHORT.search(failed.line.text):
        return _short_of_unified_memory(case, int(short["bytes"]), failed.line)
    if "bad_alloc" not in failed.line.text:
        return None
    if frame := told.shows("a count that ran over"):
        return _of_a_count(frame)
    if failed.size or told.large_host_requests or told.shows("growing in words"):
        return None
    return _of_the_release(case, moment)


_COUNT = regex(r"= ?(?P<count>\d{19,20})\b")


def _of_a_count(frame: Line) -> NoLack:
    """Of a debugger's frame that shows what was asked for."""
    match = _COUNT.search(frame.text)
    asked = f" {human(int(match['count']))}" if match else " more"
    return NoLack(
        f"Not a lack of memory: the program asked for{asked} at once, which no machine has",
        f"{frame.place} shows the count that it was given: one that ran over, or lost its sign, where a size"
        " was read or worked out",
        Remedy(
            "see where its caller took the count from, and check that before it is used. Where that is the"
            " size of a file, give the path of the file itself: of a folder the size reads as 2^63 - 1, of a"
            " file that cannot be opened as -1",
            slug="mend-the-error",
        ),
        frame,
    )


_UNIFIED = regex(r"bytes unified memory; result: (?P<error>CUDA_ERROR_(?!OUT_OF_MEMORY\b)[A-Z_]{4,40})")


def _of_unified_memory(error: str, line: Line) -> NoLack:
    return NoLack(
        f"The GPU's driver refused unified memory ({error}), which is no lack of memory",
        "as a rule so much of it cannot be had there at all: a part of a GPU, a virtual one, an old driver,"
        " WSL2",
        Remedy(
            "switch unified memory off: what fits the GPU goes through without it; for more take a machine"
            " whose GPU is whole, with a newer driver",
            "unset TF_FORCE_UNIFIED_MEMORY; export XLA_PYTHON_CLIENT_MEM_FRACTION=.95   # in the script, too",
            slug="room-for-unified-memory",
        ),
        line,
    )


_UNIFIED_SHORT = regex(
    r"failed to alloc(?:ate)? (?P<bytes>\d{1,14}) bytes unified memory; result: CUDA_ERROR_OUT_OF_MEMORY"
)
WITHOUT_UNIFIED = Remedy(
    "switch unified memory off: on WSL2 no more of it can be had than the GPU has, whatever RAM there is, so"
    " the driver refuses several times the GPU at once. What fits the GPU goes through without it; for longer"
    " inputs take native Linux",
    "unset TF_FORCE_UNIFIED_MEMORY; export XLA_PYTHON_CLIENT_MEM_FRACTION=.95   # where the script sets them",
    slug="room-for-unified-memory",
)
ROOM_FOR_UNIFIED = Remedy(
    "see what is free beside it: unified memory takes host RAM for what the GPU has no room for, up to"
    " XLA_PYTHON_CLIENT_MEM_FRACTION times the GPU, and this machine (or its container) had no more to give,"
    " or another process held it",
    "free -h; nvidia-smi",
    slug="room-for-unified-memory",
)


def on_wsl(case: Case) -> bool:
    """Whether the text shows Windows' Linux, whose driver gives less than others."""
    return (case.capture.surroundings.setting("platform") or ("",))[0] == "WSL2"


def _short_of_unified_memory(case: Case, size: int, line: Line) -> NoLack:
    """XLA's pool grows in large steps, and takes nine tenths where it is refused: the line alone tells of no
    failure.
    """
    return NoLack(
        f"The GPU's driver refused {human(size)} of unified memory (the GPU's, and host RAM for what it has"
        " no room for)",
        "XLA then asks for nine tenths of it, and so on: the program goes on if one of these is granted, so"
        " that only an error below these lines is a failure",
        WITHOUT_UNIFIED if on_wsl(case) else ROOM_FOR_UNIFIED,
        line,
    )


def _of_the_release(case: Case, moment: Moment) -> NoLack | None:
    told = case.capture.surroundings
    line = told.shows("a release that aborts")
    if line is None or situation(case, moment).program != "TensorFlow Serving":
        return None
    release = next(each for each in ("2.10", "2.9") if f"{each}." in line.text)
    return NoLack(
        f"TF Serving aborted with std::bad_alloc, most likely by a bug of {release}, not for lack of RAM",
        f"TF Serving 2.9.0 to 2.9.2 and 2.10.0 ({line.place}) throw it where a model has a tensor whose rank"
        " is unknown while it is built, however small the model and however much RAM is free",
        Remedy(
            f"take another image: tensorflow/serving:{_FIXED[release]} or newer has the fix, 2.8 is before"
            " the bug. If that ends in the same way, RAM is short indeed: see what its container may use",
            slug="newer-release",
        ),
        line,
    )
