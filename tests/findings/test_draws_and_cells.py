"""The end of a sampler's bar, and a recurrent cell that PyTorch/XLA notes step by step."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

BAR = "sample: {at}%|##########| {done}/2000 [02:36<00:00, 7 steps of size 1.1e-02. acc. prob=0.85]"


def read(text: str) -> Report:
    return pipeline.explain(f"Hello,\n{text}\n")


def slugs(text: str) -> list[str]:
    return [action.remedy.slug for action in read(text).actions]


def test_a_sampler_that_has_made_all_draws_fails_for_what_it_gives_back() -> None:
    text = f"On the GPU it runs out of memory.\nimport jax\n{BAR.format(at=100, done=2000)}"
    assert "after its last draw" in read(text).verdict
    assert slugs(text)[:2] == ["fewer-draws", "return-less"]
    assert "smaller-batch" not in slugs(text)


def test_a_sampler_in_its_midst_has_not() -> None:
    text = f"On the GPU it runs out of memory.\nimport jax\n{BAR.format(at=10, done=200)}"
    assert "after its last draw" not in read(text).verdict


@pytest.mark.parametrize(
    ("told", "named"),
    [
        ("Two LSTMCell layers, and forward loops over the time steps.", True),
        ("It goes through the sequence time step by time step.", True),
        ("An nn.LSTM layer.", False),
    ],
)
def test_a_loop_over_time_steps_makes_a_large_graph(told: str, named: bool) -> None:
    text = f"import torch_xla.core.xla_model as xm\n{told}\nloss.backward()\nSIGKILL"
    assert ("a loop of Python over time steps" in read(text).verdict) is named
    assert ("roll-loops" in slugs(text)[:1]) is named
