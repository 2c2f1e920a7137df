"""Sizes and formulas of convolutions: against a brute-force count, and where they may only grow."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmemlens.knowledge.convolution import cpu_backward, cpu_forward, gpu, sizes
from tfmemlens.knowledge.convolution.alternatives import alternatives
from tfmemlens.knowledge.convolution.col_buffer import of_convolution
from tfmemlens.knowledge.convolution.examination import examine, fits
from tfmemlens.knowledge.convolution.passes import passes
from tfmemlens.model.convolution import Convolution, ConvolutionKind, ConvolutionSetting

TWO_THREADS = ConvolutionSetting((1, 10), 2)
Q2 = Convolution(ConvolutionKind.CONV, (200, 321, 481, 1), (135, 135), 3, (1, 1), (1, 1), "valid")

axes = st.tuples(st.integers(1, 40), st.integers(1, 9), st.integers(1, 4), st.integers(1, 3))


@st.composite
def convolutions(draw: st.DrawFn) -> Convolution:
    rank = draw(st.sampled_from((2, 3)))

    def per_axis(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.integers(low, high)) for _ in range(rank))

    found = Convolution(
        ConvolutionKind.CONV if rank == 2 else ConvolutionKind.CONV3D,
        (draw(st.integers(1, 40)), *per_axis(9, 60), draw(st.integers(1, 70))),
        per_axis(1, 9),
        draw(st.integers(1, 70)),
        per_axis(1, 3),
        (1,) * rank,
        draw(st.sampled_from(("same", "valid"))),
    )
    assert fits(found)
    return found


settings = st.builds(
    ConvolutionSetting,
    st.sampled_from([(1, 8), (1, 10), (1, 13), (1, 15), (2, 21)]),
    st.integers(1, 16),
    l3_bytes=st.sampled_from([None, 32 << 20]),
)


@given(axes, st.sampled_from(("same", "valid")))
def test_output_positions_are_those_that_a_count_finds(axis: tuple[int, int, int, int], padding: str) -> None:
    side, kernel, stride, dilation = axis
    before, after = sizes.padding_of(side, kernel, stride, dilation, padding)
    last_tap = (kernel - 1) * dilation
    placed = [
        start for start in range(0, side + before + after, stride) if start + last_tap < side + before + after
    ]
    if padding == "same" and placed:
        # each start covers at least its own pixel, and SAME makes ceil(side / stride) of them
        placed = placed[: -(-side // stride)]
    assert sizes.output_side(side, kernel, stride, dilation, padding) == len(placed)
    assert 0 <= after - before <= 1


@given(convolutions(), settings)
def test_every_figure_is_a_size(conv: Convolution, setting: ConvolutionSetting) -> None:
    report = examine(conv, setting)
    for need in (report.forward, report.backward_filter, report.backward_input):
        assert need.temporary_bytes is not None
        assert need.temporary_bytes >= 0
        if need.shape:
            assert need.temporary_bytes % conv.item_bytes == 0
    for option in report.alternatives:
        assert option.saves_bytes > 0
        assert option.bytes >= 0
    savings = [option.saves_bytes for option in report.alternatives]
    assert savings == sorted(savings, reverse=True)
    assert any(line.kernel == conv.kernel and line.batch == conv.batch for line in report.table)


@given(convolutions())
def test_a_larger_batch_takes_no_less(conv: Convolution) -> None:
    larger = replace(conv, input=(conv.batch + 1, *conv.input[1:]))
    assert cpu_forward.packed_bytes(larger) > cpu_forward.packed_bytes(conv)
    assert sizes.patch_matrix_bytes(larger) > sizes.patch_matrix_bytes(conv)
    assert sizes.flops(larger) > sizes.flops(conv)
    if len(conv.kernel) == 2:
        before, after = (passes(each, TWO_THREADS) for each in (conv, larger))
        assert after.filter_gradient.temporary_bytes == before.filter_gradient.temporary_bytes


@given(convolutions())
def test_one_image_is_the_least_that_a_gradient_unrolls(conv: Convolution) -> None:
    image = sizes.positions(conv) * sizes.patch(conv) * conv.item_bytes
    if len(conv.kernel) == 2:
        for need in (
            cpu_backward.filter_gradient(conv, TWO_THREADS),
            cpu_backward.input_gradient(conv, TWO_THREADS),
        ):
            assert need.temporary_bytes is not None
            assert need.temporary_bytes >= image
            assert need.temporary_bytes % image == 0


@given(convolutions(), st.integers(2, 16))
def test_more_threads_never_shrink_the_input_gradient(conv: Convolution, threads: int) -> None:
    few, many = (of_convolution(conv).images_of_input_gradient(conv.batch, count) for count in (1, threads))
    assert many >= few


def test_question_2() -> None:
    """Founding question Q2: 200 frames, a kernel of 135 x 135."""
    report = examine(Q2, TWO_THREADS)
    assert report.output == (200, 187, 347, 3)
    assert report.patch_matrix_bytes == 946_081_620_000
    assert report.forward.temporary_bytes == (200 * 187 * 347 + 3) * 640 * 4 == 33_223_175_680
    assert not report.forward.tracked
    assert (
        report.backward_filter.temporary_bytes
        == report.backward_input.temporary_bytes
        == 187 * 347 * 135 * 135 * 4
    )
    for version in ((1, 14), (2, 4), (2, 21)):
        assert examine(Q2, ConvolutionSetting(version, 2)).forward.temporary_bytes == 0
    assert examine(Q2, ConvolutionSetting((1, 10), 1)).forward.temporary_bytes == 0
    five = replace(Q2, kernel=(5, 5))
    assert sizes.output_shape(five)[1:3] == (317, 477)
    assert round((cpu_forward.packed_bytes(five)) / 2**30, 1) == 2.8


def test_alternatives_are_ranked_and_say_what_each_takes() -> None:
    found = alternatives(Q2, TWO_THREADS)
    texts = " ".join(option.text for option in found)
    for word in ("1.14", "one intra-op thread", "FFT", "one image at a time", "stride 2", "separable"):
        assert word in texts
    one_image = next(option for option in found if "one image" in option.text)
    assert one_image.bytes == (187 * 347 + 3) * 640 * 4


def test_few_filters_are_split_along_the_taps() -> None:
    """Measured in TF 1.13, 1.15 and 2.21: an output for each thread while they fit the L3 cache, with an even
    number of threads.
    """
    conv = Convolution(ConvolutionKind.CONV, (10, 321, 481, 1), (21, 21), 3, (1, 1), (1, 1), "valid")
    big = ConvolutionSetting((1, 15), 4, l3_bytes=384 << 20)
    assert cpu_forward.forward(conv, big).temporary_bytes == 3 * sizes.output_bytes(conv)
    assert cpu_forward.forward(conv, replace(big, threads=3)).temporary_bytes == 0
    assert cpu_forward.forward(
        conv, replace(big, threads=3, version=(1, 13))
    ).temporary_bytes == 2 * sizes.output_bytes(conv)
    assert cpu_forward.forward(conv, replace(big, l3_bytes=8 << 20)).temporary_bytes == 0
    assert cpu_forward.forward(replace(conv, filters=8), big).temporary_bytes == 0
    assert cpu_forward.forward(
        conv, replace(big, version=(1, 12))
    ).temporary_bytes == cpu_forward.packed_bytes(conv)


def test_a_transposed_convolution_is_the_way_back() -> None:
    conv = Convolution(ConvolutionKind.TRANSPOSED, (4, 32, 32, 12), (4, 4), 8, (2, 2), (1, 1), "same")
    assert sizes.output_shape(conv) == (4, 64, 64, 8)
    assert sizes.output_shape(sizes.adjoint(conv)) == conv.input
    assert passes(conv, TWO_THREADS).forward.shape == (1, 1024, 128)
    assert passes(conv, TWO_THREADS).filter_gradient.temporary_bytes == 28_835_840  # as measured
    assert not passes(conv, TWO_THREADS).input_gradient.tracked


def test_volumes_need_the_cache_to_be_exact() -> None:
    conv = Convolution(
        ConvolutionKind.CONV3D, (2, 32, 64, 64, 16), (3, 3, 3), 16, (1, 1, 1), (1, 1, 1), "same"
    )
    unknown = passes(conv, ConvolutionSetting((2, 21), 2)).filter_gradient
    known = passes(conv, ConvolutionSetting((2, 21), 2, l3_bytes=384 << 20)).filter_gradient
    assert unknown.temporary_bytes == 226_492_416
    assert unknown.certainty.value == "estimate"
    assert known.temporary_bytes == 2 * 226_492_416
    assert known.certainty.value == "exact"


@pytest.mark.parametrize(("kernel", "padded"), [(2, True), (3, False), (4, True)])
def test_even_kernels_pad_one_side_more(kernel: int, padded: bool) -> None:
    conv = Convolution(ConvolutionKind.CONV, (8, 64, 64, 16), (kernel, kernel), 16, (1, 1), (1, 1), "same")
    assert gpu.padded_input_bytes(conv) == (8 * 65 * 65 * 16 * 4 if padded else 0)


def test_workspaces_are_ordered_and_limited() -> None:
    conv = Convolution(ConvolutionKind.CONV, (32, 56, 56, 256), (3, 3), 256, (1, 1), (1, 1), "same")
    found = gpu.workspaces(conv)
    applying = [workspace.bytes for workspace in found if workspace.applies]
    assert applying == sorted(applying)
    assert next(each for each in found if each.algorithm == "GEMM").bytes == 56 * 56 * 9 * 256 * 4
    size, _ = gpu.likely_workspace(conv, 1 << 20)
    assert size <= 1 << 20
    assert gpu.default_limit_bytes((1, 15)) == 4 << 30
    assert gpu.default_limit_bytes((2, 21)) == 8 << 30


@pytest.mark.parametrize(
    ("size", "kernel", "filters", "setting", "splits"),
    [
        ((2, 20, 20, 1), (9, 9), 3, ConvolutionSetting((1, 15), 2), True),
        ((2, 20, 20, 1), (9, 9), 3, ConvolutionSetting((1, 15), 1), False),
        ((2, 20, 20, 1), (9, 12), 3, ConvolutionSetting((1, 15), 3), False),  # an odd number of threads
        ((2, 20, 20, 1), (9, 12), 3, ConvolutionSetting((1, 13), 3), True),
        ((2, 9, 9, 1), (9, 9), 3, ConvolutionSetting((1, 15), 2), True),
        ((1, 9, 9, 1), (9, 9), 3, ConvolutionSetting((1, 15), 2), False),  # one position
        ((2, 20, 20, 1), (9, 9), 7, ConvolutionSetting((1, 15), 2), True),
        ((2, 20, 20, 1), (9, 9), 8, ConvolutionSetting((1, 15), 2), False),
        ((2, 20, 70, 1), (1, 66), 3, ConvolutionSetting((1, 15), 2), True),
        ((2, 20, 70, 1), (1, 65), 3, ConvolutionSetting((1, 15), 2), False),
        ((2, 20, 20, 1), (9, 9), 3, ConvolutionSetting((1, 15), 2, l3_bytes=2 * 3456), True),
        ((2, 20, 20, 1), (9, 9), 3, ConvolutionSetting((1, 15), 2, l3_bytes=2 * 3456 - 1), False),
    ],
)
def test_when_each_thread_sums_into_an_output_of_its_own(
    size: tuple[int, ...], kernel: tuple[int, ...], filters: int, setting: ConvolutionSetting, splits: bool
) -> None:
    conv = Convolution(ConvolutionKind.CONV, size, kernel, filters, (1, 1), (1, 1), "valid")
    assert cpu_forward.splits_taps(conv, setting) is splits
