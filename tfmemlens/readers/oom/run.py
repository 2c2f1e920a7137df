"""How far a run had come: epochs, progress bars, and warnings that a function is traced anew."""

from __future__ import annotations

import re
from collections import deque

from tfmemlens.knowledge.kept_results import keeps_a_number, list_that_keeps
from tfmemlens.model.capture import Progress
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.readers.oom.quoted_code import QuotedCode
from tfmemlens.readers.oom.rules import LineRule, RuleTable
from tfmemlens.units import parse_size

EPOCH = LineRule(r"\bEpoch[ :#]*(?P<epoch>\d+)(?:/(?P<epochs>\d+))?", "Epoch 3/10", "Epoch: 3", needs="Epoch")
BAR = LineRule(
    r"(?:\A|[\s|])(?P<step>\d+)/(?P<steps>\d+)\s*(?:\[[=>. ]{5,}|\[?\x1b|\u2501|\[\d+:\d\d)",
    " 12/500 [>.............................] - ETA: 1:28 - loss: 0.7001",
    " 12%|#2        | 120/1000 [00:31<03:51,  3.81it/s]",
    "  7/938 \u2501\u2501\u2501\u2501\u2501\u2501\u2501\u2501 8s 9ms/step - loss: 2.3",
    needs="/",
)
_OF_FILES = regex(
    r"(?i)\b(?:checkpoint shards|loading weights|fetching \d+ files|downloading|resolving data files"
    r"|extracting|unpacking|dataset shards|pipeline components|generating \w+ (?:split|examples)"
    r"|saving the dataset|(?:casting|flattening|running tokenizer on) (?:the )?(?:dataset|indices|text|data)"
    r"|tokeniz\w+)\b|\A(?:map|filter)(?: \(num_proc=\d+\))?: "
    r"|\d ?[kKMG]?i?B/s\b|\b\d{5,9}(?:\.\d+)?it/s\b"
)
"""What a bar counts that is no step: by its words, or as no step is so fast."""
_HEAD = 80
"""Characters at the beginning of a bar that say what it counts, however long it is."""
RETRACING = LineRule(
    r"calls? to .* triggered tf\.function retracing",
    "WARNING:tensorflow:5 out of the last 5 calls to <function step at 0x7f1c2c0d5e10> triggered tf.function"
    " retracing.",
    needs="tf.function retracing",
)
_OBJECT = regex(
    r"<function (?P<name>[\w.<>]{1,200}\.<locals>\.\w{1,100}) at (?P<address>0x[0-9a-fA-F]{4,16})>"
)
"""A function that another one made, as Python shows it."""
COMMAND = LineRule(
    r"\A\s*(?:[$%!>] ?)?(?:[A-Z_]{2,40}=\S{1,80} ){0,6}(?:python[\d.]{0,5}|torchrun|horovodrun|mpirun)"
    r" (?:-m )?\S*\w",
    "python train.py --batch_size 4 \\",
    "$ CUDA_VISIBLE_DEVICES=0 python3 -m tools.train",
    needs=("python", "run"),
)
"""A command that begins another run."""
EVALUATION = LineRule(
    r"(?:Starting|Finished) evaluation at",
    "Starting evaluation at 2020-04-02T11:31:39Z",
    "Finished evaluation at 2020-04-02-11:32:39",
    needs=" evaluation at",
)
"""Estimators say when they evaluate."""
BUFFERS = {
    "cache()": LineRule(
        r"The calling iterator did not fully read the dataset being cached",
        "W tensorflow/core/kernels/data/cache_dataset_ops.cc:856] The calling iterator did not fully read the"
        " dataset being cached.",
        needs="dataset being cached",
    ),
    "shuffle(buffer_size)": LineRule(
        r"Filling up shuffle buffer|Shuffle buffer filled",
        "I tensorflow/core/kernels/data/shuffle_dataset_op.cc:392] Filling up shuffle buffer (this may take a"
        " while): 3141 of 10000",
        "I tensorflow/core/kernels/data/shuffle_dataset_op.cc:417] Shuffle buffer filled.",
        needs="huffle buffer",
    ),
}
"""Parts of an input pipeline that keep elements, and that say so."""
CLIPPING = LineRule(
    r"\bclip_by_global_norm\b|\bglobal_clipnorm=|clip_ops\.py:(?:2[5-9]\d|3\d\d): where",
    '  File "site-packages/keras/src/optimizers/base_optimizer.py", line 1191, in clip_by_global_norm',
    '  File "site-packages/keras/src/optimizers/base_optimizer.py", line 1183, in global_norm',
    "WARNING:tensorflow:From site-packages/tensorflow_core/python/ops/clip_ops.py:301: where (from"
    " tensorflow.python.ops.array_ops) is deprecated and will be removed in a future version.",
    "    opt = tf.keras.optimizers.Adam(global_clipnorm=1.0)",
    needs="clip",
)
"""Gradients are clipped by their global norm: a frame, a line of code, or a line of clip_ops.py at which
TensorFlow 1.14 and 1.15 warn of that function's use of `where`.
"""
READING = LineRule(
    r"['\"]current['\"]: ?(?P<bytes>\d+)\b(?=.*['\"]peak['\"])|['\"]peak['\"]: ?\d+, ?['\"]current['\"]:"
    r" ?(?P<other>\d+)",
    "epoch 1 {'current': 2147516416, 'peak': 5368742400}",
    "{'peak': 5368742400, 'current': 2147516416}",
    needs="current",
)
"""What `tf.config.experimental.get_memory_info` returns, printed."""
LIVE = LineRule(
    r"(?i:\blive(?:[ _](?:arrays?|buffers?|bytes|memory))+\b)[^\n]{0,60}?(?P<size>\d+(?:\.\d+)? ?[KMG]i?B)\b",
    "epoch 3 step 1200 live arrays: 1204, 4.70 GiB",
    "live buffers total 512.0MiB",
    needs=("live",),
)
"""What a program prints of `jax.live_arrays()`, summed up."""
PRINTED = LineRule(
    r"\b(?i:gpu_?mem\w{0,40}|mem(?:ory)?(?:_used| used| in use)?|(?:bytes_)?in_use|vram\w{0,40}"
    r"|current(?=[\s:=]{1,3}[\d.]{1,15} ?[KMG]i?B[\s,;|/]{1,5}peak\b))"
    r"\b[\s:=]{0,20}(?P<figure>\d{1,6}(?:\.\d{1,9})?)\s{0,9}(?P<unit>[KMG]i?)B\b",
    "epoch 1 step  200 loss 1.7500 gpu_mem 5.86 GB",
    "step 4020  loss 0.1879  bytes_in_use 22.08 GB",
    "step 100 mem 4.0 GB",
    "step 1000 | in_use 5.1 GiB",
    "step  1000  current 3.41 GB  peak 4.59 GB",
    needs="B",
)
"""A program's own line of a step, with what it holds."""
_FIGURE = (
    r"(?: (?:at|after) [^:]{1,24}:)?[\s:='\"(]*"
    r"(?:(?:current(?:ly)?|used|usage|in use|allocated|now|is|at)\b[\s:=]*){0,2}"
    r"(?P<figure>\d{1,15}(?:\.\d{1,9})?)(?:\s*/\s*\d+(?:\.\d+)?)?\s*(?P<unit>[KkMG]i?B?\b)?"
)
"""A figure behind the name of what it counts: `current 4.10 GiB`, `: 12.1/24.0 GB`, `=5321M`."""
DEVICE_READING = LineRule(
    r"(?i:\b(?:gpu[_ -]?(?:mem\w*|usage|ram|used)|vram\w*|cuda[_ ]mem\w*|device[_ ]mem\w*)"
    rf"|\bnumBytes(?:InGPU)?)\b{_FIGURE}",
    "2024-03-09 22:09:10 epoch 01 loss 1.2000 gpu mem current 4.10 GiB peak 5.40 GiB",
    "fold 2 done, vram=11.2G",
    "GPU memory usage: 10.2/24.0 GB",
    "tf.memory() = { unreliable: true, numTensors: 41022, numDataBuffers: 41022, numBytes: 9340015616 }",
    needs=("gpu", "vram", "cuda", "device", "numbytes"),
)
"""What a program prints of the memory that it uses on a device."""
UNIT_FIRST = LineRule(
    r"(?i:(?<!GPU )(?<!device )\b(?:memory|RAM|RSS) (?:usage|used|use)\b)"
    r"[^\n]{0,40}?\((?i:in )?(?P<unit>[KMG]i?)B\)"
    r"\s?[:=]\s?(?P<figure>\d{1,9}(?:\.\d{1,9})?)\b",
    "Memory usage after 3 run(s) (in MiB): 5611.594",
    needs=("memory", "ram", "rss"),
)
"""The same with its unit in parentheses before the figure."""
UNIT_IN_WORDS = LineRule(
    r"(?i:(?<!GPU )(?<!device )(?<!HBM )\b(?:memory|RAM|RSS)\b[`'\":, ]{1,5}"
    r"(?:(?:figures|values|usage|used) )?"
    r"(?:represents?|(?:is|are) (?:\w+ )?in|in)\s(?:the )?(?P<unit>[KMG]i?)(?:B|igabyte|egabyte)s?\b)",
    "In the log, `Memory: ` represents GBs.",
    "RAM usage is printed in MiB",
    "memory in GB after each step:",
    needs=("memory", "ram", "rss"),
)
"""The unit of figures that lines below it have without any."""
BARE = LineRule(
    r"\A\W{0,4}(?i:memory|mem|ram|rss)(?i: usage| used)?\s?[:=]\s?(?P<figure>\d{1,7}\.\d{1,18})\s*\Z",
    "Memory: 6.363816",
    "mem used = 10312.5",
    needs=("mem", "ram", "rss"),
)
"""A reading without a unit."""
HOST_READING = LineRule(
    r"(?i:\b(?:\w{1,12}[_ ])?(?:rss|max_?rss|ram)(?:_(?:gb|mb|used))?|\bvmrss|\bresident(?: set)?(?: size)?"
    rf"|\b(?:host|cpu|process)[_ ]mem\w*)\b{_FIGURE}",
    "walk 5 nodes=4015 host_rss=10.6GB gpu=3.4GB",
    "[epoch 4] RAM used: 23.1 / 64.0 GB",
    "VmRSS:  12582912 kB",
    "step 400 rss 5321 MB",
    needs=("rss", "ram", "resident", "mem"),
)
"""The same of host RAM."""
MEASURED = LineRule(
    r"\bpeak memory: (?P<figure>\d{1,9}(?:\.\d{1,3})?) (?P<unit>[KMG]i?B), increment: -?\d",
    "peak memory: 2210.40 MiB, increment: 0.00 MiB",
    needs="peak memory: ",
)
"""What memory_profiler's `%memit` prints of a process."""
FREE = LineRule(
    r"(?:\A|[\s`'\"$])free (?:[^`'\"\n]{0,24}?)"
    r"(?:-\w{0,3}(?P<short>[gmk])\b|--(?P<long>gi[gb]|me[gb]|ki[lb])[ai]\b)",
    "output of `free --giga -s 1800`:",
    "$ free -m",
    needs="free -",
)
"""The command whose table has no unit of its own."""
FREE_ROW = LineRule(
    r"\A\s*Mem: +[\d.]+(?:[KMGT]i?)? +(?P<figure>[\d.]+)(?P<unit>[KMG]i?)?\s",
    "Mem:             65           6          13           0          44          58",
    "Mem:           15Gi        14Gi       183Mi       1.0Mi       712Mi       402Mi",
    needs="Mem:",
)
"""A row of it: all that there is, and how much is in use."""
_OF_THE_HOST = regex(r"\bRAM\b|\bRSS\b|\brss\b|\bpsutil\b|(?i:\b(?:host|cpu|system) memory\b)")
_OF_FREE = {"g": 1 << 30, "m": 1 << 20, "k": 1 << 10, "gig": 10**9, "gib": 1 << 30, "meg": 10**6} | {
    "meb": 1 << 20, "kil": 10**3, "kib": 1 << 10
}  # fmt: skip
PRINTING = LineRule(
    r"\bprint\(.*\b(?:bytes_in_use|get_memory_info\(.*current)\b['\"\])]*\s*//?\s*"
    r"(?P<unit>1e[69]|2 ?\*\* ?[23]0|1024 ?\*\* ?[23]|\(?1 ?<< ?[23]0)\)*\s*(?:#.*)?\Z",
    'print(epoch, acc, jax.local_devices()[0].memory_stats()["bytes_in_use"] / 1e9)',
    'print(i, jax.devices()[0].memory_stats()["bytes_in_use"] // 2**20)',
    needs="print(",
)
"""Code that prints what is in use, last of all in its line."""
_UNITS = {"1e9": 10**9, "1e6": 10**6, "30": 1 << 30, "20": 1 << 20, "*3": 1 << 30, "*2": 1 << 20}
_ROW = regex(
    r"\A\s*(?:[\w%=:.-]{1,24}[\s,]+){0,8}?\d{1,9}[\s,]+(?:\d[\d.e+-]{0,20}[\s,]+){0,6}(?P<last>\d{1,6}"
    r"(?:\.\d{1,9})?)\s*\Z"
)
"""A row of what such code prints: its counter, and the reading behind all others."""
STAGE = LineRule(
    r"(?i:\bun-?fr(?:eez|oz)\w*|\btrainable\s*=\s*True\b"
    r"|\b(?:stage|phase) ?(?:[2-9]|two|ii|b)\b(?!.*\b(?:unit|block|conv)\w*/)"
    r"|\bfine-?tun\w* (?:all|the whole|the full|whole|full)\b)",
    "=== stage 2: unfreeze all 474 layers, lr 1e-5 ===",
    "base_model.trainable = True",
    "--- Phase 2 ---",
    "Now fine-tuning the whole network",
    needs=("unfr", "un-fr", "trainable", "stage", "phase", "fine"),
)
"""Another stage of a training begins: as a rule with layers that were frozen."""
LENGTH = LineRule(
    r"(?i:\b(?:batch(?=[\s=:]*[(\[]\d+\s*[,x])|frames|shapes?|(?:seq|src|tgt|max|audio|text"
    r"|input)_?len\w*|lengths?|tokens|bucket"
    r"|n_?nodes|img_?size"
    r"|resolution|seq)\b)[\s=:]*[(\[]?(?P<sizes>\d{1,8}(?:\s*[,x]\s*\d{1,8}){0,3})\b(?!\.\d|[KMG%])",
    "[02:11:40] step 13900 loss 2.405 batch frames (16, 768) 0.41s/step",
    "step 410 seq_len=512 loss 3.1",
    "iter 7 input shape (8, 640, 80)",
    "step 412 batch (16, 4096)",
    needs=("batch", "frames", "shape", "len", "tokens", "bucket", "nodes", "size", "resolution", "seq"),
)
"""A program's own line of a step, with the shape of its batch."""
MODELS = LineRule(
    r"(?i:\bmodels? +(?:still +)?(?:alive|live|in memory|kept)\b)\s*[:=]?\s*(?P<count>\d{1,6})\b",
    "models alive: 41  gpu current: 15.21 GB",
    "models in memory = 12",
    needs="odel",
)
"""What a program prints of the models that it holds."""
ALONE = LineRule(
    r"(?i:\balone\b[`'\"]?\s*[:,]?\s*(?:it )?(?:passes|succeeds)\b"
    r"|\b(?:passes|succeeds)\b[^.!?\n]{0,30}\b(?:alone|on its own|by itself|in isolation)\b"
    r"|\b(?:works|runs|fine)\b[^.!?\n]{0,20}\b(?:when|if) (?:it is |it's )?(?:run|executed|started)"
    r" (?:alone|on its own|by itself|in isolation)\b)",
    "`pytest -k convnext` alone: passes",
    "the test passes when it is run in isolation",
    "fold 7 runs fine when started on its own",
    needs=("alone", "own", "itself", "isolation"),
)
"""What failed goes well where nothing ran before it."""
_NOT = regex(r"(?i)\b(?:not|never|n't|no longer|neither)\b")
_TAPE = regex(
    r"\A(?P<indent>[ >|]{0,80})with +(?:\w+\.)?GradientTape\([^)]{0,80}\) +as +(?P<name>\w{1,80}) *:"
)
_LOOP = regex(r"\A(?P<indent>[ >|]{0,80})for\b(?P<over>[^#\n]{1,200}):")
_MICRO = regex(r"(?i)accum|micro|\b(?:n_)?acc(?:_steps)?\b|sub_?batch|\bchunks?\b")
_NET = regex(
    r"\A[ >|]{0,80}(?:self\.)?(?P<name>[A-Za-z_]\w{0,40}) *= *"
    r"(?:\w{1,40}\.){0,4}(?:Sequential|\w{0,40}(?:Net|Model))\("
)
"""`unet = tf.keras.Sequential([`: a name for a net."""
_RECURS = regex(
    r"(?<![\w.])(?P<state>[A-Za-z_]\w{0,40})(?:\s*,\s*\w{1,40}){0,3}\s*=\s*[\w.]{1,80}\([^#]{0,200}(?<"
    r"![\w.])(?P=state)\b"
)
"""`state = cell(x[:, t], state)`: a turn goes on from the one before."""
_OF_A_STEP = regex(r"(?i:\b(?:step|iter\w{0,40}|batch|epoch)\b)")
COMPILING = LineRule(
    r"Compiling \S+ (?:for )?with global shapes and types.*\[(?P<sizes>\d{1,8}(?:,\d{1,8}){1,3})\]",
    "Compiling train_step with global shapes and types [ShapedArray(float32[32,217,80]), ...]",
    needs="global shapes and types",
)
"""What JAX logs of each compilation (`jax_log_compiles`): the last shape of two sizes is a batch's."""
_COUNTED = regex(r"(?i)\b(?:step|iter\w*|batch|update)\b[ :=#\[]*\d")
SUMMARY = LineRule(
    r"\A[\s\u2502|]*(?P<name>[\w./-]{1,80}) \((?P<type>\w{1,40})\)[\s\u2502|]+[\[(]{1,2}None[^)]*\)\]?"
    r"[\s\u2502|]+(?P<params>\d[\d,]*)(?=[\s\u2502|]|\Z)",
    " fc1 (Dense)                 (None, 512)               2147484160",
    "\u2502 fc1 (Dense)          \u2502 (None, 512)      \u2502 2,147,484,160 \u2502",
    needs="(None",
)
"""A layer's row of Keras's `model.summary()`, with its parameters."""
CELL = LineRule(
    r"\A\s*In ?\[ ?(?P<number>\d{1,6})\]: (?P<code>.*)",
    "In [4]: model = build_swin(); model.fit(ds, epochs=1)",
    needs="]: ",
)
"""A cell as IPython prints it when it runs."""
TRIAL = LineRule(
    r"Search: Running Trial #(?P<number>\d{1,6})"
    r"|\bTrial (?P<other>\d{1,6}) (?:[Cc]omplete|finished with value)",
    "Search: Running Trial #7",
    "Trial 6 Complete [00h 03m 11s]",
    "[I 2023-01-01 10:00:00,000] Trial 5 finished with value: 0.91 and parameters: {'units': 512}.",
    needs="rial",
)
"""A search over hyper-parameters, as KerasTuner and Optuna tell of it."""
_OBSERVED = RuleTable.of(
    RETRACING, EPOCH, BAR, READING, LIVE, DEVICE_READING, PRINTED, PRINTING, HOST_READING, UNIT_FIRST,
    UNIT_IN_WORDS, BARE, MEASURED,
    FREE, FREE_ROW,
    SUMMARY,
    STAGE,
    LENGTH, MODELS, ALONE, CELL, TRIAL, EVALUATION,
)  # fmt: skip
_LONGEST = 4000
"""Characters of a line that are looked at: no program tells of its step in more."""
_KEEP = 400


class TapeCollector:
    """Finds a loop over micro-batches inside one tape, in code that the text quotes: the tape, the loop with
    a call of a model, and the gradient taken after it. Beside it a loop over time: each turn calls something
    with the state that the turn before made.
    """

    def __init__(self) -> None:
        self.found: tuple[Line, Line] | None = None
        self.over_time: tuple[Line, Line] | None = None
        self._turns: tuple[int, Line] | None = None
        self._tape: tuple[int, str, Line] | None = None
        self._loop: tuple[int, Line] | None = None
        self._called = False
        self._nets = {"model"}

    def observe(self, line: Line) -> None:
        """Follow the blocks of the code by their indents."""
        text = line.text
        if self.found or not text.strip():
            return
        if "(" in text and (net := _NET.search(text[:_LONGEST])):
            self._nets.add(net["name"])
        if "GradientTape(" in text and (match := _TAPE.search(text)):
            self._tape, self._loop = (len(match["indent"]), match["name"], line), None
            self._turns = None
            self._called = False
            return
        if self._tape is None:
            return
        indent, (outer, name, tape) = len(text) - len(text.lstrip(" >|")), self._tape
        if indent <= outer:
            if self._loop and self._called and f"{name}.gradient(" in text:
                self.found = tape, self._loop[1]
            self._tape = None
        elif self._turns and indent > self._turns[0] and _RECURS.search(text):
            self.over_time = self.over_time or (tape, self._turns[1])
        elif self._loop and indent > self._loop[0]:
            self._called = self._called or "training=True" in text or self._calls_a_net(text)
            if f"{name}.gradient(" in text:
                self._loop = None
        elif match := _LOOP.search(text):
            if _MICRO.search(match["over"]):
                self._loop = indent, line
            elif "range(" in match["over"]:
                self._turns = indent, line

    def _calls_a_net(self, text: str) -> bool:
        return any(f"{name}(" in text for name in self._nets)


def of_another_object(first: str, text: str) -> bool:
    """Whether two warnings tell of two functions of one name that another one made, each at its address."""
    one, other = _OBJECT.search(first), _OBJECT.search(text)
    return bool(one and other and one["name"] == other["name"] and one["address"] != other["address"])


def is_of_validation(above: Line | None, line: Line) -> bool:
    """Whether an epoch's line is the one that TensorFlow 1.14 and 1.15 print for the validation within an
    epoch: `Epoch 1/40` right below `Epoch 33/40`.
    """
    if above is None or above.source != line.source or line.number != above.number + 1:
        return False
    one, other = EPOCH.search(above.text), EPOCH.search(line.text)
    return bool(one and other and other["epoch"] == "1" and other["epochs"] == one["epochs"] is not None)


class RunCollector:
    """Collects where the run stood; it takes no line for itself."""

    def __init__(self) -> None:
        self.progress: deque[Progress] = deque(maxlen=_KEEP)
        self.readings: deque[tuple[int, Line]] = deque(maxlen=_KEEP)
        self.host_readings: deque[tuple[int, Line]] = deque(maxlen=_KEEP)
        self._of_bare = ""
        """The unit that the text says its readings of host RAM are in."""
        self._free_in = 0
        """The bytes of the unit in which `free` prints."""
        self.commands: list[Line] = []
        self.stages: list[Line] = []
        self.summary: list[tuple[str, str, int, Line]] = []
        self.lengths: deque[tuple[tuple[int, ...], Line]] = deque(maxlen=_KEEP)
        self.retraced: tuple[int, Line] | None = None
        self.made_anew: Line | None = None
        self.clipping: Line | None = None
        self.buffers: dict[str, Line] = {}
        self.evaluating: Line | None = None
        """The line that began an evaluation which has not ended."""
        self.stores: tuple[str, Line] | None = None
        self.models: tuple[int, Line] | None = None
        self.alone: Line | None = None
        self.tapes = TapeCollector()
        self.quoted = QuotedCode()
        self.cells: list[tuple[int, str, Line]] = []
        self.trial: tuple[int, Line] | None = None
        self._epoch: tuple[int, int | None] | None = None
        self._printed_in: int | None = None
        """The unit of readings that quoted code prints, in bytes."""

    def observe(self, line: Line) -> None:
        """Note what the line tells, whoever takes it."""
        text = line.text[-_LONGEST:]
        if ("python" in text or "run " in text) and len(self.commands) < _KEEP and COMMAND.search(text):
            self._epoch = None
            self.commands.append(line)
        if self._printed_in or _OBSERVED.likely(text):
            self._observe(text, line)
        if match := COMPILING.search(text):
            self.lengths.append((tuple(int(size) for size in match["sizes"].split(",")), line))
        if ".append(" in text and (name := list_that_keeps(text)):
            better = (
                self.stores is not None and keeps_a_number(self.stores[1].text) and not keeps_a_number(text)
            )
            self.stores = (name, line) if better or not self.stores else self.stores
        self.tapes.observe(line)
        self.quoted.observe(line)

    def _observe(self, text: str, line: Line) -> None:
        if RETRACING.search(text):
            times, first = self.retraced or (0, line)
            self.retraced = (times + 1, first)
            if not self.made_anew and of_another_object(first.text, text):
                self.made_anew = line
        if (match := EPOCH.search(text)) and not (
            self.progress and is_of_validation(self.progress[-1].line, line)
        ):
            self._epoch = (int(match["epoch"]), int(match["epochs"]) if match["epochs"] else None)
            self.progress.append(Progress(line, *self._epoch))
        counts_files = _OF_FILES.search(text) or _OF_FILES.search(line.text[:_HEAD])
        bars = list(re.finditer(BAR.pattern, text)) if BAR.search(text) and not counts_files else []
        for match in bars[-1:]:
            epoch, epochs = self._epoch or (None, None)
            step, steps = int(match["step"]), int(match["steps"])
            if step <= steps:
                self.progress.append(Progress(line, epoch, epochs, step, steps))
        if match := READING.search(text):
            self.readings.append((int(match["bytes"] or match["other"]), line))
        if match := LIVE.search(text):
            self.readings.append((parse_size(match["size"].replace("iB", "B")).bytes, line))
        elif (match := DEVICE_READING.search(text)) and (size := _bytes(match["figure"], match["unit"])):
            self.readings.append((size, line))
        elif (match := PRINTED.search(text)) and _OF_A_STEP.search(text, 0, match.start()):
            self.readings.append((_bytes(match["figure"], match["unit"]) or 0, line))
        if match := PRINTING.search(text):
            self._printed_in = _unit(match["unit"])
        elif self._printed_in and (match := _ROW.search(text)):
            self.readings.append((round(float(match["last"]) * self._printed_in), line))
        host = HOST_READING.search(text) or UNIT_FIRST.search(text) or MEASURED.search(text)
        if (match := host) and (size := _bytes(match["figure"], match["unit"])):
            self.host_readings.append((size, line))
        if (match := UNIT_IN_WORDS.search(text)) and _OF_THE_HOST.search(text):
            self._of_bare = match["unit"]
        if self._of_bare and not host and (match := BARE.search(text)):
            self.host_readings.append((_bytes(match["figure"], self._of_bare) or 0, line))
        if match := FREE.search(text):
            self._free_in = _OF_FREE[match["short"] or match["long"]]
        if (match := FREE_ROW.search(text)) and (match["unit"] or self._free_in):
            unit = match["unit"]
            in_use = _bytes(match["figure"], unit) if unit else float(match["figure"]) * self._free_in
            self.host_readings.append((round(in_use or 0), line))
        if (match := SUMMARY.search(text)) and len(self.summary) < _KEEP:
            self.summary.append((match["name"], match["type"], int(match["params"].replace(",", "")), line))
        if len(self.stages) < _KEEP and STAGE.search(text):
            self.stages.append(line)
        if (match := LENGTH.search(text)) and _COUNTED.search(text):
            self.lengths.append((tuple(int(size) for size in re.findall(r"\d+", match["sizes"])), line))
        if match := MODELS.search(text):
            self.models = int(match["count"]), line
        if self.alone is None and ALONE.search(text) and not _NOT.search(text):
            self.alone = line
        if (match := CELL.search(text)) and len(self.cells) < _KEEP:
            self.cells.append((int(match["number"]), match["code"], line))
        if match := TRIAL.search(text):
            self.trial = int(match["number"] or match["other"]), line
        if EVALUATION.search(text):
            self.evaluating = None if "Finished" in text else line

    def observe_any(self, line: Line) -> None:
        """Note what lines of TensorFlow's own tell, too: of the input pipeline, and of clipping."""
        if self.clipping is None and "clip" in line.text and CLIPPING.search(line.text):
            self.clipping = line
        for what, rule in BUFFERS.items():
            if rule.search(line.text):
                self.buffers.setdefault(what, line)


def _unit(divisor: str) -> int:
    """The bytes of `1e9`, `2**30`, `1024**3` or `(1 << 30`."""
    plain = divisor.replace(" ", "")
    return next(size for end, size in _UNITS.items() if plain.endswith(end))


def _bytes(figure: str, unit: str | None) -> int | None:
    """A printed figure in bytes; without a unit only a number that can be nothing else."""
    if unit:
        power = "KMG".index(unit[0].upper()) + 1
        return round(float(figure) * float((1024 if "i" in unit else 1000) ** power))
    return int(figure) if figure.isdigit() and int(figure) >= 1 << 24 else None
