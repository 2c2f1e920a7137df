"""Lines near the failure look like its cause and are not.

What it means: Grappler's `layout failed`, a memory optimizer that gave up, or a garbage collection of free
regions are printed seconds before many an OOM, and XLA says that it missed a goal of its own. They are
warnings of their own; people search for them in vain.
When it fires: such lines stand in a log that also has a failure; or `Allocation of N exceeds 10% of free
system memory` or messages of the program's start are all there is; of these what was free of the GPU
comes first, where it was little. An error
of the program's language that follows such a warning is a failure, and told as one.
What to do: ignore them.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings import ended_after_a_warning
from tfmemlens.findings.support.board import board
from tfmemlens.findings.support.cuda_libraries import (
    NO_GPU_FOUND,
    WITHOUT_CUDA,
    WITHOUT_GPU,
    ask_for_a_gpu,
    cuda_libraries,
    not_found,
)
from tfmemlens.findings.support.last_line import ended_after, helps, speaks_of_memory
from tfmemlens.findings.support.traceback_place import in_short
from tfmemlens.findings.support.unseen_end import WITH_ITS_END, unseen_end
from tfmemlens.knowledge.gpu_memory import shares_ram
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import Size, human_size

BASIS = Basis.NAME
EXPLAINS = "no bytes"


_WORTH_A_WORD = "XLA "
"""What is said of XLA stands for a question of its own; Grappler's warnings alone say nothing of memory."""


_GAVE_BACK = "BFC gave free regions back"


def check(case: Case) -> Iterator[Finding]:
    if case.moments:
        for what, count, line in case.capture.surroundings.harmless:
            lines = f" ({count} lines)" if count > 1 else ""
            yield Finding(
                severity=Severity.NOTE,
                headline=f"not the cause: {what}{lines}",
                evidence=(Evidence("the line", line),),
            )
        return
    for what, count, line in case.capture.surroundings.harmless:
        if what.startswith(_WORTH_A_WORD) and not _something_else(case):
            lines = f" ({count} lines)" if count > 1 else ""
            yield Finding(
                severity=Severity.NOTE,
                headline=f"no failure: {what}{lines}",
                evidence=(Evidence("the line", line),),
            )
    yield from _near_its_limit(case)
    if goal := case.capture.surroundings.shows("short of XLA's goal"):
        yield Finding(
            severity=Severity.NOTE,
            headline=(
                "no failure: XLA warned that a program needs more than its goal although it computes values"
                " again; whether the program fits shows when it runs"
            ),
            evidence=(Evidence("the warning", goal),),
        )
    if vain := case.capture.surroundings.shows("donating in vain"):
        yield Finding(
            severity=Severity.NOTE,
            headline=(
                "no failure: JAX warned that no result fits in the place of some donated arrays, so that"
                " donating them saves nothing"
            ),
            evidence=(Evidence("the warning", vain),),
        )
    large = case.capture.surroundings.large_host_requests
    if any(ended_after_a_warning.check(case)):
        return
    if large and (end := ended_after(case.capture.surroundings, large[-1][1])):
        yield _ended(case, end)
        return
    if large and not _failed_otherwise(case):
        size, line = max(large, key=lambda request: request[0].bytes)
        times = f" (the largest of {len(large)})" if len(large) > 1 else ""
        helps = case.capture.surroundings.shows("more RAM helps")
        if helps:
            yield _of_a_full_machine(line, size, helps)
            yield from _without_cuda(case)
            return
        who = ended_after_a_warning.who_tells(line)
        granted = f"{who} that it asked the host for {human_size(size)} at once{times}, and got it"
        if title := error_in_title(case.capture.surroundings):
            yield Finding(
                severity=Severity.NOTE,
                headline=(
                    f"no message of a failure is in this text, of which {title.place} tells in words:"
                    f" {granted}, which by itself ends no run"
                ),
                evidence=(Evidence("the warning", line), Evidence("what the text says", title)),
                remedies=(WITH_ITS_END, _SEE_RAM),
            )
            return
        if unseen := unseen_end(case.capture.surroundings):
            yield Finding(
                severity=Severity.NOTE,
                headline=(
                    f"no message of a failure is in this text: {granted}, which by itself ends no run;"
                    f" {unseen.words}{_of_the_gpu(case)}"
                ),
                evidence=(Evidence("the warning", line), Evidence("its end", unseen.line)),
                remedies=(unseen.remedy, _SEE_RAM),
            )
            return
        yield Finding(
            severity=Severity.NOTE,
            headline=f"no failure: {granted}{_of_the_gpu(case)}{_hangs(case)}",
            evidence=(Evidence("the warning", line), *_largest_of_the_gpu(case)),
            remedies=(_WHERE_IT_STANDS,) if _hangs(case) else (),
        )
        yield from _without_cuda(case)
    if asked := of_a_warning_alone(case):
        yield Finding(
            severity=Severity.NOTE,
            headline=(
                f"no failure is told: what {asked.place} names is a warning, printed before TensorFlow asks"
                f" the"
                " host for more than a tenth of its RAM at once, and gets it; it sets no limit, nothing of it"
                " can be raised, and results stay as they are"
            ),
            evidence=(Evidence("the warning", asked),),
            remedies=(_SEE_THE_END,),
        )
        return
    if not (large or _something_else(case)):
        startup = case.capture.surroundings.startup
        if startup and ended_after(case.capture.surroundings, startup[0][1]):
            return
        if startup and (held := _held_at_start(case)):
            yield held
            return
        if startup and (told := _told_in_words(case)):
            yield _beside_words(case, startup[0], told)
            return
        first = sorted(startup, key=lambda each: (each[0] not in _OF_THE_DEVICE, _OF_A_POOL not in each[0]))
        yield from (_of_the_start(case, what, line) for what, line in first)


_OF_THE_DEVICE = (WITHOUT_CUDA, WITHOUT_GPU)
_OF_A_POOL = "pool of host memory"
"""What leaves the run without its GPU matters most of what the start says, then what speaks of memory."""


def _of_the_gpu(case: Case) -> str:
    """What a log that has both kinds of warnings says of the other: readers fear that one more."""
    soft = case.capture.surroundings.soft_warnings
    gave = _gave_back(case)
    if gave and not soft:
        return f"; {gave.place} is of the GPU's pool, {_NEARLY_FULL}"
    if not soft:
        return ""
    largest = max(soft, key=lambda warning: warning.size.bytes)
    times = f"{len(soft)} warnings" if len(soft) > 1 else "one warning"
    return (
        f"; {times} of the GPU's allocator (up to {human_size(largest.size)}) are no failure either: an"
        " algorithm with less workspace was taken"
    )


_NEARLY_FULL = (
    "which gave free regions back to the driver to get a larger one: it is near its limit then, and went on"
)


def _gave_back(case: Case) -> Line | None:
    """The line of the pool that rearranged its regions instead of failing."""
    told = case.capture.surroundings
    return next((line for what, _, line in told.harmless if what.startswith(_GAVE_BACK)), None)


def _near_its_limit(case: Case) -> Iterator[Finding]:
    """That the pool rearranged its regions, in a text that tells of nothing else."""
    told, gave = case.capture.surroundings, _gave_back(case)
    ends = (told.raised, told.large_host_requests, _told_in_words(case))
    if gave and not (any(ends) or _something_else(case)):
        yield Finding(
            severity=Severity.NOTE,
            headline=f"no failure: the line is of the GPU's pool, {_NEARLY_FULL}",
            evidence=(Evidence("the warning", gave),),
            remedies=(
                Remedy(
                    "leave it, as long as the run goes on; if it comes in each step and steps are slow, a"
                    " smaller batch leaves room",
                    slug="smaller-batch",
                ),
            ),
        )


def _largest_of_the_gpu(case: Case) -> Iterator[Evidence]:
    if soft := case.capture.surroundings.soft_warnings:
        yield Evidence("the GPU's warning", max(soft, key=lambda warning: warning.size.bytes).line)


def error_in_title(told: Surroundings) -> Line | None:
    """The title that tells of an error, of a text that asks nothing of the warning itself."""
    title = told.shows("an error in a title")
    about = title is None or _OF_THE_WARNING.search(title.text)
    return title if title and title.number == 1 and not about else None


_OF_THE_WARNING = regex(r"(?i)\bexceeds\b|\btcmalloc\b|\blarge alloc\b|\bwarnings?\b|\bAllocation of\b")


def _failed_otherwise(case: Case) -> bool:
    """Whether a line of the text is a failure, beside which the warnings say nothing."""
    told = case.capture.surroundings
    return bool(told.foreign or told.elsewhere or told.without_figures)


def _without_cuda(case: Case) -> Iterator[Finding]:
    """That CUDA's libraries are missing, beside what is said of the RAM that all computes in then."""
    if line := not_found(case):
        yield _of_the_start(case, WITHOUT_CUDA, line)


def _of_the_start(case: Case, what: str, line: Line) -> Finding:
    """What a message of the first seconds says; of missing libraries which to install, of a driver that shows
    no GPU where to look.
    """
    kind = "no lack of memory" if what == WITHOUT_GPU else "no failure"
    return Finding(
        severity=Severity.NOTE,
        headline=f"{kind}: {what}",
        evidence=(Evidence("the message", line),),
        remedies=_of_the_device(case, what, line),
    )


def _of_the_device(case: Case, what: str, line: Line) -> tuple[Remedy, ...]:
    """What finds the GPU that a message of the start did not find; nothing for the other messages."""
    remedies = {
        WITHOUT_CUDA: (cuda_libraries(case, line),),
        WITHOUT_GPU: (*ask_for_a_gpu(case), NO_GPU_FOUND),
    }
    return remedies.get(what, ())


def _told_in_words(case: Case) -> Line | None:
    """The line whose words tell of an end or of a lack, of which the start says nothing."""
    return next(filter(None, map(case.capture.surroundings.shows, (*_OF_AN_END, *_OF_A_LACK))), None)


_OF_AN_END = ("ended in words", "killed in words", "the machine restarts", "ending silently")


def _beside_words(case: Case, first: tuple[str, Line], told: Line) -> Finding:
    """The text tells of a failure in words, and quotes nothing but messages of the start."""
    what, line = first
    return Finding(
        severity=Severity.NOTE,
        headline=(
            f"no message of a failure is in this text: {told.place} tells of one in words, and what is quoted"
            f" are messages of the start, which end no run ({what})"
        ),
        evidence=(Evidence("what the text says", told), Evidence("a message of the start", line)),
        remedies=(*_of_the_device(case, what, line), WITH_ITS_END),
    )


_LITTLE_FREE = 0.6
_USERS = Remedy(
    "see who holds the device, and end what you do not need, before the run: it has no more than what they"
    " leave",
    "nvidia-smi",
    slug="see-device-users",
)


def _held_at_start(case: Case) -> Finding | None:
    """A log of the start alone, in which others held much of the GPU already."""
    if board(case):
        return None  # what is free of its one RAM
    for device in case.capture.surroundings.devices:
        total, free = device.total, device.free
        if shares_ram(device.model):
            continue
        if total and free and free.bytes < _LITTLE_FREE * total.bytes:
            return Finding(
                severity=Severity.NOTE,
                headline=(
                    f"no failure is told here: only {human_size(free)} of the GPU's {human_size(total)} were"
                    " free when TensorFlow started, so another process most likely held the rest"
                ),
                evidence=(Evidence("what was free", device.line),),
                remedies=(_USERS,),
            )
    return None


def _ended(case: Case, end: tuple[str, Line]) -> Finding:
    """The warnings were granted, and the program still ended in an error: of a native tensor that Java's
    bindings got no memory for, or of what its own line says.
    """
    told = case.capture.surroundings
    who, line = end
    size, largest = max(told.large_host_requests, key=lambda request: request[0].bytes)
    native = told.shows("no native tensor")
    if who == "Java" and native and "NullPointerException" in line.text:
        return Finding(
            severity=Severity.FACTOR,
            headline=(
                "most likely host RAM (not GPU memory, and not Java's heap) ran out: requests as large as"
                f" {human_size(size)} were granted before, then TensorFlow's native code gave no memory for a"
                f" tensor ({native.place}), which these bindings show as a null ({line.place})"
            ),
            evidence=(Evidence("a warning before", largest), Evidence("its end", line)),
            remedies=(_CLOSE_TENSORS, _NOT_THE_HEAP),
        )
    says = "it speaks of memory" if speaks_of_memory(line) else "it says nothing of memory"
    return Finding(
        severity=Severity.NOTE,
        headline=(
            f"no out-of-memory message was found, and the program ended in an error of {who}:"
            f" `{in_short(line)}` ({line.place}); {says}. The warnings before it, as large as"
            f" {human_size(size)}, were of requests for host RAM that were granted"
        ),
        evidence=(Evidence("its end", line), Evidence("the largest warning", largest)),
        remedies=(*helps(who, line), _SEE_RAM),
    )


def _of_a_full_machine(line: Line, size: Size, helps: Line) -> Finding:
    """The text says that the program ran once more RAM was free: so it was short of it."""
    return Finding(
        severity=Severity.FACTOR,
        headline=(
            f"no failure by itself: {ended_after_a_warning.who_tells(line)} that it asked the host for"
            f" {human_size(size)} at once, and got it; the 10 % are no limit, only when it warns;"
            f" {helps.place} says that it ran once more RAM was free, so most likely what came after did not"
            " fit into the little that was left"
        ),
        evidence=(Evidence("the warning", line), Evidence("more RAM helps", helps)),
        remedies=(_SEE_WHAT_IS_LEFT, _WHO_TOOK_IT),
    )


_SEE_WHAT_IS_LEFT = Remedy(
    "keep that RAM free, and see what is left while it runs: a model, its data and their copies come after"
    " the request that is warned of",
    "free -h   # the column `available`, not `free`",
    slug="watch-ram",
)
_WHO_TOOK_IT = Remedy(
    "where it does not start, see how it ended: killed, its exit status is 137, and the kernel's log says so",
    "echo $?; dmesg -T | grep -i -E 'killed process|out of memory'",
    slug="read-the-kernel-log",
)
_CLOSE_TENSORS = Remedy(
    "keep fewer tensors at a time: close each when its values are used, or keep only what is needed of it"
    " (a smaller type, a file that is mapped); Java's garbage collector sees nothing of native memory",
    "tensor.close()   // or try-with-resources; in Kotlin .use",
    slug="close-tensors",
)
_NOT_THE_HEAP = Remedy(
    "watch the process's RAM: full at its end, that was it. A larger -Xmx gives native code nothing",
    slug="watch-ram",
)
_SEE_RAM = Remedy(
    "watch RAM while it runs: far from full at its end, those warnings have nothing to do with it",
    slug="watch-ram",
)
_WHERE_IT_STANDS = Remedy(
    "watch RAM while it stands still: far from full, memory is not the reason; then see which line it is at",
    "py-spy dump --pid PID   # pip install py-spy; no restart needed",
    slug="watch-ram",
)


def _hangs(case: Case) -> str:
    """What the text says of a program that stands still, which such a warning does not explain."""
    hangs = case.capture.surroundings.shows("hanging in words")
    if hangs is None:
        return ""
    return f"; it does not explain why the program hangs ({hangs.place}), and nothing here says that it ended"


_SEE_THE_END = Remedy(
    "go on if it runs; where it ends after the warning, the kernel's log says whether RAM was the reason, and"
    " a smaller batch or data that are read in parts ask for less at once",
    "dmesg -T | grep -i -E 'killed process|out of memory'",
    slug="read-the-kernel-log",
)


def of_a_warning_alone(case: Case) -> Line | None:
    """The line that names TensorFlow's warning in words, where the text tells of nothing else."""
    told = case.capture.surroundings
    asked = None if told.large_host_requests or case.moments else told.shows("warned of large requests")
    return asked if asked and _only_wonders(case, asked) else None


def _only_wonders(case: Case, asked: Line) -> bool:
    """Whether the text tells of nothing but the warning: no line says that memory runs out, or of an end."""
    told = case.capture.surroundings
    if _something_else(case) or told.raised or told.shows("ended in words") or told.shows("killed in words"):
        return False
    lines = filter(None, map(told.shows, _OF_A_LACK))
    return all(line == asked for line in lines)


_OF_A_LACK = (
    "running short",
    "growing in words",
    "much memory in words",
    "kept in words",
    "hanging in words",
)


def _something_else(case: Case) -> bool:
    """Whether the log has more to tell than how the program started."""
    told = case.capture.surroundings
    return bool(
        told.foreign
        or told.elsewhere
        or told.without_figures
        or told.crash
        or told.kernel_died
        or told.soft_warnings
        or told.shows("a library's call failed")
        or told.shows("a recurrent call")
    )
