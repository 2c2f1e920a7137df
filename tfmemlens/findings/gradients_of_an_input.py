"""The gradients of an input are taken for all its rows at once.

What it means: saliency maps, integrated gradients and adversarial examples need the gradient of a network's
outputs for its inputs. The tape keeps every layer's outputs for as many rows as are watched at once, though
no row's gradient needs another row.
When it fires: the program's tape watches a tensor and takes the gradient for that tensor alone, an op of
TensorFlow's failed under that tape and under no other, for two rows or more.
What to do: take the gradients of some rows at a time, and join them.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.rows import device_limit, requests
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.findings.support.taped_loop import WatchedInput, watched_input
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.what_if import Shrunk
from tfmemlens.values import replace

BASIS = Basis.SHAPE
EXPLAINS = "what the request has beyond that of so many rows as are taken at a time"

_SLUG = "gradients-by-rows"
_FEWEST, _AT_A_TIME, _OF_LIMIT = 2, 32, 16
"""Rows that can be parted, those that are taken at a time, and the part of the device that they may take."""
_RANK_OF_PLACES = 3
"""Samples, places, channels."""


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) != TENSORFLOW:
        return
    for index, moment, request in list(requests(case))[:1]:
        program, batch = case.capture.surroundings.program(), _batch(request)
        if not program or batch < _FEWEST or request.fixed:
            continue
        found = watched_input(program, request.failed.frames)
        if found is None:
            continue
        rows = _rows(case, moment, request, batch)
        need = request.needed_bytes
        what = (
            f"the gradient of `{found.watched}` is taken for all its {batch} rows at once"
            f" ({found.gradient.place}), and the tape keeps what every layer makes of them"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=need and need - need * rows // batch,
            evidence=(Evidence("the tape watches it", found.watch), Evidence("its gradient", found.gradient)),
            remedies=(_remedy(case, request, found, batch, rows),),
            moment=index,
            rules_out=("smaller-batch", "smaller-prediction-batch", "smaller-input"),
        )


def _batch(request: Request) -> int:
    """The rows that went through the network: as the run tells, else the first dimension of an output that
    has others for its places.
    """
    shape = request.failed.shape or ()
    return request.batch or (shape[0] if len(shape) >= _RANK_OF_PLACES else 0) or 0


def _rows(case: Case, moment: Moment, request: Request, batch: int) -> int:
    """As many as make the failed tensor a small part of the device."""
    need, limit = request.needed_bytes, device_limit(case, moment)
    most = min(_AT_A_TIME, batch // 2)
    fits = limit.bytes // _OF_LIMIT * batch // need if need and limit else most
    return max(min(most, fits), 1)


def _remedy(case: Case, request: Request, found: WatchedInput, batch: int, rows: int) -> Remedy:
    text = (
        f"take the gradient of some rows of `{found.watched}` at a time (and of whatever else has a row of"
        f" each), and join them: {rows} of {batch}; each row's is the same unless a layer mixes the rows,"
        " as batch normalisation does in training"
    )
    part = f"{found.watched}[i:i + {rows}]"
    code = (
        f"for i in range(0, {batch}, {rows}): ...   # the tape, the loss and the gradient of {part}\n"
        "tf.concat(gradients, axis=0)"
    )
    return replace(
        remedies.of_tensor(case, text, Shrunk(_SLUG, request.needed_bytes, batch, rows)), code=code
    )
