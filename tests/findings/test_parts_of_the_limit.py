"""What a request is of its device: a large part, a hair more than a free block, or a kernel's own size."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import MIB
from tests.findings.logs import CPU, oom
from tests.findings.test_edges_of_tensors import failed
from tests.findings.test_support import case
from tests.findings.test_what_is_no_batch import explained
from tfmemlens.findings import fragmented_free_memory
from tfmemlens.findings.support.rows import in_pieces
from tfmemlens.model.case import Balance
from tfmemlens.units import Size

KERNEL = "gradients/dune/Conv3D_grad/Conv3DBackpropFilterV2"


def pool(requested: int, limit: int | None, block: int) -> Any:
    books = Balance(
        limit=None if limit is None else Size.exactly(limit),
        free=Size.exactly(4 * requested),
        largest_free_chunk=Size.exactly(block),
        growable=Size.exactly(MIB),
        requested=requested,
    )
    return failed((requested // 4,), "net/Relu", books=books)


@pytest.mark.parametrize(
    "limit, told",
    [
        (100 * MIB, "this one tensor takes 30 % of the limit; "),
        (100 * MIB + 1, ""),
        (60 * MIB, "this one tensor takes 50 % of the limit; "),
        (None, ""),
    ],
)
def test_a_tensor_that_is_a_good_part_of_the_device(limit: int | None, told: str) -> None:
    moment = pool(30 * MIB, limit, MIB)
    assert fragmented_free_memory._large_part(case(moment), moment) == told


@pytest.mark.parametrize(
    "block, told",
    [
        (30 * MIB - 1024, "the largest free block is 1.0 KiB smaller than the request"),
        (20 * MIB, "the largest free block is 20.00 MiB"),
    ],
)
def test_a_block_that_is_nearly_as_large_as_the_request(block: int, told: str) -> None:
    assert told in in_pieces(pool(30 * MIB, 100 * MIB, block))


@pytest.mark.parametrize(
    "node, shape, slugs",
    [
        (KERNEL, (189, 216, 3024), []),
        ("net/Relu", (189, 216, 3024), ["smaller-batch"]),
    ],
)
def test_a_patch_matrix_has_no_first_dimension_to_make_smaller(
    node: str, shape: tuple[int, ...], slugs: list[str]
) -> None:
    sizes = ",".join(map(str, shape))
    line = oom(sizes, node, on=CPU, by="cpu")
    report = explained(f"{line}Stats: \nLimit:     {250 * MIB}\nInUse:     {MIB}\nMaxInUse:  {MIB}\n")
    told = [each for each in report.findings if each.rule == "request-larger-than-device"]
    assert [remedy.slug for each in told for remedy in each.remedies] == slugs
