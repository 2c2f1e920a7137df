"""Square matrices: a number for each pair of rows or columns, and no logits; and matrices of zeros."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline

TRACEBACK = """Traceback (most recent call last):
  File "train.py", line 7, in <module>
    {line}
"""


def told(line: str, shape: str, node: str) -> tuple[str, list[str]]:
    report = pipeline.explain(TRACEBACK.format(line=line) + oom(shape, node))
    return report.verdict, [each.remedy.slug for each in report.actions]


@pytest.mark.parametrize(
    ("line", "words", "first"),
    [
        ("s = tf.matmul(codes, codes, transpose_b=True)", "for each pair of rows", "in-blocks"),
        ("c = tf.matmul(x, x, transpose_a=True) / n", "for each pair of columns", "fewer-columns"),
        ("c = tf.transpose(x) @ x", "for each pair of columns", "fewer-columns"),
        ("m = tf.linalg.diag(scale)", "a whole matrix for each diagonal", "elementwise-diagonal"),
    ],
)
def test_a_line_that_makes_a_square_matrix(line: str, words: str, first: str) -> None:
    verdict, slugs = told(line, "9000,9000", "nt_xent/similarity")
    assert words in verdict
    assert "classes" not in verdict
    assert slugs[0] == first


@pytest.mark.parametrize(
    "line",
    ["dw = tf.matmul(x, grad, transpose_a=True)", "y = tf.transpose(x) @ w", "d = tf.linalg.diag_part(m)"],
)
def test_a_product_of_two_things_makes_no_pairs_of_columns(line: str) -> None:
    verdict, slugs = told(line, "9000,9000", "loss/MatMul")
    assert "pair of columns" not in verdict and "diagonal" not in verdict
    assert not {"fewer-columns", "elementwise-diagonal"} & set(slugs)


@pytest.mark.parametrize(
    ("shape", "logits"), [("9000,9000", False), ("9000,9001", True), ("32,9000,9000", True)]
)
def test_a_square_matrix_is_no_logits(shape: str, logits: bool) -> None:
    report = pipeline.explain(oom(shape, "nt_xent/similarity"))
    assert any(each.rule == "vocabulary-logits" for each in report.findings) is logits


@pytest.mark.parametrize(("bytes_of_first", "small"), [(2047, True), (2048, False)])
def test_only_a_small_weight_is_called_small(bytes_of_first: int, small: bool) -> None:
    node = "net/head/Initializer/random_uniform/RandomUniform"
    report = pipeline.explain(oom(f"{bytes_of_first},4,32,32", node))
    texts = [each.text for finding in report.findings for each in finding.remedies]
    assert any("this weight is small" in text for text in texts) is small
