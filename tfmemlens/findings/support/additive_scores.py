"""Additive attention of all queries at once: `tanh(expand_dims(q, 2) + expand_dims(k, 1))`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from tfmemlens.findings.support.on_the_way.code import CodePart, argument, failed_at, is_call, parts
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.knowledge.tree_values import written_number
from tfmemlens.model.case import Case, Request
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_ATTENDS = regex(r"(?i)att(?:n|en[dt])|\bscore|align|bahdanau|additive")
_NEW_AXIS = regex(r"expand_dims\(|\bNone\b|newaxis")


class AdditiveScores(NamedTuple):
    """The sum of every query with every key, and what makes a score of each."""

    made_at: Line
    scored_at: Line
    query: str
    key: str


def additive_scores(case: Case, request: Request) -> AdditiveScores | None:
    """Such a sum that the failed tensor is, or is as large as: of [b, t, s, d], or flattened as a layer reads
    it, in its line or the score's.
    """
    failed = request.failed
    shape = failed.shape or ()
    if len(shape) not in (2, 4) or framework_of(case) != TENSORFLOW or request.fixed:
        return None
    program = case.capture.surroundings.program()
    found = [each for part in parts(program) for each in _sums(part)] if program else []
    here = [each for each in found if failed_at(request, each.made_at, each.scored_at)]
    if not here and len(found) == 1 and _ATTENDS.search(failed.node or ""):
        here = found
    return here[0] if here else None


def _sums(part: CodePart) -> Iterator[AdditiveScores]:
    for call, line in part.calls():
        if not is_call(call, "tanh", "Activation") or not call.args:
            continue
        given = (
            part.value_of(call.args[0], line.number) if isinstance(call.args[0], ast.Name) else call.args[0]
        )
        terms = _terms(given)
        if terms is None:
            continue
        scored = _scored(part, call, line)
        if scored:
            yield AdditiveScores(line, scored, *terms)


def _terms(node: ast.expr) -> tuple[str, str] | None:
    """Query and key of their sum, each with an axis that the other lacks."""
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = node.left, node.right
        if _with_axis(left) and _with_axis(right):
            return _with_axis(left), _with_axis(right)
        node = left  # a bias behind it
    if is_call(node, "add") and isinstance(node, ast.Call) and len(node.args) == 2:
        one, other = (_with_axis(each) for each in node.args)
        return (one, other) if one and other else None
    return None


def _with_axis(node: ast.expr) -> str:
    """What gets a new axis that is not its first; empty of another expression."""
    if is_call(node, "expand_dims") and isinstance(node, ast.Call) and node.args:
        return (
            ast.unparse(node.args[0]) if written_number(argument(node, 1, "axis")) in (1, 2, -2, -3) else ""
        )
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        return ast.unparse(node.value) if _NEW_AXIS.search(ast.unparse(node.slice)) else ""
    return ""


def _scored(part: CodePart, tanh: ast.Call, line: Line) -> Line | None:
    """The line in which one number is made of each sum: by a layer of one unit, or a summed product."""
    made = [each for each in part.assigned() if any(node is tanh for node in ast.walk(each.value))]
    name = made[0].name if made else None
    for call, at in part.calls():
        reads = any(
            node is tanh or (name is not None and isinstance(node, ast.Name) and node.id == name)
            for argument_of in call.args
            for node in ast.walk(argument_of)
        )
        if reads and call is not tanh and at.number >= line.number and _is_a_score(call):
            return at
    return None


def _is_a_score(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Call) and is_call(call.func, "Dense"):
        return written_number(argument(call.func, 0, "units")) == 1
    if is_call(call, "dense", "fully_connected", "linear"):
        return written_number(argument(call, 1, "units", "num_outputs")) == 1
    if is_call(call, "reduce_sum", "einsum", "tensordot", "matvec"):
        return True
    return isinstance(call.func, ast.Attribute) and call.func.attr.lower().strip("_") in _SCORERS


_SCORERS = ("v", "score", "scorer", "energy", "va", "attn_v", "to_score")
