"""Several models that are loaded in one process share its pool, and each goes well alone.

What it means: a process has one pool on a device, in which the weights and the buffers of all its models and
sessions lie. What fails is the first request that finds no room, however small, and nothing is wrong with the
model that asked.
When it fires: the text tells of several models, and that each works alone, nothing shows training, and a
request failed on a device that is less than a fourth of what its pool may hold, or of a size that is not
known.
What to do: fewer models on the device, one on the CPU, or one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import device_limit, on_host, requests, tensor_text
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of, situation
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.units import human

BASIS = Basis.NAME
EXPLAINS = "half of the pool; all of the request where the pool is not known"
_PART = 4


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    alone, several = told.shows("each model alone"), told.shows("several models")
    for index, moment, request in list(requests(case))[:1]:
        if alone is None or several is None or on_host(moment) or framework_of(case) != TENSORFLOW:
            continue
        limit, need = device_limit(case, moment), request.needed_bytes
        if situation(case, moment).training or (limit and need and need * _PART > limit.bytes):
            continue
        pool = f" of {human(limit.bytes)}" if limit else ""
        asked = f"the {human(need)} that failed are only" if need else "what failed is only"
        what = (
            f"several models share the pool{pool} of one process, and each works alone ({alone.place}):"
            f" {asked}"
            " the last straw"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=limit.bytes // 2 if limit else need,
            evidence=(
                Evidence("each works alone", alone),
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
            ),
            remedies=(
                Remedy(
                    "have fewer models on the device: build or load one of them on the CPU, or give it a"
                    " process"
                    " of its own that sees no GPU",
                    "with tf.device('/cpu:0'): ...   # around import_graph_def or the building of its graph",
                    slug="one-model-on-the-cpu",
                ),
                Remedy(
                    "or load one at a time, and end its process before the next, or train one model that does"
                    " what all of them do: parts of the pool for each give none of them more",
                    slug="one-model-at-a-time",
                ),
                *((_OF_AN_INTEGRATED_GPU,) if _is_integrated(case) else ()),
            ),
            moment=index,
            rules_out=_OF_ONE_MODEL,
        )


_OF_AN_INTEGRATED_GPU = Remedy(
    "or give the integrated GPU more of the RAM (BIOS: UMA frame buffer, shared graphics memory)",
    slug="more-shared-memory",
)
_OF_ONE_MODEL = (
    *("smaller-batch", "smaller-input", "in-pieces", "smaller-model", "record-a-step", "list-tensors"),
    *("mixed-precision", "constant-shapes", "smaller-prediction-batch"),
)
"""What makes one model smaller, which fits as it is."""


def _is_integrated(case: Case) -> bool:
    return case.capture.surroundings.shows("an integrated GPU") is not None
