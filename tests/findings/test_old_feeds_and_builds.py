"""Sets that old programs feed whole, and lines that look like memory in builds and at the start of a run."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.test_what_is_no_batch import explained

FED = 'Traceback (most recent call last):\n  File "net.py", line 167, in <module>\n    {}\n'


@pytest.mark.parametrize(
    ("line", "shape", "fires"),
    [
        ("x: mnist.test.images, y_: mnist.test.labels}))", "10000,1,28,28", True),
        ("acc = sess.run(accuracy, feed_dict={x: X_test, y: Y_test})", "3000,1,40,40", True),
        ("acc = sess.run(accuracy, feed_dict={x: test_images, y: test_labels})", "600,20,20,8", True),
        ("x: mnist.test.images, y_: mnist.test.labels}))", "128,1,28,28", False),
        ("x: mnist.train.images, y_: mnist.train.labels}))", "10000,1,28,28", False),
        ("sess.run(accuracy, feed_dict={x: X_test[i:i + 1000]})", "1000,1,40,40", False),
        ("x: x_test_batch, y_: y_test_batch}))", "1000,1,28,28", False),
    ],
)
def test_a_set_to_test_on_that_is_fed_whole(line: str, shape: str, fires: bool) -> None:
    report = explained(FED.format(line) + oom(shape, "Conv2D"))
    assert ("of a set to test on" in report.verdict) is fires
    assert not fires or report.actions[0].remedy.slug == "in-batches"


CALL = "from keras.models import Sequential\nmodel = Sequential()\nmodel.fit({})\n"


@pytest.mark.parametrize(
    ("given", "fires"),
    [
        ("steps_per_epoch=1, x=X_train, y=Y_train,", True),
        ("X_train, Y_train, steps_per_epoch=4)", True),
        ("X_train, Y_train, steps_per_epoch=4, batch_size=8)", False),
        ("X_train, Y_train, epochs=4)", False),
        ("generator(), steps_per_epoch=40)", False),
    ],
)
def test_steps_of_old_keras_take_whole_arrays(given: str, fires: bool) -> None:
    report = explained(CALL.format(given) + oom("90,3438,300,64", "conv2d_1/Relu"))
    assert ("old Keras takes whole arrays in each step" in report.verdict) is fires
    assert not fires or "batch_size=8" in (report.actions[0].remedy.code or "")


def test_keras_of_tensorflow_2_has_a_batch_of_its_own() -> None:
    text = CALL.replace("from keras.models", "from tensorflow.keras.models").format(
        "X, Y, steps_per_epoch=4)"
    )
    assert "old Keras" not in explained(text + oom("90,3438,300,64", "model/conv2d_1/Relu")).verdict


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "Server terminated abruptly (error code: 14, error message: 'Socket closed')",
            "the build's own server",
        ),
        ("(0) Invalid argument: Nan in summary histogram for: net/outputs", "NaN or infinite"),
        (
            "I pool_allocator.cc:247] PoolAllocator: After 2906 get requests, put_count=2662",
            "pool of host memory",
        ),
    ],
)
def test_lines_that_tell_of_no_lack_of_memory(line: str, said: str) -> None:
    numa = "successful NUMA node read from SysFS had negative value (-1)\n" if "pool" in line else ""
    report = explained(f"{numa}{line}\n")
    assert said in report.verdict and report.verdict.startswith("No ")


@pytest.mark.parametrize(
    ("shape", "at_once"), [("243,1024,1024,16", "16"), ("10000,28,28,32", "100"), ("5001,512,512,64", "16")]
)
def test_what_goes_at_once_is_no_device_full(shape: str, at_once: str) -> None:
    action = explained(oom(shape, "net/conv/Conv2D")).actions[0].remedy
    assert action.slug == "in-batches" and f"with {at_once} samples" in action.text


@pytest.mark.parametrize("shape", ["244,1024,1024,16", "99,1024,1024,16", "243,64,64,16"])
def test_an_even_or_small_batch_may_be_one(shape: str) -> None:
    assert explained(oom(shape, "net/conv/Conv2D")).actions[0].remedy.slug != "in-batches"


PROGRAM = """\
# I keep on getting {said}
import numpy as np
from tensorflow.keras.utils import to_categorical
y = to_categorical(y, num_classes=vocab_size)
model.fit(x, {labels}, batch_size=56)
"""


@pytest.mark.parametrize(
    ("said", "labels", "named"),
    [
        ("'Dst tensor is not initialized'", "y", True),
        ("'Dst tensor is not initialized'", "ids", False),
        ("'Dst tensor is not initialized'", "one_y", False),
    ],
)
def test_labels_of_all_samples_may_be_what_is_copied(said: str, labels: str, named: bool) -> None:
    report = explained(PROGRAM.format(said=said, labels=labels))
    assert ("one-hot labels of all samples (line 3)" in report.verdict) is named
    assert (report.actions[0].remedy.slug == "sparse-labels") is named


def test_a_comment_without_a_teller_is_no_failure() -> None:
    text = PROGRAM.format(said="", labels="y").replace(
        "I keep on getting", "see: Dst tensor is not initialized"
    )
    assert explained(text).verdict.startswith("No out-of-memory message")


HANDLE = "E cuda_dnn.cc:348] could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR\n"
REFUSED = "E cuda_driver.cc:965] failed to allocate {} from device: CUDA_ERROR_OUT_OF_MEMORY\n"


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        (("172.19M (180551680 bytes)",), True),
        (("7.42G (7967143936 bytes)", "172.19M (180551680 bytes)"), False),
        ((), False),
    ],
)
def test_a_small_pool_that_is_refused_tells_of_others(sizes: tuple[str, ...], told: bool) -> None:
    report = explained("".join(map(REFUSED.format, sizes)) + HANDLE)
    assert ("the driver had refused TensorFlow 172.19 MiB (line 1)" in report.verdict) is told
    assert not told or report.actions[0].remedy.text.startswith("end what holds the GPU first")
    assert [action.remedy.slug for action in report.actions].count("see-device-users") == 1


def test_a_full_board_of_shared_memory_is_no_full_disk() -> None:
    text = (
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared"
        " memory (shm).\n"
        "RuntimeError: unable to write to file </torch_169035_19>: No space left on device (28)\n"
    )
    assert [action.remedy.slug for action in explained(text).actions] == ["more-shared-memory"]


NET = """\
import tensorflow as tf
model.add({first})
model.add(Flatten())
model.add(Dense({units}, activation='softmax'))
"""


@pytest.mark.parametrize(
    ("first", "units", "what", "narrower"),
    [
        ("Conv2D(32, 3)", "NUM_CLASSES", "a fully connected kernel", False),
        ("Conv2D(32, 3)", "3817", "a fully connected kernel", True),
        ("Embedding(n, 64)", "NUM_CLASSES", "a weight matrix (an embedding table", False),
    ],
)
def test_the_code_tells_a_kernel_from_a_table(first: str, units: str, what: str, narrower: bool) -> None:
    slot = oom("307328,3817", "training/Adam/Variable_4/Assign")
    report = explained(NET.format(first=first, units=units) + slot)
    assert what in report.verdict
    assert any(action.remedy.slug == "narrower-layer" for action in report.actions) is narrower
