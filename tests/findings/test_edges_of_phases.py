"""Edges of what tells which part of a program failed: evaluation, whole sets, growing graphs, disguises."""

from __future__ import annotations

from typing import Any

import pytest

from tests.findings.test_edges_of_support import at
from tests.findings.test_edges_of_tensors import failed, found, slugs
from tests.findings.test_support import A, P, case, exactly
from tfmemlens.findings import (
    changed_batch,
    failed_in_evaluation,
    failure_in_disguise,
    fragmented_free_memory,
    growing_graph,
    whole_set_in_one_batch,
)
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.capture import Progress, StatedSize
from tfmemlens.model.case import Api, Balance, FrontEnd, Moment
from tfmemlens.model.finding import Basis, Severity
from tfmemlens.model.incident import AllocatorState, Frame, Incident, RequestKind
from tfmemlens.model.live_model import LiveModel
from tfmemlens.units import Size, human
from tfmemlens.values import replace

MIB, GIB = 1 << 20, 1 << 30
JAX = Api(front_end=FrontEnd.JAX)


def with_batch(moment: Moment, batch: int | None) -> Moment:
    assert moment.request
    return replace(moment, request=replace(moment.request, batch=batch))


def settings(**values: str) -> dict[str, Any]:
    return {"settings": tuple((name, value, at(4, f"x.batch({value})")) for name, value in values.items())}


# ------------------------------------------------------------------ evaluation


@pytest.mark.parametrize(
    "call, batch, values, because, explains",
    [
        ("evaluate", 64, {"batch_size": "16"}, "whose batch is 64, in training 16", 750),
        ("evaluate", 16, {"batch_size": "16"}, "whose batch can be set by itself", None),
        ("evaluate", 17, {"batch_size": "16"}, "whose batch is 17, in training 16", 59),
        ("evaluate", 64, {"batch_size": "0"}, "whose batch can be set by itself", None),
        ("evaluate", 64, {}, "whose batch can be set by itself", None),
        ("evaluate", None, {"batch_size": "16"}, "whose batch can be set by itself", None),
        (
            "evaluate",
            64,
            {"batch_size": "16", "validation_batch_size": "32"},
            "whose batch is 32, in training 16",
            500,
        ),
        ("predict", 64, {"batch_size": "16"}, "whose batch can be set by itself", None),
        ("predict", 64, {"batch_size": "16", "validation_batch_size": "32"}, "can be set by itself", None),
    ],
)
def test_a_batch_of_evaluation_beside_the_trainings(
    call: str, batch: int | None, values: Any, because: str, explains: int | None
) -> None:
    moment = with_batch(failed(None, size=1000, keras_call=call), batch)
    (told,) = found(failed_in_evaluation, moment, **settings(**values))
    assert because in told.because and told.explains == explains
    larger = explains is not None
    assert (told.severity, told.basis) == (
        (Severity.CAUSE, Basis.MEASURED) if larger else (Severity.FACTOR, None)
    )
    assert (f", at a batch of {batch}" in told.headline) is bool(batch)


def test_only_evaluation_and_prediction_have_batches_of_their_own() -> None:
    assert not found(failed_in_evaluation, failed((5,), pipeline=True))
    assert not found(failed_in_evaluation, failed((5,), keras_call="fit"))
    assert len(found(failed_in_evaluation, failed((5,), keras_call="predict"))) == 1


@pytest.mark.parametrize(
    "call, batch, need, limit, values, code, text",
    [
        ("predict", 64, 1000, None, {}, "batch_size=16)", "(this one had 64)"),
        ("predict", 3, 1000, None, {}, "batch_size=1)", "(this one had 3)"),
        ("predict", 999, 1000, None, {}, "batch_size=249)", "(this one had 999)"),
        ("predict", 1000, 1000, None, {}, "batch_size=100)", "(this one had 1000)"),
        ("predict", 64, 64 * GIB, 64 * GIB, {}, "batch_size=8)", ""),
        ("predict", 64, 64 * GIB, 65 * GIB, {}, "batch_size=8)", ""),
        ("predict", 64, 64 * GIB, 63 * GIB, {}, "batch_size=4)", ""),
        ("predict", 64, 64 * GIB, 128 * GIB, {}, "batch_size=16)", ""),
        ("predict", 64, 64 * GIB, GIB, {}, "batch_size=1)", ""),
        ("predict", 64, 64 * GIB, None, {}, "batch_size=2)", ""),
        ("predict", None, 1000, None, {}, "batch_size=8)", "use a smaller batch for prediction"),
        (
            "evaluate",
            64,
            1000,
            None,
            {"batch_size": "32"},
            "batch_size=32)",
            "(this one had 64, in training 32)",
        ),
        ("evaluate", 64, 1000, None, {"batch_size": "64"}, "batch_size=16)", "(this one had 64)"),
        (
            "evaluate",
            64,
            1000,
            None,
            {"batch_size": "128"},
            "batch_size=16)",
            "(this one had 64, in training 128)",
        ),
        ("predict", 64, 1000, None, {"batch_size": "32"}, "batch_size=16)", "(this one had 64)"),
        (
            "evaluate",
            64,
            1000,
            None,
            {"validation_batch_size": "40"},
            "validation.batch(10)",
            "(this one had 40), line 4",
        ),
        ("predict", 1, 1000, None, {}, None, "the batch is 1 already"),
    ],
)
def test_the_batch_that_is_advised(
    call: str, batch: int | None, need: int, limit: int | None, values: Any, code: str | None, text: str
) -> None:
    books = Balance(limit=limit and exactly(limit))
    moment = with_batch(failed(None, size=need, keras_call=call, books=books), batch)
    (told,) = found(failed_in_evaluation, moment, **settings(**values))
    (remedy,) = told.remedies
    assert (remedy.code is None) if code is None else code in str(remedy.code)
    assert text in remedy.text
    (older,) = found(failed_in_evaluation, moment, Api(newest=(1, 15)), **settings(**values))
    assert older.remedies[0].code is None
    assert ("try " in older.remedies[0].text) is bool(code and batch)


@pytest.mark.parametrize(
    "recorded, because, saves",
    [(16, "whose batch is 64, in training 16", 750), (None, "can be set by itself", 750)],
)
def test_the_recorded_step_tells_the_trainings_batch(recorded: int | None, because: str, saves: int) -> None:
    moment = with_batch(failed((64, 5), size=1000, keras_call="evaluate"), 64)
    model = LiveModel((), (), batch=recorded)
    whole = case(moment)
    (told,) = failed_in_evaluation.check(replace(whole, capture=replace(whole.capture, live_model=model)))
    assert because in told.because
    assert told.remedies[0].saves_bytes == saves


@pytest.mark.parametrize("call, told", [("evaluate", 0), ("fit", 1)])
def test_the_batch_of_evaluation_is_no_surprise(call: str, told: int) -> None:
    moment = with_batch(failed((50, 5, 5, 3), keras_call=call), 50)
    assert len(list(changed_batch.check(case(moment, **settings(batch_size="16"))))) == told


@pytest.mark.parametrize(
    "code, batch",
    [
        ("model.predict(x, batch_size=48)", "batch_size=12)"),
        ("model.fit(x, batch_size=48)", "batch_size=16)"),
        ("model.predict(x)", "batch_size=16)"),
    ],
)
def test_the_batch_of_the_line_that_failed(code: str, batch: str) -> None:
    moment = with_batch(failed(None, size=5, keras_call="predict", source_text=code), 64)
    (told,) = found(failed_in_evaluation, moment)
    assert batch in str(told.remedies[0].code)


@pytest.mark.parametrize(
    "need, parts",
    [(16 * GIB, 8), (16 * GIB + 1, 16), (32 * GIB, 16), (32 * GIB + 1, 32), (5, 8), (None, 8), (2 * GIB, 8)],
)
def test_parts_of_a_program_of_jax_need_2_gib_each(need: int | None, parts: int) -> None:
    moment = failed(None, size=need, source_text="y = model.predict(x)")
    (told,) = found(failed_in_evaluation, moment, JAX)
    assert f"np.array_split(x, {parts})]" in str(told.remedies[0].code)
    assert (f"({parts} parts need {human((need or 0) // parts)} each" in told.remedies[0].text) is (
        need is not None
    )
    (keras,) = found(failed_in_evaluation, moment, replace(JAX, library="Keras"))
    assert "array_split" not in str(keras.remedies[0].code)


@pytest.mark.parametrize("step, steps, shown", [(9, 9, 2), (8, 9, 1), (None, None, 1)])
def test_all_training_steps_had_passed(step: int | None, steps: int | None, shown: int) -> None:
    progress = (Progress(at(3), step=step, steps=steps),)
    (told,) = found(failed_in_evaluation, failed((5,), keras_call="predict", line=at(9)), progress=progress)
    assert len(told.evidence) == shown


# ------------------------------------------------------------------ a whole set


@pytest.mark.parametrize(
    "shape, more, fires",
    [
        ((2000, 100, 100, 3), {}, True),
        ((1999, 100, 100, 3), {}, False),
        ((1999, 100, 100, 3), {"batch": 1999}, True),
        ((1996, 100, 100, 3), {"batch": 1996}, False),
        ((501, 200, 200, 3), {"batch": 501}, True),
        ((500, 200, 200, 3), {"batch": 500}, False),
        ((499, 200, 200, 3), {"batch": 499}, False),
        ((2000, 100, 100), {}, False),
        ((2000, 1, 10000, 30), {}, False),
        ((2000, 2, 1000, 30), {}, True),
        ((2048, 32, 32, 8), {}, True),  # 64 MiB to the byte
        ((2047, 32, 32, 8), {}, False),
        ((2000, 100, None, 3), {}, False),
        ((2000, 100, 100, 3), {"phase": Phase.OPTIMIZER}, False),
        ((2000, 100, 100, 3), {"kind": P}, False),
        ((2000, 100, 100, 3), {"kind": Kind.OPTIMIZER_SLOT}, False),
        ((2000, 100, 100, 3), {"op": "Fill"}, False),
        ((2000, 100, 100, 3), {"op": "ZerosLike"}, False),
        ((2000, 100, 100, 3), {"op": "SpaceToBatchND"}, False),
        ((2000, 100, 100, 3), {"what": RequestKind.HOST}, False),
        ((2000, 4, 8, 1000), {}, False),  # pieces of an atrous convolution
        ((2000, 4, 9, 1000), {}, True),
    ],
)
def test_images_of_a_whole_set(shape: Any, more: Any, fires: bool) -> None:
    more = dict(more)
    moment = with_batch(failed(shape, **{k: v for k, v in more.items() if k != "batch"}), more.get("batch"))
    told = found(whole_set_in_one_batch, moment)
    assert bool(told) is fires and all("went through the network at once" in each.because for each in told)
    for each in told:
        need = each.explains or 0
        assert each.remedies[0].saves_bytes == need - need // shape[0] * 100


@pytest.mark.parametrize(
    "shape, more, fires",
    [
        ((64 * MIB,), {"op": "_EagerConst"}, True),
        ((64 * MIB - 1,), {"op": "_EagerConst"}, False),
        (None, {"op": "_EagerConst"}, True),
        ((64 * MIB,), {"op": "GatherV2", "what": RequestKind.COPY}, True),
        ((64 * MIB,), {"op": "GatherV2"}, False),
        ((64 * MIB,), {"op": "Relu", "what": RequestKind.COPY}, False),
        ((64 * MIB,), {"node": "_arg_x_0_1", "what": RequestKind.COPY, "keras_call": "evaluate"}, True),
        ((64 * MIB,), {"node": "_arg_x_0_1", "what": RequestKind.COPY}, False),
        ((64 * MIB,), {"node": "a/Placeholder", "what": RequestKind.COPY, "keras_call": "predict"}, True),
        ((64 * MIB,), {"node": "a/b", "what": RequestKind.COPY, "keras_call": "predict"}, False),
        ((64 * MIB,), {"op": "_EagerConst", "source_text": "m.load_weights(p)"}, False),
    ],
    ids=str,
)
def test_an_array_that_is_copied_whole(shape: Any, more: Any, fires: bool) -> None:
    told = found(whole_set_in_one_batch, failed(shape, **more))
    assert bool(told) is fires and all("copied to the device" in each.because for each in told)


def copied(shape: Any = None, **facts: Any) -> Moment:
    return failed(shape, **{"op": "_EagerConst", "node": None, "what": RequestKind.COPY, **facts})


@pytest.mark.parametrize(
    "text, sizes, told",
    [
        ("(70000, 1000) float32", (70000, 1000), True),
        ("(67000, 1000) float32", (67000, 1000), False),
        ("(34000, 1000) float64", (34000, 1000), True),
        ("(33000, 1000) float64", (33000, 1000), False),
        ("(135000, 1000) float16", (135000, 1000), True),
        ("(134000, 1000) float16", (134000, 1000), False),
        ("(270000, 1000) uint8", (270000, 1000), True),
        ("(268000, 1000) uint8", (268000, 1000), False),
        ("(34000, 1000) int64", (34000, 1000), True),
        ("(33000, 1000) int64", (33000, 1000), False),
        ("(68000, 1000) int32", (68000, 1000), True),
        ("(67000, 1000) int32", (67000, 1000), False),
    ],
)
def test_the_only_large_array_of_the_text(text: str, sizes: Any, told: bool) -> None:
    shown = (StatedSize("x", sizes, at(3, text)),)
    (seen,) = found(whole_set_in_one_batch, copied(), sizes=shown)
    assert ("a whole array" not in seen.because) is told
    other = (*shown, StatedSize("z", (90000, 5000), at(4, "(90000, 5000) float32")))
    (both,) = found(whole_set_in_one_batch, copied(), sizes=other)
    assert ("a whole array" not in both.because) is not told


@pytest.mark.parametrize(
    "step, code, validating",
    [
        (9, "m.fit(x, y, validation_data=(a, b))", True),
        (8, "m.fit(x, y, validation_data=(a, b))", False),
        (9, "m.fit(x, y)", False),
        (None, "m.fit(x, y, validation_data=(a, b))", False),
    ],
)
def test_what_is_validated_on_is_copied_after_the_last_step(
    step: int | None, code: str, validating: bool
) -> None:
    progress = (Progress(at(3), step=1, steps=9), Progress(at(4), step=step, steps=9)) if step else ()
    (told,) = found(whole_set_in_one_batch, copied((64 * MIB,), source_text=code), progress=progress)
    assert ("most likely validation_data" in told.because) is validating
    assert slugs([told]) == (
        ["keep-off-the-device", "one-batch-at-a-time"]
        if validating
        else ["one-batch-at-a-time", "keep-off-the-device"]
    )


@pytest.mark.parametrize(
    "op, node, code, call, offered",
    [
        (
            "GatherV2",
            None,
            "m.fit(x, validation_split=0.2)",
            None,
            ["split-on-the-host", "one-batch-at-a-time"],
        ),
        ("GatherV2", None, "m.fit(x)", None, ["one-batch-at-a-time", "keep-off-the-device"]),
        (
            "_EagerConst",
            None,
            "m.fit(x, validation_split=0.2)",
            None,
            ["one-batch-at-a-time", "keep-off-the-device"],
        ),
        (None, "_arg_x_0_1", "y", "evaluate", ["in-batches"]),
    ],
)
def test_what_helps_an_array_that_is_copied(
    op: Any, node: Any, code: str, call: Any, offered: list[str]
) -> None:
    moment = copied((64 * MIB,), op=op, node=node, source_text=code, keras_call=call)
    (told,) = found(whole_set_in_one_batch, moment)
    assert slugs([told]) == offered


@pytest.mark.parametrize("newest, words", [((1, 15), "sess.run"), ((2, 4), "model.predict")])
def test_batches_in_code_of_the_version(newest: Any, words: str) -> None:
    (told,) = found(whole_set_in_one_batch, failed((2000, 100, 100, 3)), Api(newest=newest))
    assert words in str(told.remedies[0].code)
    assert f"with 100 samples this tensor takes {human(100 * 100 * 100 * 3 * 4)}" in told.remedies[0].text


# ------------------------------------------------------------------ a disguise


@pytest.mark.parametrize(
    "text, what, size, words",
    [
        ("OOM when allocating a buffer of 5", RequestKind.TENSOR, None, "a kernel of DirectML"),
        ("NCCL: out of memory", RequestKind.DRIVER, None, "NCCL got no memory"),
        ("NCCL: out of memory", RequestKind.COPY, None, "the device was full when a tensor"),
        ("no room for new constant", RequestKind.XLA, 256 * MIB - 1, "so small a constant"),
        ("no room for new constant", RequestKind.XLA, 256 * MIB, "holds as a constant found no room"),
        ("no room for new constant", RequestKind.XLA, None, "holds as a constant found no room"),
        (
            "Cannot parse tensor from proto",
            RequestKind.TENSOR,
            None,
            "most likely a constant or a first value",
        ),
        ("failed to allocate memory", RequestKind.TENSOR, None, "an elementwise kernel got no memory"),
        ("OOM", RequestKind.TENSOR, None, None),
        ("OOM", RequestKind.COPY, None, "the device was full when a tensor"),
        ("OOM", RequestKind.DRIVER, None, "the driver had no memory left"),
        ("OOM", RequestKind.DUMP, None, None),
    ],
)
def test_what_a_message_means(text: str, what: RequestKind, size: int | None, words: str | None) -> None:
    moment = failed(None, line=at(3, text), what=what)
    assert moment.request
    request = replace(moment.request, failed=replace(moment.request.failed, size=size and exactly(size)))
    told = found(failure_in_disguise, replace(moment, request=request, incident=Incident(request.failed)))
    assert (
        not told
        if words is None
        else (len(told) == 1 and told[0].because.startswith(words)) or words in told[0].because
    )
    assert all(("asked)" in each.because) is (size is not None) for each in told)


def driver(size: int | None, occurrences: int = 1) -> Moment:
    moment = failed(None, line=at(3, "OOM"), what=RequestKind.DRIVER)
    assert moment.request
    request = replace(moment.request, failed=replace(moment.request.failed, size=size and exactly(size)))
    return replace(moment, request=request, incident=Incident(request.failed, occurrences=occurrences))


@pytest.mark.parametrize(
    "size, times, words",
    [(5, 1, "It asks for 90 %"), (5, 2, "It asks, here 2 times, for 90 %"), (None, 2, "")],
)
def test_a_pool_that_asks_the_driver(size: int | None, times: int, words: str) -> None:
    (told,) = found(failure_in_disguise, driver(size, times))
    assert words in told.detail and bool(told.detail) is (size is not None)


@pytest.mark.parametrize(
    "text, more, offered",
    [
        ("OOM when allocating a buffer", {"node": "net/x"}, ["smaller-batch", "see-device-users"]),
        ("OOM when allocating a buffer", {"node": "x"}, ["see-device-users"]),
        (
            "failed to allocate memory",
            {"node": "net/x"},
            ["smaller-batch", "see-device-users", "smaller-input"],
        ),
        (
            "failed to allocate memory",
            {"node": "net/x", "kind": P, "shape": (5,)},
            ["smaller-model", "see-device-users", "growth"],
        ),
        ("failed to allocate memory", {"node": "net/x", "kind": P}, ["see-device-users", "growth"]),
        (
            "OOM",
            {"what": RequestKind.COPY, "node": "net/x"},
            ["see-device-users", "smaller-batch", "smaller-input"],
        ),
        ("NCCL", {"what": RequestKind.DRIVER}, ["growth", "smaller-fraction", "see-device-users"]),
        ("Cannot parse tensor from proto", {}, ["data-out-of-the-graph"]),
        ("no room for new constant", {"what": RequestKind.XLA}, ["pass-as-argument"]),
    ],
    ids=str,
)
def test_what_helps_a_failure_in_disguise(text: str, more: Any, offered: list[str]) -> None:
    shape = more.get("shape")
    moment = failed(shape, line=at(3, text), **{k: v for k, v in more.items() if k != "shape"})
    (told,) = found(failure_in_disguise, moment, purposes=(("training", at(1)),))
    assert [each for each in slugs([told]) if each != "smaller-batch"] == [
        each for each in offered if each != "smaller-batch"
    ]
    users = next((each for each in told.remedies if each.slug == "see-device-users"), None)
    assert users is None or (users.code is None) is ("a buffer" in text)


# ------------------------------------------------------------------ pieces


def pieces(
    requested: int,
    free: int,
    largest: int | None,
    growable: int | None = None,
    limit: int | None = None,
    count: int | None = 2,
    **facts: Any,
) -> Moment:
    sizes = [None if each is None else exactly(each * MIB) for each in (free, largest, growable, limit)]
    books = Balance(
        requested=requested * MIB,
        free=sizes[0],
        largest_free_chunk=sizes[1],
        growable=sizes[2],
        limit=sizes[3],
    )
    return failed(None, books=books, state=AllocatorState(free_chunks=count), **facts)


@pytest.mark.parametrize(
    "moment, words",
    [
        (pieces(10, 20, 9), "20.00 MiB was free in 2 blocks, but the largest free block is 9.00 MiB"),
        (pieces(10, 20, 9, 0), "20.00 MiB was free in 2 blocks, but the largest free block is 9.00 MiB"),
        (pieces(10, 20, 9, count=None), "20.00 MiB was free, but the largest free block is 9.00 MiB"),
        (
            pieces(10, 20, 9, 5),
            "25.00 MiB was free, but in pieces: the largest free block is 9.00 MiB, and the pool can grow by",
        ),
        (pieces(10, 20, None, 0), "20.00 MiB was free in 2 blocks, but not in one block of 10.00 MiB"),
    ],
)
def test_pieces_in_words(moment: Moment, words: str) -> None:
    (told,) = found(fragmented_free_memory, moment)
    assert told.because.startswith(words) and told.explains == (25 if "25.00" in words else 20) * MIB
    assert len(told.evidence) == (1 if "not in one block" in words else 2)


@pytest.mark.parametrize(
    "free, limit, kind, severity",
    [
        (13, None, A, Severity.CAUSE),
        (12, None, A, Severity.FACTOR),
        (13, 130, A, Severity.CAUSE),
        (13, 131, A, Severity.NOTE),
        (13, 1300, A, Severity.NOTE),
        (13, 1301, A, None),
        (13, None, P, Severity.FACTOR),
        (13, None, Kind.OPTIMIZER_SLOT, Severity.FACTOR),
    ],
)
def test_when_pieces_are_the_cause(
    free: int, limit: int | None, kind: Kind, severity: Severity | None
) -> None:
    told = found(fragmented_free_memory, pieces(10, free, 9, limit=limit, kind=kind))
    assert [each.severity for each in told] == ([severity] if severity else [])
    assert all(("constant-shapes" in slugs([each])) is (kind is A) for each in told)


@pytest.mark.parametrize(
    "batch, block, fixed, smaller",
    [
        (8, 50, False, 4),
        (8, 49, False, 2),
        (8, 12, False, None),
        (8, 13, False, 1),
        (8, 99, False, 4),
        (1, 50, False, None),
        (None, 50, False, None),
        (8, 50, True, None),
        (6, 50, False, 3),
    ],
)
def test_a_batch_whose_request_fits_the_largest_block(
    batch: int | None, block: int, fixed: bool, smaller: int | None
) -> None:
    books = Balance(requested=100 * MIB, free=exactly(200 * MIB), largest_free_chunk=exactly(block * MIB))
    moment = with_batch(failed((100, MIB // 4), books=books), batch)
    assert moment.request
    (told,) = found(fragmented_free_memory, replace(moment, request=replace(moment.request, fixed=fixed)))
    texts = [each.text for each in told.remedies if each.slug == "batch-for-the-block"]
    assert [each.startswith(f"batch {batch} -> {smaller}: ") for each in texts] == ([True] if smaller else [])
    if smaller and batch:
        assert f"takes {human(100 * MIB * smaller // batch)}, which fits" in texts[0]


def test_a_block_is_as_large_as_its_least() -> None:
    books = Balance(
        requested=100 * MIB, free=exactly(200 * MIB), largest_free_chunk=Size(50 * MIB, 49 * MIB, 51 * MIB)
    )
    (told,) = found(fragmented_free_memory, with_batch(failed((100, MIB // 4), books=books), 8))
    assert any(each.text.startswith("batch 8 -> 2: ") for each in told.remedies)


# ------------------------------------------------------------------ a growing graph


@pytest.mark.parametrize(
    "node, told",
    [
        ("net/add_5000", "`add_5000` is number 5,001 of its name"),
        ("net/add_4999", None),
        ("add_7000/mul_6000", "`add_7000` is number 7,001"),
        ("net/add_05000x", None),
        (None, None),
    ],
)
def test_a_counter_in_a_name(node: str | None, told: str | None) -> None:
    seen = found(growing_graph, failed((5,), node, rows=[("a/x", 5, A)]))
    assert [told in each.because for each in seen if told] == ([True] if told else []) and bool(seen) is bool(
        told
    )
    assert all(each.explains == 5 + 20 for each in seen)


@pytest.mark.parametrize(
    "code, node, steps, told",
    [
        (
            "sess.run(tf.add(a, b))",
            "add_100",
            0,
            "makes a new `tf.add` each time it runs (`add_100` is number 101 of",
        ),
        ("sess.run(tf.add(a, b))", "add_99", 0, None),
        ("sess.run(tf.add(a, b))", "add", 10, "each time it runs (10 steps went well)"),
        ("sess.run(tf.add(a, b))", "add", 9, None),
        ("y = tf.add(a, b).eval()", "add", 10, "makes a new `tf.add`"),
        ("sess.run(y)", "add_100", 10, None),
        ("sess.run(tf.global_variables_initializer())", "add_100", 10, None),
    ],
)
def test_a_line_that_makes_the_op_that_it_runs(code: str, node: str, steps: int, told: str | None) -> None:
    moment = failed((5,), node, source="a.py:3", source_text=code, line=at(99))
    seen = found(growing_graph, moment, steps=((steps, at(5)),))
    assert bool(seen) is bool(told) and all(
        str(told) in each.because and "a.py:3" in each.because for each in seen
    )
    ran = failed((5,), node, source="b.py:9", source_text="x", ran_by=Frame("a.py:3", code), line=at(99))
    assert [each.because for each in found(growing_graph, ran, steps=((steps, at(5)),))] == [
        each.because for each in seen
    ]


def numbered(*numbers: int, size: int = 5, name: str = "Const", count: int = 1) -> Any:
    return [(f"{name}_{number}", size, A) for number in numbers for _ in range(count)]


@pytest.mark.parametrize(
    "numbers, told",
    [
        ((100, 101, 102, 103, 104), "5 rows of 5 B are `Const_100` to `Const_104`: each iteration"),
        ((100, 101, 102, 103), None),
        ((100, 107, 114, 121, 128), "are `Const_100` to `Const_128`, 7 apart: each iteration"),
        ((100, 101, 102, 103, 105), None),
        ((200, 101, 102, 103, 104), None),
    ],
)
def test_rows_that_count_on(numbers: Any, told: str | None) -> None:
    seen = found(growing_graph, failed((5,), "x", rows=numbered(*numbers)))
    assert bool(seen) is bool(told) and all(str(told) in each.because for each in seen)


@pytest.mark.parametrize(
    "code, rows, node, told",
    [
        (
            "sess.run(w.assign(v))",
            (1, 2, 3),
            "x",
            "line 7 makes a new `assign` each time it runs (each iteration left a 5 B `Const`",
        ),
        ("sess.run(w.assign(v))", (1, 2), "x", None),
        ("sess.run(w.assign(v))", (), "Assign_10", "(`Assign_10` is one of them)"),
        ("sess.run(w.assign(v))", (), "Assign_9", None),
        ("# sess.run(w.assign(v))", (1, 2, 3), "x", None),
        ("sess.run(tf.add(a, b))", (1, 2, 3), "x", "makes a new `add`"),
        ("sess.run(y)", (1, 2, 3), "x", None),
    ],
)
def test_a_quoted_line_that_makes_what_it_runs(code: str, rows: Any, node: str, told: str | None) -> None:
    seen = found(growing_graph, failed((5,), node, rows=numbered(*rows)), code=(at(7, code),))
    assert bool(seen) is bool(told) and all(str(told) in each.because for each in seen)


@pytest.mark.parametrize(
    "steps, name, place, session, what, fires",
    [
        (10, "create_op", "ops.py:3", True, RequestKind.HOST, True),
        (9, "create_op", "ops.py:3", True, RequestKind.HOST, False),
        (10, "run", "ops.py:3", True, RequestKind.HOST, False),
        (10, "create_op", "func_graph.py:3", True, RequestKind.HOST, False),
        (10, "create_op", "ops.py:3", False, RequestKind.HOST, False),
        (10, "create_op", "ops.py:3", True, RequestKind.TENSOR, False),
    ],
)
def test_an_op_that_is_still_made_after_many_steps(
    steps: int, name: str, place: str, session: bool, what: RequestKind, fires: bool
) -> None:
    moment = failed(None, "x", frames=(Frame(place, "", name),), source="a.py:3", what=what, line=at(99))
    told = {"steps": ((steps, at(5)),), "session": session}
    seen = found(growing_graph, moment, **told)
    assert bool(seen) is fires and all(
        f"to its graph at a.py:3 after {steps} steps" in each.because for each in seen
    )
    older = found(growing_graph, moment, Api(newest=(1, 15)), **{**told, "session": False})
    assert bool(older) is (fires or not session)


@pytest.mark.parametrize(
    "outputs, advised",
    [
        ((("a", (None, 32, 32, 3)), ("b", (None, 10))), False),
        ((("a", (None, None, 64)), ("b", (None, 10))), True),  # lengths differ
        ((), True),  # nobody knows
    ],
)
def test_shapes_that_never_differ_need_not_be_kept_the_same(outputs: Any, advised: bool) -> None:
    books = Balance(requested=100 * MIB, free=exactly(200 * MIB), largest_free_chunk=exactly(50 * MIB))
    whole = case(failed((100, MIB // 4), books=books))
    live = LiveModel((), (), outputs=outputs)
    (told,) = fragmented_free_memory.check(replace(whole, capture=replace(whole.capture, live_model=live)))
    assert ("constant-shapes" in slugs([told])) is advised
    assert ("large-tensors-first" in slugs([told])) is advised
