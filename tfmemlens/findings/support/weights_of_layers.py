"""Weights that the program's layers make of the very bytes that were refused, and what its optimizer keeps of
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tfmemlens.findings.support.jax_stack import MadeByLine
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.knowledge.jax_arrays import arrays_of
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import human, round_up

_LAYER = regex(
    r"\b(?P<class>(?:nnx?|eqx\.nn|hk)\.(?:Embed(?:ding)?|Linear|Dense))\(\s*(?:\w+\s*=\s*)?(?P<first>\w+)\s*,"
    r"\s*(?:\w+\s*=\s*)?(?P<second>\w+)\s*[,)]"
)
_TWO = regex(r"\b(?:optax|tx|optim\w*)\.(?:adam\w*|nadam\w*|lamb|adamax\w*|radam|yogi|adan|adabelief)\(")
_ONE = regex(r"\boptax\.(?:lion|rmsprop|adagrad|lars|noisy_sgd)\(|\boptax\.sgd\([^#]*\bmomentum\s*=")
_ITEM = 4
_LEAST_SETS = 2


def weights_of_size(case: Case, need: int | None) -> MadeByLine | None:
    """The layers whose weight is the request to the byte, with what the optimizer keeps of each."""
    told = case.capture.surroundings
    program = told.program()
    if not program or not need:
        return None
    sizes = {name: size for size, name in arrays_of(program).names.items()}
    found = [(line, *each) for line in code_lines(told) for each in _weights(line, sizes)]
    fitting = [each for each in found if need in (each[2], round_up(each[2]))]
    slots, optimizer = _slots(case)
    sets = len(fitting) * (1 + slots)
    if not fitting or sets < _LEAST_SETS:
        return None
    line, shape, size = fitting[0]
    whole = sets * size
    rows, columns = shape
    many = f"{len(fitting)} weights" if len(fitting) > 1 else "a weight"
    at = f"{line.place} the first" if len(fitting) > 1 else line.place
    kept = f", and {optimizer.place} keeps {slots} more of each: together" if optimizer else ":"
    return MadeByLine(
        f"{many} of [{rows},{columns}] ({at}), {human(size)} each{kept} {human(whole)}; it"
        " was one of these that was refused",
        tuple(_remedies(shape, whole, slots)),
        Basis.MEASURED,
        line,
        whole,
    )


def _weights(line: Line, sizes: Mapping[str, int]) -> Iterator[tuple[tuple[int, int], int]]:
    """Shape and bytes of what the layers of a line make, where its sizes are known."""
    for match in _LAYER.finditer(line.text):
        shape = tuple(
            int(text.replace("_", "")) if text[0].isdigit() else sizes.get(text, 0)
            for text in (match["first"], match["second"])
        )
        if all(shape):
            yield (shape[0], shape[1]), _ITEM * shape[0] * shape[1]


def _slots(case: Case) -> tuple[int, Line | None]:
    """How many arrays of a weight's size the program's optimizer keeps, and the line that says so."""
    for slots, pattern in ((2, _TWO), (1, _ONE)):
        for line in code_lines(case.capture.surroundings):
            if pattern.search(line.text):
                return slots, line
    return 0, None


def _remedies(shape: tuple[int, int], whole: int, slots: int) -> Iterator[Remedy]:
    rows, columns = shape
    yield Remedy(
        f"fewer rows or columns in these weights: half of the {max(rows, columns):,} leaves"
        f" {human(whole // 2)}; no smaller batch helps",
        slug="smaller-model",
    )
    if slots:
        yield Remedy(
            f"or an optimizer that keeps less of them: without slots {human(whole // (1 + slots))}, and a"
            " gradient beside it",
            "tx = optax.adafactor(1e-3)   # or optax.sgd(1e-2) for the tables, by optax.multi_transform",
            slug="smaller-moments",
        )
