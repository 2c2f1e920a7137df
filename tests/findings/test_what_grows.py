"""What grows or is made anew comes before the holes that it leaves; a loss of all pairs before blocks."""

from __future__ import annotations

import pytest

from tests.findings.logs import dump, oom
from tfmemlens import pipeline
from tfmemlens.model.finding import Finding, Severity
from tfmemlens.units import MIB

USERS = """Traceback (most recent call last):
  File "/home/u/a.py", line 14, in <module>
    %s
"""
HOLES = (50, 50, 50)


def found(text: str, rule: str) -> Finding | None:
    return next((each for each in pipeline.explain(text + "\n").findings if each.rule == rule), None)


def failed(code: str, shape: str = "1280,16384", *, op: str = "ConcatV2", limit: int = 400) -> str:
    """80 MiB unless another shape is given, with 150 MiB free in three holes."""
    return dump(80, limit, limit - sum(HOLES), HOLES, op=op) + USERS % code + oom(shape, op)


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        (failed("x = tf.concat([a, b], 0)"), Severity.CAUSE),
        (failed("bank = tf.concat([bank, b], 0)"), Severity.FACTOR),
        (failed("w = self.add_weight()", op="fc/kernel/Initializer/random_uniform"), Severity.FACTOR),
    ],
    ids=["a join", "a tensor joined to itself", "a weight"],
)
def test_holes_left_behind_by_what_grows_are_no_cause(text: str, severity: Severity) -> None:
    holes = found(text, "fragmented-free-memory")
    assert holes and holes.severity is severity


def test_no_padding_of_inputs_is_advised_to_a_weight() -> None:
    text = failed("w = self.add_weight()", op="fc/kernel/Initializer/random_uniform")
    slugs = [remedy.slug for each in pipeline.explain(text).findings for remedy in each.remedies]
    assert "constant-shapes" not in slugs and "large-tensors-first" in slugs


@pytest.mark.parametrize(
    ("node", "number"),
    [
        ("sequential_10/dense_30/MatMul", 10),
        ("functional_4/conv2d/Relu", 4),
        ("resnet/sequential_10/conv/Relu", None),
        ("my_model_7/dense/MatMul", None),
    ],
)
def test_the_number_of_the_outermost_model_tells_of_earlier_ones(node: str, number: int | None) -> None:
    earlier = found(dump(20, 400, 390) + oom("1280,4096", node), "stale-graphs")
    assert (earlier is not None) == (number is not None)
    if earlier and number:
        assert earlier.explains == 390 * MIB * number // (number + 1)
        assert earlier.severity is Severity.CAUSE


LOSS = "loss = tf.reduce_mean(tf.abs(targets - predicted))"


@pytest.mark.parametrize(
    ("code", "shape", "one_shape"),
    [
        (LOSS, "5000,5000", True),
        (LOSS, "5000,5000,3", False),
        ("d = tf.abs(a[:, None] - a[None, :])", "5000,5000", False),
    ],
)
def test_a_loss_of_all_pairs_is_most_likely_a_column_too_few(code: str, shape: str, one_shape: bool) -> None:
    pairs = found(USERS % code + oom(shape, "Abs"), "pairwise-broadcast")
    assert pairs
    assert (pairs.remedies[0].slug == "one-shape") == one_shape


def test_a_dense_layer_whose_name_speaks_of_lookups_is_no_table() -> None:
    text = USERS % 'net = Sequential([Dense(3000, name="fact_lookup")])' + oom(
        "9000,3000", "fc/kernel/Initializer/random_uniform"
    )
    said = " ".join(each.headline for each in pipeline.explain(text).findings)
    assert "embedding table" not in said
