"""Sections of the pages for a terminal, to the letter: the request, copies, a convolution, the model."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.builders import MIB, capture, row, timeline
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import NOBODY, Attribution, Kind, Owner, Phase
from tfmemlens.model.case import Balance, Case, Moment, Request
from tfmemlens.model.convolution import Alternative, Need
from tfmemlens.model.finding import Certainty
from tfmemlens.model.incident import FailedRequest, Incident, RequestKind
from tfmemlens.model.layers import LayerSummary
from tfmemlens.model.layout import LayoutCopy, LayoutStudy
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import TensorType
from tfmemlens.renderers.terminal import (
    _balance,
    _copies,
    _fleet,
    _holders,
    _request,
    _screen,
    _timeline,
    convolution,
)
from tfmemlens.renderers.view import View
from tfmemlens.units import Size
from tfmemlens.values import replace

WIDE = View(width=80)
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


def failure(owner: Owner = NOBODY, rounded: int | None = None, **given: Any) -> Moment:
    incident = given.pop("incident", {})
    failed = FailedRequest(**given)
    return Moment(
        Attribution(AllocationTable(), []), Balance(), incident=Incident(failed, **incident),
        request=Request(failed, owner, rounded, None, False),
    )  # fmt: skip


class TestTheRequest:
    @pytest.mark.parametrize(
        "given, text",
        [
            ({"shape": (8, 64), "dtype": "float32"}, "[8,64] float32 = 2.0 KiB"),
            ({"shape": (8, None), "dtype": "float32"}, "[8,?] float32"),
            (
                {"shape": (8, 64), "dtype": "float32", "temporary": True},
                "[8,64] float32 = 2.0 KiB (temporary)",
            ),
            ({"size": Size.exactly(4 * MIB)}, "4.00 MiB"),
            ({}, ""),
        ],
    )
    def test_what_was_asked_for(self, given: dict[str, Any], text: str) -> None:
        assert _request.tensor(FailedRequest(**given)) == text

    def test_every_fact(self) -> None:
        owner = Owner("net/conv", Kind.ACTIVATION, Phase.FORWARD, op="Conv2D")
        found = _request.facts(
            failure(
                owner, 2304, shape=(8, 65), dtype="float32", node="net/conv/Conv2D", device=GPU,
                allocator="GPU_0_bfc", source="net.py:3", source_text="y = conv(x)", line=Line(7, "OOM"),
                executable="jit_step",
            )
        )  # fmt: skip
        assert found == [
            ("tensor", "[8,65] float32 = 2.0 KiB"),
            ("rounded", "2.2 KiB after allocator rounding"),
            ("layer", "net/conv"),
            ("op", "net/conv/Conv2D"),
            ("phase", "forward"),
            ("device", f"{GPU} allocator GPU_0_bfc"),
            ("your code", "net.py:3 `y = conv(x)`"),
            ("program", "jit_step"),
            ("log", "line 7"),
        ]

    def test_no_more_than_is_known(self) -> None:
        assert _request.facts(failure()) == []
        assert _request.facts(failure(size=Size.exactly(MIB))) == [("size", "1.00 MiB")]
        whole = failure(rounded=2048, shape=(8, 64), dtype="float32")
        assert _request.facts(whole) == [("tensor", "[8,64] float32 = 2.0 KiB")]
        traced = Moment(Attribution(AllocationTable(), []), Balance())
        assert (_request.facts(traced), _request.page(traced, WIDE)) == ([], [])

    @pytest.mark.parametrize(
        "kind, heading",
        [
            (RequestKind.TENSOR, "THE FAILED REQUEST"),
            (RequestKind.PROGRAM, "THE PROGRAM"),
            (RequestKind.PROFILE, "THE PROFILE"),
        ],
    )
    def test_under_its_heading(self, kind: RequestKind, heading: str) -> None:
        lines = _request.page(failure(kind=kind, size=Size.exactly(MIB)), WIDE)
        assert lines == ["", heading, "  size      1.00 MiB"]

    @pytest.mark.parametrize(
        "node, op, text",
        [
            ("net/conv/Conv2D", "Conv2D", "net/conv/Conv2D"),
            ("net/conv/Conv2D_1", "Conv2D", "net/conv/Conv2D_1"),
            ("Conv2D/mine", "Conv2D", "Conv2D/mine (Conv2D)"),
            ("net/mine", None, "net/mine"),
            (None, "Conv2D", "Conv2D"),
            (None, None, ""),
        ],
    )
    def test_the_op(self, node: str | None, op: str | None, text: str) -> None:
        assert _request._op(failure(replace(NOBODY, op=op), node=node)) == text

    @pytest.mark.parametrize(
        "line, incident, text",
        [
            (Line(7, ""), {}, "line 7"),
            (Line(7, "", "a.log"), {}, "line 7 of a.log"),
            (Line(7, ""), {"occurrences": 3}, "first reported on line 7 (3×)"),
            (Line(7, ""), {"ranks": ("0",)}, "line 7, by one process (0)"),
            (Line(7, ""), {"ranks": ("0", "1")}, "line 7, by 2 processes (0, 1)"),
            (Line(7, ""), {"ranks": tuple("01234")}, "line 7, by 5 processes (0, 1, 2, 3 …)"),
            (Line(7, ""), {"ranks": tuple("0123")}, "line 7, by 4 processes (0, 1, 2, 3)"),
            (
                Line(7, "", "a.log"),
                {"ranks": ("a.log", "b.log")},
                "line 7 of a.log, in 2 files (a.log, b.log)",
            ),
            (None, {"occurrences": 3}, ""),
        ],
    )
    def test_where_it_was_reported(self, line: Line | None, incident: dict[str, Any], text: str) -> None:
        assert _request._reported(failure(line=line, incident=incident)) == text


def copied(name: str, size: int | None, **more: Any) -> LayoutCopy:
    tensor = TensorType((size,), "int8")
    made = LayoutCopy(name, "Transpose", "NHWCToNCHW", "net", tensor, None, (), "x", "MyOp", "graph-input")
    return replace(made, **more)


class TestCopies:
    STUDY = LayoutStudy(
        (
            copied("big", 3 * MIB, retained=True, in_loop=True, source="net.py:3"),
            copied("small", MIB, cause="not-supported", source_layer=None, forced_op=None),
            copied("open", None),
        )
    )

    def test_by_cause(self) -> None:
        lines = [" ".join(line.split()) for line in _copies.causes(self.STUDY, WIDE)]
        assert lines == [
            "graph-input 2 3.00 MiB +? 75 % ████████ 3.00 MiB kept for backward",
            "not-supported 1 1.00 MiB 25 % ██",
        ]
        assert [
            " ".join(line.split()) for line in _copies.causes(LayoutStudy((copied("a", None),)), WIDE)
        ] == ["graph-input 1 0 B +?"]

    def test_the_largest(self) -> None:
        lines = _copies.largest(self.STUDY, View(width=200))
        assert [" ".join(line.split()) for line in lines] == [
            "3.00 MiB big",
            "[3145728] int8 of net, NHWCToNCHW, kept for backward, in a loop; forced by x (MyOp) (net.py:3):"
            " graph-input",
            "1.00 MiB small",
            "[1048576] int8 of no layer, NHWCToNCHW; forced by x (not in the graph): not-supported",
            "? open",
            "[?] int8 of net, NHWCToNCHW; forced by x (MyOp): graph-input",
        ]
        short = _copies.largest(self.STUDY, View(width=200, top=1))
        assert (len(short), short[2]) == (3, "  … 2 more with 1.00 MiB (--top, --json)")

    def test_without_a_peak_or_a_trial_nothing_is_said(self) -> None:
        assert _copies.peak(self.STUDY, WIDE) == []
        assert _copies.trials(Case(capture(), (), layout=self.STUDY), WIDE) == []


class TestConvolutions:
    @pytest.mark.parametrize(
        "count, text",
        [
            (999, "999 FLOP"),
            (999_999, "999,999 FLOP"),
            (10**6, "1.0 MFLOP"),
            (2_500_000_000, "2.5 GFLOP"),
            (10**12, "1.0 TFLOP"),
            (1234 * 10**12, "1,234.0 TFLOP"),
        ],
    )
    def test_arithmetic(self, count: int, text: str) -> None:
        assert convolution._flops(count) == text

    @pytest.mark.parametrize(
        "count, text", [(10**9 - 1, "953.67 MiB"), (10**9, "953.67 MiB (1.0 GB)"), (MIB, "1.00 MiB")]
    )
    def test_amounts(self, count: int, text: str) -> None:
        assert convolution._amount(count) == text

    @pytest.mark.parametrize(
        "name, size, tracked, certainty, line",
        [
            ("forward", MIB, True, Certainty.EXACT, "  forward    1.00 MiB"),
            ("forward", MIB, True, Certainty.BOUND, "  forward    up to 1.00 MiB"),
            ("forward", MIB, False, Certainty.ESTIMATE, "  forward    about 1.00 MiB  untracked"),
            ("forward", 0, False, Certainty.ESTIMATE, "  forward    0 B"),
            ("forward", None, False, Certainty.EXACT, "  forward    -"),
            ("each pass", 0, True, Certainty.EXACT, "  each pass  nothing"),
        ],
    )
    def test_a_pass(
        self, name: str, size: int | None, tracked: bool, certainty: Certainty, line: str
    ) -> None:
        assert convolution._pass(name, Need(size, tracked, certainty, ""), WIDE) == [line]
        noted = convolution._pass(name, Need(size, tracked, certainty, "2 x 3", note="so"), WIDE)
        assert noted == [line, " " * 13 + "2 x 3", " " * 13 + "so"]

    def test_an_alternative(self) -> None:
        option = Alternative("forward", "split it", "a = 1\nb = 2", MIB, 3 * MIB, Certainty.BOUND)
        assert convolution._alternative(option, WIDE) == [
            "  forward:   split it (saves up to 3.00 MiB, takes 1.00 MiB)",
            "             | a = 1",
            "             | b = 2",
        ]
        assert len(convolution._alternative(replace(option, code=None), WIDE)) == 1


class TestFleetWords:
    @pytest.mark.parametrize(
        "span, text",
        [
            (timedelta(days=7), "7 days"),
            (timedelta(days=1), "1 day"),
            (timedelta(hours=36), "36 hours"),
            (timedelta(hours=48), "2 days"),
            (timedelta(hours=49), "2 days"),
            (timedelta(minutes=90), "90 minutes"),
            (timedelta(minutes=121), "2 hours"),
            (timedelta(seconds=7201), "2 hours"),
            (timedelta(seconds=60), "1 minute"),
            (timedelta(seconds=61), "61 seconds"),
            (timedelta(seconds=120), "2 minutes"),
            (timedelta(seconds=121), "2 minutes"),
            (timedelta(seconds=1), "1 second"),
        ],
    )
    def test_lengths(self, span: timedelta, text: str) -> None:
        assert _fleet.length(span) == text

    def test_counts_times_and_places(self) -> None:
        assert (_fleet.counted(1, "job"), _fleet.counted(1204, "job")) == ("1 job", "1,204 jobs")
        day, night = datetime(2026, 10, 1, 8, 15), datetime(2026, 10, 1, 23)
        assert (_fleet.moment(day), _fleet.moment(None)) == ("2026-10-01 08:15", "time unknown")
        assert _fleet.period(day, night) == "2026-10-01"
        assert _fleet.period(day, datetime(2026, 10, 2)) == "2026-10-01 to 2026-10-02"
        assert _fleet.period(day, None) == _fleet.period(None, day) == "no time stamps"


class TestTheModel:
    @staticmethod
    def case(*layers: LayerSummary) -> Case:
        return replace(Case(capture(), ()), layers=layers)

    CONV = LayerSummary("conv", 80, 320, 640, "(3*3*1-1)*10", (TensorType((2, 8, 8, 10), "float32"),))
    RELU = LayerSummary("relu", 0, 0, 0, "", (TensorType((None, 8), "float32"),))

    def test_layer_by_layer(self) -> None:
        lines = [" ".join(line.split()) for line in _timeline.model(self.case(self.CONV, self.RELU), WIDE)]
        assert lines == [
            "layer parameters weights slots largest output",
            "conv 80 = (3*3*1-1)*10 320 B 640 B [2,8,8,10] 5.0 KiB",
            "relu -",
            "80 parameters in all",
        ]
        assert _timeline.model(self.case(), WIDE) == []

    def test_of_many_those_that_matter_most(self) -> None:
        many = [replace(self.CONV, layer=f"conv{at}", parameters=at) for at in range(12)]
        lines = _timeline.model(self.case(*many), View(width=80, top=3))
        assert [line.split()[0] for line in lines[1:9]] == [f"conv{at}" for at in range(4, 12)]
        assert lines[9] == "  … 4 more layers; 66 parameters in all"
        ten = _timeline.model(self.case(*many[:9]), View(width=80, top=3))
        assert ten[9] == "  … 1 more layer; 36 parameters in all"
        assert len(_timeline.model(self.case(*many), View(width=80, top=10))) == 12

    def test_the_columns_that_say_nothing_are_left_out(self) -> None:
        (head, line) = _timeline.model(self.case(replace(self.RELU, outputs=())), WIDE)
        assert (head.split(), line.split()) == (["layer"], ["relu"])

    def test_slots_go_where_there_is_no_room(self) -> None:
        head, *_ = _timeline.model(self.case(replace(self.CONV, layer="c" * 40)), View(width=80))
        assert "slots" in head
        head, *_ = _timeline.model(self.case(replace(self.CONV, layer="c" * 40)), View(width=60))
        assert "slots" not in head


def legend(lines: list[str]) -> str:
    """What stands below a curve and its mark, unwrapped."""
    return " ".join(" ".join(lines[2:]).split())


class TestCurves:
    def test_the_mark_below_the_peak_says_where_it_is(self) -> None:
        measured = timeline(row("a", 4, 0, 10), row("b", 4, 5, 7.5))
        table = AllocationTable.of([Allocation("a", 4 * MIB)])
        at = Moment(Attribution(table, [NOBODY]), Balance(), timeline=measured, peak_micros=2000.0)
        lines = _timeline.curve(at, View(width=14))
        assert lines[1] == "    ▲ 4.00 MiB at 2.0 ms"
        assert legend(lines).endswith("at 5.0 ms of 10.0 ms")
        ordinal = _timeline.curve(replace(at, timeline=replace(measured, ordinal=True)), View(width=14))
        assert ordinal[1] == "    ▲ 4.00 MiB"
        assert legend(ordinal).endswith("at line 5,000 of 10,000")
        made = _timeline.curve(replace(at, timeline=replace(measured, predicted=True)), View(width=14))
        assert legend(made).endswith("peak 8.00 MiB (the order of ops, not their times)")


class TestMemoryUse:
    LIST = AllocationTable.of([Allocation("net/conv/Relu", 5 * MIB)])
    OWNED = Attribution(LIST, [Owner("net/conv", Kind.ACTIVATION, Phase.FORWARD)])

    def page(self, **books: int | None) -> list[str]:
        sizes: Any = {
            name: None if mib is None else Size.exactly(mib * MIB)
            for name, mib in books.items() if name != "missing"
        }  # fmt: skip
        shown = Moment(self.OWNED, Balance(**sizes, missing=books.get("missing")))
        return [" ".join(line.split()) for line in _balance.page(shown, View(width=26))]

    def test_with_a_limit(self) -> None:
        lines = self.page(limit=10, in_use=5, free=5, largest_free_chunk=2, waste=1, peak=7, missing=3 * MIB)
        assert lines[:4] == [
            "", "MEMORY USE", "limit 10.00 MiB, peak so far 7.00 MiB", f"[{'█' * 11}{'·' * 11}]",
        ]  # fmt: skip
        assert lines[4:6] == ["█ activation 5.00 MiB 100 %", "· free 5.00 MiB"]
        assert " ".join(lines[6:]) == (
            "in use 5.00 MiB, 3.00 MiB more needed, largest free block 2.00 MiB,"
            " lost to allocator rounding 1.00 MiB"
        )

    def test_without_one(self) -> None:
        assert self.page()[2:] == [
            "held 5.00 MiB (limit unknown)", f"[{'█' * 22}]", "█ activation 5.00 MiB 100 %",
        ]  # fmt: skip
        full = self.page(limit=5, in_use=5, free=0, largest_free_chunk=0, waste=0)
        assert full[4:] == ["█ activation 5.00 MiB 100 %", "in use 5.00 MiB"]
        assert _balance.page(Moment(Attribution(AllocationTable(), []), Balance()), WIDE) == []

    def test_of_a_traced_and_of_a_predicted_step(self) -> None:
        step = timeline(row("net/conv/Relu", 5, 0, 1))
        traced = Moment(self.OWNED, Balance(peak=Size.exactly(7 * MIB)), timeline=step)
        assert _balance.headline(traced) == "held 5.00 MiB (limit unknown), peak 7.00 MiB"
        made = replace(traced, timeline=replace(step, predicted=True))
        assert _balance.headline(made) == "needed 5.00 MiB (no --limit was given)"
        limited = replace(made, balance=Balance(limit=Size.exactly(9 * MIB), peak=Size.exactly(7 * MIB)))
        assert _balance.headline(limited) == "limit 9.00 MiB, needed 7.00 MiB"
        assert _balance.style(None) == "dim"
        assert _balance.style(Kind.ACTIVATION).startswith("color-")

    @pytest.mark.parametrize(
        ("limit", "failed", "drawn"), [(101, False, 22), (100, False, 1), (101, True, 1)]
    )
    def test_a_limit_that_is_far_is_not_drawn(self, limit: int, failed: bool, drawn: int) -> None:
        """The kinds of a step that holds next to nothing of a GPU are seen, and a failure's free rest."""
        step = None if failed else timeline(row("net/conv/Relu", 5, 0, 1))
        shown = Moment(self.OWNED, Balance(limit=Size.exactly(limit * MIB)), timeline=step)
        (bar,) = _balance.bar(shown, View(width=26))
        assert bar.count("█") == drawn
        assert ("(not drawn)" in _balance.limit(shown)) is (drawn == 22)
        assert "· free" not in _screen._legend(shown, WIDE) or drawn == 1

    def test_what_is_in_use_without_any_name(self) -> None:
        nameless = Moment(Attribution(self.LIST, [NOBODY]), Balance())
        assert _balance.names(_balance.parts(nameless)) == ["in use"]
        assert _balance.names(_balance.parts(Moment(self.OWNED, Balance()))) == ["activation"]


class TestHolders:
    def test_layers_then_the_largest_allocations(self) -> None:
        rows = (
            (
                Allocation("net/conv/Relu", 4 * MIB, count=3, shape=(4, 256, 1024), dtype="float32"),
                "net/conv",
            ),
            (Allocation("net/fc/MatMul", 2 * MIB, error_bytes=9), "net/fc"),
            (Allocation(None, MIB), None),
        )
        owned = [Owner(layer, Kind.ACTIVATION, Phase.FORWARD) for _, layer in rows]
        shown = Moment(Attribution(AllocationTable.of([each for each, _ in rows]), owned), Balance())
        assert [" ".join(line.split()) for line in _holders.page(shown, WIDE)] == [
            "", "BY LAYER",
            "net/conv ×3 12.00 MiB 80 % ████████ activation",
            "net/fc 2.00 MiB 13 % █ activation",
            "(no layer in the name) 1.00 MiB 7 % █ activation",
            "", "THE LARGEST ALLOCATIONS",
            "4.00 MiB ×3 net/conv/Relu",
            "[4,256,1024] float32, activation, forward",
            "about 2.00 MiB net/fc/MatMul",
            "activation, forward",
        ]  # fmt: skip
        lines = _holders.page(shown, WIDE)
        assert lines[7] == "          4.00 MiB ×3 net/conv/Relu"
        assert lines[8] == " " * 19 + "[4,256,1024] float32, activation, forward"
        assert _holders.page(shown, replace(WIDE, by="kind"))[1:3] == [
            "BY KIND", "  activation ×5  15.00 MiB  100 %  ██████████  activation",
        ]  # fmt: skip
        outside = replace(shown, balance=Balance(outside_report=Size.exactly(MIB)))
        assert _holders.page(outside, WIDE)[1] == "BY LAYER, OF WHAT IS LISTED"

    def test_of_a_traced_step_how_long_each_lived(self) -> None:
        step = timeline(row("net/a", 4, 2, 5), row("net/b", 1, 3, None))
        owned = [Owner("net", Kind.ACTIVATION, Phase.FORWARD)] * 2
        shown = Moment(
            Attribution(step.table, owned), Balance(), timeline=step, last_reader=("net/reader", None)
        )
        lived = [_holders._lived(shown, each, at) for at, each in enumerate(step.table)]
        assert lived == [", from 0.0 ms to 3.0 ms for net/reader", ", from 1.0 ms to the end"]
        unread = replace(shown, last_reader=())
        assert _holders._lived(unread, step.table[0], 0) == ", from 0.0 ms to 3.0 ms"
        made = replace(shown, timeline=replace(step, predicted=True))
        assert _holders._lived(made, step.table[0], 0) == ""
        assert _holders._lived(replace(shown, timeline=None), step.table[0], 0) == ""
