"""What a line of JAX code makes: a shape that it states, pairs of rows, one-hot rows, copies; and what would
make less.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from tfmemlens.findings.support import weights_on_a_tpu
from tfmemlens.findings.support.converted_weights import converting, of_a_conversion
from tfmemlens.findings.support.jax_code import IN_BLOCKS, OF_ONE_LINE, shown_by
from tfmemlens.findings.support.jax_code.changes import RECOMPUTED_STEPS
from tfmemlens.findings.support.jax_stack import (
    LEAST_BYTES,
    MadeByLine,
    calls_program,
    layers_op_by_op,
    loaded_by,
    made_by_frames,
    restored_beside,
)
from tfmemlens.findings.support.jax_stated import ITEMS, of_stated_arrays
from tfmemlens.findings.support.kept_code import SMALL_BESIDE_CALLS, kept
from tfmemlens.findings.support.kernel_in_init import kernel_in_init
from tfmemlens.findings.support.layout_maps import SHARDED_BY_NAME
from tfmemlens.findings.support.libraries import of_handle
from tfmemlens.findings.support.main_buffers import CHUNKED, NARROW_LOGITS
from tfmemlens.findings.support.part_for_jax import LARGER_POOL
from tfmemlens.findings.support.rows import (
    device_limit,
    lists_buffers,
    of_a_program,
    waits_for_another,
)
from tfmemlens.findings.support.stated_parameters import of_stated_parameters
from tfmemlens.findings.support.stated_sizes import Product, as_product, beside_a_round_number, stated_square
from tfmemlens.findings.support.stated_weights import StatedWeights, weights_of_the_failed
from tfmemlens.findings.support.tried_kernels import names_of
from tfmemlens.knowledge.vocabularies import VOCABULARIES
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Certainty, Remedy
from tfmemlens.model.incident import FailedRequest, Frame, RequestKind
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, human, square_side
from tfmemlens.values import replace

OVER_DEVICES = Remedy(
    "shard weights and optimizer state (FSDP): each device then makes and holds its part alone",
    "spec = lambda w: P('data') if w.ndim and w.shape[0] % mesh.size == 0 else P()\n"
    "params = jax.tree.map(lambda w: jax.device_put(w, NamedSharding(mesh, spec(w))), params)",
    slug="shard-arguments",
)
_LITERAL = regex(
    r"\b(?:jnp|np|jax\.numpy|random"
    r"|lax)\.(?P<call>\w+)\((?P<before>(?:[^()]"
    r"|\([^()]*\))*?)\(\s*(?P<sizes>\d[\d_]*(?:\s*,\s*\d[\d_]*)*)\s*,?\s*\)"
)
_SQUARE = regex(r"\bjnp\.(?P<call>eye|identity|tri)\(\s*(?P<side>\d[\d_]*)\b")
_NEW_AXIS = regex(r"\[[^\]]*(?:\bNone\b|newaxis)[^\]]*\]")
_EINSUM = regex(r"einsum\(\s*['\"](?P<terms>[A-Za-z., ]+)->(?P<made>[A-Za-z. ]*)['\"]")
_CLASSES = regex(r"one_hot\((?P<labels>[^,()]+),\s*(?:num_classes\s*=\s*)?(?P<classes>\d[\d_]*)")


def made_at(case: Case, moment: Moment) -> MadeByLine | None:
    """What the failing request of a JAX program was for: by its traceback, the user's line, sizes that the
    text states, or code that it quotes. The latter two explain nothing where the compiler lists its buffers.
    """
    request = moment.request
    if request is None or (request.failed.kind is RequestKind.WORKSPACE and of_handle(moment)):
        return None
    failed, need, told = request.failed, request.needed_bytes, case.capture.surroundings
    from tfmemlens.findings.support.jax_computed import computed_array  # reads trees

    if lists_buffers(moment):
        waited = computed_array(case, moment, need, _advice) if waits_for_another(moment) else None
        return waited or made_by(failed.source_text, need, failed.frames, way=False)
    if _keeps_what_failed(told, failed, need):
        return None  # the rule of the loop says it
    computed = computed_array(case, moment, need, _advice)
    if computed:
        return computed
    if moment.incident and moment.incident.compiler and moment.incident.compiler.tried:
        kernel = kernel_in_init(moment, names_of(case))
        return kernel or made_by(failed.source_text, need, failed.frames, way=False)
    made = of_stated_arrays(case, failed.source_text or "", need) or _unrolled(told.code, need)
    made = made or _most_likely_made(case, moment, need)
    if made and need and is_of_draws(made) and stated_square(need, told.sizes):
        return None  # a number for every row with every row, and no draws
    if made or not (of_a_program(moment) or told.shows("capturing")):
        double = any("enable_x64" in line.text for line in told.code)
        product = as_product(need, told.sizes, double=double)
        if product and made and _COPIES_OF_WEIGHTS & {remedy.slug for remedy in made.remedies}:
            made = None  # the text's own sizes make the request, to the byte
        if made is None and of_stated_parameters(case, need):
            return None  # second-order-matrix says it
        made = with_product(made, product, need) or _with_a_round_number(case, need)
        if made and failed.kind is RequestKind.HOST:  # NumPy's array, which no setting of JAX makes smaller
            made = replace(
                made, remedies=tuple(each for each in made.remedies if each.slug != _IN_FLOAT32.slug)
            )
    weights = weights_of_the_failed(case, moment)
    if weights is None or need is None:
        return made or _of_loading(case, moment, weights)
    if made:
        slugs = {remedy.slug for remedy in made.remedies}
        of_weights = _OF_WEIGHTS_MADE & slugs and "smaller-generation" not in slugs
        if of_weights and converting(told):
            return of_a_conversion(made, weights)
        return replace(made, what=f"{made.what}; {weights.needs}") if of_weights else made
    if (
        (loads := _loader(case, moment))
        and weights.bytes > _MOST * _room(case, moment)
        and not _sharded(told, loads)
    ):
        return MadeByLine(
            f"the model is loaded whole: it has {weights.text}, {human(weights.bytes)} in float32, whatever"
            f" the batch{_on_one_core(case, moment, weights)}",
            _halved_or_sharded(case, moment, weights, loads),
            Basis.SHAPE,
            loads,
            weights.bytes,
        )
    if only := _of_loading(case, moment, weights):
        return only
    if not _may_be_weights(case, moment, weights):
        return None
    return MadeByLine(
        f"most likely the weights and what training adds to them: {weights.needs}",
        _fewer_trained(case),
        line=weights.line,
    )


_COPIES_OF_WEIGHTS = frozenset({"shorter-history"})


def is_of_draws(made: MadeByLine) -> bool:
    """Whether it is what a sampler keeps of all draws, which says nothing of the size of each."""
    return any(remedy.slug in ("fewer-draws", "fewer-chains") for remedy in made.remedies)


def _most_likely_made(case: Case, moment: Moment, need: int | None) -> MadeByLine | None:
    """What the traceback shows to be made; where it shows nothing, what the quoted program does."""
    assert moment.request
    failed, told = moment.request.failed, case.capture.surroundings
    from tfmemlens.findings.support.kept_by_settings import kept_by_settings  # reads trees

    if made := kept_by_settings(case, moment, need or 0, of_shape=True):
        return made
    if made := made_by(failed.source_text, need, failed.frames, told.code, quoted=False):
        return made
    large = need is not None and need >= LEAST_BYTES and not calls_program(failed.source_text)
    need = need or 0
    from tfmemlens.findings.support.grown_pairs import grown_pairs
    from tfmemlens.findings.support.held_beside_restored import held_beside_restored
    from tfmemlens.findings.support.jax_computed import (  # reads trees
        computed_for_certain,
        computed_in_all,
        computed_within,
    )
    from tfmemlens.findings.support.jax_program import (
        gradients_by_program,
        made_by_program,
    )
    from tfmemlens.findings.support.lines_run import has_run
    from tfmemlens.findings.support.weights_of_layers import weights_of_size

    for made in (
        kept_by_settings(case, moment, need),
        grown_pairs(told, need),
        weights_of_size(case, need),
        held_beside_restored(told, failed.source_text),
        computed_for_certain(case, moment, need, _advice),
        made_by_program(told, need, counted=_is_counted(moment)) if large else None,
        computed_within(case, moment, need, _advice),
        made_by(failed.source_text, need, failed.frames, told.code, on_tpu=failed.kind is RequestKind.TPU),
        None if _of_what_is_given(moment) else gradients_by_program(told, need),
        _stacked(case, moment, need),
        None if _of_what_is_given(moment) else computed_in_all(case, moment, need, _advice),
        None if _of_what_is_given(moment) else _without_a_traceback(case, moment, need),
        None if _of_what_is_given(moment) else _told_beside(case, moment, need),
    ):
        if made and made.basis is Basis.MEASURED:
            return made
        if made and (made.line is None or has_run(told.program(), made.line)):
            guess = "" if made.what.startswith("most likely") else "most likely "
            return replace(made, what=f"{guess}{made.what}") if made.line else made
    return None


_LARGE_BYTES = GIB
"""No less than this is explained by words alone."""


def _without_a_traceback(case: Case, moment: Moment, need: int) -> MadeByLine | None:
    """What a line of the quoted code makes that would explain the request if it were the one that failed: no
    frame says which line did.
    """
    failed = moment.request.failed if moment.request else None
    if failed is None or failed.source_text or failed.frames or need < LEAST_BYTES:
        return None
    for line in reversed(case.capture.surroundings.code):
        for row in OF_ONE_LINE:
            if (row.least_bytes == 0 or need >= _LARGE_BYTES) and (match := row.in_line(line.text)):
                what, helps = row.told(match)
                return MadeByLine(f"{what} ({line.place})", helps, line=line)
    return None


def _told_beside(case: Case, moment: Moment, need: int) -> MadeByLine | None:
    """What the words of a post name, where nothing else says what a large request is."""
    failed = moment.request.failed if moment.request else None
    if failed is None or failed.kind is not RequestKind.XLA or need < _LARGE_BYTES:
        return None
    from tfmemlens.findings.support.compiling import being_folded
    from tfmemlens.findings.support.jax_told import AS_ARGUMENT, told_beside_a_message

    told = told_beside_a_message(case)
    if told is None and (folded := being_folded(case, moment)):
        what = (
            "an array that the jitted function uses without being given it (weights, data), a part of the"
            f" program then, on each device: XLA folded a large constant before ({folded.place})"
        )
        return MadeByLine(what, (AS_ARGUMENT,), line=folded)
    return MadeByLine(f"most likely {told.what}", told.remedies) if told else None


def _stacked(case: Case, moment: Moment, need: int) -> MadeByLine | None:
    """What a scan or vmap of the program makes; not where the compiler says that arguments and results fill
    the device, which none of them makes larger.
    """
    failed = moment.request.failed if moment.request else None
    if failed is None or need < LEAST_BYTES or _of_what_is_given(moment):
        return None
    from tfmemlens.findings.support.jax_program import rows_of_edges, stacked_by_program  # reads trees

    within = calls_program(failed.source_text)
    function = (failed.executable or "").removeprefix("jit_") or None
    told = case.capture.surroundings
    return rows_of_edges(told, function=function) or stacked_by_program(
        told, within=within, function=function
    )


def _is_counted(moment: Moment) -> bool:
    """Whether the compiler says what the one program needs that failed."""
    compiler = moment.incident.compiler if moment.incident else None
    return bool(compiler and (compiler.reduced_to or compiler.needed or compiler.arguments_and_results))


def _of_what_is_given(moment: Moment) -> bool:
    """Whether the compiler says that a program's arguments and results alone are too much."""
    compiler = moment.incident.compiler if moment.incident else None
    return bool(compiler and compiler.arguments_and_results)


def _advice(text: str, need: int) -> MadeByLine | None:
    """What a line's form says of it, for the remedies."""
    return made_by(text, need, way=False)


_OF_WEIGHTS_MADE = frozenset({"smaller-moments", "smaller-model", "narrow-weights", "low-rank-tuning"})
_LOADER = regex(r"\bfrom_(?:pretrained|preset)\(|\bFlax\w{1,40}Pipe?line\(")


def _loader(case: Case, moment: Moment) -> Line | None:
    """The line that loads a model, where no other line of the user's is told to have failed."""
    text = moment.request.failed.source_text if moment.request else None
    lines = [line for line in case.capture.surroundings.code if _LOADER.search(line.text)]
    failed = moment.request.failed.line if moment.request and len(case.moments) > 1 else None
    above = [line for line in lines if failed and line.number <= failed.number]
    last = above[-1] if above else next(iter(lines), None)
    return last if not text or _LOADER.search(text) else None


def _sharded(told: Surroundings, loads: Line) -> bool:
    """Whether the call that loads it says how to share it among devices."""
    return any(
        _SHARES.search(line.text)
        for line in told.code
        if line.source == loads.source and 0 <= line.number - loads.number <= _LINES_OF_A_CALL
    )


_MOST = 0.9
"""Of a device: the rest is its context's, and its programs'."""
_SHARES = regex(r"\b(?:\w*shard\w*|mesh|partition\w*|device_map) ?=(?!=)")
_LINES_OF_A_CALL = 12


def _room(case: Case, moment: Moment) -> int:
    limit = device_limit(case, moment)
    return limit.bytes if limit else _SMALL_DEVICE


_RUNS = regex(r"\b(?:generate|predict|fit|apply|pipe\w*|model)\(")


_WITHOUT_INIT = regex(r"\A[^#]*_do_init\s*=\s*False")
_WITHOUT_RANDOM_WEIGHTS = Remedy(
    "load without random weights first, which Transformers' Flax models make on the device beside those of"
    " the file",
    "model, params = FlaxModel.from_pretrained(name, _do_init=False)   # params stay on the host",
    slug="without-random-weights",
)


_OF_COMPUTATION = regex(r"\bFlax\w*(?:\.from_pretrained)?\([^\n]*\bdtype\s*=")
_HALVED_IN_HOST_RAM = Remedy(
    "load them in host RAM, turn them to 16 bits there, and put them on the GPU then: `dtype` of"
    " Transformers' Flax models is that of the computation, and the weights are made and read in float32",
    "with jax.default_device(jax.devices('cpu')[0]): model = FlaxModel.from_pretrained(name)\n"
    "params = jax.device_put(model.to_bf16(model.params), jax.devices()[0])",
    slug="load-on-the-host",
)


def _of_loading(case: Case, moment: Moment, weights: StatedWeights | None) -> MadeByLine | None:
    """A model that is loaded where the text shows nothing that runs it: then this is what failed, however
    small the last array was.
    """
    failed, told = moment.request.failed if moment.request else None, case.capture.surroundings
    if failed is None or failed.frames or told.shows("training"):
        return None
    loads = _loader(case, moment)
    if loads is None and (moved := next((line for line in told.code if _MOVES.search(line.text)), None)):
        return _moved_by_torchax(moved)
    if loads is None or any(_RUNS.search(line.text) for line in told.code if line.number > loads.number):
        return None
    made = loaded_by((), loads.text)
    if made is None:
        return None
    many = f" ({weights.text}, {human(weights.bytes)} in float32)" if weights else ""
    what = f"{loads.place} loads a model, and its weights{many} most likely fill the device"
    remedies = made.remedies
    if "from_pretrained(" in loads.text and not any(_WITHOUT_INIT.search(line.text) for line in told.code):
        remedies = (_WITHOUT_RANDOM_WEIGHTS, *remedies)
    return replace(made, what=what, line=loads, remedies=remedies)


_MOVES = regex(r"\A[^#]*\.to\(['\"]jax['\"]\)")


def _moved_by_torchax(line: Line) -> MadeByLine:
    """Modules of PyTorch's whose weights torchax lays on JAX's device."""
    return MadeByLine(
        f"from {line.place} on modules of PyTorch's are laid on JAX's device, whose pool is 75 % of the GPU"
        " unless it is told another part: weights that fit all of it under PyTorch need not fit there",
        (LARGER_POOL, _AS_THEY_ARE),
        line=line,
    )


_AS_THEY_ARE = Remedy(
    "see that they are 16 bits wide there, too, and let what is not needed side by side stay on the CPU until"
    " it is called (a text encoder before the transformer)",
    "print({(w.dtype, w.device) for w in module.parameters()})",
    slug="narrow-weights",
)
_SMALL_DEVICE = 16 * GIB
"""What is not known of a device: training that needs more does not fit many."""


def _may_be_weights(case: Case, moment: Moment, weights: StatedWeights) -> bool:
    """Whether weights, gradients and slots fill the device, and nothing says that only a part of the weights
    is trained.
    """
    told = case.capture.surroundings
    failed = moment.request.failed if moment.request else None
    compiler = moment.incident.compiler if moment.incident else None
    if compiler and compiler.free:
        return False  # what was there before is told to hold the rest
    runs = bool(failed and (failed.keras_call == "fit" or calls_program(failed.source_text)))
    said = [*told.code, *(each.line for each in told.sizes)]
    partly = any(_PARTLY.search(line.text) for line in said)
    return runs and not partly and weights.trained_bytes > _room(case, moment)


_PARTLY = regex(
    r"(?i)lora|\btrainable\s*=\s*False|set_to_zero|stop_gradient|optax\.masked|multi_transform|freeze"
    r"|adapter|fsdp|P\([\"']"
)


_A_CORE = regex(r"_HBM(?P<core>\d{1,3})\)")
"""How libtpu names the memory of one core: `(0x0x0_HBM0)`."""


def _on_one_core(case: Case, moment: Moment, weights: StatedWeights) -> str:
    """That one core or chip of several is given all of it, where the message names its memory."""
    line = moment.request.failed.line if moment.request else None
    match = _A_CORE.search(line.text) if line else None
    if match is None or case.capture.surroundings.shows("sharding by a layout map"):
        return ""
    known = weights_on_a_tpu.generation(case)
    has = f" ({weights_on_a_tpu.has(known)})" if known else ""
    narrow = ", in 16 bits hardly less than that" if _beyond_half(case, moment, weights) else ""
    return (
        f", and all of it goes to one core or chip{has}{narrow}, whose memory HBM{match['core']} is, while"
        " the others have none of it"
    )


def _beyond_half(case: Case, moment: Moment, weights: StatedWeights) -> bool:
    """Whether the weights fill most of a device in 16 bits, too."""
    known = weights_on_a_tpu.generation(case)
    room = known[1] if known else None
    return room is not None and weights.bytes // 2 > _MOST_IN_16_BITS * room and bool(moment.request)


_MOST_IN_16_BITS = 0.75


_NARROWED_ON_THE_HOST = Remedy(
    "load the weights on the CPU, and move them in bfloat16, half of them, to the device",
    "with jax.default_device(jax.devices('cpu')[0]): params = load()   # then w.astype(jnp.bfloat16) of each,"
    " and jax.device_put(params, jax.devices()[0])",
    slug="narrow-weights",
)


def _halved_or_sharded(case: Case, moment: Moment, weights: StatedWeights, loads: Line) -> tuple[Remedy, ...]:
    """The same, of a line whose type is only that of the computation, with what halves the weights."""
    ways = _narrow_or_sharded(case, _beyond_half(case, moment, weights))
    if not _OF_COMPUTATION.search(loads.text):
        return ways
    return (_HALVED_IN_HOST_RAM, *(each for each in ways if each.slug != _NARROWED_ON_THE_HOST.slug))


def _narrow_or_sharded(case: Case, shard_first: bool = False) -> tuple[Remedy, ...]:
    """What lets a model be loaded that is larger than the device."""
    keras = case.api.library == "Keras"
    if keras and case.capture.surroundings.shows("sharding by a layout map"):
        return SHARDED_BY_NAME
    narrow, shard = (
        Remedy(
            "load the weights in bfloat16: half of them",
            "keras.config.set_dtype_policy('bfloat16')   # before the model is built",
            slug="narrow-weights",
        )
        if keras
        else _NARROWED_ON_THE_HOST,
        Remedy(
            "shard the weights over several devices before they are loaded",
            "keras.distribution.set_distribution(keras.distribution.ModelParallel(layout_map=...))"
            if keras
            else None,
            slug="shard-arguments",
        ),
    )
    first = (shard, replace(narrow, text=f"and {narrow.text}")) if shard_first else (narrow, shard)
    return (
        *first,
        Remedy(
            "take a smaller model of the family, or one with weights in 8 or 4 bits", slug="smaller-model"
        ),
    )


def _fewer_trained(case: Case) -> tuple[Remedy, ...]:
    keras = case.api.library == "Keras"
    return (
        Remedy(
            "train a low-rank addition to the weights instead of all of them (LoRA): gradients and slots"
            " are then"
            " next to nothing",
            "model.backbone.enable_lora(rank=8)   # KerasHub" if keras else None,
            slug="low-rank-tuning",
        ),
        Remedy(
            "load the weights in bfloat16: half of them",
            "keras.config.set_dtype_policy('bfloat16')   # before the model is built"
            if keras
            else "params = jax.tree.map(lambda w: w.astype(jnp.bfloat16), params)   # on the host",
            slug="narrow-weights",
        ),
        Remedy("shard weights and optimizer state over devices", slug="shard-arguments"),
    )


def made_by(
    text: str | None,
    need: int | None,
    frames: Sequence[Frame] = (),
    code: Sequence[Line] = (),
    *,
    way: bool = True,
    quoted: bool = True,
    on_tpu: bool = False,
) -> MadeByLine | None:
    """What the line makes, where it explains a request of so many bytes; None where it does not. What
    `frames` show to be made needs no size. A line that calls a compiled step explains nothing itself, and
    `code` that the text quotes may; with `quoted` False it only helps to read the frames.
    """
    text = text or ""
    program = calls_program(text)
    if (
        made := _kept_weights(text)
        or restored_beside(frames, text, code)
        or made_by_frames(frames, text, need)
    ):
        return made
    if not program and need is not None and need >= LEAST_BYTES:
        for reading in _READINGS:
            if made := reading(text, need):
                return made
    if need is None:
        return loaded_by(frames, text)
    lines = [line for line in code if line.text.strip() != text.strip()]
    for row, match, line in shown_by(frames, "" if program else text, lines, need, way=way, on_tpu=on_tpu):
        if line is not None and not quoted:
            continue
        what, remedies = row.told(match)
        return MadeByLine(f"most likely {what} ({line.place})" if line else what, remedies, line=line)
    if made := layers_op_by_op(frames, text, need):
        return made
    if not program and need >= LEAST_BYTES and (made := _copied(text, need)):
        return made
    return loaded_by(frames, text)


_KEPT_WEIGHTS = regex(
    r"\b(?P<list>\w+)\.append\([^#]*\b(?:params|weights|state|model|variables|opt_state|train_state)\b"
)
_TO_HOST = regex(r"device_get|np\.(?:as)?array|numpy\(|\bnumpy\.|onp\.|eval_shape|\.step\b|float\(")


def _kept_weights(text: str) -> MadeByLine | None:
    """A list that keeps the weights of every iteration on the device."""
    match = _KEPT_WEIGHTS.search(text)
    if match is None or _TO_HOST.search(text):
        return None
    name = match["list"]
    return MadeByLine(
        f"`{name}` keeps a whole set of weights on the device for every iteration that comes here",
        (
            Remedy(
                "copy each to the host before it is kept",
                f"{name}.append(jax.device_get(params))",
                slug="keep-numbers",
            ),
            Remedy(
                "of an average (SWA, EMA) keep the running sum alone",
                "mean = jax.tree.map(lambda m, p: m + (p - m) / n, mean, params)",
                slug="sum-as-you-go",
            ),
        ),
    )


_WAITING = regex(r"\b(?:float|int|print|block_until_ready|device_get|item)\(")


def _waits(quoted: set[str]) -> bool:
    """Whether a line of the traceback waits for what others made: then no line is known that made it."""
    return any(_WAITING.search(text) for text in quoted)


def _keeps_what_failed(told: Surroundings, failed: FailedRequest, need: int | None) -> bool:
    """Whether a loop keeps what the failing line makes: a small request then fails for what was kept."""
    if need is None or need >= GIB:
        return False
    quoted = {frame.text.strip() for frame in failed.frames if frame.text.strip()}
    quoted = quoted or {(failed.source_text or "").strip()} - {""}
    found = [each for each in kept(told) if not (each.number or each.on_host)]
    if need <= SMALL_BESIDE_CALLS and any(each.by_calls for each in found) and _waits(quoted):
        return True
    kept_there = (each for each in found if not each.by_calls)
    return any(
        not quoted or line.text.strip() in quoted for each in kept_there for line in (each.line, *each.made)
    )


_JITTED = regex(r"\b(?:jax\.|nnx\.|eqx\.)?(?:filter_)?(?:jit|value_and_grad|grad)\b")
_DEF = regex(r"\bdef (?P<name>\w+)\(")
_TURNS = regex(r"\bfor \w+ in range\((?:\w+, ?)?(?P<many>\d[\d_]{1,})\):")
_LEAST_TURNS = 20


def _unrolled(code: Sequence[Line], need: int | None) -> MadeByLine | None:
    """A Python loop in a function that is compiled or differentiated: each iteration is code of its own."""
    if need is None or need < LEAST_BYTES:
        return None
    named: str | None = None
    left = 0
    for at, line in enumerate(code):
        if match := _DEF.search(line.text):
            left = match.start()
            name = regex(rf"\b(?:jit|grad)\(\s*{match['name']}\b")
            above = at > 0 and code[at - 1].text.strip().startswith("@") and _JITTED.search(code[at - 1].text)
            named = match["name"] if above or any(name.search(each.text) for each in code) else None
        elif named and (match := _TURNS.search(line.text)) and int(match["many"]) >= _LEAST_TURNS:
            if match.start() <= left:
                named = None  # it stands behind the function, and calls it
                continue
            turns = int(match["many"])
            return MadeByLine(
                f"most likely the Python loop of `{named}` ({line.place}): its {turns:,} iterations are"
                " unrolled into one program, and a gradient keeps what each of them needs",
                (
                    Remedy(
                        "loop with scan, and let the backward pass compute each iteration again",
                        "s, _ = jax.lax.scan(jax.checkpoint(lambda s, c: (step(s, c), None)), s, controls)",
                        slug="recompute-body",
                    ),
                    Remedy(
                        "or go through fewer iterations at a time, with jax.checkpoint around each part",
                        slug="in-blocks",
                    ),
                ),
                line=line,
            )
    return None


def _with_a_round_number(case: Case, need: int | None) -> MadeByLine | None:
    """Two stated numbers and a round one that nobody states, whose product the request is."""
    if (found := beside_a_round_number(need, case.capture.surroundings.sizes)) is None:
        return None
    product, count = found
    numbers = product.text.removesuffix(f" in {product.dtype}")
    return MadeByLine(
        f"most likely a number for each of {numbers}, {count:,} times: to the byte it is their product in"
        f" float32, and {count:,}, which the text does not state, are as a rule draws, members or steps",
        (
            Remedy(
                f"let one call make fewer than {count:,} (draws, members, steps: the library's own setting),"
                " a tenth at a time, and bring each part to the host",
                slug="fewer-draws",
            ),
            Remedy(
                "or leave out what has a value for each of them and is not needed (deterministic sites, log"
                " likelihoods, predictions), or take fewer of "
                + " or ".join(f"`{name}`" for name, _ in product.parts),
                slug="return-less",
            ),
        ),
        Basis.SHAPE,
    )


def with_product(made: MadeByLine | None, product: Product | None, need: int | None) -> MadeByLine | None:
    """The same with the sizes that the request is a product of."""
    if product is None or (made and made.basis is Basis.SHAPE):
        return made
    if made is None and (words := _words_of(product)):
        return MadeByLine(
            f"most likely logits over {words:,} classes, or one-hot labels: the request is {product.text}, to"
            " the byte",
            (CHUNKED, NARROW_LOGITS, _INTEGER_LABELS),
            Basis.SHAPE,
        )
    narrower = []
    if product.dtype == "float64":
        narrower = [replace(_IN_FLOAT32, saves_bytes=need // 2 if need else None, certainty=Certainty.EXACT)]
    of_data = made is None or bool(_OF_DATA & {remedy.slug for remedy in made.remedies})
    if of_data and product.is_images and product.dtype == "float32":
        quarter = need // 4 * 3 if need else None
        narrower = [
            Remedy(
                "keep images as uint8 until a batch of them is used: a quarter of float32",
                "x = x_uint8[i : i + 256].astype(jnp.float32) / 255   # inside jit",
                quarter,
                Certainty.EXACT,
                slug="narrow-copy",
            )
        ]
    if made:
        others = tuple(
            remedy
            for remedy in made.remedies
            if remedy.slug not in [each.slug for each in narrower]
            and not (remedy.slug == RECOMPUTED_STEPS.slug and _is_a_carry(made, product))
        )
        return replace(
            made, what=f"{made.what} ({product.text})", remedies=(*narrower, *others), basis=Basis.SHAPE
        )
    parts = (
        f"make `{product.largest}` smaller, or go through it in parts"
        if product.largest
        else "make it in parts"
    )
    return MadeByLine(
        f"the request is {product.text}, to the byte",
        (*narrower, Remedy(f"{parts}, and reduce each part at once", slug="in-blocks")),
        Basis.SHAPE,
    )


_CARRIED = regex(r"\bscan\(\s*[\w.]{1,60}(?:\([^()]{0,60}\))?,\s*(?P<init>[A-Za-z_]\w{0,60})\b")


def _is_a_carry(made: MadeByLine, product: Product) -> bool:
    """Whether what a scan's gradient keeps of each step is its carry, which it keeps all the same where the
    step is computed again.
    """
    scan = _CARRIED.search(made.line.text) if made.line else None
    return scan is not None and any(name == scan["init"] for name, _ in product.parts)


_VOCABULARY = regex(r"(?i)vocab|n_?classes|num_?classes|n_?words|num_?tokens|n_?tokens")
_INTEGER_LABELS = Remedy(
    "give the loss integer labels, so that no one-hot rows exist",
    "loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels)",
    slug="integer-labels",
)


def _words_of(product: Product) -> int | None:
    """The number of classes among the sizes: by its name, or one that is a known vocabulary's and does not
    lead a shape.
    """
    alone = [(name, sizes[0]) for name, sizes in product.parts if len(sizes) == 1]
    named = next((size for name, size in alone if _VOCABULARY.search(name)), None)
    last = [sizes[-1] for _, sizes in product.parts]
    known = next((size for size in last if size in VOCABULARIES), None)
    return (named or known) if len(product.sizes) >= 3 else None


_OF_DATA = frozenset({"narrow-copy", "one-batch-to-the-device", "smaller-buffer", "shuffle-indices"})
"""Remedies for what holds data as it came, which may be kept in fewer bits."""
_IN_FLOAT32 = Remedy(
    "compute in float32: half of this",
    "jax.config.update('jax_enable_x64', False)",
    slug="single-precision-jax",
)


def _stated(text: str, need: int) -> MadeByLine | None:
    """A shape in figures, whose bytes are the request's."""
    if match := _SQUARE.search(text):
        sizes: tuple[int, ...] = (int(match["side"]),) * 2
    elif match := _LITERAL.search(text):
        sizes = tuple(int(size) for size in match["sizes"].split(","))
    else:
        return None
    dtype = next((name for item, name in ITEMS if math.prod(sizes) * item == need), None)
    if dtype is None:
        return None
    remedies = [Remedy("make the array smaller, or make and use it in blocks of rows", slug="in-blocks")]
    if dtype == "float64":
        remedies.append(
            Remedy("make it in float32: half of this", "dtype=jnp.float32", need // 2, slug="narrow-array")
        )
    if match["call"] in ("eye", "identity"):
        remedies.insert(
            0, Remedy("multiply by its diagonal instead: an identity matrix need not exist", slug="in-pieces")
        )
    return MadeByLine(
        f"{match['call']} makes {format_shape(sizes)} {dtype} in one piece", tuple(remedies), Basis.SHAPE
    )


def _pairs(text: str, need: int) -> MadeByLine | None:
    """`x[:, None] - y[None]`: new axes on both sides of an operator."""
    del need
    axes = list(_NEW_AXIS.finditer(text))
    between = [text[one.end() : other.start()] for one, other in pairwise(axes)]
    if not any(re.search(r"[-+*/<>=&|@,]", part) for part in between):
        return None
    squares = Remedy(
        "for distances use a matrix product, which never makes the differences",
        "d2 = (x**2).sum(1)[:, None] + (y**2).sum(1)[None] - 2 * x @ y.T",
        slug="matrix-product",
    )
    distances = (squares,) if "-" in "".join(between) else ()
    return MadeByLine(
        "the line pairs every row of one array with every row of the other, and holds all pairs at once",
        (*distances, IN_BLOCKS),
    )


def _einsum(text: str, need: int) -> MadeByLine | None:
    """`einsum('bqhd,bkhd->bhqk', q, k)`: its result has an axis of each operand that the other lacks."""
    del need
    match = _EINSUM.search(text)
    if match is None:
        return None
    terms = [set(term.strip()) - {"."} for term in match["terms"].split(",")]
    made = set(match["made"]) - {".", " "}
    own = [
        sorted(term & made - set().union(*(other for other in terms if other is not term))) for term in terms
    ]
    if len(terms) < 2 or sum(map(bool, own)) < 2:
        return None
    first, second = ("".join(each) for each in [letters for letters in own if letters][:2])
    scores = len(made) >= 3 and len(first) == len(second) == 1 and len(terms) == len(("queries", "keys"))
    attention = Remedy(
        "if these are attention scores: let a GPU's kernel compute them, which never holds them whole"
        " (without implementation='cudnn', and on other devices, the function holds them)",
        "out = jax.nn.dot_product_attention(q, k, v, implementation='cudnn')   # a GPU, 16 bits",
        slug="flash-attention-jax",
    )
    spec = f"{match['terms'].strip()}->{match['made'].strip()}"
    return MadeByLine(
        f"this einsum makes every {first} with every {second}: {spec}",
        (IN_BLOCKS, *((attention,) if scores else ())),
    )


def _one_hot(text: str, need: int) -> MadeByLine | None:
    """A row as long as there are classes, for each label."""
    match = _CLASSES.search(text)
    if match is None:
        return None
    classes = int(match["classes"])
    labels, rest = divmod(need, 4 * classes) if classes else (0, 1)
    many = f"each of {labels:,} labels" if not rest else "each label"
    return MadeByLine(
        f"one_hot makes a row of {classes:,} numbers for {many}",
        (
            Remedy(
                "keep labels as integers: the loss, or a look-up, needs no one-hot rows",
                "loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels)   # table[labels]",
                slug="sparse-labels",
            ),
            IN_BLOCKS,
        ),
        Basis.SHAPE if not rest else Basis.NAME,
    )


def _vmapped_pairs(text: str, need: int) -> MadeByLine | None:
    """A vmap within a vmap: the function runs for every pair."""
    if len(re.findall(r"\bvmap\(", text)) < 2:
        return None
    side = square_side(need, 4)
    pairs = f" ({side:,} x {side:,} in float32)" if side is not None else ""
    return MadeByLine(
        f"a vmap within a vmap runs the function for every pair of rows{pairs}, all at once",
        (IN_BLOCKS,),
        Basis.SHAPE if pairs else Basis.NAME,
    )


_PRODUCT = regex(r"@|\b(?:jnp|np)\.(?:dot|matmul|inner|outer|tensordot)\(|\bcdist\(|_kernel\(|\bgram\w*\(")


_FISHER = regex(r"(?i)\b(?P<rows>\w+)\.T\s*@\s*(?P=rows)\b|fisher|\bcov\w*\(|covariance")
_DIAGONAL = Remedy(
    "if it is a Fisher or covariance matrix: keep its diagonal, or a block for each layer",
    "diagonal = (g**2).mean(0)",
    slug="diagonal-guide",
)
_WITH_ITSELF = regex(r"\b(?P<rows>\w+) ?@ ?(?P=rows)\.T\b|_kernel\(|\bgram\w*\(|\bcdist\(")


def _square_product(text: str, need: int) -> MadeByLine | None:
    """A product of all rows with all rows: its bytes are a square's; a power of two may be many others."""
    if not _PRODUCT.search(text):
        return None
    itself = bool(_WITH_ITSELF.search(text))
    sides = ((square_side(need, item), item, dtype) for item, dtype in ((4, "float32"), (8, "float64")))
    for side, item, dtype in sides:
        if side is not None and (itself or side & (side - 1)):
            return MadeByLine(
                f"the line makes a number for each pair of rows: {side:,} x {side:,} in {dtype}",
                (
                    *((_IN_FLOAT32,) if item == 8 else ()),
                    *((_DIAGONAL,) if _FISHER.search(text) else ()),
                    IN_BLOCKS,
                ),
                Basis.SHAPE,
            )
    return None


_COPY = regex(
    r"\A\s*(?:return |yield |[\w.,\[\]\"' ]+ = )?[\[({]*(?:[\w\"']+\s*:\s*)?"
    r"(?:jnp|jax\.numpy|jax)\.(?:(?:asarray|array|device_put)\((?!\s*[\w.]*\()|load\()"
    r"|(?:asarray|array|device_put)\(\s*(?:(?:np|onp|numpy|pd|h5py|pickle|Image)\.|\w*(?:load|read)\w*\()"
    r"|\b(?:tree\.map|tree_map|tree_util\.tree_map)\(\s*(?:jnp\.(?:asarray|array)|jax\.device_put)\b"
)
_OF_A_BATCH = regex(r"\bbatch\w*\b|\bminibatch|\bnext\(", re.IGNORECASE)
_OF_WEIGHTS = regex(
    r"\b(?:params?|weights|variables|state_dict|ckpt|checkpoint|train_state)\b", re.IGNORECASE
)


def _copied(text: str, need: int) -> MadeByLine | None:
    """Arrays that a line copies to the device: a batch, weights, or a data set."""
    del need
    if "@" in text or not _COPY.search(text):
        return None
    if _OF_A_BATCH.search(text):
        return MadeByLine(
            "this line copies a batch to the device",
            (
                Remedy("copy smaller batches", slug="smaller-batch"),
                Remedy(
                    "copy it in its own dtype (uint8 for images), and convert it on the device inside jit",
                    "x = jax.device_put(batch_uint8)   # in the step: x.astype(jnp.float32) / 255",
                    slug="narrow-copy",
                ),
            ),
        )
    if _OF_WEIGHTS.search(text):
        return MadeByLine(
            "this line copies weights to the device: they are as large whatever the batch",
            (
                Remedy(
                    "copy them in 16 bits: half of them",
                    "params = jax.tree.map(lambda w: w.astype(np.float16), params)   # on the host",
                    slug="narrow-weights",
                ),
                Remedy("place each array sharded over the devices", slug="shard-arguments"),
            ),
        )
    return MadeByLine(
        "this line copies one array to the device whole",
        (
            Remedy(
                "keep the data set in NumPy, in its own dtype, and copy and convert one batch at a time",
                "batch = jax.device_put(data[i : i + 256])",
                slug="one-batch-to-the-device",
            ),
        ),
    )


_READINGS: tuple[Callable[[str, int], MadeByLine | None], ...] = (
    _stated,
    _one_hot,
    _einsum,
    _pairs,
    _vmapped_pairs,
    _square_product,
)
"""Readings of a line that its figures or its form decide, the most particular first."""
