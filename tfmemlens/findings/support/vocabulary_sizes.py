"""A last dimension that nobody chooses as a width: most likely the words of a vocabulary, or classes."""

from __future__ import annotations

from math import prod

from tfmemlens.knowledge.vocabularies import PRETRAINED
from tfmemlens.model.case import Moment, Request
from tfmemlens.model.finding import Remedy
from tfmemlens.model.incident import BinRow
from tfmemlens.units import human_size
from tfmemlens.values import dataclass

_LONG, _ROUND, _FLOAT_BYTES = 256, 8, 4
_UNITS, _MOST_UNITS, _TIMES = 64, 8192, 8
"""Units of a layer are a multiple of 64 as a rule, and far fewer than words."""
LEAST_WORDS = 5000


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What such a dimension tells, and what helps."""

    told: str
    remedy: Remedy


def likely_vocabulary(shape: tuple[int | None, ...]) -> Vocabulary | None:
    """Of a number of classes that nobody chooses, at each position of samples or for each unit of a layer."""
    words = (shape[-1] or 0) if len(shape) in (2, 3) and all(shape) else 0
    if words < LEAST_WORDS:
        return None
    if whose := PRETRAINED.get(words):
        return _of_a_pretrained(shape, whose)
    if words % 4 == 0 or not 1 < (shape[-2] or 0) < words:
        return None
    if may_be_weight(shape):
        return _of_units(shape[0] or 1, words)
    positions = shape[-2] or 1
    is_long = len(shape) == 3 and positions > _LONG
    longer = f", and cap the length: {positions:,} is the longest sample's" if is_long else ""
    return Vocabulary(
        f"most likely a number for each of {words:,} words or classes at each of {_of_all(shape)} positions",
        Remedy(
            f"make the vocabulary smaller (subwords), or compute the loss on a sample of it{longer}",
            "loss = tf.nn.sampled_softmax_loss(w, b, labels, inputs, 64, vocabulary)   # in training",
            slug="smaller-vocabulary",
        ),
    )


def may_be_weight(shape: tuple[int | None, ...]) -> bool:
    """Whether a matrix may be an output layer's weight: units of the layer before, and far more words."""
    units, words = (shape[0] or 0, shape[1] or 0) if len(shape) == 2 else (1, 0)
    return units % _UNITS == 0 and units <= _MOST_UNITS and words >= max(LEAST_WORDS, _TIMES * units)


def _of_units(units: int, words: int) -> Vocabulary:
    return Vocabulary(
        f"most likely the weight of an output layer, its gradient or a slot ({units:,} units x {words:,}"
        f" words or classes), as large whatever the batch; or its output at {units:,} positions",
        fewer_words(words),
    )


_MANY = 100_000


def fewer_words(words: int) -> Remedy:
    """What makes an output layer's weight and output smaller."""
    found = "a vocabulary, the labels"
    if words >= _MANY:
        found = "a list of unique words or sentences taken for the alphabet, ids that are too large"
    return Remedy(
        f"make the {words:,} words or classes fewer: see where they come from ({found}), and keep the"
        " frequent ones, or take subwords or characters; the output layer's weight, its gradient, its slots"
        " and its output all shrink with them",
        slug="smaller-vocabulary",
    )


def fewer_positions(shape: tuple[int | None, ...]) -> Remedy | None:
    """Of samples and steps, either of which may come first, fewer; the rounder of them counts the samples."""
    if len(shape) == 2 and not may_be_weight(shape):
        text = f"fewer positions at once: its {shape[0]:,} rows count samples x steps, so a smaller batch or"
        return Remedy(f"{text} shorter samples", slug="smaller-batch")
    if len(shape) != 3 or not all(size and size > 1 for size in shape[:2]):
        return None
    first, second = (size or 1 for size in shape[:2])
    round_ones = [size for size in (first, second) if size % _ROUND == 0]
    if len(round_ones) == 1:
        batch, steps = round_ones[0], second if round_ones[0] == first else first
        text = (
            f"a smaller batch, which is most likely {batch:,} here ({batch:,} -> {batch // 2:,}), or a cap on"
            f" the length, now {steps:,}: half of either halves this tensor"
        )
    else:
        text = f"fewer samples or shorter ones: {first:,} and {second:,} count them, half of either halves it"
    return Remedy(text, slug="smaller-batch")


def _of_all(shape: tuple[int | None, ...]) -> str:
    """`59 x 128`: which of them counts samples is not told."""
    return " x ".join(f"{size:,}" for size in shape[:-1] if size != 1) or "1"


def _of_a_pretrained(shape: tuple[int | None, ...], whose: str) -> Vocabulary:
    """Of numbers for each word of a vocabulary that nobody can shrink: fewer positions."""
    words, positions = shape[-1] or 1, shape[-2] or 1
    return Vocabulary(
        f"most likely a number for each of the {words:,} words of {whose} at each of {_of_all(shape)}"
        " positions",
        Remedy(
            f"fewer positions at once: cut or split the samples (half of {positions:,} halves it), or compute"
            " these numbers only for the positions whose loss is counted; the vocabulary belongs to the"
            " pretrained model",
            slug="shorter-sequences",
        ),
    )


def held_alike(moment: Moment, request: Request) -> str:
    """That blocks of just this size are in use, where the bins of a dump show it, and what is free."""
    shape, state = request.failed.shape or (), moment.incident.state if moment.incident else None
    need = request.needed_bytes or _FLOAT_BYTES * prod(size or 1 for size in shape)
    if state is None or not need:
        return ""
    alike = (row for row in state.bins if row.low_bytes <= need and _holds_only(row, need))
    row = next(alike, None)
    if row is None:
        return ""
    largest = moment.balance.largest_free_chunk
    free = (
        f", and the largest free block is {human_size(largest)}" if largest and largest.bytes < need else ""
    )
    place = f" ({row.line.place})" if row.line else ""
    blocks = "one block as large is" if row.used == 1 else f"{row.used} blocks as large are"
    return f"{blocks} in use already{place}{free}"


def _holds_only(row: BinRow, need: int) -> bool:
    return row.used > 0 and row.in_use.low <= row.used * need <= row.in_use.high
