"""Recurrent layers of the program, by the tensors that each of their steps makes."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.findings.support.code_tensors import tensors_made
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.values import dataclass

_RECURRENT = ("dynamic_rnn", "static_rnn", "LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional", "ConvLSTM2D")
_GATES = (1, 2, 3, 4)
"""So many times the units a step's products may be wide."""
_SEQUENCE = 3


@dataclass(frozen=True, slots=True)
class RecurrentSteps:
    """A recurrent layer, with the steps of its sequence as far as the code tells them."""

    called: str
    line: Line
    steps: int | None


def recurrent_steps(program: Program, shape: Sequence[int | None]) -> RecurrentSteps | None:
    """The layer each of whose steps makes a tensor of this shape, [batch, units]; None where none does, or
    several may.
    """
    if not program or len(shape) != 2 or not shape[1]:
        return None
    fitting = [
        made
        for made in tensors_made(program)
        if made.op in _RECURRENT and made.shape[-1] and shape[1] in [made.shape[-1] * each for each in _GATES]
    ]
    if len({each.line for each in fitting}) != 1:
        return None
    made = fitting[0]
    steps = made.reads[1] if len(made.reads) == _SEQUENCE else None
    steps = made.shape[1] if steps is None and len(made.shape) == _SEQUENCE else steps
    return RecurrentSteps(made.op, made.line, steps)
