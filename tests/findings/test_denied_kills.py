"""Kills that a text denies, heartbeats that did not come, and questions that tell no failure."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.readers.formats import oom_log

SILENT = (
    "E coordination_service.cc:1170] /job:jax_worker/replica:0/task:{0} has been set to ERROR in coordination"
    " service: UNAVAILABLE: Task /job:jax_worker/replica:0/task:{0} heartbeat timeout. This indicates that"
    " the remote task has failed, got preempted, or crashed unexpectedly."
)


def killed(text: str) -> bool:
    capture = oom_log.read_lines([(1, text)])
    told = capture.surroundings
    return bool(capture.incidents or told.shows("killed in words") or told.shows("running short"))


@pytest.mark.parametrize(
    "text",
    [
        "The node has plenty of RAM and there is no oom-killer line in dmesg.",
        "dmesg shows nothing about the oom_killer",
        "The pod was not OOMKilled, it just stopped.",
        '        "OOMKilled": false,',
        "memory.events says oom_kill 0",
        "the oom-killer was not invoked on that host",
        "It ends without any sign of SIGKILL.",
        "it was not killed, it raised an error of its own",
        "the job does not get killed, it only stands still",
        "no process killed on that node",
    ],
)
def test_a_kill_that_is_denied_is_none(text: str) -> None:
    assert not killed(text)


@pytest.mark.parametrize(
    "text",
    [
        "No message, only SIGKILL.",
        "there is no traceback and the pod is OOMKilled",
        "dmesg: oom-killer: gfp_mask=0x100cca, order=0, oom_score_adj=0",
        '        "OOMKilled": true,',
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=88.0",
        "I do not know why it gets killed",
        "it was suddenly killed",
    ],
)
def test_a_kill_beside_another_denial_is_one(text: str) -> None:
    assert killed(text)


def test_a_process_that_reports_its_own_silence_was_busy() -> None:
    report = pipeline.explain(SILENT.format(0) + "\nall state is pinned then, no oom-killer line in dmesg\n")
    assert "no out-of-memory message" in report.verdict.lower()
    assert "too busy" in report.verdict
    first, second = report.findings[0].remedies
    assert "heartbeat_timeout_seconds" in (first.code or "") and "task 0" in second.text


def test_of_another_process_that_was_silent_its_own_log_tells() -> None:
    report = pipeline.explain(SILENT.format(11) + "\nFatal Python error: Aborted\n\nIs it out of memory?\n")
    assert "task 11" in report.verdict and "very service" not in report.verdict
    assert "log" in report.findings[0].remedies[0].text


def test_a_silence_after_a_failure_is_no_finding() -> None:
    killed_by = "Out of memory: Kill process 8123 (python3) score 891"
    assert "heartbeat" not in pipeline.explain(f"{killed_by}\n{SILENT.format(3)}\n").verdict


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Is it out of memory?", False),
        ("It works for n=100. Out of memory?", False),
        ("Could this be an OOM?", False),
        ("Am I running out of memory?", False),
        ("Why is it out of memory?", True),
        ("Is it normal that it runs out of memory with 8 GB?", True),
        ("It ran out of memory. Is it out of memory for good?", True),
        ("Out of memory", True),
    ],
)
def test_a_question_whether_memory_ran_out_tells_no_failure(text: str, told: bool) -> None:
    shown = oom_log.read_lines([(1, text)]).surroundings.shows("running short")
    assert bool(shown) is told


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("The GPU is full. Can I make it use the machine's memory as well?", False),
        ("How can I use system memory when the HBM is full?", False),
        ("I want it to spill to host memory.", False),
        ("It fills the machine's memory. Can I use a GPU?", True),
        ("The host RAM fills up when I use a generator.", True),
        ("Can it be that the system memory grows?", True),
    ],
)
def test_a_wish_for_the_host_s_ram_says_not_that_it_is_full(text: str, host: bool) -> None:
    assert bool(oom_log.read_lines([(1, text)]).surroundings.shows("host RAM in words")) is host


@pytest.mark.parametrize(
    ("text", "device"),
    [
        ("It is out of memory with 91G of RAM free: an error about hbm and that 16 GB are exceeded", True),
        ("OOM although my RAM is 64 GB; it runs out of HBM", True),
        ("HBM is fine, but the host RAM runs out of memory", False),
    ],
)
def test_a_tpu_s_own_memory_is_the_full_one_where_it_is_named(text: str, device: bool) -> None:
    verdict = pipeline.explain(f"I train with torch_xla on a TPU.\n{text}\n").verdict
    assert ("a device's memory" in verdict) is device
    assert ("host RAM" in verdict) is not device


@pytest.mark.parametrize(
    "text",
    [
        "\u5df2\u6740\u6b7b",
        "train.sh: \u884c 4: 71220 \u5df2\u6740\u6b7b               python train.py",
        "Get\xf6tet",
        "Tu\xe9",
        "\u7a0b\u5e8f\u88abkilled",
        "\u8fdb\u7a0b\u88ab\u7cfb\u7edf\u6740\u6b7b\u4e86",
        "el proceso es matado sin aviso",
        "o script foi morto",
        "der Prozess wird einfach gekillt",
        "le processus est tu\xe9",
        "\u043f\u0440\u043e\u0446\u0435\u0441\u0441 \u0443\u0431\u0438\u0432\u0430\u0435\u0442\u0441\u044f",
        "\u5b66\u7fd2\u4e2d\u306bkill\u3055\u308c\u307e\u3059",
    ],
)
def test_a_kill_is_one_in_other_languages(text: str) -> None:
    assert killed(text)
    assert "killed" in pipeline.explain(f"Using TensorFlow backend.\n{text}\n").verdict


@pytest.mark.parametrize(
    "text",
    [
        "the word Tu\xe9 stands in a sentence of its own language",
        "Morto is the name of our model",
        "\u88ab\u5206\u914d\u7684\u5f20\u91cf",
        "el proceso es lento",
        "der Prozess wird gestartet",
    ],
)
def test_other_words_of_these_languages_are_no_kill(text: str) -> None:
    assert not killed(text)
