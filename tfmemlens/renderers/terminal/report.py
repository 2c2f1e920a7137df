"""Plain text for a terminal or an issue."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.model.case import Moment
from tfmemlens.model.report import Report
from tfmemlens.renderers import moments, origin
from tfmemlens.renderers.terminal import (
    _balance,
    _copies,
    _findings,
    _fit,
    _holders,
    _layers,
    _request,
    _run,
    _screen,
    _timeline,
)
from tfmemlens.renderers.terminal._blocks import as_text, heading, paragraph, shorten, styled
from tfmemlens.renderers.view import View
from tfmemlens.units import human, human_size


def render(report: Report, view: View = View()) -> str:
    """One screen, or with `full` everything."""
    if not (view.full or view.all_moments):
        return as_text(_screen.page(report, view), view)
    shown = range(len(report.case.moments)) if view.all_moments else range(min(len(report.case.moments), 1))
    lines = _title(report, view) + _verdict(report, view)
    if report.fit is not None:
        lines += _fit.page(report.fit, view)
        shown = range(0)
    for index in shown:
        lines += _moment(report, index, view)
    if not report.case.moments:
        lines += _layout_pass(report, view) + _findings.page(report.findings, view)
    lines += ([] if report.fit else _others(report, view)) + _notes(report, view)
    return as_text(lines, view)


def _title(report: Report, view: View) -> list[str]:
    return [
        styled(
            shorten(f"tfmemlens  {_screen.files(report, view.width - 11)}", view.width), "bold", view.color
        ),
        *(styled(line, "dim", view.color) for line in paragraph(origin.described(report), view.width)),
        "",
    ]


def _layout_pass(report: Report, view: View) -> list[str]:
    """What the layout pass did to a graph that stands alone."""
    study = report.case.layout
    if study is None or not (study.copies or report.case.trials):
        return []
    tried = _copies.trials(report.case, view)
    return [
        *(heading("tried", view) + tried if tried else []),
        *(
            heading("copies by cause", view) + _copies.causes(study, view) + _copies.peak(study, view)
            if study.copies
            else []
        ),
        *(heading("the largest copies", view) + _copies.largest(study, view) if study.copies else []),
    ]


def _verdict(report: Report, view: View) -> list[str]:
    told = [styled(line, "bold", view.color) for line in paragraph(report.verdict, view.width)]
    return [*told, *paragraph(_layers.bar(report), view.width)] if _layers.bar(report) else told


def _moment(report: Report, index: int, view: View) -> list[str]:
    moment = report.case.moments[index]
    when = _timeline.curve(moment, view)
    layers = (
        (_layers.table(report.case, view) or _timeline.model(report.case, view)) if moment.timeline else []
    )
    return (
        _ruler(report, index, view)
        + _request.page(moment, view)
        + _run.page(report, index, view)
        + (heading(_timeline.title(moment), view) + when if when else [])
        + _balance.page(moment, view)
        + _holders.page(moment, view)
        + (heading("the model", view) + layers if layers else [])
        + _findings.page([finding for finding in report.findings if finding.moment == index], view)
        + _left_out(moment, view)
    )


def _ruler(report: Report, index: int, view: View) -> list[str]:
    """The line that parts one moment from the next, where all are shown."""
    if not view.all_moments:
        return []
    where = moments.place(report.case.moments, index)
    return ["", "─" * view.width, styled(where, "bold", view.color)]


def _left_out(moment: Moment, view: View) -> list[str]:
    texts = moment.omissions
    return (
        (
            heading("not included", view)
            + [line for text in texts for line in paragraph(text, view.width, "    ", "  - ")]
        )
        if texts
        else []
    )


def _others(report: Report, view: View) -> list[str]:
    others = list(report.case.moments[1:])
    if not others or view.all_moments:
        return []
    if report.case.moments[0].request and (steps := [moment for moment in others if moment.timeline]):
        others = [moment for moment in others if moment is not steps[0]]
        return _beside(steps[0], view) + (_more(others, view) if others else [])
    return _more(others, view)


def _beside(moment: Moment, view: View) -> list[str]:
    """A traced step of the same model, in short: it names what the failure's list leaves out."""
    timeline = moment.timeline
    assert timeline
    held = human(moment.attribution.table.total_bytes)
    told = (
        f"Its peak is {held} on {timeline.allocator} (--all shows it whole). What the failure's list leaves"
        " out has a name here, at this step's batch."
    )
    return [
        *heading("a recorded step that ran", view),
        *paragraph(told, view.width, "  "),
        "",
        *_holders.kinds_and_layers(moment, view),
    ]


def _more(others: Sequence[Moment], view: View) -> list[str]:
    lines = heading(f"besides: {' and '.join(moments.counted(others))}", view)
    lines.append(f"  --all shows {'it' if len(others) == 1 else 'them'} whole")
    return lines + [shorten(f"  {_in_short(moment)}", view.width) for moment in others[:5]]


def _in_short(moment: Moment) -> str:
    """A failure, or the peak of one more allocator, in a line."""
    if moment.request is None:
        timeline = moment.timeline
        where = f" on {timeline.allocator} of {timeline.device or 'its device'}" if timeline else ""
        return f"{human(moment.attribution.table.total_bytes)}{where}"
    failed = moment.request.failed
    what = moments.noun(moment)
    if what != "failure":
        held = moment.balance.in_use
        return f"{what}, {human_size(held)} in use" if held else what
    place = moment.request.owner.layer or failed.node or failed.op or failed.kind.value
    text = f"{_request.tensor(failed) or failed.kind.value} at {place}"
    if failed.line is None:
        return text
    source = f"{failed.line.source}, " if failed.line.source else ""
    return f"{source}line {failed.line.number}: {text}"


def _notes(report: Report, view: View) -> list[str]:
    notes = report.case.capture.notes
    if not notes:
        return []
    lines = heading("notes", view)
    for note in notes[:6]:
        lines += paragraph(note.text, view.width, "    ", "  - ")
        if note.line:
            lines += _findings.quote(note.line, view)
    return lines + ([f"  … {len(notes) - 6} more (--json lists them)"] if len(notes) > 6 else [])
