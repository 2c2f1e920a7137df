"""Whether a fully connected layer of the quoted code is one in the middle of a network.

Sources: `Sequential([..., Flatten(), Dense(1536), Activation("relu"), Dropout(0.5), Dense(10)])` on
TensorFlow 2.21, whose kernel of 65,536 x 1536 failed: a layer after which others come gives no scores.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_NEXT = regex(
    r"\b(?:Activation|(?:Leaky|P|Thresholded)?ReLU|ELU|Dropout|(?:Batch|Layer)Normalization|Dense|LSTM|GRU"
    r"|Reshape|batch_normalization|dropout|dense|(?:leaky_)?relu|elu|gelu|tanh|swish)\("
)
_SOFTMAX = regex(r"(?i)softmax")
_LITERAL = regex(r"\d[\d_]*\Z")
_LINES = 3


def is_hidden(text: str, number: str, code: Sequence[Line]) -> bool:
    """Whether the line that has this text makes a layer of a literal width, and one of the next lines, or the
    rest of its own, a layer that takes it.
    """
    if not _LITERAL.match(number):
        return False
    stripped = text.strip()
    at = next((at for at, line in enumerate(code) if line.text.strip() == stripped), None)
    if at is None:
        return False
    place = code[at].number
    following = [
        line.text for line in code[at + 1 : at + 1 + _LINES] if 0 < line.number - place <= _LINES + 1
    ]
    rest = stripped[stripped.find(number) + len(number) :]
    shown = [each for each in (rest, *following) if each.strip()]
    return any(_NEXT.search(each) and not _SOFTMAX.search(each) for each in shown[:2])
