"""What a line of JAX code makes: a shape that it states, pairs of rows, one-hot rows, copies; and what would
make less.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import pairwise

from tfmemlens.model.finding import Basis, Remedy
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import MIB
from tfmemlens.values import dataclass

_LEAST_BYTES = 64 * MIB
"""A smaller request fails for what is held beside it, and no call explains that."""

_PROGRAM = regex(r"_step\w*\(|\bstep\(|\.fit\(")
"""A call of a compiled step, whose temporaries the request stands for."""
_LITERAL = regex(
    r"\b(?:jnp|np|jax\.numpy|random|lax)\.(?P<call>\w+)\((?P<before>[^()]*?)\(\s*(?P<sizes>\d[\d_]*(?:\s*,\s*\d[\d_]*)*)\s*,?\s*\)"
)
_SQUARE = regex(r"\bjnp\.(?P<call>eye|identity|tri)\(\s*(?P<side>\d[\d_]*)\b")
_NEW_AXIS = regex(r"\[[^\]]*(?:\bNone\b|newaxis)[^\]]*\]")
_EINSUM = regex(r"einsum\(\s*['\"](?P<terms>[A-Za-z., ]+)->(?P<made>[A-Za-z. ]*)['\"]")
_CLASSES = regex(r"one_hot\((?P<labels>[^,()]+),\s*(?:num_classes\s*=\s*)?(?P<classes>\d[\d_]*)")
_ITEMS = ((4, "float32"), (2, "bfloat16 or float16"), (8, "float64"), (1, "int8 or bool"))


@dataclass(frozen=True, slots=True)
class MadeByLine:
    """What a line makes, in a clause, and what makes that smaller."""

    what: str
    remedies: tuple[Remedy, ...]
    basis: Basis = Basis.NAME


def made_by(text: str | None, need: int | None) -> MadeByLine | None:
    """What the line makes, where it explains a request of so many bytes; None where it does not, or where the
    line calls a compiled step.
    """
    if not text or need is None or need < _LEAST_BYTES or _PROGRAM.search(text):
        return None
    return next((made for reading in _READINGS if (made := reading(text, need))), None)


_IN_BLOCKS = Remedy(
    "go through the rows in blocks, and reduce each block at once",
    "y = jax.lax.map(f, x, batch_size=256)   # f of one row against all others",
    slug="in-blocks",
)


def _stated(text: str, need: int) -> MadeByLine | None:
    """A shape in figures, whose bytes are the request's."""
    if match := _SQUARE.search(text):
        sizes: tuple[int, ...] = (int(match["side"]),) * 2
    elif match := _LITERAL.search(text):
        sizes = tuple(int(size) for size in match["sizes"].split(","))
    else:
        return None
    dtype = next((name for item, name in _ITEMS if math.prod(sizes) * item == need), None)
    if dtype is None:
        return None
    remedies = [Remedy("make the array smaller, or make and use it in blocks of rows", slug="in-blocks")]
    if dtype == "float64":
        remedies.append(
            Remedy("make it in float32: half of this", "dtype=jnp.float32", need // 2, slug="narrow-array")
        )
    if match["call"] in ("eye", "identity"):
        remedies.insert(
            0, Remedy("multiply by its diagonal instead: an identity matrix need not exist", slug="in-pieces")
        )
    return MadeByLine(
        f"{match['call']} makes {format_shape(sizes)} {dtype} in one piece", tuple(remedies), Basis.SHAPE
    )


def _pairs(text: str, need: int) -> MadeByLine | None:
    """`x[:, None] - y[None]`: new axes on both sides of an operator."""
    del need
    axes = list(_NEW_AXIS.finditer(text))
    between = [text[one.end() : other.start()] for one, other in pairwise(axes)]
    if not any(re.search(r"[-+*/<>=&|@,]", part) for part in between):
        return None
    squares = Remedy(
        "for distances use a matrix product, which never makes the differences",
        "d2 = (x**2).sum(1)[:, None] + (y**2).sum(1)[None] - 2 * x @ y.T",
        slug="matrix-product",
    )
    distances = (squares,) if "-" in "".join(between) else ()
    return MadeByLine(
        "the line pairs every row of one array with every row of the other, and holds all pairs at once",
        (*distances, _IN_BLOCKS),
    )


def _einsum(text: str, need: int) -> MadeByLine | None:
    """`einsum('bqhd,bkhd->bhqk', q, k)`: its result has an axis of each operand that the other lacks."""
    del need
    match = _EINSUM.search(text)
    if match is None:
        return None
    terms = [set(term.strip()) - {"."} for term in match["terms"].split(",")]
    made = set(match["made"]) - {".", " "}
    own = [
        sorted(term & made - set().union(*(other for other in terms if other is not term))) for term in terms
    ]
    if len(terms) < 2 or sum(map(bool, own)) < 2:
        return None
    first, second = ("".join(each) for each in [letters for letters in own if letters][:2])
    scores = len(made) >= 3 and len(first) == len(second) == 1
    attention = Remedy(
        "if these are attention scores: let them never be held whole",
        "out = jax.nn.dot_product_attention(q, k, v)   # or implementation='cudnn' on a GPU",
        slug="blockwise-attention",
    )
    spec = f"{match['terms'].strip()}->{match['made'].strip()}"
    return MadeByLine(
        f"this einsum makes every {first} with every {second}: {spec}",
        (*((attention,) if scores else ()), _IN_BLOCKS),
    )


def _one_hot(text: str, need: int) -> MadeByLine | None:
    """A row as long as there are classes, for each label."""
    match = _CLASSES.search(text)
    if match is None:
        return None
    classes = int(match["classes"])
    labels, rest = divmod(need, 4 * classes) if classes else (0, 1)
    many = f"each of {labels:,} labels" if not rest else "each label"
    return MadeByLine(
        f"one_hot makes a row of {classes:,} numbers for {many}",
        (
            Remedy(
                "keep labels as integers: the loss, or a look-up, needs no one-hot rows",
                "loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels)   # table[labels]",
                slug="sparse-labels",
            ),
            _IN_BLOCKS,
        ),
        Basis.SHAPE if not rest else Basis.NAME,
    )


def _matching(pattern: str, what: str, *remedies: Remedy) -> Callable[[str, int], MadeByLine | None]:
    """A reading that needs no more than a call's name."""
    words = regex(pattern)
    return lambda text, _: MadeByLine(what, remedies) if words.search(text) else None


_READINGS: tuple[Callable[[str, int], MadeByLine | None], ...] = (
    _stated,
    _one_hot,
    _einsum,
    _pairs,
    _matching(
        r"\bvmap\(\s*(?:jax\.)?(?:grad|value_and_grad|jac\w+)\(",
        "vmap of a gradient makes one gradient, as large as the weights, for each example",
        Remedy(
            "go through the examples in blocks, and reduce each block's gradients (norm, clip, sum) at once",
            "g = jax.lax.map(per_example, xs, batch_size=16)",
            slug="in-blocks",
        ),
    ),
    _matching(
        r"\bmcmc\.run\(",
        "MCMC keeps every draw of every site, deterministic ones too, until all chains are done",
        Remedy(
            "keep fewer draws: thin them, run and save in several parts, and compute large deterministic"
            " sites afterwards with Predictive",
            "MCMC(kernel, num_warmup=..., num_samples=500, thinning=4)",
            slug="fewer-draws",
        ),
    ),
    _matching(
        r"\b(?:tx|opt\w*|optim\w*|optimizer)\.init\(|\bTrainState\.create\(|\bnnx\.Optimizer\(",
        "the line makes the optimizer's state: Adam's is twice as large as the weights, whatever the batch",
        Remedy(
            "keep the first moments in 16 bits, or use an optimizer that keeps less (Adafactor, Lion, SGD)",
            "tx = optax.adamw(1e-3, mu_dtype=jnp.bfloat16)   # or optax.adafactor(1e-3)",
            slug="smaller-moments",
        ),
        Remedy("shard weights and optimizer state over devices", slug="shard-arguments"),
    ),
    _matching(
        r"\bjnp\.(?:kron|outer|tile|repeat|broadcast_to|meshgrid)\(",
        "the call repeats its operand, and holds all copies at once",
        Remedy("let broadcasting do it: index or broadcast where the values are used", slug="in-pieces"),
        _IN_BLOCKS,
    ),
    _matching(
        r"\A\s*(?:return |[\w.,\[\] ]+ = )?(?:jnp|jax\.numpy|jax)\.(?:asarray|array|device_put)"
        r"\([\w.\[\]'\", =]*\)\s*(?:[-+*/] *[\d.]+)?\s*\Z",
        "this line copies one array to the device whole",
        Remedy(
            "keep the data set in NumPy, in its own dtype, and copy and convert one batch at a time",
            "batch = jax.device_put(data[i : i + 256])",
            slug="one-batch-to-the-device",
        ),
    ),
    _matching(
        r"\bjnp\.(?:concatenate|stack|vstack|hstack|append)\(",
        "the call joins arrays into one, beside the parts",
        Remedy(
            "reduce each part before they are joined, or join them in NumPy on the host", slug="in-pieces"
        ),
    ),
)
"""Readings of a line, the most particular first."""
