"""An XLA request failed: as a rule a compiled program's temporaries, which it needs in one piece.

What it means: XLA packs all temporaries of one executable into one arena and asks for it at once. Where the
message lists the program's parts, its figure is that arena; a message without a list may also be about one
array. Arrays that other code keeps alive come on top of a program.
When it fires: the failure is an XLA or TPU program that does not fit, or an array that XLA could not place.
What to do: make the program smaller: batch, recomputation (`jax.checkpoint`, `tf.recompute_grad`), sharding,
donated buffers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfmemlens.findings.support import (
    code_snippets,
    jax_lines,
    kept,
    program_account,
    remedies,
    weights_on_a_tpu,
)
from tfmemlens.findings.support.growth import steadily
from tfmemlens.findings.support.jax_stack import calls_compiled, calls_program
from tfmemlens.findings.support.main_buffers import Buffers, main_buffers, of_a_whole_graph
from tfmemlens.findings.support.phase import EVALUATION, PREDICTION, other_than_training
from tfmemlens.findings.support.rows import device_limit, is_buffer, of_a_program, quote, requests, rows
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, TORCH_XLA, framework_of, situation
from tfmemlens.findings.support.stated_sizes import Product, as_product
from tfmemlens.findings.support.stated_weights import StatedWeights, stated_weights
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import CompilerMemory, RequestKind
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, Size, human, human_size, parse_size

BASIS = Basis.FIGURES
EXPLAINS = "all that the program or buffer asks for"

_CAPTURED = regex(r"constants were captured during lowering \((?P<size>[\d.]+ ?[KMGT]i?B) total\)")
_MODULE = regex(r"torch[/\\]nn[/\\]modules[/\\]module\.py")
_IN_VAIN = regex(r"not usable: (?:ShapedArray\()?(?P<array>\w+\[[\d,]*\])")
_DONATABLE = Remedy(
    "let the step give back each array with the shape and dtype that it was given: it then takes the old"
    " one's"
    " place",
    "new = jax.tree.map(lambda n, o: n.astype(o.dtype), new, old)   # and donate no batch",
    slug="donatable-results",
)
_OF_SEQUENCES = regex(r"attention|attn|paged|flash", re.IGNORECASE)
_WITHOUT_XLA = Remedy(
    "run this step without XLA: each op then has its own tensors, freed one by one, and the error names"
    " the op",
    "model.compile(..., jit_compile=False)   # @tf.function(jit_compile=False)",
    slug="without-xla",
)
_MARK_STEP = Remedy(
    "end each step: until then its operations join one program with those of the next. Read a loss seldom,"
    " and keep numbers (loss.item())",
    "xm.mark_step()   # after opt.step(); or loader = pl.MpDeviceLoader(loader, device)",
    slug="mark-step",
)
_WHAT_RUNS_THEN = Remedy(
    "it ran well for long: find what runs only then (an evaluation, a report, a checkpoint, a batch of"
    " another shape, which is a program of its own), and make that smaller",
    slug="what-runs-then",
)
_FEWER_ENVIRONMENTS = Remedy(
    "run fewer environments at once, or fewer steps of them between updates: all that they return is held"
    " until the update",
    slug="fewer-environments",
)
_SMALL_BYTES = 256 * MIB
_SMALL_ARRAY = 384 * MIB
"""A twentieth of the smallest GPUs that JAX is used on: a single array below it fails only on a full one."""
_SMALL_SHARE = 0.03
_MUCH = 0.25
_PART = 0.1
_MOST_OF_A_DEVICE = 0.95
_MAX_GAIN = _MOST_OF_A_DEVICE / 0.75
"""What a pool of 95 % of the device holds for one that JAX takes unless told otherwise."""


def check(case: Case) -> Iterator[Finding]:
    yield from _asked_of_tensorflow(case)
    for index, moment, request in requests(case):
        failed = request.failed
        if (failed.allocator or "").startswith("xla_gpu_host"):
            continue  # a pool of host RAM, of which no program's arena is made
        compiler = moment.incident.compiler if moment.incident else None
        if failed.compiled and framework_of(case) == JAX:
            compiler = compiler or CompilerMemory()  # JAX says no more than its allocator's dump
        elif failed.kind not in (RequestKind.XLA, RequestKind.TPU) or compiler is None:
            continue
        buffers = main_buffers(moment, framework_of(case))
        yield Finding(
            severity=Severity.CAUSE,
            headline=_headline(case, moment, compiler),
            because=_because(case, moment, compiler, failed.size)
            + ("" if _ends_no_step(case) or _explains_little(buffers, compiler) else _largest(buffers))
            + program_account.mostly_of_a_layer(moment, compiler)
            + program_account.mostly_made_at(moment, compiler),
            explains=_needed(compiler, failed.size),
            evidence=tuple(_evidence(moment, compiler)),
            detail=_detail(moment, compiler),
            remedies=tuple(_remedies(case, moment, compiler, buffers)),
            moment=index,
        )


def _explains_little(buffers: Buffers | None, compiler: CompilerMemory) -> bool:
    """Whether the largest temporaries are a small part beside what is given back in memory of its own."""
    need = compiler.needed.bytes if compiler.needed else 0
    return buffers is not None and program_account.undonated(compiler) and buffers.bytes < _PART * need


def _asked_of_tensorflow(case: Case) -> Iterator[Finding]:
    """XLA asked TensorFlow's allocator, whose dump tells more than XLA's sentence, but not for what."""
    for index, moment, request in requests(case):
        if not request.failed.compiled or framework_of(case) == JAX:
            continue
        by = " (jit_compile)" if framework_of(case) == TENSORFLOW else ""
        because = (
            f"XLA asked for all temporaries of a compiled function{by} in one block, which names no layer"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=because,
            because=because,
            explains=request.needed_bytes,
            basis=Basis.NAME,
            evidence=(Evidence("the request", request.failed.line),),
            detail="A smaller batch makes the block smaller"
            + ("; without XLA the error names the op." if by else "."),
            remedies=(
                _WITHOUT_XLA,
                *remedies.offered(case, moment, "smaller-batch", "recompute"),
                remedies.name_the_buffers(),
            ),
            moment=index,
        )


def _headline(case: Case, moment: Moment, compiler: CompilerMemory) -> str:
    assert moment.request
    size = moment.request.failed.size
    limit = device_limit(case, moment)
    if compiler.capacity and compiler.needed:
        space = _on_chip(moment)
        where = f" of {space}, memory on the chip," if space else ""
        return (
            f"the compiled program needs {human_size(compiler.needed)}{where} of"
            f" {human_size(compiler.capacity).removeprefix('about ')}: {_over(compiler)} too much"
        )
    if space := _on_chip(moment):
        name = moment.request.failed.executable
        kernel = f"a kernel ({name})" if name else "a kernel"
        return f"{kernel} does not fit {space}, memory on the chip"
    if compiler.free and size:
        what = (
            f"loading {moment.request.failed.executable}" if moment.request.failed.executable else "a buffer"
        )
        return f"{what} asks for {human_size(size)}, and {human_size(compiler.free)} was free"
    of = f" on a device with {human_size(limit)}" if limit else ""
    asked = human_size(size) if size else "an unknown amount"
    who = "one compiled program" if of_a_program(moment) else "XLA"
    return f"{who} asked for {asked} in one piece{of}"


def _detail(moment: Moment, compiler: CompilerMemory) -> str:
    if _on_chip(moment) or not of_a_program(moment) or compiler.free:
        return ""
    return "The figure covers one executable only: arrays that other code keeps alive come on top."


def _needed(compiler: CompilerMemory, size: Size | None) -> int | None:
    """All that the program or buffer needs: it is the whole problem, however little of it does not fit."""
    need = compiler.needed or (compiler.reduced_to if compiler.arguments_and_results else None) or size
    return need.bytes if need else None


def _over(compiler: CompilerMemory) -> str:
    """By how much it does not fit, in the compiler's own figure where it gives one."""
    if compiler.excess:
        return human_size(compiler.excess)
    assert compiler.needed and compiler.capacity
    return f"about {human(max(compiler.needed.bytes - compiler.capacity.bytes, 0))}"


def _ends_no_step(case: Case) -> bool:
    """Whether the code that the text quotes trains with PyTorch/XLA, keeps tensors of its steps, and ends
    none of them.
    """
    told = case.capture.surroundings
    loop = told.shows("stepping") and (told.stores or told.shows("reading seldom"))
    return framework_of(case) == TORCH_XLA and bool(loop) and not told.shows("ending steps")


def _captured(case: Case, compiler: CompilerMemory, size: Size | None) -> str | None:
    """The constants that JAX warned of when it compiled, as printed, where they are half of the request and
    the compiler's account does not say otherwise.
    """
    line = case.capture.surroundings.shows("capturing")
    match = _CAPTURED.search(line.text) if line else None
    if match is None or size is None or compiler.constants is not None:
        return None
    constants = parse_size(match["size"])
    return match["size"] if max(2 * constants.bytes, 2 * _SMALL_BYTES) > size.bytes else None


def _donated_in_vain(case: Case, moment: Moment) -> str | None:
    """The first donated array that JAX could not use, as printed; where the program's buffers are listed,
    they tell more.
    """
    line = case.capture.surroundings.shows("donating in vain")
    match = _IN_VAIN.search(line.text) if line and not len(moment.attribution.table) else None
    return match["array"] if match else None


def _of_a_whole_graph(case: Case, buffers: Buffers | None) -> bool:
    """Whether the text says that a graph network works on its whole graph, and no buffer says otherwise."""
    return buffers is None and bool(case.capture.surroundings.shows("whole graph"))


_TILES = "the tiles that a kernel works on"
_HOLDS = {
    "vmem": _TILES,
    "cmem": _TILES,
    "smem": "scalars: indices and tables of them that a kernel is given",
    "sflag": "the semaphores of kernels and copies",
    "imem": "the program itself",
}
"""What each of a TPU core's small memories is for."""


def _on_chip(moment: Moment) -> str | None:
    """The name of a TPU core's own small memory, where that ran out rather than HBM."""
    space = moment.request.failed.allocator if moment.request else None
    return space if space in _HOLDS else None


def _on_device(case: Case, moment: Moment, compiler: CompilerMemory) -> str:
    """What the device has, and what of the program's need is no temporary, where that is most of it."""
    assert compiler.capacity
    has = f"the device has {human_size(compiler.capacity)}, {_over(compiler)} too little"
    if program_account.undonated(compiler):
        return f"{has}; {program_account.of_undonated(compiler)}"
    if not program_account.mostly_arguments(compiler):
        return has
    return f"{has}; {program_account.of_arguments(case, moment, compiler)}"


def _because(case: Case, moment: Moment, compiler: CompilerMemory, size: Size | None) -> str:
    if compiler.arguments_and_results:
        return program_account.of_what_is_given(compiler)
    if compiler.reduced_to and compiler.goal and compiler.goal.bytes > 0:
        return (
            f"even after rematerialisation it needs {human_size(compiler.reduced_to)}, and"
            f" {human_size(compiler.goal)} was the compiler's goal"
        )
    if program_account.mostly_constants(compiler):
        return program_account.of_constants(compiler)
    if captured := _captured(case, compiler, size):
        return (
            f"JAX warned that {captured} of constants became part of the program: an array that the jitted"
            " function uses without being given it, most likely a data set"
        )
    if array := _donated_in_vain(case, moment):
        return (
            f"JAX warned that donated arrays ({array} and others) were not usable: no result has their"
            f" shape and"
            " dtype, so that the old state and the new one exist side by side"
        )
    if _ends_no_step(case) and compiler.needed:
        return (
            "the quoted loop ends no step (no `mark_step`), so that the program most likely holds several"
            " steps, as many as pass before a value is read"
        )
    if compiler.capacity and compiler.needed:
        if (space := _on_chip(moment)) and _is_scoped(moment):
            return (
                f"the limit of this kernel is {human_size(compiler.capacity)} of {space}, memory on the chip,"
                f" {_over(compiler)} too little; the core may have more"
            )
        if space:
            return (
                f"a TPU core has {human_size(compiler.capacity)} of {space}, which holds {_HOLDS[space]},"
                f" {_over(compiler)} too little"
            )
        heavy = weights_on_a_tpu.too_heavy(case, moment, compiler)
        more = f"; {weights_on_a_tpu.because(heavy, compiler)}" if heavy else ""
        return _on_device(case, moment, compiler) + more
    if space := _on_chip(moment):
        return f"the {space} of a TPU core, which holds {_HOLDS[space]}, is too small for it"
    if _moves_weights(moment):
        weights = stated_weights(case.capture.surroundings)
        many = f" ({weights.text}, {_weighing(case, weights)})" if weights else ""
        free = f": only {human_size(compiler.free)} was left" if compiler.free else ""
        return f"the module's weights are being moved to the device{many}{free}"
    if heavy := weights_on_a_tpu.too_heavy(case, moment, compiler):
        return weights_on_a_tpu.because(heavy, compiler)
    if compiler.free and size and compiler.free.high < _NEXT_TO_NOTHING:
        return (
            f"only {human_size(compiler.free)} of the device was free, in pieces: arrays and programs kept"
            " alive hold the rest"
        )
    if compiler.free and size and compiler.free.bytes >= size.bytes:
        return (
            f"{human_size(compiler.free)} was free on the device, and not where the program needs it: in one"
            " piece, beside what arrays and programs that are kept alive hold"
        )
    if compiler.free:
        return (
            f"only {human_size(compiler.free)} was free on the device: arrays and programs that are kept"
            f" alive hold the rest{program_account.of_living_results(compiler)}"
        )
    if case.capture.surroundings.shows("picking algorithms") and not compiler.sections:
        return (
            "XLA was trying algorithms for a convolution when it compiled the program, and one of them found"
            " no room for its operands and its workspace"
        )
    if _is_full(case, moment, compiler):
        return _full(case, moment)
    if program_account.undonated(compiler):
        return program_account.of_undonated(compiler)
    if compiler.one_operation:
        return program_account.of_one_op(compiler)
    beyond = program_account.against_device(compiler, device_limit(case, moment))
    if program_account.mostly_results(compiler):
        return f"{program_account.of_results(compiler)}{beyond}"
    if _is_part(compiler.results, size) and not _is_arena(compiler, size):
        return f"these are the results of the program, which it makes beside its arguments{beyond}"
    if _is_arena(compiler, size):
        return f"these are the program's temporaries, which XLA allocates as one block{beyond}"
    if compiler.cut and not compiler.needed and not main_buffers(moment, framework_of(case)):
        return (
            "the list of its buffers begins behind the largest, and neither its need nor the device's size is"
            " in the text"
        )
    if program_account.mostly_arguments(compiler):
        return program_account.of_arguments(case, moment, compiler)
    if of_a_program(moment):
        return "XLA allocates all temporaries of a program as one block"
    if states := kept.whole_states(case, moment):
        return (
            f"`{states}` keeps whole states, with all weights, of earlier epochs; the step then finds no room"
        )
    if _waits(moment):
        earlier = next((line for line in case.capture.surroundings.code if calls_program(line.text)), None)
        which = f", most likely the step that {earlier.place} calls" if earlier else ""
        return (
            f"JAX runs ahead of Python, so an earlier call asked for it{which}; the line that failed only"
            " waits for a result"
        )
    if product := _stated(case, moment):
        return f"to the byte it is {product.text}, sizes that the text states: one tensor, no program's arena"
    if _of_an_op(case, moment):
        return (
            "an op of the graph asked for it, for its output or for memory to work with; the message does not"
            " say which"
        )
    if calls_program(moment.request.failed.source_text if moment.request else None):
        return "most likely all temporaries of the compiled step, which XLA allocates as one block"
    failed = moment.request.failed if moment.request else None
    compiled = calls_compiled(failed.source_text, failed.frames) if failed else None
    if compiled and framework_of(case) == JAX and size and size.bytes <= _LARGEST_DEVICE:
        return (
            f"most likely all temporaries of `{compiled}`, which the line calls and XLA compiled to one"
            " program (a function in Python would have a frame of its own)"
        )
    if size and size.bytes > _LARGEST_DEVICE:
        return (
            "no single device has so much, whatever else it holds: a size is a mistake, or the work must be"
            " cut into parts (the message does not say whether it is one array or a program's temporaries)"
        )
    unknown = "one array, or all temporaries of a compiled program (the message does not say which)"
    limit = device_limit(case, moment)
    if size and limit and size.low > limit.high and framework_of(case) != TENSORFLOW:
        return f"more than all of the device ({human_size(limit)}), whatever else it holds: {unknown}"
    return unknown


def _full(case: Case, moment: Moment) -> str:
    """What may fill a device on which so small a request fails. Where the pool itself is full it is this
    process, not another.
    """
    occupied = moment.incident.state.occupied if moment.incident else None
    known = occupied is not None and occupied >= _FULL
    kept = "results kept from earlier steps"
    if case.capture.surroundings.shows("differentiating"):
        kept = "what the gradient keeps until its way back, or results kept from earlier steps"
    fills = f"weights, data, {kept}"
    if known:
        return f"so small a request fails only since the pool was full before it: {fills}"
    return f"so small a request fails only where the device is full already: {fills}, or another process"


_FULL = 0.9
"""Of the pool's map: what is left are pieces."""
_NEXT_TO_NOTHING = 256 * MIB
"""Of a TPU's core, which has 8 GiB and more: with less free it is full, however that lies."""
_WAITS = regex(r"\bblock_until_ready\b|\bdevice_get\(|\.item\(\)|\A\s*(?:\w+\s*=\s*)?(?:print|float|int)\(\w")


def _waits(moment: Moment) -> bool:
    """Whether the user's failing line waits for what was computed before it."""
    failed = moment.request.failed if moment.request else None
    return failed is not None and bool(_WAITS.search(failed.source_text or ""))


_OF_TENSORFLOW = ((4, "float32"), (2, "16 bits"))
_CALLS = regex(r"(?:PartitionedCall|\bcluster_\d|XlaRun|XlaLaunch|_XlaCompile)")


def _of_an_op(case: Case, moment: Moment) -> bool:
    """Whether TensorFlow names a plain op of its graph beside XLA's words, which its allocators use, too."""
    node = moment.request.failed.node if moment.request else None
    compiled = case.capture.surroundings.setting("jit_compile")
    if framework_of(case) != TENSORFLOW or not node or of_a_program(moment):
        return False
    return "/" in node and not _CALLS.search(node) and (compiled is None or compiled[0] != "True")


def _stated(case: Case, moment: Moment) -> Product | None:
    """The sizes of the text whose product the request is, where a plain op of TensorFlow's asked."""
    size = moment.request.failed.size if moment.request else None
    if size is None or not size.exact or not _of_an_op(case, moment):
        return None
    return as_product(size.bytes, case.capture.surroundings.sizes, items=_OF_TENSORFLOW)


def _weighing(case: Case, weights: StatedWeights) -> str:
    """What weights take in the precision that the text says they are loaded in."""
    told = case.capture.surroundings.setting("mixed_precision")
    if told and "float16" in told[0] and "from_pretrained" in told[1].text:
        return f"{human(weights.bytes // 2)} in {told[0]}"
    return f"{human(weights.bytes)} in float32"


def _is_scoped(moment: Moment) -> bool:
    """Whether the kernel met the limit that was set for it, rather than the end of the chip's memory."""
    line = moment.request.failed.line if moment.request else None
    return line is not None and "scoped" in line.text.lower()


def _is_full(case: Case, moment: Moment, compiler: CompilerMemory) -> bool:
    """Whether so small a request failed that the device must have been full before it; of a program all
    that it needs must be small, too.
    """
    size = moment.request.failed.size if moment.request else None
    if size is None or compiler.free or _on_chip(moment) or compiler.reduced_to or compiler.capacity:
        return False
    needed = max(size.bytes, (program_account.whole(compiler) or size).bytes)
    limit = device_limit(case, moment)
    if limit:
        return needed < _SMALL_SHARE * limit.bytes
    return needed < (_SMALL_BYTES if of_a_program(moment) else _SMALL_ARRAY)


def _is_arena(compiler: CompilerMemory, size: Size | None) -> bool:
    """Whether the request is the arena that the compiler's account names, as far as printed figures tell."""
    return _is_part(compiler.temporaries, size)


def _is_part(part: Size | None, size: Size | None) -> bool:
    return bool(part and part.bytes and size and part.may_be(size.bytes))


def _evidence(moment: Moment, compiler: CompilerMemory) -> Iterator[Evidence]:
    assert moment.request
    if moment.request.failed.line:
        yield Evidence("the message", moment.request.failed.line)
    if compiler.arguments_and_results and compiler.reduced_line:
        yield Evidence("what XLA says of its arguments and results", compiler.reduced_line)
    elif compiler.reduced_to and compiler.reduced_line:
        was = f" (from {human_size(compiler.reduced_from)})" if compiler.reduced_from else ""
        yield Evidence(
            f"the compiler already reduced it to {human_size(compiler.reduced_to)}{was}",
            compiler.reduced_line,
        )
    for name, size, line in compiler.sections:
        if name in (
            "TensorCore",
            "SparseCore",
            "preallocated temp",
            "HLO temp",
            "parameter",
            "constant",
            "arguments",
            "output",
            "program",
            "total",
        ):
            yield Evidence(f"{name}: {human_size(size)}", line)
    for row in rows(moment)[:3]:
        yield quote(row)
    for value, held in program_account.made_at(moment, compiler)[:2]:
        file, _, number = (value.place or "").rpartition(":")
        if value.text and number.isdecimal():
            yield Evidence(f"makes {human(held)} of this", Line(int(number), value.text, file))


def _largest(buffers: Buffers | None) -> str:
    """What its largest buffers are, as a clause."""
    return f"; its largest buffers are {buffers.what} ({buffers.listed})" if buffers else ""


def _remedies(
    case: Case, moment: Moment, compiler: CompilerMemory, buffers: Buffers | None
) -> Iterator[Remedy]:
    assert moment.request
    if space := _on_chip(moment):
        name = (moment.request.failed.executable if moment.request else None) or ""
        attention = ", or what it keeps per sequence: shorter sequences, fewer pages"
        if space == "smem":
            yield Remedy(
                "make the tables of indices smaller that the kernel is given (prefetched scalars, page"
                " tables): fewer sequences or pages in one call, or shorter sequences",
                slug="smaller-kernel-blocks",
            )
            return
        smaller = Remedy(
            "make the kernel's blocks smaller (Pallas: block shapes, number of buffers)"
            + (attention if _OF_SEQUENCES.search(name) else ""),
            slug="smaller-kernel-blocks",
        )
        larger = Remedy(
            "give this kernel more of it, if the core has more",
            "pl.pallas_call(..., compiler_params=pltpu.CompilerParams(vmem_limit_bytes=...))",
            slug="larger-vmem",
        )
        if space != "vmem":
            yield smaller
        elif _is_scoped(moment):
            yield from (larger, smaller)  # a limit that was set, not the end of the chip's memory
        else:
            yield from (smaller, larger)
        return
    if weights_on_a_tpu.too_heavy(case, moment, compiler) and not _moves_weights(moment):
        yield from weights_on_a_tpu.remedies(case)
        return
    if compiler.free and framework_of(case) == TENSORFLOW:
        yield from remedies.offered(case, moment, "smaller-batch")
    if compiler.free:
        yield from _let_go(case, moment)
    if _moves_weights(moment):
        return
    if _of_an_op(case, moment):
        yield from remedies.offered(case, moment, "smaller-batch", "mixed-precision")
        return
    if is_buffer(moment):
        yield Remedy(
            "if it holds weights or data: shard it over devices, or keep it in 16 bits",
            slug="shard-arguments",
        )
        return
    if _is_full(case, moment, compiler):
        if stores := case.capture.surroundings.stores:
            yield Remedy(
                f"keep numbers, not arrays, in `{stores[0]}` ({stores[1].place})",
                f"{stores[0]}.append(jax.device_get(result))   # a loss: float(loss)",
                slug="keep-numbers",
            )
        if case.capture.surroundings.shows("differentiating"):
            yield from remedies.offered(case, moment, "recompute", "smaller-batch")
        yield Remedy(
            "find what keeps arrays alive (a list of losses or outputs, old weights, a second model): a"
            " profile names the lines that made them",
            code_snippets.profile_memory(case.api),
            slug="record-a-step",
        )
        occupied = moment.incident.state.occupied if moment.incident else None
        if not case.capture.surroundings.shows("on a TPU") and (occupied is None or occupied < _FULL):
            yield Remedy(
                "see whether another process holds the device", "nvidia-smi", slug="see-device-users"
            )
        return
    if compiler.arguments_and_results:
        yield from program_account.less_given(situation(case, moment).training)
        return
    yield from _more_unified(case, moment)
    if compiler.one_operation:
        yield from program_account.for_one_op(moment)
        return
    if program_account.mostly_constants(compiler) or _captured(case, compiler, moment.request.failed.size):
        yield from program_account.without_constants()
        return
    if states := kept.whole_states(case, moment):
        yield from kept.without_states(states)
        return
    if _of_a_whole_graph(case, buffers):
        yield from of_a_whole_graph(framework_of(case))
        yield from remedies.offered(case, moment, "recompute")
        return
    if steadily(case.capture.surroundings.readings):
        return  # what grows between steps is no program's, and no batch makes it less
    if _ends_no_step(case):
        yield _MARK_STEP
    ran = other_than_training(case, moment.request)
    if ran and ran[0] in (EVALUATION, PREDICTION) and not len(moment.attribution.table):
        return  # the rule of that phase says what helps
    if case.capture.surroundings.shows("picking algorithms") and not compiler.sections:
        yield remedies.DEFAULT_ALGORITHM
    if _donated_in_vain(case, moment):
        yield _DONATABLE
    of_arguments = program_account.mostly_arguments(compiler)
    undonated = program_account.undonated(compiler)
    if undonated and program_account.could_donate(case, moment, compiler):
        yield program_account.donate(case, compiler)
    if program_account.mostly_results(compiler):
        yield program_account.return_less(compiler)
    line = jax_lines.made_at(case, moment)
    undecided = not line and _may_be_what_was_held(case, moment)
    if undecided and _is_modest(case, moment):
        yield remedies.ask_what_is_in_use()
    alone = of_arguments and program_account.arguments_do_not_fit(compiler)
    if alone:
        yield from program_account.smaller_arguments(case, moment, compiler)
    if buffers and (not of_arguments or buffers.again or _are_much(buffers, compiler)):
        yield from buffers.remedies
        if "attention" in buffers.what:
            yield from remedies.offered(case, moment, "mixed-precision")
        if not buffers.batch and buffers.recompute:
            yield from remedies.offered(case, moment, "recompute")
    if undecided and case.capture.surroundings.shows("failing late"):
        yield _WHAT_RUNS_THEN
    if not (of_arguments or line or buffers) and case.capture.surroundings.shows("environments"):
        yield _FEWER_ENVIRONMENTS
    if not of_arguments and (padding := case.capture.surroundings.shows("padding to a length")):
        yield Remedy(
            f"pad less ({padding.place} pads every text to one length): to the longest of each batch,"
            " rounded up to a few lengths, since each new shape is compiled anew",
            "tokenizer(texts, padding='longest', pad_to_multiple_of=128, truncation=True)",
            slug="shorter-sequences",
        )
    if not of_arguments and not line and (buffers is None or buffers.batch):
        again = ("recompute",) if buffers is None or buffers.recompute else ()
        yield from remedies.offered(case, moment, "smaller-batch", *again)
    if not undonated and program_account.could_donate(case, moment, compiler):
        yield program_account.donate(case, compiler)
    if framework_of(case) == TORCH_XLA and program_account.donatable_bytes(compiler):
        yield program_account.alias(compiler)
    if of_arguments and not alone:
        yield from program_account.smaller_arguments(case, moment, compiler)
    if _larger_pool_may_do(case, moment, compiler):
        yield Remedy(
            "JAX takes 75 % of the GPU at start (older versions 90 %): a larger part may be enough, if"
            " nothing else needs the rest",
            "export XLA_PYTHON_CLIENT_MEM_FRACTION=.95",
            slug="larger-pool",
        )
    if undecided and not _is_modest(case, moment):
        yield remedies.ask_what_is_in_use()
    if compiler.cut and not compiler.needed:
        yield Remedy(
            "give `tfmemlens explain` the whole message: the list begins behind its largest buffers, and the"
            " lines above it say how much the program needs and what the device has",
            slug="read-the-log",
        )
    if not len(moment.attribution.table) and not line:
        yield remedies.name_the_buffers()
    yield _WITHOUT_XLA


_LARGE_REQUEST = 4 << 30
_LARGEST_DEVICE = 288 << 30


def _may_be_what_was_held(case: Case, moment: Moment) -> bool:
    """Whether nothing tells what the request is, nor what was held before it."""
    request = moment.request
    if request is None or not request.failed.size or framework_of(case) != JAX or of_a_program(moment):
        return False
    limit = device_limit(case, moment)
    known = moment.balance.in_use or case.capture.surroundings.readings
    most = _MOST_OF_A_DEVICE * limit.bytes if limit else _LARGEST_DEVICE
    alone = request.failed.size.bytes > most
    return not (known or alone or other_than_training(case, request))


def _is_modest(case: Case, moment: Moment) -> bool:
    """Whether the request is no such large part of a device that it must be to blame."""
    size = moment.request.failed.size if moment.request else None
    limit = device_limit(case, moment)
    return size is not None and size.bytes < (_MUCH * limit.bytes if limit else _LARGE_REQUEST)


def _are_much(buffers: Buffers, compiler: CompilerMemory) -> bool:
    """Whether these are worth a change although the arguments are more than half of the program."""
    whole = compiler.section("total") or compiler.needed
    return bool(whole) and buffers.bytes > _MUCH * (whole.bytes if whole else 0)


def _moves_weights(moment: Moment) -> bool:
    """Whether PyTorch was moving a module to the device."""
    failed = moment.request.failed if moment.request else None
    return failed is not None and any(
        _MODULE.search(frame.place) and frame.name in ("convert", "_apply", "to") for frame in failed.frames
    )


def _let_go(case: Case, moment: Moment) -> Iterator[Remedy]:
    """What frees a device that earlier steps filled, for each framework."""
    text = (moment.request.failed.source_text if moment.request else None) or ""
    if _moves_weights(moment):
        yield Remedy(
            "load the weights in bfloat16: half of them",
            "AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16)",
            slug="narrow-weights-of-torch",
        )
        yield Remedy(
            "shard them over the chips before they are moved: each then holds its part",
            "model = SpmdFullyShardedDataParallel(model, mesh=mesh)   #"
            " torch_xla.experimental.spmd_fully_sharded_data_parallel",
            slug="shard-arguments",
        )
        return
    told = case.capture.surroundings
    if "mark_step" in text or "torch_xla.sync" in text or told.shows("ending steps"):
        kept = f" in `{told.stores[0]}` ({told.stores[1].place})" if told.stores else ""
        yield Remedy(
            f"steps are ended already: keep numbers instead of tensors{kept} (loss.item()), and delete"
            " tensors of earlier steps",
            slug="mark-step",
        )
    else:
        yield Remedy(
            "end each step, so that the graph does not grow over several, and keep numbers instead of tensors"
            " (loss.item())",
            "xm.mark_step()   # torch_xla.sync() in newer versions",
            slug="mark-step",
        )
    yield Remedy(
        "let go of arrays and programs of earlier steps: drop references to them, or give buffers back",
        "del x; jax.clear_caches()   # x.delete()",
        slug="drop-references",
    )


def _more_unified(case: Case, moment: Moment) -> Iterator[Remedy]:
    """With unified memory the pool may be larger than the GPU, as many times as a setting says."""
    told, limit = case.capture.surroundings, device_limit(case, moment)
    asked = moment.request.failed.size if moment.request else None
    if told.setting("TF_FORCE_UNIFIED_MEMORY") is None or asked is None:
        return
    part = told.setting("XLA_PYTHON_CLIENT_MEM_FRACTION")
    set_to = f" ({part[1].place}: {part[0]})" if part else ""
    times = max(4, -(-2 * asked.bytes // limit.bytes)) if limit and limit.bytes else 8
    yield Remedy(
        "with unified memory JAX may use host RAM, too, up to XLA_PYTHON_CLIENT_MEM_FRACTION times what the"
        f" GPU has{set_to}: raise it, as far as the host has room for all of it",
        f"export XLA_PYTHON_CLIENT_MEM_FRACTION={times}.0   # with TF_FORCE_UNIFIED_MEMORY=1",
        slug="more-unified-memory",
    )


def _larger_pool_may_do(case: Case, moment: Moment, compiler: CompilerMemory) -> bool:
    """Whether the pool at its largest may hold what is needed, as far as the pool is known."""
    told = case.capture.surroundings
    if told.shows("sharing the device") or told.setting("TF_FORCE_UNIFIED_MEMORY"):
        return False  # a larger part leaves others less
    pool, device = compiler.goal or moment.balance.limit, device_limit(case, moment)
    asked = moment.request.failed.size if moment.request else None
    needed = compiler.reduced_to or program_account.whole(compiler) or asked
    if needed is None or not (pool or device):
        return False
    kept = moment.balance.in_use
    beside = kept.low if kept and compiler.goal is None else 0
    most = _MAX_GAIN * pool.high if pool else _MOST_OF_A_DEVICE * (device.high if device else 0)
    return needed.low + beside <= most
