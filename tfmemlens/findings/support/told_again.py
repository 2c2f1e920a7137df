"""What grows by the words of a post: what it says is done again and again, and what was tried."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

from tfmemlens.findings.support.grower import Grower
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.watching import find_what_grows
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, human
from tfmemlens.values import replace

DIRECT_CALL = Remedy(
    "call the model itself for one batch: no data set is made then",
    "y = model(x, training=False)   # TF 2; TF 1: model.predict_on_batch(x)",
    slug="direct-call",
)
RESTARTED = Remedy(
    "where it grows still, predict in a process that is started anew after some hundred calls",
    "with multiprocessing.get_context('spawn').Pool(1, maxtasksperchild=500) as pool: pool.map(predict, x)",
    slug="own-process",
)
ONE_AFTER_ANOTHER = ("trial", "fold", "loaded model", "request", "episode", "model")
"""What ends well by itself: where a later one runs out, something stayed of those before."""
_CLEAR = Remedy(
    "begin each with an empty Keras: clear what it keeps of the model before, before the next one is built,"
    " and keep no other name of the old model (callbacks, histories, lists)",
    "tf.keras.backend.clear_session(); del model; gc.collect()   # then build the next one",
    slug="clear-session",
)
OWN_PROCESS = Remedy(
    "run each in a process of its own, whose end frees everything: that works whatever it is that stays",
    "with multiprocessing.get_context('spawn').Pool(1, maxtasksperchild=1) as pool: pool.map(train, each, 1)",
    slug="own-process",
)
LOAD_ONCE = Remedy(
    "load (or build) the model once, when the program starts, and use that one for all: only its weights need"
    " to change",
    "model = tf.keras.models.load_model(path, compile=False)   # once; later: model.load_weights(other)",
    slug="build-once",
)
_SAME_MODEL = Remedy(
    "where each turn makes the same model (a GAN's joint model, too), make and compile it once, above the"
    " loop",
    slug="build-once",
)
_ONE_FOR_ALL = Remedy(
    "let all requests share one model, with a lock where they must not run at once",
    slug="build-once",
)
_ALL_AT_ONCE = Remedy(
    "or give predict all inputs in one call: it is made for one large array, not for many small ones",
    "y = model.predict(np.stack(inputs), batch_size=32)",
    slug="one-call",
)
FROZEN = Remedy(
    "make every op once, above the loop, and freeze the graph before it: whoever adds one then gets an error"
    " that names the line (where it is frozen and memory still grows, it is not the graph: run that part in a"
    " process of its own)",
    "tf.get_default_graph().finalize()   # in TF 2: tf.compat.v1",
    slug="ops-once",
)
_ONE_GRAPH = Remedy(
    "give a session that is made again and again a graph of its own, which goes with it",
    "with tf.Graph().as_default(), tf.Session() as sess: ...",
    slug="graph-of-its-own",
)
OF_FUNCTIONS = Remedy(
    "count how often it is traced: each Python number, string or list among its arguments, each new shape and"
    " each function made in a loop makes another graph, and all are kept; give it tensors of one signature",
    "print(f.experimental_get_tracing_count())   # TF 2.3+: it must not grow",
    slug="one-signature",
)
NOT_KEPT = Remedy(
    "keep numbers, no tensors: results, losses and histories as float(...) or NumPy, no list in a callback"
    " or metric that is never emptied",
    "losses.append(float(loss))",
    slug="keep-numbers",
)
_IN_TURN = Remedy(
    "leave out one of these at a time for two or three rounds: callbacks (TensorBoard's histograms most),"
    " validation_data, the generator with its workers and queue, cache() and shuffle() of tf.data",
    slug="leave-out-in-turn",
)
SIZES_OF_BATCHES = Remedy(
    "where it stays flat, print the shapes of batches: a larger image, more boxes or a longer sequence fails"
    " as suddenly; give all of them one size, or cap it",
    slug="compare-shapes",
)
DATA_IN_PARTS = Remedy(
    "hold less in RAM at once: fewer or smaller inputs in one go, and files that are read a batch at a time"
    " instead of one array of all of them",
    "x = np.load(path, mmap_mode='r')   # images: a generator that reads the files of one batch",
    slug="map-the-file",
)


def data_in_parts(case: Case) -> Remedy:
    """The same for what the text speaks of: code only where it is the user's own."""
    told = case.capture.surroundings
    of_images = " (images stay uint8 until they are in a batch)" if told.shows("of images") else ""
    own = told.shows("training") and not told.shows("using a tool")
    text = f"{DATA_IN_PARTS.text}{of_images}"
    return replace(DATA_IN_PARTS, text=text, code=DATA_IN_PARTS.code if own else None)


FEWER_SAMPLES = Remedy(
    "give the calibration fewer samples (a hundred or two are enough as a rule), read one by one",
    slug="smaller-pipeline",
)
_FLOATS = Remedy(
    "count it: samples x height x width x channels x 4 bytes as float32 (a million images of 150x200x3 are"
    " 360 GB)",
    slug="count-the-data",
)
SMALLER_SHUFFLE = Remedy(
    "take a smaller buffer_size: so many elements are kept in RAM, as they are at that point of the pipeline",
    "ds = ds.shuffle(1000)   # not: the number of all elements",
    slug="smaller-shuffle",
)
SHUFFLE_NAMES = Remedy(
    "shuffle what is small, the names of files or indices, before they are read and decoded",
    "files = files.shuffle(len(paths)).map(decode)   # not: map(decode).shuffle(50_000)",
    slug="shuffle-files",
)
WITHOUT_CACHE = Remedy(
    "leave cache() out, or let it write to a file, or cache what is small: the bytes before they are decoded;"
    " in memory it keeps every element as it is there, and grows through the first epoch",
    "ds = read.cache().map(decode)   # or, a file for each data set: ds.cache('/local/train')",
    slug="cache-to-file",
)
SMALLER_REPLAY = Remedy(
    "see what the replay buffer holds when it is full: its capacity times two observations (an image of"
    " 84x84x4 as float32 is 113 kB, as uint8 a quarter); give it a smaller capacity and uint8",
    "capacity = 100_000   # times 2 x observation.nbytes",
    slug="smaller-replay",
)


FRAMES_ONCE = Remedy(
    "keep its length, and store each frame once, as uint8: stacks of frames, and the next observation, are"
    " put together when a batch is drawn (84x84 as uint8 are 7 kB a step, two stacks of four 56 kB); what"
    " still does not fit goes into a file that is mapped",
    "frames = np.lib.format.open_memmap('frames.npy', 'w+', np.uint8, (1_000_000, 84, 84))",
    slug="smaller-replay",
)
_CAPACITY = regex(
    r"\b(?P<name>\w*(?:capacity|size))['\"]?\s{0,8}[:=]\s{0,8}(?P<value>\d[\d_]{3,11}|1e[4-8])\b"
)
_OBSERVED = regex(
    r"[(\[](?P<sizes>\d{1,4}(?:, ?\d{1,4}){1,3}),?[)\]]"
    r"|\b(?P<by>\d{2,4} ?[x\u00d7] ?\d{2,4}(?: ?[x\u00d7] ?\d{1,3}){0,2})\b"
)
_SIZE = regex(r"\d{1,4}")


def smaller_replay(told: Surroundings) -> Remedy:
    """The same by the name and the number that the text states, with its bytes where it states a shape."""
    if told.shows("a buffer that must stay"):
        return FRAMES_ONCE
    line, states = told.shows("replay capacity"), told.shows("observation shape")
    match = _CAPACITY.search(line.text) if line else None
    if line is None or match is None:
        return _by_its_option(told)
    many = int(float(match["value"].replace("_", "")))
    observed = _OBSERVED.search(states.text) if states else None
    sizes = tuple(map(int, _SIZE.findall(observed["sizes"] or observed["by"]))) if observed else ()
    shape = " x ".join(map(str, sizes))
    shown = f"{many:,} x {shape} are {human(many * math.prod(sizes))}" if sizes else ""
    bytes_of = (
        f": {shown} at one byte a number, four times that as float32, twice where the next observation is"
        " kept as well"
        if sizes
        else ", each with an observation and the next one"
    )
    gin = "gin: " if "\t" in line.text or ": " in line.text else ""
    return Remedy(
        f"let the replay buffer keep fewer experiences: its {match['name']} is {many:,} ({line.place})"
        f"{bytes_of}",
        f"{match['name']} = {max(many // 10, 1):_}   # {gin}the argument or binding of that name",
        slug="smaller-replay",
    )


def told_again(case: Case) -> Iterator[Grower]:
    """What grows by what is done again and again, the most particular first. Of what is told without growth,
    only what goes well by itself, or went well for a while.
    """
    told = case.capture.surroundings
    grows = told.shows("growing in words") or told.shows("kept in words")
    if (line := told.shows("before training")) and grows and not told.shows("failing late"):
        yield _before(case, line)
    if grows and (once := _given_a_generator(told, grows)):
        yield once
    for unit, answer in _ANSWERS.items():
        line = told.shows(f"again at each {unit}")
        if unit == "trial" and not told.shows("searching") and any(map(told.shows, _OF_A_CALL)):
            continue  # a try, and none of a tuner
        if unit == "model" and line and _AT_ONCE.search(line.text):
            continue  # side by side, and not one after another
        if unit == "model" and line and _CALLED.search(line.text) and _of_a_library(told):
            continue  # one model that is called, and not one after another
        if line and (grows or unit in ONE_AFTER_ANOTHER or told.shows("failing late")):
            yield answer(case, line)


_CALLED = regex(r"(?i)\bcall(?:s|ed|ing)? (?:the|my|this|a|its) (?:\w+ )?(?:model|classifier|network)\b")
_AT_ONCE = regex(r"(?i)\bsimultaneous\w*|\bconcurrent\w*|\bat (?:the same time|once)\b|\bin parallel\b")
_OF_A_CALL = tuple(f"again at each {unit}" for unit in ("prediction", "request", "episode"))


def told_epochs(case: Case) -> Iterator[Grower]:
    """What grows from epoch to epoch, where nothing more particular is told."""
    told = case.capture.surroundings
    grows = told.shows("growing in words") or told.shows("kept in words") or told.shows("failing late")
    if grows and (line := told.shows("again at each epoch")):
        yield _epochs(case, line)


def _before(case: Case, line: Line) -> Grower:
    """Memory that is full before the first step is no leak of the training."""
    what = (
        f"what is read before the first step ({line.place}): a data set that is decoded whole, as one array"
        " or in the constructor of a generator, or a buffer that fills"
    )
    return Grower(what, line, (data_in_parts(case), _FLOATS))


def _searches(case: Case, line: Line) -> Grower:
    """Trials and folds: one model after another in one process."""
    told = case.capture.surroundings
    if told.shows("serving requests") and line == told.shows("again at each model"):
        return _loads(case, line)
    what = (
        f"what Keras keeps of the models before ({line.place} tells of one after another): graphs, optimizers"
        " and whatever still has a name stay in the process"
    )
    if told.shows("AutoKeras"):
        last = told.shows("after the trials")
        return _last_fit(last) if last else Grower(what, line, (_FEWER_OF_AUTOKERAS, OWN_PROCESS))
    if told.shows("clearing in vain"):
        what += ", and clearing the session frees only what nothing else holds"
    tuner = told.shows("searching") or told.shows("again at each trial")
    where = (
        Remedy(
            "put it at the start of the function that builds the model: the tuner calls that for each trial",
            "def build(hp): tf.keras.backend.clear_session(); gc.collect(); ...",
            slug="clear-session",
        )
        if tuner
        else _CLEAR
    )
    once = () if tuner or line != told.shows("again at each model") else (_SAME_MODEL,)
    return Grower(what, line, (*once, where, OWN_PROCESS))


_FEWER_OF_AUTOKERAS = Remedy(
    "AutoKeras builds the models itself, so no line of yours can clear them: search in parts, each in a"
    " process of"
    " its own that goes on from the directory of the search, or bound what it may build",
    "ak.StructuredDataClassifier(..., max_trials=3, max_model_size=10_000_000, overwrite=False)",
    slug="cap-the-search",
)


_MANY_TRIALS = 10


def trials_of_autokeras(case: Case) -> Grower | None:
    """The models of a search with many trials, where a call states how many."""
    told = case.capture.surroundings
    stated = (each for each in told.sizes if each.name == "max_trials" and max(each.sizes) >= _MANY_TRIALS)
    asked = next(stated, None) if told.shows("AutoKeras") else None
    if asked is None:
        return None
    what = (
        f"what Keras keeps of the models before: all trials run in this process, one after another"
        f" (`max_trials={asked.sizes[0]}`, {asked.line.place})"
    )
    return Grower(what, asked.line, (_FEWER_OF_AUTOKERAS, OWN_PROCESS))


def _last_fit(line: Line) -> Grower:
    """After its trials AutoKeras trains the best pipeline once more."""
    what = (
        f"AutoKeras' last fit ({line.place} tells of the time after the trials): it trains the best"
        f" pipeline once"
        " more, on training and validation data joined where it split them itself, beside what the search"
        " still"
        " holds"
    )
    return Grower(
        what,
        line,
        (
            Remedy(
                "give it the validation data yourself: then nothing is joined",
                "clf.fit(x_train, y_train, validation_data=(x_val, y_val))",
                slug="own-validation-data",
            ),
            Remedy(
                "search on a part of the rows, or give a tf.data.Dataset in small dtypes; the best model of a"
                " finished search lies in its directory, and need not be searched again",
                slug="count-the-data",
            ),
        ),
    )


def _loads(case: Case, line: Line) -> Grower:
    what = f"each model that is loaded or copied ({line.place}) stays: Keras and TensorFlow keep its graph"
    if other := case.capture.surroundings.shows("a graph of another thread"):
        what += (
            f"; what fails when it is loaded once ({other.place}) is no lack of memory: TensorFlow 1 gives"
            " each thread a graph of its own"
        )
        return Grower(what, line, (_GRAPH_OF_THE_SERVER, _ONE_THREAD))
    return Grower(what, line, (LOAD_ONCE, _CLEAR, OWN_PROCESS))


_GRAPH_OF_THE_SERVER = Remedy(
    "keep the models global, made once, and use them in each request under the graph and the session that"
    " they were made in: in TensorFlow 1 a server's thread has another default graph",
    "graph = tf.get_default_graph(); session = K.get_session()   # then, in the handler: with"
    " graph.as_default(), session.as_default(): ...",
    slug="load-once",
)
_ONE_THREAD = Remedy(
    "or let one thread answer, the one that made the models, and switch the reloader off, which starts the"
    " program twice; TensorFlow 2 needs neither",
    "app.run(threaded=False, debug=False)   # Flask",
    slug="few-threads",
)


def _requests(case: Case, line: Line) -> Grower:
    told = case.capture.surroundings
    once = next((each for each in code_lines(told) if _LOADED_AT_THE_TOP.match(each.text)), None)
    what = (
        f"something is made anew for each request ({line.place}): "
        + ("" if once else "a model that is loaded or copied in the handler, ")
        + "nodes added to one graph, or a data set of each call of predict"
        + (f", or what each new thread keeps (the model itself is loaded once, {once.place})" if once else "")
    )
    first = (_FEW_THREADS,) if once else (_ONE_FOR_ALL,)
    return Grower(what, line, (*first, *_calls(case, told)))


_LOADED_AT_THE_TOP = regex(r"\A[A-Za-z_]\w{0,40} ?= ?(?:[\w.]{1,60}\.)?(?:load_model|saved_model\.load)\(")
_FEW_THREADS = Remedy(
    "let a fixed number of threads or processes answer, that are started anew after some hundred requests:"
    " Flask's own server makes a thread for each request, and TensorFlow and malloc keep something for each."
    " In a graph, freeze it after loading: what still adds nodes then raises an error",
    "gunicorn --workers 1 --threads 4 --max-requests 500 app:app   # TF 1: graph.finalize()",
    slug="own-process",
)


def _predicts(case: Case, line: Line) -> Grower:
    told = case.capture.surroundings
    if once := _predicts_once(told) or _given_a_generator(told, line) or _of_a_library(told):
        return once
    if several := _several_calls(case, line) or _loaded_and_called(case):
        return several
    if called := _called_directly(case):
        what = f"`{called.text.strip()}` ({called.place}) is run again and again"
        return Grower(what, called, (_COMPILED_ONCE, OWN_PROCESS_FOR_PARTS))
    what = f"predict is called again and again ({line.place}), and each call makes its own data set or graph"
    more = (OWN_PROCESS,) if told.shows("predicting a batch in vain") else ()
    return Grower(what, line, (*_calls(case, told), *more, *_newer(case)))


def _of_a_library(told: Surroundings) -> Grower | None:
    """A library's own method, of which no data set is known; None where Keras's predict is called."""
    code = list(code_lines(told))
    if any(_OF_KERAS.search(each.text) for each in code):
        return None
    found = next(((each, match) for each in code if (match := _OF_A_LIBRARY.search(each.text))), None)
    if found is None:
        return None
    line, match = found
    what = f"`{match['method']}` ({line.place}), a library's own, is called again and again"
    return Grower(what, line, (OWN_PROCESS_FOR_PARTS,))


_OF_KERAS = regex(r"\.predict(?:_generator|_on_batch|_classes|_step)?\(")
_OF_A_LIBRARY = regex(r"\.(?P<method>predict_[a-z]\w{2,30})\(")
_PREDICTS = regex(r"\.predict\w{0,10}\(")
_CALLS_A_MODEL = regex(
    r"\A\s*(?:[\w., ]{1,40} ?= ?)?(?:self\.)?(?:\w{0,20}(?:model|net|network|detector|detect_fn|infer\w*"
    r"|classifier"
    r"|embed\w*|encoder))\([^=\n]{1,60}\)\s*(?:#.*)?\Z"
)


def _called_directly(case: Case) -> Line | None:
    """The line that calls a model itself, where no line calls predict."""
    lines = list(code_lines(case.capture.surroundings))
    if any(_PREDICTS.search(each.text) for each in lines):
        return None
    return next((each for each in lines if _CALLS_A_MODEL.match(each.text)), None)


_COMPILED_ONCE = Remedy(
    "give it tensors of one shape and type, and count how often it is traced: each new shape (images of many"
    " sizes) and each Python number makes another graph, which stays. Resize or pad to a few sizes;"
    " clear_session()"
    " frees no model that is loaded, and what it made",
    "x = tf.image.resize_with_pad(img, 320, 320)[tf.newaxis]   # the model's own input size",
    slug="one-signature",
)
OWN_PROCESS_FOR_PARTS = replace(
    OWN_PROCESS,
    text="where it still grows at one shape, let a process of its own do a part of the work and end, which"
    " frees everything, and compare a newer TensorFlow",
)


def _predicts_once(told: Surroundings) -> Grower | None:
    """What one call of predict keeps, where the quoted code calls it once."""
    if not told.program():
        return None
    from tfmemlens.findings.support.made_in_loops import single_predicts  # reads trees

    line, call = next(single_predicts(told.program()), (None, ""))
    if line is None:
        return None
    what = f"what `{call}` returns ({line.place}): it keeps the outputs of all batches in host RAM, and joins"
    return Grower(f"{what} them when the last is done", line, (_WRITE_PARTS, LESS_RETURNED))


_ONE_CALL = regex(r"\bpredict_generator\b")
_IN_TURNS = regex(
    r"(?i)\bloops?\b|\b(?:each|every|per|consecutive|repeated(?:ly)?|successive) (?:\w+ )?(?:call|time|run"
    r"|predict\w*|invocation)|\bagain\b|\bmultiple times\b|\bcalls\b|\bafter (?:each|every)\b"
)
_FITS = regex(r"(?i)\bfit(?:_generator)?\b|\btrain")
_NUMBER_OF = regex(
    r"(?i)\b(?P<many>\d[\d,.]{0,8}|(?:one|two|three|four|five|six|eight|ten|twenty|fifty) (?=thousand))"
    r"(?P<thousand> ?(?:thousand|k)\b)? ?(?P<what>pictures|images|samples|files|photos|frames|rows)\b"
    r"[^.!?\d]{0,40}?(?P<size>\d{1,4}(?:\.\d{1,2})?) ?(?:GB|GiB|G|gigabytes)\b"
)
_WORDS_OF_NUMBERS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "eight": 8,
    "ten": 10,
    "twenty": 20,
    "fifty": 50,
}


def _given_a_generator(told: Surroundings, said: Line) -> Grower | None:
    """What the one call keeps that is given a whole generator, where no word tells of several, or of a
    training that grows as well.
    """
    lines = [each for each in (told.shows("again at each prediction"), said) if each]
    if any(_IN_TURNS.search(each.text) or _FITS.search(each.text) for each in lines):
        return None
    line = next((each for each in lines if _ONE_CALL.search(each.text)), None)
    if line is None:
        return None
    what = (
        f"what one call of `predict_generator` keeps ({line.place}): the outputs of all batches, in host RAM,"
        f" until it returns them as one array{_of_each(line.text)}"
    )
    return Grower(what, line, (_PART_BY_PART, LESS_RETURNED))


def _of_each(text: str) -> str:
    """What that makes for each sample, where the text states the memory after so many."""
    match = _NUMBER_OF.search(text)
    if match is None:
        return ""
    said = match["many"].strip().lower()
    digits = said.replace(",", "").replace(".", "")
    many = _WORDS_OF_NUMBERS.get(said) or (int(digits) if digits.isdigit() else 0)
    many *= 1000 if match["thousand"] or said in _WORDS_OF_NUMBERS else 1
    if many < _FEWEST:
        return ""
    each = float(match["size"]) * GIB / many
    return f" (by the text's figures about {human(round(each))} for each of {many:,} {match['what']})"


_FEWEST = 100
_PART_BY_PART = Remedy(
    "predict one batch at a time, and write each result to a file before the next, as small as it may be (the"
    " class of each pixel as uint8 instead of scores as float32)",
    "for i, x in enumerate(batches): np.save(f'{i}.npy', model.predict_on_batch(x).argmax(-1).astype('u1'))",
    slug="predict-in-pieces",
)
_OF_KERAS = regex(
    r"\b(?P<name>fit(?:_generator)?|train_on_batch|test_on_batch|predict_on_batch|predict|evaluate)\b"
)
_TRAINING_CALLS = ("fit", "fit_generator", "train_on_batch")


def _several_calls(case: Case, line: Line) -> Grower | None:
    """Several of Keras's methods that a sentence names at once: which of them it is the words do not say."""
    names = list(dict.fromkeys(match["name"] for match in _OF_KERAS.finditer(line.text)))
    trains = any(name in _TRAINING_CALLS for name in names)
    if len(names) < _LEAST_METHODS or not trains:
        return None
    what = (
        f"each call in the loop leaves something behind ({line.place} names {', '.join(names)}, and not"
        " which): the data set that it makes, or a graph for each new shape or new model"
    )
    return Grower(what, line, (_WHICH_CALL, _ALIKE_CALLS, *_newer(case)))


_LOADED = regex(
    r"\A\s*(?P<name>[A-Za-z_]\w{0,30}) ?= ?(?:hub\.load|tf\.saved_model\.load"
    r"|(?:\w{1,20}\.){0,3}load_model)\("
)


def _loaded_and_called(case: Case) -> Grower | None:
    """A loaded model that the quoted code calls itself, and whose predict it does not."""
    code = code_lines(case.capture.surroundings)
    if any(".predict" in each.text for each in code):
        return None
    names = [match["name"] for each in code if (match := _LOADED.match(each.text))]
    for name in names:
        call = next((each for each in code if re.search(rf"= ?{name}\(", each.text)), None)
        if call:
            what = (
                f"what each new shape of its input adds to `{name}`, which is called directly ({call.place}):"
                " another graph, a plan and buffers of its own, or what malloc keeps of them"
            )
            return Grower(what, call, (_INPUTS_ALIKE, RESTARTED, *_newer(case)))
    return None


_INPUTS_ALIKE = Remedy(
    "give it inputs of one size for two hundred calls, and print the RAM: where it stays flat, resize or pad"
    " all to one size, or to a few",
    "x = tf.image.resize_with_pad(x, 640, 640); print(psutil.Process().memory_info().rss >> 20)",
    slug="constant-shapes",
)
_LEAST_METHODS = 3
_WHICH_CALL = Remedy(
    "print the RAM before and after each of these calls for a hundred turns: the call that adds to it is the"
    " one to change",
    "print('predict', psutil.Process().memory_info().rss >> 20, 'MiB')",
    slug="find-what-grows",
)
_ALIKE_CALLS = Remedy(
    "make and compile the model once, above the loop, give all calls arrays of one shape and type, and for"
    " single batches call what makes no data set: train_on_batch, and the model itself",
    "y = model(x, training=False); model.train_on_batch(x, y)   # TF 2",
    slug="build-once",
)


_WRITE_PARTS = Remedy(
    "predict a part of the data at a time, and write each result to a file before the next: whatever a"
    " callback does with them, predict keeps the outputs of the call",
    "for i in range(0, batches, 64): np.save(f'part{i}.npy', model.predict(ds.skip(i).take(64)))",
    slug="predict-in-pieces",
)
LESS_RETURNED = Remedy(
    "or let the model return less: what is computed from its outputs (argmax, a score) inside the model",
    slug="smaller-output",
)


def _session_runs(case: Case, line: Line) -> Grower:
    """Sessions whose graph grows; of one that is frozen already, what else may stay."""
    del case
    what = (
        f"ops that are added to the graph in each turn ({line.place}): an operator on a tensor (`-x`,"
        " `x[0]`), a function of tf, a placeholder or a Saver in the loop stays, and slows each run"
    )
    return Grower(what, line, (FROZEN, _ONE_GRAPH))


def _calls(case: Case, told: Surroundings) -> Iterator[Remedy]:
    if not told.shows("predicting a batch in vain"):
        yield Remedy(
            "call the model itself for one batch: no data set is made then",
            "model.predict_on_batch(x)" if _of_graphs(case) else "y = model(x, training=False)   # TF 2",
            slug="direct-call",
        )
    if told.shows("one input after another") or told.shows("again at each request"):
        return
    alone = told.shows("predicting a batch in vain")
    yield replace(_ALL_AT_ONCE, text=_ALL_AT_ONCE.text.removeprefix("or ")) if alone else _ALL_AT_ONCE


_DEFAULT_GRAPH = regex(r"(?<!v1\.)\bget_default_graph\(|\btf\.Session\(|\bK\.get_session\(")


def _of_graphs(case: Case) -> bool:
    """Whether it is TensorFlow 1, by its version or by what the code calls."""
    lines = case.capture.surroundings.code
    return case.api.is_tf1 or any(_DEFAULT_GRAPH.search(each.text) for each in lines)


def _newer(case: Case) -> Iterator[Remedy]:
    if case.api.newest < (2, 16):
        yield Remedy(
            "compare with a newer TensorFlow, where several such leaks are gone", slug="newer-release"
        )


def _episodes(case: Case, line: Line) -> Grower:
    told = case.capture.surroundings
    what = (
        f"what an episode does at each step ({line.place}): predict and fit, which make a data set at each"
        " call"
    )
    if told.shows("replaying") and not told.shows("a small replay buffer"):
        what += ", and a replay buffer that fills until its capacity"
        return Grower(what, line, (*list(_calls(case, told))[:1], smaller_replay(told), NOT_KEPT))
    what += ", or lists of states, rewards and losses that are never emptied"
    return Grower(what, line, (*list(_calls(case, told))[:1], NOT_KEPT, *_newer(case)))


_OF_A_LOOP = regex(r"(?i)\b(?:whole|entire)\b[^.]{0,30}\b(?:training|loop|process|epoch)|\bloop function\b")
_STEP_ALONE = Remedy(
    "put tf.function on the step alone, and loop over batches outside of it, in Python: of a whole loop"
    " tracing may run every step, and all become one graph",
    "@tf.function\ndef step(images, labels): ...   # the tape and apply_gradients",
    slug="step-alone",
)


def _functions(case: Case, line: Line) -> Grower:
    if once := _traced_once(case):
        return once
    if _OF_A_LOOP.search(line.text):
        return Grower(
            f"tf.function round a whole loop ({line.place}): tracing it runs every step, and all become one"
            " graph",
            line,
            (_STEP_ALONE, OF_FUNCTIONS),
        )
    what = f"a tf.function is traced anew at its calls ({line.place}), and every graph is kept"
    return Grower(what, line, (OF_FUNCTIONS,))


def _traced_once(case: Case) -> Grower | None:
    """Calls of which the quoted code shows that none makes another graph."""
    if not case.capture.surroundings.program():
        return None
    from tfmemlens.findings.support.retraced_code import traced_once  # reads trees

    if (found := traced_once(case.capture.surroundings.program())) is None:
        return None
    name, defined, given, call = found
    what = (
        f"`{name}` gets {' and '.join(f'`{each}`' for each in given)}" if given else f"`{name}` gets nothing"
    )
    return Grower(
        f"the release of TensorFlow, and not the program: {what} in each call ({call.place}), made above the"
        f" loop, so the tf.function ({defined.place}) is traced once",
        call,
        (
            replace(_TRACED_ONCE, code=f"print({name}.experimental_get_tracing_count())   # 1: traced once"),
            replace(_LOOP_INSIDE, code=f"for _ in tf.range(1000): {name}({', '.join(given)})"),
        ),
    )


_TRACED_ONCE = Remedy(
    "see that it is traced once; then take a release in which the same loop stays flat: an older one of which"
    " you know that, or the newest, and compare over as many calls",
    slug="newer-release",
)
_LOOP_INSIDE = Remedy(
    "until then call it less often: let one tf.function around the loop run many turns",
    slug="step-alone",
)


_SUSPECTS = (
    (r"callback|TensorBoard", "callbacks (TensorBoard's histograms most)"),
    (r"validation_(?:data|split)|\.evaluate\(", "the validation"),
    (r"workers|max_queue_size|generator|Sequence|\bgen\b", "the generator with its workers and queue"),
    (r"\.cache\(|\.shuffle\(", "cache() and shuffle() of tf.data"),
)
"""What may keep something from epoch to epoch, by what shows it in code."""
_CALLBACKS = regex(r"\bcallbacks ?= ?\[(?P<names>[A-Za-z_]\w*(?:, ?[A-Za-z_]\w*){0,5}),?\]")
_TENSORBOARD = regex(r"(?i)tensor_?board|\btb\b|\btb_")
_NAME = regex(r"\w+")
_CALLS_FIT = regex(r"\.fit(?:_generator)?\(|train_on_batch\(|GradientTape|\.run\(")


def _in_turn(case: Case) -> Remedy:
    """What to leave out, of what the program has where its call of fit is quoted."""
    code = [line.text for line in code_lines(case.capture.surroundings)]
    if not any(map(_CALLS_FIT.search, code)):
        return _IN_TURN
    shown = [words for pattern, words in _SUSPECTS if any(re.search(pattern, text) for text in code)]
    if not shown:
        of_device = case.capture.surroundings.shows("device memory in words") is not None
        return find_what_grows(case, of_host=not of_device)
    own = next(filter(None, map(_CALLBACKS.search, code)), None)
    if own and not _TENSORBOARD.search(own["names"]):
        names = ", ".join(f"`{each}`" for each in _NAME.findall(own["names"]))
        shown[0] = f"the callbacks ({names})"
    named = shown[0] if len(shown) == 1 else f"one of these at a time: {', '.join(shown)}"
    return replace(_IN_TURN, text=f"for two or three rounds leave out {named}, and print the RAM beside it")


def _epochs(case: Case, line: Line) -> Grower:
    what = f"something that is kept from one epoch to the next ({line.place})"
    if case.capture.surroundings.shows("growing in words"):
        early = case.api.oldest >= (2, 0) and case.api.newest <= (2, 3)
        return Grower(what, line, (_in_turn(case), NOT_KEPT, *(_newer(case) if early else ())))
    return Grower(
        f"{what}, or a later batch that is larger", line, (_in_turn(case), NOT_KEPT, SIZES_OF_BATCHES)
    )


def replays(case: Case) -> Iterator[Grower]:
    """A buffer of experiences, which grows until it is full."""
    told = case.capture.surroundings
    line = told.shows("replaying")
    if line and not (told.shows("saving in words") or told.shows("a small replay buffer")):
        what = f"the buffer of experiences ({line.place}), which fills until its capacity"
        yield Grower(what, line, (smaller_replay(told), NOT_KEPT))


def _by_its_option(told: Surroundings) -> Remedy:
    """With the option of the library that the text names."""
    from tfmemlens.findings.support.host_ram.replay import option_of_library

    known = option_of_library(" ".join(line.text for line in (*told.code, *code_lines(told))))
    if known is None:
        return SMALLER_REPLAY
    text = SMALLER_REPLAY.text.replace("a smaller capacity", f"a smaller capacity (`{known[0]}`)")
    return replace(SMALLER_REPLAY, text=text, code=known[1])


_ANSWERS: dict[str, Callable[[Case, Line], Grower]] = {
    "trial": _searches,
    "fold": _searches,
    "loaded model": _loads,
    "model": _searches,
    "request": _requests,
    "episode": _episodes,
    "run of a session": _session_runs,
    "prediction": _predicts,
    "call of a function": _functions,
}
