"""Two ways of writing that nobody reads at a glance: a choice inside a choice, and a choice inside a text
inside a text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = sorted(file for part in ("tfmemlens", "tests", "scripts") for file in (ROOT / part).rglob("*.py"))


def offences(source: str) -> Iterator[str]:
    """`12: three-way ternary` for each."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.IfExp) and any(
            isinstance(branch, ast.IfExp) for branch in (node.body, node.orelse)
        ):
            yield f"{node.lineno}: three-way ternary"
        if isinstance(node, ast.JoinedStr):
            inner = [
                each
                for part in node.values
                if isinstance(part, ast.FormattedValue)
                for each in ast.walk(part.value)
            ]
            if any(isinstance(each, ast.IfExp) and has_text(each) for each in inner):
                yield f"{node.lineno}: conditional f-string in an f-string"


def has_text(choice: ast.IfExp) -> bool:
    """Whether one of its branches is an f-string."""
    return any(isinstance(branch, ast.JoinedStr) for branch in (choice.body, choice.orelse))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_plain(file: Path) -> None:
    assert not list(offences(file.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("x = 1 if a else 2 if b else 3", 1),
        ("x = (1 if a else 2) if b else 3", 1),
        ("x = 1 if (2 if a else 3) else 4", 0),
        ("x = f'{a} {f\"{b}\" if b else 1}'", 1),
        ("x = f'{a} {1 if b else 2}'", 0),
        ("x = f'{a}' if a else f'{b}'", 0),
    ],
)
def test_the_test_sees_them(source: str, count: int) -> None:
    assert len(list(offences(source))) == count
