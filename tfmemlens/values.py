"""`dataclass` as in the standard library, its methods made when they are first needed.

The standard one compiles up to seven functions for every class at import: for the hundred classes that a
pasted log touches, a fifth of the whole run. Here comparing, hashing and printing are shared functions, and
`__init__` is compiled when the first value of a class is made: most classes never have one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["dataclass"]

if TYPE_CHECKING:  # to a type checker it is the standard one
    from dataclasses import dataclass
else:
    import dataclasses
    from dataclasses import MISSING, FrozenInstanceError, fields
    from operator import attrgetter

    def dataclass(cls=None, *, frozen=False, slots=False):
        """The class with `__init__`, `__repr__`, `__eq__` and, when frozen, `__hash__`; fields as always."""
        if cls is None:
            return lambda cls: _made(cls, frozen, slots)
        return _made(cls, frozen, slots)

    def _made(cls, frozen, slots):
        cls.__doc__ = cls.__doc__ or cls.__name__  # else the standard one writes the signature into it
        cls = dataclasses.dataclass(cls, init=False, repr=False, eq=False, slots=slots)
        methods = {"__init__": _first_init(cls, frozen), "__repr__": _repr, **_comparing(cls, frozen)}
        if frozen:
            methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
            methods |= {"__getstate__": _getstate, "__setstate__": _setstate} if slots else {}
        for name, method in methods.items():
            if name not in cls.__dict__:
                setattr(cls, name, method)
        return cls

    def _first_init(cls, frozen):
        """An `__init__` that compiles the real one, and puts it into its own place."""

        def first(self, *args, **kwargs):
            cls.__init__ = _compiled_init(cls, frozen)
            cls.__init__(self, *args, **kwargs)

        return first

    def _compiled_init(cls, frozen):
        known = {"MISSING": MISSING, "put": object.__setattr__}
        parameters, lines = ["self"], []
        for field in fields(cls):
            name = value = field.name
            default = f"default_{name}"
            if field.default_factory is not MISSING:
                known[default] = field.default_factory
                parameters.append(f"{name}=MISSING")
                value = f"{default}() if {name} is MISSING else {name}"
            elif field.default is not MISSING:
                known[default] = field.default
                parameters.append(f"{name}={default}")
            else:
                parameters.append(name)
            lines.append(f"put(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
        if hasattr(cls, "__post_init__"):
            lines.append("self.__post_init__()")
        text = f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"])
        exec(text, known)  # as the standard one does, of the names of the fields alone
        known["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
        return known["__init__"]

    def _comparing(cls, frozen):
        names = [field.name for field in fields(cls)]
        content = attrgetter(*names) if names else type

        def equals(self, other):
            return content(self) == content(other) if other.__class__ is self.__class__ else NotImplemented

        def hashed(self):
            return hash(content(self))

        return {"__eq__": equals, "__hash__": hashed if frozen else None}

    def _repr(self):
        shown = (f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))
        return f"{self.__class__.__qualname__}({', '.join(shown)})"

    def _refuse(self, name, *value):
        verb = "assign to" if value else "delete"
        raise FrozenInstanceError(f"cannot {verb} field {name!r} of {type(self).__name__}")

    def _getstate(self):
        return [getattr(self, field.name) for field in fields(self)]

    def _setstate(self, state):
        for field, value in zip(fields(self), state, strict=True):
            object.__setattr__(self, field.name, value)
