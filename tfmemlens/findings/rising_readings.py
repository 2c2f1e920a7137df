"""The program printed what it holds, and the figure rises from reading to reading.

What it means: `tf.config.experimental.get_memory_info` counts the tensors that are alive. Between two steps
only weights, slots and what the program keeps are; if that rises again and again, something keeps tensors.
A resident set that rises is the same in host RAM.
When it fires: at least three printed readings of `current`, of a step's own line (`step 20 gpu_mem 5.1 GB`)
or, where host RAM ran out, of it (`rss=12.1GB`), each above the one before, or nearly all of five and more;
four of host RAM where no failure is told; two of TensorFlow.js, whose tensors it counts as well.
What to do: find what keeps tensors between the readings: lists of losses, a metric, a function traced anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tfmemlens.findings.support import steps_of_torch_xla
from tfmemlens.findings.support.code_snippets import ONE_SIGNATURE
from tfmemlens.findings.support.growth import steadily
from tfmemlens.findings.support.kept import without_states
from tfmemlens.findings.support.remedies import TIDY
from tfmemlens.findings.support.rise_with import rise_with
from tfmemlens.findings.support.rows import on_host
from tfmemlens.findings.support.situation import JAX, TORCH_XLA, framework_of, situation
from tfmemlens.findings.support.what_grows import grower
from tfmemlens.knowledge.kept_results import keeps_whole_states
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, MIB, human

BASIS = Basis.MEASURED
EXPLAINS = "the growth from the first reading to the last"

_LEAST_SHARE = 0.05
"""Below this share of a limit that is printed beside it, nothing is full."""
_LIMIT = regex(r"(?i)\b(?:limit|total)\b[ :=]{1,3}(?P<size>\d{1,9}(?:\.\d{1,6})?) ?(?P<unit>[MG])i?B\b")
_UNITS = {"M": MIB, "G": GIB}
_TENSORS = regex(r"\bnumTensors: (\d{1,9})\b")
_TRACED = regex(r"<function (?P<name>[\w.<>]+) at ")
_FIND = Remedy(
    "let Python say which lines hold what it allocated: take a snapshot now and then, and compare",
    "tracemalloc.start(); ...; print(tracemalloc.take_snapshot().statistics('lineno')[:9])",
    slug="find-the-growth",
)
_OF_XLA = Remedy(
    "see whether it is Python's at all: where tracemalloc and the number of live arrays stay flat while RAM"
    " rises, it is native memory: programs (count what is compiled), what malloc does not give back, or a"
    " leak of this release: compare another malloc, and another release",
    "MALLOC_ARENA_MAX=2 python train.py   # or LD_PRELOAD=libjemalloc.so; memray run --native",
    slug="find-the-growth",
)
_SIGNATURE = Remedy(
    "give the function one signature, and pad inputs to few shapes: each trace keeps its graph in host RAM",
    ONE_SIGNATURE,
    slug="one-signature",
)


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    host = on_host(case.moments[0]) if case.moments else not told.readings and _rise(told.host_readings)
    readings = told.host_readings if host else told.readings
    if situation(case).program == "Node" and not host:
        yield from _of_node(readings)
        return
    if not steadily(readings):
        return
    (first, at), (last, end) = readings[0], readings[-1]
    if (limit := _limit_of(end)) and last < _LEAST_SHARE * limit:
        return
    where = "host RAM" if host else "memory"
    what = f"{where} in use rose from {human(first)} to {human(last)} over {len(readings)} readings"
    keeps, remedies = _in_host_ram(case) if host else _on_the_device(case)
    yield Finding(
        severity=Severity.CAUSE if case.moments else Severity.FACTOR,
        headline=f"{what}{_each(readings)}: {keeps}",
        because=f"{what}: {keeps}",
        explains=last - first if host else _grown(case),
        evidence=(
            Evidence("the first reading", at),
            Evidence("the last reading", end),
            *((Evidence(f"`{told.stores[0]}` keeps what is added", told.stores[1]),) if told.stores else ()),
            *((Evidence("a function is traced anew", told.retraced[1]),) if told.retraced else ()),
        ),
        remedies=remedies,
    )


def _each(readings: Sequence[tuple[int, Line]]) -> str:
    """By how much it rises: from one reading to the next, or for each that its lines count."""
    (first, at), (last, end) = readings[0], readings[-1]
    counts = [_COUNT.search(line.text) for _, line in readings]
    numbers = [int(match["count"]) for match in counts if match]
    steps = {other - one for one, other in pairwise(numbers)}
    if len(numbers) == len(readings) and min(steps) > 0 and steps != {1}:
        word = counts[0]["what"] if counts[0] else None
        return f", about {human((last - first) // (numbers[-1] - numbers[0]))} for each {word or 'turn'}"
    if end.number - at.number > _FURTHEST * len(readings):
        return ""
    return f", about {human((last - first) // (len(readings) - 1))} from one to the next"


_COUNT = regex(r"(?:\b(?P<what>[A-Za-z]{2,12})\b[ \t#:=]{1,6}|\A\s*)(?P<count>\d{1,7})(?!\d|\.\d|[-/]|:\d)")
_FURTHEST = 20
"""Lines from one reading to the next, with what else is printed."""


def _rise(readings: Sequence[tuple[int, Line]]) -> bool:
    """Whether figures of RAM of a run that tells of no failure rise by more than they waver."""
    return len(readings) >= _LEAST_ALONE and readings[-1][0] >= _MORE * readings[0][0]


_LEAST_ALONE, _MORE = 4, 1.02


def _limit_of(line: Line) -> int | None:
    """The limit that a reading states beside what is in use: `used: 0.23 GiB, limit: 18.95 GiB`."""
    match = _LIMIT.search(line.text)
    return int(float(match["size"]) * _UNITS[match["unit"].upper()]) if match else None


def _on_the_device(case: Case) -> tuple[str, tuple[Remedy, ...]]:
    """What most likely keeps tensors, and what to do."""
    stores = case.capture.surroundings.stores
    if not stores and (case.api.is_tf1 or case.capture.surroundings.session):
        return "something stays of each run of the session", tuple(_of_a_session(case))
    keeps = (
        f"most likely the list `{stores[0]}`, which keeps results" if stores else "something keeps tensors"
    )
    name, value = (stores[0], "result") if stores else ("losses", "loss")
    jax = framework_of(case) == JAX
    if jax and stores and keeps_whole_states(stores[1].text):
        return f"`{stores[0]}` keeps whole states, with all weights, each time", without_states(name)
    number = f"{name}.append(jax.device_get({value}))" if jax else f"{name}.append({value}.numpy())"
    remedy = Remedy(
        "keep numbers, not tensors, between steps",
        f"{number}   # a loss: float(loss)",
        slug="keep-numbers",
    )
    return keeps, (remedy,)


def _in_host_ram(case: Case) -> tuple[str, tuple[Remedy, ...]]:
    """The same of host RAM: a function that is traced anew, a list of results, or nobody knows."""
    told = case.capture.surroundings
    if told.retraced:
        match = _TRACED.search(told.retraced[1].text)
        function = f"`{match['name'].rpartition('<locals>.')[2]}`" if match else "a tf.function"
        return f"most likely the traces of {function}, which is traced again and again", (_SIGNATURE, _FIND)
    grown = grower(case)
    if grown and grown.sure:
        return f"most likely {grown.what}", grown.remedies
    if told.stores:
        keep = Remedy(
            f"write the results of `{told.stores[0]}` to a file now and then, or keep only what you need of"
            " them",
            slug="drop-results",
        )
        return f"most likely the list `{told.stores[0]}`, which keeps results", (keep, _FIND)
    if rises := rise_with(case):
        return rises.words, rises.remedies(case)
    if grown:
        return f"most likely {grown.what}", (*grown.remedies, _FIND)
    if eager := told.shows("eager by choice"):
        what = f"most likely what each step makes in Python, since {eager.place} runs it without a graph"
        return what, (_WITH_A_GRAPH, _FIND)
    if framework_of(case) == TORCH_XLA:
        steps = sorted(steps_of_torch_xla.remedies(case, grows=True, of_host=True), key=_counts_first)
        return "as a rule programs that are compiled anew, each of which stays", tuple(steps)
    find = _OF_XLA if framework_of(case) == JAX else _FIND
    return "something keeps what each iteration makes", (find,)


def _counts_first(remedy: Remedy) -> bool:
    return remedy != steps_of_torch_xla.COUNT


_WITH_A_GRAPH = Remedy(
    "run the step as a graph: leave `run_eagerly=True` out, once the loss and the layers hold ops of"
    " TensorFlow alone; until then let Python collect what lies in circles every few batches",
    "gc.collect()   # in a callback's on_train_batch_end, every 20 batches",
    slug="graph-again",
)
_FETCH_LESS = Remedy(
    "find which part of a run leaves it: fetch less, one op at a time, until what is in use stays flat",
    "sess.run(loss)   # then: sess.run(gradients), sess.run(train_op)",
    slug="find-the-growth",
)
_A_RELEASE = Remedy(
    "compare a release: this is a nightly build, or one before the release, so a leak of its own is likely",
    slug="newer-release",
)


def _of_a_session(case: Case) -> Iterator[Remedy]:
    """What to do where runs of a session leave memory on the device."""
    told = case.capture.surroundings
    if told.shows("a build before the release"):
        yield _A_RELEASE
    yield _FETCH_LESS


def _of_node(readings: Sequence[tuple[int, Line]]) -> Iterator[Finding]:
    """TensorFlow.js counts its tensors: a program that disposes of them has as many after each iteration."""
    if len(readings) < 2 or not all(one[0] < other[0] for one, other in pairwise(readings)):
        return
    (_, at), (last, end) = readings[0], readings[-1]
    counts = [_TENSORS.search(line.text) for line in (at, end)]
    first_count, last_count = (int(match[1]) if match else 0 for match in counts)
    if not first_count < last_count:
        return
    what = f"tensors are never disposed of: {first_count:,} -> {last_count:,} of them, {human(last)} by now"
    yield Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=last,
        evidence=(Evidence("the first reading", at), Evidence("the last reading", end)),
        remedies=(TIDY,),
    )


def _grown(case: Case) -> int:
    """What was added: from the first reading to the last, and as much for each step before, where the steps
    of the readings are counted on and the rate is even.
    """
    readings = case.capture.surroundings.readings
    (first, _), (last, _) = readings[0], readings[-1]
    steps_at = {(line.source, line.number): step for step, line in case.capture.surroundings.steps}
    steps = [steps_at.get((line.source, line.number)) for _, line in readings]
    counted = [step for step in steps if step is not None]
    if len(counted) < len(readings) or any(one >= other for one, other in pairwise(counted)):
        return last - first
    return min(last, (last - first) * counted[-1] // (counted[-1] - counted[0]))
