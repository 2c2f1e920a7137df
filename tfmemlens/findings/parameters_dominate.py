"""Weights and what the optimizer keeps beside them are most of the memory.

What it means: these bytes do not depend on the batch. Adam keeps two more numbers for each weight, momentum
one, and each weight has a gradient while it is updated: four times the weights in all for Adam.
When it fires: at least 40 % of the attributed bytes are parameters and optimizer slots; or the failing
request comes from making them.
What to do: a lighter optimizer, smaller or shared layers, weights split over devices. A smaller batch does
not help here.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets, remedies
from tfmemlens.findings.support.board import board
from tfmemlens.findings.support.penalised_table import penalised_table
from tfmemlens.findings.support.program_account import undonated
from tfmemlens.findings.support.rows import (
    OF_SLOTS,
    OF_UPDATE,
    alike,
    cut_list,
    device_limit,
    held,
    of_kind,
    place,
    quote,
    requests,
    tensor_text,
    total,
)
from tfmemlens.findings.support.weights import (
    Weight,
    fewer_classes,
    finds_a_full_device,
    optimizer_of,
    weight_of,
)
from tfmemlens.knowledge.vocabularies import PRETRAINED
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human, human_size, percent

BASIS = Basis.NAME
EXPLAINS = "weights and slots; or the failing one and held ones of the same size"

_MAKING = regex(
    r"(?:/|\A)(?:Initializer|initial_value|Assign|zeros_like|Adam(?:_\d+)?|Momentum|RMSProp(?:_\d+)?"
    r"|random_uniform|random_normal|truncated_normal|stateless_random_\w+)(?:_\d+)?(?:/|\Z)"
)

_SPARSE_UPDATE = regex(
    r"(?:\A|/)update_[^/]+/(?:mul|add|sub|Mul|Add|Sub|sqrt|Sqrt|truediv|AssignSub|Assign)\w*\Z"
)
"""Ops of an update that has no kernel of its own: of Adam for the sparse gradient of a lookup."""
_MANY_ROWS = 10_000
"""Rows of a fully connected kernel from which on a rule of its own tells of it."""
_NO_BATCH = "a smaller batch does not help here"
_ONLY_SETS = (
    "the step computes next to nothing (it sets weights, as an initialisation does): it is none of training"
)
_NOTHING = 0.02
"""Of the peak: what a step adds that only sets or reads weights."""
_SMALL_BYTES = 32 * MIB
"""A weight below it is none of those that fill a device."""


def check(case: Case) -> Iterator[Finding]:
    for index, moment in enumerate(case.moments):
        model = of_kind(moment, Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
        need = (moment.request.needed_bytes or 0) if moment.request else 0
        compiler = moment.incident.compiler if moment.incident else None
        if compiler and compiler.one_operation:
            continue  # what an operation is given is no weight for that
        if compiler and undonated(compiler):
            continue  # that rule tells of arguments that are given back
        if total(model) >= max(0.4 * held(moment), need, 1) and not cut_list(moment):
            yield Finding(
                severity=Severity.CAUSE,
                headline=(
                    f"{percent(total(model), held(moment))} of {human(held(moment))} are weights and"
                    " optimizer slots"
                ),
                because=(
                    f"{percent(total(model), held(moment))} of the {human(held(moment))} held are weights and"
                    f" optimizer slots; {_ONLY_SETS if _computes_nothing(moment) else _NO_BATCH}"
                ),
                explains=total(model),
                basis=Basis.TRACED if moment.timeline else None,
                evidence=tuple(quote(row) for row in model[:3]),
                remedies=(
                    *remedies.offered(case, moment, "lighter-optimizer"),
                    Remedy(
                        "make the widest layer narrower, or share it; split embeddings over devices",
                        slug="narrower-layer",
                    ),
                ),
                moment=index,
            )
    yield from _while_making(case)


def _computes_nothing(moment: Moment) -> bool:
    """Whether a traced step adds so little to what stood before it that it can be no step of training."""
    timeline, whole = moment.timeline, held(moment)
    return timeline is not None and bool(whole) and whole - timeline.baseline_bytes <= _NOTHING * whole


def _while_making(case: Case) -> Iterator[Finding]:
    """The run died while weights or slots were being created: before any batch."""
    for index, moment, request in requests(case):
        failed, owner = request.failed, request.owner
        name = failed.node or ""
        what = weight_of(request)
        if failed.is_operand:
            continue  # a copy for a product
        making = owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT) or (
            _MAKING.search(name) and owner.phase.value != "gradient" and "dropout" not in name.lower()
        )
        updating = owner.phase is Phase.OPTIMIZER and owner.kind is not Kind.OPTIMIZER_SLOT
        making = making or (updating and what is Weight.TABLE)
        if making and updating and penalised_table(case, request):
            continue  # penalty-on-weights tells what makes its gradient dense
        where = _doing(updating, place(moment))
        if copied := _copied_kernel(request):
            where = f"in the convolution of {place(moment)}"
        if owner.kind is Kind.PARAMETER and failed.node is None:
            kind = what if what in (Weight.TABLE, Weight.KERNEL) else "a weight"
            where = f"while creating the first value of {kind}" + (
                f" at {failed.source}" if failed.source else ""
            )
        if making and not failed.pipeline and (failed.tensor_bytes or 0) >= MIB:
            yield Finding(
                severity=Severity.CAUSE,
                headline=f"the run failed {where}: {tensor_text(moment)}",
                because=(
                    f"{copied or _taking(request) or f'it failed {where}'};"
                    f" {_why(finds_a_full_device(case, moment))}"
                ),
                detail="Weights and optimizer slots do not depend on the batch.",
                explains=alike(moment),
                rules_out=() if finds_a_full_device(case, moment) else ("smaller-batch",),
                basis=Basis.SHAPE if failed.creating or what is Weight.TABLE else None,
                evidence=(Evidence(f"requested: {tensor_text(moment)}", failed.line),),
                remedies=(
                    *((_USERS,) if finds_a_full_device(case, moment) and board(case) is None else ()),
                    *_of_kind(case, moment, request),
                ),
                moment=index,
            )


_USERS = Remedy(
    "first see what holds the device before the run starts: another process, or an earlier model in a"
    " notebook's kernel; if nothing does, this model's own weights fill it",
    "nvidia-smi",
    slug="see-device-users",
)


def _whose_table(request: Request) -> str | None:
    """Whose vocabulary an embedding table has that a published model brings."""
    shape = request.failed.shape or ()
    in_training = request.failed.updating or request.owner.phase is Phase.OPTIMIZER
    if in_training or weight_of(request) is not Weight.TABLE or len(shape) != 2:
        return None
    name = PRETRAINED.get(shape[0] or 0)
    return f"the vocabulary of {name}" if name else None


def _copied_kernel(request: Request) -> str:
    """What the request of a convolution is that has the shape of its kernel, units first."""
    failed, op = request.failed, request.owner.op or request.failed.op or ""
    if request.owner.kind is not Kind.PARAMETER or not op.endswith("Conv2D") or not failed.shape:
        return ""
    units, inputs, height, width = failed.shape
    kernel = format_shape((height, width, inputs, units))
    return f"by its shape the copy of its kernel {kernel} that a convolution makes for cuDNN"


def _why(full: bool) -> str:
    small = ": so small a weight finds no room only where the device is full already"
    return f"a smaller batch does not help here{small if full else ''}"


_COPIES, _BEGIN_WITH = 4, 0.5
"""Of a table that is trained with two slots: itself, the slots, its gradient. Temporaries of the update come
on top, so half of the rows that these leave room for are a start."""


def _rows_that_fit(case: Case, moment: Moment, request: Request) -> str:
    """How many rows the limit has room for, where that is less than there are; nothing without a limit."""
    limit, shape, need = device_limit(case, moment), request.failed.shape, request.failed.tensor_bytes
    if not (limit and shape and need and shape[0]) or request.owner.kind is not Kind.OPTIMIZER_SLOT:
        return ""
    most = int(limit.bytes / (_COPIES * need) * shape[0])
    if most >= shape[0]:
        return ""
    begin = int(most * _BEGIN_WITH)
    digits = 10 ** max(len(str(begin)) - 2, 0)
    return (
        f". With its slots and gradient no more than {most:,} rows fit {human_size(limit)}: begin with"
        f" {begin // digits * digits:,}"
    )


def _of_kind(case: Case, moment: Moment, request: Request) -> Iterator[Remedy]:
    """What makes this kind of weight smaller."""
    what, known = weight_of(request), optimizer_of(request)
    copied = _copied_kernel(request)
    if copied:
        what = Weight.KERNEL
    if entries := _entries_of_a_replay(request):
        yield _smaller_replay(entries, request.failed.tensor_bytes or 0)
        return
    whose = _whose_table(request)
    if (copied or whose) and not finds_a_full_device(case, moment):
        yield _USERS
    if whose:
        yield Remedy(
            f"take a smaller model of this family, if it is pretrained: {whose} fixes the rows of this table",
            slug="smaller-model",
        )
        return
    if what is Weight.TABLE:
        if _SPARSE_UPDATE.search(request.failed.node or ""):
            yield Remedy(
                "this update works on the whole table, with temporaries of its size: use an optimizer"
                " that touches the rows of the batch only (SGD, Adagrad, a lazy Adam)",
                code_snippets.lazy_adam(case.api),
                request.failed.tensor_bytes,
                Certainty.BOUND,
                slug="sparse-updates",
            )
        yield Remedy(
            "make the table smaller: fewer rows (a smaller vocabulary, hashing of rare ids), a smaller"
            f" dimension{_rows_that_fit(case, moment, request)}",
            slug="smaller-vocabulary",
        )
        yield Remedy("place the table on the CPU, or split it over devices", slug="table-on-host")
    elif what is Weight.KERNEL:
        yield Remedy("make the layer narrower: half the filters halve its kernel", slug="narrower-layer")
    elif (request.failed.tensor_bytes or 0) < _SMALL_BYTES or what is Weight.OTHER:
        small = (request.failed.tensor_bytes or 0) < _SMALL_BYTES
        whose = "this weight is small, so others take nearly all" if small else "how much they take in all"
        yield Remedy(
            f"print how much all weights and slots take: {whose}",
            code_snippets.size_of_weights(case.api),
            slug="count-parameters",
        )
    if classes := fewer_classes(request):
        yield classes
    rows = (request.failed.shape or (0,))[0] or 0
    first_value = request.owner.kind is Kind.PARAMETER and request.failed.node is None
    if what is Weight.DENSE and first_value and rows < _MANY_ROWS:
        yield Remedy(
            "make the layers narrower, or fewer: weights, gradients and slots shrink with them",
            slug="narrower-layer",
        )
    if request.owner.kind is Kind.OPTIMIZER_SLOT or known:
        yield from remedies.offered(case, moment, "lighter-optimizer")


_OF_A_REPLAY = regex(r"(?i)(?:\A|[/_])(?:experience_?)?replay(?:_?(?:buffer|memory))?/")
_LEAST_ENTRIES = 1000


def _entries_of_a_replay(request: Request) -> int | None:
    """How many entries a replay memory has that a graph keeps as a variable, by the node's name."""
    shape = request.failed.shape
    if not shape or len(shape) < 2 or (shape[0] or 0) < _LEAST_ENTRIES:
        return None
    return shape[0] if _OF_A_REPLAY.search(request.failed.node or "") else None


def _smaller_replay(entries: int, need: int) -> Remedy:
    tenth = entries // 10
    return Remedy(
        f"give the replay memory a smaller capacity, {entries:,} -> {tenth:,}: a variable like this then"
        f" takes {human(need // entries * tenth)}; smaller observations (grayscale, fewer pixels, uint8)"
        " shrink it, too, and where the framework lets you, place it on the CPU",
        slug="smaller-replay",
    )


def _taking(request: Request) -> str | None:
    """What an embedding table takes in training: its rows tell more than the op that failed."""
    if entries := _entries_of_a_replay(request):
        return f"a replay memory of {entries:,} entries is made here whole, as a variable"
    need, shape = request.needed_bytes, request.failed.shape
    if weight_of(request) is not Weight.TABLE or need is None or not shape or len(shape) != 2:
        return None
    rows, width = shape
    if whose := _whose_table(request):
        return f"an embedding table of {rows:,} x {width:,}, {whose}"
    return f"an embedding table of {rows:,} x {width:,}, and each slot of the optimizer takes as much again"


def _doing(updating: bool, where: str) -> str:
    """What the run was at when it failed; the optimizer's update or its slots may be the place itself."""
    if where.startswith(OF_UPDATE):
        return f"in {where}"
    if where.startswith(OF_SLOTS):
        return f"while creating {where}"
    doing = "in the optimizer update of" if updating else "while creating the weights or optimizer slots of"
    return f"{doing} {where}"
