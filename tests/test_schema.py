"""Our own message classes: presence, and names that damage has left without a meaning."""

from __future__ import annotations

import pytest
from google.protobuf.message import DecodeError

from tfmemlens.schema import message, parse


def test_not_there_differs_from_zero() -> None:
    stats = message("XStat")()
    assert not stats.HasField("int64_value")
    stats.int64_value = 0
    assert parse("XStat", stats.SerializeToString()).HasField("int64_value")


def test_damaged_names_are_read_as_text() -> None:
    metadata = message("RunMetadata")()
    node = metadata.step_stats.dev_stats.add(device="/device:CPU:0", thread_names={1: "main"}).node_stats.add(
        node_name="conv/Relu"
    )
    node.memory.add(allocator_name="cpu").allocation_records.add(alloc_micros=3, alloc_bytes=4)
    metadata.partition_graphs.add().node.add(name="conv/Relu", input=["conv/x"]).attr["T"].type = 1
    raw = (
        metadata.SerializeToString()
        .replace(b"conv/Relu", b"conv\xff\xfeelu")
        .replace(b"conv/x", b"conv\xff\x80")
        .replace(b"main", b"\xc3(in")
    )
    found = parse("RunMetadata", raw)
    device = found.step_stats.dev_stats[0]
    assert device.node_stats[0].node_name == "conv\ufffd\ufffdelu"
    assert device.thread_names[1] == "\ufffd(in"
    assert device.node_stats[0].memory[0].allocation_records[0].alloc_bytes == 4
    assert list(found.partition_graphs[0].node[0].input) == ["conv\ufffd\ufffd"]
    assert found.partition_graphs[0].node[0].attr["T"].type == 1


def test_what_is_no_message_is_refused() -> None:
    with pytest.raises(DecodeError):
        parse("RunMetadata", b"\x0a\xff\xff")
