"""Names with high counters: the program adds ops to its graph in a loop.

What it means: TensorFlow numbers ops of one name as they are made. `Variable_48211` is the 48,212th of that
name, and no model has so many by design: a loop makes ops, or variables, anew in every iteration, and the
graph keeps them all.
When it fires: the failing op's name carries a counter of 5,000 or more; a session's line makes the op that it
runs (`sess.run(tf.assign(...))`) and the counter is 100 or more, or ten steps went well before; an op of a
session's graph was being made when host RAM ran out, after ten steps that went well; a list has five rows
of one size and name whose counters, from 100 on, are equally far apart (`Const_2406`, `Const_2412`, ...); or
the text quotes a line that makes the op that it runs, and three rows of one size count on, the failing
op is the tenth of its name or words tell that it went well many times; or a loop of the program makes ops
beside its session's run, and blocks of one size fill the dump, or ten steps went well; or each turn of a
loop builds a model and its optimizer for a session from outside the loop, and such blocks fill the dump.
What to do: build the graph once, before the loop, and feed what changes; of models a graph and a session
for each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from tfmemlens.findings.support.made_and_run import MAKES_AND_RUNS
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.remedies import BUILD_ONCE
from tfmemlens.findings.support.rows import all_in_use, attributed, device_limit, on_host, requests
from tfmemlens.findings.support.stage import counters_before, is_epoch
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex
from tfmemlens.units import human
from tfmemlens.values import replace

if TYPE_CHECKING:
    from tfmemlens.findings.support.made_in_loops import GraphModelLoop

BASIS = Basis.NAME
EXPLAINS = "what is in use, and the request"
_MIN_OPS = 5000
"""More ops of one name than the largest models make: an Adam of chained ops makes a few for each weight."""
_COUNTER = regex(r"(?:\A|/)(?P<name>[A-Za-z]\w*?)_(?P<number>\d{4,9})(?=/|\Z)")


_SMALLER_COUNTER = regex(r"(?:\A|/)(?P<name>[A-Za-z]\w*?)_(?P<number>\d{3,9})(?=/|\Z)")
_MAKING = frozenset(
    {"_create_c_op", "create_op", "_create_op_internal", "_create_op_helper", "_apply_op_helper", "apply_op"}
)
"""Functions of TensorFlow that add an op to a graph."""
_FEW_OPS, _MANY_STEPS, _ROWS = 100, 10, 5
_NUMBERED = regex(r"(?P<name>[A-Za-z][\w.]*?)_(?P<number>\d{3,9})\Z")
"""A name outside of any scope, which no layer has."""


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        if built := _builds_models(case, moment):
            yield _of_models(index, moment, request, *built)
            continue
        what = _by_name(request) or _by_line(case, request) or _by_rows(moment) or _by_frames(case, moment)
        measured = late = False
        if what is None and (quoted := _by_quoted_code(case, moment, request)):
            what, late = quoted
            measured = late
        if what is None and (shown := _by_program(case, moment, request)):
            what, measured = shown
        if what is None:
            continue
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{what}, which keeps all that was added",
            because=what,
            explains=_filled(case, moment)
            if late
            else all_in_use(moment) + (request.needed_bytes or 0) or None,
            basis=Basis.MEASURED if measured else None,
            evidence=(Evidence("the failing op", request.failed.line),),
            remedies=(_ONE_ASSIGNMENT if late and "assign" in what else BUILD_ONCE,),
            moment=index,
            rules_out=_ONLY_LATER if late else (),
        )


def _filled(case: Case, moment: Moment) -> int | None:
    """What the additions of many calls filled: the device, where nothing says how much is in use."""
    limit = device_limit(case, moment)
    need = moment.request.needed_bytes if moment.request else None
    return all_in_use(moment) or (limit.bytes if limit else need)


_ONLY_LATER = ("raise-own-limit", "smaller-batch", "smaller-input", "see-device-users")
"""What puts the end off, where the graph grows."""
_ONE_ASSIGNMENT = replace(
    BUILD_ONCE,
    text="make the assignment once, with a placeholder for the new value, and run that one with feed_dict;"
    " freeze the graph, and whoever adds an op gets an error",
    code="put = w.assign(new_w)   # once; later: sess.run(put, {new_w: value}); graph.finalize()",
)


def _by_name(request: Request) -> str | None:
    """What the counter in the failing op's name says."""
    counted = _counted(_COUNTER, request)
    if counted is None or counted[1] < _MIN_OPS:
        return None
    name, number = counted
    return f"`{name}_{number}` is number {number + 1:,} of its name, so a loop adds to the graph"


def _by_line(case: Case, request: Request) -> str | None:
    """A line that makes the op that it runs: once it runs often, it adds to the graph each time."""
    failed = request.failed
    code = failed.ran_by.text if failed.ran_by else failed.source_text or ""
    match = MAKES_AND_RUNS.search(code)
    if match is None:
        return None
    place = failed.ran_by.place if failed.ran_by else failed.source
    counted, steps = _counted(_SMALLER_COUNTER, request), _steps(case, request)
    proof = ""
    if counted and counted[1] >= _FEW_OPS:
        proof = f" (`{counted[0]}_{counted[1]}` is number {counted[1] + 1:,} of its name)"
    elif steps >= _MANY_STEPS:
        proof = f" ({steps:,} steps went well)"
    op = match["op"] or match["evaluated"]
    return f"{place} makes a new `tf.{op}` each time it runs{proof}" if proof else None


_MAKES_BY_METHOD = regex(r"\.run\(\s*\[?\s*[\w.]{1,80}\.(?P<op>assign|assign_add|minimize)\(")
_ROWS_IN_A_ROW, _COUNTED_OPS = 3, 10
_LATER = ("many calls before", "many runs before", "failing late", "growing in words")
"""Words that tell that it went well for a while."""


def _by_quoted_code(case: Case, moment: Moment, request: Request) -> tuple[str, bool] | None:
    """A quoted line that makes the op that it runs, where the failing op is the tenth of its name and more,
    rows of one size count on: `Const_58`, `Const_59`, `Const_60`, or words tell that it went well for long;
    and whether it is words.
    """
    numbered: dict[tuple[str, int], set[int]] = {}
    for row in moment.attribution.table:
        if match := _A_COUNTER.match(row.node or ""):
            numbered.setdefault((match["name"], row.size_bytes), set()).add(int(match["number"]))
    alike = next((key for key, numbers in numbered.items() if len(numbers) >= _ROWS_IN_A_ROW), None)
    counted = _counted(_A_COUNTER, request)
    late = next(filter(None, map(case.capture.surroundings.shows, _LATER)), None)
    if alike is None and late is None and (counted is None or counted[1] < _COUNTED_OPS):
        return None
    said = case.capture.surroundings.shows("code for sessions")  # in a sentence, most often
    for line in (*case.capture.surroundings.code, *filter(None, (said,))):
        match = MAKES_AND_RUNS.search(line.text) or _MAKES_BY_METHOD.search(line.text)
        if match is None or line.text.lstrip().startswith("#"):
            continue
        op = next(filter(None, match.groups()))
        if alike:
            holds = f" (each iteration left a {human(alike[1])} `{alike[0]}` on the device)"
        elif late:
            holds = f", with what it is given as a constant, and it went well many times ({late.place})"
        else:
            holds = f" (`{request.failed.node}` is one of them)"
        return f"{line.place} makes a new `{op}` each time it runs{holds}", alike is None and late is not None
    return None


_LEFT_BEHIND, _LEFT_SHARE = 8, 0.3
"""So many blocks of one size, and this share of what is in use, are what iterations left behind."""


def _by_program(case: Case, moment: Moment, request: Request) -> tuple[str, bool] | None:
    """A loop of the program that makes ops beside its session's run, where as many blocks of one size are
    held, or ten steps went well, and whether it is blocks; trees are read only where there is a program.
    """
    program = case.capture.surroundings.program()
    if not program or not any("Session(" in line.text for line in code_lines(case.capture.surroundings)):
        return None
    table = [] if attributed(moment) else list(moment.attribution.table)
    most = max(table, key=lambda row: row.total_bytes, default=None)
    left = most and most.count >= _LEFT_BEHIND and most.total_bytes >= _LEFT_SHARE * all_in_use(moment)
    if not left and _steps(case, request) < _MANY_STEPS:
        return None
    from tfmemlens.findings.support.made_in_loops import graph_loops

    line, loop, op = next(graph_loops(program), (None, None, ""))
    if line is None or loop is None:
        return None
    blocks = f" ({most.count} blocks of {human(most.size_bytes)} are in use)" if most and left else ""
    return f"each turn of the loop of {loop.place} adds `{op}` ({line.place}) to the graph{blocks}", bool(
        left
    )


def _builds_models(case: Case, moment: Moment) -> tuple[GraphModelLoop, Allocation] | None:
    """A loop of the program that builds a model in each turn in one graph, with the blocks that turns left;
    trees are read only where there is a program.
    """
    program = case.capture.surroundings.program()
    if not program or not any(_SESSION.search(line.text) for line in code_lines(case.capture.surroundings)):
        return None
    table = [] if attributed(moment) else list(moment.attribution.table)
    most = max(table, key=lambda row: row.total_bytes, default=None)
    if not most or most.count < _LEFT_BEHIND or most.total_bytes < _LEFT_SHARE * all_in_use(moment):
        return None
    from tfmemlens.findings.support.made_in_loops import graph_model_loops

    found = next(graph_model_loops(program), None)
    return (found, most) if found else None


_SESSION = regex(r"\b(?:Interactive|MonitoredTraining)?Session\(")
_GRAPH_FOR_EACH = Remedy(
    "begin a graph and a session of its own for each turn: with the session its variables go",
    "tf.reset_default_graph()   # first in the loop, then build\n"
    "with tf.Session() as sess: ...   # inside of the loop, no longer around it",
    slug="graph-for-each",
)
_INITIALIZE_AGAIN = Remedy(
    "or build the model once, before the loop, and run its initializer at the start of each turn: it sets"
    " weights and slots anew",
    "sess.run(init)   # in the loop; build(...) above it",
    slug="build-once",
)
_OF_ONE_TURN = ("smaller-batch", "recompute", "keep-numbers", "look-for-lists", "raise-own-limit")
"""What makes one turn smaller, or looks for lists, where each turn leaves a model."""


def _of_models(
    index: int, moment: Moment, request: Request, found: GraphModelLoop, left: Allocation
) -> Finding:
    """Models of earlier turns, which the session keeps."""
    what = (
        f"each turn of the loop of {found.loop.place} builds a new model in the same graph"
        f" (`{_short(found.code)}`, {found.build.place}), and the session keeps the weights and the"
        f" optimizer's slots of all turns: {left.count} blocks of {human(left.size_bytes)} are in use"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=all_in_use(moment) + (request.needed_bytes or 0),
        basis=Basis.MEASURED,
        evidence=(
            Evidence("the loop", found.loop),
            Evidence("it builds", found.build),
            Evidence("the failing op", request.failed.line),
        ),
        remedies=(_GRAPH_FOR_EACH, *((_INITIALIZE_AGAIN,) if found.alike else ())),
        moment=index,
        rules_out=_OF_ONE_TURN,
    )


def _short(code: str) -> str:
    return code if len(code) <= _LONGEST else code[:_LONGEST].rstrip() + "\u2026"


_LONGEST = 40
_A_COUNTER = regex(r"(?P<name>[A-Za-z][\w.]*?)_(?P<number>\d{1,9})\Z")


def _by_rows(moment: Moment) -> str | None:
    """Rows of one size that are made at the same distance again and again: one for each iteration."""
    alike: dict[tuple[str, int], set[int]] = {}
    for row in moment.attribution.table:
        match = _NUMBERED.match(row.node or "")
        if match and row.count == 1:
            alike.setdefault((match["name"], row.size_bytes), set()).add(int(match["number"]))
    for (name, size), numbers in sorted(alike.items(), key=lambda each: -each[0][1] * len(each[1])):
        ordered = sorted(numbers)
        steps = {after - before for before, after in pairwise(ordered)}
        if len(ordered) >= _ROWS and len(steps) == 1 and ordered[0] >= _FEW_OPS:
            (step,) = steps
            apart = f", {step} apart" if step > 1 else ""
            rows = f"{len(ordered)} rows of {human(size)}"
            return (
                f"{rows} are `{name}_{ordered[0]}` to `{name}_{ordered[-1]}`{apart}: each iteration of a"
                " loop adds the same ops to the graph"
            )
    return None


def _by_frames(case: Case, moment: Moment) -> str | None:
    """An op of a session's graph that was still being made after many steps, when host RAM ran out."""
    request = moment.request
    of_a_session = case.api.is_tf1 or case.capture.surroundings.session
    if request is None or not on_host(moment) or not of_a_session:
        return None
    if any("func_graph" in frame.place for frame in request.failed.frames):
        return None  # a tf.function's own graph
    steps = _steps(case, request)
    making = any(frame.name in _MAKING for frame in request.failed.frames)
    if not making or steps < _MANY_STEPS:
        return None
    at = f" at {request.failed.source}" if request.failed.source else ""
    return (
        f"the program still adds an op to its graph{at} after {steps:,} steps, so the loop adds to the graph"
    )


def _counted(counter: re.Pattern[str], request: Request) -> tuple[str, int] | None:
    """The name and the largest counter in the failing op's name."""
    counted = max(
        counter.finditer(request.failed.node or ""), key=lambda match: int(match["number"]), default=None
    )
    return (counted["name"], int(counted["number"])) if counted else None


def _steps(case: Case, request: Request) -> int:
    """The highest step that the program counted before the failure."""
    return max((step for step, line in counters_before(case, request) if not is_epoch(line)), default=0)
