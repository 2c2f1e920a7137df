"""The models that a quoted program makes: their names, and the weights of their layers."""

from __future__ import annotations

import ast
from typing import Any

from tfmemlens.knowledge.keras_layers import LayerSpecs
from tfmemlens.knowledge.keras_program.reader import FollowedProgram, ProgramReader
from tfmemlens.knowledge.keras_program.values import Layer, Names, Net
from tfmemlens.model.line import Line
from tfmemlens.model.network import WeightSpec
from tfmemlens.model.program import Program
from tfmemlens.values import dataclass

__all__ = ["ModelMade", "models_of"]


@dataclass(frozen=True, slots=True)
class ModelMade:
    """A model under the name that the program last gave it."""

    name: str
    line: Line
    weights: tuple[WeightSpec, ...]

    @property
    def bytes(self) -> int:
        """All its weights that are known."""
        return sum(each.bytes for each in self.weights)


def models_of(program: Program) -> tuple[ModelMade, ...]:
    """All models of known weights that have a name, in their order."""
    reader = _Models(FollowedProgram(program))
    reader.follow()
    return tuple(
        ModelMade(name, line, tuple(reader.weights[at]))
        for at, (name, line) in reader.names.items()
        if reader.weights.get(at)
    )


class _Models(ProgramReader):
    """Counts layers for the model that is made, or added to, behind their calls."""

    def __init__(self, source: FollowedProgram) -> None:
        super().__init__(source)
        self.names: dict[int, tuple[str, Line]] = {}
        self.weights: dict[int, list[WeightSpec]] = {}
        self._nets: list[Net] = []
        """Models stay alive, so that no other gets their identity."""
        self._seen: dict[int, Layer] = {}
        self._fresh: list[WeightSpec] = []

    def layer_called(self, layer: Layer, specs: LayerSpecs, positional: list[Any], named: Names) -> Any:
        del positional, named
        if id(layer) not in self._seen:
            self._seen[id(layer)] = layer
            self._fresh += specs.weights

    def assigned(self, node: ast.Assign, value: Any) -> None:
        """A model gets a name, and another where a function returns it."""
        line = self.source.line_of(node.value) if isinstance(node.value, ast.Call) else None
        if (
            isinstance(value, Net)
            and line
            and len(node.targets) == 1
            and isinstance(node.targets[0], ast.Name)
        ):
            self._nets.append(value)
            self.names[id(value)] = node.targets[0].id, line
            self._owns(value)

    def method(self, value: Any, name: str, positional: list[Any], named: Names) -> Any:
        """What `model.add` makes is the model's."""
        made = super().method(value, name, positional, named)
        if isinstance(value, Net) and name == "add":
            self._owns(value)
        return made

    def _owns(self, net: Net) -> None:
        self.weights.setdefault(id(net), []).extend(self._fresh)
        self._fresh = []
