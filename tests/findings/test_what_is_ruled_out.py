"""What the text rules out or shows already: a batch that failed, a pasted table, a limit below the card."""

from __future__ import annotations

import pytest

from tests.findings.logs import MIB, oom
from tests.findings.test_what_is_no_batch import explained, slugs
from tfmemlens.readers.oom import switches

TABLE = (
    "| NVIDIA-SMI 470.57.02    Driver Version: 470.57.02    CUDA Version: 11.4     |\n"
    "|-------------------------------+----------------------+----------------------+\n"
    "|   0  Tesla P100-PCIE...  On   | 00000000:3B:00.0 Off |                    0 |\n"
    "| N/A   61C    P0   181W / 250W |  16008MiB / 16280MiB |     97%      Default |\n"
    "|   1  Tesla P100-PCIE...  On   | 00000000:AF:00.0 Off |                    0 |\n"
    "| N/A   30C    P0    32W / 250W |  {used:>5}MiB / 16280MiB |      0%      Default |\n"
    "+-----------------------------------------------------------------------------+\n"
    "| Processes:                                                                  |\n"
    "|  GPU   GI   CI        PID   Type   Process name                  GPU Memory |\n"
    "|=============================================================================|\n"
    "|    0   N/A  N/A     20117      C   python3 relax.py                14879MiB |\n"
    "|    0   N/A  N/A     41802      C   python train.py                  1125MiB |\n"
)
MADE = (
    "Created device /job:localhost/replica:0/task:0/device:GPU:0 with 822 MB memory:  -> device: 0, name:"
    " Tesla P100-PCIE-16GB, pci bus id: 0000:3b:00.0, compute capability: 6.0\n"
)


def test_the_empty_gpu_of_a_pasted_table_is_named_first() -> None:
    report = explained(MADE + oom("64,2048,1024") + TABLE.format(used=305))
    first = report.actions[0].remedy
    assert (first.slug, first.code) == ("another-gpu", "export CUDA_VISIBLE_DEVICES=1")
    assert "see-device-users" not in [action.remedy.slug for action in report.actions]


def test_a_table_without_an_empty_gpu_sends_nobody_to_another() -> None:
    assert "another-gpu" not in slugs(MADE + oom("64,2048,1024") + TABLE.format(used=12000))


def stats(limit: int) -> str:
    rows = {"Limit": limit, "InUse": limit - 9 * MIB, "MaxInUse": limit, "NumAllocs": 12, "MaxAllocSize": MIB}
    return "Stats: \n" + "".join(f"{name + ':':<16}{value:>22}\n" for name, value in rows.items())


@pytest.mark.parametrize(
    ("said", "limit", "found"),
    [
        ("TF 2.10 on my RTX 3090 24 GB", 2048 * MIB, True),
        ("TF 2.10 on my RTX 3090 24 GB", 2048 * MIB - 64 * 1024, False),  # what is left of a device
        ("TF 2.10 on my RTX 3090 24 GB", 20480 * MIB, False),
        ("TF 2.10", 2048 * MIB, False),
    ],
)
def test_a_round_limit_far_below_the_card_is_the_programs_own(said: str, limit: int, found: bool) -> None:
    report = explained(f"{said}\n\n{stats(limit)}")
    assert ("limit-of-your-own" in [finding.rule for finding in report.findings]) is found
    assert not found or "memory_limit=2048" in report.actions[0].remedy.text


@pytest.mark.parametrize(
    ("said", "advised"),
    [
        ("tried train_batch_size=6 and 4 too, same error", "4 -> 2"),
        ("--batch 4 fails too", "4 -> 2"),
        ("batch 12 died, I also tried batch size 8 and 4 with the same error", "4 -> 2"),
        ("", "12 -> 6"),
    ],
)
def test_no_batch_is_advised_that_failed(said: str, advised: str) -> None:
    text = f"python run.py --train_batch_size=12\nmodel.fit(x)\n{oom('12,64,112,112')}{said}\n"
    report = explained(text)
    batch = next(action.remedy for action in report.actions if action.remedy.change == "smaller-batch")
    assert advised in batch.text


@pytest.mark.parametrize("said", ["a batch of 4 runs, 12 fails too", "batch 4 fits", "epoch 4 died too"])
def test_a_batch_that_runs_did_not_fail(said: str) -> None:
    assert dict(switches.settings(said)).get("failed_batch") in (None, "12")


@pytest.mark.parametrize(("card", "offered"), [("RTX 2080", True), ("GTX 1080", False), ("Tesla P4", False)])
def test_mixed_precision_is_for_gpus_with_tensor_cores(card: str, offered: bool) -> None:
    text = f"TF 2.9 on a {card}\nmodel.fit(x)\n{oom('64,64,256,256', 'model/conv2d/Conv2D')}"
    assert ("mixed-precision" in [action.remedy.change for action in explained(text).actions]) is offered
