"""`dataclass` as in the standard library, its methods made when they are first needed.

The standard one imports `inspect` and compiles up to seven functions for every class: for the hundred classes
that a pasted log touches, a quarter of the whole run. Here comparing, hashing and printing are shared
functions, and `__init__` is compiled when the first value of a class is made: most classes never have one.
To the functions of the standard library (`dataclasses.asdict`…) the values are dataclasses all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["dataclass", "field", "fields", "replace"]

if TYPE_CHECKING:  # to a type checker they are the standard ones
    from dataclasses import dataclass, field, fields, replace
else:
    from functools import cache
    from operator import attrgetter
    from types import MemberDescriptorType

    _MISSING = object()
    _LONGEST, _MOST = 80, 6  # letters of a text, and entries of a tuple, that a printed value shows

    class _Field:
        """A field of a class: its name and type, and what the class says of it beyond them."""

        def __init__(self, name, annotation, keyword_only, options):
            self.name, self.type, self.keyword_only, self.options = name, annotation, keyword_only, options
            self.default = options.get("default", _MISSING)
            self.default_factory = options.get("default_factory", _MISSING)
            self.compare, self.repr = options.get("compare", True), options.get("repr", True)

    class _Options(dict):
        """What stands in the body of a class until its fields are made."""

    def field(**options):
        """A field with a `default` or a `default_factory`; `compare=False` and `repr=False` leave it out."""
        return _Options(options)

    def dataclass(cls=None, *, frozen=False, slots=False, kw_only=False):
        """The class with `__init__`, `__repr__`, `__eq__` and, when frozen, `__hash__`; fields as always."""
        if cls is None:
            return lambda cls: _made(cls, frozen, slots, kw_only)
        return _made(cls, frozen, slots, kw_only)

    def fields(value):
        """The fields of a class, or of a value of it, in their order."""
        return value.__fields__

    def replace(value, /, **changes):
        """The value with other content in these fields."""
        kept = {name: getattr(value, name) for name in _names(type(value))}
        return type(value)(**kept | changes)

    @cache
    def _names(cls):
        return tuple(each.name for each in fields(cls))

    def _made(cls, frozen, slots, kw_only):
        cls.__doc__ = cls.__doc__ or cls.__name__
        own = _own_fields(cls, kw_only)
        bases = [getattr(base, "__fields__", ()) for base in cls.__mro__[:0:-1]]
        inherited = {each.name: each for base in bases for each in base}
        cls.__fields__ = tuple((inherited | own).values())
        cls.__match_args__ = tuple(each.name for each in cls.__fields__ if not each.keyword_only)
        cls.__dataclass_fields__ = _StandardFields()
        if slots:
            cls = _with_slots(cls, own)
        methods = {"__init__": _first_init(cls, frozen), "__repr__": _repr, **_comparing(cls, frozen)}
        if frozen:
            methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
            methods |= {"__getstate__": _getstate, "__setstate__": _setstate} if slots else {}
        for name, method in methods.items():
            if name not in cls.__dict__:
                setattr(cls, name, method)
        return cls

    def _own_fields(cls, kw_only):
        """The fields that the body of the class annotates; of their defaults only plain ones stay in it."""
        own = {}
        for name, annotation in cls.__annotations__.items():
            stated = cls.__dict__.get(name, _Options())
            options = stated if isinstance(stated, _Options) else {"default": stated}
            own[name] = each = _Field(name, annotation, kw_only, options)
            if each.default is not _MISSING:
                setattr(cls, name, each.default)
            elif name in cls.__dict__:
                delattr(cls, name)
            if getattr(each.default, "__hash__", None) is None:
                raise ValueError(f"{cls.__name__}.{name} needs a default_factory")
        return own

    def _with_slots(cls, own):
        """The same class again: slots cannot be added to one that exists."""
        taken = {name for base in cls.__mro__[1:-1] for name in base.__dict__.get("__slots__", ())}
        without = {*own, "__dict__", "__weakref__"}
        body = {name: value for name, value in cls.__dict__.items() if name not in without}
        body["__slots__"] = tuple(name for name in own if name not in taken)
        made = type(cls)(cls.__name__, cls.__bases__, body)
        made.__qualname__ = cls.__qualname__
        return made

    class _StandardFields:
        """What makes a value a dataclass to the standard library, made when that looks at one."""

        def __get__(self, value, cls):
            return _standard_fields(cls)

    @cache
    def _standard_fields(cls):
        import dataclasses

        described = [
            (each.name, each.type, dataclasses.field(kw_only=each.keyword_only, **each.options))
            for each in fields(cls)
        ]
        return dataclasses.make_dataclass(cls.__name__, described).__dataclass_fields__

    def _first_init(cls, frozen):
        """An `__init__` that compiles the real one, and puts it into its own place."""

        def first(self, *args, **kwargs):
            cls.__init__ = _compiled_init(cls, frozen)
            cls.__init__(self, *args, **kwargs)

        return first

    def _compiled_init(cls, frozen):
        known = {"MISSING": _MISSING, "put": object.__setattr__}
        positional, by_keyword, lines = ["self"], [], []
        for each in fields(cls):
            name = value = parameter = each.name
            default = f"default_{name}"
            if each.default_factory is not _MISSING:
                known[default] = each.default_factory
                parameter = f"{name}=MISSING"
                value = f"{default}() if {name} is MISSING else {name}"
            elif each.default is not _MISSING:
                known[default] = each.default
                parameter = f"{name}={default}"
            (by_keyword if each.keyword_only else positional).append(parameter)
            slot = getattr(cls, name, None)
            if frozen and isinstance(slot, MemberDescriptorType):  # half the time of object.__setattr__
                known[f"put_{name}"] = slot.__set__
                lines.append(f"put_{name}(self, {value})")
            else:
                lines.append(f"put(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
        if hasattr(cls, "__post_init__"):
            lines.append("self.__post_init__()")
        parameters = [*positional, "*", *by_keyword] if by_keyword else positional
        text = f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"])
        exec(text, known)  # as the standard one does, of the names of the fields alone
        known["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
        return known["__init__"]

    def _comparing(cls, frozen):
        names = [each.name for each in fields(cls) if each.compare]
        content = attrgetter(*names) if names else type

        def equals(self, other):
            return content(self) == content(other) if other.__class__ is self.__class__ else NotImplemented

        def hashed(self):
            return hash(content(self))

        return {"__eq__": equals, "__hash__": hashed if frozen else None}

    def _repr(self):
        shown = (f"{each.name}={_brief(getattr(self, each.name))}" for each in fields(self) if each.repr)
        return f"{self.__class__.__qualname__}({', '.join(shown)})"

    def _brief(content, depth=2):
        """A few letters for a field: a whole report would fill a notebook of its own."""
        kind = type(content)
        if kind in (tuple, list) and len(content) <= _MOST and depth:
            return _joined([_brief(each, depth - 1) for each in content], kind)
        if isinstance(content, tuple | list | dict | set | frozenset) and not hasattr(kind, "_fields"):
            return f"<{kind.__name__} of {len(content)}>"
        plain = isinstance(content, str | bytes | int | float | None) or hasattr(kind, "_member_names_")
        if not plain and len(getattr(kind, "__fields__", range(_MOST))) >= _MOST:
            return f"<{kind.__qualname__}>"
        text = repr(content)
        if len(text) <= _LONGEST:
            return text
        return f"{text[: _LONGEST - 2]}…{text[-1]}" if plain else f"<{kind.__qualname__}>"

    def _joined(shown, kind):
        """The entries of a short tuple or list as Python writes it."""
        inner = ", ".join(shown)
        if kind is list:
            return f"[{inner}]"
        return f"({inner},)" if len(shown) == 1 else f"({inner})"

    def _refuse(self, name, *value):
        from dataclasses import FrozenInstanceError

        verb = "assign to" if value else "delete"
        raise FrozenInstanceError(f"cannot {verb} field {name!r} of {type(self).__name__}")

    def _getstate(self):
        return [getattr(self, each.name) for each in fields(self)]

    def _setstate(self, state):
        for each, value in zip(fields(self), state, strict=True):
            object.__setattr__(self, each.name, value)
