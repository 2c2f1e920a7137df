"""Shapes that a program states behind its lines: `u = params["user"]   # [N_USERS, DIM] f32`."""

from __future__ import annotations

from tfmemlens.knowledge.jax_arrays.values import JaxArray, JaxScope
from tfmemlens.patterns import regex

_SIZE = r"(?:[A-Za-z_]\w{0,40}|\d[\d_]{0,14})"
_SHAPE = regex(
    rf"#\s*(?:\w{{1,40}}\s*(?:is|:|=)?\s*|shape\s*(?:is|:|=)?\s*)?[\[(]\s*"
    rf"(?P<sizes>{_SIZE}(?:\s*,\s*{_SIZE}){{0,7}})"
    r"\s*,?\s*[\])]\s*(?:of |in )?(?P<dtype>\w{2,10})?"
)
_DTYPES = {
    "f32": "float32", "f16": "float16", "bf16": "bfloat16", "f64": "float64", "fp32": "float32",
    "fp16": "float16", "i32": "int32", "i64": "int64", "u8": "uint8", "i8": "int8", "bool": "bool",
}  # fmt: skip
_LONG = frozenset(_DTYPES.values())


def stated_array(text: str, scope: JaxScope) -> JaxArray | None:
    """The array that the comment of a line states, where the program gives each of its sizes a number."""
    match = _SHAPE.search(text)
    if match is None:
        return None
    sizes: list[int] = []
    for part in match["sizes"].split(","):
        word = part.strip()
        size = int(word.replace("_", "")) if word[0].isdecimal() else scope.find(word)
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            return None
        sizes.append(size)
    dtype = (match["dtype"] or "").lower()
    dtype = dtype if dtype in _LONG else _DTYPES.get(dtype, "float32")
    return JaxArray(tuple(sizes), dtype)
