"""Which TensorFlow the user writes for, and through which door: session, Keras, tf.function, eager."""

from __future__ import annotations

from tfmemlens.model.capture import Capture
from tfmemlens.model.case import Api, FrontEnd
from tfmemlens.model.graph import Graph
from tfmemlens.model.incident import Incident
from tfmemlens.model.program import Statement
from tfmemlens.patterns import regex

_KERAS = regex(
    r"(?:\A|/)(?:model|sequential|functional)(?:_\d+)?/|(?:\A|/)training(?:_\d+)?/"
    r"|__inference_(?:train|test|predict)_function|_?(?:conv2d|dense|lstm|embedding)(?:_\d+)?/"
)
_KERAS_FUNCTION = regex(r"(?:train|test|predict)_function")
_FIRST_LAYOUT_PASS = regex(
    r"(?:\A|/)(?:LayoutOptimizer|PermConstN\w+-LayoutOptimizer)|-\d-(?:VecPermute|DimMap)N"
)

_ELSEWHERE = {"jax": FrontEnd.JAX, "torch_xla": FrontEnd.TORCH_XLA, "xla": FrontEnd.XLA}
_OPTAX, _WITH_OPTAX = "Optax", ("Flax", "Flax NNX", "Equinox", "Haiku")
"""Libraries of nets alone, whose optimizers are Optax's."""
_OPS_OF_1_14 = {"FusedBatchNormV3", "AddV2"}


def api_of(capture: Capture) -> Api:
    """What version and front end betray themselves."""
    elsewhere = _ELSEWHERE.get(capture.source.framework or "")
    if elsewhere in (None, FrontEnd.XLA) and _imports_jax_alone(capture):
        return _of_xla(FrontEnd.JAX, capture)
    if elsewhere is not None:
        return _of_xla(elsewhere, capture)
    low, high = capture.source.version or ("0.5", "2.99")
    oldest, newest = _version(low), _version(high)
    if newest == (2, 21):
        newest = (2, 99)
    front_end = next(
        (end for incident in capture.incidents if (end := _front_end(incident)) is not FrontEnd.UNKNOWN),
        FrontEnd.UNKNOWN,
    )
    if capture.surroundings.session:
        newest = min(newest, (1, 15)) if front_end is FrontEnd.KERAS and oldest < (2, 0) else newest
        front_end = FrontEnd.SESSION if front_end is FrontEnd.UNKNOWN else front_end
    if front_end is FrontEnd.UNKNOWN and capture.surroundings.shows("code for sessions"):
        front_end = FrontEnd.SESSION
    if front_end in (FrontEnd.EAGER, FrontEnd.FUNCTION):
        oldest = max(oldest, (1, 13) if front_end is FrontEnd.EAGER else (2, 0))
    if any((one.request.function or "").startswith("__inference_") for one in capture.incidents):
        oldest = max(oldest, (2, 0))
    if capture.graph is not None:
        if not capture.source.version:
            oldest, newest = _era(capture.graph, oldest, newest)
        if front_end is FrontEnd.UNKNOWN and any(
            name.startswith("gradients/") for name in capture.graph.nodes
        ):
            front_end = FrontEnd.SESSION
    return Api(oldest, newest, front_end)


def _imports_jax_alone(capture: Capture) -> bool:
    """Whether nothing in the log says what wrote it, and the program imports JAX and no TensorFlow."""
    requests = [incident.request for incident in capture.incidents]
    if (
        capture.source.version
        or capture.graph is not None
        or any(
            request.op or request.node or request.function or request.shape is not None
            for request in requests
        )
    ):
        return False
    roots = {name.partition(".")[0] for each in capture.surroundings.program() for name in _imported(each)}
    return "jax" in roots and roots.isdisjoint(("tensorflow", "keras", "torch_xla"))


def _imported(statement: Statement) -> list[str]:
    import ast  # only where there is code

    node = statement.node
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return [name.name for name in node.names] if isinstance(node, ast.Import) else []


def _of_xla(front_end: FrontEnd, capture: Capture) -> Api:
    """Another framework on XLA; of JAX, the library that the program is written with."""
    named = [name for name, _ in capture.surroundings.libraries] if front_end is FrontEnd.JAX else []
    library = next((name for name in named if name != _OPTAX), None)
    optax = library != "Keras" and (_OPTAX in named or library in _WITH_OPTAX)
    return Api(front_end=front_end, library=library, optax=optax)


def _era(
    graph: Graph, oldest: tuple[int, int], newest: tuple[int, int]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """What the layout pass's names and a few op types tell of the TensorFlow that wrote a graph."""
    inserted = [name for name in graph.nodes if "-" in name or "LayoutOptimizer" in name]
    if any(_FIRST_LAYOUT_PASS.search(name) for name in inserted):
        return max(oldest, (1, 4)), min(newest, (1, 14))
    if any("-PermConstN" in name for name in inserted) or not graph.ops.isdisjoint(_OPS_OF_1_14):
        return max(oldest, (1, 14)), newest
    return oldest, newest


def _version(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def _front_end(incident: Incident) -> FrontEnd:
    request = incident.request
    names = [
        name
        for name in (
            request.node,
            request.forward_node,
            *(node for block in incident.holders for node in block.table.node[:40]),
        )
        if name
    ]
    if (
        request.keras_layer
        or any(_KERAS.search(name) for name in names)
        or _KERAS_FUNCTION.search(request.function or "")
    ):
        return FrontEnd.KERAS
    if request.function and request.function.startswith("__wrapped__"):
        return FrontEnd.EAGER
    if request.function or any(
        name.startswith("gradient_tape/") or "PartitionedCall" in name for name in names
    ):
        return FrontEnd.FUNCTION
    if request.op and request.node is None:
        return FrontEnd.EAGER
    if incident.holders or any(name.startswith("gradients/") for name in names) or request.attributes:
        return FrontEnd.SESSION
    return FrontEnd.UNKNOWN
