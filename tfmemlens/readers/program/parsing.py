"""Rows of code as statements; what does not parse is mended, or given up row by row."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence

from tfmemlens.model.line import Line
from tfmemlens.model.program import Statement
from tfmemlens.patterns import regex
from tfmemlens.readers.program.marks import UnmarkedLine
from tfmemlens.readers.program.rows import bare, brackets, indent

_MOST_PARSES = 400
_MOST_OF_ONE = 40
_PRINT = regex(r"\A(?P<indent>\s*)print (?P<what>[^(=].*|\([^()]*\) ?%.*)\Z")
_TAIL = regex(r"\s{2,}\S|\s*(?:<-{1,5}|\u2190|\u2192|<=|//|--|\u2013|\u2014|!{2,})|\s+\(|\s+[^\W\d]")
"""Where a remark behind a statement may begin."""
_ARROW = regex(r"\s{1,80}(?:<-{1,9}>?|\u2190|<={2,9})(?=\s|\Z|[^\W\d]{2}).*\Z")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_FAILURES = (SyntaxError, ValueError, RecursionError, MemoryError)


class ParsingBudget:
    """How often a text may be parsed."""

    def __init__(self) -> None:
        self.left = _MOST_PARSES

    def spend(self) -> bool:
        """Whether there is one more."""
        self.left -= 1
        return self.left >= 0


def statements(piece: Sequence[UnmarkedLine], budget: ParsingBudget) -> Iterator[Statement]:
    """The statements of one piece, without names and numbers that stand alone."""
    lines = tuple(row.line for row in piece)
    texts = _whole([_dedented(row.text, indent(piece[0].text)) for row in piece])
    tree = _parsed(texts, budget)
    for node in tree.body if tree else ():
        if not _is_idle(node):
            yield Statement(node, lines, piece[0].of_frame)


def statements_of_file(lines: Sequence[Line]) -> Iterator[Statement]:
    """The statements of a whole file, each with its own lines; none where it does not parse."""
    tree = parse("\n".join(line.text for line in lines))
    for node in tree.body if tree else ():
        if _is_idle(node):
            continue
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
        own = tuple(lines[first - 1 : node.end_lineno])
        ast.increment_lineno(node, 1 - first)
        yield Statement(node, own)


def parse(text: str) -> ast.Module | None:
    """The tree of a text; None where it is no Python."""
    try:
        return _read(text)
    except _FAILURES:
        return None


def _read(text: str) -> ast.Module:
    """The tree, without what Python warns of in code that is not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _dedented(text: str, base: int) -> str:
    """Without the blanks that the whole piece has, and without an arrow's remark."""
    return _ARROW.sub("", text[min(base, indent(text)) :])


def _whole(texts: list[str]) -> list[str]:
    """With the brackets closed that are open at the end, and without those that nothing opened."""
    open_brackets: list[str] = []
    for text in texts:
        for letter in bare(text):
            if letter in _CLOSING:
                open_brackets.append(_CLOSING[letter])
            elif open_brackets and letter == open_brackets[-1]:
                open_brackets.pop()
    if open_brackets:
        texts[-1] = _without_comment(texts[-1]).rstrip().rstrip(".\u2026") + "".join(reversed(open_brackets))
    return texts


def _without_comment(text: str) -> str:
    plain = bare(text)
    return text if '""' in plain or "#" not in text else text[: text.index("#")]


def _parsed(texts: list[str], budget: ParsingBudget) -> ast.Module | None:
    """The tree, after at most so many mends; rows that nothing mends say `pass`."""
    for _ in range(min(2 * len(texts) + 4, _MOST_OF_ONE)):
        if not budget.spend():
            return None
        try:
            return _read("\n".join(texts))
        except SyntaxError as error:
            at = min(max((error.lineno or 1) - 1, 0), len(texts) - 1)
            before = list(texts)
            _mend(texts, at, error)
            if texts == before:
                return None
        except _FAILURES:
            return None
    return None


def _mend(texts: list[str], at: int, error: SyntaxError) -> None:
    """One row made right, in place."""
    text = texts[at]
    if isinstance(error, IndentationError):
        if "expected an indented block" in str(error):
            at = at if text.rstrip().endswith(":") and at == len(texts) - 1 else at - 1
            while at > 0 and not bare(texts[at]).rstrip().endswith(":"):
                at -= 1
            texts[at] = f"{_without_comment(texts[at]).rstrip()} pass"
            return
        above = next((each for each in reversed(texts[:at]) if each.strip()), "")
        step = 4 if bare(above).rstrip().endswith(":") else 0
        moved = " " * (indent(above) + step) + text.strip()
        texts[at] = moved if moved != text else " " * indent(text) + "pass"
        return
    if match := _PRINT.search(text):
        texts[at] = f"{match['indent']}print({match['what']})"
        return
    if "unmatched" in str(error):
        kept = text.rstrip()
        texts[at] = kept[:-1] if kept.endswith((")", "]", "}")) and kept.strip() not in ")]}" else ""
        return
    texts[at] = _without_remark(text) or _given_up(text)


def _without_remark(text: str) -> str:
    """The statement before a remark that is no comment; empty where there is none."""
    for match in list(_TAIL.finditer(text))[:12]:
        head = text[: match.start()].rstrip()
        if (
            head.strip()
            and brackets(head) == 0
            and (tree := parse(head.strip()))
            and not _is_idle(tree.body[0])
        ):
            return head
    return ""


def _given_up(text: str) -> str:
    if text.strip() in ("pass", "if 1:"):
        return ""
    return " " * indent(text) + ("if 1:" if text.rstrip().endswith(":") else "pass")


def _is_idle(node: ast.stmt) -> bool:
    """Whether a statement does nothing: a word, a number, `pass`."""
    if isinstance(node, ast.Pass):
        return True
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return not isinstance(node.annotation, ast.Constant | ast.Tuple | ast.List)
    if not isinstance(node, ast.Expr):
        return False
    value = node.value
    while isinstance(value, ast.Attribute | ast.Subscript):  # what is read of a call: `f(x).shape`
        value = value.value
    return not isinstance(value, ast.Call | ast.Await | ast.Yield)
