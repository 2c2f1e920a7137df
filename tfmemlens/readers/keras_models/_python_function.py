"""`module:function`: ask a Python that has TensorFlow for the model that a function returns, in a process of
its own.
"""

from __future__ import annotations

import json
import os
from typing import Any

from tfmemlens.errors import UnreadableInput
from tfmemlens.model.network import LayerSpec, Network, WeightSpec
from tfmemlens.patterns import regex
from tfmemlens.readers.keras_models._documents import network_of_text
from tfmemlens.values import replace

_SPEC = regex(r"(?P<module>[A-Za-z_][\w.]*|[^:]+\.py):(?P<function>[A-Za-z_][\w.]*)\Z")
_MARK = "tfmemlens-model:"
_CHILD = r"""
import importlib, importlib.util, json, os, sys
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
module, function = sys.argv[1:3]
sys.path.insert(0, os.getcwd())
if module.endswith(".py"):
    sys.path.insert(0, os.path.dirname(os.path.abspath(module)))
    spec = importlib.util.spec_from_file_location("tfmemlens_model", module)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
else:
    loaded = importlib.import_module(module)
model = loaded
for part in function.split("."):
    model = getattr(model, part)
model = model() if callable(model) and not hasattr(model, "to_json") else model
answer = {}
optimizer = getattr(model, "optimizer", None)
if optimizer is not None:
    answer["optimizer"] = type(optimizer).__name__
try:
    answer["model"] = model.to_json()
    listed = "layers" in json.loads(answer["model"])["config"]
except (NotImplementedError, TypeError, KeyError):
    listed = False
if not listed:
    answer.pop("model", None)
    answer["layers"] = []
    for layer in model.layers:
        frozen = set(id(weight) for weight in layer.non_trainable_weights)
        weights = [
            [getattr(w, "path", w.name), [int(size) for size in w.shape], str(getattr(w, "dtype", "float32")),
             id(w) not in frozen]
            for w in layer.weights
        ]
        answer["layers"].append([layer.name, type(layer).__name__, weights])
print("\n" + sys.argv[3] + json.dumps(answer))
"""


def is_spec(text: str) -> bool:
    """Whether this names a function rather than a file."""
    return bool(_SPEC.match(text)) and not os.path.exists(text)


def network(text: str, python: str | None = None) -> Network:
    """The model that the function returns. Raises UnreadableInput with the other Python's last words."""
    from tfmemlens import child_python

    match = _SPEC.match(text)
    assert match
    arguments = ["-c", _CHILD, match["module"], match["function"], _MARK]
    child = child_python.run(arguments, python, f"to run {text} with")
    answer = child.line(_MARK)
    if answer is None:
        raise UnreadableInput(
            f"{text} gave no Keras model: {child.last_words}",
            "run it where TensorFlow is installed, or name that Python with --python",
        )
    told = json.loads(answer)
    if "model" in told:
        made = network_of_text(told["model"], text)
        return replace(made, optimizer=told.get("optimizer") or made.optimizer)
    return _of_weights(told["layers"], text)


def _of_weights(layers: list[Any], path: str) -> Network:
    """A model that cannot describe itself still has weights, if it was built."""
    specs = []
    for name, kind, weights in layers:
        made = tuple(
            WeightSpec(weight.rpartition("/")[2].partition(":")[0], tuple(shape), dtype, trainable)
            for weight, shape, dtype, trainable in weights
        )
        specs.append(
            LayerSpec(
                name, kind, weights=made, problem="the model is a subclass that does not describe its layers"
            )
        )
    if not any(layer.weights for layer in specs):
        raise UnreadableInput(
            f"{path} gave a model without weights", "call or build it once before it is returned"
        )
    return Network(tuple(specs), name="model", dialect="variables", path=path)
