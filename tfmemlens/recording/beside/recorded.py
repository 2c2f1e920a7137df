"""What lets a program record itself: the environment that loads our start-up module, and the files that it
writes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from tfmemlens.recording.inside import bundle, function_graphs, programs, session_graphs, start

STARTUP = str(Path(bundle.__file__).resolve().parent / "startup")
_FILE = r"(?:step-\d{7}(?:\.xplane)?\.pb|device_memory\.prof)(?:\.new)?"
_FOLDER = r"rank-[\w-]+|process-\d+|\.window-\d+|tfmemlens-program"


def environment(known: Mapping[str, str], folder: str, every: int | None) -> dict[str, str]:
    """The program's environment with what makes it record itself, and its children, too."""
    path = known.get("PYTHONPATH", "")
    rank = bundle.rank_of(known)
    return {
        **known,
        "PYTHONPATH": STARTUP + (os.pathsep + path if path else ""),
        start.FOLDER: str(Path(folder).resolve()),
        start.EVERY: str(every or ""),
        start.RANK: "" if rank is None else rank,
    }


def folder_of_rank(out: str, known: Mapping[str, str]) -> str:
    """Where this rank's bundle is in the job's folder; the folder itself where there are no ranks."""
    rank = bundle.rank_of(known)
    return out if rank is None else os.path.join(out, f"rank-{rank}")


def is_file(name: str) -> bool:
    """Whether a file of a bundle was written by the program."""
    graphs = (function_graphs.NAME, session_graphs.NAME, programs.NAME)
    names = (bundle.RECORDER, bundle.MODEL, bundle.LIVING, *graphs)
    return name.removesuffix(".new") in names or re.fullmatch(_FILE, name) is not None


def is_folder(place: Path) -> bool:
    """Whether a folder of a bundle is that of a rank, of a further process or of the program's own files."""
    return place.is_dir() and not place.is_symlink() and re.fullmatch(_FOLDER, place.name) is not None
