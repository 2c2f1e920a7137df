"""A compiler's list whose first entry lost its head."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained
from tfmemlens.model.incident import CompilerMemory

FIRST = """    Size: 1.32GiB
    Operator: op_type="add" op_name="jit(f)/add" source_file="/home/me/model.py" source_line=13
    XLA Label: fusion
    Shape: f32[2350,2350,64]
    ==========================

"""
NEXT = """    Buffer {number}:
    Size: 660.94MiB
    XLA Label: parameter
    Shape: f32[1152,2350,64]
    ==========================
"""


def read(text: str) -> tuple[list[int], CompilerMemory | None]:
    moments = explained(f"import jax\n{text}").case.moments
    if not moments or moments[0].incident is None:
        return [], None
    return [row.size_bytes for row in moments[0].attribution.table], moments[0].incident.compiler


@pytest.mark.parametrize(("number", "cut"), [(14, True), (3, True), (2, False)])
def test_the_entry_without_its_head_counts(number: int, cut: bool) -> None:
    sizes, compiler = read(FIRST + NEXT.format(number=number))
    assert len(sizes) == 2 and max(sizes) == round(1.32 * 2**30)
    assert compiler and compiler.cut is cut


def test_an_argument_s_entry_counts_too() -> None:
    sizes, _ = read("  Size: 2.00GiB\n  Entry Parameter Subshape: f32[1024]\n" + NEXT.format(number=5))
    assert max(sizes) == 2 * 2**30


@pytest.mark.parametrize("text", ["Size: 1.32GiB\nName: weights.h5\n", "Size: 1.32GiB\n\nShape: f32[2350]\n"])
def test_the_size_of_something_else_begins_no_list(text: str) -> None:
    assert read(text) == ([], None)
