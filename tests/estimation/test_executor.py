"""The order in which nodes run, as ExecutorState::ScheduleReady makes it."""

from __future__ import annotations

import pytest

from tfmemlens.estimation.graph_step.executor import Executor
from tfmemlens.estimation.graph_step.folding import _merged
from tfmemlens.estimation.graph_step.rewriting import _pushed_down, ordered
from tfmemlens.estimation.graph_step.tokens import Memory, Token
from tfmemlens.knowledge.bfc import Pool
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.tensor import Constant


def ran(*nodes: Node, fetches: tuple[str, ...]) -> list[str]:
    """The names of the nodes in the order in which they ran, without constants and feeds."""
    executor = Executor(
        Graph({node.name: node for node in nodes}),
        Memory(Pool()),
        fetches,
        lambda _: [Token((4,), "float32")],
        {},
    )
    executor.step()
    return [name for name in executor.order if name not in ("x", "pred")]


def number(name: str, value: int) -> Node:
    return Node(name, "Const", attributes={"value": Constant((), "int32", (value,)), "dtype": "int32"})


def exp(name: str, source: str) -> Node:
    return Node(name, "Exp", (source,), attributes={"T": "float32"})


FEED, SPLIT = Node("x", "Placeholder"), Node("split", "Switch", ("x", "pred"), attributes={"T": "float32"})


def test_of_several_expensive_nodes_the_last_goes_on() -> None:
    """It stays in the thread, and the others wait in a queue, newest first."""
    assert ran(
        FEED,
        Node("same", "Identity", ("x",)),
        *(exp(name, "same") for name in "abc"),
        fetches=("a", "b", "c"),
    ) == ["same", "c", "b", "a"]


def test_a_branch_that_is_not_taken_is_worked_off_at_once() -> None:
    """Its nodes cost nothing, whatever their kernels would."""
    for taken, live, dead in ((0, "split", "split:1"), (1, "split:1", "split")):
        joined = Node("joined", "Merge", ("b", "a"), attributes={"T": "float32", "N": 2})
        order = ran(
            FEED,
            number("pred", taken),
            SPLIT,
            exp("a", live),
            exp("b", dead),
            exp("c", live),
            joined,
            fetches=("joined", "c"),
        )
        assert order == ["split", "b", "c", "a", "joined"]


def held(*nodes: Node, fetches: tuple[str, ...], feed: Token) -> dict[str, tuple[int, ...]]:
    """The shape of what each node of a step books."""
    memory = Memory(Pool())
    executor = Executor(Graph({node.name: node for node in nodes}), memory, fetches, lambda _: [feed], {})
    executor.step()
    return {row.node: row.shape for row in memory.rows}


def test_rows_that_are_scattered_are_a_tensor_and_no_update() -> None:
    """`ScatterNd` is named like `ScatterAdd`, which overwrites a variable."""
    places = Node("places", "Const", attributes={"value": Constant((4, 1), "int32"), "dtype": "int32"})
    sizes = Node("sizes", "Const", attributes={"value": Constant((2,), "int32", (900, 7)), "dtype": "int32"})
    scattered = Node("spread", "ScatterNd", ("places", "x", "sizes"), attributes={"T": "float32"})
    made = held(
        FEED, places, sizes, scattered, exp("y", "spread"), fetches=("y",), feed=Token((4, 7), "float32")
    )
    assert made["spread"] == (900, 7)


def test_what_a_scattered_variable_hands_on_is_the_variable() -> None:
    """As the update of Adam reads it, whose tables are then as large as the table."""
    stated = {"shape": (900, 7), "dtype": "float32"}
    table = Node("table", "VariableV2", attributes=stated)
    places = Node("places", "Const", attributes={"value": Constant((4,), "int32"), "dtype": "int32"})
    added = Node("added", "ScatterAdd", ("table", "places", "x"), attributes={"T": "float32"})
    made = held(
        FEED, table, places, added, Node("root", "Sqrt", ("added",), attributes={"T": "float32"}),
        fetches=("root",), feed=Token((4, 7), "float32"),
    )  # fmt: skip
    assert made["root"] == (900, 7)


def test_constant_sides_that_are_pushed_together_keep_their_number() -> None:
    """(2 * batch) * 5 is 10 * batch: the sides that an einsum gives to a Reshape."""
    rows = Node("rows", "Unpack", ("sizes",), attributes={"num": 2, "T": "int32"})
    inner = Node("inner", "Mul", ("two", "rows"), attributes={"T": "int32"})
    outer = Node("outer", "Mul", ("inner", "five"), attributes={"T": "int32"})
    nodes = {
        each.name: each
        for each in (
            Node("sizes", "Shape", ("x",)),
            FEED,
            rows,
            inner,
            outer,
            number("two", 2),
            number("five", 5),
        )
    }
    changed = _pushed_down(dict(nodes), Graph(nodes))
    assert changed["inner"].attributes["value"] == Constant((), "int32", (10,))
    assert changed["outer"].inputs == ("inner", "rows")


def test_a_session_visits_readers_as_the_graph_lists_them_a_function_by_name() -> None:
    nodes = [FEED, exp("b", "x"), exp("a", "x")]
    for producer, order in (
        ("1.15.5", ["x", "b", "a"]),
        ("2.11.0", ["x", "a", "b"]),
        (None, ["x", "a", "b"]),
    ):
        graph = Graph({node.name: node for node in nodes}, producer=producer)
        assert [node.name for node in ordered(graph)] == order


def test_a_control_trigger_runs_behind_a_branch_that_is_not_taken() -> None:
    """What waits for it is not dead: the counter of a loop that pushes in one branch."""
    nodes = [
        FEED,
        number("pred", 0),
        SPLIT,
        exp("dead", "split:1"),
        Node("trigger", "ControlTrigger", ("^dead",)),
        Node("after", "Exp", ("x", "^trigger"), attributes={"T": "float32"}),
        exp("b", "after"),
    ]
    executor = Executor(
        Graph({node.name: node for node in nodes}),
        Memory(Pool()),
        ("b",),
        lambda _: [Token((4,), "float32")],
        {},
    )
    executor.step()
    assert executor.fetched and not executor.fetched[0].dead


def test_in_a_long_training_every_small_kernel_is_cheap() -> None:
    """An expensive one waits for it then: of two readers the last went on before."""
    nodes = [FEED, Node("same", "Identity", ("x",)), exp("a", "same"), Node("b", "MatMul", ("same", "same"))]
    executor = Executor(
        Graph({node.name: node for node in nodes}),
        Memory(Pool()),
        ("a", "b"),
        lambda _: [Token((4, 4), "float32")],
        {},
    )
    orders = []
    for late in (False, True):
        if late:
            executor.age()
        executor.step()
        orders.append([name for name in executor.order if name in ("a", "b")])
    assert orders == [["b", "a"], ["a", "b"]]


def zeros(name: str, *inputs: str) -> Node:
    return Node(name, "Const", inputs, attributes={"value": Constant((4,), "float32"), "dtype": "float32"})


def test_zeros_of_two_loops_stay_apart() -> None:
    """Each waits for an iteration of its own loop: one for both would wait for ever in the other."""
    made = _merged(Graph({name: zeros(name) for name in ("a/zeros", "b/zeros")}))
    apart = _merged(Graph({name: zeros(name, f"^{name[0]}/turn") for name in ("a/zeros", "b/zeros")}))
    assert (len(made), len(apart)) == (1, 2)


def test_an_unknown_bound_is_not_reached_in_a_loop() -> None:
    """`cond(time >= length, copy, call_cell)` of dynamic_rnn calls the cell."""
    nodes = [
        Node("past", "GreaterEqual", ("time", "length")),
        Node("before", "Less", ("time", "length")),
        Node("all", "All", ("past", "axes")),
        Node("going_on", "LogicalNot", ("all",)),
        Node("ending", "LogicalNot", ("before",)),
    ]
    graph = Graph({node.name: node for node in nodes})
    executor = Executor(graph, Memory(Pool()), (), lambda _: [], {})
    likely = {name: executor._likely(name) for name in graph.nodes}
    assert likely == {"past": 0, "before": 1, "all": 0, "going_on": 1, "ending": 0}


@pytest.mark.parametrize("inputs", [(), ("not",)])
def test_a_negation_of_nothing_and_of_itself_is_taken_to_hold(inputs: tuple[str, ...]) -> None:
    node = Node("not", "LogicalNot", inputs)
    assert Executor(Graph({"not": node}), Memory(Pool()), (), lambda _: [], {})._likely("not") == 1
