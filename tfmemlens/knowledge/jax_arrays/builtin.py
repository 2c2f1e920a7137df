"""Functions, operators and methods of Python's own that sizes go through."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfmemlens.knowledge.jax_arrays.rules import elementwise
from tfmemlens.knowledge.jax_arrays.transforms import items_of
from tfmemlens.knowledge.jax_arrays.values import UNKNOWN, JaxArray, Library, Thing, is_number
from tfmemlens.knowledge.tree_values import ARITHMETIC, COMPARES

METHODS_OF_TREES = frozenset({"tree_map", "tree_leaves", "tree_flatten"})
_MOST = 1 << 50
_OPERATORS = {**ARITHMETIC, **COMPARES}


def operated(op: ast.AST, values: Sequence[Any]) -> Any:
    """An operator on two values of Python's."""
    left, right = values[0], values[-1]
    if any(each is UNKNOWN or isinstance(each, JaxArray | Thing) for each in values) or len(values) != 2:
        return UNKNOWN
    if isinstance(op, ast.Is | ast.IsNot):
        return (left is right) == isinstance(op, ast.Is)
    if isinstance(op, ast.In | ast.NotIn):
        known = isinstance(right, list | tuple | dict | str)
        return (left in right) == isinstance(op, ast.In) if known else UNKNOWN
    if isinstance(op, ast.Pow) and is_number(left) and is_number(right):
        small = abs(right) <= 4 or (abs(left) <= 64 and abs(right) <= 40)
        return left**right if small and left > 0 else UNKNOWN
    if isinstance(op, ast.BitOr) and isinstance(left, dict) and isinstance(right, dict):
        return left | right
    function = _OPERATORS.get(type(op))
    joins = isinstance(op, ast.Add) and isinstance(left, list | tuple) and type(left) is type(right)
    repeats = isinstance(op, ast.Mult) and isinstance(left, list | tuple) and isinstance(right, int)
    numbers = is_number(left) and is_number(right)
    compares = isinstance(op, ast.Eq | ast.NotEq) and isinstance(left, str | tuple)
    if function is None or not (joins or repeats or numbers or compares):
        return UNKNOWN
    if repeats and len(left) * max(right, 0) > 4096:
        return UNKNOWN
    if isinstance(op, ast.Div | ast.FloorDiv | ast.Mod) and not right:
        return UNKNOWN
    made = function(left, right)
    return UNKNOWN if is_number(made) and abs(made) > _MOST else made


def _zipped(*parts: Any) -> Any:
    lists = [items_of(each) for each in parts]
    return list(zip(*lists, strict=False)) if all(lists) else UNKNOWN


def _enumerated(items: Any = UNKNOWN, start: Any = 0, *_: Any) -> Any:
    return list(enumerate(items_of(items), start)) if isinstance(start, int) else UNKNOWN


def _range(*ends: Any) -> Any:
    whole_numbers = all(isinstance(each, int) for each in ends)
    if not whole_numbers or not 1 <= len(ends) <= 3 or (len(ends) == 3 and not ends[2]):
        return UNKNOWN
    return range(*ends)


def _length(value: Any = UNKNOWN, *_: Any) -> Any:
    if isinstance(value, JaxArray):
        return value.shape[0] if value.shape else UNKNOWN
    return len(value) if isinstance(value, list | tuple | dict | str | range) else UNKNOWN


def _of_number(function: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function of one number; of anything else nothing is known."""
    return lambda value=UNKNOWN, *_: function(value) if is_number(value) else UNKNOWN


def _of_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same of two and more."""
    return lambda *values: function(*values) if len(values) > 1 and all(map(is_number, values)) else UNKNOWN


def _product(value: Any = UNKNOWN, *_: Any) -> Any:
    numbers = items_of(value)
    return math.prod(numbers) if numbers and all(map(is_number, numbers)) else UNKNOWN


def _items(value: Any = UNKNOWN, *_: Any) -> Any:
    return items_of(value)


def _summed(value: Any = UNKNOWN, start: Any = 0, *_: Any) -> Any:
    parts = items_of(value)
    if parts and all(map(is_number, parts)) and is_number(start):
        return sum(parts, start)
    arrays = isinstance(value, list | tuple) and all(isinstance(each, JaxArray) for each in parts)
    return elementwise(*parts) or UNKNOWN if arrays and parts else UNKNOWN


def _next(value: Any = UNKNOWN, *_: Any) -> Any:
    parts = items_of(value)
    return parts[0] if parts else UNKNOWN


_TYPES: dict[str, tuple[type, ...]] = {
    "dict": (dict,), "list": (list,), "tuple": (tuple,), "str": (str,), "int": (int,), "float": (float,),
}  # fmt: skip


def _is_instance(value: Any = UNKNOWN, of: Any = UNKNOWN, *_: Any) -> Any:
    wanted = of if isinstance(of, tuple) else (of,)
    types = [_TYPES.get(each.path) if isinstance(each, Library) else None for each in wanted]
    plain = value is None or isinstance(value, dict | list | tuple | str | int | float)
    if not plain or None in types:
        return UNKNOWN
    return any(isinstance(value, each) for each in types if each)


def _dict(value: Any = None, *_: Any, **named: Any) -> Any:
    if isinstance(value, dict) or value is None:
        return (value or {}) | named
    pairs = items_of(value)
    known = all(isinstance(each, tuple | list) and len(each) == 2 for each in pairs)
    fits = pairs and known and all(isinstance(each[0], str | int | tuple) for each in pairs)
    return dict(pairs) | named if fits else UNKNOWN


_BUILTIN: dict[str, Callable[..., Any]] = {
    "range": _range,
    "len": _length,
    "zip": _zipped,
    "enumerate": _enumerated,
    "list": _items,
    "tuple": lambda *values: tuple(_items(*values)),
    "sum": _summed,
    "next": _next,
    "iter": _items,
    "vars": lambda value=UNKNOWN, *_: value.names if isinstance(value, Thing) else UNKNOWN,
    "isinstance": _is_instance,
    "reversed": lambda *values: _items(*values)[::-1],
    "int": _of_number(int),
    "float": _of_number(float),
    "abs": _of_number(abs),
    "round": _of_number(round),
    "max": _of_numbers(max),
    "min": _of_numbers(min),
    "math.sqrt": _of_number(lambda value: value**0.5 if value >= 0 else UNKNOWN),
    "math.ceil": _of_number(math.ceil),
    "math.prod": _product,
    "tqdm.tqdm": lambda value=UNKNOWN, *_: value,
    "tqdm": lambda value=UNKNOWN, *_: value,
}


def called_builtin(path: str, args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """A function of Python's; of what nobody defines nothing is known."""
    if path == "dict":
        return _dict(*args[:1], **named)
    function = _BUILTIN.get(path)
    return UNKNOWN if function is None or any(each is UNKNOWN for each in args) else function(*args)


def called_on(of: Any, name: str, args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """A method of a list or a dict."""
    if isinstance(of, list) and name == "append" and args:
        if len(of) < 4096:
            of.append(args[0])
        return None
    if isinstance(of, list) and name == "extend" and args:
        of += items_of(args[0])[: 4096 - len(of)]
        return None
    if isinstance(of, dict):
        if name == "copy":
            return dict(of)
        if name == "update":
            of |= {**(args[0] if args and isinstance(args[0], dict) else {}), **named}
            return None
        if name == "items":
            return list(of.items())
        if name in ("keys", "values"):
            return list(getattr(of, name)())
        if name == "get" and args and isinstance(args[0], str | int):
            return of.get(*args[:2])
    return UNKNOWN
