"""Optimizer slots and update ops by name: tf.train, tf.keras of every era, Keras 3."""

from __future__ import annotations

import re

from tfmemlens.attribution.names import vocabulary as words
from tfmemlens.patterns import regex

_TF1 = regex(
    rf"(?P<x>.+)/(?:{'|'.join(sorted(words.TF1_SLOTS))})(?:_\d+)?(?:/(?:read|Assign|Read/ReadVariableOp"
    rf"|Initializer/.*))?\Z"
)
_OPTIMIZER = (
    rf"(?:training(?:_\d+)?/)?(?:{'|'.join(sorted(words.KERAS_OPTIMIZERS, key=len, reverse=True))})(?:_\d+)?"
)
_TAIL = r"(?:/(?:read|Assign\w*|Read/ReadVariableOp|Initializer/.*|ReadVariableOp(?:_\d+)?))?"
_KERAS = regex(
    rf"(?:{_OPTIMIZER}/)+(?P<x>.+)/(?:{'|'.join(sorted(words.KERAS_SLOTS, key=len, reverse=True))}){_TAIL}\Z"
)
_KERAS_NEW = regex(rf"{_OPTIMIZER}/(?:m|v|vhat|momentum|velocity|accumulator|r|c)/(?P<x>.+?){_TAIL}\Z")
_KERAS3 = regex(
    rf"(?:{'|'.join(sorted(words.KERAS_OPTIMIZERS))})(?:_\d+)?/(?P<x>.+)_"
    rf"(?:{'|'.join(sorted(words.KERAS3_SLOTS, key=len, reverse=True))}){_TAIL}\Z"
)
_BEGINNINGS = ("training", *sorted(words.KERAS_OPTIMIZERS))
"""One of these begins each slot of Keras: few names are tried further."""
_UNIQUE = regex(r"_\d+\Z")
_UPDATE = regex(rf"(?:.*/)?(?:{_OPTIMIZER}/)?update_(?P<x>.+)/(?P<op>[^/]+)\Z")
_COUNTERS = regex(r"(?:.*/)?(?:beta[12]_power|global_step)(?:_\d+)?(?:/.*)?")
_UNDER_OPTIMIZER = regex(rf"(?:\w+/)?{_OPTIMIZER}/(?!gradients|gradient_tape)(?P<x>.+)\Z")
_IS_TRAINING = regex(r"training(?:_\d+)?/")


def slot_of(name: str) -> str | None:
    """The variable that a slot belongs to, None if the name is no slot: `conv/kernel/Adam_1` belongs to
    `conv/kernel`.
    """
    if "update_" in name:
        return None
    if match := _TF1.match(name):
        return match["x"]
    for pattern in (_KERAS_NEW, _KERAS, _KERAS3) if name.startswith(_BEGINNINGS) else ():
        if match := pattern.match(name):
            return _variable_path(match["x"]) if pattern is _KERAS3 else match["x"]
    if _COUNTERS.fullmatch(name):
        return name.partition("/")[0]
    return None


def _variable_path(flat: str) -> str:
    """Keras 3 flattens `enc_conv/kernel` to `enc_conv_kernel`; the last word is the variable."""
    match = re.match(
        rf"(?P<layer>.+)_(?P<variable>{'|'.join(sorted(words.VARIABLES, key=len, reverse=True))})\Z", flat
    )
    return f"{match['layer']}/{match['variable']}" if match else flat


def _without_ops(path: str) -> str:
    """`w` of `w/ResourceApplyAdam`: what an update consists of stands under its variable."""
    parts = path.split("/")
    while len(parts) > 1 and _UNIQUE.sub("", parts[-1]) in words.OPS | words.FUNCTION_SCOPES:
        parts.pop()
    return "/".join(parts)


def update_of(name: str) -> str | None:
    """What an update op works on (`Adam/update_conv/kernel/ApplyAdam`: `conv/kernel`), "" if on no single
    layer, None if it is no update op.
    """
    if "update_" in name and (match := _UPDATE.match(name)):
        return "" if match["x"].isdigit() else _without_ops(match["x"])
    if _UNDER_OPTIMIZER.match(name) or _IS_TRAINING.match(name):
        return ""
    return None
