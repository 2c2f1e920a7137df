"""Scans with real parts: worker processes, a scheduler of its own, a full disk, and kill -9."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.conftest import ROOT
from tests.fleet.needed import fleet
from tests.fleet.test_scan import FOUR, LOG, Here, found
from tfmemlens.cli.main import main
from tfmemlens.fleet import tasks
from tfmemlens.fleet.scanning import scan
from tfmemlens.fleet.store import Store, read

pytestmark = [*fleet, pytest.mark.usefixtures("signals_as_a_terminal_has_them")]

PATIENCE = 120.0
"""Seconds in which something must have happened, however busy the machine is."""


def until(happened: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def program(*words: str, **options: Any) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, problems = process.communicate(timeout=PATIENCE)
    return process.returncode, out, problems


@pytest.fixture
def logs(tmp_path: Path) -> tuple[Path, dict[str, int]]:
    """Forty logs in folders of jobs, and how many incidents each has."""
    truth = {}
    for number in range(40):
        name = f"job-{number // 4}/{number % 4}.log"
        file = tmp_path / "logs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        content = {0: LOG.read_bytes(), 1: FOUR.read_bytes()}.get(number % 5, b"step 1\n")
        file.write_bytes(content)
        truth[name] = {0: 1, 1: 4}.get(number % 5, 0)
    return tmp_path / "logs", truth


SCHEDULER = """
import asyncio, sys
from distributed import Scheduler
async def main():
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
        print(scheduler.address, flush=True)
        await scheduler.finished()
asyncio.run(main())
"""
WORKER = """
import asyncio, sys
from distributed import Worker
async def main():
    async with Worker(sys.argv[1], nthreads=1, dashboard=False) as worker:
        print(worker.address, flush=True)
        await worker.finished()
asyncio.run(main())
"""


FOREIGN = (
    """
import os, sys
sys.meta_path[:] = [each for each in sys.meta_path if "editable" not in repr(each).lower()]
sys.path[:] = [each for each in sys.path if not os.path.isdir(os.path.join(each or ".", "tfmemlens"))]
if sys.argv[2:]:
    sys.path.insert(0, sys.argv[2])
    import tfmemlens
else:
    try:
        import tfmemlens
    except ImportError:
        pass
    else:
        sys.exit("it has the package")
"""
    + WORKER
)
"""A worker that has no tfmemlens, or that in a folder."""


@pytest.fixture
def cluster() -> Iterator[tuple[str, subprocess.Popen[str], list[subprocess.Popen[str]]]]:
    """A scheduler and two workers, each a process of its own."""
    started = [program("-c", SCHEDULER)]
    assert started[0].stdout is not None
    address = started[0].stdout.readline().strip()
    started += [program("-c", WORKER, address) for _ in range(2)]
    for worker in started[1:]:
        assert worker.stdout is not None
        assert worker.stdout.readline()
    yield address, started[0], started[1:]
    for process in started:
        process.kill()
        process.communicate()


def scanning(logs: Path, out: Path, *words: str, **options: Any) -> subprocess.Popen[str]:
    return program("-m", "tfmemlens", "fleet", "scan", str(logs), "-o", str(out), *words, **options)


def something_is_staged(out: Path) -> bool:
    return any(out.glob("_staging/*/*.arrow")) or any(out.glob("inputs/*.parquet"))


@pytest.mark.whole
def test_a_worker_is_killed(
    logs: tuple[Path, dict[str, int]], tmp_path: Path, cluster: tuple[str, Any, list[Any]]
) -> None:
    folder, truth = logs
    process = scanning(folder, tmp_path / "out", "--scheduler", cluster[0], "--json")
    until(lambda: something_is_staged(tmp_path / "out"))
    cluster[2][0].kill()
    status, out, problems = ended(process)
    assert status == 0, problems
    assert "Dask's dashboard" in problems
    assert found(folder, tmp_path / "out") == truth
    assert json.loads(out)["incidents"] == sum(truth.values())


@pytest.mark.whole
def test_the_scheduler_is_killed(
    logs: tuple[Path, dict[str, int]],
    tmp_path: Path,
    cluster: tuple[str, Any, list[Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, truth = logs
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "2s")
    process = scanning(folder, tmp_path / "out", "--scheduler", cluster[0])
    until(lambda: something_is_staged(tmp_path / "out"))
    cluster[1].kill()
    status, _, problems = ended(process)
    assert status == 2, f"forty files were read before their scheduler was killed: {problems}"
    assert "tfmemlens: the scheduler cannot be reached any more" in problems
    assert "Traceback" not in problems
    scan(str(folder), str(tmp_path / "out"), Here())
    assert found(folder, tmp_path / "out") == truth


@pytest.mark.whole
def test_ctrl_c_ends_a_scan_and_its_workers(logs: tuple[Path, dict[str, int]], tmp_path: Path) -> None:
    folder, truth = logs
    process = scanning(folder, tmp_path / "out", "--workers", "1", start_new_session=True)
    until(lambda: something_is_staged(tmp_path / "out"))
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    status, out, problems = ended(process)
    assert status == 130, problems
    assert "stopped: interrupted" in out
    assert problems.startswith("1 worker; Dask's dashboard: ")
    assert problems.count("\n") == 1, "and nothing else"
    assert set(found(folder, tmp_path / "out").items()) <= set(truth.items())
    with pytest.raises(ProcessLookupError):
        until(lambda: os.killpg(process.pid, 0))
    summary = scan(str(folder), str(tmp_path / "out"), Here())
    assert found(folder, tmp_path / "out") == truth
    assert summary.unchanged + summary.files == len(truth)


@pytest.mark.whole
@pytest.mark.parametrize("has_another", [False, True])
def test_workers_elsewhere_get_the_package(
    has_another: bool, logs: tuple[Path, dict[str, int]], tmp_path: Path
) -> None:
    folder, truth = logs
    (tmp_path / "elsewhere" / "tfmemlens").mkdir(parents=True)
    (tmp_path / "elsewhere" / "tfmemlens" / "__init__.py").write_text("__version__ = '0.0.1'\n")
    started = [program("-c", SCHEDULER)]
    try:
        assert started[0].stdout is not None
        address = started[0].stdout.readline().strip()
        words = [str(tmp_path / "elsewhere")] if has_another else []
        started.append(program("-c", FOREIGN, address, *words, cwd=tmp_path))
        assert started[1].stdout is not None
        assert started[1].stdout.readline(), "the worker has begun"
        process = scanning(folder / "job-0", tmp_path / "out", "--scheduler", address, "--json")
        status, out, problems = ended(process)
    finally:
        for each in started:
            each.kill()
            each.communicate()
    assert status == 0, problems
    assert json.loads(out)["incidents"] == sum(truth[f"job-0/{number}.log"] for number in range(4))


KILLED = """
import os, signal, sys
from tests.fleet.test_scan import Here
from tfmemlens.fleet import scanning, store
left = int(sys.argv[3])
move = store.Store._move
def killed(*arguments):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    move(*arguments)
store.Store._move = killed
scanning.COMMIT_SECONDS = -1.0
scanning.scan(sys.argv[1], sys.argv[2], Here())
"""


@pytest.mark.whole
@pytest.mark.parametrize("moves", [0, 1, 2, 4])
def test_the_client_is_killed_in_the_middle_of_a_commit(
    moves: int, logs: tuple[Path, dict[str, int]], tmp_path: Path
) -> None:
    folder, truth = logs
    status, _, problems = ended(
        program("-c", KILLED, str(folder), str(tmp_path / "out"), f"{moves}", cwd=ROOT)
    )
    assert status == -signal.SIGKILL, problems
    summary = scan(str(folder), str(tmp_path / "out"), Here())
    assert found(folder, tmp_path / "out") == truth
    assert summary.unchanged > 0, "what was staged or committed is not read again"
    assert summary.unchanged + summary.files == len(truth)


@pytest.mark.whole
def test_a_disk_that_is_full(logs: tuple[Path, dict[str, int]], tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    folder, truth = logs
    limited = "resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))"
    code = (
        f"import resource, sys\nsys.dont_write_bytecode = True  # or half a file stays\n{limited}\n{KILLED}"
    )
    status, _, problems = ended(program("-c", code, str(folder), str(tmp_path / "out"), "99", cwd=ROOT))
    assert resource
    assert status == 1
    assert "OutputFailed" in problems
    assert "File too large" in problems
    assert set(found(folder, tmp_path / "out").items()) <= set(truth.items())
    scan(str(folder), str(tmp_path / "out"), Here())
    assert found(folder, tmp_path / "out") == truth


CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
BUCKET = "s3://bucket"
IN_S3 = {"job-0/0.log": 1, "job-0/1.log": 4, "job-0/2.log": 0, "job-0/3.log": 0} | {
    "job-1/0.log": 0, "job-1/1.log": 1, "job-1/2.log": 4, "job-1/3.log": 0,
}  # fmt: skip


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch, logs: tuple[Path, dict[str, int]]) -> Iterator[dict[str, Any]]:
    """The options of an S3 server whose bucket has the logs of two jobs: `IN_S3`."""
    if importlib.util.find_spec("moto") is None or importlib.util.find_spec("s3fs") is None:
        pytest.skip("pip install tfmemlens[fleet,s3], and moto[server] for the storage of its tests")
    import fsspec
    from moto.server import ThreadedMotoServer

    for name in CREDENTIALS:
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    options = {"endpoint_url": f"http://{host}:{port}"}
    urlopen(f"{options['endpoint_url']}/moto-api/reset", data=b"").close()
    tasks.close()  # readers of tests before have no credentials
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        files = fsspec.filesystem("s3", **options)
        files.mkdir("bucket")
        for name in IN_S3:
            files.put_file(str(logs[0] / name), f"bucket/logs/{name}")
        yield options
        tasks.close()
    server.stop()


@pytest.mark.whole
def test_logs_and_tables_in_s3(
    s3: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    import fsspec

    out = f"{BUCKET}/out"
    options = {"job_pattern": r"(?P<job>job-\d+)/", "storage_options": s3, "out_options": s3}
    first = scan(f"{BUCKET}/logs/**/*.log", out, Here(), **options)
    assert first.incidents == sum(IN_S3.values())
    again = scan(f"{BUCKET}/logs", out, Here(), **options)
    assert (again.unchanged, again.to_read) == (8, 0)
    fsspec.filesystem("s3", **s3).pipe_file("bucket/logs/job-0/2.log", FOUR.read_bytes())
    third = scan(f"{BUCKET}/logs", out, Here(), **options)
    assert (third.unchanged, third.files, third.incidents) == (7, 1, 4)
    store = Store(out, s3)
    inputs = {row["source"]: row["incidents"] for row in store.table("inputs").to_pylist()}
    expected = {f"{BUCKET}/logs/{name}": count for name, count in IN_S3.items()}
    assert inputs == expected | {f"{BUCKET}/logs/job-0/2.log": 4}
    frame = read(out, options=s3, columns=["source", "job"]).compute(scheduler="synchronous")
    assert len(frame) == sum(inputs.values())
    assert set(frame.job) >= {"job-0", "job-1"}
    assert store._names("_staging") == []
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    option = ("--storage-option", f"endpoint_url={s3['endpoint_url']}")
    for words in (("top", "--json"), ("diff", "--after", "2031-01-01", "--json")):
        assert main(["fleet", words[0], out, *words[1:], *option]) == (0 if words[0] == "top" else 3)
    assert json.loads(capsys.readouterr().out.split("\n}\n")[0] + "}")["failures"] == len(frame)
    assert main(["fleet", "report", out, "-o", str(tmp_path / "fleet.html"), *option]) == 0
    assert "job-1" in (tmp_path / "fleet.html").read_text()


@pytest.mark.whole
def test_worker_processes_read_and_write_s3(s3: dict[str, Any], cluster: tuple[str, Any, Any]) -> None:
    option = f"endpoint_url={s3['endpoint_url']}"
    words = ("fleet", "scan", f"{BUCKET}/logs", "-o", f"{BUCKET}/out", "--storage-option", option)
    status, out, problems = ended(program("-m", "tfmemlens", *words, "--scheduler", cluster[0], "--json"))
    assert status == 0, problems
    assert json.loads(out)["incidents"] == sum(IN_S3.values())
    assert Store(f"{BUCKET}/out", s3).table("incidents").num_rows == sum(IN_S3.values())


@pytest.mark.whole
def test_workers_without_credentials_are_told_at_once(
    s3: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Here()

    def without(task: Any, plan: Any) -> None:
        for name in CREDENTIALS:
            monkeypatch.delenv(name, raising=False)

    client.before = without
    summary = scan(f"{BUCKET}/logs", str(tmp_path / "out"), client, storage_options=s3)
    assert dict(summary.inputs) == {"unreadable": 8}
    assert summary.retries == 0
    told = summary.unreadable[0][1]  # s3fs of 2023 goes on without credentials, and is refused
    assert "Unable to locate credentials where this worker runs" in told or "in anonymous mode" in told
    for name in CREDENTIALS:
        monkeypatch.setenv(name, "testing")
    tasks.close()
    client.before = lambda task, plan: None
    assert scan(f"{BUCKET}/logs", str(tmp_path / "out"), client, storage_options=s3).files == 8
