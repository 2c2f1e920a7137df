"""Room for what is gathered at a failure, where addresses are limited: there a small request of Python's own
fails, too, once the program has all of them.
"""

import os
from typing import Any, Optional

MOST_BYTES, SHARE = 48 << 20, 64
"""As much, and no more than this part of the limit."""


class Reserve:
    """Addresses alone: no page of them is ever used."""

    def __init__(self) -> None:
        self._kept: Optional[Any] = None
        limit = address_limit()
        if limit:
            import mmap

            try:
                self._kept = mmap.mmap(-1, min(MOST_BYTES, limit // SHARE))
            except (OSError, ValueError):
                pass  # no more room now; there may be some when it is needed

    def release(self) -> None:
        """Now it is needed."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.close()


def address_limit() -> int:
    """Of the process's addresses in bytes, 0 without one."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return 0 if limit == resource.RLIM_INFINITY else int(limit)


def addresses() -> int:
    """Those that the process has in bytes, 0 where the system does not say it."""
    return bytes_of_process(0) or 0


def bytes_of_process(field: int) -> Optional[int]:
    """Of its addresses (0) or of its RAM (1), as /proc/self/statm counts pages; None where there is none."""
    try:
        with open("/proc/self/statm", "rb") as told:
            return int(told.read().split()[field]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None
