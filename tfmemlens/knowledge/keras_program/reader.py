"""Follows programs that make Keras layers: what their calls give, on top of the rules for layers and ops."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tfmemlens.knowledge.keras_layers import LayerSpecs
from tfmemlens.knowledge.keras_program import arrays, builtin, layers, ops
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
    bound,
    tensors_in,
)
from tfmemlens.knowledge.layer_calls import BACKBONES
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement
from tfmemlens.model.tensor import TensorType

_SCOPES = ("variable_scope", "name_scope")
_TRAINS, _WITH_LABELS = ("fit", "train_on_batch", "fit_generator"), 2
_FED = ("fit", "predict", "evaluate", "train_on_batch", "test_on_batch", "predict_on_batch", "fit_generator")
_OPS_OF = ("tf.", "tensorflow.", "keras.ops.", "keras.backend.", "ops.", "K.", "np.", "numpy.", "jnp.")
_THROUGH = ("function", "recompute_grad", "jit_compile", "wraps", "checkpoint")
"""Functions that give back a function that does the same."""
_MAPPED = ("map_fn", "vectorized_map")
_MODEL_FN, _PARAMS, _PAIR = " model_fn", " params", 2
"""No attribute of a program has a blank in its name."""
_ESTIMATES = ("train", "evaluate", "predict")
_FLAGS = ("add_argument", "DEFINE_integer", "setdefault")
_TOLD = (
    ast.Call,
    ast.List,
    ast.Tuple,
    ast.Dict,
    ast.ListComp,
    ast.DictComp,
    ast.BinOp,
    ast.Compare,
    ast.Subscript,
)
_NO_CALL = ast.Call(ast.Name("", ast.Load()), [], [])


class FollowedProgram:
    """A program with the statement of each of its calls and lists: found once, however often followed."""

    def __init__(self, program: Program) -> None:
        once = {
            (each.line.number, each.node.col_offset, tuple(line.text for line in each.lines)): each
            for each in reversed([*program])
        }
        self.statements = list(reversed(once.values()))
        """In their order; those of a file that was read twice once."""
        self._of_call: dict[int, Statement] = {
            id(node): statement
            for statement in self.statements
            for node in statement.nodes
            if isinstance(node, _TOLD)
        }

    def line_of(self, node: ast.expr) -> Line | None:
        """The line that a call or list of the program begins in."""
        statement = self._of_call.get(id(node))
        return statement.line_of(node) if statement else None


_LENGTHS = {"Embedding": "input_length", "Dense": "input_dim"}
"""How a first layer of a kind tells how many numbers a sample has."""


def _length_of(first: Layer) -> Any:
    return first.config.get(_LENGTHS.get(first.class_name, ""))


class ProgramReader(Interpreter):
    """Follows a program; who inherits it notes what it makes (`layer_made`, `layer_called`, `outside`)."""

    def __init__(self, source: FollowedProgram, open_sides: tuple[int, ...] | None = None) -> None:
        super().__init__()
        self.source = source
        self.open_sides = open_sides
        """Between batch and channels, of an input that the program leaves open; None where none is tried."""
        self.inside = 0
        """How many of the program's models call each other."""
        self.within: list[str] = []
        """The names of these, outermost first; empty of one that has none."""
        self.turn = 0
        """How often a model was called from outside of any."""
        self._losses: dict[int, tuple[Any, Any]] = {}
        """What `compile` was given as a loss, by the model's identity, with the model."""

    def layer_made(self, layer: Layer) -> None:
        """A layer was made."""

    def layer_called(self, layer: Layer, specs: LayerSpecs, positional: list[Any], named: Names) -> Any:
        """A layer was called; what its output is to be known as, where it is not just its type."""
        del layer, specs, positional, named

    def outside(self, path: str, positional: list[Any], named: Names, node: ast.Call) -> None:
        """Something was called that the program did not write."""

    def follow(self) -> None:
        """Follow the whole program, then what nothing in it calls."""
        try:
            for statement in self.source.statements:
                with suppress(Stopped):
                    self.body([statement.node])
            for value in list(self.frames[0].values()):
                with suppress(Stopped):
                    self.alone(value)
        except (TooLong, RecursionError):
            return

    def external(self, path: str, positional: list[Any], named: Names, node: ast.Call) -> Any:
        """The value of a call of TensorFlow, Keras, NumPy or Python itself."""
        name = path.rpartition(".")[2]
        self.outside(path, positional, named, node)
        if "." not in path and name in builtin.FUNCTIONS:
            return builtin.called(name, positional)
        if path == "map" and len(positional) == 2 and isinstance(positional[1], tuple | list):
            return [self.called(positional[0], [each], {}, node) for each in positional[1][:64]]
        if name in ("Input", "InputLayer", "placeholder"):
            return self._bound(layers.input_of(name, positional, named))
        if name == "add" and path.count(".") == 1 and positional and isinstance(positional[0], Layer):
            return self._begun(path.partition(".")[0], positional[0])
        if name == "Sequential":
            return self._sequential(positional[0] if positional else named.get("layers", ()), named)
        if name == "Model" and (len(positional) > 1 or "outputs" in named):
            ends = [*positional, UNKNOWN, UNKNOWN]
            name = named.get("name", positional[2] if len(positional) > 2 else "")
            inputs, outputs = named.get("inputs", ends[0]), named.get("outputs", ends[1])
            return Net([], inputs, outputs, name if isinstance(name, str) else "")
        if name in _SCOPES and positional and isinstance(positional[0], str):
            return Scope(positional[0])
        if name in BACKBONES:
            return _backbone(name, named)
        if name in _THROUGH and positional and isinstance(positional[0], Function):
            return positional[0]
        if name == "ArgumentParser":
            return Instance(None)
        if path in ("os.environ.get", "os.getenv", "environ.get", "getenv"):
            return positional[1] if len(positional) > 1 else UNKNOWN
        if path == "dict" and not positional:
            return dict(named)
        if path == "vars" and positional and isinstance(positional[0], Instance):
            return dict(positional[0].attributes)
        if name in ("SimpleNamespace", "Namespace") and not positional:
            return Instance(UserClass(name, {}), dict(named))
        if name in _FLAGS and "." in path:
            return self._flag(name, positional, named)
        if made := layers.made(path, positional, named, node):
            self.layer_made(made)
            return made
        if of_function := layers.of_function(path, positional, named, node):
            self.layer_made(of_function[0])
            return self.applied(of_function[0], [of_function[1]], {})
        if path in ("tf.nn.conv2d", "tensorflow.nn.conv2d"):
            return self._convolved(positional, named, node)
        if name in _POOLS and path.startswith(("tf.nn.", "tensorflow.nn.")):
            return self._pooled(name, positional, named, node)
        if name in ops.CELLS and "keras" not in path:
            return ops.cell_of(name, positional, named)
        if name in ("dynamic_rnn", "static_rnn"):
            return ops.ran_through_cell(positional, named)
        if name in _MAPPED and positional and isinstance(positional[0], Function):
            return self._mapped(positional[0], positional[1] if len(positional) > 1 else named.get("elems"))
        if name == "Estimator":
            return _estimator(positional, named)
        if name == "reshape" and path.startswith(_OPS_OF) and not tensors_in(positional[:1]):
            return arrays.tensor(_open_of(positional[1] if len(positional) > 1 else named.get("shape")))
        array = arrays.made(path, positional, named)
        if array is not UNKNOWN:
            return self._bound(array) if name in ("TensorSpec", "from_generator") else array
        if path.startswith(_OPS_OF) and tensors_in([positional, list(named.values())]):
            made = ops.made_by(path, positional, named)
            return layers.operation(name, positional, named) if made is UNKNOWN else made
        return UNKNOWN

    def _mapped(self, function: Function, given: Any) -> Any:
        """`tf.map_fn(fn, elems)` and `vectorized_map`: the function once, for a row."""
        values = list(given) if isinstance(given, tuple | list) else [given]
        first = next((each.shape[0] for each in tensors_in(values) if each.shape), None)
        rows = ops.each_row(values)
        made = self.run(function, [tuple(rows)] if isinstance(given, tuple | list) else rows, {})
        return ops.of_rows(made, first)

    def _estimates(self, estimator: Instance, positional: list[Any], named: Names) -> Any:
        """`train(input_fn)` of an Estimator: its model function, with what the input function gives."""
        model_fn = estimator.attributes[_MODEL_FN]
        input_fn = positional[0] if positional else named.get("input_fn", UNKNOWN)
        if not isinstance(model_fn, Function) or id(model_fn.node) in self.followed:
            return UNKNOWN
        given = self.called(input_fn, [], {}, _NO_CALL)
        element = given.element if isinstance(given, DataSet) else given
        pair = tuple(element) if isinstance(element, tuple | list) and len(element) == _PAIR else None
        features, labels = pair or (element, UNKNOWN)
        names = {each.arg for each in (*model_fn.node.args.args, *model_fn.node.args.kwonlyargs)}
        known = {"features": features, "labels": labels, "params": estimator.attributes[_PARAMS]}
        return self.run(model_fn, [], {name: each for name, each in known.items() if name in names})

    def alone(self, value: Any) -> None:
        """Follow a function or net that nothing calls, or a class that nothing makes, as a quoted piece
        has them: what it is given is not known, but for sizes that the piece calls by the same name.
        """
        if isinstance(value, Function) and id(value.node) not in self.followed:
            given = value.node.args
            names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
            same = {name: self.frames[0][name] for name in names if isinstance(self.frames[0].get(name), int)}
            defaults = [each.arg for each in given.args[len(given.args) - len(given.defaults) :]]
            self.run(value, [], {name: size for name, size in same.items() if name not in defaults})
        elif isinstance(value, UserClass) and self._is_never_made(value):
            self._made_alone(value)
        elif isinstance(value, Net) and value.outputs is None and value.layers:
            self._through(value, [UNKNOWN])

    def _made_alone(self, made: UserClass) -> None:
        instance = self.instance(made, [], {})
        self.called_instance(instance, [UNKNOWN], {})
        for member in made.members.values():
            if isinstance(member, Function) and id(member.node) not in self.followed:
                with suppress(Stopped):
                    self.run(bound(member, instance, made), [], {})

    def _is_never_made(self, made: UserClass) -> bool:
        methods = [member for name in ("call", "__init__") if (member := made.member(name))]
        trees = [member.node for member, _ in methods if isinstance(member, Function)]
        return bool(trees) and not any(id(tree) in self.followed for tree in trees)

    def operation(self, name: str, positional: list[Any]) -> Any:
        """What an arithmetic op makes of tensors."""
        return layers.operation(name, positional, {})

    def called_instance(self, model: Instance, positional: list[Any], named: Names) -> Any:
        """A model of the program, called with an input of the sides that are tried, if it is given none."""
        with self._entered():
            self.within.append(model.name)
            try:
                return super().called_instance(model, self._given(positional), named)
            finally:
                self.within.pop()

    @contextmanager
    def _entered(self) -> Iterator[None]:
        """A model is called."""
        self.turn += not self.inside
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1

    def _given(self, positional: list[Any]) -> list[Any]:
        """What a model is called with: an input of the sides that are tried, where nothing tells of it."""
        tried = self.open_sides is not None and self.inside <= 1
        is_open = tried and positional and not tensors_in(positional[:1])
        return [self._open_input(), *positional[1:]] if is_open else positional

    def _open_input(self) -> TensorType:
        return TensorType((None, *(self.open_sides or ()), None), "float32")

    def _bound(self, value: Any) -> Any:
        """The same with the sides that are tried in the place of open ones."""
        if not isinstance(value, TensorType) or not self.open_sides or not value.shape:
            return value
        sides = list(self.open_sides)
        shape = [value.shape[0]]
        for at, each in enumerate(value.shape[1:], 1):
            shape.append(sides[min(at, len(sides)) - 1] if each is None else each)
        return TensorType(tuple(shape), value.dtype)

    def method(self, value: Any, name: str, positional: list[Any], named: Names) -> Any:
        """What a method of a tensor, a data set, a model or a value of Python's gives."""
        if isinstance(value, Instance) and _MODEL_FN in value.attributes:
            return self._estimates(value, positional, named) if name in _ESTIMATES else UNKNOWN
        if isinstance(value, Instance) and value.of is None:
            return _of_parser(value, name, positional, named)
        if isinstance(value, DataSet):
            if name == "map" and positional and isinstance(positional[0], Function):
                element = value.element
                given = list(element) if isinstance(element, tuple | list) else [element]
                return DataSet(self.run(positional[0], given, {}))
            made = arrays.of_set(value, name)
            return DataSet(arrays.each_of(made.element, self._bound)) if isinstance(made, DataSet) else made
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
            labels = positional[1] if len(positional) > 1 else named.get("y", UNKNOWN)
            return self._fed(value, given, labels if name in _TRAINS else None)
        if isinstance(value, Net | Instance) and name == "compile":
            loss = named.get("loss", positional[1] if len(positional) > 1 else UNKNOWN)
            self._losses[id(value)] = value, loss
        if name == "__init__":
            return None
        if name == "add_weight" and isinstance(value, Instance):
            sizes = next((each for each in positional if isinstance(each, tuple | list)), UNKNOWN)
            return arrays.tensor(named.get("shape", sizes))
        return builtin.method(value, name, positional)

    def applied(self, layer: Layer | Net, positional: list[Any], named: Names) -> Any:
        """What a layer or net makes of what it is given."""
        if isinstance(layer, Net):
            return self._through(layer, positional)
        specs = layers.specs_of(layer, positional, named)
        known = self.layer_called(layer, specs, positional, named)
        if known is not None:
            return known
        if layer.class_name in layers.CELLS and specs.outputs:
            return (specs.outputs[0], [specs.outputs[0]] * layers.CELLS[layer.class_name])
        return specs.outputs[0] if len(specs.outputs) == 1 else specs.outputs or UNKNOWN

    def _sequential(self, given: Any, named: Names) -> Net:
        name = named.get("name")
        net = Net(
            list(given) if isinstance(given, tuple | list) else [], name=name if isinstance(name, str) else ""
        )
        self._build(net)
        return net

    def _begun(self, name: str, layer: Layer) -> None:
        """`model.add(Conv2D(...))` of a model that a quoted piece does not make: a Sequential one that begins
        there.
        """
        self.frames[-1][name] = self._sequential([layer], {})

    def _build(self, net: Net) -> None:
        """Follow the layers from the input that the first one states, once it is known."""
        first = net.layers[0] if net.layers else None
        rest = net.layers[1:]
        if isinstance(first, Net) and first.outputs is not None:
            value = first.outputs
        elif isinstance(first, TensorType):
            value = first
        elif isinstance(first, Layer) and any(
            f"{kind}shape" in first.config for kind in ("input_", "batch_input_")
        ):
            value = self._bound(layers.input_of("Input", [], dict(first.config)))
            rest = net.layers
        elif isinstance(first, Layer) and isinstance(
            length := first.config.get(_LENGTHS.get(first.class_name, "")), int
        ):
            value = self._bound(layers.input_of("Input", [length], {}))
            rest = net.layers
        else:
            return
        net.inputs = value
        for layer in rest:
            value = self.called(layer, [value], {}, _NO_CALL)
        net.outputs = value

    def _through(self, net: Net, given: list[Any]) -> Any:
        """A net that was built gives what it gives; another is followed with what it is called with."""
        if net.outputs is not None:
            return net.outputs
        with self._entered():
            given = self._given(given)
        value = given[0] if given else UNKNOWN
        for layer in net.layers:
            value = self.called(layer, [value], {}, _NO_CALL)
        return value

    def _fed(self, model: Any, given: Any, labels: Any = None) -> Any:
        """`fit` and the like call the model with one batch of what they are given; who trains, the program's
        own loss with what comes out. `labels` are None where nothing trains.
        """
        labels = None if labels is None else arrays.each_of(labels, arrays.open_batch)
        if isinstance(given, DataSet):
            pair = given.element if isinstance(given.element, tuple) else ()
            element = pair[0] if pair else given.element
            labels = labels if labels is None or len(pair) < _WITH_LABELS else pair[1]
        elif isinstance(given, Instance):
            element = arrays.each_of(self._batch_of(given), arrays.open_batch)
        else:
            element = arrays.each_of(given, arrays.open_batch)
        built = isinstance(model, Net) and model.outputs is not None
        made = model.outputs if built else self.called(model, [element], {}, _NO_CALL)
        if labels is not None:
            self._lost(self._losses.get(id(model), (model, None))[1], labels, made)
        return UNKNOWN

    def _lost(self, loss: Any, labels: Any, made: Any) -> None:
        """The loss of one batch, where the program writes it: a function, or `call` of a class."""
        if isinstance(loss, Instance) and loss.of is not None:
            member = loss.of.member("call")
            loss = bound(member[0], loss, member[1]) if member and isinstance(member[0], Function) else None
        made = made[0] if isinstance(made, list | tuple) and len(made) == 1 else made
        if isinstance(loss, Function) and isinstance(made, TensorType):
            self.run(loss, [labels, made], {})

    def _batch_of(self, given: Instance) -> Any:
        """The inputs of one batch of a Sequence or PyDataset that the program writes: what an index gives."""
        member = given.of.member("__getitem__") if given.of else None
        if member is None or not isinstance(member[0], Function):
            return UNKNOWN
        batch = self.run(bound(member[0], given, member[1]), [UNKNOWN], {})
        return batch[0] if isinstance(batch, tuple | list) and batch else UNKNOWN

    def _flag(self, name: str, positional: list[Any], named: Names) -> Any:
        """`add_argument('--vocab', default=50000)` of a parser that the piece does not show."""
        words = [each for each in positional if isinstance(each, str)]
        default = named.get("default")
        if default is None and len(positional) > 1 and name != "add_argument":
            default = positional[1]
        if words:
            key = words[0].lstrip("-").replace("-", "_")
            self.frames[0][key] = UNKNOWN if default is None else default
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

    def _pooled(self, name: str, positional: list[Any], named: Names, node: ast.Call) -> Any:
        """`tf.nn.max_pool2d(x, ksize, strides, padding)`."""
        told = dict(zip(("input", "ksize", "strides", "padding"), positional, strict=False)) | named
        size, strides = (_inner(told.get(each)) for each in ("ksize", "strides"))
        config = {"pool_size": size, "strides": strides, "padding": told.get("padding", "VALID")}
        return self.applied(Layer(_POOLS[name], config, node), [told.get("input", UNKNOWN)], {})


_POOLS = {
    "max_pool2d": "MaxPooling2D",
    "avg_pool2d": "AveragePooling2D",
    "max_pool": "MaxPooling2D",
    "avg_pool": "AveragePooling2D",
}


def _inner(value: Any) -> Any:
    """The two sides of `[1, 2, 2, 1]`."""
    return tuple(value[1:3]) if isinstance(value, tuple | list) and len(value) == 4 else value


def _estimator(given: list[Any], named: Names) -> Instance:
    """A `tf.estimator.Estimator` by its model function."""
    model_fn = given[0] if given else named.get("model_fn", UNKNOWN)
    params = named.get("params", UNKNOWN)
    return Instance(None, {_MODEL_FN: model_fn, _PARAMS: params})


def _open_of(sizes: Any) -> Any:
    """A shape that is written for what nobody knows: -1 and what is not known are open."""
    if not isinstance(sizes, tuple | list) or len(sizes) < _PAIR:
        return UNKNOWN
    return tuple(UNKNOWN if each == -1 else each for each in sizes)


def _shape_of(name: str, given: list[Any]) -> list[Any]:
    """`x.reshape(2, 3)` is `x.reshape((2, 3))`."""
    return [list(given)] if name in ("reshape", "transpose") and len(given) > 1 else given


def _backbone(name: str, named: Names) -> Any:
    """A net of `keras.applications` without its top: channels at a thirty-second of the sides."""
    shape = named.get("input_shape")
    known = isinstance(shape, tuple) and len(shape) == 3 and all(isinstance(side, int) for side in shape)
    if not known or named.get("include_top") is not False or not isinstance(shape, tuple):
        return UNKNOWN
    odd = shape[0] % 32 or shape[1] % 32
    if odd and not name.startswith("VGG"):
        return UNKNOWN
    low = (shape[0] // 32, shape[1] // 32, BACKBONES[name])
    made = (None, *(low[2:] if named.get("pooling") else low))
    return Net([], TensorType((None, *shape), "float32"), TensorType(made, "float32"))


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
