"""XLA's HloProto as a program: allocations, values, how long each lives, whose line made the result."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tfmemlens.findings.support import program_account
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.incident import CompilerMemory, FailedRequest, HolderBlock, Incident, RequestKind
from tfmemlens.model.line import Line
from tfmemlens.readers.formats import xla_programs
from tfmemlens.readers.timelines import hlo_order, hlo_origin
from tfmemlens.readers.timelines.compiled_program import ProgramDraft
from tfmemlens.units import Size
from tfmemlens.values import replace


def shape(dtype: int, *sizes: int, parts: tuple[Any, ...] = ()) -> Any:
    return Made(element_type=dtype, dimensions=sizes, tuple_shapes=parts)


def step(
    number: int,
    opcode: str,
    *operands: int,
    calls: tuple[int, ...] = (),
    named: str = "",
    part: int = 0,
    given: int = 0,
) -> Any:
    told = Made(op_name=named, stack_frame_id=0)
    return Made(id=number, name=f"i{number}", opcode=opcode, operand_ids=operands, metadata=told,
                called_computation_ids=calls, shape=shape(11, number), tuple_index=part,
                parameter_number=given)  # fmt: skip


def computation(number: int, *steps: Any) -> Any:
    return Made(id=number, instructions=steps, root_id=steps[-1].id)


def allocation(index: int, size: int, *values: tuple[int, int, int], **flags: Any) -> Any:
    told = {"is_thread_local": False, "is_entry_computation_parameter": False, "parameter_number": 0,
            "maybe_live_out": False, "is_constant": False, **flags}  # fmt: skip
    assigned = [Made(logical_buffer_id=at, offset=offset, size=each) for at, offset, each in values]
    return Made(index=index, size=size, assigned=assigned, **told)


def proto(*computations: Any, allocations: tuple[Any, ...], values: dict[int, tuple[int, ...]]) -> Any:
    """`values`: of each buffer the instruction that makes it, and which part of a tuple it is."""
    buffers = [
        Made(id=number, defined_at=Made(instruction_id=at, shape_index=index))
        for number, (at, *index) in values.items()
    ]
    entry = computations[0].id if computations else 0
    return Made(
        hlo_module=Made(computations=computations, entry_computation_id=entry, schedule=Made(sequences=())),
        buffer_assignment=Made(logical_buffers=buffers, buffer_allocations=allocations),
    )


def program_of(whole: Any, label: str) -> ProgramDraft:
    return hlo_order.program_of(whole, label, hlo_origin.Origins(whole))


def lives(*computations: Any) -> dict[str, tuple[int, int]]:
    """Of each instruction of these the numbers between which its value lives."""
    steps = [each.id for part in computations for each in part.instructions]
    arena = allocation(0, 1, *((at, 0, 1) for at in steps))
    whole = proto(*computations, allocations=(arena,), values={at: (at,) for at in steps})
    ranges = program_of(whole, "p").ranges
    return {name: (first, last) for (name, _), (first, last, _) in ranges.items()}


def test_a_value_lives_until_its_last_reader() -> None:
    found = lives(computation(1, step(1, "add"), step(2, "add", 1), step(3, "add", 1), step(4, "add", 2)))
    assert found == {"i1": (0, 2), "i2": (1, 3), "i3": (2, 2), "i4": (3, 3)}


@pytest.mark.parametrize(
    "opcode, last",
    [("tuple", 3), ("get-tuple-element", 3), ("bitcast", 3), ("optimization-barrier", 3), ("while", 3),
     ("call", 3), ("conditional", 3), ("fusion", 1)],
)  # fmt: skip
def test_what_only_passes_a_value_on_keeps_it(opcode: str, last: int) -> None:
    found = lives(computation(1, step(1, "add"), step(2, opcode, 1), step(3, "add"), step(4, "add", 2)))
    assert found["i1"] == (0, last)


@pytest.mark.parametrize("opcode, inside", [("while", 1), ("call", 1), ("conditional", 1), ("fusion", None)])
def test_a_body_runs_before_its_caller_ends_and_its_result_stands_until_then(
    opcode: str, inside: int | None
) -> None:
    body = computation(2, step(11, "add"), step(12, "add"), step(13, "add"))
    entry = computation(1, step(1, "add"), step(2, opcode, 1, calls=(2, 99)), step(3, "add", 2))
    found = lives(entry, body)
    if inside is None:
        assert found == {"i1": (0, 1), "i2": (1, 2), "i3": (2, 2)}
    else:
        assert (found["i11"], found["i13"]) == ((1, 1), (3, 4))
        assert (found["i1"][0], found["i2"], found["i3"]) == (0, (4, 5), (5, 5))


def test_instructions_run_in_the_order_of_the_schedule_where_it_is_stated() -> None:
    steps = [step(1, "add"), step(2, "add", 1), step(3, "add", 1)]
    whole = proto(
        computation(1, *steps),
        allocations=(allocation(0, 1, (1, 0, 1)),),
        values={1: (1,), 2: (2,), 3: (3,)},
    )
    whole.hlo_module.schedule.sequences = [Made(key=1, value=Made(instruction_ids=(3, 99, 1, 2)))]
    assert program_of(whole, "p").instructions == ["i3", "i1", "i2"]
    whole.hlo_module.schedule.sequences = [Made(key=1, value=Made(instruction_ids=(98, 99)))]
    assert program_of(whole, "p").instructions == ["i1", "i2", "i3"]


def test_a_body_that_two_call_stands_until_the_later_and_is_numbered_once() -> None:
    body = computation(2, step(11, "add"))
    entry = computation(1, step(1, "call", calls=(2,)), step(2, "add"), step(3, "call", calls=(2,)))
    assert lives(entry, body) == {"i11": (0, 3), "i1": (1, 1), "i2": (2, 2), "i3": (3, 3)}


def test_bodies_that_run_one_another_end() -> None:
    assert lives(computation(1, step(1, "call", calls=(1,)))) == {"i1": (0, 0)}


def test_without_the_computation_that_is_run_first_nothing_is_known() -> None:
    whole = proto(computation(1, step(1, "add")), allocations=(), values={})
    whole.hlo_module.entry_computation_id = 7
    program = program_of(whole, "p")
    assert (program.instructions, program.ranges, program.total_line) == ([], {}, None)
    assert program.total == Size.exactly(0)


def test_allocations_as_xla_has_them() -> None:
    steps = computation(1, step(1, "add", named="jit(f)/add"), step(2, "add"), step(3, "add"))
    program = program_of(
        proto(
            steps,
            allocations=(
                allocation(4, 10, (1, 2, 3), (2, 0, 7), (8, 0, 1), (9, 0, 1)),
                allocation(5, 99, (1, 0, 3), is_thread_local=True),
                allocation(6, 30),
            ),
            values={1: (1,), 2: (2,), 9: (77,)},  # buffer 8 is not listed, 9 is of no instruction
        ),
        "step.json",
    )
    assert [(block.size.bytes, block.line.number, block.line.source) for block in program.blocks] == [
        (10, 1, "step.json"),
        (30, 3, "step.json"),
    ]
    largest, other = program.blocks[0].values
    assert (largest.name, largest.size, largest.offset, largest.shape, largest.index) == (
        "i2", 7, 0, "f32[2]", "",
    )  # fmt: skip
    assert (other.name, other.size, other.offset) == ("i1", 3, 2)
    assert (program.total, program.total_line) == (Size.exactly(40), program.blocks[0].line)
    assert program.blocks[0].line.text == "allocation 4: size 10, preallocated-temp"
    assert program.metadata == {"i1": 'op_name="jit(f)/add"'}


def test_a_part_of_a_tuple_has_its_own_shape_and_life() -> None:
    steps = computation(1, step(1, "fusion"))
    steps.instructions[0].shape = shape(13, parts=(shape(11, 2), shape(13, parts=(shape(16, 4, 5),))))
    arena = allocation(0, 9, (1, 0, 8), (2, 8, 1))
    program = program_of(proto(steps, allocations=(arena,), values={1: (1, 1, 0), 2: (1, 0)}), "p")
    assert [(value.index, value.shape) for value in program.blocks[0].values] == [
        ("{1}{0}", "bf16[4,5]"),
        ("{0}", "f32[2]"),
    ]
    assert set(program.ranges) == {("i1", "{1}{0}"), ("i1", "{0}")}


@pytest.mark.parametrize(
    "of, index, told",
    [
        (shape(11, 8, 16), (), "f32[8,16]"),
        (shape(11), (), "f32[]"),
        (shape(99, 8), (), ""),
        (shape(13, parts=(shape(11, 1), shape(12, 2))), (1,), "f64[2]"),
        (shape(13, parts=(shape(11, 1), shape(12, 2))), (2,), ""),
        (shape(13, parts=(shape(11, 1), shape(12, 2))), (-1,), ""),
    ],
)
def test_shapes(of: Any, index: tuple[int, ...], told: str) -> None:
    assert hlo_order._shape(of, index) == told


def test_each_type_of_xla_by_its_number() -> None:
    names = "pred s8 s16 s32 s64 u8 u16 u32 u64 f16 f32 f64 - - c64 bf16 - c128".split()
    told = [hlo_order._shape(shape(number, 3), ()) for number in range(20)]
    assert told == ["", *("" if name == "-" else f"{name}[3]" for name in names), ""]


@pytest.mark.parametrize(
    "flags, shaped, told",
    [
        ({"is_entry_computation_parameter": True, "parameter_number": 3}, True,
         "parameter 3, shape |f32[1]|"),
        ({"is_entry_computation_parameter": True, "maybe_live_out": True}, False,
         "parameter 0, maybe-live-out"),
        ({"is_constant": True}, True, "constant, shape |f32[1]|"),
        ({"maybe_live_out": True}, True, "shape |f32[1]|, maybe-live-out"),
        ({"maybe_live_out": True}, False, "maybe-live-out"),
        ({}, True, "preallocated-temp"),
    ],
)  # fmt: skip
def test_what_an_allocation_is_for(flags: dict[str, Any], shaped: bool, told: str) -> None:
    placed = [hlo_order.Placed("i1", 4, 0, "f32[1]" if shaped else "")]
    assert hlo_order._flags(allocation(0, 4, **flags), placed) == told
    if not shaped:
        assert hlo_order._flags(allocation(0, 4, **flags), []) == told


def located(frame: int, frames: list[tuple[int, int]], places: list[tuple[int, int]], root: int = 2) -> Any:
    """A module whose result was made in this frame; frames (location, parent), places (file, line)."""
    result = step(2, "add")
    result.metadata.stack_frame_id = frame
    entry = Made(id=5, root_id=root, instructions=(step(1, "add"), result))
    index = Made(
        stack_frames=[Made(file_location_id=at, parent_frame_id=parent) for at, parent in frames],
        file_locations=[Made(file_name_id=at, line=line, function_name_id=1) for at, line in places],
        function_names=["step"],
        file_names=["a.py", "b.py"],
    )
    return Made(computations=[Made(id=4), entry], entry_computation_id=5, stack_frame_index=index)


@pytest.mark.parametrize(
    "frame, frames, places, told",
    [
        (2, [(1, 0), (2, 1)], [(1, 30), (2, 7)], ["b.py:7", "a.py:30"]),
        (1, [(1, 1)], [(2, 4)], ["b.py:4"]),  # its own parent
        (0, [(1, 0)], [(1, 30)], []),
        (2, [(1, 0)], [(1, 30)], []),
        (1, [(0, 0)], [(1, 30)], []),
        (1, [(2, 0)], [(1, 30)], []),
        (2, [(1, 0), (2, 1)], [(1, 30), (0, 7)], ["a.py:30"]),
        (2, [(1, 0), (2, 1)], [(1, 30), (3, 7)], ["a.py:30"]),
    ],
)
def test_the_lines_that_made_the_result(
    frame: int, frames: list[tuple[int, int]], places: list[tuple[int, int]], told: list[str]
) -> None:
    assert list(hlo_order.places_of_result(located(frame, frames, places))) == told


def test_frames_that_call_one_another_end_and_a_result_may_be_missing() -> None:
    found = list(hlo_order.places_of_result(located(1, [(1, 2), (2, 1)], [(1, 3), (2, 4)])))
    assert found[:3] == ["a.py:3", "b.py:4", "a.py:3"] and len(found) == 60
    assert not list(hlo_order.places_of_result(located(1, [(1, 0)], [(1, 30)], root=9)))
    nowhere = located(1, [(1, 0)], [(1, 30)])
    nowhere.entry_computation_id = 6
    assert not list(hlo_order.places_of_result(nowhere))


@pytest.mark.parametrize(
    "names, lines, told",
    [
        (["a.py"], {"a.py:3": "y = f(x)"}, ("a.py:3", "y = f(x)")),
        (["a.py"], {}, ("a.py:3", None)),
        (["/x/site-packages/flax/a.py"], {}, (None, None)),
        (["/x/dist-packages/a.py"], {}, (None, None)),
        (["<frozen runpy>"], {}, (None, None)),
    ],
)
def test_the_users_line(names: list[str], lines: dict[str, str], told: tuple[str | None, str | None]) -> None:
    module = located(1, [(1, 0)], [(1, 3)])
    module.stack_frame_index.file_names = names
    assert xla_programs._made_at(module, lines) == told


def called(*stack: tuple[str, str], name: str = "jit_step") -> Any:
    """A program whose only instruction has this stack, the innermost first: (place, function)."""
    module = located(
        1,
        [(number, number + 1 if number < len(stack) else 0) for number in range(1, len(stack) + 1)],
        [(number, int(place.partition(":")[2])) for number, (place, _) in enumerate(stack, 1)],
    )
    for number, each in enumerate(module.stack_frame_index.file_locations, 1):
        each.function_name_id = number
    module.stack_frame_index.file_names = [place.partition(":")[0] for place, _ in stack]
    module.stack_frame_index.function_names = [function for _, function in stack]
    first, result = module.computations[1].instructions
    first.metadata.stack_frame_id = 0
    module.computations = [Made(instructions=[first]), Made(instructions=[result])]
    module.name = name
    return module


@pytest.mark.parametrize(
    "stack, place",
    [
        ([("a.py:3", "loss"), ("a.py:5", "step"), ("a.py:9", "main"), ("a.py:20", "<module>")], "a.py:9"),
        # what is derived stands there twice
        ([("a.py:5", "step"), ("a.py:3", "loss"), ("a.py:5", "step"), ("a.py:9", "main")], "a.py:9"),
        # a method of the same name calls it
        ([("a.py:5", "step"), ("a.py:9", "Trainer.step"), ("a.py:20", "main")], "a.py:9"),
        ([("a.py:5", "fit.<locals>.step"), ("a.py:9", "fit")], "a.py:9"),
        ([("a.py:5", "step"), ("/x/site-packages/jax/api.py:7", "f"), ("a.py:9", "main")], "a.py:9"),
        ([("a.py:5", "step")], None),
        ([("a.py:5", "step"), ("b.py:9", "main")], None),  # its code is not known
        ([("a.py:5", "stepped"), ("a.py:9", "main")], None),
        ([("a.py:5", "<lambda>"), ("a.py:9", "main")], None),
    ],
)
def test_the_line_that_first_called_a_program(stack: list[tuple[str, str]], place: str | None) -> None:
    lines = {"a.py:5": "own()", "a.py:9": "y = step(x)", "a.py:20": "main()"}
    call = xla_programs._first_call(called(*stack), lines)
    assert (call and call[:2]) == (place and (place, "y = step(x)"))


@pytest.mark.parametrize("name", ["jit_", "", "jit__lambda_"])
def test_a_program_without_a_functions_name_tells_no_call(name: str) -> None:
    module = called(("a.py:5", "<lambda>"), ("a.py:9", ""), name=name)
    assert xla_programs._first_call(module, {"a.py:5": "f()", "a.py:9": "g()"}) is None


def test_the_users_line_stands_above_a_librarys() -> None:
    module = located(2, [(1, 0), (2, 1)], [(1, 30), (2, 7)])
    module.stack_frame_index.file_names = ["train.py", "/x/site-packages/optax/a.py"]
    assert xla_programs._made_at(module, {"train.py:30": "step()"}) == ("train.py:30", "step()")


LINE = Line(3, "out of memory", "log.txt")
RESULT = Allocation("f/out", 64 << 20, op="dot", shape=(4, 2), dtype="float32", purpose="maybe_live_out")
ARGUMENT = Allocation("f/in", 32, purpose="parameter")


def asked(size: Size | None, kind: RequestKind = RequestKind.HOST, **given: Any) -> Incident:
    return Incident(
        FailedRequest(kind, size=size, line=LINE, source="own.py:1", source_text="own()"), **given
    )


def compiled(
    temporaries: int | None = 500, name: str = "jit_step", source: str | None = "t.py:9"
) -> Incident:
    sections = (("preallocated temp", Size.exactly(temporaries), LINE),) if temporaries else ()
    request = FailedRequest(RequestKind.PROGRAM, executable=name, source=source, source_text="t()")
    holders = (HolderBlock(None, None, AllocationTable.of([ARGUMENT, RESULT])),)
    return Incident(request, holders=holders, compiler=CompilerMemory(sections=sections), fatal=False)


@pytest.mark.parametrize(
    "incident, explained",
    [
        (asked(Size.exactly(500)), True),
        (asked(Size.exactly(500), RequestKind.XLA), True),
        (asked(Size.exactly(500), RequestKind.TENSOR), False),
        (asked(Size.exactly(499)), False),
        (asked(Size.exactly(501)), False),
        (asked(Size(502, 495, 505)), True),
        (asked(Size(505, 501, 510)), False),
        (asked(None), False),
        (asked(Size.exactly(500), compiler=CompilerMemory()), True),
        (asked(Size.exactly(500), compiler=compiled().compiler), False),
        (asked(Size.exactly(500), holders=compiled().holders), False),
    ],
)
def test_a_program_whose_arena_has_just_that_many_bytes(incident: Incident, explained: bool) -> None:
    found = xla_programs._explained(incident, [compiled(None), compiled(7, "jit_other"), compiled()])
    if not explained:
        assert found == incident
        return
    assert (found.request.kind, found.request.executable) == (RequestKind.XLA, "jit_step")
    assert found.holders == compiled().holders
    assert found.compiler is not None
    assert found.compiler.sections == (("preallocated temp", Size.exactly(500), LINE),)


@pytest.mark.parametrize("size, found", [((64 << 20), True), ((64 << 20) - 1, False), (32, False)])
def test_a_program_whose_result_has_just_that_many_bytes(size: int, found: bool) -> None:
    told = xla_programs._explained(asked(Size.exactly(size)), [compiled()]).request
    plain = (None, None, None, None, "own.py:1", "own()", None, RequestKind.HOST)
    named = ("f/out", "dot", (4, 2), "float32", "t.py:9", "t()", "jit_step", RequestKind.HOST)
    mine = (
        told.node,
        told.op,
        told.shape,
        told.dtype,
        told.source,
        told.source_text,
        told.executable,
        told.kind,
    )
    assert mine == (named if found else plain)


def test_a_small_result_is_made_in_many_places_whatever_has_its_bytes() -> None:
    small = replace(RESULT, size_bytes=(64 << 20) - 1)
    program = replace(compiled(), holders=(HolderBlock(None, None, AllocationTable.of([small])),))
    assert xla_programs._explained(asked(Size.exactly(small.size_bytes)), [program]).request.node is None
    assert xla_programs._result(program, Size.exactly(small.size_bytes)) == small


def test_a_result_without_a_line_keeps_the_failures() -> None:
    told = xla_programs._explained(asked(Size.exactly(64 << 20)), [compiled(source=None)]).request
    assert (told.source, told.source_text, told.node) == ("own.py:1", "own()", "f/out")
    assert xla_programs._result(compiled(), Size.exactly(32)) is None  # an argument is no result


GIVEN = Allocation("buffer", 64 << 20, purpose="parameter")


def returning(*rows: Allocation, name: str = "jit_insert") -> Incident:
    """A program whose account is these rows: arguments, results and an empty arena."""
    sections = (
        ("preallocated temp", Size.exactly(0), LINE),
        ("parameter", Size.exactly(64 << 20), LINE),
        ("maybe_live_out", Size.exactly(64 << 20), LINE),
    )
    made = compiled(None, name)
    known = CompilerMemory(sections=sections, needed=Size.exactly(128 << 20))
    return replace(made, compiler=known, holders=(HolderBlock(None, None, AllocationTable.of(list(rows))),))


def test_a_result_as_large_as_an_argument_is_a_state_given_back() -> None:
    told = xla_programs._explained(asked(Size.exactly(64 << 20)), [returning(GIVEN, RESULT)])
    assert (told.request.kind, told.request.executable) == (RequestKind.XLA, "jit_insert")
    assert told.compiler is not None and not told.compiler.one_operation
    assert program_account.undonated(told.compiler)
    assert program_account.donatable_bytes(told.compiler) == 64 << 20
    other = replace(GIVEN, size_bytes=(64 << 20) - 4)
    told = xla_programs._explained(asked(Size.exactly(64 << 20)), [returning(other, RESULT)])
    assert (told.request.kind, told.compiler) == (RequestKind.HOST, None)


@pytest.mark.parametrize(
    "code, program",
    [
        ("buffer = insert(buffer, x)", "jit_insert"),
        ("buffer = state.insert (buffer, x)", "jit_insert"),
        ("buffer = reinsert(buffer, x)", "jit_zeros"),
        ("insert = zeros", "jit_zeros"),
        (None, "jit_zeros"),
    ],
)
def test_of_two_programs_the_one_that_the_line_calls(code: str | None, program: str) -> None:
    failed = asked(Size.exactly(64 << 20))
    failed = replace(failed, request=replace(failed.request, source_text=code))
    known = [returning(RESULT, name="jit_zeros"), returning(GIVEN, RESULT)]
    assert xla_programs._explained(failed, known).request.executable == program


def test_holders_without_names_give_way_to_the_programs_account() -> None:
    nameless = HolderBlock(None, None, AllocationTable.of([Allocation(None, 7)]))
    named = HolderBlock(None, None, AllocationTable.of([Allocation("a/b", 7)]))
    plain = asked(Size.exactly(500), holders=(nameless,))
    assert xla_programs._explained(plain, [compiled()]).holders == compiled().holders
    kept = asked(Size.exactly(500), holders=(nameless, named))
    assert xla_programs._explained(kept, [compiled()]) == kept
