"""Ranks that must not share a GPU, where its driver had nothing left."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered
from tfmemlens.findings.support import own_gpu

REFUSED = (
    "failed to allocate 10.41G (11172973568 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
)
PIN = "config.gpu_options.visible_device_list = str(hvd.local_rank())\n"


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("mpirun -np 4 python train.py\n", "set_visible_devices"),
        ("mpirun -np 4 python train.py\nconfig = tf.ConfigProto()\n", "visible_device_list = str("),
        (f"mpirun -np 4 python train.py\nconfig = tf.ConfigProto()\n{PIN}", "without it"),
    ],
)
def test_a_driver_that_has_nothing_left_beside_ranks(before: str, said: str) -> None:
    text = f"{before}{REFUSED}"
    assert said in first(text)
    assert "several ranks" in explained(text).verdict


@pytest.mark.parametrize(
    "before",
    ["python train.py\n", "mpirun -np 4 python train.py\ntf.config.set_visible_devices(gpus[0], 'GPU')\n"],
)
def test_ranks_are_blamed_for_nothing_without_cause(before: str) -> None:
    assert "one-device-each" not in offered(f"{before}{REFUSED}")


def test_who_pins_a_session_is_not_told_to() -> None:
    case = explained(f"horovod\nimport horovod\n{PIN}{REFUSED}").case
    line = own_gpu.pinned(case)
    assert line is not None
    assert line.number == 3
    assert not own_gpu.uses_sessions(explained("mpirun -np 2 python t.py\n" + REFUSED).case)


@pytest.mark.parametrize(
    ("below", "sure"),
    [
        ("", False),
        ("\t [[{{node Reduce_7}} = HorovodAllreduce[T=DT_FLOAT](grad)]]\n", False),
        ("hvd.init()\nconfig = tf.ConfigProto()\n", True),
    ],
)
def test_that_ranks_share_a_gpu_is_likely_where_a_program_is_quoted(below: str, sure: bool) -> None:
    verdict = explained(f"mpirun -np 4 python train.py\n{REFUSED}{below}").verdict
    assert ("most likely each takes memory of the same GPU" in verdict) is sure
    assert ("see whether each takes memory of the same GPU" in verdict) is not sure
