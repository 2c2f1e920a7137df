"""Memory that is given tells of no growth; calls that ran out of time, and kernels out of their addresses."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first

LAMBDA = (
    "REPORT RequestId: 1f2e Duration: 20009.43 ms Memory Size: {1} MB Max Memory Used: {0} MB\n"
    "2022-02-16T01:48:40.456Z 1f2e Task timed out after 20.01 seconds\n"
)


@pytest.mark.parametrize(
    "words",
    [
        "I tried increasing memory to 10GB.",
        "We also increased the memory to 4 GB.",
        "Even after increasing memory of the function to 8 GB it is the same.",
    ],
)
def test_memory_that_somebody_gives(words: str) -> None:
    assert "memory grows" not in explained(f"import tensorflow as tf\n{words}\n").verdict


@pytest.mark.parametrize(
    "words",
    [
        "I see increasing memory with each epoch, up to 10 GB.",
        "Calling predict in a loop increases memory usage. I increased the memory to 32 GB.",
    ],
)
def test_memory_that_grows_all_the_same(words: str) -> None:
    assert "memory grows" in explained(f"import tensorflow as tf\n{words}\n").verdict


def test_a_call_that_ran_out_of_time_took_little() -> None:
    text = f"const tf = require('@tensorflow/tfjs');\n{LAMBDA.format(131, 5120)}"
    assert (
        "limit of time, and was ended for that; it took 131 of 5,120 MB (line 2)" in explained(text).verdict
    )
    assert "native backend" in first(text)
    assert "native backend" not in first(f"import tensorflow as tf\n{LAMBDA.format(131, 5120)}")


def test_a_call_that_took_all_of_its_memory() -> None:
    assert "No lack of memory" not in explained(LAMBDA.format(256, 256)).verdict


ENDED = "RuntimeError: Internal: Failed to load in-memory CUBIN: CUDA_ERROR_{0}: it was met\n"


def test_an_address_out_of_bounds_is_looked_for_in_releases_first() -> None:
    assert "other releases first" in first(f"import jax\n{ENDED.format('ILLEGAL_ADDRESS')}")
    assert "other releases" not in first(f"import jax\n{ENDED.format('ECC_UNCORRECTABLE')}")


def test_a_cloud_function_is_not_told_to_install_cuda() -> None:
    text = (
        "2022-01-02 03:04:05.060708: W tensorflow/stream_executor/platform/default/dso_loader.cc:60]"
        " Could not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open it\n"
        "2022-01-02 03:04:06.070809: W tensorflow/core/framework/cpu_allocator_impl.cc:80] Allocation of"
        " 48000000 exceeds 10% of free system memory.\n{}"
    )
    ended = "END RequestId: 7c1\nREPORT RequestId: 7c1 Memory Size: 256 MB Max Memory Used: 256 MB\n"
    told = [explained(text.format(each)).actions for each in ("", ended)]
    assert [any("install CUDA" in each.remedy.text for each in actions) for actions in told] == [True, False]


def test_a_call_that_used_all_is_not_said_to_be_killed() -> None:
    account = "REPORT RequestId: 3b Duration: 901.00 ms Memory Size: 512 MB Max Memory Used: 512 MB\n"
    alone = explained(f"import tensorflow as tf\n{account}")
    assert "used all of the memory that it may use" in alone.verdict
    assert "does not say that it was killed" in alone.verdict
    assert "aws lambda" in (alone.actions[0].remedy.code or "")
    assert "read-the-kernel-log" not in [each.remedy.slug for each in alone.actions]
    killed = explained(f"{account}RequestId: 3b Error: Runtime exited with error: signal: killed\n")
    assert killed.verdict.startswith("Host RAM (not GPU memory) ran out")


ENDED_BY_TIME = "slurmstepd: error: *** JOB 88 ON n2 CANCELLED AT 2022-03-04T05:06:07 DUE TO TIME LIMIT ***\n"


@pytest.mark.parametrize(
    ("text", "of_memory"),
    [
        (f"{ENDED_BY_TIME}srun: error: n2: task 0: Killed\n", False),
        (f"RAM was full long before, it swapped\n{ENDED_BY_TIME}srun: error: n2: task 0: Killed\n", True),
        ("When a worker is killed (SIGKILL) to simulate a loss, tensorflow hangs.\n", False),
        ("The tensorflow worker was ended (SIGKILL) as RAM was full.\n", True),
        ("# Training process killed by user\nImport tensorflow took a minute.\n", False),
        ("# Training process killed by system\nImport tensorflow took a minute.\n", True),
    ],
)
def test_an_end_whose_reason_is_told_is_none_of_memory(text: str, of_memory: bool) -> None:
    verdict = explained(text).verdict
    assert ("killed" in verdict or "host RAM" in verdict or "RAM" in verdict) is of_memory
