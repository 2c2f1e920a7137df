"""What lives on in place of the layout pass's copies, and rows of no bytes in the page's table."""

from __future__ import annotations

import pytest

from tests.builders import MIB, capture, row, timeline
from tfmemlens import attribution
from tfmemlens.attribution.layout_pass.peak import curve_without
from tfmemlens.attribution.moments.ledger import ledger_of
from tfmemlens.model.graph import Graph, Node

GRAPH = Graph({"y": Node("y", "Relu", ("x",)), "copy": Node("copy", "Transpose", ("y",))})


@pytest.mark.parametrize(
    ("original_mib", "peak_mib"),
    [
        (4, 4),  # half as large as its copy: taken for the original, whose place holds it
        (3.5, 11.5),  # smaller: not the original, so the copy's bytes stay
    ],
)
def test_an_original_is_half_as_large_as_its_copy_at_least(original_mib: float, peak_mib: float) -> None:
    step = timeline(row("y", original_mib, 0, 9), row("copy", 8, 2, 5))
    assert curve_without(step, GRAPH, {"copy"}) == peak_mib * MIB


def test_an_original_kept_for_its_copy_counts_once_when_its_own_life_ends() -> None:
    step = timeline(row("y", 8, 0, 2), row("copy", 8, 1, 5), row("x", 5, 3, 4))
    assert curve_without(step, GRAPH, {"copy"}) == 13 * MIB  # 8 + 8 only while the copy is made


def test_an_original_lives_as_long_as_the_last_copy_of_its_copies() -> None:
    graph = Graph({**GRAPH.nodes, "again": Node("again", "Transpose", ("copy",))})
    step = timeline(row("y", 8, 0, 2), row("copy", 8, 1, 4), row("again", 8, 3, 9), row("x", 5, 8, 9))
    assert curve_without(step, graph, {"copy", "again"}) == 13 * MIB
    assert curve_without(step, graph, {"again"}) == 16 * MIB  # `copy` stays, and lives as long as `again`


def test_copies_of_each_other_keep_their_bytes() -> None:
    graph = Graph({name: Node(name, "Transpose", (other,)) for name, other in (("a", "b"), ("b", "a"))})
    step = timeline(row("a", 8, 0, 2), row("b", 8, 0, 2))
    assert curve_without(step, graph, {"a", "b"}) == 16 * MIB


def test_a_row_of_no_bytes_is_born_where_it_is() -> None:
    step = timeline(row("a", 4, 0, 9), row("empty", 0, 2, 3))
    (moment,) = attribution.attribute(capture(step)).moments
    ledger = ledger_of(moment)
    at = list(ledger.table.node).index("empty")
    assert ledger.birth[at] < ledger.death[at]
