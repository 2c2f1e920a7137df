"""A run that trains adapters alone has no large optimizer's state to make smaller."""

from __future__ import annotations

import pytest

from tests.findings.pages import offered

_FAILED = (
    '  File "/home/me/tune.py", line 90, in init_train_state\n    train_state = jax.jit(\n'
    "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 900000000 bytes.\n"
)


@pytest.mark.parametrize(
    ("title", "lighter"),
    [
        ("# LoRA fine-tuning runs out of memory", False),
        ("# I train my model with LoRA and it is out of memory", False),
        ("# I train my model and it is out of memory", True),
        ("# I train my model without LoRA and it is out of memory", True),
        ("# Full fine-tuning is out of memory; is it smaller than LoRA?", True),
    ],
)
def test_no_lighter_optimizer_where_adapters_alone_are_trained(title: str, lighter: bool) -> None:
    assert ("smaller-moments" in offered(f"{title}\n\n{_FAILED}")) is lighter
