"""A scan under a gradient: its carries stay where each turn alone is computed again, so blocks come first."""

from __future__ import annotations

from tfmemlens.findings.support.jax_code import mapped
from tfmemlens.findings.support.jax_code.mapped import JaxIdiom


def test_blocks_of_turns_come_before_a_checkpoint_round_the_body() -> None:
    idioms = [each for group in vars(mapped).values() if isinstance(group, tuple) for each in group]
    (scan,) = [each for each in idioms if isinstance(each, JaxIdiom) and each.slug == "scan"]
    first, *_, last = scan.remedies
    assert first.slug == "in-blocks" and "jax.checkpoint(lambda c, b" in (first.code or "")
    assert last.slug == "recompute" and "carry is small" in last.text
