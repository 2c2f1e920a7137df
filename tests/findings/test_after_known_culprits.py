"""What programs with a known culprit asked for: float64 in a whole net, traces that leave chunks, one-hot
vectors in the input pipeline, patch matrices of no likely kernel, one tape on the CPU.
"""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, MIB, oom
from tests.findings.test_chunks_without_names import NAME, chunks, explained, failing, finding
from tests.findings.test_what_code_shows import AROUND
from tfmemlens.model.finding import Severity

NORM = "model/layer_normalization_1/moments/variance"
WARNED = (
    "WARNING:tensorflow:5 out of the last 5 calls to <function train_step at 0x7f10> triggered tf.function"
    " retracing. Tracing is expensive and the excessive number of tracings could be due to (1) creating"
    " @tf.function repeatedly in a loop\n"
    "WARNING:tensorflow:6 out of the last 6 calls to <function train_step at 0x7f10> triggered tf.function"
    " retracing. Tracing is expensive and the excessive number of tracings could be due to (1) creating"
    " @tf.function repeatedly in a loop\n"
)


def full(numbers: int, node: str = NORM, dtype: str = "double", used: int = 90) -> str:
    """A layer's request on a device of 100 MiB of which so much is in use."""
    rest = used - 10
    return chunks(8 * numbers, (1, rest * MIB), (2, 5 * MIB), limit=100 * MIB) + oom(
        f"{numbers}", node, dtype=dtype, on=CPU, by=NAME, kernel="reduction_ops_common.h"
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (full(2048), True),  # 16 KiB
        (full(2047), False),
        (full(98304, used=89), False),  # not full
        (full(98304, node="model/bn/moving_variance/read"), False),  # a weight
        (full(98304, dtype="float"), False),
    ],
)
def test_a_small_tensor_of_a_layer_tells_of_a_net_in_float64(text: str, told: bool) -> None:
    found = finding(text, "double-precision")
    assert (found is not None) is told
    if found is not None:
        assert found.severity is Severity.CAUSE and found.explains == 45 * MIB
        assert "in float32 the 90.00 MiB in use would be about half" in found.because
        assert "as the whole net then most likely does" in found.headline


def test_a_mean_of_a_batch_is_no_weight() -> None:
    """Nobody is told that the tensor is a weight, for which few chunks are as large."""
    texts = [action.remedy.text for action in explained(full(98304, dtype="float")).actions]
    assert not [text for text in texts if "this weight" in text]


@pytest.mark.parametrize(("count", "traced"), [(6, True), (5, False)])
def test_traces_stand_before_a_list_that_nobody_showed(count: int, traced: bool) -> None:
    """Two warnings tell of six tracings at least."""
    dump = chunks(80 * MIB, (count, 80 * MIB), (1, MIB), op="__inference_train_step_335")
    report = explained(WARNED + "step 1: 0.5\nstep 2: 0.5\nstep 3: 0.5\n" + dump)
    assert ("is traced again and again" in report.verdict) is traced
    assert (report.actions[0].remedy.slug == "one-signature") is traced


@pytest.mark.parametrize("pipeline", [True, False])
def test_one_hot_vectors_of_the_pipeline_may_be_inputs(pipeline: bool) -> None:
    sentence = oom("32,80,12000", "one_hot", on=CPU, by=NAME, kernel="one_hot_op.cc")
    told = (
        f"{sentence}W0000 00:00:1795464149.410884   30078 local_rendezvous.cc:412] Local rendezvous is"
        " aborting with status: RESOURCE_EXHAUSTED: Error in user-defined function passed to MapDataset:2"
        " transformation with iterator: Iterator::Root::ParallelMapV2: OOM when allocating tensor with"
        f" shape[32,80,12000] and type float on {CPU} by allocator {NAME}\n\t [[{{{{node one_hot}}}}]]\n\t"
        " [[IteratorGetNext]]\n"
    )
    report = explained(told if pipeline else sentence)
    noun, slug = ("ids", "integer-ids") if pipeline else ("labels", "sparse-labels-alone")
    assert f"2,560 {noun} as one-hot vectors of 12,000 numbers" in report.verdict
    assert report.actions[0].remedy.slug == slug


@pytest.mark.parametrize(
    ("shape", "slugs", "saved"),
    [
        ("1,16000,4016", ["smaller-layer-input", "onednn", "one-op-at-a-time"], 2),
        ("1,65536,576", ["smaller-layer-input", "fewer-channels", "onednn", "one-op-at-a-time"], 4),
    ],
)
def test_a_matrix_of_no_likely_kernel_has_no_channels_to_reduce(
    shape: str, slugs: list[str], saved: int
) -> None:
    node = "gradient_tape/net/filters/Conv2DBackpropFilter"
    found = finding(failing(shape, node, "conv_grad_filter_ops.cc"), "im2col-buffer")
    assert found is not None and [remedy.slug for remedy in found.remedies] == slugs
    first, size = found.remedies[0], found.explains
    assert size is not None and first.saves_bytes == size - size // saved
    assert ("such as its length" in first.text) is (saved == 2)


@pytest.mark.parametrize(
    ("made", "fires"),
    [
        ("unet = tf.keras.Sequential([", True),
        ("    unet = models.ResUNet(", True),
        ("    unet = models.SmallNet(", True),
        ("unet = keras.Model(a, b)", True),
        ("unet = rescale(a, b)", False),
    ],
)
def test_the_net_in_the_loop_may_have_any_name(made: str, fires: bool) -> None:
    code = AROUND.replace("model(xs[i], training=True)", "unet(xs[i])")
    assert ("one tape" in explained(f"{made}\n{code}{oom('8,2304,3072', 'net/Gelu')}").verdict) is fires


@pytest.mark.parametrize("sentence", [oom("2,128,128,32", "net/enc2/BiasAdd", on=CPU, by="cpu")])
def test_a_tape_keeps_as_much_on_the_cpu(sentence: str) -> None:
    assert "one tape" in explained(AROUND + sentence).verdict
    host = (
        "MemoryError: Unable to allocate 4.00 GiB for an array with shape (1024, 1024, 1024) and data type"
        " float32\n"
    )
    assert "one tape" not in explained(AROUND + host).verdict


@pytest.mark.parametrize(("limit", "offered"), [(100, False), (150, True), (0, True)])
def test_one_op_at_a_time_is_for_buffers_that_fit_alone(limit: int, offered: bool) -> None:
    """A buffer of 144 MiB: where the limit is below that, no order of ops makes room."""
    node = "gradient_tape/net/filters/Conv2DBackpropFilter"
    before = chunks(144 * MIB, (1, 40 * MIB), op=node, limit=limit * MIB) if limit else ""
    found = finding(before + failing("1,65536,576", node, "conv_grad_filter_ops.cc"), "im2col-buffer")
    assert found is not None
    assert ("one-op-at-a-time" in [remedy.slug for remedy in found.remedies]) is offered
