"""Whose limit of host RAM a killed process met, and what then comes first."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

MEMCG = (
    "[Fri Sep 16 10:37:38 2022] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg={group},"
    "task=python,pid=19712,uid=0\n"
)
SLURM = (
    "slurmstepd: error: Detected 1 oom_kill event in StepId=11300781.0. Some"
    " of the step tasks have been OOM Killed.\n"
)
MACHINE = (
    "[1.0] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),"
    "global_oom,task_memcg=/docker/37a2,task=python,pid=6154\n"
)
KILLED = "Killed\n"


def explained(text: str) -> Report:
    return pipeline.explain(text)


def slugs(text: str) -> list[str]:
    return [action.remedy.slug for action in explained(text).actions]


@pytest.mark.parametrize(
    ("text", "who"),
    [
        (MEMCG.format(group="/docker/37a209c3"), "the container reached its own limit"),
        (MEMCG.format(group="/user.slice/train"), "the container or job reached its own limit"),
        (SLURM, "the batch job reached its own limit"),
    ],
)
def test_a_limit_of_its_own_is_told_and_raised_first(text: str, who: str) -> None:
    assert who in explained(text).verdict
    assert slugs(text)[0] == "raise-container-limit"
    assert "container-limit" not in slugs(text)


@pytest.mark.parametrize("text", [MACHINE, KILLED])
def test_a_machine_without_ram_has_met_no_limit_of_a_container(text: str) -> None:
    assert "its own limit" not in explained(text).verdict
    assert "raise-container-limit" not in slugs(text)


def test_the_limit_that_a_job_s_script_asks_for_is_read() -> None:
    assert "whose limit is 64Gb" in explained("#SBATCH --mem=64Gb\n" + SLURM).verdict
    assert "whose limit" not in explained("# --mem=64Gb\n" + SLURM).verdict


def test_an_input_pipeline_is_blamed_where_something_trains() -> None:
    unknown = explained(KILLED).actions
    pipelines = [each.remedy.text for each in unknown if each.remedy.slug == "smaller-pipeline"]
    assert all(text.startswith("if it trains: ") for text in pipelines)
    assert slugs(KILLED)[0] != "smaller-pipeline"
    assert slugs("Epoch 1/10\n" + KILLED)[0] == "container-limit"  # nothing tells of its data
    assert "smaller-pipeline" not in slugs("Epoch 1/10\n" + KILLED)
    assert "smaller-pipeline" in slugs("dataset = dataset.shuffle(50000).batch(32)\nEpoch 1/10\n" + KILLED)


def test_draws_of_a_sampler_are_no_input_pipeline() -> None:
    told = slugs("mcmc = numpyro.infer.MCMC(kernel)\nmcmc.run(key, X)\n" + KILLED)
    assert told[0] == "fewer-draws"
    assert "smaller-pipeline" not in told


def test_wsl_has_a_limit_of_its_own() -> None:
    assert "more-ram-for-wsl" in slugs("I am on WSL2\n" + KILLED)
    assert "more-ram-for-wsl" not in slugs(KILLED)


GROWS = "the container's RAM grows steadily over 50 minutes until it's OOMKilled\n"
STEADY = "the container takes all of its RAM at once and is OOMKilled\n"


@pytest.mark.parametrize(("text", "grows"), [(GROWS, True), (STEADY, False)])
def test_what_grows_is_looked_for_before_a_limit_is_raised(text: str, grows: bool) -> None:
    assert ("a larger limit only delays the end" in explained(text).verdict) is grows
    assert (slugs(text)[0] == "find-what-grows") is grows
    assert "raise-container-limit" in slugs(text)


@pytest.mark.parametrize(("before", "maps"), [("JIT session error: ", True), ("OSError: [Errno 12] ", False)])
def test_a_compiler_without_room_for_code_has_too_many_programs(before: str, maps: bool) -> None:
    report = explained(f"import jax\n{before}Cannot allocate memory\n")
    assert ("the system's limit of memory maps" in report.verdict) is maps
    assert ("fewer-programs" in [action.remedy.slug for action in report.actions]) is maps
    assert ("check-the-device" in [action.remedy.slug for action in report.actions]) is not maps


@pytest.mark.parametrize(("epoch", "grows"), [(1, False), (2, False), (3, True), (7, True)])
def test_a_kill_after_epochs_that_went_well_speaks_for_growth(epoch: int, grows: bool) -> None:
    text = f"Epoch {epoch}/100\n 312/1250 [=>....] - loss: 0.2\nExited with code 137, OOMKilled: true\n"
    report = explained(text)
    assert (f"it ran {epoch - 1} epochs before, so something grows" in report.verdict) is grows
    assert ("find-what-grows" in [action.remedy.slug for action in report.actions]) is grows
