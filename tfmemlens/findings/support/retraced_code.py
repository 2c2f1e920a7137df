"""Why a tf.function of the program is traced again and again, as its own lines tell: the Python number that a
call gives it, and the array that each trace copies.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tfmemlens.findings.support.embedded_arrays import embedded_array
from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

_TO_NUMBERS = frozenset({"int", "float", "len", "round"})
_COUNTS = frozenset({"range", "enumerate"})
_COPIES = frozenset({"constant", "convert_to_tensor"})
_DEEPEST = 4
NUMBER, STRING, OBJECT = "number", "string", "object"
"""What of Python's a call gives: each new one is traced anew."""


@dataclass(frozen=True, slots=True)
class Retraced:
    """A tf.function of the program."""

    line: Line
    number: tuple[str, str, Line] | None = None
    """The argument that gets a Python number, or another value of Python's that is new for each call, what it
    is given, and the line of the call.
    """
    shape: tuple[str, Line] | None = None
    """Where no call gives a number: an argument that a loop makes anew for each call, and the line of the
    call. Its shape most likely changes.
    """
    array: tuple[str, Line] | None = None
    """The name from outside that its code makes a tensor of, and where."""
    other_shapes: bool = False
    """Whether it is given something besides, which may have another shape at each call."""
    kind: str = NUMBER
    """What of Python's `number` is."""
    embedded: tuple[str, Line] | None = None
    """The array of NumPy's that it, or what it calls, uses from outside, and where: each trace copies it."""
    compared: bool = False
    """Whether Python's `min` or `max` takes the number, which no tensor can be given to."""


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
    kind, number = NUMBER, _number(program, node)
    for other in (STRING, OBJECT):
        if number is None and (number := _new_value(program, node, other)):
            kind = other
    shape = None if number or _is_relaxed(node) else _of_each_turn(program, node)
    given = [each for each in node.args.args if each.arg != "self"]
    others = number is not None and len(given) > 1 and not _is_relaxed(node)
    array, embedded = _array(statement, node), embedded_array(program, node)
    compared = number is not None and _is_compared(node, number[0])
    return Retraced(statement.line_of(node), number, shape, array, others, kind, embedded, compared)


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


def _is_compared(function: ast.FunctionDef, argument: str) -> bool:
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("min", "max")
        and any(isinstance(part, ast.Name) and part.id == argument for part in ast.walk(node))
        for node in ast.walk(function)
    )


def _new_value(program: Program, function: ast.FunctionDef, kind: str) -> tuple[str, str, Line] | None:
    """The first argument of a call in a loop that is a string made with a number of the loop, or an object of
    a class of the program that is made for the call.
    """
    names = [each.arg for each in function.args.args if each.arg != "self"]
    for statement, call, around in _calls(program, function.name):
        given = [*zip(names, call.args, strict=False), *((word.arg, word.value) for word in call.keywords)]
        loop = _around(program, call)
        for argument, value in given:
            made = _made_for(loop, value) if loop else value
            if not argument or made is None:
                continue
            if _is_new_string(program, made, around) if kind == STRING else _is_new_object(program, made):
                return argument, ast.unparse(value), statement.line_of(call)
    return None


def _made_for(loop: ast.For | ast.While, value: ast.expr) -> ast.expr | None:
    """What each turn of the loop gives to the name that a call is given; else what it is given."""
    if not isinstance(value, ast.Name):
        return value
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign) and any(last_name(each) == value.id for each in node.targets):
            return node.value
    return None


def _is_new_string(program: Program, value: ast.expr, around: ast.FunctionDef | None) -> bool:
    """`f"fold-{n}"`, `"fold-%d" % n`, `"fold-{}".format(n)` or `str(n)` of a number that a loop counts."""
    if isinstance(value, ast.JoinedStr):
        parts = [each.value for each in value.values if isinstance(each, ast.FormattedValue)]
    elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mod) and _is_text(value.left):
        parts = value.right.elts if isinstance(value.right, ast.Tuple) else [value.right]
    elif isinstance(value, ast.Call) and (
        last_name(value.func) == "str"
        or (isinstance(value.func, ast.Attribute) and _is_text(value.func.value))
    ):
        parts = value.args
    else:
        return False
    return any(_is_number(program, each, around, _DEEPEST) for each in parts)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_new_object(program: Program, value: ast.expr) -> bool:
    """`Phase(1.0)` of a class of the program that is told apart by which object it is, and holds no tensors
    that TensorFlow would look into.
    """
    name = last_name(value.func) if isinstance(value, ast.Call) else ""
    made = [
        node
        for statement in program
        for node in statement.nodes
        if isinstance(node, ast.ClassDef) and node.name == name
    ]
    return bool(made) and all(_is_told_apart(each) for each in made)


def _is_told_apart(owner: ast.ClassDef) -> bool:
    """Whether two objects with the same values are two to TensorFlow: no tuple, and nothing compares them."""
    bases = {last_name(each) for each in owner.bases}
    words = {ast.unparse(each) for each in owner.decorator_list}
    compares = any(isinstance(each, ast.FunctionDef) and each.name == "__eq__" for each in owner.body)
    data = any("dataclass" in each and "eq=False" not in each for each in words)
    return not (compares or data or bases - {"object"})


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
        return (
            not any(map(_is_text, sides))
            and any(isinstance(each, ast.Constant) for each in sides)
            and any(_is_number(program, each, around, depth) for each in sides)
        )
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and (
            value.func.id in _TO_NUMBERS or (depth > 0 and _is_schedule(program, value, around, depth - 1))
        )
    return isinstance(value, ast.Name) and depth > 0 and _counts(program, value.id, around, depth - 1)


_OF_TENSORS = regex(r"\b(?:tf|tensorflow|keras)\.")


def _is_schedule(program: Program, call: ast.Call, around: ast.FunctionDef | None, depth: int) -> bool:
    """`rate_at(step)` or `min(1.0, step / 40)`: what Python computes of a number that differs."""
    if not any(_is_number(program, each, around, depth) for each in call.args):
        return False
    name = last_name(call.func)
    own = [node for _, node in _functions(program) if node.name == name]
    return name in ("min", "max", "abs") or (
        bool(own) and not any(_OF_TENSORS.search(ast.unparse(each)) for each in own)
    )


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
