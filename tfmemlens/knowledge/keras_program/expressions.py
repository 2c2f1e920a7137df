"""What expressions of a followed program are: numbers, texts, sequences, and the types of tensors."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from tfmemlens.knowledge.keras_program.values import (
    UNKNOWN,
    External,
    Function,
    Instance,
    Layer,
    Method,
    Names,
    Net,
    Super,
    Unknown,
    UserClass,
    bound,
)
from tfmemlens.knowledge.tree_values import ARITHMETIC, COMPARES, asks_command_line
from tfmemlens.model.tensor import TensorType
from tfmemlens.patterns import regex

MOST_STEPS = 30_000
MOST_TURNS = 64
"""Of a loop whose sequence is known; a longer one is followed once, as one that is not."""
PLAIN = (int, float, str, bool, type(None))
_LARGEST = 1 << 62
MOST_ITEMS = 4096

_OPS = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
    ast.Mod: "mod",
    ast.FloorDiv: "floor_divide",
    ast.MatMult: "matmul",
}

_COMPARISONS = {
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
    ast.Lt: "less",
    ast.LtE: "less_equal",
}


class TooLong(Exception):
    """The program is too long, or goes too deep, to be followed."""


class Expressions:
    """Follows expressions; who inherits it says what calls and assignments do, and what ops make."""

    def __init__(self) -> None:
        self.steps = 0
        self.turns = 1
        """For how many turns of loops the one that is followed stands."""
        self.frames: list[Names] = [{"__name__": "__main__"}]
        self.calling: list[Function] = []

    def operation(self, name: str, positional: list[Any]) -> Any:
        """What an arithmetic op makes of tensors."""
        raise NotImplementedError

    def call(self, node: ast.Call) -> Any:
        """The value of a call."""
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Any) -> None:
        """Bind a name, an attribute, an item or several."""
        raise NotImplementedError

    def yielded(self, value: Any) -> None:
        """A generator gives a value."""
        raise NotImplementedError

    def step(self) -> None:
        """Count one more thing that is followed. Raises TooLong."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooLong

    def value(self, node: ast.expr | None) -> Any:
        """What an expression is; UNKNOWN where nothing tells."""
        self.step()
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._named(node.id)
        if isinstance(node, ast.Attribute):
            return self._attribute(self.value(node.value), node.attr)
        if isinstance(node, ast.Tuple | ast.List):
            return self._sequence(node)
        if isinstance(node, ast.Dict):
            return self._dictionary(node)
        if isinstance(node, ast.BinOp):
            return self.binary(node.op, self.value(node.left), self.value(node.right))
        if isinstance(node, ast.UnaryOp):
            return self._unary(node.op, self.value(node.operand))
        if isinstance(node, ast.Compare):
            return self._compare(node)
        if isinstance(node, ast.BoolOp):
            return self._bool(node)
        if isinstance(node, ast.IfExp):
            known = self.truth(self.value(node.test))
            if known is None and asks_command_line(node.test):
                known = False
            if known is None:
                one, other = self.value(node.body), self.value(node.orelse)
                return one if equal(one, other) else UNKNOWN
            return self.value(node.body if known else node.orelse)
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.Subscript):
            return self._item(self.value(node.value), self._key(node.slice))
        if isinstance(node, ast.Lambda):
            return Function(node, tuple(self.frames))
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.DictComp):
            return self._comprehension(node)
        if isinstance(node, ast.JoinedStr):
            return self._formatted(node)
        if isinstance(node, ast.Yield):
            self.yielded(self.value(node.value))
            return UNKNOWN
        if isinstance(node, ast.NamedExpr):
            value = self.value(node.value)
            self.assign(node.target, value)
            return value
        return UNKNOWN

    def _named(self, name: str) -> Any:
        around = self.calling[-1].around if self.calling else ()
        for names in (self.frames[-1], *reversed(around), self.frames[0]):
            if name in names:
                return names[name]
        return External(name)

    def _attribute(self, value: Any, name: str) -> Any:
        if isinstance(value, External):
            setting = self.frames[0].get(name)
            of_flags = "." not in value.path or value.path.endswith("flags.FLAGS")
            plain = isinstance(setting, int | str) and of_flags  # `args.vocab`, `FLAGS.dim`
            return setting if plain else External(f"{value.path}.{name}")
        if isinstance(value, Instance):
            if name in value.attributes:
                return value.attributes[name]
            member = value.of.member(name) if value.of else None
            if member is None:
                return Method(value, name)
            return bound(member[0], value, member[1])
        if isinstance(value, Super):
            found = [base.member(name) for base in value.below.bases if isinstance(base, UserClass)]
            member = next((each for each in found if each), None)
            return bound(member[0], value.instance, member[1]) if member else Method(value, name)
        if isinstance(value, UserClass):
            member = value.member(name)
            return member[0] if member else UNKNOWN
        if isinstance(value, TensorType) and name == "shape":
            return UNKNOWN if value.shape is None else value.shape
        if isinstance(value, TensorType) and name == "dtype":
            return value.dtype
        if isinstance(value, Net) and name in ("output", "outputs", "input", "inputs"):
            return value.outputs if name.startswith("output") else value.inputs
        return Method(value, name)

    def _dictionary(self, node: ast.Dict) -> dict[Any, Any]:
        """Entries of plain keys; of what is spread into it and not known, none."""
        made: dict[Any, Any] = {}
        for at, each in zip(node.keys, node.values, strict=True):
            value = self.value(each)
            key = self.value(at) if at else UNKNOWN
            if at is None and isinstance(value, dict):
                made.update(value)
            elif isinstance(key, PLAIN):
                made[key] = value
        return made

    def _sequence(self, node: ast.Tuple | ast.List) -> Any:
        items: list[Any] = []
        for each in node.elts:
            if isinstance(each, ast.Starred):
                spread = self.value(each.value)
                if not isinstance(spread, tuple | list):
                    return UNKNOWN
                items += spread
            else:
                items.append(self.value(each))
        return tuple(items) if isinstance(node, ast.Tuple) else items

    def binary(self, op: ast.operator, left: Any, right: Any) -> Any:
        """What an operator makes of two values."""
        if isinstance(left, TensorType) or isinstance(right, TensorType):
            name = _OPS.get(type(op))
            return self.operation(name, [left, right]) if name else UNKNOWN
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            return UNKNOWN
        return _computed(op, left, right)

    def _unary(self, op: ast.unaryop, value: Any) -> Any:
        if isinstance(op, ast.Not):
            known = self.truth(value)
            return UNKNOWN if known is None else not known
        if isinstance(op, ast.USub) and isinstance(value, int | float):
            return -value
        return value if isinstance(value, TensorType) else UNKNOWN

    def _compare(self, node: ast.Compare) -> Any:
        left, right = self.value(node.left), self.value(node.comparators[0])
        if len(node.ops) > 1:
            return UNKNOWN
        op = node.ops[0]
        if isinstance(left, TensorType) or isinstance(right, TensorType):
            name = _COMPARISONS.get(type(op))
            return self.operation(name, [left, right]) if name else UNKNOWN
        of_none = isinstance(op, ast.Is | ast.IsNot) and (left is None or right is None)
        if of_none and not isinstance(left, Unknown) and not isinstance(right, Unknown):
            return (left is right) == isinstance(op, ast.Is)
        if isinstance(op, ast.In | ast.NotIn) and isinstance(left, PLAIN):
            if isinstance(right, tuple | list | dict) and all(isinstance(each, PLAIN) for each in right):
                return (left in right) == isinstance(op, ast.In)
            return UNKNOWN
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        texts = isinstance(left, str) and isinstance(right, str)
        known = isinstance(left, PLAIN) and isinstance(right, PLAIN) and isinstance(op, ast.Eq | ast.NotEq)
        if (numbers or texts or known) and type(op) in COMPARES:
            return bool(COMPARES[type(op)](left, right))
        return UNKNOWN

    def _bool(self, node: ast.BoolOp) -> Any:
        value: Any = UNKNOWN
        for each in node.values:
            value = self.value(each)
            known = self.truth(value)
            if known is None:
                return UNKNOWN
            if known == isinstance(node.op, ast.Or):
                return value
        return value

    @staticmethod
    def truth(value: Any) -> bool | None:
        """Whether a condition holds; None where data decides."""
        if isinstance(value, (*PLAIN, tuple, list, dict)):
            return bool(value)
        return True if isinstance(value, Layer | Net | Instance | Function) else None

    def _key(self, node: ast.expr) -> Any:
        """An index as Python has it; slices of known ends, others open."""
        if isinstance(node, ast.Slice):
            ends = [None if end is None else self.value(end) for end in (node.lower, node.upper, node.step)]
            return slice(*ends)
        if isinstance(node, ast.Tuple):
            return tuple(self._key(each) for each in node.elts)
        return self.value(node)

    def _item(self, value: Any, key: Any) -> Any:
        if isinstance(value, dict):
            return value.get(key, UNKNOWN) if isinstance(key, PLAIN) else UNKNOWN
        if isinstance(value, tuple | list):
            return _part(value, key)
        if isinstance(value, TensorType) and isinstance(key, TensorType):
            return _picked(value, key)
        if isinstance(value, TensorType) and _is_open(key) and value.shape:
            return TensorType((None, *value.shape[1:]), value.dtype)  # so many rows, whichever
        if isinstance(value, TensorType):
            return self.operation("getitem", [value, key])
        return UNKNOWN

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.DictComp) -> Any:
        first = node.generators[0]
        sequence = elements(self.value(first.iter))
        if len(node.generators) > 1 or not isinstance(sequence, tuple | list) or len(sequence) > MOST_TURNS:
            return UNKNOWN
        keys: list[Any] = []
        made: list[Any] = []
        for each in sequence:
            self.assign(first.target, each)
            told = [self.truth(self.value(test)) for test in first.ifs]
            if None in told:
                return UNKNOWN
            if all(told):
                keys.append(self.value(node.key) if isinstance(node, ast.DictComp) else len(made))
                made.append(self.value(node.value if isinstance(node, ast.DictComp) else node.elt))
        if not isinstance(node, ast.DictComp):
            return made
        return {key: each for key, each in zip(keys, made, strict=True) if isinstance(key, PLAIN)}

    def _formatted(self, node: ast.JoinedStr) -> Any:
        parts = []
        for each in node.values:
            value = self.value(each.value) if isinstance(each, ast.FormattedValue) else self.value(each)
            if not isinstance(value, str | int) or (isinstance(value, int) and abs(value) >= _LARGEST):
                return UNKNOWN
            parts.append(str(value))
        return "".join(parts)[:MOST_ITEMS]


def _picked(value: TensorType, key: TensorType) -> Any:
    """What an array gives at the places of another: one for each of them; of truth values, nobody knows."""
    if not value.shape or key.shape is None or "int" not in (key.dtype or ""):
        return UNKNOWN
    return TensorType((*key.shape, *value.shape[1:]), value.dtype)


def _is_open(key: Any) -> bool:
    """Whether it is a slice of which an end is not known."""
    ends = (key.start, key.stop, key.step) if isinstance(key, slice) else ()
    return any(isinstance(end, Unknown) for end in ends)


def elements(value: Any) -> Any:
    """What a loop over a value goes through: a dictionary's keys, a text's letters, else the value itself."""
    return tuple(value) if isinstance(value, str | dict) else value


def _part(value: Sequence[Any], key: Any) -> Any:
    """An item or a slice of a sequence; UNKNOWN where the index is, or leads outside."""
    if isinstance(key, slice):
        known = all(isinstance(end, int | None) for end in (key.start, key.stop, key.step)) and key.step != 0
        return value[key] if known else UNKNOWN
    return value[key] if isinstance(key, int) and -len(value) <= key < len(value) else UNKNOWN


def _computed(op: ast.operator, left: Any, right: Any) -> Any:
    """Arithmetic of numbers, and joins of sequences, of bounded size."""
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    if numbers and not (abs(left) < _LARGEST and abs(right) < _LARGEST):
        return UNKNOWN
    if isinstance(op, ast.Pow):
        small = numbers and abs(left) <= 1 << 20 and isinstance(right, int) and 0 <= right <= 12
        return left**right if small else UNKNOWN
    divides = isinstance(op, ast.Div | ast.FloorDiv | ast.Mod) and not isinstance(left, str)
    if type(op) not in ARITHMETIC or (divides and (not numbers or not right)):
        return UNKNOWN
    if isinstance(op, ast.Mod) and isinstance(left, str):
        return _filled(left, right if isinstance(right, tuple) else (right,))
    if not numbers:
        repeats = isinstance(op, ast.Mult) and isinstance(left, tuple | list) and isinstance(right, int)
        joins = isinstance(op, ast.Add) and type(left) is type(right) and isinstance(left, tuple | list | str)
        if not (joins or (repeats and right <= MOST_TURNS and len(left) <= MOST_TURNS)):
            return UNKNOWN
        made = ARITHMETIC[type(op)](left, right)
        return made if len(made) <= MOST_ITEMS else UNKNOWN
    made = ARITHMETIC[type(op)](left, right)
    return made if abs(made) < _LARGEST else UNKNOWN


_PLACES = regex(r"%0?\d?[dis]")


def _filled(text: str, given: tuple[Any, ...]) -> Any:
    """`'level_%d' % 3`: a text with short numbers and texts in its places."""
    plain = all(isinstance(each, str) or (isinstance(each, int) and abs(each) < _LARGEST) for each in given)
    places = _PLACES.findall(text)
    known = plain and len(places) == len(given) == text.count("%") and len(text) <= MOST_ITEMS
    fits = all(isinstance(each, int) or place[-1] == "s" for place, each in zip(places, given, strict=False))
    return (text % given)[:MOST_ITEMS] if known and fits else UNKNOWN


def equal(one: Any, other: Any) -> bool:
    """Whether two values are surely the same."""
    alike = isinstance(one, (*PLAIN, TensorType)) and type(one) is type(other)
    return one is other or (alike and bool(one == other))
