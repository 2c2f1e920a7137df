"""What the readers found in one input. No opinion."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING

from tfmemlens.model.graph import Graph
from tfmemlens.model.incident import Incident
from tfmemlens.model.layers import LayerSummary
from tfmemlens.model.line import Line, ReadNote
from tfmemlens.model.live_model import HeldTensors, LiveModel
from tfmemlens.model.program import Program
from tfmemlens.model.timeline import Timeline
from tfmemlens.patterns import regex
from tfmemlens.units import Size
from tfmemlens.values import dataclass, field

if TYPE_CHECKING:
    from tfmemlens.model.network import Network


class Holds(IntEnum):
    """What a format can tell of memory. Where one step is told in several formats, the highest is read."""

    SURROUNDINGS = 1
    """What stood around a failure: who held the device."""
    FAILURES = 2
    MODEL = 3
    """A model that never ran."""
    GRAPH = 4
    OUTPUTS = 5
    """A traced step by its ops' outputs: when each was written and last read."""
    SAMPLES = 6
    """A sample of a step's allocations."""
    ALLOCATIONS = 7
    """Every allocation of a step."""

    @property
    def is_step(self) -> bool:
        """Whether it is a traced step."""
        return self >= Holds.OUTPUTS


@dataclass(frozen=True, slots=True)
class Source:
    """Where a capture came from: the path (`-` for standard input), the formats found, the framework that
    wrote it.
    """

    path: str
    formats: tuple[str, ...] = ()
    framework: str | None = None
    """`tensorflow`, `jax`, `xla`, … as far as the input betrays it."""
    version: tuple[str, str] | None = None
    """Oldest and newest version that writes this way; equal when stated."""
    by_bytes: bool = False
    """Whether line numbers are byte positions instead: so in big files, where counting lines costs more than
    reading.
    """
    holds: Holds = Holds.FAILURES
    """The most that a format of this input can hold."""


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """What TensorFlow logged of a device when it made it."""

    name: str
    model: str | None = None
    capability: str | None = None
    total: Size | None = None
    free: Size | None = None
    limit: Size | None = None
    line: Line | None = None
    bus: str | None = None
    """Its PCI bus id: the same card has the same in all processes of a machine."""


@dataclass(frozen=True, slots=True)
class DeviceProcess:
    """A process that holds memory of a device, as `nvidia-smi` lists it."""

    pid: int
    name: str
    used: Size | None
    line: Line
    draws: bool = False
    """Whether it only draws: a desktop or a browser (type G)."""


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """How much of a device is in use, and by whom, by `nvidia-smi`; a number is CUDA's, not TensorFlow's."""

    device: str
    """Its index, or what a query of processes calls it, empty where it says nothing."""
    model: str | None
    used: Size | None
    total: Size | None
    processes: tuple[DeviceProcess, ...]
    line: Line


@dataclass(frozen=True, slots=True)
class ProfiledLine:
    """A row of memory_profiler's: what host RAM the process had after a line of a function."""

    used: int
    more: int
    """What the line added, over all its turns."""
    times: int
    code: str
    line: Line


@dataclass(frozen=True, slots=True)
class HostUse:
    """How much of the host's RAM was in use, and of what, as a tool printed it."""

    what: str
    """Who says so: `free`, `docker stats`."""
    used: Size
    total: Size | None
    """What there was, or what was allowed."""
    line: Line


@dataclass(frozen=True, slots=True)
class SoftWarning:
    """An allocation that failed without harm: the caller had a smaller plan (`The caller indicates that this
    is not a failure`).
    """

    size: Size
    allocator: str
    line: Line


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run had come when it printed a line: None where the line does not say. Counted from 1."""

    line: Line
    epoch: int | None = None
    epochs: int | None = None
    step: int | None = None
    steps: int | None = None


@dataclass(frozen=True, slots=True)
class StatedSize:
    """A number or a shape that the text states: `buffer_size: 1_000_000`, `# labels (850000,)`."""

    name: str
    """What it is of, empty where nothing says so."""
    sizes: tuple[int, ...]
    line: Line


WEIGHTS_BY_NAME = "weights by the model's name"
"""The name of a stated size that is known of a model, and stands in the text as the model's name alone."""


@dataclass(frozen=True, slots=True)
class WorkingRelease:
    """A release of a library that the text says works, unlike another."""

    package: str
    release: str
    other: str | None
    """The release that is named as well, None where only words tell of one."""
    line: Line
    source: str | None = None
    """What pip is given for it, where it is no release of the index: a repository and its commit."""
    mends: bool = False
    """Whether it is the first release with what ends the failure, so that later ones have it as well."""


@dataclass(frozen=True, slots=True)
class ComparedWays:
    """Two ways to run it that the text compares, in its own words: one that works and one that fails."""

    works: str
    works_line: Line
    fails: str
    fails_line: Line
    larger: str = ""
    """The one number that is larger where it fails: `validate on 5 -> 23`."""
    code: Line | None = None
    """The line of quoted code that only the way that fails has."""
    of_values: bool = False
    """Whether the sides are values of one setting, each with how it went."""


_BELOW = 3
"""Lines below the sentence that says what ended it, in which a setting is of that."""
FINE_WITHOUT, ENDED_BY, CAUSED_BY = "fine without ", "said to end it: ", "said to be the cause: "
NOT_THERE, CHANGED, SUSPECTED = "said not to happen: ", "said to have changed: ", "suspected: "
ISOLATED = "fails with another value than "
ADVISED = "advised in a comment: "
"""How purposes begin that go on in the text's own words."""
PYTORCH_ALONE = "a program of PyTorch's alone"
"""The purpose of code that imports PyTorch, beside no other framework."""
OWN_FRAME, LIBRARY_FRAME = "a frame of its own", "a frame of a library"
"""The last frames of a traceback: of the program, and of a library."""
NEEDED_IN_WORDS = "jax: needed in words"
NEED_IN_WORDS = "a need in words"
"""That something needs so many bytes, in prose."""
"""How much a run that fails needs, in its writer's words: of several the last."""
SCRIPT_FRAME, EVALUATION_FRAME = "a frame of the script", "a frame of an evaluation"
"""The last frame of a traceback in the file that it begins in, and in a function that evaluates."""


_LIKE_ANOTHER = regex(r"(?i)\b(?:too|also|as well|same|even|still|nothing|again)\b")


def says_alike(text: str) -> bool:
    """Whether words say that something failed like something else."""
    return _LIKE_ANOTHER.search(text) is not None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What else the log says that bears on memory."""

    devices: tuple[DeviceInfo, ...] = ()
    device_uses: tuple[DeviceUse, ...] = ()
    """Who holds the devices."""
    named_devices: tuple[DeviceInfo, ...] = ()
    """The GPU that the writer of the text names, with its memory."""
    host_uses: tuple[HostUse, ...] = ()
    """What tools say of the host's RAM."""
    works_in: WorkingRelease | None = None
    compared: ComparedWays | None = None
    soft_warnings: tuple[SoftWarning, ...] = ()
    refusals: tuple[tuple[Size, Line], ...] = ()
    """What the driver refused to the pool of a run that went on without it."""
    harmless: tuple[tuple[str, int, Line], ...] = ()
    """Lines that look alarming and are not: (what they are, how many, the first)."""
    steps: tuple[tuple[int, Line], ...] = ()
    """Step or epoch counters before the failure."""
    commands: tuple[Line, ...] = ()
    """Commands that begin a run, where the text quotes them."""
    progress: tuple[Progress, ...] = ()
    """Where the run stood, line by line, as progress bars and epochs say; of very many lines the last."""
    retraced: tuple[int, Line] | None = None
    """How often TensorFlow warned that a tf.function is traced again and again, and the first warning."""
    made_anew: Line | None = None
    """The first of these that tells of another object of the same name, made inside a function."""
    pipeline_buffers: tuple[tuple[str, Line], ...] = ()
    """Parts of the input pipeline that keep elements, as TensorFlow's own lines tell: (`cache()`, the first
    line)."""
    clipping: Line | None = None
    """A line that shows that gradients are clipped by their global norm."""
    readings: tuple[tuple[int, Line], ...] = ()
    """Bytes in use that the program printed itself, in order."""
    host_readings: tuple[tuple[int, Line], ...] = ()
    """The same of host RAM."""
    host_rise: tuple[tuple[int, Line], ...] = ()
    """Figures of host RAM over time that stand beside the next."""
    host_events: tuple[tuple[str, Line], ...] = ()
    """What is done between them: (`save` or `evaluation`, its line)."""
    profiled: tuple[ProfiledLine, ...] = ()
    """Rows of memory_profiler's tables, without the first of each."""
    summary: tuple[tuple[str, str, int, Line], ...] = ()
    """Rows of a Keras summary: (`fc1`, `Dense`, parameters, line)."""
    stages: tuple[Line, ...] = ()
    """Lines that begin another stage of a training, such as one that unfreezes layers."""
    lengths: tuple[tuple[tuple[int, ...], Line], ...] = ()
    """Shapes of batches, or their lengths, that the program printed itself: ((16, 768), line)."""
    stores: tuple[str, Line] | None = None
    """A list that quoted code adds results to as they are, and that line: (`all_preds`, line)."""
    code: tuple[Line, ...] = ()
    """Lines of the user's own code that the text quotes, those of frames too."""
    sizes: tuple[StatedSize, ...] = ()
    """Numbers and shapes that the text states, in order."""
    program: Callable[[], Program] = field(default=Program, compare=False, repr=False)
    """Gives what the text quotes of the user's own program, parsed: made only where a rule asks."""
    models: tuple[int, Line] | None = None
    """How many models the program says that it holds."""
    alone: Line | None = None
    """A line that says that what failed goes well alone."""
    one_tape: tuple[Line, Line] | None = None
    """A tape around a loop over micro-batches, in code that the text quotes: the lines of both."""
    over_time: tuple[Line, Line] | None = None
    """A tape around a loop in which each turn goes on from the one before: the lines of both."""
    cells: tuple[tuple[int, str, Line], ...] = ()
    """Cells that a notebook ran, as IPython prints them: (number, code, line)."""
    trial: tuple[int, Line] | None = None
    """The last trial of a search over hyper-parameters that the log speaks of."""
    evaluating: Line | None = None
    """The line that began an evaluation which the input does not end."""
    parameters: tuple[int, Line] | None = None
    """`Total params` of a Keras summary."""
    settings: tuple[tuple[str, str, Line], ...] = ()
    """Settings seen in the log: (`allow_growth`, `True`, line)."""
    purposes: tuple[tuple[str, Line], ...] = ()
    """What the text shows the program to do: (`training`, the first line)."""
    libraries: tuple[tuple[str, Line], ...] = ()
    """Libraries on top of JAX that the text names, the one that decides what code looks like first: (`Keras`,
    the first line)."""
    ranks: tuple[str, ...] = ()
    on_one_device: tuple[tuple[str, DeviceInfo], ...] = ()
    """Processes that made the same GPU their first one, each with what it got of it: (rank, device)."""
    session: bool = False
    """Whether a stack trace goes through `Session.run`."""
    foreign: tuple[tuple[str, Line], ...] = ()
    """Other frameworks whose out-of-memory messages stand in the log: (`PyTorch`, line)."""
    crash: Line | None = None
    """A crash that is no lack of memory: a segmentation fault, an illegal instruction."""
    raised: Line | None = None
    """The last line that names the error which ended a traceback."""
    ends: tuple[tuple[str, Line], ...] = ()
    """Lines that look like an end of the program and that nothing else takes: (whose they are, line), the
    most particular first."""
    kernel_died: Line | None = None
    """A notebook's kernel that ended for a reason that the notebook does not know."""
    startup: tuple[tuple[str, Line], ...] = ()
    """Messages of a program's first seconds that end no run: (what they say, the first line)."""
    elsewhere: tuple[tuple[str, Line], ...] = ()
    """What ran out that is no memory, though TensorFlow calls it `Resource exhausted`, too: (`the disk was
    full`, line).
    """
    without_figures: tuple[tuple[str, Line], ...] = ()
    """Memory that ran out where nothing states who held it: (`the tensor arena ... is too small`, line)."""
    large_host_requests: tuple[tuple[Size, Line], ...] = ()
    """Requests that TensorFlow warned about for their size before it made them (`exceeds 10% of free system
    memory`).
    """
    address_space: int | None = None
    """What each process of the run may map (`ulimit -v`), its code and libraries among it."""

    def progress_before(self, line: Line | None) -> Progress | None:
        """Where the run stood before a line of the same input; None where nothing tells, or where a command
        between the two begins another run.
        """
        if line is None:
            return None
        before = [
            each
            for each in self.progress
            if each.line.source == line.source and each.line.number < line.number
        ]
        if not before or any(
            each.source == line.source and before[-1].line.number < each.number < line.number
            for each in self.commands
        ):
            return None
        return before[-1]

    def shows(self, purpose: str) -> Line | None:
        """The first line that shows the program to do this; None where none does."""
        return dict(self.purposes).get(purpose)

    def is_of_the_cure(self, line: Line) -> bool:
        """Whether a line stands with what the text says ended the failure, or just below it."""
        ends = [each for name, each in self.purposes if name.startswith(ENDED_BY)]
        return any(each.source == line.source and 0 <= line.number - each.number <= _BELOW for each in ends)

    def setting(self, name: str) -> tuple[str, Line] | None:
        """The last value that the input shows of a setting, with its line."""
        return next(((value, line) for known, value, line in reversed(self.settings) if known == name), None)


@dataclass(frozen=True, slots=True)
class Hints:
    """What the user adds on the command line: the shape of one batch, its size, the device's limit."""

    input_shape: tuple[int | None, ...] | None = None
    batch: int | None = None
    limit_bytes: int | None = None
    tag: str | None = None
    """Which of several traced steps is wanted, by the tag it was written with."""
    step: int | None = None
    """The same by the step's number."""
    types: bool = False
    """Whether the type of every node's output is wanted however large the step is: a fit needs them."""
    graph: str | None = None
    """A file with the graph, where the trace has none: GraphDef, MetaGraphDef, SavedModel."""
    model: str | None = None
    """A file with the model, which knows the user's names of layers and variables."""

    @property
    def feed(self) -> tuple[int | None, ...]:
        """The shape of what is fed, its first dimension alone where only the batch is known, empty where
        nothing is.
        """
        return self.input_shape or ((self.batch,) if self.batch else ())


@dataclass(frozen=True, slots=True)
class Capture:
    """All that was read: failures, timelines, the graph, notes of what was not understood."""

    source: Source
    incidents: tuple[Incident, ...] = ()
    timelines: tuple[Timeline, ...] = ()
    graph: Graph | None = None
    surroundings: Surroundings = Surroundings()
    notes: tuple[ReadNote, ...] = ()
    hints: Hints = Hints()
    layers: tuple[LayerSummary, ...] = ()
    """The model's own layers, where its description was read."""
    live_model: LiveModel | None = None
    """The model as the program itself described it while it ran."""
    living: tuple[HeldTensors, ...] = ()
    """The tensors that Python held when the program failed, the most bytes first."""
    held_by_python: int | None = None
    """The bytes of all of them, None where not all were looked at."""
    arrays: tuple[HeldTensors, ...] = ()
    """The arrays of NumPy's own memory that names led to then, the most bytes first."""
    resident_bytes: int | None = None
    """The RAM of the process that held them."""
    network: Network | None = None
    """The model itself, where the input is one that never ran."""
    with_types: Callable[[Graph | None], Graph | None] | None = field(default=None, compare=False, repr=False)
    """Gives a graph the type of every output that the step made: asked for only where a step is simulated."""

    def reasons(self, otherwise: str = "") -> str:
        """Why something that was looked for is not here, as the first notes say, each once; `otherwise` where
        there is none.
        """
        return "; ".join(list(dict.fromkeys(note.text for note in self.notes))[:2]) or otherwise
