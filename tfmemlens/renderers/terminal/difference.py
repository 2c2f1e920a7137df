"""What changed between two inputs, for a terminal or a build log."""

from __future__ import annotations

from tfmemlens.model.attribution import Kind
from tfmemlens.model.difference import ComparedInput, ComparedItem, Difference
from tfmemlens.renderers.kinds import in_words
from tfmemlens.renderers.terminal._blocks import (
    as_text,
    columns,
    heading,
    narrowed,
    paragraph,
    shorten,
    styled,
)
from tfmemlens.renderers.view import View
from tfmemlens.units import human
from tfmemlens.values import replace

_COLOURS = {"new": "red", "grew": "red", "gone": "green", "shrank": "green", "same": "dim"}


_SHORT = (("by kind", "kinds", 3), ("by layer", "layers", 4))
"""The tables of one screen, and how many rows each has."""


def render(difference: Difference, view: View = View()) -> str:
    """One screen: totals and what changed most; with `full` all kinds, layers and allocations, and the
    notes.
    """
    lines = _head(difference, view)
    if not view.full:
        for name, field, top in _SHORT:
            lines += _table(name, getattr(difference, field), replace(view, top=top))
        rest = "--full shows every allocation that changed; --html draws the comparison."
        return as_text([*lines, "", *paragraph(rest, view.width)], view)
    for name, changes in (
        ("by kind", difference.kinds),
        ("by layer", difference.layers),
        ("by allocation", difference.allocations),
    ):
        lines += _table(name, changes, view)
    lines += (
        ["", *(line for note in difference.notes for line in paragraph(note, view.width, "    ", "  - "))]
        if difference.notes
        else []
    )
    return as_text(lines, view)


def _head(difference: Difference, view: View) -> list[str]:
    before, after = (
        shorten(side.path, (view.width - 15) // 2) for side in (difference.before, difference.after)
    )
    return [
        styled(f"tfmemlens  {before} -> {after}", "bold", view.color),
        "",
        *(styled(line, "bold", view.color) for line in paragraph(difference.verdict, view.width)),
        "",
        *columns([_side("before", difference.before), _side("after", difference.after)], frozenset({1})),
    ]


def _side(name: str, side: ComparedInput) -> tuple[str, str, str]:
    about = "about " if side.error_bytes else ""
    return (
        name,
        about + human(side.total_bytes),
        side.what + (f", limit {human(side.limit_bytes)}" if side.limit_bytes else ""),
    )


def _table(name: str, changes: tuple[ComparedItem, ...], view: View) -> list[str]:
    changed = [change for change in changes if change.change_bytes]
    if not changed:
        return []
    rows = [
        (
            ("+" if change.change_bytes > 0 else "") + human(change.change_bytes),
            (
                f"{human(change.before_bytes) if change.before is not None else '-'} ->"
                f" {human(change.after_bytes) if change.after is not None else '-'}"
            ),
            in_words(Kind(change.name)) if name == "by kind" else _name(change),
        )
        for change in changed[: view.top]
    ]
    drawn = columns(narrowed(rows, view.width - 2, {2: 12}), frozenset({0, 1}))
    lines = heading(name, view) + [
        styled(line, _COLOURS[change.state], view.color) for line, change in zip(drawn, changed, strict=False)
    ]
    rest = changed[view.top :]
    return lines + (
        [f"  … {len(rest)} more with {human(sum(change.change_bytes for change in rest))}"] if rest else []
    )


def _name(change: ComparedItem) -> str:
    if change.before and change.after and change.before != change.after:
        return f"{change.after} (was {change.before})"
    return change.name or ("(no name)" if change.kind else "(no layer in the name)")
