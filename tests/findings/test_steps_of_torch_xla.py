"""Where steps of PyTorch/XLA end decides what is told and advised."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

LOOP = """import torch_xla.core.xla_model as xm
for i, x in enumerate(loader):
    loss = model(x) / 8
    loss.backward()
    {between}
    if (i + 1) % 8 == 0:
        optimizer.step()
        {inside}
        optimizer.zero_grad()
{after}
"""
WORDS = "I get an OOM on a TPU when I accumulate gradients.\n"
MESSAGE = "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 29.80G of 15.48G hbm.\n"


def read(between: str = "", inside: str = "xm.mark_step()", after: str = "", head: str = WORDS) -> Report:
    return pipeline.explain(head + LOOP.format(between=between, inside=inside, after=after))


def slugs(report: Report) -> list[str]:
    return [action.remedy.slug for action in report.actions]


@pytest.mark.parametrize("head", [WORDS, MESSAGE])
def test_a_step_that_ends_with_the_update_alone_is_one_program(head: str) -> None:
    told = read(head=head)
    assert "ends a step only with the update" in told.verdict
    assert "after each backward pass" in told.actions[0].remedy.text


@pytest.mark.parametrize(
    ("between", "inside", "after"),
    [
        ("xm.mark_step()", "xm.mark_step()", ""),
        ("", "log(loss)", "    xm.mark_step()"),
        ("", "log(loss)", ""),
    ],
)
def test_steps_that_end_in_each_turn_or_nowhere_are_not_so(between: str, inside: str, after: str) -> None:
    assert "only with the update" not in read(between, inside, after).verdict


def test_a_step_that_the_optimizer_alone_does_not_end() -> None:
    told = "Memory grows at each step until it is killed, with torch_xla.\nxm.optimizer_step(opt{})\n{}\n"
    first = pipeline.explain(told.format("", "")).actions[0].remedy
    assert first.code == "xm.optimizer_step(optimizer, barrier=True)"
    for more in ((", barrier=True", ""), ("", "for x in pl.MpDeviceLoader(loader, device):")):
        ended = pipeline.explain(told.format(*more)).actions[0].remedy
        assert ended.slug == "mark-step" and ended.code != first.code


def test_host_ram_of_pytorch_xla_is_no_input_pipeline() -> None:
    killed = "the script is killed by the system: SIGKILL, because of out-of-memory, in loss.backward()\n"
    report = pipeline.explain("I train an LSTM with Torch/XLA.\n" + killed)
    assert slugs(report)[:2] == ["mark-step", "count-compilations"]
    assert "smaller-pipeline" not in slugs(report)
    other = pipeline.explain("I train an LSTM with TensorFlow.\n" + killed)
    assert "mark-step" not in slugs(other)


KILLED = "{} on TPU with torch_xla\nProcessExitedException: process 1 terminated with signal SIGKILL\n"
BOUNDARY = "OOM with torch_xla on a TPU: as soon as the next epoch {}, the program goes OOM.\n"


def test_processes_of_one_host_hold_a_model_each() -> None:
    first, *others = slugs(pipeline.explain(KILLED.format("nprocs=8")))
    assert first == "one-model-for-all" and "mark-step" not in others
    alone = slugs(pipeline.explain(KILLED.format("nprocs=1").replace("process 1", "process 0")))
    assert "one-model-for-all" not in alone


@pytest.mark.parametrize(("says", "told"), [("starts", True), ("has another learning rate", False)])
def test_what_differs_between_epochs(says: str, told: bool) -> None:
    report = pipeline.explain(BOUNDARY.format(says))
    assert ("between two epochs (line 1)" in report.verdict) is told
    assert ("between-epochs" in slugs(report)) is told
    assert "mark-step" not in slugs(report)


def test_a_trainer_ends_the_steps_itself() -> None:
    told = "Memory grows at each step on a TPU, with {} and torch_xla.\n"
    assert "mark-step" in slugs(pipeline.explain(told.format("a loop")))
    assert "mark-step" not in slugs(pipeline.explain(told.format("pytorch-lightning")))


def test_a_step_is_not_asked_to_end_where_nothing_shows_that_it_grows() -> None:
    once = "I get an OOM on a TPU with torch_xla.\n"
    assert slugs(pipeline.explain(once))[0] == "smaller-batch"
    assert "mark-step" not in slugs(pipeline.explain(once))
    assert "mark-step" in slugs(pipeline.explain(f"{once}It fails after 300 steps in loss.backward()\n"))
    halved = "We halved the batch-size and the code worked.\n"
    assert "line 2 says that a smaller batch runs" in pipeline.explain(once + halved).actions[0].remedy.text


@pytest.mark.parametrize(
    ("title", "told"),
    [
        ("MpDeviceLoader needs more RAM with torch_xla", True),
        ("torch_xla needs more RAM with my sampler", False),
    ],
)
def test_a_loader_that_the_title_names(title: str, told: bool) -> None:
    report = pipeline.explain(f"# {title}\n\nAfter every epoch the memory usage increases a little.\n")
    assert ("whose threads and queues" in report.verdict) is told
    assert ("fewer-batches-ahead" in slugs(report)) is told


CRASHED = (
    "{}\nTraceback (most recent call last):\n"
    '  File "train.py", line 9, in <module>\n    xmp.spawn(run, nprocs=8)\n'
    "Exception: process 3 terminated with signal SIGSEGV\n"
)


def test_a_crash_of_pytorch_xla_is_none_of_tensorflow() -> None:
    report = pipeline.explain(CRASHED.format("import torch_xla"))
    said = " ".join((report.verdict, *(each.remedy.text for each in report.actions)))
    assert "PyTorch/XLA reports a lack" in said and "TensorFlow" not in said
    assert report.actions[0].remedy.code == "xmp.spawn(f, nprocs=1)   # with PYTHONFAULTHANDLER=1"
    other = pipeline.explain(CRASHED.format("import tensorflow").replace("xmp.", "mp."))
    assert "TensorFlow reports a lack" in other.verdict


RESERVED = (
    "RESOURCE_EXHAUSTED: Attempting to reserve 9.25G at the bottom of memory. That was not possible. There"
    " are 7.75G free, 0B reserved, and 7.75G reservable.\n"
)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("# FSDP with torch_xla on a v3-8", True),
        ("# torch_xla on a v3-8", False),
        ("# FSDP with jax on a v3-8", False),
        ("# FSDP with torch_xla\nmodel = FSDP(model, auto_wrap_policy=policy)", False),
    ],
)
def test_who_names_fsdp_sees_that_it_wraps_blocks(said: str, told: bool) -> None:
    slugs = [each.remedy.slug for each in pipeline.explain(f"{said}\n{RESERVED}").actions]
    assert ("wrap-blocks" in slugs) is told
    assert "in-pieces" not in slugs or "jax" in said
