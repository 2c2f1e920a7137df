"""A capture with owners: the moments worth explaining, each with its books."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from tfmemlens.model.attribution import Attribution, Kind, Owner
from tfmemlens.model.capture import Capture
from tfmemlens.model.incident import NOTHING, FailedRequest, Incident
from tfmemlens.model.layers import LayerSummary
from tfmemlens.model.layout import LayoutStudy, LayoutTrial
from tfmemlens.model.tensor import TensorType
from tfmemlens.model.timeline import NeededLimit, Timeline
from tfmemlens.model.what_if import (
    AskPredicted,
    AskTensor,
    AskTracedFit,
    AskWithout,
    WhatIf,
    no_step_known,
    no_tensor_known,
    nothing_known,
    nothing_predicted,
    nothing_traced,
)
from tfmemlens.units import Size
from tfmemlens.values import dataclass, field

_WELL_WITHIN = 0.95
"""Of a limit: so far regions may be rounded."""


@dataclass(frozen=True, slots=True)
class Balance:
    """Where the device's memory is at one moment. None where the input does not say; the parts it does say
    add up.
    """

    limit: Size | None = None
    address_space: int | None = None
    """Beside no other limit, what a process may map of the host's (`ulimit -v`): its arrays have less."""
    pool: Size | None = None
    in_use: Size | None = None
    peak: Size | None = None
    free: Size | None = None
    growable: Size | None = None
    """What the pool may still take from the device."""
    largest_free_chunk: Size | None = None
    listed: Size = NOTHING
    unlisted: Size = NOTHING
    unlisted_nodes: int = 0
    outside_report: Size | None = None
    """In use, but not in the report: variables, constants, running ops, received tensors, earlier steps."""
    waste: Size | None = None
    """Inside in-use chunks, beyond what their clients asked for."""
    requested: int | None = None
    """What the failing request asked the allocator for."""
    room: Size | None = None
    """All that the limit leaves, where only statistics are known and even that is too little."""
    missing: int | None = None
    """By how much the request exceeds all that was free or could be taken; None when unknown, 0 when it would
    have fitted in sum.
    """

    @property
    def total(self) -> Size:
        """All bytes of the report, listed and not."""
        return self.listed + self.unlisted

    @property
    def available(self) -> Size | None:
        """Free in the pool plus what the pool may still take; at most `room`, where the pool is not known."""
        if self.free is None:
            return self.room
        return self.free + (self.growable or NOTHING)

    @property
    def refused(self) -> Size | None:
        """What the limit leaves beside the whole pool, where that has room for the request: BFC then asks
        the driver for a region of that size at least, and fails only where the driver refuses.
        """
        if self.limit is None or self.pool is None or self.requested is None:
            return None
        return self.growable if self.pool.high + self.requested < _WELL_WITHIN * self.limit.low else None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One tensor that a printed size can stand for."""

    tensor: TensorType
    slack_bytes: int
    """What the chunk has beyond the tensor."""


@dataclass(frozen=True, slots=True)
class Naming:
    """The tensors behind a row's figure, best first; more than one when the figure is ambiguous. `reason`
    says what decided.
    """

    candidates: tuple[Candidate, ...]
    reason: str

    @property
    def best(self) -> Candidate:
        """The likeliest tensor."""
        return self.candidates[0]


@dataclass(frozen=True, slots=True)
class Request:
    """A failed request with its owner."""

    failed: FailedRequest
    owner: Owner
    rounded_bytes: int | None
    """What the allocator was asked for: stated by a dump, or shape x dtype rounded up to 256 for a BFC
    allocator.
    """
    batch: int | None = None
    """The first dimension of what was asked for, where something shows that it is the batch."""
    fixed: bool = False
    """Whether what was asked for is as large whatever the batch."""

    @property
    def needed_bytes(self) -> int | None:
        """The best figure there is: rounded, else shape x dtype, else the printed size; none below nothing,
        as a damaged listing may print it.
        """
        size = self.failed.size.bytes if self.failed.size else None
        figures = (self.rounded_bytes, self.failed.tensor_bytes, size)
        best = next((each for each in figures if each is not None), None)
        return best if best is None or best >= 0 else None


@dataclass(frozen=True, slots=True)
class PhaseSpan:
    """When a phase of the step ran, by its first and last node (microseconds)."""

    name: str
    start_micros: float
    end_micros: float


class Fits(str, Enum):
    """Whether a predicted peak fits the limit, its error bar included."""

    YES = "yes"
    """The upper end of the bar fits."""
    NO = "no"
    """Not even the lower end does."""
    UNDECIDED = "undecided"

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment to explain: a failed request with what was held then, or the peak of a step."""

    attribution: Attribution
    balance: Balance
    namings: tuple[Naming | None, ...] = ()
    """For each row the tensor behind its figure, None where nothing is known."""
    incident: Incident | None = None
    request: Request | None = None
    timeline: Timeline | None = None
    schedule: Timeline | None = None
    """The values of a compiled program in the order of its instructions, where its compiler states it."""
    peak_micros: float | None = None
    phases: tuple[PhaseSpan, ...] = ()
    """Forward, backward and update on the time axis of a traced step."""
    last_reader: Sequence[str | None] = ()
    """For each row of a traced step the op that read it last before it was freed; None where nothing
    tells.
    """
    omissions: tuple[str, ...] = ()
    """What these figures do not include, in sentences."""
    counted: Attribution | None = None
    """The same bytes with the owners that the program counted itself, where its list of them has no names."""

    @property
    def is_counted(self) -> bool:
        """Whether the program counted the owners of half or more."""
        if self.counted is None:
            return False
        nobody = (group.total_bytes for group in self.counted.by("kind") if group.name == Kind.UNATTRIBUTED)
        return 2 * sum(nobody) <= self.counted.table.total_bytes

    @property
    def drawn(self) -> Attribution:
        """What pages draw: with the owners that the program counted, where there are any."""
        return self.counted or self.attribution

    @property
    def axis(self) -> Timeline | None:
        """What a picture of this moment can have an axis of: the step's time, or the program's order."""
        return self.timeline or self.schedule

    @property
    def lists_blocks_alone(self) -> bool:
        """Whether its rows are an allocator's blocks, of which nobody knows whose they are: of a compiled
        program that found no room they hold nothing.
        """
        incident = self.incident
        if incident is None or incident.holders or not (incident.chunks or incident.size_classes):
            return False
        return all(each.kind is Kind.UNATTRIBUTED and not each.layer for each in self.attribution.owners)

    @property
    def lists_buffers_alone(self) -> bool:
        """Whether a compiled program is known by its largest buffers alone: nothing says what all take."""
        compiler = self.incident.compiler if self.incident else None
        if compiler is None or self.request is None or not self.attribution.owners:
            return False
        whole = compiler.needed or compiler.section("total") or self.request.failed.size
        return whole is None and self.schedule is None

    @property
    def unlisted_buffer_bytes(self) -> int:
        """What a compiled program needs beyond the buffers that its compiler lists. The request is a part of
        the program, its temporaries as a rule, and the account may state the total.
        """
        compiler = self.incident.compiler if self.incident else None
        if compiler is None or self.request is None or (self.lists_blocks_alone and self.attribution.owners):
            return 0
        listed = self.attribution.table.total_bytes
        needed = compiler.needed or self.request.failed.size
        total = compiler.section("total")
        if not compiler.needed and needed and total and 0 < needed.bytes < total.bytes:
            needed = total
        return max(needed.bytes - listed, 0) if needed else 0

    @property
    def accounted_bytes(self) -> int:
        """All that is known to be in use: the rows, what the report leaves out, and buffers that are not
        listed.
        """
        outside = self.balance.outside_report
        listed = self.attribution.table.total_bytes
        return listed + (outside.bytes if outside else 0) + self.unlisted_buffer_bytes

    @property
    def error_bar(self) -> tuple[int, int] | None:
        """Bytes between which the truth of a predicted peak is expected; None for a measurement, and where
        nobody can say.
        """
        share = self.timeline.error_share if self.timeline and self.timeline.predicted else None
        if share is None:
            return None
        middle = self.attribution.table.total_bytes
        below = (self.timeline and self.timeline.lower_error_share) or share
        return round(middle * (1 - below)), round(middle * (1 + share))

    @property
    def is_range(self) -> bool:
        """Whether a prediction is for a kind of device that was never measured: its bar is all it tells."""
        return self.predicted and self.timeline is not None and "GPU" in self.timeline.device

    @property
    def needed_limit(self) -> NeededLimit | None:
        """The limit that an allocator needs for a predicted step; None where it was not worked out."""
        return self.timeline.needed_limit if self.timeline and self.timeline.predicted else None

    @property
    def limit_range(self) -> tuple[int, int] | None:
        """Bytes below which a limit cannot run a predicted step, and from which it does: the lower end of the
        peak's bar, and the upper end of the limit needed, or of the bar where that was not worked out.
        """
        if self.error_bar is None:
            return None
        low, high = self.error_bar
        return low, max(high, self.needed_limit.high_bytes) if self.needed_limit else high

    @property
    def fits(self) -> Fits | None:
        """Whether a predicted step runs in the limit; None for a measurement and without a limit."""
        limit = self.timeline.limit_bytes if self.timeline and self.timeline.predicted else None
        if limit is None:
            return None
        if self.limit_range is None:
            return Fits.UNDECIDED
        low, high = self.limit_range
        if high <= limit:
            return Fits.YES
        return Fits.NO if low > limit else Fits.UNDECIDED

    @property
    def below_peak(self) -> bool:
        """Whether this is another moment of a step than its peak, because the user asked for it."""
        return self.timeline is not None and self.attribution.table.total_bytes < self.timeline.peak_bytes

    @property
    def predicted(self) -> bool:
        """Whether this is a forecast rather than a measurement."""
        return bool(self.timeline and self.timeline.predicted)


class FrontEnd(str, Enum):
    """The way in which the user runs TensorFlow: it decides what a remedy looks like in code."""

    SESSION = "session"
    KERAS = "keras"
    FUNCTION = "tf.function"
    EAGER = "eager"
    JAX = "jax"
    TORCH_XLA = "torch_xla"
    XLA = "xla"
    """A program of XLA's, from one of those or from TensorFlow: nothing tells which."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Api:
    """Which TensorFlow the user writes for, as far as the input betrays it: versions are (major, minor)."""

    oldest: tuple[int, int] = (0, 5)
    newest: tuple[int, int] = (2, 99)
    front_end: FrontEnd = FrontEnd.UNKNOWN
    library: str | None = None
    """The library on top of JAX: `Keras`, `Flax`, `Equinox`; None elsewhere, and where nothing tells."""
    optax: bool = False
    """Whether the optimizer is Optax's."""

    @property
    def is_tf1(self) -> bool:
        """Whether the input can only come from TensorFlow 1."""
        return self.newest < (2, 0)

    @property
    def is_tf2(self) -> bool:
        """Whether the input can only come from TensorFlow 2."""
        return self.oldest >= (2, 0)


@dataclass(frozen=True, slots=True)
class Case:
    """All that the findings may look at. The first moment is the one that matters most."""

    capture: Capture
    moments: tuple[Moment, ...]
    api: Api = Api()
    layers: tuple[LayerSummary, ...] = ()
    """The model as a trace shows it, empty for a log."""
    layout: LayoutStudy | None = None
    """What Grappler's layout pass did to the capture's graph, None without a graph or without the pass."""
    trials: tuple[LayoutTrial, ...] = ()
    """The pass tried again on edited graphs."""
    what_if: WhatIf = field(default=nothing_known, compare=False, repr=False)
    """What a change would buy at a moment; worked out when it is asked for."""
    of_tensor: AskTensor = field(default=no_tensor_known, compare=False, repr=False)
    """What a change takes off one tensor alone."""
    without: AskWithout = field(default=no_step_known, compare=False, repr=False)
    """How much lower a step's peak is without one allocation; worked out when it is asked for."""
    traced_fit: AskTracedFit = field(default=nothing_traced, compare=False, repr=False)
    """Which batch a step traced beside a failure says to fit; worked out when it is asked for."""
    predicted: AskPredicted = field(default=nothing_predicted, compare=False, repr=False)
    """What a step of the program's own model needs by its description; worked out when it is asked for."""
