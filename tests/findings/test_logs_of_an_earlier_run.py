"""A message of a larger batch than the quoted program makes is, most likely, of a run before it."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

CODE = (
    "def main():\n"
    "    train = tf.data.TFRecordDataset('train.tfrecord').map(parse).shuffle(500).batch({batch})\n"
    "    opt = tf.keras.optimizers.Adam(1e-4)\n"
    "    for images, labels in train:\n"
    "{line}"
    "        with tf.GradientTape() as tape:\n"
    "            loss = loss_of(net(images), labels)\n"
    "        opt.apply_gradients(zip(tape.gradient(loss, net.variables), net.variables))\n"
    "\n"
    "2020-03-01 11:00:00.100000: W tensorflow/core/framework/op_kernel.cc:1655] OP_REQUIRES failed at"
    " conv_ops.cc:501 : Resource exhausted: OOM when allocating tensor with shape{shape} and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
    "ResourceExhaustedError: OOM when allocating tensor with shape{shape} and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:{op}]\n"
)
EARLIER = "most likely the log is of an earlier run"


def told(batch: int = 24, shape: str = "[96,64,64,128]", op: str = "Conv2D", line: str = "") -> list[str]:
    report = pipeline.explain(CODE.format(batch=batch, shape=shape, op=op, line=line))
    return [action.remedy.text for action in report.actions]


@pytest.mark.parametrize("op", ["Conv2D", "Conv2DBackpropInput", "MaxPool"])
def test_the_programs_batch_is_to_be_run_first(op: str) -> None:
    first = told(op=op)[0]
    assert EARLIER in first
    assert first.startswith("run it with the batch of 24 that line 2 makes")
    assert "go on to 12" in first


@pytest.mark.parametrize(
    ("shape", "op", "line"),
    [
        ("[24,64,64,128]", "Conv2D", ""),  # this batch
        ("[100,64,64,128]", "Conv2D", ""),  # no multiple
        ("[2400,14,14,128]", "Conv2D", ""),  # a hundred of each: pieces of the images
        ("[96,64,64,128]", "AddV2", ""),  # an array whose first side may be anything
        ("[96,3,3,512]", "Conv2D", ""),  # a kernel, its channels first
        ("[96,4096]", "MatMul", ""),
        ("[96,64,64,128]", "Conv2D", "        images = tf.reshape(images, [-1, 64, 64, 3])\n"),
        ("[96,64,64,128]", "Conv2D", "        images = rotations(images, 4)\n"),
        ("[96,64,64,128]", "Conv2D", "        scores = net.predict(held_out)\n"),
    ],
)
def test_what_may_hold_several_of_each_sample_is_not(shape: str, op: str, line: str) -> None:
    assert not any(EARLIER in text for text in told(shape=shape, op=op, line=line))
