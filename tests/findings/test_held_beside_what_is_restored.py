"""A fresh state that is still held while steps run with the one of a checkpoint."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

MESSAGE = (
    "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 5368709120 bytes."
)
MADE = "state = create_train_state(jax.random.key(0), model, tx)\n"
READ = "restored = ckptr.restore(path, state)\n"
STEPS = (
    "for batch in loader:\n    restored, metrics = train_step(restored, batch)\n"
    "    loss = jax.device_get(metrics['loss'])\n"
)
TRACE = (
    'Traceback (most recent call last):\n  File "train.py", line 88, in main\n'
    "    loss = jax.device_get(metrics['loss'])\n"
)


def verdict(code: str) -> str:
    text = f"It fails after a restore:\n\n```python\nimport jax\n{code}```\n\n{TRACE}{MESSAGE}\n"
    return pipeline.explain(text).verdict


@pytest.mark.parametrize(
    "code",
    [
        MADE + READ + STEPS,
        MADE
        + "shapes = jax.tree.map(to_shape_dtype_struct, state)\n"
        + READ.replace("state", "shapes")
        + STEPS,
        MADE + READ + STEPS + "    logits = state.apply_fn(restored.params, x)\n",
    ],
)
def test_the_fresh_state_is_named(code: str) -> None:
    said = verdict(code)
    assert "`state` (line 5), which was made before the checkpoint was read, is still held" in said


@pytest.mark.parametrize(
    "code",
    [
        MADE + READ + "del state\n" + STEPS,
        MADE + READ.replace("restored", "state") + STEPS.replace("restored", "state"),
        MADE.replace("create_train_state(", "jax.eval_shape(create_train_state, ") + READ + STEPS,
        MADE + "teacher = load_checkpoint(path)\n" + STEPS.replace("restored", "state"),
        "def fresh():\n    " + MADE + "    return state\n" + READ.replace("state", "shapes") + STEPS,
        MADE + READ + "state = state.replace(params=restored)\n" + STEPS.replace("restored", "state"),
    ],
)
def test_nothing_is_held_beside(code: str) -> None:
    assert "is still held beside" not in verdict(code)
