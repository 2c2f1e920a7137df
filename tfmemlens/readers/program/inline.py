"""Calls within sentences: `user_id -> Embedding(12_500_000, 64)`, "a Dense(1024) on top"."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tfmemlens.model.program import Statement
from tfmemlens.patterns import regex
from tfmemlens.readers.program.marks import UnmarkedLine
from tfmemlens.readers.program.parsing import parse

_CALL = regex(
    r"(?:\b(?P<name>[A-Za-z_]\w{0,40})\s{0,2}(?:->|=|:"
    r"|\u2192)\s{0,2})?(?<![\w.])(?P<call>[A-Za-z_][\w.]{1,60})\("
)
_MOST = 12
_LONGEST = 300


def calls(row: UnmarkedLine) -> Iterator[Statement]:
    """The calls with a number, a text or a name for an argument, that stand in a sentence."""
    end = 0
    for match in list(_CALL.finditer(row.text))[:_MOST]:
        if match.start("call") < end:
            continue
        end = _closing(row.text, match.end() - 1)
        code = row.text[match.start("call") : end]
        tree = parse(code) if end else None
        node = tree.body[0] if tree and tree.body else None
        if not (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _has_arguments(node.value)
        ):
            continue
        statement: ast.stmt = node
        if match["name"]:
            target = ast.Name(match["name"], ast.Store())
            statement = ast.fix_missing_locations(ast.Assign([target], node.value, lineno=1, col_offset=0))
        yield Statement(statement, (row.line,), row.of_frame, inline=True)


def _closing(text: str, opened: int) -> int:
    """Behind the bracket that closes the one at this place, and behind calls of what it returns; 0 if cut."""
    depth = end = 0
    for at in range(opened, min(len(text), opened + _LONGEST)):
        if text[at] == "(":
            depth += 1
        elif text[at] == ")":
            depth -= 1
            if depth == 0:
                end = at + 1
                if text[end : end + 1] != "(":
                    return end
    return end


def _has_arguments(call: ast.Call) -> bool:
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    return bool(values) and any(isinstance(node, ast.Constant) for each in values for node in ast.walk(each))
