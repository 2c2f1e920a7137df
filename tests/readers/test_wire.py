"""Walking a message by its lengths: whole, cut at every byte, and damaged."""

from __future__ import annotations

from array import array

import pytest

from tfmemlens.readers.bytes import wire
from tfmemlens.schema import message, parse


def stats(nodes: int) -> bytes:
    found = message("RunMetadata")()
    for device in ("/device:CPU:0", "/device:GPU:0"):
        lane = found.step_stats.dev_stats.add(device=device)
        for index in range(nodes):
            lane.node_stats.add(node_name=f"node{index}" * 9, all_start_micros=index)
    raw: bytes = found.SerializeToString()
    return raw


def walked(raw: bytes) -> list[wire.Field]:
    return list(wire.fields(lambda at, length: raw[at : at + length], 0, len(raw)))


def test_every_kind_of_field_is_stepped_over() -> None:
    raw = b"\x08\x96\x01" + b"\x11" + bytes(8) + b"\x1a\x03abc" + b"\x25" + bytes(4) + b"\x28\x01"
    told = [(each.number, each.kind, raw[each.start : each.end]) for each in walked(raw)]
    assert told == [
        (1, wire.VARINT, b"\x96\x01"),
        (2, wire.FIXED64, bytes(8)),
        (3, wire.LENGTH, b"abc"),
        (4, wire.FIXED32, bytes(4)),
        (5, wire.VARINT, b"\x01"),
    ]
    assert all(each.whole for each in walked(raw))


@pytest.mark.parametrize(
    "raw",
    [
        b"\x0b",
        b"\x08",
        b"\x08\x80",
        b"\x1a\x80",
        b"\x1a",
        b"\x1a\x03ab",
        b"\x11" + bytes(7),
        b"\x1a\xff\xff\xff\xff\x7f",
    ],
)
def test_what_does_not_close_is_the_last(raw: bytes) -> None:
    *_, last = walked(b"\x08\x01" + raw)
    assert not last.whole
    assert len(walked(b"\x08\x01" + raw)) == 2


def test_a_message_cut_at_any_byte_gives_its_whole_nodes() -> None:
    raw = stats(3)
    before = -1
    for end in range(len(raw) + 1):
        prefix = wire.whole_prefix(raw[:end], depth=2)
        devices = parse("RunMetadata", prefix).step_stats.dev_stats
        kept = sum(len(device.node_stats) for device in devices)
        assert kept >= before
        assert all(
            node.node_name.endswith(f"{node.node_name[:5]}")
            for device in devices
            for node in device.node_stats
        )
        before = kept
    assert before == 6


def test_without_depth_only_whole_fields_stay() -> None:
    raw = stats(3)
    assert wire.whole_prefix(raw, depth=0) == raw
    assert wire.whole_prefix(raw[:-1], depth=0) == b""
    assert wire.whole_prefix(b"\x1a\x01a\x08\x01\x1a\x01b", depth=0) == b"\x1a\x01a"


def test_a_lying_length_ends_at_once() -> None:
    """Nested messages that claim more than there is, deeper than anybody walks."""
    lie = b"\x0a\xff\xff\xff\x7f" * 5000
    assert len(wire.whole_prefix(lie, depth=2)) < 30


@pytest.mark.parametrize("length", [0, 1, 127, 128, 16_383, 16_384, 70_000])
def test_entries_of_any_length_are_where_the_fields_are(length: int) -> None:
    lane = message("DeviceStepStats")()
    for _ in range(3):
        lane.node_stats.add(node_name="n" * length)
    lane.thread_names[1] = "main"
    raw: bytes = lane.SerializeToString()
    (first, *_), ends = [each for each in walked(raw) if each.number == 2], array("Q")
    starts = array("Q")
    taken = wire.entries(raw + bytes(64), 0x12, 1000, starts, ends)
    assert [end - 1000 for end in ends] == [each.end for each in walked(raw) if each.number == 2]
    assert list(starts) == [1000, *ends[:-1]] and taken == ends[-1] - 1000
    assert first.length_at == 1, "an entry begins with its tag"


def test_entries_end_where_one_is_not_whole() -> None:
    raw = stats(40)
    start = raw.index(b"\x12", 20)
    starts, ends = array("Q"), array("Q")
    taken = wire.entries(raw[start : start + 200], 0x12, 0, starts, ends)
    assert 0 < taken <= 200 and ends[-1] == taken
    assert raw[start + taken] == 0x12, "the next one begins there"
