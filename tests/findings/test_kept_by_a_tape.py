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


def bundle(
    folder: Path,
    count: int,
    kind: str = "gradient tape",
    name: str | None = None,
    scopes: tuple[dict[str, Any], ...] = (),
) -> Report:
    """Of a run at whose failure so many tensors of 4 MiB were held so; `scopes` are where the tape's were
    made, in equal parts.
    """
    holder: dict[str, Any] = {"name": name, "kind": kind, "count": count, "bytes": count * 4 * MIB}
    if kind == "gradient tape":
        holder.update(file="/home/mira/reefs.py", function="<module>", line=38)
    part = count // max(len(scopes), 1)
    holders = [{**holder, "count": part, "bytes": part * 4 * MIB, **each} for each in scopes] or [holder]
    group = {
        "framework": "tensorflow", "shape": [4, 64, 64, 64], "dtype": "float32", "count": count,
        "bytes": count * 4 * MIB, "held_by": holders,
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


BLOCKS = "".join(f"{STAMP}:1083] InUse at 7f{at:010x} of size 4194304 next {at}\n" for at in range(1, 49))


def of_layers(folder: Path, *scopes: dict[str, Any], failed: str | None = None) -> Report:
    """The same with the dump's blocks, and the program's layers."""
    paths = ("encoder", "encoder/block", "encoder/block/expand", "encoder/block/shrink", "head")
    layers = [{"path": path, "class": "Dense", "outputs": []} for path in paths]
    told = {"tfmemlens_model": 1, "variables": [], "models": [{"name": "reefnet", "layers": layers}]}
    (folder / "model.json").write_text(json.dumps({**told, "failed_scope": failed}))
    return bundle(folder, 48, scopes=scopes)


@pytest.fixture
def _with_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = LOG.split(f"{STAMP}:1158]")
    monkeypatch.setattr(f"{__name__}.LOG", f"{before}{BLOCKS}{STAMP}:1158]{after}")


EXPAND = {"scope": "reefnet/encoder/block/expand", "calls": 1}
SHRINK = {"scope": "reefnet/encoder/block/shrink", "calls": 1}


@pytest.mark.usefixtures("_with_blocks")
def test_the_layers_in_whose_scopes_they_were_made_are_named(tmp_path: Path) -> None:
    report = of_layers(tmp_path, EXPAND, SHRINK)
    (found,) = (each for each in report.findings if each.rule == "kept-by-a-tape")
    assert found.because == (
        "the gradient tape of reefs.py:38 keeps 192.00 MiB, most of `encoder/block/expand` (96.00 MiB) and"
        " `encoder/block/shrink` (96.00 MiB)"
    )
    assert found.evidence[0].fact.endswith(", made in reefnet/encoder/block/expand")
    assert "equal-chunks" not in {each.rule for each in report.findings}


@pytest.mark.usefixtures("_with_blocks")
def test_one_layer_alone_is_named_without_its_bytes_again(tmp_path: Path) -> None:
    report = of_layers(tmp_path, {**EXPAND, "calls": 24})
    (found,) = (each for each in report.findings if each.rule == "kept-by-a-tape")
    assert found.because == (
        "the gradient tape of reefs.py:38 keeps 192.00 MiB of `encoder/block/expand` in 24 calls"
    )


@pytest.mark.usefixtures("_with_blocks")
@pytest.mark.parametrize(("calls", "first"), [(1, False), (2, False), (3, True), (24, True)])
def test_parts_help_where_layers_are_called_again_and_again(tmp_path: Path, calls: int, first: bool) -> None:
    report = of_layers(tmp_path, {**EXPAND, "calls": calls}, {**SHRINK, "calls": calls})
    (found,) = (each for each in report.findings if each.rule == "kept-by-a-tape")
    assert (found.remedies[:1] and found.remedies[0].slug == "tape-inside-loop") == first
    assert ("tape-inside-loop" in {each.slug for each in found.remedies}) == first


@pytest.mark.parametrize(
    ("failed", "where"),
    [
        ("reefnet/encoder/block/shrink", "`encoder/block/shrink`"),
        ("gradient_tape/reefnet/encoder/block/expand", "`encoder/block/expand`"),
        ("reefnet/encoder/block", "`encoder/block`"),
        (None, "`Relu`"),
    ],
)
def test_the_layer_whose_op_failed_is_named(tmp_path: Path, failed: str | None, where: str) -> None:
    assert where in of_layers(tmp_path, failed=failed).verdict.partition(" while ")[0]


@pytest.mark.usefixtures("_with_blocks")
def test_a_weight_that_an_op_reads_stays_the_weight(tmp_path: Path) -> None:
    """Its value is a tensor that the tape keeps, of the same buffer."""
    report = of_layers(tmp_path, EXPAND)
    told = json.loads((tmp_path / "model.json").read_text())
    row = {"layer": "head", "kind": "parameter", "shape": [4, 64, 64, 64], "dtype": "float32"}
    told["variables"] = [{**row, "name": "head/kernel", "bytes": 4 * MIB}]
    (tmp_path / "model.json").write_text(json.dumps(told))
    counted = pipeline.explain(str(tmp_path)).case.moments[0].counted
    assert counted is not None
    held = {group.name: group.total_bytes for group in counted.by("layer")}
    assert held == {"encoder/block/expand": 47 * 4 * MIB, "head": 4 * MIB}
    assert report.findings


@pytest.mark.usefixtures("_with_blocks")
@pytest.mark.parametrize(
    ("failed", "calls", "text"),
    [
        ("reefnet/encoder/block/shrink", 1, "lower the batch: 4 -> 1 (a guess: the backward pass comes on"),
        ("gradient_tape/reefnet/encoder/block/shrink", 1, "halve the batch (4 -> 2)"),
        ("reefnet/encoder/block/shrink", 24, "halve the batch (4 -> 2)"),
    ],
)
def test_a_forward_pass_that_just_fits_leaves_no_room_for_its_backward_pass(
    tmp_path: Path, failed: str, calls: int, text: str
) -> None:
    report = of_layers(tmp_path, {**EXPAND, "calls": calls}, {**SHRINK, "calls": calls}, failed=failed)
    (found,) = (each for each in report.findings if each.rule == "kept-by-a-tape")
    (smaller,) = (each.text for each in found.remedies if each.slug == "smaller-batch")
    assert smaller.startswith(text)
