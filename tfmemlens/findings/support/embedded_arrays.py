"""The NumPy array that every trace of a tf.function copies: it uses it from outside, or a function, a method
or a model of the program that it calls does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tfmemlens.knowledge.program_constants import CodeScope, ProgramConstants
from tfmemlens.knowledge.tree_values import dotted, last_name
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program

__all__ = ["embedded_array"]

_RUNS = ("call", "__call__")
_NUMPY = ("np.", "numpy.")
_SCALARS = frozenset(
    """
    all any argmax argmin ceil cos dot exp float16 float32 float64 floor int32 int64 item len log log10 log2
    max mean median min ndim prod shape sin size sqrt std sum tolist uint8 var
    """.split()
)
"""Results of NumPy's that are numbers, most often."""
_FEW, _DEEPEST, _MOST_REACHED = 1 << 16, 8, 40
"""Elements of an array that is worth no word; how far names are followed."""


def embedded_array(program: Program, traced: ast.FunctionDef) -> tuple[str, Line] | None:
    """The first such array by its name, and the line that uses it; none that is known to be small."""
    code = ProgramConstants(program)
    for scope in _reached(code, traced):
        assert scope.function is not None
        own = _own_names(scope.function)
        for node in ast.walk(scope.function):
            if not _is_from_outside(node, own):
                continue
            if _is_numpy(code, node, _outer(program, code, node, scope), _DEEPEST) and (
                line := code.line_of(node)
            ):
                return ast.unparse(node), line
    return None


def _own_names(function: ast.FunctionDef) -> set[str]:
    """What a function gets or makes itself."""
    every = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    stored = (part for part in ast.walk(function) if isinstance(part, ast.Name))
    return {each.arg for each in every} | {part.id for part in stored if isinstance(part.ctx, ast.Store)}


def _is_from_outside(node: ast.AST, own: set[str]) -> bool:
    if isinstance(node, ast.Name):
        return isinstance(node.ctx, ast.Load) and node.id not in own
    return isinstance(node, ast.Attribute) and last_name(node.value) == "self"


def _reached(code: ProgramConstants, traced: ast.FunctionDef) -> Iterator[CodeScope]:
    """The function and what of the program it calls, each once."""
    todo = [each for each in code.functions(traced.name) if _lines(each.function) == _lines(traced)]
    seen = set[int]()
    while todo and len(seen) < _MOST_REACHED:
        scope = todo.pop(0)
        if scope.function is None or id(scope.function) in seen:
            continue
        seen.add(id(scope.function))
        yield scope
        for call in ast.walk(scope.function):
            if not isinstance(call, ast.Call):
                continue
            name = last_name(call.func)
            todo += code.functions(name)
            if owner := code.class_of(name):
                runs = (each for run in _RUNS for each in code.functions(run))
                todo += [each for each in runs if each.owner is not None and each.owner.name == owner]


def _lines(function: ast.FunctionDef | None) -> tuple[int, int | None]:
    return (function.lineno, function.end_lineno) if function else (0, None)


def _outer(program: Program, code: ProgramConstants, node: ast.AST, scope: CodeScope) -> CodeScope:
    """Where a name from outside is set: in the function around this one, if there is one."""
    if isinstance(node, ast.Attribute):
        return scope
    around = [
        each
        for statement in program
        for each in statement.nodes
        if isinstance(each, ast.FunctionDef)
        and each is not scope.function
        and any(part is scope.function for part in ast.walk(each))
    ]
    inner = min(around, key=lambda each: len(list(ast.walk(each))), default=None)
    return code.scope_of(inner.body[0]) if inner else CodeScope(None, None)


def _is_numpy(code: ProgramConstants, node: ast.AST, scope: CodeScope, deep: int) -> bool:
    """Whether an expression is an array of NumPy's, or holds some; not one that is known to be small."""
    if deep == 0:
        return False
    if isinstance(node, (ast.Name, ast.Attribute)):
        if isinstance(node, ast.Attribute) and last_name(node.value) != "self":
            return node.attr == "T" and _is_numpy(code, node.value, scope, deep - 1)
        sources = code.sources(node, scope)
        return bool(sources) and all(_is_numpy(code, each, at, deep - 1) for each, at in sources)
    if isinstance(node, ast.Call):
        return _gives_numpy(code, node, scope, deep)
    if isinstance(node, ast.Subscript):
        return _is_numpy(code, node.value, scope, deep - 1)
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)
        return any(_is_numpy(code, each, scope, deep - 1) for each in sides)
    if isinstance(node, (ast.Tuple, ast.List)):
        return any(_is_numpy(code, each, scope, deep - 1) for each in node.elts)
    if isinstance(node, ast.Dict):
        return any(_is_numpy(code, each, scope, deep - 1) for each in node.values)
    return False


def _gives_numpy(code: ProgramConstants, call: ast.Call, scope: CodeScope, deep: int) -> bool:
    """Whether a call gives an array: one of NumPy's, a method of an array or of a generator, or a function of
    the program that returns one.
    """
    name = last_name(call.func)
    if name in _SCALARS:
        return False
    if name in _GENERATORS:
        return False
    if dotted(call.func).startswith(_NUMPY):
        elements = _elements(code, call, scope)
        return elements is None or elements >= _FEW
    if name == "numpy" and not call.args:
        return True
    if isinstance(call.func, ast.Attribute):
        elements = _elements(code, call, scope) if name in _DRAWS else None
        small = elements is not None and elements < _FEW
        drawn = name in _DRAWS and _is_generator(code, call.func.value, scope)
        return not small and (drawn or _is_numpy(code, call.func.value, scope, deep - 1))
    returned = code.sources(call, scope)
    return bool(returned) and any(_is_numpy(code, each, at, deep - 1) for each, at in returned)


_GENERATORS = ("default_rng", "RandomState", "Generator")


def _is_generator(code: ProgramConstants, node: ast.AST, scope: CodeScope) -> bool:
    """Whether it is a generator of random numbers of NumPy's, by what sets it."""
    if isinstance(node, ast.Call):
        return last_name(node.func) in _GENERATORS
    return any(
        isinstance(each, ast.Call) and last_name(each.func) in _GENERATORS
        for each, _ in code.sources(node, scope)
    )


_DRAWS = frozenset("standard_normal normal uniform random rand randn integers randint choice".split())
_FILLED = frozenset({"zeros", "ones", "empty", "full", *_DRAWS})


def _elements(code: ProgramConstants, call: ast.Call, scope: CodeScope) -> int | None:
    """How many elements an array has whose sizes the call states."""
    if last_name(call.func) not in _FILLED:
        return None
    size = next((word.value for word in call.keywords if word.arg in ("size", "shape")), None)
    if size is None and last_name(call.func) in ("rand", "randn"):
        sides = call.args
    elif size is None and call.args and last_name(call.func) not in ("normal", "uniform", "integers"):
        size, sides = call.args[0], []
    else:
        sides = []
    if size is not None:
        sides = size.elts if isinstance(size, (ast.Tuple, ast.List)) else [size]
    whole = 1
    for side in sides:
        value = code.value_of(side, scope)
        if value is None:
            return None
        whole *= value
    return whole if sides else None
