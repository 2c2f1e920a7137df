"""The text says in words that memory ran out or grows, and quotes no message of it.

What it means: whoever asks for help often tells the failure and leaves the message out. Words tell which
memory it was and whether it grew; how much was asked for, by which line, and what was in use stands in the
message alone.
When it fires: no message was found, and a line of prose speaks of memory that ran out or grows. Not beside
another framework's message, nor where quoted code of JAX shows what most likely is too large.
What to do: where memory grows, find what is kept from step to step; else add the message with its traceback.
For host RAM the kernel's log tells who was ended.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings import code_without_message
from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.board import RASPBERRY_PI, board, what_helps
from tfmemlens.findings.support.situation import situation
from tfmemlens.findings.support.watching import find_what_grows
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

BASIS = Basis.NAME
EXPLAINS = "no bytes: no message says how much was requested"

_HOST = regex(r"(?i)\b(?:cpu|system|host|main) (?:ram|memory)\b|\bRAM\b|\bswap\b|\bcontainer\b|\bkilled?\b")
_DEVICE = regex(r"(?i)\bGPUs?\b|\bVRAM\b|\bCUDA\b|\bTPUs?\b|\bHBM\b|\bdevices?\b|\u663e\u5b58")
_SHUFFLE = regex(r"(?i)\bshuffle\b|\bcache\(\)|\bprefetch\b")


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    said, grows = told.shows("running short"), told.shows("growing in words")
    line = said or grows
    if line is None or case.moments or told.foreign or told.without_figures or told.elsewhere:
        return
    if any(code_without_message.check(case)):
        return
    where = _where(line)
    on_board = board(case)
    what = f"{where} grows" if grows is not None and said in (None, grows) else f"{where} ran out"
    yield Finding(
        severity=Severity.FACTOR,
        headline=(
            f"the text says in words that {what} ({line.place}), and quotes no message of it"
            f"{_of_the_board(on_board[0]) if on_board else ''}"
        ),
        evidence=tuple(Evidence("what the text says", each) for each in dict.fromkeys((line, grows or line))),
        remedies=tuple(_remedies(case, told, line, grows)),
    )


_ONE_BATCH_AT_A_TIME = Remedy(
    "let the server put requests together and bound how many run at once: each thread that serves keeps"
    " buffers of its own",
    "tensorflow_model_server --enable_batching=true --tensorflow_session_parallelism=4 ...",
    slug="bound-requests",
)
_OWN_PROCESS = Remedy(
    "train each model in a process of its own, whose end frees everything: that works whatever it is that"
    " stays",
    "with multiprocessing.get_context('spawn').Pool(1, maxtasksperchild=1) as pool: pool.map(train, folds)",
    slug="own-process",
)
_SMALLER_BATCH = Remedy(
    "train with a smaller batch: that helps most trainings; if it fails at a batch of 1, too, make the"
    " samples (images, sequences) or the model smaller",
    slug="smaller-batch",
)


def _of_the_board(name: str) -> str:
    """What is known of the machine, whatever the message."""
    if name == RASPBERRY_PI:
        return "; the RAM of this board is small"
    return f"; CPU and GPU of this board ({name}) share one RAM"


def _where(line: Line) -> str:
    """Which memory the line speaks of."""
    host, device = _HOST.search(line.text), _DEVICE.search(line.text)
    if host and not device:
        return "host RAM"
    return "a device's memory" if device and not host else "memory"


def _remedies(case: Case, told: Surroundings, line: Line, grows: Line | None) -> Iterator[Remedy]:
    serving = situation(case).program == "TensorFlow Serving"
    if serving:
        yield remedies.smaller_requests(case)
        yield _ONE_BATCH_AT_A_TIME
    if grows and (told.shows("clearing the session") or told.shows("models in a loop")):
        yield _OWN_PROCESS
    if told.shows("training") and not grows and _where(line) != "host RAM":
        yield _SMALLER_BATCH
    if on_board := board(case):
        yield from what_helps(on_board[0])
    host = _where(line) == "host RAM"
    if grows and not serving:
        yield find_what_grows(case, host)
    if host and (_SHUFFLE.search(line.text) or told.pipeline_buffers):
        yield Remedy(
            "make the buffers of the input pipeline smaller: shuffle names of files before they are decoded,"
            " and cache nothing decoded",
            "files = files.shuffle(len(paths)).map(decode)   # not: map(decode).shuffle(50_000)",
            slug="shuffle-files",
        )
    yield Remedy(
        "add the message itself and its traceback (from `RESOURCE_EXHAUSTED`, `ran out of memory` or `OOM"
        " when allocating` on): they say how much was asked for, by which line, and what was in use",
        "python train.py 2>&1 | tee train.log; tfmemlens explain train.log",
        slug="read-the-log",
    )
    if host:
        yield Remedy(
            "if the process ended without a message, the kernel's log says whether it was killed for memory",
            "dmesg -T | grep -i -E 'killed process|out of memory'",
            slug="read-the-kernel-log",
        )
