"""The real layout pass on the user's graph, before any GPU is touched: run in a process of its own, with a
Python that has TensorFlow.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from tfmemlens import child_python
from tfmemlens.errors import UnreadableInput, UsageError
from tfmemlens.knowledge.ops.type_inference import Types, infer, type_of
from tfmemlens.model.capture import Capture, Hints
from tfmemlens.model.graph import Graph
from tfmemlens.model.line import ReadNote
from tfmemlens.readers.formats import graph_file
from tfmemlens.readers.gathering import inputs, opening
from tfmemlens.recording import layout_pass
from tfmemlens.values import dataclass

GPUS = {
    "K80": "3.7", "M60": "5.2", "P100": "6.0", "GTX1080": "6.1", "P4": "6.1", "P40": "6.1", "V100": "7.0",
    "T4": "7.5", "RTX2080": "7.5", "A100": "8.0",
    "A10": "8.6", "RTX3090": "8.6", "L4": "8.9", "RTX4090": "8.9", "H100": "9.0", "H200": "9.0",
    "B200": "10.0",
}  # fmt: skip
"""Compute capabilities by the names that people use."""
TRIES = {
    "batch-norm-training": (
        "every fused batch normalisation in training mode, its gradient reading the batch's own statistics"
    ),
    "transposed-convolution": (
        "a transposed convolution in place of each resize to a whole multiple, with its gradient"
    ),
    "relu": "ReLU in place of leaky ReLU",
    "mixed-precision": "Grappler's automatic mixed precision switched on, on a GPU with tensor cores",
    "pass-off": "the layout pass switched off; kernels then transpose inside",
    "data-format-nchw": (
        "predicted, not run: a model built in the pass's own format keeps only copies for ops that do not"
        " exist in it"
    ),
}
"""What `--try` can do to a graph."""
NATIVE = ("not-supported", "gradient-not-supported", "host-op", "unknown-rank")
"""Causes that a model in the pass's own format keeps."""


@dataclass(frozen=True)
class LayoutPassOptions:
    """How to run the pass."""

    gpu: str = "6.1"
    fetches: tuple[str, ...] = ()
    python: str = sys.executable
    tries: tuple[str, ...] = ()
    passes: str = "default"


def capability(text: str) -> str:
    """`sm_61`, `6.1`, `P100` or `h100` as `6.1`. Raises UsageError."""
    plain = text.strip().upper().replace(" ", "").replace("-", "")
    if match := re.fullmatch(r"SM_?(\d{1,2})(\d)A?", plain) or re.fullmatch(r"(\d{1,2})\.(\d)", plain):
        return f"{match[1]}.{match[2]}"
    if plain in GPUS:
        return GPUS[plain]
    raise UsageError(
        f"{text} is no GPU that tfmemlens knows",
        f"give a compute capability such as sm_61 or 6.1, or one of {', '.join(GPUS)}",
    )


@dataclass(frozen=True)
class PassRuns:
    """What the child did: one run for the graph as it is, one for each edit."""

    tensorflow: str
    done: list[tuple[dict[str, Any], dict[str, Any]]]
    """What was asked (`remedy`, `out`: the file with the graph), and what was told of it (`changed`,
    `fetches`).
    """
    notes: list[ReadNote]


def run_pass(before: Capture, options: LayoutPassOptions, hints: Hints, folder: str) -> PassRuns:
    """Run the pass on a graph, and on each edit of it. Raises UsageError, UnreadableInput, MissingExtra."""
    runs = [
        {"remedy": "as-it-is"},
        *(run for slug in options.tries if (run := _trial(slug, before, hints)) is not None),
    ]
    answer, complaints = _answer(_request(before, options, runs, folder, hints), options.python, folder)
    pairs = list(zip(runs, answer["runs"], strict=True))
    refused = [
        ReadNote(f"{told['remedy']} was not tried: {told['problem']}")
        for _, told in pairs
        if "problem" in told
    ]
    return PassRuns(
        answer["tensorflow"],
        [(run, told) for run, told in pairs if "problem" not in told],
        [_what_ran(options, answer), *complaints, *refused],
    )


def _what_ran(options: LayoutPassOptions, answer: dict[str, Any]) -> ReadNote:
    fetches = answer["runs"][0]["fetches"]
    passes = "the default passes of Grappler" if options.passes == "default" else "the layout pass alone"
    shown = ", ".join(fetches[:4]) + (f" and {len(fetches) - 4} more" if len(fetches) > 4 else "")
    return ReadNote(
        f"TensorFlow {answer['tensorflow']} ran {passes} for a simulated GPU of compute capability"
        f" {capability(options.gpu)}, with {shown or 'nothing'} fetched (--fetch"
        " for others)"
    )


def _trial(slug: str, before: Capture, hints: Hints) -> dict[str, Any] | None:
    """What the child must do for one edit; None for one that needs no run."""
    if slug not in TRIES:
        raise UsageError(f"there is no remedy {slug!r} to try", f"one of {', '.join(TRIES)}")
    if slug == "data-format-nchw":
        return None
    run: dict[str, Any] = {"remedy": slug}
    if slug == "pass-off":
        run["rewriter"] = {"layout_optimizer": "OFF"}
    if slug == "mixed-precision":
        run |= {
            "rewriter": {"auto_mixed_precision": "ON"},
            "compute_capability": "7.0",
            "environment": {"cuda": "11020", "cudnn": "8100"},
        }
        run["variables"] = {"TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_SIMULATE_GPU": "1"}
    if slug == "transposed-convolution":
        assert before.graph
        run["resizes"] = _resizes(before.graph, infer(before.graph, feed=hints.feed))
    return run


def _resizes(graph: Graph, types: Types) -> dict[str, dict[str, Any]]:
    """Resizes to a whole multiple, and their gradients, with what a convolution in their place needs."""
    resizes = {}
    for node in graph:
        if (
            not re.fullmatch(r"Resize(?:Bilinear|NearestNeighbor|Bicubic)(?:Grad)?", node.op)
            or node.name not in types
        ):
            continue
        small, big = type_of(types, node.inputs[0]).shape, types[node.name][0].shape
        small, big = (big, small) if node.op.endswith("Grad") else (small, big)
        if small is None or big is None or None in (*small[1:], *big[1:]) or len(big) != 4:
            continue
        ratio = [(big[at] or 0) / (small[at] or 1) for at in (1, 2)]
        if all(each == int(each) >= 1 for each in ratio):
            resizes[node.name] = {
                "channels": big[3],
                "strides": [int(each) for each in ratio],
                "sizes": [big[0] or 1, *big[1:]],
            }
    return resizes


def _request(
    before: Capture, options: LayoutPassOptions, runs: list[dict[str, Any]], folder: str, hints: Hints
) -> dict[str, Any]:
    """The child's task; the graph is unzipped beside it."""
    kind = {"graph-def": "GraphDef", "meta-graph": "MetaGraphDef", "saved-model": "SavedModel"}.get(
        next(iter(before.source.formats), "")
    )
    if kind is None:
        raise UnreadableInput(
            f"{before.source.path} holds no graph that the pass can be run on",
            "export the graph: tfmemlens layout --print-exporter > export_graph.py",
        )
    opened = opening.open_input(inputs.Input(before.source.path))
    with opened.file:
        raw = opened.all()
    graph = Path(folder, "graph")
    graph.write_bytes(raw)
    for index, run in enumerate(runs):
        run["out"] = os.path.join(folder, f"after-{index}.pb")
    return {
        "graph": str(graph), "kind": kind, "text": graph_file.kind_of_text(raw[: 1 << 16]) is not None,
        "compute_capability": capability(options.gpu),
        "fetches": list(options.fetches), "feed": list(hints.feed), "passes": options.passes, "runs": runs,
    }  # fmt: skip


def _answer(request: dict[str, Any], python: str, folder: str) -> tuple[dict[str, Any], list[ReadNote]]:
    """Run the child; its answer, and what the pass complained about."""
    task = Path(folder, "request.json")
    task.write_text(json.dumps(request), encoding="utf-8")
    answer = child_python.run(
        [str(Path(layout_pass.__file__)), str(task)],
        python,
        "to run the layout pass with",
        folder=folder,
        own_modules=False,
        max_seconds=child_python.MAX_SECONDS * len(request["runs"]),
    )
    text = answer.line("LAYOUT ")
    if answer.status or text is None:
        raise UsageError(
            f"the layout pass failed: {answer.last_words}",
            "is the graph whole, and made by a TensorFlow not newer than this one?",
        )
    told: dict[str, Any] = json.loads(text)
    complaints = dict.fromkeys(
        each[1].strip() for each in re.finditer(r"\] layout failed: ([^\n]+)", answer.complaints)
    )
    return told, [
        ReadNote(f"the pass gave up on the whole graph and left it as it was: {each}") for each in complaints
    ]
