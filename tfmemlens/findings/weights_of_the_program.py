"""The weights that the program's code makes outweigh all that its layers put out.

What it means: where memory runs out at a small tensor, most of it is held by something else. A weight has a
gradient while it is updated, and Adam keeps two more numbers for each: four times the weights in all,
whatever the batch. A fully connected layer behind Flatten most often has nearly all of them.
When it fires: the code trains; its layers, followed with an open batch, make the tensor that was asked for;
nothing names what is in use; and the weights of these layers, with gradients and slots, take more than all
outputs together, at least ten times what was asked for, and two fifths of the limit, or of what is in use.
What to do: make the layer with most weights smaller (pool before Flatten, fewer units), or an optimizer that
keeps less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.code_outputs import CodeOutput, kernels_of
from tfmemlens.findings.support.outputs_in_training import outputs_of, outweighed
from tfmemlens.findings.support.rows import device_limit, requests
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.network import WeightSpec
from tfmemlens.model.tensor import format_shape
from tfmemlens.units import human, percent

BASIS = Basis.SHAPE
EXPLAINS = "the weights, with their gradients and slots, at most the limit"

_FLATTENED = 4_096
"""Inputs of a kernel that are most likely a whole feature map's."""


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        made = outputs_of(case, moment, request)
        kept = outweighed(case, request, made)
        if kept is None:
            continue
        yield _finding(case, index, moment, made, kernels_of(made), kept)


def _finding(
    case: Case,
    index: int,
    moment: Moment,
    made: Sequence[CodeOutput],
    kernels: Sequence[tuple[CodeOutput, WeightSpec]],
    kept: tuple[int, str],
) -> Finding:
    times, with_them = kept
    whole = times * sum(weight.bytes for _, weight in kernels)
    owner, largest = kernels[0]
    what = (
        f"the weights of the code's layers take {human(whole)} {with_them}, whatever the batch:"
        f" {percent(times * largest.bytes, whole)} of it {owner.named_with_line}, whose kernel is"
        f" {format_shape(largest.shape)}; all outputs of its layers together take"
        f" {human(sum(each.bytes for each in made))}"
    )
    limit = device_limit(case, moment)
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        detail=(
            "Shapes follow from the code as it is written: an argument of the command line may have changed"
            " one."
        ),
        explains=min(whole, limit.bytes) if limit else whole,
        rules_out=("smaller-batch", "recompute", "smaller-input"),
        evidence=tuple(
            Evidence(f"{each.name}: {format_shape(weight.shape)} = {human(weight.bytes)}", each.output.line)
            for each, weight in kernels[:3]
        ),
        remedies=tuple(_remedies(case, moment, owner, largest, times)),
        moment=index,
        account=True,
    )


def _remedies(
    case: Case, moment: Moment, owner: CodeOutput, largest: WeightSpec, times: int
) -> Iterator[Remedy]:
    inputs, units = largest.shape[0], largest.shape[-1]
    if len(largest.shape) == 2 and inputs >= _FLATTENED:
        yield Remedy(
            f"pool or stride before {owner.name}, which reads {inputs:,} numbers for each sample: half the"
            " height and width leave a quarter of its kernel, global average pooling nearly nothing",
            saves_bytes=3 * times * largest.bytes // 4,
            certainty=Certainty.ESTIMATE,
            slug="pool-first",
        )
    yield Remedy(
        f"make {owner.name} narrower: {units:,} -> {max(units // 2, 1):,} halves its kernel, the gradient"
        " and the slots",
        saves_bytes=times * largest.bytes // 2,
        certainty=Certainty.ESTIMATE,
        slug="narrower-layer",
    )
    yield from remedies.offered(case, moment, "lighter-optimizer")
