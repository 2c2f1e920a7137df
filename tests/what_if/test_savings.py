"""What each change saves: the arithmetic over a list, and the same figure on every page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.answers import explained
from tests.conftest import ROOT
from tests.findings.logs import oom, report
from tests.test_verdicts import INPUTS, name_of
from tfmemlens import pipeline
from tfmemlens.attribution.moments.ledger import ledger_of
from tfmemlens.cli.main import main
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Certainty
from tfmemlens.model.report import Report
from tfmemlens.model.what_if import Saving, SavingBasis
from tfmemlens.renderers.savings import in_words
from tfmemlens.units import MIB
from tfmemlens.what_if import basis, changes
from tfmemlens.what_if.savings import divided, savings
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
    assert half.basis is SavingBasis.LIST and half.certainty is Certainty.ESTIMATE
    assert of(case, changes.GRADIENT_ACCUMULATION).best_bytes == GROWING // 2  # no weight is listed


@pytest.mark.parametrize("divisor, share", [(2, 1), (4, 1.5), (8, 1.75), (1, 0)])
def test_where_no_batch_is_known_a_divisor_says_how_much_smaller(
    case: Case, divisor: int, share: float
) -> None:
    half, other = of(case, changes.SMALLER_BATCH), case.what_if(0, changes.SMALLER_BATCH, divisor=divisor)
    assert other == divided(half, divisor)
    assert half.best_bytes and half.low_bytes and half.high_bytes
    assert (other.best_bytes, other.low_bytes, other.high_bytes) == tuple(
        round(share * size) for size in (half.best_bytes, half.low_bytes, half.high_bytes)
    )
    assert divided(Saving("x"), divisor) == Saving("x")


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


def test_slots_go_as_they_are(case: Case) -> None:
    assert of(case, changes.LIGHTER_OPTIMIZER).best_bytes == 20 * MIB


def test_names_promise_nothing_for_layout_copies(case: Case) -> None:
    """Each takes the place of an original, and a list does not say which originals would then live on."""
    assert not of(case, changes.NO_LAYOUT_COPIES).known


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


ROOMS = ("fit", "run_metadata", "run_metadata_text", "xspace", "log_memory", "tfevents", "tfprof",
         "memory_profile", "layout_traces", "chrome_trace")  # fmt: skip
NO_STEP = (
    "chrome_trace/1.10-profiler-hook.timeline.json",
    "chrome_trace/1.15-profiler-hook.timeline.json",
    "chrome_trace/1.15-while-rnn-memory.timeline.json.gz",
    "chrome_trace/2.21-lenet-plain.timeline.json",
    "chrome_trace/2.4-profiler.trace.json.gz",
    "tfevents/2.11-trace-export.tfevents",
    "xspace/2.21-no-memory-events.xplane.pb",
)
"""Without memory, or without a batch that could be told."""
TRACES = [
    path
    for path in INPUTS
    if name_of(path).split("/")[0] in ROOMS
    and name_of(path) not in NO_STEP
    and not path.name.endswith((".meta.gz", ".truth.json"))
]
LOGS = [path for path in INPUTS if name_of(path).split("/")[0] in ("oom_log", "memory_dump", "xla_dump")]


def some(paths: list[Path], share: int) -> list[Any]:
    """One of so many in every run; the others are slow together."""
    return [
        pytest.param(path, id=name_of(path), marks=() if index % share == 0 else (pytest.mark.slow,))
        for index, path in enumerate(paths)
    ]


def fitted(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any] | None:
    """What `tfmemlens fit` says of a sample, None where it has no answer."""
    source = path.relative_to(ROOT).as_posix()
    status = main(["fit", source, "--json"])
    printed = capsys.readouterr().out
    answer: dict[str, Any] = json.loads(printed)["fit"] if status == 0 else {}
    return answer or None


def agree(answer: Report, fit: dict[str, Any]) -> int:
    """How many savings the page, the sliders and `fit` state alike."""
    case = answer.case
    stated = {each["remedy"]: each for each in fit["remedies"]}
    for slug, row in stated.items():
        own = case.what_if(0, slug)
        assert (own.best_bytes, own.low_bytes, own.high_bytes) == (
            row["saves_bytes"], row["low_bytes"], row["high_bytes"],
        ), slug  # fmt: skip
    ledger = with_sliders(case, 0, ledger_of(case.moments[0], case.capture.graph))
    assert {lever.slug: lever.saving.best_bytes for lever in ledger.scaling.levers} == {
        lever.slug: stated[lever.slug]["saves_bytes"] for lever in ledger.scaling.levers
    }
    on_page = [
        remedy for finding in answer.findings if finding.moment == 0 for remedy in finding.remedies
        if remedy.change and remedy.change != changes.SMALLER_BATCH and remedy.saves_bytes is not None
    ]  # fmt: skip
    for remedy in on_page:
        assert remedy.saves_bytes == stated[remedy.change or ""]["saves_bytes"], remedy.change
    return len(stated)


@pytest.mark.parametrize("path", some(TRACES, 4))
def test_page_fit_and_slider_agree(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same trace, the same change, the same batch: the same bytes, whoever asks."""
    fit = fitted(path, capsys)
    assert fit
    assert agree(explained(path), fit)
    case = explained(path).case
    ledger = with_sliders(case, 0, ledger_of(case.moments[0], case.capture.graph))
    saved = {round(share * fit["batch"]): saves for share, saves in ledger.scaling.batch_savings}
    predicted = {each["batch"]: fit["peak_bytes"] - each["bytes"] for each in fit["predictions"]}
    shared = saved.keys() & predicted.keys()
    assert shared
    assert {batch: saved[batch] for batch in shared} == {batch: predicted[batch] for batch in shared}


@pytest.mark.parametrize("path", some(LOGS, 4))
def test_page_fit_and_slider_agree_on_a_failure(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log that names nothing has no saving anywhere."""
    fit = fitted(path, capsys)
    if fit is not None:
        agree(explained(path), fit)


@pytest.mark.parametrize("rows", [basis.MAX_WALKED_ROWS, 0], ids=["curve", "peak"])
@pytest.mark.parametrize("path", some(TRACES, 4))
def test_a_step_too_large_to_replay_on_a_page_has_an_interval_that_meets_fits(
    path: Path, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above so many rows the page scales the curve, or the peak's rows, where `fit` replays the step."""
    case = explained(path).case
    replayed = {slug: case.what_if(0, slug) for slug in changes.CHANGES}
    monkeypatch.setattr(basis, "MAX_REPLAYED_ROWS", 0)
    monkeypatch.setattr(basis, "MAX_WALKED_ROWS", rows)
    known = basis.basis_of(case.capture, case.moments[0])
    for slug, exact in replayed.items():
        rough = savings(known, slug)
        if exact.basis is SavingBasis.REPLAY and rough.known and exact.known:
            assert rough.certainty is Certainty.ESTIMATE or slug == changes.RECOMPUTE
            assert rough.basis is (SavingBasis.TIMELINE if rows else SavingBasis.LIST)
            assert (exact.low_bytes or 0) <= (rough.high_bytes or 0), slug
            assert (rough.low_bytes or 0) <= (exact.high_bytes or 0), slug


def test_an_interval_holds_its_figure() -> None:
    for path in TRACES[::4]:
        case = explained(path).case
        for slug in changes.CHANGES:
            saving = case.what_if(0, slug)
            if saving.best_bytes is not None:
                assert saving.low_bytes is not None and saving.high_bytes is not None
                assert saving.low_bytes <= saving.best_bytes <= saving.high_bytes, (path, slug)


def test_actions_are_merged_and_ranked() -> None:
    found = pipeline.explain(oom("64,256,256,2") + report(*HELD))
    texts = [action.remedy.change or action.remedy.text for action in found.actions]
    assert len(texts) == len(set(texts))
    useful = [
        action
        for action in found.actions
        if action.remedy.saves_bytes is None or action.remedy.saves_bytes > 0
    ]
    assert list(found.actions[: len(useful)]) == useful
    order = [finding.rule for finding in found.findings]
    places = [order.index(action.rules[0]) for action in useful]
    assert places == sorted(places)
    halved = next(action for action in found.actions if action.remedy.change == changes.SMALLER_BATCH)
    assert halved.rules == tuple(
        finding.rule
        for finding in found.findings
        if any(remedy.change == changes.SMALLER_BATCH for remedy in finding.remedies)
    )
