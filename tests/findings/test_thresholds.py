"""Where a rule begins: the last value that keeps it quiet, and the first that does not."""

from __future__ import annotations

import pytest

from tests.findings.logs import dump, oom, report
from tfmemlens import pipeline

KERNEL = "gradients/fc1/MatMul_grad/MatMul_1"
ROWS = ("90.00MiB from net/a/Relu", "100.00MiB from net/b/Relu")

EDGES: dict[str, tuple[str, str, str]] = {
    "few inputs are no dense layer behind Flatten": (
        "dense-kernel-gradient",
        oom("256,40000", KERNEL),
        oom("255,40000", KERNEL),
    ),
    "few units are none either": (
        "dense-kernel-gradient",
        oom("600000,16", KERNEL),
        oom("600000,15", KERNEL),
    ),
    "a kernel below 32 MiB is small": (
        "dense-kernel-gradient",
        oom("8192,1024", KERNEL),
        oom("8191,1024", KERNEL),
    ),
    "random numbers of dropout are no initialiser": (
        "parameters-dominate",
        oom("1024,1024", "net/hidden_1/random_uniform/RandomUniform"),
        oom("1024,1024", "net/dropout_1/random_uniform/RandomUniform"),
    ),
    "of two tensors one is always large": (
        "one-tensor-dominates",
        report(*ROWS, "80.00MiB from net/c/Relu"),
        report(*ROWS),
    ),
    "three tenths of the device": (
        "one-tensor-dominates",
        dump(300, 1000, 990) + oom("300,512,512"),
        dump(299, 1000, 990) + oom("299,512,512"),
    ),
    "fewer than 2,000 samples are a batch": (
        "whole-set-in-one-batch",
        oom("2000,28,28,32"),
        oom("1999,28,28,32"),
    ),
    "5,000 words are a vocabulary": (
        "vocabulary-logits",
        oom("4096,5000", "net/logits/BiasAdd"),
        oom("4096,4999", "net/logits/BiasAdd"),
    ),
    "256 rows make pairs": (
        "pairwise-broadcast",
        oom("256,256,256", "net/Sub"),
        oom("255,255,260", "net/Sub"),
    ),
    "scores of 64 positions": (
        "attention-scores",
        oom("64,64,64,64", "net/attention/MatMul"),
        oom("64,64,63,63", "net/attention/MatMul"),
    ),
}


def rules(log: str) -> set[str]:
    return {finding.rule for finding in pipeline.explain(log).findings}


@pytest.mark.parametrize(("rule", "fires", "quiet"), EDGES.values(), ids=EDGES)
def test_where_a_rule_begins(rule: str, fires: str, quiet: str) -> None:
    assert rule in rules(fires)
    assert rule not in rules(quiet)
