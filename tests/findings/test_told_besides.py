"""What the prose beside a failure, or instead of one, decides: loops over models, cut messages, servers."""

from __future__ import annotations

import pytest

from tests.findings.logs import MIB, dump, oom
from tests.findings.test_texts_of_strangers import explained, leading


def slugs(text: str) -> list[str]:
    return [action.remedy.slug for action in explained(text).actions]


SMALL = oom("640,2048", "pump/dense_4/MatMul")


@pytest.mark.parametrize(
    "said",
    [
        "Resource exhausted when training in a loop",
        "I build a network for each of 5 folds (k-fold)",
        "my hyperparameter search ends with",
        "it always fails after the 3rd trial",
        "I train 12 models one after another",
    ],
)
def test_models_made_one_after_another_are_let_go(said: str) -> None:
    text = f"{said}\n{SMALL}"
    assert leading(text) == "models-kept"
    assert slugs(text)[:2] == ["drop-models", "own-process"]
    tried = f"{said}\nclear_session() did not help\n{SMALL}"
    assert slugs(tried)[:2] == ["own-process", "drop-models"]


@pytest.mark.parametrize("said", ["my custom training loop", "I train a model", "model 3 of the zoo", ""])
def test_one_model_is_no_loop_over_models(said: str) -> None:
    assert leading(f"{said}\n{SMALL}") != "models-kept"


def test_growth_that_clearing_did_not_stop_gets_a_process_of_its_own() -> None:
    grows = "memory keeps growing, clear_session() does not help"
    assert slugs(grows)[0] == "own-process"
    assert "clear_session" not in str([action.remedy.code for action in explained(grows).actions])
    assert slugs("memory keeps growing")[0] == "find-what-grows"


def test_words_alone_of_a_training_get_a_smaller_batch_first() -> None:
    assert slugs("out of memory\n    model.fit(x, y, epochs=3)")[:2] == ["smaller-batch", "read-the-log"]
    assert slugs("out of memory\n    scores = model.predict(x)")[0] == "read-the-log"
    assert "smaller-batch" not in slugs("my memory grows\n    model.fit(x, y, epochs=3)")


@pytest.mark.parametrize(
    ("before", "first"),
    [
        ("model.fit(x, y, batch_size=48)\n", "train with a smaller batch (48 -> 24)"),
        ("model.fit(x, y, batch_size=1)\n", "smaller inputs"),
        ("callbacks=[ShowMemory()],\n", "train with a smaller batch:"),
        ("", "if it trains, with a smaller batch"),
    ],
)
def test_a_message_cut_before_its_tensor_gets_what_helps_most(before: str, first: str) -> None:
    found = explained(f"{before}ResourceExhaustedError: Graph execution error:")
    assert "does not say what was asked for" in found.verdict
    assert found.actions[0].remedy.text.startswith(first)


def test_a_message_that_is_whole_is_not_told_as_cut() -> None:
    assert "bare-message" not in [finding.rule for finding in explained(oom("8,8")).findings]
    allocated = "InternalError: failed to allocate memory [Op:AddV2]"
    assert "bare-message" not in [finding.rule for finding in explained(allocated).findings]


@pytest.mark.parametrize(
    "text",
    [
        "Why is tensorflow using all of the GPU memory?",
        "The sample model takes almost the whole GPU",
        "GPU memory usage 11201MiB/12288MiB",
        "tensorflow allocates 95% of my GPU memory",
    ],
)
def test_a_pool_that_is_reserved_at_start_is_no_failure(text: str) -> None:
    found = explained(text)
    assert found.verdict.startswith("No failure: TensorFlow reserves nearly all")
    assert found.actions[0].remedy.slug == "growth"


@pytest.mark.parametrize(
    "text",
    [
        "It uses all of the GPU memory and then I run out of memory",
        "import jax\nWhy does jax take all of the GPU memory?",
        "it uses all CPU cores",
        "the GPU memory is fine",
    ],
)
def test_other_words_of_a_gpu_are_not_taken_for_that(text: str) -> None:
    assert not explained(text).verdict.startswith("No failure: TensorFlow reserves")


def test_a_server_is_told_of_its_own_flags() -> None:
    takes = explained("tensorflow-serving 2.8\nWhy is it using all of the GPU memory?")
    assert "--per_process_gpu_memory_fraction" in takes.actions[0].remedy.text
    grows = "tensorflow-serving 2.8, CPU only\nMemory goes up quickly under load and is not released"
    assert slugs(grows)[:2] == ["smaller-requests", "bound-requests"]
    refused = "TensorFlow ModelServer: 2.2.0\nRunning gRPC ModelServer at 0.0.0.0:8500\nstd::bad_alloc\n"
    assert "size-the-slabs" not in slugs(refused)


def summary(*rows: tuple[int, int], in_use: int, served: int) -> str:
    lines = [f"{count} Chunks of size {size} totalling {count * size / MIB:.2f}MiB" for count, size in rows]
    stats = f"Limit: {in_use}\nInUse: {in_use}\nMaxInUse: {in_use}\nNumAllocs: {served}\n"
    return "\n".join(
        ["tensorflow version: 1.14.0", *lines, "Sum Total of in-use chunks: 8.00GiB", "Stats: ", stats]
    )


def test_chunks_of_a_known_transformer_are_its_weights() -> None:
    rows = (288, 4 * 768 * 3072), (4, 4 * 50257 * 768)
    found = explained(summary(*rows, in_use=6 << 30, served=900))
    assert "[768,3072]" in found.verdict
    assert "50,257 words" in found.verdict
    assert found.actions[0].remedy.slug == "smaller-model"
    few = explained(summary((20, 4 * 768 * 3072), (4, 4 * 50257 * 768), in_use=6 << 30, served=900))
    assert "[768,3072]" not in few.verdict


def test_a_summary_that_begins_late_counts_no_served_chunks() -> None:
    rows = (200, 12 * MIB), (3, 40 * MIB)
    cut, whole = 8 << 30, 200 * 12 * MIB + 120 * MIB
    assert "as if each step left one behind" not in explained(summary(*rows, in_use=cut, served=4000)).verdict
    assert "as if each step left one behind" in explained(summary(*rows, in_use=whole, served=4000)).verdict


def test_half_of_three_sides_is_an_eighth() -> None:
    text = "input shape = (96, 96, 96, 1) and batch size = 1\n" + oom("1,96,96,96,48", "u/gradients/zeros_7")
    assert "an eighth" in explained(text).actions[0].remedy.text
    flat = "input shape = (960, 960, 1) and batch size = 1\n" + oom("1,960,960,48", "u/gradients/zeros_7")
    assert "a quarter" in explained(flat).actions[0].remedy.text


def test_pieces_of_a_training_step_get_a_smaller_batch_before_fixed_shapes() -> None:
    advice = slugs("model.fit(x, y, epochs=2)\n" + dump(100, 400, 280, (60, 60)))
    assert advice.index("smaller-batch") < advice.index("constant-shapes")
