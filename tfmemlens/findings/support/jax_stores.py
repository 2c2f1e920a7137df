"""Arrays of JAX that a program makes at their full size and fills later: how many of their rows fit, which
setting counts them, and where else they can lie.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.knowledge.jax_arrays import Followed, Noted
from tfmemlens.knowledge.jax_arrays.table import UPDATING
from tfmemlens.model.finding import Certainty, Remedy
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, human

CREATES = frozenset("zeros ones empty full zeros_like ones_like full_like empty_like".split())
_ROWS = 2000
_LITTLE = GIB
_OF_A_STORE = 4 * GIB
"""So much of a store most devices and machines hold beside what else runs."""
_WHOLE_NUMBERS = frozenset({"uint8", "int8", "bool", "int32", "int16"})
_PICTURE = 16


def main_side(shape: Sequence[int]) -> tuple[int, int]:
    """The size that matters most, and its place: the first, where it counts samples; else the largest."""
    largest = shape[0] if shape and shape[0] >= _ROWS else max(shape, default=1)
    return largest, list(shape).index(largest) if shape else 0


def that_fit(whole: int, side: int, room: int = _LITTLE) -> tuple[int, int]:
    """A round number of the side's entries that take no more than this, and what they take."""
    each = max(whole // side, 1)
    most = max(min(room // each, side // 2), 1)
    power = 10 ** (len(str(most)) - 1)
    few = most // power * power
    return few, few * each


def _round_root(number: int, power: int) -> int:
    """A round number whose power is no larger."""
    root = int(float(number) ** (1.0 / power))
    tens = 10 ** (len(str(root)) - 1)
    return int(root // tens * tens)


def _as_large(made: Noted, followed: Followed) -> list[Noted]:
    """Arrays that the program makes beside it in the same way, each with a line of its own."""
    return [
        each
        for each in followed.arrays
        if each.name in CREATES
        and each.line != made.line
        and each.way[:-1] == made.way[:-1]
        and (each.array.shape, each.array.dtype) == (made.array.shape, made.array.dtype)
    ]


def _written(made: Noted, followed: Followed) -> Noted | None:
    """What writes into an array of this shape."""
    shape = made.array.shape
    return next(
        (each for each in followed.arrays if each.name in UPDATING and each.array.shape == shape), None
    )


def fewer(made: Noted, followed: Followed) -> Remedy:
    """A smaller one: by its setting, with what is left."""
    side, at = main_side(made.array.shape)
    beside = _as_large(made, followed)
    all_of_them = made.array.bytes * (1 + len(beside))
    name = followed.names.get(side)
    power = made.array.shape.count(side) if name else 1
    few, takes = that_fit(all_of_them, side**power, _OF_A_STORE)
    if power > 1:  # both sides are this setting
        few = max(_round_root(few, power), 1)
        takes = max(all_of_them // side**power, 1) * few**power
    lower = f"lower `{name}`, its {side:,}" if name else f"make it smaller: of its {side:,}"
    where = "" if name else f" (size {at + 1} of {len(made.array.shape)})"
    other = f" with {beside[0].line.place}, which asks for as much again" if beside else ""
    return Remedy(
        f"{lower}{where}: {few:,} take {human(takes)}{other}",
        saves_bytes=made.array.bytes - few * (made.array.bytes // side) if power == 1 else None,
        certainty=Certainty.ESTIMATE,
        slug="smaller-buffer",
    )


def store(made: Noted, followed: Followed) -> list[Remedy]:
    """What helps an array that is filled bit by bit; of one that nothing writes into, fewer rows."""
    if is_cache_of_keys(made, followed):
        return [*_narrower_cache(made), _FEWER_TEXTS]
    written, smaller = _written(made, followed), fewer(made, followed)
    narrow = [_narrow(made)] if _of_pictures(made) else []
    if written is None:
        return [smaller, *narrow]
    if written.times > 1:
        return [_of_some_turns(made, written), smaller]
    if made.array.dtype in _WHOLE_NUMBERS or _as_large(made, followed):  # samples, with those that follow
        return [smaller, *narrow, _on_the_host(made)]
    if narrow:
        return [*narrow, smaller, _on_the_host(made)]
    return [_computed_again(made, written), _on_the_host(made), smaller]


_CACHE = regex(r"(?i)(?:\b|_)(?:kv_?|key_?value_?)?caches?\b|\bpast_key_values?\b")
_OF_POSITIONS = 4
"""Sides of a cache: sequences, positions, heads, and what a head has; of layers in one array five."""


def is_cache_of_keys(made: Noted, followed: Followed) -> bool:
    """Whether it is the cache of a decoder's keys and values, by its name and form, beside attention."""
    named = any(_CACHE.search(line.text) for line in made.way)
    attends = any(each.name == "softmax" for each in followed.arrays)
    return named and attends and len(made.array.shape) >= _OF_POSITIONS


def _narrower_cache(made: Noted) -> list[Remedy]:
    if made.array.dtype not in ("float32", "float64"):
        return []
    text = "keep the cache in bfloat16, with which attention computes as well"
    half = made.array.bytes // 2
    code = "cache = jnp.zeros(shape, jnp.bfloat16)   # keys and values: k.astype(jnp.bfloat16)"
    return [Remedy(text, code, half, Certainty.EXACT, slug="narrow-array")]


_FEWER_TEXTS = Remedy(
    "generate for fewer prompts at a time, and allow shorter texts: a cache of keys and values is as large as"
    " layers x prompts x length",
    slug="smaller-generation",
)


def _of_pictures(made: Noted) -> bool:
    """Whether it has the form of pictures in floats: rows, height, width, a few channels."""
    shape = made.array.shape
    sides = shape[-3:-1]
    form = len(shape) > len(sides) + 1 and min(sides) >= _PICTURE and shape[-1] in (1, 3, 4)
    return made.array.dtype == "float32" and form


def _of_some_turns(made: Noted, written: Noted) -> Remedy:
    turns = written.times
    step = next((each for each in (100, 10, 2) if turns >= 10 * each), 1)
    kept = -(-turns // step)
    left = human(made.array.bytes // turns * kept)
    return Remedy(
        f"keep every {step}th of the {turns:,} turns that {written.line.place} writes: {kept:,} take {left};"
        " or reduce each turn in the carry, or run a block of turns at a time, and bring each to the host",
        f"state = jax.lax.fori_loop(0, {step}, turn, state)   # writes nothing; then: h = h.at[i].set(...)",
        made.array.bytes // turns * (turns - kept),
        Certainty.ESTIMATE,
        slug="stack-less",
    )


def _computed_again(made: Noted, written: Noted) -> Remedy:
    at = written.way[-2] if len(written.way) > 1 else written.line
    return Remedy(
        f"do not keep all of it: compute what {at.place} writes into it for one batch at a time, where it is"
        " read; or keep less of each row (a reduced value, its best few)",
        saves_bytes=made.array.bytes,
        certainty=Certainty.ESTIMATE,
        slug="stack-less",
    )


def drawn_in_parts(made: Noted, followed: Followed) -> list[Remedy]:
    """Random numbers that are no weights: a key gives a part of them as well."""
    shape = made.array.shape
    if len(shape) < _OF_DATA or any(
        each.name == "gradient" and each.array.shape == shape for each in followed.arrays
    ):
        return []
    name = followed.names.get(shape[0])
    where = f" (`{name}`)" if name else ""
    return [
        Remedy(
            f"draw it in parts, each where it is used: one of its {shape[0]:,}{where}"
            f" takes {human(made.array.bytes // shape[0])}",
            f"part = jax.random.{made.name}(jax.random.fold_in(key, i), shape[1:])",
            made.array.bytes - made.array.bytes // shape[0],
            Certainty.ESTIMATE,
            slug="in-pieces",
        ),
        fewer(made, followed),
    ]


_OF_DATA = 3


def taken_alone(made: Noted, followed: Followed) -> list[Remedy]:
    """Where the program computes all of it, and takes a few of its values by their indices."""
    taken = next((each for each in followed.arrays if each.taken_of == made.array.shape), None)
    if taken is None or taken.array.bytes * _FEW > made.array.bytes or len(made.array.shape) < _OF_PAIRS:
        return []
    return [
        Remedy(
            f"compute only what {taken.line.place} takes of it ({human(taken.array.bytes)}): take the rows of"
            " its operands by the same indices first, and multiply these",
            "values = (a[i] * b[j]).sum(-1)   # instead of (a @ b.T)[i, j]",
            made.array.bytes - taken.array.bytes,
            Certainty.ESTIMATE,
            slug="in-pieces",
        )
    ]


_FEW, _OF_PAIRS = 100, 2


def _on_the_host(made: Noted) -> Remedy:
    return Remedy(
        "keep it in NumPy on the host (more than its RAM in a file that is mapped), and copy the rows of one"
        " step to the device",
        f"store = np.lib.format.open_memmap('store.npy', 'w+', '{made.array.dtype}',"
        f" {format_shape(made.array.shape).replace('[', '(').replace(']', ')')})\n"
        "store[i] = row; batch = jax.device_put(store[rows])",
        slug="one-batch-to-the-device",
    )


def _narrow(made: Noted) -> Remedy:
    return Remedy(
        "keep pictures in uint8, a quarter of this, and convert what a step takes of them",
        f"jnp.{made.name.removesuffix('_like')}(shape, jnp.uint8)",
        made.array.bytes * 3 // 4,
        Certainty.EXACT,
        slug="narrow-copy",
    )
