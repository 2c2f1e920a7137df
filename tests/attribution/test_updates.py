"""Slots, assignments and constants of optimizers with names of the user's own, by the ops that update."""

from __future__ import annotations

import pytest

from tfmemlens.attribution.moments.updates import owners_of_updates
from tfmemlens.attribution.names.live_names import LiveNames
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import Attribution, Kind, Owner, Phase
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.incident import FailedRequest
from tfmemlens.model.live_model import LiveModel, LiveVariable, TracedFunction
from tfmemlens.model.tensor import TensorType
from tfmemlens.values import replace

Told = dict[str, tuple[str | None, Kind, Phase]]
SLOT = ("net/conv", Kind.OPTIMIZER_SLOT, Phase.OPTIMIZER)


def told(*nodes: str) -> Told:
    """Layer, kind and phase by node; `m=VarHandleOp`, `up=ApplyAdam w m` with its inputs."""
    made = {}
    for each in nodes:
        name, _, rest = each.partition("=")
        op, *inputs = rest.split()
        made[name] = Node(name, op, tuple(inputs))
    found = owners_of_updates(Graph(made))
    return {name: (owner.layer, owner.kind, owner.phase) for name, owner in found.items()}


W, M = "net/conv/kernel=VarHandleOp", "mine/m=VarHandleOp"


class TestSlots:
    def test_what_an_update_reads_beside_its_variable(self) -> None:
        found = told(W, M, "mine/v=VarHandleOp", "mine/up=ResourceApplyAdam net/conv/kernel mine/m mine/v")
        assert found["mine/m"] == found["mine/v"] == SLOT
        assert found["mine/up"] == ("net/conv", Kind.WORKSPACE, Phase.OPTIMIZER)
        assert "net/conv/kernel" not in found

    def test_its_own_variable_is_no_slot(self) -> None:
        assert "net/conv/kernel" not in told(W, "up=ApplyAdam net/conv/kernel net/conv/kernel")

    def test_through_switches_and_identities(self) -> None:
        found = told(W, M, "s=RefSwitch mine/m", "i=Identity s:1", "up=ApplyMomentum net/conv/kernel i")
        assert found["mine/m"] == SLOT

    @pytest.mark.parametrize("passed, known", [(7, True), (8, False)])
    def test_through_seven_of_them(self, passed: int, known: bool) -> None:
        names = [f"i{number}" for number in range(passed)]
        chain = [f"{name}=Identity {before}" for name, before in zip(names, ["mine/m", *names], strict=False)]
        found = told(W, M, *chain, f"up=ApplyMomentum net/conv/kernel {names[-1]}")
        assert (found.get("mine/m") == SLOT) is known

    def test_a_value_is_no_variable(self) -> None:
        """A learning rate that is read, and one that is computed."""
        rate = "rate=VarHandleOp"
        up = "up=ApplyMomentum net/conv/kernel x gone"
        assert "rate" not in told(W, rate, "rate/read=Identity rate", up.replace("x", "rate/read"))
        assert "rate" not in told(W, rate, "r=Mul rate", up.replace("x", "r"))
        assert told(W, rate, up.replace("x", "rate"))["rate"] == SLOT

    def test_without_its_variable_an_update_tells_nothing(self) -> None:
        assert told(M, "up=ApplyMomentum gone mine/m") == {}
        assert told(M, "up=ApplyMomentum") == {}
        assert told(W, M, "up=NoOp net/conv/kernel mine/m") == {}
        assert owners_of_updates(None) == {}


class TestUnderVariables:
    def test_a_variable_below_another_is_its_slot(self) -> None:
        below = "net/conv/kernel/AdamWeightDecay_1=VarHandleOp"
        assert told(W, below) == {"net/conv/kernel/AdamWeightDecay_1": SLOT}
        assert told("net/conv/other=VarHandleOp", below) == {}
        assert told("net/conv=VarHandleOp", below) == {}


class TestAssignments:
    def test_what_they_allocate_is_the_variables(self) -> None:
        found = told(W, "a=AssignVariableOp net/conv/kernel x", "b=Assign x net/conv/kernel")
        assert found == {"a": ("net/conv", Kind.PARAMETER, Phase.OPTIMIZER)}

    def test_also_a_slots(self) -> None:
        found = told(W, M, "up=ApplyAdam net/conv/kernel mine/m", "a=Assign mine/m x")
        assert found["a"] == SLOT


def test_constants_in_the_scope_of_an_optimizer() -> None:
    found = told(
        W, M, "My/update_w/ApplyAdam=ApplyAdam net/conv/kernel mine/m", "My/beta1=Const", "Other/beta1=Const",
        "My/deep/beta1=Const", "beta1=Const", "My/x=Relu",
    )  # fmt: skip
    assert {name for name, (_, kind, _) in found.items() if kind is Kind.CONSTANT} == {"My/beta1"}
    assert found["My/beta1"] == (None, Kind.CONSTANT, Phase.OPTIMIZER)


# ------------------------------------------------------------------ the names of the live model

MODEL = LiveModel(
    ("net",),
    (("body", "Dense"), ("down/conv", "Conv2D"), ("up/conv", "Conv2D"), ("conv_2", "Conv2D"),
     ("mine", "TheirOwn")),
    outputs=(("body", (None, 10)), ("down/conv", (None, 8, 8, 4)), ("up/conv", (None, 8, 8, 4)),
             ("conv_2", (None, 9, 9, 4))),
)  # fmt: skip
NAMES = LiveNames(MODEL)


def layer(name: str | None, phase: Phase = Phase.FORWARD) -> Owner:
    return Owner(name, Kind.ACTIVATION, phase)


@pytest.mark.parametrize(
    "scope, name",
    [
        ("body", "body"),
        ("net/body/Gelu/inner", "body"),
        ("net/mine/inner", "mine/inner"),
        ("net_1/down_3/conv_5", "down/conv"),
        ("conv_2", "conv_2"),
        ("conv_2_1", "conv_2"),
        ("a/b/c/body", "body"),
        ("a/b/c/d/body", "a/b/c/d/body"),
        ("unknown", "unknown"),
    ],
)
def test_scopes_of_the_models_layers(scope: str, name: str) -> None:
    assert NAMES.owner(layer(scope)).layer == name
    assert NAMES.owner(layer(scope)).layer == name  # asked again
    assert LiveNames(None).owner(layer(scope)).layer == scope


def test_rows_and_nodes() -> None:
    rows = AllocationTable.of([Allocation("x", 1), Allocation(None, 1)])
    whose = Attribution(rows, [layer("net/body"), layer(None)])
    assert [each.layer for each in NAMES.attribution(whose).owners] == ["body", None]
    assert LiveNames(None).attribution(whose) is whose
    table = AllocationTable.of(
        [Allocation(name, 1) for name in ("net/body/MatMul", "other/MatMul", "z", None)]
    )
    given = {"z": layer("net/down_1/conv"), "far": layer("net/body")}
    found = NAMES.of_rows(table, given)
    assert {name: each.layer for name, each in found.items()} == {
        "net/body/MatMul": "body", "z": "down/conv", "far": "net/body",
    }  # fmt: skip
    assert LiveNames(None).of_rows(table, given) == given


@pytest.mark.parametrize(
    "known, shape, phase, name",
    [
        (None, (32, 10), Phase.FORWARD, "body"),
        (None, (32, 10), Phase.GRADIENT, None),
        (None, None, Phase.FORWARD, None),
        (None, (32, 11), Phase.FORWARD, None),
        (None, (32, 8, 8, 4), Phase.FORWARD, None),  # two return it
        ("Conv2D", (32, 9, 9, 4), Phase.FORWARD, "conv_2"),  # an eager op has its class alone
        ("Conv2D", (32, 10), Phase.FORWARD, "Conv2D"),  # a layer of another class returns it
        ("down/conv", (32, 10), Phase.FORWARD, "down/conv"),
        ("mine", (32, 10), Phase.FORWARD, "mine"),
    ],
)
def test_a_request_is_of_the_one_layer_that_returns_its_shape(
    known: str | None, shape: tuple[int, ...] | None, phase: Phase, name: str | None
) -> None:
    request = FailedRequest(shape=shape)
    assert NAMES.of_request(layer(known, phase), request).layer == name
    assert LiveNames(None).of_request(layer(known, phase), request).layer == known


def weight(path: str, *shape: int, kind: Kind = Kind.PARAMETER) -> LiveVariable:
    return LiveVariable(f"{path}/w", path, kind, TensorType(shape, "float32"))


@pytest.mark.parametrize(
    "known, kind, phase, shape, name",
    [
        (None, Kind.PARAMETER, Phase.FORWARD, (9, 4), "table"),
        ("RandomUniform", Kind.PARAMETER, Phase.FORWARD, (9, 4), "table"),  # an eager op
        (None, Kind.OPTIMIZER_SLOT, Phase.NONE, (9, 4), "table"),
        (None, Kind.OPTIMIZER_SLOT, Phase.OPTIMIZER, (9, 4), "table"),
        (None, Kind.WORKSPACE, Phase.OPTIMIZER, (9, 4), "table"),
        (None, Kind.WORKSPACE, Phase.OPTIMIZER, (4, 4), None),
        ("Square_8", Kind.WORKSPACE, Phase.OPTIMIZER, (9, 4), "table"),  # what the update computes
        (None, Kind.ACTIVATION, Phase.NONE, (9, 4), None),
        ("mine", Kind.PARAMETER, Phase.FORWARD, (9, 4), "mine"),
        (None, Kind.PARAMETER, Phase.FORWARD, (9, 5), None),  # only a slot has it
        (None, Kind.PARAMETER, Phase.FORWARD, (4, 4), None),  # two layers have it
        (None, Kind.PARAMETER, Phase.FORWARD, (4,), None),  # a vector
    ],
)
def test_a_weight_that_is_being_made_is_of_the_one_layer_that_has_its_shape(
    known: str | None, kind: Kind, phase: Phase, shape: tuple[int, ...], name: str | None
) -> None:
    slot = weight("table", 9, 5, kind=Kind.OPTIMIZER_SLOT)
    live = LiveModel(
        (), (), (weight("table", 9, 4), weight("a", 4, 4), weight("b", 4, 4), weight("c", 4), slot)
    )
    owner = replace(layer(known, phase), kind=kind)
    request = FailedRequest(shape=shape, op="RandomUniform")
    assert LiveNames(live).of_request(owner, request).layer == name


@pytest.mark.parametrize(
    "function, layers, scope, name",
    [
        ("gpu_lstm_with_fallback", (("both/ahead", "LSTM"),), "while_15", "both/ahead"),
        ("standard_gru", (("both/ahead", "GRU"), ("both/back", "GRU")), "while", "both"),
        ("standard_gru", (("one", "GRU"), ("two", "GRU")), "while", "while"),  # which of them
        ("standard_gru", (("one", "LSTM"),), "while", "while"),
        ("train_step", (("one", "LSTM"),), "while", "while"),  # a loop of the user's own
        ("standard_lstm", (("one", "LSTM"),), "while_x", "while_x"),
    ],
)
def test_a_loop_in_a_function_of_keras_is_of_the_one_recurrent_layer(
    function: str, layers: tuple[tuple[str, str], ...], scope: str, name: str
) -> None:
    live = LiveModel((), layers, functions=(TracedFunction(function, 2, 9),))
    assert LiveNames(live).owner(layer(scope)).layer == name


def test_what_an_optimizer_makes_is_of_the_one_layer_with_such_a_weight() -> None:
    kernel, other = TensorType((24, 96), "float32"), TensorType((8, 8), "float32")
    model = LiveModel(
        ("net",),
        (("body", "Dense"), ("head", "Dense"), ("tail", "Dense")),
        variables=tuple(
            LiveVariable(f"{name}/kernel", name, Kind.PARAMETER, tensor, "CPU:0")
            for name, tensor in (("body", kernel), ("head", other), ("tail", other))
        ),
    )
    made = Owner(None, Kind.OPTIMIZER_SLOT, Phase.OPTIMIZER)
    rows = AllocationTable.of([Allocation("Adam/Fill", 1, shape=shape) for shape in ((24, 96), (8, 8), None)])
    named = LiveNames(model).attribution(Attribution(rows, [made] * 3))
    assert [owner.layer for owner in named.owners] == ["body", None, None]  # two layers have such a weight
    forward = LiveNames(model).attribution(Attribution(rows, [layer(None)] * 3))
    assert [owner.layer for owner in forward.owners] == [None] * 3
