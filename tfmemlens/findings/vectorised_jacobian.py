"""A vectorised loop computes all its iterations at once: a Jacobian's outputs, or a gradient of each example.

What it means: `tape.jacobian` runs the backward pass once for each output. It does so in one vectorised loop
(pfor), so that each tensor of the backward pass has the number of outputs as a further first dimension. So
does `tf.vectorized_map`, where a function takes the gradient of one example: each weight's gradient is there
once for each example.
When it fires: the failing op runs in such a loop (`loop_body/`, `/pfor`), or the failing line calls
`.jacobian(`.
What to do: `batch_jacobian` of outputs by inputs of the same samples; else fewer samples at a time, since the
result has all weights once for each output; an ordinary loop, one output after the other, makes the tensors
on the way smaller. Of a map parts of the examples.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from tfmemlens.findings.support.jacobians import FEWER_SAMPLES, of_each_sample, one_after_the_other
from tfmemlens.findings.support.phase import is_jacobian
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.rows import requests, tensor_text
from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import human

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor"


def _of_stated(case: Case, first: int) -> int | None:
    """The iterations of a first dimension that is rows times iterations, as a shape of the text has both: of
    [786432,4096] beside `y (256, 3072)` these are 3,072.
    """
    stated = {size.sizes for size in case.capture.surroundings.sizes if len(size.sizes) == 2}
    turns = {sizes[1] for sizes in stated if sizes[0] * sizes[1] == first and min(sizes) > 1}
    return turns.pop() if len(turns) == 1 else None


def _iterations(case: Case, shape: tuple[int | None, ...]) -> int | None:
    """How many iterations a tensor holds: its first dimension, but of a matrix only what the text says, for
    there rows and iterations may be one dimension.
    """
    first = shape[0] or 0
    turns = _of_stated(case, first) or (first if len(shape) > 2 else None)
    return turns if turns and turns > 1 else None


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        failed = request.failed
        if failed.kind is not RequestKind.TENSOR or not failed.shape:
            continue
        if not is_jacobian(request):
            yield from _behind_a_map(case, index, moment, failed.shape)
            continue
        if failed.shape[0] == 1:
            continue
        if any(_OF_MICROBATCHES.search(line.text) for line in code_lines(case.capture.surroundings)):
            continue  # an optimizer's own: `what-the-code-makes` says what it keeps
        turns = _iterations(case, failed.shape)
        many = f", most likely {turns:,}" if turns else ""
        if _FOLDED.search(failed.node or "") and not _of_stated(case, failed.shape[0] or 0):
            turns, many = _of_images(case, failed.shape[0] or 0)
        if (mapped := _map(case, request)) is not None:
            yield _of_map(index, moment, mapped, failed.shape)
            continue
        yield Finding(
            severity=Severity.CAUSE,
            headline="the failing op runs in a vectorised loop (pfor), which works on all its iterations at"
            f" once{many}: one for each output of a Jacobian",
            because=f"a vectorised loop works on all its iterations at once{many}",
            explains=failed.tensor_bytes,
            evidence=(Evidence(f"requested: {tensor_text(moment)}", failed.line),),
            remedies=(
                *of_each_sample(case.capture.surroundings, failed.shape, failed.tensor_bytes),
                FEWER_SAMPLES,
                one_after_the_other(failed.tensor_bytes, turns),
            ),
            moment=index,
            rules_out=_OF_NO_JACOBIAN,
        )


_OF_NO_JACOBIAN = ("part-of-positions", "smaller-vocabulary", "sampled-loss", "sparse-labels-alone")
"""What a large last side of a gradient is no sign of."""
_MAPS = regex(r"\bvectorized_map\(\s*(?P<function>[\w.]{1,60})")


def _map(case: Case, request: Request) -> tuple[str, str] | None:
    """What `tf.vectorized_map` maps, and the place: by the failing lines, else by the program's only call."""
    failed = request.failed
    shown = [(failed.source or "", failed.source_text or "")]
    shown += [(frame.place, frame.text) for frame in failed.frames]
    found = [(match["function"], place) for place, text in shown if (match := _MAPS.search(text))]
    if found:
        return found[0][0], found[0][1].rpartition("/")[2]
    lines = [
        (match, line) for line in code_lines(case.capture.surroundings) if (match := _MAPS.search(line.text))
    ]
    return (lines[0][0]["function"], lines[0][1].place) if len(lines) == 1 else None


def _of_map(index: int, moment: Moment, mapped: tuple[str, str], shape: tuple[int | None, ...]) -> Finding:
    """A function that is computed for all elements at once, as one tensor with a row for each."""
    assert moment.request
    function, place = mapped
    failed, many = moment.request.failed, shape[0] or 1
    need = failed.tensor_bytes or 0
    gradient = _OF_A_GRADIENT.search(f"{failed.node} {failed.op}") is not None
    row = f"{format_shape(shape[1:])}, {human(need // many)}"
    what = f"`tf.vectorized_map` ({place}) computes `{function}` for all elements at once: here "
    what += (
        f"a gradient of {row}, for each of {many:,} examples" if gradient else f"{row}, for each of {many:,}"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=failed.tensor_bytes,
        evidence=(Evidence(f"requested: {tensor_text(moment)}", failed.line),),
        remedies=tuple(_for_a_map(function, many, need, gradient)),
        moment=index,
        rules_out=("lower-constant", "narrower-layer", "smaller-input"),
    )


def _behind_a_map(case: Case, index: int, moment: Moment, shape: tuple[int | None, ...]) -> Iterator[Finding]:
    """What works on gradients of each example that a map of the program made: as many numbers as a weight of
    its layers has, for each of the examples.
    """
    program = case.capture.surroundings.program()
    function = _maps_gradients(program) if program and len(shape) > 1 and (shape[0] or 0) > 1 else None
    if function is None:
        return
    from tfmemlens.knowledge.keras_program import layer_outputs  # reads trees

    weights = {tuple(each.shape) for made in layer_outputs(program) for each in made.weights}
    size = math.prod(side or 1 for side in shape[1:])
    weight = next((each for each in weights if len(each) > 1 and math.prod(each) == size), None)
    if weight is None:
        return
    assert moment.request
    (name, line), many = function, shape[0] or 1
    all_of_them = sum(math.prod(each) for each in weights) * _FLOAT * many
    what = (
        f"`tf.vectorized_map` ({line.place}) gives a gradient of every weight for each of {many:,} examples,"
        f" {human(all_of_them)} together, and this works on those of {format_shape(weight)}"
    )
    need = moment.request.failed.tensor_bytes or 0
    largest = max(math.prod(each) for each in weights) * _FLOAT * many
    held = any(largest <= row.size_bytes <= _WITH_SLACK * largest for row in moment.attribution.table)
    yield Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=all_of_them,
        basis=Basis.MEASURED if held else None,
        evidence=(Evidence("the map", line), Evidence("requested", moment.request.failed.line)),
        remedies=tuple(_for_a_map(name, many, need, gradient=True)),
        moment=index,
        rules_out=("lower-constant", "narrower-layer", "smaller-input", "smaller-batch"),
    )


_FLOAT, _WITH_SLACK = 4, 1.25


def _maps_gradients(program: Program) -> tuple[str, Line] | None:
    """The function of the program's only map, where it takes a gradient, and the line that maps it."""
    calls = [
        (statement, node)
        for statement in program
        for node in statement.nodes
        if isinstance(node, ast.Call) and last_name(node.func) == "vectorized_map" and node.args
    ]
    if len(calls) != 1:
        return None
    statement, call = calls[0]
    name = ast.unparse(call.args[0])
    takes = (
        node
        for each in program
        for node in each.nodes
        if isinstance(node, ast.FunctionDef) and node.name == name.rpartition(".")[2]
        if any(isinstance(part, ast.Attribute) and part.attr == "gradient" for part in ast.walk(node))
    )
    return (name, statement.line_of(call)) if next(takes, None) else None


def _for_a_map(function: str, many: int, need: int, gradient: bool) -> Iterator[Remedy]:
    part = max(many // _PARTS, 1)
    summed = " (the sum of clipped gradients)" if gradient else ""
    yield Remedy(
        f"map over a part of the elements at a time ({part:,} instead of {many:,}), and add up what you need"
        f" of each part before the next{summed}",
        f"for at in range(0, n, {part}):\n"
        f"    total += reduced(tf.vectorized_map({function}, x[at : at + {part}]))",
        need - need // many * part,
        Certainty.EXACT,
        slug="in-blocks",
    )
    if not gradient:
        yield Remedy(
            "or map without vectorising, one element after the other: slower; what is made on the way exists"
            " once then, and the results are as large",
            f"tf.map_fn({function}, x)   # fn_output_signature=..., where it gives another type",
            slug="without-pfor",
        )


_OF_A_GRADIENT = regex(r"(?i)grad")
_PARTS = 8
_FOLDED = regex(r"Conv|Pool|BatchNorm|DepthwiseConv|ResizeB|ResizeN")
"""Ops on images, whose loop has samples and iterations in one dimension."""


def _of_images(case: Case, first: int) -> tuple[int | None, str]:
    """The iterations where the first dimension is outputs times images, as far as the text states how many
    images these are, and that in words.
    """
    counts = {
        size.sizes[0]
        for size in case.capture.surroundings.sizes
        if len(size.sizes) == 1 and _IMAGES.search(size.name)
    }
    fits = [count for count in counts if 1 < count < first and not first % count]
    if len(fits) > 1:
        squares = [count for count in fits if first == count**3]  # each image with each
        fits = squares or fits
    if len(fits) != 1:
        return None, f" (outputs times images: {first:,} together)"
    turns = first // fits[0]
    return turns, f", most likely {turns:,}, each with {fits[0]:,} images"


_IMAGES = regex(r"(?i)\A(?:batch\w*|bs|images?|samples?|n|pictures)\Z")


_OF_MICROBATCHES = regex(r"\bnum_microbatches\b")
