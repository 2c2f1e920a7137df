"""What helps against a request of XLA's: a smaller program, or more room for it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from tfmemlens.findings.support import (
    code_snippets,
    given_and_returned,
    jax_lines,
    kept,
    kernel_blocks,
    part_for_jax,
    program_account,
    remedies,
    steps_of_torch_xla,
    unified,
    weights_on_a_tpu,
)
from tfmemlens.findings.support.alike import alive_alike, let_go
from tfmemlens.findings.support.batch_that_matters import answers_one_prompt
from tfmemlens.findings.support.compiling import WITHOUT_TRIALS, compiles_then
from tfmemlens.findings.support.filled_by_weights import filled_by_weights, less_of_them
from tfmemlens.findings.support.growth import steadily
from tfmemlens.findings.support.main_buffers import (
    CHUNKED,
    CHUNKED_FORWARD,
    Buffers,
    initialises,
    of_a_whole_graph,
)
from tfmemlens.findings.support.new_shapes import new_shapes
from tfmemlens.findings.support.phase import EVALUATION, PREDICTION, evaluating_program, other_than_training
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.prose_advice import batch_that_runs
from tfmemlens.findings.support.prose_of_jax import STEPS_AGAIN
from tfmemlens.findings.support.residues import with_host_ram
from tfmemlens.findings.support.rows import device_limit, is_buffer, is_warning_alone, lists_buffers, rows
from tfmemlens.findings.support.servers import A_SERVER, flags_of, lower_than_set
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, TORCH_XLA, framework_of, situation
from tfmemlens.findings.support.xla_arena import facts
from tfmemlens.findings.support.xla_arena.failing_call import less_in_the_call
from tfmemlens.knowledge.device_names import CPU, TPU
from tfmemlens.knowledge.kept_results import holds_weights
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy
from tfmemlens.model.incident import CompilerMemory
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, KIB, MIB, Size, human
from tfmemlens.values import replace

_DONATABLE = Remedy(
    "let the step give back each array with the shape and dtype that it was given: it then takes the old"
    " one's place",
    "new = jax.tree.map(lambda n, o: n.astype(o.dtype), new, old)   # and donate no batch",
    slug="donatable-results",
)
_SPARSE_KERNEL = Remedy(
    "let cuSPARSE do the product, with sorted indices: it needs no array of a row for each nonzero",
    "jax.config.update('jax_bcoo_cusparse_lowering', True); A = A.sort_indices()",
    slug="stay-sparse",
)
_COLUMNS_IN_PARTS = Remedy(
    "or take some columns of the dense matrix at a time, or some of the nonzeros, and add up: the array"
    " shrinks with either; there is no batch in it",
    "y = jnp.concatenate([A @ part for part in jnp.split(h, 8, axis=1)], axis=1)   # in lax.map under jit",
    slug="in-blocks",
)
_OF_SEQUENCES = regex(r"attention|attn|paged|flash", re.IGNORECASE)
WITHOUT_XLA = Remedy(
    "run this step without XLA: each op then has its own tensors, freed one by one, and the error names"
    " the op",
    "model.compile(..., jit_compile=False)   # @tf.function(jit_compile=False)",
    slug="without-xla",
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
_LARGER_VMEM = Remedy(
    "give this kernel more of it, if the core has more",
    "pl.pallas_call(..., compiler_params=pltpu.CompilerParams(vmem_limit_bytes=...))",
    slug="larger-vmem",
)
_OFFLOAD_LESS = Remedy(
    "offload less: shard the arrays that are offloaded over the devices, or let the backward pass compute"
    " some of them again",
    slug="offload-less",
)
_TILES = Remedy(
    "it is one sample already: give it a smaller image, or cut the image into tiles that overlap, and join"
    " the results; 16 bits halve it, and another algorithm does not make it smaller",
    slug="smaller-input",
)
_SHARD_OR_NARROW = Remedy(
    "if it holds weights or data: shard it over devices, or keep it in 16 bits",
    slug="shard-arguments",
)
_SEE_THAT_SHARDED = Remedy(
    "see that weights, gradients and optimizer state are sharded over all devices (FSDP): each must hold"
    " its part"
    " alone",
    "jax.debug.visualize_array_sharding(w)   # of a large weight of two dimensions",
    slug="shard-arguments",
)
_WHOLE_MESSAGE = Remedy(
    "give `tfmemlens explain` the whole message: the list begins behind its largest buffers, and the"
    " lines above it say how much the program needs and what the device has",
    slug="read-the-log",
)


_THE_ERROR_ITSELF = Remedy(
    "add the error that ended it: the warning alone fails no program, and the error says what was asked for,"
    " or that it was no memory at all",
    "python train.py 2>&1 | tee train.log; tfmemlens explain train.log",
    slug="read-the-log",
)
_FEWER_LOOKUPS = Remedy(
    "shard the embedding tables over more devices, make them narrower or shorter, or let a step look up less"
    " (a smaller batch, a lower limit of ids of a row); XLA can look tables up one after the other",
    "export LIBTPU_INIT_ARGS=--xla_sc_num_serialized_tables_to_optimize_hbm=...",
    slug="shard-arguments",
)
_THE_LOG_AROUND = Remedy(
    "explain the whole log: lines above this one say how much of the device the pool could take and what was"
    " in use, and the traceback below it which call asked",
    "python train.py 2> train.log; tfmemlens explain train.log",
    slug="read-the-log",
)


def remedies_of(
    case: Case, moment: Moment, compiler: CompilerMemory, buffers: Buffers | None
) -> Iterator[Remedy]:
    """What makes the request smaller, or leaves room for it, best first."""
    if space := facts.on_chip(moment):
        yield from _of_a_small_memory(case, moment, space)
        return
    if facts.mostly_sparse_core(compiler):
        yield _FEWER_LOOKUPS
        return
    if facts.in_host_space(moment):
        yield from (_OFFLOAD_LESS, *remedies.offered(case, moment, "smaller-batch"))
        return
    if weights_on_a_tpu.too_heavy(case, moment, compiler) and not facts.moves_weights(moment):
        yield from weights_on_a_tpu.remedies(case)
        return
    program_first = facts.loads_a_program(moment) and not facts.may_have_grown(case)
    if program_first and framework_of(case) == TORCH_XLA and not situation(case, moment).training:
        program_first = steps_of_torch_xla.sharded_as_one(case) is not None
    if compiler.free and (framework_of(case) == TENSORFLOW or program_first):
        if steps_of_torch_xla.sharded_as_one(case):
            yield steps_of_torch_xla.WRAP_BLOCKS
        again = ("recompute",) if program_first else ()
        yield from remedies.offered(case, moment, "smaller-batch", *again)
    if compiler.free and not facts.exceeds_the_device(case, moment):
        yield from _let_go(case, moment)
    if facts.moves_weights(moment) or facts.makes_slots(moment):
        return
    instead = _of_no_program(case, moment, compiler)
    if instead is not None:
        yield from instead
        return
    yield from more_unified(case, moment)
    instead = _of_a_known_cause(case, moment, compiler, buffers)
    if instead is not None:
        yield from instead
        return
    if seldom := steps_of_torch_xla.ended_in_some_turns(case):
        yield steps_of_torch_xla.end_each_pass(seldom)
    elif facts.joins_all_turns(case):
        yield steps_of_torch_xla.FETCH_EACH
        return
    elif facts.ends_no_step(case):
        yield steps_of_torch_xla.END_EACH
    ran = other_than_training(case, moment.request) if moment.request else None
    if ran and ran[0] in (EVALUATION, PREDICTION) and not lists_buffers(moment):
        return  # the rule of that phase says what helps
    yield from _of_the_program(case, moment, compiler, buffers)


def _of_a_small_memory(case: Case, moment: Moment, space: str) -> Iterator[Remedy]:
    """A kernel on a TPU core's own memory."""
    name = facts.kernel(moment) or ""
    attention = ", or what it keeps per sequence: shorter sequences, fewer pages"
    if facts.of_the_compiler(case, moment):
        yield from _of_code_that_xla_made(case, moment, space)
        return
    if space == "smem":
        yield Remedy(
            "make the tables of indices smaller that the kernel is given (prefetched scalars, page"
            " tables): fewer sequences or pages in one call, or shorter sequences",
            _called(case) if case.capture.surroundings.shows(A_SERVER) else None,
            slug="smaller-kernel-blocks",
        )
        return
    need, limit = moment.request and moment.request.needed_bytes, moment.balance.limit
    times = need / limit.bytes if need and limit and limit.bytes else 2
    blocks = kernel_blocks.halved(case.capture.surroundings.sizes, times)
    stated = f": most likely {blocks}" if blocks else ""
    smaller = Remedy(
        f"make the kernel's blocks smaller{stated or ' (Pallas: block shapes, number of buffers)'}"
        + (attention if _OF_SEQUENCES.search(name + _operation(moment)) else ""),
        slug="smaller-kernel-blocks",
    )
    if space == "vmem" and case.capture.surroundings.shows(A_SERVER):
        yield from _of_a_server(case, moment)
        return
    if space == "vmem" and (whole := _whole_arrays(case)):
        yield Remedy(
            f"give the kernel a grid and blocks: without them ({whole.place}) all of its operands and results"
            " lie in vmem whole",
            "pl.pallas_call(kernel, grid=(32,), in_specs=[pl.BlockSpec((256, 2048), lambda i: (i, 0))], ...)",
            slug="smaller-kernel-blocks",
        )
        return
    named = case.capture.surroundings.shows("naming a kernel's limit")
    if space != "vmem" or _beyond_the_core(case, moment):
        yield smaller
    elif named and not _far_above(case, moment):
        yield from (_larger_vmem(case, moment, named), smaller)
    elif facts.is_scoped(moment) and not _far_above(case, moment):
        # a limit that was set, not the end of the chip's memory
        yield from (_larger_vmem(case, moment, None), smaller)
    else:
        yield from (smaller, _larger_vmem(case, moment, None))
    if space == "vmem" and not (name or case.capture.surroundings.shows("a kernel of its own")):
        yield replace(_more_for_an_op(_needed(moment)), text=f"if no kernel is yours: {_FOR_EACH_OP}")
    elif space == "vmem" and not any(
        _WRITES.search(line.text) for line in code_lines(case.capture.surroundings)
    ):
        yield _OF_A_LIBRARY


_MORE_THAN_USUAL = (
    "let JAX take a larger part of the GPU: it has the 75 % that it takes unless told otherwise ({place}),"
    " and the rest lies idle unless another process needs it"
)


def _larger_vmem(case: Case, moment: Moment, named: Line | None) -> Remedy:
    """A larger limit for the kernel, with what a core has, where the TPU is known, and the line that names
    the setting.
    """
    core, needed, remedy = weights_on_a_tpu.vmem(case), _needed(moment), _LARGER_VMEM
    if core and needed and facts.is_scoped(moment):
        mib = min(-(-needed.high // (8 * MIB)) * 8, core[1] // MIB)
        remedy = replace(
            remedy,
            text=f"give this kernel more of it: a core of a TPU {core[0]} has {_whole(core[1])}",
            code=f"pl.pallas_call(..., compiler_params=pltpu.CompilerParams(vmem_limit_bytes={mib} << 20))",
        )
    return replace(remedy, text=f"{remedy.text} ({named.place} names the setting)") if named else remedy


def _whole(size: int) -> str:
    return human(size).replace(".00 ", " ")


def _beyond_the_core(case: Case, moment: Moment) -> bool:
    """Whether a kernel wants more than all that a core of the TPU has."""
    core, needed = weights_on_a_tpu.vmem(case), _needed(moment)
    return bool(core and needed and facts.is_scoped(moment) and needed.low > core[1])


_FAR = 2


def _far_above(case: Case, moment: Moment) -> bool:
    """Whether a kernel wants several times its limit, which no core may have; where the TPU is known, more
    than its core has.
    """
    compiler = moment.incident.compiler if moment.incident else None
    if compiler is None or compiler.needed is None or compiler.capacity is None:
        return False
    core = weights_on_a_tpu.vmem(case)
    if core and facts.is_scoped(moment):
        return compiler.needed.low > core[1]
    return compiler.needed.bytes > _FAR * compiler.capacity.bytes


def _whole_arrays(case: Case) -> Line | None:
    """The line that calls a kernel without a grid or blocks, so that it is given its arrays whole."""
    code = code_lines(case.capture.surroundings)
    calls = [line for line in code if "pallas_call(" in line.text]
    return calls[0] if len(calls) == 1 and not any(_CUTS.search(line.text) for line in code) else None


_CUTS = regex(r"\bgrid(?:_spec)?\s*=|\bBlockSpec\(")


def _called(case: Case) -> str:
    """What one call of the server that the text names may have, below what is set."""
    told = case.capture.surroundings
    return lower_than_set(told, flags_of(told).call.partition(" --max-num-batched")[0])


def _of_a_server(case: Case, moment: Moment) -> Iterator[Remedy]:
    """A kernel that comes with a server, whose blocks go with what one call may have."""
    told = case.capture.surroundings
    patches = _sequence_of_pictures(case, moment)
    scoped = facts.is_scoped(moment) and not _far_above(case, moment)
    if scoped and not patches and not _has_pages(case, moment):
        yield _larger_vmem(case, moment, told.shows("naming a kernel's limit"))
    elif patches:
        yield Remedy(
            f"let pictures be smaller: the patches of one are a sequence of this kernel, {patches:,} long,"
            " and the lengths and numbers of tokens that the server is given do not bound it",
            "--mm-processor-kwargs '{\"max_pixels\": 1003520}'   # of models that take any size",
            slug="smaller-input",
        )
    else:
        yield replace(_FEWER_IN_A_CALL, code=lower_than_set(told, flags_of(told).kernel))
    limit = _more_for_an_op(_needed(moment))
    yield replace(limit, text=f"or {limit.text}")
    yield replace(
        _OF_A_LIBRARY,
        text="take a newer release of the server, or report it: the kernel's blocks were tuned for another"
        " chip or shape",
    )


def _has_pages(case: Case, moment: Moment) -> bool:
    """Whether the kernel is that of the paged cache, or nothing names another one."""
    failed = moment.request.failed if moment.request else None
    line = failed.line.text if failed and failed.line else ""
    named = f"{facts.kernel(moment) or ''} {_operation(moment)} {line}"
    said = case.capture.surroundings.shows("jax: attention")
    words = f"{named} {said.text if said else ''}"
    return bool(_PAGED.search(words)) or not _ANOTHER_KERNEL.search(words)


_PAGED = regex(r"(?i)paged?\b|_paged_|ragged|(?<![a-z])rpa(?![a-z])|\bkv[-_ ]?cache|\bdecod|\bmla\b")
_ANOTHER_KERNEL = regex(r"(?i)\bvi[ts]\b|\bvision\b|\bencoder\b|flash[-_ ]?attention|\bsplash")
_OF_THE_KERNEL = regex(r"%\S{0,60}flash_attention\S{0,20} = \w+\[(?P<sizes>[\d,]{5,60})\]")
_LENGTHS = regex(
    r"(?i)\bmax[-_](?:model[-_]len|num[-_]batched[-_]tokens)\W{1,4}(?:is |of |= ?)?(?P<tokens>\d{3,7})\b"
)


def _sequence_of_pictures(case: Case, moment: Moment) -> int | None:
    """The length of the kernel's sequence, where the text speaks of pictures and lets a server have no text
    as long, or says that text alone goes well.
    """
    told = case.capture.surroundings
    line = moment.request.failed.line if moment.request else None
    match = _OF_THE_KERNEL.search(line.text) if line else None
    pictures = told.shows("of images")
    if match is None or pictures is None:
        return None
    longest = max(int(size) for size in match["sizes"].split(","))
    texts = [*told.code, *(each.line for each in told.sizes)]
    set_to = [int(found["tokens"]) for each in texts for found in _LENGTHS.finditer(each.text)]
    longer = set_to and longest > max(set_to)
    return longest if longer or _TEXT_GOES_WELL.search(pictures.text) else None


_TEXT_GOES_WELL = regex(
    r"(?i)\btext(?:-only)? (?:prompts?|requests?|inputs?|alone)\b[^.,;]{0,24}\b(?:fine|well|works?)\b"
)
_FEWER_IN_A_CALL = Remedy(
    "let one call have fewer tokens and fewer pages, and shorter sequences: the sizes of the kernel's blocks"
    " are chosen by them. What the cache takes of the device's own memory (HBM) plays no part",
    slug="smaller-kernel-blocks",
)


_WRITES = regex(r"\bpallas_call\(|\bBlockSpec\(|\bcore_map\(|\bemit_pipeline\(")
_OF_A_LIBRARY = Remedy(
    "if the kernel is a library's: set what its options offer (block or chunk sizes, sequences and tokens in"
    " one call), or take a newer release, or report it: its blocks were tuned for another chip or shape",
    slug="newer-release",
)
_FOR_EACH_OP = (
    "let XLA take more of it for each op, if the core has more (16 MiB is all that older TPUs have)"
)


def _needed(moment: Moment) -> Size | None:
    compiler = moment.incident.compiler if moment.incident else None
    return compiler.needed if compiler else None


def _more_for_an_op(needed: Size | None) -> Remedy:
    """A larger limit for each op, the next power of two that holds what is needed."""
    kib = (
        f"{1 << (max(-(-needed.high // KIB), 1) - 1).bit_length()}   #"
        if needed
        else "...   # more than now;"
    )
    return Remedy(
        _FOR_EACH_OP,
        f"export LIBTPU_INIT_ARGS=--xla_tpu_scoped_vmem_limit_kib={kib} before the TPU is first used",
        slug="larger-vmem",
    )


def _operation(moment: Moment) -> str:
    """The names of what the largest buffer was made in: `jit(step)/jit(paged_attention)/…`."""
    return next((row.allocation.node or "" for row in rows(moment)[:1]), "")


def _of_code_that_xla_made(case: Case, moment: Moment, space: str) -> Iterator[Remedy]:
    """Nobody wrote the kernel, so that only its op, its operands and its compiler can be changed."""
    torch = framework_of(case) == TORCH_XLA
    if space == "vmem":
        yield _more_for_an_op(_needed(moment))
    yield Remedy(
        f"take newer {'torch_xla and ' if torch else ''}libtpu: where XLA's own code for an op does not fit,"
        " the compiler should have made smaller tiles, so report it if it stays",
        "pip install -U 'torch_xla[tpu]'" if torch else None,
        slug="newer-release",
    )
    if last := facts.last_op(moment):
        yield Remedy(
            f"see whether it is `{last[0]}` ({last[1]}), which the traceback ends in: compute that on the"
            " CPU, in 32 bits, or of fewer elements, and see whether the rest compiles"
            + ("; steps are compiled late, so an op before it may be to blame" if torch else ""),
            slug="in-pieces",
        )
        return
    yield Remedy(
        "find the op in the lines below the message (its allocations with their shapes), and make its"
        " operands smaller or split it"
        + (_BY_A_STEP if torch else "; a program of fewer ops and arguments needs less"),
        slug="in-pieces",
    )


_BY_A_STEP = ": end the graph before it (xm.mark_step()) to see that it is this one"


def _of_no_program(case: Case, moment: Moment, compiler: CompilerMemory) -> Iterable[Remedy] | None:
    """For an op's request, a buffer, a full device, and arguments that alone are too much; none otherwise."""
    if facts.of_an_op(case, moment):
        return remedies.offered(case, moment, "smaller-batch", "mixed-precision")
    if not compiler.sections and alive_alike(moment):
        return (let_go(case, moment),)
    if is_buffer(moment):
        return (_SHARD_OR_NARROW,)
    if facts.is_full(case, moment, compiler):
        return _of_a_full_device(case, moment)
    if compiler.arguments_and_results:
        if program_account.beyond_any_device(compiler):
            vectorises = bool(case.capture.surroundings.shows("vectorising"))
            return program_account.right_shapes(vectorises)
        told = given_and_returned.remedies(case, moment, compiler)
        return program_account.less_given(situation(case, moment).training) if told is None else told
    return None


_ADDED = regex(r"\.append\(\s*(?P<name>[A-Za-z_]\w*)\s*\)")


_OFF_THE_GPU = Remedy(
    "hide the GPU from TensorFlow, which takes nearly all of it when it starts, before the first data set is"
    " made: it only reads data here",
    "tf.config.set_visible_devices([], 'GPU')",
    slug="tensorflow-off-the-gpu",
)
_OF_ITS_OWN_PART = Remedy(
    "give each process its own part of the array: what `device_put` is given whole is compared between all"
    " processes first, which gathers a copy of each",
    "x = jax.make_array_from_process_local_data(sharding, part_of_this_process)",
    slug="own-part-of-an-array",
)
_ANOTHER_BUILD = Remedy(
    "change nothing of the program: take the wheel that is published for this processor, or build another"
    " release, and see whether one number can be made. Where tests run side by side on one GPU, run them one"
    " by one, and see what is free",
    "python -c 'import jax.numpy as jnp; print(jnp.ones(1) + 1)'; free -h",
    slug="newer-release",
)


def _of_a_full_device(case: Case, moment: Moment) -> Iterator[Remedy]:
    if facts.of_tests_alone(case):
        yield _ANOTHER_BUILD
        return
    told = case.capture.surroundings
    stores = told.stores
    from tfmemlens.findings.support.kept_by_settings import cached_arrays, without_cache  # reads trees

    shapes = new_shapes(case)
    if shapes and not stores:
        yield from shapes.remedies
    if facts.beside_tensorflow(case, moment):
        yield _OFF_THE_GPU
    if cached := cached_arrays(told):
        yield without_cache(*cached)
    if stores and holds_weights(stores[0]):
        yield kept.without_states(stores[0])[0]
    elif stores:
        added = _ADDED.search(stores[1].text)
        name = added["name"] if added else "result"
        yield Remedy(
            f"keep numbers in `{stores[0]}` ({stores[1].place}), or arrays on the host: on the device each"
            " turn adds one",
            f"{stores[0]}.append(jax.device_get({name}))",
            slug="keep-numbers",
        )
    if told.shows("differentiating") and told.shows("simulating"):
        yield from STEPS_AGAIN
    elif told.shows("differentiating"):
        yield from remedies.offered(case, moment, "smaller-batch", "recompute")
    if facts.trained_by_keras(case, moment) and not stores:
        yield Remedy(
            "see what holds the device before this program starts, and end it: another process, a"
            " notebook, an"
            " earlier model of the same kernel",
            "nvidia-smi",
            slug="see-device-users",
        )
        yield from remedies.offered(case, moment, "smaller-batch") or (remedies.less_at_once(case),)
        return
    filled = filled_by_weights(case, moment)
    if filled:
        yield from less_of_them(case, moment, filled)
    occupied = moment.incident.state.occupied if moment.incident else None
    others = not told.shows("on a TPU") and (occupied is None or occupied < facts.FULL)
    if others and _is_one_sentence(case, moment):
        yield _WHO_HOLDS_IT
        yield _THE_LOG_AROUND
        return
    if filled is None or not filled.alone:
        yield Remedy(
            "find what keeps arrays alive (a list of losses or outputs, old weights, a second model): a"
            " profile names the lines that made them",
            code_snippets.profile_memory(case.api),
            slug="record-a-step",
        )
    if others:
        yield Remedy("see whether another process holds the device", "nvidia-smi", slug="see-device-users")


_WHO_HOLDS_IT = Remedy(
    "see who holds the device before the program starts and while it runs: another process may, or"
    " TensorFlow, where this one reads data with it (`tf.config.set_visible_devices([], 'GPU')` keeps it"
    " off)",
    "nvidia-smi",
    slug="see-device-users",
)


def _is_one_sentence(case: Case, moment: Moment) -> bool:
    """Whether the text quotes the message alone: neither figures, nor a traceback, nor code."""
    told, failed = case.capture.surroundings, moment.request.failed if moment.request else None
    figures = moment.incident is not None and moment.incident.state.occupied is not None
    lists = lists_buffers(moment) or told.devices
    quoted = failed is None or failed.frames or failed.source or told.code or told.stores
    return not (figures or lists or quoted)


def _without_the_closure(name: str) -> tuple[Remedy, ...]:
    """What shards arrays of the host without a program that holds them."""
    return (
        Remedy(
            f"put `{name}` on the devices without jit: each device then gets its part alone",
            f"state = jax.device_put({name}, shardings)",
            slug="pass-as-argument",
        ),
        Remedy(
            "or make it where it belongs: jit the function that computes the first state, and let its results"
            " be sharded, so that no device ever has all",
            "state = jax.jit(init, out_shardings=shardings)(key)",
            slug="restore-sharded",
        ),
    )


def _of_a_known_cause(
    case: Case, moment: Moment, compiler: CompilerMemory, buffers: Buffers | None
) -> Iterable[Remedy] | None:
    """Where the text shows what makes the program large; none otherwise."""
    size = moment.request.failed.size if moment.request else None
    if case.capture.surroundings.shows(facts.BETWEEN_PROCESSES):
        return (_OF_ITS_OWN_PART,)
    if program_account.is_one_op(moment, compiler):
        return program_account.for_one_op(case, moment)
    if closed := facts.closed_over(case, moment, compiler):
        return _without_the_closure(closed[0])
    if program_account.mostly_constants(compiler) or facts.captured(case, compiler, size):
        return program_account.without_constants()
    if facts.row_for_each_nonzero(moment):
        return (_SPARSE_KERNEL, _COLUMNS_IN_PARTS)
    if states := kept.whole_states(case, moment):
        return kept.without_states(states)
    if facts.of_one_graph(case, buffers):
        recompute = remedies.offered(case, moment, "recompute")
        return (*of_a_whole_graph(framework_of(case)), *recompute)
    if steadily(case.capture.surroundings.readings):
        return ()  # what grows between steps is no program's, and no batch makes it less
    return None


def _of_the_program(
    case: Case, moment: Moment, compiler: CompilerMemory, buffers: Buffers | None
) -> Iterator[Remedy]:
    """A smaller program, by its parts: arguments, results, the largest buffers, all together."""
    told = case.capture.surroundings
    larger = program_account.a_larger_device(case, moment, compiler)
    strange = program_account.is_anothers_program(case, moment)
    if larger and strange:
        yield from (larger, *_host_ram_beside(case, moment, compiler))
    if policy := _policy_between(case):
        yield policy
    if (asked := told.shows("asked: which line")) and not lists_buffers(moment):
        yield _names_lines(asked)
    operand = facts.operand_of_a_trial(case, moment)
    if operand and told.shows("one sample in a convolution"):
        yield _TILES
    if told.shows("picking algorithms") and not compiler.sections and not operand:
        yield remedies.DEFAULT_ALGORITHM
    if facts.donated_in_vain(case, moment):
        yield _DONATABLE
    of_arguments = program_account.mostly_arguments(compiler)
    if not of_arguments and facts.heavy_to_train(case, moment, compiler):
        yield _SEE_THAT_SHARDED
    undonated = program_account.undonated(compiler)
    strange = strange and program_account.gives_no_state_back(compiler)
    donatable = not strange and program_account.could_donate(case, moment, compiler)
    if undonated and donatable:
        yield program_account.donate(case, compiler)
    new = program_account.made_of_nothing(compiler) and not program_account.runs_from_a_key(moment, compiler)
    if new:
        yield from program_account.for_initial_weights(case, moment)
    elif name := program_account.by_itself(moment):
        yield program_account.in_one_program(name)
    elif program_account.mostly_results(compiler):
        yield program_account.return_less(compiler, own_step=not strange)
    ran = other_than_training(case, moment.request) if moment.request else None
    evaluates = ran is not None and ran[0] == EVALUATION
    program = evaluating_program(case, moment.request) if evaluates and moment.request else None
    if program:
        yield remedies.of_evaluating_program(program[0])
    line = jax_lines.made_at(case, moment)
    undecided = not line and facts.may_be_what_was_held(case, moment)
    modest = undecided and facts.is_modest(case, moment)
    may_be_larger = facts.larger_pool_may_do(case, moment, compiler)
    usual = facts.usual_pool(case, moment) if may_be_larger else None
    if usual:
        yield replace(part_for_jax.LARGER_POOL, text=_MORE_THAN_USUAL.format(place=usual.place))
    compiling = compiles_then(moment.request.failed) if moment.request and not compiler.sections else ""
    if modest:
        yield remedies.ask_what_is_in_use()
    if compiling and framework_of(case) == JAX and not line:
        yield WITHOUT_TRIALS
    alone = of_arguments and program_account.arguments_do_not_fit(compiler)
    if alone:
        yield from program_account.smaller_arguments(case, moment, compiler)
    if buffers and (not of_arguments or buffers.again or facts.are_much(buffers, compiler)):
        yield from _of_buffers(case, moment, buffers)
    if not line and told.shows("failing late"):
        yield _WHAT_RUNS_THEN
    if not (of_arguments or line or buffers) and told.shows("environments"):
        yield _FEWER_ENVIRONMENTS
    if not of_arguments and (padding := told.shows("padding to a length")):
        yield _pad_less(padding)
    if evaluates:
        pass  # the rule of that phase says what its batch is
    elif without_batch := _in_parts_without_a_batch(case, moment):
        yield without_batch
    elif not (of_arguments or line or new or initialises(moment)) and (buffers is None or buffers.batch):
        again = ("recompute",) if buffers is None or buffers.recompute else ()
        if not buffers and _may_train(case, moment) and _is_far_from_its_goal(compiler):
            yield _IF_IT_TRAINS
        smaller = () if strange else tuple(remedies.offered(case, moment, "smaller-batch", *again))
        if smaller and not buffers and (many := facts.many_rows(moment)):
            yield _fewer_rows(many)
        yield from smaller
        if not smaller and framework_of(case) == JAX and lists_buffers(moment) and not buffers:
            of_the_call = compiler.cut and not facts.temporaries_left(moment)
            yield less_in_the_call(case, moment) if of_the_call else _AN_AXIS_IN_PARTS
    if not undonated and donatable:
        yield program_account.donate(case, compiler)
    if framework_of(case) == TORCH_XLA and program_account.donatable_bytes(compiler):
        yield program_account.alias(compiler)
    if of_arguments and not alone:
        yield from program_account.smaller_arguments(case, moment, compiler)
    if larger:
        yield larger
    if may_be_larger and not usual:
        yield part_for_jax.LARGER_POOL
    if undecided and not modest:
        yield remedies.ask_what_is_in_use()
    if compiler.cut and not (compiler.needed or buffers) and facts.temporaries_left(moment):
        yield steps_of_torch_xla.LESS_IN_A_STEP
    if compiler.cut and not compiler.needed:
        yield _WHOLE_MESSAGE
    if is_warning_alone(moment):
        yield _THE_ERROR_ITSELF
    elif not lists_buffers(moment) and not line:
        yield remedies.name_the_buffers()
    yield WITHOUT_XLA


def _host_ram_beside(case: Case, moment: Moment, compiler: CompilerMemory) -> Iterator[Remedy]:
    """Host RAM as an extension of a GPU, where the program is a few times as large."""
    total, limit = program_account.whole(compiler), device_limit(case, moment)
    elsewhere = situation(case, moment).device in (CPU, TPU)
    if (
        framework_of(case) == JAX
        and not elsewhere
        and total
        and limit
        and total.bytes < _FEW_TIMES * limit.bytes
    ):
        yield with_host_ram(total.bytes, limit)


_FEW_TIMES = 3
_IF_IT_TRAINS = Remedy(
    "if it is the training step: let the backward pass compute what is in its layers (blocks, message or time"
    " steps) once more instead of keeping it, and compute in bfloat16",
    "layer = jax.checkpoint(layer)   # Flax: nn.remat; Haiku: hk.remat",
    slug="recompute-some",
)


_FAR_FROM_A_GOAL = 2
"""So many times its goal a program is by what it computes, and hardly by a pool that is too small."""


def _is_far_from_its_goal(compiler: CompilerMemory) -> bool:
    """Whether XLA could not make the program nearly small enough."""
    reduced, goal = compiler.reduced_to, compiler.goal
    return bool(reduced and goal and reduced.bytes > _FAR_FROM_A_GOAL * goal.bytes > 0)


def _may_train(case: Case, moment: Moment) -> bool:
    """Whether words alone say that the program trains, and neither code nor a program's name."""
    told = case.capture.surroundings
    if framework_of(case) != JAX or situation(case, moment).training is not None:
        return False
    return told.shows("training in words") is not None and told.setting("recompute") is None


_AN_AXIS_IN_PARTS = Remedy(
    "go through one axis of the largest buffer in parts, where vmap or broadcasting makes all of it at once:"
    " a tenth at a time takes a tenth; 32 bits (complex64) take half of 64",
    "y = jax.lax.map(f, xs, batch_size=len(xs) // 10)   # in the place of jax.vmap(f)(xs)",
    slug="in-blocks",
)


def _in_parts_without_a_batch(case: Case, moment: Moment) -> Remedy | None:
    """What helps where the largest buffers have no axis of the batch."""
    if framework_of(case) != JAX or not case.capture.surroundings.program():
        return None
    from tfmemlens.findings.support.jax_computed import without_a_batch  # reads trees

    return without_a_batch(case, moment)


_KEEPS_MUCH = ("minimal", "minimal_flash", "dots_saveable", "everything_saveable")


def _policy_between(case: Case) -> Remedy | None:
    """A policy of recomputation between the one that is set, which keeps much, and all."""
    stated = case.capture.surroundings.setting("recompute")
    if stated is None or stated[0] not in _KEEPS_MUCH:
        return None
    return Remedy(
        f"{stated[1].place} sets a policy that keeps much ({stated[0]}): take one between it and computing"
        " all again, or let it move what it keeps to the host",
        "python -m ... remat_policy=save_qkv_proj   # or qkv_proj_offloaded, minimal_offloaded, custom",
        slug="recompute-some",
    )


def _names_lines(asked: Line) -> Remedy:
    """What answers which of the lines in a compiled function it is."""
    return replace(
        remedies.name_the_buffers(),
        text=f"{asked.place} asks which line it is: no line fails by itself, since XLA allocates all of a"
        " compiled function at once, and a print in it runs while it is traced. Let XLA write its programs:"
        " their buffer assignments name the largest buffers with their operations and lines, and tfmemlens"
        " reads them; or let the function return earlier, until it fits",
    )


_DRAWS_IN_PARTS = Remedy(
    "where its first dimension counts draws: compute this for some draws at a time, bring each part to"
    " the host,"
    " and leave out sites that nothing reads afterwards",
    slug="fewer-draws",
)


def _of_buffers(case: Case, moment: Moment, buffers: Buffers) -> Iterator[Remedy]:
    told = case.capture.surroundings
    stacked = any(remedy.slug == "stack-less" for remedy in buffers.remedies)
    if stacked and (case.api.library == "NumPyro" or told.shows("sampling")):
        yield _DRAWS_IN_PARTS  # whose scan is the sampler's own
        return
    ran = other_than_training(case, moment.request) if moment.request else None
    forward = ran is not None and ran[0] in (EVALUATION, PREDICTION)
    yield from (CHUNKED_FORWARD if forward and each is CHUNKED else each for each in buffers.remedies)
    if "attention" in buffers.what:
        yield from remedies.offered(case, moment, "mixed-precision")
    if not buffers.batch and buffers.recompute:
        yield from remedies.offered(case, moment, "recompute")


def _fewer_rows(many: int) -> Remedy:
    """An array with more rows than a batch has samples."""
    return Remedy(
        f"these arrays have {many:,} rows, samples times positions or pixels of each: shorten the sequences"
        " (smaller crops), which alone helps where the batch is 1 already",
        slug="shorter-sequences",
    )


def _pad_less(line: Line) -> Remedy:
    return Remedy(
        f"pad less ({line.place} pads every text to one length): to the longest of each batch,"
        " rounded up to a few lengths, since each new shape is compiled anew",
        "tokenizer(texts, padding='longest', pad_to_multiple_of=128, truncation=True)",
        slug="shorter-sequences",
    )


def _ends_of_steps(case: Case, moment: Moment, text: str) -> Iterator[Remedy]:
    """Where the text shows steps of PyTorch/XLA: that each has to end, or what to keep of those that do."""
    told = case.capture.surroundings
    ended = "mark_step" in text or "torch_xla.sync" in text or bool(told.shows("ending steps"))
    ended = ended or steps_of_torch_xla.ended_in_the_traceback(case)
    compiler = moment.incident.compiler if moment.incident else None
    if compiler and program_account.living_results(compiler):
        yield program_account.FEWER_RESULTS
        return
    if helps := told.shows("a smaller batch helps"):
        yield batch_that_runs(helps)
    elif ended:
        kept = f" in `{told.stores[0]}` ({told.stores[1].place})" if told.stores else ""
        yield Remedy(
            f"steps are ended already: keep numbers instead of tensors{kept} (loss.item()), and delete"
            " tensors of earlier steps",
            slug="mark-step",
        )
    elif facts.may_have_grown(case) or steps_of_torch_xla.shows_steps(case, moment):
        yield Remedy(
            "end each step, so that the graph does not grow over several, and keep numbers instead of tensors"
            " (loss.item())",
            "xm.mark_step()   # torch_xla.sync() in newer versions",
            slug="mark-step",
        )
    elif situation(case, moment).training is False:
        yield from steps_of_torch_xla.LESS_IN_A_RUN
    elif answers_one_prompt(case, moment):
        yield _OF_ONE_PROMPT
    else:
        yield steps_of_torch_xla.LESS_IN_A_STEP


_OF_ONE_PROMPT = Remedy(
    "one prompt is a batch of 1 already: smaller images, fewer frames, or a shorter text",
    slug="smaller-input",
)


_LESS_OF_SLOTS = (
    Remedy(
        "shard weights, gradients and the optimizer's state over the cores (FSDP): each then keeps its part"
        " of all of them, where data parallelism keeps all on each core",
        "model = FSDP(model)   # XlaFullyShardedDataParallel of torch_xla.distributed.fsdp, first of all",
        slug="shard-arguments",
    ),
    Remedy(
        "take an optimizer that keeps less (Adafactor, SGD), or train weights in bfloat16: Adam's state has"
        " the dtype of the weights",
        "optimizer = transformers.Adafactor(model.parameters(), scale_parameter=True, relative_step=True)",
        slug="less-optimizer-state",
    ),
    Remedy(
        "or train a part of the weights (LoRA, frozen layers): the others get neither gradients nor state",
        slug="low-rank-tuning",
    ),
)


def _let_go(case: Case, moment: Moment) -> Iterator[Remedy]:
    """What frees a device that earlier steps filled, for each framework."""
    text = (moment.request.failed.source_text if moment.request else None) or ""
    if facts.moves_weights(moment):
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
    if facts.makes_slots(moment):
        yield from _LESS_OF_SLOTS
        return
    if seldom := steps_of_torch_xla.ended_in_some_turns(case):
        yield steps_of_torch_xla.end_each_pass(seldom)
        return
    if framework_of(case) == TORCH_XLA:
        yield from _ends_of_steps(case, moment, text)
    if steps_of_torch_xla.sharded_in_words(case):
        yield steps_of_torch_xla.SEE_THAT_WRAPPED
    yield Remedy(
        "let go of arrays and programs of earlier steps: drop references to them, or give buffers back",
        "del x; jax.clear_caches()   # x.delete()",
        slug="drop-references",
    )
    if framework_of(case) == JAX and program_account.replaces_its_state(case):
        yield program_account.donate_state(case)


_RAM = regex(
    r"(?i)(?<![\d.])(?P<size>\d{1,5}) ?Gi?B?(?: of)?(?: system| host| main)? (?:RAM|memory on the host)\b"
)
_AND_MORE = 1.25
"""What a program takes beside its largest block, as a rule of thumb."""
_FOR_THE_POOL = 0.8
"""The part of a machine's RAM that one pool may have."""


def _of_the_machine(case: Case) -> tuple[int, Line] | None:
    """How much RAM the writer says the machine has, and where."""
    line = case.capture.surroundings.shows("host RAM named")
    found = _RAM.search(line.text) if line else None
    return (int(found["size"]) * GIB, line) if found and line else None


def more_unified(case: Case, moment: Moment) -> Iterator[Remedy]:
    """With unified memory the pool may be larger than the GPU, as many times as a setting says."""
    told, limit = case.capture.surroundings, device_limit(case, moment)
    asked = moment.request.failed.size if moment.request else None
    if told.setting("TF_FORCE_UNIFIED_MEMORY") is None or asked is None:
        return
    if told.shows("unified memory refused"):
        return  # the host has no more to give
    yield from unified.in_effect(case)
    part = part_for_jax.stated(told)
    no_pool, inactive = unified.without_the_pool(told), unified.not_in_effect(case)
    if (no_pool or inactive) and (part is None or part.above_all):
        return
    set_to = f" ({part.line.place}: {part.written})" if part else ""
    if part and not part.above_all:
        set_to += ", which leaves host RAM out where it is below 1"
    above = part.value if part and part.above_all else 1
    one = limit.bytes / above if limit and limit.bytes else None
    times = max(4, math.ceil(_AND_MORE * asked.bytes / one)) if one else 8
    if part and part.above_all:
        held_besides = one is not None and asked.bytes < one * above
        times = max(
            times, math.ceil(2 * part.value) if held_besides or not one else math.ceil(part.value) + 1
        )
    if one and (ram := _of_the_machine(case)):
        most = math.floor((one + _FOR_THE_POOL * ram[0]) / one)
        if most * one < asked.bytes or most <= above:
            return  # the machine has no room for a pool that holds this
        times = min(times, most)
        set_to += f"; this machine has {human(ram[0])} of RAM ({ram[1].place})"
    yield Remedy(
        "with unified memory JAX may use host RAM, too, up to XLA_PYTHON_CLIENT_MEM_FRACTION times what the"
        f" GPU has{set_to}: raise it, as far as the host has room for all of it",
        f"export XLA_PYTHON_CLIENT_MEM_FRACTION={times}.0   # with TF_FORCE_UNIFIED_MEMORY=1",
        slug="more-unified-memory",
    )
