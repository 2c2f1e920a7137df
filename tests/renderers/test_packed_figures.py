"""What the HTML page and PyTorch's snapshot are given: columns, times, addresses, stacks of a day."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import Kind, Owner, Phase
from tfmemlens.model.case import Balance
from tfmemlens.renderers import origin
from tfmemlens.renderers.html import _glossary, _pack, card, fleet
from tfmemlens.renderers.json._text import written
from tfmemlens.renderers.memory_viz import tab
from tfmemlens.units import Size


@pytest.mark.parametrize(
    "values, delta, packed",
    [
        ([], False, []),
        ([], True, {"d": []}),
        ([5], False, {"v": 5, "n": 1}),
        ([5, 5], True, {"v": 5, "n": 2}),
        ([5, 7, 5], False, [5, 7, 5]),
        ([5, 7, 4], True, {"d": [5, 2, -3]}),
    ],
)
def test_a_column(values: list[int], delta: bool, packed: object) -> None:
    assert _pack.column(values, delta) == packed


def test_names_are_numbered_as_they_come() -> None:
    names = _pack.Names()
    assert [names.of(name) for name in ("a", None, "b", "a")] == [1, 0, 2, 1]
    assert names.texts == [None, "a", "b"]


def timed(*times: float, **more: Any) -> Any:
    given = {
        "events": (times, ()),
        "peak_index": 1,
        "precision": "exact",
        "predicted": False,
        "ordinal": False,
        "place": None,
        "addresses": None,
        "fragmentation": None,
        "table": (),
    }
    return Made(**{**given, **more})


def test_the_axis_of_time() -> None:
    moment: Any = Made(phases=[Made(name="forward", start_micros=12.0, end_micros=15.0)])
    found = _pack._time(moment, timed(10.0, 12.0, 15.0))
    assert found == {
        "unit": 1.0, "times": {"d": [0, 2, 3]}, "peak": 1, "bound": "", "phases": [["forward", 2.0, 5.0]],
    }  # fmt: skip
    finer = _pack._time(moment, timed(10.0, 10.5, precision="lower bound", predicted=True))
    assert (finer["unit"], finer["times"]) == (0.001, {"d": [0, 500]})
    assert (finer["bound"], finer["predicted"]) == ("at least ", True)
    lines = _pack._time(moment, timed(10.0, 12.0, ordinal=True, place="line"))
    assert (lines["ordinal"], lines["place"]) == (10, "line")


def test_addresses_and_free_pieces_over_time() -> None:
    ledger: Any = Made(birth=[2, 0, -1])
    assert _pack._replay(ledger, timed(10.0)) == {}
    placed = timed(10.0, addresses=[300, 100], table=(0, 0))
    assert _pack._replay(ledger, placed) == {"address": {"d": [-1, 1, 200]}}
    assert _pack._replay(ledger, timed(10.0, addresses=[300, 100], table=(0, 0, 0))) == {}
    pieces = [(10.0, 0.5), (12.0, 0.25)]
    assert _pack._replay(ledger, timed(10.0, 12.0, fragmentation=pieces)) == {
        "fragmentation": {"times": {"d": [0, 2]}, "share": {"d": [500, -250]}}
    }
    finer = _pack._replay(ledger, timed(10.0, 10.5, fragmentation=[(10.0, 0.5), (10.5, 0.5)]))
    assert finer["fragmentation"] == {"times": {"d": [0, 500]}, "share": {"v": 500, "n": 2}}


def test_addresses_count_from_the_lowest() -> None:
    chunks: Any = Made(address=[300, 100, 200])
    assert _pack._addresses(chunks, range(2)) == [200, 0]
    chunks.address = []
    assert _pack._addresses(chunks, range(2)) == [0, 0]


def test_the_books_of_a_moment() -> None:
    def packed(timeline: object = None, **books: Any) -> dict[str, int | None]:
        moment: Any = Made(balance=Balance(**books), timeline=timeline, unlisted_buffer_bytes=0)
        return _pack._balance(moment)

    exact = packed(limit=Size.exactly(10), in_use=Size.exactly(5), free=Size.exactly(2))
    assert (exact["limit"], exact["in_use"], exact["free"], exact["rounded"]) == (10, 5, 2, 0)
    assert exact["unlisted"] is None and exact["peak"] is None
    assert packed(timeline=1, in_use=Size.exactly(5))["in_use"] is None
    for name in ("listed", "unlisted", "outside_report"):
        assert packed(**{name: Size(5, 4, 6)})["rounded"] == 1
        assert packed(**{name: Size.exactly(5)})["rounded"] == 0


@pytest.mark.parametrize(
    "kind, grows",
    [(Kind.ACTIVATION, 1), (Kind.LAYOUT_TRANSPOSE, 1), (Kind.LOOP_STACK, 1), (Kind.PARAMETER, 0)],
)
def test_a_request_that_grows(kind: Kind, grows: int) -> None:
    moment: Any = Made(request=Made(needed_bytes=7, owner=Made(kind=kind)), incident=None)
    assert _pack._request(moment) == {"bytes": 7, "grows": grows}
    moment.request.needed_bytes = None
    assert _pack._request(moment) is None
    assert _pack._request(Made(request=None, incident=None)) is None  # type: ignore[arg-type]


def test_what_a_compiled_program_needs_is_not_asked_for_once_more() -> None:
    request = Made(needed_bytes=7, owner=Made(kind=Kind.ACTIVATION))
    inside: Any = Made(request=request, incident=Made(compiler=Made()))
    assert _pack._request(inside) is None
    beside: Any = Made(request=request, incident=Made(compiler=None))
    assert _pack._request(beside) == {"bytes": 7, "grows": 1}


class Chunks(Made):
    def __len__(self) -> int:
        return len(self.size_bytes)


def test_the_first_chunks_of_very_many(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _pack.MAX_CHUNKS == 200_000
    monkeypatch.setattr(_pack, "MAX_CHUNKS", 2)
    chunks = Chunks(
        size_bytes=[8, 9, 7], in_use=[True, False, True], region=None, op=["a", None, "b"],
        address=[64, 128, 0], complete=False,
    )  # fmt: skip
    table = AllocationTable.of([Allocation("a", 8)])
    owners = [Owner("a", Kind.PARAMETER, Phase.FORWARD)]
    moment: Any = Made(incident=Made(chunks=chunks), attribution=Made(table=table, owners=owners))
    assert _pack._chunks(moment, _pack.Names()) == {
        "address": {"d": [64, 64]}, "size": [8, 9], "used": [1, 0], "region": {"v": 0, "n": 2},
        "op": [1, 0], "kind": [_pack.KINDS.index("parameter"), -1], "left_out": 1, "complete": 0,
    }  # fmt: skip
    chunks.region, chunks.op, chunks.complete = [0, 1, 1], None, True
    other = _pack._chunks(moment, _pack.Names()) or {}
    assert (other["region"], other["op"], other["complete"]) == ([0, 1], {"v": 0, "n": 2}, 1)
    assert _pack._chunks(Made(incident=None), _pack.Names()) is None  # type: ignore[arg-type]


# ------------------------------------------------------------------ the fleet's page


@pytest.mark.parametrize(
    "share, kept, jobs, others, failures", [(0.5, 4, 2, 6, 27), (0.25, 3, 1, 7, 30), (0.1, 3, 1, 7, 30)]
)
def test_a_page_that_is_too_large_is_cut(
    share: float, kept: int, jobs: int, others: int, failures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "replace", lambda made, **given: Made(**{**vars(made), **given}))
    causes = [Made(jobs=[1, 2, 3, 4], more_jobs=1, samples=["a", "b"]) for _ in range(8)]
    groups = [Made(tally=Made(failures=number)) for number in range(8)]
    whole: Any = Made(causes=causes, ranking=Made(groups=groups, others=2, others_failures=5))
    assert fleet._cut(whole, 1.0) is whole
    found = fleet._cut(whole, share)
    assert (len(found.causes), len(found.ranking.groups)) == (kept, kept)
    assert found.causes[0].jobs == [1, 2, 3, 4][:jobs]
    assert (found.causes[0].more_jobs, found.causes[0].samples) == (5 - jobs, ["a"])
    assert (found.ranking.others, found.ranking.others_failures) == (others, failures)


def test_the_stacks_of_a_day_end_below_the_top(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "_legend", lambda _: [("0", "first"), ("others", "all others")])
    shown: Any = Made(columns=["d0", "d1"], totals=[4, 10], causes=[Made(counts=[1, 0])])
    assert list(fleet._bars(shown, 10)) == [
        fleet.Bar("0", 0.08, 90.4, 0.84, 9.6, "d0: 1 of 4, first"),
        fleet.Bar("others", 0.08, 61.6, 0.84, 28.8, "d0: 3 of 4, all others"),
        fleet.Bar("others", 1.08, 4.0, 0.84, 96.0, "d1: 10 of 10, all others"),
    ]


# ------------------------------------------------------------------ PyTorch's snapshot


def test_a_pool_is_played_from_what_stood_to_what_stays() -> None:
    rows = [
        Allocation("before", 10, requested_bytes=12),
        Allocation("stays", 10, count=2, requested_bytes=7),
        Allocation("passes", 5),
        Allocation("nothing", 0),
    ]
    ledger: Any = Made(
        table=AllocationTable.of(rows), birth=[-1, 0, 1, 0], death=[1, 3, 2, 1],
        owners=[Owner(None, Kind.ACTIVATION, Phase.FORWARD)] * 4,
    )  # fmt: skip
    moment: Any = Made(timeline=Made(events=((0.0, 5.4, 9.6), ())))
    segment, events = tab._pool(3, moment, ledger)
    assert [(each["action"], each["size"], each["time_us"]) for each in events] == [
        ("alloc", 20, 0), ("alloc", 5, 5),
        ("free_requested", 10, 5), ("free_completed", 10, 5),
        ("free_requested", 5, 10), ("free_completed", 5, 10),
    ]  # fmt: skip
    assert {each["stream"] for each in events} == {0} == {segment["stream"]}
    assert (segment["device"], segment["total_size"], segment["active_size"]) == (3, 35, 20)
    assert (segment["requested_size"], segment["segment_pool_id"]) == (7, (0, 0))
    start = segment["address"]
    assert [(each["address"] - start, each["size"], each["state"]) for each in segment["blocks"]] == [
        (0, 10, "inactive"), (10, 20, "active_allocated"), (30, 5, "inactive"),
    ]  # fmt: skip
    assert events[0]["frames"][0] == {"name": "memory", "filename": "stays", "line": 0}
    assert start == 1 << 40


def test_a_snapshot_is_written_as_pytorch_does() -> None:
    empty: Any = Made(report=Made(case=Made(moments=[])), ledgers=[])
    assert tab.render(empty)[:2] == b"\x80\x04"


# ------------------------------------------------------------------ words


def test_the_page_of_a_rule_as_paragraphs() -> None:
    page = "First.\n\nWhat it means: a\n    b\nWhen it fires: c\nWhat to do: d\ne\n"
    assert _glossary.rule(page) == ("First.", ["What it means: a b", "When it fires: c", "What to do: d e"])


@pytest.mark.parametrize(
    "formats, version, framework, named",
    [
        (("oom-disguise",), None, "tensorflow", False),
        (("oom-disguise",), "2.4", "tensorflow", True),
        (("oom-disguise",), None, None, True),
        (("oom-log",), None, "tensorflow", True),
    ],
)
def test_words_of_the_system_name_no_framework(
    formats: tuple[str, ...], version: str | None, framework: str | None, named: bool
) -> None:
    source = Made(formats=formats, version=version, framework=framework)
    api = Made(library=None, oldest=(0, 5), newest=(2, 99))
    report: Any = Made(case=Made(capture=Made(source=source), moments=[], api=api))
    assert origin.described(report).endswith(", TensorFlow") is named


def test_a_document_is_written_in_the_inputs_letters() -> None:
    assert written({"a": ["ä", 1]}) == '{\n  "a": [\n    "ä",\n    1\n  ]\n}\n'


def test_a_heading_with_and_without_what_stands_beside_it() -> None:
    alone, beside = card._heading("memory use"), card._heading("memory use", "a<b")
    assert "<span" not in alone and ">MEMORY USE<" in alone
    assert "> a&lt;b</span>" in beside
