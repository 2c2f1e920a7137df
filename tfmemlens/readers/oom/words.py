"""Whether a text may tell of a failure at all: most logs of a cluster do not, and need not be parsed.

First words are searched for, one of which every message of a failure has; then the few lines that have some
are read as if they were the whole text. Both only ever err by parsing too much: a line alone has nothing
around it that could explain it away.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.knowledge.kill_words import SHELLS_WORDS, WORDS_OF_A_SESSION
from tfmemlens.model.capture import Capture
from tfmemlens.model.incident import Incident, RequestKind
from tfmemlens.patterns import regex
from tfmemlens.readers.bytes import texts
from tfmemlens.readers.bytes.literals import Literals
from tfmemlens.readers.formats import oom_log

_KILLED_ABROAD = tuple(word.encode().lower() for word in (*SHELLS_WORDS, *WORDS_OF_A_SESSION))
WORDS = (
    tuple(
        word.encode()
        for word in (
            "memory",
            "alloc",
            "oom",
            "exhausted",
            "paging file",
            "dnn",
            "blas",
            "kill",
            "signal 9",
            "exit code",
            "exit status",
            "exited",
            "exitcode",
            "status 137",
            "with 137",
            "code 137",
            "rc 137",
            "rc=137",
            "rc -9",
            "code: 137",
            "(137)",
            "] error 137",
            "code 247",
            "status -9",
            "status 247",
            "chunk at",
            "chunk state",
            "chunks",
            "b from ",
            "nodes with",
            "node with",
            "inuse",
            "in_use",
            "no algorithm",
            "get convolution",
            "hbm",
            "vmem",
            "buffer ",
            "peak buffers",
            "bufferassignment",
            "padded",
            ". size: ",
            "of size",
            "limit:  ",
            "not possible",
            "dst tensor",
            "copying input",
            "cannot parse",
            "solver",
            "cusparse",
            "cufft",
            "miopen",
            "badness",
            "out_of_me",
            "memlimit",
            "available ram",
            "next region",
            "1073741801",
            "3221225495",
            "c0000017",
            "********",
            "xxxxxxxx",
        )
    )
    + _KILLED_ABROAD
)
"""In small letters: each line that begins a message, a dump or a list has one."""
PHRASES = (
    tuple(
        phrase.encode()
        for phrase in (
            "oom when",
            "to allocate 0 bytes",
            "resource_exhausted",
            "resource exhausted",
            "resourceexhausted",
            "out of memory",
            "out_of_me",
            "outofmemory",
            "memory budget",
            "cuda calloc",
            "dataloader worker",
            "dst tensor",
            "current usage from",
            "bfc_allocator",
            "bfcallocator",
            "bad_alloc",
            "instance type with more memory",
            "memoryerror",
            "memory limit",
            "low on resource: memory",
            "vmem capacity",
            "exceeded scoped",
            "memory_limit_",
            "max memory used",
            "hbm usage",
            "than is available",
            "available ram",
            "cannot allocate",
            "paging file",
            "error code 1455",
            "failed to alloc",
            "could not allocate",
            "unable to allocate",
            "alloc_failed",
            "_status_execution_failed",
            "_status_internal_error",
            "cumemalloc",
            "nccl operation",
            "not_initialized",
            "no algorithm worked",
            "convolution algorithm",
            "cudnn handle",
            "cusolver internal",
            "gpu/solver.cc",
            "handle) failed",
            "launch failed",
            "no dnn",
            "dnn != nullptr",
            "cannot parse tensor",
            "not possible. there",
            "peak buffers",
            "bufferassignment",
            "aborting compilation",
            "in-use chunks",
            "chunks of size",
            "chunk state",
            "chunks in use",
            "next region",
            "killed",
            "oom-kill",
            "oom_kill",
            "sigkill",
            "signal 9",
            "code 137",
            "rc 137",
            "rc=137",
            "rc -9",
            "code 247",
            "(137)",
            "] error 137",
            "code: 137",
            "status 247",
            "status 137",
            "with 137",
            "exitcode",
            "code -",
            "status -9",
            "badness",
            "quota",
        )
    )
    + _KILLED_ABROAD
)
"""In small letters, what few lines but those of a failure say: each failure has one in some of its lines."""
_WORDS, _PHRASES = Literals(*WORDS), Literals(*PHRASES)
_COLOURS = regex(rb"\x1b(?:\[[0-9;?]*[A-Za-z]|[ -/]{0,3}[0-Z\\-~])")
_NO_FAILURE = (RequestKind.PROGRAM, RequestKind.PROFILE)
_SURE = b"oom when allocating tensor with shape"
"""What is a failure whatever its line says beside it."""
_MAX_LINES = 400
"""So many lines with such words are no fewer than the whole text in a short log."""


def failures(capture: Capture) -> tuple[Incident, ...]:
    """The incidents that are failures, and no accounts of a program or of a device."""
    return tuple(each for each in capture.incidents if each.request.kind not in _NO_FAILURE)


def names_a_failure(raw: bytes) -> bool:
    """Whether a text says what few others do but those of a failure."""
    return _PHRASES.stand_in(raw.lower())


def may_tell(raw: bytes) -> bool:
    """Whether the bytes of a text may tell of a failure: False only where no reader would find one."""
    encoding = texts.encoding_of(raw[:4096])
    if encoding.startswith("utf-16"):
        raw = raw.decode(encoding, "replace").encode("utf-8", "replace")
    if b"\x1b" in raw:
        raw = _COLOURS.sub(b"", raw)
    small = raw.lower()
    if _SURE in small:
        return True
    joined = small.translate(None, b"\r\n")
    present = [word for word in WORDS if _WORDS.stands_in(joined, word)]
    if not present:
        return False
    if any(small.count(word) != joined.count(word) for word in present):
        return True  # a terminal broke the lines, perhaps
    lines = list(_lines(raw, small, present))
    if len(lines) > _MAX_LINES or small.lstrip()[:1] == b"{":  # a notebook's lines are inside JSON
        return True
    return bool(failures(oom_log.read_lines(lines)))


def _lines(raw: bytes, small: bytes, words: list[bytes]) -> Iterator[tuple[int, str]]:
    """The lines in which one of the words stands, numbered by where they begin."""
    starts = set()
    for word in words:
        at = small.find(word)
        while at >= 0:
            starts.add(small.rfind(b"\n", 0, at) + 1)
            end = small.find(b"\n", at)
            at = small.find(word, end) if end >= 0 else -1
            if len(starts) > _MAX_LINES:
                break
    for start in sorted(starts):
        end = raw.find(b"\n", start)
        yield from _parts(start, raw[start : end if end >= 0 else len(raw)])


def _parts(start: int, line: bytes) -> Iterator[tuple[int, str]]:
    """A line, or the states of a progress bar that overwrote each other in it."""
    for part in line.removesuffix(b"\r").split(b"\r"):
        yield start, part.decode("utf-8", "replace")
