"""No line of the package is longer than 110 columns, also where the linter lets one pass: a text without a
blank, or with a remark for the type checker behind it.
"""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "tfmemlens"
LONGEST = 110
TABLES = {
    "schema/_fields.py": "a table of protobuf's fields, one a line",
    "recording/trace_training_graph.py": "a plain script for Python 3.6 that users may copy",
    "recording/layout_pass.py": "as above",
    "recording/export_graph.py": "as above",
}
"""Where longer lines are, and why."""


def long_lines(text: str) -> list[int]:
    return [number for number, line in enumerate(text.splitlines(), 1) if len(line) > LONGEST]


def test_lines_are_short() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix(): long_lines(path.read_text(encoding="utf-8"))
        for path in PACKAGE.rglob("*.py")
    }
    assert {name: rows for name, rows in found.items() if rows and name not in TABLES} == {}
    assert all(found[name] for name in TABLES), "this one needs no exception any more"


def test_a_line_without_a_blank_is_measured_too() -> None:
    assert long_lines("x" * 110 + "\n" + "x" * 111 + "\n") == [2]
