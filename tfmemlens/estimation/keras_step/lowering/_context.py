"""What every lowering gets, and the ops that many layers are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from tfmemlens.errors import NotUnderstood
from tfmemlens.estimation.keras_step import op_costs
from tfmemlens.estimation.keras_step.tape import Sizes, Tape, TapeValue
from tfmemlens.estimation.keras_step.update_order import as_text
from tfmemlens.knowledge.convolution.col_buffer import UnrolledConvolution
from tfmemlens.knowledge.half_products import HALVES
from tfmemlens.model.network import LayerSpec
from tfmemlens.model.tensor import ITEM_BYTES, TensorType
from tfmemlens.values import dataclass, field, replace

FIRST, LAST = -1, 1
"""Where Grappler leaves an op among the readers of a gradient: the last of them runs at once, and the others
wait for an idle thread. In Keras 3's dense layers the gradient of the kernel is mostly the last.
"""
_SORTED_BEFORE = 10
"""The end of a step's graph waits for the updates of all variables, sorted by their names: there `_9` comes
behind `_10`.
"""
EITHER = 0.01
"""A rank that leaves the order of two readers to chance."""
SLIGHTLY = 0.55
"""How far apart two ranks are that stand so in two of three places, the other way round in the third."""


class NotLowered(NotUnderstood):
    """The model's description leaves out, or contradicts, what a layer's ops depend on: the reason."""


@dataclass
class LoweringContext:
    """One call of a layer, to be written to the tape."""

    tape: Tape
    spec: LayerSpec
    inputs: list[TapeValue]
    outputs: tuple[TensorType, ...]
    weights: dict[str, TapeValue]
    dtype: str
    keras_3: bool = True
    device: str = "cpu"
    threads: int = 4
    workers: int = 4
    l3_bytes: int | None = None
    """What Conv3D's gradients fill."""
    onednn: bool = False
    """Whether oneDNN computes convolutions: its gradients book no patches."""
    fuses_volumes: bool = True
    """Whether Keras 2 has one kernel for the batch normalisation of volumes, as of pictures; 2.4 has not."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    not_understood: str | None = None
    """Why the ops of this layer could not be told, though its kind is known."""

    @property
    def config(self) -> Mapping[str, Any]:
        """The layer's configuration."""
        return self.spec.config

    @property
    def shape(self) -> Sizes:
        """The shape of the first output, unknown sizes as 1."""
        return sizes_of(self.outputs[0])

    def weight(self, name: str) -> TapeValue | None:
        """The weight, cast to the compute dtype where it is kept in another."""
        value = self.weights.get(name)
        if value is None or value.dtype == self.dtype or "float" not in value.dtype:
            return value
        return cast(self.tape, value, self.dtype)

    def needed(self, name: str) -> TapeValue:
        """A weight without which the layer is none. Raises NotLowered where the model lacks it."""
        value = self.weight(name)
        if value is None:
            raise NotLowered(f"it has no weight {name!r}")
        return value


Rule = Callable[[LoweringContext], "list[TapeValue]"]


def cast(tape: Tape, value: TapeValue, dtype: str) -> TapeValue:
    """The same in another type; its gradient is cast back."""
    made = tape.op("Cast", [value], dtype=dtype)
    tape.gradient(made, [value], lambda grad: [tape.op("Cast", [grad], dtype=value.dtype)])
    return made


def in_float32(rule: Rule) -> Rule:
    """What Keras computes in float32 where 16 bits come in: norms, whose sums overflow (`ops.cast` at the
    beginning and the end of their `call`).
    """

    def wide(job: LoweringContext) -> list[TapeValue]:
        x = job.inputs[0]
        if x.dtype not in HALVES:
            return rule(job)
        inner = replace(job, inputs=[cast(job.tape, x, "float32"), *job.inputs[1:]], dtype="float32")
        return [cast(job.tape, made, x.dtype) for made in rule(inner)]

    return wide


def sizes_of(kind: TensorType) -> Sizes:
    """A shape without unknowns."""
    return tuple(1 if size is None else size for size in kind.shape or ())


def activation_of(config: Mapping[str, Any], key: str = "activation", default: str = "linear") -> str:
    """The name of an activation, however it is spelled."""
    value = config.get(key, default)
    if isinstance(value, Mapping):
        inner = value.get("config")
        if isinstance(inner, Mapping) and "activation" in inner:
            value = inner.get("activation")
        else:
            value = inner if isinstance(inner, str) else value.get("class_name")
    return str(value or "linear").lower().replace("_", "").rpartition(">")[2]


def unary(tape: Tape, x: TapeValue, op: str, needs: str, steps: int = 0, temporary: int = 0) -> TapeValue:
    """An element-wise op whose gradient reads its `output`, its `input` or neither (`none`); `steps` more
    buffers pass by in its gradient.
    """
    made = tape.op(op, [x], over=[x], temporary=temporary)

    def back(grad: TapeValue) -> list[TapeValue]:
        read = [grad, *{"output": [made], "input": [x]}.get(needs, [])]
        for _ in range(steps):
            read = [
                grad,
                tape.op(
                    f"{op}Grad",
                    read[1:] or read,
                    shape=grad.shape,
                    over=read[1:] if read[1:] and read[1] is not x else [],
                ),
            ]
        return [tape.op(f"{op}Grad", read, shape=x.shape, over=[grad, *read[1:]])]

    tape.gradient(made, [x], back)
    return made


def swish(tape: Tape, x: TapeValue) -> TapeValue:
    """silu: its gradient keeps the input alone and computes the sigmoid again (`tf.nn.silu` has a gradient of
    its own).
    """
    gate = tape.op("Sigmoid", [x])
    made = tape.op("Mul", [x, gate], over=[gate, x])

    def back(grad: TapeValue) -> list[TapeValue]:
        again = tape.op("Sigmoid", [x, grad], shape=x.shape)
        other = tape.op("Sub", [again], shape=x.shape)
        product = tape.op("Mul", [x, other], over=[other])
        total = tape.op("AddV2", [product], over=[product])
        both = tape.op("Mul", [again, total], over=[again, total])
        return [tape.op("Mul", [grad, both], over=[grad, both])]

    tape.gradient(made, [x], back)
    return made


def gelu(tape: Tape, x: TapeValue) -> TapeValue:
    """0.5 * x * (1 + erf(x / sqrt 2)): the halves, the argument and the error function stay."""
    half = scaled(tape, x)
    argument = scaled(tape, x)
    error = unary(tape, argument, "Erf", "input", steps=1)
    one = unary(tape, error, "AddV2", "none")
    return multiply(tape, half, one)


def scaled(tape: Tape, x: TapeValue) -> TapeValue:
    """A product with a constant."""
    made = tape.op("Mul", [x], over=[x])
    tape.gradient(made, [x], lambda grad: [tape.op("Mul", [grad], shape=x.shape, over=[grad])])
    return made


def multiply(tape: Tape, x: TapeValue, y: TapeValue, shape: Sizes | None = None) -> TapeValue:
    """A product of two tensors, one perhaps broadcast."""
    shape = shape or (x.shape if math.prod(x.shape) >= math.prod(y.shape) else y.shape)
    made = tape.op("Mul", [x, y], shape, over=[x, y])

    def back(grad: TapeValue) -> list[TapeValue | None]:
        gradients: list[TapeValue | None] = []
        for one, other in ((x, y), (y, x)):
            if not tape.needs(one):
                gradients.append(None)
                continue
            full = tape.op("Mul", [grad, other], grad.shape, over=[grad])
            gradients.append(full if one.shape == grad.shape else tape.op("Sum", [full], one.shape))
        return gradients

    tape.gradient(made, [x, y], back)
    return made


def add(tape: Tape, parts: Sequence[TapeValue], shape: Sizes, op: str = "AddV2") -> TapeValue:
    """A sum of tensors, pair after pair; the gradient passes through."""
    total = parts[0]
    for part in parts[1:]:
        total = _add(tape, total, part, shape, op)
    return total


def _add(tape: Tape, x: TapeValue, y: TapeValue, shape: Sizes, op: str) -> TapeValue:
    made = tape.op(op, [x, y], shape, over=[x, y])
    tape.gradient(
        made,
        [x, y],
        lambda grad: [
            grad if each.shape == grad.shape else tape.op("Sum", [grad], each.shape) for each in (x, y)
        ],
    )
    return made


def biased(tape: Tape, x: TapeValue, bias: TapeValue | None) -> TapeValue:
    """X + bias, in place."""
    if bias is None:
        return x
    made = tape.op("BiasAdd", [x, bias], x.shape, over=[x])
    tape.gradient(
        made,
        [x, bias],
        lambda grad: [
            grad,
            tape.op(
                "BiasAddGrad",
                [grad],
                bias.shape,
                work=op_costs.SLOW * grad.bytes,
                rank=LAST if _is_early(tape, bias) else 0,
            ),
        ],
    )
    return made


def activated(job: LoweringContext, x: TapeValue, name: str | None = None) -> TapeValue:
    """The activation of a layer."""
    name = activation_of(job.config) if name is None else name
    tape = job.tape
    if name in ("linear", "identity", "none"):
        return x
    if name in ("swish", "silu"):
        return swish(tape, x)
    if name == "gelu":
        return gelu(tape, x)
    if name in ("relu", "relu6", "sigmoid", "tanh", "elu", "selu"):
        return unary(
            tape,
            x,
            {
                "relu": "Relu",
                "relu6": "Relu6",
                "sigmoid": "Sigmoid",
                "tanh": "Tanh",
                "elu": "Elu",
                "selu": "Selu",
            }[name],
            "output",
        )
    if name in ("softmax", "logsoftmax"):
        return softmax(tape, x)
    if name in ("leakyrelu", "softplus", "softsign", "exponential", "exp"):
        op = {"leakyrelu": "LeakyRelu", "softplus": "Softplus", "softsign": "Softsign"}.get(name, "Exp")
        return unary(tape, x, op, "output" if op == "Exp" else "input")
    if name in ("hardswish", "hardsilu"):
        shifted = unary(tape, x, "AddV2", "none")
        gate = scaled(tape, unary(tape, shifted, "Relu6", "output"))
        return multiply(tape, x, gate)
    if name == "mish":
        return multiply(tape, x, unary(tape, unary(tape, x, "Softplus", "input"), "Tanh", "output"))
    if name == "tanhshrink":
        return add(tape, [x, unary(tape, x, "Tanh", "output")], x.shape)
    if name == "celu":
        below = unary(tape, scaled(tape, unary(tape, x, "Minimum", "input")), "Expm1", "output")
        return add(tape, [unary(tape, x, "Maximum", "input"), scaled(tape, below)], x.shape)
    if name == "hardsigmoid":
        return scaled(tape, unary(tape, unary(tape, x, "AddV2", "none"), "Relu6", "output"))
    return unary(tape, x, "Activation", "input", steps=2)


def softmax(tape: Tape, x: TapeValue, twice: bool = False) -> TapeValue:
    """Its gradient reads its output, and passes over two products.

    `twice`: a product with it is kept as well, as in Keras 3's attention on what needs no gradient; the
    gradient then writes over both. The product comes at once, or when the forward pass waits for labels that
    are cast, or only when the gradient asks for it: four of one net were seen in two of these places.
    """
    made = tape.op("Softmax", [x], over=[x])
    kept = tape.op("Mul", [made], rank=EITHER) if twice and tape.training else made

    def back(grad: TapeValue) -> list[TapeValue]:
        product = tape.op("Mul", [grad, made], over=[made] if kept is not made else [])
        total = tape.op("Sum", [product], (*x.shape[:-1], 1))
        shifted = tape.op("Sub", [grad, total], x.shape, over=[grad])
        return [tape.op("Mul", [shifted, kept], over=[kept, shifted] if kept is not made else [shifted])]

    tape.gradient(made, [x], back)
    return made


def reduce_mean(tape: Tape, x: TapeValue, shape: Sizes, op: str = "Mean") -> TapeValue:
    """A mean or sum over some axes; its gradient spreads back."""
    made = tape.op(op, [x], shape)

    def back(grad: TapeValue) -> list[TapeValue]:
        wide = tape.op("Tile" if op == "Mean" else "BroadcastTo", [grad], x.shape)
        return [tape.op("Mul", [wide], over=[wide]) if op == "Mean" else wide]

    tape.gradient(made, [x], back)
    return made


def copied(tape: Tape, x: TapeValue, op: str, shape: Sizes, back_op: str, once: bool = False) -> TapeValue:
    """An op that copies: padding, transposition, resizing; its gradient copies back. `once`: of a tensor that
    several layers copy alike Grappler keeps one of the copies (`common_subgraph_elimination.cc` in
    tensorflow/core/grappler/optimizers); their gradients stay apart.
    """
    made = tape.op_once(op, x, shape) if once else tape.op(op, [x], shape)
    tape.gradient(made, [x], lambda grad: [tape.op(back_op, [grad], x.shape)])
    return made


def time_in_front(
    tape: Tape, x: TapeValue, shape: tuple[int, ...] | None = None, after: Sequence[TapeValue] = ()
) -> TapeValue:
    """Time in front, or the batch again."""
    if tape.keras_3 and x.index in tape.turned:
        return tape.turned[x.index]
    made = tape.op("Transpose", [x, *after], shape or (x.shape[1], x.shape[0], *x.shape[2:]))
    tape.turned[made.index] = x
    return made


def matmul(tape: Tape, x: TapeValue, kernel: TapeValue, shape: Sizes, per_sample: bool = False) -> TapeValue:
    """X @ kernel; the gradients of both are products as large as these.

    `per_sample`: the kernel's gradient is made for each sample and then summed, as where Keras 3 writes a
    batched product instead of an Einsum.
    """
    flops = 2.0 * math.prod(x.shape) * shape[-1] * op_costs.PRODUCT
    made = tape.op("MatMul", [x, kernel], shape, work=flops)

    def back(grad: TapeValue) -> list[TapeValue | None]:
        data = (
            tape.op("MatMul", [grad, kernel], x.shape, work=op_costs.TRANSPOSED * flops, rank=LAST)
            if tape.needs(x)
            else None
        )
        if not tape.needs(kernel):
            return [data, None]
        each = tape.op(
            "MatMul",
            [x, grad],
            (x.shape[0], *kernel.shape) if per_sample else kernel.shape,
            work=op_costs.SUMMED * flops,
            rank=_dense_rank(tape, x, kernel, grad, series=not per_sample),
        )
        return [data, tape.op("Sum", [each], kernel.shape) if per_sample else each]

    tape.gradient(made, [x, kernel], back)
    return made


def _is_early(tape: Tape, weight: TapeValue) -> bool:
    """Whether, in `fit`, a weight is among the first, whose updates Grappler comes to before those of layers
    nearer to the inputs.
    """
    return tape.fetches and tape.trainables.get(weight.buffer, 0) < _SORTED_BEFORE


def place_of(job: LoweringContext, kernel: TapeValue) -> int | None:
    """A kernel's place among the trainable weights, where it tells when its gradient runs: in `fit`, by
    TensorFlow's own ops.
    """
    if not job.tape.fetches or _is_with_bias(job):
        return None
    return job.tape.trainables.get(kernel.buffer)


def _is_with_bias(job: LoweringContext) -> bool:
    """Whether one kernel of oneDNN makes the gradients of a convolution's kernel and bias."""
    return job.onednn and job.device == "cpu" and job.weight("bias") is not None


def gradient_ranks(job: LoweringContext) -> tuple[float, float]:
    """Where the gradients of a convolution's kernel and of its input stand among the readers of a gradient.

    In steps of `train_on_batch` on one thread the input's was run first in 47 of 48 places of Keras 2, and in
    49 of 71 of Keras 3; in short steps of Keras 2 the kernel's in 12 of 14, in three nets. In those of `fit`
    the kernel's rank stands for those whose updates are reached late; `place_of` tells the others. oneDNN's
    pass makes one node of the kernel's gradient and the bias's (`_MklNativeConv2DBackpropFilterWithBias`),
    which ran first in 10 of 12 places of Keras 2 and in 37 of 54 of Keras 3.

    Of series the kernel's ran first in `train_on_batch`; in `fit` (two nets, 25 places) it is as for images.
    """
    if _is_with_bias(job):
        return (LAST + SLIGHTLY if job.keras_3 else 2 * LAST), LAST
    if job.tape.fetches:
        return FIRST, LAST
    if job.tape.short and not job.keras_3:
        return 2 * LAST, LAST
    return (LAST - SLIGHTLY if job.keras_3 else FIRST), LAST


def _dense_rank(tape: Tape, x: TapeValue, kernel: TapeValue, grad: TapeValue, series: bool) -> float:
    """The same for a dense layer's kernel, whose input's gradient is LAST: in short steps of Keras 2 either
    ran first in chains. In long steps of Keras 3 many kernels' gradients wait for the end of the backward
    pass; in Keras 2 they do but in a chain of layers behind that of the last name. In graphs of 2.11 with a
    way past every second layer (61 on [batch, units], 26 on series) the layer before the sum waits, of series
    both do.
    """
    in_a_chain = not tape.is_read_elsewhere(grad) and x.index not in tape.normalised
    if tape.keras_3:
        return 2 * FIRST if waits_for_the_end(tape, kernel, grad, in_a_chain, series) else 2 * LAST
    if len(grad.shape) > 2 and tape.has_a_part(x):
        in_a_chain = False
    if tape.short and (in_a_chain or tape.trainables.get(kernel.buffer, 0) < _SORTED_BEFORE):
        return LAST
    return 4 * LAST if in_a_chain and tape.is_behind_the_last_name(kernel) else FIRST


def waits_for_the_end(
    tape: Tape, weight: TapeValue, grad: TapeValue, passes_at_once: bool = False, series: bool = False
) -> bool:
    """Whether, with one thread, a weight's gradient in a long step of Keras 3 runs behind the whole backward
    pass. `passes_at_once`: in the first round it does not. `series`: in short steps it does, too, in all
    rounds, where the gradient is one of [batch, time, units] that is turned into a matrix.

    So it was in graphs of TensorFlow 2.21 but for a place or two at a round's end (82 dense layers with and
    without a way past them, sgd and adagrad; 71 with normalisations between, sgd): what Grappler's graph
    lists first among the readers of a gradient ran last. Of series the kernel's was the first in 45 of 46
    places (31 dense layers with adam, ten blocks that mix tiles with adamw).
    """
    turn = 0
    if tape.keras_3:
        turn = rounds_of_updates(len(tape.trainables)).get(tape.trainables.get(weight.buffer, -1), 0)
    if len(grad.shape) > 2:
        return series and turn > 0
    return not tape.short and (turn > 1 or (turn == 1 and not passes_at_once))


@cache
def rounds_of_updates(count: int) -> dict[int, int]:
    """By the place of a weight among so many in which round the walk from the end of a step passes it, on its
    way to the update of an earlier weight; a weight whose own update comes first is left out.

    The updates are named `Assign`, `Assign_1`, ... and visited from the last name, as text, to the first:
    `_99` before `_98` and `_9` before `_89`. Each needs the gradients of the inputs of all layers behind its
    own. In the first round a dense layer whose gradient goes nowhere else runs its kernel's at once; one with
    a way past it or behind a normalisation, and all layers of later rounds, run that of the input.
    """
    rounds: dict[int, int] = {}
    lowest, turn = count, 0
    for place in reversed(as_text(count)):
        if place < lowest - 1:
            turn += 1
            rounds.update(dict.fromkeys(range(place + 1, lowest), turn))
        lowest = min(lowest, place)
    return rounds


def sizes_of_filter(tape: Tape, x: TapeValue) -> list[TapeValue]:
    """What the gradient of a filter waits for where the batch itself goes in: a constant with its sizes
    (`ShapeN-matshapes-1`), which Grappler lets wait for `IteratorGetNext`. It stands behind all that is ready
    then, so with one thread that gradient is the last of the step. In five of six profiles of `fit` it was
    (TensorFlow 2.11, 2.21; the sixth on 2.11).
    """
    if not (tape.training and tape.fetches) or not tape.buffers[x.buffer].standing:
        return []
    return [tape.op("Const", [], (4,), "int32", late=True)]


def convolve(
    job: LoweringContext,
    x: TapeValue,
    kernel: TapeValue,
    shape: Sizes,
    positions: int,
    patch: int,
    channels: int,
    op: str = "Conv2D",
) -> TapeValue:
    """A convolution; on the CPU its gradients unroll patches (`col_buffer`). `positions` of one output image,
    `patch` elements of one patch.
    """
    tape = job.tape
    batch = x.shape[0]
    item = ITEM_BYTES.get(x.dtype, 4)
    flops = 2.0 * batch * positions * patch * channels * op_costs.PRODUCT
    made = tape.op(op, [x, kernel], shape, work=flops)
    sizes = sizes_of_filter(tape, x)
    unrolled = UnrolledConvolution(max(positions, 1), max(patch, 1), max(channels, 1), item)
    own_kernels = job.device == "cpu" and not job.onednn
    buffers = unrolled if own_kernels and op == "Conv2D" else None
    tensors = (job.l3_bytes, x.shape, kernel.shape, shape)
    of_volumes = own_kernels and op == "Conv3D"

    def back(grad: TapeValue) -> list[TapeValue | None]:
        first, last = (LAST, 0) if len(x.shape) == 3 and not tape.fetches else gradient_ranks(job)
        weight = data = None
        if tape.needs(kernel):
            scratch = buffers.filter_gradient_bytes() if buffers else 0
            if of_volumes:
                scratch = unrolled.volume_gradient_bytes(*tensors)
            longer = (
                op_costs.FILTER
                if buffers is None or batch > buffers.images_of_filter_gradient()
                else op_costs.FILTER_AT_ONCE
            )
            weight = tape.op(
                f"{op}BackpropFilter",
                [x, grad, *sizes],
                kernel.shape,
                temporary=scratch,
                work=longer * flops,
                rank=first,
                place=place_of(job, kernel),
            )
        if tape.needs(x):
            scratch = buffers.input_gradient_bytes(batch, job.threads) if buffers else 0
            if of_volumes:
                scratch = unrolled.volume_input_gradient_bytes(batch, *tensors)
            again = (
                op_costs.REPACKED * batch * kernel.bytes
                if buffers and scratch <= buffers.image_bytes
                else 0.0
            )
            data = tape.op(
                f"{op}BackpropInput",
                [kernel, grad],
                x.shape,
                temporary=scratch,
                work=op_costs.INPUT * flops + again,
                rank=last,
            )
        return [data, weight]

    tape.gradient(made, [x, kernel], back)
    return made
