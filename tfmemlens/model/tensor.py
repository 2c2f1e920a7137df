"""Shapes and dtypes: how many bytes a tensor needs, whatever dialect names its type."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tfmemlens.values import dataclass

_BY_SIZE = {
    1: "bool int8 uint8 qint8 quint8 float8_e5m2 float8_e4m3fn int4 uint4",
    2: "float16 bfloat16 int16 uint16 qint16 quint16",
    4: "float32 int32 uint32 qint32",
    8: "float64 int64 uint64 complex64",
    16: "complex128",
}
ITEM_BYTES: dict[str, int] = {name: size for size, names in _BY_SIZE.items() for name in names.split()}
"""Bytes of one element, by NumPy's name; `string`, `resource` and `variant` are absent: their size is not
shape x dtype.
"""

_MAX_BYTES = 2**80
"""Far beyond every memory and every product of sizes that a program can ask for by mistake."""

_DIALECTS = {
    "float": "float32",
    "half": "float16",
    "double": "float64",
    "pred": "bool",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
    "f8e5m2": "float8_e5m2",
    "f8e4m3fn": "float8_e4m3fn",
    **{f"s{bits}": f"int{bits}" for bits in (4, 8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (4, 8, 16, 32, 64)},
}

DATA_TYPES: dict[int, str] = dict(
    enumerate(
        """
            float32 float64 int32 uint8 int16 int8 string complex64 int64 bool qint8 quint8 qint32 bfloat16
            qint16 quint16 uint16 complex128 float16 resource variant uint32 uint64 float8_e5m2 float8_e4m3fn
        """.split(),
        start=1,
    )
)
"""TensorFlow's DataType enum (`types.proto`); a value above 100 is a reference to the type 100 below."""


def numpy_dtype(name: str) -> str:
    """NumPy's name of a dtype written the way of TensorFlow (`float`, `DT_HALF`), XLA (`bf16`, `s32`) or
    NumPy.
    """
    if name[:1] in _ORDERS:
        return name
    plain = name.strip().lower().removeprefix("dt_").removeprefix("tf.").removesuffix("_ref")
    return _DIALECTS.get(plain, plain)


def numpy_dtype_of_enum(value: int) -> str | None:
    """NumPy's name of a DataType enum value, None for DT_INVALID and values we do not know."""
    return DATA_TYPES.get(value - 100 if value > 100 else value)


def enum_of(name: str) -> int:
    """The DataType enum value of TensorFlow's name: `DT_FLOAT` is 1, `DT_FLOAT_REF` 101, 0 for names we do
    not know.
    """
    plain = numpy_dtype(name)
    number = next((number for number, known in DATA_TYPES.items() if known == plain), 0)
    return number + 100 if number and name.endswith("_REF") else number


_ORDERS = ("<", ">", "|", "=")
"""With which NumPy's names of a text's dtype begin."""


def text_bytes(dtype: str) -> int | None:
    """The bytes of one element of NumPy's arrays of text: `<U1043` has room for so many characters of 4 bytes
    each, `|S20` for bytes.
    """
    order, kind, letters = dtype[:1], dtype[1:2].lower(), dtype[2:]
    if order not in _ORDERS or kind not in ("u", "s") or not letters.isdecimal():
        return None
    return int(letters) * (4 if kind == "u" else 1) or None


def tensor_bytes(shape: Sequence[int | None] | None, dtype: str | None) -> int | None:
    """Bytes of shape x dtype; None when a dimension, the rank or the element's size is unknown, and where no
    machine could count them: such a shape is garbled.
    """
    item = ITEM_BYTES.get(dtype or "") or text_bytes(dtype or "")
    if shape is None or item is None or any(size is None for size in shape):
        return None
    count = math.prod(size for size in shape if size is not None) * item
    return count if abs(count) <= _MAX_BYTES else None


@dataclass(frozen=True, slots=True)
class TensorType:
    """The shape and dtype of one tensor."""

    shape: tuple[int | None, ...] | None
    dtype: str | None

    @property
    def bytes(self) -> int | None:
        """Bytes of shape x dtype, None where unknown."""
        return tensor_bytes(self.shape, self.dtype)

    def __str__(self) -> str:
        return f"{format_shape(self.shape)} {self.dtype or 'of unknown type'}"


@dataclass(frozen=True, slots=True)
class Constant(TensorType):
    """The type of a constant, with its values where they are few whole numbers: an axis, a permutation,
    paddings.
    """

    values: tuple[int, ...] | None = None


def format_shape(shape: Sequence[int | None] | None) -> str:
    """`[2,720,1280,64]`, `[?,10]`, or `[?]` where the rank is unknown."""
    return "[?]" if shape is None else f"[{','.join('?' if size is None else str(size) for size in shape)}]"


def parse_shape(text: str) -> tuple[int | None, ...]:
    """A shape as people type it: `2x720x1280x9`, `2,720,1280,9` or `[2, 720, 1280, 9]`; `?` or `None` is
    unknown. Raises ValueError.
    """
    bare = text.strip().strip("[]()").lower().replace("x", ",").replace("*", ",")
    parts = [part.strip() for part in bare.split(",") if part.strip()]
    if wrong := [part for part in parts if part not in ("?", "none") and not part.lstrip("-").isdecimal()]:
        raise ValueError(f"not a shape: {text!r} ({wrong[0]!r} is no size)")
    if not parts:
        raise ValueError(f"not a shape: {text!r}")
    sizes = tuple(None if part in ("?", "none", "-1") else int(part) for part in parts)
    if any(size is not None and size < 0 for size in sizes):
        raise ValueError(f"a dimension cannot be negative: {text!r}")
    return sizes
