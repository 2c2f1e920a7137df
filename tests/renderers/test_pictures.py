"""What a picture of a step shows, of a step of three tensors: each place worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("matplotlib")

from tests.builders import capture, row, timeline
from tfmemlens.model.case import PhaseSpan
from tfmemlens.model.series import LiveCurve, Sheet
from tfmemlens.renderers import palette
from tfmemlens.renderers.pictures import _sheet, curve
from tfmemlens.renderers.pictures.convolution import _tick
from tfmemlens.units import GIB, KIB, MIB
from tfmemlens.use_cases.plot import _curve
from tfmemlens.values import replace

STEP = timeline(row("net/a/Relu", 4, 1, 11), row("net/b/Relu", 2, 3, 7), row("net/c/Relu", 1, 3.5, None))
"""From 1 to 11 ms: 4 MiB, from 3.5 ms on 7 MiB at most."""


def of(at: str | None = None, limit: int | None = None, *phases: PhaseSpan, by: str = "layer") -> LiveCurve:
    made = _curve(capture(replace(STEP, limit_bytes=limit)), by, at)
    if not phases:
        return made
    moment, *others = made.report.case.moments
    moments = (replace(moment, phases=phases), *others)
    return replace(made, report=replace(made.report, case=replace(made.report.case, moments=moments)))


def drawn(made: LiveCurve, *panels: str) -> list[Any]:
    return list(curve.figure(made, Sheet(panels)).axes)


def marked(axes: Any) -> list[tuple[str, float, float, str]]:
    """Each note with the place that it points to."""
    return [(each.get_text(), *map(float, each.xy), each.get_ha()) for each in axes.texts]


def test_the_panels_are_as_high_as_they_were_made() -> None:
    assert list(curve.figure(of()).get_size_inches()) == [10.0, 3.6 + 2.6 + 2.6 + 0.5]
    assert list(curve.figure(of(), Sheet(("curve",))).get_size_inches()) == [10.0, pytest.approx(4.1)]
    assert list(curve.figure(of(), Sheet(("curve",), (3, 2))).get_size_inches()) == [3.0, 2.0]
    assert [axes.get_title() for axes in drawn(of())] == [
        "Memory in use, by layer", "Lifetimes of the largest tensors", "Largest layers at the peak",
    ]  # fmt: skip
    assert [axes.get_xlabel() for axes in drawn(of())] == [
        "",
        "milliseconds after the first allocation",
        "MiB",
    ]
    below, above = drawn(of(), "lifetimes", "curve")
    assert (below.get_xlabel(), above.get_xlabel()) == ("", "milliseconds after the first allocation")


def test_the_peak_is_marked_where_it_is() -> None:
    (axes,) = drawn(of(), "curve")
    assert marked(axes) == [("peak 7.00 MiB", 2.5, 7.0, "left"), ("forward", 0.0, 1.0, "left")]
    (line,) = (line for line in axes.lines if line.get_marker() == "v")
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([2.5], [7.0])
    assert axes.get_ylim() == (0.0, pytest.approx(7 * 1.15))
    assert axes.get_ylabel() == "in use (MiB)"


def test_low_axes_have_room_for_the_words_above_the_peak() -> None:
    """The names of phases, and below them the peak's figure."""
    (axes,) = curve.figure(of(), Sheet(("curve",), (7, 2.4))).axes
    points = axes.bbox.height * 72 / axes.figure.dpi
    assert points * (1 - 7 / axes.get_ylim()[1]) == pytest.approx(28)


def test_another_moment_is_not_called_the_peak() -> None:
    """The moment is that of the last event before; its words stand on the side where there is room."""
    for at, (x, mib, side) in {"8ms": (6.0, 5, "left"), "10ms": (10.0, 1, "right")}.items():
        (axes,) = drawn(of(at), "curve")
        assert marked(axes)[0] == (f"{mib}.00 MiB", pytest.approx(x), float(mib), side)
    (_, _, layers) = drawn(of("8ms"))
    assert layers.get_title() == "Largest layers at that moment"


@pytest.mark.parametrize(
    "limit, shown, top", [(10, True, 11.5), (10.5, True, 12.075), (10.6, False, 8.05), (None, False, 8.05)]
)
def test_a_limit_is_drawn_up_to_one_and_a_half_times_the_peak(
    limit: float | None, shown: bool, top: float
) -> None:
    (axes,) = drawn(of(None, None if limit is None else int(limit * MIB)), "curve")
    lines = [line for line in axes.lines if line.get_label() == "limit"]
    assert [line.get_ydata()[0] for line in lines] == ([pytest.approx(limit, abs=1e-5)] if shown else [])
    assert axes.get_ylim()[1] == pytest.approx(top, abs=1e-5)


def test_phases_are_named_where_there_is_room() -> None:
    """The axis is 10 ms long: names that begin nearer than 0.8 ms to another are left out."""
    begins = {"a": 0, "b": 0.7, "c": 0.8, "d": 1.5, "e": 9.1, "f": 9.95, "g": 10.1, "h": -0.1}
    phases = [PhaseSpan(name, 1000 + 1000 * at, 0) for name, at in begins.items()]
    (axes,) = drawn(of(None, None, *phases), "curve")
    names = [(text, x, side) for text, x, _, side in marked(axes) if "peak" not in text]
    assert [(text, pytest.approx(x), side) for text, x, side in names] == [
        ("a", 0.0, "left"), ("c", 0.8, "left"), ("e", 9.1, "left"), ("f", 9.95, "right"),
    ]  # fmt: skip
    dotted = [line for line in axes.lines if line.get_linestyle() == ":"]
    assert [line.get_xdata()[0] for line in dotted] == pytest.approx([0, 0.7, 0.8, 1.5, 9.1, 9.95])


def test_a_phase_whose_name_ends_beyond_the_axis_stands_left_of_its_line() -> None:
    for at, side in ((9.2, "left"), (9.3, "right")):
        (axes,) = drawn(of(None, None, PhaseSpan("a", 1000 + 1000 * at, 0)), "curve")
        assert [where for text, _, _, where in marked(axes) if text == "a"] == [side]


def test_lifetimes_of_the_largest_stand_at_the_top() -> None:
    (axes,) = drawn(of(), "lifetimes")
    bars = [(bar.get_x(), bar.get_y() + bar.get_height() / 2, bar.get_width()) for bar in axes.patches]
    assert bars == [
        (pytest.approx(2.5), pytest.approx(0), pytest.approx(7.5)),
        (pytest.approx(2.0), pytest.approx(1), pytest.approx(4.0)),
        (pytest.approx(0.0), pytest.approx(2), pytest.approx(10.0)),
    ]
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "c/Relu  1.00 MiB", "b/Relu  2.00 MiB", "a/Relu  4.00 MiB",
    ]  # fmt: skip
    assert axes.get_xlim() == (0.0, 10.0)


def test_the_largest_layers_stand_at_the_top() -> None:
    (axes,) = drawn(of(), "layers")
    assert [bar.get_width() for bar in axes.patches] == [1.0, 2.0, 4.0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["c", "b", "a"]


def test_layers_below_three_thousandths_of_the_largest_are_left_out() -> None:
    rows = [
        row(name, mib, 1, 5) for name, mib in (("net/a/Relu", 1000), ("net/b/Relu", 3), ("net/c/Relu", 2.99))
    ]
    made = _curve(capture(timeline(*rows)), "layer", None)
    (axes,) = drawn(made, "layers")
    assert [label.get_text() for label in axes.get_yticklabels()] == ["b", "a"]


def test_colours_are_the_kinds_or_one_for_each_layer() -> None:
    assert curve._colors(["activation", "else"], "kind") == ["#32a15c", palette.OTHER]
    names = [str(number) for number in range(11)]
    colours = curve._colors(names, "layer")
    assert colours[0] == palette.OTHER and colours[1] == colours[10] == palette.LAYERS[0]
    assert colours[9] == palette.LAYERS[8]


def test_kinds_stand_in_words_in_the_legends() -> None:
    """`kept by a loop`, as on all pages, for what the data calls `loop-stack`."""
    copied = row("net/a-0-TransposeNHWCToNCHW-LayoutOptimizer", 4, 1, 5)
    made = _curve(capture(timeline(copied, row("net/while/TensorListReserve", 2, 1, 5))), "kind", None)
    stacked, layers = drawn(made, "curve", "layers")
    for axes, others in ((stacked, ["before the step"]), (layers, [])):
        shown = [text.get_text() for text in axes.get_legend().get_texts()]
        assert sorted(shown) == sorted(["kept by a loop", "layout copy", *others])


@pytest.mark.parametrize(
    "names, room, labels",
    [
        (["net/a/x", "net/b/x"], 38, ["a/x", "b/x"]),
        (["net/a/x"], 38, ["net/a/x"]),
        (["a/x", "a/x"], 38, ["a/x #1", "a/x #2"]),
        (["a" * 20], 9, ["aaaa…aaaa"]),
        (["a" * 20], 10, ["aaaaa…aaaa"]),
    ],
)  # fmt: skip
def test_labels_tell_names_apart(names: list[str], room: int, labels: list[str]) -> None:
    assert _sheet.distinct(names, room) == labels


@pytest.mark.parametrize(
    "count, text",
    [
        (0, "0 B"),
        (KIB - 1, "1023 B"),
        (KIB, "1 KiB"),
        (32 * KIB, "32 KiB"),
        (MIB, "1 MiB"),
        (GIB - 1, "1023 MiB"),
        (1024 * GIB, "1024 GiB"),
    ],
)
def test_a_tick_of_bytes(count: int, text: str) -> None:
    assert _tick(count) == text


def test_a_title_is_wrapped_before_it_is_cut() -> None:
    page = _sheet.sheet((2, 2), "word " * 20)
    lines = page._suptitle.get_text().split("\n")
    assert max(map(len, lines)) == 24 and len(lines) == 4
    assert _sheet.sheet((1, 1), "word " * 20)._suptitle.get_text().split("\n")[0] == "word word word word"
