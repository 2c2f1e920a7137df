"""Which lines tell of one failure: a dump that stands before or after its sentence, whole or with its head
cut off.
"""

from __future__ import annotations

import pytest

from tests.findings.logs import dump, oom
from tfmemlens import pipeline
from tfmemlens.model.incident import Incident, RequestKind

ASKED = oom("64,256,256,2", kernel="conv_ops.cc")  # 32 MiB, told by C++ before Python tells it again
WHOLE = dump(32, 400, 300, (20,))
HEADLESS = WHOLE.split("\n", 1)[1]


def incidents(*parts: str) -> tuple[Incident, ...]:
    return pipeline.capture("\n".join(parts)).incidents


@pytest.mark.parametrize(
    "parts",
    [(WHOLE, ASKED), (ASKED, HEADLESS), (HEADLESS, ASKED)],
    ids=("before", "after, cut", "before, cut"),
)
def test_a_dump_belongs_to_its_sentence(parts: tuple[str, ...]) -> None:
    (found,) = incidents(*parts)
    assert found.request.shape == (64, 256, 256, 2)
    assert found.state.limit is not None
    assert found.state.limit.bytes == 400 << 20


def test_a_second_dump_is_another_failure() -> None:
    found = incidents(WHOLE, ASKED, HEADLESS)
    assert [each.request.kind for each in found] == [RequestKind.TENSOR, RequestKind.DUMP]


@pytest.mark.parametrize(
    "other",
    [dump(33, 400, 300, (20,)), WHOLE.replace("GPU_0_bfc", "GPU_1_bfc")],
    ids=("another size", "another allocator"),
)
def test_a_dump_of_another_request_is_another_failure(other: str) -> None:
    assert len(incidents(other, ASKED)) == 2


def test_a_sentence_without_a_type_takes_the_dump_of_its_op() -> None:
    """TensorFlow 1.4 and before name no type, so the size of the request is not known."""
    untyped = (
        "OOM when allocating tensor with shape[64,256,256,2]\n\t [[Node: net/conv/Conv2D ="
        " Conv2D[T=DT_FLOAT](x, w)]]\n"
    )
    assert len(incidents(WHOLE, untyped)) == 1
    assert len(incidents(WHOLE.replace("net/conv/Conv2D", "net/other/MatMul"), untyped)) == 2


@pytest.mark.parametrize(("device", "failures"), [("GPU:0", 1), ("GPU:1", 2)])
def test_a_sentence_of_another_device_is_another_failure(device: str, failures: int) -> None:
    again = ASKED.replace("device:GPU:0", f"device:{device}")
    assert len(incidents(ASKED, again)) == failures
