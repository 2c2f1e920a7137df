"""Lines of the user's program, from wherever they are known: the text, the traceback, and the file itself
where it lies beside its log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfmemlens.model.capture import Surroundings
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_NAME = regex(r"(?<![\w.])[A-Za-z_]\w{0,60}(?![\w.]|\s*[(=](?!=))")
_ASSIGNS = regex(r"\A\s*(?P<name>[A-Za-z_]\w{0,60})\s*=(?!=)")
_NUMBERS = regex(
    r"\A\s*(?P<names>[A-Za-z_]\w{0,40}(?:\s*,\s*[A-Za-z_]\w{0,40}){0,8})\s*=\s*"
    r"(?P<figures>\d[\d_]{0,14}(?:\s*,\s*\d[\d_]{0,14}){0,8})\s*(?:#.*|;.*)?\Z"
)
"""`batch = 32`, `nodes, edges = 20_000, 600_000`: every name with its number."""


def code_lines(told: Surroundings) -> tuple[Line, ...]:
    """Lines that the text quotes, then those of its statements and of files read with it; each once."""
    known = {line.text.strip() for line in told.code}
    added: dict[str, Line] = {}
    for statement in told.program():
        for line in statement.lines:
            if (text := line.text.strip()) and text not in known:
                added.setdefault(text, line)
    return (*told.code, *added.values())


def definitions(text: str, code: Sequence[Line]) -> Iterator[Line]:
    """The lines that assign the names which a line uses; a name that several lines assign has none."""
    assigned: dict[str, list[Line]] = {}
    for line in code:
        match = _ASSIGNS.match(line.text)
        if match and line.text.strip() != text.strip():
            assigned.setdefault(match["name"], []).append(line)
    for name in dict.fromkeys(_NAME.findall(text)):
        if len(found := assigned.get(name, [])) == 1:
            yield found[0]


def numbers_by_name(code: Sequence[Line]) -> dict[str, tuple[int, Line]]:
    """Whole numbers that a line assigns to names, several at once, too; the last one of a name counts."""
    named: dict[str, tuple[int, Line]] = {}
    for line in code:
        match = _NUMBERS.match(line.text)
        names = [each.strip() for each in match["names"].split(",")] if match else []
        figures = [int(each.replace("_", "")) for each in match["figures"].split(",")] if match else []
        if len(names) == len(figures):
            named.update((name, (figure, line)) for name, figure in zip(names, figures, strict=True))
    return named
