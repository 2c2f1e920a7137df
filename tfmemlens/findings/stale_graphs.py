"""Several models live in one process: names carry high counters such as `training_10/Adam`.

What it means: Keras numbers what it builds in one graph. `training_10` is the eleventh compiled model (or
`fit` of one) in this process; the older ones keep their weights and optimizer slots until the session is
cleared.
When it fires: a name in the failure, or its layer, begins with `training_N/` or `sequential_N/` (N >= 2);
from N = 4 on, or where the text tells of models before, it is a cause. Where a program that recorded itself
has no model of that name the number counts calls, as Keras 3 does.
What to do: clear the session between models, or run each in a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.rows import failures, rows
from tfmemlens.findings.support.weights import in_summary
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

BASIS = Basis.NAME
EXPLAINS = (
    "what is in use and not in the list; without a list all but one model's even part of it, or what each"
    " earlier model holds of the failing weight"
)

_COUNTED = regex(r"(?P<scope>training|model|sequential|functional)_(?P<number>\d+)/")
"""A name's outermost scope: inside a model, numbers count its own parts."""


class _Counted(NamedTuple):
    """The number of a model in its process, by a name that the text has."""

    number: int
    scope: str
    proof: Evidence
    name: str


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        counted = list(_counted(moment)) or (list(_by_summary(case)) if index == 0 else [])
        counted = [each for each in counted if not _counts_calls(case, each)]
        if not counted:
            continue
        number, _, proof, name = max(counted, key=lambda entry: entry.number)
        if number < 2:
            continue
        held = _held_by_others(case, moment, number)
        yield Finding(
            severity=Severity.CAUSE if number >= _MANY or _one_after_another(case) else Severity.FACTOR,
            headline=(
                f"the name `{name}` says that this is model or training function number"
                f" {number + 1} of this process; the earlier ones may still hold memory"
            ),
            because=(
                f"this is number {number + 1} of the models built in one process (`{name}`), and"
                " earlier ones most likely still hold their weights"
            ),
            explains=held,
            basis=Basis.SHAPE
            if held and not (moment.balance.outside_report or moment.balance.in_use)
            else None,
            evidence=(proof,),
            remedies=(
                Remedy(
                    f"forget the old models before you build the next (`{name}` is number"
                    f" {number + 1}; in a notebook each run of a cell builds another)",
                    "tf.keras.backend.clear_session()   # keras.backend.clear_session() in old Keras",
                    slug="clear-session",
                ),
                Remedy(
                    "or build each model in a process of its own: when it ends, all its memory returns",
                    slug="own-process",
                ),
                *_smaller_step(case, moment),
            ),
            moment=index,
        )


_MANY = 4
_LARGE = 256 << 20


def _smaller_step(case: Case, moment: Moment) -> Iterator[Remedy]:
    """A smaller batch, where a large tensor of the step itself failed: no earlier model made it so large."""
    need = moment.request.needed_bytes if moment.request else None
    if need is not None and need >= _LARGE:
        yield from remedies.offered(case, moment, "smaller-batch")


def _counts_calls(case: Case, counted: _Counted) -> bool:
    """Whether the number is that of a call: Keras 3 adds one to a model's scope whenever it is called again,
    and the program said which models it has.
    """
    number, scope = counted.number, counted.scope
    live = case.capture.live_model
    names = {*live.names, *(part for path, _ in live.layers for part in path.split("/"))} if live else set()
    numbered = {name for name in names if name == scope or name.startswith(f"{scope}_")}
    return scope != "training" and bool(numbered) and f"{scope}_{number}" not in numbered


def _one_after_another(case: Case) -> bool:
    """Whether the text says that models before this one were trained in the same process."""
    return case.capture.surroundings.shows("models in a loop") is not None


_LAYER = regex(r"(?P<kind>[a-z][a-z0-9_]*?)_(?P<number>\d{1,5})\Z")


def _by_summary(case: Case) -> Iterator[_Counted]:
    """Layers of a summary of which every one of a kind has a high number: Keras counted those of earlier
    models of the process before.
    """
    kinds: dict[str, list[tuple[int, Line]]] = {}
    for name, _, _, line in case.capture.surroundings.summary:
        match = _LAYER.match(name)
        kind = match["kind"] if match else name
        kinds.setdefault(kind, []).append((int(match["number"]) if match else 0, line))
    models = [
        (min(numbers)[0] // len(numbers), kind, min(numbers)[1], min(numbers)[0])
        for kind, numbers in kinds.items()
        if min(numbers)[0] >= 2 * len(numbers)
    ]
    if len(models) >= _KINDS:
        number, kind, line, lowest = min(models, key=lambda entry: entry[0])
        proof = Evidence("the summary's lowest number of its kind", line)
        yield _Counted(number, kind, proof, f"{kind}_{lowest}")


_KINDS = 2
"""So many kinds of layers must have been counted on: one may be named by hand."""


def _held_by_others(case: Case, moment: Moment, number: int) -> int | None:
    """What models before this one may hold: what no list names, else an even share of what is in use."""
    if moment.balance.outside_report:
        return moment.balance.outside_report.bytes
    if moment.balance.in_use:
        return moment.balance.in_use.bytes * number // (number + 1)
    request = moment.request
    need = request.needed_bytes if request else None
    return number * need if request and need and _is_weight(case, request) else None


def _is_weight(case: Case, request: Request) -> bool:
    """Whether every model holds as much as was asked for, its batch over or not."""
    if request.owner.phase is Phase.OPTIMIZER or request.owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT):
        return True
    shape = request.failed.shape or ()
    return len(shape) == 2 and bool(in_summary(case.capture.surroundings, shape[0] or 0, shape[1] or 0))


def _counted(moment: Moment) -> Iterator[_Counted]:
    assert moment.request
    failed, layer = moment.request.failed, moment.request.owner.layer
    for name, line in [
        (failed.node, failed.line),
        (f"{layer}/" if layer else None, failed.line),
        *((row.allocation.node, row.allocation.line) for row in rows(moment)[:60]),
    ]:
        if match := _COUNTED.match(name or ""):
            number, scope = int(match["number"]), match["scope"]
            yield _Counted(number, scope, Evidence(f"the node {name}", line), f"{scope}_{number}")
