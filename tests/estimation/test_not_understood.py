"""What a model's description leaves out is said, and no defect of ours hides behind it."""

from __future__ import annotations

import json
from typing import NoReturn

import pytest

from tests.models import small
from tfmemlens.estimation.keras_step import lowering
from tfmemlens.estimation.keras_step.lowering import LoweringContext, lower
from tfmemlens.estimation.keras_step.tape import Tape
from tfmemlens.model.attribution import Kind
from tfmemlens.model.network import LayerSpec
from tfmemlens.model.settings import StepSettings
from tfmemlens.model.tensor import TensorType
from tfmemlens.readers.keras_models._documents import network_of
from tfmemlens.use_cases.estimate import estimate


def _dense(
    output: TensorType = TensorType((2, 4), "float32"),
    weights: tuple[str, ...] = ("kernel",),
    problem: str = "",
) -> LoweringContext:
    tape = Tape()
    read = tape.source("x", (2, 8), "float32", Kind.INPUT)
    made = {name: tape.source(name, (8, 4), "float32", Kind.PARAMETER) for name in weights}
    spec = LayerSpec("dense", "Dense", {"units": 4}, problem=problem or None)
    return LoweringContext(tape, spec, [read], (output,), made, "float32")


def test_a_whole_layer_is_understood() -> None:
    job = _dense()
    lower(job)
    assert job.not_understood is None
    assert [op.op for op in job.tape.ops] == ["MatMul"]


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        (_dense(weights=()), "it has no weight 'kernel'"),
        (_dense(TensorType(None, "float32")), "the shape of its output is not known"),
        (_dense(problem="odd"), "its configuration is not understood"),
    ],
)
def test_what_is_lacking_is_named_and_the_layer_counts_by_its_tensors(
    job: LoweringContext, reason: str
) -> None:
    (made,) = lower(job)
    assert job.not_understood == reason
    assert [op.op for op in job.tape.ops] == ["Dense"]
    assert made.dtype == "float32"


@pytest.mark.parametrize("error", [KeyError, TypeError, IndexError, AssertionError, ValueError])
def test_a_defect_of_a_rule_is_not_taken_for_the_input(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: LoweringContext) -> NoReturn:
        raise error("a slip")

    monkeypatch.setitem(lowering.RULES, "Dense", broken)
    with pytest.raises(error):
        lower(_dense())


def test_a_defect_in_a_prediction_is_not_taken_for_a_bad_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: LoweringContext) -> NoReturn:
        raise TypeError("a slip")

    name = next(name for name, model in small("2.21").items() if '"Dense"' in json.dumps(model["json"]))
    monkeypatch.setitem(lowering.RULES, "Dense", broken)
    with pytest.raises(TypeError, match="a slip"):
        estimate(network_of(small("2.21")[name]["json"], name), StepSettings(2))
