"""What a kernel may read and write and still get cheap, as the executor's log showed it for real kernels."""

from __future__ import annotations

import pytest

from tfmemlens.estimation.graph_step.compiled import Item, compiled
from tfmemlens.knowledge.ops.cheap_runs import _BYTES, RUNS, cheap_bytes
from tfmemlens.knowledge.ops.table import OPS
from tfmemlens.model.graph import Graph, Node

OLD, NEW = (1, 15), (2, 21)
FLOAT = 4


@pytest.mark.parametrize(
    ("op", "buffers", "version", "cheap", "expensive"),
    [  # buffers read and written; elements of the largest that got cheap, and of the next that was tried
        ("Mul", 3, OLD, 4032, 8160),
        ("Mul", 3, NEW, 8160, 32736),
        ("Sigmoid", 2, OLD, 2016, 4032),
        ("Sigmoid", 2, NEW, 4032, 8160),
        ("Square", 2, OLD, 16320, 32736),
        ("Square", 2, NEW, 32736, 65472),
        ("TanhGrad", 3, OLD, 8160, 16320),
        ("TanhGrad", 3, NEW, 16320, 32736),
        ("BiasAdd", 2, OLD, 4032, 8160),
    ],
)
def test_elements_that_got_cheap_in_a_real_loop(
    op: str, buffers: int, version: tuple[int, ...], cheap: int, expensive: int
) -> None:
    assert buffers * FLOAT * cheap <= cheap_bytes(op, version) < buffers * FLOAT * expensive


def test_some_kernels_never_get_cheap_and_handing_on_always_does() -> None:
    for version in (OLD, NEW):
        assert cheap_bytes("Softmax", version) == cheap_bytes("Transpose", version) == 0
        assert cheap_bytes("StackPopV2", version) > 1 << 50
    assert cheap_bytes("Sum", OLD) > cheap_bytes("Sum", NEW) == 0


def test_an_unknown_version_counts_as_new_and_an_unknown_op_is_small() -> None:
    assert cheap_bytes("Mul") == cheap_bytes("Mul", NEW)
    assert cheap_bytes("Mul", (2, 4)) == cheap_bytes("Mul", OLD)
    assert cheap_bytes("SomethingNew", OLD) == cheap_bytes("SomethingNew", NEW) == 4096


def test_the_table_names_ops_that_exist() -> None:
    assert not [name for name in _BYTES if name not in OPS]


def test_a_kernel_is_expensive_until_it_has_run_often_enough() -> None:
    graph = Graph({"m": Node("m", "Mul")}, producer="1.15.5")
    (item,) = compiled(graph, ["m"])
    limit = cheap_bytes("Mul", OLD)
    assert _expensive(item, RUNS - 1, 8)
    assert not _expensive(item, RUNS, limit)
    assert _expensive(item, RUNS, limit + 1)


def _expensive(item: Item, runs: int, passed: int) -> bool:
    item.runs, item.bytes = runs, passed
    return item.is_expensive
