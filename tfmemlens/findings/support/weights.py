"""Which kind of weight was asked for, and how often its optimizer keeps it: advice fits the kind."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from math import prod

from tfmemlens.findings.support.rows import device_limit, on_host
from tfmemlens.knowledge.kernel_shapes import flattened, like_a_kernel
from tfmemlens.model.attribution import Phase
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, MIB, human


class Weight(str, Enum):
    """What a weight belongs to, as far as names, code and shape tell."""

    TABLE = "an embedding table"
    DENSE = "a fully connected kernel"
    KERNEL = "a convolution's kernel"
    MATRIX = "a weight matrix (an embedding table, or the kernel of a fully connected layer)"
    OTHER = "a weight"

    __str__ = str.__str__


_TABLES = regex(
    r"embed|lookup|vocab|word2vec|wte\b|item_emb|user_emb|\bemb(?:edding)?s?\b|hidden_size", re.IGNORECASE
)
_DENSE = regex(r"dense|\bfc\d*|fully|linear|(?:\A|[^\w])Dense\(", re.IGNORECASE)
_MANY_ROWS = 200_000
"""Rows that only a table has, unless they are the numbers of a feature map."""
_OPTIMIZERS = (
    (regex(r"adam|lamb|yogi", re.IGNORECASE), "Adam", 2),
    (regex(r"momentum", re.IGNORECASE), "Momentum", 1),
    (regex(r"rms_?prop", re.IGNORECASE), "RMSProp", 1),
    (regex(r"adagrad", re.IGNORECASE), "Adagrad", 1),
)


def weight_of(request: Request) -> Weight:
    """The kind of weight that a request for one, its gradient or its slot belongs to."""
    failed = request.failed
    shape = tuple(size or 1 for size in failed.shape or ())
    told = " ".join(
        filter(None, (failed.node, failed.forward_node, failed.source_text, *(failed.keras_layer or ())))
    )
    if like_a_kernel(shape):
        return Weight.KERNEL
    if len(shape) != 2:
        return Weight.OTHER
    code = failed.source_text or ""
    if _TABLES.search(told) and not ("Dense(" in code and "mbedding" not in code):
        return Weight.TABLE
    rows, width = shape
    if _DENSE.search(told) or rows < 20 * width:
        return Weight.DENSE
    return Weight.TABLE if rows >= _MANY_ROWS and not flattened(rows) else Weight.MATRIX


def optimizer_of(request: Request) -> tuple[str, int] | None:
    """The optimizer that a slot or an update names, and how many slots it keeps of each weight."""
    name = f"{request.failed.node or ''} {request.failed.optimizer or ''}"
    return next(((title, slots) for pattern, title, slots in _OPTIMIZERS if pattern.search(name)), None)


def copies(request: Request) -> tuple[int, str]:
    """How often a weight is in memory in training, and in words why."""
    known = optimizer_of(request)
    if known is None:
        return 4, "with its gradient and the two slots of Adam, if that is the optimizer"
    title, slots = known
    kept = "one slot" if slots == 1 else "two slots"
    return 2 + slots, f"with its gradient and {kept} of {title}"


_COMPILES = regex(r"(?i)\boptimizers?\b|\.compile\(")
_PLAIN = regex(r"(?i)\bSGD\b(?!.{0,60}momentum)|GradientDescentOptimizer")


def copies_in_code(lines: Iterable[Line]) -> tuple[int, str]:
    """The same by the optimizer that lines of the program name."""
    for line in lines:
        if not _COMPILES.search(line.text):
            continue
        for pattern, title, slots in _OPTIMIZERS:
            if pattern.search(line.text):
                return 2 + slots, f"with gradients and {title}'s {'slots' if slots > 1 else 'slot'}"
        if _PLAIN.search(line.text):
            return 2, "with gradients"
    return 4, "with gradients and two slots (if it is Adam)"


_MANY_CLASSES = 100_000


def fewer_classes(request: Request) -> Remedy | None:
    """Of a kernel with more columns than most problems have classes; None of others."""
    columns = (request.failed.shape or (0,))[-1] or 0
    if weight_of(request) is not Weight.DENSE or columns < _MANY_CLASSES:
        return None
    return Remedy(
        f"look where the {columns:,} classes or words come from: labels or ids that are too large, or a list"
        " of unique strings taken for the alphabet, make an output layer this wide",
        slug="fewer-classes",
    )


_FLOAT_BYTES = 4
_SMALL_BYTES, _SMALL_SHARE = 32 * MIB, 0.05
"""A weight of this size, or of this share of a device, is not what fills a device."""


def finds_a_full_device(case: Case, moment: Moment) -> bool:
    """Whether a weight was refused that is next to nothing for a device, and nothing tells what was in use:
    then something filled the device before. An update comes after a step's activations, which may have.
    """
    request = moment.request
    shape = request.failed.shape if request else None
    need = request.needed_bytes if request else None
    if need is None and shape is not None and all(shape):
        need = _FLOAT_BYTES * prod(size or 1 for size in shape)  # TF 1.4 and older print no type
    if request is None or need is None or moment.balance.in_use is not None or on_host(moment):
        return False
    of_slot = "Initializer" in (request.failed.node or "")
    phase = request.owner.phase
    if request.failed.updating or phase is Phase.GRADIENT or (phase is Phase.OPTIMIZER and not of_slot):
        return False
    limit = device_limit(case, moment)
    return need <= (_SMALL_SHARE * limit.bytes if limit else _SMALL_BYTES)


_FIRST = regex(r"(?:\A|/)Initializer/|(?:\A|/)Initializer\Z")
_RUNS_FIRST = regex(
    r"\b(?:global_variables|tables|local_variables|initialize_all_variables)\w*\(|\.run\(init\w*\)"
)
_ROOM_BYTES, _SMALL_DEVICE = GIB, 4 * GIB
"""What every GPU has room for, unless it is small or others hold it."""


def makes_first_values(request: Request) -> bool:
    """Whether first values of weights or slots were made: then no step has run."""
    failed = request.failed
    if failed.updating or request.owner.phase is Phase.GRADIENT:
        return False
    return failed.creating or gives_first_values(request)


def gives_first_values(request: Request) -> bool:
    """Whether a session ran initialisers."""
    failed = request.failed
    return bool(_FIRST.search(failed.node or "") or _RUNS_FIRST.search(failed.source_text or ""))


def no_room_at_start(case: Case, moment: Moment) -> Remedy | None:
    """Where first values found no room on a GPU that has as much, or on a small part of one: who holds it."""
    request = moment.request
    need = request.needed_bytes if request else None
    limit = device_limit(case, moment)
    if request is None or on_host(moment) or not makes_first_values(request):
        return None
    if need is None:
        need = _FLOAT_BYTES * prod(size or 1 for size in request.failed.shape or ())
    if need > _ROOM_BYTES or (limit is not None and limit.bytes > _SMALL_DEVICE):
        return None
    share = f": TensorFlow may use only {human(limit.bytes)} of it" if limit else ""
    return Remedy(
        f"no step has run yet, so first see what else holds the GPU{share}; if nothing does, it is too small"
        " for these weights",
        "nvidia-smi",
        slug="see-device-users",
    )


def in_summary(told: Surroundings, rows: int, units: int) -> list[tuple[str, str, int, Line]]:
    """The rows of the model's summary with as many parameters as this matrix, with or without a bias."""
    counts = (rows * units, rows * units + units)
    return [row for row in told.summary if row[2] in counts]
