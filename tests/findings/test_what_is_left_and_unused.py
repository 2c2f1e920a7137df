"""Programs that were stopped or ended and still hold a GPU, GPUs that nobody uses, apps that end at once."""

from __future__ import annotations

import pytest

from tests.findings import pages
from tfmemlens.model.report import Report


def explained(text: str) -> Report:
    return pages.explained(f"{text}\n")


def offered(text: str) -> list[str]:
    return pages.offered(f"{text}\n")


def first(text: str) -> str:
    return pages.first(f"{text}\n")


@pytest.mark.parametrize(
    "words",
    [
        "When I hit ctrl + c the tensorflow script does not end, htop shows a zombie process.",
        "GPU memory is still occupied after I killed the tensorflow training.",
        "After I interrupted tensorflow with ctrl+c the memory of the GPU is not released.",
    ],
)
def test_a_process_that_is_left_holds_the_gpu(words: str) -> None:
    assert explained(words).findings[0].rule == "process-left-behind"
    assert offered(words)[:2] == ["end-what-is-left", "reload-the-driver"]


@pytest.mark.parametrize(
    "words",
    [
        "After I killed the tensorflow training the GPU is free.",
        "The tensorflow training is killed since host RAM is full.",
        "GPU memory grows until tensorflow is killed, a zombie stays.",
    ],
)
def test_what_leaves_no_process_behind(words: str) -> None:
    assert not any(finding.rule == "process-left-behind" for finding in explained(words).findings)


ASKED = "tensorflow: failed to allocate 157.88M (165543936 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY"


def test_a_program_that_is_suspended_keeps_the_gpu() -> None:
    text = f"I suspend the training with Ctrl+z to run the evaluation.\n{ASKED}"
    assert "most likely the program that is suspended (line 1)" in explained(text).findings[0].headline
    assert offered(text)[0] == "end-the-suspended"
    assert "end-the-suspended" not in offered(f"I end the training to run the evaluation.\n{ASKED}")


def test_a_session_of_cpp_has_to_be_deleted() -> None:
    loop = (
        "In this loop tensorflow leaks CPU memory:\n```\nNewSession(SessionOptions(), &s);\ns->Close();\n```"
    )
    assert "delete session" in first(loop)
    kept = "tensorflow does not give the memory of the GPU back.\n```\nNewSession(SessionOptions(), &s);\n```"
    assert "set_allow_growth(true)" in first(kept)


def test_a_gpu_that_is_unused_is_looked_for() -> None:
    text = "In my tensorflow training no sign that the GPU works, GPU memory is 94MiB / 7951MiB."
    assert "most likely runs on the CPU" in explained(text).findings[0].headline
    grows = f"{text}\nconfig.gpu_options.allow_growth = True"
    assert "takes only what it needs" in explained(grows).findings[0].headline
    assert offered(text) == ["check-the-device"]


@pytest.mark.parametrize(
    "words",
    [
        "The GPU is idle since tensorflow ran out of memory.",
        "tensorflow: only one of four GPUs is used, the GPU memory of the others is empty.",
    ],
)
def test_a_gpu_that_is_idle_beside_a_failure_is_another_matter(words: str) -> None:
    headlines = [finding.headline for finding in explained(words).findings]
    assert not any("said to be unused" in headline for headline in headlines)


APP = "An Android app with tensorflow lite, the weights have 200 MB.\nIt ends without an error {0}."


def test_an_app_that_ends_while_it_loads_has_too_little_ram() -> None:
    found = explained(APP.format("while the model loads")).findings[0]
    assert found.rule == "memory-of-an-app" and "200 MB of weights are 50 MB in 8 bits" in found.headline
    other = explained(APP.format("after an hour")).findings
    assert not any(finding.rule == "memory-of-an-app" for finding in other)


def test_what_is_killed_now_and_then_depends_on_what_else_runs() -> None:
    text = "rasa with tensorflow gets killed sometimes, I have 4GB of RAM, the same data train again fine."
    assert "what else takes RAM at those times" in explained(text).findings[0].headline
    always = "rasa with tensorflow gets killed, I have 4GB of RAM."
    assert "what else takes RAM" not in explained(always).findings[0].headline


def test_a_board_that_goes_dark_has_too_little_power() -> None:
    text = "On a Jetson Nano tensorflow runs, then the Jetson crashes with a black screen."
    assert "nvpmodel" in first(text)
    assert "nvidia-smi -pl" in first("tensorflow runs, then the PC powers off.")


def test_what_its_writer_does_not_want_is_no_end() -> None:
    fixed = "It runs out of RAM with jax.\nThe only thing that helped is more memory for my job"
    assert "what-ended-it" in offered(f"{fixed}.")
    assert "what-ended-it" not in offered(f"{fixed}, which isn't ideal.")


def test_a_copy_that_is_made_once_is_no_growth() -> None:
    text = "Before and after this line of jax I look at memory: it goes up by about 0.4GB."
    assert explained(text).findings[0].rule == "what-tools-show"
    assert explained("After each step of jax memory goes up by about 0.4GB.").findings[0].rule != (
        "what-tools-show"
    )
