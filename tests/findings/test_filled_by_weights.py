"""Weights that are being loaded fill a device: nobody hunts for arrays that are kept by mistake."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

_TPU = """\
import jax
{before}
ValueError: RESOURCE_EXHAUSTED: Error allocating device buffer:
Attempting to allocate 96.00M. That was not possible.
"""
_GPU = """\
import jax
{before}
jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate\
 75497472 bytes.
"""


def test_weights_that_are_loaded_on_a_tpu_are_sharded() -> None:
    text = _TPU.format(before="Loading weights:  25%|##   | 2/8 [00:05<00:15]")
    assert "most likely by the model's weights" in explained(text).verdict
    assert offered(text)[:2] == ["shard-arguments", "smaller-model"]
    assert "record-a-step" not in offered(text)


def test_a_model_that_does_not_fit_one_gpu_has_nobody_to_share_with() -> None:
    text = _GPU.format(before="It cannot load the full model into the GPU.")
    assert offered(text)[0] == "smaller-model"
    assert not {"shard-arguments", "record-a-step"} & set(offered(text))


@pytest.mark.parametrize(
    "before",
    [
        "step 400, loss 0.3",
        "Loading weights from the file went well.\n" + "step 1\n" * 9,
        "Loading the images of the next epoch",
    ],
)
def test_what_is_kept_is_looked_for_elsewhere(before: str) -> None:
    text = _GPU.format(before=before)
    assert "shard-arguments" not in offered(text)
    assert "by the model's weights" not in explained(text).verdict
