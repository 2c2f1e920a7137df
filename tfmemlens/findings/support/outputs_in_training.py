"""What the layers of the program's code put out at the failure of a step of training."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.findings.support.code_outputs import CodeOutput, code_outputs, kernels_of, outputs_beside
from tfmemlens.findings.support.kept import records_gradients
from tfmemlens.findings.support.kills import another_program
from tfmemlens.findings.support.phase import other_than_training
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.rows import all_in_use, attributed, device_limit
from tfmemlens.findings.support.situation import TENSORFLOW, Situation, situation
from tfmemlens.findings.support.trained_models import lines_that_keep_nothing
from tfmemlens.findings.support.weights import copies_in_code
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.units import MIB

_LEAST_BYTES = 64 * MIB
_TIMES_ASKED, _LEAST_SHARE = 10, 0.4


def outputs_of(case: Case, moment: Moment, request: Request, idle: bool = False) -> list[CodeOutput]:
    """What the code's layers put out at the batch of a failure in training, the largest first; nothing where
    names tell what is in use, or something else bounds the request. Layers of models that only give figures
    while another trains are left out, unless `idle`.
    """
    run = situation(case, moment)
    if attributed(moment) or request.fixed or another_program(moment):
        return []
    if run.framework != TENSORFLOW or not _trains(case, run) or other_than_training(case, request):
        return []
    made = code_outputs(case, request.failed.shape) or _of_an_inner_op(case, request)
    lines = lines_that_keep_nothing(case.capture.surroundings.program()) if made else ()
    if any(each.asked and each.output.line in lines for each in made):
        return []  # it failed where no backward pass follows
    return [each for each in made if idle or each.output.line not in lines]


def _of_an_inner_op(case: Case, request: Request) -> list[CodeOutput]:
    """The same where a layer of the program's failed on something inside it that is no weight."""
    shape = request.failed.shape
    if not shape or len(shape) < _INNER or not shape[0]:
        return []
    made = outputs_beside(case, request.owner.layer, shape[0])
    of_weights = any(shape == tuple(each.shape) for _, each in kernels_of(made))
    return [] if of_weights else made


_INNER = 3


def _trains(case: Case, run: Situation) -> bool:
    """Whether the text shows training, or the program records a tape."""
    if run.training is not None:
        return run.training
    return records_gradients(case.capture.surroundings.program())


def outweighed(case: Case, request: Request, made: Sequence[CodeOutput]) -> tuple[int, str] | None:
    """How often training keeps a weight, and in words why, where the weights of these layers take more than
    their outputs, and most of what the request did not find; else None.
    """
    times, with_them = copies_in_code(code_lines(case.capture.surroundings))
    whole = times * sum(weight.bytes for _, weight in kernels_of(made))
    room = max(room_of(case, each) for each in case.moments)
    least = max(_LEAST_BYTES, _TIMES_ASKED * (request.failed.tensor_bytes or 0), _LEAST_SHARE * room)
    if whole < least or whole <= sum(each.bytes for each in made):
        return None
    return times, with_them


def room_of(case: Case, moment: Moment) -> int:
    """What the device has, or what is in use of it; 0 where neither is known."""
    limit = device_limit(case, moment)
    return limit.bytes if limit else all_in_use(moment)
