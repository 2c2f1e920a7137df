"""A loop over time under one tape: what its turns made is counted where a dump shows many equal blocks."""

from __future__ import annotations

import pytest

from tests.findings.logs import dump_by_size
from tfmemlens import pipeline
from tfmemlens.model.finding import Finding

KIB, MIB = 1 << 10, 1 << 20
CODE = """
with tf.GradientTape() as tape:
    for t in range({turns}):
        logits, state = model(x[:, t], state)
        total += loss(y[:, t], logits)
grads = tape.gradient(total, model.trainable_variables)
"""
TURNS = ((5000, 48 * KIB), (700, 225 * KIB), (3, 8 * MIB))


def finding(*sizes: tuple[int, int], turns: str = "steps", allocator: str = "GPU_0_bfc") -> Finding | None:
    text = CODE.format(turns=turns) + dump_by_size(225 * KIB, 420, *sizes, allocator=allocator)
    found = [each for each in pipeline.explain(text).findings if each.rule == "loop-under-a-tape"]
    return found[0] if found else None


def test_equal_blocks_are_what_the_turns_made() -> None:
    found = finding(*TURNS)
    assert found and found.explains == 5000 * 48 * KIB + 700 * 225 * KIB
    assert "(5,000 blocks of 48.0 KiB and 700 blocks of 225.0 KiB are held)" in found.headline
    assert "each of the iterations of the loop" in found.headline


@pytest.mark.parametrize(
    "sizes",
    [
        ((40, 9 * MIB), (49, MIB)),  # fewer than turns would leave
        ((60, MIB), (7, 50 * MIB)),  # little of what is in use
    ],
)
def test_few_blocks_count_for_nothing(sizes: tuple[tuple[int, int], ...]) -> None:
    found = finding(*sizes, turns="90")
    assert found and found.explains is None and "blocks" not in found.headline
    assert "each of the 90 iterations" in found.headline
