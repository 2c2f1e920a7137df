"""Who holds the blocks of a program that failed before any of its steps was recorded: what its layers return
at the batch that failed, by the shapes that its models know.

A training step keeps the outputs of all layers before the one that failed, so that these may lie in larger
blocks; for the others a block must have just their size.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.attribution.moments.claims import Claim
from tfmemlens.model.attribution import NOBODY, Kind, Owner, Phase
from tfmemlens.model.incident import FailedRequest
from tfmemlens.model.live_model import LiveModel
from tfmemlens.model.tensor import TensorType
from tfmemlens.values import replace

_SAME_BUFFER = frozenset(
    ("Flatten", "Reshape", "InputLayer", "Sequential", "Functional", "Activation", "ReLU")
)
"""Classes of layers that return what they were given, what a layer of theirs returns, or its buffer."""


def claims_of_outputs(
    request: FailedRequest, owner: Owner, batch: int | None, model: LiveModel | None
) -> Iterator[Claim]:
    """One for each layer that has a buffer of its own, in the models' order."""
    if model is None or not batch:
        return
    classes = dict(model.layers)
    told = [(path, shape) for path, shape in model.outputs if classes.get(path) not in _SAME_BUFFER]
    before = _before(request, owner, [path for path, _ in told], model)
    for at, (path, shape) in enumerate(told):
        if len(shape) > 1 and shape[0] is None and None not in shape[1:]:
            tensor = TensorType((batch, *shape[1:]), request.dtype or "float32")
            kept = replace(NOBODY, layer=path, kind=Kind.ACTIVATION, phase=Phase.FORWARD)
            yield Claim(path, kept, tensor, exact=at >= before)


def _before(request: FailedRequest, owner: Owner, paths: list[str], model: LiveModel) -> int:
    """How many layers surely ran before, and had their outputs kept. What is of no layer of the one model
    comes after all, as a loss; of an optimizer, or where nothing is trained, nobody knows.
    """
    function = request.function or ""
    if owner.phase not in (Phase.FORWARD, Phase.GRADIENT) or "predict" in function or "test" in function:
        return 0
    if owner.layer in paths:
        return paths.index(owner.layer)
    known = {*model.names, *(path.partition("/")[0] for path, _ in model.layers)}
    outside = owner.layer is not None and owner.layer.partition("/")[0] not in known
    return len(paths) if outside and len(model.names) == 1 and function else 0
