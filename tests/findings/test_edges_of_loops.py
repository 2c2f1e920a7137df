"""Edges of what a loop keeps: of a list in quoted code, of a node that runs again and again, of stacks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.findings.test_edges_of_support import at
from tests.findings.test_edges_of_tensors import failed, found, slugs
from tests.findings.test_support import A, U, asked, exactly, held
from tfmemlens.findings import host_memory, kept_by_a_loop, loop_state
from tfmemlens.findings.support import kept_remedies
from tfmemlens.findings.support.kept_trees import Kept
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import Attribution, Kind, Owner, Phase
from tfmemlens.model.capture import Progress
from tfmemlens.model.case import Api, Balance, FrontEnd, Moment
from tfmemlens.model.finding import Basis, Finding, Severity
from tfmemlens.model.incident import Frame, RequestKind
from tfmemlens.values import replace

MIB, GIB = 1 << 20, 1 << 30
JAX = Api(front_end=FrontEnd.JAX)
STACK = Kind.LOOP_STACK


def steps(*counts: int) -> dict[str, Any]:
    return {"steps": tuple((count, at(count, "step")) for count in counts)}


def loop(
    monkeypatch: pytest.MonkeyPatch,
    moment: Moment,
    each: int | None = None,
    api: Api = JAX,
    told: dict[str, Any] | None = None,
    **more: Any,
) -> list[Finding]:
    """What the rule says where the quoted code keeps one entry of so many bytes each turn."""
    line = at(2, more.pop("text", "outs.append(y)"))
    entry = Kept("outs", "y", line, at(1), each, **more)
    monkeypatch.setattr(kept_by_a_loop, "kept", lambda surroundings: [entry])
    return found(kept_by_a_loop, moment, api, **(told or {}))


def on_gpu(need: int | None = GIB, limit: int | None = None, rows: Any = (), **facts: Any) -> Moment:
    facts = {"line": at(99), **facts}
    return failed(None, size=need, rows=rows, books=Balance(limit=limit and exactly(limit)), **facts)


@pytest.mark.parametrize(
    "each, turns, limit, words, explains",
    [
        (MIB, 256, None, "256.00 MiB after 256 iterations", 256 * MIB),
        (MIB, 255, None, "it failed after 255 iterations that went well", None),
        (MIB, 256, 1024 * MIB, "256.00 MiB after 256 iterations", 256 * MIB),
        (MIB, 256, 1025 * MIB, None, None),
        (GIB, 1, GIB, "1.00 GiB after 1 iterations", GIB),
        (None, 10, None, "it failed after 10 iterations that went well", None),
        (None, 9, None, None, None),
        (MIB, 0, None, None, None),
    ],
)
def test_how_much_is_kept_after_so_many_turns(
    each: int | None,
    turns: int,
    limit: int | None,
    words: str | None,
    explains: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = loop(monkeypatch, on_gpu(limit=limit), each, told=steps(turns) if turns else {})
    assert not seen if words is None else len(seen) == 1 and seen[0].because.endswith(f": {words}")
    assert all(finding.explains == explains for finding in seen)
    assert all(finding.basis is (Basis.MEASURED if explains else Basis.NAME) for finding in seen)


@pytest.mark.parametrize(
    "every, turns, words",
    [
        (4, 1024, "256.00 MiB after 1,024 iterations, of which every 4th is kept"),
        (1, 256, "256.00 MiB after 256 iterations"),
    ],
)
def test_every_fourth_turn_is_kept(
    every: int, turns: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (seen,) = loop(monkeypatch, on_gpu(), MIB, told=steps(turns), every=every)
    assert seen.because.endswith(words) and (f"of every {every}th iteration" in seen.because) is (every > 1)


@pytest.mark.parametrize(
    "need, each, most, limit, explains",
    [
        (64 * MIB, 5, None, None, 0),
        (64 * MIB + 1, 5, None, None, None),
        (64 * MIB, 5, 100, 499, 499),
        (64 * MIB, 5, 100, 500, None),
        (64 * MIB, 5, 100, None, 500),
        (64 * MIB, None, 100, None, None),
        (None, 5, None, None, None),
    ],
)
def test_so_small_a_request_fails_only_on_a_full_device(
    need: int | None,
    each: int | None,
    most: int | None,
    limit: int | None,
    explains: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = loop(monkeypatch, on_gpu(need, limit), each, most=most)
    assert [finding.explains or 0 for finding in seen] == ([] if explains is None else [explains])
    assert all("so small a request (64.00 MiB) fails only where" in finding.because for finding in seen)
    assert all(
        slugs([finding]) == (["keep-on-host"] if most else ["reduce-parts", "keep-numbers"])
        for finding in seen
    )


@pytest.mark.parametrize(
    "facts, made, words",
    [
        (
            {"source_text": " outs.append(y) "},
            (),
            "iteration on the device, and this line is the one that failed",
        ),
        ({"frames": (Frame("a.py:3", "outs.append(y)"),)}, (), "and this line is the one that failed"),
        (
            {"source_text": "y = f(x)"},
            (at(3, "  y = f(x)"),),
            "and it failed where the next one of them is made",
        ),
        ({"source_text": "z = f(x)"}, (at(3, "y = f(x)"),), None),
        ({"source_text": ""}, (at(3, ""),), None),
    ],
)
def test_the_failure_is_at_the_line_that_keeps_it(
    facts: Any, made: Any, words: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = loop(monkeypatch, on_gpu(**facts), made=made)
    assert not seen if words is None else words in seen[0].because and seen[0].explains is None


@pytest.mark.parametrize(
    "each, rows, need, explains, words",
    [
        (5, [(None, 5)] * 8, GIB, 40, "8 blocks of that size are in use"),
        (5, [(None, 5)] * 7, GIB, None, None),
        (5, [(None, 6)] * 8, GIB, None, None),
        (None, [(None, MIB)] * 8, GIB, None, None),
    ],
)
def test_chunks_of_an_entrys_size(
    each: int | None,
    rows: Any,
    need: int,
    explains: int | None,
    words: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moment = on_gpu(need, rows=[(name, size, U) for name, size in rows])
    seen = loop(monkeypatch, moment, each)
    assert [finding.explains for finding in seen] == ([explains] if explains else [])
    assert all(str(words) in finding.because for finding in seen)


@pytest.mark.parametrize(
    "size, count, need, explains, words",
    [
        (MIB, 8, GIB, 8 * MIB, "most likely these are the 8 blocks of 1.00 MiB that are in use"),
        (MIB, 7, GIB, None, ""),
        (MIB - 1, 8, GIB, None, ""),
        (MIB // 2, 128, GIB, 64 * MIB, "128 blocks of 512.0 KiB"),
        (MIB // 2, 127, GIB, None, ""),
        (MIB, 8, MIB, 9 * MIB, "that are in use, and the next one failed"),
    ],
)
def test_chunks_where_an_entrys_size_is_not_known(
    size: int, count: int, need: int, explains: int | None, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = on_gpu(need)
    table = AllocationTable.of([Allocation(None, size, count=count), Allocation(None, 5)])
    moment = replace(moment, attribution=Attribution(table, [Owner(None, U, Phase.NONE)] * 2))
    seen = loop(monkeypatch, moment)
    assert [finding.explains for finding in seen] == ([explains] if explains else [])
    assert all(words in finding.because for finding in seen)


@pytest.mark.parametrize(
    "each, rise, every, fires",
    [
        (100, 70, 1, True),
        (100, 69, 1, False),
        (100, 140, 1, True),
        (100, 141, 1, False),
        (None, 141, 1, True),
        (400, 100, 4, True),
        (100, 400, 4, False),
    ],
)
def test_readings_that_rise_by_an_entry(
    each: int | None, rise: int, every: int, fires: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [at(number) for number in (1, 2, 3)]
    told = {
        "steps": tuple(zip((1, 2, 3), lines, strict=True)),
        "readings": tuple(zip((1000, 1000 + rise, 1000 + 2 * rise), lines, strict=True)),
    }
    seen = [
        finding
        for finding in loop(monkeypatch, on_gpu(), each, told=told, every=every)
        if "readings" in finding.because
    ]
    assert [finding.explains for finding in seen] == ([3 * rise] if fires else [])
    assert all(
        (f"about {rise * every} B for each entry" in finding.because) is (each is None) for finding in seen
    )


@pytest.mark.parametrize(
    "more, fires",
    [({}, True), ({"model": True}, False), ({"by_calls": True}, False), ({"on_host": True}, False)],
    ids=str,
)
def test_what_is_no_list_of_arrays_of_the_device(
    more: Any, fires: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bool(loop(monkeypatch, on_gpu(), MIB, told=steps(300), **more)) is fires


def test_a_weight_that_is_being_created_is_no_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not loop(monkeypatch, on_gpu(creating=True), MIB, told=steps(300))
    assert loop(monkeypatch, on_gpu(creating=True, what=RequestKind.HOST), MIB, told=steps(300))


def test_host_ram_fills_with_the_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    (seen,) = loop(monkeypatch, on_gpu(5, what=RequestKind.HOST), MIB)
    assert seen.because.endswith("in host RAM: so host RAM fills with the iterations")
    assert slugs([seen]) == ["reduce-parts", "parts-to-disk"]
    assert not loop(monkeypatch, on_gpu(5, what=RequestKind.HOST))


@pytest.mark.parametrize(
    "more, words",
    [
        ({"each": MIB, "shape": "[5] f32"}, "keeps [5] f32 (1.00 MiB) of each iteration on the device"),
        ({"each": MIB}, "keeps every result of each iteration on the device"),
        ({"shape": "[5] f32"}, "keeps every result of each iteration"),
        ({"each": MIB, "gradients": True}, "keeps a whole set of gradients (1.00 MiB) of each iteration"),
        ({"gradients": True}, "keeps a whole set of gradients of each iteration"),
        (
            {"each": MIB, "most": 2000},
            "keeps every result, up to 1.95 GiB in 2,000 entries, of each iteration",
        ),
    ],
    ids=str,
)
def test_what_a_list_keeps_in_words(more: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (seen,) = loop(monkeypatch, on_gpu(), told=steps(600), **more)
    assert words in seen.because


@pytest.mark.parametrize(
    "each, every, steps_in_all, words",
    [
        (MIB, 1, 1000, ": 1000.00 MiB in all"),
        (MIB, 4, 1000, ": 250.00 MiB in all"),
        (None, 1, 1000, None),
        (MIB, 1, None, None),
    ],
)
def test_what_all_turns_will_keep(
    each: int | None, every: int, steps_in_all: int | None, words: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = (Progress(at(3), step=2000, steps=steps_in_all),)
    (seen,) = loop(monkeypatch, on_gpu(), each, told={"progress": progress}, every=every)
    text = seen.remedies[-1].text
    assert ("in all" not in text) if words is None else text.endswith(words)


@pytest.mark.parametrize(
    "api, gradients, code",
    [
        (JAX, False, "outs.append(np.asarray(y))"),
        (Api(), False, "outs.append(y.numpy())"),
        (JAX, True, "outs.append(float(optax.global_norm(y)))"),
        (Api(), True, "outs.append(float(tf.linalg.global_norm(y)))"),
    ],
)
def test_code_that_keeps_less(api: Api, gradients: bool, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (seen,) = loop(monkeypatch, on_gpu(), MIB, api, steps(300), gradients=gradients)
    assert seen.remedies[-1].code == code and seen.remedies[-1].slug == "keep-numbers"


@pytest.mark.parametrize(
    "uses, used",
    [
        ([("m = mean(outs)", 9)], True),
        ([("outs = stack(outs)", 8), ("m = mean(outs)", 9)], True),
        ([("outs = stack(outs)", 8)], False),
        ([("x\ny", 9)], True),
        ([], False),
    ],
)
def test_what_later_lines_do_with_it(uses: Any, used: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = tuple((text, at(number)) for text, number in uses)
    (seen,) = loop(monkeypatch, on_gpu(), MIB, told=steps(300), uses=lines)
    assert seen.remedies[0].code is None and ("line 9 wants" in seen.remedies[0].text) is used
    assert len(seen.evidence) == (3 if uses else 2)


# ------------------------------------------------------------------ stacks, and nodes that run again


def stacked(*rows: tuple[str, int, int], others: int = 0, **more: Any) -> Moment:
    """Stacks of (node, bytes, count) beside so many other bytes."""
    table = AllocationTable.of(
        [Allocation(node, size, count=count) for node, size, count in rows] + [Allocation("a/x", others)]
    )
    owners = [Owner("net/rnn", STACK, Phase.FORWARD) for _ in rows] + [Owner("a", A, Phase.FORWARD)]
    return replace(held(**more), attribution=Attribution(table, owners))


@pytest.mark.parametrize(
    "size, others, severity",
    [(10, 90, Severity.FACTOR), (9, 91, None), (30, 70, Severity.CAUSE), (29, 71, Severity.FACTOR)],
)
def test_stacks_of_a_loop(size: int, others: int, severity: Severity | None) -> None:
    told = found(loop_state, stacked(("net/while/Push", size, 1), others=others))
    assert [(each.severity, each.explains) for each in told] == ([(severity, size)] if severity else [])
    saved = [{remedy.slug: remedy.saves_bytes for remedy in each.remedies} for each in told]
    assert all((each["shorter-sequences"], each["swap-to-host"]) == (size // 2, size) for each in saved)
    assert all(each.detail.startswith("The report has one line") for each in told)


@pytest.mark.parametrize(
    "other, words",
    [
        (35, "net/while/Push is alive 5 times with 14 B each"),
        (36, "net/while/Other is alive 4 times with 36 B each"),
    ],
)
def test_the_node_that_is_alive_most_often_is_told_unless_another_holds_far_more(
    other: int, words: str
) -> None:
    (told,) = found(
        loop_state,
        stacked(("net/while/Push", 10, 3), ("net/while/Push", 20, 2), ("net/while/Other", other, 4)),
    )
    assert words in told.because
    assert len(told.evidence) == 3


@pytest.mark.parametrize("weights, ruled_out", [(31, ("smaller-batch",)), (30, ()), (0, ())])
def test_weights_that_a_loop_reads_in_each_turn_have_no_batch(
    weights: int, ruled_out: tuple[str, ...]
) -> None:
    rows = (
        [("gradient_tape/net/while/cell/MatMul/ReadVariableOp_0/accumulator", weights, 1)] if weights else []
    )
    (told,) = found(loop_state, stacked(*rows, ("net/while/Push", 30, 1), others=0))
    assert told.rules_out == ruled_out


@pytest.mark.parametrize("length, shown", [(60, False), (61, True)])
def test_a_long_name_is_told_by_its_layer(length: int, shown: bool) -> None:
    node = "n" * (length - 5) + "/Push"
    (told,) = found(loop_state, stacked((node, 10, 3)))
    assert (("Push in net/rnn is alive" in told.because) is shown) and ((node in told.because) is not shown)


def again(
    *rows: tuple[str | None, int, int],
    unlisted: int = 0,
    nodes: int = 0,
    phase: Phase = Phase.FORWARD,
    outside: int = 0,
    what: RequestKind = RequestKind.TENSOR,
) -> Moment:
    """A list of nodes of (bytes, count) that runs out with so much that it leaves out."""
    table = AllocationTable.of([Allocation(node, size, count=count) for node, size, count in rows])
    owners = [Owner("net", A, phase) for _ in rows]
    books = Balance(unlisted=exactly(unlisted), unlisted_nodes=nodes, outside_report=exactly(outside))
    return replace(failed((5,), books=books, what=what), attribution=Attribution(table, owners))


@pytest.mark.parametrize(
    "moment, explains, severity",
    [
        (again(("net/a", 10, 16)), 160, Severity.CAUSE),
        (again(("net/a", 10, 15)), None, None),
        (again(("net/a", 10, 8), ("net/a", 10, 8)), 160, Severity.CAUSE),
        (again(("net/a", 10, 16), ("net/b", 160, 1)), 160, Severity.CAUSE),
        (again(("net/a", 10, 16), ("net/b", 161, 1)), None, None),
        (again(("net/a", 10, 16), outside=373), 160, Severity.CAUSE),
        (again(("net/a", 10, 16), outside=374), 160, Severity.FACTOR),
        (again(("net/a", 10, 16), outside=1440), 160, Severity.FACTOR),
        (again(("net/a", 10, 16), outside=1441), None, None),
        (again(("net/a", 10, 16), phase=Phase.OPTIMIZER), None, None),
        (again((None, 10, 16)), None, None),
        (again(("net/a", 10, 16), what=RequestKind.DUMP), None, None),
        (again(("net/a", 10, 16), unlisted=30, nodes=16), 190, Severity.CAUSE),
        (again(("net/a", 10, 16), unlisted=30, nodes=15), 160, Severity.CAUSE),
    ],
)
def test_a_node_that_runs_again_and_again(
    moment: Moment, explains: int | None, severity: Severity | None
) -> None:
    told = [
        each for each in found(loop_state, moment) if each.because.startswith("a loop keeps every iteration")
    ]
    assert [(each.explains, each.severity) for each in told] == ([(explains, severity)] if explains else [])
    assert all(("more executions hold 30 B" in each.because) is (explains == 190) for each in told)


@pytest.mark.parametrize(
    "shape, node, op, turns",
    [
        ((16, MIB, 1), "net/TensorListStack", None, 16),
        ((16, MIB - 1, 1), "net/TensorListStack", None, None),
        ((16, MIB), "net/TensorListStack", None, None),
        ((16, MIB, 0), "net/TensorListStack", None, None),
        ((16, MIB, 1), "net/x", "TensorArrayGatherV3", 16),
        ((16, MIB, 1), "net/TensorListStack_3", "Relu", 16),
        ((16, MIB, 1), "net/x", "Relu", None),
        ((1, 16 * MIB, 1), "net/TensorListStack", None, 1),
        (None, "net/TensorListStack", None, None),
    ],
)
def test_the_outputs_of_all_turns_as_one_tensor(
    shape: Any, node: str, op: str | None, turns: int | None
) -> None:
    told = [each for each in found(loop_state, failed(shape, node, op=op)) if "as one tensor" in each.because]
    assert [each.explains for each in told] == ([64 * MIB] if turns else [])
    for each in told:
        assert (
            f"the outputs of {turns} steps" in each.because
            and f"{64 // (turns or 1)}.00 MiB each" in each.because
        )
        assert each.remedies[0].text.startswith(f"fewer steps: {turns} -> {max((turns or 1) // 2, 1)} halves")
        assert each.remedies[0].saves_bytes == 32 * MIB


@pytest.mark.parametrize(
    "node, training, rows, what, words",
    [
        ("gradients/net/while/MatMul_grad", False, [], RequestKind.TENSOR, "in a loop's backward pass"),
        ("net/while_grad/x", False, [], RequestKind.TENSOR, "in a loop's backward pass"),
        ("net/decoder/while/x", True, [], RequestKind.TENSOR, "in a loop that is trained"),
        ("net/decoder/while/x", False, [], RequestKind.TENSOR, None),
        ("net/while/x", True, [], RequestKind.TENSOR, None),
        ("net/decoder/predict/while/x", True, [], RequestKind.TENSOR, None),
        ("net/while_grad/x", False, [("a/x", 5, A)], RequestKind.TENSOR, None),
        ("net/while_grad/x", False, [], RequestKind.DUMP, None),
    ],
)
def test_a_failure_in_a_loop_that_is_gone_back_through(
    node: str, training: bool, rows: Any, what: RequestKind, words: str | None
) -> None:
    told = {"purposes": (("training", at(1)),)} if training else {}
    seen = [
        each
        for each in found(loop_state, failed((5,), node, rows=rows, what=what), **told)
        if "more steps" in each.because
    ]
    assert [str(words) in each.because for each in seen] == ([True] if words else [])
    assert all("(of this one [5] float32 (20 B))" in each.headline for each in seen)


# ------------------------------------------------------------------ host RAM


def host(**facts: Any) -> Moment:
    return failed(facts.pop("shape", None), **{"what": RequestKind.HOST, "node": None, **facts})


@pytest.mark.parametrize(
    "moment, api, because, severity",
    [
        (host(), Api(), "the message does not say how much was requested", Severity.CAUSE),
        (
            host(line=at(3, "JIT session error: Cannot allocate memory")),
            Api(),
            "the compiler found no room",
            Severity.CAUSE,
        ),
        (
            host(line=at(3, "The paging file is too small")),
            Api(),
            "Windows could promise no more",
            Severity.CAUSE,
        ),
        (
            host(pipeline=True),
            Api(),
            "a function of the input pipeline (tf.data) got no host RAM",
            Severity.CAUSE,
        ),
        (
            host(line=at(3, "Failed to allocate memory for the batch of component 0")),
            Api(),
            "one batch of the data set",
            Severity.CAUSE,
        ),
        (host(shape=(5,)), Api(), "Python requested an array [5] float32 (20 B)", Severity.CAUSE),
        (host(shape=(5,), source="a.py:3"), Api(), "(20 B) at a.py:3", Severity.CAUSE),
        (
            host(line=at(3, "could not allocate pinned memory")),
            Api(),
            "the GPU's driver could not pin memory of it",
            Severity.CAUSE,
        ),
        (failed((5,), device="/device:CPU:0"), Api(), "this is host RAM, not GPU memory", Severity.NOTE),
        (
            failed((5,), allocator="gpu_host_bfc"),
            Api(),
            "this is pinned host RAM (which the GPU can copy from)",
            Severity.NOTE,
        ),
        (
            failed((5,), device="/device:CPU:0", pipeline=True),
            Api(),
            "a function of the input pipeline",
            Severity.CAUSE,
        ),
        (failed((5,), allocator="xla_gpu_host_bfc"), JAX, "pool of pinned host RAM", Severity.CAUSE),
    ],
)
def test_what_host_memory_was_for(moment: Moment, api: Api, because: str, severity: Severity) -> None:
    (told,) = found(host_memory, moment, api)
    assert because in told.because and told.severity is severity
    assert told.explains == (
        20 if severity is Severity.CAUSE and moment.request and moment.request.failed.shape else None
    )


def test_a_request_of_a_gpu_is_no_host_memory() -> None:
    assert not found(host_memory, failed((5,), allocator="GPU_0_bfc"))
    assert not found(host_memory, held(request=asked()))


@pytest.mark.parametrize(
    "large, words, evidence",
    [
        ([(5, 3)], "before it TensorFlow requested 5 B at once (line 3)", 5),
        ([(9, 2), (5, 3)], "before it TensorFlow requested 5 B at once (line 3)", 9),
        ([(5, 2), (9, 3), (5, 4)], "requested 5 B at once (line 4, the last of 2 of this size)", 9),
    ],
)
def test_large_requests_that_were_warned_of(large: Any, words: str, evidence: int) -> None:
    shown = tuple((exactly(size), at(number)) for size, number in large)
    (told,) = found(host_memory, host(), large_host_requests=shown)
    assert (
        words in told.because
        and told.evidence[1].fact == f"before it TensorFlow requested {evidence} B at once"
    )
    (other,) = found(host_memory, failed((5,), device="/device:CPU:0"), large_host_requests=shown)
    assert len(other.evidence) == 1


@pytest.mark.parametrize(
    "moment, told, offered, never",
    [
        (host(shape=(5 << 20,), dtype="float64"), {}, ["narrow-array", "map-the-file"], ["smaller-pipeline"]),
        (host(shape=(5 << 20,), dtype="float32"), {}, ["map-the-file"], ["narrow-array"]),
        (host(shape=(5,), dtype="float64"), {}, ["container-limit"], []),  # the last drop
        (host(line=at(3, "MemoryError")), {}, ["map-the-file"], ["narrow-array"]),
        (
            host(line=at(3, "The paging file is too small")),
            {},
            ["fewer-workers", "larger-paging-file"],
            ["container-limit"],
        ),
        (
            host(line=at(3, "JIT session error")),
            {},
            ["fewer-programs", "more-memory-maps"],
            ["container-limit"],
        ),
        (host(line=at(3, "Out of host memory")), {}, ["more-pinned-memory"], []),
        (
            host(line=at(3, "pinned memory")),
            {},
            ["smaller-pipeline", "container-limit"],
            ["check-the-device"],
        ),
        (host(), {}, ["check-the-device", "smaller-pipeline", "container-limit"], ["smaller-batch"]),
        (host(), {"purposes": (("without a GPU", at(2)),)}, ["container-limit"], ["check-the-device"]),
        (host(node="IteratorGetNext"), {}, ["container-limit"], ["check-the-device"]),
        (
            failed((5,), "net/a", device="/device:CPU:0"),
            {},
            [],
            ["container-limit", "smaller-pipeline", "check-the-device"],
        ),
        (failed((5,), "net/a", device="/device:CPU:0", pipeline=True), {}, ["container-limit"], []),
    ],
)
def test_what_helps_host_memory(moment: Moment, told: Any, offered: list[str], never: list[str]) -> None:
    (seen,) = found(host_memory, moment, **told)
    assert set(offered) <= set(slugs([seen])) and not set(never) & set(slugs([seen]))


@pytest.mark.parametrize(
    "dtype, saved, fills, code",
    [
        ("float64", 20 * MIB, None, "x = np.asarray(x, dtype=np.float32)"),
        ("float64", 20 * MIB, "x = np.zeros((5,))", "x = np.zeros(shape, dtype=np.float32)"),
        ("float64", 20 * MIB, "x = np.ones((5,), dtype=np.float64)", "x = np.asarray(x, dtype=np.float32)"),
    ],
)
def test_an_array_of_half_the_width(dtype: str, saved: int, fills: str | None, code: str) -> None:
    (seen,) = found(host_memory, host(shape=(5 * MIB,), dtype=dtype, source_text=fills))
    remedy = next(each for each in seen.remedies if each.slug == "narrow-array")
    assert (remedy.saves_bytes, remedy.code) == (saved, code) and ("one-hot" in remedy.text) is (
        "zeros" in code
    )


@pytest.mark.parametrize(
    "batch, text",
    [("9", "a smaller batch: 9 -> 4"), ("2", "a smaller batch: 2 -> 1"), ("1", None), (None, None)],
)
def test_half_of_the_batch_where_an_allocation_of_cpp_failed(batch: str | None, text: str | None) -> None:
    settings = (("batch_size", batch, at(2)),) if batch else ()
    (seen,) = found(host_memory, host(line=at(3, "std::bad_alloc")), settings=settings)
    assert [each.text for each in seen.remedies if each.slug == "smaller-batch"] == ([text] if text else [])
    assert "size-the-slabs" in slugs([seen])


def test_on_a_jetson_the_gpu_uses_the_same_ram() -> None:
    (seen,) = found(host_memory, host(), settings=(("platform", "Jetson", at(2)),))
    assert seen.because.endswith("; on a Jetson the GPU uses the same RAM")
    (other,) = found(host_memory, host(), settings=(("platform", "WSL2", at(2)),))
    assert "Jetson" not in other.because


@pytest.mark.parametrize(
    ("use", "drawn"),
    [
        ("past = outs[rng.randint(0, len(outs))]", True),
        ("batch = random.sample(outs, 32)", True),
        ("mean = jnp.mean(jnp.stack(outs))", False),
    ],
)
def test_a_memory_that_samples_are_drawn_from_is_capped(
    use: str, drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    (seen,) = loop(monkeypatch, on_gpu(), MIB, told=steps(256), uses=((use, at(7)),))
    assert seen.remedies[0].text.startswith("cap `outs`, from which line 7 draws samples") is drawn
    assert ("reduce-parts" in slugs([seen])) is not drawn


@pytest.mark.parametrize(
    ("container", "use", "drawn"),
    [
        ("self.memory", "s, a = map(tf.stack, zip(*[self.memory[i] for i in idx]))", True),
        ("replay_buffer", "states = [replay_buffer[k][0] for k in chosen]", True),
        ("self.memory", "s = [self.memory[i] for i in range(n)]", False),  # all of it
        ("outs", "s = [outs[i] for i in idx]", False),  # results, whatever reads them
    ],
)
def test_a_memory_is_read_at_places_that_were_chosen(container: str, use: str, drawn: bool) -> None:
    keeping = Kept(container, "y", at(1), at(1))
    assert kept_remedies._is_sampled(keeping, use) is drawn
