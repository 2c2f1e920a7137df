"""An optimizer of PyTorch/XLA that makes its state on a device that is nearly full."""

from __future__ import annotations

from tfmemlens import pipeline
from tfmemlens.model.report import Report

MESSAGE = (
    "RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to"
    " allocate 1.50G. That was not possible. There are 812.34M free.; (0x0x0_HBM0)\n"
)
STEP = (
    "Traceback (most recent call last):\n"
    '  File "/w/finetune.py", line 140, in train_loop\n    xm.optimizer_step(optimizer)\n'
    '  File "/p/torch_xla/core/xla_model.py", line 1064, in optimizer_step\n'
    "    loss = optimizer.step(**optimizer_args)\n"
)
SLOT = (
    '  File "/p/torch/optim/adamw.py", line 96, in _init_group\n'
    '    state["exp_avg_sq"] = torch.zeros_like(p, memory_format=torch.preserve_format)\n'
)
UPDATE = '  File "/p/torch/optim/adamw.py", line 187, in step\n    adamw(\n'


def explained(frames: str) -> Report:
    return pipeline.explain(f"import torch_xla.core.xla_model as xm\n{STEP}{frames}{MESSAGE}")


def test_the_first_step_makes_slots() -> None:
    report = explained(SLOT)
    assert "the optimizer's first step makes what it keeps of each weight" in report.verdict
    slugs = [action.remedy.slug for action in report.actions]
    assert slugs[:2] == ["shard-arguments", "less-optimizer-state"]


def test_a_later_update_makes_none() -> None:
    assert "first step makes" not in explained(UPDATE).verdict
