"""A data set of a million made-up incidents, and how long `fleet top` and `fleet report` take on it.

    python scripts/benchmarks/fleet_incidents.py make DIR --incidents 1000000
    python scripts/benchmarks/fleet_incidents.py measure DIR

The rows are of the contract in `tfmemlens.fleet.schema`; rules, hosts, jobs and times are drawn by a seed, so
that nothing in them is a result. The documents are those of samples. Each command is a process of its own.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import tfmemlens
from tfmemlens.fleet import schema
from tfmemlens.fleet.extras import load

ROOT = Path(__file__).parents[2]
END = datetime(2026, 11, 22, 12)
TEAMS = ("vision", "speech", "ranking", "maps", "search", "robots", None)
RULES = (
    "activations-dominate",
    "one-tensor-dominates",
    "device-held-by-others",
    "parameters-dominate",
    "fragmented-free-memory",
    "vocabulary-logits",
    "attention-scores",
    "request-larger-than-device",
)
"""What the rows claim, most frequent first."""
VERSIONS = (("tensorflow", "2.11"), ("tensorflow", "1.15"), ("jax", None), ("tensorflow", "2.4"))
ROWS_PER_FILE = 20_000


def documents() -> list[dict[str, Any]]:
    """Verdict, first action and document of some samples."""
    found = []
    for path in sorted((ROOT / "sample_traces" / "oom_log").glob("*.txt"))[:40]:
        report = tfmemlens.explain(path)
        told = json.loads(report.to_json())
        if told["actions"]:
            found.append(
                {
                    "verdict": report.verdict,
                    "action": told["actions"][0]["text"],
                    "saves_bytes": told["actions"][0]["saves_bytes"],
                    "report": json.dumps(told, separators=(",", ":")),
                }
            )
    return found


def jobs(chance: random.Random, count: int, days: int, hosts: int) -> Iterator[list[dict[str, Any]]]:
    """The runs of one job after another: each run is one to three ranks' rows."""
    for number in range(count):
        team = chance.choice(TEAMS)
        cause = min(int(chance.paretovariate(0.7)) - 1, 399)
        start = END - timedelta(days=1) - timedelta(days=chance.triangular(0, days, 0))
        host = chance.randrange(hosts)
        yield [
            {
                "team": team,
                "job": f"train-{number:06d}",
                "rank": str(rank),
                "host": f"gpu-{host % hosts:04d}",
                "cause": cause,
                "source": f"s3://logs/jobs/{team or 'none'}/train-{number:06d}/try-{attempt}/rank-{rank}.log",
                "start": start + attempt * timedelta(hours=5),
                "end": start + attempt * timedelta(hours=5) + timedelta(hours=chance.uniform(0.1, 4)),
            }
            for attempt in range(chance.choice((1, 1, 1, 2, 5)))
            for rank in range(chance.choice((1, 1, 2, 8)))
        ]


def incident(run: dict[str, Any], document: dict[str, Any], bad_hosts: frozenset[str]) -> dict[str, Any]:
    """A row of the table of incidents."""
    cause = run["cause"]
    rule = RULES[2] if run["host"] in bad_hosts else RULES[cause % len(RULES)]
    framework, version = VERSIONS[cause % len(VERSIONS)]
    layer = f"model/block_{cause % 23}/conv"
    return (
        schema.empty(schema.INCIDENTS)
        | {name: run[name] for name in ("source", "team", "job", "rank", "host")}
        | document
        | {
            "offset": 40960 + cause,
            "line": 412 + cause,
            "time": run["end"],
            "framework": framework,
            "version": version,
            "device": f"GPU:{cause % 4}",
            "allocator": f"GPU_{cause % 4}_bfc",
            "limit_bytes": 11 << 30,
            "in_use_bytes": 10 << 30,
            "requested_bytes": 1 << 29,
            "shape": f"[32,{64 + cause},112,112]",
            "dtype": "float32",
            "op": "Conv2D",
            "node": f"{layer}/Conv2D",
            "layer": layer,
            "rule": rule,
            "severity": "cause",
            "kinds": [("activation", 9 << 30), ("parameter", 1 << 30)],
            "occurrences": 1,
            "signature": f"{framework} {rule} model/block_#/conv [?,{64 + cause},112,112] 11GiB #{cause:04x}",
            "scan": "made-up",
        }
    )


def made_input(run: dict[str, Any], count: int) -> dict[str, Any]:
    """A row of the table of inputs."""
    return (
        schema.empty(schema.INPUTS)
        | {name: run[name] for name in ("source", "team", "job", "rank", "host")}
        | {
            "size": 51200,
            "mtime": run["end"],
            "status": schema.READ if count else schema.NO_FAILURE,
            "incidents": count,
            "first_time": run["start"],
            "last_time": run["end"],
            "bytes_read": 51200,
            "seconds": 0.02,
            "scan": "made-up",
        }
    )


class Writer:
    """Rows of a table in files of so many."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.schema = folder / name, schema.arrow_schema(schema.TABLES[name])
        self.folder.mkdir(parents=True)
        self.rows: list[dict[str, Any]] = []
        self.files = self.count = 0

    def add(self, row: dict[str, Any]) -> None:
        """One row, and a file when there are enough."""
        self.rows.append(row)
        self.count += 1
        if len(self.rows) == ROWS_PER_FILE:
            self.write()

    def write(self) -> None:
        """The rows that wait, as a file."""
        if not self.rows:
            return
        table = load("pyarrow").Table.from_pylist(self.rows, self.schema)
        load("pyarrow.parquet").write_table(
            table, self.folder / f"{self.files:06d}.parquet", compression="zstd", row_group_size=5000
        )
        self.files += 1
        self.rows = []


def make(folder: Path, count: int, seed: int, days: int, hosts: int) -> None:
    """Write the data set: as many inputs without a failure as there are with one."""
    chance, told = random.Random(seed), documents()
    bad_hosts = frozenset(f"gpu-{number:04d}" for number in chance.sample(range(hosts), max(hosts // 100, 1)))
    incidents, inputs = Writer(folder, "incidents"), Writer(folder, "inputs")
    for runs in jobs(chance, 10**9, days, hosts):
        for run in runs:
            if incidents.count < count:
                incidents.add(incident(run, told[run["cause"] % len(told)], bad_hosts))
                inputs.add(made_input(run, 1))
            inputs.add(made_input(run | {"source": run["source"].replace(".log", ".ok.log")}, 0))
        if incidents.count >= count:
            break
    incidents.write()
    inputs.write()
    print(f"{incidents.count:,} incidents, {inputs.count:,} inputs, {incidents.files} files in {folder}")


def measure(folder: Path) -> None:
    """Seconds and peak memory of each command in a process of its own."""
    page, name = folder / "fleet.html", str(folder)
    for words in (
        ["top", name],
        ["top", name, "--by", "job"],
        ["top", name, "--since", "7d"],
        ["diff", name, "--after", "7d"],
        ["report", name, "-o", str(page)],
    ):
        code = (
            "import resource, sys\nfrom tfmemlens.cli.main import main\n"
            f"main({['fleet', *words]!r})\n"
            "used = resource.getrusage(resource.RUSAGE_SELF)\n"
            "print(used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)"
        )
        begin = time.perf_counter()
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        seconds, (cpu, kibibytes) = time.perf_counter() - begin, run.stderr.split()[-2:]
        told = f"{seconds:6.1f} s, {float(cpu):5.1f} s of CPU, {int(kibibytes) >> 10:5} MiB"
        print(f"{words[0]} {' '.join(words[2:4]):20} {told}", flush=True)
    if page.exists():
        print(f"the page has {page.stat().st_size / 2**20:.2f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    maker = commands.add_parser("make")
    maker.add_argument("folder", type=Path)
    maker.add_argument("--incidents", type=int, default=1_000_000)
    maker.add_argument("--seed", type=int, default=1)
    maker.add_argument("--days", type=int, default=60)
    maker.add_argument("--hosts", type=int, default=400)
    commands.add_parser("measure").add_argument("folder", type=Path)
    args = parser.parse_args()
    if args.command == "make":
        make(args.folder, args.incidents, args.seed, args.days, args.hosts)
    else:
        measure(args.folder)


if __name__ == "__main__":
    main()
