"""Edges of rules that read the allocator's figures, a program's own, or the shape of a matrix or a crop."""

from __future__ import annotations

from typing import Any

import pytest

from tests.findings.test_edges_of_support import at
from tests.findings.test_edges_of_tensors import failed, found, slugs
from tests.findings.test_support import A, G, P, U, case, exactly, held
from tfmemlens.findings import (
    allocator_snapshot,
    crops_of_boxes,
    dense_kernel_gradient,
    matrix_without_a_name,
    memory_shortage,
    parts_joined_at_once,
    patch_extraction,
    retraced_functions,
    rising_readings,
    stale_graphs,
)
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import NOBODY, Attribution, Kind, Owner, Phase
from tfmemlens.model.case import Api, Balance, FrontEnd, Moment
from tfmemlens.model.finding import Basis, Severity
from tfmemlens.model.incident import AllocatorState, RequestKind
from tfmemlens.model.live_model import LiveModel, TracedFunction
from tfmemlens.units import human
from tfmemlens.values import replace

MIB, GIB = 1 << 20, 1 << 30
JAX = Api(front_end=FrontEnd.JAX)
SLOT = Kind.OPTIMIZER_SLOT


def books(**sizes: int | None) -> Balance:
    plain = {key: sizes.pop(key) for key in ("requested", "missing") if key in sizes}
    return Balance(**plain, **{key: None if each is None else exactly(each) for key, each in sizes.items()})


def dump(*chunks: tuple[int, int], **facts: Any) -> Moment:
    """A failure beside chunks of (bytes, count) without names."""
    rows = [Allocation(None, size, count=count, line=at(7)) for size, count in chunks]
    owners = [Owner(None, U, Phase.NONE)] * len(rows)
    return replace(
        failed(None, **{"node": None, **facts}), attribution=Attribution(AllocationTable.of(rows), owners)
    )


# ------------------------------------------------------------------ the allocator's figures


@pytest.mark.parametrize(
    "sizes, explains, severity, words",
    [
        (
            {"requested": 100, "free": 60, "missing": 40, "limit": 800},
            40,
            Severity.CAUSE,
            "only 60 B of 800 B was free",
        ),
        (
            {"requested": 100, "free": 60, "missing": 40, "limit": 801},
            40,
            Severity.FACTOR,
            "only 60 B of 801 B",
        ),
        ({"requested": 100, "free": 60, "missing": 40}, 40, Severity.CAUSE, "only 60 B was free"),
        ({"requested": 100, "free": 0, "missing": 100}, 100, Severity.CAUSE, "nothing was free"),
        ({"requested": 100, "free": 160, "missing": 0, "limit": 200}, None, None, ""),
        ({"requested": 100, "free": 60, "missing": 40, "limit": 99}, None, None, ""),
        (
            {"requested": 100, "free": 60, "missing": 40, "limit": 100},
            40,
            Severity.CAUSE,
            "only 60 B of 100 B",
        ),
        ({"requested": None, "free": 60, "missing": 40}, None, None, ""),
        ({"requested": 100, "free": None, "missing": 40}, None, None, ""),
        (
            {"requested": 100, "free": 160, "largest_free_chunk": 99, "limit": 1601, "missing": 0},
            100,
            Severity.CAUSE,
            "only 160 B of 1.6 KiB was free, in pieces that are too small",
        ),
        ({"requested": 100, "free": 160, "largest_free_chunk": 99, "limit": 1600}, None, None, ""),
    ],
)
def test_what_is_short(sizes: Any, explains: int | None, severity: Severity | None, words: str) -> None:
    told = found(memory_shortage, failed(None, books=books(**sizes)))
    assert [(each.explains, each.severity) for each in told] == ([(explains, severity)] if severity else [])
    assert all(each.because.startswith(words) for each in told)


@pytest.mark.parametrize(
    "limit, words",
    [(1601, "a nearly full device: 100 B was requested"), (16_100, "a full device: 100 B was requested")],
)
def test_a_full_device_and_a_nearly_full_one(limit: int, words: str) -> None:
    told = found(
        memory_shortage,
        failed(None, books=books(requested=100, free=160, largest_free_chunk=99, limit=limit, in_use=5)),
    )
    assert told[0].headline == f"{words}, 160 B was free, 5 B of {human(limit)} in use"


@pytest.mark.parametrize(
    "chunks, words",
    [
        (((10, 4), (40, 1)), "; 4 blocks of 10 B hold 40 B, 50 % of what is in use"),
        (((10, 4), (39, 1), (2, 1)), ""),
        (((10, 3),), ""),
        (((10, 4), (38, 1), (2, 1)), "; 4 blocks of 10 B hold 40 B, 50 % of what is in use"),
        ((), ""),
    ],
)
def test_chunks_that_are_half_of_all(chunks: Any, words: str) -> None:
    moment = dump(*chunks, books=books(requested=100, free=60, missing=40))
    (told,) = found(memory_shortage, moment)
    assert told.because == f"only 60 B was free{words}"


@pytest.mark.parametrize(
    "times, chunks, words",
    [
        (2, ((12, 1), (11, 1), (10, 1)), "the tf.function `step` is traced again and again, and each trace"),
        (1, ((12, 1), (11, 1), (10, 1)), ""),  # one warning may be the last
        (2, ((10, 4), (40, 1)), "4 blocks of 10 B hold"),
        (2, (), ""),
    ],
)
def test_traces_that_keep_chunks_of_other_sizes(times: int, chunks: Any, words: str) -> None:
    moment = dump(*chunks, books=books(requested=100, free=60, missing=40))
    (told,) = found(memory_shortage, moment, retraced=(times, at(4, WARNED)))
    assert told.because.startswith(f"only 60 B was free; {words}" if words else "only 60 B was free")
    assert words or told.because == "only 60 B was free"


@pytest.mark.parametrize(
    "kind, phase, rows, offered",
    [
        (P, Phase.FORWARD, [], ["smaller-model", "lighter-optimizer"]),
        (SLOT, Phase.FORWARD, [], ["smaller-model", "lighter-optimizer"]),
        (A, Phase.OPTIMIZER, [], ["smaller-model", "lighter-optimizer"]),
        (A, Phase.FORWARD, [], ["smaller-batch"]),
        (A, Phase.FORWARD, [("a/x", 5, A)], []),  # all are outputs: that rule says it
        (A, Phase.FORWARD, [("a/x", 25, A), ("b/x", 25, G), ("c", 50, P)], ["smaller-batch"]),
        (A, Phase.FORWARD, [("a/x", 24, A), ("b/x", 26, G), ("c", 50, P)], []),
        (A, Phase.FORWARD, [("a/x", 25, A), ("b/x", 24, G), ("c", 51, P)], []),
    ],
)
def test_what_helps_a_shortage(kind: Kind, phase: Phase, rows: Any, offered: list[str]) -> None:
    moment = failed(
        (MIB,), "net/a", rows, phase, kind, books(requested=100, free=60, missing=40), layer="net"
    )
    (told,) = found(memory_shortage, moment, purposes=(("training", at(1)),))
    assert slugs([told]) == offered


@pytest.mark.parametrize(
    "free, largest, scattered",
    [(20, 10, True), (19, 9, False), (20, 11, False), (0, 0, False), (None, 0, False)],
)
def test_a_pool_of_which_much_is_free_in_pieces(free: int | None, largest: int, scattered: bool) -> None:
    moment = failed(
        None,
        books=books(pool=100, in_use=80, free=free, largest_free_chunk=largest),
        state=AllocatorState(free_chunks=3),
    )
    (told,) = found(allocator_snapshot, moment)
    assert told.severity is (Severity.CAUSE if scattered else Severity.FACTOR)
    assert told.explains == (free if scattered else 80) and ("constant-shapes" in slugs([told])) is scattered
    assert ("none of it free" in told.because) is (free is None)
    assert (" in 3 blocks" in told.because) is (free is not None)


@pytest.mark.parametrize("gone", ["pool", "in_use", "largest_free_chunk"])
def test_a_snapshot_needs_all_figures(gone: str) -> None:
    sizes: dict[str, int | None] = {"pool": 100, "in_use": 80, "free": 20, "largest_free_chunk": 10}
    assert found(allocator_snapshot, failed(None, books=books(**sizes)))
    assert not found(allocator_snapshot, failed(None, books=books(**{**sizes, gone: None})))
    assert not found(allocator_snapshot, failed(None, size=5, books=books(**sizes)))


# ------------------------------------------------------------------ a program's own figures


def readings(*sizes: int, numbers: tuple[int, ...] = ()) -> Any:
    return tuple(
        (size, at(number)) for size, number in zip(sizes, numbers or range(1, len(sizes) + 1), strict=True)
    )


def rising(*moments: Moment, api: Api = Api(), **told: Any) -> Any:
    return list(rising_readings.check(replace(case(*moments, **told), api=api)))


def test_readings_that_rise_say_by_how_much() -> None:
    told = {"readings": readings(100, 200, 300, 400)}
    (seen,) = rising(failed((5,)), **told)
    assert "rose from 100 B to 400 B over 4 readings, about 100 B from one to the next" in seen.headline
    assert (seen.severity, seen.explains) == (Severity.CAUSE, 300)
    (alone,) = rising(**told)
    assert alone.severity is Severity.FACTOR
    assert not rising(failed((5,)), readings=readings(400, 300, 200, 100))
    (host,) = rising(failed((5,), what=RequestKind.HOST), host_readings=readings(100, 200, 300, 400))
    assert host.because.startswith("host RAM in use rose") and host.explains == 300
    assert not rising(failed((5,), what=RequestKind.HOST), **told)


@pytest.mark.parametrize(
    "steps, explains",
    [
        ((11, 12, 13, 14), 400),  # as much for each step before, and no more than there is
        ((1, 2, 3, 4), 400),
        ((0, 1, 2, 3), 300),
        ((5, 5, 6, 7), 300),
        ((1, 2, 3), 300),
    ],
)
def test_growth_is_counted_on_to_the_first_step(steps: tuple[int, ...], explains: int) -> None:
    told = {
        "readings": readings(100, 200, 300, 400),
        "steps": tuple((each, at(number)) for number, each in enumerate(steps, 1)),
    }
    (seen,) = rising(failed((5,)), **told)
    assert seen.explains == explains


def test_steps_before_the_first_reading_count() -> None:
    told = {
        "readings": readings(1000, 1010, 1020, 1030),
        "steps": tuple((each, at(number)) for number, each in enumerate((8, 9, 10, 11), 1)),
    }
    (seen,) = rising(failed((5,)), **told)
    assert seen.explains == 30 * 11 // 3


@pytest.mark.parametrize(
    "api, stores, words, code",
    [
        (Api(), None, "something keeps tensors", "losses.append(loss.numpy())"),
        (Api(), "outs", "most likely the list `outs`, which keeps results", "outs.append(result.numpy())"),
        (JAX, "outs", "most likely the list `outs`", "outs.append(jax.device_get(result))"),
        (JAX, None, "something keeps tensors", "losses.append(jax.device_get(loss))"),
    ],
)
def test_what_keeps_tensors(api: Api, stores: str | None, words: str, code: str) -> None:
    told = {
        "readings": readings(100, 200, 300, 400),
        "stores": stores and (stores, at(9, f"{stores}.append(y)")),
    }
    (seen,) = rising(failed((5,)), api=api, **told)
    assert words in seen.because and str(seen.remedies[0].code).startswith(code)
    assert len(seen.evidence) == (3 if stores else 2)


@pytest.mark.parametrize(
    "retraced, stores, words, offered",
    [
        (False, False, "something keeps what each iteration makes", ["find-the-growth"]),
        (False, True, "most likely the list `outs`", ["drop-results", "find-the-growth"]),
        (True, True, "most likely the traces of `step`", ["one-signature", "find-the-growth"]),
    ],
)
def test_what_fills_host_ram(retraced: bool, stores: bool, words: str, offered: list[str]) -> None:
    told: dict[str, Any] = {"host_readings": readings(100, 200, 300, 400)}
    told["stores"] = ("outs", at(9)) if stores else None
    told["retraced"] = (5, at(8, "<function f.<locals>.step at 0x7f>")) if retraced else None
    (seen,) = rising(failed((5,), what=RequestKind.HOST), **told)
    assert words in seen.because and slugs([seen]) == offered and len(seen.evidence) == 2 + stores + retraced


@pytest.mark.parametrize(
    "sizes, counts, fires",
    [
        ((5, 6), (3, 4), True),
        ((5, 6), (4, 4), False),
        ((6, 5), (3, 4), False),
        ((5,), (3,), False),
        ((5, 5), (3, 4), False),
    ],
)
def test_tensors_of_node_that_are_never_disposed_of(sizes: Any, counts: Any, fires: bool) -> None:
    shown = tuple(
        (size, at(number, f"numTensors: {count}"))
        for number, (size, count) in enumerate(zip(sizes, counts, strict=True))
    )
    seen = rising(failed((5,)), readings=shown, settings=(("program", "Node", at(1)),))
    assert [each.explains for each in seen] == ([6] if fires else [])
    assert all("3 -> 4 of them, 6 B by now" in each.because for each in seen)


# ------------------------------------------------------------------ what is traced or built again


WARNED = "5 out of the last 5 calls to <function train.<locals>.step at 0x7f> triggered tf.function retracing"


@pytest.mark.parametrize(
    "times, chunks, rest, explains",
    [
        (1, ((16384, 6),), 0, None),
        (2, ((16384, 6),), 0, 5 * 16384),
        (2, ((16384, 5),), 0, None),
        (2, ((16383, 6),), 0, None),
        (3, ((16384, 6),), 0, None),
        (3, ((16384, 7),), 0, 6 * 16384),
        (2, ((16384, 6),), 174_762, 5 * 16384),
        (2, ((16384, 6),), 174_763, None),
    ],
)
def test_chunks_that_traces_left_behind(times: int, chunks: Any, rest: int, explains: int | None) -> None:
    moment = dump(*chunks, *(((rest, 1),) if rest else ()))
    (seen,) = found(retraced_functions, moment, retraced=(times, at(4, WARNED)))
    assert seen.explains == explains and seen.severity is (Severity.CAUSE if explains else Severity.FACTOR)
    assert seen.because.startswith("the tf.function `step` is traced again and again, and")
    assert slugs([seen]) == (["one-signature", "pass-arrays"] if explains else ["one-signature"])
    warnings = f"({times} warnings, at least {times + 4} tracings)" if times > 1 else "(a warning)"
    assert warnings in seen.headline


@pytest.mark.parametrize(
    "traces, kept, in_use, explains",
    [
        (5, 1000, 2666, 800),
        (5, 1000, 2667, None),
        (4, 1000, 2500, None),
        (6, 999, 2766, 833),
        (5, 1000, 0, None),
    ],
)
@pytest.mark.parametrize("warned", [True, False])
def test_constants_that_traces_keep(
    traces: int, kept: int, in_use: int, explains: int | None, warned: bool
) -> None:
    live = LiveModel((), (), functions=(TracedFunction("step", traces, kept), TracedFunction("eval", 9, 10)))
    told = {"retraced": (1, at(4, WARNED))} if warned else {}
    known = case(replace(dump(), balance=books(in_use=in_use)), **told)
    seen = list(retraced_functions.check(replace(known, capture=replace(known.capture, live_model=live))))
    if explains is None:
        assert [each.severity for each in seen] == [Severity.FACTOR] * warned
        return
    assert (seen[0].explains, seen[0].severity, len(seen[0].evidence)) == (explains, Severity.CAUSE, warned)
    assert seen[0].because.startswith(
        f"the tf.function `step` is traced again and again, and its {traces} traces"
    )
    assert slugs(seen) == ["one-signature", "pass-arrays", "one-function"]


@pytest.mark.parametrize("variables, offered", [(501, "one-model"), (500, "one-signature")])
def test_variables_that_traces_alone_keep(variables: int, offered: str) -> None:
    live = LiveModel((), (), functions=(TracedFunction("step", 5, 1000, variables),))
    known = case(replace(dump(), balance=books(in_use=2000)))
    seen = list(retraced_functions.check(replace(known, capture=replace(known.capture, live_model=live))))
    assert (seen[0].explains, seen[0].severity, slugs(seen)[0]) == (800, Severity.CAUSE, offered)
    assert ("variables that nothing else has" in seen[0].because) is (offered == "one-model")


@pytest.mark.parametrize(
    "text, function, offered",
    [
        (WARNED, "the tf.function `step`", "one-signature"),
        ("<function make_train_function.<locals>.f at 0x7f>", "Keras's function for a step", "clear-session"),
        ("a tf.function was retraced", "a tf.function", "one-signature"),
    ],
)
def test_which_function_is_traced_again(text: str, function: str, offered: str) -> None:
    (seen,) = found(retraced_functions, failed((5,)), retraced=(1, at(4, text)))
    assert seen.because.startswith(f"{function} is traced") and slugs([seen]) == [offered]
    assert not found(retraced_functions, failed((5,), line=at(3)), retraced=(1, at(4, text)))
    assert found(retraced_functions, failed((5,), line=at(5)), retraced=(1, at(4, text)))
    assert found(retraced_functions, failed((5,), line=at(3, source="b")), retraced=(1, at(4, text)))


@pytest.mark.parametrize(
    "node, number",
    [
        ("model_2/dense/MatMul", 2),
        ("model_1/dense/MatMul", None),
        ("sequential_4/x", 4),
        ("net/model_7/x", None),
        ("training_3/Adam/x", 3),
    ],
)
def test_a_model_that_is_not_the_first(node: str, number: int | None) -> None:
    moment = failed((5,), node, books=books(in_use=1000))
    told = found(stale_graphs, moment)
    assert [each.explains for each in told] == (
        [1000 * (number or 0) // ((number or 0) + 1)] if number else []
    )
    assert all(each.severity is (Severity.CAUSE if (number or 0) >= 4 else Severity.FACTOR) for each in told)
    assert all(f"this is number {(number or 0) + 1} of the models" in each.because for each in told)


def test_what_no_list_names_is_the_earlier_models() -> None:
    (told,) = found(stale_graphs, failed((5,), "model_3/x", books=books(in_use=1000, outside_report=77)))
    assert (told.explains, told.basis) == (77, None)
    for kind, phase, explains in (
        (P, Phase.FORWARD, 60),
        (SLOT, Phase.FORWARD, 60),
        (A, Phase.OPTIMIZER, 60),
        (A, Phase.FORWARD, None),
    ):
        (told,) = found(stale_graphs, failed((5,), "model_3/x", kind=kind, phase=phase))
        assert (told.explains, told.basis) == (explains, Basis.SHAPE if explains else None)
    (told,) = found(stale_graphs, failed((5, 6), "model_3/x"), summary=(("fc", "Dense", 36, at(2)),))
    assert told.explains == 3 * 120


@pytest.mark.parametrize(
    "names, number",
    [
        (["conv_4", "conv_5", "dense_4", "dense_5"], 2),
        (["conv_4", "conv_5"], None),
        (["conv_3", "conv_5", "dense_4", "dense_5"], None),
        (["conv_2", "dense_3"], 2),
        (["conv", "dense_3", "pool_4"], 3),
        (["conv_1", "dense_1"], None),
    ],
)
def test_layers_that_count_on_from_earlier_models(names: list[str], number: int | None) -> None:
    summary = tuple((name, "Layer", 5, at(place)) for place, name in enumerate(names))
    told = found(stale_graphs, failed((5,)), summary=summary)
    assert [f"number {(number or 0) + 1} of the models" in each.because for each in told] == (
        [True] if number else []
    )


# ------------------------------------------------------------------ matrices


@pytest.mark.parametrize(
    "shape, more, fires",
    [
        ((25088, 4096), {}, True),
        ((100_000, 84), {}, True),
        ((99_999, 84), {}, False),
        ((100_000, 83), {}, False),  # 31.7 MiB, and a width that nobody chooses
        ((131_072, 64), {}, True),
        ((131_071, 64), {}, False),
        ((200_000, 60), {}, False),
        ((200_000, 65), {}, False),
        ((200_000, 70), {}, True),
        ((8192, 4096), {}, False),  # a power of two may be anything
        ((4096, 25088), {}, False),
        ((25088, 4096), {"node": "x"}, False),
        ((25088, 4096), {"op": "x"}, False),
        ((25088, 4096), {"kernel": "x"}, False),
        ((25088, 4096), {"source_text": "y = f(x)"}, False),
        ((25088, 4096), {"source_text": "model.fit(x)"}, True),
        ((25088, 4096), {"dtype": "int32"}, False),
        ((25088, 4096), {"dtype": None}, True),
        ((25088, 4096), {"what": RequestKind.DUMP}, False),
        ((25088, 4096), {"rows": [("a/x", 5, A)]}, False),
        ((25088, 4096, 1), {}, False),
        ((25088, None), {}, False),
    ],
)
def test_a_matrix_that_is_most_likely_a_weight(shape: Any, more: Any, fires: bool) -> None:
    moment = failed(shape, **{"node": None, **more})
    assert bool(found(matrix_without_a_name, moment)) is fires
    assert not found(matrix_without_a_name, moment, JAX)


@pytest.mark.parametrize(
    "batch, fires",
    [
        (None, True), (25088, False), (49, False), (8, False), (7, False), (6, True), (5, True), (4, True),
        (1, True),
    ],
)  # fmt: skip
def test_a_batch_of_up_to_4096_positions_each_is_no_weight(batch: int | None, fires: bool) -> None:
    settings = (("batch_size", str(batch), at(2)),) if batch else ()
    assert bool(found(matrix_without_a_name, failed((25088, 4096), None), settings=settings)) is fires


@pytest.mark.parametrize(
    "summary, words, offered",
    [
        (
            (),
            "most likely the kernel of a fully connected layer behind Flatten",
            ["other-backbone"],
        ),
        (
            (("fc", "Dense", 25088 * 4096 + 4096),),
            "as many numbers as the weights of `fc`",
            ["pool-first", "narrower-layer"],
        ),
        (
            (("emb", "Embedding", 25088 * 4096),),
            "as many numbers as the weights of `emb`",
            ["smaller-vocabulary"],
        ),
        (
            (("fc", "Dense", 25088 * 4096), ("fd", "Dense", 25088 * 4096)),
            "as many numbers as the weights of one of `fc`, `fd`",
            ["pool-first", "narrower-layer"],
        ),
    ],
)
def test_the_layer_of_a_matrix(summary: Any, words: str, offered: list[str]) -> None:
    rows = tuple((*each, at(number)) for number, each in enumerate(summary, 2))
    (told,) = found(matrix_without_a_name, failed((25088, 4096), None), summary=rows)
    assert words in told.because and slugs([told]) == offered
    assert told.explains == 25088 * 4096 * 4 and len(told.evidence) == 1 + len(rows)
    texts = {each.slug: each for each in told.remedies}
    if "narrower-layer" in texts:
        assert (
            texts["narrower-layer"].saves_bytes == 25088 * 4096 * 2
            and "4,096 -> 2,048" in texts["narrower-layer"].text
        )
    if "find-the-layer" in texts:
        assert (
            f"{25088 * 4096:,} parameters, or {25088 * 4096 + 4096:,} with a bias"
            in texts["find-the-layer"].text
        )
    (unknown,) = found(matrix_without_a_name, failed((25088, 4096), None, dtype=None), summary=rows)
    assert "392.00 MiB in float32" in unknown.because and unknown.explains is None


def test_a_table_may_have_fewer_rows() -> None:
    (told,) = found(matrix_without_a_name, failed((200_001, 64), None))
    assert slugs([told])[-1] == "smaller-vocabulary" and "a weight (an embedding table, or" in told.because


@pytest.mark.parametrize(
    "shape, more, fires",
    [
        ((2048, 4096), {}, True),
        ((2047, 4096), {}, False),
        ((524_288, 16), {}, True),
        ((559_241, 15), {}, False),
        ((256, 32_768), {}, True),
        ((255, 33_000), {}, False),
        ((2048, 4096, 1), {}, False),
        ((2048, 4096), {"node": "fc1/Relu", "phase": Phase.FORWARD}, False),
        ((2048, 4096), {"node": "gradients/fc1/MatMul_grad/MatMul_1", "phase": Phase.GRADIENT}, True),
        ((2048, 4096), {"node": "gradients/fc1/MatMul_grad/MatMul", "phase": Phase.GRADIENT}, False),
        ((2048, 4096), {"node": "fc1/x", "phase": Phase.OPTIMIZER}, True),
        ((2048, 4096), {"node": "fc1/x", "kind": SLOT}, True),
        ((2048, 4096), {"node": "conv1/x", "kind": SLOT}, False),
        ((10_000, 4096), {"node": "conv1/x", "kind": SLOT}, True),
        ((9_999, 4096), {"node": "conv1/x", "kind": SLOT}, False),
        ((2048, 4096), {"node": "conv1/x", "phase": Phase.OPTIMIZER, "updating": True}, True),
    ],
    ids=str,
)
def test_a_kernel_of_a_fully_connected_layer(shape: Any, more: Any, fires: bool) -> None:
    moment = failed(shape, **{"node": "fc1/kernel/x", "layer": "fc1", **more})
    assert bool(found(dense_kernel_gradient, moment)) is fires


def test_a_gradient_of_a_batch_is_no_kernels() -> None:
    need = 2048 * 4096 * 4
    for size, layer, fires in ((need, "fc1", False), (need + 1, "fc1", True), (need, "fc2", True)):
        rows = [(f"{layer}/x", size, A)]
        moment = failed((2048, 4096), "gradients/fc1/MatMul_grad/MatMul_1", rows, Phase.GRADIENT, layer="fc1")
        assert bool(found(dense_kernel_gradient, moment)) is fires


@pytest.mark.parametrize(
    "shape, pools, narrower",
    [
        ((25088, 4096), True, "layer narrower: 4,096 -> 2,048"),
        ((10_000, 4096), True, "layer narrower: 4,096 -> 2,048"),
        ((9_999, 4096), False, "layer narrower: 4,096 -> 2,048"),
        ((4096, 25088), False, "layer before it narrower: 4,096 -> 2,048"),  # 25,088 are the data's
        ((2048, 8192), False, "layer before it narrower: 2,048 -> 1,024"),
        ((2049, 8192), False, "layer narrower: 8,192 -> 4,096"),
        ((2048, 4096), False, "layer narrower: 4,096 -> 2,048"),
    ],
)
def test_inputs_that_may_be_pooled(shape: Any, pools: bool, narrower: str) -> None:
    (told,) = found(dense_kernel_gradient, failed(shape, "fc1/kernel/x", layer="fc1"))
    assert ("pool-first" in slugs([told])) is pools
    text = next(each.text for each in told.remedies if each.slug == "narrower-layer")
    assert f"make the {narrower} halves" in text
    assert ("a flattened 7x7 map of 512 channels" in told.detail) is (shape[0] == 25088)


# ------------------------------------------------------------------ patches, crops and parts


@pytest.mark.parametrize(
    "shape, op, fires",
    [
        ((2, 64, 64, 27), "ExtractImagePatches", True),
        ((2, 64, 64, 27), "Conv2D", False),
        ((2, 64, 27), "ExtractImagePatches", False),
        ((2, 64, 64, 64, 27), "ExtractVolumePatches", True),
        ((2, 64, 64, 7), "ExtractImagePatches", False),
        ((2, 64, 0, 27), "ExtractImagePatches", False),
    ],
)
def test_patches_that_are_written_out(shape: Any, op: str, fires: bool) -> None:
    told = found(patch_extraction, failed(shape, "net/a", op=op))
    assert bool(told) is fires
    for each in told:
        need = each.explains or 0
        saved = {remedy.slug: remedy.saves_bytes for remedy in each.remedies}
        assert "patches of 3 x 3 pixels of 3 channels" in each.because and "up to 9 copies" in each.because
        assert saved == {
            "convolution-for-patches": need - need // 9,
            "stride-patches": need * 3 // 4,
            "one-image-at-a-time": need - need // 2,
        }
        assert each.detail.endswith(f"takes about {human(need // 9)}.")


def test_patches_of_one_image_and_of_one_channel() -> None:
    (told,) = found(patch_extraction, failed((1, 64, 64, 9), "net/a", op="ExtractImagePatches"))
    assert "one-image-at-a-time" not in slugs([told]) and "3 x 3 pixels of 1 channel " in told.headline


@pytest.mark.parametrize("rest, fires", [(90, True), (91, False)])
def test_patches_that_are_held(rest: int, fires: bool) -> None:
    rows = [Allocation("net/im2col", 10, shape=(2, 64, 64, 27)), Allocation("a/x", rest)]
    owners = [Owner("net", A, Phase.FORWARD)] * 2
    moment = replace(held(), attribution=Attribution(AllocationTable.of(rows), owners))
    told = found(patch_extraction, moment)
    assert [(each.explains, each.basis) for each in told] == ([(10, Basis.MEASURED)] if fires else [])


@pytest.mark.parametrize(
    "shape, node, fixed, size",
    [
        ((1024, 16, 16, 16), "crop/CropAndResize", False, "16 x 16"),
        ((1023, 16, 16, 16), "crop/CropAndResize", False, None),
        ((1024, 16, 16, 16), "crop/Resize", False, None),
        ((1024, 16, 16, 16), "crop/CropAndResize", True, None),
        ((1024, 16, 16, 16), "SecondStage/Conv", False, "16 x 16"),
        ((1024, 64, 8, 8), "SecondStage/Conv", False, "8 x 8"),
        ((1024, 64, 8, 9), "SecondStage/Conv", False, "64 x 8"),
        ((1024, 64, 8, 8), "crop/CropAndResize", False, "64 x 8"),
        ((1024, 16, 256), "crop/CropAndResize", False, None),
    ],
)
def test_crops_of_boxes(shape: Any, node: str, fixed: bool, size: str | None) -> None:
    moment = failed(shape, node)
    assert moment.request
    told = found(crops_of_boxes, replace(moment, request=replace(moment.request, fixed=fixed)))
    assert [f"{size}" in each.because for each in told] == ([True] if size else [])
    for each in told:
        need = each.explains or 0
        saved = [(remedy.slug, remedy.saves_bytes) for remedy in each.remedies[:2]]
        assert saved == [("fewer-boxes", need // 2), ("smaller-input", need * 3 // 4)]
        assert "1,024 -> 512" in each.remedies[0].text
        assert ("images or crops" in each.remedies[1].text) is node.startswith("crop")


@pytest.mark.parametrize(
    "size, function, text, op, explains",
    [
        (32 * MIB, "__wrapped__ConcatV2_N_16_device_/x", None, None, 64),
        (32 * MIB - 1, "__wrapped__ConcatV2_N_16_device_/x", None, None, None),
        (32 * MIB, "__wrapped__ConcatV2_N_15_device_/x", None, None, None),
        (32 * MIB, "__wrapped__Pack_N_16_device_/x", "y = tf.stack(outs)", None, 64),
        (32 * MIB, None, "y = tf.stack(outs, axis=0)", "Pack", 64),
        (32 * MIB, None, "y = tf.stack(outs)", "Relu", None),
        (32 * MIB, None, "y = f(outs)", "Pack", None),
    ],
)
def test_parts_that_are_joined_at_once(
    size: int, function: str | None, text: str | None, op: str | None, explains: int | None
) -> None:
    moment = failed(None, None, size=size, function=function, source_text=text, op=op)
    told = found(parts_joined_at_once, moment)
    assert [each.explains for each in told] == ([explains * MIB] if explains else [])
    assert all(
        (("`outs` keeps" in each.because) is bool(text))
        and (("16 tensors" in each.because) is bool(function))
        for each in told
    )
    assert all("on the device" in each.because for each in told)
    assert not found(parts_joined_at_once, moment, JAX)


@pytest.mark.parametrize(
    "chunks, small",
    [
        (((100, 1), (300, 2)), True),
        (
            ((100, 1), (199, 4)),
            False,
        ),  # each may hold the weight: BFC does not split these
        (((100, 1), (200, 4)), True),
        (((134, 1), (200, 1)), True),
        (((134, 2), (200, 1)), False),
    ],
)
def test_chunks_that_no_weight_of_this_size_explains(
    chunks: tuple[tuple[int, int], ...], small: bool
) -> None:
    table = AllocationTable.of([Allocation(None, size * MIB, count=count) for size, count in chunks])
    whole = sum(size * MIB * count for size, count in chunks)
    moment = failed((25 << 20,), size=100 * MIB, books=books(in_use=2 * whole))
    moment = replace(moment, attribution=Attribution(table, [NOBODY] * len(table)))
    assert moment.request
    assert memory_shortage._is_small_part(moment, moment.request) is small


@pytest.mark.parametrize(
    "phase, chunks, few",
    [
        (Phase.OPTIMIZER, ((40, 1), (30, 1), (10, 1), (1, 20)), 3),
        (Phase.OPTIMIZER, ((40, 1), (30, 1), (9, 1), (1, 21)), 0),  # 79 %
        (Phase.FORWARD, ((40, 1), (30, 1), (10, 1), (1, 20)), 0),
        (Phase.OPTIMIZER, ((80, 1), (1, 20)), 0),  # one alone has no slots beside it
        (Phase.OPTIMIZER, ((20, 4), (1, 20)), 4),
        (Phase.OPTIMIZER, ((16, 5), (1, 20)), 0),  # outputs of equal layers
        (Phase.OPTIMIZER, ((40, 1), (39, 1), (9, 1)), 2),  # the third is less than ten times the request
    ],
)
def test_few_large_blocks_at_an_update(phase: Phase, chunks: tuple[tuple[int, int], ...], few: int) -> None:
    table = AllocationTable.of([Allocation(None, size * MIB, count=count) for size, count in chunks])
    whole = sum(size * MIB * count for size, count in chunks)
    balance = books(in_use=whole, requested=MIB, free=10, missing=MIB)
    moment = failed((MIB // 4,), "adam/Sum", phase=phase, size=MIB, books=balance)
    moment = replace(moment, attribution=Attribution(table, [NOBODY] * len(table)))
    assert len(memory_shortage._few_large_blocks(moment)) == few
    (told,) = found(memory_shortage, moment)
    assert ("most likely one large weight with its gradient or slots" in told.because) is bool(few)
    assert any("make the largest weight smaller" in each.text for each in told.remedies) is bool(few)


@pytest.mark.parametrize(
    "kernel, shape, kind, fires",
    [
        ("matmul_op_impl.h", (1, 32768, 1024), P, True),
        ("matmul_op_impl.h", (2, 32768, 1024), P, False),
        ("matmul_op_impl.h", (1, 32768, 1024), A, False),
        ("cwise_op.h", (1, 32768, 1024), P, False),
    ],
)
def test_a_kernel_that_a_product_copies(kernel: str, shape: Any, kind: Kind, fires: bool) -> None:
    moment = failed(shape, "net/dense/MatMul", kind=kind, layer="dense", kernel=kernel)
    told = found(dense_kernel_gradient, moment)
    assert [each.because.startswith("the kernel of `dense`, 32,768 x 1,024, is copied") for each in told] == (
        [True] if fires else []
    )
    assert all("1,024 -> 512" in each.remedies[0].text for each in told)


def test_what_rises_is_told_for_each_that_is_counted() -> None:
    shown = tuple(
        (size, at(number, f"used at batch {40 * number}: x"))
        for number, size in enumerate((1000, 5000, 9000, 13000), 1)
    )
    (seen,) = rising(failed((5,)), readings=shown)
    assert "about 100 B for each batch" in seen.headline
    (far,) = rising(failed((5,)), readings=readings(100, 200, 300, 400, numbers=(1, 2, 3, 900)))
    assert "from one to the next" not in far.headline


def test_runs_of_a_session_that_leave_memory() -> None:
    told: dict[str, Any] = {"readings": readings(100, 200, 300, 400)}
    (seen,) = rising(failed((5,)), session=True, **told)
    assert "each run of the session" in seen.because and slugs([seen]) == ["find-the-growth"]
    told["purposes"] = (("a build before the release", at(7)),)
    (seen,) = rising(failed((5,)), session=True, **told)
    assert slugs([seen]) == ["newer-release", "find-the-growth"]


def test_steps_without_a_graph_fill_host_ram() -> None:
    told: dict[str, Any] = {"host_readings": readings(100, 200, 300, 400)}
    told["purposes"] = (("eager by choice", at(9)),)
    (seen,) = rising(failed((5,), what=RequestKind.HOST), **told)
    assert "without a graph" in seen.because and slugs([seen]) == ["graph-again", "find-the-growth"]
