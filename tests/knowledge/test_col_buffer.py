"""The im2col formula and its cache sizes: where the count of images changes, to the element."""

from __future__ import annotations

import pytest

from tfmemlens.knowledge.convolution import col_buffer
from tfmemlens.knowledge.convolution.col_buffer import (
    UnrolledConvolution,
    filters_of,
    is_one_image,
    most_bytes,
    of_convolution,
    of_shapes,
)
from tfmemlens.knowledge.convolution.recognition import col_buffer_of
from tfmemlens.model.convolution import Convolution, ConvolutionKind
from tfmemlens.units import KIB, MIB

SMALL = UnrolledConvolution(positions=1024, patch=9, filters=8)
"""A 3 x 3 kernel over a grey 32 x 32 image."""


def _of_work(elements: int) -> UnrolledConvolution:
    """A convolution whose work unit is so many elements: one filter, one position."""
    assert elements % 2
    return UnrolledConvolution(positions=1, patch=(elements - 1) // 2, filters=1)


def test_the_constants_are_those_of_tensorflow() -> None:
    """`target_working_set_size` and `l2_cache_size` of conv_grad_filter_ops.cc and conv_grad_input_ops.h."""
    assert col_buffer.TARGET_BYTES == 31_457_280
    assert col_buffer.L2_BYTES == 262_144
    assert col_buffer.USUAL_L3_BYTES == 33_554_432
    assert col_buffer.TARGET_TEXT == "30 MiB"


def test_the_work_of_an_image_counts_patches_output_and_weights() -> None:
    assert SMALL.work_unit == 1024 * 9 + 1024 * 8 + 9 * 8 == 17_480
    assert SMALL.image_bytes == 1024 * 9 * 4


def test_the_filter_gradient_takes_as_many_images_as_fill_the_target() -> None:
    assert SMALL.images_of_filter_gradient() == 450  # 7,864,320 elements / 17,480 = 449.9
    assert SMALL.filter_gradient_bytes() == 450 * 36_864
    assert _of_work(7_864_319).images_of_filter_gradient() == 2
    assert _of_work(7_864_321).images_of_filter_gradient() == 1


def test_elements_of_half_the_size_fill_the_target_with_twice_as_many() -> None:
    half = UnrolledConvolution(1024, 9, 8, item_bytes=2)
    assert half.images_of_filter_gradient() == 900


@pytest.mark.parametrize(("threads", "turn"), [(1, 65_536), (2, 131_072), (8, 524_288)])
def test_the_input_gradient_goes_image_by_image_once_each_thread_has_its_cache_full(
    threads: int, turn: int
) -> None:
    below, above = _of_work(turn - 1), _of_work(turn + 1)
    assert turn * 4 // threads == 256 * KIB
    assert above.images_of_input_gradient(2, threads) == 1
    assert below.images_of_input_gradient(2, threads) == below.images_of_filter_gradient() > 1
    assert below.input_gradient_bytes(2, threads) == below.filter_gradient_bytes()
    assert above.input_gradient_bytes(2, threads) == above.image_bytes


def test_a_batch_of_one_is_unrolled_alone() -> None:
    assert SMALL.images_of_input_gradient(1, 2) == 1
    assert SMALL.images_of_input_gradient(2, 2) == 450


def test_no_threads_count_as_one() -> None:
    assert _of_work(65_537).images_of_input_gradient(2, 0) == 1


def test_a_smaller_cache_is_filled_by_fewer_images_and_by_one_at_least() -> None:
    assert SMALL.images_filling(4 * 17_480) == 1
    assert SMALL.images_filling(4 * 17_481) == 2
    assert SMALL.images_filling(0) == 1


def test_shapes_and_sizes_tell_the_same_convolution() -> None:
    conv = Convolution(ConvolutionKind.CONV, (4, 32, 32, 1), (3, 3), 8, (1, 1), (1, 1), "same")
    assert of_convolution(conv) == SMALL
    assert of_shapes((3, 3, 1, 8), (4, 32, 32, 8)) == SMALL
    assert of_shapes((3, 3, 1, 8), (4, 8, 32, 32), "NCHW") == SMALL


def test_images_tell_the_filters() -> None:
    least, most = filters_of(374, 256, 72) or (0, 0)
    assert (least, most) == (8, 8)
    assert filters_of(1, 256, 72) is None
    assert filters_of(10**6, 256, 72) is None


def test_the_most_that_a_buffer_takes_is_a_whole_number_of_images() -> None:
    assert most_bytes(1024, 9) == 854 * 36_864  # 30 MiB hold 853.3
    assert most_bytes(10**6, 9) == 36 * 10**6
    assert most_bytes(0, 9) == 0


def test_one_image_is_sure_from_the_target_on_and_earlier_for_the_input() -> None:
    columns = MIB // 4
    assert is_one_image(30, columns, of_input=False)
    assert not is_one_image(30, columns - 1, of_input=False)
    assert is_one_image(15, columns, of_input=True)
    assert not is_one_image(15, columns - 1, of_input=True)
    assert is_one_image(15, columns, of_input=False, item_bytes=8)


def test_the_most_filters_of_a_number_of_images_are_told_to_the_element() -> None:
    """1 * 996 + (1 + 996) * 463 = 462,607 elements an image: 17 images leave one of 7,864,320 over."""
    most = UnrolledConvolution(positions=1, patch=996, filters=463)
    assert most.images_of_filter_gradient() == 18
    assert UnrolledConvolution(1, 996, 464).images_of_filter_gradient() == 17
    bounds = filters_of(18, 1, 996)
    assert bounds is not None
    assert bounds[1] == 463


@pytest.mark.parametrize(("positions", "is_one"), [(65_536, True), (1 << 31, False), (10**19 - 1, False)])
def test_a_grid_has_no_more_positions_than_a_kernel_can_count(positions: int, is_one: bool) -> None:
    assert (col_buffer_of((1, positions, 576)) is not None) == is_one
