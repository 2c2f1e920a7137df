"""Blocks of a program that failed in its first step, by what its layers return at the batch that failed."""

from __future__ import annotations

import pytest

from tfmemlens.attribution.moments.outputs_kept import claims_of_outputs
from tfmemlens.model.attribution import NOBODY, Kind, Owner, Phase
from tfmemlens.model.incident import FailedRequest, RequestKind
from tfmemlens.model.live_model import LiveModel
from tfmemlens.values import replace

MODEL = LiveModel(
    ("net",),
    (("a", "Conv2D"), ("flat", "Flatten"), ("b", "Dense"), ("c", "Dense")),
    outputs=(("a", (None, 8, 8, 4)), ("flat", (None, 256)), ("b", (None, 32)), ("c", (None, None))),
)
REQUEST = FailedRequest(RequestKind.TENSOR, dtype="bfloat16", function="__inference_train_function_9")


def of(layer: str | None, phase: Phase = Phase.FORWARD) -> Owner:
    return replace(NOBODY, layer=layer, kind=Kind.ACTIVATION, phase=phase)


def told(owner: Owner, request: FailedRequest = REQUEST) -> dict[str, bool]:
    """By layer whether a block must have just its size."""
    return {claim.name: claim.exact for claim in claims_of_outputs(request, owner, 6, MODEL)}


def test_a_layer_has_its_output_at_the_batch_that_failed() -> None:
    """Not one that returns what it was given, and none of which a side is not known."""
    claims = [*claims_of_outputs(REQUEST, of("b"), 6, MODEL)]
    assert [(claim.name, claim.tensor.shape, claim.tensor.dtype) for claim in claims] == [
        ("a", (6, 8, 8, 4), "bfloat16"),
        ("b", (6, 32), "bfloat16"),
    ]


def test_without_a_batch_or_a_model_nothing_is_told() -> None:
    assert not [*claims_of_outputs(REQUEST, of("b"), None, MODEL)]
    assert not [*claims_of_outputs(REQUEST, of("b"), 6, None)]


@pytest.mark.parametrize(
    "owner, larger",
    [
        (of("b"), {"a"}),
        (of("b", Phase.GRADIENT), {"a"}),
        (of("mean_squared_error"), {"a", "b"}),  # the loss
        (of("b/kernel", Phase.OPTIMIZER), set()),
        (of("net/unknown"), set()),
        (of(None), set()),
    ],
)
def test_only_what_surely_ran_before_may_lie_in_larger_blocks(owner: Owner, larger: set[str]) -> None:
    assert {name for name, exact in told(owner).items() if not exact} == larger


@pytest.mark.parametrize("function", ["__inference_predict_function_9", "__inference_test_step_3"])
def test_a_prediction_keeps_no_outputs(function: str) -> None:
    assert all(told(of("b"), replace(REQUEST, function=function)).values())
