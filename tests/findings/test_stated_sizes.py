"""A request as a product of sizes that the text states."""

from __future__ import annotations

import pytest

from tfmemlens.findings.support.stated_sizes import as_product
from tfmemlens.model.capture import StatedSize
from tfmemlens.model.line import Line

LINE = Line(1, "")


def stated(**sizes: int | tuple[int, ...]) -> list[StatedSize]:
    """Sizes by name."""
    return [
        StatedSize(name, size if isinstance(size, tuple) else (size,), LINE) for name, size in sizes.items()
    ]


@pytest.mark.parametrize(
    ("sizes", "need", "text"),
    [
        (
            stated(x=(50000, 224, 224, 3)),
            50000 * 224 * 224 * 3 * 4,
            "50,000 x 224 x 224 x 3 (`x`) in float32",
        ),
        (stated(x=(50000, 224, 224, 3)), 50000 * 224 * 224 * 3, "50,000 x 224 x 224 x 3 (`x`) in 8 bits"),
        (stated(n=60_000), 60_000**2 * 4, "60,000 x 60,000 (`n`) in float32"),
        (stated(labels=850_000, words=20_000), 850_000 * 20_000 * 4, "850,000 (`labels`) x 20,000 (`words`)"),
        (stated(edges=(2, 24_000_000), dim=128), 24_000_000 * 128 * 4, "24,000,000 (`edges`) x 128 (`dim`)"),
        (stated(k=5000, x=(256, 3072)), 5000 * 256 * 3072 * 4, "5,000 (`k`) x 256 x 3,072 (`x`) in float32"),
        (stated(b=24, t=(512, 30522)), 24 * 512 * 30522 * 2, "24 (`b`) x 512 x 30,522 (`t`) in 16 bits"),
    ],
)
def test_products(sizes: list[StatedSize], need: int, text: str) -> None:
    product = as_product(need, sizes)
    assert product and text in product.text


@pytest.mark.parametrize(
    ("sizes", "need"),
    [
        (stated(n=60_000), 60_000**2 * 4 + 4),  # not to the byte
        (stated(a=4096, b=8192), 4096 * 8192 * 4),  # powers of two meet by chance
        (stated(n=600), 600 * 600 * 600),  # no number that large stands for two sides; and small
        (stated(a=300_000, b=1000, c=600_000, d=500), 300_000 * 1000 * 4),  # two products that differ
        (stated(n=0), 1 << 30),
        ([], 1 << 30),
    ],
)
def test_no_product(sizes: list[StatedSize], need: int) -> None:
    assert as_product(need, sizes) is None


def test_float64_is_asked_first_where_the_program_computes_in_it() -> None:
    product = as_product(60_000**2 * 8, stated(n=60_000), double=True)
    assert product and product.dtype == "float64"


def test_images() -> None:
    product = as_product(9000 * 128 * 128 * 3 * 4, stated(x=(9000, 128, 128, 3)))
    assert product and product.is_images
    product = as_product(9000 * 128 * 128 * 8 * 4, stated(x=(9000, 128, 128, 8)))
    assert product and not product.is_images
