"""The program predicts the structure of a protein, whose memory grows with the square of the length.

What it means: AlphaFold and its kin hold a row of numbers for each pair of residues, and several of these at
once. Twice the length takes four times the memory, whatever was done to the batch, which is one protein.
When it fires: the text speaks of such a program, and a request of JAX's of 64 MiB or more failed.
What to do: fewer residues at once, host RAM as an extension of the GPU, or a GPU with more memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.jax_stack import LEAST_BYTES
from tfmemlens.findings.support.rows import on_host, requests
from tfmemlens.findings.support.situation import JAX, TPU, framework_of, situation
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity

BASIS = Basis.NAME
EXPLAINS = "the request"

_OF_TRAINING = (
    "smaller-batch",
    "smaller-prediction-batch",
    "recompute",
    "donate-buffers",
    "in-pieces",
    "mixed-precision",
)
"""What a user of such a program has no hand in."""
_FEWER = Remedy(
    "predict fewer residues at once: domains or chains apart, or fewer copies of a complex; half the length"
    " takes about a quarter of the memory",
    slug="shorter-sequences",
)
_WITH_HOST_RAM = Remedy(
    "let the GPU use host RAM, too, which is slower: unified memory, with a pool of several times the GPU",
    "export TF_FORCE_UNIFIED_MEMORY=1 XLA_PYTHON_CLIENT_MEM_FRACTION=4.0   # before Python starts",
    slug="unified-memory",
)


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    line = told.shows("structure prediction")
    if line is None or framework_of(case) not in (JAX, None) or told.shows("training"):
        return
    unified = told.setting("TF_FORCE_UNIFIED_MEMORY")
    for index, moment, request in list(requests(case))[:1]:
        need = request.needed_bytes
        if need is None or need < LEAST_BYTES or on_host(moment):
            continue
        tpu = situation(case, moment).device == TPU
        because = (
            "it predicts a protein's structure, whose arrays over all pairs of residues grow with the square"
            " of the length"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=because,
            because=because,
            explains=need,
            evidence=(
                Evidence("what the text says", line),
                Evidence("the message", request.failed.line),
            ),
            remedies=(_FEWER, *(() if unified or tpu else (_WITH_HOST_RAM,))),
            moment=index,
            rules_out=_OF_TRAINING,
        )
