"""A kernel with its units first is no set of samples, and a published vocabulary is not chosen."""

from __future__ import annotations

import pytest

from tests.findings.logs import GPU
from tests.findings.pages import explained, offered

_CONVOLVED = """\
ResourceExhaustedError (see above for traceback): OOM when allocating tensor with shape[{shape}] and type\
 float on {gpu} by allocator GPU_0_bfc
\t [[Node: {node} = {op}[T=DT_FLOAT, data_format="NHWC", padding="SAME", strides=[1, 1, 1, 1],\
 _device="{gpu}"](last/pool, head/weights)]]
"""


def _text(shape: str, node: str = "head/Conv2D", op: str = "Conv2D") -> str:
    return _CONVOLVED.format(shape=shape, gpu=GPU, node=node, op=op)


@pytest.mark.parametrize("shape", ["4096,512,7,7", "2048,1024,5,5"])
def test_units_of_a_kernel_are_no_samples(shape: str) -> None:
    report = explained(_text(shape))
    assert "copy of its kernel" in report.verdict
    assert "samples" not in report.verdict
    assert not {"evaluate-in-batches", "smaller-batch"} & set(offered(_text(shape)))


@pytest.mark.parametrize(
    ("shape", "node", "op"),
    [
        ("5000,512,7,7", "head/Conv2D", "Conv2D"),  # a number that no layer has
        ("4096,64,56,56", "head/Conv2D", "Conv2D"),  # maps
        ("4096,512,7,7", "head/Relu", "Relu"),  # an op that has no kernel
    ],
)
def test_samples_stay_samples(shape: str, node: str, op: str) -> None:
    assert "samples went through the network at once" in explained(_text(shape, node, op)).verdict


_TABLE = """\
ResourceExhaustedError: OOM when allocating tensor with shape[{rows},1024] and type float on {gpu} by\
 allocator GPU_0_bfc
\t [[{{{{node net/word_embedding/Initializer/random_normal/RandomStandardNormal}}}}]]
"""


def test_a_published_vocabulary_is_not_cut() -> None:
    text = _TABLE.format(rows=50257, gpu=GPU)
    assert "the vocabulary of GPT-2" in explained(text).verdict
    assert offered(text)[:2] == ["see-device-users", "smaller-model"]
    assert "smaller-vocabulary" not in offered(text)
    assert "smaller-vocabulary" in offered(_TABLE.format(rows=70001, gpu=GPU))
