"""Remedies that cannot help since the input says so: its writer tried them, the batch is one sample, or the
program's own record shows that no list of it holds much.

One table for all rules: whoever advises such a remedy, it is left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.batch_that_matters import before_any_batch, no_batch_matters
from tfmemlens.model.capture import Surroundings, says_alike
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.patterns import regex
from tfmemlens.units import MIB

_BATCHES = (
    "smaller-batch", "gradient-accumulation", "smaller-prediction-batch", "smaller-evaluation-batch"
)  # fmt: skip
SAMPLES = ("smaller-input", "shorter-sequences", "truncate-inputs")
_RULED_OUT = {
    "a batch of one": _BATCHES,
    "a larger batch works": _BATCHES,
    "creating a variable": (*_BATCHES, *SAMPLES),
    "the first value of a weight": (*_BATCHES, *SAMPLES),
    "any batch alike": _BATCHES,
    "one sample in a convolution": _BATCHES,
    "a smaller evaluation batch in vain": ("smaller-evaluation-batch", "evaluation-in-batches"),
    "any sample alike": SAMPLES,
    "at the largest limit": ("raise-container-limit",),
    "watching memory": ("find-what-grows", "watch-ram"),
    "a smaller sample in vain": SAMPLES,
    "a smaller model in vain": ("smaller-model", "narrower-layer", "fewer-channels"),
    "growth in vain": ("growth",),
    "a fraction in vain": ("smaller-fraction",),
    "clearing in vain": ("clear-session",),
    "tidying in vain": ("tidy", "tidy-textures"),
    "predicting a batch in vain": ("direct-call",),
    "reading in parts in vain": ("map-the-file", "data-on-the-host"),
    "ending others in vain": ("see-device-users", "end-the-process", "close-other-programs"),
    "another release in vain": ("newer-release", "release-that-works"),
    "16 bits in vain": ("mixed-precision", "in-16-bits"),
    "threads in vain": ("fewer-workers",),
    "smaller buffers in vain": (
        "smaller-shuffle", "shuffle-files", "cache-to-file", "prefetch-few", "smaller-queues",
    ),
    "a process of its own in vain": ("own-process",),
    "without XLA in vain": ("without-xla",),
    "more RAM in vain": ("add-swap", "more-ram", "raise-container-limit", "container-limit"),
    "enough RAM in words": ("free-shared-ram", "more-ram", "add-swap", "close-other-programs"),
    "the kernel's log in vain": ("read-the-kernel-log",),
    "compared with the CPU": ("compare-with-cpu",),
    "numbers in vain": ("keep-numbers",),
    "another malloc in vain": ("another-malloc",),
    "recomputing in vain": ("recompute",),
    "fused attention used": ("fused-attention", "blockwise-attention"),
    "weights in 16 bits": ("narrow-weights", "narrow-weights-of-torch"),
    "accumulating in vain": ("gradient-accumulation",),
    "a flag in vain": ("default-algorithm",),
    "one model wrapped": ("one-model-for-all",),
    "fewer environments in vain": ("fewer-environments",),
    "blocks in vain": ("in-blocks",),
    "training adapters": ("lighter-optimizer", "smaller-moments"),
}  # fmt: skip
"""Slugs of remedies, by what the text says."""
_SHELL = regex(
    r"\s*(?:export |sudo |[A-Z][A-Z_]{4,40}=\S|nvidia-smi|rocm-smi|tegrastats|dmesg|free |top\b|ps |kill "
    r"|docker|kubectl |journalctl |pip |python3? -m|python3? \S+\.py|tfmemlens|ulimit|tensorflow_model_server"
    r"|Get-|XLA_|wsl)"
)
"""How code begins that no program has to be edited for."""


def ruled_out(case: Case) -> frozenset[str]:
    """Slugs of the remedies that the text rules out. A failure's own shape says more of the batch than words:
    the rules that read it know of a batch of one.
    """
    told = case.capture.surroundings
    smaller_helps = runs_with_less(told)
    late = any(map(told.shows, ("failing late", "growing in words")))
    tried_late = late and told.shows("a smaller batch in vain") is not None
    alike = _BATCHES if tried_late or (several_failed(case) and told.shows("always at one step")) else ()
    lists = frozenset(_OF_LISTS if _python_holds_little(case) else ())
    early = ("smaller-pipeline", *SAMPLES) if before_any_batch(case) else ()
    in_words = () if case.moments or smaller_helps else _tried(case, _IN_VAIN)
    return (
        lists
        | frozenset((*in_words, *early))
        | frozenset(_BATCHES if _failed_with_few(case) or no_batch_matters(case) else ())
        | frozenset(() if smaller_helps else alike)
        | frozenset(
            slug
            for purpose, slugs in _RULED_OUT.items()
            if told.shows(purpose)
            and not (smaller_helps and "batch" in purpose)
            and not _helped(told, purpose)
            and not (case.moments and purpose == "a batch of one")
            and not (purpose in _OF_A_WEIGHT and _has_a_size(case))
            for slug in slugs
        )
    )


_OF_A_WEIGHT = ("creating a variable", "the first value of a weight")


def _has_a_size(case: Case) -> bool:
    """Whether a failure says itself what it asked for, which tells more than frames."""
    asked = (moment.request.failed for moment in case.moments if moment.request)
    return any(failed.shape is not None or failed.size is not None for failed in asked)


_FEW, _PAIR = 8, 2
"""Samples: who lowered the batch so far in vain gains nothing by half of it."""


def _failed_with_few(case: Case) -> bool:
    """Whether the text says that a batch of few samples failed alike, and no shape tells of a larger one; or
    that a smaller one was of no use where a small request begins with one or two samples.
    """
    told = case.capture.surroundings
    if told.shows("a smaller batch in vain") is None or runs_with_less(told):
        return False
    shapes = [moment.request.failed.shape for moment in case.moments if moment.request]
    stated = failed_batches(case)
    if any(shapes):
        return all(0 < (shape[0] or 0) <= _PAIR for shape in shapes if shape) and _is_small(case)
    return bool(stated) and min(stated) <= _FEW


def _is_small(case: Case) -> bool:
    asked = [moment.request.needed_bytes or 0 for moment in case.moments if moment.request]
    return max(asked, default=0) < _MIN_BYTES


def _helped(told: Surroundings, purpose: str) -> bool:
    """Whether the text says elsewhere that what was tried in vain helped in the end."""
    if purpose == "another release in vain":
        return told.works_in is not None
    return purpose == "growth in vain" and told.shows("growth helps") is not None


def runs_with_less(told: Surroundings) -> bool:
    """Whether the text says that a smaller batch runs: others were too large still, or another thing fills it
    beside what each sample takes.
    """
    return told.setting("working_batch") is not None or told.shows("a smaller batch helps") is not None


def failed_batches(case: Case) -> frozenset[int]:
    """The batches that the text says failed, each."""
    told = case.capture.surroundings.settings
    named = (
        int(number) for name, value, _ in told if name == "failed_batch" for number in _NUMBER.findall(value)
    )
    return frozenset((*named, *with_each_batch(case)))


def fails_alike(case: Case) -> bool:
    """Whether the text says of a batch that failed that it failed like another one."""
    told = case.capture.surroundings.settings
    return any(name == "failed_batch" and says_alike(line.text) for name, _, line in told)


def with_each_batch(case: Case) -> dict[int, int]:
    """Of a list of failures, each under the batch that it failed with, what each asked for."""
    stated = [
        (int(value), line.number)
        for name, value, line in case.capture.surroundings.settings
        if name == "batch_size" and value.isdigit()
    ]
    asked: dict[int, int] = {}
    for moment in case.moments:
        failed = moment.request.failed if moment.request else None
        if failed is None or failed.line is None or failed.size is None:
            return {}
        number = failed.line.number
        batch = next((value for value, above in reversed(stated) if 0 < number - above <= _NEAR), 0)
        if not batch or batch in asked:
            return {}
        asked[batch] = failed.size.bytes
    return asked if len(asked) > 1 else {}


_NEAR = 2
"""Lines from a batch that stands alone to the message of its failure."""


def several_failed(case: Case) -> bool:
    """Whether the text tells of several batches that failed, or of one beside the batch that it states."""
    stated = {value for name, value, _ in case.capture.surroundings.settings if name == "batch_size"}
    failed = failed_batches(case)
    return bool(failed) and len(failed | {int(value) for value in stated if value.isdigit()}) > 1


_IN_WORDS = {
    "a smaller batch in vain": "a smaller batch",
    "a smaller evaluation batch in vain": "a smaller batch of the evaluation",
    "a smaller sample in vain": "smaller inputs",
    "a smaller model in vain": "a smaller model",
    "growth in vain": "memory growth",
    "a fraction in vain": "a memory limit",
    "clearing in vain": "clear_session()",
    "collecting in vain": "gc.collect()",
    "deleting in vain": "del",
    "tidying in vain": "tidy or dispose",
    "reading in parts in vain": "reading in parts",
    "ending others in vain": "a restart, or no other process",
    "another release in vain": "another release",
    "16 bits in vain": "16 bits",
    "threads in vain": "no worker processes",
    "smaller buffers in vain": "smaller buffers",
    "a process of its own in vain": "a process of its own",
    "without XLA in vain": "no XLA",
    "more RAM in vain": "more RAM",
    "another malloc in vain": "another malloc",
    "recomputing in vain": "recomputing",
    "accumulating in vain": "gradient accumulation",
    "blocks in vain": "smaller blocks",
}
_IN_R = {"gc.collect()": "gc()", "clear_session()": "k_clear_session()", "del": "rm()"}
"""What users of R call them."""
_MOST_NAMED = 3


def told_tried(case: Case) -> str:
    """What the text says was tried, or is done already, as a clause; empty where it says of nothing."""
    told = case.capture.surroundings
    helps = runs_with_less(told)
    in_r = told.shows("code of R") is not None
    named = [
        f"{_IN_R.get(words, words) if in_r else words} ({line.place})"
        for fact, words in _IN_WORDS.items()
        if (line := told.shows(fact)) and not (helps and "batch" in words) and not _helped(told, fact)
    ]
    return f"; tried or in use already: {', '.join(named[:_MOST_NAMED])}" if named else ""


_NUMBER = regex(r"\d+")
_OF_LISTS = ("look-for-lists", "keep-numbers")
_MUCH = 0.1
"""Of what was in use, or of the limit: less that Python's containers hold is no cause."""


def _python_holds_little(case: Case) -> bool:
    """Whether all containers of the program were looked at when it failed, and what they hold is no cause."""
    holds = case.capture.held_by_python
    if holds is None or not case.moments:
        return False
    balance = case.moments[0].balance
    whole = balance.in_use or balance.limit
    return whole is not None and holds < _MUCH * whole.bytes


_IN_VAIN: dict[str, tuple[str, ...]] = {"a smaller batch in vain": _BATCHES}
_OUT_OF_QUESTION: dict[str, tuple[str, ...]] = {
    "a batch that must stay": ("smaller-batch", "batch-for-the-block"),
    "a sample that must stay": SAMPLES,
}
_MIN_BYTES = 256 * MIB
"""A request that a smaller batch may still make fit, though one was tried."""


def tried_in_vain(case: Case) -> frozenset[str]:
    """Slugs of what the text says did not help: to be advised last, if at all."""
    asked = [moment.request.needed_bytes or 0 for moment in case.moments[:1] if moment.request]
    kept = frozenset(_tried(case, _OUT_OF_QUESTION))
    if any(size >= _MIN_BYTES for size in asked):
        return kept
    if runs_with_less(case.capture.surroundings):
        return kept
    return kept | frozenset(_tried(case, _IN_VAIN))


def _tried(case: Case, table: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """The slugs of the table's facts that the text tells."""
    told = case.capture.surroundings
    return (slug for fact, slugs in table.items() if told.shows(fact) for slug in slugs)


def edits_no_program(remedy: Remedy) -> bool:
    """Whether its code, if it has any, is a shell's."""
    return remedy.code is None or _SHELL.match(remedy.code) is not None
