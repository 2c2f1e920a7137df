"""Allocation records of one node execution: which free ends which row."""

from __future__ import annotations

from tfmemlens.model.timeline import Timeline
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
