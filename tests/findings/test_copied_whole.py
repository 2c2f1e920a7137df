"""An array that `fit` was given whole, as the program counted its copy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.findings import logs
from tfmemlens import pipeline
from tfmemlens.model.finding import Finding
from tfmemlens.model.report import Report

MIB = 1 << 20
SLICES = "from_tensor_slices"
FIT = "net.fit(spectra, targets,\n        batch_size=512, epochs=2)"
PROGRAM = """\
import tensorflow as tf
spectra, targets = load()
net = build()
{call}
"""


def group(name: str | None, *shape: int, call: str | None = "fit") -> dict[str, Any]:
    size = 4
    for each in shape:
        size *= each
    holder = {"name": name, "kind": "array given", "count": 1, "bytes": size, "line": 4, "call": call}
    holder["file"] = "train.py"
    return {"framework": "tensorflow", "shape": shape, "dtype": "float32", "count": 1, "bytes": size,
            "held_by": [holder]}  # fmt: skip


def explained(folder: Path, *groups: dict[str, Any], rest: int = 100, call: str = FIT) -> Report:
    (folder / "train.py").write_text(PROGRAM.format(call=call))
    document = {"tfmemlens_living": 1, "complete": True, "groups": groups}
    (folder / "living.json").write_text(json.dumps(document, indent=1))
    (folder / "recorder.json").write_text(
        json.dumps({"tfmemlens_recorder": 1, "versions": {"tensorflow": "2.11.0"}})
    )
    sizes = ((1, 200 * MIB), (1, 25 * MIB), (1, rest * MIB))
    (folder / "log.txt").write_text(
        logs.dump_by_size(16 * MIB, 330, *sizes, allocator="mklcpu")
        + f'Traceback (most recent call last):\n  File "{folder}/train.py", line 4, in <module>\n'
        f"    {call.partition(chr(10))[0]}\n"
        + logs.oom("2048,2048", "net/wide/MatMul", on=logs.CPU, by="mklcpu")
    )
    return pipeline.explain(folder)


def whole(report: Report) -> list[Finding]:
    return [each for each in report.findings if each.rule == "data-set-as-constant"]


SPECTRA, TARGETS = group("spectra", 25600, 2048), group("targets", 25600, 256)


def test_the_call_and_the_array_are_named_and_the_code_is_of_both(tmp_path: Path) -> None:
    (found,) = whole(explained(tmp_path, TARGETS, SPECTRA))
    assert found.headline.startswith(
        "`fit` (train.py:4) made one tensor of the whole array `spectra`, [25600,2048] float32, 200.00 MiB:"
    )
    (remedy,) = (each for each in found.remedies if each.slug == "in-batches")
    assert remedy.text.startswith("make batches of `spectra`, `targets` in a generator")
    assert remedy.code is not None
    assert "lambda: zip(spectra, targets)" in remedy.code
    assert "(tf.TensorSpec([2048], tf.float32), tf.TensorSpec([256], tf.float32))" in remedy.code
    assert remedy.saves_bytes == 200 * MIB


def test_where_not_all_that_the_call_takes_is_known_no_names_are_guessed(tmp_path: Path) -> None:
    (found,) = whole(explained(tmp_path, SPECTRA))
    (remedy,) = (each for each in found.remedies if each.slug == "in-batches")
    assert remedy.code is not None
    assert "lambda: iter(x)" in remedy.code


def test_one_array_alone(tmp_path: Path) -> None:
    slices = "rows = tf.data.Dataset.from_tensor_slices(spectra).batch(512)"
    (found,) = whole(explained(tmp_path, group("spectra", 25600, 2048, call=SLICES), call=slices))
    (remedy,) = (each for each in found.remedies if each.slug == "in-batches")
    assert remedy.code is not None
    assert "lambda: iter(spectra),\n    output_signature=tf.TensorSpec([2048], tf.float32))" in remedy.code


def test_its_block_is_input_by_its_name(tmp_path: Path) -> None:
    report = explained(tmp_path, SPECTRA)
    (moment,) = (each for each in report.case.moments if each.counted)
    assert moment.counted
    owners = {owner.layer: owner.kind.value for _, owner, _ in moment.counted.ranked}
    assert owners["spectra"] == "input"


@pytest.mark.parametrize(
    ("given", "rest"),
    [
        (group("spectra", 25600, 2048, call="train_on_batch"), 100),
        (group("spectra", 25600, 2048, call=None), 100),
        (SPECTRA, 900),
        (group(None, 25600, 2048), 100),
    ],
    ids=["a batch", "no call", "little of what is in use", "no name"],
)
def test_near_misses(tmp_path: Path, given: dict[str, Any], rest: int) -> None:
    assert not any(
        "made one tensor" in each.headline for each in whole(explained(tmp_path, given, rest=rest))
    )
