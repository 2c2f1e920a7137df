"""The card that a notebook shows, the labels of the page, and the page of a convolution, part by part."""

from __future__ import annotations

import base64
import gzip
import html
import re
from types import SimpleNamespace as Made
from typing import Any

import pytest

from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Balance
from tfmemlens.model.convolution import Convolution, ConvolutionKind, ConvolutionSetting, Variation
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import TensorType
from tfmemlens.renderers import palette, savings
from tfmemlens.renderers.html import card, page
from tfmemlens.renderers.terminal import _balance, _request, convolution
from tfmemlens.renderers.view import View
from tfmemlens.units import MIB, Size, human, rough
from tfmemlens.values import replace


def words(parts: list[str]) -> list[str]:
    """The texts of elements, without markup."""
    return [html.unescape(re.sub(r"<[^>]*>", "", part)) for part in parts]


@pytest.mark.parametrize(
    "told, line, shown",
    [
        ({}, Line(7, "OOM"), []),
        ({"op": "Mul", "layer": "net/a", "tensor": "[2]"}, None, ["WHAT FAILED [2], net/a"]),
        (
            {"size": "1 B", "device": "GPU"},
            Line(7, " OOM  when"),
            ["WHAT FAILED 1 B, GPU", "input: OOM when"],
        ),
        ({"size": "1 B", "log": "on line 7"}, Line(7, "OOM"), ["WHAT FAILED 1 B", "on line 7: OOM"]),
        ({"size": "1 B"}, Line(7, "a" * 241), ["WHAT FAILED 1 B", f"input: {'a' * 240}"]),
        ({"size": "1 B"}, Line(7, "  "), ["WHAT FAILED 1 B"]),
    ],
)
def test_what_failed(
    told: dict[str, str], line: Line | None, shown: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_request, "facts", lambda moment: list(told.items()))
    moment: Any = Made(request=Made(failed=Made(kind=None, line=line)))
    assert words(card._failed(moment)) == shown
    moment.request = None
    assert card._failed(moment) == []


def test_the_bar_and_its_legend(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [
        _balance.BarPart("a", "activation", 30, "30 B", "75 %", Kind.ACTIVATION),
        _balance.BarPart("o", "beyond the list", 10, "10 B"),
    ]
    monkeypatch.setattr(_balance, "bar", lambda moment, view: ["bar"])
    monkeypatch.setattr(_balance, "parts", lambda moment: parts)
    monkeypatch.setattr(_balance, "scale", lambda moment: 80)
    monkeypatch.setattr(_balance, "limit", lambda moment: "limit 80 B")
    monkeypatch.setattr(_balance, "figures", lambda moment: ["in use 40 B"])
    moment: Any = Made(balance=Balance(limit=Size.exactly(80)))
    heading, bar, legend = card._memory(moment)
    assert words([heading, legend]) == [
        "MEMORY USE limit 80 B, in use 40 B",
        "activation 30 Bbeyond the list 10 B",
    ]
    assert re.findall(r"0 0 ([\d.]+)%", bar) == ["37.500", "12.500"]
    assert re.findall(r"background:(#?\w+)", bar) == [palette.LIGHT[Kind.ACTIVATION], palette.OTHER]
    moment.balance = Balance()
    assert words(card._memory(moment))[0] == "MEMORY USE limit 80 B"
    monkeypatch.setattr(_balance, "bar", lambda moment, view: [])
    assert card._memory(moment) == []


def test_five_layers_with_names() -> None:
    kinds = ((Kind.ACTIVATION, 3), (Kind.INPUT, 2), (Kind.CONSTANT, 1))
    groups = [
        Made(name=name, total_bytes=size, kinds=kinds)
        for name, size in (
            ("a", 40),
            (None, 30),
            ("b", 20),
            ("zero", 0),
            ("c", 4),
            ("d", 3),
            ("e", 2),
            ("f", 1),
        )
    ]
    whole = Made(table=Made(total_bytes=100), by=lambda key: groups)
    moment: Any = Made(attribution=whole, drawn=whole)
    heading, grid = card._layers(moment)
    assert words([heading]) == ["LARGEST LAYERS"]
    cells = re.findall(r'<div style="[^"]*">([^<]*)</div>', grid)
    assert cells[:4] == ["a", "40 B", "40 %", "activation, input"]
    assert cells[::4] == ["a", "b", "c", "d", "e"]
    moment.attribution.by = lambda key: groups[1:2]
    assert card._layers(moment) == []


def test_three_advices_with_their_code(monkeypatch: pytest.MonkeyPatch) -> None:
    advices = [("one", "saves 1 B", "x = 1"), ("two", "", ""), ("three", "", ""), ("four", "", "")]
    monkeypatch.setattr(savings, "advice", lambda report, count: advices[:count])
    nobody: Any = Made()
    assert words(card._actions(nobody)) == [
        "DO THIS FIRST",
        "1. one (saves 1 B)",
        "x = 1",
        "2. two",
        "3. three",
    ]
    monkeypatch.setattr(savings, "advice", lambda report, count: [])
    assert card._actions(nobody) == []


def test_the_last_line_of_the_card() -> None:
    without: Any = Made(html=None)
    assert words([card._last(without)]) == ["the whole page: report.save('report.html')"]
    whole: Any = Made(html="<p>größe</p>")
    found = card._last(whole)
    packed = re.findall(r'data-page="([^"]*)"', found)[0]
    assert gzip.decompress(base64.b64decode(packed)).decode() == whole.html
    assert base64.b64decode(packed)[4:8] == bytes(4)
    assert words([card._lines([["a", "b"], ["c"]])]) == ["a\nb\n\nc"] and card._lines([]) == ""


# ------------------------------------------------------------------ the page in a browser


def test_what_a_moment_is_called() -> None:
    step: Any = Made(timeline=Made(allocator="bfc", device="GPU:0"))
    assert page._label(step, "step") == "peak of bfc on GPU:0"
    failed = Made(node=None, op=None, kind=Made(value="tensor"), line=None)
    moment: Any = Made(timeline=None, request=Made(failed=failed, owner=Made(layer=None)))
    labels = [page._label(moment, "failure 1 of 2")]
    for holder, name, value in (
        (failed, "op", "Add"), (failed, "node", "net/n"), (moment.request.owner, "layer", "net"),
        (failed, "line", Line(7, "")),
    ):  # fmt: skip
        setattr(holder, name, value)
        labels.append(page._label(moment, "failure"))
    assert labels == [
        "failure 1 of 2: tensor", "failure: Add", "failure: net/n", "failure: net", "failure, line 7: net",
    ]  # fmt: skip


def test_what_is_cut_and_what_is_code() -> None:
    assert page._cut("a" * 5, 5) == "aaaaa"
    assert page._cut("a" * 6, 5) == "aaaaa …"
    assert len(page._cut("a" * 2001)) == 2002
    assert str(page._said("use `x` & <b>")) == "use <code>x</code> &amp; &lt;b&gt;"
    assert page.readable("a\tb\x1b\n") == "a\tb\\x1b\n"


def test_the_largest_rows_and_outputs() -> None:
    rows = [Made(total_bytes=size) for size in range(15)]
    moment: Any = Made(drawn=Made(table=rows, owners=[str(row.total_bytes) for row in rows]))
    found = page._largest(None, moment)
    assert [owner for _, owner in found] == [str(size) for size in range(14, 2, -1)]
    layer: Any = Made(outputs=(TensorType((2, 3), "float32"), TensorType((9, 9), "float32")))
    assert page._output_bytes(layer) == "24 B"
    assert (
        page._output_bytes(Made(outputs=()))
        == page._output_bytes(Made(outputs=(TensorType(None, None),)))
        == ""
    )
    group = Made(name="a", kinds=((Kind.INPUT, 5),))
    first = Made(drawn=Made(by=lambda key: [group]))
    assert page._held(Made(case=Made(moments=[first]))) == {"a": {"input": 5}}
    assert page._held(Made(case=Made(moments=[]))) == {}


# ------------------------------------------------------------------ a convolution


WIDE = View(width=160)
CONV = Convolution(ConvolutionKind.CONV, (8, 32, 30, 3), (5, 4), 16, (1, 1), (1, 1))


@pytest.mark.parametrize(
    "changed, end",
    [
        ({}, "SAME"),
        ({"strides": (2, 1)}, "SAME, strides 2 x 1"),
        ({"dilations": (1, 2), "padding": "valid"}, "VALID, dilations 1 x 2"),
        ({"strides": (2, 2), "dilations": (3, 3)}, "SAME, strides 2 x 2, dilations 3 x 3"),
    ],
)
def test_a_title_of_a_convolution(changed: dict[str, Any], end: str) -> None:
    report: Any = Made(convolution=replace(CONV, **changed))
    assert convolution._title(report) == f"5 x 4 convolution of [8,32,30,3] float32, {end}"


@pytest.mark.parametrize(
    "given, words",
    [
        ({"threads": 1}, "CPU, 1 thread"),
        ({"threads": 2}, "CPU, 2 threads"),
        ({"threads": 2, "onednn": True}, "CPU, 2 threads, oneDNN"),
        ({"threads": 2, "device": "gpu"}, "GPU"),
    ],
)
def test_where_a_convolution_runs(given: dict[str, Any], words: str) -> None:
    report: Any = Made(setting=ConvolutionSetting((2, 11), **given))
    assert convolution._setting(report) == f"TensorFlow 2.11, {words}"


def test_tables_of_a_convolution() -> None:
    line = Variation((5, 4), 1204, MIB, 2 * MIB, 3 * MIB + 1, None, 0)
    cells = ("5x4", "1,204", "1.00 MiB", "2.00 MiB", "3.00 MiB", "-", "0 B")
    assert convolution._row(line, human) == cells
    report: Any = Made(setting=Made(device="cpu"), table=[line])
    head, drawn = convolution._table(report, WIDE)
    assert head.index("batch") + len("batch") == drawn.index("1,204") + len("1,204")
    assert drawn.startswith("  5x4") and drawn.endswith("0 B")
    report.setting.device = "gpu"
    assert rough(3 * MIB + 1) in convolution._table(report, WIDE)[1]
    report.workspaces = [
        Made(algorithm="GEMM", bytes=0, formula="f", applies=True),
        Made(algorithm="FFT", bytes=MIB, formula="g", applies=False),
    ]
    assert [" ".join(each.split()) for each in convolution._workspaces(report, WIDE)] == [
        "GEMM none f", f"FFT some {rough(MIB)} not for these sizes",
    ]  # fmt: skip
