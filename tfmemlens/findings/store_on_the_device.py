"""A line of the program makes a variable that stores samples: a replay memory, a bank, a cache.

What it means: a store of thousands of samples is made whole, before the first step, and stays. On the device
it takes the place of the training; in NumPy it lies in host RAM, as bytes where the samples are pictures.
When it fires: the user's line makes a variable of zeros, ones or another constant that no optimizer trains,
or that has three sides and more; the first side is at least 256, and the tensor is the request. Or an op
that reads or writes such a variable of the program makes another of its shape.
What to do: keep the store in NumPy, and give the device one batch at a time; fewer samples.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.named_sizes import in_words, named_sizes
from tfmemlens.findings.support.rows import alike, requests, tensor_text
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.model.case import Case, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human

BASIS = Basis.SHAPE
EXPLAINS = "the failing variable, and held ones of the same size"

_MAKES = regex(
    r"\bVariable\(\s*(?:initial_value\s*=\s*)?(?:(?:tf|np|numpy|tensorflow|ops|K)\.)?"
    r"(?:zeros|ones|fill|full|empty|constant|cast)\("
)
_FIXED = regex(r"\btrainable\s*=\s*False\b")
_LEAST_ROWS, _LEAST_BYTES = 256, 16 * MIB
_MOST_CHANNELS = 4
_SIDES_OF_A_PICTURE = (3, 4)


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) != TENSORFLOW:
        return
    for index, moment, request in list(requests(case))[:1]:
        shape, need = request.failed.shape, request.failed.tensor_bytes
        if not need or need < _LEAST_BYTES or not shape or not all(shape):
            continue
        place, code = _line_of(request)
        copied = False
        if not _MAKES.search(code):
            place, code = _stored(case, request)
            copied = True
        if not code or shape[0] is None or shape[0] < _LEAST_ROWS:
            continue
        if len(shape) < _SIDES_OF_A_PICTURE[0] and not _FIXED.search(code):
            continue  # a weight
        rows, sample = shape[0], format_shape(shape[1:])
        held = alike(moment) - need
        sizes = in_words([each for each in named_sizes(shape, case.capture.surroundings) if not each.axis])
        named = f" ({sizes})" if sizes else ""
        what = (
            f"{place} makes a variable of {rows:,} rows{named}, {sample}"
            f" {request.failed.dtype or ''} each, whole and before anything is in it: a store of samples"
            " (replay memory, bank, cache)"
        )
        if copied:
            what += "; the failing line reads or writes it, and makes a copy of it whole"
        if held > 0:
            what += f"; {human(held)} in use are blocks of the same size"
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=alike(moment),
            evidence=(Evidence(f"requested: {tensor_text(moment)}", request.failed.line),),
            remedies=tuple(_remedies(tuple(each or 1 for each in shape), need, request.failed.dtype)),
            moment=index,
            rules_out=("smaller-batch", "smaller-input", "in-pieces", "gradient-accumulation"),
        )


def _stored(case: Case, request: Request) -> tuple[str, str]:
    """The place and code of a store of the program that has the shape of the request, where an op on a
    variable failed.
    """
    failed = request.failed
    program = case.capture.surroundings.program()
    if not program or not _OF_A_VARIABLE.search(f"{failed.op} {failed.node}"):
        return "", ""
    from tfmemlens.knowledge.program_shapes import Role, made_by  # reads trees

    stores = (each for each in made_by(program) if each.role is Role.STORE and each.shape == failed.shape)
    found = next(stores, None)
    return (found.line.place, f"{found.code} trainable=False") if found else ("", "")


_OF_A_VARIABLE = regex(r"ReadVariable|Assign|Scatter|StridedSlice|Gather|Fill|Identity")


def _line_of(request: Request) -> tuple[str, str]:
    """The user's line that made the op, with its place."""
    failed = request.failed
    if failed.source_text:
        return (failed.source or "the line").rpartition("/")[2], failed.source_text
    own = [frame for frame in failed.frames if user_frame(frame.place) and frame.text]
    return (own[-1].place.rpartition("/")[2], own[-1].text) if own else ("", "")


def _remedies(shape: tuple[int, ...], need: int, dtype: str | None) -> Iterator[Remedy]:
    pictures = len(shape) in _SIDES_OF_A_PICTURE and (len(shape) == 3 or shape[-1] <= _MOST_CHANNELS)
    wide = dtype in ("float32", "float", "float64", "double")
    narrow = "uint8" if pictures and wide else None
    bits = f", pictures as {narrow} ({human(need // 4)})" if narrow and dtype in ("float32", "float") else ""
    taken = "tf.cast(store[ix], tf.float32) / 255" if narrow else "tf.constant(store[ix])"
    yield Remedy(
        f"keep the store in NumPy, which is host RAM outside of this pool{bits}, and give the device the rows"
        " of one batch at a time",
        f"store = np.zeros({shape}, np.{narrow or 'float32'})\nrows = {taken}   # ix: the rows of a batch",
        need,
        Certainty.EXACT,
        slug="data-on-the-host",
    )
    some = shape[0] // 10
    yield Remedy(
        f"or store fewer samples: {some:,} instead of {shape[0]:,} take {human(need // shape[0] * some)}",
        saves_bytes=need - need // shape[0] * some,
        certainty=Certainty.EXACT,
        slug="smaller-replay",
    )
