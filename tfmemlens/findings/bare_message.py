"""The message names neither a tensor nor a size: what is here begins or ends within it.

What it means: a post that is cut, or a title alone, says that memory ran out on a device and not for what.
Nobody can tell a cause from that; what helps most programs of this kind is still worth a try.
When it fires: a failure of TensorFlow without shape, size, list, dump or figures; of JAX, where the text
tells what the program does; a dump of TensorFlow's without names, of whose request nothing is known.
What to do: in training a smaller batch, else smaller inputs; and add the rest of the message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfmemlens.findings import failed_in_evaluation, soft_warnings_only
from tfmemlens.findings.support import bare_on_a_tpu, exla
from tfmemlens.findings.support.bare_on_a_tpu import ran_on_a_tpu
from tfmemlens.findings.support.board import board
from tfmemlens.findings.support.cut_bins import of_bins, short_of_it
from tfmemlens.findings.support.other_programs import less_on_the_device
from tfmemlens.findings.support.phase import other_than_training
from tfmemlens.findings.support.prose_advice import ANOTHER_RELEASE, without_a_batch
from tfmemlens.findings.support.prose_of_jax import of_constructs
from tfmemlens.findings.support.remedies import batch_of, working_batch
from tfmemlens.findings.support.rows import attributed, cut_at_its_figure, failures, on_host
from tfmemlens.findings.support.situation import (
    JAX,
    TENSORFLOW,
    framework_of,
    says_it_trains,
    situation,
)
from tfmemlens.findings.support.stated_weights import STATED_MATRIX
from tfmemlens.findings.support.tiny_pools import left_by_others
from tfmemlens.findings.support.told_mechanism import told_mechanism
from tfmemlens.findings.support.tool_settings import in_tiles, of_batch, tool
from tfmemlens.findings.support.traceback_place import of_the_node
from tfmemlens.findings.support.written_files import of_a_file
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import FailedRequest, RequestKind
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import human

BASIS = Basis.NAME
EXPLAINS = "no bytes"
GENERAL = True

_REST = Remedy(
    "add the rest of the message: the line `OOM when allocating tensor with shape[...]` says what was asked"
    " for, the allocator's lines above it what was in use",
    slug="read-the-log",
)
_REST_OF_JAX = Remedy(
    "add the rest of the message: how many bytes were asked for, what they were for, and the traceback",
    slug="read-the-log",
)


def check(case: Case) -> Iterator[Finding]:
    for index, moment in list(failures(case))[:1]:
        request = moment.request
        framework = framework_of(case)
        if request and situation(case, moment).program == exla.ELIXIR and _is_full_dump(moment):
            yield _of_elixir(case, index)
            continue
        if request is None or framework not in (TENSORFLOW, JAX) or on_host(moment) or board(case):
            continue
        of_jax = tuple(of_constructs(case)) if framework == JAX else ()
        if framework == JAX and not of_jax:
            continue
        if case.capture.surroundings.shows("models in a loop"):
            continue  # what earlier models hold says more
        failed, incident = request.failed, moment.incident
        if failed.kind is RequestKind.DUMP and framework == TENSORFLOW:
            yield from _of_a_dump(case, index, moment)
            continue
        if (
            failed.kind is not RequestKind.TENSOR
            or failed.shape is not None
            or failed.size
            or incident is None
        ):
            continue
        if framework == TENSORFLOW and failed.line and (writes := _writes_a_file(case, failed.line)):
            yield of_a_file(failed.line, writes, index)
            continue
        told = incident.state.limit or incident.state.in_use or incident.chunks or incident.size_classes
        if told or len(moment.attribution.table) or (failed.line and "failed to alloc" in failed.line.text):
            continue
        what = "what is here does not say what was asked for"
        likely = None if tool(case) else told_mechanism(case)  # its users set what it does by its settings
        late = case.capture.surroundings.shows("failing late")
        told_release = case.capture.surroundings.shows("another release")
        release = None if case.capture.surroundings.works_in else told_release
        phase = _of_its_phase(case, moment) if framework == TENSORFLOW else None
        what += f"; {phase.because}" if phase and phase.because else ""
        what += f"; it began with another release ({release.place})" if release else ""
        what += f"; most likely it was {likely.what}" if likely else ""
        product = _GRADIENT.search(failed.node or "") if framework == TENSORFLOW else None
        what += f"; {_of_a_product(product)}" if product else ""
        trial = failed.line is not None and _TRIAL.search(failed.line.text) is not None
        what += f"; {_OF_A_TRIAL}" if trial else ""
        what += "" if failed.node or framework == JAX else of_the_node(case.capture.surroundings)
        of_tpu = framework == TENSORFLOW and situation(case, moment).training and ran_on_a_tpu(case, moment)
        what += bare_on_a_tpu.because(case) if of_tpu else ""
        helping: tuple[Remedy, ...] = (
            *of_shuffling(failed),
            *((ANOTHER_RELEASE,) if release else ()),
            *(likely.remedies if likely else ()),
            *((_see_its_width(product["layer"]),) if product else ()),
            *(() if product and product["second"] else _remedies(case, moment)),
            _BELOW_A_TRIAL if trial else _REST,
        )
        if framework == JAX:
            stated = likely and likely.fact == STATED_MATRIX
            helping = (*(likely.remedies if likely and stated else of_jax), _REST_OF_JAX)
        elif of_tpu:
            helping = tuple(bare_on_a_tpu.remedies(case))
        yield Finding(
            severity=Severity.NOTE if late else Severity.FACTOR,
            headline=what,
            because=what,
            evidence=(Evidence("the message", failed.line),),
            remedies=helping,
            moment=index,
        )


def _is_full_dump(moment: Moment) -> bool:
    """Whether a dump says that the device's pool was full, and not what was asked for."""
    failed, limit, used = (
        moment.request.failed if moment.request else None,
        moment.balance.limit,
        moment.balance.in_use,
    )
    if failed is None or failed.kind is not RequestKind.DUMP or failed.size or on_host(moment):
        return False
    return bool(limit and used and used.bytes >= _FULL * limit.bytes)


_FULL = 0.95


def _of_elixir(case: Case, index: int) -> Finding:
    """What helps a program of Elixir's, whose dump names no tensors."""
    what = "the pool was full, the dump names no tensors, and what was asked for is not in this text"
    if late := case.capture.surroundings.shows("failing late"):
        what += f"; it went well before ({late.place}), so it holds more by then, or a little too much"
    return Finding(
        severity=Severity.FACTOR,
        headline=what,
        because=what,
        remedies=tuple(exla.of_a_full_pool(case)),
        moment=index,
        rules_out=("record-a-step",),
    )


_TRIAL = regex(r"(?i)\bprofiling failure on cudnn engine")
_OF_A_TRIAL = (
    "it is a trial of one of cuDNN's algorithms, whose workspace found no room: another may have one, so"
    " the line alone does not say that the run ended"
)
_BELOW_A_TRIAL = Remedy(
    "add what stands below such lines: the last lines say whether the run went on, or with which message it"
    " ended",
    slug="read-the-log",
)
_GRADIENT = regex(
    r"\Agradient_tape/(?!.*(?:Tensordot|lstm|gru|rnn|attention|while|einsum))(?:[\w.]{1,80}/){0,8}?"
    r"(?P<layer>[\w.]{1,80})/MatMul/MatMul(?P<second>_1)?\Z"
)
"""The gradient of a Dense layer's product: the second is that of its kernel, and so is the only one of a
model's first layer.
"""


def _of_a_product(product: re.Match[str]) -> str:
    if product["second"]:
        return "it is the gradient of this layer's kernel, [inputs, units], as large whatever the batch"
    return (
        "it is the gradient of a matrix product: of the kernel, [inputs, units], whatever the batch, where"
        " this is the model's first layer; else of its input, [batch, inputs]"
    )


def _see_its_width(layer: str) -> Remedy:
    return Remedy(
        f"see how many parameters `{layer}` has: 250 million are a kernel of 1 GB, with as much for its"
        " gradient and twice that for Adam's slots. Where they are many, no batch helps: make its"
        " input narrower (pool or embed before it), or take fewer units",
        "model.summary()",
        slug="narrower-layer",
    )


_SAYS_NOTHING = regex(r"(?i)\bresource[ _]?exhausted(?:error)?:?\s*\Z")


def _writes_a_file(case: Case, message: Line) -> Line | None:
    """The frame below a message without words that writes a file."""
    writes = case.capture.surroundings.shows("writing a file")
    if writes is None or not _SAYS_NOTHING.search(message.text):
        return None
    return writes


_NO_BATCH = ("a batch of one", "any batch alike", "a smaller batch in vain")
"""What the text says of its batch, where no shape says more."""
_SHUFFLES = regex(r"(?i)\bshuffl(?:e|ing)\b")
_SMALLER_BUFFER = Remedy(
    "it is told of shuffling, whose buffer keeps as many elements as it is long, in host RAM: shuffle names"
    " of files before they are decoded, or let the buffer hold far fewer elements",
    "files = files.shuffle(len(paths)).map(decode)   # not: map(decode).shuffle(50_000)",
    slug="shuffle-files",
)


def _of_a_dump(case: Case, index: int, moment: Moment) -> Iterator[Finding]:
    """What helps most programs, where nobody can tell who holds the memory."""
    named = any(row.node or row.op for row in moment.attribution.table)
    named = named or bool(moment.request and moment.request.failed.node)
    if named or attributed(moment) or moment.is_counted or "memory-dump" in case.capture.source.formats:
        return  # TensorFlow's own file has all chunks: other rules say what they show
    if left_by_others(moment):
        return  # no smaller batch makes that pool larger
    asked = moment.request and moment.request.failed.size
    what = "the dump names no tensors" + ("" if asked else ", and what was asked for is not in this text")
    what = short_of_it(moment) or what
    what += of_bins(moment)
    what += "" if asked else _no_failures(case)
    left = None if asked else _much_left(moment)
    cut = _is_a_scrap(moment) and cut_at_its_figure(moment)
    trials = case.capture.surroundings.shows("slow trials of XLA") if cut else None
    if cut:
        what = _CUT + (f"; it stands beside trials of algorithms ({trials.place})" if trials else "")
    if left:
        what += (
            f"; {human(left)} of the limit was not in use, so most likely one request was large, or what"
            f" was free"
            " lay in pieces"
        )
    yield Finding(
        severity=Severity.FACTOR,
        headline=what,
        because=what,
        remedies=(_REST_OF_THE_LINE,)
        if trials
        else (*_of_what_is_cut(moment, left), *_remedies(case, moment)),
        moment=index,
        rules_out=("record-a-step",) if _is_a_scrap(moment) else (),
    )


_CUT = (
    "the allocator's line is cut where it says of how much, and whether this is a failure at all: of a trial"
    " that may fail it says that it is none"
)
_REST_OF_THE_LINE = Remedy(
    "read the rest of that line, and what stands below it: where it says `this is not a failure`, or training"
    " goes on, XLA only tried a faster algorithm; what ended the run is another line. Without XLA nothing is"
    " tried so",
    "model.compile(..., jit_compile=False)   # Keras",
    slug="read-the-log",
)


def _no_failures(case: Case) -> str:
    """That the requests which the text does name are warnings alone."""
    soft = soft_warnings_only.warnings_of(case.capture.surroundings)
    if not soft:
        return ""
    return f"; what {soft[0].line.place} could not have is no failure, as it says itself"


def _is_a_scrap(moment: Moment) -> bool:
    """Whether neither what was asked for nor what was in use is in the text."""
    asked = moment.request and moment.request.failed.size
    return not (asked or moment.balance.in_use or moment.balance.limit)


def _of_what_is_cut(moment: Moment, left: int | None) -> tuple[Remedy, ...]:
    """What the rest of the log tells, where that decides."""
    if left:
        return (_THE_REQUEST,)
    blocks = len(moment.attribution.table)  # then another rule says it
    return (_WHOLE,) if _is_a_scrap(moment) and not blocks else ()


_WHOLE = Remedy(
    "explain the whole log: the line above this part names the request and its op, those below it say what"
    " was in use and of which limit",
    "python train.py 2> train.log; tfmemlens explain train.log",
    slug="read-the-log",
)
_MUCH_LEFT = 0.3
_THE_REQUEST = Remedy(
    "find the line of what was asked for, behind the dump or in the exception (`OOM when allocating"
    " tensor with"
    " shape[...]`): with so much left its shape says what to make smaller",
    slug="read-the-log",
)


def _much_left(moment: Moment) -> int | None:
    """How much of the pool was not in use, where that is much of it."""
    limit, used = moment.balance.limit, moment.balance.in_use
    left = limit.bytes - used.bytes if limit and used else 0
    return left if limit and left >= _MUCH_LEFT * limit.bytes else None


def of_shuffling(failed: FailedRequest) -> tuple[Remedy, ...]:
    """What helps where the line of the failure itself speaks of shuffling."""
    return (_SMALLER_BUFFER,) if failed.line and _SHUFFLES.search(failed.line.text) else ()


def _remedies(case: Case, moment: Moment) -> Iterator[Remedy]:
    """What helps most programs that do the same."""
    run = situation(case, moment)
    if run.program:
        yield from less_on_the_device(case, run.program)
        return
    told = case.capture.surroundings
    batch = batch_of(case, moment)
    if any(told.shows(words) for words in _NO_BATCH) and not told.shows("a smaller batch helps"):
        yield from without_a_batch(case)
        return
    trains = run.training or (run.training is None and says_it_trains(case))
    if trains and (working := working_batch(case, moment)):
        yield working
    elif trains and (trained := _trained_for(case, moment)):
        yield trained
    elif trains and batch != 1:
        half = f" ({batch} -> {batch // 2})" if batch else of_batch(case)
        yield Remedy(
            f"train with a smaller batch{half}: that helps most trainings; if it fails at a batch of 1, too,"
            " make the samples or the model smaller",
            slug="smaller-batch",
        )
    elif moment.request and (tiles := in_tiles(case, moment.request)):
        yield Remedy(
            f"predict in tiles, more of them the less it takes: {tiles}", slug="smaller-prediction-batch"
        )
    elif not trains and (phase := _of_its_phase(case, moment)):
        yield from phase.remedies
    elif trains or (moment.request and other_than_training(case, moment.request)):
        yield Remedy("smaller inputs: smaller images, shorter sequences", slug="smaller-input")
    else:
        yield Remedy(
            "if it trains, with a smaller batch; else smaller inputs (images, sequences), fewer at a time",
            slug="smaller-batch",
        )


_TRAINED = 2


def _trained_for(case: Case, moment: Moment) -> Remedy | None:
    """What to look at where whole epochs went well with this batch before it failed."""
    told, failed = case.capture.surroundings, moment.request.failed if moment.request else None
    at = told.progress_before(failed.line) if failed and failed.line else next(reversed(told.progress), None)
    if at is None or (at.epoch or 0) <= _TRAINED or at.epoch == at.step:
        return None
    return Remedy(
        f"it trained to epoch {at.epoch} with this batch ({at.line.place}), so see what ran then: where it"
        " was an evaluation or a prediction of a whole set at once, give it small batches; where it was one"
        " more step, see whether memory rises from epoch to epoch",
        slug="what-runs-then",
    )


def _of_its_phase(case: Case, moment: Moment) -> Finding | None:
    """What is known of an evaluation or a prediction that failed, whose batch is its own."""
    request = moment.request
    if request is None or other_than_training(case, request) is None:
        return None
    return next(failed_in_evaluation.check(case), None)
