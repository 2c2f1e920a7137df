"""A tensor of a weight's shape is no output of a layer, whatever batch its first dimension would be."""

from __future__ import annotations

import pytest

from tests.findings.logs import dump, oom
from tests.findings.test_what_is_no_batch import explained

NET = """
from tensorflow import keras
from tensorflow.keras import layers
net = keras.Sequential([
    layers.Input((64, 64, 3)),
    layers.Conv2D(8, 3, padding='same', name='early'),
    layers.Flatten(),
    layers.Dense(512, name='wide'),
])
net.compile('adam', 'mse')
net.fit(x, y{batch})
"""


def outputs_are_told(shape: str, batch: str = "") -> bool:
    text = oom(shape, "net/wide/MatMul") + "\n" + NET.format(batch=batch)
    return any(each.rule == "outputs-of-the-program" for each in explained(text).findings)


@pytest.mark.parametrize("shape", ["32768,512", "512,32768"])
def test_the_kernel_is_no_output_at_a_batch_of_its_rows(shape: str) -> None:
    assert not outputs_are_told(shape)


@pytest.mark.parametrize(
    ("batch", "told"),
    [("", True), (", batch_size=8192", True), (", batch_size=2048", True), (", batch_size=64", False)],
)
def test_no_batch_is_far_larger_than_the_stated_one(batch: str, told: bool) -> None:
    assert outputs_are_told("8192,512", batch) is told


RESIZED = """
from tensorflow import keras
from tensorflow.keras import layers
net = keras.Sequential([
    layers.Input((64, 64, 1)),
    layers.Resizing(896, 896, name='up'),
    layers.Conv2D(8, 7, strides=4, padding='same', name='stem'),
])
net.compile('adam', 'mse')
net.fit(x, y, batch_size=64)
"""


@pytest.mark.parametrize(("chunk", "named"), [(196, True), (230, True), (190, False)])
def test_one_large_block_is_the_layer_whose_output_has_its_size(chunk: int, named: bool) -> None:
    """[64,896,896,1] takes 196 MiB; a block of 230 may hold it, one of 190 may not."""
    failed = oom("64,224,224,8", "sequential/stem/Conv2D")
    report = explained(f"{dump(98, 300, chunk)}{failed}\n{RESIZED}")
    told = " ".join(each.headline for each in report.findings)
    assert ("most likely what `up` (line" in told) is named
    assert ("[64,896,896,1], 196.00 MiB" in told) is named
