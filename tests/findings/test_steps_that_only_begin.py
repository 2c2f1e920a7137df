"""Steps that set weights, and first steps: what a trace and a free block of them do not tell."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline
from tfmemlens.findings import parameters_dominate
from tfmemlens.findings.support import batch_bound
from tfmemlens.findings.support.code_outputs import code_outputs
from tfmemlens.model.attribution import Kind
from tfmemlens.model.live_model import LiveModel
from tfmemlens.use_cases import run
from tfmemlens.values import replace

TAPED = "with tf.GradientTape() as tape:\n    y = f(x)\ng = tape.gradient(y, w)\n"
TOWER = """\
layer = tf.keras.layers.Embedding(900, 96, name="songs")
heard = tf.keras.Input((12,), dtype="int32")
model = tf.keras.Model(heard, tf.keras.layers.Dense(96, name="taste")(layer(heard)[:, 0]))
"""


def counted(*kinds: tuple[Kind, int]) -> Any:
    groups = [SimpleNamespace(name=kind, total_bytes=size) for kind, size in kinds]
    return SimpleNamespace(is_counted=True, counted=SimpleNamespace(by=lambda _: groups))


@pytest.mark.parametrize(
    ("moment", "code", "first"),
    [
        (counted((Kind.ACTIVATION, 9), (Kind.PARAMETER, 1)), TAPED, True),
        (counted((Kind.ACTIVATION, 9), (Kind.OPTIMIZER_SLOT, 1)), TAPED, False),
        (counted((Kind.ACTIVATION, 9)), "y = f(x)\n", False),
        (SimpleNamespace(is_counted=False, counted=None), TAPED, False),
    ],
)
def test_without_slots_a_tape_keeps_the_first_forward_pass(moment: Any, code: str, first: bool) -> None:
    case = pipeline.explain(code + oom("64,64")).case
    assert batch_bound._is_in_its_first_step(case, moment) is first


@pytest.mark.parametrize(("before", "nothing"), [(990, True), (600, False)])
def test_a_step_that_adds_nothing_is_none_of_training(
    before: int, nothing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parameters_dominate, "held", lambda _: 1000)
    moment: Any = SimpleNamespace(timeline=SimpleNamespace(baseline_bytes=before))
    assert parameters_dominate._computes_nothing(moment) is nothing
    assert not parameters_dominate._computes_nothing(SimpleNamespace(timeline=None))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("batch", "rows", "told"), [(64, 64, True), (64, 64 * 513, False), (None, 64 * 513, True)]
)
def test_rows_of_a_lookup_are_no_batch(batch: int | None, rows: int, told: bool) -> None:
    case = pipeline.explain(TOWER + oom(f"{rows},96")).case
    case = replace(case, capture=replace(case.capture, live_model=LiveModel((), (), failed_batch=batch)))
    assert bool(code_outputs(case, (rows, 96))) is told


@pytest.mark.parametrize(
    ("oldest", "newest", "named"),
    [((1, 10), (1, 10), "TensorFlow 1.10"), ((1, 4), (1, 15), "TensorFlow 1")],
)
def test_a_crash_is_told_with_the_release_that_ran(
    oldest: tuple[int, int], newest: tuple[int, int], named: str
) -> None:
    api = SimpleNamespace(oldest=oldest, newest=newest)
    report: Any = SimpleNamespace(case=SimpleNamespace(api=api))
    assert run._named_release(report) == named
    assert f"ops of {named} may crash" in run._CRASHED.format(run._named_release(report))
