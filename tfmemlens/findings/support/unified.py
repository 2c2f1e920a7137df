"""Whether unified memory, which a text sets, is in effect: its own refusals say so by their words.

XLA's allocator says `unified memory` of what it was refused where it asked for that, and `from device` where
it asked for memory of the GPU alone. The first is the pool's: XLA_PYTHON_CLIENT_ALLOCATOR=platform goes round
it. XLA's ROCm backend has it since the second half of 2024 (hipMallocManaged).
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_OF_THE_DEVICE = regex(r"failed to allocate [^\n]{3,60} from device:")


def stated(told: Surroundings) -> Line | None:
    """The line that sets it."""
    setting = told.setting("TF_FORCE_UNIFIED_MEMORY")
    return setting[1] if setting else None


def not_in_effect(case: Case) -> Line | None:
    """The line that asks for memory of the GPU alone, though unified memory is set."""
    if stated(case.capture.surroundings) is None:
        return None
    incidents = [moment.incident for moment in case.moments if moment.incident]
    refused = [line for incident in incidents for _, line in incident.driver_failures]
    told = [line for incident in incidents for line in incident.tellings]
    return next((line for line in (*refused, *told) if _OF_THE_DEVICE.search(line.text)), None)


def without_the_pool(told: Surroundings) -> Line | None:
    """The line that does without the pool, to which unified memory belongs."""
    kind = told.setting("XLA_PYTHON_CLIENT_ALLOCATOR")
    return kind[1] if kind and kind[0] == "platform" else None


def on_rocm(told: Surroundings) -> bool:
    """Whether the GPU is AMD's."""
    vendor = told.setting("vendor")
    return vendor is not None and vendor[0] == "AMD"


def why_not(case: Case) -> str:
    """That it is not in effect, and by which line, as a clause; empty where nothing shows it."""
    line, told = not_in_effect(case), case.capture.surroundings
    where = stated(told)
    if line is None or where is None:
        return ""
    why = ""
    if alone := without_the_pool(told):
        why = f", and ALLOCATOR=platform ({alone.place}) goes round the pool that has it"
    elif on_rocm(told):
        why = ": on AMD's GPUs releases of JAX before late 2024 have none"
    return (
        f"; unified memory is set ({where.place}) and was not in effect: {line.place} asks for memory `from"
        f" device`{why}"
    )


def in_effect(case: Case) -> Iterator[Remedy]:
    """What lets it work that is set already."""
    told, alone = case.capture.surroundings, without_the_pool(case.capture.surroundings)
    old = not_in_effect(case) is not None and on_rocm(told)
    newer = (
        "XLA has unified memory (hipMallocManaged) on AMD's GPUs since the second half of 2024: take a newer"
    )
    if alone:
        also = f". {newer} jaxlib, too" if old else ""
        yield Remedy(
            f"take XLA_PYTHON_CLIENT_ALLOCATOR=platform out ({alone.place}): unified memory is the"
            f" pool's, and this setting does without the pool{also}",
            "unset XLA_PYTHON_CLIENT_ALLOCATOR",
            slug="pool-for-unified-memory",
        )
    elif old:
        yield Remedy(
            f"{newer} jaxlib for ROCm, which reads the variable",
            "pip show jaxlib jax-rocm60-plugin",
            slug="newer-release",
        )
    elif not_in_effect(case):
        yield Remedy(
            "see that the variables reach the process that fails, before it imports jax: they are read once",
            "tr '\\0' '\\n' < /proc/PID/environ | grep -E 'UNIFIED|XLA_'   # PID: the running process",
            slug="set-before-import",
        )
