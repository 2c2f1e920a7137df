"""Who else holds the device on which a request failed, by `nvidia-smi`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from tfmemlens.findings.support.driver import of_context
from tfmemlens.findings.support.libraries import of_handle
from tfmemlens.findings.support.rows import device_limit
from tfmemlens.model.capture import DeviceProcess, DeviceUse
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Evidence
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, MIB, Size, human, human_size
from tfmemlens.values import replace

_MIN_SHARE = 0.1
"""Of the device: what others hold below it is a desktop, or what a driver keeps."""
_WORTH_ENDING = 0.05
"""Of the device, for one process."""
_DESKTOP = regex(
    r"(?i)(?:\A|[/\\])(?:Xorg|X|Xwayland|[\w-]*-(?:shell|session|settings-daemon|display-manager)"
    r"|gdm\w*|sddm|lightdm"
    r"|kwin\w*|plasmashell|compiz|cinnamon|mutter|dwm(?:\.exe)?|explorer\.exe|chrom\w*|firefox\w*|code"
    r"|teams|slack)"
    r"(?:\s|\Z)"
)
_CONTEXT_BYTES = 2 * GIB
"""More than CUDA, cuDNN and cuBLAS keep for one process outside TensorFlow's pool."""


def others(case: Case, moment: Moment) -> Iterator[tuple[int, Evidence]]:
    """What `nvidia-smi` shows of other processes on the device, the largest first; nothing where the log's
    own process explains what is in use. Each with the bytes that all of them hold.
    """
    use = _device(case, moment)
    if use is None:
        return
    pool = moment.balance.pool or moment.balance.in_use
    alone = not _sorted(case, moment, use)
    if use.total and (holders := strangers(case, moment)):
        own = _who_is_the_program(case, moment, use)
        for process in holders:
            evidence = Evidence(
                f"{process.name} (pid {process.pid}) held {_told(process.used)}"
                f" of the device's {human(use.total.bytes)} as well{own}",
                process.line,
            )
            yield sum(map(_bytes, holders)), evidence
    elif pool and use.used and use.used.bytes > pool.high + _CONTEXT_BYTES and alone:
        evidence = Evidence(
            f"nvidia-smi shows {human(use.used.bytes)} of the device in use, and TensorFlow's pool held only"
            f" {human_size(pool)} of it",
            use.line,
        )
        yield use.used.bytes - pool.bytes, evidence


def _who_is_the_program(case: Case, moment: Moment, use: DeviceUse) -> str:
    """Which of the listed processes failed, where only that it began later and got little tells it."""
    if not of_handle(moment) or _got_nothing(case, moment, use):
        return ""
    own = _of_little(case, moment, use, [process for process in use.processes if process.used])
    return f"; most likely this program is pid {own.pid}, which got only {_told(own.used)}" if own else ""


def strangers(case: Case, moment: Moment) -> tuple[DeviceProcess, ...]:
    """Other processes that together hold a tenth of the device or more, the largest first."""
    use = _device(case, moment)
    if use is None or use.total is None:
        return ()
    users = _sorted(case, moment, use)
    return tuple(users) if sum(map(_bytes, users)) >= _MIN_SHARE * use.total.bytes else ()


def spare(case: Case, moment: Moment) -> DeviceUse | None:
    """Another device of the table that is nearly empty, the one with most room; None where none is, or the
    failing one is not known.
    """
    ours, least = _device(case, moment), _MIN_SHARE
    if ours is None:
        return None
    others = [
        use
        for use in case.capture.surroundings.device_uses
        if use is not ours and use.device.isdigit() and use.used and use.total
    ]
    empty = [use for use in others if use.used and use.total and use.used.bytes < least * use.total.bytes]
    return max(empty, key=lambda use: use.total.bytes if use.total else 0, default=None)


def lists_all(case: Case, moment: Moment) -> bool:
    """Whether a table lists every device of the machine: then no other one is left that it does not show."""
    ours = _device(case, moment)
    return ours is not None and ours.device.isdigit() and bool(ours.processes)


def hold_nearly_all(case: Case, moment: Moment) -> bool:
    """Whether a stranger holds so much that a request as small has not failed for the program's own size."""
    use = _device(case, moment)
    need = moment.request.needed_bytes if moment.request else None
    if use is None or use.total is None or need is None or need > _LEAST_POOL:
        return False
    return any(_bytes(each) >= _NEARLY_ALL * use.total.bytes for each in to_end(case, moment))


def lists_one_alone(case: Case) -> bool:
    """Whether a table shows a machine with a single device, so that no process can have one of its own."""
    uses = case.capture.surroundings.device_uses
    return len(uses) == 1 and uses[0].device == "0" and bool(uses[0].processes)


def to_end(case: Case, moment: Moment) -> tuple[DeviceProcess, ...]:
    """Those of the strangers whose end would help: no desktop, and none that holds next to nothing."""
    use = _device(case, moment)
    least = _WORTH_ENDING * use.total.bytes if use and use.total else 0
    return tuple(
        process
        for process in strangers(case, moment)
        if not process.draws and not _DESKTOP.search(process.name) and _bytes(process) >= least
    )


def _sorted(case: Case, moment: Moment, use: DeviceUse) -> list[DeviceProcess]:
    pool = moment.balance.pool or moment.balance.in_use
    sized = [process for process in use.processes if process.used]
    own = _on_several(case) if len(case.capture.surroundings.devices) > 1 else set()
    if _got_nothing(case, moment, use) or _is_said_to_be_before(case, use):
        users = sized
    elif small := _of_little(case, moment, use, sized):
        users = [process for process in sized if process is not small]
    elif len(own) == 1 and any(process.pid in own for process in sized):
        users = [process for process in sized if process.pid not in own]
    else:
        limit = device_limit(case, moment)
        users = _without_own(sized, pool, limit, limit is not None and not _was_before(use, limit))
    return sorted(users, key=_bytes, reverse=True)


_LEAST_POOL = 64 * MIB
_LITTLE_BESIDE_JAX = 0.2
"""Of a small GPU, what is left beside the pool of another JAX and its context."""
_NEARLY_ALL = 0.75


def _of_little(
    case: Case, moment: Moment, use: DeviceUse, processes: list[DeviceProcess]
) -> DeviceProcess | None:
    """The process that failed for so little that it is the one which got little, where another Python holds
    nearly all of the device: a library's handle is as little where it began after the other.
    """
    need = moment.request.needed_bytes if moment.request else None
    pythons = sorted((each for each in processes if "python" in each.name.lower()), key=_bytes)
    if use.total is None or len(pythons) < 2:
        return None
    least, most = pythons[0], pythons[-1]
    if need is None and of_handle(moment) and most.pid < least.pid:
        need = None if any(each.limit for each in case.capture.surroundings.devices) else 0
    if need is None or need > _LEAST_POOL:
        return None
    little = _LITTLE_BESIDE_JAX if of_handle(moment) else _MIN_SHARE
    alone = _bytes(least) < little * use.total.bytes and _bytes(most) >= _NEARLY_ALL * use.total.bytes
    return least if alone else None


_A_WHOLE_POOL = 0.5
"""Of the device: a region that only a pool asks for, as it starts."""


def _got_nothing(case: Case, moment: Moment, use: DeviceUse) -> bool:
    """Whether the driver refused this run its pool, so that it is none of those that hold the device: it had
    ended when the table was made, or one of them holds more than the run was refused, or the table is from
    before the run, which asked for what it shows to be free. Who got not even a context holds nothing.
    """
    if of_context(moment):
        return True
    refused = moment.incident.driver_failures if moment.incident else ()
    if not refused or moment.balance.pool or moment.balance.in_use or use.total is None:
        return False
    crash, last = case.capture.surroundings.crash, max(line.number for _, line in refused if line)
    if crash and crash.source == use.line.source and last <= crash.number < use.line.number:
        return True
    sizes = [size.bytes for size, _ in refused]
    first = min(line.number for _, line in refused if line)
    left = use.total.bytes - use.used.bytes if use.used else 0
    of_then = (
        refused[0][1] is not None and refused[0][1].source == use.line.source and use.line.number < first
    )
    if of_then and _LEAST_POOL <= max(sizes) <= left:
        return True  # what the table shows free is all that the pool asked for
    held = max(map(_bytes, use.processes), default=0)
    return max(sizes) >= _A_WHOLE_POOL * use.total.bytes and held > min(sizes) + _CONTEXT_BYTES


_ABOVE = 6


def _is_said_to_be_before(case: Case, use: DeviceUse) -> bool:
    """Whether the words above the table say that it is from before the run."""
    line = case.capture.surroundings.shows("a table of before")
    return line is not None and 0 < use.line.number - line.number <= _ABOVE


def _was_before(use: DeviceUse, limit: Size) -> bool:
    """Whether the table is of the time before the run: the pool fits beside all that was in use."""
    return not (use.used and use.total) or use.used.bytes + limit.low <= use.total.bytes


def _on_several(case: Case) -> set[int]:
    """The processes that hold several devices: of a program that opened several most likely itself."""
    uses = case.capture.surroundings.device_uses
    counts = Counter(pid for use in uses for pid in {process.pid for process in use.processes})
    return {pid for pid, devices in counts.items() if devices > 1}


def _device(case: Case, moment: Moment) -> DeviceUse | None:
    """The device of the failure: the only one, or the one of the allocator's number."""
    uses = case.capture.surroundings.device_uses
    allocator = (moment.request.failed.allocator or "") if moment.request else ""
    number = re.match(r"GPU_(\d+)_bfc", allocator)
    if len(uses) == 1:
        named = case.capture.surroundings.named_devices
        known = uses[0].total or (named[0].total if len(named) == 1 else None)
        return uses[0] if known is uses[0].total else replace(uses[0], total=known)
    if number is None and (before := [use for use in uses if _is_said_to_be_before(case, use)]):
        return max(before, key=lambda use: use.used.bytes if use.used else 0)  # the one that lacks most
    return next((use for use in uses if number and use.device == number[1]), None)


def _without_own(
    processes: list[DeviceProcess], pool: Size | None, limit: Size | None, shown: bool
) -> list[DeviceProcess]:
    """Without the log's own process, which is not named: the one nearest above its pool, else the largest, a
    Python before others, and none that holds more than it may. `shown`: whether it is among them, for there
    is no room for it beside them.
    """
    may = [each for each in processes if limit and limit.low <= _bytes(each) <= limit.high + _CONTEXT_BYTES]
    if pool is None and shown and may:  # a pool takes all that the device's line grants it
        largest = max([each for each in may if "python" in each.name.lower()] or may, key=_bytes)
        return [process for process in processes if process is not largest]
    above = [process for process in processes if pool is None or _bytes(process) >= pool.low]
    above = [process for process in above if "python" in process.name.lower()] or above
    own = max(above, key=_bytes, default=None) if pool is None else min(above, key=_bytes, default=None)
    most = pool or limit
    if own and most and _bytes(own) > most.high + _CONTEXT_BYTES:
        own = None
    return [process for process in processes if process is not own]


def _bytes(process: DeviceProcess) -> int:
    return process.used.bytes if process.used else 0


def _told(used: Size | None) -> str:
    return human(used.bytes) if used else "an unknown amount"
