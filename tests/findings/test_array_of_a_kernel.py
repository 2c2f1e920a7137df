"""The array of a kernel that XLA tried is told by its op, its shape and the program's names of sizes."""

from __future__ import annotations

import pytest

from tests.readers.test_tuned_kernels import tried
from tfmemlens import pipeline
from tfmemlens.findings.support.tried_kernels import in_names
from tfmemlens.model.report import Report

SCORES = (
    "f32[8,16384,16384]",
    "f32[16384,8,16]",
    "jit(fit)/jvp(vmap(BTNH,BSNH->BNTS))/dot_general",
    "8.02GiB",
)
LOGITS = ("f32[192,50257]", "f32[32768,50257]", "jit(fit)/transpose(jvp(Net))/head/transpose", "6.15GiB")
HESSIAN = (
    "f32[8368320,192]",
    "f32[43585,43585]",
    "jit(curve)/vmap(jvp(vmap(transpose(jvp()))))/dot",
    "6.00GiB",
)
ALONE = ("f32[3000,6000]", "f32[3000,6000,128]", "jit(_reduce_sum)/reduce_sum", "8.60GiB")


def explained(text: str) -> Report:
    return pipeline.explain(text)


@pytest.mark.parametrize(
    ("kernel", "told", "first"),
    [
        (SCORES, "attention scores, length x length (16,384 x 16,384)", "shorter-sequences"),
        (LOGITS, "logits over 50,257 classes", "part-of-positions"),
        (HESSIAN, "a row for each of 43,585 numbers", "hessian-products"),
        (ALONE, "one array of `reduce_sum`, an operation that ran by itself", "compile-the-call"),
    ],
)
def test_kinds(kernel: tuple[str, str, str, str], told: str, first: str) -> None:
    report = explained(tried(*kernel))
    assert told in report.verdict
    slugs = [remedy.slug for finding in report.findings for remedy in finding.remedies]
    assert slugs[0] == first
    assert not {"recompute", "donate-buffers", "gradient-accumulation"} & set(slugs)


def test_a_hessian_takes_no_batch() -> None:
    slugs = {remedy.slug for finding in explained(tried(*HESSIAN)).findings for remedy in finding.remedies}
    assert "smaller-batch" not in slugs


def test_a_first_derivative_is_no_hessian() -> None:
    name = "jit(fit)/vmap(transpose(jvp()))/dot_general"
    assert "Hessian" not in explained(tried("f32[8368320,192]", "f32[4,4]", name, "6.00GiB")).verdict


@pytest.mark.parametrize(
    ("size", "named"),
    [
        (32768, "BATCH x LENGTH"),
        (128, "BATCH"),
        (16384, "(TILE / PATCH) ** 2"),
        (32767, ""),
    ],
)
def test_sizes_in_the_programs_names(size: int, named: str) -> None:
    assert in_names(size, {256: "LENGTH", 128: "BATCH", 512: "TILE", 4: "PATCH"}) == named
