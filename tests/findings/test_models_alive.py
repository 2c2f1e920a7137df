"""Models that a program counted itself when it failed."""

from __future__ import annotations

import pytest

from tests.findings.test_rules_alone import MIB
from tests.findings.test_support import asked, case, held
from tfmemlens.findings import models_kept
from tfmemlens.model.attribution import Kind
from tfmemlens.model.finding import Basis, Finding, Severity
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
