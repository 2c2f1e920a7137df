"""Parts of the JSON document, and the table of traced steps, of values made for them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import MIB, row, timeline
from tests.findings.test_support import asked, held
from tfmemlens import renderers
from tfmemlens.findings.attention_scores import _matrices
from tfmemlens.findings.one_chunk_dominates import _reduced
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import Attribution, Kind, Owner, Phase
from tfmemlens.model.case import Balance, Candidate, Moment, Naming
from tfmemlens.model.difference import ComparedInput, ComparedItem, Difference
from tfmemlens.model.line import Line
from tfmemlens.model.step import TracedStep
from tfmemlens.model.tensor import TensorType
from tfmemlens.renderers.json import difference, report
from tfmemlens.renderers.view import View
from tfmemlens.units import Size
from tfmemlens.values import replace


@pytest.mark.parametrize(
    "line, by_bytes, place",
    [
        (None, False, {"line": None}),
        (Line(7, "x"), False, {"line": 7}),
        (Line(7, "x"), True, {"line": None, "byte": 7}),
        (Line(7, "x", "a.log"), False, {"line": 7, "file": "a.log"}),
        (Line(7, "x", "a.log"), True, {"line": None, "byte": 7, "file": "a.log"}),
    ],
)
def test_where_a_line_stands(line: Line | None, by_bytes: bool, place: dict[str, Any]) -> None:
    assert report._place(line, by_bytes) == place


def test_what_is_held_where_a_list_is_present() -> None:
    books = Balance(
        listed=Size(100, 95, 105), unlisted=Size.exactly(20), unlisted_nodes=3, outside_report=Size.exactly(7)
    )
    assert report._holders(books, True) == {
        "total_bytes": 120, "listed_bytes": 100, "unlisted_bytes": 20, "unlisted_nodes": 3,
        "outside_report_bytes": 7, "error_bytes": 5,
    }  # fmt: skip
    assert report._holders(books, False) == {
        "total_bytes": None, "listed_bytes": None, "unlisted_bytes": None, "unlisted_nodes": None,
        "outside_report_bytes": 7, "error_bytes": None,
    }  # fmt: skip


def test_the_time_of_a_peak_or_its_line() -> None:
    step = timeline(row("a", 1, 1, 3))
    moment = held(("a", MIB, Kind.ACTIVATION), timeline=step, peak_micros=5.0)
    assert (report._peak(moment)["time_micros"], report._peak(moment)["time_line"]) == (5.0, None)
    log = report._peak(replace(moment, timeline=replace(step, ordinal=True)))
    assert (log["time_micros"], log["time_line"]) == (None, 5.0)
    assert log["bytes"] == MIB and "predicted" not in log


def test_rows_are_the_largest_first_with_the_tensors_behind_them() -> None:
    tensors = [TensorType(shape, "float16") for shape in ((2, 3), (3, 2))]
    naming = Naming(tuple(Candidate(each, 0) for each in tensors), "size")
    table = AllocationTable.of([
        Allocation("a", 10, count=2, error_bytes=3), Allocation("b", 30, "Relu", shape=(5,), dtype="float32"),
        Allocation("c", 5),
    ])  # fmt: skip
    owners = [Owner("l", Kind.ACTIVATION, Phase.FORWARD, op="Conv2D")] * 3
    moment = Moment(
        Attribution(table, owners), Balance(), (naming, naming, None), last_reader=("x", None, None)
    )
    rows = report._allocations(moment)
    picked = [(each["node"], each["bytes"], each["op"], each["shape"], each["dtype"]) for each in rows]
    assert picked == [
        ("b", 30, "Relu", [5], "float32"), ("a", 20, "Conv2D", [2, 3], "float16"),
        ("c", 5, "Conv2D", None, None),
    ]  # fmt: skip
    assert [each["error_bytes"] for each in rows] == [0, 6, 0]
    assert [each["ambiguous_shapes"] for each in rows] == [[[3, 2]], [[3, 2]], []]
    assert [each["kept_for"] for each in rows] == [None, "x", None]


def test_a_layer_is_told_its_calls_where_it_has_many() -> None:
    class Group:
        name, total_bytes, kinds, calls = "a", 5, ((Kind.ACTIVATION, 5),), 2

    assert report._group(Group(), "layer") == {
        "layer": "a",
        "total_bytes": 5,
        "kinds": {"activation": 5},
        "calls": 2,
    }
    Group.calls = 1
    assert "calls" not in report._group(Group(), "layer")


def test_traced_steps_as_a_table() -> None:
    steps = (
        TracedStep(("a.pb",), "RunMetadata", time=0.0),
        TracedStep(("b.pb", "c.pb", "d.pb"), "XSpace", "tag", 0, 1_000_000_000.0),
    )
    assert [line.split() for line in renderers.render(steps, "steps").splitlines()] == [
        ["step", "tag", "written", "(UTC)", "format", "file"],
        ["RunMetadata", "a.pb"],
        ["0", "tag", "2001-09-09", "01:46:40", "XSpace", "b.pb", "and", "2", "more"],
    ]
    assert renderers.render(steps, "steps").splitlines()[2].startswith("     0  tag")
    assert renderers.render((), "steps") == "no traced step found\n"


def test_paths_stand_below_where_a_terminal_is_narrow() -> None:
    steps = (TracedStep(("logdir/plugins/profile/host.xplane.pb",), "XSpace", "tag", 0, 1_000_000_000.0),)
    wide = renderers.render(steps, "steps")
    assert len(wide.splitlines()) == 2
    assert renderers.render(steps, "steps", renderers.DEFAULT, View(width=90)) == wide
    narrow = renderers.render(steps, "steps", renderers.DEFAULT, View(width=60)).splitlines()
    assert narrow[0].split() == ["step", "tag", "written", "(UTC)", "format"]
    assert narrow[2] == "    logdir/plugins/profile/host.xplane.pb"
    assert max(map(len, narrow)) <= 60


@pytest.mark.parametrize(
    "outer, text",
    [([32, 8], "32 samples × 8 heads"), ([1, 2], "1 sample × 2 heads"), ([2, 1], "2 samples × 1 head"),
     ([2, 3, 4], "24 (samples × heads)"), ([1200], "1,200 (samples × heads)")],
)  # fmt: skip
def test_how_many_matrices_of_scores(outer: list[int], text: str) -> None:
    assert _matrices(outer) == text


@pytest.mark.parametrize(
    "shape, low, high, found",
    [
        ((1000,), 4000 * 7, 4000 * 7, (1000, 7)),
        ((1000,), 4000 * 6 + 1, 4000 * 8 - 1, (1000, 7)),
        ((1000,), 4000 * 7, 4000 * 8, None),
        ((999,), 3996 * 7, 3996 * 7, None),
        ((1000,), 4000, 4000, None),
        ((1000,), 8000, 8000, (1000, 2)),
        ((10, 100), 4000 * 65536, 4000 * 65536, (10, 100, 65536)),
        ((10, 100), 4000 * 65537, 4000 * 65537, None),
        ((0, 1000), 8000, 8000, None),
        (None, 8000, 8000, None),
    ],
)
def test_what_an_op_sums_up(
    shape: tuple[int, ...] | None, low: int, high: int, found: tuple[int, ...] | None
) -> None:
    """The request's shape with one more dimension that makes it as large as the tensor that is held."""
    assert _reduced(asked(shape=shape, dtype="float32"), low, high) == found


# ------------------------------------------------------------------ a difference


def test_names_of_both_sides_stand_in_a_difference() -> None:
    side = ComparedInput("a.pb", "peak", 100, 0, {Kind.ACTIVATION: 100})
    items = (
        ComparedItem("net/a", "net/b", 60, 80, "activation", "net"),
        ComparedItem(None, "net/c", 0, 20, "activation", "net"),
        ComparedItem("", None, 40, 0),
    )
    told = difference.document(Difference(side, replace(side, total_bytes=120), items, (), items))
    names = [(each["node"], each["node_before"], each["node_after"]) for each in told["allocations"]]
    assert names == [("net/b", "net/a", "net/b"), ("net/c", None, "net/c"), (None, None, None)]
    layers = [(each["layer"], each["layer_before"], each["layer_after"]) for each in told["layers"]]
    assert layers == names
    assert [(each["change_bytes"], each["state"]) for each in told["layers"]] == [
        (20, "grew"),
        (20, "new"),
        (-40, "gone"),
    ]
    assert (told["change_bytes"], told["change_share"]) == (20, 0.2)
