"""What one-hot rows are made of: labels, which the sparse loss takes as integers, or a feature, which belongs
in an embedding.
"""

from __future__ import annotations

import ast
import re

from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_CALL = regex(r"\bone_hot\(\s*(?P<what>[\w.]{1,60})")
_OF_LABELS = regex(r"(?i)label|target|truth|gold|class|\by(?:_\w+)?\Z|_y\Z")
_OF_FEATURES = regex(
    r"(?i)feature|word|token|input|item|char|query|user|product|document|sentence|\bx(?:_\w+)?\Z|_x\Z"
)
_SPARSE_LOSS = regex(r"sparse_softmax_cross_entropy|sparse_categorical_crossentropy|SparseCategoricalCross")


def is_of_features(case: Case, text: str) -> bool:
    """Whether a line makes one-hot rows of a feature: by the name of what it is given, or since the program
    has a loss that takes labels as integers.
    """
    match = _CALL.search(text)
    if match is None or _OF_LABELS.search(match["what"]):
        return False
    if _OF_FEATURES.search(match["what"]):
        return True
    return any(_SPARSE_LOSS.search(line.text) for line in code_lines(case.capture.surroundings))


_LOSS = regex(r"(?i)loss|nll|cross_?entropy|\bxent")
_COMPARES = regex(r"log_softmax|cross_?entropy")
_SMOOTHS = regex(r"(?i)smooth")


def targets_made_dense(case: Case) -> tuple[Line, str, bool] | None:
    """The line of a loss of the program's that makes one-hot targets, the ids that it makes them of, and
    whether they are smoothed. Trees are read only where a line calls `one_hot`.
    """
    told = case.capture.surroundings
    if not any("one_hot(" in line.text for each in told.program() for line in each.lines):
        return None
    for statement in told.program():
        functions = [each for each in statement.nodes if isinstance(each, ast.FunctionDef)]
        for function in sorted(functions, key=lambda each: len(ast.unparse(each))):
            text = ast.unparse(function)
            if not (_LOSS.search(function.name) and _COMPARES.search(text)):
                continue
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and call.args and last_name(call.func) == "one_hot":
                    ids = ast.unparse(call.args[0])
                    return statement.line_of(call), ids, bool(_SMOOTHS.search(text))
    return None


_MADE = regex(r"\A\s*(?P<name>[A-Za-z_]\w{0,60})\s*=[^=][^\n]{0,80}?one_hot\(\s*(?P<ids>[\w.]{1,60})")
_NAME = r"(?P<table>[\w.]{1,60})"


def meets_a_table(case: Case, text: str) -> tuple[str, str, Line] | None:
    """Where a line makes one-hot rows under a name that another one multiplies by a table: the table, the
    ids, and the line of the product.
    """
    made = _MADE.match(text)
    if made is None:
        return None
    name = re.escape(made["name"])
    forms = (rf"(?:tensordot|matmul|\bdot)\(\s*{name}\s*,\s*{_NAME}", rf"\b{name}\s*@\s*{_NAME}")
    for line in code_lines(case.capture.surroundings):
        match = re.search(forms[0], line.text) or re.search(forms[1], line.text)
        if match:
            return match["table"], made["ids"], line
    return None


BESIDE_A_TABLE = ("smaller-batch", "smaller-input")
"""What would make fewer of the rows that need not be made at all."""


def by_index(table: tuple[str, str, Line]) -> Remedy:
    """The rows of the table, without any one-hot vector."""
    rows, ids, line = table
    return Remedy(
        f"look the rows up by index: {line.place} only multiplies the one-hot rows by `{rows}`",
        f"tf.gather({rows}, {ids})   # in the place of {line.place}",
        slug="look-up-by-index",
    )
