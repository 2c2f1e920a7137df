"""A batch that the text says was lowered, and calls that evaluate."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered
from tfmemlens.readers.oom.switches import settings

FITS = "model.fit(x, y, batch_size={now}, epochs=10)\n# the GPU runs out of memory, batch_size {change}\n"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("# batch_size 100 -> 32", "100 to 32"),
        ("batch size: 64 => 16", "64 to 16"),
        ("batch 8\u21924\ub85c \uc218\uc815", "8 to 4"),
        ("batch_size = 32", None),
        ("epochs 100 -> 32", None),
        ("batch_size 1.5 -> 0.5", None),
    ],
)
def test_an_arrow_is_a_change(text: str, value: str | None) -> None:
    assert dict(settings(text)).get("lowered_batch") == value


@pytest.mark.parametrize(
    ("now", "change", "mended"),
    [(32, "100 -> 32", True), (100, "100 -> 32", False), (32, "of 100", False)],
)
def test_a_batch_that_is_lowered_already(now: int, change: str, mended: bool) -> None:
    told = first(FITS.format(now=now, change=change))
    assert told.startswith("see whether it is mended already: line 2 says") is mended


CALLS = """# Out of memory after one epoch with TensorFlow
Traceback (most recent call last):
  File "train.py", line 645, in main
    trainer.run()
  File "train.py", line 624, in {method}
    {call}
  File "/usr/lib/python3.7/site-packages/tensorflow/python/keras/engine/base_layer.py", line 660, in __call__
"""


@pytest.mark.parametrize(
    ("method", "call", "evaluates"),
    [
        ("run", "made = generator(real, training=False)", True),
        ("run", "made = generator(real, training=True)", False),
        ("call", "x = self.backbone(x, training=False)", False),  # a part that is not trained
    ],
)
def test_the_frame_of_a_call_that_does_not_train(method: str, call: str, evaluates: bool) -> None:
    text = CALLS.format(method=method, call=call)
    assert (", an evaluation" in explained(text).verdict) is evaluates
    assert (offered(text)[0] == "smaller-evaluation-batch") is evaluates


@pytest.mark.parametrize(("batch", "advised"), [("", True), (", batch_size=32", False)])
def test_who_evaluates_in_batches_is_not_told_to(batch: str, advised: bool) -> None:
    text = (
        "import tensorflow as tf\nmodel.fit(x, y, batch_size=8)\n# evaluate\n"
        f"loss, acc = model.evaluate(x_test, y_test{batch}, verbose=True)\n"
        "# Error: If you want to see a list of allocated tensors when OOM happens, add"
        " report_tensor_allocations_upon_oom\n# -> not enough GPU memory\n"
    )
    assert ("smaller-evaluation-batch" in offered(text)) is advised


COUNTED = (
    "OOM when allocating tensor with shape[{}] and type float on /job:localhost/replica:0/task:0/device:GPU:0"
    " by allocator GPU_0_bfc\n\t [[node model_10/norm/FusedBatchNormV3 ]]\n"
)


@pytest.mark.parametrize(("shape", "batch"), [("32,1024,64,64", True), ("32,64,64,64", False)])
def test_a_large_step_of_the_eleventh_model(shape: str, batch: bool) -> None:
    told = offered(COUNTED.format(shape))
    assert told[0] == "clear-session" and ("smaller-batch" in told) is batch
