"""Who holds the memory: groups, the largest allocations, or bare chunk sizes."""

from __future__ import annotations

from tfmemlens.model.allocation import Allocation
from tfmemlens.model.attribution import Group, Kind
from tfmemlens.model.case import Moment, Naming
from tfmemlens.model.report import Report
from tfmemlens.model.tensor import TensorType
from tfmemlens.renderers.kinds import in_words
from tfmemlens.renderers.owners import by_owner
from tfmemlens.renderers.terminal import _timeline
from tfmemlens.renderers.terminal._blocks import bar, columns, display_width, heading, paragraph, shorten
from tfmemlens.renderers.view import View
from tfmemlens.units import human, percent
from tfmemlens.values import replace


def page(moment: Moment, view: View) -> list[str]:
    """The table that fits what is known: with names by layer (or what the view asks for), without them by
    chunk size.
    """
    if moment.counted:
        return _counted(moment, view) + _sizes(moment, view)
    if nameless(moment):
        return _sizes(moment, view)
    if not len(moment.attribution.table):
        return []
    key = view.by or "layer"
    whole = moment.attribution.table.total_bytes
    listed = (
        ", of what is listed" if moment.balance.outside_report and moment.balance.outside_report.bytes else ""
    )
    lines = heading(f"by {key}{listed}", view) + _groups(moment.drawn.by(key), whole, view)
    return lines + ([] if view.by else _tensors(moment, view))


def _counted(moment: Moment, view: View) -> list[str]:
    """A dump without names by the owners that the program counted."""
    key = view.by or "layer"
    title = "by owner" if key == "layer" else f"by {key}"
    whole, groups = moment.drawn.table.total_bytes, moment.drawn.by(key)
    rows = _groups(groups, whole, view, "(no name leads to it)")
    return heading(f"{title}, by sizes that the program recorded or states", view) + rows


def nameless(moment: Moment) -> bool:
    """Whether the rows are sizes and nothing else."""
    compiled = moment.incident is not None and moment.incident.compiler and not moment.lists_blocks_alone
    owners = moment.drawn.owners
    return not compiled and all(owner.kind is Kind.UNATTRIBUTED and not owner.layer for owner in owners)


def sizes_alone(report: Report) -> bool:
    """Whether what holds the memory is told by sizes without a name: any advice tells more."""
    if not report.case.moments or report.fit is not None:
        return False
    moment = report.case.moments[0]
    return bool(len(moment.attribution.table)) and step_beside(report) is None and nameless(moment)


def step_beside(report: Report) -> Moment | None:
    """The traced step that names what the failure's own list does not."""
    moment, *others = report.case.moments
    traced = next((other for other in others if other.timeline), None)
    counted_in_vain = moment.counted is not None and not moment.is_counted
    return traced if moment.request and (nameless(moment) or counted_in_vain) else None


def kinds_and_layers(moment: Moment, view: View) -> list[str]:
    """The same in two short tables, for a step that stands beside a failure."""
    whole, short = moment.attribution.table.total_bytes, replace(view, top=min(view.top, 6))
    kinds = [
        (str(group.name), human(group.total_bytes), percent(group.total_bytes, whole))
        for group in moment.drawn.by("kind")
        if group.total_bytes
    ]
    return [
        *columns(kinds[: short.top], frozenset({1, 2})),
        "",
        *_groups(moment.drawn.by(view.by or "layer"), whole, short),
    ]


def _groups(
    groups: tuple[Group, ...], whole: int, view: View, nobody: str = "(no layer in the name)"
) -> list[str]:
    rows = []
    groups = by_owner(groups)
    name_width = view.width - 46
    for group in groups[: view.top]:
        times = f" ×{group.count}" if group.count > group.rows else ""
        times += f", {group.calls} calls" if group.calls > 1 else ""
        kinds = ", ".join(in_words(kind) for kind, _ in group.kinds[:3])
        rows.append(
            (
                shorten(group.name or nobody, name_width - len(times)) + times,
                human(group.total_bytes),
                percent(group.total_bytes, whole),
                bar(group.total_bytes / whole, 10) if whole else "",
                shorten(kinds, 40),
            )
        )
    rest = groups[view.top :]
    lines = [
        line if display_width(line) <= view.width else line[: view.width - 1] + "…"
        for line in columns(rows, frozenset({1, 2}))
    ]
    return lines + (
        [f"  … {len(rest)} more with {human(sum(group.total_bytes for group in rest))}"] if rest else []
    )


def _tensors(moment: Moment, view: View) -> list[str]:
    """The largest rows, each with the tensor behind its figure."""
    lines = heading("the largest allocations", view)
    explained: set[int] = set()
    for row, owner, index in [entry for entry in moment.attribution.ranked if entry[0].node][: view.top]:
        size = ("about " if row.error_bytes else "") + human(row.size_bytes)
        times = f"×{row.count} " if row.count > 1 else ""
        lines.append(f"  {size:>16} {times}{shorten(row.node or '', view.width - 20)}")
        naming = moment.namings[index] if moment.namings else None
        tensor = f"{TensorType(row.shape, row.dtype)}, " if row.shape is not None else ""
        if naming:
            tensor = _named(naming, row.size_bytes in explained)
        if naming:
            explained.add(row.size_bytes)
        phase = f", {owner.phase.value}" if owner.phase.value not in ("none", owner.kind.value) else ""
        lines += paragraph(
            f"{tensor}{in_words(owner.kind)}{phase}{_lived(moment, row, index)}",
            view.width,
            " " * 20,
            " " * 19,
        )
    return lines


def _named(naming: Naming, explained: bool) -> str:
    """The tensor that a size most likely stands for; other tensors of that size are listed once."""
    best = naming.best
    slack = f" + {human(best.slack_bytes)} in the same block" if best.slack_bytes else ""
    others = ", ".join(str(candidate.tensor) for candidate in naming.candidates[1:])
    choice = f" (or {others})" if others and not explained else ""
    return f"= {best.tensor}{slack}{choice}, "


def _lived(moment: Moment, row: Allocation, index: int) -> str:
    timeline = moment.timeline
    if timeline is None or moment.predicted:
        return ""
    origin = timeline.events[0][0] if timeline.curve else 0.0
    lived = _timeline.lifetime(row.start_micros, row.end_micros, origin, timeline.ordinal)
    return (
        f"{lived} for {moment.last_reader[index]}"
        if lived and moment.last_reader and moment.last_reader[index]
        else lived
    )


def _sizes(moment: Moment, view: View) -> list[str]:
    """Without names, the sizes: equal ones together."""
    table = moment.attribution.table
    if not len(table):
        return []
    rows = [
        (
            f"{row.count} × {human(row.size_bytes)}",
            human(row.total_bytes),
            bar(row.total_bytes / max(table.total_bytes, 1), 20),
        )
        for row in sorted(table, key=lambda row: -row.total_bytes)[: view.top]
    ]
    return heading("what is in use, by size (no names were printed)", view) + columns(rows, frozenset({0, 1}))
