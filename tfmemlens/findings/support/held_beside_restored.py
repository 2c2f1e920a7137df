"""A state that was made at random before a checkpoint was read, and that a name still holds while steps run
with the one that was read: two sets of weights, and of what the optimizer keeps.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from tfmemlens.findings.support.jax_stack import MadeByLine
from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.model.program import Statement
from tfmemlens.patterns import regex

_READS = regex(
    r"\w*restore\w*|(?:async_)?load_(?:checkpoint|pytree)|from_(?:bytes|state_dict)|tree_deserialise\w*"
)
_MAKES = regex(
    r"_?(?:create|init|make|build|initiali[sz]e)_?\w*(?:state|params|variables|model|network)\w*"
    r"|init(?:_weights)?"
)
_OF_FUNCTIONS = frozenset({"apply_fn", "tx", "step"})
"""What a train state holds besides arrays."""
_Block = Sequence[tuple[Statement, ast.stmt]]


def held_beside_restored(told: Surroundings, text: str | None) -> MadeByLine | None:
    """The fresh state and the one that was read, where nothing lets go of the first before steps run; not
    where the line that failed stands above these.
    """
    for block in _blocks(list(told.program())):
        for at, (statement, node) in enumerate(block):
            read = _assigned(node, _READS)
            if read is None or not any(_uses(read, each) for _, each in block[at + 1 :]):
                continue
            line = statement.line_of(node)
            above = [each.line_of(part).text.strip() for each, part in block[: at + 1]]
            made = _still_held(block[:at], [each for _, each in block[at + 1 :]], read)
            if made and (not text or text.strip() not in above):
                return _of_two_states(*made, read, line)
    return None


def _blocks(program: Sequence[Statement]) -> Iterator[_Block]:
    """What runs one after another: the statements of the left edge, and those of each function."""
    yield [(statement, statement.node) for statement in program if not statement.inline]
    for statement in program:
        for node in statement.nodes:
            if isinstance(node, ast.FunctionDef):
                yield [(statement, each) for each in node.body]


def _assigned(node: ast.stmt, calls: re.Pattern[str]) -> str | None:
    """The name that a statement gives to what such a call returns; of several the first."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return None
    target = node.targets[0]
    if isinstance(target, ast.Tuple) and target.elts:
        target = target.elts[0]
    named = isinstance(target, ast.Name) and calls.fullmatch(last_name(node.value.func) or "")
    return target.id if isinstance(target, ast.Name) and named else None


def _still_held(above: _Block, below: Sequence[ast.stmt], read: str) -> tuple[str, Line] | None:
    """The name of a state that was made above, which nothing below uses for its arrays, or deletes."""
    for statement, node in above:
        name = _assigned(node, _MAKES)
        gone = any(isinstance(each, ast.Delete) and _uses(name, each) for _, each in above)
        if name and name != read and not gone and not any(_uses(name, each) for each in below):
            return name, statement.line_of(node)
    return None


def _uses(name: str | None, node: ast.AST) -> bool:
    """Whether a statement uses what the name holds, deletes it, or gives the name something else."""
    functions = {
        id(each.value)
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute) and each.attr in _OF_FUNCTIONS
    }
    return any(
        isinstance(each, ast.Name) and each.id == name and id(each) not in functions
        for each in ast.walk(node)
    )


def _of_two_states(name: str, made: Line, read: str, line: Line) -> MadeByLine:
    return MadeByLine(
        f"`{name}` ({made.place}), which was made before the checkpoint was read, is still held beside"
        f" `{read}` ({line.place}): weights, and what the optimizer keeps, exist twice while steps run",
        (
            Remedy(
                "let go of what was made first, before the first step",
                f"del {name}   # after the restore; no other name may hold its arrays",
                slug="drop-references",
            ),
            Remedy(
                "or restore into shapes, and make no state for it at all",
                "shapes = jax.eval_shape(create_state, key)\n"
                f"{read} = checkpointer.restore(path, shapes)   # with shardings, where there are several",
                slug="restore-into-shapes",
            ),
        ),
        line=made,
    )
