"""A request of which half of the batch is no advice: many times what a device has, where nothing says what
this device has, or one map of a training that still takes much of the device when it is halved. Which part
would fit is a guess.
"""

from __future__ import annotations

import math

from tfmemlens.findings.support.batch_bound import PARTS
from tfmemlens.findings.support.rows import device_limit, rows
from tfmemlens.findings.support.weights import gives_first_values, makes_first_values
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Remedy
from tfmemlens.model.tensor import format_shape
from tfmemlens.units import GIB, human

_LARGE_CARD, _USUAL_CARD = 80 * GIB, 16 * GIB
"""What the largest cards that are common have, and what most have at the most."""
BEYOND_ANY_DEVICE, NO_PROGRAM = 288 * GIB, 32 << 40
"""More than any one device has, which too much work in one call may ask for; and what no work does, so that a
size is a mistake.
"""
_HALF_OF_MANY = 40 * GIB
"""Half of a request that only the largest cards hold beside all else."""


def part_that_fits(case: Case, moment: Moment) -> int | None:
    """One in how many samples would fit a card, if all of the request shrank with the batch; None where half
    of it may, or where the device's size is known.
    """
    failed = moment.request.failed if moment.request else None
    if failed is None or not failed.of_xla or not failed.size or device_limit(case, moment):
        return None
    asked = failed.size.bytes
    if asked // 2 <= _HALF_OF_MANY:
        return None
    parts = -(-asked // _card_for(asked))
    return 1 << (parts - 1).bit_length()


def _card_for(asked: int) -> int:
    """The card that advice is for: a usual one, unless many of the largest ones could have been meant."""
    return _LARGE_CARD if asked > _TWICE * _LARGE_CARD else _USUAL_CARD


_LEAST_AXES, _MUCH, _A_MAP = 4, 16, 32
"""Axes of a map of images; one in how many parts of the device half of a map is too much, and with which part
to begin: a training keeps the maps of all its layers, and their gradients come on top.
"""


def batch_for_maps(case: Case, moment: Moment, batch: int | None) -> str | None:
    """`lower the batch: 512 -> 32 (a guess: ...)`, where one map of a training takes so much of the device
    that half of the batch most likely fails as well; None where it may do.
    """
    failed = moment.request.failed if moment.request else None
    shape, need = (failed.shape or (), failed.tensor_bytes) if failed else ((), None)
    if not need or not batch or batch < 2 or len(shape) < _LEAST_AXES or (shape[0] or 1) % batch:
        return None
    limit = device_limit(case, moment)
    device = limit.bytes if limit else _USUAL_CARD
    if need // 2 <= device // _MUCH:
        return None
    first = max(1, min(batch // 2, _power_of_two(batch * device / _A_MAP / need)))
    card = "" if limit else f", for a GPU of {human(_USUAL_CARD)}"
    one = need // batch
    alone = (
        f"; one sample's map takes {human(one)} of them, so make the samples smaller, too"
        if (one > device // _A_MAP)
        else ""
    )
    if first == batch // 2 and not alone:
        return None
    return (
        f"lower the batch: {batch} -> {first} (a guess{card}: at {batch // 2} this one map still takes"
        f" {human(need // 2)}, and a training keeps those of all layers){alone}"
    )


def batch_for_outputs(whole: int, room: int, batch: int | None, divisor: int) -> int | None:
    """The batch to begin with, where half of it leaves outputs that still take much of the device: a part of
    what has room for them, since gradients and what is computed beside layers come on top.
    """
    if not batch or batch < 2 * _TWICE or whole // 2 <= room // divisor:
        return None
    first = max(1, min(batch // 2, _power_of_two(1.1 * batch * room / divisor / whole)))
    return first if first < batch // 2 else None


_TWICE = 2
_PIECE = 2 * GIB
"""A tensor that leaves room for others on any card."""


def first_sides(need: int, count: int) -> int:
    """How many of so many rows to begin with, where all of them are larger than any device and no device is
    known.
    """
    return max(1, min(count // 2, _power_of_two(count * _PIECE / need)))


def other_dimensions(request: Request) -> Remedy | None:
    """What to change of a tensor of which half is as much as most cards have; None where half may do."""
    shape = request.failed.shape or ()
    need = request.needed_bytes or (_FLOAT_BYTES * math.prod(size or 1 for size in shape) if shape else 0)
    if need // _TWICE < _USUAL_CARD:
        return None
    if makes_first_values(request):
        return _find_the_variable(request)
    return Remedy(
        f"make its large dimensions smaller (shorter sequences, smaller images), or go through them in parts:"
        f" half of the first one still leaves {human(need // _TWICE)}, as much as most cards have or more",
        slug="smaller-input",
    )


_FLOAT_BYTES = 4


def _find_the_variable(request: Request) -> Remedy:
    """Of a variable that is larger than most cards: as a rule a layer got a size for another argument."""
    shape = list(request.failed.shape or ())
    of_a_session = gives_first_values(request) and shape
    return Remedy(
        "find the variable of this size, whose first value is made here, and mend the arguments of its layer:"
        " as a rule a size of the data stands where a kernel's size or a number of units belongs; no batch"
        " makes it smaller",
        f"print([v for v in tf.global_variables() if v.shape.as_list() == {shape}])"
        if of_a_session
        else None,
        slug="smaller-model",
    )


def _power_of_two(wanted: float) -> int:
    return 1 << max(int(wanted).bit_length() - 1, 0)


def in_words(moment: Moment, part: int, batch: int | None) -> str:
    """`lower the batch to an eighth of it or less (256 per device -> at most 51): ...`."""
    assert moment.request and moment.request.failed.size
    asked = moment.request.failed.size.bytes
    card = _card_for(asked)
    of_each = None if batch else _per_device(moment)
    known = batch or (of_each[0] if of_each else None)
    most = max(known * card // asked, 1) if known else None
    read = f" per device, as {format_shape(of_each[1])} reads," if of_each else ""
    figures = f" ({known}{read} -> at most {most})" if known else ""
    return (
        f"lower the batch to {PARTS.get(part, f'1/{part}')} of it or less{figures}: half of the request is"
        f" still {human(asked // 2)}, and a card of {human(card)} holds no more than that part (a"
        " guess: as if all of it shrank with the batch)"
    )


def _per_device(moment: Moment) -> tuple[int, tuple[int | None, ...]] | None:
    """The second dimension of the largest buffer of a `pmap`, whose first is the device's part."""
    largest = next(iter(rows(moment, lambda row: bool(row.allocation.shape))), None)
    shape = largest.allocation.shape if largest else None
    node = (largest.allocation.node or "") if largest else ""
    if shape is None or "pmap(" not in node or len(shape) < 3 or shape[0] != 1:
        return None
    return (shape[1], shape) if shape[1] and shape[1] > 1 else None
