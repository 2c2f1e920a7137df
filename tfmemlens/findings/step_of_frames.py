"""Frames of a signal overlap far more than was meant: their step is given in milliseconds, not samples.

What it means: `tf.signal.stft` and `tf.signal.frame` take length and step in samples. A program that makes
samples of the window's milliseconds, and gives the hop's as they are, steps 10 samples instead of 10 ms: at
16 kHz sixteen times the frames, in all that follows.
When it fires: what failed goes through such a line, or it is the program's only one: the step's name ends in
`_ms`, and the length is computed with a rate.
What to do: the step in samples.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import alike, requests, tensor_text
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.findings.support.step_in_ms import step_in_ms
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.units import human

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor, and held ones of the same size"

_LEAST_DIMENSIONS = 2


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        need, shape = request.failed.tensor_bytes, request.failed.shape or ()
        if not need or len(shape) < _LEAST_DIMENSIONS or request.fixed or framework_of(case) != TENSORFLOW:
            continue
        found = step_in_ms(case, request)
        if found is None:
            continue
        times = found.rate // 1000 if found.rate else 0
        many = f"{found.samples} samples" if found.samples else "so many samples"
        meant = f", not {found.samples} ms ({found.samples * times})" if found.samples and times else ""
        more = f": {times} times the frames that are meant" if times > 1 else ""
        what = (
            f"the step of the frames is `{found.name}` ({found.line.place}), {many}{meant}{more}, where their"
            f" length is converted (`{found.length}`)"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=alike(moment) or need,
            evidence=(
                Evidence("the line", found.line),
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
            ),
            remedies=(
                Remedy(
                    "give the step in samples, as the length"
                    + (f": this tensor then takes {human(need // times)}" if times > 1 else ""),
                    f"frame_step = sample_rate * {found.name} // 1000",
                    saves_bytes=need - need // times if times > 1 else None,
                    certainty=Certainty.ESTIMATE if times > 1 else None,
                    of_one_tensor=True,
                    slug="step-in-samples",
                ),
            ),
            moment=index,
            of_code=True,
            rules_out=(
                "smaller-batch",
                "smaller-input",
                "resize-in-pipeline",
                "lower-constant",
                "lower-setting",
            ),
        )
