"""Which values of a module of XLA share a buffer, where XLA gives no assignment of its own."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import SAMPLES
from tfmemlens import schema
from tfmemlens.readers.timelines import compiled_program, hlo_assignment, hlo_order, hlo_origin

F32 = 11
SAMPLE_PROGRAMS = sorted((SAMPLES / "xla_programs").glob("*.json"))


def step(
    number: int,
    opcode: str,
    *operands: int,
    size: int | tuple[int, ...] = 0,
    calls: tuple[int, ...] = (),
    part: int = 0,
) -> dict[str, Any]:
    """An instruction; its size is that of one array or those of a tuple, in elements of four bytes."""
    parts = [{"element_type": F32, "dimensions": [each]} for each in size] if isinstance(size, tuple) else []
    shape = {"tuple_shapes": parts} if parts else {"element_type": F32, "dimensions": [size]}
    return {"id": number, "name": f"i{number}", "opcode": opcode, "operand_ids": list(operands),
            "called_computation_ids": list(calls), "tuple_index": part, "parameter_number": part,
            "shape": shape}  # fmt: skip


def assigned(*computations: list[dict[str, Any]], arena: int | None = None) -> Any:
    """The proto of these computations, numbered from 100 on, with what we assign."""
    module = schema.message("HloModuleProto")(name="jit_f", entry_computation_id=100)
    for number, steps in enumerate(computations, 100):
        module.computations.add(id=number, instructions=steps, root_id=steps[-1]["id"])
    proto = schema.message("HloProto")(hlo_module=module)
    hlo_assignment.assign(proto, arena)
    return proto


def buffers(proto: Any) -> Iterator[tuple[str, int, list[tuple[int, tuple[int, ...]]]]]:
    """What each place is for, its bytes, and the instructions (with the part) that lie in it."""
    values = {value.id: value.defined_at for value in proto.buffer_assignment.logical_buffers}
    for row in proto.buffer_assignment.buffer_allocations:
        purpose = "result" if row.maybe_live_out else "temp"
        if row.is_entry_computation_parameter:
            purpose = "argument"
        places: dict[int, list[Any]] = {}
        for each in row.assigned:
            places.setdefault(each.offset, []).append((each.size, values[each.logical_buffer_id]))
        for made in places.values():
            inside = [(at.instruction_id, tuple(at.shape_index)) for _, at in made]
            yield purpose, made[0][0], inside
        if not places:
            yield purpose, row.size, []


def temps(proto: Any) -> list[tuple[int, list[tuple[int, tuple[int, ...]]]]]:
    return [(size, inside) for purpose, size, inside in buffers(proto) if purpose == "temp"]


def test_arguments_results_and_temporaries() -> None:
    proto = assigned(
        [
            step(1, "parameter", size=4),
            step(2, "dot", 1, size=8),
            step(3, "constant", size=64),
            step(4, "dot", 2, 3, size=2),
        ]
    )
    assert sorted(buffers(proto)) == [
        ("argument", 16, []),
        ("result", 8, [(4, ())]),
        ("temp", 32, [(2, ())]),
    ]


@pytest.mark.parametrize(
    "opcode, shares",
    [("fusion", True), ("add", True), ("dot", False), ("custom-call", False)],
)
def test_a_result_over_an_operand_that_nobody_reads_afterwards(opcode: str, shares: bool) -> None:
    steps = [step(1, "dot", size=8), step(2, opcode, 1, size=8), step(3, "dot", 2, size=1)]
    assert len(temps(assigned(steps))) == (1 if shares else 2)
    later = [*steps[:2], step(9, "dot", 1, size=1), step(3, "dot", 2, 9, size=1)]
    assert sum(size == 32 for size, _ in temps(assigned(later))) == 2  # read once more afterwards


@pytest.mark.parametrize(
    "name, shares", [("loop_add_fusion", True), ("input_scatter_fusion", False), ("gemm_fusion_dot.1", False)]
)
def test_only_fusions_of_elements_write_over_what_they_read(name: str, shares: bool) -> None:
    fused = {**step(2, "fusion", 1, size=8), "name": name}
    steps = [step(1, "dot", size=8), fused, step(3, "dot", 2, size=1)]
    assert len(temps(assigned(steps))) == (1 if shares else 2)


def test_what_is_passed_on_is_one_buffer() -> None:
    proto = assigned(
        [
            step(1, "custom-call", size=(8, 4)),
            step(2, "get-tuple-element", 1, size=8, part=0),
            step(3, "bitcast", 2, size=8),
            step(4, "dot", 3, size=1),
        ]
    )
    assert sorted(temps(proto)) == [(16, [(1, (1,))]), (32, [(1, (0,))])]


def test_the_state_of_a_loop_is_one_buffer_that_its_body_updates_in_place() -> None:
    body = [
        step(11, "parameter", size=(8, 1)),
        step(12, "get-tuple-element", 11, size=8, part=0),
        step(13, "get-tuple-element", 11, size=1, part=1),
        step(14, "dynamic-update-slice", 12, 13, size=8),
        step(15, "add", 13, size=1),
        step(16, "tuple", 14, 15, size=(8, 1)),
    ]
    entry = [
        step(1, "broadcast", size=8),
        step(2, "broadcast", size=1),
        step(3, "tuple", 1, 2, size=(8, 1)),
        step(4, "while", 3, size=(8, 1), calls=(101,)),
        step(5, "get-tuple-element", 4, size=8, part=0),
        step(6, "reduce", 5, size=2),
    ]
    proto = assigned(entry, body)
    (stack,) = [inside for size, inside in temps(proto) if size == 32]
    assert sorted(stack) == [(1, ()), (14, ())]


@pytest.mark.parametrize("depth, shares", [(0, True), (1, True), (2, False)])
def test_a_fusion_that_ends_in_an_update_writes_in_place(depth: int, shares: bool) -> None:
    between = [step(22, "bitcast", 21, size=8)] if depth == 1 else [step(22, "negate", 21, size=8)]
    inner = [step(21, "parameter", size=8), *(between if depth else [])]
    fused = [*inner, step(29, "dynamic-update-slice", 22 if depth else 21, size=8)]
    entry = [step(1, "dot", size=8), step(2, "fusion", 1, size=8, calls=(101,)), step(3, "dot", 1, 2, size=1)]
    assert sum(size == 32 for size, _ in temps(assigned(entry, fused))) == (1 if shares else 2)


def test_what_is_started_beside_the_rest_reads_and_writes_the_same_buffers() -> None:
    started = [step(21, "parameter", size=8), step(22, "dot", 21, size=4)]
    start = step(2, "async-start", 1, calls=(101,))
    given = {"tuple_shapes": [{"element_type": F32, "dimensions": [8]}]}
    start["shape"] = {"tuple_shapes": [given, {"element_type": F32, "dimensions": [4]}]}
    entry = [step(1, "dot", size=8), start, step(3, "async-done", 2, size=4), step(4, "dot", 3, size=1)]
    assert sorted(temps(assigned(entry, started))) == [(16, [(22, ())]), (32, [(1, ())])]


def test_the_arena_has_the_size_that_is_stated() -> None:
    steps = [step(1, "dot", size=8), step(2, "dot", 1, size=1)]
    sizes = [row.size for row in assigned(steps, arena=1000).buffer_assignment.buffer_allocations]
    assert sizes == [4, 1000] or sizes == [1000, 4]
    sizes = [row.size for row in assigned(steps).buffer_assignment.buffer_allocations]
    assert sorted(sizes) == [4, 32]


def test_a_module_without_its_entry_gets_nothing() -> None:
    proto = schema.message("HloProto")()
    hlo_assignment.assign(proto, 5)
    assert not proto.buffer_assignment.buffer_allocations
    proto.hlo_module.computations.add(id=1, root_id=77)
    proto.hlo_module.entry_computation_id = 1
    hlo_assignment.assign(proto, 5)
    assert not proto.buffer_assignment.buffer_allocations


def test_shapes_without_end_are_cut() -> None:
    shape = schema.message("ShapeProto")()
    inner = shape
    for _ in range(50):
        inner = inner.tuple_shapes.add()
    assert list(hlo_assignment._parts(shape)) == []
    wide = schema.message("ShapeProto")()
    for _ in range(9000):
        wide.tuple_shapes.add(element_type=F32, dimensions=[-1])
    assert len(list(hlo_assignment._parts(wide))) < 9000


def peak(proto: Any) -> int:
    program = hlo_order.program_of(proto, "p", hlo_origin.Origins(proto))
    compiler = compiled_program.incident(program, None).compiler
    assert compiler is not None and compiler.schedule is not None
    return compiler.schedule.peak_bytes


@pytest.mark.parametrize("sample", SAMPLE_PROGRAMS, ids=lambda path: path.stem)
def test_our_assignment_is_as_large_as_xlas_own(sample: Any) -> None:
    """What XLA of the CPU states for real programs: ours is never larger by more than a hundredth."""
    for row in json.loads(sample.read_text())["programs"]:
        proto = schema.parse("HloProto", base64.b64decode(row["hlo_proto"]))
        if not proto.buffer_assignment.buffer_allocations:
            continue
        stated = peak(proto)
        proto.ClearField("buffer_assignment")
        hlo_assignment.assign(proto, 1)  # no arena is so small: nothing is filled up
        assert 0.75 * stated < peak(proto) < 1.01 * stated


def test_a_program_of_a_gpu_is_as_large_as_xla_says() -> None:
    """jax 0.11 on an H200: XLA states how large the arena is, and nothing of what lies in it."""
    (row,) = json.loads((SAMPLES / "xla_programs" / "jax-0.11-gpu-ensemble.json").read_text())["programs"]
    proto = schema.parse("HloProto", base64.b64decode(row["hlo_proto"]))
    assert not proto.buffer_assignment.buffer_allocations
    hlo_assignment.assign(proto, 1)
    program = hlo_order.program_of(proto, "p", hlo_origin.Origins(proto))
    beside = sum(block.size.bytes for block in program.blocks if block.purpose != "preallocated temp")
    assert 0.99 < (peak(proto) - beside) / row["temporary_bytes"] < 1.01
    origins = hlo_origin.Origins(proto)
    first = next(iter(origins.values(row["lines"])))
    assert (first.size_bytes, first.place) == (256 * 16384 * 512 * 4, "forecast.py:28")
