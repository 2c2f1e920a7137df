"""Where a training stood when it failed: in the middle of a stage, or at the first step of another."""

from __future__ import annotations

from tfmemlens.model.case import Case, Request
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_EPOCH = regex(r"(?i)\bepochs?[\W_]{0,4}(?:no\.? ?)?\d|\d(?:st|nd|rd|th)? epochs?\b")


def is_epoch(line: Line) -> bool:
    """Whether a line counts epochs rather than steps, as the tenth step of the first epoch does not."""
    return bool(_EPOCH.search(line.text))


def counters_before(case: Case, request: Request) -> list[tuple[int, Line]]:
    """Counters of steps or epochs above the failure, in order."""
    failed = request.failed.line
    return [
        (step, line)
        for step, line in case.capture.surroundings.steps
        if failed is None or line.source != failed.source or line.number < failed.number
    ]


def began_stage(case: Case, request: Request) -> Line | None:
    """The line that began another stage of the training, where steps went well before it and none after it;
    None elsewhere.
    """
    failed, told = request.failed.line, case.capture.surroundings
    stages = [line for line in told.stages if failed is None or line.number < failed.number]
    if not stages:
        return None
    stage = stages[-1]
    counters = counters_before(case, request)
    after = {step for step, line in counters if line.number > stage.number}
    ran = [
        each for each in told.progress if each.step and (failed is None or each.line.number < failed.number)
    ]
    if len(after) > 1 or any(each.line.number > stage.number for each in ran):
        return None
    went_well = any(line.number < stage.number for _, line in counters) or bool(ran)
    return stage if went_well else None


def unfroze_in_words(case: Case) -> Line | None:
    """The line that unfreezes layers, where the text says that with frozen ones it went well."""
    told = case.capture.surroundings
    well = told.shows("frozen layers went well")
    thaws = [line for line in told.stages if UNFREEZES.search(line.text) and line != well]
    if well and UNFREEZES.search(well.text) and not thaws:
        return well  # one sentence says both
    return thaws[0] if well and thaws else None


UNFREEZES = regex(r"(?i)un-?fr(?:eez|oz)|trainable\s*=\s*True|(?<!n't )(?<!not )\btrain(?:ing)? all\b")


def began_again(before: list[tuple[int, Line]]) -> bool:
    """Whether the last epoch counted begins the count again."""
    epochs = [step for step, line in before if is_epoch(line)]
    return len(epochs) >= 2 and epochs[-1] <= 1 and epochs[-1] < epochs[-2] and is_epoch(before[-1][1])
