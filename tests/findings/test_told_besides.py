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
        "my hyperparameter search ends at its 12th trial, after a loop of others, with",
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
    assert slugs("out of memory\n    model.fit(x, y, epochs=3)")[:2] == ["smaller-batch", "tell-which"]
    assert slugs("out of memory\n    scores = model.predict(x)")[0] == "smaller-evaluation-batch"
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
    assert slugs(grows)[:3] == ["another-malloc", "smaller-requests", "bound-requests"]
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
    pieces = dump(100, 400, 280, (60, 60))
    advice = slugs("model.fit(x, y, epochs=2)\n 30/90 [===>......] - ETA: 9s - loss: 0.3\n" + pieces)
    assert advice.index("smaller-batch") < advice.index("constant-shapes")


def test_pieces_that_hold_hardly_more_than_the_request_are_no_way_out() -> None:
    text = "model.fit(x, y, epochs=2)\n"
    little = text + dump(1000, 4000, 2800, (600, 600))
    much = text + dump(1000, 4600, 2800, (900, 900))
    assert slugs(little).index("smaller-batch") < slugs(little).index("async-allocator")
    remapped = next(
        each.remedy for each in explained(little).actions if each.remedy.slug == "async-allocator"
    )
    assert remapped.text.endswith("this request then fits, and 200.00 MiB is left")
    assert "constant-shapes" not in slugs(little)  # no step of another shape is told of
    assert slugs(much).index("async-allocator") < slugs(much).index("smaller-batch")
    assert "constant-shapes" in slugs(much)


def test_layers_tell_of_sleap() -> None:
    known = explained(dump(1000, 4000, 2800, (600, 600), op="model/stack0_enc1_conv0/Conv2D"))
    assert any("of the training profile" in each.remedy.text for each in known.actions)
    other = explained(dump(1000, 4000, 2800, (600, 600), op="model/stack_enc1_conv/Conv2D"))
    assert not any("of the training profile" in each.remedy.text for each in other.actions)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("I get an OOM at the time of evaluation", "smaller-evaluation-batch"),
        ("my GPU runs out of memory during validation", "smaller-evaluation-batch"),
        ("out of memory with horovod on 4 GPUs", "one-device-each"),
        ("mpirun -np 8 python fit.py\nRAM is exhausted", "shard-the-data"),
        ("mpirun noticed that process rank 3 exited on signal 9 (Killed).", "read-the-kernel-log"),
        ("The first fold is fine, the second runs out of memory", "own-process"),
        ("tfjs 3.7: memory leak in my page", "tidy"),
        ("the GPU memory grows until the WebGL context crashes", "tidy"),
        ("out of memory", "smaller-batch"),
    ],
)
def test_words_of_when_and_where_choose_the_advice(text: str, first: str) -> None:
    assert slugs(text)[0] == first


def test_no_python_is_offered_to_a_browser() -> None:
    codes = [action.remedy.code or "" for action in explained("tfjs: memory keeps growing").actions]
    assert any("tf.tidy" in code for code in codes)
    assert not any("python" in code or "print(" in code for code in codes)


TABLE = """+-------------------------------+----------------------+----------------------+
|   0  GeForce RTX 208...  On   | 00000000:85:00.0 Off |                  N/A |
| 27%   22C    P8     1W / 250W |  {used}MiB / 10989MiB |      0%      Default |
+-------------------------------+----------------------+----------------------+
"""


@pytest.mark.parametrize(("used", "full"), [("10633", True), (" 1633", False)])
def test_a_table_that_shows_a_full_gpu_is_named(used: str, full: bool) -> None:
    found = explained("my training cannot allocate memory\n" + TABLE.format(used=used))
    assert ("shows GPU 0 with 10.38 GiB of 10.73 GiB in use" in found.verdict) is full
    assert (found.actions[0].remedy.slug == "see-device-users") is full


SOFT = (
    "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.09GiB with freed_by_count=0. The caller"
    " indicates that this is not a failure, but may mean that there could be performance gains\n"
)


def test_harmless_warnings_of_a_run_that_a_smaller_batch_saves() -> None:
    found = explained(SOFT + "when I reduce the batch size, the error stops")
    assert "a smaller batch helps" in found.verdict
    assert found.actions[0].remedy.slug == "smaller-batch"
    assert "no failure" in explained(SOFT + "when I reduce the learning rate, it works").verdict


SPLIT = "history = model.fit(x, y, batch_size=8, validation_split=0.2)\n"


@pytest.mark.parametrize(
    "message",
    [
        "ResourceExhaustedError: OOM when allocating tensor with shape[48000,96,96,3]",
        oom("90000,96,96,1", "x").replace("[[{{node x}}]]", "[Op:GatherV2]"),
    ],
)
def test_arrays_that_fit_splits_are_no_batch(message: str) -> None:
    found = explained(SPLIT + message)
    assert "as one tensor, copied to the device" in found.verdict
    assert found.actions[0].remedy.slug == "split-on-the-host"
    assert "split-on-the-host" not in slugs(message)


def test_a_library_of_amd_is_called_by_its_name() -> None:
    found = explained("MIOpen Error: handlehip.cpp:68: Memory not available to allocate buffer: 805306368")
    assert "MIOpen" in found.verdict
    assert not any("nvidia-smi" in (action.remedy.code or "") for action in found.actions)


def test_a_kernel_that_died_while_a_buffer_was_filled_most_likely_lacked_ram() -> None:
    filling = (
        "I tensorflow/core/kernels/data/shuffle_dataset_op.cc:177] Filling up shuffle buffer (this may take a"
        " while): 2744 of 50000\n"
    )
    died = "KernelRestarter: restarting kernel (1/5), keep random ports\n"
    found = explained(filling + died)
    assert "while the input pipeline filled its shuffle(buffer_size)" in found.verdict
    assert found.actions[0].remedy.slug == "shuffle-files"
    assert slugs(died) == ["as-a-script"]


def test_a_session_without_ram_holds_its_data_in_parts() -> None:
    said = "Your session crashed after using all available RAM."
    assert slugs(said)[0] == "map-the-file"
    assert "container-limit" not in slugs(said)
    assert slugs("host RAM is exhausted when I load my images")[0] == "map-the-file"


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("my GPU has a resource exhaustion error", "if it trains, with a smaller batch"),
        ("out of memory\nmodel.fit(x, y, epochs=2)", "train with a smaller batch"),
        ("import jax\nout of memory", "put less on each device at once"),
    ],
)
def test_words_without_a_hint_get_what_helps_most(text: str, first: str) -> None:
    assert explained(text).actions[0].remedy.text.startswith(first)


@pytest.mark.parametrize("shape", ["1,192,512,512", "1,480,480,192"])
def test_one_sample_of_many_channels_is_made_smaller(shape: str) -> None:
    assert (
        slugs(f"ResourceExhaustedError: OOM when allocating tensor with shape[{shape}]")[0] == "smaller-input"
    )
    small = "ResourceExhaustedError: OOM when allocating tensor with shape[1,32,32,2048]"
    assert "smaller-input" not in slugs(small)


@pytest.mark.parametrize("shape", ["300,14,14,256", "300,256,14,14"])
def test_boxes_of_a_detector_are_no_batch(shape: str) -> None:
    message = f"ResourceExhaustedError: OOM when allocating tensor with shape[{shape}]"
    found = explained(f"I train a Mask R-CNN\n{message}")
    assert found.findings[0].rule == "crops-of-boxes"
    assert "300 boxes" in found.verdict
    assert "crops-of-boxes" not in [finding.rule for finding in explained(message).findings]
    few = message.replace("[300,", "[8,")
    assert "crops-of-boxes" not in [each.rule for each in explained(f"Mask R-CNN\n{few}").findings]


@pytest.mark.parametrize(
    "said", ["reducing batch_size is useless", "I lowered the batch size, but it didn't work"]
)
def test_who_tried_a_smaller_batch_in_vain_is_sent_elsewhere_first(said: str) -> None:
    assert slugs(f"{said}\n{SMALL}")[0] == "see-device-users"
    assert slugs(f"I want to keep the batch size\n{SMALL}")[0] == "smaller-batch"
    assert slugs(f"{said}\n" + oom("640,2048000", "pump/dense_4/MatMul"))[0] != "see-device-users"
