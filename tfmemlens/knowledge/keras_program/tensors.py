"""Every tensor that a program makes by calls and operators: its shape, the line that makes it, and how often
in one step.

A step is what stands inside a tape, one call of `train_step`, or else the whole program, whose every line
counts once. Loops of known length count their turns, so that a list of forty-eight planes is as many tensors.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from tfmemlens.knowledge.keras_program.layers import CELLS
from tfmemlens.knowledge.keras_program.reader import FollowedProgram, ProgramReader
from tfmemlens.knowledge.keras_program.values import (
    UNKNOWN,
    DataSet,
    External,
    Function,
    Instance,
    Layer,
    Method,
    Names,
    Net,
    bound,
    tensors_in,
)
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.model.tensor import TensorType
from tfmemlens.values import dataclass

__all__ = ["TensorMade", "tensors_of"]

_MOST_TENSORS = 4000
_MOST_CODE = 80
_ON_HOST = ("np.", "numpy.", "random.", "rng.", "pd.", "pandas.", "cv2.", "scipy.")
_VIEWS = frozenset(
    "reshape squeeze expand_dims flatten identity stop_gradient shape ensure_shape convert_to_tensor"
    " assign assign_add assign_sub read_value get_variable Variable placeholder Input InputLayer TensorSpec"
    " InputSpec Flatten Reshape Identity batch padded_batch map".split()
)
"""What makes no tensor of its own in a step, or one that is no step's."""


@dataclass(frozen=True, slots=True)
class TensorMade:
    """What a call or an operator of the program makes; sides that nothing tells are None."""

    line: Line
    code: str
    """The call or expression, shortened."""
    op: str
    """The last part of its name: `concat`, `Dense`, `multiply`."""
    shape: tuple[int | None, ...]
    dtype: str
    times: int = 1
    """How often one step makes it."""
    taped: bool = False
    """Whether a tape records it."""
    reads: tuple[int | None, ...] = ()
    """The shape of the first tensor that it reads; empty where nothing tells."""


def tensors_of(program: Program) -> tuple[TensorMade, ...]:
    """All tensors of known rank that the program makes on the device, in the order in which it does. Nothing
    is run: what stands behind something that nothing tells of is missing.
    """
    reader = _Tensors(FollowedProgram(program))
    reader.follow()
    return reader.tensors()


class _Tensors(ProgramReader):
    """Notes what calls and operators make."""

    def __init__(self, source: FollowedProgram) -> None:
        super().__init__(source)
        self._steps: list[dict[Any, int]] = [{}]
        self._open = [self._steps[0]]
        self._around: list[int] = []
        """For how many turns of loops one turn stood, before each step that is open."""
        self._nodes: dict[int, tuple[ast.expr, str]] = {}
        self._reads: dict[Any, tuple[int | None, ...]] = {}
        """Of what was noted: the shape of the first tensor that it reads."""
        self._host: dict[int, TensorType] = {}
        """Arrays of the host by their identity; they stay alive, so that no other gets it."""
        self._of_graph = False
        """Whether lines outside of any step build a graph, which each `Session.run` computes whole."""

    def tensors(self) -> tuple[TensorMade, ...]:
        """Each tensor once, as often as the step that makes most of it does."""
        whole = self._steps[0]
        most: dict[Any, tuple[int, bool]] = {
            key: (times if self._of_graph else 1, False) for key, times in whole.items()
        }
        for step in self._steps[1:]:
            for key, times in step.items():
                most[key] = (max(times, most.get(key, (0, False))[0]), True)
        made = []
        for key, (times, taped) in most.items():
            at, shape, dtype = key
            node, op = self._nodes[at]
            line = self.source.line_of(node)
            if line is not None:
                code = ast.unparse(node)
                code = code if len(code) <= _MOST_CODE else code[: _MOST_CODE - 1] + "…"
                made.append(TensorMade(line, code, op, shape, dtype, times, taped, self._reads[key]))
        return tuple(made)

    def _note(self, node: ast.expr, op: str, value: Any, given: Sequence[TensorType] = ()) -> None:
        step = self._open[-1]
        for each in tensors_in(value) if isinstance(value, tuple | list) else [value]:
            if not isinstance(each, TensorType) or not each.shape or len(step) >= _MOST_TENSORS:
                continue
            key = (id(node), each.shape, each.dtype or "float32")
            self._nodes[id(node)] = (node, op)
            self._reads[key] = (given[0].shape or ()) if given else ()
            step[key] = step.get(key, 0) + self.turns

    def called(self, function: Any, positional: list[Any], named: Names, node: ast.Call) -> Any:
        """The value of a call, which is noted where the program did not write what it calls."""
        made = super().called(function, positional, named, node)
        given = tensors_in([positional, list(named.values())])
        if isinstance(function, Layer):
            of_cell = function.class_name in CELLS and isinstance(made, tuple)
            self._note(function.node, function.class_name, made[0] if of_cell else made, given)
        elif isinstance(function, External | Method):
            op = function.name if isinstance(function, Method) else function.path.rpartition(".")[2]
            self._of_graph = self._of_graph or op in _OF_A_GRAPH
            if self._stays_on_host(function, given):
                self._keep_on_host(made)
            elif op not in _VIEWS and _computes(function):
                self._note(node, op, made, given)
        return made

    def _stays_on_host(self, function: External | Method, given: Sequence[TensorType]) -> bool:
        """Whether NumPy or Python makes it; a method of an array gives one."""
        if isinstance(function, Method):
            value = function.value
            return isinstance(value, External) or id(value) in self._host
        if function.path.startswith(_ON_HOST) or "." not in function.path:
            return True
        return ".numpy." in function.path and not given

    def _compare(self, node: ast.Compare) -> Any:
        made = super()._compare(node)
        self._keep_on_host(made)  # a truth value, small beside what it compares
        return made

    def _keep_on_host(self, made: Any) -> None:
        for each in tensors_in(made):
            self._host[id(each)] = each

    def value(self, node: ast.expr | None) -> Any:
        """What an expression is; an operator's result is noted."""
        made = super().value(node)
        if isinstance(node, ast.BinOp) and isinstance(made, TensorType) and id(made) not in self._host:
            self._note(node, "operator", made)
        return made

    def binary(self, op: ast.operator, left: Any, right: Any) -> Any:
        """What an operator makes of two values, on the host where both are there."""
        made = super().binary(op, left, right)
        tensors = [each for each in (left, right) if isinstance(each, TensorType)]
        if tensors and all(id(each) in self._host for each in tensors):
            self._keep_on_host(made)
        return made

    def _item(self, value: Any, key: Any) -> Any:
        made = super()._item(value, key)
        if id(value) in self._host:
            self._keep_on_host(made)
        return made

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        if not any(_is_tape(item.context_expr) for item in node.items):
            super()._with(node)
            return
        self._begin()
        try:
            super()._with(node)
        finally:
            self._end()

    def _begin(self) -> None:
        step: dict[Any, int] = {}
        self._steps.append(step)
        self._open.append(step)
        self._around.append(self.turns)
        self.turns = 1

    def _end(self) -> None:
        self._open.pop()
        self.turns = self._around.pop()

    def _fed(self, model: Any, given: Any, labels: Any = None) -> Any:
        """`fit` takes one step: by the model's own `train_step` where it has one."""
        own = model.of.member("train_step") if isinstance(model, Instance) and model.of else None
        if own is None or not isinstance(own[0], Function) or id(own[0].node) in self.followed:
            self._begin()
            try:
                return super()._fed(model, given, labels)
            finally:
                self._end()
        element = given.element if isinstance(given, DataSet) else UNKNOWN
        self.run(bound(own[0], model, own[1]), [element], {})
        return UNKNOWN


_OF_A_GRAPH = ("placeholder", "placeholder_with_default", "Session", "InteractiveSession")


def _computes(function: External | Method) -> bool:
    """Whether what is called may make a tensor: no method of a list, a text or a data set does."""
    return isinstance(function, External) or isinstance(function.value, TensorType | Net | Instance | Layer)


def _is_tape(node: ast.expr) -> bool:
    """Whether a `with` opens a tape of gradients."""
    return isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "GradientTape"
