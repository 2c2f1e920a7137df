"""A loop of TensorFlow's own graph in the program, whose turns a gradient keeps: tf.while_loop, tf.scan, a
loop over tf.range in a tf.function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from tfmemlens.findings.support.program_lines import code_lines, numbers_by_name
from tfmemlens.knowledge.stack_frames import number_in
from tfmemlens.knowledge.tree_values import dotted
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.incident import FailedRequest
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

_BODIES = {
    "while_loop": (1, "body"),
    "scan": (0, "fn"),
    "map_fn": (0, "fn"),
    "foldl": (0, "fn"),
    "foldr": (0, "fn"),
}
"""Where a loop's call has the function of a turn."""
_DIFFERENTIATES = frozenset(
    {"minimize", "compute_gradients", "gradients", "gradient", "fit", "train_on_batch"}
)


@dataclass(frozen=True, slots=True)
class GraphLoop:
    """A loop that the graph runs, in whose turns an op failed."""

    line: Line
    call: str
    """`tf.while_loop`, or `for t in tf.range(n)`."""
    gradient: Line
    """The line that takes a gradient."""
    turns: int | None = None
    named: tuple[str, Line] | None = None
    """The program's name for the number of turns, with the line that sets it."""


def graph_loop(told: Surroundings, failed: FailedRequest) -> GraphLoop | None:
    """The loop in one of whose turns an op failed, in a program that takes a gradient; None without one."""
    program = told.program()
    if not program:
        return None
    gradient = _gradient(program)
    if gradient is None:
        return None
    for statement, loop in _loops(program):
        if _failed_in(program, statement, loop, failed):
            return _as_value(told, program, statement, loop, gradient)
    return None


def loops_of_turns(told: Surroundings) -> Iterator[GraphLoop]:
    """All such loops, whether what failed is known to be in one or not; a gradient may be told in words."""
    program = told.program()
    gradient = _gradient(program)
    for statement, loop in _loops(program):
        yield _as_value(told, program, statement, loop, gradient or statement.line_of(loop))


def trained_net_in_turns(told: Surroundings) -> GraphLoop | None:
    """The first such loop whose turn calls a network or a layer, in a program that takes a gradient, where it
    is part of a forward pass: no gradient is taken in the turn itself.
    """
    program = told.program()
    gradient = _gradient(program)
    for statement, loop in _loops(program) if gradient else ():
        names = [
            dotted(each.func)
            for part in _turn(program, loop)
            for each in ast.walk(part)
            if isinstance(each, ast.Call)
        ]
        learns = any(name.rpartition(".")[2] in _LEARNS for name in names)
        if not learns and any(map(_NET.search, names)) and _is_forward(statement, loop):
            return _as_value(told, program, statement, loop, gradient or statement.line_of(loop))
    return None


_LEARNS = _DIFFERENTIATES | {"GradientTape", "apply_gradients"}
_FORWARD = regex(r"(?i)\A(?:call|__call__|forward|\w*(?:loss|model|net)\w*)\Z")


def _is_forward(statement: Statement, loop: ast.Call | ast.For) -> bool:
    """Whether it stands under a tape, in a layer's call or a loss, or in no function."""
    around = [each for each in statement.nodes if any(part is loop for part in ast.walk(each))]
    if any(isinstance(each, ast.With) and "GradientTape" in ast.unparse(each.items[0]) for each in around):
        return True
    functions = [each.name for each in around if isinstance(each, ast.FunctionDef)]
    return not functions or any(map(_FORWARD.match, functions))


_NET = regex(
    r"(?i)\A(?!(?:tf|tensorflow|np)\.)(?:\w+\.)*(?:\w+_)?(?:model|\w*net|\w*cnn|rnn|lstm|gru|\w*encoder|cell"
    r"|layer|block|backbone|(?:feature_)?extractor|transformer|attention|generator|discriminator)\d*\Z"
)
"""What programs call a network or a layer, by the last of its names."""


def _turn(program: Program, loop: ast.Call | ast.For) -> Sequence[ast.AST]:
    """What a turn runs: the loop's own statements, or those of the function that it is given."""
    if isinstance(loop, ast.For):
        return loop.body
    body = _body(loop)
    if isinstance(body, ast.Lambda):
        return [body.body]
    if isinstance(body, ast.Call):
        return []
    if body is not None and _NET.search(dotted(body)):
        return [ast.Call(body, [], [])]
    name = dotted(body).rpartition(".")[2] if body is not None else ""
    found = (
        node.body
        for statement in program
        for node in statement.nodes
        if isinstance(node, ast.FunctionDef) and node.name == name
    )
    return next(found, [])


def unrolled_loop(told: Surroundings, count: int) -> GraphLoop | None:
    """A loop of Python's over a range that adds ops to a session's graph in each turn, with turns enough for
    so many tensors of one type: one run of the graph makes them all, and a gradient keeps them.
    """
    program = told.program()
    gradient = _gradient(program) if program else None
    if gradient is None or not any(_runs([node]) for statement in program for node in statement.nodes):
        return None
    numbers = numbers_by_name(code_lines(told))
    for statement in program:
        for node in statement.nodes:
            if isinstance(node, ast.For) and _adds_ops(node):
                turns = _turns(node.iter, numbers)
                if turns and _LEAST_TURNS <= turns <= _MOST_FOR_EACH * count:
                    return GraphLoop(statement.line_of(node), _as_written(node), gradient, turns)
    return None


_LEAST_TURNS, _MOST_FOR_EACH = 8, 4
"""A step that fails on its way has not made all."""


def _adds_ops(loop: ast.For) -> bool:
    calls = [node for part in loop.body for node in ast.walk(part) if isinstance(node, ast.Call)]
    made = any(dotted(call.func).startswith(("tf.", "tensorflow.")) for call in calls)
    return made and not _runs(loop.body)


def _runs(body: Sequence[ast.AST]) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "run"
        for part in body
        for node in ast.walk(part)
    )


def _turns(over: ast.expr, numbers: Mapping[str, tuple[int, Line]]) -> int | None:
    """How many numbers a `range` has, where all that it is given are numbers or names of some."""
    if not isinstance(over, ast.Call) or dotted(over.func) not in ("range", "xrange") or over.keywords:
        return None
    ends = [_number(each, numbers) for each in over.args]
    known = [each for each in ends if each is not None]
    if len(known) != len(ends) or not 1 <= len(known) <= 2:
        return None
    return known[-1] - (known[0] if len(known) == 2 else 0)


def _number(end: ast.expr, numbers: Mapping[str, tuple[int, Line]]) -> int | None:
    if isinstance(end, ast.Name):
        return numbers[end.id][0] if end.id in numbers else None
    return end.value if isinstance(end, ast.Constant) and isinstance(end.value, int) else None


def _as_value(
    told: Surroundings, program: Program, statement: Statement, loop: ast.Call | ast.For, gradient: Line
) -> GraphLoop:
    limit = _limit(loop, program)
    named = numbers_by_name(code_lines(told)).get(limit.id) if isinstance(limit, ast.Name) else None
    turns = limit.value if isinstance(limit, ast.Constant) and isinstance(limit.value, int) else None
    return GraphLoop(
        statement.line_of(loop),
        _as_written(loop),
        gradient,
        named[0] if named else turns,
        (limit.id, named[1]) if named and isinstance(limit, ast.Name) else None,
    )


def _loops(program: Program) -> Iterator[tuple[Statement, ast.Call | ast.For]]:
    """The calls of TensorFlow's loops, and what AutoGraph makes loops of."""
    for statement in program:
        if statement.of_frame:
            continue
        for node in statement.nodes:
            if isinstance(node, ast.Call):
                first, _, last = dotted(node.func).rpartition(".")
                if last in _BODIES and first.partition(".")[0] in ("tf", "tensorflow"):
                    yield statement, node
            elif isinstance(node, ast.For) and _over_a_range(node.iter):
                yield statement, node


def _over_a_range(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func) in ("tf.range", "tensorflow.range")


def _failed_in(
    program: Program, statement: Statement, loop: ast.Call | ast.For, failed: FailedRequest
) -> bool:
    """Whether the failing line stands in a turn, or in what a turn calls, or the op has the loop's name."""
    if isinstance(loop, ast.For):
        return _stands_in(statement, loop.body, failed) or _called(program, loop.body, failed)
    body = _body(loop)
    if isinstance(body, ast.Lambda):
        return _stands_in(statement, [body.body], failed) or _called(program, [body.body], failed)
    named = next((word.value for word in loop.keywords if word.arg == "name"), None)
    scope = named.value if isinstance(named, ast.Constant) and isinstance(named.value, str) else None
    if scope and scope in (failed.node or "").split("/")[:-1]:
        return True
    return isinstance(body, ast.Name) and _in_function(program, body.id, failed)


def _body(loop: ast.Call) -> ast.expr | None:
    place, word = _BODIES[dotted(loop.func).rpartition(".")[2]]
    named = next((each.value for each in loop.keywords if each.arg == word), None)
    return named or (loop.args[place] if len(loop.args) > place else None)


def _called(program: Program, body: list[ast.stmt] | list[ast.expr], failed: FailedRequest) -> bool:
    """Whether the failing line stands in a function of the program that these call by its name."""
    calls = (node for part in body for node in ast.walk(part) if isinstance(node, ast.Call))
    names = {call.func.id for call in calls if isinstance(call.func, ast.Name)}
    return any(_in_function(program, name, failed) for name in names)


def _in_function(program: Program, name: str, failed: FailedRequest) -> bool:
    return any(
        _stands_in(statement, node.body, failed)
        for statement in program
        for node in statement.nodes
        if isinstance(node, ast.FunctionDef) and node.name == name
    )


def _stands_in(statement: Statement, body: list[ast.stmt] | list[ast.expr], failed: FailedRequest) -> bool:
    """Whether the failing line is one of these."""
    number = number_in(failed.source, statement.line.source)
    if not body or number is None:
        return False
    return statement.span(body[0])[0] <= number <= statement.span(body[-1])[1]


def _gradient(program: Program) -> Line | None:
    for statement in program:
        for node in statement.nodes:
            function = node.func if isinstance(node, ast.Call) else None
            if isinstance(function, ast.Attribute) and function.attr in _DIFFERENTIATES:
                return statement.line_of(node)
    return None


def _limit(loop: ast.Call | ast.For, program: Program) -> ast.expr | None:
    """The number of turns: what `tf.range` is given alone, what the condition compares the counter with."""
    if isinstance(loop, ast.For):
        call = loop.iter
        return call.args[0] if isinstance(call, ast.Call) and len(call.args) == 1 else None
    if not dotted(loop.func).endswith("while_loop") or not loop.args:
        return None
    condition = loop.args[0]
    if isinstance(condition, ast.Name):
        condition = _returned(program, condition.id) or condition
    test = condition.body if isinstance(condition, ast.Lambda) else condition
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Lt):
        return test.comparators[0]
    if isinstance(test, ast.Call) and dotted(test.func).rpartition(".")[2] == "less" and len(test.args) == 2:
        return test.args[1]
    return None


def _returned(program: Program, name: str) -> ast.expr | None:
    """What a function of one line returns."""
    for statement in program:
        for node in statement.nodes:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                last = node.body[-1]
                return last.value if isinstance(last, ast.Return) else None
    return None


def _as_written(loop: ast.Call | ast.For) -> str:
    if isinstance(loop, ast.For):
        return f"for {ast.unparse(loop.target)} in {ast.unparse(loop.iter)}"
    return dotted(loop.func)
