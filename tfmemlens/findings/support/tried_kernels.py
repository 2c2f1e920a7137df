"""What an array of one kernel is that XLA tried while it compiled a program: by the op that the log names, by
its shape, and by the sizes that the program names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from tfmemlens.findings.support.jax_code.changes import HESSIAN_PRODUCTS, ROWS_OF_DERIVATIVES
from tfmemlens.findings.support.main_buffers import Buffers, kind_of_one
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.situation import framework_of
from tfmemlens.model.case import Case, Request
from tfmemlens.model.finding import Remedy
from tfmemlens.model.incident import CompilerMemory
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import human
from tfmemlens.values import replace

_FUNCTION = regex(r"\Ap?jit\((?P<name>[A-Za-z_]\w*)\)")
_OF_JAX = regex(r"\A_|\A(?:jit|main|wrapped_\w+|convert_element_type|broadcast_in_dim|true_divide)\Z")
"""Functions that JAX compiles for one operation of a program that runs op by op."""
_WRAPPED = regex(r"\A\w+\(")
_IDENTIFIER = regex(r"\A[A-Za-z_]\w*\Z")
_SECOND = regex(r"vmap\([^/]*jvp\([^/]*jvp\(")
"""A mapped derivative of a derivative."""
_ATTENTION_CODE = regex(r"\b\w*(?:MultiHead\w*Attention|dot_product_attention|SelfAttention|[aA]ttention)\(")
_PATCHES = regex(r"(?i)patch|stride|tile|image|size|res")
_FEWER = 8
_SHORTER = 4
_MOST_NAMES = 40


_NEVER_WHOLE = replace(
    HESSIAN_PRODUCTS,
    text="never make the matrix: take products with vectors (for the diagonal with unit vectors, in blocks)",
)


def function_of(request: Request) -> str | None:
    """The compiled function that the op belongs to; None where JAX compiled one operation by itself."""
    match = _FUNCTION.match(request.failed.node or "")
    name = match["name"] if match else None
    return None if name is None or _OF_JAX.match(name) else name


def operation_of(request: Request) -> str | None:
    """The operation that ran by itself: `reduce_sum` of `jit(_reduce_sum)/reduce_sum`."""
    match = _FUNCTION.match(request.failed.node or "")
    alone = match is not None and _OF_JAX.match(match["name"]) and match["name"] not in ("main", "jit")
    return (request.failed.node or "").rpartition("/")[2] if alone else None


def line_of_layer(case: Case, request: Request) -> Line | None:
    """The program's line that gives the innermost layer of the op its name."""
    parts = (request.failed.node or "").split("/")[:-1]
    layers = [each for each in parts if _IDENTIFIER.match(each) and not _WRAPPED.match(each)]
    for layer in reversed(layers):
        named = regex(rf"name\s*=\s*['\"]{layer}['\"]|\b{layer}\s*=(?!=)")
        found = next(
            (line for line in code_lines(case.capture.surroundings) if named.search(line.text)), None
        )
        if found:
            return found
    return None


def names_of(case: Case) -> Mapping[int, str]:
    """Sizes to which the program gives one name alone."""
    program = case.capture.surroundings.program()
    if not program:
        return {}
    from tfmemlens.knowledge.jax_arrays import arrays_of  # reads trees

    return arrays_of(program).names


def in_names(size: int, names: Mapping[int, str]) -> str:
    """`BATCH x SEQ_LEN`, `(TILE / PATCH) ** 2`; empty where the program's sizes do not make it."""
    if size in names:
        return names[size]
    few = list(names.items())[:_MOST_NAMES]
    for (one, first), (other, second) in combinations(few, 2):
        if one * other == size:
            return " x ".join(sorted((first, second), key=lambda name: "batch" not in name.lower()))
        large, small = max((one, first), (other, second)), min((one, first), (other, second))
        if not large[0] % small[0] and (large[0] // small[0]) ** 2 == size and _PATCHES.search(small[1]):
            return f"({large[1]} / {small[1]}) ** 2"
    return ""


def shape_in_names(shape: Sequence[int | None], names: Mapping[int, str]) -> str:
    """` (BATCH x SEQ_LEN, VOCAB)`, where the program names half of the sizes or more; else empty."""
    told = [in_names(size or 1, names) for size in shape]
    if not any(told) or 2 * sum(map(bool, told)) < len(told):
        return ""
    sides = (name or f"{size:,}" for name, size in zip(told, shape, strict=True))
    return f" ({', '.join(sides)})"


def is_hessian(request: Request) -> bool:
    """Whether the op is one of a derivative of a derivative that is mapped over all rows."""
    return bool(_SECOND.search(request.failed.node or ""))


def of_hessian(request: Request, compiler: CompilerMemory) -> Buffers:
    """A part of a Hessian: a row for each parameter."""
    shape = tuple(size or 1 for size in request.failed.shape or ())
    sides = [side for side in compiler.squares if any(size % side == 0 for size in shape)]
    side = max(sides, default=0)
    rows = f" with a row for each of {side:,} numbers that it is differentiated by" if side else ""
    whole = f"; the whole Hessian is {side:,} x {side:,}, {human(4 * side * side)}" if side else ""
    return Buffers(
        f"a part of a Hessian{rows}{whole}",
        format_shape(shape),
        request.failed.tensor_bytes or 0,
        (_NEVER_WHOLE, ROWS_OF_DERIVATIVES),
        recompute=False,
        batch=False,
    )


def kind_of(case: Case, request: Request, compiler: CompilerMemory) -> Buffers | None:
    """What the array is; None where neither its op nor its shape tells."""
    if is_hessian(request):
        return of_hessian(request, compiler)
    names = names_of(case)
    words = {size for size, name in names.items() if "voc" in name.lower()}
    return kind_of_one(request, framework_of(case), words)


def fewer_samples(request: Request, names: Mapping[int, str]) -> Remedy:
    """A batch of which an eighth is left."""
    need = request.failed.tensor_bytes or 0
    rows = need // ((request.failed.shape or (1,))[-1] or 1)
    batches = [(size, name) for size, name in names.items() if "batch" in name.lower() and not rows % size]
    size, name = batches[0] if len(batches) == 1 else (0, "")
    how = f" ({name} {size} -> {size // _FEWER})" if size >= _FEWER else ""
    return Remedy(
        f"or an eighth of the batch{how}: {human(need // _FEWER)} for each of the two or three such arrays"
        " that a step makes (logits, their gradient)",
        slug="smaller-batch",
    )


def shorter(request: Request, names: Mapping[int, str]) -> Remedy:
    """A quarter of the tokens, which leaves a sixteenth of their squares."""
    need, length = request.failed.tensor_bytes or 0, (request.failed.shape or (1,))[-1] or 1
    made = in_names(length, names)
    how = "shorter sequences"
    if made.endswith(") ** 2"):
        patch = made.rpartition(" / ")[2].removesuffix(") ** 2")
        size = next((each for each, name in names.items() if name == patch), 0)
        how = f"patches twice as large on each side ({patch} {size} -> {2 * size}), or smaller images"
    named = f" = {made}" if made else ""
    return Remedy(
        f"fewer tokens than {length:,}{named}: {how}; a quarter of them leaves a sixteenth of the scores,"
        f" {human(need // _SHORTER**2)}, of which each layer makes several",
        slug="shorter-sequences",
    )


def line_of_attention(case: Case) -> Line | None:
    """The program's line that makes or calls attention."""
    lines = code_lines(case.capture.surroundings)
    return next((line for line in lines if _ATTENTION_CODE.search(line.text)), None)
