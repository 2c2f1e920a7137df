"""Of which batch a message is, what was trained before it, and what the writer's words do not say."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.pages import explained, first, offered
from tfmemlens.readers.oom.contrasts import _told

_TRIED = (
    "I tried batch_size=48 and got an error of ResourceExhaustedError{}.\nSo now it is batch_size = 24.\n"
)


def _of_maps(first_size: int) -> str:
    return oom(f"{first_size},96,96,128", "net/conv2/Conv2D")


def test_message_of_a_larger_batch() -> None:
    text = _TRIED.format("") + _of_maps(48)
    assert "take the batch of 24" in first(text)


@pytest.mark.parametrize(
    "text",
    [
        _TRIED.format(", the same as before") + _of_maps(48),
        _TRIED.format("") + _of_maps(24),
        "batch_size = 24\n" + _of_maps(48),
    ],
)
def test_message_of_the_batch_that_is_set(text: str) -> None:
    assert "nothing here says that" not in first(text)


def test_matrix_wider_than_any_layer() -> None:
    text = oom("150,2457600", "MatMul").replace("\t [[{{node MatMul}}]]", " [Op:MatMul]")
    assert "smaller-batch" not in offered(text)


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("it didn't happen at the beginning when it runs", False),
        ("this does not happen initially, only when I call it twice", False),
        ("It does not happen with the SGD optimizer", True),
        ("the error never occurs when I use float32", True),
    ],
)
def test_when_it_does_not_happen_is_no_way_out(sentence: str, told: bool) -> None:
    assert bool(_told(sentence).elsewhere) == told


_GROWS = "GPU memory grows until it is out of memory. "


def test_call_at_fault_is_not_advised() -> None:
    text = _GROWS + "I use `tf.estimator.train_and_evaluate`, and predict afterwards.\n"
    assert "one-call" not in offered(text)
    assert "own-process" in offered(text)


def test_arrays_of_an_estimator_are_shown() -> None:
    text = _GROWS + "My tf.estimator.Estimator is trained each day.\n"
    assert offered(text)[0] == "one-call"
    assert "data-out-of-the-graph" not in offered(text)
    shown = text + "    ds = tf.data.Dataset.from_tensor_slices(x)\n"
    assert "data-out-of-the-graph" in offered(shown)


_STATS = (
    "I tensorflow/core/common_runtime/bfc_allocator.cc:685] Stats: \nLimit:                 {limit}\n"
    "InUse:                 {limit}\nMaxInUse:              {limit}\n"
    "NumAllocs:                   1503\nMaxAllocSize:           276284416\n\n"
    "W tensorflow/core/framework/op_kernel.cc:1192] Resource exhausted: OOM when allocating tensor with"
    " shape[35048,1383]\n"
)


def test_limit_of_a_gpu_is_no_ram() -> None:
    said = "OOM on CPU memory.\n"
    assert "such a limit is a GPU's" in explained(said + _STATS.format(limit=10907126989)).verdict
    assert "such a limit is a GPU's" not in explained(_STATS.format(limit=10907126989)).verdict
    assert "such a limit is a GPU's" not in explained(said + _STATS.format(limit=16 << 30)).verdict
