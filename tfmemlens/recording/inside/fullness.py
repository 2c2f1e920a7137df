"""How much of the RAM that it may have a process has: where that is nearly all, it may end by a signal."""

from typing import Iterator, List, Optional, Tuple

from .host_arrays import resident_bytes
from .reserve import address_limit, addresses

LEVELS = 0.85, 0.95
"""At each of them once it is noted who holds what."""
_GROUPS = "/sys/fs/cgroup"


class Fullness:
    """Of this process, as often as it is asked."""

    def __init__(self) -> None:
        self._limits: Optional[Tuple[int, int]] = None
        self._left: List[float] = list(LEVELS)

    def rises(self) -> bool:
        """Whether it has come to another level since it was asked last."""
        share = self.share() if self._left else 0.0
        reached = [level for level in self._left if share >= level]
        self._left = [level for level in self._left if share < level]
        return bool(reached)

    def share(self) -> float:
        """Of the RAM, or of the addresses, whichever is nearer to its end."""
        if self._limits is None:
            self._limits = min(_limits(), default=0), address_limit()
        ram, room = self._limits
        shares = [(resident_bytes() or 0) / ram if ram else 0.0, addresses() / room if room else 0.0]
        return max(shares)


def _limits() -> Iterator[int]:
    """Of the machine, and of the groups that the process is in, in bytes."""
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemTotal:"):
            yield int(line.split()[1]) << 10
    for line in _lines("/proc/self/cgroup"):
        _, kinds, path = line.strip().split(":", 2)
        if kinds and "memory" not in kinds.split(","):
            continue
        start, name = (_GROUPS + "/memory", "memory.limit_in_bytes") if kinds else (_GROUPS, "memory.max")
        path = path.rstrip("/")
        for folder in [path[:at] for at, each in enumerate(path) if each == "/"] + [path]:  # and those above
            for told in _lines(start + folder + "/" + name):
                if told.strip().isdigit():
                    yield int(told)


def _lines(path: str) -> List[str]:
    try:
        with open(path) as told:
            return told.readlines()
    except (OSError, ValueError):
        return []
