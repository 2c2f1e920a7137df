"""Attention and recurrent layers as ops."""

from __future__ import annotations

import math
from collections.abc import Callable

from tfmemlens.estimation.graph_step.folding import MAX_BYTES
from tfmemlens.estimation.keras_step.lowering._context import (
    FIRST,
    LoweringContext,
    add,
    biased,
    cast,
    copied,
    matmul,
    multiply,
    reduce_mean,
    scaled,
    sizes_of,
    softmax,
    time_in_front,
    unary,
)
from tfmemlens.estimation.keras_step.lowering.core import dropout
from tfmemlens.estimation.keras_step.tape import Sizes, Tape, TapeValue
from tfmemlens.knowledge.convolution.col_buffer import UnrolledConvolution
from tfmemlens.knowledge.half_products import HALVES
from tfmemlens.model.attribution import Kind
from tfmemlens.model.network import LayerSpec
from tfmemlens.model.tensor import ITEM_BYTES

Rule = Callable[[LoweringContext], list[TapeValue]]

_CONVOLUTIONAL = ("ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D")
_PER_STEP = {
    "LSTM": 7.0,
    "GRU": 6.0,
    "SimpleRNN": 1.0,
    "CuDNNLSTM": 8.0,
    "CuDNNGRU": 6.0,
    **dict.fromkeys(_CONVOLUTIONAL, 7.0),
}
"""Tensors of [batch, units] that one time step keeps for backward beside its input: the gates, the sums and
what the step gives, as profiles show them.
"""
_OF_HARD_GATES = 3.0
"""So many tensors more where the gates are `hard_sigmoid`, products cut off above and below: two nets kept
10 and 16 in each step of TensorFlow 2.11, as buffers were written over or not.
"""
_GATES = {"LSTM": 4, "GRU": 3, "CuDNNLSTM": 4, "CuDNNGRU": 3, **dict.fromkeys(_CONVOLUTIONAL, 4)}
"""Products of [batch, units] of the input: they need no state, so that those of up to 32 steps are made
ahead.
"""
_PARTS = 256
_PARALLEL = 32
_TOGETHER = 4
_PIECES = 8
"""In how many parts the backward loop is laid out that frees what it has popped: in the graph itself, as all
loops of Keras 3; in a function it holds all.
"""


def _product(tape: Tape, x: TapeValue, y: TapeValue, shape: tuple[int, ...], work: float) -> TapeValue:
    made = tape.op("BatchMatMulV2", [x, y], shape, work=work)

    def back(grad: TapeValue) -> list[TapeValue | None]:
        pairs = ((x, y), (y, x))
        return [
            tape.op("BatchMatMulV2", [grad, other], one.shape, work=work) if tape.needs(one) else None
            for one, other in pairs
        ]

    tape.gradient(made, [x, y], back)
    return made


def _einsum(
    tape: Tape, x: TapeValue, y: TapeValue, shape: tuple[int, ...], work: float, passing: int
) -> TapeValue:
    """An Einsum turns operands and result as it needs them, in scratch of its own (`passing` bytes forward),
    and keeps none of it.

    Its gradients are two more; each holds two turned tensors as large as the smaller operand.
    """
    made = tape.op("Einsum", [x, y], shape, work=work, temporary=passing)
    turned = 2 * min(x.bytes, y.bytes)

    def back(grad: TapeValue) -> list[TapeValue | None]:
        pairs = ((x, y), (y, x))
        return [
            (
                tape.op("Einsum", [grad, other], one.shape, work=work, temporary=turned)
                if tape.needs(one)
                else None
            )
            for one, other in pairs
        ]

    tape.gradient(made, [x, y], back)
    return made


def _projected(job: LoweringContext, x: TapeValue, name: str, shape: tuple[int, ...]) -> TapeValue:
    kernel = job.needed(f"{name}/kernel")
    flat = (
        job.tape.alias(kernel, (kernel.shape[0], math.prod(kernel.shape[1:])))
        if name != "attention_output"
        else kernel
    )
    per_sample = job.keras_3 and len(job.inputs[0].shape) == 3  # of more axes tf.einsum itself is called
    made = matmul(job.tape, x, flat, shape, per_sample=per_sample)
    return biased(job.tape, made, job.weight(f"{name}/bias"))


def _multi_head(job: LoweringContext) -> list[TapeValue]:
    tape = job.tape
    query = job.inputs[0]
    value = job.inputs[1] if len(job.inputs) > 1 else query
    key = job.inputs[2] if len(job.inputs) > 2 else value
    heads = int(job.config.get("num_heads") or job.config.get("num_query_heads") or 1)
    deep = int(job.config.get("key_dim") or job.config.get("head_dim") or 1)
    wide = int(job.config.get("value_dim") or deep)
    shared = int(job.config.get("num_key_value_heads") or heads)
    (apart, length), (_, others) = (_attended(job, each) for each in (query, value))
    batch = query.shape[0] * apart
    q = _projected(job, query, "query", (batch, length, heads, deep))
    k = _projected(job, key, "key", (batch, others, shared, deep))
    v = _projected(job, value, "value", (batch, others, shared, wide))
    if shared != heads:
        k, v = (copied(tape, each, "Tile", (batch, others, heads, each.shape[-1]), "Sum") for each in (k, v))
    q = scaled(tape, q)
    if job.keras_3 and len(query.shape) == 3 and (job.config.get("dropout") or len(job.outputs) > 1):
        weights, joined = _by_products(job, q, k, v)
    else:
        weights, joined = _by_einsum(job, q, k, v)
    made = _projected(job, tape.alias(joined, (batch, length, heads * wide)), "attention_output", job.shape)
    return [made, weights][: len(job.outputs)]


def _attended(job: LoweringContext, x: TapeValue) -> tuple[int, int]:
    """How many places of a sample look at none of the others' places, and how many look at each other:
    `attention_axes` names the axes of these, all between batch and features where it is not given.
    """
    axes = job.config.get("attention_axes")
    inner = range(1, len(x.shape) - 1)
    axes = [axes] if isinstance(axes, int) else axes
    named = axes if isinstance(axes, list | tuple) else inner
    chosen = {axis % len(x.shape) for axis in named if isinstance(axis, int)}
    length = math.prod(x.shape[axis] for axis in inner if axis in chosen)
    return math.prod(x.shape[1:-1]) // max(length, 1), length


def _by_einsum(job: LoweringContext, q: TapeValue, k: TapeValue, v: TapeValue) -> tuple[TapeValue, TapeValue]:
    """The weights and what they make of the values, [batch, length, heads, size] as all three."""
    tape, (batch, length, heads, deep), others, wide = job.tape, q.shape, k.shape[1], v.shape[-1]
    cost = 2.0 * batch * heads * length * others * deep / 20
    turned = 0 if job.keras_3 else batch * heads * length * others * ITEM_BYTES.get(q.dtype, 4)
    scores = _einsum(tape, q, k, (batch, heads, length, others), cost, q.bytes + k.bytes + turned)
    twice = job.keras_3 and (tape.fetches or not tape.needs(job.inputs[0]))
    narrow = job.keras_3 and len(job.inputs[0].shape) == 3 and scores.dtype in HALVES
    scores = cast(tape, scores, "float32") if narrow else scores  # `dot_product_attention` does so
    weights = softmax(tape, scores, twice=twice)
    weights = cast(tape, weights, q.dtype) if narrow else weights
    if job.config.get("dropout"):
        weights = dropout(tape, weights, tape.training)
    return weights, _einsum(
        tape, weights, v, (batch, length, heads, wide), cost, v.bytes + q.bytes // deep * wide
    )


def _by_products(
    job: LoweringContext, q: TapeValue, k: TapeValue, v: TapeValue
) -> tuple[TapeValue, TapeValue]:
    """As Keras 3 does it where the weights are dropped or asked for: everything is turned for plain products,
    the scores as well.
    """
    tape, (batch, length, heads, deep), others, wide = job.tape, q.shape, k.shape[1], v.shape[-1]
    cost = 2.0 * batch * heads * length * others * deep / 20
    k = copied(tape, k, "Transpose", (batch, heads, others, deep), "Transpose")
    q = copied(tape, q, "Transpose", (batch, heads, deep, length), "Transpose")
    v = copied(tape, v, "Transpose", (batch, heads, others, wide), "Transpose")
    product = tape.op("BatchMatMulV2", [k, q], (batch, heads, others, length), work=cost)
    scores = tape.op("Transpose", [product], (batch, heads, length, others))
    tape.gradient(
        scores,
        [k, q],
        lambda grad: [
            tape.op("BatchMatMulV2", [grad, other], one.shape, work=cost) for one, other in ((k, q), (q, k))
        ],
    )
    weights = dropout(tape, softmax(tape, scores), bool(tape.training and job.config.get("dropout")))
    joined = _product(tape, weights, v, (batch, heads, length, wide), cost)
    return weights, copied(tape, joined, "Transpose", (batch, length, heads, wide), "Transpose")


def _attention(job: LoweringContext) -> list[TapeValue]:
    tape = job.tape
    query, value = job.inputs[0], job.inputs[1 if len(job.inputs) > 1 else 0]
    key = job.inputs[2] if len(job.inputs) > 2 else value
    shape = (*query.shape[:-1], value.shape[-2])
    work = 2.0 * math.prod(shape) * query.shape[-1] / 20
    scale = job.weight("scale")
    if job.spec.class_name == "AdditiveAttention":
        scores = _scores_of_sums(tape, query, key, shape, after=scale)
    elif job.config.get("score_mode") == "concat":
        scores = _scores_of_sums(tape, query, key, shape, before=scale)
        scores = multiply(tape, scores, job.needed("concat_score_weight"), shape)
    else:
        scores = _product(tape, query, key, shape, work)
        scores = scores if scale is None else multiply(tape, scores, scale, shape)
    weights = dropout(tape, softmax(tape, scores), bool(tape.training and job.config.get("dropout")))
    return [_product(tape, weights, value, job.shape, work), weights][: len(job.outputs)]


def _scores_of_sums(
    tape: Tape,
    query: TapeValue,
    key: TapeValue,
    shape: Sizes,
    before: TapeValue | None = None,
    after: TapeValue | None = None,
) -> TapeValue:
    """Of each query with each key the sum of tanh(query + key) over the features, times a weight `before` the
    tanh or `after` it: tensors of [batch, queries, keys, features].
    """
    wide = (*shape, query.shape[-1])
    total = add(tape, [query, key], wide)
    total = total if before is None else multiply(tape, total, before, wide)
    made = unary(tape, total, "Tanh", "output")
    made = made if after is None else multiply(tape, made, after, wide)
    return reduce_mean(tape, made, shape, "Sum")


def _number(value: object) -> int:
    return value if isinstance(value, int) else 1


def _cells(spec: LayerSpec, state: Sizes) -> list[tuple[str, int]]:
    """The kinds of a loop's cells, and how much the state of each holds a sample; `state` is that of one time
    step, without the batch.
    """
    if spec.class_name in _CONVOLUTIONAL:
        return [(spec.class_name, math.prod(state))]
    if spec.class_name == "RNN":
        cells = [
            cell
            for each in spec.inner
            for cell in (each.inner if each.class_name == "StackedRNNCells" else (each,))
        ]
        return [(cell.class_name.removesuffix("Cell"), _number(cell.config.get("units"))) for cell in cells]
    return [(spec.class_name, _number(spec.config.get("units") or spec.config.get("output_dim")))]


def _loop(
    job: LoweringContext, spec: LayerSpec, outputs: int, turned: TapeValue, reverse: bool = False
) -> list[TapeValue]:
    """A loop over time: each step's tensors stay in the loop's stacks for backward. `turned`: the input with
    time in front, which two loops may share.
    """
    tape, x = job.tape, job.inputs[0]
    batch, steps, final = x.shape[0], x.shape[1], sizes_of(job.outputs[0])
    listed, sequence = (steps, batch, *x.shape[2:]), len(final) == len(x.shape)
    each = final[2:] if sequence else final[1:]
    weights = [weight for weight in job.weights.values() if tape.needs(weight)]
    work = 2.0 * batch * steps * sum(math.prod(weight.shape) for weight in job.weights.values()) / 20
    source = tape.op("ReverseV2", [turned], rank=2 * FIRST) if reverse else turned
    items = tape.op("TensorListFromTensor", [source], listed)
    inline = not _stands_in_a_function(job, spec)
    held = [source] if reverse and not inline else []
    ahead = [] if tape.training else _ahead(job, spec, items, each, sequence)
    begins = job.inputs[1:]
    state = tape.op(
        "While", [items, *ahead, *held, *begins, *job.weights.values()], (batch, *each), job.dtype, work=work
    )
    stacks = _stacks(job, spec, state, steps)
    if tape.training and not inline:
        _zeros(job, weights, (steps, batch, *each) if sequence else None)
    made = _gathered(tape, state, stacks, final, steps if sequence else None)
    made = tape.op("ReverseV2", [made]) if reverse and sequence else made
    scratch = _scratch_bytes(job, each) if spec.class_name in _CONVOLUTIONAL else 0
    zeros = [tape.op("ZerosLike", [state, *stacks[-1:]], listed, x.dtype)] if inline and tape.needs(x) else []

    def back(grad: TapeValue) -> list[TapeValue | None]:
        begun = zeros or ([tape.op("ZerosLike", [grad], listed, x.dtype)] if tape.needs(x) else [])
        summed = _summed_late(job, spec, inline)
        last = _backward(job, grad, stacks, summed, work, sequence, scratch, inline)
        held = [] if inline else stacks
        data = None
        if tape.needs(x):
            grads = tape.op("TensorListSetItem", [last, *begun, *held], listed, x.dtype, over=begun)
            data = time_in_front(tape, tape.op("TensorListStack", [grads, *held]), x.shape, held)
        return [data, *(tape.op("While", [last], each.shape, each.dtype) for each in (*begins, *weights))]

    tape.gradient(made, [x, *begins, *weights], back)
    return [made, *(_last_state(tape, made, sizes_of(kind)) for kind in job.outputs[1:outputs])]


def _stands_in_a_function(job: LoweringContext, spec: LayerSpec) -> bool:
    """Whether the loop stands in a function of its own, for which Grappler may put a kernel of cuDNN: one of
    Keras 2 with the settings of such a kernel does (`_could_use_gpu_kernel`).
    """
    told = spec.config
    return (
        not job.keras_3
        and spec.class_name in ("LSTM", "GRU")
        and told.get("activation", "tanh") == "tanh"
        and told.get("recurrent_activation", "sigmoid") == "sigmoid"
        and not told.get("recurrent_dropout")
        and not told.get("unroll")
        and bool(told.get("use_bias", True))
        and bool(told.get("reset_after", True))
    )


def _summed_late(job: LoweringContext, spec: LayerSpec, inline: bool) -> list[TapeValue]:
    """The gradients of weights that wait to be summed, as profiles of one thread show them: that of the
    state's kernel, and in an LSTM or a SimpleRNN of Keras 3 or the function of an LSTM that of the input's. A
    gate that cuts its part out of a kernel gives a gradient as large as the whole. None wait where steps are
    masked in a function.
    """
    if not inline and job.inputs[0].index in job.tape.masked:
        return []
    kinds = {kind for kind, _ in _cells(spec, ())}
    both = "GRU" not in kinds if job.keras_3 else not inline and kinds == {"LSTM"}
    parts = _parts(spec)
    waiting = []
    for name, weight in job.weights.items():
        if not job.tape.needs(weight):
            continue
        last = name.rpartition("/")[2]
        if last in ("kernel", "recurrent_kernel"):
            waiting += [weight] * (parts.get(last) or (both or last != "kernel"))
        else:
            waiting.append(weight)
    return waiting


def _last_state(tape: Tape, made: TapeValue, shape: Sizes) -> TapeValue:
    """A state after the last step: its gradient goes through the loop beside that of the outputs, zeros where
    nobody reads these.
    """
    state = tape.op("Slice", [made], shape)
    tape.gradient(state, [made], lambda grad: [tape.op("ZerosLike", [grad], made.shape)])
    return state


def _ahead(
    job: LoweringContext, spec: LayerSpec, items: TapeValue, state: Sizes, sequence: bool
) -> list[TapeValue]:
    """The gates' share of the input for the steps to come, beside the outputs of those that are over."""
    steps = items.shape[0]
    width = sum(_GATES.get(kind, 1) * units for kind, units in _cells(spec, state))
    made = _several(job, (items.shape[1], width), job.dtype, min(steps, _PARALLEL), items)
    return made + (
        _several(job, (items.shape[1], *state), job.dtype, steps - _PARALLEL, items) if sequence else []
    )


def _zeros(job: LoweringContext, weights: list[TapeValue], sequence: tuple[int, ...] | None) -> None:
    """Keras 2's function of a loop and its gradient hold constants: zeros to add the weights' gradients to,
    and the gradient of an unused last output.
    """
    shapes = [weight.shape for weight in weights] + (
        [sequence] if sequence and math.prod(sequence) * 4 <= MAX_BYTES else []
    )
    for at, shape in enumerate(shapes):
        job.tape.constant(f"zeros_{at}", shape, job.dtype)


def _stacks(job: LoweringContext, spec: LayerSpec, state: TapeValue, steps: int) -> list[TapeValue]:
    """What the steps keep: their input and `_PER_STEP` tensors, and with gates apart the parts of the weights
    that each step cuts out, and the state as each gate sees it.
    """
    tape, x = job.tape, job.inputs[0]
    if not tape.training:
        return []
    cells = _cells(spec, state.shape[1:])
    of_gates = _OF_HARD_GATES if _has_hard_gates(job, spec) else 0.0
    width = sum((_PER_STEP.get(kind, 8.0) + of_gates) * units for kind, units in cells)
    width += math.prod(x.shape[2:])
    if spec.config.get("recurrent_dropout"):
        width += sum(_GATES.get(kind, 1) * units for kind, units in cells)
    cut = _parts(spec)
    parts = [weight.shape for name, weight in job.weights.items() if name.rpartition("/")[2] in cut]
    parts += _cast_in_each_step(job)
    together = max(steps // _PARTS, 1)
    shapes = [(together, x.shape[0], round(width)), *((together, *shape) for shape in parts)]
    return [
        tape.op("TensorListPushBack", [state], shape, job.dtype, kind=Kind.LOOP_STACK, repeated=True)
        for _ in range(min(_PARTS, steps))
        for shape in shapes
    ]


def _cast_in_each_step(job: LoweringContext) -> list[Sizes]:
    """Kernels that a cell of Keras 3 casts anew in each step, which keeps what it made: with a policy that
    computes in 16 bits.
    """
    kernels = [
        weight
        for name, weight in job.weights.items()
        if name.rpartition("/")[2] in ("kernel", "recurrent_kernel")
    ]
    return [weight.shape for weight in kernels if job.keras_3 and weight.dtype != job.dtype]


def _has_gates_apart(spec: LayerSpec) -> bool:
    """Whether each gate makes a product of its own (`implementation=1`), which recurrent dropout asks for."""
    apart = spec.config.get("recurrent_dropout") or spec.config.get("implementation") == 1
    return spec.class_name in ("LSTM", "GRU") and bool(apart)


def _parts(spec: LayerSpec) -> dict[str, int]:
    """By kernel how many slices each step cuts out of it: each is kept, and the gradient of each is as large
    as the kernel. An LSTM splits the input's kernel at once (0), whose gradients are joined.
    """
    if _has_gates_apart(spec):
        gates = _GATES[spec.class_name]
        return {"kernel": gates if spec.class_name == "GRU" else 0, "recurrent_kernel": gates}
    if spec.class_name == "GRU" and not spec.config.get("reset_after", True):
        return {"recurrent_kernel": 2}
    return {}


def _has_hard_gates(job: LoweringContext, spec: LayerSpec) -> bool:
    """Whether a convolution over time has gates of `hard_sigmoid`, its default in Keras 2."""
    default = "sigmoid" if job.keras_3 else "hard_sigmoid"
    gates = spec.config.get("recurrent_activation", default)
    return spec.class_name in _CONVOLUTIONAL and gates == "hard_sigmoid"


def _gathered(
    tape: Tape, state: TapeValue, stacks: list[TapeValue], final: Sizes, steps: int | None
) -> TapeValue:
    """The outputs of all steps, which training has in its stacks, are joined and turned; else (`steps` None)
    the last one is the result.
    """
    if steps is None:
        return tape.op("StridedSlice", [state, *stacks], final)
    across = (steps, final[0], *final[2:])
    listed = stacks or [tape.op("TensorListSetItem", [state], across)]
    return time_in_front(
        tape, tape.op("TensorListStack", [state, *listed], across, state.dtype), final, stacks
    )


def _backward(
    job: LoweringContext,
    grad: TapeValue,
    stacks: list[TapeValue],
    weights: list[TapeValue],
    work: float,
    sequence: bool,
    scratch: int,
    inline: bool,
) -> TapeValue:
    """The loop in reverse: it lists the gradients of its outputs and pops the stacks; gradients of the
    weights wait to be summed. `scratch`: bytes that its kernels book.
    """
    tape, last, listed = job.tape, grad, [grad]
    steps, state = job.inputs[0].shape[1], (grad.shape[0], *grad.shape[2 if sequence else 1 :])
    if sequence:
        across = (steps, grad.shape[0], *grad.shape[2:])
        listed = [tape.op("TensorListFromTensor", [time_in_front(tape, grad, across)])]
        last = listed[0]
    pieces = min(_PIECES if inline else 1, len(stacks))
    for piece in range(pieces):
        popped = stacks[
            len(stacks) * (pieces - piece - 1) // pieces : len(stacks) * (pieces - piece) // pieces
        ]
        reads = [last, *popped, *(listed if piece < pieces / 2 else [])]
        begun = steps * (2 * piece + 1) // (2 * pieces) if pieces > 1 else steps
        waiting = [
            part
            for weight in weights
            for part in _several(job, weight.shape, weight.dtype, _parallel(job, weights, begun), last)
        ]
        last = tape.op("While", [*reads, *waiting], state, work=2 * work / pieces, temporary=scratch)
    return last


def gates_at_once(workers: int) -> float:
    """How many of the eight convolutions of a step unroll their gradients at once. A net of TensorFlow 2.11
    with a buffer of 30 MiB took 123 MiB on one thread, 135 on two, 175 on three and 228 on four; another half
    a buffer more on two; of two small ones both held two buffers on two threads, and two and four on four.
    """
    return min(1 + workers * (workers - 1) / 4, 8)


def _scratch_bytes(job: LoweringContext, state: Sizes) -> int:
    """What the gradients of a cell's convolutions unroll: each of the four gates has its own, of the input
    and of the state, and threads may be at several of them.
    """
    if job.device != "cpu" or job.onednn or len(state) > 3:
        return 0
    sizes = [0]
    for name in ("kernel", "recurrent_kernel"):
        shape = job.needed(name).shape
        filters = shape[-1] // _GATES[job.spec.class_name]
        unrolled = UnrolledConvolution(
            math.prod(state) // filters, math.prod(shape[:-1]), filters, ITEM_BYTES.get(job.dtype, 4)
        )
        sizes.append(unrolled.filter_gradient_bytes())
    return round(max(sizes) * gates_at_once(job.workers))


def _parallel(job: LoweringContext, weights: list[TapeValue], steps: int) -> int:
    """Gradients of the weights from so many time steps wait to be summed, since a loop runs up to 32
    iterations in parallel.

    One thread comes to the sums last; with several, of large ones about 6 were measured, of small ones 16 in
    Keras 3 and 8 to 31 in Keras 2.
    """
    if job.workers == 1:
        return min(steps, _PARALLEL)
    if sum(weight.bytes for weight in weights) >= 1 << 20:
        return min(steps, 6)
    return min(steps, 16 if job.keras_3 else 22)


def _several(
    job: LoweringContext, shape: tuple[int, ...], dtype: str, count: int, begun: TapeValue
) -> list[TapeValue]:
    """So many products of a loop, a few to a buffer."""
    sizes = [min(_TOGETHER, count - at) for at in range(0, count, _TOGETHER)]
    return [job.tape.op("MatMul", [begun], (size, *shape), dtype, work=0.0, repeated=True) for size in sizes]


def _recurrent(job: LoweringContext) -> list[TapeValue]:
    return _loop(job, job.spec, len(job.outputs), time_in_front(job.tape, job.inputs[0]))


def _bidirectional(job: LoweringContext) -> list[TapeValue]:
    """Twice the loop, and what joins both; threads that unroll patches are shared by both ways."""
    tape = job.tape
    both, turned = [], time_in_front(tape, job.inputs[0])
    for index, way in enumerate(("forward", "backward")):
        inner = job.spec.inner[index] if index < len(job.spec.inner) else job.spec.inner[0]
        weights = {
            name.removeprefix(f"{way}/"): value
            for name, value in job.weights.items()
            if name.startswith(f"{way}/")
        }
        convolves = inner.class_name in _CONVOLUTIONAL
        shape = job.outputs[0].shape or ()
        half = (
            job.outputs[0]
            if job.config.get("merge_mode", "concat") != "concat"
            else type(job.outputs[0])((*shape[:-1], (shape[-1] or 2) // 2), job.dtype)
        )
        part = LoweringContext(
            tape,
            inner,
            job.inputs[:1],
            (half,),
            weights,
            job.dtype,
            job.keras_3,
            job.device,
            job.threads,
            max(job.workers // 2, 2) if convolves and job.workers > 2 else job.workers,
        )
        both += _loop(part, inner, 1, turned, reverse=way == "backward")
    if job.config.get("merge_mode", "concat") is None:
        return both
    made = tape.op("ConcatV2", both, job.shape)
    tape.gradient(made, both, lambda grad: [tape.op("Slice", [grad], each.shape) for each in both])
    return [made, *(_last_state(tape, made, sizes_of(kind)) for kind in job.outputs[1:])]


RULES: dict[str, Rule] = {
    "MultiHeadAttention": _multi_head,
    "GroupedQueryAttention": _multi_head,
    "GroupQueryAttention": _multi_head,
    "Attention": _attention,
    "AdditiveAttention": _attention,
    **dict.fromkeys("LSTM GRU SimpleRNN RNN CuDNNLSTM CuDNNGRU".split(), _recurrent),
    **dict.fromkeys(_CONVOLUTIONAL, _recurrent),
    "Bidirectional": _bidirectional,
}
