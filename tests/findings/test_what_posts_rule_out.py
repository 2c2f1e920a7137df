"""What the words of a post rule out, and what is advised instead: a batch of one, a Mac, a checkpoint."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.test_what_is_no_batch import explained
from tests.findings.test_what_is_no_batch import slugs as of_failure
from tfmemlens import pipeline
from tfmemlens.model.finding import Remedy
from tfmemlens.readers.oom import switches
from tfmemlens.readers.oom.told_besides import TOLD_BESIDES

MORE = ("tell-which", "read-the-log", "read-the-kernel-log")


def advised(text: str) -> list[str]:
    report = pipeline.explain(f"Hello,\n{text}\n")
    return [action.remedy.slug for action in report.actions if action.remedy.slug not in MORE]


def first(text: str) -> Remedy:
    return pipeline.explain(f"Hello,\n{text}\n").actions[0].remedy


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Batch size is always 1.", "a batch of one"),
        ("it fails with a batch size of one, too", "a batch of one"),
        ("with batch size 1 it works", None),
        ("it fails at a batch size of 16", None),
        ("IMAGES_PER_GPU = 2", None),
        ("IMAGES_PER_GPU = 1", "a batch of one"),
        ("no matter what batch size I choose", "any batch alike"),
        ("a batch size of 4 was no matter", None),
        ("Whatever image resolution I take, it ends", "any sample alike"),
        ("the image resolution is 512", None),
        ("I tracked it down to the loader", "watching memory"),
        ("I wrote it down", None),
        ("a cellpose model of mine", "using a tool"),
        ("a model of cells", None),
        ("MacBook with 16 GB", "on a Mac"),
        ("a machine with 16 GB", None),
        ("with batch = 1 it fails", "a batch of one"),
        ("with batch = 16 it fails", None),
        ("with batch size 1 it still runs out", "a batch of one"),
        ("the host memory climbs", "host RAM in words"),
        ("the host memory is fine", None),
        ("with a big data set", "large data"),
        ("with a big net", None),
        ("after reloading the model", "reloading models"),
        ("after reading the model", None),
        ("it ends during model loading", "loading a model"),
        ("it ends during modelling", None),
        ("GPU memory is not released once training is done", "kept afterwards"),
        ("GPU memory is released once training is done", None),
        ("it dies when saving the weights", "saving in words"),
        ("saving memory is hard", None),
        ("jit compilation takes all RAM", "compiling in words"),
        ("model.compile(optimizer)", None),
        ("it needs more memory than expected", "more than expected"),
        ("it needs more memory", None),
        ("Why does the sampler take so much GPU memory?", "more than expected"),
        ("A simple MLP is taking 11GB/16GB in GPU RAM", "more than expected"),
        ("GPU memory is at 30 GB after just importing the module", "more than expected"),
        ("GPU memory is at 30 GB", None),
        ("I use a GPU with 16 GB of memory", None),
        ("Finetuning takes 44 GB of GPU memory", "a need in words"),
    ],
)
def test_what_a_line_tells(text: str, told: str | None) -> None:
    assert [name for name, rule in TOLD_BESIDES.items() if rule.search(text)] == ([told] if told else [])


@pytest.mark.parametrize(
    ("text", "slugs"),
    [
        ("My GPU runs out of memory.", ["smaller-batch"]),
        ("My GPU runs out of memory. Batch size is 1.", ["see-device-users", "smaller-model"]),
        ("My GPU runs out of memory, regardless of the batch size.", ["see-device-users", "smaller-model"]),
        (
            "My GPU runs out of memory, no matter what batch size. A smaller batch size works.",
            ["smaller-batch"],
        ),
        ("My RAM is exhausted. Batch size is 1.", ["map-the-file"]),
    ],
)
def test_no_smaller_batch_where_the_text_rules_it_out(text: str, slugs: list[str]) -> None:
    assert advised(text) == slugs


def test_no_smaller_images_where_the_text_rules_them_out() -> None:
    text = "My GPU runs out of memory. Batch size is 1."
    assert "smaller images" in explained(text).actions[1].remedy.text
    text += " Whatever image resolution I take, it is the same."
    assert "smaller images" not in explained(text).actions[1].remedy.text


def test_a_failures_own_shape_says_more_of_the_batch_than_words() -> None:
    text = f"model.fit(x)\n{oom('64,128,256,256')}"
    assert "smaller-batch" in of_failure(f"Batch size is 1 in my test.\n{text}")
    assert "smaller-batch" not in of_failure(f"It fails regardless of the batch size.\n{text}")


@pytest.mark.parametrize(
    ("text", "slugs"),
    [
        ("GPU memory keeps increasing", ["find-what-grows"]),
        ("GPU memory keeps increasing\nprint(psutil.Process().memory_info().rss)", ["make-once"]),
        ("GPU memory keeps increasing on my MacBook", ["compare-with-cpu", "find-what-grows"]),
    ],
)
def test_what_grows_is_not_looked_for_twice(text: str, slugs: list[str]) -> None:
    assert advised(text) == slugs


def test_what_a_mac_shows_is_its_ram() -> None:
    codes = [action.remedy.code or "" for action in explained("RAM keeps increasing on my MacBook").actions]
    assert "set_visible_devices" in codes[0]
    assert "psutil" in codes[1]
    jax = explained("import jax\nmemory keeps increasing on my MacBook").actions[0].remedy
    assert jax.code == "JAX_PLATFORMS=cpu python train.py"
    held = [action.remedy.code or "" for action in explained("My MacBook runs out of GPU memory").actions]
    assert not any("nvidia" in code for code in held)


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("An OOM during checkpoint serialization, step 200.", "save-in-parts"),
        ("An OOM, step 200.", "smaller-batch"),
        ("Compiling it exhausts my host memory.", "newer-release"),
        ("It exhausts my host memory.", "map-the-file"),
    ],
)
def test_what_is_written_or_compiled_just_then(text: str, slug: str) -> None:
    assert first(text).slug == slug


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("I got a RAM error.", "host RAM ran out"),
        ("I got a RAM error.\nTraceback (most recent call last):", "memory ran out"),
        ("I got a memory error.\nMemoryError                Traceback (most recent call last)", "host RAM"),
    ],
)
def test_an_exception_that_is_cut_says_nothing_of_host_ram(text: str, verdict: str) -> None:
    assert verdict in explained(text).verdict
    assert ("host" in verdict) is ("host" in explained(text).verdict)


def test_who_did_not_write_the_program_gets_no_code_of_a_training_loop() -> None:
    text = "Training runs out of RAM after Epoch 2/10, train.py shows"
    assert "np.load" in (first(text).code or "")
    assert first(f"{text} (DeepLabCut)").code is None
    told = first("StarDist runs out of GPU memory")
    assert (told.slug, "of the Config" in told.text) == ("smaller-batch", True)
    assert first("My net runs out of GPU memory on a V100").code == "nvidia-smi"  # a shell's stays


@pytest.mark.parametrize(
    ("text", "slugs"),
    [
        (
            "it runs out of memory after a few hundred of these",
            ["start-anew", "compare-shapes", "smaller-batch"],
        ),
        ("it runs out of memory after 24 batches", ["find-what-grows", "compare-shapes", "smaller-batch"]),
        ("it runs out of memory at once", ["smaller-batch"]),
    ],
)
def test_what_failed_late_is_no_proof_of_a_leak(text: str, slugs: list[str]) -> None:
    assert advised(text) == slugs


@pytest.mark.parametrize(("mb", "said"), [(494, True), (7600, True), (8000, False), (31141, False)])
def test_a_pool_far_below_its_gpu_is_another_processs_doing(mb: int, said: bool) -> None:
    text = (
        f"OOM in the second round\nCreated device /device:GPU:0 with {mb} MB memory:  -> device: 0, name:"
        " Tesla V100-SXM2-32GB, pci bus id: 0000:1a:00.0, compute capability: 7.0"
    )
    assert ("something else holds the rest" in explained(text).verdict) is said
    assert (advised(text)[0] == "growth") is said


@pytest.mark.parametrize(
    ("text", "batch"),
    [
        ("I went from train batch size 12 to 6", "6"),
        ("train batch size 12", "12"),
    ],
)
def test_the_batch_is_the_one_it_went_to(text: str, batch: str) -> None:
    assert dict(switches.settings(text))["batch_size"] == batch


def test_a_held_out_batch_is_not_the_one_that_failed() -> None:
    assert "failed_batch" not in dict(switches.settings("and test batch size 8 to 4, the same error"))
    assert "failed_batch" in dict(switches.settings("and a batch size of 4, the same error"))


def test_more_than_expected_is_what_was_reserved() -> None:
    text = "Finetuning takes more GPU memory than expected: 44 GB"
    assert "JAX takes 75 %" in explained(text).verdict
    assert "JAX takes 75 %" not in explained(f"{text}, and runs out of memory").verdict
    assert "JAX takes 75 %" not in explained("Finetuning takes 44 GB of GPU memory").verdict


def test_xla_without_cudnn_is_first_a_matter_of_versions() -> None:
    text = "jax: INTERNAL: RET_CHECK failure (xla/service/gpu/gpu_compiler.cc:627) dnn != nullptr"
    report = explained(text)
    assert "could start no cuDNN" in report.verdict
    assert [action.remedy.slug for action in report.actions][:2] == ["matching-driver", "see-device-users"]
    assert "could start no" not in explained(text.replace("dnn != nullptr", "dnn.ok()")).verdict


def test_a_texture_larger_than_webgl_has_is_no_lack_of_memory() -> None:
    text = "Requested texture size [6000x6000] greater than WebGL maximum on this browser / GPU [4096x4096]."
    assert "no lack of memory" in explained(text).verdict
    assert of_failure(text) == ["smaller-input", "another-backend"]
    assert of_failure("Unable to create WebGLTexture.") == ["tidy-textures", "count-tensors"]


def test_an_exportable_allocation_is_no_lack_of_memory() -> None:
    text = "jax on WSL2: cuMemCreate gives CUDA_ERROR_OUT_OF_MEMORY with CU_MEM_HANDLE_TYPE_{}"
    assert "No lack of memory" in explained(text.format("POSIX_FILE_DESCRIPTOR")).verdict
    assert "No lack of memory" not in explained(text.format("NONE")).verdict


def test_unified_memory_needs_the_pool() -> None:
    text = (
        "export TF_FORCE_UNIFIED_MEMORY=1\n{}\njaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED:"
        " Failed to allocate request for 36.06GiB (38718784536B) on device ordinal 0\n"
    )
    assert "pool-for-unified-memory" in of_failure(text.format("export XLA_PYTHON_CLIENT_ALLOCATOR=platform"))
    assert "more-unified-memory" in of_failure(text.format(""))


@pytest.mark.parametrize(("said", "heavy"), [("13b", True), ("3b", False), ("13 GB", False)])
def test_weights_that_no_core_of_a_tpu_holds(said: str, heavy: bool) -> None:
    text = (
        f"When I use {said}, an error occurs on v3-8\njaxlib.xla_extension.XlaRuntimeError: "
        "RESOURCE_EXHAUSTED: Failed to allocate request for 625.00MiB (655360000B) on device ordinal 7\n"
    )
    assert ("most likely weights fill it" in explained(text).verdict) is heavy


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("The model leaks memory. The CPU's memory goes up.", "host RAM grows"),
        ("The model leaks memory.", "memory grows"),
        ("GPU memory keeps increasing. The host memory is fine.", "a device's memory grows"),
        ("a scan increases the memory requirement", None),
        ("a scan increases the memory at each step", "memory grows"),
        ("GPU memory? By increasing the tiles", None),
    ],
)
def test_which_memory_grows_may_stand_in_another_sentence(text: str, verdict: str | None) -> None:
    if verdict is None:
        assert "grows" not in explained(text).verdict
    else:
        assert f"that {verdict} (" in explained(text.replace(". ", ".\n")).verdict


@pytest.mark.parametrize(
    "text",
    [
        "\u663e\u5b58\u4e0d\u591f",
        "\u30e1\u30e2\u30ea\u4e0d\u8db3\u3067\u3059",
        "\uba54\ubaa8\ub9ac \ubd80\uc871",
        "\u043d\u0435\u0445\u0432\u0430\u0442\u043a\u0430 \u043f\u0430\u043c\u044f\u0442\u0438",
        "\u043d\u0435 \u0445\u0432\u0430\u0442\u0430\u0435\u0442 \u043f\u0430\u043c\u044f\u0442\u0438",
        "mem\u00f3ria insuficiente",
        "un manque de m\u00e9moire",
        "zu wenig Arbeitsspeicher",
        "line 3: it was 8 killed python",
        "it takes much RAM and gets killed",
    ],
)
def test_other_languages_say_that_memory_ran_out(text: str) -> None:
    said = "was killed" if "killed" in text else "ran out"
    assert said in explained(f"Hello\n{text}\n").verdict


def test_memory_in_another_language_alone_is_no_failure() -> None:
    assert "No out-of-memory message" in explained("mucha memoria\nviel Speicher\n\u5185\u5b58 16G").verdict


@pytest.mark.parametrize(
    ("text", "slugs"),
    [
        ("TensorFlow Serving: memory grows when it reloads a model", ["another-malloc"]),
        ("TensorFlow Serving: memory grows", ["smaller-requests", "bound-requests"]),
        ("Out of memory with a big dataset", ["map-the-file", "smaller-batch"]),
        ("Out of memory", ["smaller-batch"]),
        ("import jax\nit exhausts my host memory", ["map-the-file"]),
    ],
)
def test_what_fits_the_server_and_large_data(text: str, slugs: list[str]) -> None:
    assert advised(text) == slugs


def test_shared_memory_is_no_full_disk() -> None:
    text = "NCCL: Error while creating shared memory segment /dev/shm/nccl-a1 (size 9637888), error: No space"
    report = explained(f"{text} left on device (28)")
    assert "/dev/shm" in report.verdict
    assert [action.remedy.slug for action in report.actions] == ["more-shared-memory"]
    assert "the disk was full" in explained("/data/a.ckpt: No space left on device").verdict


def test_killed_by_a_mac_is_host_ram() -> None:
    assert "no host RAM left" in explained("Iteration 1/1000\nKilled: 9").verdict
    assert "no host RAM left" not in explained("Iteration 1/1000\nKilled: 9 rats").verdict


def test_a_model_that_is_loaded_into_a_browser_is_too_large() -> None:
    text = "TensorFlow.js runs out of memory in tf.{}"
    assert advised(text.format("loadGraphModel(url)")) == ["smaller-files"]
    assert advised(text.format("nextFrame()")) == ["tidy", "count-tensors"]


def test_what_a_process_keeps_is_no_leak() -> None:
    assert first("GPU memory is not freed after training").slug == "end-the-process"
    assert first("GPU memory is not freed after each step").slug == "find-what-grows"
    assert first("import jax\nGPU memory is not freed after training").slug == "find-what-grows"


@pytest.mark.parametrize(
    ("shape", "last"),
    [("", True), ("64,1024,1023,1", True), ("64,1024,1024,1", False), ("64,1024,4096", False)],
)
def test_what_was_tried_in_vain_comes_last(shape: str, last: bool) -> None:
    failed = oom(shape) if shape else "Dst tensor is not initialized.\n"
    said = "I tried changing the batch size but still the same.\n"
    with_words = of_failure(f"{said}model.fit(x)\n{failed}")
    without = of_failure(f"model.fit(x)\n{failed}")
    assert "smaller-batch" in without[:2]
    assert (with_words[-1] == "smaller-batch") is last
