"""A whole data set went through the network at once.

What it means: the first dimension of the failing tensor is thousands of samples: an accuracy or prediction is
computed over the whole test set in one run, or a data set was turned into one tensor on the device.
When it fires: the failing tensor has at least 2,000 samples in its first dimension and image-like or wide
dimensions behind it; or a constant or a copy to the device carries a data set.
What to do: evaluate in batches; keep the data set on the host.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

from tfmemlens.findings.support.kept import is_eager, joined_to_itself
from tfmemlens.findings.support.own_constant import own_batch, squared_batch
from tfmemlens.findings.support.phase import EVALUATION, PREDICTION, is_loading, other_than_training
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.rows import place, requests, rows, tensor_text, total
from tfmemlens.findings.support.situation import in_r, situation
from tfmemlens.findings.support.tried import failed_batches
from tfmemlens.knowledge.ops.roles import PREPARES
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.capture import StatedSize
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import FailedRequest, RequestKind
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, MIB, Size, human, human_size

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor; of what goes through a network, larger blocks without a name, too"

_SAMPLES, _UNEVEN = 2000, 500
"""Samples that are a set; fewer of a number that nobody chooses for a batch are one, too."""
_FED = regex(r"\A(?:_recv_|_arg_)|(?:\A|/)Placeholder(?:_\d+)*\Z")
"""What a session calls an array that it is fed."""


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        if request.failed.kind is RequestKind.HOST:
            continue  # an array that Python builds: no network has seen it
        if joined_to_itself(request, case):
            continue  # what was gathered call by call
        if own_batch(case, moment) or squared_batch(case, moment):
            continue  # a batch times a constant of the program, or all samples with all
        need = request.failed.tensor_bytes or 0
        copying = copies_an_array(case, request)
        if (
            _images(request)
            or _fed_test_set(request.failed, request.fixed)
            or _steps_of_whole_arrays(case, request)
            or _in_words(case, request)
            or (copying and (need >= 256 * MIB or not request.failed.shape))
        ):
            yield _finding(case, index, moment, request.failed, copying)


def copies_an_array(case: Case, request: Request) -> bool:
    """Whether an array of NumPy was copied as it is: by eager code, by `validation_split`, which gathers from
    whole arrays, or as what is fed to a session that evaluates; no value of a file of weights.
    """
    failed = request.failed
    if is_loading(request):
        return False
    name = failed.op or failed.node or ""
    if name.startswith("_EagerConst") or _in_an_adapter(failed):
        return True
    if name == "GatherV2" and (failed.kind is RequestKind.COPY or _splits(case, failed)):
        return True
    if failed.kind is not RequestKind.COPY:
        return False
    ran = other_than_training(case, request)
    return bool(_FED.search(failed.node or "") and ran and ran[0] in (EVALUATION, PREDICTION))


_ADAPTS = regex(r"\b_process_tensorlike\b|\b_convert_numpy_and_scipy\b|\b_convert_single_tensor\b")
"""What Keras makes tensors of whole arrays with, before it cuts any batch."""


def _in_an_adapter(failed: FailedRequest) -> bool:
    """Whether a copy was refused to Keras as it made tensors of the arrays given to fit or predict."""
    if failed.kind is not RequestKind.COPY:
        return False
    return any(_ADAPTS.search(f"{frame.name} {frame.text}") for frame in failed.frames)


def _in_words(case: Case, request: Request) -> bool:
    """Whether words tell of a whole set that is evaluated, and the tensor has more rows than a batch."""
    told, shape = case.capture.surroundings, request.failed.shape
    batch = told.setting("batch_size")
    stated = int(batch[0]) if batch and batch[0].isdigit() else 0
    rows = (shape[0] or 0) if shape else 0
    counted = told.shows("test samples")
    if (
        counted
        and rows >= _LEAST_SET
        and any(_number(each[0]) == rows for each in _COUNT.finditer(counted.text))
    ):
        return True
    return told.shows("evaluating a whole set") is not None and rows >= _SAMPLES and rows % (stated or 8) != 0


_COUNT = regex(r"\b\d{1,3}(?:,\d{3}){1,2}\b|\b\d{3,7}\b")
_LEAST_SET = 256


def _number(figure: str) -> int:
    return int(figure.replace(",", ""))


def _images(request: Request) -> bool:
    """Whether this is an image-like tensor of very many samples, on its way through the network."""
    shape = request.failed.shape
    if (
        not shape
        or len(shape) < 4
        or not all(shape)
        or len(set(shape)) == 1
        or request.owner.phase is Phase.OPTIMIZER
        or request.fixed
    ):
        return False
    if request.owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT) or _pieces(request, shape):
        return False
    if (request.failed.op or request.owner.op) in ("Fill", "ZerosLike"):
        return False  # made, not fed: a buffer
    samples = shape[0] or 0
    uneven = samples >= _UNEVEN and samples % 4 != 0 and request.batch == samples
    uneven = uneven or (samples >= _LEAST_SET and _is_fed(request) and all(samples % each for each in _ROUND))
    uneven = uneven or (
        samples >= _FEW and samples % 2 == 1 and request.batch == samples and _is_vast(request)
    )
    whole = samples >= _SAMPLES or uneven
    least = request.failed.tensor_bytes or math.prod(size or 1 for size in shape)  # of a byte each, at least
    return whole and (shape[1] or 0) > 1 and least >= 64 * MIB


_FEW, _VAST = 100, 4 * GIB


def _is_vast(request: Request) -> bool:
    """Whether one tensor is larger than many devices, which no batch is that somebody chose."""
    size = request.failed.tensor_bytes or 4 * math.prod(side or 1 for side in request.failed.shape or (0,))
    return size >= _VAST


_ROUND = (32, 50, 24)
"""Of such sizes people make batches."""
_FEEDS = regex(r"\bfeed_dict ?=|\.predict\(\s*\w+\s*\)")


def _is_fed(request: Request) -> bool:
    """Whether the program's line feeds an array to a session, or predicts of one without a batch."""
    texts = (request.failed.source_text or "", *(frame.text for frame in request.failed.frames))
    return any(_FEEDS.search(text or "") for text in texts)


_A_SET_TO_TEST = regex(
    r"\b\w{0,20}\.(?:test|validation|valid)\.(?:images|data|inputs|x)\b"
    r"|\b(?:[xX]|data|images|features|inputs)_?(?:test|valid|val|dev)\b"
    r"|\b(?:test|valid|val|dev)_?(?:[xX]|data|images|features|inputs|set)\b"
)
_TAKES_A_PART = regex(r"\[[^\]]{0,40}:[^\]]{0,40}\]|next_batch|batch")


def _fed_test_set(failed: FailedRequest, fixed: bool = False) -> str:
    """What the program's line feeds a session with, where it is all of a set to test on; empty otherwise."""
    rows_of = (failed.shape or (0,))[0] or 0
    texts = (failed.source_text or "", *(frame.text or "" for frame in failed.frames))
    fed = (
        match[0]
        for text in texts
        if ":" in text and not _TAKES_A_PART.search(text) and (match := _A_SET_TO_TEST.search(text))
    )
    return next(fed, "") if rows_of >= _UNEVEN and not fixed else ""


_STEPS_OF = regex(r"\.fit\([^#]*\bsteps_per_epoch\s*=\s*(?P<steps>\d{1,4})\b")
_OLD_KERAS = regex(r"\A\s*(?:from|import) keras\b|\btf\.(?:Session|ConfigProto)\(|\bset_session\(")


def _steps_of_whole_arrays(case: Case, request: Request) -> Line | None:
    """The line that gives `fit` arrays and a number of steps without a batch: old Keras then takes all
    samples in each step.
    """
    lines = [*code_lines(case.capture.surroundings)]
    at = next((at for at, line in enumerate(lines) if _STEPS_OF.search(line.text)), None)
    if at is None or request.fixed or not any(_OLD_KERAS.search(line.text) for line in lines):
        return None
    call = " ".join(line.text for line in lines[at : at + _LINES_OF_A_CALL])
    given = _ARRAYS.search(call) and "batch_size" not in call and "generator" not in call
    return lines[at] if given and len(request.failed.shape or ()) > 1 else None


_ARRAYS, _LINES_OF_A_CALL = regex(r"\bx\s*=\s*\w+|\.fit\(\s*\w+\s*,\s*\w+"), 5


def _pieces(request: Request, shape: tuple[int | None, ...]) -> bool:
    """Whether these are the pieces that an atrous convolution deals its images out to: small maps in great
    numbers.
    """
    small = math.prod(sorted(size or 1 for size in shape[1:])[:2]) <= 32
    return small or "SpaceToBatch" in f"{request.failed.node} {request.failed.op}"


def _finding(case: Case, index: int, moment: Moment, failed: FailedRequest, copying: bool) -> Finding:
    copying = copying or _splits(case, failed)
    samples, where = failed.shape[0] if failed.shape else None, place(moment)
    made = _product(case, samples) if samples and not copying else ()
    many = f"{samples:,} samples" if samples else _AN_ARRAY
    if made:
        many = f"{many} (most likely {_in_words_of(made)})"
    at = f" at {where}" if where else ""
    validating = copying and _validates(case, failed)
    remedies: tuple[Remedy, ...] = (_VALIDATION, _ONE_BATCH) if validating else (_ONE_BATCH, _HOST)
    if _FED.search(failed.node or ""):
        remedies = (_batches(case, moment, None, None),)
    elif ((failed.op or failed.node) == "GatherV2" or not (failed.op or failed.node)) and _splits(
        case, failed
    ):
        remedies = (_SPLIT, _ONE_BATCH)
    if copying and not samples and (array := _stated_array(case)):
        many = f"most likely {array}"
    converted = not copying and _converts(moment, failed)
    own = _batches(case, moment, samples, failed.tensor_bytes)
    if converted:
        own = _IN_THE_PIPELINE if failed.op in PREPARES else _IMAGES_IN_THE_PIPELINE
    of_fit = failed.keras_call == "fit" and not converted
    if samples and not copying and (of_fit or _in_gradient(moment)):
        own = _of_training(samples, failed.tensor_bytes, situation(case, moment).session)
    through = "are converted in one op, as one tensor" if converted else "went through the network at once"
    if not copying and (named := _fed_test_set(failed)):
        through = f"of a set to test on (`{named}`) are fed at once"
    if not copying and moment.request and (by_steps := _steps_of_whole_arrays(case, moment.request)):
        through = (
            f"are all that {by_steps.place} gives to fit: with `steps_per_epoch` and no `batch_size`, old"
            " Keras takes whole arrays in each step"
        )
        own = _BY_A_BATCH
    whose = ": most likely validation_data, which fit copies whole, whatever the batch" if validating else ""
    if copying and not (samples or validating) and many == _AN_ARRAY:
        many = f"most likely {many}"
    refused = _refused_by_the_driver(moment) if copying else None
    if refused:
        size, line = refused
        whose += (
            f"; the driver refused {human_size(size)} ({line.place}), so the GPU had less room than"
            " TensorFlow counted on: most likely another process holds part of it"
        )
        remedies = remedies if case.capture.surroundings.device_uses else (_WHO, *remedies)
    return Finding(
        severity=Severity.CAUSE,
        headline=f"{many} at once{at}: {tensor_text(moment)}",
        because=(
            f"{many} {through}"
            if samples and not copying
            else f"{many} as one tensor, copied to the device{whose}"
        ),
        explains=failed.tensor_bytes if copying else _with_larger_blocks(moment, failed.tensor_bytes),
        evidence=(Evidence(f"requested: {tensor_text(moment)}", failed.line),),
        remedies=remedies if copying else (*((_lower(made),) if made else ()), own),
        moment=index,
        rules_out=() if copying else ("smaller-batch", "smaller-input", "lower-constant"),
    )


def _with_larger_blocks(moment: Moment, need: int | None) -> int | None:
    """With the blocks in use that are as large or larger, of which nobody says what they are: what the
    network made of so many samples before.
    """
    if not need:
        return None
    larger = rows(moment, lambda row: row.allocation.node is None and row.allocation.size_bytes >= need)
    return need + total(larger)


_LEAST_OF_A_PRODUCT = 8
"""A smaller factor is met by chance."""


_NO_FACTOR = regex(r"(?i)epoch|seed|iter|worker|version|port\b|class|label")
"""Names of numbers that multiply no samples."""


def _is_a_factor(stated: StatedSize) -> bool:
    if len(stated.sizes) != 1 or not stated.name or _NO_FACTOR.search(stated.name):
        return False
    return stated.sizes[0] >= _LEAST_OF_A_PRODUCT


def _product(case: Case, samples: int) -> tuple[StatedSize, ...]:
    """The two settings of the text whose product the samples are; nothing where none or several are."""
    named = {
        (each.name, each.sizes[0]): each for each in case.capture.surroundings.sizes if _is_a_factor(each)
    }
    found = [
        (one, other)
        for one, other in combinations(named.values(), 2)
        if one.name != other.name and one.sizes[0] * other.sizes[0] == samples
    ]
    return found[0] if len(found) == 1 else ()


def _in_words_of(made: tuple[StatedSize, ...]) -> str:
    return " x ".join(f"`{each.name}` {each.sizes[0]:,} of {each.line.place}" for each in made)


def _lower(made: tuple[StatedSize, ...]) -> Remedy:
    """Either of the settings whose product the samples are."""
    one, other = sorted(made, key=lambda each: -each.sizes[0])
    return Remedy(
        f"lower `{one.name}` ({one.sizes[0]:,}) or `{other.name}` ({other.sizes[0]:,}): each is multiplied by"
        " the other, so a tenth of either is a tenth of this tensor",
        slug="lower-a-factor",
    )


_AN_ARRAY = "a whole array"
_WHO = Remedy(
    "first see who else holds the GPU (another notebook's kernel, an earlier run), end that, and run this"
    " again in a new process",
    "nvidia-smi",
    slug="see-device-users",
)


def _refused_by_the_driver(moment: Moment) -> tuple[Size, Line] | None:
    """The smallest region that the driver refused TensorFlow's pool, where that is more than was asked for: a
    part of the pool's limit, which is what was free as TensorFlow started.
    """
    need = moment.request.needed_bytes if moment.request else None
    refused = moment.incident.driver_failures if moment.incident else ()
    size, line = min(refused, key=lambda each: each[0].bytes, default=(None, None))
    if size is None or line is None or need is None:
        return None
    return (size, line) if size.bytes > max(need, _MORE_THAN_LIBRARIES) else None


_MORE_THAN_LIBRARIES = GIB
"""What the handles and kernels of this process's own libraries take, which TensorFlow's limit leaves out."""


def _in_gradient(moment: Moment) -> bool:
    return moment.request is not None and moment.request.owner.phase is Phase.GRADIENT


_FIRST_BATCH = 64


def _of_training(samples: int, need: int | None, session: bool = False) -> Remedy:
    """Where a gradient is taken of so many samples, they are one batch of a training."""
    then = f"; this tensor then takes {human(need // samples * _FIRST_BATCH)}" if need else ""
    return Remedy(
        f"lower the batch of the training: {samples:,} -> {_FIRST_BATCH} (a guess; double it while that"
        f" runs){then}",
        f"for i in range(0, len(x), {_FIRST_BATCH}): sess.run(train_op, {{x_: x[i:i + {_FIRST_BATCH}]}})"
        if session
        else None,
        slug="in-batches",
    )


_ITEM_BYTES = {"float64": 8, "float32": 4, "float16": 2, "uint8": 1, "int64": 8, "int32": 4}
_DTYPE = regex(r"\b(?:float(?:16|32|64)|uint8|int(?:32|64))\b")
_LEAST_ARRAY = 256 * MIB


def _stated_array(case: Case) -> str | None:
    """The one large array whose shape the text states, with its bytes: as float32 where it states no type."""
    large: dict[tuple[int, ...], str] = {}
    for stated in case.capture.surroundings.sizes:
        dtype = _DTYPE.search(stated.line.text)
        kind = dtype[0] if dtype else "float32"
        size = math.prod(stated.sizes) * _ITEM_BYTES[kind]
        if len(stated.sizes) > 1 and size >= _LEAST_ARRAY:
            name = f"`{stated.name.removesuffix('.shape')}` " if stated.name else ""
            text = f"{name}{format_shape(stated.sizes)} of {stated.line.place}, {human(size)} as {kind},"
            large.setdefault(stated.sizes, text)
    return next(iter(large.values())) if len(large) == 1 else None


_VALIDATES = regex(r"validation_data\s*=\s*[(\[]")


def _validates(case: Case, failed: FailedRequest) -> bool:
    """Whether arrays were given to validate on, and the epoch's last step is done: those to train on were
    copied before its first.
    """
    texts = (failed.source_text or "", *(frame.text for frame in failed.frames))
    told = [each for each in case.capture.surroundings.progress if each.step]
    ended = bool(told) and told[-1].step == told[-1].steps
    return ended and any(_VALIDATES.search(text) for text in texts)


def _splits(case: Case, failed: FailedRequest) -> bool:
    """Whether `fit` was told to split off its validation set, as the text shows."""
    texts = [failed.source_text or "", *(frame.text for frame in failed.frames)]
    texts += [line.text for line in case.capture.surroundings.code]
    return any("validation_split" in text for text in texts)


_BY_A_BATCH = Remedy(
    "give fit a batch_size instead of steps_per_epoch, which is for generators and tensors",
    "model.fit(x, y, batch_size=8, epochs=10)   # without steps_per_epoch",
    slug="in-batches",
)
_VALIDATION = Remedy(
    "give validation_data as a data set in batches, made under the CPU device",
    "with tf.device('CPU:0'): val = tf.data.Dataset.from_tensor_slices((x_val, y_val)).batch(32)",
    slug="keep-off-the-device",
)
_SPLIT = Remedy(
    "split the arrays yourself, and pass data sets in batches: `validation_split` makes tensors of the whole"
    " arrays on the device before it splits them",
    "with tf.device('CPU:0'):\n"
    "    train = tf.data.Dataset.from_tensor_slices((x[n:], y[n:])).batch(32)\n"
    "    val = tf.data.Dataset.from_tensor_slices((x[:n], y[:n])).batch(32)",
    slug="split-on-the-host",
)
_ONE_BATCH = Remedy(
    "copy one batch at a time: let a generator cut batches on the host, out of a mapped file if need be; fit"
    " and predict copy an array whole, whatever their batch_size",
    "dataset = tf.data.Dataset.from_generator(batches, output_signature=...)   # x = np.load('x.npy',"
    " mmap_mode='r')",
    slug="one-batch-at-a-time",
)
_HOST = Remedy(
    "or build the data set under the CPU device: elsewhere from_tensor_slices copies the array, too",
    "with tf.device('CPU:0'): dataset = tf.data.Dataset.from_tensor_slices(x)",
    slug="keep-off-the-device",
)


_IN_THE_PIPELINE = Remedy(
    "convert one batch at a time, in the input pipeline: keep the array as it is (uint8) in NumPy on the"
    " host",
    "ds = ds.batch(64).map(lambda x, y: (tf.cast(x, tf.float32) / 255, y))",
    slug="resize-in-pipeline",
)


_IMAGES_IN_THE_PIPELINE = Remedy(
    "take only the rows that you use first, and let the input pipeline convert them, a sample or a batch at a"
    " time: here the whole array becomes one tensor, whatever the batch",
    "ds = tf.data.Dataset.from_tensor_slices((x[:128], y[:128])).map(prepare).batch(16)",
    slug="resize-in-pipeline",
)


def _converts(moment: Moment, failed: FailedRequest) -> bool:
    """Whether an array is prepared by an op that ran by itself, outside of any network."""
    at_once = any("_status_to_exception" in frame.text for frame in failed.frames) and not failed.function
    if moment.request is None or not (at_once or is_eager(moment.request)) or failed.keras_layer:
        return False
    of_images = any(_OF_IMAGES.search(f"{frame.place} {frame.text}") for frame in failed.frames)
    return failed.op in PREPARES or of_images


_OF_IMAGES = regex(r"ops[/\\]image_ops|\btf\.image\.")
"""Functions of tf.image, whatever ops they are made of."""


_CALLED_AS_IN_TRAINING = regex(r"(?<![\w.])(?P<net>[A-Za-z_][\w.]{0,60})\([^()]{1,200}\btraining ?= ?True\)")
"""A net that is called with what only training has, such as dropout."""


_AS_LARGE_AS_THE_SET = regex(
    r"\bbatch_?size\s*=\s*(?:len\(\s*[\w.\[\]'\"]{1,40}\s*\)|[\w.]{1,40}\.shape\[0\]"
    r"|[\w.]{1,40}\.size\b|(?P<number>\d{3,9})\b)"
    r"|\.batch\(\s*(?:len\(\s*[\w.]{1,40}\s*\)|[\w.]{1,40}\.shape\[0\]|(?P<many>\d{3,9}))"
)


def _set_by(case: Case, samples: int | None) -> tuple[str, Line] | None:
    """The code that makes one batch of the whole set: `batch_size=len(y)`, with its line."""
    for line in code_lines(case.capture.surroundings):
        match = _AS_LARGE_AS_THE_SET.search(line.text)
        if match and (number := match["number"] or match["many"]) and int(number) != samples:
            continue
        if match:
            return match[0].lstrip("."), line
    return None


_OF_AN_AGENT = regex(r"(?i)(?:\A|/)(?:agent|actor|critic|policy|ppo|dqn|a2c|ddpg|vpg)(?:_\d+)?/")
_OF_EPISODES = regex(
    r"(?i)\breinforcement\b|\bepisodes?\b|\bq[- ]?learning\b|\b(?:dqn|ddpg|ppo|a[23]c|sarsa)\b"
)
_NODE_OF_COACH = regex(r"(?:\A|/)main_level/agent/")


def _of_an_agent(case: Case, request: Request | None) -> bool:
    """Whether what learns is an agent, by the names of its nodes or the text's words."""
    line = case.capture.surroundings.shows("one input after another")
    named = request is not None and _OF_AN_AGENT.search(request.failed.node or "")
    return bool(named or (line and _OF_EPISODES.search(line.text)))


def _fewer_steps_of_episodes(request: Request, samples: int, need: int | None) -> Remedy:
    """Of an agent the samples are steps that it took, as many as its settings gather for one update."""
    each = f" (each step takes {human(need // samples)} of this tensor)" if need else ""
    coach = _NODE_OF_COACH.search(request.failed.node or "")
    setting = (
        "`num_episodes_between_training` of Coach and DeepRacer" if coach else "its update or batch size"
    )
    return Remedy(
        f"let the agent learn from fewer steps at once{each}: these {samples:,} are most likely all that its"
        f" episodes gathered for one update; fewer episodes for each ({setting}), shorter ones, or smaller or"
        " fewer frames of what it sees",
        slug="fewer-gathered-steps",
    )


def _batches(case: Case, moment: Moment, samples: int | None, need: int | None) -> Remedy:
    told = case.capture.surroundings
    if samples and moment.request and _of_an_agent(case, moment.request):
        return _fewer_steps_of_episodes(moment.request, samples, need)
    ran = other_than_training(case, moment.request) if moment.request else None
    failed = moment.request.failed if moment.request else None
    code = "model.predict(x, batch_size=100)"
    if explained := _explains(case):
        code = f"{explained}(lambda x: model.predict(x, batch_size=100), background)"
    called = _CALLED_AS_IN_TRAINING.search(failed.source_text or "") if failed else None
    if called:  # `predict` would switch dropout off
        code = f"parts = [{called['net']}(x[i:i + 100], training=True) for i in range(0, len(x), 100)]"
    elif told.shows("using an estimator"):
        code = "tf.estimator.inputs.numpy_input_fn(x, y, batch_size=100, num_epochs=1, shuffle=False)"
    elif situation(case, moment).session:
        code = "for start in range(0, len(x), 100): sess.run(fetch, {x_: x[start:start + 100]})"
    elif not explained and (not ran or ran[0] not in (EVALUATION, PREDICTION)):
        if tried := _batches_in_vain(case, moment, samples):
            return tried
        code += "   # training: tf.data.Dataset.from_tensor_slices(x).batch(100)"
    if in_r(case):
        return _IN_R
    many = _at_once(failed, samples)
    code = code.replace("100", str(many))
    if not samples or not need:
        return Remedy("go in batches instead of passing the whole array", code, slug="in-batches")
    part = need // samples * many
    set_by = _set_by(case, samples)
    where = f" instead of `{set_by[0]}` ({set_by[1].place})" if set_by else ""
    return Remedy(
        f"go in batches{where}: with {many} samples this tensor takes {human(part)}",
        code,
        need - part,
        Certainty.EXACT,
        slug="in-batches",
    )


def _at_once(failed: FailedRequest | None, samples: int | None) -> int:
    """How many samples to begin with: a hundred, fewer where this tensor alone is then large."""
    size = failed.tensor_bytes if failed else None
    if failed and size is None:
        size = 4 * math.prod(side or 1 for side in failed.shape or (0,))
    each = size // samples if size and samples else 0
    many = _USUAL
    while many > 1 and many * each > _LARGE:
        many = many // 2 if many < _USUAL else _BELOW
    return many


_USUAL, _BELOW, _LARGE = 100, 64, GIB


def _batches_in_vain(case: Case, moment: Moment, samples: int | None) -> Remedy | None:
    """Of a text that says which batch it failed with, where all samples went through the network: what passes
    them is no call with that batch.
    """
    batches = [batch for batch in failed_batches(case) if samples and batch * 2 <= samples]
    failed = moment.request.failed if moment.request else None
    evaluates = case.capture.surroundings.shows("failing in evaluation")
    if not batches or failed is None or evaluates or situation(case, moment).session:
        return None
    return Remedy(
        f"a batch of {min(batches)} is not what this call took: look for what passes all samples, such as"
        " `model(x)`. fit does it itself in eager TensorFlow 1.x, which builds a model without input shapes"
        " by calling it on all that it is given: call the model once on a few samples before fit",
        "model(x[:1]); model.fit(x, y, batch_size=32)   # or input shapes: tf.keras.Sequential, keras.Model",
        slug="in-batches",
    )


_EXPLAINER = regex(r"\b(?:shap\.)?KernelExplainer(?=\()")
"""It takes any function of an array; others of its kind need the model itself."""


def _explains(case: Case) -> str:
    """The call of the text that is given a model and asks it for all rows at once."""
    lines = code_lines(case.capture.surroundings)
    return next((match[0] for line in lines if (match := _EXPLAINER.search(line.text))), "")


_IN_R = Remedy(
    "find the call that passes all samples at once: fit() with its batch_size by name, arrays of R and no"
    " tensors (k_constant, a layer called on the data), and validation data, evaluate() and predict() in"
    " batches as well",
    "model %>% fit(x, y, batch_size = 32L, validation_data = list(xv, yv))",
    slug="in-batches-of-r",
)
