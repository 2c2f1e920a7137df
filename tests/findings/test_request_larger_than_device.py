"""A request that no device can hold: what to look for where no shape is told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.findings.test_what_is_no_batch import explained
from tfmemlens.findings import request_larger_than_device
from tfmemlens.model.finding import Remedy
from tfmemlens.units import MIB

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
def test_smaller_maps_save_a_part_of_the_failed_one_at_least(
    monkeypatch: pytest.MonkeyPatch, of_rows: int | None, saves: int
) -> None:
    held = Remedy("halve", saves_bytes=of_rows and of_rows * MIB)
    monkeypatch.setattr(request_larger_than_device.remedies, "of_change", lambda *given: held)
    case: Any = None
    told = request_larger_than_device._smaller_maps(case, 0, "halve", 192 * MIB)
    assert told.saves_bytes == saves * MIB
