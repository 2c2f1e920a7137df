"""What the run was doing when it failed, where that is no training: then nothing of gradients helps."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Sequence

from tfmemlens.findings.support.kept import under_a_tape
from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.knowledge.tree_values import last_name, names_of_calls
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.case import Case, FrontEnd, Request
from tfmemlens.model.incident import Frame
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

EVALUATION, PREDICTION, PIPELINE, LOADING = (
    "evaluation",
    "prediction",
    "the input pipeline",
    "loading weights",
)
_FUNCTIONS = {
    "test_function": EVALUATION,
    "predict_function": PREDICTION,
    "signature_wrapper": PREDICTION,
    "_wrapped_model": PREDICTION,
}
_METHODS = {
    "evaluate": EVALUATION,
    "test_on_batch": EVALUATION,
    "predict": PREDICTION,
    "predict_on_batch": PREDICTION,
}
_CALLS = {
    EVALUATION: regex(
        r"\.(?:evaluate(?:_generator)?|test_on_batch|eval)\("
        r"|\bfeed_dict\s?=\s?(?:val|valid|validation|eval|dev|test)_\w"
    ),
    PREDICTION: regex(r"\.predict(?:_on_batch|_generator|_proba)?\(|\btraining\s*=\s*False\b"),
    LOADING: regex(r"\.(?:restore|load_weights)\(|\bload_(?:params|model|weights|checkpoint)\("),
}
_VALIDATED = regex(r"\bval_\w+: ")
_FEWEST_STEPS = 2
_PFOR = regex(r"(?:\A|/)(?:(?:pfor|loop_body)(?:_\d+)?/|pfor(?:_\d+)?\Z)")
_JACOBIAN = regex(r"\.(?:batch_)?jacobian\(")


def other_than_training(case: Case, request: Request) -> tuple[str, Line | None] | None:
    """What ran instead of a training step, with the line that shows it; None where nothing does."""
    failed = request.failed
    if failed.pipeline:
        return PIPELINE, failed.line
    function = failed.function or ""
    if "train" in function or failed.updating:
        return None
    if phase := _METHODS.get(failed.keras_call or ""):
        return phase, failed.line
    for name, phase in _FUNCTIONS.items():
        if f"_{name.lstrip('_')}_" in f"{function}_":
            return phase, failed.line
    if phase := _by_library(failed.frames):
        return phase, failed.line
    if evaluating := case.capture.surroundings.evaluating:
        return EVALUATION, evaluating
    for phase, call in _CALLS.items():
        if call.search(failed.source_text or "") and not _graded(case, request, phase):
            return phase, failed.line
    beside = beside_training(request) if case.api.front_end is not FrontEnd.JAX else None
    if beside and not _graded(case, request, beside[0]):
        return beside[0], failed.line
    if case.api.front_end is FrontEnd.JAX and (program := evaluating_program(case, request)):
        return EVALUATION, program[1]
    if case.api.front_end is FrontEnd.JAX and (phase := _by_function(failed.frames, failed.source_text)):
        return phase, failed.line
    if validating := _after_the_last_step(case, request):
        return EVALUATION, validating
    if failed.training is False and not under_a_tape(case, request):
        return PREDICTION, failed.line
    if said := _said_of_evaluation(case, request):
        return EVALUATION, said
    predicting = _predicts_alone(case, request) or _said_of_prediction(case, request)
    predicting = predicting or case.capture.surroundings.shows("in Fiji")  # whose plug-ins train nothing
    return (PREDICTION, predicting) if predicting else None


def _graded(case: Case, request: Request, phase: str) -> bool:
    """Whether what looks like a prediction runs in a tape of the program, as where the gradients of an input
    are taken through a network in `training=False`: what is kept for them is no prediction's.
    """
    return phase == PREDICTION and under_a_tape(case, request)


def runs_forward_alone(case: Case, request: Request) -> bool:
    """Whether the stack of an eager op is there from the program's first line, and all of its own files are,
    and none of these lines stands in a tape or calls what takes gradients by itself.
    """
    frames = request.failed.frames
    own = [frame for frame in frames if user_frame(frame.place)]
    eager = case.api.front_end is FrontEnd.EAGER or (request.failed.function or "").startswith(_EAGER)
    if not eager or not own or own[0].name != "<module>":
        return False
    read = {statement.line.source for statement in case.capture.surroundings.program()}
    files = {os.path.basename(frame.place.rpartition(":")[0]) for frame in own}
    if not files <= read or under_a_tape(case, request):
        return False
    return not any(
        _TAKES_GRADIENTS.search(f"{frame.name} {_NO_STEP.sub('', frame.text)}") for frame in frames
    )


_EAGER = "__wrapped__"
"""How TensorFlow names the function of an op that runs by itself."""


def runs_a_graph(case: Case, request: Request) -> bool:
    """Whether a function that was traced to a graph failed, as far as the failure tells."""
    function = request.failed.function or ""
    return case.api.front_end is FrontEnd.FUNCTION or bool(function and not function.startswith(_EAGER))


def updates_in_a_session(case: Case) -> bool:
    """Whether the line of the user's that the text quotes runs what the program's optimizer gave it:
    `sess.run([loss, train_op])`; or no line runs anything else but initial values.
    """
    told = case.capture.surroundings
    if case.api.front_end is not FrontEnd.SESSION:
        return False
    nodes = [node for statement in told.program() for node in statement.nodes]
    updates = names_of_calls(nodes, _UPDATES)
    texts = [line.text for line in told.code if ".run(" in line.text]
    if any(re.search(rf"\.run\([^{{]*\b{name}\b", text) for name in updates for text in texts):
        return True
    runs = [
        {last_name(each) for each in ast.walk(node.args[0])}
        for node in nodes
        if isinstance(node, ast.Call) and last_name(node.func) == "run" and len(node.args) > 1
    ]  # with what is fed: initial values and tables need none
    return bool(runs and updates) and all(names & updates for names in runs)


_UPDATES = frozenset({"minimize", "apply_gradients", "create_train_op", "optimize_loss"})


_TAKES_GRADIENTS = regex(r"(?i)fit|train|minimi|grad|jacob|hess|learn|optimi|backward|tape")
_NO_STEP = regex(r"\btraining\s*=\s*\w+")
"""A layer's own argument, which tells only what dropout and normalisation do."""


_PREDICTS_ALL = regex(r"\.predict_instances(?:_big)?\(")
"""A call of programs that people use with trained models, which no training makes."""
_IN_TILES = "tool: CSBDeep"
"""What names the tiles in which such programs predict, or their family."""


def _predicts_alone(case: Case, request: Request) -> Line | None:
    """The line that names such a call, where nothing in the text trains."""
    told = case.capture.surroundings
    trains = any(map(told.shows, ("training", "training in words", "fitting")))
    if trains or request.owner.phase is Phase.GRADIENT:
        return None
    tiled = told.shows(_IN_TILES)
    if tiled and "n_tiles" in tiled.text:
        return tiled
    return next((line for line in told.code if _PREDICTS_ALL.search(line.text)), None)


def _said_of_prediction(case: Case, request: Request) -> Line | None:
    """The line that says that it is in the prediction, where the failed op is no gradient's and nothing was
    being fitted; beside words of a training only where it says itself that this failed.
    """
    told, failed = case.capture.surroundings, request.failed
    said = told.shows("failing in prediction")
    fits = told.steps or told.progress or case.api.front_end is FrontEnd.JAX or _in_a_training(failed.frames)
    if fits or request.owner.phase in (Phase.GRADIENT, Phase.OPTIMIZER) or failed.keras_call:
        return None
    if said is None or (told.shows("fitting") and not _FAILS.search(said.text)):
        return None
    return said


_FAILS = regex(r"(?i)\b(?:OOM\b|out of (?:\w+ )?memory|Resource ?Exhausted|errors?\b|crash|fail)")


def _in_a_training(frames: Sequence[Frame]) -> bool:
    return any(_OF_LIBRARIES["training"].fullmatch(frame.name) for frame in frames)


_PROGRAM = regex(r"\A(?:p?jit\(|p?jit_|pmap\()_?(?P<name>(?:eval|valid)\w*|test_(?:step|epoch|loop))")
"""How JAX names a program, in the names of its ops and its own, of a function that evaluates."""


def evaluating_program(case: Case, request: Request) -> tuple[str, Line | None] | None:
    """The name of the jitted function that failed, where it says that it evaluates: of the listing's buffers,
    or of the message; with the line that has it.
    """
    failed = request.failed
    if match := _PROGRAM.match(failed.executable or ""):
        return match["name"], failed.line
    moment = next((each for each in case.moments if each.request is request), None)
    for row in list(moment.attribution.table)[:_FIRST_BUFFERS] if moment else ():
        if match := _PROGRAM.match(row.node or ""):
            return match["name"], row.line or failed.line
    return None


_FIRST_BUFFERS = 3
_HOOK = regex(r"on_(?:epoch|batch|train|test|predict)(?:_batch)?_(?:begin|end)")
"""Functions of a callback, which Keras calls between its own steps."""
_RECORDS = regex(r"\b\w*tape\b|\.gradient\(|\.fit\w*\(|\.train_on_batch\(")


def beside_training(request: Request) -> tuple[str, Frame] | None:
    """The user's frame, the innermost first, that runs the network by itself and takes no gradient: it
    evaluates or predicts, or a callback of Keras's does so. With what it does.
    """
    if request.owner.phase in (Phase.GRADIENT, Phase.OPTIMIZER):
        return None
    for frame in reversed(request.failed.frames):
        if not user_frame(frame.place) or not frame.text:
            continue
        if _RECORDS.search(frame.text) or _STEPS.fullmatch(frame.name):
            return None
        called = next((phase for phase in _RUNS if _CALLS[phase].search(frame.text)), None)
        if called or is_hook(frame):
            return called or PREDICTION, frame
    return None


def is_hook(frame: Frame) -> bool:
    """Whether a frame lies in a function of a callback that Keras calls between its steps."""
    return bool(_HOOK.fullmatch(frame.name))


_RUNS = (EVALUATION, PREDICTION)
_EVALUATION_FAILS = regex(
    r"(?i)^(?=.*\b(?:OOM\b|out of memory|Resource ?Exhausted))(?=.*\b(?:evaluat|validat)(?:ion|ing)\b)"
)


def _said_of_evaluation(case: Case, request: Request) -> Line | None:
    """The line that says that memory ran out in an evaluation; None beside a step of a training."""
    said = case.capture.surroundings.shows("failing in evaluation")
    if said is None or request.owner.phase is Phase.GRADIENT or request.failed.keras_call:
        return None
    return said if _EVALUATION_FAILS.search(said.text) else None


def of_other_data(case: Case, request: Request) -> bool:
    """Whether it was evaluation or prediction, whose batch is one of another data set."""
    ran = other_than_training(case, request)
    return ran is not None and ran[0] in (EVALUATION, PREDICTION)


_OF_LIBRARIES = {
    EVALUATION: regex(r"_?evaluate(?:_generator|_model|_once|_on_iterator)?|test_(?:on_batch|step|loop)"),
    PREDICTION: regex(r"predict(?:_generator|_on_batch|_step|_loop)?|_?run_inference"),
    "training": regex(r"fit(?:_generator|_loop)?|train_(?:on_batch|step)|_train_\w+|run_train_op"),
}
"""What Keras and the Estimators call their own functions."""


def _by_library(frames: Sequence[Frame]) -> str | None:
    """What the deepest function of Keras or of an Estimator does that trains, evaluates or predicts; None
    where it trains, and where there is none.
    """
    if any(_INFERS.search(f"{frame.place.rpartition(':')[0]} {frame.name}") for frame in frames):
        return PREDICTION
    for frame in reversed(frames):
        if user_frame(frame.place):
            continue
        phase = next((phase for phase, name in _OF_LIBRARIES.items() if name.fullmatch(frame.name)), None)
        if phase:
            return phase if phase in (EVALUATION, PREDICTION) else None
    return None


_INFERS = regex(
    r"\bdiffusers[/\\](?:\w+[/\\])*pipelines[/\\]\S+\.py __call__\Z"
    r"|\btransformers[/\\](?:\w+[/\\])*pipelines[/\\]\S+\.py (?:__call__|run_single|forward)\Z"
    r"|\btransformers[/\\](?:\w+[/\\])*generation[/\\]\w+\.py (?:generate|sample|_sample|greedy_search)\Z"
)
"""A pipeline or a generation of Hugging Face's, whose own loop takes no gradient."""
_LOADING_FRAMES = regex(
    r"\A(?:load_weights\w*|batch_set_value|set_weights|from_pretrained|from_preset|load_model)\Z"
)


def is_loading(request: Request) -> bool:
    """Whether the values of a file of weights were being assigned, as the line or a frame above it tells."""
    failed = request.failed
    if _LOADS.search(failed.source_text or ""):
        return True
    return any(
        _LOADING_FRAMES.match(frame.name) or _LOADS.search(frame.text) for frame in failed.frames[-12:]
    )


_LOADS = regex(
    r"\.(?:load_weights|set_weights|from_pretrained|from_preset|restore)\(|\b(?:load_model|batch_set_value)\("
)
_TRAINS = regex(r"\b\w*(?:train|fit|grad|update|learn|optimi[sz]e)\w*\(", re.IGNORECASE)
_GRADED = regex(r"\b(?:value_and_)?grad\(|\bfilter_(?:value_and_)?grad\b|\bjax\.vjp\(")
_STEPS = regex(r"(?:train\w*_|grad\w*_|make_|opt\w*_)?step\w*|update\w*|loss\w*|\w*grads?")
"""Functions that are a training's step, or a part of one, whatever they call."""
_NAMED_AFTER = {
    EVALUATION: regex(r"(?<![\w.])_?(?:eval_\w+|evaluate\w*|validat\w*|test_(?:step|epoch|loop|model))\("),
    PREDICTION: regex(
        r"(?<!\w)_?(?:render\w*|predict\w*|generate\w*|infer\w*"
        r"|decode_(?:all|image|batch)\w*|embed_(?:all|data|corpus)\w*"
        r"|encode_(?:all|data)\w*|extract_(?:feat|embed)\w*)\(|(?<![\w.])sample(?:_\w+)?\("
    ),
}


def _by_function(frames: Sequence[Frame], text: str | None) -> str | None:
    """What the user's own functions are named after, the deepest first: `evaluate`, `render_image`; None
    where one of a training comes before them.
    """
    own = [frame for frame in reversed(frames) if user_frame(frame.place)] or [Frame("", text or "")]
    if any(_GRADED.search(frame.text) for frame in own):
        return None  # a gradient is taken through it
    for frame in own:
        if _STEPS.fullmatch(frame.name):
            return None
        for call in (frame.text, f"{frame.name}("):
            if phase := next((phase for phase, name in _NAMED_AFTER.items() if name.search(call)), None):
                return phase
            if _TRAINS.search(call):
                return None
    return None


def _after_the_last_step(case: Case, request: Request) -> Line | None:
    """The bar of an epoch whose training steps were all done when it failed, before any metric of validation
    was printed: what runs then most likely is validation. A gradient is no part of it, nor are outputs that
    are kept for one, and a call of fit without validation data runs none.
    """
    at = case.capture.surroundings.progress_before(request.failed.line)
    if at is None or not at.step or at.step != at.steps or at.steps < _FEWEST_STEPS:
        return None
    if _VALIDATED.search(at.line.text) or request.owner.phase in (Phase.GRADIENT, Phase.OPTIMIZER):
        return None
    return None if _trains_alone(request) or _keeps_outputs(case, request) else at.line


def by_the_bar(case: Case, request: Request, ran: tuple[str, Line | None]) -> bool:
    """Whether nothing but a progress bar at its last step says that this ran, which says of what runs next no
    more than what is likely.
    """
    at = case.capture.surroundings.progress_before(request.failed.line)
    return at is not None and ran == (EVALUATION, at.line)


_FITS = regex(r"\.fit(?:_generator)?\((?!.*(?:validation|\*\*|\beval)).*\)\s*\Z")
"""A whole call that is given no validation data."""


def _trains_alone(request: Request) -> bool:
    return any(_FITS.search(frame.text) for frame in request.failed.frames if user_frame(frame.place))


_MANY_KEPT, _PART = 24, 4
"""So many blocks of at least such a part of the request: a forward pass alone frees what it has used."""


def _keeps_outputs(case: Case, request: Request) -> bool:
    """Whether the list or dump of the failure shows a backward pass, or more large blocks than a forward pass
    without gradients has at once, weights by name apart.
    """
    moment = next((each for each in case.moments if each.request is request), None)
    need = request.needed_bytes
    if moment is None or not need:
        return False
    table = zip(moment.attribution.table, moment.attribution.owners, strict=True)
    kept = 0
    for row, owner in table:
        if owner.phase is Phase.GRADIENT:
            return True
        of_model = owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
        kept += row.count if not of_model and row.size_bytes * _PART >= need else 0
    return bool(request.batch) and kept >= _MANY_KEPT


def is_jacobian(request: Request) -> bool:
    """Whether the op runs in the vectorised loop that `tape.jacobian` makes: the first dimension of what it
    makes is the loop's iterations.
    """
    return bool(_PFOR.search(request.failed.node or "") or _JACOBIAN.search(request.failed.source_text or ""))
