"""When a process is taken for one that has nearly all the RAM that it may have."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tfmemlens.recording.inside import fullness
from tfmemlens.recording.inside.fullness import Fullness
from tfmemlens.recording.inside.lookout import Lookout

GIB = 1 << 30


def test_each_level_is_noted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = iter((0.5, 0.86, 0.9, 0.3, 0.97, 0.99))
    monkeypatch.setattr(Fullness, "share", lambda self: next(shares))
    here = Fullness()
    assert [here.rises() for _ in range(6)] == [False, True, False, False, True, False]


def test_the_nearest_limit_counts_and_addresses_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "/proc/meminfo": ["MemTotal:       33554432 kB\n", "MemFree: 1 kB\n"],
        "/proc/self/cgroup": ["4:cpu,memory:/job\n", "3:cpu:/job\n", "0::/job/step\n"],
        "/sys/fs/cgroup/memory.max": ["max\n"],
        "/sys/fs/cgroup/job/memory.max": [f"{4 * GIB}\n"],
        "/sys/fs/cgroup/memory/job/memory.limit_in_bytes": [f"{1 << 62}\n"],
    }
    monkeypatch.setattr(fullness, "_lines", lambda path: files.get(path, []))
    monkeypatch.setattr(fullness, "resident_bytes", lambda: GIB)
    monkeypatch.setattr(fullness, "addresses", lambda: 3 * GIB)
    monkeypatch.setattr(fullness, "address_limit", lambda: 0)
    assert Fullness().share() == 0.25
    monkeypatch.setattr(fullness, "address_limit", lambda: 4 * GIB)
    assert Fullness().share() == 0.75
    files.clear()
    monkeypatch.setattr(fullness, "address_limit", lambda: 0)
    assert Fullness().share() == 0.0
    assert fullness._lines(str(Path("no") / "file")) == []


def test_a_process_that_fills_its_ram_is_noted_and_looked_at_further(monkeypatch: pytest.MonkeyPatch) -> None:
    rising, noted = iter((False, True, False, True)), list[int]()
    monkeypatch.setattr(Fullness, "rises", lambda self: next(rising))
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    here = Lookout({}, lambda: noted.append(here._notes))
    waits = iter((False, False, True, False, False, True, True))
    monkeypatch.setattr(here, "waits", lambda: next(waits))
    here._run()
    assert noted == [0, 1, 1, 2, 3]
