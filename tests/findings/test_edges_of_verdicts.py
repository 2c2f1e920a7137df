"""The first sentence of an answer, for each kind of failure, for a step, and for what ranks first."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import row, timeline
from tests.findings.test_edges_of_support import at
from tests.findings.test_edges_of_tensors import failed
from tests.findings.test_support import A, asked, case, exactly, held
from tfmemlens.findings.support import verdict
from tfmemlens.model.allocation import AllocationTable
from tfmemlens.model.attribution import Attribution, Kind, Owner, Phase
from tfmemlens.model.case import Balance, Moment
from tfmemlens.model.finding import Basis, Finding, Severity
from tfmemlens.model.incident import CompilerMemory, Frame, Incident, RequestKind
from tfmemlens.model.line import Line
from tfmemlens.model.live_model import LiveModel
from tfmemlens.model.timeline import CurveSource
from tfmemlens.values import replace

MIB, GIB = 1 << 20, 1 << 30


def said(moment: Moment, *findings: Finding) -> str:
    return verdict.state(case(moment), findings)


def of(
    what: RequestKind,
    shape: Any = (5,),
    size: int | None = None,
    compiler: CompilerMemory | None = None,
    **facts: Any,
) -> Moment:
    moment = failed(shape, **{"node": None, "what": what, **facts})
    assert moment.request
    request = replace(moment.request, failed=replace(moment.request.failed, size=size and exactly(size)))
    return replace(moment, request=request, incident=Incident(request.failed, compiler=compiler))


@pytest.mark.parametrize(
    "name, layer, words",
    [
        ("hidden", None, " in `Sigmoid` of `hidden()` while"),
        ("<module>", None, " in `Sigmoid` while"),
        ("hidden", "net", " in `net` while"),
    ],
)
def test_the_function_that_ran_an_op_of_no_layer(name: str, layer: str | None, words: str) -> None:
    frames = (
        Frame("a.py:9", "step()", "<module>"),
        Frame("a.py:3", "tf.sigmoid(z)", name),
        Frame("ops.py:5"),
    )
    moment = of(RequestKind.TENSOR, node="Sigmoid", op="Sigmoid", source="a.py:3", frames=frames)
    assert moment.request
    request = replace(moment.request, owner=replace(moment.request.owner, layer=layer))
    assert words in said(replace(moment, request=request))


def test_the_function_that_waits_for_a_result_ran_no_op() -> None:
    frames = (Frame("a.py:9", "print(float(z))", "report"), Frame("jax/_src/array.py:634", "value", "_value"))
    for waits in (frames, frames[:1]):
        where = {"source": "a.py:9", "frames": waits, "line": Line(7, "OOM")}
        moment = of(RequestKind.TENSOR, node="sub", op="sub", **where)
        assert (" of `report()`" in said(moment)) is (waits is not frames)


T, X, TPU, HOST = RequestKind.TENSOR, RequestKind.XLA, RequestKind.TPU, RequestKind.HOST


@pytest.mark.parametrize(
    "moment, words",
    [
        (of(T), "Out of memory while allocating [5] float32 (20 B)."),
        (of(T, node="net/a"), "Out of memory in `net/a` while allocating [5] float32 (20 B)."),
        (
            of(T, node="jit(step)/while/body/jit(_where)/select_n"),
            "Out of memory in `jit(step)` while allocating [5] float32 (20 B).",
        ),
        (
            of(T, node="jit(step)/add"),
            "Out of memory in `jit(step)/add` while allocating [5] float32 (20 B).",
        ),
        (
            of(T, updating=True),
            "Out of memory in the optimizer's update while allocating [5] float32 (20 B).",
        ),
        (
            of(T, updating=True, layer="a", phase=Phase.OPTIMIZER),
            "Out of memory in the optimizer's update of `a` while allocating [5] float32 (20 B).",
        ),
        (
            of(T, updating=True, layer="a", kind=Kind.OPTIMIZER_SLOT),
            "Out of memory in the optimizer's slots of `a` while allocating [5] float32 (20 B).",
        ),
        (
            of(T, layer="a", phase=Phase.OPTIMIZER),
            "Out of memory in `a` while allocating [5] float32 (20 B).",
        ),
        (of(T, allocator="cpu"), "Out of host RAM (not GPU memory) while allocating [5] float32 (20 B)."),
        (of(T, allocator="mklcpu"), "Out of host RAM (not GPU memory) while allocating [5] float32 (20 B)."),
        (
            of(T, device="/device:CPU:0"),
            "Out of host RAM (not GPU memory) while allocating [5] float32 (20 B).",
        ),
        (
            of(T, device="/device:CPU:0", allocator="cpu_bfc"),
            "Out of memory while allocating [5] float32 (20 B).",
        ),
        (of(T, None), "Out of memory."),
        (of(T, None, 7), "Out of memory while allocating 7 B."),
        (of(X, None, 7), "XLA could not allocate 7 B."),
        (of(X, None, 7, executable="jit_f"), "A compiled program could not allocate 7 B."),
        (of(RequestKind.PROGRAM, None, 7), "The compiled program needs 7 B."),
        (of(RequestKind.PROGRAM, None, 7, executable="jit_f"), "The compiled program jit_f needs 7 B."),
        (of(TPU, None, 7), "The TPU program needs 7 B."),
        (of(TPU, None, 7, executable="jit_f"), "The TPU program jit_f needs 7 B."),
        (of(TPU, None), "The TPU program does not fit."),
        (of(TPU, None, 7, CompilerMemory(free=exactly(5))), "Out of memory on the TPU while allocating 7 B."),
        (
            of(TPU, None, 7, CompilerMemory(free=exactly(5)), line=at(3, "for a device buffer")),
            "Out of memory on the TPU while allocating a buffer of 7 B.",
        ),
        (of(TPU, None, 7, CompilerMemory(free=exactly(5)), executable="f"), "The TPU program f needs 7 B."),
        (of(TPU, None, 7, CompilerMemory()), "The TPU program needs 7 B."),
        (of(HOST), "Host RAM (not GPU memory) ran out."),
        (of(HOST, node="net/a"), "Host RAM (not GPU memory) ran out in `net/a`."),
        (of(RequestKind.COPY), "Out of memory while copying to the device."),
        (of(RequestKind.WORKSPACE), "A call of cuDNN or cuBLAS failed."),
        (of(RequestKind.DRIVER), "The GPU driver could not allocate memory."),
    ],
)
def test_what_ran_out(moment: Moment, words: str) -> None:
    assert said(moment) == words


@pytest.mark.parametrize(
    "in_use, limit, words",
    [
        (5, 9, "Out of memory, with 5 B of 9 B in use."),
        (5, 0, "Out of memory."),
        (5, None, "Out of memory."),
        (None, 9, "Out of memory."),
    ],
)
def test_what_was_in_use_where_nothing_tells_the_request(
    in_use: int | None, limit: int | None, words: str
) -> None:
    sizes = [None if each is None else exactly(each) for each in (in_use, limit)]
    assert said(replace(of(T, None), balance=Balance(in_use=sizes[0], limit=sizes[1]))) == words


@pytest.mark.parametrize(
    "in_use, limit, peak, words",
    [
        (5, 9, 7, "The device has 5 B of 9 B in use, 7 B at its peak."),
        (5, None, None, "The device has 5 B in use."),
        (None, 9, None, "The device has an unknown amount of 9 B in use."),
    ],
)
def test_what_a_devices_statistics_say(
    in_use: int | None, limit: int | None, peak: int | None, words: str
) -> None:
    sizes = [None if each is None else exactly(each) for each in (in_use, limit, peak)]
    books = Balance(in_use=sizes[0], limit=sizes[1], peak=sizes[2])
    assert said(replace(of(RequestKind.PROFILE), balance=books)) == words


def test_arrays_of_a_profile_by_their_makers() -> None:
    request = asked(kind=RequestKind.PROFILE, device="cuda:0")
    moment = held(("a/x", 75, A), ("b/y", 25, A), request=request)
    assert said(moment) == "Arrays on cuda:0 hold 100 B, 75 % of it made in a."


# ------------------------------------------------------------------ steps


def step(source: CurveSource = CurveSource.RECORDS, **more: Any) -> Moment:
    rows = [row("a/x", 4, 0, 10), row("b/y", 4, 5, 7.5)]
    alive = rows if not more.pop("below", False) else rows[:1]
    measured = replace(timeline(*rows), curve_source=source, **more)
    owners = [Owner("a", Kind.ACTIVATION, Phase.FORWARD)] * len(alive)
    return Moment(
        Attribution(AllocationTable.of(alive), owners), Balance(), timeline=measured, peak_micros=5000.0
    )


@pytest.mark.parametrize(
    "moment, words",
    [
        (step(), "This step's peak is 8.00 MiB on GPU_0_bfc"),
        (step(CurveSource.EVENTS), "This trace's peak is 8.00 MiB on GPU_0_bfc"),
        (step(CurveSource.LOG), "This log's peak is 8.00 MiB on GPU_0_bfc"),
        (step(CurveSource.COUNTERS), "This step's peak is about 8.00 MiB on GPU_0_bfc"),
        (step(CurveSource.LIVENESS), "This step's peak is about 8.00 MiB on GPU_0_bfc"),
        (step(below=True), "At 5.0 ms this step holds 4.00 MiB on GPU_0_bfc, below its peak of 8.00 MiB"),
        (
            step(below=True, ordinal=True),
            "At line 5,000 this step holds 4.00 MiB on GPU_0_bfc, below its peak of 8.00 MiB",
        ),
    ],
)
def test_the_peak_of_a_step(moment: Moment, words: str) -> None:
    assert said(moment) == f"{words}, 100 % of it activation."


def test_a_step_is_explained_by_what_ranks_first() -> None:
    finding = Finding(Severity.CAUSE, "Much is held", because="half of it is waiting")
    assert said(step(), finding) == "This step's peak is 8.00 MiB on GPU_0_bfc: half of it is waiting."
    bare = replace(finding, because="")
    assert said(step(), bare) == "This step's peak is 8.00 MiB on GPU_0_bfc: much is held."
    assert said(step(), replace(bare, headline="XLA holds it")).endswith(": XLA holds it.")
    assert said(step(), replace(bare, headline="8 of them hold it")).endswith(": 8 of them hold it.")


# ------------------------------------------------------------------ what ranks first


def made(because: str, severity: Severity = Severity.CAUSE, **more: Any) -> Finding:
    return Finding(severity, f"Head of {because}", because=because, **more)


@pytest.mark.parametrize(
    "findings, why",
    [
        ([made("one"), made("two")], "one"),
        ([replace(made("one"), because=""), made("two")], "two"),
        ([replace(made("one"), because=""), made("two", Severity.FACTOR)], "head of one"),
        ([made("one", Severity.NOTE), made("two", Severity.FACTOR)], "two"),
        ([made("one", moment=1), made("two")], "two"),
    ],
)
def test_the_first_cause_with_a_clause_explains(findings: list[Finding], why: str) -> None:
    assert said(of(T), *findings) == f"Out of memory while allocating [5] float32 (20 B): {why}."


def test_notes_explain_nothing() -> None:
    assert said(of(T), made("one", Severity.NOTE)) == "Out of memory while allocating [5] float32 (20 B)."


@pytest.mark.parametrize(
    "first, second, deeper",
    [
        ({}, {}, True),
        ({"basis": Basis.SHAPE}, {}, False),
        ({"explains": 19}, {}, False),
        ({"share": 0.99}, {}, False),
        ({"rules_out": ("smaller-batch",)}, {}, False),
        ({}, {"share": 0.49}, False),
        ({}, {"because": ""}, False),
    ],
    ids=str,
)
def test_why_a_request_that_cannot_fit_is_so_large(first: Any, second: Any, deeper: bool) -> None:
    best = replace(made("it is too large", explains=20, basis=Basis.MEASURED, share=1.0), **first)
    other = replace(made("it is a table", explains=10, basis=Basis.SHAPE, share=0.5), **second)
    assert said(of(T), best, other).endswith("it is too large (it is a table).") is deeper


@pytest.mark.parametrize("rule, deeper", [("fragmented-free-memory", True), ("memory-shortage", False)])
def test_pieces_that_are_too_small_do_not_hide_the_layers(rule: str, deeper: bool) -> None:
    best = replace(made("in pieces", basis=Basis.MEASURED, share=0.6), rule=rule)
    other = replace(made("outputs take it", basis=Basis.SHAPE, share=0.5), rule="outputs-of-the-program")
    assert said(of(T), best, other).endswith(": outputs take it (in pieces).") is deeper


@pytest.mark.parametrize(
    "explains, first", [(20, "it holds scores"), (19, "outputs take it"), (None, "outputs take it")]
)
def test_what_the_request_is_stands_before_what_the_layers_make(explains: int | None, first: str) -> None:
    best = replace(made("in pieces", basis=Basis.MEASURED, share=0.6), rule="fragmented-free-memory")
    outputs = replace(made("outputs take it", basis=Basis.SHAPE, share=0.5), rule="outputs-of-the-program")
    scores = made("it holds scores", explains=explains, basis=Basis.SHAPE, share=0.4)
    assert said(of(T), best, outputs, scores).endswith(f": {first} (in pieces).")


@pytest.mark.parametrize(
    "node, layer, outputs, told",
    [
        ("gt/net/rgb/Conv2D/Conv2DBackpropInput", "rgb", [("refine", (None, 9, 9, 4))], True),
        ("gt/net/rgb/Conv2D/Conv2DBackpropInput", "refine", [("refine", (None, 9, 9, 4))], False),
        ("gt/net/rgb/x/Conv2DBackpropInput", "rgb", [("a", (None, 9, 9, 4)), ("b", (None, 9, 9, 4))], False),
        ("gt/net/rgb/Conv2D/Conv2DBackpropInput", "rgb", [("refine", (None, 8, 8, 4))], False),
        ("net/rgb/Conv2D", "rgb", [("refine", (None, 9, 9, 4))], False),
    ],
)
def test_the_gradient_of_what_another_layer_makes_is_told(
    node: str, layer: str, outputs: Any, told: bool
) -> None:
    whole = case(failed((2, 9, 9, 4), node=node, layer=layer))
    live = LiveModel((), (), outputs=tuple(outputs))
    text = verdict.state(replace(whole, capture=replace(whole.capture, live_model=live)), ())
    assert ("(the gradient of what `refine` makes)" in text) is told
