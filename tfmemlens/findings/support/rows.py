"""Small questions that several rules ask of a moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tfmemlens.findings.support import part_for_jax
from tfmemlens.knowledge.bfc import MAX_WASTE_BYTES
from tfmemlens.model.allocation import BEFORE, PIPELINE, Allocation
from tfmemlens.model.attribution import Attribution, Kind, Owner, Phase
from tfmemlens.model.case import Balance, Case, Moment, Naming, Request
from tfmemlens.model.finding import Evidence
from tfmemlens.model.incident import FailedRequest
from tfmemlens.model.tensor import format_shape, tensor_bytes
from tfmemlens.model.timeline import CurveSource, Timeline
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, Size, human, human_size, round_up


class Row(NamedTuple):
    """A row of a moment's table with its owner and the tensor behind it."""

    allocation: Allocation
    owner: Owner
    naming: Naming | None
    code: str = ""
    """The user's line that made it, where a rule reads that, too."""


def rows(moment: Moment, test: Callable[[Row], bool] = lambda _: True) -> list[Row]:
    """The rows for which the test holds, largest first."""
    namings = moment.namings or (None,) * len(moment.attribution.table)
    ranked = (
        Row(allocation, owner, namings[index]) for allocation, owner, index in moment.attribution.ranked
    )
    return list(filter(test, ranked))


def total(counted: list[Row]) -> int:
    """Bytes of these rows together."""
    return sum(row.allocation.total_bytes for row in counted)


def of_kind(moment: Moment, *kinds: Kind) -> list[Row]:
    """The rows of these kinds, largest first."""
    namings = moment.namings or (None,) * len(moment.attribution.table)
    ranked = [each for kind in kinds for each in moment.attribution.ranked_by_kind.get(kind, ())]
    if len(kinds) > 1:
        ranked.sort(key=lambda each: (-each[0].total_bytes, each[2]))
    return [Row(allocation, owner, namings[index]) for allocation, owner, index in ranked]


def layers_of(moment: Moment, kind: Kind) -> dict[str, int]:
    """The layers that hold bytes of a kind, and how many, the largest first."""
    held_by = {
        group.name: dict(group.kinds).get(kind, 0)
        for group in moment.attribution.by("layer")
        if group.name is not None
    }
    return dict(sorted(((name, size) for name, size in held_by.items() if size), key=lambda each: -each[1]))


_NAMED, _WORTH_NAMING = 2, 0.2
"""Layers that a sentence names, and the share of a kind that the second of them has."""


def most_in(moment: Moment, kind: Kind) -> str:
    """`, most in conv1, conv2` where these hold more than half of a kind, else over how many layers it is
    spread; nothing where no layer is named.
    """
    layers, whole = layers_of(moment, kind), total(of_kind(moment, kind))
    named = [name for name, size in layers.items() if size >= _WORTH_NAMING * whole] or list(layers)
    named = named[:_NAMED]
    if not named:
        return ""
    if 2 * sum(layers[name] for name in named) > whole:
        return f", most in {', '.join(named)}"
    return f", spread over {len(layers)} layers, the largest {', '.join(named)}"


def quote(row: Row) -> Evidence:
    """A row as evidence: what it holds, and the input's line."""
    allocation = row.allocation
    times = f", x{allocation.count}" if allocation.count > 1 else ""
    named = f" = {row.naming.best.tensor}" if row.naming else ""
    return Evidence(f"{row_name(row)}: {human_size(size_of(allocation))}{named}{times}", allocation.line)


def row_name(row: Row) -> str:
    """A row's node, or what is known of a row that has none."""
    allocation = row.allocation
    if allocation.node:
        return allocation.node
    shape = f" {format_shape(allocation.shape)} {allocation.dtype}" if allocation.shape is not None else ""
    what = f"an unnamed {allocation.op}" if allocation.op else "a buffer without a name"
    if allocation.purpose == "parameter":
        what = "an argument of the program"
    return what + shape


def size_of(allocation: Allocation) -> Size:
    """The size of one execution with its error bar."""
    return Size(
        allocation.size_bytes,
        allocation.size_bytes - allocation.error_bytes,
        allocation.size_bytes + allocation.error_bytes,
    )


def failures(case: Case) -> Iterator[tuple[int, Moment]]:
    """The moments that are failed requests, with their index."""
    return ((index, moment) for index, moment in enumerate(case.moments) if moment.request)


def requests(case: Case) -> Iterator[tuple[int, Moment, Request]]:
    """The same with what was asked for."""
    return ((index, moment, moment.request) for index, moment in enumerate(case.moments) if moment.request)


def attributed(moment: Moment) -> bool:
    """Whether the moment names who holds the memory, rather than only how much is held."""
    return any(owner.kind is not Kind.UNATTRIBUTED for owner in moment.attribution.owners)


def lists_buffers(moment: Moment) -> bool:
    """Whether the moment lists what it speaks of: of a failure more than an allocator's nameless blocks."""
    return len(moment.attribution.table) > 0 and not moment.lists_blocks_alone


def has_backward(moment: Moment) -> bool:
    """Whether anything of a backward pass is alive or was being computed."""
    request = moment.request
    in_rows = any(owner.phase is Phase.GRADIENT for owner in moment.attribution.owners)
    in_rows = in_rows or bool(moment.counted and _counts_gradients(moment.counted))
    return in_rows or bool(request and request.owner.phase is Phase.GRADIENT)


_LEAST_GRADIENTS = 0.5
"""Of what was counted: less may be of another branch, whose backward pass began before."""


def _counts_gradients(counted: Attribution) -> bool:
    """Whether the program counted gradients that are more than some left from before."""
    sizes = {group.name: group.total_bytes for group in counted.by("kind")}
    return sizes.get(Kind.GRADIENT, 0) > _LEAST_GRADIENTS * counted.table.total_bytes


_BESIDE_OPS, _FEW = (BEFORE, PIPELINE), 10


def is_forward_only(moment: Moment) -> bool:
    """Whether a traced step is known to have no backward pass: all that ran is known, or all that allocated
    much is of functions, and nothing that allocated computes gradients.
    """
    timeline = moment.timeline
    if (
        timeline is None
        or timeline.predicted
        or not (len(timeline.executions.node) or _is_of_functions(timeline))
        or any(phase.name == "backward" for phase in moment.phases)
    ):
        return False
    return not any(
        "gradient" in node or "_grad" in node or "Backprop" in node for node in timeline.table.node if node
    )


def _is_of_functions(timeline: Timeline) -> bool:
    """Whether every allocation is known, and the largest have scopes: an eager op has none, nor does it tell
    that it computes a gradient.
    """
    table = timeline.table
    named = [row for row, node in enumerate(table.node) if node and table.purpose[row] not in _BESIDE_OPS]
    largest = sorted(named, key=lambda row: -table.size_bytes[row])[:_FEW]
    exact = timeline.curve_source is CurveSource.EVENTS
    return exact and bool(largest) and all("/" in (table.node[row] or "") for row in largest)


def of_blocks(count: int) -> str:
    """`1 block`, `17 blocks`."""
    return "1 block" if count == 1 else f"{count} blocks"


def index_of(case: Case, moment: Moment) -> int:
    """The moment's place among the case's."""
    return next(at for at, known in enumerate(case.moments) if known is moment)


_ALONE = regex(
    r"jit_+(?P<op>add|subtract|multiply|(?:true_)?divide|floor_divide|negative|power|square|sqrt|exp|log"
    r"|log1p|expm1|sin|cos|tanh|abs|sign|maximum|minimum|clip|where|greater|less|equal|logical_and|logical_or"
    r"|copy|convert_element_type|broadcast_in_dim|concatenate|transpose|real|imag|conj)\Z"
)


def moves_an_array(moment: Moment) -> bool:
    """Whether it is JAX's own program that gives an array another sharding, which computes nothing."""
    program = moment.request.failed.executable if moment.request else None
    return program is not None and bool(_RESHARDS.search(program))


_RESHARDS = regex(r"\A(?:jit_)?_identity_fn\Z")


def op_alone(moment: Moment) -> str | None:
    """The one operation of JAX that ran by itself, outside of jit: it has no temporaries."""
    failed = moment.request.failed if moment.request else None
    found = _ALONE.match(failed.executable or "") if failed else None
    return found["op"] if found else None


def device_limit(case: Case, moment: Moment) -> Size | None:
    """What the device can hold: the allocator's limit, else the user's word, else what TensorFlow logged of
    the device, `nvidia-smi` shows or the text says. Host RAM is not bounded by what a GPU holds, and a pool
    of unified memory by as many times that as it is told.
    """
    limit, told = _limit_of_one(case, moment), case.capture.surroundings
    pool = part_for_jax.stated(told) if told.setting("TF_FORCE_UNIFIED_MEMORY") else None
    if limit is None or pool is None or not pool.above_all or _is_stated(case, moment):
        return limit
    return Size(*(round(each * pool.value) for each in (limit.bytes, limit.low, limit.high)))


def _is_stated(case: Case, moment: Moment) -> bool:
    return bool((moment.balance.limit and moment.balance.limit.bytes) or case.capture.hints.limit_bytes)


def _limit_of_one(case: Case, moment: Moment) -> Size | None:
    """What the GPU or the pool itself has."""
    if moment.balance.limit and moment.balance.limit.bytes:
        return moment.balance.limit
    if case.capture.hints.limit_bytes:
        return Size.exactly(case.capture.hints.limit_bytes)
    if on_host(moment):
        return None
    told = case.capture.surroundings
    sizes = [device.limit or device.total for device in told.devices]
    sizes += [use.total for use in told.device_uses] if len(told.device_uses) == 1 else []
    sizes += [device.total for device in told.named_devices]
    return next((size for size in sizes if size and size.bytes), None)


def in_pieces(moment: Moment) -> str:
    """`45.11 MiB was free in 2 blocks, but the largest free block is 16.00 MiB`; what the pool may still take
    is a piece of its own.
    """
    books, state = moment.balance, moment.incident.state if moment.incident else None
    assert books.available
    blocks = f" in {of_blocks(state.free_chunks)}" if state and state.free_chunks else ""
    if books.largest_free_chunk is None:
        wanted = human(books.requested or 0)
        return f"{human_size(books.available)} was free{blocks}, but not in one block of {wanted}"
    largest = _less_than(books.largest_free_chunk, books.requested or 0)
    if books.free and books.growable and books.growable.bytes:
        return (
            f"{human_size(books.available)} was free, but in pieces: the largest free block is {largest}, and"
            f" the pool can grow by {human_size(books.growable)} only"
        )
    return f"{human_size(books.available)} was free{blocks}, but the largest free block is {largest}"


def _less_than(block: Size, wanted: int) -> str:
    """A block's size; where both print alike, by how much it is too small."""
    printed = human_size(block)
    if printed != human(wanted) or wanted <= block.high:
        return printed
    return f"{human(wanted - block.high)} smaller than the request"


def is_fragmented(books: Balance) -> bool:
    """Enough in sum, not enough in one piece. Where the largest piece is not told, the refusal shows that it
    was too small, if the pool itself had as much free and no room to grow.
    """
    if books.requested is None or books.available is None:
        return False
    if books.largest_free_chunk is None:
        if books.free is None or books.growable is None:
            return False
        return books.growable.high < books.requested <= books.free.low
    growth = books.growable.bytes if books.growable else 0
    return books.requested <= books.available.low and books.requested > max(
        books.largest_free_chunk.high, growth
    )


def is_full(case: Case, moment: Moment, left: float = 0.01) -> bool:
    """Whether less than so much of the limit was free: in how many pieces it lay explains little."""
    free, limit = moment.balance.available, device_limit(case, moment)
    return bool(free and limit and limit.bytes and free.high < left * limit.bytes)


LEAST_OF_A_DEVICE = 256 * MIB
"""Chunks that hold less in all explain no GPU that is full."""
NEARLY_FULL = 0.1
"""Of the limit: where less is free the device is nearly full, and the pieces are those of its last bytes."""


def tensor_text(moment: Moment) -> str:
    """The failed request in a few words: `[2,720,1280,64] float32 (450.00 MiB)`."""
    request = moment.request
    if request is None:
        return ""
    failed = request.failed
    if failed.shape is not None:
        need = failed.tensor_bytes
        size = f" ({human(need)})" if need is not None else ""
        as_float = tensor_bytes(failed.shape, "float32") if failed.dtype is None else None
        if as_float and as_float >= MIB:
            size = f" ({human(as_float)} as float32)"
        return f"{format_shape(failed.shape)} {failed.dtype or ''}".rstrip() + size
    return human_size(failed.size) if failed.size else "an unknown amount"


OF_UPDATE, OF_SLOTS = "the optimizer's update", "the optimizer's slots"
"""Places in an optimizer, which no name of a layer tells."""


def place(moment: Moment) -> str:
    """Where the request failed, in the user's words: the layer, else the op or node, else nothing."""
    request = moment.request
    if request is None:
        return ""
    if request.owner.layer:
        return shortened(request.owner.layer)
    if request.failed.updating:
        doing = OF_SLOTS if request.owner.kind is Kind.OPTIMIZER_SLOT else OF_UPDATE
        return f"{doing} ({request.failed.node})" if request.failed.node else doing
    name = request.failed.node or request.failed.op or ""
    compiled = _OF_A_JIT.match(name)
    return shortened(compiled["function"] if compiled else name)


_OF_A_JIT = regex(r"(?P<function>p?jit\([\w.<>]+\))/.*/")
"""A path of JAX's own below the user's function: `jit(step)/while/body/closed_call/add`."""


def shortened(name: str, most: int = 160) -> str:
    """A name that does not bury the sentence around it: its start and its end."""
    return name if len(name) <= most else f"{name[: most // 2]}…{name[-most // 3 :]}"


def on_host(moment: Moment) -> bool:
    """Whether this is the machine's memory rather than an accelerator's."""
    failed = moment.request.failed if moment.request else None
    if failed is None or failed.kind.name in ("PROFILE", "COPY"):
        return False  # a copy's node names where the value came from, which is no device that is full
    return (
        failed.kind.name == "HOST"
        or "CPU" in (failed.device or "").upper()
        or (failed.allocator or "").lower()
        in ("cpu", "mklcpu", "gpu_host_bfc", "cuda_host_bfc", "xla_gpu_host_bfc")
    )


def holds_arrays(moment: Moment) -> bool:
    """Whether arrays of NumPy lie in what is full: the machine's memory, and no pool of TensorFlow's."""
    failed = moment.request.failed if moment.request else None
    return on_host(moment) and "bfc" not in ((failed and failed.allocator) or "").lower()


def of_a_program(moment: Moment) -> bool:
    """Whether a failed XLA request is known to be a compiled program's: the message names the program, or
    its parts or what became of it.
    """
    compiler = moment.incident.compiler if moment.incident else None
    named = bool(moment.request and moment.request.failed.executable)
    listed = bool(moment.incident and moment.incident.holders)
    return named or bool(
        compiler and (compiler.sections or compiler.reduced_to or compiler.capacity or listed)
    )


def is_warning_alone(moment: Moment) -> bool:
    """Whether all that is quoted of a failure is the compiler's warning that it missed its goal: programs run
    well after it where the device has what they need.
    """
    compiler = moment.incident.compiler if moment.incident else None
    warning = compiler.reduced_line if compiler else None
    failed = moment.request.failed if moment.request else None
    if warning is None or failed is None or failed.size is not None:
        return False
    return failed.line == warning and not (compiler and compiler.arguments_and_results)


def after_rematerialisation(moment: Moment) -> Size | None:
    """What a program needs that XLA could not make small enough: what its warning says, or what the program
    then asked for in one piece, where that is much more: a little is what the blocks' places cost.
    """
    compiler = moment.incident.compiler if moment.incident else None
    if compiler is None or compiler.reduced_to is None:
        return None
    asked = moment.request.failed.size if moment.request else None
    more = asked is not None and asked.low > _MUCH_MORE * compiler.reduced_to.high
    return asked if more else compiler.reduced_to


_MUCH_MORE = 1.25


def is_buffer(moment: Moment) -> bool:
    """Whether a TPU could not place one array, rather than a program."""
    line = moment.request.failed.line if moment.request else None
    return line is not None and "device buffer" in line.text


def words_of_a_client(case: Case, moment: Moment) -> bool:
    """Whether only the wording of JAX's CPU client speaks for host RAM, and no device is named."""
    line = moment.request.failed.line if moment.request else None
    known = any(name == "jax.devices" for name, _, _ in case.capture.surroundings.settings)
    return on_host(moment) and line is not None and "Out of memory allocating" in line.text and not known


def waits_for_another(moment: Moment) -> bool:
    """Whether JAX reports, at a line that waits for a result, what an earlier call asked for."""
    failed = moment.request.failed if moment.request else None
    if failed is None or failed.line is None:
        return False
    fetches = any(frame.name == "_value" and "jax/_src/array.py" in frame.place for frame in failed.frames)
    waits = fetches or "block_until_ready" in (failed.source_text or "")
    waits = waits or _only_reads(failed.source_text or "")
    return waits or "Error dispatching computation" in failed.line.text


_CALLED = regex(r"(?P<name>[\w.]*\w)\s*\(")
_READS = regex(
    r"(?:jax\.)?device_get|(?:np|onp|numpy)\.(?:as)?array|float|int|bool|print|\w[\w.]*\.(?:item|tolist)"
    r"|\.item|\.tolist"
)
_OF_LITTLE = regex(
    r"str|len|list|tuple|round|format|range|zip|max|min|sum|(?!jnp\b|jax\b|lax\b)(?:\w[\w.]*)?"
    r"\.(?:mean|sum|max|min|append|format|astype|reshape|copy|items|write|info|log|flush|join|add_scalar)"
)


def _only_reads(text: str) -> bool:
    """Whether a line does no more than bring results to Python: `print(np.asarray(r).mean())`."""
    called = [match["name"] for match in _CALLED.finditer(text)]
    reads = [name for name in called if _READS.fullmatch(name)]
    return any(name != "print" for name in reads) and all(
        name in reads or _OF_LITTLE.fullmatch(name) for name in called
    )


def alike(moment: Moment, test: Callable[[Row], bool] = lambda _: True) -> int:
    """Bytes of the request and of held tensors of its size for which the test holds; of a dump's chunks,
    which have no names, all of that size.
    """
    need = moment.request.needed_bytes if moment.request else None
    if need is None:
        return 0
    same = rows(moment, lambda row: _as_large(row, need) and (row.allocation.node is None or test(row)))
    return need + total(same)


def _as_large(row: Row, need: int) -> bool:
    size = size_of(row.allocation)
    return size.low <= round_up(need) and need <= size.high


def tensor_in(chunk: Allocation, moment: Moment) -> tuple[int, int]:
    """How large the tensor in a chunk is at least and at most: BFC splits a chunk of twice the request or 128
    MiB more, and all chunks together waste what the books say.
    """
    size = chunk.size_bytes
    low, high = max(size // 2, size - MAX_WASTE_BYTES), size
    if waste := moment.balance.waste:
        elsewhere = sum(
            min(row.size_bytes // 2, MAX_WASTE_BYTES) * row.count
            for row in moment.attribution.table
            if row is not chunk and row.size_bytes != size
        )
        low, high = max(low, size - waste.high), min(high, size - max(waste.low - elsewhere, 0))
    return low, high


def cut_list(moment: Moment) -> bool:
    """Whether the largest buffers of a compiler's list are missing, so that no share of the whole can be
    told.
    """
    compiler = moment.incident.compiler if moment.incident else None
    return compiler is not None and compiler.cut


def held(moment: Moment) -> int:
    """The bytes that shares are measured against: all that is in use, listed or not."""
    listed = moment.attribution.table.total_bytes
    outside = moment.balance.outside_report
    return listed + (outside.bytes if outside else 0)


def chunk_evidence(chunks: list[Allocation]) -> Iterator[Evidence]:
    """The first two sizes of chunks, with their lines."""
    for row in chunks[:2]:
        yield Evidence(f"{row.count} x {human(row.size_bytes)}", row.line)


def all_in_use(moment: Moment) -> int:
    """Bytes in use, which a list of chunks that was cut may not reach."""
    in_use = moment.balance.in_use
    return max(held(moment), in_use.bytes if in_use else 0)


def is_constant_of_graph(failed: FailedRequest) -> bool:
    """Whether a constant that stands in the graph could not be made."""
    return failed.line is not None and "Cannot parse tensor from" in failed.line.text


def enumerated(words: Sequence[str]) -> str:
    """`a, b and c`; one word alone."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


_AT_ITS_FIGURE = regex(r"ran out of memory trying to allocate [\d.]*\s*\Z")


def cut_at_its_figure(moment: Moment) -> bool:
    """Whether an allocator's line ends where it says of how much: its rest may say that it is no failure."""
    line = moment.request.failed.line if moment.request else None
    return line is not None and _AT_ITS_FIGURE.search(line.text) is not None
