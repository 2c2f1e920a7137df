"""TensorFlow warned of a large request of host RAM, and the text says that the program ended.

What it means: `Allocation of N exceeds 10% of free system memory` is a warning: that request was granted. A
program that is killed or aborts right after it, or with which the whole machine stands still, most likely had
no more host RAM. One that ends in another way may have had: a crash in a library looks the same.
When it fires: such a warning, or its words, and prose that says that the program was killed, crashed or
stopped, or the line of an abort, and no failure beside them.
What to do: need less host RAM at once; see that it was RAM.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.board import board, what_helps
from tfmemlens.findings.support.cuda_libraries import cuda_libraries, not_found
from tfmemlens.findings.support.situation import situation
from tfmemlens.findings.support.stated_sizes import as_images, as_product
from tfmemlens.findings.support.told_again import DATA_IN_PARTS
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import Size, human_size

BASIS = Basis.NAME
EXPLAINS = "no bytes: a warning of one request tells nothing of all of them"

_ABORTED = regex(r"\bAborted\b|SIGABRT")
"""How a process ends that got no memory in C++; a segmentation fault has other reasons."""


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    warned, ended = told.shows("warned of large requests"), told.shows("ended in words")
    ended = ended or told.kernel_died
    if told.crash is not None:
        ended = told.crash if _ABORTED.search(told.crash.text) else None
        if _OF_WINDOWS.search(told.crash.text) and told.large_host_requests:
            ended, warned = told.crash, told.large_host_requests[-1][1]
    if case.moments or warned is None or ended is None or told.foreign or told.elsewhere:
        return
    large = max(told.large_host_requests, key=lambda request: request[0].bytes, default=None)
    asked = f" for {human_size(large[0])} at once" if large else ""
    who = who_tells(large[1]) if large else "TensorFlow warned"
    of_what = _of_what(case, large[0].bytes) if large else ""
    sure = bool(_FOR_RAM.search(ended.text) or board(case) or of_what)
    what = (
        f"{who} that it asked the host{asked}, which by itself is no failure, and the text says that"
        f" {_how(ended)} ({ended.place})"
    )
    yield Finding(
        severity=Severity.FACTOR,
        headline=f"{_LIKELY if sure else ''}{what}{of_what}{'' if sure else _OPEN}",
        evidence=(Evidence("the warning", large[1] if large else warned), Evidence("its end", ended)),
        remedies=(*_of_board(case), *_remedies(case, large, sure)),
    )


_OF_WINDOWS = regex(r"(?i)\bexit code\b.{0,40}(?:-10737\d{5}|0xC0000[\dA-F]{3})")
"""How an editor says that native code ended the process."""
_FOR_RAM = regex(
    r"(?i)\bkill|\bAborted\b|SIGABRT|\bswap|\u5361\u6b7b|\bmemory error\b|\bout of (?:\w+ )?(?:memory|RAM)\b"
    r"|\b(?:everything|computer|machine|laptop|pc|system|server|desktop)\b[^.\n]{0,40}"
    r"\b(?:hang|hung|fr[eo]{1,2}z|stuck)"
)
"""Ends that a lack of RAM brings, and little else: a kill, an abort, a machine that stands still; and an end
whose own sentence names a lack of memory.
"""
_LIKELY = "most likely host RAM (not GPU memory) ran out: "
_OPEN = (
    "; whether host RAM ran out is open: no message says so, and a crash in a library or an error that is not"
    " quoted ends a program as well"
)


_NOT_ENOUGH = regex(r"(?i)\bnot enough\b")


def _how(ended: Line) -> str:
    """What the text says of the end: of some only that the RAM was too little."""
    alone = _NOT_ENOUGH.search(ended.text) and not _ENDS.search(ended.text)
    return "the RAM is not enough" if alone else "the program ended"


_ENDS = regex(r"(?i)\b(?:fail|crash|die|stop|terminat|abort|quit|exit|kill|hang|hung|fr[eo]{1,2}z|stuck)")


_FILES = Remedy(
    "let the data set hold names of files, and read them in map: then the pictures of a batch are in RAM, and"
    " not all",
    "ds = tf.data.Dataset.from_tensor_slices((paths, labels)).shuffle(len(paths)).map(load).batch(16)",
    slug="map-the-file",
)


def _of_what(case: Case, need: int) -> str:
    """What the request is by the numbers of the text, and that a tensor of it is as large again."""
    told = case.capture.surroundings
    product = as_images(need, told.sizes) or as_product(need, told.sizes)
    if product is None:
        return ""
    copies = told.shows("a set as tensors")
    again = f"; {copies.place} makes a tensor of it, as large again" if copies else ""
    return f"; that is, to the byte, {product.text}{again}"


def who_tells(line: Line) -> str:
    """Who wrote of a large request of host RAM."""
    return "the program's malloc logged" if "tcmalloc" in line.text else "TensorFlow warned"


def _of_board(case: Case) -> tuple[Remedy, ...]:
    named = board(case)
    return what_helps(named[0]) if named else ()


_BEFORE_THE_DATA = regex(
    r"(?i)\bbefore (?:any |the |my )?(?:data\w*|input|images?)\b[^.]{0,12}\b(?:loaded|read|used)\b"
    r"|\b(?:creating|starting) (?:an? |the )?(?:tensorflow )?session\b"
    r"|\b(?:while|when) (?:it is |it |I |we )?load(?:ing|s)? (?:the |my |a )?model\b"
)
_LIMIT_OF_A_CONTAINER = Remedy(
    "see whether the container has a limit of its own, which counts whatever RAM the machine has (Docker"
    " Desktop gives a few GB), and raise it",
    "docker stats --no-stream   # then: docker run --memory=8g ...",
    slug="container-limit",
)
_ROOM_FOR_THE_MODEL = Remedy(
    "give it more RAM, or a smaller model: it ends where the model is made, before any data; its weights are"
    " there several times then (the file as read, the graph with them as constants, the variables)",
    "free -h; du -sh model/   # several times the model's size must be free",
    slug="more-ram",
)


_WATCH = Remedy(
    "watch RAM while it runs (top; on Windows the Task Manager): where it fills up, that was it; if it"
    " does not, the end has another reason, and the warning nothing to do with it",
    slug="watch-ram",
)


def _remedies(case: Case, large: tuple[Size, Line] | None, sure: bool) -> Iterator[Remedy]:
    told = case.capture.surroundings
    ended = told.shows("ended in words")
    if not sure:
        yield _WATCH
    starts = ended is not None and _BEFORE_THE_DATA.search(ended.text)
    if told.shows("in a container"):
        yield _LIMIT_OF_A_CONTAINER
    if starts:
        yield _ROOM_FOR_THE_MODEL
    elif large and _of_what(case, large[0].bytes):
        yield _FILES if as_images(large[0].bytes, told.sizes) else DATA_IN_PARTS
    elif told.shows("training"):
        yield Remedy(
            "train with a smaller batch, and read the data in parts instead of as one array",
            slug="smaller-batch",
        )
    else:
        yield Remedy(
            "need less at once: smaller images or shorter inputs, fewer of them in one call (a tool's own"
            " options for tiles, scale or batch do this)",
            slug="smaller-input",
        )
    if sure:
        yield _WATCH
    if missing := not_found(case):
        yield cuda_libraries(case, missing)
    if situation(case).program is None:
        yield Remedy(
            "on Linux the kernel says whom it killed for memory",
            "dmesg -T | grep -i -E 'killed process|out of memory'",
            slug="read-the-kernel-log",
        )
