"""A volume or an image so large that one of it is a batch."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom, report
from tests.findings.test_what_is_no_batch import explained
from tfmemlens.model.finding import Finding


def found(text: str) -> list[Finding]:
    return [finding for finding in explained(text).findings if finding.rule == "one-large-sample"]


@pytest.mark.parametrize(
    ("shape", "node", "said"),
    [
        (
            "1,24,192,224,192",
            "unet/enc0/Conv3D",
            "one volume of 192 x 224 x 192 makes 756.00 MiB with 24 channels",
        ),
        ("1,192,224,192,24", "unet/enc0/Relu", "192 x 224 x 192 makes 756.00 MiB with 24 channels"),
        ("2,128,128,128,32", "unet/enc0/Relu", "one volume of 128 x 128 x 128 makes 256.00 MiB"),
        ("1,64,3000,4000", "vgg/conv1_2/Conv2D", "one image of 3000 x 4000 makes 2.86 GiB with 64 channels"),
        ("1,2160,3840,16", "net/up_sampling2d/Resize", "one image of 2160 x 3840"),
        ("1,256,256,128,32", "g/conv3d_transpose_7/conv3d_transpose", "256 x 256 x 128 makes 1.00 GiB"),
        ("1,256,256,128,32", "g/conv3d/transpose_1", ""),
        ("8,24,96,112,96", "unet/enc0/Conv3D", ""),
        ("1,24,24,24,24", "unet/enc0/Conv3D", ""),
        ("1,300,300,512", "net/conv/Conv2D", ""),
        ("1,12,4096,4096", "bert/attention/Softmax", ""),
        ("6,48,4700,4700", "sequential/conv2d_3/Relu", ""),
        ("6,48,4800,4800", "sequential/conv2d_3/Relu", "one image of 4800 x 4800 makes 4.12 GiB"),
        ("6,16,8400,8400", "net/block_2/attention/add", ""),
        ("1,64,3000,4000", "vgg/conv1_2/patches", ""),
        ("1,64,3000,4000", "Adam/vgg/conv/m/Initializer/zeros", ""),
    ],
)
def test_the_sample_is_named(shape: str, node: str, said: str) -> None:
    told = found(oom(shape, node))
    assert bool(told) is bool(said)
    assert said in (told[0].because if told else "")


def test_half_the_sides_are_an_eighth_of_a_volume() -> None:
    first = found(oom("1,24,192,224,192", "unet/enc0/Conv3D"))[0].remedies[0]
    assert "96 x 112 x 96" in first.text and first.saves_bytes == 7 * (756 << 20) // 8
    assert "tiles" in found("y = model.predict(x)\n" + oom("1,24,192,224,192", "unet/Conv3D").replace(
        "\n\t", " [Op:__inference_predict_function_7]\n\t"))[0].remedies[0].text  # fmt: skip


def test_a_list_of_holders_says_it_better() -> None:
    rows = report("756.00MiB from unet/enc0/Relu", "756.00MiB from unet/enc1/Relu")
    assert found(oom("1,24,192,224,192", "unet/enc0/Conv3D") + rows) == []


def test_a_sample_that_leaves_no_room_on_a_known_card_is_made_smaller_before_the_batch() -> None:
    text = oom("4,64,2300,2300", "sequential/conv2d_3/Relu")
    assert found(text) == []
    told = found("My card is an RTX 2060.\n" + text)
    assert "a batch of 1 instead of 4 hardly fits, either" in told[0].because
    assert [remedy.slug for remedy in told[0].remedies][:2] == ["smaller-input", "smaller-batch"]
    assert "1152 x 1152" in told[0].remedies[0].text
    alone = found(oom("1,64,4600,4600", "sequential/conv2d_3/Relu"))
    assert "smaller-batch" not in [remedy.slug for remedy in alone[0].remedies]
