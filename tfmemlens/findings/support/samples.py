"""Samples that are large by themselves: images, maps and volumes, by the shape of the tensor that failed."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tfmemlens.knowledge.images import sides_of_an_image
from tfmemlens.model.case import Request
from tfmemlens.model.finding import Remedy
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, human

_NO_MAP = regex(r"(?i)attention|attn|einsum|matmul|softmax|logits|lstm|gru|rnn")
"""Names of tensors whose dimensions are heads, positions and features."""
_PIXELS, _SIDE, _SIDE_OF_A_VOLUME = 1_000_000, 256, 32
_NUMBERS, _LEAST_SIDE = 32_000_000, 64
"""Numbers that one sample makes by its channels where its sides are small."""
TOO_LARGE = 4 * GIB
"""One tensor of one sample that leaves no room for those of other layers."""


def of_one(request: Request) -> int:
    """Bytes of one sample where the first dimension is the batch; in float32 where no type is told."""
    shape = [size or 1 for size in request.failed.shape or (1,)]
    return (request.needed_bytes or 4 * prod(shape)) // shape[0]


_COLOURS = (1, 3, 4)


def in_colours(shape: Sequence[int | None]) -> bool:
    """Whether a tensor is one image with its colours, as it is read, and no map of a layer."""
    while len(shape) > 4 and shape[0] == 1:
        shape = shape[1:]
    one = len(shape) == 4 and shape[0] == 1 and shape[-1] in _COLOURS
    return one or sides_of_an_image(shape) is not None


def alone(request: Request, too_large: int | None = None) -> tuple[int, ...] | None:
    """The sides of a large image or volume that went alone, channels last or first; of several, where one
    is `too_large` by itself.
    """
    shape = request.failed.shape or ()
    if len(shape) not in (4, 5) or not all(shape) or _NO_MAP.search(request.failed.node or ""):
        return None
    if shape[0] != 1 and (too_large is None or request.fixed or of_one(request) < too_large):
        return None
    if long_alone(request):
        return None  # steps and channels
    sizes = [size or 1 for size in shape[1:]]
    last, first = tuple(sizes[:-1]), tuple(sizes[1:])
    sides = last if sizes[-1] < min(last) else first
    least = _SIDE if len(shape) == 4 else _SIDE_OF_A_VOLUME
    wide = prod(sizes) >= _NUMBERS and min(sides) >= _LEAST_SIDE
    return sides if (prod(sides) >= _PIXELS and min(sides) >= least) or wide else None


_LEAST_STEPS, _TIMES_ITS_CHANNELS = 4096, 8


def long_alone(request: Request) -> tuple[int, int] | None:
    """The steps and channels of one long sample, as convolutions of one dimension have it: `[1,1,N,C]` or
    `[1,N,1,C]`.
    """
    shape = request.failed.shape or ()
    if len(shape) != 4 or shape[0] != 1 or 1 not in shape[1:3] or not shape[3] or request.fixed:
        return None
    steps, channels = max(shape[1] or 1, shape[2] or 1), shape[3]
    is_long = steps >= _LEAST_STEPS and steps >= _TIMES_ITS_CHANNELS * channels
    return (steps, channels) if is_long and channels >= _FEWEST_CHANNELS else None


_FEWEST_CHANNELS = 8
"""Fewer are colours, or the sides of boxes."""


def shorter(request: Request) -> Remedy | None:
    """What to do about one long sample."""
    known = long_alone(request)
    if known is None:
        return None
    steps, channels = known
    return Remedy(
        f"give it shorter pieces: with {steps // 2:,} steps instead of {steps:,} each map takes half (the"
        f" program's setting for the length of a sample, a crop or a window); or fewer than {channels:,}"
        " channels. The batch is 1 already",
        slug="shorter-sequences",
    )


def in_words(size: tuple[int, ...]) -> str:
    """Sides as people write them."""
    return " x ".join(f"{side:,}" for side in size)


def told_as_too_large(request: Request) -> str:
    """What one of several samples takes, where even a batch of 1 hardly fits; empty where it does."""
    size = alone(request, TOO_LARGE)
    if size is None or (request.failed.shape or (1,))[0] == 1:
        return ""
    of_type = "" if request.needed_bytes else " in float32"
    one = human(of_one(request))
    return f"one sample takes {one} of it{of_type}, at any batch ({in_words(size)})"


def made_smaller(request: Request) -> Remedy | None:
    """What to do about a sample that is large alone."""
    size = alone(request, TOO_LARGE)
    if size is None:
        return None
    part = "a quarter" if len(size) == 2 else "an eighth"
    return Remedy(
        f"make it smaller, or cut it into tiles (patches): at half of {in_words(size)} every map of the"
        f" network takes {part}",
        slug="smaller-input",
    )
