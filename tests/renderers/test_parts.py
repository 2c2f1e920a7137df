"""The pieces that pages are made of, each alone: what fits, what is cut, how a figure is worded."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest

from tests.builders import MIB, capture, row, timeline
from tfmemlens import pipeline
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import Attribution, Kind, Owner, Phase
from tfmemlens.model.case import Api, Balance, Candidate, Moment, Naming, PhaseSpan
from tfmemlens.model.finding import Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import TensorType
from tfmemlens.renderers import origin, savings
from tfmemlens.renderers.html._pack import Names, column, packed
from tfmemlens.renderers.pictures import curve as picture
from tfmemlens.renderers.terminal import _balance, _blocks, _findings, _holders, _screen, _timeline
from tfmemlens.renderers.view import View
from tfmemlens.units import Size
from tfmemlens.use_cases.page import tab_of
from tfmemlens.values import replace

WIDE = View(width=80)
OTHER = Owner("a", Kind.ACTIVATION, Phase.FORWARD)
NOBODY = Owner(None, Kind.UNATTRIBUTED, Phase.NONE)


@pytest.mark.parametrize(
    "text, width, short",
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "ab…ef"),
        ("abcdefghij", 7, "ab…ghij"),
        ("abcdef", 3, "a…f"),
        ("abcdef", 1, "a…f"),
        ("日本", 4, "日本"),
        ("日本語", 5, "日…語"),
        ("日本語の層の名前", 9, "日…名前"),
        ("a日b本c語d", 7, "a…c語d"),
    ],
)
def test_a_name_loses_its_middle(text: str, width: int, short: str) -> None:
    assert _blocks.shorten(text, width) == short
    assert _blocks.display_width(short) <= max(width, 3)


def test_a_paragraph_is_wrapped_by_columns() -> None:
    lines = _blocks.paragraph("共享 模型 層網 絡卷 積塊 4 MiB", 12, "  ")
    assert lines == ["  共享 模型", "  層網 絡卷", "  積塊 4 MiB"]
    assert _blocks.paragraph("é 7 MiB", 7) == ["é 7 MiB"]


@pytest.mark.parametrize("text, width", [("abc", 3), ("日本", 4), ("e\u0301", 1), ("ｱ", 1), ("", 0)])
def test_columns_that_letters_take(text: str, width: int) -> None:
    assert _blocks.display_width(text) == width
    assert _blocks.pad(text, width + 2) == text + "  "
    assert _blocks.pad(text, 0) == text


@pytest.mark.parametrize(
    "share, cells", [(0, 0), (0.001, 1), (0.14, 1), (0.16, 2), (0.5, 5), (1, 10), (-0.5, 0)]
)
def test_what_exists_shows_a_cell(share: float, cells: int) -> None:
    assert _blocks.bar(share, 10) == "█" * cells


@pytest.mark.parametrize(
    "parts, whole, drawn",
    [
        ([("a", 50), ("b", 50)], 100, "aaaaabbbbb"),
        ([("a", 50), ("b", 25)], 100, "aaaaabbb"),
        ([("a", 1), ("b", 99)], 100, "abbbbbbbbb"),
        ([("a", 1), ("b", 1), ("c", 98)], 100, "abcccccccc"),
        ([("a", 0), ("b", 30)], 100, "bbb"),
        ([("a", 26), ("b", 37), ("c", 37)], 100, "aabbbbcccc"),
        ([("a", 1)] * 12, 12, "a" * 10),
        ([("a", 5)], 0, ""),
        ([("a", 5)], 1, "a" * 10),
        ([("a", 1 << 60), ("b", -(1 << 60))], 1, "a" * 10),
    ],
)
def test_a_bar_of_parts(parts: list[tuple[str, int]], whole: int, drawn: str) -> None:
    assert _blocks.stacked_bar(parts, whole, 10) == drawn


def test_columns_shrink_from_the_widest_no_further_than_they_may() -> None:
    rows = [("a" * 20, "b" * 12, "c" * 5)]
    widths = [
        [len(cell) for cell in _blocks.narrowed(rows, width, {0: 10, 1: 8})[0]]
        for width in (41, 40, 31, 28, 9)
    ]
    assert widths == [[20, 12, 5], [19, 12, 5], [10, 12, 5], [10, 9, 5], [10, 8, 5]]


def test_columns_are_aligned() -> None:
    lines = _blocks.columns([("a", "1", "x"), ("bbb", "22", "日")], frozenset({1}))
    assert lines == ["  a     1  x", "  bbb  22  日"]
    assert _blocks.columns([]) == []
    assert _blocks.columns([("a", "")]) == ["  a"]
    assert _blocks.columns([("日", "1"), ("ab", "22")], frozenset({0, 1})) == ["  日   1", "  ab  22"]


def test_a_number_stays_beside_its_unit_and_names_stay_whole() -> None:
    assert _blocks.paragraph("it takes 12.5 MiB of it", 14) == ["it takes", "12.5 MiB of it"]
    assert _blocks.paragraph("at 3 ms, 4 elements", 8) == ["at 3 ms,", "4", "elements"]
    assert _blocks.paragraph("a/very/long-name/of/it x", 6) == ["a/very/long-name/of/it", "x"]
    assert _blocks.paragraph("a b", 4, "  ", "- ") == ["- a", "  b"]
    assert _blocks.paragraph("", 4, "  ") == [""]
    assert _blocks.paragraph("a\nb", 10) == ["a b"]


def test_styles_are_for_those_who_ask() -> None:
    view = View(color=True)
    line = _blocks.styled("a\x1bb", "bold", True)
    assert _blocks.as_text([line + "  ", ""], view) == "\x1b[1ma\\x1bb\x1b[0m\n"
    assert _blocks.styled("", "bold", True) == ""
    assert _blocks.as_text([_blocks.styled("a", "bold", False)], view) == "a\n"
    assert _blocks.as_text([_blocks.styled("█", "color-16", True)], replace(view, unicode=False)) == (
        "\x1b[38;5;16m#\x1b[0m\n"
    )
    assert _blocks.as_text(["日…"], View(unicode=False)) == "?~\n"


# ------------------------------------------------------------------ the screen


@pytest.mark.parametrize(
    "text, width, short",
    [
        ("one two", 7, "one two"),
        ("one two three", 9, "one two…"),
        ("one two", 6, "one…"),
        ("abcdefgh", 5, "abcd…"),
    ],
)
def test_a_sentence_loses_its_end(text: str, width: int, short: str) -> None:
    assert _screen.shorten_end(text, width) == short


@pytest.mark.parametrize(
    "path, width, shown",
    [
        ("a/x.log, a/y.log, a/z.log", 25, "a/x.log, a/y.log, a/z.log"),
        ("a/x.log, a/y.log, a/z.log", 24, "a: 3 files"),
        ("a/x.log, b/y.log, a/z.log", 24, "3 files: x.log … z.log"),
        ("x.log, y.log, z.log", 18, "3 files: x.log … z.log"),
        ("a/x.log, a/y.log", 3, "a/x.log, a/y.log"),
    ],
)
def test_many_files_are_a_count(path: str, width: int, shown: str) -> None:
    report = pipeline.report(capture(timeline(row("a", 1, 0, 1))))
    source = replace(report.case.capture.source, path=path)
    case = replace(report.case, capture=replace(report.case.capture, source=source))
    assert _screen.files(replace(report, case=case), width) == shown


# ------------------------------------------------------------------ the time axis of a terminal


@pytest.mark.parametrize(
    "micros, text",
    [(0, "0.0 ms"), (1500, "1.5 ms"), (999_900, "999.9 ms"), (1_000_000, "1.00 s"), (2_346_000, "2.35 s")],
)
def test_a_duration(micros: float, text: str) -> None:
    assert _timeline.millis(micros) == text


@pytest.mark.parametrize(
    "start, end, ordinal, text",
    [
        (None, 5000, False, ""),
        (3000, 5000, False, ", from 2.0 ms to 4.0 ms"),
        (3000, None, False, ", from 2.0 ms to the end"),
        (3000, 5000, True, ", from line 3,000 to line 5,000"),
        (3000, None, True, ", from line 3,000 to the end"),
    ],
)
def test_a_lifetime(start: float | None, end: float | None, ordinal: bool, text: str) -> None:
    assert _timeline.lifetime(start, end, 1000, ordinal) == text


def moment(*rows: tuple[Allocation, Owner], **more: Any) -> Moment:
    table, owners = AllocationTable.of([each for each, _ in rows]), [owner for _, owner in rows]
    return Moment(Attribution(table, owners), more.pop("balance", Balance()), **more)


def test_the_curve_of_a_step_in_ten_columns() -> None:
    """4 MiB from 0 to 10 ms, 4 more from 5 to 7.5 ms; the first half is lower, the peak marked."""
    measured = timeline(row("a", 4, 0, 10), row("b", 4, 5, 7.5))
    shown = replace(
        moment((row("a", 4, 0, 10), OTHER)), timeline=measured, peak_micros=5000.0,
        phases=(PhaseSpan("forward", 0, 5000), PhaseSpan("back", 5000, 9000), PhaseSpan("x", 9000, 9500)),
    )  # fmt: skip
    lines = _timeline.curve(shown, View(width=14))
    assert lines[0] == "  ▄▄▄▄▄███▄▄"
    assert lines[1].startswith("       ▲")
    assert _timeline.legend(shown) == "0 B before the step, peak 8.00 MiB at 5.0 ms of 10.0 ms"
    assert lines[2] == "  0 B before" and lines[-1] == "  forw─back─"
    whole = _timeline.curve(replace(shown, phases=()), View(width=14))
    assert whole == lines[:-1]
    last = _timeline.curve(replace(shown, peak_micros=10_000.0), View(width=14))
    assert last[1].startswith("           ▲")
    assert _timeline.curve(moment(), View()) == []
    assert _timeline.curve(replace(shown, timeline=timeline()), View()) == []


# ------------------------------------------------------------------ who holds it


def owned(
    name: str, mib: float, kind: Kind = Kind.ACTIVATION, layer: str | None = "l", count: int = 1
) -> Any:
    made = Allocation(name, int(mib * MIB), count=count, shape=(int(mib * MIB) // 4,), dtype="float32")
    return made, Owner(layer, kind, Phase.FORWARD)


def test_groups_by_layer_and_those_that_are_left_out() -> None:
    shown = moment(*(owned(f"n{at}", 10 - at, layer=f"layer_{at}") for at in range(4)))
    lines = _holders._groups(shown.attribution.by("layer"), 34 * MIB, View(width=80, top=2))
    assert [" ".join(line.split()) for line in lines] == [
        "layer_0 10.00 MiB 29 % ███ activation",
        "layer_1 9.00 MiB 26 % ███ activation",
        "… 2 more with 15.00 MiB",
    ]
    lines = _holders._groups(shown.attribution.by("layer"), 34 * MIB, View(width=80, top=4))
    assert len(lines) == 4
    narrow = _holders._groups(shown.attribution.by("layer"), 34 * MIB, View(width=50, top=1))
    assert max(map(len, narrow)) <= 50


def test_a_row_that_is_there_often_says_so() -> None:
    shown = moment(owned("a", 1, count=3), owned("b", 1))
    (line,) = _holders._groups(shown.attribution.by("layer"), 4 * MIB, WIDE)
    assert line.split()[:2] == ["l", "×4"]
    (line,) = _holders._groups(moment(owned("a", 1), owned("b", 1)).attribution.by("layer"), 2 * MIB, WIDE)
    assert "×" not in line


def test_sizes_without_names() -> None:
    nameless = [(Allocation(None, 1024, count=3), NOBODY), (Allocation(None, 4096), NOBODY)]
    assert _holders.nameless(moment(*nameless))
    assert not _holders.nameless(moment(*nameless, owned("a", 1)))
    lines = _holders.page(moment(*nameless), WIDE)
    assert lines[1] == "WHAT IS IN USE, BY SIZE (NO NAMES WERE PRINTED)"
    assert [line.split("█")[0].split() for line in lines[2:]] == [
        ["1", "×", "4.0", "KiB", "4.0", "KiB"], ["3", "×", "1.0", "KiB", "3.0", "KiB"],
    ]  # fmt: skip
    assert [line.count("█") for line in lines[2:]] == [11, 9]
    assert len(_holders.page(moment(*nameless), View(top=1))) == 3
    assert _holders.page(moment(), WIDE) == []


def test_other_tensors_of_a_size_are_listed_once() -> None:
    tensors = [TensorType(shape, "float32") for shape in ((2, 3), (3, 2))]
    naming = Naming(tuple(Candidate(each, 24) for each in tensors), "size")
    once, again = (_holders._named(naming, explained) for explained in (False, True))
    assert once == "= [2,3] float32 + 24 B in the same block (or [3,2] float32), "
    assert again == "= [2,3] float32 + 24 B in the same block, "


# ------------------------------------------------------------------ the balance


def test_the_bar_has_the_limit_as_its_length() -> None:
    shown = moment(owned("a", 5), balance=Balance(limit=Size.exactly(10 * MIB)))
    assert _balance.scale(shown) == 10 * MIB
    (drawn,) = _balance.bar(shown, View(width=26))
    assert drawn == "  [" + "█" * 11 + "·" * 11 + "]"
    assert _balance.scale(moment(owned("a", 5), balance=Balance(limit=Size.exactly(MIB)))) == 5 * MIB
    assert _balance.bar(moment(), WIDE) == []


def test_what_has_no_name_stands_in_the_bar() -> None:
    books = Balance(in_use=Size.exactly(4 * MIB))
    (part,) = _balance.parts(moment(balance=books))
    assert (part.name, part.bytes) == ("in use", 4 * MIB)
    outside = replace(books, outside_report=Size.exactly(MIB))
    assert [part.name for part in _balance.parts(moment(balance=outside))] == ["not in TensorFlow's list"]
    named = moment(owned("a", 3), balance=replace(books, outside_report=Size.exactly(MIB)))
    assert [part.letter for part in _balance.parts(named)] == ["█", "o"]


# ------------------------------------------------------------------ findings


def test_a_line_is_quoted_in_three_rows_at_most() -> None:
    view = View(width=31)
    assert _findings.quote(Line(7, "one two"), view) == ["       7 │ one two"]
    assert _findings.quote(Line(7, ""), view) == ["       7 │ "]
    long = _findings.quote(Line(7, " ".join(["abcdefghi"] * 9)), view)
    assert long[:2] == ["       7 │ abcdefghi abcdefghi", "         │ abcdefghi abcdefghi"]
    assert len(long) == 3 and long[2] == "         │ abcdefghi abcdefghi…"
    assert len(_findings.quote(Line(7, " ".join(["abcdefghi"] * 6)), view)) == 3
    assert not _findings.quote(Line(7, " ".join(["abcdefghi"] * 6)), view)[2].endswith("…")
    far = _findings.quote(Line(7, "x", "a/" * 6 + "train.log"), view)
    assert far == [f"{'a/' * 6}train.log:7 │ x"]


def test_advice_that_was_given_is_only_named_again() -> None:
    remedy = Remedy("do this: so", code="x = 1\ny = 2", saves_bytes=2 * MIB, certainty=Certainty.EXACT)
    found = Finding(Severity.CAUSE, "it did", (Evidence("fact", Line(3, "text")),), (remedy,))
    found = replace(found, rule="a-rule")
    lines = _findings.page([found, found], WIDE)
    assert lines == [
        "", "FINDINGS",
        "", "1. cause: it did  [a-rule]", "   • fact", "       3 │ text",
        "   try: do this: so (saves 2.00 MiB)", "        | x = 1", "        | y = 2",
        "", "2. cause: it did  [a-rule]", "   • fact", "       3 │ (quoted above)",
        "   try: do this (as above)",
    ]  # fmt: skip
    assert _findings.page([], WIDE) == []
    assert "   - fact" in _findings.page([found], View(unicode=False))


# ------------------------------------------------------------------ words


@pytest.mark.parametrize(
    "oldest, newest, words",
    [
        ((0, 5), (2, 99), "TensorFlow"),
        ((2, 21), (2, 99), "TensorFlow 2.21 or newer"),
        ((1, 15), (1, 15), "TensorFlow 1.15"),
        ((1, 15), (2, 4), "TensorFlow 1.15 to 2.4"),
        ((0, 5), (2, 4), "TensorFlow 2.4 or older"),
        ((0, 6), (2, 4), "TensorFlow 0.6 to 2.4"),
        ((0, 6), (2, 99), "TensorFlow 0.6 or newer"),
    ],
)
def test_the_version(oldest: tuple[int, int], newest: tuple[int, int], words: str) -> None:
    assert origin._tensorflow(Api(oldest, newest)) == words


@pytest.mark.parametrize(
    "names, text", [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_a_list_in_words(names: list[str], text: str) -> None:
    assert origin._listed(names) == text


@pytest.mark.parametrize(
    "saved, digits, words",
    [
        (1, 2, "saves about 1 B"),
        (-1, 2, "would need about 1 B more"),
        (123_456_789, 2, "saves about 120 MiB"),
        (123_456_789, 3, "saves about 118 MiB"),
    ],
)
def test_an_estimate_has_its_digits(saved: int, digits: int, words: str) -> None:
    assert savings.in_words(saved, Certainty.ESTIMATE, digits) == words
    assert savings.in_words(saved, None, digits) == ""


# ------------------------------------------------------------- what the page unpacks, what a picture shows


@pytest.mark.parametrize(
    "values, delta, made",
    [
        ([], False, []),
        ([], True, {"d": []}),
        ([4], False, {"v": 4, "n": 1}),
        ([4, 4, 4], True, {"v": 4, "n": 3}),
        ([4, 5, 3], False, [4, 5, 3]),
        ([4, 5, 3], True, {"d": [4, 1, -2]}),
    ],
)
def test_a_column(values: list[int], delta: bool, made: Any) -> None:
    assert column(values, delta) == made
    assert column([1, 2]) == [1, 2]


def test_names_are_numbers_from_one_in_the_order_of_their_use() -> None:
    names = Names()
    assert [names.of(text) for text in ("b", "a", None, "b", "")] == [1, 2, 0, 1, 3]
    assert names.texts == [None, "b", "a", ""]


def unpacked(made: Any) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(packed(tab_of(pipeline.report(made))))))["moments"][0]


def test_the_figures_are_the_same_bytes_each_time_and_short_in_any_script() -> None:
    raw = base64.b64decode(packed(tab_of(pipeline.report(capture(timeline(row("größe/训练", 4, 1, None)))))))
    assert raw[4:8] == bytes(4)  # gzip's time
    assert '"größe/训练"'.encode() in gzip.decompress(raw)


@pytest.mark.parametrize(
    "end, unit, times", [(3.0, 1.0, [0, 1000, 1000]), (3.0005, 0.001, [0, 1_000_000, 1_000_500])]
)
def test_times_are_microseconds_or_finer(end: float, unit: float, times: list[int]) -> None:
    found = unpacked(capture(timeline(row("a", 4, 1, None), row("b", 2, 2, end))))
    assert (found["unit"], found["times"]["d"]) == (unit, times)
    assert found["peak"] == 1 and found["bound"] == "" and "ordinal" not in found and "predicted" not in found


@pytest.mark.parametrize(
    "peak, unit",
    [
        (2**30, (2**30, "GiB")),
        (2**30 - 1, (2**20, "MiB")),
        (2**20, (2**20, "MiB")),
        (2**20 - 1, (2**10, "KiB")),
    ],
)
def test_the_unit_of_an_axis(peak: int, unit: tuple[int, str]) -> None:
    assert picture._unit(replace(timeline(), baseline_bytes=peak)) == unit


def test_the_length_of_an_axis() -> None:
    assert picture._span(timeline(row("a", 1, 1, 3))) == 2.0
    assert picture._span(timeline(row("a", 1, 1, None))) == 0.001
    assert picture._span(timeline()) == 0.001
    assert picture._origin(timeline(row("a", 1, 1, 3))) == 1000.0
    assert picture._origin(timeline()) == 0.0


def test_a_unit_of_the_time_axis_is_a_millisecond_or_a_line() -> None:
    step = timeline(row("a", 1, 1, 3))
    assert picture._time_axis(step) == (1000.0, "milliseconds after the first allocation")
    log = replace(step, ordinal=True)
    assert picture._time_axis(log) == (1.0, "lines of the log after the first allocation")
    assert picture._span(log) == 2000.0
