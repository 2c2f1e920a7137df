"""Chunks of several sizes are alive equally often: as many copies of one set of tensors.

What it means: a dump has no names, but where ten chunks of one size stand beside ten of another, or twenty,
the same set of tensors is there ten times. These may be layers alike, or copies of a model's weights, slots
or gradients that a program keeps: snapshots, models of earlier trials, gradients to be added up.
When it fires: no report names owners; the request is a weight's gradient or update, or computed by the user's
own gradient call; and chunks of its size and of another from 256 KiB on, each in whole multiples of the same
count of five and more (one more or less), hold half of what is in use. Activations of a U-Net come in such
counts, too, so nothing is said where something else failed.
What to do: keep the best copy only, on the host; add gradients up as they come; forget old models.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings import account_of_the_code
from tfmemlens.findings.support.kept import joined_from_step_to_step
from tfmemlens.findings.support.rows import all_in_use, attributed, requests, tensor_text
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.attribution import Phase
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex
from tfmemlens.units import KIB, human, percent, round_up

BASIS = Basis.MEASURED
EXPLAINS = "the blocks of these sizes"

_LEAST_COUNT, _LEAST_BYTES = 5, 256 * KIB
_GRADIENT_CALL = regex(r"\.gradients?\(|\bcompute_gradients\(")
_NUMBERED = regex(
    r"(?:\A|/)(?P<name>adam\w*?|sgd|rmsprop|nadam|lion|adagrad|model|sequential"
    r"|functional)_(?P<number>\d+)(?:/|\Z)"
)
_OF_A_WEIGHT = regex(r"MatMul_1(?:_\d+)?\Z|Backprop(?:Filter|Weights)")


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        if attributed(moment):
            continue
        number = _number(request)
        if case.capture.surroundings.retraced and not number:
            continue  # retraced-functions tells what the traces left
        count, rows = _sets(moment)
        failed_too = any(row.size_bytes == round_up(request.needed_bytes or 0) for row in rows)
        if not failed_too or not _is_of_weights(request):
            continue
        if joined_from_step_to_step(case, moment, request):
            continue  # a bank that grows, and what is made of it, has such sets as well
        if not number and next(account_of_the_code.check(case), None):
            continue  # by the code they are layers alike
        size = sum(row.total_bytes for row in rows)
        share = percent(size, all_in_use(moment))
        sizes = " and ".join(human(row.size_bytes) for row in rows[:2]) + (", …" if len(rows) > 2 else "")
        what = f"about {count} copies of one set of tensors ({sizes}) are in use, {share} of all"
        meaning = ", as large as weights and their gradients: copies that the program keeps, or equal layers"
        if number:
            meaning = f", as large as weights, and {number} is at work: most likely earlier models are kept"
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{what}{meaning}",
            because=f"{what}{meaning}",
            explains=size,
            evidence=(
                *(Evidence(f"{row.count} x {human(row.size_bytes)}", row.line) for row in rows[:3]),
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
            ),
            detail="A dump has no names: as many layers of the same kind look alike.",
            remedies=(_REMEDY,),
            moment=index,
        )


_REMEDY = Remedy(
    "if these are copies: keep the best alone, on the host; add gradients up as they come; drop models of"
    " earlier trials",
    "best = [w.numpy() for w in model.weights]; tf.keras.backend.clear_session()",
    slug="look-between-steps",
)


def _sets(moment: Moment) -> tuple[int, list[Allocation]]:
    """How often a set is there, and the sizes that belong to it, largest first."""
    sizes = sorted(
        (
            row
            for row in moment.attribution.table
            if row.count >= _LEAST_COUNT and row.size_bytes >= _LEAST_BYTES
        ),
        key=lambda row: -row.total_bytes,
    )
    best: tuple[int, list[Allocation]] = (0, [])
    for count in sorted({row.count for row in sizes}):
        alike = [row for row in sizes if _is_multiple(row.count, count)]
        share = sum(row.total_bytes for row in alike) / max(all_in_use(moment), 1)
        if len(alike) >= 2 and share >= 0.5 and len(alike) > len(best[1]):
            best = (count, alike)
    return best


def _is_multiple(count: int, of: int) -> bool:
    """Whether a count is one, two, three or four times another, give or take one that is being made."""
    return any(abs(count - times * of) <= 1 for times in (1, 2, 3, 4))


def _is_of_weights(request: Request) -> bool:
    failed = request.failed
    of_gradient = request.owner.phase is Phase.GRADIENT and bool(_OF_A_WEIGHT.search(failed.node or ""))
    own_call = bool(_GRADIENT_CALL.search(failed.source_text or "")) and len(failed.shape or ()) == 2
    return request.owner.phase is Phase.OPTIMIZER or request.fixed or of_gradient or own_call


def _number(request: Request) -> str:
    """`adam_5`, where an optimizer or a model is the fourth of its name or a later one."""
    match = _NUMBERED.search(request.failed.node or "")
    return f"`{match['name']}_{match['number']}`" if match and int(match["number"]) >= 3 else ""
