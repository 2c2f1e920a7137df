"""Edges of what pages and documents show: how wide, how many, how rounded, and what stands for nothing."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tests.builders import MIB
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import Attribution, Kind, Owner, Phase
from tfmemlens.model.capture import Holds
from tfmemlens.model.case import Balance, Moment
from tfmemlens.model.finding import Basis, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.model.scan_summary import _BYTES_A_FILE, ScanSummary
from tfmemlens.readers.gathering import step_choice
from tfmemlens.renderers import run_facts
from tfmemlens.renderers.html import _pack, fleet
from tfmemlens.renderers.json import report as document
from tfmemlens.renderers.terminal import _copies, _holders, _timeline
from tfmemlens.renderers.view import View
from tfmemlens.units import Size


@pytest.mark.parametrize("basis", [*Basis, None])
def test_the_kind_of_evidence_in_a_document(basis: Basis | None) -> None:
    finding = Finding(Severity.CAUSE, "x", basis=basis, explains=5, moment=2)
    told = document._finding(finding, by_bytes=False)
    assert told["evidence_kind"] == (basis or Basis.NAME).value
    assert (told["bytes"], told["explains_bytes"], told["incident"], told["detail"]) == (5, 5, 2, None)


def test_what_a_remedy_does_not_state_is_null() -> None:
    told = document._remedy(Remedy("x"))
    assert {name: value for name, value in told.items() if value is not None} == {"text": "x"}


def test_what_formats_hold_in_the_order_of_what_they_tell() -> None:
    order = "SURROUNDINGS FAILURES MODEL GRAPH OUTPUTS SAMPLES ALLOCATIONS".split()
    assert [each.name for each in sorted(Holds)] == order
    assert [each.is_step for each in sorted(Holds)] == [False] * 4 + [True] * 3


@pytest.mark.parametrize(
    "files, read, share", [(0, 0, 0.0), (1, 0, 0.25), (1, _BYTES_A_FILE, 0.5), (2, 2 * _BYTES_A_FILE, 1.0)]
)
def test_a_file_costs_as_much_as_so_many_of_its_bytes(files: int, read: int, share: float) -> None:
    summary = ScanSummary(
        "out", to_read=2, bytes_to_read=2 * _BYTES_A_FILE, files=files, bytes=read, seconds=6.0
    )
    assert summary.share == share
    assert summary.seconds_left == (None if not share else pytest.approx(6 * (1 - share) / share))


def test_a_scan_of_nothing_is_done_and_one_that_found_more_is_no_more_than_done() -> None:
    assert (ScanSummary("out").share, ScanSummary("out").seconds_left) == (1.0, 0.0)
    assert ScanSummary("out", to_read=1, bytes_to_read=5, files=2, bytes=50).share == 1.0
    assert _BYTES_A_FILE == 256 * 1024


@pytest.mark.parametrize(
    "shares, packed",
    [
        ([0.0, 1.0], [0, 1000]),
        ([0.7, 0.9], [700, 200]),
        ([0.0004, 0.0006], [0, 1]),
        ([0.9994, 0.5], [999, -499]),
    ],
)
def test_free_pieces_in_thousandths(shares: list[float], packed: list[int]) -> None:
    timeline: Any = Made(
        events=([10.0],), addresses=None, table=(),
        fragmentation=[(10.0 + number, share) for number, share in enumerate(shares)],
    )  # fmt: skip
    ledger: Any = Made(birth=[0])
    assert _pack._replay(ledger, timeline)["fragmentation"]["share"] == {"d": packed}


@pytest.mark.parametrize(
    "count, said", [(1, "s0"), (12, "s10, s11"), (13, "s10, s11 and 1 more"), (15, "s10, s11 and 3 more")]
)
def test_twelve_steps_are_named(count: int, said: str) -> None:
    steps: Any = [Made(tag=f"s{number}", step=None) for number in range(count)]
    assert step_choice._names(steps).endswith(said)
    assert step_choice._names([Made(tag="train", step=0)]) == "train (step 0)"  # type: ignore[list-item]


# ------------------------------------------------------------------ the terminal


def grouped(name: str, count: int, calls: int = 1) -> str:
    """The first cell of a group's row, in a terminal of 80 columns."""
    group: Any = Made(
        name=name, count=count, rows=1, calls=calls, kinds=[(Kind.ACTIVATION, 5)], total_bytes=5
    )
    (line,) = _holders._groups((group,), 10, View(width=80))
    return line.strip().split("  ")[0]


@pytest.mark.parametrize(
    "length, count, calls, behind",
    [
        (34, 1, 1, ""),
        (35, 1, 1, ""),
        (34, 12, 1, " ×12"),
        (60, 12, 3, " ×12, 3 calls"),
        (21, 12, 3, " ×12, 3 calls"),
    ],
)
def test_a_groups_name_and_count_share_its_column(length: int, count: int, calls: int, behind: str) -> None:
    name = "".join(chr(97 + number % 26) for number in range(length))
    shown = grouped(name, count, calls)
    assert shown.endswith(behind)
    assert len(shown) == min(length + len(behind), 34)
    assert (name in shown) is (length + len(behind) <= 34)
    assert shown.startswith("abc")


def holding(*rows: tuple[str | None, int, Kind, str | None]) -> Moment:
    table = AllocationTable.of([Allocation(node, size) for node, size, _, _ in rows])
    owners = [Owner(layer, kind, Phase.FORWARD) for _, _, kind, layer in rows]
    return Moment(Attribution(table, owners), Balance())


@pytest.mark.parametrize(
    "rows, compiled, nameless",
    [
        ([(None, 5, Kind.UNATTRIBUTED, None)], False, True),
        ([(None, 5, Kind.UNATTRIBUTED, None)], True, False),
        ([(None, 5, Kind.UNATTRIBUTED, "a")], False, False),
        ([(None, 5, Kind.ACTIVATION, None)], False, False),
        ([(None, 5, Kind.UNATTRIBUTED, None), ("a", 5, Kind.ACTIVATION, "a")], False, False),
        ([], False, True),
    ],
)
def test_rows_that_are_sizes_and_nothing_else(rows: Any, compiled: bool, nameless: bool) -> None:
    moment = holding(*rows)
    incident = Made(compiler=object() if compiled else None)
    shown: Any = Made(drawn=moment.attribution, incident=incident, lists_blocks_alone=False)
    assert _holders.nameless(shown) is nameless


def test_beside_a_failure_a_steps_tables_have_six_rows() -> None:
    kinds = [kind for kind in Kind if kind is not Kind.UNATTRIBUTED][:8]
    moment = holding(*((f"n{at}", 9 - at, kind, f"layer{at}") for at, kind in enumerate(kinds)))
    lines = _holders.kinds_and_layers(moment, View(width=80, top=10))
    assert lines.index("") == 6 and lines[7].strip().startswith("layer0")
    assert lines[-1].strip() == "… 2 more with 5 B"
    short = _holders.kinds_and_layers(moment, View(width=80, top=2))
    assert short.index("") == 2 and len(short) == 6


@pytest.mark.parametrize(
    "start, end, ordinal, said",
    [
        (None, 3000, False, ""),
        (1500, 3000, False, ", from 0.5 ms to 2.0 ms"),
        (1500, None, False, ", from 0.5 ms to the end"),
        (1500, 3000, True, ", from line 1,500 to line 3,000"),
        (1500, None, True, ", from line 1,500 to the end"),
        (1000, 1_001_000, False, ", from 0.0 ms to 1.00 s"),
        (1000, 1_000_999, False, ", from 0.0 ms to 1,000.0 ms"),
    ],
)
def test_when_a_tensor_lived(start: float | None, end: float | None, ordinal: bool, said: str) -> None:
    assert _timeline.lifetime(start, end, 1000, ordinal) == said


def test_copies_before_and_after_each_edit_with_their_peaks() -> None:
    def study(count: int, size: int, peak: int | None) -> Any:
        return Made(copies=[None] * count, bytes=size, peak=None if peak is None else Made(bytes=peak))

    trial = Made(remedy="nchw", text="all in one format", study=study(0, 0, None))
    case: Any = Made(layout=study(3, 2 * MIB, 7 * MIB), trials=[trial])
    before, after, told = _copies.trials(case, View(width=80))
    assert before.split() == "as it is 3 2.00 MiB peak about 7.00 MiB".split()
    assert after.split() == "nchw 0 0 B".split() and told == "  nchw: all in one format"
    assert before.index("3  2.00 MiB") - after.index("0") == 0  # figures stand under one another
    case.trials = []
    assert _copies.trials(case, View()) == []


# ------------------------------------------------------------------ the page


@pytest.mark.parametrize(
    "bad, total, said",
    [
        (1, 1, "Look at h0 first:"),
        (5, 5, "Look at h0, h1, h2, h3, h4 first:"),
        (6, 6, "Look at h0, h1, h2, h3, h4 and 1 more first:"),
        (2, 1204, "Look at h0, h1 and 1,202 more first:"),
        (0, 0, "No host stands out:"),
    ],
)
def test_five_hosts_to_look_at(bad: int, total: int, said: str) -> None:
    hosts = [Made(name=f"h{at}", bad=True) for at in range(bad)] + [Made(name="good", bad=False)]
    told: Any = Made(bad_hosts=total, hosts=hosts)
    assert fleet._bad_said(told).startswith(said)


def test_samples_that_say_the_same_stand_with_the_first() -> None:
    def sample(verdict: str, *actions: str) -> Any:
        return Made(example=Made(verdict=verdict), actions=actions)

    one, same, other, third = sample("a", "x"), sample("a", "x"), sample("a", "y"), sample("b", "x")
    found = fleet._alike([one, other, same, third])
    assert [(first, len(rest)) for first, rest in found] == [(one, 1), (other, 0), (third, 0)]
    assert found[0][1] == [same.example]


def test_what_was_printed_last_of_a_hosts_ram() -> None:
    def use(what: str, used: int, total: int | None, line: int) -> Any:
        whole = None if total is None else Size.exactly(total)
        return Made(what=what, used=Size.exactly(used), total=whole, line=Line(line, ""))

    uses = [use("free", MIB, 4 * MIB, 1), use("psutil", 3 * MIB, None, 2), use("free", 2 * MIB, 4 * MIB, 3)]
    report: Any = Made(case=Made(capture=Made(surroundings=Made(host_uses=uses))))
    assert run_facts._host(report) == [
        "free: 2.00 MiB of 4.00 MiB of host RAM in use (line 3)",
        "psutil: 3.00 MiB of host RAM in use (line 2)",
    ]


@pytest.mark.parametrize(
    "line, told",
    [
        (Line(60, ""), ["jit_compile=False (line 9)", "batch_size=512 (line 50)"]),
        (Line(100, ""), ["jit_compile=False (line 9)", "batch_size=4096 (line 90)"]),
        (Line(60, "", "a.log"), ["jit_compile=False (line 9)", "batch_size=4096 (line 90)"]),
        (None, ["jit_compile=False (line 9)", "batch_size=4096 (line 90)"]),
    ],
)
def test_a_setting_stands_as_it_was_when_the_request_failed(line: Line | None, told: list[str]) -> None:
    rows = [("jit_compile", "False", 9), ("batch_size", "512", 50), ("vendor", "rocm", 51)]
    settings = [(name, value, Line(at, "")) for name, value, at in (*rows, ("batch_size", "4096", 90))]
    nothing = dict.fromkeys(("shows", "setting"), lambda _: None)
    surroundings: Any = Made(settings=settings, is_of_the_cure=lambda _: False, **nothing)
    assert run_facts._settings(surroundings, line) == told
