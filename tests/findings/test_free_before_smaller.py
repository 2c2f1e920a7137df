"""What makes the same numbers without a tensor stands before a smaller batch; frames of TimeDistributed are
no batch; a comparison of pairs is no distance.
"""

from __future__ import annotations

import pytest

from tests.findings.logs import dump_by_size, oom
from tests.findings.test_what_is_no_batch import explained
from tfmemlens.model.report import Report
from tfmemlens.units import MIB

FRAME = 'Traceback (most recent call last):\n  File "net.py", line 25, in call\n    {}\n'


def failing(
    line: str, shape: str, node: str, code: str = "import tensorflow as tf", limit: int = 700
) -> Report:
    sizes = [int(side) for side in shape.split(",")]
    need = 4
    for side in sizes:
        need *= side
    full = dump_by_size(need, limit, (1, 60 * MIB))
    return explained(f"{code}\n{full}{FRAME.format(line)}{oom(shape, node)}")


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("adj = tf.tile(self.adj[None], [b, 1, 1])", "broadcast-instead"),
        ("adj = tf.linalg.band_part(x, 0, 0)", "smaller-batch"),
    ],
)
def test_a_copy_that_nobody_needs_goes_before_the_batch(line: str, first: str) -> None:
    report = failing(
        line, "16,12500,12500", "net/Tile" if "tile" in line else "net/MatrixBandPart", limit=8000
    )
    assert report.actions[0].remedy.slug == first


@pytest.mark.parametrize(
    ("line", "node", "distances"),
    [
        ("lo = tf.maximum(a[None, :, None, :2], g[:, None, :, :2])", "Maximum", False),
        ("m = tf.equal(a[:, :, None], a[:, None, :])", "Equal", False),
        ("d = a[:, :, None] - g[:, None, :]", "Sub", True),
    ],
)
def test_what_compares_makes_no_distance(line: str, node: str, distances: bool) -> None:
    report = failing(line, "16,36864,100,2", node)
    assert any("for distances" in action.remedy.text for action in report.actions) is distances


CLIPS = """\
from tensorflow.keras import layers as L, models
CLIP, H, W = 48, 112, 112
clip = L.Input(({sides}))
seq = L.TimeDistributed(encoder)(clip)
"""


@pytest.mark.parametrize(
    ("sides", "node", "batch"),
    [
        ("CLIP, H, W, 3", "time_distributed/model/max_pooling2d/MaxPool", "4 ->"),
        ("CLIP, H, W, 3", "model/max_pooling2d/MaxPool", "192 ->"),
        ("50, H, W, 3", "time_distributed/model/max_pooling2d/MaxPool", "192 ->"),
    ],
)
def test_frames_of_time_distributed_are_no_batch(sides: str, node: str, batch: str) -> None:
    text = f"{CLIPS.format(sides=sides)}{oom('192,112,112,32', node)}"
    lower = next(each.remedy for each in explained(text).actions if each.remedy.slug == "smaller-batch")
    assert batch in lower.text
