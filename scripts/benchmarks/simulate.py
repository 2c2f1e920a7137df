"""The peak predicted from a training graph, beside what the allocator told in a real run, Grappler's
simulation and the usual formula: simulate.py [TF ...].

Environments come from $TFMEMLENS_ENVS (see scripts/make_traces/environments.sh). Each run is a few steps of
make_traces/step_run.py, one op at a time on a BFC allocator. What was measured is kept in
simulate_results.json beside this script; run again, it goes on where it stopped. The formula is that of
answers on the web: 4 bytes x (weights + slots + gradients), and twice the outputs of all layers.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fit import run

from tfmemlens.estimation.graph_step.session import of_graph
from tfmemlens.model.graph import Graph
from tfmemlens.model.tensor import tensor_bytes
from tfmemlens.readers.formats.graph_file import read_graph

GRAPHS = Path(os.environ.get("TFMEMLENS_GRAPHS", tempfile.gettempdir())) / "tfmemlens-graphs"
RESULTS = Path(__file__).with_name("simulate_results.json")
MODELS = (
    ("lenet", (64, 256, 1024)),
    ("unet height=96 width=96 training=1", (2, 4, 8)),
    ("unet height=128 width=160", (2, 4, 6)),
    ("im2col side=128 channels=48", (4, 8, 16)),
    ("attention length=512", (4, 8, 16)),
    ("embedding length=32 vocabulary=8000 width=64", (16, 64, 128)),
    ("deconv channels=32", (4, 8, 16)),
    ("dropout units=4096", (256, 1024, 4096)),
    ("while_rnn length=40 units=256", (64, 256, 1024)),
    ("wide_dense units=2048", (64, 1024, 4096)),
    ("patches side=64 channels=8 window=7", (8, 16, 32)),
    ("seq2seq length=20 units=128", (16, 64, 256)),
    ("separable side=96", (8, 16, 32)),
    ("dynamic_lstm length=40 units=256", (64, 256, 512)),
)
LAYERS = frozenset(
    "Conv2D Conv3D MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 MaxPool FusedBatchNormV3 FusedBatchNorm"
    " Relu ExtractImagePatches".split()
)


def wanted(environments: list[str]) -> list[tuple[str, str, int, str, int]]:
    """(TF, model, batch, optimizer, inference) of every run."""
    runs = []
    for model, batches in MODELS:
        for environment in environments:
            if model.startswith("dynamic_lstm") and environment != "tf1.15":
                continue
            runs += [
                (environment, model, batch, optimizer, 0)
                for batch in batches
                for optimizer in ("adam", "sgd")
            ]
            runs += [(environment, model, batch, "none", 1) for batch in batches]
    middle = {model: batches[1] for model, batches in MODELS}
    return sorted(
        runs, key=lambda each: (each[2] != middle[each[1]], each[3] != "adam")
    )  # so that a cut run has seen every model


def measure(environment: str, model: str, batch: int, optimizer: str, infer: int) -> dict[str, object]:
    """One real run and what three ways say of its graph."""
    key = {
        "tf": environment,
        "model": model,
        "batch": batch,
        "optimizer": optimizer,
        "inference": bool(infer),
    }
    GRAPHS.mkdir(parents=True, exist_ok=True)
    graph = graph_of(key)
    settings = {"infer": 1} if infer else {"optimizer": optimizer}
    facts = run(environment, model, batch, 16000, graph=graph, grappler=1, **settings)
    assert facts is not None
    found = {
        name: facts.get(name)
        for name in ("max_in_use_bytes", "grappler_bytes", "variables_bytes", "slots_bytes", "fetches")
    }
    formula = _formula(read_graph(graph), facts) if not infer else None
    return predicted({**key, **found, "formula_bytes": formula})


def graph_of(key: dict[str, object]) -> Path:
    """Where the graph of a run is kept, so that predictions can be made again without running anything."""
    return GRAPHS / ("-".join(str(value).replace(" ", "-") for value in list(key.values())[:5]) + ".meta")


def predicted(result: dict[str, object]) -> dict[str, object]:
    """The result with today's prediction, where its graph is still there."""
    graph = graph_of(result)
    if not graph.exists() or not result.get("fetches"):
        return result
    fetches = [str(name) for name in result["fetches"]]  # type: ignore[attr-defined]
    copied = (
        result["tf"] == "tf2.11"
    )  # this TensorFlow copies the fed arrays into the allocator, the others read them where they are
    found = of_graph(read_graph(graph), fetches, int(str(result["batch"])), held_inputs=copied)
    return {**result, "predicted_bytes": found.peak_bytes}


def _formula(graph: Graph, facts: dict[str, object]) -> int:
    outputs = 0
    for node in graph:
        if node.op in LAYERS and not node.name.startswith(("gradients", "Adam")) and node.outputs:
            outputs += tensor_bytes(node.outputs[0].shape, node.outputs[0].dtype) or 0
    weights, slots = int(str(facts["variables_bytes"])), int(str(facts["slots_bytes"]))
    return 2 * weights + slots + 2 * outputs


def main(environments: list[str]) -> None:
    known = [predicted(each) for each in json.loads(RESULTS.read_text())] if RESULTS.exists() else []
    done = {
        (each["tf"], each["model"], each["batch"], each["optimizer"], int(str(each["inference"])))
        for each in known
    }
    left = [each for each in wanted(environments) if each not in done]
    with ThreadPoolExecutor(int(os.environ.get("TFMEMLENS_JOBS", "3"))) as pool:
        for result in pool.map(lambda each: measure(*each), left):
            known.append(result)
            print(row(result), flush=True)
            RESULTS.write_text(json.dumps(known, indent=1) + "\n")
    RESULTS.write_text(json.dumps(known, indent=1) + "\n")
    summary(known)


def row(result: dict[str, object]) -> str:
    real = int(str(result["max_in_use_bytes"]))
    figures = [
        f"{100 * (int(str(result[key])) / real - 1):+8.1f} %" if result[key] else "       -  "
        for key in ("predicted_bytes", "grappler_bytes", "formula_bytes")
    ]
    what = "inference" if result["inference"] else str(result["optimizer"])
    return (
        f"{result['tf']:8}{result['model']:46}{result['batch']:>6} {what:10}{real / 2**20:>9.1f}"
        f" MiB{''.join(figures)}"
    )


def summary(known: list[dict[str, object]]) -> None:
    """The distribution of absolute errors, each way."""
    for key in ("predicted_bytes", "grappler_bytes", "formula_bytes"):
        errors = sorted(
            abs(int(str(each[key])) / int(str(each["max_in_use_bytes"])) - 1)
            for each in known
            if each.get(key)
        )
        if errors:
            ninety = errors[min(int(0.9 * len(errors)), len(errors) - 1)]
            print(
                f"{key:18}{len(errors):>5} runs  median {100 * statistics.median(errors):5.1f} %  90th"
                f" percentile {100 * ninety:5.1f} %  most {100 * errors[-1]:.1f} %"
            )


if __name__ == "__main__":
    main(sys.argv[1:] or ["tf1.15", "tf2.11", "tf2.21"])
