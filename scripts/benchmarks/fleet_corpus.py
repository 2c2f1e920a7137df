"""The logs of many jobs, with truth.

    fleet_corpus.py make DIR [--count 20000] [--bytes 20GiB] [--seed 1]
    fleet_corpus.py check DIR [--scanned FAILURES] [--sample N]   what this process, or a scan, finds of it
    fleet_corpus.py same FAILURES FAILURES...                     whether scans wrote the same tables

Of the logs 97 % end well, 0.5 % are broken. A failure is that of a sample in `sample_traces/oom_log`, as it
is or as loggers and shippers change it, on one rank or several; around it stand lines of progress that are
made here. Logs are plain, rotated, compressed, or members of archives; some are long, and of a large corpus
a twentieth are logs of 320 MiB. `DIR/truth.jsonl` has a line for each: its source, status, sample, where in
the text (after decompression) the failure's own lines begin and end, and how many failures the sample,
unchanged and alone, is read as.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import io
import json
import lzma
import random
import sys
import tarfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import zstandard

from tfmemlens.fleet import reading, rows, sources
from tfmemlens.fleet.store import Store
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
    ".zst": lambda raw: zstandard.ZstdCompressor(level=1).compress(raw),
}
ARCHIVES = (".tar", ".tar.gz", ".tar.zst", ".zip")
ARCHIVED = 0.1
"""The share of jobs whose logs are in an archive."""
ROTATED = 0.1
"""The share of logs of which the first half is a file of its own."""
LONG = 0.002
"""The share of logs of which each has many megabytes."""
HUGE, HUGE_SHARE = 320 << 20, 0.05
"""Bytes of a log that is read in ranges, and the share of a corpus that such logs are."""


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


class Found(NamedTuple):
    """What reading a log gave: its status, and where its incidents begin."""

    status: str
    offsets: list[int]


def make(folder: Path, count: int, size: int, seed: int, failing_share: float = FAILING) -> list[Truth]:
    """Write so many logs of so many bytes in all (before they are compressed), and `truth.jsonl`."""
    chance = random.Random(seed)
    truths: list[Truth] = []
    huge = int(size * HUGE_SHARE) // HUGE
    mean = max((size - huge * HUGE) // count, 4096)
    while len(truths) < count:
        job = folder / "jobs" / chance.choice(TEAMS) / f"job-{len(truths):06d}"
        job.mkdir(parents=True)
        ranks = min(chance.choice((1, 1, 1, 2, 4, 8)), count - len(truths))
        fails = chance.random() < failing_share
        sample = chance.choice(failing()) if fails else None
        mangler = chance.choice(SHIPPED) if chance.random() < 0.5 or fails else "as it was"
        long = chance.random() < LONG
        files: list[tuple[Truth, bytes]] = []
        for rank in range(ranks):
            broken = not fails and chance.random() < BROKEN / (1 - failing_share)
            bytes_wanted = 20 * mean if long else round(mean * chance.uniform(0.2, 1.7))
            files += _broken(rank, chance) if broken else _log(rank, sample, mangler, bytes_wanted, chance)
        truths += _written(job, files, chance)
    for number in range(huge):
        job = folder / "jobs" / "huge" / f"job-{number:06d}"
        job.mkdir(parents=True)
        sample = None if number % 2 else chance.choice(failing())
        ((truth, raw),) = _text(sample, "as it was", HUGE, chance)
        truths += _written(job, [(replace(truth, source="rank-0.log"), raw)], None)
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
    rank: int, sample: Path | None, mangler: str, size: int, chance: random.Random
) -> Iterator[tuple[Truth, bytes]]:
    """The files of one rank, by their names in the folder of the job: a rotated log has two."""
    name = chance.choice((f"rank-{rank}.log", f"train-{rank}.log", f"worker_{rank}.txt"))
    parts = _text(sample, mangler, size, chance, rotated=chance.random() < ROTATED)
    for number, (truth, text) in enumerate(reversed(parts)):
        raw = text.decode("utf-8", "replace").encode("utf-16") if mangler == "utf-16" else text
        suffix = chance.choice(("", "", "", *PACKERS))
        rotated = f".{number}" if number else ""
        yield (
            replace(truth, source=f"{name}{rotated}{suffix}"),
            PACKERS[suffix](raw) if suffix else raw,
        )


def _text(
    sample: Path | None, mangler: str, size: int, chance: random.Random, rotated: bool = False
) -> list[tuple[Truth, bytes]]:
    """What a rank logs: the text of each of its files, the oldest first. The failure is in the last."""
    before = beginning(chance.choice(failing()), mangler) if chance.random() < 0.5 else b""
    quiet = progress(size, mangler, chance)
    parts: list[tuple[Truth, bytes]] = []
    if rotated:
        half = quiet.find(b"\n", len(quiet) // 2) + 1
        parts.append((Truth("", "no failure", None, mangler), before + quiet[:half]))
        before, quiet = b"", quiet[half:]
    text = before + quiet
    if not sample:
        return [*parts, (Truth("", "no failure", None, mangler), text)]
    changed, incidents = _alone(sample, mangler)
    after = chance.choice((0, 0, 0, 2000, 200_000))
    truth = Truth("", "read", sample.stem, mangler, len(text), len(text) + len(changed), incidents)
    return [*parts, (truth, text + changed + progress(after, mangler, chance))]


def _broken(rank: int, chance: random.Random) -> Iterator[tuple[Truth, bytes]]:
    """A file that is cut, or bytes that are nobody's."""
    text = progress(60_000, "as it was", chance)
    suffix = chance.choice(("", ".gz", ".zst", ".zip"))
    packed = _archive(".zip", {"a.log": text}) if suffix == ".zip" else PACKERS.get(suffix, bytes)(text)
    raw = packed[: len(packed) // 2] if suffix else chance.randbytes(20_000)
    yield Truth(f"rank-{rank}.log{suffix}", "broken"), raw


def _written(job: Path, files: list[tuple[Truth, bytes]], chance: random.Random | None) -> Iterator[Truth]:
    """Write the files of a job, one by one or into an archive (never where one is itself a broken one)."""
    if chance and chance.random() < ARCHIVED and all(truth.status != "broken" for truth, _ in files):
        place = job / f"logs{chance.choice(ARCHIVES)}"
        place.write_bytes(
            _archive(place.name.removeprefix("logs"), {each.source: raw for each, raw in files})
        )
        yield from (replace(each, source=f"{place}!/{each.source}") for each, _ in files)
        return
    for truth, raw in files:
        place = job / truth.source
        place.write_bytes(raw)
        yield replace(truth, source=str(place))


def _archive(suffix: str, members: dict[str, bytes]) -> bytes:
    """The bytes of an archive."""
    content = io.BytesIO()
    if suffix == ".zip":
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
            for name, raw in members.items():
                packed.writestr(name, raw)
        return content.getvalue()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, raw in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(raw)
            tar.addfile(member, io.BytesIO(raw))
    compressed = suffix.removeprefix(".tar")
    return PACKERS[compressed](content.getvalue()) if compressed else content.getvalue()


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


def check(folder: Path, sample: int | None, scanned: str | None = None) -> Counter[str]:
    """Compare what a scan found, or what is read now, with the truth; prints each that is not as it."""
    lines = (folder / "truth.jsonl").read_text(encoding="utf-8").splitlines()
    truths = [Truth(**json.loads(line)) for line in lines][:sample]
    counts: Counter[str] = Counter()
    began = time.process_time()
    found = of_scan(scanned) if scanned else read({truth.source.partition("!/")[0] for truth in truths})
    for truth in truths:
        counts["logs"] += 1
        counts["incidents"] += truth.incidents
        for problem, figure in compare(truth, found.get(truth.source, Found("absent", []))):
            counts[problem] += figure
            print(f"{problem} ({figure}): {truth}")
    counts["milliseconds"] = round(1000 * (time.process_time() - began))
    return counts


def read(places: Iterable[str]) -> dict[str, Found]:
    """What is in some files, by source, as a task of a scan reads it."""
    found: dict[str, Found] = {}
    for listed in sources.find(sorted(places), {}).inputs:
        for message in reading.read(reading.Reading(listed, reading.ScanSettings("check"))):
            if isinstance(message, reading.Done):
                offsets = [row["offset"] for row in message.incidents]
                found[message.row["source"]] = Found(message.row["status"], offsets)
    return found


def of_scan(folder: str) -> dict[str, Found]:
    """What the tables of a scan say, by source."""
    store = Store(folder)
    found = {
        row["source"]: Found(row["status"], [])
        for row in store.table("inputs", ["source", "status"]).to_pylist()
    }
    for row in store.table("incidents", ["source", "offset"]).to_pylist():
        found[row["source"]].offsets.append(row["offset"])
    return found


def compare(truth: Truth, result: Found) -> Iterator[tuple[str, int]]:
    """How what was found of a log differs from its truth: what is wrong, and how many times."""
    if truth.status == "broken":
        if result.status != "unreadable" or result.offsets:
            yield "broken, but read", 1
        return
    inside = [offset for offset in result.offsets if truth.start <= offset < truth.end]
    if missed := truth.incidents - len(inside):
        yield ("missed" if missed > 0 else "double"), abs(missed)
    if outside := len(result.offsets) - len(inside):
        yield "where none is", outside
    if result.status != truth.status:
        yield f"status {result.status}", 1


def differences(one: str, other: str) -> int:
    """In how many rows the tables of two scans differ, but for when and by whom they were written."""
    counts = 0
    for table in ("inputs", "incidents"):
        rows_of = [Counter(_lines(folder, table)) for folder in (one, other)]
        counts += sum(((rows_of[0] - rows_of[1]) + (rows_of[1] - rows_of[0])).values())
    return counts


def _lines(folder: str, table: str) -> Iterator[str]:
    for batch in Store(folder).table(table).drop_columns(["scan"]).to_batches(1000):
        for row in batch.to_pylist():
            row.pop("seconds", None)
            yield repr(row)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("action", choices=("make", "check", "same"))
    parser.add_argument("folder", nargs="+")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--bytes", type=parse_limit, default=20 << 30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", type=int, help="check so many only")
    parser.add_argument("--scanned", metavar="FAILURES", help="check what a scan wrote")
    args = parser.parse_args()
    if args.action == "same":
        found = [differences(args.folder[0], other) for other in args.folder[1:]]
        print("rows that differ from the first:", *found)
        return int(any(found))
    folder = Path(args.folder[0])
    if args.action == "make":
        truths = make(folder, args.count, args.bytes, args.seed)
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        print(f"{len(truths)} logs, {human(size)} on disk:", dict(Counter(truth.status for truth in truths)))
        return 0
    counts = check(folder, args.sample, args.scanned)
    print(dict(counts))
    return int(bool(set(counts) - {"logs", "incidents", "milliseconds"}))


if __name__ == "__main__":
    sys.exit(main())
