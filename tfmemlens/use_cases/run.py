"""Run a program, and gather what explains its end: a bundle that `explain` and `report` read whole."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfmemlens.errors import TfmemlensError, UsageError, apology
from tfmemlens.recording.beside import cgroups, recorded, relay
from tfmemlens.recording.beside.kept_log import KeptLog
from tfmemlens.recording.inside import bundle
from tfmemlens.values import dataclass

if TYPE_CHECKING:  # nothing is read before the program has ended: it starts at once
    from tfmemlens.model.report import Report

LOG, RECORD, PAGE = "log.txt", "run.json", "report.html"
KEY = "tfmemlens_run"
"""As the reader of such records has it, which is not imported before the program has ended."""
UNKNOWN_END = "nobody saw its end: tfmemlens was killed, or it runs still"
DUMP_VARIABLE, _DUMPS = "TF_BFC_MEMORY_DUMP", "bfc"
"""TensorFlow writes a file where an allocation fails, and changes nothing else by it."""
MAX_DUMPS = 4
"""A program that fails and goes on may write one at each step: the newest are kept."""
_TIDY_SECONDS = 5.0
_HEAD_BYTES = 200
"""How far the key that marks our records is looked for."""


@dataclass(frozen=True)
class RunOutcome:
    """How the program ended, and what explains it."""

    exit_status: int
    report: Report | None = None
    """Of a program that failed for memory."""
    folder: str | None = None
    """Where the bundle is, None where none was kept."""
    problems: tuple[str, ...] = ()
    """What could not be kept or explained, in sentences."""


def run(
    command: Sequence[str], out: str | None = None, trace: bool = False, every: int | None = None
) -> RunOutcome:
    """Run a command to its end. The bundle is kept in `out`, or in a new folder of the current one if the
    program failed for memory. With `trace` the program records itself: its model, a step now and then (each
    `every`-th, by default as many as cost little), and who holds tensors when it fails. Raises UsageError
    where `out` cannot be used, OSError where the command cannot be started. Started once for each rank, each
    keeps a folder of its own in `out`.
    """
    out = recorded.folder_of_rank(out, os.environ) if out else None
    folder = _prepared(out) if out else _spool()
    log = KeptLog(os.path.join(folder, LOG))
    started, before = time.time(), cgroups.read()
    if out:  # the folder is known for ours, also when nobody is left to write how the program ended
        _write_record(folder, _begun(command, started), [])
    try:
        environment = _environment(folder)
        if trace:
            environment = recorded.environment(environment, folder, every)
        ending = relay.run(command, environment, _keeper(folder, log), records_itself=trace)
    except OSError:
        if not out:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    dropped = log.close()
    after = cgroups.read()
    record = {
        **_begun(command, started),
        "ended": _clock(started + ending.seconds),
        "seconds": round(ending.seconds, 3),
        "exit_status": ending.exit_status,
        "ending": _ending(ending, before, after),
        "peak_rss_bytes": ending.peak_bytes,
        "memory_group": _group(before, after),
        "output_bytes": log.total_bytes,
        "output_bytes_left_out": dropped,
        "traced": trace,
    }
    problems = [f"the log is not complete on disk: {log.problem}; the run went on"] if log.problem else []
    if ending.lost_bytes:
        problems.append(f"{ending.lost_bytes:,} bytes of the output could not be written: the disk is full")
    try:
        return _gathered(folder, out, record, log, problems)
    except KeyboardInterrupt:  # whoever does not wait for the page still gets the program's status
        return RunOutcome(ending.exit_status, None, folder, tuple(problems))
    except Exception as defect:  # of ours: the program's status and what it left stay
        of_memory = "there was no memory left to explain it" if isinstance(defect, MemoryError) else ""
        problems.append(of_memory or apology(defect).sentence)
        folder, kept = (folder, True) if out else _moved(folder, problems)
        return RunOutcome(ending.exit_status, None, folder if kept else None, tuple(problems))


def _gathered(
    folder: str, out: str | None, record: dict[str, Any], log: KeptLog, problems: list[str]
) -> RunOutcome:
    """The bundle, as far as there is something to keep."""
    status, report = record["exit_status"], None
    _tidy(folder)
    written = _write_record(folder, record, problems)
    if status:
        _keep_script(folder, record)  # a kernel's failure may come without the traceback that quotes it
        report = _explained(folder, log, problems, written)
        _drop_script(folder, report, status)
    if report and report.case.capture.source.version:
        record["framework"] = report.case.capture.source.framework
        record["versions"] = list(report.case.capture.source.version)
        _write_record(folder, record, problems)
    if report and _crashed_after_the_failure(record, report):
        problems.append(_CRASHED.format(_named_release(report)))
    if out or report:
        folder, kept = (folder, True) if out else _moved(folder, problems)
        if report:
            _keep_program(folder, report)
            _write_page(folder, problems)
        return RunOutcome(status, report, folder if kept else None, tuple(problems))
    shutil.rmtree(folder, ignore_errors=True)
    return RunOutcome(status, None, None, tuple(problems))


_KILLED = 128
"""A status above it is that of a signal: no traceback tells of the program's lines."""
_CRASHED = (
    "killed by SIGSEGV after an allocation had failed: element-wise ops of {} may crash then,"
    " with and without tfmemlens; what failed first stands above"
)


def _named_release(report: Report) -> str:
    """TensorFlow with its release, where the recorder told it: what a log betrays is a range of them."""
    api = report.case.api
    release = ".".join(map(str, api.newest)) if api.oldest == api.newest else "1"
    return f"TensorFlow {release}"


def _crashed_after_the_failure(record: dict[str, Any], report: Report) -> bool:
    """Whether the program ended as BinaryOp of TensorFlow 1 ends some: after a failed allocation it goes on
    with what it did not set (cwise_ops_common.h; seen with 1.10 and 1.15).
    """
    return record["exit_status"] == 128 + signal.SIGSEGV and report.case.api.is_tf1


def _explained(folder: str, log: KeptLog, problems: list[str], written: bool) -> Report | None:
    """The report of a program that failed for memory, None of any other."""
    from tfmemlens import pipeline

    sources = [folder]
    if log.problem:
        sources = [each for each in _files(folder) if os.path.basename(each) != LOG]
    tail = log.tail.decode("utf-8", "replace") if log.problem or not written else ""
    try:
        report = pipeline.explain([*sources, *([tail + "\n"] if tail.strip() else [])])
    except TfmemlensError as problem:
        problems.append(problem.sentence)
        return None
    return report if report.case.capture.incidents else None


def _files(folder: str) -> Iterator[str]:
    """What the readers are given of a bundle; an empty log has nothing to say."""
    for path in sorted(Path(folder).iterdir()) if os.path.isdir(folder) else ():
        if path.name != PAGE and path.is_file() and path.stat().st_size:
            yield str(path)


def _prepared(out: str) -> str:
    """A folder of the user's choice; an earlier run's bundle in it is replaced. Raises UsageError."""
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = list(folder.iterdir())
        if files and not any(_is_record(folder / name) for name in (RECORD, bundle.RECORDER)):
            raise UsageError(f"{out} is not empty", "name a new folder for --out")
        for file in files:
            if recorded.is_folder(file):
                shutil.rmtree(file)
            elif _ours(file.name):
                file.unlink()
        (folder / LOG).touch()
    except OSError as error:
        raise UsageError(
            f"{out} cannot be used for the bundle: {error.strerror or error}",
            "check the folder and its permissions",
        ) from None
    return str(folder.resolve())


def _is_record(file: Path) -> bool:
    """Whether a run wrote it, and not somebody else's program a file of that name."""
    try:
        with file.open("rb") as opened:
            head = opened.read(_HEAD_BYTES)
    except OSError:
        return False
    return any(f'"{key}"'.encode() in head for key in (KEY, bundle.KEY))


def _ours(name: str) -> bool:
    return (
        name in (LOG, RECORD, PAGE)
        or name.startswith((f"{LOG}.part", f"{_DUMPS}_"))
        or recorded.is_file(name)
    )


def _spool() -> str:
    """Where the bundle grows while nobody knows whether it is needed."""
    try:
        return tempfile.mkdtemp(prefix="tfmemlens-run-")
    except OSError:
        return os.path.join(tempfile.gettempprefix(), "no-folder")  # the log says that it cannot be written


def _environment(folder: str) -> dict[str, str]:
    """The user's, and what changes neither results nor output."""
    return {DUMP_VARIABLE: os.path.join(folder, _DUMPS), **os.environ}


def _keeper(folder: str, log: KeptLog) -> Any:
    """Keeps output, and tidies now and then: failing allocations are logged, so whoever dumps writes, too."""
    due = time.monotonic() + _TIDY_SECONDS

    def keep(stream: int, data: bytes) -> None:
        nonlocal due
        log.add(stream, data)
        if time.monotonic() > due:
            _tidy(folder)
            due = time.monotonic() + _TIDY_SECONDS

    return keep


def _tidy(folder: str) -> None:
    """Keep the newest dumps. TensorFlow ends their names with the time."""
    try:
        dumps = sorted(Path(folder).glob(f"{_DUMPS}_*"), key=lambda file: file.name.rpartition(".")[2])
        for file in dumps[:-MAX_DUMPS]:
            file.unlink()
    except OSError:
        return  # a folder that was taken away holds none


def _group(before: cgroups.MemoryGroup | None, after: cgroups.MemoryGroup | None) -> dict[str, Any] | None:
    if after is None:
        return None
    return {
        "path": after.path,
        "oom_kills": _kills(before, after),
        "limit_bytes": after.limit_bytes,
        "peak_bytes": after.peak_bytes,
    }


def _kills(before: cgroups.MemoryGroup | None, after: cgroups.MemoryGroup | None) -> int | None:
    """How many processes of the group the kernel killed meanwhile; None where it does not say."""
    if before is None or after is None or before.path != after.path:
        return None
    return after.oom_kills - before.oom_kills


def _ending(
    ending: relay.Ending, before: cgroups.MemoryGroup | None, after: cgroups.MemoryGroup | None
) -> str:
    """How the program ended, in a sentence that the readers know.

    The kernel counts whom it kills for memory; where it does not say, a SIGKILL may have been that.
    """
    from tfmemlens.readers.formats import run_record

    name, kills = _signal_name(ending.returncode), _kills(before, after)
    how = f"killed by {name}" if name else f"exit status {ending.exit_status}"
    if not kills or not ending.exit_status:
        return f"{how}; not by the kernel for memory" if name == "SIGKILL" and kills == 0 else how
    if ending.exit_status == 128 + signal.SIGKILL:
        return f"{run_record.KILLED} the program"
    return f"{how}, after {run_record.KILLED} {_processes(kills)} of its memory group"


def _processes(count: int) -> str:
    return "1 process" if count == 1 else f"{count} processes"


def _begun(command: Sequence[str], started: float) -> dict[str, Any]:
    """What is known of a run before it ended."""
    return {
        KEY: 1,
        "command": list(command),
        "working_folder": str(Path.cwd()),
        "started": _clock(started),
        "ending": UNKNOWN_END,
        **_address_space(),
    }


def _address_space() -> dict[str, int]:
    """The address space that the program may take (`ulimit -v`); empty where nothing limits it, or where the
    system knows no such limit.
    """
    try:
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    except (ImportError, AttributeError, OSError):
        return {}
    return {} if soft in (resource.RLIM_INFINITY, -1) else {"address_space_bytes": soft}


def _write_record(folder: str, record: dict[str, Any], problems: list[str]) -> bool:
    return _write(folder, RECORD, json.dumps(record, indent=1) + "\n", problems)


def _write(folder: str, name: str, text: str, problems: list[str]) -> bool:
    """A whole file, or none and a sentence."""
    file = Path(folder, name)
    try:
        file.write_bytes(text.encode("utf-8", "replace"))
    except OSError as error:
        problems.append(f"{name} cannot be written: {error.strerror or error}")
        with suppress(OSError):
            file.unlink(missing_ok=True)
        return False
    return True


def _keep_script(folder: str, record: dict[str, Any]) -> None:
    """A copy of the script that the command names, since nothing quotes its lines."""
    from tfmemlens.readers.formats.python_source import LARGEST
    from tfmemlens.readers.gathering import program_files

    scripts = (Path(record["working_folder"], each) for each in record["command"] if each.endswith(".py"))
    script = next(scripts, None)
    with suppress(OSError):
        if script is not None and script.stat().st_size <= LARGEST:
            target = Path(folder, program_files.FOLDER)
            target.mkdir(exist_ok=True)
            shutil.copyfile(script, target / script.name)


def _drop_script(folder: str, report: Report | None, status: int) -> None:
    """No script of a program that memory did not end."""
    from tfmemlens.readers.gathering import program_files

    if report is None and status <= _KILLED:
        shutil.rmtree(Path(folder, program_files.FOLDER), ignore_errors=True)


def _keep_program(folder: str, report: Report) -> None:
    """Copies of the user's files that the traceback names, so that the bundle tells as much elsewhere."""
    from tfmemlens.readers.gathering import program_files

    target = Path(folder, program_files.FOLDER)
    with suppress(OSError):  # what was read from them stands in the page already
        for file in program_files.files(report.case.capture, [folder]):
            target.mkdir(exist_ok=True)
            shutil.copyfile(file, target / os.path.basename(file))


def _write_page(folder: str, problems: list[str]) -> None:
    from tfmemlens import renderers
    from tfmemlens.use_cases.page import build_page

    try:
        page = renderers.render(build_page([[folder]]), "page", "html")
    except TfmemlensError as problem:
        problems.append(f"{PAGE} cannot be made: {problem.sentence}")
    else:
        _write(folder, PAGE, page, problems)


def _moved(folder: str, problems: list[str]) -> tuple[str, bool]:
    """The bundle in the current folder; where that cannot be, it stays where it grew."""
    stem = time.strftime("tfmemlens-run-%Y%m%d-%H%M%S")
    names = (stem if not at else f"{stem}-{at}" for at in range(1000))
    try:
        target = Path.cwd() / next(name for name in names if not os.path.lexists(name))
        Path(folder).chmod(0o777 & ~_umask())
        return str(shutil.move(folder, target)), True
    except OSError as error:
        problems.append(f"the bundle stays in {folder}: {error.strerror or error}")
        return folder, os.path.isdir(folder)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _clock(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(seconds))


def _signal_name(returncode: int) -> str | None:
    if returncode >= 0:
        return None
    try:
        return signal.Signals(-returncode).name
    except ValueError:  # a real-time signal
        return f"signal {-returncode}"
