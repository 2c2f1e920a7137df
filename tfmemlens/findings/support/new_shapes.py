"""Programs that pile up since step after step has another shape: a log or words that tell of compiling at
most steps, or code that pads each batch to its own longest sample.
"""

from __future__ import annotations

from tfmemlens.findings.support.grower import Grower
from tfmemlens.findings.support.prose_of_jax import FEWER_SHAPES
from tfmemlens.findings.support.situation import JAX, framework_of
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.values import replace

COMPILED_AT_STEPS = "jax: compiled at many steps"
_LONGEST = regex(r"(?<![\w.])(?P<name>\w{1,40}) ?= ?(?:np\.)?max\(\s*(?:\[?\s*len\(|map\(\s*len\b)")
_BY_THE_TOKENIZER = regex(r"\bpadding ?= ?(?:True\b|['\"]longest['\"])")
_BATCHES = regex(
    r"\s*(?:for\b.*\b(?:batch|batches|loader|step|perm|range)\w*\b.*:|def \w*(?:collate|batch)\w*\()"
)
_ROUNDS = regex(r"//|\bceil\b|bucket|multiple|bit_length|power|%|\bround\b")
_DENIES = regex(
    r"(?i)(?:\b(?:no|not|never|without)\b|n't\b)[^.\n]{0,25}\b(?:re-?)?compil"
    r"|\bcompil\w*\b[^.\n]{0,12}\bonly once\b"
)
_INDENT = regex(r"\s*")
_ONE_STEP = Remedy(
    "put the whole step (loss, gradient, update) into one jitted function, made once: outside of jit each"
    " operation is a program of its own for each shape",
    "@jax.jit\ndef step(params, opt_state, x, y): ...   # see: jax.config.update('jax_log_compiles', True)",
    slug="compile-the-call",
)
_FEWER_ROWS = replace(
    FEWER_SHAPES,
    text="pad what differs to few sizes (the next power of two, a multiple, or its largest): each new size is"
    " another program, which JAX compiles and keeps with its buffers; as a stopgap drop the programs now and"
    " then, or go on from a checkpoint in a new process",
    code="n = 1 << (n - 1).bit_length()   # pad to n rows, with a mask; or jax.clear_caches() now and then",
)


def new_shapes(case: Case) -> Grower | None:
    """What most likely piles up; None where the text does not tell of ever new shapes."""
    if framework_of(case) != JAX:
        return None
    told = case.capture.surroundings
    line = told.shows(COMPILED_AT_STEPS)
    padded = padded_to_each_batch(told)
    if line and not _DENIES.search(line.text):
        return Grower(
            f"programs: {line.place} tells of compiling at one step after the other, which JAX does where a"
            " shape is new, and it keeps each program",
            line,
            (_FEWER_ROWS,),
        )
    if padded is None:
        return None
    jitted = any(_JIT.search(each.text) for each in told.code)
    return Grower(
        f"programs: {padded.place} pads each batch to its own longest sample, so that nearly each has another"
        " shape, for which JAX compiles anew, and it keeps each program",
        padded,
        (_FEWER_ROWS,) if jitted else (_FEWER_ROWS, _ONE_STEP),
        True,
    )


_JIT = regex(r"\bp?jit\b|\bpmap\b")


def padded_to_each_batch(told: Surroundings) -> Line | None:
    """The line of code that takes the longest sample of each batch as its length, without rounding it."""
    code = told.code
    for index, line in enumerate(code):
        if _BY_THE_TOKENIZER.search(line.text) and "multiple" not in line.text:
            return None if any("pad_to_multiple_of" in each.text for each in code) else line
        match = _LONGEST.search(line.text)
        if match is None or _ROUNDS.search(line.text.partition("#")[0]):
            continue
        used = regex(rf"\b{match['name']}\b")
        after = [each.text.partition("#")[0] for each in code[index + 1 :]]
        if any(used.search(each) and _ROUNDS.search(each) for each in after):
            continue
        if _of_a_batch(code[:index], line):
            return line
    return None


def _of_a_batch(above: tuple[Line, ...], line: Line) -> bool:
    """Whether it stands in a loop over batches, or in a function that makes one."""
    indent = len(_INDENT.match(line.text)[0])  # type: ignore[index]
    for each in reversed(above):
        opens = len(_INDENT.match(each.text)[0])  # type: ignore[index]
        if opens < indent:
            if _BATCHES.match(each.text):
                return True
            indent = opens
    return False
