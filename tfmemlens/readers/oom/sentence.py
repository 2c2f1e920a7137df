"""The sentence of a failed allocation and what TensorFlow puts around it: node tags, wrappers, tracebacks,
hints.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from tfmemlens.knowledge.ops import roles
from tfmemlens.knowledge.stack_frames import project_frame, user_frame
from tfmemlens.model.incident import Argument, Frame
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import ITEM_BYTES, numpy_dtype
from tfmemlens.patterns import regex
from tfmemlens.readers.oom import creation
from tfmemlens.readers.oom.context import Context, attributes_of
from tfmemlens.readers.oom.eras import SESSION, era_of, era_of_function, era_of_session
from tfmemlens.readers.oom.rules import (
    DEVICE,
    FIRST,
    LAST,
    Era,
    LineRule,
    RuleTable,
    narrow,
    whole_allocator,
    whole_device,
)
from tfmemlens.values import dataclass

SENTENCE = LineRule(
    r"\bO?OM when allocating (?P<temporary>temporary )?tensor (?:with|of) ?shape ?(?:\[(?P<shape>[\d,"
    r" ]*)\]|(?P<dims>(?:dim ?\{ ?size: ?\d+ ?\} ?)+)|(?P<scalar>))"
    rf"(?:\s*and type (?P<dtype>\w+))?(?:\s*on\s*(?P<device>{DEVICE}))?(?:\s*by"
    rf" allocator\s*(?P<allocator>Simple"
    r" allocator|[\w.-]+))?",
    "OOM when allocating tensor with shape[8,256,256,64] and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc",
    "OOM when allocating tensor with shape[64,28,28,128]",
    "OOM when allocating tensor with shapedim { size: 4096 } dim { size: 1024 }",
    "OOM when allocating tensor with shape[] and type float on /device:GPU:0 by allocator Simple allocator",
    needs="OM when allocating",
)
OP_TAIL = LineRule(
    r"\[Op:(?P<op>\w+)\](?: name: ?(?P<name>[^\s\"']+))?",
    "by allocator GPU_0_bfc [Op:Mul] name: mul/",
    "[Op:__inference_train_function_669]",
    needs="[Op:",
)
TAG = LineRule(
    r"\[\[ ?(?:\{\{function_node (?P<function>[^}\s]*)\}\})?"
    r"(?:\{\{?node (?P<braced>[^}]+?)\}\}?|[Nn]ode:? (?P<plain>[^\s\]]+)|(?P<bare>[A-Za-z0-9_.][\w./>-]*))"
    r"(?P<defined> \(defined at (?P<source>.+?)\) ?)? *(?:= (?P<op>\w+)"
    r" ?(?:\[(?P<attrs>.*?)\])?\((?P<inputs>[^()]*)\))? ?\]\]?(?!\()",
    '[[Node: conv/Conv2D = Conv2D[T=DT_FLOAT, data_format="NHWC",'
    ' _device="/job:localhost/replica:0/task:0/device:GPU:0"](x, conv/w/read)]]',
    "[[node conv/Conv2D (defined at train.py:31)  = Conv2D[T=DT_FLOAT](x, conv/w/read)]]",
    "[[node conv/Conv2D (defined at C:\\work\\train.py:31) ]]",
    "[[{{node conv/Conv2D}}]]",
    "[[{{node conv/Conv2D}} = Conv2D[T=DT_FLOAT](x, conv/w/read)]]",
    "[[{node conv/Conv2D} = Conv2D[T=DT_FLOAT](x, conv/w/read)]]",  # through str.format
    "[[loss/mul]]",
    needs="[[",
)
CUT_TAG = LineRule(
    r"\[\[ ?(?:\{\{?node (?P<braced>[^}\s]+)\}\}?|[Nn]ode:? (?P<plain>[^\s\]]+)) *= (?P<op>\w+)"
    r" ?\[(?P<attrs>.*)\Z",
    '[[Node: conv/Conv2D = Conv2D[T=DT_FLOAT, data_format="NHWC", _devi',
    needs="[[",
)
OPEN_TAG = LineRule(
    r"\[\[ ?\{\{node (?P<braced>[^}\s]+)\}\}(?P<plain>(?!))?(?P<op>(?!))?(?P<attrs>(?!))?(?!.*\]\])",
    "[[{{node training/adam/mul_73}} Mul[T=DT_float]",
    needs="[[",
)
"""A node that somebody typed off his screen, without the end."""
_NO_TAG = dict.fromkeys(("function", "bare", "defined", "source", "inputs"))
FUNCTION_NODE = LineRule(
    r"\{\{function_node (?P<function>[^}]+)\}\}",
    "{{function_node __wrapped__Mul_device_/job:localhost/replica:0/task:0/device:GPU:0}} OOM when",
    needs="{{function_node",
)
DEFINED_BELOW = LineRule(
    r"\A\s*\(defined at (?P<file>[^\s()]+?\.py):\d+\)",
    " (defined at /usr/local/lib/python3.7/site-packages/keras/backend.py:5182)",
    needs="(defined at ",
)
"""What some versions of TensorFlow 2 put on a line of its own below the name of a node."""
DETECTED = LineRule(
    r"Detected at node:? '?(?P<node>[^'\s]+?)'? defined at \(most recent call last\)",
    "Detected at node 'gradient_tape/model/conv/Conv2D/Conv2DBackpropFilter' defined at (most recent call"
    " last):",
    "Detected at node functional_1/conv_1/Relu defined at (most recent call last):",
    needs="Detected at node",
    era=((2, 4), LAST),
)
NODE_LINE = LineRule(
    r"(?:\A|\s)Node: '(?P<node>[^']+)'", "Node: 'model/conv/Relu'", needs="Node: '", era=((2, 4), LAST)
)
INSTRUCTION = LineRule(
    r"%[\w.-]+ = .*metadata=\{(?:op_type=\"[^\"]*\" )?op_name=\"(?P<node>[^\"]+)\""
    r"(?: source_file=\"(?P<file>[^\"]+)\" source_line=(?P<line>\d+))?",
    "%cudnn-conv.3 = (f32[16,96,256,256]{3,2,1,0}, u8[0]{0}) custom-call(f32[16,3,1024,1024]{3,2,1,0}"
    " %copy.2),"
    ' metadata={op_name="jit(forward)/jit(main)/Net/stem/conv_general_dilated" source_file="net.py"'
    " source_line=31}",
    needs="op_name=",
)
"""XLA quotes the instruction that it could not compile or run."""
CAUSED_BY = LineRule(
    r"Caused by op u?'(?P<node>[^']+)', defined at",
    "Caused by op 'conv/Conv2D', defined at:",
    needs="Caused by op",
    era=(FIRST, (1, 14)),
)
ORIGINAL = LineRule(
    r"Original stack trace for u?'(?P<node>[^']+)'",
    "Original stack trace for 'conv/Conv2D':",
    needs="Original stack trace",
    era=((1, 14), LAST),
)
FORWARD = LineRule(
    r"which was originally created as op u?'(?P<node>[^']+)'",
    "...which was originally created as op 'conv/Conv2D', defined at:",
    needs="originally created as op",
)
FRAME = LineRule(
    r"File \"(?P<file>[^\"]+)\", line (?P<line>\d+)(?:, in (?P<name>.+))?",
    'File "train.py", line 31, in <module>',
    needs='File "',
)
AUTOGRAPH_FRAME = LineRule(
    r"\A {2,8}(?P<file>(?:[~/]|[A-Za-z]:[\\/]|<ipython)\S*|[\w.][\w./\\-]{0,120}\.py(?=:\d+ \w+ +\*))"
    r":(?P<line>\d+) (?P<name>[A-Za-z_<]\w*>?)(?: +\*{1,2})?\s*\Z",
    "    /home/ann/train.py:41 train_step  *",
    "    metric.py:13 result  *",  # of a program that is called by its name
    "    /usr/lib/python3/dist-packages/keras/optimizer_v2/adam.py:129 _create_slots",
    needs=".py:",
    era=((2, 0), (2, 4)),
)
"""A frame below `in user code:`, with the line of code below it."""
RAISED = regex(
    r"[A-Za-z_][\w.]*(?:Error|Exception|OutOfResources)(?: \(see above for traceback\))?(?:: |\s*\Z)"
)
"""The line that ends a traceback: below a frame without its code it is no code."""
NOTEBOOK_FRAME = LineRule(
    r"\A\s*(?:File )?(?P<file>(?:[~/]|[A-Za-z]:\\)\S*?\.pyc?)(?::(?P<line>\d+),)? in (?P<name>\S+?)\(",
    "/usr/local/lib/python3.6/dist-packages/tensorflow/python/client/session.py in _do_call(self, fn, *args)",
    "File /usr/lib/python3.11/site-packages/keras/src/utils/traceback_utils.py:122, in error_handler(*args)",
    needs=" in ",
)
CELL = LineRule(
    r"\A\s*(?:(?:Input|Cell) (?P<cell>In ?\[ ?\d+ ?\])(?:, line \d+(?:, in \S.*)?\s*\Z|, in |:\d+, in | in )"
    r"|<ipython-input-(?P<number>\d+)-[^>]*> in |\S*[/\\]ipykernel_\d+[/\\]\d+\.py in )",
    "Cell In[12], line 27",
    "Cell In[15], line 12, in EncBlock.call(self, x, training)",
    "Input In [3], in <cell line: 5>()",
    "<ipython-input-9-1a2b3c4d5e6f> in <module>",
    "/tmp/ipykernel_42/3541986.py in <module>",
    needs=("input", "cell", "ipykernel"),
)
ARROW = LineRule(
    r"\A\s*-{2,}> ?(?P<line>\d+) (?P<code>.*)",
    "---> 27 history = model.fit(train, epochs=20, callbacks=callbacks)",
    needs="-> ",
)
"""The line of a notebook's cell, or of a file, that was running."""
OTHER_FRAME = LineRule(
    r"\A\s+at (?P<call>.*?)\(?(?P<file>[\w./\\-]+\.(?:java|kt|scala|[cm]?js"
    r"|ts)):(?P<line>\d+)(?::\d+)?\)?\s*\Z",
    "	at com.acme.seg.SegmentService.predict(SegmentService.java:71)",
    "    at /app/src/detect.js:48:21",
    needs="at ",
)
"""A frame of Java's or of Node's, the innermost first."""
PYTEST_PLACE = LineRule(
    r"\A(?P<file>[\w./\\~-]+\.py):(?P<line>\d+):(?: in (?P<name>\S+)"
    r"| (?P<error>[\w.]*(?:Error|Exception)))?\s*\Z",
    "laplace.py:27: ",
    "tests/test_fit.py:41: ResourceExhaustedError",
    "lib/python3/dist-packages/jax/_src/api.py:845: in jacfun",
    needs=".py:",
)
"""Pytest names the place below the code that it quotes, or above it in its short style."""
TRACEBACK = LineRule(
    r"Traceback \(most recent call last\)", "Traceback (most recent call last):", needs="Traceback"
)
KERAS_LAYER = LineRule(
    r"Exception encountered when calling (?:layer )?['\"]?(?P<name>[^'\"\s]+)[ '\"]*f?[ '\"]*\(type"
    r" (?P<type>\w+)\)",
    "Exception encountered when calling layer 'conv2d_5' (type Conv2D).",
    'Exception encountered when calling layer "dense" (type Dense).',
    'Exception encountered when calling layer "self" (type TFBertSelfAttention).',
    needs="Exception encountered when calling",
    era=((2, 7), LAST),
)
KERAS3_LAYER = LineRule(
    r"Exception encountered when calling (?P<type>\w+)\.call\(\)",
    "Exception encountered when calling Conv2D.call().",
    needs="Exception encountered when calling",
    era=((2, 16), LAST),
)
ARGUMENTS = LineRule(
    r"(?:Call arguments|Arguments) received by ",
    "Arguments received by PairDistance.call():",
    'Call arguments received by layer "dense" (type Dense):',
    needs="rguments received by",
    era=((2, 7), LAST),
)
ARGUMENT = LineRule(
    r"\A\s*[\u2022*\u00b7?-] ?(?P<name>\w+)=(?P<value>.*)",
    "  \u2022 a=tf.Tensor(shape=(8, 700, 32), dtype=float32)",
    "  \u2022 training=True",
    needs="=",
)
TENSOR = LineRule(
    r"Tensor\(?\s*shape=\((?P<shape>[\d, None]*)\), dtype=(?:tf\.)?['\"]?(?P<dtype>\w+)",
    "tf.Tensor(shape=(8, 700, 32), dtype=float32)",
    "<KerasTensor shape=(None, 32), dtype=float32, name=x>",
    needs="ensor",
)
ROOT = LineRule(
    r"\((?P<index>\d+)\) (?:Resource exhausted|RESOURCE_EXHAUSTED|Internal|INTERNAL|Unknown|UNKNOWN|Not"
    r" found|NOT_FOUND): ",
    "  (0) Resource exhausted: OOM when allocating",
    "  (1) Unknown: Failed to get convolution algorithm.",
    needs=") ",
    era=((1, 14), LAST),
)
ROOTS = LineRule(r"\b(?P<count>\d+) root error\(s\) found", "2 root error(s) found.", needs="root error(s)")
OP_REQUIRES = LineRule(
    r"(?:OP_REQUIRES failed|CtxFailure) at (?P<file>\S+?):(?P<line>\d+) ?: (?:Resource"
    r" exhausted|RESOURCE_EXHAUSTED|Internal|INTERNAL)",
    "OP_REQUIRES failed at conv_ops.cc:673 : Resource exhausted: OOM when allocating tensor with shape[1]",
    "CtxFailure at matmul_op.cc:474: Resource exhausted: OOM when allocating tensor with shape[3955,4096]",
    needs=("op_requires failed", "ctxfailure at"),
)
_NEW_CODE = regex(
    r"\bOP_REQUIRES failed at \S+ ?: (?:RESOURCE_EXHAUSTED|INTERNAL): "
    r"|\A\s*\(\d\) (?:RESOURCE_EXHAUSTED|INTERNAL): "
)
_OLD_CODE = regex(r"\bOP_REQUIRES failed at \S+ ?: (?:Resource exhausted|Internal): ")
"""Codes of errors are written as constants from TF 2.7 or 2.8 on."""
HINT = LineRule(
    r"If you want to see a list of allocated tensors when OOM happens",
    "Hint: If you want to see a list of allocated tensors when OOM happens, add"
    " report_tensor_allocations_upon_oom to RunOptions for current allocation info.",
    needs="If you want to see",
)
EXCEPTION = LineRule(
    r"(?:\A|[\s.:])(?P<name>ResourceExhaustedError|InternalError|UnknownError|XlaRuntimeError"
    r"|JaxRuntimeError|NotFoundError|AbortedError)\b",
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution error:",
    needs="Error",
)
BORING = LineRule(
    r"successful operations\.|derived errors ignored|Errors may have originated from an input operation|Input"
    r" Source operations connected to node|"
    r"Function call stack|Exception in device=TPU|status = StatusCode\.|Graph execution error|During"
    r" handling of the above"
    r" exception|Add TF_GPU|The above exception was|RunOptions for current allocation info",
    "0 successful operations.",
    "Graph execution error:",
    needs=(
        "successful operations",
        "derived errors",
        "errors may have",
        "source operations",
        "function call stack",
        "device=tpu",
        "statuscode",
        "graph execution",
        "during handling",
        "add tf_gpu",
        "above exception",
        "runoptions",
    ),
)
_AROUND = RuleTable.of(
    DEFINED_BELOW, DETECTED, TRACEBACK, NODE_LINE, INSTRUCTION, KERAS_LAYER, KERAS3_LAYER, ARGUMENTS, TAG,
    OP_TAIL, FRAME, AUTOGRAPH_FRAME, CELL, NOTEBOOK_FRAME, ARROW, OTHER_FRAME, PYTEST_PLACE, CAUSED_BY,
    ORIGINAL, FORWARD, HINT, BORING, ROOTS,
)  # fmt: skip
"""What stands around a message; the code below a frame, and a layer's arguments, are known by their place."""
SESSION_CODE = regex(
    r"\bsess(?:ion)?\.run\(|\btf\.(?:app\.run|Session|train\.MonitoredTrainingSession)\("
    r"|\bestimator\.(?:train|evaluate|predict|train_and_evaluate)\("
)
"""Code that runs a graph in a session, by itself or within an Estimator."""
_OTHER_LIBRARY = regex(r"at (?:java|jdk|sun|kotlin|scala|org\.tensorflow)[.x]|node_modules|node:|internal/")
_TRAINER = regex(r"train(?:er|ing\w*)\.py\Z")
_KERAS_CALLS = ("fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch")
"""Methods of Keras's models, as frames of its own files name them."""
_NUMBERED = regex(r":\d+\Z")
"""A place that names its line: a notebook's frame has one only where the code below it was pasted, too."""


_MAX_FRAMES = 80
"""More of a traceback is a recursion's."""


@dataclass
class OomMessage(Context):
    """One sentence that names the tensor, with its context."""

    in_words: bool = False
    """Whether it is no message, but somebody's own words."""
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    device: str | None = None
    allocator: str | None = None
    temporary: bool = False
    kernel: str | None = None
    cut: bool = False
    """Whether the text stops inside the sentence, so that the last word of it cannot be trusted."""


class Standing(NamedTuple):
    """The traceback that stands above a line."""

    frames: tuple[Frame, ...]
    owner: str
    running: bool


class SentenceCollector:
    """Collects tellings and the context that follows or precedes each."""

    def __init__(self) -> None:
        self.finished: list[OomMessage] = []
        self._told: Context | None = None
        self._node_before: str | None = None
        self._layer_before: tuple[str, str] | None = None
        self._era_before: Era = (FIRST, LAST)
        """What a header above the sentence says of the version: more than a sentence that was cut."""
        self._frames: list[Frame] | None = None
        self._frame_owner = "before"
        self._cause: list[Frame] | None = None
        """The frames of the exception that the next one says is its cause."""
        self._chained = False
        self._placed = False
        """Whether the code is known already from the node's own tag."""
        self._ran_before: tuple[str | None, str | None] = (None, None)
        """What ran, by the traceback above a header that brings the frames of the op's creation."""
        self._keras_call: str | None = None
        self._placeless = False
        """Whether nothing above the last message told a line of code."""
        self._running = False
        """Whether the frames are those of the exception rather than of the op's creation."""
        self.origin = ""
        """The C++ file that logged the line being offered, empty for Python's own text."""
        self._age = 0
        self._above = ""
        """The last line that was offered and is no error: the code that pytest quotes above its place."""
        self._at_frame = self._after_frame = False
        self._in_arguments = False
        self.era: Era = (FIRST, LAST)
        """What stack frames and node tags outside any sentence say of the version: a list may be pasted
        without its error.
        """
        self.session = False
        """Whether the stack goes through `Session.run`."""

    @property
    def current(self) -> Context | None:
        """The message that following lines still belong to."""
        return self._told if self._age < 400 else None

    @property
    def quotes_code(self) -> bool:
        """Whether the next line is the code that a traceback's frame quotes."""
        return self._at_frame

    def blank(self) -> None:
        """An empty line: what follows is no code that a frame quotes."""
        self._at_frame = False

    def offer(self, line: Line) -> bool:
        """Take the line if it is a sentence or belongs to one."""
        self._age += 1
        self._after_frame, self._at_frame = self._at_frame, False
        text = line.text
        if match := SENTENCE.search(text):
            self._sentence(match.groupdict(), line, text[match.end() :])
            self.tags(text[match.end() :])
            return True
        known = self._after_frame or self._in_arguments or _AROUND.likely(text)
        taken = bool(known) and self._context(text, line)
        if text.strip() and not text.startswith("E "):
            self._above = text.strip()
        return taken

    def _sentence(self, groups: dict[str, str | None], line: Line, rest: str) -> None:
        telling = OomMessage(
            line,
            temporary=bool(groups["temporary"]),
            device=whole_device(groups["device"]),
            allocator=whole_allocator(groups["allocator"]),
        )
        telling.shape = _shape(groups)
        telling.dtype = numpy_dtype(groups["dtype"]) if groups["dtype"] else None
        if (
            telling.dtype
            and not telling.device
            and telling.dtype not in ITEM_BYTES
            and telling.dtype not in ("string", "resource", "variant")
        ):
            telling.dtype, telling.cut = None, True
        telling.cut = telling.cut or (rest.lstrip().startswith("[") and "]" not in rest)
        kernel = OP_REQUIRES.search(line.text)
        telling.kernel = f"{kernel['file']}:{kernel['line']}" if kernel else None
        telling.in_python = not self.origin and not kernel
        telling.era = narrow(telling.era, _sentence_era(groups, line.text))
        if _NEW_CODE.search(line.text):
            telling.era = narrow(telling.era, ((2, 7), LAST))
        elif _OLD_CODE.search(line.text):
            telling.era = narrow(telling.era, (FIRST, (2, 8)))
        self.finished.append(telling)
        self.begin(telling)

    def standing(self) -> Standing:
        """The traceback that stands above this line."""
        return Standing(tuple(self._frames or ()), self._frame_owner, self._running)

    def stand(self, above: Standing) -> None:
        """Go back to the traceback that stood above an earlier line."""
        self._frames, self._frame_owner, self._running = list(above.frames), above.owner, above.running

    def begin(self, told: Context) -> None:
        """A message of a failure, recognised here or by another family: what stands before it and what
        follows belong to it.
        """
        text = told.line.text
        if root := ROOT.search(text):
            told.root = int(root["index"])
            told.era = narrow(told.era, ROOT.era)
        if wrapped := FUNCTION_NODE.search(text):
            told.function = wrapped["function"]
            eager = creation.eager_op(wrapped["function"])
            told.op = eager or told.op
            if eager:
                told.era = narrow(told.era, ((2, 9), LAST))
        if not self.origin:
            self._take_what_stands_above(told)
        self._told, self._age = told, 0
        in_summary = text.startswith(("FAILED ", "ERROR "))  # pytest's: the traceback stands elsewhere
        self._placeless = told.source is None and told.ran_at[0] is None and not in_summary

    def _take_what_stands_above(self, told: Context) -> None:
        """Headers and frames belong to Python's message; a line that C++ logged in between has none."""
        told.node_above, told.keras_layer = self._node_before, self._layer_before
        told.era = narrow(self._era_before, told.era)
        if self._frames and self._frame_owner == "before":
            if self._cause and _deepest_user_frame(self._cause)[0]:
                self._frames = self._cause  # of a worker, whose exception is only raised again
            place = _deepest_user_frame(self._frames)
            if self._running:
                told.ran_at = place
                told.frames = tuple(self._frames[-_MAX_FRAMES:])
            else:
                told.source, told.source_text = place
            told.updating = creation.is_updating(self._frames)
            told.optimizer = creation.optimizer_of(self._frames)
            ran = (creation.eager_op(told.function) or _op_alone(told.line.text)) if self._running else None
            told.creating = creation.is_creating(self._frames, ran, calling=told.keras_layer is not None)
            if told.creating and told.keras_layer is None:
                kind = creation.layer_type_of(self._frames)
                told.keras_layer = ("", kind) if kind else None
        if not told.ran_at[0]:
            told.ran_at = self._ran_before
        told.keras_call, self._keras_call = self._keras_call, None
        self._ran_before = (None, None)
        self._node_before = self._layer_before = None
        self._era_before = (FIRST, LAST)
        self._frames, self._frame_owner = None, "after"

    def _context(self, text: str, line: Line) -> bool:
        if match := DETECTED.search(text):
            if self._running and self._frames:
                self._ran_before = _deepest_user_frame(self._frames)
            self._node_before, self._frames, self._frame_owner = match["node"], [], "before"
            self._era_before = narrow(self._era_before, DETECTED.era)
            self._running = False
            return True
        if _DIRECT_CAUSE in text:
            self._cause, self._chained = self._frames if self._running else None, True
            return True
        if TRACEBACK.search(text):
            self._cause = self._cause if self._chained else None
            self._chained = False
            self._frames, self._frame_owner, self._running = [], "before", True
            return True
        if match := NODE_LINE.search(text):
            self._node_before = match["node"]
            self._era_before = narrow(self._era_before, NODE_LINE.era)
            return True
        if match := INSTRUCTION.search(text):
            self._node_before = match["node"]
            if match["file"]:
                self._frames, self._frame_owner = [Frame(f"{match['file']}:{match['line']}")], "before"
                self._running = False
            return True
        if match := KERAS_LAYER.search(text) or KERAS3_LAYER.search(text):
            parts = match.groupdict()
            self._layer_before = (parts.get("name") or "", parts["type"])
            rule = KERAS_LAYER if "name" in parts else KERAS3_LAYER
            self._era_before = narrow(self._era_before, rule.era)
            return True
        if self._called_with(text, line):
            return True
        if "[[" in text or "[Op:" in text:
            self.tags(text)
            return True
        return self._trace(text, line)

    def _trace(self, text: str, line: Line) -> bool:
        if defined := DEFINED_BELOW.search(text):
            self._ran_through(defined["file"])
            return True
        if self._frame(text) or self._origin(text):
            return True
        if text.startswith("Function call stack:"):
            self.era = narrow(self.era, ((2, 0), (2, 8)))
        if HINT.search(text):
            if self.current and self.current.hint is None:
                self.current.hint = line
                if "running in Eager mode" in text:
                    self.current.era = narrow(self.current.era, ((2, 5), LAST))
            return True
        return bool(BORING.search(text) or ROOTS.search(text))

    def _called_with(self, text: str, line: Line) -> bool:
        """A line of what the failing layer was called with, or the header above."""
        if ARGUMENTS.search(text):
            self._in_arguments = True
            return True
        match = ARGUMENT.search(text) if self._in_arguments else None
        self._in_arguments = bool(match)
        if match and self.current:
            if match["name"] == "training" and match["value"].strip() in ("True", "False"):
                self.current.training = match["value"].strip() == "True"
            tensors = re.finditer(TENSOR.pattern, match["value"])
            self.current.arguments += tuple(
                Argument(match["name"], _dimensions(tensor["shape"]), numpy_dtype(tensor["dtype"]), line)
                for tensor in tensors
            )
        return bool(match)

    def _frame(self, text: str) -> bool:
        """A line of a stack: a frame, or the code below it."""
        quoted = self._after_frame and text.strip() and not RAISED.match(text)
        if quoted and not (FRAME.search(text) or AUTOGRAPH_FRAME.search(text)):
            if self._frames:
                self._frames[-1] = self._frames[-1]._replace(text=text.strip())
                self._keep_frame(self.current)
                self._lend_frames()
            self.session = self.session or bool(SESSION_CODE.search(text))
            return True
        if self._cell(text) or self._of_another_language(text) or self._of_pytest(text):
            return True
        if match := FRAME.search(text) or AUTOGRAPH_FRAME.search(text):
            self._at_frame = True
            self._ran_through(match["file"])
            if match["name"] == "_do_call" and SESSION.search(match["file"]):
                self.era = narrow(self.era, era_of_session(int(match["line"])))
            if match["name"] in _KERAS_CALLS and _TRAINER.search(match["file"]):
                self._keras_call = match["name"]
            if self._frames is None and (self._told is None or self._placeless):
                self._frames, self._frame_owner, self._running = [], "before", True  # its head was not pasted
            if self._frames is not None:
                self._frames.append(Frame(f"{match['file']}:{match['line']}", name=match["name"] or ""))
                self._keep_frame(self.current)
                self._lend_frames()
            return True
        return False

    def _of_another_language(self, text: str) -> bool:
        """A frame of Java or Node: the first outside the libraries is the user's."""
        match = OTHER_FRAME.search(text)
        told = self.current
        if match and told and told.source is None and not _OTHER_LIBRARY.search(text):
            told.source = f"{match['file']}:{match['line']}"
        return bool(match)

    def _of_pytest(self, text: str) -> bool:
        """A frame as pytest prints it: the code stands above its place, with the name of a function below."""
        match = PYTEST_PLACE.search(text)
        if match is None:
            return False
        self._ran_through(match["file"])
        code = "" if match["name"] else self._above
        frame = Frame(f"{match['file']}:{match['line']}", code, match["name"] or "")
        if match["error"] and (told := self.current):
            told.frames = (*told.frames[-_MAX_FRAMES:], frame)
            place = _deepest_user_frame(told.frames)
            told.ran_at = place if place[0] else told.ran_at
            return True
        if self._frames is None or self._frame_owner != "before":
            self._frames, self._frame_owner, self._running = [], "before", True
        self._frames.append(frame)
        self._at_frame = bool(match["name"])
        self._lend_frames()
        return True

    def _cell(self, text: str) -> bool:
        """A frame as notebooks print it, or the line below that was running."""
        match = NOTEBOOK_FRAME.search(text) or CELL.search(text)
        if match:
            parts = match.groupdict()
            if parts.get("file"):
                self._ran_through(parts["file"])
            if self._frames is None and self.current is None:
                self._frames, self._frame_owner, self._running = [], "before", True
            if self._frames is not None:
                cell = parts.get("cell") or (f"In[{parts['number']}]" if parts.get("number") else "the cell")
                name = (parts.get("name") or "").rpartition(".")[2]
                self._frames.append(Frame(parts.get("file") or cell, name=name))
            return True
        headless = self._frames is None or (not self._frames and self._frame_owner == "before")
        if headless and self.current is None and (arrow := ARROW.search(text)):
            self._frames, self._frame_owner, self._running = [], "before", True  # its head was not pasted
            self._frames.append(Frame(f"the cell:{arrow['line']}", arrow["code"].strip()))
        if self._frames and not self._frames[-1].text and (arrow := ARROW.search(text)):
            last = self._frames[-1]
            self._frames[-1] = Frame(f"{last.place}:{arrow['line']}", arrow["code"].strip(), last.name)
            self._lend_frames()
            return True
        return False

    def _origin(self, text: str) -> bool:
        """The head of a stack that tells where an op, or the forward op behind it, was made."""
        telling = self.current
        if match := CAUSED_BY.search(text) or ORIGINAL.search(text):
            self.era = narrow(self.era, (CAUSED_BY if "Caused by" in text else ORIGINAL).era)
            self._frames, self._frame_owner = [], "after"
            if telling is None:  # the sentence that it explains comes again after it
                self._node_before, self._frame_owner, self._running = match["node"], "before", False
            elif telling.node is None:
                telling.node = match["node"]
            self._placed = telling is not None and telling.source is not None
            return True
        if match := FORWARD.search(text):
            self._frames, self._frame_owner = [], "forward"
            if telling and telling.forward_node is None:
                telling.forward_node = match["node"]
            return True
        return False

    def _ran_through(self, file: str) -> None:
        """What a file on the stack tells of the version and the front end."""
        self.era = narrow(self.era, era_of(file))
        self.session = self.session or bool(SESSION.search(file))

    def _lend_frames(self) -> None:
        """Let a message that nothing placed have the traceback that follows it."""
        lent = self._placeless and self._running and self._frame_owner == "before"
        if lent and self._frames and (told := self.current):
            frames = _outermost_first(self._frames)
            told.ran_at = _deepest_user_frame(frames)
            told.frames = tuple(frames[-_MAX_FRAMES:])

    def _keep_frame(self, telling: Context | None) -> None:
        if (
            telling
            and self._frames
            and self._frame_owner in ("after", "forward")
            and (not self._placed or self._frame_owner == "forward")
        ):
            source, text = _deepest_user_frame(_outermost_first(self._frames))
            if source:
                telling.source, telling.source_text = source, text

    def tags(self, text: str) -> None:
        """Take the nodes and ops that the text names in brackets."""
        telling = self.current
        if telling is None:
            for match in re.finditer(TAG.pattern, text):
                self.era = narrow(self.era, _tag_era(match.groupdict()))
            return
        wrapped = FUNCTION_NODE.search(text)
        if telling.function is None and wrapped and wrapped["function"].startswith("__inference_"):
            telling.function = wrapped["function"]
        for match in re.finditer(TAG.pattern, text):
            self._tag(telling, match.groupdict())
        if telling.node is None and (cut := CUT_TAG.search(text) or OPEN_TAG.search(text)):
            self._tag(telling, {**_NO_TAG, **cut.groupdict()})
        if tail := OP_TAIL.search(text):
            if tail["op"].startswith("__"):
                telling.function = telling.function or tail["op"]
                telling.era = narrow(telling.era, era_of_function(tail["op"]))
            elif telling.op is None or telling.function:
                telling.op = tail["op"]
            if tail["name"] and telling.node is None:
                telling.node = tail["name"].rstrip("/")

    def _tag(self, telling: Context, groups: dict[str, str | None]) -> None:
        node = groups["braced"] or groups["plain"] or groups["bare"]
        if not node or (telling.node is not None and telling.node != node):
            if node:
                telling.also.append(node)
            return
        if telling.node is None and _waits_for_a_copy(telling, groups):
            telling.era = narrow(telling.era, _tag_era(groups))
            return
        telling.node = node
        telling.op = telling.op or groups["op"]
        if groups["attrs"]:
            telling.attributes = attributes_of(groups["attrs"])
        if groups["inputs"]:
            telling.inputs = tuple(part.strip() for part in groups["inputs"].split(","))
        source = re.match(r"(?P<file>.+?):(?P<line>\d+)", groups["source"] or "")
        if source and user_frame(source["file"]):
            telling.source = telling.source or source[0]
        elif source:
            self._ran_through(source["file"])
        telling.era = narrow(telling.era, _tag_era(groups))


_TO_THE_CPU = regex(r"(?i)\brecv_device=\"[^\"]*\bcpu:\d")
_OF_THE_CPU = regex(r"(?i)\bcpu\b|host")


def _waits_for_a_copy(telling: Context, groups: dict[str, str | None]) -> bool:
    """Whether a node receives on the CPU what a GPU sends, and no message says that the CPU's memory ran out:
    a bystander that was told of the failure, whose type and device are none of the tensor's.
    """
    receives = groups["op"] in roles.RECEIVES and _TO_THE_CPU.search(groups["attrs"] or "")
    stated = (telling.device or telling.allocator or "") if isinstance(telling, OomMessage) else ""
    return bool(receives) and not _OF_THE_CPU.search(stated)


def _op_alone(text: str) -> str | None:
    """The op that ran by itself, as its message ends (`[Op:Sub]`); None of a function or a node."""
    tail = OP_TAIL.search(text) if "[[" not in text else None
    return tail["op"] if tail and not tail["op"].startswith("__") else None


_SPOKEN = regex(
    r"[^\x00-\x7f]"
    r"|\b(?!failed at\b|failed to\b|to create\b|create kernel\b)[a-z]{1,20} [a-z]{1,20}\b[ ,:`'\"]"
)
"""Somebody's words before a message that he ends where he likes: nothing that a release prints."""


def _sentence_era(groups: dict[str, str | None], text: str) -> Era | None:
    if groups["dims"]:
        return (FIRST, (0, 7))
    whole = "xhausted" in text and not text.startswith("# ")  # who writes a heading ends it where he likes
    bare = not groups["dtype"] and not groups["device"] and text.rstrip().endswith("]")
    if whole and bare and not _SPOKEN.search(text, 0, text.index("xhausted")):
        return ((0, 8), (1, 4))
    return ((1, 5), LAST) if groups["dtype"] and groups["device"] else None


def _tag_era(groups: dict[str, str | None]) -> Era | None:
    if groups["plain"] and groups["op"] and not groups["defined"]:
        return ((0, 5), (1, 11))
    if groups["plain"] and groups["defined"]:
        return ((1, 12), (1, 12)) if groups["op"] else ((1, 13), (2, 6))
    if groups["braced"]:
        return ((1, 11), (1, 13)) if groups["op"] else ((1, 12), LAST)
    return None


def _shape(groups: dict[str, str | None]) -> tuple[int, ...] | None:
    if groups["dims"]:
        return tuple(int(size) for size in re.findall(r"\d+", groups["dims"]))
    if groups["shape"] is not None:
        return tuple(int(size) for size in groups["shape"].replace(" ", "").split(",") if size)
    return None


def _dimensions(text: str) -> tuple[int | None, ...]:
    """`(8, None, 32)` as Keras prints it."""
    return tuple(None if part.strip() == "None" else int(part) for part in text.split(",") if part.strip())


def _outermost_first(frames: Sequence[Frame]) -> Sequence[Frame]:
    """Frames behind a message: a debugger (VS Code) begins with the innermost, and ends at the module."""
    module = "<module>"
    turned = len(frames) > 1 and frames[-1].name == module and frames[0].name not in (module, "")
    return frames[::-1] if turned else frames


def _deepest_user_frame(frames: Sequence[Frame]) -> tuple[str | None, str | None]:
    for place, text, _ in reversed(frames):
        if user_frame(place) and (text or _NUMBERED.search(place)):
            return place, text or None
    through_jax = any(_OF_JAX.search(place) for place, _, _ in frames)
    installed = (each for each in reversed(frames) if through_jax and project_frame(each.place) and each.text)
    return next(((each.place, each.text) for each in installed), (None, None))


_DIRECT_CAUSE = "The above exception was the direct cause of the following"
_OF_JAX = regex(r"-packages[\\/](?:jax|jaxlib|haiku|flax|equinox|torch_xla)[\\/]")
"""A program that is installed as a whole, through a library of which it has no other frames below."""
