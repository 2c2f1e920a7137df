"""Texts that quote a message or a log: whose memory it was, what they say besides, and what is no batch."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, oom
from tests.findings.pages import explained, first, offered
from tfmemlens.knowledge.images import sides_of_an_image
from tfmemlens.renderers.terminal import report as terminal


@pytest.mark.parametrize(
    ("tried", "one"),
    [
        ("the same error after reducing the batch_size upto 1", True),
        ("still the same error when I go down to batch size down to 1", True),
        ("it works after reducing the batch_size upto 1", False),
    ],
)
def test_a_batch_that_was_lowered_to_one(tried: str, one: bool) -> None:
    text = f"{tried}\n{oom('32,3,2160,4096')}"
    assert ("the batch is 1 already" in first(text)) is one


def test_what_failed_besides_is_told_in_words() -> None:
    page = terminal.render(explained(f"--batch 8 fails too with the same shape\n{oom('16,64,64,32')}"))
    assert "failed with a batch of 8, too" in page
    assert "failed_batch" not in page


@pytest.mark.parametrize(
    ("text", "board"),
    [
        ("# Killed\nname: NVIDIA Tegra X2 major: 6 minor: 2\n", True),
        ("# \u5728JETSON NANO\u4e2d\u8fd0\u884c\nKilled\n", True),
        ("# Killed\npython train.py\n", False),
    ],
)
def test_a_title_that_says_killed(text: str, board: bool) -> None:
    report = explained(text)
    assert "killed" in report.verdict
    assert ("Jetson" in report.verdict) is board


@pytest.mark.parametrize("text", ["# Killed by the reviewers\n", "# killed_in_action.py\n"])
def test_another_title_with_that_word(text: str) -> None:
    assert not explained(text).case.moments


@pytest.mark.parametrize(
    ("title", "told"),
    [
        ("# CUDA_OUT_OF_MEMORY on the mnist example", True),
        ("# CUDA_OUT_OF_MEMORY_HANDLER is not defined", False),
    ],
)
def test_a_title_that_names_the_error_of_the_driver(title: str, told: bool) -> None:
    assert (
        "in words that a device's memory ran out" in explained(f"{title}\nWhat can I do here?\n").verdict
    ) is told


MALLOC = "WARNING | tcmalloc: large alloc 2400002048 bytes == 0x99a00000 @ 0x7fb5f9f8c1e7\n"
RESTARTED = "WARNING:root:kernel 01234567-89ab-cdef-0123-456789abcdef restarted\n"


def test_a_kernel_that_restarts_after_a_large_request() -> None:
    verdict = explained(MALLOC + RESTARTED).verdict
    assert "host RAM" in verdict
    assert "2.24 GiB" in verdict
    assert "malloc" in verdict


def test_a_large_request_alone_is_no_failure() -> None:
    assert "ran out" not in explained(MALLOC).verdict


@pytest.mark.parametrize(
    ("shape", "image"),
    [
        ((427, 640, 3), (427, 640)),
        ((64, 2048, 3), None),  # points
        ((47, 47, 3), None),
        ((48, 192, 1), (48, 192)),
        ((48, 193, 1), None),
        ((427, 640, 2), None),
        ((1, 427, 640, 3), None),
    ],
)
def test_what_an_image_is(shape: tuple[int, ...], image: tuple[int, int] | None) -> None:
    assert sides_of_an_image(shape) == image


@pytest.mark.parametrize(
    ("shape", "node", "waits"),
    [
        ("427,640,3", "decode/DecodeJpeg", True),
        ("427,640,3", "rgb_to_grayscale/convert_image/Cast", False),
        ("1,1,2988,5312,3", "batch", True),
        ("1,720,1280,64", "batch", False),
        ("1,720,1280,3", "net/block/Mul", False),
    ],
)
def test_an_image_of_an_input_pipeline_has_no_batch(shape: str, node: str, waits: bool) -> None:
    text = oom(shape, node, on=CPU, by="cpu")
    assert ("may wait" in explained(text).verdict) is waits
    if waits:
        assert "smaller-batch" not in offered(text)
        assert offered(text)[0] == "smaller-pipeline"


@pytest.mark.parametrize(("kernel", "asks"), [("assign_op.h", True), ("cwise_ops_common.cc", False)])
def test_a_first_value_that_finds_a_full_device(kernel: str, asks: bool) -> None:
    text = (
        "2019-09-11 01:58:49.790228: W tensorflow/core/framework/op_kernel.cc:1318] OP_REQUIRES failed at"
        f" {kernel}:117 : Resource exhausted: OOM when allocating tensor with shape[256] and type float on"
        " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
    )
    assert (offered(text)[0] == "see-device-users") is asks


@pytest.mark.parametrize(
    ("said", "grows"),
    [
        ("watch the memory of the pod and see if its memory increases", False),
        ("you can check whether the memory grows", False),
        ("the memory grows, as far as I can see, if I call predict", True),
    ],
)
def test_a_question_tells_of_no_growth(said: str, grows: bool) -> None:
    told = explained(f"{said}\n").case.capture.surroundings.shows("growing in words")
    assert (told is not None) is grows


def test_a_pod_that_its_node_evicted() -> None:
    remedies = offered("The node was low on resource: memory.\n")
    assert "raise-container-limit" in remedies
    assert "container-limit" not in remedies


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("strategy = tf.distribute.MirroredStrategy()", "num_replicas_in_sync"),
        ("model = multi_gpu_model(model, gpus=2)", "multi_gpu_model(model"),
    ],
)
def test_a_cause_in_words_beside_a_bare_message(words: str, said: str) -> None:
    text = f"# {words} fails\n\nResourceExhaustedError: OOM when allocating tensor\n"
    assert "most likely it was what each replica" in explained(text).verdict
    assert said in first(text)


def codes(text: str) -> str:
    return " ".join(action.remedy.code or "" for action in explained(text).actions)


def test_the_path_of_a_log_tells_of_windows() -> None:
    file = "T:\\src\\github\\tensorflow\\tensorflow\\stream_executor\\cuda\\cuda_driver.cc:1108]"
    said = "could not synchronize on CUDA context: CUDA_ERROR_LAUNCH_FAILED ::"
    text = f"2018-09-18 15:21:34.702531: E {file} {said}\n"
    assert "set CUDA_LAUNCH_BLOCKING=1" in codes(text)
    linux = text.replace("T:\\src\\github\\tensorflow\\", "").replace("\\", "/")
    assert "export CUDA_LAUNCH_BLOCKING=1" in codes(linux)


def test_the_message_of_another_failure_is_quoted() -> None:
    page = terminal.render(explained("OSError: [Errno 28] No space left on device: '/scratch/ckpt'\n"))
    assert "THE MESSAGE  log line 1: OSError: [Errno 28] No space left on device" in page
    assert "THE MESSAGE" not in terminal.render(explained("My GPU memory is exhausted after an epoch.\n"))


PYTORCH = (
    "RuntimeError: CUDA out of memory. Tried to allocate 14.00 MiB (GPU 1; 15.78 GiB total capacity;"
    " {} already allocated; 53.75 MiB free; {})\n"
)


@pytest.mark.parametrize(
    ("allocated", "own", "others"),
    [
        ("2.68 GiB", "77.13 MiB cached", True),
        ("2.68 GiB", "15.10 GiB reserved in total by PyTorch", False),
        ("14.90 GiB", "77.13 MiB cached", False),
        ("10.99 GiB", "0.00 MiB cached", True),
        ("11.01 GiB", "0.00 MiB cached", False),
    ],
)
def test_what_is_neither_free_nor_pytorchs_own(allocated: str, own: str, others: bool) -> None:
    assert ("see-device-users" in offered(PYTORCH.format(allocated, own))) is others


@pytest.mark.parametrize(
    "text", ["CUDA out of memory. Tried to allocate 14.00 MiB\n", "CUDA out of memory.\n"]
)
def test_a_message_of_pytorch_without_figures(text: str) -> None:
    assert "see-device-users" not in offered(f"RuntimeError: {text}")


def test_a_binding_that_asks_the_driver_for_each_buffer() -> None:
    report = explained("jcuda.CudaException: CUDA_ERROR_OUT_OF_MEMORY\n")
    assert "JCuda's" in report.verdict
    assert offered("jcuda.CudaException: CUDA_ERROR_OUT_OF_MEMORY\n") == ["see-device-users"]


@pytest.mark.parametrize(
    ("title", "crashed"),
    [
        ("# Memory error running tensorflow code on GPU", True),
        ("# Memory error: my GPU is out of memory", False),
    ],
)
def test_an_error_of_memory_that_is_a_crash(title: str, crashed: bool) -> None:
    verdict = explained(f"{title}\n\nit results in a segfault\n").verdict
    assert ("crashed" in verdict) is crashed
    assert ("in words" in verdict) is not crashed


@pytest.mark.parametrize(
    ("said", "short"),
    [
        ("it crashes saying root resources as exhausted", True),
        ("I exhausted all resources on the web", False),
    ],
)
def test_resources_that_are_exhausted_in_words(said: str, short: bool) -> None:
    assert (explained(f"{said}\n").case.capture.surroundings.shows("running short") is not None) is short


def test_a_dump_of_which_only_the_head_is_there() -> None:
    said = "ran out of memory trying to allocate 2.43MiB.  Current allocation summary follows."
    head = f"Allocator (GPU_0_bfc) {said}\n"
    prefix = "2018-07-03 16:01:06.492054: W tensorflow/core/common_runtime/bfc_allocator.cc:275] "
    report = explained(prefix + head)
    assert "its dump ends before" in report.verdict
    assert offered(prefix + head)[0] == "smaller-batch"
    stats = "Stats:\nLimit:                 104857600\nInUse:                  104000000\n"
    assert "ends before" not in explained(prefix + head + stats).verdict


ENDED = "MemoryError\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "    y = np_utils.to_categorical(range(3062), classes)",
            "to_categorical makes a row of many numbers",
        ),
        (
            "    trains = np.empty((train_size, WIDTH, HEIGHT, 3), dtype='float32')",
            "all samples into one array",
        ),
        ("    canvas = np.zeros((height, width, 3))", ""),
        ("    images_A = images_A/255.0", "converts a whole array"),
        ("    x = paths_to_tensor (files) .astype ('float32')", "converts a whole array"),
        ("    gray = 255 - x", ""),
    ],
)
def test_the_line_at_which_host_ram_ran_out(line: str, said: str) -> None:
    frame = '  File "train.py", line 31, in <module>'
    text = f"Traceback (most recent call last):\n{frame}\n{line}\n{ENDED}import keras\n"
    verdict = explained(text).verdict
    assert said in verdict if said else "train.py" not in verdict


def test_labels_are_no_images_of_a_data_set() -> None:
    text = "I hit a MemoryError with `to_categorical(y)`, and 'y.shape = (10000,256,256,4)'\nimport keras\n"
    assert "to_categorical makes" in explained(text).verdict
    assert (
        "in one array the values of `x`"
        in explained("MemoryError with x.shape = (10000,256,256,4)\n").verdict
    )


@pytest.mark.parametrize(("sides", "narrow"), [((400, 400), False), ((9000, 9000), True)])
def test_a_small_array_is_not_advised_to_be_narrower(sides: tuple[int, int], narrow: bool) -> None:
    size = sides[0] * sides[1] * 24 / (1 << 20)
    text = (
        f"MemoryError: Unable to allocate {size:.1f} MiB for an array with shape ({sides[0]}, {sides[1]}, 3)"
        " and data type float64\n"
    )
    assert ("narrow-array" in offered(text)) is narrow


@pytest.mark.parametrize(
    ("said", "helps"),
    [
        ("after change batch from 32 to 16, the OOM issue hasn't happened again", True),
        ("I reduced the batch size from 32 to 16, and it works", True),
        ("I reduced the batch from 32 to 16, and the OOM has happened again", False),
    ],
)
def test_a_batch_that_was_lowered_and_ran(said: str, helps: bool) -> None:
    text = f"# my gpu is out of memory\nI use tensorflow.\n{said}\n"
    assert ("says that a smaller batch runs" in first(text)) is helps


@pytest.mark.parametrize(("rows", "whole"), [("10000", True), ("9999", False)])
def test_rows_that_are_the_samples_of_a_test(rows: str, whole: bool) -> None:
    text = f"{oom(f'{rows},23000', 'MatMul')}\nDid it come from the 10000 test images?\n"
    assert ("samples went through the network at once" in explained(text).verdict) is whole


@pytest.mark.parametrize(("kernel", "batch"), [("concat_op.cc", 64), ("cwise_ops_common.cc", None)])
def test_maps_that_are_joined_are_no_kernel(kernel: str, batch: int | None) -> None:
    text = (
        f"W tensorflow/core/framework/op_kernel.cc:1502] OP_REQUIRES failed at {kernel}:153 : Resource"
        " exhausted: OOM when allocating tensor with shape[64,2048,3,3] and type float on"
        " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
    )
    request = explained(text).case.moments[0].request
    assert request is not None
    assert request.batch == batch


def test_requests_that_make_a_server_grow() -> None:
    said = "Memory usage is growing constantly, every time I hit TF serving for inference."
    assert offered(f"tensorflow/serving:latest\n{said}\n")[0] == "another-malloc"


def test_an_iterator_within_a_scope_is_an_input_pipeline() -> None:
    text = (
        oom("427,640,3", "gray/convert_image/Cast", on=CPU, by="cpu")
        + "\t [[{{node net/IteratorGetNext}}]]\n"
    )
    assert "input pipeline (tf.data)" in explained(text).verdict
    other = oom("427,640,3", "gray/convert_image/Cast", on=CPU, by="cpu") + "\t [[{{node net/GetNext}}]]\n"
    assert "input pipeline (tf.data)" not in explained(other).verdict


LABELS = (
    "Exception has occurred: MemoryError\n"
    "Unable to allocate {} for an array with shape ({}, 5132157) and data type float32\n"
    '  File "C:\\t\\labels.py", line 133, in train_model\n'
    "    y_train = to_categorical(y_train, len(np.unique(y_train)))\n"
    '  File "C:\\t\\activity.py", line 196, in <module>\n'
    "    train_model(model, epochs=1000, batch_size=128)\n"
    "import keras\n"
)


def test_a_debugger_begins_with_the_innermost_frame() -> None:
    report = explained(LABELS.format("574. TiB", "30734400"))
    request = report.case.moments[0].request
    assert request is not None
    assert request.failed.source == "C:\\t\\labels.py:133"


@pytest.mark.parametrize(
    ("size", "rows", "wrong"), [("574. TiB", "30734400", True), ("191. GiB", "10000", False)]
)
def test_an_array_that_no_machine_holds_has_a_wrong_size(size: str, rows: str, wrong: bool) -> None:
    slugs = offered(LABELS.format(size, rows))
    assert (slugs[0] == "find-the-size") is wrong
    assert ("larger-paging-file" in slugs) is not wrong
    assert ("map-the-file" in slugs) is not wrong


def test_a_traceback_of_python_ends_with_the_innermost_frame() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "activity.py", line 196, in <module>\n    train_model(model)\n'
        '  File "labels.py", line 133, in train_model\n    y = to_categorical(y)\n'
        "MemoryError\nimport keras\n"
    )
    request = explained(text).case.moments[0].request
    assert request is not None
    assert request.failed.source == "labels.py:133"


CHUNKS = (
    "2021-10-01 10:11:12.123456: I tensorflow/core/common_runtime/bfc_allocator.cc:1058]"
    " 7 Chunks of size 67108864 totalling 448.00MiB\n"
    "2021-10-01 10:11:12.123456: I tensorflow/core/common_runtime/bfc_allocator.cc:1058]"
    " 3 Chunks of size 134217728 totalling 384.00MiB\n"
)


def test_a_part_of_a_dump_is_no_state_of_the_memory() -> None:
    page = terminal.render(explained(CHUNKS))
    assert "832.00 MiB in the part of the dump that is here (limit unknown)" in page
    assert "[uuuu" not in page
    stats = "Stats: \nLimit:                   1048576000\nInUse:                   1040000000\n"
    assert "part of the dump" not in terminal.render(explained(CHUNKS + stats))


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("\u8bad\u7ec3\u65f6\u5185\u5b58\u6301\u7eed\u589e\u957f", "growing in words"),
        (
            "\u5b66\u7fd2\u4e2d\u306b\u30e1\u30e2\u30ea\u304c\u5897\u3048\u7d9a\u3051\u308b",
            "growing in words",
        ),
        ("\ud559\uc2b5 \uc911 \uba54\ubaa8\ub9ac \ub204\uc218", "growing in words"),
        ("\u8bad\u7ec3\u65f6\u663e\u5b58\u4e0d\u8db3", "running short"),
        ("\u8bad\u7ec3\u65f6\u7cbe\u5ea6\u4e0d\u65ad\u589e\u957f", ""),
    ],
)
def test_memory_in_scripts_that_part_no_words(said: str, fact: str) -> None:
    told = explained(f"{said}\n").case.capture.surroundings
    assert [name for name in ("growing in words", "running short") if told.shows(name)] == [fact] * bool(fact)


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ("batch_size = 8\n", "(8 -> 4)"),
        ("batch_size = 1\n", ""),
        ("batch_size = 8\nbatch_size = 32\n", ""),
        ("", ""),
    ],
)
def test_the_stated_batch_is_the_one_to_lower(stated: str, said: str) -> None:
    text = f"# My GPU runs out of memory\nI train with tensorflow.\n{stated}"
    texts = " ".join(action.remedy.text for action in explained(text).actions)
    assert ("->" in texts) is bool(said)
    assert said in texts


@pytest.mark.parametrize(
    ("where", "of_a_notebook"),
    [
        ("\u6211\u662f\u5728colab\u4e0a\u8bad\u7ec3", True),
        ("I run it in Jupyter", True),
        ("I run it in a terminal", False),
    ],
)
def test_where_the_message_of_a_notebook_is(where: str, of_a_notebook: bool) -> None:
    report = explained(f"# My GPU runs out of memory\nI train with tensorflow.\n{where}\n")
    (wanted,) = [action.remedy for action in report.actions if action.remedy.slug == "read-the-log"]
    assert (wanted.code is None) is of_a_notebook
    assert ("runtime logs" in wanted.text) is of_a_notebook


YARN = "Container killed by YARN for exceeding memory limits. 5.0 GB of 4.2 GB {} memory used.\n"


@pytest.mark.parametrize(("kind", "of_addresses"), [("virtual", True), ("physical", False)])
def test_a_limit_of_addresses_is_none_of_ram(kind: str, of_addresses: bool) -> None:
    report = explained(YARN.format(kind))
    assert ("limit of virtual memory" in report.verdict) is of_addresses
    assert ("vmem-check-enabled" in first(YARN.format(kind))) is of_addresses


@pytest.mark.parametrize(("program", "tidies"), [("tfjs-node-gpu", True), ("tensorflow-gpu", False)])
def test_a_full_pool_of_node_is_tidied(program: str, tidies: bool) -> None:
    text = (
        f"I use {program}\n"
        "Stats: \nLimit:                  7380579124\nInUse:                  7380574720\n"
        "W tensorflow/core/framework/op_kernel.cc:1273] OP_REQUIRES failed at cwise_ops_common.cc:70 :"
        " Resource exhausted: OOM when allocating tensor with shape[1,187,103,4] and type float on"
        " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
    )
    assert ("tidy" in offered(text)) is tidies


def test_a_buffer_that_javascript_does_not_get() -> None:
    said = "(node:1) UnhandledPromiseRejectionWarning: RangeError: Array buffer allocation failed\n"
    assert "JavaScript's" in explained(said).verdict


@pytest.mark.parametrize(
    ("imports", "guessed"), [("from stardist.models import StarDist3D", False), ("", True)]
)
def test_a_tool_that_predicts_has_settings_of_its_own(imports: str, guessed: bool) -> None:
    text = (
        f"# ResourceExhaustedError in predict\n{imports}\nimport keras\n"
        "ResourceExhaustedError: OOM when allocating tensor\n"
    )
    assert ("one batch of the inference" in explained(text).verdict) is guessed
