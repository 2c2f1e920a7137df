"""Settings in the comments of a thread: of a run, or another one's advice."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

_ASKS = "anna · description · 2024-03-01\nMy JAX program runs out of memory on an L40.\n\n"
_SETS = '`os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"] = "3.0"`\n'


@pytest.mark.parametrize(
    ("comment", "is_set"),
    [
        (f"bert · comment · 2024-03-02\n{_SETS}Add this to your script.\n", False),
        (f"bert commented on Mar 2, 2024\nYou can set this:\n{_SETS}", False),
        (f"bert commented on Mar 2, 2024\nI have the same, did you set this? Mine:\n{_SETS}", True),
        (f"bert · comment · 2024-03-02\nSame problem here. I get around it with\n{_SETS}", False),
        (f"anna · comment · 2024-03-02\n{_SETS}Can you tell me what else to try?\n", True),
        (f"bert · comment · 2024-03-02\n{_SETS}", True),
    ],
    ids=[
        "advice",
        "advice before it",
        "a run of their own",
        "what helped another",
        "the first writer",
        "neither",
    ],
)
def test_advice_is_no_setting(comment: str, is_set: bool) -> None:
    told = pipeline.explain(_ASKS + comment).case.capture.surroundings
    assert (told.setting("XLA_PYTHON_CLIENT_MEM_FRACTION") is not None) is is_set


def test_what_stands_above_advice_is_set() -> None:
    below = (
        "bert · comment · 2024-03-02\nYou could try `batch_size=2`.\n\nanna · comment · 2024-03-02\nThanks\n"
    )
    told = pipeline.explain(f"{_ASKS}{_SETS}{below}").case.capture.surroundings
    assert told.setting("XLA_PYTHON_CLIENT_MEM_FRACTION") is not None


@pytest.mark.parametrize(
    ("sentence", "known"),
    [("For example if you have 32 GB GPU RAM, this takes 64.", False), ("I have a 32 GB GPU here.", True)],
)
def test_a_card_that_is_thought_of_is_nobodys(sentence: str, known: bool) -> None:
    told = pipeline.explain(f"JAX ran out of memory.\n{sentence}\n").case.capture.surroundings
    assert bool(told.named_devices) is known


_OWN = "OOM when allocating tensor with shape[512,90000]"
_OTHERS = "tensorflow.errors.ResourceExhaustedError: OOM when allocating tensor with shape[64,7000]"


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        (f"anna opened this issue\n{_OWN}\nbert commented on Mar 2, 2024\n{_OTHERS}\n", (512, 90000)),
        (
            f"# It fails\n\nHere it is:\n\n{_OWN}\n\nbert commented on Mar 2, 2024\nI see\n{_OTHERS}\n",
            (512, 90000),
        ),
        (f"anna opened this issue\nIt fails\nbert commented on Mar 2, 2024\n{_OTHERS}\n", (64, 7000)),
        (f"anna opened this issue\n{_OWN}\nanna commented on Mar 2, 2024\n{_OTHERS}\n", (64, 7000)),
        (f"{_OWN}\nsome lines of a log\n{_OTHERS}\n", (64, 7000)),
    ],
)
def test_what_another_quotes_of_a_run_comes_behind_the_first_writers_failure(
    text: str, shape: tuple[int, ...]
) -> None:
    assert pipeline.explain(text).case.capture.incidents[0].request.shape == shape


def test_the_batch_of_another_is_not_that_of_the_first_writers_failure() -> None:
    batch = "I had a batch_size=48 in mine, and we all see this"
    with_failure = f"anna opened this issue\n{_OWN}\nbert commented on Mar 2, 2024\n{batch}\n"
    for own, known in ((_OWN, False), ("It fails for lack of memory", True)):
        told = pipeline.explain(with_failure.replace(_OWN, own)).case.capture.surroundings
        assert (told.setting("batch_size") is not None) is known


def test_who_names_what_helped_for_others_tried_nothing_in_vain() -> None:
    for words, vain in (("in case you have the same problem", False), ("and have the same problem", True)):
        text = f"{_ASKS}I am using smaller batch size with fp16, {words}.\n"
        told = pipeline.explain(text).case.capture.surroundings
        assert (told.shows("a smaller batch in vain") is not None) is vain


@pytest.mark.parametrize(
    ("sentence", "helps"),
    [
        ("So I scaled down the batch and the model; it runs now.", True),
        ("So I scaled down the batch and the model; it runs out of memory later.", False),
        ("So I scaled down the batch and the model; it runs for a day.", False),
    ],
)
def test_what_runs_with_less(sentence: str, helps: bool) -> None:
    told = pipeline.explain(f"{_ASKS}{sentence}\n").case.capture.surroundings
    assert (told.shows("a smaller batch helps") is not None) is helps
