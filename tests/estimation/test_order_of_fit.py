"""In which order a step of `fit` runs its gradients, as its optimized graphs and profiles show it (TensorFlow
2.11, 2.21); `train_on_batch` is given its batch, and runs in another.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from tests.estimation.test_time_steps import _is_kept, ops, step
from tests.estimation.test_updates import layer, network
from tests.models import gzipped
from tfmemlens.estimation.keras_step.lowering._context import rounds_of_updates
from tfmemlens.estimation.keras_step.optimizers import optimizer as optimizer_of
from tfmemlens.estimation.keras_step.prediction import PredictedStep
from tfmemlens.estimation.keras_step.schedule import SchedulePlan, run
from tfmemlens.estimation.keras_step.update_order import update_order
from tfmemlens.knowledge.bfc import RecordedPool
from tfmemlens.model.network import Network
from tfmemlens.readers.keras_models._documents import network_of


def convolutions(count: int, rank: int = 2) -> Network:
    """So many convolutions of a picture or a series, each with two weights."""
    layers = [layer("InputLayer", "x", batch_shape=[None, *[8] * rank, 4])]
    for at in range(count):
        layers.append(
            layer(
                f"Conv{rank}D",
                f"c{at}",
                layers[-1]["name"],
                filters=4,
                kernel_size=[3] * rank,
                padding="same",
            )
        )
    return network(layers, "3.9.0")


def executed(predicted: PredictedStep) -> list[str]:
    """The names of the ops, as one thread runs them."""
    plan = SchedulePlan(predicted.step.tape.ops, predicted.step.tape.buffers)
    return [name for name, _, _ in run(plan, RecordedPool(), None, 1, None, Random(0)).executions]


def test_the_gradient_of_the_first_filter_is_the_last_in_fit() -> None:
    filters = [name for name in executed(step(convolutions(4), 2, samples=6)) if "BackpropFilter" in name]
    assert filters[-1] == "gradient_tape/c0/Conv2DBackpropFilter"


def test_near_miss_it_waits_for_nothing_where_the_batch_is_given() -> None:
    predicted = step(convolutions(4), 2)
    assert not ops(predicted, "Const")
    assert not ops(step(convolutions(4), 2, samples=6, training=False), "Const")


def test_it_waits_where_the_batch_goes_in_alone() -> None:
    predicted = step(convolutions(4), 2, samples=6)
    sizes = set(ops(predicted, "Const")[0].writes)
    filters = ops(predicted, "Conv2DBackpropFilter")
    waiting = [op.name for op in filters if set(op.reads) & sizes]
    assert waiting == ["gradient_tape/c0/Conv2DBackpropFilter"]


def kernels_that_run_first(predicted: PredictedStep, version: int = 3) -> list[str]:
    """The layers whose kernel's gradient one thread runs before that of their input."""
    tape = predicted.step.tape
    updates = update_order(optimizer_of("sgd"), version == 3, len(tape.trainables))
    plan = SchedulePlan(tape.ops, tape.buffers, frozenset(), updates)
    names = [name for name, _, _ in run(plan, RecordedPool(), None, 1, None, Random(0)).executions]
    layers = sorted({name.split("/")[1] for name in names if "BackpropInput" in name})
    return [
        layer
        for layer in layers
        if names.index(f"gradient_tape/{layer}/Conv2DBackpropFilter")
        < names.index(f"gradient_tape/{layer}/Conv2DBackpropInput")
    ]


@pytest.mark.parametrize("rank", [1, 2])
def test_in_keras_2_the_gradients_of_the_first_kernels_run_before_those_of_their_inputs(rank: int) -> None:
    """The weights 2, 4 and 6, whose updates are named `_4`, `_6` and `_8`: `_9` comes first."""
    net = replace(convolutions(11, rank), dialect="keras-2", version="2.11.0")
    predicted = step(net, 2, samples=6)
    assert kernels_that_run_first(predicted, 2) == ["c1", "c2", "c3"]


def test_in_keras_3_those_of_a_few_in_the_middle_do_with_sgd() -> None:
    """The walk begins at one of `_14` to `_18` and comes to `_1` before the others."""
    found = kernels_that_run_first(step(convolutions(11), 2, samples=6))
    assert found and set(found) <= {"c5", "c6", "c7", "c8", "c9"}


def test_near_miss_no_place_decides_where_the_batch_is_given() -> None:
    tape = step(convolutions(3), 2).step.tape
    assert all(op.place is None for op in tape.ops)
    assert any(op.place is not None for op in step(convolutions(3), 2, samples=6).step.tape.ops)


def test_onednns_kernel_with_a_bias_has_a_rank_of_its_own() -> None:
    predicted = step(convolutions(3), 2, samples=6, onednn=True)
    assert all(op.place is None for op in predicted.step.tape.ops)


def skips(count: int) -> Network:
    """Convolutions of one picture, all summed."""
    layers = [layer("InputLayer", "x", batch_shape=[None, 8, 8, 4])]
    layers.append(layer("Conv2D", "stem", "x", filters=4, kernel_size=[1, 1]))
    names = [f"s{at}" for at in range(count)]
    layers += [layer("Conv2D", name, "stem", filters=4, kernel_size=[1, 1], use_bias=False) for name in names]
    layers.append(layer("Add", "sum", "stem") | {"inbound_nodes": [[[name, 0, 0, {}] for name in names]]})
    layers.append(layer("ReLU", "relu", "sum"))
    return network(layers, "3.9.0")


def readers(count: int, seed: int) -> list[int]:
    """Those of the gradient that so many convolutions share, by their place in the tape."""
    predicted = step(skips(count), 2, samples=6)
    plan = SchedulePlan(predicted.step.tape.ops, predicted.step.tape.buffers)
    whose = max(
        range(len(plan.ops)),
        key=lambda index: sum("Backprop" in plan.ops[each].op for each in plan.followers[index]),
    )
    return plan.ordered(Random(seed))[whose]


def test_many_readers_of_a_gradient_stand_as_in_a_hash_table_of_their_addresses() -> None:
    """Neighbours stay together: two or three fall into one bucket."""
    for seed in range(20):
        order = readers(7, seed)
        kernels, inputs = sorted(order)[::2], sorted(order)[1::2]  # they take turns on the tape
        made = [*reversed(kernels), *reversed(inputs)]
        assert len(set(order)) == 14
        falls = sum(after < before for before, after in pairwise(made.index(index) for index in order))
        assert falls <= 4  # so many buckets are there
    assert len({tuple(readers(7, seed)) for seed in range(20)}) > 5


def test_near_miss_up_to_eight_stand_by_their_ranks() -> None:
    """The inputs' gradients behind nearly all of the kernels'."""
    predicted = step(skips(4), 2, samples=6)
    names = [op.name for op in predicted.step.tape.ops]
    last = [names[readers(4, seed)[-1]].rpartition("/")[2] for seed in range(40)]
    assert last.count("Conv2DBackpropInput") > 30


def test_attention_in_fit_keeps_the_product_of_its_weights_in_each_layer() -> None:
    told = json.loads(gzipped("peaks-2.21.json.gz")["models"]["transformer"])
    predicted = step(network_of(told, "net"), 16, samples=48)
    whole = 16 * 4 * 128 * 128 * 4
    assert len([op for op in ops(predicted, "Mul") if op.reads and _is_kept(predicted, op, whole)]) == 2


def dense_layers(count: int, version: str = "3.9.0", time: int | None = None) -> Network:
    """So many dense layers with ReLU after every second one."""
    shape = [None, 6] if time is None else [None, time, 6]
    layers = [layer("InputLayer", "x", batch_shape=shape)]
    before = "x"
    for at in range(count):
        activation = "relu" if at % 2 else "linear"
        layers.append(layer("Dense", f"d_{at}", before, units=6, activation=activation))
        before = f"d_{at}"
    return network(layers, version)


def test_the_walk_goes_through_the_names_of_the_updates_as_text() -> None:
    rounds = rounds_of_updates(164)
    assert {place for place in range(164) if place not in rounds} == {*range(10), *range(90, 100)}
    assert {rounds[place] for place in range(100, 164)} == {1}
    assert {rounds[place] for place in range(10, 90)} == {2}


def test_of_few_weights_all_behind_the_tenth_are_of_the_first_round() -> None:
    assert rounds_of_updates(16) == dict.fromkeys(range(10, 16), 1)
    assert rounds_of_updates(9) == {}


def waiting(network: Network) -> int:
    """How many products of the backward pass stand in front of all other readers."""
    return sum(op.rank < -1 for op in ops(step(network, 2), "MatMul"))


def test_kernels_of_the_second_round_wait_in_a_long_step() -> None:
    assert waiting(dense_layers(80)) == 40  # the weights 10 to 89, two a layer


def test_near_miss_none_waits_in_a_short_step_or_in_keras_2() -> None:
    assert not waiting(dense_layers(20))
    assert not waiting(dense_layers(80, version="2.11.0"))


def at_once(network: Network) -> int:
    """How many products of the backward pass stand behind all other readers, and so run at once."""
    return sum(op.rank > 2 for op in ops(step(network, 2), "MatMul"))


def test_kernels_of_a_chain_behind_the_last_name_run_at_once_in_a_long_step_of_keras_2() -> None:
    assert at_once(dense_layers(80, version="2.11.0")) == 70  # `d_9` is the last as text


def test_near_miss_none_does_in_a_short_step_or_on_a_way_past_others() -> None:
    assert not at_once(dense_layers(20, version="2.11.0"))
    layers = [layer("InputLayer", "x", batch_shape=[None, 6])]
    before = "x"
    for at in range(60):
        layers.append(layer("Dense", f"d_{at}", before, units=6))
        past = layer("Add", f"sum{at}", before)
        past["inbound_nodes"] = [[[before, 0, 0, {}], [f"d_{at}", 0, 0, {}]]]
        layers.append(past)
        before = f"sum{at}"
    assert not at_once(network(layers, "2.11.0"))


def test_kernels_of_series_wait_behind_the_tenth_weight_in_short_steps_too() -> None:
    assert waiting(dense_layers(20, time=5)) == 15  # the weights 10 to 39, two a layer
    assert not waiting(dense_layers(20, version="2.11.0", time=5))


def past_every_second(count: int, time: int | None) -> Network:
    """Twice so many dense layers, with a way past every second one."""
    layers = [layer("InputLayer", "x", batch_shape=[None, 6] if time is None else [None, time, 6])]
    before = "x"
    for at in range(count):
        layers.append(layer("Dense", f"d_{2 * at}", before, units=6))
        layers.append(layer("Dense", f"d_{2 * at + 1}", f"d_{2 * at}", units=6))
        past = layer("Add", f"sum{at}", before)
        past["inbound_nodes"] = [[[before, 0, 0, {}], [f"d_{2 * at + 1}", 0, 0, {}]]]
        layers.append(past)
        before = f"sum{at}"
    return network(layers, "2.11.0")


def last_of_all(network: Network) -> int:
    """How many gradients of kernels stand in front of all other readers."""
    return sum(op.rank == -1 for op in ops(step(network, 2), "MatMul"))


def test_kernels_on_a_way_past_others_wait_in_short_steps_of_keras_2() -> None:
    assert last_of_all(past_every_second(10, None)) == 8  # before the sums, behind the tenth weight
    assert last_of_all(past_every_second(10, 5)) == 15
    assert not last_of_all(dense_layers(20, version="2.11.0"))


def test_scales_of_norms_of_series_wait_in_keras_3() -> None:
    layers = [layer("InputLayer", "x", batch_shape=[None, 5, 6])]
    for at in range(10):
        layers.append(layer("LayerNormalization", f"n_{at}", layers[-1]["name"], axis=[-1]))
        layers.append(layer("Dense", f"d_{at}", layers[-1]["name"], units=6))
    sums = ops(step(network(layers), 2), "Sum")
    assert sum(op.rank < -1 for op in sums) >= 7  # the offsets behind the tenth weight
    assert not any(op.rank < -1 for op in ops(step(network(layers, "2.11.0"), 2), "Sum"))
