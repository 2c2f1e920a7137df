"""What a quoted program makes: the weights of its layers and its arrays, with their shapes, where the code
states every size that they follow from.

Statements are followed in their order with a symbolic batch; what a layer makes and owns is asked of the
rules for Keras layers. A size that nothing states stays unknown, and with it all that follows from it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from tfmemlens.knowledge.keras_layers import LayerCall, UnsupportedLayer, describe
from tfmemlens.knowledge.layer_calls import (
    ARGUMENTS,
    BACKBONES,
    OF_SLIM,
    OF_TF_LAYERS,
    READ,
    SIZED,
    UNCHANGED,
    as_saved,
    of_slim,
)
from tfmemlens.knowledge.tree_values import computed, dotted, known_sizes
from tfmemlens.model.line import Line
from tfmemlens.model.network import LayerSpec
from tfmemlens.model.program import Program, Statement
from tfmemlens.model.tensor import TensorType, tensor_bytes
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

__all__ = ["Made", "Role", "made_by"]

Shape = tuple["int | None", ...]
_MOST_STEPS = 4000
_LONGEST = 60


class Role(Enum):
    """What a thing is to the program."""

    DENSE = "kernel"
    TABLE = "table"
    WEIGHT = "weight"
    DATA = "data"


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


@dataclass(frozen=True, slots=True)
class _Value:
    """A tensor; its shape is None where nothing tells."""

    shape: Shape | None = None
    flattened: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Layer:
    class_name: str
    config: Mapping[str, Any]
    node: ast.Call


_UNKNOWN = _Value()
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


def made_by(program: Program, image: tuple[int, int] | None = None) -> tuple[Made, ...]:
    """All weights and arrays of known shape that the program makes, in its order. `image` are the sides of
    the pictures that the text speaks of, for a net whose input the code leaves open.
    """
    reader = _Reader(image)
    for statement in program:
        reader.run(statement)
    return tuple(dict.fromkeys(reader.made))


def weight_of(code: str, class_name: str, shape: tuple[int, ...], line: Line) -> Made:
    """A weight of a Keras layer, by the call that makes the layer."""
    role = {"Dense": Role.DENSE, "Embedding": Role.TABLE}.get(class_name, Role.WEIGHT)
    return Made(_shortened(code), role, shape, line)


def _shortened(code: str) -> str:
    return code if len(code) <= _LONGEST else f"{code[: _LONGEST - 3]}..."


class _Reader:
    """Follows statements; names of all functions share one table, as a quoted piece has few."""

    def __init__(self, image: tuple[int, int] | None) -> None:
        self.made: list[Made] = []
        self.names: dict[str, Any] = {}
        self.image = image
        self.steps = 0
        self.statement: Statement | None = None

    def run(self, statement: Statement) -> None:
        """Follow one statement."""
        self.statement = statement
        self.steps = 0
        try:
            self.body([statement.node])
        except _Enough:
            return

    def body(self, nodes: Sequence[ast.stmt]) -> None:
        for node in nodes:
            self.step()
            if isinstance(node, ast.Assign):
                value = self.value(node.value)
                self.note_array(node, value)
                for target in node.targets:
                    self.assign(target, value)
            elif isinstance(node, ast.AnnAssign):
                self.assign(node.target, self.value(node.value if node.value else node.annotation))
            elif isinstance(node, ast.AugAssign):
                self.assign(node.target, _UNKNOWN)
            elif isinstance(node, ast.Expr | ast.Return) and node.value is not None:
                self.value(node.value)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.parameters(node)
                self.body(node.body)
            elif isinstance(node, ast.If | ast.For | ast.While | ast.With | ast.ClassDef | ast.Try):
                if isinstance(node, ast.For):
                    self.assign(node.target, _UNKNOWN)
                before = dict(self.names)
                self.body(node.body)
                if isinstance(node, ast.If | ast.For | ast.While):
                    for name, value in self.names.items():
                        if isinstance(value, _Value) and before.get(name) != value:
                            self.names[name] = _UNKNOWN  # it may be made never, or again and again

    def step(self) -> None:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise _Enough

    def parameters(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        arguments = [*node.args.posonlyargs, *node.args.args]
        defaults = [*[None] * (len(arguments) - len(node.args.defaults)), *node.args.defaults]
        pairs = list(zip(arguments, defaults, strict=True))
        pairs += zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        for argument, default in pairs:
            if default is not None:
                self.names[argument.arg] = self.value(default)
            elif not isinstance(self.names.get(argument.arg), int):
                self.names[argument.arg] = _UNKNOWN

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            parts = value if isinstance(value, tuple) and len(value) == len(target.elts) else ()
            for at, each in enumerate(target.elts):
                self.assign(each, parts[at] if parts else _UNKNOWN)
        elif name := dotted(target):
            self.names[name] = value

    def value(self, node: ast.expr | None) -> Any:
        """What an expression is; `_UNKNOWN` where nothing tells."""
        self.step()
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name | ast.Attribute):
            return self.names.get(dotted(node), self.of_attribute(node))
        if isinstance(node, ast.Tuple | ast.List):
            return tuple(self.value(each) for each in node.elts)
        if isinstance(node, ast.BinOp):
            number = computed(node.op, self.value(node.left), self.value(node.right))
            return _UNKNOWN if number is None else number
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            operand = self.value(node.operand)
            return -operand if isinstance(operand, int | float) else _UNKNOWN
        if isinstance(node, ast.Call):
            return self.call(node)
        return _UNKNOWN

    def of_attribute(self, node: ast.Name | ast.Attribute) -> Any:
        """A setting by its last name: `args.vocab`, `FLAGS.dim`, `self.n`."""
        if not isinstance(node, ast.Attribute):
            return _UNKNOWN
        if node.attr == "output" and isinstance(net := self.names.get(dotted(node.value)), list):
            return net[0]
        known = self.names.get(node.attr)
        return known if isinstance(known, int | str) else _UNKNOWN

    def call(self, node: ast.Call) -> Any:
        function = dotted(node.func)
        name = function.rpartition(".")[2]
        if isinstance(node.func, ast.Call) or isinstance(self.names.get(function), _Layer | list):
            layer = self.value(node.func)
            inputs = [self.value(each) for each in node.args]
            return self.apply(layer, inputs[0] if inputs else _UNKNOWN, node)
        if name == "add" and isinstance(net := self.names.get(function.rpartition(".")[0]), list):
            given = self.value(node.args[0]) if node.args else _UNKNOWN
            self.names[function.rpartition(".")[0]] = [self.apply(net, given, node)]
            return _UNKNOWN
        if name in ("add_argument", "DEFINE_integer", "setdefault"):
            return self.flag(node, name)
        positional = [self.value(each) for each in node.args if not isinstance(each, ast.Starred)]
        named = {each.arg: self.value(each.value) for each in node.keywords if each.arg}
        if name == "Sequential":
            return self.sequential(positional[0] if positional else named.get("layers", ()), node)
        if name in ("Input", "InputLayer", "placeholder"):
            return self.input(name, positional, named)
        if name in OF_SLIM and function.startswith(("slim.", "tf.contrib.")):
            class_name, config = of_slim(name, positional[1:], named)
            inputs = positional[0] if positional else named.get("inputs", _UNKNOWN)
            return self.apply(_Layer(class_name, config, node), inputs, node)
        if "layers" in function and name in OF_TF_LAYERS:
            class_name = OF_TF_LAYERS[name]
            config = dict(zip(ARGUMENTS[class_name], positional[1:], strict=False)) | named
            inputs = positional[0] if positional else named.get("inputs", _UNKNOWN)
            return self.apply(_Layer(class_name, config, node), inputs, node)
        if name in ARGUMENTS and (
            function.startswith(("tf.", "keras", "layers", "L.", "K")) or "." not in function
        ):
            return self.layer(name, positional, named, node)
        if name in BACKBONES and named.get("include_top") is False:
            sides = named.get("input_shape")
            known = (
                isinstance(sides, tuple)
                and len(sides) == 3
                and all(isinstance(each, int) for each in sides[:2])
            )
            if known and isinstance(sides, tuple) and named.get("pooling") is None:
                low = sides[0] // 32, sides[1] // 32
                even = not (sides[0] % 32 or sides[1] % 32)
                return (
                    [_Value((None, *low, BACKBONES[name]))] if even or name.startswith("VGG") else [_UNKNOWN]
                )
            return [_UNKNOWN]
        if name in ("get_variable", "Variable", "add_weight", "Embed", "Linear"):
            self.variable(name, positional, named, node)
            return _UNKNOWN
        if name in UNCHANGED and positional and isinstance(positional[0], _Value):
            return positional[0]
        shape = positional[0] if positional else named.get("shape")
        if name in (
            "zeros",
            "ones",
            "random_normal",
            "normal",
            "truncated_normal",
            "random_uniform",
            "uniform",
        ):
            return _Value(known_sizes(shape))
        return _UNKNOWN

    def flag(self, node: ast.Call, name: str) -> Any:
        """`add_argument('--vocab', type=int, default=50000)`, `DEFINE_integer('vocab', 50000)`."""
        words = [self.value(each) for each in node.args]
        default = next((self.value(each.value) for each in node.keywords if each.arg == "default"), None)
        if words and isinstance(words[0], str):
            value = words[1] if default is None and len(words) > 1 and name != "add_argument" else default
            self.names[words[0].lstrip("-").replace("-", "_")] = value if value is not None else _UNKNOWN
        return _UNKNOWN

    def layer(self, name: str, positional: list[Any], named: dict[str, Any], node: ast.Call) -> _Layer:
        config = dict(zip(ARGUMENTS[name], positional, strict=False)) | named
        layer = _Layer(name, config, node)
        sizes = config.get("input_dim"), config.get("output_dim")
        if name == "Embedding" and all(isinstance(size, int) for size in sizes):
            self.add(node, Role.TABLE, sizes)
        return layer

    def input(self, name: str, positional: list[Any], named: dict[str, Any]) -> _Value:
        shape = named.get("shape") or named.get("input_shape") or (positional[-1] if positional else None)
        if shape is None and "batch_shape" in named:
            shape, name = named["batch_shape"], "placeholder"
        if not isinstance(shape, tuple):
            return _UNKNOWN
        sides = tuple(side if isinstance(side, int) and side > 0 else None for side in shape)
        return _Value(sides if name == "placeholder" else (None, *sides))

    def sequential(self, layers: Any, node: ast.Call) -> list[Any]:
        state: list[Any] = [_UNKNOWN]
        for layer in layers if isinstance(layers, tuple) else ():
            state = [self.apply(state, layer, node)]
        return state

    def apply(self, layer: Any, value: Any, node: ast.Call) -> Any:
        """What a layer makes of a value; a list is a net, which takes a layer or a value as its next."""
        if isinstance(layer, list):
            if isinstance(value, _Layer):
                return self.apply(value, layer[0] if layer else _UNKNOWN, node)
            if isinstance(value, list):
                value = value[0]
            if isinstance(value, _Value) and layer == [_UNKNOWN]:
                return value
            return layer[0] if layer else _UNKNOWN
        if not isinstance(layer, _Layer):
            return _UNKNOWN
        if isinstance(value, list):
            value = value[0]
        if not isinstance(value, _Value):
            value = _UNKNOWN
        return self.of_layer(layer, value)

    def of_layer(self, layer: _Layer, value: _Value) -> _Value:
        """What a layer makes; its weights are noted."""
        shape = value.shape
        if shape is None and isinstance(stated := layer.config.get("input_shape"), tuple):
            shape = (None, *(side if isinstance(side, int) else None for side in stated))
        if shape is None and "2D" in layer.class_name and self.image:
            shape = (None, *self.image, None)
        if shape is None or any(isinstance(layer.config.get(name), _Value) for name in SIZED):
            return _UNKNOWN
        config = {
            name: as_saved(each)
            for name, each in layer.config.items()
            if not isinstance(each, _Value | _Layer | list) and name in READ
        }
        opened = shape[-1] is None and "Conv" in layer.class_name
        asked = (*shape[:-1], 1) if opened else shape
        spec = LayerSpec("", layer.class_name, config)
        try:
            specs = describe(LayerCall(spec, (TensorType(asked, "float32"),)))
        except UnsupportedLayer:
            return _UNKNOWN
        out = specs.outputs[0].shape if specs.outputs else None
        if not opened:
            for weight in specs.weights:
                role = Role.DENSE if layer.class_name == "Dense" else Role.WEIGHT
                if layer.class_name != "Embedding" and len(weight.shape) > 1:
                    self.add(layer.node, role, weight.shape, value.flattened)
        if layer.class_name == "Flatten" and all(shape[1:]) and len(shape) > 2:
            return _Value(out, tuple(side for side in shape[1:] if side))
        return _Value(out, value.flattened if out == shape else ())

    def variable(self, name: str, positional: list[Any], named: dict[str, Any], node: ast.Call) -> None:
        shape: Any = named.get("shape")
        if name == "get_variable" and shape is None and len(positional) > 1:
            shape = positional[1]
        elif name == "Variable" and positional:
            shape = positional[0].shape if isinstance(positional[0], _Value) else None
        elif name == "Linear" and len(positional) > 1:
            shape = tuple(positional[:2])
        elif name == "Embed":
            sizes = [*positional, named.get("num_embeddings"), named.get("features")]
            shape = tuple(size for size in sizes if isinstance(size, int))[:2]
            shape = shape if len(shape) == 2 else None
        if known := known_sizes(shape):
            tall = len(known) == 2 and known[0] >= 16 * known[1] and name != "Linear"
            self.add(node, Role.TABLE if name == "Embed" or tall else Role.WEIGHT, known)

    def note_array(self, node: ast.Assign, value: Any) -> None:
        """An array whose shape a comment behind it tells: `X = np.load(f)   # (50000, 224, 224, 3) uint8`."""
        if self.statement is None or not isinstance(node.value, ast.Call):
            return
        line, function = self.statement.line_of(node), dotted(node.value.func)
        match = _TOLD_SHAPE.search(line.text) if function.rpartition(".")[2] in _LOADS else None
        if match:
            sizes = tuple(int(size.replace("_", "")) for size in match["sizes"].split(","))
            self.add(node.value, Role.DATA, sizes, dtype=match["dtype"] or "float32")
        elif function.endswith((".zeros", ".ones")) and isinstance(value, _Value):
            self.add(node.value, Role.DATA, value.shape or ())

    def add(
        self,
        node: ast.AST,
        role: Role,
        shape: Sequence[Any],
        flattened: tuple[int, ...] = (),
        dtype: str = "float32",
    ) -> None:
        if self.statement is None or not (sizes := known_sizes(tuple(shape))) or min(sizes) < 1:
            return
        self.made.append(
            Made(_shortened(ast.unparse(node)), role, sizes, self.statement.line_of(node), dtype, flattened)
        )


class _Enough(Exception):
    """The statement is too long to follow."""
