"""What the frames above a failure tell of a weight or a slot that was being created."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.model.incident import Frame
from tfmemlens.patterns import regex

Frames = Sequence[Frame]
"""The outermost first."""

_OPTIMIZER = regex(
    r"keras[/\\](?:src[/\\])?optimizers|optimizer_v[12]|training[/\\](?:adam|optimizer|momentum"
    r"|rmsprop|adagrad)\w*\.py"
)
_OF_GRADIENTS = regex(r"_?(?:compute|get)_gradients|_compute_grad|_scale_loss|get_scaled_loss")
"""Functions of optimizers in which the gradients are made, and nothing is updated."""
_ASKS_FOR_GRADIENTS = regex(r"\.(?:_?(?:compute|get)_gradients|_compute_grad|gradient)\(")
"""The line of an optimizer's frame that calls one of these, where the frames end there."""
_OPTIMIZER_FILE = regex(
    r"(?:optimizers|optimizer_v[12]|training)[/\\](?:legacy[/\\])?"
    r"(?P<name>adam\w*|nadam|lamb|lion|rmsprop|adagrad|adadelta|ftrl|momentum|gradient_descent|sgd)\.py"
)
_CREATION = regex(
    r"init_ops(?:_v\d)?\.py|initializers\w*\.py|random_initializers|variable_scope\.py|\badd_weight\("
    r"|\badd_slot\("
    r"|\badd_variable(?:_from_reference)?\(|\badd_optimizer_variables\(|\bget_variable\("
)
"""Frames and lines of code that create a variable."""
_BUILDS = regex(
    r"\b(?:Dense|Embedding|LSTM|GRU|(?:Separable|Depthwise)?Conv[123]D(?:Transpose)?|MultiHeadAttention)\("
    r"|\blayers\.[A-Z]\w*\(|\bSequential\(\s*(?:\[|\Z)|\bapplications\.(?:\w+\.)?[A-Z]\w*\("
    r"|\bfrom_(?:config|pretrained)\("
    r"|\bbuild_(?!data|input|batch|feature|vocab|index|graph|tree|pipeline|target|label)\w*\("
    r"|\b(?:make|create|get|define|load|init)_\w*(?:model|net|coder|generator|critic|discriminator"
    r"|classifier)\w*\("
)
"""Lines of the user's that make a layer or a model."""
_FIRST_VALUES = regex(
    r"(?:Stateless)?(?:TruncatedNormal|RandomUniform|RandomStandardNormal|RandomNormal)(?:V\d)?"
    r"|Add(?:V2)?|Mul|Sub|Fill|Qr|Cast|(?:Zeros|Ones)Like|_?EagerConst|AssignVariableOp|Identity|Transpose"
)
"""Ops that initialisers run one by one in eager mode."""
_LAYER_FILE = regex(r"keras[/\\](?:src[/\\])?layers[/\\](?:\w+[/\\])*(?P<name>\w+)\.py")
_TYPES = {
    "embedding": "Embedding",
    "embeddings": "Embedding",
    "dense": "Dense",
    "einsum_dense": "EinsumDense",
    "multi_head_attention": "MultiHeadAttention",
    "lstm": "LSTM",
    "gru": "GRU",
}
"""Keras's layers by the file that holds one alone."""


def is_updating(frames: Frames) -> bool:
    """Whether the frames end in an optimizer's update: one that asks for the gradients is an optimizer's
    frame, too, and what they need is the model's.
    """
    within = [frame for frame in frames if _OPTIMIZER.search(frame.place)]
    if not within or _OF_GRADIENTS.fullmatch(within[-1].name):
        return False
    return within[-1].name.startswith("apply") or not _ASKS_FOR_GRADIENTS.search(within[-1].text)


def optimizer_of(frames: Frames) -> str | None:
    """The optimizer whose own file is among the frames: `adam`."""
    matches = (_OPTIMIZER_FILE.search(frame.place) for frame in reversed(frames))
    return next((match["name"] for match in matches if match), None)


def is_creating(frames: Frames, eager_op: str | None, *, calling: bool = False) -> bool:
    """Whether the frames create a variable: they go through its initialiser, or the user's line makes a layer
    and what ran by itself was an op of a first value. In a graph that line is where the layer's own ops were
    made, too, and below Keras's header of a layer's call (`calling`) it is where the call came from.
    """
    if any(_CREATION.search(f"{frame.place} {frame.text}") for frame in frames):
        return True
    if calling or eager_op is None or not _FIRST_VALUES.fullmatch(eager_op):
        return False
    return any(_BUILDS.search(frame.text) for frame in frames if user_frame(frame.place))


def layer_type_of(frames: Frames) -> str | None:
    """The type of Keras's layer whose weight is created, where its file holds no other."""
    names = [match["name"] for frame in frames if (match := _LAYER_FILE.search(frame.place))]
    return next((_TYPES[name] for name in reversed(names) if name in _TYPES), None)


def eager_op(function: str | None) -> str | None:
    """The op that ran by itself, without a graph: `__wrapped__Mul_device_...` is Mul."""
    match = re.match(r"__wrapped__(\w+?)_device_", function or "")
    return match[1] if match else None
