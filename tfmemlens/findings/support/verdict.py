"""The whole answer in one sentence: what failed, and the finding that explains it best."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.findings.support.accounts import what_is_asked
from tfmemlens.findings.support.board import RASPBERRY_PI, board
from tfmemlens.findings.support.contrasted import stated_cause, without
from tfmemlens.findings.support.host_ram.gone import lost_device
from tfmemlens.findings.support.host_ram.large_requests import without_sense
from tfmemlens.findings.support.host_ram.no_lack import no_lack, refused_a_server
from tfmemlens.findings.support.kills import (
    driver_at_fault,
    surely_for_memory,
    told_for_memory,
    used_all,
    was_killed,
)
from tfmemlens.findings.support.largest_layer import (
    of_a_step_in_ram,
    of_the_counted_owner,
    of_the_largest_layer,
)
from tfmemlens.findings.support.libraries import library_of
from tfmemlens.findings.support.program_lines import line_of_layer
from tfmemlens.findings.support.rows import (
    OF_SLOTS,
    OF_UPDATE,
    all_in_use,
    cut_at_its_figure,
    is_buffer,
    is_warning_alone,
    of_a_program,
    on_host,
    place,
    tensor_text,
    waits_for_another,
    words_of_a_client,
)
from tfmemlens.findings.support.situation import JAX, TORCH_XLA, framework_of
from tfmemlens.findings.support.traceback_place import in_short, of_a_cut_traceback
from tfmemlens.findings.support.tried import told_tried
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.capture import Holds
from tfmemlens.model.case import Case, Fits, Moment
from tfmemlens.model.finding import Basis, Finding, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.layout import LayoutStudy
from tfmemlens.model.timeline import CurveSource, Timeline
from tfmemlens.patterns import regex
from tfmemlens.units import human, human_size, percent

OF_A_FILE = "a resource error without a word of what ran out, in a traceback that writes a file"
"""How a finding begins of a failure that is a disk's more likely than a memory's."""
_HALF, _LONGEST_ERROR = 0.5, 120
_IN_PIECES, _TOO_LARGE = "fragmented-free-memory", "request-larger-than-device"
_OF_FIGURES = (
    "memory-shortage",
    _IN_PIECES,
    "im2col-buffer",
    "loop-state",
    "outputs-by-size",
    "longest-batch",
)
"""Rules that tell how much was free or asked for, or which sample makes it so much, and not whose it is."""
_OF_THE_REQUEST = ("request-alone", "one-tensor-dominates")
"""These tell what failed, and not who held the rest."""
_OF_THE_HOST = "host-memory"
_BY_SHAPE = ("sizes-of-the-text", "attention-scores")
"""These tell what the dimensions of the request count."""


def state(case: Case, findings: tuple[Finding, ...]) -> str:
    """One sentence that stands alone; of a failure with what the text says was tried."""
    said = _of_findings(case, findings)
    failed = case.moments or any(each.severity is not Severity.NOTE for each in findings)
    tried = told_tried(case) if failed else ""
    return f"{said.removesuffix('.')}{tried}." if tried else said


def _of_findings(case: Case, findings: tuple[Finding, ...]) -> str:
    if not case.moments and case.layout:
        return _sentence(_layout(case.layout))
    if not case.moments:
        soft = next((finding for finding in findings if finding.severity is not Severity.NOTE), None)
        return _sentence((soft or findings[0]).headline if findings else _nothing(case))
    moment = case.moments[0]
    ours = [finding for finding in findings if finding.moment == 0]
    best = _best(ours)
    if best is None:
        largest = (
            moment.attribution.by("kind")[0]
            if moment.request is None and len(moment.attribution.table)
            else None
        )
        mostly = (
            f", {percent(largest.total_bytes, moment.attribution.table.total_bytes)} of it {largest.name}"
            if largest
            else ""
        )
        return _sentence(f"{_what(case, moment)}{mostly}")
    if best.headline.startswith(OF_A_FILE):
        return _sentence(best.headline)
    if moment.request is None:
        return _sentence(f"{_what(case, moment)}: {best.because or _lower(best.headline)}")
    asked = what_is_asked(best, ours) if best.account else None
    deeper = asked or _deeper(moment, best, ours) or _free_in_pieces(moment, best, ours)
    clauses = [best.because or _lower(best.headline), *([deeper.because] if deeper else [])]
    if best.rule == _IN_PIECES:
        clauses.reverse()  # what is too large for a piece says more than the pieces
    why = f" ({clauses[1]})" if deeper else ""
    what = _with_its_line(case, moment, _what(case, moment), clauses)
    said = _holder_first(moment, best, what, f"{clauses[0]}{why}") or f"{what}: {clauses[0]}{why}"
    more = of_the_largest_layer(case, moment, said) if best.rule in _OF_FIGURES else ""
    more = of_the_counted_owner(case, moment, said) if best.rule in _OF_THE_REQUEST else more
    more = of_a_step_in_ram(case, moment, said) if best.rule == _OF_THE_HOST else more
    more = more or _of_its_shape(best, ours)
    return _sentence(f"{said}{more}{_in_its_words(case, moment)}")


def _holder_first(moment: Moment, best: Finding, what: str, why: str) -> str:
    """The sentence with who holds the memory in front, where that is most of it and what failed merely came
    last and is small; empty elsewhere.
    """
    asked, whole = _ASKED.match(what), all_in_use(moment)
    need = moment.request.needed_bytes if moment.request else None
    held_by = best.rule in _OF_A_HOLDER or _ELEMENTS in why
    if asked is None or not held_by or need is None or need > _SMALL * whole:
        return ""
    if (best.explains or 0) < _MOSTLY * whole:
        return ""
    where = f", in {asked['where']}" if asked["where"] else ""
    return f"{asked['what']}: {why}; what failed is small: {asked['tensor']}{where}"


_ASKED = regex(
    r"\A(?P<what>Out of (?:memory|host RAM \(not GPU memory\)))(?: in (?P<where>.{1,200}?))?"
    r" while allocating (?P<tensor>.{1,200})\Z"
)
_OF_A_HOLDER = ("held-by-python", "samples-in-a-queue")
_ELEMENTS = "elements that the input pipeline keeps"
_MOSTLY, _SMALL = 0.6, 0.1
"""Of what is in use: what one holder has, and what came last."""


def _of_its_shape(best: Finding, ours: Sequence[Finding]) -> str:
    """What the request is by its shape, where the best finding tells only how much was free."""
    if best.rule not in _OF_FIGURES:
        return ""
    told = next((each for each in ours if each.rule in _BY_SHAPE and each.because), None)
    return f"; {told.because}" if told else ""


def _in_its_words(case: Case, moment: Moment) -> str:
    """The cause that a sentence below the message names."""
    failed, cause = moment.request.failed.line if moment.request else None, stated_cause(case)
    if cause is None and framework_of(case) in (JAX, TORCH_XLA) and (aside := without(case)):
        return f"; {aside[1].place} says that it is fine without `{aside[0]}`"
    if cause is None or failed is None or cause[1].number < failed.number:
        return ""
    return f'; {cause[1].place} names the cause: "{cause[0]}"'


def _with_its_line(case: Case, moment: Moment, what: str, clauses: Sequence[str]) -> str:
    """The sentence with the program's line that names the layer, unless it is said anyway."""
    layer = moment.request.owner.layer if moment.request else None
    line = line_of_layer(case.capture.surroundings, layer)
    if line is None or any(line.place in clause for clause in clauses):
        return what
    return what.replace(f"in `{layer}`", f"in `{layer}` ({line.place})", 1)


def _nothing(case: Case) -> str:
    """What is said where no finding speaks: of a log also its last error."""
    if case.capture.source.holds >= Holds.GRAPH:
        return "no memory figures are in this trace"
    nothing, raised = "no out-of-memory message was found", case.capture.surroundings.raised
    if raised is None:
        return f"{nothing}{of_a_cut_traceback(case.capture.surroundings)}"
    return f"{nothing}; the last error that is named is `{in_short(raised, _LONGEST_ERROR)}` ({raised.place})"


def what_it_is(case: Case, ranked: Sequence[Finding]) -> Finding | None:
    """The finding that says what a request is, where the first one says only that no device holds it."""
    ours = [finding for finding in ranked if finding.moment == 0]
    best = _best(ours) if case.moments and case.moments[0].request else None
    return _deeper(case.moments[0], best, ours) if best and best.rule == _TOO_LARGE else None


def _best(ranked: list[Finding]) -> Finding | None:
    """The first finding that explains something; of its severity the first that has a clause for it."""
    explaining = [finding for finding in ranked if finding.severity is not Severity.NOTE]
    worded = (
        finding for finding in explaining if finding.because and finding.severity is explaining[0].severity
    )
    return next(worded, explaining[0] if explaining else None)


def _deeper(moment: Moment, best: Finding, ranked: list[Finding]) -> Finding | None:
    """Why the request is as large as it is, where the best finding only says that it cannot fit, or finds no
    piece that is large enough.
    """
    need = moment.request.needed_bytes if moment.request else None
    if best.rule == _IN_PIECES:
        of_request = (each for each in ranked if each.explains == need and each.because)
        others = (each for each in ranked if each.rule == "outputs-of-the-program")
        return next((each for each in (*of_request, *others) if each is not best), None)
    if best.basis is not Basis.MEASURED or best.explains != need or best.share < 1:
        return None
    if best.rules_out:
        return None  # it knows what the request is
    return next(
        (finding for finding in ranked if finding is not best and finding.share >= _HALF and finding.because),
        None,
    )


def _free_in_pieces(moment: Moment, best: Finding, ranked: list[Finding]) -> Finding | None:
    """How much was free where that is more than was asked for, beside what the request is or what is held."""
    told = " free" in (best.because or "")
    if told or moment.request is None or moment.request.needed_bytes is None:
        return None
    causes = (each for each in ranked if each.severity is Severity.CAUSE)
    return next((each for each in causes if each.rule == _IN_PIECES and each is not best), None)


def _layout(study: LayoutStudy) -> str:
    """What the layout pass did to a graph that stands alone."""
    if not study.copies:
        return "the layout pass makes no copy of a tensor in this graph"
    size = f" with {human(study.bytes)}" if study.bytes else ""
    main = study.causes[0]
    whole = len(study.copies) == len(main.copies)
    many = "1 copy of a tensor" if len(study.copies) == 1 else f"{len(study.copies)} copies of tensors"
    count = f"the layout pass put {many}{size} into this graph"
    part = "," if whole else f": {len(main.copies)} of them"
    return f"{count}{part} because {main.because}"


def _forecast(moment: Moment) -> str:
    limit, bar, ends = moment.balance.limit, moment.error_bar, moment.limit_range
    is_range = moment.is_range and bar is not None
    need = human(moment.attribution.table.total_bytes)
    if is_range and bar is not None:
        need = f"{human(bar[0])} to {human(bar[1])}"
    text = f"A step{' on a GPU' if is_range else ''} is predicted to need {need}"
    if limit is None or moment.fits is None:
        return text
    whole = human(limit.bytes)
    if moment.fits is Fits.UNDECIDED:
        needs = (
            f"needs {human(ends[0])} to {human(ends[1])} of {whole}" if ends else f"error unknown, of {whole}"
        )
        return f"{text}, undecided: {needs}"
    if moment.fits is Fits.NO:
        return f"{text}, which does not fit {whole}"
    enough = f"; a limit of {human(ends[1])} is enough" if ends and not is_range else ""
    return f"{text} of {whole}{enough}"


def _what(case: Case, moment: Moment) -> str:
    request = moment.request
    if request is None and moment.predicted:
        return _forecast(moment)
    if request is None:
        timeline = moment.timeline
        bound = (
            {"lower bound": "at least ", "estimate": "about "}.get(timeline.precision, "")
            if timeline and not timeline.predicted
            else ""
        )
        if timeline and moment.below_peak and moment.peak_micros is not None:
            since = moment.peak_micros - timeline.events[0][0]
            when = f"line {moment.peak_micros:,.0f}" if timeline.ordinal else f"{since / 1000:,.1f} ms"
            held = human(moment.attribution.table.total_bytes)
            return (
                f"At {when} this {_recorded(timeline)} holds {held} on {timeline.allocator}, below its peak"
                f" of {human(timeline.peak_bytes)}"
            )
        return (
            f"This {_recorded(timeline)}'s peak is {bound}{human(moment.attribution.table.total_bytes)} on"
            f" {moment.timeline.allocator if moment.timeline else 'its device'}"
        )
    failed = request.failed
    at = _at(moment)
    if failed.kind is RequestKind.XLA:
        who = "A compiled program" if of_a_program(moment) else "XLA"
        compiler = moment.incident.compiler if moment.incident else None
        if compiler and compiler.arguments_and_results and compiler.needed == failed.size:
            return f"{who} needs {tensor_text(moment)}"
        if is_warning_alone(moment):
            return "The text quotes XLA's warning that a compiled program is large, and not the error itself"
        if failed.size is None and who != "XLA":
            return f"{who} did not fit"
        return f"{who} could not allocate {tensor_text(moment)}"
    if failed.kind is RequestKind.PROFILE and not len(moment.attribution.table):
        return _device(moment)
    if failed.kind is RequestKind.PROFILE:
        total_bytes, largest = moment.attribution.table.total_bytes, moment.attribution.by("layer")[0]
        share = percent(largest.total_bytes, total_bytes)
        return f"Arrays on {failed.device} hold {human(total_bytes)}, {share} of it made in {largest.name}"
    if failed.kind is RequestKind.PROGRAM:
        name = f" {failed.executable}" if failed.executable else ""
        return f"The compiled program{name} needs {tensor_text(moment)}"
    if failed.kind is RequestKind.TPU:
        compiler = moment.incident.compiler if moment.incident else None
        if compiler and compiler.free and not failed.executable:
            what = "a buffer of " if is_buffer(moment) else ""
            return f"Out of memory on the TPU while allocating {what}{tensor_text(moment)}"
        name = f" {failed.executable}" if failed.executable else ""
        return (
            f"The TPU program{name} needs {tensor_text(moment)}"
            if failed.size
            else f"The TPU program{name} does not fit"
        )
    if failed.kind is RequestKind.HOST:
        if used_all(moment):
            return "A call of a cloud function used all of the memory that it may use"
        if was_killed(moment) and not (surely_for_memory(moment) or told_for_memory(case)):
            built = case.capture.surroundings.shows("building an image")
            who = "A command of the image's build" if built else "The process"
            return f"{who} was killed from outside, and no message says why"
        if words_of_a_client(case, moment):
            return f"Out of memory{at} while allocating {tensor_text(moment)}"
        if other := no_lack(case, moment):
            return other.verdict
        if lost_device(case, moment):
            return f"The GPU's driver refused {tensor_text(moment)} of pinned host RAM{at}"
        on_board = board(case)
        if on_board and on_board[0] != RASPBERRY_PI:
            return f"The RAM that CPU and GPU of this board share ran out{at}"
        if driver_at_fault(moment):
            return f"The GPU's driver refused {tensor_text(moment)} of pinned host RAM{at}"
        if without_sense(case, moment):
            return f"Not a lack of memory, most likely{at}"
        if refused_a_server(case, moment):
            return f"The server got no host RAM{at} (std::bad_alloc)"
        return f"Host RAM (not GPU memory) ran out{at}"
    if failed.kind is RequestKind.COPY:
        return f"Out of memory{at} while copying to the device"
    if failed.kind is RequestKind.WORKSPACE:
        return f"A call of {library_of(moment) or 'cuDNN or cuBLAS'} failed{at}"
    if failed.kind is RequestKind.DRIVER:
        return f"The GPU driver could not allocate memory{at}"
    if failed.shape is None and failed.size is None:
        books = moment.balance
        used = (
            f", with {human_size(books.in_use)} of {human_size(books.limit)} in use"
            if books.in_use and books.limit and books.limit.bytes
            else ""
        )
        if not used and cut_at_its_figure(moment):
            return f"An allocator found no room{at}"
        backward = " (backward pass)" if at and request.owner.phase is Phase.GRADIENT else ""
        return f"Out of memory{at}{backward}{used}"
    if request.needed_bytes == 0:
        return f"An error of memory{at} where 0 bytes were asked for"
    of_host = failed.allocator in _OF_HOST_RAM or (failed.allocator is None and on_host(moment))
    what = "host RAM (not GPU memory)" if of_host else "memory"
    limit = moment.balance.limit
    if failed.allocator in _POOLS_OF_THE_HOST and limit and limit.bytes:
        what = f"pinned host RAM (no GPU's: TensorFlow's pool of it, whose own limit is {human_size(limit)})"
    return f"Out of {what}{at}{_gradient_of(case, moment)} while allocating {tensor_text(moment)}"


def _gradient_of(case: Case, moment: Moment) -> str:
    """Whose output it is the gradient of, where the program's model has one layer that makes this shape: the
    layer that reads it is the one whose op failed.
    """
    request, model = moment.request, case.capture.live_model
    if (
        request is None
        or model is None
        or not _OF_INPUT.search(request.failed.node or request.failed.op or "")
    ):
        return ""
    shape = request.failed.shape
    makers = model.makers_of(shape) if shape else ()
    if len(makers) != 1 or makers[0] == request.owner.layer:
        return ""
    return f" (the gradient of what `{makers[0]}` makes)"


_OF_INPUT = regex(r"BackpropInput(?:V2)?(?:_\d{1,4})?\Z")
"""Ops that make the gradient of what a layer read, and nothing else."""


_OF_HOST_RAM = ("cpu", "mklcpu")
_POOLS_OF_THE_HOST = ("gpu_host_bfc", "cuda_host_bfc")
"""Allocators of a device CPU:0 that has no pool of a limit."""


def _device(moment: Moment) -> str:
    """What a device's own statistics say."""
    books = moment.balance
    held = human_size(books.in_use) if books.in_use else "an unknown amount"
    of = f" of {human_size(books.limit)}" if books.limit else ""
    peak = f", {human_size(books.peak)} at its peak" if books.peak else ""
    return f"The device has {held}{of} in use{peak}"


def _recorded(timeline: Timeline | None) -> str:
    """What the peak is the peak of: events and lines of an allocator may span any number of steps."""
    if timeline is None or timeline.predicted:
        return "step"
    return {CurveSource.EVENTS: "trace", CurveSource.LOG: "log"}.get(timeline.curve_source, "step")


def _at(moment: Moment) -> str:
    """Where the request failed, a name as code; nothing where it is unknown."""
    where, request = place(moment), moment.request
    if where.startswith((OF_UPDATE, OF_SLOTS)):
        return f" in {where}"
    if request and request.failed.updating and request.owner.layer:
        making = request.owner.kind is Kind.OPTIMIZER_SLOT
        return f" in {OF_SLOTS if making else OF_UPDATE} of `{where}`"
    function = _called_in(moment)
    of = f" of `{function}()`" if function else ""
    return f" in `{where}`{of}" if where else ""


def _called_in(moment: Moment) -> str:
    """The function of the user's whose line ran an op that no layer has; empty where there is none, or where
    that line only waited for it.
    """
    request = moment.request
    if (
        request is None
        or waits_for_another(moment)
        or request.owner.layer
        or not request.failed.op
        or not request.failed.source
    ):
        return ""
    failed = request.failed
    names = [frame.name for frame in failed.frames if frame.place == failed.source]
    return names[-1] if names and names[-1].isidentifier() else ""


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _lower(text: str) -> str:
    first = text.split(" ")[0]
    return (
        text if first.isupper() or any(letter.isdigit() for letter in first) else text[:1].lower() + text[1:]
    )
