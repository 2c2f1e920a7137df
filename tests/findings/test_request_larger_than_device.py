"""A request that no device can hold: what to look for where no shape is told."""

from __future__ import annotations

import pytest

from tests.findings.test_edges_of_tensors import failed
from tests.findings.test_support import case
from tests.findings.test_what_is_no_batch import explained
from tfmemlens.findings import request_larger_than_device
from tfmemlens.model.case import Balance
from tfmemlens.model.what_if import Saving, SavingBasis
from tfmemlens.units import MIB, Size
from tfmemlens.values import replace

RAN_OUT = (
    "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.25TiB (rounded to 1374521760000)requested"
    " by op \n"
)


def test_a_program_of_jax_is_asked_for_the_shapes() -> None:
    text = f"jax version 0.4.30\nexternal/xla/xla/tsl/framework/bfc_allocator.cc:501] {RAN_OUT}"
    first = explained(text).actions[0].remedy
    assert first.slug == "shapes-without-running" and "343,630,440,000 numbers" in first.text
    assert first.code == "print(jax.eval_shape(f, *arguments))"


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
