"""The sizes of what failed by the quantities that its writer states, and what is advised where none is."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.pages import explained
from tfmemlens.renderers.terminal import report as terminal

SCORES = "16,12,512,512"
FULL = (
    "Stats: \nLimit:                     32541507584\nInUse:                     32515384576\n"
    "MaxInUse:                  32515417344\nNumAllocs:                        5196\n"
    "MaxAllocSize:                219477248\n\n"
)


def softmax(told: str = "") -> str:
    line = oom(SCORES, "", kernel="softmax_op_gpu.cu.cc")
    return f"{told}\n{FULL}{line}"


@pytest.mark.parametrize(
    ("told", "batch", "length"),
    [
        ("python train.py --batch-size 16 --max-seq-length 512", "batch-size", "max-seq-length"),
        ("Namespace(batch_size=16, epochs=3, max_len=512)", "batch_size", "max_len"),
        ("with a batch size of 16 and a sequence length of 512", "batch size", "sequence length"),
    ],
)
def test_scores_are_told_by_the_stated_batch_and_length(told: str, batch: str, length: str) -> None:
    report = explained(softmax(told))
    assert f"16 is `{batch}` (line 1) and 512 x 512 are `{length}` (line 1)" in report.verdict
    first = report.actions[0].remedy
    assert first.text.startswith(f"lower `{length}` (line 1: 512 -> 256)")
    assert first.saves_bytes == 144 << 20
    assert "16 -> " in report.actions[1].remedy.text


def test_a_full_device_and_what_the_scores_are() -> None:
    report = explained(softmax())
    assert "24.91 MiB of 30.31 GiB was free; attention scores grow" in report.verdict
    texts = [action.remedy.text for action in report.actions[:2]]
    assert "if its first dimension, 16, is your batch" in texts[0] and "(512 -> 256)" in texts[1]


def test_a_convolution_makes_no_scores() -> None:
    report = explained(softmax().replace("softmax_op_gpu.cu.cc", "conv_ops.cc"))
    assert "attention" not in report.verdict


def test_only_a_line_that_calls_by_hand_goes_in_pieces() -> None:
    called = 'Traceback (most recent call last):\n  File "show.py", line 3, in <module>\n    {}\n'
    end = "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with"
    end += " shape[16,512,512,12] and type float on /device:GPU:0 by allocator GPU_0_bfc{}\n"
    by_hand = explained(called.format("y = tf.cumsum(x, axis=1)") + end.format(" [Op:Cumsum]"))
    assert by_hand.actions[0].remedy.slug == "in-pieces"
    of_a_graph = explained(called.format("out = session.run(logits, feed)") + end.format(""))
    assert "in-pieces" not in [action.remedy.slug for action in of_a_graph.actions]


@pytest.mark.parametrize(
    ("line", "by_hand"),
    [
        ("callbacks=[board, saver])", False),
        ("validation_data=held_out", False),
        ("verbose=True))", False),
        ("y = tf.cumsum(x, axis=1)", True),
        ("y = tf.concat(parts, axis=1)", True),
    ],
)
def test_the_last_argument_of_a_call_says_not_what_was_called(line: str, by_hand: bool) -> None:
    text = FULL + "*" * 100 + "\nOP_REQUIRES failed at constant_op.cc:82 : Resource exhausted: OOM when"
    text += " allocating tensor of shape [48,192,128,96] and type float\n"
    text += f'Traceback (most recent call last):\n  File "run.py", line 7, in main\n    {line}\n'
    report = explained(text)
    assert ("in-pieces" in [action.remedy.slug for action in report.actions]) is by_hand
    assert (report.actions[0].remedy.slug == "smaller-batch") is not by_hand
    assert ("your code" in terminal.render(report)) is by_hand
