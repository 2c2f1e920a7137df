"""What makes two failures the same to a person.

A signature is a readable head and a short hash of the same facts: the framework, the kind of request, the
first finding's rule, the layer (where there is none the node, then the op) with its numbers folded, the shape
without its first dimension, and the class of the limit. So it is the same over ranks, retries, steps and
batch sizes, and another one for another layer, another image size or another kind of device.

    layout-optimizer-copies unet_#/conv2d [?,720,1280,64] 12GiB tensorflow-5f0c1a9e
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex

_GIB = 1 << 30
_DEVICES = (1, 2, 3, 4, 6, 8, 11, 12, 16, 24, 32, 40, 48, 64, 80, 96, 144, 192, 256)
"""Sizes in GiB that devices have: frameworks may use a little less of them, each process another bit."""
_NUMBERED = regex(r"_\d+(?=/|\Z)")
"""What Keras and TensorFlow add to a name that is taken: `conv2d_7`."""
_NUMBER = regex(r"(?<!\d)\d+(?!\d|[dD](?![a-z]))")
"""Any other number, but not that of `conv2d`."""
_LENGTH = 60


def signature(
    *,
    framework: str | None,
    kind: str,
    rule: str | None,
    place: str | None,
    shape: Sequence[int | None] | None,
    limit_bytes: int | None,
) -> str:
    """The signature of one failure; `kind` is the request's, `place` its layer, node or op."""
    folded = fold(place or "")
    sizes = format_shape((None, *shape[1:])) if shape else ""
    limit = limit_class(limit_bytes)
    facts = (framework or "", kind, rule or "", folded, sizes, limit)
    digest = hashlib.sha256("\n".join(facts).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    head = [rule or kind.replace(" ", "-"), _short(folded), sizes, limit]
    return " ".join([*filter(None, head), f"{framework or 'unknown'}-{digest}"])


def fold(name: str) -> str:
    """A layer or node without the numbers that tell neighbours, copies and steps apart: `block#/conv2d`."""
    return _NUMBER.sub("#", _NUMBERED.sub("", name))


def limit_class(limit_bytes: int | None) -> str:
    """The device that a limit belongs to: the next of the sizes that devices have, `16GiB`; below 1 GiB the
    next power of two; empty where the limit is unknown.
    """
    if not limit_bytes or limit_bytes < 0:
        return ""
    if limit_bytes <= _GIB // 2:
        size = max(1 << (limit_bytes - 1).bit_length(), 1 << 20)
        return f"{size >> 20}MiB"
    up = -(-limit_bytes // _GIB)
    return f"{next((size for size in _DEVICES if size >= up), -(-up // 128) * 128)}GiB"


def _short(name: str) -> str:
    """The end of a long name: it tells more than the start."""
    return name if len(name) <= _LENGTH else ".." + name[2 - _LENGTH :]
