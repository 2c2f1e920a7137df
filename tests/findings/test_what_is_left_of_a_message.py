"""Posts of which a message's middle, its end or its code is left: what they name is used, and something to
change stands beside what to add.
"""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

TAG = " [[{{{{node {}}}}}]]\nHint: If you want to see a list of allocated tensors when OOM happens, add x\n\n"
TRACE = (
    'Traceback (most recent call last):\n  File "trains.py", line 196, in process\n    {}\n'
    '  File "/lib/site-packages/tensorflow/python/client/session.py", line 950, in run\n    run_metadata)\n'
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: 2 root error(s) fou\n"
)


def test_the_tag_above_a_cut_message_names_the_node() -> None:
    of_a_layer = explained(TAG.format("net/bn_1/FusedBatchNorm") + TRACE.format("sess.run(op, feed)"))
    assert "the node `net/bn_1/FusedBatchNorm` (line 1)" in of_a_layer.verdict
    assert "layout pass" not in of_a_layer.verdict
    copy = TAG.format("net/bn/FusedBatchNorm-0-0-TransposeNCHWToNHWC-LayoutOptimizer")
    assert "a copy that TensorFlow's layout pass added" in explained(copy + TRACE.format("x")).verdict


@pytest.mark.parametrize(
    ("call", "evaluates"),
    [
        ("feed_dict=val_feed", True),
        ("feed_dict = eval_dict", True),
        ("feed_dict=valves", False),
        ("feed_dict=feed", False),
    ],
)
def test_a_feed_of_validation_data_is_an_evaluation(call: str, evaluates: bool) -> None:
    slugs = offered(TAG.format("net/conv/Conv2D") + TRACE.format(call))
    assert ("smaller-evaluation-batch" in slugs) is evaluates


def test_a_hint_alone_gets_something_to_change() -> None:
    hint = "It always says\nHint: If you want to see a list of allocated tensors when OOM happens, add"
    hint += (
        " report_tensor_allocations_upon_oom to RunOptions for current allocation info.\n\nhow to solve it?\n"
    )
    assert offered(hint)[0] == "smaller-batch"


@pytest.mark.parametrize("gap", ["", " "])
def test_a_file_behind_the_error_is_a_disk_s(gap: str) -> None:
    text = f"W tensorflow/op_kernel.cc:975] Resource exhausted:{gap}/home/net-35.data-00000-of-00001\n"
    assert "No lack of memory" in explained(text).verdict


def test_an_op_behind_the_error_is_no_file() -> None:
    text = "W tensorflow/core/framework/op_kernel.cc:975] Resource exhausted:OOM when allocating tensor with"
    assert "No lack of memory" not in explained(text + " shape[64,512,512,64]\n").verdict


LEAK = (
    "# Memory leak in tfjs-node\n\nconst tf = require('@tensorflow/tfjs-node');\nwhile (i--) {{\n  {}\n}}\n"
)


@pytest.mark.parametrize(
    ("code", "tidies"),
    [
        ("tf.tidy(() => model.predict(x));", True),
        ("model.predict(x);", False),
        ("// should I use tf.tidy(?", False),
    ],
)
def test_who_tidies_is_not_told_to(code: str, tidies: bool) -> None:
    assert ("tidy" in offered(LEAK.format(code))) is not tidies


def test_the_board_s_ram_comes_before_a_guess() -> None:
    text = "# Jetson Nano not enough memory\n\nmemory not enough when it creates the inference\n"
    report = explained(text)
    assert "share one RAM" in report.verdict and "most likely" not in report.verdict
    assert report.actions[0].remedy.slug == "free-shared-ram"


SMALL = "OP_REQUIRES failed at random_op.cc:202 : Resource exhausted: OOM when allocating tensor with"
SMALL += " shape[{}] and type float on /job:localhost/replica:0/task:0/device:{}:0 by allocator {}\n"


@pytest.mark.parametrize(
    ("shape", "device", "allocator", "small"),
    [
        ("576,864", "GPU", "GPU_0_bfc", True),
        ("2560,864", "GPU", "GPU_0_bfc", False),
        ("576,864", "CPU", "cpu", False),
        ("64,64", "CPU", "cpu", True),
    ],
)
def test_what_is_next_to_nothing_of_a_device(shape: str, device: str, allocator: str, small: bool) -> None:
    report = explained(SMALL.format(shape, device, allocator))
    assert ("bystander" in report.verdict) is small


@pytest.mark.parametrize(("words", "pretrained"), [(50257, True), (50259, False)])
def test_a_pretrained_vocabulary_is_not_made_smaller(words: int, pretrained: bool) -> None:
    text = f"ResourceExhaustedError: OOM when allocating tensor with shape[2,1023,{words}] and type float on"
    report = explained(f"{text} /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n")
    slugs = [action.remedy.slug for action in report.actions]
    assert ("smaller-vocabulary" in slugs) is not pretrained
    assert ("words of GPT-2" in report.verdict) is pretrained
    assert not pretrained or slugs[0] == "shorter-sequences"
