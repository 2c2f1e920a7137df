"""Edges of readers: figures in messages, snapshots that find their op, dumps that find their failure."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from types import SimpleNamespace as Made
from typing import Any

import pytest

from tfmemlens.knowledge.ops.origin import source_of
from tfmemlens.model.capture import Capture, Source
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.incident import AllocatorState, FailedRequest, Incident, RequestKind
from tfmemlens.readers.bytes import wire
from tfmemlens.readers.formats import (
    chrome_trace,
    device_memory_profile,
    graph_file,
    log_memory,
    memory_dump,
    run_metadata,
    xla_programs,
)
from tfmemlens.readers.gathering import program_files
from tfmemlens.readers.timelines import graph_liveness
from tfmemlens.units import Size
from tfmemlens.values import replace


def chained(count: int) -> Graph:
    nodes = {"n0": Node("n0", "VarHandleOp")}
    for number in range(1, count + 1):
        nodes[f"n{number}"] = Node(f"n{number}", "Identity", (f"n{number - 1}:0",))
    return Graph(nodes)


def test_where_a_value_comes_from_is_followed_through_sixteen_ops() -> None:
    graph = chained(20)
    assert [source_of(f"n{at}", graph) for at in (0, 1, 16, 17, 20)] == ["n0", "n0", "n0", "n1", "n4"]
    assert (source_of("n9", None), source_of("gone", graph)) == ("n9", "gone")


# ------------------------------------------------------------------ snapshots and profiles


def test_an_output_is_of_the_execution_that_ended_a_microsecond_later() -> None:
    runs = [graph_liveness.NodeRun("a", None, 1.0, 8.0), graph_liveness.NodeRun("b:x", None, 1.0, 6.0)]
    tensors = [(7.0, "a:0", ""), (5.0, "b:x", ""), (6.0, "a:1", ""), (9.0, "a:0", "")]
    trace: Any = Made(tensors={"1": tensors}, deaths={("1", "a:0"): 12.0, ("1", "a:1"): 11.0})
    chrome_trace._attach(runs, "1", trace)
    assert [(run.node, run.start, run.end) for run in runs] == [
        ("a", 1.0, 8.0), ("b:x", 1.0, 6.0), ("a", 6.0, 7.0), ("a", 9.0, 10.0),
    ]  # fmt: skip
    told = [[(each.reference, each.until) for each in run.outputs] for run in runs]
    born = graph_liveness.OutputTensor("a:0", "", 0, 0, 0, 0, None, None).until
    assert told[0] == [("a:0", born)] and born != 12.0  # of a name that ran twice only the last death is told
    assert told[1:] == [[("b:x", 0.0)], [("a:1", 11.0)], [("a:0", 12.0)]]


@pytest.mark.parametrize("raw", [b"plain", b"", b"\x1f\x8c"])
def test_what_is_not_zipped_stays(raw: bytes) -> None:
    assert device_memory_profile._unzipped(raw) == raw


def test_as_much_as_can_be_unzipped() -> None:
    packer = zlib.compressobj(wbits=31)
    packed = packer.compress(b"figures" * 100) + packer.flush()
    assert device_memory_profile._unzipped(packed) == b"figures" * 100
    assert b"figures".startswith(device_memory_profile._unzipped(packed[:-9])[:7])
    assert device_memory_profile._unzipped(b"\x1f\x8bdamage") == b""


def test_a_repeated_number_is_packed_or_single() -> None:
    def numbers(raw: bytes) -> list[list[int]]:
        found = wire.fields(lambda start, count: raw[start : start + count], 0, len(raw))
        return [list(device_memory_profile._repeated(raw, field)) for field in found]

    assert numbers(b"\x08\x05\x08\xac\x02") == [[5], [300]]
    assert numbers(b"\x0a\x03\x05\xac\x02") == [[5, 300]]
    assert numbers(b"\x0d\x05\x00\x00\x00") == [[]]


# ------------------------------------------------------------------ what a file is


def message(tag: bytes, content: bytes) -> bytes:
    return tag + bytes([len(content)]) + content


@pytest.mark.parametrize("name, known", [(b"f", True), (b"__inference_f_3", True), (b"\x01\x02", False)])
def test_a_library_of_functions(name: bytes, known: bool) -> None:
    head = message(b"\x0a", name)
    for tag in (b"\x0a", b"\x0a", b"\x12"):
        head = message(tag, head)
    assert graph_file._is_library(head) is known
    assert not graph_file._is_library(b"\x0a" + head[1:])
    assert not graph_file._is_library(head[:4])


@pytest.mark.parametrize("kind", ["RunMetadata", "StepStats"])
@pytest.mark.parametrize("damaged", range(5))
def test_entries_of_a_text_before_its_damage(damaged: int, kind: str) -> None:
    """Of four nodes; `damaged` is the one that cannot be read, 4: none."""
    inner = "    " if kind == "RunMetadata" else "  "
    text = ("step_stats {\n  " if kind == "RunMetadata" else "") + f'dev_stats {{\n{inner}device: "gpu"\n'
    for at in range(4):
        text += (
            f'{inner}node_stats {{\n{inner}  {"$$" if at == damaged else "node_name"}: "n{at}"\n{inner}}}\n'
        )
    best, kept = run_metadata._parse_what_closes(text, kind)
    assert kept == damaged
    if not kept:
        assert best is None
        return
    (device,) = (best.step_stats if kind == "RunMetadata" else best).dev_stats
    assert [node.node_name for node in device.node_stats] == [f"n{at}" for at in range(damaged)]


@pytest.mark.parametrize(
    "stamp, micros",
    [
        ("12.5", 12_500_000.0),
        ("1970-01-02 00:00:01.500000", 86_401_500_000.0),
        ("2020-13-01 00:00:00.000000", 0.0),
    ],
)
def test_a_stamp_in_microseconds(stamp: str, micros: float) -> None:
    found = re.match(r"(?P<seconds>\d+\.\d+$)?(?P<date>.*)", stamp)
    assert found is not None and log_memory._micros(found) == micros


# ------------------------------------------------------------------ dumps and programs


def failed(allocator: str | None, in_use: Size | None, **state: Any) -> Incident:
    request = FailedRequest(RequestKind.TENSOR, allocator=allocator)
    return Incident(request, state=AllocatorState(in_use=in_use, **state))


def read(*incidents: Incident, kind: str = "oom-log") -> Capture:
    return Capture(Source("x", (kind,), "tensorflow"), incidents=incidents)


@pytest.mark.parametrize(
    "allocator, in_use, same",
    [
        ("GPU_0_bfc", Size(100, 95, 105), True),
        ("GPU_0_bfc", Size(105, 100, 110), True),
        ("GPU_0_bfc", Size(106, 101, 110), False),
        ("GPU_1_bfc", Size(100, 95, 105), False),
        (None, Size(100, 95, 105), False),
        ("GPU_0_bfc", None, False),
    ],
)
def test_a_dump_belongs_to_the_failure_with_as_much_in_use(
    allocator: str | None, in_use: Size | None, same: bool
) -> None:
    other = failed("GPU_0_bfc", Size.exactly(7), free_chunks=9)
    mine = failed(allocator, in_use, free_chunks=3)
    exact = Size.exactly(100)
    dump = failed("GPU_0_bfc", exact, free=Size.exactly(4))
    found = memory_dump.join([read(dump, kind="memory-dump"), read(other, mine)])
    if not same:
        assert [each.source.formats for each in found] == [("oom-log",), ("memory-dump",)]
        assert found[0].incidents == (other, mine)
        return
    (log,) = found
    assert log.source.formats == ("oom-log", "memory-dump") and log.incidents[0] == other
    state = log.incidents[1].state
    assert (state.in_use, state.free, state.free_chunks) == (exact, Size.exactly(4), 3)
    assert not memory_dump._same(mine, replace(dump, state=AllocatorState()))


@pytest.mark.parametrize(
    "number, told, quoted",
    [
        (1, "a = 1", True),
        (2, "b = 2", True),
        (2, "  b = 2  ", True),
        (1, "b = 2", False),
        (0, "b = 2", False),
        (3, "", False),
        (-1, "a = 1", False),
    ],
)
def test_whether_a_file_has_this_line(tmp_path: Path, number: int, told: str, quoted: bool) -> None:
    file = tmp_path / "train.py"
    file.write_text("a = 1\n    b = 2\n")
    assert program_files._quoted(str(file), number, told) is quoted
    assert not program_files._quoted(str(tmp_path), number, told)
    assert not program_files._quoted("\0", number, told)


@pytest.mark.parametrize(
    "lines, text", [({"t.py:3": "y()"}, "y()"), ({}, None), (["y()"], None), (None, None)]
)
def test_lines_of_code_beside_a_program(
    lines: Any, text: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xla_programs.hlo_order, "places_of_result", lambda module: iter(["t.py:3"]))
    assigned = Made(buffer_allocations=[1])
    whole = Made(hlo_module=Made(name="jit_f", computations=[]), buffer_assignment=assigned)
    monkeypatch.setattr(xla_programs.schema, "parse", lambda kind, raw: whole)
    program = Made(blocks=[1])
    monkeypatch.setattr(xla_programs.hlo_order, "program_of", lambda proto, label, origins: program)
    bare = Incident(FailedRequest(RequestKind.PROGRAM), fatal=False)
    monkeypatch.setattr(xla_programs.compiled_program, "incident", lambda program, name: bare)
    monkeypatch.setattr(xla_programs.hlo_origin, "Origins", lambda proto: Made(values=lambda lines: ()))
    made = xla_programs._program({"hlo_proto": "", "lines": lines}, "p.json")
    assert (made.request.source, made.request.source_text) == ("t.py:3", text)
    program.blocks = []
    with pytest.raises(ValueError, match="no allocations"):
        xla_programs._program({"hlo_proto": "", "lines": lines}, "p.json")
