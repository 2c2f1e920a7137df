"""What nobody said is nothing: the defaults of all values, package wide, and the few that are something."""

from __future__ import annotations

import importlib
import pkgutil
from enum import Enum
from typing import Any

import pytest

import tfmemlens.model
from tfmemlens.model.allocation import AllocationTable
from tfmemlens.model.capture import Capture, Source
from tfmemlens.model.case import Api, Case
from tfmemlens.model.what_if import UNKNOWN
from tfmemlens.units import Size
from tfmemlens.values import fields

NOTHING = (None, (), "", False, 0, 0.0, Size.exactly(0), {})
SOMETHING: dict[str, Any] = {
    # one allocation, one telling, one call: what is there at all is there once
    "Allocation.count": 1,
    "Group.calls": 1,
    "KeptConstant.count": 1,
    "Incident.occurrences": 1,
    "Shrunk.count": 1,
    # a failure ends the run, a list is whole and a weight is trained, unless the input says otherwise
    "Incident.fatal": True,
    "ChunkMap.complete": True,
    "WeightSpec.trainable": True,
    "LayerSpec.trainable": True,
    "Workspace.applies": True,
    # TensorFlow's and Keras's own defaults
    "WeightSpec.dtype": "float32",
    "Convolution.padding": "same",
    "Convolution.dtype": "float32",
    "ConvolutionSetting.device": "cpu",
    "StepSettings.batch": 32,
    "StepSettings.training": True,
    "StepSettings.device": "cpu",
    "Api.oldest": (0, 5),
    "Api.newest": (2, 99),
    "Network.name": "model",
    "Network.dialect": "keras-3",
    "LayoutStudy.source_format": "NHWC",
    "LayoutStudy.target_format": "NCHW",
    # half of one side
    "Shrunk.before": 2,
    "Shrunk.after": 1,
    "Shrunk.axes": 1,
    # two digits of an estimate
    "Remedy.digits": 2,
}


def _given() -> dict[str, Any]:
    """Each default of each value in `model`, enumerations and values of values left out."""
    found = {}
    for module in pkgutil.iter_modules(tfmemlens.model.__path__, "tfmemlens.model."):
        for name, cls in vars(importlib.import_module(module.name)).items():
            if not (isinstance(cls, type) and cls.__module__ == module.name and hasattr(cls, "__fields__")):
                continue
            for each in fields(cls):
                if isinstance(each.default, str | int | float | tuple | None | Size):
                    found[f"{name}.{each.name}"] = each.default
    return found


def test_what_nobody_said_is_nothing() -> None:
    given = _given()
    assert len(given) > 150
    told = {
        name: default
        for name, default in given.items()
        if default not in NOTHING and not isinstance(default, Enum)
    }
    assert told == SOMETHING


@pytest.mark.parametrize(
    "value, kind",
    [
        ("incident.FailedRequest.kind", "TENSOR"),
        ("capture.Source.holds", "FAILURES"),
        ("fit.Fit.certainty", "ESTIMATE"),
        ("what_if.Saving.basis", "NOTHING"),
        ("timeline.Timeline.baseline_source", "UNKNOWN"),
        ("timeline.Timeline.curve_source", "RECORDS"),
        ("case.Api.front_end", "UNKNOWN"),
    ],
)
def test_kinds_start_as_the_humblest(value: str, kind: str) -> None:
    module, cls, name = value.split(".")
    held = fields(getattr(importlib.import_module(f"tfmemlens.model.{module}"), cls))
    assert next(each.default for each in held if each.name == name).name == kind


def test_what_is_worked_out_later_makes_no_difference() -> None:
    """Two readings of one input are equal, whatever engine stands behind them."""
    one, other = (Capture(Source("x"), with_types=lambda graph: graph) for _ in "ab")
    assert one == other
    assert Case(one, (), what_if=lambda moment, change, to_batch=None: UNKNOWN) == Case(other, ())
    assert Capture(Source("x")) != Capture(Source("y"))


def test_an_empty_table_holds_nothing() -> None:
    assert len(AllocationTable()) == AllocationTable().total_bytes == 0
    assert Api().is_tf1 is Api().is_tf2 is False
