"""The ops of an optimizer without a scope, as Keras 2.11's Adam has them in a step's graph."""

from __future__ import annotations

from tests.attribution.test_updates import told
from tfmemlens.model.attribution import Kind, Phase

UPDATE = ("net/dense", Kind.WORKSPACE, Phase.OPTIMIZER)
GRADIENT = "gradient_tape/net/dense/MatMul=MatMul x y"
MOMENT = (
    GRADIENT,
    "m=_Arg",
    "sub/ReadVariableOp=ReadVariableOp m",
    "sub=Sub gradient_tape/net/dense/MatMul sub/ReadVariableOp",
    "rate=Const",
    "mul=Mul rate sub",
    "AssignAddVariableOp=AssignAddVariableOp m mul",
)
WEIGHT = (
    "ReadVariableOp_1=ReadVariableOp m ^AssignAddVariableOp",
    "mul_1=Mul ReadVariableOp_1 rate",
    "w=_Arg",
    "AssignSubVariableOp=AssignSubVariableOp w mul_1",
)


def test_what_a_gradient_comes_through_on_its_way_to_an_assignment() -> None:
    found = told(*MOMENT)
    assert found["sub"] == found["mul"] == UPDATE


def test_what_reads_a_variable_that_was_written_so() -> None:
    assert told(*MOMENT, *WEIGHT)["mul_1"] == UPDATE
    assert "mul_1" not in told("m=_Arg", "rate=Const", *WEIGHT)


def test_a_square_whose_output_two_ops_of_the_update_read() -> None:
    found = told(
        GRADIENT,
        "Square=Square gradient_tape/net/dense/MatMul",
        "a=Mul Square",
        "b=Neg Square",
        "c=AddN a b",
        "v=_Arg",
        "AssignVariableOp=AssignVariableOp v c",
    )
    assert {found[name] for name in ("Square", "a", "b", "c")} == {UPDATE}


def test_the_models_own_ops_are_not_touched() -> None:
    """One that something else reads, one in a scope, a metric's sum, and a state that no gradient reaches."""
    assert "sub" not in told(*MOMENT, "loss=Sum sub")
    scoped = [each.replace("sub=", "net/sub=").replace(" sub", " net/sub") for each in MOMENT]
    assert "net/sub" not in told(*scoped)
    metric = ("total=_Arg", "Sum=Sum x", "AssignAddVariableOp_1=AssignAddVariableOp total Sum")
    assert "Sum" not in told(*MOMENT, *metric)


def test_an_op_that_nobody_reads_is_left_alone() -> None:
    assert "mul_9" not in told(*MOMENT, "mul_9=Mul gradient_tape/net/dense/MatMul")
