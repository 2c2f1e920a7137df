"""What a scan of many logs did, while it runs and afterwards."""

from __future__ import annotations

from collections import Counter

from tfmemlens.values import dataclass, field


@dataclass
class ScanSummary:
    """Figures of one scan. What is listed is unchanged, too old, or to be read."""

    out: str
    scan: str = ""
    listed: int = 0
    unchanged: int = 0
    too_old: int = 0
    """Changed before the moment that `--since` names."""
    to_read: int = 0
    bytes_to_read: int = 0
    files: int = 0
    """Files that were read so far, whatever came of it."""
    bytes: int = 0
    found: int = 0
    """Incidents in them."""
    inputs: Counter[str] = field(default_factory=Counter)
    """Inputs (files, members of archives) that are in the tables now, by their status."""
    incidents: int = 0
    """Incidents that are in the tables now."""
    ended: Counter[str] = field(default_factory=Counter)
    """Inputs without a failure that is read, by how they ended otherwise."""
    saved_inputs: int = 0
    """Inputs that an earlier scan had read and not committed when it ended."""
    saved_incidents: int = 0
    retries: int = 0
    """How often a storage was asked again."""
    repeated_tasks: int = 0
    """Groups of files that were given to another worker, since theirs was lost."""
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    """Some inputs that could not be read, with the reason."""
    problems: list[str] = field(default_factory=list)
    """What could not be listed."""
    workers: int = 0
    seconds: float = 0.0
    stopped: str = ""
    """Why it ended before its time; empty when it did not."""

    @property
    def share(self) -> float:
        """How much of the work is done, between 0 and 1: a file costs as much as so many of its bytes."""
        whole = self.bytes_to_read + self.to_read * _BYTES_A_FILE
        return min((self.bytes + self.files * _BYTES_A_FILE) / whole, 1.0) if whole else 1.0

    @property
    def seconds_left(self) -> float | None:
        """About how long it still takes; None while nothing is done."""
        return self.seconds * (1 - self.share) / self.share if self.share > 0 else None


_BYTES_A_FILE = 256 << 10
