"""Sizes that only numbers of the program explain: pairs of two of them, as many columns as one says."""

from __future__ import annotations

import pytest

from tests.findings.logs import MIB, dump_by_size, oom
from tests.findings.pages import explained

ASKED = "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating {} bytes.\n"
PAIRS = "import jax\nSTARS, PROBES, SIDE = 200_000, 65_536, {}\n"


@pytest.mark.parametrize(
    ("need", "side", "told"),
    [
        (200_000 * 65_536 * 20, 96, "20 bytes for each pair of 200,000 (`STARS`) and 65,536 (`PROBES`)"),
        (200_000 * 65_536 * 4, 96, "most likely an array with a value"),
        (200_000 * 65_536 * 4 + 4, 96, ""),
        (200_000 * 65_536 * 260, 96, ""),  # too many bytes for a pair
        (200_000 * 65_536 * 20, 32_768, ""),  # two pairs would do
    ],
)
def test_pairs_of_two_numbers_of_the_program(need: int, side: int, told: str) -> None:
    report = explained(PAIRS.format(side) + ASKED.format(need))
    found = [each for each in report.findings if " for each pair of " in each.headline]
    assert [told in each.headline for each in found] == [True] * bool(told)
    if told:
        assert "rows that the result keeps" in found[0].remedies[0].text


WORDS = "VOCAB, WIDE = 50_000, {}\n"


@pytest.mark.parametrize(
    ("block", "wide", "fires"),
    [
        (1000 * 50_000 * 4, 128, True),
        (1000 * 50_000 * 4, 49_000, False),  # either may be
        (1000 * 150_000 * 4, 128, False),
    ],
)
def test_a_block_of_as_many_columns_as_the_program_names(block: int, wide: int, fires: bool) -> None:
    full = dump_by_size(1000 * 64 * 4, 700, (1, block), (20, MIB))
    report = explained(WORDS.format(wide) + full + oom("1000,64", "gradients/head/MatMul_grad/MatMul"))
    (found,) = [each for each in report.findings if each.rule == "one-chunk-dominates"]
    assert ("[1000,50000]: `VOCAB` (line 1) numbers for each of the 1,000 rows" in found.headline) is fires
    assert ("sampled-loss" in {each.slug for each in found.remedies}) is fires


def test_a_setting_is_no_lever_where_a_whole_set_is_fed() -> None:
    line = "    sess.run(score, {x: x_test})\n"
    code = "SPAN = 512\nx = tf.placeholder(tf.float32, [None, SPAN, 24])\n"
    frame = 'Traceback (most recent call last):\n  File "test.py", line 9, in <module>\n' + line
    report = explained(code + frame + oom("9000,512,24", "net/conv/Conv1D"))
    slugs = [each.remedy.slug for each in report.actions]
    assert slugs[0] == "in-batches" and not {"lower-constant", "smaller-batch"} & set(slugs)


def test_pairs_whose_line_is_known_are_left_to_it() -> None:
    code = "S, P = 50_000, 9_000\nd = jnp.ones((S, 1, 3)) - jnp.ones((1, P, 3))\n"
    report = explained("import jax.numpy as jnp\n" + code + ASKED.format(5_400_000_000))
    assert not [each for each in report.findings if " for each pair of " in each.headline]
    assert "(line 3) makes [50000,9000,3]" in report.verdict
