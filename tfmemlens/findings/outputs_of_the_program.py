"""The outputs of the layers that the program's code makes fill the device.

What it means: training keeps the output of nearly every layer for the backward pass. A dump has no names, but
the program that stands beside the log, or is quoted in it, states its layers and their sizes: so much each
makes at the batch of the failure.
When it fires: the code trains; its Keras layers, followed with an open batch, make the tensor that was asked
for, at a batch that the failed shape then tells; nothing names what is in use, and the line that failed joins
no tensor to itself; all outputs together, with the gradient of the largest, are at least two fifths of the
limit, or of what is in use; no weights outweigh them.
What to do: a smaller batch (with gradient accumulation), a narrower layer where one makes most, half
precision, recomputation, a smaller input.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tfmemlens.findings import attention_scores
from tfmemlens.findings.support import code_snippets, far_too_much, remedies
from tfmemlens.findings.support.code_outputs import CodeOutput, kernels_of
from tfmemlens.findings.support.idle_under_tape import failed_in, idle_call
from tfmemlens.findings.support.kept import joined_to_itself
from tfmemlens.findings.support.named_sizes import Meaning, named_sizes
from tfmemlens.findings.support.on_the_way import on_the_way
from tfmemlens.findings.support.outputs_in_training import outputs_of, outweighed, room_of
from tfmemlens.findings.support.own_constant import own_batch, own_layers
from tfmemlens.findings.support.phase import runs_a_graph
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.rows import enumerated, requests
from tfmemlens.findings.support.trained_models import is_untrained
from tfmemlens.findings.support.weights import copies_in_code
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.tensor import format_shape
from tfmemlens.model.what_if import Shrunk
from tfmemlens.units import MIB, human
from tfmemlens.values import replace

BASIS = Basis.SHAPE
EXPLAINS = "the layers' outputs, at most the limit"

_LEAST_SHARE, _LEAST_BYTES = 0.4, 16 * MIB
_OF_IMAGES, _MOST_IMAGES = 4, 2048
_LARGE = 0.15
"""Of all outputs: a layer that makes so much is worth changing by itself."""
_NAMED = 2


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        if joined_to_itself(request, case):
            continue  # rows that have piled up are no batch
        if on_the_way(case, moment, request):
            continue  # large-on-the-way tells why they need not be so many
        made = outputs_of(case, moment, request)
        asked = next((each for each in made if each.asked), None)
        room = room_of(case, moment)
        if not made or _needed(made) < max(_LEAST_BYTES, _LEAST_SHARE * room):
            continue
        shape = (asked or made[0]).shape
        if len(shape) >= _OF_IMAGES and shape[0] > _MOST_IMAGES:
            continue  # a whole set: nobody trains on so many images at once
        if outweighed(case, request, made):
            continue  # that rule tells of weights
        if _of_an_idle_model(case, request):
            continue  # that rule tells of its outputs
        yield _finding(case, index, moment, asked, made, room)


def _of_an_idle_model(case: Case, request: Request) -> bool:
    """Whether a model failed that runs under the tape of another."""
    program = case.capture.surroundings.program()
    found = idle_call(program) if program and not runs_a_graph(case, request) else None
    return found is not None and failed_in(request, found)


def _needed(made: list[CodeOutput]) -> int:
    """All outputs, and the gradient of the largest, which is made while it is still there."""
    return sum(each.bytes for each in made) + made[0].bytes


def _finding(
    case: Case, index: int, moment: Moment, asked: CodeOutput | None, made: list[CodeOutput], room: int
) -> Finding:
    whole = sum(each.bytes for each in made)
    batch, many = made[0].shape[0], len(made)
    alike = Counter((each.name, each.bytes) for each in made)
    most = enumerated([_several(name, size, count) for (name, size), count in [*alike.items()][:_NAMED]])
    of_all = (
        f"at a batch of {_told(case, moment, batch)} the outputs of the code's {many} layers, which"
        f" training keeps for the backward pass, take {human(whole)}"
    )
    assert moment.request
    weights = _weights(case, outputs_of(case, moment, moment.request, idle=True), room)
    what = f"{of_all} (most {made[0].name}){weights}" if weights else f"{of_all}: most {most}"
    scores = _scores(case, index, made)
    if scores:
        length, total = made[0].shape[-1], sum(each.bytes for each in made if each.shape == made[0].shape)
        what = (
            f"attention's weights, {length:,} x {length:,} for each head and sample, are most of what"
            f" training keeps: {human(total)} of the {human(whole)} that the outputs of the code's {many}"
            f" layers take at a batch of {_told(case, moment, batch)}"
        )
        if made[0].output.class_name != "MultiHeadAttention":
            what += "; scores and softmax come on top"  # of a layer of Keras's own they are counted
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        detail=(
            "Shapes follow from the code as it is written: an argument of the command line may have changed"
            " one. Gradients, weights and buffers come on top."
        ),
        explains=min(whole, room) if room else whole,
        evidence=(
            *(
                Evidence(
                    f"{each.name} makes what was requested, {format_shape(each.shape)}", each.output.line
                )
                for each in ([asked] if asked else [])
            ),
            *(
                Evidence(f"{each.name}: {format_shape(each.shape)} = {human(each.bytes)}", each.output.line)
                for each in made[:5]
                if each is not asked
            ),
        ),
        remedies=tuple(_remedies(case, moment, made, whole, scores)),
        moment=index,
        account=True,
    )


def _several(name: str, size: int, count: int) -> str:
    """`net/conv` 12.00 MiB, or 3 x 12.00 MiB where several are alike."""
    return f"{name} {count} x {human(size)}" if count > 1 else f"{name} {human(size)}"


def _weights(case: Case, made: list[CodeOutput], room: int) -> str:
    """What the weights of these layers take beside their outputs, as a clause; empty where it is little.
    Those of a model that no optimizer updates have neither gradients nor slots.
    """
    told = case.capture.surroundings
    times, with_them = copies_in_code(code_lines(told))
    least = _LARGE * max(room, sum(each.bytes for each in made))
    kernels = kernels_of(made)
    others = [each for each in kernels if is_untrained(told.program(), tuple(each[1].shape))]
    trained = [each for each in kernels if each not in others]
    text = ""
    if (whole := times * sum(weight.bytes for _, weight in trained)) and whole >= least:
        text = f", and their weights {with_them} {human(whole)} (most {trained[0][0].name})"
    if (whole := sum(weight.bytes for _, weight in others)) and whole >= least:
        text += (
            f", and the weights of a model that does not train {human(whole)}, for each that is alive (most"
            f" {others[0][0].name})"
        )
    return text


def _told(case: Case, moment: Moment, rows: int) -> str:
    """`16`, or `8 (480 rows)` where a constant of the program makes so many rows of each sample."""
    own = own_batch(case, moment)
    return f"{own:,} ({rows:,} rows)" if own and own < rows and rows % own == 0 else f"{rows:,}"


def _scores(case: Case, index: int, made: list[CodeOutput]) -> Finding | None:
    """What is told of attention scores, where layers that make tensors of their size make most of all."""
    square = made[0].shape[-1] == made[0].shape[-2:][0] and len(made[0].shape) > 2
    alike = sum(each.bytes for each in made if each.shape == made[0].shape)
    if not square or _sets_width(made[0]) or 2 * alike < sum(each.bytes for each in made):
        return None
    return next((each for each in attention_scores.check(case) if each.moment == index), None)


_OF_SCORES = ("shorter-sequences", "blockwise-attention", "bucket-sequences")


def _remedies(
    case: Case, moment: Moment, made: list[CodeOutput], whole: int, scores: Finding | None
) -> Iterator[Remedy]:
    smaller = _smaller_samples(case, moment, made, whole)
    if smaller:
        yield smaller
    else:
        for fewer in remedies.offered(case, moment, "smaller-batch"):
            yield _several_times(case, moment, fewer, whole)
    if scores:
        yield from (each for each in scores.remedies if each.slug in _OF_SCORES)
    largest = made[0]
    width = largest.shape[-1]
    if largest.bytes >= _LARGE * whole and width >= 2 and len(made) > 1 and _sets_width(largest):
        yield remedies.of_tensor(
            case,
            f"make {largest.name} narrower ({width} -> {width // 2}), or the positions that it works on fewer"
            " (pool or stride before it)",
            Shrunk("narrower-layer", largest.bytes, width, width // 2, certainty=Certainty.ESTIMATE),
        )
    again = ("recompute",) if len(made) > 1 else ()
    yield from remedies.offered(
        case, moment, "mixed-precision", *again, *(() if smaller else ("smaller-input",))
    )


def _smaller_samples(case: Case, moment: Moment, made: list[CodeOutput], whole: int) -> Remedy | None:
    """Shorter sides of a sample, where a batch of one has no room; None where it may, or has no sides."""
    batch, room = remedies.batch_of(case, moment), room_of(case, moment)
    asked = next((each for each in made if each.asked), made[0]).shape
    sides = asked[1:-1]
    if not batch or not sides or min(sides) < _LEAST_SIDE:
        return None
    one, times = whole // batch, 1
    if _WITH_GRADIENTS * one <= room or not room:
        return None
    while _WITH_GRADIENTS * one > room * times ** len(sides) and min(sides) // times >= _LEAST_SIDE:
        times *= 2
    shorter = [side // times for side in sides]
    what = (
        "smaller pictures, or on tiles of them" if len(sides) > 1 else "shorter samples, or on pieces of them"
    )
    part = _PARTS.get(times, f"1/{times}")
    named = named_sizes(moment.request.failed.shape, case.capture.surroundings) if moment.request else ()
    own = next((each for each in named if each.meaning in (Meaning.IMAGE, Meaning.LENGTH)), None)
    if own and own.name:
        what += f" (`{own.name}`, {own.line.place}: {own.stated} -> {own.stated // times})"
    fits = "so no batch is small enough" if one > room else "and gradients come on top"
    return Remedy(
        f"train on {what}, with sides {part} as long ({format_shape(sides)} -> {format_shape(shorter)} here),"
        f" at a batch of 1 to begin with: one sample's outputs alone take {human(one)} of {human(room)},"
        f" {fits}",
        slug="smaller-input",
    )


_LEAST_SIDE = 8
_PARTS = {2: "half", 4: "a quarter", 8: "an eighth"}


def _several_times(case: Case, moment: Moment, fewer: Remedy, whole: int) -> Remedy:
    """The same for a batch that has room, where half of it has none by the outputs' own sum."""
    batch, room = remedies.batch_of(case, moment), room_of(case, moment)
    joined = own_layers(case, moment)
    divisor = _WITH_JOINS if joined and joined.power > 1 else _WITH_GRADIENTS
    first = far_too_much.batch_for_outputs(whole, room, batch, divisor)
    halved = f" ({batch} -> {(batch or 0) // 2})"
    if not first or not fewer.text.startswith(_HALVES) or halved not in fewer.text:
        return fewer
    why = f"at {(batch or 0) // 2} these outputs alone still take {human(whole // 2)} of {human(room)}"
    text = fewer.text.replace(_HALVES, "lower the batch", 1).replace(
        halved, f": {batch} -> {first} (a guess: {why})", 1
    )
    text = text.replace("one update for two batches", "one update for several batches", 1)
    return replace(fewer, text=text, code=code_snippets.accumulate(case.api, (batch or 0) // first))


_HALVES = "halve the batch"
_WITH_GRADIENTS, _WITH_JOINS = 2, 4
"""By what the room is divided: gradients come on top, and what is joined to all before it."""


def _sets_width(made: CodeOutput) -> bool:
    """Whether the last side is the layer's own width: it has a kernel that ends in it. The last side of
    attention scores is a length, and a normalisation has the width of what it reads.
    """
    return any(len(each.shape) > 1 and made.shape[-1] in each.shape for each in made.output.weights)
