"""The models and variables that live in this process: names as their user gave them, shapes and bytes."""

import re
import sys
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from . import python_names
from .living import objects

KEY = "tfmemlens_model"
MAX_MODELS = 8
MAX_LAYERS = 20_000
MAX_VARIABLES = 50_000
_VARIABLES = ("ResourceVariable", "RefVariable", "Variable", "VariableV1")
_NO_LAYERS = {"Metric", "Loss", "InputLayer"}
"""Layers to Keras, and to nobody else."""
_FRAMEWORKS = ("tensorflow", "keras", "tf_keras")
_UNNAMED = re.compile(r"Variable(?:_\d+)?(?::\d+)?\Z")
MAX_DESCRIPTION = 1 << 20
"""Letters of the JSON in which Keras describes a model."""


class VariableRows:
    """Variables, each once, though Keras 3 wraps TensorFlow's."""

    def __init__(self) -> None:
        self.all: List[Dict[str, Any]] = []
        self._seen: Set[int] = set()

    def known(self, variable: Any) -> bool:
        """Whether it has a row."""
        return id(variable) in self._seen or id(getattr(variable, "_value", None)) in self._seen

    def add(self, variable: Any, row: Dict[str, Any]) -> None:
        """Its row."""
        inner = getattr(variable, "_value", None)
        self._seen.update([id(variable)] if inner is None else [id(variable), id(inner)])
        self.all.append(row)


def describe(
    models: Optional[List[Any]] = None, running: Sequence[Any] = (), whole: bool = False
) -> Dict[str, Any]:
    """These models, or all that live: layers with their paths, variables with the layer that they belong to.
    `models` is empty where there is none; layers that are in no model, and a program without Keras, have one
    of their own. `running` are objects whose methods a failure came through, the innermost first: the first
    that is a layer is the one that failed. With `whole`, also Keras's own description of the largest model.
    """
    living, loose, layers = _living() if models is None else (list(models), [], [])
    rows, places = VariableRows(), {}  # type: VariableRows, Dict[int, str]
    outermost = _outermost(living)
    alike = _alike(outermost)
    outermost = _running_first(outermost, running)[:MAX_MODELS]
    described = [_model(model, rows, places) for model in outermost]
    if whole and outermost:
        described[0]["description"] = description(outermost[0])
    alone = [layer for layer in layers if id(layer) not in places and getattr(layer, "built", False)]
    if alone:
        described.append(_alone(_outermost(alone, least=0), rows, places))
    for model in living:
        _slots(getattr(model, "optimizer", None), rows)
    for optimizer in _optimizers(loose):
        _slots(optimizer, rows)
    scopes = _scopes_of_modules() if loose else {}
    unnamed = [each for each in loose if id(each) not in scopes and _is_unnamed(each)]
    scopes.update(python_names.of(unnamed) if unnamed else {})
    for variable in loose[:MAX_VARIABLES]:
        _add(variable, rows, scopes.get(id(variable)), "other")
    if rows.all and not described:
        described = [{"name": "program", "class": None, "layers": []}]
    failed = next(filter(None, (_path(each, places) for each in running)), None)
    told = {KEY: 1, "models": described, "variables": rows.all[:MAX_VARIABLES]}
    if alike > 1:
        told["alike"] = alike
    return told if failed is None else dict(told, failed_in=failed)


def _alike(models: List[Any]) -> int:
    """How many of them have the same layers and weights: an ensemble, or what a loop makes anew."""
    counts: Dict[Any, int] = {}
    for model in models:
        shapes = tuple(tuple(_shape(each) or ()) for each in _own_variables(model))
        if shapes:
            kind = type(model).__name__, tuple(type(part).__name__ for _, part in _walk(model)), shapes
            counts[kind] = counts.get(kind, 0) + 1
    return max(counts.values(), default=0)


def _running_first(models: List[Any], running: Sequence[Any]) -> List[Any]:
    """The same, where they are too many for all to be told with those first that a failure came through."""
    if len(models) <= MAX_MODELS:
        return models
    now = {id(each) for each in running}
    return sorted(models, key=lambda model: id(model) not in now)


def description(model: Any) -> Optional[str]:
    """A model in Keras's JSON; None where a class of the program's own takes part, whose code would run,
    where Keras makes none, and where it is long.
    """
    parts = [type(part) for _, part in _walk(model)]
    if not all((kind.__module__ or "").split(".")[0] in _FRAMEWORKS for kind in parts):
        return None
    if any(kind.__name__ == "Lambda" for kind in parts):
        return None  # it would hold the function's code
    try:
        text = str(model.to_json())
    except Exception:  # of somebody else's objects; a model without it has none
        return None
    return text if len(text) <= MAX_DESCRIPTION else None


def _path(each: Any, places: Dict[int, str]) -> Optional[str]:
    """The path of a layer whose method runs; one that is being made is in no model yet, and has a name."""
    known = places.get(id(each))
    if known is None and _kind(type(each)) == "layer":
        known = str(getattr(each, "name", "")) or None
    return known


def _living() -> Tuple[List[Any], List[Any], List[Any]]:
    """Keras models, all variables of TensorFlow, and Keras layers."""
    found: Dict[str, List[Any]] = {"model": [], "variable": [], "layer": []}
    kinds: Dict[type, str] = {}
    for each in objects(_kind):
        kind = type(each)
        if kind not in kinds:
            kinds[kind] = _kind(kind)
        found[kinds[kind]].append(each)
    return found["model"], found["variable"], found["layer"][:MAX_LAYERS]


def _kind(kind: type) -> str:
    try:
        bases = [(base.__name__, (base.__module__ or "").split(".")[0]) for base in kind.__mro__]
    except Exception:
        return ""
    if any(name in _VARIABLES and root.startswith("tensorflow") for name, root in bases):
        return "variable"
    if any(name in ("Model", "Network") and root.startswith(_FRAMEWORKS) for name, root in bases):
        return "model"
    names = [name for name, root in bases if root.startswith(_FRAMEWORKS)]
    return "layer" if "Layer" in names and not _NO_LAYERS.intersection(names) else ""


def _scopes_of_modules() -> Dict[int, str]:
    """The scopes of the `tf.Module`s that hold variables themselves, or in a list or a dictionary. In eager
    execution all modules of a class have one scope: these are told by the attribute that holds them.
    """
    modules = objects(_is_module)
    own = {id(module): _own_scope(module) for module in modules}
    alike = [module for module in modules if own[id(module)] and _count(own[id(module)], own) > 1]
    if alike:
        own.update(_paths_of_modules(modules, alike))
    scopes: Dict[int, str] = {}
    for module in modules:
        for _, value in python_names.attributes(module) if own[id(module)] else ():
            scopes.setdefault(id(value), own[id(module)])
    return scopes


def _own_scope(module: Any) -> str:
    return str(getattr(getattr(module, "name_scope", None), "name", "") or "").strip("/")


def _count(scope: str, own: Dict[int, str]) -> int:
    return list(own.values()).count(scope)


def _paths_of_modules(modules: List[Any], alike: List[Any]) -> Dict[int, str]:
    """`blocks[2]` or `decoder.head` below the outermost module; one that is in no other by its variable."""
    parents: Dict[int, Tuple[int, str]] = {}
    known = {id(module) for module in modules}
    for module in modules:
        for name, value in python_names.attributes(module):
            if id(value) in known and value is not module:
                parents.setdefault(id(value), (id(module), name))
    names = python_names.of([module for module in alike if id(module) not in parents])
    told = {}
    for module in alike:
        path: List[str] = []
        at = id(module)
        while at in parents and len(path) < 8:
            at, name = parents[at]
            path.append(name)
        if path or at in names:
            told[id(module)] = ".".join(reversed(path)) or names[at]
    return told


def _is_module(kind: type) -> bool:
    """A class of `tf.Module`s that are no layers of Keras's and none of TensorFlow's own."""
    names = [base.__name__ for base in kind.__mro__ if str(base.__module__).startswith("tensorflow")]
    own = str(kind.__module__).split(".")[0] in _FRAMEWORKS
    return "Module" in names and not own and _kind(kind) == ""


def _is_unnamed(variable: Any) -> bool:
    """Whether nobody named it, and no op of a graph has its name."""
    return getattr(variable, "_in_graph_mode", True) is False and bool(
        _UNNAMED.match(str(getattr(variable, "name", "")))
    )


def _optimizers(loose: List[Any]) -> List[Any]:
    """Keras's optimizers of a training loop of one's own."""
    return [each for each in objects(_is_optimizer) if not isinstance(each, type)] if loose else []


def _is_optimizer(kind: type) -> bool:
    return any(
        base.__name__ in ("Optimizer", "OptimizerV2", "BaseOptimizer")
        and (base.__module__ or "").startswith(_FRAMEWORKS)
        for base in kind.__mro__
    )


def _outermost(models: List[Any], least: int = 1) -> List[Any]:
    """Models that are no part of another and have so many layers, the largest first. Of two with the same
    layers (a Sequential model has a functional one inside) the first is kept.
    """
    parts = [({id(part) for _, part in _walk(model) if part is not model}, model) for model in models]
    kept: List[Tuple[Set[int], Any]] = []
    for own, model in sorted(parts, key=lambda pair: (-len(pair[0]), type(pair[1]).__name__ == "Functional")):
        if len(own) < least or any(id(model) in other or (own and own <= other) for other, _ in kept):
            continue
        kept.append((own, model))
    return [model for _, model in kept]


def _alone(layers: List[Any], rows: VariableRows, places: Dict[int, str]) -> Dict[str, Any]:
    """Layers that a program calls itself, with what is inside, as a model without a name."""
    told: List[Dict[str, Any]] = []
    for layer in layers:
        inside = _model(layer, rows, places, str(layer.name))
        told.append(_layer(str(layer.name), layer))
        told += inside["layers"]
    return {"name": "program", "class": None, "optimizer": None, "layers": told[:MAX_LAYERS]}


def _model(model: Any, rows: VariableRows, places: Dict[int, str], root: str = "") -> Dict[str, Any]:
    layers: List[Dict[str, Any]] = []
    for path, layer in _walk(model, root):
        places.setdefault(id(layer), path)
        if layer is not model:
            layers.append(_layer(path, layer))
    for path, layer in reversed(
        list(_walk(model, root))
    ):  # what is inside first: a variable belongs to one layer
        for variable in _own_variables(layer):
            _add(variable, rows, path or None, "parameter")
    optimizer = getattr(model, "optimizer", None)
    return {
        "name": str(getattr(model, "name", type(model).__name__)),
        "class": type(model).__name__,
        "optimizer": type(optimizer).__name__ if optimizer is not None else None,
        "layers": layers,
    }


def _layer(path: str, layer: Any) -> Dict[str, Any]:
    """What is told of a layer; of one that was not called yet the shape of the weight that it then makes."""
    told: Dict[str, Any] = {"path": path, "class": type(layer).__name__, "outputs": _outputs(layer)}
    known = vars(layer)
    sizes = [known.get(name) for name in ("input_dim", "output_dim", "units")]
    if not getattr(layer, "built", True) and isinstance(sizes[1] or sizes[2], int):
        told["makes"] = sizes[:2] if sizes[1] else [None, sizes[2]]
    return told


def _walk(model: Any, root: str = "") -> Iterator[Tuple[str, Any]]:
    """A model and its layers with their paths below it, in their order, each once."""
    seen: Set[int] = set()
    waiting = [(root, model)]
    while waiting and len(seen) < MAX_LAYERS:
        path, layer = waiting.pop(0)
        if id(layer) in seen:
            continue
        seen.add(id(layer))
        yield path, layer
        waiting += [("%s/%s" % (path, part.name) if path else str(part.name), part) for part in _parts(layer)]


def _parts(layer: Any) -> List[Any]:
    """The layers directly in a layer, as this Keras tells them."""
    flat = getattr(layer, "_flatten_layers", None)
    try:
        parts = list(flat(include_self=False, recursive=False)) if flat else []
    except TypeError:
        parts = []
    parts = parts or list(getattr(layer, "_layers", None) or ())
    return [part for part in parts if hasattr(part, "name") and hasattr(part, "weights")]


def _own_variables(layer: Any) -> List[Any]:
    try:
        return list(layer.weights)
    except Exception:  # a layer that was never built, in some versions
        return []


def _add(variable: Any, rows: VariableRows, layer: Optional[str], kind: str) -> Optional[Dict[str, Any]]:
    """The new row of a variable, None where it has one; Keras 3 wraps TensorFlow's."""
    if rows.known(variable):
        return None
    shape, dtype = _shape(variable), _dtype(variable)
    if shape is None or dtype is None:
        return None
    row = {
        "name": str(getattr(variable, "path", None) or getattr(variable, "name", "")).split(":")[0],
        "layer": layer,
        "kind": kind,
        "shape": shape,
        "dtype": dtype[0],
        "bytes": _product(shape) * dtype[1],
        "device": _device(variable),
    }
    if None in shape:
        row["now"] = _shape_now(variable)
    rows.add(variable, row)
    return row


def _slots(optimizer: Any, rows: VariableRows) -> None:
    """An optimizer's variables; each with the layer of the weight whose name and shape it has."""
    own = getattr(optimizer, "variables", None)
    try:
        variables = list((own() if callable(own) else own) or ())
    except Exception:
        return
    weights = [row for row in rows.all if row["kind"] == "parameter"]
    for variable in variables:
        row = _add(variable, rows, None, "optimizer-slot")
        if row is not None:
            row["layer"] = _layer_of_slot(row, weights)


def _layer_of_slot(slot: Dict[str, Any], weights: List[Dict[str, Any]]) -> Optional[str]:
    name, best = slot["name"], None  # type: str, Optional[Dict[str, Any]]
    for weight in weights:
        if weight["shape"] != slot["shape"]:
            continue
        if weight["name"] in name or weight["name"].replace("/", "_") in name:
            if best is None or len(weight["name"]) > len(best["name"]):
                best = weight
    return best["layer"] if best else None


def _outputs(layer: Any) -> List[List[Any]]:
    """The types of what a layer of a functional model returns; [] where only a call tells."""
    try:
        outputs = layer.output
    except Exception:
        return []
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    types = [(_shape(each), _dtype(each)) for each in outputs]
    return [[shape, dtype[0]] for shape, dtype in types if shape is not None and dtype is not None]


def _shape(tensor: Any) -> Optional[List[Any]]:
    try:
        shape = tensor.shape
        return [
            None if size is None else int(size)
            for size in (shape.as_list() if hasattr(shape, "as_list") else shape)
        ]
    except Exception:
        return None


def _shape_now(variable: Any) -> Optional[List[int]]:
    """The shape of the value of a variable that may have several, in eager execution: the op reads none."""
    tensorflow = sys.modules.get("tensorflow")
    try:
        if tensorflow is None or not tensorflow.executing_eagerly():
            return None
        handle = getattr(variable, "_value", variable).handle
        return [int(size) for size in tensorflow.raw_ops.VariableShape(input=handle).numpy()]
    except Exception:  # one without a value, and where there is no byte left
        return None


def _device(variable: Any) -> str:
    """`CPU:0`, empty where it is not told: a graph's variable may be placed when it runs."""
    return str(getattr(getattr(variable, "_value", variable), "device", "") or "").rpartition("device:")[2]


def _dtype(tensor: Any) -> Optional[Tuple[str, int]]:
    """NumPy's name of a dtype, and the bytes of an element."""
    dtype = getattr(tensor, "dtype", None)
    name = str(getattr(dtype, "name", dtype)).replace("_ref", "")
    if name in ("resource", "variant", "string", "None"):
        return None
    sizes = {"bool": 1, "bfloat16": 2, "half": 2, "complex64": 8, "complex128": 16}
    digits = "".join(letter for letter in name if letter.isdigit())
    return name, sizes.get(name) or (max(int(digits) // 8, 1) if digits else 4)


def _product(shape: List[Any]) -> int:
    product = 1
    for size in shape:
        product *= size or 0
    return product
