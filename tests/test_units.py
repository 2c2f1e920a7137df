"""Bytes: what is parsed is an interval that holds the truth, what is printed is what was meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmemlens.units import (
    GIB,
    KIB,
    MIB,
    Size,
    human,
    parse_limit,
    parse_size,
    percent,
    rough,
    round_up,
    square_side,
)


def tensorflow_prints(count: int) -> str:
    """HumanReadableNumBytes of tensorflow/core/lib/strings/numbers.cc, the arithmetic alone."""
    if count < 1024:
        return f"{count}B"
    letters = iter("KMGTPE")
    letter = next(letters)
    while count >= 1024 * 1024:
        count //= 1024
        letter = next(letters)
    return f"{count / 1024.0:.{1 if letter == 'K' else 2}f}{letter}iB"


@given(st.integers(0, 1 << 60))
def test_the_interval_holds_what_tensorflow_had(count: int) -> None:
    found = parse_size(tensorflow_prints(count))
    assert found.low <= count <= found.high
    assert found.low <= found.bytes <= found.high


@given(st.integers(0, 1 << 52))
def test_an_allocators_figure_is_sharper_and_still_right(chunks: int) -> None:
    count = 256 * chunks
    wide, narrow = parse_size(tensorflow_prints(count)), parse_size(tensorflow_prints(count), 256)
    assert wide.low <= narrow.low <= count <= narrow.high <= wide.high
    assert narrow.bytes % 256 == 0


@given(st.integers(4, 4095))
def test_kib_figures_of_an_allocator_are_exact(chunks: int) -> None:
    assert parse_size(tensorflow_prints(256 * chunks), 256) == Size.exactly(256 * chunks)


@given(st.integers(0, 1 << 62))
def test_people_read_what_was_meant(count: int) -> None:
    assert parse_size(human(count).replace(" ", "")).may_be(count) or count >= KIB


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("512B", 512),
        ("1024.0KiB", MIB),
        ("450.00MiB", 450 * MIB),
        ("32.00G", 32 * GIB),
        ("0B", 0),
        ("12.0K", 12 * KIB),
        ("7", 7),
    ],
)
def test_figures_of_all_dialects(text: str, count: int) -> None:
    assert parse_size(text).bytes == count


@pytest.mark.parametrize("text", ["", "MiB", "12.0QiB", "1.2.3MiB", "x12B", "nan"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a size"):
        parse_size(text)


def test_limits_as_people_type_them() -> None:
    assert parse_limit("11GiB") == parse_limit("11G") == parse_limit("11 gb") == 11 * GIB
    assert parse_limit("1.5g") == 3 * GIB // 2
    assert parse_limit("4096") == 4096
    with pytest.raises(ValueError, match="not a size"):
        parse_limit("much")


def test_shares_are_never_a_false_zero() -> None:
    assert (percent(1, 1000), percent(0, 10), percent(6, 10), percent(1, 0)) == ("<1 %", "0 %", "60 %", "-")


def test_requests_are_rounded_up() -> None:
    assert (round_up(0), round_up(1), round_up(256), round_up(257)) == (0, 256, 256, 512)


def test_sums_keep_their_error_bars() -> None:
    both = parse_size("450.14MiB") + Size.exactly(256)
    assert both.high - both.low == parse_size("450.14MiB").high - parse_size("450.14MiB").low
    assert not both.exact
    assert both.error_bytes > 5000


def test_orders_of_magnitude_have_two_digits() -> None:
    assert [rough(count) for count in (0, 12, 1000, 1500, 20 * KIB, 99 * MIB, 588 * MIB,
        1020 * MIB, 12 * GIB + 1)] == [
        "0 B", "12 B", "1000 B", "1.5 KiB", "20 KiB", "99 MiB", "590 MiB", "1000 MiB", "12 GiB"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("1.0KiB", 973, 1075),  # 0.95 * 1024 = 972.8, 1.05 * 1024 = 1075.2
        ("2.00MiB", 2043 * KIB, 2054 * KIB - 1),  # 1.995 * 1024 = 2042.9, 2.005 * 1024 = 2053.1
    ],
)
def test_an_interval_is_half_a_digit_wide_on_each_side(text: str, low: int, high: int) -> None:
    found = parse_size(text)
    assert (found.low, found.high) == (low, high)
    assert found.may_be(low) and found.may_be(high)
    assert not found.may_be(low - 1) and not found.may_be(high + 1)


@pytest.mark.parametrize(
    "size, item, side",
    [(36, 4, 3), (72, 8, 3), (37, 4, None), (40, 4, None), (36, 8, None), (0, 4, 0), (8, 4, None)],
)
def test_the_side_of_a_square(size: int, item: int, side: int | None) -> None:
    assert square_side(size, item) == side
