"""The page that fits one screen: what happened, the line that proves it, memory use, the largest layers, and
what to do first. `--full` prints the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from tfmemlens.escaping import visible
from tfmemlens.model.attribution import Kind
from tfmemlens.model.capture import Holds
from tfmemlens.model.case import Fits, Moment
from tfmemlens.model.finding import Severity
from tfmemlens.model.incident import FailedRequest, RequestKind
from tfmemlens.model.line import UNREAD, Line
from tfmemlens.model.report import Report
from tfmemlens.patterns import regex
from tfmemlens.renderers import moments, origin, run_facts, savings
from tfmemlens.renderers.kinds import in_words
from tfmemlens.renderers.owners import by_owner
from tfmemlens.renderers.terminal import _balance, _copies, _fit, _holders, _layers, _request, _timeline
from tfmemlens.renderers.terminal._blocks import (
    begun,
    columns,
    display_width,
    pad,
    paragraph,
    shorten,
    styled,
)
from tfmemlens.renderers.view import View
from tfmemlens.units import human, percent

ROWS = 23
"""Lines of a terminal that nobody made larger, less the prompt below the page: its title stays in sight."""
_MAX_LAYERS = 5
_MAX_ACTIONS = 3
_WORTH_A_ROW = 0.01
"""Of the first row of a table: what is less stands on the whole page alone."""
_WORTH_TELLING = 0.1
"""Of a compiled program's request: blocks without names that are less do not tell why it failed."""
_ROWS_OF_A_VERDICT = 5
_LEAST_ROWS = 3
"""Of a table, its heading among them."""
_ROWS_OF_AN_AIRY_TABLE = 5
"""Rows come before empty lines."""
_LEAST_QUOTE = 8
"""Columns of a line that is quoted behind where it stands."""
_AIRY, _TIGHT = ("",), ()
_SHORTER: tuple[tuple[tuple[str, ...], int, int], ...] = (
    (_AIRY, _MAX_ACTIONS, _MAX_ACTIONS),
    (_AIRY, _MAX_ACTIONS, 1),
    *((_TIGHT, count, codes) for count in range(_MAX_ACTIONS, 0, -1) for codes in (1, 0)),
)
"""What stands between sections, how many advices there are, how many of them have their code: shorter and
shorter.
"""
_IF_IT_FAILED = (
    "If the run failed all the same, pass the lines that tell how it ended (the traceback, OOM,"
    " RESOURCE_EXHAUSTED, Killed), or let it be watched: `tfmemlens run -- python train.py`. "
)
_LONG_NOTE, _LONE_NOTE = 120, 400
"""Columns of a note below an answer, and where it is all that there is."""
_CLAUSE = regex(r"(?<=[;:.])\s")
"""Where a note may end early."""
_BREAK = regex(r";\s|,\s|:\s(?=[\w.]{3,}\()|\((?=\S{12})")
"""Where a line of code may go on in the next."""
_WORDS_END = regex(r"[\s,(]")
"""Where quoted text may go on in the next row."""
_LOGGER = regex(r"^(?:.{0,200}?\.(?:cc|cpp|h|py):\d+\] )?(?:OP_REQUIRES failed at \S+ : )?")
"""Time and source file before a message."""


def page(report: Report, view: View) -> list[str]:
    """At most `ROWS` lines. An advice stands whole or not at all: where there is no room the empty lines go,
    the table loses its last rows, then the later advice its code, then the last advice goes.
    """
    said = [*_title(report, view), *_verdict(report, view)]
    parts, last = sections(report, view), paragraph(_more(report), view.width)
    wanted = parts[:-1] if _holders.sizes_alone(report) else parts
    for gap, count, codes in _SHORTER:
        todo = _actions(report, count, codes, view)
        room = ROWS - len(said) - len(last) - (len(todo) + len(gap) if todo else 0)
        needed = [min(len(part), _ROWS_OF_AN_AIRY_TABLE) + 1 for part in parts]
        if room >= sum(needed if gap else [min(len(part), _LEAST_ROWS) for part in wanted]):
            break
    spare = room - sum(len(part) + len(gap) for part in parts)
    if parts and spare > 0 and report.fit is None and report.case.moments:
        parts = [_with_longer_quotes(report, view, parts[0], spare), *parts[1:]]
    middle: list[str] = []
    for part in parts:
        rows = part[: max(room - len(gap), 0)]
        if len(rows) < min(len(part), 2):
            break
        middle += [*gap, *rows]
        room -= len(rows) + len(gap)
    end = [""] if room > 0 and gap else []
    return [*said, *middle, *([*gap, *todo] if todo else []), *end, *last]


def _with_longer_quotes(report: Report, view: View, part: list[str], spare: int) -> list[str]:
    """What failed, with quotes that use rows nothing else needs; any other section as it is."""
    moment = report.case.moments[0]
    same = part == _failed(moment, report.verdict, view)
    return _failed(moment, report.verdict, view, spare) if same else part


def _title(report: Report, view: View) -> list[str]:
    """The input and what it is, on one line where both fit."""
    name, kind = f"tfmemlens  {files(report, view.width - 11)}", visible(origin.described(report))
    if display_width(name) + display_width(kind) + 3 <= view.width:
        return [styled(name, "bold", view.color) + styled(f" · {kind}", "dim", view.color)]
    return [
        styled(shorten(name, view.width), "bold", view.color),
        styled(shorten_end(kind, view.width), "dim", view.color),
    ]


def files(report: Report, width: int) -> str:
    """Paths as they are, or too many of them as a count: with their folder where all lie in one, else with
    the first and the last name.
    """
    path = report.case.capture.source.path
    if path == "-":
        return "standard input"
    paths = path.split(", ")
    if len(path) <= width or len(paths) < 3:
        return path
    folders = {str(PurePath(each).parent) for each in paths}
    if len(folders) == 1 and folders != {"."}:
        return f"{folders.pop()}: {len(paths)} files"
    names = [PurePath(each).name for each in paths]
    return f"{len(paths)} files: {names[0]} … {names[-1]}"


def _verdict(report: Report, view: View) -> list[str]:
    told = paragraph(_fitting(report.verdict, view.width), view.width)
    if len(told) > _ROWS_OF_A_VERDICT:
        kept = _clauses(" ".join(told), len(" ".join(told[:_ROWS_OF_A_VERDICT])))
        told = paragraph(kept if kept.endswith("…") else f"{kept}.", view.width)
    lines = [styled(line, "bold", view.color) for line in told]
    bar = _layers.bar(report)
    return [*lines, *paragraph(bar, view.width)] if bar else lines


def _fitting(text: str, width: int) -> str:
    """The text with names that are longer than a line cut in the middle: a terminal would take two lines."""
    return " ".join(
        word if display_width(word) <= width else shorten(word, width) for word in text.split(" ")
    )


def shorten_end(text: str, width: int) -> str:
    """A sentence that fits: its end goes."""
    if display_width(text) <= width:
        return text
    return begun(text, width - 1).rsplit(" ", 1)[0] + "…"


def sections(report: Report, view: View) -> list[list[str]]:
    """What stands between verdict and actions, the most important first."""
    if report.fit is not None:
        fit = report.fit
        ran = [_heading("batches that were tried", view) + _fit.tried(fit)] if fit.tried else []
        peaks = _heading("the peak at other batches", view) + _fit.peaks(fit, view.width)
        return [*ran, peaks] if fit.predictions else ran
    if not report.case.moments:
        study = report.case.layout
        tried = _copies.trials(report.case, view)
        return [
            *([_heading("tried", view) + tried] if tried else []),
            *(
                [_heading("copies by cause", view) + _copies.causes(study, view)]
                if study and study.copies
                else []
            ),
            *([quoted] if (quoted := _quoted(report, view)) else []),
        ]
    moment = report.case.moments[0]
    parts = [
        _failed(moment, report.verdict, view),
        _answers(report, view),
        _run_facts(report, view),
        _memory(moment, view),
        _curve(moment, view),
        *([] if _balance.is_next_to_nothing(moment) else [_held(report, view)]),
    ]
    return [part for part in parts if part]


def _quoted(report: Report, view: View) -> list[str]:
    """The line that the verdict rests on, where no request failed and the verdict does not say where it
    stands.
    """
    told = [finding for finding in report.findings if finding.severity is not Severity.NOTE]
    evidence = next((finding.evidence for finding in (*told, *report.findings)), ())
    line = evidence[0].line if evidence else None
    if line is None or line.place in report.verdict:
        return []
    name, where = "the message", f"{'' if line.source else 'log '}{line.place}"
    rows = _proof(line, where, view, view.width - len(name) - 2, 1)
    return [f"{_heading(name, view)[0]}  {rows[0]}", *(f"  {row}" for row in rows[1:])]


def _heading(text: str, view: View, facts: Sequence[str] = ()) -> list[str]:
    """A section's name with as many facts on the same line as fit whole; of the first at least the ends."""
    name, room = styled(text.upper(), "bold", view.color), view.width - len(text) - 2
    if not facts:
        return [name]
    beside = shorten(facts[0], room)
    for fact in facts[1:]:
        if display_width(beside) + display_width(fact) + 2 <= room:
            beside += f", {visible(fact)}"
    return [f"{name}  {beside}"]


def _failed(moment: Moment, verdict: str, view: View, spare: int = 0) -> list[str]:
    """Where it failed, as far as the verdict does not say it: the user's code, and the line of the input that
    says so. Long code takes a row more where `spare` rows have room.
    """
    told = dict(_request.facts(moment))
    if not told:
        return []
    failed = moment.request.failed if moment.request else None
    facts = _facts_of_failure(told, failed, verdict)
    name = _request.HEADINGS.get(failed.kind, "what failed") if failed else ""
    first, room = view.width - (2 if facts else len(name) + 2), view.width - 2
    code = [
        f"{label}: {visible(_code(told, label, view))}"
        for label in (_request.CODE, _request.CALL, _request.LATER, _request.INSTALLED)
        if label in told
    ]
    line = failed.line if failed else None
    where = _place(line, told.get("log", ""), moment) if line else ""
    behind = f" ({where})" if where else ""
    if not code:
        rows = _proof(line, where, view, first, spare) if line else []
    elif display_width(code[0]) + display_width(behind) <= first:
        rows = [code[0] + styled(behind, "dim", view.color)]
    else:
        proof = _proof(line, where, view, room if facts else first) if line else []
        quoted = in_rows(code[0], room if proof or facts else first, room, spare)
        rows = [*quoted, *proof] if facts else [*proof, *quoted]
        if facts and proof == [styled(where, "dim", view.color)]:
            facts, rows = [*facts, where], quoted
    rows += [_cut(each, room) for each in code[1:]]
    if not (facts or rows):
        return []
    if facts:
        return [*_heading(name, view, facts), *(f"  {each}" for each in rows)]
    return [f"{_heading(name, view)[0]}  {rows[0]}", *(f"  {each}" for each in rows[1:])]


def _facts_of_failure(told: dict[str, str], failed: FailedRequest | None, verdict: str) -> list[str]:
    """Tensor, device, layer and program, where the sentence above does not have them."""
    other = _request.other_device(failed) if failed else ""
    named = told.keys() & {"tensor", "layer"}
    facts = [told[name] for name in ("layer", "program", *(() if named else ("device",))) if name in told]
    if other:
        facts = [other, *(fact for fact in facts if fact != told.get("device"))]
    if "tensor" in told:
        facts.insert(0, told["tensor"])
    return [fact for fact in facts if not _is_said(fact, verdict)]


def _is_said(fact: str, verdict: str) -> bool:
    """Whether the sentence above has it: a tensor with its size in brackets, a layer as code."""
    tensor, has_size, size = fact.partition(" = ")
    return f"{tensor} ({size})" in verdict if has_size else f"`{fact}`" in verdict


def _cut(text: str, width: int) -> str:
    """Quoted code that fits: as much of its beginning as there is room for, whole words or not."""
    if display_width(text) <= width:
        return text
    end = "…`" if "`" in text[: width - 2] else "…"
    return begun(text, width - len(end)).rstrip() + end


def _code(told: dict[str, str], name: str, view: View) -> str:
    """The user's line; where only its number is known also the line that ran it, which is quoted."""
    place = _nearer(told[name], view.width // 2)
    if "`" in place or "run by" not in told:
        return place
    file, runs = told[name].rpartition(":")[0], told["run by"]
    if file and runs.startswith(f"{file}:"):
        return f"{place}, run by line {runs.removeprefix(f'{file}:')}"
    return f"{place}, run by {_nearer(runs, view.width // 3)}"


def _nearer(place: str, room: int) -> str:
    """`…/nets/unet.py:31 `code``: of a long path the last directories that fit, so that its end stays."""
    path, space, code = place.partition(" `")
    if len(path) > 2 * room and "/" in path:  # directories so far from the end are not measured one by one
        end = path[-2 * room :]
        path = f"…/{end.partition('/')[2] if '/' in end else path.rpartition('/')[2]}"
    while display_width(path) > room and "/" in path.removeprefix("…/"):
        path = f"…/{path.removeprefix('…/').lstrip('/').partition('/')[2]}"
    return f"{path}{space}{code}"


def _answers(report: Report, view: View) -> list[str]:
    """The answer to a question of the text's own, where the verdict does not give it."""
    told = next((each for each in report.findings if each.answers), None)
    if told is None or told.headline in report.verdict:
        return []
    name = "YOUR QUESTION"
    rows = paragraph(f"{name}  {told.headline}", view.width - 2)
    begun = styled(name, "bold", view.color) + rows[0][len(name) :]
    return [begun, *(f"  {row}" for row in rows[1:])]


def _run_facts(report: Report, view: View) -> list[str]:
    """How the run stood, in a line."""
    told = [text for _, texts in run_facts.facts(report, report.case.moments[0]) for text in texts]
    return _heading("the run", view, told) if told else []


def _proof(line: Line, where: str, view: View, first: int, spare: int | None = None) -> list[str]:
    """The line that says it, in rows of which the first has so much room. Beside code (no `spare`) of a line
    that would be cut only the place is said: what it says is in the verdict.
    """
    place = f"{where}: "
    text, left = " ".join(visible(line.text).split()), first - display_width(place)
    if display_width(text) > left:
        text = _LOGGER.sub("", text)
    if left < _LEAST_QUOTE or (spare is None and display_width(text) > left):
        rows = [shorten_end(where, first)]
    else:
        rows = in_rows(place + text, first, view.width - 2, spare or 0)
    return [styled(row, "dim", view.color) for row in rows]


def in_rows(text: str, first: int, room: int, spare: int) -> list[str]:
    """Quoted text that fits a row of so many columns, or two where one is to spare, broken between words."""
    if display_width(text) <= first or spare < 1:
        return [_cut(text, first)]
    begun = text[: first + 1]  # a line of megabytes is not measured once for each of its words
    end = 0
    for match in _WORDS_END.finditer(begun):
        if display_width(begun[: match.end()]) <= first:
            end = match.end()
    at = end if end > first // 2 else len(_cut(text, first).rstrip("…`"))
    return [text[:at].rstrip(), _cut(f"  {text[at:].lstrip()}", room)]


def _place(line: Line, where: str, moment: Moment) -> str:
    """`log line 7`; which processes say so only where several do."""
    ranks = moment.incident.ranks if moment.incident else ()
    failed = moment.request is not None and moment.request.failed.kind not in _request.HEADINGS
    log = "log " if failed and not line.source else ""
    return where if ranks else f"{log}{line.place}"


def _memory(moment: Moment, view: View) -> list[str]:
    """The limit and what is in use, the bar, and what its letters mean."""
    if _balance.is_next_to_nothing(moment):
        return []
    drawn, limit = _balance.bar(moment, view), moment.balance.limit
    if not (drawn or limit or _balance.is_part_of_a_dump(moment)):
        mapped = _balance.by_the_map(moment)
        return _heading("memory use", view, [mapped]) if mapped else []
    facts = [_balance.limit(moment), *(_balance.figures(moment) if limit else ())]
    return [*_heading("memory use", view, facts), *([*drawn, _legend(moment, view)] if drawn else ())]


_Cell = tuple[str, "Kind | None"]


def _legend(moment: Moment, view: View) -> str:
    """The letters of the bar with their bytes, as shares would be of another whole: the largest first."""
    parts = sorted(_balance.parts(moment), key=lambda part: -part.bytes)
    named = zip(parts, _balance.names(parts), strict=True)
    short = [(f"{part.letter} {name}", part.kind) for part, name in named]
    whole = [(f"{name} {part.size}", kind) for (name, kind), part in zip(short, parts, strict=True)]
    name, size = _balance.free(moment)
    free = f"· {name} {size}" if size and not _balance.limit_is_far(moment) else ""
    fitting = (each for each in _legends(whole, short, free) if _width(*each) < view.width)
    gap, cells = next(fitting, ("", whole[:1]))
    drawn = [styled(text[:1], _balance.style(kind), view.color) + text[1:] for text, kind in cells]
    return f"  {gap.join(drawn)}"


def _legends(whole: list[_Cell], short: list[_Cell], free: str) -> Iterator[tuple[str, list[_Cell]]]:
    """Ever shorter ones, with what stands between their cells: without what is free, without the bytes of
    the smaller ones, without these.
    """
    if free:
        yield "   ", [*whole, (free, None)]
    yield "   ", whole
    for kept in range(len(whole) - 1, 0, -1):
        yield "  ", [*whole[:kept], *short[kept:]]
    for kept in range(len(whole) - 1, 0, -1):
        yield "  ", [*whole[:1], *short[1:kept], ("…", None)]


def _width(gap: str, cells: list[_Cell]) -> int:
    return 2 + len(gap) * (len(cells) - 1) + sum(display_width(text) for text, _ in cells)


def _curve(moment: Moment, view: View) -> list[str]:
    """The step's memory over time in one row, without its phases."""
    drawn = _timeline.curve(moment, view)
    if not drawn:
        return []
    name, said = _timeline.title(moment), _timeline.legend(moment)
    if len(name) + 2 + display_width(said) > view.width:
        said = said[said.find("peak ") :]
    return [*_heading(name, view, [said]), drawn[0]]


def _held(report: Report, view: View) -> list[str]:
    """The largest layers of the failure; of the traced step beside it where the failure names none."""
    moment, traced = report.case.moments[0], _holders.step_beside(report)
    if traced:
        return _largest(traced, "largest layers of a recorded step that ran", view)
    profile = moment.request is not None and moment.request.failed.kind is RequestKind.PROFILE
    return _largest(moment, "made in" if profile else "largest layers", view)


def _largest(moment: Moment, title: str, view: View) -> list[str]:
    """The layers that hold most; without names the sizes that are there most."""
    table = moment.attribution.table
    if not len(table):
        return []
    if _holders.nameless(moment):
        compiled = moment.incident is not None and moment.incident.compiler is not None
        if compiled and table.total_bytes < _WORTH_TELLING * _asked(moment):
            return []
        sizes = sorted(table, key=lambda row: -row.total_bytes)[:_MAX_LAYERS]
        sizes = [row for row in sizes if row.total_bytes >= _WORTH_A_ROW * sizes[0].total_bytes]
        rows = [(f"{row.count} × {human(row.size_bytes)}", human(row.total_bytes)) for row in sizes]
        return _heading("what is in use, by size (no names were printed)", view) + columns(
            rows, frozenset({0, 1})
        )
    whole = moment.accounted_bytes  # as the bar above
    title = "largest owners, by sizes that the program recorded or states" if moment.counted else title
    groups = [group for group in by_owner(moment.drawn.by("layer")) if group.total_bytes][:_MAX_LAYERS]
    groups = [group for group in groups if group.total_bytes >= _WORTH_A_ROW * groups[0].total_bytes]
    width = min(
        max((display_width(group.name or "(no layer)") for group in groups), default=0), view.width - 46
    )
    lines = []
    for group in groups:
        kinds = ", ".join(in_words(kind) for kind, _ in group.kinds[:2])
        name = pad(shorten(group.name or "(no layer)", width), width)
        figures = f"{human(group.total_bytes):>11} {percent(group.total_bytes, whole):>5}"
        lines.append(shorten_end(f"  {name} {figures}  {kinds}", view.width))
    return _heading(title, view) + lines


def _asked(moment: Moment) -> int:
    """The bytes that were asked for, where the input tells them."""
    return (moment.request.needed_bytes if moment.request else None) or 0


def _actions(report: Report, count: int, codes: int, view: View) -> list[str]:
    """What to do first: so many advices, so many of those that have code with it."""
    lines = []
    for number, (text, saving, code) in enumerate(savings.advice(report, count), start=1):
        words = _fitting(f"{text} ({saving})" if saving else text, view.width - 3)
        lines += [
            styled(line, "green", view.color) for line in paragraph(words, view.width, "   ", f"{number}. ")
        ]
        shown = _code_rows(code, view.width - 5) if codes else []
        codes -= bool(shown)
        lines += [f"   | {row}" for row in shown]
    return _heading(todo(report), view) + lines if lines else []


def todo(report: Report) -> str:
    """What stands above the advice: where nothing failed and nothing is too large, nothing must be done."""
    must = not report.case.moments or any(
        (moment.request is not None and moment.request.failed.kind not in _request.HEADINGS)
        or moment.fits in (Fits.NO, Fits.UNDECIDED)
        for moment in report.case.moments
    )
    return "do this first" if must or report.fit is not None else "to use less memory"


def _code_rows(code: str, room: int) -> list[str]:
    """Code of one or two lines that fit, without its remark where only that is too much and without what a
    line of remarks leads to; a longer line is broken behind a `;`, a comma or an open bracket; else nothing.
    """
    code = code.partition("\n#")[0]
    rows = code.split("\n") if code else []
    if len(rows) == 1 and display_width(code) > room:
        code = code.partition("   #")[0].rstrip()
        breaks = [match.end() for match in _BREAK.finditer(code) if match.end() <= room]
        rows = [code] if display_width(code) <= room or not breaks else _broken(code, breaks[-1])
    return rows if len(rows) <= 2 and all(display_width(row) <= room for row in rows) else []


def _broken(code: str, at: int) -> list[str]:
    """Two lines of one; a new statement is not indented."""
    head, rest = code[:at].rstrip(), code[at:].lstrip()
    return [head.removesuffix(";"), rest] if head.endswith(";") else [head, f"    {rest}"]


def _clauses(text: str, room: int) -> str:
    """As many whole clauses as fit."""
    if len(text) <= room:
        return text
    ends = [match.start() for match in _CLAUSE.finditer(text) if match.start() <= room]
    if not ends or ends[-1] <= room // 2:
        return shorten_end(text, room)
    kept = text[: ends[-1]].rstrip(";:, ")
    return f"{kept})" if kept.count("(") > kept.count(")") else kept


def _ended(text: str) -> str:
    """A sentence; what was cut ends as it is."""
    return text if text.endswith("…") else f"{text}."


def _more(report: Report) -> str:
    shown = report.case.moments
    alike = moments.counted(shown)[0] if shown and report.fit is None else ""
    other = f"This is 1 of {alike} (--all shows each). " if alike.endswith("s") else ""
    explained = shown or report.findings
    notes = [note for note in report.case.capture.notes if not (explained and note.text == UNREAD)]
    room = _LONG_NOTE if explained else _LONE_NOTE
    first = f"Note: {_ended(_clauses(notes[0].text, room))} " if notes else ""
    if not (explained or report.case.layout) and report.case.capture.source.holds < Holds.GRAPH:
        first = f"{_IF_IT_FAILED}{first}"
    return f"{other}{first}--full shows all, with its evidence; `tfmemlens report` makes an HTML page."
