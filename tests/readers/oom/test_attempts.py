"""What a post says was tried in vain or is done already, and what sounds like it and is not."""

from __future__ import annotations

import pytest

from tests.findings.test_told_in_words import slugs
from tfmemlens import pipeline
from tfmemlens.model.line import Line
from tfmemlens.readers.oom.attempts import AttemptCollector


def facts(text: str) -> set[str]:
    collector = AttemptCollector()
    for number, line in enumerate(text.splitlines(), 1):
        collector.observe(Line(number, line))
    return {name.removesuffix(" in vain") for name in collector.value()}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("clear_session does not help", {"clearing"}),
        ("clear_session works for me", set()),
        ("I call clear_session", {"clearing"}),
        ("Should clear_session be called?", set()),
        ("    K.clear_session()", {"clearing"}),
        ("Even with gc.collect() it leaks", {"collecting"}),
        ("All tensors are wrapped in tf.tidy()", {"tidying"}),
        ("predict_on_batch fails to solve it", {"predicting a batch"}),
        ("Even when I add allow_growth the error still occurs.", {"growth"}),
        ("Setting allow_growth makes it run.", set()),
        ("You should set allow_growth.", set()),
        ("Please try allow_growth, it is no harm to change it.", set()),
        ("It does not work without memory_growth", set()),
        ("When I disable multiprocessing, all is working fine even with 8 GPUs.", set()),
        ("Also try a smaller batch size.", set()),
        ("I will try allow_growth next and still hope.", set()),
        ("We already use a generator for the images.", {"reading in parts"}),
        ("I have not used a generator yet.", set()),
        ("Would a generator help?", set()),
        ("Specifying batch_size 16, 32, 64 did not help", {"a smaller batch"}),
        ("Batch size 16 is still what the paper has.", set()),
        ("Reducing `batch_size` from 8 to 4 does not help", {"a smaller batch"}),
        ("lax.map with batch_size does not make a difference", {"blocks"}),
        ("I reduced the image size and nothing helps.", {"a smaller sample"}),
        ("We tried fewer layers, to no avail.", {"a smaller model"}),
        ("I upgraded to 2.4 in May.", set()),
        ("Upgrading to 2.4 did not help.", {"another release"}),
        ("I tried older releases and got it working in the end", set()),
        ("I have tried downgrading, and that made it work", set()),
        ("I tried downgrading and never got it to work, same error", {"another release"}),
        ("I tried downgrading, and the next error was not fixed by it", {"another release"}),
        ("There is no other process on the card.", {"ending others"}),
        ("I kill the process, and it still does not release the memory.", set()),
        ("I rebooted, same error.", {"ending others"}),
        ("I could not find anything in the OS logs.", {"the kernel's log"}),
        ("dmesg shows who was killed.", set()),
        ("Both GPU and RAM show as having enough memory", {"enough RAM in words"}),
        ("There is not enough RAM.", set()),
        ("My GPU RAM is not enough", set()),
        ("When run on the CPU alone it does not leak", {"compared with the CPU"}),
        ("I run it on the CPU", set()),
        ("float16 makes no difference", {"16 bits"}),
        ("I added swap, without success.", {"more RAM"}),
        ("Without multiprocessing it is the same issue.", {"threads"}),
    ],
)
def test_what_was_tried_and_what_was_not(text: str, told: set[str]) -> None:
    assert facts(text) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Did you try allow_growth?\n\nYes", {"growth"}),
        ("Did you try allow_growth?\n\nNot so far", set()),
        ("You should reduce the batch size.\nI tried that, same error.", {"a smaller batch"}),
        ("You should reduce the batch size.\nIt did not help.", {"a smaller batch"}),
        ("You should reduce the batch size.\nI have the same issue.", set()),
        ("You should reduce the batch size.\nI did that and it works.", set()),
        ("You should reduce the batch size." + "\nwords and more" * 9 + "\nIt did not help.", set()),
        (
            "I also tried:\nreducing batch size until 2\nnightly builds",
            {"a smaller batch", "another release"},
        ),
        ("I also tried a lot.\nreducing batch size until 2", set()),
        ("I tried the following:\n- allow_growth, which worked\n- mixed_precision", {"16 bits"}),
    ],
)
def test_what_stands_in_lists_and_in_answers(text: str, told: set[str]) -> None:
    assert facts(text) == told


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("It stops with OOM in training. Reducing the batch size did not help.", "smaller-batch"),
        ("RAM runs out in training. I use a generator that reads one file.", "map-the-file"),
        ("The process was killed. I found nothing in dmesg.", "read-the-kernel-log"),
    ],
)
def test_what_was_tried_is_not_advised(text: str, slug: str) -> None:
    assert slug not in (slugs(text) or [])
    assert slug in (slugs(text.split(". ")[0]) or [])


def test_a_long_post_is_read_in_part() -> None:
    report = pipeline.explain(
        "It runs out of memory here.\n" + "more words and more\n" * 500 + "float16 in vain\n"
    )
    assert report.case.capture.surroundings.shows("16 bits in vain") is None


def test_a_leak_that_nobody_sees_is_none() -> None:
    seen, unseen = (
        f"It is killed, and I {see} a system or GPU  memory leak." for see in ("see", "don't see")
    )
    assert "grows" in pipeline.explain(f"Hello,\n{seen}\n").verdict
    assert "grows" not in pipeline.explain(f"Hello,\n{unseen}\n").verdict


def test_a_kill_that_no_log_knows_may_have_another_cause() -> None:
    text = "The training process killed without any error in 1 of 10 runs.{}\n"
    logged, unlogged = (pipeline.explain(text.format(more)) for more in ("", " OS logs show nothing."))
    assert "as the kernel does" in logged.verdict and "logs tell nothing of it" in unlogged.verdict
    assert [action.remedy.slug for action in unlogged.actions] == ["who-ended-it"]
    assert logged.actions[0].remedy.slug == "read-the-kernel-log"


@pytest.mark.parametrize("free", [True, False])
def test_pinned_memory_that_is_refused_while_ram_is_free(free: bool) -> None:
    said = "GPU and RAM show as having enough memory" if free else "GPU and RAM are new"
    failed = "cc:7] failed to alloc 1073741824 bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of memory"
    report = pipeline.explain(f"2022-09-09 18:56:44.476100: E cuda.{failed}\nOn Windows WSL.\n{said}\n")
    assert ("has a limit of its own" in report.verdict) is free
    assert any("end other programs" in action.remedy.text for action in report.actions) is not free
    assert report.actions[0].remedy.slug == "more-ram-for-wsl"
