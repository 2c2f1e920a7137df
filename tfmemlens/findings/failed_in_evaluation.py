"""It failed in evaluation or prediction, not in a training step.

What it means: Keras runs validation with `test_function` and prediction with `predict_function`, Estimators
say that they start an evaluation. The batch that failed is one of the other data set, and the optimizer plays
no part; the weights and slots of the training stay all the while.
When it fires: the failing function is one of these or of a served model, the failing line calls `evaluate`,
`predict` or a layer with `training=False`, a callback of Keras's runs the network, or the log begins an
evaluation and does not end it. A progress bar at its last step makes it likely, unless the call of fit has no
validation data or a dump holds outputs that only a backward pass keeps. It is
the cause where its batch is larger than the training's, or where `predict` holds the outputs of so many
batches that no other fits.
What to do: a smaller batch for that data set, in the call that states it; what `predict` keeps of all batches
leaves the device batch by batch.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator

from tfmemlens.findings import whole_set_in_one_batch
from tfmemlens.findings.support import remedies, samples
from tfmemlens.findings.support.fit_call import fit_call
from tfmemlens.findings.support.last_drop import is_last_drop
from tfmemlens.findings.support.many_alike import size_classes
from tfmemlens.findings.support.phase import (
    EVALUATION,
    PREDICTION,
    beside_training,
    by_the_bar,
    evaluating_program,
    is_hook,
    other_than_training,
)
from tfmemlens.findings.support.program_lines import code_lines, numbers_by_name
from tfmemlens.findings.support.rows import all_in_use, device_limit, on_host, requests
from tfmemlens.findings.support.situation import situation
from tfmemlens.findings.support.tool_settings import tool
from tfmemlens.knowledge.device_names import CPU
from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.case import Case, FrontEnd, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind, SizeClass
from tfmemlens.model.line import Line
from tfmemlens.model.what_if import Shrunk
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, human
from tfmemlens.values import replace

BASIS = Basis.NAME
EXPLAINS = "what the request has beyond a training batch's, where both batches are known; else no bytes"

_WORDS = {
    EVALUATION: (
        "use a smaller batch for evaluation alone; that of training may stay",
        "smaller-evaluation-batch",
    ),
    PREDICTION: ("use a smaller batch for prediction", "smaller-prediction-batch"),
}
_ALONE = regex(r"\bexpand_dims\([^()\n]{1,60}, ?(?:axis ?= ?)?0\)|\[(?:None|(?:np|tf)\.newaxis)\b")
"""One sample that is given the axis of a batch."""
_PART_BYTES = 2 * GIB
_MIN_WHOLE_SET, _BATCH_OF_A_SET = 1000, 100
"""A whole set rather than a batch, and what the rule of whole sets begins with, too."""
_BATCH_SIZE = regex(r"\bbatch_size\s*=\s*(\d{1,9})\b")
_CODE = {
    EVALUATION: "model.fit(..., validation_batch_size={})   # or batch the validation set itself",
    PREDICTION: "model.predict(x, batch_size={})",
}


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        ran = other_than_training(case, request)
        if ran is None or ran[0] not in _WORDS or whole_set_in_one_batch.copies_an_array(case, request):
            continue
        phase, line = ran
        if phase == PREDICTION and (kept := _outputs_kept(case, moment, request)):
            yield _of_outputs(case, index, moment, request, kept)
            continue
        at_batch = f", at a batch of {request.batch}" if request.batch else ""
        larger = _larger_than_training(case, phase, request)
        guessed = by_the_bar(case, request, ran)
        if guessed and on_host(moment) and is_last_drop(request.needed_bytes):
            continue  # the last of many that fill host RAM, whichever of them it was
        failed = "most likely it failed" if guessed else "it failed"
        yield Finding(
            severity=Severity.CAUSE if larger else Severity.FACTOR,
            headline=f"{failed} in {phase}, not in a training step{at_batch}",
            because=_because(case, phase, request, larger, failed),
            explains=_beyond_training(request, larger) if larger else None,
            basis=Basis.MEASURED if larger else None,
            evidence=(
                *(() if guessed else (Evidence(f"the run was in {phase}", line),)),
                *_trained(case, request),
            ),
            remedies=(
                *_decoder(case, request),
                *_smaller(case, moment, phase, request, line),
            ),
            moment=index,
            rules_out=_ruled_out(request, larger is not None),
        )


_NAMES_A_CALL = regex(r"(?i)predict|generat|\bbatch")


def _smaller(case: Case, moment: Moment, phase: str, request: Request, line: Line | None) -> Iterator[Remedy]:
    """A smaller batch, unless all that tells of a prediction is a word for it, and no batch is seen."""
    if on_host(moment) and _batch(case, phase, request) == 1 and is_last_drop(request.needed_bytes):
        return  # no piece of so small a sample frees anything
    seen = _batch(case, phase, request) or line is None or _NAMES_A_CALL.search(line.text)
    if (
        case.api.front_end is FrontEnd.JAX
        and seen is not True
        and not request.batch
        and is_last_drop(request.needed_bytes)
    ):
        return
    if case.api.front_end is FrontEnd.TORCH_XLA and not (seen or request.batch):
        return
    if _by_hand(case):
        yield _in_parts(case, phase, request)
    elif seen or phase != PREDICTION or request.failed.kind is not RequestKind.HOST:
        yield _remedy(case, moment, phase, request)


def _ruled_out(request: Request, larger: bool) -> tuple[str, ...]:
    """What a smaller batch of evaluation makes needless."""
    if larger:
        return _OF_TRAINING
    return _OF_SAMPLES if (request.batch or 0) >= _MANY_SAMPLES else ()


_FEW_OUTPUTS, _MANY_OUTPUTS = 3, 6
"""Blocks of earlier outputs: where the code shows that its last layer failed, and where none was read."""
_SPLIT, _MOST_OF_ALL = 2, 0.5
_COLLECTS = (2, 2)
"""The first TensorFlow whose `predict` collects tensors; before, each batch became an array of NumPy's."""


def _outputs_kept(case: Case, moment: Moment, request: Request) -> list[SizeClass]:
    """Blocks that `predict` holds of batches that went well, most likely: as large as the output that failed,
    or up to twice, which the allocator gives whole, and most of what is in use. Nothing else keeps so many in
    a forward pass.
    """
    need = request.needed_bytes
    if (
        need is None
        or case.api.newest < _COLLECTS
        or case.api.front_end is FrontEnd.JAX
        or not _predicts(request)
    ):
        return []
    blocks = [each for each in size_classes(moment) if need <= each.size_bytes < _SPLIT * need]
    shape, program = request.failed.shape, case.capture.surroundings.program()
    least = _MANY_OUTPUTS
    if program and shape:
        from tfmemlens.knowledge.keras_program import fits, layer_outputs

        made = layer_outputs(program, shape)
        if made and not fits(made[-1], shape):
            return []
        least = _FEW_OUTPUTS if made else least
    many, held = sum(each.count for each in blocks), sum(each.total_bytes for each in blocks)
    return blocks if many >= least and held >= _MOST_OF_ALL * all_in_use(moment) else []


def _predicts(request: Request) -> bool:
    """Whether Keras's own `predict` ran, which goes through many batches."""
    if request.failed.keras_call == "predict" or "predict_function" in (request.failed.function or ""):
        return True
    return any(frame.name == "predict" and not user_frame(frame.place) for frame in request.failed.frames)


def _of_outputs(case: Case, index: int, moment: Moment, request: Request, kept: list[SizeClass]) -> Finding:
    """`predict` has no room for the output of one more batch."""
    many, held = sum(each.count for each in kept), sum(each.total_bytes for each in kept)
    what = (
        f"`predict` keeps the output of each batch on the device until all are joined: {many} blocks of its"
        f" size or a little more are held, {human(held)}, most likely those; a smaller batch makes more of"
        " them, and all together as large"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=held + (request.needed_bytes or 0),
        basis=Basis.SHAPE,
        evidence=(
            Evidence("the request", request.failed.line),
            *(Evidence(f"{each.count} of {human(each.size_bytes)}", each.line) for each in kept[:3]),
        ),
        remedies=(_batch_by_batch(case, moment, request),),
        moment=index,
        rules_out=(*_OF_TRAINING, "mixed-precision", "recompute", _WORDS[PREDICTION][1]),
    )


def _batch_by_batch(case: Case, moment: Moment, request: Request) -> Remedy:
    """Each batch by a call of its own; on a CPU an array shares the tensor's memory, and must not be kept."""
    call, _ = _of_the_way(PREDICTION, request)
    model, data = "model", "x"
    if call and isinstance(call.func, ast.Attribute) and call.args and isinstance(call.args[0], ast.Name):
        model, data = ast.unparse(call.func.value), ast.unparse(call.args[0])
    size = (request.failed.shape or (None,))[0] or _batch(case, PREDICTION, request) or 32
    one = f"{model}.predict_on_batch({data}[i:i + {size}])"
    loop = f"for i in range(0, len({data}), {size}):"
    if situation(case, moment).device == CPU or on_host(moment):
        return Remedy(
            "predict batch by batch, and save or reduce each result (an argmax, a top k) before the next",
            f"{loop}\n    np.save(f'part{{i}}.npy', {one})",
            slug="keep-numbers",
        )
    return Remedy(
        "predict batch by batch, so that each result leaves the device before the next; where host RAM is"
        " short, too, reduce each (an argmax, a top k)",
        f"results = np.concatenate([{one} {loop[:-1]}])",
        slug="keep-numbers",
    )


_OF_TRAINING = (
    "smaller-batch",
    "smaller-input",
    "batch-for-the-block",
    "constant-shapes",
    "large-tensors-first",
    "find-the-feed",
)
"""What would change the training, whose batches fit."""
_MANY_SAMPLES, _OF_SAMPLES = 8, ("smaller-input",)
"""Where so many samples were run at once, fewer of them leave each as it is."""


def _because(case: Case, phase: str, request: Request, larger: tuple[int, int] | None, failed: str) -> str:
    """Where it ran and with how many samples, in the program's own words where they are known; `failed` says
    how sure it is.
    """
    beside = beside_training(request)
    if beside and is_hook(beside[1]):
        at = f"it failed in `{beside[1].name}` of a callback ({_short(beside[1].place)})"
        return (
            f"{at}, which gives the network {larger[0]:,} samples at once, in training {larger[1]}"
            if larger
            else at
        )
    if not larger:
        return f"{failed} in {phase}, whose batch can be set by itself"
    fit = fit_call(case.capture.surroundings)
    line = fit.validation_line if fit and phase == EVALUATION else None
    stated = f" (`{fit.validation}`, {line.place})" if fit and line else ""
    called = "validation" if stated else phase
    return f"{failed} in {called}, whose batch is {larger[0]}{stated}, in training {larger[1]}"


def _short(place: str) -> str:
    """`line 26 of 05.py` of a frame's place."""
    path, _, number = place.rpartition(":")
    return f"line {number} of {os.path.basename(path)}" if number.isdecimal() else place


_ENDLESS, _TIMES, _LEAST_STATED, _OTHERS = 20_000, 50, 100, 2048
"""Steps, and so many times a length that the text states; sizes beside such an axis are no steps."""


def _decoder(case: Case, request: Request) -> Iterator[Remedy]:
    """Of one axis that is far longer than all that the text states: steps that a decoder makes until it stops
    by itself.
    """
    shape = [size or 1 for size in request.failed.shape or ()]
    longest = max(shape, default=0)
    stated = [size for each in case.capture.surroundings.sizes for size in each.sizes if size != longest]
    most = max((size for size in stated if size >= _LEAST_STATED), default=0)
    alone = sum(size > _OTHERS for size in shape) == 1
    if longest >= _ENDLESS and alone and most and longest >= _TIMES * most:
        yield Remedy(
            f"one axis has {longest:,} steps, and the text speaks of {most:,}: most likely a decoder goes on"
            " until it predicts an end, which one that is hardly trained never does; cap its steps",
            "decoder.maximum_iterations = 1000   # or the option that your program has for it",
            slug="fewer-steps",
        )


def _by_hand(case: Case) -> bool:
    """Whether it is a program of JAX's whose library has no method for evaluation or prediction."""
    return case.api.front_end is FrontEnd.JAX and case.api.library != "Keras"


_LEAST_TO_CUT = 64 << 20
"""A smaller request is no reason to cut the work into parts: the device was full."""


def _in_parts(case: Case, phase: str, request: Request) -> Remedy:
    """Fewer rows at a time, so many parts that each needs 2 GiB at most."""
    if program := evaluating_program(case, request):
        return remedies.of_evaluating_program(program[0])
    need = request.needed_bytes or 0
    if 0 < need < _LEAST_TO_CUT and "concatenate" in (request.failed.source_text or ""):
        return Remedy(
            "the request itself is small: bring each part's result to the host before the next one, and join"
            " them there; what all parts gave stays on the device otherwise",
            "parts = [np.asarray(apply(params, part)) for part in parts]; out = np.concatenate(parts)",
            slug=_WORDS[phase][1],
        )
    parts = max(1 << (max(need - 1, 0) // _PART_BYTES).bit_length(), 8)
    each = f" ({parts} parts need {human(need // parts)} each, as far as it grows with them)" if need else ""
    return Remedy(
        f"run it for fewer rows (samples, rays, pixels) at a time, and bring each part's result to the"
        f" host{each}",
        f"parts = [np.asarray(apply(params, part)) for part in np.array_split(x, {parts})]",
        slug=_WORDS[phase][1],
    )


def _larger_than_training(case: Case, phase: str, request: Request) -> tuple[int, int] | None:
    """The batch of evaluation, or of what a callback runs, and the training's, where both are known and the
    former is larger.
    """
    batch, trained = _batch(case, phase, request), _trained_with(case, request)
    beside = beside_training(request)
    within = phase == EVALUATION or (beside and is_hook(beside[1]))
    return (batch, trained) if within and batch and trained and trained < batch else None


def _trained_with(case: Case, request: Request) -> int | None:
    """The batch of training: as the program's call of fit states it, as the run was set, else of the step
    that the program recorded.
    """
    fit = fit_call(case.capture.surroundings)
    if fit and fit.batch:
        return fit.batch
    quoted = (_BATCH_SIZE.search(frame.text) for frame in request.failed.frames if ".fit(" in frame.text)
    if stated := next(filter(None, quoted), None):
        return int(stated[1]) or None
    setting, model = case.capture.surroundings.setting("batch_size"), case.capture.live_model
    if setting:
        return int(setting[0]) or None
    return model.batch if model else None


def _beyond_training(request: Request, batches: tuple[int, int]) -> int | None:
    """Bytes of the request that a batch of training's size does not need."""
    need, (batch, trained) = request.needed_bytes, batches
    return None if need is None else need - need * trained // batch


def _fitting(case: Case, moment: Moment, request: Request, batch: int) -> int:
    """A quarter of the batch, or less where its one output that failed would still take an eighth of the
    device: others of its size live beside it, and its kernel needs room.
    """
    need, limit = request.needed_bytes, device_limit(case, moment)
    most = max(batch // 4, 1) if batch < _MIN_WHOLE_SET else _BATCH_OF_A_SET
    if not need or request.batch != batch:
        return most
    room = limit.bytes // 8 if limit else _PART_BYTES
    fits = room * batch // need
    return most if fits >= most else 1 << max(fits.bit_length() - 1, 0)


def _remedy(case: Case, moment: Moment, phase: str, request: Request) -> Remedy:
    text, slug = _WORDS[phase]
    batch = _batch(case, phase, request)
    known = tool(case)
    if phase == PREDICTION and known and known[0].tiles and batch in (None, 1):
        return Remedy(f"predict in tiles, more of them the less it takes: {known[0].tiles}", slug=slug)
    if batch == 1:
        text = (
            "the batch is 1 already: go through each sample in pieces (patches, tiles, windows) and join the"
        )
        return Remedy(f"{text} results", slug=slug)
    smaller = _fitting(case, moment, request, batch) if batch else 8
    if batch:
        larger = _larger_than_training(case, phase, request)
        of_set = _trained_with(case, request) if phase == EVALUATION else None
        training = larger[1] if larger else of_set
        if training and training < batch:
            less = _beyond_training(request, (batch, training)) or 0
            enough = less >= (moment.balance.missing or 0)
            smaller = training if enough else min(training, smaller)
        beside = f", in training {training}" if training and training != batch else ""
        text += f" (this one had {batch}{beside})"
    in_session = case.api.is_tf1 or case.api.front_end is FrontEnd.SESSION
    code = None if in_session else _code(case, phase, request, smaller)
    setting = case.capture.surroundings.setting("validation_batch_size")
    if code and phase == EVALUATION and setting and ".batch(" in setting[1].text:
        text, code = f"{text}, {setting[1].place}", f"validation_data=validation.batch({smaller})"
    elif batch and not code:
        text += f": try {smaller}"
    need = request.needed_bytes
    if not batch or request.batch != batch or request.fixed or not smaller < batch:
        return Remedy(text, code, slug=slug)
    return replace(remedies.of_tensor(case, text, Shrunk(slug, need, batch, smaller)), code=code)


def _code(case: Case, phase: str, request: Request, smaller: int) -> str:
    """The program's own call with a smaller batch, where its line is known; else a call of Keras's."""
    fit = fit_call(case.capture.surroundings) if phase == EVALUATION else None
    if fit and fit.validation_line:
        return f"validation_batch_size={smaller}   # {fit.validation_line.place}"
    beside = beside_training(request)
    called = _called_directly(beside[1].text) if beside else None
    if called:
        return f"{called}, batch_size={smaller})"
    return _own_call(case, phase, request, smaller) or _CODE[phase].format(smaller)


_DEFINED_AND_USED = 2
"""Lines with a name that states the batch of one call: what more of them use is another call's, too."""
_OWN = {
    EVALUATION: ("evaluate", "evaluate_generator"),
    PREDICTION: ("predict", "predict_generator"),
}


def _own_call(case: Case, phase: str, request: Request, smaller: int) -> str | None:
    """The call of `evaluate` or `predict` that the traceback goes through, with the smaller batch; where a
    name of the program's states the batch of this call alone, the line that assigns it.
    """
    call, batch = _of_the_way(phase, request)
    if call is None or batch is None:
        return None  # it may be given a data set, which has its batch
    if isinstance(batch.value, ast.Name):
        name, code = batch.value.id, code_lines(case.capture.surroundings)
        uses = sum(bool(re.search(rf"\b{re.escape(name)}\b", line.text)) for line in code)
        if uses <= _DEFINED_AND_USED and (stated := numbers_by_name(code).get(name)):
            return f"{name} = {smaller}   # {stated[1].place}"
    batch.value = ast.Constant(smaller)
    return ast.unparse(call)


def _of_the_way(phase: str, request: Request) -> tuple[ast.Call | None, ast.keyword | None]:
    """The user's own call of `evaluate` or `predict` on the way to the failure, and what states its batch."""
    for frame in reversed(request.failed.frames):
        for call in _calls(frame.text) if user_frame(frame.place) else ():
            if last_name(call.func) in _OWN[phase]:
                return call, next((word for word in call.keywords if word.arg == "batch_size"), None)
    return None, None


def _calls(text: str) -> list[ast.Call]:
    try:
        tree = ast.parse(text.strip())
    except (SyntaxError, ValueError):
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def _called_directly(text: str) -> str | None:
    """`self.model.predict(held_out` of a line that calls a model itself with `training=False`."""
    for call in (each for each in _calls(text) if each.args):
        words = {word.arg for word in call.keywords}
        name = last_name(call.func)
        if name != "predict" and (words == {"training"} or (name == "model" and not words)):
            return f"{ast.unparse(call.func)}.predict({ast.unparse(call.args[0])}"
    return None


def _batch(case: Case, phase: str, request: Request) -> int | None:
    """The batch of the call that failed: as its own line says, then the run's setting for validation, then
    the request's shape. A `batch_size` that is set elsewhere may be the training's.
    """
    code = request.failed.source_text or ""
    if ".fit(" not in code and (on_the_line := _BATCH_SIZE.search(code)):
        return int(on_the_line[1])
    named = _of_the_way(phase, request)[1] if phase in _OWN else None
    if named and isinstance(named.value, ast.Name):
        known = numbers_by_name(code_lines(case.capture.surroundings)).get(named.value.id)
        if known and known[0] > 0:
            return known[0]
    setting = case.capture.surroundings.setting("validation_batch_size") if phase == EVALUATION else None
    if setting:
        return int(setting[0])
    alone = _ALONE.search(code) or samples.alone(request)
    return request.batch or (1 if alone and (request.failed.shape or (1,))[0] == 1 else None)


def _trained(case: Case, request: Request) -> Iterator[Evidence]:
    at = case.capture.surroundings.progress_before(request.failed.line)
    if at and at.step is not None and at.step == at.steps:
        yield Evidence(f"{at.step} of {at.steps} training steps had passed", at.line)
