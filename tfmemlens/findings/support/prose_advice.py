"""What helps where a failure is told in words alone: by what runs, where, and what the words say of when."""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets, own_gpu, remedies
from tfmemlens.findings.support.board import ADD_SWAP, board, what_helps
from tfmemlens.findings.support.brace_code import made_above
from tfmemlens.findings.support.compiling import compiled_then, less_to_compile
from tfmemlens.findings.support.contrasted import DATA_ON_THE_HOST
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.prose_of_jax import COMPILED_ONCE, of_constructs
from tfmemlens.findings.support.situation import (
    JAX,
    TENSORFLOW,
    TORCH_XLA,
    framework_of,
    on_a_mac,
    on_apple_gpu,
    only_infers,
    situation,
)
from tfmemlens.findings.support.told_again import SIZES_OF_BATCHES, data_in_parts
from tfmemlens.findings.support.tool_settings import fewer_results
from tfmemlens.findings.support.tried import ruled_out
from tfmemlens.findings.support.watching import find_what_grows
from tfmemlens.knowledge.gpu_memory import least_bytes
from tfmemlens.model.capture import EVALUATION_FRAME, DeviceInfo, DeviceUse, Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.values import replace

JAVASCRIPT = ("Node", "TensorFlow.js")
_FULL, _MAX_SHARE_ONE_DEVICE = 0.9, 0.25
_ONE_SERVER_EACH = Remedy(
    "start a server for each GPU, and share the requests out among them: one server puts its models on the"
    " first GPU that it sees, however many there are",
    "CUDA_VISIBLE_DEVICES=1 tensorflow_model_server --port=8510 ...   # 0: --port=8500",
    slug="one-device-each",
)
BOUND_REQUESTS = Remedy(
    "let the server put requests together and bound how many run at once: each thread that serves keeps"
    " buffers of its own",
    "tensorflow_model_server --enable_batching=true --tensorflow_session_parallelism=4 ...",
    slug="bound-requests",
)
_ANOTHER_MALLOC = Remedy(
    "what an unloaded version held is given back to malloc, which keeps it for the process, and while a new"
    " version loads the old one stays: let another malloc give it back, and see whether it grows at each"
    " reload or only at the first ones",
    "LD_PRELOAD=libjemalloc.so.2 tensorflow_model_server ...   # apt install libjemalloc2",
    slug="another-malloc",
)
ROOM_FOR_TWO = Remedy(
    "while a new version loads the old one still serves, so both are in memory: give the container room for"
    " two beside what requests take, or unload the old one first, which leaves a gap, or start another"
    " container for the new one",
    "model_version_policy { specific { versions: 2 } }   # in --model_config_file",
    slug="room-for-two-versions",
)
_LOADS_LESS = Remedy(
    "it dies before a request comes, so what it loads counts: one version of one model, and the official"
    " image of a current release to compare with, since a build of one's own may differ",
    "docker run -p 8501:8501 -v $PWD/m:/models/m -e MODEL_NAME=m tensorflow/serving",
    slug="load-less",
)
_GIVEN_BACK = Remedy(
    "what a request held is given back to malloc, which keeps it for the process, most of all of large and"
    " uneven batches: let another malloc give it back; where it still grows, compare with a newer server",
    "LD_PRELOAD=libtcmalloc.so.4 tensorflow_model_server ...   # apt install google-perftools",
    slug="another-malloc",
)
_SMALLER_FILES = Remedy(
    "while a model is loaded its weights are there several times: take a smaller model, or convert it with"
    " weights of 8 or 16 bits, so that the browser or the phone's app has room for them",
    "tensorflowjs_converter --quantize_uint8 '*' ...",
    slug="smaller-files",
)
_COUNT_TENSORS = Remedy(
    "count tensors after each call: where their number grows, one is made outside of tidy() (an input, what"
    " an async function returns, xs and ys of fit) and has to be disposed of; where it stays, none leaks",
    "console.log(tf.memory().numTensors, process.memoryUsage().rss)   // a browser: numBytesInGPU",
    slug="count-tensors",
)
_FEWER_IN_A_FIT = Remedy(
    "give fit a smaller batchSize (32 where none is named): what a step keeps for its gradients grows with it"
    " and with the length of a sequence, whatever the weights take",
    "await model.fit(xs, ys, {batchSize: 8})",
    slug="smaller-batch",
)
_NEWER_TFJS = Remedy(
    "then compare with the newest release and another backend, and let a worker that is started anew from"
    " time to time do the work",
    slug="newer-release",
)
_OF_ONE_INFERENCE = (
    Remedy(
        "one inference fills it, so nothing has to leak: take a smaller input or model, or weights and"
        " textures of 16 bits",
        "tf.env().set('WEBGL_FORCE_F16_TEXTURES', true)",
        slug="smaller-input",
    ),
    Remedy(
        "let WebGL delete textures instead of keeping them for later: it recycles them, and never gives one"
        " back",
        "tf.env().set('WEBGL_DELETE_TEXTURE_THRESHOLD', 0)   // bytes kept; 0 deletes at once",
        slug="delete-textures",
    ),
    Remedy(
        "or compute elsewhere: WASM, or tfjs-node, which use the machine's RAM",
        "await tf.setBackend('wasm')   // import '@tensorflow/tfjs-backend-wasm'",
        slug="another-backend",
    ),
)
PREDICTORS_OF_DJL = Remedy(
    "close each Predictor that newPredictor() gives, or share one (or a pool of them) between requests: what"
    " one holds lies in native memory, and goes when it is closed",
    "try (Predictor<Image, Classifications> p = model.newPredictor()) { return p.predict(img); }",
    slug="close-tensors",
)
BESIDE_THE_HEAP = Remedy(
    "leave native memory its part of the limit: tensors and models lie beside Java's heap, and -Xmx takes its"
    " part away from them, however empty the heap is",
    slug="room-beside-the-heap",
)
OF_NATIVE = {
    "Java": (
        Remedy(
            "close every Tensor, those that are fed and each that run() returns, and the Result: they lie in"
            " native memory, which the garbage collector does not see, so heap and -Xmx say nothing of it",
            'try (Tensor x = ...; Tensor y = session.runner().feed("x", x).fetch("y").run().get(0)) { ... }',
            slug="close-tensors",
        ),
        Remedy(
            "load the SavedModelBundle once, and close() the old one when another takes its place: while both"
            " are there, memory is needed twice beside the heap",
            "bundle.close();",
            slug="close-models",
        ),
    ),
    "C#": (
        Remedy(
            "dispose of every TFTensor, those that are fed and each that Run returns: they lie in native"
            " memory,"
            " which the garbage collector does not see, so GC.Collect() frees next to nothing of it",
            "using (var x = new TFTensor(data)) { foreach (var y in runner.Run()) { ...; y.Dispose(); } }",
            slug="close-tensors",
        ),
        Remedy(
            "make graph and session once, and take a new Runner of that session for each call; dispose of a"
            " session when another takes its place",
            "session.Dispose();",
            slug="close-models",
        ),
    ),
    "Go": (
        Remedy(
            "see whether the number of inputs decides: Session.Run takes its feeds from a map, so in another"
            " order at each call, and TensorFlow keeps what it prepared for each order that it met. Compare"
            " one input (all in one tensor) with several; where several alone grow, try a newer release",
            slug="one-order-of-feeds",
        ),
        Remedy(
            "load the model once, and let Go collect: a Tensor lies in C's memory, which goes when Go's"
            " collector drops the value, and that one counts its own heap alone. See whether memory stays"
            " flat with a collection now and then",
            "runtime.GC()   // every 100 calls; session.Close() when another takes its place",
            slug="close-tensors-of-go",
        ),
    ),
    "Dart": (
        Remedy(
            "make the interpreter once, when the app starts, and use that one for all calls: one that is made"
            " for each leaves a part behind, whatever close() gives back (buffers of its delegate, the mapped"
            " file of the model)",
            "interpreter = await Interpreter.fromAsset(model);   // once; close() with the app",
            slug="make-once",
        ),
        Remedy(
            "where one interpreter grows, too, try without a delegate and a newer release of the plugin, and"
            " see which of them it is",
            "flutter pub upgrade tflite_flutter",
            slug="newer-release",
        ),
    ),
    "C++": (
        Remedy(
            "make the session once, and let outputs of Run go before the next. A session that is made must be"
            " deleted: Close() frees neither it nor its graph; in the C API delete each tensor that was"
            " made or returned as well",
            "session->Close(); delete session;   // C API: TF_DeleteSession(s, status); TF_DeleteTensor(t);",
            slug="close-models",
        ),
    ),
}
_POOL_OF_A_PROCESS = Remedy(
    "that alone is no leak: TensorFlow keeps the GPU's memory in its pool until the process ends, and uses it"
    " again until then, whatever is disposed of. Let a child process do the GPU's work and end, or let the"
    " pool grow as needed",
    "TF_FORCE_GPU_ALLOW_GROWTH=true   # in the environment, before the program starts",
    slug="end-the-process",
)
_POOL_IN_CPP = Remedy(
    "that alone is no leak: a session's end leaves the GPU's memory with TensorFlow's pool until the process"
    " ends. Let a child process do the GPU's work and end, or keep the pool small: growth, or a part of the"
    " GPU",
    "options.config.mutable_gpu_options()->set_allow_growth(true);   //"
    " set_per_process_gpu_memory_fraction(.3)",
    slug="small-pool-in-cpp",
)
_KEPT_BY_THE_PROCESS = Remedy(
    "TensorFlow gives a GPU's memory back when its process ends, and uses it again until then: that alone is"
    " no leak. Run each training in a process of its own, or end the notebook's kernel",
    slug="end-the-process",
)
_LOAD_ONCE = Remedy(
    "load the model once, not for each call, and end each scope that you start; after a call the number of"
    " tensors must be what it was before",
    "console.log(tf.memory().numTensors)",
    slug="count-tensors",
)
SHARD_THE_DATA = Remedy(
    "each rank is a process that loads its data by itself: let each read its own part of the files, or map"
    " them, so that they are in RAM once",
    "data = data.shard(hvd.size(), hvd.rank())   # before batch(); arrays: np.load(path, mmap_mode='r')",
    slug="shard-the-data",
)
SMALLER_QUEUES = Remedy(
    "make what its input keeps in RAM smaller, by its configuration: the shuffle buffer and queues, readers"
    " that run side by side, prefetched batches, cached images",
    "shuffle_buffer_size: 256, num_readers: 1   # in train_input_reader of the Object Detection API",
    slug="smaller-queues",
)
_IF_IT_TRAINS = Remedy(
    "if it trains, with a smaller batch; else smaller inputs (images, sequences), fewer at a time; if that"
    " changes nothing, see what else holds the GPU",
    "nvidia-smi",
    slug="smaller-batch",
)
_OWN_PROCESS = Remedy(
    "train each model in a process of its own, whose end frees everything: that works whatever it is that"
    " stays",
    "with multiprocessing.get_context('spawn').Pool(1, maxtasksperchild=1) as pool: pool.map(train, each, 1)",
    slug="own-process",
)
_OWN_PROCESS_TO_PREDICT = Remedy(
    "predict in a process of its own, which ends after a part of the work: its end frees everything, whatever"
    " it is that stays",
    "with multiprocessing.get_context('spawn').Pool(1, maxtasksperchild=10) as pool: pool.map(predict, part"
    "s)",
    slug="own-process",
)
_SMALLER_EVALUATION = Remedy(
    "evaluate in batches that fit: evaluate, predict and validation have a batch of their own, and a whole"
    " array given to model(x) is one batch",
    "model.evaluate(x, y, batch_size=32)   # fit(..., validation_batch_size=32)",
    slug="smaller-evaluation-batch",
)
_SMALLER_BATCH = Remedy(
    "train with a smaller batch: that helps most trainings; if it fails at a batch of 1, too, make the"
    " samples (images, sequences) or the model smaller",
    slug="smaller-batch",
)
ANOTHER_RELEASE = Remedy(
    "stay with the release before, or try the newest: with a release come another CUDA and cuDNN, which keep"
    " more for themselves and may choose convolutions of larger workspaces; these can be bound",
    "export TF_CUDNN_WORKSPACE_LIMIT_IN_MB=256",
    slug="newer-release",
)
VOLUMES = Remedy(
    "of volumes every map of a layer takes the whole volume times its filters, and training keeps them all:"
    " train on patches, stride or pool in the first layer, and take fewer filters there",
    slug="smaller-input",
)
OTHER_RELEASES = Remedy("stay with the release before, or try the newest", slug="newer-release")
_WHAT_ELSE = Remedy(
    "see what else holds the GPU before this program starts: an earlier run, a notebook, another process",
    "nvidia-smi",
    slug="see-device-users",
)
SAVE_IN_PARTS = Remedy(
    "most likely host RAM: to be written, a checkpoint is copied there first. Ask the kernel's log whether it"
    " killed the process; let one save end before the next begins, and save in parts or less often",
    "dmesg -T | grep -i -E 'killed process|out of memory'",
    slug="save-in-parts",
)
_WHAT_A_SAVE_LEAVES = Remedy(
    "print the RAM of the process before and after each save: to be written, a checkpoint is copied to host"
    " RAM, and what stays of it is held by a save that has not ended, by the library, or by malloc. Let each"
    " save end before training goes on, save less often, and compare with the library's newest release and"
    " with another malloc",
    "print(psutil.Process().memory_info().rss >> 20, 'MiB')   # LD_PRELOAD=libtcmalloc.so.4 python train.py",
    slug="save-in-parts",
)
BOUND_THE_SAVE = Remedy(
    "bound how much Orbax has in flight: a save copies arrays to the host, and its writer copies them again,"
    " all at once unless it is told a limit (save_concurrent_gb; MaxText: checkpoint_storage_concurrent_gb)",
    "ocp.StandardCheckpointHandler(save_concurrent_gb=8)",
    slug="bound-checkpoint",
)
OF_APPLE = Remedy(
    "the text says that the CPU is fine, so the plug-in for Apple's GPU keeps what calls are given or return:"
    " take a newer one, compute this part on the CPU, or restart the process now and then, and report it",
    slug="newer-release",
)
_NEWER_RELEASE = Remedy(
    "if it fails while XLA compiles, before anything runs, what the data take plays little part: try a newer"
    " release, and a slightly other size (padded, or one less)",
    slug="newer-release",
)
_MAKE_ONCE = Remedy(
    "where the part that grows is found: make once what it makes anew each time (data sets, functions,"
    " models), and use it again; or run that part in a process of its own, whose end frees everything",
    slug="make-once",
)
_SEE_USERS = Remedy(
    "see whose that memory is: end an earlier run or a notebook's kernel, or use another GPU",
    "nvidia-smi   # then: export CUDA_VISIBLE_DEVICES=1",
    slug="see-device-users",
)


def of_a_server(case: Case) -> Iterator[Remedy]:
    """What helps where many requests at once share a server's pool, beside GPUs that may be idle."""
    if case.capture.surroundings.shows("a GPU left idle"):
        yield _ONE_SERVER_EACH
    yield from (BOUND_REQUESTS, remedies.smaller_requests(case))


def full_device(case: Case) -> DeviceUse | None:
    """A device of which a table shows hardly anything left."""
    uses = case.capture.surroundings.device_uses
    return next(
        (use for use in uses if use.used and use.total and use.used.bytes >= _FULL * use.total.bytes), None
    )


def small_pool(case: Case) -> DeviceInfo | None:
    """A pool that has next to nothing of its GPU, by what a GPU of that name has."""
    return next(
        (
            device
            for device in case.capture.surroundings.devices
            if device.limit and device.limit.bytes < _MAX_SHARE_ONE_DEVICE * (least_bytes(device.model) or 0)
        ),
        None,
    )


def advice(case: Case, of_host: bool, grows: Line | None, of_device: bool = False) -> Iterator[Remedy]:
    """What fits such a program best, the most particular first."""
    told, program = case.capture.surroundings, situation(case).program
    if program in JAVASCRIPT and told.shows("loading a model") and not grows:
        yield _SMALLER_FILES
        return
    if program in JAVASCRIPT:
        yield from _of_javascript(case, grows)
        return
    if program == "C++" and told.shows("kept in words") and not (grows or of_host):
        yield _POOL_IN_CPP
        return
    if program in ("C#", "Java") and told.shows("kept in words") and not (grows or of_host):
        yield _POOL_OF_A_PROCESS
        return
    if program in OF_NATIVE and grows:
        close, once = (*OF_NATIVE[program], None)[:2]
        if program == "Go" and not _of_several_inputs(told, grows):
            close = None
        loads = _loaded_for_a_call(told)
        if loads and once:
            yield replace(
                once,
                text=f"load the SavedModelBundle once ({loads.place} does it for each call),"
                " and close() the old one when another takes its place: each holds all weights in native"
                " memory",
            )
            once = None
        yield from filter(None, (close, once))
        return
    if program == "TensorFlow Serving" and told.shows("reloading models"):
        yield _ANOTHER_MALLOC if grows or told.shows("kept in words") else ROOM_FOR_TWO
        return
    if program == "TensorFlow Serving" and grows and (of_host or told.shows("again at each request")):
        yield _GIVEN_BACK
    if program == "TensorFlow Serving" and of_host and told.shows("dying while it starts"):
        yield _LOADS_LESS
        return
    if program == "TensorFlow Serving":
        yield from (remedies.smaller_requests(case), BOUND_REQUESTS)
    on_board = board(case)
    if not grows and _fails_in_the_install(told):
        yield _WITHOUT_THE_CACHE
        if on_board:
            yield ADD_SWAP
        return
    if on_board and not grows:
        yield from what_helps(on_board[0])
    if told.shows("saving in words"):
        if grows and of_host:
            yield _WHAT_A_SAVE_LEAVES
            return
        bounded = framework_of(case) == JAX and told.shows("saving")
        yield from (BOUND_THE_SAVE, SAVE_IN_PARTS) if bounded else (SAVE_IN_PARTS,)
        return
    if of_host and compiled_then(case):
        loops = any(_LOOP.match(each.text) for each in code_lines(told))
        code = any(True for _ in code_lines(told))
        yield from (_NEWER_RELEASE,) if code and not loops else ()
        yield from less_to_compile(case)
        yield from () if code and not loops else (_NEWER_RELEASE,)
        return
    if framework_of(case) == TENSORFLOW:
        if told.shows("taking the whole GPU") and not (of_host or told.shows("several ranks")):
            yield _room_for_others(case)
        yield from _of_tensorflow(case, of_host, grows)
        if told.shows("volumes") and not (of_host or grows or told.shows("failing in evaluation")):
            yield VOLUMES
        if told.shows("another release") and not told.works_in:
            yield ANOTHER_RELEASE if not of_host else OTHER_RELEASES
        if told.shows("failing late") and not grows:
            yield SIZES_OF_BATCHES
    if grows and told.shows("kept afterwards") and framework_of(case) == TENSORFLOW:
        yield _KEPT_BY_THE_PROCESS
    if grows and not program:
        yield from _of_growth(case, of_host)
    helps = None if of_host or grows or program else told.shows("a smaller batch helps")
    if helps:
        yield batch_that_runs(helps)
    short = told.shows("running short") is not None
    of_xla = framework_of(case) in (JAX, TORCH_XLA)
    if short and not (program or grows or helps or of_host) and of_xla:
        if told.shows(EVALUATION_FRAME):
            yield _OF_AN_EVALUATION
        yield from _of_jax(case)
    if program or grows or helps or (framework_of(case) != TENSORFLOW and not of_host):
        return
    if of_host:
        late = of_xla and told.shows("failing late") and not told.shows("large data")
        yield from () if late else (data_in_parts(case),)  # data that are read once are in RAM by then
    elif told.shows("large data") and not told.shows("a smaller batch helps"):
        data = DATA_ON_THE_HOST[TENSORFLOW] if of_device else data_in_parts(case)
        yield replace(data, code=None)
        yield from_the_stated(case, _IF_IT_TRAINS)
    elif "smaller-batch" in ruled_out(case):
        yield from without_a_batch(case)
    elif small_pool(case):
        return
    elif told.shows("training") or told.shows("using a tool"):
        of_tool = told.shows("using a tool")
        yield from_the_stated(case, _in_options(_SMALLER_BATCH) if of_tool else _SMALLER_BATCH)
    elif not (on_board or told.shows("failing in evaluation") or told.shows("several ranks")):
        yield from_the_stated(case, _IF_IT_TRAINS)


_SEVERAL_INPUTS = regex(
    r"(?i)\b(?:multiple|several|many|two|more than one) (?:\w+ ){0,2}?(?:inputs?|feeds)\b"
)


def _of_several_inputs(told: Surroundings, grows: Line) -> bool:
    """Whether the words of what grows name several inputs."""
    lines = (grows, told.shows("running short"))
    return any(_SEVERAL_INPUTS.search(each.text) for each in lines if each)


_INSTALLS = regex(
    r"(?i)\binstall(?:ing|ation|s|ed)?\b(?! (?:on|in|with|from|via)\b)[^.\n]{0,40}"
    r"\b(?:tensorflow|keras|jax|torch|pip)\b"
)
_WITHOUT_THE_CACHE = Remedy(
    "install without pip's cache, for which pip holds the whole package in RAM; on such machines take the"
    " small package that runs models only, where that is enough",
    "pip install --no-cache-dir tensorflow   # models in TensorFlow Lite only: pip install tflite-runtime",
    slug="install-without-cache",
)


def _fails_in_the_install(told: Surroundings) -> bool:
    """Whether what fails is the installation: its own line says so, and none tells of a training."""
    short = told.shows("running short") or told.shows("killed in words")
    if short is None or told.shows("training") or told.shows("fitting"):
        return False
    return _INSTALLS.search(short.text) is not None


_LOOP = regex(r"\s*(?:for|while)\b")
_OF_AN_EVALUATION = Remedy(
    "lower the batch of the evaluation, a setting of its own in most programs; where gradients are"
    " accumulated, only the training's batch is split",
    slug="smaller-evaluation-batch",
)


def batch_that_runs(line: Line) -> Remedy:
    """The smaller batch of which the text says that it runs."""
    return Remedy(
        f"{line.place} says that a smaller batch runs: take the largest that does (of each core or device),"
        " and one update for several batches keeps the effective batch",
        slug="smaller-batch",
    )


_LESS_ON_EACH = Remedy(
    "put less on each device at once: a smaller batch, fewer or smaller samples, 16 bits for weights and what"
    " is computed from them; where one sample is too much, weights that are sharded over the devices",
    slug="smaller-batch",
)


_LESS_IN_16_BITS = replace(
    _LESS_ON_EACH, text=_LESS_ON_EACH.text.replace(", 16 bits for weights and what is computed from them", "")
)


def _of_jax(case: Case) -> Iterator[Remedy]:
    """What helps any program of XLA's on a device, where the text names nothing that helps more."""
    told = case.capture.surroundings
    if told.setting("batch_size") or not any(True for _ in of_constructs(case)):
        half = told.setting("mixed_precision") is not None
        yield from_the_stated(case, _of_sharded(case, _LESS_IN_16_BITS if half else _LESS_ON_EACH))


def _of_sharded(case: Case, remedy: Remedy) -> Remedy:
    """The same without sharding of weights, where the text says that they are sharded."""
    told = case.capture.surroundings
    if not told.shows("jax: weights are sharded"):
        return remedy
    trains = told.shows("training") or told.shows("training in words")
    return replace(remedy, text=remedy.text.replace(_SHARD, _SHARD_THE_STATE if trains else ""))


_SHARD = "; where one sample is too much, weights that are sharded over the devices"
_SHARD_THE_STATE = (
    "; then layers that the backward pass computes again (jax.checkpoint), and an optimizer's state that is"
    " sharded like the weights, or of one that keeps less"
)
_IF_IT_TRAINS_ON_A_TPU = Remedy(
    "if it trains, with a smaller batch on each core; else smaller inputs (images, sequences), fewer at a"
    " time, or weights and optimizer state that are sharded over the cores",
    slug="smaller-batch",
)


_WHATEVER_THE_DEVICE = Remedy(
    "if it trains, with a smaller batch; and evaluate in batches, too, where all test samples are given to"
    " one call; else smaller inputs (images, sequences), fewer at a time",
    slug="smaller-batch",
)


def from_the_stated(case: Case, remedy: Remedy) -> Remedy:
    """The same with the batch that the text states, where it states one alone."""
    if remedy is _IF_IT_TRAINS and case.capture.surroundings.shows("on a TPU"):
        return _IF_IT_TRAINS_ON_A_TPU
    if remedy is _IF_IT_TRAINS and case.capture.surroundings.shows("fails on CPU and GPU"):
        remedy = _WHATEVER_THE_DEVICE
    if lowered := _lowered(case):
        return replace(remedy, text=f"{lowered}; if it fails at that, too, {remedy.text}")
    stated = {value for name, value, _ in case.capture.surroundings.settings if name == "batch_size"}
    batch = int(stated.pop()) if len(stated) == 1 and all(value.isdigit() for value in stated) else 0
    if batch < _LEAST_TO_HALVE:
        return remedy
    example = f"a smaller batch ({batch} -> {batch // 2})"
    return replace(remedy, text=remedy.text.replace("a smaller batch", example, 1))


def _lowered(case: Case) -> str:
    """That the batch was lowered to what the code has now, which may have ended the failure; else empty."""
    told = case.capture.surroundings
    lowered, now = told.setting("lowered_batch"), told.setting("batch_size")
    if lowered is None or now is None or lowered[0].split(" to ")[1] != now[0]:
        return ""
    return (
        f"see whether it is mended already: {lowered[1].place} says that the batch went from"
        f" {lowered[0]}, and {now[1].place} has {now[0]}"
    )


_LEAST_TO_HALVE = 2


def smaller_stated(case: Case) -> Iterator[Remedy]:
    """A smaller batch of each device, where the text states it; with what is a large one a large step."""
    told = case.capture.surroundings
    line = told.shows("jax: batch of a device")
    match = _EACH.search(line.text) if line else None
    each = int(match["each"]) if match else 0
    if line is None or each < _LEAST_TO_HALVE or "smaller-batch" in ruled_out(case):
        return
    less = each // 8 if each >= _LARGE_BATCH else each // 2
    yield Remedy(
        f"lower the batch of each device ({each} -> {less}, {line.place}), and add up gradients of several"
        " batches where the whole must stay",
        slug="smaller-batch",
    )


_EACH = regex(r"(?i)\bper[_ -]?(?:device|core|gpu|replica)\w{0,20}?batch\D{0,12}(?P<each>\d{1,6})\b")
_LARGE_BATCH = 128


_LOADS_A_BUNDLE = regex(r"\bSavedModelBundle\s*\.\s*load(?:er)?\(")
_RUNS, _NEXT_BLOCK = regex(r"\.runner\(\)"), regex(r"\A\s*(?:\}|for\b|while\b)")


def _loaded_for_a_call(told: Surroundings) -> Line | None:
    """The line of Java that loads a model in the block that runs it."""
    loaded: Line | None = None
    before = 0
    for line in sorted(code_lines(told), key=lambda each: each.number):
        if _NEXT_BLOCK.match(line.text) or line.number > before + 1:
            loaded = None  # a line between them that is no statement ends the block
        before = line.number
        if _LOADS_A_BUNDLE.search(line.text):
            loaded = line
        elif loaded and _RUNS.search(line.text):
            return loaded
    return None


_TRAINS_THE_CALL = regex(r"\b(?:apply|predict|call)\w*\([^\n]{0,80}\btraining: ?true\b")


_AFTER_SOME = regex(r"(?i)\b(?:after|until|iterations?|epochs?|each|every|times|again)\b")
"""What goes well for a while is no matter of one step's size."""


def _of_javascript(case: Case, grows: Line | None) -> Iterator[Remedy]:
    """One inference that is too large is no leak; where tensors are freed already, something else stays."""
    told = case.capture.surroundings
    trains = next((each for each in code_lines(told) if _TRAINS_THE_CALL.search(each.text)), None)
    if trains and grows:
        yield Remedy(
            f"leave `training: true` out of the inference ({trains.place}): in that mode layers such as batch"
            " normalization write new averages at each call, which tidy() does not free; if it must be,"
            " dispose of what a call leaves, or call once and keep the averages",
            "const pred = tf.tidy(() => model.predict(x)); ...; pred.dispose();",
            slug="tidy",
        )
        yield _COUNT_TENSORS
        return
    if told.shows("one call alone") and not grows:
        yield from _OF_ONE_INFERENCE
        return
    if told.shows("tidying in vain"):
        yield from (_COUNT_TENSORS, _LOAD_ONCE, _NEWER_TFJS)
        return
    fits = told.shows("fitting") is not None
    if grows and not fits and told.shows("tidying"):
        yield from (_COUNT_TENSORS, _NEWER_TFJS, *(() if made_above(case) else (_LOAD_ONCE,)))
        return
    short = told.shows("running short")
    if fits and short and not (grows or _AFTER_SOME.search(short.text)):
        yield from (_FEWER_IN_A_FIT, _NEWER_TFJS, _COUNT_TENSORS)
        return
    yield from (remedies.TIDY, _COUNT_TENSORS, _NEWER_TFJS) if fits else (remedies.TIDY, _LOAD_ONCE)


def _room_for_others(case: Case) -> Remedy:
    """Of a text that says that TensorFlow fills a GPU, and that something runs out beside it."""
    return Remedy(
        "TensorFlow reserves nearly all of every GPU that it sees when it starts, whatever its model needs:"
        " let it take memory as needed, and hide the GPUs that are for others (CUDA_VISIBLE_DEVICES)",
        code_snippets.growth(case.api),
        slug="growth",
    )


_WITHOUT_APPLES_GPU = Remedy(
    "run the same on the CPU alone: where memory stays flat there, the plug-in for Apple's GPU keeps it, and"
    " a newer one, or the CPU for this part, is what helps",
    slug="compare-with-cpu",
)
_WITHOUT_MLCOMPUTE = Remedy(
    "run the same on the CPU: where memory stays flat there, ML Compute keeps it, the part of Apple's own"
    " TensorFlow that ran on the GPU before tensorflow-metal took its place: change to that, or stay on the"
    " CPU",
    "mlcompute.set_mlc_device(device_name='cpu')   # else: pip install tensorflow tensorflow-metal",
    slug="compare-with-cpu",
)


def _of_growth(case: Case, of_host: bool) -> Iterator[Remedy]:
    told = case.capture.surroundings
    if on_apple_gpu(case) and told.shows("fine on the CPU"):
        yield OF_APPLE
        return
    if on_apple_gpu(case):
        jax = framework_of(case) == JAX
        code = (
            "JAX_PLATFORMS=cpu python train.py"
            if jax
            else "tf.config.set_visible_devices([], 'GPU')   # first"
        )
        if any("mlcompute" in each.text for each in code_lines(told)):
            yield _WITHOUT_MLCOMPUTE
        else:
            yield replace(_WITHOUT_APPLES_GPU, code=code)
    if of_host and told.shows("using a tool"):
        results = fewer_results(case)
        yield Remedy(results, slug="results-in-parts") if results else SMALLER_QUEUES
    if framework_of(case) == JAX and told.program() and _nothing_made_anew(case):
        yield _stay_with_a_release(told) or _ANOTHER_JAX
    elif told.shows("watching memory"):
        yield COMPILED_ONCE if framework_of(case) == JAX else _MAKE_ONCE
    yield find_what_grows(case, of_host or on_a_mac(case))


def _nothing_made_anew(case: Case) -> bool:
    from tfmemlens.findings.support.made_anew import nothing_made_anew  # reads trees

    return nothing_made_anew(case)


def _stay_with_a_release(told: Surroundings) -> Remedy | None:
    """The same for one who has compared releases."""
    line = told.shows("jax: grows with a release")
    if line is None:
        return None
    return Remedy(
        "no line of the quoted loop makes a function anew or keeps a result, so most likely the library"
        f" keeps something since that release ({line.place}): stay with one under which memory stays flat,"
        " or take the newest, and report the other",
        "pip install -U jax jaxlib   # or pin the one before: both of one release",
        slug="newer-release",
    )


_ANOTHER_JAX = Remedy(
    "no line of the quoted loop makes a function anew or keeps a result, so JAX or a library may keep"
    " something: see whether anything is compiled after the first turns, and run the same loop with another"
    " release of jax and jaxlib, an older and the newest",
    "JAX_LOG_COMPILES=1 python loop.py   # then: pip install -U jax jaxlib",
    slug="newer-release",
)


def _in_options(remedy: Remedy) -> Remedy:
    """The same for those who start a program that they did not write."""
    return replace(
        remedy,
        text="use a smaller batch, or smaller or fewer inputs at a time, by the program's own options or its"
        " configuration file; if it fails at a batch of 1, too, take a smaller model of those it offers",
    )


def without_a_batch(case: Case) -> Iterator[Remedy]:
    """What is left where a smaller batch was tried, or is none."""
    yield _WHAT_ELSE
    if case.capture.surroundings.shows("a larger batch works") is None:
        yield _smaller_model(case)  # what ran with a larger one has room for the model


def _smaller_model(case: Case) -> Remedy:
    """What is left where a batch is one sample, or plays no part."""
    sample, less = "one sample is too large, or ", "smaller images or shorter sequences, "
    if "smaller-input" in ruled_out(case):
        sample, less = "", ""
    if only_infers(case):
        return Remedy(
            f"where the batch plays no part, {sample}the models that share the device are too large for it"
            f" together: {less}a smaller model, or fewer models and calls at a time",
            slug="smaller-model",
        )
    return Remedy(
        f"where the batch plays no part, {sample}the weights with their gradients and the optimizer's slots"
        f" fill the device: {less}a smaller model, fewer layers that are trained, or an optimizer that keeps"
        " less",
        slug="smaller-model",
    )


_PREDICTS = regex(r"\.predict\w{0,10}\(|\btraining ?= ?False\b|\bload_(?:model|weights)\(")
_FITS = regex(r"\.fit\w{0,10}\(|\.train_on_batch\(|\bGradientTape\b|\bminimize\(|\bapply_gradients\(")


def _evaluates_in_batches(told: Surroundings) -> bool:
    """Whether the quoted code evaluates or predicts in batches of its own already."""
    return any(_IN_BATCHES.search(each.text) for each in code_lines(told))


_IN_BATCHES = regex(r"\.(?:evaluate|predict)\([^\n#]{0,120}\bbatch_size ?= ?\w")


def _only_predicts(case: Case) -> bool:
    """Whether the quoted code runs a model and trains none."""
    code = list(code_lines(case.capture.surroundings))
    return any(_PREDICTS.search(each.text) for each in code) and not any(_FITS.search(e.text) for e in code)


def _of_tensorflow(case: Case, of_host: bool, grows: Line | None) -> Iterator[Remedy]:
    told = case.capture.surroundings
    of_models = told.shows("models in a loop") and not told.shows("one model again")
    if of_models or (grows and told.shows("clearing the session")):
        yield _OWN_PROCESS_TO_PREDICT if _only_predicts(case) else _OWN_PROCESS
    if told.shows("several ranks"):
        yield from (SHARD_THE_DATA,) if of_host else own_gpu.one_for_each(case)
    evaluates = told.shows("failing in evaluation") and not _evaluates_in_batches(told)
    if (evaluates or told.shows(EVALUATION_FRAME)) and not (of_host or grows):
        yield _SMALLER_EVALUATION
    if small_pool(case) and not of_host:
        yield Remedy(
            "let each process take memory as needed, the one that starts the others, too: set it first of all"
            " in each, or hide the GPU from those that do not compute on it",
            code_snippets.growth(case.api),
            slug="growth",
        )
    if (full_device(case) or small_pool(case)) and not of_host:
        yield _SEE_USERS
