"""No claim and no advice that a figure of the same text contradicts."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, dump_by_size, oom
from tests.findings.pages import explained, first, offered

FRAME = 'Traceback (most recent call last):\n  File "grasp.py", line 61, in predict\n    {line}\n'


@pytest.mark.parametrize(
    ("node", "line", "scores"),
    [
        ("stage2/conv3/bn/cond/output/_77-0-0-TransposeNCHWToNHWC-LayoutOptimizer", "scores = run(x)", False),
        ("stage2/conv3/bn/cond/output", "scores = run(x)", False),
        ("stage2/mixer/mul", "boxes, scores = sess.run(self.ops, feed)", False),
        ("stage2/mixer/mul", "scores = q * k", True),
        ("stage2/conv3/attention/mul", "y = layer(x)", True),
    ],
)
def test_scores_are_none_of_a_feature_map_nor_of_a_run(node: str, line: str, scores: bool) -> None:
    report = explained(FRAME.format(line=line) + oom("4,2048,128,128", node))
    assert ("attention-scores" in [each.rule for each in report.findings]) is scores


@pytest.mark.parametrize(
    ("shape", "pairs"),
    [
        ("2,2,128,192,128,192", True),
        ("4,96,96,96,96", True),
        ("64,64,64,64,64,64", False),
        ("2,2,128,192,64,96", False),
        ("2,128,128,3", False),
    ],
)
def test_positions_with_every_other_are_said(shape: str, pairs: bool) -> None:
    report = explained(f"OOM when allocating tensor with shape[{shape}]\n")
    assert ("positions with every other" in report.verdict) is pairs


def test_half_that_no_card_holds_is_not_advised() -> None:
    large, small = (f"OOM when allocating tensor with shape[4,{side},65536]\n" for side in (65536, 2048))
    assert "halve it" not in first(large) and "still leaves 32.00 GiB" in first(large)
    assert "halve it (4 -> 2)" in first(small)


def test_without_a_device_a_part_is_advised_that_fits_any() -> None:
    told = first(oom("1200000,90000", "score/MatMul") + " [Op:MatMul]")
    assert "1200000 -> 4096 (a guess): the tensor then takes 1.37 GiB" in told


CUT = (
    "# OOM when allocating tensor with shape[{shape}]\n"
    "I core/common_runtime/bfc_allocator.cc:700] Sum Total of in-use chunks: 3.02GiB\n"
    "I core/common_runtime/bfc_allocator.cc:702] Stats: \nLimit:                  3292128870\n"
    "InUse:                  3246350848\nMaxInUse:               3249725952\nNumAllocs:  7135\n"
    "MaxAllocSize:             66330624\n"
)


@pytest.mark.parametrize(("shape", "pieces"), [("1024,8192", True), ("4096,8192", False)])
def test_a_request_below_what_is_left_contradicts_that_it_would_fit(shape: str, pieces: bool) -> None:
    verdict = explained(CUT.format(shape=shape)).verdict
    assert ("lay in pieces" in verdict) is pieces
    assert ("any request above" in verdict) is not pieces


HOST_POOL = (
    "2019-02-03 04:05:06.100000: I tensorflow/core/common_runtime/bfc_allocator.cc:645] Sum Total of in-use"
    " chunks: 6.00GiB\nStats: \nLimit:                 68719476736\nInUse:                 {used}\n"
    "MaxInUse:              {used}\nNumAllocs:                    41\nMaxAllocSize:            3221225472\n"
)


@pytest.mark.parametrize(("used", "more"), [(6 << 30, False), (60 << 30, True)])
def test_a_limit_that_was_not_met_is_not_raised(used: int, more: bool) -> None:
    text = "# gpu_host_bfc is full\n" + HOST_POOL.format(used=used)
    assert ("larger-host-pool" in offered(text)) is more
    assert ("its limit was not met" in explained(text).verdict) is not more


STARTED = (
    "2018-01-02 03:04:05.6: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1030] Found device 0 with"
    " properties: \nname: GeForce GTX 1070 major: 6 minor: 1 memoryClockRate(GHz): 1.7\n"
    "pciBusID: 0000:01:00.0\ntotalMemory: 7.93GiB freeMemory: {free}GiB\nI reduced the batch size, in vain.\n"
)


@pytest.mark.parametrize(("free", "others"), [("7.81", False), ("6.20", True)])
def test_others_are_not_looked_for_on_a_gpu_that_was_free(free: str, others: bool) -> None:
    text = STARTED.format(free=free) + "OOM when allocating tensor with shape[64,15000]\n"
    assert ("see-device-users" in offered(text)) is others


SUMMARY = "Layer (type)   Output Shape   Param #\n" + "".join(
    f"{kind}_{number} ({name})   (None, 100)   {count}\n"
    for kind, name, count in (("input", "InputLayer", 0), ("embedding", "Embedding", 4000000))
    for number in (31, 32)
)


def test_a_model_is_counted_by_a_name_that_the_text_has() -> None:
    report = explained(SUMMARY + "ResourceExhaustedError: OOM when allocating tensor of shape [40000,100]\n")
    told = " ".join(each.headline for each in report.findings if each.rule == "stale-graphs")
    assert "_31`" in told and "_15`" not in told


KERNEL = (
    'Traceback (most recent call last):\n  File "/tmp/ipykernel_9/11.py", line 7, in work\n    y = net(x)\n'
    "ResourceExhaustedError: Exception encountered when calling RandomFlip.call().\n\n"
    "{{{{function_node __wrapped__Maximum_device_/job:localhost/replica:0/task:0/device:GPU:0}}}} failed to"
    " allocate memory [Op:Maximum] name: \n\nArguments received by RandomFlip.call():\n"
    "  • data=tf.Tensor(shape=({shape}), dtype=float32)\n"
)
CODE = "def work(names, chunk=300):\n    model.predict(x, batch_size=32)\n"


def test_the_batch_of_another_call_is_not_halved() -> None:
    told = first(CODE + KERNEL.format(shape="1500, 256, 256, 3"))
    assert told.startswith("lower `chunk` (300 -> 37, line 1)") and "not with 32" in told


@pytest.mark.parametrize("shape", ["32, 256, 256, 3", "96, 256, 256, 3", "16, 256, 256, 3"])
def test_a_batch_that_the_layer_was_given_is(shape: str) -> None:
    texts = [action.remedy.text for action in explained(CODE + KERNEL.format(shape=shape)).actions]
    assert not any("samples at once" in text for text in texts)


def test_a_notebook_with_a_small_input_is_told_to_begin_anew() -> None:
    texts = [action.remedy.text for action in explained(KERNEL.format(shape="8, 256, 256, 3")).actions]
    assert any("restart the kernel" in text and "only 6.00 MiB" in text for text in texts)
    texts = [action.remedy.text for action in explained(KERNEL.format(shape="9000, 512, 512, 3")).actions]
    assert not any("restart the kernel" in text for text in texts)


BAR = "{what}: 100%|{bar}| 2700/2700 [00:00<00:00, {rate}it/s]\n"


@pytest.mark.parametrize(
    ("what", "rate", "steps"),
    [
        ("Resolving data files", "812.20", 0),
        ("Rows", "320085.38", 0),
        ("train", "812.20", 1),
    ],
)
def test_bars_of_files_are_no_steps(what: str, rate: str, steps: int) -> None:
    text = BAR.format(what=what, bar="█" * 150, rate=rate) + oom("8,64,64,64")
    assert len(explained(text).case.capture.surroundings.progress) == steps


def test_a_small_tensor_in_host_ram_is_no_batch_of_evaluation() -> None:
    bar = "15/15 [==============================] - ETA: 0s - loss: 7.8\n"
    small = oom("1,512,640,3", "", on=CPU, by="cpu", kernel="cast_op.cc")
    assert offered(bar + small)[0] == "find-what-grows"
    large = oom("8,2048,2048,64", "", on=CPU, by="cpu", kernel="cast_op.cc")
    assert "smaller-evaluation-batch" in offered(bar + large)


POST = "My GPU runs out of memory.\nCan you try reducing the batch size? It may help.\n{answer}\n"


@pytest.mark.parametrize(
    ("answer", "tried"),
    [
        ("The batch size I used is already set to 8. But still the same error.", False),
        ("I did. But still the same error.", True),
        ("I reduced the batch size to 2. Still the same error.", True),
    ],
)
def test_a_batch_that_is_set_was_not_made_smaller(answer: str, tried: bool) -> None:
    told = explained(POST.format(answer=answer)).case.capture.surroundings
    assert (told.shows("a smaller batch in vain") is not None) is tried


@pytest.mark.parametrize(("count", "kept"), [(4000, True), (40, False)])
def test_thousands_of_its_own_size_are_kept_whoever_has_the_device(count: int, kept: bool) -> None:
    size = 115200
    text = dump_by_size(size, 440, (count, size), (1, (440 << 20) - 4000 * size - 4096)) + "\n"
    text += oom("16,30,30,2", "Forward/Cast", kernel="cast_op.cc") + " [Op:Cast]\n"
    verdict = explained(text).verdict
    assert ("as if each step left one behind" in verdict) is kept


ACCOUNT = """import jax
RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2110783616 bytes.
BufferAssignment OOM Debugging.
BufferAssignment stats:
             parameter allocation:    1.02GiB
              constant allocation:         0B
        maybe_live_out allocation:    4.89GiB
     preallocated temp allocation:    1.97GiB
                 total allocation:    7.88GiB
Peak buffers:
	Buffer 1:
		Size: 4.89GiB
		Operator: op_name="jit({one})/jit(main)/dot_general"
		XLA Label: custom-call
		Shape: f32[5104,257152]
		==========================

	Buffer 2:
		Size: 1.96GiB
		Operator: op_name="jit({one})/jit(main)/{other}"
		XLA Label: fusion
		Shape: f32[2048,257152]
		==========================
"""


@pytest.mark.parametrize(("one", "other", "alone"), [("dot", "dot_general", True), ("f", "scan/mul", False)])
def test_an_operation_by_itself_is_no_step(one: str, other: str, alone: bool) -> None:
    text = ACCOUNT.format(one=one, other=other)
    assert (f"`{one}` ran by itself" in explained(text).verdict) is alone
    assert ("compile-the-call" in offered(text)) is alone and ("donate-buffers" not in offered(text)) >= alone


def test_a_matrix_is_not_suspected_before_who_has_the_device() -> None:
    copied = (
        "InternalError: Dst tensor is not initialized.\n\t [[Node: zeros = Const[dtype=DT_FLOAT, value="
        'Tensor<type: float shape: [{rows},1024] values: [0 0 0]...>, _device="/job:localhost/'
        'replica:0/task:0/gpu:0"]()]]\n'
    )
    tiny, usual = (
        dump_by_size(4 * 1024 * rows, limit, (2, 4718592)) + "\n" + copied.format(rows=rows)
        for rows, limit in ((70000, 153), (700000, 2048))
    )
    assert offered(tiny)[0] == "see-device-users"
    assert offered(usual)[0] == "check-the-matrix"
