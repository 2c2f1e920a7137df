"""Threads, caches, oneDNN and XLA: asked for, in the file, or this machine's, and said on the page."""

from __future__ import annotations

from typing import Any

import pytest

from tests.models import document
from tfmemlens import pipeline
from tfmemlens.api import Explanation
from tfmemlens.errors import Unpredictable
from tfmemlens.estimation import conditions
from tfmemlens.estimation.keras_step.capture import capture
from tfmemlens.estimation.keras_step.tape import Tape
from tfmemlens.knowledge.convolution.col_buffer import UnrolledConvolution
from tfmemlens.model.attribution import Kind
from tfmemlens.model.capture import Capture
from tfmemlens.model.network import Network
from tfmemlens.model.settings import StepSettings
from tfmemlens.readers.keras_models._documents import network_of
from tfmemlens.values import replace

MACHINE = "4 threads (this machine), L3 cache 32.00 MiB (this machine)"
OPEN = "oneDNN left open (the error bar holds both)"


def _lenet() -> Network:
    return network_of(document("lenet"), "lenet")


def _bar(told: Capture) -> tuple[float, float, int]:
    [timeline] = told.timelines
    assert timeline.error_share is not None
    below = timeline.lower_error_share or timeline.error_share
    peak = timeline.peak_bytes
    return peak * (1 - below), peak * (1 + timeline.error_share), peak


@pytest.mark.parametrize(
    ("asked", "compiled", "line"),
    [
        ({}, None, f"{MACHINE}, {OPEN}, XLA off (Keras's default on a CPU)"),
        (
            {"workers": 1, "l3_bytes": 8 << 20, "onednn": False, "jit": False},
            True,
            "1 thread (--threads), L3 cache 8.00 MiB (--l3), oneDNN off (--no-onednn), XLA off (--no-jit)",
        ),
        ({"onednn": True}, False, f"{MACHINE}, oneDNN on (--onednn), XLA off (jit_compile of the file)"),
        ({"jit": True}, False, f"{MACHINE}, {OPEN}, XLA on (--jit)"),
    ],
)
def test_the_page_says_what_was_taken_and_from_where(
    asked: dict[str, Any], compiled: bool | None, line: str
) -> None:
    assert conditions.settled(StepSettings(**asked), compiled).line == f"taken: {line}"


def test_tensorflows_switch_decides_for_onednn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "this_machine", lambda: conditions.Machine(2, None, False))
    taken = conditions.settled(StepSettings())
    assert taken.settings.onednn is False
    assert "oneDNN off (TF_ENABLE_ONEDNN_OPTS)" in taken.line
    assert "L3 cache unknown" in taken.line


@pytest.mark.parametrize(
    ("version", "onednn"), [("1.15.5", False), ("2.8", False), ("2.9", None), (None, None), ("?", None)]
)
def test_old_tensorflows_have_no_onednn_by_default(version: str | None, onednn: bool | None) -> None:
    taken = conditions.settled(StepSettings(), version=version)
    assert taken.settings.onednn is onednn
    assert (f"oneDNN off (TensorFlow {version})" in taken.line) is (onednn is False)


@pytest.mark.parametrize(("switch", "onednn"), [("0", False), ("1", True), (None, None)])
def test_the_environment_is_read(switch: str | None, onednn: bool | None) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TF_ENABLE_ONEDNN_OPTS", raising=False)
        if switch is not None:
            patch.setenv("TF_ENABLE_ONEDNN_OPTS", switch)
        assert _REAL_MACHINE().onednn is onednn
        assert _REAL_MACHINE().threads >= 1


_REAL_MACHINE = conditions.this_machine


def test_the_bar_holds_both_kernels_where_nobody_says_which() -> None:
    left_open, off, on = (
        _bar(capture(_lenet(), StepSettings(64, "adam", onednn=each))) for each in (None, False, True)
    )
    assert on[2] < off[2] == left_open[2]
    assert left_open[0] <= on[0] * 1.01
    assert left_open[1] >= off[1]


def test_a_step_that_xla_compiles_is_refused_unless_it_is_asked_without() -> None:
    compiled = replace(_lenet(), jit_compile=True)
    with pytest.raises(Unpredictable, match="XLA compiles") as refusal:
        capture(compiled, StepSettings(2))
    assert "--no-jit" in refusal.value.hint
    assert capture(compiled, StepSettings(2, jit=False)).timelines
    with pytest.raises(Unpredictable):
        capture(_lenet(), StepSettings(2, jit=True))


@pytest.mark.parametrize(("stated", "read"), [(True, True), (False, False), ("auto", None), (None, None)])
def test_the_file_says_whether_xla_compiles_it(stated: object, read: bool | None) -> None:
    told = {**document("lenet"), "compile_config": {"optimizer": "adam", "jit_compile": stated}}
    assert network_of(told, "lenet").jit_compile is read


@pytest.mark.parametrize(("l3_bytes", "volumes"), [(4 << 10, 1), (3 << 20, 7), (4 << 20, 0)])
def test_volumes_fill_the_cache_and_none_are_unrolled_beyond_25_times_the_tensors(
    l3_bytes: int, volumes: int
) -> None:
    """512 positions x (216 of a patch + 16 filters) + 216 x 16: about 122 thousand numbers of work a
    volume.
    """
    unrolled, tape = UnrolledConvolution(512, 216, 16), Tape()
    x, kernel = (
        tape.source(name, shape, "float32", Kind.INPUT)
        for name, shape in (("x", (2, 10, 10, 10, 8)), ("kernel", (3, 3, 3, 8, 16)))
    )
    found = unrolled.volume_gradient_bytes(l3_bytes, x.shape, kernel.shape, (2, 8, 8, 8, 16))
    assert found == volumes * 512 * 216 * 4


def test_a_gpu_gets_a_range_and_is_said_to_be_unmeasured() -> None:
    for jit, below, above in ((False, 0.3, 0.3), (None, 0.6, 1.0), (True, 0.6, 1.0)):
        report = pipeline.report(capture(_lenet(), StepSettings(64, "adam", device="gpu", jit=jit)))
        [timeline] = report.case.capture.timelines
        assert (timeline.lower_error_share or 0) >= below
        assert (timeline.error_share or 0) >= above
        assert " to " in report.verdict and "on a GPU" in report.verdict
        assert any("CPU measurements cannot confirm" in note.text for note in report.case.capture.notes)
        page = str(Explanation(report.case, report.findings, report.verdict, actions=report.actions))
        assert "no GPU was measured" in " ".join(page.split())
