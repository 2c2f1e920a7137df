"""What lines of TensorFlow programs mean: one table, read by one rule."""

from __future__ import annotations

from tfmemlens.findings.support.tf_code import data, features, loops, pairs, weights
from tfmemlens.findings.support.tf_code.idiom import Agreement, CodeChange, Of, TensorFlowIdiom

__all__ = ["TABLE", "Agreement", "CodeChange", "Of", "TensorFlowIdiom"]

TABLE: tuple[TensorFlowIdiom, ...] = (*features.ROWS, *data.ROWS, *pairs.ROWS, *loops.ROWS, *weights.ROWS)
"""Every idiom, the most particular of a kind first."""
