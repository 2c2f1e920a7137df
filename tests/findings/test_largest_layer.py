"""Which layer a verdict names where the failure tells only how much was held."""

from __future__ import annotations

import pytest

from tests.builders import row, timeline
from tests.findings.logs import dump, oom
from tests.findings.test_edges_of_tensors import failed
from tests.findings.test_support import A, P, U, case, exactly, held
from tfmemlens import pipeline
from tfmemlens.findings.support import verdict
from tfmemlens.findings.support.largest_layer import (
    of_a_step_in_ram,
    of_the_counted_owner,
    of_the_largest_layer,
    stacking_layer,
)
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Balance, Case, Moment
from tfmemlens.model.finding import Basis, Finding, Severity
from tfmemlens.model.incident import FailedRequest, RequestKind
from tfmemlens.model.live_model import LiveModel, LiveVariable
from tfmemlens.model.tensor import TensorType
from tfmemlens.units import MIB
from tfmemlens.values import replace

SLOT, STACK = Kind.OPTIMIZER_SLOT, Kind.LOOP_STACK
DUMP = ((None, 1000, U),)
NO_MODEL = LiveModel((), ())


def recorded(*rows: tuple[str | None, int, Kind]) -> Moment:
    step = timeline(row("gradients/a", 1, 0, 1), ran=(("gradients/a", 0, 1),))
    return held(*rows, timeline=step)


def beside(moment: Moment, *others: Moment, live: LiveModel | None = None) -> Case:
    known = case(moment, *others)
    return replace(known, capture=replace(known.capture, live_model=live))


def clause(known: Case, said: str = "") -> str:
    return of_the_largest_layer(known, known.moments[0], said)


@pytest.mark.parametrize(
    "rows, size, words",
    [
        ((("a/x", 60, A), ("b/x", 40, A)), 60, "; `a` holds the most of what is listed, 60 %"),
        ((("a/x", 60, A), ("b/x", 40, A)), 61, ""),  # the request alone is more
        ((("a/x", 20, A), (None, 80, A)), 1, "; `a` holds the most of what is listed, 20 %"),
        ((("a/x", 19, A), (None, 81, A)), 1, ""),
        (((None, 100, A),), 1, ""),
    ],
)
def test_the_layer_with_most_of_a_list(rows: tuple[tuple[str, int, Kind]], size: int, words: str) -> None:
    known = beside(failed((5,), rows=rows, size=size))
    assert clause(known) == words
    assert clause(known, "Out of memory in `a`") == clause(known, "Out of memory in `a/x`") == ""
    assert clause(known, "Out of memory in `ab`") == words


@pytest.mark.parametrize(
    "layer, size, words",
    [
        ("wide", 92, "; `wide` holds 92 % of what is in use"),
        ("wide", 39, ""),  # one of many
        (None, 92, ""),
    ],
)
def test_the_owner_of_most_that_the_program_counted(layer: str | None, size: int, words: str) -> None:
    failure = failed((5,), rows=((None, 100, U),), size=1)
    counted = held((layer and f"{layer}/x", size, A), ("body/x", 10, A), (None, 90 - min(size, 90), U))
    known = beside(replace(failure, counted=counted.attribution))
    assert of_the_counted_owner(known, known.moments[0], "") == words.replace(
        "92 %", f"{round(100 * size / counted.attribution.table.total_bytes)} %"
    )
    assert of_the_counted_owner(known, known.moments[0], "Out of memory in `wide`") == ""
    half = held(("wide/x", 60, A), (None, 61, U))
    unknown = beside(replace(failure, counted=half.attribution))
    assert of_the_counted_owner(unknown, unknown.moments[0], "") == ""


@pytest.mark.parametrize(
    "rows, words",
    [
        ((("a/x", 30, A), ("b/x", 60, P), (None, 10, A)), "; of the layers in a recorded step `b` held the"),
        ((("a/x", 19, A), (None, 81, A)), ""),
    ],
)
def test_the_layer_with_most_of_a_recorded_step(rows: tuple[tuple[str, int, Kind]], words: str) -> None:
    known = beside(failed((5,), rows=DUMP, size=10), recorded(*rows))
    assert clause(known).startswith(words) and bool(clause(known)) == bool(words)
    assert clause(beside(known.moments[0])) == ""
    assert clause(beside(failed((5,), rows=DUMP, what=RequestKind.HOST), recorded(*rows))) == ""


@pytest.mark.parametrize(
    "batch, later, words",
    [
        (8, 12, "; the batch is 12, 8 in the recorded step, where `a` held the most of its layers, 75 %"),
        (8, 11, "; of the layers in a recorded step `b` held the most, 60 %"),
        (None, 12, "; of the layers in a recorded step `b` held the most, 60 %"),
    ],
)
def test_a_larger_batch_counts_no_weights(batch: int | None, later: int, words: str) -> None:
    live = replace(NO_MODEL, batch=batch, failed_batch=later)
    step = recorded(("a/x", 30, A), ("b/x", 60, SLOT), (None, 10, A))
    known = beside(failed((5,), rows=DUMP, size=10), step, live=live)
    assert clause(known) == words
    if later == 12 and batch:
        assert clause(known, "`a`") == "; the batch is 12, 8 in the recorded step"


@pytest.mark.parametrize("name, told", [("net/a", True), ("Mul", False)])
def test_an_eager_op_is_no_layer_of_the_model(name: str, told: bool) -> None:
    live = LiveModel((), (("net", "Model"), ("net/a", "Dense")))
    step = recorded((f"{name.partition('/')[0]}/x", 60, A), (None, 40, A))
    assert bool(clause(beside(failed((5,), rows=DUMP, size=10), step, live=live))) == told


@pytest.mark.parametrize("in_use, told", [(1000, True), (1001, False), (399, False)])
def test_weights_that_are_much_of_what_is_in_use_come_first(in_use: int, told: bool) -> None:
    variables = tuple(
        LiveVariable(name, "a", kind, TensorType((50,), "float32")) for name, kind in (("w", P), ("m", SLOT))
    )
    other = LiveVariable("v", "b", P, TensorType((9,), "float32"))
    live = LiveModel((), (("a", "Dense"),), (*variables, other))
    known = beside(failed((5,), rows=((None, in_use, U),), size=10), recorded(("b/x", 9, A)), live=live)
    words = "; weights and slots of `a` are 400 B, 40 % of what is in use"
    assert (clause(known) == words) == told
    assert clause(known, "`a`") != words


RETURNS = LiveModel(
    (),
    (("x", "InputLayer"), ("wide", "Conv2D"), ("slack", "LeakyReLU"), ("paint", "Conv2D")),
    (LiveVariable("w", "wide", P, TensorType((3, 3, 8, 6), "float32")),),
    (
        ("x", (None, 4, 4, 8)),
        ("wide", (None, 4, 4, 6)),
        ("slack", (None, 4, 4, 6)),
        ("paint", (None, 4, 4, 3)),
    ),
)


@pytest.mark.parametrize(
    "shape, layer, words",
    [
        ((5, 4, 4, 6), "paint", "; the tensor has the shape of what `wide` returns"),
        ((5, 4, 4, 6), "slack", ""),  # it returns such a tensor itself
        ((5, 4, 4, 3), "wide", "; the tensor has the shape of what `paint` returns"),
        ((5, 4, 4, 8), "wide", ""),  # a batch
        ((5, 4, 4, 7), "paint", ""),
    ],
)
def test_a_gradient_has_the_shape_of_what_another_layer_returned(
    shape: tuple[int, ...], layer: str, words: str
) -> None:
    known = beside(failed(shape, rows=DUMP, size=10, layer=layer), live=RETURNS)
    assert clause(known, f"Out of memory in `{layer}`") == words
    grown = replace(RETURNS, batch=2, failed_batch=5)
    more = "; the batch is 5, 2 in the recorded step" if words else ""
    assert clause(beside(known.moments[0], live=grown), f"`{layer}`") == words + more


@pytest.mark.parametrize(
    "rows, layer",
    [
        ((("a/x", 40, STACK), ("b/x", 60, A)), "a"),
        ((("a/x", 39, STACK), ("b/x", 60, STACK)), "b"),
        ((("a/x", 30, STACK), (None, 60, STACK)), None),
        ((("a/x", 30, A),), None),
    ],
)
def test_the_layer_whose_loop_keeps_most(rows: tuple[tuple[str, int, Kind]], layer: str | None) -> None:
    failure = failed((5,), rows=DUMP)
    assert stacking_layer(beside(failure, recorded(*rows))) == layer
    assert stacking_layer(beside(failure)) is None


@pytest.mark.parametrize("rule, told", [("memory-shortage", True), ("held-by-python", False)])
def test_only_figures_are_followed_by_the_layer(rule: str, told: bool) -> None:
    books = Balance(in_use=exactly(1000))
    known = beside(failed((5,), rows=DUMP, size=10, books=books), recorded(("b/x", 9, A)))
    finding = Finding(Severity.CAUSE, "h", because="only 1 B was free", basis=Basis.FIGURES, rule=rule)
    assert ("`b` held the most" in verdict.state(known, (finding,))) == told


def test_the_code_names_the_layer_whose_output_has_the_shape_of_a_gradient() -> None:
    code = (
        "i = Input((None, 3))\nx = Conv1D(96, 3, padding='same', name='wide')(i)\n"
        "y = Conv1D(4, 1, name='thin')(x)\nModel(i, y).fit(d)\n"
    )
    known = dump(64, 400, 390) + oom("16,700,96", "gradient_tape/net/thin/conv1d/Conv2DBackpropInput")
    assert "has the shape of what `wide` returns" in pipeline.explain(code + known).verdict
    assert "has the shape" not in pipeline.explain(code.replace("96", "95") + known).verdict


CRASH = FailedRequest(RequestKind.HOST)
TOLD = "; of the layers in a recorded step, 100.00 MiB, `a` held the most, 60 %"


@pytest.mark.parametrize(
    "request_, device, size, said, words",
    [
        (
            CRASH,
            "/device:CPU:0",
            MIB,
            "",
            "; of the layers in a recorded step, 100.00 MiB, `a` held the most, 60 %",
        ),
        (CRASH, "/device:CPU:0", MIB, "in `a`", ""),
        (CRASH, "/device:GPU:0", MIB, "", ""),
        (CRASH, "/device:CPU:0", MIB // 2, "", ""),
        (replace(CRASH, size=exactly(8)), "/device:CPU:0", MIB, "", ""),
        (replace(CRASH, pipeline=True), "/device:CPU:0", MIB, "", ""),
        (replace(CRASH, kind=RequestKind.TENSOR), "/device:CPU:0", MIB, "", ""),
    ],
)
def test_a_crash_without_a_request_is_told_by_the_step_that_lay_in_ram(
    request_: FailedRequest, device: str, size: int, said: str, words: str
) -> None:
    step = recorded(("a/x", 60 * size, A), ("b/x", 40 * size, A))
    assert step.timeline is not None
    step = replace(step, timeline=replace(step.timeline, device=device))
    moment = failed((5,), rows=())
    assert moment.request is not None
    moment = replace(moment, request=replace(moment.request, failed=request_, rounded_bytes=None))
    assert of_a_step_in_ram(beside(moment, step), moment, said) == words
    assert of_a_step_in_ram(beside(moment), moment, said) == ""
