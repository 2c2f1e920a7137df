"""Objects of a JAX program: methods of classes and their bases, tuples with names, settings."""

from __future__ import annotations

import ast
from typing import Any

from tfmemlens.knowledge.jax_arrays.transforms import items_of
from tfmemlens.knowledge.jax_arrays.values import (
    UNKNOWN,
    Above,
    Class,
    JaxFunction,
    JaxScope,
    Library,
    Thing,
    Transformed,
)
from tfmemlens.values import replace

METHODS_OF_THINGS = frozenset({"replace", "_replace", "_asdict"})
_KINDS = {"property": "property", "cached_property": "property"}
_KINDS |= {"classmethod": "classmethod", "staticmethod": "staticmethod"}
_SETTINGS = frozenset({"SimpleNamespace", "Namespace", "ConfigDict", "FrozenConfigDict", "DotDict", "Munch"})


def bound(function: Any, thing: Any) -> Any:
    """A function as a method of this object, also below what its decorators make of it."""
    if isinstance(function, JaxFunction):
        return replace(function, bound=thing)
    return (
        replace(function, inner=bound(function.inner, thing))
        if isinstance(function, Transformed)
        else function
    )


def owned(function: Any, by: Class, scope: JaxScope) -> Any:
    """A function of a class, whose body sees the names around the class."""
    if isinstance(function, JaxFunction):
        return replace(function, owner=by, scope=scope)
    if isinstance(function, Transformed):
        return replace(function, inner=owned(function.inner, by, scope))
    return function


def kind_of(node: ast.FunctionDef) -> str:
    """What its decorators make of a function of a class."""
    names = [ast.unparse(each).rpartition(".")[2] for each in node.decorator_list]
    return next((_KINDS[name] for name in names if name in _KINDS), "")


def inherited(made: Class, base: Any) -> None:
    """Give a class what its base has."""
    if isinstance(base, Library):
        made.is_tuple = made.is_tuple or base.last == "NamedTuple"
    if isinstance(base, Class):
        made.bases.append(base)
        made.functions = base.functions | made.functions
        made.kinds = base.kinds | made.kinds
        made.values = base.values | made.values
        made.fields += [name for name in base.fields if name not in made.fields]
        made.is_tuple = made.is_tuple or base.is_tuple


def under(above: Above, name: str) -> Any:
    """`super().name`."""
    functions = (base.functions[name] for base in above.bases if name in base.functions)
    return bound(next(functions, UNKNOWN), above.thing)


def changed(thing: Thing, name: str, named: dict[str, Any]) -> Any:
    """`config.replace(…)`, `state._replace(…)`, `state._asdict()`."""
    if name == "_asdict":
        return dict(thing.names)
    made = Thing(thing.of)
    made.names = thing.names | named
    return made


def made_object(path: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """What a library's function makes of a program's names; None where it makes no objects."""
    name = path.rpartition(".")[2]
    if name == "namedtuple" and len(args) > 1:
        return _named_tuple(args, named)
    if name in _SETTINGS and not path.startswith("argparse.parser"):
        given = args[0] if args and isinstance(args[0], dict) else {}
        return _settings(given | named)
    if path in ("dataclasses.replace", "replace") and args and isinstance(args[0], Thing):
        return changed(args[0], "replace", named)
    if path in ("dataclasses.asdict", "asdict") and args and isinstance(args[0], Thing):
        return dict(args[0].names)
    return None


def _named_tuple(args: tuple[Any, ...], named: dict[str, Any]) -> Class:
    made = Class(str(args[0]))
    fields = args[1].replace(",", " ").split() if isinstance(args[1], str) else items_of(args[1])
    made.fields = [each for each in fields if isinstance(each, str)]
    made.is_tuple = True
    defaults = items_of(named.get("defaults"))
    if defaults:
        made.values = dict(zip(made.fields[-len(defaults) :], defaults, strict=False))
    return made


def _settings(given: dict[str, Any]) -> Thing:
    """An object with these names; a dict in it is one as well."""
    made = Thing(Class("Namespace"))
    made.names = {
        key: _settings(each) if isinstance(each, dict) else each
        for key, each in given.items()
        if isinstance(key, str)
    }
    return made
