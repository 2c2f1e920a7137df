"""The largest batch that `tfmemlens fit` predicts from one traced step, against bisection with real runs
under a limit: fit.py [TF ...].

Environments come from $TFMEMLENS_ENVS (see scripts/make_traces/environments.sh). Each real run is a few steps
of make_traces/step_run.py on a BFC allocator with the limit, one op at a time; a batch fits when the steps
end without an error. Results are kept in fit_results.json beside this script; `fit.py --predict` predicts
their cases anew and keeps the real figures. `fit.py --bound` lets each case fail, at a tenth and at twice
more than its largest batch, and asks `fit` for the bound that the failure's own log gives: it may not be
below the largest batch.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from tfmemlens.model.capture import Hints
from tfmemlens.use_cases.fit import fit_report

HERE = Path(__file__).parent
ENVS = Path(os.environ.get("TFMEMLENS_ENVS", Path.home() / ".cache/tfmemlens/envs"))
RESULTS = HERE / "fit_results.json"
MIB = 1 << 20
CASES = (  # model and its sizes, the traced batch, limit in MiB
    ("lenet", 64, 300),
    ("unet height=96 width=96 training=1", 4, 1000),
    ("im2col side=96 channels=32", 8, 700),
    ("attention length=256", 16, 600),
    ("embedding length=32 vocabulary=8000 width=64", 32, 500),
    ("deconv channels=32", 8, 1500),
    ("dropout units=2048", 2048, 400),
    ("while_rnn length=30 units=128", 4096, 200),
    ("wide_dense units=1024", 512, 200),
    ("conv3d depth=16 side=32 channels=8", 8, 400),
    ("patches side=64 channels=8 window=7", 8, 500),
)


def run(
    environment: str, model: str, batch: int, limit_mib: int, **options: object
) -> dict[str, object] | None:
    """The facts of one real run, None when memory ran out."""
    log = logged(environment, model, batch, limit_mib, **options)
    found = re.search(r"^FACTS (.*)$", log, re.MULTILINE)
    if found is None:
        if not re.search("OOM|ResourceExhausted|RESOURCE_EXHAUSTED|Resource exhausted", log):
            raise RuntimeError(f"{environment} {model} batch {batch}: {log[-1500:]}")
        return None
    facts: dict[str, object] = json.loads(found[1])
    stated = re.findall(r"MaxInUse: +(\d+)", log)
    if facts["max_in_use_bytes"] is None and stated:
        facts["max_in_use_bytes"] = int(stated[-1])
    return facts


def logged(environment: str, model: str, batch: int, limit_mib: int, **options: object) -> str:
    """All that one real run prints."""
    variables = {
        "PATH": "/usr/bin:/bin", "HOME": tempfile.gettempdir(), "TF_ENABLE_ONEDNN_OPTS": "0",
        "TF_CPP_MIN_LOG_LEVEL": "0",
        "TF_CPU_ALLOCATOR_USE_BFC": "1", "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(limit_mib),
    }  # fmt: skip
    settings = [f"{key}={value}" for key, value in options.items()]
    command = [
        str(ENVS / environment / "bin" / "python"),
        str(HERE.parent / "make_traces" / "step_run.py"),
        *model.split(),
        f"batch={batch}",
        *settings,
    ]
    return subprocess.run(
        command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ).stdout.decode("utf-8", "replace")


def case(environment: str, model: str, batch: int, limit_mib: int) -> dict[str, object]:
    """Predict, then find the truth by bisection that starts round the prediction."""
    predicted = predict(environment, model, batch, limit_mib)
    real = bisect(environment, model, limit_mib, predicted)
    return {
        "tf": environment,
        "model": model,
        "traced_batch": batch,
        "limit_mib": limit_mib,
        "predicted": predicted,
        "real": real,
    }


def predict(environment: str, model: str, batch: int, limit_mib: int) -> int:
    """What `tfmemlens fit` says of a step that is traced for it."""
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "step.pb")
        run(environment, model, batch, 16000, trace=trace)
        fit = fit_report([trace], Hints(limit_bytes=limit_mib * MIB)).fit
    assert fit is not None and fit.largest_batch is not None
    return fit.largest_batch


def bisect(environment: str, model: str, limit_mib: int, predicted: int) -> int:
    """The largest batch with which real runs end."""

    @cache
    def fits(size: int) -> bool:
        return size == 0 or run(environment, model, size, limit_mib, steps=3) is not None

    step = max(round(0.03 * predicted), 1)
    low, high = (
        (predicted, predicted + step) if fits(max(predicted, 1)) else (max(predicted - step, 0), predicted)
    )
    while not fits(low):
        low, high, step = max(low - 2 * step, 0), low, 2 * step
    while fits(high):
        low, high, step = high, high + 2 * step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def predict_again() -> None:
    """New predictions beside the real figures that were found before."""
    known = json.loads(RESULTS.read_text())
    with ThreadPoolExecutor(int(os.environ.get("TFMEMLENS_JOBS", "3"))) as pool:
        found = pool.map(
            lambda each: predict(each["tf"], each["model"], each["traced_batch"], each["limit_mib"]), known
        )
        for each, predicted in zip(known, found, strict=True):
            each["predicted"] = predicted
            print(row(each), flush=True)
    RESULTS.write_text(json.dumps(known, indent=1) + "\n")
    summary(known)


def bounds() -> None:
    """What each case's own failures say of its largest batch; kept beside the results."""
    known = json.loads(RESULTS.read_text())
    wanted = [
        (each, max(round(factor * each["real"]), each["real"] + 1)) for each in known for factor in (1.1, 2)
    ]
    with ThreadPoolExecutor(int(os.environ.get("TFMEMLENS_JOBS", "3"))) as pool:
        for (each, batch), most in zip(wanted, pool.map(lambda pair: bound(*pair), wanted), strict=True):
            each.setdefault("bounds", {})[str(batch)] = most
            told = "does not fail" if most is None else f"at most {most:>6}"
            print(
                f"{each['tf']:8}{each['model']:48} batch {batch:>6}: {told:14} real {each['real']:>5}",
                flush=True,
            )
    RESULTS.write_text(json.dumps(known, indent=1) + "\n")
    found = [most >= each["real"] for each in known for most in each["bounds"].values() if most is not None]
    print(f"{sum(found)} of {len(found)} bounds hold")


def bound(each: dict[str, Any], batch: int) -> int | None:
    """The bound from the log of a run that fails at this batch; None where it does not fail, or its log tells
    no sizes.
    """
    log = logged(each["tf"], each["model"], batch, each["limit_mib"], steps=3)
    if re.search(r"^FACTS ", log, re.MULTILINE):
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "oom.txt")
        Path(path).write_text(log)
        fit = fit_report([path], Hints(batch=batch, limit_bytes=each["limit_mib"] * MIB)).fit
    return fit.largest_batch if fit else None


def main(environments: list[str]) -> None:
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    done = {(each["tf"], each["model"], each["limit_mib"]) for each in known}
    wanted = [
        (environment, *each)
        for each in CASES
        for environment in environments
        if (environment, each[0], each[2]) not in done
    ]
    with ThreadPoolExecutor(int(os.environ.get("TFMEMLENS_JOBS", "3"))) as pool:
        for result in pool.map(lambda each: case(*each), wanted):
            known.append(result)
            print(row(result), flush=True)
            RESULTS.write_text(json.dumps(known, indent=1) + "\n")
    summary(known)


def summary(known: list[dict[str, Any]]) -> None:
    """How many predictions are near enough."""
    good = [each for each in known if abs(each["predicted"] - each["real"]) <= max(1, 0.03 * each["real"])]
    print(f"within 3 % or one sample: {len(good)} of {len(known)}")


def row(result: dict[str, object]) -> str:
    predicted, real = int(str(result["predicted"])), int(str(result["real"]))
    return (
        f"{result['tf']:8}{result['model']:48}{result['limit_mib']:>6} MiB  predicted {predicted:>5}  real"
        f" {real:>5}  {100 * (predicted - real) / max(real, 1):+6.1f} %"
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["--predict"]:
        predict_again()
    elif sys.argv[1:] == ["--bound"]:
        bounds()
    else:
        main(sys.argv[1:] or ["tf1.15", "tf2.21"])
