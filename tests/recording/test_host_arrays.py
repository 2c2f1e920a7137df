"""Which arrays of NumPy's own memory names lead to, each once, and what they show of it."""

from __future__ import annotations

import sys
from collections import deque
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy
import pytest

from tfmemlens.recording.inside import living, recorder, reserve
from tfmemlens.recording.inside.host_arrays import HostArrays, resident_bytes, whole_of

PLACE = SimpleNamespace(file="replay.py", function="fill")


def told(*arrays: tuple[Any, str]) -> list[dict[str, Any]]:
    held = HostArrays()
    for array, name in arrays:
        held.add(array, name, "list", PLACE)
    return held.told(lambda place, name: len(name))


def test_an_array_counts_once_and_whole_however_little_is_kept_of_it() -> None:
    page, other = numpy.zeros((64, 64), "float32"), numpy.zeros((64, 64), "float32")
    rows = told((page[:8], "crops"), (page[8:9], "crops"), (page, "pages"), (other, "pages"), (other, "last"))
    assert [(row["count"], row["bytes"], row["shape"], row["dtype"]) for row in rows] == [
        (2, 2 * page.nbytes, [64, 64], "float32")
    ]
    assert rows[0]["held_by"] == [
        {
            "name": name,
            "kind": "list",
            "count": 1,
            "bytes": page.nbytes,
            "line": 5,
            "file": "replay.py",
            "function": "fill",
        }
        for name in ("crops", "pages")
    ]


def test_a_part_alone_tells_what_it_shows() -> None:
    page = numpy.zeros((64, 64), "float32")
    (row,) = told((page[:8], "crops"), (page[8:9], "crops"))
    assert row["held_by"][0]["shown_bytes"] == 9 * 64 * 4


def test_what_a_file_or_something_else_has_is_no_array_of_numpys(tmp_path: Path) -> None:
    mapped = numpy.memmap(tmp_path / "data", "float32", "w+", shape=(64, 64))
    lent = numpy.frombuffer(bytearray(4096), "uint8")
    assert whole_of(mapped) is None and whole_of(mapped[:3]) is None and whole_of(lent) is None
    assert told((mapped, "data"), (lent, "lent"), (numpy.zeros(4), "few")) == []


def test_a_deque_of_transitions_is_found_with_the_line_that_fills_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "agent.py"
    source.write_text("memory = deque()\nfor _ in range(9):\n    memory.append((state, 1, after))\n")
    program = ModuleType("agent")
    states = [numpy.zeros((8, 64), "float32") for _ in range(10)]
    program.memory = deque(zip(states, range(9), states[1:], strict=False))  # type: ignore[attr-defined]
    program.__file__ = str(source)
    monkeypatch.setitem(sys.modules, "agent", program)
    (row,) = (row for row in living.living()["arrays"] if row["shape"] == [8, 64])
    (holder,) = row["held_by"]
    assert (holder["name"], holder["kind"], holder["count"], holder["line"]) == (
        "memory[\u2026]",
        "tuple",
        10,
        3,
    )


def test_ram_is_told_where_the_system_says_it() -> None:
    assert sys.platform != "linux" or (resident_bytes() or 0) > 1 << 20


@pytest.mark.parametrize("limit, kept", [(0, None), (64 << 20, 1 << 20), (1 << 40, reserve.MOST_BYTES)])
def test_where_addresses_are_limited_some_are_kept_for_the_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, kept: int | None
) -> None:
    monkeypatch.setattr(reserve, "address_limit", lambda: limit)
    own = recorder.Recorder(str(tmp_path), {}, None)
    room = own._reserve._kept
    assert (len(room) if room is not None else None) == kept
    own.failed(MemoryError())
    assert own._reserve._kept is None and (room is None or room.closed)
