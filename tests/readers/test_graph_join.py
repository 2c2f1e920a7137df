"""`--graph`: a trace without a graph beside a file with one says what a trace with its own graph says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tfmemlens
from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.cli.main import main
from tfmemlens.errors import UnreadableInput
from tfmemlens.model.allocation import PERSISTENT, TEMPORARY, Allocation, AllocationTable
from tfmemlens.model.capture import Capture, Hints, Source
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.tensor import TensorType
from tfmemlens.model.timeline import BaselineSource, Timeline
from tfmemlens.readers.graphs import graph_join
from tfmemlens.schema import message, parse

KERAS = SAMPLES / "run_metadata" / "1.15-keras-fit.pb"
LENET = SAMPLES / "run_metadata" / "1.15-lenet.pb"


def taken_apart(trace: Path, folder: Path) -> tuple[Path, Any]:
    """The trace without its graphs, and its first graph."""
    metadata = parse("RunMetadata", trace.read_bytes())
    graph = metadata.partition_graphs[0]
    bare = folder / "bare.pb"
    only = message("RunMetadata")()
    only.step_stats.CopyFrom(metadata.step_stats)
    bare.write_bytes(only.SerializeToString())
    return bare, graph


def write(kind: str, graph: Any, folder: Path) -> Path:
    from google.protobuf import text_format

    file = folder / kind
    if kind == "graph.pb":
        file.write_bytes(graph.SerializeToString())
    elif kind == "graph.pbtxt":
        file.write_text(text_format.MessageToString(graph), encoding="utf-8")
    elif kind == "model.ckpt-1.meta":
        meta = message("MetaGraphDef")()
        meta.meta_info_def.tensorflow_version = "1.15.5"
        meta.graph_def.CopyFrom(graph)
        file.write_bytes(meta.SerializeToString())
    else:
        saved = message("SavedModel")(saved_model_schema_version=1)
        saved.meta_graphs.add().graph_def.CopyFrom(graph)
        file.mkdir()
        (file / "saved_model.pb").write_bytes(saved.SerializeToString())
    return file


@pytest.mark.parametrize("kind", ["graph.pb", "graph.pbtxt", "model.ckpt-1.meta", "saved_model"])
def test_slots_are_found_by_the_graph_whatever_holds_it(tmp_path: Path, kind: str) -> None:
    bare, graph = taken_apart(KERAS, tmp_path)
    file = write(kind, graph, tmp_path)
    whole = tfmemlens.read(KERAS).by("kind")["bytes"]
    joined = tfmemlens.read(bare, graph=file).by("kind")["bytes"]
    assert "optimizer-slot" in joined
    assert joined.to_dict() == whole.to_dict()
    assert tfmemlens.read(bare).by("kind")["bytes"].get("optimizer-slot", 0) < joined["optimizer-slot"]


def test_ops_come_from_the_graph_where_a_log_has_none(tmp_path: Path) -> None:
    _, graph = taken_apart(LENET, tmp_path)
    file = write("graph.pb", graph, tmp_path)
    log = SAMPLES / "log_memory" / "1.15-lenet.log.gz"
    bare, joined = pipeline.timelines(log), pipeline.timelines(log, Hints(graph=str(file)))
    assert set(bare.timelines[0].table.op) == {None}
    assert "Conv2DBackpropFilter" in joined.timelines[0].table.op
    assert joined.timelines[0].peak_bytes == bare.timelines[0].peak_bytes


@pytest.mark.parametrize("command", ["profile", "plot", "export"])
def test_every_command_takes_it(tmp_path: Path, command: str) -> None:
    bare, graph = taken_apart(KERAS, tmp_path)
    file = write("graph.pb", graph, tmp_path)
    more = {
        "profile": [],
        "plot": ["-o", str(tmp_path / "x.svg")],
        "export": ["--format", "speedscope", "-o", str(tmp_path / "x.json")],
    }
    assert main([command, str(bare), "--graph", str(file), *more[command]]) == 0


def test_the_graph_of_another_model_is_noticed(tmp_path: Path) -> None:
    _, graph = taken_apart(KERAS, tmp_path)
    for node in graph.node:
        node.name = f"other/{node.name}"
    found = pipeline.timelines(LENET, Hints(graph=str(write("graph.pb", graph, tmp_path))))
    assert any("graph of another model" in note.text for note in found.notes)


def test_a_file_without_a_graph_is_one_sentence(tmp_path: Path) -> None:
    bare, _ = taken_apart(LENET, tmp_path)
    with pytest.raises(UnreadableInput, match="holds no graph"):
        pipeline.timelines(LENET, Hints(graph=str(bare)))


# ------------------------------------------------------------------ what a graph adds to a row

GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
FLOATS = TensorType((10, 10), "float32")
"""400 bytes, 512 in BFC's steps."""


def step(*rows: Allocation, standing: tuple[Allocation, ...] = (), **more: Any) -> Timeline:
    more = {"baseline_source": BaselineSource.STANDING} | more
    return Timeline(GPU, "bfc", AllocationTable.of(rows), AllocationTable.of(standing), **more)


def joined(timeline: Timeline, *nodes: Node, own: Graph | None = None, **more: Any) -> Capture:
    traced = Capture(Source("t", ("f",), "tensorflow"), timelines=(timeline,), graph=own)
    return graph_join.join(traced, Graph({node.name: node for node in nodes}, **more))


def first_row(row: Allocation, *nodes: Node, **more: Any) -> Allocation:
    return joined(step(row), *nodes, **more).timelines[0].table[0]


RELU = Node("x", "Relu", outputs=(TensorType(None, None), FLOATS))


class TestRows:
    @pytest.mark.parametrize(
        "size, requested, found",
        [
            (512, 400, True),
            (999, 400, True),
            (512, None, True),
            (400, None, True),
            (513, None, False),
            (512, 401, False),
            (400, 300, False),
        ],
    )
    def test_an_output_of_just_its_bytes(self, size: int, requested: int | None, found: bool) -> None:
        row = first_row(Allocation("x", size, requested_bytes=requested), RELU)
        assert (row.shape, row.dtype) == (((10, 10), "float32") if found else (None, None))
        assert row.op == "Relu"

    def test_what_the_trace_knows_stays(self) -> None:
        row = first_row(Allocation("x", 512, "Elu", shape=(100,), dtype="int32"), RELU)
        assert (row.op, row.shape, row.dtype) == ("Elu", (100,), "int32")

    def test_a_temporary_is_no_output(self) -> None:
        row = first_row(Allocation("x", 512, purpose=TEMPORARY), RELU)
        assert (row.op, row.shape) == ("Relu", None)

    def test_others(self) -> None:
        assert first_row(Allocation("y", 512), RELU).op is None
        assert first_row(Allocation(None, 512), RELU).op is None

    def test_nodes_inside_functions(self) -> None:
        function = {"f": Graph({"x": RELU})}
        assert first_row(Allocation("x", 512), Node("z", "Elu"), functions=function).op == "Relu"
        assert first_row(Allocation("x", 512), Node("x", "Elu"), functions=function).op == "Elu"

    def test_the_curve_is_not_worked_out_again(self) -> None:
        timeline = step(Allocation("x", 512, start_micros=1))
        peak = timeline.peak_index, timeline.events, timeline.curve
        found = joined(timeline, RELU).timelines[0]
        assert found.table is not timeline.table
        assert (found.peak_index, found.events, found.curve) == peak
        assert found.events is timeline.events and found.curve is timeline.curve


class TestGraphs:
    def test_the_traces_own_nodes_count_and_learn(self) -> None:
        own = Graph({"x": Node("x", "Elu", ("a",)), "only": Node("only", "Relu")}, producer="1.15")
        given = Node("x", "Relu", ("b",), outputs=(FLOATS,), source="net.py:3")
        found = joined(step(), given, Node("y", "Relu"), own=own, producer="2.0").graph
        assert found is not None
        assert ([*found.nodes], found.producer) == (["x", "y", "only"], "1.15")
        assert found.nodes["x"] == Node("x", "Elu", ("a",), outputs=(FLOATS,), source="net.py:3")
        assert joined(step(), given, producer="2.0").graph.producer == "2.0"  # type: ignore[union-attr]
        stated = Graph({"x": Node("x", "Elu", outputs=(TensorType((1,), "int8"),), source="own.py:1")})
        kept = joined(step(), given, own=stated).graph
        assert kept is not None
        assert kept.nodes["x"] == stated.nodes["x"]

    def test_another_models_is_noted(self) -> None:
        assert joined(step(Allocation("x", 512)), RELU).notes == ()
        assert len(joined(step(Allocation("y", 512)), RELU).notes) == 1
        assert joined(step(Allocation("y", 512), Allocation("x", 9)), RELU).notes == ()
        assert graph_join.join(Capture(Source("t", (), "tensorflow")), Graph({"x": RELU})).notes == ()


class TestVariables:
    """A slot `m` of 400 bytes that an update reads, and the variable `w` that the trace shows."""

    NODES = (
        Node("w", "VarHandleOp", (), GPU, {"shape": (10, 10), "dtype": "float32"}),
        Node("m", "VarHandleOp", (), GPU, {"shape": (10, 10), "dtype": "float32"}),
        Node("other", "VarHandleOp", (), GPU, {"shape": (10, 10), "dtype": "float32"}),
        Node("up", "ResourceApplyMomentum", ("w", "m:0", "lr", "g")),
    )

    def of(self, *nodes: Node, standing: tuple[Allocation, ...] = (), **more: Any) -> Timeline:
        timeline = step(Allocation("x", 64, start_micros=1), standing=standing, **more)
        graph = Graph({node.name: node for node in (nodes or self.NODES)})
        return graph_join.with_variables(timeline, graph)

    def test_those_that_are_updated_stand(self) -> None:
        shown = Allocation("w", 400, dtype="float32")
        found = self.of(standing=(shown,), baseline_bytes=1000)
        assert (found.baseline_bytes, found.baseline_source) == (1400, BaselineSource.STANDING)
        assert found.baseline_confidence is None
        before, row = found.standing
        assert before == shown
        assert (row.node, row.size_bytes, row.requested_bytes, row.op) == ("m", 400, 400, "VarHandleOp")
        assert (row.shape, row.dtype, row.purpose) == ((10, 10), "float32", PERSISTENT)
        assert (row.device, row.allocator) == (GPU, "bfc")

    def test_a_handle_is_not_its_variable(self) -> None:
        found = self.of(standing=(Allocation("w", 64, dtype="resource"),))
        assert [row.node for row in found.standing][1:] == ["w", "m"]

    @pytest.mark.parametrize("source", BaselineSource)
    def test_on_such_a_baseline_alone(self, source: BaselineSource) -> None:
        found = self.of(baseline_source=source)
        assert bool(found.standing.node) is (source is BaselineSource.STANDING)

    def test_without_updates_or_sizes_nothing_is_added(self) -> None:
        assert not self.of(*self.NODES[:3]).standing.node
        assert not self.of(Node("m", "VarHandleOp", (), GPU), self.NODES[3]).standing.node
        elsewhere = Node("m", "VarHandleOp", (), GPU.replace("GPU:0", "GPU:1"), self.NODES[1].attributes)
        assert not self.of(elsewhere, self.NODES[3]).standing.node

    @pytest.mark.parametrize("op", ["AssignVariableOp", "AssignAddVariableOp", "ResourceSparseApplyAdam"])
    def test_whatever_updates_them(self, op: str) -> None:
        assert self.of(self.NODES[1], Node("up", op, ("m",))).baseline_bytes == 400


class TestOfABundle:
    """`function_graphs.pb` beside a traced step, as `tfmemlens run --trace` leaves it."""

    def test_it_describes_the_step_beside_it(self, tmp_path: Path) -> None:
        bare, graph = taken_apart(LENET, tmp_path)
        (tmp_path / "function_graphs.pb").write_bytes(graph.SerializeToString())
        capture = pipeline.timelines(tmp_path)
        assert capture.graph is not None
        assert len(capture.timelines) == len(pipeline.timelines(bare).timelines)
        assert {node.name for node in graph.node} <= {node.name for node in capture.graph}
        assert not any("another model" in note.text for note in capture.notes)

    def test_one_of_other_functions_is_passed_over(self, tmp_path: Path) -> None:
        taken_apart(LENET, tmp_path)
        other = message("GraphDef")()
        for name in ("elsewhere", "there"):
            other.node.add(name=name, op="NoOp")
        (tmp_path / "function_graphs.pb").write_bytes(other.SerializeToString())
        capture = pipeline.timelines(tmp_path)
        assert "elsewhere" not in {node.name for node in capture.graph or ()}
        assert not any("another model" in note.text for note in capture.notes)

    def test_without_a_step_it_is_the_graph(self, tmp_path: Path) -> None:
        _, graph = taken_apart(LENET, tmp_path)
        (tmp_path / "bare.pb").unlink()
        (tmp_path / "function_graphs.pb").write_bytes(graph.SerializeToString())
        capture = pipeline.capture(tmp_path)
        assert capture.graph is not None
        assert len(capture.graph) == len(graph.node)
