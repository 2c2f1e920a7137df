"""Edges of rules about weights, and about one chunk that holds most."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import row, timeline
from tests.findings.test_edges_of_support import at
from tests.findings.test_edges_of_tensors import failed, found, slugs
from tests.findings.test_support import A, P, U, asked, exactly, held
from tfmemlens.findings import one_chunk_dominates, parameters_dominate
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import Attribution, Kind, Owner, Phase
from tfmemlens.model.case import Balance, Moment
from tfmemlens.model.finding import Basis, Finding
from tfmemlens.model.incident import CompilerMemory, Incident, RequestKind
from tfmemlens.values import replace

MIB, GIB = 1 << 20, 1 << 30
SLOT = Kind.OPTIMIZER_SLOT


# ------------------------------------------------------------------ what is held


@pytest.mark.parametrize(
    "rows, need, fires",
    [
        ([("w/x", 40, P), ("a/x", 60, A)], None, True),
        ([("w/x", 39, P), ("a/x", 61, A)], None, False),
        ([("w/x", 20, P), ("w/Adam", 20, SLOT), ("a/x", 60, A)], None, True),
        ([("w/x", 40, P), ("a/x", 60, A)], 40, True),
        ([("w/x", 40, P), ("a/x", 60, A)], 41, False),
        ([], None, False),
    ],
)
def test_weights_are_two_fifths_of_what_is_held(rows: Any, need: int | None, fires: bool) -> None:
    request = asked(size=need) if need else None
    told = found(parameters_dominate, held(*rows, request=request))
    assert [(each.explains, each.basis) for each in told] == ([(40, None)] if fires else [])
    assert all("narrower-layer" in slugs([each]) for each in told)


def test_of_a_step_it_is_traced_and_of_a_cut_list_not_known() -> None:
    rows = [("w/x", 40, P), ("a/x", 60, A)]
    (told,) = found(parameters_dominate, held(*rows, timeline=timeline(row("w/x", 1, 0, 9))))
    assert told.basis is Basis.TRACED
    for compiler, fires in ((CompilerMemory(), True), (CompilerMemory(cut=True), False)):
        listed = held(*rows, incident=Incident(asked().failed, compiler=compiler))
        assert bool(found(parameters_dominate, listed)) is fires
    parts = (("parameter", 9), ("maybe_live_out", 5), ("preallocated temp", 0))
    alone = CompilerMemory(sections=tuple((name, exactly(size), at(1)) for name, size in parts))
    assert not found(parameters_dominate, held(*rows, incident=Incident(asked().failed, compiler=alone)))


# ------------------------------------------------------------------ a weight that is being made


def making(shape: Any = (512, 512), node: str | None = "net/w/Initializer/x", **facts: Any) -> list[Finding]:
    return found(parameters_dominate, failed(shape, node, **{"layer": "net", "kind": P, **facts}))


@pytest.mark.parametrize(
    "more, fires",
    [
        ({}, True),
        ({"shape": (512, 511)}, False),
        ({"kind": SLOT}, True),
        ({"kind": A}, True),
        ({"kind": A, "node": "fc/MatMul"}, False),
        ({"kind": A, "phase": Phase.GRADIENT}, False),
        ({"kind": A, "node": "dropout/random_uniform/x"}, False),
        ({"kind": A, "node": "fc/random_uniform"}, True),
        ({"pipeline": True}, False),
        ({"kind": A, "phase": Phase.OPTIMIZER, "node": "x/update", "shape": (200_001, 64)}, True),
        ({"kind": A, "phase": Phase.OPTIMIZER, "node": "x/update", "shape": (512, 512)}, False),
    ],
    ids=str,
)
def test_a_weight_that_was_being_made(more: Any, fires: bool) -> None:
    assert bool(making(**more)) is fires


@pytest.mark.parametrize(
    "more, words",
    [
        ({}, "while creating the weights or optimizer slots of net"),
        ({"phase": Phase.OPTIMIZER}, "in the optimizer update of net"),
        ({"phase": Phase.OPTIMIZER, "kind": SLOT}, "while creating the weights or optimizer slots of net"),
        ({"node": None, "source": "a.py:3"}, "while creating the first value of a weight at a.py:3"),
        ({"node": None}, "while creating the first value of a weight: "),
        (
            {"node": None, "shape": (3, 3, 512, 512)},
            "while creating the first value of a convolution's kernel",
        ),
        ({"layer": None, "updating": True, "kind": SLOT}, "while creating the optimizer's slots"),
    ],
    ids=str,
)
def test_what_the_run_was_at(more: Any, words: str) -> None:
    (told,) = making(**more)
    assert words in told.headline


@pytest.mark.parametrize(
    "shape, offered, never",
    [
        ((5000, 64, 1), [], []),
        ((3, 3, 512, 512), ["narrower-layer"], ["count-parameters", "smaller-vocabulary"]),
        ((200_001, 64), ["smaller-vocabulary", "table-on-host"], ["count-parameters", "narrower-layer"]),
        ((512, 512), ["count-parameters"], ["smaller-vocabulary"]),
        ((300_000,), ["count-parameters"], ["smaller-vocabulary"]),
        ((9_000_000,), ["count-parameters"], ["smaller-vocabulary"]),
        ((2048, 4095), ["count-parameters"], []),
        ((2048, 4096), [], ["count-parameters"]),
    ],
)
def test_what_makes_a_weight_smaller(shape: Any, offered: list[str], never: list[str]) -> None:
    (told,) = making(shape)
    assert set(offered) <= set(slugs([told])) and not set(never) & set(slugs([told]))
    texts = [each.text for each in told.remedies if each.slug == "count-parameters"]
    small = told.explains is not None and told.explains < 32 * MIB
    assert all(("this weight is small" in text) is small for text in texts)


@pytest.mark.parametrize(
    "limit, rows, words",
    [
        (1000, 300_000, "no more than 976 rows fit 1000 B: begin with 480"),
        (10_000, 300_000, "no more than 9,765 rows fit 9.8 KiB: begin with 4,800"),
        (4 * 300_000 * 256, 300_000, ""),
        (4 * 300_000 * 256 - 2000, 300_000, "no more than 299,998 rows fit"),
        (None, 300_000, ""),
    ],
)
def test_the_rows_of_a_table_that_fit(limit: int | None, rows: int, words: str) -> None:
    books = Balance(limit=None if limit is None else exactly(limit * 1024 if limit < 20_000 else limit))
    moment = failed((rows, 64), "table/Adam", kind=SLOT, layer="table", books=books)
    (told,) = [each for each in found(parameters_dominate, moment) if "table" in each.headline]
    text = next(each.text for each in told.remedies if each.slug == "smaller-vocabulary")
    assert ("rows fit" in text) is bool(words)
    if words and limit and limit >= 20_000:
        assert words in text


def test_an_update_of_a_whole_table_has_temporaries_of_its_size() -> None:
    (told,) = making((200_001, 64), "Adam/update_table/mul_3", kind=A, phase=Phase.OPTIMIZER)
    first = told.remedies[0]
    assert (first.slug, first.saves_bytes) == ("sparse-updates", 200_001 * 64 * 4)
    assert "an embedding table of 200,001 x 64, and each slot" in told.because and told.basis is Basis.SHAPE
    (other,) = making((200_001, 64), "Adam/update_table/x", kind=A, phase=Phase.OPTIMIZER)
    assert "sparse-updates" not in slugs([other])


# ------------------------------------------------------------------ one chunk


def chunks(
    *sizes: tuple[int, int],
    need: int | None = 5 * MIB,
    what: RequestKind = RequestKind.TENSOR,
    shape: Any = None,
    waste: int | None = None,
    **facts: Any,
) -> Moment:
    """A dump of chunks of (MiB, count)."""
    rows = [Allocation(None, size * MIB, count=count, line=at(size)) for size, count in sizes]
    books = Balance(waste=None if waste is None else exactly(waste * MIB))
    moment = failed(shape, **{"node": None, **facts}, size=need, what=what, books=books)
    return replace(
        moment, attribution=Attribution(AllocationTable.of(rows), [Owner(None, U, Phase.NONE)] * len(rows))
    )


@pytest.mark.parametrize(
    "moment, explains",
    [
        (chunks((50, 1), (25, 2)), 50),
        (chunks((50, 1), (51, 2)), None),
        (chunks((49, 1), (17, 3)), None),
        (chunks((16, 1)), 16),
        (chunks((15, 1), need=MIB), None),
        (chunks((50, 1), need=25 * MIB), 50),
        (chunks((50, 1), need=25 * MIB + 1), 50),
        (chunks((50, 1), need=51 * MIB), None),
        (chunks((50, 1), need=50 * MIB), 50),
        (chunks((50, 1), need=None), None),
        (chunks((50, 1), what=RequestKind.DUMP), 50),
        (chunks((50, 1), what=RequestKind.XLA), None),
        (chunks((50, 1), need=40 * MIB, shape=(10, MIB)), None),
        (chunks((50, 1), need=25 * MIB, shape=(10, MIB)), 50),
        (chunks(), None),
    ],
)
def test_one_chunk_that_holds_most(moment: Moment, explains: int | None) -> None:
    told = found(one_chunk_dominates, moment)
    assert [each.explains for each in told] == ([explains * MIB] if explains else [])
    need = moment.request.needed_bytes if moment.request else None
    again = bool(need and explains and need > 25 * MIB)
    assert all(
        (", and a second one as large was requested" in each.because) is again
        for each in told
        if explains == 50 and need != 25 * MIB
    )


@pytest.mark.parametrize(
    "waste, words",
    [
        (None, "one tensor of 50.00 MiB to 100.00 MiB"),
        (1, "one tensor of 99.00 MiB to 99.00 MiB"),
        (0, "one tensor of about 100.00 MiB"),
    ],
)
def test_how_large_the_tensor_in_a_chunk_is(waste: int | None, words: str) -> None:
    (told,) = found(one_chunk_dominates, chunks((100, 1), waste=waste))
    assert words in told.because or (waste == 1 and "one tensor of about 99.00 MiB" in told.because)


@pytest.mark.parametrize(
    "shape, facts, words",
    [
        ((1024,), {"op": "Sum"}, "most likely the [1024,25600] that this op sums up"),
        ((512,), {"op": "Sum"}, None),
        ((1000,), {"op": "Sum"}, None),
        ((1024,), {"op": "Relu"}, None),
        ((1024,), {"op": "Sum", "source_text": "d = f(x[:, None] - y)"}, "sums up: every pair of rows"),
        ((1000, 0), {"op": "Sum"}, None),
        ((26 * MIB,), {"op": "Sum"}, None),
        ((2000, 1000), {"op": "MatMul"}, "most likely a matrix of 2,000 columns and 13,107 to 13,108 rows"),
    ],
)
def test_what_the_tensor_in_the_chunk_may_be(shape: Any, facts: Any, words: str | None) -> None:
    (told,) = found(one_chunk_dominates, chunks((100, 1), shape=shape, need=MIB, waste=0, **facts))
    assert words in told.because if words else "most likely" not in told.because


@pytest.mark.parametrize(
    "layer, free, told",
    [
        ("net", None, ["smaller-batch", "in-blocks"]),
        (None, None, ["in-blocks"]),
        ("net", 4, ["in-blocks"]),  # a free block tells the batch
    ],
)
def test_a_smaller_batch_beside_one_large_chunk(layer: str | None, free: int | None, told: list[str]) -> None:
    books = Balance(requested=5, free=exactly(9), largest_free_chunk=exactly(free)) if free else Balance()
    moment = failed((8, 1000), "net/Relu", size=5 * MIB, books=books, layer=layer)
    table = AllocationTable.of([Allocation(None, 50 * MIB, count=1)])
    moment = replace(moment, attribution=Attribution(table, [Owner(None, U, Phase.NONE)]))
    causes = found(one_chunk_dominates, moment, purposes=(("training", at(1)),))
    assert slugs(causes) == told
