"""Slots, counters and updates by name, and names that are read by their families."""

from __future__ import annotations

import pytest

from tfmemlens.attribution.names.node_names import owner_of
from tfmemlens.attribution.names.optimizers import slot_of, update_of
from tfmemlens.attribution.names.owner_cache import owner_like
from tfmemlens.model.attribution import Kind


@pytest.mark.parametrize(
    "name, variable",
    [
        ("conv/kernel/Adam_1", "conv/kernel"),
        ("conv/kernel/Adam/read", "conv/kernel"),
        ("Adam/m/conv/kernel", "conv/kernel"),
        ("Adam/update_conv/kernel/ApplyAdam", None),
        ("beta1_power", "beta1_power"),
        ("training/beta1_power/read", "training"),
        ("net/beta2_power_1", "net"),
        ("global_step", "global_step"),
        ("conv/kernel", None),
    ],
)
def test_the_variable_of_a_slot(name: str, variable: str | None) -> None:
    assert slot_of(name) == variable


@pytest.mark.parametrize(
    "name, updated",
    [
        ("Adam/update_conv/kernel/ApplyAdam", "conv/kernel"),
        ("train/update_conv/kernel/mul_1/ApplyAdam", "conv/kernel"),
        ("train/update_conv/kernel/mul/sub/ApplyAdam", "conv/kernel"),
        ("train/update_mul/ApplyAdam", "mul"),
        ("train/update_mul/conv/ApplyAdam", "mul/conv"),
        ("train/update_3/ApplyAdam", ""),
        ("Adam/beta1", ""),
        ("training/x", ""),
        ("training_1/x", ""),
        ("training", None),
        ("Adam/gradients/x", None),
        ("conv/kernel", None),
    ],
)
def test_what_an_update_works_on(name: str, updated: str | None) -> None:
    assert update_of(name) == updated


@pytest.mark.parametrize(
    "name",
    [
        "lstm_cell/MatMul_132",
        "lstm_7/lstm_cell_7/MatMul_132",
        "tower_3/conv_2/Relu_1",
        "a_1/b_2/c_3/d_4/e_5/f_6/g_7/h_8/i_9/Relu",
        "a_1/b_2/c_3/d_4/e_5/f_6/g_7/h_8/i_9/j_10/Relu",
        "a_770001/Relu_2",
        "net/conv/Relu",
        "x_5",
        "gradients/conv_3/Conv2D_grad/Conv2DBackpropFilter",
        "gradients_2/conv_3/Relu_3_grad/ReluGrad",
        "replica_1/conv_2/Relu",
    ],
)
def test_a_family_is_read_as_each_of_its_names(name: str) -> None:
    assert owner_like(name) == owner_of(name)
    assert owner_like(name, "Relu") == owner_of(name, "Relu")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Adam/Fill", Kind.OPTIMIZER_SLOT),
        ("Adam/zeros_like", Kind.OPTIMIZER_SLOT),
        ("Adam/Mul", Kind.WORKSPACE),
        ("Adam/gradients/net/Fill", Kind.GRADIENT),
        ("net/Fill", Kind.ACTIVATION),
    ],
)
def test_what_an_optimizer_fills_is_a_slot(name: str, kind: Kind) -> None:
    """A slot of an eager step is made by an op in the optimizer's scope, and has no other name there."""
    assert owner_of(name).kind is kind
