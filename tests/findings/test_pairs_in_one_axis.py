"""Rows that are repeated and tiled stand in pairs, whose number is the square of theirs."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.pages import explained

CODE = """
import tensorflow as tf

def pairs(h, adj):
    n = tf.shape(h)[0]
    one = tf.repeat(h, n, axis=0)
    other = tf.tile(h, [n, 1])
    return tf.concat([one, other], axis=1)

out = pairs(h, adj)

"""
FRAME = """Traceback (most recent call last):
  File "net.py", line 8, in pairs
    return tf.concat([one, other], axis=1)
"""
SAID = "every one of 1,200 rows stands with every other, 1,440,000 rows in all: line 6 repeats"


@pytest.mark.parametrize(
    ("code", "shape", "said"),
    [
        (CODE, "1440000,16", True),
        (CODE, "4,1440000,16", True),
        (CODE, "1440001,16", False),  # no square
        (CODE, "10000,1600", False),  # of a hundred rows, by chance
        (CODE.replace("tf.tile(h, [n, 1])", "h"), "1440000,16", False),
        (CODE.replace("return tf.concat", "return tf.stack"), "1440000,16", False),  # another function failed
    ],
)
def test_rows_that_are_repeated_and_tiled(code: str, shape: str, said: bool) -> None:
    assert (SAID in explained(code + FRAME + oom(shape, "concat")).verdict) is said


@pytest.mark.parametrize(("code", "linked"), [(CODE, True), (CODE.replace("adj", "k"), False)])
def test_what_makes_no_pairs_goes_first_and_linked_ones_if_known(code: str, linked: bool) -> None:
    slugs = [each.remedy.slug for each in explained(code + FRAME + oom("1440000,16", "concat")).actions]
    assert slugs[0] == "matrix-product" and "smaller-batch" not in slugs
    assert ("sparse-product" in slugs) is linked


def test_the_two_halves_are_far_smaller() -> None:
    action = explained(CODE + FRAME + oom("1440000,16", "concat")).actions[0].remedy
    assert "[1200,1] + [1,1200], which is 5.49 MiB" in action.text
    assert action.saves_bytes == 1_440_000 * 16 * 4
