"""Where a rule begins: the last value that keeps it quiet, and the first that does not."""

from __future__ import annotations

import pytest

from tests.findings.logs import MIB, dump, oom, report
from tfmemlens import pipeline
from tfmemlens.model.finding import Severity

KERNEL = "gradients/fc1/MatMul_grad/MatMul_1"
ROWS = ("90.00MiB from net/a/Relu", "100.00MiB from net/b/Relu")


def in_two(log: str) -> str:
    """The dump with its one chunk of 7,990 MiB as two."""
    return log.replace(f"1 Chunks of size {7990 * MIB}", f"2 Chunks of size {3995 * MIB}")


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
        in_two(dump(2400, 8000, 7990)) + oom("2400,512,512"),
        in_two(dump(2399, 8000, 7990)) + oom("2399,512,512"),
    ),
    "free memory in pieces needs a hundredth of the device": (
        "fragmented-free-memory",
        dump(12, 2000, 1980, (9, 9, 2)),
        dump(12, 2000, 1981, (9, 9, 1)),
    ),
    "a device that is nearly full is full, in however many pieces": (
        "memory-shortage",
        dump(60, 1000, 901, (50, 49)),
        dump(60, 1000, 900, (50, 50)),
    ),
    "fewer than 2,000 samples are a batch": (
        "whole-set-in-one-batch",
        oom("2000,28,28,32"),
        oom("1996,28,28,32"),
    ),
    "500 samples of an odd number are a set": (
        "whole-set-in-one-batch",
        oom("501,28,28,64"),
        oom("499,28,28,64"),
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


SEVERITIES: dict[str, tuple[str, Severity]] = {
    "a tenth of the device lay free in pieces": (dump(60, 1000, 900, (50, 50)), Severity.CAUSE),
    "less than a tenth did": (dump(60, 1000, 901, (50, 49)), Severity.NOTE),
    "the free pieces cover the request only just": (dump(90, 1000, 900, (50, 50)), Severity.FACTOR),
}


@pytest.mark.parametrize(("log", "severity"), SEVERITIES.values(), ids=SEVERITIES)
def test_fragmentation_is_a_cause_where_much_was_free(log: str, severity: Severity) -> None:
    (found,) = (
        finding for finding in pipeline.explain(log).findings if finding.rule == "fragmented-free-memory"
    )
    assert found.severity is severity


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (dump(12, 2000, 1981, (9, 9, 1)), "a full device: 12.00 MiB was requested, 19.00 MiB was free"),
        (
            dump(12, 2000, 1980, (9, 9, 2)),
            "a nearly full device: 12.00 MiB was requested, 20.00 MiB was free",
        ),
        (dump(60, 1000, 950, (49, 1)), "10.00 MiB short: 60.00 MiB was requested, 50.00 MiB was free"),
    ],
)
def test_a_shortage_says_how_full_the_device_is(log: str, said: str) -> None:
    (found,) = (each for each in pipeline.explain(log).findings if each.rule == "memory-shortage")
    assert found.headline.startswith(said)


def test_a_nearly_full_device_is_a_cause_that_explains_the_request() -> None:
    findings = pipeline.explain(dump(60, 1000, 901, (50, 49))).findings
    (found,) = (each for each in findings if each.rule == "memory-shortage")
    assert (found.severity, found.explains) == (Severity.CAUSE, 60 << 20)
    assert found.because == "only 99.00 MiB of 1000.00 MiB was free, in pieces that are too small"


@pytest.mark.parametrize(("listed", "told"), [("40.0KiB", False), ("3000.00MiB", True)])
def test_what_is_nothing_of_the_device_is_not_the_verdict(listed: str, told: bool) -> None:
    log = dump(100, 4000, 3980, (20,)) + oom("100,512,512") + report(f"{listed} from net/a/Relu")
    assert ("held are layer outputs (activations)" in pipeline.explain(log).verdict) == told


def test_the_layers_named_are_those_of_the_kind_that_the_sentence_names() -> None:
    rows = ("300.00MiB from net/few/Relu", "100.00MiB from net/many/Relu", "90.00MiB from net/many/add")
    weights = "250.00MiB from net/many/kernel"
    verdict = pipeline.explain(oom("64,256,256,2") + report(*rows, weights)).verdict
    assert ", most in net/few, net/many" in verdict
