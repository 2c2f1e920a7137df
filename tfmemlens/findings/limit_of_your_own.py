"""The program itself lets TensorFlow or JAX have only a part of the device, and that part is full.

What it means: `memory_limit` of a logical device and `per_process_gpu_memory_fraction` are hard limits, and
so is `XLA_PYTHON_CLIENT_MEM_FRACTION`, with or without preallocation. The device may have far more.
When it fires: the allocator's limit is whole quarters of a GiB and at most half of what the device is known
to have; or the text shows such a setting, the allocator's limit is what it states or is not told, nothing
shows the device to be no larger, and the request did not fit it; of TensorFlow no fraction above 0.8; of JAX,
whose messages have no limit, a fraction below what it takes unless told otherwise, and a request that the
device could hold. Or the allocator's limit is so small that no program has room.
What to do: raise the limit, or remove it; where the limit is meant (several programs share the device), hold
less.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tfmemlens.findings.support import part_for_jax, remedies
from tfmemlens.findings.support.pool_of_jax import told_of_the_pool
from tfmemlens.findings.support.rows import device_limit, failures, on_host, requests
from tfmemlens.findings.support.situation import (
    JAX,
    TENSORFLOW,
    framework_of,
    situation,
    without_gpu,
)
from tfmemlens.findings.support.tiny_pools import without_room
from tfmemlens.knowledge.device_names import TPU
from tfmemlens.knowledge.gpu_memory import least_bytes
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
from tfmemlens.units import GIB, MIB, human, human_size

BASIS = Basis.MEASURED
EXPLAINS = "the request"

_NEAR = 0.03
"""How far the allocator's limit may lie from what the setting states."""
_MOST_OF_A_GPU = 0.8
"""A larger share is what TensorFlow takes by itself, or nearly."""
_QUARTER, _SMALL_PART = 256 * MIB, 0.5
_LARGE_PART = 0.1
"""The share of the stated limit from which a request shows that the limit is what it met."""


_LEAST_PART = 0.7
"""Of the device: a smaller part is less than JAX takes unless it is told otherwise."""


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) == JAX and without_gpu(case):
        return  # the settings of JAX's pool are a GPU's
    yield from _more_than_the_gpu(case)
    if framework_of(case) == JAX:
        yield from _part_for_jax(case)
        return
    yield from _of_a_dump(case)
    for index, moment in failures(case):
        limit = device_limit(case, moment)
        need = moment.request.needed_bytes if moment.request else None
        stated = moment.balance.limit is not None
        told = _setting(case, limit.bytes, stated) if limit and not on_host(moment) else None
        if told is None or limit is None or need is None:
            yield from _tiny(moment, index)
            yield from _unmeasured(case, moment, index)
            yield from _round(case, moment, index)
            continue
        name, line = told
        whole = _whole(case)
        if whole and (limit.bytes > 0.8 * whole or need > whole):
            continue
        has = f" of this GPU's {human(whole)}{'' if _is_measured(case) else ' or more'}" if whole else ""
        because = (
            f"the program lets TensorFlow have only {human_size(limit)}{has} (`{name}`, "
            f"{line.place}), and that was not enough"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=because,
            because=because,
            explains=need,
            evidence=(Evidence("the setting", line),),
            remedies=(
                Remedy(
                    f"raise or remove `{name}` on {line.place}, unless another program needs the rest"
                    " of the GPU",
                    slug="raise-own-limit",
                ),
                *remedies.offered(case, moment, "smaller-batch"),
            ),
            moment=index,
        )


def _of_a_dump(case: Case) -> Iterator[Finding]:
    """The same of a dump without its message, whose limit is what the text states."""
    for index, moment in enumerate(case.moments):
        limit, whole = moment.balance.limit, _whole(case)
        told = _setting(case, limit.bytes, True) if limit and not on_host(moment) else None
        asked = moment.request.needed_bytes if moment.request else None
        if asked or told is None or limit is None or (whole and limit.bytes > 0.8 * whole):
            continue
        name, line = told
        because = (
            f"the program lets TensorFlow have only {human_size(limit)} (`{name}`, {line.place}): that limit"
            " is your own, and it holds"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=because,
            because=because,
            explains=limit.bytes,
            evidence=(Evidence("the setting", line),),
            remedies=(
                Remedy(
                    f"raise or remove the limit of {line.place}, unless another program needs the rest of the"
                    " GPU",
                    slug="raise-own-limit",
                ),
            ),
            moment=index,
        )


def _tiny(moment: Moment, index: int) -> Iterator[Finding]:
    """A limit in which nothing has room: most likely a wrong unit."""
    limit = moment.balance.limit
    if limit is None or not without_room(moment):
        return
    because = (
        f"TensorFlow may use only {human_size(limit)} here: that is the limit of its memory pool, not what"
        f" the {'machine' if on_host(moment) else 'GPU'} has"
    )
    yield Finding(
        severity=Severity.CAUSE,
        headline=because,
        because=because,
        explains=limit.bytes,
        evidence=(
            Evidence("the limit", moment.incident.state.line_of("limit") if moment.incident else None),
        ),
        detail="A pool as small as this holds no network, however small its batch.",
        remedies=(_RAISE_ON_HOST if on_host(moment) else _RAISE_ON_GPU,),
        moment=index,
    )


_RAISE_ON_HOST = Remedy(
    "raise the limit of the pool (the variable is in MiB), or unset TF_CPU_ALLOCATOR_USE_BFC: then there is"
    " none",
    "export TF_CPU_BFC_MEM_LIMIT_IN_MB=8192",
    slug="raise-host-limit",
)
_RAISE_ON_GPU = Remedy(
    "raise memory_limit (in MiB, not GiB) or per_process_gpu_memory_fraction where the program sets it; else"
    " see which process holds the rest of the GPU, and end it",
    "nvidia-smi",
    slug="raise-own-limit",
)


def _part_for_jax(case: Case) -> Iterator[Finding]:
    """A fraction of the GPU that the program leaves to JAX: its pool never gets more."""
    told = case.capture.surroundings
    sharing = told.shows("sharing the device")
    part, kind = part_for_jax.stated(told), told.setting("XLA_PYTHON_CLIENT_ALLOCATOR")
    if part is None or (kind and kind[0] == "platform") or part.value >= _LEAST_PART:
        return
    for index, moment, request in requests(case):
        need, whole = request.needed_bytes, device_limit(case, moment)
        if on_host(moment) or situation(case, moment).device == TPU or need is None:
            continue
        if whole and need > whole.high:
            continue
        pool = f", about {human(round(part.value * whole.bytes))} here" if whole else ""
        because = (
            f"the program lets JAX have only {part.words}{pool}"
            f" (`{part_for_jax.VARIABLE}={part.written}`, {part.line.place}), and that was not enough"
        )
        if each := part_for_jax.of_several_programs(told):
            yield _part_of_each(each, index, need)
            continue
        yield Finding(
            severity=Severity.CAUSE,
            headline=because,
            because=because,
            explains=max(need, round((1 - part.value) * whole.bytes)) if whole else need,
            basis=Basis.NAME,
            evidence=(Evidence("the setting", part.line), Evidence("the message", request.failed.line)),
            remedies=(
                Remedy(
                    f"raise it on {part.line.place}, as far as the other processes of "
                    f"{sharing.place} leave room: all of their parts together below 1",
                    slug="raise-own-limit",
                )
                if sharing
                else Remedy(
                    f"raise it on {part.line.place}, before JAX starts, unless other programs need the"
                    " rest of the GPU",
                    f"export {part_for_jax.VARIABLE}=.90",
                    slug="raise-own-limit",
                ),
            ),
            moment=index,
        )


def _part_of_each(parts: tuple[part_for_jax.Part, ...], index: int, need: int) -> Finding:
    """Of programs that each start with a part of their own, where nothing tells which of them failed."""
    shares = " and ".join(f"{part.words.split(' of ')[0]} ({part.line.place})" for part in parts)
    because = (
        f"the programs let JAX have only {shares} of the GPU each (`{part_for_jax.VARIABLE}`), and that was"
        " not enough for the one that failed, whatever else is free"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=because,
        because=because,
        explains=need,
        basis=Basis.NAME,
        evidence=tuple(Evidence("the setting", part.line) for part in parts),
        remedies=(
            Remedy(
                "raise the part of the program that failed, before it starts, as far as the other leaves"
                " room: the parts of all together below 1",
                f"export {part_for_jax.VARIABLE}=.70",
                slug="raise-own-limit",
            ),
        ),
        moment=index,
    )


def _more_than_the_gpu(case: Case) -> Iterator[Finding]:
    """A fraction above 1, which only unified memory has a use for."""
    told = case.capture.surroundings
    part = part_for_jax.stated(told)
    if part is None or told.shows("jax: unified memory") or not part.above_all:
        return
    if told_of_the_pool(case):
        return  # what is said of the pool says it, too
    yield Finding(
        severity=Severity.FACTOR,
        headline=(
            f"`{part_for_jax.VARIABLE}={part.written}` ({part.line.place}) is a fraction of the GPU: above 1"
            " it counts only with unified memory, which the text does not show; else JAX takes all of it, and"
            " NCCL, cuDNN and the driver find none"
        ),
        evidence=(Evidence("the setting", part.line),),
        remedies=(
            *((_WITH_UNIFIED,) if told.shows("structure prediction") else ()),
            Remedy("set it below 1", f"export {part_for_jax.VARIABLE}=.80", slug="smaller-part"),
        ),
        moment=0,
        basis=Basis.NAME,
    )


_WITH_UNIFIED = Remedy(
    "set unified memory beside it, before Python starts: host RAM then stands in for what the GPU has no room"
    " for, which is slower",
    f"export TF_FORCE_UNIFIED_MEMORY=1 {part_for_jax.VARIABLE}=4.0",
    slug="unified-memory",
)


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


_FLOAT_BYTES = 4


def _unmeasured(case: Case, moment: Moment, index: int) -> Iterator[Finding]:
    """Where no allocator tells its limit: what the setting states is all that there is."""
    told, request = case.capture.surroundings, moment.request
    if request is None or moment.balance.limit or on_host(moment) or case.capture.hints.limit_bytes:
        return
    if framework_of(case) != TENSORFLOW or any(device.limit for device in told.devices):
        return
    stated = told.setting("memory_limit") or told.setting("per_process_gpu_memory_fraction")
    if request.failed.kind is not RequestKind.TENSOR or stated is None:
        return
    value, line = stated
    if told.setting("memory_limit"):
        name, room = f"memory_limit={value}", int(value) * MIB
        has = human(room)
    else:
        name, whole = f"per_process_gpu_memory_fraction={value}", _named(case)
        if not 0 < float(value) <= _MOST_OF_A_GPU:
            return
        room = round(float(value) * whole) if whole else 0
        has = f"{100 * float(value):.0f} % of the GPU" + (f", about {human(room)}," if room else "")
    need = request.needed_bytes
    if not room and told.setting("memory_limit"):
        return
    as_float32 = _FLOAT_BYTES * math.prod(size or 0 for size in request.failed.shape or (0,))
    if 0 < (_named(case) or 0) < (need or as_float32):
        return  # no part of the GPU holds it
    because = f"the program lets TensorFlow have only {has} (`{name}`, {line.place})"
    if need and room:
        because += f", and this request alone is {human(need)}"
    share = need / room if need and room else 0.0
    whole = _named(case) or 0
    withheld = whole - room if need and room and room <= _SMALL_PART * whole else 0
    yield Finding(
        severity=Severity.CAUSE,
        headline=because,
        because=because,
        explains=max(need or 0, withheld) or need,
        basis=Basis.MEASURED if share >= _LARGE_PART else Basis.SHAPE,
        evidence=(Evidence("the setting", line), Evidence("the request", request.failed.line)),
        detail="What the GPU itself has, this text does not tell.",
        remedies=(
            Remedy(
                f"raise or remove `{name.partition('=')[0]}` on {line.place}, if the GPU has more and"
                " no other program needs it",
                slug="raise-own-limit",
            ),
            *remedies.offered(case, moment, "smaller-batch"),
        ),
        moment=index,
    )


def _round(case: Case, moment: Moment, index: int) -> Iterator[Finding]:
    """A limit of whole quarters of a GiB on a device that has twice as much and more: what is left of a
    device is no such number, so a program set it, though the text does not show where.
    """
    limit, told = moment.balance.limit, case.capture.surroundings
    if not limit or limit.low != limit.high or limit.bytes % _QUARTER or on_host(moment):
        return
    if told.setting("memory_limit") or told.setting("per_process_gpu_memory_fraction"):
        return
    wholes = [use.total.bytes for use in told.device_uses if use.total]
    whole = max(wholes, default=_named(case) or 0)
    if limit.bytes > _SMALL_PART * whole or framework_of(case) != TENSORFLOW:
        return
    because = (
        f"TensorFlow was allowed only {human(limit.bytes)} of this GPU's {human(whole)}: most likely a limit"
        " that the program, or what it imports, sets"
    )
    line = moment.incident.state.line_of("limit") if moment.incident else None
    yield Finding(
        severity=Severity.CAUSE,
        headline=because,
        because=because,
        explains=limit.bytes,
        evidence=(Evidence("the allocator's limit", line),),
        detail="What another process leaves of a device is no whole number of MiB.",
        remedies=(
            Remedy(
                f"look for memory_limit={limit.bytes // MIB} or per_process_gpu_memory_fraction in the"
                " program and in what it imports, and raise or remove it",
                "grep -rnE 'memory_limit|gpu_memory_fraction' .",
                slug="raise-own-limit",
            ),
        ),
        moment=index,
    )


def _named(case: Case) -> int | None:
    """What the GPU has that the text names, or that the log shows."""
    named = case.capture.surroundings.named_devices
    return next((device.total.bytes for device in named if device.total), None) or _whole(case)


def _setting(case: Case, limit_bytes: int, stated: bool = False) -> tuple[str, Line] | None:
    """The setting that this limit comes from; `stated`: whether it is the allocator's own."""
    told = case.capture.surroundings.setting("memory_limit")
    if told and abs(int(told[0]) * MIB - limit_bytes) <= _NEAR * limit_bytes:
        return f"memory_limit={told[0]}", told[1]
    told = case.capture.surroundings.setting("per_process_gpu_memory_fraction")
    part = _share(told[0]) if told else 0.0
    if told is None or not 0 < part <= _MOST_OF_A_GPU:
        return None
    whole = _whole(case) or (_sold_with(limit_bytes / part) if stated else None)
    if whole and 0.8 <= limit_bytes / (part * whole) <= 1.25:
        return f"per_process_gpu_memory_fraction={told[0]}", told[1]
    return None


_SOLD_WITH = (4, 6, 8, 11, 12, 16, 24, 32, 40, 48, 80)
"""GiB that GPUs are sold with; a driver tells somewhat less."""


def _sold_with(bytes_of_all: float) -> int | None:
    """What a GPU tells that has this much or hardly more, where GPUs are sold so."""
    return next(
        (round(bytes_of_all) for size in _SOLD_WITH if 0.93 <= bytes_of_all / (size * GIB) <= 1.0), None
    )


def _is_measured(case: Case) -> bool:
    """Whether a log or a table says what the device has, so that its name need not."""
    told = case.capture.surroundings
    return any(device.total for device in told.devices) or any(use.total for use in told.device_uses)


def _whole(case: Case) -> int | None:
    """What the device has at least, as the log, a table or its name tells."""
    told = case.capture.surroundings
    totals = (device.total.bytes if device.total else least_bytes(device.model) for device in told.devices)
    known = max((total for total in totals if total), default=None)
    if known is None and len({use.total.bytes for use in told.device_uses if use.total}) == 1:
        return next(use.total.bytes for use in told.device_uses if use.total)
    return known
