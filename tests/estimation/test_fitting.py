"""`tfmemlens fit`: other batches against real steps, what grows, remedies, errors."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SAMPLES
from tests.models import document
from tests.renderers.report_schema import FIT, REPORT, validate
from tfmemlens import pipeline
from tfmemlens.cli.main import main
from tfmemlens.errors import Contradiction, UsageError
from tfmemlens.estimation.batch_scaling.recompute import plan
from tfmemlens.model.capture import Hints
from tfmemlens.model.finding import Certainty
from tfmemlens.model.fit import BatchPrediction, Scale
from tfmemlens.model.graph import Graph
from tfmemlens.model.settings import StepSettings
from tfmemlens.readers.graphs.graph_types import graph_with_types
from tfmemlens.schema import parse
from tfmemlens.units import MIB
from tfmemlens.use_cases.estimate import estimate
from tfmemlens.use_cases.fit import (
    _check_they_agree,
    _check_what_was_measured_fits,
    fit_report,
    known_of,
)

STEPS = SAMPLES / "fit"
UNET, LENET = "sample_traces/fit/1.15-unet-b4.pb.gz", "sample_traces/fit/1.15-lenet-b64.pb.gz"


def truth(stem: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((STEPS / f"{stem}.truth.json").read_text())
    return found


def pairs() -> Iterator[tuple[str, str]]:
    """Every two steps of one net at different batches."""
    stems = sorted(path.name.removesuffix(".truth.json") for path in STEPS.glob("*.truth.json"))
    for one in stems:
        yield from (
            (one, other)
            for other in stems
            if other != one and other.rpartition("-")[0] == one.rpartition("-")[0]
        )


@pytest.mark.parametrize(
    "stem", sorted(path.name.removesuffix(".truth.json") for path in STEPS.glob("*.truth.json"))
)
def test_the_batch_is_found_and_the_step_replayed(stem: str) -> None:
    known = known_of(pipeline.timelines(STEPS / f"{stem}.pb.gz", Hints(types=True)), Hints())
    assert known.step.batch == truth(stem)["batch"]
    assert known.step.peak_bytes(known.step.batch) == pytest.approx(
        truth(stem)["max_in_use_bytes"], rel=0.02, abs=100_000
    )


@pytest.mark.parametrize(("one", "other"), list(pairs()))
def test_the_peak_at_another_batch(one: str, other: str) -> None:
    known = known_of(pipeline.timelines(STEPS / f"{one}.pb.gz", Hints(types=True)), Hints())
    predicted = known.step.peak_bytes(truth(other)["batch"])
    few_tensors = (
        "attention" in one
    )  # three score matrices are all of it: one chunk that was not split is a third
    assert predicted == pytest.approx(truth(other)["max_in_use_bytes"], rel=0.35 if few_tensors else 0.12)


@pytest.mark.whole
def test_most_predictions_are_much_nearer() -> None:
    errors = []
    for one, other in pairs():
        known = known_of(pipeline.timelines(STEPS / f"{one}.pb.gz", Hints(types=True)), Hints())
        errors.append(
            abs(known.step.peak_bytes(truth(other)["batch"]) / truth(other)["max_in_use_bytes"] - 1)
        )
    errors.sort()
    assert errors[len(errors) // 2] < 0.01
    assert errors[int(0.8 * len(errors))] < 0.05


def laws(stem: str, with_graph: bool = True) -> dict[str, Scale]:
    capture = pipeline.timelines(STEPS / f"{stem}.pb.gz", Hints(types=True))
    if not with_graph:
        capture = replace(capture, graph=None, with_types=None)
    known = known_of(capture, Hints(batch=truth(stem)["batch"]))
    rows: dict[str, Scale] = {}
    for row, law in zip(known.step.timeline.table, known.step.laws, strict=True):
        rows.setdefault(f"{row.node} {row.purpose}", law.scale)
    return rows


@pytest.mark.parametrize("with_graph", [True, False])
def test_what_scales_and_what_does_not(with_graph: bool) -> None:
    found = laws("1.15-lenet-b64", with_graph)
    assert found["conv1/Relu output"] is Scale.BATCH
    assert found["gradients/conv2/Conv2D_grad/Conv2DBackpropInput output"] is Scale.BATCH
    assert found["gradients/fc1/MatMul_grad/MatMul_1 output"] is Scale.FIXED  # a weight's gradient
    assert found["gradients/conv2/Conv2D_grad/Conv2DBackpropFilter output"] is Scale.FIXED
    assert (
        found["gradients/conv2/Conv2D_grad/Conv2DBackpropFilter temp"] is Scale.FIXED
    )  # patches: as many images as fill 30 MiB
    assert found["Mean output"] is Scale.FIXED


def test_a_weight_whose_first_dimension_is_the_batch() -> None:
    """while_rnn has kernels of [128, 128] and batches of 64: with batch 128 only the graph can tell them
    apart.
    """
    found = laws("1.15-while-rnn-b64")
    assert found["rnn/while/cell/MatMul output"] is Scale.BATCH
    assert found["gradients/rnn/while/cell/MatMul_grad/MatMul_1 output"] is Scale.FIXED


def test_without_partition_graphs_the_labels_make_one() -> None:
    message = parse("RunMetadata", gzip.decompress((STEPS / "1.15-lenet-b64.pb.gz").read_bytes()))
    made = graph_with_types(message.step_stats, None)
    assert isinstance(made, Graph)
    assert made.nodes["conv1/Relu"].op == "_FusedConv2D"
    assert made.nodes["conv1/Relu"].outputs[0].shape == (64, 28, 28, 32)
    assert made.nodes["_arg_images_0_0"].outputs[0].shape == (64, 28, 28, 1)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("name", "arguments"),
    [("unet", [UNET, "--limit", "1GiB"]),
     ("lenet-two", [LENET, "sample_traces/fit/1.15-lenet-b32.pb.gz", "--limit", "300MiB"]),
     ("oom-report", ["sample_traces/oom_log/1.15-unet-report.txt", "--batch", "2"]),
     ("oom-without-names", ["sample_traces/oom_log/2.11-unet-hint.txt", "--batch", "2"]),
     ("no-limit", ["sample_traces/fit/2.21-attention-b8.pb.gz"]),
     ("graph",
      ["sample_traces/fit/1.15-unet.meta.gz", "--fetch", "Adam", "--batch", "2", "--limit", "1GiB"])],
)  # fmt: skip
def test_fit_reads_well(
    name: str, arguments: list[str], golden: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", *arguments, "--full"]) == 0
    golden(f"fit/{name}.txt", capsys.readouterr().out)


def test_inputs_that_disagree_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Two nets are no two steps of one program."""
    assert main(["fit", UNET, "sample_traces/fit/1.15-lenet-b32.pb.gz", "--limit", "1GiB"]) == 2
    complaint = capsys.readouterr().err
    assert "the inputs disagree: 1.15-unet-b4.pb.gz needs 254.58 MiB at batch 4" in complaint
    assert "hint: " in complaint


def _checked(predicted: tuple[int, int], seen: float) -> None:
    known = known_of(pipeline.timelines(UNET, Hints(types=True)), Hints())
    peak = known.step.timeline.peak_bytes
    low, high = (round(each * peak / 100) for each in predicted)
    timeline = known.step.timeline
    moved = replace(timeline, baseline_bytes=timeline.baseline_bytes + round((seen - 1) * peak))
    another = replace(known, step=replace(known.step, timeline=moved))
    _check_they_agree(BatchPrediction(8, (low + high) // 2, low, high), "one", "other", known, another)


def test_bars_that_overlap_agree_and_others_do_not() -> None:
    """A measurement is good to 6 %: 94 to 106 of it overlap what is predicted as 100 to 105."""
    _checked((100, 105), 1.0)
    _checked((100, 105), 0.95)
    for seen in (0.93, 1.13):
        with pytest.raises(Contradiction):
            _checked((100, 105), seen)


def test_a_batch_that_was_measured_below_the_limit_fits_or_nothing_is_said() -> None:
    known = known_of(pipeline.timelines(UNET, Hints(types=True)), Hints())
    told = fit_report([UNET], Hints(limit_bytes=1024 * MIB)).fit
    assert told
    peak = told.peak_bytes
    with pytest.raises(Contradiction, match=f"batch {told.batch} was measured"):
        _check_what_was_measured_fits(replace(told, limit_bytes=peak, largest_batch=told.batch - 1), known)
    _check_what_was_measured_fits(replace(told, limit_bytes=peak - 1, largest_batch=0), known)
    _check_what_was_measured_fits(replace(told, limit_bytes=peak, largest_batch=told.batch), known)


def test_the_sure_batch_leaves_room_for_the_bar() -> None:
    fit = fit_report([UNET], Hints(limit_bytes=1024 * MIB)).fit
    assert fit and fit.largest_batch and fit.sure_batch
    assert fit.batch <= fit.sure_batch <= fit.largest_batch
    within = fit_report([UNET], Hints(limit_bytes=round(1024 * MIB / 1.06))).fit
    assert within and within.largest_batch == fit.sure_batch


@pytest.mark.whole
def test_the_sure_batch_of_a_model_leaves_room_for_the_limit_it_needs(tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    file.write_text(json.dumps(document("transformer")))
    settings = StepSettings(8, optimizer="adam", workers=1, threads=1, onednn=False)
    limit = 3 * MIB
    fit = fit_report([file], Hints(batch=8, limit_bytes=limit), settings=settings).fit
    assert fit and fit.largest_batch and fit.sure_batch and fit.sure_batch < fit.largest_batch

    def needed(batch: int) -> int:
        found = estimate(file, replace(settings, batch=batch)).timelines[0].needed_limit
        assert found is not None
        return found.high_bytes

    assert needed(fit.sure_batch) <= limit < needed(fit.sure_batch + 1)
    assert estimate(file, replace(settings, batch=fit.sure_batch + 1)).timelines[0].peak_bytes < limit


@pytest.mark.whole
def test_a_model_that_leaves_a_size_open_has_no_fit_without_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "open.json"
    file.write_text(json.dumps(document("open_length")))
    assert main(["fit", str(file), "--batch", "8", "--limit", "64MiB"]) == 2
    assert "--sequence N" in capsys.readouterr().err
    batches = []
    for length in ("3", "10"):
        command = ["fit", str(file), "--batch", "8", "--limit", "128KiB", "--json"]  # few batches to try
        assert main([*command, "--sequence", length]) == 0
        batches.append(json.loads(capsys.readouterr().out)["fit"]["largest_batch"])
    assert 0 < batches[1] < batches[0]


@pytest.mark.parametrize(
    "source",
    [UNET, "sample_traces/xspace/2.21-function.xplane.pb", "sample_traces/oom_log/2.21-unet-report.txt"],
)
def test_the_json_keeps_its_contract(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", source, "--batch", "4", "--limit", "2GiB", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    validate(document, REPORT)
    validate(document["fit"], FIT)
    assert document["fit"]["batch"] == 4
    assert document["fit"]["limit_bytes"] == 2048 * MIB


@pytest.mark.whole
def test_a_larger_limit_never_fits_fewer() -> None:
    found = [fit_report([UNET], Hints(limit_bytes=limit * MIB)).fit for limit in (100, 300, 600, 1200, 2400)]
    batches = [each.largest_batch or 0 for each in found if each]
    assert batches == sorted(batches)
    assert batches[0] == 0 < batches[1]


def test_remedies_save_what_they_say() -> None:
    fit = fit_report([UNET], Hints(limit_bytes=1024 * MIB)).fit
    assert fit and fit.largest_batch
    by_slug = {each.change: each for each in fit.savings}
    half = by_slug["mixed-precision"]
    assert half.best_bytes and 0.3 * fit.peak_bytes < half.best_bytes < 0.5 * fit.peak_bytes
    assert (
        half.largest_batch is not None
        and 1.7 * fit.largest_batch < half.largest_batch < 2.3 * fit.largest_batch
    )
    assert by_slug["smaller-input"].largest_batch is not None
    assert 3.5 * fit.largest_batch < by_slug["smaller-input"].largest_batch
    assert all(
        each.largest_batch is None or each.largest_batch >= 0.9 * fit.largest_batch for each in fit.savings
    )


def test_recomputing_frees_and_makes_every_dropped_tensor_again() -> None:
    known = known_of(pipeline.timelines(UNET, Hints(types=True)), Hints())
    chosen = plan(known.step, known.owners)
    assert chosen is not None
    alive: set[int] = set()
    for row, born in chosen.order:
        assert (row in alive) is not born
        alive ^= {row}
    assert set(chosen.cuts) <= {row for row, _ in known.step.events}


def test_each_step_of_an_event_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["fit", "sample_traces/tfevents/1.15-tagged-steps.tfevents", "--tag", "step001", "--json"]) == 0
    )
    assert json.loads(capsys.readouterr().out)["fit"]["batch"] == 128


@pytest.mark.parametrize(
    "arguments",
    [[UNET, "--batch", "0"], [UNET, "--limit", "much"], ["sample_traces/run_metadata/nothing.pb"],
     ["sample_traces/README.md"],
                  [UNET, "--device", "GPU:3"],
                  ["sample_traces/fit/1.15-unet.meta.gz", "--fetch", "no_such_node"]],
)  # fmt: skip
def test_usage_errors_are_one_sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", *arguments]) == 2
    complaint = capsys.readouterr().err
    assert "Traceback" not in complaint
    assert "hint: " in complaint


def test_the_batch_must_be_positive() -> None:
    with pytest.raises(UsageError):
        fit_report([UNET], Hints(batch=-3))


NAMELESS = [
    "2.11-unet-hint",
    "2.21-lenet-keras",
    "1.15-dynamic-lstm",
    "1.15-while-rnn-gradient",
    "2.4-unet-report",
]


@pytest.mark.parametrize("name", NAMELESS)
def test_a_failure_bounds_the_batch_from_above_and_never_forbids_what_may_fit(name: str) -> None:
    """What has no name may be weights or may grow with the batch: no list of a failure proves that one sample
    does not fit.
    """
    fit = fit_report([f"sample_traces/oom_log/{name}.txt"], Hints(batch=16)).fit
    assert fit and fit.certainty is Certainty.BOUND
    assert fit.largest_batch is not None and 0 < fit.largest_batch < 16
    peaks = [each.bytes for each in sorted(fit.predictions, key=lambda each: each.batch)]
    assert peaks == sorted(peaks)


def test_what_a_report_leaves_out_counts_once() -> None:
    """`Remaining 2511 nodes with …` is a row of the table already."""
    source = "sample_traces/oom_log/1.15-dynamic-lstm.txt"
    books = pipeline.report(pipeline.capture(source)).case.moments[0].balance
    fit = fit_report([source], Hints(batch=128)).fit
    assert fit and books.in_use and books.unlisted.bytes
    assert fit.peak_bytes < books.in_use.bytes + books.unlisted.bytes


def test_of_a_failure_what_a_sample_adds_is_a_bound() -> None:
    """Rows without a name are taken to grow; of a traced step they are not."""
    failed = fit_report(["sample_traces/oom_log/1.15-unet-report.txt"], Hints(batch=2))
    assert "up to 204 MiB less for each sample fewer" in failed.verdict
    traced = fit_report(["sample_traces/fit/1.15-unet-b4.pb.gz"], Hints(limit_bytes=1 << 30))
    assert re.search(r"about \S+ MiB (?:more|less) for each", traced.verdict)


def failed_in_its_first_step(folder: Path, **more: Any) -> Path:
    """A bundle of a program whose model described itself, and of which no step was traced."""
    row = {
        "name": "m",
        "layers": [],
        "optimizer": "Adam",
        "description": json.dumps(document("lenet")),
        **more,
    }
    told = {"tfmemlens_model": 1, "models": [row], "variables": [], "failed_batch": 24}
    (folder / "model.json").write_text(json.dumps(told, indent=1))
    (folder / "log.txt").write_bytes((SAMPLES / "oom_log" / "2.21-gradients-stored.txt").read_bytes())
    return folder


def test_a_failure_in_the_first_step_is_predicted_from_the_recorded_model(tmp_path: Path) -> None:
    report = fit_report([failed_in_its_first_step(tmp_path)])
    assert report.fit and report.fit.predicted and report.fit.batch == 24
    limit = next(each.state.limit for each in pipeline.capture(tmp_path).incidents)
    assert limit and report.fit.limit_bytes == limit.bytes
    assert report.case.capture.notes[0].text.startswith("no step was traced: this one is predicted")
    given = fit_report([tmp_path], Hints(batch=7, limit_bytes=3 * MIB)).fit
    assert given and (given.batch, given.limit_bytes) == (7, 3 * MIB)
    same = fit_report([tmp_path], Hints(limit_bytes=limit.bytes)).fit
    assert same and same.largest_batch == report.fit.largest_batch


@pytest.mark.parametrize("text", [None, "{", json.dumps({"class_name": "Mine", "config": {}})])
def test_without_a_description_that_is_read_the_failure_itself_is_asked(
    tmp_path: Path, text: str | None
) -> None:
    found = fit_report([failed_in_its_first_step(tmp_path, description=text)]).fit
    assert found and not found.predicted
