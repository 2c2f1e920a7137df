"""Edges of limits that a program sets itself, of equal chunks, and of requests that nothing else explains."""

from __future__ import annotations

from typing import Any

import pytest

from tests.findings.test_edges_of_support import at
from tests.findings.test_edges_of_tensors import failed, found, slugs
from tests.findings.test_support import A, P, case, exactly
from tfmemlens.findings import equal_chunks, limit_of_your_own, request_alone
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import NOBODY, Attribution, Kind, Owner, Phase
from tfmemlens.model.capture import DeviceInfo, DeviceUse, Hints, Source
from tfmemlens.model.case import Api, Balance, FrontEnd, Moment
from tfmemlens.model.finding import Basis, Severity
from tfmemlens.model.incident import AllocatorState, RequestKind
from tfmemlens.units import Size
from tfmemlens.values import replace

MIB, GIB = 1 << 20, 1 << 30
JAX = Api(front_end=FrontEnd.JAX)
FRACTION, MEMORY = "per_process_gpu_memory_fraction", "memory_limit"


def settings(**values: str) -> dict[str, Any]:
    return {"settings": tuple((name, value, at(4)) for name, value in values.items())}


def card(total: int | None = None, limit: int | None = None) -> DeviceInfo:
    return DeviceInfo("GPU:0", total=total and exactly(total), limit=limit and exactly(limit))


def limited(limit: int | None, need: int | None = 5, **facts: Any) -> Moment:
    facts = {"allocator": "GPU_0_bfc", **facts}
    return failed(None, size=need, books=Balance(limit=None if limit is None else exactly(limit)), **facts)


# ------------------------------------------------------------------ a limit of the program's own


@pytest.mark.parametrize(
    "stated, limit, need, whole, fires",
    [
        ("1000", 1000 * MIB, 5, None, True),
        ("1000", 1030 * MIB, 5, None, True),
        ("1000", 1031 * MIB, 5, None, False),
        ("1000", 971 * MIB, 5, None, True),
        ("1000", 970 * MIB, 5, None, False),
        ("1000", 1000 * MIB, 5, 1250 * MIB, True),
        ("1000", 1000 * MIB, 5, 1249 * MIB, False),
        ("1000", 1000 * MIB, 2000 * MIB, 2000 * MIB, True),
        ("1000", 1000 * MIB, 2000 * MIB + 1, 2000 * MIB, False),
        ("1000", 1000 * MIB, None, None, False),
    ],
)
def test_a_limit_that_the_program_states(
    stated: str, limit: int, need: int | None, whole: int | None, fires: bool
) -> None:
    told = {**settings(memory_limit=stated), "devices": (card(whole),) if whole else ()}
    seen = [
        each
        for each in found(limit_of_your_own, limited(limit, need), **told)
        if "and that was not" in each.because
    ]
    assert [each.explains for each in seen] == ([need] if fires else [])
    assert all(("of this GPU's" in each.because) is bool(whole) for each in seen)
    assert not found(limit_of_your_own, limited(limit, need, what=RequestKind.HOST), **told)


@pytest.mark.parametrize(
    "limit, allocator, what, fires",
    [
        (64 * MIB + 1, "GPU_0_bfc", RequestKind.TENSOR, False),
        (64 * MIB - 1, "GPU_0_bfc", RequestKind.TENSOR, True),
        (64 * MIB, "GPU_0_bfc", RequestKind.TENSOR, True),
        (8 * MIB, "cpu_bfc", RequestKind.HOST, True),
        (8 * MIB + 1, "cpu_bfc", RequestKind.HOST, False),
        (0, "GPU_0_bfc", RequestKind.TENSOR, False),
        (1, "GPU_0_bfc", RequestKind.TENSOR, True),
        (64 * MIB, "cuda_malloc_async", RequestKind.TENSOR, False),
        (64 * MIB, None, RequestKind.TENSOR, False),
        (None, "GPU_0_bfc", RequestKind.TENSOR, False),
    ],
)
def test_a_limit_in_which_nothing_has_room(
    limit: int | None, allocator: str | None, what: RequestKind, fires: bool
) -> None:
    told = found(limit_of_your_own, limited(limit, allocator=allocator, what=what))
    seen = [each for each in told if "TensorFlow may use only" in each.because]
    assert [each.explains for each in seen] == ([limit] if fires else [])
    host = what is RequestKind.HOST
    assert slugs(seen) == (["raise-host-limit" if host else "raise-own-limit"] if fires else [])
    assert all(("not what the machine has" in each.because) is host for each in seen)


@pytest.mark.parametrize(
    "part, need, whole, explains",
    [
        (".5", 5, 1000, 500),
        (".5", 600, 1000, 600),
        (".5", 1000, 1000, 1000),
        (".5", 1001, 1000, None),
        (".5", 5, None, 5),
        (".5", None, 1000, None),
        (".7", 5, 1000, None),
        (".69", 5, 1000, 310),
        ("0", 5, 1000, None),
        ("x", 5, 1000, None),
    ],
)
def test_a_part_that_is_left_to_jax(
    part: str, need: int | None, whole: int | None, explains: int | None
) -> None:
    told = settings(XLA_PYTHON_CLIENT_MEM_FRACTION=part)
    moment = limited(whole, need, allocator="")
    seen = found(limit_of_your_own, moment, JAX, **told)
    assert [each.explains for each in seen] == ([explains] if explains else [])
    assert all((f"about {round(float(part) * 1000)} B here" in each.because) is bool(whole) for each in seen)
    assert not found(
        limit_of_your_own,
        moment,
        JAX,
        **settings(XLA_PYTHON_CLIENT_MEM_FRACTION=part, XLA_PYTHON_CLIENT_ALLOCATOR="platform"),
    )
    sharing = found(limit_of_your_own, moment, JAX, **told, purposes=(("sharing the device", at(6)),))
    assert all("as far as the other processes of line 6" in each.remedies[0].text for each in sharing)
    assert len(sharing) == len(seen) and all(each.remedies[0].code for each in seen)
    for what in (RequestKind.HOST, RequestKind.TPU):
        assert not found(limit_of_your_own, limited(whole, need, allocator="", what=what), JAX, **told)


@pytest.mark.parametrize(
    "values, need, whole, explains, basis, words",
    [
        (
            {MEMORY: "1000"},
            100 * MIB,
            None,
            100 * MIB,
            Basis.MEASURED,
            "only 1000.00 MiB (`memory_limit=1000`",
        ),
        ({MEMORY: "1000"}, 99 * MIB, None, 99 * MIB, Basis.SHAPE, "and this request alone is 99.00 MiB"),
        ({MEMORY: "1000"}, None, None, None, Basis.SHAPE, "only 1000.00 MiB (`memory_limit=1000`"),
        ({MEMORY: "0"}, 5, None, 0, None, ""),
        ({MEMORY: "1000"}, 5, 2000 * MIB, 1000 * MIB, Basis.SHAPE, "only 1000.00 MiB"),
        ({MEMORY: "1000"}, 5, 2000 * MIB - 1, 5, Basis.SHAPE, "only 1000.00 MiB"),
        ({FRACTION: "0.8"}, 5, None, 5, Basis.SHAPE, "only 80 % of the GPU (`per_process"),
        ({FRACTION: "0.81"}, 5, None, 0, None, ""),
        ({FRACTION: "0"}, 5, None, 0, None, ""),
        ({FRACTION: "0.5"}, 5, 1000 * MIB, 500 * MIB, Basis.SHAPE, "only 50 % of the GPU, about 500.00 MiB,"),
        ({FRACTION: "0.6"}, 5, 1000 * MIB, 5, Basis.SHAPE, "about 600.00 MiB,"),
        ({FRACTION: "0.5", MEMORY: "1000"}, 5, None, 5, Basis.SHAPE, "`memory_limit=1000`"),
        ({}, 5, None, 0, None, ""),
    ],
)
def test_a_stated_limit_where_no_allocator_tells_its_own(
    values: Any, need: int | None, whole: int | None, explains: int | None, basis: Any, words: str
) -> None:
    told: dict[str, Any] = {**settings(**values), "named_devices": (card(whole),) if whole else ()}
    moment = limited(None, need)
    seen = [each for each in found(limit_of_your_own, moment, **told) if each.basis]
    assert [(each.explains, each.basis) for each in seen] == ([(explains, basis)] if basis else [])
    assert all(words in each.because for each in seen)
    for other in (RequestKind.DUMP, RequestKind.HOST):
        assert not found(limit_of_your_own, limited(None, need, what=other), **told)
    assert not found(limit_of_your_own, moment, **{**told, "devices": (card(limit=3 * MIB),)})


def test_where_the_user_tells_the_limit_no_setting_is_looked_for() -> None:
    moment = limited(None, 5)
    given = case(moment, hints=Hints(limit_bytes=9 * GIB), **settings(memory_limit="1000"))
    assert not list(limit_of_your_own.check(given))
    assert list(limit_of_your_own.check(case(moment, **settings(memory_limit="1000"))))


@pytest.mark.parametrize(
    "limit, whole, more, fires",
    [
        (2048 * MIB, 4096 * MIB, {}, True),
        (2048 * MIB, 4095 * MIB, {}, False),
        (2047 * MIB, 8192 * MIB, {}, False),
        (768 * MIB, 8192 * MIB, {}, True),
        (Size(2048 * MIB, 2047 * MIB, 2048 * MIB), 8192 * MIB, {}, False),
        (2048 * MIB, None, {}, False),
        (2048 * MIB, 8192 * MIB, settings(per_process_gpu_memory_fraction="0.9"), False),
        (2048 * MIB, 8192 * MIB, settings(memory_limit="7"), False),
    ],
)
def test_a_round_limit_was_set(limit: Any, whole: int | None, more: Any, fires: bool) -> None:
    books = Balance(limit=limit if isinstance(limit, Size) else exactly(limit))
    moment = failed(None, size=5, books=books, allocator="GPU_0_bfc")
    told = {**more, "named_devices": (card(whole),) if whole else ()}
    seen = [
        each
        for each in found(limit_of_your_own, moment, **told)
        if "TensorFlow was allowed only" in each.because
    ]
    assert [each.explains for each in seen] == ([books.limit.bytes] if fires and books.limit else [])
    assert all(
        f"memory_limit={books.limit.bytes // MIB} " in each.remedies[0].text for each in seen if books.limit
    )
    host = failed(None, size=5, books=books, what=RequestKind.HOST)
    assert not [each for each in found(limit_of_your_own, host, **told) if "was allowed" in each.because]


def test_the_largest_shown_device_is_the_whole() -> None:
    uses = tuple(DeviceUse(str(total), None, None, exactly(total * GIB), (), at(3)) for total in (4, 16, 8))
    (seen,) = found(limit_of_your_own, limited(8 * GIB), device_uses=uses)
    assert "only 8.00 GiB of this GPU's 16.00 GiB" in seen.because
    assert not found(limit_of_your_own, limited(8 * GIB + 256 * MIB), device_uses=uses)


# ------------------------------------------------------------------ equal chunks


def chunks(
    *sizes: tuple[int, int],
    need: int | None = 65536,
    in_loop: bool = False,
    state: Any = None,
    limit: Any = None,
    **facts: Any,
) -> Moment:
    """A dump of chunks of (KiB, count) without names."""
    in_use = sum(size * count for size, count in sizes) * 1024
    books = Balance(in_use=exactly(in_use), limit=limit and exactly(limit))
    moment = failed(None, **{"node": "x", **facts}, size=need, books=books, state=state or AllocatorState())
    rows = [Allocation(None, size * 1024, count=count) for size, count in sizes]
    assert moment.request
    owner = Owner(None, A, Phase.FORWARD, in_loop=in_loop)
    held = Attribution(AllocationTable.of(rows), [NOBODY] * len(rows))
    return replace(moment, attribution=held, request=replace(moment.request, owner=owner))


@pytest.mark.parametrize(
    "sizes, need, explains, severity",
    [
        ([(64, 4), (100, 2)], 65536, 256, Severity.FACTOR),
        ([(64, 3)], 65536, None, None),
        ([(64, 4), (128, 2)], 65536, 256, Severity.FACTOR),
        ([(64, 4), (130, 2)], 65536, None, None),
        ([(64, 4)], 65537, None, None),
        ([(64, 4)], 65281, 256, Severity.FACTOR),
        ([(16, 4)], 16384, 64, Severity.FACTOR),
        ([(15, 4)], 15360, None, None),
        ([(64, 99)], 65536, 6336, Severity.FACTOR),
        ([(64, 100)], 65536, 6400, Severity.CAUSE),
        ([(64, 99)], 5, None, None),
        ([(64, 100)], 5, 6400, Severity.CAUSE),
        ([(64, 100), (6400, 1)], 5, 6400, Severity.CAUSE),
        ([(64, 100), (6500, 1)], 5, None, None),
        ([(64, 100)], None, 6400, Severity.CAUSE),
    ],
)
def test_chunks_of_the_requests_size(
    sizes: Any, need: int | None, explains: int | None, severity: Severity | None
) -> None:
    told = found(equal_chunks, chunks(*sizes, need=need))
    assert [(each.explains, each.severity) for each in told] == (
        [(explains * 1024, severity)] if explains else []
    )


@pytest.mark.parametrize(
    "sizes, explains",
    [
        ([(10, 16), (5, 16), (370, 1)], 240),
        ([(10, 16), (5, 16), (570, 1)], None),
        ([(10, 15), (370, 1)], None),
        ([(100, 16), (1, 16), (10, 1)], 1600),  # of next to nothing
        ([(100, 16), (1, 17), (10, 1)], 1617),
    ],
)
def test_what_a_loop_keeps_may_be_of_several_sizes(sizes: Any, explains: int | None) -> None:
    told = found(equal_chunks, chunks(*sizes, need=5, in_loop=True))
    assert [each.explains for each in told] == ([explains * 1024] if explains else [])
    assert all("most likely the state that a loop keeps" in each.because for each in told)
    assert all({"truncate"} <= set(slugs([each])) and each.severity is Severity.CAUSE for each in told)


@pytest.mark.parametrize(
    "steps, count, fires",
    [((1, 2, 3), 16, True), ((1, 2, 3), 15, False), ((1, 2), 16, False), ((), 16, False)],
)
def test_chunks_that_steps_left_behind(steps: tuple[int, ...], count: int, fires: bool) -> None:
    told = found(equal_chunks, chunks((64, count), need=5), steps=tuple((each, at(each)) for each in steps))
    assert bool(told) is fires and all("as if each step left one behind" in each.because for each in told)
    assert all("keep-numbers" in slugs([each]) for each in told)


@pytest.mark.parametrize(
    "served, limit, newest, leak",
    [
        (500, 6736842, (1, 15), True),
        (499, 6736842, (1, 15), False),
        (500, 6905264, (1, 15), False),
        (500, 6736842, (2, 0), True),
        (500, 6736842, (2, 1), False),
        (None, 6736842, (1, 15), False),
        (500, None, (1, 15), False),
    ],
)
def test_a_session_long_after_its_start(
    served: int | None, limit: int | None, newest: Any, leak: bool
) -> None:
    state = AllocatorState(allocations=served)
    moment = chunks((64, 100), limit=limit, state=state, device="/device:CPU:0")
    (told,) = found(equal_chunks, moment, Api(newest=newest))
    assert ("as if each step left one behind" in told.because) is leak
    assert any("results of sess.run" in each.text for each in told.remedies) is leak


def test_what_a_session_returns_is_not_kept_on_a_gpu() -> None:
    moment = chunks((64, 100), limit=6736842, state=AllocatorState(allocations=500), device="/device:GPU:0")
    (told,) = found(equal_chunks, moment, Api(newest=(1, 4)))
    assert "made in one step" in told.because
    assert not any("results of sess.run" in each.text for each in told.remedies)


@pytest.mark.parametrize(
    "facts, words, slug",
    [
        (
            {"pipeline": True},
            "elements that the input pipeline keeps (shuffle buffer, cache() or prefetch)",
            "smaller-pipeline",
        ),
        (
            {"node": "IteratorGetNext", "allocator": "gpu_host_bfc"},
            "batches that wait in pinned host RAM",
            "smaller-pipeline",
        ),
        ({"node": "net/TensorArrayStack/x"}, "the state that a loop keeps", "truncate"),
        ({"node": "IteratorGetNext"}, "", "look-for-lists"),
    ],
)
def test_what_chunks_are_of(facts: Any, words: str, slug: str) -> None:
    (told,) = found(equal_chunks, chunks((64, 100), **facts))
    assert words in told.because and slug in slugs([told]) and (": " in told.because) is bool(words)
    assert told.basis is (None if words else Basis.NAME)


@pytest.mark.parametrize("newest, printed", [((2, 5), True), ((2, 4), True), ((2, 3), False)])
def test_what_is_in_use_is_printed_where_tensorflow_can(newest: Any, printed: bool) -> None:
    (told,) = found(equal_chunks, chunks((64, 100)), Api(oldest=(2, 1), newest=newest))
    assert (told.remedies[0].code is not None) is printed


# ------------------------------------------------------------------ a request alone


def alone(shape: Any = (5, 7), node: str | None = "net/a", **facts: Any) -> Any:
    return found(request_alone, failed(shape, node, **{"op": None, **facts}))


@pytest.mark.parametrize(
    "more",
    [
        {"what": RequestKind.HOST},
        {"shape": None},
        {"rows": [("a/x", 5, A)]},
        {"books": Balance(limit=exactly(5))},
    ],
    ids=str,
)
def test_a_request_of_which_more_is_known(more: Any) -> None:
    assert alone() and not alone(**more)


def test_what_is_in_use_without_a_limit_tells_not_what_it_was() -> None:
    assert alone(books=Balance(in_use=exactly(5)))


@pytest.mark.parametrize(
    "shape, facts, words",
    [
        ((3, 3, 64, 64), {"node": "gradients/c/Conv2DBackpropFilter"}, "the gradient of a kernel"),
        ((3, 3, 64, 64), {"node": "gradients/c/Conv2DBackpropFilter-0-T"}, "the gradient of a kernel"),
        ((3, 3, 64, 64), {"node": "gradients/c/Conv2DBackpropInput"}, ""),
        ((64, 64), {"node": "gradients/fc/MatMul_grad/MatMul_1"}, "the gradient of a weight"),
        (
            (64, 64),
            {"node": "gradients/fc/MatMul_grad/MatMul_1", "attributes": (("transpose_a", "false"),)},
            "",
        ),
        ((64, 64), {"node": "gradients/fc/MatMul_grad/MatMul"}, ""),
        ((3, 3, 64, 64), {"node": None, "op": "Mul"}, "by its shape a convolution's kernel"),
        ((3, 3, 64, 64), {"node": None, "op": "Relu"}, ""),
        ((3, 3, 64, 64), {"node": None}, "by its shape a convolution's kernel"),
        ((3, 3, 64, 64), {"node": None, "kernel": "conv.cc:3"}, ""),
        ((3, 3, 64, 64), {"node": None, "op": "Mul", "keras_layer": ("a", "Conv2D")}, ""),
        ((100_000, 64), {"node": None, "op": "Mul"}, "by its shape a table or a kernel"),
        ((99_999, 64), {"node": None, "op": "Mul"}, ""),
        ((100_000, 63), {"node": None, "op": "Mul"}, ""),
        ((100_000, 64, 4), {"node": None, "op": "Mul"}, ""),
        ((1, 1000, 1000, 3), {}, "one image, map or volume of 1,000 x 1,000, at a batch of 1"),
        ((1, 1000, 999, 3), {}, ""),
        ((1, 3, 1000, 1000), {}, "1,000 x 1,000, at a batch of 1"),
        ((2, 1000, 1000, 3), {}, ""),
        ((1, 256, 4000, 3), {}, "256 x 4,000"),
        ((1, 255, 4000, 3), {}, ""),
        ((1, 100, 100, 100, 3), {}, "100 x 100 x 100"),
        ((1, 32, 200, 200, 3), {}, "32 x 200 x 200"),
        ((1, 31, 200, 200, 3), {}, ""),
        ((1, 0, 1000, 1000), {}, ""),
        ((1, 1000, 1000), {}, ""),
    ],
)
def test_what_a_request_is_by_its_name_or_shape(shape: Any, facts: Any, words: str) -> None:
    (told,) = alone(shape, **facts)
    assert words in told.because and told.because.endswith(
        "this log shows what failed, not what was using the memory"
    )
    assert ("; " in told.because) is bool(words)


def test_a_batch_says_that_it_is_no_weight() -> None:
    moment = failed((3, 3, 64, 64), None, op="Mul")
    assert moment.request
    (told,) = found(request_alone, replace(moment, request=replace(moment.request, batch=3)))
    assert "kernel" not in told.because


@pytest.mark.parametrize("sides, part", [((1000, 1000), "a quarter"), ((100, 100, 100), "an eighth")])
def test_a_large_sample_becomes_smaller(sides: tuple[int, ...], part: str) -> None:
    (told,) = alone((1, *sides, 3))
    (remedy,) = [each for each in told.remedies if each.slug == "smaller-input"]
    assert remedy.text.endswith(f"every map of the network takes {part}")


@pytest.mark.parametrize(
    "shape, facts, offered",
    [
        ((2, 7, 9), {}, True),
        ((1, 7, 9), {}, False),
        ((1024, 7, 9), {}, True),
        ((1025, 7, 9), {}, False),
        ((2, 7), {}, False),
        ((2, 7, 4), {}, False),
        ((2, 7, 5), {}, True),
        ((2, 7, 9, 4), {}, True),
        ((2, None, 9), {}, False),
        ((3, 3, 64, 64), {"op": "Relu"}, False),
    ],
)
def test_a_first_dimension_may_be_the_batch(shape: Any, facts: Any, offered: bool) -> None:
    (told,) = alone(shape, "x", **facts)
    texts = [each.text for each in told.remedies if each.slug == "smaller-batch"]
    first = f"if its first dimension, {shape[0]}, is your batch: halve it ({shape[0]} -> {shape[0] // 2});"
    assert [each.startswith(first) for each in texts] == ([True] if offered else [])


@pytest.mark.parametrize(
    "phase, kind, weight",
    [
        (Phase.OPTIMIZER, A, True),
        (Phase.FORWARD, P, True),
        (Phase.FORWARD, Kind.OPTIMIZER_SLOT, True),
        (Phase.FORWARD, A, False),
    ],
)
def test_a_weight_needs_a_smaller_model(phase: Phase, kind: Kind, weight: bool) -> None:
    (told,) = alone((256, 1024, 1024), phase=phase, kind=kind)
    assert ("smaller-model" in slugs([told])) is weight


@pytest.mark.parametrize(
    "source, allocator, code, words",
    [
        ("train.py:3", None, True, "the process's whole log"),
        (None, None, True, "the process's whole log"),
        ("R", None, False, "the process's whole log"),
        ("Cell In[3], line 2", None, False, "which a notebook does not show"),
        ("/content/a.py:3", None, False, "which a notebook does not show"),
        ("train.py:3", "cpu", None, ""),
        ("train.py:3", "GPU_0_bfc", True, "the process's whole log"),
    ],
)
def test_where_the_allocators_lines_are(
    source: str | None, allocator: str | None, code: bool | None, words: str
) -> None:
    (told,) = alone((5, 7), "x", source=source, allocator=allocator)
    remedies = [each for each in told.remedies if each.slug == "read-the-log"]
    assert [bool(each.code) for each in remedies] == ([] if code is None else [code])
    assert all(words in each.text for each in remedies) and bool(told.detail) is (code is not None)


def test_the_log_that_a_run_kept_is_whole() -> None:
    given = case(failed((5, 7), "x", op=None))
    kept = Source("-", ("oom-sentence", "live-model"))
    (told,) = request_alone.check(replace(given, capture=replace(given.capture, source=kept)))
    assert "read-the-log" not in slugs([told]) and not told.detail


@pytest.mark.parametrize("size, large", [(256 * MIB, True), (256 * MIB - 4, False)])
def test_of_a_small_request_the_calls_before_come_first(size: int, large: bool) -> None:
    moment = failed((size // 4,), "net/a", what=RequestKind.TENSOR)
    (told,) = found(request_alone, moment, **settings(program="Node"))
    offered = slugs([told])
    assert ("tidy" in offered) and (offered.index("tidy") == 0) is (not large)


@pytest.mark.parametrize(
    "shape, count, steps",
    [
        ((24, 900, 320), 900, 900),  # 24 x 320 float32 are 30 KiB
        ((900, 24, 320), 6310, 900),
        ((24, 900, 320), 899, None),
        ((24, 900, 321), 900, None),
        ((900, 24 * 320), 900, None),
        ((24, 320, 900), 900, None),  # the last dimension is no time
        ((24, None, 320), 900, None),
        (None, 900, None),
    ],
)
def test_chunks_that_are_steps_of_the_sequence(shape: Any, count: int, steps: int | None) -> None:
    moment = chunks((30, count), need=None, node="acoustic/rnn/transpose")
    assert moment.request
    asked = replace(moment.request, failed=replace(moment.request.failed, shape=shape, dtype="float32"))
    (told,) = found(equal_chunks, replace(moment, request=asked))
    words = "most likely one step each of a sequence of 900, which a recurrent layer keeps"
    assert (words in told.because) is bool(steps)
    assert ("shorter-sequences" in slugs([told])) is bool(steps)
    assert any("900 -> 450 steps" in each.text for each in told.remedies) is bool(steps)


@pytest.mark.parametrize(("shape", "steps"), [((2, 16, 512), 16), ((2, 15, 512), None)])
def test_a_sequence_has_sixteen_steps_at_the_least(shape: Any, steps: int | None) -> None:
    moment = chunks((4, 200), need=None, node="acoustic/rnn/transpose")  # 2 x 512 float32 are 4 KiB
    assert moment.request
    asked = replace(moment.request, failed=replace(moment.request.failed, shape=shape, dtype="float32"))
    (told,) = found(equal_chunks, replace(moment, request=asked))
    assert ("shorter-sequences" in slugs([told])) is bool(steps)
