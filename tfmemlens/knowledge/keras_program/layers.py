"""Layers of a followed program: what each makes when it is called, asked of the rules for Keras layers."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tfmemlens.knowledge.keras_layers import RULES as LAYERS
from tfmemlens.knowledge.keras_layers import LayerCall, LayerSpecs, UnsupportedLayer, describe
from tfmemlens.knowledge.keras_program.values import (
    UNKNOWN,
    External,
    Function,
    Layer,
    Names,
    Unknown,
    size_within,
    tensors_in,
)
from tfmemlens.knowledge.layer_calls import ARGUMENTS, OF_SLIM, OF_TF_LAYERS, SIZED, as_saved, of_slim
from tfmemlens.model.network import LayerSpec
from tfmemlens.model.tensor import TensorType

WRAPPERS = ("Bidirectional", "TimeDistributed", "SpectralNormalization", "RNN")
_WITH_SIZES = frozenset(
    (*SIZED, "input_dim", "output_dim", "num_heads", "key_dim", "value_dim", "axis", "dims", "n", "cropping")
)
"""Settings without which nothing can be said of what a layer makes."""
_MIXING = ("Conv", "Dense", "LSTM", "GRU", "SimpleRNN")
"""Layers whose output has as many features however many they read."""
_OF_LISTS = {
    "add": "Add",
    "concatenate": "Concatenate",
    "multiply": "Multiply",
    "average": "Average",
    "subtract": "Subtract",
    "maximum": "Maximum",
}
"""Keras's functions that join layers' outputs."""
_BINARY = ("add", "subtract", "multiply", "divide")
"""What is nearly always of the shape of the operand that is known, where the other is not."""
_MOST = (1 << 20) - 1


def made(path: str, given: list[Any], named: Names, node: ast.Call) -> Layer | None:
    """The layer that a call of a class makes; None where it is no layer of Keras's."""
    name = path.rpartition(".")[2]
    of_keras = "." not in path or "layers" in path or "keras" in path
    if name not in LAYERS or not of_keras or not name[:1].isupper():
        return None
    wrapped = None
    if name in WRAPPERS:
        wrapped = given[0] if given else named.get("layer", named.get("cell", UNKNOWN))
        given = given[1:]
    config = dict(zip(ARGUMENTS.get(name, ()), given, strict=False)) | named
    return Layer(name, config, node, wrapped)


def of_function(path: str, given: list[Any], named: Names, node: ast.Call) -> tuple[Layer, Any] | None:
    """The layer that a function of TensorFlow 1's `tf.layers` or of Keras stands for, and what it reads."""
    name = path.rpartition(".")[2]
    inputs = given[0] if given else named.get("inputs", UNKNOWN)
    if name in OF_SLIM and path.startswith(("slim.", "tf.contrib.", "tensorflow.contrib.")):
        class_name, config = of_slim(name, given[1:], named)
        return Layer(class_name, config, node), inputs
    if "layers" not in path:
        return None
    if name in OF_TF_LAYERS:
        class_name = OF_TF_LAYERS[name]
        config = dict(zip(ARGUMENTS[class_name], given[1:], strict=False)) | named
        return Layer(class_name, config, node), inputs
    if name in _OF_LISTS:
        return Layer(_OF_LISTS[name], named, node), inputs
    return None


def specs_of(layer: Layer, given: list[Any], named: Names) -> LayerSpecs:
    """What one call makes and owns; nothing where a size is not known."""
    inputs = tensors_in(given) + tensors_in([each for key, each in named.items() if key != "training"])
    spec = _spec(layer)
    if spec is None or not inputs or any(each.shape is None for each in inputs):
        return LayerSpecs(())
    arguments: dict[str, Any] = {str(at): _plain(each) for at, each in enumerate(given)}
    arguments |= {key: _plain(each) for key, each in named.items()}
    arguments = {key: each for key, each in arguments.items() if not isinstance(each, Unknown)}
    mixes = any(kind in layer.class_name for kind in _MIXING)
    opened = mixes and inputs[0].shape is not None and inputs[0].shape[-1:] == (None,)
    if opened:  # what it makes does not depend on how many channels it reads
        inputs[0] = TensorType((*(inputs[0].shape or ())[:-1], 1), inputs[0].dtype)
    try:
        specs = describe(LayerCall(spec, tuple(inputs), arguments))
    except UnsupportedLayer:
        return LayerSpecs(())
    return LayerSpecs(specs.outputs) if opened else specs


def _spec(layer: Layer) -> LayerSpec | None:
    """As Keras's files describe it; None where a size that it needs is not known."""
    if any(isinstance(layer.config.get(name), Unknown) for name in _WITH_SIZES):
        return None
    config = {key: _setting(each) for key, each in layer.config.items() if _is_plain(each)}
    inner: tuple[LayerSpec, ...] = ()
    if layer.class_name in WRAPPERS:
        wrapped = _spec(layer.wrapped) if isinstance(layer.wrapped, Layer) else None
        if wrapped is None:
            return None
        inner = (wrapped,)
    return LayerSpec("", layer.class_name, config, inner=inner)


def _setting(value: Any) -> Any:
    return value if isinstance(value, str) and value.startswith("channels") else as_saved(value)


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(isinstance(each, int | float | tuple | list) or each is None for each in value)
    return isinstance(value, int | float | str | bool)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return (
        value
        if isinstance(value, TensorType | int | float | str | bool | slice) or value in (None, Ellipsis)
        else UNKNOWN
    )


def operation(name: str, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """What an op of TensorFlow's, `keras.ops` or NumPy's makes of tensors; UNKNOWN where no rule tells."""
    inputs = tensors_in(list(given)) + tensors_in(list(named.values()))
    if name == "shape" and inputs and inputs[0].shape is not None:
        return tuple(UNKNOWN if side is None else side for side in inputs[0].shape)
    if not inputs or any(each.shape is None for each in inputs):
        return UNKNOWN
    if name in _BINARY and len(given) == 2:
        known = [each for each in given if not isinstance(each, Unknown)]
        given = known * 2 if len(known) == 1 else given
    if name == "reshape":
        given = [_open_sides(each) for each in given]
    if name == "cast":
        given = [each.path.rpartition(".")[2] if isinstance(each, External) else each for each in given]
        named = {
            key: each.path.rpartition(".")[2] if isinstance(each, External) else each
            for key, each in named.items()
        }
    arguments = {str(at): _plain(each) for at, each in enumerate(given)}
    arguments |= {key: _plain(each) for key, each in named.items() if key != "name"}
    if any(_holds_unknown(each) for each in arguments.values()):
        return UNKNOWN
    spec = LayerSpec("", name, {}, module="keras.ops")
    try:
        outputs = describe(LayerCall(spec, tuple(inputs), arguments)).outputs
    except UnsupportedLayer:
        return UNKNOWN
    if any(each.shape is None for each in outputs) or not outputs:
        return UNKNOWN
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


CELLS = {"SimpleRNNCell": 1, "GRUCell": 1, "LSTMCell": 2}
"""Cells of Keras and how many states each gives beside its output, all of one shape."""


def _open_sides(value: Any) -> Any:
    """A shape with -1 in the place of what nothing tells."""
    return (
        [-1 if isinstance(side, Unknown) else side for side in value]
        if isinstance(value, list | tuple)
        else value
    )


def _holds_unknown(value: Any) -> bool:
    if isinstance(value, slice):
        return any(not isinstance(end, int | None) for end in (value.start, value.stop, value.step))
    if isinstance(value, list):
        return any(map(_holds_unknown, value))
    return isinstance(value, Unknown)


def input_of(name: str, given: list[Any], named: Names) -> Any:
    """The tensor of `Input`, or of TensorFlow 1's `placeholder`."""
    shape = named.get("shape", named.get("input_shape"))
    whole = named.get("batch_shape", named.get("batch_input_shape"))
    if shape is None and whole is None:
        texts = (External, str)
        shape = next((each for each in given if not isinstance(each, texts) and not _is_type(each)), None)
    if name == "placeholder":
        whole, shape = shape, None
    sizes = whole if whole is not None else shape
    if isinstance(sizes, int):
        sizes = (sizes,)
    if not isinstance(sizes, tuple | list) or len(sizes) > 8:
        return UNKNOWN
    known = tuple(_side(each) for each in sizes)
    return TensorType(known if whole is not None else (None, *known), "float32")


def _side(value: Any) -> int | None:
    return size_within(value, _MOST)


def _is_type(value: Any) -> bool:
    return value is None or isinstance(value, Function | Unknown)


def known_sides(outputs: Iterable[TensorType]) -> bool:
    """Whether all sides but the batch are known."""
    return all(each.shape is not None and all(each.shape[1:]) for each in outputs)
