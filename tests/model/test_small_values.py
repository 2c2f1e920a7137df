"""Sums and choices of values that pages about many jobs, compiled programs and live models rest on."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.builders import capture, row, timeline
from tfmemlens import pipeline
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import Attribution, Kind, Owner, Phase
from tfmemlens.model.budget import Budget
from tfmemlens.model.capture import Holds
from tfmemlens.model.case import Fits
from tfmemlens.model.fleet import NewCauses, Side, Tally, Windows
from tfmemlens.model.incident import CompilerMemory
from tfmemlens.model.live_model import LiveModel, LiveVariable
from tfmemlens.model.scan_summary import ScanSummary
from tfmemlens.model.tensor import TensorType
from tfmemlens.units import Size
from tfmemlens.values import replace

KIB256 = 256 << 10


def test_hours_are_those_of_the_seconds() -> None:
    assert [Tally(1, 1, seconds).hours_lost for seconds in (None, 0, 5400)] == [None, 0.0, 1.5]


@pytest.mark.parametrize(
    "low, high, fits",
    [
        (100, 100, Fits.YES),
        (100, 101, Fits.UNDECIDED),
        (101, 101, Fits.NO),
        (101, None, Fits.NO),
        (100, None, Fits.UNDECIDED),
    ],
)
def test_a_need_that_just_fits(low: int, high: int | None, fits: Fits) -> None:
    assert Budget("peak", 100, low, high).fits is fits


def test_what_a_format_can_hold_rises_from_a_table_of_processes_to_every_allocation() -> None:
    names = ["SURROUNDINGS", "FAILURES", "MODEL", "GRAPH", "OUTPUTS", "SAMPLES", "ALLOCATIONS"]
    assert [Holds[name].name for name in names] == [each.name for each in sorted(Holds)] == names
    assert [each.name for each in Holds if each.is_step] == names[4:]


def test_only_layers_are_called() -> None:
    table = AllocationTable.of([Allocation("a/x", 5), Allocation("b/x", 3)])
    owners = [Owner(name, Kind.ACTIVATION, Phase.FORWARD) for name in "ab"]
    held = Attribution(table, owners, calls={"a": 3})
    assert [(group.name, group.calls) for group in held.by("layer")] == [("a", 3), ("b", 1)]
    assert [(group.name, group.calls) for group in held.by("scope")] == [("a", 1), ("b", 1)]


def test_both_windows_are_as_long_as_the_last() -> None:
    windows = Windows(datetime(2026, 11, 1), datetime(2026, 11, 8, 12))
    assert windows.length == timedelta(days=7, hours=12)


@pytest.mark.parametrize(
    "earlier, later, decided", [(1, 1, True), (0, 1, False), (1, 0, False), (0, 0, False)]
)
def test_nothing_is_new_where_one_side_was_not_read(earlier: int, later: int, decided: bool) -> None:
    day, none = datetime(2026, 11, 1), Tally(0, 0, None)
    found = NewCauses("x", day, day, Side(none, earlier), Side(none, later), (), 0, 0, 0, 0)
    assert found.decided is decided


@pytest.mark.parametrize(
    "sizes, shared",
    [
        ({"parameter": 10, "output": 7, "HLO temp": 5, "total": 20}, 2),
        ({"arguments": 10, "maybe_live_out": 7, "preallocated temp": 5, "total": 22}, 0),
        ({"parameter": 10, "output": 7, "HLO temp": 5, "total": 30}, 0),
        ({"parameter": 10, "output": 7, "HLO temp": 5}, None),
        ({"parameter": 10, "output": 7, "total": 20}, None),
        ({"parameter": 10, "output": 7, "HLO temp": 5, "total": 20, "shared": 3}, 3),
    ],
)
def test_results_in_the_place_of_arguments(sizes: dict[str, int], shared: int | None) -> None:
    sections: Any = tuple((name, Size.exactly(size), None) for name, size in sizes.items())
    assert replace(CompilerMemory(), sections=sections).shared_bytes == shared


@pytest.mark.parametrize(
    "shape, kind, makers",
    [
        ((8, 5, 7), None, ("a", "c")),
        ((8, 5, 7), "Dense", ("a", "d")),
        ((8, 5, 7), "Conv2D", ("c",)),
        ((8, 5, 6), None, ()),
        ((8, 7), None, ("b",)),
        ((7,), None, ()),
        ((7,), "Dense", ()),
        ((8, 9, 9), "Dense", ()),
    ],
)
def test_layers_that_make_a_shape(shape: tuple[int, ...], kind: str | None, makers: tuple[str, ...]) -> None:
    """`d` shows no output: a dense layer whose kernel ends in the last size; a bias and what told its output
    are none.
    """
    live = LiveModel(
        (),
        (("a", "Dense"), ("b", "Dense"), ("c", "Conv2D"), ("d", "Dense"), ("e", "Dense"), ("f", "Dense")),
        tuple(
            LiveVariable(f"{layer}/w", layer, Kind.PARAMETER, TensorType(sizes, "float32"))
            for layer, sizes in (
                ("d", (3, 7)), ("e", (7,)), ("b", (3, 7)), (None, (3, 7)), ("f", None), ("d", (7, 3)),
            )
        ),
        (("a", (None, 5, 7)), ("b", (None, 7)), ("c", (8, 5, 7)), ("x", (None,) * 3), ("y", (9, 5, 7))),
    )  # fmt: skip
    assert live.makers_of(shape, kind) == makers


@pytest.mark.parametrize(
    "shape, name",
    [
        ((8, 5, 7), "d"),
        ((8, 11), "w"),  # a variable that no layer has
        ((8, 9), None),  # two are as wide
        ((8, 4), "told"),
        ((8, 13), None),  # a slot's only
        ((7,), None),
    ],
)
def test_the_one_layer_that_is_as_wide(shape: tuple[int, ...], name: str | None) -> None:
    parameter, slot = Kind.PARAMETER, Kind.OPTIMIZER_SLOT
    variables = (
        ("d", "d/w", (3, 7), parameter), ("d", "d/b", (7,), parameter), (None, "w", (3, 11), parameter),
        ("e", "e/w", (3, 9), parameter), ("f", "f/w", (5, 9), parameter), ("d", "m", (3, 13), slot),
        ("told", "told/w", (3, 9), parameter),
    )  # fmt: skip
    live = LiveModel(
        (),
        (),
        tuple(
            LiveVariable(own, layer, kind, TensorType(size, "float32"))
            for layer, own, size, kind in variables
        ),
        (("told", (None, 4)),),
    )
    assert live.widest_like(shape) == name


@pytest.mark.parametrize(
    "given, share",
    [
        ({}, 1.0),
        ({"to_read": 4, "bytes_to_read": 4 * KIB256}, 0.0),
        ({"to_read": 4, "bytes_to_read": 4 * KIB256, "files": 1, "bytes": KIB256}, 0.25),
        ({"to_read": 4, "bytes_to_read": 4 * KIB256, "files": 2, "bytes": 0}, 0.25),
        ({"to_read": 1, "bytes_to_read": 0, "files": 1, "bytes": KIB256}, 1.0),
    ],
)
def test_a_file_costs_as_much_as_256_kib_of_it(given: dict[str, Any], share: float) -> None:
    assert ScanSummary("out", **given).share == share


def test_the_time_left_is_in_proportion_to_the_work_left() -> None:
    begun = ScanSummary("out", to_read=4, bytes_to_read=4 * KIB256, files=1, bytes=KIB256, seconds=30.0)
    assert begun.seconds_left == 90.0
    assert ScanSummary("out", to_read=4, seconds=30.0).seconds_left is None
    assert ScanSummary("out", seconds=30.0).seconds_left == 0.0


def test_a_report_as_a_frame_has_the_largest_first() -> None:
    report = pipeline.report(capture(timeline(row("net/a/Relu", 1, 0, 9), row("net/b/Relu", 4, 1, 9))))
    frame = report.to_frame()
    assert frame["node"].tolist() == ["net/b/Relu", "net/a/Relu"]
    assert frame["total_bytes"].tolist() == [4 << 20, 1 << 20]
    assert set(frame["kind"]) == {"activation"} and frame["layer"].tolist() == ["net/b", "net/a"]
    (moment,) = report.case.moments
    table = moment.attribution.table
    often = replace(moment, attribution=replace(moment.attribution, table=replace(table, count=[5, 1])))
    counted = replace(report, case=replace(report.case, moments=(often,))).to_frame()
    assert counted["total_bytes"].tolist() == [5 << 20, 4 << 20]
    empty = replace(report, case=replace(report.case, moments=()))
    assert list(empty.to_frame().columns) == ["node", "layer", "kind", "phase", "total_bytes"]
    assert empty.needed_limit is None is empty.error_bar
