"""What an input pipeline holds in host RAM, and what makes that less."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tfmemlens.findings.support.board import board
from tfmemlens.findings.support.grounds import tell
from tfmemlens.findings.support.kills import (
    was_killed,
)
from tfmemlens.findings.support.situation import (
    JAX,
    TENSORFLOW,
    TORCH_XLA,
    framework_of,
    situation,
)
from tfmemlens.findings.support.which_memory import HOST
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex


def being_filled(case: Case, moment: Moment) -> tuple[str, Line] | None:
    """What the input pipeline filled when the process was killed: steps that follow show that it was full."""
    told, failed = case.capture.surroundings, moment.request.failed.line if moment.request else None
    running = [each.line for each in told.progress if each.step] + [line for _, line in told.steps]
    for what, line in reversed(told.pipeline_buffers):
        near = failed is not None and failed.source == line.source and line.number < failed.number
        if near and not any(line.number < each.number for each in running):
            return ("shuffle buffer" if "shuffle" in what else what), line
    return None


def names_data(case: Case) -> bool:
    """Whether the text speaks of what reads data."""
    told = case.capture.surroundings
    facts = ("queueing samples", "worker processes", "loading samples", "before training", "reading files")
    return bool(told.pipeline_buffers or any(map(told.shows, facts)) or told.large_host_requests)


def at_a_stage(case: Case) -> Iterator[Remedy]:
    """What to do where nothing tells what took the RAM: of XLA's programs, whose text names no input
    pipeline, at which of their stages it goes.
    """
    if framework_of(case) in (JAX, TORCH_XLA) and not names_data(case):
        yield Remedy(
            "print the program's RAM after each of its stages (data read, weights made or restored, the first"
            " call, which compiles, a save or an evaluation): that at which it jumps is the one to change",
            "print(psutil.Process().memory_info().rss >> 20, 'MiB')",
            slug="tell-which",
        )
    elif situation(case).program or names_a_pipeline(case):
        yield from less_in_the_pipeline(case, "if it trains: ")
    else:
        yield tell(case, HOST)


def names_a_pipeline(case: Case) -> bool:
    """Whether the text shows a program, or speaks of its data or of an input pipeline."""
    told = case.capture.surroundings
    shown = any(map(told.shows, ("an input pipeline", "large data", "inferring in words")))
    return bool(shown or told.code or names_data(case))


def less_in_the_pipeline(case: Case, unless: str = "") -> Iterator[Remedy]:
    """Less in the buffers of an input pipeline, unless the text quotes a program and names none: then what
    tells where the memory goes. A program in another language has no such pipeline.
    """
    told = case.capture.surroundings
    if situation(case).program or only_infers(case):
        return
    if told.shows("warned of large requests") and not _may_train(told):
        yield _LESS_AT_A_TIME
        return
    if named_buffers(case) == "worker processes" and told.shows("worker processes"):
        return  # said in other words
    vain = told.shows("a smaller batch in vain") or told.shows("any batch alike")
    if vain and not (told.pipeline_buffers or told.shows("an input pipeline") or told.code):
        yield Remedy(
            f"a smaller batch changed nothing ({vain.place}), so most likely it is what is read or made once,"
            " whatever the batch: the set as a whole, a copy of it that is shuffled or converted. Read a part"
            " first, then slices of the files, and shuffle indices instead of arrays",
            "order = np.random.permutation(n)   # x = file['data'][np.sort(order[i:i + batch])]",
            slug="map-the-file",
        )
        return
    if told.shows("an input pipeline") or told.pipeline_buffers or len(told.code) < _A_PROGRAM:
        text = f"{unless}shrink what the input pipeline holds: {named_buffers(case)}"
        yield Remedy(text, slug="smaller-pipeline")
    else:
        yield tell(case, HOST)


def learns(case: Case) -> bool:
    """Whether a text of several ranks is of a program that learns from data: other programs of MPI read no
    data set.
    """
    told = case.capture.surroundings
    ranks = told.shows("several ranks")
    named = ranks is not None and _LEARNS.search(ranks.text) is not None
    other = framework_of(case) in (JAX, TORCH_XLA) or told.shows("naming Keras")
    return bool(named or other or names_data(case) or _may_train(told))


_LEARNS = regex(r"(?i)horovod|\bhvd\b|tensorflow|torch|\bjax\b|\btf\.|\bkeras\b|train")


def _may_train(told: Surroundings) -> bool:
    """Whether any line speaks of a training, a pipeline, or a program that may have one."""
    speaks = any(map(told.shows, (*_OF_TRAINING, "an input pipeline", "queueing samples", "large data")))
    return bool(
        speaks or told.steps or told.progress or told.pipeline_buffers or len(told.code) >= _A_PROGRAM
    )


_OF_TRAINING = ("training", "training in words", "learning in words", "fitting", "stepping")
_LESS_AT_A_TIME = Remedy(
    "give it less at a time: smaller images or shorter inputs, and fewer at once; what it warned of before"
    " its end grows with them",
    slug="smaller-input",
)
_A_PROGRAM = 3
"""Lines of code that show what a program does."""


def only_infers(case: Case) -> bool:
    """Whether the text says that a model is only used, and shows neither a training nor a pipeline."""
    told = case.capture.surroundings
    shown = any(map(told.shows, ("training", "an input pipeline", "queueing samples")))
    if shown or told.steps or told.progress or told.pipeline_buffers:
        return False
    return told.shows("inferring in words") is not None and not buffers_shown(told.code)


def loads_samples(case: Case) -> bool:
    """Whether the text shows samples being read one after another, or says that it fails before training."""
    told = case.capture.surroundings
    return bool(told.shows("loading samples") or told.shows("before training"))


def reads_data(case: Case, moment: Moment) -> bool:
    """Whether an input pipeline may be what holds the RAM; of a killed process something must show that it
    trains.
    """
    told = case.capture.surroundings
    trains = bool(told.shows("training") or told.steps or told.progress or told.pipeline_buffers)
    trains = trains or told.shows("queueing samples") is not None
    return not was_killed(moment) or trains or bool(told.large_host_requests and board(case) is None)


_BUFFERS = {
    ".shuffle(": "shuffle(buffer_size)",
    ".prefetch(": "prefetch",
    ".cache(": "cache()",
    "workers": "worker processes",
    "max_queue_size": "worker processes",
    "use_multiprocessing": "worker processes",
}
"""What holds samples in host RAM, by what shows it in code."""


def buffers_shown(code: Iterable[Line]) -> list[str]:
    """Which of them lines of code show."""
    shown = [words for word, words in _BUFFERS.items() if any(word in line.text for line in code)]
    return list(dict.fromkeys(shown))


def named_buffers(case: Case) -> str:
    """What an input pipeline holds, in the framework's words."""
    if framework_of(case) == TENSORFLOW:
        if queue := case.capture.surroundings.shows("queueing samples"):
            return f"capacity and min_after_dequeue of its queue ({queue.place}), images as uint8 until then"
        code = case.capture.surroundings.code
        shown = buffers_shown(code)
        known = shown if len(code) >= _A_PROGRAM or len(shown) > 1 else []
        return ", ".join(known or dict.fromkeys(_BUFFERS.values()))
    return "shuffling buffers, prefetched batches, worker processes"
