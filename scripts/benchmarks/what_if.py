"""What a change was promised to save against what it saved: what_if.py [--folder DIR] [--python ENV=PATH
...].

Each net of what_if_run.py is trained for a few steps as it is and with each change applied, on a BFC
allocator for the CPU with one thread for ops; the promise is read off the unchanged net's trace, once as a
replayed step and once as if only the list at the peak were known. Without --python nothing is run: the peaks
come from what_if_results.json, the traces from --folder.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from tfmemlens import pipeline
from tfmemlens.attribution.moments.held import held
from tfmemlens.model.capture import Hints
from tfmemlens.model.what_if import SavingBasis
from tfmemlens.units import human
from tfmemlens.what_if import changes, summed
from tfmemlens.what_if.basis import scaled

HERE = Path(__file__).parent
RESULTS = HERE / "what_if_results.json"
NETS = ("convnet", "unet", "attention")
SETTINGS = {
    "TF_CPU_ALLOCATOR_USE_BFC": "1",
    "TF_CPU_BFC_MEM_LIMIT_IN_MB": "3000",
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "TF_CPP_MIN_LOG_LEVEL": "2",
}


def measured(python: str, net: str, change: str, out: Path | None) -> int | None:
    """The allocator's peak in bytes, None when the run failed."""
    command = [python, str(HERE / "what_if_run.py"), net, change, *([str(out)] if out else [])]
    run = subprocess.run(
        command, env={**os.environ, **SETTINGS}, capture_output=True, text=True, timeout=600, check=False
    )
    lines = [line for line in run.stdout.splitlines() if line.startswith("FACTS ")]
    peak: int | None = json.loads(lines[-1].removeprefix("FACTS "))["max_in_use_bytes"] if lines else None
    return peak


def run_all(pythons: dict[str, str], folder: Path) -> dict[str, int]:
    """Every net in every environment, as it is and with each change."""
    peaks = {}
    for name, python in pythons.items():
        for net in NETS:
            for change in ("none", *changes.CHANGES):
                peak = measured(python, net, change, folder / f"{name}-{net}" if change == "none" else None)
                if peak is not None:
                    peaks[f"{name} {net} {change}"] = peak
    return peaks


def promises(trace: Path) -> dict[str, dict[str, Any]]:
    """For each change what is promised from the replayed step and from the list at its peak."""
    report = pipeline.report(pipeline.timelines(str(trace)))
    moment = report.case.moments[0]
    listed = scaled(moment, held(moment), Hints(), SavingBasis.LIST)
    return {
        change: {"replay": report.case.what_if(0, change), "list": summed.saving(listed, change)}
        for change in changes.CHANGES
    }


def main() -> None:
    """Run what is asked for, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, default=Path("what_if_traces"))
    parser.add_argument("--python", action="append", default=[], metavar="NAME=PATH")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    if args.python:
        peaks = run_all(dict(each.split("=", 1) for each in args.python), args.folder)
        RESULTS.write_text(json.dumps(peaks, indent=1) + "\n", encoding="utf-8")
    peaks = json.loads(RESULTS.read_text(encoding="utf-8"))
    inside: Counter[str] = Counter()
    known: Counter[str] = Counter()
    for name, net in dict.fromkeys(tuple(key.split()[:2]) for key in peaks):
        trace = args.folder / f"{name}-{net}.xplane.pb"
        if not trace.exists():
            print(f"{trace} is missing: run with --python {name}=…")
            continue
        for change, by_basis in promises(trace).items():
            if (peak := peaks.get(f"{name} {net} {change}")) is None:
                continue
            saved = peaks[f"{name} {net} none"] - peak
            print(f"{name} {net:10} {change:22} saved {saved / 2**20:7.1f} MiB", end="")
            for basis, promise in by_basis.items():
                if promise.known:
                    known[basis] += 1
                    held_true = promise.low_bytes <= saved <= promise.high_bytes
                    inside[basis] += held_true
                    print(
                        f"  {basis}: {human(promise.low_bytes)} to"
                        f" {human(promise.high_bytes)}{'' if held_true else ' MISSED'}",
                        end="",
                    )
            print()
    for basis, count in known.items():
        print(f"{basis}: {inside[basis]} of {count} inside what was promised")


if __name__ == "__main__":
    main()
