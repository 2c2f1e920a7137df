"""What an open gradient tape keeps, as the program counted it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

STAMP = "2026-03-01 10:00:00.000000: I tensorflow/core/common_runtime/bfc_allocator.cc"
LOG = f"""\
{STAMP}:1114] Next region of size 209715200
{STAMP}:1158] Stats:
Limit:                       209715200
InUse:                       205520896
MaxInUse:                    205520896
NumAllocs:                         900
MaxAllocSize:                  4194304

Traceback (most recent call last):
  File "/home/mira/reefs.py", line 40, in <module>
    total = survey(parts)
  File "/home/mira/reefs.py", line 22, in survey
    return sum(score(part) for part in parts)
tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with \
shape[4,64,64,64] and type float on /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu [Op:Relu]
"""
MIB = 1 << 20


def bundle(folder: Path, count: int, kind: str = "gradient tape", name: str | None = None) -> Report:
    """Of a run at whose failure so many tensors of 4 MiB were held so."""
    holder: dict[str, Any] = {"name": name, "kind": kind, "count": count, "bytes": count * 4 * MIB}
    if kind == "gradient tape":
        holder.update(file="/home/mira/reefs.py", function="<module>", line=38)
    group = {
        "framework": "tensorflow", "shape": [4, 64, 64, 64], "dtype": "float32", "count": count,
        "bytes": count * 4 * MIB, "held_by": [holder],
    }  # fmt: skip
    living = {"tfmemlens_living": 1, "complete": True, "count": count, "bytes": count * 4 * MIB}
    (folder / "living.json").write_text(json.dumps({**living, "groups": [group]}, indent=1))
    (folder / "log.txt").write_text(LOG)
    return pipeline.explain(str(folder))


def test_the_tape_is_named_with_what_it_keeps(tmp_path: Path) -> None:
    report = bundle(tmp_path, 48)
    (found,) = (each for each in report.findings if each.rule == "kept-by-a-tape")
    assert found.headline == (
        "the gradient tape of reefs.py:38 keeps 192.00 MiB for its backward pass: 98 % of what was in use"
    )
    assert found.explains == 192 * MIB
    assert [each.fact for each in found.evidence] == ["48 x [4,64,64,64] float32, 192.00 MiB"]
    assert found.remedies[0].slug == "tape-inside-loop"
    assert "look-for-lists" not in {each.remedy.slug for each in report.actions}


def test_views_of_one_buffer_count_no_more_than_is_in_use(tmp_path: Path) -> None:
    (found,) = (each for each in bundle(tmp_path, 80).findings if each.rule == "kept-by-a-tape")
    assert found.explains == 196 * MIB


@pytest.mark.parametrize(
    ("count", "kind", "name"),
    [(16, "gradient tape", None), (48, "tuple", None), (48, "list", "history")],
)
def test_near_misses(tmp_path: Path, count: int, kind: str, name: str | None) -> None:
    report = bundle(tmp_path, count, kind, name)
    assert "kept-by-a-tape" not in {each.rule for each in report.findings}
