"""What values work out of their own fields: one small example of each, with its near misses."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.builders import MIB, row, timeline
from tfmemlens.errors import BooksDoNotBalance
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import NOBODY, Attribution, Kind, Owner, Phase, group_rows
from tfmemlens.model.capture import (
    Capture,
    Hints,
    Holds,
    Progress,
    Source,
    Surroundings,
)
from tfmemlens.model.case import Api, Balance, Case, Fits, Moment, Request
from tfmemlens.model.convolution import Convolution, ConvolutionKind
from tfmemlens.model.difference import ComparedInput, ComparedItem, Difference
from tfmemlens.model.finding import Certainty, Remedy
from tfmemlens.model.fit import BatchPrediction
from tfmemlens.model.graph import Graph, Node, split_reference, variables_on
from tfmemlens.model.incident import AllocatorState, CompilerMemory, FailedRequest, Incident, SizeClass
from tfmemlens.model.layers import LayerPrediction, LayerSummary, LayerTotals
from tfmemlens.model.layout import LayoutCopy, LayoutStudy, PeakWithout
from tfmemlens.model.lazy_column import ComputedColumn, LazyColumn
from tfmemlens.model.lazy_nodes import LazyNodes, NodeColumns
from tfmemlens.model.ledger import Ledger
from tfmemlens.model.line import Line, ReadNote
from tfmemlens.model.network import LayerSpec, Network, NetworkCall, TensorRef, WeightSpec
from tfmemlens.model.report import Report
from tfmemlens.model.settings import StepSettings
from tfmemlens.model.tensor import (
    ITEM_BYTES,
    TensorType,
    enum_of,
    numpy_dtype,
    numpy_dtype_of_enum,
    parse_shape,
    tensor_bytes,
)
from tfmemlens.model.timeline import BaselineSource, CurveSource, Timeline
from tfmemlens.model.what_if import Saving
from tfmemlens.units import Size
from tfmemlens.values import replace

SIZE = Size.exactly


class TestTensors:
    @pytest.mark.parametrize("bits", [4, 8, 16, 32, 64])
    def test_dialects_of_whole_numbers(self, bits: int) -> None:
        assert numpy_dtype(f"s{bits}") == f"int{bits}"
        assert numpy_dtype(f"u{bits}") == f"uint{bits}"
        assert ITEM_BYTES[f"int{bits}"] == ITEM_BYTES[f"uint{bits}"] == max(bits // 8, 1)

    def test_no_other_width_is_known(self) -> None:
        assert [numpy_dtype(f"{letter}{bits}") for letter in "su" for bits in (5, 9, 17, 33, 65)] == [
            f"{letter}{bits}" for letter in "su" for bits in (5, 9, 17, 33, 65)
        ]

    @pytest.mark.parametrize(
        "name, count",
        [
            ("bool", 1),
            ("float8_e5m2", 1),
            ("bfloat16", 2),
            ("float32", 4),
            ("complex64", 8),
            ("complex128", 16),
        ],
    )
    def test_bytes_of_an_element(self, name: str, count: int) -> None:
        assert tensor_bytes((3, 5), name) == 15 * count

    @pytest.mark.parametrize(
        "shape, dtype, expected",
        [
            ((), "float32", 4),
            ((0, 7), "float32", 0),
            ((2, None), "float32", None),
            (None, "float32", None),
            ((2,), "string", None),
            ((2,), None, None),
            ((2**78,), "float32", 2**80),  # as much as anybody counts
            ((2**78 + 1,), "float32", None),
        ],
    )
    def test_bytes_of_a_tensor(self, shape: Any, dtype: str | None, expected: int | None) -> None:
        assert tensor_bytes(shape, dtype) == expected
        assert TensorType(shape, dtype).bytes == expected

    @pytest.mark.parametrize(
        "number, name",
        [
            (0, None),
            (1, "float32"),
            (2, "float64"),
            (25, "float8_e4m3fn"),
            (26, None),
            (100, None),
            (101, "float32"),
        ],
    )
    def test_the_enum(self, number: int, name: str | None) -> None:
        assert numpy_dtype_of_enum(number) == name

    def test_names_of_the_enum(self) -> None:
        assert [enum_of(name) for name in ("DT_FLOAT", "DT_FLOAT_REF", "DT_HALF", "DT_X", "DT_X_REF")] == [
            1, 101, 19, 0, 0,
        ]  # fmt: skip

    @pytest.mark.parametrize(
        "text, shape",
        [("2x3", (2, 3)), ("[?, 0]", (None, 0)), ("none,-1,4", (None, None, 4)), ("2*3", (2, 3))],
    )
    def test_a_typed_shape(self, text: str, shape: tuple[int | None, ...]) -> None:
        assert parse_shape(text) == shape

    @pytest.mark.parametrize("text", ["", "[]", "2,a", "2,-2", "2.5"])
    def test_what_is_no_shape(self, text: str) -> None:
        with pytest.raises(ValueError):
            parse_shape(text)


def convolution(kind: ConvolutionKind, filters: int = 7) -> Convolution:
    return Convolution(kind, (2, 11, 13, 3), (5, 4), filters, (1, 1), (1, 1), dtype="float16")


def test_a_convolution() -> None:
    plain = convolution(ConvolutionKind.CONV)
    assert (plain.batch, plain.channels, plain.out_channels, plain.item_bytes) == (2, 3, 7, 2)
    assert (plain.kernel_shape, plain.kernel_bytes) == ((5, 4, 3, 7), 5 * 4 * 3 * 7 * 2)
    assert plain.input_bytes == 2 * 11 * 13 * 3 * 2
    assert convolution(ConvolutionKind.TRANSPOSED).kernel_shape == (5, 4, 7, 3)
    assert convolution(ConvolutionKind.TRANSPOSED).out_channels == 7
    assert convolution(ConvolutionKind.DEPTHWISE).out_channels == 21


def table(*rows: Allocation) -> AllocationTable:
    return AllocationTable.of(rows)


class TestTables:
    rows = (Allocation("a", 10, count=3, error_bytes=2), Allocation("b", 5), Allocation("c", 7, count=2))

    def test_sums_count_multiplicities(self) -> None:
        assert [each.total_bytes for each in self.rows] == [30, 5, 14]
        whole = table(*self.rows)
        assert (len(whole), whole.total_bytes, whole.total_error_bytes) == (3, 49, 6)
        assert [whole[index] for index in range(3)] == list(whole) == list(self.rows)

    def test_precision_is_that_of_the_worst_row(self) -> None:
        assert [each.precision for each in self.rows] == ["printed", "exact", "exact"]
        assert table(*self.rows).precision == "printed"
        assert table(*self.rows[1:]).precision == "exact"

    def test_a_frame_has_a_row_for_each(self) -> None:
        frame = table(*self.rows, Allocation("d", 1, line=Line(8, "x"))).to_frame()
        assert list(frame["size_bytes"]) == [10, 5, 7, 1]
        assert frame["line"].isna().tolist() == [True, True, True, False]
        assert frame["line"][3] == 8


OWNERS = (
    Owner("net/a", Kind.ACTIVATION, Phase.FORWARD, "Relu"),
    Owner("net/b", Kind.GRADIENT, Phase.GRADIENT),
    Owner(None, Kind.ACTIVATION, Phase.FORWARD, "Relu"),
)


class TestAttributions:
    attribution = Attribution(table(*TestTables.rows), OWNERS, {"net/a": 4})

    @pytest.mark.parametrize(
        "key, expected",
        [
            ("kind", [("activation", 44, 2, 5), ("gradient", 5, 1, 1)]),
            ("phase", [("forward", 44, 2, 5), ("gradient", 5, 1, 1)]),
            ("layer", [("net/a", 30, 1, 3), (None, 14, 1, 2), ("net/b", 5, 1, 1)]),
            ("scope", [("net", 35, 2, 4), (None, 14, 1, 2)]),
            ("op", [("Relu", 44, 2, 5), (None, 5, 1, 1)]),
            ("node", [("a", 30, 1, 3), ("c", 14, 1, 2), ("b", 5, 1, 1)]),
        ],
    )
    def test_groups(self, key: str, expected: list[tuple[str | None, int, int, int]]) -> None:
        groups = self.attribution.by(key)
        assert [(each.name, each.total_bytes, each.rows, each.count) for each in groups] == expected

    def test_calls_are_those_of_layers(self) -> None:
        assert [each.calls for each in self.attribution.by("layer")] == [4, 1, 1]
        assert {each.calls for each in self.attribution.by("node")} == {1}
        same_name = Attribution(table(Allocation("net/a", 1)), OWNERS[:1], {"net/a": 4})
        assert [each.calls for each in same_name.by("node")] == [1]

    def test_rows_by_size_and_kind(self) -> None:
        assert [index for *_, index in self.attribution.ranked] == [0, 2, 1]
        assert [index for *_, index in self.attribution.ranked_by_kind[Kind.ACTIVATION]] == [0, 2]

    def test_equal_groups_stand_in_order_of_names_the_nameless_last(self) -> None:
        groups = group_rows([(None, 1, 1, NOBODY), ("b", 1, 1, NOBODY), ("a", 1, 1, NOBODY)])
        assert [each.name for each in groups] == ["a", "b", None]

    def test_kinds_of_a_group_largest_first_then_by_name(self) -> None:
        owners = [Owner("x", kind, Phase.NONE) for kind in (Kind.TRANSFER, Kind.INPUT, Kind.CONSTANT)]
        (group,) = group_rows(("x", size, 1, owner) for size, owner in zip((4, 4, 9), owners, strict=True))
        assert group.kinds == ((Kind.CONSTANT, 9), (Kind.INPUT, 4), (Kind.TRANSFER, 4))

    def test_every_row_needs_an_owner(self) -> None:
        with pytest.raises(BooksDoNotBalance):
            Attribution(table(*TestTables.rows), OWNERS[:2])


def item(before: int | None, after: int | None) -> ComparedItem:
    return ComparedItem(
        None if before is None else "old", None if after is None else "new", before or 0, after or 0
    )


@pytest.mark.parametrize(
    "before, after, state, change, name",
    [
        (None, 5, "new", 5, "new"),
        (5, None, "gone", -5, "old"),
        (5, 5, "same", 0, "new"),
        (5, 6, "grew", 1, "new"),
        (6, 5, "shrank", -1, "new"),
    ],
)
def test_a_compared_item(before: int | None, after: int | None, state: str, change: int, name: str) -> None:
    compared = item(before, after)
    assert (compared.state, compared.change_bytes, compared.name) == (state, change, name)


@pytest.mark.parametrize(
    "before, after, share", [(100, 105, 0.05), (100, 50, -0.5), (0, 5, None), (0, 0, 0.0), (8, 8, 0.0)]
)
def test_a_difference(before: int, after: int, share: float | None) -> None:
    sides = [ComparedInput("x", "peak", total, 0, {}) for total in (before, after)]
    found = Difference(sides[0], sides[1], (), (), ())
    assert (found.change_bytes, found.change_share) == (after - before, share)


class TestTimelines:
    lives = timeline(row("a", 4, 0, 3), row("b", 2, 1, 2), row("c", 5, 4, None), baseline_mib=10)

    def test_the_curve_and_its_peak(self) -> None:
        assert self.lives.curve == [MIB * each for each in (14, 16, 14, 10, 15)]
        assert (self.lives.peak_index, self.lives.peak_micros) == (1, 1000)
        assert timeline().peak_index == -1

    @pytest.mark.parametrize("micros, index", [(-1, -1), (0, 0), (999, 0), (1000, 1), (4000, 4), (9000, 4)])
    def test_the_event_at_a_time(self, micros: float, index: int) -> None:
        assert self.lives.index_at(micros) == index

    @pytest.mark.parametrize("index, rows", [(-1, []), (0, [0]), (1, [0, 1]), (2, [0]), (3, []), (4, [2])])
    def test_who_is_alive(self, index: int, rows: list[int]) -> None:
        assert self.lives.alive_after(index) == rows

    def test_a_row_of_no_bytes_lives(self) -> None:
        assert timeline(row("a", 0, 0, None)).alive_after(0) == [0]

    @pytest.mark.parametrize("gone, mib", [({0}, 15), ({0, 2}, 12), ({0, 1, 2}, 10), (set(), 16)])
    def test_the_peak_without(self, gone: set[int], mib: int) -> None:
        assert self.lives.peak_without(gone.__contains__) == mib * MIB

    def test_another_baseline_shares_what_follows_from_the_table(self) -> None:
        moved = self.lives.standing_on(0, 0.5, BaselineSource.EVENTS)
        assert moved.events is self.lives.events
        assert moved.curve == [each - 10 * MIB for each in self.lives.curve]
        assert (moved.baseline_confidence, moved.baseline_source) == (0.5, BaselineSource.EVENTS)
        owned = self.lives.owned({"a": NOBODY})
        assert owned.curve is self.lives.curve
        assert owned.owners == {"a": NOBODY}
        other = replace(owned, table=table(*self.lives.table))
        assert other.events is not self.lives.events

    @pytest.mark.parametrize("column", ["size_bytes", "start_micros", "end_micros"])
    def test_more_said_of_the_rows_changes_no_curve(self, column: str) -> None:
        """Sizes and times are what the curve is made of."""
        lives = timeline(row("a", 4, 0, 3), row("b", 2, 1, 2), baseline_mib=10)
        named = replace(lives, table=replace(lives.table, op=["Relu", "Relu"]), original=lives)
        assert named.events is lives.events and named.curve is lives.curve
        other: Any = {column: [7, 9]}
        changed = replace(lives, table=replace(lives.table, **other), original=lives)
        assert changed.events == replace(changed, original=None).events != lives.events

    def test_the_peak_of_a_curve_is_the_originals(self) -> None:
        lives = timeline(row("a", 4, 0, 3), row("b", 2, 1, 2), baseline_mib=10)
        assert lives.peak_index == 1
        lives.__dict__["peak_index"] = 7  # nobody looks through the curve again
        assert replace(lives, original=lives).peak_index == 7
        assert lives.standing_on(0, None, BaselineSource.LOG).peak_index == 1

    @pytest.mark.parametrize(
        "changed, precision",
        [
            ({}, "exact"),
            ({"curve_source": CurveSource.COUNTERS}, "estimate"),
            ({"predicted": True}, "estimate"),
            ({"curve_source": CurveSource.LIVENESS}, "estimate"),
            (
                {"curve_source": CurveSource.LIVENESS, "baseline_source": BaselineSource.STANDING},
                "lower bound",
            ),
        ],
    )
    def test_what_the_curve_is_worth(self, changed: dict[str, Any], precision: str) -> None:
        assert replace(self.lives, **changed).precision == precision

    def test_the_last_execution_of_a_node_counts(self) -> None:
        assert timeline(ran=(("a", 0, 1), ("b", 1, 2), ("a", 2, 3))).runs == {"a": 2, "b": 1}


class TestGraphs:
    graph = Graph(
        {
            "x": Node("x", "Placeholder"),
            "s": Node("s", "Split", ("x",)),
            "y": Node("y", "Add", ("s", "s:1", "^x")),
            "z": Node("z", "Add", ("s:1", "y")),
        }
    )

    def test_readers_by_port(self) -> None:
        assert self.graph.consumers["x"] == (("s", 0, 0),)
        assert self.graph.consumers["s"] == (("y", 0, 0), ("y", 1, 1), ("z", 0, 1))
        assert self.graph.consumers["y"] == (("z", 1, 0),)
        assert "z" not in self.graph.consumers
        assert list(self.graph.consumers) == ["x", "s", "y"]
        assert len(self.graph.consumers) == 3

    def test_who_only_waits(self) -> None:
        assert self.graph.waiters == {"x": ("y",)}

    def test_by_op(self) -> None:
        assert self.graph.ops == {"Placeholder", "Split", "Add"}
        assert self.graph.names_of_ops({"Add"}) == ["y", "z"]
        assert self.graph.names_of_ops({"Mul"}) == ()
        assert [node.name for node in self.graph.of_ops(("Split", "Add"))] == ["s", "y", "z"]
        assert (self.graph.op_of("y"), self.graph.op_of("nobody")) == ("Add", None)
        assert (self.graph.inputs_of("z"), self.graph.inputs_of("nobody")) == (("s:1", "y"), ())
        assert (len(self.graph), [node.name for node in self.graph]) == (4, ["x", "s", "y", "z"])

    @pytest.mark.parametrize(
        "reference, expected",
        [("a", ("a", 0)), ("a:2", ("a", 2)), ("^a", ("a", 0)), ("a:out:3", ("a", 3)), ("a:out", ("a", 0))],
    )
    def test_a_reference(self, reference: str, expected: tuple[str, int]) -> None:
        assert split_reference(reference) == expected

    def test_variables_of_devices(self) -> None:
        devices = [
            "/job:a/replica:0/task:0/device:GPU:0",
            "/job:a/replica:0/task:0/device:GPU:1",
            "",
            "/device:GPU:1",
        ]
        variables = {str(at): Node(str(at), "VarHandleOp", device=each) for at, each in enumerate(devices)}
        found = variables_on(Graph(variables), f"{devices[0]}, x")
        assert [node.name for node in found] == ["0", "2", "3"]

    def test_lazy_nodes_are_made_once(self) -> None:
        made: list[str] = []
        nodes = LazyNodes(NodeColumns({"a": 0}, ["Add"], [()]), lambda name: made.append(name) or name)
        assert (nodes["a"], nodes["a"], made) == ("a", "a", ["a"])
        assert ("a" in nodes, "b" in nodes, len(nodes), list(nodes)) == (True, False, 1, ["a"])
        with pytest.raises(KeyError):
            nodes["b"]


def test_columns_that_are_made_when_looked_at() -> None:
    calls: list[int] = []
    lazy: LazyColumn[int] = LazyColumn(lambda: calls.append(1) or [5, 6, 7])
    assert not calls
    assert (lazy[0], lazy[-1], list(lazy), len(lazy), list(lazy[1:])) == (5, 7, [5, 6, 7], 3, [6, 7])
    assert calls == [1]
    computed = ComputedColumn(3, lambda index: index * index)
    assert (computed[0], computed[-1], list(computed), len(computed), computed[1:]) == (
        0,
        4,
        [0, 1, 4],
        3,
        [1, 4],
    )
    with pytest.raises(IndexError):
        computed[3]


@pytest.mark.parametrize("index, rows", [(-1, [0, 1]), (0, [1, 2]), (1, [1, 2]), (2, [1]), (3, [])])
def test_a_ledger_knows_who_is_alive(index: int, rows: list[int]) -> None:
    ledger = Ledger(AllocationTable(), (), (), birth=[-1, -1, 0], death=[0, 3, 2])
    assert ledger.alive(index) == rows


class TestSurroundings:
    progress = tuple(
        Progress(Line(number, "", source), step=number) for number, source in ((3, "a"), (7, "a"), (5, "b"))
    )

    @pytest.mark.parametrize(
        "line, step",
        [(Line(3, "", "a"), None), (Line(4, "", "a"), 3), (Line(7, "", "a"), 3), (Line(8, "", "a"), 7),
         (Line(9, "", "b"), 5), (Line(9, "", "c"), None), (None, None)],
    )  # fmt: skip
    def test_progress_before_a_line(self, line: Line | None, step: int | None) -> None:
        found = Surroundings(progress=self.progress).progress_before(line)
        assert (found.step if found else None) == step

    def test_the_last_value_of_a_setting(self) -> None:
        lines = [Line(number, "") for number in (1, 2)]
        seen = Surroundings(settings=(("a", "1", lines[0]), ("a", "2", lines[1]), ("b", "3", lines[1])))
        assert seen.setting("a") == ("2", lines[1])
        assert seen.setting("c") is None

    def test_what_a_text_shows(self) -> None:
        line = Line(1, "fit")
        assert Surroundings(purposes=(("training", line),)).shows("training") == line
        assert Surroundings().shows("training") is None


@pytest.mark.parametrize(
    "hints, feed",
    [
        (Hints(), ()),
        (Hints(batch=4), (4,)),
        (Hints(input_shape=(2, 3), batch=4), (2, 3)),
        (Hints(batch=0), ()),
    ],
)
def test_what_is_fed(hints: Hints, feed: tuple[int, ...]) -> None:
    assert hints.feed == feed


def test_reasons_are_the_first_two_notes_each_once() -> None:
    notes = tuple(map(ReadNote, ("a", "a", "b", "c")))
    assert Capture(Source("x"), notes=notes).reasons("none") == "a; b"
    assert Capture(Source("x")).reasons("none") == "none"


@pytest.mark.parametrize("holds", Holds)
def test_steps_are_what_was_traced(holds: Holds) -> None:
    assert holds.is_step == (holds.name in ("OUTPUTS", "SAMPLES", "ALLOCATIONS"))


class TestBalance:
    def test_listed_or_not(self) -> None:
        assert Balance(listed=SIZE(3), unlisted=SIZE(4)).total == SIZE(7)

    @pytest.mark.parametrize(
        "balance, available",
        [
            (Balance(free=SIZE(3), growable=SIZE(4), room=SIZE(99)), SIZE(7)),
            (Balance(free=SIZE(3)), SIZE(3)),
            (Balance(free=SIZE(0), room=SIZE(5)), SIZE(0)),
            (Balance(room=SIZE(5)), SIZE(5)),
            (Balance(), None),
        ],
    )
    def test_what_may_be_taken(self, balance: Balance, available: Size | None) -> None:
        assert balance.available == available


@pytest.mark.parametrize(
    "rounded, shape, size, needed",
    [
        (512, (10,), 40, 512),
        (0, (10,), 40, 0),
        (None, (10,), 41, 40),
        (None, None, 41, 41),
        (None, None, None, None),
        (-1, None, None, None),
        (None, None, -3, None),
    ],
)
def test_the_best_figure_of_a_request(
    rounded: int | None, shape: Any, size: int | None, needed: int | None
) -> None:
    failed = FailedRequest(shape=shape, dtype="float32", size=None if size is None else SIZE(size))
    assert Request(failed, NOBODY, rounded).needed_bytes == needed


def moment(*sizes: int, **changed: Any) -> Moment:
    rows = table(*(Allocation("a", size) for size in sizes))
    return Moment(Attribution(rows, [NOBODY] * len(sizes)), Balance(), **changed)


def predicted(**changed: Any) -> Timeline:
    return Timeline(
        **{"device": "CPU:0", "allocator": "cpu", "table": AllocationTable(), "predicted": True, **changed}
    )


class TestMoments:
    def test_buffers_that_no_compiler_lists(self) -> None:
        def unlisted(needed: int | None, asked: int | None = None, total: int | None = None) -> int:
            failed = FailedRequest(size=None if asked is None else SIZE(asked))
            whole = () if total is None else (("total", SIZE(total), Line(1, "")),)
            compiler = CompilerMemory(whole, needed=None if needed is None else SIZE(needed))
            incident = Incident(failed, compiler=compiler)
            return moment(
                10, 20, incident=incident, request=Request(failed, NOBODY, None)
            ).unlisted_buffer_bytes

        assert [unlisted(100), unlisted(31), unlisted(30), unlisted(5)] == [70, 1, 0, 0]
        assert [unlisted(None, 50), unlisted(100, 50), unlisted(None)] == [20, 70, 0]
        assert unlisted(None, 5, total=90) == 60  # the request is a part of the program
        assert [unlisted(None, 50, total=90), unlisted(40, 5, total=90), unlisted(None, 5)] == [60, 10, 0]
        assert moment(10, incident=Incident(FailedRequest())).unlisted_buffer_bytes == 0
        assert moment(10).unlisted_buffer_bytes == 0

    def test_blocks_of_an_allocator_are_no_buffers_of_a_program(self) -> None:
        failed, compiler = FailedRequest(size=SIZE(50)), CompilerMemory()
        incident = Incident(failed, compiler=compiler, size_classes=(SizeClass(1, 10),))
        of_a_dump = moment(10, incident=incident, request=Request(failed, NOBODY, None))
        assert of_a_dump.lists_blocks_alone and of_a_dump.unlisted_buffer_bytes == 0
        assert not moment(10, incident=Incident(failed, compiler=compiler)).lists_blocks_alone

    def test_all_that_is_known_to_be_in_use(self) -> None:
        assert moment(10, 20).accounted_bytes == 30
        assert replace(moment(10, 20), balance=Balance(outside_report=SIZE(7))).accounted_bytes == 37

    def test_an_error_bar_is_a_predictions(self) -> None:
        assert moment(1000, timeline=predicted(error_share=0.1)).error_bar == (900, 1100)
        assert moment(1000, timeline=predicted(error_share=0.1, lower_error_share=0.3)).error_bar == (
            700,
            1100,
        )
        assert moment(1000, timeline=predicted()).error_bar is None
        assert moment(1000, timeline=predicted(error_share=0.1, predicted=False)).error_bar is None
        assert moment(1000).error_bar is None

    def test_a_range_is_what_a_device_never_measured_has(self) -> None:
        assert moment(1, timeline=predicted(device="GPU:0")).is_range
        assert not moment(1, timeline=predicted()).is_range
        assert not moment(1, timeline=predicted(device="GPU:0", predicted=False)).is_range
        assert not moment(1).is_range

    @pytest.mark.parametrize(
        "limit, fits",
        [(1100, Fits.YES), (1099, Fits.UNDECIDED), (900, Fits.UNDECIDED), (899, Fits.NO), (None, None)],
    )
    def test_whether_it_fits(self, limit: int | None, fits: Fits | None) -> None:
        assert moment(1000, timeline=predicted(error_share=0.1, limit_bytes=limit)).fits is fits

    def test_whether_it_fits_is_asked_of_predictions_with_a_bar(self) -> None:
        assert moment(1000, timeline=predicted(limit_bytes=9)).fits is Fits.UNDECIDED
        assert moment(1000, timeline=predicted(limit_bytes=9, predicted=False)).fits is None
        assert moment(1000).fits is None

    def test_below_the_peak(self) -> None:
        peaks = timeline(row("a", 2, 0, 1))
        assert moment(2 * MIB - 1, timeline=peaks).below_peak
        assert not moment(2 * MIB, timeline=peaks).below_peak
        assert not moment(1).below_peak

    def test_of_several_devices_the_worst_decides(self) -> None:
        def report(*limits: int | None) -> Report:
            moments = tuple(
                moment(1000, timeline=predicted(error_share=0.1, limit_bytes=limit)) for limit in limits
            )
            return Report(Case(Capture(Source("x")), moments), (), "")

        assert [report(9999, 1000, 1).fits, report(9999, 1000).fits, report(9999).fits] == [
            Fits.NO, Fits.UNDECIDED, Fits.YES,
        ]  # fmt: skip
        assert [report(None).fits, report().fits, report().error_bar] == [None, None, None]
        assert report(5).error_bar == (900, 1100)


@pytest.mark.parametrize(
    "oldest, newest, tf1, tf2",
    [((1, 0), (1, 15), True, False), ((1, 0), (2, 0), False, False), ((2, 0), (2, 9), False, True),
     ((1, 15), (2, 9), False, False)],
)  # fmt: skip
def test_which_tensorflow(oldest: tuple[int, int], newest: tuple[int, int], tf1: bool, tf2: bool) -> None:
    api = Api(oldest, newest)
    assert (api.is_tf1, api.is_tf2) == (tf1, tf2)


def test_lines_of_figures_and_sizes_of_sections() -> None:
    line = Line(1, "Limit: 5")
    state = AllocatorState(lines=(("limit", line),))
    assert (state.line_of("limit"), state.line_of("peak")) == (line, None)
    memory = CompilerMemory((("parameter", SIZE(3), line), ("HLO temp", SIZE(4), line)))
    assert (memory.section("HLO temp"), memory.section("global")) == (SIZE(4), None)


@pytest.mark.parametrize(
    "saves, certainty, low, high, interval",
    [
        (5, Certainty.EXACT, None, None, (5, 5)),
        (5, Certainty.BOUND, None, None, (0, 5)),
        (-5, Certainty.BOUND, None, None, (-5, -5)),
        (5, Certainty.ESTIMATE, None, None, (None, None)),
        (5, Certainty.EXACT, 3, 9, (3, 9)),
        (None, Certainty.EXACT, None, None, (None, None)),
    ],
)
def test_the_interval_of_a_saving(
    saves: int | None, certainty: Certainty, low: int | None, high: int | None, interval: Any
) -> None:
    remedy = Remedy("x", saves_bytes=saves, certainty=certainty, low_bytes=low, high_bytes=high)
    assert (remedy.low_bytes, remedy.high_bytes) == interval


def test_the_name_of_a_remedy_is_its_changes() -> None:
    assert Remedy("x", change="sgd").slug == "sgd"
    assert Remedy("x", change="sgd", slug="own").slug == "own"
    assert Remedy("x").slug == ""
    assert (Saving("sgd").known, Saving("sgd", best_bytes=0).known) == (False, True)


@pytest.mark.parametrize(
    "predicted, measured, error", [(110, 100, 0.1), (90, 100, -0.1), (5, None, None), (5, 0, None)]
)
def test_the_error_of_a_prediction(predicted: int, measured: int | None, error: float | None) -> None:
    assert BatchPrediction(1, predicted, 0, 0, measured).error == (error and pytest.approx(error))


def prediction(batch: int) -> LayerPrediction:
    return LayerPrediction("Dense", 1, 11, 13, 1700, 190, 0, batch)


def test_layers_and_their_sums() -> None:
    assert [prediction(batch).activation_bytes_per_sample for batch in (1, 10, 0)] == [1700, 170, 1700]
    assert [prediction(batch).kept_bytes_per_sample for batch in (1, 10, 0)] == [190, 19, 190]
    layers = [LayerSummary("a", 2, 30, 500, "", (), prediction(10)), LayerSummary("b", 4, 10, 200, "")]
    assert LayerTotals.of(layers) == LayerTotals(6, 11, 40, 13, 700, 170, 19)
    assert LayerTotals.of([layers[0]] * 2) == LayerTotals(4, 22, 60, 26, 1000, 340, 38)


def copy(cause: str, shape: tuple[int | None, ...], **changed: Any) -> LayoutCopy:
    given: dict[str, Any] = {
        "node": "n", "op": "Transpose", "direction": "NCHWToNHWC", "source_layer": None, "producer": None,
        "consumers": (), "forced_by": None, "forced_op": None, **changed,
    }  # fmt: skip
    return LayoutCopy(tensor=TensorType(shape, "float32"), cause=cause, **given)


class TestLayout:
    study = LayoutStudy(
        (
            copy("constant", (2,), forced_by="v", forced_op="MulGrad"),
            copy("not-supported", (10,), retained=True, forced_op="A", also=(("m", "constant"),)),
            copy("not-supported", (None,), retained=True, forced_by="w", forced_op="BGrad"),
            copy("not-supported", (3,), forced_by="w", forced_op="A"),
        )
    )

    def test_sums(self) -> None:
        assert (self.study.bytes, self.study.retained_bytes, self.study.unknown) == (60, 40, 1)

    def test_by_cause_the_most_expensive_first(self) -> None:
        causes = self.study.causes
        assert [(each.slug, each.bytes, each.forced_by) for each in causes] == [
            ("not-supported", 52, ("w",)), ("constant", 8, ("v",)),
        ]  # fmt: skip

    def test_equal_causes_stand_by_the_number_of_copies_then_by_name(self) -> None:
        study = LayoutStudy(
            (
                copy("fetched", (2,)),
                copy("graph-input", (1,)),
                copy("graph-input", (1,)),
                copy("constant", (2,)),
            )
        )
        assert [each.slug for each in study.causes] == ["graph-input", "constant", "fetched"]

    def test_a_cause_has_the_words_that_the_study_carries(self) -> None:
        study = LayoutStudy((copy("constant", (2,)), copy("fetched", (1,))), reasons={"fetched": "it is"})
        assert {cause.slug: cause.because for cause in study.causes} == {"constant": "", "fetched": "it is"}

    def test_what_is_left_when_causes_go(self) -> None:
        assert [each.forced_op for each in self.study.left(["constant"]).copies] == ["MulGrad", "A"]
        assert self.study.left(["fetched"]).copies == ()

    def test_a_peak_without(self) -> None:
        peak = PeakWithout(100, 40, {"a": 70, "b": 110}, Certainty.BOUND, "")
        assert [peak.saved(cause) for cause in ("a", "b", "c")] == [30, 0, 0]


class TestNetworks:
    inner = Network(
        (LayerSpec("i", "Dense", weights=(WeightSpec("k", (3, 5)), WeightSpec("m", (7,), trainable=False))),)
    )
    network = Network(
        (
            LayerSpec("d", "Dense", weights=(WeightSpec("k", (2,)), WeightSpec("m", (11,), trainable=False))),
            LayerSpec("n", "Model", network=inner),
        )
    )

    def test_parameters_of_nested_models_count(self) -> None:
        assert (self.network.trainable_parameters, self.network.frozen_parameters) == (17, 18)
        assert self.network.parameters == 35
        assert [layer.parameters for layer in self.network] == [13, 22]

    def test_bytes_of_weights(self) -> None:
        assert [WeightSpec("w", (3, 2), dtype).bytes for dtype in ("float16", "float32", "odd")] == [
            12,
            24,
            24,
        ]
        assert math.prod(()) == WeightSpec("w", ()).size == 1

    def test_layers_by_name_and_path(self) -> None:
        assert self.network["n"].class_name == "Model"
        with pytest.raises(KeyError):
            self.network["i"]
        assert [path for path, _ in self.network.walk()] == ["d", "n/i"]

    def test_the_first_call_tells(self) -> None:
        first = NetworkCall(
            (TensorRef("a"),), inputs=(TensorType((1,), None),), outputs=(TensorType((2,), None),)
        )
        layer = LayerSpec("x", "Dense", calls=(first, NetworkCall()))
        assert (layer.inbound, layer.inputs, layer.outputs) == (first.inbound, first.inputs, first.outputs)
        without = LayerSpec("x", "Dense")
        assert without.inbound == without.inputs == without.outputs == ()


class TestSettings:
    @pytest.mark.parametrize(
        "hints, batch, inputs",
        [
            (Hints(), 32, {}),
            (Hints(batch=4), 4, {}),
            (Hints(input_shape=(8,)), 8, {}),
            (Hints(input_shape=(8, 5), batch=4), 4, {"": (5,)}),
            (Hints(input_shape=(None, 5)), 32, {"": (5,)}),
        ],
    )
    def test_what_hints_stand_for(self, hints: Hints, batch: int, inputs: Any) -> None:
        assert (StepSettings.of(hints).batch, StepSettings.of(hints).inputs) == (batch, inputs)
