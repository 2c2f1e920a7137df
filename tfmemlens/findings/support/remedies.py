"""The remedies that several rules offer: words and code for this run, what each would save from the what-if
engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from tfmemlens.findings.support import code_snippets, far_too_much
from tfmemlens.findings.support.applicability import applies
from tfmemlens.findings.support.batch_bound import batch_bound, in_words, of_traced, traced_below
from tfmemlens.findings.support.given_at_once import given_at_once
from tfmemlens.findings.support.graph_nets import rows_of_a_graph
from tfmemlens.findings.support.in_pieces import in_pieces
from tfmemlens.findings.support.named_sizes import Meaning, NamedSize, named_sizes
from tfmemlens.findings.support.own_constant import own_batch
from tfmemlens.findings.support.phase import is_jacobian, of_other_data
from tfmemlens.findings.support.predicted import of_predicted, predicted_below
from tfmemlens.findings.support.program_lines import (
    batch_by_name,
    code_lines,
    name_of_batch,
    numbers_by_name,
    settings_by_name,
)
from tfmemlens.findings.support.rows import (
    attributed,
    index_of,
    is_forward_only,
    rows,
)
from tfmemlens.findings.support.situation import TENSORFLOW, only_infers, says_it_trains, situation
from tfmemlens.findings.support.tool_settings import instead_of_a_batch, of_batch, of_images
from tfmemlens.findings.support.tool_settings import tool as known_tool
from tfmemlens.findings.support.tried import failed_batches, fails_alike, with_each_batch
from tfmemlens.findings.support.use_of_pairs import compares_samples
from tfmemlens.knowledge.convolution.gpu import LIMIT_VARIABLE
from tfmemlens.knowledge.device_names import GPU
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Certainty, Remedy
from tfmemlens.model.incident import FailedRequest, RequestKind
from tfmemlens.model.line import Line
from tfmemlens.model.what_if import Saving, SavingBasis, Shrunk
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human

_DIGITS = {
    SavingBasis.REPLAY: 3,
    SavingBasis.TIMELINE: 2,
    SavingBasis.LIST: 2,
    SavingBasis.TENSOR: 2,
    SavingBasis.NOTHING: 2,
}
"""How many digits of a saving are worth printing."""


def for_case(slug: str, case: Case, moment: Moment) -> Remedy | None:
    """The remedy for this run, None where it does not apply."""
    if not applies(slug, case, moment):
        return None
    index = index_of(case, moment)
    saving = case.what_if(index, slug)
    if slug == "smaller-batch" and _simulates(case, moment):
        return _SMALLER_SYSTEM
    if slug == "smaller-batch":
        if not saving.best_bytes and (not shows_batch(case, moment) or _one_alone(case, moment)):
            return in_pieces(case, moment)
        saving = _of_first_batch(case, index, moment, saving)
        if not saving.known and _is_all_there_is(case, moment):
            saving = _of_the_tensor(case, moment)
    if saving.basis is SavingBasis.LIST and _is_beside_the_point(moment):
        saving = Saving(slug)
    if slug == "smaller-batch" and (unchanged := _unchanged_batch(case, moment)):
        return Remedy(unchanged, slug=slug)
    if slug == "smaller-batch" and (working := working_batch(case, moment)):
        return working
    if slug == "smaller-batch" and (changed := _of_a_larger_batch(case, moment)):
        return changed
    if slug == "smaller-batch" and _is_one_sample(case, moment):
        saving = Saving(slug)
    words = _WORDS[slug](case, moment, saving)
    if saving.basis is SavingBasis.TENSOR:
        saving = Saving(slug)  # the words have it: a figure beside them would read as all that is saved
    return of_saving(*words, saving) if words else None


_SMALLER_SYSTEM = Remedy(
    "a simulation has no batch: shard its arrays over devices, each with a part of the system (grid,"
    " particles), or take a smaller or coarser one",
    slug="smaller-input",
)


def _simulates(case: Case, moment: Moment) -> bool:
    """Whether an XLA program follows one system over time, and nothing tells of a batch of them."""
    told, failed = case.capture.surroundings, moment.request.failed if moment.request else None
    batches = ("training", "training in words", "environments", "vectorising", "stepping", "differentiating")
    return bool(
        failed
        and failed.of_xla
        and told.shows("simulating")
        and not told.setting("batch_size")
        and not any(map(told.shows, batches))
    )


def _unchanged_batch(case: Case, moment: Moment) -> str | None:
    """What to do where the text says that the batch was lowered, and the message still begins with the old
    one: the change has not reached the program.
    """
    told = case.capture.surroundings.setting("lowered_batch")
    shape = moment.request.failed.shape if moment.request else None
    one = case.capture.surroundings.setting("batch_size")
    if shape and one and one[0] == "1" and _is_of_a_batch(shape):
        return (
            f"the message begins with {shape[0]}, so the batch of 1 of {one[1].place} did not reach the"
            " program: see which setting or file it reads (print a batch's shape, or the parameters that it"
            " logs)"
        )
    other = _of_another_count(shape, int(one[0])) if shape and one else None
    if other and one and other not in _all_stated(case):
        return (
            f"the message begins with {other}, which is no multiple of the batch of {one[0]}"
            f" ({one[1].place}): most likely it counts pieces of the samples (patches, tiles, crops) or all"
            " that are left, and another setting decides it: see where the program puts them together, and"
            " pass fewer at once"
        )
    if told is None or not shape:
        return None
    old, new = (int(number) for number in told[0].split(" to "))
    if shape[0] != old or new >= old:
        return None
    return (
        f"the message still begins with {old}, so the {new} of {told[1].place} did not reach the program:"
        " restart it (a notebook's kernel), see where the batch is made (`dataset.batch`, `fit`), and print a"
        " batch's shape"
    )


def _of_a_larger_batch(case: Case, moment: Moment) -> Remedy | None:
    """The batch that the program has, where the message begins with a larger one that the text says failed,
    and not that another failed as well.
    """
    shape = moment.request.failed.shape if moment.request else None
    stated = case.capture.surroundings.setting("batch_size")
    if not shape or stated is None or not stated[0].isdigit():
        return None
    if _is_of_an_earlier_run(case, moment, int(stated[0]), stated[1]):
        return Remedy(
            f"run it with the batch of {stated[0]} that {stated[1].place} makes: the message begins with"
            f" {shape[0]}, so most likely the log is of an earlier run, with that batch (unless each sample"
            f" becomes {(shape[0] or 0) // int(stated[0])} on its way); only if it fails so as well, go on to"
            f" {int(stated[0]) // 2}",
            slug="smaller-batch",
        )
    failed = failed_batches(case)
    if failed != {shape[0]} or not 0 < int(stated[0]) < (shape[0] or 0) or fails_alike(case):
        return None
    return Remedy(
        f"take the batch of {stated[0]} that {stated[1].place} sets: the message is of a batch of {shape[0]},"
        f" and nothing here says that {stated[0]} fails; only if it does, go on to {int(stated[0]) // 2}",
        slug="smaller-batch",
    )


def _is_of_an_earlier_run(case: Case, moment: Moment, batch: int, where: Line) -> bool:
    """Whether a convolution or pooling failed with a multiple of the batch that quoted code sets, and nothing
    in that code makes several maps of a sample.
    """
    failed = moment.request.failed if moment.request else None
    code = code_lines(case.capture.surroundings)
    if failed is None or batch < _LEAST_OF_A_RUN or not failed.shape or len(failed.shape) != _OF_SCORES:
        return False
    first, of_maps = failed.shape[0] or 0, _OVER_MAPS.search(f"{failed.op or ''} {failed.kernel or ''}")
    stated = {value for name, value, _ in case.capture.surroundings.settings if name == "batch_size"}
    if (
        not of_maps
        or first % batch
        or not 1 < first // batch <= _MOST_TIMES
        or stated != {str(batch)}
        or failed_batches(case)
    ):
        return False
    times, sides = str(first // batch), failed.shape[1:]
    square = any(one == other and (one or 0) <= _WIDEST_KERNEL for one, other in pairwise(sides))
    if square or (moment.request and moment.request.fixed):
        return False  # a kernel's first side counts channels
    quoted = any(line.source == where.source and line.number == where.number for line in code)
    return quoted and not any(
        _MAKES_SEVERAL.search(each.text) or times in _NUMBERS.findall(each.text) for each in code
    )


_LEAST_OF_A_RUN, _MOST_TIMES, _WIDEST_KERNEL = 4, 8, 11
_NUMBERS = regex(r"(?<![\w.-])\d{1,9}(?![\w.])")
_OVER_MAPS = regex(
    r"\b(?:Conv2D(?:BackpropInput)?|MaxPool|AvgPool|MaxPoolGrad|AvgPoolGrad|FusedBatchNorm\w*)\b"
)
_MAKES_SEVERAL = regex(
    r"(?i)reshape|TimeDistributed|crop|patch|tile|repeat|concat|stack|frames?\b|views?\b|clip|flat_map|vmap"
    r"|map_fn|replica|strategy|fold|num_samples|sequence|unbatch|predict|evaluat|accumul|rois?\b|box"
)
"""What makes several maps of one sample, or one batch of several."""


def _lowered_from(case: Case, request: Request | None) -> int | None:
    """The batch before the one that goes well, where the text says both and the failed shape has it."""
    told = case.capture.surroundings
    lowered, works = told.setting("lowered_batch"), told.setting("working_batch")
    if not (request and request.failed.shape and lowered and works):
        return None
    old, new = lowered[0].split(" to ")
    return int(old) if new == works[0] and int(old) in request.failed.shape else None


def _is_of_a_batch(shape: Sequence[int | None]) -> bool:
    """Whether it is a matrix of scores for each head of several samples."""
    first, *_, queries, keys = shape if len(shape) == _OF_SCORES else (1, 0, 1, 0)
    return 1 < (first or 0) <= _FEW and queries == keys and (keys or 0) >= _LONG


_OF_SCORES, _FEW, _LONG = 4, 64, 128


def _all_stated(case: Case) -> set[int]:
    """Numbers that the text states of batches and of anything else."""
    told = case.capture.surroundings
    numbers = {size for each in told.sizes for size in each.sizes}
    of_batches = {int(value) for name, value, _ in told.settings if name == "batch_size" and value.isdigit()}
    return numbers | of_batches | set(failed_batches(case))


def _of_another_count(shape: Sequence[int | None], batch: int) -> int | None:
    """How many maps of images a tensor has, where that is more than the batch and no multiple of it, and no
    other of its sizes is the batch: kernels have maps whose first size counts channels.
    """
    first = shape[0] or 0
    if batch in shape:
        return None
    of_images = len(shape) == _OF_SCORES and all((side or 0) > 1 for side in shape)
    return first if of_images and first > batch > 1 and first % batch else None


_SEVERAL = 2
_FAR_BELOW = 4
"""How many times smaller a batch that works is, where its samples are what is large."""


def working_batch(case: Case, moment: Moment) -> Remedy | None:
    """The batch that, as the text says, goes well: nobody who has it need look for another."""
    told = case.capture.surroundings.setting("working_batch")
    request = moment.request
    batch = _lowered_from(case, request) or (request.batch if request else None) or batch_of(case, moment)
    if told is None or not batch or (request and (request.fixed or of_other_data(case, request))):
        return None
    works = int(told[0])
    bound = batch_bound(case, moment)
    if not 0 < works < min({batch, *failed_batches(case)}) or (bound and works > bound.most(batch)):
        return None  # what is said to work elsewhere has no room here
    text = f"take the batch of {works} that works ({told[1].place})"
    of_images = request is not None and len(request.failed.shape or ()) == _OF_SCORES
    if works * _FAR_BELOW <= batch and of_images:
        text += ", or smaller images, with which a larger one fits"
    if not applies("gradient-accumulation", case, moment) or is_forward_only(moment):
        return Remedy(text, slug="smaller-batch")
    if batch % works:
        many = round(batch / works)
        if many < _SEVERAL:
            return Remedy(text, slug="smaller-batch")
        return Remedy(
            f"{text}; gradient accumulation (one update for {many} batches) comes near the effective batch of"
            f" {batch}",
            code_snippets.accumulate(case.api, many),
            slug="smaller-batch",
        )
    return Remedy(
        f"{text}; gradient accumulation (one update for {batch // works} batches) keeps the effective batch"
        f" of {batch}",
        code_snippets.accumulate(case.api, batch // works),
        slug="smaller-batch",
    )


FEWER_INSTANCES = Remedy(
    "let fewer models and instances compute on this GPU at once (instance_group's count in config.pbtxt):"
    " each takes memory for its own requests. How much TensorFlow may take of a GPU is a flag of the"
    " server's, and no field of a model's configuration",
    "tritonserver --backend-config=tensorflow,gpu-memory-fraction=0.6   # old: --tf-gpu-memory-fraction",
    slug="fewer-instances",
)


def one_on_each(case: Case) -> bool:
    """Whether the whole batch that the text states has one sample for each of the devices that it states."""
    stated = [each for each in case.capture.surroundings.sizes if len(each.sizes) == 1]
    whole = {each.sizes[0] for each in stated if _IS_BATCH.match(each.name) and _WHOLE.search(each.line.text)}
    devices = {each.sizes[0] for each in stated if _IS_DEVICES.match(each.name)}
    return bool(whole) and whole == devices and max(whole) > 1


_IS_BATCH = regex(r"(?i)batch(?:[_ ]?size)?\Z")
_IS_DEVICES = regex(r"(?i)(?:devices|cores|chips|GPUs)\Z")
_WHOLE = regex(r"(?i)\b(?:global|total)[ _-]?batch")


def _is_one_sample(case: Case, moment: Moment) -> bool:
    """Whether the text says that the batch is one sample, and neither a setting nor the shape says
    otherwise: what a list would give half of a batch back is no advice then.
    """
    told, shape = case.capture.surroundings, moment.request.failed.shape if moment.request else None
    if one_on_each(case):
        return shape is None
    if told.shows("a batch of one") is None or (_stated_batch(case) or 1) > 1:
        return False
    return shape is None or (len(shape) > _LEAST_OF_IMAGES and shape[0] == 1)


def _begin_with_one(moment: Moment) -> bool:
    """Whether the largest buffers of a program are maps of one sample each."""
    shapes = [row.allocation.shape or () for row in rows(moment)[:_LARGEST]]
    maps = [shape for shape in shapes if len(shape) > _LEAST_OF_IMAGES]
    return len(maps) > 1 and len(maps) == len(shapes) and all(shape[0] == 1 for shape in maps)


def _counts_more_than_samples(case: Case, shape: Sequence[int | None], batch: int) -> bool:
    """Whether the first side of a map is larger than any batch of maps, and nothing calls it a batch: ops on
    each channel or head fold them into the samples.
    """
    if len(shape) != _OF_EACH_CHANNEL or shape[0] != batch or batch == _stated_batch(case):
        return False
    return batch >= _NO_BATCH and all((side or 0) >= _A_MAP for side in shape[1:])


_OF_EACH_CHANNEL, _NO_BATCH, _A_MAP = 3, 4096, 16


def _is_a_map_of_one(moment: Moment) -> bool:
    """Whether what was asked for is a map of one sample by its shape: kernels that begin with 1 are short
    along one of their next two sides.
    """
    shape = (moment.request.failed.shape or ()) if moment.request else ()
    long = (side is not None and side >= _A_SIDE for side in shape[1:3])
    return len(shape) > _LEAST_OF_IMAGES and shape[0] == 1 and all(long)


_A_SIDE = 32
_LARGEST = 4
_LEAST_OF_IMAGES = 3
"""Axes: a shape with more that begins with 1 has a batch of one."""


def _of_first_batch(case: Case, index: int, moment: Moment, saving: Saving) -> Saving:
    """What the batch saves that is advised to begin with, where a failure bounds it; else what half does."""
    bound, batch = batch_bound(case, moment), batch_of(case, moment)
    if traced := traced_below(case, moment, batch):
        return case.what_if(index, "smaller-batch", traced.sure_batch) if batch == saving.batch else saving
    if bound is None and saving.best_bytes and (part := far_too_much.part_that_fits(case, moment)):
        return case.what_if(index, "smaller-batch", divisor=part)
    if bound is None or bound.none_fits:
        return saving
    if not batch and saving.best_bytes:
        return case.what_if(index, "smaller-batch", divisor=bound.part)
    if not batch or batch != saving.batch:
        return saving
    return case.what_if(index, "smaller-batch", bound.start(batch))


def _is_all_there_is(case: Case, moment: Moment) -> bool:
    """Whether the failed tensor is all that is known, so that no page says of its saving that it suffices or
    does not: what else the batch makes smaller comes on top.
    """
    books = moment.balance
    known = len(moment.attribution.table) or books.in_use or books.limit
    return (
        not known and not batch_bound(case, moment) and not traced_below(case, moment, batch_of(case, moment))
    )


def _of_the_tensor(case: Case, moment: Moment) -> Saving:
    """What half the batch takes off the failed tensor, where its own first dimension is the batch."""
    request = moment.request
    batch = request.batch if request else None
    if request is None or not batch or batch < 2 or batch != batch_of(case, moment):
        return Saving("smaller-batch")
    return case.of_tensor(Shrunk("smaller-batch", request.failed.tensor_bytes, batch, batch // 2))


def _is_beside_the_point(moment: Moment) -> bool:
    """Whether what was asked for is larger than all that is listed: what a change takes off the list says
    nothing of what it buys.
    """
    need = moment.request.needed_bytes if moment.request else None
    listed = moment.attribution.table.total_bytes
    compiled = moment.incident is not None and moment.incident.compiler is not None
    return need is not None and listed < need and not compiled


def offered(case: Case, moment: Moment, *slugs: str) -> tuple[Remedy, ...]:
    """Those of these remedies that apply."""
    asked = [for_case(slug, case, moment) for slug in slugs]
    return tuple(remedy for remedy in asked if remedy is not None)


def of_saving(text: str, code: str | None, saving: Saving) -> Remedy:
    """A remedy with what the engine says of it."""
    return Remedy(
        text,
        code,
        saving.best_bytes,
        saving.certainty,
        saving.change,
        saving.low_bytes,
        saving.high_bytes,
        _DIGITS[saving.basis],
    )


def fewer_samples(case: Case, moment: Moment) -> tuple[Remedy, ...]:
    """A smaller batch, for rules with figures of their own for other changes."""
    return offered(case, moment, "smaller-batch")


def of_change(case: Case, index: int, text: str, tensor: Shrunk) -> Remedy:
    """A change in a rule's own words: what the engine says it saves at this moment, else what it takes off
    the rule's own tensors alone.
    """
    saving = case.what_if(index, tensor.change)
    return of_saving(text, None, saving) if saving.known else of_tensor(case, text, tensor)


def of_tensor(case: Case, text: str, tensor: Shrunk) -> Remedy:
    """A remedy with what the engine says it takes off one tensor alone."""
    return of_saving_alone(text, case.of_tensor(tensor))


def of_saving_alone(text: str, saving: Saving) -> Remedy:
    """A remedy of one tensor with what the engine says of it. No change of the whole moment: no page asks
    the engine for more.
    """
    return Remedy(
        text, None, saving.best_bytes, saving.certainty, slug=saving.change, of_one_tensor=saving.known
    )


def onednn(saves_bytes: int | None = None) -> Remedy:
    """Kernels for convolutions on the CPU that unroll no patches; without the matrix at most it is saved."""
    text = (
        "let oneDNN compute the convolutions: its kernels build no patch matrix (the default on Linux x86"
        " from TF 2.9)"
    )
    certainty = None if saves_bytes is None else Certainty.BOUND
    return Remedy(text, "export TF_ENABLE_ONEDNN_OPTS=1", saves_bytes, certainty, slug="onednn")


def cudnn_workspace(text: str, mib: int = 256) -> Remedy:
    """Another limit of what a convolution's algorithm may ask for."""
    return Remedy(text, f"export {LIMIT_VARIABLE}={mib}", slug="cudnn-workspace-limit")


def name_the_buffers() -> Remedy:
    """What fills a compiled program's arena, by name."""
    return Remedy(
        "let XLA write its programs to files: a program's buffer assignment names what it holds, and"
        " tfmemlens reads it",
        "export XLA_FLAGS=--xla_dump_to=/tmp/xla   # then: tfmemlens explain the *buffer-assignment.txt",
        slug="name-the-buffers",
    )


def ask_what_is_in_use() -> Remedy:
    """Which of two causes it is: what was held before the call, or the call."""
    return Remedy(
        "print what is in use right before this call: near the limit, arrays that are kept alive are to blame"
        " (or another process, where the limit is far below the card); else this call itself",
        "print(jax.local_devices()[0].memory_stats())   # bytes_in_use, bytes_limit",
        slug="ask-what-is-in-use",
    )


REMAPPED_PAGES = Remedy(
    "let the driver's pool re-map pages instead of BFC (TF 2.5+, CUDA 11.2+)",
    "export TF_GPU_ALLOCATOR=cuda_malloc_async",
    slug="async-allocator",
)
WRONG_SIZE = Remedy(
    "no machine has so much, so a size is wrong: see what the two numbers count. Labels that are no class"
    " numbers (floats, ids, whole sequences) make a row or a class of every value; a shape may have one axis"
    " too many",
    "print(y.shape, y.dtype, np.unique(y).size)",
    slug="find-the-size",
)
NO_MACHINE = 1 << 40
"""Bytes that one array has on no machine."""


def has_a_wrong_size(request: Request) -> bool:
    """Whether Python asked for an array that no machine holds."""
    failed = request.failed
    return failed.kind is RequestKind.HOST and (failed.tensor_bytes or 0) >= NO_MACHINE


FIND_THE_NAN = Remedy(
    "find the first op that makes the nan; common are a learning rate that is too large, inputs that are not"
    " scaled (0 to 255), the logarithm of 0 and float16 without loss scaling",
    "tf.debugging.enable_check_numerics()   # TF 1: tf.add_check_numerics_ops()",
    slug="find-the-nan",
)
LESS_AT_ONCE = Remedy(
    "if it trains, take a smaller batch; else smaller inputs (images, sequences), fewer at a time, or a"
    " smaller model",
    slug="smaller-batch",
)
_TRAINS_LESS = Remedy(
    "train with a smaller batch; if it fails at a batch of 1, too, make the samples (images, sequences) or"
    " the model smaller",
    slug="smaller-batch",
)


def less_at_once(case: Case) -> Remedy:
    """What helps most programs that do the same, where nothing else is known of the failure."""
    told = case.capture.surroundings
    if only_infers(case) and (line := told.shows("inferring in words")):
        images = of_images(case)
        return Remedy(
            f"it runs a trained model ({line.place}): give it one input at a time{of_batch(case)}, and"
            f" {images or 'smaller ones (images, sequences)'}",
            slug="smaller-input",
        )
    trains = told.shows("training") or says_it_trains(case)
    infers = told.shows("inferring in words")
    return _TRAINS_LESS if trains and not infers else LESS_AT_ONCE


FIXED_SHAPES = Remedy(
    "give all steps the same few shapes (pad inputs, or bucket them by length), so that a freed block fits"
    " the next step",
    slug="constant-shapes",
)
DEFAULT_ALGORITHM = Remedy(
    "let XLA take its default algorithm where it could not try any: slower, but it may run",
    "export XLA_FLAGS=--xla_gpu_strict_conv_algorithm_picker=false",
    slug="default-algorithm",
)
RELEASES_BEFORE = Remedy(
    "go back to the releases from before the update, which pip's log, a lock file or an old image names;"
    " where that ends it, report the new one",
    slug="release-that-works",
)
BUILD_ONCE = Remedy(
    "build the graph once, before the loop, and feed what changes; freeze it, and whoever adds an op gets an"
    " error",
    "tf.get_default_graph().finalize()",
    slug="build-once",
)
SMALLER_MODEL = Remedy(
    "make the model smaller, or its optimizer's slots: this tensor is a weight or a copy of one, which no"
    " smaller batch shrinks",
    slug="smaller-model",
)
LIGHTER_MODEL = Remedy(
    "take a lighter model or a lower resolution in the program's own settings: this is a weight or a copy of"
    " one, which no smaller batch shrinks; where they offer it, let the optimizer's slots lie in host RAM",
    slug="smaller-model",
)
"""Of a program that its user configures, and whose layers are not theirs to change."""
FEWER_COMPILERS = Remedy(
    "let fewer compilers run at once (each may take 2 GB and more), or add swap; or install what is published"
    " (a wheel, an image), and build nothing",
    "bazel build --jobs=2 ...   # JAX's build.py: --bazel_options=--jobs=2; make -j2; MAX_JOBS=2",
    slug="fewer-jobs",
)
MORE_FOR_WSL = Remedy(
    "WSL2 has only a part of the machine's RAM, and may pin less: give it more in %UserProfile%\\.wslconfig",
    "[wsl2]\nmemory=24GB",
    slug="more-ram-for-wsl",
)
TIDY = Remedy(
    "free what each call makes: TensorFlow.js keeps tensors until they are disposed of",
    "tf.tidy(() => model.predict(x))   // tensor.dispose(); watch tf.memory()",
    slug="tidy",
)


def smaller_requests(case: Case) -> Remedy:
    """Of servers, whose clients decide how many examples come at once."""
    stated = case.capture.surroundings.setting("batch_size")
    now = int(stated[0]) if stated and stated[0].isdigit() else 0
    told = f" (here {now}, {stated[1].place})" if stated and now > 1 else ""
    failed = case.moments[0].request if case.moments else None
    if not told and failed and failed.batch and failed.batch > 1:
        now, told = failed.batch, f" (here {failed.batch})"
    most = max(now // 4, 1) if now > 1 else 4
    return Remedy(
        f"send fewer examples in a request, and cap what the server puts together{told}",
        f"max_batch_size {{ value: {most} }}   # --batching_parameters_file",
        slug="smaller-requests",
    )


def shorter_for(case: Case, length: NamedSize, request: Request) -> Remedy:
    """The same for what failed: of a matrix of length x length with what half of it leaves."""
    shape = request.failed.shape or ()
    if shape[-2:] == (length.size, length.size) and not length.of_data:
        return of_tensor(
            case,
            f"lower `{length.name}` ({length.line.place}: {length.size} -> {length.size // 2}): this"
            " matrix, and each like it, becomes a quarter, other activations half",
            Shrunk("smaller-input", request.failed.tensor_bytes, axes=2),
        )
    return shorter(length)


def shorter(length: NamedSize) -> Remedy:
    """Lower the length that the text states."""
    if length.of_data:
        whose = f"`{length.name}`" if length.name else "the data"
        return Remedy(
            f"shorter sequences ({whose} in "
            f"{length.line.place} has {length.size:,} steps): cut the few long ones, or take longer steps",
            slug="shorter-sequences",
        )
    if "frame" in length.name.lower():
        return Remedy(
            f"lower `{length.name}` ({length.line.place}: {length.size} -> {length.size // 2}): maps of half"
            " as many pictures are held",
            slug="shorter-sequences",
        )
    return Remedy(
        f"lower `{length.name}` ({length.line.place}: {length.size}), and pad each batch only to its"
        " own longest: every activation shrinks with the length, and attention scores with its square",
        slug="shorter-sequences",
    )


Words = tuple[str, str | None]


def _smaller_batch(case: Case, moment: Moment, saving: Saving) -> Words | None:
    """A smaller batch: everything whose first dimension is the batch shrinks. Weight gradients, weights and
    slots stay; nothing is said where what was asked for is as large whatever the batch.
    """
    if moment.request and moment.request.fixed and not saving.best_bytes:
        return None
    shape = (moment.request.failed.shape or ()) if moment.request else ()
    if len(shape) == 2 and shape[0] == shape[1] == _stated_batch(case):
        return (
            f"lower the batch: {shape[0]:,} -> {(shape[0] or 0) // 2:,}: both sides of this matrix are the"
            " batch, each sample with each, so half of it makes the matrix a quarter"
        ), None
    if instead := instead_of_a_batch(case):
        return instead, None
    if moment.request and rows_of_a_graph(moment.request, case.capture.surroundings):
        return None  # nodes or edges of one graph
    if situation(case, moment).program == "TensorFlow Serving":
        return None  # clients decide how many examples come at once
    if situation(case, moment).program == "Triton":
        return (
            "send fewer examples in a request, and let config.pbtxt put fewer together (max_batch_size, of"
            " dynamic_batching preferred_batch_size)"
        ), None
    if moment.request and of_other_data(case, moment.request):
        return None  # the rule of that phase says it, for the batch of its data set
    told = case.capture.surroundings
    if moment.request and (given := given_at_once(told, moment.request, _stated_batch(case))):
        return given.in_words(), None
    batch = saving.batch if saving.basis is SavingBasis.REPLAY else batch_of(case, moment)
    of_one = case.capture.surroundings.shows("a batch of one") or one_on_each(case) or _begin_with_one(moment)
    by_shape = batch is None and not of_one and _is_a_map_of_one(moment)
    if batch is None and (of_one or by_shape):
        batch = 1
    tool = situation(case, moment).tool or known_tool(case) is not None
    accumulate = applies("gradient-accumulation", case, moment) and not is_forward_only(moment) and not tool
    contrasts = accumulate and compares_samples(case)
    again = "; gradient accumulation (one update for several batches) keeps the effective batch"
    if contrasts:
        accumulate, again = False, f"; {contrasts}"
    elif not accumulate:
        again = ""
    traced = traced_below(case, moment, batch)
    if traced and batch:
        return f"{_named(case, batch, of_traced(traced, batch))}{again}", None
    if predicted := predicted_below(case, moment, batch):
        lower = f"lower the batch: {batch} -> {predicted.batch} ({of_predicted(predicted)})"
        return f"{_named(case, batch, lower)}{again}", None
    if batch and (grows := _in_proportion(case, batch)):
        return f"{_named(case, batch, grows)}{again}", None
    bound = batch_bound(case, moment)
    if bound and bound.none_fits and bound.of_program:
        return None  # no batch is small enough: the rule says what its arguments and results need
    if bound and bound.none_fits:
        text = f"make the model smaller: its weights alone take {human(bound.fixed)}, so that no batch fits"
        return text, None
    if (
        batch == 1 or (batch == _stated_batch(case) == 2) or (bound and batch and not bound.most(batch))
    ) and not saving.best_bytes:
        alone = f"the batch is {batch} already" if batch in (1, 2) else "not even one sample fits"
        alone = "this tensor begins with 1, so most likely the batch is 1 already" if by_shape else alone
        of_tool = of_images(case) if _is_of_images(moment) else ""
        how = of_tool or f"make the samples themselves smaller{_how(moment)}, or the model"
        return f"{alone}: {how}", None
    if bound:
        parts = -(-batch // bound.start(batch)) if batch else bound.part
        return (
            f"{_named(case, batch, in_words(bound, batch))}{of_batch(case)}{again}",
            code_snippets.accumulate(case.api, parts) if accumulate else None,
        )
    if part := far_too_much.part_that_fits(case, moment):
        return f"{_named(case, batch, far_too_much.in_words(moment, part, batch))}{again}", (
            code_snippets.accumulate(case.api, part) if accumulate else None
        )
    alone_known = saving.basis in (SavingBasis.TENSOR, SavingBasis.NOTHING)
    trains = situation(case, moment).training
    if trains and alone_known and (maps := far_too_much.batch_for_maps(case, moment, batch)):
        return f"{_named(case, batch, maps)}{of_batch(case)}{again}", None
    example = f" ({batch} -> {batch // 2})" if batch and batch > 1 else ""
    if batch and _counts_more_than_samples(case, shape, batch):
        example = (
            f" (this tensor's first side, {batch:,}, most likely counts samples times channels or heads)"
        )
    again = (
        "; gradient accumulation (one update for two batches) keeps the effective batch" if accumulate else ""
    )
    half = human(saving.best_bytes or 0)
    odd = batch is not None and batch % 2 == 1
    alone = (
        f": this tensor takes {half} less, and other activations shrink as much"
        if odd
        else f": half of this tensor is {half}, and other activations halve, too"
    )
    worth = saving.basis is SavingBasis.TENSOR and (saving.best_bytes or 0) >= _WORTH_A_FIGURE
    alone = alone if worth else ""
    where = of_batch(case) or (" in the program's options or its configuration file" if tool else "")
    return _named(case, batch, f"halve the batch{example}{where}{alone}{again}"), code_snippets.accumulate(
        case.api
    ) if accumulate else None


_WORTH_A_FIGURE = 2 * MIB
"""Half of a smaller tensor says nothing of what half the batch gives: the rest of the step does."""


def _in_proportion(case: Case, batch: int) -> str | None:
    """A batch below all that failed, where what they asked for grew as they did."""
    asked = with_each_batch(case)
    each = [size / number for number, size in asked.items()]
    if not each or batch < _LEAST_OF_A_LIST or max(each) > _ALIKE * min(each):
        return None
    told = " and ".join(f"{human(size)} with {number}" for number, size in sorted(asked.items()))
    lower = batch // 2
    return (
        f"lower the batch: {batch} -> {lower}, which would ask for about {human(round(lower * max(each)))}:"
        f" it was {told}, so all of it belongs to the samples"
    )


_LEAST_OF_A_LIST, _ALIKE = 2, 1.02


def _named(case: Case, batch: int | None, text: str) -> str:
    """The advice with the program's own name for the batch, where one is known."""
    name = name_of_batch(case.capture.surroundings, batch)
    return text.replace("the batch", f"the batch{name}", 1)


_HOW = {
    3: " (shorten sequences)",
    5: " (crop volumes or clips, or cut them into patches)",
}
"""What makes samples smaller, by how many axes a tensor of theirs has."""


def _is_of_images(moment: Moment) -> bool:
    """Whether the failed tensor has the axes of maps of images, or of volumes."""
    shape = moment.request.failed.shape if moment.request else None
    return len(shape or ()) in (_OF_SCORES, _OF_SCORES + 1)


def _how(moment: Moment) -> str:
    """What makes samples smaller, as far as the axes of what failed tell."""
    shape = (moment.request.failed.shape or ()) if moment.request else ()
    of_colours = len(shape) == 3 and (shape[-1] or 0) <= _COLOURS
    return _HOW.get(0 if of_colours else len(shape), " (crop or tile images, shorten sequences)")


_COLOURS = 4
"""The last axis of an image without a batch."""


def in_a_network(moment: Moment) -> bool:
    """Whether a layer, a program or a list shows that activations of a network are held: what a policy of
    precision does not touch, such as an eager op on boxes, it does not make smaller.
    """
    request = moment.request
    if request is None or attributed(moment) or request.failed.keras_layer or request.owner.layer:
        return True
    return request.failed.kind is not RequestKind.TENSOR or "/" in (request.failed.node or "")


def _one_alone(case: Case, moment: Moment) -> bool:
    """Whether only a leading 1 of an eager op's shape speaks for a batch: then there is none."""
    request = moment.request
    shaped = request is not None and request.batch == 1 and _stated_batch(case) is None
    return shaped and not in_a_network(moment) and situation(case, moment).training is None


def batch_of(case: Case, moment: Moment) -> int | None:
    """The batch as it is stated, else a constant of the program that is called a batch and stands in the
    request's shape, else what leads that shape: heads and experts may.
    """
    request = moment.request
    stated = _stated_batch(case)
    if stated or request is None:
        return stated
    if request.fixed:
        return request.batch
    of_program = _batch_of_program(case, request) or _times_a_length(case, request)
    of_program = of_program or _batch_by_default(case, request)
    return of_program or own_batch(case, moment) or request.batch


def _batch_by_default(case: Case, request: Request) -> int | None:
    """A flag's default that is called a batch, where another default times it leads the failed shape: 48
    sentences of 40 words make 1,920 rows. A run may have been told another one, which would not fit.
    """
    rows = (request.failed.shape or (0,))[0] or 0
    named = settings_by_name(code_lines(case.capture.surroundings)) if rows > 1 else {}
    batches = {number for name, (number, _) in named.items() if _NAMES_A_BATCH.search(name)}
    lengths = {number for name, (number, _) in named.items() if not _NAMES_A_BATCH.search(name)}
    fitting = [each for each in batches if each > 1 and not rows % each and rows // each in lengths]
    return fitting[0] if len(fitting) == 1 and rows not in batches else None


def _times_a_length(case: Case, request: Request) -> int | None:
    """The batch that the text states, where the failed shape begins with it times another stated number."""
    named = next(iter(named_sizes(request.failed.shape, case.capture.surroundings)), None)
    folded = named and named.axis == 0 and named.meaning is Meaning.BATCH and named.times and not named.over
    return named.stated if named and folded else None


def _batch_of_program(case: Case, request: Request) -> int | None:
    """`BATCH = 96` of the program, where 96 leads the failed shape; its only batch also where the shape
    folds it into its first side or has it elsewhere, and of a buffer, which has its own count of samples.
    """
    shape = request.failed.shape
    if not shape or len(shape) < 2 or (shape[0] or 0) < 2:
        return None
    stated = numbers_by_name(code_lines(case.capture.surroundings))
    batches = {number for name, (number, _) in stated.items() if _NAMES_A_BATCH.search(name)}
    if shape[0] == batch_by_name(case.capture.surroundings):
        return shape[0]
    if shape[0] in batches or len(batches) != 1:
        return shape[0] if shape[0] in batches else None
    only = batches.pop()
    folded = only >= _LEAST_FOLDED and (shape[0] or 0) % only == 0
    elsewhere = only >= _LEAST_FOLDED and only in shape[1:-1]
    return only if folded or elsewhere or request.owner.kind is Kind.WORKSPACE else None


_NAMES_A_BATCH = regex(r"(?i)batch(?!es)|(?<!tokens)(?<!frames)(?<!updates)_(?:per|a)_(?:\w{1,12}_)?step\Z")
"""`BATCH`, `batch_size`, `PAIRS_PER_STEP`, and no count of batches."""
_LEAST_FOLDED = 4
"""A smaller number divides any."""


def shows_batch(case: Case, moment: Moment) -> bool:
    """Whether anything shows that the memory grows with a batch: a trace, a stated batch, training or
    evaluation, a layer of a network.
    """
    request = moment.request
    if request is None or _stated_batch(case) or request.batch or request.fixed:
        return True
    if is_jacobian(request):
        return False
    failed = request.failed
    if _of_tokens(failed):
        return True
    if failed.keras_layer or of_other_data(case, request) or situation(case, moment).training:
        return True
    in_graph = "/" in (failed.node or "")
    owners = (*moment.attribution.owners, *([request.owner] if in_graph else []))
    return any(owner.layer and owner.kind in _OF_A_BATCH for owner in owners)


_TOKENS, _WIDTH, _WIDEST = 100, 64, 1 << 17


def _of_tokens(failed: FailedRequest) -> bool:
    """Whether a product of matrices made rows of a number that nobody chooses, of a layer's width: the tokens
    or nodes of a batch.
    """
    if len(failed.shape or ()) != 2:
        return False
    rows, width = (size or 0 for size in failed.shape or (0, 0))
    of_product = "matmul" in f"{failed.kernel} {failed.op} {(failed.node or '').rpartition('/')[2]}".lower()
    return (
        of_product
        and rows >= _TOKENS
        and rows % 8 != 0
        and _WIDTH <= width <= _WIDEST
        and width % _WIDTH == 0
    )


_OF_A_BATCH = (Kind.ACTIVATION, Kind.LAYOUT_TRANSPOSE, Kind.GRADIENT, Kind.LOOP_STACK, Kind.WORKSPACE)


def _mixed_precision(case: Case, moment: Moment, saving: Saving) -> Words | None:
    """Activations in 16 bits; weights, slots and images of the input pipeline stay as they are."""
    if moment.request and moment.request.fixed and not saving.best_bytes:
        return None
    if not in_a_network(moment):
        return None
    run = situation(case, moment)
    code = code_snippets.mixed_precision(case.api, run.device)
    kind = "float16 or bfloat16" if run.device in (None, GPU) else "bfloat16"
    text = f"compute in {kind} (mixed precision): activations halve, weights and optimizer slots do not"
    return (text, code) if code or run.framework != TENSORFLOW else None


def _recompute(case: Case, *_: object) -> Words:
    """Keep only the inputs of blocks, compute the rest again in backward."""
    text = (
        "recompute activations in backward (gradient checkpointing): about 30 % more time, and only the"
        " blocks' inputs are kept"
    )
    return text, code_snippets.recompute(case.api)


def _lighter_optimizer(case: Case, *_: object) -> Words:
    """Slots of optimizers; Keras 2.11's new SGD makes its slot without momentum, too (read and measured)."""
    legacy = case.api.oldest == case.api.newest == _SGD_WITH_A_SLOT
    only = f" (in TensorFlow {'.'.join(map(str, _SGD_WITH_A_SLOT))} only tf.keras.optimizers.legacy.SGD)"
    return (
        f"use an optimizer that keeps less beside the weights: plain SGD nothing{only if legacy else ''},"
        " momentum one copy of them, Adafactor about 4 % of one",
        None,
    )


_SGD_WITH_A_SLOT = (2, 11)


def _smaller_input(_case: Case, _moment: Moment, saving: Saving) -> Words:
    if "sequence" in saving.text and "images" not in saving.text:
        return "shorten the sequences: half the length halves every activation along it", None
    return "shrink the input: halving height and width quarters every feature map", None


_WORDS: dict[str, Callable[[Case, Moment, Saving], Words | None]] = {
    "smaller-batch": _smaller_batch,
    "mixed-precision": _mixed_precision,
    "recompute": _recompute,
    "lighter-optimizer": _lighter_optimizer,
    "smaller-input": _smaller_input,
}


def _stated_batch(case: Case) -> int | None:
    """The batch as the user or the input states it."""
    hints = case.capture.hints
    if stated := hints.batch or (hints.input_shape[0] if hints.input_shape else None):
        return stated
    live = case.capture.live_model
    if live is not None and live.failed_batch:
        return live.failed_batch
    setting = case.capture.surroundings.setting("batch_size")
    stated = _leading(case) or (int(setting[0]) or None if setting else None)
    failed = _failed_batch(case)
    if stated and _goes_well(case, stated):
        return failed if failed and failed > stated else None
    return min(failed, stated or failed) if failed else stated


def _goes_well(case: Case, batch: int) -> bool:
    """Whether the text says that it runs with this batch, and the failed shape does not begin with it."""
    works = case.capture.surroundings.setting("working_batch")
    request = case.moments[0].request if case.moments else None
    first = (request.failed.shape or (None,))[0] if request else None
    return works is not None and int(works[0]) == batch != first


def _leading(case: Case) -> int | None:
    """Of several batches that the text states, the one that the failed shape begins with: others ran."""
    request = case.moments[0].request if case.moments else None
    first = (request.failed.shape or (None,))[0] if request else None
    stated = {value for name, value, _ in case.capture.surroundings.settings if name == "batch_size"}
    return first if len(stated) > 1 and first and str(first) in stated else None


def _failed_batch(case: Case) -> int | None:
    """The smallest batch that the text says failed as well."""
    tried = failed_batches(case)
    return min(tried) or None if tried else None


def of_evaluating_program(name: str) -> Remedy:
    """What makes an evaluation smaller whose jitted function has this name."""
    return Remedy(
        f"give the evaluation a smaller batch of its own: the program that failed is `{name}`, in which what"
        " is set for the training (its batch, micro-batches, accumulated gradients, recomputation) plays no"
        " part",
        slug="smaller-evaluation-batch",
    )
