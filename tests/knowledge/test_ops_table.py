"""One table of ops: no other module keeps a set of op names that the table answers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT
from tfmemlens.estimation.graph_step.kernels import KERNELS, is_known
from tfmemlens.knowledge.ops import roles
from tfmemlens.knowledge.ops.table import (
    OPS,
    Batch,
    Layout,
    Op,
    Output,
    Swallowed,
    arithmetic,
    control,
    images,
    in_layout,
    lists,
    may_hand_on,
    op,
    passes_on,
    products,
    rearranging,
    sources,
)

PACKAGE = ROOT / "tfmemlens"
FAMILIES = (arithmetic, control, images, lists, products, rearranging, sources)
ROLES = {value for value in vars(roles).values() if isinstance(value, frozenset)}
KNOWN = OPS.keys() | frozenset().union(*ROLES)
FEWEST = 3
"""So many ops together are a set; two may be named beside each other."""
EXCEPTIONS = {
    "attribution/layout_pass/forcing.py": "ends of a walk that are no rearranging of dimensions",
    "attribution/layout_pass/ops.py": "ops whose first three inputs are tensors, not axes",
    "estimation/graph_step/overlap.py": "what a kernel of each takes, as measured, and not what it is",
    "estimation/graph_step/session.py": "what the last node of a train op may be",
    "findings/dense_kernel_gradient.py": "read off a log, where the table is not loaded",
    "findings/support/quoted_line.py": "calls as a line of code writes them, by the op that they make",
    "findings/pairwise_broadcast.py": "the last ops of an initialiser, read off a log, too",
}


def literals(tree: ast.AST) -> Iterator[list[str]]:
    """The words of each literal set, tuple, list, dict key or text of words."""
    for node in ast.walk(tree):
        parts: list[ast.expr | None] = []
        if isinstance(node, (ast.Set, ast.Tuple, ast.List)):
            parts = [*node.elts]
        elif isinstance(node, ast.Dict):
            parts = [*node.keys]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value.split()
        words = [each.value for each in parts if isinstance(each, ast.Constant)]
        yield [word for word in words if isinstance(word, str)] if len(words) == len(parts) else []


def sets_of_ops(file: Path) -> list[list[str]]:
    """The literals of a module that hold nothing but names of ops."""
    return [
        words
        for words in literals(ast.parse(file.read_text(encoding="utf-8")))
        if set(words) <= KNOWN
        and (len(set(words)) >= FEWEST or (len(words) > 1 and frozenset(words) in ROLES))
    ]


FILES = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if not path.is_relative_to(PACKAGE / "knowledge" / "ops")
    and not path.is_relative_to(PACKAGE / "recording")  # plain scripts, copied without the package
]


def test_no_other_module_keeps_a_set_of_ops() -> None:
    kept = {path.relative_to(PACKAGE).as_posix(): sets_of_ops(path) for path in FILES}
    assert {path: words for path, words in kept.items() if words and path not in EXCEPTIONS} == {}
    assert {path for path in EXCEPTIONS if not kept[path]} == set(), "an exception that is none"


def test_the_rule_sees_a_set(tmp_path: Path) -> None:
    culprit = tmp_path / "culprit.py"
    culprit.write_text(
        'A = frozenset("Identity Enter Exit".split())\nB = ("Const", "HostConst")\nC = ("Add", "Mul")\n'
        'D = {"Relu", "Elu", "Selu"}\nE = ("Add", "Average", "Maximum")\n'
    )
    assert sorted(map(len, sets_of_ops(culprit))) == [2, 3, 3]


def test_each_op_stands_in_one_family() -> None:
    assert sum(len(family.OPS) for family in FAMILIES) == len(OPS)


def test_every_kernel_is_of_an_op_in_the_table() -> None:
    assert set(KERNELS) <= OPS.keys()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__.rpartition(".")[2])
def test_columns_agree_with_each_other(family: ModuleType) -> None:
    for name, record in family.OPS.items():
        check(name, record)


def check(name: str, record: Op) -> None:
    """What no two columns may say of one op."""
    if record.values is not None:
        assert record.shape is not None
    if record.random or name in roles.CONTROL:
        assert not record.folded
    if name in roles.CONTROL:
        assert record.effect
        assert passes_on(name)
        assert record.quick
    if name in roles.FEEDS | roles.RECEIVES:
        assert record.batch is Batch.SEEDED
    if name in roles.STORED & OPS.keys() and name != "_VarHandlesOp":
        assert record.batch is Batch.NEVER
    if record.layout in (Layout.FOLLOWING_BOTH, Layout.FOLLOWING_AXES):
        assert record.shape is not None
    if name in roles.FILTER_GRADIENTS | roles.BIAS_GRADIENTS:
        assert record.batch is Batch.NEVER
    if record.fused:
        assert op(record.fused).batch is record.batch
        assert record.swallowed is None
    if record.output is Output.NOTHING:
        assert record.shape is None
        assert is_known(name)


def test_what_is_asked_most() -> None:
    """One op of each kind, and one that is not of it."""
    assert passes_on("Reshape")
    assert not passes_on("Relu")
    assert may_hand_on("Relu")
    assert not may_hand_on("Cast")
    assert not may_hand_on("LRN")
    assert not may_hand_on("NoOp")
    assert "Conv2D" in in_layout(Layout.CONVERTED)
    assert "Relu" not in in_layout(Layout.CONVERTED)
    assert op("MyCustomOp").shape is None
    assert op("MatMul").fused == "_FusedMatMul"
    assert not op("Conv3D").fused
    assert op("Relu6").swallowed is Swallowed.ACTIVATION
    assert op("FusedBatchNormV3").swallowed is Swallowed.NORM
    assert op("BiasAdd").swallowed is Swallowed.BIAS
    assert op("Selu").swallowed is op("_FusedBatchNormEx").swallowed is None


@pytest.mark.parametrize(
    "name, updates, rows, reads",
    [
        ("AssignVariableOp", True, False, False),
        ("AssignSubVariableOp", True, False, False),
        ("ResourceApplyFtrlV2", True, False, False),
        ("ResourceScatterNdAdd", False, True, False),
        ("ResourceSparseApplyAdagrad", False, True, False),
        ("ReadVariableOp", False, False, True),
        ("ResourceGatherNd", False, False, True),
        ("Assign", False, False, False),
        ("ApplyAdam", False, False, False),
        ("VarHandleOp", False, False, False),
        ("_ReadVariablesOp", False, False, False),
    ],
)
def test_who_uses_a_variable_behind_a_handle(name: str, updates: bool, rows: bool, reads: bool) -> None:
    told = roles.updates_variable(name), roles.updates_rows(name), roles.reads_variable(name)
    assert told == (updates, rows, reads)
