"""The one screen's parts, each alone: what stays where a line, a table or the page has no room."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace as Made
from typing import Any

import pytest

from tests.builders import MIB, capture, row, timeline
from tfmemlens import pipeline
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import NOBODY, Kind
from tfmemlens.model.case import Balance, Moment
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line, ReadNote
from tfmemlens.model.report import Report
from tfmemlens.renderers import origin, savings
from tfmemlens.renderers.terminal import (
    _balance,
    _copies,
    _fit,
    _holders,
    _layers,
    _request,
    _screen,
    _timeline,
)
from tfmemlens.renderers.terminal._blocks import display_width
from tfmemlens.renderers.view import View
from tfmemlens.units import Size
from tfmemlens.values import replace

VIEW = View(width=60)


def the_report(**changed: Any) -> Report:
    """The report of a step of one tensor."""
    return replace(pipeline.report(capture(timeline(row("net/a/Relu", 4, 1, 3)))), **changed)


# ------------------------------------------------------------------ the page as a whole


def laid_out(
    monkeypatch: pytest.MonkeyPatch, parts: list[int], codes: int = 3, said: int = 3
) -> tuple[list[str], list[int]]:
    """A page of a verdict of so many lines, sections with so many rows, and three advices, so many of them
    with code; and what was asked of the advices.
    """
    asked: list[int] = []

    def actions(report: Report, count: int, coded: int, view: View) -> list[str]:
        asked.append(10 * count + coded)
        lines = [[f"{number}."] + ["code"] * (number <= min(coded, codes)) for number in range(1, count + 1)]
        return ["DO"] + [line for each in lines for line in each]

    monkeypatch.setattr(_screen, "_title", lambda report, view: ["title"])
    monkeypatch.setattr(_screen, "_verdict", lambda report, view: ["verdict"] * (said - 1))
    monkeypatch.setattr(
        _screen,
        "sections",
        lambda report, view: [[f"{at}:{n}" for n in range(rows)] for at, rows in enumerate(parts)],
    )
    monkeypatch.setattr(_screen, "_actions", actions)
    return _screen.page(the_report(), View()), asked


@pytest.mark.parametrize(
    "parts, asked, shown, end",
    [
        ([3, 2], [33], 5, ["3.", "code", "", "last"]),  # all of it has room
        ([3, 3], [33], 6, ["3.", "code", "", "last"]),
        ([4, 5], [33], 9, ["3.", "code", "last"]),
        ([4, 7], [33], 9, ["3.", "code", "last"]),  # the last table ends earlier
        ([3, 3, 3], [33, 31], 9, ["3.", "", "last"]),  # only the first advice has its code
        ([3, 3, 3, 3], [33, 31, 31], 12, ["3.", "last"]),  # no empty lines
        ([3, 3, 3, 3, 2], [33, 31, 31], 14, ["3.", "last"]),
        ([3, 3, 3, 3, 3], [33, 31, 31, 30], 15, ["3.", "last"]),
        ([3, 3, 3, 3, 4, 2], [33, 31, 31, 30, 21, 20, 11, 10], 16, ["1.", "last"]),
    ],
)
def test_what_goes_first_where_there_is_no_room(
    parts: list[int], asked: list[int], shown: int, end: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_screen, "paragraph", lambda text, width, *indents: ["last"])
    page, choices = laid_out(monkeypatch, parts)
    assert choices == asked
    assert len([line for line in page if ":" in line]) == shown
    assert page[-len(end) :] == end
    assert len(page) <= _screen.ROWS


def test_a_table_of_its_heading_alone_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    page, _ = laid_out(monkeypatch, [3] * 9, said=4)
    sections = [line.partition(":")[0] for line in page if ":" in line and line[0].isdigit()]
    assert all(sections.count(each) >= 2 for each in sections)
    alone, _ = laid_out(monkeypatch, [1, 1])
    assert [line for line in alone if line[:2] in ("0:", "1:")] == ["0:0", "1:0"]
    assert alone[:5] == ["title", "verdict", "verdict", "", "0:0"]


# ------------------------------------------------------------------ title and verdict


@pytest.mark.parametrize("width, lines", [(37, 1), (36, 2)])
def test_the_title_stands_on_one_line_where_it_fits(
    width: int, lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(origin, "described", lambda report: "an OOM message")
    monkeypatch.setattr(_screen, "files", lambda report, room: "train.log")
    assert len("tfmemlens  train.log · an OOM message") == 37
    title = _screen._title(the_report(), View(width=width))
    assert len(title) == lines
    assert " · ".join(title) == "tfmemlens  train.log · an OOM message"


def test_a_long_verdict_has_five_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_layers, "bar", lambda report: "")
    said = [" ".join(["nine_cols"] * 6)] * 6
    five, six = (_screen._verdict(the_report(verdict=" ".join(said[:count])), VIEW) for count in (5, 6))
    assert five == said[:5]
    assert six == [*said[:4], f"{said[0][:49]}…"]
    monkeypatch.setattr(_layers, "bar", lambda report: "Predicted")
    assert _screen._verdict(the_report(verdict="so"), VIEW) == ["so", "Predicted"]


def test_a_longer_verdict_ends_with_a_clause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_layers, "bar", lambda report: "")
    said = [" ".join(["nine_cols"] * 6)] * 4
    told = " ".join([*said, "nine_cols; nine_cols", *said])
    assert _screen._verdict(the_report(verdict=told), VIEW) == [*said, "nine_cols."]


@pytest.mark.parametrize("letters, shown", [(10, "a" * 10), (11, "aaa…aaaaaa")])
def test_a_name_longer_than_a_line_is_cut(letters: int, shown: str) -> None:
    assert _screen._fitting(f"at {'a' * letters} it", 10) == f"at {shown} it"


# ------------------------------------------------------------------ sections


def test_without_a_moment_the_layout_pass_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_copies, "trials", lambda case, view: ["trial"] if case.trials else [])
    monkeypatch.setattr(_copies, "causes", lambda study, view: ["cause"])

    def told(copies: tuple[int, ...] | None, *trials: int) -> list[list[str]]:
        study = None if copies is None else Made(copies=copies)
        report: Any = Made(fit=None, case=Made(moments=(), layout=study, trials=trials), findings=())
        return _screen.sections(report, VIEW)

    assert told(None) == told(()) == []
    assert told((1,)) == [["COPIES BY CAUSE", "cause"]]
    assert told((1,), 1) == [["TRIED", "trial"], ["COPIES BY CAUSE", "cause"]]
    assert told((), 1) == [["TRIED", "trial"]]


@pytest.mark.parametrize(
    "width, line",
    [
        (19, "NAME  abcd, efgh, i"),
        (18, "NAME  abcd, efgh"),
        (16, "NAME  abcd, efgh"),
        (15, "NAME  abcd, i"),
    ],
)
def test_facts_that_fit_whole(width: int, line: str) -> None:
    facts = ["abcd", "efgh", "i"]
    told = _screen._heading("name", View(width=width), facts)
    assert told == [line]


def failed(
    told: dict[str, str],
    other: str = "",
    line: Line | None = None,
    *,
    ranks: tuple[str, ...] = (),
    said: str = "",
) -> list[str]:
    """What the section of the failure says of these facts below this verdict."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_request, "facts", lambda moment: list(told.items()))
        patched.setattr(_request, "other_device", lambda failure: other)
        moment: Any = Made(request=Made(failed=Made(kind=None, line=line)), incident=Made(ranks=ranks))
        return _screen._failed(moment, said, View())


def test_what_failed_beside_its_heading() -> None:
    told = {"tensor": "T", "layer": "L", "program": "P", "device": "D", "op": "O"}
    assert failed({}) == []
    assert failed(told) == ["WHAT FAILED  T, L, P"]
    assert failed({"program": "P", "device": "D"}) == ["WHAT FAILED  P, D"]
    assert failed(told, other="GPU:3") == ["WHAT FAILED  T, GPU:3, L, P"]
    assert failed(told, line=Line(7, "OOM  when"))[1:] == ["  log line 7: OOM when"]
    assert failed(told, line=Line(7, "OOM", "a.log"))[1:] == ["  line 7 of a.log: OOM"]
    assert failed({**told, "log": "in it"}, line=Line(7, "OOM"), ranks=("r0",))[1:] == ["  in it: OOM"]
    assert failed({**told, "your code": "a.py:3"})[1:] == ["  your code: a.py:3"]
    both = failed({**told, "your code": "a" * 54}, line=Line(7, "OOM"))
    assert both[1:] == [f"  your code: {'a' * 54} (log line 7)"] and len(both[1]) == 80
    longer = failed({**told, "your code": "a" * 55}, line=Line(7, "OOM"))
    assert longer[1:] == [f"  your code: {'a' * 55}", "  log line 7: OOM"]


def test_what_the_verdict_says_is_not_said_again() -> None:
    told = {"tensor": "[2] float32 = 8 B", "layer": "net", "your code": "a.py:3"}
    said = "Out of memory in `net` while allocating [2] float32 (8 B)"
    assert failed(told, line=Line(7, "OOM"), said=said) == ["WHAT FAILED  your code: a.py:3 (log line 7)"]
    other = failed(told, line=Line(7, "OOM"), said=said.replace("8 B", "16 B"))
    assert other[0] == "WHAT FAILED  [2] float32 = 8 B"
    assert failed(told, said=said.replace("net", "other"))[0] == "WHAT FAILED  net"
    del told["your code"]
    assert failed(told, line=Line(7, "OOM"), said=said) == ["WHAT FAILED  log line 7: OOM"]
    assert failed(told, said=said) == []
    told["your code"] = "a" * 99
    assert all(len(row) <= 80 for row in failed(told, line=Line(7, "b " * 60), said=said))


@pytest.mark.parametrize(
    "told, shown",
    [
        ({"your code": "a.py:3 `y = f(x)`", "run by": "b.py:1 `g()`"}, "a.py:3 `y = f(x)`"),
        ({"your code": "a.py:3"}, "a.py:3"),
        ({"your code": "a.py:3", "run by": "b.py:1 `g()`"}, "a.py:3, run by b.py:1 `g()`"),
        ({"your code": "/b/a.py:3", "run by": "/b/a.py:71 `g()`"}, "/b/a.py:3, run by line 71 `g()`"),
        ({"your code": "/b/a.py:3", "run by": "/b/a.pyx:71 `g()`"}, "/b/a.py:3, run by /b/a.pyx:71 `g()`"),
        (
            {"your code": "/one/two/three/four/five/six/a.py:3", "run by": "/one/two/three/four/b.py:1 `g`"},
            "…/three/four/five/six/a.py:3, run by …/three/four/b.py:1 `g`",
        ),
    ],
)
def test_the_line_of_code(told: dict[str, str], shown: str) -> None:
    assert _screen._code(told, _request.CODE, VIEW) == shown


@pytest.mark.parametrize(
    "room, shown", [(12, "/aa/bb/cc.py"), (11, "…/bb/cc.py"), (9, "…/cc.py"), (3, "…/cc.py")]
)
def test_of_a_path_the_end(room: int, shown: str) -> None:
    assert _screen._nearer("/aa/bb/cc.py", room) == shown
    assert _screen._nearer("cc.py `a / b`", 3) == "cc.py `a / b`"


def test_a_long_line_loses_what_the_logger_wrote() -> None:
    text = "2018-07-02 W tensorflow/core/op_kernel.cc:1318] OP_REQUIRES failed at conv_ops.cc:693 : OOM when"
    line = Line(7, text)

    def proof(where: str, first: int, spare: int | None = 0) -> list[str]:
        return _screen._proof(line, where, View(width=40), first, spare)

    assert proof("line 7", len(text) + 8) == [f"line 7: {text}"]
    assert proof("line 7", len(text) + 7) == ["line 7: OOM when"]
    many = "line 7 (64×), by 64 processes (0, 1, 2 …)"
    assert proof(many, len(many) + 10) == [f"{many}: OOM when"]
    assert proof(many, len(many) + 9) == [many]
    assert proof(many, 30) == ["line 7 (64×), by 64…"]
    line = Line(7, "OOM when allocating")
    assert proof("line 7", 20) == ["line 7: OOM when al…"]
    assert proof("line 7", 20, spare=1) == ["line 7: OOM when", "  allocating"]
    assert proof("line 7", 20, spare=None) == ["line 7"]  # beside code, which tells more than a part
    assert proof("line 7", 27, spare=None) == ["line 7: OOM when allocating"]


@pytest.mark.parametrize(
    "first, room, spare, rows",
    [
        (25, 25, 0, ["a.py:3 `fit(x, batch=32)`"]),
        (24, 25, 0, ["a.py:3 `fit(x, batch=3…`"]),
        (24, 25, 1, ["a.py:3 `fit(x,", "  batch=32)`"]),
        (24, 11, 1, ["a.py:3 `fit(x,", "  batch=32…"]),
        (9, 25, 1, ["a.py:3", "  `fit(x, batch=32)`"]),
        (5, 25, 1, ["a.py", "  :3 `fit(x, batch=32)`"]),  # no word ends in the second half
    ],
)
def test_a_quote_takes_two_rows_where_one_is_to_spare(
    first: int, room: int, spare: int, rows: list[str]
) -> None:
    assert _screen.in_rows("a.py:3 `fit(x, batch=32)`", first, room, spare) == rows


@pytest.mark.parametrize(
    "shown", [lambda text: _screen.in_rows(text, 40, 60, 1), lambda text: _screen._nearer(text, 40)]
)
def test_a_long_text_is_not_measured_once_for_each_of_its_words(
    shown: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = 0

    def counted(text: str) -> int:
        nonlocal measured
        measured += len(text)
        return display_width(text)

    monkeypatch.setattr(_screen, "display_width", counted)
    text = "élan /vital" * 5_000
    assert shown(text) and measured <= 3 * len(text)


# ------------------------------------------------------------------ memory


def parts(*sizes: tuple[str, int, Kind | None]) -> list[_balance.BarPart]:
    """Stretches of a bar: letter, bytes, kind."""
    return [
        _balance.BarPart(letter, f"name {letter}", size, f"{size} B", "", kind)
        for letter, size, kind in sizes
    ]


@pytest.mark.parametrize(
    "width, shown",
    [
        (80, "  b name b 9 B   a name a 5 B   · free 7 B"),
        (43, "  b name b 9 B   a name a 5 B   · free 7 B"),
        (42, "  b name b 9 B   a name a 5 B"),
        (30, "  b name b 9 B   a name a 5 B"),
        (29, "  b name b 9 B  a name a"),  # every letter of the bar is said, bytes of the smaller ones not
        (25, "  b name b 9 B  a name a"),
        (24, "  b name b 9 B  …"),
        (18, "  b name b 9 B  …"),
        (17, "  b name b 9 B"),
    ],
)
def test_the_letters_that_fit(width: int, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        _balance, "parts", lambda moment: parts(("a", 5, Kind.INPUT), ("b", 9, Kind.ACTIVATION))
    )
    moment: Any = Made(balance=Balance(limit=Size.exactly(20), free=Size.exactly(7)), timeline=None)
    assert _screen._legend(moment, View(width=width)) == shown


def test_what_has_no_name_and_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    moment: Any = Made(balance=Balance(free=Size.exactly(0)), timeline=None)
    monkeypatch.setattr(_balance, "parts", lambda moment: parts(("u", 5, Kind.UNATTRIBUTED)))
    assert _screen._legend(moment, VIEW) == f"  u {_balance.NAMELESS} 5 B"
    monkeypatch.setattr(
        _balance, "parts", lambda moment: parts(("u", 5, Kind.UNATTRIBUTED), ("a", 1, Kind.INPUT))
    )
    assert _screen._legend(moment, VIEW) == "  u name u 5 B   a name a 1 B"
    monkeypatch.setattr(_balance, "parts", lambda moment: parts(("a", 5, Kind.INPUT)))
    assert _screen._legend(moment, VIEW) == "  a name a 5 B"


def test_sizes_without_a_name_make_room_for_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names stand before the last advice; sizes alone do not."""
    monkeypatch.setattr(_screen, "sections", lambda report, view: [["BAR"] * 3, ["TABLE"] * 4])
    monkeypatch.setattr(_screen, "_title", lambda report, view: [])
    monkeypatch.setattr(_screen, "_verdict", lambda report, view: ["verdict"] * 4)
    monkeypatch.setattr(_screen, "_more", lambda report: "the rest")
    monkeypatch.setattr(_screen, "_actions", lambda report, count, codes, view: ["todo"] * 5 * count)
    for alone, actions, rows in ((False, 10, 4), (True, 15, 0)):
        monkeypatch.setattr(_screen._holders, "sizes_alone", lambda report, alone=alone: alone)
        page = _screen.page(Made(fit=None, case=Made(moments=())), VIEW)
        assert (page.count("todo"), page.count("TABLE")) == (actions, rows)
        assert len(page) <= _screen.ROWS


@pytest.mark.parametrize("width, said", [(39, "0 B before, peak 3.00 MiB at 1"), (38, "peak 3.00 MiB at 1")])
def test_a_curve_beside_its_name(width: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_timeline, "title", lambda moment: "in time")
    monkeypatch.setattr(_timeline, "legend", lambda moment: "0 B before, peak 3.00 MiB at 1")
    monkeypatch.setattr(
        _timeline, "curve", lambda moment, view: ["drawn", "mark", "0 B", "before,", "phases"]
    )
    moment: Any = Made()
    assert _screen._curve(moment, View(width=width)) == [f"IN TIME  {said}", "drawn"]
    monkeypatch.setattr(_timeline, "curve", lambda moment, view: [])
    assert _screen._curve(moment, VIEW) == []


@pytest.mark.parametrize(
    "kind, traced, nameless, title",
    [
        (RequestKind.TENSOR, 1, True, "largest layers of a recorded step that ran"),
        (RequestKind.TENSOR, 1, False, "largest layers"),
        (RequestKind.TENSOR, None, True, "largest layers"),
        (RequestKind.PROFILE, None, True, "made in"),
        (None, 1, True, "largest layers"),
    ],
)
def test_whose_layers_are_shown(
    kind: RequestKind | None, traced: int | None, nameless: bool, title: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_screen, "_largest", lambda moment, title, view: [title, moment.name])
    monkeypatch.setattr(_holders, "nameless", lambda moment: nameless)
    moments = [
        Made(name="first", request=kind and Made(failed=Made(kind=kind)), timeline=None, counted=None),
        Made(name="second", request=None, timeline=None),
        Made(name="third", request=None, timeline=traced),
    ]
    report: Any = Made(case=Made(moments=moments))
    assert _screen._held(report, VIEW) == [title, "third" if "recorded" in title else "first"]


def test_the_largest_layers() -> None:
    kinds = ((Kind.ACTIVATION, 3), (Kind.INPUT, 2), (Kind.CONSTANT, 1))
    groups = tuple(
        Made(name=name, total_bytes=size * MIB, kinds=kinds)
        for name, size in (("a", 8), ("b", 7), ("c" * 20, 6), ("d", 5), ("e", 4), ("f", 3), ("g", 0))
    )
    owners = (Made(kind=Kind.ACTIVATION, layer="b"),)
    moment: Any = Made(
        attribution=Made(table=[1], owners=owners, by=lambda key: groups), incident=None,
        accounted_bytes=32 * MIB, counted=None,
    )  # fmt: skip
    moment.drawn = moment.attribution
    lines = _screen._largest(moment, "title", VIEW)
    assert lines[:3] == [
        "TITLE",
        "  a                 8.00 MiB  25 %  activation, input",
        "  b                 7.00 MiB  22 %  activation, input",
    ]
    assert len(lines) == 6 and lines[3].startswith("  ccccc…cccccccc  ")
    moment.attribution = moment.drawn = Made(table=[1], owners=owners, by=lambda key: groups[1:2])
    assert _screen._largest(moment, "t", VIEW)[1] == "  b    7.00 MiB  22 %  activation, input"
    moment.attribution.table = []
    assert _screen._largest(moment, "title", VIEW) == []


def test_sizes_without_names_the_most_bytes_first() -> None:
    rows = [Made(count=count, size_bytes=1024, total_bytes=count * 1024) for count in (2, 7, 1, 3, 4, 5)]
    listed = Made(table=rows, owners=[NOBODY])
    moment: Any = Made(attribution=listed, drawn=listed, incident=None)
    lines = _screen._largest(moment, "title", VIEW)
    assert lines[0] == "WHAT IS IN USE, BY SIZE (NO NAMES WERE PRINTED)"
    assert [line.split()[0] for line in lines[1:]] == ["7", "5", "4", "3", "2"]
    assert lines[1] == "  7 × 1.0 KiB  7.0 KiB"


# ------------------------------------------------------------------ advice, and what else there is


@pytest.mark.parametrize(
    "code, rows",
    [
        ("", []),
        ("f(x)   # why", ["f(x)   # why"]),
        ("f(x) and g(y)   # because of this", ["f(x) and g(y)"]),
        ("first = f(x); second = g(x)", ["first = f(x);", "second = g(x)"]),
        ("run(op, options=all_of_them)", ["run(op,", "    options=all_of_them)"]),
        ("one\ntwo", ["one", "two"]),
        ("one\ntwo\nthree", []),
        ("one\n# or by hand:\ntwo", ["one"]),
        ("run -- it\n# or by hand:\nstart(); step(); stop()", ["run -- it"]),
        ("a" * 26, []),
        ("a; " + "b" * 26, []),
    ],
)
def test_code_in_two_rows_at_most(code: str, rows: list[str]) -> None:
    found = _screen._code_rows(code, 25)
    assert [row.removesuffix(";") for row in found] == [row.removesuffix(";") for row in rows]


def test_an_advice_has_its_code_where_that_is_one_line_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    advices = [
        ("one", "saves 1 B", "x" * 55),
        ("two", "", "y" * 56),
        ("three", "", "z\nz\nz"),
        ("four", "", "w"),
    ]
    monkeypatch.setattr(savings, "advice", lambda report, count: advices[:count])
    report = the_report()
    assert _screen._actions(report, 4, 4, VIEW) == [
        "TO USE LESS MEMORY", "1. one (saves 1 B)", f"   | {'x' * 55}", "2. two", "3. three", "4. four",
        "   | w",
    ]  # fmt: skip
    assert _screen._actions(report, 4, 2, VIEW)[-1] == "   | w"  # the second that fits
    assert _screen._actions(report, 4, 1, VIEW)[-1] == "4. four"
    assert _screen._actions(report, 1, 0, VIEW) == ["TO USE LESS MEMORY", "1. one (saves 1 B)"]
    assert _screen._actions(report, 0, 0, VIEW) == []
    monkeypatch.setattr(savings, "advice", lambda report, count: [("a" * 58, "", "")])
    assert _screen._actions(report, 1, 1, VIEW)[1] == f"1. {'a' * 19}…{'a' * 37}"


FULL = "--full shows all, with its evidence; `tfmemlens report` makes an HTML page."


@pytest.mark.parametrize(
    "moments, findings, notes, said",
    [
        (1, 1, (), FULL),
        (1, 2, (), FULL),
        (1, 0, ("so",), f"Note: so. {FULL}"),
        (2, 1, (), f"This is 1 of 2 allocators (--all shows each). {FULL}"),
    ],
)
def test_what_else_there_is(moments: int, findings: int, notes: tuple[str, ...], said: str) -> None:
    report = the_report()
    case = replace(
        report.case,
        moments=report.case.moments[:1] * moments,
        capture=replace(report.case.capture, notes=tuple(ReadNote(each) for each in notes)),
    )
    many: Any = ("finding",) * findings
    assert _screen._more(replace(report, case=case, findings=many)) == said
    asked: Any = Made(failed=Made(kind=RequestKind.TENSOR))
    one = replace(report.case.moments[0], request=asked)
    failures = replace(case, moments=(one,) * moments)
    other = _screen._more(replace(report, case=failures, findings=many))
    assert other == said.replace("allocators", "failures")
    beside = replace(case, moments=(one, *case.moments))
    assert "This is" not in _screen._more(replace(report, case=beside, findings=many)) or moments > 1
    fitted: Any = Made()
    assert "allocators" not in _screen._more(replace(report, case=case, findings=many, fit=fitted))


def test_a_note_of_120_letters_stands_whole() -> None:
    assert _screen._clauses("a" * 60 + " " + "b" * 59, 120) == "a" * 60 + " " + "b" * 59
    assert _screen._clauses("a" * 60 + " " + "b" * 60, 120) == "a" * 60 + "…"
    assert _screen._clauses("one: two, x", 5) == "one"
    assert _screen._clauses("one: two, x", 4) == "one"
    assert _screen._clauses("one: two, x", 3) == "on…"


def test_the_memory_section_has_figures_only_beside_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_balance, "bar", lambda moment, view: ["bar"])
    monkeypatch.setattr(_screen, "_legend", lambda moment, view: "legend")
    whole = the_report().case.moments[0]

    def told(books: Balance) -> list[str]:
        return _screen._memory(Moment(whole.attribution, books), VIEW)

    size = Size.exactly(MIB)
    assert told(Balance(limit=size, in_use=size)) == [
        "MEMORY USE  limit 1.00 MiB, in use 1.00 MiB", "bar", "legend",
    ]  # fmt: skip
    assert told(Balance(in_use=size))[0] == "MEMORY USE  held 4.00 MiB (limit unknown)"
    mapped = Balance(in_use=size, address_space=3 << 30)
    assert told(mapped)[0] == "MEMORY USE  held 4.00 MiB (`ulimit -v` 3.00 GiB)"
    monkeypatch.setattr(_balance, "bar", lambda moment, view: [])
    assert told(Balance()) == []


def test_what_is_next_to_nothing_has_no_row() -> None:
    groups = tuple(
        Made(name=name, total_bytes=size, kinds=((Kind.ACTIVATION, size),))
        for name, size in (("a", 1000), ("b", 10), ("c", 9))
    )
    moment: Any = Made(
        attribution=Made(table=[1], by=lambda key: groups, owners=(Made(kind=Kind.ACTIVATION, layer="a"),)),
        incident=None,
        accounted_bytes=1019,
        counted=None,
    )
    moment.drawn = moment.attribution
    assert [line.split()[0] for line in _screen._largest(moment, "largest", VIEW)[1:]] == ["a", "b"]


def test_standard_input_has_a_name() -> None:
    report: Any = Made(case=Made(capture=Made(source=Made(path="-"))))
    assert _screen.files(report, 60) == "standard input"


def test_rows_of_a_fit_stay_within_the_page() -> None:
    told = Made(
        batch=1024, bytes=1000 * MIB + 1, measured_bytes=None, low_bytes=900 * MIB, high_bytes=1001 * MIB
    )
    fit: Any = Made(predictions=[told], certainty=None, largest_batch=1, limit_bytes=5)
    wide, narrow = (_fit.peaks(fit, width) for width in (66, 65))
    assert len(narrow[0]) == 62 and len(wide[0]) == 66
    assert wide[0].split() == narrow[0].split()


@pytest.mark.parametrize(("asked", "shown"), [(10 * 1024, True), (11 * 1024, False)])
def test_blocks_that_are_little_beside_what_a_program_asked_for(asked: int, shown: bool) -> None:
    table = AllocationTable.of([Allocation(None, 1024)])
    moment: Any = Made(
        attribution=Made(table=table, owners=[NOBODY]),
        incident=Made(compiler=Made()),
        lists_blocks_alone=True,
        request=Made(needed_bytes=asked),
        counted=None,
    )
    moment.drawn = moment.attribution
    assert bool(_screen._largest(moment, "title", VIEW)) is shown


@pytest.mark.parametrize("text, ended", [("it is so", "it is so."), ("it is…", "it is…")])
def test_what_was_cut_ends_as_it_is(text: str, ended: str) -> None:
    assert _screen._ended(text) == ended
