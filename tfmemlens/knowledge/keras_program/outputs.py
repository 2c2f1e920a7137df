"""What each layer of a program makes when it is called: shapes with an open batch, and where the layer is
made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfmemlens.knowledge.keras_layers import LayerSpecs
from tfmemlens.knowledge.keras_program import layers
from tfmemlens.knowledge.keras_program.reader import FollowedProgram, ProgramReader
from tfmemlens.knowledge.keras_program.values import Layer, Names, tensors_in
from tfmemlens.model.line import Line
from tfmemlens.model.network import WeightSpec
from tfmemlens.model.program import Program
from tfmemlens.model.tensor import TensorType
from tfmemlens.values import dataclass

_VIEWS = frozenset(("Reshape", "Flatten", "InputLayer", "Identity", "ActivityRegularization", "Masking"))
"""Layers that make no tensor of their own."""
_MOST_OUTPUTS = 4000
_TIMES = (1, 2, 4, 8)
"""What an input's sides may be of those of a layer's output, or the reverse."""


@dataclass(frozen=True, slots=True)
class LayerOutput:
    """A tensor that a layer makes at each call with these sizes."""

    name: str
    """What the program calls the layer; empty where it gives it no name."""
    class_name: str
    shape: tuple[int | None, ...]
    """The batch is None."""
    dtype: str
    line: Line
    """Where the layer is made."""
    making: int = 0
    """How many layers of this name the same line had made before: a net that is built again."""
    turn: int = 0
    """In which call of a model, of all calls from outside of any."""
    blocks: tuple[str, ...] = ()
    """What a model of the program calls on the way to it, by name; an empty one where it has none."""
    of_model: bool = False
    """Whether a model of the program calls it."""
    weights: tuple[WeightSpec, ...] = ()
    """The layer's own variables."""


def layer_outputs(program: Program, asked: Sequence[int | None] | None = None) -> tuple[LayerOutput, ...]:
    """All outputs of known size of the program's Keras layers, in the order of their calls. Nothing is run: a
    layer behind an open size, or behind a call that nothing tells of, is missing. Where the program leaves
    the sides of its input open, those are taken with which a layer makes a tensor of the shape `asked`, if
    any do.
    """
    source = FollowedProgram(program)
    reader = _followed(source)
    found = reader.outputs()
    if not reader.makes_layers or asked is None or not 2 <= len(asked) <= 5:
        return found
    if any(fits(each, asked) for each in found):
        return found
    for side in _sides(asked):
        tried = _followed(source, (side,) * (len(asked) - 2)).outputs()
        if any(fits(each, asked) for each in tried):
            return tried
    return found


def fits(output: LayerOutput, shape: Sequence[int | None]) -> bool:
    """Whether the layer makes a tensor of this shape at some batch."""
    return len(output.shape) == len(shape) and all(
        mine == theirs for mine, theirs in zip(output.shape[1:], shape[1:], strict=True)
    )


def _sides(asked: Sequence[int | None]) -> list[int]:
    """What the sides of an input may be, by those of a tensor that a layer makes of it."""
    inner = sorted({side for side in asked[1:-1] if side} or {1}, reverse=True)
    larger = [side * times for times in _TIMES for side in inner]
    smaller = [side // times for times in _TIMES[1:] for side in inner if side % times == 0]
    return larger + smaller


def _followed(source: FollowedProgram, sides: tuple[int, ...] | None = None) -> _Outputs:
    reader = _Outputs(source, sides)
    reader.follow()
    return reader


class _Outputs(ProgramReader):
    """Notes what layers make."""

    def __init__(self, source: FollowedProgram, open_sides: tuple[int, ...] | None) -> None:
        super().__init__(source, open_sides)
        self.makes_layers = False
        self._found: dict[tuple[int, tuple[int | None, ...]], LayerOutput] = {}
        self._makings: dict[tuple[str, Line], list[Layer]] = {}
        self._kept: list[Layer] = []
        """Layers that were noted stay alive, so that no other gets their identity."""

    def outputs(self) -> tuple[LayerOutput, ...]:
        """What was noted, in the order of the calls."""
        return tuple(self._found.values())

    def layer_made(self, layer: Layer) -> None:
        del layer
        self.makes_layers = True

    def layer_called(self, layer: Layer, specs: LayerSpecs, positional: list[Any], named: Names) -> Any:
        if specs.outputs and layers.known_sides(specs.outputs):
            self._note(layer, specs.outputs[0], specs.weights)
            if layer.class_name == "MultiHeadAttention":
                self._note_scores(layer, positional, named)

    def _note(self, layer: Layer, made: TensorType, weights: tuple[WeightSpec, ...] = ()) -> None:
        line = self.source.line_of(layer.node)
        full = len(self._found) >= _MOST_OUTPUTS
        if line is None or made.shape is None or layer.class_name in _VIEWS or full:
            return
        name = layer.config.get("name")
        own = name if isinstance(name, str) else layer.attribute
        told = "/".join([*self.scopes, *([own] if own else [])])
        making = self._makings.setdefault((told, line), [])
        if own and not any(layer is each for each in making):
            making.append(layer)
        again = max(len(making) - 1, 0)
        output = LayerOutput(
            told,
            layer.class_name,
            made.shape,
            made.dtype or "float32",
            line,
            again,
            self.turn,
            tuple(self.within[1:]),
            bool(self.within),
            weights,
        )
        self._found[id(layer), made.shape] = output
        self._kept.append(layer)

    def _note_scores(self, layer: Layer, positional: list[Any], named: Names) -> None:
        """The matrix of every position by every position, for each head."""
        given = [*positional, *[named[each] for each in ("query", "value", "key") if each in named]]
        shapes = [each.shape or () for each in tensors_in(given)][:2]
        heads = layer.config.get("num_heads")
        if len(shapes) == 2 and isinstance(heads, int) and all(len(each) == 3 for each in shapes):
            scores = (shapes[0][0], heads, shapes[0][1], shapes[1][1])
            self._note(layer, TensorType(scores, "float32"))
