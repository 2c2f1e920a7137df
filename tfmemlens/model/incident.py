"""One failed request for memory, and the state around it as far as the input tells."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from tfmemlens.model.allocation import AllocationTable
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import tensor_bytes
from tfmemlens.units import Size
from tfmemlens.values import dataclass

if TYPE_CHECKING:
    from tfmemlens.model.timeline import Timeline

NOTHING = Size.exactly(0)
LAST_BIN = 1 << 28
"""The smallest chunk of BFC's last bin."""


class RequestKind(Enum):
    """What was asked for when it failed."""

    TENSOR = "tensor"
    DUMP = "allocator dump"
    XLA = "XLA arena"
    TPU = "TPU memory"
    DRIVER = "driver allocation"
    HOST = "host memory"
    COPY = "copy to a device"
    WORKSPACE = "library workspace"
    PROGRAM = "compiled program"
    """An account of what a program needs, and no failure."""
    PROFILE = "device memory profile"
    """An account of what is held, and no failure."""


@dataclass(frozen=True, slots=True)
class Argument:
    """A tensor that the failing Keras layer was called with. None stands for an unknown dimension."""

    name: str
    shape: tuple[int | None, ...]
    dtype: str
    line: Line


class Frame(NamedTuple):
    """A frame of the traceback above a failure."""

    place: str
    """`train.py:30`; a notebook's cell may have no line."""
    text: str = ""
    """The code that the frame quotes."""
    name: str = ""
    """The function that it lies in."""


@dataclass(frozen=True, slots=True)
class FailedRequest:
    """The request that could not be served. Every field is None where the input does not say."""

    kind: RequestKind = RequestKind.TENSOR
    node: str | None = None
    op: str | None = None
    shape: tuple[int | None, ...] | None = None
    dtype: str | None = None
    device: str | None = None
    allocator: str | None = None
    size: Size | None = None
    """What the allocator was asked for, as the input states it (`rounded to`, `trying to allocate`)."""
    temporary: bool = False
    line: Line | None = None
    kernel: str | None = None
    """The C++ source that asked, as OP_REQUIRES tells: `conv_grad_input_ops.h:694`."""
    inputs: tuple[str, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    """Attributes of the op, where the message carries the whole NodeDef (TF <= 1.12): `("data_format",
    '"NHWC"')`.
    """
    source: str | None = None
    """The user's line of code, `train.py:30`."""
    source_text: str | None = None
    ran_by: Frame | None = None
    """The user's line that ran the op, where `source` is another one: the line that made it."""
    first_call: Frame | None = None
    """The user's line that called the compiled program's function when it was compiled."""
    forward_node: str | None = None
    """The forward op whose gradient this is, where TensorFlow names it (`which was originally created as
    op`).
    """
    keras_layer: tuple[str, str] | None = None
    """Name and type of the Keras layer that was being called."""
    arguments: tuple[Argument, ...] = ()
    """The tensors that this layer was called with."""
    function: str | None = None
    """The tf.function that ran, `__inference_train_step_669`."""
    caller: str | None = None
    """The outermost call that the failing op ran in, where the message names it:
    `reader/lstm_a/PartitionedCall`.
    """
    updating: bool = False
    """Whether the op was created inside an optimizer, as the traceback of its creation shows."""
    creating: bool = False
    """Whether a weight or a slot was being created, as the traceback shows."""
    optimizer: str | None = None
    """The optimizer whose own file is in the traceback: `adam`."""
    pipeline: bool = False
    """Whether it failed in a function of the input pipeline."""
    training: bool | None = None
    """What the failing Keras layer was told of training."""
    frames: tuple[Frame, ...] = ()
    """The traceback of the exception, the outermost frame first."""
    keras_call: str | None = None
    """The method of a Keras model that the traceback goes through: `fit`, `predict`, `evaluate`."""
    executable: str | None = None
    compiled: bool = False
    """Whether XLA asked the allocator, for a compiled program; the allocator's dump tells more of it."""

    @property
    def tensor_bytes(self) -> int | None:
        """Bytes of shape x dtype, None where either is unknown (a message of TF <= 1.4 names no dtype)."""
        return tensor_bytes(self.shape, self.dtype)

    @property
    def of_xla(self) -> bool:
        """Whether a program of XLA's asked for it, on a TPU or elsewhere."""
        return self.kind in (RequestKind.XLA, RequestKind.TPU)

    @property
    def is_operand(self) -> bool:
        """Whether a product of matrices made it as a batch of one: a matrix that it copies to float32 (read
        in TensorFlow 2.21's `matmul_op_impl.h`, for bfloat16 on a CPU).
        """
        shape = self.shape or ()
        return len(shape) == 3 and shape[0] == 1 and "matmul_op" in (self.kernel or "")


@dataclass(frozen=True, slots=True)
class AllocatorState:
    """The allocator's own figures at the failure. None where the input does not print them."""

    limit: Size | None = None
    in_use: Size | None = None
    peak: Size | None = None
    pool: Size | None = None
    free: Size | None = None
    """Free bytes inside the pool (not what the pool may still grow by)."""
    largest_free_chunk: Size | None = None
    free_chunks: int | None = None
    requested_in_use: Size | None = None
    """Bytes that the clients of all in-use chunks asked for; `in_use` minus this is waste inside chunks."""
    allocations: int | None = None
    largest_allocation: Size | None = None
    """The largest single allocation that the allocator ever made."""
    occupied: float | None = None
    """The share of the pool that its printed map shows in use, 0 to 1."""
    free_run: float | None = None
    """The longest stretch without anything in use on that map, as a share of the pool."""
    bins: tuple[BinRow, ...] = ()
    """Of a dump that was cut: the bins that are here."""
    lines: tuple[tuple[str, Line], ...] = ()
    """The line behind a figure: (`in_use`, line)."""

    def line_of(self, figure: str) -> Line | None:
        """The input's line that states the figure, None if it was summed up from many."""
        return dict(self.lines).get(figure)


@dataclass(frozen=True, slots=True)
class ChunkMap:
    """The chunks of an allocator in address order, as columns; equal length. `free_bytes_known` is False for
    a cut list.
    """

    address: Sequence[int] = ()
    size_bytes: Sequence[int] = ()
    in_use: Sequence[bool] = ()
    region: Sequence[int] = ()
    requested_bytes: Sequence[int | None] = ()
    op: Sequence[str | None] = ()
    regions: tuple[int, ...] = ()
    """Sizes of the regions, where the dump states them (>= 1.14)."""
    complete: bool = True

    def __len__(self) -> int:
        return len(self.size_bytes)


@dataclass(frozen=True, slots=True)
class BinRow:
    """A line of the dump's bins: chunks of a size and more, up to twice that, in all but the last."""

    low_bytes: int
    used: int
    """Chunks in use."""
    in_use: Size
    line: Line | None = None

    @property
    def is_last(self) -> bool:
        """Whether its chunks are of that size and more, without a bound."""
        return self.low_bytes == LAST_BIN


@dataclass(frozen=True, slots=True)
class SizeClass:
    """A line of the dump's summary: so many in-use chunks of one size."""

    count: int
    size_bytes: int
    line: Line | None = None

    @property
    def total_bytes(self) -> int:
        """All of them together."""
        return self.count * self.size_bytes


@dataclass(frozen=True, slots=True)
class HolderBlock:
    """One block of a report: the live allocations of a step on one device and allocator."""

    device: str | None
    allocator: str | None
    table: AllocationTable
    unlisted_nodes: int = 0
    unlisted: Size = NOTHING
    header: Line | None = None
    tail: Line | None = None
    cut: bool = False
    """Whether the end of the list is missing: neither a `Remaining` line nor 99 % of anything can be relied
    on.
    """


@dataclass(frozen=True, slots=True)
class PaddedBuffer:
    """A buffer of a TPU listing that padding to tiles made larger than its tensor."""

    label: str
    size: Size
    unpadded: Size
    shape: tuple[int | None, ...] | None
    dtype: str | None
    layout: str
    line: Line


@dataclass(frozen=True, slots=True)
class PrintedConvolution:
    """A convolution that made a buffer, by the parameters in its name."""

    sizes: tuple[int, ...]
    """Of what it goes over."""
    channels: int
    """Of what it goes over."""
    filters: int
    buffer: Size


@dataclass(frozen=True, slots=True)
class ProgramValue:
    """Where a large value of a compiled program comes from, beyond its name."""

    node: str
    size_bytes: int
    place: str | None = None
    """The user's line that makes it, `train.py:30`."""
    text: str | None = None
    """What stands in that line."""
    arguments: tuple[str, ...] = ()
    """The nearest arguments of the program that it is computed with: `params['decoder']['w']`."""
    function: str | None = None
    """The user's function that the line stands in."""

    @property
    def label(self) -> str:
        """`encode (net.py:24)`, of what stands in no function the line alone; empty where none is known."""
        place = (self.place or "").replace("\\", "/").rpartition("/")[2]
        function = (self.function or "").rpartition(".")[2]  # `fit.<locals>.body`
        return f"{function} ({place})" if place and function.isidentifier() else place


TEMPORARIES = ("preallocated temp", "HLO temp")
"""What XLA's lists call what lives only while a program runs: on a GPU or CPU, and on a TPU."""


@dataclass(frozen=True, slots=True)
class CompilerMemory:
    """What an XLA compiler says of one executable: sizes by purpose, never more than one executable."""

    sections: tuple[tuple[str, Size, Line], ...] = ()
    """(`preallocated temp`, size, line), (`parameter`, …), (`HLO temp`, …): in the input's own words."""
    needed: Size | None = None
    capacity: Size | None = None
    reduced_from: Size | None = None
    """Need before rematerialisation."""
    reduced_to: Size | None = None
    goal: Size | None = None
    reduced_line: Line | None = None
    padded: tuple[PaddedBuffer, ...] = ()
    excess: Size | None = None
    """By how much the need exceeds the capacity, where the compiler says so: finer than the difference of two
    printed figures.
    """
    cut: bool = False
    """Whether the first, largest buffers of the list are missing from the input."""
    before: int = 0
    """How many these are, by the number of the first that is here."""
    arguments_and_results: Size | None = None
    """What it is given and returns, where XLA found that this alone exceeds its limit; temporaries cannot be
    reduced enough then.
    """
    free: Size | None = None
    """What the device had left when a loaded program or a buffer asked for its memory."""
    schedule: Timeline | None = None
    """Between which instructions each value of the arena lives, where the compiler's files say so; a listing
    of the largest buffers has no order.
    """
    values: tuple[ProgramValue, ...] = ()
    """Where its largest values come from, the largest first."""
    tried: Line | None = None
    """The line of the log that shows the request to be an array of one kernel, which XLA tried while it
    compiled the program.
    """
    squares: tuple[int, ...] = ()
    """Sizes that stand twice in a shape of such a kernel."""
    padded_together: PaddedBuffer | None = None
    """All temporaries together, where the listing says what padding to tiles makes of them."""
    convolution: PrintedConvolution | None = None
    """Of the largest buffer, where the operation's name has its parameters."""

    def section(self, *names: str) -> Size | None:
        """The size stated for one purpose, whichever of its names the input uses."""
        return next((size for name in names for key, size, _ in self.sections if key == name), None)

    @property
    def arguments(self) -> Size | None:
        """What the program is given: weights, slots, the batch."""
        return self.section("parameter", "arguments")

    @property
    def results(self) -> Size | None:
        """What it returns."""
        return self.section("maybe_live_out", "output")

    @property
    def temporaries(self) -> Size | None:
        """The arena of all that lives only while it runs."""
        return self.section(*TEMPORARIES)

    @property
    def one_operation(self) -> bool:
        """Whether the account is of one operation that ran by itself: results, and nothing temporary. A
        step always has temporaries.
        """
        nothing = self.temporaries is not None and not self.temporaries.bytes
        return bool(nothing and self.results and self.results.bytes and self.arguments)

    @property
    def constants(self) -> Size | None:
        """Values that are part of the program itself, as arrays are that it closes over."""
        return self.section("constant")

    @property
    def shared_bytes(self) -> int | None:
        """How much of the results lies in the arguments' place, as stated or by the sums; None where neither
        tells.
        """
        if stated := self.section("shared"):
            return stated.bytes
        parts, total = (self.arguments, self.results, self.temporaries), self.section("total")
        if total is None or None in parts:
            return None
        return max(sum(part.bytes for part in parts if part) - total.bytes, 0)


@dataclass(frozen=True, slots=True)
class Incident:
    """One failure, however often the log tells it."""

    request: FailedRequest
    occurrences: int = 1
    """How often the input tells this failure (retellings, root errors, ranks)."""
    state: AllocatorState = AllocatorState()
    holders: tuple[HolderBlock, ...] = ()
    chunks: ChunkMap | None = None
    size_classes: tuple[SizeClass, ...] = ()
    compiler: CompilerMemory | None = None
    fatal: bool = True
    """False for a failure after which the run went on."""
    ranks: tuple[str, ...] = ()
    """The processes that tell it, where lines carry their rank or host."""
    hint: Line | None = None
    """TensorFlow's hint that the report could have been switched on: it was not."""
    driver_failures: tuple[tuple[Size, Line], ...] = ()
    tellings: tuple[Line, ...] = ()
    era: tuple[str, str] | None = None
    """Oldest and newest TensorFlow that prints this way, such as ("1.14", "2.1")."""
    first: Line | None = None
    """Where the input begins to tell of it: the first line of a dump, say."""
