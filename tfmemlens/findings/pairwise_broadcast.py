"""Broadcasting made every pair: `x[:, None] - x[None, :]` is as large as the product of both lengths.

What it means: an elementwise op between [N,1,d] and [1,M,d] yields [N,M,d]. The inputs are small, the result
grows with the square of the number of rows, and each further elementwise op makes another copy of it.
When it fires: an elementwise op asks for a tensor whose first two dimensions are at least 256, of at least
64 MiB; they are equal, or the failing line or the op's name tells of pairs (`[:, None]`, `expand_dims(a, 1) -
expand_dims(b, 0)`, `IOU`), or the result is larger than the device, where no operand of an arithmetic op can
be as large; and no attention is in sight. Where the text states two shapes, both far smaller,
that broadcast to the failed one, these are named. Three equal dimensions are triplets. [b,n,n,c] is all pairs
in each sample where a line of the program makes them.
What to do: in a loss, give targets and predictions one shape. For distances use matrix products, |a-b|^2 =
|a|^2 + |b|^2 - 2ab: [N,M] instead of [N,M,d]. Otherwise go through the rows in blocks, and reduce each
block at once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.of_all_points import points_of_a_process
from tfmemlens.findings.support.on_the_way import on_the_way
from tfmemlens.findings.support.program_lines import code_lines, definitions
from tfmemlens.findings.support.quoted_line import line_of_op
from tfmemlens.findings.support.rows import device_limit, place, requests, tensor_text
from tfmemlens.findings.support.rows_by_repetition import repeated_rows
from tfmemlens.model.capture import StatedSize
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import FailedRequest
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import format_shape
from tfmemlens.model.what_if import Shrunk
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human
from tfmemlens.values import dataclass, replace

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor"

_ELEMENTWISE = regex(
    r"(?:Sub|AddV2|Add|Mul|SquaredDifference|Maximum|Minimum|RealDiv|Pow|Abs|Square|Equal|Less|Greater|Exp"
    r"|Log|Log1p|Cosh|Tanh|Softplus|Sigmoid|Sign|Cast|To(?:Float|Double|Int32|Int64)|LogicalAnd|LogicalNot"
    r"|SelectV2|Neg|Tile|BroadcastTo)\Z",
    re.IGNORECASE,
)
_DISTANCES = """squares = tf.reduce_sum(x * x, -1)
distances = squares[:, None] + squares[None, :] - 2 * tf.matmul(x, x, transpose_b=True)"""

_OF_TWO_SETS = """a2, b2 = tf.reduce_sum(a * a, -1), tf.reduce_sum(b * b, -1)
d = a2[:, None] + b2[None, :] - 2 * tf.matmul(a, b, transpose_b=True)"""

_PAIRS = regex(
    r"\[(?:\.\.\.|:)\s*,\s*(?:None|(?:tf|np|jnp)\.newaxis)\b|\[(?:None|(?:tf|np|jnp)\.newaxis)\s*,"
    r"|(?:\A|[/ _])(?:IOU|iou|pairwise|PairwiseDistances?|cdist)(?:[/_]|\Z)"
)
"""Code and names that tell of pairs."""
_BOTH_AXES = regex(
    r"expand_dims\(\s*[\w.]{1,40}\s*,\s*(?:axis\s*=\s*)?(?P<one>-?\d)\s*\)\s*[-+*/]"
    r"\s*(?:tf\.)?expand_dims\(\s*[\w.]{1,40}\s*,\s*(?:axis\s*=\s*)?(?P<other>-?\d)\s*\)"
)
"""`tf.expand_dims(a, 1) - tf.expand_dims(b, 0)`: two axes that differ make all pairs."""
_AXIS = r"\[[^\[\]]{0,40}(?:None|newaxis)[^\[\]]{0,40}\]"
_TWO_AXES = regex(rf"{_AXIS}\s*[-+*/]\s*[\w.]{{1,40}}{_AXIS}")
"""`a[:, None] - b[None, :]`."""
_OF_A_LOSS = regex(
    r"loss|error|residual|y_true|y_pred|target|label|predict|\bm[as]e\b|huber|\breturns\b|rewards?\b"
    r"|advantages?\b"
    r"|critic",
    re.IGNORECASE,
)
_OF_SQUARES = regex(r"(?:reduce_mean|\bsquare|squared_difference)\(")
"""Code of a mean square, where its difference failed."""
"""Code and names of what compares targets with predictions."""
_ONE_SHAPE = Remedy(
    "if these are targets against predictions: [n] against [n,1] makes every pair; give both one shape",
    "y_true = tf.reshape(y_true, tf.shape(y_pred))",
    slug="one-shape",
)


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        failed, need = request.failed, request.failed.tensor_bytes
        shape = [size or 0 for size in failed.shape or ()]
        op = failed.op or request.owner.op or _by_name(failed.node or "") or _by_kernel(failed)
        if (
            need is None
            or need < 64 * MIB
            or not (
                _ELEMENTWISE.match(op) or op == _OF_TWO or (not op and len(shape) == 4 and _all_alike(shape))
            )
            or re.search(r"attention|softmax|scores", failed.node or "", re.IGNORECASE)
        ):
            continue
        if points_of_a_process(case, request):
            continue  # its matrix is factorised whole, so that no blocks help
        if repeated_rows(case, request):
            continue  # its many rows are known, and no side of pairs
        if on_the_way(case, moment, request):
            continue  # large-on-the-way tells which line makes it, and why it need not
        if stated := _broadcast(case, shape):
            yield _of_stated(index, moment, need, op, stated)
            continue
        if _all_alike(shape):
            yield _of_triplets(case, index, moment, need, shape)
            continue
        if _in_each_sample(shape) and (_made_from(case, request) or _makes_pairs(failed.source_text or "")):
            yield _within_samples(case, index, moment, request, op)
            continue
        if not 2 <= len(shape) <= 3 or max(shape[:2]) < _MANY_ROWS_ALONE:
            continue
        if min(shape[:2]) < _MANY_ROWS_ALONE and not (
            min(shape[:2]) >= _FEW_ROWS and _made_from(case, request)
        ):
            continue  # few rows are of pairs only where the code makes them
        grown = _above_any_operand(case, moment, op)
        if shape[0] != shape[1] and not (grown or _tells_of_pairs(case, request)):
            continue
        if _like_a_weight(case, request, shape) and not grown:
            continue
        mistake = tuple(_of_a_loss(case, request, shape))
        rest = need // shape[0]
        rows = max(64 * MIB // rest, 1)
        many = f"{shape[0]:,}" if shape[0] == shape[1] else f"{shape[0]:,} and {shape[1]:,}"
        grows = "their square" if shape[0] == shape[1] else "their product"
        yield Finding(
            severity=Severity.CAUSE,
            headline=(
                f"{op} over every pair of {many} rows: the result takes {human(need)}, one row of it"
                f" {human(rest)}"
            ),
            because=(
                f"{_what_it_does(op)} every pair of {many} rows{_at(case, request)}, and the result"
                f" grows with {grows}{_most_likely(case, shape) if mistake else ''}"
            ),
            explains=need,
            evidence=(Evidence(f"requested: {tensor_text(moment)} at {place(moment) or op}", failed.line),),
            detail=_GROWN if grown else "",
            remedies=(
                *(mistake or (() if _OF_COMPARISONS.match(op) else _product(shape, need))),
                *(() if mistake else (_in_blocks(need, rows, rest),)),
            ),
            moment=index,
        )


_MANY_ROWS_ALONE, _FEW_ROWS = 256, 16
_LAYER_WIDTH = 64
"""Widths of layers are multiples of it, numbers of rows seldom."""


def _like_a_weight(case: Case, request: Request, shape: list[int]) -> bool:
    """Whether an eager op that nothing else is known of asked for a square of a layer's width: as likely a
    weight's first value, or its update.
    """
    failed = request.failed
    named = failed.node or failed.source_text or failed.frames or failed.keras_layer
    square = len(shape) == 2 and shape[0] == shape[1] and shape[0] % _LAYER_WIDTH == 0
    of_values = failed.op in ("Add", "AddV2", "Mul")  # an initialiser's last ops; a difference is of pairs
    return square and of_values and not named and not _tells_of_pairs(case, request)


def _in_blocks(need: int, rows: int, rest: int) -> Remedy:
    return Remedy(
        f"go through the rows in blocks of {rows}, and reduce each block at once",
        saves_bytes=need - rows * rest,
        certainty=Certainty.EXACT,
        slug="in-blocks",
    )


_GROWN = "Its operands are smaller than the result: none as large could be on this device."
_ARITHMETIC = regex(r"(?:Sub|AddV2|Add|Mul|SquaredDifference|Maximum|Minimum|RealDiv|Pow)\Z", re.IGNORECASE)


def _above_any_operand(case: Case, moment: Moment, op: str) -> bool:
    """Whether an op of two operands asks for more than the device has: none has its result's shape then."""
    limit, need = device_limit(case, moment), moment.balance.requested
    return bool(limit and need and need > limit.high and (op == _OF_TWO or _ARITHMETIC.match(op)))


_OF_TWO = "op of two operands"


def _by_kernel(failed: FailedRequest) -> str:
    """The kind of op that the source of its kernel tells, where nothing names the op."""
    return _OF_TWO if not failed.node and "cwise_ops_common" in (failed.kernel or "") else ""


_SHAPES_THAT_MEET = Remedy(
    "print the shapes that meet in this op, and give the mask and the distances the same axes: [n,n,n]"
    " against [n,n,n,1] makes every combination of four",
    "tf.debugging.assert_equal(tf.shape(mask), tf.shape(distances))",
    slug="one-shape",
)
_NUMBERED = regex(r"_\d+\Z")
_LEAST_ROWS = {3: 256, 4: 64}
"""The fewest rows of which all triplets, or all combinations of four, are looked for."""
_FAR_SMALLER = 16
"""Both operands must be smaller than the result by this factor: else broadcasting costs little."""


def _broadcast(case: Case, shape: list[int]) -> tuple[StatedSize, StatedSize] | None:
    """Two shapes that the text states, both far smaller, that broadcast to this one."""
    stated = {each.sizes: each for each in case.capture.surroundings.sizes if 0 not in each.sizes}
    most = math.prod(shape) // _FAR_SMALLER
    small = [each for each in stated.values() if math.prod(each.sizes) <= most]
    for one, other in combinations(small, 2):
        if max(len(one.sizes), len(other.sizes)) < 2 or not _near(one.line, other.line):
            continue
        if _joined(one.sizes, other.sizes) == tuple(shape):
            return one, other
    return None


def _near(one: Line, other: Line) -> bool:
    return abs(one.number - other.number) <= _NEAR_LINES


_NEAR_LINES = 12


def _joined(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape to which two broadcast."""
    rank = max(len(one), len(other))
    left, right = ((1,) * (rank - len(each)) + each for each in (one, other))
    if any(a != b and 1 not in (a, b) for a, b in zip(left, right, strict=True)):
        return None
    return tuple(map(max, left, right))


def _of_stated(
    index: int, moment: Moment, need: int, op: str, stated: tuple[StatedSize, StatedSize]
) -> Finding:
    """The text itself has both operands."""
    one, other = sorted(stated, key=lambda each: len(each.sizes))
    shapes = f"{format_shape(one.sizes)} ({one.line.place}) and {format_shape(other.sizes)}"
    shapes += f" ({other.line.place})" if other.line.place != one.line.place else ""
    shape = moment.request.failed.shape if moment.request else None
    what = f"{op} of {shapes} broadcasts to {format_shape(shape or ())}: most likely they lack one shape"
    column = other.sizes == (*one.sizes, 1)
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=need,
        basis=Basis.MEASURED,
        evidence=(Evidence("one shape", one.line), Evidence("the other", other.line)),
        remedies=(
            Remedy(
                "give both operands one shape before they meet",
                "y_true = y_true[..., tf.newaxis]   # or: y_pred = tf.squeeze(y_pred, -1)"
                if column
                else "y_true = tf.reshape(y_true, tf.shape(y_pred))",
                slug="one-shape",
            ),
        ),
        moment=index,
    )


def _by_name(node: str) -> str:
    """The op that a node's own name tells, where it is an elementwise one: `ToFloat` of `loss/ToFloat_1`."""
    name = _NUMBERED.sub("", node.rpartition("/")[2])
    return name if _ELEMENTWISE.match(name) else ""


def _all_alike(shape: list[int]) -> bool:
    """Whether all of three or four sides are the same number of rows."""
    return len(set(shape)) == 1 and shape[0] >= _LEAST_ROWS.get(len(shape), shape[0] + 1)


def _in_each_sample(shape: list[int]) -> bool:
    """Whether the sides behind the batch may be all pairs of a sample's rows, or of two kinds of rows."""
    alike = len(shape) == 4 and shape[1] == shape[2] >= _LEAST_ROWS[4]
    two = (
        len(shape) == 4 and max(shape[1:3]) >= _MANY_ROWS and min(shape[1:3]) > 1 and shape[3] <= _FEW_NUMBERS
    )
    return (alike or two) and shape[0] > 1


_MANY_ROWS, _FEW_NUMBERS = 1000, 16
"""Boxes, points, particles, with a few coordinates each: no map of an image is so long."""


def _within_samples(case: Case, index: int, moment: Moment, request: Request, op: str) -> Finding:
    """All pairs of the rows of each sample, where a line of the program makes them: no image's two sides."""
    samples, rows, others, width = (size or 1 for size in request.failed.shape or ())
    need = request.failed.tensor_bytes or 0
    pair, grows = f"every pair of {rows:,} rows", "the square of the rows"
    if rows != others:
        pair, grows = f"each of {rows:,} rows with each of {others:,}", "the product of both"
    what = (
        f"an elementwise {op} combines {pair} in each of {samples:,} samples{_at(case, request)},"
        f" {width:,} numbers for each pair; the result grows with {grows}"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=f"{what}: {human(need)}",
        because=what,
        explains=need,
        evidence=(Evidence(f"requested: {tensor_text(moment)}", request.failed.line),),
        remedies=(
            *remedies.offered(case, moment, "smaller-batch"),
            *((_ONE_BY_ONE,) if rows != others else ()),
            Remedy("or keep only near pairs (a cut-off, nearest neighbours)", slug="fewer-pairs"),
        ),
        moment=index,
        rules_out=("smaller-input",),
    )


_ONE_BY_ONE = Remedy(
    "make the pairs of one sample at a time, or of a block of its rows, and reduce them at once (a maximum, a"
    " match): all of them then never exist together",
    "best = tf.map_fn(lambda g: match(rows, g), others, fn_output_signature=tf.int64)",
    slug="in-blocks",
)


def _of_triplets(case: Case, index: int, moment: Moment, need: int, shape: list[int]) -> Finding:
    """Every triple of one batch, as triplet losses make them; with a fourth side most likely by mistake."""
    assert moment.request
    rows, axes = shape[0], len(shape)
    what = f"every triplet of {rows:,} rows is made at once, which grows with their cube: {human(need)}"
    if axes == 4:
        what = (
            f"every combination of four of {rows:,} rows is made at once, which grows with their fourth"
            f" power: {human(need)}; a loss needs pairs or triplets, so most likely a mask or a distance has"
            " an axis too many and broadcasts"
        )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=need,
        evidence=(Evidence(f"requested: {tensor_text(moment)}", moment.request.failed.line),),
        remedies=(
            *((_SHAPES_THAT_MEET,) if axes == 4 else ()),
            remedies.of_tensor(
                case,
                f"fewer rows at once: with {rows // 2:,} this takes {human(need >> axes)}",
                Shrunk("smaller-batch", need, axes=axes),
            ),
            Remedy(
                "or choose for each anchor one positive and one negative (mining): pairs, no triplets, are"
                " made",
                slug="fewer-pairs",
            ),
        ),
        moment=index,
        rules_out=("smaller-input", "in-batches", "lower-constant", "lower-setting"),
    )


def _tells_of_pairs(case: Case, request: Request) -> bool:
    """Whether the failing line or the op's name tells of pairs, or quoted code where the op ran by itself."""
    failed = request.failed
    if _PAIRS.search(f"{failed.source_text} {failed.node}"):
        return True
    quoted = line_of_op(request, case.capture.surroundings.code)
    if _makes_pairs(failed.source_text or (quoted.text if quoted else "")):
        return True
    return _made_from(case, request) is not None


def _makes_pairs(text: str) -> bool:
    match = _BOTH_AXES.search(text)
    return bool(match and match["one"] != match["other"])


def _made_from(case: Case, request: Request) -> Line | None:
    """The line that made all pairs, where the failing line only goes on with them: `d = a[:, None] - b[None]`
    above `tf.square(d)`; where no line is known to have failed, the only one of the program that makes any.
    """
    text, code = request.failed.source_text, code_lines(case.capture.surroundings)
    made = list(_behind(text, code, request.failed.source)) if text else list(code)
    pairs = [line for line in made if _makes_pairs(line.text) or _TWO_AXES.search(line.text)]
    if text and not pairs:
        axes = [line for line in made if _NEW_AXIS.search(line.text)]
        pairs = axes[:1] if len(axes) > 1 else []  # `a = x[:, None]` above, `b = y[None]` below
    return pairs[0] if pairs and (text or len(pairs) == 1) else None


_NEW_AXIS = regex(r"=\s*[\w.]{1,40}\[[^\[\]]{0,40}(?:None|newaxis)[^\[\]]{0,40}\]\s*\Z")
"""`a = anchors[None, :, None, :]`: rows that are laid along an axis of their own."""


_STEPS_BACK = 3


def _behind(text: str, code: Sequence[Line], place: str | None = None) -> Iterator[Line]:
    """The lines that made what a line uses, and what these use: `gap` of `d = sum(gap * gap)`."""
    texts = [text]
    for _ in range(_STEPS_BACK):
        made = [line for each in texts for line in definitions(each, code, place)]
        yield from made
        texts = [line.text for line in made]


def _of_a_loss(case: Case, request: Request, shape: list[int]) -> Iterator[Remedy]:
    """A square matrix where a loss has a column: most likely [n] against [n,1]. In a training step an op
    outside of any layer is of the loss.
    """
    failed = request.failed
    told = _OF_A_LOSS.search(f"{failed.source_text} {failed.node} {failed.forward_node} {failed.source}")
    difference = (failed.op or request.owner.op) in ("Sub", "SquaredDifference")
    of_squares = difference and _OF_SQUARES.search(failed.source_text or "")
    outside = case.capture.surroundings.shows("training") and "/" not in (failed.node or "/")
    if len(shape) == 2 and shape[0] == shape[1] and (told or of_squares or outside):
        line = _difference_of_a_loss(case)
        yield replace(_ONE_SHAPE, code=line.code) if line else _ONE_SHAPE


@dataclass(frozen=True, slots=True)
class _Difference:
    """A line that compares targets with predictions."""

    line: Line
    one: str
    other: str

    @property
    def code(self) -> str:
        """What gives both one shape, in the user's names."""
        return f"{self.one} = tf.reshape({self.one}, tf.shape({self.other}))   # before {self.line.place}"


_COMPARES = regex(
    r"(?<![\w.)\]*/+-] )(?<![\w.])(?P<one>[a-z_]\w{0,40}) - (?P<other>[a-z_]\w{0,40})(?![\w.(\[])(?! ?[-+*/])"
    r"|\b(?:subtract|squared_difference)\(\s*(?P<first>[a-z_]\w{0,40}),\s*(?P<second>[a-z_]\w{0,40})\s*\)"
)


def _difference_of_a_loss(case: Case) -> _Difference | None:
    """The one line of the program that takes the difference of two names, and by its own or its function's
    name is of a loss: the backward pass, or what is computed from it, fails elsewhere.
    """
    found: dict[tuple[str, str], _Difference] = {}
    for function, line in _with_functions(case):
        match = _COMPARES.search(line.text)
        if match is None or not (_OF_A_LOSS.search(line.text) or _OF_A_LOSS.search(function)):
            continue
        one, other = match["one"] or match["first"], match["other"] or match["second"]
        found.setdefault((one, other), _Difference(line, one, other))
    return next(iter(found.values())) if len(found) == 1 else None


_DEF = regex(r"\s*def\s+(?P<name>\w{1,80})\(")


def _with_functions(case: Case) -> Iterator[tuple[str, Line]]:
    """The lines of the program, each with the function that begins last above it."""
    function = ""
    for line in code_lines(case.capture.surroundings):
        match = _DEF.match(line.text)
        function = match["name"] if match else function
        yield function, line


def _at(case: Case, request: Request) -> str:
    """The line that made the pairs, where it is not the failing one."""
    line = _made_from(case, request)
    if line and not request.failed.source_text:
        return f" (most likely `{line.text.strip()}`, {line.place})"
    return f" that `{line.text.strip()}` ({line.place}) makes" if line else ""


def _what_it_does(op: str) -> str:
    """`Tile` is most often the gradient of a mean or sum: its input has no rows to combine."""
    return f"a {op} makes" if op in _SPREADS else f"an elementwise {op} combines"


_SPREADS = ("Tile", "BroadcastTo")


def _most_likely(case: Case, shape: list[int]) -> str:
    """What makes a square matrix in a loss, and the line of it where one is known."""
    line = _difference_of_a_loss(case)
    at = f" in `{line.line.text.strip()}` ({line.line.place})" if line else ""
    return f"; most likely [{shape[0]},1] against [{shape[0]}]{at}"


_OF_COMPARISONS = regex(r"Maximum|Minimum|(?:Not)?Equal|Greater|Less|Logical")
"""Ops that no matrix product replaces."""


def _product(shape: list[int], need: int) -> Iterator[Remedy]:
    if len(shape) == 3 and shape[2] > 1:
        text = (
            f"for distances use a matrix product: [{shape[0]},{shape[1]}] instead of all {shape[2]}"
            " components"
        )
        code = _DISTANCES if shape[0] == shape[1] else _OF_TWO_SETS
        yield Remedy(text, code, need - need // shape[2], Certainty.EXACT, slug="matrix-product")
