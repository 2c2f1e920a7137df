"""A scope as a layer of the program that was read with its log: the names that its code gives, for a run that
did not describe its model itself.

`sculptor_1/polish_1` is `polish` where the code says `Conv3D(16, 3, name='polish')`; `Conv2D`, the class that
a message names, is the one layer of this class that makes so many channels.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.program import Program
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

_NUMBER = regex(r"_\d{1,4}\Z")
_MODELS = frozenset({"Model", "Sequential", "Functional"})


@dataclass(frozen=True, slots=True)
class NamedLayer:
    """A call of the code that is given a name."""

    name: str
    kind: str
    """`Conv2D`, whatever the module is called."""
    width: int | None
    """The first number that it is given: channels, units."""


def layer_of(program: Program, scope: str, shape: tuple[int | None, ...] | None) -> str | None:
    """The layer that a scope, or the class that a message names, is in the code; None where it tells none."""
    layers = list(_layers(program))
    return _by_scope(layers, scope) or _by_class(layers, scope, shape)


def _by_scope(layers: list[NamedLayer], scope: str) -> str | None:
    """The parts of a scope that the code names, without its models and the numbers of further calls."""
    models = {each.name for each in layers if each.kind in _MODELS}
    names = {each.name for each in layers} - models
    found = []
    for part in scope.split("/"):
        plain = _NUMBER.sub("", part)
        if part in names or plain in names:
            found.append(part if part in names else plain)
    return "/".join(found) or None


def _by_class(layers: list[NamedLayer], kind: str, shape: tuple[int | None, ...] | None) -> str | None:
    """The one layer of a class that makes as many channels as the shape has, else the only one of it."""
    alike = [each for each in layers if each.kind == kind]
    width = shape[-1] if shape else None
    wide = [each for each in alike if each.width is not None and each.width == width]
    one = wide if len(wide) == 1 else alike
    return one[0].name if len(one) == 1 else None


def _layers(program: Program) -> Iterator[NamedLayer]:
    seen = set[NamedLayer]()
    for statement in program:
        if statement.of_frame:
            continue
        for node in statement.nodes:
            made = _named(node) if isinstance(node, ast.Call) else None
            if made and made not in seen:
                seen.add(made)
                yield made


def _named(call: ast.Call) -> NamedLayer | None:
    name = next((word.value for word in call.keywords if word.arg == "name"), None)
    kind = last_name(call.func)
    if not (isinstance(name, ast.Constant) and isinstance(name.value, str) and kind[:1].isupper()):
        return None
    first = call.args[0] if call.args else None
    width = first.value if isinstance(first, ast.Constant) and isinstance(first.value, int) else None
    return NamedLayer(name.value, kind, width)
