"""A log that shows what failed, not what was using the memory.

What it means: an exception in a notebook or a traceback holds one sentence of the story. TensorFlow logs the
rest just before it, on standard error: the limit, what was in use and free, every chunk. The op that failed
is where memory ended, seldom where it went.
When it fires: a failed tensor, or the head of a dump that names a layer's op, stands alone: no list of live
tensors, no allocator's figures.
What to do: halve the batch, which nearly always helps; to know more, explain the process's own log. In Colab
it is under Runtime > View runtime logs, in Jupyter in the terminal of the server, under Slurm in the job's
error file.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from tfmemlens.findings.failing_op_is_a_bystander import ASSIGNS
from tfmemlens.findings.support import remedies, samples, summed_gradients
from tfmemlens.findings.support.board import board
from tfmemlens.findings.support.far_too_much import other_dimensions
from tfmemlens.findings.support.grounds import tell
from tfmemlens.findings.support.host_ram.limits import MORE_TO_COMMIT
from tfmemlens.findings.support.host_ram.pinned import pinned_for_a_restore
from tfmemlens.findings.support.phase import other_than_training
from tfmemlens.findings.support.rows import failures, on_host, tensor_text
from tfmemlens.findings.support.situation import TENSORFLOW, on_windows, situation
from tfmemlens.findings.support.tool_settings import in_tiles
from tfmemlens.findings.support.tried import runs_with_less
from tfmemlens.findings.support.vocabulary_sizes import (
    LEAST_WORDS,
    Vocabulary,
    fewer_positions,
    likely_vocabulary,
)
from tfmemlens.findings.support.weights import finds_a_full_device, makes_first_values
from tfmemlens.findings.support.which_memory import HOST
from tfmemlens.knowledge.kernel_shapes import flattened, like_a_kernel
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.capture import HostUse
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human, human_size

BASIS = Basis.NAME
EXPLAINS = "no bytes"
GENERAL = True


_OF_PROGRAMS = (
    remedies.TIDY,
    Remedy(
        "close what each call returns: a Tensor's memory is not the garbage collector's",
        "try (Tensor out = runner.run().get(0)) { ... }",
        slug="close-tensors",
    ),
    Remedy(
        "cap the size of what clients send: resize images, or cut texts, before the request",
        slug="smaller-examples",
    ),
)

_NOT_KNOWN = "this log shows what failed, not what was using the memory"
_FULL_MAP = 0.99
"""Of the map's hundred cells."""


def _by_the_map(moment: Moment) -> str:
    """That the pool was full, where its map alone is here of the dump."""
    state = moment.incident.state if moment.incident else None
    if state is None or state.occupied is None or state.occupied < _FULL_MAP:
        return ""
    line = state.line_of("occupied")
    stars = f"its map of stars, {line.place}" if line else "its map of stars"
    return f"the pool was full ({stars}), and this text does not say of what"


_OF_A_KERNEL = regex(r"Conv\w*Backprop(?:Filter|Weights)\w*(?:-\S*)?\Z")
_OF_A_MATRIX = regex(r"MatMul(?:_\d+)?_grad/MatMul_1\Z")
_MAKES_WEIGHTS = ("Mul", "AddV2", "Add", "Sub", "Sqrt", "RealDiv", "RandomUniform", "RandomNormal", "Fill")
"""Ops of an initialiser or of an optimizer's update, where they run eagerly."""
_OF_TABLES = 100_000
_OF_WORDS = regex(r"(?i)vocab")
_LARGE_BYTES = 256 * MIB
"""A smaller request most likely failed for what other calls left behind."""
_NOTEBOOK = regex(r"(?:Cell )?In ?\[|<ipython-input|/content/|/kaggle/|/tmp/ipykernel_")
_PROGRAM = regex(r"\.py:\d+\Z")


_BESIDES = Remedy(
    "a smaller batch was tried in vain, and this request is small, so most likely something else fills the"
    " device: what earlier calls, models or cells of this process made (run it alone, in a new process), or"
    " another process",
    "nvidia-smi",
    slug="see-device-users",
)


def check(case: Case) -> Iterator[Finding]:
    for index, moment in list(failures(case))[:1]:
        request = moment.request
        if request is None or not (_is_lone_tensor(request) or _is_lone_size(moment, request)):
            continue
        if _more_is_known(moment) or pinned_for_a_restore(moment):
            continue
        words = vocabulary_of(case, request)
        known = _ONE_IMAGE if _is_one_that_waits(moment) else _known_of(request)
        known = summed_gradients.in_words(request) or known
        known = known or (words.told if words else "")
        of_a_layer = samples.alone(request) and not samples.in_colours(request.failed.shape or ())
        if of_a_layer and other_than_training(case, request) is None:
            known += "; training keeps one and more for each layer of this size: their sum is what fills it"
        if use := _other_memory(case, moment):
            known += (
                f"{'; ' if known else ''}the GPU's own memory ran out, and `{use.what}` ({use.line.place})"
            )
            known += " shows the machine's RAM"
        known = known or _refused_by_the_driver(moment)
        unknown = _by_the_map(moment) or _NOT_KNOWN
        what = f"{known}; {unknown}" if known else unknown
        yield Finding(
            severity=Severity.FACTOR,
            headline=what,
            because=what,
            detail=(
                "TensorFlow logs the limit, what was in use and every block on standard error, just before"
                " the exception."
                if _logs(case, moment)
                else ""
            ),
            evidence=(Evidence(f"requested: {tensor_text(moment)}", request.failed.line),),
            remedies=tuple(_remedies(case, moment)),
            rules_out=_ruled_out(case, request),
            moment=index,
        )


def _other_memory(case: Case, moment: Moment) -> HostUse | None:
    """What shows much RAM free beside a GPU's failure, where no table shows the GPU."""
    told = case.capture.surroundings
    device = (moment.request.failed.device or "") if moment.request else ""
    if "GPU" not in device or on_host(moment) or told.device_uses or board(case):
        return None
    return next(
        (use for use in told.host_uses if use.used and use.total and 2 * use.used.bytes < use.total.bytes),
        None,
    )


_SEE_THE_GPU = Remedy(
    "look at the GPU itself: so small a request finds no room where another process, or what this one holds,"
    " fills it; end the other, or let this program compute on the CPU, whose RAM is free",
    "nvidia-smi   # then: CUDA_VISIBLE_DEVICES=-1 before the command computes on the CPU",
    slug="see-device-users",
)


def _refused_by_the_driver(moment: Moment) -> str:
    """What refused regions tell, the smallest of which any device has room for, unless it is full."""
    refused = moment.incident.driver_failures if moment.incident else ()
    size, line = min(refused, key=lambda each: each[0].bytes, default=(None, None))
    if size is None or line is None or size.bytes >= _LARGE_BYTES:
        return ""
    return (
        f"the driver refused even {human_size(size)} more ({line.place}): the GPU itself was full, by this"
        " process's pool or by another process"
    )


def _is_lone_tensor(request: Request) -> bool:
    return request.failed.kind is RequestKind.TENSOR and request.failed.shape is not None


def _is_lone_size(moment: Moment, request: Request) -> bool:
    """Whether the head of a dump names an op of a layer and what it asked for, and the rest was cut; or a
    message states bytes and its op, and no shape.
    """
    incident, failed = moment.incident, request.failed
    if failed.kind is RequestKind.TENSOR and failed.shape is None:
        return bool(failed.size and failed.node)
    whole = incident is None or incident.chunks is not None or incident.size_classes
    return failed.kind is RequestKind.DUMP and not whole and bool(failed.size and request.owner.layer)


_ONE_IMAGE = "one image as the input pipeline decoded it, of which many may wait"


def _is_one_that_waits(moment: Moment) -> bool:
    """Whether the host was asked for one image with its colours by an op of an input pipeline."""
    failed = moment.request.failed if moment.request else None
    if failed is None or failed.shape is None or not on_host(moment):
        return False
    by = f"{failed.node} {failed.op} {failed.kernel}"
    return samples.in_colours(failed.shape) and bool(failed.pipeline or _READS_IMAGES.search(by))


_READS_IMAGES = regex(r"(?i)(?:\A|[ /])batch(?:_\d+)? |decode|iterator|queue|jpe?g|png")
"""Names of ops that read images, or put them together."""


_FEWER_WAIT = Remedy(
    "let fewer decoded images be in RAM at once, and smaller ones: shuffle names of files before they are"
    " decoded, cache nothing decoded, decode fewer side by side (num_parallel_calls, queues, workers), and"
    " shrink large files once, beforehand",
    slug="smaller-pipeline",
)


def _known_of(request: Request) -> str:
    """What kind of tensor it is, where its name or its shape tells; empty where neither does."""
    failed = request.failed
    node, shape = failed.node or "", failed.shape or ()
    if _OF_A_KERNEL.search(node):
        return "the gradient of a kernel, as large whatever the batch"
    if _OF_A_MATRIX.search(node) and dict(failed.attributes).get("transpose_a", "true") == "true":
        return "the gradient of a weight, as large whatever the batch"
    if makes_first_values(request):
        return "a variable's first value, as large whatever the batch"
    if is_weight(request):
        kind = "a convolution's kernel" if len(shape) > 2 else "a table or a kernel"
        return f"by its shape {kind} (its first value, gradient or slot), as large whatever the batch"
    if windows := _windows(request):
        return f"a spectrum of each of {windows:,} windows: the whole recording at once"
    if draws := _draws(request):
        return f"a random number for each of {draws[1]:,} outcomes at each of {draws[0]:,} draws"
    if side := _pairs(request):
        return f"a number for each pair of {side:,} rows, {human(_FLOAT_BYTES * side * side)} in float32"
    if long := samples.long_alone(request):
        return f"one sample of {long[0]:,} steps with {long[1]:,} channels, at a batch of 1"
    if size := samples.alone(request):
        return f"one image, map or volume of {samples.in_words(size)}, at a batch of 1"
    return samples.told_as_too_large(request)


def is_weight(request: Request) -> bool:
    """Whether an op that makes or updates weights asked for the shape of one."""
    failed, shape = request.failed, request.failed.shape or ()
    if request.batch or failed.keras_layer:
        return False
    name = failed.op or failed.node or ""
    if name not in _MAKES_WEIGHTS and (name or failed.kernel or not like_a_kernel(shape)):
        return False
    table = len(shape) == 2 and (shape[0] or 0) >= _OF_TABLES and not (shape[1] or 1) % 4
    return like_a_kernel(shape) or table or (name in _MAKES_VALUES and _behind_a_map(shape))


_MAKES_VALUES = ("Fill", "RandomUniform", "RandomNormal", "RandomStandardNormal", "TruncatedNormal", "Sqrt")
"""Ops of an initialiser, of zeros for a slot, or of an update, which make no outputs of layers."""
_OF_A_MAP = 10_000


def _behind_a_map(shape: tuple[int | None, ...]) -> bool:
    """Whether a matrix has as many rows as a flattened feature map has numbers: the kernel behind it."""
    rows, units = (shape[0] or 0, shape[1] or 1) if len(shape) == 2 else (0, 1)
    return rows >= _OF_A_MAP and units % 32 == 0 and flattened(rows) is not None


def _windows(request: Request) -> int:
    """The windows whose spectrum was asked for, of one recording or of the sides of a stereo one."""
    failed = request.failed
    shape = failed.shape or ()
    if len(shape) not in (2, 3) or not _OF_SPECTRA.search(failed.node or failed.op or ""):
        return 0
    windows, bins = shape[-2] or 0, (shape[-1] or 1) - 1
    of_one = len(shape) == 2 or (shape[0] or 0) in (1, 2)
    return windows if of_one and windows >= _MANY_WINDOWS and bins > 1 and not bins & (bins - 1) else 0


_OF_SPECTRA = regex(r"(?i)\bi?stft\b|\bi?rfft\b")
_MANY_WINDOWS = 1000
_PARTS_OF_A_RECORDING = Remedy(
    "give the program the recording in parts of a minute or less, and join the results: all of it goes"
    " through at once, so what it needs grows with its length; the first dimension is its channels, and no"
    " batch",
    "ffmpeg -i in.wav -f segment -segment_time 60 part%03d.wav   # spleeter: separate -d 60 -s 0",
    slug="shorter-sequences",
)


def _draws(request: Request) -> tuple[int, int] | None:
    """How many draws of how many outcomes were asked for at once; None of what draws nothing."""
    failed = request.failed
    shape = failed.shape or ()
    op = failed.op or (failed.node or "").rpartition("/")[2]
    if len(shape) != 3 or not _DRAWS_OUTCOMES.match(op.rpartition("/")[2]):
        return None
    return (shape[1] or 1, shape[2] or 1)


_DRAWS_OUTCOMES = regex(r"(?i)(?:multinomial|random_?categorical|categorical)(?:_\d+)?\Z")
_DRAW_IN_PARTS = Remedy(
    "draw fewer at a time and join the draws, or draw on the CPU, which makes no number for each outcome of"
    " each draw: a smaller batch of the model changes nothing here",
    "with tf.device('/cpu:0'): draws = tf.random.categorical(logits, n)   # TF 1: tf.multinomial",
    slug="in-blocks",
)
_FLOAT_BYTES, _MANY_ROWS = 4, 4000


def _pairs(request: Request) -> int:
    """The rows of which a square matrix has a number for each pair; 0 of a layer's width, and elsewhere."""
    shape = request.failed.shape or ()
    side = shape[-1] or 0 if len(shape) in (2, 3) and shape[-1] == shape[-2] else 0
    own = request.fixed or request.failed.creating or request.failed.updating
    return side if side >= _MANY_ROWS and side % 64 and not own else 0


def _has_no_batch(case: Case, request: Request) -> bool:
    """Whether it is such a matrix, whose rows are no multiple of a batch that the text states."""
    side, stated = _pairs(request), case.capture.surroundings.setting("batch_size")
    return bool(side) and not (stated and int(stated[0]) and side % int(stated[0]) == 0)


_BLOCKS = Remedy(
    "go through the rows in blocks, against all others, and keep of each block only what is needed (the"
    " nearest neighbours, a sum): half the rows at once take half",
    "tf.nn.top_k(-distances(x[i:i + 1024], x), k)   # for i in range(0, n, 1024)",
    slug="in-blocks",
)


_SPARSE = Remedy(
    "if its rows are the nodes of a graph, keep the graph sparse, where only edges count: give the layers the"
    " adjacency as a SparseTensor, and make no array of it before (todense, toarray)",
    "a = tf.sparse.reorder(tf.SparseTensor(edges, weights, (n, n)))   # libraries: scipy.sparse.csr_matrix",
    slug="sparse-product",
)
_NO_BATCH = 20_000
"""So many rows on both sides are no batch against itself."""


def _ruled_out(case: Case, request: Request) -> tuple[str, ...]:
    """What changes nothing of draws, windows, and very many rows against each other."""
    pairs = _pairs(request) >= _NO_BATCH and _has_no_batch(case, request)
    return ("smaller-batch", "gradient-accumulation") if pairs or _draws(request) or _windows(request) else ()


def vocabulary_of(case: Case, request: Request) -> Vocabulary | None:
    """What is known of a tensor with a number for each word."""
    if request.failed.shape is None and _OF_ALL_WORDS.search(request.failed.node or ""):
        return _stated_vocabulary(case)
    shape = request.failed.shape or ()
    words = shape[-1] if len(shape) in (2, 3) and not (request.fixed or is_weight(request)) else None
    if not words or words < LEAST_WORDS:
        return None
    stated = (each.line for each in case.capture.surroundings.sizes if words in each.sizes)
    line = next((line for line in stated if _OF_WORDS.search(line.text)), None)
    if line is None:
        return likely_vocabulary(shape)
    return Vocabulary(
        f"its last dimension, {words:,}, is the vocabulary's ({line.place}): a number for each word at each"
        " position",
        Remedy(
            f"make the vocabulary smaller (the most frequent words, or subwords: {words:,} -> 32,000), or"
            " compute the loss on a sample of it: every position of every sentence has a number for each"
            " word",
            "loss = tf.nn.sampled_softmax_loss(w, b, labels, inputs, 64, vocabulary)   # in training",
            slug="smaller-vocabulary",
        ),
    )


_OF_ALL_WORDS = regex(r"(?i)softmax_?cross_?entropy|logits|output_projection")
_LARGE_VOCABULARY = 100_000


def _stated_vocabulary(case: Case) -> Vocabulary | None:
    """The vocabulary that the text states, where an output layer or a loss asked for bytes alone."""
    stated = [
        (size, each.line)
        for each in case.capture.surroundings.sizes
        if _OF_WORDS.search(each.line.text)
        for size in each.sizes
    ]
    words, line = max(stated, key=lambda each: each[0], default=(0, None))
    if line is None or words < _LARGE_VOCABULARY:
        return None
    return Vocabulary(
        f"a number for each word of the vocabulary ({words:,}, {line.place}) at each position; and the"
        " weights of the output layer and the embedding have a row for each, with gradient and slots",
        Remedy(
            "make the vocabulary smaller: subwords (BPE, SentencePiece) cover rare words with some 32,000"
            f" of them instead of {words:,}",
            slug="smaller-vocabulary",
        ),
    )


def _of_programs(case: Case) -> Iterator[Remedy]:
    yield from () if runs_with_less(case.capture.surroundings) else _OF_PROGRAMS[:2]
    yield remedies.smaller_requests(case)
    yield from _OF_PROGRAMS[2:]


def _more_is_known(moment: Moment) -> bool:
    books = moment.balance
    return bool(_listed(moment) or books.limit)


_NOTHING = 0.01
"""Of the request: chunks that take less are the first lines of a dump that was cut."""
_FIRST_LINES = 64 * MIB
"""The same of a dump that was cut before its figures, whatever was asked for."""


def _listed(moment: Moment) -> bool:
    """Whether a list or a dump says what held memory."""
    shape = moment.request.failed.shape if moment.request else None
    need = (moment.request.needed_bytes if moment.request else None) or _FLOAT_BYTES * prod(
        size or 1 for size in shape or ()
    )
    listed = moment.attribution.table.total_bytes
    nameless = moment.incident is not None and not moment.incident.holders
    dumped = moment.incident is not None and bool(moment.incident.size_classes or moment.incident.chunks)
    cut = dumped and not (moment.balance.in_use or moment.balance.limit) and listed < _FIRST_LINES
    return len(moment.attribution.table) > 0 and not (nameless and (cut or listed < _NOTHING * need))


def _remedies(case: Case, moment: Moment) -> Iterator[Remedy]:
    assert moment.request
    large = (moment.request.needed_bytes or 0) >= _LARGE_BYTES
    if not large:
        yield from _of_programs(case)
        if _other_memory(case, moment):
            yield _SEE_THE_GPU
    if summed_gradients.times_summed(moment.request):
        yield summed_gradients.ONE_PRODUCT
        if words := likely_vocabulary(moment.request.failed.shape or ()):
            yield words.remedy
        return
    if words := vocabulary_of(case, moment.request):
        yield words.remedy
    if _windows(moment.request):
        yield _PARTS_OF_A_RECORDING
        return
    if _draws(moment.request):
        yield _DRAW_IN_PARTS
        return
    if _pairs(moment.request):
        if situation(case, moment).training and _has_no_batch(case, moment.request):
            yield _SPARSE
        yield _BLOCKS
    owner = moment.request.owner
    full = finds_a_full_device(case, moment)
    own_pool = bool(_by_the_map(moment))
    of_model = owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
    assigned = ASSIGNS.match(moment.request.failed.kernel or "") is not None
    of_weight = of_model or assigned or is_weight(moment.request)
    if own_pool and of_weight and situation(case, moment).tool:
        yield remedies.LIGHTER_MODEL
    elif full and of_weight and not own_pool:
        yield Remedy(
            "so small a weight finds no room only where the device is full already: see what holds it before"
            " your run starts (another process, an earlier model in a notebook's kernel), and end that",
            "nvidia-smi",
            slug="see-device-users",
        )
    if makes_first_values(moment.request) and (others := other_dimensions(moment.request)):
        yield others
        return
    if _is_one_that_waits(moment):
        yield _FEWER_WAIT
        return
    if shorter := samples.shorter(moment.request):
        yield shorter
        return
    if smaller := samples.made_smaller(moment.request):
        if not in_tiles(case, moment.request):
            yield smaller
        if (moment.request.failed.shape or (1,))[0] != 1:
            yield from remedies.offered(case, moment, "smaller-batch")
        return
    if is_weight(moment.request) and not full:
        yield from _of_a_weight(case, moment)
        return
    if owner.phase is Phase.OPTIMIZER or owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT):
        yield remedies.SMALLER_MODEL
    elif other_than_training(case, moment.request) is None:
        told = case.capture.surroundings
        if not large and told.shows("a smaller batch in vain") and not runs_with_less(told):
            yield _BESIDES
        if not _has_no_batch(case, moment.request):
            yield from less_at_once(case, moment)
        yield from _others(case, moment)
    if large:
        yield from _of_programs(case)
    yield from remedies.offered(case, moment, "mixed-precision")
    if _logs(case, moment):
        yield _whole_log(moment.request.failed.source or "", situation(case, moment).program)


def _of_a_weight(case: Case, moment: Moment) -> Iterator[Remedy]:
    """A smaller layer, where it is the user's own and large enough to matter: host RAM that has no room for a
    few MiB is filled by others.
    """
    need = moment.request.needed_bytes if moment.request else None
    tool = situation(case, moment).tool
    if not (on_host(moment) and need and need < _SMALL_BYTES):
        yield remedies.LIGHTER_MODEL if tool else SMALLER_LAYER
    elif tool:
        yield MORE_TO_COMMIT if on_windows(case) else _OTHERS_OUT
    else:
        yield tell(case, HOST)


_OTHERS_OUT = Remedy(
    "free host RAM: end other programs on the machine, or add swap; or let the program use a GPU",
    "free -h",
    slug="free-shared-ram",
)


def less_at_once(case: Case, moment: Moment) -> tuple[Remedy, ...]:
    """A smaller batch where one is shown; of a number for each word fewer positions, and nothing where these
    may be a weight's. Where next to nothing of host RAM was asked for, others fill it, whatever the batch.
    """
    request = moment.request
    if request and on_host(moment) and (request.needed_bytes or _LITTLE_RAM) < _LITTLE_RAM:
        return (tell(case, HOST),)
    shape = (request.failed.shape or ()) if request else ()
    words = vocabulary_of(case, request) if request else None
    if words and not remedies.shows_batch(case, moment):
        fewer = fewer_positions(shape) if words.remedy.slug == "smaller-vocabulary" else None
        return (fewer,) if fewer else ()
    return remedies.offered(case, moment, "smaller-batch") or tuple(_if_it_is_the_batch(case, moment))


def _others(case: Case, moment: Moment) -> Iterator[Remedy]:
    """To see who else has the GPU, of a request that is small for one."""
    run, told = situation(case, moment), case.capture.surroundings
    need = moment.request.needed_bytes if moment.request else None
    known = told.device_uses or told.shows("ending others in vain") or told.shows("a smaller batch in vain")
    if not need or need >= _SMALL_BYTES or known or on_host(moment) or _other_memory(case, moment):
        return
    if "DML" in ((moment.request.failed.device or "") if moment.request else ""):
        return  # of any maker
    if run.framework == TENSORFLOW and not run.program:
        yield Remedy(
            f"see what else holds the GPU: {human(need)} is little for one, so that it was nearly full, by"
            " this program's other tensors, an earlier model of the same process, or another process",
            "nvidia-smi",
            slug="see-device-users",
        )


_SMALL_BYTES = 96 * MIB
_LITTLE_RAM = 4 * MIB
"""No machine that imports TensorFlow lacks it unless something else takes all."""


SMALLER_LAYER = Remedy(
    "make this layer smaller: it is a weight, its gradient or a slot, which no smaller batch shrinks (a table"
    " that need not be trained: trainable=False)",
    slug="smaller-model",
)
_SAMPLES = range(2, 1025)


def _if_it_is_the_batch(case: Case, moment: Moment) -> Iterator[Remedy]:
    """Of a shape that nothing explains: what to do if its first dimension is the batch."""
    request = moment.request
    shape = request.failed.shape if request else None
    run = situation(case, moment)
    if request is None or not shape or not all(shape) or len(shape) < 3 or run.framework != TENSORFLOW:
        return
    if run.program:
        return  # clients decide how many examples come at once
    first, last = shape[0] or 1, shape[-1] or 1
    if request.fixed or first not in _SAMPLES or (len(shape) == 3 and last <= 4) or like_a_kernel(shape):
        return
    if others := other_dimensions(request):
        yield others
        return
    yield Remedy(
        f"if its first dimension, {first}, is your batch: halve it ({first} -> {first // 2}); else make the"
        " other dimensions smaller (shorter sequences, smaller images)",
        slug="smaller-batch",
    )


def _whole_log(source: str, program: str | None = None) -> Remedy:
    """Where the allocator's lines are: a notebook shows the exception alone, a program writes both."""
    if _NOTEBOOK.match(source):
        return Remedy(
            "explain the process's own log, which a notebook does not show: in Colab under Runtime > View"
            " runtime logs, in Jupyter the terminal of the server",
            slug="read-the-log",
        )
    text = (
        "explain the process's whole log: the allocator's lines just before the exception say what was in use"
    )
    if _PROGRAM.search(source) or not (source or program):
        return Remedy(text, "python train.py 2> train.log; tfmemlens explain train.log", slug="read-the-log")
    return Remedy(text, slug="read-the-log")


def _logs(case: Case, moment: Moment) -> bool:
    """Whether the allocator tells of itself, elsewhere than here: the plain one of the CPU does not, and the
    log that stands beside a model that `tfmemlens run` recorded is whole.
    """
    if "live-model" in case.capture.source.formats:
        return False
    return bool(moment.request and (moment.request.failed.allocator or "bfc") != "cpu")
