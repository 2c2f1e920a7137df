"""Memory that runs out while a strategy is made, before any model is."""

from __future__ import annotations

import pytest

from tests.findings.test_texts_of_strangers import explained

MAKES = "the making of the strategy itself"


@pytest.mark.parametrize(
    ("said", "slugs"),
    [
        (
            "RAM runs out, and this occurs during creation of the MultiWorkerMirroredStrategy.",
            ["compare-the-cluster", "find-the-call"],
        ),
        ("It is out of memory when I create a tf.distribute.MirroredStrategy.", ["find-the-call"]),
    ],
)
def test_while_a_strategy_is_made_no_batch_is_to_blame(said: str, slugs: list[str]) -> None:
    report = explained(said)
    assert MAKES in report.verdict and "uneven batch" not in report.verdict
    assert [action.remedy.slug for action in report.actions][: len(slugs)] == slugs


@pytest.mark.parametrize(
    "said",
    [
        "I create a MirroredStrategy first. Then model.fit runs out of memory while training.",
        "While training under a MirroredStrategy the GPUs run out of memory.",
        "It is out of memory when I create the MirroredStrategy and train the model in its scope.",
    ],
)
def test_a_strategy_that_trains_is_made_already(said: str) -> None:
    assert MAKES not in explained(said).verdict


def test_what_goes_well_in_the_same_run_is_no_other_way_to_run_it() -> None:
    said = "One rank runs out of memory.\n\nThe other workers are fine and wait."
    assert "compares" not in explained(said).verdict and "which works" not in explained(said).verdict
