"""Turns of PyTorch/XLA that become one program, and averages of weights outside of jit."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

OUTPUTS = (
    "import torch_xla.core.xla_model as xm\nouts = []\nwith torch.no_grad():\n    for img in images:\n"
    "        outs.append(model(img.to(dev)))\nfeats = torch.cat(outs).cpu()\n\nRuntimeError: Bad StatusOr"
    " access: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 16106127360 bytes.\n"
)


def test_turns_without_an_end_are_one_program() -> None:
    report = pipeline.explain(OUTPUTS)
    assert "the loop that keeps its results in `outs`" in report.verdict
    assert report.actions[0].remedy.slug == "mark-step"


@pytest.mark.parametrize(
    "text",
    [
        OUTPUTS.replace("(dev)))", "(dev)).cpu())"),
        OUTPUTS.replace("(dev)))\n", "(dev)))\n        xm.mark_step()\n"),
        OUTPUTS.replace("torch.no_grad()", "open(path) as file"),
    ],
)
def test_turns_that_end(text: str) -> None:
    assert "the loop that keeps its results" not in pipeline.explain(text).verdict


def averaged(line: str) -> Report:
    return pipeline.explain(
        f'import jax\n\nTraceback (most recent call last):\n  File "train.py", line 71, in main\n    {line}\n'
        "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1258291200 bytes.\n"
    )


@pytest.mark.parametrize(
    ("line", "fires"),
    [
        ("ema = jax.tree.map(lambda e, p: e * 0.999 + p * 0.001, ema, state.params)", True),
        ("ema = jax.tree_util.tree_map(lambda a, b: d * a + (1 - d) * b, ema, params)", True),
        ("half = jax.tree.map(lambda p: p * 0.5, params)", False),
        ("both = jax.tree.map(lambda a, b: (a, b), one, other)", False),
    ],
)
def test_an_average_outside_of_jit(line: str, fires: bool) -> None:
    assert ("makes a whole new tree" in averaged(line).verdict) is fires
