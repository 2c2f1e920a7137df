"""The logs of many jobs, with truth: fleet_corpus.py make DIR [--count 20000] [--bytes 20GiB] [--seed 1], and
fleet_corpus.py check DIR [--sample N] for what is found of it.

Of the logs 97 % end well, 0.5 % are broken. A failure is that of a sample in `sample_traces/oom_log`, as it
is or as loggers and shippers change it, on one rank or several; around it stand lines of progress that are
made here. Logs are plain, rotated, or compressed; some are long. `DIR/truth.jsonl` has a line for each: its
source, status, sample, where in the text (after decompression) the failure's own lines begin and end, and
how many failures the sample, unchanged and alone, is read as.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import json
import lzma
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tfmemlens.fleet import flow, rows
from tfmemlens.units import human, parse_limit

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.mangling import MANGLERS  # noqa: E402 - the manglers of the tests, which are no package

SAMPLES = sorted((ROOT / "sample_traces" / "oom_log").glob("*.txt"))
FAILING, BROKEN = 0.025, 0.005
"""Shares of all jobs and of all logs."""
TEAMS = ("vision", "speech", "ranking", "maps")
SHIPPED = (
    *("as it was", "as it was", "as it was", "crlf", "mpirun", "kubernetes", "github actions"),
    *("docker compose", "srun -l", "python logging", "airflow", "colours", "utf-16", "wrapped at 222"),
)
"""What happens to logs of a cluster, as `tests/mangling.py` does it."""
_OF_ALL = ("utf-16", "wrapped at 222")
"""Of these a log is changed as a whole, or where it fails."""
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda raw: gzip.compress(raw, 1),
    ".bz2": lambda raw: bz2.compress(raw, 1),
    ".xz": lambda raw: lzma.compress(raw, preset=0),
}
LONG = 0.002
"""The share of logs of which each has many megabytes."""


@dataclass(frozen=True)
class Truth:
    """What is known of a log."""

    source: str
    status: str
    """`read`, `no failure` or `broken`."""
    sample: str | None = None
    mangler: str | None = None
    start: int = 0
    end: int = 0
    """Where the failing sample stands in the text: bytes."""
    incidents: int = 0


def make(folder: Path, count: int, size: int, seed: int, failing_share: float = FAILING) -> list[Truth]:
    """Write so many logs of so many bytes in all, and `truth.jsonl`."""
    chance = random.Random(seed)
    truths: list[Truth] = []
    mean = max(size // count, 4096)
    while len(truths) < count:
        job = folder / "jobs" / chance.choice(TEAMS) / f"job-{len(truths):06d}"
        job.mkdir(parents=True)
        ranks = min(chance.choice((1, 1, 1, 2, 4, 8)), count - len(truths))
        fails = chance.random() < failing_share
        sample = chance.choice(failing()) if fails else None
        mangler = chance.choice(SHIPPED) if chance.random() < 0.5 or fails else "as it was"
        long = chance.random() < LONG
        for rank in range(ranks):
            broken = not fails and chance.random() < BROKEN / (1 - failing_share)
            bytes_wanted = 20 * mean if long else round(mean * chance.uniform(0.2, 1.7))
            truths.append(_log(job, rank, sample, mangler, bytes_wanted, broken, chance))
    lines = (json.dumps(asdict(truth)) + "\n" for truth in truths)
    (folder / "truth.jsonl").write_text("".join(lines), encoding="utf-8")
    return truths


@cache
def failing() -> list[Path]:
    """The samples that tell of a failure."""
    return [sample for sample in SAMPLES if rows.incidents(sample)]


@cache
def _alone(sample: Path, mangler: str) -> tuple[bytes, int]:
    """The bytes of a changed sample, as UTF-8, and how many failures the sample tells of."""
    lines = sample.read_text(encoding="utf-8").split("\n")
    changed = MANGLERS["as it was" if mangler == "utf-16" else mangler](lines)
    return changed + b"\n", len(rows.incidents(sample))


@cache
def beginning(sample: Path, mangler: str) -> bytes:
    """What the program of a sample logged before it failed."""
    raw = sample.read_bytes()
    before = raw[: rows.incidents(raw)[0]["offset"]]
    if rows.incidents(before):
        return b""
    lines = before.decode("utf-8", "replace").rstrip("\n").split("\n")
    return MANGLERS["as it was" if mangler in _OF_ALL else mangler](lines) + b"\n"


def _log(
    job: Path, rank: int, sample: Path | None, mangler: str, size: int, broken: bool, chance: random.Random
) -> Truth:
    place = job / chance.choice((f"rank-{rank}.log", f"train-{rank}.log.1", f"worker_{rank}.txt"))
    if broken:
        return _broken(place, chance)
    start, end, incidents = 0, 0, 0
    text = beginning(chance.choice(failing()), mangler) if chance.random() < 0.5 else b""
    text += progress(size, mangler, chance)
    if sample:
        changed, incidents = _alone(sample, mangler)
        start, end = len(text), len(text) + len(changed)
        after = chance.choice((0, 0, 0, 2000, 200_000))
        text += changed + progress(after, mangler, chance)
    raw = text.decode("utf-8", "replace").encode("utf-16") if mangler == "utf-16" else text
    suffix = chance.choice(("", "", "", *PACKERS))
    place = place.with_name(place.name + suffix)
    place.write_bytes(PACKERS[suffix](raw) if suffix else raw)
    status = "read" if sample else "no failure"
    return Truth(str(place), status, sample.stem if sample else None, mangler, start, end, incidents)


def _broken(place: Path, chance: random.Random) -> Truth:
    """A cut archive, or bytes that are nobody's."""
    packed = gzip.compress(progress(60_000, "as it was", chance))
    raw = chance.choice((packed[: len(packed) // 2], chance.randbytes(20_000)))
    place = place.with_name(place.name + (".gz" if raw[:2] == b"\x1f\x8b" else ""))
    place.write_bytes(raw)
    return Truth(str(place), "broken")


def progress(size: int, mangler: str, chance: random.Random) -> bytes:
    """Lines of a training that goes well; in big logs they are repeated."""
    if not size:
        return b""
    lines, length, step = [], 0, 0
    while length < min(size, 1 << 18):
        step += 1
        clock = f"{step // 3600 % 24:02d}:{step // 60 % 60:02d}:{step % 60:02d}.{step % 1000:03d}000"
        line = f"2024-05-01 {clock}: I "
        line += chance.choice(
            (
                f"train.cc:31] epoch {step // 100} step {step} loss 0.{chance.randrange(10**6):06d}",
                f"train.cc:47] saved checkpoint to /ckpt/model-{step}",
                f"input.cc:12] {chance.randrange(900)} examples/sec, queue {chance.randrange(64)} of 64",
                f"eval.cc:80] accuracy 0.{chance.randrange(10**4):04d} exit criterion not met",
            )
        )
        lines.append(line)
        length += len(line) + 1
    changed = MANGLERS["as it was" if mangler in _OF_ALL else mangler](lines) + b"\n"
    return changed * max(round(size / len(changed)), 1)


def check(folder: Path, sample: int | None) -> Counter[str]:
    """Read the logs and compare; prints each that is not as its truth."""
    lines = (folder / "truth.jsonl").read_text(encoding="utf-8").splitlines()
    truths = [Truth(**json.loads(line)) for line in lines]
    counts: Counter[str] = Counter()
    began = time.process_time()
    for truth in truths[:sample]:
        counts["logs"] += 1
        counts["incidents"] += truth.incidents
        for problem, figure in compare(truth, read(Path(truth.source))):
            counts[problem] += figure
            print(f"{problem} ({figure}): {truth}")
    counts["milliseconds"] = round(1000 * (time.process_time() - began))
    return counts


def read(place: Path) -> flow.ReadResult:
    """One log, as a scan reads it."""
    openers: dict[str, Any] = {".bz2": bz2.open, ".xz": lzma.open}
    with openers.get(place.suffix, open)(place, "rb") as stream:
        return rows.read_bytes(stream, source=str(place), year=2026)


def compare(truth: Truth, result: flow.ReadResult) -> Iterator[tuple[str, int]]:
    """How a log's rows differ from its truth: what is wrong, and how many times."""
    if truth.status == "broken":
        if result.status != "unreadable" or result.rows:
            yield "broken, but read", 1
        return
    inside = [row for row in result.rows if truth.start <= row["offset"] < truth.end]
    if missed := truth.incidents - len(inside):
        yield ("missed" if missed > 0 else "double"), abs(missed)
    if outside := len(result.rows) - len(inside):
        yield "where none is", outside
    if result.status != truth.status:
        yield f"status {result.status}", 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("action", choices=("make", "check"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--bytes", type=parse_limit, default=20 << 30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", type=int, help="check so many only")
    args = parser.parse_args()
    if args.action == "make":
        truths = make(args.folder, args.count, args.bytes, args.seed)
        size = sum(Path(truth.source).stat().st_size for truth in truths)
        print(f"{len(truths)} logs, {human(size)} on disk:", dict(Counter(truth.status for truth in truths)))
        return 0
    counts = check(args.folder, args.sample)
    print(dict(counts))
    return int(bool(set(counts) - {"logs", "incidents", "milliseconds"}))


if __name__ == "__main__":
    sys.exit(main())
