"""The arena of a compiled program: what lives in it at the worst point adds up to its size, and a place
counts once.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.model.allocation import AllocationTable

DUMPS = sorted((SAMPLES / "xla_dump").glob("*-buffer-assignment.txt"))


def rows(text: str, folder: Path) -> AllocationTable:
    path = folder / "module_0001.step.cpu_after_optimizations-buffer-assignment.txt"
    path.write_text(text, encoding="utf-8")
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
