"""Messages and settings as reports and answers quote them: indented, broken between words, as advice."""

from __future__ import annotations

import re

import pytest

from tests.findings.pages import explained, first, offered
from tfmemlens import pipeline

HBM = (
    "JaxRuntimeError: RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom:\n"
    "XLA:TPU compile permanent error. Ran out of memory in memory space\n"
    "hbm. Used 126.45G of 94.75G hbm. Exceeded hbm capacity by 31.70G.\n"
)
GRANTED = "2025-06-20 16:39:18: W cpu_allocator_impl.cc:83] Allocation of 1866204960 exceeds 10%\n"


@pytest.mark.parametrize("indent", ["", "  ", "    ", "\t\t"])
def test_a_message_that_is_indented_as_a_whole_is_joined(indent: str) -> None:
    text = "".join(f"{indent}{line}\n" for line in HBM.splitlines())
    assert "needs about 126.45 GiB: the device has about 94.75 GiB" in explained(text).verdict


def test_another_indent_begins_something_else() -> None:
    text = HBM.replace("hbm. Used", "    - hbm. Used 1G:", 1)
    assert "126.45 GiB: the device" not in explained(text).verdict


def test_a_warning_broken_between_words_is_a_warning() -> None:
    page = explained(f"{GRANTED}of free system memory.\nEpoch 1/5\n")
    assert page.verdict.startswith("No failure: TensorFlow warned that it asked the host for 1.74 GiB")


@pytest.mark.parametrize(("end", "told"), [("", True), (" by 21.54M", True), (" or so", True)])
def test_a_kernels_size_stands_without_the_excess(end: str, told: bool) -> None:
    text = (
        "RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem while allocating on stack for"
        " paged_attention. Scoped allocation with size 37.54M and limit 16.00M exceeded scoped vmem"
        f" limit{end}.\n"
    )
    assert ("paged_attention needs about 37.54 MiB" in explained(text).verdict) is told


HANDLE = "E cuda_dnn.cc:371] Could not create cudnn handle: CUDNN_STATUS_ALLOC_FAILED\n"
GROWTH = (
    "gpu = tf.config.experimental.list_physical_devices('GPU')\n"
    "tf.config.experimental.set_memory_growth(gpu[0], True)\n"
)


@pytest.mark.parametrize(
    ("said", "is_set"),
    [
        ("This is my program:\n", True),
        ("I run it with:\n", True),
        ("I was able to workaround it by adding the following lines to the code:\n\n", False),
        ("You can modify your program.\nIt should work.\n\n", False),
        ("Solution:\n", False),
        ("this should fix it\n", False),
    ],
)
def test_growth_is_set_where_nobody_advises_it(said: str, is_set: bool) -> None:
    case = explained(f"{HANDLE}{said}{GROWTH}").case
    assert (case.capture.surroundings.setting("allow_growth") is not None) is is_set


@pytest.mark.parametrize(
    ("size", "told"), [("88 GiB", "a GPU of 88 GB"), ("40.88 GiB", None), ("1,088 GiB", None)]
)
def test_what_stands_behind_a_point_is_no_card(size: str, told: str | None) -> None:
    told_devices = explained(f"JAX asked for {size} of GPU memory\n").case.capture.surroundings.named_devices
    assert bool(told_devices) is bool(told)


@pytest.mark.parametrize(
    ("said", "tried"),
    [
        ("nvidia-smi shows nothing else", True),
        ("nvidia-smi says nothing useful here", False),
        ("nvidia-smi shows no process", True),
    ],
)
def test_who_looked_for_others(said: str, tried: bool) -> None:
    case = explained(f"CUDA_ERROR_OUT_OF_MEMORY: out of memory\n{said}\n").case
    assert (case.capture.surroundings.shows("ending others in vain") is not None) is tried


DISK = (
    "ResourceExhaustedError: /data/{name}_9000.data-00000-of-00001.tempstate396458; No space left on device\n"
)


@pytest.mark.parametrize(("name", "cached"), [("cache", True), ("ckpt", False), ("model/train", False)])
def test_a_checkpoint_that_ends_in_its_step_is_no_cache(name: str, cached: bool) -> None:
    assert ("tf.data's cache(" in first(DISK.format(name=name))) is cached


STARTED = (
    "I tensorflow/core/platform/cpu_feature_guard.cc:151] This TensorFlow binary is optimized with oneAPI"
    " Deep Neural Network Library (oneDNN)\n"
    "I tensorflow/core/common_runtime/gpu/gpu_device.cc:1525] Created device"
    " /job:localhost/replica:0/task:0/device:GPU:0 with {limit} MB memory:  -> device: 0, name: NVIDIA"
    " GeForce MX450, pci bus id: 0000:2b:00.0, compute capability: 7.5\n"
)
FAILED = "E tensorflow/stream_executor/dnn.cc:868] CUDNN_STATUS_EXECUTION_FAILED\n"


def test_a_librarys_failure_outranks_messages_of_the_start() -> None:
    assert "CUDNN_STATUS_EXECUTION_FAILED" in explained(STARTED.format(limit=9000) + FAILED).verdict


@pytest.mark.parametrize(("limit", "likely"), [(1251, True), (2047, True), (2049, False)])
def test_a_lack_is_likely_where_little_is_left(limit: int, likely: bool) -> None:
    verdict = explained(STARTED.format(limit=limit) + FAILED).verdict
    assert ("a lack of it is a likely cause" in verdict) is likely


POINTS = (
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with"
    " shape[4194304,90] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
    " [Op:{op}]{name}\n"
)


@pytest.mark.parametrize(
    ("op", "name", "beside", "words"),
    [
        ("ConcatV2", " name: concat", "", "points, pixels or samples"),
        ("ConcatV2", " name: concat", "python run_nerf.py\n", "points along rays"),
        ("ResourceGather", " name: embedding_lookup", "", "words, ids or samples"),
    ],
)
def test_what_many_rows_are(op: str, name: str, beside: str, words: str) -> None:
    assert words in first(beside + POINTS.format(op=op, name=name))


@pytest.mark.parametrize(
    ("rows", "begins"),
    [(4194304, "--chunk 8192"), (1048576, "--chunk 8192"), (786432, "N_rand")],
)
def test_the_setting_of_rays_goes_by_how_many_there_are(rows: int, begins: str) -> None:
    text = "python run_nerf.py\n" + POINTS.format(op="ConcatV2", name=" name: concat")
    text = re.sub(r"shape\[\d+,", f"shape[{rows},", text)
    assert (pipeline.explain(text).actions[0].remedy.code or "").startswith(begins)


ARENA = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate {} bytes\njax.jit(train_step)\n"


@pytest.mark.parametrize(("gib", "part"), [(1409, "a sixteenth"), (160, "half"), (260, "a quarter")])
def test_the_part_of_a_program_that_a_named_card_has_room_for(gib: int, part: str) -> None:
    text = "It runs on one H200.\nmodel batch_size is large, training fails\n" + ARENA.format(gib << 30)
    batches = [each.remedy.text for each in explained(text).actions if each.remedy.slug == "smaller-batch"]
    assert batches and f"lower the batch: {part} of it (all it needs is" in batches[0]


BOTH = (
    "I ran it on an {one}, and the job ran into OOM.\nRunning it on the {other} works fine, with successful"
    " inference.\nRESOURCE_EXHAUSTED: Out of memory\n"
)


def test_two_sentences_that_name_nothing_are_not_compared() -> None:
    text = BOTH.format(one="A6000", other="other card")
    page = explained(text)
    assert page.case.capture.surroundings.compared is not None
    assert "decides" not in page.verdict
    assert not {"compare-both-ways", "what-differs"} & set(offered(text))


BINNED = (
    "tensorflow/core/common_runtime/bfc_allocator.cc:780] Bin for 381.47MiB was 256.00MiB, Chunk State: \n"
    "tensorflow/core/common_runtime/bfc_allocator.cc:793] Next region of size {whole}\n"
    "tensorflow/core/common_runtime/bfc_allocator.cc:800] InUse at 0x7fa540000000 next 1 of size {used}\n"
    "tensorflow/core/common_runtime/bfc_allocator.cc:800] Free  at 0x7fa540000500 next 1844674407370955161"
    " of size {free}\n"
    "tensorflow/core/common_runtime/bfc_allocator.cc:809]      Summary of in-use Chunks by size: \n"
    "tensorflow/core/common_runtime/bfc_allocator.cc:812] 1 Chunks of size {used} totalling 1.2KiB\n"
)


@pytest.mark.parametrize(
    ("whole", "used", "others"),
    [
        (72080128, 1280, True),
        (72080128, 40080128, False),  # what is in use is the program's own
        (472080128, 1280, False),  # the request has room
    ],
)
def test_a_pool_that_is_smaller_than_the_request_never_got_the_device(
    whole: int, used: int, others: bool
) -> None:
    page = explained(BINNED.format(whole=whole, used=used, free=whole - used))
    assert ("the whole pool has 68.74 MiB, of which 1.2 KiB were in use" in page.verdict) is others
    assert (page.actions[0].remedy.slug == "see-device-users") is others


WHY = ("A report\n{oom}\n{heading}\n{item}\n\nmore words of another kind\n").replace(
    "{oom}", ARENA.format(1 << 34).splitlines()[0]
)


@pytest.mark.parametrize(
    ("heading", "item", "told"),
    [
        (
            "## Root Causes",
            "1. **GPU contention**: both clients use the same GPU",
            "both clients use the same GPU",
        ),
        (
            "**Root cause**",
            "All windows go through the model in one call.",
            "All windows go through the model",
        ),
        ("### Why it fails", "- the cache is made for the longest prompt", "made for the longest prompt"),
        ("## Root Cause", "Date: 2026-06-18 Device: RTX 5090", None),
        ("## Causes of delay and other things", "Each step waits for the loader thread.", None),
        ("## Setup", "Each step waits for the loader thread.", None),
    ],
)
def test_what_stands_below_a_heading_that_announces_the_cause(
    heading: str, item: str, told: str | None
) -> None:
    verdict = explained(WHY.format(heading=heading, item=item)).verdict
    assert ("names the cause" in verdict) is bool(told)
    assert told is None or told in verdict


FOUND = (
    "pciBusID: 0001:00:00.0 name: Tesla T4 computeCapability: 7.5\n"
    "coreClock: 1.59GHz coreCount: 40 deviceMemorySize: 15.75GiB deviceMemoryBandwidth: 298.08GiB/s\n"
    "Created TensorFlow device (/job:localhost/replica:0/task:0/device:GPU:0 with {limit} MB memory) ->"
    " physical GPU (device: 0, name: Tesla T4, pci bus id: {bus}, compute capability: 7.5)\n"
    "E cuda_driver.cc:775] failed to allocate 2.00G (2147483648 bytes) from device:"
    " CUDA_ERROR_OUT_OF_MEMORY\n"
)


@pytest.mark.parametrize(
    ("limit", "bus", "told"),
    [
        (8776, "0001:00:00.0", "got only 8.57 GiB of this GPU's 15.75 GiB"),
        (14250, "0001:00:00.0", None),
        (8776, "0002:00:00.0", None),  # another one's size
    ],
)
def test_how_much_of_a_gpu_tensorflow_got(limit: int, bus: str, told: str | None) -> None:
    verdict = explained(FOUND.format(limit=limit, bus=bus)).verdict
    assert ("got only" in verdict) is bool(told)
    assert told is None or told in verdict


def test_a_heading_gives_way_to_another_librarys_message() -> None:
    text = "# CUDA_ERROR_OUT_OF_MEMORY (2) at once\n\nI get\n{}: Error creating array: {}\n"
    text = text.format("{}", "CUDA_ERROR_OUT_OF_MEMORY (2)")
    assert "is OpenMM's" in explained(text.format("openmm.OpenMMException")).verdict
    assert "is OpenMM's" not in explained(text.format("train.py")).verdict


def test_a_library_that_windows_cannot_load_for_want_of_a_paging_file() -> None:
    text = "Could not load library cudnn_ops_infer64_8.dll. Error code {}\n"
    assert "Host RAM (not GPU memory) ran out" in explained(text.format(1455)).verdict
    assert "larger-paging-file" in offered(text.format(1455))
    assert "Host RAM" not in explained(text.format(126)).verdict


@pytest.mark.parametrize(("name", "evaluates"), [("evaluate_model", True), ("train_and_predict", False)])
def test_what_trains_and_predicts_is_no_evaluation(name: str, evaluates: bool) -> None:
    text = f'Traceback (most recent call last):\n  File "run.py", line 9, in {name}\n    y = f(x)\n'
    surroundings = explained(f"{text}it runs out of memory\n").case.capture.surroundings
    assert (surroundings.shows("a frame of an evaluation") is not None) is evaluates
