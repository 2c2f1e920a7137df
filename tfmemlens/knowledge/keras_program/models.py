"""The models that a quoted program makes: their names, and the weights of their layers."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
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
    """A model under the name that the program last gave it, or all models of one list or dictionary."""

    name: str
    line: Line
    weights: tuple[WeightSpec, ...]
    lines: frozenset[Line]
    """Where its layers are made."""
    count: int = 1

    @property
    def bytes(self) -> int:
        """All its weights that are known."""
        return sum(each.bytes for each in self.weights)


def models_of(program: Program) -> tuple[ModelMade, ...]:
    """All models of known weights that have a name, in their order; those of a list as one."""
    reader = _Models(FollowedProgram(program))
    reader.follow()
    groups = [(*reader.lists[at], nets) for at, nets in reader.in_lists()]
    grouped = {id(net) for *_, nets in groups for net in nets}
    alone = [
        reader.made(name, line, [at])
        for at, (name, line, _) in reader.names.items()
        if reader.weights.get(at) and at not in grouped
    ]
    together = [reader.made(name, line, [id(net) for net in nets]) for name, line, _, _, nets in groups]
    return (*alone, *(each for each in together if each.weights))


class _Models(ProgramReader):
    """Counts layers for the model that is made, or added to, behind their calls."""

    def __init__(self, source: FollowedProgram) -> None:
        super().__init__(source)
        self.names: dict[int, tuple[str, Line, int]] = {}
        """By identity: the name of a model, where it got it, and in how many calls of functions."""
        self.lists: dict[int, tuple[str, Line, int, Any]] = {}
        """The same of lists and dictionaries, with themselves."""
        self.weights: dict[int, list[WeightSpec]] = {}
        self._nets: list[Net] = []
        """Models stay alive, so that no other gets their identity."""
        self._lines: dict[int, list[Line]] = {}
        self._seen: dict[int, Layer] = {}
        self._fresh: list[WeightSpec] = []
        self._fresh_lines: list[Line] = []

    def made(self, name: str, line: Line, of: Sequence[int]) -> ModelMade:
        """The models of these identities as one."""
        weights = tuple(each for at in of for each in self.weights.get(at, ()))
        lines = frozenset(each for at in of for each in self._lines.get(at, ()))
        return ModelMade(name, line, weights, lines, len(of))

    def in_lists(self) -> Iterator[tuple[int, list[Net]]]:
        """The models of each named list that holds nothing else, and of which none has a name beside it."""
        for at, (_, _, depth, value) in self.lists.items():
            held = list(value.values()) if isinstance(value, dict) else list(value)
            nets = [each for each in held if isinstance(each, Net)]
            inner = all(self.names[id(net)][2] > depth for net in nets if id(net) in self.names)
            if nets and len(nets) == len(held) and inner:
                yield at, nets

    def layer_called(self, layer: Layer, specs: LayerSpecs, positional: list[Any], named: Names) -> Any:
        del positional, named
        if id(layer) not in self._seen:
            self._seen[id(layer)] = layer
            self._fresh += specs.weights
            line = self.source.line_of(layer.node)
            self._fresh_lines += [line] if line else []

    def assigned(self, node: ast.Assign, value: Any) -> None:
        """A model gets a name, and another where a function returns it; or a list of them does."""
        name, line = _named(node.targets[0]), self.source.line_of(node.value)
        if line is None or len(node.targets) != 1 or not name:
            return
        if isinstance(value, Net) and isinstance(node.value, ast.Call):
            self._nets.append(value)
            self.names[id(value)] = name, line, self.depth
            self._owns(value)
        if isinstance(value, list | tuple | dict):
            self.lists.setdefault(id(value), (name, line, self.depth, value))
            first = next(iter(value.values() if isinstance(value, dict) else value), None)
            if isinstance(first, Net):
                self._owns(first)

    def method(self, value: Any, name: str, positional: list[Any], named: Names) -> Any:
        """What `model.add` makes is the model's, and what stands behind `list.append` that of its model."""
        made = super().method(value, name, positional, named)
        owner = {"add": value, "append": next(iter(positional), None)}.get(name)
        if isinstance(owner, Net):
            self._owns(owner)
        return made

    def _owns(self, net: Net) -> None:
        self.weights.setdefault(id(net), []).extend(self._fresh)
        self._lines.setdefault(id(net), []).extend(self._fresh_lines)
        self._fresh, self._fresh_lines = [], []


def _named(target: ast.expr) -> str:
    """`net` or `self.net`; empty of another target."""
    own = (
        isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
    )
    return ast.unparse(target) if own or isinstance(target, ast.Name) else ""
