"""Tensors that the lines of the program make in one step, at the batch of the failure, by the line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.model.tensor import tensor_bytes
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

if TYPE_CHECKING:
    from tfmemlens.knowledge.keras_program.tensors import TensorMade


@dataclass(frozen=True, slots=True)
class CodeTensor:
    """What one call or operator makes at the batch."""

    made: TensorMade
    shape: tuple[int, ...]
    bytes: int
    """Of one."""
    asked: bool
    """Whether it has the shape that failed."""

    @property
    def of_layer(self) -> bool:
        """Whether a layer of Keras's makes it."""
        function = self.made.code.partition("(")[0]
        return self.made.op[:1].isupper() or "layers." in function or function.startswith("slim.")

    @property
    def total_bytes(self) -> int:
        """Of all that a step makes."""
        return self.bytes * self.made.times


@dataclass(frozen=True, slots=True)
class LineTensors:
    """All that one line makes in a step, the largest first."""

    line: Line
    tensors: tuple[CodeTensor, ...]

    @property
    def total_bytes(self) -> int:
        """Of all that the line makes in a step."""
        return sum(each.total_bytes for each in self.tensors)

    @property
    def largest(self) -> CodeTensor:
        """What most of it is."""
        return self.tensors[0]


def fits(made: TensorMade, shape: Sequence[int | None]) -> bool:
    """Whether it may have this shape: sides that nothing tells fit every size."""
    return len(made.shape) == len(shape) and all(
        mine is None or mine == theirs for mine, theirs in zip(made.shape, shape, strict=True)
    )


def code_tensors(program: Program, batch: int | None, asked: Sequence[int | None] | None) -> list[CodeTensor]:
    """All tensors of the program's lines whose sizes are known at this batch, or follow from the shape that
    failed where the program leaves them open.
    """
    told = []
    for made in tensors_made(program):
        is_asked = asked is not None and _tells(made) and fits(made, asked)
        shape = bound(made.shape, batch, asked)
        size = tensor_bytes(shape, made.dtype) if shape else None
        if shape and size:
            told.append(CodeTensor(made, shape, size, is_asked and tuple(asked or ()) == shape))
    return told


def by_line(tensors: Sequence[CodeTensor]) -> list[LineTensors]:
    """The same by their lines, the line that makes most first."""
    lines: dict[tuple[str, int], list[CodeTensor]] = {}
    for each in tensors:
        lines.setdefault((each.made.line.source, each.made.line.number), []).append(each)
    grouped = [
        LineTensors(those[0].made.line, tuple(sorted(those, key=lambda each: -each.total_bytes)))
        for those in lines.values()
    ]
    return sorted(grouped, key=lambda each: -each.total_bytes)


def of_the_size(tensors: Sequence[CodeTensor]) -> list[CodeTensor]:
    """The tensors of the shape that failed, and those of the same size, whatever their sides; none where none
    has the shape.
    """
    sizes = {each.bytes for each in tensors if each.asked}
    return [each for each in tensors if each.bytes in sizes]


def rows_through_a_net(request: Request, asked: Sequence[LineTensors]) -> int:
    """The rows that a layer of the program was given at once, where they are so many that they are positions,
    rays or points, and no batch; 0 of others.
    """
    shape = request.failed.shape or ()
    rows_of = shape[0] if len(shape) == _FLAT else 0
    return rows_of if rows_of and rows_of >= _MANY_ROWS and asked and asked[0].largest.of_layer else 0


_MANY_ROWS, _FLAT = 65_536, 2


@lru_cache(maxsize=2)
def tensors_made(program: Program) -> tuple[TensorMade, ...]:
    """All tensors of the program's lines, sides as far as they are known; trees are read but once."""
    from tfmemlens.knowledge.keras_program.tensors import tensors_of

    return tensors_of(program)


def _tells(made: TensorMade) -> bool:
    """Whether more than its rank and one side is known of it."""
    return sum(side is not None for side in made.shape) > 1


def batch_of_the_code(case: Case, moment: Moment) -> int | None:
    """The batch of the run; Keras's own where `fit` is given none."""
    batch = remedies.batch_of(case, moment)
    if batch is None and any(_FITS.search(line.text) for line in code_lines(case.capture.surroundings)):
        return _KERAS_BATCH
    return batch


_FITS, _KERAS_BATCH = regex(r"\.fit\("), 32


def bound(
    shape: tuple[int | None, ...], batch: int | None, asked: Sequence[int | None] | None
) -> tuple[int, ...]:
    """The shape with the batch in the first place, and with other open sides as in a shape of the same rank
    that failed; empty where one stays open.
    """
    known = [batch if at == 0 and side is None else side for at, side in enumerate(shape)]
    if asked is not None and len(asked) == len(shape) and None in known:
        open_alike = [mine if mine is not None else theirs for mine, theirs in zip(known, asked, strict=True)]
        known = open_alike
    whole = tuple(side for side in known if side is not None)
    return whole if len(whole) == len(shape) else ()
