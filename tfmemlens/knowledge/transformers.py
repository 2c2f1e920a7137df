"""Sizes of transformers that are trained everywhere: numbers in, bytes out."""

from __future__ import annotations

WIDTHS = (768, 1024)
"""Of the base and the large models of BERT, RoBERTa, GPT-2 and their kin."""
VOCABULARIES = (30522, 28996, 21128, 119547, 105879, 31102, 31923, 30000, 32000, 50257, 50265, 250002)
"""Words of their tables: BERT uncased, cased, Chinese, multilingual, two of science, German, ALBERT, XLNet,
GPT-2, RoBERTa, XLM-R.
"""
_FLOAT_BYTES = 4


def feed_forward_bytes(width: int) -> int:
    """One of the two matrices between a layer's width and four times as much, in float32."""
    return _FLOAT_BYTES * width * 4 * width
