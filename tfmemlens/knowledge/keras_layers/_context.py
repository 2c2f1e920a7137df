"""What every layer rule gets and gives, and the arithmetic that many share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfmemlens.errors import NotUnderstood
from tfmemlens.model.network import LayerSpec, WeightSpec
from tfmemlens.model.tensor import TensorType, numpy_dtype
from tfmemlens.values import dataclass, field

Shape = tuple["int | None", ...]
MAX_SIZE = (1 << 63) - 1
"""The largest size that TensorFlow can count."""
_SHOWN = 40


class UnsupportedLayer(NotUnderstood):
    """A rule cannot say: the message tells the user why."""


class ImpossibleSize(UnsupportedLayer):
    """A size below 0: no Keras wrote this description."""


@dataclass(frozen=True, slots=True)
class LayerCall:
    """One call of a layer: its configuration and the types that it reads."""

    spec: LayerSpec
    inputs: tuple[TensorType, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Call arguments by name or position; tensors stand as TensorTypes."""
    dialect: str = "keras-3"

    @property
    def config(self) -> Mapping[str, Any]:
        """The layer's configuration."""
        return self.spec.config

    def get(self, *names: str, default: Any = None) -> Any:
        """The first of these settings that is there (Keras 1 had other names), else the default."""
        for name in names:
            if self.config.get(name) is not None:
                return self.config[name]
        return default

    def needed(self, *names: str) -> Any:
        """The first of these settings that is there. Raises UnsupportedLayer."""
        value = self.get(*names)
        if value is None:
            raise UnsupportedLayer(f"its setting {names[0]!r} is missing")
        return value

    def size(self, *names: str, default: int | None = None, least: int = 1) -> int:
        """A size among the settings, the default where it is left out. Raises UnsupportedLayer."""
        value = self.get(*names, default=default)
        return whole(self.needed(*names) if value is None else value, names[0], least)

    @property
    def shape(self) -> Shape:
        """The shape of the first input. Raises UnsupportedLayer."""
        if not self.inputs or self.inputs[0].shape is None:
            raise UnsupportedLayer("the shape of its input is not known")
        return self.inputs[0].shape

    @property
    def width(self) -> int | None:
        """The last side of the input. Raises UnsupportedLayer."""
        return self.sides(1)[-1]

    def sides(self, least: int) -> Shape:
        """The shape of the first input, which has so many sides at least. Raises UnsupportedLayer."""
        if len(self.shape) < least:
            raise UnsupportedLayer(f"it needs an input of rank {least} or more, and reads {list(self.shape)}")
        return self.shape

    @property
    def dtype(self) -> str:
        """What it computes in."""
        return compute_dtype(self.config.get("dtype"), self.inputs)

    @property
    def variable_dtype(self) -> str:
        """What its weights are kept in."""
        return variable_dtype(self.config.get("dtype"))

    @property
    def channels_first(self) -> bool:
        """Whether the channels stand before the grid."""
        return bool(self.get("data_format") == "channels_first" or self.get("dim_ordering") == "th")

    def grid(self, rank: int) -> tuple[Shape, int]:
        """The spatial sizes and the number of channels of an input with `rank` spatial dimensions. Raises
        UnsupportedLayer.
        """
        shape = self.shape
        if len(shape) != rank + 2:
            raise UnsupportedLayer(f"it needs an input of rank {rank + 2}, and reads {list(shape)}")
        space, channels = (shape[2:], shape[1]) if self.channels_first else (shape[1:-1], shape[-1])
        if channels is None:
            raise UnsupportedLayer("the number of channels of its input is not known")
        return space, channels

    def placed(self, space: Sequence[int | None], channels: int | None) -> Shape:
        """A batch of such grids, the channels where this layer wants them."""
        batch = self.shape[0]
        return (batch, channels, *space) if self.channels_first else (batch, *space, channels)

    def weight(
        self, name: str, *shape: int | None, trainable: bool = True, dtype: str | None = None
    ) -> WeightSpec:
        """A weight in the layer's own dtype. Raises UnsupportedLayer where a size is."""
        if any(size is None for size in shape):
            raise UnsupportedLayer(
                f"the size of its {name} depends on an input size that is not known; give --input-shape"
            )
        sizes = tuple(int(size) for size in shape if size is not None)
        return WeightSpec(name, sizes, dtype or self.variable_dtype, trainable and self.spec.trainable)

    def specs(
        self,
        shape: Sequence[int | None] | None,
        weights: Sequence[WeightSpec] = (),
        formula: str = "",
        dtype: str | None = None,
    ) -> LayerSpecs:
        """One output of this shape."""
        return LayerSpecs(
            (TensorType(None if shape is None else tuple(shape), dtype or self.dtype),),
            tuple(weights),
            formula,
        )


@dataclass(frozen=True, slots=True)
class LayerSpecs:
    """What a layer makes and owns."""

    outputs: tuple[TensorType, ...]
    weights: tuple[WeightSpec, ...] = ()
    formula: str = ""


Rule = Callable[[LayerCall], LayerSpecs]


def policy(value: object) -> str | None:
    """The name of a dtype or dtype policy, however it is spelled."""
    if isinstance(value, Mapping):
        config = value.get("config")
        return policy(config.get("name")) if isinstance(config, Mapping) else policy(value.get("name"))
    return value if isinstance(value, str) else None


def compute_dtype(value: object, inputs: Sequence[TensorType] = ()) -> str:
    """What a layer with this policy computes in; without one what it reads, if these are numbers."""
    name = policy(value)
    if name is None:
        read = next((each.dtype for each in inputs if each.dtype and "float" in each.dtype), None)
        return read or "float32"
    return numpy_dtype(name.removeprefix("mixed_"))


def variable_dtype(value: object) -> str:
    """What a layer with this policy keeps its weights in: float32 under a mixed policy."""
    name = policy(value)
    return "float32" if name is None or name.startswith("mixed_") else numpy_dtype(name)


def whole(value: object, name: str, least: int = 0) -> int:
    """A whole number of a configuration. Raises UnsupportedLayer where it is something else or too small."""
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    if not isinstance(number, int) or isinstance(number, bool):
        raise UnsupportedLayer(f"its setting {name!r} is {_shown(value)}, and not a whole number")
    if number < 0 <= least:
        raise ImpossibleSize(f"its setting {name!r} is {_shown(value)}")
    if not least <= number <= MAX_SIZE:
        raise UnsupportedLayer(f"its setting {name!r} is {_shown(value)}")
    return number


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def listed(value: object, name: str) -> list[Any]:
    """A list of a configuration. Raises UnsupportedLayer where it is none."""
    if not isinstance(value, list | tuple):
        raise UnsupportedLayer(f"its setting {name!r} is {_shown(value)}, and not a list")
    return list(value)


def sides_of(value: object, name: str) -> list[int | None]:
    """A shape in a configuration, None for a side that is open. Raises UnsupportedLayer."""
    return [None if side is None else whole(side, name) for side in listed(value, name)]


def tuple_of(value: object, rank: int, name: str, least: int = 1) -> tuple[int, ...]:
    """`3`, `[3, 3]` or `[3]` as so many integers. Raises UnsupportedLayer."""
    values = listed(value, name) if isinstance(value, list | tuple) else [value]
    if len(values) not in (1, rank):
        raise UnsupportedLayer(f"its setting {name!r} has {len(values)} numbers for {rank} dimensions")
    return tuple(whole(each, name, least) for each in (values * rank if len(values) == 1 else values))


def place_of(axis: object, rank: int) -> int:
    """An axis, counted from the front. Raises UnsupportedLayer where the input has no such axis."""
    number = whole(axis, "axis", -MAX_SIZE)
    if not -rank <= number < rank:
        raise UnsupportedLayer(f"its axis is {number}, its input of rank {rank}")
    return number % rank


def window(size: int | None, kernel: int, stride: int, padding: str, dilation: int = 1) -> int | None:
    """How many positions a window takes: SAME ceil(i/s), VALID ceil((i-(k-1)*d)/s)
    (`common_shape_fns.cc`).
    """
    if size is None:
        return None
    reach = (kernel - 1) * dilation + 1
    if padding == "full":  # Keras 1 with Theano
        return (size + reach - 1 + stride - 1) // stride
    return max(-(-size // stride) if padding in ("same", "causal") else -(-(size - reach + 1) // stride), 0)


def product(sizes: Sequence[int | None]) -> int | None:
    """The product, None where a factor is unknown."""
    return (
        None if any(size is None for size in sizes) else math.prod(size for size in sizes if size is not None)
    )


def times(*factors: object) -> str:
    """`5*5*32`, factors of 1 left out unless nothing else is there, those of a kernel kept by the caller."""
    return "*".join(str(factor) for factor in factors)


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """The shape of an element-wise op over these. Raises UnsupportedLayer where they do not fit."""
    rank = max(map(len, shapes), default=0)
    joint: list[int | None] = []
    for column in zip(*[(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes], strict=True):
        sizes = {size for size in column if size not in (1, None)}
        if len(sizes) > 1:
            raise UnsupportedLayer(f"shapes {[list(shape) for shape in shapes]} do not fit together")
        unknown = None if None in column else 1
        joint.append(sizes.pop() if sizes else unknown)
    return tuple(joint)


def same(call: LayerCall) -> LayerSpecs:
    """The shape of the input, the layer's own dtype."""
    return call.specs(call.shape)


def unchanged(call: LayerCall) -> LayerSpecs:
    """The type of the input."""
    return LayerSpecs((TensorType(call.shape, call.inputs[0].dtype),))
