"""`tfmemlens run`: a program as if nobody stood beside it, and a bundle when it ran out of memory."""

from __future__ import annotations

import json
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.conftest import ROOT, SAMPLES
from tfmemlens.cli.main import main
from tfmemlens.errors import DEBUG_VARIABLE
from tfmemlens.model.case import Api
from tfmemlens.readers.formats import run_record
from tfmemlens.use_cases import run as run_use_case

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
LOG = SAMPLES / "oom_log" / "1.10-founding-question-unet.txt"
FAILING = f"import sys; sys.stderr.write(open({str(LOG)!r}).read()); sys.exit(3)"


def run(
    folder: Path, *words: str, dump: str = "", max_file_bytes: int = -1
) -> subprocess.CompletedProcess[str]:
    limit = (max_file_bytes, resource.RLIM_INFINITY)
    return subprocess.run(
        [sys.executable, "-m", "tfmemlens", "run", *words],
        cwd=folder,
        env=environment(folder)
        | ({"TF_BFC_MEMORY_DUMP": dump} if dump else {})
        | ({} if max_file_bytes < 0 else {"PYTHONDONTWRITEBYTECODE": "1"}),  # or half a file stays
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
        capture_output=True,
        text=True,
        timeout=120,
    )


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder / "spool")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "spool").mkdir()
    return tmp_path


def left_in(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())


def test_a_run_that_ends_well_leaves_nothing(folder: Path) -> None:
    ended = run(folder, "--", "sh", "-c", "echo out; echo err >&2")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "out\n", "err\n")
    assert left_in(folder) == []


def test_a_failure_that_is_no_lack_of_memory_is_left_alone(folder: Path) -> None:
    ended = run(folder, sys.executable, "-c", "raise ValueError('no such layer')")
    assert ended.returncode == 1
    assert ended.stderr.endswith("ValueError: no such layer\n")
    assert left_in(folder) == []


def test_out_of_memory_is_explained_below_the_traceback_and_kept(folder: Path) -> None:
    ended = run(folder, "--", sys.executable, "-c", FAILING)
    assert ended.returncode == 3
    text = LOG.read_text()
    assert ended.stderr.startswith(text)
    page = ended.stderr.removeprefix(text)
    assert "LayoutOptimizer" in page
    (bundle,) = folder.glob("tfmemlens-run-*")
    assert f"`tfmemlens explain {bundle.name}`" in page
    assert left_in(bundle) == ["log.txt", "report.html", "run.json"]
    assert (bundle / "log.txt").read_text() == text
    record = json.loads((bundle / "run.json").read_text())
    assert (record["exit_status"], record["ending"]) == (3, "exit status 3")
    assert record["command"] == [sys.executable, "-c", FAILING]
    assert record["framework"] == "tensorflow"
    assert record["peak_rss_bytes"] > 1 << 20
    assert left_in(folder / "spool") == []


@pytest.mark.parametrize("where", ["tfmemlens.pipeline.explain", "tfmemlens.cli._options.short_page"])
def test_a_defect_of_ours_leaves_the_programs_status_and_its_log(folder: Path, where: str) -> None:
    broken = (
        "import sys, unittest.mock as mock, tfmemlens.pipeline, tfmemlens.cli._options, tfmemlens.cli.main\n"
        f"with mock.patch({where!r}, side_effect=TypeError('ours')):\n"
        "    sys.exit(tfmemlens.cli.main.main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", broken, "run", "--", sys.executable, "-c", FAILING]
    ended = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**environment(folder), DEBUG_VARIABLE: "0"},
    )
    assert ended.returncode == 3
    assert "a defect of tfmemlens: TypeError" in ended.stderr and "Traceback" not in ended.stderr
    (bundle,) = folder.glob("tfmemlens-run-*")
    assert (bundle / "log.txt").read_text() == LOG.read_text()


def verdict(page: str) -> str:
    """The sentence alone: how much more is on one screen depends on its length."""
    return page.partition("Out of memory")[2].partition("WHAT FAILED")[0].strip()


def test_a_bundle_is_explained_as_its_log_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(folder, "--out", "evidence", "--", sys.executable, "-c", FAILING)
    assert main(["explain", str(LOG)]) == 0
    alone = capsys.readouterr().out
    assert main(["explain", str(folder / "evidence")]) == 0
    whole = capsys.readouterr().out
    assert verdict(whole) == verdict(alone)
    assert "LayoutOptimizer" in verdict(whole)
    assert main(["report", str(folder / "evidence"), "-o", str(folder / "again.html")]) == 0


@pytest.fixture
def program(folder: Path) -> Path:
    """A program of which a run's output quotes a line."""
    return Path(shutil.copy(SAMPLES / "with_program" / "keep_features.py", folder))


def failing_run(folder: Path) -> subprocess.CompletedProcess[str]:
    log = SAMPLES / "with_program" / "2.11-keep-features.txt"
    return run(folder, "--out", "evidence", "--", "sh", "-c", f"cat '{log}' >&2; exit 1")


def test_a_bundle_keeps_the_files_that_its_traceback_names(
    folder: Path, program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert "feature_bank" in failing_run(folder).stderr
        assert left_in(folder / "evidence") == [
            "log.txt",
            "report.html",
            "run.json",
            "tfmemlens-program/keep_features.py",
        ]
    (folder / "evidence").rename(folder / "elsewhere")
    program.unlink()
    assert main(["explain", str(folder / "elsewhere")]) == 0
    assert "feature_bank" in verdict(capsys.readouterr().out)


def test_a_file_that_is_not_what_ran_is_not_kept(folder: Path, program: Path) -> None:
    program.write_text("import os\n" + program.read_text(encoding="utf-8"), encoding="utf-8")
    failing_run(folder)
    assert left_in(folder / "evidence") == ["log.txt", "report.html", "run.json"]


def test_out_keeps_a_run_that_ends_well_and_is_used_again(folder: Path) -> None:
    for word in ("first", "second"):
        assert run(folder, "--out", "evidence", "--", "echo", word).returncode == 0
    assert left_in(folder) == ["evidence/log.txt", "evidence/run.json"]
    assert (folder / "evidence" / "log.txt").read_text() == "second\n"


def test_out_takes_no_folder_with_other_files(folder: Path) -> None:
    (folder / "thesis.tex").touch()
    ended = run(folder, "--out", ".", "--", "touch", "ran")
    assert ended.returncode == 2
    assert "not empty" in ended.stderr
    assert left_in(folder) == ["thesis.tex"]


def test_a_disk_that_takes_no_more_ends_nothing_and_is_said_once(folder: Path) -> None:
    """Files end at 1 KiB; the page comes from what memory holds."""
    ended = run(folder, "--", sys.executable, "-c", FAILING, max_file_bytes=1024)
    assert ended.returncode == 3
    page = ended.stderr.removeprefix(LOG.read_text())
    assert "LayoutOptimizer" in page
    assert page.count("the log is not complete on disk") == 1
    assert "report.html cannot be written" in page
    (bundle,) = folder.glob("tfmemlens-run-*")
    assert (bundle / "log.txt").read_text() == LOG.read_text()[:1024]


def test_a_program_that_does_not_exist_is_127(folder: Path) -> None:
    ended = run(folder, "--", "no-such-python", "train.py")
    assert ended.returncode == 127
    assert "no-such-python" in ended.stderr
    assert "hint" in ended.stderr


def test_a_script_that_is_no_program_is_126(folder: Path) -> None:
    (folder / "train.py").write_text("print(1)\n")
    ended = run(folder, "--", "./train.py")
    assert ended.returncode == 126
    assert "tfmemlens run -- python ./train.py" in ended.stderr
    assert left_in(folder) == ["train.py"]


def test_a_killed_program_has_a_shells_exit_status(folder: Path) -> None:
    ended = run(folder, "--out", "evidence", "--", "sh", "-c", "kill -TERM $$")
    assert ended.returncode == 128 + signal.SIGTERM
    assert json.loads((folder / "evidence" / "run.json").read_text())["ending"] == "killed by SIGTERM"


def test_no_command_is_a_usage_error(folder: Path) -> None:
    assert run(folder).returncode == 2
    assert run(folder, "--").returncode == 2


def test_the_programs_own_options_are_its_own(folder: Path) -> None:
    ended = run(folder, "echo", "--out", "x", "--", "--version")
    assert ended.stdout == "--out x -- --version\n"


def test_only_the_dump_variable_is_added_to_the_environment(folder: Path) -> None:
    shown = "import json, os; print(json.dumps(dict(os.environ)))"
    inside = json.loads(run(folder, "--", sys.executable, "-c", shown).stdout)
    alone = json.loads(
        subprocess.run(
            [sys.executable, "-c", shown],
            cwd=folder,
            env=environment(folder),
            capture_output=True,
            check=True,
        ).stdout
    )
    assert inside.pop("TF_BFC_MEMORY_DUMP").startswith(str(folder / "spool"))
    assert inside == alone


def test_a_dump_variable_of_the_users_is_left(folder: Path) -> None:
    ended = run(folder, "--", "sh", "-c", "echo $TF_BFC_MEMORY_DUMP", dump="/data/mine")
    assert ended.stdout == "/data/mine\n"


def test_each_rank_keeps_a_folder_and_explain_reads_them_together(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for rank in ("0", "1"):
        monkeypatch.setenv("OMPI_COMM_WORLD_RANK", rank)
        assert run(folder, "--out", "job", "--", sys.executable, "-c", FAILING).returncode == 3
    assert [name for name in left_in(folder / "job") if name.endswith("log.txt")] == [
        "rank-0/log.txt",
        "rank-1/log.txt",
    ]
    assert main(["explain", str(folder / "job"), "--full"]) == 0
    page = capsys.readouterr().out
    assert "rank-0/log.txt" in page


def test_a_program_records_itself_only_under_trace(folder: Path) -> None:
    code = "import os; print(os.environ.get('TFMEMLENS_RUN_DIR'), 'startup' in os.environ['PYTHONPATH'])"
    assert run(folder, "--", sys.executable, "-c", code).stdout == "None False\n"
    traced = run(folder, "--trace=7", "--out", "job", "--", sys.executable, "-c", code)
    assert traced.stdout == f"{(folder / 'job').resolve()} True\n"
    assert json.loads((folder / "job" / "run.json").read_text())["traced"] is True


def test_an_interval_that_is_no_number_hints_at_the_dashes(folder: Path) -> None:
    ended = run(folder, "--trace", "python", "train.py")
    assert ended.returncode == 2
    assert "after --" in ended.stderr


@pytest.mark.parametrize(
    "status, version, told", [(139, (1, 15), True), (1, (1, 15), False), (139, (2, 21), False)]
)
def test_a_crash_of_tensorflows_after_a_failed_allocation_is_said(
    status: int, version: tuple[int, int], told: bool
) -> None:
    report = SimpleNamespace(case=SimpleNamespace(api=Api(version, version)))
    assert run_use_case._crashed_after_the_failure({"exit_status": status}, report) is told  # type: ignore[arg-type]


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_ends_nothing(folder: Path, closed: str) -> None:
    own = shlex.join([sys.executable, "-m", "tfmemlens", "run", "--", "sh", "-c", "touch ran; exit 4"])
    ended = subprocess.run(
        f"{own} {closed}", shell=True, cwd=folder, env=environment(folder), capture_output=True, text=True
    )
    assert (ended.returncode, left_in(folder)) == (4, ["ran"])
    assert "defect" not in ended.stdout + ended.stderr


@pytest.mark.parametrize("name", ["run.json", "recorder.json", "log.txt", "model.json", "report.html"])
def test_out_takes_no_folder_with_somebody_else_s_files(folder: Path, name: str) -> None:
    (folder / name).write_text("{}")
    ended = run(folder, "--out", ".", "--", "true")
    assert ended.returncode == 2 and "not empty" in ended.stderr
    assert (folder / name).read_text() == "{}"


def test_a_run_whose_end_nobody_saw_leaves_a_folder_that_is_ours(folder: Path) -> None:
    command = [sys.executable, "-m", "tfmemlens", "run", "--out", "evidence", "--", "sh", "-c"]
    waiting = [*command, "echo up; exec sleep 60"]
    with subprocess.Popen(waiting, cwd=folder, env=environment(folder), stdout=subprocess.PIPE) as running:
        assert running.stdout and running.stdout.readline() == b"up\n"
        running.kill()
    told = json.loads((folder / "evidence" / "run.json").read_text())
    assert told["ending"] == run_use_case.UNKNOWN_END and run_use_case.KEY == run_record.KEY
    assert run(folder, "--out", "evidence", "--", "echo", "again").returncode == 0
