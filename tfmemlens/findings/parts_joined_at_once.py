"""A list of many tensors is joined into one: the parts and the whole are alive together.

What it means: a loop keeps each batch's output in a list on the device, and `tf.concat` or `tf.stack` then
makes a tensor of all of them: twice the memory of the outputs, whatever the batch.
When it fires: an eager op joins sixteen or more tensors, or the failing line joins a list by its name alone.
What to do: copy each part to the host as it is made, or keep less of each: a mean, a class, a pooled feature.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import on_host, requests, tensor_text
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import MIB

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor, and its parts, which are as large together"

_OP = regex(r"__wrapped__(?:ConcatV2|Pack)_N_(?P<parts>\d+)_device_")
_LINE = regex(
    r"(?:concat|concatenate|stack|vstack|hstack)\(\s*(?P<name>[A-Za-z_][\w.]*)\s*"
    r"(?:,\s*(?:axis\s*=\s*)?-?\d+\s*)?\)"
)
_LEAST_PARTS, _LEAST_BYTES = 16, 32 * MIB


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) != TENSORFLOW:
        return
    for index, moment, request in list(requests(case))[:1]:
        if joining := case.capture.surroundings.shows("joining predictions"):
            yield _of_predict(index, moment, joining)
            return
        parts, name = _parts(request), _LINE.search(request.failed.source_text or "")
        need = request.needed_bytes or 0
        if need < _LEAST_BYTES or not (parts >= _LEAST_PARTS or (parts == 0 and name and _joins(request))):
            continue
        kept = f"`{name['name']}` keeps" if name else "a list keeps"
        many = f"{parts:,} tensors" if parts else "all its tensors"
        where = "in memory" if on_host(moment) else "on the device"
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{kept} {many} {where}, and one tensor of them all takes as much again",
            because=f"{kept} {many} {where}, and one tensor of them all takes as much again",
            explains=2 * need,
            evidence=(Evidence(f"requested: {tensor_text(moment)}", request.failed.line),),
            remedies=_remedies(name["name"] if name else "parts"),
            rules_out=("smaller-batch",),
            moment=index,
        )


def _of_predict(index: int, moment: Moment, line: Line) -> Finding:
    """Keras kept the outputs of all batches and joined them when the last was done."""
    what = "predict joins the outputs of all its batches when the last is done, whatever the batch"
    return Finding(
        severity=Severity.CAUSE,
        headline=f"{what} ({line.place})",
        because=f"{what} ({line.place})",
        explains=moment.request.needed_bytes if moment.request else None,
        evidence=(Evidence("the outputs are joined", line),),
        remedies=(_BY_HAND, *_remedies("outputs")[1:]),
        moment=index,
        rules_out=("smaller-batch", "smaller-prediction-batch"),
    )


_BY_HAND = Remedy(
    "predict a part of the data at a time, and join the parts as arrays of NumPy, in host RAM",
    "y = np.concatenate([model.predict(x[i:i + 256], batch_size=4) for i in range(0, len(x), 256)])",
    slug="parts-to-host",
)


def _parts(request: Request) -> int:
    """How many tensors an eager op joins; 0 where nothing tells."""
    match = _OP.search(request.failed.function or "")
    return int(match["parts"]) if match else 0


def _joins(request: Request) -> bool:
    """Whether what failed is such an op at all, rather than one of another on the same line."""
    return (request.failed.op or "").startswith(("ConcatV2", "Pack"))


def _remedies(name: str) -> tuple[Remedy, ...]:
    return (
        Remedy(
            "copy each part to the host as soon as it is made: the device then holds one at a time",
            f"{name}.append(part.numpy())   # afterwards np.concatenate({name})",
            slug="parts-to-host",
        ),
        Remedy(
            "fill one array that is made beforehand, or a file (np.memmap), instead of a list and its join",
            "out[i : i + len(part)] = part",
            slug="fill-one-array",
        ),
        Remedy(
            "keep less of each part: reduce it first (a mean, a class, a pooled feature)",
            slug="reduce-parts",
        ),
    )
