"""The largest batch that `tfmemlens fit` predicts for models of predictions.py, against real runs.

    predictions_fit.py --predict OUT.json --from PREDICTIONS.json --models FOLDER
    predictions_fit.py --predict OUT.json --from PREDICTIONS.json --models FOLDER --limits 300:800  # MiB
    predictions_fit.py --measure OUT.json PREDICTIONS.json --seed 7 [--processes 3]
    predictions_fit.py --edge OUT.json [--processes 3]  # the truth of those with `--limits`
    predictions_fit.py --table OUT.json  # Markdown

A limit is drawn before any truth is known: 0.7 to 2 times what is predicted for the batch. Half of the cases
are of `train_on_batch`, half of `fit` with twelve batches in its arrays (`--samples`). `--measure` takes
everything that is predicted in one random order, so that a part is a fair sample: peaks, whether three steps
run with the upper ends as the allocator's limit, and batches round the one that was told. A told batch holds
when it runs and one 5 % (or two samples) larger does not; else the truth is looked for in growing steps from
there, then between what ran and what did not.

With `--limits` the limits are drawn from a range instead, arrays are forty batches, and `fit --measure` is
asked, too: its search alone, from what was predicted before. `--edge` then looks for the largest batch that
runs in so many processes, by halves from the batch that was found, to a thirty-third or a sample.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import random
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import predictions

from tfmemlens.errors import TfmemlensError
from tfmemlens.model.settings import StepSettings
from tfmemlens.recording import tried_batches

Results = dict[str, Any]
KEPT = (
    "largest_batch",
    "sure_batch",
    "likely_low_batch",
    "likely_high_batch",
    "told_batch",
    "per_sample_bytes",
    "fixed_bytes",
)


_MOST_RUNS = 5
_WIDER = (1 / 0.95, 1.15, 1.4, 2.0)
"""How far the next batch is from the last one, until one ran and one did not."""


_MOST_TRIES = 16
_EDGE = 33
"""At the edge a batch that ran and one that did not are such a part apart."""


class Servers:
    """A process for each TensorFlow with and without oneDNN, which reads it once."""

    def __init__(self, pythons: dict[str, str], out: Path) -> None:
        self.pythons, self.out = pythons, out
        self.running: dict[tuple[str, bool], subprocess.Popen[str]] = {}

    def ask(self, work: str, case: Results, limit_mib: int | None = None) -> Results | None:
        """What a run says, None where it ended without an answer."""
        self.out.unlink(missing_ok=True)
        if case["version"] == "1.15":
            limits = None if limit_mib is None else {case["key"]: limit_mib}
            predictions.child(self.pythons["1.15"], "measure", self.out, [case], limits)
        else:
            running = self._of(case)
            assert running.stdin and running.stdout
            running.stdin.write(json.dumps({"work": work, "case": case, "limit_mib": limit_mib}) + "\n")
            running.stdin.flush()
            for line in running.stdout:
                if line == "done\n":
                    break
                print("   ", line.rstrip()[:300], flush=True)
        found: Results | None = json.loads(self.out.read_text()) if self.out.exists() else None
        return found

    def _of(self, case: Results) -> subprocess.Popen[str]:
        name = (case["version"], case["onednn"])
        if name not in self.running or self.running[name].poll() is not None:
            script = predictions.HERE / "predictions_run.py"
            self.running[name] = subprocess.Popen(
                [
                    "nice",
                    "-n",
                    str(max(5 - os.nice(0), 0)),
                    self.pythons[case["version"]],
                    str(script),
                    "serve",
                    str(self.out),
                    "-",
                ],
                env={**os.environ, "TF_ENABLE_ONEDNN_OPTS": str(int(case["onednn"]))},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        return self.running[name]


def chosen(seen: Results, only: str, seed: int, count: int) -> list[tuple[Results, int, bool]]:
    """Cases with a saved file, limits in MiB, and whether the arrays of `fit` are counted."""
    draw = random.Random(seed)
    rows = [
        case
        for case in predictions.cases(only)
        if case["version"] != "1.15" and not case.get("jit") and not case.get("live")  # `fit` takes files
    ]
    draw.shuffle(rows)
    found = []
    for place, case in enumerate(rows[:count]):
        share = draw.uniform(0.7, 2.0)
        said = seen["cases"].get(case["key"], {}).get("predicted", {})
        if said:
            limit = round(share * said.get("bytes", 96 << 20) / predictions.MIB)
            found.append((case, limit, place % 2 == 1))
    return found


def tried(
    case: Results, limit: int, samples: int | None, folder: Path, python: str, said: Results
) -> Results:
    """What `fit --measure` finds from there on."""
    settings = StepSettings(
        limit_bytes=limit << 20,
        workers=case["threads"],
        threads=case["threads"],
        onednn=case["onednn"],
        samples=samples,
    )
    likely = (said.get("likely_low_batch") or 0, said.get("likely_high_batch") or 0)
    start = said.get("largest_batch") or case["batch"]
    try:
        found = tried_batches.record(str(folder / case["file"]), settings, start, python, 300, likely)
    except TfmemlensError as refused:
        return {"refused": str(refused)}
    return {
        "largest_batch": found.largest,
        "use_batch": 9 * found.largest // 10,
        "found": found.found,
        "tries": [[each.batch, each.ran] for each in found.tried],
    }


def told(case: Results, limit: int, samples: int | None, folder: Path) -> Results:
    """What `tfmemlens fit --json` says, or its refusal."""
    command = [sys.executable, "-m", "tfmemlens", "fit"]
    command += [str(folder / case["file"]), "--batch", str(case["batch"]), "--limit", f"{limit}MiB"]
    command += ["--threads", str(case["threads"]), "--onednn" if case["onednn"] else "--no-onednn"]
    command += ["--samples", str(samples)] if samples else []
    run = subprocess.run(
        [*command, "--json"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "PYTHONPATH": str(predictions.HERE.parents[1])},
    )
    if run.returncode:
        return {"refused": run.stderr.strip().replace(f"{folder}/", "")}
    fit = json.loads(run.stdout)["fit"]
    return {name: fit.get(name) for name in KEPT} if fit else {"refused": "no answer"}


def predict(out: Path, seen: Results, only: str, folder: Path, seed: int, count: int) -> None:
    """Asks `fit` for each case, and keeps what it answered."""
    results = json.loads(out.read_text()) if out.exists() else {"commit": seen["commit"], "cases": {}}
    for case, limit, arrays in chosen(seen, only, seed, count):
        samples = 12 * case["batch"] if arrays else None
        name = f"{case['key']}|{limit}|{samples or 'alone'}"
        if name not in results["cases"]:
            said = told(case, limit, samples, folder)
            results["cases"][name] = {"limit_mib": limit, "samples": samples, "told": said, "runs": {}}
            predictions._write(out, results)
            print(name, said, flush=True)


def limited(seed: int, only: str, low: int, high: int) -> list[tuple[Results, int, bool]]:
    """Cases of a set in a random order, limits in MiB, and whether arrays of `fit` are counted."""
    draw = random.Random(seed)
    rows = [case for case in predictions.cases(only) if case["version"] != "1.15" and not case.get("live")]
    draw.shuffle(rows)
    return [(case, draw.randint(low, high), place % 2 == 1) for place, case in enumerate(rows)]


def predict_and_measure(out: Path, args: argparse.Namespace, pythons: dict[str, str]) -> None:
    """Asks `fit` and `fit --measure` for each case of a set under a limit drawn from a range."""
    low, high = map(int, args.limits.split(":"))
    if not out.exists():
        predictions._write(out, {"commit": predictions._commit(), "cases": {}})
    for case, limit, arrays in limited(args.seed, args.set, low, high)[args.start :: args.every]:
        name = f"{case['key']}|{limit}|{'arrays' if arrays else 'alone'}"
        if name in json.loads(out.read_text())["cases"] or predictions._late(args.until):
            continue
        samples = 40 * case["batch"] if arrays else None
        said = told(case, limit, samples, args.models)
        begun = time.monotonic()
        measured = tried(case, limit, samples, args.models, pythons[case["version"]], said)
        measured["seconds"] = round(time.monotonic() - begun)
        known: Results = {
            "limit_mib": limit,
            "samples": samples,
            "told": said,
            "measured": measured,
            "tries": [],
        }
        _merge(out, name, known)
        print(f"{time.strftime('%H:%M:%S')} {name} {said} {measured}", flush=True)


def next_try(known: Results, times: int) -> int | None:
    """The batch to try next for the edge: the one found, then growing steps until one ran and one did not,
    then halves between them; the largest so often; None when it is found.
    """
    counts: dict[int, list[bool]] = {}
    for batch, ran in known["tries"]:
        counts.setdefault(batch, []).append(ran)
    low, high, _ = edge(known)
    told_batch = known["measured"].get("largest_batch") or known["told"].get("largest_batch") or 16
    if len(known["tries"]) >= _MOST_TRIES:
        return None
    if not counts:
        return told_batch
    if known["samples"] and low >= known["samples"]:
        return low if len(counts[low]) < times else None
    if high is None:
        return max(int(low * _WIDER[min(len(counts) - 1, 3)]), low + 1)
    if not low:
        return max(int(high / _WIDER[min(len(counts) - 1, 3)]), 0) if high > 1 else None
    if high - low > max(1, low // _EDGE):
        return (low + high) // 2
    return low if len(counts[low]) < times else None


def edge(known: Results) -> tuple[int, int | None, int]:
    """The largest batch that ran each time below all that did not, the smallest that did not each time, and
    the largest that ran at all.
    """
    failed = [batch for batch, ran in known["tries"] if not ran]
    high = min(failed, default=None)
    ran = [batch for batch, done in known["tries"] if done]
    return max([0, *(each for each in ran if high is None or each < high)]), high, max([0, *ran])


def measure_edge(out: Path, args: argparse.Namespace, pythons: dict[str, str]) -> None:
    """The truth of everything that was told, by processes of its own."""
    by_key = {case["key"]: case for case in predictions.cases(args.set)}
    names = list(json.loads(out.read_text())["cases"])[args.start :: args.every]
    servers = Servers(pythons, out.with_suffix(f".edge{args.start}.jsonl"))
    for name in names:
        known = json.loads(out.read_text())["cases"][name]
        case = by_key[name.split("|")[0]]
        while (batch := next_try(known, args.processes)) is not None and not predictions._late(args.until):
            settings = {"batch": batch, **({"samples": known["samples"]} if known["samples"] else {})}
            found = servers.ask("steps", {**case, **settings}, known["limit_mib"])
            if found is None:
                known["failed"] = known.get("failed", 0) + 1
                break
            known["tries"].append([batch, found["ran"]])
            _merge(out, name, known)
        print(f"{time.strftime('%H:%M:%S')} {name} {known['tries']}", flush=True)


def judged(said: int | None, known: Results) -> str:
    """What a told batch is against the edge: right within 5 % or a sample of where it lies."""
    low, high, _ = edge(known)
    if said is not None and known["samples"]:
        said = min(said, known["samples"])
    if said is None or not known["tries"]:
        return ""
    room = max(1, 0.05 * low)
    if high is None and low < (known["samples"] or low + 1):
        return "too few" if said < low - room else ""
    top = max(low, (high or low + 1) - 1)
    if low - room <= said <= top + room:
        return "right" if high is None or said < high else "right, above"
    return "too few" if said < low else "too many"


def holds(said: Results, low: int) -> str:
    """Whether the largest batch that ran lies where it was said to be likely; empty where that is open."""
    if said.get("likely_low_batch") is None or not low:
        return ""
    return "yes" if said["likely_low_batch"] <= low <= said["likely_high_batch"] else "no"


def edge_table(out: Path) -> None:
    """A line a case, by prediction and by real steps."""
    results = json.loads(out.read_text())
    print(
        "| model | TensorFlow | conditions | arrays | MiB | use | told | likely | `--measure` | runs |"
        " fails | ever ran | told | `--measure` | likely holds it |"
    )
    print("|---" * 15 + "|")
    for name, known in results["cases"].items():
        model, version, *rest = name.split("|")[0].split("/")
        said, measured = known["told"], known["measured"]
        low, high, ever = edge(known)
        cells = [
            model, version, ", ".join(rest), known["samples"] or "none", known["limit_mib"],
            said.get("sure_batch", ""), said.get("largest_batch", "refused"),
            f"{said.get('likely_low_batch', '')} to {said.get('likely_high_batch', '')}",
            measured.get("largest_batch", "refused"), low or "", high or "", ever or "",
            judged(said.get("largest_batch"), known), judged(measured.get("largest_batch"), known),
            holds(said, low),
        ]  # fmt: skip
        print("| " + " | ".join(map(str, cells)) + " |")


def next_batch(known: Results) -> int | None:
    """The batch to try next, None when the answer is judged and the truth is near enough."""
    said: int | None = known["told"].get("largest_batch")
    if said is None:
        return None
    runs = {int(batch): ran for batch, ran in known["runs"].items()}
    low = max([0, *(batch for batch, ran in runs.items() if ran)])
    high = min([batch for batch, ran in runs.items() if not ran], default=None)
    wanted = max(said, 1)
    if wanted not in runs:
        return wanted
    if known["samples"] and runs[wanted] and said >= known["samples"]:
        return None
    if len(runs) >= _MOST_RUNS or verdict(known) == "right":
        return None
    if high is None:
        return max(low + 2, int(low * _WIDER[len(runs) - 1]) + 1)
    if not low:
        return max(int(high / _WIDER[len(runs) - 1]), 0) or None
    if high - low <= max(1, 0.05 * low):
        return None
    return (low + high) // 2


def measure(out: Path, path: Path, args: argparse.Namespace, pythons: dict[str, str]) -> None:
    """Everything that is predicted, in a random order; stops by the clock and goes on from there."""
    seen, fits = json.loads(path.read_text()), json.loads(out.read_text())
    by_key = {case["key"]: case for case in predictions.cases()}
    jobs = [("peak", key) for key in seen["cases"]] + [("fit", name) for name in fits["cases"]]
    random.Random(args.seed).shuffle(jobs)
    jobs = jobs[args.start :: args.every]
    servers = Servers(pythons, out.with_suffix(f".job{args.start}.jsonl"))
    for turn in range(args.processes):
        for kind, name in jobs:
            if predictions._late(args.until):
                return
            begun = time.monotonic()
            if kind == "peak":
                known = seen["cases"][name]
                if len(known.get("measured", [])) + known.get("failed", 0) > turn:
                    continue
                _peak(known, by_key[name], servers, turn)
                said: Any = {each: known.get(each) for each in ("measured", "runs_at_bar", "runs_at_high")}
                _merge(path, name, known)
            elif turn == 0 and not fits["cases"][name].get("failed"):
                known = fits["cases"][name]
                case = by_key[name.split("|")[0]]
                while (batch := next_batch(known)) is not None and not predictions._late(args.until):
                    settings = {"batch": batch, **({"samples": known["samples"]} if known["samples"] else {})}
                    found = servers.ask("steps", {**case, **settings}, known["limit_mib"])
                    if found is None:
                        known["failed"] = known.get("failed", 0) + 1
                        break
                    known["runs"][str(batch)] = found["ran"]
                    _merge(out, name, known)
                said = known["runs"]
            else:
                continue
            print(
                f"{time.strftime('%H:%M:%S')} {time.monotonic() - begun:5.0f} s {kind} {name} {said}",
                flush=True,
            )


def _peak(known: Results, case: Results, servers: Servers, turn: int) -> None:
    """One process' peaks; at the first turn, for half of the cases, whether they run at the upper ends."""
    found = servers.ask("measure", case)
    if found is None:
        known["failed"] = known.get("failed", 0) + 1
        return
    known.setdefault("measured", []).append(
        {each: found[each] for each in ("peaks", "before", "aligned_bytes") if each in found}
    )
    said = known["predicted"]
    if turn or "bytes" not in said or zlib.crc32(case["key"].encode()) % 2:
        return
    for name, high in (("runs_at_bar", "high_bytes"), ("runs_at_high", "needed_limit_high_bytes")):
        if known.get("runs_at_bar"):
            known[name] = True  # with more, too
            continue
        found = servers.ask("measure", case, -(-said[high] // predictions.MIB))
        if found is not None:
            known[name] = found["ran"]


def _merge(path: Path, name: str, known: Results) -> None:
    """Another process may write the same file: only this case is replaced."""
    with open(path.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        results = json.loads(path.read_text())
        results["cases"][name] = known
        predictions._write(path, results)


def bounds(known: Results) -> tuple[int, int | None]:
    """The largest batch that ran, and the smallest that did not."""
    runs = {int(batch): ran for batch, ran in known["runs"].items()}
    low = max([0, *(batch for batch, ran in runs.items() if ran)])
    return low, min([batch for batch, ran in runs.items() if not ran], default=None)


def verdict(known: Results) -> str:
    """Whether what was told is right within 5 % or one sample, too many or too few; empty when not judged."""
    said = known["told"].get("largest_batch")
    if said is None or not known["runs"]:
        return ""
    low, high = bounds(known)
    if known["samples"] and said >= known["samples"] and low >= known["samples"]:
        return "right"
    if high is not None and said >= high:
        near = low >= said - max(1, 0.05 * low)
        return "near, above" if near else "too many"
    if high is None:
        return "too few" if low > said + max(1, 0.05 * low) else ""
    return "right" if said >= high - 1 - max(1, 0.05 * (high - 1)) else "too few"


def within(known: Results) -> str:
    """Whether the largest batch that runs lies where it was said to be likely; empty where that is open."""
    least, most = known["told"].get("likely_low_batch"), known["told"].get("likely_high_batch")
    if least is None or most is None or not known["runs"]:
        return ""
    low, high = bounds(known)
    if low > most or (high is not None and high <= least):
        return "no"
    return "yes" if low >= least and high is not None and high - 1 <= most else ""


def table(out: Path) -> None:
    """A line a case."""
    results = json.loads(out.read_text())
    print("| model | TensorFlow | conditions | arrays | MiB | told | likely | runs | fails | | inside |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name, known in results["cases"].items():
        key = name.split("|")[0]
        model, version, *rest = key.split("/")
        said = known["told"].get("largest_batch", "refused")
        low, high = bounds(known)
        likely = (
            f"{known['told'].get('likely_low_batch', '')} to {known['told'].get('likely_high_batch', '')}"
        )
        print(
            f"| {model} | {version} | {', '.join(rest)} | {known['samples'] or 'none'} | {known['limit_mib']}"
            f" | {said} | {likely} | {low or ''} | {high or ''} | {verdict(known)} | {within(known)} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--predict", type=Path, metavar="OUT.json")
    parser.add_argument("--from", dest="seen", type=Path, metavar="PREDICTIONS.json")
    parser.add_argument("--models", type=Path, help="the folder that predictions.py --predict made")
    parser.add_argument("--set", default="seventh")
    parser.add_argument("--count", type=int, default=48)
    parser.add_argument("--measure", type=Path, nargs=2, metavar=("OUT.json", "PREDICTIONS.json"))
    parser.add_argument("--limits", metavar="LOW:HIGH", help="for --predict: the range of limits in MiB")
    parser.add_argument("--edge", type=Path, metavar="OUT.json")
    parser.add_argument("--table", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--until", default="24:00", metavar="HH:MM")
    parser.add_argument("--start", type=int, default=0, help="of several that measure: this one")
    parser.add_argument("--every", type=int, default=1, help="of so many")
    args = parser.parse_args()
    pythons = {
        version: str(predictions.ENVIRONMENTS / f"tf{version}/bin/python")
        for version in predictions._SUFFIXES
    }
    if args.predict and args.limits:
        predict_and_measure(args.predict, args, pythons)
    elif args.edge:
        measure_edge(args.edge, args, pythons)
    elif args.predict:
        seen = json.loads(args.seen.read_text())
        predict(args.predict, seen, args.set, args.models, args.seed, args.count)
    elif args.measure:
        out, path = args.measure
        measure(out, path, args, pythons)
    elif any("measured" in each for each in json.loads(args.table.read_text())["cases"].values()):
        edge_table(args.table)
    else:
        table(args.table)


if __name__ == "__main__":
    main()
