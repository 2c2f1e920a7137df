"""The line that failed keeps its result: in a list, an attribute or a stack of many passes.

What it means: a tensor lives as long as Python can reach it. `outputs.append(model(x))` keeps one result for
each iteration on the device, and so does `[model(x, training=True) for _ in range(100)]`: the one that fails
is the first for which nothing is left, and its batch is no larger than that of the others.
When it fires: a line of the program on the way to an op that ran by itself adds a result to a list or
collects one for each iteration of a comprehension; not what leaves the device first (`.numpy()`, `predict`),
and not inside a layer's call. A cause after steps that went well, else a factor. Or the text quotes such a
line without its loop, and an op that ran by itself failed for little after many steps.
What to do: take each result off the device, or add up as you go.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.kept import is_eager, kept_on_the_way
from tfmemlens.findings.support.kept_code import kept as kept_by_loops
from tfmemlens.findings.support.rows import on_host, requests
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, TORCH_XLA, framework_of
from tfmemlens.findings.support.stage import is_epoch
from tfmemlens.knowledge.kept_results import keeps_model
from tfmemlens.model.case import Case, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.units import MIB, human

BASIS = Basis.NAME
EXPLAINS = "no bytes: how many are kept, nobody tells"
_MANY_STEPS, _MANY_EPOCHS = 10, 2
_SMALL_BYTES = 64 * MIB
"""So little fails late only where something else has grown."""


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        kept = kept_on_the_way(request)
        if kept is None and not on_host(moment):
            yield from _quoted(case, index, request)
        if kept is None or on_host(moment):
            continue
        frame, name = kept
        after = _steps_before(case)
        often = f" after {after:,} steps that went well" if after >= _MANY_STEPS else ""
        what = f"`{name}`" if name else "the list"
        told = f"{what} ({frame.place}) keeps every result on the device, so memory grows with each iteration"
        yield Finding(
            severity=Severity.CAUSE if often else Severity.FACTOR,
            headline=f"{told}; it failed{often}" if often else told,
            because=f"{told}; it failed{often}" if often else f"{told}, unless this was the first",
            evidence=(Evidence(f"the line `{frame.text}`", request.failed.line),),
            remedies=(
                Remedy(
                    "take each result off the device before you keep it, or add up as you go",
                    f"{name or 'results'}.append(y.numpy())   # of a mean: total += y; total / turns",
                    slug="keep-numbers",
                ),
            ),
            moment=index,
            rules_out=_OF_ONE_STEP if often and _is_small(request) else (),
        )


_OF_ONE_STEP = ("smaller-batch", "smaller-prediction-batch", "smaller-evaluation-batch", "compare-shapes")
"""What makes a step smaller, where many went well and little was asked for."""


def _is_small(request: Request) -> bool:
    return request.needed_bytes is not None and request.needed_bytes <= _SMALL_BYTES


def _quoted(case: Case, index: int, request: Request) -> Iterator[Finding]:
    """A list of the quoted code that keeps results as they are, where a small request failed late."""
    stores, steps = case.capture.surroundings.stores, _steps_before(case)
    need = request.needed_bytes
    epochs = len({each for each, line in case.capture.surroundings.steps if is_epoch(line)})
    of_xla, said = framework_of(case) in (JAX, TORCH_XLA), case.capture.surroundings.shows("failing late")
    went_well = steps >= _MANY_STEPS or epochs >= _MANY_EPOCHS or (of_xla and said is not None)
    late = need is not None and need <= (_SMALL_OF_XLA if of_xla else _SMALL_BYTES) and went_well
    if not (of_xla or framework_of(case) == TENSORFLOW) or stores is None or not late:
        return
    if keeps_model(stores[1].text):
        return
    if request.failed.creating or request.failed.pipeline or (not of_xla and _adds_parts(request)):
        return
    if kept_by_loops(case.capture.surroundings):
        return  # the rule of loops says which list, and how much
    name, line = stores
    many = f"{steps:,} steps" if steps >= _MANY_STEPS else f"{max(steps, epochs):,} epochs"
    if of_xla and max(steps, epochs) < _MANY_EPOCHS:
        many = f"steps ({said.place})" if said else many
    what = "the arrays" if of_xla else "a tensor"
    told = (
        f"`{name}` ({line.place}) most likely keeps {what} of each step on the device: it failed for"
        f" {human(need or 0)} after {many} that went well"
    )
    yield Finding(
        severity=Severity.CAUSE,
        headline=told,
        because=told,
        explains=need,
        evidence=(Evidence(f"`{name}` keeps what is added", line),),
        remedies=(
            Remedy(
                f"take each result off the device before it goes into `{name}`, or keep a number of it",
                _AS_NUMBERS.get(
                    framework_of(case) or "", "{}.append(y.numpy())   # of a loss: float(loss)"
                ).format(name),
                slug="keep-numbers",
            ),
        ),
        moment=index,
        rules_out=("smaller-batch", "recompute", "donate-buffers", "what-runs-then") if of_xla else (),
    )


_SMALL_OF_XLA = 256 * MIB
"""The same of a TPU or GPU that XLA's programs fill, which asks for more at once."""
_AS_NUMBERS = {
    JAX: "{}.append(float(loss))   # of an array: jax.device_get(out)",
    TORCH_XLA: "{}.append(loss.detach().cpu())   # or a number: loss.item()",
}


def _adds_parts(request: Request) -> bool:
    """Whether the list may be one of a network's parts, which a layer's own code fills once."""
    placed = request.failed.source_text is not None and not is_eager(request)
    return request.failed.keras_layer is not None or placed


def _steps_before(case: Case) -> int:
    """The most steps of an epoch, or counted by the program, that went well."""
    told = case.capture.surroundings
    bars = [each.step for each in told.progress if each.step]
    return max([*bars, *(step for step, _ in told.steps)], default=0)
