"""A text with several commands: figures of one run are none of the next."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline
from tfmemlens.model.report import Report

RAN = "python fit.py --batch_size {} --size 96\n 120/4000 [>.......] - ETA: 9:41 - loss: 1.2\n"
BEGINS = "python fit.py --batch_size {} --size 96\n"


def explained(text: str) -> Report:
    return pipeline.explain(text + oom("64,48,48,256", "net/block/conv/Conv2D"))


def test_steps_of_an_earlier_command_are_none_of_this_run() -> None:
    case = explained(RAN.format(4) + BEGINS.format(64)).case
    told, request = case.capture.surroundings, case.moments[0].request
    assert request and told.progress and told.progress_before(request.failed.line) is None
    assert [value for name, value, _ in told.settings if name == "working_batch"] == ["4"]


@pytest.mark.parametrize(
    "text",
    [
        RAN.format(64),  # the run that failed
        RAN.format(64) + BEGINS.format(4),  # the smaller one failed, of something else
        RAN.format(4) + oom("4,48,48,256") + BEGINS.format(64),  # both failed
        BEGINS.format(4) + BEGINS.format(64),  # nothing says that the first went well
    ],
)
def test_no_batch_works_where_none_was_seen_to(text: str) -> None:
    assert explained(text).case.capture.surroundings.setting("working_batch") is None


def test_the_batch_that_ran_is_advised() -> None:
    first = explained(RAN.format(4) + BEGINS.format(64)).actions[0].remedy
    assert "take the batch of 4 that works (line 1)" in first.text


@pytest.mark.parametrize("line", ["I ran python again with it", "    python_path = sys.executable"])
def test_words_of_a_program_begin_no_run(line: str) -> None:
    assert not explained(f"{RAN.format(8)}{line}\n").case.capture.surroundings.commands[1:]
