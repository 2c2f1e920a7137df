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
from tfmemlens.model.capture import Hints
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
