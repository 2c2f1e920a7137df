"""Boxes against anchors in each sample, and the mask of attention's scores."""

from __future__ import annotations

import pytest

from tests.findings.logs import MIB, dump_by_size, oom
from tests.findings.pages import explained
from tfmemlens import pipeline
from tfmemlens.findings.support.program_lines import definitions
from tfmemlens.model.line import Line

MATCHER = """def train(x):
    g = tape.gradient(loss, weights)
    return g

def overlap(anchors, truth):
    a = anchors[None, :, None, :]
    g = truth{}
    top = tf.maximum(a[..., :2], g[..., :2])
    return top

"""
FRAME = (
    'Traceback (most recent call last):\n  File "match.py", line 8, in overlap\n'
    "    top = tf.maximum(a[..., :2], g[..., :2])\n"
)


@pytest.mark.parametrize(
    ("shape", "fires"),
    [
        ("8,20000,100,2", True),
        ("8,900,100,40", False),  # an image
        ("8,20000,100,64", False),  # a row of features
        ("1,20000,100,20", False),
    ],
)
def test_each_row_with_each_of_another_kind(shape: str, fires: bool) -> None:
    code = MATCHER.format("[:, None, :, :]").partition("\n\n")[2]
    report = explained(code + FRAME + oom(shape, "Maximum"))
    found = [each for each in report.findings if each.rule == "pairwise-broadcast"]
    assert bool(found) is fires
    if fires:
        assert "each of 20,000 rows with each of 100 in each of 8 samples" in (found[0].because or "")
        assert "the product of both" in (found[0].because or "")
        assert "in-blocks" in {each.slug for each in found[0].remedies}


def lines(code: str) -> list[Line]:
    return [Line(number, text, "match.py") for number, text in enumerate(code.splitlines(), 1)]


def test_a_name_is_what_its_own_function_says_last() -> None:
    code = lines(MATCHER.format("[:, None]"))
    failed = "    top = tf.maximum(a[..., :2], g[..., :2])"
    assert [line.number for line in definitions(failed, code, "match.py:8")] == [6, 7]
    assert [line.number for line in definitions(failed, code)] == [6]
    assert [line.number for line in definitions(failed, code, "other.py:8")] == [6]


MADE = "y = layers.MultiHeadAttention(4, 16, name='{}')(x, x)\n"


@pytest.mark.parametrize(
    ("name", "block", "fires"),
    [
        ("self_att_1", 4 * 32 * MIB, True),
        ("reader", 4 * 32 * MIB, True),  # known by the line that makes it
        ("self_att_1", 300 * MIB, False),
    ],
)
def test_a_mask_of_scores_stands_for_the_scores(name: str, block: int, fires: bool) -> None:
    need = 8 * 4 * 1024 * 1024
    full = dump_by_size(need, 1000, (1, block), (3, MIB))
    text = MADE.format(name) + full + oom("8,4,1024,1024", f"net/{name}/dropout/GreaterEqual", dtype="bool")
    report = explained(text)
    (found,) = [each for each in report.findings if each.rule == "attention-scores"]
    assert (found.explains == need + block) is fires
    assert ("one-chunk-dominates" in {each.rule for each in report.findings}) is not fires


def test_no_attention_without_a_word_of_it() -> None:
    text = "y = layers.Dense(4, name='reader')(x)\n" + oom(
        "8,4,1024,1024", "net/reader/dropout/GreaterEqual", dtype="bool"
    )
    assert "attention-scores" not in {each.rule for each in explained(text).findings}


@pytest.mark.parametrize(
    ("above", "shape", "said"),
    [
        ("diff = tf.expand_dims(a, 1) - tf.expand_dims(b, 0)", "200,2400,128", True),
        ("diff = a[:, None] - b[None]", "200,2400,128", True),
        ("diff = a - b", "200,2400,128", False),
        ("diff = tf.expand_dims(a, 1) - tf.expand_dims(b, 0)", "8,24000,128", False),  # as few as channels
    ],
)
def test_few_rows_are_of_pairs_where_the_code_makes_them(above: str, shape: str, said: bool) -> None:
    code = f"def loss(a, b):\n    {above}\n    return tf.reduce_sum(tf.square(diff), -1)\n\n"
    frame = 'Traceback (most recent call last):\n  File "run.py", line 3, in loss\n'
    frame += "    return tf.reduce_sum(tf.square(diff), -1)\n"
    found = pipeline.explain(code + frame + oom(shape, "Square"))
    assert ("every pair of 200 and 2,400 rows" in found.verdict) is said
    if said:
        first = found.actions[0].remedy
        assert first.slug == "matrix-product" and "tf.matmul(a, b, transpose_b=True)" in (first.code or "")
        assert first.saves_bytes == 200 * 2400 * 127 * 4
