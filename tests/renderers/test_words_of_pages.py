"""Words of a terminal's pages: counts, times, places, and what is left out where nothing is known."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tfmemlens.model.attribution import Kind, Owner, Phase
from tfmemlens.model.case import Balance, Request
from tfmemlens.model.incident import FailedRequest
from tfmemlens.model.line import Line
from tfmemlens.renderers.terminal import _balance, _fleet, _holders, _request, _timeline
from tfmemlens.renderers.view import View
from tfmemlens.units import Size, human


@pytest.mark.parametrize(
    "lost, words",
    [
        (None, "-"),
        (0, "0.0"),
        (0.04, "<0.1"),
        (0.05, "0.1"),
        (0.06, "0.1"),
        (99.9, "99.9"),
        (100, "100"),
        (1204.4, "1,204"),
    ],
)
def test_hours_lost(lost: float | None, words: str) -> None:
    tally: Any = Made(hours_lost=lost)
    assert _fleet.hours(tally) == words


@pytest.mark.parametrize(
    "before, now, words",
    [
        (None, 5, "-"),
        (5, None, "-"),
        (0, 0, "-"),
        (0, 1204, "new, 1,204"),
        (3, 0, "3 → 0"),
        (12, 31, "12 → 31"),
    ],
)
def test_a_trend(before: int | None, now: int | None, words: str) -> None:
    group: Any = Made(jobs_before=before, jobs_now=now)
    assert _fleet.trend(group) == words


def test_what_many_jobs_add_up_to() -> None:
    def said(of: Any, **given: Any) -> str:
        return str(of(Made(**given)))

    assert said(_fleet.place, source="a.log", line=5) == "a.log:5"
    assert said(_fleet.place, source="a.log", line=None) == "a.log"
    tally = {"failures": 1, "jobs": 2}
    assert said(_fleet.whole, **tally, seconds_lost=None) == "1 failure in 2 jobs"
    lost = said(_fleet.whole, **tally, seconds_lost=0, hours_lost=0.0)
    assert lost == "1 failure in 2 jobs, 0.0 hours lost"
    assert said(_fleet.unread, statuses={}, inputs=5) == ""
    broken = said(_fleet.unread, statuses={"unreadable": 1}, inputs=1204)
    assert broken == "1 input of 1,204 could not be read"
    assert said(_fleet.ended, ended={}) == ""
    three = {"a": 5, "b": 4, "c": 3}
    assert said(_fleet.ended, ended=three) == "12 inputs ended otherwise: a (5), b (4), c (3)"
    four = {**three, "d": 2}
    assert said(_fleet.ended, ended=four) == "14 inputs ended otherwise: a (5), b (4), c (3), others (2)"


@pytest.mark.parametrize(
    "undated, limited, words",
    [
        (0, True, ""),
        (1, False, "1 failure has no time"),
        (2, True, "2 failures have no time and left out"),
    ],
)
def test_failures_without_a_time(undated: int, limited: bool, words: str) -> None:
    ranking: Any = Made(undated=undated)
    assert _fleet.undated(ranking, limited) == words


# ------------------------------------------------------------------ a step


@pytest.mark.parametrize(
    "phases, drawn",
    [
        ([("forward", 0, 50), ("backward", 50, 100)], "forward───backward──"),
        ([("forward", 0, 10), ("backward", 10, 97)], "──backward──────────"),
        ([("forward", 0, 15), ("backward", 15, 90)], "fo─backward───────"),
        ([("forward", 0, 50), ("update", 100, 100)], "forward───         ─"),
        ([("before", -50, -10), ("forward", 0, 50)], "forward───"),
    ],
)
def test_phases_under_a_curve_of_20_columns(phases: list[tuple[str, int, int]], drawn: str) -> None:
    spans = [Made(name=name, start_micros=start, end_micros=end) for name, start, end in phases]
    moment: Any = Made(phases=spans)
    assert _timeline._phases(moment, 0, 100, 20) == [f"  {drawn}"]
    assert _timeline._phases(Made(phases=[]), 0, 100, 20) == []  # type: ignore[arg-type]


@pytest.mark.parametrize("top, lines", [(10, 6 + 1 + 6 + 1), (7, 6 + 1 + 6 + 1), (3, 3 + 1 + 3 + 1)])
def test_a_step_beside_a_failure_has_six_rows_a_table_at_most(top: int, lines: int) -> None:
    groups = [
        Made(name=f"g{number}", total_bytes=100, count=1, rows=1, calls=1, kinds=()) for number in range(8)
    ]
    whole = Made(table=Made(total_bytes=800), by=lambda _: tuple(groups))
    moment: Any = Made(attribution=whole, drawn=whole)
    shown = _holders.kinds_and_layers(moment, View(top=top))
    assert len(shown) == lines
    assert "12 %" in shown[0] or "13 %" in shown[0]


# ------------------------------------------------------------------ a request


@pytest.mark.parametrize(
    "device, words",
    [
        ("/job:localhost/replica:0/task:0/device:GPU:0", ""),
        ("/job:localhost/replica:0/task:0/device:GPU:3", "GPU:3"),
        ("/job:worker/replica:0/task:2/device:GPU:0", "GPU:0, worker task 2"),
        ("/job:worker/replica:0/task:0/device:GPU:1", "GPU:1, worker task 0"),
        ("/job:localhost/replica:0/task:1/device:GPU:0", "GPU:0, localhost task 1"),
        ("/job:localhost/replica:1/task:0/device:CPU:0", "CPU:0, replica 1"),
        ("/device:GPU:1", "GPU:1"),
        ("/device:GPU:0", ""),
        ("somewhere", ""),
        (None, ""),
    ],
)
def test_another_device_than_the_only_one(device: str | None, words: str) -> None:
    assert _request.other_device(FailedRequest(device=device)) == words


@pytest.mark.parametrize(
    "rounded, said", [(256, f"{human(256)} after allocator rounding"), (32, None), (None, None)]
)
def test_rounding_is_told_where_it_changes_the_size(rounded: int | None, said: str | None) -> None:
    failed = FailedRequest(shape=(8,), dtype="float32")
    request = Request(failed, Owner("a", Kind.ACTIVATION, Phase.FORWARD), rounded)
    moment: Any = Made(request=request, attribution=Made(calls={}), incident=None)
    told = dict(_request.facts(moment))
    assert told.get("rounded") == said
    assert told["tensor"] == f"[8] float32 = {human(32)}" and told["phase"] == "forward"
    assert "size" not in told and "device" not in told and "log" not in told


@pytest.mark.parametrize(
    "calls, words", [({}, "a"), ({"a": 1}, "a"), ({"a": 2}, "a, called at least 2 times")]
)
def test_the_layer_of_a_request(calls: dict[str, int], words: str) -> None:
    moment: Any = Made(request=Made(owner=Made(layer="a")), attribution=Made(calls=calls))
    assert _request._layer(moment) == words
    moment.request = None
    assert _request._layer(moment) == ""


@pytest.mark.parametrize(
    "node, op, words",
    [
        ("net/conv/Conv2D", "Conv2D", "net/conv/Conv2D"),
        ("net/Conv2D/x", "Conv2D", "net/Conv2D/x (Conv2D)"),
        ("net/x", None, "net/x"),
        (None, "Conv2D", "Conv2D"),
        (None, None, ""),
    ],
)
def test_the_op_of_a_request(node: str | None, op: str | None, words: str) -> None:
    moment: Any = Made(request=Made(failed=Made(node=node), owner=Made(op=op)))
    assert _request._op(moment) == words


@pytest.mark.parametrize(
    "times, ranks, words",
    [
        (1, (), "line 7 of a.log"),
        (3, (), "first reported on line 7 of a.log (3×)"),
        (1, ("a.log", "b.log"), "line 7 of a.log, in 2 files (a.log, b.log)"),
        (1, ("r0",), "line 7 of a.log, by one process (r0)"),
        (1, tuple("wxyz"), "line 7 of a.log, by 4 processes (w, x, y, z)"),
        (2, tuple("vwxyz"), "first reported on line 7 of a.log (2×), by 5 processes (v, w, x, y …)"),
    ],
)
def test_where_a_failure_was_reported(times: int, ranks: tuple[str, ...], words: str) -> None:
    request = Made(line=Line(7, "", "a.log"))
    moment: Any = Made(incident=Made(request=request, occurrences=times, ranks=ranks))
    assert _request._reported(moment) == words
    request.line = None
    assert _request._reported(moment) == ""


# ------------------------------------------------------------------ the balance


def test_figures_beside_the_bar() -> None:
    def told(**books: Any) -> list[str]:
        return _balance.figures(Made(balance=Balance(**books)))  # type: ignore[arg-type]

    size, none = Size.exactly(2048), Size.exactly(0)
    words = human(2048)
    assert told() == [] == told(largest_free_chunk=size, free=none, waste=none, missing=0)
    assert told(largest_free_chunk=size) == []
    assert told(in_use=size, largest_free_chunk=size, free=size, waste=size, missing=2048) == [
        f"in use {words}", f"{words} more needed", f"largest free block {words}",
        f"lost to allocator rounding {words}",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "limit, predicted, traced, words",
    [
        (None, False, False, ", peak so far "),
        (None, False, True, ", peak "),
        (2048, False, False, ", peak so far "),
        (2048, True, True, ", needed "),
        (None, True, True, None),
    ],
)
def test_the_peak_beside_the_limit(
    limit: int | None, predicted: bool, traced: bool, words: str | None
) -> None:
    books = Balance(limit=Size.exactly(limit) if limit else None, peak=Size.exactly(1024))
    moment: Any = Made(balance=books, predicted=predicted, timeline=1 if traced else None)
    assert _balance._peak(moment) == ("" if words is None else f"{words}{human(1024)}")
    moment.balance = Balance()
    assert _balance._peak(moment) == ""
