"""Arrays of NumPy's own memory that a name of the program leads to: told where RAM is what ran out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.model.report import Report

GIB = 1 << 30
DUMP = (SAMPLES / "oom_log" / "2.21-gradients-stored.txt").read_text(encoding="utf-8")
OF_NUMPY = """Traceback (most recent call last):
  File "/a/agent.py", line 10, in <module>
    after = rng.rand(84, 84, 4)
numpy._core._exceptions._ArrayMemoryError: Unable to allocate 220. KiB for an array with shape (84, 84, 4)\
 and data type float64
"""


def living(count: int, size: int, resident: int | None, **holder: Any) -> dict[str, Any]:
    held = {"name": "memory[\u2026]", "kind": "tuple", "count": count, "bytes": size, **holder}
    place = {"file": "/a/agent.py", "function": None, "line": 11}
    group = {"shape": [84, 84, 4], "dtype": "float64", "count": count, "bytes": size, "framework": "numpy"}
    arrays = [{**group, "held_by": [{**held, **place}]}]
    return {
        "tfmemlens_living": 1,
        "complete": True,
        "groups": [],
        "arrays": arrays,
        "resident_bytes": resident,
    }


def told(folder: Path, log: str, document: dict[str, Any]) -> Report:
    (folder / "log.txt").write_text(log, encoding="utf-8")
    (folder / "living.json").write_text(json.dumps(document, indent=1))
    return pipeline.explain(folder)


def test_a_buffer_of_samples_is_what_fills_ram(tmp_path: Path) -> None:
    first = told(tmp_path, OF_NUMPY, living(13903, 3 * GIB, 4 * GIB)).findings[0]
    assert first.rule == "held-by-python"
    assert first.headline == (
        "`memory[\u2026]` (agent.py:11) holds 13903 arrays, 3.00 GiB: 75 % of the process's RAM"
    )
    assert first.evidence[0].line is not None and "session" not in first.detail
    (remedy,) = first.remedies
    assert remedy.text.startswith("let `memory` keep half as many entries, or each in fewer bytes")
    assert remedy.saves_bytes == 3 * GIB // 2


def test_what_is_kept_for_a_part_is_to_be_copied(tmp_path: Path) -> None:
    first = told(tmp_path, OF_NUMPY, living(577, 3 * GIB, 4 * GIB, shown_bytes=1 << 20)).findings[0]
    assert "for the 1.00 MiB that it refers to" in first.headline
    assert first.remedies[0].slug == "copies-of-parts"


@pytest.mark.parametrize(
    ("log", "size", "resident"), [(OF_NUMPY, GIB // 8, 4 * GIB), (OF_NUMPY, 3 * GIB, None), (DUMP, GIB, GIB)]
)
def test_near_miss_a_small_part_an_unknown_one_or_a_pool_of_tensorflows(
    tmp_path: Path, log: str, size: int, resident: int | None
) -> None:
    report = told(tmp_path, log, living(13903, size, resident))
    assert "held-by-python" not in [finding.rule for finding in report.findings]
