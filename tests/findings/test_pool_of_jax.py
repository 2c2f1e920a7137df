"""JAX's pool and its settings in posts: held is not grown, and a setting may be wrong."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

PRE, PART = "XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_MEM_FRACTION"
HEAD = "# Not releasing GPU memory\n\nJAX is allocating **90%** of my **GPU** and not releasing memory.\n"
ABOVE = f"```python\nimport os\nos.environ['{PRE}'] = 'false'\n\nimport jax\nx = jax.numpy.ones(3) + 1\n```\n"
BELOW = f"```python\nimport os\nimport jax\nos.environ['{PRE}'] = 'false'\nx = jax.numpy.ones(3) + 1\n```\n"


def explained(text: str) -> Report:
    return pipeline.explain(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f"I tried `{PRE}=false` and `{PART}=10`, but nothing is working.\n",
            "between 0 and 1 (0.1 for 10 %)",
        ),
        (f"`{PRE}=false` has no effect.\n{BELOW}", "sets it after an import of jax"),
        (f"Even `!export {PRE}=false` is ignored.\n", "sets it for a shell of its own"),
    ],
)
def test_what_is_wrong_about_a_setting_is_told(text: str, said: str) -> None:
    report = explained(HEAD + text)
    assert "reserves 75 % of a GPU" in report.verdict and said in report.verdict
    assert "grows" not in report.verdict
    assert report.actions[0].remedy.slug == "set-before-import"


@pytest.mark.parametrize(
    ("says", "told"),
    [
        ("Can I tell jax not to fill all of the GPU memory on import?", True),
        ("jax takes 90 % of the GPU memory.", True),
        ("How do I clear it? Notice that JAX will preallocate memory at its start.", True),
        ("Can I tell TensorFlow not to take all of the GPU memory?", False),
        ("My jax program crashes: out of memory. It takes all of the GPU memory.", False),
        ("jax takes 2 GB of the GPU memory.", False),
    ],
)
def test_a_gpu_that_is_taken_whole_is_the_pool(says: str, told: bool) -> None:
    assert (
        "JAX's pool (line 3), and no failure is told" in explained(f"# Question\n\n{says}\n").verdict
    ) is told


@pytest.mark.parametrize("part", [".10", "0.5", "1.0"])
def test_a_part_is_no_wrong_value(part: str) -> None:
    report = explained(f"{HEAD}I tried `{PART}={part}`, but nothing is working.\n")
    assert "has to be" not in report.verdict


def test_more_than_all_is_meant_with_unified_memory() -> None:
    report = explained(f"{HEAD}I tried `TF_FORCE_UNIFIED_MEMORY=1` and `{PART}=4`, nothing is working.\n")
    assert "has to be" not in report.verdict


def test_what_is_set_above_the_import_is_not_advised_again() -> None:
    report = explained(f"# {PRE}=false is not honored anymore\n\n{ABOVE}")
    assert [each.remedy.slug for each in report.actions] == ["see-real-use", "newer-release"]


def test_a_failure_that_comes_before_is_none_of_the_pool() -> None:
    report = explained(
        f"# jax runs out of memory\n\nIt crashes: GPU out of memory. `{PRE}=false` has no effect.\n"
    )
    assert "JAX's pool" not in report.verdict


@pytest.mark.parametrize(
    ("sentence", "grows"),
    [
        ("We see a significant increase in GPU memory during training in Flax compared to PyTorch.", False),
        ("GPU memory increases with each step, compared to PyTorch, where it is flat.", True),
        ("There is an increase in GPU memory during training in Flax.", True),
    ],
)
def test_more_than_another_framework_is_no_growth(sentence: str, grows: bool) -> None:
    assert ("grows" in explained(f"# Memory of Flax\n\n{sentence}\n").verdict) is grows


@pytest.mark.parametrize(
    ("part", "fails", "ceiling"),
    [
        (".10", "With it I get OOM errors of the GPU while the rest is free.", True),
        (".90", "With it I get OOM errors of the GPU while the rest is free.", False),
        (".10", "With it the program runs.", False),
    ],
)
def test_a_small_part_is_a_ceiling(part: str, fails: str, ceiling: bool) -> None:
    report = explained(f"{HEAD}I set `{PART}={part}`.\n\n{fails}\n")
    assert ("which is a ceiling" in report.verdict) is ceiling
    assert (report.actions[0].remedy.slug == "raise-own-limit") is ceiling
    assert ("no failure is told" in report.verdict) is (fails == "With it the program runs.")
