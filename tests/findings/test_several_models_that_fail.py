"""Of several models that a text loads, each failure tells of its own."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.findings.support.situation import JAX, framework_of

LOADED = 'keras_hub.models.GemmaCausalLM.from_preset("gemma2_{size}b_en")'
REFUSED = (
    "RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate {asked}. That was not"
    " possible. There are 60.00M free.; (0x0x0_HBM0)"
)
TEXT = f"""On a TPU v3-8:

{LOADED.format(size=27)}
#XlaRuntimeError: {REFUSED.format(asked="4.39G")}

and then the smaller one:

{LOADED.format(size=9)}
#{{error}}: {REFUSED.format(asked="196.00M")}
"""


def test_the_model_that_is_named_last_before_the_failure_is_its_own() -> None:
    told = pipeline.explain(TEXT.format(error="ValueError"))
    assert len(told.case.moments) == 2
    assert "about 9 billion weights" in told.verdict and "27 billion" not in told.verdict


@pytest.mark.parametrize(("error", "jax"), [("XlaRuntimeError", True), ("Error", False)])
def test_a_model_library_of_keras_with_an_error_of_xla_runs_on_jax(error: str, jax: bool) -> None:
    text = TEXT.replace("XlaRuntimeError", error).format(error=error)
    assert (framework_of(pipeline.explain(text).case) == JAX) is jax
