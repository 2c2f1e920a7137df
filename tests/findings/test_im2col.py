"""What the failing shape of a convolution's gradient tells: kernel, filters, transposed or not, and what a
trace beside it makes certain.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tests.builders import MIB, capture, row, timeline
from tests.conftest import SAMPLES
from tests.findings.logs import CPU, dump, oom
from tfmemlens import pipeline
from tfmemlens.findings import im2col_buffer
from tfmemlens.knowledge.convolution import filters_of, most_bytes, volume_kernels_of
from tfmemlens.knowledge.convolution.col_buffer import of_convolution
from tfmemlens.model.case import Balance
from tfmemlens.model.convolution import Convolution, ConvolutionKind
from tfmemlens.model.finding import Certainty, Finding, Severity
from tfmemlens.units import Size
from tfmemlens.values import replace as model_replace

FILTER = "gradients/refine/Conv2D_grad/Conv2DBackpropFilter"


def failing(
    shape: str, node: str = FILTER, kernel: str = "conv_grad_filter_ops.cc", dtype: str = "float"
) -> Finding:
    report = pipeline.explain(oom(shape, node, on=CPU, by="cpu", kernel=kernel, dtype=dtype) + "\n")
    return next(finding for finding in report.findings if finding.rule == "im2col-buffer")


def facts(finding: Finding) -> str:
    return " ".join(proof.fact for proof in finding.evidence)


def test_one_image_says_why_the_batch_does_not_matter() -> None:
    found = failing("1,65536,576")
    assert "256 x 256 output positions x (3 x 3 kernel x 64 channels)" in found.headline
    assert "A smaller batch does not help here" in found.detail
    assert "another 144.00 MiB" in found.detail
    quarter = found.remedies[0]
    assert (quarter.saves_bytes, quarter.certainty) == (108 * MIB, Certainty.EXACT)


def test_the_number_of_images_tells_the_filters() -> None:
    found = failing("374,256,72")
    assert "only a layer of 8 filters" in facts(found)
    assert "a batch of fewer images makes it no smaller" in found.detail


def test_many_images_are_not_promised_to_shrink() -> None:
    """The kernel fills 30 MiB whatever the image's size, so a quarter of the positions is no quarter of the
    buffer.
    """
    assert not [
        remedy.text
        for remedy in failing("374,256,72").remedies
        if "a quarter" in remedy.text or "channels" in remedy.text
    ]


def test_a_transposed_convolution_is_no_gradient() -> None:
    found = failing("1,16384,1600", "decoder/up_2/conv2d_transpose", "conv_grad_input_ops.cc")
    assert (
        "of a transposed convolution: 128 x 128 input positions x (5 x 5 kernel x 64 output channels)"
        in found.headline
    )
    assert "depth_to_space" in " ".join(remedy.text for remedy in found.remedies)
    assert "transposed" not in failing("1,16384,1600").headline


def test_a_trace_beside_the_failure_makes_the_kernel_certain() -> None:
    """576 columns may be 3 x 3 x 64 or 6 x 6 x 16; the traced weight gradient decides."""
    weights = replace(row(FILTER, 6 * 6 * 16 * 32 * 4 / MIB, 0, 1), shape=(6, 6, 16, 32))
    output = replace(row("refine/Conv2D", 8 * 512 * 128 * 32 * 4 / MIB, 0, 1), shape=(8, 512, 128, 32))
    log = pipeline.capture(
        oom("1,65536,576", FILTER, on=CPU, by="cpu", kernel="conv_grad_filter_ops.cc") + "\n"
    )
    report = pipeline.report(replace(log, timelines=capture(timeline(weights, output)).timelines))
    found = next(finding for finding in report.findings if finding.rule == "im2col-buffer")
    assert "512 x 128 output positions x (6 x 6 kernel x 16 channels)" in found.headline
    assert "[6,6,16,32], so the kernel is certain" in facts(found)


def test_a_graph_beside_the_failure_does_so_too() -> None:
    trace = SAMPLES / "run_metadata" / "2.11-unet.pb.gz"
    graph = pipeline.capture(str(trace)).graph
    node = "gradients/shared_model/unet_11/Conv2D_grad/Conv2DBackpropFilter"
    log = pipeline.capture(oom("4,4096,576", node, on=CPU, by="cpu", kernel="conv_grad_filter_ops.cc") + "\n")
    found = next(
        finding
        for finding in pipeline.report(replace(log, graph=graph)).findings
        if finding.rule == "im2col-buffer"
    )
    assert "3 x 3 kernel x 64 channels" in found.headline
    assert "the graph has the weights of this layer: [3,3,64,3]" in facts(found)


@pytest.mark.parametrize("filters", [1, 3, 8, 31, 64])
@pytest.mark.parametrize(("side", "kernel", "channels"), [(16, 3, 8), (28, 5, 1), (64, 3, 16), (30, 7, 4)])
def test_filters_are_found_again(side: int, kernel: int, channels: int, filters: int) -> None:
    conv = Convolution(
        ConvolutionKind.CONV, (4, side, side, channels), (kernel, kernel), filters, (1, 1), (1, 1), "same"
    )
    images = of_convolution(conv).images_of_filter_gradient()
    found = filters_of(images, side * side, kernel * kernel * channels)
    assert images > 1
    assert found
    assert found[0] <= filters <= found[1]
    assert math.prod((images, side * side, kernel * kernel * channels, 4)) <= most_bytes(
        side * side, kernel * kernel * channels
    )


def test_pointwise_kernels_of_volumes_are_unrolled_as_well() -> None:
    """A 3-D U-Net's last layer, 1 x 1 x 1 over 16 channels, died in TensorFlow 2.11 on [23,262144,16] at a
    batch of two: 23 volumes filled the L3 cache.
    """
    text = (
        (SAMPLES / "oom_log" / "2.4-conv3d.txt")
        .read_text(encoding="utf-8")
        .replace("[1,131072,432]", "[23,262144,16]")
    )
    report = pipeline.explain(text)
    finding = next(found for found in report.findings if found.rule == "im2col-buffer")
    assert "(1 x 1 x 1 kernel x 16 channels)" in finding.headline
    assert "30 MiB" not in finding.detail and "L3 cache (23 here, 16.00 MiB each)" in finding.detail
    assert "Dense" in finding.remedies[-1].text
    smaller = next(remedy for remedy in finding.remedies if remedy.slug == "split-volume")
    assert "the buffer stays as large as the cache" in smaller.text
    assert smaller.saves_bytes is None, "fewer positions only let more volumes in"


@pytest.mark.parametrize(
    ("line", "kernel"),
    [
        ("tf.layers.conv3d(x, classes, 1, name='head')", "1 x 1 x 1 kernel x 8 channels"),
        ("layers.Conv3D(4, kernel_size=2)(x)", "2 x 2 x 2 kernel x 1 channels"),
        ("head(x)", "2 x 2 x 2 kernel x 1 channels"),  # nothing states it: the likeliest
        ("tf.layers.conv3d(x, classes, 3)", "2 x 2 x 2 kernel x 1 channels"),  # not of so many columns
    ],
)
def test_the_line_states_the_kernel_of_a_volume(line: str, kernel: str) -> None:
    code = f'Traceback (most recent call last):\n  File "net.py", line 35, in vnet\n    return {line}\n'
    text = code + oom("12,262144,8", "gradients/head/Conv3D_grad/Conv3DBackpropFilterV2", on=CPU, by="cpu")
    finding = next(found for found in pipeline.explain(text).findings if found.rule == "im2col-buffer")
    assert finding.because and "room for 12 volumes" in finding.because
    assert kernel in finding.headline


@pytest.mark.parametrize(("number", "named"), [(64, True), (65, False)])
def test_the_side_of_the_patch_is_named(number: int, named: bool) -> None:
    text = (
        (SAMPLES / "oom_log" / "2.4-conv3d.txt")
        .read_text(encoding="utf-8")
        .replace("[1,131072,432]", "[23,262144,16]")
    )
    report = pipeline.explain(f"parser.add_argument('--patch', type=int, default={number})\n{text}")
    finding = next(found for found in report.findings if found.rule == "im2col-buffer")
    slugs = {each.slug: each.text for each in finding.remedies}
    assert ("`patch`, line 1: 64 -> 32" in slugs["split-volume"]) is named


@pytest.mark.parametrize(
    ("patch", "kernel"),
    [
        (432, (3, 16)),
        (27, (3, 1)),
        (16, (1, 16)),
        (128, (2, 16)),
        (864, (3, 32)),
        (2000, (5, 16)),
        (64, (2, 8)),
    ],
)
def test_the_likeliest_kernel_of_a_volume(patch: int, kernel: tuple[int, int]) -> None:
    assert volume_kernels_of(patch)[0] == kernel


@pytest.mark.parametrize(
    ("limit", "in_use", "last_straw"),
    [(361, 307, True), (361, 306, False), (360, 306, False), (None, 306, False), (361, None, False)],
)
def test_a_small_buffer_on_a_full_device_is_no_cause(
    limit: int | None, in_use: int | None, last_straw: bool
) -> None:
    """The buffer has 36 MiB; 85 % of 361 are 306.85."""
    sentence = oom("256,256,144", FILTER, on=CPU, by="cpu", kernel="conv_grad_filter_ops.cc") + "\n"
    case = pipeline.explain(sentence).case
    size = {
        name: value and Size.exactly(value * MIB) for name, value in (("limit", limit), ("in_use", in_use))
    }
    moment = model_replace(case.moments[0], balance=Balance(**size))
    (found,) = im2col_buffer.check(model_replace(case, moments=(moment,)))
    assert found.explains == 36 * MIB
    assert (found.severity is Severity.FACTOR) is last_straw


def test_one_batch_is_advised_once() -> None:
    whole = dump(108, 250, 60, (64, 40, 40), op="net/conv/Relu") + oom("24,64,64,288", "net/conv/Relu")
    texts = [action.remedy.text for action in pipeline.explain(whole + "    model.fit(x)\n").actions]
    assert sum("24 -> 12" in text for text in texts) <= 1


PICTURES = """
seen = keras.Input((96, 96, 3))
x = keras.layers.Conv2D(40, 3, padding="same", name="first")(seen)
x = keras.layers.Conv2D(16, 6, padding="same", name="{name}")(x)
x = keras.layers.Conv2D(8, 3, padding="same", name="last")(x)
"""


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("refine", "96 x 96 output positions x (6 x 6 kernel x 40 channels)"),
        ("other", "(6 x 6 kernel x 40 channels)"),  # the one kernel of so many columns
    ],
)
def test_the_code_tells_the_kernel(name: str, said: str) -> None:
    """1,440 columns may as well be 3 x 3 x 160 or 4 x 4 x 90."""
    text = PICTURES.format(name=name) + oom(
        "1,9216,1440", FILTER, on=CPU, by="cpu", kernel="conv_grad_filter_ops.cc"
    )
    found = next(each for each in pipeline.explain(text).findings if each.rule == "im2col-buffer")
    assert said in found.headline and "the code has the weights of this layer" in facts(found)


def test_two_kernels_of_so_many_columns_leave_it_open() -> None:
    code = PICTURES.format(name="other") + 'x = keras.layers.Conv2D(160, 1, name="wide")(x)\n'
    code += 'x = keras.layers.Conv2D(16, 3, padding="same", name="next")(x)\n'
    text = code + oom("1,9216,1440", FILTER, on=CPU, by="cpu", kernel="conv_grad_filter_ops.cc")
    found = next(each for each in pipeline.explain(text).findings if each.rule == "im2col-buffer")
    assert "the code has the weights" not in facts(found)


@pytest.mark.parametrize("call", ["gradient", "jacobian"])
def test_an_eager_gradient_is_no_transposed_convolution(call: str) -> None:
    op = "{{function_node __wrapped__Conv2DBackpropInput_device_/job:localhost/task:0/device:CPU:0}} "
    frame = f'  File "run.py", line 9, in step\n    g = tape.{call}(loss, w)\n'
    text = f"Traceback (most recent call last):\n{frame}"
    sentence = oom("1,16000,8256", on=CPU, by="cpu").partition("\n\t")[0]
    log = f"{text}{sentence.replace('OOM when', f'{op}OOM when')}\n"
    found = [each for each in pipeline.explain(log).findings if each.rule == "im2col-buffer"]
    assert found and "a convolution's gradient on the CPU" in found[0].because
