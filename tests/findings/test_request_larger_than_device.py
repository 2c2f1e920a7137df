"""A request that no device can hold: what to look for where no shape is told."""

from __future__ import annotations

import pytest

from tests.findings.test_edges_of_tensors import failed
from tests.findings.test_support import case
from tests.findings.test_what_is_no_batch import explained
from tfmemlens.findings import request_larger_than_device
from tfmemlens.model.case import Balance
from tfmemlens.model.finding import Remedy
from tfmemlens.model.what_if import Saving, SavingBasis
from tfmemlens.units import MIB, Size
from tfmemlens.values import replace

RAN_OUT = (
    "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.25TiB (rounded to 1374521760000)requested"
    " by op \n"
)


def of_jax(ran_out: str) -> list[Remedy]:
    text = f"jax version 0.4.30\nexternal/xla/xla/tsl/framework/bfc_allocator.cc:501] {ran_out}"
    return [action.remedy for action in explained(text).actions]


def test_a_program_of_jax_is_cut_first_and_asked_for_its_shapes_then() -> None:
    parts, shapes = of_jax(RAN_OUT)[:2]
    assert parts.slug == "in-blocks" and "need not be one array" in parts.text
    assert parts.code == "y = jax.lax.map(f, xs, batch_size=max(len(xs) // 128, 1))"
    assert shapes.slug == "shapes-without-running" and "343,630,440,000 numbers" in shapes.text
    assert shapes.code == "print(jax.eval_shape(f, *arguments))"


def test_what_no_work_takes_is_a_mistake() -> None:
    ran_out = RAN_OUT.replace("1.25TiB", "44.00TiB").replace("1374521760000", "48378511622144")
    assert [each.slug for each in of_jax(ran_out)][:1] == ["shapes-without-running"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [(412316860416, "far too much work in one call"), (48378511622144, "a size is a mistake, or")],
)
def test_the_message_alone_means_all_temporaries_most_likely(asked: int, said: str) -> None:
    message = f"RESOURCE_EXHAUSTED: Out of memory while trying to allocate {asked} bytes."
    report = explained(f"import jax\nmy jitted step\nXlaRuntimeError: {message}\n")
    assert said in report.verdict
    assert ("let one call do far less" in report.actions[0].remedy.text) is ("far too" in said)


def test_no_other_framework_is() -> None:
    slugs = [action.remedy.slug for action in explained(f"bfc_allocator.cc:501] {RAN_OUT}").actions]
    assert "shapes-without-running" not in slugs


@pytest.mark.parametrize("of_rows, saves", [(None, 192), (6, 192), (192, 192), (200, 200)])
def test_smaller_maps_save_a_part_of_the_failed_one_at_least(of_rows: int | None, saves: int) -> None:
    def of_the_list(moment: int, change: str, *_: object, **__: object) -> Saving:
        return Saving(change, SavingBasis.LIST, of_rows and of_rows * MIB)

    moment = failed((64, 64, 64, 256), "net/Relu", books=Balance(limit=Size.exactly(100 * MIB)))
    (told,) = request_larger_than_device.check(replace(case(moment), what_if=of_the_list))
    (maps,) = (each for each in told.remedies if each.slug == "smaller-input")
    assert maps.saves_bytes == saves * MIB


PAIRED = (
    'Traceback (most recent call last):\n  File "near.py", line 9, in <module>\n    {line}\n'
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with"
    " shape[20000,30000{more}] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator"
    " GPU_0_bfc [Op:{op}]\nLimit:                 2000000000\n"
)


@pytest.mark.parametrize(
    ("line", "more", "op"),
    [
        ("likeness = tf.matmul(users, items, transpose_b=True)", "", "MatMul"),
        ("gap = users[:, None, :] - items[None, :, :]", ",8", "Sub"),
    ],
)
def test_rows_that_are_compared_are_no_batch(line: str, more: str, op: str) -> None:
    report = explained(PAIRED.format(line=line, more=more, op=op))
    slugs = [action.remedy.slug for action in report.actions]
    assert "in-blocks" in slugs
    assert not {"smaller-batch", "check-the-matrix"} & {*slugs}


def test_another_product_may_have_a_batch() -> None:
    report = explained(PAIRED.format(line="y = tf.matmul(x, kernel)", more="", op="MatMul"))
    assert "smaller-batch" in [action.remedy.slug for action in report.actions]
