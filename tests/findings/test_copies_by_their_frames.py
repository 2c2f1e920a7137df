"""An array that Keras copies whole, by an op whose name was cut and by the frames of its adapter."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

_COPY = (
    "# InternalError: Failed copying input tensor from /job:localhost/replica:0/task:0/device:CPU:0 to"
    " /job:localhost/replica:0/task:0/device:GPU:0 in order to run {}\n"
)
_FRAMES = """
Traceback (most recent call last):
  File "fit.py", line 9, in <module>
    net.fit(waves, marks, batch_size=16)
  File "/v/site-packages/keras/engine/data_adapter.py", line 230, in __init__
    x, y, sample_weights = {}((x, y, sample_weights))
"""


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (_COPY.format("_Ea"), True),
        (_COPY.format("_EagerConst"), True),
        (_COPY.format("_"), False),
        (_COPY.format("Ea"), False),
        (_COPY.format("_Ea: Dst tensor is not initialized."), False),
        (_COPY.format("Cast") + _FRAMES.format("_process_tensorlike"), True),
        (_COPY.format("Cast") + _FRAMES.format("standardize"), False),
    ],
    ids=str,
)
def test_a_copy_of_an_array_is_known_by_its_start_and_its_frames(text: str, whole: bool) -> None:
    assert ("most likely a whole array" in explained(text).verdict) is whole
    assert ("one-batch-at-a-time" in offered(text)) is whole
