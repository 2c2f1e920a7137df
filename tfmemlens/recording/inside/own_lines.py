"""What TensorFlow writes on standard error because of our recording is put between two marks, so that who
stands beside the program leaves it out. Marks are written to nobody else: where standard error is not what
`tfmemlens run` reads, there are none.
"""

import os
import threading
from typing import Any, Mapping, Optional

READER = "TFMEMLENS_RUN_STDERR"
"""The variable with the identity of the file that `tfmemlens run` reads."""
BEGIN, END = b"\0tfmemlens<\0", b"\0tfmemlens>\0"


def identity(number: int) -> str:
    """Of an open file, the same for both ends of a pipe; empty where it is closed."""
    try:
        told = os.fstat(number)
    except OSError:
        return ""
    return "%d:%d:%d" % (told.st_dev, told.st_ino, told.st_rdev)


class OwnLines:
    """A context in which TensorFlow writes lines that are ours, not the program's."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._reader = environment.get(READER, "")
        self._marked = threading.local()

    def __enter__(self) -> None:
        self._marked.now = bool(self._reader) and identity(2) == self._reader and _wrote(BEGIN)

    def __exit__(self, kind: Any, error: Optional[BaseException], trace: Any) -> None:
        if self._marked.now:
            _wrote(END)


def _wrote(mark: bytes) -> bool:
    """Whether it was: a stream that is full or closed gets none."""
    try:
        return os.write(2, mark) == len(mark)
    except OSError:
        return False
