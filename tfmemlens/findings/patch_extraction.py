"""Patches were extracted literally: every pixel is copied once for each patch that contains it.

What it means: `tf.image.extract_patches` (ExtractImagePatches) writes [batch, rows, columns, k*k*channels].
With overlapping patches that is up to k*k times the image, and the gradient makes it again.
When it fires: ExtractImagePatches, ExtractVolumePatches or an im2col written by hand asks for a tensor whose
last dimension is kernel area x channels, or holds a tenth of all that is held. A graph beside it (`ksizes`)
makes the kernel certain.
What to do: a convolution does the same sums without the copies; or larger strides; or patches of a part of
the batch at a time. Source: extract_image_patches_op.cc; measured to the byte in TensorFlow 1.10, 1.15 and
2.21.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.rows import failures, held, place, quote, rows, tensor_text
from tfmemlens.knowledge.convolution import kernels_of
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import human, percent
from tfmemlens.values import replace

BASIS = Basis.SHAPE
EXPLAINS = "the failing patches, or the rows that hold some"

_NAME = regex(
    r"Extract(?:Image|Volume)Patches|extract_(?:image_|volume_)?patches|im2col|unfold", re.IGNORECASE
)
_SHARE = 0.1


class _Window(NamedTuple):
    """The sides of a patch as the text states them: its name (`WINDOW`, `--window`, `sizes`) and its line."""

    kernel: tuple[int, int, int]
    name: str
    line: Line


class _Patches(NamedTuple):
    """The tensor, the kernels that its last dimension can mean, likeliest first, and whether a graph says
    which.
    """

    shape: tuple[int, ...]
    bytes: int
    kernels: tuple[tuple[int, int, int], ...]
    certain: bool
    window: _Window | None = None
    """Where the text states the kernel."""

    @property
    def copies(self) -> int:
        return self.kernels[0][0] * self.kernels[0][1]

    def text(self) -> str:
        height, width, channels = self.kernels[0]
        return f"{height} x {width} pixels of {channels} channel{'s' if channels > 1 else ''}"

    def places(self) -> str:
        return (
            f"{' x '.join(map(str, self.shape[1:-1]))} patches of {self.text()} for each of {self.shape[0]}"
            " images"
        )


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        yield from _failing(case, moment, index)
    for index, moment in enumerate(case.moments):
        yield from _holding(case, moment, index)


def _failing(case: Case, moment: Moment, index: int) -> Iterator[Finding]:
    assert moment.request
    failed = moment.request.failed
    patches = _patches(
        case,
        failed.node,
        f"{failed.op or ''} {moment.request.owner.op or ''}",
        failed.shape,
        failed.tensor_bytes,
    )
    if patches is None:
        return
    yield Finding(
        severity=Severity.CAUSE,
        headline=f"{tensor_text(moment)} holds every patch literally: {patches.places()}",
        because=(
            f"patches of {patches.text()} are copied out literally, up to {patches.copies} copies of each"
            " pixel"
        ),
        explains=patches.bytes,
        evidence=(
            Evidence(f"requested at {place(moment) or 'an unnamed op'}", failed.line),
            *_certainty(patches),
        ),
        detail=_input(patches),
        remedies=_remedies(patches) if _is_own(case, moment) else _of_a_library(case, moment, patches),
        moment=index,
    )


def _is_own(case: Case, moment: Moment) -> bool:
    """Whether the program's own code makes the patches, as far as the text shows."""
    source = moment.request.failed.source if moment.request else None
    lines = code_lines(case.capture.surroundings)
    return bool(source or any(_NAME.search(line.text) for line in lines))


def _of_a_library(case: Case, moment: Moment, patches: _Patches) -> tuple[Remedy, ...]:
    """Where no line of the text makes them: a smaller batch first, which changes no code."""
    first, *others = _remedies(patches)
    own = replace(first, text=f"if your own code makes the patches: {first.text}")
    fewer = remedies.offered(case, moment, "smaller-batch") if patches.shape[0] > 1 else ()
    return (*fewer, own, *others)


def _holding(case: Case, moment: Moment, index: int) -> Iterator[Finding]:
    """Patches that are alive at the peak of a step, or in the list of a failure."""
    for row in rows(
        moment, lambda row: bool(_NAME.search(f"{row.allocation.node or ''} {row.allocation.op or ''}"))
    )[:3]:
        tensor = row.naming.best.tensor if row.naming and row.allocation.shape is None else None
        shape, size = (
            (tensor.shape, tensor.bytes) if tensor else (row.allocation.shape, row.allocation.size_bytes)
        )
        patches = _patches(case, row.allocation.node, row.allocation.op or "", shape, size)
        if patches is None or row.allocation.total_bytes < _SHARE * held(moment):
            continue
        share = percent(row.allocation.total_bytes, held(moment))
        yield Finding(
            severity=Severity.CAUSE,
            headline=(
                f"{human(row.allocation.total_bytes)}, {share} of what is held, are patches written out"
                f" literally: {patches.places()}"
            ),
            because=f"{share} of it are patches of {patches.text()}, copied out literally",
            explains=row.allocation.total_bytes,
            basis=Basis.MEASURED,
            evidence=(quote(row), *_certainty(patches)),
            detail=_input(patches),
            remedies=_remedies(patches),
            moment=index,
        )


def _input(patches: _Patches) -> str:
    """How large the images are that the patches were cut from."""
    return f"At stride 1 the input that it copies takes about {human(patches.bytes // patches.copies)}."


def _patches(
    case: Case, node: str | None, op: str, shape: tuple[int | None, ...] | None, size: int | None
) -> _Patches | None:
    sizes = tuple(each or 0 for each in shape or ())
    if len(sizes) not in (4, 5) or not size or 0 in sizes or not _NAME.search(f"{node or ''} {op}"):
        return None
    stated = _stated(case, node, sizes[-1])
    window = None if stated or len(sizes) == 5 else _window(case, sizes[-1])
    if window:
        return _Patches(sizes, size, (window.kernel,), True, window)
    kernels = (stated,) if stated else tuple(kernel for kernel in kernels_of(sizes[-1]) if kernel[0] > 1)
    return _Patches(sizes, size, kernels, stated is not None) if kernels else None


_OF_PATCHES = regex(r"(?i)\bk?sizes?\Z|window|patch|kernel|ksize")
_FLAG = regex(r"--?(?P<name>[\w-]*(?:window|patch|kernel|ksize)[\w-]*)[ =](?P<side>\d{1,3})(?!\d)")


def _window(case: Case, last: int) -> _Window | None:
    """The sides that the text states, where the last dimension is as many numbers times the channels."""
    for stated in case.capture.surroundings.sizes:
        height, width = _sides(stated.sizes)
        flags = {
            int(flag["side"]): flag[0].split()[0].split("=")[0] for flag in _FLAG.finditer(stated.line.text)
        }
        named = _OF_PATCHES.search(stated.name) is not None
        name = stated.name if named else flags.get(height, "")
        if name and height > 1 and width > 1 and last % (height * width) == 0:
            return _Window((height, width, last // (height * width)), name, stated.line)
    return None


def _sides(sizes: tuple[int, ...]) -> tuple[int, int]:
    """Of `31`, `(31, 31)` and `[1, 31, 31, 1]`; 0 of others."""
    if len(sizes) == 4 and sizes[0] == sizes[3] == 1:
        return sizes[1], sizes[2]
    return (sizes[0], sizes[-1]) if len(sizes) in (1, 2) else (0, 0)


def _stated(case: Case, node: str | None, last: int) -> tuple[int, int, int] | None:
    """The kernel by the graph's `ksizes`, where there is a graph that has the node."""
    known = case.capture.graph.nodes.get(node) if case.capture.graph and node else None
    sizes = known.attributes.get("ksizes") if known else None
    if not isinstance(sizes, tuple) or len(sizes) != 4 or last % (int(sizes[1]) * int(sizes[2])):
        return None
    height, width = int(sizes[1]), int(sizes[2])
    return height, width, last // (height * width)


def _certainty(patches: _Patches) -> Iterator[Evidence]:
    if patches.window:
        yield Evidence("the sides of a patch", patches.window.line)
    elif patches.certain:
        yield Evidence(f"the graph has the kernel: {patches.kernels[0][0]} x {patches.kernels[0][1]}")
    elif len(patches.kernels) > 1:
        others = [f"{height} x {width} of {channels}" for height, width, channels in patches.kernels[1:]]
        yield Evidence(
            f"the last dimension {patches.shape[-1]:,} could also be {' or '.join(others)} channels"
        )


def _remedies(patches: _Patches) -> tuple[Remedy, ...]:
    size, images = patches.bytes, max(patches.shape[0], 1)
    one = Remedy(
        f"extract from one image at a time: {human(size // images)} at once",
        "y = tf.map_fn(lambda image: sums_of_patches(image[None])[0], images)",
        saves_bytes=size - size // images,
        certainty=Certainty.EXACT,
        slug="one-image-at-a-time",
    )
    return (
        Remedy(
            "use a convolution (or depthwise convolution) with the weights that the patches are multiplied"
            " by: no patch is ever stored",
            "y = tf.nn.conv2d(images, weights, strides=1, padding='SAME')",
            size - size // patches.copies,
            Certainty.BOUND,
            slug="convolution-for-patches",
        ),
        *_smaller(patches),
        Remedy(
            "stride the patches by 2: a quarter of them",
            saves_bytes=size * 3 // 4,
            certainty=Certainty.EXACT,
            slug="stride-patches",
        ),
        *((one,) if images > 1 else ()),
    )


def _smaller(patches: _Patches) -> Iterator[Remedy]:
    """A smaller window, by the program's own name of it."""
    if patches.window and patches.window.kernel[0] > _LEAST_HALVED:
        side = patches.window.kernel[0]
        yield Remedy(
            f"lower `{patches.window.name}` ({patches.window.line.place}: {side} -> {side // 2 | 1}): half"
            " of each side is a quarter of each patch",
            saves_bytes=patches.bytes - patches.bytes * (side // 2 | 1) ** 2 // side**2,
            certainty=Certainty.ESTIMATE,
            slug="smaller-window",
        )


_LEAST_HALVED = 4
