"""A loop keeps something for every iteration.

What it means: the backward pass of a while loop (dynamic_rnn, Keras RNN layers, tf.scan) needs the values of
every iteration, so each is kept on a stack. The bytes grow with the number of steps: a sequence ten times as
long needs ten times as much.
When it fires: nodes inside a loop are listed several times (one line per live iteration), or are alive
several times at the peak of a trace, or stacks and tensor arrays hold at least 10 %; or nodes of any name
that are listed sixteen times and more are half of the list. Without a list: the failing op is in the backward
pass of a loop, or in a loop of a decoder or an RNN in a run that trains.
What to do: shorter sequences, buckets, truncated back-propagation; on GPU in TF 1 `swap_memory=True`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.main_buffers import main_buffers
from tfmemlens.findings.support.rows import Row, held, of_kind, quote, requests, rows, tensor_text, total
from tfmemlens.findings.support.situation import JAX, framework_of, situation
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.tensor import format_shape
from tfmemlens.model.what_if import Shrunk
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human, percent
from tfmemlens.values import replace

BASIS = Basis.MEASURED
EXPLAINS = "what the loop keeps of its iterations"


_LONG = 60
_MIN_EXECUTIONS = 16
"""Executions of one node in one step: only a loop runs an op so often."""


_LINES = (
    "The report has one line per execution of a node, so a name that stands there k times ran k times; the"
    " lines are not k outputs of one run."
)


_STACKED = regex(
    r"TensorList(?:Stack|FromTensor|Gather|Concat\w*)(?:_\d+)?\Z|TensorArray(?:Stack|Gather)\w*\Z"
)
"""Ops that lay a loop's turns one behind the other, or deal them out."""


_BACKWARD = regex(
    r"(?:\Agradient_tape/|(?:\A|/)gradients(?:_\d+)?/)(?:[^/]+/)*?while(?:_\d+)?/|/while(?:_\d+)?_grad/"
)
"""Names of the ops of a loop's backward pass."""
_RECURRENT = regex(
    r"(?i)\A(?!.*(?:nonmax|preprocess|postprocess|map(?:_\d+)?/while|train\w*loop|infer|predict|beam"
    r"|sampl|generat))"
    r"[^\n]*(?:decoder|rnn|lstm|gru|recurrent|cell|attention)[^\n]*/while(?:_\d+)?/"
)
"""Names of the ops of a loop over the steps of a sequence."""
_GRADIENT = regex(r"jvp\(|transpose\(|backward|gradient|checkpoint|remat")
"""Names of ops that belong to a program's backward pass, or that it reads."""


def check(case: Case) -> Iterator[Finding]:
    yield from _stacked(case)
    yield from _in_a_turn(case)
    for index, moment in enumerate(case.moments):
        stacks = of_kind(moment, Kind.LOOP_STACK)
        if not stacks or total(stacks) < 0.1 * held(moment):
            yield from _run_again_and_again(case, index, moment)
            continue
        if moment.incident and moment.incident.compiler and not _of_a_gradient(stacks):
            continue  # what a scan returns: no backward pass needs it
        if framework_of(case) == JAX and main_buffers(moment, JAX):
            continue  # the program's own rule names the stacks and the body to compute again
        node, times, per_step = _most_alive(stacks)
        share = total(stacks) / max(held(moment), 1)
        yield Finding(
            severity=Severity.CAUSE if share >= 0.3 else Severity.FACTOR,
            headline=(
                f"{percent(total(stacks), held(moment))} of {human(held(moment))} are what a loop keeps of"
                f" its iterations: {node} is alive {times} times, {human(per_step)} each"
            ),
            because=(
                f"a loop keeps every iteration for the backward pass: {node} is alive {times} times with"
                f" {human(per_step)} each"
            ),
            explains=total(stacks),
            evidence=tuple(quote(row) for row in stacks[:3]),
            detail=_LINES if moment.timeline is None else "",
            remedies=(
                replace(
                    remedies.of_change(
                        case,
                        index,
                        "halve the sequence (truncated back-propagation, or cut and bucket the data): half as"
                        " much is kept",
                        Shrunk("smaller-input", total(stacks), certainty=Certainty.ESTIMATE),
                    ),
                    slug="shorter-sequences",
                ),
                *remedies.offered(case, moment, "smaller-batch"),
                _swap(total(stacks)),
            ),
            moment=index,
            rules_out=("smaller-batch",) if _of_weights(stacks) else (),
        )


def _of_weights(stacks: list[Row]) -> bool:
    """Whether most of what a loop keeps are the weights that it reads in each turn, which have no batch."""
    read = [row for row in stacks if _READ.search(row.allocation.node or "")]
    return 2 * total(read) > total(stacks)


_READ = regex(r"/ReadVariableOp(?:_\d+)?/accumulator")


def _in_a_turn(case: Case) -> Iterator[Finding]:
    """What failed is in a loop that training goes back through, and nothing tells what it keeps."""
    for index, moment, request in list(requests(case))[:1]:
        failed, need = request.failed, request.failed.tensor_bytes
        backward = bool(_BACKWARD.search(failed.node or ""))
        forward = bool(_RECURRENT.search(failed.node or "")) and situation(case, moment).training is True
        table = moment.attribution.table
        if failed.kind is not RequestKind.TENSOR or len(table) or not (backward or forward):
            continue
        each = f" (of this one {tensor_text(moment)})" if need else ""
        where = "a loop's backward pass" if backward else "a loop that is trained"
        what = f"in {where}, for which each iteration's values are kept: more steps, more memory"
        yield Finding(
            severity=Severity.FACTOR,
            headline=f"it failed {what}{each}",
            because=what,
            basis=Basis.NAME,
            evidence=(Evidence(f"the failing op: {failed.node}", failed.line),),
            remedies=(
                Remedy(
                    "fewer iterations: shorter sequences or fewer time steps, or truncated back-propagation",
                    slug="truncate",
                ),
                _swap(None),
                *remedies.offered(case, moment, "smaller-batch"),
            ),
            moment=index,
        )


def _of_a_gradient(stacks: list[Row]) -> bool:
    """Whether one of a compiled program's stacks is made where it is differentiated."""
    return any(_GRADIENT.search(row.allocation.node or "") for row in stacks)


def _stacked(case: Case) -> Iterator[Finding]:
    """What all turns of a loop make is asked for as one tensor, whose first dimension is the turns."""
    for index, moment, request in requests(case):
        shape, need = request.failed.shape, request.failed.tensor_bytes
        name = request.failed.op or (request.failed.node or "").rpartition("/")[2]
        if not shape or len(shape) < 3 or not all(shape) or need is None or need < 64 * MIB:
            continue
        if not _STACKED.search(name) and not _STACKED.search((request.failed.node or "").rpartition("/")[2]):
            continue
        turns = shape[0] or 1
        each = f"{format_shape(shape[1:])}, {human(need // turns)} each"
        what = f"the outputs of {turns} steps of a loop as one tensor ({each})"
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{what}: {human(need)}; training keeps the state of every step as well",
            because=f"{what}; training keeps the state of every step as well",
            explains=need,
            basis=Basis.SHAPE,
            evidence=(Evidence(f"requested: {tensor_text(moment)}", request.failed.line),),
            remedies=(
                *_longest(turns),
                Remedy(
                    f"fewer steps: {turns} -> {max(turns // 2, 1)} halves it; if only the last output is"
                    " needed, do not return the sequence",
                    "return_sequences=False",
                    need // 2,
                    Certainty.EXACT,
                    slug="fewer-steps",
                ),
                *remedies.offered(case, moment, "smaller-batch"),
            ),
            moment=index,
        )


_MANY_TURNS = 1000
"""Steps of one long sample: what pads its whole batch."""


def _longest(turns: int) -> Iterator[Remedy]:
    """Shorter samples: the longest of a batch sets the steps of all, and may come late in an epoch."""
    if turns >= _MANY_TURNS:
        yield Remedy(
            f"cap the length: the longest sample of a batch sets its steps, here {turns:,}, and may come"
            " late; cut, split or drop those that are far longer than the rest, or sort by length: all that"
            " the loop keeps shrinks with the steps",
            slug="shorter-sequences",
        )


def _run_again_and_again(case: Case, index: int, moment: Moment) -> Iterator[Finding]:
    """A list whose nodes stand there many times: the outputs of a loop's turns, whatever the loop's name."""
    if moment.request is None or moment.request.failed.kind is not RequestKind.TENSOR:
        return
    executions: Counter[str] = Counter()
    for row in rows(moment, lambda row: row.owner.phase is not Phase.OPTIMIZER):
        executions[row.allocation.node or ""] += row.allocation.count
    again = {node for node, times in executions.items() if node and times >= _MIN_EXECUTIONS}
    repeated = rows(moment, lambda row: row.allocation.node in again)
    books = moment.balance
    listed = moment.attribution.table.total_bytes - books.unlisted.bytes
    if not repeated or total(repeated) < 0.5 * listed:
        return
    node, times, per_step = _most_alive(repeated)
    unlisted = books.unlisted.bytes if books.unlisted_nodes >= _MIN_EXECUTIONS else 0
    more = f", and {books.unlisted_nodes:,} more executions hold {human(unlisted)}" if unlisted else ""
    size = total(repeated) + unlisted
    if size < 0.1 * held(moment):
        return
    yield Finding(
        severity=Severity.CAUSE if size >= 0.3 * held(moment) else Severity.FACTOR,
        headline=f"a loop keeps every iteration: {node} is alive {times} times, {human(per_step)} each{more}",
        because=(
            f"a loop keeps every iteration for the backward pass: {node} is alive {times} times with"
            f" {human(per_step)} each{more}"
        ),
        explains=size,
        evidence=tuple(quote(row) for row in repeated[:3]),
        detail="The list has one line for each execution of a node, and only a loop runs a node again.",
        remedies=(
            Remedy(
                "go through fewer iterations at a time: memory grows with their number (truncated"
                " backpropagation, larger steps)",
                slug="truncate",
            ),
            *remedies.offered(case, moment, "smaller-batch"),
            _swap(size),
        ),
        moment=index,
    )


def _most_alive(stacks: list[Row]) -> tuple[str, int, int]:
    """The node with the most live executions, and where another holds far more than it, that one: its name,
    how many, bytes of one.
    """
    executions, sizes = Counter[str](), Counter[str]()
    for row in stacks:
        executions[row.allocation.node or ""] += row.allocation.count
        sizes[row.allocation.node or ""] += row.allocation.total_bytes
    node, times = executions.most_common(1)[0]
    largest, most = sizes.most_common(1)[0]
    if most > _FAR_MORE * sizes[node]:
        node, times = largest, executions[largest]
    of_node = [row for row in stacks if (row.allocation.node or "") == node]
    return _short(node, of_node[0].owner.layer), times, total(of_node) // times


_FAR_MORE = 2


def _short(node: str, layer: str | None) -> str:
    """A node's name; of a long one in a function of a loop, which repeats its path, the layer and the op."""
    op = node.rpartition("/")[2]
    return f"{op} in {layer}" if layer and len(node) > _LONG and not layer.endswith(f"/{op}") else node


def _swap(size: int | None) -> Remedy:
    """The stacks in host RAM; without their size nothing is promised."""
    return Remedy(
        "move the stacks to host RAM until the backward pass (GPU only)",
        "tf.nn.dynamic_rnn(cell, x, swap_memory=True)   # or dynamic_decode",
        size,
        None if size is None else Certainty.BOUND,
        slug="swap-to-host",
    )
