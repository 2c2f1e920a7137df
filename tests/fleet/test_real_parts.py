"""Scans with real parts: worker processes, a scheduler of its own, a full disk, and kill -9."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.fleet.needed import fleet
from tests.fleet.test_scan import FOUR, LOG, Here, found
from tfmemlens.fleet.scanning import scan

pytestmark = fleet

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
    assert status == 2, "forty files were read before their scheduler was killed"
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
    code = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))\n" + KILLED
    status, _, problems = ended(program("-c", code, str(folder), str(tmp_path / "out"), "99", cwd=ROOT))
    assert resource
    assert status == 1
    assert "OutputFailed" in problems
    assert "File too large" in problems
    assert set(found(folder, tmp_path / "out").items()) <= set(truth.items())
    scan(str(folder), str(tmp_path / "out"), Here())
    assert found(folder, tmp_path / "out") == truth
