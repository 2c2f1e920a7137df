"""Models that a program counted itself when it failed."""

from __future__ import annotations

import pytest

from tests.findings.test_rules_alone import MIB
from tests.findings.test_support import asked, case, held
from tfmemlens.findings import models_kept, stale_graphs
from tfmemlens.model.attribution import Kind
from tfmemlens.model.finding import Basis, Finding, Severity
from tfmemlens.model.incident import Frame
from tfmemlens.model.line import Line
from tfmemlens.model.live_model import LiveModel, LiveVariable
from tfmemlens.model.tensor import TensorType
from tfmemlens.values import replace

WEIGHT = LiveVariable("history/kernel", "history", Kind.PARAMETER, TensorType((512, 512), "float32"))
SLOT = replace(WEIGHT, name="Adam/m/history/kernel", kind=Kind.OPTIMIZER_SLOT)
SMALL = replace(WEIGHT, name="leaves/kernel", tensor=TensorType((512, 1), "float32"))


def told(*variables: LiveVariable) -> list[Finding]:
    known = case(held(request=asked()))
    capture = replace(
        known.capture,
        live_model=LiveModel((), (), variables),
        source=replace(known.capture.source, framework="tensorflow"),
    )
    return list(models_kept.check(replace(known, capture=capture)))


@pytest.mark.parametrize(
    "variables, count",
    [
        ((WEIGHT, SLOT) * 3, 3),
        ((WEIGHT, SLOT) * 2, None),
        ((WEIGHT, replace(WEIGHT, name="other/kernel"), replace(WEIGHT, name="third/kernel")), None),
        ((WEIGHT, SMALL, SMALL, SMALL), None),  # small layers of one name are parts of one model
        ((SLOT,) * 5, None),
        ((), None),
    ],
)
def test_models_that_are_alive_at_once(variables: tuple[LiveVariable, ...], count: int | None) -> None:
    found = told(*variables)
    assert len(found) == (count is not None)
    for each in found:
        assert each.because == "3 models with the same layers are alive at once, 6.00 MiB with their slots"
        assert (each.explains, each.basis, each.severity) == (6 * MIB, Basis.MEASURED, Severity.CAUSE)
        assert [remedy.slug for remedy in each.remedies] == ["drop-models", "own-process"]


@pytest.mark.parametrize("alike", [2, 3])
def test_models_of_other_names_count_by_their_layers(alike: int) -> None:
    """Keras 2 numbers the layers of each: `dense_73`."""
    other = replace(WEIGHT, name="history_1/kernel")
    known = case(held(request=asked()))
    source = replace(known.capture.source, framework="tensorflow")
    live = LiveModel((), (), (WEIGHT, other, other), alike=alike)
    found = [
        *models_kept.check(replace(known, capture=replace(known.capture, live_model=live, source=source)))
    ]
    assert [each.because for each in found] == [
        "3 models with the same layers are alive at once, 3.00 MiB with their slots"
    ] * (alike == 3)


@pytest.mark.parametrize(
    ("names", "fires"),
    [(("sequential", "net"), False), (("net", "sequential"), False), (("sequential_6",), True), ((), True)],
)
def test_a_further_call_of_a_model_is_no_further_model(names: tuple[str, ...], fires: bool) -> None:
    """Keras 3 numbers the calls: `sequential_6/c1/Conv2D` of a program that has one model of the name."""
    known = case(held(request=asked(node="sequential_6/c1/Conv2D")))
    live = LiveModel(names[:1], tuple((f"gan/{name}", "Sequential") for name in names[1:]))
    found = [*stale_graphs.check(replace(known, capture=replace(known.capture, live_model=live)))]
    assert bool(found) is fires


IN_A_LOOP = Line(90, "10-fold cross validation failed")


def in_words(*variables: LiveVariable, frame: str = "/x/train.py:3") -> list[Finding]:
    known = case(
        held(request=asked(frames=(Frame(frame, "run()"),))), purposes=(("models in a loop", IN_A_LOOP),)
    )
    capture = replace(
        known.capture,
        live_model=LiveModel((), (), variables) if variables else None,
        source=replace(known.capture.source, framework="tensorflow"),
    )
    return list(models_kept.check(replace(known, capture=capture)))


def test_words_about_folds_tell_of_models_that_are_kept() -> None:
    assert "one after another in one process" in in_words()[0].headline


def test_a_program_that_counted_one_model_keeps_no_others() -> None:
    assert not in_words(WEIGHT, SLOT)
    assert in_words(SLOT)  # it counted no weights


@pytest.mark.parametrize(
    "place", ["/usr/lib/python3.11/multiprocessing/process.py:99", "/usr/lib/concurrent/futures/process.py:9"]
)
def test_a_process_of_its_own_holds_no_model_of_another(place: str) -> None:
    assert not in_words(frame=place)
