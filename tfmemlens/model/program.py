"""The user's own program as far as a text quotes it: statements as Python's own syntax tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from tfmemlens.model.line import Line
from tfmemlens.values import dataclass

if TYPE_CHECKING:
    import ast


@dataclass(frozen=True)
class Statement:
    """A statement that stands at the left edge of a quoted piece of code, with all that is inside it."""

    node: ast.stmt
    lines: tuple[Line, ...]
    """The lines of the text, by the rows of the tree: a node with `lineno` 2 stands in the second."""
    of_frame: bool = False
    """Whether it is the code that a traceback quotes for one of its frames."""
    inline: bool = False
    """Whether it is a call within a sentence: `user_id -> Embedding(12_500_000, 64)`."""
    running: frozenset[int] | None = None
    """Numbers of its lines that ran when the program failed, as the traceback tells of its file; None where
    it tells nothing.
    """

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of its tree, those nearer to the root first: dozens of rules look through them."""
        import ast

        return tuple(ast.walk(self.node))

    @property
    def line(self) -> Line:
        """The line that it begins in."""
        return self.line_of(self.node)

    def runs(self, node: ast.AST) -> bool:
        """Whether a node inside it ran when the program failed; also where nobody knows."""
        first, last = self.span(node)
        return self.running is None or any(first <= at <= last for at in self.running)

    def span(self, node: ast.AST) -> tuple[int, int]:
        """The numbers of the first and the last line of a node inside it."""
        row = getattr(node, "end_lineno", None) or getattr(node, "lineno", None) or 1
        return self.line_of(node).number, self.lines[min(row, len(self.lines)) - 1].number

    def line_of(self, node: ast.AST) -> Line:
        """The line that a node inside it begins in."""
        row = getattr(node, "lineno", 1)
        return self.lines[min(row, len(self.lines)) - 1]


@dataclass(frozen=True, slots=True)
class Program:
    """All statements that the text quotes, in its order."""

    statements: tuple[Statement, ...] = ()

    def __iter__(self) -> Iterator[Statement]:
        return iter(self.statements)

    def __bool__(self) -> bool:
        return bool(self.statements)

    def whole(self) -> list[Statement]:
        """The statements as they stand in files or quoted code, each once; two of one line are two."""
        own = [each for each in self.statements if not each.of_frame and not each.inline]
        places = ((each.line.source, each.line.number, each.node.col_offset) for each in own)
        return [*dict(zip(places, own, strict=True)).values()]

    def joined(self, others: Iterable[Program]) -> Program:
        """The same, and what others hold; a line that a traceback quotes is left out where a program has it
        whole, and so is a statement of a file that is there already: one file may be given and quoted, too.
        """
        added = [statement for other in others for statement in other.statements]
        whole = {line.text.strip() for statement in added for line in statement.lines}
        own = [each for each in self.statements if not (each.of_frame and each.line.text.strip() in whole)]
        held = {_in_its_file(each) for each in own if not (each.of_frame or each.inline)}
        new = [each for each in added if each.of_frame or each.inline or _in_its_file(each) not in held]
        return Program((*own, *new))


def _in_its_file(statement: Statement) -> tuple[str, int, int, tuple[str, ...]]:
    """What is one and the same for a statement of one file, however often it was read."""
    line, text = statement.line, tuple(each.text for each in statement.lines)
    return line.source, line.number, statement.node.col_offset, text
