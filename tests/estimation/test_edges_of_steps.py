"""Edges of a simulated step: activations and small layers op by op, slots, open batches, inputs of graphs."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tests.estimation.test_ops_of_layers import WIDE, FakeTape, Value
from tfmemlens.errors import UsageError
from tfmemlens.estimation.conditions import this_machine
from tfmemlens.estimation.graph_step.capture import has_open_batch
from tfmemlens.estimation.graph_step.session import _Feeds
from tfmemlens.estimation.keras_step.lowering import _context, core, sequence
from tfmemlens.estimation.keras_step.optimizers import Optimizer
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.tensor import TensorType


def activated(name: str | None, **config: Any) -> tuple[list[str], list[str], bool]:
    """Ops of an activation and of its gradient, and whether nothing was made."""
    tape, x = FakeTape(), Value("x", WIDE)
    made = _context.activated(Made(tape=tape, config=config), x, name)  # type: ignore[arg-type]
    forward, tape.lines = tape.lines, []
    if tape.back is not None:
        tape.back(Value("grad", WIDE))
    return [line.partition(" ")[0] for line in forward], tape.lines, made is x


@pytest.mark.parametrize("name", ["linear", "identity", "none"])
def test_what_activates_nothing_makes_nothing(name: str) -> None:
    assert activated(name) == ([], [], True)


@pytest.mark.parametrize(
    "name, op, reads",
    [
        ("relu", "Relu", "Relu0"),
        ("relu6", "Relu6", "Relu60"),
        ("sigmoid", "Sigmoid", "Sigmoid0"),
        ("tanh", "Tanh", "Tanh0"),
        ("elu", "Elu", "Elu0"),
        ("selu", "Selu", "Selu0"),
        ("leakyrelu", "LeakyRelu", "x"),
        ("softplus", "Softplus", "x"),
        ("softsign", "Softsign", "x"),
        ("exponential", "Exp", "Exp0"),
        ("exp", "Exp", "Exp0"),
    ],
)
def test_whether_an_activations_gradient_reads_its_input_or_its_output(
    name: str, op: str, reads: str
) -> None:
    forward, backward, _ = activated(name)
    assert forward == [f"{op}(x)"]
    assert backward == [f"{op}Grad(grad, {reads}) [4, 8] over grad, {reads}"]


@pytest.mark.parametrize(
    "name, ops",
    [
        ("softmax", ["Softmax(x)"]),
        ("logsoftmax", ["Softmax(x)"]),
        ("hardswish", ["AddV2(x)", "Relu6(AddV20)", "Mul(Relu61)"]),
        ("hardsilu", ["AddV2(x)", "Relu6(AddV20)", "Mul(Relu61)"]),
        ("hardsigmoid", ["AddV2(x)", "Relu6(AddV20)", "Mul(Relu61)"]),
        ("of_the_users_own", ["Activation(x)"]),
    ],
)
def test_activations_of_several_ops(name: str, ops: list[str]) -> None:
    assert activated(name)[0][: len(ops)] == ops
    assert (len(activated(name)[0]) > len(ops)) is name.startswith(("hardsw", "hardsil"))


def test_an_unknown_activation_reads_its_input_in_three_steps() -> None:
    assert [line.partition("(")[0] for line in activated("mine")[1]] == ["ActivationGrad"] * 3
    assert activated(None, activation="relu")[0] == ["Relu(x)"]
    assert activated(None)[2]


def layer(
    rule: Any, class_name: str = "Layer", training: bool = True, **config: Any
) -> tuple[list[str], bool]:
    """The ops of a layer, and whether it gives back what it reads."""
    tape, x = FakeTape(), Value("x", WIDE)
    tape.training = training
    gamma = Value("gamma", (8,))
    job: Any = Made(tape=tape, inputs=[x], shape=WIDE, config=config, weights={"gamma": gamma},
                    spec=Made(class_name=class_name))  # fmt: skip
    made = rule(job)
    return [line.partition("(")[0] for line in tape.lines], made == [x]


@pytest.mark.parametrize(
    "rule, ops",
    [
        (core._same, []),
        (core._scaled, ["Mul"]),
        (core._rescaled, ["Mul", "AddV2"]),
        (core._layer_scale, ["Mul"]),
    ],
)
def test_small_layers(rule: Any, ops: list[str]) -> None:
    assert layer(rule) == (ops, not ops)


@pytest.mark.parametrize(
    "class_name, config, training, same",
    [
        ("Dropout", {"rate": 0}, True, True),
        ("Dropout", {"p": 0}, True, True),
        ("Dropout", {}, True, False),
        ("Dropout", {"rate": 0.5, "p": 0}, True, False),
        ("SpatialDropout2D", {"rate": 0.5}, True, False),
        ("SpatialDropout2D", {"rate": 0.5}, False, True),
        ("SpatialDropout2D", {"rate": 0}, True, True),
    ],
)
def test_what_drops_nothing_out_makes_nothing(
    class_name: str, config: dict[str, Any], training: bool, same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core, "dropout", lambda tape, x, training, drawn: Value("dropped", WIDE))
    assert layer(core._dropout, class_name, training, **config)[1] is same


def test_noise_is_of_training_only() -> None:
    assert layer(core._noise, training=False) == ([], True)
    assert layer(core._noise)[0][0] == "StatelessRandomNormalV2"


@pytest.mark.parametrize(
    "workers, keras_3, weights, steps, waiting",
    [
        (1, True, 4, 99, 32), (1, True, 4, 31, 31),
        (2, True, 1 << 20, 99, 6), (2, True, 1 << 20, 5, 5), (2, True, (1 << 20) - 1, 99, 16),
        (2, False, 4, 99, 22), (2, False, 4, 21, 21), (2, True, 4, 15, 15), (2, False, 1 << 20, 99, 6),
    ],
)  # fmt: skip
def test_gradients_of_so_many_time_steps_wait(
    workers: int, keras_3: bool, weights: int, steps: int, waiting: int
) -> None:
    job: Any = Made(workers=workers, keras_3=keras_3)
    halves: Any = [Made(bytes=weights // 2), Made(bytes=weights - weights // 2)]
    assert sequence._parallel(job, halves, steps) == waiting


@pytest.mark.parametrize(
    "shape, made",
    [
        ((3, 4, 5), [(3, 4), (3, 5), (3, 4, 5)]),
        ((4, 5), [(4,), (5,), (4, 5)]),
        ((5,), [(1,), (1,), (5,)]),
        ((), [(1,), (1,), ()]),
    ],
)
def test_slots_of_rows_and_columns(shape: tuple[int, ...], made: list[tuple[int, ...]]) -> None:
    factored = Optimizer("adafactor", 0, 0, factored=True)
    assert factored.slot_shapes(shape) == made
    averaged = factored.with_options(["use_ema"])
    assert averaged.slot_shapes(shape) == [*made, shape]
    plain = Optimizer("adam", 2, 0).with_options(["use_ema", "gradient_accumulation_steps"])
    assert plain.slot_shapes(shape) == [shape] * 4


@pytest.mark.parametrize(
    "shapes, is_open",
    [
        ([(None, 5)], True),
        ([(None, 5), (None, 7)], True),
        ([(None, 5), (3, 7)], False),
        ([(None, 5), (3,)], True),
        ([(None, 5), None, ()], True),
        ([(3, None)], False),
        ([(None,)], False),
        ([], False),
    ],
)
def test_whether_a_graph_can_be_asked_at_any_batch(shapes: list[Any], is_open: bool) -> None:
    nodes = {
        f"x{at}": Node(f"x{at}", "Placeholder", attributes={"shape": each}) for at, each in enumerate(shapes)
    }
    nodes["v"] = Node("v", "VarHandleOp", attributes={"shape": (2, 5)})
    assert has_open_batch(Graph(nodes)) is is_open


def token(name: str, shape: Any, dtype: str = "float32", batch: int | None = 4, **stated: Any) -> Any:
    return _Feeds._token(Made(shapes=stated, batch=batch), name, TensorType(shape, dtype))  # type: ignore[arg-type]


def test_inputs_of_a_graph() -> None:
    def shape(*given: Any, **more: Any) -> Any:
        return token(*given, **more).shape

    assert (shape("x", (2, 5)), shape("x", (None, 5)), shape("x", None, x=(7,))) == ((2, 5), (4, 5), (7,))
    assert (shape("x", (2, 5), x=(3, 5)), shape("x", ())) == ((3, 5), ())
    flag = token("training", None, "bool")
    assert (flag.shape, flag.dtype, flag.values) == ((), "bool", (1,))
    assert shape("dense_target", (None, None)) == (4, 1)
    for given in (("x", None), ("x", (None, 5), "float32", None), ("x", (None, None))):
        with pytest.raises(UsageError):
            token(*given)


def test_threads_where_the_system_tells_no_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_here(pid: int) -> Any:
        raise AttributeError

    monkeypatch.setattr("os.sched_getaffinity", not_here, raising=False)
    for counted, threads in ((3, 3), (None, 1)):
        monkeypatch.setattr("os.cpu_count", lambda counted=counted: counted)
        assert this_machine().threads == threads
    for switch, onednn in (("0", False), ("false", False), ("False", False), ("1", True), ("", True)):
        monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", switch)
        assert this_machine().onednn is onednn
    monkeypatch.delenv("TF_ENABLE_ONEDNN_OPTS")
    assert this_machine().onednn is None
