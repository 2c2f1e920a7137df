"""The message that a text holds decides, whatever its title or its words are about."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered

FRAMES = (
    'Traceback (most recent call last):\n  File "/home/u/predict.py", line 20, in main\n'
    '    out = run(x)\n  File "/home/u/net.py", line 31, in run\n    result = self.apply(x)\n'
)
OF_XLA = "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: "


@pytest.mark.parametrize(
    "ending",
    [
        "the function failed to launch on the GPU",
        "Failed to launch CUDA kernel: fusion_3 with block dimensions: 256x1x1",
        "Failed to launch ROCm kernel: fusion_3 with block dimensions: 256x1x1",
    ],
)
def test_a_kernel_that_was_not_started_is_no_out_of_memory_message(ending: str) -> None:
    page = explained(f"# Out of memory at 5000 tokens. System RAM: 512 GB\n{FRAMES}{OF_XLA}{ending}\n")
    assert page.verdict.startswith("No out-of-memory message: a kernel could not be started on the GPU")
    assert "a traceback leads to predict.py:20 in `main`, and to net.py:31" in page.verdict
    of_xla = "CUDA kernel: fusion_3" in ending
    helps = "newer-release" if of_xla else "blocking-launches"  # no code of the program's is in a fusion
    assert [action.remedy.slug for action in page.actions] == [helps]


def test_a_launch_that_found_no_memory_is_one() -> None:
    text = f"{FRAMES}{OF_XLA}Failed to launch CUDA kernel: f_1: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
    assert "driver" in explained(text).verdict


@pytest.mark.parametrize("told", ["I use unified memory.", "export TF_FORCE_UNIFIED_MEMORY=1"])
def test_a_part_above_one_is_meant_with_unified_memory(told: str) -> None:
    of_the_part = (
        f"export XLA_PYTHON_CLIENT_MEM_FRACTION=3.2\n{FRAMES}{OF_XLA}the function failed to launch\n"
    )
    assert "smaller-part" in offered(of_the_part)
    assert "smaller-part" not in offered(f"{told}\n{of_the_part}")


def test_an_error_of_another_kind_is_quoted_beside_words_of_memory() -> None:
    error = "XlaRuntimeError: INVALID_ARGUMENT: Executable expected parameter 0 of size 16 but got size 32"
    text = f"# Out of memory with a 7B model\n{FRAMES}{error}\n"
    assert f"the error that is quoted is another, `{error}` (line 7)" in explained(text).verdict
    assert first(text).startswith("first mend what this error says")


@pytest.mark.parametrize(
    "error",
    [
        "RuntimeError: DataLoader worker (pid 17) is killed by signal: Killed.",
        "ValueError: not enough memory for the table",
        "RuntimeError:",
    ],
)
def test_an_error_that_may_be_of_memory_is_no_other(error: str) -> None:
    assert "is another" not in explained(f"# Out of memory with a 7B model\n{FRAMES}{error}\n").verdict


def test_the_last_frame_is_the_place_of_a_kernel_and_an_evaluation_above_it_is_told() -> None:
    failed = f"{FRAMES}{OF_XLA}the function failed to launch on the GPU\n"
    verdict = explained(failed).verdict
    assert "net.py:31 in `run`" in verdict
    assert "called in an evaluation" not in verdict
    evaluated = failed.replace("in main", "in evaluate")
    verdict = explained(evaluated).verdict
    assert "net.py:31 in `run` (line 4), called in an evaluation, `evaluate`" in verdict
