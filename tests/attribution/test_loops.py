"""What a loop keeps of its turns, at the peak of a trace. Names as in a trace of TF 2.21."""

from __future__ import annotations

import pytest

from tests.builders import capture, row, timeline
from tfmemlens import attribution, pipeline
from tfmemlens.model.attribution import Kind
from tfmemlens.model.capture import Capture

BODY = "StatefulPartitionedCall/hearing/listen_1/while/body/_33/hearing/listen_1/while/gru_cell"


def kept(*nodes: str, end: float = 50) -> Capture:
    """Each lives from its own millisecond to a common end, and a dense layer beside them."""
    rows = (row(node, 2, start, end) for start, node in enumerate(nodes))
    return capture(timeline(*rows, row("hearing/out/MatMul", 3, 1, 60)))


def kinds(read: Capture) -> set[Kind]:
    (moment,) = attribution.attribute(read).moments
    return {owner.kind for owner in moment.attribution.owners}


def test_executions_that_live_at_once_are_what_a_loop_keeps() -> None:
    case = attribution.attribute(kept(*[f"{BODY}/split"] * 4))
    by_kind = {group.name: group.total_bytes for group in case.moments[0].attribution.by("kind")}
    assert by_kind == {"loop-stack": 8 << 20, "activation": 3 << 20}
    assert case.capture.timelines[0].owners[f"{BODY}/split"].kind is Kind.LOOP_STACK
    frame = attribution.frame(kept(*[f"{BODY}/split"] * 4).timelines[0])
    assert list(frame["kind"]) == ["loop-stack"] * 4 + ["activation"]


@pytest.mark.parametrize(
    "nodes",
    [
        (f"{BODY}/split", f"{BODY}/mul", f"{BODY}/add"),  # each once
        ("hearing/dense/Relu",) * 4,  # in no loop
    ],
)
def test_others_are_activations(nodes: tuple[str, ...]) -> None:
    assert kinds(kept(*nodes)) == {Kind.ACTIVATION}


def test_turns_that_are_freed_before_the_next_are_no_state() -> None:
    rows = (row(f"{BODY}/split", 2, 2 * turn, 2 * turn + 1) for turn in range(4))
    assert kinds(capture(timeline(*rows, row("hearing/out/MatMul", 3, 0, 60)))) == {Kind.ACTIVATION}


def test_the_loop_is_the_verdict_by_its_layer_and_op() -> None:
    report = pipeline.report(kept(*[f"{BODY}/split"] * 20))
    finding = next(each for each in report.findings if each.rule == "loop-state")
    assert finding.explains == 40 << 20
    assert "split in hearing/listen_1 is alive 20 times, 2.00 MiB each" in finding.headline
