"""OOM sentences that an editor broke between words, and that end in a quote."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        (
            "Saw `ResourceExhaustedError: OOM when allocating tensor with\nshape[64,2048]` with 22.5 GB.",
            None,
        ),
        (
            "ResourceExhaustedError: OOM when allocating tensor with\nshape[64,2048] and type float\n",
            "float32",
        ),
        ("it says `OOM when allocating tensor with\nshape[64,2048] and type half`, whatever I do", "float16"),
        (
            "OOM when allocating tensor with\nshape[64,2048] and type float\non /job:localhost/replica:0/"
            "task:0/device:GPU:0 by allocator GPU_0_bfc\n",
            "float32",
        ),
    ],
)
def test_a_sentence_that_is_broken_before_its_shape(text: str, dtype: str | None) -> None:
    (moment,) = pipeline.explain(text + "\n").case.moments
    assert moment.request is not None
    failed = moment.request.failed
    assert failed.shape == (64, 2048)
    assert failed.dtype == dtype
    assert (failed.device is not None) is ("/job" in text)
