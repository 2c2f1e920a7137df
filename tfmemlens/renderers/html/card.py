"""A report as a card for a notebook: what the short page says, and a button that opens the whole page.

It bears its styles on its elements and uses no element that notebooks style, so that nothing of it reaches
the notebook, and nothing of the notebook reaches it. Names of the input are escaped.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterable
from html import escape

from tfmemlens.escaping import visible
from tfmemlens.model.case import Moment
from tfmemlens.model.page import Card
from tfmemlens.model.report import Report
from tfmemlens.patterns import regex
from tfmemlens.renderers import origin, palette, savings
from tfmemlens.renderers.kinds import in_words
from tfmemlens.renderers.terminal import _balance, _request, _screen
from tfmemlens.renderers.view import View
from tfmemlens.units import human, percent

_EDGE = "rgba(128,128,128,.35)"
_FRAME = (
    f"font:13px/1.45 system-ui,sans-serif;color:inherit;text-align:left;border:1px solid {_EDGE};"
    "border-radius:8px;padding:10px 14px;max-width:860px;overflow-wrap:anywhere;word-break:break-word"
)
_HEADING = "font-size:11px;font-weight:600;letter-spacing:.06em;opacity:.7;margin:10px 0 3px"
_MONO = "font-family:ui-monospace,monospace;font-size:.92em"
_NAME = regex(r"`([^`]+)`")
_LAYERS, _ACTIONS = 5, 3
_OPEN = (
    "(async b=>{const w=window.open('','_blank');"
    "const raw=Uint8Array.from(atob(b.dataset.page),c=>c.charCodeAt(0));"
    "const html=await new Response(new Blob([raw]).stream().pipeThrough(new DecompressionStream('gzip')))"
    ".blob();const url=window.URL.createObjectURL(new Blob([html],{type:'text/html'}));"
    "if(w)w.location=url;else b.outerHTML='<a href='+url+' target=_blank>the whole page</a>'})(this)"
)
"""A window is opened at once, for the click allows it; the page follows when it is unpacked. In such a script
`open` and `URL` alone would be the document's.
"""


def render(card: Card, view: View = View()) -> str:
    """The card as one element."""
    del view  # a browser asks for itself
    report = card.report
    if isinstance(report, str):
        parts = [_lines([[report.strip()]]), *([_last(card)] if card.html else [])]
        return _framed(parts)
    moment = report.case.moments[0] if report.case.moments else None
    parts = [_div(f"{_name(report)} · {origin.described(report)}", "font-size:12px;opacity:.7")]
    parts.append(_coded(report.verdict, "font-size:15px;font-weight:600;margin:3px 0"))
    if moment is not None and report.fit is None:
        parts += [*_failed(moment), *_memory(moment), *_layers(moment)]
    else:
        parts += [_lines(_screen.sections(report, View()))]
    parts += _actions(report)
    parts.append(_last(card))
    return _framed(parts, report.case.capture.source.path)


def _framed(parts: list[str], source: str = "") -> str:
    """The card's element, marked as ours with what it was made from, for whoever is given it to explain."""
    mark = escape(visible(source[:300]))
    return f'<div style="{_FRAME}" data-tfmemlens="{mark}">{"".join(parts)}</div>'


def _name(report: Report) -> str:
    return _screen.files(report, 80)


def _div(text: str, style: str) -> str:
    return _raw(escape(visible(text)), style)


def _coded(text: str, style: str) -> str:
    return _raw(_code(text), style)


def _code(text: str) -> str:
    """A text with its `names` as code."""
    return _NAME.sub(rf'<span style="{_MONO}">\1</span>', escape(visible(text)))


def _raw(markup: str, style: str) -> str:
    return f'<div style="{style}">{markup}</div>'


def _heading(text: str, beside: str = "") -> str:
    told = f'<span style="font-weight:400;letter-spacing:0"> {_code(beside)}</span>' if beside else ""
    return _raw(escape(text.upper()) + told, _HEADING)


def _failed(moment: Moment) -> list[str]:
    """What was asked for and where, and the line that says so."""
    told = dict(_request.facts(moment))
    request = moment.request
    if not told or request is None:
        return []
    names = (
        "tensor",
        "size",
        "layer",
        "program",
        "device",
        _request.CODE,
        _request.CALL,
        _request.LATER,
        _request.INSTALLED,
    )
    facts = ", ".join(told[name] for name in names if name in told)
    title = _request.HEADINGS.get(request.failed.kind, "what failed")
    line = request.failed.line
    proof = " ".join(line.text.split())[:240] if line else ""
    return [
        _heading(title, facts),
        *([_div(f"{told.get('log', 'input')}: {proof}", f"{_MONO};opacity:.75")] if proof else []),
    ]


def _memory(moment: Moment) -> list[str]:
    """The bar with its kinds, and what they are."""
    if not _balance.bar(moment, View()):
        return []
    stretches, whole = _balance.parts(moment), _balance.scale(moment)
    facts = [_balance.limit(moment), *(_balance.figures(moment) if moment.balance.limit else ())]
    bar = "".join(
        f'<span style="flex:0 0 {100 * part.bytes / whole:.3f}%;background:{_color(part)}"></span>'
        for part in stretches
    )
    legend = "".join(
        '<span style="margin-right:12px;white-space:nowrap">'
        f'<span style="display:inline-block;width:9px;height:9px;margin-right:4px;background:{_color(part)}">'
        f"</span>{escape(name)} {escape(part.size)}</span>"
        for part, name in zip(stretches, _balance.names(stretches), strict=True)
    )
    edge = f"display:flex;height:16px;border:1px solid {_EDGE};border-radius:3px;overflow:hidden"
    return [_heading("memory use", ", ".join(facts)), _raw(bar, edge), _raw(legend, "font-size:12px")]


def _color(part: _balance.BarPart) -> str:
    return palette.LIGHT[part.kind] if part.kind else palette.OTHER


def _layers(moment: Moment) -> list[str]:
    """The layers that hold most; where there are no names, nothing."""
    whole = moment.attribution.table.total_bytes
    groups = [each for each in moment.drawn.by("layer") if each.total_bytes and each.name][:_LAYERS]
    cells = (
        (
            (group.name or "", ""),
            (human(group.total_bytes), "text-align:right"),
            (percent(group.total_bytes, whole), "text-align:right"),
            (", ".join(in_words(kind) for kind, _ in group.kinds[:2]), "opacity:.75"),
        )
        for group in groups
    )
    if not groups:
        return []
    grid = (
        "display:grid;grid-template-columns:minmax(8em,max-content) max-content max-content auto;gap:0 14px"
    )
    inner = "".join(_div(text, style) for row in cells for text, style in row)
    return [_heading("largest layers"), _raw(inner, f"{grid};font-size:12px")]


def _actions(report: Report) -> list[str]:
    """What to do first, each with what it saves and a line of code."""
    advice = savings.advice(report, _ACTIONS)
    parts = [_heading("do this first")] if advice else []
    for number, (text, saving, code) in enumerate(advice, start=1):
        parts.append(_coded(f"{number}. {text}" + (f" ({saving})" if saving else ""), "margin:2px 0"))
        if code:
            parts.append(_div(code, f"{_MONO};white-space:pre-wrap;margin:0 0 4px 1.4em;opacity:.85"))
    return parts


def _lines(parts: Iterable[Iterable[str]]) -> str:
    """Tables as the terminal has them."""
    text = "\n\n".join("\n".join(part) for part in parts)
    shown = "\n".join(escape(visible(line)) for line in text.split("\n"))
    return _raw(shown, f"{_MONO};white-space:pre;overflow-x:auto;margin:6px 0") if text else ""


def _last(card: Card) -> str:
    """The button, where the page is there; else how to write it."""
    if card.html is None:
        hint = "the whole page: report.save('report.html')"
        return _div(hint, "font-size:12px;opacity:.7;margin-top:8px")
    page = base64.b64encode(gzip.compress(card.html.encode("utf-8", "replace"), mtime=0)).decode()
    look = "font:inherit;padding:2px 10px;border-radius:5px;cursor:pointer"
    button = f'<button type="button" style="{look}" data-page="{page}" onclick="{escape(_OPEN)}">'
    return _raw(f"{button}Open the whole page</button>", "margin-top:10px")
