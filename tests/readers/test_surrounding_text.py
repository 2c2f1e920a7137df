"""More text never gives a poorer page: what a sample tells survives every header above and every line below."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SAMPLES
from tests.readers.surrounding_texts import ABOVE, BELOW, KERAS_3_CALL
from tfmemlens.model.incident import FailedRequest
from tfmemlens.readers.formats import oom_log

LOGS = sorted(path for path in (SAMPLES / "oom_log").glob("*") if path.name.endswith((".txt", ".txt.gz")))
SURROUNDINGS = {
    **{name: (text, "") for name, text in ABOVE.items()},
    **{name: ("", text) for name, text in BELOW.items()},
}
NAMES = list(SURROUNDINGS)
FACTS = ("kind", "node", "op", "shape", "dtype", "size", "allocator", "temporary", "executable")


def cases() -> list[Any]:
    """Two surroundings for each sample, the next ones for the next sample; the others are slow."""
    return [
        pytest.param(
            path,
            name,
            id=f"{path.name.split('.txt')[0]}-{name}",
            marks=() if (column - 2 * row) % len(NAMES) < 2 else (pytest.mark.slow,),
        )
        for row, path in enumerate(LOGS)
        for column, name in enumerate(NAMES)
    ]


@cache
def text_of(path: Path) -> str:
    raw = path.read_bytes()
    return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8", "replace")


def requests(text: str) -> list[FailedRequest]:
    capture = oom_log.read_lines(list(enumerate(text.split("\n"), 1)))
    return [incident.request for incident in capture.incidents]


@cache
def plain(path: Path) -> list[FailedRequest]:
    return requests(text_of(path))


@pytest.mark.parametrize(("path", "name"), cases())
def test_more_text_loses_nothing(path: Path, name: str) -> None:
    above, below = SURROUNDINGS[name]
    surrounded = requests(above + text_of(path) + below)
    assert len(surrounded) == len(plain(path))
    for before, after in zip(plain(path), surrounded, strict=True):
        lost = {
            fact: (getattr(before, fact), getattr(after, fact))
            for fact in FACTS
            if getattr(before, fact) is not None and getattr(before, fact) != getattr(after, fact)
        }
        assert not lost
        assert before.keras_layer is None or after.keras_layer is not None


@pytest.mark.parametrize(
    "inner",
    [
        "failed to allocate memory [Op:Sub] name: ",
        "{{function_node __wrapped__Sub_device_/job:localhost/replica:0/task:0/device:GPU:0}} failed to allocate"
        " memory [Op:Sub] name: ",
        "{{function_node __wrapped__Sub_device_/job:localhost/replica:0/task:0/device:GPU:0}} OOM when allocating"
        " tensor with shape[8,700,700,32] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by"
        " allocator GPU_0_bfc [Op:Sub] name: ",
    ],
)
def test_the_line_below_a_header_says_what_it_says_alone(inner: str) -> None:
    (alone,) = requests(inner)
    (headed,) = requests(f"ResourceExhaustedError: {KERAS_3_CALL}{inner}")
    assert {fact: getattr(headed, fact) for fact in FACTS} == {fact: getattr(alone, fact) for fact in FACTS}
    assert headed.op == "Sub"
    assert headed.keras_layer == ("", "PairDistance")


def test_a_message_below_the_frames_of_a_function_is_no_quoted_code() -> None:
    (request,) = requests(
        "Detected at node conv_1/Conv2D defined at (most recent call last):\n"
        '  File "train.py", line 14, in <module>\n'
        "\n"
        "failed to allocate memory\n"
        "\t [[{{node conv_1/Conv2D}}]] [Op:__inference_multi_step_on_iterator_2020]\n"
    )
    assert request.node == "conv_1/Conv2D"
    assert (request.source, request.source_text) == ("train.py:14", None)
    assert request.line is not None and request.line.number == 4
