"""Constructs that the failing line or the op's name shows: pairs, Jacobians, tensors joined to themselves."""

from __future__ import annotations

import pytest

from tests.findings.logs import dump, oom
from tests.findings.test_batch_shown import eager
from tfmemlens import pipeline


def rules(text: str) -> set[str]:
    return {finding.rule for finding in pipeline.explain(text).findings}


def advice(text: str) -> dict[str, str]:
    return {action.remedy.slug: action.remedy.text for action in pipeline.explain(text).actions}


@pytest.mark.parametrize("call", ["a[:, None, :] - b[None, :, :]", "a[:, tf.newaxis] - b", "a - b[None, :]"])
def test_pairs_of_two_sets_are_known_by_the_line(call: str) -> None:
    text = eager("20000,30000,3", "Sub", call)
    assert "pairwise-broadcast" in rules(text)
    assert "20,000 and 30,000 rows" in pipeline.explain(text).verdict


def test_pairs_of_boxes_are_known_by_the_name() -> None:
    assert "pairwise-broadcast" in rules(oom("76725,2048", "Loss/Compare_9/IOU/Intersection/Minimum_1"))
    assert "pairwise-broadcast" not in rules(oom("76725,2048", "Loss/Compare_9/Intersection/Minimum_1"))


@pytest.mark.parametrize("call", ["a - b", "a[:, 0, :] - b", "dict(None=a) - b"])
def test_other_differences_are_no_pairs(call: str) -> None:
    assert "pairwise-broadcast" not in rules(eager("20000,30000,3", "Sub", call))


def test_a_jacobian_works_on_all_outputs_at_once() -> None:
    inside = oom("4096,512,1024", "loop_body/gradient_tape/mlp/dense_1/MatMul/pfor/MatMul", on="/GPU:0")
    assert "vectorised-jacobian" in rules(inside) and "without-pfor" in advice(inside)
    assert "vectorised-jacobian" not in rules(oom("4096,512,1024", "gradient_tape/mlp/dense_1/MatMul"))


@pytest.mark.parametrize(
    ("call", "grows"),
    [
        ("queue = tf.concat([queue, k], axis=0)", True),
        ("self.bank = np.concatenate((self.bank, rows))", True),
        ("queue = tf.concat([queue2, k], axis=0)", False),
        ("queue = tf.concat([queue.oldest, k], axis=0)", False),
        ("queue = tf.concat([queue[1:], k], axis=0)", False),
        ("queue = tf.add(queue, k)", False),
        ("queue = tf.concat(queue, axis=0)", False),
        ("queue = tf.concat([queue, k], axis=-1)", False),
        ("queue = tf.concat([k, queue], 0)", True),
    ],
)
def test_what_is_joined_to_itself_grows(call: str, grows: bool) -> None:
    text = eager("1966080,512", "ConcatV2").replace("diff = outer(a, b)", call)
    assert ("growing-concatenation" in rules(text)) is grows


def test_a_buffer_that_is_filled_went_through_no_network() -> None:
    assert "whole-set-in-one-batch" not in rules(eager("100000,84,84,4", "Fill"))
    assert "whole-set-in-one-batch" in rules(eager("100000,84,84,4", "Relu"))


def test_a_batch_that_fits_the_largest_free_block() -> None:
    sentence = oom("32,512,128,128")  # 1 GiB
    pieces = dump(1024, 8000, 6000, (640, 640, 620)) + sentence
    assert "32 -> 16: this request then takes 512.00 MiB" in advice(pieces)["batch-for-the-block"]
    assert "batch-for-the-block" not in advice(dump(1024, 8000, 6000, (20,) * 90) + sentence)


@pytest.mark.parametrize(
    ("op", "limit", "pairs"),
    [
        pytest.param("Mul", 300, True, id="no operand could be as large"),
        pytest.param("Mul", 600, False, id="an operand could be"),
        pytest.param("Cast", 300, False, id="an operand of a quarter could be"),
    ],
)
def test_a_result_above_the_device_is_of_operands_that_broadcast(op: str, limit: int, pairs: bool) -> None:
    text = dump(512, limit, 1, op=op) + oom("8192,16384", op)
    found = [each for each in pipeline.explain(text).findings if each.rule == "pairwise-broadcast"]
    assert bool(found) is pairs
    if pairs:
        assert found[0].detail.startswith("Its operands are smaller than the result: none")
        assert "every pair of 8,192 and 16,384 rows" in found[0].headline


@pytest.mark.parametrize(("op", "asks"), [("Mul", False), ("MatMul", True)])
def test_only_what_makes_matrices_is_asked_for_a_layer(op: str, asks: bool) -> None:
    text = dump(512, 300, 1, op=f"net/{op}") + oom("8192,16384", f"net/{op}")
    slugs = {remedy.slug for each in pipeline.explain(text).findings for remedy in each.remedies}
    assert ("check-the-matrix" in slugs) is asks


@pytest.mark.parametrize(("rows", "kept"), [(2560, 1280), (3, 1)])
def test_a_buffer_keeps_half_of_the_rows_that_failed(rows: int, kept: int) -> None:
    line = "queue = tf.concat([queue, x], 0)"
    text = f'  File "/home/u/train.py", line 30, in step\n    {line}\n{oom(f"{rows},128", "concat")}\n'
    codes = [
        action.remedy.code for action in pipeline.explain(text).actions if action.remedy.slug == "ring-buffer"
    ]
    assert codes == [f"{line}[-{kept}:]"]
