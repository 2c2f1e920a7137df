"""The ops of one training step as a list: who reads and writes which buffer, forward and backward.

Layers write their forward ops with `Tape.op` and say with `Tape.gradient` how a gradient comes back through
them; `Tape.differentiate` then writes the backward ops, summing where several come together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tfmemlens.knowledge.half_products import float32_bytes
from tfmemlens.model.attribution import Kind, Owner, Phase
from tfmemlens.model.tensor import ITEM_BYTES
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass, field, replace

Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TapeValue:
    """One tensor. `buffer` is what holds it: a reshape shares the buffer of what it reads."""

    index: int
    shape: Sizes
    dtype: str
    buffer: int

    @property
    def bytes(self) -> int:
        """Shape x dtype."""
        return math.prod(self.shape) * ITEM_BYTES.get(self.dtype, 4)


@dataclass(frozen=True, slots=True)
class TapeBuffer:
    """Memory behind values. `standing`: it is there before the step and after it."""

    node: str
    op: str
    owner: Owner
    bytes: int
    shape: Sizes
    dtype: str
    standing: bool = False


@dataclass(frozen=True, slots=True)
class TapeOp:
    """One kernel: buffers that it reads and makes, what it may write over, its temporary, and its work (about
    bytes touched).
    """

    name: str
    op: str
    owner: Owner
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    over: tuple[int, ...] = ()
    """Buffers that the first output may take over, if nobody else still needs them."""
    temporary_bytes: int = 0
    copies: int | None = None
    """A buffer that its temporary is copied from as well, if somebody else still needs it."""
    work: float = 0.0
    after: tuple[int, ...] = ()
    """Ops (by index) that must have ended."""
    updates: int | None = None
    """The variable whose values it changes: in place, unless somebody still reads them."""
    replaces: int | None = None
    """The variable that takes over the buffer of the last read."""
    early: bool = False
    """Whether it runs at the very beginning, since it waits for nothing but variables."""
    late: bool = False
    """Whether it waits for the batch alone and is no hurry of anybody's: it runs behind all that is ready."""
    rank: float = 0
    """Its place among the readers of a tensor in the graph that Grappler leaves; those of one rank stand as
    they were made.
    """
    place: int | None = None
    """Of the gradient of a convolution's kernel in `fit`: the kernel's place among the trainable weights,
    which tells its rank with the order of their updates.
    """


def dependencies(ops: Sequence[TapeOp]) -> tuple[list[int], list[list[int]]]:
    """By op how many others it waits for, and which wait for it, in the order in which they were made."""
    producer = {made: index for index, op in enumerate(ops) for made in op.writes}
    waiting = [0] * len(ops)
    followers: list[list[int]] = [[] for _ in ops]
    for index, op in enumerate(ops):
        needed = {producer[read] for read in op.reads if read in producer}.union(op.after)
        waiting[index] = len(needed)
        for before in needed:
            followers[before].append(index)
    return waiting, followers


_NUMBER = regex(r"_\d+\Z")
_ALIGNED_BYTES = 64
"""A slice of a tensor's rows lies in its memory if it begins at a multiple (`EIGEN_MAX_ALIGN_BYTES`)."""
_SUMMED_BEYOND, _SUMMED_BYTES = 4, 128 << 20
"""More gradients of one tensor, with more bytes together, are summed in parts (`kMinAggregateCount` and
`kMinAggregateBytes` in tensorflow/c/eager/tape.h), and Grappler, which takes a CPU for 256 MiB large, sums
them into a temporary variable (`SchedulingPass` of its memory optimizer).
"""
_WAITING_SHARE = 0.4
"""How many of them wait at once then. Grappler sums them into a variable that waits for the last of them, and
in which order they are made is chance (the addresses of a hash table): 4, 5, 15, 26, 54 and 97 % were seen
in processes of their own, and the same in all steps of one process.
"""
_SHORT_OPS = 100
"""A forward pass of no more ops makes a short step, whose graph Grappler leaves in another order."""
Back = Callable[["TapeValue"], Sequence["TapeValue | None"]]


@dataclass
class Tape:
    """What has been written so far."""

    training: bool = True
    keras_3: bool = True
    """Keras 3 and Keras 2 make the ops of a step in another order."""
    scatters: bool = False
    """Whether the optimizer writes only rows of a table, so that each read of the table copies it."""
    fetches: bool = False
    """Whether the step fetches its batch itself, as in `fit`; `train_on_batch` is given it."""
    widened: frozenset[str] = frozenset()
    """Types whose products of matrices are computed in float32 copies."""
    onednn: bool = False
    open_batch: bool = False
    """Whether the last batch of an epoch is smaller: then no size of a batch is known to Grappler."""
    ops: list[TapeOp] = field(default_factory=list)
    buffers: list[TapeBuffer] = field(default_factory=list)
    values: list[TapeValue] = field(default_factory=list)
    layer: str = ""
    phase: Phase = Phase.FORWARD
    _records: list[tuple[TapeValue, tuple[TapeValue, ...], Back]] = field(default_factory=list)
    gradients: dict[int, TapeValue] = field(default_factory=dict)
    """Gradients of the weights, by the weight's buffer."""
    _names: dict[str, int] = field(default_factory=dict)
    constants: list[TapeValue] = field(default_factory=list)
    """What Grappler computed once: it stands beside the variables."""
    turned: dict[int, TapeValue] = field(default_factory=dict)
    """What a transposition turned, by its result: turned back, both fall away where Grappler sees them (Keras
    3).
    """
    _constants_once: dict[tuple[str, Sizes, str], TapeValue] = field(default_factory=dict)
    _made_once: dict[tuple[int, Sizes, str, Sizes], TapeValue] = field(default_factory=dict)
    """What was padded or cut apart, by the buffer, its shape, the op and the new shape: Grappler computes the
    same once.
    """
    turned_once: dict[tuple[int, Sizes], TapeValue] = field(default_factory=dict)
    """What was turned for the gradients of products, by the buffer and its new shape, likewise."""
    normalised: set[int] = field(default_factory=set)
    """Values (by index) that a LayerNormalization made."""
    partly_summed: dict[Sizes, int] = field(default_factory=dict)
    """Shapes of gradients so many that they are summed in parts, with the bytes of all of one shape."""
    short: bool = False
    """Whether the forward pass has few ops: known when the gradients are written."""
    _parts: dict[int, list[TapeValue]] = field(default_factory=dict)
    """By value the parts of its gradient that are there, while the gradients are written."""
    trainables: dict[int, int] = field(default_factory=dict)
    """By the buffer of a trainable weight its place among all of them, in the order they were made."""
    _last_named: dict[str, tuple[str, int]] = field(default_factory=dict)
    """By name without its number the layer whose name is the last as text, and the place of its last
    trainable weight; filled once it was asked for.
    """
    wanted: set[int] = field(default_factory=set)
    """Values (by index) whose gradient somebody needs: trainable weights, and whatever is computed from
    them.
    """
    masked: set[int] = field(default_factory=set)
    """Values that come with Keras's mask of the time steps that count."""

    def source(
        self,
        name: str,
        shape: Sizes,
        dtype: str,
        kind: Kind,
        trainable: bool = False,
        layer: str | None = None,
    ) -> TapeValue:
        """A tensor that stands before the step: a weight, a batch of inputs."""
        phase = Phase.INPUT if kind is Kind.INPUT else Phase.NONE
        op = "VarHandleOp" if kind is Kind.PARAMETER else "_Arg"
        value = self._value(name, op, Owner(layer, kind, phase, op), shape, dtype, standing=True)
        if trainable:
            self.wanted.add(value.index)
            self.trainables[value.buffer] = len(self.trainables)
        return value

    def constant(self, name: str, shape: Sizes, dtype: str) -> TapeValue:
        """What Grappler computes once for the layer at work."""
        layer = self.layer
        self.constants.append(self.source(f"{layer}/{name}", shape, dtype, Kind.CONSTANT, layer=layer))
        return self.constants[-1]

    def zeros(self, shape: Sizes, dtype: str) -> TapeValue:
        """Zeros as large as something of the batch: folded, once for each shape, where its size is known."""
        if self.open_batch:
            return self.op("Fill", [], shape, dtype)
        return self._folded("zeros", shape, dtype)

    def repeated_number(self, shape: Sizes, dtype: str) -> TapeValue:
        """One number as often as a weight has elements: folded, once for each shape."""
        return self._folded("numbers", shape, dtype)

    def _folded(self, name: str, shape: Sizes, dtype: str) -> TapeValue:
        key = name, shape, dtype
        if key not in self._constants_once:
            self._constants_once[key] = self.constant(name, shape, dtype)
        return self._constants_once[key]

    def _value(
        self, node: str, op: str, owner: Owner, shape: Sizes, dtype: str, standing: bool = False
    ) -> TapeValue:
        size = math.prod(shape) * ITEM_BYTES.get(dtype, 4)
        self.buffers.append(TapeBuffer(node, op, owner, size, shape, dtype, standing))
        self.values.append(TapeValue(len(self.values), shape, dtype, len(self.buffers) - 1))
        return self.values[-1]

    def _node(self, op: str) -> str:
        layer = self.layer
        plain = f"{layer}/{op}" if layer else op
        if self.phase is Phase.GRADIENT:
            plain = f"gradient_tape/{layer}/{op}"
        count = self._names[plain] = self._names.get(plain, -1) + 1
        return plain if not count else f"{plain}_{count}"

    def op(
        self,
        op: str,
        reads: Sequence[TapeValue],
        shape: Sizes | None = None,
        dtype: str | None = None,
        *,
        over: Sequence[TapeValue] = (),
        temporary: int = 0,
        copies: TapeValue | None = None,
        work: float | None = None,
        kind: Kind | None = None,
        early: bool = False,
        late: bool = False,
        rank: float = 0,
        place: int | None = None,
        repeated: bool = False,
    ) -> TapeValue:
        """One kernel with one output, of the first input's type unless told otherwise; it may write over the
        values in `over`.

        `repeated`: one of many executions of the same node, as in a loop.
        """
        like = reads[0] if reads else None
        if shape is None:
            shape = like.shape if like else ()
        dtype = dtype or (like.dtype if like else "float32")
        owner = Owner(self.layer or None, kind or self._kind(), self.phase, op)
        node = f"{self.layer}/while/{op}" if repeated else self._node(op)
        made = self._value(node, op, owner, tuple(shape), dtype)
        touched = made.bytes + sum(each.bytes for each in reads)
        operands = [each.shape for each in reads[:2]]
        temporary += float32_bytes(op, dtype, operands, made.shape, self.widened, self.onednn)
        fitting = tuple(each.buffer for each in over if self.buffers[each.buffer].bytes == made.bytes)
        self.ops.append(
            TapeOp(
                node,
                op,
                owner,
                tuple(each.buffer for each in reads),
                (made.buffer,),
                fitting,
                temporary,
                None if copies is None else copies.buffer,
                touched if work is None else work,
                early=early,
                late=late,
                rank=rank,
                place=place,
            )
        )
        if any(each.index in self.wanted for each in reads):
            self.wanted.add(made.index)
        return made

    def split(self, value: TapeValue, shapes: Sequence[Sizes]) -> list[TapeValue]:
        """One kernel that copies every part of a tensor at once (SplitV), each into a buffer of its own."""
        owner = Owner(self.layer or None, self._kind(), self.phase, "SplitV")
        node = self._node("SplitV")
        made = [self._value(node, "SplitV", owner, tuple(shape), value.dtype) for shape in shapes]
        writes = tuple(each.buffer for each in made)
        self.ops.append(TapeOp(node, "SplitV", owner, (value.buffer,), writes, work=2.0 * value.bytes))
        if value.index in self.wanted:
            self.wanted.update(each.index for each in made)
        return made

    def beside(self, value: TapeValue, shape: Sizes) -> TapeValue:
        """A further output of the op that has just made `value`."""
        op = self.ops[-1]
        assert value.buffer in op.writes
        made = self._value(op.name, op.op, op.owner, tuple(shape), value.dtype)
        self.ops[-1] = replace(op, writes=(*op.writes, made.buffer))
        if value.index in self.wanted:
            self.wanted.add(made.index)
        return made

    def _kind(self) -> Kind:
        if self.phase is Phase.GRADIENT:
            return Kind.GRADIENT
        return Kind.WORKSPACE if self.phase is Phase.OPTIMIZER else Kind.ACTIVATION

    def consume(
        self,
        op: str,
        reads: Sequence[TapeValue],
        *,
        updates: TapeValue | None = None,
        replaces: TapeValue | None = None,
    ) -> None:
        """A kernel that makes nothing: the update of a variable in place, or its replacement by the last
        thing read.
        """
        owner = Owner(self.layer or None, self._kind(), self.phase, op)
        node, read = self._node(op), tuple(each.buffer for each in reads)
        touched = float(sum(each.bytes for each in reads))
        changed, replaced = (value.buffer if value else None for value in (updates, replaces))
        self.ops.append(TapeOp(node, op, owner, read, (), work=touched, updates=changed, replaces=replaced))

    def alias(self, value: TapeValue, shape: Sizes) -> TapeValue:
        """The same buffer in another shape: Reshape, Squeeze, Identity."""
        made = TapeValue(len(self.values), tuple(shape), value.dtype, value.buffer)
        self.values.append(made)
        if value.index in self.wanted:
            self.wanted.add(made.index)
            self.gradient(made, (value,), lambda grad: (self.alias(grad, value.shape),))
        return made

    def op_once(self, op: str, read: TapeValue, shape: Sizes) -> TapeValue:
        """One kernel for all who ask for it; each gets a value of his own, with gradients of its own."""
        key = read.buffer, read.shape, op, shape
        if key not in self._made_once:
            self._made_once[key] = self.op(op, [read], shape)
            return self._made_once[key]
        first = self._made_once[key]
        self.values.append(TapeValue(len(self.values), first.shape, first.dtype, first.buffer))
        return self.values[-1]

    def slices(self, value: TapeValue) -> list[TapeValue]:
        """Each row of a tensor, in the tensor's own memory where rows are aligned. The gradient of each is a
        tensor as large as all of them (`StridedSliceGrad`), and these are summed.
        """
        shape = value.shape[1:]
        rows = []
        for _ in range(value.shape[0]):
            row = TapeValue(len(self.values), shape, value.dtype, value.buffer)
            if row.bytes % _ALIGNED_BYTES:
                row = self.op("StridedSlice", [value], shape)
            else:
                self.values.append(row)
            self.gradient(
                row, [value], lambda grad: [self.op("StridedSliceGrad", [grad], value.shape, value.dtype)]
            )
            rows.append(row)
        return rows

    def joined(self, rows: Sequence[TapeValue]) -> TapeValue:
        """Tensors of one shape, stacked; their gradients are rows of its gradient."""
        made = self.op("Pack", rows, (len(rows), *rows[0].shape))

        def back(grad: TapeValue) -> list[TapeValue]:
            return [self.op("Unpack", [grad], row.shape, row.dtype) for row in rows]

        self.gradient(made, rows, back)
        return made

    def gradient(self, made: TapeValue, read: Sequence[TapeValue], back: Back) -> None:
        """How the gradient of `made` becomes the gradients of what was read (None: it has none)."""
        if self.training and any(each.index in self.wanted for each in read):
            self.wanted.add(made.index)
            self._records.append((made, tuple(read), back))

    def needs(self, value: TapeValue) -> bool:
        """Whether anybody asks for the gradient of this value."""
        return self.training and value.index in self.wanted

    def is_read_elsewhere(self, grad: TapeValue) -> bool:
        """Whether a gradient at hand is also a part of another's sum that is still to come."""
        return any(grad.buffer == each.buffer for pieces in self._parts.values() for each in pieces)

    def has_a_part(self, value: TapeValue) -> bool:
        """Whether a part of a value's gradient is there already, so that others read the value, too."""
        return bool(self._parts.get(value.index))

    def is_behind_the_last_name(self, weight: TapeValue) -> bool:
        """Whether a weight was made after the layer whose name is the last as text among those that Keras
        named alike: `dense_9`, where there are `dense` to `dense_60`.

        In graphs of long steps of Keras 2 (TensorFlow 2.11, nets of 31 to 61 dense layers, adam and sgd) a
        walk begins at that layer, and the readers of a gradient behind it stand by their names: the kernel's
        gradient, `MatMul_1`, is the last and runs at once.
        """
        if not self._last_named:
            for each, at in self.trainables.items():
                layer = self.buffers[each].node.rpartition("/")[0]
                stem = _NUMBER.sub("", layer)
                self._last_named[stem] = max(self._last_named.get(stem, ("", 0)), (layer, at))
        stem = _NUMBER.sub("", self.buffers[weight.buffer].node.rpartition("/")[0])
        return (
            self.trainables.get(weight.buffer, -1) > self._last_named.get(stem, ("", len(self.trainables)))[1]
        )

    def differentiate(self, seeds: Sequence[tuple[TapeValue, TapeValue]]) -> None:
        """Write the backward ops: from the gradients of the outputs to the gradients of the weights."""
        self.phase, self.short = Phase.GRADIENT, len(self.ops) <= _SHORT_OPS
        parts = self._parts
        for value, grad in seeds:
            parts.setdefault(value.index, []).append(grad)
        layers = {made.index: self.buffers[made.buffer].owner.layer for made, _, _ in self._records}
        for made, read, back in reversed(self._records):
            if made.index not in parts:
                continue
            self.layer = layers[made.index] or ""
            total = self._sum(parts.pop(made.index))
            for value, share in zip(read, back(total), strict=True):
                if share is not None and value.index in self.wanted:
                    parts.setdefault(value.index, []).append(share)
        for index, pieces in parts.items():
            value = self.values[index]
            if self.buffers[value.buffer].standing:
                self.layer = self.buffers[value.buffer].owner.layer or ""
                self.gradients[value.buffer] = self._sum(pieces)

    def _sum(self, pieces: list[TapeValue]) -> TapeValue:
        if len(pieces) == 1:
            return pieces[0]
        if len(pieces) <= _SUMMED_BEYOND or sum(piece.bytes for piece in pieces) <= _SUMMED_BYTES:
            return self.op("AddN", pieces, over=pieces)
        part = math.ceil(_WAITING_SHARE * len(pieces))
        total = self._sum(pieces[:1])
        for at in range(1, len(pieces), part):
            together = [total, *pieces[at : at + part]]
            total = self.op("AddN", together, over=together)
        self.partly_summed[total.shape] = self.partly_summed.get(total.shape, 0) + sum(
            piece.bytes for piece in pieces
        )
        return total

    def prune(self, outputs: Sequence[TapeValue]) -> None:
        """Empty the ops whose results nobody reads, as Grappler drops them; their places stay, since others
        count on them.
        """
        wanted = {value.buffer for value in outputs}
        for index in range(len(self.ops) - 1, -1, -1):
            op = self.ops[index]
            if not op.writes or wanted.intersection(op.writes):
                wanted.update(op.reads)
            else:
                self.ops[index] = replace(
                    op, reads=(), writes=(), over=(), temporary_bytes=0, copies=None, work=0.0
                )
