"""What was tried is no setting of the failing run, a need is a question of memory, and devices add no"
" room."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

_FULL = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 3000000000 bytes."
_FULL_GPU = "RESOURCE_EXHAUSTED: Failed to allocate request for 3.00GiB (3221225472B) on device ordinal 0"


def _explained(*lines: str) -> Report:
    return pipeline.explain("\n".join(("A program of JAX", *lines)) + "\n")


def _slugs(report: Report) -> list[str]:
    return [action.remedy.slug for action in report.actions]


@pytest.mark.parametrize(
    ("tried", "is_cause"),
    [
        (("I tried the following:", "- XLA_PYTHON_CLIENT_MEM_FRACTION at .30"), False),
        (("I set XLA_PYTHON_CLIENT_MEM_FRACTION to .30, .50 and others.",), False),
        (("Even with XLA_PYTHON_CLIENT_MEM_FRACTION=.30 it is the same error.",), False),
        (("export XLA_PYTHON_CLIENT_MEM_FRACTION=.30",), True),
        (("I set XLA_PYTHON_CLIENT_MEM_FRACTION=.30 for this run.",), True),
    ],
)
def test_a_part_that_was_only_tried_is_no_cause(tried: tuple[str, ...], is_cause: bool) -> None:
    assert ("only 30 % of the GPU" in _explained(_FULL_GPU, *tried).verdict) is is_cause


def test_a_setting_at_the_end_of_a_sentence_has_its_value() -> None:
    report = _explained(
        "It needs 40 GB of GPU memory.", "I set XLA_PYTHON_CLIENT_PREALLOCATE=false. I wonder."
    )
    assert "JAX reserves 75 %" not in report.verdict
    assert "line 2 says that it needs 40 GB" in report.verdict.lower().replace("gb", "GB")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("With this release it requires 16TB of memory.", "requires 16 TB, more than any device has"),
        ("I need ~50Gb of memory to compute it.", "needs 50 GB"),
        ("You need a GPU with 50 GB of memory.", ""),
        ("The requirements say that it needs 50 GB of memory.", ""),
    ],
)
def test_a_need_in_words_is_a_question_of_memory(text: str, says: str) -> None:
    verdict = _explained(text).verdict
    assert says in verdict if says else "no message of a failure is quoted" not in verdict


def test_a_call_of_all_rows_is_named_beside_the_need() -> None:
    report = _explained("This requires 2 TB of memory:", "out = jax.vmap(evaluate)(points)")
    assert "most likely what vmap makes for all rows at once (line 3)" in report.verdict
    assert _slugs(report)[0] == "in-blocks"


def test_what_fails_on_several_devices_alone_is_not_sharded() -> None:
    report = _explained(_FULL_GPU, "It runs well on one RTX 4090, but fails on 2 GPUs.")
    assert "it runs on one device and fails on several (line 3)" in report.verdict
    assert _slugs(report)[0] == "shard-arguments"


def test_a_factorization_on_several_devices_is_gathered() -> None:
    report = _explained(
        _FULL_GPU, "`jnp.linalg.svd` of many matrices runs fine on a single A100, but fails on 4 GPUs."
    )
    assert "XLA cannot cut a factorization" in report.verdict
    assert _slugs(report)[0] == "factor-each-shard" and "in-pieces" not in _slugs(report)


def test_what_runs_on_several_devices_says_nothing() -> None:
    report = _explained(_FULL_GPU, "It runs well on 2 GPUs, and on one, too.")
    assert "fails on several" not in report.verdict


@pytest.mark.parametrize(
    ("text", "of_a_size"),
    [
        ("In our JAX code memory grows linearly with N.", True),
        ("For large L the memory appears to increase dramatically.", True),
        ("For large epochs the memory grows.", False),
        ("Memory grows with each call in our JAX code.", False),
    ],
)
def test_growth_with_a_size_is_no_leak(text: str, of_a_size: bool) -> None:
    assert ("grows with a size" in _explained(text).verdict) is of_a_size


def test_a_leak_on_a_board_needs_no_smaller_model() -> None:
    text = "TensorFlow Lite on a Raspberry Pi 4\nThere is a memory leak: RAM climbs with each frame.\n"
    slugs = _slugs(pipeline.explain(text))
    assert slugs[0] == "find-what-grows" and "free-shared-ram" not in slugs


def test_what_could_be_avoided_by_code_ends_it() -> None:
    text = "TensorFlow uses more and more RAM with each run.\nI found that this could be avoided by adding"
    report = pipeline.explain(f"{text} tf.reset_default_graph() at the end.\n")
    assert _slugs(report)[0] == "what-ended-it"
    assert '"this could be avoided' in report.actions[0].remedy.text


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ("What happens if I ignore that memory exceeds 10% of system memory in TensorFlow?", True),
        ("It exceeds 10% of system memory, and TensorFlow is killed.", False),
    ],
)
def test_a_warning_that_words_name_is_no_failure(text: str, harmless: bool) -> None:
    assert ("it sets no limit" in pipeline.explain(f"A question\n{text}\n").verdict) is harmless


def test_a_cause_that_is_a_call_is_named() -> None:
    text = "Using tf.py_function inside map causes a memory leak.\nRAM grows and grows in TensorFlow."
    report = pipeline.explain(f"{text}\n")
    assert "line 1 names the cause" in report.verdict
    assert _slugs(report)[0] == "without-py-function"


def test_a_model_that_is_called_itself_is_not_told_to_be() -> None:
    text = (
        "TensorFlow memory grows\nPredicting in a loop:\n```\nfor p in paths:\n    out = detector(read(p))\n"
    )
    report = pipeline.explain(f"{text}```\n")
    assert "direct-call" not in _slugs(report) and "predict is called" not in report.verdict


def test_other_gpus_do_not_lend_their_memory() -> None:
    text = "TensorFlow runs out of memory. Why can it not allocate the rest on the other GPU cards?"
    assert "memory does not add up" in pipeline.explain(f"{text}\n").verdict


@pytest.mark.parametrize(
    ("asked", "answered"),
    [("Does that mean I should use a GPU to train?", True), ("I should use a GPU to train.", False)],
)
def test_whether_a_gpu_is_wanted_is_answered(asked: str, answered: bool) -> None:
    said = [finding.headline for finding in _explained(_FULL, asked).findings]
    assert any("computed on the CPU there" in each for each in said) is answered


@pytest.mark.parametrize(
    ("tried", "once"),
    [("I tried to reduce the batch size, it did not help.", True), ("The batch size is 8.", False)],
)
def test_what_no_smaller_batch_changes_is_read_once(tried: str, once: bool) -> None:
    text = f"TensorFlow 2.3\nEpoch 1/5\n1/845 [....] - ETA: 3:00\nKilled\nIt eats all RAM.\n{tried}\n"
    report = pipeline.explain(text)
    assert ("tried or in use already: a smaller batch (line 6)" in report.verdict) is once
    assert "smaller-batch" not in [action.remedy.slug for action in report.actions]


@pytest.mark.parametrize(
    ("measured", "known"),
    [
        ("I ran the memory profiler and each call adds 4 MB.", True),
        ("A memory profiler would be nice to have.", False),
    ],
)
def test_what_a_profiler_measured_is_not_asked_for_again(measured: str, known: bool) -> None:
    text = f"I use JAX on the CPU, and RAM usage grows with every call of my loop.\n{measured}\n"
    slugs = [action.remedy.slug for action in pipeline.explain(text).actions]
    assert ("find-what-grows" not in slugs) is known
    assert (slugs[0] == "compile-once") is known
