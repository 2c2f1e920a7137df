"""What fills memory by the work that a post tells of, where nothing in it says more: a table by facts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tfmemlens.findings.support.board import board
from tfmemlens.findings.support.grower import Grower
from tfmemlens.findings.support.program_lines import code_lines, reads_a_batch
from tfmemlens.findings.support.prose_advice import VOLUMES, from_the_stated
from tfmemlens.findings.support.read_whole import read_whole
from tfmemlens.findings.support.situation import JAX, framework_of, without_gpu
from tfmemlens.findings.support.told_again import (
    DATA_IN_PARTS,
    FEWER_SAMPLES,
    FRAMES_ONCE,
    SMALLER_REPLAY,
)
from tfmemlens.findings.support.tool_settings import Tool, tool
from tfmemlens.findings.support.what_grows import THREADS
from tfmemlens.findings.support.which_memory import read_as_one_array
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.values import replace

HOST, DEVICE, ANY = "host", "device", "any"


class Work(NamedTuple):
    """What a fact says most likely fills memory, whose memory that is, and what helps."""

    facts: tuple[str, ...]
    """All of which the text tells; the line of the first is named."""
    what: str
    memory: str
    remedies: tuple[Remedy, ...]


_SMALLER_BATCH = Remedy(
    "and with a smaller batch: all of this is in proportion to it",
    slug="smaller-batch",
)
_SMALLER_FOR_IT = Remedy(
    "train this one with a smaller batch than the float model: it keeps about twice as many maps",
    slug="smaller-batch",
)
_RAISE_THE_PART = Remedy(
    "raise that part, or leave it out where nobody else needs the rest of the GPU",
    "gpu_options = tf.GPUOptions(per_process_gpu_memory_fraction=0.9)   # TF 2: memory_limit, in MiB",
    slug="raise-own-limit",
)
_END_IT = Remedy(
    "end that process by its number, if it is yours and not needed, and look again before you start",
    "nvidia-smi   # then: kill -9 PID; a notebook: shut its kernel down",
    slug="see-device-users",
)
_RUN_ONCE = Remedy(
    "restart the runtime or kernel, or end the process of the run before, and run it once; only if that"
    " fails, too, take a smaller batch",
    slug="restart-kernel",
)
_WITHOUT_PERSISTENCE = Remedy(
    "delete the tape when the last gradient is taken, or take all gradients in one call, which needs no"
    " persistent tape",
    "dx, dw = tape.gradient(loss, [x, model.trainable_variables])   # else: del tape",
    slug="plain-tapes",
)
_PENALTY_ON_PART = Remedy(
    "take the penalty on a part of the batch, or only every few steps (lazy regularisation)",
    "penalty = gradient_penalty(real[:8], fake[:8])",
    slug="penalty-on-part",
)
_FEWER_INNER_STEPS = Remedy(
    "take fewer inner steps, or the first-order variant, which keeps none of them",
    "inner = [tf.stop_gradient(g) for g in tape.gradient(loss, weights)]",
    slug="first-order",
)
_NO_HISTOGRAMS = Remedy(
    "leave histograms out, or write them seldom: each takes many numbers for every weight",
    "tf.keras.callbacks.TensorBoard(folder, histogram_freq=0)",
    slug="histograms-off",
)
_ON_THE_CPU = Remedy(
    "convert in a process of its own, on the CPU, from the saved model, with nothing else in RAM",
    "CUDA_VISIBLE_DEVICES=-1 python convert.py",
    slug="convert-on-the-cpu",
)
_INTEGERS = Remedy(
    "keep labels as integers: the loss takes them as they are, and makes no row of zeros for each",
    "model.compile(loss='sparse_categorical_crossentropy', ...)   # y: class numbers",
    slug="integer-labels",
)
_EMBED = Remedy(
    "give words and categories as integers to an Embedding layer; for other models keep the rows sparse",
    "pd.get_dummies(df, sparse=True)   # scikit-learn's OneHotEncoder is sparse unless told otherwise",
    slug="embed-the-feature",
)
_UINT8 = Remedy(
    "keep images as uint8 until they are in a batch: float32 takes four times as much, float64, which NumPy"
    " makes of `/ 255.0`, eight times",
    "x = np.asarray(images, dtype=np.uint8)",
    slug="narrow-array",
)
_FEWER_AT_ONCE = Remedy(
    "give a fixed number of parallel calls, and let one or two batches wait: each call and each batch that"
    " waits holds decoded elements",
    "ds = ds.map(decode, num_parallel_calls=2).batch(32).prefetch(1)",
    slug="smaller-pipeline",
)
_ON_THE_HOST = Remedy(
    "keep the set in host RAM, and give the GPU one batch at a time: a generator, files, or a data set that"
    " is made on the CPU",
    "with tf.device('CPU:0'): ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)",
    slug="data-on-the-host",
)
_IN_BATCHES = Remedy(
    "let predict do it, which goes in batches, or loop over batches and bring each result to the host",
    "y = model.predict(x, batch_size=32)",
    slug="in-batches",
)
_FEWER_FRAMES = Remedy(
    "give it shorter sequences, smaller frames, or fewer filters in the first ConvLSTM (half the side is a"
    " quarter of the maps), or pool before it",
    slug="smaller-input",
)
_SHORTER_WINDOWS = Remedy(
    "train on shorter windows: cut each series into pieces of a few hundred steps, or carry the state from"
    " one to the next (stateful=True)",
    "ds = tf.keras.utils.timeseries_dataset_from_array(x, y, sequence_length=250)",
    slug="truncate",
)
_SHORTER_TEXTS = Remedy(
    "cut texts shorter (512 -> 256 is half of the activations, and a quarter of attention's), and pad to the"
    " longest of each batch, not to the maximum",
    "tokenizer(texts, truncation=True, max_length=256)",
    slug="shorter-sequences",
)
_IN_16_BITS = Remedy(
    "or keep the length, and compute in 16 bits: half of what layers keep; and let the backward pass compute"
    " layers again, where the program offers it",
    slug="in-16-bits",
)
_SMALLER_IMAGES = Remedy(
    "smaller images, or patches cut out of them: half of each side is a quarter of every map that training"
    " keeps",
    "image_size=(height // 2, width // 2)   # patches: tf.image.random_crop",
    slug="smaller-input",
)
_SMALLER_MODEL_FILE = Remedy(
    "take a smaller model: weights of 8 bits are a quarter of float32",
    "converter.optimizations = [tf.lite.Optimize.DEFAULT]",
    slug="smaller-model",
)
_MAP_THE_MODEL = Remedy(
    "map the model's file instead of reading it into the app's heap, make one Interpreter and use it again,"
    " and close it when done",
    'Interpreter(FileUtil.loadMappedFile(context, "model.tflite"))',
    slug="map-the-file",
)

_IN_BURSTS = Remedy(
    "sample in bursts of some hundred steps, each from the last state of the one before, and write each to a"
    " file",
    "states, trace, results = sample(num_results=500, current_state=[s[-1] for s in states],"
    " previous_kernel_results=results)   # return_final_kernel_results=True",
    slug="in-pieces",
)
_LESS_OF_EACH_STEP = Remedy(
    "let the chain keep less of each step: it traces all results of its kernel (gradients, proposals) unless"
    " trace_fn says what; thin it, or reduce each state to what you need",
    "trace_fn=lambda state, results: results.accepted_results.target_log_prob, num_steps_between_results=9",
    slug="smaller-output",
)

_FEWER_THAT_PAY = Remedy(
    "each process pays for it anew: let fewer processes use a GPU (one for several GPUs, or one that serves"
    " the others), hide the GPUs from those that only read data, and let CUDA load kernels when they are"
    " called",
    "export CUDA_MODULE_LOADING=LAZY   # CUDA 11.7 and newer; of others: CUDA_VISIBLE_DEVICES=-1",
    slug="fewer-processes",
)

_FEWER_WORKERS_OF_A_SERVER = Remedy(
    "each worker is a process that loads TensorFlow and the model for itself: start fewer, with threads. No"
    " setting gives a worker more memory. Where the server's log says WORKER TIMEOUT, it ended the worker"
    " itself, and a longer --timeout helps",
    "gunicorn --workers 1 --threads 4 --timeout 300 app:app",
    slug="fewer-workers",
)

WORK = (
    Work(
        ("workers of a server",),
        "the copy of TensorFlow and of the model that each worker of the server holds",
        HOST,
        (_FEWER_WORKERS_OF_A_SERVER,),
    ),
    Work(
        ("RAM at its start",),
        "what CUDA's libraries (cuDNN, cuBLAS) and the framework's own code take of host RAM in each process"
        " that uses a GPU, as a rule 1 to 3 GB before any model",
        HOST,
        (_FEWER_THAT_PAY,),
    ),
    Work(
        ("sampling",),
        "what a chain returns: the states of all its steps, and what it traces of its kernel at each",
        ANY,
        (_LESS_OF_EACH_STEP, _IN_BURSTS),
    ),
    Work(
        ("replaying",),
        "the buffer of experiences, which fills until its capacity",
        HOST,
        (SMALLER_REPLAY,),
    ),
    Work(
        ("held by an earlier run",),
        "a process of earlier, which keeps its part of the GPU as long as it lives",
        DEVICE,
        (_END_IT,),
    ),
    Work(
        ("failing when run again",),
        "what the run before left, which a notebook's kernel, or a process that has not ended, still holds:"
        " it ran once",
        DEVICE,
        (_RUN_ONCE,),
    ),
    Work(
        ("a persistent tape",),
        "a persistent tape, which keeps all that it recorded until the last name of it is gone",
        DEVICE,
        (_WITHOUT_PERSISTENCE, _SMALLER_BATCH),
    ),
    Work(
        ("writing histograms",),
        "the histograms that TensorBoard's callback computes of all weights",
        ANY,
        (_NO_HISTOGRAMS,),
    ),
    Work(
        ("on a phone",),
        "the model's weights and the tensors of its interpreter, in the RAM that an app is allowed",
        ANY,
        (_SMALLER_MODEL_FILE, _MAP_THE_MODEL),
    ),
    Work(
        ("converting in words", "calibrating"),
        "the conversion, which holds the model several times, and the samples that it calibrates with",
        HOST,
        (FEWER_SAMPLES, _ON_THE_CPU),
    ),
    Work(
        ("converting in words",),
        "the conversion, which holds the model two or three times",
        ANY,
        (_ON_THE_CPU,),
    ),
    Work(
        ("one-hot labels",),
        "one-hot rows, each with a number for every word or class",
        HOST,
        (_INTEGERS, _EMBED),
    ),
    Work(
        ("one-hot features",),
        "one-hot columns, one for every value that a column of the table has",
        HOST,
        (_EMBED,),
    ),
    Work(
        ("mapping in parallel",),
        "the elements that parallel calls and prefetch hold at once",
        HOST,
        (_FEWER_AT_ONCE,),
    ),
    Work(
        ("an array in words",),
        "all samples in one array or list, beside the copy that the conversion of it makes",
        HOST,
        (DATA_IN_PARTS, _UINT8),
    ),
    Work(
        ("loaded whole in words",),
        "the whole data set, which is loaded into RAM at once",
        HOST,
        (DATA_IN_PARTS, _UINT8),
    ),
    Work(
        ("an array of all samples",),
        "all samples in one array, beside the list or the array that it is made from",
        HOST,
        (DATA_IN_PARTS, _UINT8),
    ),
    Work(
        ("a gradient penalty",),
        "the gradient of a gradient, for which what the first backward pass made is kept as well",
        DEVICE,
        (_PENALTY_ON_PART, _SMALLER_BATCH),
    ),
    Work(
        ("second-order gradients",),
        "all inner steps, each of which is kept for the gradient through it",
        DEVICE,
        (_FEWER_INNER_STEPS, _SMALLER_BATCH),
    ),
    Work(
        ("worker processes",),
        "what each worker process holds by itself: the arrays that it was given, and batches in its queue",
        HOST,
        (THREADS,),
    ),
    Work(
        ("training quantised",),
        "the ops that quantisation-aware training puts behind every weight and map, whose outputs training"
        " keeps as well",
        DEVICE,
        (_SMALLER_FOR_IT,),
    ),
    Work(
        ("called with a whole set",),
        "all samples in one call of the model, which makes no batches",
        DEVICE,
        (_IN_BATCHES,),
    ),
    Work(
        ("a set as tensors",),
        "the whole set as a tensor on the GPU, where arrays that TensorFlow is given go",
        DEVICE,
        (_ON_THE_HOST,),
    ),
    Work(
        ("recurrent convolutions",),
        "the maps, gates and states of ConvLSTM, which training keeps of every time step",
        DEVICE,
        (_FEWER_FRAMES, _SMALLER_BATCH),
    ),
    Work(
        ("many time steps",),
        "the states and gates that a recurrent layer keeps of every time step",
        DEVICE,
        (_SHORTER_WINDOWS, _SMALLER_BATCH),
    ),
    Work(
        ("volumes",),
        "the maps of layers over whole volumes, which training keeps",
        DEVICE,
        (VOLUMES, _SMALLER_BATCH),
    ),
    Work(
        ("large images",),
        "the maps of layers over images of that size, which training keeps",
        DEVICE,
        (_SMALLER_IMAGES, _SMALLER_BATCH),
    ),
    Work(
        ("a transformer", "long texts"),
        "what every layer keeps of each token of a batch, and attention of each pair of tokens",
        DEVICE,
        (_SHORTER_TEXTS, _IN_16_BITS, _SMALLER_BATCH),
    ),
)
"""The most particular first."""
_SAY_MORE = (
    "growing in words",
    "saving in words",
    "failing late",
    "failing in evaluation",
    "several ranks",
    "a smaller batch helps",
    "taking the whole GPU",
    "kept in words",
)
"""Facts that say more of why than the work does."""
_FILLS_SLOWLY = ("a persistent tape", "replaying")
"""What may go well for a while."""
_AT_VALIDATION = ("writing histograms",)
"""What is computed where the model is validated."""
_OF_RAM = ("host RAM in words", "killed in words", "an error of Python's")
_IN_CODE_ALONE = ("an array of all samples", "mapping in parallel")
"""What many programs do that run out of a GPU's memory: a cause only where the memory is the host's."""


_WHAT_IS_FREE = Remedy(
    "see what is free before it starts, when it goes well and when it does not: what else runs then (a"
    " browser, a database, another training) decides; end that, or add swap",
    "free -h; ps aux --sort=-rss | head",
    slug="close-other-programs",
)


def told_work(case: Case) -> Iterator[Grower]:
    """What fills memory by the work that is told; nothing where the text says more than that."""
    told = case.capture.surroundings
    told_more = any(map(told.shows, _SAY_MORE)) or board(case) is not None
    if not told_more:
        yield from _own_limit(case)
    said = told.shows("running short") or told.shows("much memory in words")
    killed = said is not None and _KILLED.search(said.text) is not None
    of_host = killed or any(map(told.shows, _OF_RAM)) or without_gpu(case)
    of_host = of_host or (said is not None and read_as_one_array(case, said))
    of_device = told.shows("device memory in words") is not None and not of_host
    now_and_then = told.shows("failing now and then")
    if now_and_then and of_host and not told_more:
        yield Grower(
            f"what else takes RAM at those times, since the same goes well at others ({now_and_then.place})",
            now_and_then,
            (_WHAT_IS_FREE,),
        )
    if of_host and not of_device and not (told_more and board(case)) and (whole := read_whole(case)):
        yield whole
    for work in WORK:
        line = told.shows(work.facts[0])
        if line is None or not all(map(told.shows, work.facts)):
            continue
        if work.facts[0] == "replaying" and told.shows("a small replay buffer"):
            continue
        if work.facts[0] == "sampling" and framework_of(case) == JAX:
            continue  # the chains of NumPyro and BlackJAX trace nothing of the kernel
        if work.facts[0] in _IN_CODE_ALONE and reads_a_batch(line, code_lines(told)):
            continue
        slowly = told.shows("failing late") and work.facts[0] in _FILLS_SLOWLY
        validated = told.shows("failing in evaluation") and work.facts[0] in _AT_VALIDATION
        if told_more and not (slowly or validated):
            continue
        if (work.memory == HOST and of_device) or (work.memory == DEVICE and of_host):
            continue
        if not of_host and work.facts[0] in _IN_CODE_ALONE and line != said:
            continue
        remedies = tuple(_by_settings(case, from_the_stated(case, each)) for each in work.remedies)
        if work.facts[0] == "replaying" and told.shows("a buffer that must stay"):
            remedies = (FRAMES_ONCE,)
        yield Grower(f"{work.what} ({line.place})", line, remedies, fact=work.facts[0])
    if not told_more and not (of_host and told.shows("failing now and then")):
        yield from _of_settings(case, of_host)


def _by_settings(case: Case, remedy: Remedy) -> Remedy:
    """The same by the setting of a program that its user did not write, where its name is known."""
    known = tool(case)
    if known is None:
        return remedy
    setting = {"smaller-input": known[0].images, "shorter-sequences": known[0].lengths}.get(remedy.slug or "")
    return replace(remedy, text=f"{remedy.text}: {setting}", code=None) if setting else remedy


def _of_settings(case: Case, of_host: bool) -> Iterator[Grower]:
    """A program with known settings, which decide how much it takes at once."""
    known = tool(case)
    used, line = known or (None, None)
    if used is None or line is None:
        return
    if not of_host and (tokens := _tokens_of_one_sample(case, used)):
        yield _of_one_sample(case, used, line, tokens)
        return
    settings = {
        "smaller-batch": used.batch,
        "tool-image-size": used.images,
        "tool-sample-length": used.lengths,
        "smaller-model": used.model,
    }
    if used.model and _batch_is_least(case):
        settings["smaller-batch"] = ""
    if of_host:
        settings = {"smaller-pipeline": used.queues}
    chosen = _chosen_by_the_tool(case, used)
    remedies = tuple(
        chosen
        if chosen and slug == chosen.slug
        else from_the_stated(case, Remedy(f"{_WORDS[slug]}: {setting}", slug=slug))
        for slug, setting in settings.items()
        if setting
    )
    if remedies:
        yield Grower(f"what {used.name} is set to take at once ({line.place})", line, remedies)


_LEAST_BATCH = 2


def _batch_is_least(case: Case) -> bool:
    """Whether the text's batch is so small already that other settings are left."""
    stated = case.capture.surroundings.setting("batch_size")
    return bool(stated and stated[0].isdigit() and int(stated[0]) <= _LEAST_BATCH)


_ONE_SAMPLE = 128
"""Tokens: a batch of fewer holds a sample or two, and no smaller one is to be had."""


def _tokens_of_one_sample(case: Case, used: Tool) -> str | None:
    """The batch that is stated, where it counts tokens and is so small that it decides nothing."""
    stated = case.capture.surroundings.setting("batch_size")
    in_tokens = stated is not None and "tokens" in used.batch
    return (
        stated[0] if stated and in_tokens and stated[0].isdigit() and int(stated[0]) < _ONE_SAMPLE else None
    )


def _of_one_sample(case: Case, used: Tool, line: Line, tokens: str) -> Grower:
    """What is left where no smaller batch is to be had: the sample, and what runs beside the training."""
    evaluates = case.capture.surroundings.shows("training and evaluating")
    beside = f", or the evaluation beside the training ({evaluates.place})" if evaluates else ""
    what = (
        f"one long sample{beside}: a batch of {tokens} tokens ({line.place}) holds a single one, and no"
        " smaller batch is to be had"
    )
    remedies = (
        Remedy(f"{_WORDS['tool-sample-length']}: {used.lengths}", slug="tool-sample-length"),
        _SMALLER,
    )
    return Grower(what, line, (_TRAIN_ALONE, *remedies) if evaluates else remedies)


_TRAIN_ALONE = Remedy(
    "train for one run without the evaluation, which shows whether that or the training fails",
    "--schedule=train   # the evaluation afterwards, from a checkpoint, in a process of its own",
    slug="own-process",
)
_SMALLER = Remedy(
    "take a smaller model (of tensor2tensor another `--hparams_set`), and see with nvidia-smi whether the GPU"
    " is free before the start",
    slug="smaller-model",
)


def _chosen_by_the_tool(case: Case, used: Tool) -> Remedy | None:
    """Of a batch of 0, which has OpenNMT-tf search for the largest that fits when the training begins."""
    stated = case.capture.surroundings.settings
    line = next((line for name, value, line in stated if name == "batch_size" and value == "0"), None)
    if line is None or used.name != "OpenNMT-tf":
        return None
    return Remedy(
        f"set the batch yourself, below the one that it found (its log says which): `batch_size: 0`"
        f" ({line.place}) has it search for the largest that fits at the start, which leaves nothing for"
        " longer samples, summaries or an evaluation",
        slug="smaller-batch",
    )


_WORDS = {
    "smaller-batch": "take a smaller batch",
    "smaller-pipeline": "let less of its input be in RAM at once",
    "tool-image-size": "smaller images",
    "tool-sample-length": "shorter samples",
    "smaller-model": "a smaller model, or less of it",
}
_KILLED = regex(r"(?i)\bkilled\b")
_MOST_OF_A_GPU = 0.8
_A_SMALL_PART = 4096
"""MiB: less than any GPU has on which such models are trained."""


def _own_limit(case: Case) -> Iterator[Grower]:
    """A part of the GPU that the program allows itself, as the text shows."""
    told = case.capture.surroundings
    limit, setting = told.setting("memory_limit"), told.setting("per_process_gpu_memory_fraction")
    if limit and limit[0].isdigit() and 0 < int(limit[0]) <= _A_SMALL_PART:
        share, line = f"{limit[0]} MiB", limit[1]
    elif setting and 0 < float(setting[0]) < _MOST_OF_A_GPU:
        share, line = setting
    else:
        return
    what = f"the part of the GPU that the program allows itself ({share}, {line.place}), whatever is free"
    yield Grower(what, line, (_RAISE_THE_PART,))
