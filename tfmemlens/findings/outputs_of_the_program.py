"""The outputs of the layers that the program's code makes fill the device.

What it means: training keeps the output of nearly every layer for the backward pass. A dump has no names, but
the program that stands beside the log, or is quoted in it, states its layers and their sizes: so much each
makes at the batch of the failure.
When it fires: the code trains; its Keras layers, followed with an open batch, make the tensor that was asked
for, at a batch that the failed shape then tells; nothing names what is in use; all outputs together, with the
gradient of the largest, are at least two fifths of the limit, or of what is in use.
What to do: a smaller batch (with gradient accumulation), a narrower layer where one makes most, half
precision, recomputation, a smaller input.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.kills import another_program
from tfmemlens.findings.support.phase import other_than_training
from tfmemlens.findings.support.rows import all_in_use, attributed, device_limit, enumerated, requests
from tfmemlens.findings.support.situation import TENSORFLOW, situation
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.tensor import format_shape, tensor_bytes
from tfmemlens.model.what_if import Shrunk
from tfmemlens.units import MIB, human
from tfmemlens.values import dataclass

if TYPE_CHECKING:
    from tfmemlens.knowledge.keras_program import LayerOutput

BASIS = Basis.SHAPE
EXPLAINS = "the layers' outputs and the gradient of the largest, at most the limit"

_LEAST_SHARE, _LEAST_BYTES = 0.4, 16 * MIB
_LARGE = 0.15
"""Of all outputs: a layer that makes so much is worth changing by itself."""
_NAMED = 2


@dataclass(frozen=True, slots=True)
class _Output:
    """What one layer makes at the batch of the failure."""

    output: LayerOutput
    shape: tuple[int, ...]
    bytes: int

    @property
    def name(self) -> str:
        """The user's name, else the class and its line."""
        told = self.output
        return f"`{told.name}`" if told.name else f"the {told.class_name} of {told.line.place}"


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        run = situation(case, moment)
        if attributed(moment) or case.capture.live_model or another_program(moment):
            continue
        if run.framework != TENSORFLOW or not run.training or other_than_training(case, request):
            continue
        asked, made = _made(case, request)
        limit = device_limit(case, moment)
        room = limit.bytes if limit else all_in_use(moment)
        if asked is None or _needed(made) < max(_LEAST_BYTES, _LEAST_SHARE * room):
            continue
        yield _finding(case, index, moment, asked, made, room)


def _made(case: Case, request: Request) -> tuple[_Output | None, list[_Output]]:
    """The output that was asked for and all of them, the largest first; None where the code makes no such
    tensor. Trees are followed only where there is a program.
    """
    program, shape = case.capture.surroundings.program(), request.failed.shape
    if not program or shape is None or not all(shape) or request.fixed:
        return None, []
    from tfmemlens.knowledge.keras_program import fits, layer_outputs

    for asked in dict.fromkeys((shape, _narrow(shape))):
        outputs = layer_outputs(program, asked)
        fitting = [each for each in outputs if fits(each, asked)]
        if fitting:
            made = [_at(each, asked[0] or 1) for each in outputs]
            made.sort(key=lambda each: -each.bytes)
            return next(each for each in made if each.output in fitting), made
    return None, []


def _needed(made: list[_Output]) -> int:
    """All outputs, and the gradient of the largest, which is made while it is still there."""
    return sum(each.bytes for each in made) + made[0].bytes


def _narrow(shape: Sequence[int | None]) -> tuple[int | None, ...]:
    """Without the side of 1 that a convolution in one dimension is run with."""
    return tuple(side for at, side in enumerate(shape) if side != 1 or not 0 < at < len(shape) - 1)


def _at(output: LayerOutput, batch: int) -> _Output:
    sizes = tuple(batch if each is None else each for each in output.shape)
    return _Output(output, sizes, tensor_bytes(sizes, output.dtype) or 0)


def _finding(
    case: Case, index: int, moment: Moment, asked: _Output, made: list[_Output], room: int
) -> Finding:
    whole = sum(each.bytes for each in made)
    batch, many = asked.shape[0], len(made)
    most = enumerated([f"{each.name} {human(each.bytes)}" for each in made[:_NAMED]])
    what = (
        f"at a batch of {batch:,} the outputs of the code's {many} layers, which training keeps for the"
        f" backward pass, take {human(whole)}: most {most}"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        detail=(
            "Shapes follow from the code as it is written: an argument of the command line may have changed"
            " one. Gradients, weights and buffers come on top."
        ),
        explains=min(_needed(made), room) if room else _needed(made),
        evidence=(
            Evidence(
                f"{asked.name} makes what was requested, {format_shape(asked.shape)}", asked.output.line
            ),
            *(
                Evidence(f"{each.name}: {format_shape(each.shape)} = {human(each.bytes)}", each.output.line)
                for each in made[:5]
                if each is not asked
            ),
        ),
        remedies=tuple(_remedies(case, moment, made, whole)),
        moment=index,
    )


def _remedies(case: Case, moment: Moment, made: list[_Output], whole: int) -> Iterator[Remedy]:
    yield from remedies.offered(case, moment, "smaller-batch")
    largest = made[0]
    if largest.bytes >= _LARGE * whole and largest.shape[-1] >= 2 and len(made) > 1:
        width = largest.shape[-1]
        yield remedies.of_tensor(
            case,
            f"make {largest.name} narrower ({width} -> {width // 2}), or the positions that it works on fewer"
            " (pool or stride before it)",
            Shrunk("narrower-layer", largest.bytes, width, width // 2, certainty=Certainty.ESTIMATE),
        )
    yield from remedies.offered(case, moment, "mixed-precision", "recompute", "smaller-input")
