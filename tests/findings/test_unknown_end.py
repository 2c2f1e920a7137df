"""Texts of which nothing is known but a line that looks like the end, or that there is none."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.readers.oom.last_errors import ENDS

RULE = "unknown-end"
_OPENCL = "E tflite  : Failed to build program executable - Out of device memoryError: Program not built!"


@pytest.mark.parametrize(
    ("who", "example"), [(who, each) for who, rule in ENDS.items() for each in rule.examples]
)
def test_each_kind_of_line_is_its_own(who: str, example: str) -> None:
    assert next(name for name, rule in ENDS.items() if rule.search(example)) == who


def test_a_drivers_line_is_quoted_and_named() -> None:
    report = pipeline.explain(f"My app uses the GPU delegate.\n{_OPENCL}\nIs it the heap of 512 MB?\n")
    assert [finding.rule for finding in report.findings] == [RULE]
    assert "OpenCL" in report.verdict
    assert report.findings[0].evidence[0].line.number == 2
    assert "it speaks of memory" in report.findings[0].headline
    assert "RESOURCE_EXHAUSTED" not in " ".join(action.remedy.text for action in report.actions)


def test_an_error_that_says_nothing_of_memory_is_said_to() -> None:
    report = pipeline.explain("InternalError: No such statistics\n")
    assert "it says nothing of memory" in report.findings[0].headline
    assert report.actions[0].remedy.slug == "mend-the-error"


@pytest.mark.parametrize(
    "text",
    [
        "raise ValueError('no such file')",
        "except RuntimeError:",
        "How can I catch this error: it is a TypeError?",
        "DeprecationWarning: the module is old",
        "my program exits, I think with exit code 1",
    ],
)
def test_code_and_prose_are_no_end(text: str) -> None:
    assert not [each for each in pipeline.explain(f"{text}\n").findings if each.rule == RULE]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The python process just exits without any error message.", True),
        ("No warning, no traceback, nothing, the terminal is back at the prompt.", True),
        ("After an hour it silently dies.", True),
        ("It runs without errors.", False),
        ("No errors.", False),
        ("There is no error in the loss.", False),
        ("It was killed by me without any message.", False),
    ],
)
def test_a_silent_end_is_told_from_none(text: str, said: bool) -> None:
    report = pipeline.explain(f"{text}\n")
    assert ("ended without a message" in report.verdict) is said


def test_windows_has_other_numbers_than_linux() -> None:
    text = "The python process just exits without any error message"
    assert "echo $?" in (pipeline.explain(f"{text}.\n").actions[0].remedy.code or "")
    assert "ERRORLEVEL" in (pipeline.explain(f"{text} on Windows 10.\n").actions[0].remedy.code or "")


def test_whoever_says_that_there_is_no_message_is_not_asked_for_one() -> None:
    text = "tensorflow\nmy RAM is exhausted and the program ends without any message\n"
    slugs = [action.remedy.slug for action in pipeline.explain(text).actions]
    assert "how-it-ended" in slugs
    assert "read-the-log" not in slugs


@pytest.mark.parametrize(
    "line",
    [
        "tensorflow.python.framework.errors_impl.NotFoundError: no such op",
        "google.api_core.exceptions.ServiceUnavailable: 503",
        "jaxlib.xla_extension.SomeError: no such thing",
    ],
)
def test_a_dotted_python_error_is_no_line_of_java(line: str) -> None:
    assert not ENDS["Java"].search(line)


@pytest.mark.parametrize(
    "line",
    [
        "java.io.IOException: broken",
        "org.tensorflow.exceptions.TFInvalidArgumentException: No session factory registered",
        "Caused by: com.acme.LoadError: model",
    ],
)
def test_a_class_of_java_is(line: str) -> None:
    assert ENDS["Java"].search(line)
