"""Edges of what several rules share: what grows, what a loop keeps, what a program's account tells."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tests.findings.test_support import A, asked, case, held
from tfmemlens.findings import (
    growth_between_steps,
    layout_optimizer_copies,
    made_by_the_code,
    what_the_code_makes,
)
from tfmemlens.findings.support import batch_bound, growth, kept_code, program_account
from tfmemlens.findings.support import weights_on_a_tpu as on_a_tpu
from tfmemlens.findings.support.kept_trees import Kept
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import Attribution, Kind, Owner, Phase
from tfmemlens.model.case import Balance, Moment
from tfmemlens.model.incident import CompilerMemory, FailedRequest, Incident, ProgramValue, RequestKind
from tfmemlens.model.line import Line
from tfmemlens.units import GIB, Size
from tfmemlens.values import replace

exactly = Size.exactly


def at(number: int, text: str = "x", source: str = "") -> Line:
    return Line(number, text, source)


# ------------------------------------------------------------------ what grows


def failed_with(in_use: int | None, number: int, source: str = "") -> Moment:
    books = Balance(in_use=None if in_use is None else exactly(in_use))
    request = asked(size=5, line=at(number, source=source), kind=RequestKind.TENSOR)
    return held(request=request, books=books)


@pytest.mark.parametrize(
    "figures, sizes",
    [
        ([(5, 1), (6, 2), (7, 3)], [5, 6, 7]),
        ([(7, 3), (5, 1), (6, 2)], [5, 6, 7]),  # in the order of the log, not of what matters most
        ([(5, 1), (6, 2)], None),
        ([(5, 1), (5, 2), (6, 3)], None),
        ([(5, 1), (7, 2), (6, 3)], None),
        ([(5, 1), (None, 2), (6, 3)], None),
        ([(5, 1), (None, 2), (6, 3), (7, 4)], [5, 6, 7]),
    ],
)
def test_failures_of_one_log_rise_from_three_on(figures: Any, sizes: list[int] | None) -> None:
    assert growth.rising(case(*(failed_with(*each) for each in figures))) == sizes


def test_failures_of_another_log_tell_nothing_of_this_one() -> None:
    mine = [failed_with(size, size, "a.log") for size in (5, 6)]
    assert growth.rising(case(*mine, failed_with(7, 7, "b.log"))) is None
    assert growth.rising(case(*mine, failed_with(7, 7, "a.log"))) == [5, 6, 7]


def printed(*points: tuple[int, int]) -> Any:
    """Readings of so many bytes on lines that count these turns."""
    lines = [at(number) for number, _ in enumerate(points, 1)]
    return Made(
        steps=[(step, line) for (step, _), line in zip(points, lines, strict=True)],
        readings=[(size, line) for (_, size), line in zip(points, lines, strict=True)],
    )


@pytest.mark.parametrize(
    "points, rate",
    [
        ([(1, 100), (2, 110), (3, 120)], (10.0, 1, 30)),
        ([(10, 100), (20, 110), (40, 130)], (1.0, 20, 40)),
        ([(1, 100), (2, 110)], None),
        ([(1, 100), (2, 110), (3, 125)], (12.5, 1, 38)),  # half as much again is even enough
        ([(1, 100), (2, 110), (3, 126)], None),
        ([(1, 100), (1, 110), (2, 120)], None),
        ([(3, 100), (2, 110), (4, 120)], None),
        ([(1, 100), (2, 100), (3, 110)], None),
    ],
)
def test_how_fast_readings_rise(points: Any, rate: Any) -> None:
    assert growth.per_turn(printed(*points)) == rate


def test_readings_on_lines_without_a_turn_do_not_count() -> None:
    told = printed((1, 100), (2, 110), (3, 120))
    told.readings.append((130, at(9)))
    assert growth.per_turn(told) == (10.0, 1, 30)
    del told.steps[1]
    assert growth.per_turn(told) is None


@pytest.mark.parametrize(
    "before, many",
    [
        ([9, 10], True),
        ([8, 9], False),
        ([10], False),
        ([10, 10], False),
        ([1, 2, 3], False),
        ([1, 2, 3, 4], True),
        ([1, 2, 3, 3], False),
        ([], False),
    ],
)
def test_from_when_on_a_run_went_well_for_long(before: list[int], many: bool) -> None:
    assert growth_between_steps._many([(step, at(step, "step")) for step in before]) is many


@pytest.mark.parametrize("before, many", [([1], False), ([1, 1], False), ([1, 2], True)])
def test_of_whole_epochs_two_are_many(before: list[int], many: bool) -> None:
    lines = [(step, at(step, f"Epoch {step}/9")) for step in before]
    assert growth_between_steps._many(lines) is many


# ------------------------------------------------------------------ what a loop keeps


def keeping(name: str, each: int | None = None, **more: Any) -> Kept:
    return Kept(name, "y", at(2), at(1), each, **more)


@pytest.mark.parametrize(
    "keeps, on_host, most",
    [
        ([keeping("a", 10), keeping("b", 20)], False, "b"),
        ([keeping("a", 10), keeping("b", 20, every=4)], False, "a"),  # 5 each turn
        ([keeping("a", 10), keeping("b", 20, every=2)], False, "a"),
        ([keeping("a", 10), keeping("b", 20, on_host=True)], False, "a"),
        ([keeping("a", 10), keeping("b", 20, on_host=True)], True, "b"),
        ([keeping("a"), keeping("b", 1)], False, "b"),
        ([keeping("a"), keeping("b")], False, "a"),
        ([keeping("a", number=True), keeping("b")], False, "b"),
        ([keeping("a", 30, number=True), keeping("b", 20)], False, "b"),
        ([keeping("a", number=True)], False, None),
        ([], True, None),
    ],
)
def test_which_keeps_most(keeps: list[Kept], on_host: bool, most: str | None) -> None:
    found = kept_code.largest(keeps, on_host)
    assert (found and found.container) == most


@pytest.mark.parametrize(
    "every, most, entries", [(1, None, 12), (4, None, 3), (5, None, 2), (4, 2, 2), (4, 9, 3)]
)
def test_entries_after_twelve_turns(every: int, most: int | None, entries: int) -> None:
    assert keeping("a", every=every, most=most).after(12) == entries


# ------------------------------------------------------------------ a program's account


def listing(*layers: tuple[str | None, int]) -> Moment:
    table = AllocationTable.of([Allocation("x", size) for _, size in layers])
    return Moment(Attribution(table, [Owner(layer, A, Phase.FORWARD) for layer, _ in layers]), Balance())


@pytest.mark.parametrize(
    "layers, named",
    [
        ([("a", 2), ("b", 3), (None, 10)], "; `b` holds most of them, 3 B"),
        ([("a", 2), ("a", 2), ("b", 3), (None, 10)], "; `a` holds most of them, 4 B"),
        ([("a", 2), (None, 8)], "; `a` holds most of them, 2 B"),
        ([("a", 2), (None, 9)], ""),
        ([(None, 9)], ""),
        ([], ""),
    ],
)
def test_the_layer_that_holds_most_at_the_worst_instruction(layers: Any, named: str) -> None:
    ordered: Any = Made(schedule=object(), values=())
    assert program_account.mostly_of_a_layer(listing(*layers), ordered) == named
    assert program_account.mostly_of_a_layer(listing(*layers), CompilerMemory()) == ""


@pytest.mark.parametrize(
    "result, named",
    [(None, "; `a` holds most of them, 2 B"), ("a", "; `a` holds most of them, 2 B"),
     ("b", "; `a` holds most of them, 2 B")],
)  # fmt: skip
def test_results_are_none_of_the_temporaries_that_a_layer_holds(result: str | None, named: str) -> None:
    table = AllocationTable.of(
        [Allocation("x", 2), Allocation("x", 7), Allocation("x", 90, purpose="maybe_live_out")]
    )
    owners = [Owner(layer, A, Phase.FORWARD) for layer in ("a", None, result)]
    ordered: Any = Made(schedule=object(), values=())
    moment = Moment(Attribution(table, owners), Balance())
    assert program_account.mostly_of_a_layer(moment, ordered) == named


@pytest.mark.parametrize(
    "text, function, told",
    [
        ("w = a @ b", "block.<locals>.one", "the line of `w` (net.py:7)"),
        ("return jax.nn.softmax(s) @ v", "block.<locals>.one", "`jax.nn.softmax(s) @ v` (net.py:7 in `one`)"),
        ("f(s)", "<lambda>", "`f(s)` (net.py:7)"),
        (60 * "s", "one", f"`{60 * 's'}` (net.py:7 in `one`)"),
        (61 * "s", "one", "net.py:7 in `one`"),
        ("f(`s`)", "one", "net.py:7 in `one`"),
        (None, "one", "net.py:7 in `one`"),
    ],
)
def test_the_line_that_makes_most(text: str | None, function: str, told: str) -> None:
    value = ProgramValue("x", 20, "/home/me/net.py:7", text, function=function)
    known: Any = Made(values=(value,))
    assert program_account.mostly_made_at(listing((None, 20)), known) == f"; {told} makes 20 B of them"
    assert program_account.mostly_made_at(listing((None, 20), ("a", 81)), known) == ""


def account(**given: int | None) -> Any:
    """A compiler's account by the bytes of its parts."""
    shared, total = given.pop("shared", None), given.pop("total", None)
    parts = ("arguments", "results", "temporaries", "constants", "needed", "capacity", "free")
    sizes = {name: None if given.get(name) is None else exactly(given[name] or 0) for name in parts}
    whole = None if total is None else exactly(total)
    return Made(
        **sizes, shared_bytes=shared, one_operation=False, section=lambda *names: whole, excess=None,
        reduced_to=None, goal=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    "given, saves",
    [
        ({"arguments": 10, "results": 7, "shared": 2}, 5),
        ({"arguments": 6, "results": 7, "shared": 2}, 4),
        ({"arguments": 6, "results": 7, "shared": 8}, 0),
        ({"arguments": 6, "results": 7}, None),
        ({"arguments": 6, "shared": 0}, None),
        ({"results": 6, "shared": 0}, None),
        ({"arguments": 0}, 0),
        ({"results": 0}, 0),
    ],
)
def test_what_donated_arguments_save(given: dict[str, int], saves: int | None) -> None:
    assert program_account.donatable_bytes(account(**given)) == saves


@pytest.mark.parametrize(
    "given, large",
    [
        ({"total": 49}, True),
        ({"total": 50}, False),  # a fifth
        ({"needed": 30}, True),
        ({"needed": 20}, True),
        ({"needed": 19}, False),  # results are not counted in it
        ({}, False),
    ],
)
def test_results_that_could_lie_in_the_arguments_place(given: dict[str, int], large: bool) -> None:
    made = account(arguments=10, results=10, shared=0, **given)
    assert program_account.undonated(made) is large
    made.one_operation = True
    assert not program_account.undonated(made)


@pytest.mark.parametrize(
    "given, mostly",
    [
        ({"needed": 19}, True),
        ({"needed": 20}, False),
        ({"needed": 20, "capacity": 9}, True),
        ({"needed": 20, "capacity": 10}, False),
        ({"needed": 20, "total": 10}, False),
        ({"total": 19}, True),
        ({"temporaries": 9}, True),
        ({"temporaries": 10}, False),
        ({}, False),
    ],
)
def test_arguments_are_more_than_half(given: dict[str, int], mostly: bool) -> None:
    assert program_account.mostly_arguments(account(arguments=10, **given)) is mostly
    assert not program_account.mostly_arguments(account(**given))
    assert not program_account.mostly_arguments(account(arguments=0, **given))


@pytest.mark.parametrize(
    "results, rows, said",
    [
        (91, (), "returned anew, so most likely"),
        (90, (), "90 B of them returned anew"),
        (11, (), "11 B of them returned anew"),
        (10, (), "weights and data"),
        (9, (), "hardly any of it returned"),
        (None, (), "weights and data"),
        (50, ((Kind.INPUT, 3), (Kind.PARAMETER, 2)), "mostly the data"),
        (50, ((Kind.INPUT, 2), (Kind.PARAMETER, 2)), "50 B of them"),
        (91, ((Kind.INPUT, 3),), "returned anew, so"),
    ],
)
def test_what_arguments_are(results: int | None, rows: Any, said: str) -> None:
    moment = held(*((f"r{number}", size, kind) for number, (kind, size) in enumerate(rows)))
    made = account(arguments=100, results=results)
    assert program_account.what_arguments_are(case(moment), moment, made).startswith(said)


# ------------------------------------------------------------------ how large a batch can fit


def of_an_arena(need: int | None, limit: int | None, in_use: int | None) -> Any:
    request = asked(size=need, kind=RequestKind.XLA)
    incident = Incident(request.failed, compiler=CompilerMemory())
    books = Balance(
        limit=None if limit is None else exactly(limit), in_use=None if in_use is None else exactly(in_use)
    )
    moment = held(request=request, books=books, incident=incident)
    return batch_bound._of_arena(case(moment), moment)


@pytest.mark.parametrize(
    "need, limit, in_use, share, room",
    [
        (80, 100, 40, 0.75, 60),
        (61, 100, 40, 60 / 61, 60),
        (120, 100, None, 100 / 120, 100),
        (80, 100, 100, 0.0, 0),
    ],
)
def test_temporaries_beside_what_is_in_use(
    need: int, limit: int, in_use: int | None, share: float, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_bound, "of_a_program", lambda moment: True)
    bound = of_an_arena(need, limit, in_use)
    assert (bound.share, bound.taken, bound.room, bound.fixed) == (
        pytest.approx(share),
        need,
        room,
        in_use or 0,
    )
    assert (bound.backward_to_come, bound.divisor, bound.of_program) == (False, 1, True)


def test_temporaries_that_fit_or_of_nothing_known_bound_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_bound, "of_a_program", lambda moment: True)
    assert of_an_arena(60, 100, 40) is of_an_arena(None, 100, 40) is of_an_arena(80, None, 40) is None
    monkeypatch.setattr(batch_bound, "of_a_program", lambda moment: False)
    assert of_an_arena(80, 100, 40) is None


# ------------------------------------------------------------------ weights on a TPU


@pytest.mark.parametrize(
    "bytes_, capacity, heavy",
    [
        (16 * GIB, None, False), (16 * GIB + 1, None, True),
        (32 * GIB, 16 * GIB, False), (32 * GIB + 2, 16 * GIB, True),
    ],
)  # fmt: skip
def test_weights_that_one_device_cannot_hold(
    bytes_: int, capacity: int | None, heavy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated: Any = Made(bytes=bytes_, text="7B")
    monkeypatch.setattr(on_a_tpu, "weights_of_the_failed", lambda case_, moment_: stated)
    monkeypatch.setattr(on_a_tpu, "framework_of", lambda case_: "jax")

    def found(**facts: Any) -> Any:
        moment = held(request=asked(size=5, **{"kind": RequestKind.TPU, **facts}))
        return on_a_tpu.too_heavy(case(moment), moment, account(capacity=capacity))

    assert (found() is stated) is (found(allocator="hbm") is stated) is heavy
    assert found(allocator="vmem") is found(kind=RequestKind.XLA) is None
    moment = held(request=asked(size=5, kind=RequestKind.TPU))
    given = [account(capacity=capacity, total=bytes_ // part) for part in (32, 33)]
    shared = capacity is not None  # what is given is a small part of the device
    assert (on_a_tpu.too_heavy(case(moment), moment, given[0]) is stated) is (heavy and not shared)
    assert on_a_tpu.too_heavy(case(moment), moment, given[1]) is None
    monkeypatch.setattr(on_a_tpu, "framework_of", lambda case_: on_a_tpu.TENSORFLOW)
    assert found() is None


# ------------------------------------------------------------------ of single rules


def copied(*nodes: str) -> Moment:
    table = AllocationTable.of([Allocation(node, 5) for node in nodes])
    owners = [
        Owner(None, Kind.LAYOUT_TRANSPOSE, Phase.FORWARD, forward=node, copy_of="output") for node in nodes
    ]
    return Moment(Attribution(table, owners), Balance())


@pytest.mark.parametrize(
    "nodes, forcing",
    [
        (["a/Relu", "b/resize"], "resize ops, which exist only for NHWC"),
        (["a/Elu", "b/ResizeBilinear"], "resize ops, which exist only for NHWC"),
        (["a/Relu", "b/Mul"], ""),
        (["a/Mul", "b/resize"], ""),
    ],
)
def test_resize_ops_are_named_and_leave_activations_behind_them(nodes: list[str], forcing: str) -> None:
    moment = copied(*nodes)
    copies = layout_optimizer_copies.rows(moment)
    assert layout_optimizer_copies._forcing(case(moment), moment, copies)[0] == forcing


@pytest.mark.parametrize(
    "named, code, adam",
    [
        (("Adam", "m"), "", True),
        (("Momentum", "m"), "optimizer = tf.train.AdamOptimizer()", False),
        (None, "optimizer = tf.train.AdamOptimizer()", True),
        (None, "optimizer = tf.train.GradientDescentOptimizer()", False),
    ],
)
def test_whether_adam_updates_it(named: Any, code: str, adam: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made_by_the_code, "optimizer_of", lambda request: named)
    moment = held(request=asked(size=5))
    assert moment.request is not None
    assert made_by_the_code._adam(case(moment, code=(at(1, code),)), moment.request) is adam


@pytest.mark.parametrize(
    "number, times, half",
    [(8, "1", "1"), (4, "2", "1"), (2, "4", "2"), (3, "2", "1"), (9, "0", "1"), (None, "", "")],
)
def test_how_often_the_stated_number_is_in_the_first_size(number: int | None, times: str, half: str) -> None:
    shown: Any = Made(match=Made(groupdict=dict), place="", number=number)
    request = replace(asked(size=800, shape=(8, 5, 20)), failed=FailedRequest(shape=(8, 5, 20)))
    words = what_the_code_makes._words(request, shown)
    assert (words["times"], words["half"]) == (times, half)
    assert (words["first"], words["second"], words["third"], words["last"]) == ("8", "5", "20", "20")
    assert (words["samples"], words["longest"]) == ("40", "5")


@pytest.mark.parametrize(
    "sizes, told",
    [
        ((20, 20), ", 20 B of them derived through the line of `gap` (net.py:7)"),
        ((20, 21), ""),  # less than half of the gradients
        ((21, 10), ""),  # no buffer of the line's size
    ],
)
def test_gradients_are_derived_through_a_line(sizes: tuple[int, int], told: str) -> None:
    value = ProgramValue("x", 20, "/home/me/net.py:7", "gap = a - b")
    account: Any = Made(values=(value,))
    table = AllocationTable.of([Allocation("x", sizes[0]), Allocation("y", sizes[1])])
    owners = [Owner(None, Kind.GRADIENT, Phase.GRADIENT)] * 2
    incident: Any = Made(compiler=account)
    moment = Moment(Attribution(table, owners), Balance(), incident=incident)
    assert program_account.gradients_through(moment) == told
    assert program_account.gradients_through(replace(moment, incident=None)) == ""
