"""What a text names as that which grows, where words say that memory does: its code, a setting, the time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from tfmemlens.findings.support import code_snippets
from tfmemlens.findings.support.brace_code import again_and_again
from tfmemlens.findings.support.contrasted import first_of
from tfmemlens.findings.support.grower import Grower
from tfmemlens.findings.support.host_causes import WATCH_THE_WORKER, worker_of_ray
from tfmemlens.findings.support.kept_code import kept
from tfmemlens.findings.support.made_and_run import makes_and_runs
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.ram_of_tools import ram_of_a_tool
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of, on_a_mac, situation
from tfmemlens.findings.support.told_again import (
    FEWER_SAMPLES,
    FROZEN,
    LOAD_ONCE,
    NOT_KEPT,
    SHUFFLE_NAMES,
    SMALLER_SHUFFLE,
    WITHOUT_CACHE,
    replays,
    told_again,
    told_epochs,
)
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Api, Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import human

if TYPE_CHECKING:
    from tfmemlens.findings.support.made_in_loops import ModelLoop

THREADS = Remedy(
    "read the data with threads of this process: a worker that is forked soon has its own copy of what it"
    " reads, and what waits in its queue is held twice",
    "model.fit(data, workers=4, use_multiprocessing=False)   # or tf.data: map(..., num_parallel_calls=4)",
    slug="fewer-workers",
)
_ON_THE_CPU = Remedy(
    "train on the CPU, where it stays flat by the text's own test: a small model is hardly slower there",
    "tf.config.set_visible_devices([], 'GPU')   # right after the import",
    slug="train-on-the-cpu",
)
_OTHER_PLUGIN = Remedy(
    "try another release of the plugin, with the TensorFlow that it is made for",
    "pip install -U tensorflow tensorflow-metal   # old releases: tensorflow-macos, too",
    slug="other-plugin",
)
_ONE_RUN = Remedy(
    "call train once for all steps rather than once for each epoch, and evaluate seldom: each call makes its"
    " graph and its session anew",
    "tf.estimator.train_and_evaluate(estimator, train_spec, eval_spec)",
    slug="one-call",
)
_FILES = Remedy(
    "let input_fn read files: arrays that it gives to from_tensor_slices become constants of every new graph",
    "tf.data.TFRecordDataset(files)   # small arrays: Dataset.from_generator",
    slug="data-out-of-the-graph",
)
_OWN_PROCESS = Remedy(
    "or do it in a process of its own, whose end frees everything",
    slug="own-process",
)
_SHAPES_ALIKE = Remedy(
    "pad to few lengths, so that few graphs are made",
    slug="constant-shapes",
)
_ONE_DATA_SET = Remedy(
    "make the data set once, from a generator that gives the new arrays (or, in graph mode, from a"
    " placeholder that each new array is fed to)",
    "ds = tf.data.Dataset.from_generator(arrays_of_this_epoch, output_types=tf.float32)",
    slug="make-once",
)
_SELDOM = Remedy(
    "train for two epochs without validation: where memory then stays flat, give it the validation data as"
    " one data set that is made once and ends by itself, or validate seldom",
    "model.fit(train, validation_data=valid, validation_freq=10)",
    slug="make-once",
)


_LESS_OF_RAY = Remedy(
    "let this process hold less by its own settings (of RLlib its replay buffer and batch, of a loader what"
    " it reads whole), and let fewer of its kind run at once",
    "config['replay_buffer_size'] //= 4; config['num_workers'] //= 2   # other releases, other names",
    slug="smaller-replay",
)
_DELEGATE = regex(r"TfLiteGpuDelegate|\bGpuDelegate|\bGPU delegate\b|\bModifyGraphWithDelegate\b")
_OTHER_DELEGATE = Remedy(
    "try a newer TensorFlow Lite, and the delegate's other interface (OpenGL instead of OpenCL): where one of"
    " them stays flat, take it, and report the other with the GPU's name",
    "options.experimental_flags |= TFLITE_GPU_EXPERIMENTAL_FLAGS_GL_ONLY;",
    slug="newer-release",
)
_DELEGATE_ANEW = Remedy(
    "until then compute on the CPU, or delete interpreter and delegate after some hundred calls, the"
    " interpreter first, and make them anew",
    slug="without-delegate",
)


def _of_the_writer(told: Surroundings) -> Iterator[Line]:
    """Lines of the text in which its writer names what runs: code, and what is told of growth."""
    yield from filter(None, map(told.shows, ("growing in words", "flat on the CPU")))
    yield from code_lines(told)


_MODE = regex(r"\b(?:continuous_)?train_and_eval\w*")
_APART = Remedy(
    "train and evaluate in processes of their own, which checkpoints join: what a round makes ends with its"
    " process",
    "--mode=train   # and --mode=eval beside it, or after it from a script",
    slug="own-process",
)


def grower(case: Case) -> Grower | None:
    """The most particular that the text names; None where it names none."""
    if framework_of(case) != TENSORFLOW or situation(case).program:
        return None
    if (found := worker_of_ray(case)) is not None:
        held, line = found
        what = f"{held}, by Ray's own list of the node's processes"
        return Grower(what, line, (_LESS_OF_RAY, WATCH_THE_WORKER))
    return next(again_and_again(case), None) or first_of(case, _growers(case))


def _growers(case: Case) -> Iterator[Grower]:
    told = case.capture.surroundings
    if (line := told.shows("flat on the CPU")) and on_a_mac(case):
        yield Grower(
            f"the plugin for the Mac's GPU (tensorflow-metal), since the same program stays flat on the CPU"
            f" ({line.place})",
            line,
            (_OTHER_PLUGIN, _ON_THE_CPU),
        )
    elif line and any(_DELEGATE.search(each.text) for each in _of_the_writer(told)):
        yield Grower(
            "the GPU delegate of TensorFlow Lite or the driver under it, since the same program stays flat on"
            f" the CPU ({line.place})",
            line,
            (_OTHER_DELEGATE, _DELEGATE_ANEW),
        )
    yield from _left_out(case)
    if of_a_tool := ram_of_a_tool(case):
        yield of_a_tool
    yield from _of_code(case)
    if line := told.shows("calibrating"):
        yield Grower(
            f"the conversion ({line.place}), which holds the model several times and what it measures of the"
            " samples that it calibrates with",
            line,
            (FEWER_SAMPLES, _newer(case.api)),
        )
    if line := told.shows("retracing in words"):
        yield _retracing(case, line)
    if told.shows("shuffling") == told.shows("again at each data set"):
        yield from _shuffling(told)  # the data set that is shuffled, and none that is made
    each = told.shows("again at each data set")
    if line := told.shows("data sets made anew") or (
        each if each and _MADE_AGAIN.search(each.text) else None
    ):
        yield Grower(
            f"each data set that is made anew ({line.place}) stays: an array that a graph takes is a constant"
            " of it, and a function that is traced keeps what it was traced with",
            line,
            (_ONE_DATA_SET, _OWN_PROCESS),
        )
    line = told.shows("worker processes")
    if line and not ("=False" in line.text.replace(" ", "") and _ALIKE.search(line.text)):
        yield Grower(f"`use_multiprocessing=True` ({line.place}) starts worker processes", line, (THREADS,))
    yield from told_again(case)
    yield from replays(case)
    if line := told.shows("using an estimator"):
        yield _of_an_estimator(told, line)
    if line := told.shows("growing at validation"):
        yield Grower(
            f"what each validation makes anew (its iterator, queue and batches) stays: it grows when the"
            f" model is validated ({line.place})",
            line,
            (_SELDOM, _newer(case.api)),
        )
    if (line := told.shows("training and evaluating")) and (mode := _MODE.search(line.text)):
        yield Grower(
            f"what each evaluation makes anew: `{mode[0]}` ({line.place}) trains and evaluates in turn in one"
            " process, each time with another graph, session and input pipeline",
            line,
            (_APART,),
        )
    yield from _shuffling(told)
    yield from told_epochs(case)
    yield from _given_a_model(case)


def _of_an_estimator(told: Surroundings, line: Line) -> Grower:
    """What an Estimator's calls leave. Whoever has it train and evaluate by one call need not be told to do
    so; of arrays in its graph is spoken only where the text shows that they are put there.
    """
    texts = [line.text, *(each.text for each in code_lines(told))]
    arrays = any(_GIVES_ARRAYS.search(text) for text in texts)
    if any(_MODE.search(text) for text in texts):
        grows = told.shows("growing in words")
        words = (*_of_the_writer(told), *filter(None, (told.shows("running short"),)))
        within = grows is not None and not any(_AFTER_IT.search(each.text) for each in words)
        pool = "" if within else ", or the pool, which keeps what it has while the process lives"
        keras = (
            " (and Keras's own registers, which may keep the old graphs)"
            if _OF_KERAS.search(line.text)
            else ""
        )
        return Grower(
            f"what each training and evaluation of an Estimator ({line.place}) makes anew, a graph and a"
            f" session{keras}{pool}",
            line,
            (*((_FILES,) if arrays else ()), *((_ROUNDS_APART, _LATER) if within else (_NEXT_APART,))),
        )
    what = ", with the data that its input_fn puts into them" if arrays else ""
    return Grower(
        f"an Estimator ({line.place}) makes a new graph and a new session for each call of train or"
        f" evaluate{what}",
        line,
        (_ONE_RUN, *((_FILES,) if arrays else ()), _OWN_PROCESS),
    )


_GIVES_ARRAYS = regex(r"\b(?:from_tensor(?:_slice)?s|numpy_input_fn|pandas_input_fn|tf\.constant)\b")
_OF_KERAS = regex(r"\bmodel_to_estimator\b")
_AFTER_IT = regex(
    r"(?i)\bpredict\w*\b[^.\n]{0,20}\bafter|\bafter(?:wards?)?\b[^.\n]{0,30}\bpredict"
    r"|\bafter (?:it|training)\b"
)
"""What comes after training and evaluating is where memory lacks."""
_ROUNDS_APART = Remedy(
    "evaluate in a process of its own, which reads the checkpoints, and train in this one; until then"
    " evaluate seldom (`throttle_secs` of EvalSpec, `save_checkpoints_secs` of RunConfig), since each round"
    " adds a graph",
    "eval_spec = tf.estimator.EvalSpec(input_fn, throttle_secs=3600)",
    slug="own-process",
)
_LATER = Remedy(
    "compare with a newer TensorFlow: whether a graph is freed after its round depends on the release",
    slug="newer-release",
)
_NEXT_APART = Remedy(
    "do what comes after it (prediction, another training) in a process of its own, which reads the"
    " checkpoint: when a process ends, all that it held is free",
    "python train.py && python predict.py",
    slug="own-process",
)


def _left_out(case: Case) -> Iterator[Grower]:
    """The lines that the writer left out for a test, quoted right below what says so."""
    told = case.capture.surroundings
    line = told.shows("lines left out")
    if line is None:
        return
    below = sorted(code_lines(told), key=lambda each: each.number)
    near = range(line.number + 1, line.number + _NEAR_BELOW + 1)
    below = [each for each in below if each.number in near and _CALL.match(each.text)]
    if not below:
        return
    calls = ", ".join(f"`{match['call']}`" for each in below[:3] if (match := _CALL.match(each.text)))
    where = below[0].place if len(below) == 1 else f"lines {below[0].number} to {below[-1].number}"
    of_lite = any(_INTERPRETER.search(each.text) for each in below)
    yield Grower(
        f"one of the calls that {line.place} leaves out for a test ({calls or 'the code'}, {where})",
        below[0],
        ((_ONE_LINE_AT_A_TIME, _NEWER_RUNTIME) if of_lite else (_ONE_LINE_AT_A_TIME,)),
        True,
    )


_NEAR_BELOW = 8
_CALL = regex(r"\A\s*(?:[\w.]{1,30}(?:, ?\w{1,30}){0,3} ?= ?)?(?P<call>[A-Za-z_][\w.]{1,40})\(")
_INTERPRETER = regex(r"\binterpreter\b")
_ONE_LINE_AT_A_TIME = Remedy(
    "put them back one at a time, and print the RAM: the first with which it rises again is the one",
    "print(psutil.Process().memory_info().rss >> 20, 'MiB')",
    slug="leave-out-in-turn",
)
_NEWER_RUNTIME = Remedy(
    "where it is invoke(), try another release of the runtime (tflite_runtime, and a delegate's own library,"
    " as libedgetpu); where it is an input or an output, keep copies (get_tensor), and no views of the"
    " interpreter's memory (tensor()), and one interpreter for all frames",
    "pip install -U tflite-runtime   # Coral: sudo apt-get install --only-upgrade libedgetpu1-std",
    slug="newer-release",
)


def _given_a_model(case: Case) -> Iterator[Grower]:
    """A tf.function that takes a model as an argument, where the text names nothing else."""
    code = sorted(code_lines(case.capture.surroundings), key=lambda each: each.number)
    for decorator, line in pairwise(code):
        match = _TAKES_A_MODEL.match(line.text) if _TRACED.match(decorator.text) else None
        if match:
            name = match["name"]
            yield Grower(
                f"what `{name}` ({line.place}) keeps of its calls: a tf.function that is given the model"
                " makes another graph for each model object, and for each new shape of what else it is given",
                line,
                (_count_traces(name), _SHAPES_ALIKE),
            )
            return


_TRACED = regex(r"\A\s*@tf\.function\s*(?:\(\s*\))?\s*(?:#.*)?\Z")
_TAKES_A_MODEL = regex(
    r"\A\s*def (?P<name>\w{1,40})\((?:self, ?)?(?:\w{0,20}_)?(?:model|net|network)\w{0,10}\s*[,:)]"
)


def _count_traces(name: str) -> Remedy:
    return Remedy(
        "load the model once, and see whether the number of traces rises from call to call: where it does, "
        "give"
        " the inputs one signature, its first size open; where it stays and memory, too, what is left is"
        " TensorFlow's own pool, which goes when the process ends",
        f"print({name}.experimental_get_tracing_count())   # TF 2.3+; @tf.function(reduce_retracing=True)",
        slug="one-signature",
    )


_EACH_CALL = regex(
    r"\b(?P<times>[2-9]|\d{2,}) out of the last (?P=times) calls to <function (?P<owner>[A-Z]\w*)\."
    r"(?P<name>\w+) at 0x"
)
"""Each call of a method was traced: `self` is an argument, too."""


def _retracing(case: Case, line: Line) -> Grower:
    """A function that is traced again; a method whose every call is, for an object that is new each time."""
    if method := _EACH_CALL.search(line.text):
        owner, name = method["owner"], method["name"]
        return Grower(
            f"`{owner}.{name}` is traced at every call ({line.place}), which makes another graph each time,"
            f" and all are kept: a new `{owner}`, another Python object or Python number is a new trace",
            line,
            (
                Remedy(
                    f"make the model and `{owner}` once, before the loop, and give `{name}` tensors alone; or"
                    " leave its @tf.function out, and it keeps no graph",
                    slug="one-signature",
                ),
            ),
        )
    return Grower(
        f"a tf.function is traced anew ({line.place} speaks of retracing): each new shape of an argument"
        " and each new Python number makes another graph, and all are kept",
        line,
        (
            Remedy(
                "give the function one signature, its lengths open, and tensors instead of Python numbers",
                code_snippets.relaxed(case.api, line.text),
                slug="one-signature",
            ),
            _SHAPES_ALIKE,
        ),
    )


def _shuffling(told: Surroundings) -> Iterator[Grower]:
    """The buffer of tf.data's shuffle, which lies in host RAM."""
    line = told.shows("shuffling")
    if line and not told.shows("device memory in words"):
        yield Grower(
            f"the buffer of shuffle ({line.place}), which is filled anew for each iteration, up to its size",
            line,
            (SMALLER_SHUFFLE, SHUFFLE_NAMES),
        )


_ALIKE = regex(r"(?i)\b(?:identical|same|alike|no difference)\b")
"""Where it is said of both settings."""


def _of_code(case: Case) -> Iterator[Grower]:
    """What the quoted program shows; trees are read only where there is one."""
    told = case.capture.surroundings
    yield from _unrolled(told)
    yield from _cached(told)
    if wrapped := _wrapped(told):
        what = f"{wrapped.place} wraps the data set once more in each turn of a loop, each with a buffer"
        yield Grower(what, wrapped, (_once_before_the_loop(wrapped),), True)
    if not told.program():
        return
    from tfmemlens.findings.support.made_in_loops import model_loops, predicting_loops

    yield from loaded_by_handlers(case)
    yield from _run_by_handlers(case)
    yield from loaded_in_loops(case)
    yield from _given_objects(case)
    for loop in model_loops(told.program()):
        if loop.foreign:
            yield _of_a_library(case, loop)
            continue
        kept = f"the loop on {loop.loop.place} makes a model in each turn ({loop.model.place}), and Keras"
        if loop.clears:
            kept += f" is cleared by {loop.clears.place} of what it keeps, as far as nothing else holds it"
        elif loop.frees:
            kept += f" keeps each: {loop.frees.place} frees only what nothing else holds"
        else:
            kept += " keeps each with its weights"
        yield Grower(kept, loop.model, tuple(_of_models(loop.loop, bool(loop.clears), loop.alike)), True)
    yield from _datasets_made(case)
    yield from _functions_made(case)
    yield from _compiled_again(case)
    yield from adding_ops(case)
    yield from _given_numbers(case)
    kept_lists = list(_keeping(told))
    yield from (each for each in kept_lists if _BY_A_MODEL.search(each.line.text))
    for line, call in predicting_loops(told.program()):
        yield Grower(
            f"{line.place} calls `{call}` in each turn of a loop, and each call makes its own data set",
            line,
            (_direct_call(case.api),),
            True,
        )
    yield from (each for each in kept_lists if not _BY_A_MODEL.search(each.line.text))


def _of_a_library(case: Case, loop: ModelLoop) -> Grower:
    """A library's model that each turn makes: of TensorFlow 1 it is a part of the one graph."""
    of_graph = case.api.is_tf1
    stays = "in the one graph, which keeps all of them" if of_graph else "with what it traced and compiled"
    if not of_graph and case.api.oldest < (2, 0):
        stays = "in the one graph (TensorFlow 1), or with what it traced (TensorFlow 2)"
    once = Remedy(
        f"make it once, above the loop on {loop.loop.place}, and give it the new data in each turn, where its"
        " class lets you set them",
        slug="build-once",
    )
    more = (_GRAPH_OF_ITS_OWN,) if of_graph or case.api.oldest < (2, 0) else ()
    return Grower(
        f"the loop on {loop.loop.place} makes a model in each turn ({loop.model.place}), and each stays"
        f" {stays}",
        loop.model,
        (once, *more, _OWN_PROCESS),
        True,
    )


_GRAPH_OF_ITS_OWN = Remedy(
    "or give each turn a graph and a session of its own, which go together with the model",
    "with tf.Graph().as_default(), tf.Session(): train(x, y)   # what the turn does",
    slug="graph-of-its-own",
)


def grower_of_code(case: Case) -> Grower | None:
    """The first that the quoted program itself shows, whatever words say of memory; None where it shows
    none.
    """
    if framework_of(case) != TENSORFLOW or situation(case).program:
        return None
    told = case.capture.surroundings
    sure = next((each for each in _of_code(case) if each.sure), None)
    return sure or next(_keeping(told, tensors=True), None)


def _datasets_made(case: Case) -> Iterator[Grower]:
    """A data set of arrays that each turn of a loop, or each call of a function, makes."""
    from tfmemlens.findings.support.made_in_loops import datasets_made

    for line, place, of_loop in datasets_made(case.capture.surroundings.program()):
        when = (
            f"each turn of the loop on {place.place}"
            if of_loop
            else f"each call of the function on {place.place}"
        )
        fits = any(".fit(" in each.text for each in case.capture.surroundings.code)
        yield Grower(
            f"{line.place} makes another data set of arrays in {when}: each copies them into a constant,"
            " which a graph, or what was traced with it, keeps",
            line,
            (_ONE_DATA_SET, *((_FED_ARRAYS,) if fits else ()), _OWN_PROCESS),
            of_loop,
        )


_FED_ARRAYS = Remedy(
    "or give fit the arrays themselves, which it copies batch by batch",
    "model.fit(x, y, batch_size=128)",
    slug="evaluation-in-batches",
)


def _functions_made(case: Case) -> Iterator[Grower]:
    """A tf.function that each turn of a loop makes."""
    from tfmemlens.findings.support.made_in_loops import functions_made

    for line, loop, name in functions_made(case.capture.surroundings.program()):
        yield Grower(
            f"{line.place} makes a tf.function (`{name}`) in each turn of the loop on {loop.place}: each is"
            " traced anew, and its graph stays with what it holds",
            line,
            (_one_function(name, loop),),
            True,
        )


def _one_function(name: str, loop: Line) -> Remedy:
    code = f"step = {name}   # above the loop" if name.endswith("()") else None
    return Remedy(
        f"make it once, above the loop on {loop.place}, and call that one in each turn; what changes goes in"
        " as a tensor",
        code,
        slug="one-function",
    )


def _compiled_again(case: Case) -> Iterator[Grower]:
    """A model that a loop compiles anew in each turn, though it is made before the loop."""
    from tfmemlens.findings.support.made_in_loops import compiling_loops

    for line, loop, name in compiling_loops(case.capture.surroundings.program()):
        of_graph = case.api.is_tf1 or case.api.oldest < (2, 0)
        stays = (
            "adds its losses, gradients and updates to the one graph, which keeps all"
            if of_graph
            else "makes another function for its steps, with a graph of its own"
        )
        what = f"{line.place} compiles `{name}` anew in each turn of the loop on {loop.place}: each compile"
        if of_graph and not case.api.is_tf1:
            stays += " (TensorFlow 1; TensorFlow 2 makes a function anew)"
        yield Grower(f"{what} {stays}", line, (_compiled_once(name, loop), _WEIGHTS_ACROSS), True)


def _compiled_once(name: str, loop: Line) -> Remedy:
    return Remedy(
        f"compile once, above the loop on {loop.place}: what changes from turn to turn (a weight of the loss,"
        " the learning rate) is a variable that the loss reads, and that each turn sets. Weights stay",
        f"w = K.variable(0.); {name}.compile(...)   # above; in the loop: K.set_value(w, new)",
        slug="build-once",
    )


_WEIGHTS_ACROSS = Remedy(
    "where each turn must compile, carry the weights across: clear Keras's session in each turn, build and"
    " compile anew, and set them",
    "w = model.get_weights(); K.clear_session(); model = build(); model.set_weights(w)",
    slug="clear-session",
)


def loaded_by_handlers(case: Case) -> Iterator[Grower]:
    """A function of a web server that loads its model for each request."""
    if not case.capture.surroundings.program():
        return
    from tfmemlens.findings.support.made_in_loops import loading_handlers

    for line, call in loading_handlers(case.capture.surroundings.program()):
        what = f"`{call}` ({line.place}), which the handler calls for each request: each model stays"
        yield Grower(what, line, (LOAD_ONCE, _OWN_PROCESS), True)


def _run_by_handlers(case: Case) -> Iterator[Grower]:
    """A session that is made once, of which a server's handler runs what is there: no op is added."""
    code = sorted(code_lines(case.capture.surroundings), key=lambda each: each.number)
    made = next(((match["name"], each) for each in code if (match := _SESSION.match(each.text))), None)
    route = next((each for each in code if _ROUTE.match(each.text)), None)
    if made is None or route is None:
        return
    name, session = made
    inside = [each for each in code if each.number > route.number and each.text[:1] in " \t"]
    runs = next((each for each in inside if f"{name}.run(" in each.text), None)
    if runs is None or any(_MAKES_OPS.search(each.text) for each in inside):
        return
    yield Grower(
        f"no op of the graph: `{name}` and its graph are made once ({session.place}), and the handler only"
        f" runs what is there (`{name}.run`, {runs.place}); what each thread of the server keeps, or malloc,"
        " is left",
        runs,
        (_PROVE_THE_GRAPH, _FEW_THREADS, _LESS_OF_MALLOC),
        True,
    )


_SESSION = regex(
    r"\A(?P<name>[A-Za-z_]\w{0,30}) ?= ?(?:tf|tensorflow)\.(?:compat\.v1\.)?(?:Interactive)?Session\("
)
_ROUTE = regex(r"\A\s*@\w{1,30}\.(?:route|get|post|websocket)\(")
_MAKES_OPS = regex(
    r"\btf\.(?!get_default_graph|Session\b|errors|logging)\w|\bload\w*\(\s*[^)]*(?:model|\.pb)|\bSaver\("
)
_PROVE_THE_GRAPH = Remedy(
    "freeze the graph after the session is made: what still adds an op raises an error that names its line."
    " Where none does, print the RAM after each hundred requests of one shape: what levels off is no leak",
    "sess.graph.finalize(); print(psutil.Process().memory_info().rss >> 20, 'MiB')",
    slug="ops-once",
)
_FEW_THREADS = Remedy(
    "let a fixed number of threads answer, and start the process anew after some hundred requests",
    "gunicorn --workers 1 --threads 4 --max-requests 500 app:app",
    slug="few-threads",
)
_LESS_OF_MALLOC = Remedy(
    "give malloc fewer pools, or take another one: glibc's has one for each thread, and gives little back",
    "MALLOC_ARENA_MAX=2 python app.py   # or: LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2",
    slug="another-malloc",
)


def loaded_in_loops(case: Case) -> Iterator[Grower]:
    """A function that loads the same model at each call, which a loop calls, by itself or by others."""
    if not case.capture.surroundings.program():
        return
    from tfmemlens.findings.support.made_in_loops import loading_loops

    for line, loop, call in loading_loops(case.capture.surroundings.program()):
        what = f"`{call}` ({line.place}), which each turn of the loop on {loop.place} calls: each model stays"
        yield Grower(what, line, (LOAD_ONCE, _OWN_PROCESS), True)


def _given_numbers(case: Case) -> Iterator[Grower]:
    """A tf.function that gets another Python number in each call, and is traced for each."""
    from tfmemlens.findings.support.retraced_code import given_numbers

    for name, line, given, call in given_numbers(case.capture.surroundings.program()):
        names = " and ".join(f"`{argument}`" for argument in given)
        values = ", ".join(f"tf.constant({value})" for value in given.values())
        yield Grower(
            f"`{name}` ({line.place}) is a tf.function and gets {names} as"
            f" {'Python numbers' if len(given) > 1 else 'a Python number'} ({call.place}): each new one makes"
            " another graph, and all are kept",
            call,
            (
                Remedy(
                    f"give {names} as {'tensors' if len(given) > 1 else 'a tensor'}: one graph then serves"
                    " every value",
                    f"{name}(..., {values})",
                    slug="one-signature",
                ),
            ),
            True,
        )


def _given_objects(case: Case) -> Iterator[Grower]:
    """A tf.function that gets a new model or optimizer in each turn of a loop, and is traced for each."""
    from tfmemlens.findings.support.retraced_code import given_objects

    for name, line, given, call in given_objects(case.capture.surroundings.program()):
        names = " and ".join(f"`{each}`" for each in given)
        yield Grower(
            f"`{name}` ({line.place}) is a tf.function and gets another {names} in each turn of the loop"
            f" ({call.place}): it is traced anew for each, and keeps every graph with what it holds",
            call,
            (
                Remedy(
                    "make the function anew with the model, so that both go together: clearing the session or"
                    " deleting the model frees nothing that the function keeps",
                    f"step = tf.function({name})   # in the loop, of the plain Python function",
                    slug="one-function",
                ),
                _OWN_PROCESS,
            ),
            True,
        )


def adding_ops(case: Case) -> Iterator[Grower]:
    """A session's program whose loop, or a function that it calls again and again, makes ops."""
    from tfmemlens.findings.support.made_in_loops import graph_functions, graph_loops

    program = case.capture.surroundings.program()
    for line, _, op in (*graph_loops(program), *graph_functions(program)):
        what = (
            f"{line.place} adds `{op}` to the graph each time it runs: the graph keeps all, and each run of"
            f" the"
            " session takes longer"
        )
        last = op.rpartition(".")[2]
        assigns = last.startswith("assign") and last.isidentifier()
        yield Grower(what, line, (*((_assign_once(op),) if assigns else ()), FROZEN), True)
    made = makes_and_runs(case) if case.capture.surroundings.shows("growing in words") else None
    if made:
        what = f"{made.place} makes an op of the graph each time it runs, and the graph keeps all of them"
        assigns = "assign" in made.text
        yield Grower(what, made, (*((_assign_once("w.assign"),) if assigns else ()), FROZEN))


def _assign_once(op: str) -> Remedy:
    owner = op.rpartition(".")[0]
    name = owner if owner and owner != "tf" else "w"
    return Remedy(
        "make one op above the loop that takes its value from a placeholder, and feed what is new: a value"
        " that is written into the op becomes a constant of the graph, one more in each turn",
        f"p = tf.placeholder({name}.dtype, {name}.shape); op = {name}.assign(p)\n"
        "sess.run(op, {p: value})   # in the loop",
        slug="data-out-of-the-graph",
    )


def _keeping(told: Surroundings, tensors: bool = False) -> Iterator[Grower]:
    """A list that takes what each turn of a loop makes; of `tensors` only what a model or TensorFlow"
    " gives.
    """
    for each in kept(told):
        if each.on_host or each.model or each.most:
            continue
        made = any(_BY_A_MODEL.search(line.text) for line in (*each.made, each.line))
        if (tensors and (each.number or not made)) or _CONSTANT.fullmatch(each.value):
            continue
        what = f"`{each.container}` keeps `{each.value}` of each turn of the loop ({each.line.place})"
        if each.each:
            what += f", {human(each.each)} each time: {human(1000 * each.each)} after a thousand turns"
        large = each.each is not None and each.each >= _OF_ARRAYS
        yield Grower(what, each.line, (_LESS_OF_EACH, _INTO_A_FILE) if large else (NOT_KEPT,))


_BY_A_MODEL = regex(
    r"(?i)\b\w*(?:model|net|encoder|embed\w*|extract\w*|backbone)\w*(?:\.\w+)?\(|\btf\.\w|\.gradient\("
)
_CONSTANT = regex(r"-?[\d.]+|None|True|False|'[^']*'|\[\]|\{\}")
_OF_ARRAYS = 64 << 10
"""Bytes of what is no number, and no loss of a batch."""
_LESS_OF_EACH = Remedy(
    "keep less of each: reduce it before it is kept (the mean over positions, the largest few, float16). As a"
    " NumPy array it leaves the device, and takes as much of host RAM",
    "feat = tf.reduce_mean(feat, axis=(1, 2)).numpy()   # as far as what follows allows",
    slug="smaller-output",
)
_INTO_A_FILE = Remedy(
    "or write each into a file that is mapped, and read it from there",
    "f = np.lib.format.open_memmap('f.npy', 'w+', np.float16, (n, *shape)); f[i] = feat",
    slug="predict-in-pieces",
)


_MADE_AGAIN = regex(
    r"(?i)\b(?:each|every|again|anew|new|several|many|multiple|loop\w*"
    r"|re-?(?:creat|buil|mak|generat|initiali|load|instanti)\w*)\b"
)
"""Words of what is made more than once, and not of one data set's last step."""
_CACHES = regex(r"\.cache\(\s*\)")
_EACH_EPOCH = regex(
    r"(?i)\b(?:each|every|per|after (?:an?|the)|with (?:each|every)) (?:\w+ )?epochs?\b"
    r"|\bfrom (?:one )?epoch to epoch\b|\bepoch (?:[3-9]|\d\d)\b|\b(?:[3-9]|\d\d)(?:th|rd)? epoch"
)
"""Where it grows for longer than the one epoch in which a cache fills."""


def fills_no_longer(told: Surroundings) -> bool:
    """Whether the text tells of later epochs, in which a cache that is full grows no more."""
    grows = told.shows("growing in words")
    later = any(each.epoch and each.epoch >= _LATER_EPOCH for each in told.progress)
    return later or bool(grows and _EACH_EPOCH.search(grows.text))


def _is_beside_what_grows(told: Surroundings, cache: Line) -> bool:
    """Whether a sentence names the cache, where the one that tells of growth names shuffle instead, or says
    that nothing is cached.
    """
    grows = told.shows("growing in words")
    if grows is None or grows == cache or not _IN_A_SENTENCE.search(cache.text):
        return False
    return bool(_UNCACHED.search(grows.text)) or (
        "shuffl" in grows.text.lower() and "cach" not in grows.text.lower()
    )


_IN_A_SENTENCE = regex(r"`[^`\n]*\.cache\(\s*\)[^`\n]*`")
_UNCACHED = regex(
    r"(?i)(?:\b(?:not|never|without|no)|n['\u2019]t)\b(?: (?:been|be|being|any|using|calling|prior))*"
    r" `?\.?cach(?:e|ed|es|ing)\b"
)
_LATER_EPOCH = 3
"""The first is 1; a second may still fill what the first left."""


def _cached(told: Surroundings) -> Iterator[Grower]:
    """tf.data's cache without a file, which fills through the first epoch, where nothing tells of a later."""
    line = next((each for each in told.code if _CACHES.search(each.text.partition("#")[0])), None)
    if line is None or fills_no_longer(told) or _is_beside_what_grows(told, line):
        return
    yield Grower(
        f"`cache()` ({line.place}), which has no file to write to and so keeps every element of the data set,"
        " as it is there, in host RAM until the first epoch ends",
        line,
        (WITHOUT_CACHE,),
        True,
    )


_WRAPS = regex(
    r"\A(?P<indent>\s+)(?P<name>\w{1,40})\s*=\s*(?P=name)\.(?:shuffle|map|batch|repeat|prefetch|cache|filter"
    r"|concatenate|take|skip)\("
)
_LOOP = regex(r"\A(?P<indent>\s*)(?:for|while)\b.*:\s*(?:#.*)?\Z")


def _unrolled(told: Surroundings) -> Iterator[Grower]:
    """Steps of a training that are traced one after another into one graph."""
    if not told.program():
        return
    from tfmemlens.findings.support.made_in_loops import unrolled_loops

    for loop, function in unrolled_loops(told.program()):
        yield Grower(
            f"the loop on {loop.place} goes over what is Python's own within a tf.function"
            f" ({function.place}), so tracing runs every step of it, and all become one graph",
            loop,
            (_STEP_ALONE, _LOOP_OF_THE_GRAPH),
            True,
        )
        return


_STEP_ALONE = Remedy(
    "put tf.function on the step alone, and loop over batches outside of it, in Python",
    "@tf.function\ndef step(images, labels): ...   # the tape and apply_gradients",
    slug="step-alone",
)


_LOOP_OF_THE_GRAPH = Remedy(
    "or let the loop go over the data set itself, without tqdm around it: AutoGraph then makes it a loop of"
    " the graph",
    "for x in dataset: ...   # in the tf.function; dataset.take(n), where it repeats without end",
    slug="without-tqdm",
)


def _wrapped(told: Surroundings) -> Line | None:
    """A line of a loop that wraps a data set once more in each of its turns: `ds = ds.shuffle(1000)`."""
    loops: list[int] = []
    for line in told.code:
        if match := _LOOP.match(line.text):
            loops.append(len(match["indent"]))
        match = _WRAPS.match(line.text)
        if match and any(indent < len(match["indent"]) for indent in loops):
            return line
    return None


def _once_before_the_loop(line: Line) -> Remedy:
    return Remedy(
        f"make the pipeline once, before the loop: `{line.text.strip()}` ({line.place}) wraps the data set"
        " once more in each turn, and every wrapper keeps its own buffer",
        "ds = ds.shuffle(1000)   # above the loop: it shuffles anew each epoch",
        slug="make-once",
    )


def _of_models(loop: Line, cleared: bool, alike: bool) -> Iterator[Remedy]:
    if alike:
        yield Remedy(
            "if every turn makes the same model, make it once above the loop",
            slug="build-once",
        )
    if not cleared:
        yield Remedy(
            f"forget the earlier models first in each turn of the loop ({loop.place})",
            "tf.keras.backend.clear_session()   # keras.backend.clear_session() in old Keras",
            slug="clear-session",
        )
    yield Remedy(
        f"{'' if cleared else 'or '}train each model in a process of its own, whose end frees everything",
        "with multiprocessing.get_context('spawn').Pool(1, maxtasksperchild=1) as pool: pool.map(train,"
        " folds, 1)",
        slug="own-process",
    )


def _direct_call(api: Api) -> Remedy:
    """A call without `predict`, which is made for one large array."""
    code = "model.predict_on_batch(x)" if api.is_tf1 else "y = model(x, training=False)   # TF 2"
    return Remedy(
        "call the model itself for one batch, or give predict all batches at once: it is made for one large"
        " array",
        code,
        slug="one-call",
    )


def _newer(api: Api) -> Remedy:
    """Early releases of TensorFlow 2 kept what an iterator of Keras held longer than later ones."""
    early = api.oldest >= (2, 0) and api.newest <= (2, 3)
    return Remedy(
        f"compare with a newer TensorFlow{': this one is among the first of its line' if early else ''}",
        slug="newer-release",
    )
