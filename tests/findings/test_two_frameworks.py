"""Two frameworks whose pools share one GPU, as words tell it."""

from __future__ import annotations

import pytest

from tests.findings.test_texts_of_strangers import explained, first


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("The torch and tensorflow parts compete for GPU memory until both are OOM.", "memory_limit=4000"),
        ("Flax and PyTorch are fighting for the GPU memory and I run out of memory.", "PREALLOCATE=false"),
        ("OOM of torch.\n\nJAX is imported as well and reserves most of the GPU.", "PREALLOCATE=false"),
        (
            "The triton-server is OOM: its libtorch and TF backends compete for GPU memory.",
            "gpu-memory-fraction=0.5",
        ),
    ],
)
def test_the_share_of_the_one_that_takes_most_comes_first(said: str, code: str) -> None:
    report = explained(said)
    assert "same process" in report.verdict or "pools of two frameworks" in report.verdict
    assert code in (report.actions[0].remedy.code or "")
    assert not any(action.remedy.slug == "smaller-batch" for action in report.actions)


@pytest.mark.parametrize(
    "said",
    [
        "Do torch and tensorflow compete for GPU memory? I run out of memory.",
        "My torch model and my tensorflow model are both OOM.",
        "JAX runs out of memory after most of the GPU tests.",
    ],
)
def test_a_question_and_a_mention_say_nothing_of_a_shared_gpu(said: str) -> None:
    verdict = explained(said).verdict
    assert "pools of two frameworks" not in verdict and "JAX in the same process" not in verdict


def test_how_many_requests_a_server_was_sent_is_no_growth() -> None:
    sent = "The model is out of memory on my 12 GB GPU.\n\n- 1000 inference requests with a pretrained net."
    assert "made anew for each request" not in explained(sent).verdict
    told = "After 1000 requests the server is out of memory."
    assert "made anew for each request" in explained(told).verdict
    assert first(told) == "few-threads" or "share one model" in explained(told).actions[0].remedy.text
