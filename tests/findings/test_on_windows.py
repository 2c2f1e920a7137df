"""What fits Windows: no tools of Unix, and no GPU from TensorFlow 2.11 on."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.findings.support.applicability import applicable
from tfmemlens.findings.support.situation import Situation
from tfmemlens.model.finding import Remedy
from tfmemlens.model.report import Report
from tfmemlens.readers.oom.told_besides import ON_WINDOWS

ARRAY = "MemoryError: Unable to allocate {} for an array with shape ({}) and data type float32"
PATH = '  File "C:\\Users\\me\\train.py", line 12, in <module>\n'


def explained(text: str) -> Report:
    return pipeline.explain(text + "\n")


def offered(text: str) -> list[str]:
    return [action.remedy.slug for action in explained(text).actions]


def test_a_limit_of_windows_is_what_is_committed() -> None:
    text = ARRAY.format("2.98 GiB", "800000000,")
    assert "container-limit" in offered(text)
    assert "larger-paging-file" not in offered(text)
    assert "container-limit" not in offered(PATH + text)
    assert "larger-paging-file" in offered(PATH + text)


@pytest.mark.parametrize(("version", "host"), [("2.10.1", False), ("2.11.0", True), ("2.19.0", True)])
def test_words_of_memory_are_of_host_ram_where_no_gpu_can_be(version: str, host: bool) -> None:
    text = f"- Windows 11\n- tensorflow {version}\nMemory usage keeps increasing with each fit"
    report = explained(text)
    assert ("host RAM grows" in report.verdict) is host
    codes = " ".join(action.remedy.code or "" for action in report.actions)
    assert "psutil" in codes
    assert "GPU:0" not in codes
    assert "dmesg" not in codes
    linux = explained(text.replace("Windows 11", "Ubuntu 22.04"))
    assert "host RAM grows" not in linux.verdict


def test_a_linux_within_windows_is_linux() -> None:
    text = "- Windows 11, WSL2\n- tensorflow 2.19.0\nMemory usage keeps increasing with each fit"
    assert "host RAM grows" not in explained(text).verdict


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("windows of 10 steps are cut from the series", False),
        ("sliding windows on the data", False),
        ("It runs under Windows with WSL2", False),
        ("OSError: [WinError 1455] The paging file is too small", True),
        ("Windows 11 Pro", True),
        ("see http://example.org/a", False),
    ],
)
def test_what_shows_windows(text: str, shown: bool) -> None:
    assert bool(ON_WINDOWS.search(text)) is shown


def test_code_for_a_shell_is_that_of_windows() -> None:
    run = Situation(settings=frozenset({"platform=Windows"}))
    remedies = [
        Remedy("a", "export TF_FORCE_GPU_ALLOW_GROWTH=true", slug="growth"),
        Remedy("b", "free -h; swapon --show", slug="more-ram"),
        Remedy("c", "model.summary()", slug="find-the-layer"),
    ]
    codes = [remedy.code for remedy in applicable(remedies, run)]
    assert codes == ["set TF_FORCE_GPU_ALLOW_GROWTH=true", None, "model.summary()"]
    assert [remedy.code for remedy in applicable(remedies, Situation())] == [each.code for each in remedies]


@pytest.mark.parametrize(("side", "small"), [(2047, True), (2048, False)])
def test_a_small_array_fails_where_ram_is_full_already(side: int, small: bool) -> None:
    text = ARRAY.format("16.0 MiB", f"1, {side}, 2048")
    report = explained(text)
    assert ("fails only where RAM is full already" in report.verdict) is small
    assert ("smaller-pipeline" in offered(text)) is small
