"""Losses as ops: what a loss keeps of an output, and the gradient that it begins with. The labels come with
the batch.
"""

from __future__ import annotations

import math

from tfmemlens.estimation.keras_step.tape import Tape, TapeOp, TapeValue
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.network import Network
from tfmemlens.values import dataclass

_MIN_SPARSE_CLASSES = 1000
_KEPT = {"kldivergence": 3, "categoricalfocalcrossentropy": 7, "binaryfocalcrossentropy": 9}
"""How many tensors as large as the output these losses keep for their gradients (`losses/losses.py` of Keras
3), as three nets of TensorFlow 2.21 whose outputs held most of the memory took: one each.
"""
NOT_OF_THE_OUTPUT = {"ctc": "its paths through the output take many times the output's bytes"}
"""Losses whose memory is not told by the output's size, and why."""


@dataclass(frozen=True, slots=True)
class Loss:
    """What a loss reads (an output, or what its probabilities were made from), and the gradient of that."""

    labels: TapeValue
    read: TapeValue
    gradient: TapeValue


def losses_of(network: Network, outputs: int) -> list[str | None]:
    """The loss of each output, as the model was compiled; None where it does not say."""
    names = [ref.layer for ref in network.outputs]
    if network.losses and len(names) == outputs:
        return [network.losses.get(name, network.loss) for name in names]
    return [network.loss] * outputs


def loss_of(tape: Tape, output: TapeValue, name: str | None) -> Loss:
    """Cross-entropy of class numbers, of shares or of yes and no, Huber's loss, else a mean of squares."""
    tape.layer, tape.phase = "loss", Phase.FORWARD
    last = next((op for op in reversed(tape.ops) if output.buffer in op.writes), None)
    if is_sparse(output, last.op if last else "", name):
        return _of_classes(tape, output, last)
    if name is not None and "binarycrossentropy" in name:
        return _of_yes_and_no(tape, output, last)
    if name is not None and "categoricalcrossentropy" in name:
        return _of_classes(tape, output, last, shares=True)
    if name in _KEPT:
        return _of_many(tape, output, _KEPT[name])
    return _of_huber(tape, output) if name == "huber" else _of_squares(tape, output)


def is_sparse(output: TapeValue, op: str, loss: str | None) -> bool:
    """Whether labels are class numbers: as compiled, else after a softmax, and for logits of a thousand
    classes or more.
    """
    if loss is not None:
        return "sparse" in loss
    return op == "Softmax" or (op in ("BiasAdd", "MatMul") and output.shape[-1:] >= (_MIN_SPARSE_CLASSES,))


def _logits(tape: Tape, made: TapeOp, output: TapeValue) -> TapeValue:
    """What probabilities were made from: Keras computes a cross-entropy from that (`_get_logits`)."""
    return next(
        value
        for value in reversed(tape.values)
        if value.buffer == made.reads[0] and math.prod(value.shape) == math.prod(output.shape)
    )


def _of_classes(tape: Tape, output: TapeValue, last: TapeOp | None, shares: bool = False) -> Loss:
    """`shares`: the labels give each class its share, as one-hot rows do."""
    if last and last.op == "Softmax":
        output = _logits(tape, last, output)
    shape, dtype = (output.shape, output.dtype) if shares else (output.shape[:-1], "int32")
    labels = tape.source("labels", shape, dtype, Kind.INPUT)
    op = "SoftmaxCrossEntropyWithLogits" if shares else "SparseSoftmaxCrossEntropyWithLogits"
    probabilities = tape.op(op, [output, labels], output.shape, output.dtype, over=[output])
    scaled = tape.op("Mul", [probabilities], over=[probabilities], kind=Kind.GRADIENT)
    return Loss(labels, output, scaled)


def _of_yes_and_no(tape: Tape, output: TapeValue, last: TapeOp | None) -> Loss:
    """`logistic_loss` (tensorflow/python/ops/nn_impl.py): max(x, 0) - x * labels + log1p(exp(-|x|)), with
    selections in place of max and |x|. The gradient comes back through each.
    """
    x = _logits(tape, last, output) if last and last.op == "Sigmoid" else output
    shape = x.shape
    labels = tape.source("labels", output.shape, output.dtype, Kind.INPUT)
    zeros = tape.op("ZerosLike", [x])
    positive = tape.op("GreaterEqual", [x, zeros], shape, "bool")
    larger = tape.op("SelectV2", [positive, x, zeros], shape, x.dtype)
    opposite = tape.op("Neg", [x])
    below = tape.op("SelectV2", [positive, opposite, x], shape, x.dtype, over=[opposite])
    product = tape.op("Mul", [x, labels], shape)
    first = tape.op("Sub", [larger, product], over=[larger, product])
    power = tape.op("Exp", [below], over=[below])
    rest = tape.op("Log1p", [power])
    total = tape.op("Mean", [tape.op("AddV2", [first, rest], over=[first, rest])], shape[:1])

    def back(op: str, reads: list[TapeValue], over: list[TapeValue] | None = None) -> TapeValue:
        return tape.op(op, reads, shape, x.dtype, over=over or [], kind=Kind.GRADIENT)

    grad = back("Mul", [total])
    of_product = back("Neg", [grad])
    towards_labels = back("Mul", [of_product, labels], [of_product])
    inverse = back("Reciprocal", [power])
    of_power = back("Mul", [grad, inverse], [inverse])
    of_below = back("Mul", [of_power, power], [of_power, power])
    kept = back("SelectV2", [positive, zeros, of_below])
    turned = back("SelectV2", [positive, of_below, zeros], [of_below])
    of_larger = back("SelectV2", [positive, grad, zeros], [grad])
    opposed = back("Neg", [turned], [turned])
    parts = [of_larger, towards_labels, kept, opposed]
    return Loss(labels, x, back("AddN", parts, parts))


def _of_huber(tape: Tape, output: TapeValue) -> Loss:
    """Half the square of a small error, of a large one its size: both are made, and chosen from."""
    labels, shape = tape.source("labels", output.shape, output.dtype, Kind.INPUT), output.shape
    error = tape.op("Sub", [output, labels])
    size = tape.op("Abs", [error])
    small = tape.op("LessEqual", [size], shape, "bool")
    square = tape.op("Square", [error])
    half = tape.op("Mul", [square], over=[square])
    line = tape.op("Sub", [size, small], over=[size])
    chosen = tape.op("SelectV2", [small, half, line], shape, output.dtype, over=[half, line])
    total = tape.op("Mean", [chosen], shape[:1])

    def back(op: str, reads: list[TapeValue], over: list[TapeValue] | None = None) -> TapeValue:
        return tape.op(op, reads, shape, output.dtype, over=over or [], kind=Kind.GRADIENT)

    spread = back("Tile", [total])
    grad = back("Mul", [spread], [spread])
    of_square, of_size = back("SelectV2", [small, grad]), back("SelectV2", [small, grad], [grad])
    of_square = back("Mul", [of_square], [of_square])
    doubled = back("Mul", [error, total])
    squares = back("Mul", [doubled, of_square], [doubled, of_square])
    sizes = back("Mul", [back("Sign", [error, total]), of_size], [of_size])
    return Loss(labels, output, back("AddN", [squares, sizes], [squares, sizes]))


def _of_many(tape: Tape, output: TapeValue, kept: int) -> Loss:
    """Products and powers, each of what was made before, which the gradients read in reverse."""
    labels = tape.source("labels", output.shape, output.dtype, Kind.INPUT)
    made = [output]
    for _ in range(kept):
        made.append(tape.op("Mul", [made[-1], labels], output.shape, output.dtype))
    gradient = tape.op("Mean", [made.pop()], output.shape[:1])
    while made:
        gradient = tape.op("Mul", [gradient, made.pop()], output.shape, output.dtype, kind=Kind.GRADIENT)
    return Loss(labels, output, gradient)


def _of_squares(tape: Tape, output: TapeValue) -> Loss:
    labels = tape.source("labels", output.shape, output.dtype, Kind.INPUT)
    squares = tape.op("SquaredDifference", [output, labels])
    total = tape.op("Mean", [squares], output.shape[:1])
    difference = tape.op("Sub", [output, labels, total], output.shape, kind=Kind.GRADIENT)
    spread = tape.op("Mul", [total], output.shape, kind=Kind.GRADIENT)
    gradient = tape.op("Mul", [spread, difference], over=[spread, difference], kind=Kind.GRADIENT)
    return Loss(labels, output, gradient)
