"""Maps that are resized and joined at full depth before a 1x1 convolution reduces them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tfmemlens.findings.support.on_the_way.code import CodePart, argument, failed_at, is_call, parts
from tfmemlens.findings.support.on_the_way.facts import OnTheWay
from tfmemlens.findings.support.program_lines import figures_by_name
from tfmemlens.knowledge.tree_values import last_name, written_number
from tfmemlens.model.case import Case, Request
from tfmemlens.model.finding import Certainty, Remedy
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.patterns import regex
from tfmemlens.units import human

_JOINS = ("concat", "concatenate", "Concatenate")
_CONVOLUTIONS = ("conv2d", "Conv2D", "conv3d", "Conv3D")
_RESIZES = regex(r"(?i)resi[sz]e(?!r?_with)|up_?sampl|interpolat|bilinear")
_OF_IT = regex(r"(?i)concat|resi[sz]e|up_?sampl|slice")
_RULED_OUT = (
    *(
        "lower-constant",
        "lower-setting",
        "smaller-batch",
        "smaller-input",
        "narrower-layer",
        "batch-for-the-block",
    ),
    *("gradient-accumulation", "reduce-parts", "parts-to-host", "setting-of-this-size"),
)


class _Joined(NamedTuple):
    line: Line
    convolution: ast.Call
    reduced_at: Line


def joined_before_reduced(case: Case, program: Program, request: Request) -> OnTheWay | None:
    """Resized maps that a 1x1 convolution reduces only when they are joined, where joining them, a part of
    them, or the gradient of that failed.
    """
    failed = request.failed
    shape = failed.shape or ()
    if len(shape) not in (4, 5):
        return None
    found = [each for part in parts(program) for each in _joined(part)]
    here = [each for each in found if failed_at(request, each.line, each.reduced_at)]
    if not here and _OF_IT.search(failed.node or failed.op or ""):
        here = found if len(found) == 1 else []
    if not here:
        return None
    return _told(request, here[0], figures_by_name(case.capture.surroundings))


def _joined(part: CodePart) -> Iterator[_Joined]:
    for call, line in part.calls():
        convolution, given = _applied(call)
        if convolution is None or given is None or not _is_of_one_position(convolution):
            continue
        value, at = given, line
        if isinstance(given, ast.Name):
            made = [
                each for each in part.assigned() if each.name == given.id and each.line.number < line.number
            ]
            if not made:
                continue
            value, at = made[-1].value, made[-1].line
        join, maps = _applied(value) if isinstance(value, ast.Call) else (None, None)
        if join is None or maps is None or not is_call(join, *_JOINS) or _axis(join) not in (None, -1, 3, 4):
            continue
        if _resized(maps, part, at.number) > 1:
            yield _Joined(at, convolution, line)


def _applied(call: ast.Call) -> tuple[ast.Call | None, ast.expr | None]:
    """A layer's own call and what it is applied to: of `Conv2D(8, 1)(x)` and of `conv2d(x, 8, 1)`."""
    if isinstance(call.func, ast.Call):
        return call.func, call.args[0] if call.args else None
    return call, call.args[0] if call.args else None


def _is_of_one_position(call: ast.Call) -> bool:
    if not is_call(call, *_CONVOLUTIONS):
        return False
    at = 1 if last_name(call.func)[0].isupper() else 2
    size = argument(call, at, "kernel_size")
    sides = size.elts if isinstance(size, (ast.Tuple, ast.List)) else [size]
    strides = argument(call, at + 1, "strides")
    return all(written_number(side) == 1 for side in sides) and (
        strides is None or written_number(strides) == 1
    )


def _axis(call: ast.Call) -> int | None:
    return written_number(argument(call, 9 if last_name(call.func)[0].isupper() else 1, "axis"))


def _resized(maps: ast.expr, part: CodePart, before: int) -> int:
    """How many of the joined maps are resized; two of a list that a loop makes."""
    if isinstance(maps, ast.Name):
        appended = [
            call
            for call, line in part.calls()
            if isinstance(call.func, ast.Attribute) and call.func.attr == "append" and line.number < before
            if ast.unparse(call.func.value) == maps.id
            and call.args
            and _is_resized(call.args[0], part, before)
        ]
        maps = part.value_of(maps, before)
        if appended:
            return 2
    if isinstance(maps, (ast.ListComp, ast.GeneratorExp)):
        return 2 if _is_resized(maps.elt, part, before) else 0
    if isinstance(maps, (ast.List, ast.Tuple)):
        return sum(_is_resized(each, part, before) for each in maps.elts)
    return 0


def _is_resized(node: ast.expr, part: CodePart, before: int) -> bool:
    value = part.value_of(node, before) if isinstance(node, ast.Name) else node
    return isinstance(value, ast.Call) and _RESIZES.search(ast.unparse(value.func)) is not None


def _told(request: Request, joined: _Joined, numbers: Mapping[str, int]) -> OnTheWay:
    convolution = joined.convolution
    at = 0 if last_name(convolution.func)[0].isupper() else 1
    filters = argument(convolution, at, "filters")
    few = written_number(filters) or numbers.get(last_name(filters) if filters else "")
    need, depth = request.failed.tensor_bytes, (request.failed.shape or (0,))[-1] or 0
    saves = need - need // depth * few if need and few and depth > few else None
    small = f" (with {few} channels this tensor takes {human(need - saves)})" if need and saves else ""
    return OnTheWay(
        f"maps are resized and joined at full depth ({joined.line.place}) before the 1x1 convolution of"
        f" {joined.reduced_at.place} reduces them, and the gradient of both is as large again",
        joined.line,
        Remedy(
            "give each map a 1x1 convolution of its own at its own size, then resize the few channels and add"
            f" them up{small}: resizing and a 1x1 convolution may change places, so the same can be learnt",
            f"x = tf.add_n([resize({_code(convolution, filters)}) for f in maps])   # then bias, activation",
            saves_bytes=saves,
            certainty=Certainty.ESTIMATE if saves else None,
            of_one_tensor=True,
            slug="reduce-before-resizing",
        ),
        rules_out=_RULED_OUT,
    )


def _code(convolution: ast.Call, filters: ast.expr | None) -> str:
    name, many = ast.unparse(convolution.func), ast.unparse(filters) if filters else "n"
    return f"{name}({many}, 1)(f)" if last_name(convolution.func)[0].isupper() else f"{name}(f, {many}, 1)"
