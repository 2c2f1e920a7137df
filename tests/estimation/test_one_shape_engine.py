"""Kernels make what the one shape engine says: every execution of the sample graphs, and the table itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import ROOT, SAMPLES
from tfmemlens.estimation.graph_step import executor
from tfmemlens.estimation.graph_step.executor import run
from tfmemlens.estimation.graph_step.kernels import KernelCall
from tfmemlens.estimation.graph_step.kernels._call import KERNELS
from tfmemlens.estimation.graph_step.session import of_graph
from tfmemlens.estimation.graph_step.tokens import Token
from tfmemlens.knowledge.ops.table import Output, op
from tfmemlens.knowledge.ops.type_inference import shapes_of
from tfmemlens.readers.formats.graph_file import read_graph

GRAPHS = sorted((SAMPLES / "fit").glob("*.meta.gz"))
RECORDED = ROOT / "sample_models" / "recorded"


def disagreements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Outputs of another shape than the engine's, filled while steps run."""
    differing: list[str] = []

    def compared(call: KernelCall) -> list[Token]:
        expected = (
            [] if any(each.dtype in ("resource", "variant") for each in call.inputs) else shapes_of(call.site)
        )
        outputs = run(call)
        differing.extend(
            f"{call.node.op}: the engine says {shape}, the kernel makes {token.shape}"
            for shape, token in zip(expected, outputs, strict=False)
            if shape is not None and None not in shape and shape != token.shape
        )
        if expected and len(outputs) != len(expected):
            differing.append(f"{call.node.op}: {len(outputs)} outputs, the engine says {len(expected)}")
        return outputs

    monkeypatch.setattr(executor, "run", compared)
    return differing


@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.name.removesuffix(".meta.gz"))
def test_kernels_make_the_shapes_of_the_engine(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stem = path.name.removesuffix(".meta.gz")
    facts = [json.loads(truth.read_text()) for truth in path.parent.glob(f"{stem}-b*.truth.json")]
    least = min(facts, key=lambda each: each["batch"])
    differing = disagreements(monkeypatch)
    of_graph(read_graph(path), least["fetches"], least["batch"], steps=1)
    assert not set(differing)


def test_kernels_of_functions_make_the_shapes_of_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = json.loads((RECORDED / "truth.json").read_text())["2.21-lenet"]
    differing = disagreements(monkeypatch)
    graph = read_graph(RECORDED / "2.21-lenet.pb.gz")
    of_graph(graph, facts["fetches"], facts["batch"], optimized=True, held_inputs=True, steps=1)
    assert not set(differing)


def test_the_comparison_sees_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    path = SAMPLES / "fit" / "1.15-lenet.meta.gz"
    monkeypatch.setitem(KERNELS, "MaxPool", lambda call: [call.fresh(Token((1,)))])
    differing = disagreements(monkeypatch)
    of_graph(read_graph(path), ["Adam"], 32, steps=1)
    assert any("MaxPool" in each for each in differing)


@pytest.mark.parametrize(
    "name", ["MatMul", "Conv2D", "MaxPool", "ArgMax", "Pad", "OneHot", "GatherNd", "Exp"]
)
def test_what_the_table_knows_needs_no_kernel(name: str) -> None:
    assert name not in KERNELS
    assert op(name).shape is not None
    assert op(name).output in (Output.NEW, Output.OVERWRITTEN)
