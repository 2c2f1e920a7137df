"""The Python that a pasted text quotes, read as code: whatever stands around it, and wherever it is cut.

Three steps: marks of consoles, notebooks, editors and diffs are taken off (`marks`), lines that belong
together are found among prose (`rows`), and each statement is parsed by itself, mended where that makes it
whole (`parsing`). Nothing here raises: what is no code is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement
from tfmemlens.readers.program import inline, marks, parsing, rows

__all__ = ["read_file", "read_program"]

_MOST_LINES = 800


@lru_cache(maxsize=4)
def read_program(lines: Sequence[Line]) -> Program:
    """The statements that these lines quote. `lines` is a tuple: the answer is kept."""
    bare = marks.without_marks(lines[:_MOST_LINES])
    pieces, prose = rows.pieces(bare)
    quoted = {row.text.strip() for piece in pieces for row in piece if not row.of_frame}
    statements: list[Statement] = []
    budget = parsing.ParsingBudget()
    for piece in pieces:
        if piece[0].of_frame and piece[0].text.strip() in quoted:
            continue  # the traceback quotes a line of the code beside it
        statements += parsing.statements(piece, budget)
    statements += [each for row in prose for each in inline.calls(row)]
    return Program(tuple(sorted(statements, key=lambda each: each.line.number)))


@lru_cache(maxsize=4)
def read_file(lines: Sequence[Line]) -> Program:
    """The statements of a whole file of Python; none where it does not parse. `lines` is a tuple."""
    return Program(tuple(parsing.statements_of_file(lines)))
