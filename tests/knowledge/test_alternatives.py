"""Other ways to compute a convolution: each one's bytes are those of the convolution that it makes of it."""

from __future__ import annotations

from typing import Any

import pytest

from tfmemlens.knowledge.convolution import gpu, onednn
from tfmemlens.knowledge.convolution.alternatives import (
    _option,
    alternatives,
    backward_bytes,
    fft_bytes,
    forward_bytes,
)
from tfmemlens.knowledge.convolution.sizes import output_bytes
from tfmemlens.model.convolution import Alternative, Convolution, ConvolutionKind, ConvolutionSetting
from tfmemlens.units import MIB
from tfmemlens.values import replace

OLD, NEW = ConvolutionSetting((1, 15), 2), ConvolutionSetting((2, 11), 2)
GPU = ConvolutionSetting((2, 4), 2, device="gpu")
PLAIN = Convolution(ConvolutionKind.CONV, (8, 64, 64, 32), (5, 5), 48, (1, 1), (1, 1))


def found(
    conv: Convolution, setting: ConvolutionSetting, start: str, applies: str = ""
) -> Alternative | None:
    """The alternative whose text begins so."""
    hits = [
        each
        for each in alternatives(conv, setting)
        if each.text.startswith(start) and each.applies_to.startswith(applies)
    ]
    assert len(hits) < 2
    return hits[0] if hits else None


def taken(conv: Convolution, setting: ConvolutionSetting, start: str, applies: str = "") -> int | None:
    """What that takes at once, after a look at the sum: what it takes and saves is what there is now."""
    option = found(conv, setting, start, applies)
    if option is None:
        return None
    now = backward_bytes if option.applies_to == "backward" else forward_bytes
    assert option.bytes + option.saves_bytes == now(conv, setting)
    return option.bytes


@pytest.mark.parametrize(
    "now, then, offered", [(100, 95, True), (100, 96, False), (100, 0, True), (0, 0, False), (10, 20, False)]
)
def test_a_saving_below_a_twentieth_is_not_offered(now: int, then: int, offered: bool) -> None:
    options = list(_option("forward", now, then, "text"))
    assert [(each.bytes, each.saves_bytes) for each in options] == ([(then, now - then)] if offered else [])


class TestTransposed:
    conv = Convolution(ConvolutionKind.TRANSPOSED, (1, 64, 64, 64), (4, 4), 24, (2, 2), (1, 1))

    def test_channels_that_are_moved(self) -> None:
        """Each position makes 2 x 2 outputs of 2 x 2 inputs."""
        plain = Convolution(ConvolutionKind.CONV, (1, 64, 64, 64), (2, 2), 96, (1, 1), (1, 1))
        expected = forward_bytes(plain, OLD) + output_bytes(self.conv)
        assert taken(self.conv, OLD, "a 2 x 2 convolution to 96 channels and depth_to_space(2)") == expected
        odd = replace(self.conv, kernel=(5, 5))
        assert found(odd, OLD, "a 3 x 3 convolution to 96 channels")
        option = found(self.conv, OLD, "a 2 x 2")
        assert option and "tf.nn.depth_to_space" in str(option.code)
        older = found(self.conv, replace(OLD, version=(1, 12)), "a 2 x 2")
        assert older and "y = tf.depth_to_space(" in str(older.code)

    @pytest.mark.parametrize("strides", [(1, 1), (2, 1)])
    def test_only_with_equal_strides_above_one(self, strides: tuple[int, int]) -> None:
        assert not [
            each
            for each in alternatives(replace(self.conv, strides=strides), OLD)
            if "depth_to_space" in each.text
        ]

    @pytest.mark.parametrize(
        "version, onednn_runs, offered",
        [
            (onednn.FIRST, False, True),
            (onednn.FIRST, True, False),
            ((onednn.FIRST[0], onednn.FIRST[1] - 1), False, False),
        ],
    )
    def test_onednn_where_there_is_one(
        self, version: tuple[int, int], onednn_runs: bool, offered: bool
    ) -> None:
        setting = ConvolutionSetting(version, 2, onednn=onednn_runs)
        for applies in ("forward", "backward"):
            option = found(self.conv, setting, "oneDNN's kernels", applies)
            assert bool(option) is offered or applies == "backward"
        backward = found(PLAIN, setting, "oneDNN's kernels", "backward")
        assert bool(backward) is offered
        if backward:
            assert backward.bytes == backward_bytes(PLAIN, replace(setting, onednn=True))


class TestBackward:
    @pytest.mark.parametrize("setting", [OLD, NEW])
    def test_a_smaller_grid_kernel_or_input(self, setting: ConvolutionSetting) -> None:
        def after(**changed: Any) -> int:
            return backward_bytes(replace(PLAIN, **changed), setting)

        assert taken(PLAIN, setting, "stride 2: a quarter", "backward") == after(strides=(2, 2))
        assert taken(PLAIN, setting, "2 layers of 3 x 3", "backward") == after(kernel=(3, 3))
        assert taken(PLAIN, setting, "a 1x1 convolution before it, from 32 to 8", "backward") == after(
            input=(8, 64, 64, 8)
        )
        # 64 outputs: 32 of them with stride 1 reach 31 + 4 + 1 inputs
        assert taken(PLAIN, setting, "train on crops of 36 x 36", "backward") == after(
            input=(8, 36, 36, 32), padding="valid"
        )

    @pytest.mark.parametrize(
        "changed, start, offered",
        [
            ({"input": (8, 64, 64, 31)}, "a 1x1", False),
            ({"kind": ConvolutionKind.TRANSPOSED}, "a 1x1", False),
            ({"kind": ConvolutionKind.TRANSPOSED}, "stride 2", False),
            ({"kind": ConvolutionKind.TRANSPOSED}, "2 layers", False),
            ({"strides": (2, 2)}, "stride 2", False),
            ({"strides": (1, 2)}, "stride 2", False),
            ({"kernel": (3, 3)}, "1 layers", False),
            ({"kernel": (4, 4)}, "1 layers", False),
            ({"kernel": (5, 3)}, "2 layers", False),
            ({"kernel": (15, 15)}, "7 layers of 3 x 3", True),
            ({"kernel": (17, 17)}, "8 layers", False),
            ({"input": (1, 16, 16, 512)}, "train on crops of 12 x 12", True),
            ({"input": (1, 15, 16, 512)}, "train on crops", False),
            ({"strides": (2, 2)}, "train on crops of 35 x 35", True),
        ],
    )
    def test_where_they_apply(self, changed: dict[str, Any], start: str, offered: bool) -> None:
        assert bool(found(replace(PLAIN, **changed), OLD, start, "backward")) is offered

    def test_one_gradient_after_the_other(self) -> None:
        whole = backward_bytes(PLAIN, OLD)
        option = found(PLAIN, OLD, "one gradient after the other", "backward")
        assert option and whole / 2 <= option.bytes < whole


class TestForward:
    def test_below_a_mebibyte_nothing_is_worth_it(self) -> None:
        conv = Convolution(ConvolutionKind.TRANSPOSED, (1, 32, 32, 16), (4, 4), 16, (2, 2), (1, 1))
        assert forward_bytes(conv, OLD) == MIB
        assert [each for each in alternatives(conv, OLD) if each.applies_to == "forward"]
        less = replace(conv, filters=15)
        assert not [each for each in alternatives(less, OLD) if each.applies_to == "forward"]

    def test_fft_for_large_kernels_and_separable_ones(self) -> None:
        conv = Convolution(ConvolutionKind.CONV, (10, 128, 128, 2), (11, 11), 3, (1, 1), (1, 1))
        single = fft_bytes(replace(conv, input=(1, 128, 128, 2)))
        old = ConvolutionSetting((1, 10), 4)
        assert taken(conv, old, "an FFT convolution", "forward") == single
        assert found(replace(conv, kernel=(10, 10)), old, "an FFT") is None
        assert found(replace(conv, dilations=(2, 2)), old, "an FFT") is None

    def test_an_fft_holds_half_spectra_and_two_copies(self) -> None:
        """Sides of 6 + 2 and 5 + 4: 2*3*4 products, 2*(3+4) + 12 + 24 planes of 8 x 5 complex numbers."""
        conv = Convolution(ConvolutionKind.CONV, (2, 6, 5, 3), (3, 5), 4, (1, 1), (1, 1))
        planes = 2 * (3 + 4) + 3 * 4 + 2 * 3 * 4
        assert fft_bytes(conv) == 4 * (planes * 8 * 5 * 2 + 2 * (3 + 4) * 8 * 9)


class TestOnAGpu:
    conv = Convolution(ConvolutionKind.CONV, (64, 64, 64, 64), (4, 4), 64, (1, 1), (1, 1))

    def test_each_way(self) -> None:
        padded = gpu.padded_input_bytes(self.conv)
        small, name = gpu.likely_workspace(self.conv, 64 * MIB)
        assert padded > 0
        options = {each.text: each.bytes for each in alternatives(self.conv, GPU)}
        lower = next((size for text, size in options.items() if text.startswith("a lower limit")), None)
        assert lower in (None, small + padded)
        assert lower is None or any(name in text for text in options)
        assert options["algorithms without a workspace only"] == padded
        half = replace(self.conv, input=(32, 64, 64, 64))
        assert options["half the batch (64 -> 32)"] == forward_bytes(half, GPU)
        odd = forward_bytes(replace(self.conv, kernel=(5, 5)), GPU)
        text = "an odd kernel: SAME padding is then symmetric, without a padded copy"
        assert options[text] == min(odd, forward_bytes(self.conv, GPU) - padded)

    def test_an_odd_kernel_and_a_batch_of_one_offer_less(self) -> None:
        texts = [each.text for each in alternatives(replace(self.conv, kernel=(3, 4)), GPU)]
        assert any(text.startswith("an odd kernel") for text in texts)
        texts = [each.text for each in alternatives(replace(self.conv, kernel=(3, 3)), GPU)]
        assert not any(text.startswith("an odd kernel") for text in texts)
        single = replace(self.conv, input=(1, 512, 512, 64))
        texts = [each.text for each in alternatives(single, GPU)]
        assert texts and not any(text.startswith("half") for text in texts)
