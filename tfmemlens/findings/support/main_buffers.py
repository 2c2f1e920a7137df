"""What the largest buffers of a compiled program are, by their shapes and the names that the compiler lists:
logits, attention scores, what a loop keeps of its steps; and what makes those smaller.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from tfmemlens.findings.support.jax_code.changes import SCAN_OF_BLOCKS, gradients_in_parts
from tfmemlens.findings.support.residues import FEWER_RESIDUES
from tfmemlens.findings.support.rows import Row, rows, size_of
from tfmemlens.findings.support.situation import JAX, TORCH_XLA
from tfmemlens.findings.support.use_of_pairs import fewer_rows
from tfmemlens.knowledge.vocabularies import VOCABULARIES
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.case import Moment, Request
from tfmemlens.model.finding import Certainty, Remedy
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human, human_size
from tfmemlens.values import dataclass, replace

_LEAST_BYTES = 64 * MIB
_LEAST_SHARE = 0.3
"""Of the listed buffers: less explains nothing of a program."""
_LEAST_OF_NEED = 0.04
"""Of all that the program needs: a list is cut after its largest, and these may be a hundredth of it."""
_FEW, _LEAST_OF_FEW = 3, 0.01
"""Of a list that was pasted in part: its first entries stand for many of their kind."""
_SHORTEST, _FEWEST_WORDS, _MANY_ROWS = 64, 5000, 1000
_LOGITS = regex(
    r"logit|lm_?head|log_?softmax|cross_?entropy|nll_?loss|vocab|output_?projection|unembed|\bmlm"
    r"|decoder/dense"
    r"|one_hot|embed.*(?:attend|dot_general)|predictions",
    re.IGNORECASE,
)
_CLASSES = regex(r"lm_?head|vocab|unembed|\bmlm|decoder|embed|one_hot|predictions", re.IGNORECASE)
_ATTENTION = regex(
    r"att(?:entio)?n|softmax|\bmha|scores|einsum|[a-z]*q[a-z]*k[a-z]*,|->|\bexp\b|masked_fill", re.IGNORECASE
)
_SURE_OF_ATTENTION = regex(
    r"(?i)att(?:entio)?n\w*/(?:\w+/){0,3}(?:softmax|einsum|scores|dropout|(?:batch_)?matmul)\w*\Z"
)
"""Names of what only makes scores, or their gradient, in a layer of attention."""
_IMAGES = regex(r"conv(?!ert)|pool|batch_?norm|group_?norm|resize|up_?sampl", re.IGNORECASE)
_LOOP = regex(r"(?:/|\A|\()(?:while|scan)\)?/body\b|/(?:while|scan)(?:/|\))")
_OF_LAYERS = regex(
    r"(?:\A|/)(?:layers?|blocks?|transformer_blocks?|h|decoder_layers?|encoder_layers?"
    r"|\w*ScanLayers?\w*)/(?:while|scan)|\((?:\w+/)?(?:layers?|blocks?)\)",
    re.IGNORECASE,
)
_ONE_HOT = regex(r"one_hot", re.IGNORECASE)
_GRAPH = regex(
    r"(?:\A|[/(_])edges?(?:[/)_]|\Z)|message|\bmp_layer|\bgnn|\bgcn|senders|receivers|graph_?(?:conv|net)",
    re.IGNORECASE,
)
_WIDEST = 16_384
"""No square weight is as wide as this."""
_MANY_NODES = 50_000
"""From here on rows are rather a graph's than a batch's."""
_DIFFERENCE = regex(r"(?:\A|[/(])sub(?:tract)?(?:\)|\Z|\W)")
_MATRIX_PRODUCT = Remedy(
    "if these are differences for distances: use a matrix product, which never makes them",
    "d2 = (x**2).sum(1)[:, None] + (y**2).sum(1)[None] - 2 * x @ y.T",
    slug="matrix-product",
)
_LARGE_MATRIX = 1 << 30
"""Bytes: of a matrix of all pairs that is itself too large to be kept several times."""
_DISPATCH = regex(r"router|routing|dispatch|\bcombine\b|gating|\bmoe\b.*one_hot", re.IGNORECASE)
_GATHER = regex(r"(?:\A|/)gather\Z|(?:\A|/)_?take\Z")
_GRADIENT = regex(r"jvp\(|transpose\(|backward|gradient")


@dataclass(frozen=True, slots=True)
class Buffers:
    """The kind of a program's largest buffers."""

    what: str
    """`logits over a vocabulary of 50,304`"""
    listed: str
    """How many of which shape and size."""
    bytes: int
    remedies: tuple[Remedy, ...]
    recompute: bool = True
    """Whether it helps to compute them again in the backward pass."""
    batch: bool = True
    """Whether a smaller batch may make them smaller."""
    again: bool = False
    """Whether they are what the program is given, once more."""
    largest: bool = True
    """Whether none of the others that are listed is larger than the largest of these."""


def main_buffers(moment: Moment, framework: str | None) -> Buffers | None:
    """What most of the listed bytes are, None where no shape or name tells."""
    listed = rows(moment, lambda row: row.allocation.purpose != "parameter" and bool(row.allocation.shape))
    whole = sum(row.allocation.total_bytes for row in rows(moment))
    compiler = moment.incident.compiler if moment.incident else None
    weights: set[tuple[int | None, ...] | None] = set()
    if not (compiler and compiler.one_operation):  # whose arguments may be anything
        weights = {row.allocation.shape for row in rows(moment) if row.allocation.purpose == "parameter"}
    texts = {(each.node, each.size_bytes): each.text for each in compiler.values} if compiler else {}
    left, candidates = [_with_line(row, texts) for row in listed], []
    for test, build in _KINDS:
        mine = [row for row in left if test(row, weights)]
        left = [row for row in left if row not in mine]
        if mine:
            candidates.append((sum(row.allocation.total_bytes for row in mine), mine, build))
    if not candidates:
        return None
    held, mine, build = max(candidates, key=lambda each: each[0])
    of_need = _LEAST_OF_NEED if len(listed) > _FEW else _LEAST_OF_FEW
    if held < _LEAST_BYTES or held < max(_LEAST_SHARE * whole, of_need * _need(moment)):
        return None
    kind = build(mine, held, framework)
    most = max(row.allocation.total_bytes for row in mine)
    if any(row.allocation.total_bytes > most for row in listed if row not in mine):
        kind = replace(kind, largest=False)
    if all(map(_is_of_one, mine)):
        kind = replace(kind, batch=False)
    if all(map(_is_of_init, mine)):
        kind = replace(kind, batch=False, recompute=False)
    if framework == JAX and moment.request and moment.request.failed.kind is RequestKind.TPU:
        remedies = tuple(_on_a_tpu(each) for each in kind.remedies)
        return replace(kind, remedies=remedies)
    return kind


def initialises(moment: Moment) -> bool:
    """Whether all that is listed with a name is made by a program that makes the first weights: no batch and
    no backward pass is in it.
    """
    named = [row for row in rows(moment) if row.allocation.node]
    return bool(named) and all(map(_is_of_init, named))


def _is_of_init(row: Row) -> bool:
    return _INIT_PROGRAM.match(_name(row)) is not None


_INIT_PROGRAM = regex(
    r"p?jit\(_?(?:\w+_)?(?:init(?:ialize)?(?:_\w+)?|(?:create|make|setup)(?:_\w+)?_state)\)"
)
"""The outermost function of an op's name: `pjit(init_state)/jit(main)/...`."""


def _with_line(row: Row, texts: Mapping[tuple[str, int], str | None]) -> Row:
    """The same, of what two sides of one length tell least, with the user's line."""
    shape = _shape(row)
    text = texts.get((row.allocation.node or "", row.allocation.size_bytes))
    if not text or len(shape) < 2 or shape[-1] != shape[-2]:
        return row
    return row._replace(code=text)


def _is_of_one(row: Row) -> bool:
    """Whether an activation has a batch of one sample: its first dimension is 1, and several follow."""
    shape = _shape(row)
    return len(shape) > 2 and shape[0] == 1


def _on_a_tpu(remedy: Remedy) -> Remedy:
    """The same with the kernel that a TPU has: cuDNN's is for GPUs."""
    if remedy.slug != "blockwise-attention":
        return remedy
    kernel = "from jax.experimental.pallas.ops.tpu.flash_attention import flash_attention"
    return replace(remedy, code=kernel)


def _need(moment: Moment) -> int:
    compiler = moment.incident.compiler if moment.incident else None
    return compiler.needed.bytes if compiler and compiler.needed else 0


def _shape(row: Row) -> tuple[int, ...]:
    return tuple(size or 1 for size in row.allocation.shape or ())


def _name(row: Row) -> str:
    return f"{row.allocation.node or ''} {row.allocation.op or ''} {row.code} {row.owner.op or ''}"


def _in_words(mine: list[Row]) -> str:
    """`2 x [8,16,2048,2048] bfloat16 of 1.00 GiB`: the shape that holds most."""
    groups: dict[tuple[object, object], list[Row]] = {}
    for row in mine:
        groups.setdefault((row.allocation.shape, row.allocation.dtype), []).append(row)
    best = max(groups.values(), key=lambda same: sum(row.allocation.total_bytes for row in same))
    first = best[0].allocation
    each = human_size(size_of(first))
    shape = f"{format_shape(first.shape)} {first.dtype or ''}".rstrip()
    others = len(mine) - len(best)
    rest = f", and {others} more" if others else ""
    return f"{len(best)} x {shape} of {each}{rest}" if len(best) > 1 else f"{shape} of {each}{rest}"


def _is_weight(row: Row, weights: Iterable[object]) -> bool:
    """Whether its shape is a weight's of the program: then it is its gradient, its new value or a copy."""
    return row.allocation.shape in weights


def _is_converted(row: Row, weights: Iterable[object]) -> bool:
    """A matrix that is given and converted to another type before it is used."""
    del weights
    name, shape = row.allocation.node or "", _shape(row)
    converted = name.endswith("convert_element_type") and (row.allocation.op or "").startswith("convert")
    return converted and len(shape) == 2 and min(shape) >= _LEAST_WIDTH and not _GRADIENT.search(name)


_LEAST_WIDTH = 512
"""Of a weight's shorter side, in a model whose weights matter."""


def _converted(mine: list[Row], held: int, framework: str | None) -> Buffers:
    dtype = mine[0].allocation.dtype or "another type"
    return Buffers(
        f"weights once more, converted to {dtype}",
        _in_words(mine),
        held,
        (
            Remedy(
                f"give the program weights that are {dtype} already: nothing is then converted, and no second"
                " set exists",
                f"params = jax.tree.map(lambda w: w.astype('{dtype}'), params)   # once, before it is called"
                if framework == JAX and mine[0].allocation.dtype
                else None,
                slug="narrow-weights",
            ),
        ),
        recompute=False,
        batch=False,
        again=True,
    )


def _is_gradient_of_weights(row: Row, weights: Iterable[object]) -> bool:
    """A kernel's gradient: XLA transposes the product of activations and gradients that it is."""
    del weights
    name = row.allocation.node or ""
    return len(_shape(row)) == 2 and bool(_OF_A_KERNEL.search(name))


_OF_A_KERNEL = regex(r"transpose\(jvp\(.*/transpose(?:\[|\Z)")


def _gradients_of_weights(mine: list[Row], held: int, framework: str | None) -> Buffers:
    return replace(
        _gradients(mine, held, framework),
        what="gradients of weights, one for each layer, which no batch changes",
        recompute=False,
        batch=False,
    )


def _is_logits(row: Row, weights: Iterable[object]) -> bool:
    shape, name = _shape(row), _name(row)
    if _is_weight(row, weights) or len(shape) not in (2, 3) or shape[-1] < _FEWEST_WORDS:
        return False
    if math.prod(shape[:-1]) < _SHORTEST or _IMAGES.search(name):
        return False
    if len(shape) == 2 and shape[0] == shape[1] and not _CLASSES.search(name):
        return False  # of every row with every row, as contrastive losses have
    of_weights = len(shape) == 2 and row.owner.phase is Phase.GRADIENT and "dot_general" in name
    return not of_weights and bool(_LOGITS.search(name) or shape[-1] in VOCABULARIES)


_JOINT = regex(r"joint|joiner|transducer|rnn[-_]?t\b|log_?softmax|logit|lattice", re.IGNORECASE)


def _is_joint(row: Row, weights: Iterable[object]) -> bool:
    """Numbers for each frame with each label and each class, which a transducer's loss goes through."""
    shape, name = _shape(row), _name(row)
    if _is_weight(row, weights) or len(shape) != _OF_JOINTS or shape[-1] == shape[-2]:
        return False
    frames = min(shape[1:3]) >= _FEWEST_LABELS and shape[-1] >= _LEAST_WIDTH // 2
    return frames and bool(_JOINT.search(name)) and not _IMAGES.search(name)


_OF_JOINTS, _FEWEST_LABELS = 4, 8


def _joint(mine: list[Row], held: int, framework: str | None) -> Buffers:
    _, frames, labels, classes = _shape(mine[0])
    return Buffers(
        f"the joint of a transducer: {classes:,} classes for each of {frames:,} x {labels:,} places, most"
        " likely frames with labels, of each sample",
        _in_words(mine),
        held,
        (
            Remedy(
                "compute joint and loss for a few samples at a time, and let the backward pass compute them"
                " again: the rest of the net keeps its batch",
                "loss = jax.lax.map(jax.checkpoint(joint_and_loss), (enc_parts, dec_parts, labels)).sum()"
                if framework == JAX
                else None,
                slug="in-blocks",
            ),
            Remedy(
                "have fewer places: sort samples by length into batches, reduce frames more before the joint"
                " (stacking, strides), or prune to those near the alignment",
                slug="shorter-sequences",
            ),
            NARROW_LOGITS,
        ),
        recompute=False,
    )


def _is_scores(row: Row, weights: Iterable[object]) -> bool:
    shape, name = _shape(row), _name(row)
    if _is_weight(row, weights) or len(shape) < 3 or min(shape[-2:]) < _SHORTEST:
        return False
    if shape[-1] != shape[-2]:  # queries of one sequence and keys of another: words of attention alone tell
        return (
            bool(_SURE_OF_ATTENTION.search(row.allocation.node or ""))
            and shape[-1] >= 4 * _SHORTEST <= shape[-2]
        )
    return bool(_ATTENTION.search(name)) and not _IMAGES.search(name)


def _is_of_a_loop(row: Row, weights: Iterable[object]) -> bool:
    name = row.allocation.node or ""
    stacked = ("dynamic_update_slice" in name and bool(_LOOP.search(name))) or _is_kept_of_turns(name)
    return stacked and len(_shape(row)) >= 2 and not _is_weight(row, weights)


def _is_kept_of_turns(name: str) -> bool:
    """Whether the gradient goes through a loop, whose turns it then keeps: of a loop that takes a gradient in
    each turn (`while/body/jvp(Net)`) nothing is kept beyond the turn.
    """
    gradient = _GRADIENT.search(name)
    return gradient is not None and any(loop.end() > gradient.start() for loop in _LOOP.finditer(name))


def _is_factor(row: Row, weights: Iterable[object]) -> bool:
    """A square as wide as the longer side of what an SVD is given, which the op itself makes."""
    shape = _shape(row)
    square = len(shape) >= _OF_A_MATRIX and shape[-1] == shape[-2] >= _MANY_ROWS
    return square and not _is_weight(row, weights) and bool(_SVD.search(row.allocation.node or ""))


_OF_A_MATRIX = 2
_SVD = regex(r"(?:\A|/)svd(?:\[|\Z)")


_REDUCED = Remedy(
    "if full_matrices is not False, set it: only as many singular vectors as the short side has are then"
    " given back",
    slug="reduced-svd",
)


def _factors(mine: list[Row], held: int, framework: str | None) -> Buffers:
    rows_of = _shape(mine[0])[-1]
    code = "q, r = jnp.linalg.qr(x); u, s, vt = jnp.linalg.svd(r, full_matrices=False); u = q @ u"
    return Buffers(
        f"a square factor of the SVD: all {rows_of:,} x {rows_of:,} of its singular vectors, which the GPU's"
        " routine may make whatever full_matrices says",
        _in_words(mine),
        held,
        (
            Remedy(
                "decompose the short side alone: first a reduced QR, then the SVD of its small R; or eigh of"
                " x.T @ x (for a wide matrix x @ x.T), where half the digits are enough",
                f"{code}   # of a wide matrix: of x.T" if framework == JAX else None,
                slug="short-side-first",
            ),
            _REDUCED,
        ),
        recompute=False,
        batch=False,
    )


_COLLECTIVE = regex(r"all[-_]gather")


def _is_collected(row: Row, weights: Iterable[object]) -> bool:
    return bool(_COLLECTIVE.search(_name(row))) and not _is_weight(row, weights)


def _collected(mine: list[Row], held: int, framework: str | None) -> Buffers:
    del framework
    return Buffers(
        "what is gathered from all devices: each of them then holds the whole, and copies of it in"
        " another order of dimensions",
        _in_words(mine),
        held,
        (
            Remedy(
                "gather it in pieces, and use each before the next, or compute with each device's own part"
                " and gather or add up only the results",
                slug="in-blocks",
            ),
        ),
        recompute=False,
        batch=False,
    )


def _is_pairs(row: Row, weights: Iterable[object]) -> bool:
    shape = _shape(row)
    if len(shape) not in (2, 3) or _is_weight(row, weights):
        return False
    first, second = shape[:2]
    if len(shape) > 2 and shape[2] == first:
        return False  # a cube tells nothing of pairs
    name = _name(row)
    of_weights = _GRADIENT.search(name) and not (first >= _WIDEST and "transpose(" not in name)
    return first == second >= _MANY_ROWS and row.owner.kind is not Kind.PARAMETER and not of_weights


def _is_vmapped(row: Row, weights: Iterable[object]) -> bool:
    name = row.allocation.node or ""
    many = len(_shape(row)) >= 2 and _shape(row)[0] >= _SHORTEST
    return "vmap(" in name and many and not _is_weight(row, weights)


def _is_of_a_run(row: Row, weights: Iterable[object]) -> bool:
    """What a loop has in each turn that vmap runs several times side by side: first comes the run."""
    many = len(_shape(row)) >= 2 and _shape(row)[0] > 1
    return many and bool(_RUNS.search(row.allocation.node or "")) and not _is_weight(row, weights)


_RUNS = regex(r"(?:\A|[/(])vmap\((?:(?:while|scan)\)/body|p?jit\(\w+\)\)/(?:while|scan)/body)\b")


def _of_runs(mine: list[Row], held: int, framework: str | None) -> Buffers:
    del framework
    many = _mapped(mine)
    if any(_shape(row)[0] != many for row in mine):
        return Buffers("what a loop has that vmap runs several times at once", _in_words(mine), held, ())
    kept = sum(row.allocation.total_bytes for row in mine if _GRADIENT.search(row.allocation.node or ""))
    state = next((row for row in mine if _WRITTEN.search(row.allocation.node or "")), None)
    replay = (
        Remedy(
            f"{format_shape(state.allocation.shape)} is written in place, a state of each run: if it is a"
            " replay buffer, let it hold fewer transitions",
            slug="smaller-replay",
        )
        if state
        else None
    )
    return Buffers(
        f"what a loop has in each turn, {many:,} times: vmap runs it for {many:,} (seeds, members) at once",
        _in_words(mine),
        held,
        (
            Remedy(
                f"run fewer of the {many:,} at once, in turns: all of these shrink with their number",
                f"out = jax.lax.map(run, keys, batch_size={max(many // 2, 1)})   # for jax.vmap(run)(keys)",
                slug="in-blocks",
            ),
            *((replay,) if replay else ()),
        ),
        recompute=2 * kept > held,
    )


_WRITTEN = regex(r"(?:\A|/)(?:scatter|dynamic_update_slice)\b[^/]{0,400}\Z")


def _is_of_each_example(row: Row, weights: Iterable[object]) -> bool:
    """A matrix's or kernel's gradient for each row of a vmap: its shape behind the number of rows, or, since
    XLA likes matrices, as many numbers.
    """
    shape, name = _shape(row), row.allocation.node or ""
    if "vmap(" not in name or len(shape) < _OF_A_MATRIX:
        return False
    if len(shape) > _OF_A_MATRIX:
        return shape[1:] in weights
    matrices = [each for each in weights if isinstance(each, tuple) and len(each) >= _OF_A_MATRIX]
    return "transpose(" in name and any(1 not in each and math.prod(each) == shape[1] for each in matrices)


_OF_A_MATRIX = 2


def _of_each_example(mine: list[Row], held: int, framework: str | None) -> Buffers:
    del framework
    many = _mapped(mine)
    return Buffers(
        f"gradients of the weights, for each of {many:,} rows by itself",
        _in_words(mine),
        held,
        (gradients_in_parts(many),),
        recompute=False,
    )


def _is_dispatch(row: Row, weights: Iterable[object]) -> bool:
    return len(_shape(row)) in (3, 4) and bool(_DISPATCH.search(_name(row))) and not _is_weight(row, weights)


def _dispatch(mine: list[Row], held: int, framework: str | None) -> Buffers:
    return Buffers(
        "what a mixture of experts dispatches tokens with: a number for each token, expert and place",
        _in_words(mine),
        held,
        (
            Remedy(
                "sort the tokens by expert and multiply group by group: no such tensor then exists",
                "y = jax.lax.ragged_dot(x_sorted, w, group_sizes)" if framework == JAX else None,
                slug="sorted-tokens",
            ),
            Remedy(
                "or lower the capacity of an expert, and dispatch tokens in smaller groups: half the group is"
                " a quarter of it",
                slug="smaller-groups",
            ),
        ),
        recompute=False,
    )


def _is_gathered(row: Row, weights: Iterable[object]) -> bool:
    return bool(_GATHER.search(row.allocation.node or "")) and not _is_weight(row, weights)


CHUNKED = Remedy(
    "compute logits and loss for part of the positions at a time, and let the backward pass compute them"
    " again: all of them then never exist at once",
    "loss = jax.lax.map(jax.checkpoint(loss_of_part), (h_parts, label_parts)).sum()",
    slug="part-of-positions",
)

CHUNKED_FORWARD = Remedy(
    "compute logits and loss for part of the positions at a time: all of them then never exist at once",
    "loss = jax.lax.map(loss_of_part, (h_parts, label_parts)).sum()",
    slug="part-of-positions",
)
"""The same where no gradient is taken."""
NARROW_LOGITS = Remedy(
    "keep the logits in bfloat16, and convert to float32 within the loss of each part",
    slug="narrow-logits",
)


def _logits(mine: list[Row], held: int, framework: str | None) -> Buffers:
    words = _shape(mine[0])[-1]
    one_hot = [row for row in mine if _ONE_HOT.search(row.allocation.node or "")]
    code = "loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels)"
    integers = (
        (
            Remedy(
                "give the loss integer labels: the one-hot rows need not exist",
                code if framework == JAX else None,
                size_of(one_hot[0].allocation).bytes,
                Certainty.BOUND,
                slug="integer-labels",
            ),
        )
        if one_hot
        else ()
    )
    wide = any(row.allocation.dtype == "float32" for row in mine)
    chunked = CHUNKED if framework == JAX else Remedy(CHUNKED.text, slug=CHUNKED.slug)
    narrow = (NARROW_LOGITS,) if wide else ()
    return Buffers(
        f"logits over {words:,} classes"
        + (", labels as one-hot rows of the same size" if one_hot and len(mine) > 1 else "")
        + (", and copies of them for the loss" if len(mine) > 1 + len(one_hot) else ""),
        _in_words(mine),
        held,
        (*integers, chunked, *narrow),
        recompute=False,
    )


def _scores(mine: list[Row], held: int, framework: str | None) -> Buffers:
    shape = _shape(mine[0])
    of = "length x length" if shape[-1] == shape[-2] else "queries x keys"
    code = {
        JAX: "out = jax.nn.dot_product_attention(q, k, v, implementation='cudnn')",
        TORCH_XLA: "from torch_xla.experimental.custom_kernel import flash_attention",
    }.get(framework or "")
    return Buffers(
        f"attention scores, {of} ({shape[-2]:,} x {shape[-1]:,}) for each head and sample of a layer",
        _in_words(mine),
        held,
        (
            Remedy(
                "let attention scores never be held whole (flash attention)", code, slug="blockwise-attention"
            ),
        ),
    )


def _stacks(mine: list[Row], held: int, framework: str | None) -> Buffers:
    steps = _shape(mine[0])[0]
    layers = _OF_LAYERS.search(mine[0].allocation.node or "") and steps <= 256
    backward = any(_GRADIENT.search(row.allocation.node or "") for row in mine)
    of = f"all {steps:,} {'layers' if layers else 'steps'}"
    what = (
        f"values that a scan keeps of {of} for the backward pass"
        if backward
        else f"values that a scan returns of {of}"
    )
    if layers or not backward:
        remedies = [_layers_again(framework) if backward else _STACK_LESS]
    else:
        remedies = list(_turns_again(framework))
    if not backward and not layers and len(_shape(mine[0])) >= 4:
        remedies.append(_NARROW_STACK)
    if not backward and not layers:
        remedies.append(_FEWER_STACKED)
    return Buffers(
        what, _in_words(mine), held, tuple(remedies), recompute=False, batch=backward or bool(layers)
    )


def _layers_again(framework: str | None) -> Remedy:
    """Of a scan over layers: the carry of each is what a recomputed layer leaves, and layers are few."""
    policy = "policy=jax.checkpoint_policies.save_only_these_names(...)"
    return Remedy(
        "let the backward pass compute each layer again instead of keeping it: only the carry is then kept",
        f"_, ys = jax.lax.scan(jax.checkpoint(body), carry, xs)   # or {policy}"
        if framework == JAX
        else None,
        slug="recompute-body",
    )


def _turns_again(framework: str | None) -> Iterator[Remedy]:
    """Of a scan over steps: a step that is computed again leaves its carry, so that where the carry is what
    takes the memory only blocks of steps help.
    """
    if framework != JAX:
        yield Remedy(
            "fewer steps at once: truncate the backward pass, or let it compute blocks of steps again",
            slug="in-blocks",
        )
        return
    yield SCAN_OF_BLOCKS
    yield Remedy(
        "where the carry is small beside what a step makes, computing each step again is enough: all carries"
        " stay",
        "_, ys = jax.lax.scan(jax.checkpoint(body), carry, xs)",
        slug="recompute-body",
    )


_STACK_LESS = Remedy(
    "let the body return only what is needed: reduce in the carry, and return None for the rest",
    slug="stack-less",
)
_FEWER_STACKED = Remedy(
    "fewer steps (or environments) at a time: each one less is as much less of every stack",
    slug="in-blocks",
)
_NARROW_STACK = Remedy(
    "if these are images or observations: stack them as uint8 (a quarter of float32), and not a second time"
    " as the next step's, which are the same shifted by one",
    "return carry, obs   # uint8; float32 only where the net reads a minibatch of them",
    slug="narrow-copy",
)
_IN_BLOCKS = Remedy(
    "go through the rows in blocks, and reduce each block at once",
    "y = jax.lax.map(f, x, batch_size=256)   # f of one row against all others",
    slug="in-blocks",
)


ONE_SHAPE = Remedy(
    "if every row was to meet its own target: [n] against [n,1] makes every pair; give both one shape",
    "residual = targets - predictions[:, 0]   # or: targets[:, None] - predictions",
    slug="one-shape-jax",
)
_ONE_BY_ONE = regex(r"(?:\A|/)(?:sub|add|mul|div|max|min|pow|select_n|atan2)\b")
_MEANS_PAIRS = regex(r"None|newaxis|expand_dims|outer|@|\.T\b|matmul|einsum|\bdot\(|reshape")
"""Code that means to combine every row with every other."""


def _is_by_mistake(row: Row) -> bool:
    """Whether an operator made it of a matrix's two sides, in a line that adds no axis."""
    node, op = row.allocation.node or "", row.allocation.op or ""
    pairs = len(_shape(row)) == 2 and bool(_ONE_BY_ONE.search(f"{node.rpartition('/')[2]} {op}"))
    return pairs and bool(row.code) and "vmap(" not in node and not _MEANS_PAIRS.search(row.code)


_FACTORED = regex(r"(?i)cholesky|triangular_solve|\beigh\b|slogdet")
"""What takes a matrix of all pairs whole, so that no loss of blocks of rows stands for it."""


def _pairs(mine: list[Row], held: int, framework: str | None) -> Buffers:
    first, second = _shape(mine[0])[:2]
    if framework == JAX and all(map(_is_by_mistake, mine)):
        return Buffers(
            f"a value for every pair of {first:,} x {second:,} rows, most likely by mistake: an operator met"
            f" [{first}] and [{first},1]",
            _in_words(mine),
            held,
            (ONE_SHAPE,),
            recompute=False,
            batch=False,
        )
    differences = any(len(_shape(row)) == 3 and _DIFFERENCE.search(_name(row)) for row in mine)
    trained = any(_GRADIENT.search(_name(row)) for row in mine)
    of_loss = replace(
        _IN_BLOCKS,
        text="compute the loss for blocks of rows, and let the backward pass compute each block again (or use"
        " a loss of single pairs, such as a sigmoid for each)",
        code="loss = jax.lax.map(jax.checkpoint(loss_of_block), blocks).sum()" if framework == JAX else None,
    )
    in_blocks = of_loss if trained else _IN_BLOCKS
    remedies: tuple[Remedy, ...] = (_MATRIX_PRODUCT, in_blocks) if differences else (in_blocks,)
    if first == second and any(_FACTORED.search(_name(row)) for row in mine):
        remedies, differences = (fewer_rows(first),), False
    left = 4 * first * second
    if differences and trained and left >= _LARGE_MATRIX:
        alone = (
            f"; alone it leaves {human(left)} for each matrix of all pairs, and the gradient keeps several"
        )
        remedies = (in_blocks, replace(_MATRIX_PRODUCT, text=_MATRIX_PRODUCT.text + alone))
    return Buffers(
        f"a value for every pair of {first:,} x {second:,} rows",
        _in_words(mine),
        held,
        remedies,
        recompute=False,
        batch=False,
    )


def _is_of_a_graph(row: Row, weights: Iterable[object]) -> bool:
    """Whether a graph network makes it, with a row for each edge or node."""
    shape = _shape(row)
    wide = len(shape) in (2, 3) and shape[0] >= _MANY_NODES and not _is_weight(row, weights)
    return wide and bool(_GRAPH.search(row.allocation.node or ""))


def _of_a_graph(mine: list[Row], held: int, framework: str | None) -> Buffers:
    rows_of = _shape(mine[0])[0]
    return Buffers(
        f"rows of a graph network, one for each of {rows_of:,} edges or nodes of its graph",
        _in_words(mine),
        held,
        of_a_whole_graph(framework),
        batch=False,
    )


def _vmapped(mine: list[Row], held: int, framework: str | None) -> Buffers:
    del framework
    many = _mapped(mine)
    part = 1 << (max(many // _PARTS, 1).bit_length() - 1)
    saved = sum(row.allocation.total_bytes for row in mine if _GRADIENT.search(row.allocation.node or ""))
    if 2 * saved > held:
        return Buffers(
            f"what vmap makes for all of its rows at once ({many:,} here), under a gradient",
            _in_words(mine),
            held,
            (
                Remedy(
                    "give it fewer rows (a smaller batch), or let the backward pass compute parts of the rows"
                    " again: going through them in parts alone frees nothing that a gradient saves",
                    f"y = jax.lax.map(jax.checkpoint(f), xs, batch_size={part})",
                    slug="recompute-body",
                ),
            ),
            recompute=False,
        )
    return Buffers(
        f"what vmap makes for all of its rows at once ({many:,} here)",
        _in_words(mine),
        held,
        (
            Remedy(
                f"run the function for some rows at a time, such as {part} of {many:,}, and add up or reduce"
                " each part's results before the next",
                f"y = jax.lax.map(f, xs, batch_size={part})   # its results are still one array of all rows",
                slug="in-blocks",
            ),
        ),
    )


_PARTS = 8
"""In so many parts, and then some: what a vmap makes is the larger part of a program, never all."""


def _mapped(mine: list[Row]) -> int:
    """The first dimension that most of the bytes have: what a vmap goes over."""
    held: dict[int, int] = {}
    for row in mine:
        first = _shape(row)[0]
        held[first] = held.get(first, 0) + row.allocation.total_bytes
    return max(held, key=lambda each: held[each])


def _gathered(mine: list[Row], held: int, framework: str | None) -> Buffers:
    del framework
    return Buffers(
        f"rows that are gathered, one for each of {_shape(mine[0])[0]:,} indices",
        _in_words(mine),
        held,
        (
            Remedy(
                "go through the indices (edges, neighbours, tokens) in blocks, and add each block's result to"
                " the output",
                slug="in-blocks",
            ),
        ),
        batch=(_shape(mine[0])[0] or 0) < _ROWS_OF_NO_BATCH,
    )


_ROWS_OF_NO_BATCH = 65_536
"""More rows than a batch has samples: pixels, edges, particles."""


def of_a_whole_graph(framework: str | None) -> tuple[Remedy, ...]:
    """What makes less of a graph network that works on its whole graph: it has no batch."""
    code = "h = (nodes @ w_s)[senders] + (nodes @ w_r)[receivers]   # for concat(senders, receivers) @ w"
    return (
        Remedy(
            "train on sampled neighbourhoods or subgraphs, padded to one size: far fewer edges at a time",
            slug="sample-neighbours",
        ),
        Remedy(
            "multiply by the weights before rows are gathered for the edges: then once for each node, and"
            " nothing is joined",
            code if framework == JAX else None,
            slug="narrower-layer",
        ),
        Remedy(
            "or go through the edges in blocks, and add each block's sums to the output (segment_sum)",
            slug="in-blocks",
        ),
    )


def _is_feature_map(row: Row, weights: Iterable[object]) -> bool:
    named = _IMAGES.search(row.allocation.node or "")
    return len(_shape(row)) in (4, 5) and bool(named) and not _is_weight(row, weights)


def _feature_maps(mine: list[Row], held: int, framework: str | None) -> Buffers:
    del framework
    one = all(map(_is_of_one, mine))
    return Buffers(
        f"feature maps of convolutions, {'of one sample' if one else 'for all samples of a batch'}",
        _in_words(mine),
        held,
        (
            Remedy(
                "smaller images or crops: half the height and width is a quarter of every feature map"
                + ("; an image may be done in overlapping tiles" if one else ""),
                slug="smaller-input",
            ),
        ),
    )


def _gradients(mine: list[Row], held: int, framework: str | None) -> Buffers:
    del framework
    return Buffers(
        "as large as weights: gradients, new values or copies of them, which no batch changes",
        _in_words(mine),
        held,
        (
            Remedy(
                "shard weights and optimizer state over devices (FSDP): gradients then are sharded, too",
                slug="shard-arguments",
            ),
        ),
    )


def _is_drawn(row: Row, weights: Iterable[object]) -> bool:
    """Random numbers, or a mask that is made of them."""
    name = _name(row)
    return bool(_DRAWS.search(name) or (_DROPOUT.search(name) and _MASKS.search(name))) and not _is_weight(
        row, weights
    )


_DRAWS = regex(
    r"threefry|_bernoulli|random_bits|rng[-_]?bit[-_]?generator|xla__(?:uniform|normal|bernoulli|randperm)"
    r"|jit\(_(?:uniform|normal|gumbel|categorical)"
)
_DROPOUT = regex(r"drop_?out|drop_?path|stochastic_?depth", re.IGNORECASE)
_MASKS = regex(r"select|where|compare|(?:\A|[/( ])(?:lt|gt|ge|le|mul|broadcast\w*)\b|mask", re.IGNORECASE)


def _drawn(mine: list[Row], held: int, framework: str | None) -> Buffers:
    dropped = any(_DROPOUT.search(_name(row)) for row in mine)
    if framework == TORCH_XLA:
        return Buffers(
            "random numbers, drawn at once",
            _in_words(mine),
            held,
            (_UNSAFE_GENERATOR, _WITHOUT_DROPOUT),
            recompute=False,
        )
    if any(_OF_INIT.search(_name(row)) or _is_of_init(row) for row in mine):
        return Buffers(
            "random numbers of the first weights, drawn whole",
            _in_words(mine),
            held,
            (_PARTITIONABLE, _SMALLER_DRAWS),
            recompute=False,
            batch=False,
        )
    if not dropped:
        return Buffers(
            "random numbers, drawn at once",
            _in_words(mine),
            held,
            ()
            if any(_DRAWN_ALONE.match(_name(row)) for row in mine)
            else (
                Remedy(
                    "draw fewer at a time: split the key, and draw for each part in a loop that reduces it",
                    "_, y = jax.lax.scan(lambda c, k: (c, f(jax.random.normal(k, shape))), 0, keys)"
                    if framework == JAX
                    else None,
                    slug="in-blocks",
                ),
            ),
            recompute=False,
        )
    return Buffers(
        "random numbers and masks of dropout, kept of each layer for the backward pass",
        _in_words(mine),
        held,
        (_DRAW_AGAIN, _CHEAP_DRAWS) if framework == JAX else (),
        recompute=False,
    )


_DRAWN_ALONE = regex(r"jit\(_?(?:normal|uniform|truncated_normal|gumbel|randint|bernoulli)\)/")
"""A draw that is a program of its own: a weight, as a rule, of which no loop reduces a part."""
_OF_INIT = regex(
    r"jit\(_?(?:\w+_)?init(?:ialize)?(?:_(?:state|params|model|weights|fn|train_state))?\)|_truncated_normal"
    r"|\binitializers?\b"
)
_PARTITIONABLE = Remedy(
    "if results are sharded: let every device draw its own part; before JAX 0.5 each draws all random numbers"
    " of an array, whatever its sharding",
    "jax.config.update('jax_threefry_partitionable', True)   # or jax_default_prng_impl='rbg'",
    slug="partitionable-draws",
)
_SMALLER_DRAWS = Remedy(
    "else make large weights one after another, or in parts: the draw of one takes several times its bytes",
    slug="in-blocks",
)
_UNSAFE_GENERATOR = Remedy(
    "where the program is sharded (SPMD) and the shape is that of the whole batch: let each device draw its"
    " own part",
    "export LIBTPU_INIT_ARGS=--xla_tpu_spmd_rng_bit_generator_unsafe=1",
    slug="partitionable-draws",
)
_WITHOUT_DROPOUT = Remedy(
    "drop where arrays are small (no dropout of attention's scores), or not at all",
    slug="smaller-draws",
)


_DRAW_AGAIN = Remedy(
    "let the backward pass draw the masks again: give the key to the recomputed block, draw within it, and"
    " save nothing there",
    "y = jax.checkpoint(block, policy=jax.checkpoint_policies.nothing_saveable)(params, x, key)",
    slug="draw-masks-again",
)
_CHEAP_DRAWS = Remedy(
    "or draw with a generator that XLA can compute again in one op, drop where arrays are small, or not at"
    " all",
    "jax.config.update('jax_default_prng_impl', 'rbg')   # before the first key is made",
    slug="cheaper-draws",
)


def _is_one_hot(row: Row, weights: Iterable[object]) -> bool:
    return bool(_ONE_HOT.search(_name(row))) and len(_shape(row)) >= 2 and not _is_weight(row, weights)


def _one_hot(mine: list[Row], held: int, framework: str | None) -> Buffers:
    return Buffers(
        f"one-hot rows of {_shape(mine[0])[-1]:,} classes",
        _in_words(mine),
        held,
        (
            Remedy(
                "use the integers themselves: take rows by index, and give a loss integer labels",
                "y = table[ids]   # for one_hot(ids, n) @ table" if framework == JAX else None,
                slug="integer-labels",
            ),
        ),
        recompute=False,
    )


def _is_of_residues(row: Row, weights: Iterable[object]) -> bool:
    return bool(_RESIDUES.search(_name(row))) and not _is_weight(row, weights)


_RESIDUES = regex(
    r"triangle_(?:mult|attention)|pairformer|evoformer|outer_product_mean"
    r"|pair_(?:transition|activations|logits)|\bmsa_(?:row|column|transition|stack|attention)",
    re.IGNORECASE,
)


def _of_residues(mine: list[Row], held: int, framework: str | None) -> Buffers:
    del framework
    return Buffers(
        "arrays over all pairs of residues, which grow with the square of the length",
        _in_words(mine),
        held,
        (FEWER_RESIDUES,),
        recompute=False,
        batch=False,
    )


Test = Callable[[Row, Iterable[object]], bool]
Build = Callable[[list[Row], int, "str | None"], Buffers]
_KINDS: tuple[tuple[Test, Build], ...] = (
    (_is_converted, _converted),
    (_is_weight, _gradients),
    (_is_of_each_example, _of_each_example),
    (_is_gradient_of_weights, _gradients_of_weights),
    (_is_dispatch, _dispatch),
    (_is_of_residues, _of_residues),
    (_is_drawn, _drawn),
    (_is_logits, _logits),
    (_is_joint, _joint),
    (_is_scores, _scores),
    (_is_one_hot, _one_hot),
    (_is_of_a_loop, _stacks),
    (_is_of_a_run, _of_runs),
    (_is_factor, _factors),
    (_is_collected, _collected),
    (_is_pairs, _pairs),
    (_is_feature_map, _feature_maps),
    (_is_of_a_graph, _of_a_graph),
    (_is_gathered, _gathered),
    (_is_vmapped, _vmapped),
)
"""Kinds of buffers, the most particular first."""


def kind_of_one(request: Request, framework: str | None, words: Collection[int] = ()) -> Buffers | None:
    """What the requested array is by its shape and the op that it belongs to, which may read it or make it;
    None where neither tells. `words` are sizes that the program calls a vocabulary.
    """
    failed, need = request.failed, request.failed.tensor_bytes
    if not failed.shape or need is None:
        return None
    row = Row(Allocation(failed.node, need, shape=failed.shape, dtype=failed.dtype), request.owner, None)
    shape, name = _shape(row), failed.node or ""
    last = shape[-1]
    of_words = last in words or (last >= _FEWEST_WORDS and (_CLASSES.search(name) or last in VOCABULARIES))
    if of_words and need // (last or 1) >= _SHORTEST and not _IMAGES.search(name):
        return _logits([row], need, framework)
    tests = ((test, build) for test, build in _KINDS if test not in _OF_WEIGHTS)
    found = next((build for test, build in tests if test(row, ())), None)
    return found([row], need, framework) if found else None


_OF_WEIGHTS: tuple[Test, ...] = (_is_converted, _is_weight, _is_gradient_of_weights, _is_logits)
"""Kinds that are told by the op that makes a buffer."""
