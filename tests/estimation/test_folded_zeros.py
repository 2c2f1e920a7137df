"""Zeros that gradients choose from: folded constants where the batch is known, as measured (2.11, 2.21)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.estimation.test_time_steps import ops, step
from tests.estimation.test_updates import layer, network
from tfmemlens.estimation.keras_step.prediction import PredictedStep


def merged(kind: str, name: str, one: str, two: str) -> dict[str, Any]:
    made = layer(kind, name)
    made["inbound_nodes"] = [[[one, 0, 0, {}], [two, 0, 0, {}]]]
    return made


def wider(samples: int | None, merge: str = "Maximum") -> PredictedStep:
    """Two of the same shape and one of another are the greater of two, at a batch of 8."""
    return step(
        network(
            [
                layer("InputLayer", "x", batch_input_shape=[None, 12], dtype="float32"),
                *(layer("Dense", f"d{at}", "x", units=width) for at, width in enumerate((6, 6, 6, 9, 9))),
                merged(merge, "m", "d0", "d1"),
                merged(merge, "n", "m", "d2"),
                merged(merge, "o", "d3", "d4"),
                merged("Concatenate", "all", "n", "o"),
                layer("Dense", "end", "all", units=1),
            ],
            "3.9.0",
        ),
        8,
        samples=samples,
    )


@pytest.mark.parametrize("samples", [None, 24])
def test_the_zeros_of_a_maximum_stand_folded_once_for_each_shape(samples: int | None) -> None:
    predicted = wider(samples)
    assert sorted(each.bytes for each in predicted.step.tape.constants) == [8 * 6 * 4, 8 * 9 * 4]
    assert not ops(predicted, "Fill")


def test_near_miss_zeros_are_made_in_the_step_where_the_last_batch_is_smaller() -> None:
    predicted = wider(26)
    assert not predicted.step.tape.constants
    assert len(ops(predicted, "Fill")) == 3


def test_near_miss_a_sum_needs_no_zeros() -> None:
    assert not wider(None, "Add").step.tape.constants
