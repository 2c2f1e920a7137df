"""How much faster two worker processes scan than one: python scripts/benchmarks/fleet_workers.py
[--logs 6000] [--runs 3] [--failing 0.03]

Logs of 50 KiB in folders of jobs, of which a share fails. The clusters are started, and their workers have
read a few logs, before the time begins: what is measured is `scan` alone, from listing to the last commit.
The clusters are those of `tfmemlens fleet scan --workers`. One worker and two are measured in turn, in both
orders. Beside the time on the clock stands the processor's: that of the workers, which grows with the logs,
and that of the client with its scheduler, which two workers have to share the cores with. On a machine that
does other work only these figures tell, unless the benchmark has a real-time priority (`chrt -r 5`).
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import fleet_speed

from tfmemlens.fleet import engine, scanning
from tfmemlens.fleet.extras import load
from tfmemlens.fleet.store import Store

psutil = load("psutil")


class Took(NamedTuple):
    """Seconds of a scan."""

    clock: float
    workers: float
    """Of the processor, in the worker processes and those that they started."""
    client: float
    """The same in this process, which has the scheduler, too."""


def make(folder: Path, count: int, failing: float) -> int:
    """So many logs; their bytes."""
    chance = random.Random(5)
    quiet, failed = fleet_speed.small_logs(False), fleet_speed.small_logs(True)
    size = 0
    for number in range(count):
        raw = chance.choice(failed if chance.random() < failing else quiet)
        place = folder / f"team-{number % 7}" / f"job-{number // 4:05d}" / f"rank-{number % 4}.log"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(raw)
        size += len(raw)
    return size


def used(processes: list[Any]) -> float:
    """Seconds of the processor that processes, and those that they started, have used."""
    seconds = 0.0
    for process in processes:
        for each in (process, *process.children(recursive=True)):
            times = each.cpu_times()
            seconds += times.user + times.system
    return seconds


def timed(logs: Path, place: Path, client: Any, pids: list[int]) -> Took:
    """A scan of all logs into a new folder."""
    workers, own = [psutil.Process(pid) for pid in pids], psutil.Process()
    before = used(workers), sum(own.cpu_times()[:2]), time.perf_counter()
    summary = scanning.scan(str(logs), str(place), client)
    after = used(workers), sum(own.cpu_times()[:2]), time.perf_counter()
    assert summary.files == summary.listed, summary
    return Took(after[2] - before[2], after[0] - before[0], after[1] - before[1])


def measured(count: int, logs: Path, warm: Path, place: Path, runs: int) -> list[Took]:
    """The scans of a cluster of so many workers."""
    with engine.connected(workers=count) as client:
        pids = list(client.run(lambda: __import__("os").getpid()).values())
        timed(warm, place / f"warm-{count}", client, pids)
        return [timed(logs, place / f"{count}-{number}", client, pids) for number in range(runs)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--logs", type=int, default=6000)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--failing", type=float, default=0.03)
    args = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    found: dict[int, list[Took]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as folder:
        logs, warm = Path(folder, "logs"), Path(folder, "warm")
        size = make(logs, args.logs, args.failing)
        make(warm, 64, 0.5)
        print(f"{args.logs} logs, {size >> 20} MiB, {args.failing:.0%} with a failure")
        for turn, order in enumerate(((1, 2), (2, 1))):
            for count in order:
                place = Path(folder, f"out-{turn}")
                found[count] += measured(count, logs, warm, place, args.runs)
        rows = {
            len(Store(str(out)).table("incidents", ["source"])) for out in Path(folder).glob("out-*/[12]-*")
        }
        assert len(rows) == 1, rows
    for count, took in found.items():
        clock, workers, client = (min(each[at] for each in took) for at in range(3))
        print(
            f"{count} worker{'s' * (count > 1)}: {clock:6.2f} s on the clock (of {len(took)},"
            f" {', '.join(f'{each.clock:.2f}' for each in took)}); processor: workers {workers:.2f} s,"
            f" client and scheduler {client:.2f} s"
        )
    best = {count: min(each.clock for each in took) for count, took in found.items()}
    middle = {count: statistics.median(each.clock for each in took) for count, took in found.items()}
    print(f"2 workers: {best[1] / best[2]:.2f}x of the best, {middle[1] / middle[2]:.2f}x of the medians")
    print(f"load {psutil.getloadavg()[0]:.1f} on {psutil.cpu_count()} cores,", time.strftime("%F"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
