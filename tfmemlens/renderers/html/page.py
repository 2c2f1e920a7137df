"""One page for a browser: works offline, explores every byte, and runs nothing that a name in the input
contains.

The text (verdict, findings, model, glossary) is written here; pictures and the table of allocations are drawn
by our own script from packed figures. A content policy in the page lets that one script run, and nothing be
loaded from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from tfmemlens.escaping import visible
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.line import Line
from tfmemlens.model.page import Page
from tfmemlens.model.tensor import format_shape, tensor_bytes
from tfmemlens.patterns import regex
from tfmemlens.renderers import moments, origin, palette, run_facts, savings
from tfmemlens.renderers.html import _glossary, _joined
from tfmemlens.renderers.html._pack import packed
from tfmemlens.renderers.kinds import slug
from tfmemlens.renderers.terminal import _request, _screen
from tfmemlens.renderers.view import View
from tfmemlens.units import human, human_size, percent

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

SUFFIX = ".html"
SCRIPTS = (
    "format",
    "ledger",
    "tree",
    "state",
    "place",
    "canvas",
    "scale",
    "sheet",
    "bands",
    "balance",
    "chips",
    "terms",
    "compare",
    "replay",
    "curve",
    "lives",
    "icicle",
    "table",
    "whatif",
    "chunks",
    "theme",
    "main",
)
"""Our modules in the order in which they need each other."""
_TERM = regex(r'href="#term-([^"]*)"')
_GLOSSARY = "<!-- glossary -->"
LONGEST = 2000
"""Letters of a quoted line that the page shows."""


def render(page: Page, view: View = View()) -> str:
    """The whole page as one text."""
    from markupsafe import Markup

    del view  # a browser asks for itself
    tabs = [
        {"report": tab.report, "ledgers": tab.ledgers, "packed": packed(tab), "title": title}
        for tab, title in zip(page.tabs, _titles(page), strict=True)
    ]
    code = script()
    whole: str = (
        environment()
        .get_template("page.html.j2")
        .render(
            page=page,
            tabs=tabs,
            first=len(tabs) if page.opens_with_comparison or not tabs else 0,
            style=style(),
            script=code,
            script_hash=base64.b64encode(hashlib.sha256(code.encode()).digest()).decode(),
            glossary=Markup(_GLOSSARY),
        )
    )
    before, _, after = whole.rpartition(_GLOSSARY)
    return before + _explained(page, before) + after


def _explained(page: Page, text: str) -> str:
    """The glossary: words that a page's text uses, kinds that it draws, rules that fired."""
    fired = {finding.rule for tab in page.tabs for finding in tab.report.findings}
    drawn = {slug(owner.kind) for tab in page.tabs for ledger in tab.ledgers for owner in ledger.owners}
    drawn |= {
        slug(kind)
        for difference in page.differences
        for side in (difference.before, difference.after)
        for kind, count in side.kinds.items()
        if count
    }
    linked = set(_TERM.findall(text))
    return (
        environment()
        .get_template("glossary.html.j2")
        .render(
            terms={name: said for name, said in _glossary.TERMS.items() if _anchor(name) in linked},
            kinds={name: said for name, said in _glossary.KINDS.items() if name in drawn},
            rules={slug: _glossary.rule(said) for slug, said in sorted(page.rules.items()) if slug in fired},
        )
    )


def _anchor(term: str) -> str:
    """The name of a word's entry in an address: no letter that HTML or a selector would have to escape."""
    return term.replace(" ", "-").replace("'", "")


def style() -> str:
    """The style sheet, with the colours of the one table."""
    return (
        asset("page.css")
        .replace("/* light colours */", palette.variables(palette.LIGHT, palette.LAYERS))
        .replace("/* dark colours */", palette.variables(palette.DARK, palette.LAYERS_DARK))
        .replace("/* classes */", palette.classes())
    )


@cache
def script() -> str:
    """The page's own script."""
    return joined(SCRIPTS)


def joined(names: Iterable[str]) -> str:
    """Modules of ours as one script."""
    return _joined.joined(asset(f"{name}.js") for name in names)


def asset(name: str) -> str:
    """A file of the page, as it is installed beside this module."""
    return (resources.files("tfmemlens.renderers.html") / "assets" / name).read_text(encoding="utf-8")


@cache
def environment() -> Environment:
    """Templates of ours, which escape what they are given and know our words; read once in a process."""
    from jinja2 import BaseLoader, Environment, StrictUndefined

    class Installed(BaseLoader):
        def get_source(self, environment: Environment, template: str) -> tuple[str, None, None]:
            del environment
            return asset(template), None, None

    jinja = Environment(
        loader=Installed(), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    jinja.filters.update(
        human=human,
        human_size=human_size,
        shape=format_shape,
        readable=readable,
        cut=_cut,
        said=_said,
        anchor=_anchor,
        kind=slug,
    )
    jinja.globals.update(
        percent=percent,
        facts=_request.facts,
        files=_screen.files,
        run_facts=run_facts.facts,
        saving=savings.of_remedy,
        first_remedies=savings.first_remedies,
        todo=_screen.todo,
        place=_place,
        largest=_largest,
        output_bytes=_output_bytes,
        origin=origin.described,
        label=_label,
        moment_place=moments.place,
        held=_held,
    )
    return jinja


def readable(text: object) -> str:
    """A text whose control and direction marks are written out, as a terminal shows them; tabs and the ends
    of lines stay, since a page may show them.
    """
    return "".join(part if part in "\t\n" else visible(part) for part in re.split(r"([\t\n])", str(text)))


def _cut(text: str, length: int = LONGEST) -> str:
    return readable(text) if len(text) <= length else readable(text[:length]) + " …"


def _said(text: str, length: int = LONGEST) -> Markup:
    """A sentence of ours, its `names` as code. What it quotes is escaped first."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(_cut(text, length)))))


def _titles(page: Page) -> list[str]:
    """Short names for the tabs; those that are equal get their folder."""
    paths = [tab.report.case.capture.source.path for tab in page.tabs]
    shorts = [re.split(r"[/\\]", path.rstrip("/\\"))[-1] or path for path in paths]
    return [short if shorts.count(short) == 1 else path for short, path in zip(shorts, paths, strict=True)]


def _label(moment: Any, place: str) -> str:
    """What a moment is called in the list of moments; `place` is its name there, as in `failure 1 of 2`."""
    if moment.timeline:
        return f"peak of {moment.timeline.allocator} on {moment.timeline.device}"
    if moments.noun(moment) != "failure":
        return place
    failed = moment.request.failed
    at = moment.request.owner.layer or failed.node or failed.op or failed.kind.value
    line = f", {failed.line.place}" if failed.line else ""
    return f"{place}{line}: {at}"


def _place(line: Line, by_bytes: bool) -> str:
    where = f"byte {line.number:,}" if by_bytes else f"line {line.number:,}"
    return f"{line.source}, {where}" if line.source else where


def _largest(ledger: Any, moment: Any, top: int = 12) -> list[tuple[Allocation, Any]]:
    """The largest rows of the moment, for readers without scripts and for paper."""
    rows: Iterable[tuple[Allocation, Any]] = zip(moment.drawn.table, moment.drawn.owners, strict=True)
    del ledger
    return sorted(rows, key=lambda pair: -pair[0].total_bytes)[:top]


def _output_bytes(layer: Any) -> str:
    output = layer.outputs[0] if layer.outputs else None
    size = tensor_bytes(output.shape, output.dtype) if output else None
    return human(size) if size is not None else ""


def _held(report: Any) -> dict[str | None, dict[str, int]]:
    """For each layer the bytes by kind at the moment that matters most."""
    groups = report.case.moments[0].drawn.by("layer") if report.case.moments else ()
    return {group.name: {kind.value: size for kind, size in group.kinds} for group in groups}
