"""The joint network of a transducer grows with the sound and with its transcript."""

from __future__ import annotations

import pytest

from tests.findings.logs import dump, oom
from tests.findings.pages import explained, offered

_BAR = "[Train] [Epoch 1/8] | 640/9000 [08:20<1:48:00,  1.29batch/s, transducer_loss=88.1]\n"
_NODE = "gradient_tape/conformer/conformer_joint/conformer_joint_vocab/Tensordot/MatMul/MatMul"


def test_a_joint_network_after_many_steps_met_a_longer_sample() -> None:
    report = explained(_BAR + oom("4,800,300,1024", _NODE))
    assert "640 steps went well" in report.verdict and "longer than those before" in report.verdict
    assert offered(_BAR + oom("4,800,300,1024", _NODE))[0] == "truncate-inputs"


def test_at_its_first_step_nothing_is_said_of_steps() -> None:
    report = explained(oom("4,800,300,1024", "streaming_transducer/transducer_joint/vocab/BiasAdd"))
    assert "the joint network of a transducer" in report.verdict and "steps went well" not in report.verdict


@pytest.mark.parametrize(
    "node",
    [
        "conformer/conformer_encoder/block_3/joint_norm/add",  # no joint network
        "pose/joint/conv/Relu",  # joints of a body
        f"{_NODE}_1",  # a kernel's
    ],
)
def test_others_are_not(node: str) -> None:
    assert "the joint network" not in explained(_BAR + oom("4,800,300,1024", node)).verdict


def test_bytes_alone_suffice() -> None:
    head = dump(4000, 16000, 13000, op=_NODE).partition("BFCAllocator")[0]
    assert "the joint network" in explained(head).verdict
