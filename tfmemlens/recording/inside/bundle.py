"""The folder that gets what was recorded: whole files or none, bounded in number and in bytes."""

import errno
import json
import os
import sys
import time
from typing import Any, Dict, List, Mapping, Optional, Tuple

KEY = "tfmemlens_recorder"
RECORDER, MODEL, LIVING = "recorder.json", "model.json", "living.json"
RANK = "TFMEMLENS_RUN_RANK"
"""The rank that the run itself is: its folder is that rank's."""
MAX_TRACES = 2
_MUCH_SMALLER = 4
MAX_TRACE_BYTES = 96 << 20
"""A step that needs more is not kept: reading it costs more than it tells."""
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "HOROVOD_RANK", "RANK", "SLURM_PROCID", "JAX_PROCESS_ID")


def rank_of(environment: Mapping[str, str]) -> Optional[str]:
    """The number that a launcher gave this process, None where none did. `SLURM_PROCID` stands in an
    allocation's own shell, too; it counts where there are several tasks.
    """
    for name in _RANKS:
        value = environment.get(name, "")
        if value.isdigit() and not (
            name == "SLURM_PROCID" and environment.get("SLURM_NTASKS", "1") in ("", "1")
        ):
            return str(int(value))
    try:
        task = json.loads(environment.get("TF_CONFIG", "{}")).get("task", {})
        if "index" not in task or not str(task["type"]).isalpha():
            return None
        return "%s-%d" % (task["type"], int(task["index"]))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


class Bundle:
    """What one process writes into its folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.problem = ""
        """Why the folder takes no more, empty while it does."""
        self.traces: List[Tuple[str, int, int, str]] = []
        """The steps that are kept, oldest first: size, how often their kind has run, their kind."""

    @classmethod
    def of(cls, folder: str, environment: Mapping[str, str]) -> "Bundle":
        """The folder of a run, or one within it: for a rank that the run itself is not, and for a process
        that comes second.
        """
        rank = rank_of(environment)
        if rank is not None and environment.get(RANK) != rank:
            folder = os.path.join(folder, "rank-" + rank)
            os.makedirs(folder, exist_ok=True)
        try:
            os.close(os.open(os.path.join(folder, RECORDER), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except FileExistsError:
            folder = os.path.join(folder, "process-%d" % os.getpid())
            os.makedirs(folder, exist_ok=True)
        return cls(folder)

    def write(self, name: str, data: bytes) -> bool:
        """A whole file, or none; whether it was written."""
        if self.problem:
            return False
        path = os.path.join(self.folder, name)
        try:
            with open(path + ".new", "wb") as file:
                file.write(data)
            os.replace(path + ".new", path)
        except OSError as error:
            self.problem = "%s: %s" % (name, error.strerror or errno.errorcode.get(error.errno or 0, "?"))
            _remove(path + ".new")
            return False
        return True

    def write_json(self, name: str, value: Any) -> bool:
        """The same of a JSON document."""
        text = json.dumps(value, indent=1, default=str)
        return self.write(name, text.encode("utf-8", "backslashreplace") + b"\n")

    def remove(self, name: str) -> None:
        """A file that says what is not so."""
        _remove(os.path.join(self.folder, name))

    def keep_trace(
        self,
        step: int,
        data: bytes,
        suffix: str,
        size: Optional[int] = None,
        runs: int = 0,
        kind: str = "",
    ) -> bool:
        """Keep a traced step, and the one before it; older ones go, and those much smaller than another: a
        queue that is filled, a counter that is read. `size` is what the step is judged by, where that is not
        the file's: a graph with a data set in it is large, whatever it does. Of a kind with few `runs`, as a
        checkpoint's reading is, only a step that is larger than all is kept beside those of one with many.
        One of the same `kind` as the largest is kept whatever its size: that one may have been traced anew.
        """
        name = "step-%07d%s" % (step, suffix)
        size = len(data) if size is None else size
        others = [each for each in self.traces if each[0] != name]
        largest = max([each[1] for each in others] + [size])
        main = [each[3] for each in others if each[1] == largest and each[3]]
        rare = runs * _MUCH_SMALLER < max([each[2] for each in others] + [0])
        if not data or len(data) > MAX_TRACE_BYTES or (size * _MUCH_SMALLER < largest and kind not in main):
            return False
        if (rare and size <= max(each[1] for each in others)) or not self.write(name, data):
            return False
        known = others + [(name, size, runs, kind)]
        kept = [each for each in known if each[1] * _MUCH_SMALLER >= largest or each[3] in main]
        kept = kept[-MAX_TRACES:]
        for gone in {each[0] for each in known} - {each[0] for each in kept}:
            _remove(os.path.join(self.folder, gone))
        self.traces = kept
        return True


def versions() -> Dict[str, str]:
    """Of Python and the frameworks that are loaded; nothing is imported for it."""
    known = {"python": "%d.%d.%d" % sys.version_info[:3]}
    for name in ("tensorflow", "keras", "tf_keras", "jax", "jaxlib", "numpy"):
        module = sys.modules.get(name)
        version = getattr(module, "__version__", None) or getattr(module, "VERSION", None)
        if isinstance(version, str):
            known[name] = version
    return known


def clock() -> str:
    """Now, as run.json has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")


def is_dumped(environment: Mapping[str, str]) -> bool:
    """Whether TensorFlow wrote an allocator's state where the environment asks for it: a request failed."""
    start = environment.get("TF_BFC_MEMORY_DUMP", "")
    folder, name = os.path.split(start)
    try:
        return bool(start) and any(each.startswith(name) for each in os.listdir(folder or "."))
    except OSError:
        return False


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
