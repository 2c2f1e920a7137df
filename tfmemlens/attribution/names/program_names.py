"""A scope as a layer of the program that was read with its log: the names that its code gives, for a run that
did not describe its model itself.

`sculptor_1/polish_1` is `polish` where the code says `Conv3D(16, 3, name='polish')`; `Conv2D`, the class that
a message names, is the one layer of this class that makes so many channels.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence

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
    if found := _by_scope(layers, scope, list(_patterns(program))):
        return found
    return None if _may_be_nameless(program, scope, shape) else _by_class(layers, scope, shape)


def _may_be_nameless(program: Program, kind: str, shape: tuple[int | None, ...] | None) -> bool:
    """Whether the code makes a layer of this class without a name, which may have as many channels."""
    width = shape[-1] if shape else None
    calls = (node for statement in program for node in statement.nodes if not statement.of_frame)
    return any(
        isinstance(node, ast.Call)
        and last_name(node.func) == kind
        and not any(word.arg == "name" for word in node.keywords)
        and _width(node) in (None, width)
        for node in calls
    )


def _by_scope(layers: list[NamedLayer], scope: str, patterns: Sequence[re.Pattern[str]]) -> str | None:
    """The parts of a scope that the code names, without its models and the numbers of further calls; also
    those of which it states a part, as `f"stage_{i}"` does.
    """
    models = {each.name for each in layers if each.kind in _MODELS}
    names = {each.name for each in layers} - models
    found = []
    for part in scope.split("/"):
        plain = _NUMBER.sub("", part)
        if part in names or plain in names:
            found.append(part if part in names else plain)
        elif numbered := next((each for each in (part, plain) if any(map(_fits(each), patterns))), None):
            found.append(numbered)
    return "/".join(found) or None


def _fits(part: str) -> Callable[[re.Pattern[str]], bool]:
    return lambda pattern: pattern.fullmatch(part) is not None


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
    return NamedLayer(name.value, kind, _width(call))


def _width(call: ast.Call) -> int | None:
    """The channels or units that a call of a layer states."""
    first = call.args[0] if call.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, int) else None


_ANY = r"(?:\d+|[A-Za-z]\w*)"
"""What a name has in the place of a value: a number, with which another behind it is of a further call."""
_FIELD = regex(r"%-?\d*[a-z]|\{[^{}]*\}")
_LEAST_STATED = 2
"""Letters that a name states, so that it tells of anything."""


def _patterns(program: Program) -> Iterator[re.Pattern[str]]:
    """The names that the code puts together for its layers: `f"stage_{i}"`, `"stage_%d" % i`."""
    for statement in program:
        if statement.of_frame:
            continue
        for node in statement.nodes:
            if isinstance(node, ast.Call) and last_name(node.func)[:1].isupper():
                name = next((word.value for word in node.keywords if word.arg == "name"), None)
                text = _stated(name) if name and not isinstance(name, ast.Constant) else None
                if text and len(_ANY.join(text).replace(_ANY, "")) >= _LEAST_STATED:
                    yield regex(_ANY.join(map(re.escape, text)))


def _stated(name: ast.expr) -> list[str] | None:
    """The parts of a name between its values; None where it is put together otherwise."""
    if isinstance(name, ast.JoinedStr):
        marked = (each.value if isinstance(each, ast.Constant) else "{}" for each in name.values)
        return _FIELD.split("".join(map(str, marked)))
    if isinstance(name, ast.BinOp) and isinstance(name.left, ast.Constant):
        if isinstance(name.op, ast.Mod):
            return _FIELD.split(str(name.left.value))
        return [str(name.left.value), ""] if isinstance(name.op, ast.Add) else None
    if isinstance(name, ast.Call) and isinstance(name.func, ast.Attribute) and name.func.attr == "format":
        said = name.func.value
        return _FIELD.split(str(said.value)) if isinstance(said, ast.Constant) else None
    return None
