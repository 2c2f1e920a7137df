"""Signatures: one for what is one failure to a person, another for what is another."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT
from tfmemlens.fleet import rows
from tfmemlens.fleet.signature import fold, limit_class, signature

LOGS = ROOT / "sample_traces" / "oom_log"
FACTS: dict[str, Any] = {
    "framework": "tensorflow",
    "kind": "tensor",
    "rule": "layout-optimizer-copies",
    "place": "unet_3/conv2d_7",
    "shape": (32, 720, 1280, 64),
    "limit_bytes": 11_200 << 20,
}


def test_a_signature_reads_and_stays_as_it_is() -> None:
    head, digest = signature(**FACTS).rsplit("-", 1)
    assert head == "layout-optimizer-copies unet/conv2d [?,720,1280,64] 11GiB tensorflow"
    assert digest == "102fe2cd"


@given(batch=st.integers(1, 4096), copy=st.integers(0, 99), less=st.integers(0, 150 << 20))
def test_it_is_the_same_over_batches_copies_and_a_bit_of_memory(batch: int, copy: int, less: int) -> None:
    other = FACTS | {
        "shape": (batch, *FACTS["shape"][1:]),
        "place": f"unet_{copy}/conv2d_{copy}",
        "limit_bytes": FACTS["limit_bytes"] - less,
    }
    assert signature(**other) == signature(**FACTS)


@pytest.mark.parametrize(
    "change",
    [
        {"framework": "jax"},
        {"framework": None},
        {"kind": "XLA arena"},
        {"rule": "im2col-buffer"},
        {"rule": None},
        {"place": "unet_3/conv3d_7"},
        {"place": None},
        {"shape": (32, 360, 640, 64)},
        {"shape": (32, 720, 1280)},
        {"shape": None},
        {"limit_bytes": 80 << 30},
        {"limit_bytes": None},
    ],
    ids=str,
)
def test_another_cause_has_another_one(change: dict[str, Any]) -> None:
    assert signature(**FACTS | change) != signature(**FACTS)


@pytest.mark.parametrize(
    ("name", "folded"),
    [
        ("conv2d", "conv2d"),
        ("conv2d_12", "conv2d"),
        ("unet_01/block12/conv3d_1", "unet/block#/conv3d"),
        ("Mixed_5b/Conv2d_0a_1x1", "Mixed_#b/Conv2d_#a_#x#"),
        ("encoder/layer_11/attention", "encoder/layer/attention"),
        ("dense2do", "dense#do"),
        ("", ""),
    ],
)
def test_numbers_are_folded(name: str, folded: str) -> None:
    assert fold(name) == folded


@given(st.text(alphabet="abcd_/0123456789", max_size=30))
def test_folding_is_done_once(name: str) -> None:
    assert fold(fold(name)) == fold(name)


def test_limits_have_classes() -> None:
    gib = 1 << 30
    told = {0: "", -5: "", 1: "1MiB", 400 << 20: "512MiB", 513 << 20: "1GiB", 7972893492: "8GiB"}
    told |= {
        15 * gib: "16GiB",
        16 * gib: "16GiB",
        16 * gib + 1: "24GiB",
        73 * gib: "80GiB",
        400 * gib: "512GiB",
    }
    assert {limit: limit_class(limit) for limit in told} == told
    assert limit_class(None) == ""


RETRIED = ["1.13-unet-layout", "1.15-unet-report", "2.4-conv3d", "2.11-attention-scores", "2.21-unet-layout"]


@pytest.mark.parametrize("name", RETRIED)
def test_ranks_and_retries_of_a_job_have_the_signature_of_the_first(name: str) -> None:
    text = (LOGS / f"{name}.txt").read_text(encoding="utf-8")
    first = [row["signature"] for row in rows.incidents(text)]
    ranked = "\n".join(f"[1,3]<stderr>:{line}" for line in text.split("\n"))
    later = re.sub(r"\b0x[0-9a-f]{6,}", "0x7f2c00000000", text.replace("2026-11-2", "2026-12-0"))
    device = text.replace("GPU:0", "GPU:3").replace("task:0", "task:5")
    for other in (ranked, later, device):
        assert [row["signature"] for row in rows.incidents(other)] == first


def test_the_samples_of_different_failures_differ() -> None:
    """Of a version of TensorFlow: the same program fails the same way in several."""
    signatures: dict[str, list[str]] = {}
    for sample in sorted(LOGS.glob("2.11-*.txt")):
        for row in rows.incidents(sample)[:1]:
            signatures.setdefault(row["signature"], []).append(Path(row["source"]).stem)
    shared = [names for names in signatures.values() if len(names) > 1]
    assert shared == [["2.11-attention-scores", "2.11-mixed-float16"]], "one model in two precisions"
