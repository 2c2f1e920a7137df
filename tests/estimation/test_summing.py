"""Sums that Grappler makes in a temporary variable: which ones, and what they take."""

from __future__ import annotations

from typing import Any

import pytest

from tests.estimation.test_updates import layer, network
from tfmemlens.estimation.keras_step.prediction import PredictedStep, predict
from tfmemlens.estimation.keras_step.summing import sum_in_variables, sums_at_the_top
from tfmemlens.estimation.keras_step.tape import Tape, TapeValue
from tfmemlens.model.settings import StepSettings
from tfmemlens.units import MIB
from tfmemlens.values import replace


def summed(parts: int, each: int, kept: int = 0, **settings: Any) -> tuple[Tape, TapeValue]:
    """So many MiB of each part, and so many that an op at the end reads again."""
    tape = Tape(**settings)
    start = tape.op("Start", [], (1,))
    held = tape.op("Held", [start], (kept * MIB // 4,))
    made = [tape.op("Made", [start], (each * MIB // 4,)) for _ in range(parts)]
    total = tape.op("AddN", made, over=made)
    last = tape.op("Last", [total, held], (1,))
    return tape, last


def names(tape: Tape) -> list[str]:
    return [tape.ops[index].op for index in sums_at_the_top(tape.ops, tape.buffers)]


@pytest.mark.parametrize(
    ("parts", "each", "kept", "found"),
    [
        (3, 60, 0, 1),  # 240 MiB of parts and sum
        (3, 51, 0, 0),  # 204 MiB: not more than four fifths of 256
        (3, 52, 0, 1),
        (3, 10, 170, 1),  # with what is kept 210
        (3, 10, 160, 0),
        (2, 90, 0, 0),  # a sum of two stays what it is
    ],
)
def test_sums_of_three_at_a_high_point_are_rewritten(parts: int, each: int, kept: int, found: int) -> None:
    """In use while it runs: the parts and their sum, since this walk lets no op write over what it read."""
    tape, _ = summed(parts, each, kept)
    assert names(tape) == found * ["AddN"]


def test_a_sum_that_is_not_at_the_highest_point_stays() -> None:
    tape, last = summed(3, 55)
    tape.op("Large", [last], (230 * MIB // 4,))
    assert names(tape) == []


def test_it_takes_zeros_that_stand_and_the_parts_one_after_the_other() -> None:
    tape, last = summed(3, 60)
    sum_in_variables(tape)
    tape.prune([last])
    (destroyed,) = (op for op in tape.ops if op.op == "DestroyTemporaryVariable")
    (variable,) = (index for index, op in enumerate(tape.ops) if op.op == "TemporaryVariable")
    added = [index for index, op in enumerate(tape.ops) if op.op == "AssignAdd"]
    assert [value.bytes for value in tape.constants] == [60 * MIB]
    assert len(added) == 3 and destroyed.after == tuple(added)
    assert destroyed.reads == destroyed.over == tape.ops[variable].writes
    assert tape.ops[tape.ops[variable].after[0]].op == "Made"  # once one part is there


@pytest.mark.parametrize("settings", [{"open_batch": True}, {"training": False}])
def test_near_miss_sizes_that_are_open_and_no_training(settings: dict[str, bool]) -> None:
    tape, _ = summed(3, 60, **settings)
    sum_in_variables(tape)
    assert not tape.constants and not any(op.op == "TemporaryVariable" for op in tape.ops)


def normalised(batch: int, samples: int | None = None) -> PredictedStep:
    """A BatchNormalization of Keras 3, whose gradient is a sum of three, behind a dense layer."""
    layers = [
        layer("InputLayer", "rows", batch_shape=[None, 64, 64, 8], dtype="float32"),
        layer("Conv2D", "wide", "rows", filters=64, kernel_size=[1, 1]),
        layer("BatchNormalization", "norm", "wide"),
        layer("GlobalAveragePooling2D", "mean", "norm"),
        layer("Dense", "out", "mean", units=4),
    ]
    net = replace(network(layers, ends=["out"]), dialect="keras-3")
    return predict(net, StepSettings(batch, "sgd", threads=1, workers=1, onednn=False, samples=samples))


def test_a_normalisation_at_the_top_keeps_zeros_as_large_as_its_input() -> None:
    """64 x 64 x 64 numbers of each of 64 samples: 64 MiB."""
    found = normalised(64).step.tape
    assert [value.bytes for value in found.constants if value.bytes > MIB].count(64 * MIB) == 1


def test_near_miss_a_small_batch_and_one_whose_last_is_smaller() -> None:
    for found in (normalised(8), normalised(64, samples=100)):
        assert all(value.bytes < MIB for value in found.step.tape.constants)
