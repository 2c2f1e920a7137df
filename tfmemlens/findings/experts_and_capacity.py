"""A router of a mixture of experts makes a tensor of every token with every slot of every expert.

What it means: dispatch and combine tensors as GShard has them are [tokens, experts, capacity], nearly all
zeros. The capacity of an expert goes with the tokens, so with twice the batch or length they take four times
as much; several are made in each layer, and training keeps them.
When it fires: a tensor of three sides failed whose second is a number of experts that the program states, and
its code speaks of capacity, dispatch or routing.
What to do: route in groups of tokens, each with a capacity of its own; a smaller batch, a smaller capacity
factor; or gather and scatter the chosen tokens instead of multiplying with one-hot rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.program_lines import code_lines, settings_by_name
from tfmemlens.findings.support.rows import alike, requests, tensor_text
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human

BASIS = Basis.NAME
EXPLAINS = "the failing tensor, and held ones of the same size"

_EXPERTS = regex(r"(?i)(?:\A|_)(?:n|num|number_of)?_?experts?(?:_?(?:num|count))?\Z")
_ROUTES = regex(r"(?i)\bcapacit|dispatch|\brout(?:e|er|ing)\b|\btop_?k\b.{0,40}\bexpert")
_SIDES, _LEAST_TOKENS, _LEAST_BYTES = 3, 256, 16 * MIB
_GROUPS = 8


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        shape, need = request.failed.shape or (), request.failed.tensor_bytes or 0
        if len(shape) != _SIDES or not all(shape) or need < _LEAST_BYTES:
            continue
        tokens, experts, slots = (side or 1 for side in shape)
        stated = _experts(case, experts)
        if stated is None or tokens < _LEAST_TOKENS:
            continue
        name, line = stated
        what = (
            f"each of {tokens:,} tokens with each of {slots:,} slots of {experts:,} experts (`{name}`,"
            f" {line.place}), nearly all of it zeros; slots go with the tokens, so it grows with their square"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{what}: {human(need)}",
            because=what,
            explains=alike(moment) or need,
            evidence=(
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
                Evidence("the number of experts", line),
            ),
            remedies=(
                Remedy(
                    f"route in groups of tokens, each with a capacity of its own: in {_GROUPS} groups of"
                    f" {max(tokens // _GROUPS, 1):,} all of them together take {human(need // _GROUPS)}",
                    f"x = tf.reshape(x, [{_GROUPS}, -1, width])   # and route within each group",
                    need - need // _GROUPS,
                    Certainty.EXACT,
                    slug="route-in-groups",
                ),
                *remedies.offered(case, moment, "smaller-batch"),
                Remedy(
                    "or gather the chosen tokens for each expert and scatter its results: no tensor of all"
                    " tokens and slots is made",
                    slug="gather-for-experts",
                ),
            ),
            moment=index,
        )


def _experts(case: Case, number: int) -> tuple[str, Line] | None:
    """The setting of this value that counts experts, in a program that routes."""
    code = code_lines(case.capture.surroundings)
    if not any(_ROUTES.search(line.text) for line in code):
        return None
    named = settings_by_name(code)
    found = (
        (name, line) for name, (value, line) in named.items() if value == number and _EXPERTS.search(name)
    )
    return next(found, None)
