"""Sizes of vocabularies in wide use, such as BERT's and GPT-2's: so wide a product needs no telling name."""

from __future__ import annotations

VOCABULARIES = frozenset(
    (
        21128,
        28996,
        30000,
        30522,
        31102,
        32000,
        32100,
        32128,
        49152,
        49408,
        50257,
        50265,
        50304,
        50432,
        51200,
        64000,
        100277,
        105879,
        119547,
        128256,
        151643,
        151936,
        152064,
        250002,
        250112,
        256000,
        256206,
        262144,
    )
)
