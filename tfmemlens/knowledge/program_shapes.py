"""What a quoted program makes: the weights of its layers and its arrays, with their shapes, where the code
states every size that they follow from.

A program is followed as `keras_program` does, with an open batch; a size that nothing states stays unknown,
and with it all that follows from it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from enum import Enum
from typing import Any

from tfmemlens.knowledge.keras_layers import LayerSpecs
from tfmemlens.knowledge.keras_program.reader import FollowedProgram, ProgramReader
from tfmemlens.knowledge.keras_program.values import Layer, Names, Net, tensors_in
from tfmemlens.knowledge.tree_values import dotted, known_sizes
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.model.tensor import TensorType, tensor_bytes
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

__all__ = ["Made", "Role", "made_by"]

_LONGEST, _TALL = 60, 16


class Role(Enum):
    """What a thing is to the program."""

    DENSE = "kernel"
    TABLE = "table"
    WEIGHT = "weight"
    DATA = "data"
    GIVEN = "array given whole"
    STORE = "variable that nothing trains"


@dataclass(frozen=True, slots=True)
class Made:
    """A weight or an array of known shape that a line makes."""

    code: str
    """The call, as the user wrote it."""
    role: Role
    shape: tuple[int, ...]
    line: Line
    dtype: str = "float32"
    flattened: tuple[int, ...] = ()
    """The feature map whose flattened sides are the kernel's first size."""

    @property
    def bytes(self) -> int:
        """Shape x dtype."""
        return tensor_bytes(self.shape, self.dtype) or 0


_TOLD_SHAPE = regex(
    r"#.{0,40}?\((?P<sizes>\d[\d_]{0,12}(?:, ?\d[\d_]{0,12}){0,5}),?\)"
    r"[ ,]{0,2}(?P<dtype>b?float\d\d|u?int\d{1,2})?"
)
_LOADS = (
    "load",
    "read",
    "loadtxt",
    "asarray",
    "array",
    "fromfile",
    "memmap",
    "stack",
    "device_put",
    "constant",
)
_GIVEN_WHOLE = ("constant", "convert_to_tensor", "from_tensor_slices", "from_tensors")
"""What makes tensors of TensorFlow's of all that arrays hold."""
_VARIABLES = ("get_variable", "Variable", "add_weight", "Embed", "Linear")
_SAME_SHAPE = ("Dropout", "Activation", "ReLU", "LeakyReLU", "BatchNormalization", "LayerNormalization")
"""Layers behind which a flattened map is still one."""


def made_by(program: Program, image: tuple[int, int] | None = None) -> tuple[Made, ...]:
    """All weights and arrays of known shape that the program makes, in its order. `image` are the sides of
    the pictures that the text speaks of, for a net whose input the code leaves open.
    """
    reader = _Makes(FollowedProgram(program), image)
    reader.follow()
    return tuple(dict.fromkeys(reader.made))


class _Makes(ProgramReader):
    """Notes weights, variables and arrays."""

    def __init__(self, source: FollowedProgram, image: tuple[int, ...] | None) -> None:
        super().__init__(source, image)
        self.made: list[Made] = []
        self._flattened: dict[int, tuple[TensorType, tuple[int, ...]]] = {}
        """Of the outputs of Flatten the sides of what was flattened, by identity."""

    def layer_made(self, layer: Layer) -> None:
        """A table's sizes are known before it is called."""
        sizes = layer.config.get("input_dim"), layer.config.get("output_dim")
        if layer.class_name == "Embedding" and all(isinstance(size, int) for size in sizes):
            self._add(layer.node, Role.TABLE, sizes)

    def applied(self, layer: Layer | Net, positional: list[Any], named: Names) -> Any:
        """The pictures that the text speaks of are what a net reads whose input the code leaves open."""
        of_pictures = isinstance(layer, Layer) and "2D" in layer.class_name and bool(self.open_sides)
        if of_pictures and not tensors_in([positional, list(named.values())]):
            positional = [TensorType((None, *(self.open_sides or ()), None), "float32"), *positional[1:]]
        return super().applied(layer, positional, named)

    def layer_called(self, layer: Layer, specs: LayerSpecs, positional: list[Any], named: Names) -> Any:
        read = next(iter(tensors_in([positional, list(named.values())])), None)
        _, sides = self._flattened.get(id(read), (read, ()))
        role = Role.DENSE if layer.class_name == "Dense" else Role.WEIGHT
        for weight in specs.weights if layer.class_name != "Embedding" else ():
            if len(weight.shape) > 1:
                self._add(layer.node, role, weight.shape, sides)
        if len(specs.outputs) != 1 or read is None or not read.shape:
            return None
        known = TensorType(specs.outputs[0].shape, specs.outputs[0].dtype)
        if layer.class_name == "Flatten" and len(read.shape) > 2 and all(read.shape[1:]):
            self._flattened[id(known)] = known, tuple(side for side in read.shape[1:] if side)
        elif sides and layer.class_name in _SAME_SHAPE:
            self._flattened[id(known)] = known, sides
        return known

    def outside(self, path: str, positional: list[Any], named: Names, node: ast.Call) -> None:
        """A variable that no layer of Keras's owns, and arrays that TensorFlow is given whole."""
        name, shape = path.rpartition(".")[2], named.get("shape")
        if name in _GIVEN_WHOLE and "." in path:
            for each in tensors_in([*positional[:1], named.get("tensors"), named.get("value")]):
                self._add(node, Role.GIVEN, each.shape or (), dtype=each.dtype or "float32")
        if name not in _VARIABLES:
            return
        if name == "get_variable" and shape is None and len(positional) > 1:
            shape = positional[1]
        elif name == "Variable" and positional:
            shape = positional[0].shape if isinstance(positional[0], TensorType) else None
        elif name == "Linear" and len(positional) > 1:
            shape = positional[:2]
        elif name == "Embed":
            sizes = [*positional, named.get("num_embeddings"), named.get("features")]
            shape = tuple(size for size in sizes if isinstance(size, int))[:2]
            shape = shape if len(shape) == 2 else None
        known = known_sizes(tuple(shape) if isinstance(shape, list) else shape)
        if known and named.get("trainable") is False and name == "Variable":
            self._add(node, Role.STORE, known)
        elif known:
            tall = len(known) == 2 and known[0] >= _TALL * known[1] and name != "Linear"
            self._add(node, Role.TABLE if name == "Embed" or tall else Role.WEIGHT, known)

    def assigned(self, node: ast.Assign, value: Any) -> None:
        """An array whose shape a comment behind it tells: `x = np.load(f)  # (60000, 28, 28) uint8`."""
        if not isinstance(node.value, ast.Call):
            return
        line, function = self.source.line_of(node.value), dotted(node.value.func)
        loads = function.rpartition(".")[2] in _LOADS
        match = _TOLD_SHAPE.search(line.text) if line and loads else None
        if match:
            sizes = tuple(int(size.replace("_", "")) for size in match["sizes"].split(","))
            self._add(node.value, Role.DATA, sizes, dtype=match["dtype"] or "float32")
        elif function.endswith((".zeros", ".ones")) and isinstance(value, TensorType):
            self._add(node.value, Role.DATA, value.shape or ())

    def _add(
        self,
        node: ast.Call,
        role: Role,
        shape: Sequence[Any],
        flattened: tuple[int, ...] = (),
        dtype: str = "float32",
    ) -> None:
        line, sizes = self.source.line_of(node), known_sizes(tuple(shape))
        if line is None or not sizes or min(sizes) < 1:
            return
        code = ast.unparse(node)
        code = code if len(code) <= _LONGEST else f"{code[: _LONGEST - 3]}..."
        self.made.append(Made(code, role, sizes, line, dtype, flattened))
