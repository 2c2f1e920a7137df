"""What each layer makes and owns, from its configuration and what it reads. Confirmed against Keras's own
`count_params()` and shapes in tests/costs.
"""

from __future__ import annotations

from tfmemlens.knowledge.keras_layers import (
    attention,
    convolution,
    core,
    merging,
    normalization,
    operations,
    pooling,
    recurrent,
)
from tfmemlens.knowledge.keras_layers._context import (
    MAX_SIZE,
    ImpossibleSize,
    LayerCall,
    LayerSpecs,
    Rule,
    UnsupportedLayer,
    compute_dtype,
    policy,
    variable_dtype,
)

__all__ = [
    "MAX_SIZE",
    "ImpossibleSize",
    "LayerCall",
    "LayerSpecs",
    "UnsupportedLayer",
    "compute_dtype",
    "describe",
    "policy",
    "variable_dtype",
]

RULES: dict[str, Rule] = {
    **core.RULES,
    **convolution.RULES,
    **pooling.RULES,
    **normalization.RULES,
    **recurrent.RULES,
    **attention.RULES,
    **merging.RULES,
}


def describe(call: LayerCall) -> LayerSpecs:
    """Outputs, weights and formula of one call. Raises UnsupportedLayer with the reason where the
    configuration lacks or contradicts what the rule builds on, ImpossibleSize where it has a size below 0.
    """
    if operations.is_operation(call):
        rule: Rule = operations.rule
    elif call.spec.class_name in RULES:
        rule = RULES[call.spec.class_name]
    else:
        raise UnsupportedLayer(f"{call.spec.class_name} is not one of Keras's own layers")
    specs = rule(call)
    for size in [size for kind in specs.outputs for size in kind.shape or ()]:
        if size is not None and not 0 <= size <= MAX_SIZE:
            raise UnsupportedLayer(f"it would make a tensor with a side of {size}")
    return specs
