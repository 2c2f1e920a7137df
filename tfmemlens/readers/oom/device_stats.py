"""What JAX's `device.memory_stats()` returns, printed: on one line, or a figure a line."""

from __future__ import annotations

import re

from tfmemlens.model.incident import AllocatorState, FailedRequest, Incident, RequestKind
from tfmemlens.model.line import Line
from tfmemlens.readers.oom.rules import LineRule
from tfmemlens.units import Size
from tfmemlens.values import dataclass, field

FIGURE = LineRule(
    r"['\"](?P<name>(?:peak_)?bytes_in_use|bytes_limit|(?:peak_)?pool_bytes|largest_free_block_bytes"
    r"|largest_alloc_size|num_allocs|(?:peak_)?bytes_reserved|bytes_reservable_limit)['\"]: ?"
    r"(?P<value>\d+|None)",
    "{'num_allocs': 18211, 'bytes_in_use': 21474836480, 'peak_bytes_in_use': 23085449216,"
    " 'bytes_limit': 23622320128}",
    " 'largest_free_block_bytes': 33014338560,",
    needs=("bytes", "num_allocs", "largest_alloc"),
)
_NAMED = ("bytes_in_use", "bytes_limit")
"""Figures without which a dictionary is nobody's statistics."""


@dataclass
class DeviceStats:
    """One dictionary: its figures with their lines."""

    figures: dict[str, tuple[int, Line]] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Whether it says what is in use, and of how much."""
        return all(name in self.figures for name in _NAMED)

    def state(self) -> AllocatorState:
        """The same as an allocator's figures; a largest free block of 0 is what BFC always says."""
        size = {name: Size.exactly(value) for name, (value, _) in self.figures.items()}
        free = size.get("largest_free_block_bytes")
        lines = (("limit", "bytes_limit"), ("in_use", "bytes_in_use"), ("peak", "peak_bytes_in_use"))
        return AllocatorState(
            limit=size.get("bytes_limit"),
            in_use=size.get("bytes_in_use"),
            peak=size.get("peak_bytes_in_use"),
            pool=size.get("pool_bytes"),
            largest_free_chunk=free if free and free.bytes else None,
            allocations=self.figures["num_allocs"][0] if "num_allocs" in self.figures else None,
            largest_allocation=size.get("largest_alloc_size"),
            lines=tuple((name, self.figures[key][1]) for name, key in lines if key in self.figures),
        )

    def incident(self) -> Incident:
        """An account of a device, and no failure."""
        request = FailedRequest(RequestKind.PROFILE, line=self.figures["bytes_in_use"][1])
        return Incident(request, state=self.state(), fatal=False)


class DeviceStatsCollector:
    """Collects dictionaries; a figure that was there already begins the next one."""

    def __init__(self) -> None:
        self.read: list[DeviceStats] = []

    def offer(self, line: Line) -> bool:
        """Take the line if it prints figures of a device."""
        if "'" not in line.text and '"' not in line.text:
            return False
        taken = False
        for match in re.finditer(FIGURE.pattern, line.text):
            taken = True
            if not self.read or match["name"] in self.read[-1].figures:
                self.read.append(DeviceStats())
            value = 0 if match["value"] == "None" else int(match["value"])
            self.read[-1].figures[match["name"]] = (value, line)
        return taken

    def readings(self) -> tuple[tuple[int, Line], ...]:
        """What was in use, reading by reading."""
        return tuple(stats.figures["bytes_in_use"] for stats in self.finished)

    @property
    def finished(self) -> list[DeviceStats]:
        """Those that say enough."""
        return [stats for stats in self.read if stats.whole]
