"""Rows of a matrix without a name: positions of all samples, or inputs of a layer that the text counts."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

ASKED = "Resource exhausted: OOM when allocating tensor with shape[{}]\n"
DATA = "import tensorflow as tf\nx_train shape: ({}, {})\n"


@pytest.mark.parametrize(("samples", "length", "told"), [(25000, 80, True), (25000, 81, False)])
def test_all_samples_in_one_call(samples: int, length: int, told: bool) -> None:
    report = explained(DATA.format(samples, length) + ASKED.format("2000000,128"))
    assert ("each of 25,000 x 80" in report.verdict) is told
    first = report.actions[0].remedy
    assert (first.slug == "in-batches" and "with 1,024 instead of 25,000" in first.text) is told


@pytest.mark.parametrize(
    ("count", "told"), [("447,672,324", True), ("446,000,000", False), ("900,000,000", False)]
)
def test_the_parameters_that_the_text_counts(count: str, told: bool) -> None:
    text = f"tensorflow: the features have {count} parameters\n{ASKED.format('872704,512')}"
    report = explained(text)
    assert ("of the 447,672,324 parameters" in report.verdict) is told
    assert (offered(text)[0] == "pool-first") is told


SHAPED = "OOM when allocating tensor with shape[{}] and type float on /job:localhost/replica:0/task:0/device:"


@pytest.mark.parametrize(
    ("shape", "node", "folded"),
    [
        ("32768,48,82", "block/conv/Pad", True),
        ("2048,48,82", "block/conv/Pad", False),  # a batch that somebody may have
        ("32768,128", "block/dense/MatMul", False),
    ],
)
def test_a_first_side_that_is_no_batch(shape: str, node: str, folded: bool) -> None:
    text = f"{SHAPED.format(shape)}GPU:0 by allocator GPU_0_bfc\n\t [[{{{{node {node}}}}}]]\n"
    told = [each.remedy.text for each in explained(text).actions if each.remedy.slug == "smaller-batch"]
    assert told and ("samples times channels" in told[0]) is folded


@pytest.mark.parametrize(
    ("shape", "one"), [("1,330,330,64", True), ("1,7,512,512", False), ("2,330,330,64", False)]
)
def test_a_map_that_begins_with_one_is_of_one_sample(shape: str, one: bool) -> None:
    text = (
        f"Epoch 1/4\nmodel.fit(x, y)\n{SHAPED.format(shape)}GPU:0 by allocator GPU_0_bfc"
        " [Op:SquaredDifference]\n"
    )
    told = " ".join(each.remedy.text for each in explained(text).actions)
    assert ("begins with 1, so most likely the batch is 1" in told) is one


@pytest.mark.parametrize(("op", "weight"), [("Add", True), ("Mul", True), ("Concat", False)])
def test_a_weight_s_first_value(op: str, weight: bool) -> None:
    told = explained(f"{SHAPED.format('25088,4096')}GPU:0 by allocator GPU_0_bfc [Op:{op}]\n").actions[0]
    assert ("may be a dense layer's weight (25,088 inputs" in told.remedy.text) is weight
