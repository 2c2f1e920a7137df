"""Which TensorFlow a path betrays: each pattern with both of its ends."""

from __future__ import annotations

import pytest

from tfmemlens.readers.bytes.texts import encoding_of
from tfmemlens.readers.oom.eras import era_of
from tfmemlens.readers.oom.rules import FIRST, LAST, Era


@pytest.mark.parametrize(
    ("path", "era"),
    [
        ("x/tensorflow_core/python/ops.py", ((1, 15), (2, 1))),
        ("x/tensorflow/contrib/layers.py", (FIRST, (1, 15))),
        ("x/keras/src/engine/training.py", ((2, 13), LAST)),
        ("x/keras/utils/traceback_utils.py", ((2, 7), LAST)),
        ("tensorflow/tsl/framework/bfc_allocator.cc", ((2, 11), (2, 13))),
        ("external/local_tsl/tsl/framework/bfc_allocator.cc", ((2, 14), LAST)),
        ("lib/python2.7/x.py", (FIRST, (2, 1))),
        ("lib/python3.4/x.py", (FIRST, (2, 1))),
        ("lib/python3.5/x.py", (FIRST, (2, 3))),
        ("lib/python3.6/x.py", (FIRST, (2, 6))),
        ("lib/python3.7/x.py", ((1, 13), (2, 11))),
        ("lib/python3.8/x.py", ((1, 15), (2, 13))),
        ("lib/python3.9/x.py", ((2, 5), LAST)),
        ("lib/python3.10/x.py", ((2, 8), LAST)),
        ("lib/python3.11/x.py", ((2, 12), LAST)),
        ("lib/python3.12/x.py", ((2, 16), LAST)),
        ("train.py", (FIRST, LAST)),
        ("lib/python3.7/site-packages/tensorflow_core/x.py", ((1, 15), (2, 1))),
    ],
)
def test_a_path_tells_oldest_and_newest(path: str, era: Era) -> None:
    assert era_of(path) == era


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        (b"\xff\xfeO\0", "utf-16"),
        ("OOM w".encode("utf-16-le"), "utf-16-le"),
        ("OOM w".encode("utf-16-be"), "utf-16-be"),
        ("OOM ".encode("utf-16-le"), "utf-8-sig"),  # eight bytes are too few to tell
        ("OOM ".encode("utf-16-be"), "utf-8-sig"),
        (b"OOM when allocating", "utf-8-sig"),
        (b"\0" * 20, "utf-8-sig"),
    ],
)
def test_zeros_in_every_other_place_tell_the_encoding(head: bytes, encoding: str) -> None:
    assert encoding_of(head) == encoding
