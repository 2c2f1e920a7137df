"""A whole data set is held as one constant, and fills the memory, or a copy of it failed.

What it means: `tf.constant` and `Dataset.from_tensor_slices` of arrays put the whole data set into the graph
as a constant, and so onto the device where it is used; making the iterator, or handing the constant from one
op to the next, copies it once more. No batch makes it smaller.
When it fires: the op that failed makes an iterator or receives a tensor, and a tensor of just the request's
size is held already, or one chunk that BFC may have given for such a tensor. Or a constant that the program
recorded, or an array that a call took whole by the copy that it counted (`fit`), or else one that a line of
the code gives whole, fits the one block that holds a quarter or more of what is in use. Or a few blocks hold
a thousand pictures and more, each of a size that the text states, to the byte. Or next to nothing
failed while an iterator was made, blocks of a fifth each are most of what is in use, and one line alone gives
a data set whole arrays.
What to do: build the data set on the host, or feed it from a generator or from files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfmemlens.findings.support.given_whole import GivenWhole, held_whole, of_bytes
from tfmemlens.findings.support.many_alike import size_classes
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.remedies import batch_of
from tfmemlens.findings.support.resident_samples import resident_samples
from tfmemlens.findings.support.rows import (
    alike,
    all_in_use,
    attributed,
    on_host,
    place,
    requests,
    tensor_in,
    tensor_text,
)
from tfmemlens.findings.support.situation import situation
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import SizeClass
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import TensorType
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human, percent

BASIS = Basis.MEASURED
EXPLAINS = "the constant's block, or the failing copy and held tensors of the same size"

_COPIES = regex(
    r"(?:\A|/)(?:MakeIterator|OneShotIterator|SameWorkerRecvDone|TensorSliceDataset|TensorDataset)(?:_\d+)?\Z"
)
_REMEDY = Remedy(
    "keep the data on the host: build the data set under the CPU device, or feed from a generator",
    "with tf.device('CPU:0'): dataset = tf.data.Dataset.from_tensor_slices(x)",
    slug="keep-off-the-device",
)
_MUCH_LARGER = 1.5
"""A block with so many times the array's bytes is named beside them."""
_OF_THE_BATCH = ("smaller-batch", "in-pieces", "gradient-accumulation", "in-blocks")
"""What makes no constant smaller."""


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        found = _copied(case, index, moment, request) or _held(case, index, moment, request)
        found = found or _of_pictures(case, index, moment, request)
        found = found or _beside_an_iterator(case, index, moment, request)
        if found:
            yield found


def _copied(case: Case, index: int, moment: Moment, request: Request) -> Finding | None:
    """A copy of it failed."""
    need, op = request.needed_bytes or 0, request.failed.op or request.failed.node or ""
    if need < MIB or not _COPIES.search(op):
        return None
    whole, chunk = alike(moment), _one_chunk_for(moment, need)
    if whole <= need and chunk is None:
        return None
    kept = "a tensor of just this size is held already"
    if whole <= need and chunk:
        kept, whole = f"one block of {human(chunk)} holds a tensor as large already", need + chunk
    given = of_bytes(case, need, need)
    what = f"the array that {given.label} gives whole" if given else "most likely a data set given as arrays"
    return Finding(
        severity=Severity.CAUSE,
        headline=f"{place(moment) or op} copies a tensor of {human(need)} that is held already, {what}",
        because=f"{kept}, {what}, and {op.rpartition('/')[2]} makes one more copy",
        explains=whole,
        evidence=(
            *((Evidence("the line that gives it whole", given.line),) if given else ()),
            Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
        ),
        remedies=(_REMEDY, _in_batches(case, moment)),
        moment=index,
        rules_out=_OF_THE_BATCH,
    )


def _held(case: Case, index: int, moment: Moment, request: Request) -> Finding | None:
    """It fills the memory, and something else failed."""
    given = held_whole(case, moment)
    if given is None:
        return None
    size, share = human(given.block_bytes), percent(given.block_bytes, all_in_use(moment))
    block = f" in a block of {size}" if given.block_bytes >= _MUCH_LARGER * given.bytes else ""
    likely = "" if given.recorded else "most likely "
    held = f"{human(given.bytes)}{block}: {share} of what is in use, whatever the batch"
    what = f"{likely}{given.label} holds a whole array as a constant, {held}"
    if given.call:
        what = f"{given.call} made one tensor of the whole array {given.label} {held}"
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=given.block_bytes,
        basis=Basis.MEASURED if given.recorded else Basis.SHAPE,
        evidence=(
            Evidence("the line that gives it whole", given.line)
            if given.line
            else Evidence(f"the program recorded it: {human(given.bytes)}", request.failed.line),
        ),
        remedies=(_REMEDY, _in_batches(case, moment, given)),
        moment=index,
        rules_out=_OF_THE_BATCH,
    )


def _of_pictures(case: Case, index: int, moment: Moment, request: Request) -> Finding | None:
    """Blocks that hold thousands of pictures of the size that the text states, whatever failed."""
    if attributed(moment) or on_host(moment):
        return None
    found = resident_samples(case.capture.surroundings, moment)
    if not found:
        return None
    held = sum(each.blocks * each.size_bytes for each in found)
    blocks = " and ".join(
        f"{each.blocks} x {human(each.size_bytes)}, just {each.many:,} pictures of"
        f" {' x '.join(map(str, each.shape))} {each.dtype} each"
        for each in found[:2]
    )
    what = (
        f"whole sets of pictures lie on the device: {blocks} ({percent(held, all_in_use(moment))} of what is"
        " in use), whatever the batch"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=held,
        basis=Basis.MEASURED,
        evidence=(
            Evidence("the size of a picture", found[0].line),
            Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
        ),
        remedies=(_REMEDY, _in_batches(case, moment)),
        moment=index,
        rules_out=(*_OF_THE_BATCH, "smaller-input", "lower-constant"),
    )


def slices_beside_an_iterator(
    case: Case, moment: Moment, request: Request
) -> tuple[Line, Sequence[SizeClass]] | None:
    """The one line that gives a data set whole arrays, and the blocks that are most of what is in use, where
    next to nothing failed while an iterator was made.
    """
    need, op = request.needed_bytes or 0, request.failed.op or request.failed.node or ""
    if need >= MIB or not _COPIES.search(op) or attributed(moment):
        return None
    lines = {
        line.text.strip(): line for line in code_lines(case.capture.surroundings) if _SLICES.search(line.text)
    }
    if len(lines) != 1:
        return None
    blocks = [row for row in size_classes(moment) if row.size_bytes >= _A_BLOCK * all_in_use(moment)]
    held = sum(row.total_bytes for row in blocks)
    return (next(iter(lines.values())), blocks) if held >= _MOST * all_in_use(moment) else None


def _beside_an_iterator(case: Case, index: int, moment: Moment, request: Request) -> Finding | None:
    """That line and these blocks."""
    found = slices_beside_an_iterator(case, moment, request)
    if found is None:
        return None
    line, blocks = found
    held = sum(row.total_bytes for row in blocks)
    what = (
        f"most likely `{line.text.strip()}` ({line.place}) holds whole arrays as constants: while their"
        f" iterator was made, {human(held)}, {percent(held, all_in_use(moment))} of what is in use, lay in"
        f" {'one block' if len(blocks) == 1 else 'a few blocks'}, whatever the batch"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=held,
        basis=Basis.NAME,
        evidence=(
            Evidence("the line that gives whole arrays", line),
            Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
        ),
        remedies=(_in_batches(case, moment),) if on_host(moment) else (_REMEDY, _in_batches(case, moment)),
        moment=index,
        rules_out=_OF_THE_BATCH,
    )


_SLICES = regex(r"\bfrom_tensor(?:_slice)?s\((?!\s*(?:file|path|image_path|url|glob|sorted))")
_A_BLOCK, _MOST = 0.2, 0.5


def _in_batches(case: Case, moment: Moment, given: GivenWhole | None = None) -> Remedy:
    """A data set that gives one batch at a time, in the version's own words; of arrays that the program
    recorded by their names.
    """
    run = situation(case, moment)
    if given and given.together and not run.session and run.newest >= _SIGNATURES:
        return _by_name(given, batch_of(case, moment) or 64)
    spec = "tf.float32, x.shape[1:]" if run.session or run.newest < _SIGNATURES else "output_signature=spec"
    return Remedy(
        "give the data set in batches, not as whole arrays: a generator, or a placeholder that is fed one"
        " batch at a time"
        if run.session
        else "give the data set in batches, not as whole arrays: a generator, or files",
        f"ds = tf.data.Dataset.from_generator(lambda: iter(x), {spec}).batch(64)",
        slug="in-batches",
    )


def _by_name(given: GivenWhole, batch: int) -> Remedy:
    """The same of the arrays of one call; NumPy keeps them in the host's memory as before."""
    names = ", ".join(name for name, _ in given.together)
    specs = ", ".join(f"tf.TensorSpec({_sample(tensor)}, tf.{tensor.dtype})" for _, tensor in given.together)
    several = len(given.together) > 1
    rows, spec = (f"zip({names})", f"({specs})") if several else (f"iter({names})", specs)
    return Remedy(
        f"make batches of `{names.replace(', ', '`, `')}` in a generator, or read them from files, and give"
        f" nothing whole to {given.call}",
        f"ds = tf.data.Dataset.from_generator(lambda: {rows},\n    output_signature={spec}).batch({batch})",
        saves_bytes=given.block_bytes,
        certainty=Certainty.BOUND,
        slug="in-batches",
    )


def _sample(tensor: TensorType) -> str:
    sizes = [str(size) for size in (tensor.shape or ())[1:]]
    return f"[{', '.join(sizes)}]"


_SIGNATURES = (2, 4)
"""The first TensorFlow whose `from_generator` takes `output_signature`."""


def _one_chunk_for(moment: Moment, need: int) -> int | None:
    """The size of the one large chunk whose tensor may be as large as the request."""
    if attributed(moment) or not len(moment.attribution.table):
        return None
    largest = max(moment.attribution.table, key=lambda row: row.size_bytes)
    low, high = tensor_in(largest, moment)
    return largest.size_bytes if largest.count == 1 and low <= need <= high else None
