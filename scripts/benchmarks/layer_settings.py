"""Nets of one layer each, predicted and run: which settings of layers are not followed?

    layer_settings.py --measure [--python VERSION=PATH] [NAME ...]  # saves the nets, and measures each once
    layer_settings.py [NAME ...]                                    # today's predictions, against these

The nets stand in layer_settings_run.py; layer_settings_results.json keeps the truth, the cache the nets.
Errors are of what a step takes beside what stands before it: whether the allocator holds the arrays given to
`fit` differs from process to process, and would drown a small net. Those beyond a fifth are listed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import predictions

RESULTS = predictions.HERE / "layer_settings_results.json"
NETS = Path.home() / ".cache/tfmemlens/layer_settings"
VERSIONS = ("2.11", "2.21")
TOLD = 0.2
"""Errors beyond it are listed."""


def made(python: str, version: str, names: list[str]) -> None:
    """Save the nets of one TensorFlow."""
    _run(python, "make", str(NETS / version), version, names)


def measured(python: str, version: str, names: list[str]) -> dict[str, dict[str, Any]]:
    """Peaks and what stood before, in bytes, by net."""
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "measured.jsonl"
        _run(python, "measure", str(lines), version, names)
        found = (json.loads(line) for line in lines.read_text().splitlines())
        return {each["key"]: {"peaks": each["peaks"], "before": each["before"]} for each in found}


def _run(python: str, what: str, where: str, version: str, names: list[str]) -> None:
    script = str(predictions.HERE / "layer_settings_run.py")
    subprocess.run(
        ["nice", "-n", "19", python, script, what, where, version, *names],
        stderr=subprocess.DEVNULL,
        check=False,
    )


def _written(results: dict[str, Any]) -> str:
    """JSON with a net a line."""
    parts = []
    for version, truths in results.items():
        rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(truth)}" for name, truth in truths.items())
        parts.append(f"{json.dumps(version)}: {{\n{rows}\n}}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def error(version: str, name: str, batch: int, truth: dict[str, Any]) -> float | None:
    """The share of the peak by which the step itself is off; None where the net is refused."""
    file = NETS / version / (name + (".keras" if version == "2.21" else ".h5"))
    case = {"file": file.name, "version": version, "batch": batch, "threads": 1, "onednn": False}
    said = predictions.predicted(case, file.parent, "")
    if "bytes" not in said:
        return None
    peak = float(statistics.median(truth["peaks"]))
    step, before = float(said["bytes"] - said["baseline_bytes"]), float(truth["before"])
    return (step - (peak - before)) / peak


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*")
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--python", action="append", default=[], metavar="VERSION=PATH")
    told = parser.parse_args()
    pythons = {version: str(predictions.ENVIRONMENTS / f"tf{version}/bin/python") for version in VERSIONS}
    pythons |= dict(each.split("=", 1) for each in told.python)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if told.measure:
        for version in VERSIONS:
            made(pythons[version], version, told.names)
            results.setdefault(version, {}).update(measured(pythons[version], version, told.names))
            RESULTS.write_text(_written(results))
        return
    batches = json.loads(
        subprocess.run(
            [pythons["2.21"], str(predictions.HERE / "layer_settings_run.py")],
            capture_output=True, text=True, check=True,
        ).stdout
    )  # fmt: skip
    for version, truths in results.items():
        errors = {
            name: error(version, name, batches[name], truth)
            for name, truth in truths.items()
            if not told.names or name in told.names
        }
        known = {name: each for name, each in errors.items() if each is not None}
        print(f"TensorFlow {version}: {len(known)} nets of {len(errors)}, median error", end=" ")
        print(f"{statistics.median(map(abs, known.values())):.1%}")
        for name, each in sorted(known.items(), key=lambda pair: -abs(pair[1])):
            if abs(each) > TOLD or told.names:
                print(f"  {each:+.0%}  {name}")


if __name__ == "__main__":
    main()
