"""One order of a graph's nodes: producers first, whatever the graph's own order, loops and dangling
references.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tfmemlens.knowledge.topological_order import listed_order, topological_order
from tfmemlens.model.graph import Graph, Node


def _graph(**inputs: str) -> Graph:
    return Graph({name: Node(name, "Add", tuple(text.split())) for name, text in inputs.items()})


def _names(graph: Graph, by_name: bool = False) -> list[str]:
    return [node.name for node in topological_order(graph, (lambda name: (0, name)) if by_name else None)]


def test_producers_come_first_breadth_first() -> None:
    graph = _graph(end="deep left", deep="left:1", right="root", left="root", root="")
    assert _names(graph) == ["root", "right", "left", "deep", "end"]


def test_readers_are_sorted_where_a_key_is_given() -> None:
    graph = _graph(b="root", a="root", root="")
    assert _names(graph) == ["root", "b", "a"]
    assert _names(graph, by_name=True) == ["root", "a", "b"]


def test_a_control_edge_is_waited_for() -> None:
    assert _names(_graph(late="^early", early="")) == ["early", "late"]


def test_a_node_read_twice_is_waited_for_once() -> None:
    assert _names(_graph(square="x x ^x", x="")) == ["x", "square"]


def test_a_loop_is_entered_at_its_merge() -> None:
    graph = Graph(
        {
            "next": Node("next", "NextIteration", ("body",)),
            "body": Node("body", "Add", ("merge",)),
            "merge": Node("merge", "Merge", ("enter", "next")),
            "enter": Node("enter", "Enter", ("x",)),
            "x": Node("x", "Const"),
        }
    )
    assert _names(graph) == ["x", "enter", "merge", "body", "next"]


def test_another_circle_comes_last_and_nothing_is_lost() -> None:
    assert _names(_graph(a="b", b="a", c="gone", d="c")) == ["c", "d", "a", "b"]


@given(st.permutations(range(8)), st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=16))
def test_every_node_follows_what_it_reads(names: list[int], pairs: list[tuple[int, int]]) -> None:
    edges = {(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]}
    graph = _graph(**{f"n{at}": " ".join(f"n{low}" for low, high in edges if high == at) for at in names})
    order = _names(graph)
    assert sorted(order) == sorted(graph.nodes)
    assert all(order.index(f"n{low}") < order.index(f"n{high}") for low, high in edges)


def _by_sweeps(awaited: list[set[int]]) -> list[int]:
    """The same by its definition: the list from its start, as often as it takes."""
    order: list[int] = []
    while True:
        before = len(order)
        for item, others in enumerate(awaited):
            if item not in order and others <= set(order):
                order.append(item)
        if len(order) == before:
            return order + [item for item in range(len(awaited)) if item not in order]


def test_a_list_in_order_stays_as_it_is() -> None:
    assert list(listed_order([set(), {0}, set(), {1}])) == [0, 1, 2, 3]
    assert list(listed_order([])) == []


def test_a_list_is_gone_through_again_for_what_had_to_wait() -> None:
    assert list(listed_order([{3}, {2}, set(), set(), {1}, {0}])) == [2, 3, 0, 1, 4, 5]


def test_what_awaits_itself_or_a_circle_comes_last() -> None:
    assert list(listed_order([{0}, {2}, {1}, set(), {1}])) == [3, 0, 1, 2, 4]


@given(st.lists(st.sets(st.integers(0, 7)), min_size=8, max_size=8))
def test_a_list_is_taken_in_sweeps(awaited: list[set[int]]) -> None:
    assert list(listed_order(awaited)) == _by_sweeps(awaited)
