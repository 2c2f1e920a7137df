"""A rollout whose scan stacks the simulator's whole state of every step, although the state is its carry
already, and of what is stacked little is used.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tfmemlens.findings.support.jax_stack import MadeByLine
from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.model.program import Statement
from tfmemlens.patterns import regex

_STEPS = regex(r"(?:v|batched_|batch_|jit_)?(?:env_?)?step(?:_env|_fn|_batch)?|mjx_step")


def stacked_state(program: Sequence[Statement]) -> MadeByLine | None:
    """`return (state, key), state`, in the body of a scan that steps a simulator."""
    bodies = {node.name: node for each in program for node in each.nodes if isinstance(node, ast.FunctionDef)}
    for statement in program:
        for scan in statement.nodes:
            if not isinstance(scan, ast.Call) or last_name(scan.func) != "scan" or not scan.args:
                continue
            body = bodies.get(last_name(scan.args[0]) or "")
            state = _given_back_twice(body) if body else None
            if body and state:
                return _of_a_state(program, statement, scan, body, state)
    return None


def _given_back_twice(body: ast.FunctionDef) -> str | None:
    """The name of a stepped state that is both in the carry and what a step gives to be stacked."""
    stepped = {
        name.id
        for node in ast.walk(body)
        if isinstance(node, ast.Assign) and any(map(_steps, ast.walk(node.value)))
        for target in node.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }
    for node in ast.walk(body):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:
            carry, stacked = (set(_names(each)) for each in node.value.elts)
            if both := sorted(carry & stacked & stepped):
                return both[0]
    return None


def _steps(node: ast.AST) -> bool:
    """Whether it is a call that steps an environment: `env.step(state, action)`."""
    return isinstance(node, ast.Call) and bool(_STEPS.fullmatch(last_name(node.func) or ""))


def _names(node: ast.expr) -> Iterator[str]:
    """The names that a value holds as they are: of `(state, state.reward)` the first."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Tuple | ast.List):
        for each in node.elts:
            yield from _names(each)
    elif isinstance(node, ast.Dict):
        for each in node.values:
            yield from _names(each)


def _of_a_state(
    program: Sequence[Statement], statement: Statement, scan: ast.Call, body: ast.FunctionDef, state: str
) -> MadeByLine:
    line, used = statement.line_of(scan), _used(program, statement, scan)
    turns = next((each.value for each in scan.keywords if each.arg == "length"), None)
    length = ast.unparse(turns) if turns else ""
    quoted = length if length.isdecimal() else f"`{length}`"
    many = f"each of {quoted} steps" if length else "each step"
    of_it = f", and only {_listed(used[0])} of it is used ({used[1].place})" if used else ""
    parts = ", ".join(f"{state}.{name}" for name in (used[0] if used else ("obs", "reward", "done")))
    parts = f"({parts})" if "," in parts else parts
    return MadeByLine(
        f"the scan of {line.place} stacks the whole `{state}` for {many} of `{body.name}`, all that the"
        f" simulator keeps of every environment{of_it}",
        (
            Remedy(
                "let the body give back what is needed of a step alone: the state goes on in the carry",
                f"return carry, {parts}   # of `{body.name}`, where carry holds `{state}`",
                slug="stack-less",
            ),
            Remedy(
                "or sum up in the carry, and stack nothing, or take fewer environments or steps at a time",
                "return (carry, total + reward), None",
                slug="in-blocks",
            ),
        ),
        line=line,
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`.{name}`" for name in names)


_FEW = 4


def _used(
    program: Sequence[Statement], statement: Statement, scan: ast.Call
) -> tuple[tuple[str, ...], Line] | None:
    """The few attributes of what is stacked that the program uses, and where first; None where another part
    may be used as well.
    """
    names = {*_stacked(statement, scan)}
    makers = {
        node.name
        for node in statement.nodes
        if isinstance(node, ast.FunctionDef) and any(part is scan for part in ast.walk(node))
    }
    found: dict[str, Line] = {}
    for each in program:
        for node in each.nodes:
            called = (
                {last_name(part) for part in ast.walk(node.value)} if isinstance(node, ast.Assign) else ()
            )
            if isinstance(node, ast.Assign) and makers & {*called} and isinstance(node.targets[0], ast.Name):
                names.add(node.targets[0].id)
    for each in program:
        parents = {id(child): node for node in each.nodes for child in ast.iter_child_nodes(node)}
        for node in each.nodes:
            if not (isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load)):
                continue
            parent = parents.get(id(node))
            if isinstance(parent, ast.Attribute):
                found.setdefault(parent.attr, each.line_of(node))
            elif not isinstance(parent, ast.Return):
                return None
    return (tuple(found), next(iter(found.values()))) if 0 < len(found) <= _FEW else None


def _stacked(statement: Statement, scan: ast.Call) -> Iterator[str]:
    """The name of the second of the two things that a scan gives back."""
    for node in statement.nodes:
        target = node.targets[0] if isinstance(node, ast.Assign) and node.value is scan else None
        if isinstance(target, ast.Tuple) and len(target.elts) == 2 and isinstance(target.elts[1], ast.Name):
            yield target.elts[1].id
