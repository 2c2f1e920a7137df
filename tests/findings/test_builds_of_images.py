"""A command of an image's build that was killed: nothing trains there."""

from __future__ import annotations

import pytest

from tests.findings.test_texts_of_strangers import explained

BAR = "100%|##########| 812/812 [00:03<00:00, 250.15it/s]\n"
SOLVE = (
    'ERROR: failed to solve: process "/bin/sh -c make_tables" did not complete successfully: exit code: 137\n'
)
OLD = "The command '/bin/sh -c pip install jax' returned a non-zero code: 137\n"


@pytest.mark.parametrize("head", [" > [4/9] RUN make_tables:\n", OLD, ""])
def test_a_killed_build_needs_ram_and_no_smaller_pipeline(head: str) -> None:
    report = explained(head + BAR + "9.1 Killed\n" + SOLVE + "I use JAX.")
    slugs = [action.remedy.slug for action in report.actions]
    assert slugs == ["ram-for-the-build", "read-the-kernel-log"]
    assert not report.case.capture.surroundings.progress


def test_on_wsl_the_ram_is_that_of_wsl() -> None:
    report = explained("I am on WSL2.\n" + SOLVE + "Killed\n")
    assert ".wslconfig" in report.actions[0].remedy.text


def test_a_program_in_a_container_is_no_build() -> None:
    report = explained("docker run image python train.py\n" + BAR + "Killed\nexit code: 137\nimport jax\n")
    assert "ram-for-the-build" not in [action.remedy.slug for action in report.actions]
    assert report.case.capture.surroundings.progress
