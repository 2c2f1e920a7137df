"""What the kernel says of the memory of this process's control group: its limit, and whom it killed."""

from __future__ import annotations

import os
from collections.abc import Iterator

from tfmemlens.values import dataclass

ROOT = "/sys/fs/cgroup"
_UNLIMITED = 1 << 60
"""Version 1 writes a figure above this where there is no limit."""


@dataclass(frozen=True)
class MemoryGroup:
    """One reading; None is what the kernel does not say."""

    path: str
    oom_kills: int
    limit_bytes: int | None
    peak_bytes: int | None


def read(root: str = ROOT, membership: str = "/proc/self/cgroup") -> MemoryGroup | None:
    """The group of this process, or the nearest one above it that can be read; None where there is none."""
    for folder in _folders(root, _text(membership)):
        for events, limit, peak in (
            ("memory.events", "memory.max", "memory.peak"),
            ("memory.oom_control", "memory.limit_in_bytes", "memory.max_usage_in_bytes"),
        ):
            kills = _oom_kills(_text(os.path.join(folder, events)))
            if kills is not None:
                sizes = [_number(_text(os.path.join(folder, name))) for name in (limit, peak)]
                return MemoryGroup(folder, kills, sizes[0], sizes[1])
    return None


def _folders(root: str, membership: str) -> Iterator[str]:
    """Where the group may be mounted, its ancestors after it: a container sees only a part of the path."""
    for line in membership.splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers and "memory" not in controllers.split(","):
            continue
        mounts = [os.path.join(root, "memory")] if controllers else [root, os.path.join(root, "unified")]
        while True:
            yield from (os.path.join(mount, path.strip("/")) for mount in mounts)
            if path in ("/", ""):
                break
            path = path.rpartition("/")[0]


def _oom_kills(text: str) -> int | None:
    counts = [line.split()[1] for line in text.splitlines() if line.startswith("oom_kill ")]
    return int(counts[0]) if counts and counts[0].isdecimal() else None


def _number(text: str) -> int | None:
    """A figure in bytes; `max` and the figure that means it are no limit."""
    return int(text) if text.strip().isdecimal() and int(text) < _UNLIMITED else None


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
