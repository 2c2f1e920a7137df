"""The executor without kernels: what lives when, what is written over, and that everything is given back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models import small
from tfmemlens.estimation.keras_step import prediction
from tfmemlens.estimation.keras_step.prediction import predict
from tfmemlens.estimation.keras_step.schedule import ScheduledRun, SchedulePlan, run
from tfmemlens.estimation.keras_step.tape import Tape
from tfmemlens.knowledge.bfc import Pool
from tfmemlens.model.attribution import Kind
from tfmemlens.model.settings import StepSettings
from tfmemlens.readers.keras_models._documents import network_of

NAMES = sorted(name for name in small("2.21") if name != "volumes")


def test_an_op_writes_over_an_input_that_nobody_else_needs() -> None:
    tape = Tape()
    first = tape.op("Conv2D", [], (1024,), "float32")
    tape.op("Relu", [first], over=[first])
    assert run(SchedulePlan(tape.ops, tape.buffers), Pool()).peak_bytes == 4096


def test_an_input_that_is_read_again_stays() -> None:
    tape = Tape()
    first = tape.op("Conv2D", [], (1024,), "float32")
    second = tape.op("Relu", [first], over=[first])
    tape.op("AddN", [first, second], over=[first, second])
    assert run(SchedulePlan(tape.ops, tape.buffers), Pool()).peak_bytes == 8192


def test_an_update_copies_while_somebody_still_reads() -> None:
    def peak(waits: bool) -> int:
        tape, pool = Tape(), Pool()
        weight = tape.source("w", (1024,), "float32", Kind.PARAMETER)
        step = tape.op("Mul", [weight], (1024,))
        if waits:
            tape.op("MatMul", [weight], (4,), work=1e9)
        tape.consume("AssignSubVariableOp", [weight, step], updates=weight)
        chunk = pool.allocate(4096)
        assert chunk
        return run(SchedulePlan(tape.ops, tape.buffers), pool, {weight.buffer: chunk}).peak_bytes

    assert peak(waits=True) >= peak(waits=False) + 4096


def test_an_idle_thread_needs_time_to_take_an_op() -> None:
    """Of two readers one waits in its thread's queue: it is taken from there only if that thread is busy for
    long.
    """

    def apart(work: float) -> bool:
        tape = Tape()
        first = tape.op("Relu", [], (64,), "float32", work=0.0)
        for _ in range(2):
            tape.op("Conv2D", [first], (64,), work=work)
        _, (_, begun, ended), (_, next_begun, _) = run(
            SchedulePlan(tape.ops, tape.buffers), Pool(), workers=2
        ).executions
        assert begun <= next_begun
        return next_begun < ended

    assert not apart(work=1000.0)
    assert apart(work=1e8)


def test_the_gradient_of_the_input_goes_on_first() -> None:
    """Of several readers the last in Grappler's order runs at once, the others follow in reverse."""
    tape = Tape()
    grad = tape.op("ReluGrad", [], (64,), "float32")
    for name, rank in (("BiasAddGrad", 0), ("Conv2DBackpropFilter", -1), ("Conv2DBackpropInput", 1)):
        tape.op(name, [grad], (64,), rank=rank)
    order = [name for name, _, _ in run(SchedulePlan(tape.ops, tape.buffers), Pool(), workers=1).executions]
    assert order == ["ReluGrad", "Conv2DBackpropInput", "BiasAddGrad", "Conv2DBackpropFilter"]


def test_what_nobody_reads_is_not_made() -> None:
    tape = Tape()
    first = tape.op("Conv2D", [], (1024,), "float32")
    kept = tape.op("Relu", [first])
    tape.op("Tanh", [tape.op("Exp", [kept])])
    variable = tape.source("w", (), "float32", Kind.PARAMETER)
    tape.consume("AssignSubVariableOp", [variable, tape.op("Sum", [kept], ())], updates=variable)
    tape.prune([kept])
    assert [op.op for op in tape.ops if op.writes or op.reads] == [
        "Conv2D",
        "Relu",
        "Sum",
        "AssignSubVariableOp",
    ]


@given(
    st.sampled_from(NAMES),
    st.integers(1, 9),
    st.sampled_from(["sgd", "momentum", "adam", "rmsprop"]),
    st.integers(1, 5),
)
@settings(max_examples=40, deadline=None)
@pytest.mark.whole
def test_the_books_balance(name: str, batch: int, optimizer: str, workers: int) -> None:
    """Chunks at the peak add up to it, nothing is lost, and weights and slots stand before the step as after
    it.
    """
    found = predict(
        network_of(small("2.21")[name]["json"], name), StepSettings(batch, optimizer, workers=workers)
    )
    timeline = found.timeline
    assert timeline.peak_bytes >= timeline.baseline_bytes > 0
    alive = sum(timeline.table.size_bytes[row] for row in timeline.alive_after(timeline.peak_index))
    assert alive + timeline.baseline_bytes == timeline.peak_bytes
    assert timeline.standing.total_bytes == timeline.baseline_bytes
    assert all(
        size >= (asked or 0)
        for size, asked in zip(timeline.table.size_bytes, timeline.table.requested_bytes, strict=True)
    )
    assert all(
        end is None or end >= (start or 0)
        for start, end in zip(timeline.table.start_micros, timeline.table.end_micros, strict=True)
    )


@given(st.sampled_from(["lenet", "transformer", "nested", "ones", "norms"]), st.integers(1, 6))
@settings(max_examples=20, deadline=None)
def test_a_much_larger_batch_needs_more(name: str, batch: int) -> None:
    network = network_of(small("2.21")[name]["json"], name)
    few, many = (
        predict(network, StepSettings(size, "sgd", training=False)).timeline.peak_bytes
        for size in (batch, 8 * batch)
    )
    assert many > few


def test_training_needs_more_than_inference_and_adam_more_than_sgd() -> None:
    network = network_of(small("2.21")["lenet"]["json"], "lenet")
    inference = predict(network, StepSettings(64, training=False)).timeline.peak_bytes
    sgd, adam = (predict(network, StepSettings(64, name)).timeline.peak_bytes for name in ("sgd", "adam"))
    assert inference < sgd < adam


def test_labels_of_a_vocabulary_are_numbers() -> None:
    """Logits of 32,000 words are no regression: labels of their shape would double what the loss needs."""
    document = {
        "class_name": "Sequential",
        "config": {
            "name": "lm",
            "layers": [
                {
                    "class_name": "Dense",
                    "config": {"name": "logits", "units": 32000, "batch_input_shape": [None, 16, 8]},
                }
            ],
        },
    }
    found = predict(network_of(document, "lm"), StepSettings(4, "sgd"))
    assert [value.dtype for value in found.step.inputs] == ["float32", "int32"]


def test_a_compiled_loss_decides() -> None:
    document = small("2.21")["lenet"]["json"]
    for loss, dtype in (("sparse_categorical_crossentropy", "int32"), ("mse", "float32")):
        network = network_of({**document, "compile_config": {"optimizer": "sgd", "loss": loss}}, "lenet")
        assert predict(network, StepSettings(4)).step.inputs[-1].dtype == dtype


@pytest.mark.parametrize("workers", [1, 2])
def test_pasts_decide_only_where_one_op_runs_at_a_time(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    middle = prediction._in_the_middle
    monkeypatch.setattr(prediction, "_in_the_middle", lambda steps: asked.append(len(steps)) or middle(steps))
    network = network_of(small("2.21")["lenet"]["json"], "lenet")
    found = predict(network, StepSettings(batch=8, optimizer="adam", workers=workers))
    assert asked == [15 + 9 * 3 if workers == 1 else 15]
    assert found.low_bytes <= found.timeline.peak_bytes <= found.high_bytes


def test_the_step_in_the_middle_is_the_likely_one() -> None:
    def step(peak: int) -> tuple[dict[int, int], ScheduledRun]:
        tape, pool = Tape(), Pool()
        tape.op("Conv2D", [], (peak,), "uint8")
        return {}, run(SchedulePlan(tape.ops, tape.buffers), pool)

    steps = [step(peak) for peak in (2048, 512, 1024)]
    assert prediction._in_the_middle(steps)[1].peak_bytes == 1024
