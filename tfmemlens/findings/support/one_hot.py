"""What one-hot rows are made of: labels, which the sparse loss takes as integers, or a feature, which belongs
in an embedding.
"""

from __future__ import annotations

from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.model.case import Case
from tfmemlens.patterns import regex

_CALL = regex(r"\bone_hot\(\s*(?P<what>[\w.]{1,60})")
_OF_LABELS = regex(r"(?i)label|target|truth|gold|class|\by(?:_\w+)?\Z|_y\Z")
_OF_FEATURES = regex(
    r"(?i)feature|word|token|input|item|char|query|user|product|document|sentence|\bx(?:_\w+)?\Z|_x\Z"
)
_SPARSE_LOSS = regex(r"sparse_softmax_cross_entropy|sparse_categorical_crossentropy|SparseCategoricalCross")


def is_of_features(case: Case, text: str) -> bool:
    """Whether a line makes one-hot rows of a feature: by the name of what it is given, or since the program
    has a loss that takes labels as integers.
    """
    match = _CALL.search(text)
    if match is None or _OF_LABELS.search(match["what"]):
        return False
    if _OF_FEATURES.search(match["what"]):
        return True
    return any(_SPARSE_LOSS.search(line.text) for line in code_lines(case.capture.surroundings))
