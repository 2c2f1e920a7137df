"""Branches of readers that few inputs take: each by the few values that it looks at."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tfmemlens.readers.formats import live_model, memory_dump
from tfmemlens.readers.keras_models import _documents
from tfmemlens.readers.oom import compiler, ranking
from tfmemlens.units import Size


@pytest.mark.parametrize(
    "text, size",
    [
        ("268.96MB", (268_960_000, 5_000)),
        ("1.5 GB", (1_500_000_000, 5_000_000)),
        ("7KB", (7_000, 5)),
        ("0.004KB", (4, 5)),
    ],
)
def test_sizes_in_powers_of_ten_are_right_to_half_a_hundredth(text: str, size: tuple[int, int]) -> None:
    middle, half = size
    assert compiler._decimal(text) == Size(middle, middle - half, middle + half)


@pytest.mark.parametrize(
    "allocator, mine, stated, same",
    [
        ("GPU_0_bfc", 100, Size.exactly(100), True),
        ("GPU_0_bfc", 101, Size.exactly(100), False),
        ("GPU_0_bfc", 101, Size(100, 99, 101), True),
        ("GPU_1_bfc", 100, Size.exactly(100), False),
        ("GPU_0_bfc", None, Size.exactly(100), False),
        ("GPU_0_bfc", 100, None, False),
    ],
)
def test_a_dump_is_of_the_failure_with_the_same_sum(
    allocator: str, mine: int | None, stated: Size | None, same: bool
) -> None:
    failure: Any = Made(request=Made(allocator="GPU_0_bfc"), state=Made(in_use=stated))
    in_use = None if mine is None else Size.exactly(mine)
    dump: Any = Made(request=Made(allocator=allocator), state=Made(in_use=in_use))
    assert memory_dump._same(failure, dump) is same


@pytest.mark.parametrize(
    "outputs, shapes",
    [
        (None, []),
        ([[[None, 5], "float32"]], [(None, 5)]),
        ([[["?", 5], "float32"], [[3], "int32"]], [(None, 5), (3,)]),
        ([[], None, "x", [None], ["[3]"]], []),
    ],
)
def test_outputs_of_a_live_layer(outputs: Any, shapes: list[tuple[int | None, ...]]) -> None:
    layer = {"path": "net/a", "outputs": outputs}
    assert list(live_model._outputs(layer)) == [("net/a", shape) for shape in shapes]


@pytest.mark.parametrize(
    "lines, dumps, title",
    [
        ([(1, "# OOM when allocating")], 0, True),
        ([(2, "# OOM when allocating")], 0, True),
        ([(1, "OOM when allocating")], 0, True),
        ([(1, "# OOM when allocating")], 1, False),
        ([(1, "# OOM"), (7, "OOM")], 0, False),
        ([(0, "# OOM"), (1, "# OOM")], 0, True),
        ([], 0, False),
    ],
)
def test_a_heading_that_tells_of_a_failure(lines: list[tuple[int, str]], dumps: int, title: bool) -> None:
    tellings = [Made(line=Made(number=number, text=text)) for number, text in lines]
    draft: Any = Made(tellings=tellings, dumps=[1] * dumps)
    assert ranking._is_title(draft) is title


@pytest.mark.parametrize(
    "config, shape",
    [
        (None, None),
        ({}, None),
        ({"batch_input_shape": [2, 3]}, [2, 3]),
        ({"batch_shape": [2, 3], "input_shape": [4]}, [2, 3]),
        ({"input_shape": [4]}, [None, 4]),
        ({"input_dim": 5, "output_dim": 6}, [None, 5]),
        ({"input_dim": 5}, None),
        ({"input_dim": "5", "output_dim": 6}, None),
        ({"input_dim": 5, "output_dim": 6, "nb_filter": 7}, None),
    ],
)
def test_the_shape_of_a_first_layer_s_input(config: Any, shape: list[int | None] | None) -> None:
    assert _documents._input_shape(config) == shape
