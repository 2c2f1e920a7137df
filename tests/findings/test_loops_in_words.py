"""A gradient through a loop of the graph, which the text names beside memory."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

_HEAD = (
    "2018-02-03 10:11:12.000000: W tensorflow/core/common_runtime/bfc_allocator.cc:273] Allocator (GPU_0_bfc)"
    " ran out of memory trying to allocate 80.00MiB.  Current allocation summary follows.\n"
)
_STATS = (
    "I tensorflow/core/common_runtime/bfc_allocator.cc:702] Stats:\n"
    "Limit:                 8000000000\nInUse:                 7900000000\n"
    "MaxInUse:              7950000000\nNumAllocs:                     512\n"
    "MaxAllocSize:          1000000000\n"
)
_WHAT = "every turn of a loop of the graph"


@pytest.mark.parametrize("log", [_HEAD, _STATS])
@pytest.mark.parametrize(
    ("title", "known"),
    [
        ("# The gradient of my tf.while_loop takes all memory", True),
        ("# dynamic_rnn: OOM once the backward pass begins", True),
        ("# The gradient of my network takes all memory", False),
        ("# My tf.while_loop takes all memory", False),
        ("# How do I take a gradient in a while_loop?", False),
    ],
)
def test_a_loop_whose_gradient_is_named_beside_memory(log: str, title: str, known: bool) -> None:
    text = f"{title}\n\n{log}"
    assert (_WHAT in explained(text).verdict) is known
    assert (offered(text)[0] == "truncate") is known


def test_a_failure_with_a_name_needs_no_words() -> None:
    text = (
        "# The gradient of my tf.while_loop takes all memory\n\n"
        "OOM when allocating tensor with shape[64,256,56,56] and type float\n"
        "\t [[Node: conv2/Conv2D = Conv2D[T=DT_FLOAT](conv1/Relu, conv2/kernel/read)]]\n"
    )
    assert _WHAT not in explained(text).verdict
