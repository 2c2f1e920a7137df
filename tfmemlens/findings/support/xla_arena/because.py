"""What a request of XLA's most likely is, as one clause: the first answer that the text gives."""

from __future__ import annotations

from collections.abc import Callable

from tfmemlens.findings.support import (
    given_and_returned,
    kept,
    program_account,
    steps_of_torch_xla,
    weights_on_a_tpu,
)
from tfmemlens.findings.support.alike import alive_alike, of_the_living
from tfmemlens.findings.support.compiling import compiles_then
from tfmemlens.findings.support.far_too_much import BEYOND_ANY_DEVICE, NO_PROGRAM
from tfmemlens.findings.support.filled_by_weights import filled_by_weights
from tfmemlens.findings.support.jax_stack import calls_compiled, calls_program
from tfmemlens.findings.support.main_buffers import main_buffers
from tfmemlens.findings.support.new_shapes import new_shapes
from tfmemlens.findings.support.phase import evaluating_program
from tfmemlens.findings.support.rows import device_limit, moves_an_array, of_a_program, op_alone, rows, total
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, framework_of, situation
from tfmemlens.findings.support.stated_weights import StatedWeights, stated_weights
from tfmemlens.findings.support.which_memory import ram_beside_hbm
from tfmemlens.findings.support.xla_arena import facts
from tfmemlens.model.capture import NEEDED_IN_WORDS
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.incident import CompilerMemory, RequestKind
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, MIB, Size, human, human_size

_NEXT_TO_NOTHING = 256 * MIB
"""Of a TPU's core, which has 8 GiB and more: with less free it is full, however that lies."""


def because(case: Case, moment: Moment, compiler: CompilerMemory) -> str:
    """The clause; where nothing decides it says so."""
    answers = (answer(case, moment, compiler) for answer in _ANSWERS)
    told = next((told for told in answers if told), _unknown(case, moment))
    program = (
        evaluating_program(case, moment.request) if framework_of(case) == JAX and moment.request else None
    )
    told += ram_beside_hbm(case) if _is_of_hbm(moment) else ""
    told += weights_on_a_tpu.beside_another(case, told) if _is_of_a_tpus_hbm(moment) else ""
    return f"it is the evaluation (`{program[0]}`), no training step; {told}" if program else told


def _is_of_a_tpus_hbm(moment: Moment) -> bool:
    failed = moment.request.failed if moment.request else None
    return failed is not None and failed.kind is RequestKind.TPU and failed.allocator in (None, "hbm")


def _is_of_hbm(moment: Moment) -> bool:
    return moment.request is not None and moment.request.failed.allocator == "hbm"


def _size(moment: Moment) -> Size | None:
    return moment.request.failed.size if moment.request else None


def _of_the_compiler(case: Case, moment: Moment, compiler: CompilerMemory) -> str | None:
    """What the compiler's account, or its warnings, blame."""
    if compiler.arguments_and_results:
        return given_and_returned.because(moment, compiler) or program_account.of_what_is_given(compiler)
    if array := facts.row_for_each_nonzero(moment):
        return (
            f"its largest buffer, {array}, has a row of the dense matrix for each nonzero of the sparse one:"
            " so a product of BCOO works where no kernel for sparse matrices is used"
        )
    if closed := facts.closed_over(case, moment, compiler):
        return (
            f"the function that is jitted ({closed[1]}) takes no argument and gives back `{closed[0]}`, which"
            " it closes over: the whole of it becomes a constant of the program, on each device, before its"
            " result is sharded"
        )
    if short := facts.short_of_its_goal(case, moment, compiler):
        return short
    if program_account.mostly_constants(compiler):
        return program_account.of_constants(compiler)
    if captured := facts.captured(case, compiler, _size(moment)):
        return (
            f"JAX warned that {captured} of constants became part of the program: an array that the jitted"
            " function uses without being given it, most likely a data set"
        )
    if array := facts.donated_in_vain(case, moment):
        return (
            f"JAX warned that donated arrays ({array} and others) were not usable: no result has their"
            " shape and dtype, so that the old state and the new one exist side by side"
        )
    seldom = steps_of_torch_xla.ended_in_some_turns(case) if compiler.needed else None
    if seldom and not facts.on_chip(moment):
        return steps_of_torch_xla.because_of(seldom)
    size = _size(moment)
    joined = facts.joins_all_turns(case) if compiler.needed or (size and size.bytes >= GIB) else None
    if joined and not facts.on_chip(moment):
        return (
            f"no step is ended (no `mark_step`) in the loop that keeps its results in `{joined[0]}`"
            f" ({joined[1].place}), so that most likely all its turns are one program, which runs when a"
            " value is read"
        )
    if facts.ends_no_step(case) and compiler.needed:
        return (
            "the quoted loop ends no step (no `mark_step`), so that the program most likely holds several"
            " steps, as many as pass before a value is read"
        )
    return None


def _beyond_a_capacity(case: Case, moment: Moment, compiler: CompilerMemory) -> str | None:
    """What the device, or a small memory of its chip, has."""
    space = facts.on_chip(moment)
    if facts.in_host_space(moment):
        return (
            "it is the host's RAM, not the device's: the memory space `host`, to which a program offloads"
            " arrays"
        )
    if compiler.capacity and compiler.needed:
        if space and facts.is_scoped(moment) and not facts.of_the_compiler(case, moment):
            return (
                f"the limit of this kernel is {human_size(compiler.capacity)} of {space}, memory on the chip,"
                f" {facts.over(compiler)} too little; {_of_the_core(case)}"
            )
        if space == "vmem" and facts.of_the_compiler(case, moment):
            return (
                f"{human_size(compiler.capacity)} of vmem, memory on the chip for what one op works on,"
                " is all"
                f" that it may take, {facts.over(compiler)} too little; the text shows no kernel written by"
                f" hand, so most likely it is XLA's own code for an op{_of_its_op(moment)}"
            )
        if space:
            return (
                f"a TPU core has {human_size(compiler.capacity)} of {space}, which holds"
                f" {facts.HOLDS[space]}, {facts.over(compiler)} too little{_of_spills(moment)}"
            )
        heavy = weights_on_a_tpu.too_heavy(case, moment, compiler)
        more = f"; {weights_on_a_tpu.because(case, heavy, compiler)}" if heavy else ""
        return _on_device(case, moment, compiler) + more
    if space and facts.of_the_compiler(case, moment):
        return (
            f"the {space} of a TPU core, a small memory on the chip, is too small for it; the text shows no"
            f" kernel written by hand, so most likely it is XLA's own code{_of_its_op(moment)}"
        )
    if space:
        name = facts.kernel(moment)
        what = f"those of the kernel {name}" if name else "it"
        return (
            f"the {space} of a TPU core, which holds {facts.HOLDS[space]}, is too small for"
            f" {what}{_of_spills(moment)}"
        )
    return None


def _of_the_core(case: Case) -> str:
    """What a core has in all, where the text names the TPU."""
    core = weights_on_a_tpu.vmem(case)
    if core is None:
        return "the core may have more"
    return f"a core of a TPU {core[0]} has {human(core[1]).replace('.00 ', ' ')}"


def _of_its_op(moment: Moment) -> str:
    """The op that the traceback ends in, as a clause, and registers that were spilled."""
    last = facts.last_op(moment)
    told = f"; the traceback ends in `{last[0]}` ({last[1]})" if last else ""
    return told + _of_spills(moment)


def _of_spills(moment: Moment) -> str:
    """What of it are registers that were put there, as a clause."""
    spilled = facts.spilled_bytes(moment)
    many = "; the largest part is" if 2 * spilled > total(rows(moment)) else "; a part is"
    what = f"{many} no tile: {human(spilled)} keep registers that its code had no room for (spill slots)"
    return what if spilled else ""


def _on_device(case: Case, moment: Moment, compiler: CompilerMemory) -> str:
    """What the device has, and what of the program's need is no temporary, where that is most of it."""
    assert compiler.capacity
    has = f"the device has {human_size(compiler.capacity)}, {facts.over(compiler)} too little"
    if program_account.undonated(compiler):
        return f"{has}; {program_account.of_undonated(compiler)}"
    if sparse := facts.mostly_sparse_core(compiler):
        return f"{has}; {human_size(sparse)} of it are SparseCore's, which looks up embeddings"
    heavy = facts.heavy_to_train(case, moment, compiler)
    if not program_account.mostly_arguments(compiler):
        weights = None if weights_on_a_tpu.too_heavy(case, moment, compiler) else heavy
        temporaries = program_account.of_temporaries(compiler)
        return f"{has}; {weights.needs if weights else temporaries}" if weights or temporaries else has
    return f"{has}; {program_account.of_arguments(case, moment, compiler)}"


def _of_weights(case: Case, moment: Moment, compiler: CompilerMemory) -> str | None:
    """Weights that are on their way to the device, or too heavy for it."""
    if facts.moves_weights(moment):
        weights = stated_weights(case.capture.surroundings)
        many = f" ({weights.text}, {_weighing(case, weights)})" if weights else ""
        free = f": only {human_size(compiler.free)} was left" if compiler.free else ""
        return f"the module's weights are being moved to the device{many}{free}"
    if slots := facts.makes_slots(moment):
        weights = stated_weights(case.capture.surroundings)
        many = f"; {weights.needs}" if weights else ""
        free = f", and only {human_size(compiler.free)} was left" if compiler.free else ""
        return (
            f"the optimizer's first step makes what it keeps of each weight (`{slots.text.strip()}`; Adam's"
            f" is two numbers for each), beside weights and gradients, whatever the batch{free}{many}"
        )
    if heavy := weights_on_a_tpu.too_heavy(case, moment, compiler):
        return weights_on_a_tpu.because(case, heavy, compiler)
    return None


def _weighing(case: Case, weights: StatedWeights) -> str:
    """What weights take in the precision that the text says they are loaded in."""
    told = case.capture.surroundings.setting("mixed_precision")
    if told and "float16" in told[0] and "from_pretrained" in told[1].text:
        return f"{human(weights.bytes // 2)} in {told[0]}"
    if case.capture.surroundings.shows("weights in 16 bits"):
        return f"{human(weights.bytes // 2)} in 16 bits"
    return f"{human(weights.bytes)} in float32"


def _of_what_was_free(case: Case, moment: Moment, compiler: CompilerMemory) -> str | None:
    size, free = _size(moment), compiler.free
    if not free:
        return None
    program = facts.loads_a_program(moment)
    known = weights_on_a_tpu.generation(case)
    if known and facts.exceeds_the_device(case, moment):
        what = "it is a program, and" if program else "it is more than the device has:"
        return f"{what} {weights_on_a_tpu.has(known)}, so that freeing what is held does not help"
    if size and free.high < _NEXT_TO_NOTHING:
        if kept := program_account.of_living_results(compiler):
            return f"only {human_size(free)} of the device was free{kept}"
        return (
            f"only {human_size(free)} of the device was free, in pieces: {_held(case, moment)}, with"
            " programs that are loaded, hold the rest"
        )
    if size and free.bytes >= size.bytes:
        return (
            f"{human_size(free)} was free on the device, and not where the program needs it: in one"
            " piece, beside what arrays and programs that are kept alive hold"
        )
    if moves_an_array(moment):
        return (
            "it is JAX's own program that gives an array another sharding (process_allgather and device_put"
            f" run it): what it makes is that array, whole where each device gets a copy, and only"
            f" {human_size(free)} was free"
        )
    if program and size and not facts.may_have_grown(case):
        had = f" (of {human(known[1]).replace('.00 ', ' ')} of a TPU {known[0]})" if known else ""
        return (
            "it is what one compiled program (as a rule the step's) needs beside its arguments, and only"
            f" {human_size(free)}{had} was free beside {_held(case, moment)}"
            f"{program_account.of_living_results(compiler)}{_of_shards(case)}"
        )
    return (
        f"only {human_size(free)} was free on the device: arrays and programs that are kept"
        f" alive hold the rest{program_account.of_living_results(compiler)}"
    )


def _held(case: Case, moment: Moment) -> str:
    """What is on the device all the while: a server trains nothing, and fills the rest with its cache."""
    if case.capture.surroundings.shows("program: a server"):
        return "weights and the cache of keys and values"
    if situation(case, moment).training is False:
        return "weights and what the run has made"
    return "weights, the optimizer's state and batches"


def _of_shards(case: Case) -> str:
    """That what is sharded as one unit is gathered as one."""
    line = steps_of_torch_xla.sharded_as_one(case)
    return f"; {line.place} shards the model as one unit, whose weights are gathered together" if line else ""


def _of_a_full_device(case: Case, moment: Moment, compiler: CompilerMemory) -> str | None:
    if operand := facts.operand_of_a_trial(case, moment):
        return (
            f"to the byte it is {operand[0]}, an array of the convolution for which XLA was trying algorithms"
            f" ({operand[1].place}): the program holds one as large, whichever algorithm is taken"
        )
    if case.capture.surroundings.shows("picking algorithms") and not compiler.sections:
        return (
            "XLA was trying algorithms for a convolution when it compiled the program, and one of them found"
            " no room for its operands and its workspace"
        )
    if not facts.is_full(case, moment, compiler):
        return None
    if facts.of_tests_alone(case):
        return (
            "so few bytes fail in one test after the other, which a lack of memory hardly explains: most"
            " likely the allocator of this build does not work, as of one that was made for another processor"
        )
    return _full(case, moment)


def _full(case: Case, moment: Moment) -> str:
    """What may fill a device on which so small a request fails. Where the pool itself is full it is this
    process, not another.
    """
    occupied = moment.incident.state.occupied if moment.incident else None
    known = occupied is not None and occupied >= facts.FULL
    kept_results = "results kept from earlier steps"
    if case.capture.surroundings.shows("differentiating"):
        kept_results = "what the gradient keeps for its backward pass, or results kept from earlier steps"
    from tfmemlens.findings.support.kept_by_settings import cached_arrays  # reads trees

    stores = case.capture.surroundings.stores
    shapes = new_shapes(case)
    if shapes and not stores:
        return f"so small a request fails only where the device is full already: most likely {shapes.what}"
    if cached := cached_arrays(case.capture.surroundings):
        kept_results = f"most likely what the cache of `{cached[0]}` keeps ({cached[1].place})"
    elif stores:
        kept_results = f"most likely what `{stores[0]}` keeps ({stores[1].place})"
    fills = f"weights, data, {kept_results}"
    if facts.trained_by_keras(case, moment) and not stores:
        fills = f"{_given(moment)}, what its step computes, an earlier model of the same process"
    if (filled := filled_by_weights(case, moment)) and not cached:
        return f"so small a request fails only where the device is full already: most likely {filled.what}"
    if known:
        return f"so small a request fails only since the pool was full before it: {fills}"
    if facts.beside_tensorflow(case, moment):
        fills = f"most likely TensorFlow took it when it started, in the same process; else {fills}"
    return f"so small a request fails only where the device is full already: {fills}, or another process"


def _given(moment: Moment) -> str:
    """What a training's program is given, with its size where the compiler states it."""
    compiler = moment.incident.compiler if moment.incident else None
    size = f" ({human_size(compiler.arguments)})" if compiler and compiler.arguments else ""
    return f"weights, the optimizer's slots and the batch{size}"


def _of_its_parts(case: Case, moment: Moment, compiler: CompilerMemory) -> str | None:
    """Which part of the program the compiler's account shows the request to be."""
    size = _size(moment)
    if program_account.undonated(compiler):
        return program_account.of_undonated(compiler, size)
    if program_account.is_one_op(moment, compiler):
        return program_account.of_one_op(moment, compiler)
    beyond = program_account.against_device(compiler, device_limit(case, moment))
    if program_account.mostly_results(compiler):
        of_a_run = program_account.runs_from_a_key(moment, compiler)
        if name := program_account.by_itself(moment):
            return f"`{name}` ran by itself, outside of jit; {program_account.of_results(compiler)}{beyond}"
        return f"{program_account.of_results(compiler, of_a_run)}{beyond}"
    if facts.is_part(compiler.results, size) and not facts.is_arena(compiler, size):
        return f"these are the results of the program, which it makes beside its arguments{beyond}"
    if facts.is_arena(compiler, size):
        beyond = program_account.beside_its_arena(compiler, device_limit(case, moment))
        return f"these are the program's temporaries, which XLA allocates as one block{beyond}"
    if compiler.cut and not compiler.needed and not main_buffers(moment, framework_of(case)):
        return (
            "the list of its buffers begins behind the largest, and what it needs in all is not in the text"
            f"{facts.largest_that_is_left(moment)}"
        )
    if program_account.mostly_arguments(compiler):
        return program_account.of_arguments(case, moment, compiler)
    if not compiler.sections and (alike := alive_alike(moment)):
        return of_the_living(alike)
    if op := op_alone(moment):
        return (
            f"it is the result of one operation that runs by itself, outside of jit (`{op}`): one array is as"
            " large as that, and others of the program, which are alive with it, hold the rest"
        )
    if of_a_program(moment):
        told = program_account.of_temporaries(compiler)
        told = told or _by_the_text(case, moment) or _ALL_TEMPORARIES
        return f"{told}{weights_on_a_tpu.of_the_named_tpu(case, moment, compiler)}"
    return None


def _by_the_text(case: Case, moment: Moment) -> str | None:
    """What the writer says that it needs, where only its largest buffers are listed."""
    line = case.capture.surroundings.shows(NEEDED_IN_WORDS) if moment.lists_buffers_alone else None
    match = _NEEDED.search(line.text) if line else None
    if line is None or match is None:
        return None
    return f"it needs about {match['size']} {match['unit'].upper()}B, as {line.place} says"


_NEEDED = regex(
    r"(?i)\b(?:requir\w+|need(?:s|ed|ing)?)\b[^.\n]{0,12}?(?P<size>\d{1,4}(?:\.\d{1,2})?) ?"
    r"(?P<unit>[GT])i?b\b"
)
_ALL_TEMPORARIES = "XLA allocates all temporaries of a program as one block"


def _of_the_code(case: Case, moment: Moment, compiler: CompilerMemory) -> str | None:
    """What the code beside the message, or the op that it names, makes likely."""
    del compiler
    if line := case.capture.surroundings.shows(facts.BETWEEN_PROCESSES):
        return (
            f"a value of this host was gathered whole from all processes ({line.place}), which `device_put`"
            " does with a sharding over several of them to compare their values: it grows with their number"
        )
    if states := kept.whole_states(case, moment):
        return (
            f"`{states}` keeps whole states, with all weights, of earlier epochs; the step then finds no room"
        )
    if facts.waits(moment):
        earlier = next((line for line in case.capture.surroundings.code if calls_program(line.text)), None)
        which = f", most likely the step that {earlier.place} calls" if earlier else ""
        return (
            f"JAX runs ahead of Python, so an earlier call asked for it{which}; the line that failed only"
            " waits for a result"
        )
    if product := facts.stated(case, moment):
        return f"to the byte it is {product.text}, sizes that the text states: one tensor, no program's arena"
    if facts.of_an_op(case, moment):
        return (
            "an op of the graph asked for it, for its output or for memory to work with; the message does not"
            " say which"
        )
    return _of_a_compiled_call(case, moment)


def _of_a_compiled_call(case: Case, moment: Moment) -> str | None:
    failed, size = moment.request.failed if moment.request else None, _size(moment)
    if frame := compiles_then(failed):
        return (
            f"JAX was still compiling the program (`{frame}`), before it ran: XLA then takes"
            " memory for arrays of an op whose algorithms it tries out, or for a constant, beside what is"
            " held already"
        )
    if calls_program(failed.source_text if failed else None):
        return "most likely all temporaries of the compiled step, which XLA allocates as one block"
    compiled = calls_compiled(failed.source_text, failed.frames) if failed else None
    if compiled and framework_of(case) == JAX and size and size.bytes <= facts.LARGEST_DEVICE:
        return (
            f"most likely all temporaries of `{compiled}`, which the line calls and XLA compiled to one"
            " program (a function in Python would have a frame of its own)"
        )
    return None


def _unknown(case: Case, moment: Moment) -> str:
    size = _size(moment)
    if size and BEYOND_ANY_DEVICE < size.bytes < NO_PROGRAM and framework_of(case) == JAX:
        return (
            "no single device has so much, whatever else it holds: most likely all temporaries of a compiled"
            " program, which XLA allocates as one block, for far too much work in one call; or one array,"
            " of which a size is a mistake (the message does not say which)"
        )
    if size and size.bytes > facts.LARGEST_DEVICE:
        return (
            "no single device has so much, whatever else it holds: a size is a mistake, or the work must be"
            " cut into parts (the message does not say whether it is one array or a program's temporaries)"
        )
    unknown = "one array, or all temporaries of a compiled program (the message does not say which)"
    limit = device_limit(case, moment)
    if size and limit and size.low > limit.high and framework_of(case) != TENSORFLOW:
        return f"more than all of the device ({human_size(limit)}), whatever else it holds: {unknown}"
    return unknown


def _of_what_is_listed(case: Case, moment: Moment, compiler: CompilerMemory) -> str | None:
    """The largest of the buffers that were pasted without the sentence above them."""
    row = next(iter(rows(moment)), None)
    if row is None or _size(moment) or compiler.needed or compiler.cut or not row.allocation.shape:
        return None
    if main_buffers(moment, framework_of(case)) or _by_the_text(case, moment):
        return None
    of = row.allocation
    made = f", made by `{of.node}`" if of.node else ""
    return (
        f"its largest listed buffer is {of.dtype or 'an array'} {format_shape(of.shape)},"
        f" {human(of.size_bytes)}{made}"
    )


_ANSWERS: tuple[Callable[[Case, Moment, CompilerMemory], str | None], ...] = (
    _of_the_compiler,
    _beyond_a_capacity,
    _of_weights,
    _of_what_was_free,
    _of_a_full_device,
    _of_what_is_listed,
    _of_its_parts,
    _of_the_code,
)
"""The surest first."""
