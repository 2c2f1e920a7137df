"""Sizes of vocabularies in wide use, such as BERT's and GPT-2's: so wide a product needs no telling name."""

from __future__ import annotations

PRETRAINED = {
    50257: "GPT-2",
    50265: "RoBERTa and BART",
    30522: "BERT",
    28996: "BERT, cased",
    21128: "Chinese BERT",
    119547: "multilingual BERT",
    250002: "XLM-R",
}
"""Whose they are: sizes that a pretrained model brings, and who trains it further cannot choose."""
VOCABULARIES = frozenset(
    (
        *PRETRAINED,
        30000,
        31102,
        32000,
        32100,
        32128,
        49152,
        49408,
        50304,
        50432,
        51200,
        64000,
        100277,
        105879,
        128256,
        151643,
        151936,
        129280,
        152064,
        201088,
        250112,
        256000,
        256128,
        256206,
        257152,
        262144,
    )
)
