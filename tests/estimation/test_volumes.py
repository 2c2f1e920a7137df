"""What Conv3D's buffers tell of the L3 cache, against every run of the saved table; constants and branches
that grow with the batch.
"""

from __future__ import annotations

import csv
import importlib.util
from typing import Any

import pytest

from tests.conftest import ROOT, SAMPLES
from tfmemlens import pipeline
from tfmemlens.estimation.batch_scaling import conv3d_cache
from tfmemlens.estimation.batch_scaling.conv3d_cache import Cache, Gradient
from tfmemlens.model.capture import Hints
from tfmemlens.model.fit import Scale
from tfmemlens.units import MIB
from tfmemlens.use_cases.fit import known_of

with (SAMPLES / "convolution" / "measured.csv").open(newline="", encoding="utf-8") as saved:
    GRADIENTS = [
        line for line in csv.DictReader(saved)
        if line["kind"] == "conv3d" and line["part"] in ("filter", "input") and line["onednn"] == "0"
        and not line["tf"].startswith(("1.10", "1.11"))
    ]  # fmt: skip
SAMPLE = SAMPLES / "run_metadata" / "1.15-conv3d.pb"


def gradient(line: dict[str, Any]) -> Gradient:
    spec = importlib.util.spec_from_file_location(
        "convolution_benchmark", ROOT / "scripts" / "benchmarks" / "convolution.py"
    )
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Gradient(module.convolution_of(line), line["part"] == "input")


@pytest.mark.parametrize(
    "line", GRADIENTS, ids=lambda line: f"{line['tf']}-{line['part']}-{line['input']}-{line['kernel']}"
)
def test_the_cache_is_told_and_the_buffer_follows(line: dict[str, Any]) -> None:
    found, l3, measured = gradient(line), int(line["l3_bytes"]), int(line["largest_bytes"])
    if not (found.of_input and found.conv.batch == 1):
        low, high = conv3d_cache.told(found.conv, measured)
        assert low <= l3 <= high
    most, least = conv3d_cache.most_and_least(found, Cache(l3, l3), found.conv.batch)
    assert most(found.conv.batch) == least(found.conv.batch) == measured


def test_some_runs_have_buffers_and_some_have_none() -> None:
    sizes = [int(line["largest_bytes"]) for line in GRADIENTS]
    assert min(sizes) == 0 < max(sizes)


def test_a_step_of_one_volume_leaves_the_cache_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conv3d_cache, "this_machines_cache_bytes", lambda: None)
    capture = pipeline.timelines(SAMPLE, Hints(types=True))
    known = known_of(capture, Hints())
    assert known.remark and "only that it has more than" in known.remark
    assert known.step.least_bytes(64) < known.step.peak_bytes(64)
    monkeypatch.setattr(conv3d_cache, "this_machines_cache_bytes", lambda: 32 * MIB)
    sure = known_of(capture, Hints())
    assert sure.remark and "this machine's, 32.00 MiB" in sure.remark
    assert sure.step.peak_bytes(64) <= known.step.peak_bytes(64)


def test_constants_and_loop_exits_grow_with_the_batch() -> None:
    """The loop's first state and the constant 2 of the square's gradient are folded: [64,units] stands there
    before the step.
    """
    step = known_of(
        pipeline.timelines(SAMPLES / "fit" / "1.15-while-rnn-b64.pb.gz", Hints(types=True)), Hints()
    ).step
    laws = {row.node: law for row, law in zip(step.timeline.standing, step.standing_laws, strict=True)}
    assert laws["rnn/zeros"].scale is Scale.BATCH
    assert laws["gradients/Square_grad/Mul"].scale is Scale.BATCH
    assert laws["gradients/rnn/while/cell/MatMul/Enter_grad/b_acc"].scale is Scale.FIXED
    assert step.baseline_at(128) == step.baseline_bytes + step.standing_grown(64)
    huge = 1 << 20
    assert laws["rnn/zeros"].request(huge) > 10 * MIB
    assert laws["gradients/Square_grad/Mul"].request(huge) == 0  # too large to fold: left to the step
