"""What else a log says that bears on memory: devices, steps, versions, settings, and lines that alarm for
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from tfmemlens.knowledge.denials import without_denials, without_earlier
from tfmemlens.knowledge.gpu_memory import with_vram
from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.model.capture import (
    EVALUATION_FRAME,
    ISOLATED,
    LIBRARY_FRAME,
    NEEDED_IN_WORDS,
    OWN_FRAME,
    SCRIPT_FRAME,
    DeviceInfo,
    SoftWarning,
    Surroundings,
)
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.readers.oom import switches
from tfmemlens.readers.oom.account import (
    AccountCollector,
    rose_once,
    sentences,
    without_gifts,
    without_questions,
    without_wishes,
)
from tfmemlens.readers.oom.advice import AdviceCollector
from tfmemlens.readers.oom.attempts import AttemptCollector
from tfmemlens.readers.oom.contrasts import ContrastCollector
from tfmemlens.readers.oom.counters import Counters
from tfmemlens.readers.oom.hoped import HopedFor
from tfmemlens.readers.oom.libraries import LIBRARIES
from tfmemlens.readers.oom.other_failures import (
    CPP_FRAME,
    CRASH,
    ELSEWHERE,
    FOREIGN,
    KERNEL_DIED,
    STARTUP,
    WITHOUT_FIGURES,
)
from tfmemlens.readers.oom.purpose import PURPOSES
from tfmemlens.readers.oom.replies import Replies
from tfmemlens.readers.oom.rules import DEVICE, SIZE, Era, LineRule, RuleTable
from tfmemlens.readers.oom.run import is_of_validation
from tfmemlens.readers.oom.schedules import only_counts_steps
from tfmemlens.readers.oom.sentence import FRAME
from tfmemlens.readers.oom.told_besides import HINT
from tfmemlens.readers.oom.told_of_xla import PJRT_ON_A_GPU
from tfmemlens.readers.oom.values_tried import ValuesTried
from tfmemlens.readers.oom.versions import Releases
from tfmemlens.readers.oom.xla_metrics import XlaMetrics
from tfmemlens.units import MIB, Size, parse_size
from tfmemlens.values import replace

CREATED = LineRule(
    rf"Creat(?:ed|ing) (?:TensorFlow )?device \(?(?P<device>{DEVICE}|/\w+:\d+)\)?(?: with (?P<mb>\d+) MB"
    r" memory\)?)?:? *-> *(?:physical GPU )?\(?device: \d+, name: (?P<model>[^,]+),"
    r"(?:.{0,20}pci bus id: (?P<bus>[\w:.]{1,30}))?(?:.*compute capability: (?P<capability>[\d.]+))?",
    "Created TensorFlow device (/job:localhost/replica:0/task:0/device:GPU:0 with 10089 MB memory) ->"
    " physical GPU (device: 0, name: GeForce GTX 1080 Ti, pci bus id: 0000:01:00.0, compute capability: 6.1)",
    "Created device /job:localhost/replica:0/task:0/device:GPU:0 with 9651 MB memory:  -> device: 0, name:"
    " NVIDIA GeForce RTX 3080, pci bus id: 0000:01:00.0, compute capability: 8.6",
    "Creating TensorFlow device (/gpu:0) -> (device: 0, name: Tesla K80, pci bus id: 0000:00:1e.0)",
    needs="name: ",
)
MEMORY = LineRule(
    rf"totalMemory: (?P<total>{SIZE}) freeMemory: (?P<free>{SIZE})",
    "totalMemory: 10.91GiB freeMemory: 10.75GiB",
    needs="freeMemory",
)
OLD_MEMORY = LineRule(
    rf"(?:\A|\s)(?P<what>Total|Free) memory: (?P<size>{SIZE})\s*\Z",
    "Total memory: 11.17GiB",
    needs=" memory: ",
)
FOUND = LineRule(
    r"\bpciBusID: (?P<bus>[\w:.]{1,30}) name: ",
    "pciBusID: 0001:00:00.0 name: Tesla T4 computeCapability: 7.5",
    needs="pciBusID",
)
FOUND_SIZE = LineRule(
    rf"\bdeviceMemorySize: (?P<size>{SIZE})",
    "coreClock: 1.59GHz coreCount: 40 deviceMemorySize: 15.75GiB deviceMemoryBandwidth: 298.08GiB/s",
    needs="deviceMemorySize",
)
"""How TensorFlow 2.1 to 2.5 tells what a GPU has, in two lines."""
EPOCH = LineRule(
    r"\bEpoch[ :#]*(?P<step>\d+)(?:/\d+)?|\A\s*epoch[ :#]{1,3}(?P<lower>\d+)/\d+",
    "Epoch 3/10",
    "epoch 12/40 (nll: 3.021)",
    needs=("epoch",),
)
STEP = LineRule(
    r"(?<!\d )\b(?:global[_"
    r" ])?[Ss]tep[s]?\s*[:=#]?\s*(?P<step>\d+)|\b[Ii]ter(?:ation)?s?\s*[:=#]?\s*(?P<iteration>\d+)"
    r"|\A\s*[Ii]t\s+(?P<it>\d+)\s*[:|]|\b(?P<ordinal>\d+)(?:st|nd|rd|th) (?:step|batch|iteration)\b"
    r"|\bepoch=[\d.]{1,9} step=(?P<of_epoch>\d+)\b|\A\s*[Bb]atch\s+(?P<of_batches>\d+)\s*[:,|]?\s+loss\b",
    "step 120 loss = 0.31",
    "Iter: 500, loss: 0.3",
    "  it   20: 2.78",
    "it is around the 85th batch of 313",
    "[train] [INFO] epoch=0.25 step=400, 9.5 examples/sec",
    "batch  40 loss 0.51",
    needs=("step", "iter", "it ", "batch"),
)
PARAMETERS = LineRule(r"Total params: (?P<count>[\d,]+)", "Total params: 3,274,634", needs="Total params")
VERSION = LineRule(
    r"[Tt]ensor[Ff]low(?:[-_ ]?(?:gpu|cpu|[Ss]erving|Library|ModelServer))?"
    r"(?:(?: [Vv]ersion| is| installed from .*| \([^()\n]{1,60}\))+[ :=v*]{1,6}"
    r"|[:=v -]{1,4}(?=[012]\.\d{1,2}\.\d)| ?[:=]{1,2} ?)"
    r"(?P<major>[012])\.(?P<minor>\d{1,2})(?:\.\d+)?\b"
    r"|\btf\.(?:__|GIT_)?(?:version|VERSION)(?:__)?[ :=*'\")]{1,6}v?(?P<major2>[012])\.(?P<minor2>\d{1,2})\.",
    "TensorFlow version: 2.4.1",
    "tf.version: '0.12.1-1934-g27fca7d'",
    "tensorflow-gpu==1.13.1",
    "tensorflow_gpu-0.12.0rc0-cp27-none-linux_x86_64.whl",
    "TensorFlow Library: 2.3.0",
    "**TensorFlow Serving version**: 2.3",
    "TensorFlow version (or its commit, if built from source): 2.6.0",
    needs=("low", "tf.version", "tf.__version", "tf.git_version"),
)
SAID_VERSION = LineRule(
    r"(?i)(?<![A-Za-z0-9_./])(?:(?:lib)?tensorflow|tf)(?:[- ]?(?:gpu|cpu|nightly|keras|windows|linux)){0,3}"
    r"[ :v-]{0,3}"
    r"(?P<major>[12])\.(?P<minor>\d{1,2})"
    r"(?:\.\d+)?(?![\d.]*\d)(?! ?(?:[KMG]i?B\b|%))",
    "since we moved to TF 2.6 it fails",
    "tensorflow-gpu 1.15 on Windows",
    "\u5728Tensorflow 2.5\u4e0a",
    needs=("tensorflow", "tf"),
)
"""A version in passing: several may be named, of which one ran."""
_OF_TF1 = regex(
    r"(?:\A|[=(,\s])tf\.(?:Session|InteractiveSession|ConfigProto|GPUOptions|placeholder|get_default_graph"
    r"|reset_default_graph|global_variables_initializer|get_variable)\("
    r"|(?<![\w>])(?:self\.)?_?sess\.run\("
)
"""Code of TensorFlow 1, or of TensorFlow 2 that imports `tensorflow.compat.v1` as `tf`."""
_OF_ANOTHER_TIME = regex(
    r"(?i)deprecat|\bwarning\b|\bremoved\b|\bwill (?:not |no longer )?be\b|\bwon't be\b|\bfuture\b"
    r"|\binstead\b|\bfixed in\b"
)
"""What warns of another version, or hopes for one."""
HARMLESS = {
    "other processes stopped because one failed: these errors are consequences": LineRule(
        r"Aborting RingReduce|Collective ops is aborted by|detected fatal errors.*another task died"
        r"|another task died; see the other task logs|the coordinator detected missing heartbeats"
        r"|Failed to disconnect from coordination service",
        "Aborting RingReduce with UNAVAILABLE: Collective ops is aborted by: Socket closed",
        "Terminating process because the JAX distributed service detected fatal errors. This most likely"
        " indicates that another task died; see the other task logs for more details.",
        "Failed to disconnect from coordination service with status: DEADLINE_EXCEEDED: Deadline Exceeded",
        needs=("aborting", "aborted by", "another task", "missing heartbeats", "failed to disconnect"),
    ),
    "Grappler's `layout failed` warning: the pass gave up on one graph, which is no error": LineRule(
        r"layout failed: \w+",
        "layout failed: INVALID_ARGUMENT: Size of values 0 does not match size of permutation 4 @ fanin"
        " shape",
        needs="layout failed",
    ),
    "a Grappler pass that gave up": LineRule(
        r"(?:memory_optimizer|remapper|arithmetic_optimizer|constant_folding|function_optimizer"
        r"|dependency_optimizer|loop_optimizer|meta_optimizer).{0,40}failed: ",
        "memory_optimizer failed: Deadline exceeded: memory_optimizer exceeded deadline.",
        needs="failed: ",
    ),
    "XLA computes a large constant while it compiles, which takes time and host RAM: pass the array to the"
    " jitted function as an argument": LineRule(
        r"Constant folding an instruction is taking > \d+s",
        "Constant folding an instruction is taking > 2s:",
        needs="Constant folding",
    ),
    "XLA says that a program takes long to compile, which is no lack of memory: loops of Python that it"
    " unrolls, a large constant, or an early release are usual reasons": LineRule(
        r"(?i)\bvery slow compile\?",
        "[Compiling module jit_apply_fn] Very slow compile? If you want to file a bug, run with envvar"
        " XLA_FLAGS=--xla_dump_to=/tmp/foo and attach the results.",
        needs="ery slow compile",
    ),
    "BFC gave free regions back before it tried again": LineRule(
        r"Garbage collection: deallocate free memory regions",
        "Garbage collection: deallocate free memory regions (i.e., allocations) so that",
        needs="Garbage collection",
    ),
    "a cuDNN plan that needed more workspace was skipped": LineRule(
        r"Performing convolution with a (?:degraded|fallback)|Failed to allocate .* workspace",
        "Failed to allocate memory for convolution redzone checking; skipping this check: workspace",
        needs="workspace",
    ),
}

_TRIED = (
    "XLA tried the algorithms of a convolution or product when it compiled, and some found no room: it takes"
    " another"
)
LARGE = LineRule(
    r"Allocation of (?P<bytes>\d+) exceeds \d+% of (?:free )?system memory"
    r"|tcmalloc: +large alloc (?P<malloc>\d+) bytes",
    "Allocation of 3221225472 exceeds 10% of free system memory.",
    "tcmalloc: large alloc 4800004096 bytes == 0x99a00000 @  0x7fb5f9f8c1e7 0x50ac25",
    needs=("system memory", "large alloc"),
)
"""A large request of host RAM that was granted, as TensorFlow or the malloc of Colab's Python tells of it."""
_HARMLESS = RuleTable(HARMLESS.items())
_STARTUP = RuleTable(STARTUP.items())
_PURPOSES = RuleTable(PURPOSES.items())
_LIBRARIES = RuleTable(LIBRARIES.items())
_NOT_OURS = RuleTable(
    ((family, what), rule)
    for family, rules in (
        ("elsewhere", ELSEWHERE),
        ("without figures", WITHOUT_FIGURES),
        ("foreign", FOREIGN),
    )
    for what, rule in rules.items()
)
_SIZED = regex(r"\b\d[\d.,]* ?(?:[KMGT]i?B|bytes)\b")
"""A size, as a message has and a mention of its exception does not."""
_SHOWN = regex(
    r"<ipython-input-|\b(?:Cell |Input )?In ?\[\d{1,4}\], (?:line|in)\b"
    r"|\A\[?(?P<file>[~/\w.-]{1,200}\.py)\b[^\n]{0,80} in \w"
)
_ARROW = regex(r"\s*-{2,}> ?\d{1,5} +\S")
_SHOWS = ("<ipython-input-", "In [", "In[", ".py")
_ASKS = regex(r"\?\W*\Z")
_WITHOUT_TRAINING = regex(r"\(.{0,200}\btraining ?= ?False\b")
"""A call of a model that does not train, in the line below a frame."""
_OF_A_LAYER = ("call", "__call__", "build", "forward")
"""Methods of a model, in which a part that stays as it is runs without training in a training, too."""
_EVALUATES = regex(
    r"(?i)\A(?!(?:\w*_)?(?:train|fit)(?:_|\Z))"
    r"(?:\w*_)?(?:eval(?:uate|uation)?|valid(?:ate|ation)?|infer|predict)(?:_|\Z)"
)
"""A function's name."""
_WONDERS = regex(
    r"(?i)\W*(?:(?:so|and|hi|hello|but|now)\W+)?(?:is|was|could|can|may|does) (?:it|this|that|there)\b"
    r"[^.!?]*\?[^.!?]{0,40}\Z"
)
"""A question alone: beside a message that alarms and means nothing nobody says that memory ran out."""
_COMPARES = regex(
    r"(?i)\b(?:increase|rise|growth|higher|more)\b[^.\n]{0,80}"
    r"\b(?:compared? (?:to|with)|relative to|versus|vs\.?|than (?:in |with |the |an? )?)"
    r" ?`{0,2}(?:py ?torch|torch|tensorflow|tf|keras|jax|flax|haiku|nnx|linen|equinox|mxnet)\b"
)
"""What is more than another framework takes need not grow."""
_AGAIN = regex(
    r"(?i)\b(?:each|every|per|after|over (?:time|the)|until|keeps?|constantly|steadily|leak\w*"
    r"|(?:step|epoch|iteration) by)\b"
)
_OF_FAILURES = ("running short", "growing in words")
_OF_MANY_STEPS = ("failing late", "many runs before")
_OF_A_LACK = ("running short", "much memory in words")
_NAMES_RAM = ("host RAM in words", "host RAM named", "GPU memory named")
_HEARSAY = regex(
    r"(?i)\b(?:people|others?|somebody|someone|some|they|posts?|threads?|answers?) (?:\w+ )?"
    r"(?:writes?|wrote|says?|said|claims?|thinks?|reports?|call(?:s|ed)?)\b"
    r"|\bis (?:this|it|there) an?\b[^.?!]*\?"
    r"|\b(?:should|do) I (?:have to |need to )?worry\b"
)
"""What others say, or its writer asks: figures of his own say more."""
_BENIGN = regex(
    r"\b[Tt]his is benign\b|\bindicates that this is not a failure\b"
    r"|\ballow_growth ?= ?True\b|\bset_memory_growth\("
)
"""What TensorFlow says of a check or a faster algorithm that it leaves out, where a buffer found no room; and
code that lets its pool grow, whose comment says what that is.
"""
_FIGURE = regex(r"(?i)\d ?[KMGT]i?B?\b|\d ?%")


def _says(line: Line) -> int:
    """How much a line that tells of a failure says: a title or a question least, one with a figure most."""
    if line.text.lstrip().startswith("#") or "?" in line.text:
        return 0
    return 2 if _FIGURE.search(line.text) else 1


_OFFERED = RuleTable.of(
    CREATED, MEMORY, OLD_MEMORY, FOUND, FOUND_SIZE, LARGE, *STARTUP.values(), KERNEL_DIED, CRASH, CPP_FRAME,
    PARAMETERS, VERSION, EPOCH, STEP,
)  # fmt: skip
_SECTION = regex(r"\s*([A-Za-z]+):\s*")
_KEEP = 4000
_MAX_SETTINGS = 50


def _whole_of(known: DeviceInfo, limit: Size | None) -> Size | None:
    """What a GPU has at least, where another process of the log got more of it than this one did."""
    most = max(
        (size for size in (known.total, known.limit) if size), key=lambda size: size.bytes, default=None
    )
    return most if most and limit and most.bytes > limit.bytes else None


def _widened(era: Era | None, match: re.Match[str]) -> Era:
    """The versions that are named, from the oldest to the newest."""
    of_module = "major2" in match.groupdict() and match["major2"]
    major, minor = ("major2", "minor2") if of_module else ("major", "minor")
    version = (int(match[major]), int(match[minor]))
    return (min(era[0], version), max(era[1], version)) if era else (version, version)


class SurroundingsCollector:
    """Collects what the findings may want to know besides the failure."""

    def __init__(self) -> None:
        self.devices: dict[str, DeviceInfo] = {}
        self.free: list[tuple[Size, Size, Line]] = []
        self._bus = ""
        self._found: dict[str, Size] = {}
        """By the bus of a GPU what it has."""
        self.steps: list[tuple[int, Line]] = []
        self.parameters: tuple[int, Line] | None = None
        self.settings: list[tuple[str, str, Line]] = []
        self.purposes: dict[str, Line] = {}
        self.libraries: dict[str, Line] = {}
        self.harmless: dict[str, tuple[int, Line]] = {}
        self.foreign: dict[str, Line] = {}
        self.refusals: list[tuple[Size, Line]] = []
        self.startup: dict[str, Line] = {}
        self.crash: Line | None = None
        self.raised: Line | None = None
        self.kernel_died: Line | None = None
        self.elsewhere: dict[str, Line] = {}
        self.without_figures: dict[str, Line] = {}
        self.large: list[tuple[Size, Line]] = []
        self.era: Era | None = None
        self.said_era: Era | None = None
        """The versions that prose names in passing."""
        self.releases = Releases()
        self.account = AccountCollector()
        self.attempts = AttemptCollector()
        self.contrasts = ContrastCollector()
        self.values = ValuesTried()
        self.advice = AdviceCollector()
        self.counters = Counters()
        self.metrics = XlaMetrics()
        self._total: Size | None = None
        self._own_lines = False
        """Whether the lines that a notebook shows of a traceback are the program's own."""
        self._script: str | None = None
        self._own_frame: Line | None = None
        """The file that the traceback begins in."""
        self._asked_for: str | None = None
        """The variable of the environment that the line before asks for."""
        self._guide = switches.QuotedGuide()
        self._hoped = HopedFor()
        self._replies, self._before_comment = Replies(), 0
        self._requests = False
        """Whether the lines are those of what a pod asks for, which is no limit."""

    def offer(self, line: Line) -> bool:
        """Take the line if it says something about the surroundings."""
        text = line.text
        if what := _HARMLESS.first(text):
            count, first = self.harmless.get(what, (0, line))
            self.harmless[what] = (count + 1, first)
            return True
        if not _OFFERED.likely(text):
            return False
        return self._device(text, line) or self._elsewhere(text, line) or self._words(text, line)

    def _elsewhere(self, text: str, line: Line) -> bool:
        """Another framework's messages, crashes of another kind, and requests that were large and granted."""
        if match := LARGE.search(text):
            self.large.append((Size.exactly(int(match["bytes"] or match["malloc"])), line))
            return True
        if harmless := _STARTUP.first(text):
            self.startup.setdefault(harmless, line)
            return True
        if KERNEL_DIED.search(text):
            self.kernel_died = self.kernel_died or line
            return True
        if CRASH.search(text):
            self.crash = self.crash or line
            return True
        return bool(CPP_FRAME.search(text))

    def notice(self, line: Line) -> None:
        """Note what a line shows as set already and what the program does, whoever takes the line."""
        self._frame(line)
        if section := _SECTION.fullmatch(line.text):
            self._requests = section[1] in ("Requests", "requests")
        printed = switches.answered(self._asked_for, line.text) if self._asked_for else ()
        self._asked_for = switches.asked_for(line.text)
        self._of_a_comment(line)
        quoted = self._guide.holds(line.text)
        for name, value in (*switches.settings(line.text), *printed):
            if quoted and name not in switches.WHERE_IT_RUNS:
                continue
            if not (self._requests and name == "container_memory"):
                self._set(name, value, line)
        hoped = self._hoped.holds(line.text, line.number)
        for purpose, rule in _PURPOSES.likely(line.text):
            known = self.purposes.get(purpose)
            failure = purpose in _OF_FAILURES
            if known and purpose != NEEDED_IN_WORDS and not (failure and _says(line) > _says(known)):
                continue
            no_failure = purpose in _OF_FAILURES and (HINT.search(line.text) or _BENIGN.search(line.text))
            told = without_questions(line.text) if purpose in _OF_A_LACK else line.text
            told = without_wishes(told) if purpose == "host RAM in words" else told
            told = with_vram(told) if purpose in _NAMES_RAM else told
            if purpose in _OF_FAILURES:
                told = without_gifts(without_earlier(without_denials(told)))
            if purpose in _OF_MANY_STEPS and only_counts_steps(line.text):
                continue
            if hoped and (purpose in _OF_MANY_STEPS or purpose.startswith("again at ")):
                continue
            if rule.search(told) and not no_failure:
                self.purposes[purpose] = line
        for library, rule in _LIBRARIES.likely(line.text):
            if library not in self.libraries and rule.search(line.text):
                self.libraries[library] = line

    def _of_a_comment(self, line: Line) -> None:
        """Note whose comment the line is of; what was set in one that only advises is not set."""
        if (writer := self._replies.writer(line.text)) is None:
            self._replies.take(line.text)
            return
        self._end_comment()
        self._replies.begin(writer, line.number)

    def another_wrote(self, number: int) -> bool:
        """Whether a line stands in a comment of another one than a thread's first writer."""
        return self._replies.another_wrote(number)

    def forget_settings_of_others(self) -> None:
        """Forget what was set in runs of others than the first writer, whose own failure is read; with which
        batch one of them runs stays.
        """
        self.settings = [
            (name, value, line)
            for name, value, line in self.settings
            if name == "working_batch" or not self.another_wrote(line.number)
        ]

    def _end_comment(self) -> None:
        if self._replies.only_advise:
            del self.settings[self._before_comment :]
        self._before_comment = len(self.settings)

    def _frame(self, line: Line) -> None:
        """Note the frame of a traceback, the line that a notebook's arrow points at, and a frame whose own
        line calls a model that does not train.
        """
        if (frame := FRAME.search(line.text)) and frame["name"]:
            own = user_frame(frame["file"])
            self.purposes[OWN_FRAME if own else LIBRARY_FRAME] = line
            self._script = self._script or (frame["file"] if own else None)
            if frame["file"] == self._script:
                self.purposes[SCRIPT_FRAME] = line
            if own and _EVALUATES.search(frame["name"]):
                self.purposes[EVALUATION_FRAME] = line
            self._own_frame = line if own and frame["name"] not in _OF_A_LAYER else None
        elif self._own_frame and _WITHOUT_TRAINING.search(line.text):
            self.purposes[EVALUATION_FRAME], self._own_frame = self._own_frame, None
        elif line.text.lstrip().startswith("Traceback (most"):
            self._script = None
        elif any(word in line.text for word in _SHOWS) and (head := _SHOWN.search(line.text)):
            self._own_lines = head["file"] is None or user_frame(head["file"])
        elif self._own_lines and _ARROW.match(line.text) and line.text.count("(") >= line.text.count(")"):
            self.purposes[OWN_FRAME] = line

    def logged_by(self, path: str, line: Line) -> None:
        """Note what the path of a logging C++ file says: Windows writes it in its own way, and a program that
        was built with TensorFlow inside has it below `external/`, as TensorFlow Serving has.
        """
        if "\\" in path:
            self.purposes.setdefault("on Windows", line)
        if path.startswith("external/org_tensorflow/tensorflow/core/"):
            self.purposes.setdefault("built into a program", line)

    def read_prose(self, line: Line) -> None:
        """Note the versions that a line which no C++ file logged names."""
        self.releases.read(line)
        if ("tf." in line.text or "sess." in line.text) and _OF_TF1.search(line.text):
            self.purposes.setdefault("code for sessions", line)
        hoped = self._hoped.holds(line.text, line.number)
        if not (hoped or _BENIGN.search(line.text)):
            self.account.observe(line)
        if not hoped:
            self.attempts.observe(line)
            self.contrasts.observe(line)
            if not self.another_wrote(line.number):
                self.values.observe(line)
        self.advice.observe(line)
        self.counters.observe(line)
        self.metrics.observe(line)
        if SAID_VERSION.search(line.text) and not _OF_ANOTHER_TIME.search(line.text):
            for said in re.finditer(SAID_VERSION.pattern, line.text):
                self.said_era = _widened(self.said_era, said)

    def tried(self, line: Line) -> None:
        """Note that XLA tried an algorithm that had no room, and goes on with others."""
        count, first = self.harmless.get(_TRIED, (0, line))
        self.harmless[_TRIED] = (count + 1, first)

    @property
    def tried_algorithms(self) -> bool:
        """Whether algorithms were tried that had no room."""
        return _TRIED in self.harmless

    def not_ours(self, line: Line) -> bool:
        """Take the line if it says that something other than memory ran out, whatever error it says so with,
        or that another program had none left.
        """
        named = _NOT_OURS.first(line.text)
        if named is None:
            return False
        family, what = named
        told = {"elsewhere": self.elsewhere, "without figures": self.without_figures, "foreign": self.foreign}
        known = told[family].setdefault(what, line)
        if family == "foreign" and _SIZED.search(line.text) and not _SIZED.search(known.text):
            told[family][what] = line  # the message itself, and not words that name it
        if family == "foreign" and PJRT_ON_A_GPU.search(line.text):
            self.purposes.setdefault("PyTorch/XLA on a GPU", line)
        return True

    def _device(self, text: str, line: Line) -> bool:
        if match := CREATED.search(text):
            limit = Size.exactly(int(match["mb"]) * MIB) if match["mb"] else None
            name, model = match["device"], match["model"].strip()
            known = self.devices.get(name)
            total = _whole_of(known, limit) if known and known.model == model else None
            self.devices[name] = DeviceInfo(
                name, model, match["capability"], total=total, limit=limit, line=line, bus=match["bus"]
            )
            return True
        if match := MEMORY.search(text):
            self.free.append((parse_size(match["total"]), parse_size(match["free"]), line))
            return True
        if match := FOUND.search(text):
            self._bus = match["bus"]
            return True
        if match := FOUND_SIZE.search(text):
            self._found[self._bus] = parse_size(match["size"])
            return True
        if match := OLD_MEMORY.search(text):
            size = parse_size(match["size"])
            if match["what"] == "Total":
                self._total = size
            elif self._total:
                self.free.append((self._total, size, line))
            return True
        return False

    def _words(self, text: str, line: Line) -> bool:
        if match := PARAMETERS.search(text):
            self.parameters = (int(match["count"].replace(",", "")), line)
        elif match := VERSION.search(text):
            self.era = _widened(self.era, match)
        elif match := EPOCH.search(text) or STEP.search(text):
            if self.steps and is_of_validation(self.steps[-1][1], line):
                return True
            self.steps.append((int(next(group for group in match.groups() if group)), line))
            if len(self.steps) > _KEEP:
                del self.steps[: _KEEP // 2]
        else:
            return False
        return True

    def _set(self, name: str, value: str, line: Line) -> None:
        known = any((name, value) == (other, seen) for other, seen, _ in self.settings)
        if not known and len(self.settings) < _MAX_SETTINGS:
            self.settings.append((name, value, line))

    def _take_batches(self, facts: dict[str, Line]) -> None:
        """Note which batch went well and which one failed, as settings; where the smaller one failed, that
        the batch plays no part.
        """
        if (edge := self.values.batches()) is None:
            return
        good, bad = edge
        if good.value > bad.value:
            facts.setdefault("a larger batch works", bad.line)
            return
        if not any(name == "working_batch" for name, _, _ in self.settings):
            self._set("working_batch", str(good.value), good.line)
        self._set("failed_batch", str(bad.value), bad.line)

    def hear(self, words: SurroundingsCollector) -> None:
        """Take over what the words round a log of several processes say of all of them: how they are started,
        what is set, which device they have.
        """
        for purpose, line in words.purposes.items():
            self.purposes.setdefault(purpose, line)
        for name, value, line in words.settings:
            self._set(name, value, line)

    def _told(self) -> dict[str, Line]:
        """The facts by their names; of two lines the one that says more. A question whether memory grows is
        none where the text tells that it ran out.
        """
        facts = self.contrasts.value() | self.account.value() | self.attempts.value()
        facts |= self.advice.value()
        for name, line in self.purposes.items():
            if name not in facts or name not in _OF_FAILURES or _says(line) >= _says(facts[name]):
                facts[name] = line
        for name in _OF_FAILURES if "room that stays" in facts else ():
            if name in facts and _HEARSAY.search(facts[name].text):
                del facts[name]
        grows, short = facts.get("growing in words"), facts.get("running short")
        if grows and short and grows.number != short.number and _ASKS.search(grows.text):
            del facts["growing in words"]
        elif grows and grows is short and (self.harmless or self.startup) and _WONDERS.match(grows.text):
            del facts["growing in words"], facts["running short"]
        elif grows and _rises_once_alone(grows.text):
            del facts["growing in words"]
            facts.setdefault("rising once", grows)
        elif grows and _COMPARES.search(grows.text) and not _AGAIN.search(grows.text):
            del facts["growing in words"]
            facts.setdefault("more than expected", grows)
        if "before any step" in facts and (climbs := facts.get("growing in words")):
            # what climbs before anything is computed is read, copied or made: nothing grows from step to step
            del facts["growing in words"]
            facts.setdefault("running short", climbs)
        return facts

    def value(self, soft: list[tuple[Size, str, Line]], ranks: tuple[str, ...]) -> Surroundings:
        """All of it as a value."""
        self._end_comment()
        devices = [
            replace(each, total=each.total or self._found.get(each.bus or ""))
            for each in self.devices.values()
        ]
        for index, (total, free, line) in enumerate(self.free):
            if index < len(devices):
                known = devices[index]
                devices[index] = DeviceInfo(
                    known.name, known.model, known.capability, total, free, known.limit, known.line
                )
            else:
                devices.append(DeviceInfo(f"GPU:{index}", None, None, total, free, None, line))
        if counted := self.metrics.value():
            self.harmless.setdefault(counted[0], (1, counted[1]))
        facts = self._told()
        self._take_batches(facts)
        return Surroundings(
            devices=tuple(devices),
            soft_warnings=tuple(SoftWarning(size, allocator, line) for size, allocator, line in soft),
            harmless=tuple((what, count, first) for what, (count, first) in self.harmless.items()),
            steps=tuple(self.steps) or self.counters.steps(),
            parameters=self.parameters,
            settings=tuple(_of_this_run(self.settings, facts)),
            purposes=tuple(facts.items()),
            libraries=tuple((name, self.libraries[name]) for name in LIBRARIES if name in self.libraries),
            ranks=ranks,
            foreign=tuple(self.foreign.items()),
            crash=self.crash,
            refusals=tuple(self.refusals),
            raised=self.raised,
            kernel_died=self.kernel_died,
            startup=tuple(self.startup.items()),
            elsewhere=tuple(self.elsewhere.items()),
            without_figures=tuple(self.without_figures.items()),
            works_in=self.releases.value(),
            compared=self.values.compared() or self.contrasts.compared(),
            large_host_requests=tuple(self.large[-_KEEP:]),
        )


def _rises_once_alone(text: str) -> bool:
    """Whether a sentence tells that memory went up once, and no other one that it grows."""
    rest = [each for each in sentences(text) if not rose_once(each)]
    return len(rest) < len(sentences(text)) and not _GROWS.search(" ".join(rest))


_GROWS = PURPOSES["growing in words"]


_NARROW = {"float16", "bfloat16"}


def _of_this_run(
    settings: Iterable[tuple[str, str, Line]], facts: Mapping[str, Line]
) -> Iterator[tuple[str, str, Line]]:
    """The settings without those of which the text says that all is well with them: those of another run; and
    without two that exclude each other, of which nothing says which one was the failed run's.
    """
    settings = tuple(settings)
    narrow = {value for name, value, _ in settings if name == "mixed_precision"} & _NARROW
    for name, value, line in settings:
        if name == "mixed_precision" and len(narrow) > 1 and value in narrow:
            continue
        if facts.get(f"{ISOLATED}{name}={value}") != line:
            yield name, value, line
