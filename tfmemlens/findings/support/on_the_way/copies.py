"""Rows that are repeated before a network which computes the same for each copy."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.on_the_way.code import CodePart, is_call, parts
from tfmemlens.findings.support.on_the_way.facts import OnTheWay
from tfmemlens.findings.support.outputs_in_training import outputs_of
from tfmemlens.findings.support.program_lines import code_lines, figures_by_name
from tfmemlens.findings.support.rows import Row, all_in_use, rows, total
from tfmemlens.findings.support.rows_by_repetition import times_of
from tfmemlens.knowledge.tree_values import dotted, last_name, written_number
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Certainty, Remedy
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.patterns import regex
from tfmemlens.units import MIB

_FLOAT, _LEAST_ROWS = 4, 32
_DIFFERS = regex(r"(?i)dropout|noise|stochastic|\bsampling\(")
"""What may make something else of each copy."""
_LIBRARIES = frozenset("tf np K ops keras jnp math tfp tfd self.assert layers".split())
_NET = regex(
    r"(?i)net(?:work)?s?\Z|net\d|encod|backbone|embed|summar|feature|cnn|trunk|tower|extract|model|stem"
    r"|resnet"
)
_RULED_OUT = (
    *("smaller-batch", "gradient-accumulation", "narrower-layer", "half-precision", "mixed-precision"),
    *("smaller-input", "lower-constant", "lower-setting", "one-repetition-at-a-time", "fewer-rows-at-once"),
    *("recompute", "batch-for-the-block", "in-blocks", "in-pieces", "fewer-repetitions"),
)


class _Copied(NamedTuple):
    source: str
    """What is repeated."""
    by: ast.expr
    called: str
    line: Line
    net: str
    net_at: Line


def repeated_before_a_net(case: Case, program: Program, moment: Moment, request: Request) -> OnTheWay | None:
    """The repetition whose rows the failed tensor has, where a network reads nothing but the copies."""
    shape = request.failed.shape or ()
    many = shape[0] or 0
    weights = request.fixed or request.owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
    if len(shape) < 2 or many < _LEAST_ROWS or weights:
        return None
    whole = list(parts(program))
    found = [each for part in whole for each in _copied(part, whole)]
    code = code_lines(case.capture.surroundings) if found else ()
    if not found or any(_DIFFERS.search(line.text) for line in code):
        return None
    numbers = {**_given_by_name(program), **figures_by_name(case.capture.surroundings)}
    batch = remedies.batch_of(case, moment)
    for each in found:
        times = written_number(each.by) or numbers.get(last_name(each.by)) or 0
        if times < 2 or many % times:
            continue
        if many // times in (batch, *numbers.values()):
            return _told(case, moment, request, each, times)
    return None


def _given_by_name(program: Program) -> dict[str, int]:
    """Whole numbers that calls of the program's own classes and functions are given by name."""
    own = {
        node.name
        for statement in program
        for node in statement.nodes
        if isinstance(node, (ast.ClassDef, ast.FunctionDef))
    }
    return {
        keyword.arg: figure
        for statement in program
        for node in statement.nodes
        if isinstance(node, ast.Call) and last_name(node.func) in own
        for keyword in node.keywords
        if keyword.arg and (figure := written_number(keyword.value))
    }


def _copied(part: CodePart, whole: Sequence[CodePart]) -> Iterator[_Copied]:
    for made in part.assigned():
        for call in ast.walk(made.value):
            by = times_of(call) if isinstance(call, ast.Call) else None
            if by is None or not isinstance(call, ast.Call) or not call.args:
                continue
            source = call.args[0]
            if is_call(source, "expand_dims") and isinstance(source, ast.Call) and source.args:
                source = source.args[0]
            if isinstance(source, ast.Subscript):
                source = source.value
            net = _read_alone(made.name, part, whole, 2)
            if net:
                called = ast.unparse(call.func)
                yield _Copied(ast.unparse(source), by, called, made.line, *net)


def _read_alone(name: str, part: CodePart, whole: Sequence[CodePart], deep: int) -> tuple[str, Line] | None:
    """The network that reads these rows and nothing else, also in a function that they are given to."""
    for call, line in part.calls():
        given = [ast.unparse(each) for each in call.args]
        if name not in given:
            continue
        called = dotted(call.func)
        if called.partition(".")[0] in _LIBRARIES:
            continue
        inner = [each for each in whole if each.function and each.function.name == last_name(call.func)]
        if inner and deep:
            arguments = [each.arg for each in inner[0].function.args.args] if inner[0].function else []
            arguments = arguments[1:] if arguments[:1] == ["self"] else arguments
            at = given.index(name)
            if at < len(arguments) and (net := _read_alone(arguments[at], inner[0], whole, deep - 1)):
                return net
        known = "." in called or any(each.name == called for other in whole for each in other.assigned())
        if len(given) == 1 and known and _NET.search(called):  # an unseen one may drop some out
            return called, line
    return None


def _told(case: Case, moment: Moment, request: Request, copied: _Copied, times: int) -> OnTheWay:
    many = (request.failed.shape or (0,))[0] or 0
    need = request.failed.tensor_bytes
    axis = "" if copied.called.endswith("tile") else ", axis=0"
    return OnTheWay(
        f"{copied.line.place} repeats the rows of `{copied.source}` {times} times before `{copied.net}`"
        f" ({copied.net_at.place}), which computes the same for each copy: its layers' outputs have {many:,}"
        f" rows, of which {many // times:,} differ",
        copied.line,
        Remedy(
            f"run `{copied.net}` on `{copied.source}` as it is, and repeat its output, which is small: the"
            f" result is the same, and every output of its layers becomes {times} times smaller",
            f"s = tf.repeat({copied.net}({copied.source}), {ast.unparse(copied.by)}, axis=0)"
            if axis
            else f"s = {copied.net}({copied.source})   # tile this, instead of {copied.source}",
            saves_bytes=need - need // times if need else None,
            certainty=Certainty.EXACT if need else None,
            of_one_tensor=True,
            slug="repeat-the-output",
        ),
        explains=_held(case, moment, request, many),
        rules_out=_RULED_OUT,
    )


def _held(case: Case, moment: Moment, request: Request, many: int) -> int:
    """Bytes of what layers make of so many rows, by the code, else of blocks that may hold so many each; no
    more than what is in use and asked for.
    """
    by_code = sum(each.bytes for each in outputs_of(case, moment, request) if each.shape[0] == many)
    blocks = total(rows(moment, lambda row: _may_be(row, many)))
    need = request.needed_bytes or 0
    return min(max(by_code, blocks + need), all_in_use(moment) + need)


def _may_be(row: Row, many: int) -> bool:
    size = row.allocation.size_bytes
    return size >= MIB and size % (_FLOAT * many) == 0
