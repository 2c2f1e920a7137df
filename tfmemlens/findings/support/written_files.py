"""A resource that ran out where a file was written: a disk's or a quota's, more likely than memory."""

from __future__ import annotations

from tfmemlens.findings.support.verdict import OF_A_FILE
from tfmemlens.model.finding import Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line


def of_a_file(message: Line, writes: Line, index: int = 0) -> Finding:
    """The error that TensorFlow raises for files, too: a disk, a quota, open files."""
    what = (
        f"{OF_A_FILE} ({writes.place}): most likely no lack of memory, as TensorFlow raises the same"
        " error where a disk, its inodes or a quota are full, or too many files are open"
    )
    return Finding(
        severity=Severity.FACTOR,
        headline=what,
        evidence=(Evidence("the message", message), Evidence("writes a file", writes)),
        remedies=(_SEE_THE_DISK,),
        rules_out=("record-a-step", "dump-file", "list-tensors", "read-the-log"),
        moment=index,
    )


_SEE_THE_DISK = Remedy(
    "see first whether the file system that it writes to has room and inodes left (a volume or a user may"
    " have a quota below what the disk has free), and how many files it may open; a smaller batch changes"
    " nothing there",
    "df -h; df -i; quota -s; ulimit -n",
    slug="room-for-files",
)
