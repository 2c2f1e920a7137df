"""Plain text for a terminal or an issue."""

from __future__ import annotations

from tfmemlens.model.attribution import Group, Kind
from tfmemlens.model.case import Moment
from tfmemlens.model.finding import Certainty, Finding, Remedy, Severity
from tfmemlens.model.incident import FailedRequest, RequestKind
from tfmemlens.model.line import Line
from tfmemlens.model.report import Report
from tfmemlens.model.tensor import TensorType
from tfmemlens.renderers import _copies, _fit, _layers, _timeline
from tfmemlens.renderers._layout import bar, columns, display_width, paragraph, shorten, stacked_bar, styled
from tfmemlens.renderers._view import UNICODE_TO_ASCII, View
from tfmemlens.units import human, human_size, percent

SUFFIX = ".txt"

LETTERS = {
    Kind.ACTIVATION: "█",
    Kind.LAYOUT_TRANSPOSE: "▓",
    Kind.GRADIENT: "▒",
    Kind.PARAMETER: "■",
    Kind.OPTIMIZER_SLOT: "◆",
    Kind.WORKSPACE: "w",
    Kind.LOOP_STACK: "L",
    Kind.CONSTANT: "c",
    Kind.INPUT: "i",
    Kind.TRANSFER: "t",
    Kind.UNATTRIBUTED: "u",
}
_STYLE = {Severity.CAUSE: "red", Severity.FACTOR: "yellow", Severity.NOTE: "cyan"}
_CERTAINTY = {Certainty.EXACT: "saves {}", Certainty.BOUND: "saves up to {}", Certainty.ESTIMATE: "saves about {}"}


def render(report: Report, view: View = View()) -> str:
    """The page."""
    moments = range(len(report.case.moments)) if view.all_moments else range(min(len(report.case.moments), 1))
    lines = _title(report, view) + _verdict(report, view)
    if report.fit is not None:
        lines += _fit.page(report.fit, view)
        moments = range(0)
    for index in moments:
        lines += _moment(report, index, view)
    if not report.case.moments:
        lines += _layout_pass(report, view) + _findings(report, None, view)
    lines += ([] if report.fit else _others(report, view)) + _notes(report, view)
    text = "\n".join(line.rstrip() for line in lines).strip("\n") + "\n"
    return text if view.unicode else text.translate(UNICODE_TO_ASCII).encode("ascii", "replace").decode()


def _title(report: Report, view: View) -> list[str]:
    source = report.case.capture.source
    what = " + ".join(source.formats) or "nothing recognised"
    if any(moment.predicted for moment in report.case.moments):
        return [
            styled(shorten(f"tfmemlens  {source.path}", view.width), "bold", view.color),
            styled(f"a model described by {what}; nothing was run", "dim", view.color),
            "",
        ]
    return [
        styled(shorten(f"tfmemlens  {source.path}", view.width), "bold", view.color),
        styled(f"read as {what}, written by {_writer(report)}" if source.formats else what, "dim", view.color),
        "",
    ]


def _writer(report: Report) -> str:
    framework = report.case.capture.source.framework
    return {"jax": "JAX", "xla": "an XLA compiler"}.get(framework or "") or str(report.case.api)


def _layout_pass(report: Report, view: View) -> list[str]:
    """What the layout pass did to a graph that stands alone."""
    study = report.case.layout
    if study is None or not (study.copies or report.case.trials):
        return []
    tried = _copies.trials(report.case, view)
    return [
        *(_heading("tried", view) + tried if tried else []),
        *(_heading("copies by cause", view) + _copies.causes(study) + _copies.peak(study, view) if study.copies else []),
        *(_heading("the largest copies", view) + _copies.largest(study, view) if study.copies else []),
    ]


def _heading(text: str, view: View) -> list[str]:
    return ["", styled(text.upper(), "bold", view.color)]


def _verdict(report: Report, view: View) -> list[str]:
    told = [styled(line, "bold", view.color) for line in paragraph(report.verdict, view.width)]
    return [*told, *paragraph(_layers.bar(report), view.width)] if _layers.bar(report) else told


def _moment(report: Report, index: int, view: View) -> list[str]:
    moment = report.case.moments[index]
    head = (
        []
        if not view.all_moments
        else ["", "─" * view.width, styled(f"{'failure' if moment.request else 'allocator'} {index + 1} of {len(report.case.moments)}", "bold", view.color)]
    )
    when = _timeline.curve(moment, view)
    layers = (_layers.table(report.case, view) or _timeline.model(report.case, view)) if moment.timeline else []
    return (
        head
        + _request(moment, view)
        + (_heading("when", view) + when if when else [])
        + _balance(moment, view)
        + _where(moment, view)
        + (_heading("the model", view) + layers if layers else [])
        + _findings(report, index, view)
        + _left_out(moment, view)
    )


def _request(moment: Moment, view: View) -> list[str]:
    facts = request_facts(moment)
    if not facts or moment.request is None:
        return []
    heading = "the program" if moment.request.failed.kind is RequestKind.PROGRAM else "the failed request"
    return _heading(heading, view) + [line for name, text in facts for line in paragraph(text, view.width, " " * 12, f"  {name:10}")]


def request_facts(moment: Moment) -> list[tuple[str, str]]:
    """What failed, as pairs of a label and a text; empty for a traced step."""
    request = moment.request
    if request is None:
        return []
    failed = request.failed
    facts = [
        ("tensor" if failed.shape is not None else "size", _tensor(failed)),
        (
            "asked",
            human(request.rounded_bytes) + " of the allocator, after rounding"
            if request.rounded_bytes and failed.tensor_bytes and request.rounded_bytes != failed.tensor_bytes
            else "",
        ),
        ("layer", request.owner.layer or ""),
        ("op", _op(moment)),
        ("phase", "" if request.owner.phase.value == "none" else request.owner.phase.value),
        ("device", " ".join(part for part in (failed.device, f"allocator {failed.allocator}" if failed.allocator else "") if part)),
        ("your code", " ".join(part for part in (failed.source, f"`{failed.source_text}`" if failed.source_text else "") if part)),
        ("program", failed.executable or ""),
        ("told", _told(moment)),
    ]
    return [(name, text) for name, text in facts if text]


def _tensor(failed: FailedRequest) -> str:
    if failed.shape is None:
        return human_size(failed.size) if failed.size else ""
    need = failed.tensor_bytes
    return f"{TensorType(failed.shape, failed.dtype)}{f' = {human(need)}' if need is not None else ''}{' (temporary)' if failed.temporary else ''}"


def _op(moment: Moment) -> str:
    assert moment.request
    failed, op = moment.request.failed, moment.request.owner.op
    node = failed.node
    return f"{node} ({op})" if node and op and op not in node.rpartition("/")[2] else node or op or ""


def _told(moment: Moment) -> str:
    incident = moment.incident
    if incident is None or incident.request.line is None:
        return ""
    times = f", {incident.occurrences} times in all" if incident.occurrences > 1 else ""
    ranks = f", by {len(incident.ranks)} processes ({', '.join(incident.ranks[:4])}{' …' if len(incident.ranks) > 4 else ''})" if incident.ranks else ""
    return f"in line {incident.request.line.number}{times}{ranks}"


def _balance(moment: Moment, view: View) -> list[str]:
    books = moment.balance
    parts = [(LETTERS[Kind(group.name)], group.total_bytes) for group in moment.attribution.by("kind") if group.total_bytes]
    rows = [
        (LETTERS[Kind(group.name)], str(group.name), human(group.total_bytes), percent(group.total_bytes, moment.attribution.table.total_bytes))
        for group in moment.attribution.by("kind")
        if group.total_bytes
    ]
    if not rows and books.in_use and books.in_use.bytes and not (books.outside_report and books.outside_report.bytes):
        parts.append((LETTERS[Kind.UNATTRIBUTED], books.in_use.bytes))
        rows.append((LETTERS[Kind.UNATTRIBUTED], "in use, by whom is not in the input", human_size(books.in_use), ""))
    if books.outside_report and books.outside_report.bytes:
        parts.append(("o", books.outside_report.bytes))
        rows.append(("o", "outside the report", human_size(books.outside_report), ""))
    if unlisted := moment.unlisted_buffer_bytes:
        parts.append(("?", unlisted))
        rows.append(("?", "in buffers that are not listed", human(unlisted), ""))
    if books.available and books.available.bytes:
        rows.append(("·", "free", human_size(books.available), ""))
    whole = max(books.limit.bytes if books.limit else 0, sum(size for _, size in parts))
    if not whole:
        return []
    held = "needed" if moment.predicted or (moment.incident and moment.incident.compiler) else "held"
    nobody = "no --limit was given" if moment.predicted else "the input states no limit"
    head = f"limit {human_size(books.limit)}" if books.limit else f"{held} {human(whole)} ({nobody})"
    drawn = stacked_bar(parts, whole, view.width - 4)
    lines = [*_heading("the balance", view), f"  {head}{_peak(moment)}", f"  [{drawn}{'·' * (view.width - 4 - len(drawn))}]"]
    return lines + columns(rows, frozenset({2, 3})) + _figures(moment)


def _peak(moment: Moment) -> str:
    peak = moment.balance.peak
    return f", {'needed' if moment.predicted else 'peak so far'} {human_size(peak)}" if peak and (moment.balance.limit or not moment.predicted) else ""


def _figures(moment: Moment) -> list[str]:
    books = moment.balance
    facts = []
    if books.in_use:
        facts.append(f"in use {human_size(books.in_use)}")
    if books.largest_free_chunk is not None and books.free and books.free.bytes:
        facts.append(f"largest free chunk {human_size(books.largest_free_chunk)}")
    if books.waste and books.waste.bytes:
        facts.append(f"inside chunks beyond what was asked {human_size(books.waste)}")
    if books.missing:
        facts.append(f"missing {human(books.missing)}")
    return [f"  {', '.join(facts)}"] if facts else []


def _where(moment: Moment, view: View) -> list[str]:
    compiled = moment.incident is not None and moment.incident.compiler is not None
    if all(owner.kind is Kind.UNATTRIBUTED for owner in moment.attribution.owners) and not compiled:
        return _sizes(moment, view)
    if not len(moment.attribution.table):
        return []
    key = view.by or "layer"
    whole = moment.attribution.table.total_bytes
    lines = _heading(f"where it is, by {key}", view) + _groups(moment.attribution.by(key), whole, view)
    return lines + ([] if view.by else _tensors(moment, view))


def _groups(groups: tuple[Group, ...], whole: int, view: View) -> list[str]:
    rows = []
    name_width = view.width - 46
    for group in groups[: view.top]:
        times = f" ×{group.count}" if group.count > group.rows else ""
        kinds = ", ".join(kind.value for kind, _ in group.kinds[:3])
        rows.append(
            (
                shorten(f"{group.name or '(no layer in the name)'}{times}", name_width),
                human(group.total_bytes),
                percent(group.total_bytes, whole),
                bar(group.total_bytes / whole, 10) if whole else "",
                shorten(kinds, 40),
            )
        )
    rest = groups[view.top :]
    lines = [line if display_width(line) <= view.width else line[: view.width - 1] + "…" for line in columns(rows, frozenset({1, 2}))]
    return lines + ([f"  … {len(rest)} more with {human(sum(group.total_bytes for group in rest))}"] if rest else [])


def _tensors(moment: Moment, view: View) -> list[str]:
    """The largest rows, each with the tensor behind its figure."""
    lines = _heading("the largest allocations", view)
    ambiguous: set[int] = set()
    origin = moment.timeline.events[0][0] if moment.timeline and moment.timeline.curve else 0.0
    for row, owner, index in [entry for entry in moment.attribution.ranked if entry[0].node][: view.top]:
        naming = moment.namings[index] if moment.namings else None
        size = ("about " if row.error_bytes else "") + human(row.size_bytes)
        lines.append(f"  {size:>16} {f'×{row.count} ' if row.count > 1 else ''}{shorten(row.node or '', view.width - 20)}")
        tensor = ""
        if naming:
            slack = f" + {human(naming.best.slack_bytes)} in the same chunk" if naming.best.slack_bytes else ""
            others = (
                f" (or {', '.join(str(candidate.tensor) for candidate in naming.candidates[1:])})"
                if naming.candidates[1:] and row.size_bytes not in ambiguous
                else ""
            )
            ambiguous.add(row.size_bytes)
            tensor = f"= {naming.best.tensor}{slack}{others}, "
        elif row.shape is not None:
            tensor = f"{TensorType(row.shape, row.dtype)}, "
        lived = "" if moment.predicted else _timeline.lifetime(row.start_micros, row.end_micros, origin, bool(moment.timeline and moment.timeline.ordinal))
        if moment.kept_for and moment.kept_for[index] and lived:
            lived += f" for {moment.kept_for[index]}"
        phase = f", {owner.phase.value}" if owner.phase.value not in ("none", owner.kind.value) else ""
        lines += paragraph(f"{tensor}{owner.kind.value}{phase}{lived}", view.width, " " * 20, " " * 19)
    return lines


def _sizes(moment: Moment, view: View) -> list[str]:
    """Without names, the sizes: equal ones together."""
    table = moment.attribution.table
    if not len(table):
        return []
    rows = [
        (f"{row.count} × {human(row.size_bytes)}", human(row.total_bytes), bar(row.total_bytes / max(table.total_bytes, 1), 20))
        for row in sorted(table, key=lambda row: -row.total_bytes)[: view.top]
    ]
    return _heading("what is in use, by chunk size (the dump has no names)", view) + columns(rows, frozenset({0, 1}))


def _findings(report: Report, index: int | None, view: View) -> list[str]:
    ours = [finding for finding in report.findings if index is None or finding.moment == index]
    if not ours:
        return []
    lines = _heading("findings", view)
    quoted: set[Line] = set()
    for number, finding in enumerate(ours, start=1):
        lines += _finding(number, finding, quoted, view)
    return lines


def _finding(number: int, finding: Finding, quoted: set[Line], view: View) -> list[str]:
    """A line that stands on the page already is named, not quoted again."""
    head = paragraph(f"{finding.severity.value}: {finding.headline}  [{finding.rule}]", view.width, "   ", f"{number}. ")
    lines = ["", *(styled(line, _STYLE[finding.severity], view.color) for line in head)]
    if finding.detail:
        lines += paragraph(finding.detail, view.width, "   ")
    for proof in finding.evidence:
        lines += paragraph(proof.fact, view.width, "     ", "   • " if view.unicode else "   - ")
        if proof.line:
            lines += _quote(proof.line._replace(text="(quoted above)") if proof.line in quoted else proof.line, view)
            quoted.add(proof.line)
    for remedy in finding.remedies:
        lines += _remedy(remedy, view)
    return lines


def _quote(line: Line, view: View) -> list[str]:
    """The input's line, cut after three rows."""
    place = f"{shorten(line.source, 24)}:{line.number}" if line.source else str(line.number)
    room = view.width - max(len(place), 8) - 3
    text = " ".join(line.text.split())
    pieces = [text[at : at + room] for at in range(0, min(len(text), 3 * room), room)] or [""]
    if len(text) > 3 * room:
        pieces[-1] = pieces[-1][:-1] + "…"
    margin = max(len(place), 8)
    heads = [f"{place:>{margin}} │ ", *[" " * margin + " │ "] * (len(pieces) - 1)]
    return [styled(head + piece, "dim", view.color) for head, piece in zip(heads, pieces, strict=True)]


def _remedy(remedy: Remedy, view: View) -> list[str]:
    saving = f" ({_CERTAINTY[remedy.certainty].format(human(remedy.saves_bytes))})" if remedy.saves_bytes and remedy.certainty else ""
    lines = [styled(line, "green", view.color) for line in paragraph(remedy.text + saving, view.width, "        ", "   try: ")]
    if remedy.code:
        lines += [f"        | {line}" for line in remedy.code.split("\n")]
    return lines


def _left_out(moment: Moment, view: View) -> list[str]:
    texts = moment.omissions
    return (_heading("what these figures leave out", view) + [line for text in texts for line in paragraph(text, view.width, "    ", "  - ")]) if texts else []


def _others(report: Report, view: View) -> list[str]:
    others = report.case.moments[1:]
    if not others or view.all_moments:
        return []
    what = "failure" if any(moment.request for moment in others) else "allocator"
    lines = _heading(f"{len(others)} more {what}{'s' if len(others) > 1 else ''} (--all shows them whole)", view)
    return lines + [shorten(f"  {_in_short(moment)}", view.width) for moment in others[:5]]


def _in_short(moment: Moment) -> str:
    """A failure, or the peak of one more allocator, in a line."""
    if moment.request is None:
        timeline = moment.timeline
        where = f" on {timeline.allocator} of {timeline.device or 'its device'}" if timeline else ""
        return f"{human(moment.attribution.table.total_bytes)}{where}"
    failed = moment.request.failed
    place = moment.request.owner.layer or failed.node or failed.op or failed.kind.value
    return f"{f'line {failed.line.number}: ' if failed.line else ''}{_tensor(failed) or failed.kind.value} at {place}"


def _notes(report: Report, view: View) -> list[str]:
    notes = report.case.capture.notes
    if not notes:
        return []
    lines = _heading("notes", view)
    for note in notes[:6]:
        lines += paragraph(note.text, view.width, "    ", "  - ")
        if note.line:
            lines += _quote(note.line, view)
    return lines + ([f"  … {len(notes) - 6} more (--json lists them)"] if len(notes) > 6 else [])
