"""What a program does with a container that grows: look-ups, joins, means, the first and the last.

Only where the code shows it can a line of it be rewritten so that it keeps less and still runs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.line import Line
from tfmemlens.model.program import Statement
from tfmemlens.values import dataclass

if TYPE_CHECKING:
    from tfmemlens.findings.support.kept_trees import Kept

_JOINS = frozenset({"concat", "concatenate", "stack", "vstack", "hstack"})
_MEANS = frozenset({"mean", "reduce_mean"})
_BY_ROW = frozenset({"argmax", "argmin"})


@dataclass(frozen=True, slots=True)
class Use:
    """How the program reads a container, as far as its code shows."""

    looked_up: bool = False
    """Whether entries are read by key where they may be missing, and made anew then: a cache."""
    epoch: str = ""
    """The part of a cache's key that is another one in each epoch, with the whole key."""
    key: str = ""
    ends: tuple[int, ...] = ()
    """All that is read are these entries: the first, the last."""
    code: str = ""
    """The statement that keeps an entry, rewritten so that it keeps less and all that reads it still runs."""
    says: str = ""
    """What the rewritten statement does, in words."""
    joined: Line | None = None
    """Where all entries become one array."""


def use_of(program: Iterable[Statement], keeping: Kept) -> Use:
    """What the program does with what a line of it keeps."""
    nodes = [(each, statement) for statement in program for each in statement.nodes]
    reads = [*_reads(nodes, keeping.container)]
    if cached := _cached(nodes, reads, keeping):
        return cached
    appends = keeping.line.text.strip().startswith(f"{keeping.container}.append(")
    reads = [each for each in reads if not _only_adds(each[1])]
    if not reads or not appends:
        return Use()
    if ends := _ends(nodes, reads):
        return _of_ends(keeping, ends)
    return _as_means(reads, keeping) or _by_row(nodes, reads, keeping) or Use(joined=_joined(reads))


def read_at(program: Iterable[Statement], keeping: Kept) -> Line | None:
    """Where an entry of the container is first taken out and used, None where its code takes none."""
    nodes = [(each, statement) for statement in program for each in statement.nodes]
    return next(
        (
            statement.line_of(around)
            for child, around, statement in _reads(nodes, keeping.container)
            if isinstance(around, ast.Subscript) and around.value is child
            if isinstance(around.ctx, ast.Load)
        ),
        None,
    )


_Read = tuple[ast.expr, ast.AST, Statement]
_Nodes = Sequence[tuple[ast.AST, Statement]]


def _reads(nodes: _Nodes, name: str) -> Iterator[_Read]:
    """Where an expression of this name is read, with the node around it: of an attribute also under another
    name of its object.
    """
    attribute = name.rpartition(".")[2] if "." in name else ""
    for node, statement in nodes:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Attribute) and attribute and child.attr == attribute:
                if isinstance(child.ctx, ast.Load):
                    yield child, node, statement
            elif isinstance(child, ast.Name) and child.id == name and isinstance(child.ctx, ast.Load):
                yield child, node, statement


def _only_adds(around: ast.AST) -> bool:
    """Whether it is the call that adds to it, or one that empties it."""
    return isinstance(around, ast.Attribute) and around.attr in ("append", "extend", "clear")


def _cached(nodes: _Nodes, reads: Sequence[_Read], keeping: Kept) -> Use | None:
    """A dict whose entries are asked for before they are made."""
    stored = [
        node.targets[0].slice
        for node, _ in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Subscript)
        and ast.unparse(node.targets[0].value) == keeping.container
    ]
    asked = any(
        (isinstance(around, ast.Attribute) and around.attr == "get")
        or (isinstance(around, ast.Compare) and isinstance(around.ops[0], ast.In | ast.NotIn))
        for _, around, _ in reads
    )
    if not stored or not asked:
        return None
    parts = stored[0].elts if isinstance(stored[0], ast.Tuple) else []
    epoch = next((ast.unparse(each) for each in parts if re.search("(?i)epoch", ast.unparse(each))), "")
    return Use(looked_up=True, epoch=epoch, key=ast.unparse(stored[0]))


def _ends(nodes: _Nodes, reads: Sequence[_Read]) -> tuple[int, ...]:
    """The entries that are read, where these are the first and the last alone; a function's own are asked
    for where it is given the container.
    """
    found: set[int] = set()
    for child, around, _ in reads:
        if isinstance(around, ast.Subscript) and around.value is child:
            index = _number(around.slice)
            if index not in (0, -1):
                return ()
            found.add(index)
        elif isinstance(around, ast.Call) and child in around.args:
            inner = _of_parameter(nodes, around, around.args.index(child))
            if not inner:
                return ()
            found.update(inner)
        else:
            return ()
    return tuple(sorted(found, reverse=True))


def _of_parameter(nodes: _Nodes, call: ast.Call, place: int) -> tuple[int, ...]:
    """The ends that a function of the program reads of this argument."""
    made = [
        node for node, _ in nodes if isinstance(node, ast.FunctionDef) and node.name == last_name(call.func)
    ]
    if len(made) != 1 or not isinstance(call.func, ast.Name) or place >= len(made[0].args.args):
        return ()
    name = made[0].args.args[place].arg
    found: set[int] = set()
    for node in ast.walk(made[0]):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Name) and child.id == name:
                index = _number(node.slice) if isinstance(node, ast.Subscript) else None
                if index not in (0, -1):
                    return ()
                found.add(index)
    return tuple(sorted(found, reverse=True))


def _number(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, int) else None


def _of_ends(keeping: Kept, ends: tuple[int, ...]) -> Use:
    name, value = keeping.container, keeping.value
    if ends == (0,):
        code = f"if not {name}: {name}.append({value})"
    elif "." in name:  # Keras tracks a layer's lists, and its list compares its tensors when a slice is set
        first = f"{name}[:1] + " if 0 in ends else ""
        code = f"{name} = {first}[{value}]"
    else:
        code = f"{name}[{'1' if 0 in ends else ''}:] = [{value}]"
    words = " and ".join(f"the {'first' if each == 0 else 'last'}" for each in ends)
    verb = "are" if len(ends) > 1 else "is"
    return Use(ends=ends, code=code, says=f"only {words} of `{name}` {verb} read: keep no other")


def _as_means(reads: Sequence[_Read], keeping: Kept) -> Use | None:
    """All that is wanted is the mean of all numbers: the mean of each entry has the same mean."""
    calls = set()
    for child, around, statement in reads:
        call: ast.AST | None = around
        if isinstance(call, ast.Call) and last_name(call.func) == "stack" and len(call.args) == 1:
            call = next((node for node in statement.nodes if around in ast.iter_child_nodes(node)), None)
        of_all = isinstance(call, ast.Call) and last_name(call.func) in _MEANS
        if not (of_all and isinstance(call, ast.Call) and len(call.args) == 1 and not call.keywords):
            return None
        if not isinstance(around, ast.Call) or around.args != [child] or around.keywords:
            return None
        calls.add(ast.unparse(call.func))
    code = f"{keeping.container}.append({calls.pop()}({keeping.value}))"
    return Use(code=code, says=f"only the mean of `{keeping.container}` is read: keep each result's own")


def _by_row(nodes: _Nodes, reads: Sequence[_Read], keeping: Kept) -> Use | None:
    """All are joined, and of each row only its largest or smallest place is wanted."""
    if len(reads) != 1:
        return None
    child, join, _ = reads[0]
    if not isinstance(join, ast.Call) or last_name(join.func) not in ("concat", "concatenate"):
        return None
    rest = _options(join)
    if join.args[:1] != [child] or rest not in ([], ["0"], ["axis=0"]):
        return None
    into = next(
        (
            node.targets[0].id
            for node, _ in nodes
            if isinstance(node, ast.Assign) and node.value is join and isinstance(node.targets[0], ast.Name)
        ),
        None,
    )
    inner = [
        node
        for node, _ in nodes
        if isinstance(node, ast.FunctionDef) and any(each is join for each in ast.walk(node))
    ]
    inner.sort(key=lambda each: sum(1 for _ in ast.walk(each)))
    scope = {id(each) for each in ast.walk(inner[0])} if inner else set()
    within = [(node, statement) for node, statement in nodes if not scope or id(node) in scope]
    used = [*_reads(within, into)] if into else []
    if len(used) != 1 or not isinstance(used[0][1], ast.Call):
        return None
    array, call, statement = used[0]
    assert isinstance(call, ast.Call)
    last, of_rows = _options(call), last_name(call.func) in _BY_ROW
    if not of_rows or call.args[:1] != [array] or last not in (["axis=-1"], ["-1"]):
        return None
    of_each = f"{ast.unparse(call.func)}({keeping.value}, {last[0]})"
    assigned = next(
        (node for node in statement.nodes if isinstance(node, ast.Assign) and call in ast.walk(node.value)),
        None,
    )
    if assigned is None:
        return None
    later = ast.unparse(assigned).replace(ast.unparse(call), ast.unparse(join))
    place, kind = statement.line_of(call), last_name(call.func)
    return Use(
        code=f"{keeping.container}.append({of_each})\n{later}   # in place of {place.place}",
        says=f"only the {kind} of each row is wanted ({place.place}): keep that",
        joined=place,
    )


def _options(call: ast.Call) -> list[str]:
    """What a call is given besides its array."""
    named = [f"{each.arg}={ast.unparse(each.value)}" for each in call.keywords]
    return [*map(ast.unparse, call.args[1:]), *named]


def _joined(reads: Sequence[_Read]) -> Line | None:
    """The line in which all entries become one array."""
    for child, around, statement in reads:
        if isinstance(around, ast.Call) and child in around.args and last_name(around.func) in _JOINS:
            return statement.line_of(around)
    return None
