"""It failed at the first step of another stage of the training, after one that went well.

What it means: layers that are frozen need no gradients, so their activations are freed as soon as the next
layer has read them. A stage that trains them keeps every activation until the backward pass, and each weight
gets a gradient and optimizer slots: the same batch may need many times as much. Nothing grows from step to
step.
When it fires: a line or the code says that layers are trained that were frozen, or that another stage begins;
steps went well before it, and none after it; or the text says that with frozen layers it went well.
What to do: a smaller batch for this stage; train fewer layers.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.rows import device_limit, requests
from tfmemlens.findings.support.stage import began_stage, unfroze_in_words
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

BASIS = Basis.NAME
EXPLAINS = "the request; half of the device where words tell of the stage"

_UNFREEZES = regex(r"(?i)un-?fr(?:eez|oz)|trainable")
_FEWER = Remedy(
    "train fewer of the layers: leave the lower ones frozen",
    "for layer in base.layers[:-30]: layer.trainable = False   # then compile again",
    slug="fewer-trained-layers",
)


def _as_told(case: Case, index: int, moment: Moment, request: Request, stage: Line) -> Finding:
    """Of a post that says that it went well with frozen layers."""
    what = (
        f"layers that are trained ({stage.place}) keep their activations for the backward pass and have"
        " gradients and optimizer slots; frozen ones have none of these, so that the same batch did fit"
        " before"
    )
    limit = device_limit(case, moment)
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=max(limit.bytes // 2, request.needed_bytes or 0) if limit else request.needed_bytes,
        evidence=(Evidence("layers are trained from here on", stage),),
        remedies=(
            _FEWER,
            *remedies.offered(case, moment, "smaller-batch"),
            *remedies.offered(case, moment, "mixed-precision"),
        ),
        moment=index,
    )


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        in_words = unfroze_in_words(case)
        stage = began_stage(case, request) or in_words
        if stage is None:
            continue
        unfreezes = any(_UNFREEZES.search(line.text) for line in case.capture.surroundings.stages)
        if stage is in_words:
            yield _as_told(case, index, moment, request, stage)
            continue
        more = (
            "layers that are trained keep their activations for the backward pass, and frozen ones do not"
            if unfreezes
            else "this stage needs more than the one before (more trained layers, larger inputs or batch)"
        )
        what = f"it failed at the first step of another stage ({stage.place}), not for growth: {more}"
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=request.needed_bytes,
            evidence=(Evidence("the stage began", stage),),
            remedies=(
                *remedies.offered(case, moment, "smaller-batch"),
                *((_FEWER,) if unfreezes else ()),
                *remedies.offered(case, moment, "mixed-precision"),
            ),
            moment=index,
        )
