"""A run's output that was pasted into the program: into a string that is a statement, or into comments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tfmemlens.patterns import regex

_OPENS = regex(r"\s*[rRuUbB]{0,2}(?P<mark>\"\"\"|''')(?P<rest>.*)")
_COMMENT = regex(r"\s*#")
_GOES_ON = ("(", "[", "{", ",", "=", "\\", "+", "%")
"""What ends the line above a string that is a part of a statement, such as an argument."""
_ENDS = (
    r"\bProcess finished with exit code (?:137\b|-?\d+ \(interrupted by signal 9\b)"
    r"|\bslurmstepd: error: Detected \d+ oom|\bwhat\(\): +std::bad_alloc"
)
"""What a console, a scheduler or C++ prints at the end of a process that got no memory, or was killed."""
_OF_A_LIBRARY = (
    r"\bCould not create cudnn handle: CUDNN_STATUS_\w+|\bFail to find the dnn implementation\b"
    r"|\bFailed to get convolution algorithm\b"
)
_MESSAGE = regex(
    r"OOM when allocating tensor|\b(?:RESOURCE_EXHAUSTED|[Rr]esource exhausted): "
    r"|[Rr]an out of memory trying to allocate \d|\bCUDA_ERROR_OUT_OF_MEMORY\b"
    r"|Failed copying input tensor from /job:|\bDst tensor is not initialized"
    r"|\bUnable to allocate (?:array with shape \(|\d[\d.]* [KMGTP]i?B for an array)"
    r"|\bfailed to allocate memory\b|\bCUDA out of memory\. Tried to allocate \d"
    rf"|\bYour notebook tried to allocate more memory than is available\b|{_ENDS}|{_OF_A_LIBRARY}",
)
_CONSOLE = regex(
    r"\A[\s#]*(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.\d]*: )?[WEIF] ?[ /\w]*\.cc:\d+\]"
    r"|\A[\s#]*[WEIF]\d{4} \d\d:\d\d:\d\d|\A[\s#]*Traceback \(most recent call last\)"
    r"|\A[\s#]*File \"[^\"\n]+\", line \d+|\[\[\{{0,2}[Nn]ode\b"
    r"|\A[\s#]*[\w.]*Error: OOM when allocating tensor with shape\[[\d,]+\] and type \w+ on /job:"
    r"|\A[\s#]*[\w.]*Error: Failed copying input tensor from /job:"
    r"|\A[\s#]*(?:[\w.]+\.)?InternalError: (?:[^\n]{0,80} )?Dst tensor is not initialized"
    r"|\A[\s#]*(?:[\w.]+\.)?_?(?:Array)?MemoryError: Unable to allocate \S"
    r"|\A[\s#]*(?:[\w.]+\.)?(?:OutOfMemory|Runtime)Error: CUDA out of memory\."
    r"|\bYour notebook tried to allocate more memory than is available\b"
    rf"|\bHint: If you want to see a list of allocated|{_ENDS}",
)


_TOLD = regex(r"\A\s*#.{0,200}\b(?:I|[Ww]e) (?:\w+ ){0,3}?(?:get|got|getting|have|had|run|ran|see|saw)\b")
"""A comment in which the writer tells what happens."""


def pasted_output(text: str) -> bool:
    """Whether a block of the program's text is a run's output that tells of an allocation that failed."""
    return any(_is_output(block) for block in _blocks(text.splitlines()))


def _is_output(block: list[str]) -> bool:
    told = any(_TOLD.search(row) and _MESSAGE.search(row) for row in block)
    return told or (any(map(_MESSAGE.search, block)) and any(map(_CONSOLE.search, block)))


def _blocks(rows: Iterable[str]) -> Iterator[list[str]]:
    """The strings that are statements, and the comments that stand together."""
    block: list[str] = []
    mark, above, is_data = "", "", False
    for row in rows:
        opens = None if mark else _OPENS.match(row)
        if mark:
            block.append("" if is_data else row)
            mark = "" if mark in row else mark
        elif opens and opens["mark"] not in opens["rest"]:
            yield block
            mark, is_data = opens["mark"], above.endswith(_GOES_ON)
            block = [] if is_data else [opens["rest"]]
        elif _COMMENT.match(row):
            block.append(row)
        else:
            yield block
            block = []
        above = above if _COMMENT.match(row) else row.strip() or above
    yield block
