"""Tensors that the layers of the program's code make, at the batch that a failed shape tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfmemlens.findings.support.program_lines import batch_by_name
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import tensor_bytes
from tfmemlens.values import dataclass, replace

if TYPE_CHECKING:
    from tfmemlens.knowledge.keras_program import LayerOutput
    from tfmemlens.model.network import WeightSpec

_MOST_FRAMES = 64
"""So many frames or patches of a sample may be folded into the batch, as TimeDistributed does."""
_MOST_BATCHES = 4
"""So many of the batches that the text states may be joined in one call, as real and made samples are."""


_OF_SCORES = 4
"""Sides of attention's scores; what the layer itself puts out has three."""


@dataclass(frozen=True, slots=True)
class CodeOutput:
    """What one layer makes at the batch of the failure."""

    output: LayerOutput
    shape: tuple[int, ...]
    bytes: int
    asked: bool
    """Whether it has the shape that failed."""
    block: str = ""
    """What it is a part of, where the code makes another of its name."""

    @property
    def name(self) -> str:
        """The user's name, else the class and its line."""
        told = self.output
        path = f"{self.block}/{told.name}" if self.block else told.name
        if told.class_name == "MultiHeadAttention" and len(told.shape) == _OF_SCORES:
            return f"the scores of `{path}`" if told.name else f"the attention scores of {told.line.place}"
        return f"`{path}`" if told.name else f"the {told.class_name} of {told.line.place}"

    @property
    def named_with_line(self) -> str:
        """The same, and always the line."""
        return f"{self.name} ({self.output.line.place})" if self.output.name else self.name


def code_outputs(case: Case, shape: Sequence[int | None] | None) -> list[CodeOutput]:
    """All outputs of the code's layers, the largest first, at the batch at which one of them has this shape;
    nothing where none has, or where a layer owns a weight of this shape. Trees are followed only where there
    is a program.
    """
    told = case.capture.surroundings
    program = told.program()
    if not program or not shape or not all(shape):
        return []
    stated = _stated_batch(told)
    if stated and not _is_batch(shape[0] or 0, stated):
        return []
    live = case.capture.live_model
    if live is not None and live.failed_batch and not _is_batch(shape[0] or 0, live.failed_batch):
        return []  # rows that a lookup made of each sample
    from tfmemlens.knowledge.keras_program import fits, layer_outputs

    for asked in dict.fromkeys((tuple(shape), _narrow(shape))):
        outputs = layer_outputs(program, asked)
        if any(weight.shape in (asked, asked[::-1]) for each in outputs for weight in each.weights):
            return []  # a weight, its gradient or its slot
        fitting = [each for each in outputs if fits(each, asked)]
        if fitting:
            built = _of_one_net(outputs, fitting[-1])
            made = _in_blocks([at_batch(each, asked[0] or 1, fits(each, asked)) for each in built])
            return sorted(made, key=lambda each: -each.bytes)
    return []


def _stated_batch(told: Surroundings) -> int | None:
    """The batch that the text sets."""
    setting = told.setting("batch_size")
    return int(setting[0]) if setting and setting[0].isdigit() else batch_by_name(told)


def outputs_beside(case: Case, layer: str | None, first: int) -> list[CodeOutput]:
    """All outputs of the code's layers, the largest first, where something inside one of them failed that has
    as many rows as the batch that the text states; nothing where the layers make their tensors again and
    again.
    """
    layers = _layers(case) if layer and first == _stated_batch(case.capture.surroundings) else ()
    names = {name for each in layers for name in (each.name, *each.blocks) if name}
    if not layers or not layer or not names & set(layer.split("/")):
        return []
    sizes: dict[tuple[Line, int, str, int], set[tuple[int | None, ...]]] = {}
    for each in layers:
        sizes.setdefault((each.line, each.making, each.name, len(each.shape)), set()).add(each.shape)
    if any(len(each) > 1 for each in sizes.values()):
        return []  # a net that is called with several sizes: nobody knows with which
    return sorted(_in_blocks([at_batch(each, first) for each in layers]), key=lambda each: -each.bytes)


def kernels_of(made: Sequence[CodeOutput]) -> list[tuple[CodeOutput, WeightSpec]]:
    """The weights of the layers that make these, the largest first; a layer that is called twice has its own
    once.
    """
    owners = {(each.name, each.output.line, each.output.making): each for each in made}
    kernels = [(each, weight) for each in owners.values() for weight in each.output.weights]
    return sorted(kernels, key=lambda pair: -pair[1].bytes)


def weighing(case: Case, shape: Sequence[int | None]) -> list[LayerOutput]:
    """The layers of the program that own a weight of this shape, each once."""
    owners = {
        (each.name, each.line, each.making): each
        for each in (_layers(case) if all(shape) else ())
        if any(tuple(weight.shape) == tuple(shape) for weight in each.weights)
    }
    return list(owners.values())


def largest_weight(case: Case) -> int:
    """The bytes of the largest weight of the program's layers; 0 where none is known."""
    return max((weight.bytes for each in _layers(case) for weight in each.weights), default=0)


def _layers(case: Case) -> tuple[LayerOutput, ...]:
    """All outputs of the program's layers; trees are followed only where there is a program."""
    program = case.capture.surroundings.program()
    if not program:
        return ()
    from tfmemlens.knowledge.keras_program import layer_outputs

    return layer_outputs(program)


def models_made(case: Case) -> tuple[int, int]:
    """The weights of one model that the program's lines make again and again, and how many it makes; 0 and 0
    where it makes none twice.
    """
    weights: dict[int, dict[tuple[str, Line], int]] = {}
    counts, whole = Counter[tuple[str, Line]](), 0
    for each in _layers(case):
        of_one, size = weights.setdefault(each.making, {}), sum(weight.bytes for weight in each.weights)
        of_one[each.name, each.line] = size
        counts[each.name, each.line] += 1 if size else 0
        whole += size
    first = sum(weights.get(0, {}).values())
    alike = [made for made in weights.values() if sum(made.values()) >= _MOST_OF_A_MODEL * first]
    once = min((count for count in counts.values() if count), default=0)
    if 1 < once < len(alike):
        return whole // once, once  # blocks of one class stand in each model several times
    return (first, len(alike)) if first and len(alike) > 1 else (0, 0)


_MOST_OF_A_MODEL = 0.5
"""Of the first model's weights: what has less is a part that it shares with others."""


def _is_batch(first: int, stated: int) -> bool:
    """Whether a first dimension may be the stated batch, part of it, several joined, or folded."""
    folded = stated > 0 and first % stated == 0 and first <= _MOST_FRAMES * stated
    return first <= _MOST_BATCHES * stated or folded


def _of_one_net(outputs: Sequence[LayerOutput], asked: LayerOutput) -> list[LayerOutput]:
    """Of a net that is built or called again and again, with other sizes, what goes with the tensor that was
    asked for; what is made once is of all.
    """
    alike: dict[tuple[str, Line], list[LayerOutput]] = {}
    for each in outputs:
        alike.setdefault((each.name, each.line), []).append(each)
    chosen = []
    for those in alike.values():
        if asked.of_model and (of_call := [each for each in those if _of_its_call(each, asked)]):
            chosen += of_call  # a model calls all its blocks, however many are of one class
            continue
        times = [(each.making, each.turn) for each in those]
        time = (asked.making, asked.turn)
        time = time if time in times else times[-1]
        chosen += [each for each, its in zip(those, times, strict=True) if its == time]
    return chosen


def _of_its_call(output: LayerOutput, asked: LayerOutput) -> bool:
    return output.of_model and output.turn == asked.turn


def _in_blocks(made: Sequence[CodeOutput]) -> list[CodeOutput]:
    """The same, those of one name with the blocks that they are parts of."""
    named = Counter(each.output.name for each in made)
    return [
        replace(each, block="/".join(filter(None, each.output.blocks)))
        if named[each.output.name] > 1
        else each
        for each in made
    ]


def _narrow(shape: Sequence[int | None]) -> tuple[int | None, ...]:
    """Without the side of 1 that a convolution in one dimension is run with."""
    return tuple(side for at, side in enumerate(shape) if side != 1 or not 0 < at < len(shape) - 1)


def at_batch(output: LayerOutput, batch: int, asked: bool = False) -> CodeOutput:
    """What a layer makes at this batch."""
    sizes = tuple(batch if each is None else each for each in output.shape)
    return CodeOutput(output, sizes, tensor_bytes(sizes, output.dtype) or 0, asked)
