"""What each layer of a program makes when it is called: shapes with an open batch, and where the layer is
made.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from tfmemlens.knowledge.keras_program import arrays, builtin, layers
from tfmemlens.knowledge.keras_program.expressions import TooLong
from tfmemlens.knowledge.keras_program.interpreter import Interpreter, Stopped
from tfmemlens.knowledge.keras_program.values import (
    UNKNOWN,
    DataSet,
    Function,
    Instance,
    Layer,
    Names,
    Net,
    Scope,
    UserClass,
    tensors_in,
)
from tfmemlens.knowledge.layer_calls import BACKBONES
from tfmemlens.model.line import Line
from tfmemlens.model.network import WeightSpec
from tfmemlens.model.program import Program, Statement
from tfmemlens.model.tensor import TensorType
from tfmemlens.values import dataclass

_SCOPES = ("variable_scope", "name_scope")
_VIEWS = frozenset(("Reshape", "Flatten", "InputLayer", "Identity", "ActivityRegularization", "Masking"))
"""Layers that make no tensor of their own."""
_FED = ("fit", "predict", "evaluate", "train_on_batch", "test_on_batch", "predict_on_batch", "fit_generator")
_OPS_OF = ("tf.", "tensorflow.", "keras.ops.", "keras.backend.", "ops.", "K.", "np.", "numpy.", "jnp.")
_THROUGH = ("function", "recompute_grad", "jit_compile", "wraps", "checkpoint")
"""Functions that give back a function that does the same."""
_MOST_OUTPUTS = 4000
_TIMES = (1, 2, 4, 8)
"""What an input's sides may be of those of a layer's output, or the reverse."""


@dataclass(frozen=True, slots=True)
class LayerOutput:
    """A tensor that a layer makes at each call with these sizes."""

    name: str
    """What the program calls the layer; empty where it gives it no name."""
    class_name: str
    shape: tuple[int | None, ...]
    """The batch is None."""
    dtype: str
    line: Line
    """Where the layer is made."""


@dataclass(frozen=True, slots=True)
class LayerWeight:
    """A weight that a layer owns once it is called."""

    code: str
    """The call that makes the layer, as the user wrote it."""
    class_name: str
    shape: tuple[int, ...]
    line: Line


def layer_outputs(program: Program, asked: Sequence[int | None] | None = None) -> tuple[LayerOutput, ...]:
    """All outputs of known size of the program's Keras layers, in the order of their calls. Nothing is run: a
    layer behind an open size, or behind a call that nothing tells of, is missing. Where the program leaves
    the sides of its input open, those are taken with which a layer makes a tensor of the shape `asked`, if
    any do.
    """
    found, has_layers = _followed(program, None)
    if (
        not has_layers
        or asked is None
        or not 2 <= len(asked) <= 5
        or any(fits(each, asked) for each in found)
    ):
        return found
    for side in _sides(asked):
        bound, _ = _followed(program, (len(asked), side))
        if any(fits(each, asked) and each.shape[-1] != 1 for each in bound):
            return bound
    return found


def layer_weights(program: Program) -> tuple[LayerWeight, ...]:
    """All weights of known size, of two dimensions and more, of the program's Keras layers that it calls."""
    return tuple(_read(program, None).weights.values())


def fits(output: LayerOutput, shape: Sequence[int | None]) -> bool:
    """Whether the layer makes a tensor of this shape at some batch."""
    return len(output.shape) == len(shape) and all(
        mine == theirs for mine, theirs in zip(output.shape[1:], shape[1:], strict=True)
    )


def _sides(asked: Sequence[int | None]) -> list[int]:
    """What the sides of an input may be, by those of a tensor that a layer makes of it."""
    inner = sorted({side for side in asked[1:-1] if side} or {1}, reverse=True)
    larger = [side * times for times in _TIMES for side in inner]
    smaller = [side // times for times in _TIMES[1:] for side in inner if side % times == 0]
    return larger + smaller


def _followed(program: Program, fed: tuple[int, int] | None) -> tuple[tuple[LayerOutput, ...], bool]:
    """The outputs, and whether the program makes layers at all."""
    reader = _read(program, fed)
    return tuple(reader.found.values()), reader.makes_layers


def _read(program: Program, fed: tuple[int, int] | None) -> _Reader:
    reader = _Reader(program, fed)
    try:
        for statement in _once(program):
            with suppress(Stopped):
                reader.body([statement.node])
        for value in list(reader.frames[0].values()):
            with suppress(Stopped):
                reader.alone(value)
    except (TooLong, RecursionError):
        pass
    return reader


def _once(program: Program) -> list[Statement]:
    """Its statements, a file that was read twice once."""
    told = {
        (each.line.number, tuple(line.text for line in each.lines)): each for each in reversed([*program])
    }
    return list(reversed(told.values()))


class _Reader(Interpreter):
    """Follows a program that makes layers, and notes what they make."""

    def __init__(self, program: Program, fed: tuple[int, int] | None) -> None:
        super().__init__()
        self.fed = fed
        """Rank and sides of an input that the program leaves open."""
        self.inside = 0
        """How many of the program's models call each other."""
        self.makes_layers = False
        self.weights: dict[tuple[int, str], LayerWeight] = {}
        self.found: dict[tuple[int, tuple[int | None, ...]], LayerOutput] = {}
        self.statements: dict[int, Statement] = {
            id(node): statement
            for statement in program
            for node in ast.walk(statement.node)
            if isinstance(node, ast.Call)
        }

    def external(self, path: str, positional: list[Any], named: Names, node: ast.Call) -> Any:
        name = path.rpartition(".")[2]
        if "." not in path and name in builtin.FUNCTIONS:
            return builtin.called(name, positional)
        if path == "map" and len(positional) == 2 and isinstance(positional[1], tuple | list):
            return [self.called(positional[0], [each], {}, node) for each in positional[1][:64]]
        if name in ("Input", "InputLayer", "placeholder"):
            return self._bound(layers.input_of(name, positional, named))
        if name == "Sequential":
            return self._sequential(positional[0] if positional else named.get("layers", ()), named)
        if name == "Model" and (len(positional) > 1 or "outputs" in named):
            ends = [*positional, UNKNOWN, UNKNOWN]
            name = named.get("name", positional[2] if len(positional) > 2 else "")
            inputs, outputs = named.get("inputs", ends[0]), named.get("outputs", ends[1])
            return Net([], inputs, outputs, name if isinstance(name, str) else "")
        if name in _SCOPES and positional and isinstance(positional[0], str):
            return Scope(positional[0])
        if name in BACKBONES and "applications" in path:
            return _backbone(name, named)
        if name in _THROUGH and positional and isinstance(positional[0], Function):
            return positional[0]
        if name == "ArgumentParser":
            return Instance(None)
        if made := layers.made(path, positional, named, node):
            self.makes_layers = True
            return made
        if of_function := layers.of_function(path, positional, named, node):
            self.makes_layers = True
            return self.applied(of_function[0], [of_function[1]], {})
        if path in ("tf.nn.conv2d", "tensorflow.nn.conv2d"):
            return self._convolved(positional, named, node)
        array = arrays.made(path, positional, named)
        if array is not UNKNOWN:
            return self._bound(array) if name in ("TensorSpec", "from_generator") else array
        if path.startswith(_OPS_OF) and tensors_in([positional, list(named.values())]):
            return layers.operation(name, positional, named)
        return UNKNOWN

    def alone(self, value: Any) -> None:
        """Follow a function that nothing calls, or a model or layer that nothing makes, as a quoted piece has
        them: what it is given is not known.
        """
        if isinstance(value, Function) and id(value.node) not in self.followed:
            self.run(value, [], {})
        elif isinstance(value, UserClass) and self._is_never_made(value):
            self.called_instance(self.instance(value, [], {}), [UNKNOWN], {})

    def _is_never_made(self, made: UserClass) -> bool:
        methods = [member for name in ("call", "__init__") if (member := made.member(name))]
        trees = [member.node for member, _ in methods if isinstance(member, Function)]
        return bool(trees) and not any(id(tree) in self.followed for tree in trees)

    def operation(self, name: str, positional: list[Any]) -> Any:
        return layers.operation(name, positional, {})

    def called_instance(self, model: Instance, positional: list[Any], named: Names) -> Any:
        self.inside += 1
        try:
            return super().called_instance(model, self._given(positional), named)
        finally:
            self.inside -= 1

    def _given(self, positional: list[Any]) -> list[Any]:
        """What a model is called with: an input of the sides that are tried, where nothing tells of it."""
        open_input = self.fed and self.inside <= 1 and positional and not tensors_in(positional[:1])
        return [self._open_input(), *positional[1:]] if open_input else positional

    def _open_input(self) -> TensorType:
        rank, side = self.fed or (2, 1)
        return TensorType((None, *([side] * (rank - 2)), 1), "float32")

    def _bound(self, value: Any) -> Any:
        """The same with the sides that are tried in the place of open ones."""
        if not isinstance(value, TensorType) or self.fed is None or not value.shape:
            return value
        side = self.fed[1]
        return TensorType(
            (value.shape[0], *(side if each is None else each for each in value.shape[1:])), value.dtype
        )

    def method(self, value: Any, name: str, positional: list[Any], named: Names) -> Any:
        if isinstance(value, Instance) and value.of is None:
            return _of_parser(value, name, positional, named)
        if isinstance(value, DataSet):
            if name == "map" and positional and isinstance(positional[0], Function):
                element = value.element
                given = list(element) if isinstance(element, tuple | list) else [element]
                return DataSet(self.run(positional[0], given, {}))
            return arrays.of_set(value, name)
        if isinstance(value, TensorType):
            made = arrays.of_tensor(value, name, positional)
            return (
                layers.operation(name, [value, *_shape_of(name, positional)], named)
                if made is UNKNOWN
                else made
            )
        if isinstance(value, Net) and name == "add" and positional:
            value.layers.append(positional[0])
            self._build(value)
            return None
        if isinstance(value, Net | Instance | Layer) and name in _FED:
            given = positional[0] if positional else named.get("x", UNKNOWN)
            return self._fed(value, given)
        if name == "__init__":
            return None
        return builtin.method(value, name, positional, named)

    def applied(self, layer: Layer | Net, positional: list[Any], named: Names) -> Any:
        if isinstance(layer, Net):
            return self._through(layer, positional)
        specs = layers.specs_of(layer, positional, named)
        made = specs.outputs
        self._note_weights(layer, specs.weights)
        if not made or not layers.known_sides(made):
            return made[0] if len(made) == 1 else UNKNOWN
        self._note(layer, made[0])
        if layer.class_name == "MultiHeadAttention":
            self._note_scores(layer, positional, named)
        return made[0] if len(made) == 1 else tuple(made)

    def _note(self, layer: Layer, made: TensorType) -> None:
        statement = self.statements.get(id(layer.node))
        if statement is None or made.shape is None or layer.class_name in _VIEWS:
            return
        key = id(layer), made.shape
        if len(self.found) < _MOST_OUTPUTS:
            name = layer.config.get("name")
            own = name if isinstance(name, str) else layer.attribute
            told = "/".join([*self.scopes, *([own] if own else [])])
            self.found[key] = LayerOutput(
                told, layer.class_name, made.shape, made.dtype or "float32", statement.line_of(layer.node)
            )
            self._kept.append(layer)

    def _note_weights(self, layer: Layer, weights: Sequence[WeightSpec]) -> None:
        statement = self.statements.get(id(layer.node))
        for each in weights:
            if statement is not None and len(each.shape) > 1 and len(self.weights) < _MOST_OUTPUTS:
                line = statement.line_of(layer.node)
                key = id(layer), each.name
                self.weights[key] = LayerWeight(ast.unparse(layer.node), layer.class_name, each.shape, line)
                self._kept.append(layer)

    def _note_scores(self, layer: Layer, positional: list[Any], named: Names) -> None:
        """The matrix of every position by every position, for each head."""
        read = tensors_in(
            [*positional, *[named[each] for each in ("query", "value", "key") if each in named]]
        )
        heads = layer.config.get("num_heads")
        if (
            len(read) < 2
            or not isinstance(heads, int)
            or any(len(each.shape or ()) != 3 for each in read[:2])
        ):
            return
        (batch, queries, _), (_, values, _) = ((each.shape or ())[:3] for each in read[:2])
        self._note(layer, TensorType((batch, heads, queries, values), read[0].dtype))

    @property
    def _kept(self) -> list[Layer]:
        """Layers that were noted stay alive, so that no other gets their identity."""
        return self.frames[0].setdefault(" kept", [])  # type: ignore[no-any-return]

    def _sequential(self, given: Any, named: Names) -> Net:
        name = named.get("name")
        net = Net(
            list(given) if isinstance(given, tuple | list) else [], name=name if isinstance(name, str) else ""
        )
        self._build(net)
        return net

    def _build(self, net: Net) -> None:
        """Follow the layers from the input that the first one states, once it is known."""
        first = net.layers[0] if net.layers else None
        if isinstance(first, TensorType):
            value: Any = first
        elif isinstance(first, Layer) and any(
            f"{kind}shape" in first.config for kind in ("input_", "batch_input_")
        ):
            value = self._bound(layers.input_of("Input", [], dict(first.config)))
        else:
            return
        net.inputs = value
        for layer in net.layers[1:] if isinstance(first, TensorType) else net.layers:
            value = self.called(layer, [value], {}, ast.Call(ast.Name("", ast.Load()), [], []))
        net.outputs = value

    def _through(self, net: Net, given: list[Any]) -> Any:
        """A net that was built gives what it gives; another is followed with what it is called with."""
        if net.outputs is not None:
            return net.outputs
        self.inside += 1
        given = self._given(given)
        self.inside -= 1
        value = given[0] if given else UNKNOWN
        for layer in net.layers:
            value = self.called(layer, [value], {}, ast.Call(ast.Name("", ast.Load()), [], []))
        return value

    def _fed(self, model: Any, given: Any) -> Any:
        """`fit` and the like call the model with one batch of what they are given."""
        if isinstance(given, DataSet):
            element = (
                given.element[0] if isinstance(given.element, tuple) and given.element else given.element
            )
        else:
            element = arrays.each_of(given, arrays.open_batch)
        if isinstance(model, Net) and model.outputs is not None:
            return UNKNOWN
        self.called(model, [element], {}, ast.Call(ast.Name("", ast.Load()), [], []))
        return UNKNOWN

    def _convolved(self, positional: list[Any], named: Names, node: ast.Call) -> Any:
        """`tf.nn.conv2d(x, filters, strides, padding)`, whose kernel states its sizes."""
        order = ("input", "filter", "strides", "padding")
        told = dict(zip(order, positional, strict=False)) | named
        kernel, strides = told.get("filter", told.get("filters")), told.get("strides")
        if not isinstance(kernel, TensorType) or not kernel.shape or len(kernel.shape) != 4:
            return UNKNOWN
        if isinstance(strides, tuple | list) and len(strides) == 4:
            strides = strides[1:3]
        config = {
            "filters": kernel.shape[-1],
            "kernel_size": kernel.shape[:2],
            "strides": strides or 1,
            "padding": told.get("padding", "SAME"),
            "name": named.get("name"),
        }
        return self.applied(Layer("Conv2D", config, node), [told.get("input", UNKNOWN)], {})


def _shape_of(name: str, given: list[Any]) -> list[Any]:
    """`x.reshape(2, 3)` is `x.reshape((2, 3))`."""
    return [list(given)] if name == "reshape" and len(given) > 1 else given


def _backbone(name: str, named: Names) -> Any:
    """A net of `keras.applications` without its top: channels at a thirty-second of the sides."""
    shape = named.get("input_shape")
    known = isinstance(shape, tuple) and len(shape) == 3 and all(isinstance(side, int) for side in shape)
    if not known or named.get("include_top") is not False or not isinstance(shape, tuple):
        return UNKNOWN
    low = (
        (None, BACKBONES[name])
        if named.get("pooling")
        else (None, shape[0] // 32, shape[1] // 32, BACKBONES[name])
    )
    return Net([], TensorType((None, *shape), "float32"), TensorType(low, "float32"))


def _of_parser(parser: Instance, name: str, positional: list[Any], named: Names) -> Any:
    """`argparse`: settings by their defaults."""
    if name == "add_argument":
        words = [each for each in positional if isinstance(each, str)]
        if words:
            long = next((each for each in words if each.startswith("--")), words[0])
            default = named.get("default", False if named.get("action") == "store_true" else None)
            parser.attributes[long.lstrip("-").replace("-", "_")] = UNKNOWN if default is None else default
        return UNKNOWN
    if name == "parse_args":
        return Instance(UserClass("Namespace", {}), parser.attributes)
    if name == "parse_known_args":
        return (Instance(UserClass("Namespace", {}), parser.attributes), [])
    return parser if name == "add_argument_group" else UNKNOWN
