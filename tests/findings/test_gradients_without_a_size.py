"""A message without shape or size whose op is the gradient of a Dense layer's product."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

_TEXT = """\
Epoch 1/40
ResourceExhaustedError: Graph execution error:

Detected at node '{node}' defined at (most recent call last):
    File "/usr/lib/python3.10/runpy.py", line 196, in _run_module_as_main
"""


def _text(node: str) -> str:
    return _TEXT.format(node=node)


def test_the_gradient_of_an_input_or_of_a_first_kernel() -> None:
    text = _text("gradient_tape/net/wide/MatMul/MatMul")
    assert "where this is the model's first layer" in explained(text).verdict
    assert offered(text) == ["narrower-layer", "smaller-batch", "read-the-log"]
    assert "`wide`" in explained(text).actions[0].remedy.text


def test_the_gradient_of_a_kernel_is_no_matter_of_a_batch() -> None:
    text = _text("gradient_tape/net/wide/MatMul/MatMul_1")
    assert "the gradient of this layer's kernel" in explained(text).verdict
    assert offered(text) == ["narrower-layer", "read-the-log"]


@pytest.mark.parametrize(
    "node",
    [
        "net/wide/MatMul",
        "gradient_tape/net/lstm/while/lstm_cell/MatMul/MatMul",
        "gradient_tape/net/attention/MatMul/MatMul",
        "gradient_tape/net/wide/Tensordot/MatMul/MatMul",
        "gradient_tape/net/wide/Conv2D/Conv2DBackpropInput",
    ],
)
def test_other_products_are_not_read_so(node: str) -> None:
    assert "narrower-layer" not in offered(_text(node))
