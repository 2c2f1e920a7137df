"""Allocation records of node executions: which free ends which row, what a row holds, what stood before."""

from __future__ import annotations

from typing import Any

import pytest

from tfmemlens.model.allocation import BEFORE, ELSEWHERE, OUTPUT, PERSISTENT, TEMPORARY
from tfmemlens.model.timeline import BaselineSource, Timeline
from tfmemlens.readers.timelines import step_stats
from tfmemlens.readers.timelines.baseline import UseChange
from tfmemlens.schema import message
from tfmemlens.use_cases.traced_step import of_run_metadata

SMALL, LARGE = 256, 4096


def traced(*records: tuple[int, int]) -> Timeline:
    """A step of one node with these records (bytes, microsecond)."""
    metadata = message("RunMetadata")()
    device = metadata.step_stats.dev_stats.add(device="/job:localhost/replica:0/task:0/device:GPU:0")
    node = device.node_stats.add(
        node_name="net/a", all_start_micros=0, op_end_rel_micros=9, all_end_rel_micros=9
    )
    memory = node.memory.add(allocator_name="GPU_0_bfc")
    for size, micros in records:
        memory.allocation_records.add(alloc_bytes=size, alloc_micros=micros)
    (timeline,) = of_run_metadata(metadata).timelines
    return timeline


def lives(timeline: Timeline) -> list[tuple[int, float | None, float | None]]:
    table = timeline.table
    return sorted(
        zip(table.size_bytes, table.start_micros, table.end_micros, strict=True),
        key=lambda life: life[1] or 0,
    )


def test_a_free_ends_the_oldest_living_row_of_its_size() -> None:
    assert lives(traced((SMALL, 1), (SMALL, 2), (SMALL, 3), (-SMALL, 5), (-SMALL, 7))) == [
        (SMALL, 1, 5),
        (SMALL, 2, 7),
        (SMALL, 3, None),
    ]


def test_a_free_ends_no_row_of_another_size() -> None:
    assert lives(traced((SMALL, 1), (LARGE, 2), (-LARGE, 5))) == [(SMALL, 1, None), (LARGE, 2, 5)]


def test_one_allocation_and_its_free() -> None:
    assert lives(traced((SMALL, 1), (-SMALL, 5))) == [(SMALL, 1, 5)]


def test_a_free_before_its_allocation_is_of_another_buffer() -> None:
    assert (SMALL, 3, None) in lives(traced((-SMALL, 1), (SMALL, 3)))


# ------------------------------------------------------------------ several nodes, devices and allocators

JOB = "/job:localhost/replica:0/task:0"
GPU, CPU = f"{JOB}/device:GPU:0", f"{JOB}/device:CPU:0"


def output(size: int, ptr: int = 8, name: str = "bfc", requested: int = 100, **shape: Any) -> dict[str, Any]:
    where = {"allocator_name": name, "allocated_bytes": size, "requested_bytes": requested, "ptr": ptr}
    shape = shape or {"dim": [{"size": 5}, {"size": 5}]}
    return {"tensor_description": {"dtype": 1, "shape": shape, "allocation_description": where}}


def memory(*records: tuple[int, int], name: str = "bfc", in_use: int = 0) -> dict[str, Any]:
    return {
        "allocator_name": name,
        "allocator_bytes_in_use": in_use,
        "allocation_records": [{"alloc_bytes": size, "alloc_micros": micros} for size, micros in records],
    }


def node(name: str, start: int, *memories: dict[str, Any], op: str = "Relu(x)", **more: Any) -> Any:
    """An execution that ends 20 us after its start, its kernel 10 us before."""
    return message("NodeExecStats")(
        node_name=name, all_start_micros=start, op_end_rel_micros=10, all_end_rel_micros=20,
        timeline_label=f"{name} = {op}", memory=memories, **more,
    )  # fmt: skip


def steps(**devices: list[Any]) -> list[Timeline]:
    """The timelines of these nodes by device."""
    stats = message("StepStats")()
    for device, nodes in devices.items():
        stats.dev_stats.add(device=device, node_stats=nodes)
    return list(step_stats.timelines(stats))


def step(*nodes: Any) -> Timeline:
    (timeline,) = steps(**{GPU: [*nodes]})
    return timeline


@pytest.mark.parametrize(
    "device, kept",
    [
        (GPU, True),
        ("/job:localhost/replica:0/task:0/gpu:0", True),
        ("/gpu:0", True),
        ("/job:w/device:TPU:3", True),
        ("/device:GPU:0", False),
        ("/device:GPU:0/stream:all", False),
        ("/host:CPU", False),
        (f"{GPU}/stream:all", False),
        (f"{GPU}/memcpy", False),
    ],
)
def test_lanes_of_the_hardware_repeat_others(device: str, kept: bool) -> None:
    assert step_stats.keeps_memory(device) is kept


def test_where_nothing_else_is_traced_any_lane_counts() -> None:
    held = node("a", 0, memory((512, 1)))
    assert [each.device for each in steps(**{GPU: [held], f"{GPU}/memcpy": [held]})] == [GPU]
    assert len(steps(**{"/host:CPU": [held], "other": [held]})) == 2


def test_allocators_the_busiest_first() -> None:
    held = node("a", 0, memory((512, 1)), memory((4096, 1), name="host"), memory(name="idle"))
    assert [(each.allocator, each.peak_bytes) for each in steps(**{GPU: [held]})] == [
        ("host", 4096), ("bfc", 512),
    ]  # fmt: skip


def test_devices_of_a_process_share_an_allocator() -> None:
    """The CPUs do, and the host's memory that a GPU's ops take; another task's has the same name only."""
    other = CPU.replace("task:0", "task:1")
    first, second = steps(
        **{
            CPU: [node("a", 0, memory((512, 1))), node("b", 0, memory((256, 2)))],
            GPU: [node("quiet", 0), node("c", 0, memory((1024, 3), (64, 4), (-64, 9)))],
            other: [node("d", 0, memory((128, 3)))],
        }
    )
    assert (first.device, second.device) == (CPU, other)
    assert [*first.table.node] == ["a", "b", "c", "c"]
    assert [*first.table.device] == [CPU, CPU, GPU, GPU]
    assert [*first.table.purpose] == [None, None, None, TEMPORARY]
    assert ({*first.table.count}, {*first.table.error_bytes}) == ({1}, {0})
    assert [*first.executions.node] == ["a", "b", "quiet", "c"]
    assert [*first.executions.label][2:] == ["quiet = Relu(x)", "c = Relu(x)"]
    assert [*first.executions.end_micros] == [20, 20, 20, 20]
    assert [*first.table.op] == ["Relu"] * 4
    assert [*second.table.node] == ["d"]


@pytest.mark.parametrize("in_use, before", [(1000, 488), (0, 0)])
def test_the_allocators_figure_counts_after_the_kernel(in_use: int, before: int) -> None:
    """512 bytes were made 5 us after the start, and 64 more 25 us after it; 4096 were gone by then."""
    timeline = step(
        node("early", 90, memory((4096, 95), (-4096, 100))),
        node("a", 100, memory((512, 105), (64, 125), in_use=in_use)),
    )
    assert timeline.before_bytes == before
    known = timeline.baseline_source is BaselineSource.ALLOCATOR
    assert known is bool(in_use)


class TestWhatRowsHold:
    def test_outputs_are_found_by_size_the_last_row_first(self) -> None:
        nodes = (
            node(
                "a", 0, memory((512, 1), (512, 2), (256, 3), (-512, 30)),
                output=[output(512, 8), output(512, 16, unknown_rank=True)],
            ),
            node("b", 40, memory((512, 41))),
        )  # fmt: skip
        table = step(*nodes).table
        assert [*table.requested_bytes] == [100, 100, None, None]
        assert [*table.shape] == [None, (5, 5), None, None]
        assert [*table.dtype] == ["float32", "float32", None, None]
        assert [*table.purpose] == [OUTPUT, OUTPUT, None, None]
        backward = step(*nodes).table
        assert [backward.purpose[row] for row in (3, 2, 1, 0)] == [None, None, OUTPUT, OUTPUT]

    def test_all_rows_of_the_node_are_searched_and_none_beside(self) -> None:
        shown = {"output": [output(512)]}
        last = step(node("a", 0, memory((64, 1), (64, 2), (512, 3)), **shown)).table
        assert [*last.purpose] == [None, None, OUTPUT]
        other, small = node("m", 5, memory((512, 6))), memory((64, 1), (128, 2))
        assert [*step(node("n", 0, small, **shown), other).table.purpose] == [None] * 3
        assert [*step(other, node("n", 9, memory((64, 9)), **shown)).table.purpose] == [None] * 2

    @pytest.mark.parametrize(
        "shown, matched",
        [
            (output(512), True),
            (output(512, 0), False),  # no buffer
            (output(512, name="host"), False),
            (output(256), False),
        ],
    )
    def test_only_where_allocator_and_size_agree(self, shown: dict[str, Any], matched: bool) -> None:
        timeline = step(node("a", 0, memory((512, 1)), output=[shown]))
        assert (timeline.table.purpose[0] == OUTPUT) is matched

    def test_a_number_is_as_good_as_a_place(self) -> None:
        shown = output(512, 0)
        shown["tensor_description"]["allocation_description"]["allocation_id"] = 3
        assert step(node("a", 0, memory((512, 1)), output=[shown])).table.purpose[0] == OUTPUT

    @pytest.mark.parametrize("freed, purpose", [(19, TEMPORARY), (20, TEMPORARY), (21, None), (None, None)])
    def test_what_is_gone_with_its_node_was_temporary(self, freed: int | None, purpose: str | None) -> None:
        records = [(512, 1)] + ([(-512, freed)] if freed else [])
        timeline = step(node("quiet", 0), node("a", 0, memory(*records)))
        assert timeline.table.purpose[0] == purpose

    def test_a_node_keeps_to_its_own_rows(self) -> None:
        """The second has no output; the first and the third do."""
        shown = {"output": [output(512)]}
        timeline = step(
            node("a", 0, memory((512, 1)), **shown), node("b", 5, memory((512, 6))),
            node("c", 9, memory((512, 10)), **shown),
        )  # fmt: skip
        assert [*timeline.table.purpose] == [OUTPUT, None, OUTPUT]
        assert [timeline.table[row].shape for row in (2, 1, 0)] == [(5, 5), None, (5, 5)]


class TestStanding:
    def standing(self, *nodes: Any) -> list[tuple[str | None, int, int | None]]:
        table = step(*nodes).standing
        return [*zip(table.node, table.size_bytes, table.requested_bytes, strict=True)]

    def test_what_outputs_show_that_the_step_did_not_make(self) -> None:
        timeline = step(
            node("w", 0, op="VariableV2()", output=[output(4096, 64)]),
            node("a", 5, memory((512, 6)), output=[output(512, 8)]),
            node("again", 9, output=[output(512, 8), output(4096, 64)]),
        )
        (row,) = timeline.standing
        assert (row.node, row.size_bytes, row.requested_bytes, row.op) == ("w", 4096, 100, "VariableV2")
        assert (row.device, row.allocator, row.purpose) == (GPU, "bfc", PERSISTENT)
        assert (row.count, row.error_bytes) == (1, 0)
        assert (row.shape, row.dtype, row.start_micros, row.end_micros) == ((5, 5), "float32", None, None)
        assert (timeline.baseline_bytes, timeline.baseline_source) == (4096, BaselineSource.STANDING)

    @pytest.mark.parametrize(
        "shown, seen",
        [
            (output(4096, 0), False),
            (output(4096, 64, name="host"), False),
            (output(4096, 64), True),
        ],
    )
    def test_what_shows_no_buffer_of_this_allocator(self, shown: dict[str, Any], seen: bool) -> None:
        found = self.standing(node("w", 0, output=[shown]), node("a", 5, memory((512, 6))))
        assert bool(found) is seen

    def test_of_a_size_that_is_asked_for_where_no_other_is_known(self) -> None:
        found = self.standing(node("w", 0, output=[output(0, 64)]), node("a", 5, memory((512, 6))))
        assert found == [("w", 100, 100)]

    def test_what_the_step_put_away_itself(self) -> None:
        taken = "TensorArrayReadV3(h, 0)"
        shown = {"output": [output(4096, 64)]}
        assert self.standing(node("r", 0, op=taken, **shown), node("a", 5, memory((512, 6)))) == []
        held = node("r", 0, memory((512, 6)), op=taken, **shown)
        assert self.standing(held, node("w", 5, **shown)) == [("w", 4096, 100)]

    def test_what_was_made_before_it_was_shown_as_standing(self) -> None:
        """It ran twice: the second time it shows what it made first."""
        shown = {"output": [output(512, 8)]}
        assert self.standing(node("x", 0, **shown), node("x", 5, memory((512, 6)), **shown)) == []
        beside = node("x", 5, memory((256, 6)), **shown)
        assert self.standing(node("q", 0), beside) == [("x", 512, 100)]
        both = node("x", 5, memory((64, 6), (512, 7), (32, 8)), **shown)
        assert self.standing(both, node("again", 9, **shown)) == []

    @pytest.mark.parametrize(
        "label, seen",
        [
            ("VariableV2()", True),
            ("Const(^x)", True),
            ("ReadVariableOp(h)", True),
            ("_Arg(x)", True),
            ("Relu(x)", False),
        ],
    )
    def test_of_a_long_step_only_those_that_may_show_one(
        self, monkeypatch: pytest.MonkeyPatch, label: str, seen: bool
    ) -> None:
        nodes = (
            node("q", 0), node("w", 0, op=label, output=[output(4096, 64)]), node("a", 5, memory((512, 6)))
        )  # fmt: skip
        for most, expected in ((3, True), (2, seen)):
            monkeypatch.setattr(step_stats, "_MAX_NODES", most)
            assert bool(self.standing(*nodes)) is expected
        assert step_stats._may_stand("")


class TestChanges:
    """1 MiB stands; a variable of 4096 bytes gets another buffer at 500 us."""

    def sampled(self, *update: Any, then: int, later: tuple[Any, ...] = ()) -> Timeline:
        base = 1 << 20
        quiet = [node(f"q{at}", 10 * at, memory(in_use=base)) for at in range(20)]
        late = [node(f"r{at}", 600 + 10 * at, memory(in_use=base + then)) for at in range(20)]
        return step(*quiet, *update, *late, *later)

    @staticmethod
    def gone(timeline: Timeline) -> list[tuple[Any, ...]]:
        return [
            (row.node, row.size_bytes, row.start_micros, row.end_micros, row.purpose, row.op)
            for row in timeline.table
            if row.purpose in (BEFORE, ELSEWHERE)
        ]

    def test_a_variable_that_got_a_new_buffer(self) -> None:
        update = node("adam", 495, memory((4096, 500)), op="ResourceApplyAdam(net/w, m, v)")
        timeline = self.sampled(update, then=0)
        assert self.gone(timeline) == [("net/w", 4096, 500, 500, BEFORE, None)]
        assert (timeline.baseline_bytes, timeline.before_bytes) == ((1 << 20) - 4096, 1 << 20)
        assert timeline.baseline_confidence == 1.0

    def test_one_after_the_other(self) -> None:
        first, second = (
            node(name, start, memory((4096, start + 5)), op=f"Assign({name}, x)")
            for name, start in (("v", 495), ("w", 895))
        )
        late = [node(f"s{at}", 1000 + 10 * at, memory(in_use=1 << 20)) for at in range(20)]
        timeline = self.sampled(first, then=0, later=(second, *late))
        assert [row[:4] for row in self.gone(timeline)] == [("v", 4096, 500, 500), ("w", 4096, 500, 900)]
        assert timeline.baseline_bytes == (1 << 20) - 2 * 4096

    def test_of_two_updates_nobody_knows_which(self) -> None:
        updates = [node(name, 495, memory((4096, 500)), op=f"Assign({name}, x)") for name in ("a", "b")]
        timeline = self.sampled(*updates, then=4096)
        assert [row[0] for row in self.gone(timeline)] == [None]
        assert self.gone(timeline)[0][1:4] == (4096, 500, 210)

    @pytest.mark.parametrize(
        "size, label, named",
        [
            (4096, "AssignVariableOp(w, x)", True),
            (2049, "Assign(w, x)", True),
            (2048, "Assign(w, x)", False),
            (8191, "Assign(w, x)", True),
            (8192, "Assign(w, x)", False),
            (4096, "Relu(w)", False),
        ],
    )
    def test_by_its_size_and_its_op(self, size: int, label: str, named: bool) -> None:
        change = UseChange(300, 600, -4096)
        ran = step_stats._Executed(GPU, [node("u", 495, memory((size, 500)), op=label)], ["u"])
        ran.start_micros.append(495)
        ran.end_micros.append(515)
        found = step_stats._replacement([step_stats._Place(ran, 0, 0)], change)
        assert found == (("w", 500) if named else (None, 300))

    @pytest.mark.parametrize(
        "before, after, made, since",
        [
            (300, 495, 490, 490),
            (300, 494, 490, None),
            (515, 600, 500, 515),
            (516, 600, 500, None),
            (300, 500, 500, 500),
            (300, 499, 500, None),
        ],
    )
    def test_by_its_time(self, before: float, after: float, made: int, since: float | None) -> None:
        ran = step_stats._Executed(GPU, [node("u", 495, memory((4096, made)), op="Assign(w, x)")], ["u"])
        ran.start_micros.append(495)
        ran.end_micros.append(515)
        found = step_stats._replacement([step_stats._Place(ran, 0, 0)], UseChange(before, after, -4096))
        assert found == ((None, before) if since is None else ("w", since))

    def test_what_somebody_else_allocates(self) -> None:
        timeline = self.sampled(node("a", 495, memory((512, 500))), then=512 + 8192)
        assert self.gone(timeline) == [(None, 8192, 210, None, ELSEWHERE, None)]
        assert timeline.baseline_bytes == 1 << 20


@pytest.mark.parametrize(
    "label, op",
    [
        ("[bfc 2.0MB 2.0MB] conv/Relu = _FusedConv2D(x, conv/w)", "_FusedConv2D"),
        ("x = Relu(y = z(1))", "Relu"),
        (" = Relu()", "Relu"),
        ("f(x) = Relu", None),
        ("Relu(x)", None),
        ("", None),
    ],
)
def test_the_op_of_a_label(label: str, op: str | None) -> None:
    assert step_stats.op_of(label) == op
