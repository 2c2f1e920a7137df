"""Lines of the user's program, from wherever they are known: the text, the traceback, and the file itself
where it lies beside its log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tfmemlens.knowledge.stack_frames import number_in
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_NAME = regex(r"(?<![\w.])[A-Za-z_]\w{0,60}(?![\w.]|\s*[(=](?!=))")
_ASSIGNS = regex(r"\A\s*(?P<name>[A-Za-z_]\w{0,60})\s*=(?!=)")
_FIGURE = (
    r"(?:\d[\d_]{0,14}|int\((?:os\.)?(?:environ\.get|getenv)\([^()]{0,40},\s*['\"]?\d[\d_]{0,14}['\"]?\)\)"
    r"|[^,()\[\]{}#;=]{1,40})"
)
_NUMBERS = regex(
    r"\A\s*(?P<names>[A-Za-z_]\w{0,40}(?:\s*,\s*[A-Za-z_]\w{0,40}){0,8})\s*=\s*"
    rf"(?P<figures>{_FIGURE}(?:\s*,\s*{_FIGURE}){{0,8}})\s*(?:#.*|;.*)?\Z"
)
"""`batch = 32`, `nodes, edges = 20_000, int(environ.get("EDGES", 600_000))`: every name with its value."""
_BETWEEN = regex(r",(?![^()]*\))")
"""A comma that is in no call."""
_WHOLE = regex(r"(?:int\(.*[,\s]['\"]?)?(?P<number>\d[\d_]*)['\"]?\)*\Z")


_OF_A_MESSAGE = ("[[{{node ", "[[Node: ")
"""How a message of TensorFlow names its op, in a line that looks like an assignment."""


def code_lines(told: Surroundings) -> tuple[Line, ...]:
    """Lines that the text quotes, then those of its statements and of files read with it; each once."""
    known = {line.text.strip() for line in told.code}
    added: dict[str, Line] = {}
    for statement in told.program():
        for line in statement.lines:
            if (text := line.text.strip()) and text not in known:
                added.setdefault(text, line)
    quoted = (line for line in told.code if not line.text.lstrip().startswith(_OF_A_MESSAGE))
    return (*quoted, *added.values())


def definitions(text: str, code: Sequence[Line], place: str | None = None) -> Iterator[Line]:
    """The lines that assign the names which a line uses; of several that assign a name the last one above it
    in its own function, where its place (`train.py:30`) is known.
    """
    assigned: dict[str, list[Line]] = {}
    above = _above(place, code)
    for line in code:
        match = _ASSIGNS.match(line.text)
        if match and line.text.strip() != text.strip():
            assigned.setdefault(match["name"], []).append(line)
    for name in dict.fromkeys(_NAME.findall(text)):
        found = assigned.get(name, [])
        if len(found) > 1:
            found = [line for line in found if line in above][-1:]
        if len(found) == 1:
            yield found[0]


def _above(place: str | None, code: Sequence[Line]) -> list[Line]:
    """The lines of a file above a place, from the head of its function on; empty outside of any."""
    lines = [
        line
        for line in code
        if (number := number_in(place, line.source)) is not None and line.number < number
    ]
    lines.sort(key=lambda line: line.number)
    heads = [index for index, line in enumerate(lines) if line.text.lstrip().startswith("def ")]
    return lines[heads[-1] :] if heads else []


def numbers_by_name(code: Sequence[Line]) -> dict[str, tuple[int, Line]]:
    """Whole numbers that a line assigns to names, several at once, too, or takes where the environment says
    nothing; the last one of a name counts.
    """
    named: dict[str, tuple[int, Line]] = {}
    for line in code:
        match = _NUMBERS.match(line.text)
        names = [each.strip() for each in match["names"].split(",")] if match else []
        figures = [each.strip() for each in _BETWEEN.split(match["figures"])] if match else []
        if len(names) != len(figures):
            continue
        for name, figure in zip(names, figures, strict=True):
            if number := _WHOLE.match(figure):
                named[name] = int(number["number"].replace("_", "")), line
    return named


_DEFAULTS = regex(
    r"add_argument\(\s*['\"](?:-\w['\"]\s*,\s*['\"])?--(?P<flag>[\w-]{1,40})['\"][^\n]{0,160}?"
    r"\bdefault\s*=\s*(?P<default>\d[\d_]{0,14})\b(?![.e*])"
    r"|DEFINE_integer\(\s*['\"](?P<defined>\w{1,40})['\"]\s*,\s*(?P<of_flag>\d[\d_]{0,14})\b"
    r"|\A\s*(?P<field>[A-Za-z_]\w{0,40})\s*:\s*int\s*=\s*(?P<of_field>\d[\d_]{0,14})\s*(?:#.*)?\Z"
)
"""A flag's default, a field's: `add_argument('--vocab', default=60000)`, `vocab: int = 60_000`."""
_ENTRY = regex(r"['\"](?P<name>[A-Za-z_]\w{0,40})['\"]\s*:\s*(?P<figure>\d[\d_]{0,14})\b(?![.e*])")
_KEYWORD = regex(r"(?P<name>[A-Za-z_]\w{0,40})\s*=\s*(?P<figure>\d[\d_]{0,14})\b(?![.e*])")
_OF_SETTINGS = regex(r"\b(?:dict|Namespace|SimpleNamespace|ConfigDict|[A-Z]\w{0,30}(?:Config|Params|Args))\(")


def settings_by_name(code: Sequence[Line]) -> dict[str, tuple[int, Line]]:
    """The same, with the defaults of flags, the fields of classes and the entries of dictionaries of settings
    that no assignment names.
    """
    named: dict[str, tuple[int, Line]] = {}
    for line in code:
        if match := _DEFAULTS.search(line.text):
            name = (match["flag"] or match["defined"] or match["field"]).replace("-", "_")
            figure = match["default"] or match["of_flag"] or match["of_field"]
            named.setdefault(name, (int(figure.replace("_", "")), line))
            continue
        entries = [*_ENTRY.finditer(line.text)]
        entries += _KEYWORD.finditer(line.text) if _OF_SETTINGS.search(line.text) else ()
        for entry in entries:
            named.setdefault(entry["name"], (int(entry["figure"].replace("_", "")), line))
    return {**named, **numbers_by_name(code)}


def figures_by_name(told: Surroundings) -> dict[str, int]:
    """The whole numbers of a program by the names of its settings."""
    return {name: figure for name, (figure, _) in settings_by_name(code_lines(told)).items()}


def batch_by_name(told: Surroundings) -> int | None:
    """What the program gives to the one name that says it is the batch, `BATCH = 64`."""
    if not told.program():
        return None
    named = {figure for name, figure in figures_by_name(told).items() if _BATCH.match(name)}
    return named.pop() if len(named) == 1 else None


_BATCH = regex(r"(?i)(?:train_?)?batch(?:_?size)?\Z|BS\Z")
_SPENT = (
    r"(?:batch_?size\s*=\s*|\.batch\(\s*){0}\b",
    r"\brange\([^()]{{0,40}}(?:\([^()]*\))?[^()]{{0,40}},\s*{0}\s*\)",
    r":[^\]\[]{{1,40}}\+\s*{0}\s*\]",
    r"\b(?:normal|uniform|randn|zeros|ones|placeholder|Input)"
    r"\([^()\[\]]{{0,60}}[\[(]\s*{0}\s*,",
    r"\bfor \w+ in range\(\s*{0}\s*\)\s*\]",
    r"\b(?:integers|randint|choice)\([^()]{{0,60}}(?:\([^()]{{0,30}}\))?[^()]{{0,30}}"
    r",\s*(?:size\s*=\s*)?{0}\s*\)",
)
"""Code in which a name counts the samples of a batch: `batch(N)`, `range(0, len(x), N)`, `x[i : i + N]`,
`normal([N, 40])`, `[draw() for _ in range(N)]`, `integers(0, kinds, N)`.
"""


def name_of_batch(told: Surroundings, batch: int | None) -> str:
    """` (`BATCH`, line 7 of train.py)`, where one name of the program's has this number and is used as the
    number of samples of a batch; else empty.
    """
    if batch is None or batch < 2 or not told.program():
        return ""
    code = code_lines(told)
    used = [
        (name, line)
        for name, line in _names_of(batch, code)
        if any(re.search(form.format(re.escape(name)), each.text) for form in _SPENT for each in code)
    ]
    return f" (`{used[0][0]}`, {used[0][1].place})" if len(used) == 1 else ""


def _names_of(number: int, code: Sequence[Line]) -> list[tuple[str, Line]]:
    """The program's names for a number, with the lines that set them."""
    return [(name, line) for name, (figure, line) in numbers_by_name(code).items() if figure == number]


_FEWEST_ROWS = 16


def line_of_layer(told: Surroundings, layer: str | None) -> Line | None:
    """The one line of a program's file that gives a layer its name."""
    name = (layer or "").rpartition("/")[2]
    if not name.isidentifier() or not told.program():
        return None
    named = rf"\bname\s*=\s*['\"]{re.escape(name)}['\"]"
    lines = [line for line in file_lines(told) if name in line.text and re.search(named, line.text)]
    return lines[0] if len(lines) == 1 else None


def file_lines(told: Surroundings) -> list[Line]:
    """The lines of files that were read, each once; none that a traceback quotes."""
    lines = (line for each in told.program() if not each.of_frame for line in each.lines)
    return [*{(line.source, line.number): line for line in lines}.values()]


def rows_by_name(told: Surroundings, rows: int | None, batch: int | None) -> str:
    """`128 samples x 2,400 (`DISHES`, line 7 of train.py)`, where so many rows are a batch times a number
    that one name of the program has; else empty.
    """
    if not (rows and batch and told.program()) or batch < 2 or rows % batch or rows // batch < _FEWEST_ROWS:
        return ""
    each = rows // batch
    named = _names_of(each, code_lines(told))
    if len(named) != 1:
        return ""
    return f"{rows:,} rows are {batch:,} samples x {each:,} (`{named[0][0]}`, {named[0][1].place})"


_DEFINES = regex(r"\A(?P<indent>\s*)(?:async )?def (?P<name>\w{1,60})\(")
_OF_A_BATCH = regex(
    r"(?i)\A(?:__getitem__|__next__|\w*(?:data_?gen\w*|batch\w*|collate\w*|generator|load_(?:sample|one"
    r"|image|volume)|parse\w*|preprocess\w*))\Z"
)
"""Functions that give one sample or one batch."""
_YIELDS = regex(r"\A\s*yield\b")


def reads_a_batch(line: Line, code: Sequence[Line]) -> bool:
    """Whether a quoted line stands in a function that gives one batch: `__getitem__`, a generator."""
    at = next((at for at, each in enumerate(code) if each == line), None)
    indent = len(line.text) - len(line.text.lstrip())
    if at is None or not indent:
        return False
    for above in range(at - 1, -1, -1):
        match = _DEFINES.match(code[above].text)
        if match and len(match["indent"]) < indent:
            inside = _inside(code[above + 1 :], len(match["indent"]))
            return bool(_OF_A_BATCH.match(match["name"])) or any(_YIELDS.match(each.text) for each in inside)
    return False


def _inside(code: Sequence[Line], indent: int) -> Iterator[Line]:
    """The lines of a function's body, which are indented by more."""
    for line in code:
        if line.text.strip() and len(line.text) - len(line.text.lstrip()) <= indent:
            return
        yield line
