"""A rule that asks for one of several words first passes over no line that its pattern fits, nor does a table
of rules, which remembers what lines of one shape have.
"""

from __future__ import annotations

import gc
import re
from functools import cache

import pytest

from tests.fuzzing import bodies
from tfmemlens.readers.formats import oom_log
from tfmemlens.readers.oom import disguises, libraries, other_failures, purpose, run
from tfmemlens.readers.oom.rules import LineRule, RuleTable, Words


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


def with_other_figures(line: str) -> str:
    """A line of the same shape."""
    return re.sub("[1-9]", lambda figure: str(int(figure[0]) % 9 + 1), line)


def test_a_table_names_what_a_line_may_fit_in_its_order() -> None:
    first, second = LineRule(r"a\d", needs="a"), LineRule(r"exit 137", needs=("exit 137", "-9"))
    third = LineRule(r"a137", needs="a1")
    table = RuleTable([(1, first), (2, second), (3, third)])
    for _ in range(2):  # the second time from memory
        assert table.likely("exit 999") == ()
        assert table.likely("exit 137") == ((2, second),)
        assert table.likely("A a7") == ((1, first),)
        assert table.likely("A a1 EXIT 137") == ((1, first), (2, second), (3, third))
        assert table.likely("A a2 EXIT 138") == ((1, first),)
    assert table.first("a137 exit 137") == 1
    assert table.first("A a exit 137") == 2
    assert table.first("A") is None


@pytest.mark.parametrize(
    ("pattern", "line"),
    [(r"a\d1", "a21"), (r"a[2-9]", "a3"), (r"(?P<x>\d)a(?P=x)", "1a1"), (r"a\d{2}", "a12")],
)
def test_a_line_that_fits_is_likely_after_one_of_its_shape_that_does_not(pattern: str, line: str) -> None:
    table = RuleTable.of(LineRule(pattern))
    for asked in ("a00", "a0", "0a9"):
        table.likely(asked)
    assert table.likely(line)


def test_a_line_whose_shape_does_not_fit_is_not_likely() -> None:
    assert not RuleTable.of(LineRule(r"a\d{2,3}b")).likely("a1b")
    assert RuleTable.of(LineRule(r"a\d2b")).likely("a11b")  # which figure it is, only the line says


def test_words_with_figures_are_looked_for_as_they_stand() -> None:
    words = Words("jax", "fp16")
    for _ in range(2):
        assert words.occur_in("step 7 of jax")
        assert words.occur_in("fp16")
        assert not words.occur_in("fp32 step 7")


def test_a_table_forgets_before_it_grows_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfmemlens.readers.oom.rules._MOST_SHAPES", 3)
    table = RuleTable.of(LineRule("b", needs="b"))
    for line in "ab", "cd", "eb", "fg", "hb", "x" * 401 + "b":
        assert bool(table.likely(line)) == ("b" in line)
        assert len(table._known) <= 3
    assert all(len(shape) <= 400 for shape in table._known)


def test_no_table_passes_over_a_line_that_a_rule_fits() -> None:
    tables = [each for each in gc.get_objects() if isinstance(each, RuleTable)]
    assert sum(len(table._rules) for table in tables) > 150
    for table in tables:
        for line in {example for rule in rules() for example in rule.examples}:
            table.likely(with_other_figures(line))
            fitting = [each for each in table._rules if each[1].search(line)]
            assert [each for each in table.likely(line) if each[1].search(line)] == fitting, line


def test_what_tables_pass_over_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What reads a line without asking the table of its family finds no more in it."""
    examples = sorted({example for rule in rules() for example in rule.examples})
    texts = [*((line,) for line in examples), examples, examples[::-1]]

    def read() -> list[str]:
        return [repr(oom_log.read_lines(list(enumerate(text, 1)))) for text in texts]

    asked = read()
    monkeypatch.setattr(RuleTable, "likely", lambda table, text: table._rules)
    monkeypatch.setattr(Words, "occur_in", lambda words, text: True)
    assert read() == asked
