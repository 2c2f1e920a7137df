"""A tensor is joined to itself again and again, and grows each time.

What it means: `queue = tf.concat([queue, x], 0)` makes a new tensor that is larger than the old by `x`, and
both are alive while it is made. Without an end it fails some day, whatever the batch. A metric that keeps the
values of every batch does the same with its variable.
When it fires: the failing line assigns a concatenation to a name that is among what it joins, or calls
`streaming_concat` without a `max_size`; or another line of the program does, and what was recorded alive at
the failure shows that this tensor has a fifth of it. Without such a record, ten steps must have gone well and
one block or two of a size must have a fifth of what is in use; that it is this tensor is a guess then. Or the
failing op joins tensors in a loop of the graph, to an odd length.
What to do: a buffer of fixed size, whose oldest rows are overwritten; in a metric sums, not values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfmemlens.findings.support.kept import (
    Joined,
    gathered_by_a_metric,
    joined_by_the_program,
    joined_from_step_to_step,
    joined_to_itself,
    rows_added,
    rows_of_many_steps,
)
from tfmemlens.findings.support.rows import all_in_use, device_limit, requests, tensor_text
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import human

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor"

_ANY_ROWS = 65536
"""Where no shape tells how many there were."""
_OF_STEPS = regex(r"(?i)logits|probs?\b|probabilit|scores|attn|attention")
_CHOSEN = Remedy(
    "keep what later steps read of each, such as the chosen ids, and not all classes of every step",
    "ids = tf.concat([ids, tf.argmax(step_logits, -1)[:, None]], 1)",
    slug="reduce-parts",
)


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        name = joined_to_itself(request, case)
        if metric := gathered_by_a_metric(request):
            yield _of_a_metric(index, moment, request, metric)
        if name is None:
            if joined := joined_by_the_program(case, moment):
                yield _of_a_line_before(index, moment, request, joined)
            elif grows := joined_from_step_to_step(case, moment, request):
                yield _of_many_steps(case, index, moment, request, *grows)
            elif _joined_in_a_loop(request):
                yield _of_a_loop(case, index, moment, request)
            continue
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"`{name}` is joined to itself: it grows each time this line runs",
            because=f"`{name}` is joined to itself and grows each time the line runs",
            explains=request.needed_bytes,
            evidence=(Evidence(f"requested: {tensor_text(moment)}", request.failed.line),),
            remedies=(
                *((_CHOSEN,) if _OF_STEPS.search(name) else ()),
                Remedy(
                    f"keep `{name}` at a fixed size: overwrite its oldest rows, or cut them off",
                    _bounded(name, request),
                    slug="ring-buffer",
                ),
            ),
            moment=index,
            rules_out=() if _OF_STEPS.search(name) else _OF_ONE_STEP,
        )


_IN_A_LOOP = regex(r"(?:\A|/)while(?:_\d+)?/(?:[\w.-]+/){0,6}concat(?:_\d+)?\Z")
_LEAST_TURNS = 65


def _joined_in_a_loop(request: Request) -> bool:
    """Whether the failing op joins tensors in a loop of the graph to an odd length, as one that has grown by
    a row in each turn comes to, and no layer's size is.
    """
    return bool(_IN_A_LOOP.search(request.failed.node or "")) and _odd_length(request) is not None


def _odd_length(request: Request) -> int | None:
    """The one odd size between the first axis, which may be the batch, and the last, which may be joined."""
    inner = (request.failed.shape or ())[1:-1]
    sizes = [size for size in inner if size and size >= _LEAST_TURNS and size % 2]
    return sizes[0] if len(sizes) == 1 else None


def _of_a_loop(case: Case, index: int, moment: Moment, request: Request) -> Finding:
    """A cache or an output that each turn of a loop makes anew, longer by what the turn adds."""
    told = (
        "most likely what this loop joins in each turn (a cache of a model that generates, its outputs) is"
        f" made anew each time, longer by what the turn adds; here it has {_odd_length(request):,} rows"
    )
    limit = device_limit(case, moment)
    return Finding(
        severity=Severity.CAUSE,
        headline=told,
        because=told,
        explains=max(limit.bytes // 2, request.needed_bytes or 0) if limit else request.needed_bytes,
        evidence=(Evidence(f"requested: {tensor_text(moment)}", request.failed.line),),
        remedies=(
            Remedy(
                "let the loop take fewer turns (a shorter output: the length or the number of tokens that is"
                " asked for, a shorter prompt), or take a smaller model",
                slug="shorter-requests",
            ),
        ),
        moment=index,
        rules_out=("smaller-input", *(("smaller-batch",) if (request.failed.shape or (0,))[0] == 1 else ())),
    )


def _of_a_line_before(index: int, moment: Moment, request: Request, joined: Joined) -> Finding:
    """A tensor that another line than the failing one makes longer, and that was alive at the failure."""
    name, held = joined.name, joined.held
    told = (
        f"`{name}` ({joined.line.place}) is joined to itself and grows each time that line runs: at the"
        f" failure it was {held.tensor}, {human(held.bytes)}"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=told,
        because=told,
        explains=all_in_use(moment) or held.bytes,
        evidence=(
            Evidence("it is joined to itself", joined.line),
            Evidence("the request", request.failed.line),
        ),
        remedies=(
            Remedy(
                f"keep `{name}` at a fixed size: cut off its oldest rows each time it is made",
                _cut(name, joined.line.text, (held.tensor.shape or (0,))[0] or 0),
                slug="ring-buffer",
            ),
        ),
        moment=index,
        rules_out=_OF_ONE_STEP,
    )


_KEPT_ROWS = 4
"""A part of those that failed."""


def _cut(name: str, text: str, rows: int) -> str | None:
    """The line that keeps the newest rows, which stand in front where the name comes last."""
    kept = rows // _KEPT_ROWS
    if not kept:
        return None
    last = re.search(rf",\s*{re.escape(name)}\s*[\])]", text) is not None
    part = f":{kept}" if last else f"-{kept}:"
    if "assign(" in text:
        return f"{name}.assign({name}[{part}])   # behind that line"
    return f"{name} = {name}[{part}]   # behind that line"


def _of_many_steps(
    case: Case, index: int, moment: Moment, request: Request, name: str, line: Line
) -> Finding:
    """A tensor that a line makes longer in each step, where only sizes tell what is alive."""
    nameless = (row for row in moment.attribution.table if row.node is None)
    row = max(nameless, key=lambda row: row.size_bytes, default=None)
    blocks = f"block{'s' if row.count > 1 else ''} of {human(row.size_bytes)}" if row else "block"
    told = f"`{name}` ({line.place}) is joined to itself and grows with each step; most likely "
    if steps := rows_of_many_steps(case, request):
        rows = max(size or 0 for size in request.failed.shape or (0,))
        told += f"the {rows:,} of what failed are the rows of {steps} steps"
    elif added := rows_added(case, request):
        side, number, times = added
        told += f"the {side:,} of what failed are its rows, {times} times {number:,}"
    else:
        told += f"it has the largest {blocks}"
    return Finding(
        severity=Severity.CAUSE,
        headline=told,
        because=told,
        explains=all_in_use(moment) or (row.total_bytes if row else request.needed_bytes),
        evidence=(Evidence("it is joined to itself", line), Evidence("the request", request.failed.line)),
        remedies=(
            Remedy(
                f"keep `{name}` at a fixed size: cut off its oldest rows each time it is made",
                _cut(name, line.text, added[0]) if (added := rows_added(case, request)) else None,
                slug="ring-buffer",
            ),
        ),
        moment=index,
        rules_out=_OF_ONE_STEP,
    )


_OF_ONE_STEP = (
    "smaller-batch",
    "truncate-inputs",
    "bucket-sequences",
    "in-blocks",
    "smaller-input",
    "constant-shapes",
    "large-tensors-first",
    "compare-shapes",
    "lower-constant",
    "lower-setting",
)
"""What makes a step smaller, and puts off the end of what grows."""


def _of_a_metric(index: int, moment: Moment, request: Request, metric: str) -> Finding:
    """A metric's variable, which is grown to take the values of all batches."""
    told = (
        f"`{metric}` keeps its values of every batch in one variable; when that is full it is made anew,"
        " larger, and old and new exist at once"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=told,
        because=told,
        explains=request.needed_bytes,
        evidence=(Evidence(f"requested: {tensor_text(moment)}", request.failed.line),),
        remedies=(
            Remedy(
                "let the metric keep sums or counts of each batch, not its values: a mean, a histogram, a"
                " confusion matrix",
                "tf.metrics.mean(values)   # for a spread also tf.metrics.mean(tf.square(values))",
                slug="reduce-parts",
            ),
            Remedy(
                f"or hand the values to the host batch by batch, and join or reduce them there in NumPy"
                f" (without `{metric}`: predict, or session.run of each batch)",
                slug="keep-numbers",
            ),
            Remedy(
                f"or bound it: `max_size=...` of `{metric}` keeps the first values alone", slug="ring-buffer"
            ),
        ),
        moment=index,
        rules_out=("smaller-batch", "smaller-evaluation-batch", "look-for-lists"),
    )


def _bounded(name: str, request: Request) -> str | None:
    """The line that keeps the newest rows; of a variable, its assignment."""
    if _OF_STEPS.search(name):
        return None
    newest, text = f"tf.concat([{name}, x], 0)[-{_rows(request)}:]", request.failed.source_text or ""
    if _INTO_ANOTHER.match(text) and "assign(" not in text and not text.strip().startswith(f"{name} "):
        return f"{text.strip()}[-{_rows(request)}:]"
    if f"{name}.assign(" in text:
        return f"{name}.assign({newest})"
    if "assign(" in text:
        return f"tf.assign({name}, {newest}, validate_shape=False)"
    return f"{name} = {newest}"


_INTO_ANOTHER = regex(r"\s*\w+ = [\w.]+\([^#]{1,80}\)\s*\Z")
"""A whole line that gives the joined rows to a name of their own, for a later line to assign."""


def _rows(request: Request) -> int:
    """How many rows to keep: half of those that failed, where a shape tells."""
    rows = (request.failed.shape or (None,))[0] or 0
    return rows // 2 if rows > 1 else _ANY_ROWS
