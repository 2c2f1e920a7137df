"""Each pattern fits its own real lines, and no pattern takes another's."""

from __future__ import annotations

import inspect

import pytest

from tfmemlens.readers.oom import compiler, disguises, dump, purpose, report, sentence, surroundings
from tfmemlens.readers.oom.rules import LineRule, RuleTable, Words

FAMILIES = (dump, report, sentence, compiler, disguises, surroundings)
RULES = {
    f"{module.__name__.rpartition('.')[2]}.{name}": rule
    for module in reversed(FAMILIES)
    for name, rule in vars(module).items()
    if isinstance(rule, LineRule) and f"{name} = LineRule(" in inspect.getsource(module)
}
EXAMPLES = [(name, example) for name, rule in RULES.items() for example in rule.examples]

MAY_SHARE = {
    # a line that is taken by the first of two rules, both of which are right about it
    frozenset({"dump.START", "dump.BORING"}),
    frozenset({"dump.WANT", "dump.BORING"}),
    frozenset({"sentence.OP_REQUIRES", "sentence.SENTENCE"}),
    frozenset({"disguises.COPY", "disguises.DST"}),
    frozenset({"sentence.TAG", "sentence.CUT_TAG"}),
    frozenset({"sentence.KERAS_LAYER", "disguises.BARE"}),
    frozenset({"sentence.TRACEBACK", "disguises.BARE"}),
    frozenset({"compiler.XLA", "disguises.PROFILING"}),
    frozenset({"dump.STATS_VALUE", "dump.HEADLESS"}),
    frozenset({"sentence.INSTRUCTION", "compiler.METADATA"}),
}
GENERAL = {
    "sentence.BORING",
    "sentence.EXCEPTION",
    "sentence.TENSOR",
    "sentence.OP_TAIL",
    "sentence.FUNCTION_NODE",
    "disguises.CUDA_ERROR",
    "disguises.LIBRARY",
    "disguises.BARE",
    "surroundings.STEP",
    "disguises.BAD_ALLOC",
    "sentence.ROOT",
}
"""Rules that look for one word wherever it stands; the others are asked first."""


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=lambda value: str(value)[:50])
def test_a_pattern_fits_its_own_lines(name: str, example: str) -> None:
    assert RULES[name].search(example)


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=lambda value: str(value)[:50])
def test_no_other_pattern_takes_the_line(name: str, example: str) -> None:
    takers = {other for other, rule in RULES.items() if rule.search(example)} - GENERAL - {name}
    assert not {other for other in takers if frozenset({name, other}) not in MAY_SHARE}, (
        f"{example!r} is taken by {takers}"
    )


def test_every_pattern_carries_a_real_line() -> None:
    assert not [name for name, rule in RULES.items() if not rule.examples]


@pytest.mark.parametrize("rule", purpose.PURPOSES.values(), ids=list(purpose.PURPOSES))
def test_a_programs_purpose_fits_its_own_lines(rule: LineRule) -> None:
    assert rule.examples and all(rule.search(example) for example in rule.examples)


@pytest.mark.parametrize("needs", ["ran out", ("spilled", "ran out")])
def test_of_a_line_of_megabytes_the_places_of_a_word_are_read(needs: str | tuple[str, ...]) -> None:
    rule = LineRule(r"(?i)memory ran out", needs=needs)
    far, message = "x " * 1_000_000, "memory ran out"
    text = f"{far}{message} {far}"
    found = rule.search(text)
    assert found and found.span() == (len(far), len(far) + len(message))
    assert rule.search(f"{far}it ran out {far}{message}")  # at the second place of a word, too
    assert not rule.search(f"{far}it ran out {far}it ran out {far}{message}")  # the third is not looked at
    assert not rule.search(far)


def test_in_a_long_line_a_word_at_its_end_is_found_once() -> None:
    rule = LineRule(r"\bran out$", needs="ran out")
    assert rule.search(f"{'x ' * 20_000}ran out")
    assert not rule.search(f"{'x ' * 20_000}ran out of it")


def test_a_table_asks_all_rules_that_fit_and_few_others() -> None:
    table = RuleTable(RULES.items())
    asked = 0
    for _, example in EXAMPLES:
        likely = [name for name, _ in table.likely(example)]
        fitting = [name for name, rule in RULES.items() if rule.search(example)]
        assert [name for name in likely if name in fitting] == fitting
        asked += len(likely)
    assert asked < len(EXAMPLES) * len(RULES) / 20


@pytest.mark.parametrize(
    ("needs", "line"),
    [
        ("", "anything"),
        ("ab", "ab"),
        ("Ran Out", "it Ran Out"),
        (("ran out", "spilled"), "It RAN OUT"),
        ("2.0.0", "version 2.0.0"),
        (("rc 137", "x"), "ended with rc 137"),
        ("\u5185\u5b58\u4e0d\u8db3", "GPU \u5185\u5b58\u4e0d\u8db3"),
        ("\u0130 ran", "so \u0130 ran"),
    ],
)
def test_a_table_finds_what_a_rule_needs_in_a_line(needs: str | tuple[str, ...], line: str) -> None:
    rule = LineRule(r"(?is).*", needs=needs)
    assert [each for _, each in RuleTable.of(rule).likely(line)] == [rule]
    assert not needs or not RuleTable.of(rule).likely("nothing of it")
    words = (needs,) if isinstance(needs, str) else needs
    assert Words(*words).occur_in(line.lower() if words is needs else line)
