"""What each change saves: the arithmetic over a list, and the same figure on every page."""

from __future__ import annotations

import json

import pytest

from tests.findings.logs import oom, report
from tfmemlens import pipeline
from tfmemlens.attribution.moments.ledger import ledger_of
from tfmemlens.cli.main import main
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Certainty
from tfmemlens.model.what_if import Basis, Saving
from tfmemlens.renderers.savings import in_words
from tfmemlens.units import MIB
from tfmemlens.what_if import changes
from tfmemlens.what_if.sliders import with_sliders

HELD = (
    "100.00MiB from net/a/Relu",
    "60.00MiB from net/b/Relu",
    "40.00MiB from gradients/net/b/Conv2D_grad/Conv2DBackpropFilter",
    "20.00MiB from net/conv/kernel/Adam_1",
    "10.00MiB from net/conv/Conv2D-0-0-TransposeNCHWToNHWC-LayoutOptimizer",
)
GROWING = (100 + 60 + 10) * MIB


@pytest.fixture(scope="module")
def case() -> Case:
    return pipeline.explain(oom("64,256,256,2") + report(*HELD)).case


def of(case: Case, change: str, to_batch: int | None = None) -> Saving:
    return case.what_if(0, change, to_batch)


def test_half_the_batch_saves_half_of_what_grows_with_it(case: Case) -> None:
    """The gradient of a weight and a slot stay; who knows what the rest is, so the interval is wide."""
    half = of(case, changes.SMALLER_BATCH)
    assert half.best_bytes == GROWING // 2
    assert (half.low_bytes, half.high_bytes) == (GROWING // 4, (GROWING + 40 * MIB) // 2)
    assert half.basis is Basis.LIST and half.certainty is Certainty.ESTIMATE
    assert of(case, changes.GRADIENT_ACCUMULATION).best_bytes == GROWING // 2  # no weight is listed


def test_mixed_precision_saves_nine_twentieths_of_what_it_halves(case: Case) -> None:
    assert of(case, changes.MIXED_PRECISION).best_bytes == round(0.45 * GROWING)


def test_recomputing_a_few_tensors_saves_at_most_what_grows(case: Case) -> None:
    found = of(case, changes.RECOMPUTE)
    assert (found.low_bytes, found.best_bytes, found.high_bytes) == (0, 160 * MIB, GROWING)
    assert found.certainty is Certainty.BOUND


def test_recomputing_many_keeps_the_ends_of_stretches_and_one_stretch() -> None:
    rows = [f"10.00MiB from net/block_{number}/Relu" for number in range(16)]
    found = pipeline.explain(oom("64,256,256,2") + report(*rows)).case.what_if(0, changes.RECOMPUTE)
    assert found.best_bytes == 160 * MIB - 2 * 160 * MIB // 4
    assert found.high_bytes == 160 * MIB


def test_slots_and_copies_go_as_they_are(case: Case) -> None:
    assert of(case, changes.LIGHTER_OPTIMIZER).best_bytes == 20 * MIB
    copies = of(case, changes.NO_LAYOUT_COPIES)
    assert (copies.best_bytes, copies.certainty, copies.low_bytes) == (10 * MIB, Certainty.BOUND, 0)


def test_nothing_is_said_of_nothing() -> None:
    bare = pipeline.explain(oom("64,256,256,2") + "\n").case
    assert not any(bare.what_if(0, slug).known for slug in changes.CHANGES)
    assert not of(bare, "a change that nobody knows").known


def test_each_lever_leaves_its_share_of_the_rows_that_it_touches(case: Case) -> None:
    ledger = with_sliders(case, 0, ledger_of(case.moments[0]))
    sizes = ledger.table.size_bytes
    left = {
        lever.slug: (
            lever.factor,
            sum(size for size, on in zip(sizes, lever.touches, strict=True) if on) // MIB,
        )
        for lever in ledger.scaling.levers
    }
    assert left == {
        "no-layout-copies": (0.0, 10),
        "mixed-precision": (0.5, 170),
        "recompute": (0.5, 160),
        "lighter-optimizer": (0.0, 20),
    }


@pytest.mark.parametrize(
    ("size", "certainty", "words"),
    [
        (283 * MIB, Certainty.ESTIMATE, "saves about 280 MiB"),
        (16004743, Certainty.EXACT, "saves 15.26 MiB"),
        (16004743, Certainty.BOUND, "saves up to 15.26 MiB"),
        (-4823450, Certainty.ESTIMATE, "would need about 4.6 MiB more"),
        (0, Certainty.ESTIMATE, "saves nothing here"),
        (None, None, ""),
    ],
)
def test_a_saving_in_words(size: int | None, certainty: Certainty | None, words: str) -> None:
    assert in_words(size, certainty) == words


TRACES = (
    "sample_traces/fit/1.15-unet-b4.pb.gz",
    "sample_traces/fit/2.21-unet-b2.pb.gz",
    "sample_traces/fit/1.15-while-rnn-b16.pb.gz",
    "sample_traces/run_metadata/2.21-unet.pb.gz",
    "sample_traces/run_metadata/1.10-lenet.pb",
    "sample_traces/xspace/2.21-function.xplane.pb",
    "sample_traces/log_memory/2.21-function.log",
    "sample_traces/tfevents/1.15-tagged-steps.tfevents",
)


@pytest.mark.parametrize("source", TRACES)
def test_page_fit_and_slider_agree(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same trace, the same change, the same batch: the same bytes, whoever asks."""
    found = pipeline.report(pipeline.timelines(source))
    assert main(["fit", source, "--json"]) == 0
    fit = {each["remedy"]: each for each in json.loads(capsys.readouterr().out)["fit"]["remedies"]}
    ledger = with_sliders(found.case, 0, ledger_of(found.case.moments[0], found.case.capture.graph))
    assert fit
    for slug, row in fit.items():
        asked = found.case.what_if(0, slug)
        assert (asked.best_bytes, asked.low_bytes, asked.high_bytes) == (
            row["saves_bytes"], row["low_bytes"], row["high_bytes"],
        ), slug  # fmt: skip
    for lever in ledger.scaling.levers:
        assert lever.saving.best_bytes == fit[lever.slug]["saves_bytes"]
    for finding in found.findings:
        for remedy in finding.remedies:
            if remedy.change in fit and finding.moment == 0:
                assert remedy.saves_bytes == fit[remedy.change]["saves_bytes"]


@pytest.mark.parametrize("source", TRACES)
def test_another_batch_saves_what_fit_predicts(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    case = pipeline.report(pipeline.timelines(source)).case
    assert main(["fit", source, "--json"]) == 0
    fit = json.loads(capsys.readouterr().out)["fit"]
    ledger = with_sliders(case, 0, ledger_of(case.moments[0], case.capture.graph))
    saved = {round(share * fit["batch"]): saves for share, saves in ledger.scaling.batch_savings}
    predicted = {each["batch"]: fit["peak_bytes"] - each["bytes"] for each in fit["predictions"]}
    shared = saved.keys() & predicted.keys()
    assert shared
    assert {batch: saved[batch] for batch in shared} == {batch: predicted[batch] for batch in shared}


def test_an_interval_holds_its_figure() -> None:
    for source in TRACES:
        case = pipeline.report(pipeline.timelines(source)).case
        for slug in changes.CHANGES:
            saving = case.what_if(0, slug)
            if saving.best_bytes is not None:
                assert saving.low_bytes is not None and saving.high_bytes is not None
                assert saving.low_bytes <= saving.best_bytes <= saving.high_bytes, (source, slug)


def test_actions_are_merged_and_ranked() -> None:
    found = pipeline.explain(oom("64,256,256,2") + report(*HELD))
    texts = [action.remedy.change or action.remedy.text for action in found.actions]
    assert len(texts) == len(set(texts))
    saved = [action.remedy.saves_bytes for action in found.actions if action.remedy.saves_bytes is not None]
    assert saved == sorted(saved, reverse=True)
    halved = next(action for action in found.actions if action.remedy.change == changes.SMALLER_BATCH)
    assert halved.rules == tuple(
        finding.rule
        for finding in found.findings
        if any(remedy.change == changes.SMALLER_BATCH for remedy in finding.remedies)
    )
