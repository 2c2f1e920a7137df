"""`model.json` of a bundle: the program's layers and variables, as the program itself wrote them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfmemlens.model.attribution import Kind
from tfmemlens.model.capture import Capture, Hints, Holds, Source
from tfmemlens.model.line import ReadNote
from tfmemlens.model.live_model import (
    KeptConstant,
    LiveModel,
    LiveVariable,
    OpPlace,
    StandingTensors,
    TracedFunction,
)
from tfmemlens.model.tensor import TensorType, numpy_dtype_of_enum
from tfmemlens.readers.bytes import own_json
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.values import replace

HOLDS = Holds.SURROUNDINGS
KEY = "tfmemlens_model"
BESIDE_STEPS = ("model.json",)
_KINDS = {"parameter": Kind.PARAMETER, "optimizer-slot": Kind.OPTIMIZER_SLOT}


def sniff(sample: Sample) -> Confidence:
    """A JSON object that begins with our key."""
    return own_json.sniff(sample, KEY)


def read(opened: Opened, hints: Hints = Hints()) -> Capture:
    """The names and variables. Raises UnreadableInput."""
    del hints
    document = own_json.read(opened)
    models = own_json.rows(document, "models")
    layers = {
        str(layer.get("path")): str(layer.get("class"))
        for model in models
        for layer in own_json.rows(model, "layers")
    }
    variables = _with_slots([_variable(row) for row in own_json.rows(document, "variables")])
    return Capture(
        Source(opened.path, ("live-model",)),
        notes=tuple(_given(document)),
        live_model=LiveModel(
            tuple(str(model.get("name")) for model in models),
            tuple(layers.items()),
            tuple(variable for variable in variables if (variable.now or variable.tensor).bytes),
            tuple(
                output
                for model in models
                for layer in own_json.rows(model, "layers")
                for output in _outputs(layer)
            ),
            tuple(
                StandingTensors(_tensor(row), count, str(row.get("device", "")))
                for row in own_json.rows(document, "tensors")
                if (count := own_json.number(row, "count"))
            ),
            tuple(
                (str(layer.get("path")), own_json.open_shape(layer, "makes"))
                for model in models
                for layer in own_json.rows(model, "layers")
                if layer.get("makes")
            ),
            tuple(_inputs(document)),
            own_json.number(document, "batch") or None,
            own_json.number(document, "failed_batch") or None,
            document.get("ahead") is True,
            tuple(_constants(document)),
            failed if isinstance(failed := document.get("failed_in"), str) else None,
            tuple(_functions(document)),
            _text(models, "description"),
            _text(models, "optimizer"),
            places=tuple(_places(document)),
            fetches=tuple(map(str, fetches)) if isinstance(fetches := document.get("fetches"), list) else (),
            feeds=tuple(_feeds(document)),
            fed=tuple(_fed(document)),
            failed_scope=scope if isinstance(scope := document.get("failed_scope"), str) else None,
            failed_step=document.get("failed_step") is True,
            alike=own_json.number(document, "alike") or 0,
            until_failure=document.get("until_failure") is True,
            told_failure=document.get("failed") is True,
        ),
    )


def _text(models: list[dict[str, Any]], name: str) -> str | None:
    """What is told of the first model, the largest."""
    return next((value for row in models[:1] if isinstance(value := row.get(name), str)), None)


def _given(document: dict[str, Any]) -> Iterator[ReadNote]:
    """What the traced step took."""
    batch, listed = own_json.number(document, "batch"), document.get("inputs")
    shapes = [str(each).replace(" ", "") for each in listed if each] if isinstance(listed, list) else []
    if batch and document.get("failed_step") is not True:
        of = f": {', '.join(shapes[:3])}" if shapes else ""
        yield ReadNote(f"the traced step had a batch of {batch}{of}"[:200])
    failed = own_json.number(document, "failed_batch")
    if failed:
        yield ReadNote(f"the step that failed was given a batch of {failed}")


def _constants(document: dict[str, Any]) -> Iterator[KeptConstant]:
    for row in own_json.rows(document, "constants"):
        sizes = own_json.number(row, "bytes"), own_json.number(row, "chunk")
        if sizes[0] is None or sizes[1] is None:
            continue
        dtype = numpy_dtype_of_enum(own_json.number(row, "type") or 0)
        tensor = TensorType(own_json.shape(row), dtype or "")
        count = max(own_json.number(row, "count") or 1, 1)
        allocator, variable = str(row.get("allocator")), row.get("variable") is True
        folded = row.get("folded") is True
        yield KeptConstant(
            str(row.get("name")), tensor, sizes[0], sizes[1], allocator, count, variable, folded
        )


def _functions(document: dict[str, Any]) -> Iterator[TracedFunction]:
    for row in own_json.rows(document, "functions"):
        traces, size = own_json.number(row, "traces"), own_json.number(row, "bytes")
        if traces and size:
            variables = own_json.number(row, "variables") or 0
            yield TracedFunction(str(row.get("name")), traces, size, variables)


def _places(document: dict[str, Any]) -> Iterator[OpPlace]:
    for row in own_json.rows(document, "places"):
        ops, line = row.get("ops"), own_json.number(row, "line")
        if isinstance(ops, list) and line:
            file = str(row.get("file")).rpartition("/")[2]
            yield OpPlace(str(row.get("function")), file, line, tuple(map(str, ops)))


def _feeds(document: dict[str, Any]) -> Iterator[tuple[str, tuple[int | None, ...]]]:
    listed = document.get("feeds")
    for name, shape in listed.items() if isinstance(listed, dict) else ():
        if isinstance(shape, list) and all(isinstance(size, int) for size in shape):
            yield str(name), tuple(shape)


def _fed(document: dict[str, Any]) -> Iterator[tuple[str, TensorType]]:
    for row in own_json.rows(document, "fed"):
        if row.get("name") and row.get("type"):
            yield str(row["name"]), TensorType(own_json.shape(row), str(row["type"]))


def _inputs(document: dict[str, Any]) -> Iterator[TensorType]:
    """Where all sizes are known; the first of them may be the batch, which stands beside them."""
    shapes, dtypes = document.get("inputs"), document.get("types")
    batch = own_json.number(document, "batch")
    if not isinstance(shapes, list) or not isinstance(dtypes, list):
        return
    for shape, dtype in zip(shapes, dtypes, strict=False):
        sizes = list(shape) if isinstance(shape, list) else []
        if sizes and sizes[0] is None:
            sizes[0] = batch
        if sizes and all(isinstance(size, int) for size in sizes):
            yield TensorType(tuple(sizes), str(dtype))


def _outputs(layer: dict[str, Any]) -> Iterator[tuple[str, tuple[int | None, ...]]]:
    listed = layer.get("outputs")
    for output in listed if isinstance(listed, list) else ():
        shape = output[0] if isinstance(output, list) and output else None
        if isinstance(shape, list):
            yield str(layer.get("path")), tuple(size if isinstance(size, int) else None for size in shape)


def _variable(row: dict[str, Any]) -> LiveVariable:
    layer = row.get("layer")
    return LiveVariable(
        str(row.get("name")),
        None if layer is None else str(layer),
        _KINDS.get(str(row.get("kind")), Kind.PARAMETER),
        _tensor(row),
        str(row.get("device") or ""),
        _tensor({**row, "shape": row["now"]}) if isinstance(row.get("now"), list) else None,
    )


def _with_slots(variables: list[LiveVariable]) -> Iterator[LiveVariable]:
    """The same, with the slots of optimizers that belong to no layer as such: `w/Adam` and `w/Adam_1` have
    the shape of `w`.
    """
    known = {each.name: each for each in variables}
    for each in variables:
        of = known.get(each.name.rpartition("/")[0])
        alike = of is not None and of.tensor == each.tensor and bool(each.tensor.shape)
        if of is None or not alike or each.layer is not None or each.kind is not Kind.PARAMETER:
            yield each
        else:
            yield replace(each, layer=of.layer or of.name, kind=Kind.OPTIMIZER_SLOT)


def _tensor(row: dict[str, Any]) -> TensorType:
    return TensorType(own_json.shape(row), str(row.get("dtype")))
