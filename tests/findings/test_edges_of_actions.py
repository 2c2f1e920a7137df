"""Edges of which remedies stand first, and whether they are enough."""

from __future__ import annotations

from typing import Any

import pytest

from tests.findings.test_support import A, case, held
from tfmemlens.findings.support import actions, sufficiency
from tfmemlens.model.finding import Action, Certainty, Enough, Finding, Remedy, Severity
from tfmemlens.units import Size

exactly = Size.exactly


def advising(*remedies: Remedy, rule: str = "r", moment: int = 0) -> Finding:
    return Finding(Severity.CAUSE, "x", rule=rule, remedies=remedies, moment=moment)


def told_to(*findings: Finding, size: int = 100) -> list[str]:
    moment = held(("a/x", size, A))
    return [action.remedy.text for action in actions.merged(case(moment), findings)]


def test_a_remedy_of_two_rules_is_one_action_of_both() -> None:
    moment = held(("a/x", 100, A))
    one, other = Remedy("halve it", slug="halve"), Remedy("double it", slug="double")
    found = actions.merged(case(moment), [advising(one, rule="a"), advising(other, one, rule="b")])
    assert [(action.remedy.text, action.rules) for action in found] == [
        ("halve it", ("a", "b")),
        ("double it", ("b",)),
    ]
    again = actions.merged(case(moment), [advising(one, one, rule="a")])
    assert [action.rules for action in again] == [("a",)]


def test_the_same_in_other_words_is_said_by_the_first_rule_only() -> None:
    blocks, pieces = Remedy("in blocks", slug="in-blocks"), Remedy("in pieces", slug="in-pieces")
    assert told_to(advising(blocks), advising(pieces)) == ["in blocks"]
    assert told_to(advising(blocks, pieces)) == ["in blocks", "in pieces"]  # of one rule both
    assert told_to(advising(Remedy("a", slug="s")), advising(Remedy("b", slug="s"))) == ["a"]
    assert told_to(advising(Remedy("a")), advising(Remedy("b"))) == ["a", "b"]
    assert told_to(advising(Remedy("a")), advising(Remedy("later"), moment=1)) == ["a"]


def test_going_in_batches_is_a_smaller_batch_of_a_prediction_too() -> None:
    batches = Remedy("in batches", slug="in-batches")
    smaller = Remedy("smaller", slug="smaller-prediction-batch")
    assert told_to(advising(batches), advising(smaller)) == ["in batches"]
    assert told_to(advising(batches), advising(Remedy("training", slug="smaller-batch"))) == [
        "in batches",
        "training",
    ]


def test_what_buys_next_to_nothing_is_left_out() -> None:
    given = [Remedy("none", saves_bytes=1), Remedy("some", saves_bytes=2), Remedy("open")]
    assert told_to(advising(*given)) == ["some", "open"]  # of 100 bytes a hundredth is nothing
    assert told_to(advising(*given), size=99) == ["none", "some", "open"]
    assert told_to(advising(given[0])) == ["none"]  # where nothing else is known


def test_beside_something_to_change_one_way_to_know_more_is_enough() -> None:
    log, dump = Remedy("log", slug="read-the-log"), Remedy("dump", slug="dump-file")
    step, rows = Remedy("step", slug="record-a-step"), Remedy("list", slug="list-tensors")
    assert told_to(advising(log, dump, step, rows)) == ["log", "dump", "step", "list"]
    assert told_to(advising(Remedy("change"), step, rows, log)) == ["change", "step"]


@pytest.mark.parametrize(
    "one, other, together",
    [(50, 50, True), (50, 40, False), (75, 1, True), (0, 90, False), (90, 0, False), (90, -5, False)],
)
def test_two_changes_that_save_what_was_missing(one: int, other: int, together: bool) -> None:
    short = sufficiency.Shortfall(Size(70, 65, 75), 100, to_come=False)
    given = [Remedy("x", saves_bytes=one), Remedy("y", saves_bytes=other)]
    assert sufficiency._together(*given, short) is together


@pytest.mark.parametrize(
    "saves, to_come, enough",
    [
        (64, False, Enough.NO),
        (65, False, Enough.PERHAPS),
        (74, False, Enough.PERHAPS),
        (75, False, Enough.YES),
        (75, True, Enough.PERHAPS),
        (0, False, None),
        (-1, False, None),
        (None, False, None),
    ],
)
def test_what_is_enough(saves: int | None, to_come: bool, enough: Enough | None) -> None:
    short = sufficiency.Shortfall(Size(70, 65, 75), 100, to_come)
    found = sufficiency._judged(Remedy("x", saves_bytes=saves, certainty=Certainty.EXACT), short)
    assert (found.enough, found.missing_bytes) == (enough, None if enough is None else 70)
    if saves and saves > 0:
        wide = sufficiency._judged(Remedy("x", saves_bytes=saves, low_bytes=64, high_bytes=65), short)
        assert wide.enough is Enough.PERHAPS


def action(text: str, enough: Enough | None = None, saves: int | None = None) -> Action:
    return Action(Remedy(text, enough=enough, saves_bytes=saves), ("r",))


@pytest.mark.parametrize(
    "given, order",
    [
        ([("a", Enough.NO), ("b", None), ("c", Enough.PERHAPS)], "cab"),
        ([("a", Enough.NO), ("b", Enough.YES)], "ba"),
        ([("a", None), ("b", Enough.YES)], "ab"),
        ([("a", Enough.PERHAPS), ("b", Enough.YES)], "ab"),
        ([("a", Enough.NO), ("b", None)], "ab"),
        ([], ""),
    ],
)
def test_what_may_be_enough_comes_first(given: Any, order: str) -> None:
    found = sufficiency.enough_first([action(*each) for each in given], None)
    assert "".join(each.remedy.text for each in found) == order


def test_what_is_not_enough_alone_stands_before_what_makes_up_for_it() -> None:
    short = sufficiency.Shortfall(exactly(70), 100, to_come=False)
    no = Enough.NO
    given = [action("a", no, 50), action("b", no, 30), action("c", no, 40), action("d", no, 60)]
    found = sufficiency.enough_first(given, short)
    assert [(each.remedy.text, each.remedy.enough) for each in found] == [
        ("a", Enough.WITH_NEXT), ("c", no), ("b", no), ("d", no),
    ]  # fmt: skip
    assert sufficiency.enough_first(given[:2], short) == tuple(given[:2])
