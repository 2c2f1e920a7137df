"""What one-hot rows are made of: labels, which the sparse loss takes as integers, or a feature, which belongs
in an embedding.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from tfmemlens.findings.support.program_lines import code_lines, settings_by_name
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
_INTO_A_LAYER = regex(
    r"(?i)(?:\bself\.(?!\w*(?:loss|criterion|metric|acc))\w{1,40}|\bdense\w{0,40}|\bmatmul|\bdot|\))"
    r"\(\s*(?:[\w.]{1,30}\.)?one_hot\(|\bone_hot\([^()\n]{1,80}\)\s*@"
)
"""A layer, or a matrix, that is given the rows at once."""
_SPARSE_LOSS = regex(r"sparse_softmax_cross_entropy|sparse_categorical_crossentropy|SparseCategoricalCross")


def is_of_features(case: Case, text: str) -> bool:
    """Whether a line makes one-hot rows of a feature: as a layer or a product with a matrix gets them, by the
    name of what it is given, or since the program has a loss that takes labels as integers.
    """
    if goes_into_a_layer(text):
        return True
    match = _CALL.search(text)
    if match is None or _OF_LABELS.search(match["what"]):
        return False
    if _OF_FEATURES.search(match["what"]):
        return True
    return any(_SPARSE_LOSS.search(line.text) for line in code_lines(case.capture.surroundings))


def goes_into_a_layer(text: str) -> bool:
    """Whether a line gives the rows to a layer or multiplies them by a matrix, which only picks rows of its
    weights.
    """
    return _INTO_A_LAYER.search(text) is not None


_LOSS = regex(r"(?i)loss|nll|cross_?entropy|\bxent")
_COMPARES = regex(r"log_softmax|cross_?entropy")
_SMOOTHS = regex(r"(?i)smooth")


def targets_made_dense(case: Case, classes: int | None = None) -> tuple[Line, str, bool] | None:
    """The line of a loss of the program's that makes one-hot targets, the ids that it makes them of, and
    whether they are smoothed; not of another number of classes, where one is asked for and the program tells
    it. Trees are read only where a line calls `one_hot`.
    """
    told = case.capture.surroundings
    if not any("one_hot(" in line.text for each in told.program() for line in each.lines):
        return None
    sizes = settings_by_name(code_lines(told)) if classes else {}
    for statement in told.program():
        functions = [each for each in statement.nodes if isinstance(each, ast.FunctionDef)]
        for function in sorted(functions, key=lambda each: len(ast.unparse(each))):
            text = ast.unparse(function)
            if not _COMPARES.search(text):
                continue
            named = _LOSS.search(function.name) is not None
            for call in _makes_one_hot(function):
                if _has_others(call, classes, sizes) or not (named or _is_compared(function, call)):
                    continue
                return statement.line_of(call), ast.unparse(call.args[0]), bool(_SMOOTHS.search(text))
    return None


def _makes_one_hot(function: ast.FunctionDef) -> Iterator[ast.Call]:
    """Its calls of `one_hot`."""
    for call in ast.walk(function):
        if isinstance(call, ast.Call) and call.args and last_name(call.func) == "one_hot":
            yield call


def _has_others(call: ast.Call, classes: int | None, sizes: Mapping[str, tuple[int, Line]]) -> bool:
    """Whether the number of classes that a call makes is known, and is another one."""
    words = (word.value for word in call.keywords if word.arg in ("depth", "num_classes"))
    depth = call.args[1] if len(call.args) > 1 else next(words, None)
    if classes is None or depth is None:
        return False
    if isinstance(depth, ast.Constant):
        return depth.value != classes
    known = sizes.get(last_name(depth))
    return known is not None and known[0] != classes


def _is_compared(function: ast.FunctionDef, call: ast.Call) -> bool:
    """Whether a dense loss is given what a call makes: there, or by the name that it goes by."""
    names = {
        target.id
        for each in ast.walk(function)
        if isinstance(each, ast.Assign) and call in set(ast.walk(each.value))
        for target in each.targets
        if isinstance(target, ast.Name)
    }
    for each in ast.walk(function):
        if not isinstance(each, ast.Call) or not _DENSE_LOSS.search(last_name(each.func)):
            continue
        parts = {part for given in _given(each) for part in _unmultiplied(given)}
        if call in parts or any(isinstance(part, ast.Name) and part.id in names for part in parts):
            return True
    return False


def _given(call: ast.Call) -> list[ast.expr]:
    """What a loss compares with: its labels where they are named, else all but its logits."""
    labels = [word.value for word in call.keywords if word.arg in _LABELS]
    return labels or call.args[:2]


_LABELS = frozenset({"labels", "onehot_labels", "y_true", "target", "targets"})


def _unmultiplied(value: ast.AST) -> Iterator[ast.AST]:
    """All parts of an expression but those of a product with a matrix."""
    if isinstance(value, ast.Call) and last_name(value.func) in _PRODUCTS:
        return
    yield value
    for child in ast.iter_child_nodes(value):
        yield from _unmultiplied(child)


_PRODUCTS = frozenset({"matmul", "tensordot", "einsum", "dot", "dense"})
_DENSE_LOSS = regex(r"(?i)\A(?!sparse)\w*cross_?entropy")


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
