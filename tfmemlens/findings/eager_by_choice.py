"""Keras runs its steps op by op, because the program asks for it.

What it means: `run_eagerly=True` and `tf.config.run_functions_eagerly(True)` make no graph of a step. Nothing
is fused, reordered or pruned, and Python's variables keep what they name until the function returns; so a
step may need more than the same step as a graph, and every op runs slower.
When it fires: the text shows one of these, and a step failed on a device.
What to do: let Keras make a graph again; to debug, take one small sample.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.rows import on_host, requests
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex

BASIS = Basis.NAME
EXPLAINS = "the request, where the text says that it fails since then"

_SINCE = regex(r"(?i)\b(?:since|now|after|as soon as|when|once|then|suddenly|turned|switched|to debug)\b")
_GRAPH = Remedy(
    "let Keras make a graph of the step again; to debug, keep it eager with a batch of one and small samples",
    "model.compile(..., run_eagerly=False)   # and no tf.config.run_functions_eagerly(True)",
    slug="graph-again",
)


def check(case: Case) -> Iterator[Finding]:
    line = case.capture.surroundings.shows("eager by choice")
    if line is None or framework_of(case) != TENSORFLOW:
        return
    for index, moment, request in requests(case):
        if (
            on_host(moment)
            or request.failed.creating
            or (request.failed.function or "").startswith("__inference")
        ):
            continue
        began = bool(_SINCE.search(line.text))
        what = (
            f"run_eagerly ({line.place}) runs each op by itself: nothing is fused or pruned, and more results"
            " are kept until the step ends"
        )
        if began:
            what += ", so a step needs more than it did as a graph"
        yield Finding(
            severity=Severity.CAUSE if began else Severity.FACTOR,
            headline=what,
            because=what,
            explains=request.needed_bytes if began else None,
            evidence=(Evidence("the setting", line), Evidence("the message", request.failed.line)),
            remedies=(_GRAPH, *remedies.offered(case, moment, "smaller-batch")),
            moment=index,
        )
        return
