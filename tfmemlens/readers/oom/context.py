"""What stands around the message of a failure, whichever family of lines recognised the message itself: the
node, its op, the user's code.
"""

from __future__ import annotations

from tfmemlens.model.incident import Argument, Frame
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import ITEM_BYTES, numpy_dtype
from tfmemlens.patterns import regex
from tfmemlens.readers.oom.rules import FIRST, LAST, Era
from tfmemlens.values import dataclass, field

Attributes = tuple[tuple[str, str], ...]

_CALL = regex(r".+/(?:Stateful|Stateless)?PartitionedCall(?:_\d+)?\Z")
_ATTRIBUTE = regex(r"(\w+)=(\[[^\]]*\]|\"[^\"]*\"|Tensor<[^>]*>|[^,\[\]]+)")
_CONSTANT = regex(r"Tensor<type: (?P<dtype>\w+) shape: \[(?P<shape>[\d,]*)\]")
_OUTPUT = ("DstT", "dtype", "tensor_type", "output_type", "out_type", "elem_type", "T", "Tparams", "Tidx")
"""Attributes that name the dtype of an op's output, the first that is there."""
_BOOLEAN = regex(r"(?:Not)?Equal|(?:Greater|Less)(?:Equal)?|Logical\w+|Is(?:Nan|Inf|Finite)|ApproximateEqual")
_OF_ANOTHER_TYPE = regex(
    r"Arg(?:Max|Min)|Where|Shape(?:N)?|Size|Rank|ListDiff|NonMaxSuppression\w*|SearchSorted|(?:Lower"
    r"|Upper)Bound|InTopK\w*"
)


@dataclass
class Context:
    """One time that the log tells a failure, with what the lines around it say."""

    line: Line
    node: str | None = None
    node_above: str | None = None
    """The node that a header above the message names: the message's own brackets know better."""
    op: str | None = None
    attributes: Attributes = ()
    inputs: tuple[str, ...] = ()
    function: str | None = None
    source: str | None = None
    source_text: str | None = None
    ran_at: tuple[str | None, str | None] = (None, None)
    """The user's line in the traceback of the exception itself: what ran, where nothing tells what created
    the op.
    """
    frames: tuple[Frame, ...] = ()
    """The traceback of the exception itself, the outermost frame first."""
    forward_node: str | None = None
    keras_layer: tuple[str, str] | None = None
    arguments: tuple[Argument, ...] = ()
    hint: Line | None = None
    in_python: bool = False
    root: int | None = None
    era: Era = (FIRST, LAST)
    also: list[str] = field(default_factory=list)
    """Nodes named in later brackets: the fetch side, or the calls that led to the failing op."""
    updating: bool = False
    """Whether the op was created inside an optimizer, as the traceback of its creation shows."""
    creating: bool = False
    """Whether the frames create a weight or a slot."""
    optimizer: str | None = None
    """The optimizer whose file is among the frames: `adam`."""
    keras_call: str | None = None
    """The method of a Keras model that the traceback goes through, the last one."""
    training: bool | None = None
    """What the failing layer was told: `training=True`."""

    @property
    def pipeline(self) -> bool:
        """Whether it failed in a function of the input pipeline: the training step waits for the next
        element, or the function bears the name of a data set's transformation.
        """
        waiting = any("/IteratorGetNext" in f"/{node}" for node in self.also)
        return waiting or "_Dataset_" in f"{self.function}{self.node}"

    @property
    def caller(self) -> str | None:
        """The outermost call of a function that the failing op ran in: `reader/lstm_a/PartitionedCall`."""
        return next((node for node in reversed(self.also) if _CALL.search(node)), None)


def attributes_of(text: str) -> Attributes:
    """The attributes inside a NodeDef's brackets: `T=DT_FLOAT, data_format="NHWC"`."""
    return tuple((name, value.strip()) for name, value in _ATTRIBUTE.findall(text))


def output_dtype(op: str | None, attributes: Attributes) -> str | None:
    """The dtype of an op's output, as its attributes state it: sentences of TF <= 1.4 name none."""
    if op and _BOOLEAN.fullmatch(op):
        return "bool" if attributes else None
    stated = dict(attributes)
    names = _OUTPUT[:5] if op and _OF_ANOTHER_TYPE.fullmatch(op) else _OUTPUT
    dtype = next(
        (numpy_dtype(stated[name]) for name in names if stated.get(name, "").startswith("DT_")), None
    )
    return dtype if dtype in ITEM_BYTES else None


def constant_type(attributes: Attributes) -> tuple[tuple[int, ...], str] | None:
    """Shape and dtype of a Const whose value its NodeDef shows: `value=Tensor<type: float shape: [32768,2048]
    values: [0 0 0]...>`.
    """
    match = _CONSTANT.match(dict(attributes).get("value", ""))
    if not match:
        return None
    return tuple(int(size) for size in match["shape"].split(",") if size), numpy_dtype(match["dtype"])
