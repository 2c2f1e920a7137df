"""Who shares a buffer, until when it lives, and what stood before: the rules of liveness, one at a time."""

from __future__ import annotations

from typing import Any

import pytest

from tfmemlens.model.allocation import OUTPUT, PERSISTENT, TEMPORARY
from tfmemlens.model.timeline import BaselineSource, CurveSource, Timeline
from tfmemlens.readers.timelines.graph_liveness import NodeRun, OutputTensor, devices_of, timelines
from tfmemlens.readers.timelines.step_liveness import _inputs, _run, _scratch
from tfmemlens.readers.timelines.step_liveness import timelines as of_step
from tfmemlens.schema import message

GPU, CPU = "/job:localhost/replica:0/task:0/device:GPU:0", "/job:localhost/replica:0/task:0/device:CPU:0"


def output(size: int, reference: str = "x", buffer: int = 0, address: int = 8, **more: Any) -> OutputTensor:
    return OutputTensor(reference, "bfc", size, more.pop("requested", size - 1), buffer, address, **more)


def run(node: str, start: float, end: float, *outputs: OutputTensor, reads: str = "", **more: Any) -> NodeRun:
    return NodeRun(node, more.pop("op", "Relu"), start, end, reads.split(), list(outputs), **more)


def rows(*runs: NodeRun, **more: Any) -> list[tuple[str | None, int, float | None, float | None]]:
    """(node, bytes, start, end) of the only timeline's rows."""
    (timeline,) = timelines("d", runs, **more)
    table = timeline.table
    return [*zip(table.node, table.size_bytes, table.start_micros, table.end_micros, strict=True)]


def one(*runs: NodeRun) -> Timeline:
    (timeline,) = timelines("d", runs)
    return timeline


class TestLives:
    def test_from_its_producers_end_to_its_last_readers(self) -> None:
        x = run("x", 0, 10, output(100))
        assert rows(x) == [("x", 100, 10, 10)]
        assert rows(x, run("y", 12, 20, reads="x"), run("z", 11, 15, reads="x")) == [("x", 100, 10, 20)]

    def test_until_the_reader_lets_go(self) -> None:
        x = run("x", 0, 10, output(100))
        assert rows(x, run("y", 12, 20, reads="x", released=25)) == [("x", 100, 10, 25)]

    def test_also_of_readers_elsewhere(self) -> None:
        x, far = run("x", 0, 10, output(100)), run("y", 12, 40, reads="x")
        assert rows(x, everywhere=[x, far]) == [("x", 100, 10, 40)]

    @pytest.mark.parametrize("reference", ["x", "x:0", "x/_12", " x "])
    def test_references(self, reference: str) -> None:
        reader = NodeRun("y", "Relu", 12, 20, [reference])
        assert rows(run("x", 0, 10, output(100)), reader) == [("x", 100, 10, 20)]

    @pytest.mark.parametrize("reference", ["x:1", "w", "^x", "x/12", ""])
    def test_other_references(self, reference: str) -> None:
        reader = NodeRun("y", "Relu", 12, 20, [reference])
        assert rows(run("x", 0, 10, output(100)), reader) == [("x", 100, 10, 10)]

    @pytest.mark.parametrize("start, ends", [(5, (99, 40)), (29, (99, 40)), (40, (20, 99)), (41, (20, 99))])
    def test_a_reader_takes_the_newest_of_a_name(self, start: float, ends: tuple[float, float]) -> None:
        """The node ran twice, until 20 and until 40; who reads before either has the first."""
        first, second = output(100, address=8), output(100, address=16)
        found = rows(run("x", 30, 40, second), run("x", 0, 20, first), run("y", start, 99, reads="x"))
        assert sorted(found, key=lambda row: row[2] or 0) == [
            ("x", 100, 20, ends[0]), ("x", 100, 40, ends[1]),
        ]  # fmt: skip


class TestBuffers:
    def test_outputs_of_one_buffer_are_one_row_as_large_as_the_largest(self) -> None:
        x, y = output(100, buffer=7, shape=(5, 5), dtype="float32"), output(120, "y", buffer=7)
        timeline = one(run("y", 20, 30, y), run("x", 0, 10, x))
        assert [*timeline.table.node] == ["x"]
        (row,) = timeline.table
        assert (row.size_bytes, row.requested_bytes, row.shape, row.dtype) == (120, 99, (5, 5), "float32")
        assert (row.start_micros, row.end_micros, row.purpose, row.op) == (10, 30, OUTPUT, "Relu")
        assert (row.device, row.allocator, row.count, row.error_bytes) == ("d", "bfc", 1, 0)
        assert timeline.curve_source is CurveSource.LIVENESS
        assert [*timeline.executions.node] == ["y", "x"]
        assert ([*timeline.executions.start_micros], [*timeline.executions.end_micros]) == ([20, 0], [30, 10])

    def test_other_ids_are_other_rows(self) -> None:
        found = rows(run("x", 0, 10, output(100, buffer=7)), run("y", 9, 30, output(100, "y", buffer=9)))
        assert len(found) == 2

    def test_ids_that_are_not_unique_tell_nothing(self) -> None:
        """Number 7 is used at two addresses."""
        found = rows(
            run("x", 0, 10, output(100, buffer=7, address=8)),
            run("y", 9, 30, output(100, "y", buffer=7, address=16)),
        )
        assert [row[0] for row in found] == ["x", "y"]

    def test_without_id_and_address_there_is_no_buffer(self) -> None:
        assert [*timelines("d", [run("x", 0, 10, output(100, address=0))])] == []
        assert [*timelines("d", [run("x", 0, 10, output(0))])] == []
        assert rows(run("x", 0, 10, output(1))) == [("x", 1, 10, 10)]

    @pytest.mark.parametrize("start, count", [(19, 1), (20, 1), (21, 2)])
    def test_an_address_is_given_again_when_all_have_gone(self, start: float, count: int) -> None:
        """x is read until 20."""
        found = rows(
            run("x", 0, 10, output(100)), run("r", 12, 20, reads="x"),
            run("y", start, 30, output(90, "y")),
        )  # fmt: skip
        assert [row[:2] for row in found] == [("x", 100), ("y", 90)][:count]
        assert found[-1][3] == 30

    def test_times_may_be_fractions(self) -> None:
        found = rows(run("x", 0, 0.1, output(100)), run("y", 0.2, 0.3, output(90, "y")))
        assert [row[0] for row in found] == ["x", "y"]

    def test_who_lives_longest_counts(self) -> None:
        """y ends before x does: z, which begins between, is beside x."""
        found = rows(
            run("x", 0, 10, output(100)), run("r", 12, 50, reads="x"), run("y", 11, 13, output(90, "y")),
            run("z", 20, 30, output(80, "z")), run("late", 51, 60, output(70, "late")),
        )  # fmt: skip
        assert found == [("x", 100, 10, 50), ("late", 70, 60, 60)]

    def test_the_first_that_ended_names_it(self) -> None:
        found = rows(run("y", 5, 10, output(90, "y")), run("x", 0, 10, output(100)))
        assert found == [("x", 100, 10, 10)]


class TestStanding:
    def test_what_is_stored_stands(self) -> None:
        timeline = one(
            run("w", 5, 6, output(400, "w"), op="VariableV2"), run("x", 0, 10, output(100, address=16))
        )
        assert [row.node for row in timeline.table] == ["x"]
        (row,) = timeline.standing
        assert (row.node, row.size_bytes, row.start_micros, row.end_micros) == ("w", 400, None, None)
        assert (row.purpose, row.op, row.requested_bytes) == (PERSISTENT, "VariableV2", 399)
        assert (timeline.baseline_bytes, timeline.baseline_source) == (400, BaselineSource.STANDING)
        assert timeline.baseline_confidence is None

    def test_but_not_a_variable_that_is_copied_to_be_read(self) -> None:
        timeline = one(run("w", 5, 6, output(400, "w"), op="ReadVariableOp", makes=True))
        assert ([*timeline.table.node], [*timeline.standing.node]) == (["w"], [])

    def test_who_comes_after_it_lies_in_it(self) -> None:
        """An update in place, long after the variable was last read."""
        timeline = one(
            run("x", 0, 4, output(500, "x")),
            run("w", 3, 6, output(400, "w"), op="VariableV2"),
            run("u", 50, 60, output(400, "u")),
        )
        assert ([*timeline.table.node], [*timeline.standing.node]) == ([], ["w"])
        assert timeline.standing.size_bytes[0] == 500

    def test_standing_buffers_alone_are_a_timeline(self) -> None:
        assert one(run("w", 5, 6, output(400), op="Const")).baseline_bytes == 400


class TestScratch:
    def test_while_the_op_runs(self) -> None:
        timeline = one(run("x", 2, 10, output(100), scratch=[("bfc", 30), ("cpu", 7), ("bfc", 0)]))
        assert [
            (row.node, row.size_bytes, row.start_micros, row.end_micros, row.purpose)
            for row in timeline.table
        ] == [("x", 100, 10, 10, OUTPUT), ("x", 30, 2, 10, TEMPORARY)]

    def test_a_single_byte(self) -> None:
        assert len(one(run("x", 2, 10, output(100), scratch=[("bfc", 1)])).table) == 2


class TestBaseline:
    """1000 bytes are in use when x, of 100, has been made."""

    def test_the_allocators_figure_counts_from_just_after_the_end(self) -> None:
        x, r = run("x", 0, 10, output(100), in_use=[("bfc", 1000)]), run("r", 12, 20, reads="x")
        timeline = one(x, r)
        assert (timeline.baseline_bytes, timeline.baseline_confidence) == (900, 1.0)
        assert timeline.baseline_source is BaselineSource.ALLOCATOR

    def test_another_allocators_does_not(self) -> None:
        timeline = one(run("x", 0, 10, output(100), in_use=[("cpu", 1000)]))
        assert timeline.baseline_source is BaselineSource.STANDING

    @pytest.mark.parametrize("released, before", [(10, 900), (11, 900), (21, 1000)])
    def test_to_the_moment_that_its_inputs_are_freed(self, released: float, before: int) -> None:
        """x is gone after 20: of two figures that are as likely the lower counts."""
        x = run("x", 0, 10, output(100), in_use=[("bfc", 1000)], released=released)
        late = run("late", 14, 30, output(50, "late", address=16), in_use=[("bfc", 1050)])
        assert one(x, run("r", 12, 20, reads="x"), late).baseline_bytes == before


@pytest.mark.parametrize(
    "names, shown",
    [
        ([], ""),
        ([""], ""),
        ([GPU, GPU], GPU),
        (["/gpu:1", "/gpu:0", ""], "/gpu:0, /gpu:1"),
        ([GPU, CPU], CPU),
        (["/cpu:0", "/device:CPU:1", GPU], "/cpu:0, /device:CPU:1"),
    ],
)
def test_devices_that_share_an_allocator(names: list[str], shown: str) -> None:
    assert devices_of(names) == shown


def test_the_device_is_that_of_its_runs() -> None:
    runs = [run("x", 0, 10, output(100), device=GPU), run("y", 0, 10, output(100, "y"), device=CPU)]
    (timeline,) = timelines("d", runs)
    assert (timeline.device, timeline.table.device[0]) == (CPU, CPU)


# ------------------------------------------------------------------ what a traced step says of it


@pytest.mark.parametrize(
    "label, inputs",
    [
        ("[bfc 2.0MB] conv/Relu = _FusedConv2D(x, conv/w)", ["x", "conv/w"]),
        ("x = Relu(a(b))", ["a(b)"]),
        ("x = Placeholder()", [""]),
        ("(x) = Relu(y)", ["y"]),
        ("x = Relu", []),
        ("", []),
    ],
)
def test_inputs_of_a_label(label: str, inputs: list[str]) -> None:
    assert _inputs(label) == inputs


def node(**given: Any) -> Any:
    return message("NodeExecStats")(node_name="x", all_start_micros=100, **given)


@pytest.mark.parametrize(
    "temporary, on_device, peaks, scratch",
    [(30, 0, [], 30), (30, 5, [], 35), (30, 5, [20], 20), (30, 5, [20, 10], 30), (30, 5, [99], 35)],
)
def test_scratch_is_no_more_than_was_ever_held(
    temporary: int, on_device: int, peaks: list[int], scratch: int
) -> None:
    stats = {"temp_memory_size": temporary, "device_temp_memory_size": on_device}
    found = node(memory_stats=stats, memory=[{"peak_bytes": peak} for peak in peaks])
    assert _scratch(found) == scratch


def test_a_run() -> None:
    memory = [
        {"allocator_name": "bfc", "allocator_bytes_in_use": 500, "total_bytes": 0},
        {"allocator_name": "cpu", "total_bytes": 0},
    ]
    made = _run(
        node(timeline_label="x = Relu(y)", op_end_rel_micros=7, all_end_rel_micros=9, memory=memory), GPU
    )
    assert (made.node, made.op, made.start, made.end, made.released) == ("x", "Relu", 100, 107, 109)
    assert (made.inputs, made.scratch, made.in_use) == (["y"], [("bfc", 0)], [("bfc", 500)])
    assert (made.device, made.makes) == (GPU, False)
    assert _run(node(all_end_rel_micros=9), GPU).end == 109
    assert _run(node(), GPU).scratch == ()
    assert _run(node(memory=[{"total_bytes": 1}]), GPU).makes


def described(slot: int = 0, name: str = "bfc", allocated: int = 512, **more: Any) -> dict[str, Any]:
    where = {"allocator_name": name, "allocated_bytes": allocated, "requested_bytes": 400, "ptr": 8}
    shape = {"dim": [{"size": 10}, {"size": 10}]} | more
    return {
        "slot": slot,
        "tensor_description": {"dtype": 1, "shape": shape, "allocation_description": where},
    }


def test_outputs_of_a_run() -> None:
    first, second, open_shape = _run(
        node(output=[described(), described(1, allocated=0), described(2, unknown_rank=True)]), GPU
    ).outputs
    assert (first.reference, first.allocator, first.size, first.requested) == ("x", "bfc", 512, 400)
    assert (first.shape, first.dtype, first.address, first.buffer) == ((10, 10), "float32", 8, 0)
    assert (second.reference, second.size) == ("x:1", 400)
    assert (open_shape.reference, open_shape.shape) == ("x:2", None)
    assert _run(node(output=[described(name="cpu")]), GPU).scratch == [("cpu", 0)]


def test_devices_without_records_the_busiest_first() -> None:
    stats = message("StepStats")()
    for device, size in ((CPU, 512), (GPU, 4096), (GPU + "/stream:all", 9999)):
        stats.dev_stats.add(device=device).node_stats.add(
            node_name="x", timeline_label="x = Relu(y)", output=[described(name=device[-5:], allocated=size)]
        )
    assert [(each.device, each.peak_bytes) for each in of_step(stats)] == [(GPU, 4096), (CPU, 512)]
    (known,) = (each for each in of_step(stats) if each.device == GPU)
    assert [each.device for each in of_step(stats, [known])] == [CPU]


@pytest.mark.parametrize("op, told", [("Const", False), ("VariableV2", True), ("Relu", True)])
def test_constants_alone_are_no_step(op: str, told: bool) -> None:
    stats = message("StepStats")()
    stats.dev_stats.add(device=GPU).node_stats.add(
        node_name="x", timeline_label=f"x = {op}()", output=[described()]
    )
    assert bool([*of_step(stats)]) is told
