"""Chunks that have the odd factors of the output that failed."""

from __future__ import annotations

import pytest

from tests.findings.test_chunks_without_names import chunks, explained, failing, finding
from tfmemlens.model.finding import Finding

RULE = "outputs-by-size"
NEED = 2 * 96 * 160 * 128 * 4  # 15 MiB, whose odd part is 15
SHAPE, NODE = "2,96,160,128", "net/conv_8/Conv2D"


def told(*sizes: tuple[int, int], shape: str = SHAPE, node: str = NODE, need: int = NEED) -> Finding | None:
    return finding(chunks(need, *sizes) + failing(shape, node), RULE)


def test_twice_and_half_of_the_request_are_outputs_of_other_layers() -> None:
    found = told((5, 2 * NEED), (5, NEED), (4, NEED // 2), (1, 100 << 20))
    assert found is not None
    assert found.explains == 17 * NEED
    assert found.because == (
        "72 % of what is in use (255.00 MiB) is most likely outputs of other layers, kept for the backward"
        " pass: 14 blocks of 30.00 MiB, 15.00 MiB and 7.50 MiB, 2, 1 and 1/2 times what was requested"
    )
    said = explained(chunks(NEED, (5, 2 * NEED), (5, NEED), (4, NEED // 2)) + failing(SHAPE, NODE))
    assert "most likely outputs of other layers" in said.verdict
    assert said.actions[0].remedy.slug == "smaller-batch"


def test_of_many_sizes_the_three_largest_are_named() -> None:
    found = told((2, 4 * NEED), (2, 2 * NEED), (2, NEED), (2, NEED // 2))
    assert found is not None and "4, 2, 1, ... times" in found.because


@pytest.mark.parametrize(
    ("sizes", "fires"),
    [
        pytest.param(((3, 2 * NEED), (3, NEED)), True, id="six chunks"),
        pytest.param(((3, 2 * NEED), (2, NEED)), False, id="five chunks"),
        pytest.param(((6, 2 * NEED), (1, 18 * NEED)), False, id="one size"),
        pytest.param(((3, 2 * NEED), (3, NEED), (1, 13 * NEED)), True, id="two fifths of all"),
        pytest.param(((3, 2 * NEED), (3, NEED), (1, 14 * NEED)), False, id="less than two fifths"),
        pytest.param(((6, NEED), (1, 2 * NEED)), False, id="equal chunks say it"),
        pytest.param(((5, 64 * NEED), (1, NEED)), True, id="64 times"),
        pytest.param(((5, 128 * NEED), (1, NEED)), False, id="128 times"),
        pytest.param(((5, 6 * NEED), (5, 3 * NEED)), False, id="another odd part"),
    ],
)
def test_where_it_begins(sizes: tuple[tuple[int, int], ...], fires: bool) -> None:
    assert (told(*sizes) is not None) is fires


@pytest.mark.parametrize(
    ("shape", "node"),
    [
        pytest.param("30720,128", NODE, id="a matrix"),
        pytest.param("4,128,128,64", NODE, id="powers of two, which everything shares"),
        pytest.param("3,3,512,512", "net/conv_8/kernel/Initializer/random_uniform", id="a kernel"),
        pytest.param("2,96,96,64", NODE, id="nine, which square kernels have"),
        pytest.param(SHAPE, "train/Adam/update_net/conv_8/kernel/ResourceApplyAdam", id="an update"),
    ],
)
def test_what_is_no_output_shares_its_factors_by_chance(shape: str, node: str) -> None:
    need = 4
    for size in shape.split(","):
        need *= int(size)
    sizes = (5, 2 * need), (5, need), (4, need // 2)
    assert told(*sizes, shape=shape, node=node, need=need) is None
