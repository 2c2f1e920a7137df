"""The order in which nodes run, as ExecutorState::ScheduleReady makes it."""

from __future__ import annotations

from tfmemlens.estimation.graph_step.executor import Executor
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
