"""Why a tf.function of the program is traced again and again, as its own lines tell: the Python number that a
call gives it, and the array that each trace copies.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

_TO_NUMBERS = frozenset({"int", "float", "len", "round"})
_COUNTS = frozenset({"range", "enumerate"})
_COPIES = frozenset({"constant", "convert_to_tensor"})
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class Retraced:
    """A tf.function of the program."""

    line: Line
    number: tuple[str, str, Line] | None = None
    """The argument that gets a Python number, what it is given, and the line of the call."""
    shape: tuple[str, Line] | None = None
    """Where no call gives a number: an argument that a loop makes anew for each call, and the line of the
    call. Its shape most likely changes.
    """
    array: tuple[str, Line] | None = None
    """The name from outside that its code makes a tensor of, and where."""
    other_shapes: bool = False
    """Whether it is given something besides, which may have another shape at each call."""


def retraced(program: Program, name: str) -> Retraced | None:
    """The tf.function of this name; None where the program has none, or several."""
    functions = [
        (statement, node)
        for statement, node in _functions(program)
        if node.name == name and any("function" in ast.unparse(each) for each in node.decorator_list)
    ]
    if len({statement.line_of(node) for statement, node in functions}) != 1:
        return None
    statement, node = functions[0]
    number = _number(program, node)
    shape = None if number or _is_relaxed(node) else _of_each_turn(program, node)
    given = [each for each in node.args.args if each.arg != "self"]
    others = number is not None and len(given) > 1 and not _is_relaxed(node)
    return Retraced(statement.line_of(node), number, shape, _array(statement, node), others)


def given_numbers(program: Program) -> Iterator[tuple[str, Line, dict[str, str], Line]]:
    """Every tf.function of the program that a call gives Python numbers which differ from call to call: its
    name, its line, what each such argument is given, and the line of the first call.
    """
    for statement, node in _functions(program):
        if not _is_traced(node):
            continue
        if numbers := list(_numbers(program, node)):
            given = {argument: value for argument, value, _ in reversed(numbers)}
            yield node.name, statement.line_of(node), dict(reversed(given.items())), numbers[0][2]


def given_objects(program: Program) -> Iterator[tuple[str, Line, tuple[str, ...], Line]]:
    """Every tf.function of the program that a loop gives objects which each turn makes anew, such as a model
    or an optimizer: its name, its line, these arguments, and the line of the call.
    """
    for statement, node in _functions(program):
        if not _is_traced(node):
            continue
        for at, call, _ in _calls(program, node.name):
            loop = _around(program, call)
            made = set(_objects_of(loop)) if loop else set()
            names = [value.id for value in call.args if isinstance(value, ast.Name) and value.id in made]
            if names:
                yield node.name, statement.line_of(node), tuple(names), at.line_of(call)
                break


def traced_once(program: Program) -> tuple[str, Line, tuple[str, ...], Line] | None:
    """A tf.function that loops give nothing but what was made above them: its name, its line, what it is
    given, and the line of the call. None where any tf.function of the program may be given something else.
    """
    found = None
    for statement, node in _functions(program):
        if not _is_traced(node):
            continue
        for at, call, around in _calls(program, node.name):
            loop = _around(program, call)
            given = [*call.args, *(word.value for word in call.keywords)]
            if around is not None or loop is None or node in ast.walk(loop):
                return None
            changed = {part.id for part in ast.walk(loop) if isinstance(part, ast.Name) and _is_stored(part)}
            if not all(isinstance(each, ast.Name) and each.id not in changed for each in given):
                return None
            names = tuple(each.id for each in given if isinstance(each, ast.Name))
            found = found or (node.name, statement.line_of(node), names, at.line_of(call))
    return found


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _is_traced(node: ast.FunctionDef) -> bool:
    """Whether a decorator makes it a tf.function."""
    return any("function" in ast.unparse(each) for each in node.decorator_list)


def _objects_of(loop: ast.For | ast.While) -> Iterator[str]:
    """The names that each turn gives to a model or an optimizer that it makes."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made = ast.unparse(node.value.func)
            if _MAKES.search(made):
                yield from (each.id for each in node.targets if isinstance(each, ast.Name))


_MAKES = regex(
    r"(?:\A|\.)(?:Sequential|Model|optimizers\.\w{1,20}|Adam\w{0,4}|SGD|RMSprop|clone_model|load_model"
    r"|(?:build|make|create|get)_(?:\w{1,20}_)?(?:model|net|network|optimizer))\Z"
)


def _functions(program: Program) -> Iterator[tuple[Statement, ast.FunctionDef]]:
    for statement in program:
        for node in statement.nodes:
            if isinstance(node, ast.FunctionDef) and not statement.of_frame:
                yield statement, node


def _number(program: Program, function: ast.FunctionDef) -> tuple[str, str, Line] | None:
    """The first argument of a call that is a Python number which may differ from call to call."""
    return next(_numbers(program, function), None)


def _numbers(program: Program, function: ast.FunctionDef) -> Iterator[tuple[str, str, Line]]:
    """Every one of them, in the order of the calls."""
    names = [each.arg for each in function.args.args if each.arg != "self"]
    for statement, call, around in _calls(program, function.name):
        given = [*zip(names, call.args, strict=False), *((word.arg, word.value) for word in call.keywords)]
        for argument, value in given:
            if argument and _is_number(program, value, around, _DEEPEST):
                yield argument, ast.unparse(value), statement.line_of(call)


_RELAXED = frozenset({"input_signature", "reduce_retracing", "experimental_relax_shapes"})


def _is_relaxed(function: ast.FunctionDef) -> bool:
    """Whether its decorator says what shapes it takes, or lets them differ."""
    words = (word for each in function.decorator_list if isinstance(each, ast.Call) for word in each.keywords)
    return any(word.arg in _RELAXED for word in words)


def _of_each_turn(program: Program, function: ast.FunctionDef) -> tuple[str, Line] | None:
    """The first argument of a call in a loop that the loop makes anew, where nothing that is given is a
    number or a word.
    """
    names = [each.arg for each in function.args.args if each.arg != "self"]
    for statement, call, _ in _calls(program, function.name):
        given = [*call.args, *(word.value for word in call.keywords)]
        loop = _around(program, call)
        if loop is None or any(map(_is_plain, given)):
            continue
        made = {
            part.id
            for target in _made_in(loop)
            for part in ast.walk(target)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
        }
        for argument, value in zip(names, call.args, strict=False):
            if isinstance(value, ast.Name) and value.id in made:
                return argument, statement.line_of(call)
    return None


def _is_plain(value: ast.expr) -> bool:
    """Whether it is a number or a word of Python's, as it stands."""
    return isinstance(value, ast.Constant | ast.BinOp | ast.UnaryOp | ast.Compare | ast.BoolOp)


def _around(program: Program, call: ast.Call) -> ast.For | ast.While | None:
    """The innermost loop in which a call stands; None also where its function begins within the loop."""
    loops = [
        node
        for each in program
        for node in each.nodes
        if isinstance(node, ast.For | ast.While) and any(part is call for part in ast.walk(node))
    ]
    return min(loops, key=lambda each: len(list(ast.walk(each))), default=None)


def _made_in(loop: ast.For | ast.While) -> Iterator[ast.expr]:
    """What each turn assigns by calling something or takes of a data set; a counter is no array."""
    if isinstance(loop, ast.For) and not (
        isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) in _COUNTS
    ):
        yield loop.target
    for node in ast.walk(loop):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        if last_name(node.value.func) not in _TO_NUMBERS:
            yield from node.targets


def _calls(program: Program, name: str) -> Iterator[tuple[Statement, ast.Call, ast.FunctionDef | None]]:
    """The calls of a function, with the function that each stands in."""
    inside = {
        id(part): function
        for _, function in _functions(program)
        for part in ast.walk(function)
        if isinstance(part, ast.Call)
    }
    for statement in program:
        for node in statement.nodes:
            if isinstance(node, ast.Call) and not statement.of_frame and last_name(node.func) == name:
                yield statement, node, inside.get(id(node))


def _is_number(program: Program, value: ast.expr, around: ast.FunctionDef | None, depth: int) -> bool:
    """Whether a value is a number of Python's that may differ: counted by a loop, or computed of such."""
    if isinstance(value, ast.BinOp):
        sides = (value.left, value.right)
        return any(isinstance(each, ast.Constant) for each in sides) and any(
            _is_number(program, each, around, depth) for each in sides
        )
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in _TO_NUMBERS
    return isinstance(value, ast.Name) and depth > 0 and _counts(program, value.id, around, depth - 1)


def _counts(program: Program, name: str, around: ast.FunctionDef | None, depth: int) -> bool:
    """Whether a name is counted by a loop, assigned a number, or an argument that a call gives one."""
    scopes: list[ast.AST] = [around] if around else [each.node for each in program]
    for node in (part for scope in scopes for part in ast.walk(scope)):
        if (
            isinstance(node, ast.For)
            and isinstance(node.iter, ast.Call)
            and last_name(node.iter.func) in _COUNTS
        ):
            first = node.target.elts[0] if isinstance(node.target, ast.Tuple) else node.target
            if isinstance(first, ast.Name) and first.id == name:
                return "tf" not in ast.unparse(node.iter.func)
        if isinstance(node, ast.Assign) and any(last_name(each) == name for each in node.targets):
            return _is_number(program, node.value, around, depth)
    arguments = [each.arg for each in around.args.args] if around else []
    if around is None or name not in arguments:
        return False
    at = arguments.index(name)
    return any(
        len(call.args) > at and _is_number(program, call.args[at], outer, depth)
        for _, call, outer in _calls(program, around.name)
    )


def _array(statement: Statement, function: ast.FunctionDef) -> tuple[str, Line] | None:
    """`recipes` of `tf.constant(recipes)`, where the function does not make it itself."""
    names = [part for part in ast.walk(function) if isinstance(part, ast.Name)]
    own = {each.arg for each in function.args.args}
    own |= {part.id for part in names if isinstance(part.ctx, ast.Store)}
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or last_name(node.func) not in _COPIES or not node.args:
            continue
        first = node.args[0]
        if isinstance(first, ast.Name) and first.id not in own:
            return first.id, statement.line_of(node)
    return None
