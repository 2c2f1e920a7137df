"""The quoted line that made an op which ran by itself, operands that the text states, loops under a tape."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.test_settings_and_sets import EAGER
from tests.findings.test_what_is_no_batch import explained, slugs


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("K = tf.matmul(X, X, transpose_b=True)   # X is 60000 x 784", True),
        (
            "K = tf.matmul(X, X, transpose_b=True)\nprint(tf.matmul(a, b))",
            True,
        ),  # what prints makes no result
        ("K = tf.matmul(X, X, transpose_b=True)\nz = tf.matmul(a, b)", False),  # nobody knows which
        ("# K = tf.matmul(X, X, transpose_b=True)", False),
        ("K = tf.linalg.svd(X)", False),
    ],
)
def test_the_only_quoted_line_that_makes_the_op_is_the_one(code: str, told: bool) -> None:
    verdict = explained(f"{code}\n{EAGER.format(shape='60000,60000', op='MatMul')}").verdict
    assert ("a number for each pair of rows (line 1)" in verdict) is told


def test_a_frame_counts_for_more_than_quoted_code() -> None:
    frame = 'Traceback (most recent call last):\n  File "fit.py", line 9, in <module>\n    y = net(x)\n'
    text = f"K = tf.matmul(X, X, transpose_b=True)\n{frame}{EAGER.format(shape='60000,60000', op='MatMul')}"
    assert "each pair of rows" not in explained(text).verdict


@pytest.mark.parametrize(
    ("stated", "shape", "told"),
    [
        ("y is (40000,), p is (40000, 1)", "40000,40000", "Sub of [40000] (line 1) and [40000,1] broadcasts"),
        ("y_val (9000,)\np (9000, 1)", "9000,9000", "[9000] (line 1) and [9000,1] (line 2) broadcasts"),
        ("a (512, 1, 64), b (1, 4096, 64)", "512,4096,64", "and [1,4096,64] broadcasts to [512,4096,64]"),
        ("y is (40000,), p is (40000, 2)", "40000,40000", ""),
        ("a (512, 4096, 64), b (512, 4096, 64)", "512,4096,64", ""),
        ("a (512, 4096, 64), b (1, 1, 64)", "512,4096,64", ""),  # a bias costs nothing
    ],
)
def test_two_stated_shapes_that_broadcast_to_the_failed_one(stated: str, shape: str, told: str) -> None:
    verdict = explained(f"{stated}\n{EAGER.format(shape=shape, op='Sub')}").verdict
    assert told in verdict and ("most likely they lack one shape" in verdict) is bool(told)


def test_three_equal_sides_are_triplets_and_no_components() -> None:
    told = explained(EAGER.format(shape="2048,2048,2048", op="Sub"))
    assert "every triplet of 2,048 rows" in told.verdict
    assert "matrix-product" not in [action.remedy.slug for action in told.actions]
    near = explained(EAGER.format(shape="2048,2048,1024", op="Sub"))
    assert "triplet" not in near.verdict and near.actions[0].remedy.slug == "matrix-product"


LOOP = (
    "with tf.GradientTape() as tape:\n    state = tf.zeros([128, 512])\n{loop}\n"
    "        {turn}\n    loss = tf.reduce_mean(state)\n"
)
SMALL = EAGER.format(shape="128,512", op="AddV2")


@pytest.mark.parametrize(
    ("loop", "turn", "told"),
    [
        ("    for t in range(2000):", "state = cell(x[:, t], state)", "of the 2000 iterations of the loop"),
        ("    for t in range(1, steps):", "h, c = lstm(x[t], h, c)", "each iteration of the loop in line 3"),
        ("    for t in range(2000):", "y = cell(x[:, t])", ""),
        ("    for name in names:", "state = cell(name, state)", ""),
    ],
)  # fmt: skip
def test_a_loop_over_time_under_a_tape_keeps_its_turns(loop: str, turn: str, told: str) -> None:
    verdict = explained(LOOP.format(loop=loop, turn=turn) + SMALL).verdict
    assert told in verdict and ("the tape of line 1 keeps" in verdict) is bool(told)


def test_a_large_request_under_the_tape_is_its_own_cause() -> None:
    code = LOOP.format(loop="    for t in range(2000):", turn="state = cell(x[:, t], state)")
    assert "the tape of line" not in explained(code + oom("128,512,4096", "net/Relu")).verdict


def test_no_more_sides_than_an_image_has() -> None:
    told = explained("IMAGE_MAX_DIM = 1024\n" + oom("4,256,256,256", "fpn_p2/convolution"))
    assert "256 x 256 are 1024 (`IMAGE_MAX_DIM`, line 1) / 4" in told.verdict


@pytest.mark.parametrize(
    ("stated", "told"),
    [("x_train.shape = (5400, 12000, 64)", True), ("kernel (5400, 12000, 64)", False)],
)
def test_the_second_size_of_a_stated_array_is_a_length(stated: str, told: bool) -> None:
    report = explained(f"{stated}\n" + oom("12000,32,768", "net/gru/CudnnRNNBackprop"))
    assert ("12000 is the length in `x_train` (line 1)" in report.verdict) is told
    assert ("shorter-sequences" in [action.remedy.slug for action in report.actions]) is told


ARRAY = (
    "MemoryError: Unable to allocate 224. GiB for an array with shape (120000, 250000) and data type"
    " float64\n"
)


def test_arrays_of_python_by_the_line_that_makes_them() -> None:
    assert "a sparse matrix out in full" in explained(f"model.fit(x.toarray(), y)\n{ARRAY}").verdict
    assert "sparse" not in explained(f"model.fit(x, y)\n{ARRAY}").verdict
    frame = (
        'Traceback (most recent call last):\n  File "a.py", line 4, in <module>\n    X = np.zeros((n, m{}))\n'
    )
    codes = [
        explained(frame.format(dtype) + ARRAY).actions[0].remedy.code or "" for dtype in ("", ", dtype=float")
    ]
    assert ["np.zeros(shape, dtype" in code for code in codes] == [True, False]


def test_a_buffer_of_steps_that_filled_host_ram_is_named() -> None:
    killed = "Out of memory: Killed process 3312 (python3) total-vm:81233120kB, anon-rss:63411020kB\n"
    assert (
        "a buffer of 1000000 entries (line 1)"
        in explained(f"memory = deque(maxlen=1000000)\n{killed}").verdict
    )
    assert "entries" not in explained(f"scores = deque([])\n{killed}").verdict


def test_a_worker_that_ended_by_signal_9_was_killed() -> None:
    text = "Allocation of 411041792 exceeds 10% of free system memory.\n{}\n"
    worker = "[2021-12-09 07:41:07 +0000] [1] [WARNING] Worker with pid 9 was terminated due to signal {}"
    assert "was killed" in explained(text.format(worker.format(9))).verdict
    assert "was killed" not in explained(text.format(worker.format(15))).verdict


def test_what_asks_for_nothing_that_is_named_gets_no_operands_to_cut() -> None:
    text = (
        "gpu_async_0 cuMemAllocAsync failed to allocate 3221225472 bytes: CUDA error: out of memory"
        " (CUDA_ERROR_OUT_OF_MEMORY)\n Reported by CUDA: Free memory/Total memory: 1181116006/16945512448\n"
    )
    assert "in-pieces" not in slugs(text)
