"""cuDNN's workspaces by algorithm, worked out by hand for one convolution whose sizes all differ."""

from __future__ import annotations

from typing import Any

import pytest

from tfmemlens.knowledge.convolution import gpu
from tfmemlens.knowledge.convolution.gpu import layout_temporaries_bytes, likely_workspace, workspaces
from tfmemlens.model.convolution import Convolution, ConvolutionKind, ConvolutionSetting
from tfmemlens.units import GIB
from tfmemlens.values import replace

CONV = Convolution(ConvolutionKind.CONV, (2, 10, 15, 3), (3, 3), 5, (1, 1), (1, 1), "valid")
"""3 x 3 over 3 channels to 5 filters: 8 x 13 = 104 positions, 27 elements a patch."""
GPU = ConvolutionSetting((2, 21), 2, "gpu")


def by_name(conv: Convolution) -> dict[str, tuple[int, bool]]:
    return {each.algorithm: (each.bytes, each.applies) for each in workspaces(conv)}


def test_each_algorithm_by_hand() -> None:
    planes = 2 * (3 + 5) + 3 * 5
    assert by_name(CONV) == {
        "IMPLICIT_GEMM": (0, True),
        "IMPLICIT_PRECOMP_GEMM": (4 * (104 + 27), True),
        "WINOGRAD": (3 * 5 * 16 * 4, True),
        "GEMM": (104 * 27 * 4, True),
        # 2 x 4 tiles of 4 x 4 outputs, each 6 x 6 where it is transformed
        "WINOGRAD_NONFUSED": ((2 * 8 * (3 + 5) + 3 * 5) * 36 * 4, True),
        # 10 + 3 - 1 and 15 + 3 - 1 become 16 and 32: 17 complex numbers in a half row
        "FFT": (planes * 16 * 17 * 2 * 4, True),
        "FFT_TILING": (planes * 32 * 17 * 2 * 4, True),
    }


@pytest.mark.parametrize(("side", "padded"), [(1, 4), (2, 4), (3, 8), (6, 8), (7, 16)])
def test_sides_of_an_fft_are_powers_of_two(side: int, padded: int) -> None:
    conv = replace(CONV, input=(1, side, side, 1), filters=1, padding="same")
    assert by_name(conv)["FFT"][0] == 3 * padded * (padded // 2 + 1) * 2 * 4


@pytest.mark.parametrize(
    ("kernel", "tiles"), [(1, (2, 3)), (3, (3, 3)), (31, (32, 38)), (32, (64, 75)), (34, (64, 75))]
)
def test_tiles_advance_by_what_the_kernel_leaves_of_them(kernel: int, tiles: tuple[int, int]) -> None:
    conv = replace(CONV, input=(1, 64, 75, 1), filters=1, kernel=(kernel, kernel), padding="same")
    count = tiles[0] * tiles[1]
    size, applies = by_name(conv)["FFT_TILING"]
    assert size == (count * 2 + 1) * 32 * 17 * 2 * 4
    assert applies == (kernel <= 32)


@pytest.mark.parametrize(
    ("changed", "refused"),
    [
        ({}, ""),
        ({"input": (2, 256, 256, 3)}, ""),
        ({"input": (2, 257, 15, 3)}, "FFT"),
        ({"input": (2, 10, 257, 3)}, "FFT"),
        ({"kernel": (5, 5)}, "WINOGRAD"),
        ({"kernel": (3, 5)}, "WINOGRAD WINOGRAD_NONFUSED"),
        ({"kernel": (7, 7)}, "WINOGRAD WINOGRAD_NONFUSED"),
        ({"strides": (1, 2)}, "FFT FFT_TILING WINOGRAD WINOGRAD_NONFUSED"),
        ({"dilations": (2, 1)}, "FFT FFT_TILING WINOGRAD WINOGRAD_NONFUSED"),
    ],
)
def test_what_an_algorithm_cannot_do_stands_behind(changed: dict[str, Any], refused: str) -> None:
    found = workspaces(replace(CONV, **changed))
    assert sorted(each.algorithm for each in found if not each.applies) == refused.split()
    able = [each.bytes for each in found if each.applies]
    assert [each.applies for each in found] == [True] * len(able) + [False] * (7 - len(able))
    assert able == sorted(able)


def test_a_volume_has_three_algorithms_and_a_depthwise_convolution_none() -> None:
    volume = replace(
        CONV, kind=ConvolutionKind.CONV3D, input=(2, 6, 10, 15, 3), kernel=(3, 3, 3), strides=(1,) * 3,
        dilations=(1,) * 3,
    )  # fmt: skip
    assert by_name(volume) == {
        "IMPLICIT_GEMM": (0, True),
        "IMPLICIT_PRECOMP_GEMM": (4 * (4 * 104 + 81), True),
        "GEMM": (4 * 104 * 81 * 4, True),
    }
    depthwise = replace(CONV, kind=ConvolutionKind.DEPTHWISE)
    assert workspaces(depthwise) == ()
    assert gpu.need(depthwise, GPU).temporary_bytes == 0


@pytest.mark.parametrize(
    ("limit", "taken"),
    [
        (0, (0, "IMPLICIT_GEMM")),
        (523, (0, "IMPLICIT_GEMM")),
        (524, (524, "IMPLICIT_PRECOMP_GEMM")),
        (11_231, (960, "WINOGRAD")),
        (11_232, (11_232, "GEMM")),
        (GIB, (134_912, "FFT_TILING")),
    ],
)
def test_the_hungriest_that_fits_is_taken(limit: int, taken: tuple[int, str]) -> None:
    assert likely_workspace(CONV, limit) == taken


def test_an_algorithm_that_does_not_apply_is_not_taken() -> None:
    assert likely_workspace(replace(CONV, strides=(2, 2)), GIB)[1] == "GEMM"


@pytest.mark.parametrize(
    ("version", "gib"), [((1, 8), 4), ((1, 15), 4), ((2, 20), 4), ((2, 21), 8), ((2, 22), 8), ((3, 0), 8)]
)
def test_the_limit_by_version(version: tuple[int, int], gib: int) -> None:
    assert gpu.default_limit_bytes(version) == gib * GIB


def test_a_pass_takes_the_workspace_and_the_padded_copy() -> None:
    assert gpu.need(CONV, GPU).temporary_bytes == 134_912
    even = replace(CONV, kernel=(4, 3), padding="same")
    copy = 2 * 11 * 15 * 3 * 4
    need = gpu.need(even, GPU)
    assert gpu.padded_input_bytes(even) == copy
    assert need.temporary_bytes == likely_workspace(even, 8 * GIB)[0] + copy
    assert "which asymmetric SAME padding forces" in need.formula
    assert "padding" not in gpu.need(CONV, GPU).formula


def test_the_kernels_own_transposes_are_all_three_tensors() -> None:
    images, outputs, weights = 2 * 10 * 15 * 3, 2 * 8 * 13 * 5, 3 * 3 * 3 * 5
    assert layout_temporaries_bytes(CONV) == 4 * (images + outputs + weights)
    assert layout_temporaries_bytes(replace(CONV, dtype="float16")) == 2 * (images + outputs + weights)
