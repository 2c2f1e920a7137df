"""What a change buys of a list whose rows stand for several tensors each."""

from __future__ import annotations

import pytest

from tests.findings.test_support import held
from tfmemlens.model.allocation import UNLISTED, Allocation, AllocationTable
from tfmemlens.model.attribution import NOBODY, Attribution, Kind, Owner, Phase
from tfmemlens.model.capture import Hints
from tfmemlens.model.finding import Certainty
from tfmemlens.model.what_if import Saving
from tfmemlens.values import replace
from tfmemlens.what_if import changes, summed
from tfmemlens.what_if.basis import rows_basis

ACTIVATIONS = 16 * 640
GRADIENTS = 2 * 640
GROWING = ACTIVATIONS + GRADIENTS
WEIGHTS = 2 * 100


def saved(change: str, to_batch: int | None = None, batch: int | None = 8) -> Saving:
    rows = [
        Allocation("net/a/Relu", 640, count=16, shape=(8, 20), dtype="float32"),
        Allocation("gradients/a", 640, count=2, shape=(8, 20), dtype="float32"),
        Allocation("net/w", 100, count=2, shape=(25,), dtype="float32"),
        Allocation("net/w/Adam", 50, count=3, shape=(25,), dtype="float32"),
    ]
    kinds = (Kind.ACTIVATION, Kind.GRADIENT, Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
    phases = (Phase.FORWARD, Phase.GRADIENT, Phase.FORWARD, Phase.OPTIMIZER)
    owners = [Owner("net", kind, phase) for kind, phase in zip(kinds, phases, strict=True)]
    moment = replace(held(), attribution=Attribution(AllocationTable.of(rows), owners))
    basis = rows_basis(moment, Hints(batch=batch))
    assert basis is not None
    return summed.saving(basis, change, to_batch)


@pytest.mark.parametrize(
    "change, to_batch, best, low, high",
    [
        (changes.SMALLER_BATCH, None, GROWING // 2, GROWING // 4, GROWING // 2),
        (changes.SMALLER_BATCH, 2, GROWING * 3 // 4, GROWING * 3 // 8, GROWING * 3 // 4),
        (changes.SMALLER_BATCH, 0, 0, 0, 0),
        (
            changes.GRADIENT_ACCUMULATION,
            None,
            GROWING // 2 - WEIGHTS,
            GROWING // 4 - WEIGHTS,
            GROWING // 2 - WEIGHTS,
        ),
        (changes.LIGHTER_OPTIMIZER, None, 150, 75, 150),
        (changes.RECOMPUTE, None, ACTIVATIONS // 2, 0, GROWING),
    ],
)
def test_each_of_a_rows_tensors_counts(
    change: str, to_batch: int | None, best: int, low: int, high: int
) -> None:
    found = saved(change, to_batch)
    assert (found.best_bytes or 0, found.low_bytes or 0, found.high_bytes or 0) == (best, low, high)
    assert found.certainty is (Certainty.ESTIMATE if best else None)


def test_mixed_precision_adds_half_of_the_weights() -> None:
    found = saved(changes.MIXED_PRECISION)
    assert found.best_bytes == round(0.45 * GROWING) - WEIGHTS // 2
    assert found.high_bytes == GROWING // 2 - WEIGHTS // 2


@pytest.mark.parametrize("batch, to_batch", [(8, 4), (1, None), (None, 4)])
def test_the_batch_that_half_of_it_is(batch: int | None, to_batch: int | None) -> None:
    found = saved(changes.SMALLER_BATCH, batch=batch)
    assert found.to_batch == to_batch
    assert found.best_bytes == (None if batch == 1 else GROWING // 2)


@pytest.mark.parametrize("unlisted, best", [(0, 640 // 2), (1000, 320 + 400), (100, 320 + 40)])
def test_of_what_a_list_does_not_name_goes_as_much_as_of_the_rest(unlisted: int, best: int) -> None:
    """Of 800 named bytes 640 grow with the batch."""
    rows = [
        Allocation("net/a/Relu", 640, shape=(8, 20), dtype="float32"),
        Allocation("net/w", 160, shape=(40,), dtype="float32"),
        *([Allocation(None, unlisted, purpose=UNLISTED)] if unlisted else []),
    ]
    owners = [Owner("net", Kind.ACTIVATION, Phase.FORWARD), Owner("net", Kind.PARAMETER, Phase.NONE), NOBODY]
    moment = replace(held(), attribution=Attribution(AllocationTable.of(rows), owners[: len(rows)]))
    basis = rows_basis(moment, Hints(batch=8))
    assert basis is not None
    found = summed.saving(basis, changes.SMALLER_BATCH)
    assert found.best_bytes == best
    assert found.high_bytes is not None and found.high_bytes >= best
