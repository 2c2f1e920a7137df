"""Figures that are worked out, a line each, in pages (tests/golden/figures): what a step of each small model
or graph needs, how each traced step grows, and what each change would save in it.

Whether they are right, other tests ask with real runs and a tolerance; these pages show which of them moved
at all.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT, SAMPLES
from tests.models import small
from tfmemlens import pipeline
from tfmemlens.errors import TfmemlensError
from tfmemlens.model.capture import Hints
from tfmemlens.model.fit import BatchPrediction, Fit
from tfmemlens.model.settings import StepSettings
from tfmemlens.model.timeline import Timeline
from tfmemlens.model.what_if import Saving
from tfmemlens.use_cases.estimate import estimate, estimate_graph
from tfmemlens.use_cases.fit import fit_report
from tfmemlens.values import replace
from tfmemlens.what_if import changes
from tfmemlens.what_if.basis import basis_of, replayable, rows_basis
from tfmemlens.what_if.savings import savings

SETTINGS = {
    "adam": StepSettings(3, optimizer="adam"),
    "sgd in 16 bits": StepSettings(4, optimizer="sgd", dtype="mixed_float16", threads=2, workers=2),
    "inference on a GPU": StepSettings(5, training=False, device="gpu", onednn=False),
}
GRAPHS = sorted([*(SAMPLES / "fit").glob("*.meta.gz"), *(ROOT / "sample_models" / "recorded").glob("*.gz")])
TRACES = [path for path in sorted((SAMPLES / "fit").glob("*.pb.gz")) if "xplane" not in path.name]


def step_of(timeline: Timeline) -> str:
    """What a predicted step holds; `area` is what it holds after each event, added up."""
    return (
        f"peak {timeline.peak_bytes} at event {timeline.peak_index}, {timeline.before_bytes} before,"
        f" {len(timeline.table)} rows of {timeline.table.total_bytes}, area {sum(timeline.curve)},"
        f" bar {timeline.lower_error_share} {timeline.error_share}"
        + (f", limit {needed.bytes} to {needed.high_bytes}" if (needed := timeline.needed_limit) else "")
    )


def predicted(document: object, settings: StepSettings, folder: Path) -> str:
    """The same of a model, or why there is none."""
    path = folder / "model.json"
    path.write_text(json.dumps(document))
    try:
        captured = estimate(path, settings)
    except TfmemlensError as refused:
        return type(refused).__name__
    layers = [layer.prediction for layer in captured.layers if layer.prediction]
    sums = (
        sum(each.activation_bytes for each in layers),
        sum(each.kept_bytes for each in layers),
        sum(each.gradient_bytes for each in layers),
        sum(each.workspace_bytes for each in layers),
    )
    return "; ".join([*map(step_of, captured.timelines), f"layers {sums}"])


@pytest.mark.whole
@pytest.mark.parametrize("version", ["2.11", "2.21"])
@pytest.mark.parametrize("words", SETTINGS)
def test_the_step_of_each_small_model(
    words: str, version: str, tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    lines = [
        f"{name}: {predicted(model['json'], SETTINGS[words], tmp_path)}\n"
        for name, model in small(version).items()
    ]
    golden(f"figures/{version}, {words}.txt", "".join(lines))


@pytest.mark.whole
@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.name)
def test_the_step_of_a_graph(path: Path, golden: Callable[[str, str], None]) -> None:
    (timeline,) = estimate_graph(path, StepSettings(3, threads=2, workers=2)).timelines
    golden(f"figures/{path.name}.txt", step_of(timeline) + "\n")


def saved(saving: Saving) -> str:
    if not saving.known:
        return f"{saving.change} of batch {saving.batch}: unknown"
    interval = f"{saving.low_bytes} {saving.best_bytes} {saving.high_bytes}"
    return (
        f"{saving.change} of batch {saving.batch}: {interval}, {saving.certainty},"
        f" {saving.basis.name.lower()}, largest batch {saving.largest_batch}"
    )


def grown(at: BatchPrediction) -> str:
    return f"batch {at.batch}: {at.low_bytes} {at.bytes} {at.high_bytes}"


def fitted(fit: Fit) -> list[str]:
    return [
        f"batch {fit.batch} by {fit.batch_source}, peak {fit.peak_bytes}, largest {fit.largest_batch}, sure"
        f" {fit.sure_batch}, at {fit.reported_batch}: {fit.fixed_bytes} + {fit.per_sample_bytes} each,"
        f" {fit.pixel_bytes} of pixels, {fit.sequence_bytes} of sequences, {fit.constraint}, {fit.runner_up}",
        *map(grown, fit.predictions),
        *map(saved, fit.savings),
    ]


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_how_a_step_grows_and_what_a_change_saves(path: Path, golden: Callable[[str, str], None]) -> None:
    """Simulated; and where it cannot be: by its curve's rows, by those of its peak alone, without a graph."""
    captured = pipeline.timelines(path)
    case = pipeline.report(captured).case
    moment = case.moments[0]
    fit = fit_report([str(path)], Hints(limit_bytes=3 * moment.attribution.table.total_bytes)).fit
    assert fit
    thrice = case.what_if(0, changes.SMALLER_BATCH, 3 * fit.batch)
    lines = [*fitted(fit), saved(thrice)]
    without = replace(captured, graph=None, with_types=None)
    for words, basis in {
        "simulated": basis_of(captured, moment),
        "without a graph": replayable(replace(without, hints=Hints(batch=fit.batch)), moment),
        "by the curve": rows_basis(moment, Hints(batch=fit.batch)),
        "by the peak": rows_basis(replace(moment, timeline=None), Hints()),
    }.items():
        lines += [words, *(f"  {saved(savings(basis, slug))}" for slug in changes.CHANGES)]
    golden(f"figures/{path.name}.txt", "\n".join(lines) + "\n")
