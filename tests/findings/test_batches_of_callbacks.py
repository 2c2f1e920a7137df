"""What a callback or the validation feeds at once, told from the program's own call."""

from __future__ import annotations

import ast

import pytest

from tests.findings.logs import CPU, oom
from tfmemlens import pipeline
from tfmemlens.findings.support.fit_call import fit_call
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement

HOOK = (
    "Traceback (most recent call last):\n"
    '  File "birds.py", line 36, in <module>\n    net.fit(x, y, batch_size=16)\n'
    '  File "birds.py", line 26, in {name}\n    seen = {call}\n'
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with"
    f" shape[900,64,64,48] and type float on {CPU} by allocator bfc_cpu_allocator_for_gpu [Op:Conv2D]\n"
)
FIT = """\
SMALL = 8
model.fit(
    x, y,
    batch_size=SMALL,
    validation_batch_size=len(x_test),
)
"""


@pytest.mark.parametrize(
    ("name", "call", "code"),
    [
        (
            "on_epoch_end",
            "self.model(held_out, training=False)",
            "self.model.predict(held_out, batch_size=16)",
        ),
        (
            "on_test_end",
            "self.model.predict(held_out, batch_size=900)",
            "self.model.predict(held_out, batch_size=16)",
        ),
    ],
)
def test_a_callback_that_feeds_more_than_the_training(name: str, call: str, code: str) -> None:
    report = pipeline.explain(HOOK.format(name=name, call=call))
    assert f"it failed in `{name}` of a callback (line 26 of birds.py)" in report.verdict
    assert "900 samples at once, in training 16" in report.verdict
    assert report.actions[0].remedy.code == code
    assert "smaller-batch" not in {each.remedy.slug for each in report.actions}


STATS = (
    "2026-11-02 10:00:00.1: I tensorflow/core/common_runtime/bfc_allocator.cc:1101] Stats: \n"
    "Limit:                       419430400\nInUse:                       {in_use}\n"
    "MaxInUse:                    {in_use}\nNumAllocs:                        2203\n"
    "MaxAllocSize:                287309824\nReserved:                            0\n"
    "PeakReserved:                        0\nLargestFreeBlock:                    0\n\n"
)


@pytest.mark.parametrize(("in_use", "batch"), [(250 << 20, 32), (295 << 20, 8)])
def test_the_trainings_batch_is_advised_where_it_is_enough(in_use: int, batch: int) -> None:
    failed = HOOK.format(name="on_epoch_end", call="self.model(x, training=False)")
    failed = failed.replace("[900,64,64,48]", "[60,192,192,32]").replace("batch_size=16", "batch_size=32")
    report = pipeline.explain(STATS.format(in_use=in_use) + failed)
    assert report.case.moments[0].balance.missing == (270 << 20) - (400 << 20) + in_use
    assert report.actions[0].remedy.code == f"self.model.predict(x, batch_size={batch})"


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("train_step", "self.model(held_out)"),
        ("on_epoch_end", "tape.gradient(y, x)"),
        ("watch", "self.model(held_out, training=True)"),
    ],
)
def test_what_is_no_evaluation_of_a_callback(name: str, call: str) -> None:
    assert "of a callback" not in pipeline.explain(HOOK.format(name=name, call=call)).verdict


def surroundings(code: str, running: frozenset[int] | None) -> Surroundings:
    lines = tuple(Line(number, text, "net.py") for number, text in enumerate(code.splitlines(), 1))
    made = tuple(Statement(node, lines, running=running) for node in ast.parse(code).body)
    return Surroundings(program=lambda: Program(made))


def test_the_call_of_fit_states_its_batches() -> None:
    fit = fit_call(surroundings(FIT, frozenset({2})))
    assert fit and fit.batch == 8 and fit.validation == "validation_batch_size=len(x_test)"
    assert fit.validation_line and fit.validation_line.number == 5


@pytest.mark.parametrize(
    "code, running", [("x = 1\n", None), (FIT, frozenset({9})), (FIT + "net.fit(x)\n", None)]
)
def test_no_call_of_fit_is_known(code: str, running: frozenset[int] | None) -> None:
    assert fit_call(surroundings(code, running)) is None


def test_validation_without_a_program_keeps_its_words() -> None:
    text = oom("64,8,8,4", "model/conv/Conv2D").replace(
        "node model", "function_node __inference_test_function_9}}{{node model"
    )
    assert "validation_batch_size=`" not in pipeline.explain(text).verdict
