"""A few blocks, each much larger than what failed, are whole data sets by their sizes.

What it means: a dump has no names, but a block of which the size is a whole number of samples, to the last
byte, holds most likely that many samples: arrays that were handed over whole, or tensors that a program made
of them, stay on the device beside every step. No batch makes them smaller.
When it fires: no report names owners; what failed is a batch of maps with two equal sides (16 and more); one
to eight blocks, each a twentieth of what is in use and larger than twice the request, hold three tenths of
what is in use, and each is exactly a whole number of float32 pictures of these sides with one or three
channels, at least ten batches of them, and one is no whole number of maps of the batch, as what a layer makes
would be. Where a line of the code or a record names the array,
`data-set-as-constant` says it.
What to do: keep the data on the host, and hand over one batch at a time.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.given_whole import held_whole
from tfmemlens.findings.support.remedies import batch_of
from tfmemlens.findings.support.rows import (
    all_in_use,
    attributed,
    chunk_evidence,
    enumerated,
    of_blocks,
    requests,
    tensor_text,
)
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.units import human, percent

BASIS = Basis.SHAPE
EXPLAINS = "the blocks of these sizes"
HEDGED = (Severity.CAUSE,)

_LEAST_SIDE, _CHANNELS, _FLOAT32, _ROUNDING = 16, (3, 1), 4, 256
_LEAST_OF_ALL, _LEAST_SHARE, _MOST_BLOCKS, _LEAST_BATCHES = 0.05, 0.3, 8, 10


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        if attributed(moment) or held_whole(case, moment):
            continue
        blocks = _large(moment, request)
        sample = _sample_of(request, batch_of(case, moment), blocks)
        total = sum(block.total_bytes for block in blocks)
        if sample is None or total < _LEAST_SHARE * all_in_use(moment):
            continue
        side, channels, counts = sample
        share = percent(total, all_in_use(moment))
        pictures = f"{enumerated([f'{count:,}' for count in counts])} pictures"
        blocks_of = of_blocks(sum(block.count for block in blocks))
        what = (
            f"{human(total)}, {share} of what is in use, is in {blocks_of} most likely of whole data sets, by"
            f" size: {pictures} of {side} x {side} x {channels} in float32"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=total,
            evidence=(
                *chunk_evidence(blocks),
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
            ),
            detail="A dump has no names: sizes that are whole numbers of samples make it likely, no more.",
            remedies=(_ON_THE_HOST,),
            moment=index,
        )


_ON_THE_HOST = Remedy(
    "keep the data on the host, and hand over one batch at a time: a generator, files, or a data set built"
    " under the CPU device; arrays that an earlier run left (in a notebook: restart it) count, too",
    "with tf.device('CPU:0'): dataset = tf.data.Dataset.from_tensor_slices(x).batch(32)",
    certainty=Certainty.ESTIMATE,
    slug="keep-off-the-device",
)


def _large(moment: Moment, request: Request) -> list[Allocation]:
    """The few blocks that are much larger than what failed, none where there are many."""
    need, in_use = request.needed_bytes or 0, all_in_use(moment)
    large = [
        block
        for block in moment.attribution.table
        if block.size_bytes > 2 * need and block.size_bytes >= _LEAST_OF_ALL * in_use
    ]
    few = need and sum(block.count for block in large) <= _MOST_BLOCKS
    return sorted(large, key=lambda block: -block.size_bytes) if few else []


def _sample_of(
    request: Request, batch: int | None, blocks: list[Allocation]
) -> tuple[int, int, list[int]] | None:
    """Side and channels of a picture of which every block is a whole number, and these numbers; none where a
    layer may make all of them of a batch.
    """
    side = _side(request)
    if not blocks or batch is None or side is None:
        return None
    for channels in _CHANNELS:
        sample = side * side * channels * _FLOAT32
        counts = [block.size_bytes // sample for block in blocks]
        left = [block.size_bytes - count * sample for block, count in zip(blocks, counts, strict=True)]
        whole = max(left) < _ROUNDING and min(counts) >= _LEAST_BATCHES * batch
        if whole and any(count * channels % batch for count in counts):
            return side, channels, counts
    return None


def _side(request: Request) -> int | None:
    """The one side of the square maps that failed, channels last or first."""
    shape = request.failed.shape or ()
    if len(shape) != 4:
        return None
    pairs = (shape[1:3], shape[2:4])
    sides = [pair[0] for pair in pairs if pair[0] and pair[0] == pair[1] and pair[0] >= _LEAST_SIDE]
    return sides[0] if len(sides) == 1 else None
