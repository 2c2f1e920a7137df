"""Small questions that rules ask: each answer at its edge, of a moment of a few rows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import MIB, row, timeline
from tfmemlens.findings.support import kept, ranking, rows, weights
from tfmemlens.findings.support.jax_lines import made_by
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import Attribution, Kind, Owner, Phase
from tfmemlens.model.capture import Capture, Hints, Source, Surroundings
from tfmemlens.model.case import Balance, Case, Moment, PhaseSpan, Request
from tfmemlens.model.finding import Basis, Finding, Severity
from tfmemlens.model.incident import FailedRequest, RequestKind
from tfmemlens.model.line import Line
from tfmemlens.model.timeline import CurveSource, Executions
from tfmemlens.model.what_if import Saving
from tfmemlens.units import Size
from tfmemlens.values import replace
from tfmemlens.what_if import one_tensor

A, G, P, U = Kind.ACTIVATION, Kind.GRADIENT, Kind.PARAMETER, Kind.UNATTRIBUTED
exactly = Size.exactly


def held(
    *given: tuple[str | None, int, Kind], request: Any = None, books: Balance = Balance(), **more: Any
) -> Moment:
    """A moment with rows of these names, bytes and kinds."""
    table = AllocationTable.of([Allocation(name, size) for name, size, _ in given])
    owners = [Owner(name and name.partition("/")[0], kind, Phase.FORWARD) for name, _, kind in given]
    return Moment(Attribution(table, owners), books, request=request, **more)


def asked(
    size: int | None = None, layer: str | None = None, phase: Phase = Phase.FORWARD, **facts: Any
) -> Request:
    return Request(FailedRequest(**facts), Owner(layer, facts.pop("owned", A), phase), size)


def case(*moments: Moment, hints: Hints = Hints(), **told: Any) -> Case:
    capture = Capture(
        Source("x.log", ("oom-sentence",), "tensorflow"), hints=hints, surroundings=Surroundings(**told)
    )
    return answering(Case(capture, moments))


def answering(given: Case) -> Case:
    """The same with the part of the engine that needs no more than a tensor or a step."""

    def without(moment: int, allocation: Allocation, change: str) -> Saving:
        return one_tensor.without(given.moments[moment].timeline, allocation, change)

    return replace(given, of_tensor=one_tensor.of_tensor, without=without)


# ------------------------------------------------------------------ rows


def test_rows_of_kinds_are_the_largest_first() -> None:
    moment = held(("a/x", 10, A), ("b/y", 30, P), ("c/z", 20, A), ("d/v", 20, P))
    names = [each.allocation.node for each in rows.of_kind(moment, A, P)]
    assert names == ["b/y", "c/z", "d/v", "a/x"]
    assert [each.allocation.node for each in rows.of_kind(moment, A)] == ["c/z", "a/x"]
    assert rows.of_kind(moment, G) == []
    assert rows.total(rows.rows(moment)) == 80
    assert [each.allocation.node for each in rows.rows(moment, lambda each: each.owner.kind is P)] == [
        "b/y",
        "d/v",
    ]
    assert list(rows.layers_of(moment, A)) == ["c", "a"]
    assert list(rows.layers_of(moment, P)) == ["b", "d"]


@pytest.mark.parametrize(
    "sizes, said",
    [
        ({"a": 60, "b": 30, "c": 10}, ", most in a, b"),
        ({"a": 85, "b": 15}, ", most in a"),  # a second one with less than a fifth is not named
        ({"a": 26, "b": 25, "c": 25, "d": 24}, ", most in a, b"),
        ({"a": 25, "b": 25, "c": 25, "d": 25}, ", spread over 4 layers, the largest a, b"),
        ({f"l{number}": 100 - number for number in range(30)}, ", spread over 30 layers, the largest l0, l1"),
        ({}, ""),
    ],
)
def test_most_is_more_than_half(sizes: dict[str, int], said: str) -> None:
    moment = held(("other/w", 900, P), *((f"{name}/x", size, A) for name, size in sizes.items()))
    assert rows.most_in(moment, A) == said


@pytest.mark.parametrize(
    "allocation, name",
    [
        (Allocation("a/x", 1, "Relu"), "a/x"),
        (Allocation(None, 1), "a buffer without a name"),
        (Allocation(None, 1, "Relu"), "an unnamed Relu"),
        (Allocation(None, 1, "Relu", shape=(2, 3), dtype="float32"), "an unnamed Relu [2,3] float32"),
        (Allocation(None, 1, "Relu", purpose="parameter"), "an argument of the program"),
        (Allocation(None, 1, shape=(), dtype="int32"), "a buffer without a name [] int32"),
    ],
)
def test_the_name_of_a_row(allocation: Allocation, name: str) -> None:
    assert rows.row_name(rows.Row(allocation, Owner(None, U, Phase.NONE), None)) == name


@pytest.mark.parametrize("count, told", [(1, "a/x: 3.0 KiB"), (2, "a/x: 3.0 KiB, x2")])
def test_a_row_is_quoted_with_its_count(count: int, told: str) -> None:
    found = rows.quote(rows.Row(Allocation("a/x", 3072, count=count), Owner(None, U, Phase.NONE), None))
    assert found.fact == told


@pytest.mark.parametrize("length, short", [(160, 160), (161, 80 + 1 + 54), (500, 135)])
def test_a_long_name_loses_its_middle(length: int, short: int) -> None:
    name = "".join(chr(97 + at % 26) for at in range(length))
    found = rows.shortened(name)
    assert len(found) == short and found[:80] == name[:80] and found[-54:] == name[-54:]


@pytest.mark.parametrize(
    "request_, text",
    [
        (None, ""),
        (asked(shape=(2, 3), dtype="float32"), "[2,3] float32 (24 B)"),
        (asked(shape=(2, None), dtype="float32"), "[2,?] float32"),
        (asked(shape=(2, 3)), "[2,3]"),
        (asked(size=7), "an unknown amount"),
    ],
)
def test_a_request_in_a_few_words(request_: Request | None, text: str) -> None:
    assert rows.tensor_text(held(request=request_)) == text


def test_where_a_request_failed() -> None:
    assert rows.place(held()) == ""
    assert rows.place(held(request=asked(layer="net/a", node="net/a/Relu"))) == "net/a"
    assert rows.place(held(request=asked(node="Relu_3", op="Relu"))) == "Relu_3"
    assert rows.place(held(request=asked(op="Relu"))) == "Relu"
    assert rows.place(held(request=asked(updating=True))) == "the optimizer's update"
    assert rows.place(held(request=asked(updating=True, node="Mul"))) == "the optimizer's update (Mul)"
    slots = replace(asked(updating=True), owner=Owner(None, Kind.OPTIMIZER_SLOT, Phase.NONE))
    assert rows.place(held(request=slots)) == "the optimizer's slots"


# ------------------------------------------------------------------ limits and pieces


def test_the_limit_is_the_allocators_then_the_users_then_the_devices() -> None:
    class Device:
        def __init__(self, limit: int | None, total: int | None) -> None:
            self.limit, self.total = (None if each is None else exactly(each) for each in (limit, total))

    told = held(request=asked(), books=Balance(limit=exactly(10)))
    silent, none = held(request=asked()), held(request=asked(), books=Balance(limit=exactly(0)))
    devices: Any = (Device(None, None), Device(0, 9), Device(None, 8), Device(7, 20))
    assert rows.device_limit(case(told, hints=Hints(limit_bytes=5)), told) == exactly(10)
    assert rows.device_limit(case(silent, hints=Hints(limit_bytes=5), devices=devices), silent) == exactly(5)
    assert rows.device_limit(case(none, hints=Hints(limit_bytes=5)), none) == exactly(5)
    assert rows.device_limit(case(silent, devices=devices), silent) == exactly(8)
    assert rows.device_limit(case(silent), silent) is None
    host = held(request=asked(kind=RequestKind.HOST))
    assert rows.device_limit(case(host, devices=devices), host) is None


@pytest.mark.parametrize(
    "requested, free, largest, growable, fragmented",
    [
        (100, 100, 99, None, True),
        (100, 99, 99, None, False),
        (100, 100, 100, None, False),
        (100, 200, 99, 100, False),
        (100, 200, 99, 99, True),
        (None, 100, 99, None, False),
        (100, None, 99, None, False),
        (100, 100, None, None, False),
    ],
)
def test_enough_in_sum_and_not_in_one_piece(
    requested: int | None, free: int | None, largest: int | None, growable: int | None, fragmented: bool
) -> None:
    sizes = (None if each is None else exactly(each) for each in (free, largest, growable))
    free_size, largest_size, growable_size = sizes
    books = Balance(
        requested=requested, free=free_size, largest_free_chunk=largest_size, growable=growable_size
    )
    assert rows.is_fragmented(books) is fragmented


@pytest.mark.parametrize("free, full", [(99, True), (100, False), (0, True), (None, False)])
def test_a_pool_is_full_below_a_hundredth(free: int | None, full: bool) -> None:
    books = Balance(limit=exactly(10_000), free=None if free is None else exactly(free))
    assert rows.is_full(case(held(books=books)), held(books=books)) is full


@pytest.mark.parametrize(
    "facts, host",
    [
        ({"device": "/job:x/device:CPU:0"}, True),
        ({"device": "/job:x/device:cpu:0"}, True),
        ({"device": "/job:x/device:GPU:0"}, False),
        ({"allocator": "gpu_host_bfc"}, True),
        ({"allocator": "cuda_host_bfc"}, True),
        ({"allocator": "mklcpu"}, True),
        ({"allocator": "GPU_0_bfc"}, False),
        ({"kind": RequestKind.HOST}, True),
        ({"kind": RequestKind.PROFILE, "device": "cpu"}, False),
        ({}, False),
    ],
)
def test_whose_memory_it_is(facts: dict[str, Any], host: bool) -> None:
    assert rows.on_host(held(request=asked(**facts))) is host
    assert not rows.on_host(held())


def test_tensors_of_the_requests_size_count_with_it() -> None:
    request = asked(size=1000)
    moment = held(
        ("a/x", 1024, A),
        ("b/y", 1000, A),
        ("c/z", 999, A),
        ("d/v", 1025, A),
        (None, 1024, U),
        request=request,
    )
    assert rows.alike(moment) == 1000 + 1024 + 1000 + 1024
    assert rows.alike(moment, lambda each: each.allocation.node == "b/y") == 1000 + 1000 + 1024
    assert rows.alike(held(("a/x", 1024, A))) == 0


def test_the_tensor_in_a_chunk_is_more_than_half_of_it_and_128_mib_less_at_most() -> None:
    moment = held(("a", 100 * MIB, A), ("b", 10 * MIB, A))
    small, _ = moment.attribution.table
    assert rows.tensor_in(small, moment) == (50 * MIB, 100 * MIB)
    assert rows.tensor_in(Allocation("a", 512 * MIB), moment) == (384 * MIB, 512 * MIB)
    tight = replace(moment, balance=Balance(waste=exactly(20 * MIB)))
    assert rows.tensor_in(small, tight) == (80 * MIB, 85 * MIB)  # 5 MiB may be wasted in the other chunk


def test_whether_a_backward_pass_is_seen() -> None:
    assert not rows.has_backward(held(("a/x", 1, A)))
    assert rows.has_backward(held(request=asked(phase=Phase.GRADIENT)))
    backward = replace(held(("a/x", 1, A)), attribution=Attribution(
        AllocationTable.of([Allocation("a", 1)]), [Owner("a", G, Phase.GRADIENT)]))  # fmt: skip
    assert rows.has_backward(backward)


@pytest.mark.parametrize(
    "node, forward_only",
    [("a/Relu", True), ("gradients/a", False), ("a_grad/x", False), ("Conv2DBackpropInput", False)],
)
def test_whether_a_step_is_known_to_be_forward_only(node: str, forward_only: bool) -> None:
    ran = Executions(["a"], [0.0], [1.0])
    step = replace(timeline(row(node, 1, 0, 1)), executions=ran)
    moment = held(timeline=step)
    assert rows.is_forward_only(moment) is forward_only
    assert not rows.is_forward_only(replace(moment, timeline=replace(step, executions=Executions())))
    assert not rows.is_forward_only(replace(moment, timeline=replace(step, predicted=True)))
    assert not rows.is_forward_only(replace(moment, phases=(PhaseSpan("backward", 0, 1),)))
    assert not rows.is_forward_only(held())


@pytest.mark.parametrize(
    "nodes, source, forward_only",
    [
        (("net/a/Relu", "net/b/MatMul"), CurveSource.EVENTS, True),
        (("net/a/Relu", "gradient_tape/net/b/MatMul"), CurveSource.EVENTS, False),
        (("net/a/Relu", "MatMul"), CurveSource.EVENTS, False),  # of an eager op nobody knows
        (("net/a/Relu", None), CurveSource.EVENTS, True),
        ((None,), CurveSource.EVENTS, False),
        (("net/a/Relu",), CurveSource.RECORDS, False),
    ],
)
def test_a_function_whose_every_allocation_is_known_may_be_forward_only(
    nodes: tuple[str | None, ...], source: CurveSource, forward_only: bool
) -> None:
    made = timeline(*(Allocation(node, 1024, start_micros=1.0) for node in nodes))
    moment = held(timeline=replace(made, curve_source=source))
    assert rows.is_forward_only(moment) is forward_only


# ------------------------------------------------------------------ ranking


def test_the_whole_that_a_finding_explains_a_part_of() -> None:
    of = ranking.whole_bytes
    rows_ = (("a/x", 600, A), ("b/y", 100, A))
    step = held(*rows_, books=Balance(outside_report=exactly(50)))
    assert of(case(step), step) == 750
    limited = held(*rows_, request=asked(size=400), books=Balance(limit=exactly(1000)))
    assert of(case(limited), limited) == 1000
    huge = held(*rows_, request=asked(size=4000), books=Balance(limit=exactly(1000)))
    assert of(case(huge), huge) == 4000
    unlimited = held(*rows_, request=asked(size=400), books=Balance(in_use=exactly(900)))
    assert of(case(unlimited), unlimited) == 1300
    listed = held(*rows_, request=asked(size=400), books=Balance(in_use=exactly(500)))
    assert of(case(listed), listed) == 1100
    program = held(*rows_, request=asked(size=400, kind=RequestKind.XLA))
    assert of(case(program), program) == 700
    program = held(*rows_, request=asked(size=800, kind=RequestKind.XLA))
    assert of(case(program), program) == 800


@pytest.mark.parametrize(
    "explains, severity, graded, share",
    [
        (50, Severity.CAUSE, Severity.CAUSE, 0.05),
        (49, Severity.CAUSE, Severity.FACTOR, 0.049),
        (10, Severity.CAUSE, Severity.FACTOR, 0.01),
        (9, Severity.CAUSE, Severity.NOTE, 0.009),
        (9, Severity.FACTOR, Severity.FACTOR, 0.009),
        (-5, Severity.FACTOR, Severity.FACTOR, 0.0),
        (5000, Severity.CAUSE, Severity.CAUSE, 1.0),
    ],
)
def test_a_cause_explains_a_twentieth_and_a_factor_a_hundredth(
    explains: int, severity: Severity, graded: Severity, share: float
) -> None:
    moment = held(("a/x", 1000, A))
    found = ranking.graded(case(moment), Finding(severity, "x", explains=explains))
    assert (found.severity, found.share) == (graded, pytest.approx(share))


def test_what_is_not_weighed_stays() -> None:
    bare = Finding(Severity.CAUSE, "x")
    assert ranking.graded(case(held(("a/x", 1000, A))), bare) is bare
    weighed = replace(bare, explains=1)
    assert ranking.graded(case(held()), weighed) is weighed
    assert ranking.graded(case(), weighed) is weighed


def test_findings_stand_by_moment_severity_share_trust_and_bytes() -> None:
    def made(
        moment: int, severity: Severity, share: float, basis: Basis | None, explains: int | None
    ) -> Finding:
        return Finding(severity, "x", moment=moment, share=share, basis=basis, explains=explains)

    cause, note = Severity.CAUSE, Severity.NOTE
    order = [
        made(0, cause, 0.9, Basis.SHAPE, 5),
        made(0, cause, 0.6, Basis.MEASURED, 5),
        made(0, cause, 1.0, None, 5),
        made(0, cause, 0.0, Basis.MEASURED, None),
        made(0, cause, 0.0, Basis.NAME, 7),
        made(0, cause, 0.0, None, 6),
        made(0, note, 0.0, Basis.FIGURES, 8),
        made(0, note, 0.0, Basis.MEASURED, None),
        made(1, cause, 1.0, Basis.MEASURED, 9),
    ]
    mixed = [order[at] for at in (4, 0, 8, 2, 6, 1, 7, 3, 5)]
    assert sorted(mixed, key=ranking.rank) == order


# ------------------------------------------------------------------ weights


@pytest.mark.parametrize(
    "shape, facts, kind",
    [
        ((3, 3, 64, 64), {}, weights.Weight.KERNEL),
        ((64,), {}, weights.Weight.OTHER),
        ((5000, 64), {"node": "embedding/w"}, weights.Weight.TABLE),
        ((5000, 64), {"node": "w", "source_text": "Dense(5, name='embedding')"}, weights.Weight.TABLE),
        ((5000, 64), {"node": "lookup", "source_text": "Dense(5)"}, weights.Weight.DENSE),
        ((5000, 64), {"node": "fc1/w"}, weights.Weight.DENSE),
        ((1279, 64), {"node": "w"}, weights.Weight.DENSE),
        ((1280, 64), {"node": "w"}, weights.Weight.MATRIX),
        ((199_999, 64), {"node": "w"}, weights.Weight.MATRIX),
        ((200_000, 64), {"node": "w"}, weights.Weight.TABLE),
        ((200_704, 64), {"node": "w"}, weights.Weight.MATRIX),  # 56 x 56 x 64, flattened
    ],
)
def test_the_kind_of_a_weight(shape: tuple[int, ...], facts: dict[str, Any], kind: weights.Weight) -> None:
    assert weights.weight_of(asked(shape=shape, **facts)) is kind


@pytest.mark.parametrize(
    "name, times",
    [
        ("w/Adam_1", 4),
        ("w/Momentum", 3),
        ("w/RMSProp", 3),
        ("w/rms_prop", 3),
        ("w/Adagrad", 3),
        ("w/Lamb", 4),
        ("w", 4),
    ],
)
def test_how_often_a_weight_is_in_memory(name: str, times: int) -> None:
    count, why = weights.copies(asked(node=name))
    assert count == times
    assert ("one slot of" in why, "if that is" in why) == (times == 3, name == "w")


# ------------------------------------------------------------------ what the program keeps


@pytest.mark.parametrize(
    "code, name",
    [
        ("losses.append(loss)", "losses"),
        ("self.seen.extend(ys)", "self.seen"),
        ("outputs += [y]", "outputs"),
        ("seen = seen + [y]", "seen"),
        ("seen = other + [y]", ""),
        ("history['loss'].append(x)", "history"),
        ("y = f(x)", ""),
        (None, ""),
    ],
)
def test_a_line_that_adds_to_a_list(code: str | None, name: str) -> None:
    assert kept.stored_by(asked(source_text=code)) == name


@pytest.mark.parametrize(
    "code, shape, name",
    [
        ("queue = tf.concat([queue, x], 0)", (4, 8), "queue"),
        ("queue = tf.concat([x, queue], axis=0)", (4, 8), "queue"),
        ("queue = tf.concat([queue, x], axis=1)", (4, 8), "queue"),
        ("queue = tf.concat([queue, x], axis=1)", (4, 8, 8, 3), None),
        ("queue = tf.concat([queue, x], axis=0)", (4, 8, 8, 3), "queue"),
        ("queue = tf.concat([queue, x], axis=-1)", (4, 8), None),
        ("y = tf.concat([queue, x], 0)", (4, 8), None),
        ("queue = x if queue is None else tf.concat([queue, x], 0)", (4, 8), "queue"),
        ("queue = x if first else tf.concat([x, y], 0)", (4, 8), None),
        ("queue = x if queue is None else tf.concat([queue, x], 0)[-64:]", (4, 8), None),
        (None, (4, 8), None),
    ],
)
def test_a_tensor_that_is_joined_to_itself(
    code: str | None, shape: tuple[int, ...], name: str | None
) -> None:
    assert kept.joined_to_itself(asked(source_text=code, shape=shape)) == name


@pytest.mark.parametrize(
    "facts, eager",
    [
        ({"function": "__wrapped__MatMul_device"}, True),
        ({"op": "MatMul", "node": "MatMul"}, True),
        ({"op": "MatMul", "node": "net/MatMul"}, False),
        ({"op": "MatMul", "node": "MatMul", "function": "f"}, False),
        ({}, False),
    ],
)
def test_an_op_that_ran_by_itself(facts: dict[str, Any], eager: bool) -> None:
    assert kept.is_eager(asked(**facts)) is eager


@pytest.mark.parametrize(
    "count, steps, loop",
    [
        (1000, (0,), True),
        (999, (0,), False),
        (1000, (18,), True),
        (1000, (19,), False),
        (1001, (19,), True),
        (5000, (), False),
    ],
)
def test_chunks_of_a_loop(count: int, steps: tuple[int, ...], loop: bool) -> None:
    """Fifty for each step that went well, and one more."""
    table = AllocationTable.of([Allocation(None, 256, count=count)])
    moment = Moment(Attribution(table, [Owner(None, U, Phase.NONE)]), Balance())
    seen = tuple((number, Line(1, f"step {number}")) for number in steps)
    assert kept.of_a_loop(case(moment, steps=seen), moment) is loop
    epochs = tuple((number, Line(1, f"Epoch {number}")) for number in steps)
    assert not kept.of_a_loop(case(moment, steps=epochs), moment)


# ------------------------------------------------------------------ lines of JAX


def test_a_line_explains_requests_from_64_mib_on() -> None:
    line = "x = jnp.zeros((4096, 4096))"
    assert made_by(line, 64 * MIB)
    assert not made_by("x = jnp.tile(a, 9)", 64 * MIB - 1)
    assert made_by("x = jnp.tile(a, 9)", 64 * MIB)


@pytest.mark.parametrize(
    "line, need, slugs, basis",
    [
        ("x = jnp.zeros((8192, 4096))", 8192 * 4096 * 4, ["in-blocks"], Basis.SHAPE),
        ("x = jnp.zeros((8192, 4096))", 8192 * 4096 * 8, ["in-blocks", "narrow-array"], Basis.SHAPE),
        ("x = jnp.eye(8192)", 8192**2 * 4, ["in-pieces", "in-blocks"], Basis.SHAPE),
        ("x = jnp.identity(8192)", 8192**2 * 8, ["in-pieces", "in-blocks", "narrow-array"], Basis.SHAPE),
        ("x = jnp.tri(8192)", 8192**2, ["in-blocks"], Basis.SHAPE),
        ("y = one_hot(labels, 30_000)", 120_000 * 1000, ["sparse-labels", "in-blocks"], Basis.SHAPE),
        ("y = one_hot(labels, 30_000)", 120_000 * 1000 + 4, ["sparse-labels", "in-blocks"], Basis.NAME),
        ("y = one_hot(labels, 0)", 120_000_000, ["sparse-labels", "in-blocks"], Basis.NAME),
        ("d = x[:, None] - y[None]", 1 << 30, ["matrix-product", "in-blocks"], Basis.NAME),
        ("d = x[:, None] * y[None]", 1 << 30, ["in-blocks"], Basis.NAME),
        (
            "s = jnp.einsum('bqhd,bkhd->bhqk', q, k)",
            1 << 30,
            ["in-blocks", "flash-attention-jax"],
            Basis.NAME,
        ),
        ("s = jnp.einsum('qd,kd->qk', q, k)", 1 << 30, ["in-blocks"], Basis.NAME),
        ("s = jnp.einsum('nab,ncd->nabcd', q, k)", 1 << 30, ["in-blocks"], Basis.NAME),
    ],
)
def test_what_a_line_makes_and_what_makes_less(line: str, need: int, slugs: list[str], basis: Basis) -> None:
    made = made_by(line, need)
    assert made is not None
    assert [remedy.slug for remedy in made.remedies] == slugs and made.basis is basis
    for remedy in made.remedies:
        assert remedy.saves_bytes == (need // 2 if remedy.slug == "narrow-array" else None)


@pytest.mark.parametrize(
    "line",
    ["s = jnp.einsum('ij->ji', a)", "s = jnp.einsum('ij,jk->k', a, b)", "s = jnp.einsum('ij,j->i', a, b)"],
)
def test_an_einsum_of_one_operand_or_with_one_axis_pairs_nothing(line: str) -> None:
    assert made_by(line, 1 << 30) is None
