"""A log with its program says no less than the log alone: an account adds to what the request is."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline
from tfmemlens.findings.support import accounts, sufficiency
from tfmemlens.findings.support.sufficiency import Shortfall
from tfmemlens.model.finding import Basis, Certainty, Enough, Finding, Remedy, Severity
from tfmemlens.units import Size
from tfmemlens.values import replace

ACCOUNT = Finding(
    Severity.CAUSE, "sum", because="sum", explains=149, basis=Basis.SHAPE, rule="account", account=True
)
ASKED = Finding(Severity.CAUSE, "kind", because="kind", explains=100, basis=Basis.SHAPE, rule="asked")
CODE = """
from tensorflow.keras import layers
words = layers.Input((640, 64))
x = layers.Dense(64, name="mix")(words)
x = x + layers.MultiHeadAttention(4, 16, name="focus")(x, x)
model = keras.Model(words, x)
model.fit(books, genres, batch_size=32)
"""
SCORES = oom("32,4,640,640", "net/focus/softmax/Softmax")


def names(*ranked: Finding) -> list[str]:
    return [each.rule for each in accounts.in_place(ranked)]


@pytest.mark.parametrize(
    ("changes", "first"),
    [
        ({}, "asked"),
        ({"explains": 150}, "account"),  # much of the sum is elsewhere
    ],
)
def test_an_account_of_hardly_more_goes_behind_what_the_request_is(
    changes: dict[str, object], first: str
) -> None:
    account = replace(ACCOUNT, **changes)
    assert names(account, ASKED)[0] == first
    assert accounts.what_is_asked(account, [account, ASKED]) is ASKED


@pytest.mark.parametrize(
    "changes",
    [
        {"basis": Basis.FIGURES},
        {"basis": Basis.NAME},
        {"severity": Severity.FACTOR},
        {"because": ""},
        {"explains": None},
        {"moment": 1},
        {"account": True},
    ],
)
def test_what_does_not_say_what_the_request_is(changes: dict[str, object]) -> None:
    other = replace(ASKED, **changes)
    assert names(ACCOUNT, other) == ["account", "asked"]
    assert accounts.what_is_asked(ACCOUNT, [ACCOUNT, other]) is None


def test_attention_stays_attention_beside_its_program() -> None:
    """The last side of its scores is a length, and no width that could be made narrower."""
    alone, beside = pipeline.explain(SCORES), pipeline.explain(CODE + SCORES)
    rules = [each.rule for each in beside.findings]
    assert alone.findings[0].rule == rules[0] == "attention-scores" and "outputs-of-the-program" in rules
    assert "640 x 640" in beside.verdict
    assert not [each for each in beside.actions if "narrower" in each.remedy.text]


@pytest.mark.parametrize(("alone", "enough"), [(True, Enough.PERHAPS), (False, Enough.NO)])
def test_what_one_tensor_saves_is_never_too_little_for_sure(alone: bool, enough: Enough) -> None:
    remedy = Remedy("half", None, 50, Certainty.EXACT, of_one_tensor=alone)
    short = Shortfall(Size.exactly(51), 100, to_come=False)
    assert sufficiency._judged(remedy, short).enough is enough
