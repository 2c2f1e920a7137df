"""XLA makes a sharded array whole on every device, since it cannot go from one sharding to the other.

What it means: where an array has one sharding and its use wants another, the partitioner moves parts between
devices. Of some pairs of shardings it knows no such way: each device then gets the whole array first.
When it fires: the log has the partitioner's warning (`Involuntary full rematerialization`) beside a request
of JAX's that failed, and not of an array of less than a twentieth of it.
What to do: give the array, where it is made, the sharding that its use wants, or one on the way to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import requests
from tfmemlens.findings.support.situation import JAX, framework_of
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import TensorType, numpy_dtype
from tfmemlens.patterns import regex
from tfmemlens.units import human

BASIS = Basis.NAME
EXPLAINS = "the array that is made whole; the request where no shape is told"

_ON_ONE = regex(r"from sharding \{maximal device=\d+\}")
_ARRAY = regex(r"HLO operation:? %\S+ = (?P<dtype>[a-z]+\d+)\[(?P<sizes>\d[\d,]*)\]")


def check(case: Case) -> Iterator[Finding]:
    warned = case.capture.surroundings.shows("made whole by the partitioner")
    if warned is None or framework_of(case) != JAX:
        return
    for index, _, request in list(requests(case))[:1]:
        need = request.needed_bytes
        whole = _whole(warned)
        if whole and need and _TIMES * (whole.bytes or 0) < need:
            continue  # so small an array is not what fills it
        size = f": {whole}, {human(whole.bytes or 0)}" if whole else ""
        exact = ", the request to the byte" if whole and whole.bytes == need else ""
        what = (
            "XLA makes a sharded array whole on every device, because it knows no other way to the sharding"
            f" that its use wants ({warned.place}{size}{exact})"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=f"{'' if exact else 'most likely '}{what}",
            explains=whole.bytes if whole else need,
            evidence=(
                Evidence("the partitioner's warning", warned),
                Evidence("the message", request.failed.line),
            ),
            remedies=(_ON_ITS_WAY if not _ON_ONE.search(warned.text) else _SHARDED_AT_ONCE, _SEE_SHARDINGS),
            moment=index,
            basis=Basis.SHAPE if exact else BASIS,
        )


_TIMES = 20


def _whole(warned: Line) -> TensorType | None:
    """The array that the first warning names; of others like it the log has a line each."""
    match = _ARRAY.search(warned.text)
    if match is None:
        return None
    whole = TensorType(tuple(map(int, match["sizes"].split(","))), numpy_dtype(match["dtype"]))
    return whole if whole.bytes else None


_SHARDED_AT_ONCE = Remedy(
    "it lies whole on one device: let the function that makes or loads it give it back in shards",
    "state = jax.jit(init, out_shardings=shardings)(key)   # a checkpoint: restore into sharded shapes",
    slug="restore-sharded",
)
_ON_ITS_WAY = Remedy(
    "give the array the sharding of its use where it is made, or go there in two steps that each move one"
    " axis",
    "x = jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P('data', None)))   # before it is used",
    slug="shard-arguments",
)
_SEE_SHARDINGS = Remedy(
    "see which value it is: the warning names its operation, and shardings can be printed inside jit",
    "jax.debug.inspect_array_sharding(x, callback=print)",
    slug="print-shardings",
)
