"""A failure in a worker of a pool: who computes there, and where it was called."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

WORKER = '  File "/usr/lib/python3.10/concurrent/futures/process.py", line 246, in _process_worker\n'
POOL = '  File "/usr/lib/python3.10/multiprocessing/pool.py", line 774, in get\n'
CALL = '  File "/home/me/score.py", line 31, in score\n    y = net.predict(rows)\n'
FAILED = "tensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution error:\n"
AGAIN = (
    "\nThe above exception was the direct cause of the following exception:\n\n"
    "Traceback (most recent call last):\n"
    '  File "/home/me/main.py", line 8, in <module>\n    print(job.result())\n'
)


def explained(*parts: str) -> pipeline.Report:
    return pipeline.explain("Traceback (most recent call last):\n" + "".join(parts))


def test_the_place_is_that_of_the_worker_and_not_of_who_waited() -> None:
    report = explained(WORKER, CALL, FAILED, AGAIN, FAILED)
    request = report.case.moments[0].request
    assert request is not None
    assert (request.failed.source or "").endswith("score.py:31")


@pytest.mark.parametrize(("head", "shared"), [(WORKER, True), (POOL, False), ("", False)])
def test_a_workers_gpu_is_shared(head: str, shared: bool) -> None:
    report = explained(head, CALL, FAILED)
    assert ("in a worker process" in report.verdict) is shared
    assert ("fewer-processes" in [action.remedy.slug for action in report.actions]) is shared
