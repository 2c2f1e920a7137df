"""The batch that failed is larger than all batches before it.

What it means: with sequences of several lengths, or a bucket for each length, the run needs as much as its
longest batch. The step that fails is the first that saw it.
When it fires: the program prints the shape or the length of its batches, at least four of them, and the last
before the failure is a quarter larger than any before; or two shapes that differ in one size, the last four
times as large. Or the op that failed ran in a recorded step, and made a tensor that has as many samples and a
half or less of another size. Or the program pads batches to a length that its code does not state, nor as a
product of two of its numbers. Or the joint network of a transducer failed.
What to do: cap the lengths, or make batches of as many tokens rather than of as many samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.kept import joined_by_the_program, joined_from_step_to_step
from tfmemlens.findings.support.phase import other_than_training
from tfmemlens.findings.support.program_lines import code_lines, numbers_by_name
from tfmemlens.findings.support.rows import all_in_use, requests
from tfmemlens.findings.support.stage import counters_before
from tfmemlens.model.allocation import OUTPUT
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.values import replace

BASIS = Basis.MEASURED
EXPLAINS = "the part of the request that a batch as before does not need"

_LEAST, _LARGER, _MUCH_LARGER = 4, 1.25, 4


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        if joined_by_the_program(case, moment) or joined_from_step_to_step(case, moment, request):
            continue  # longer from step to step
        if (usual := _recorded(case, request)) is not None:
            yield _longer_than(case, index, moment, request, usual)
            continue
        if (padded := _padded(case, moment, request)) is not None:
            yield _of_a_padded_batch(case, index, moment, request, *padded)
            continue
        if _of_a_joint_network(request) and other_than_training(case, request) is None:
            yield _of_a_transducer(case, index, request)
            continue
        failed = request.failed.line
        lengths = [
            (sizes, line)
            for sizes, line in case.capture.surroundings.lengths
            if failed is None or line.number < failed.number
        ]
        lengths = [each for each in lengths if len(each[0]) == len(lengths[-1][0])]
        if len(lengths) < 2:
            continue
        last, line = lengths[-1]
        most, at = max(lengths[:-1], key=lambda each: math.prod(each[0]))
        few = len(lengths) <= _LEAST
        if (
            math.prod(last) < (_MUCH_LARGER if few else _LARGER) * math.prod(most)
            or (few and not _one_differs(last, most))
            or (not few and _counts_on(lengths))
        ):
            continue
        what = (
            f"this batch is {_told(last)}, and none of the {len(lengths) - 1} before was above {_told(most)}"
            if len(lengths) > 2
            else f"this batch is {_told(last)}, and the one before was {_told(most)}"
        )
        need = request.needed_bytes
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=None if need is None else round(need * (1 - math.prod(most) / math.prod(last))),
            evidence=(Evidence("the batch that failed", line), Evidence("the largest before it", at)),
            remedies=(
                Remedy(
                    f"cap the length at what fits ({_told(most)} did), or cut longer samples into pieces",
                    slug="truncate-inputs",
                ),
                Remedy(
                    "make batches of as many tokens, not of as many samples: of long samples fewer",
                    "tf.data.Dataset.bucket_by_sequence_length(length, boundaries, batch_sizes)",
                    slug="tokens-in-a-batch",
                ),
            ),
            moment=index,
        )


class _Usual(NamedTuple):
    """What the op made in a step that ran, and what stood before that step."""

    shape: tuple[int, ...]
    baseline_bytes: int


def _recorded(case: Case, request: Request) -> _Usual | None:
    """The shape that the failing op made in a recorded step that ran, where it has as many samples and other
    sizes that are half of it or less.
    """
    failed = request.failed
    shape = failed.shape
    if not failed.node or not shape or len(shape) < 2 or None in shape or request.fixed:
        return None
    made = {
        tuple(row.shape): timeline.baseline_bytes
        for timeline in case.capture.timelines
        if not timeline.predicted
        for row in timeline.table
        if row.node == failed.node and row.shape and row.purpose == OUTPUT and row.dtype == failed.dtype
    }
    alike = [each for each in made if len(each) == len(shape) and each[0] == shape[0] and None not in each]
    if not alike or len(alike) < len(made):
        return None
    usual = max(alike, key=_product)
    pairs = list(zip(usual, shape, strict=True))
    grown = [(one, other) for one, other in pairs if one != other]
    longer = bool(grown) and all(_TWICE * (one or 0) <= (other or 0) for one, other in grown)
    return _Usual(tuple(size or 0 for size in usual), made[usual]) if longer else None


_SHORTER = Remedy(
    "leave out or cut samples that are much longer than the others (one is enough: it decides for its whole"
    " batch)",
    "ds = ds.filter(lambda x, y: tf.shape(x)[0] <= longest)   # or x[:longest], before batching",
    slug="truncate-inputs",
)
_LIKE_LENGTHS = Remedy(
    "or put samples of a like length together, fewer of the long ones in a batch",
    "ds = ds.bucket_by_sequence_length(length, bounds, sizes)   # TF 2.6+",
    slug="bucket-sequences",
)


def _padded(case: Case, moment: Moment, request: Request) -> tuple[Line, int, int] | None:
    """The line that pads batches to a length that the code nowhere states, how many steps went well before,
    and the length; None of anything else.
    """
    told, shape = case.capture.surroundings, request.failed.shape
    if not shape or len(shape) < 3 or None in shape or request.fixed or request.failed.creating:
        return None
    code = code_lines(told)
    line = next((each for each in code if _PADS.search(each.text)), None)
    number = _batch_of(code, line) or request.batch or remedies.batch_of(case, moment)
    folds = (shape[0] or 0) // number if number and (shape[0] or 0) % number == 0 else 0
    if line is None or not 1 <= folds <= _MOST_FOLDS:
        return None
    longest = folds * max(size or 0 for size in shape[1:-1])
    stating = [text.text for text in code if not _SETS_ONE.search(text.text)]
    numbers = {int(each) for text in stating for each in _INTEGER.findall(text)}
    if longest < _LONG or _is_stated(longest, folds, numbers):
        return None
    return line, max((step for step, _ in counters_before(case, request)), default=0), longest


def _is_stated(length: int, folds: int, numbers: set[int]) -> bool:
    """Whether a length is one of the code's numbers, or the product of two."""
    whole = range(max(length - folds * folds, 1), length + 1) if folds > 1 else (length,)
    return any(
        each in numbers
        or any(number > 1 and each % number == 0 and each // number in numbers for number in numbers)
        for each in whole
    )


_MOST_FOLDS = 16
"""Into so many rows a dilated convolution folds each sample."""
_LONG = 256
_INTEGER = regex(r"(?<![\w.])\d[\d_]{0,10}(?![\w.])")
_SETS_ONE = regex(r"\]\s*=(?!=)")
"""One of many values is set: a datum, and no bound of all."""
_BATCH = regex(
    r"\.padded_batch\(\s*(?:batch_size\s*=\s*)?(?:(?P<digits>\d{1,6})|(?P<name>[A-Za-z_]\w{0,60}))"
)


def _batch_of(code: Sequence[Line], line: Line | None) -> int | None:
    match = _BATCH.search(line.text) if line else None
    if match is None:
        return None
    named = numbers_by_name(code).get(match["name"] or "")
    return int(match["digits"]) if match["digits"] else named and named[0]


def _of_a_padded_batch(
    case: Case, index: int, moment: Moment, request: Request, line: Line, steps: int, length: int
) -> Finding:
    """A batch of samples that are padded to their longest."""
    shape = format_shape(request.failed.shape or ())
    if steps >= _LEAST:
        what = (
            f"{steps:,} steps went well, and {line.place} pads all samples of a batch to its"
            f" longest: most likely one of this batch ({shape}) is much longer than those before"
        )
    else:
        what = (
            f"{line.place} pads all samples of a batch to its longest, and here they are about {length:,}"
            f" long ({shape}), a length that the code nowhere states: one sample that is much longer than the"
            " others is enough"
        )
    shorter = _SHORTER
    smaller: tuple[Remedy, ...] = ()
    if steps < _LEAST:
        smaller = remedies.offered(case, moment, "smaller-batch")
        seen = f"see how long the samples are; where few have about {length:,}, {_SHORTER.text}"
        shorter = replace(_SHORTER, text=seen)
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=all_in_use(moment) + (request.needed_bytes or 0),
        basis=Basis.SHAPE,
        evidence=(Evidence("the batches are padded", line), Evidence("the request", request.failed.line)),
        remedies=(shorter, _LIKE_LENGTHS, *smaller),
        moment=index,
        rules_out=_OF_ANY_BATCH,
    )


_JOINT = regex(
    r"(?i)(?=\S*(?:conformer|transducer|contextnet|rnn_?t(?:_|/)|citrinet))\S*(?:/|_)joint"
    r"(?:_(?:vocab|net\w*|enc|pred|dense|out\w*|ffn\w*|\d+))?/"
)
"""A layer of the network that joins a transducer's encoder and its prediction."""
_SHORTER_SPEECH = Remedy(
    "leave out or cut the recordings that are much longer than the others, and those with much longer"
    " transcripts (one is enough: its batch is padded to it), or put samples of a like length together",
    "ds = ds.filter(lambda audio, text: tf.size(audio) <= longest)   # before batching",
    slug="truncate-inputs",
)


def _of_a_joint_network(request: Request) -> bool:
    """Whether a transducer's joint network made the tensor, and no weight of it."""
    name = request.failed.node or request.failed.op or ""
    return bool(_JOINT.search(name)) and not (request.fixed or name.endswith("/MatMul_1"))


def _of_a_transducer(case: Case, index: int, request: Request) -> Finding:
    """A number for each frame of the sound times each token of its transcript, of each sample."""
    at = case.capture.surroundings.progress_before(request.failed.line)
    steps = max([(at.step or 0) if at else 0, *(step for step, _ in counters_before(case, request))])
    after = (
        f"; {steps:,} steps went well, so most likely a sample of this batch is longer than those before"
        if steps >= _LEAST
        else ""
    )
    what = (
        "the joint network of a transducer has a row for each frame of the recording times each token of its"
        f" transcript, padded to the longest of the batch{after}"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=request.needed_bytes,
        basis=Basis.NAME,
        evidence=(Evidence("the request", request.failed.line),),
        remedies=(
            _SHORTER_SPEECH,
            Remedy(
                "fewer samples in a batch, or fewer tokens or units of the joint network: each makes this"
                " tensor smaller in proportion; adding up gradients keeps the effective batch",
                slug="smaller-batch",
            ),
        ),
        moment=index,
    )


_TWICE = 2
_PADS = regex(
    r"\.padded_batch\(|\bpad_sequences\((?![^\n]*maxlen)|\bdynamic_pad ?= ?True|\.bucket_by_sequence_length\("
    r"|\bpadding ?= ?(?:True|['\"]longest['\"])(?![^\n]*max_length)"
    r"|\bmax\((?:map\(len,|len\(\w{1,20}\) for |\w{1,20}\.shape\[[01]\] for )"
)
"""What makes samples as long as the longest of their batch."""
_OF_ANY_BATCH = ("in-blocks", "narrower-layer", "large-tensors-first", "constant-shapes", "smaller-input")
"""What makes every step smaller, or orders them, where one batch is unlike the others."""


def _product(shape: Sequence[int | None]) -> int:
    return math.prod(size or 0 for size in shape)


def _longer_than(case: Case, index: int, moment: Moment, request: Request, usual: _Usual) -> Finding:
    """A batch whose samples are longer than those of a step that was recorded: with them every output is."""
    shape, need = tuple(size or 0 for size in request.failed.shape or ()), request.needed_bytes or 0
    times = _product(shape) // _product(usual.shape)
    what = (
        f"this batch is about {times:,} times as long as one that ran: there the same op made"
        f" {format_shape(usual.shape)}, here {format_shape(shape)}"
    )
    padded = next((line for line in code_lines(case.capture.surroundings) if _PADS.search(line.text)), None)
    pads = f"; `padded_batch` ({padded.place}) pads all samples to the longest" if padded else ""
    of_the_batch = max(all_in_use(moment) - usual.baseline_bytes, 0) + need
    return Finding(
        severity=Severity.CAUSE,
        headline=f"{what}{pads}",
        because=f"{what}{pads}",
        explains=of_the_batch - of_the_batch // times,
        evidence=(
            Evidence("the request", request.failed.line),
            *((Evidence("the batches are padded", padded),) if padded else ()),
        ),
        remedies=(_SHORTER, _LIKE_LENGTHS),
        moment=index,
        rules_out=(*_OF_ANY_BATCH, *(("smaller-batch", "batch-for-the-block") if times >= shape[0] else ())),
    )


def _counts_on(lengths: Sequence[tuple[tuple[int, ...], object]]) -> bool:
    """Whether the figures only go up, as a counter's do."""
    sizes = [math.prod(each) for each, _ in lengths]
    return sizes == sorted(set(sizes))


def _one_differs(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two shapes of batches differ in one size only, and not in the first, the number of samples."""
    differ = [index for index, (mine, yours) in enumerate(zip(one, other, strict=True)) if mine != yours]
    return len(one) >= 2 and len(differ) == 1 and differ != [0]


def _told(sizes: tuple[int, ...]) -> str:
    return str(sizes[0]) if len(sizes) == 1 else f"({', '.join(map(str, sizes))})"
