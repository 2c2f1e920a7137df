"""The batch that failed was put together by the library that serves or runs the model, not by the program.

What it means: Beam's RunInference (TFX's BulkInferrer is built on it) joins examples to batches and makes
them larger as long as that is faster, to a maximum of its own; Triton and Ray Serve join requests to a
maximum. It may go well for hours until a batch is too large. The model is a finished one: its images and
layers stay.
When it fires: the text names such a library, nothing shows training, and the failed tensor begins with a
batch of 32 or more.
What to do: cap the batch where the library takes its maximum, or let the signature that is served go through
it in parts.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import on_host, requests, tensor_text
from tfmemlens.findings.support.situation import situation
from tfmemlens.model.attribution import Phase
from tfmemlens.model.case import Case, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex
from tfmemlens.units import human

BASIS = Basis.NAME
EXPLAINS = "the failing tensor"
_LEAST = 32
_MOST_AT_FIRST = 128
_HOW_OF_BEAM = "Beam joins examples and makes batches larger while that is faster"
_NAMES = (
    (
        regex(r"Evaluator|model_analysis"),
        "Beam",
        _HOW_OF_BEAM,
        "TFMA, which the Evaluator runs, takes it in its options or as an argument, by release; where"
        " yours has"
        " neither, let this step compute on the CPU (CUDA_VISIBLE_DEVICES=-1)",
        "eval_config.options.desired_batch_size.value = {0}   # or"
        " run_model_analysis(desired_batch_size={0})",
    ),
    (
        regex(r"(?i)beam|RunInference|BulkInferrer|BatchElements"),
        "Beam",
        _HOW_OF_BEAM,
        "where a component of TFX has no such field, add `--tfxio_use_byte_size_batching` to its Beam"
        " arguments, or run RunInference yourself with a handler that has one",
        "TFModelHandlerTensor(uri, max_batch_size={})   # of a handler of your own: batch_elements_kwargs()",
    ),
    (
        regex(r"(?i)triton|dynamic_batching"),
        "Triton",
        "Triton joins requests to the maximum of the model's configuration",
        "in config.pbtxt",
        "max_batch_size: {}",
    ),
    (
        regex(r"(?i)ray|serve\.batch"),
        "Ray Serve",
        "Ray Serve joins requests to the maximum of its decorator",
        "in the decorator",
        "@serve.batch(max_batch_size={})",
    ),
)
_OF_A_COMPONENT = regex(r"BulkInferrer|Evaluator|model_analysis|tft_beam")
"""What runs a finished model, whatever else of its pipeline trains it."""


def check(case: Case) -> Iterator[Finding]:
    line = case.capture.surroundings.shows("batching by a library")
    for index, moment, request in list(requests(case))[:1]:
        batch = request.batch or 0
        named = next((each for each in _NAMES if line and each[0].search(line.text)), None)
        if line is None or named is None or batch < _LEAST or on_host(moment) or _trains(request):
            continue
        if situation(case, moment).training and not _OF_A_COMPONENT.search(line.text):
            continue
        _, name, how, where, code = named
        cap = min(batch // 4, _MOST_AT_FIRST)
        need = request.failed.tensor_bytes
        part = f": this tensor takes {human(need // batch * cap)} then" if need else ""
        what = f"a batch of {batch:,} that {name} put together ({line.place}): {how}"
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=need,
            evidence=(
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
                Evidence("what makes the batch", line),
            ),
            remedies=(
                Remedy(
                    f"cap the batch, {cap} at first{part}; {where}{_by_bytes(case, code)}",
                    code.format(cap),
                    slug="cap-the-batch",
                ),
                Remedy(
                    "or let the signature that is served go through a batch in parts, at worst one by one:"
                    " that holds whoever makes the batch",
                    "y = tf.map_fn(lambda one: model(one[None])[0], x, fn_output_signature=tf.float32)",
                    slug="signature-in-parts",
                ),
            ),
            moment=index,
            rules_out=_OF_THE_MODEL,
        )


_OF_THE_MODEL = (
    *("smaller-input", "smaller-batch", "smaller-prediction-batch", "smaller-evaluation-batch", "in-pieces"),
    *("mixed-precision", "gradient-accumulation", "smaller-model"),
)
"""What is set elsewhere, or belongs to a model that is trained."""


def _by_bytes(case: Case, code: str) -> str:
    """Where Beam can be told to count bytes: releases of TFX for TensorFlow 2.11 and newer."""
    known = "desired_batch_size" in code and case.api.newest >= (2, 11)
    return "; or add `--tfxio_use_byte_size_batching` to its Beam arguments" if known else ""


def _trains(request: Request) -> bool:
    return request.owner.phase in (Phase.GRADIENT, Phase.OPTIMIZER)
