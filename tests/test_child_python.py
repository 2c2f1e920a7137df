"""The child process: what is said when it cannot be started, has no TensorFlow, takes too long or says too
much.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tfmemlens import child_python
from tfmemlens.errors import MissingExtra, UnreadableInput, UsageError


def test_its_answer_is_the_last_line_that_begins_so() -> None:
    code = "print('ANSWER 1\\nother\\nANSWER 2\\nANSWERING')"
    assert child_python.run(["-c", code], None, "to test").line("ANSWER ") == "2"
    assert child_python.run(["-c", "print('else')"], None, "to test").line("ANSWER ") is None


def test_no_interpreter_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="/no/python cannot be started: No such file"):
        child_python.run([], "/no/python", "to test")


@pytest.mark.parametrize("module", ["tensorflow", "tensorflow.python.keras"])
def test_no_tensorflow_is_told_apart(module: str) -> None:
    code = f'raise ModuleNotFoundError("No module named {module!r}")'
    with pytest.raises(MissingExtra, match="has no TensorFlow to test with") as caught:
        child_python.run(["-c", code], None, "to test with")
    assert "--python /path/to/python" in caught.value.hint


@pytest.mark.parametrize(
    "code",
    [
        "raise ModuleNotFoundError(\"No module named 'tensorflow_hub'\")",
        "import sys; sys.stderr.write(\"No module named 'tensorflow'\")",  # caught: the work was done without
    ],
)
def test_another_missing_module_is_none_of_ours(code: str) -> None:
    assert "No module named" in child_python.run(["-c", code], None, "to test").last_words


def test_patience_ends() -> None:
    with pytest.raises(UnreadableInput, match="took more than 1 seconds to test"):
        child_python.run(["-c", "import time; time.sleep(60)"], None, "to test", max_seconds=1)


def test_a_flood_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_python, "MAX_ANSWER_BYTES", 1000)
    assert len(child_python.run(["-c", "print('x' * 999)"], None, "to test").out) == 1000
    with pytest.raises(UnreadableInput, match="answered with 1,001 bytes"):
        child_python.run(["-c", "print('x' * 1000)"], None, "to test")


def test_it_sees_no_gpu_and_the_callers_modules_only_where_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    code = "import os, sys; print(os.environ['CUDA_VISIBLE_DEVICES'], sys.argv[1] in sys.path)"
    assert child_python.run(["-c", code, str(tmp_path)], sys.executable, "to test").out.split() == ["True"]
    alone = child_python.run(["-c", code, str(tmp_path)], None, "to test", own_modules=False)
    assert alone.out.split() == ["False"]


@pytest.mark.parametrize(
    ("complaints", "said"),
    [
        ("Traceback\n  File x\nValueError: bad\n2026-11-22 10:00:00 I tensorflow/core\n", "ValueError: bad"),
        ("E1122 10:00:00 only a log line\n", "E1122 10:00:00 only a log line"),
        ("", "the process ended with status 3"),
    ],
)
def test_last_words(complaints: str, said: str) -> None:
    assert child_python.ChildAnswer("python", 3, "", complaints).last_words == said
