"""What to do in place of a product with a diagonal matrix."""

from __future__ import annotations

from tfmemlens.model.finding import Certainty, Remedy


def rows_times_numbers(of: str, saves: int | None) -> Remedy:
    """Multiply rows by the numbers `of`, which no matrix of zeros has to hold; `saves` are its bytes."""
    return Remedy(
        "multiply each row by its number: the product with a diagonal matrix is just that",
        f"y = {of}[:, None] * x   # in place of matmul(diag({of}), x); from the right: x * {of}",
        saves_bytes=saves,
        certainty=Certainty.BOUND if saves is not None else None,
        slug="rows-times-numbers",
    )
