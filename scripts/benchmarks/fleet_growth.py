"""How the time of a scan grows with files, bytes and incidents: python scripts/benchmarks/fleet_growth.py
[--picture docs/fleet-growth.png]

One process reads logs of 50 KiB without a failure, more and more of them; one longer and longer log without
a failure; and more and more logs with one. Time is the processor's, the best of the runs, which go through
all sizes in turn. Printed is the time of each size over that of the smallest, beside the ratio of the sizes:
equal where time grows as they do.
"""

from __future__ import annotations

import argparse
import io
import itertools
import sys
import time
from collections.abc import Callable
from pathlib import Path

import fleet_speed

from tfmemlens.fleet import rows

STEPS = (1, 2, 4, 8)
FILES, MEBIBYTES, FAILURES = 50, 64, 6
"""What the smallest of each is."""


def reading(logs: list[bytes]) -> Callable[[], object]:
    """Reads these logs, one after the other."""
    return lambda: [rows.read_bytes(io.BytesIO(raw), source="a.log") for raw in logs]


def measured(runs: int) -> dict[str, tuple[list[int], list[float]]]:
    """By what grows its sizes, and the seconds that they took."""
    quiet, failing = fleet_speed.small_logs(False), fleet_speed.small_logs(True)
    block = b"".join(quiet)
    found = {}
    for name, smallest, made in (
        ("logs of 50 KiB", FILES, lambda count: list(itertools.islice(itertools.cycle(quiet), count))),
        (
            "MiB of one log",
            MEBIBYTES,
            lambda count: [(block * ((count << 20) // len(block) + 1))[: count << 20]],
        ),
        (
            "failures",
            FAILURES,
            lambda count: list(itertools.islice(itertools.cycle(failing[:FAILURES]), count)),
        ),
    ):
        sizes = [smallest * step for step in STEPS]
        found[name] = (sizes, fleet_speed.best([reading(made(size)) for size in sizes], runs))
    return found


def draw(found: dict[str, tuple[list[int], list[float]]], place: Path) -> None:
    """Seconds over size, each with the line from nothing through its largest."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["font.size"] = 9
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(found), figsize=(9, 2.8), layout="constrained")
    for panel, (name, (sizes, seconds)) in zip(panels, found.items(), strict=True):
        panel.plot([0, sizes[-1]], [0, seconds[-1]], color="#999999", linewidth=1)
        panel.plot(sizes, seconds, "o", color="#1f5fa8")
        panel.set(xlabel=name, xlim=(0, None), ylim=(0, None))
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("seconds of one core")
    figure.savefig(place, dpi=100, metadata={"Software": None})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--picture", type=Path)
    args = parser.parse_args()
    found = measured(args.runs)
    for name, (sizes, seconds) in found.items():
        ratios = ", ".join(f"{took / seconds[0]:.2f}" for took in seconds)
        print(f"{name}: {sizes} took {seconds[-1]:.2f} s at most; ratios {ratios} for {STEPS}")
    print(time.strftime("%F"))
    if args.picture:
        draw(found, args.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
