"""The op that failed requested little; the memory was already in use.

What it means: the error names the op that asked last, not the one that holds the memory. Changing that op
changes nothing.
When it fires: the request is below 1 % of what is held (or of the limit).
What to do: look at who holds the memory, not at the line of the error.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings import held_by_python
from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.host_ram.gone import lost_device
from tfmemlens.findings.support.kills import driver_at_fault
from tfmemlens.findings.support.new_shapes import new_shapes
from tfmemlens.findings.support.rows import (
    all_in_use,
    attributed,
    device_limit,
    on_host,
    place,
    requests,
    tensor_text,
)
from tfmemlens.findings.support.situation import BUILT_IN, TENSORFLOW, framework_of, situation
from tfmemlens.knowledge.device_names import CPU
from tfmemlens.knowledge.kernel_shapes import like_a_kernel
from tfmemlens.knowledge.ops import roles
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.tensor import tensor_bytes
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human, percent

BASIS = Basis.FIGURES
EXPLAINS = "no bytes: others hold the memory"


_SMALL_ON_A_GPU, _OF_ONE_SAMPLE = 4 * MIB, 16 * MIB
"""Next to nothing of any GPU that trains; of one sample alone, whose other tensors are as small."""
_ONE = "a batch of one"


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        need, kind = _need(request)
        limit = device_limit(case, moment)
        whole = all_in_use(moment) or (limit.bytes if limit else 0)
        on_gpu = request.failed.shape is not None and situation(case, moment).device != CPU
        one = case.capture.surroundings.shows(_ONE)
        small = _OF_ONE_SAMPLE if one else _SMALL_ON_A_GPU
        least = small if on_gpu else MIB
        small_alone = not all_in_use(moment) and need is not None and need <= least
        if driver_at_fault(moment) or lost_device(case, moment):
            continue
        if not need or (whole and need >= 0.01 * whole) or not (whole or small_alone):
            continue
        shapes = None if case.capture.surroundings.stores or on_host(moment) else new_shapes(case)
        others = f"; most likely {shapes.what}" if shapes else ""
        known = case.capture.surroundings.shows("structure prediction")  # whose rule says what fills it
        share = f", {percent(need, whole)} of {human(whole)}" if whole else ""
        yield Finding(
            severity=Severity.CAUSE if small_alone and not known else Severity.FACTOR,
            headline=(
                f"{place(moment) or 'the failing op'} is a bystander: it requested only"
                f" {human(need)}{kind}{share}"
            ),
            because=(
                f"the failing op is a bystander that requested only {human(need)}{kind}; the memory was"
                f" already taken by others{others}"
            ),
            evidence=(Evidence(f"requested: {tensor_text(moment)}", request.failed.line),),
            detail="" if any(held_by_python.check(case)) else _holders(moment),
            remedies=shapes.remedies if shapes else tuple(_advised(case, moment)),
            moment=index,
        )


def _need(request: Request) -> tuple[int | None, str]:
    """The bytes asked for, and as what, where no type is stated: messages before TensorFlow 1.5 name none."""
    shape, need = request.failed.shape, request.needed_bytes
    if need is not None or shape is None or request.failed.dtype is not None:
        return need, ""
    return tensor_bytes(shape, "float32"), " as float32"


def _advised(case: Case, moment: Moment) -> Iterator[Remedy]:
    """What frees a pool or a device that others fill; what fills host RAM has rules of its own."""
    if on_host(moment):
        return
    yield from _of_a_full_pool(case, moment) if all_in_use(moment) else _of_a_full_device(case, moment)


def _of_a_full_pool(case: Case, moment: Moment) -> Iterator[Remedy]:
    """Of a server, whose clients decide how much comes at once, and of a batch of one, which cannot be made
    smaller: other programs have rules of their own.
    """
    if situation(case).program == "TensorFlow Serving":
        yield remedies.smaller_requests(case)
    elif situation(case).program == "Triton":
        yield remedies.FEWER_INSTANCES
    elif situation(case).program == BUILT_IN:
        yield _LESS_SIDE_BY_SIDE
    elif framework_of(case) == TENSORFLOW and case.capture.surroundings.shows(_ONE):
        yield from remedies.offered(case, moment, "smaller-input", "mixed-precision", "recompute")
        yield _SMALLER_NET


_SMALLER_NET = Remedy(
    "or take a smaller net or backbone, or train fewer of its layers: with one sample nothing else is left to"
    " lower",
    slug="smaller-model",
)
_LESS_SIDE_BY_SIDE = Remedy(
    "give it less at a time: fewer requests side by side, fewer or shorter examples in each; a second GPU"
    " helps where a second process runs on it",
    slug="smaller-input",
)


def _of_a_full_device(case: Case, moment: Moment) -> Iterator[Remedy]:
    """What to do where nothing tells what was in use: see who else has the device, then need less in all."""
    request, run = moment.request, situation(case, moment)
    alone = request is not None and request.failed.kind is RequestKind.TENSOR
    if run.framework != TENSORFLOW or run.program or not alone or case.capture.surroundings.device_uses:
        return
    several = case.capture.surroundings.shows("several GPUs named")
    others = (
        f", or take another of the GPUs ({several.place}): TensorFlow computes on the first one by itself"
        if several
        else ""
    )
    one = case.capture.surroundings.shows(_ONE) is not None
    less = remedies.offered(case, moment, "smaller-batch") or (() if one else (remedies.less_at_once(case),))
    if case.capture.surroundings.shows("models in a loop"):
        less = ()  # earlier models have a part in it, and a rule of their own
    if request is not None and (
        request.owner.phase is Phase.OPTIMIZER or request.owner.kind in _OF_THE_MODEL
    ):
        less = ()  # no batch has a part in it
    users = Remedy(
        "see who else holds the device (another process, an earlier model in a notebook's kernel), and end"
        f" that{others}",
        "nvidia-smi   # then: export CUDA_VISIBLE_DEVICES=1" if several else "nvidia-smi",
        slug="see-device-users",
    )
    failed = request.failed if request else None
    made = failed is not None and (failed.creating or "Initializer" in (failed.node or ""))
    of_a_weight = made or (failed is not None and ASSIGNS.match(failed.kernel or ""))
    untold = failed is not None and failed.dtype is None and not failed.node
    of_a_weight = of_a_weight or (untold and failed is not None and like_a_kernel(failed.shape))
    constant = failed is not None and failed.op in _OF_NO_BATCH
    yield from (users, *less) if of_a_weight or one or constant else (*less, users)


_OF_NO_BATCH = roles.CONSTANTS | roles.VARIABLES
_OF_THE_MODEL = (Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
ASSIGNS = regex(r"(?:\S*/)?assign_op\b")
"""The C++ source of the op that gives a variable its first value, before any batch."""


def _holders(moment: Moment) -> str:
    if not attributed(moment):
        return "This input does not show what holds the memory."
    groups = [group for group in moment.attribution.by("layer") if group.name][:3]
    return (
        "The memory is held by "
        + ", ".join(f"{group.name} ({human(group.total_bytes)})" for group in groups)
        + "."
    )
