"""What changed between two inputs, for a terminal or a build log."""

from __future__ import annotations

from tfmemlens.model.difference import ComparedItem, Difference, Side
from tfmemlens.renderers.terminal._blocks import as_text, columns, heading, paragraph, shorten, styled
from tfmemlens.renderers.view import View
from tfmemlens.units import human

_COLOURS = {"new": "red", "grew": "red", "gone": "green", "shrank": "green", "same": "dim"}


def render(difference: Difference, view: View = View()) -> str:
    """The page: totals, kinds, layers, allocations; only what changed."""
    lines = [
        styled(
            shorten(f"tfmemlens  {difference.before.path} -> {difference.after.path}", view.width),
            "bold",
            view.color,
        ),
        "",
        *(styled(line, "bold", view.color) for line in paragraph(difference.verdict, view.width)),
        "",
        *columns([_side("before", difference.before), _side("after", difference.after)], frozenset({1})),
    ]
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


def _side(name: str, side: Side) -> tuple[str, str, str]:
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
            shorten(_name(change), max(view.width - 43, 24)),
        )
        for change in changed[: view.top]
    ]
    drawn = columns(rows, frozenset({0, 1}))
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
