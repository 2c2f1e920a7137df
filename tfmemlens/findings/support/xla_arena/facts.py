"""What a text shows of a request of XLA's, one question each."""

from __future__ import annotations

import math
import re

from tfmemlens.findings.support import part_for_jax, program_account, weights_on_a_tpu
from tfmemlens.findings.support.main_buffers import Buffers
from tfmemlens.findings.support.phase import other_than_training
from tfmemlens.findings.support.pool_of_jax import as_large_as_a_pool
from tfmemlens.findings.support.rows import (
    after_rematerialisation,
    device_limit,
    is_warning_alone,
    lists_buffers,
    of_a_program,
    rows,
)
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, TORCH_XLA, framework_of, situation
from tfmemlens.findings.support.stated_sizes import Product, as_product
from tfmemlens.findings.support.stated_weights import StatedWeights, stated_weights
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.incident import TEMPORARIES, CompilerMemory, Frame
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import ITEM_BYTES, format_shape, numpy_dtype
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, Size, human, human_size, parse_size

_TILES = "the tiles that a kernel works on"
HOLDS = {
    "vmem": _TILES,
    "cmem": _TILES,
    "smem": "scalars: indices and tables of them that a kernel is given",
    "sflag": "the semaphores of kernels and copies",
    "imem": "the program itself",
}
"""What each of a TPU core's small memories is for."""
SMALL_BYTES = 256 * MIB
SMALL_ARRAY = 384 * MIB
"""A twentieth of the smallest GPUs that JAX is used on: a single array below it fails only on a full one."""
SMALL_SHARE = 0.03
OF_ONE_OPERATION = 0.15
"""Of a device: one operation that needs less, with all that it is given, fails on a full one alone."""
SMALL_OPERATION = 600 * MIB
"""The same share of a GPU of 4 GiB, where no limit is known."""
MUCH = 0.25
PART = 0.1
MOST_OF_A_DEVICE = 0.95
MAX_GAIN = MOST_OF_A_DEVICE / 0.75
"""What a pool of 95 % of the device holds for one that JAX takes unless told otherwise."""
LARGE_REQUEST = 4 << 30
LARGEST_DEVICE = 288 << 30
FULL = 0.9
"""Of the pool's map: what is left are pieces."""
_HOST_SPACE = "host"
_CAPTURED = regex(r"constants were captured during lowering \((?P<size>[\d.]+ ?[KMGT]i?B) total\)")
_MODULE = regex(r"torch[/\\]nn[/\\]modules[/\\]module\.py")
_IN_VAIN = regex(r"not usable: (?:ShapedArray\()?(?P<array>\w+\[[\d,]*\])")
_WAITS = regex(r"\bblock_until_ready\b|\bdevice_get\(|\.item\(\)|\A\s*(?:\w+\s*=\s*)?(?:print|float|int)\(\w")
_INSTRUCTION = regex(
    r"(?:[a-z-]*fusion|reduce|reduce-window|copy|convolution|dot|sort|scatter|gather|while|transpose|reshape"
    r"|broadcast|concatenate|pad|select-and-scatter|dynamic-(?:update-)?slice|all-\w+)[.\d]*(?:\.clone)?\Z"
)
"""The name of an instruction of XLA's own, rather than of a kernel."""
_KERNEL = regex(r"(?P<name>[^/\s]{1,120})/pallas_call\b")
_CALLS = regex(r"(?:PartitionedCall|\bcluster_\d|XlaRun|XlaLaunch|_XlaCompile)")
_OF_TENSORFLOW = ((4, "float32"), (2, "16 bits"))


def mostly_sparse_core(compiler: CompilerMemory) -> Size | None:
    """What of a program SparseCore takes, where that is most of it."""
    sparse, tensor = compiler.section("SparseCore"), compiler.section("TensorCore")
    return sparse if sparse and tensor and sparse.bytes > tensor.bytes else None


def on_chip(moment: Moment) -> str | None:
    """The name of a TPU core's own small memory, where that ran out rather than HBM."""
    space = moment.request.failed.allocator if moment.request else None
    return space if space in HOLDS else None


def of_the_compiler(case: Case, moment: Moment) -> bool:
    """Whether what found no room on the chip is most likely code that XLA made for an op: of a program, not
    JAX's, in which nothing speaks of a kernel that is written by hand.
    """
    told = case.capture.surroundings
    own = kernel(moment) or told.shows("a kernel of its own") or told.shows("program: a server")
    return framework_of(case) != JAX and not own


def kernel(moment: Moment) -> str | None:
    """The name of the kernel that found no room: the message's, else the one in the name of the largest
    buffer (`jit(step)/jit(attention)/RPA_bq_512/pallas_call`).
    """
    told = moment.request.failed.executable if moment.request else None
    if told and not _INSTRUCTION.match(told):
        return told
    names = (row.allocation.node or "" for row in rows(moment)[:_NAMED_BY])
    return next((match["name"] for name in names if (match := _KERNEL.search(name))), None)


def last_op(moment: Moment) -> tuple[str, str] | None:
    """The op of the line that the traceback ends in, a library's too, with its place: `cumsum`."""
    failed = moment.request.failed if moment.request else None
    last = failed.frames[-1] if failed and failed.frames else None
    ops = [match["op"] for match in _OPS.finditer(last.text or "")] if last else []
    return (ops[-1], "/".join(re.split(r"[\\/]", last.place)[-2:])) if last and ops else None


_OPS = regex(
    r"\b(?P<op>cum(?:sum|prod|max)|(?:arg)?sort|top_?k|unique|nonzero|where|masked_(?:fill|select)|einsum"
    r"|b?mm|matmul|dot_general|conv(?:1d|2d|3d|_general_dilated)?|softmax|gather|scatter\w*"
    r"|index_(?:select|add|put)|searchsorted"
    r"|one_hot|multinomial|interpolate|(?:log)?sumexp|cross_entropy|roll|fft\w*|device_put)\("
)
"""Ops with code of their own, which a traceback may end in."""


def spilled_bytes(moment: Moment) -> int:
    """What of the chip's memory keeps registers that the code of a kernel had no room for."""
    return sum(row.allocation.total_bytes for row in rows(moment) if row.allocation.node == _SPILLS)


_SPILLS = "register spill slots"
_NAMED_BY = 3
"""So many of the largest buffers tell which kernel it is: slots for registers have no name."""


def row_for_each_nonzero(moment: Moment) -> str | None:
    """The largest buffer, `f32[4000000,512]`, where a sparse product gathers the dense matrix's row for each
    nonzero; None where the largest is another.
    """
    first = next(iter(rows(moment)[:1]), None)
    if first is None or len(first.allocation.shape or ()) != 2:
        return None
    of_product = "bcoo_dot_general" in (first.allocation.node or "")
    return f"{first.allocation.dtype or ''}{list(first.allocation.shape or ())}" if of_product else None


def heavy_to_train(case: Case, moment: Moment, compiler: CompilerMemory) -> StatedWeights | None:
    """The weights that the text states, where training all of them takes more than the device has; not where
    the program's temporaries alone are more than that.
    """
    weights, has = stated_weights(case.capture.surroundings), compiler.capacity
    if has and compiler.temporaries and compiler.temporaries.bytes > has.bytes:
        return None
    if weights is None or has is None or on_chip(moment) or weights_on_a_tpu.given_less(compiler, weights):
        return None
    if situation(case, moment).training is not True or _spreads_weights(case):
        return None
    return weights if weights.trained_bytes > has.bytes else None


_SPREADS = regex(
    r"(?i)\bsharding_(?:array|axis_dims)\s*=|\b(?:ici_|dcn_)?fsdp\w*\s*[=:]\s*(?!1\b|false|none)\S"
    r"|\bmesh_dims?\s*=|\bset_distribution\(ModelParallel"
)


def _spreads_weights(case: Case) -> bool:
    """Whether the code spreads weights over devices, each of which then holds a part of what all take."""
    return any(_SPREADS.search(line.text) for line in case.capture.surroundings.code)


def loads_a_program(moment: Moment) -> bool:
    """Whether a TPU found no room for a program, whose part of the device is its bottom: what it asks for is
    the program's own, and no array's.
    """
    line = moment.request.failed.line if moment.request else None
    return line is not None and bool(_PROGRAM_OF_A_TPU.search(line.text))


_PROGRAM_OF_A_TPU = regex(r"\bat the bottom of memory\b|\bError loading program\b")


BETWEEN_PROCESSES = "jax: compared between processes"
_OVER_BATCHES = regex(r"\A\s*for \w[\w, ()]* in [^:]*(?:load|batch|data)[^:]*:")
"""A loop over a loader, whose turns are steps."""


def exceeds_the_device(case: Case, moment: Moment) -> bool:
    """Whether it is more than a device of the TPU that the text names has altogether."""
    known = weights_on_a_tpu.generation(case)
    size = moment.request.failed.size if moment.request else None
    return bool(known and size and size.low > known[1])


def may_have_grown(case: Case) -> bool:
    """Whether the text tells that it went well before, so that something of earlier steps may lie there."""
    told = case.capture.surroundings
    said = ("growing in words", "failing late", "many runs before", "kept in words")
    return bool(told.stores or told.steps or any(map(told.shows, said)))


def in_host_space(moment: Moment) -> bool:
    """Whether a TPU program's values on the host, where arrays are offloaded to, found no room."""
    return bool(moment.request and moment.request.failed.allocator == _HOST_SPACE)


def is_scoped(moment: Moment) -> bool:
    """Whether the kernel met the limit that was set for it, rather than the end of the chip's memory."""
    line = moment.request.failed.line if moment.request else None
    return line is not None and "scoped" in line.text.lower()


def over(compiler: CompilerMemory) -> str:
    """By how much it does not fit, in the compiler's own figure where it gives one."""
    if compiler.excess:
        return human_size(compiler.excess)
    assert compiler.needed and compiler.capacity
    return f"about {human(max(compiler.needed.bytes - compiler.capacity.bytes, 0))}"


def explains_little(buffers: Buffers | None, compiler: CompilerMemory) -> bool:
    """Whether the largest temporaries are a small part beside what is given back in memory of its own."""
    need = compiler.needed.bytes if compiler.needed else 0
    return buffers is not None and program_account.undonated(compiler) and buffers.bytes < PART * need


def ends_no_step(case: Case) -> bool:
    """Whether the code that the text quotes trains with PyTorch/XLA, keeps tensors of its steps or goes over
    a loader, and ends none of them.
    """
    told = case.capture.surroundings
    whole = any(_OVER_BATCHES.search(line.text) for line in told.code)
    loop = told.shows("stepping") and (told.stores or told.shows("reading seldom") or whole)
    return framework_of(case) == TORCH_XLA and bool(loop) and not told.shows("ending steps")


_WITHOUT_GRADIENT = regex(r"\bno_grad\(|\binference_mode\(")
_FETCHES = regex(r"\.(?:cpu|item|numpy|tolist)\(")


def joins_all_turns(case: Case) -> tuple[str, Line] | None:
    """The list in which a loop of PyTorch/XLA without gradients keeps what each turn gives, where nothing
    ends a step and the line brings nothing to the host.
    """
    told = case.capture.surroundings
    if framework_of(case) != TORCH_XLA or told.shows("ending steps") or not told.stores:
        return None
    without = any(_WITHOUT_GRADIENT.search(line.text) for line in told.code)
    return told.stores if without and not _FETCHES.search(told.stores[1].text) else None


def captured(case: Case, compiler: CompilerMemory, size: Size | None) -> str | None:
    """The constants that JAX warned of when it compiled, as printed, where they are half of the request and
    the compiler's account does not say otherwise.
    """
    line = case.capture.surroundings.shows("capturing")
    match = _CAPTURED.search(line.text) if line else None
    if match is None or size is None or compiler.constants is not None:
        return None
    constants = parse_size(match["size"])
    return match["size"] if 2 * constants.bytes > size.bytes else None


def closed_over(case: Case, moment: Moment, compiler: CompilerMemory) -> tuple[str, str] | None:
    """What a jitted function without arguments gives back that it closes over, with the place of the line: of
    `jit(lambda: state, out_shardings=shardings)()` the state, whole. None where the compiler counts its
    constants, and they are little.
    """
    failed = moment.request.failed if moment.request else None
    if failed is None or (compiler.constants is not None and not program_account.mostly_constants(compiler)):
        return None
    if framework_of(case) != JAX:
        return None
    if match := _GIVES_BACK.search(failed.source_text or ""):
        return match["name"], "the line that failed"
    line = case.capture.surroundings.shows("jax: closed over")
    match = _GIVES_BACK.search(line.text) if line else None
    alone = not (failed.source_text or failed.executable)
    return (match["name"], line.place) if line and match and alone else None


_GIVES_BACK = regex(r"\bp?jit\(\s*lambda\s*:\s*\(?(?P<name>[A-Za-z_][\w.]{0,60})\)?\s*[,)]")


def donated_in_vain(case: Case, moment: Moment) -> str | None:
    """The first donated array that JAX could not use, as printed; where the program's buffers are listed,
    they tell more.
    """
    line = case.capture.surroundings.shows("donating in vain")
    match = _IN_VAIN.search(line.text) if line and not lists_buffers(moment) else None
    return match["array"] if match else None


def of_one_graph(case: Case, buffers: Buffers | None) -> bool:
    """Whether the text says that a graph network works on its whole graph, and no buffer says otherwise."""
    return buffers is None and bool(case.capture.surroundings.shows("whole graph"))


def waits(moment: Moment) -> bool:
    """Whether the user's failing line waits for what was computed before it."""
    failed = moment.request.failed if moment.request else None
    return failed is not None and bool(_WAITS.search(failed.source_text or ""))


def of_an_op(case: Case, moment: Moment) -> bool:
    """Whether TensorFlow names a plain op of its graph beside XLA's words, which its allocators use, too."""
    node = moment.request.failed.node if moment.request else None
    compiled = case.capture.surroundings.setting("jit_compile")
    if framework_of(case) != TENSORFLOW or not node or of_a_program(moment):
        return False
    return "/" in node and not _CALLS.search(node) and (compiled is None or compiled[0] != "True")


def stated(case: Case, moment: Moment) -> Product | None:
    """The sizes of the text whose product the request is, where a plain op of TensorFlow's asked."""
    size = moment.request.failed.size if moment.request else None
    if size is None or not size.exact or not of_an_op(case, moment):
        return None
    return as_product(size.bytes, case.capture.surroundings.sizes, items=_OF_TENSORFLOW)


def is_full(case: Case, moment: Moment, compiler: CompilerMemory) -> bool:
    """Whether so small a request failed that the device must have been full before it; of a program all
    that it needs must be small, too.
    """
    size = moment.request.failed.size if moment.request else None
    if size is None or compiler.free or on_chip(moment) or compiler.reduced_to or compiler.capacity:
        return False
    needed = max(size.bytes, (program_account.whole(compiler) or size).bytes)
    limit = device_limit(case, moment)
    if limit:
        return needed < (OF_ONE_OPERATION if compiler.one_operation else SMALL_SHARE) * limit.bytes
    if compiler.one_operation:
        return needed < SMALL_OPERATION
    return needed < (SMALL_BYTES if of_a_program(moment) else SMALL_ARRAY)


def beside_tensorflow(case: Case, moment: Moment) -> bool:
    """Whether TensorFlow is in a program of JAX's, too, and nothing says that it leaves the GPU alone, nor
    that JAX's own pool is what is full.
    """
    told = case.capture.surroundings
    occupied = moment.incident.state.occupied if moment.incident else None
    if framework_of(case) != JAX or not told.shows("jax: TensorFlow beside") or occupied is not None:
        return False
    return not any(_LEFT_ALONE.search(line.text) for line in told.code)


_LEFT_ALONE = regex(r"set_visible_devices|set_memory_growth|CUDA_VISIBLE_DEVICES")


def of_tests_alone(case: Case) -> bool:
    """Whether requests of some bytes fail in one test after the other, and none that is larger: whatever
    fills a device, tests that need nothing do not all find it full at their first number.
    """
    failed = [moment.request.failed for moment in case.moments if moment.request]
    times = sum(moment.incident.occurrences for moment in case.moments if moment.incident)
    of_tests = all(each.line and _A_TEST.search(each.line.text) for each in failed)
    return (
        of_tests and times >= _SEVERAL and all(each.size and each.size.high <= _SOME_BYTES for each in failed)
    )


_A_TEST = regex(r"\bFAILED \S{1,200}::\S{1,200}|\b(?:FAIL|ERROR): test\w{1,120}")
"""How pytest and unittest name a test that failed."""
_SEVERAL, _SOME_BYTES = 3, 1024


def is_arena(compiler: CompilerMemory, size: Size | None) -> bool:
    """Whether the request is the arena that the compiler's account names, as far as printed figures tell."""
    return is_part(compiler.temporaries, size)


def short_of_its_goal(case: Case, moment: Moment, compiler: CompilerMemory) -> str | None:
    """What the compiler says that a program needs against what it tried to need. A program that asks for
    more than it says was laid out otherwise than it reckoned.
    """
    if compiler.reduced_to is None or compiler.goal is None or not compiler.goal.bytes > 0:
        return None
    if after_rematerialisation(moment) != compiler.reduced_to:
        return (
            f"the compiler reckoned with {human_size(compiler.reduced_to)} after rematerialisation (its goal"
            f" was {human_size(compiler.goal)}), and the program asks for more than that in one piece all the"
            " same"
        )
    return (
        f"even after rematerialisation it needs {human_size(compiler.reduced_to)}, and"
        f" {human_size(compiler.goal)} was the compiler's goal{_what_the_device_has(case, moment)}"
    )


def _what_the_device_has(case: Case, moment: Moment) -> str:
    """That a program of which a warning alone is quoted may find room on the device that the text names."""
    limit = device_limit(case, moment)
    need = after_rematerialisation(moment)
    if limit is None or need is None or not is_warning_alone(moment):
        return ""
    if need.bytes >= limit.bytes:
        return f"; the device has {human(limit.bytes)}, so it most likely did not fit"
    return (
        f"; the device has {human(limit.bytes)}, and may have room for it unless others hold much of it,"
        " so the error decides whether memory is the cause"
    )


def temporaries_left(moment: Moment) -> bool:
    """Whether what is left of a cut list are temporaries, which depend on the batch."""
    left = rows(moment)
    return bool(left) and all(row.allocation.purpose in TEMPORARIES for row in left)


def largest_that_is_left(moment: Moment) -> str:
    """`; the largest that is left is [512,16,3072] bfloat16 (48 MiB), a temporary that a reshape makes`."""
    left = rows(moment, lambda row: bool(row.allocation.shape))
    if not left:
        return ""
    first = left[0].allocation
    if all(row.allocation.purpose in _ARGUMENTS for row in left):
        return f"; what is left of it are arguments of at most {human(first.size_bytes)}, and not the largest"
    what = f"{format_shape(first.shape)} {first.dtype or ''}".rstrip()
    kind = ", a temporary" if first.purpose in TEMPORARIES else ""
    maker = (first.op or first.node or "").lstrip("%")
    made = f" that `{maker}` makes" if kind and maker else ""
    said = f"; the largest that is left is {what} ({human(first.size_bytes)}){kind}{made}"
    compiler = moment.incident.compiler if moment.incident else None
    before = compiler.before if compiler else 0
    if not before or len(left) != len(rows(moment)):
        return said
    together = (before + 1) * first.size_bytes
    return (
        f"{said}: the list is sorted, and it is the {ordinal(before + 1)}, so the first {before + 1} take"
        f" {human(together)} or more"
    )


def ordinal(number: int) -> str:
    """`1st`, `22nd`, `113th`."""
    teens = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teens else _ENDINGS.get(number % 10, 'th')}"


_ARGUMENTS = ("parameter", "arguments")
"""What XLA's lists call what a program is given."""
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def many_rows(moment: Moment) -> int | None:
    """The rows of the largest array that is left of a cut list, where they are more than any batch has."""
    compiler = moment.incident.compiler if moment.incident else None
    left = rows(moment, lambda row: bool(row.allocation.shape) and row.allocation.purpose in TEMPORARIES)
    shape = left[0].allocation.shape if left and compiler and compiler.cut else None
    if not shape or len(shape) != _OF_A_TABLE or not shape[0] or not shape[1]:
        return None
    return shape[0] if shape[0] >= _MANY_ROWS and shape[1] <= _FEATURES else None


_OF_A_TABLE, _MANY_ROWS, _FEATURES = 2, 1 << 16, 1 << 14


def is_part(part: Size | None, size: Size | None) -> bool:
    """Whether the request may be this part of the program, as far as printed figures tell."""
    return bool(part and part.bytes and size and part.may_be(size.bytes))


def may_be_what_was_held(case: Case, moment: Moment) -> bool:
    """Whether nothing tells what the request is, nor what was held before it."""
    request = moment.request
    if request is None or not request.failed.size or framework_of(case) != JAX or of_a_program(moment):
        return False
    limit = device_limit(case, moment)
    known = moment.balance.in_use or case.capture.surroundings.readings
    most = MOST_OF_A_DEVICE * limit.bytes if limit else LARGEST_DEVICE
    alone = request.failed.size.bytes > most
    return not (known or alone or other_than_training(case, request))


def is_modest(case: Case, moment: Moment) -> bool:
    """Whether the request is no such large part of a device that it must be to blame."""
    size = moment.request.failed.size if moment.request else None
    limit = device_limit(case, moment)
    return size is not None and size.bytes < (MUCH * limit.bytes if limit else LARGE_REQUEST)


def are_much(buffers: Buffers, compiler: CompilerMemory) -> bool:
    """Whether these are worth a change although the arguments are more than half of the program."""
    whole = compiler.section("total") or compiler.needed
    return bool(whole) and buffers.bytes > MUCH * (whole.bytes if whole else 0)


def moves_weights(moment: Moment) -> bool:
    """Whether PyTorch was moving a module to the device."""
    failed = moment.request.failed if moment.request else None
    return failed is not None and any(
        _MODULE.search(frame.place) and frame.name in ("convert", "_apply", "to") for frame in failed.frames
    )


_OPTIMIZER = regex(r"torch[/\\]optim[/\\]\w+\.py|torch_xla[/\\]\S*\bsyncfree\b")
_SLOT = regex(r"\bstate\[[^\]]+\]\s*=(?!=)|\b(?:zeros|full|empty|ones)_like\(")


def makes_slots(moment: Moment) -> Frame | None:
    """The frame in which an optimizer of PyTorch's makes what it keeps of each weight, in its first step."""
    failed = moment.request.failed if moment.request else None
    frames = failed.frames if failed else ()
    return next(
        (each for each in reversed(frames) if _OPTIMIZER.search(each.place) and _SLOT.search(each.text)), None
    )


def larger_pool_may_do(case: Case, moment: Moment, compiler: CompilerMemory) -> bool:
    """Whether the pool at its largest may hold what is needed, as far as the pool is known."""
    told = case.capture.surroundings
    if told.shows("sharing the device") or told.setting("TF_FORCE_UNIFIED_MEMORY"):
        return False  # a larger part leaves others less
    pool, device = compiler.goal or moment.balance.limit, device_limit(case, moment)
    asked = moment.request.failed.size if moment.request else None
    needed = after_rematerialisation(moment) or program_account.whole(compiler) or asked
    if needed is None or not (pool or device):
        return False
    kept = moment.balance.in_use
    beside = kept.low if kept and compiler.goal is None else 0
    most = MAX_GAIN * pool.high if pool else MOST_OF_A_DEVICE * (device.high if device else 0)
    return needed.low + beside <= most


def usual_pool(case: Case, moment: Moment) -> Line | None:
    """The line of a table in which JAX has its usual part of the device and no more, where what it leaves is
    at least half of what was asked for.
    """
    told, device = case.capture.surroundings, device_limit(case, moment)
    asked = moment.request.failed.size if moment.request else None
    set_by_hand = any(name.startswith("XLA_PYTHON_CLIENT_") for name, _, _ in told.settings)
    if framework_of(case) != JAX or set_by_hand or asked is None or device is None:
        return None
    left = (MOST_OF_A_DEVICE - part_for_jax.USUAL) * device.bytes
    return as_large_as_a_pool(told) if 2 * left >= asked.bytes else None


def operand_of_a_trial(case: Case, moment: Moment) -> tuple[str, Line] | None:
    """The array of the tried convolution that is the request to the byte, and the line that has it: the
    program holds as large a one whatever algorithm is taken.
    """
    failed = moment.request.failed if moment.request else None
    size = failed.size if failed else None
    line = case.capture.surroundings.shows("a convolution that is tried")
    if size is None or line is None:
        return None
    for match in _OPERAND.finditer(line.text):
        item = ITEM_BYTES[numpy_dtype(match["type"])]
        if math.prod(map(int, match["sizes"].split(","))) * item == size.bytes:
            return match[0], line
    return None


_OPERAND = regex(r"\b(?P<type>f64|f32|bf16|f16)\[(?P<sizes>\d{1,9}(?:,\d{1,9}){1,6})\]")


def trained_by_keras(case: Case, moment: Moment) -> bool:
    """Whether Keras trains on TensorFlow: its loop keeps no arrays of earlier steps."""
    return framework_of(case) == TENSORFLOW and bool(
        situation(case, moment).training or case.capture.surroundings.shows("fitting")
    )
