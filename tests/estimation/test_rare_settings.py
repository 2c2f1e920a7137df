"""What optimizers keep of a weight, and activations that few layers have: the ops that they make."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tfmemlens.estimation.keras_step.lowering import _context, sequence
from tfmemlens.estimation.keras_step.optimizers import _OPTIMIZERS
from tfmemlens.values import replace


@pytest.mark.parametrize(
    "name, shape, options, shapes",
    [
        ("sgd", (3, 4), (), []),
        ("momentum", (3, 4), (), [(3, 4)]),
        ("adam", (3, 4), (), [(3, 4)] * 2),
        ("adam", (3, 4), ("use_ema",), [(3, 4)] * 3),
        ("adam", (3, 4), ("use_ema", "gradient_accumulation_steps", "weight_decay"), [(3, 4)] * 4),
        ("adafactor", (3, 4), (), [(3,), (4,), (3, 4)]),
        ("adafactor", (2, 3, 4), (), [(2, 3), (2, 4), (2, 3, 4)]),
        ("adafactor", (5,), (), [(1,), (1,), (5,)]),
        ("adafactor", (5,), ("use_ema",), [(1,), (1,), (5,), (5,)]),
    ],
)
def test_slots_of_a_weight(name: str, shape: Any, options: tuple[str, ...], shapes: list[Any]) -> None:
    assert _OPTIMIZERS[name].with_options(options).slot_shapes(shape) == shapes


def test_options_that_change_when_things_happen() -> None:
    adam, decaying = _OPTIMIZERS["adam"], _OPTIMIZERS["adamw"]
    assert (adam.decays, decaying.decays) == (False, True)
    assert adam.with_options(("weight_decay",)).decays and decaying.with_options(()).decays
    assert adam.with_options(("global_clipnorm",)).clips_together
    assert adam.with_options(("clipnorm",)) == replace(adam, averages=0)


@pytest.mark.parametrize(
    "name, ops",
    [
        ("linear", ""),
        ("relu", "Relu:output"),
        ("selu", "Selu:output"),
        ("leakyrelu", "LeakyRelu:input"),
        ("softplus", "Softplus:input"),
        ("softsign", "Softsign:input"),
        ("exponential", "Exp:output"),
        ("exp", "Exp:output"),
        ("hardswish", "AddV2:none Relu6:output scaled multiplied"),
        ("hardsilu", "AddV2:none Relu6:output scaled multiplied"),
        ("hardsigmoid", "AddV2:none Relu6:output scaled"),
        ("mine", "Activation:input+2"),
    ],
)
def test_the_ops_of_an_activation(name: str, ops: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def unary(tape: Any, x: str, op: str, needs: str, steps: int = 0, temporary: int = 0) -> str:
        made.append(f"{op}:{needs}" + (f"+{steps}" if steps else ""))
        return f"{x}>{op}"

    def scaled(tape: Any, x: str) -> str:
        made.append("scaled")
        return x

    def multiplied(tape: Any, x: str, gate: str) -> str:
        assert (x, gate) == ("x", "x>AddV2>Relu6")
        made.append("multiplied")
        return x

    monkeypatch.setattr(_context, "unary", unary)
    monkeypatch.setattr(_context, "scaled", scaled)
    monkeypatch.setattr(_context, "multiply", multiplied)
    value: Any = "x"
    job: Any = Made(config={}, tape=None)
    _context.activated(job, value, name)
    assert " ".join(made) == ops


@pytest.mark.parametrize(
    "workers, keras_3, size, steps, waiting",
    [
        (1, True, 4, 50, sequence._PARALLEL),
        (1, True, 4, 3, 3),
        (4, True, 1 << 20, 50, 6),
        (4, True, 1 << 20, 5, 5),
        (4, True, (1 << 20) - 1, 50, 16),
        (4, False, (1 << 20) - 1, 50, 22),
        (4, True, 4, 15, 15),
    ],
)
def test_gradients_that_wait_for_their_sum(
    workers: int, keras_3: bool, size: int, steps: int, waiting: int
) -> None:
    job: Any = Made(workers=workers, keras_3=keras_3)
    parts: Any = [Made(bytes=size // 2), Made(bytes=size - size // 2)]
    assert sequence._parallel(job, parts, steps) == waiting
