"""Which bytes of a large message are read, how many of its entries are parsed at once, and where a field ends
that the file does not hold whole.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tfmemlens.readers.bytes import large_protobuf
from tfmemlens.readers.bytes.large_protobuf import Entries, Pieces, PlaneLine
from tfmemlens.readers.formats import run_metadata
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.schema import message

Opening = Callable[[bytes], Pieces]


@pytest.fixture
def pieces_of(tmp_path: Path) -> Opening:
    def opened(raw: bytes) -> Pieces:
        (tmp_path / "raw").write_bytes(raw)
        return opened_at(tmp_path / "raw", len(raw))

    return opened


def opened_at(path: Path, size: int) -> Pieces:
    with path.open("rb") as file:
        return Pieces(Opened(str(path), path.name, file, size))


class Recorded:
    """A file, and which ranges of it were read."""

    def __init__(self, pieces: Pieces) -> None:
        self.file, self.ranges = pieces._file, list[tuple[int, int]]()
        pieces._file = self  # type: ignore[assignment]

    def seek(self, place: int) -> int:
        return self.file.seek(place)

    def read(self, length: int) -> bytes:
        self.ranges.append((self.file.tell(), length))
        return self.file.read(length)


class TestWindows:
    @pytest.fixture
    def pieces(self, pieces_of: Opening, monkeypatch: pytest.MonkeyPatch) -> Pieces:
        monkeypatch.setattr(large_protobuf, "WINDOW", 10)
        return pieces_of(bytes(range(100)))

    @pytest.mark.parametrize(
        "second, read_again",
        [
            ((20, 4), []),
            ((26, 4), []),  # to the last byte of the window
            ((27, 4), [(27, 10)]),
            ((19, 2), [(19, 10)]),
            ((21, 30), [(21, 30)]),
        ],
    )
    def test_neighbours_come_from_one(
        self, pieces: Pieces, second: tuple[int, int], read_again: list[tuple[int, int]]
    ) -> None:
        file = Recorded(pieces)
        assert pieces.read(20, 4) == bytes(range(20, 24))
        start, length = second
        assert pieces.read(start, length) == bytes(range(start, start + length))
        assert file.ranges == [(20, 10), *read_again]

    @pytest.mark.parametrize(
        "second, read_again",
        [((20, 4), []), ((26, 4), []), ((27, 4), [(27, 4)]), ((19, 1), [(19, 1)]), ((60, 4), [(60, 4)])],
    )
    def test_what_stands_alone_is_read_alone(
        self, pieces: Pieces, second: tuple[int, int], read_again: list[tuple[int, int]]
    ) -> None:
        file = Recorded(pieces)
        pieces.read(20, 4)
        start, length = second
        assert pieces.look_up(start, length) == bytes(range(start, start + length))
        assert pieces.read(22, 2) == bytes((22, 23))  # the window stays
        assert file.ranges == [(20, 10), *read_again]


@pytest.mark.parametrize(
    "raw, fields, cut",
    [
        (b"\x08\x07\x12\x02ab", [(1, 1, 2), (2, 4, 6)], False),
        (b"\x08\x07\x12\x05ab", [(1, 1, 2), (2, 4, 6)], True),  # a text ends where the file does
        (b"\x08\x07\x12\x05", [(1, 1, 2), (2, 4, 4)], True),
        (b"\x08\x07\x10\x80", [(1, 1, 2)], True),  # a number that goes on is none
        (b"\x08\x07\x11abc", [(1, 1, 2)], True),
        (b"\x08\x07\x13\x08\x01", [(1, 1, 2)], True),  # a group
    ],
)
def test_fields_that_the_file_does_not_hold_whole(
    pieces_of: Opening, raw: bytes, fields: list[tuple[int, int, int]], cut: bool
) -> None:
    pieces = pieces_of(raw)
    assert (list(pieces.fields(0, len(raw))), pieces.cut) == (fields, cut)


def test_a_message_beyond_two_gib_is_found(tmp_path: Path) -> None:
    raw = message("XEvent")(metadata_id=7).SerializeToString()
    start = 1 << 31
    with (tmp_path / "large").open("wb") as file:  # nothing of it but the end takes room
        file.seek(start)
        file.write(raw)
    pieces = opened_at(tmp_path / "large", start + len(raw))
    assert pieces.parse("XEvent", start, start + len(raw)).metadata_id == 7


@pytest.mark.parametrize("length, asked", [((1 << 31) - 1, [(1 << 31) - 1]), (1 << 31, [])])
def test_protobuf_is_given_no_message_of_two_gib(
    pieces_of: Opening, length: int, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: list[int] = []
    pieces = pieces_of(b"")
    monkeypatch.setattr(pieces, "read", lambda start, length: lengths.append(length) or b"")
    assert pieces.parse("XEvent", 5, 5 + length) == message("XEvent")()
    assert lengths == asked


def test_a_message_is_parsed_once_for_all_its_fields(pieces_of: Opening) -> None:
    raw = message("XEvent")(metadata_id=7).SerializeToString()
    pieces = pieces_of(raw + raw)
    first = pieces.parse("XEvent", 0, len(raw))
    assert pieces.parse("XEvent", 0, len(raw)) is first
    assert pieces.parse("XEvent", len(raw), 2 * len(raw)) is not first
    assert pieces.parse("XStat", len(raw), 2 * len(raw)).DESCRIPTOR.name == "XStat"


def test_a_line_without_a_time_begins_at_nought(pieces_of: Opening) -> None:
    for given in (0, 5):
        raw = message("XLine")(timestamp_ns=given).SerializeToString() + b"\x22\x00"  # and an event
        line = PlaneLine(pieces_of(raw), 0, len(raw))
        assert line.timestamp_ns == given
        assert list(line.events) == [message("XEvent")()]


class TestEntries:
    """So many are parsed together: 512, none of another message, and one where somebody jumps about."""

    def entries(self, pieces_of: Opening, *counts: int) -> Entries:
        raws = []
        for count in counts:
            graph = message("GraphDef")()
            for index in range(count):
                graph.node.add(name=f"n{index}")
            raws.append(graph.SerializeToString())
        found, at = Entries(pieces_of(b"".join(raws)), "GraphDef", "node", 1), 0
        for raw in raws:
            found.add(at, at + len(raw))
            at += len(raw)
        return found

    @pytest.mark.parametrize(
        "asked, parsed",
        [
            ([0], [(0, 512)]),
            ([0, 511], [(0, 512)]),
            ([0, 512], [(0, 512), (512, 1024)]),
            ([0, 527], [(0, 512), (527, 1039)]),
            ([0, 528], [(0, 512), (528, 529)]),
            ([16], [(16, 17)]),
            ([700, 3], [(700, 701), (3, 4)]),
            ([700, 701, 702], [(700, 701), (701, 1213)]),
        ],
    )
    def test_a_walk_and_a_jump(
        self,
        pieces_of: Opening,
        asked: list[int],
        parsed: list[tuple[int, int]],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        found, ranges = self.entries(pieces_of, 2000), list[tuple[int, int]]()
        real = found._parsed

        def recorded(first: int, last: int) -> Any:
            ranges.append((first, last))
            return real(first, last)

        monkeypatch.setattr(found, "_parsed", recorded)
        assert [found[index].name for index in asked] == [f"n{index}" for index in asked]
        assert ranges == parsed

    def test_no_more_than_the_message_has(self, pieces_of: Opening) -> None:
        found = self.entries(pieces_of, 3, 600)
        assert [len(batch) for batch in found._batches()] == [3, 512, 88]
        assert (found._reach(0, 3), found._reach(3, 603), found._reach(600, 603)) == (3, 515, 603)

    def test_no_more_than_a_window(self, pieces_of: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
        found = self.entries(pieces_of, 20)  # of six bytes, and of seven from the eleventh on
        for window, last in ((60, 10), (59, 9), (5, 1), (67, 11), (66, 10)):
            monkeypatch.setattr(large_protobuf, "WINDOW", window)
            assert found._reach(0, 20) == last, window


@pytest.mark.parametrize("size, in_pieces", [(16 << 20, False), ((16 << 20) + 1, True)])
def test_from_which_size_on_a_step_is_read_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, in_pieces: bool
) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(run_metadata, "_in_pieces", lambda opened, bare: asked.append(bare))
    step = message("RunMetadata")()
    step.step_stats.dev_stats.add(device="/device:CPU:0").node_stats.add(node_name="a")
    (tmp_path / "step.pb").write_bytes(step.SerializeToString())
    with (tmp_path / "step.pb").open("rb") as file:
        run_metadata.read(Opened("step.pb", "step.pb", file, size))
    assert asked == [False] * in_pieces
