"""One sample is large: a volume or a photograph whose every feature map takes hundreds of MiB.

What it means: a feature map of the first layers has the sample's full height, width and depth, times its
channels, and training keeps one or more for each layer of that size. With a batch of 1 or 2 no smaller batch
is left; where one map of one sample takes a good part of the device, the smallest batch helps little.
When it fires: the failing tensor has a batch of 1 or 2, and two or three long sides, of at least 128 MiB; or
one sample of it takes a fifth of the device, 4 GiB where that is not known; it is no weight, and no list
names who held the memory.
What to do: train on patches or crops; compute in 16 bits; recompute; fewer channels in the first layers. What
is only evaluated can go in tiles that overlap.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.named_sizes import Meaning, named_sizes
from tfmemlens.findings.support.phase import of_other_data, other_than_training
from tfmemlens.findings.support.rows import alike, attributed, device_limit, place, requests, tensor_text
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of, situation
from tfmemlens.findings.support.sufficiency import PART_OF_ONE
from tfmemlens.findings.support.tool_settings import in_tiles
from tfmemlens.knowledge.kernel_shapes import like_a_kernel
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
from tfmemlens.model.what_if import Shrunk
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, MIB, human

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor, and held tensors of the same size"

_LEAST_BYTES = 128 * MIB
_FEW = 2
"""A batch that cannot be made much smaller."""
_TOO_LARGE = 4 * GIB
"""One map of one sample that leaves no room for those of other layers, where the device is not known."""
_SERVING = frozenset({"Java", "TensorFlow Serving", "Triton", "C++"})
_LONG_SIDE = {2: 512, 3: 48}
"""The shortest side of a large sample, by how many sides there are."""
_OF_LAYERS = regex(
    r"(?i)conv|relu|bn|batch_?norm|batchnorm|norm|bias|pool|concat|add|activation|up_?sampl|block|enc|dec"
)
"""Ops and layers that make feature maps."""
_NO_MAPS = regex(
    r"(?i)col_buffer|patches|crop|mask|iou|atten|attn|einsum|softmax|logits|FilterV2|Conv3DBackpropFilter"
    r"|shuffle|TransposeN|(?:\A|[/ ])transpose(?:_\d+)?(?:[/ ]|\Z)"
)


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        limit = device_limit(case, moment)
        too_large = PART_OF_ONE * limit.bytes if limit else _TOO_LARGE
        sample = _sample(request, _sides(case, request), too_large, of_other_data(case, request))
        if sample is None or attributed(moment) or framework_of(case) != TENSORFLOW:
            continue
        sides, channels, batch = sample
        need = request.needed_bytes or 0
        trains = _trains(case, moment, request)
        kind, tiles = "volume" if len(sides) == 3 else "image", in_tiles(case, request)
        size = " x ".join(map(str, sides))
        asked = _asked_for(case, request, max(sides))
        size += f" ({asked[1].place} asks for {asked[0]})" if asked else ""
        late = case.capture.surroundings.shows("failing late") if trains is not True else None
        kept = f"; {late.place} says that others went well before" if late else _KEPT[trains]
        kept += f": a batch of 1 instead of {batch} hardly fits, either" if batch > _FEW else ""
        what = f"one {kind} of {size} makes {human(need // batch)} with {channels} channels{kept}"
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=alike(moment),
            evidence=(
                Evidence(f"requested: {tensor_text(moment)} at {place(moment)}", request.failed.line),
                *((Evidence("the size that is asked for", asked[1]),) if asked else ()),
            ),
            remedies=(
                *((_PRINT_SIZES,) if late else ()),
                _patches(case, sides, need, trains, tiles),
                *(remedies.offered(case, moment, "smaller-batch") if batch > 1 else ()),
                *remedies.offered(case, moment, "mixed-precision", "recompute"),
                *((_FEWER_CHANNELS,) if trains is not False else ()),
                remedies.FEWER_INSTANCES,
            ),
            moment=index,
            rules_out=("smaller-prediction-batch",) if tiles else (),
        )


_KEPT = {
    True: ", and training keeps one and more for each layer of this size",
    None: ", and training would keep one and more for each layer of this size",
    False: "",
}
"""By whether it trains; None where nothing tells."""
_PRINT_SIZES = Remedy(
    "print the size of each one before it is run, and freeze the graph before the loop: where this one is"
    " larger than those that went well, shrink such ones first; where an error comes of a frozen graph, the"
    " loop adds ops for each, which stay: build them once, and feed a placeholder",
    "tf.get_default_graph().finalize()   # before the loop",
    slug="finalize-graph",
)
_FEWER_CHANNELS = Remedy(
    "fewer channels in the layers of full size, or a strided first layer", slug="fewer-channels"
)


def _trains(case: Case, moment: Moment, request: Request) -> bool | None:
    """Whether it failed in a training; None where nothing tells."""
    if other_than_training(case, request) is not None or _only_infers(case):
        return False
    return situation(case, moment).training


def _only_infers(case: Case) -> bool:
    """Whether a program runs the model that trains none as a rule, and nothing shows that this one does."""
    return situation(case).program in _SERVING and not case.capture.surroundings.shows("training")


def _asked_for(case: Case, request: Request, side: int) -> tuple[int, Line] | None:
    """The number that states the longest side, or a side that strides made smaller, and its line."""
    stated = (size for size in case.capture.surroundings.sizes if side in size.sizes)
    line = next((size.line for size in stated if "shape[" not in size.line.text), None)
    if line:
        return side, line
    named = named_sizes(request.failed.shape, case.capture.surroundings)
    sides = [each for each in named if each.meaning is Meaning.IMAGE and each.size == side]
    return (sides[0].stated, sides[0].line) if sides else None


def _is_of_layers(request: Request) -> bool:
    failed = request.failed
    names = " ".join(filter(None, (failed.node, failed.op, *(failed.keras_layer or ()))))
    names = names or failed.kernel or ""
    return bool(_OF_LAYERS.search(names)) and not _NO_MAPS.search(names)


def _sides(case: Case, request: Request) -> frozenset[int]:
    """The dimensions that are sides of an image, by the numbers of the text."""
    named = named_sizes(request.failed.shape, case.capture.surroundings)
    return frozenset(each.axis for each in named if each.meaning is Meaning.IMAGE)


def _sample(
    request: Request, told: frozenset[int], too_large: float, predicted: bool
) -> tuple[Sequence[int], int, int] | None:
    """The sides, channels and batch of a feature map of one large sample, or of samples of which one alone is
    too large; None of anything else.
    """
    failed, need = request.failed, request.needed_bytes
    shape = [size or 0 for size in failed.shape or ()]
    if (
        failed.kind is not RequestKind.TENSOR
        or need is None
        or need < _LEAST_BYTES
        or not (_is_of_layers(request) or (predicted and not request.failed.node and not request.failed.op))
    ):
        return None
    if len(shape) not in (4, 5) or not all(shape) or like_a_kernel(tuple(shape)):
        return None
    if shape[0] > _FEW and need / shape[0] < too_large:
        return None
    weight = request.owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
    if weight or request.fixed or failed.creating or failed.updating:
        return None
    last, first = (shape[1:-1], shape[-1]), (shape[2:], shape[1])
    of_image = {frozenset(range(1, len(shape) - 1)): last, frozenset(range(2, len(shape))): first}
    sides, channels = of_image.get(told) or max((last, first), key=_likely)
    if min(sides) < _LONG_SIDE[len(sides)] and (told not in of_image or len(sides) > 2):
        return None
    return sides, channels, shape[0]


def _likely(each: tuple[Sequence[int], int]) -> tuple[bool, float]:
    """How likely a layout is: nets have up to 4 channels, or a multiple of 8, and images are no stripes."""
    sides, channels = each
    return channels in (1, 2, 3, 4) or channels % 8 == 0, min(sides) / max(sides)


def _patches(case: Case, sides: Sequence[int], need: int, trains: bool | None, tiles: str) -> Remedy:
    """Patches of half the sides: the share of each feature map that is left; with the tool's own setting."""
    half = [math.ceil(side / 2 / 16) * 16 for side in sides]
    size = " x ".join(map(str, half))
    how = f"go through it in tiles of {size} that overlap"
    if trains is not False:
        how = f"train on patches of {size}" if trains else f"train on patches, or predict in tiles, of {size}"
    if len(sides) == 2:
        how = f"make it smaller, or {how}"
    whole, left = math.prod(sides), math.prod(half)
    then = human(need * left // whole)
    text = f"{how}: each of these maps then takes {then}"
    if tiles:
        text = f"go through it in tiles, {tiles}; in tiles of {size} each of these maps takes {then}"
    return remedies.of_tensor(
        case,
        text,
        Shrunk("smaller-input", need, whole, left),
    )
