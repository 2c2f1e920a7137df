"""Which batch is advised, by what a failure tells of the room for it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.findings.logs import dump, oom, report
from tfmemlens import pipeline
from tfmemlens.findings import request_larger_than_device
from tfmemlens.findings.support import batch_bound, remedies
from tfmemlens.findings.support.batch_bound import BatchBound, in_words, of_traced, traced_below
from tfmemlens.findings.support.rows import held
from tfmemlens.model.what_if import TracedFit
from tfmemlens.readers.oom import switches
from tfmemlens.units import MIB
from tfmemlens.values import replace

FIT = "    model.fit(x, y)\n"
GRADIENT = "gradient_tape/net/conv/Relu/ReluGrad"


def bound(share: float, *, backward: bool = False, divisor: int = 4) -> BatchBound:
    return BatchBound(share, 100 * MIB, round(share * 100 * MIB), 0, backward, divisor)


def advised(text: str) -> str:
    remedies = [
        remedy
        for finding in pipeline.explain(text).findings
        for remedy in finding.remedies
        if remedy.slug == "smaller-batch"
    ]
    return remedies[0].text if remedies else ""


@pytest.mark.parametrize(
    ("share", "divisor", "batch", "most", "start"),
    [
        (0.99, 4, 256, 253, 64),  # just above a power of two counts
        (0.8, 4, 256, 204, 32),
        (0.99, 2, 48, 47, 16),
        (0.5, 4, 16, 8, 2),
        (0.1, 4, 16, 1, 1),
        (0.01, 4, 16, 0, 1),
        (0.999, 2, 3, 2, 1),
        (1.0, 4, 2, 1, 1),
    ],
)
def test_the_batch_to_begin_with(share: float, divisor: int, batch: int, most: int, start: int) -> None:
    told = bound(share, divisor=divisor)
    assert (told.most(batch), told.start(batch)) == (most, start)


@pytest.mark.parametrize(("share", "part"), [(0.99, "a quarter"), (0.5, "an eighth"), (0.02, "1/256")])
def test_an_unknown_batch_is_told_in_parts(share: float, part: str) -> None:
    assert in_words(bound(share), None).startswith(f"lower the batch to {part} of what it is now (a guess)")


@pytest.mark.parametrize(("share", "alone"), [(0.3, True), (0.02, True), (0.01, False)])
def test_a_program_that_wants_far_too_much_has_few_batches_so_large(share: float, alone: bool) -> None:
    of_program = replace(bound(share, divisor=1), of_program=True)
    text = in_words(of_program, None)
    assert ("make the samples themselves smaller" not in text) is alone
    assert "samples themselves" not in in_words(of_program, 4096)


@pytest.mark.parametrize(
    ("said", "batch"),
    [
        ("python -m net.train --batch 64 --seq 4096", "64"),
        ("train.py --batch=12", "12"),
        ("train.py --batch-dir 64", None),
        ("train.py --batch 64k", None),
        ("train.py --no-batch 64", None),
    ],
)
def test_the_batch_of_a_command_line(said: str, batch: str | None) -> None:
    told = dict(switches.settings(said))
    assert told.get("batch_size") == batch


def test_what_cannot_fit_is_said_where_it_tells_more_than_the_failure() -> None:
    assert in_words(bound(0.5), 64).endswith("more than 32 cannot fit")
    assert "cannot fit" not in in_words(bound(0.9), 64)
    assert in_words(bound(0.9, divisor=2), 3) == "lower the batch: 3 -> 1"
    assert "the backward pass comes on top" in in_words(bound(0.9, backward=True), 64)


def test_before_the_backward_pass_a_quarter_fits_and_in_it_half() -> None:
    text = dump(49, 400, 380) + FIT
    forward = advised(text + oom("64,112,112,16"))
    assert forward.startswith(
        "lower the batch: 64 -> 16 (a guess: the backward pass comes on top); if that runs, try 32"
    )
    backward = advised(text + oom("64,112,112,16", GRADIENT))
    assert backward.startswith("lower the batch: 64 -> 32; ")


def test_one_tensor_above_the_limit_needs_that_factor_and_more() -> None:
    said = advised(dump(1200, 400, 10) + oom("48,256,256,100") + FIT)
    assert (
        "48 -> 2 (a guess: the backward pass comes on top); if that runs, try 4, 8;" in said
        and "more than 15 cannot fit" in said
    )


def test_weights_by_name_are_not_taken_to_shrink() -> None:
    weights = report("140.00MiB from net/fc/kernel/Adam", "230.00MiB from x/Relu")
    without = advised(dump(49, 400, 380) + oom("64,112,112,16") + FIT)
    with_weights = advised(dump(49, 400, 380) + oom("64,112,112,16") + weights + FIT)
    assert "64 -> 16" in without and "cannot fit" not in without
    assert "64 -> 8 (a guess: the backward pass comes on top); if that runs, try 16, 32" in with_weights
    many = "Total params: 110,000,000\n"
    assert "no batch fits" in advised(many + dump(49, 400, 380) + oom("64,112,112,16") + FIT)


def test_without_a_limit_nothing_bounds_the_batch() -> None:
    assert (
        advised(oom("64,112,112,16"))
        == "halve the batch (64 -> 32): half of this tensor is 24.50 MiB, and other activations halve, too"
    )


def test_what_would_have_fitted_in_sum_bounds_nothing() -> None:
    pieces = dump(49, 400, 300, (40, 40))
    assert "a guess" not in advised(pieces + oom("64,112,112,16"))


def test_where_weights_take_all_nothing_bounds_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    def whole(_: Any, moment: Any) -> int:
        return int(max(moment.balance.in_use.bytes, held(moment)) + moment.request.needed_bytes)

    text = dump(49, 400, 380) + oom("64,112,112,16") + FIT
    assert "64 -> 16" in advised(text)
    monkeypatch.setattr(batch_bound, "_fixed", whole)
    assert "64 -> 16" not in advised(text) and "no batch fits" not in advised(text)


TRACED = TracedFit(batch=4, peak_bytes=150 * MIB, largest_batch=19, sure_batch=17)


def test_which_batch_a_traced_step_leads_to() -> None:
    step = "the step traced at batch 4 needs 150.00 MiB; by it about 19 fit"
    assert of_traced(TRACED, 32) == f"lower the batch: 32 -> 17 ({step}, 17 for sure)"
    assert of_traced(replace(TRACED, sure_batch=19), 32) == f"lower the batch: 32 -> 19 ({step})"


@pytest.mark.parametrize(("batch", "told"), [(20, True), (19, False), (None, False)])
def test_a_traced_step_tells_only_of_a_batch_that_is_too_large_by_it(batch: int | None, told: bool) -> None:
    case = pipeline.explain(oom("32,128")).case
    traced = replace(case, traced_fit=lambda moment: TRACED)
    assert (traced_below(traced, traced.moments[0], batch) is TRACED) is told
    assert traced_below(case, case.moments[0], batch) is None
    no_failure = replace(traced.moments[0], request=None)
    assert traced_below(replace(traced, moments=(no_failure,)), no_failure, batch) is None


def test_the_advice_takes_the_batch_that_a_traced_step_shows() -> None:
    case = pipeline.explain(oom("32,64,64,64") + FIT).case
    traced = replace(case, traced_fit=lambda moment: TRACED)
    advised = remedies.for_case("smaller-batch", traced, traced.moments[0])
    assert advised and advised.text.startswith("lower the batch: 32 -> 17 (the step traced at batch 4")
    usual = remedies.for_case("smaller-batch", case, case.moments[0])
    assert usual and "traced" not in usual.text


def test_a_tensor_larger_than_the_device_shrinks_to_the_batch_of_a_traced_step() -> None:
    text = dump(1024, 500, 10) + oom("32,8,1024,1024", node="net/conv/Relu") + FIT
    case = replace(pipeline.explain(text).case, traced_fit=lambda moment: TRACED)
    (found,) = request_larger_than_device.check(case)
    first = found.remedies[0]
    assert first.text == f"{of_traced(TRACED, 32)}; this tensor then takes 544.00 MiB"
    assert first.saves_bytes == 480 * MIB


WARNED = (
    "2025-01-01 10:00:00.0: W external/xla/xla/hlo/transforms/simplifiers/hlo_rematerialization.cc:3021]"
    " Can't reduce memory use below 10.00GiB (10737418240 bytes) by rematerialization; only reduced to"
    " 12.00GiB (12884901888 bytes), down from 40.00GiB (42949672960 bytes) originally\n"
)
ASKED = (
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
    " {size} bytes.\n"
)


def test_a_program_that_asks_for_more_than_its_compiler_reckoned_needs_that() -> None:
    told = pipeline.explain(WARNED + ASKED.format(size=39 << 30))
    assert "reckoned with 12.00 GiB" in told.verdict and "in one piece all the same" in told.verdict
    advice = " ".join(remedy.text for finding in told.findings for remedy in finding.remedies)
    assert "all it needs is 39.00 GiB now" in advice and "12.00 GiB now" not in advice


def test_a_request_below_what_the_compiler_reckoned_leaves_its_figure() -> None:
    told = pipeline.explain(WARNED + ASKED.format(size=11 << 30))
    assert "even after rematerialisation it needs 12.00 GiB" in told.verdict


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("Can this configuration be used for training on a V100?\n", True),
        ("Can this configuration be used on a V100?\n", False),
        ("remat_policy=full\nCan this configuration be used for training on a V100?\n", False),
    ],
)
def test_words_of_a_training_bring_its_remedy_as_a_guess(words: str, told: bool) -> None:
    far = WARNED.replace("10.00GiB (10737418240 bytes)", "5.00GiB (5368709120 bytes)")
    report = pipeline.explain(words + far + ASKED.format(size=11 << 30))
    advice = [remedy.text for finding in report.findings for remedy in finding.remedies]
    assert any(text.startswith("if it is the training step") for text in advice) is told
