"""Graphs in files: every wrapping gives the same graph, and no other format is taken for one."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import text_format

from tests.conftest import SAMPLES
from tfmemlens.errors import UnreadableInput
from tfmemlens.model.tensor import Constant, TensorType
from tfmemlens.readers.formats.graph_file import kind_of, read_graph
from tfmemlens.schema import message


def graph_def() -> Any:
    graph = message("GraphDef")()
    image = graph.node.add(name="net/image", op="Placeholder")
    image.attr["dtype"].type = 1
    image.attr["shape"].shape.dim.add(size=-1)
    axis = graph.node.add(name="net/axis", op="Const")
    axis.attr["dtype"].type = 3
    axis.attr["value"].tensor.dtype = 3
    axis.attr["value"].tensor.tensor_shape.dim.add(size=4)
    axis.attr["value"].tensor.tensor_content = b"".join(value.to_bytes(4, "little") for value in (0, 3, 1, 2))
    turned = graph.node.add(name="net/turned", op="Transpose", input=["net/image", "net/axis"])
    turned.attr["_output_shapes"].list.shape.add().dim.add(size=7)
    turned.attr["T"].type = 1
    turned.attr["_tfmemlens_source"].s = b"train.py:12"
    return graph


def wrapped(kind: str) -> Any:
    if kind == "GraphDef":
        return graph_def()
    meta = message("MetaGraphDef")()
    meta.meta_info_def.tensorflow_version = "1.15.5"
    meta.graph_def.CopyFrom(graph_def())
    if kind == "MetaGraphDef":
        return meta
    saved = message("SavedModel")(saved_model_schema_version=1)
    saved.meta_graphs.add().CopyFrom(meta)
    return saved


@pytest.mark.parametrize("form", ["binary", "text", "gzip"])
@pytest.mark.parametrize("kind", ["GraphDef", "MetaGraphDef", "SavedModel"])
def test_every_wrapping_gives_the_graph(kind: str, form: str, tmp_path: Path) -> None:
    raw = wrapped(kind).SerializeToString()
    if form == "text":
        raw = (
            text_format.MessageToString(wrapped(kind))
            .replace("type: 1\n", "type: DT_FLOAT\n")
            .replace("dtype: 3\n", "dtype: DT_INT32\n")
            .encode()
        )
    target = tmp_path / "graph"
    target.write_bytes(gzip.compress(raw) if form == "gzip" else raw)
    graph = read_graph(target)
    assert [node.op for node in graph] == ["Placeholder", "Const", "Transpose"]
    assert graph.nodes["net/axis"].attributes["value"] == Constant((4,), "int32", (0, 3, 1, 2))
    assert graph.nodes["net/image"].attributes["shape"] == (None,)
    assert graph.nodes["net/turned"].outputs == (TensorType((7,), "float32"),)
    assert graph.nodes["net/turned"].source == "train.py:12"


def test_a_saved_models_folder(tmp_path: Path) -> None:
    (tmp_path / "variables").mkdir()
    (tmp_path / "variables" / "variables.index").write_bytes(b"\0\1\2")
    (tmp_path / "saved_model.pb").write_bytes(wrapped("SavedModel").SerializeToString())
    assert len(read_graph(tmp_path)) == 3


def test_unknown_fields_of_a_text_are_skipped(tmp_path: Path) -> None:
    target = tmp_path / "graph.pbtxt"
    target.write_text(
        '# exported\nnode {\n  name: "a"\n  op: "NoOp"\n  brand_new { inner: 1 text: "x"'
        " }\n}\nfrom_the_future: SOME_ENUM\n"
    )
    assert list(read_graph(target).nodes) == ["a"]


@pytest.mark.parametrize(
    "sample",
    sorted(path for path in SAMPLES.rglob("*") if path.is_file()),
    ids=lambda path: f"{path.parent.name}-{path.name}",
)
def test_no_other_sample_looks_like_a_graph(sample: Path) -> None:
    if sample.parent.name in ("layout", "graph") or ".meta" in sample.name:
        return
    raw = sample.read_bytes()
    assert kind_of(gzip.decompress(raw) if sample.suffix == ".gz" else raw[: 1 << 16]) is None


@pytest.mark.parametrize("raw", [b"", b"\x0a\x02hi", b"hello", graph_def().SerializeToString()[:-30]])
def test_what_is_no_graph_is_an_error_with_a_hint(raw: bytes, tmp_path: Path) -> None:
    target = tmp_path / "x.pb"
    target.write_bytes(raw)
    with pytest.raises(UnreadableInput) as caught:
        read_graph(target)
    assert caught.value.hint


def test_the_graph_of_a_run_metadata() -> None:
    assert "LayoutOptimizer" not in str(list(read_graph(SAMPLES / "run_metadata" / "1.15-unet.pb.gz").nodes))
