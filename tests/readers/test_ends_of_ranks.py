"""What a launcher prints names no process, and the error of the program that it started does."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

RAISED = (
    "[1,1]<stderr>:Traceback (most recent call last):\n"
    '[1,1]<stderr>:  File "train.py", line 12, in <module>\n'
    "[1,1]<stderr>:    hvd.init()\n"
    "[1,1]<stderr>:ValueError: built without support for a second process\n"
)
STATUS = "Process 1 exit with status code 1.\n"


@pytest.mark.parametrize("prose", ["", "I start it with two processes, and it ends at once.\n\n"])
def test_the_error_of_a_rank_goes_before_the_launchers_status(prose: str) -> None:
    report = pipeline.explain(prose + RAISED + STATUS)
    assert not report.case.moments
    assert "built without support for a second process" in report.verdict
    assert "exit status" not in report.verdict


def test_the_error_of_the_stream_that_tells_most_stays() -> None:
    own = "Traceback (most recent call last):\n  File \"run.py\", line 3\nKeyError: 'steps'\n"
    report = pipeline.explain(own + "[1,1]<stderr>:ValueError: later\n" + STATUS)
    assert "KeyError" in report.verdict


def test_a_status_alone_is_still_the_end() -> None:
    report = pipeline.explain("[1,1]<stdout>:building the model\n" + STATUS)
    assert "exit status" in report.verdict
