"""A sum of gradients of one weight that a graph uses several times, by the node of TensorFlow 1."""

from __future__ import annotations

from tfmemlens.model.case import Request
from tfmemlens.model.finding import Remedy
from tfmemlens.patterns import regex
from tfmemlens.units import human

_OF_A_WEIGHT = regex(r"MatMul(?:_\d+)?_grad/(?:tuple/control_dependency_1|MatMul_1)\Z")
"""The gradient of a product's second operand."""
_SEVERAL = 3


def times_summed(request: Request) -> int:
    """How many gradients of one weight are added up in what failed; 0 where it is no such sum."""
    failed = request.failed
    inputs = set(failed.inputs)
    if failed.op != "AddN" or len(inputs) < _SEVERAL or not all(map(_OF_A_WEIGHT.search, inputs)):
        return 0
    return len(inputs)


def in_words(request: Request) -> str:
    """What such a sum takes, as a clause; empty for anything else."""
    times, shape = times_summed(request), request.failed.shape or ()
    if not times or not request.needed_bytes:
        return ""
    sizes = ", ".join(map(str, shape))
    return (
        f"the sum of {times} gradients of one weight, [{sizes}], one for each product with it: they wait for"
        f" each other, {human(times * request.needed_bytes)} together, whatever the batch"
    )


ONE_PRODUCT = Remedy(
    "join the steps' outputs, and multiply them by the weight once: then it has one gradient, and no sum; or"
    " compute the loss on a sample of the words or classes (sampled softmax, NCE), which has no gradient of"
    " the whole weight",
    slug="one-product",
)
