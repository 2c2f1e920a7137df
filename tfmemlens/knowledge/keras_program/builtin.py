"""Calls of Python's own functions and of methods of its own values, as programs use them to build models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfmemlens.knowledge.keras_program.values import UNKNOWN, DataSet
from tfmemlens.model.tensor import TensorType
from tfmemlens.patterns import regex

_MOST, _LARGEST = 4096, 1 << 62
_NUMBERS = (int, float)
_SUMS: dict[str, Callable[[Any], Any]] = {"max": max, "min": min, "sum": sum}
_ROUNDED: dict[str, Callable[[Any], Any]] = {"abs": abs, "round": round}
FUNCTIONS = frozenset(
    "range len int float str list tuple enumerate zip max min sum reversed sorted abs round slice".split()
)


def called(name: str, given: list[Any]) -> Any:
    """The value of one of FUNCTIONS; UNKNOWN where its arguments do not tell."""
    first: Any = given[0] if given else UNKNOWN
    if name == "range":
        whole = all(isinstance(each, int) and abs(each) < _LARGEST for each in given)
        if not whole or not 1 <= len(given) <= 3 or given[2:] == [0]:
            return UNKNOWN
        turns = range(*given)
        return tuple(turns) if not turns[_MOST:] else UNKNOWN
    if name == "len":
        return _length(first)
    if any(isinstance(each, DataSet) for each in given):
        return _of_sets(name, given)
    if name == "slice":
        return slice(*given) if 1 <= len(given) <= 3 else UNKNOWN
    if name in ("int", "float", "str", "abs", "round"):
        return _number(name, first)
    if name in _SUMS:
        numbers = first if isinstance(first, tuple | list) else given
        known = bool(numbers) and all(isinstance(each, _NUMBERS) and abs(each) < _LARGEST for each in numbers)
        return _SUMS[name](numbers) if known else UNKNOWN
    if not given:
        return []
    if not all(isinstance(each, tuple | list) for each in given):
        return list(first) if isinstance(first, dict) else UNKNOWN
    if name == "enumerate":
        return list(enumerate(first))
    if name == "zip":
        return list(zip(*given, strict=False))
    if name == "reversed":
        return list(reversed(first))
    if name == "sorted":
        return sorted(first) if all(isinstance(each, _NUMBERS) for each in first) else UNKNOWN
    return tuple(first) if name == "tuple" else list(first)


def _of_sets(name: str, given: list[Any]) -> Any:
    """A data set that is gone through with others, or with numbers."""
    elements = [each.element if isinstance(each, DataSet) else UNKNOWN for each in given]
    if name == "enumerate":
        return DataSet((UNKNOWN, elements[0]))
    return DataSet(tuple(elements)) if name == "zip" else UNKNOWN


def _length(value: Any) -> Any:
    if isinstance(value, tuple | list | dict | str):
        return len(value)
    return value.shape[0] if isinstance(value, TensorType) and value.shape and value.shape[0] else UNKNOWN


def _number(name: str, value: Any) -> Any:
    if not isinstance(value, int | float | str) or (isinstance(value, str) and len(value) > 30):
        return UNKNOWN
    try:
        if name == "str":
            return str(value)
        if name in ("abs", "round"):
            return UNKNOWN if isinstance(value, str) else _ROUNDED[name](value)
        return int(value) if name == "int" else float(value)
    except (ValueError, OverflowError):
        return UNKNOWN


def method(value: Any, name: str, given: list[Any]) -> Any:
    """The value of a method of a text, list or dictionary."""
    if isinstance(value, str):
        return _of_text(value, name, given)
    if isinstance(value, list):
        if name == "append" and len(given) == 1 and len(value) < _MOST:
            value.append(given[0])
            return None
        if name == "extend" and given and isinstance(given[0], tuple | list) and len(value) < _MOST:
            value.extend(given[0][:_MOST])
            return None
        if name == "pop" and value and not given:
            return value.pop()
    if isinstance(value, dict):
        if name == "get" and given and isinstance(given[0], int | str):
            return value.get(given[0], given[1] if len(given) > 1 else None)
        if name in ("items", "keys", "values"):
            return [*{"items": value.items, "keys": value.keys, "values": value.values}[name]()]
    return UNKNOWN


def _of_text(text: str, name: str, given: list[Any]) -> Any:
    if name == "split" and len(given) <= 1 and all(isinstance(each, str) and each for each in given):
        return text.split(*given)[:_MOST]
    if name == "format":
        return _in_braces(text, given)
    plain = {"lower": text.lower, "upper": text.upper, "strip": text.strip, "title": text.title}
    return plain[name]() if name in plain and not given else UNKNOWN


_PLACE = regex(r"\{\}")


def _in_braces(text: str, given: list[Any]) -> Any:
    """`'level_{}'.format(3)`, with a value for each place and no other braces."""
    plain = all(isinstance(each, str) or (isinstance(each, int) and abs(each) < _LARGEST) for each in given)
    known = plain and text.count("{") == text.count("}") == len(_PLACE.findall(text)) == len(given)
    return text.format(*given)[:_MOST] if known else UNKNOWN
