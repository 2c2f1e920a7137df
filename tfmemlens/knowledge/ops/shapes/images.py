"""Ops that slide over images or normalise, resize and regroup them, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.errors import MalformedNode
from tfmemlens.knowledge.ops.shapes._context import Dims, Shape, ShapeContext, positive, side_of


def convolution(site: ShapeContext) -> list[Shape]:
    """A window of filters over an image."""
    image, kernel = site.shape(0) or _image(site), site.shape(1)
    if kernel is None or len(image) != len(kernel) or len(image) != len(site.layout):
        return [_image(site)]
    channels, filters = kernel[-2:]
    if "Depthwise" in site.node.op:
        filters = None if channels is None or filters is None else channels * filters
    return [_windows(site, image, kernel[:-2], filters)]


def pool(site: ShapeContext) -> list[Shape]:
    """A window over each channel of an image."""
    image = site.shape(0)
    if image is None or len(image) != len(site.layout):
        return [_image(site)]
    sizes = site.numbers("ksize")
    window = [side_of(sizes, at) for at, letter in enumerate(site.layout) if letter in "DHW"]
    return [_windows(site, image, window, image[_channels(site.layout)])]


def pool_with_places(site: ShapeContext) -> list[Shape]:
    """The pooled image, and where each maximum stood."""
    return pool(site) * 2


def _windows(site: ShapeContext, image: Dims, window: Sequence[int | None], channels: int | None) -> Dims:
    """The grid of a sliding window."""
    strides, dilations, pads = (
        site.numbers("strides"),
        site.numbers("dilations"),
        site.numbers("explicit_paddings"),
    )
    padding, layout = site.text("padding", "SAME"), site.layout
    sides: list[int | None] = list(image)
    for step, at in enumerate(index for index, letter in enumerate(layout) if letter in "DHW"):
        size, extent, stride = side_of(image, at), side_of(window, step), positive(strides, at)
        dilation = dilations[at] if len(dilations) > at else 1
        if size is None or (extent is None and padding != "SAME"):
            sides[at] = None
        elif padding == "SAME":
            sides[at] = -(-size // stride)
        else:
            around = sum(pads[2 * at : 2 * at + 2]) if padding == "EXPLICIT" else 0
            sides[at] = (size + around - ((extent or 1) - 1) * dilation - 1) // stride + 1
    sides[_channels(layout)] = channels
    return tuple(sides)


def _channels(layout: str) -> int:
    at = layout.find("C")
    if at < 0:
        raise MalformedNode(f"its data_format is {layout}")
    return at


def _image(site: ShapeContext) -> Dims:
    """An image of which only the rank is known."""
    return (None,) * len(site.layout)


def stated_by_first(site: ShapeContext) -> list[Shape]:
    """The first input spells the shape; at least the rank is known."""
    return [site.value(0) or _image(site)]


def stated_by_second(site: ShapeContext) -> list[Shape]:
    """The second input spells the shape; at least the rank is known."""
    return [site.value(1) or _image(site)]


def like_first(site: ShapeContext) -> list[Shape]:
    """An image like the first input."""
    return [site.shape(0) or _image(site)]


def stated_by_fourth(site: ShapeContext) -> list[Shape]:
    """The fourth input spells the shape; at least the rank is known."""
    return [site.value(3) or _image(site)]


def like_second(site: ShapeContext) -> list[Shape]:
    """An image like the second input."""
    return [site.shape(1) or (None,) * 4]


def like_third(site: ShapeContext) -> list[Shape]:
    """Like the third input: gradients of boxes."""
    return [site.shape(2)]


def crops(site: ShapeContext) -> list[Shape]:
    """A piece of an image for each box, of the height and width that the last input spells."""
    image, boxes, size = site.shape(0) or (None,) * 4, site.shape(1) or (None,), site.value(3)
    if len(image) != 4:
        return [None]
    return [(boxes[0], *(size if size and len(size) == 2 else (None, None)), image[3])]


def image_like(site: ShapeContext) -> list[Shape]:
    """An image like the input."""
    return [site.shape(0) or (None,) * 4]


def resize(site: ShapeContext) -> list[Shape]:
    """The image with the height and width that the second input spells."""
    image, size = site.shape(0) or (None,) * 4, site.value(1)
    if len(image) != 4:
        return [None]
    return [(image[0], *(size if size and len(size) == 2 else (None, None)), image[3])]


def norm(site: ShapeContext) -> list[Shape]:
    """The image, and a number of each kind for each channel; what V3 reserves beside is up to the device."""
    rest: list[Shape] = [None] if site.node.op.endswith(("V3", "Ex")) else []
    return [site.shape(0) or _image(site), *[site.shape(1)] * 4, *rest]


def norm_gradient(site: ShapeContext) -> list[Shape]:
    """Gradients of the image, the scale and the offset, and two empty tensors."""
    whole = site.shape(0) if site.inputs and site.inputs[0].bytes is not None else site.shape(1)
    return [whole or _image(site), site.shape(2), site.shape(2), (0,), (0,)]


def bias_gradient(site: ShapeContext) -> list[Shape]:
    """One number for each channel."""
    shape = site.shape(0)
    return [None if shape is None else (side_of(shape, 1 if site.layout.startswith("NC") else -1),)]


def blocks(site: ShapeContext) -> list[Shape]:
    """Blocks of pixels become channels, or channels blocks."""
    shape, block = site.shape(0), positive([site.number("block_size", 1)], 0)
    if shape is None or len(shape) != 4:
        return [None]
    sides = list(shape)
    for at, letter in enumerate(site.layout):
        side = side_of(shape, at)
        if side is not None and letter != "N":
            times, over = (block * block, 1) if letter == "C" else (1, block)
            sides[at] = side * times // over if site.node.op == "SpaceToDepth" else side * over // times
    return [tuple(sides)]


def patches(site: ShapeContext) -> list[Shape]:
    """A patch of the image, written out, at each position."""
    shape, sizes, strides, rates = (
        site.shape(0),
        site.numbers("ksizes"),
        site.numbers("strides"),
        site.numbers("rates"),
    )
    if shape is None or len(shape) != 4:
        return [None]
    sides = list(shape)
    for at in (1, 2):
        side, extent = shape[at], (side_of(sizes, at) - 1) * side_of(rates, at) + 1
        stride = positive(strides, at)
        if side is not None:
            sides[at] = (
                -(-side // stride) if site.text("padding") == "SAME" else (side - extent) // stride + 1
            )
    sides[3] = None if shape[3] is None else shape[3] * sizes[1] * sizes[2]
    return [tuple(sides)]
