"""A rule that asks for one of several words first passes over no line that its pattern fits."""

from __future__ import annotations

import gc
import re
from functools import cache

import pytest

from tests.fuzzing import bodies
from tfmemlens.readers.oom import disguises, libraries, other_failures, purpose, run
from tfmemlens.readers.oom.rules import LineRule


@cache
def rules() -> list[LineRule]:
    assert all((disguises, libraries, other_failures, purpose, run))
    made = [each for each in gc.get_objects() if isinstance(each, LineRule)]
    return sorted({each.pattern: each for each in made}.values(), key=lambda rule: rule.pattern)


@cache
def lines() -> list[str]:
    """The lines of all sample logs, of those that differ in figures only one."""
    different = {re.sub(r"\d+", "0", line): line for body in bodies() for line in body.split("\n")}
    return [line[:400] for line in different.values()]


def test_a_word_is_found_whatever_its_case() -> None:
    rule = LineRule(r"(?i:out of memory)", needs=("memory", "oom"))
    assert rule.search("Out Of MEMORY")
    assert not rule.search("Out of")
    assert not LineRule(r"x", needs=("oom",)).search("x")
    assert LineRule(r"x", needs="OOM").search("xOOM")
    assert not LineRule(r"x", needs="OOM").search("xoom")


def test_words_are_written_in_small_letters() -> None:
    several = [rule for rule in rules() if not isinstance(rule.needs, str)]
    assert len(several) >= 20
    assert all(word == word.lower() for rule in several for word in rule.needs)


def test_every_example_holds_what_its_rule_needs() -> None:
    missed = [
        (rule.pattern[:60], example)
        for rule in rules()
        for example in rule.examples
        if bool(re.search(rule.pattern, example)) != bool(rule.search(example))
    ]
    assert not missed


@pytest.mark.whole
def test_no_line_of_a_sample_is_passed_over() -> None:
    missed = [
        (rule.pattern[:60], line)
        for rule in rules()
        if not isinstance(rule.needs, str)
        for line in lines()
        if re.search(rule.pattern, line) and not rule.search(line)
    ]
    assert not missed
