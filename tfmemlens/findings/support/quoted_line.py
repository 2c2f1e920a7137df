"""The quoted line of code that most likely made an op that ran by itself, where no frame names one.

Who asks for help often pastes some lines of the program and the last line of the error. `[Op:Sub]` beside the
only line that subtracts is that line; with two such lines nobody knows.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.findings.support.kept import is_eager
from tfmemlens.model.case import Request
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_CODE_OF = {
    "MatMul": r"\bmatmul\(|\bdot\(|[\w\])] ?@ ?\w",
    "BatchMatMul": r"\bmatmul\(|\bdot\(|[\w\])] ?@ ?\w",
    "BatchMatMulV2": r"\bmatmul\(|\bdot\(|[\w\])] ?@ ?\w",
    "Einsum": r"\beinsum\(",
    "Sub": r"[\w\])] - [\w(]|\bsubtract\(",
    "SquaredDifference": r"\bsquared_difference\(|[\w\])] - [\w(]",
    "Mul": r"[\w\])] \* [\w(]|\bmultiply\(",
    "AddV2": r"[\w\])] \+ [\w(]|\badd\(",
    "Equal": r" == |\bequal\(",
    "Tile": r"\b(?:tile|repeat|repeat_elements)\(",
    "OneHot": r"\bone_hot\(",
    "ConcatV2": r"\b(?:concat|concatenate|hstack|vstack)\(",
    "Pack": r"\bstack\(",
    "GatherV2": r"\bgather\(",
    "Softmax": r"\bsoftmax\(",
    "RFFT": r"\b(?:stft|rfft)\(",
    "Cast": r"\bcast\(",
    "ResizeBilinear": r"\bresize(?:_\w{1,20})?\(",
    "ResizeBicubic": r"\bresize(?:_\w{1,20})?\(",
    "ResizeNearestNeighbor": r"\bresize(?:_\w{1,20})?\(",
    "Transpose": r"\btranspose\(",
}
"""The code that makes an op, by the op's type."""
_MADE_BY = {op: regex(code) for op, code in _CODE_OF.items()}
_DEFINES = regex(r"\A\s*(?:def|class|import|from|for|while|if|#)\b|\A\s*print\(")
_COMMENT = regex(r"(?<!['\"\w])#.*")


def line_of_op(request: Request, code: Sequence[Line]) -> Line | None:
    """That line; None where the failure names a line of its own, or where not just one makes such an op."""
    failed = request.failed
    if failed.source_text or failed.frames or not is_eager(request) or failed.creating:
        return None
    made_by = _MADE_BY.get(failed.op or "")
    if made_by is None:
        return None
    lines = {
        _COMMENT.sub("", line.text).strip(): line
        for line in reversed(code)
        if not _DEFINES.search(line.text) and made_by.search(_COMMENT.sub("", line.text))
    }
    return next(iter(lines.values())) if len(lines) == 1 else None
