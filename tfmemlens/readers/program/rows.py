"""Which lines of a text are code, and which belong to one statement."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tfmemlens.patterns import regex
from tfmemlens.readers.program.marks import UnmarkedLine

_STRINGS = regex(
    r"'''.*?'''|\"\"\".*?\"\"\"|(?<![A-Za-z])[rbfuRBFU]{0,2}'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|#.*"
)
_STARTS = regex(
    r"\A\s*(?:(?:async )?(?:def|class) +\w+ ?[(:]|(?:for .{1,80} in|while|with|if|elif|except)\b.*:"
    r"\s*(?:#.*)?\Z"
    r"|(?:for .{1,80} in|while|with|if|elif)\b .*:\s*[\w.\[\], ]{1,80}(?:\(|=|\+=)"
    r"|(?:else|try|finally|except)\s*:|import [\w., ]+(?: as \w+)?\s*(?:#.*)?\Z|from [\w.]+ import "
    r"|@[\w.]+|(?:return|yield|raise|assert|del|global|nonlocal)\b(?! \w+ [a-z]+ )"
    r"|(?:pass|break|continue)\s*(?:#.*)?\Z"
    r"|print[ (].*[\"'(%,])"
)
_ASSIGNS = regex(
    r"\A\s*[(*]?[A-Za-z_][\w.]{0,80}(?:\[[^\]=]{0,80}\])?(?: ?: ?[\w.\[\]|]{1,60})?"
    r"(?: ?, ?[(*]?[A-Za-z_][\w.]{0,60}\)?){0,8}[,)]? ?(?:[-+*/@|&%]|//|\*\*)? {0,40}=(?!=) ?\S"
)
_CALLS = regex(r"\A\s*(?:await )?[A-Za-z_][\w.]*(?:\[[^\]]{0,80}\])?\(")
_SETTING = regex(
    r"\A\s*[\"']?[A-Za-z_]\w{0,40}[\"']?\s?:\s?-?(?:\d[\d_.e]*|True|False|\(\d[\d, ]*\)|\[\d[\d, ]*\])"
    r"\s*,?\s*(?:#.*)?\Z"
)
_CLOSES = regex(r"\A\s*[)\]}]")
_COMMENT = regex(r"\A\s*#")
_LEFT_OUT = regex(r"\A\s*(?:#|\.{3}|\u2026|\[\s?\.{3}|<snip|\[snip|\(\.{3}\))")
_GOES_ON = regex(r"\A\s*(?:else|elif|except|finally)\b")
_NOT_CODE = regex(
    r"\A\s*(?:\S{0,200}(?:Error|Exception|Warning)\b.{0,3}:|Traceback|During handling|\^+\s*\Z|~+\^?|\[\["
    r"|Hint: |(?:InUse|Free|Chunk) {0,2}at |[IWEF] \S+\.cc:\d)"
)
_MOST_ROWS = 200


def pieces(rows: Sequence[UnmarkedLine]) -> tuple[list[list[UnmarkedLine]], list[UnmarkedLine]]:
    """Rows that make up one statement each, and the rows that are no code."""
    closed: list[list[UnmarkedLine]] = []
    prose: list[UnmarkedLine] = []
    current: list[UnmarkedLine] = []
    depth, quotes = 0, ""
    for row in rows:
        stripped = row.text.strip()
        if quotes or (current and _in_block(row, current) and (opened := _opens_text(row.text))):
            current.append(row)
            quotes = _still_open(row.text, quotes or opened, bool(quotes))
            if quotes and _cut(row, current):
                current.pop()
                quotes = ""
            else:
                continue
        if depth > 0 and current and not _ends_open(row, current):
            current.append(row)
            depth += brackets(row.text)
            continue
        if current and current[-1].text.endswith("\\") and not row.begins:
            current.append(row)
            continue
        if not stripped or _COMMENT.search(row.text):
            if current:
                current.append(row)
            continue
        if not is_code(row):
            if _LEFT_OUT.search(row.text) and current:
                current.append(row._replace(text=" " * indent(row.text) + "pass"))
                continue
            if _in_block(row, current) and _may_be_statement(row):
                current.append(row)
                continue
            _close(current, closed)
            current, depth = [], 0
            prose.append(row)
            continue
        if not _belongs(row, current):
            _close(current, closed)
            current = []
        current.append(row)
        depth = max(brackets(row.text), 0)
    _close(current, closed)
    return closed, prose


_TEXT = regex(r"\A\s*[rRuU]?(?P<quotes>\"\"\"|\'\'\')")


def _opens_text(text: str) -> str:
    """The quotes that a row begins a text of several rows with, as a docstring does; else empty."""
    match = _TEXT.search(text)
    return match["quotes"] if match else ""


def _still_open(text: str, quotes: str, inside: bool) -> str:
    """The quotes that are open behind a row."""
    return quotes if (text.count(quotes) + inside) % 2 else ""


def _cut(row: UnmarkedLine, current: Sequence[UnmarkedLine]) -> bool:
    """Whether a text that nothing closes has ended all the same: what follows is a log, or far too much."""
    return (
        bool(_NOT_CODE.search(row.text)) or len(current) >= _MOST_ROWS or row.of_frame != current[0].of_frame
    )


def _close(current: list[UnmarkedLine], closed: list[list[UnmarkedLine]]) -> None:
    while current and (not current[-1].text.strip() or _COMMENT.search(current[-1].text)):
        current = current[:-1]
    if current:
        closed.append(current)


def is_code(row: UnmarkedLine) -> bool:
    """Whether a row looks like a statement, or like the end of one."""
    text = row.text
    if _NOT_CODE.search(text):
        return False
    if row.begins:
        return True
    return bool(
        _STARTS.search(text)
        or _ASSIGNS.search(text)
        or _CALLS.search(text)
        or _SETTING.search(text)
        or _CLOSES.search(text)
    )


def indent(text: str) -> int:
    """Blanks before the first letter."""
    return len(text) - len(text.lstrip())


def bare(text: str) -> str:
    """The text without its strings and its comment."""
    return _STRINGS.sub(_emptied, text) if "'" in text or '"' in text or "#" in text else text


def _emptied(match: re.Match[str]) -> str:
    return "" if match[0].startswith("#") else '""'


def brackets(text: str) -> int:
    """How many brackets it opens and does not close."""
    plain = bare(text)
    return sum(map(plain.count, "([{")) - sum(map(plain.count, ")]}"))


def _ends_open(row: UnmarkedLine, current: Sequence[UnmarkedLine]) -> bool:
    """Whether a row begins anew although brackets are open: they were cut, or never closed."""
    if row.begins or _NOT_CODE.search(row.text) or row.of_frame != current[0].of_frame:
        return True
    if len(current) >= _MOST_ROWS:
        return True
    starts = _STARTS.search(row.text) or _ASSIGNS.search(row.text)
    last = next((each for each in reversed(current) if each.text.strip()), current[0])
    ends = not bare(last.text).rstrip().endswith((",", "(", "[", "{", "=", "+", "\\"))
    return bool(
        starts and ends and indent(row.text) <= indent(current[0].text) and row.text.strip()[-1:] != ","
    )


def _belongs(row: UnmarkedLine, current: Sequence[UnmarkedLine]) -> bool:
    """Whether a row is inside the statement before it."""
    if not current or len(current) >= _MOST_ROWS or row.begins or row.of_frame != current[0].of_frame:
        return False
    base = indent(current[0].text)
    if current[0].text.lstrip().startswith("@") and len(current) < 4 and indent(row.text) == base:
        return not any(each.text.lstrip().startswith(("def ", "class ", "async ")) for each in current)
    if indent(row.text) == base and (_GOES_ON.search(row.text) or _CLOSES.search(row.text)):
        return True
    return _in_block(row, current)


def _in_block(row: UnmarkedLine, current: Sequence[UnmarkedLine]) -> bool:
    """Whether a row stands deeper than a statement that has a block."""
    if not current or indent(row.text) <= indent(current[0].text):
        return False
    return any(bare(each.text).rstrip().endswith(":") for each in current)


def _may_be_statement(row: UnmarkedLine) -> bool:
    """Whether a row within a block may be one of its statements, however it looks: no sentence does."""
    return len(row.text.split()) <= 3 or any(mark in row.text for mark in "()[]=")
