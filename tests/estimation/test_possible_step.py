"""A step that there cannot be is refused, whoever is asked for it, before anything is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.models import FOLDER
from tfmemlens import pipeline
from tfmemlens.errors import UsageError
from tfmemlens.estimation.possible_step import check_is_possible
from tfmemlens.model.capture import Hints
from tfmemlens.model.settings import DEVICES, DTYPES, StepSettings
from tfmemlens.use_cases import estimate
from tfmemlens.use_cases.fit import fit_report


@pytest.mark.parametrize("name", ["batch", "threads", "workers", "sequence"])
def test_counts_start_at_one(name: str) -> None:
    least: Any = {name: 1}
    check_is_possible(StepSettings(**least))
    none: Any = {name: 0}
    with pytest.raises(UsageError, match="0"):
        check_is_possible(StepSettings(**none))


def test_the_arrays_hold_a_batch() -> None:
    check_is_possible(StepSettings(8, samples=8))
    with pytest.raises(UsageError, match="arrays of 7 samples hold no batch of 8"):
        check_is_possible(StepSettings(8, samples=7))


def test_what_keras_has() -> None:
    for dtype in DTYPES:
        check_is_possible(StepSettings(dtype=dtype))
    for device in DEVICES:
        check_is_possible(StepSettings(device=device))
    with pytest.raises(UsageError, match="int8 is no policy"):
        check_is_possible(StepSettings(dtype="int8"))
    with pytest.raises(UsageError, match="abacus is not known"):
        check_is_possible(StepSettings(device="abacus"))


@pytest.mark.parametrize(
    "asked",
    [
        estimate.estimate,
        estimate.estimate_file,
        estimate.estimate_graph,
        estimate.estimate_live,
        estimate.estimate_with_tensorflow,
        lambda model, settings: fit_report([model], settings=settings),
    ],
)
def test_everybody_refuses_it_first(asked: Callable[[str, StepSettings], object]) -> None:
    with pytest.raises(UsageError, match="0 threads run nothing"):
        asked("no-such-file.keras", StepSettings(workers=0))


def test_so_does_an_explanation() -> None:
    with pytest.raises(UsageError, match="a batch of -1 is no batch"):
        pipeline.explain(str(FOLDER / "files-2.21" / "small.keras"), Hints(batch=-1))
