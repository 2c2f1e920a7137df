"""Models of earlier tests, folds or trials are still alive.

What it means: a model that a list, a fixture or Keras's global state can reach keeps its weights and its
optimizer's slots. What fails at last may be small: it is the one that found no room.
When it fires: the program recorded itself, and its largest weight is there three times and more under one
name, or three models and more have the same layers and weights; or it prints that it holds three models and
more; or the text says that what failed goes well alone, so that what ran before it in the same process is
kept; or a quoted loop puts the models that it makes into a list or dict outside of it. Or the code makes two
models under one name, and a layer failed whose name the graph had already.
What to do: drop the references, clear Keras's session, or give each its own process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from tfmemlens.findings.support.code_outputs import models_made
from tfmemlens.findings.support.container_uses import read_at
from tfmemlens.findings.support.kept_code import kept
from tfmemlens.findings.support.many_alike import many_alike
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.rows import device_limit, requests
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.findings.support.unused_model import Unused, unused_beside
from tfmemlens.findings.support.weights import copies_in_code
from tfmemlens.knowledge.kept_results import keeps_model
from tfmemlens.model.attribution import Kind
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.model.live_model import LiveModel, LiveVariable
from tfmemlens.patterns import regex
from tfmemlens.units import human, rough

if TYPE_CHECKING:
    from tfmemlens.findings.support.kept_trees import Kept

BASIS = Basis.NAME
EXPLAINS = (
    "the models' weights and slots, as a program that recorded itself counts them, or its code; else no bytes"
)

_LEAST = 3
_A_GOOD_PART = 0.25


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    many = told.models is not None and told.models[0] >= _LEAST
    for index, moment, request in list(requests(case))[:1]:
        if framework_of(case) != TENSORFLOW:
            continue
        if (unused := unused_beside(moment, told)) is not None:
            yield _of_unused(index, *unused)
            continue
        by_loop = next((each for each in kept(told) if each.model), None)
        if (alive := _alive(case.capture.live_model)) is not None:
            yield _recorded(index, told, by_loop, *alive)
            continue
        in_loop = _in_words(told) if _may_hold_others(case, request) else None
        if not (many or told.alone or by_loop) and (before := _made_before(case, request)):
            yield _of_one_graph(index, *before)
            continue
        if not (many or told.alone or by_loop or in_loop):
            continue
        if not many and told.shows("sharing the device"):
            continue  # processes of their own: processes-on-one-device says what they share
        held, sizes = _by_the_code(case) if by_loop and not many else (None, "")
        what = f"{_of_loop(by_loop)}{sizes}" if by_loop and not many else _what(told, many)
        if in_loop and not (many or told.alone or by_loop):
            what = (
                f"{in_loop.place} says that models are trained one after another in one process, so most"
                " likely earlier ones still hold memory"
            )
        yield Finding(
            severity=Severity.CAUSE if many or told.alone or by_loop else Severity.FACTOR,
            headline=what,
            because=what,
            evidence=(
                *((Evidence("models that are alive", told.models[1]),) if many and told.models else ()),
                *((Evidence("it goes well alone", told.alone),) if told.alone else ()),
                *((Evidence("one model after another", in_loop),) if in_loop else ()),
                *((Evidence("the loop keeps each model", by_loop.line),) if by_loop else ()),
                *(
                    (Evidence(f"`{told.stores[0]}` keeps what is added", told.stores[1]),)
                    if told.stores
                    else ()
                ),
            ),
            explains=held,
            basis=Basis.SHAPE if held else None,
            remedies=_remedies(told, by_loop, _clear(case)),
            moment=index,
            rules_out=_OF_ONE_MODEL if by_loop else (),
        )


def _of_unused(index: int, unused: Unused, held: int) -> Finding:
    """A model that nothing reads any more, and that a name keeps while another one trains."""
    model, other = unused.model, unused.other
    many = f", {model.count} models" if model.count > 1 else ""
    what = (
        f"`{model.name}` ({model.line.place}){many}, whose weights take {human(model.bytes)}, is still held"
        f" while `{other}` trains: nothing reads it after {unused.read.place}, and {human(held)} of what is"
        " in use are blocks of the size of its weights, which no other model has"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=held,
        basis=Basis.SHAPE,
        evidence=(
            Evidence("the model is made", model.line),
            Evidence("it is read for the last time", unused.read),
            Evidence("another one trains", unused.trains),
        ),
        remedies=(
            Remedy(
                f"let `{model.name}` go behind {unused.read.place}, before `{other}` trains",
                f"del {model.name}; gc.collect()   # import gc",
                held,
                Certainty.ESTIMATE,
                slug="drop-models",
            ),
            Remedy(
                f"or run what needs `{model.name}` in a process of its own, and save what it gives",
                slug="own-process",
            ),
        ),
        moment=index,
        rules_out=_OF_ONE_MODEL,
    )


def _made_before(case: Case, request: Request) -> tuple[str, Line | None, tuple[Remedy, ...]] | None:
    """Why a graph most likely holds two models: the code makes them under one name, and what failed is a
    layer whose name the graph had already.
    """
    node = request.failed.node or ""
    if not (_SECOND.search(node.partition("/")[0]) and case.api.is_tf1):
        return None
    made = [
        (match["name"], line) for line in case.capture.surroundings.code if (match := _MAKES.match(line.text))
    ]
    for (name, first), (other, second) in pairwise(made):
        if name == other and second.number - first.number <= _NEAR:
            what = (
                f"{first.place} makes a model and {second.place} another one: in one graph the first stays,"
                " so most likely its weights and slots are held beside those of the second, whose layers have"
                " `_1` in their names"
            )
            return what, second, (_one_of_them(first, second), _EMPTY_GRAPH)
    return None


_SECOND = regex(r"_\d{1,3}_[1-9]\Z")
"""`conv2d_22_1`: a name that the graph had already."""
_MAKES = regex(
    r"\A\s*(?P<name>\w*model\w*|net|network)\s*=\s*(?:[\w.]{1,40}\.)?"
    r"(?:load_model|\w*(?:[Uu][-_]?[Nn]et|[Nn]et|[Mm]odel|[Ss]equential|VGG\d*|build|create|make)\w*)\("
)
_NEAR = 3
_EMPTY_GRAPH = Remedy(
    "begin each with an empty graph, before the next model is built",
    "K.clear_session()   # from keras import backend as K",
    slug="clear-session",
)


def _one_of_them(first: Line, second: Line) -> Remedy:
    which = "load_model brings layers, weights and optimizer, so " if "load_model" in second.text else ""
    return Remedy(
        f"make one model only: {which}leave {first.place} or {second.place} out",
        slug="drop-models",
    )


def _of_one_graph(index: int, what: str, line: Line | None, remedies: tuple[Remedy, ...]) -> Finding:
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        evidence=(Evidence("what tells of an earlier model", line),) if line else (),
        remedies=remedies,
        moment=index,
    )


def _in_words(told: Surroundings) -> Line | None:
    """The line that tells of one model after another. None where it only names a search, and nothing tells
    that an earlier model was done; nor where the text says with which batch all goes well.
    """
    line = told.shows("models in a loop")
    if line is None or (told.setting("failed_batch") and told.setting("working_batch")):
        return None
    in_turn = _IN_TURN.search(line.text) or any(map(told.shows, _EARLIER))
    return None if _NAMES_A_SEARCH.search(line.text) and not in_turn else line


_NAMES_A_SEARCH = regex(r"(?i)\b(?:search|tuning|tuner|optimi[sz]ation)\b")
_IN_TURN = regex(r"(?i)\b(?:loop|folds?|after|second|third|several|many|multiple|each|every|trials?)\b")
_EARLIER = (
    "many runs before", "failing late", "growing in words", "again at each trial", "again at each model",
    "again at each fold", "again at each training", "kept in words", "clearing the session",
)  # fmt: skip
"""What tells that models were made before."""


def _may_hold_others(case: Case, request: Request) -> bool:
    """Whether words about models in a loop may tell of this process: not where it counted its own variables,
    of which no name is there three times, nor where it is one of several that each train a model.
    """
    live = case.capture.live_model
    counted = live is not None and any(each.kind is Kind.PARAMETER for each in live.variables)
    return not counted and not any(_OF_A_CHILD.search(each.place) for each in request.failed.frames)


_OF_A_CHILD = regex(r"(?:multiprocessing|concurrent[\\/]futures)[\\/]\w+\.py\b")
"""A frame of a process that another one started."""


def _by_the_code(case: Case) -> tuple[int | None, str]:
    """What the models take that the program makes and keeps, and that in words; nothing where all of it is
    little. Where the code does not tell how many it makes, what the dump shows.
    """
    one, many = models_made(case)
    if not one:
        return _by_equal_blocks(case)
    times, with_them = copies_in_code(code_lines(case.capture.surroundings))
    each = one * (times - 1)  # gradients are gone when the next is made
    limit = device_limit(case, case.moments[0])
    if many < _LEAST or not each or (limit and many * each < _A_GOOD_PART * limit.bytes):
        return None, ""
    slots = with_them.partition("gradients and ")[2]
    with_slots = f", {rough(each)} with {slots}" if slots else ""
    sizes = f": {rough(one)} of weights each{with_slots}; the {many} of the loop {rough(many * each)}"
    return (min(many * each, limit.bytes) if limit and limit.bytes else many * each), sizes


def _by_equal_blocks(case: Case) -> tuple[int | None, str]:
    """What blocks of equal size take where more are held than of one weight, and that in words."""
    limit = device_limit(case, case.moments[0])
    least = _A_GOOD_PART / 4 * limit.bytes if limit and limit.bytes else 0
    kept, told = many_alike(case.moments[0], _OF_ONE + 1, least)
    return (kept, f": {told}") if kept else (None, "")


_OF_ONE = 4
"""Tensors of a weight's size that an update needs: it, its gradient and two slots."""


def _alive(model: LiveModel | None) -> tuple[int, int] | None:
    """How many models of one kind are alive, and the bytes of all variables; None below three."""
    weights = [each for each in model.variables if each.kind is Kind.PARAMETER] if model else []
    if model is None or not weights:
        return None
    largest = max(weights, key=_size)
    same = sum((each.name, each.tensor) == (largest.name, largest.tensor) for each in weights)
    count = max(same, model.alike)
    return (count, sum(map(_size, model.variables))) if count >= _LEAST else None


def _size(variable: LiveVariable) -> int:
    return variable.tensor.bytes or 0


def _recorded(index: int, told: Surroundings, by_loop: Kept | None, count: int, size: int) -> Finding:
    """Models that the program itself counted when it failed."""
    who = f"`{by_loop.container}` ({by_loop.line.place}) keeps them: " if by_loop else ""
    what = f"{who}{count} models with the same layers are alive at once, {human(size)} with their slots"
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=size,
        basis=Basis.MEASURED,
        evidence=((Evidence("the loop keeps each model", by_loop.line),) if by_loop else ()),
        remedies=_remedies(told, by_loop),
        moment=index,
        rules_out=_OF_ONE_MODEL if by_loop else (),
    )


_OF_ONE_MODEL = (
    "clear-session",
    "one-signature",
    "smaller-model",
    "narrower-layer",
    "smaller-batch",
    "lighter-optimizer",
    "see-device-users",
)
"""What changes a model or its function, and not how many there are."""


_CLEAR = "del model; gc.collect(); tf.keras.backend.clear_session()"
_CLEAR_ALONE = "del model; keras.backend.clear_session()   # the graph and its session go with it"
_CLEAR_BY_HAND = "del model; tf.reset_default_graph(); keras.backend.set_session(tf.Session())"
_OF_KERAS_ALONE = regex(r"[/\\]keras[/\\]backend[/\\]tensorflow_backend\.py")
"""A file of Keras as a package of its own, on TensorFlow 1."""
_OF_KERAS_0 = regex(r"\bshow_accuracy ?=")
"""An argument that Keras 1.0 took away; there is no clear_session before it."""


def _clear(case: Case) -> str:
    """What clears Keras's graph, as the Keras of the tracebacks has it."""
    requests = (moment.request for moment in case.moments)
    frames = [frame for request in requests if request for frame in request.failed.frames]
    if not any(_OF_KERAS_ALONE.search(frame.place) for frame in frames):
        return _CLEAR
    return _CLEAR_BY_HAND if any(_OF_KERAS_0.search(frame.text) for frame in frames) else _CLEAR_ALONE


def _remedies(told: Surroundings, by_loop: Kept | None, clear: str = _CLEAR) -> tuple[Remedy, ...]:
    """What surely helps stands first where clearing was tried in vain."""
    tried = told.shows("clearing the session") is not None and by_loop is None
    clears = "" if _clears(told) else ", and clear what Keras keeps"
    drop = Remedy(
        f"{'or ' if tried else ''}drop each model when it is done{_list(told, by_loop)}{clears}",
        _without_models(told, by_loop) if by_loop and not clears else clear,
        slug="drop-models",
    )
    alone = Remedy(
        f"{'' if tried else 'or '}run each in a process of its own, whose end frees everything (pytest:"
        " --forked of pytest-forked)",
        slug="own-process",
    )
    if by_loop is None and told.shows("clearing in vain") and told.shows("deleting in vain"):
        return (alone,)
    return (alone, drop) if tried else (drop, alone)


def _clears(told: Surroundings) -> bool:
    """Whether the loop that makes the models clears what Keras keeps, as the program shows."""
    program = told.program()
    if not program:
        return False
    from tfmemlens.findings.support.made_in_loops import model_loops

    return any(loop.clears for loop in model_loops(program))


def _without_models(told: Surroundings, by_loop: Kept) -> str | None:
    """The program's own line that keeps a model, without it: `best.append((loss, rate))   # without net`."""
    names = [each.strip() for each in by_loop.value.strip("()").split(",")]
    code = [line.text for line in code_lines(told)]
    models = [name for name in names if any(f"{name}.fit(" in text for text in code)]
    others = [name for name in names if name and name not in models]
    if (
        not models
        or not all(name.isidentifier() for name in names if name)
        or "append" not in by_loop.line.text
    ):
        return None
    kept_there = others[0] if len(others) == 1 else f"({', '.join(others)})"
    return f"{by_loop.container}.append({kept_there})   # without {models[0]}" if others else None


def _what(told: Surroundings, many: bool) -> str:
    if many and told.models:
        line = f" ({told.models[1].place})"
        kept = f", and `{told.stores[0]}` keeps them" if _list(told) and told.stores else ""
        return f"{told.models[0]} models are alive at once{line}{kept}"
    line = f" ({told.alone.place})" if told.alone else ""
    return f"it goes well alone{line}, so most likely what ran before it in this process is still held"


def _of_loop(keeping: Kept) -> str:
    return (
        f"`{keeping.container}` ({keeping.line.place}) keeps every model that the loop makes, each with its"
        " weights and its optimizer's slots"
    )


_FITS = regex(r"\A\s*(?P<name>\w{1,40})\s*=\s*[\w.\[\]]{1,60}\.fit(?:_generator)?\(")


def _of_histories(told: Surroundings) -> str:
    """A list that keeps what fit returns, which has its model."""
    code = [line.text for line in code_lines(told)]
    names = {match["name"] for text in code if (match := _FITS.match(text))}
    name = next((name for name in sorted(names) if any(f".append({name})" in text for text in code)), None)
    return f", and `{name}.history` instead of `{name}`, which holds its model" if name else ""


def _asked_later(by_loop: Kept) -> Line | None:
    """The line that goes over the kept models and lets each compute, as an ensemble does."""
    over = rf"\bfor (?P<one>\w{{1,40}}) in {re.escape(by_loop.container)}\b"
    for text, line in by_loop.uses:
        match = re.search(over, text)
        if match and re.search(rf"\b{match['one']}(?:\.predict\w*)?\(", text):
            return line
    return None


def _for_later(told: Surroundings, by_loop: Kept) -> str:
    """Where entries of the list or dict are used later, which may need a model's weights."""
    program = told.program()
    later = read_at(program, by_loop) if program else None
    return f", and its weights in a file where {later.place} needs them (model.save_weights)" if later else ""


def _list(told: Surroundings, by_loop: Kept | None = None) -> str:
    """The list that keeps models, where code shows one."""
    if by_loop:
        also = _of_histories(told)
        if asked := _asked_later(by_loop):
            return (
                f", keep in `{by_loop.container}` the file of its weights (model.save_weights) and not the"
                f" model{also}, and where {asked.place} asks all of them load one file after another into one"
                " model"
            )
        return f", keep only its figures in `{by_loop.container}`{also}{_for_later(told, by_loop)}"
    stores = told.stores
    return f" (`{stores[0]}`, {stores[1].place})" if stores and keeps_model(stores[1].text) else ""
