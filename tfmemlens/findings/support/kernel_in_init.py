"""The kernel of a dense layer that `init` makes, in the shape in which XLA splits it for a product: what a
kernel reads that XLA tried, as large whatever the batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from tfmemlens.findings.support.jax_stack import MadeByLine, runs_init
from tfmemlens.model.case import Moment
from tfmemlens.model.finding import Basis, Remedy
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import human

_LAYER = regex(
    r"\b(?P<code>(?:nnx?|linen|hk|flax\.linen)\.(?:Dense|Linear)\(\s*(?:features\s*=\s*|output_size\s*=\s*)?"
    r"(?P<units>\d[\d_]*|[A-Za-z_]\w*))\s*[,)]"
)
_LEAST_INPUTS = 4096
"""Of fewer inputs the units are what is large."""
_FEWER = 4


def kernel_in_init(moment: Moment, names: Mapping[int, str]) -> MadeByLine | None:
    """The kernel of the layer of the user's deepest line, where the request is an operand of a product whose
    columns are the layer's units.
    """
    failed = moment.request.failed if moment.request else None
    shape = tuple(size or 1 for size in failed.shape or ()) if failed else ()
    match = _LAYER.search(failed.source_text or "") if failed else None
    if failed is None or match is None or len(shape) < 2 or not runs_init(failed.frames):
        return None
    units, inputs, size = shape[-1], math.prod(shape[:-1]), failed.tensor_bytes or 0
    if _units(match["units"], names) != units or not _is_operand(moment, shape):
        return None
    split = f", which XLA splits to {format_shape(shape)} for the product" if len(shape) > 2 else ""
    return MadeByLine(
        f"this is the kernel [{inputs},{units}] of `{match['code']}, ...)`{split}: the layer has {inputs:,}"
        " inputs, and no batch changes it",
        tuple(_remedies(inputs, units, size)),
        Basis.SHAPE,
        explains=size,
    )


def _units(text: str, names: Mapping[int, str]) -> int | None:
    """The number that a layer's width is."""
    if text[0].isdigit():
        return int(text.replace("_", ""))
    return next((size for size, name in names.items() if name == text), None)


def _is_operand(moment: Moment, shape: tuple[int, ...]) -> bool:
    """Whether the kernel that XLA tried reads an array of this shape, and makes none."""
    compiler = moment.incident.compiler if moment.incident else None
    if compiler is None or compiler.tried is None:
        return False
    read, arrow, made = compiler.tried.text.partition("->")
    sizes = f"{format_shape(shape)}"
    return bool(arrow) and sizes in read and sizes not in made


def _remedies(inputs: int, units: int, size: int) -> Iterator[Remedy]:
    if inputs >= _LEAST_INPUTS:
        yield Remedy(
            "give the layer fewer inputs: a stride of 2 or pooling in one more convolution before the reshape"
            f" leaves a quarter of them, {human(size // _FEWER)}, in two {human(size // _FEWER**2)}; a mean"
            " over the map leaves only its channels",
            "x = x.mean(axis=(1, 2))   # instead of x.reshape(x.shape[0], -1)",
            slug="smaller-map",
        )
    yield Remedy(
        f"or fewer units: each of the {units:,} takes {human(size // units)}; training adds a gradient of the"
        " same size, and what the optimizer keeps",
        slug="narrower-layer",
    )
