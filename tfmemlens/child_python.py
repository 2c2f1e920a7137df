"""A script in a Python of its own, which has TensorFlow: which interpreter, with what around it, for how
long, and what is said when it does not work.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import IO

from tfmemlens.errors import MissingExtra, UnreadableInput, UsageError
from tfmemlens.values import dataclass

MAX_SECONDS = 600
MAX_ANSWER_BYTES = 1 << 28
_MAX_COMPLAINT_BYTES = 1 << 20
_SURROUNDINGS = {
    "CUDA_VISIBLE_DEVICES": "",  # nothing is run on a GPU, and TensorFlow would take all of its memory
    "TF_CPP_MIN_LOG_LEVEL": "1",
    "PYTHONIOENCODING": "utf-8",
    "PYTHONWARNINGS": "ignore",
}
_LOG_LINE = re.compile(r"\s|[IWE]\d{4} |\d{4}-\d\d-\d\d ")


@dataclass(frozen=True)
class ChildAnswer:
    """What the child said, whether or not it did its work."""

    python: str
    status: int
    out: str
    complaints: str

    def line(self, start: str) -> str | None:
        """What follows `start` on the last line of the output that begins with it."""
        lines = (line for line in reversed(self.out.splitlines()) if line.startswith(start))
        return next((line.removeprefix(start) for line in lines), None)

    @property
    def last_words(self) -> str:
        """The line of a traceback that says what happened."""
        lines = [line for line in self.complaints.splitlines() if line.strip()]
        told = [line for line in lines if not _LOG_LINE.match(line)] or lines
        return told[-1].strip()[:300] if told else f"the process ended with status {self.status}"


def run(
    arguments: Sequence[str],
    python: str | None,
    purpose: str,
    *,
    folder: str | None = None,
    own_modules: bool = True,
    max_seconds: int = MAX_SECONDS,
) -> ChildAnswer:
    """Run `python ARGUMENTS` (this interpreter where None is named), in `folder`, and wait for it.

    `purpose` ends the sentence "PYTHON has no TensorFlow …"; without `own_modules` the child does not see the
    caller's PYTHONPATH, which may hold packages for another Python. Raises UsageError where it cannot be
    started, MissingExtra where it has no TensorFlow, UnreadableInput where it takes too long or answers too
    much.
    """
    python = python or sys.executable
    environment = {**os.environ, **_SURROUNDINGS}
    if not own_modules:
        environment.pop("PYTHONPATH", None)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as complaints:
        try:
            done = subprocess.run(
                [python, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=complaints,
                cwd=folder,
                env=environment,
                timeout=max_seconds,
                check=False,
            )
        except OSError as error:
            raise UsageError(
                f"{python} cannot be started: {error.strerror or error}",
                "give the interpreter of the environment that has TensorFlow with --python",
            ) from None
        except subprocess.TimeoutExpired:
            raise UnreadableInput(
                f"{python} took more than {max_seconds} seconds {purpose}",
                "is it a small enough model for this machine?",
            ) from None
        if out.tell() > MAX_ANSWER_BYTES:
            raise UnreadableInput(f"{python} answered with {out.tell():,} bytes", "is it the right program?")
        answer = ChildAnswer(
            python, done.returncode, _text(out, MAX_ANSWER_BYTES), _text(complaints, _MAX_COMPLAINT_BYTES)
        )
    if answer.status and re.search(r"No module named '?tensorflow\b", answer.complaints):
        raise MissingExtra(
            f"{python} has no TensorFlow {purpose}",
            "give the Python of your training environment, --python /path/to/python, or: pip install"
            " 'tfmemlens[tensorflow]'",
        )
    return answer


def _text(file: IO[bytes], max_bytes: int) -> str:
    """The last so many bytes of what was written."""
    file.seek(max(file.seek(0, os.SEEK_END) - max_bytes, 0))
    return file.read().decode("utf-8", "replace")
