"""`%load_ext tfmemlens` in a real IPython, and what is printed past Python's streams."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SAMPLES
from tfmemlens.recording.beside.kept_log import KeptLog
from tfmemlens.recording.in_program import text_of
from tfmemlens.recording.printed import Printed

LOG = SAMPLES / "oom_log" / "1.15-unet-report.txt"
MESSAGE = (
    "OOM when allocating tensor with shape[8,256,256,64] and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
)
LIST = (
    "Current usage from device: /job:localhost/replica:0/task:0/device:GPU:0, allocator: GPU_0_bfc\\n"
    "  450.00MiB from unet/conv1/Conv2D\\n  100.00MiB from unet/conv2/Conv2D\\n"
)


@pytest.fixture
def shell() -> Any:
    """An IPython without a terminal."""
    interactive = pytest.importorskip("IPython.core.interactiveshell", reason="pip install ipython")
    shell = interactive.InteractiveShell.instance()
    shell.run_line_magic("colors", "NoColor")
    shell.run_line_magic("load_ext", "tfmemlens")
    yield shell
    shell.run_line_magic("unload_ext", "tfmemlens")
    interactive.InteractiveShell.clear_instance()


def test_the_line_magic_explains_a_file(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    result = shell.run_cell(f"r = %memlens '{LOG}' --limit 1GiB --batch 2")
    assert result.success
    assert "DO THIS FIRST" in capsys.readouterr().out
    assert shell.user_ns["r"].case.capture.hints.limit_bytes == 1 << 30


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nothing.log", "tfmemlens: nothing.log does not exist\n  hint: "),
        ("x --limit much", "tfmemlens: not a size: 'much'"),
        ("--nonsense 3", "unrecognized arguments"),
        ("--batch", "expected one argument"),
    ],
)
def test_a_slip_gives_a_sentence(
    shell: Any, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    assert not shell.run_cell(f"%memlens {line}").success
    out = capsys.readouterr().out
    assert said in out
    assert "Traceback" not in out


def test_a_cell_is_explained_with_what_cpp_printed(shell: Any, capfd: pytest.CaptureFixture[str]) -> None:
    cell = (
        "%%memlens --batch 8\nimport os\nprint('epoch 1')\n"
        f"os.write(2, b'{LIST}')\nkept = 3\nraise RuntimeError('{MESSAGE}')"
    )
    assert not shell.run_cell(cell).success
    seen = capfd.readouterr()
    assert "epoch 1" in seen.out and "Current usage" in seen.err
    assert "RuntimeError: OOM when" in seen.out
    page = seen.out.partition("tfmemlens  ")[2]
    assert "OOM message and allocation list" in page, "the list that went past sys.stderr is used"
    assert page.rstrip().endswith("RuntimeError, explained above")
    assert shell.user_ns["kept"] == 3
    assert shell.run_cell("%memlens").success, "the traceback is still there to be asked for"


@pytest.mark.parametrize(
    "code, name", [("raise RuntimeError('OOM when')", "RuntimeError"), ("a b", "SaidAlready")]
)
def test_a_cell_fails_with_its_own_error_shown_once(
    shell: Any, capsys: pytest.CaptureFixture[str], code: str, name: str
) -> None:
    """What runs a notebook by itself reports the error; one of syntax IPython would print a second time."""
    result = shell.run_cell(f"%%memlens\n{code}")
    assert type(result.error_in_exec).__name__ == name
    assert capsys.readouterr().out.count("raise RuntimeError") <= 1


WATCHED = (
    "import os, tfmemlens\nwith tfmemlens.watch({folder!r}):\n    print('epoch 1')\n"
    f"    os.write(2, b'{LIST}')\n    raise MemoryError('{MESSAGE}')"
)


@pytest.mark.parametrize("kernel", [True, False])
def test_a_watched_block_keeps_what_it_printed_in_a_notebook(
    shell: Any,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kernel: bool,
) -> None:
    """A kernel shows values as cards; a terminal's own streams are left alone."""
    shown: list[Any] = []
    if kernel:
        shell.kernel = True
        monkeypatch.setattr("IPython.display.display", shown.append)
    try:
        assert not shell.run_cell(WATCHED.format(folder=str(tmp_path / "bundle"))).success
    finally:
        vars(shell).pop("kernel", None)
    seen, log = capfd.readouterr(), (tmp_path / "bundle" / "log.txt").read_text()
    assert "Current usage" in seen.err
    assert "this is kept: `tfmemlens explain" in seen.err
    assert ("Current usage" in log, "epoch 1\n" in log, len(shown)) == (kernel, kernel, int(kernel))
    assert ("DO THIS FIRST" in seen.err) is not kernel
    assert "MemoryError: OOM when allocating" in log
    for card in shown:
        assert "OOM message and allocation list" in str(card)


def test_a_watched_block_of_another_failure_is_left_alone(
    shell: Any, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = str(tmp_path / "bundle")
    assert not shell.run_cell(f"import tfmemlens\nwith tfmemlens.watch({folder!r}):\n    1 / 0").success
    assert not (tmp_path / "bundle" / "log.txt").exists()
    assert "tfmemlens explain" not in capfd.readouterr().err


def test_a_cell_is_named_as_one() -> None:
    """A kernel calls it `/tmp/ipykernel_42/3541986.py`, an older one `<ipython-input-3-5d5>`."""
    for name in (
        "/tmp/ipykernel_42/3541986.py",
        "C:\\\\Temp\\\\ipykernel_42\\\\35.py",
        "<ipython-input-3-5d5>",
    ):
        try:
            exec(compile("x = 1\nraise MemoryError('no')", name.replace("\\\\", "\\"), "exec"), {})
        except MemoryError as error:
            assert '  File "cell", line 2, in <module>' in text_of(error)


def test_other_failures_and_good_cells_are_left_alone(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert not shell.run_cell("%%memlens\n1 / 0").success
    out = capsys.readouterr().out
    assert "ZeroDivisionError" in out
    assert "tfmemlens  " not in out
    assert shell.run_cell("%%memlens\nprint('fine')").success
    assert capsys.readouterr().out == "fine\n"


def test_printed_passes_everything_on(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = KeptLog(str(tmp_path / "log.txt"))
    with Printed(log):
        print("by Python")
        os.write(1, b"past Python\n")
        subprocess.run([sys.executable, "-c", "print('by a child')"], check=True)
        os.write(2, b"x" * 300_000 + b"\n")
    log.close()
    seen, kept = capfd.readouterr(), (tmp_path / "log.txt").read_text()
    for line in ("by Python\n", "past Python\n", "by a child\n"):
        assert line in seen.out
        assert kept.count(line) == 1
    assert seen.err == "x" * 300_000 + "\n"
    assert len(kept) == len(seen.out) + len(seen.err)


def test_printed_restores_a_stream_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Stream:
        def __init__(self) -> None:
            self.text = ""

        def write(self, text: str) -> int:
            self.text += text
            return len(text)

        def flush(self) -> None:
            pass

    stream, log = Stream(), KeptLog(str(tmp_path / "log.txt"))
    monkeypatch.setattr(sys, "stdout", stream)
    with Printed(log):
        print("kept")
    print("not kept")
    log.close()
    assert stream.text == "kept\nnot kept\n"
    assert (tmp_path / "log.txt").read_text() == "kept\n"
    assert "write" not in vars(stream)


def test_recording_needs_no_pandas() -> None:
    code = (
        "import sys, tfmemlens.recording, tfmemlens.recording.printed\n"
        "heavy = 'pandas', 'numpy', 'matplotlib', 'google.protobuf'\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
