"""The line that looks like a program's end, where nothing knows its message: whose it is, and what helps."""

from __future__ import annotations

from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_OF_MEMORY = regex(
    r"(?i)memory|\bOOM|exhaust|bad_alloc|OUT_OF_|\b(?:fail\w*|cannot|could not|unable)(?: to)? alloc"
    r"|texture size"
)
_SEARCH = Remedy(
    "begin with this line and those right above it: search for its words with the name and the release of the"
    " program that wrote it",
    slug="search-the-error",
)
_MEND_IT = Remedy(
    "first mend what this line says; if the run then fails for memory, explain that log",
    slug="mend-the-error",
)
_ON_A_DEVICE = Remedy(
    "where the delegate or driver fails to start, go on with the CPU, and give the GPU a smaller model:"
    " weights of 8 or 16 bits, a smaller input, or a part of the ops",
    slug="smaller-model",
)
_MAP_IT = Remedy(
    "map the model's file instead of reading it into the app's heap; a larger Java heap gives native code"
    " nothing",
    slug="map-the-file",
)
_WHO_ELSE = Remedy(
    "see how full the GPU was just before, and by whom; then try a smaller input, which tells whether it is a"
    " matter of size",
    slug="see-device-users",
)
_STATUS = Remedy(
    "look at what stopped first, above this line: a status alone says that a process ended, and 137 or -9"
    " that it was killed, most often for RAM",
    "dmesg -T | grep -i -E 'killed process|out of memory'",
    slug="read-the-kernel-log",
)
_OF = {
    "an OpenCL driver": (_ON_A_DEVICE, _MAP_IT),
    "a Vulkan driver": (_ON_A_DEVICE,),
    "Direct3D": (_WHO_ELSE,),
    "ROCm": (_WHO_ELSE,),
    "the process's exit status": (_STATUS,),
}
"""What to do about a line that speaks of memory, by who wrote it."""
_WHERE = {
    "an OpenCL driver": ", which compiles kernels and keeps buffers outside TensorFlow's pools (host memory"
    " is the process's own)",
    "a Vulkan driver": ", whose memory lies outside TensorFlow's pools",
    "Direct3D": ", the driver interface of Windows, whose memory lies outside TensorFlow's pools",
    "ROCm": ", AMD's driver and runtime",
}
"""What is known of whoever wrote it."""
WHERE_IT_STANDS = Remedy(
    "see which line it is at while it stands still: one that reads or waits for data (a queue, workers, a"
    " lock) gets none; one inside a step waits for the GPU or for another process",
    "py-spy dump --pid PID   # pip install py-spy; no restart needed",
    slug="where-it-stands",
)
WHY_SILENT = {
    False: Remedy(
        "learn how it ended: a status of 137 means killed, most often for RAM (the kernel's log names it),"
        " 139 or 134 a crash in native code, for which faulthandler prints the line; 0 or 1 that the program"
        " ended itself",
        "python -X faulthandler train.py; echo $?; dmesg -T | tail",
        slug="how-it-ended",
    ),
    True: Remedy(
        "learn how it ended: -1073741819 (0xC0000005) means a crash in native code, for which faulthandler"
        " prints the line, as a call that finds no memory may do; 0 or 1 that the program ended itself",
        "python -X faulthandler train.py & echo %ERRORLEVEL%",
        slug="how-it-ended",
    ),
}
"""By whether it runs on Windows: what tells why a program ended that printed nothing."""


def last_line(told: Surroundings) -> tuple[str, Line] | None:
    """The line that looks like the end, and whose it is: before others one that speaks of memory, and before
    a status alone, which says that it failed, the error that the program raised.
    """
    code = {line.number for line in code_lines(told)}
    ends = [(who, line) for who, line in told.ends if line.number not in code]
    if any(who == _STATUS_ALONE for who, _ in ends) and told.raised and told.raised.number not in code:
        ends.append((_PYTHON, told.raised))
    ends.sort(key=lambda end: (not speaks_of_memory(end[1]), end[0] == _STATUS_ALONE))
    return next(iter(ends), None)


_STATUS_ALONE, _PYTHON = "the process's exit status", "Python"


_OF_A_PROGRAM = ("Rust", "Go", "Java", "Python", "JavaScript", "C++", "the process's exit status")
_OF_ONES_OWN = regex(r"\b(?:KeyboardInterrupt|SystemExit|GeneratorExit)\b")


def ended_after(told: Surroundings, warning: Line) -> tuple[str, Line] | None:
    """An error that a program's language prints at its end, after a warning: then the run did fail."""
    code = {line.number for line in code_lines(told)}
    return next(
        (
            (who, line)
            for who, line in told.ends
            if who in _OF_A_PROGRAM
            and line.number not in code
            and line.source == warning.source
            and line.number > warning.number
            and not _OF_ONES_OWN.search(line.text)
        ),
        None,
    )


def speaks_of_memory(line: Line) -> bool:
    """Whether a word of memory stands in it."""
    return _OF_MEMORY.search(line.text) is not None


def whose(who: str) -> str:
    """`an OpenCL driver's, which ...`; of those of whom more is known that."""
    return f"of {who}{_WHERE.get(who, '')}"


def quoted(told: Surroundings) -> str:
    """Whose line it is, where it speaks of memory: of it no allocator's figures can be asked for; empty where
    none does.
    """
    end = last_line(told)
    return f"a line that is {whose(end[0])} ({end[1].place})" if end and speaks_of_memory(end[1]) else ""


_NAME_TAKEN = regex(r"(?i)\b(?:dataset|group|link)\b[^\n]{0,40}\bname already exists\b")
"""HDF5's: two weights of one group have the same name."""
_NAMES = Remedy(
    "two weights would be saved under one name: give the layers, and the variables that they make themselves,"
    " names of their own, or save in a format that goes by the structure instead; memory has no part in it",
    "print([w.name for w in model.weights])   # or: model.save('out.keras'), in TF 2: save_format='tf'",
    slug="mend-the-error",
)


def helps(who: str, line: Line) -> tuple[Remedy, ...]:
    """What to do about it."""
    if _NAME_TAKEN.search(line.text):
        return (_NAMES,)
    if not speaks_of_memory(line):
        return (_MEND_IT, _SEARCH)
    return (*_OF.get(who, ()), _SEARCH)
