"""Rows of memory in a program's own layout: a counter that rises, a size with its unit, the same words."""

import pytest

from tfmemlens.model.line import Line
from tfmemlens.readers.oom.size_rows import SizeRows
from tfmemlens.units import GIB


def rows_of(text: str) -> tuple[list[int], list[int]]:
    """Sizes of device and host, in GiB."""
    rows = SizeRows()
    for number, line in enumerate(text.splitlines(), 1):
        rows.observe(Line(number, line))
    device, host = rows.found()
    return [round(size / GIB) for size, _ in device], [round(size / GIB) for size, _ in host]


def series(row: str) -> str:
    return "\n".join(row.format(n=n, size=f"{2.0 + n:.2f}") for n in range(4))


RISE = [2, 3, 4, 5]


@pytest.mark.parametrize(
    "text, device, host",
    [
        (series("used at batch  {n} : {size} GiB"), RISE, RISE),
        (series("epoch {n} -> GPU {size} GiB"), RISE, []),
        (series("fold {n} ram {size} GiB"), [], RISE),
        (series("pass {n}, GiBs in use {size}"), RISE, RISE),
        ("print(i, psutil.Process().memory_info().rss, 'B')\n" + series("{n} {size} GiB"), [], RISE),
        ("BytesInUse tells me:\n" + series("Pass {n}, GiBs in use {size}"), RISE, []),
    ],
)
def test_whose_memory_it_is(text: str, device: list[int], host: list[int]) -> None:
    assert rows_of(text) == (device, host)


@pytest.mark.parametrize(
    "text",
    [
        series("{n} {size} GiB"),  # nothing says what it is
        series("GPU:{n} in use {size} GiB"),  # devices are numbered, too
        series("saved checkpoint {n}, {size} GiB in use"),
        series("{n} Chunks of size {size} GiB totalling memory"),
        series("memory 3 : {size} GiB"),  # no counter
        "\n".join(series("mem {n} {size} GiB").splitlines()[:3]),
        series("file {n} read at {size} GiB/s memory"),
    ],
)
def test_other_rows(text: str) -> None:
    assert rows_of(text) == ([], [])
