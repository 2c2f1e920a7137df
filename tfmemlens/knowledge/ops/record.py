"""What is known of an op type: one record, the columns of the table."""

from __future__ import annotations

from enum import Enum

from tfmemlens.knowledge.ops.shapes import ShapeRule, ValueRule
from tfmemlens.values import dataclass


class Output(Enum):
    """Where an op's first output lies."""

    NEW = "a buffer of its own"
    PASSED = "its first input's buffer, whoever else reads it"
    OVERWRITTEN = "an input that nobody else holds, if it has the size and type"
    HANDLE = "nowhere: it names something outside the allocator"
    NOTHING = "it has none"


class Layout(Enum):
    """What Grappler's layout pass does with it (`layout_optimizer.cc`, 1.4 to 1.14;
    `generic_layout_optimizer_transposer.cc`, 1.15 to 2.21).
    """

    CONVERTED = "has a data_format, which the pass changes"
    FOLLOWING = "works on either format, if all goes well"
    FOLLOWING_BOTH = "the same, with two operands that must agree"
    FOLLOWING_AXES = "the same, along axes that the pass must know"
    REARRANGING = "gives dimensions another meaning"
    LOSS = "leaves nothing that has a layout"
    ON_HOST = "runs on the host"


class Swallowed(Enum):
    """As what Grappler's Remapper lets a convolution or a matrix product swallow an op that alone reads it
    (`remapper.cc`).
    """

    BIAS = "its bias"
    NORM = "its batch normalisation, in inference mode"
    ACTIVATION = "its activation, after one of the others"


class Batch(Enum):
    """Which of its outputs' dimensions are the batch, if those of its inputs are known."""

    SEEDED = "it brings the batch in"
    NEVER = "none: weights, their gradients and slots, shapes"
    ROWS_AND_COLUMNS = "rows from the first factor, columns from the second"
    RESHAPED = "groups of sides with the same product"
    PERMUTED = "as the permutation says"
    IMAGE = "all but the channels, as in the data"
    FIRST_OUTPUT = "as in the data; the other outputs count channels"
    FROM_SHAPE = "the leading side of the shape that it is given, which stands first"
    TILED = "as in the tensor that it repeats, else as in the shape, which stands last"
    REPEATED = "as `TILED`, and the batch may become a multiple of itself"
    JOINED = "as by broadcasting; the batch may become a multiple of itself"
    REDUCED = "what is left of the input's sides, in their order"
    BROADCAST = "as by broadcasting"


@dataclass(frozen=True, slots=True)
class Op:
    """One op type. Where a column says nothing, the op makes new tensors, and nothing else is known."""

    shape: ShapeRule | None = None
    """The shapes of its outputs."""
    values: ValueRule | None = None
    """The whole numbers in its outputs, where they are few and known."""
    dtypes: tuple[str, ...] = ()
    """For each output (the last for all further ones) the attribute that states its dtype, or
    `attribute=dtype` with what holds without it; nothing where the usual attributes do.
    """
    output: Output = Output.NEW
    layout: Layout | None = None
    batch: Batch = Batch.BROADCAST
    quick: bool = False
    """Whether its kernel says that it is not expensive (`OpKernel::IsExpensive`)."""
    effect: bool = False
    """Whether Grappler keeps it where only control edges wait for it."""
    folded: bool = True
    """Whether it may be computed once, if its inputs are constants."""
    by_shapes: bool = False
    """Whether the shapes of its inputs decide its result (`ConstantFolding::MaterializeShapes`)."""
    commutative: bool = False
    """Whether ArithmeticOptimizer sorts its inputs."""
    random: bool = False
    fused: str = ""
    """What the Remapper makes of it on a CPU, with what it swallows; empty where it swallows nothing."""
    swallowed: Swallowed | None = None
    outputs: tuple[str, ...] = ()
    """The names of its outputs, by which a function's body refers to them; empty where it has one."""


def each(names: str, op: Op) -> dict[str, Op]:
    """The same record for these op types, with spaces between them."""
    return dict.fromkeys(names.split(), op)
