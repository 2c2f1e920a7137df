"""It failed while a session gave weights their first values or made its kernels: no step has run yet.

What it means: `global_variables_initializer` fills weights and the optimizer's slots, and a constant of the
graph is put on the device when the session prepares a run. What fills the device then is of the model, of
another process or of an earlier model of this one, and no batch has a part in it.
When it fires: a node of an initialiser, the line that runs the initialisers, or the constructor of a
constant found no room on a device, and no step is told before.
What to do: see who else holds the device; else a smaller model, or an optimizer with fewer slots.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import all_in_use, device_limit, on_host, requests
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.findings.support.weights import gives_first_values
from tfmemlens.model.case import Case, FrontEnd, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, MIB, human
from tfmemlens.values import replace

BASIS = Basis.NAME
EXPLAINS = "what is in use"

_OF_A_CONSTANT = regex(r"(?:\A|/)constant_op\.cc:(?:[4-9]\d|10\d)\b")
"""Lines of the constructor of `Const`: further down are the kernels of Fill and ZerosLike, which run."""
_MOST_BYTES = GIB
"""A larger request is the weight that is too large, which other rules tell."""
_LARGE_WEIGHT = 64 * MIB
_SMALL_POOL, _MOST = 2 * GIB, 0.8
"""A larger pool of which weights and slots fill the most is filled by them alone."""
_SMALLER = Remedy(
    "take a smaller model, train fewer of its variables, or take an optimizer with fewer slots: Adam keeps"
    " two of each weight's size, momentum one, plain gradient descent none",
    "opt = tf.train.GradientDescentOptimizer(0.01)",
    slug="smaller-model",
)
_SMALLER_OF_KERAS = replace(_SMALLER, code="opt = tf.keras.optimizers.SGD(0.01)")
_USERS = Remedy(
    "see what else holds the GPU (another process, an earlier model in a notebook's kernel); if nothing does,"
    " it is too small for these weights",
    "nvidia-smi",
    slug="see-device-users",
)


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    if framework_of(case) != TENSORFLOW or told.steps or told.progress:
        return
    for index, moment, request in list(requests(case))[:1]:
        need = request.needed_bytes or 0
        where = "" if on_host(moment) or need > _MOST_BYTES else _where(request)
        if not where:
            continue
        used, limit = all_in_use(moment), device_limit(case, moment)
        filled = f"fill {human(used)}" if used else "fill the device, or others hold it"
        what = (
            f"it failed {where}, before any step: weights and slots of the optimizer {filled}, and no batch"
            " has a part in it"
        )
        own = bool(used and limit and limit.bytes >= _SMALL_POOL and used > _MOST * limit.bytes)
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=used or (limit.bytes if limit else need) or None,
            evidence=(Evidence("the message", request.failed.line),),
            remedies=_remedies(case, own, need),
            moment=index,
            rules_out=_OF_A_STEP,
        )


def _remedies(case: Case, own: bool, need: int) -> tuple[Remedy, ...]:
    """A single weight that is large is told how to become smaller by other rules, which know its layer."""
    sessions = case.api.front_end is FrontEnd.SESSION or case.api.newest < (2, 0)
    of_its_release = _SMALLER if sessions else _SMALLER_OF_KERAS
    smaller = (of_its_release,) if need < _LARGE_WEIGHT else ()
    return (*smaller, _USERS) if own else (_USERS, *smaller)


_OF_A_STEP = ("smaller-batch", "smaller-input", "recompute", "crop")
"""What makes a step smaller."""


def _where(request: Request) -> str:
    """In which of these it failed; empty where in none."""
    if gives_first_values(request):
        return "while variables got their first values"
    if _OF_A_CONSTANT.search(request.failed.kernel or "") and not request.failed.shape:
        return "while the session prepared its graph"
    return ""
