"""What a tool shows of a process that does not fail, and somebody asks about.

What it means: `top` has VIRT, the addresses that a process reserved (CUDA takes tens of gigabytes of them),
and RES, what is in RAM. `nvidia-smi` counts CUDA's context and the code of its libraries, some hundred MiB of
each process, which lie outside of TensorFlow's pool.
When it fires: the text tells of no failure and of no growth (but of virtual memory), and a row of `top` has
far more VIRT than RES; or it asks whether that is normal, and a table shows next to nothing in use.
What to do: nothing; what it costs, and how to do without.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.model.capture import DeviceUse, Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, MIB, human

BASIS = Basis.NAME
EXPLAINS = "no bytes"

_FAILS = (
    *("running short", "growing in words", "ended in words", "killed in words", "hanging in words"),
    *("much memory in words", "kept in words", "raising an exception"),
)
_RESIDENT = Remedy(
    "look at RES (of top) or RSS (of ps) alone: CUDA and TensorFlow reserve tens of gigabytes of addresses,"
    " which cost nothing; only a limit of addresses (ulimit -v) would count them",
    "ps -o pid,rss,vsz,cmd -C python",
    slug="look-at-resident",
)
_FEWER_THREADS = Remedy(
    "look at resident size (RES, RSS) alone; where a limit of addresses is given, make fewer threads and"
    " arenas: both go with the number of cores, so a larger machine shows more for the same model",
    "export MALLOC_ARENA_MAX=2 OMP_NUM_THREADS=4 TF_NUM_INTRAOP_THREADS=4 TF_NUM_INTEROP_THREADS=2",
    slug="look-at-resident",
)
_OF_ADDRESSES = regex(r"(?i)\d ?[GT]i?B?\b (?:of )?virtual (?:size|memory)\b")
_LIMITED = regex(r"(?i)\bulimit\b|\b(?:limit|not more than|at most)\b[^.\n]{0,40}\bvirtual\b")
_ONCE_MORE = Remedy(
    "call it ten times more and look again: flat, it is all that it takes; where that is too much, give it"
    " smaller or fewer inputs at once",
    slug="compare-shapes",
)
_OF_LITE = Remedy(
    "call Invoke() ten times more and look again: flat, it is all that it takes. To keep less: inputs of one"
    " size, weights of 8 bits, fewer threads, no XNNPACK (it packs the weights a second time), or let go of"
    " the activations after each call",
    "interpreter->ReleaseNonPersistentMemory();   // then AllocateTensors() before the next call",
    slug="smaller-output",
)
_LITE = regex(r"\binterpreter_?->|(?i:tf-?lite|tensorflow[- ]lite)")
_ESTIMATE = Remedy(
    "have it predicted from the model's file, or run one step on any machine and read the peak; the pool that"
    " nvidia-smi shows says nothing of it",
    "tfmemlens estimate model.keras --batch 32   # or:"
    " tf.config.experimental.get_memory_info('GPU:0')['peak']",
    slug="see-real-use",
)
_HIDE = Remedy(
    "nothing to mend. A process that computes nothing on the GPU does without where it sees none",
    "CUDA_VISIBLE_DEVICES=-1 python app.py",
    slug="hide-the-gpu",
)
_CONTEXT, _LITTLE = 1 * GIB, 0.15
"""What a context with its libraries takes at most, and the part of a GPU that is next to nothing."""
_TIMES, _MUCH = 4, 8 * GIB


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    if case.moments or told.foreign or told.elsewhere or told.without_figures or told.crash:
        return
    reserved = _reserved(told)
    if reserved and all(map(_IN_ADDRESSES.search, _failing(told))):
        yield reserved
        return
    whole = told.shows("taking the whole GPU") and not told.shows("a GPU unused")
    if whole or any(map(told.shows, _FAILS)) or told.raised or told.kernel_died or told.soft_warnings:
        return
    sized = told.shows("virtual memory")
    if (
        sized
        and _OF_ADDRESSES.search(sized.text)
        and (told.shows("without a GPU") or _LIMITED.search(sized.text))
    ):
        yield _finding(
            f"no failure is told: virtual size ({sized.place}) counts addresses that are reserved and no"
            " memory; without a GPU most of them are malloc's arenas and the stacks of threads, of which"
            " TensorFlow makes as many as the machine has cores",
            sized,
            _FEWER_THREADS,
        )
        return
    if once := told.shows("rising once"):
        yield _finding(
            f"no failure is told: memory that goes up once and stays ({once.place}) is no leak: it is what"
            " that line makes (a copy of an array, too), or what later calls use again (buffers, weights in"
            " another layout, an allocator's pool)",
            once,
            _OF_LITE if any(_LITE.search(each.text) for each in (once, *told.code)) else _ONCE_MORE,
        )
        return
    if (how_much := told.shows("asked: how much")) and not told.device_uses:
        yield _finding(
            f"no failure is told: what a training needs ({how_much.place}) goes with its batch, the size of"
            " its samples and the model, and with the weights four times where Adam trains them",
            how_much,
            _ESTIMATE,
        )
        return
    if unused := told.shows("a GPU unused"):
        yield from _of_an_unused(case, unused)
        return
    if told.shows("asked: normal") is None:
        return
    if use := next(filter(_is_a_context, told.device_uses), None):
        assert use.used and use.total
        yield _finding(
            f"no failure is told: {human(use.used.bytes)} of {human(use.total.bytes)} ({use.line.place}) are"
            " what a process takes of a GPU as soon as it uses it, before any tensor: CUDA's context and the"
            " code of its libraries and kernels, some hundred MiB that lie outside the framework's pool",
            use.line,
            _HIDE,
        )


def _reserved(told: Surroundings) -> Finding | None:
    """Of a row of `top` with far more addresses than memory."""
    row = told.shows("a row of top")
    sizes = _of_top(row) if row else None
    if row is None or sizes is None or sizes[0] < max(_TIMES * sizes[1], _MUCH):
        return None
    return _finding(
        f"no failure is told: {human(sizes[0])} of VIRT ({row.place}) are addresses that the process"
        f" reserved, most of them CUDA's; in RAM are {human(sizes[1])} (RES)",
        row,
        _RESIDENT,
    )


def _failing(told: Surroundings) -> Iterator[str]:
    """The lines that tell of a failure or of growth."""
    others = (told.raised, told.kernel_died, *(each.line for each in told.soft_warnings))
    return (line.text for line in (*map(told.shows, _FAILS), *others) if line)


_IN_ADDRESSES = regex(r"(?i)\bvirtual (?:memory|size|address)|\bVIRT\b|\bVSZ\b")
"""Words of addresses alone: what grows there is no memory."""


def _of_an_unused(case: Case, line: Line) -> Iterator[Finding]:
    """Of a GPU that is said to be unused, by what TensorFlow takes of one that it uses."""
    told = case.capture.surroundings
    if framework_of(case) != TENSORFLOW or told.shows("one device used") or told.shows("a GPU left idle"):
        return
    grows = told.setting("allow_growth")
    takes = (
        f"with growth ({grows[1].place}) TensorFlow takes only what it needs of a GPU, so that little in"
        " use is no fault by itself; or it runs on the CPU"
        if grows and grows[0] == "True"
        else "a GPU that TensorFlow uses shows nearly all of its memory taken, unless growth is set, so it"
        " most likely runs on the CPU: its build has no GPU support, or it found another CUDA or cuDNN than"
        " it was built for"
    )
    yield _finding(
        f"no lack of memory: a GPU is said to be unused ({line.place}); {takes}",
        line,
        Remedy(
            "see whether TensorFlow sees the GPU; the log of its start names the library that it could not"
            " load",
            code_snippets.devices(case.api),
            slug="check-the-device",
        ),
    )


def _is_a_context(use: DeviceUse) -> bool:
    if not (use.used and use.total and use.total.bytes):
        return False
    return 50 * MIB <= use.used.bytes <= min(_CONTEXT, int(_LITTLE * use.total.bytes))


_ROW = regex(
    r"\A\s*\d{1,8} +\S+ +-?\w{1,4} +-?\d{1,3} +(?P<virtual>[\d.,]{1,12}[kmgt]?)"
    r" +(?P<resident>[\d.,]{1,12}[kmgt]?) "
)
_UNITS = {"": 1 << 10, "k": 1 << 10, "m": MIB, "g": GIB, "t": 1 << 40}


def _of_top(row: Line) -> tuple[int, int] | None:
    """VIRT and RES of a row, whose figures without a letter are KiB."""
    match = _ROW.match(row.text)
    return (_bytes(match["virtual"]), _bytes(match["resident"])) if match else None


def _bytes(text: str) -> int:
    figure = text.rstrip("kmgt").replace(",", ".")
    return int(float(figure) * _UNITS[text[len(figure) :]]) if figure.count(".") <= 1 else 0


def _finding(what: str, line: Line, remedy: Remedy) -> Finding:
    return Finding(
        severity=Severity.FACTOR,
        headline=what,
        because=what,
        evidence=(Evidence("what it shows", line),),
        remedies=(remedy,),
    )
