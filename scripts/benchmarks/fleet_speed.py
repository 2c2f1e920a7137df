"""How fast one process reads logs, as a scan of a fleet does: python scripts/benchmarks/fleet_speed.py
[--runs 5] [--gib 1]

Logs of 50 KiB a second of one core, without a failure (what programs of `sample_traces` logged before theirs,
then lines of progress) and with one; a long log with a failure in the middle beside `grep -c` on the same
bytes; the most memory that took. Time is the processor's, the best of the runs; both sides of a ratio are
measured in turn.

The grep to compare with looks for the two words that a long log is searched for (`-F`, in the C locale,
where it is fastest), and so answers less: not in which line, nor what happened. One that looks for one word
stands beside it. Both write to a pipe: to /dev/null they would stop at the first match. What a log is made of
matters to each of them, so there are three: lines of progress, lines of numbers in few words, and lines of
many kinds in which every letter stands.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import explain_speed
import fleet_corpus

from tfmemlens.fleet import ranges, rows
from tfmemlens.readers.bytes import regions

SIZE = 50 << 10


def seconds(call: Callable[[], object]) -> float:
    """Of the processor, children included."""
    began = os.times()
    call()
    ended = os.times()
    return sum(ended[:4]) - sum(began[:4])


def best(calls: list[Callable[[], object]], runs: int) -> list[float]:
    """The best time of each, measured in turn."""
    found = [[seconds(call) for call in calls] for _ in range(runs)]
    return [min(times) for times in zip(*found, strict=True)]


def small_logs(failing: bool) -> list[bytes]:
    """Logs of 50 KiB."""
    chance = random.Random(2)
    logs = []
    for sample in fleet_corpus.failing():
        whole = sample.read_bytes()
        start = fleet_corpus.beginning(sample, "as it was")
        story = whole[len(start) :] if failing else b""
        if len(start) + len(story) < SIZE:
            filler = fleet_corpus.progress(SIZE, "as it was", chance)[: SIZE - len(start) - len(story)]
            logs.append(start + filler[: filler.rfind(b"\n") + 1] + story)
    return logs


def read_all(logs: list[bytes]) -> None:
    for raw in logs:
        rows.read_bytes(io.BytesIO(raw), source="a.log")


FILLERS: dict[str, Callable[[], bytes]] = {
    "progress": lambda: fleet_corpus.progress(1 << 20, "as it was", random.Random(3)),
    "few words": lambda: explain_speed.few_words(100_000),
    "all letters": lambda: explain_speed.all_letters(100_000),
}


def long_log(place: Path, size: int, block: bytes) -> None:
    """A log with one failure in its middle."""
    with place.open("wb") as file:
        for half in (0, 1):
            if half:
                file.write((fleet_corpus.ROOT / "sample_traces/oom_log/1.15-unet-layout.txt").read_bytes())
            while file.tell() < size * (half + 1) // 2:
                file.write(block)


def read_long(place: Path) -> None:
    with place.open("rb", buffering=0) as stream:
        parts = ranges.ranges(place.stat().st_size)
        result = ranges.joined([ranges.read_range(stream, part, source="a.log") for part in parts])
    assert len(result.rows) == 1, result.rows


def count_with_grep(place: Path, literals: Sequence[bytes]) -> None:
    words = [word for literal in literals for word in ("-e", literal.decode())]
    command = ["grep", "-c", "-F", *words, str(place)]
    subprocess.run(command, check=True, stdout=subprocess.PIPE, env={**os.environ, "LC_ALL": "C"})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--gib", type=float, default=1.0)
    args = parser.parse_args()
    for name, failing in (("without a failure", False), ("with one", True)):
        logs = small_logs(failing)
        (took,) = best([lambda logs=logs: read_all(logs)], args.runs)  # type: ignore[misc]
        print(
            f"{len(logs)} logs of {sum(map(len, logs)) // len(logs)} bytes {name}: {len(logs) / took:.0f}/s"
        )
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "a.log")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for name, block in FILLERS.items():
            long_log(place, int(args.gib * (1 << 30)), block())
            sides: list[Callable[[], object]] = [
                lambda: read_long(place),
                lambda: count_with_grep(place, regions.LITERALS),
                lambda: count_with_grep(place, regions.LITERALS[:1]),
            ]
            ours, grep, one = best(sides, args.runs)
            print(
                f"a log of {args.gib:g} GiB, {name}: {ours:.2f} s, grep -c -F of both words {grep:.2f} s:"
                f" {grep / ours:.2f}x grep (of one {one:.2f} s: {one / ours:.2f}x)",
                flush=True,
            )
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"memory: {most >> 10} MiB at most ({before >> 10} MiB before the long log)", time.strftime("%F"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
