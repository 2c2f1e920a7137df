"""Workers of a server, each of which holds the model."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

CELERY = """High memory usage with celery workers and Keras

Each time the task is called it builds the model and takes a lot of RAM.
"""
GUNICORN = """I serve three Keras models of 2 GB with gunicorn and 4 workers.
The memory consumption goes up when I increase the number of workers. How can they share the models?
"""
RULE = "copies-of-workers"


def test_each_worker_has_its_copy() -> None:
    report = pipeline.explain(CELERY)
    assert report.findings[0].rule == RULE
    assert "(line 1) is a process of its own" in report.verdict
    assert "built again in each call, too (line 3)" in report.verdict
    assert "celery -A app worker" in (report.actions[0].remedy.code or "")


def test_threads_share_what_workers_cannot() -> None:
    report = pipeline.explain(GUNICORN)
    assert report.findings[0].rule == RULE
    assert "built again" not in report.verdict
    assert "--workers 1 --threads 4" in (report.actions[0].remedy.code or "")


@pytest.mark.parametrize(
    "text",
    [
        GUNICORN.replace("with gunicorn and 4 workers", "with one process"),
        f"{GUNICORN}It runs out of memory.",
        f"{GUNICORN}There is a memory leak.",
        f"{GUNICORN}torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        "I serve Keras models with gunicorn and 4 workers.\nThat is fast.",
    ],
)
def test_what_says_more_or_nothing_of_memory_is_left_alone(text: str) -> None:
    assert not any(each.rule == RULE for each in pipeline.explain(text).findings)
