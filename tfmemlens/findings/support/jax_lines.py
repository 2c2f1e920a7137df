"""What a line of JAX code makes: a shape that it states, pairs of rows, one-hot rows, copies; and what would
make less.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from tfmemlens.findings.support.jax_stack import MadeByLine, draws_of_mcmc, made_by_frames
from tfmemlens.model.case import Request
from tfmemlens.model.finding import Basis, Remedy
from tfmemlens.model.incident import Frame
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import MIB

_LEAST_BYTES = 64 * MIB
"""A smaller request fails for what is held beside it, and no call explains that."""

_PROGRAM = regex(r"_step\w*\(|\bstep\(|\.fit\(|\b(?:p?update|train)_(?:fn|one_\w+|epoch)\(")
"""A call of a compiled step, whose temporaries the request stands for."""


def calls_program(text: str | None) -> bool:
    """Whether a line calls a compiled step."""
    return bool(text and _PROGRAM.search(text))


_LITERAL = regex(
    r"\b(?:jnp|np|jax\.numpy|random|lax)\.(?P<call>\w+)\((?P<before>[^()]*?)\(\s*(?P<sizes>\d[\d_]*(?:\s*,\s*\d[\d_]*)*)\s*,?\s*\)"
)
_SQUARE = regex(r"\bjnp\.(?P<call>eye|identity|tri)\(\s*(?P<side>\d[\d_]*)\b")
_NEW_AXIS = regex(r"\[[^\]]*(?:\bNone\b|newaxis)[^\]]*\]")
_EINSUM = regex(r"einsum\(\s*['\"](?P<terms>[A-Za-z., ]+)->(?P<made>[A-Za-z. ]*)['\"]")
_CLASSES = regex(r"one_hot\((?P<labels>[^,()]+),\s*(?:num_classes\s*=\s*)?(?P<classes>\d[\d_]*)")
_ITEMS = ((4, "float32"), (2, "bfloat16 or float16"), (8, "float64"), (1, "int8 or bool"))


def made_at(request: Request) -> MadeByLine | None:
    """What the failing request of a JAX program was for: by its traceback, else by the user's line alone."""
    failed, need = request.failed, request.needed_bytes
    return made_by(failed.source_text, need, failed.frames)


def made_by(text: str | None, need: int | None, frames: Sequence[Frame] = ()) -> MadeByLine | None:
    """What the line makes, where it explains a request of so many bytes; None where it does not, or where the
    line calls a compiled step. What `frames` show to be made needs no size.
    """
    if made := made_by_frames(frames, text, need):
        return made
    if not text or need is None or need < _LEAST_BYTES or calls_program(text):
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


def _vmapped_pairs(text: str, need: int) -> MadeByLine | None:
    """A vmap within a vmap: the function runs for every pair."""
    if len(re.findall(r"\bvmap\(", text)) < 2:
        return None
    side = math.isqrt(need // 4)
    pairs = f" ({side:,} x {side:,} in float32)" if side * side * 4 == need else ""
    return MadeByLine(
        f"a vmap within a vmap runs the function for every pair of rows{pairs}, all at once",
        (_IN_BLOCKS,),
        Basis.SHAPE if pairs else Basis.NAME,
    )


_PRODUCT = regex(r"@|\b(?:jnp|np)\.(?:dot|matmul|inner|outer|tensordot)\(|\bcdist\(|_kernel\(|\bgram\w*\(")


def _square_product(text: str, need: int) -> MadeByLine | None:
    """A product of all rows with all rows: its bytes are a square's."""
    side = math.isqrt(need // 4)
    if side * side * 4 != need or not _PRODUCT.search(text):
        return None
    return MadeByLine(
        f"the line makes a number for each pair of rows: {side:,} x {side:,} in float32",
        (_IN_BLOCKS,),
        Basis.SHAPE,
    )


_COPY = regex(
    r"\A\s*(?:return |yield |[\w.,\[\]\"' ]+ = )?[\[({]*(?:[\w\"']+\s*:\s*)?"
    r"(?:jnp|jax\.numpy|jax)\.(?:(?:asarray|array|device_put)\((?!\s*[\w.]*\()|load\()"
    r"|(?:asarray|array|device_put)\(\s*(?:(?:np|onp|numpy|pd|h5py|pickle|Image)\.|\w*(?:load|read)\w*\()"
    r"|\b(?:tree\.map|tree_map|tree_util\.tree_map)\(\s*(?:jnp\.(?:asarray|array)|jax\.device_put)\b"
)
_OF_A_BATCH = regex(r"\bbatch\w*\b|\bminibatch|\bnext\(", re.IGNORECASE)
_OF_WEIGHTS = regex(
    r"\b(?:params?|weights|variables|state_dict|ckpt|checkpoint|train_state)\b", re.IGNORECASE
)


def _copied(text: str, need: int) -> MadeByLine | None:
    """Arrays that a line copies to the device: a batch, weights, or a data set."""
    del need
    if "@" in text or not _COPY.search(text):
        return None
    if _OF_A_BATCH.search(text):
        return MadeByLine(
            "this line copies a batch to the device",
            (
                Remedy("copy smaller batches", slug="smaller-batch"),
                Remedy(
                    "copy it in its own dtype (uint8 for images), and convert it on the device inside jit",
                    "x = jax.device_put(batch_uint8)   # in the step: x.astype(jnp.float32) / 255",
                    slug="narrow-copy",
                ),
            ),
        )
    if _OF_WEIGHTS.search(text):
        return MadeByLine(
            "this line copies weights to the device: they are as large whatever the batch",
            (
                Remedy(
                    "copy them in 16 bits: half of them",
                    "params = jax.tree.map(lambda w: w.astype(np.float16), params)   # on the host",
                    slug="narrow-weights",
                ),
                Remedy("place each array sharded over the devices", slug="shard-arguments"),
            ),
        )
    return MadeByLine(
        "this line copies one array to the device whole",
        (
            Remedy(
                "keep the data set in NumPy, in its own dtype, and copy and convert one batch at a time",
                "batch = jax.device_put(data[i : i + 256])",
                slug="one-batch-to-the-device",
            ),
        ),
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
    _matching(r"\bmcmc\.run\(", draws_of_mcmc().what, *draws_of_mcmc().remedies),
    _matching(
        r"\bPredictive\(|\blog_likelihood\(|\bpredictive\(",
        "every site is computed for all posterior draws at once",
        Remedy(
            "go through the draws in parts, return only the sites that you need, and bring each part to the"
            " host",
            "Predictive(model, part, return_sites=['obs'])   # log_likelihood likewise",
            slug="fewer-draws",
        ),
    ),
    _vmapped_pairs,
    _square_product,
    _matching(
        r"\b(?:lax\.)?scan\(",
        "scan stacks what each step returns, and under a gradient what each step needs for the way back",
        Remedy(
            "let the backward pass compute a step again instead of keeping it",
            "_, ys = jax.lax.scan(jax.checkpoint(body), carry, xs)",
            slug="recompute",
        ),
        Remedy(
            "let the body return only what is needed: reduce in the carry, and return None for the rest",
            slug="stack-less",
        ),
        Remedy(
            "fewer steps in one scan: scan over blocks of steps, with jax.checkpoint around each block",
            slug="in-blocks",
        ),
    ),
    _matching(
        r"\bvmap\(",
        "vmap runs the function for all rows at once, so that what it makes for one row exists for every row",
        Remedy(
            "run it for some rows at a time",
            "y = jax.lax.map(f, xs, batch_size=256)   # vmap over 256 rows at a time",
            slug="in-blocks",
        ),
    ),
    _matching(
        r"lm_head\(|softmax_cross_entropy\w*\(|log_softmax\(|\blogits\s*=(?!=).*(?:@|einsum\(|\bdot\()",
        "the line makes logits, or a copy of them for the loss: one number for every class and position",
        Remedy(
            "compute logits and loss for part of the positions at a time, and let the backward pass compute"
            " them again",
            "losses = jax.lax.map(jax.checkpoint(loss_of_part), parts)",
            slug="part-of-positions",
        ),
        Remedy("keep labels as integers, and the logits in bfloat16", slug="sparse-labels"),
    ),
    _matching(
        r"dot_product_attention\(|softmax\(\s*(?:scores|attn|att|sim|qk)\b|\bq\w*\s*@\s*k",
        "attention scores are made whole: length x length for each head and sample",
        Remedy(
            "let them never be held whole",
            "out = jax.nn.dot_product_attention(q, k, v, implementation='cudnn')   # on a GPU, in 16 bits",
            slug="blockwise-attention",
        ),
        Remedy("shorten the sequences: half the length is a quarter of them", slug="smaller-input"),
    ),
    _matching(
        r"\.at\[[^=]*\]\.(?:set|add|multiply|mul|max|min)\(",
        "outside of jit, .at[...] copies the whole array for each change",
        Remedy(
            "change it inside a jitted function that is given the array to keep",
            "write = jax.jit(lambda x, v: x.at[i].set(v), donate_argnums=0)",
            slug="donate-buffers",
        ),
    ),
    _matching(
        r"\bsegment_(?:sum|max|mean|softmax)\(|\[\s*(?:\w+\.)?(?:senders|receivers|src|dst|edges?)\s*\]"
        r"|\btake(?:_along_axis)?\(|\bedge_index\[",
        "a row is gathered for every index, here most likely for every edge or neighbour",
        Remedy(
            "go through the indices in blocks, and add each block's result to the output",
            "out = jax.lax.fori_loop(0, blocks, add_block, out)",
            slug="in-blocks",
        ),
        Remedy("make the rows narrower before they are gathered", slug="narrower-layer"),
    ),
    _matching(
        r"\.to_?dense\(",
        "the sparse matrix is made dense: every zero takes as much as a number",
        Remedy(
            "keep it sparse, and multiply with it as it is",
            "y = A @ x   # A a jax.experimental.sparse.BCOO",
            slug="stay-sparse",
        ),
    ),
    _matching(
        r"prefetch_to_device\(|device_prefetch\w*\(",
        "batches are copied to the device ahead of the step, and wait there",
        Remedy(
            "let fewer wait (2 are enough), and smaller ones",
            "prefetch_to_device(batches, 2)",
            slug="fewer-prefetched",
        ),
    ),
    _matching(
        r"\b(?:lax\.)?conv(?:_general_dilated\w*|_transpose)?\(|\bConv(?:Transpose)?\([^()]*(?:\([^()]*\)[^()]*)*\)\(",
        "a convolution that runs by itself makes its whole output, for all samples at once",
        Remedy(
            "give it fewer or smaller images at a time; inside jit, what is no longer needed is freed",
            "apply = jax.jit(model.apply); parts = [apply(params, part) for part in parts_of(x)]",
            slug="in-pieces",
        ),
    ),
    _matching(
        r"linalg\.svd\(",
        "svd makes square matrices of singular vectors unless told otherwise",
        Remedy(
            "compute the reduced form",
            "u, s, vt = jnp.linalg.svd(a, full_matrices=False)",
            slug="in-pieces",
        ),
    ),
    _matching(
        r"linalg\.(?:inv|pinv|solve|cholesky|eigh?|qr|lstsq|det|slogdet)\(|\bcho_(?:factor|solve)\(",
        "the decomposition needs matrices as large as its operand, and room to work, beside it",
        Remedy(
            "if only a product or a solution is needed: iterate, with products of the matrix alone",
            "x, _ = jax.scipy.sparse.linalg.cg(matvec, b)",
            slug="iterative-solver",
        ),
    ),
    _matching(
        r"\bjnp\.(?:kron|outer|tile|repeat|broadcast_to|meshgrid)\(",
        "the call repeats its operand, and holds all copies at once",
        Remedy("let broadcasting do it: index or broadcast where the values are used", slug="in-pieces"),
        _IN_BLOCKS,
    ),
    _copied,
    _matching(
        r"\bjnp\.(?:concatenate|stack|vstack|hstack|append)\(",
        "the call joins arrays into one, beside the parts",
        Remedy(
            "reduce each part before they are joined, or join them in NumPy on the host", slug="in-pieces"
        ),
    ),
)
"""Readings of a line, the most particular first."""
