"""Whether there is a batch that matters to a failure: one fact, which every remedy of a batch asks.

None matters where the first value of a weight is drawn, where the model is still being made or loaded, where
next to nothing of a small pool is this program's, and where one prompt is answered.
"""

from __future__ import annotations

from tfmemlens.findings.support.tiny_pools import hardly_used
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_DRAWN = regex(
    r"\A(?:p?jit|pmap)[(_]_?(?:\w+_)?init(?:ialize)?(?:_(?:state|params|model|weights|fn|train_state))?\)?/"
)
"""How JAX names a program that makes a state: `pjit(init_state)/...`."""
_OF_VALUES = regex(r"\b_?(?:normal|uniform|truncated_normal|threefry2x32|random_bits|initiali[sz]er?|init)\b")
_NEAR = 2
"""Lines from a stage that the program prints to the end that follows it."""


def no_batch_matters(case: Case) -> bool:
    """Whether no batch, smaller or larger, changes what failed first."""
    if not case.moments:
        return False
    moment = case.moments[0]
    return hardly_used(moment) or before_any_batch(case) or answers_one_prompt(case, moment)


def before_any_batch(case: Case) -> bool:
    """Whether what failed first is of the model alone: its first values were drawn, or it was being made."""
    if not case.moments:
        return False
    return draws_weights(case.moments[0]) or makes_the_model(case, case.moments[0]) is not None


def draws_weights(moment: Moment) -> bool:
    """Whether all large buffers of the program that failed are drawn for the first values of weights."""
    nodes = [row.node or "" for row in list(moment.attribution.table)[:_LARGEST]]
    return bool(nodes) and all(_DRAWN.match(node) and _OF_VALUES.search(node) for node in nodes)


_LARGEST = 3


def makes_the_model(case: Case, moment: Moment) -> Line | None:
    """The line, where the last thing that the program printed is that it makes or loads its model, and the
    end that follows says nothing of a size: no batch was there yet. None elsewhere.
    """
    stage = case.capture.surroundings.shows("making the model")
    failed = moment.request.failed if moment.request else None
    line = failed.line if failed else None
    if stage is None or failed is None or line is None or failed.shape is not None or failed.frames:
        return None
    return stage if line.source == stage.source and 0 < line.number - stage.number <= _NEAR else None


def answers_one_prompt(case: Case, moment: Moment) -> bool:
    """Whether a pipeline is given one prompt, and neither the text nor the shape knows of a batch."""
    told, failed = case.capture.surroundings, moment.request.failed if moment.request else None
    if told.shows("one prompt") is None or told.setting("batch_size") or (failed and failed.shape):
        return False
    many = any(_SEVERAL.search(line.text) for line in told.code)
    return not many and not any(map(told.shows, ("training", "fitting", "differentiating")))


_SEVERAL = regex(r"\bnum_images_per_prompt ?= ?(?!1\b)|\bprompts?\b ?[*=] ?(?:\[|\d)")
