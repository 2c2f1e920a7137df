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


def test_a_build_that_compiles_lets_fewer_compilers_run() -> None:
    killed = "The command '/bin/sh -c bazel build -c opt //serving:server' returned a non-zero code: 137\n"
    report = explained("I build the image of TensorFlow Serving.\n" + killed)
    slugs = [action.remedy.slug for action in report.actions]
    assert slugs == ["fewer-jobs", "ram-for-the-build", "read-the-kernel-log"]
    assert report.verdict.startswith("A command of the image's build was killed from outside")


@pytest.mark.parametrize(
    ("line", "killed"),
    [
        ("    exitCode: 137", True),
        ('  "ExitCode": 137,', True),
        ('trainer  "python train.py"  2 days ago  Exited (137) 4 minutes ago', True),
        ("make: *** [Makefile:9: train] Error 137", True),
        ("    exitCode: 1", False),
        ("    exitCode: 1370", False),
        ("trainer  Exited (1) 137 minutes ago", False),
        ("make: *** [Makefile:137: train] Error 1", False),
    ],
)
def test_a_status_of_137_as_programs_write_it(line: str, killed: bool) -> None:
    report = explained(f"I train with TensorFlow.\n{line}\n")
    assert report.verdict.startswith("The process was killed from outside") is killed
