"""What to do where no batch is shown: make the failing call smaller."""

from __future__ import annotations

from tfmemlens.findings.support import batch_bound, code_snippets, jax_lines
from tfmemlens.findings.support.far_too_much import BEYOND_ANY_DEVICE, NO_PROGRAM, other_dimensions
from tfmemlens.findings.support.lines_run import calls_before
from tfmemlens.findings.support.rows import is_constant_of_graph, moves_an_array, of_a_program, op_alone
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, TORCH_XLA, framework_of, situation
from tfmemlens.knowledge.kernel_shapes import like_a_kernel
from tfmemlens.knowledge.stack_frames import package_of
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy
from tfmemlens.model.incident import FailedRequest, RequestKind
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, MIB, human

_PIECES_BYTES = 64 * MIB
"""A smaller request fails for what else is held: to cut it into pieces buys nothing."""


_WAITS = regex(r"\b(?:print|float|int|np\.asarray|np\.array|device_get)\(|block_until_ready|\.item\(")
"""Calls that wait for what JAX computes beside the program."""


def in_pieces(case: Case, moment: Moment) -> Remedy | None:
    """What to do where no batch is shown: the call itself."""
    request = moment.request
    need = request.needed_bytes if request else None
    if request is None or need is None or need < _PIECES_BYTES:
        return None
    failed = request.failed
    if is_constant_of_graph(failed):
        return None  # a constant of the graph: no call makes it
    if failed.line and "for new constant" in failed.line.text:
        return None  # a constant of a compiled program, which no operand makes smaller
    if failed.pipeline or "Iterator" in f"{failed.node} {failed.op}":
        return None  # a batch of the input pipeline: the program's call only waits for it
    if (batch := _of_a_model(case, moment)) is not None:
        return batch
    if sides := _dense_kernel(case, failed):
        return Remedy(
            f"by its shape it may be a dense layer's weight ({sides[0]:,} inputs x {sides[1]:,} units), its"
            " gradient or a slot, which no smaller batch shrinks: fewer inputs (pool or stride before it) or"
            " fewer units; if its rows are samples or positions: fewer of them at once",
            slug="smaller-model",
        )
    if failed.kernel and _OF_LAYERS.search(failed.kernel) and not failed.source:
        return None  # an op of a network's layer, which nobody calls by hand
    of_jax = situation(case, moment).framework == JAX
    nameless = not (failed.source or failed.node or failed.op or failed.shape)
    if nameless and framework_of(case) == TORCH_XLA:
        return None  # a step of many operations, which has no operands: less in one step is said already
    if failed.kind is RequestKind.DUMP and nameless and not of_jax:
        return None  # nothing says what asked
    if of_jax and jax_lines.made_at(case, moment):
        return None  # the rule of the failing line says it, for what the line makes
    quoted = f" (`{failed.source_text}`)" if failed.source_text and not _ends_a_call(failed) else ""
    where = f"{failed.source}{quoted}" if failed.source else "the failing call"
    if of_jax and _WAITS.search(failed.source_text or ""):
        calls = " or ".join(f"`{name}` ({line.place})" for name, line in calls_before(case)[-2:])
        which = f", most likely {calls}" if calls else ""
        text = (
            f"an earlier call{which}, for whose result {where} waits, asks for this memory: let one call"
            f" process less: {_part(case, moment, ' of its samples, rows or tasks')}"
        )
        if _STEP.search(failed.executable or calls):
            return Remedy(text, slug="in-pieces")  # a step's parts are none of a map
    elif project := package_of(failed.source):
        text = (
            f"`{project}` calls its program there: give it less, as its options allow (a smaller or coarser"
            " input, fewer samples at once, a smaller model)"
        )
        return Remedy(text, slug="in-pieces")
    elif moves_an_array(moment):
        return _AS_SHARDED
    elif op_alone(moment):
        return _ONE_PROGRAM
    elif of_a_program(moment) and _is_out_of_reach(case, moment):
        text = (
            f"{where} asks for so many times what the device has that most likely a size is a mistake: print"
            " the shapes that it is called with"
        )
        return Remedy(text, slug="in-pieces")
    elif of_a_program(moment) and (whole := _not_partitioned(case, failed)):
        return whole
    elif of_a_program(moment) and (grid := case.capture.surroundings.shows("program: on a grid")):
        text = (
            f"{where} runs a program on a grid ({grid.place}) that needs this: take a coarser grid (half as"
            f" many cells along each of three sides is an eighth), so that {_part(case, moment)} is left, or"
            " spread it over more devices along one side"
        )
        return Remedy(text, slug="in-pieces")
    elif of_a_program(moment):
        text = (
            f"{where} runs a program that needs this: give it {_part(case, moment)} at a time"
            " (fewer samples, or smaller ones), or shard it over devices"
        )
        return Remedy(text, slug="in-pieces")
    elif _RUNS_A_GRAPH.search(failed.source_text or "") and _of_one_sample(failed):
        text = (
            f"{where} runs the graph that needs this, for one sample by its first dimension of 1: give it a"
            " smaller one (an image of half the sides takes a quarter), or the same in overlapping tiles"
        )
        return Remedy(text, slug="smaller-input")
    elif _RUNS_A_GRAPH.search(failed.source_text or ""):
        text = (
            f"{where} runs the graph that needs this: feed it fewer samples at a time (a smaller minibatch,"
            f" shorter or smaller samples){_of_its_sides(failed)}"
        )
        return Remedy(text, slug="in-pieces")
    elif not of_jax and (rows := _rows_of_points(failed)):
        rays = case.capture.surroundings.shows("program: radiance fields")
        points = "points along rays (rays times samples on each)" if rays else "points, pixels or samples"
        text = (
            f"{where} asks for this memory, for {rows:,} rows at once, most likely {points}: give it fewer"
            f" at a time{_as_told(case)}"
        )
        return Remedy(text, _settings_of_rays(rows) if rays else None, slug="in-pieces")
    elif not of_jax and (rows := _rows_of_a_table(failed)):
        text = (
            f"{where} asks for this memory: its {rows:,} rows are most likely words, ids or samples: take"
            " fewer (a vocabulary without rare words, hashed ids, a part of the set), each narrower"
        )
        return Remedy(text, slug="in-pieces")
    elif of_jax and nameless and BEYOND_ANY_DEVICE < need < NO_PROGRAM:
        text = (
            f"{where} asks for more than any device has, most likely as all temporaries of one program: let"
            " one call do far less (a micro-batch in training, else samples, rows, pairs, draws), by a"
            " library's own option where there is one (a chunk or batch size)"
        )
        return Remedy(text, "y = jax.lax.map(f, xs, batch_size=len(xs) // 8)", slug="in-pieces")
    else:
        text = (
            f"{where} asks for this memory: make its operands smaller, or process them in pieces"
            f"{_as_told(case)}"
        )
    code = code_snippets.in_pieces(case.api) if not of_jax or _goes_over_rows(case) else None
    return Remedy(text, code, slug="in-pieces")


def _as_told(case: Case) -> str:
    """How many the text says go well at a time."""
    line = case.capture.surroundings.shows("some at a time")
    some = _AT_A_TIME.search(line.text) if line else None
    return f" ({line.place} says that {some[1]} at a time go well)" if line and some else ""


_AT_A_TIME = regex(
    r"(?i)(?<![\d.,])(\d[\d',]{0,8} [a-z]{3,20}) at (?:a time|once)\b"
    r"(?=(?:(?!\bstill\b|n't\b|\bnot\b|\bfail|\bOOM\b|\bruns? out\b|\bcrash)[^.;,?!\n]){0,30}?"
    r"\b(?:takes?|works?|worked|is fine|runs|fits?)\b)"
)
_LEAST_ROWS, _WIDEST = 500_000, 8192


def _rows_of_a_table(failed: FailedRequest) -> int | None:
    """The rows of a matrix that has far more of them than any batch, and a usual width."""
    shape = failed.shape or ()
    rows, width = shape if len(shape) == 2 else (None, None)
    return rows if rows and width and rows >= _LEAST_ROWS and width <= _WIDEST else None


_OF_A_TABLE = regex(
    r"(?i)gather|embed|lookup|one_?hot|sparse|segment|unique|variable|init|assign|vocab|item|user"
)
_OF_RAYS = "N_rand, N_samples, N_importance   # as NeRF's programs call them; when rendering: chunk, netchunk"

_OF_A_PICTURE = "--chunk 8192 --netchunk 16384   # a picture's rays and points at once (N_rand: of training)"
_MOST_IN_TRAINING = 1 << 20
"""More points than the rays of a step have, as NeRF's programs set them: some thousand, with 192 on each."""


def _settings_of_rays(rows: int) -> str:
    """What decides the rows: so many are of a picture that is rendered, whatever the batch."""
    return _OF_A_PICTURE if rows >= _MOST_IN_TRAINING else _OF_RAYS


def _rows_of_points(failed: FailedRequest) -> int | None:
    """The same of an op that has a name, and none of a table's."""
    named = f"{failed.node or ''} {failed.op or ''} {failed.keras_layer or ''} {failed.source_text or ''}"
    return _rows_of_a_table(failed) if named.strip() and not _OF_A_TABLE.search(named) else None


_LEAST_AXES = 4
"""Of a feature map: the sample, its sides and its channels."""


def _of_one_sample(failed: FailedRequest) -> bool:
    """Whether it is the map of a single sample, which no smaller batch makes smaller."""
    shape = failed.shape or ()
    return len(shape) >= _LEAST_AXES and shape[0] == 1


_RUNS_A_GRAPH = regex(r"\bsess(?:ion)?\.run\(")
_BEYOND, _SOME = 24 * GIB, GIB


def _of_its_sides(failed: FailedRequest) -> str:
    """What the tensor grows with, where it is larger than the GPUs that most have."""
    need, shape = failed.tensor_bytes, failed.shape or ()
    first = shape[0] if shape else None
    if not need or need < _BEYOND or not first or len(shape) < 2:
        return ""
    fitting = first * _SOME // need
    if not 1 < fitting < first:
        return ""
    return f"; if its first side, {first:,}, counts them, {fitting:,} take {human(need // first * fitting)}"


_AS_SHARDED = Remedy(
    "find the call that gives a large array another sharding (a save, a log, a check across processes,"
    " device_put), and leave the array as it is sharded there, or move one array at a time",
    "JAX_TRACEBACK_FILTERING=off python train.py   # its frames name the caller",
    slug="save-sharded",
)
_ONE_PROGRAM = Remedy(
    "put the whole step, with the operations before and after this one, into one jitted function that is"
    " given the old arrays to use again: each operation outside of jit makes one more array of that size;"
    " else make the arrays smaller (fewer rows, a coarser grid), or shard them over devices",
    "step = jax.jit(step, donate_argnums=0)   # state = step(state)",
    slug="compile-the-call",
)
_LEAST_SIDE, _OF_UNITS = 1024, 256
_OF_FIRST_VALUES = regex(r"Add(?:V2)?|Mul|\w*Random\w*|\w*TruncatedNormal\w*")
"""Eager ops that make the first value of a weight; data are added, too."""


def _dense_kernel(case: Case, failed: FailedRequest) -> tuple[int, int] | None:
    """The sides of a matrix of which nothing says who made it, or only an op that ends an initialiser, and
    both are sizes that people give layers.
    """
    shape = failed.shape or ()
    told = failed.node or failed.source or (failed.op and not _OF_FIRST_VALUES.fullmatch(failed.op))
    if len(shape) != 2 or told or failed.kind is not RequestKind.TENSOR:
        return None
    inputs, units = (side or 0 for side in shape)
    if situation(case).framework != TENSORFLOW or inputs <= units:
        return None
    round_sides = all(side >= _LEAST_SIDE and side % _OF_UNITS == 0 for side in (inputs, units))
    return (inputs, units) if round_sides else None


_DECOMPOSES = regex(
    r"\blinalg\.(?P<op>eigh|eigvalsh|eig|eigvals|svd|qr|cholesky|lu|lu_factor|inv|solve|det|slogdet|schur"
    r"|sqrtm|expm|pinv|lstsq)\b"
)


def _not_partitioned(case: Case, failed: FailedRequest) -> Remedy | None:
    """Of a matrix that the text shows to be sharded, and that is decomposed: no more devices help."""
    match = _DECOMPOSES.search(failed.source_text or "")
    if match is None or not case.capture.surroundings.shows("sharding"):
        return None
    op = match["op"]
    return Remedy(
        f"sharding does not help here: XLA does not partition `{op}`, a call of a library for one device,"
        " so each gathers the whole matrix and computes all of it, with its workspace. Take a solver that is"
        " distributed (cuSOLVERMp, ScaLAPACK, ELPA), or, where few values are wanted, an iterative one; on"
        " one machine the CPU's RAM may hold it (SciPy)",
        "jax.experimental.sparse.linalg.lobpcg_standard(H @ ..., X)   # few eigenpairs"
        if op.startswith("eig")
        else None,
        slug="distributed-solver",
    )


_MOST_PARTS = 64
"""Nobody cuts the work of a call into more parts by hand."""
_ROWS = regex(r"\b(?:vmap|pmap|lax\.map|vectorize)\b|\bfor \w+ in\b|\bbatch_?size\b")


def _is_out_of_reach(case: Case, moment: Moment) -> bool:
    bound = batch_bound.batch_bound(case, moment)
    return bound is not None and bound.of_program and not bound.none_fits and bound.part > _MOST_PARTS


def _goes_over_rows(case: Case) -> bool:
    """Whether the text shows code that does the same for each of many rows."""
    return any(_ROWS.search(line.text) for line in case.capture.surroundings.code)


_STEP = regex(r"(?i)step|train|update|fit|epoch|grad")


def _part(case: Case, moment: Moment, of: str = "") -> str:
    """Which part of its work a call has room for, by what it needs and what there is; half at the most."""
    bound = batch_bound.batch_bound(case, moment)
    if bound is None or bound.none_fits or not bound.of_program:
        return f"half{of}, or fewer" if of else "half or less"
    part = batch_bound.part_of(bound)
    if bound.taken_whole and bound.share > _NEARLY_FITS:
        part = "half" if of else "half of it or less"  # what of it is fixed nobody knows
    return f"{part}{of} ({batch_bound.why(bound)})"


_NEARLY_FITS = 0.5


_OF_LAYERS = regex(r"conv|pool|batch_?norm|bias_op|relu")
"""Kernels' files whose ops are parts of layers as a rule."""
_SAMPLES = range(2, 1025)


def _may_be_by_hand(failed: FailedRequest) -> bool:
    """Whether a line of the program, which runs no graph, or an eager op made the tensor."""
    runs_a_graph = RUNS_A_MODEL.search(failed.source_text or "") is not None or _ends_a_call(failed)
    return bool(failed.op or (failed.source and not runs_a_graph))


def _ends_a_call(failed: FailedRequest) -> bool:
    """Whether the quoted line is only the last of a call's arguments, as Python before 3.8 quotes it: it
    does not say what is called, which in a model's training is the training.
    """
    return _LAST_ARGUMENT.match(failed.source_text or "") is not None


_LAST_ARGUMENT = regex(r"\s*(?:\w{1,60}=[\w.'\"]{1,120},?|[^()]{0,120}\))\)*\s*\Z")
RUNS_A_MODEL = regex(
    r"\.run\(|\bmain\(|\b_?sess(?:ion)?\b|\.(?:fit|train|evaluate|predict)\w*\(|\b(?:train|evaluate)\w*\("
)
"""Calls that run a whole graph or model."""


def _of_a_model(case: Case, moment: Moment) -> Remedy | None:
    """Of a tensor inside a model's layers, which nobody calls by hand, or of a kernel that no line of the
    program calls: what helps if the batch is first.
    """
    request = moment.request
    shape = request.failed.shape if request else None
    node = (request.failed.node or "") if request else ""
    if request is None or situation(case, moment).framework != TENSORFLOW or not shape or len(shape) < 3:
        return None
    if node.count("/") < 2 and _may_be_by_hand(request.failed):
        return None
    first = shape[0] or 1
    if request.fixed or first not in _SAMPLES or like_a_kernel(shape):
        return None
    if others := other_dimensions(request):
        return others
    return Remedy(
        f"if its first dimension, {first}, is your batch: halve it ({first} -> {first // 2}); else make the"
        " other dimensions smaller (shorter sequences, smaller images or larger patches)",
        slug="smaller-batch",
    )
