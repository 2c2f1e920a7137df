"""A shuffle buffer behind `batch`, which counts batches and not samples."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.units import human

_BATCHES = frozenset({"batch", "padded_batch", "ragged_batch"})
_SAMPLES_AGAIN = frozenset({"unbatch", "flat_map", "interleave"})


class ShuffledBatches(NamedTuple):
    """The call of `shuffle`, the `batch` before it, and their numbers where the program has any."""

    code: str
    line: Line
    batched: Line
    buffer: int | None
    batch: int | None

    def meaning(self, size: int) -> str:
        """What the blocks of one batch's bytes are."""
        full = f": full it takes {human(self.buffer * size)}" if self.buffer else ""
        return (
            f": most likely batches in the buffer of `{self.code}` ({self.line.place}), which counts batches"
            f" behind `batch` ({self.batched.place}){full}"
        )

    def advice(self, size: int) -> str:
        """What to change, and what the same numbers then take."""
        then = ""
        if self.buffer and self.batch:
            then = f"; the same {self.buffer:,} then take {human(self.buffer * size // self.batch)}"
        return f"put `shuffle` before `batch` ({self.batched.place}): its buffer then counts samples{then}"


def shuffled_batches(program: Program) -> ShuffledBatches | None:
    """The first `shuffle` of the program whose data set is batched already, in a chain or under one name."""
    named: dict[str, int] = {}
    for statement in program:
        for node in statement.nodes:
            named.update(_numbers(node))
    for statement in program:
        if statement.of_frame:
            continue
        batched: dict[str, ast.Call] = {}
        chains = [node for node in statement.nodes if isinstance(node, ast.Assign | ast.Return | ast.Expr)]
        for node in sorted(chains, key=lambda each: each.lineno):
            last = None
            first = ""
            for call in _chain(node.value):
                if isinstance(call, ast.Name):
                    first = call.id
                    last = batched.get(first)
                elif not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
                    continue
                elif call.func.attr in _BATCHES:
                    last = call
                elif call.func.attr in _SAMPLES_AGAIN:
                    last = None
                elif call.func.attr == "shuffle" and last is not None:
                    return ShuffledBatches(
                        f"shuffle({', '.join(map(ast.unparse, call.args[:1])) or '...'})",
                        statement.lines[min(call.func.end_lineno or 1, len(statement.lines)) - 1],
                        statement.lines[min(last.func.end_lineno or 1, len(statement.lines)) - 1],
                        _number(call, "buffer_size", named),
                        _number(last, "batch_size", named),
                    )
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                batched.pop(node.targets[0].id, None)
                if last is not None:
                    batched[node.targets[0].id] = last
    return None


def _chain(node: ast.expr | None) -> list[ast.expr]:
    """The parts of `ds.map(f).batch(8)`, the first first."""
    parts: list[ast.expr] = []
    while node is not None:
        parts.append(node)
        if isinstance(node, ast.Call):
            node = node.func.value if isinstance(node.func, ast.Attribute) else None
        elif isinstance(node, ast.Attribute):
            node = node.value
        else:
            node = None
    return parts[::-1]


def _numbers(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Whole numbers by their names, and by the keys of a dictionary."""
    pairs: list[tuple[str, ast.expr]] = []
    if isinstance(node, ast.Assign):
        pairs = [(ast.unparse(target).rpartition(".")[2], node.value) for target in node.targets]
    elif isinstance(node, ast.Dict):
        pairs = [
            (str(key.value), value)
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant)
        ]
    elif isinstance(node, ast.arguments):
        given = node.args[len(node.args) - len(node.defaults) :]
        pairs = [(each.arg, value) for each, value in zip(given, node.defaults, strict=True)]
    for name, value in pairs:
        if isinstance(value, ast.Constant) and type(value.value) is int:
            yield name, value.value


def _number(call: ast.Call, word: str, named: dict[str, int]) -> int | None:
    """The first argument of a call, or the one of this name."""
    given = [each.value for each in call.keywords if each.arg == word] or call.args[:1]
    for each in given:
        if isinstance(each, ast.Constant) and type(each.value) is int:
            return each.value
        key = each.slice if isinstance(each, ast.Subscript) else None
        if isinstance(key, ast.Constant):
            return named.get(str(key.value))
        return named.get(ast.unparse(each).rpartition(".")[2])
    return None
