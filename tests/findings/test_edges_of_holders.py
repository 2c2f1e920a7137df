"""Edges of rules that read what is held (temporaries, chunks, paddings), or what the text states."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import row as timed
from tests.builders import timeline
from tests.findings.test_edges_of_support import at
from tests.findings.test_edges_of_tensors import failed, found, slugs
from tests.findings.test_support import A, G, P, U, asked, case, exactly, held
from tfmemlens.findings import (
    activations_dominate,
    arrays_of_a_profile,
    chunk_slack,
    died_in_forward_pass,
    double_precision,
    equal_arrays,
    gradients_dominate,
    longest_batch,
    many_small_allocations,
    models_kept,
    temporary_at_the_peak,
    tpu_padding,
    vectorised_jacobian,
    weights_beyond_device,
    weights_loaded,
    whole_table_updated,
)
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import Attribution, Kind, Owner, Phase
from tfmemlens.model.capture import StatedSize
from tfmemlens.model.case import Api, Balance, Candidate, FrontEnd, Moment, Naming
from tfmemlens.model.finding import Severity
from tfmemlens.model.incident import CompilerMemory, HolderBlock, Incident, PaddedBuffer, RequestKind
from tfmemlens.model.tensor import TensorType
from tfmemlens.values import replace

MIB, GIB = 1 << 20, 1 << 30
W = Kind.WORKSPACE
JAX = Api(front_end=FrontEnd.JAX)


# ------------------------------------------------------------------ a traced step


@pytest.mark.parametrize("scratch, rest, fires", [(25, 75, True), (24, 76, False), (0, 75, False)])
def test_temporaries_are_a_quarter_of_the_peak(scratch: int, rest: int, fires: bool) -> None:
    rows = [("a/x", rest, A), *([("b/y", scratch, W)] if scratch else [])]
    step = timeline(timed("a/x", rest, 0, 9), timed("b/y", scratch or 1, 1, 2, scratch=True))
    told = found(temporary_at_the_peak, held(*rows, timeline=step))
    assert [each.explains for each in told] == ([scratch] if fires else [])
    assert not found(temporary_at_the_peak, held(*rows))


def step_of(*sizes: int, device: str = "GPU", op: str = "MatMul") -> Moment:
    """A step of temporaries of so many MiB beside 100 MiB of tensors."""
    names = [f"{op}{number}" for number in range(len(sizes))]
    rows = [
        timed("a/x", 100, 0, 9),
        *(timed(name, size, 1, 2, scratch=True) for name, size in zip(names, sizes, strict=True)),
    ]
    owners = [Owner("a", A, Phase.FORWARD), *(Owner(name, W, Phase.FORWARD) for name in names)]
    step = replace(timeline(*rows), device=f"/device:{device}:0")
    return Moment(Attribution(AllocationTable.of(rows), owners), Balance(), timeline=step)


@pytest.mark.parametrize(
    "sizes, shown, saved",
    [((60,), 1, 60), ((200, 2), 1, 200), ((200, 3), 2, 200), ((60, 50, 40, 30), 3, 60)],
)
def test_the_largest_temporaries_are_shown(sizes: tuple[int, ...], shown: int, saved: int) -> None:
    (told,) = found(temporary_at_the_peak, step_of(*sizes))
    assert len(told.evidence) == shown and told.remedies[0].saves_bytes == saved * MIB
    assert "is in temporary buffers of ops running at the peak" in told.headline and slugs([told]) == [
        "smaller-temporary"
    ]


@pytest.mark.parametrize("later, saved", [(1, 59), (52, 8), (53, None), (60, None)])
def test_one_temporary_of_several_moments_promises_no_saving(later: int, saved: int | None) -> None:
    moment = step_of(60)
    again = timed("MatMul0/again", later, 4, 5, scratch=True)
    step = timeline(*moment.attribution.table, again)
    (told,) = found(temporary_at_the_peak, replace(moment, timeline=step))
    assert told.remedies[0].saves_bytes == (saved and saved * MIB)
    assert ("about as much at other moments" in told.remedies[0].text) is (saved is None)


@pytest.mark.parametrize("device, slug", [("GPU", "cudnn-workspace-limit"), ("CPU", "onednn")])
def test_kernels_of_convolutions_have_others(device: str, slug: str) -> None:
    (told,) = found(temporary_at_the_peak, step_of(60, device=device, op="Conv2D"))
    assert ("cudnn-workspace-limit" in slugs([told])) is (slug == "cudnn-workspace-limit") and len(
        told.remedies
    ) == 2


@pytest.mark.parametrize(
    "shapes, rest, severity",
    [
        ([(1000, 4)] * 2, 70, Severity.FACTOR),
        ([(1000, 4)] * 2, 46, Severity.CAUSE),
        ([(1000, 4)] * 2, 47, Severity.FACTOR),
        ([(1000, 4)] * 2, 180, Severity.FACTOR),
        ([(1000, 4)] * 2, 181, None),
        ([(1000, 4)], 5, None),
        ([(999, 4)] * 2, 5, None),
        ([(1000, 4, 2)] * 2, 5, None),
        ([(1000, 4), (1000, 5)], 5, None),
    ],
)
def test_an_update_of_a_whole_table(shapes: Any, rest: int, severity: Severity | None) -> None:
    rows = [
        Allocation(f"Adam/update_table/mul_{number}", 10, shape=shape, start_micros=1.0, end_micros=2.0)
        for number, shape in enumerate(shapes)
    ]
    rows.append(Allocation("a/x", rest, start_micros=0.0, end_micros=9.0))
    owners = [*(Owner("table", W, Phase.OPTIMIZER) for _ in shapes), Owner("a", A, Phase.FORWARD)]
    table = AllocationTable.of(rows)
    step = replace(timeline(timed("a/x", 1, 0, 9)), table=table)
    moment = Moment(Attribution(table, owners), Balance(), timeline=step)
    told = found(whole_table_updated, moment)
    assert [each.severity for each in told] == ([severity] if severity else [])
    assert all("all 1,000 rows" in each.headline and "1,000 x 4" in each.because for each in told)
    assert not found(whole_table_updated, replace(moment, timeline=None))


# ------------------------------------------------------------------ chunks


@pytest.mark.parametrize(
    "waste, in_use, severity",
    [
        (5, 100, Severity.NOTE),
        (4, 100, None),
        (14, 100, Severity.NOTE),
        (15, 100, Severity.FACTOR),
        (5, 0, None),
        (None, 100, None),
        (5, None, None),
    ],
)
def test_what_is_lost_inside_chunks(waste: int | None, in_use: int | None, severity: Severity | None) -> None:
    sizes = [None if each is None else exactly(each) for each in (waste, in_use)]
    moment = held(books=Balance(waste=sizes[0], in_use=sizes[1]))
    told = found(chunk_slack, moment)
    assert [(each.severity, each.explains) for each in told] == ([(severity, waste)] if severity else [])
    retraced = found(chunk_slack, moment, retraced=(5, at(3)))
    assert slugs(retraced) == (["constant-shapes"] if severity else []) and slugs(told) == []


def test_the_two_largest_rests_of_chunks_are_shown() -> None:
    sizes = ((100, 90), (100, 100), (100, 70), (100, 80), (100, None))
    rows = [Allocation(f"n{have}-{need}", have, requested_bytes=need) for have, need in sizes]
    owners = [Owner(None, A, Phase.NONE)] * len(rows)
    books = Balance(waste=exactly(60), in_use=exactly(500))
    (told,) = found(chunk_slack, Moment(Attribution(AllocationTable.of(rows), owners), books))
    assert [each.fact[:7] for each in told.evidence[1:]] == ["n100-70", "n100-80"]
    few = Moment(Attribution(AllocationTable.of(rows[:2]), owners[:2]), books)
    assert [each.fact[:7] for each in found(chunk_slack, few)[0].evidence[1:]] == ["n100-90"]


@pytest.mark.parametrize("slack, counts, lost", [(4096, (1, 2), 12288), (4095, (1, 2), None)])
def test_tensors_in_larger_chunks(slack: int, counts: tuple[int, ...], lost: int | None) -> None:
    rows = [Allocation(f"a{number}", 9000, count=count) for number, count in enumerate(counts)]
    naming = Naming((Candidate(TensorType((5,), "float32"), slack),), "x")
    owners = [Owner(None, A, Phase.NONE)] * len(rows)
    incident = Incident(asked().failed)
    moment = Moment(
        Attribution(AllocationTable.of(rows), owners), Balance(), (naming,) * len(rows), incident=incident
    )
    told = found(chunk_slack, moment)
    assert [each.explains for each in told] == ([lost] if lost else [])
    assert all("in 2 lines" in each.headline for each in told)
    assert not found(chunk_slack, replace(moment, incident=None))


@pytest.mark.parametrize(
    "nodes, unlisted, severity",
    [
        (5, 12, Severity.NOTE),
        (5, 11, None),
        (0, 12, None),
        (5, 300, Severity.NOTE),
        (5, 301, Severity.FACTOR),
    ],
)
def test_what_a_list_leaves_out(nodes: int, unlisted: int, severity: Severity | None) -> None:
    books = Balance(listed=exactly(1000 - unlisted), unlisted=exactly(unlisted), unlisted_nodes=nodes)
    moment = failed((2,), books=books)
    told = found(many_small_allocations, moment)
    assert [each.severity for each in told] == ([severity] if severity else [])
    assert slugs(told) == (["record-a-step"] if severity else [])
    assert all(each.evidence[0].fact == "the tail of the list" for each in told)
    assert not found(many_small_allocations, replace(moment, incident=None))
    block = HolderBlock(None, None, AllocationTable.of([Allocation("a", 5)] * 2), tail=at(9))
    listed = replace(
        moment, incident=Incident(asked().failed, holders=(HolderBlock(None, None, AllocationTable()), block))
    )
    for each in found(many_small_allocations, listed):
        assert (each.evidence[0].fact, each.evidence[0].line) == ("behind 2 lines", at(9))


# ------------------------------------------------------------------ kinds


@pytest.mark.parametrize("kept, rest, fires", [(50, 50, True), (49, 51, False)])
def test_activations_are_half_of_what_is_held(kept: int, rest: int, fires: bool) -> None:
    rows = [("a/x", kept, A), ("b/y", rest, P)]
    told = found(activations_dominate, held(*rows))
    assert [each.explains for each in told] == ([kept] if fires else [])
    assert all("kept for the backward pass, most in a" in each.headline for each in told)
    listed = Incident(asked().failed, compiler=CompilerMemory())
    assert not found(activations_dominate, held(*rows, incident=listed))
    assert not found(activations_dominate, held())


@pytest.mark.parametrize("kept, rest, fires", [(40, 60, True), (39, 61, False)])
def test_gradients_are_two_fifths_of_what_is_held(kept: int, rest: int, fires: bool) -> None:
    rows = [("a/x", kept, G), ("b/y", rest, P)]
    told = found(gradients_dominate, held(*rows), clipping=at(3))
    assert [each.explains for each in told] == ([kept] if fires else [])
    assert ("clip-per-variable" in slugs(told)) is fires
    assert "clip-per-variable" not in slugs(found(gradients_dominate, held(*rows)))
    cut = Incident(asked().failed, compiler=CompilerMemory(cut=True))
    assert not found(gradients_dominate, held(*rows, incident=cut))


@pytest.mark.parametrize(
    "more, fires",
    [
        ({}, True),
        ({"phase": Phase.GRADIENT}, False),
        ({"kind_of": RequestKind.XLA}, False),
        ({"count": 2}, False),
        ({"count": 2, "function": "__inference_train_step_7"}, True),
        ({"count": 0, "function": "__inference_train_step_7"}, True),
        ({"rows_of": U}, False),
        ({"rows_of": U, "function": "__inference_train_step_7"}, True),
        ({"backward": True}, False),
    ],
    ids=str,
)
def test_nothing_of_the_backward_pass_is_alive(more: Any, fires: bool) -> None:
    more = dict(more)
    kind, count, of = more.pop("kind_of", None), more.pop("count", 3), more.pop("rows_of", A)
    backward = more.pop("backward", False)
    moment = failed((2,), rows=[("a/x", 5, of)] * count, **more)
    assert moment.request
    if kind:
        moment = replace(
            moment, request=replace(moment.request, failed=replace(moment.request.failed, kind=kind))
        )
    if backward:
        owners = [Owner("a", A, Phase.GRADIENT)] * count
        moment = replace(moment, attribution=Attribution(moment.attribution.table, owners))
    assert bool(found(died_in_forward_pass, moment)) is fires


@pytest.mark.parametrize(
    "size, dtype, kind, fires",
    [
        (MIB // 8, "float64", RequestKind.TENSOR, True),
        (MIB // 8 - 1, "float64", RequestKind.TENSOR, False),
        (MIB // 4, "float32", RequestKind.TENSOR, False),
        (MIB // 8, "float64", RequestKind.HOST, False),
    ],
)
def test_double_precision(size: int, dtype: str, kind: RequestKind, fires: bool) -> None:
    moment = failed((size,), dtype=dtype)
    assert moment.request
    request = replace(moment.request, failed=replace(moment.request.failed, kind=kind))
    told = found(double_precision, replace(moment, request=request))
    assert [(each.explains, each.remedies[0].saves_bytes) for each in told] == (
        [(MIB // 2, MIB // 2)] if fires else []
    )


# ------------------------------------------------------------------ TPU


def padded(*pairs: tuple[int, int], shape: tuple[int, ...] | None = (9, 100), rest: int = 0) -> Moment:
    buffers = tuple(
        PaddedBuffer("label", exactly(size), exactly(data), shape, "f32", "", at(number))
        for number, (size, data) in enumerate(pairs, 1)
    )
    incident = Incident(asked().failed, compiler=CompilerMemory(padded=buffers))
    rows = [("a/x", rest, A)] if rest else []
    return held(*rows, request=asked(), incident=incident)


@pytest.mark.parametrize(
    "pairs, rest, severity, lost",
    [
        ([(110, 100)], 100, None, 0),
        ([(110, 100)], 0, None, 0),
        ([(120, 110), (120, 110), (120, 118)], 200, Severity.FACTOR, 22),
        ([(100, 90)], 100, Severity.FACTOR, 10),
        ([(100, 91)], 100, None, 0),
        ([(100, 70)], 100, Severity.CAUSE, 30),
        ([(100, 71)], 100, Severity.FACTOR, 29),
        ([(4, 2)], 1000, Severity.FACTOR, 2),
        ([(5, 3)], 1000, None, 0),
        ([], 1000, None, 0),
    ],
)
def test_what_padding_to_tiles_costs(pairs: Any, rest: int, severity: Severity | None, lost: int) -> None:
    told = found(tpu_padding, padded(*pairs, rest=rest))
    assert [(each.severity, each.explains) for each in told] == ([(severity, lost)] if severity else [])


@pytest.mark.parametrize(
    "shape, words",
    [
        ((9, 100), "make dimension 0 of [9,100] larger, or merge it"),
        ((9, 129), "put a large dimension last: 129 is padded to 256"),
        ((16, 100), "put a large dimension last: 100 is padded to 128"),
        ((9, 128), "make dimension 0 of [9,128] larger, or merge it with a large one: in this layout its 9"),
        ((100, 128, 7), "put a large dimension last: 7 is padded to 128"),
        ((8, 128), "see which dimension of it is padded"),
        (None, "see which dimension of it is padded"),
    ],
)
def test_the_last_dimension_is_padded_to_128(shape: Any, words: str) -> None:
    (told,) = found(tpu_padding, padded((400, 100), (300, 100), (500, 100), (250, 100), shape=shape))
    assert told.remedies[0].text.startswith(words)
    assert told.headline.endswith("[9,100] grows 5.0 times" if shape == (9, 100) else "5.0 times")
    assert ("label together grow 5.0" in told.because) is (shape is None)
    assert [each.line.number for each in told.evidence if each.line] == [3, 1, 2]


# ------------------------------------------------------------------ what the text states


@pytest.mark.parametrize(
    "shape, kind, stated, turns",
    [
        ((30, 7, 2), RequestKind.TENSOR, [], 30),
        ((2, 7, 2), RequestKind.TENSOR, [], 2),
        ((30, 7), RequestKind.TENSOR, [], 0),
        ((1, 7), RequestKind.TENSOR, [], None),
        ((30, 7), RequestKind.HOST, [], None),
        (None, RequestKind.TENSOR, [], None),
        ((30, 7), RequestKind.TENSOR, [(5, 6)], 6),
        ((30, 7, 2), RequestKind.TENSOR, [(5, 6)], 6),
        ((30, 7), RequestKind.TENSOR, [(1, 30)], 0),
        ((30, 7), RequestKind.TENSOR, [(30, 1)], 0),
        ((30, 7), RequestKind.TENSOR, [(15, 2)], 2),
        ((30, 7), RequestKind.TENSOR, [(2, 15)], 15),
        ((30, 7, 2), RequestKind.TENSOR, [(5, 6), (3, 10)], 30),
        ((30, 7), RequestKind.TENSOR, [(5, 7)], 0),
        ((30, 7), RequestKind.TENSOR, [(5, 6, 1)], 0),
    ],
)
def test_turns_of_a_vectorised_loop(shape: Any, kind: RequestKind, stated: Any, turns: int | None) -> None:
    """0 where the loop is told of, and not how many iterations it has."""
    sizes = tuple(StatedSize("y", each, at(3)) for each in stated)
    moment = failed(shape, "loop_body/MatMul/pfor/MatMul", kind=A)
    assert moment.request
    request = replace(moment.request, failed=replace(moment.request.failed, kind=kind))
    told = found(vectorised_jacobian, replace(moment, request=request), sizes=sizes)
    assert bool(told) is (turns is not None)
    for each in told:
        need = moment.request.failed.tensor_bytes or 0
        assert (f"most likely {turns}:" in each.headline) is bool(turns)
        assert each.remedies[1].saves_bytes == (need - need // turns if turns else None)


@pytest.mark.parametrize(
    "count, limit, node, severity",
    [
        (50_000_000, 1000, "a/b", Severity.CAUSE),  # 800 MB of 1000 MB
        (50_000_000, 1001, "a/b", Severity.FACTOR),
        (50_000_000, 2424, "a/b", Severity.FACTOR),
        (50_000_000, 2425, "a/b", None),
        (50_000_000, None, "a/b", None),
    ],
)
def test_weights_that_leave_too_little_of_the_device(
    count: int, limit: int | None, node: str, severity: Severity | None
) -> None:
    books = Balance(limit=limit and exactly(limit * 10**6))
    moment = failed((2,), node, books=books)
    told = found(weights_beyond_device, moment, parameters=(count, at(3)))
    assert [each.severity for each in told] == ([severity] if severity else [])
    assert ("smaller-model" in slugs(told)) is (severity is Severity.CAUSE)
    assert all(each.explains == 800 * 10**6 for each in told)


@pytest.mark.parametrize(
    "limit, words, explains",
    [(799, "more than this GPU has (", 799), (800, "100 % of this GPU's", 800)],
)
def test_weights_that_are_more_than_the_device(limit: int, words: str, explains: int) -> None:
    moment = failed((2,), books=Balance(limit=exactly(limit * 10**6)))
    (told,) = found(weights_beyond_device, moment, parameters=(50_000_000, at(3)))
    assert words in told.because and told.explains == explains * 10**6
    assert "about 30 million weights" in next(
        each.text for each in told.remedies if each.slug == "smaller-model"
    )


@pytest.mark.parametrize(
    "code, fires, freezes",
    [
        ("x = 3", True, False),
        ("layer.trainable = False", False, False),
        ("opt = SGD(0.1)", False, False),
        ("m = Model.from_pretrained(n)", True, True),
    ],
)
def test_a_part_of_the_weights_may_be_trained(code: str, fires: bool, freezes: bool) -> None:
    moment = failed((2,), books=Balance(limit=exactly(799 * 10**6)))
    told = found(weights_beyond_device, moment, parameters=(50_000_000, at(3)), code=(at(2, code),))
    assert bool(told) is fires and ("freeze-weights" in slugs(told)) is freezes
    used = {"parameters": (50_000_000, at(3)), "purposes": (("prediction", at(4)),)}
    assert (
        bool(found(weights_beyond_device, failed((2,), books=moment.balance, keras_call="predict"), **used))
        is False
    )
    assert not found(weights_beyond_device, moment, JAX, parameters=(50_000_000, at(3)))


@pytest.mark.parametrize(
    "code, more, fires",
    [
        ("model.load_weights(path)", {}, True),
        ("model.fit(x); model.load_weights(path)", {}, False),
        ("model = load_model(path)", {}, True),
        ("model.save(path)", {}, False),
        ("model.load_weights(path)", {"creating": True}, False),
        ("model.load_weights(path)", {"keras_call": "fit"}, False),
        ("model.load_weights(path)", {"keras_layer": ("a", "Dense")}, False),
        ("model.save(path)", {"node": "save/RestoreV2"}, True),
        ("model.save(path)", {"node": "save_2/Assign_3"}, True),
    ],
    ids=str,
)
def test_weights_that_were_being_loaded(code: str, more: Any, fires: bool) -> None:
    moment = failed((5,), **{"source_text": code, "source": "a.py:3", **more})
    told = found(weights_loaded, moment)
    assert [each.explains for each in told] == ([20] if fires else [])
    of_saver = "node" in more
    expected = ["smaller-model", "less-optimizer-state"] if of_saver else ["one-model-at-a-time"]
    assert slugs(told) == (expected if fires else [])
    for kind, users in ((RequestKind.COPY, True), (RequestKind.DUMP, None)):
        assert moment.request
        other = replace(
            moment, request=replace(moment.request, failed=replace(moment.request.failed, kind=kind))
        )
        seen = found(weights_loaded, other)
        assert bool(seen) is (fires and users is not None)
        assert ("see-device-users" in slugs(seen)) is (fires and users is True)


@pytest.mark.parametrize(
    "lengths, need, explains",
    [
        ([100, 90, 80, 70, 125], 1000, 200),
        ([100, 90, 80, 70, 124], 1000, None),
        ([70, 80, 90, 100, 125], 1000, None),  # a counter
        ([100, 100, 100, 100, 125], 1000, 200),
        ([(2, 100), (2, 400)], 1000, 750),
        ([(2, 100), (2, 399)], 1000, None),
        ([(2, 100), (8, 100)], 1000, None),
        ([(2, 100), (3, 400)], 1000, None),
        ([(2, 90), (2, 100), (2, 95), (2, 400)], 1000, 750),
        ([(2, 90), (2, 100), (2, 95), (2, 399)], 1000, None),
        ([(2, 90), (2, 100), (2, 95), (2, 80), (2, 125)], None, 0),
        ([100, 400], 1000, None),  # a length alone may be anything
        ([(2, 100)], 1000, None),
        ([(2, 3, 4), (2, 100), (2, 400)], 1000, 750),
    ],
)
def test_the_longest_batch_of_all(lengths: Any, need: int | None, explains: int | None) -> None:
    shown = tuple(
        (each if isinstance(each, tuple) else (each,), at(number)) for number, each in enumerate(lengths, 1)
    )
    told = found(longest_batch, failed(None, size=need), lengths=shown)
    assert [each.explains or 0 for each in told] == ([] if explains is None else [explains])
    late = failed(None, size=need, line=at(len(lengths)))
    assert not [
        each
        for each in found(longest_batch, late, lengths=shown)
        if each.evidence[0].line == at(len(lengths))
    ]


def test_the_largest_batches_are_told() -> None:
    shown = tuple(((2, size), at(size)) for size in (100, 400))
    (told,) = found(longest_batch, failed(None, size=5), lengths=shown)
    assert told.because == "this batch is (2, 400), and the one before was (2, 100)"
    shown = tuple(((size,), at(size)) for size in (90, 100, 95, 80, 125))
    (told,) = found(longest_batch, failed(None, size=5), lengths=shown)
    assert told.because == "this batch is 125, and none of the 4 before was above 100"
    assert [each.line.number for each in told.evidence if each.line] == [125, 100]


# ------------------------------------------------------------------ arrays alike


def shown(text: str, sizes: tuple[int, ...], count: int) -> tuple[StatedSize, ...]:
    return tuple(StatedSize("", sizes, at(number, text)) for number in range(count))


@pytest.mark.parametrize(
    "text, sizes, count, need, explains",
    [
        ("(1000, 500) float32 2000000", (1000, 500), 4, 16_000_000, 8_000_000),
        ("(1000, 500) float32 2000000", (1000, 500), 4, 16_000_002, None),
        ("(1000, 500) float32 2000000", (1000, 500), 3, 5, None),
        ("(1000, 500) float32 2_000_000", (1000, 500), 6, 5, 12_000_000),
        ("(1000, 500) float64 4,000,000", (1000, 500), 4, 5, 16_000_000),
        ("(1000, 500) int64 4000000", (1000, 500), 4, 5, 16_000_000),
        ("(1000, 500) int32 2000000", (1000, 500), 4, 5, 8_000_000),
        ("(1000, 500) float16 1000000", (1000, 500), 4, 5, 4_000_000),
        ("(1000, 500) bfloat16 1000000", (1000, 500), 4, 5, 4_000_000),
        ("(1000, 500) uint8 500000", (1000, 500), 4, 5, 2_000_000),
        ("(1000, 500) int8 500000", (1000, 500), 4, 5, None),
        ("(1000, 500) float32 2000001", (1000, 500), 4, 5, None),
        ("(1000, 500) 2000000", (1000, 500), 4, 5, None),
    ],
)
def test_arrays_of_one_shape_that_are_alive(
    text: str, sizes: Any, count: int, need: int, explains: int | None
) -> None:
    moment = failed(None, size=need)
    told = found(equal_arrays, moment, JAX, sizes=shown(text, sizes, count))
    assert [each.explains for each in told] == ([explains] if explains else [])
    assert all(("each with Adam's two moments" in each.because) is (count == 6) for each in told)
    assert not found(equal_arrays, moment, sizes=shown(text, sizes, count))


def test_of_two_shapes_the_one_that_holds_more_is_told() -> None:
    small, large = "(1000, 500) float32 2000000", "(1000, 600) float32 2400000"
    sizes = (*shown(small, (1000, 500), 6), *shown(large, (1000, 600), 4))
    (told,) = found(equal_arrays, failed(None, size=5), JAX, sizes=sizes)
    assert told.because.startswith("6 arrays of [1000,500]") and "as many as of 2 states" in told.because
    sizes = (*shown(small, (1000, 500), 4), *shown(large, (1000, 600), 4))
    (told,) = found(equal_arrays, failed(None, size=5), JAX, sizes=sizes)
    assert told.because.startswith("4 arrays of [1000,600]")


@pytest.mark.parametrize(
    "models, alone, sharing, front_end, words",
    [
        (3, False, False, FrontEnd.KERAS, "3 models are alive at once (line 3)"),
        (2, False, False, FrontEnd.KERAS, None),
        (2, True, False, FrontEnd.KERAS, "it goes well alone (line 5)"),
        (3, True, False, FrontEnd.KERAS, "3 models are alive at once (line 3)"),
        (3, False, True, FrontEnd.KERAS, "3 models are alive at once (line 3)"),
        (2, True, True, FrontEnd.KERAS, None),
        (3, True, False, FrontEnd.JAX, None),
        (None, True, False, FrontEnd.KERAS, "it goes well alone (line 5)"),
        (None, False, False, FrontEnd.KERAS, None),
    ],
)
def test_models_that_are_kept(
    models: int | None, alone: bool, sharing: bool, front_end: FrontEnd, words: str | None
) -> None:
    told: dict[str, Any] = {"models": models and (models, at(3)), "alone": at(5) if alone else None}
    told["purposes"] = (("sharing the device", at(6)),) if sharing else ()
    seen = found(models_kept, failed((2,)), Api(front_end=front_end), **told)
    assert [each.because.startswith(words or "") for each in seen] == ([True] if words else [])
    assert all(len(each.evidence) == (models == 3) + alone for each in seen)


# ------------------------------------------------------------------ a memory profile


def profile(*rows: tuple[str, int, int]) -> Moment:
    table = AllocationTable.of(
        [Allocation(node, size * MIB, error_bytes=error * MIB) for node, size, error in rows]
    )
    return Moment(
        Attribution(table, [Owner(None, U, Phase.NONE) for _ in rows]),
        Balance(),
        request=asked(kind=RequestKind.PROFILE),
    )


def of_profile(*moments: Moment) -> Any:
    return list(arrays_of_a_profile.check(case(*moments)))


@pytest.mark.parametrize(
    "rows, words",
    [
        ([("a x.py", 100, 0)] * 2, None),
        ([("a x.py", 100, 0)] * 3, "3 sets of 100.00 MiB of the same size"),
        ([("a x.py", 64, 0)] * 3, "3 sets of 64.00 MiB of the same size"),
        ([("a x.py", 63, 0)] * 3, None),
        ([("a x.py", 100, 1), ("a x.py", 102, 1), ("a x.py", 104, 1)], "3 sets of 104.00 MiB"),
        ([("a x.py", 100, 0), ("a x.py", 101, 0), ("a x.py", 102, 0)], None),
        (
            [("init x.py", 100, 0), ("zeros_like x.py", 100, 0), ("a x.py", 100, 0)],
            "3 sets of 100.00 MiB (most likely weights and Adam's two moments)",
        ),
        ([("init x.py", 100, 0), ("b x.py", 100, 0), ("a x.py", 100, 0)], "of the same size"),
        ([("init x.py", 100, 0)] * 4, "4 sets of 100.00 MiB of the same size"),
    ],
)
def test_sets_alike_in_a_profile(rows: Any, words: str | None) -> None:
    told = of_profile(profile(*rows))
    assert [words in each.because for each in told] == ([True] if words else []) if words else not told
    assert all(each.moment == 0 for each in told)
    assert ("smaller-moments" in slugs(told)) is bool(words and "Adam" in words)


def test_a_profile_beside_a_failure_explains_it() -> None:
    moment = profile(("/home/u/e.py collect", 100, 0))
    assert not of_profile(moment) and not of_profile(failed((2,)))
    (told,) = of_profile(moment, failed((2,)))
    assert (told.moment, told.explains) == (1, 100 * MIB)
    assert told.because.startswith("the memory profile beside it shows 100.00 MiB of arrays")
    (other,) = of_profile(failed((2,)), moment)
    assert other.moment == 0
    host = failed((2,), device="/device:CPU:0")
    assert not of_profile(moment, host)
