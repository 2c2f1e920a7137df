"""A model that is called under a tape whose gradient is taken for another model's weights alone.

A frozen model is no exception: `trainable = False` leaves its variables ones that a tape watches. Measured
with TensorFlow 2.11 and 2.21: what the tape keeps is the same to a MiB, frozen before or after it was built,
by an attribute or by the constructor.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from tfmemlens.findings.support.model_readings import dotted
from tfmemlens.findings.support.trained_models import models, names_of, owners_of_gradient, root_of
from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.case import Request
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement
from tfmemlens.values import dataclass

_DEEPEST = 3


@dataclass(frozen=True, slots=True)
class IdleCall:
    """The call, the tape, and whose gradient is taken."""

    model: str
    """As the call names it: `teacher`, `self.teacher`; of several the list of them."""
    call: Line
    tape: Line
    trains: str
    under: Line
    """The statement of the tape that calls it, or the function in which the call is."""
    several: bool = False


@lru_cache(maxsize=2)
def idle_call(program: Program) -> IdleCall | None:
    """The first of these calls that is given nothing which the trained model made; None without one."""
    for statement in program:
        for tape in statement.nodes:
            name = _name_of(tape)
            owners = _owners(program, statement, name) if name else frozenset()
            if owners and isinstance(tape, ast.With):
                search = _Search(program, owners)
                found = next(search.calls(tape.body, frozenset()), None)
                if found is not None:
                    trains, (called, line) = "` and `".join(sorted(owners)), found
                    model, several = search.members.get(called, called), called in search.members
                    under = statement.line_of(search.statement or tape)
                    return IdleCall(model, line, statement.line_of(tape), trains, under, several)
    return None


def failed_in(request: Request, found: IdleCall) -> bool:
    """Whether the call was on its way."""
    lines = {frame.text.strip() for frame in request.failed.frames if user_frame(frame.place)}
    lines.add((request.failed.source_text or "").strip())
    return found.call.text.strip() in lines


def _name_of(node: ast.AST) -> str:
    """What a `with tf.GradientTape() as tape` calls its only tape; empty of another statement."""
    if not isinstance(node, ast.With) or len(node.items) != 1:
        return ""
    target = node.items[0].optional_vars
    opens = "GradientTape(" in ast.unparse(node.items[0].context_expr)
    return target.id if opens and isinstance(target, ast.Name) else ""


def _owners(program: Program, statement: Statement, tape: str) -> frozenset[str]:
    """The models that a tape's gradients are for; empty where one is for something else."""
    apart = isinstance(statement.node, _APART)
    where = [statement] if apart else [each for each in program if not isinstance(each.node, _APART)]
    calls = [
        node
        for each in where
        for node in each.nodes
        if isinstance(node, ast.Call)
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("gradient", "jacobian")
        if dotted(node.func.value) == tape
    ]
    owners = [owners_of_gradient(program, each) for each in calls]
    return frozenset(root_of(program, each) for of in owners for each in of) if all(owners) else frozenset()


def _objects(program: Program) -> Iterator[str]:
    """What the program calls its objects of model classes, Keras's or its own, whatever weights they have."""
    nodes = [node for statement in program for node in statement.nodes]
    own = {
        node.name
        for node in nodes
        if isinstance(node, ast.ClassDef) and any(last_name(base) in _MODELS for base in node.bases)
    }
    for target, made in _made(nodes):
        if last_name(made.func) in own | {"Sequential"} and dotted(target):
            yield dotted(target)


def _members(program: Program) -> Iterator[tuple[str, str]]:
    """What loops call each of several models, and the name of them all: `t` of `for t in self.teachers`."""
    nodes = [node for statement in program for node in statement.nodes]
    makers = {node.name for node in nodes if isinstance(node, ast.FunctionDef) and _makes_a_model(node)}
    lists = {
        dotted(node.targets[0])
        for node in nodes
        if isinstance(node, ast.Assign)
        for each in _elements(node.value)[:1]
        if isinstance(each, ast.Call) and last_name(each.func) in makers | _MODELS | {"Sequential"}
    }
    for node in nodes:
        if isinstance(node, ast.For | ast.comprehension) and dotted(node.iter) in lists - {""}:
            yield dotted(node.target), dotted(node.iter)


def _elements(value: ast.expr) -> list[ast.expr]:
    """What a list is made of; of `[make(i) for i in range(3)]` the one expression."""
    if isinstance(value, ast.ListComp):
        return [value.elt]
    return value.elts if isinstance(value, ast.List | ast.Tuple) else []


def _makes_a_model(node: ast.FunctionDef) -> bool:
    """Whether it returns a model of Keras that it makes."""
    values = {dotted(each.targets[0]): each.value for each in ast.walk(node) if isinstance(each, ast.Assign)}
    returned = [each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value]
    made = [values.get(each.id, each) if isinstance(each, ast.Name) else each for each in returned]
    return bool(made) and all(
        isinstance(each, ast.Call) and last_name(each.func) in {"Model", "Sequential"} for each in made
    )


def _made(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.expr, ast.Call]]:
    """What is assigned the result of a call, one of several at once, too: `a, b = Net(1), Net(2)`."""
    for node in nodes:
        if not isinstance(node, ast.Assign):
            continue
        target, value = node.targets[0], node.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = [*zip(target.elts, value.elts, strict=False)]
        yield from ((each, made) for each, made in pairs if isinstance(made, ast.Call))


_MODELS = frozenset({"Model", "Module"})
_APART = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class _Search:
    """Looks through what runs under a tape."""

    def __init__(self, program: Program, owners: frozenset[str]) -> None:
        self._program = program
        self._trained = frozenset(name for owner in owners for name in names_of(program, owner))
        known = dict.fromkeys([*(each.name for each in models(program)), *_objects(program)])
        others = [each for each in known if each not in owners]
        self._idle = {name: root for root in others for name in names_of(program, root)}
        self.members = {name: of for name, of in _members(program) if of not in owners | self._trained}
        """Names of a loop for each of several models, with what these are called together."""
        self.statement: ast.stmt | None = None
        """The statement of the tape that is looked through."""
        self._idle |= self.members
        self._functions = {
            node.name: (statement, node)
            for statement in program
            for node in statement.nodes
            if isinstance(node, ast.FunctionDef)
        }

    def calls(
        self, body: Sequence[ast.stmt], tainted: frozenset[str], deep: int = 0, at: Statement | None = None
    ) -> Iterator[tuple[str, Line]]:
        """The calls of other models, in their order; `tainted` are names of what the trained model made."""
        for statement in body:
            self.statement = statement if deep == 0 else self.statement
            made = tainted
            for node in ast.walk(statement):
                if not isinstance(node, ast.Call):
                    continue
                given = [*node.args, *(word.value for word in node.keywords)]
                is_tainted = any(self._is_tainted(each, made) for each in given)
                if dotted(node.func) in self._idle and given and not is_tainted:
                    line = self._line_of(node, at)
                    if line is not None:
                        yield dotted(node.func), line
                yield from self._inside(node, made, deep)
            if self._is_tainted(statement, made):
                tainted |= {
                    each.id
                    for each in ast.walk(statement)
                    if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
                }

    def _inside(self, call: ast.Call, tainted: frozenset[str], deep: int) -> Iterator[tuple[str, Line]]:
        """The same in a function of the program that is called."""
        name = dotted(call.func).removeprefix("self.")
        if name not in self._functions or deep >= _DEEPEST:
            return
        statement, function = self._functions[name]
        parameters = [each.arg for each in function.args.args if each.arg != "self"]
        given = {
            parameter
            for parameter, value in zip(parameters, call.args, strict=False)
            if self._is_tainted(value, tainted)
        }
        given |= {word.arg for word in call.keywords if word.arg and self._is_tainted(word.value, tainted)}
        yield from self.calls(function.body, frozenset(given), deep + 1, statement)

    def _is_tainted(self, node: ast.AST, tainted: frozenset[str]) -> bool:
        return any(dotted(each) in self._trained or dotted(each) in tainted for each in ast.walk(node))

    def _line_of(self, node: ast.Call, at: Statement | None) -> Line | None:
        where = at or next((each for each in self._program if node in each.nodes), None)
        return where.line_of(node) if where else None
