"""Shapes that could be several things: scores or feature maps, weights or activations, batches or rows."""

from __future__ import annotations

import pytest

from tests.findings.logs import GPU, oom, report
from tfmemlens import pipeline
from tfmemlens.model.report import Report


def explained(text: str) -> Report:
    return pipeline.explain(text + "\n")


def rules(text: str) -> set[str]:
    return {finding.rule for finding in explained(text).findings}


def called(code: str, layer: str, op: str, shape: str, arguments: str = "") -> str:
    """A failure in a Keras layer's call, as eager mode tells it, below the user's line."""
    return (
        f'Traceback (most recent call last):\n  File "net.py", line 40, in call\n    {code}\n'
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: Exception encountered when calling"
        f" {layer}\n\n{{{{function_node __wrapped__{op}_device_{GPU}}}}} OOM when allocating tensor with"
        f" shape[{shape}] and type float on {GPU} by allocator GPU_0_bfc [Op:{op}]\n\n{arguments}"
    )


@pytest.mark.parametrize(
    ("code", "layer", "op", "shape"),
    [
        ("x = self.up2(self.act(x))", "layer 'conv2d_38' (type Conv2D).", "Conv2D", "4,128,192,192"),
        ("y = self.block(self.attn_norm(x))", "BatchNormalization.call().", "Cast", "16,96,224,224"),
        ("x = self.pool(x)", "layer 'pool_3' (type MaxPooling2D).", "MaxPool", "32,64,128,128"),
        ("x = self.gate(x) * x", "Gate.call().", "Mul", "4,64,300,300"),
    ],
)
def test_two_equal_sides_of_an_image_are_no_scores(code: str, layer: str, op: str, shape: str) -> None:
    assert "attention-scores" not in rules(called(code, layer, op, shape))


def test_an_image_in_another_order_is_no_score() -> None:
    shown = "Arguments received by Attend.call():\n  \u2022 x=tf.Tensor(shape=(8, {}), dtype=float32)\n"
    failed = ("scores = self.act(x)", "Attend.call().", "Mul", "8,48,160,160")
    assert "attention-scores" not in rules(called(*failed, shown.format("160, 160, 48")))
    assert "attention-scores" in rules(called(*failed, shown.format("160, 48")))


@pytest.mark.parametrize(
    ("code", "layer", "op"),
    [
        ("w = tf.nn.softmax(s)", "Encoder.call().", "Softmax"),
        ("s = tf.matmul(q, k, transpose_b=True)", "Encoder.call().", "BatchMatMulV2"),
        ("attn = attn + mask", "Encoder.call().", "AddV2"),
        ("s = self.drop(s)", "layer 'self' (type TFBertSelfAttention).", "Mul"),
    ],
)
def test_scores_are_known_by_op_layer_or_code(code: str, layer: str, op: str) -> None:
    assert "attention-scores" in rules(called(code, layer, op, "8,12,1024,1024"))


def test_attention_elsewhere_in_the_net_makes_no_convolution_a_score() -> None:
    held = report("512.0MiB from unet/mid/attn/Softmax")
    assert "attention-scores" not in rules(oom("8,320,64,64", "unet/down_2/Conv2D") + held)
    assert "attention-scores" in rules(oom("8,320,64,64", "unet/down_2/mul") + held)
