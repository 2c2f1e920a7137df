"""`tfmemlens estimate MODEL --tensorflow` against real runs: keras_graphs.py [TF ...], TensorFlow 2.11 and
2.21 by default; --predict predicts anew.

TensorFlow makes the training graph of a Keras model of estimate_run.py, and the peak predicted from its ops
stands beside what the allocator told of the third and fourth step of real runs of the same tf.function, one
op at a time (make_traces/keras_step_run.py): the median of three processes, and their range. Results are kept
in keras_graphs_results.json.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from fit import ENVS, HERE
from simulate import GRAPHS, summary

from tfmemlens.estimation.graph_step.session import of_graph
from tfmemlens.readers.formats.graph_file import read_graph

RESULTS = HERE / "keras_graphs_results.json"
MODELS = {
    "lenet": 64, "perceptron": 256, "vgg": 16, "swish": 32, "unet": 4, "autoencoder": 16, "volume": 4,
    "lstm": 32, "gru": 32, "text": 64, "transformer": 16,
    "mobilenet": 8, "resnet": 8, "densenet": 8, "efficientnet": 8, "xception": 4,
}  # fmt: skip
RUNS = 3
"""Real runs of each case: TensorFlow 2 visits the readers of a tensor in another order in each process, so
their peaks differ.
"""
RECORDER = HERE.parents[1] / "tfmemlens" / "recording" / "trace_training_graph.py"
STEPS = HERE.parent / "make_traces" / "keras_step_run.py"


def wanted(environments: list[str]) -> list[tuple[str, str, int, str]]:
    """(TF, model, batch, optimizer or `none` for inference) of every run."""
    return [
        (environment, model, batch, optimizer)
        for model, batch in MODELS.items()
        for environment in environments
        for optimizer in ("adam", "none")
    ]


def measure(environment: str, model: str, batch: int, optimizer: str) -> dict[str, Any]:
    """One recorded graph and one real run."""
    key: dict[str, Any] = {
        "tf": environment,
        "model": model,
        "batch": batch,
        "optimizer": optimizer,
        "inference": optimizer == "none",
    }
    settings = ["--inference"] if key["inference"] else ["--optimizer", optimizer]
    facts = _told(
        "GRAPH", environment, RECORDER, f"estimate_run:{model}", graph_of(key), "--batch", batch, *settings
    )
    options = ["infer=1"] if key["inference"] else [f"optimizer={optimizer}"]
    peaks = sorted(
        _told("FACTS", environment, STEPS, f"estimate_run:{model}", f"batch={batch}", *options)[
            "max_in_use_bytes"
        ]
        for _ in range(RUNS)
    )
    graph_of(key).with_suffix(".json").write_text(json.dumps(facts["fetches"]))
    return predicted({**key, "max_in_use_bytes": peaks[RUNS // 2], "peaks": peaks})


def _told(word: str, environment: str, script: Path, *arguments: object) -> dict[str, Any]:
    variables = {
        "PATH": "/usr/bin:/bin", "HOME": tempfile.gettempdir(), "TF_ENABLE_ONEDNN_OPTS": "0",
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "TF_CPU_ALLOCATOR_USE_BFC": "1", "TF_CPU_BFC_MEM_LIMIT_IN_MB": "16000",
    }  # fmt: skip
    command = [str(ENVS / environment / "bin" / "python"), str(script), *map(str, arguments)]
    done = subprocess.run(command, env=variables, cwd=HERE, capture_output=True, text=True)
    found = re.search(rf"^{word} (.*)$", done.stdout, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-1500:]}")
    facts: dict[str, Any] = json.loads(found[1])
    return facts


def graph_of(key: dict[str, Any]) -> Path:
    """Where the graph is kept for later predictions."""
    GRAPHS.mkdir(parents=True, exist_ok=True)
    return GRAPHS / f"keras-{key['tf']}-{key['model']}-{key['batch']}-{key['optimizer']}.pb"


def predicted(result: dict[str, Any]) -> dict[str, Any]:
    """The result with today's prediction, where its graph is still there."""
    graph = graph_of(result)
    if not graph.exists():
        return result
    fetches = json.loads(graph.with_suffix(".json").read_text())
    found = of_graph(read_graph(graph), fetches, result["batch"], optimized=True, held_inputs=True)
    return {**result, "predicted_bytes": found.peak_bytes}


def row(result: dict[str, Any]) -> str:
    real = result["max_in_use_bytes"]
    what = "inference" if result["inference"] else result["optimizer"]
    return (
        f"{result['tf']:8}{result['model']:16}{result['batch']:>6} {what:10}{real / 2**20:>9.2f} MiB "
        f" {100 * (result['predicted_bytes'] / real - 1):+6.1f} %"
        + f"   runs {100 * (min(result['peaks']) / real - 1):+.1f} to"
        f" {100 * (max(result['peaks']) / real - 1):+.1f} %"
    )


def main(environments: list[str]) -> None:
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    known = [predicted(each) for each in known]
    for each in known:
        print(row(each), flush=True)
    done = {(each["tf"], each["model"], each["batch"], each["optimizer"]) for each in known}
    left = [each for each in wanted(environments) if each not in done]
    with ThreadPoolExecutor(int(os.environ.get("TFMEMLENS_JOBS", "3"))) as pool:
        for result in pool.map(lambda each: measure(*each), left):
            known.append(result)
            print(row(result), flush=True)
            RESULTS.write_text(json.dumps(known, indent=1) + "\n")
    RESULTS.write_text(json.dumps(known, indent=1) + "\n")
    summary(known)


if __name__ == "__main__":
    main([] if sys.argv[1:] == ["--predict"] else sys.argv[1:] or ["tf2.11", "tf2.21"])
