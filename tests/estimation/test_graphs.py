"""Steps predicted from raw training graphs, against real runs of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SAMPLES
from tfmemlens.cli.main import main
from tfmemlens.errors import Unpredictable, UsageError
from tfmemlens.estimation.graph_step import capture as graph_capture
from tfmemlens.estimation.graph_step.session import candidates, of_graph
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.settings import StepSettings
from tfmemlens.model.tensor import Constant
from tfmemlens.readers.formats.graph_file import read_graph
from tfmemlens.use_cases.estimate import estimate_graph
from tfmemlens.values import replace

STEPS = SAMPLES / "fit"
GRAPHS = sorted(STEPS.glob("*.meta.gz"))
UNET = "sample_traces/fit/1.15-unet.meta.gz"


def truth(graph: Path) -> dict[str, Any]:
    """What the real run of the graph's own batch told: the smallest batch of the net."""
    stem = graph.name.removesuffix(".meta.gz")
    found = [json.loads(path.read_text()) for path in STEPS.glob(f"{stem}-b*.truth.json")]
    least: dict[str, Any] = min(found, key=lambda facts: facts["batch"])
    return least


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda path: path.name.removesuffix(".meta.gz"))
def test_the_peak_of_a_raw_graph(graph: Path) -> None:
    facts = truth(graph)
    timeline = of_graph(read_graph(graph), facts["fetches"], facts["batch"])
    assert timeline.predicted
    assert timeline.peak_bytes == pytest.approx(facts["max_in_use_bytes"], rel=0.15)


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda path: path.name.removesuffix(".meta.gz"))
def test_weights_and_slots_are_exact(graph: Path) -> None:
    facts = truth(graph)
    timeline = of_graph(read_graph(graph), facts["fetches"], facts["batch"], variant=0)
    variables = sum(row.requested_bytes or 0 for row in timeline.standing if row.op == "VarHandleOp")
    assert variables == facts["variables_bytes"] + facts["slots_bytes"]


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda path: path.name.removesuffix(".meta.gz"))
def test_each_steps_memory_comes_back(graph: Path) -> None:
    facts = truth(graph)
    steps = (
        5,
        7,
    )  # by then kernels that are quick in loops count as cheap, and the order does not change any more
    short, long = (
        of_graph(read_graph(graph), facts["fetches"], facts["batch"], variant=0, steps=count)
        for count in steps
    )
    assert short.baseline_bytes == long.baseline_bytes
    assert short.peak_bytes == pytest.approx(
        long.peak_bytes, rel=0.001
    )  # in a long loop kernels count as cheap after a while, and their order changes


def test_the_train_op_is_found() -> None:
    assert candidates(read_graph(UNET))[0] == "Adam"


def test_a_fetch_that_is_not_there_names_those_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", UNET, "--fetch", "train", "--batch", "2"]) == 2
    assert "Adam" in capsys.readouterr().err


def test_estimate_takes_graphs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", UNET, "--batch", "2", "--threads", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    real = truth(Path(UNET))["max_in_use_bytes"]
    assert document["peaks"][0]["bytes"] == pytest.approx(real, rel=0.05)
    assert any("Adam" in note["text"] for note in document["notes"])
    kinds = document["kinds"]
    assert kinds["optimizer-slot"] >= truth(Path(UNET))["slots_bytes"]


def net(batch: int | None) -> Graph:
    """relu(x @ w), summed, with x of an open batch."""
    nodes = [
        Node("x", "Placeholder", (), attributes={"shape": (batch, 64), "dtype": "float32"}),
        Node("w", "VariableV2", (), attributes={"shape": (64, 128), "dtype": "float32"}),
        Node("w/read", "Identity", ("w",)),
        Node("y", "MatMul", ("x", "w/read"), attributes={"T": "float32"}),
        Node("z", "Relu", ("y",), attributes={"T": "float32"}),
        Node("axes", "Const", (), attributes={"value": Constant((2,), "int32", (0, 1))}),
        Node("loss", "Sum", ("z", "axes"), attributes={"T": "float32"}),
    ]
    return Graph({node.name: node for node in nodes})


def test_relu_runs_in_place_of_a_dying_input() -> None:
    timeline = of_graph(net(None), ["loss"], 1000)
    large = [row for row in timeline.table if (row.requested_bytes or 0) > 1000]
    assert [(row.node, row.shape) for row in large] == [("y", (1000, 128))]
    held = of_graph(net(None), ["loss", "y"], 1000)  # somebody else holds y: relu needs its own
    assert [row.node for row in held.table if (row.requested_bytes or 0) > 1000] == ["y", "z"]


@pytest.mark.parametrize("batch", [1, 7, 640])
def test_an_open_batch_is_filled_in(batch: int) -> None:
    timeline = of_graph(net(None), ["loss"], batch)
    assert max(row.requested_bytes or 0 for row in timeline.table) == batch * 128 * 4


def test_an_open_batch_must_be_given() -> None:
    with pytest.raises(UsageError):
        of_graph(net(None), ["loss"])


def test_an_input_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["estimate", UNET, "--fetch", "Adam", "--batch", "2", "--input-shape", "picture=96x96x9"]) == 2
    )
    assert "frames" in capsys.readouterr().err


def loop(iterations: int) -> Graph:
    """A while loop that multiplies a [256, 256] matrix with itself, without a gradient."""
    frame = {"frame_name": "loop", "parallel_iterations": 1}
    nodes = [
        Node("x", "Placeholder", (), attributes={"shape": (256, 256), "dtype": "float32"}),
        Node("zero", "Const", (), attributes={"value": Constant((), "int32", (0,))}),
        Node("enter_i", "Enter", ("zero",), attributes=frame),
        Node("enter_x", "Enter", ("x",), attributes=frame),
        Node("merge_i", "Merge", ("enter_i", "next_i")),
        Node("merge_x", "Merge", ("enter_x", "next_x")),
        Node("limit", "Const", ("^merge_i",), attributes={"value": Constant((), "int32", (iterations,))}),
        Node("less", "Less", ("merge_i", "limit"), attributes={"T": "int32"}),
        Node("cond", "LoopCond", ("less",)),
        Node("switch_i", "Switch", ("merge_i", "cond")),
        Node("switch_x", "Switch", ("merge_x", "cond")),
        Node("one", "Const", ("^switch_i",), attributes={"value": Constant((), "int32", (1,))}),
        Node("add", "AddV2", ("switch_i:1", "one"), attributes={"T": "int32"}),
        Node("product", "MatMul", ("switch_x:1", "switch_x:1"), attributes={"T": "float32"}),
        Node("next_i", "NextIteration", ("add",)),
        Node("next_x", "NextIteration", ("product",)),
        Node("exit_x", "Exit", ("switch_x",)),
    ]
    return Graph({node.name: node for node in nodes})


@pytest.mark.parametrize("iterations", [0, 1, 5, 40])
def test_a_loop_runs_as_often_as_its_condition_says(iterations: int) -> None:
    timeline = of_graph(loop(iterations), ["exit_x"], variant=0)
    products = [row for row in timeline.table if row.node == "product"]
    assert len(products) == iterations
    assert (
        timeline.peak_bytes - timeline.baseline_bytes <= 2 * 256 * 256 * 4 + 64 * 256
    )  # one iteration's input and output at a time


def test_inference_of_a_graph_without_updates() -> None:
    found = estimate_graph(
        UNET, StepSettings(2, training=False), ["shared_model/unet_11/batch_normalization/FusedBatchNormV3"]
    )
    training = estimate_graph(UNET, StepSettings(2), ["Adam"])
    assert found.timelines[0].peak_bytes < training.timelines[0].peak_bytes


def largest_of(axis: int, rank: int) -> Graph:
    """The gradient of Max over one axis, as TensorFlow 1.15 writes it: the kept shape is stitched together
    from numbers.
    """
    whole = {"T": "int32"}
    numbers = {
        "axis": ((), (axis,)),
        "rank": ((), (rank,)),
        "zero": ((), (0,)),
        "one": ((), (1,)),
        "nothing": ((0,), ()),
    }
    nodes = [
        Node("x", "Placeholder", (), attributes={"shape": (None, 20, 32)[:rank], "dtype": "float32"}),
        *(
            Node(name, "Const", (), attributes={"value": Constant(shape, "int32", values)})
            for name, (shape, values) in numbers.items()
        ),
        Node("max", "Max", ("x", "axis"), attributes={"T": "float32"}),
        Node("shape", "Shape", ("x",), attributes={"out_type": "int32"}),
        Node("add", "AddV2", ("axis", "rank"), attributes=whole),
        Node("mod", "FloorMod", ("add", "rank"), attributes=whole),
        Node("range", "Range", ("zero", "rank", "one"), attributes={"Tidx": "int32"}),
        Node("ones", "Fill", ("nothing", "one"), attributes=whole),
        Node("kept", "DynamicStitch", ("range", "mod", "shape", "ones"), attributes=whole),
        Node("reshaped", "Reshape", ("max", "kept"), attributes={"T": "float32"}),
        Node("same", "Equal", ("reshaped", "x"), attributes={"T": "float32"}),
        Node("cast", "Cast", ("same",), attributes={"SrcT": "bool", "DstT": "float32"}),
        Node("loss", "Sum", ("cast", "axis"), attributes={"T": "float32"}),
    ]
    return Graph({node.name: node for node in nodes})


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_gradient_of_a_reduction_keeps_the_shape(axis: int) -> None:
    """Where the stitched shape was not known, one step of an LSTM classifier was predicted to take 50 GiB."""
    timeline = of_graph(largest_of(axis, 3), ["loss"], 4)
    shapes = {row.node: row.shape for row in timeline.table}
    assert shapes["cast"] == (4, 20, 32)
    assert timeline.peak_bytes < 10 * 4 * 20 * 32 * 4


def _of_segments(ids: str, op: str = "UnsortedSegmentSum") -> Graph:
    nodes = [
        Node("owner", "Placeholder", attributes={"shape": (None,), "dtype": "int32"}),
        Node("rows", "Placeholder", attributes={"shape": (None, 8), "dtype": "float32"}),
        Node("flat", "Reshape", ("owner", "to")),
        Node("made", "Unique", ("owner",)),
        Node("sums", op, ("rows", ids, "count")),
    ]
    return Graph({node.name: node for node in nodes})


@pytest.mark.parametrize("op", ["UnsortedSegmentSum", "SegmentMean"])
def test_a_graph_of_rows_that_belong_to_samples_has_no_one_batch(op: str) -> None:
    """Atoms of molecules: 18 to each sample were taken for one, and a step of 120 MiB told as 6."""
    with pytest.raises(Unpredictable, match="owner tells sums"):
        graph_capture._check_one_batch(_of_segments("flat", op), ["rows", "sums"], {})


def test_rows_that_belong_to_samples_are_predicted_where_all_sizes_are_said() -> None:
    """The hint says how: with the first size in front, which is none of the batch."""
    graph = _of_segments("flat")
    with pytest.raises(Unpredictable) as refused:
        graph_capture._check_one_batch(graph, ["sums"], {})
    assert "--input-shape owner=N --input-shape rows=Nx8" in str(refused.value.hint)
    shapes = graph_capture._shapes(graph, StepSettings(4, inputs={"owner": (72,), "rows": (72, 8)}))
    assert shapes == {"owner": (72,), "rows": (72, 8)}
    graph_capture._check_one_batch(graph, ["sums"], shapes)


def test_one_size_fewer_than_an_input_has_stands_behind_the_batch() -> None:
    graph = _of_segments("flat")
    assert graph_capture._shapes(graph, StepSettings(4, inputs={"rows": (8,)})) == {"rows": (4, 8)}
    assert graph_capture._shapes(graph, StepSettings(4, inputs={"": (72, 8)})) == {}


def test_near_misses_of_rows_that_belong_to_samples() -> None:
    graph_capture._check_one_batch(_of_segments("made"), ["sums"], {})
    graph_capture._check_one_batch(_of_segments("flat", "GatherV2"), ["sums"], {})
    gradient = replace(_of_segments("flat").nodes["sums"], name="gradients/sums")
    graph_capture._check_one_batch(
        Graph({**_of_segments("flat").nodes, gradient.name: gradient}), [gradient.name], {}
    )


@pytest.mark.parametrize("inputs", [("rows",), ("rows", "round"), ("rows", "bare")])
def test_segments_of_a_damaged_graph_end_no_walk(inputs: tuple[str, ...]) -> None:
    """Ids that are missing, that read themselves, and that come from nothing."""
    nodes = [
        Node("round", "Reshape", ("round",)),
        Node("bare", "Reshape"),
        Node("sums", "SegmentSum", inputs),
    ]
    graph_capture._check_one_batch(Graph({node.name: node for node in nodes}), ["sums"], {})
