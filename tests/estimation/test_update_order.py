"""Which kernels' gradients Grappler's walk reaches first: places read from the order of the executor."""

from __future__ import annotations

from random import Random

import pytest

from tfmemlens.estimation.keras_step.optimizers import optimizer
from tfmemlens.estimation.keras_step.update_order import UpdateOrder, update_order

ANTEATERS = [3, 6, 9, 12, 15, 18, 19, 22, 25, 28, 31, 32, 35, 38]
JAGUARS = [*range(3, 81, 3)]
GERANIUMS = [*range(5, 101, 3)]
AMULETS = [
    3,
    9,
    11,
    13,
    16,
    22,
    24,
    26,
    29,
    35,
    37,
    39,
    42,
    48,
    50,
    52,
    55,
    61,
    63,
    65,
    68,
    74,
    76,
    78,
    81,
    87,
]


def first(order: UpdateOrder, places: list[int]) -> list[int]:
    found = order.kernels_first(Random(0))
    return [place for place in places if place in found]


@pytest.mark.parametrize(
    ("order", "kernels", "seen"),
    [
        (UpdateOrder(42, start=(0.38, 0.38)), ANTEATERS, [22]),  # sgd, TensorFlow 2.21
        (UpdateOrder(83, start=(0.4, 0.4)), JAGUARS, [3, 30, 33, 36, 39]),  # sgd, 2.21
        (UpdateOrder(42), ANTEATERS, [3, 6, 9]),  # adagrad, 2.21
        (UpdateOrder(42, offset=2), ANTEATERS, [3, 6]),  # sgd, 2.11
        (UpdateOrder(103, offset=2), GERANIUMS, [5, 89, 92, 95]),  # sgd, 2.11
        (UpdateOrder(110, shared=110), AMULETS, AMULETS),  # adamw, 2.21
    ],
)
def test_kernels_that_run_first_in_real_steps(
    order: UpdateOrder, kernels: list[int], seen: list[int]
) -> None:
    assert first(order, kernels) == seen


def test_the_first_weight_is_always_reached_before_what_is_nearer_to_the_inputs() -> None:
    """Nothing is."""
    for count in (1, 5, 40):
        for seed in range(10):
            assert 0 in UpdateOrder(count, start=(0.0, 1.0)).kernels_first(Random(seed))


def test_a_net_without_trainable_weights_has_none() -> None:
    assert UpdateOrder(0, shared=2).kernels_first(Random(0)) == frozenset()


@pytest.mark.parametrize(
    ("name", "keras_3", "early"),
    [("sgd", True, False), ("momentum", True, False), ("rmsprop", True, False), ("sgd", False, True),
     ("adagrad", False, True)],
)  # fmt: skip
def test_where_the_walk_begins_depends_on_the_optimizer_and_on_keras(
    name: str, keras_3: bool, early: bool
) -> None:
    """Of 42 weights: the sixth."""
    order = update_order(optimizer(name), keras_3, 42)
    assert all((6 in order.kernels_first(Random(seed))) is early for seed in range(30))


def test_with_adagrad_chance_decides_in_keras_3() -> None:
    order = update_order(optimizer("adagrad"), True, 42)
    found = sum(6 in order.kernels_first(Random(seed)) for seed in range(200))
    assert 80 < found < 180
