"""A program of TensorFlow.js makes tensors in each call, and nothing disposes of them.

What it means: JavaScript's garbage collector frees no memory of a tensor. What a call makes stays until
dispose() or tidy(), so each call leaves its input, its casts and its outputs behind, until the device is full
and a small request fails.
When it fires: a program of TensorFlow.js failed on a request that a device has room for, quoted code makes
tensors in names or the text says that it went well for many calls, and no code disposes of any.
What to do: dispose of them; `tf.memory().numTensors` tells whether any stay.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.rows import requests
from tfmemlens.findings.support.situation import situation
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Severity
from tfmemlens.units import MIB

BASIS = Basis.NAME
EXPLAINS = "the request"

_IN_JAVASCRIPT = ("Node", "TensorFlow.js")
_SMALL_BYTES = 256 * MIB


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    makes, many = told.shows("tensors in JavaScript"), told.shows("many calls before")
    if told.shows("tidying") or told.shows("tidying in vain") or not (makes or many):
        return
    for index, moment, request in requests(case):
        need = request.needed_bytes
        if situation(case, moment).program not in _IN_JAVASCRIPT or need is None or need > _SMALL_BYTES:
            continue
        where = f" ({makes.place})" if makes else ""
        after = f", and it went well for many calls before ({many.place})" if many else ""
        what = (
            f"most likely tensors that each call makes{where} and nobody disposes of fill the memory{after}:"
            " TensorFlow.js frees none by itself"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=need,
            evidence=tuple(
                Evidence(fact, line)
                for fact, line in (("makes a tensor", makes), ("for how long it went well", many))
                if line
            ),
            remedies=(remedies.TIDY,),
            moment=index,
        )
