"""Which of the user's layers holds most, where the failure itself says only how much is held: by a report of
TensorFlow's, by the sizes of the weights and slots that live, else by a step that was recorded beside it.

A recorded step may have had a smaller batch than the one that failed. Weights and slots do not grow with it,
so that they count for no layer then.
"""

from __future__ import annotations

from tfmemlens.findings.support.code_outputs import code_outputs
from tfmemlens.findings.support.rows import all_in_use, attributed, is_forward_only
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.incident import RequestKind
from tfmemlens.units import MIB, human, percent

_WITH_KERNELS = ("Conv", "SeparableConv", "DepthwiseConv", "Dense", "Embedding", "LSTM", "GRU", "MultiHead")
_FIXED = (Kind.PARAMETER, Kind.OPTIMIZER_SLOT, Kind.CONSTANT)
_LEAST_SHARE = 0.2
"""Of what is counted: a layer with less is one of many."""
_MOST = 0.4
"""Of what is in use: weights of so much are told first, since they are there whatever the step does."""
_LEAST_STEP = 64 * MIB
"""A smaller step fills no machine's RAM, though the next may be larger."""
_LARGER = 1.5
"""So much larger a batch than the recorded one is worth a word."""


def of_the_largest_layer(case: Case, moment: Moment, said: str) -> str:
    """A clause that names the layer, and the batch where the recorded step had a smaller one; empty where
    nothing tells, and where the sentence `said` has the name.
    """
    request = moment.request
    if request is None or request.failed.kind is not RequestKind.TENSOR:
        return ""
    if attributed(moment):
        layer, size, share = _largest(case, moment, ())
        if layer is None or size < (request.needed_bytes or 0) or _has(said, layer):
            return ""
        return f"; `{layer}` holds the most of what is listed, {share}"
    if counted := of_the_counted_owner(case, moment, said):
        return counted
    weights = _of_weights(case, moment, said)
    if weights:
        return weights
    batches = _batches(case)
    grown = f"the batch is {batches[0]}, {batches[1]} in the recorded step" if batches else ""
    if maker := _maker(case, moment, said):
        more = f"; {grown}" if grown else ""
        return f"; the tensor has the shape of what `{maker}` returns{more}"
    traced = _recorded(case)
    if traced is None or is_forward_only(traced):
        return ""
    layer, _, share = _largest(case, traced, _FIXED if batches else ())
    if layer is None or _has(said, layer):
        return f"; {grown}" if grown else ""
    if grown:
        return f"; {grown}, where `{layer}` held the most of its layers, {share}"
    return f"; of the layers in a recorded step `{layer}` held the most, {share}"


def of_a_step_in_ram(case: Case, moment: Moment, said: str) -> str:
    """A clause that names the layer with the most of a recorded step whose tensors lay in the machine's RAM,
    where nothing tells what was asked for: a process that C++ ends leaves no traceback.
    """
    request, traced = moment.request, _recorded(case)
    if request is None or traced is None or traced.timeline is None or is_forward_only(traced):
        return ""
    failed, device = request.failed, traced.timeline.device.upper()
    unknown = failed.kind is RequestKind.HOST and failed.shape is None and request.needed_bytes is None
    whole = traced.attribution.table.total_bytes
    if not unknown or failed.pipeline or "CPU" not in device or whole < _LEAST_STEP:
        return ""
    layer, _, share = _largest(case, traced, ())
    if layer is None or _has(said, layer):
        return ""
    return f"; of the layers in a recorded step, {human(whole)}, `{layer}` held the most, {share}"


def of_the_counted_owner(case: Case, moment: Moment, said: str) -> str:
    """The owner of most of a failure's blocks, by what the program recorded of itself."""
    live = case.capture.live_model
    of_its_kind = case.capture.timelines and not (live and live.fetches)
    if not moment.is_counted:
        return ""
    whole = moment.drawn.table.total_bytes
    group = max(moment.drawn.by("layer"), key=lambda each: each.total_bytes)
    if of_its_kind and dict(group.kinds).get(Kind.INPUT, 0) < _MOST * whole:
        return ""  # the step tells its layers
    if group.name is None or group.total_bytes < _MOST * whole or _has(said, group.name):
        return ""
    return f"; `{group.name}` holds {percent(group.total_bytes, whole)} of what is in use"


def _maker(case: Case, moment: Moment, said: str) -> str | None:
    """The one layer with weights, else the one layer, that returns tensors like the one that failed, where it
    failed elsewhere: a gradient has the shape of what another layer returned. Where no live model knows what
    its layers return, the program's code may tell.
    """
    live, request = case.capture.live_model, moment.request
    shape = request.failed.shape if request else None
    if request is None or request.fixed or not shape or len(shape) < 3:
        return None
    if live is None or not live.outputs:
        made = [each.output for each in code_outputs(case, shape) if each.asked and each.output.name]
        makers = [each.name for each in made]
        weighted = {each.name for each in made if each.class_name.startswith(_WITH_KERNELS)}
    else:
        makers = [path for path in live.makers_of(shape) if dict(live.layers).get(path) != "InputLayer"]
        weighted = {each.layer or "" for each in live.variables if each.kind is Kind.PARAMETER}
    chosen = [path for path in makers if path in weighted] or makers
    if len(chosen) != 1 or any(_has(said, path) for path in makers):
        return None
    return chosen[0]


def stacking_layer(case: Case) -> str | None:
    """The layer whose loop keeps most of what loops keep in a recorded step; None without such a step, and
    where the loop has no layer.
    """
    traced = _recorded(case)
    held: dict[str | None, int] = {}
    for group in traced.attribution.by("layer") if traced else ():
        held[group.name] = dict(group.kinds).get(Kind.LOOP_STACK, 0)
    layer = max(held, key=lambda each: held[each], default=None)
    if layer is None or held[layer] < _MOST * sum(held.values()) or not _is_layer(case, layer):
        return None
    return layer if held[layer] else None


def _recorded(case: Case) -> Moment | None:
    """The step that was recorded beside the failure."""
    return next((other for other in case.moments if other.timeline and not other.predicted), None)


def _of_weights(case: Case, moment: Moment, said: str) -> str:
    """A layer whose weights and slots alone are much of what is in use; where its name was said, nothing."""
    live, in_use = case.capture.live_model, all_in_use(moment)
    failed = moment.request.failed if moment.request else None
    held: dict[str, int] = {}
    for each in live.variables if live else ():
        if each.layer and (not failed or not failed.device or each.may_be_on(failed.device)):
            held[each.layer] = held.get(each.layer, 0) + (each.tensor.bytes or 0)
    layer = max(held, key=lambda each: held[each], default=None)
    if layer is None or not in_use or not _MOST * in_use <= held[layer] <= in_use or _has(said, layer):
        return ""
    share = percent(held[layer], in_use)
    return f"; weights and slots of `{layer}` are {human(held[layer])}, {share} of what is in use"


def _has(said: str, layer: str) -> bool:
    """Whether a sentence names a layer, or what is inside of it."""
    return f"`{layer}`" in said or f"`{layer}/" in said


def _largest(case: Case, moment: Moment, without: tuple[Kind, ...]) -> tuple[str | None, int, str]:
    """The layer with the most bytes of other kinds than these, these bytes, and their share."""
    held: dict[str, int] = {}
    whole = 0
    for group in moment.attribution.by("layer"):
        counted = sum(size for kind, size in group.kinds if kind not in without)
        whole += counted
        if group.name is not None and _is_layer(case, group.name):
            held[group.name] = counted
    layer = max(held, key=lambda each: held[each], default=None)
    if layer is None or not whole or held[layer] < _LEAST_SHARE * whole:
        return None, 0, ""
    return layer, held[layer], percent(held[layer], whole)


def _is_layer(case: Case, name: str) -> bool:
    """Whether a name is a layer of the program's own models, or inside of one: an eager op has its own name
    for one. Where no model is known, any name is.
    """
    live = case.capture.live_model
    if live is None or not live.layers:
        return True
    paths = {path for path, _ in live.layers}
    parts = name.split("/")
    return any("/".join(parts[:size]) in paths for size in range(len(parts), 0, -1))


def _batches(case: Case) -> tuple[int, int] | None:
    """The batch that failed and the recorded step's, where the program gave itself a larger one."""
    live = case.capture.live_model
    if live is None or not live.batch or not live.failed_batch or live.failed_batch < _LARGER * live.batch:
        return None
    return live.failed_batch, live.batch
