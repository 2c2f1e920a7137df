"""The page that fits one screen: at most 23 lines of 80 columns, with what must stand on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.answers import explained
from tests.cli.test_explain import HINTS, LOGS
from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.cli import _options
from tfmemlens.cli.main import main
from tfmemlens.model.allocation import AllocationTable
from tfmemlens.model.attribution import NOBODY, Attribution
from tfmemlens.model.capture import Hints
from tfmemlens.model.case import Balance, Moment, Request
from tfmemlens.model.incident import FailedRequest
from tfmemlens.renderers import savings
from tfmemlens.renderers.terminal import _request, _screen
from tfmemlens.renderers.terminal import report as terminal
from tfmemlens.renderers.terminal._blocks import display_width
from tfmemlens.renderers.view import View

TRACES = ("run_metadata/1.15-unet.pb.gz", "run_metadata/1.10-lenet.pb", "xspace/2.11-function.xplane.pb")


@pytest.mark.parametrize("sample", LOGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_failure_fits_one_screen(
    sample: Path, golden: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    path = sample.relative_to(SAMPLES.parent)
    harmless = sample.stem.endswith("only-soft-warnings")
    assert main(["explain", str(path), *HINTS.get(sample.stem, [])]) == int(harmless)
    page = capsys.readouterr().out
    assert_fits(page, View())
    golden(f"screen/{sample.parent.name}/{sample.name.split('.txt')[0]}.txt", page)


@pytest.mark.parametrize("name", TRACES)
@pytest.mark.parametrize("command", [["profile"], ["fit", "--limit", "1GiB"]])
def test_every_trace_fits_one_screen(
    command: list[str], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main([*command, str(SAMPLES / name)])
    page = capsys.readouterr().out
    assert_fits(page, View())
    assert "--full" in page.splitlines()[-1] or "--full" in page.splitlines()[-2]


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize(
    "command",
    [
        ["profile", "run_metadata/1.15-unet.pb.gz"],
        ["fit", "run_metadata/1.15-unet.pb.gz", "--limit", "1GiB"],
        ["layout", "layout/1.10-concat-skips.after.pb.gz"],
        ["diff", "run_metadata/1.15-unet.pb.gz", "run_metadata/2.11-unet.pb.gz"],
        ["explain", "xla_dump/2.21-jit-step-buffer-assignment.txt"],
    ],
    ids=lambda command: command[0],
)
def test_no_line_is_wider_than_the_terminal(
    command: list[str], width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_options, "_on", lambda stream: View(width=width))
    main([str(SAMPLES / each) if "/" in each else each for each in command])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= _screen.ROWS
    assert max(map(display_width, lines)) <= width


@pytest.mark.parametrize("width", [60, 100, 160])
def test_the_page_is_as_wide_as_the_terminal(width: int) -> None:
    report = pipeline.explain(SAMPLES / "oom_log" / "1.13-unet-report.txt", Hints())
    assert_fits(terminal.render(report, View(width=width)), View(width=width))
    widest = max(map(display_width, terminal.render(report, View(width=width)).splitlines()))
    assert widest == width  # the bar


def test_full_is_asked_for_by_any_option_that_only_the_full_page_obeys(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = str(SAMPLES / "oom_log" / "1.13-unet-report.txt")
    pages = []
    for options in ([], ["--full"], ["--top", "3"], ["--by", "kind"], ["--all"]):
        main(["explain", log, *options])
        pages.append(capsys.readouterr().out)
    short, *full = pages
    assert "FINDINGS" not in short
    assert all("FINDINGS" in page for page in full)


def test_a_note_ends_after_a_whole_clause() -> None:
    text = "12 rows have odd names: they were not read; the books still balance"
    assert _screen._clauses(text, 200) == text
    assert _screen._clauses(text, 50) == "12 rows have odd names: they were not read"
    assert _screen._clauses(text, 30) == "12 rows have odd names"
    assert _screen._clauses("no end in sight at all", 12) == "no end in…"
    assert _screen._clauses("it is short (free, but in pieces: the largest is 4)", 40) == (
        "it is short (free, but in pieces)"
    )


@pytest.mark.parametrize("sample", LOGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_advice_stands_whole_or_not_at_all(sample: Path) -> None:
    report = explained(sample)
    page = " ".join(terminal.render(report).split())
    remedies = savings.first_remedies(report)
    shown = [" ".join(remedy.text.split()) in page for remedy in remedies]
    assert shown == sorted(shown, reverse=True)
    assert not remedies or shown[0]


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        ((), "NAME"),
        (("short",), "NAME  short"),
        (("a" * 60, "b" * 30, "c"), f"NAME  {'a' * 60}, c"),
        (("one\x1b[2J",), r"NAME  one\x1b[2J"),
    ],
)
def test_facts_stand_whole_beside_a_heading(facts: tuple[str, ...], line: str) -> None:
    assert _screen._heading("name", View(), facts) == [line]


def assert_fits(page: str, view: View) -> None:
    """At most so many lines, none wider than asked unless it is one word that cannot be broken."""
    lines = page.splitlines()
    assert len(lines) <= _screen.ROWS
    for line in lines:
        assert display_width(line) <= view.width or " " not in line.strip()


def failed_on(device: str) -> str:
    """The page of a failure on the device."""
    return terminal.render(
        pipeline.explain(
            f'Traceback (most recent call last):\n  File "train.py", line 7, in call\n    y = self.up(x)\n'
            "ResourceExhaustedError: OOM when allocating tensor with shape[8,64,64,32] and type float on"
            f" {device} by allocator GPU_bfc [Op:Conv2D]\n"
        )
    )


@pytest.mark.parametrize(
    ("device", "told"),
    [
        ("/job:localhost/replica:0/task:0/device:GPU:3", "GPU:3"),
        ("/job:worker/replica:0/task:2/device:GPU:0", "GPU:0, worker task 2"),
        ("/job:localhost/replica:0/task:2/device:GPU:1", "GPU:1, localhost task 2"),
        ("/job:worker/replica:1/task:0/device:GPU:0", "GPU:0, replica 1, worker task 0"),
        ("/job:localhost/replica:0/task:0/device:GPU:0", ""),
    ],
)
def test_another_device_than_the_first_stands_beside_the_heading(device: str, told: str) -> None:
    failed = next(line for line in failed_on(device).splitlines() if line.startswith("WHAT FAILED"))
    at = failed.rpartition(" (log line")[0] if not told else failed
    assert at == f"WHAT FAILED  {told or 'your code: train.py:7 `y = self.up(x)`'}"


@pytest.mark.parametrize("width", [60, 80])
def test_of_a_long_path_the_end_stays(width: int) -> None:
    file = "/home/someone/projects/histology/pipelines/classification/networks/pooling_of_parts.py"
    page = terminal.render(
        pipeline.explain(
            f'Traceback (most recent call last):\n  File "{file}", line 96, in call\n    y = self.up(x)\n'
            "ResourceExhaustedError: OOM when allocating tensor with shape[8,64,64,32] and type float on"
            " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
        ),
        View(width=width),
    )
    code = next(line for line in page.splitlines() if "your code" in line)
    assert "pooling_of_parts.py:96" in code and "`y" in code and "…/" in code


@pytest.mark.parametrize(
    ("code", "label"),
    [
        ("model.fit(data, epochs=3)", "started by"),
        ("loss = model.train_on_batch(x, y)", "started by"),
        ("y = self.fit_curve(x)", "your code"),
    ],
)
def test_a_line_that_runs_a_whole_model_is_no_place_of_a_tensor(code: str, label: str) -> None:
    page = terminal.render(
        pipeline.explain(
            f'Traceback (most recent call last):\n  File "train.py", line 96, in main\n    {code}\n'
            "ResourceExhaustedError: OOM when allocating tensor with shape[8,64,64,32] and type float on"
            " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
        ),
        View(),
    )
    assert f" {label}: train.py:96 `{code}`" in page


@pytest.mark.parametrize(
    ("code", "program", "label"),
    [
        ("print(step, float(loss))", "jit_step", "seen later at"),
        ("losses.append(loss.item())", "jit_step", "seen later at"),
        ("jax.block_until_ready(out)", "jit_step", "seen later at"),
        ("print(train_step(params))", "jit_step", "your code"),
        ("loss = train_step(params)", "jit_step", "your code"),
        ("x = y", "jit_step", "your code"),
        ("print(step, float(loss))", None, "your code"),
    ],
)
def test_a_line_that_waits_for_a_compiled_program_did_not_start_it(
    code: str, program: str | None, label: str
) -> None:
    failed = FailedRequest(executable=program, source="train.py:9", source_text=code)
    moment = Moment(Attribution(AllocationTable.of([]), []), Balance(), request=Request(failed, NOBODY, None))
    assert dict(_request.facts(moment))[label] == f"train.py:9 `{code}`"


@pytest.mark.parametrize(
    ("text", "width", "cut"),
    [
        ("  your code: a.py:1 `f(x)`", 26, "  your code: a.py:1 `f(x)`"),
        ("  your code: a.py:1 `f(x, y)`", 26, "  your code: a.py:1 `f(x…`"),
        ("  your code: a_long_name.py:1", 20, "  your code: a_long…"),
    ],
)
def test_code_is_cut_where_the_room_ends(text: str, width: int, cut: str) -> None:
    assert _screen._cut(text, width) == cut


def test_a_step_that_did_not_fail_must_not_be_mended() -> None:
    traced = SAMPLES / "run_metadata" / "2.21-inference.pb"
    assert "TO USE LESS MEMORY" in terminal.render(pipeline.explain(traced), View())
    assert "TO USE LESS MEMORY" not in terminal.render(
        pipeline.explain(SAMPLES / "oom_log" / "2.21-leak.txt"), View()
    )
