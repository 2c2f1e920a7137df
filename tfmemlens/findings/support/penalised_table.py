"""A table of the program whose regulariser reads every row, so that a sparse gradient of it becomes dense."""

from __future__ import annotations

import ast

from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.attribution import Phase
from tfmemlens.model.case import Case, Request
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.patterns import regex

OF_KERAS = "embeddings_regularizer"
_PENALTIES = (OF_KERAS, "regularizer")
_LAST_OF_KERAS_2 = (2, 15)
_SUMS = regex(r"(?:\A|/)AddN(?:_\d+)?(?:/inputs_\d+)?\Z")
"""What adds gradients of one variable up, and makes a sparse one dense for it."""


def penalised_table(case: Case, request: Request) -> tuple[str, Line] | None:
    """The keyword or function and the line of the penalty on the one table of this shape, where a gradient or
    an update of it was asked for; trees are read only where there is a program.
    """
    failed = request.failed
    works = _SUMS.search(failed.node or "") or request.owner.phase in (Phase.GRADIENT, Phase.OPTIMIZER)
    program = case.capture.surroundings.program() if works and not failed.creating else None
    if not program or case.api.oldest > _LAST_OF_KERAS_2:
        return None
    from tfmemlens.knowledge.program_shapes import made_by

    lines = {
        each.line for each in made_by(program) if each.role.name == "TABLE" and each.shape == failed.shape
    }
    found = [
        (keyword.arg or "", statement.line_of(node))
        for statement in program
        for node in statement.nodes
        if isinstance(node, ast.Call) and lines == {statement.line_of(node)}
        for keyword in node.keywords
        if keyword.arg in _PENALTIES
        and not (isinstance(keyword.value, ast.Constant) and not keyword.value.value)
    ]
    found += [("l2_loss", line) for line in _summed(program, lines)]
    found = found or ([] if lines else _read_whole(program))
    return found[0] if len(found) == 1 else None


def _read_whole(program: Program) -> list[tuple[str, Line]]:
    """The ops that a program of lookups gives a whole variable that it makes, with their lines: for tables
    whose sizes nobody knows.
    """
    nodes = [(statement, node) for statement in program for node in statement.nodes]
    calls = [(statement, node) for statement, node in nodes if isinstance(node, ast.Call)]
    if not any(last_name(node.func) in _LOOKUPS for _, node in calls):
        return []
    variables = {
        ast.unparse(target)
        for _, node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if last_name(node.value.func) in _VARIABLES
        for target in node.targets
    }
    return [
        (last_name(node.func), statement.line_of(node))
        for statement, node in calls
        if last_name(node.func) in _OF_ALL_ROWS and node.args and ast.unparse(node.args[0]) in variables
    ]


_LOOKUPS = frozenset({"embedding_lookup", "gather"})
_VARIABLES = frozenset({"Variable", "add_weight", "get_variable"})
_OF_ALL_ROWS = frozenset({"l2_loss", "l2_normalize"})


def _summed(program: Program, lines: set[Line]) -> list[Line]:
    """The lines in which a loss reads a whole variable that one of these lines makes, or all variables."""
    nodes = [(statement, node) for statement in program for node in statement.nodes]
    names = {
        ast.unparse(target)
        for statement, node in nodes
        if isinstance(node, ast.Assign) and statement.line_of(node) in lines
        for target in node.targets
    }
    given = (
        (statement.line_of(node), ast.unparse(node.args[0]))
        for statement, node in nodes
        if isinstance(node, ast.Call) and last_name(node.func) == "l2_loss" and node.args
    )
    found = [line for line, what in given if what in names]
    everywhere = (
        statement.line_of(node)
        for statement, node in nodes
        if isinstance(node, ast.ListComp | ast.GeneratorExp)
        and "l2_loss(" in ast.unparse(node.elt)
        and "trainable_" in ast.unparse(node.generators[0].iter)
        and not node.generators[0].ifs
    )
    return [*dict.fromkeys([*found, *everywhere])][:1] if lines else []
