"""On a TPU, padding makes tensors several times larger than they are.

What it means: a TPU stores the two dimensions that come last in memory in tiles of 8 x 128 (16 x 128 for
bfloat16). A last dimension of 4 is padded to 128: 32 times the memory. The listing shows it as `Extra memory
due to padding`, and the layout of the shape says which dimensions come last.
When it fires: the listed buffers, or all temporaries together, lose at least 10 % to padding, or one expands
at least twofold.
What to do: make the dimension that is padded larger, or merge it with a large one: which that is the layout
says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tfmemlens.findings.support.rows import failures
from tfmemlens.knowledge.tpu_tiles import padded_dimension
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import CompilerMemory, PaddedBuffer, PrintedConvolution
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human, human_size, percent
from tfmemlens.values import replace

BASIS = Basis.MEASURED
EXPLAINS = "the padding"


_LEAST_OF_A_CUT_LIST = MIB


_MUCH = 2
"""Times the memory that padding takes, which make it the cause even where no tensor is named."""


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        compiler = moment.incident.compiler if moment.incident else None
        finding = _of_padding(compiler, moment, index) if compiler else None
        if finding is not None:
            yield finding


def _of_padding(compiler: CompilerMemory, moment: Moment, index: int) -> Finding | None:
    """What padding costs: of all temporaries, where the listing says so, else of the listed buffers."""
    listed = sorted(compiler.padded, key=_gained)
    together = compiler.padded_together
    worst = next(iter((*listed, *((together,) if together else ()))), None)
    if worst is None:
        return None
    in_list = -sum(_gained(buffer) for buffer in listed)
    of_all = together is not None and -_gained(together) >= in_list
    lost = -_gained(together) if together and of_all else in_list
    whole = max(moment.attribution.table.total_bytes, *(buffer.size.bytes for buffer in (*listed, worst)), 1)
    if together and of_all:
        whole = max(whole, together.size.bytes)
    if lost < 0.1 * whole and worst.size.bytes < 2 * worst.unpadded.bytes:
        return None
    if compiler.cut and lost < _LEAST_OF_A_CUT_LIST:
        return None  # a core has 16 MiB of vmem and more, and far more of HBM
    what = format_shape(worst.shape) if worst.shape else f"{worst.label} together"
    grown = f"{what} {'grows' if worst.shape else 'grow'} {_factor(worst):.1f} times"
    of_what = "temporaries" if of_all else "listed buffers"
    named = (*listed[:3], *((together,) if together and of_all else ()))
    return Finding(
        severity=Severity.CAUSE
        if lost >= 0.3 * whole and (listed or _factor(worst) >= _MUCH)
        else Severity.FACTOR,
        headline=(
            f"padding to TPU tiles costs about {human(lost)}, {percent(lost, whole)} of the {of_what};"
            f" {grown}"
        ),
        because=f"padding to TPU tiles alone costs about {human(lost)}; {grown}",
        explains=lost,
        evidence=tuple(
            Evidence(
                f"{buffer.label}: {human_size(buffer.unpadded)} of data in {human_size(buffer.size)}",
                buffer.line,
            )
            for buffer in named
        ),
        remedies=tuple(_remedies(listed, lost, compiler.convolution)),
        moment=index,
        rules_out=("smaller-batch", "draw-less") if _DRAWS.match(worst.label) else (),
    )


def _gained(buffer: PaddedBuffer) -> int:
    """What its data have over its memory: the most padded first."""
    return buffer.unpadded.bytes - buffer.size.bytes


def _factor(buffer: PaddedBuffer) -> float:
    return buffer.size.bytes / max(buffer.unpadded.bytes, 1)


_DRAWS = regex(r"p?jit\((?:_?normal\w*|_?uniform|_?truncated_normal|_?gumbel|_?random_bits|_?bernoulli)\)")
"""A program that makes random numbers and nothing else, as `jax.random.normal` is outside of jit."""
_DRAWN_ELSEWHERE = Remedy(
    "it is `jax.random` by itself, which draws in pairs (most likely a large initial weight): make the"
    " weights on the CPU and move them, or in one jitted function with all that follows",
    "with jax.default_device(jax.devices('cpu')[0]): params = model.init(key, x)",
    slug="aligned-shapes",
)
_HARDLY = 1.25
"""A buffer that grows by less is not the one to change."""


_LANES, _OF_IMAGES = 128, 4
_SPACE_TO_DEPTH = (
    "x.reshape(n, h // 8, 8, w // 8, 8, c).transpose(0, 1, 3, 2, 4, 5).reshape(n, h // 8, w // 8, 64 * c)"
)


def _of_channels(made: PrintedConvolution) -> Remedy | None:
    """Of a convolution with few channels, which a TPU pads to a tile's longer side."""
    few = min(made.channels, made.filters)
    if few > _LANES // 2:
        return None
    whole = math.prod(made.sizes) // made.channels * _LANES
    width = next((width for width in (2, 4) if made.buffer.may_be(whole * width)), None)
    shown = f": {human(whole * width)} is just what its result takes so" if width else ""
    alone = "" if width else "most likely "
    return Remedy(
        f"the largest buffer of the list is a convolution's over {format_shape(made.sizes)}, with"
        f" {made.channels} channels in and {made.filters} out: {alone}channels are padded to {_LANES}{shown}."
        " Give it more channels and fewer positions (space to depth: a block of neighbours becomes channels),"
        " or cut it into tiles, or compute this layer on the CPU",
        _SPACE_TO_DEPTH if len(made.sizes) == _OF_IMAGES else None,
        slug="aligned-shapes",
    )


def _remedies(
    listed: list[PaddedBuffer], lost: int, made: PrintedConvolution | None = None
) -> Iterator[Remedy]:
    if not listed and made and (of_channels := _of_channels(made)):
        yield of_channels
        return
    if not listed or _factor(listed[0]) < _HARDLY:
        yield Remedy(
            "find the tensors that are padded, which the part of the list at hand does not name: a last"
            " dimension far below 128 (heads, channels, one feature), merged with a large one, saves most",
            slug="aligned-shapes",
        )
        return
    worst = listed[0]
    if _DRAWS.match(worst.label):
        yield replace(_DRAWN_ELSEWHERE, saves_bytes=lost, certainty=Certainty.BOUND)
        return
    alike = -sum(_gained(buffer) for buffer in listed)
    beyond = lost - alike
    text = _of_the_dimension(worst)
    if beyond > alike:
        text += f"; another {human(beyond)} are lost in buffers that are not listed, of this shape or others"
    saves = alike if beyond > alike else lost
    yield Remedy(text, saves_bytes=saves, certainty=Certainty.BOUND, slug="aligned-shapes")
    if worst.shape and worst.shape[-1] and worst.shape[-1] % 128:
        yield Remedy(
            "merge small trailing dimensions with a reshape before the heavy ops",
            slug="aligned-shapes",
        )


def _of_the_dimension(buffer: PaddedBuffer) -> str:
    """Which dimension to make larger, by the layout."""
    grown = padded_dimension(buffer.shape, buffer.layout)
    if grown is None or buffer.shape is None:
        return (
            "see which dimension of it is padded: the two that come last in memory are rounded up to whole"
            " tiles (mostly 8 and 128)"
        )
    to = f"{grown.size} is padded to {grown.padded_to}"
    if grown.fastest and grown.axis == len(buffer.shape) - 1:
        return f"put a large dimension last: {to}"
    layout = f" ({buffer.layout})" if buffer.layout else ""
    return (
        f"make dimension {grown.axis} of {format_shape(buffer.shape)} larger, or merge it with a large one:"
        f" in this layout{layout} its {to}"
    )
