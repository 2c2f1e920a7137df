"""The arrays that a JAX program makes, each with its shape and its line, where the code states every size
that they follow from. Nothing is run: the program is followed on shapes alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tfmemlens.knowledge.jax_arrays.reader import JaxReader, followed
from tfmemlens.knowledge.jax_arrays.values import Class, Derived, Noted, Reshaped, Thing, whole
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

__all__ = ["Derived", "Followed", "Noted", "arrays_of"]

_DEEPEST = 4
_OF_PARTS = regex(r"[.\[]")
_LEAST_NAMED = 3
"""Smaller sizes stand for too many things to have a name."""


@dataclass(frozen=True, slots=True)
class Followed:
    """What following a program gave."""

    arrays: tuple[Noted, ...]
    """All arrays of known shape that its lines make, in the order in which they run; an array that a line
    makes again and again stands there once.
    """
    names: Mapping[int, str]
    """Sizes to which the program gives one name alone: {50304: 'VOCAB'}."""
    kept: Mapping[Line, int]
    """By a line that adds to a list: the bytes on the device of what it adds at a time."""
    reshaped: tuple[Reshaped, ...] = ()
    """Compiled functions that a long loop gives another shape in each turn."""
    derived: tuple[Derived, ...] = ()
    """Derivatives of arrays by arrays whose sizes are known."""


def arrays_of(program: Program) -> Followed:
    """Follow a program."""
    reader = followed(program)
    seen: dict[tuple[object, ...], Noted] = {}
    for noted in reader.noted:
        if not noted.array.on_host and all(size > 0 for size in noted.array.shape):
            key = noted.line, noted.code, noted.array.shape, noted.array.dtype
            if key not in seen or _keeps_more(noted, seen[key]):
                seen[key] = noted
    named: dict[int, set[str]] = {}
    for name, size in _sizes(reader.top.names):
        if name not in reader.counters:
            named.setdefault(size, set()).add(name)
    names = {size: min(of, key=len) for size, of in named.items() if _is_one(of)}
    names = _of_defaults(reader) | dict.fromkeys(named, "") | names
    names = {size: name for size, name in names.items() if name}
    return Followed(tuple(seen.values()), names, reader.kept, tuple(reader.reshaped), tuple(reader.derived))


def _keeps_more(noted: Noted, first: Noted) -> bool:
    """Whether a gradient keeps it of every turn of a scan where the line ran without one before."""
    return noted.gradient and noted.times > 1 and not first.gradient


def _is_one(names: set[str]) -> bool:
    """Whether names are of one setting: `cfg.rows` is `model.cfg.rows` as well."""
    ends = {_OF_PARTS.split(name)[-1] for name in names}
    return len(names) == 1 or (len(ends) == 1 and not ends & names)


def _of_defaults(reader: JaxReader) -> dict[int, str]:
    """Sizes that a default of a flag or of a class's field names alone."""
    flags = {f"--{name}": value for name, value in reader.flags.items()}
    fields = {
        f"{of.name}.{name}": of.values.get(name)
        for of in reader.top.names.values()
        if isinstance(of, Class)
        for name in of.fields
    }
    return _alone(fields) | _alone(flags)


def _alone(settings: Mapping[str, Any]) -> dict[int, str]:
    """Sizes that one of these settings alone has."""
    named: dict[int, set[str]] = {}
    for name, size in _sizes(settings):
        named.setdefault(size, set()).add(name)
    return {size: min(of) for size, of in named.items() if len(of) == 1}


def _sizes(names: Mapping[str, Any], deep: int = _DEEPEST) -> Iterator[tuple[str, int]]:
    """Whole numbers that the program names, also in its settings; an object may hold itself."""
    for name, value in names.items():
        size = whole(value)
        if size is not None and size >= _LEAST_NAMED:
            yield name, size
        elif isinstance(value, Thing) and deep:
            yield from ((f"{name}.{inner}", size) for inner, size in _sizes(value.names, deep - 1))
        elif isinstance(value, dict) and deep:
            inside = {key: each for key, each in value.items() if isinstance(key, str)}
            yield from ((_entry(name, inner), size) for inner, size in _sizes(inside, deep - 1))


def _entry(name: str, inner: str) -> str:
    """`CONFIG['net'].heads`."""
    key, dot, rest = inner.partition(".")
    return f"{name}['{key}']{dot}{rest}"
