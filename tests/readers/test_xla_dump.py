"""The arena of a compiled program: what lives in it at the worst point adds up to its size, and a place
counts once.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import tfmemlens
from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.errors import UnreadableInput
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.readers.oom.compiler import parse_hlo_shape
from tfmemlens.readers.timelines import program_order

DUMPS = sorted((SAMPLES / "xla_dump").glob("*-buffer-assignment.txt"))


def rows(text: str, folder: Path) -> AllocationTable:
    path = folder / "module_0001.step.cpu_after_optimizations-buffer-assignment.txt"
    path.write_text(text, encoding="utf-8")
    return rows_of(path)


def rows_of(path: Path) -> AllocationTable:
    return pipeline.capture(path).incidents[0].holders[0].table


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: path.name[:4])
def test_the_arena_is_as_large_as_xla_says(path: Path, tmp_path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    stated = sum(
        int(line.split("size ")[1].split(",")[0])
        for line in text.split("\n")
        if line.startswith("allocation ") and "preallocated-temp" in line
    )
    assert stated
    assert sum(row.size_bytes for row in rows(text, tmp_path) if row.purpose == "preallocated temp") == stated


def test_two_values_in_one_place_are_one_tensor(tmp_path: Path) -> None:
    text = (SAMPLES / "xla_dump" / "2.11-jit-step-buffer-assignment.txt").read_text(encoding="utf-8")
    value, alive = (
        " value: <0 tanh.21.clone @0> (size=524288,offset=0): f32[512,256]{1,0}\n",
        "    tanh.21.clone: 524288 bytes\n",
    )
    assert value in text
    assert alive in text
    for name, size, offset in (("same", 524288, 0), ("inside", 1024, 4096), ("across", 524288, 4096)):
        alias = (
            value.replace("tanh.21.clone", name)
            .replace("offset=0", f"offset={offset}")
            .replace("size=524288", f"size={size}")
        )
        twice = text.replace(value, value + alias).replace(
            alive, alive + alive.replace("tanh.21.clone", name).replace("524288", str(size))
        )
        assert list(rows(twice, tmp_path).size_bytes) == list(rows(text, tmp_path).size_bytes)


WITH_RANGES = [path for path in DUMPS if not path.name.startswith("2.4-")]


@pytest.mark.parametrize("path", WITH_RANGES, ids=lambda path: path.name[:4])
def test_the_curve_never_exceeds_what_the_program_takes(path: Path) -> None:
    incident = pipeline.capture(path).incidents[0]
    assert incident.compiler and incident.compiler.schedule and incident.compiler.needed
    schedule = incident.compiler.schedule
    assert schedule.ordinal and schedule.place == "instruction" and schedule.precision == "exact"
    assert schedule.peak_bytes == incident.compiler.needed.bytes == incident.holders[0].table.total_bytes
    ends = zip(schedule.table.start_micros, schedule.table.end_micros, strict=True)
    assert all(start is not None and end is not None and start < end for start, end in ends)


@pytest.mark.parametrize("path", WITH_RANGES, ids=lambda path: path.name[:4])
def test_no_place_of_the_arena_holds_two_values(path: Path) -> None:
    compiler = pipeline.capture(path).incidents[0].compiler
    assert compiler and compiler.schedule
    schedule = compiler.schedule
    for index in range(len(schedule.curve)):
        alive = sorted(
            (schedule.addresses[row], schedule.table.size_bytes[row]) for row in schedule.alive_after(index)
        )
        assert all(one + size <= other for (one, size), (other, _) in pairwise(alive))


def test_a_file_without_live_ranges_has_no_curve() -> None:
    for name in ("2.4-jit-step-buffer-assignment.txt", "2.21-jit-step-memory-usage-report.txt"):
        report = pipeline.explain(SAMPLES / "xla_dump" / name)
        moment = report.case.moments[0]
        assert moment.schedule is None and moment.axis is None
        assert any("no order" in text for text in moment.omissions)


def test_live_ranges_alone_name_the_file_that_has_the_sizes() -> None:
    with pytest.raises(UnreadableInput) as refused:
        pipeline.explain(SAMPLES / "xla_dump_parts" / "jax-0.10-step-live-range.txt")
    assert "-buffer-assignment.txt" in refused.value.hint


def test_lines_of_the_other_files_carry_their_names() -> None:
    table = rows_of(SAMPLES / "xla_dump_parts" / "jax-0.10-step-buffer-assignment.txt")
    sources = {row.line.source for row in table if row.line and row.purpose == "preallocated temp"}
    assert sources == {"jax-0.10-step-live-range.txt"}


def lived(*values: tuple[str, int, int, int, int]) -> list[tuple[str | None, float | None, float | None]]:
    """What is left of values (name, offset, size, first and last instruction), and from when to when."""
    schedule = program_order.timeline(
        "step",
        [
            program_order.Value(Allocation(name, size), offset, start, end)
            for name, offset, size, start, end in values
        ],
        (),
        (),
    )
    table = schedule.table
    return list(zip(table.node, table.start_micros, table.end_micros, strict=True))


def test_a_result_that_is_written_over_what_is_read_last_takes_its_place() -> None:
    assert lived(("a", 0, 8, 0, 3), ("b", 0, 8, 3, 5)) == [("a", 0.0, 2.5), ("b", 3.0, 5.5)]
    assert lived(("a", 0, 8, 0, 3), ("b", 8, 8, 3, 5)) == [("a", 0.0, 3.5), ("b", 3.0, 5.5)]
    assert lived(("a", 0, 8, 0, 3), ("b", 0, 8, 4, 5)) == [("a", 0.0, 3.5), ("b", 4.0, 5.5)]


def test_another_name_of_a_place_prolongs_its_life() -> None:
    assert lived(("a", 0, 8, 0, 4), ("b", 0, 8, 2, 6)) == [("a", 0.0, 6.5)]
    assert lived(("a", 0, 8, 0, 4), ("b", 4, 4, 2, 3)) == [("a", 0.0, 4.5)]
    assert lived(("a", 0, 8, 0, 0), ("b", 0, 8, 0, 0)) == [("a", 0.0, 0.5)]


def test_the_parts_of_a_tuple_are_values_of_their_own(tmp_path: Path) -> None:
    text = (
        "BufferAssignment:\nallocation 0: size 24, preallocated-temp:\n"
        " value: <1 both{0} @0> (size=8,offset=0): f32[2]\n"
        " value: <2 both{1} @0> (size=16,offset=8): f32[4]\n"
        "\nTotal bytes used: 24 (24B)\n\nHloLiveRange (max 3):\n  InstructionSequence:\n"
        "    0:both\n    1:next\n"
        "  BufferLiveRange:\n    both{0}:0-1\n    both{1}:0-0\n"
    )
    path = tmp_path / "module_0001.step.cpu_after_optimizations-buffer-assignment.txt"
    path.write_text(text)
    compiler = pipeline.capture(path).incidents[0].compiler
    assert compiler and compiler.schedule
    assert list(compiler.schedule.curve) == [16, 24, 8, 0]
    assert compiler.schedule.executions.node == ["%both", "%next"]


def test_the_api_draws_a_program_in_its_order() -> None:
    trace = tfmemlens.read(SAMPLES / "xla_dump" / "2.21-jit-step-buffer-assignment.txt")
    frame = trace.timeline()
    assert int(frame["bytes"].max()) == trace.peak_bytes == 3670592
    assert (frame.drop(columns=["bytes", "allocation"]).sum(axis=1) == frame["bytes"]).all()
    with pytest.raises(UnreadableInput):
        tfmemlens.read(SAMPLES / "xla_dump" / "2.21-jit-step-memory-usage-report.txt")


@pytest.mark.parametrize("figure", ["9" * 400, "9" * 400 + "GiB", "-" + "9" * 400 + ".5MiB"])
def test_figures_that_no_counter_holds(figure: str, tmp_path: Path) -> None:
    report = (SAMPLES / "xla_dump" / "2.21-jit-step-memory-usage-report.txt").read_text(encoding="utf-8")
    path = tmp_path / "x-memory-usage-report.txt"
    path.write_text(report.replace("size 2.25MiB", f"size {figure}"), encoding="utf-8")
    assert pipeline.explain(path).verdict


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("f32[512,245]{1,0:T(8,128)}", (512, 245)),
        ("s32[<=16,4]", (16, 4)),
        ("f32[]", ()),
        ("f32[8,]", (8,)),
        ("f32[" + "9" * 400 + "x]", None),
        ("f32[" + "9" * 400 + "]", None),
    ],
)
def test_shape_of_any_length_is_read_at_once(text: str, shape: tuple[int, ...] | None) -> None:
    assert parse_hlo_shape(text)[0] == shape
