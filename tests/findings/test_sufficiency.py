"""Whether a remedy is enough: what was missing, what it saves, and what then stands first."""

from __future__ import annotations

import pytest

from tests.findings.logs import dump, oom, report
from tfmemlens import pipeline
from tfmemlens.findings.support.batch_bound import BatchBound, batch_bound, in_words
from tfmemlens.findings.support.sufficiency import (
    Shortfall,
    _judged,
    both_at_once,
    enough_first,
    judged,
    shortfall,
)
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Action, Certainty, Enough, Finding, Remedy, Severity
from tfmemlens.renderers import savings
from tfmemlens.units import GIB, MIB, Size, parse_size
from tfmemlens.values import replace

TPU = (
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of"
    " memory in memory space hbm. Used {used} of {has} hbm. Exceeded hbm capacity by {over}.\n\n"
    "Total hbm usage >= {used}:\n    reserved        0B\n    program         {temp}\n"
    "    arguments       {args}\n"
    "Output size {args}; shares {args} with arguments.\n\n"
    "Program hbm requirement {temp}:\n    HLO temp        {temp} (100.0% utilization: Unpadded ({temp})"
    " Padded ({temp}), 0.0% fragmentation (0B))\n"
)


def case_of(text: str) -> Case:
    return pipeline.explain(text).case


def short(text: str) -> Shortfall | None:
    case = case_of(text)
    return shortfall(case, case.moments[0])


FULL = dump(49, 400, 380)
"""A request of 49 MiB, 380 of 400 MiB in use."""
SHAPE = oom("64,112,112,16")


def test_what_was_missing_is_in_use_and_the_request_above_the_limit() -> None:
    found = short(FULL + SHAPE)
    assert found is not None
    assert found.missing.bytes == 29 * MIB
    assert found.taken == 429 * MIB


def test_without_a_limit_nothing_is_known_to_be_missing() -> None:
    assert short(SHAPE) is None


def test_what_lay_free_in_small_pieces_was_not_missing() -> None:
    assert short(dump(49, 400, 340, (30, 30)) + SHAPE) is None


def test_more_comes_after_a_forward_pass_and_not_after_a_backward_pass() -> None:
    text = FULL + "    model.fit(x, y)\n"
    before, in_it = short(text + SHAPE), short(text + oom("64,112,112,16", "gradient_tape/net/conv/ReluGrad"))
    assert before is not None and before.to_come
    assert in_it is not None and not in_it.to_come


def test_a_program_needs_what_its_compiler_says() -> None:
    found = short(TPU.format(used="19.00G", has="16.00G", over="3.00G", temp="12.00G", args="7.00G"))
    assert found is not None
    assert (found.missing.may_be(3 * GIB), found.to_come) == (True, False)


# ------------------------------------------------------------------ one remedy


def saving(saves: int, low: int | None = None, high: int | None = None) -> Remedy:
    return Remedy("x", None, saves, Certainty.ESTIMATE, low_bytes=low, high_bytes=high)


@pytest.mark.parametrize(
    ("remedy", "to_come", "enough"),
    [
        (saving(100, 90, 110), False, Enough.YES),
        (saving(100, 90, 110), True, Enough.PERHAPS),  # the backward pass asks for more
        (saving(100, 79, 110), False, Enough.PERHAPS),  # it may save less than 80
        (saving(60, 50, 79), False, Enough.NO),
        (saving(60, 50, 80), False, Enough.PERHAPS),
        (saving(60), False, Enough.NO),
        (saving(80), False, Enough.YES),
        (saving(-5), False, None),
        (saving(0), False, None),
        (Remedy("x"), False, None),
    ],
)
def test_a_saving_against_what_was_missing(remedy: Remedy, to_come: bool, enough: Enough | None) -> None:
    told = _judged(remedy, Shortfall(Size.exactly(80), 1000, to_come))
    assert told.enough is enough
    assert told.missing_bytes == (80 if enough else None)


def test_nothing_is_judged_where_nothing_is_known_to_be_missing() -> None:
    finding = Finding(Severity.CAUSE, "x", remedies=(saving(100, 90, 110),))
    assert judged(case_of(SHAPE), finding) is finding
    text = FULL + SHAPE
    told = judged(case_of(text), replace(finding, remedies=(saving(MIB), Remedy("y"))))
    assert [each.enough for each in told.remedies] == [Enough.NO, None]


# ------------------------------------------------------------------ the order


def action(text: str, saves: int | None, enough: Enough | None) -> Action:
    known = None if saves is None else Certainty.EXACT
    return Action(Remedy(text, None, saves, known, enough=enough, missing_bytes=80), ("rule",))


@pytest.mark.parametrize(
    ("given", "order"),
    [
        ([("a", 20, Enough.NO), ("b", None, None), ("c", 90, Enough.YES)], "cab"),
        ([("a", 20, Enough.NO), ("b", None, None), ("c", 90, Enough.PERHAPS)], "cab"),
        ([("a", None, None), ("b", 20, Enough.NO), ("c", 90, Enough.YES)], "abc"),
        ([("a", 90, Enough.PERHAPS), ("b", 95, Enough.YES)], "ab"),
        ([("a", 50, Enough.NO), ("b", 20, Enough.NO), ("c", 60, Enough.NO)], "acb"),
        ([("a", 50, Enough.NO), ("b", 20, Enough.NO)], "ab"),
    ],
)
def test_what_may_be_enough_comes_first(
    given: list[tuple[str, int | None, Enough | None]], order: str
) -> None:
    found = enough_first([action(*each) for each in given], Shortfall(Size.exactly(80), 200, False))
    assert "".join(each.remedy.text for each in found) == order


def test_two_that_are_enough_together_say_so() -> None:
    given = [action("a", 50, Enough.NO), action("b", 60, Enough.NO)]
    first = enough_first(given, Shortfall(Size.exactly(80), 200, False))[0].remedy
    assert first.enough is Enough.WITH_NEXT  # 200 x 0.75 x 0.7 = 105 is left, 95 is saved
    again = enough_first(given, Shortfall(Size.exactly(96), 200, False))[0].remedy
    assert again.enough is Enough.NO
    assert enough_first(given, None)[0].remedy.enough is Enough.NO
    assert enough_first([], None) == ()


@pytest.mark.parametrize(
    ("enough", "words"),
    [
        (None, "saves 50 B"),
        (Enough.PERHAPS, "saves 50 B"),
        (Enough.YES, "saves 50 B: enough, 80 B more was needed"),
        (Enough.NO, "saves 50 B of the 80 B more needed: not enough alone"),
        (Enough.WITH_NEXT, "saves 50 B of the 80 B more needed: enough only with the next"),
    ],
)
def test_it_is_said_in_words(enough: Enough | None, words: str) -> None:
    remedy = action("a", 50, enough).remedy
    assert savings.of_remedy(remedy) == words
    assert savings.of_remedy(remedy, brief=True) == ("saves 50 B" if enough is Enough.YES else words)


# ------------------------------------------------------------------ batches of compiled programs


@pytest.mark.parametrize(
    ("temp", "args", "has", "words"),
    [
        ("12.00G", "7.00G", "16.00G", "half of it (its temporaries are 12.00 GiB now, and there is room for"),
        ("30.00G", "8.00G", "15.75G", "a quarter of it (its temporaries are 30.00 GiB now"),
        ("30.00G", "12.00G", "15.75G", "an eighth of it"),
    ],
)
def test_a_programs_batch_is_the_largest_that_its_figures_leave_room_for(
    temp: str, args: str, has: str, words: str
) -> None:
    used = parse_size(temp).bytes + parse_size(args).bytes
    over = used - parse_size(has).bytes
    text = TPU.format(used=f"{used / GIB:.2f}G", has=has, over=f"{over / GIB:.2f}G", temp=temp, args=args)
    case = case_of(text)
    bound = batch_bound(case, case.moments[0])
    assert bound is not None and bound.of_program
    assert words in in_words(bound, None)


def test_no_batch_is_advised_where_the_arguments_alone_do_not_fit() -> None:
    text = TPU.format(used="24.00G", has="16.00G", over="8.00G", temp="6.00G", args="18.00G")
    actions = pipeline.explain(text).actions
    assert actions
    assert all(each.remedy.slug != "smaller-batch" for each in actions)


def test_a_programs_batch_in_numbers() -> None:
    bound = BatchBound(10 / 32, 32 * GIB, 10 * GIB, 4 * GIB, False, 1, True)
    assert in_words(bound, 256) == (
        "lower the batch: 256 -> 64 (its temporaries are 32.00 GiB now, and there is room for 10.00 GiB)"
    )
    guessed = replace(bound, divisor=2)
    assert in_words(guessed, 256).startswith("lower the batch: 256 -> 32 (all it needs is 32.00 GiB now")


def test_weights_that_a_list_names_are_in_what_is_taken() -> None:
    listed = report("140.00MiB from net/fc/kernel/Adam", "230.00MiB from x/Relu")
    found = short(FULL + SHAPE + listed)
    assert found is not None and found.missing.bytes == 29 * MIB


# ------------------------------------------------------------------ how much smaller


def test_a_first_dimension_is_not_only_made_to_fit_by_itself() -> None:
    text = dump(300, 250, 0) + oom("1280,61440", "decoder/projection/MatMul")
    said = " ".join(action.remedy.text for action in pipeline.explain(text).actions)
    assert "1280 -> " in said or "with 256 (a guess)" in said
    assert "with 640 the tensor" not in said


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        (250, "no more than 256,000 rows fit 250.00 MiB: begin with 120,000"),
        (399, "no more than 408,576 rows fit 399.00 MiB: begin with 200,000"),
        (400, ""),  # four copies of 100 MiB fit
    ],
)
def test_a_table_has_as_many_rows_as_the_limit_has_room_for(limit: int, told: str) -> None:
    text = dump(100, limit, limit - 1) + oom("409600,64", "word_embeddings/Adam/Assign")
    said = " ".join(action.remedy.text for action in pipeline.explain(text).actions)
    assert "make the table smaller" in said
    assert told in said and ("begin with" in said) is bool(told)


def test_a_leading_one_of_an_eager_op_is_no_batch() -> None:
    eager = oom("1,40000,300,2", "x").replace(" [[{{node x}}]]", " [Op:Sub]")
    said = " ".join(action.remedy.text for action in pipeline.explain(dump(92, 250, 249) + eager).actions)
    assert "batch is 1 already" not in said
    network = dump(92, 250, 249) + oom("1,200,200,600", "net/conv/Conv2D")
    assert "batch is 1 already" in " ".join(each.remedy.text for each in pipeline.explain(network).actions)


# ------------------------------------------------------------------ two changes that are one action


@pytest.mark.parametrize(("side", "both"), [(768, True), (512, False)])
def test_a_large_sample_is_made_smaller_with_the_batch_at_once(side: int, both: bool) -> None:
    text = (
        dump(4 * side * side * 64 * 4 // MIB, 500, 80)
        + "    model.fit(x, y)\n"
        + oom(f"4,{side},{side},64", "net/conv/Conv2D")
    )
    case = case_of(text)
    first = Action(
        Remedy(
            "lower it: 4 -> 1; then 2", None, 3 * side * side * 256, Certainty.EXACT, slug="smaller-batch"
        ),
        ("r",),
    )
    then = Action(
        Remedy(
            "halve the sides: a quarter", None, 3 * side * side * 256, Certainty.EXACT, slug="smaller-input"
        ),
        ("q",),
    )
    found = both_at_once(case, (first, then))
    assert len(found) == (1 if both else 2)
    if both:
        remedy = found[0].remedy
        assert remedy.text.startswith("lower it: 4 -> 1, and halve the sides: most likely neither is enough")
        assert remedy.text.endswith("both leave 36.00 MiB") and found[0].rules == ("r", "q")
    assert both_at_once(case, (first,)) == (first,)
    assert both_at_once(case, ()) == ()
