"""`tfmemlens fit --measure`: batches of a model that are run under the limit, beside the prediction."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.models import document
from tests.renderers.report_schema import FIT, REPORT, validate
from tfmemlens.cli.main import main
from tfmemlens.errors import MissingExtra, UnreadableInput, UsageError
from tfmemlens.model.capture import Hints
from tfmemlens.model.report import Report
from tfmemlens.model.settings import StepSettings
from tfmemlens.recording.tried_batches import free_bytes
from tfmemlens.units import MIB
from tfmemlens.use_cases.fit import fit_report
from tfmemlens.use_cases.measured_fit import measured_report

ENVIRONMENT = Path.home() / ".cache" / "tfmemlens" / "envs" / "tf2.21" / "bin" / "python"
SETTINGS = StepSettings(workers=1, threads=1, onednn=False)
RAN, FAILED = True, False
Runs = Sequence[tuple[int, "bool | None"]]


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "lenet.json"
    path.write_text(json.dumps(document("lenet")), encoding="utf-8")
    return str(path)


@pytest.fixture
def python(tmp_path: Path) -> Callable[..., str]:
    """A Python of a name of its own, which writes what it was asked for and says what is given here."""

    def make(tried: Runs, ended: str = "found") -> str:
        lines = [
            "TRIED " + json.dumps({"batch": batch, "ran": ran, **({"peak": batch * MIB} if ran else {})})
            for batch, ran in tried
        ]
        lines.append("MEASURED " + json.dumps({"tensorflow": "2.21.0", "steps": 5, "ended": ended}))
        path = tmp_path / "python"
        said = f"import sys\nopen({str(tmp_path / 'asked')!r}, 'w').write(chr(10).join(sys.argv))\n"
        path.write_text(f"#!{sys.executable}\n{said}print({chr(10).join(lines)!r})\n", encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    return make


def reported(model: str, python: str, limit: int = 64, **given: Any) -> Report:
    return measured_report(
        [model],
        Hints(batch=8, limit_bytes=limit * MIB),
        StepSettings(workers=1, onednn=False, **given),
        python,
    )


def test_what_ran_decides(model: str, python: Callable[..., str]) -> None:
    report = reported(model, python([(60, FAILED), (30, RAN), (41, RAN), (42, FAILED), (41, RAN), (41, RAN)]))
    fit = report.fit
    assert fit and fit.predictions
    assert (fit.largest_batch, fit.sure_batch, fit.likely_low_batch, fit.likely_high_batch) == (41,) * 4
    assert report.verdict.startswith(
        "41 samples fit into 64.00 MiB: 5 steps of batch 41 ran in 3 of 3 processes, of batch 42 they did not"
        " (TensorFlow 2.21.0 on this machine's CPU)."
    )
    assert report.verdict.endswith(" were predicted.")
    assert "no bound there" in report.case.capture.notes[0].text
    assert {each.largest_batch for each in fit.savings} == {None}


@pytest.mark.parametrize(
    "tried, ended, verdict",
    [
        (
            [(8, RAN), (20, FAILED), (12, RAN)],
            "time",
            "Between 12 and 19 fit into 64.00 MiB: 5 steps of batch",
        ),
        (
            [(8, RAN), (16, RAN)],
            "time",
            "At least 16 fit into 64.00 MiB: 5 steps of batch 16 ran in one process, and no",
        ),
        ([(8, FAILED)], "time", "Fewer than 8 fit into 64.00 MiB: batch 8 did not run, and time was over"),
        ([(8, FAILED), (1, FAILED)], "found", "Not even one sample fits into 64.00 MiB: a step of batch 1"),
        (
            [(2, FAILED), (1, RAN), (1, RAN)],
            "found",
            "1 sample fits into 64.00 MiB: 5 steps of batch 1 ran in 2 of 2",
        ),
        # it ran once, and the second time it did not
        (
            [(9, FAILED), (8, RAN), (8, FAILED), (7, RAN), (7, RAN)],
            "found",
            "7 samples fit into 64.00 MiB: 5 steps of batch 7 ran in 2 of 2 processes, of batch 8 in 1 of 2",
        ),
        (
            [(28, FAILED), (29, FAILED), (27, RAN), (32, RAN), (32, RAN), (32, RAN), (33, FAILED)],
            "found",
            "32 samples fit into 64.00 MiB: 5 steps of batch 32 ran in 3 of 3 processes, of batch 33 they did"
            " not (TensorFlow 2.21.0 on this machine's CPU). Batches 28 and 29 did not run each time, though"
            " they are smaller: where the tensors of a batch come to lie in the allocator's pool decides"
            " here. Use 27: batches at the edge run in one process and fail in the next.",
        ),
    ],
)
def test_what_is_said(tried: Runs, ended: str, verdict: str, model: str, python: Callable[..., str]) -> None:
    assert reported(model, python(tried, ended)).verdict.startswith(verdict)


def test_all_samples_of_the_arrays(model: str, python: Callable[..., str]) -> None:
    told = reported(model, python([(96, RAN), (96, RAN)]), samples=96).verdict
    assert told.startswith(
        "Even all 96 samples in one batch fit into 64.00 MiB: 5 steps of batch 96 ran in 2 of"
    )


def test_the_child_is_told_the_conditions(model: str, python: Callable[..., str], tmp_path: Path) -> None:
    name = python([(8, RAN), (9, FAILED), (8, RAN)])
    measured_report(
        [model],
        Hints(batch=8, limit_bytes=64 * MIB + 5),
        StepSettings(
            workers=2, onednn=True, jit=False, samples=96, optimizer="sgd", inputs={"": (28, 28, 1)}
        ),
        name,
        77,
    )
    _, script, asked, *words = (tmp_path / "asked").read_text().split("\n")
    options = dict(zip(words[::2], words[1::2], strict=True))
    assert (Path(script).name, asked) == ("try_batches.py", model)
    assert int(options.pop("--start")) > 0
    assert int(options.pop("--high")) > 0
    assert options == {
        "--limit-mib": "64", "--seconds": "77", "--samples": "96", "--optimizer": "sgd", "--threads": "2",
        "--onednn": "1", "--jit": "0", "--shape": "28x28x1",
    }  # fmt: skip


def test_the_child_is_told_where_the_largest_likely_lies(
    model: str, python: Callable[..., str], tmp_path: Path
) -> None:
    predicted = fit_report(
        [model], Hints(batch=8, limit_bytes=300 * MIB), settings=StepSettings(workers=1, onednn=False)
    ).fit
    assert predicted and predicted.likely_low_batch
    reported(model, python([(8, RAN), (9, FAILED), (8, RAN)]), limit=300)
    words = (tmp_path / "asked").read_text().split("\n")
    options = dict(zip(words[3::2], words[4::2], strict=True))
    told = [int(options.get(f"--{name}", 0)) for name in ("low", "start", "high")]
    assert told == [predicted.likely_low_batch, predicted.largest_batch, predicted.likely_high_batch]


def test_a_model_that_cannot_be_predicted_is_tried_all_the_same(
    python: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    report = reported("my_models:build", python([(8, RAN), (9, FAILED), (8, RAN)]))
    assert report.fit
    assert (report.fit.largest_batch, report.fit.predictions) == (8, ())
    assert "predicted." not in report.verdict
    assert "--start\n8\n" in (tmp_path / "asked").read_text()


def test_the_page_and_the_document(
    model: str, python: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["fit", model, "--batch", "8", "--limit", "64MiB", "--threads", "1", "--measure", "--python"]
    words.append(python([(8, RAN), (20, FAILED), (12, RAN), (13, FAILED), (12, RAN)]))
    for more in ([], ["--full"]):
        assert main([*words, *more]) == 0
        page = capsys.readouterr().out
        assert "predicted, and some steps were run" in page
        assert "batch 12  12.00 MiB  ran in 2 of 2 processes" in page
        assert "batch 13             did not run" in page
        assert "THE PEAK AT OTHER BATCHES" in page or not more
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    validate(told, REPORT)
    validate(told["fit"], FIT)
    assert told["fit"]["tried"]["batches"][1] == {"batch": 20, "ran": False, "peak_bytes": None}
    assert (told["fit"]["tried"]["found"], told["fit"]["tried"]["steps"]) == (True, 5)


def test_a_document_without_a_prediction(
    python: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["fit", "my_models:build", "--limit", "64MiB", "--measure", "--json", "--python"]
    assert main([*words, python([(8, RAN), (9, FAILED), (8, RAN)])]) == 0
    told = json.loads(capsys.readouterr().out)
    validate(told["fit"], FIT)
    assert told["fit"]["per_sample_bytes"] is None
    assert main([*words[:-2], "--full", "--python", words and python([(8, RAN), (9, FAILED), (8, RAN)])]) == 0
    assert "per sample" not in capsys.readouterr().out


def test_what_is_no_model_or_has_no_limit(model: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="tries batches under a limit"):
        measured_report([model], Hints(batch=8), SETTINGS)
    with pytest.raises(UsageError, match="runs the steps of one model"):
        measured_report([model, model], Hints(limit_bytes=MIB), SETTINGS)
    with pytest.raises(UnreadableInput):
        measured_report(["sample_traces/run_metadata/1.15-lenet.pb"], Hints(limit_bytes=MIB), SETTINGS)
    with pytest.raises(UsageError, match=r"1023\.0 KiB is no limit to try"):
        measured_report([model], Hints(limit_bytes=MIB - 1024), SETTINGS)


def test_a_limit_that_the_machine_cannot_give(
    model: str, python: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tfmemlens.recording.tried_batches.free_bytes", lambda: 100 * MIB)
    name = python([(8, RAN), (9, FAILED), (8, RAN)])
    with pytest.raises(UsageError, match=r"91\.00 MiB cannot be tried here: this machine has 100\.00 MiB"):
        reported(model, name, limit=91)
    assert reported(model, name, limit=90).fit


def test_free_memory(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 99 kB\nMemAvailable:    2 kB\n")
    assert free_bytes(str(tmp_path / "meminfo")) == 2048
    assert free_bytes(os.devnull) is None or free_bytes(os.devnull) > 0


def test_a_batch_that_fails_otherwise_is_told_and_not_counted(
    model: str, python: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    name = python([(8, RAN), (16, RAN), (32, None)], "its process was ended by SIGSEGV")
    report = reported(model, name)
    assert report.fit and report.fit.tried and report.fit.tried.smallest_failed is None
    assert report.verdict.startswith(
        "At least 16 fit into 64.00 MiB: 5 steps of batch 16 ran in one process (T"
    )
    assert (
        "Then the search ended: batch 32 failed, but not for memory: its process was ended by SIGSEGV."
        in report.verdict
    )
    with pytest.raises(UnreadableInput, match=r"could not run steps of .*: its process was ended by SIGSEGV"):
        reported(model, python([(8, FAILED), (4, None)], "its process was ended by SIGSEGV"))


def test_an_older_tensorflow(model: str, python: Callable[..., str]) -> None:
    with pytest.raises(
        UnreadableInput, match=r"python cannot try batches: trying batches needs Tens"
    ) as seen:
        reported(model, python([], "trying batches needs TensorFlow 2.6 or newer"))
    assert "newer TensorFlow" in str(seen.value.hint)


def test_a_batch_that_ran_in_part(model: str, python: Callable[..., str], capsys: Any) -> None:
    words = ["fit", model, "--batch", "8", "--limit", "64MiB", "--measure", "--python"]
    tried = [(9, RAN), (9, FAILED), (8, RAN), (8, RAN), (8, RAN)]
    assert main([*words, python(tried)]) == 0
    page = capsys.readouterr().out
    assert "batch 9  9.00 MiB  ran in 1 of 2 processes: take a smaller one" in page
    assert "batch 8  8.00 MiB  ran in 3 of 3 processes\n" in page


def test_steps_that_do_not_run(model: str, python: Callable[..., str]) -> None:
    with pytest.raises(UnreadableInput, match=r"could not run steps of .*: ValueError: no such layer"):
        reported(model, python([], "ValueError: no such layer"))
    with pytest.raises(UnreadableInput, match=r"no step of .* ended within 300 seconds"):
        reported(model, python([], "time"))


def test_no_tensorflow(model: str, tmp_path: Path) -> None:
    (tmp_path / "python").write_text(
        f"#!{sys.executable}\nraise ModuleNotFoundError(\"No module named 'tensorflow'\")\n"
    )
    (tmp_path / "python").chmod(0o755)
    with pytest.raises(MissingExtra, match="has no TensorFlow to run the model with"):
        reported(model, str(tmp_path / "python"))


@pytest.mark.tensorflow
@pytest.mark.slow
@pytest.mark.skipif(not ENVIRONMENT.exists(), reason="no environment of TensorFlow 2.21")
def test_real_steps() -> None:
    model = str(ROOT / "sample_models" / "files-2.21" / "small.keras")
    report = measured_report([model], Hints(batch=8, limit_bytes=8 * MIB), SETTINGS, str(ENVIRONMENT))
    fit = report.fit
    assert fit and fit.tried and fit.tried.found
    assert fit.largest_batch and fit.tried.smallest_failed
    assert fit.tried.smallest_failed - fit.largest_batch <= max(fit.largest_batch // 50, 1)
    peaks = [each.peak_bytes for each in fit.tried.tried if each.peak_bytes]
    assert peaks and max(peaks) <= 8 * MIB
