"""Free memory that somebody on a TPU wonders about is the machine's RAM."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

MESSAGE = (
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used"
    " 17.91G of 15.48G hbm. Exceeded hbm capacity by 2.43G."
)
ROW = "Mem:            58G        9.2G         26G         12M         23G         49G"


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (ROW, "line 2 is the RAM of the machine"),
        ("It fails while I have much more memory.", "line 2 is most likely the RAM of the machine"),
        ("It fails though there is enough HBM memory.", ""),
        ("It fails at batch 64.", ""),
    ],
)
@pytest.mark.parametrize("message", [MESSAGE, "On a TPU my pytorch/xla run ends with hbm OOM."])
def test_it_is_no_memory_of_the_tpu(told: str, words: str, message: str) -> None:
    verdict = pipeline.explain(f"Training with flax on TPU v3-8\n{told}\n{message}\n").verdict
    assert ("RAM of the machine" in verdict) is bool(words)
    assert words in verdict


def test_a_gpu_is_asked_nothing_of_it() -> None:
    text = (
        f"jax on a GPU\n{ROW}\nRESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes.\n"
    )
    assert "RAM of the machine" not in pipeline.explain(text).verdict
