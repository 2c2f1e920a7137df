"""Which shape and name make a buffer of a compiled program one of a kind: each beside one that is none."""

from __future__ import annotations

from typing import Any

import pytest

from tests.findings.test_edges_of_support import at
from tests.findings.test_support import asked, exactly
from tfmemlens.findings.support.main_buffers import Buffers, main_buffers
from tfmemlens.findings.support.situation import JAX, TORCH_XLA
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import Attribution, Kind, Owner, Phase
from tfmemlens.model.case import Balance, Moment
from tfmemlens.model.finding import Certainty
from tfmemlens.model.incident import CompilerMemory, Incident

MIB, GIB = 1 << 20, 1 << 30
A, FORWARD = Kind.ACTIVATION, Phase.FORWARD
LOGITS, SCORES, STACK = "logits over ", "attention scores, ", "values that a scan "
PAIRS, VMAPPED, MAPS = "a value for every pair of ", "what vmap makes ", "feature maps "
GATHERED, GRAPH, DISPATCH = "rows that are gathered", "rows of a graph network", "what a mixture of experts"
GRADIENTS, OF_WEIGHTS = "gradients of weights, one for each layer", "as large as weights"


def buffer(
    shape: tuple[int | None, ...],
    node: str | None = None,
    size: int = GIB,
    dtype: str | None = "float32",
    op: str | None = None,
    purpose: str | None = None,
    kind: Kind = A,
    phase: Phase = FORWARD,
) -> tuple[Allocation, Owner]:
    row = Allocation(node, size, op, shape=shape, dtype=dtype, purpose=purpose)
    return row, Owner(None, kind, phase)


def program(*buffers: Any, compiler: CompilerMemory | None = None) -> Moment:
    table = AllocationTable.of([row for row, _ in buffers])
    incident = Incident(asked().failed, compiler=compiler)
    return Moment(Attribution(table, [owner for _, owner in buffers]), Balance(), incident=incident)


def largest(*buffers: Any, framework: str | None = JAX, **account: Any) -> Buffers | None:
    return main_buffers(program(*buffers, compiler=CompilerMemory(**account) if account else None), framework)


def offered(found: Buffers | None) -> list[str]:
    return [str(remedy.slug) for remedy in found.remedies] if found else []


@pytest.mark.parametrize(
    "shape, node, what",
    [
        ((64, 5000), "lm_head/mul", LOGITS),
        ((63, 5000), "lm_head/mul", None),
        ((64, 4999), "lm_head/mul", None),
        ((8, 8, 5000), "lm_head/mul", LOGITS),
        ((7, 9, 5000), "lm_head/mul", None),
        ((2, 4, 8, 5000), "lm_head/mul", None),
        ((64, 30522), "mul", LOGITS),
        ((64, 30523), "mul", None),
        ((64, 30522), "conv/mul", None),
        ((6000, 6000), "log_softmax/mul", PAIRS),
        ((6000, 6000), "vocab/log_softmax/mul", LOGITS),
        ((8, 6000, 6000), "log_softmax/mul", LOGITS),
        ((2, 64, 64), "softmax", SCORES),
        ((2, 63, 63), "softmax", None),
        ((64, 64), "softmax", None),
        ((2, 64, 65), "softmax", None),
        ((2, 64, 64), "mul", None),
        ((2, 64, 64), "pool/softmax", None),
        ((9, 7), "while/body/dynamic_update_slice", STACK),
        ((9,), "while/body/dynamic_update_slice", None),
        ((9, 7), "while/body/mul", None),
        ((9, 7), "jvp(f)/while/body/mul", STACK),
        ((9, 7), "jvp(f)/whiles/mul", None),
        ((1000, 1000), "sub", PAIRS),
        ((999, 999), "sub", None),
        ((1000, 1001), "sub", None),
        ((1001, 1000), "sub", None),
        ((1000, 1000, 3), "sub", PAIRS),
        ((1000, 1000, 3, 2), "sub", None),
        ((16383, 16383), "jvp(f)/sub", None),
        ((16384, 16384), "jvp(f)/sub", PAIRS),
        ((16384, 16384), "transpose(jvp(f))/sub", None),
        ((64, 7), "vmap(f)/sin", VMAPPED),
        ((63, 7), "vmap(f)/sin", None),
        ((9,), "vmap(f)/sin", None),
        ((9, 7), "vmapped/sin", None),
        ((9, 7, 5), "router/mul", DISPATCH),
        ((9, 7, 5, 3), "router/mul", DISPATCH),
        ((9, 7), "router/mul", None),
        ((9, 7, 5, 3, 2), "router/mul", None),
        ((9,), "net/gather", GATHERED),
        ((9,), "net/gather/mul", None),
        ((9, 7, 5, 3), "Conv_1/conv", MAPS),
        ((9, 7, 5, 3, 2), "Conv_1/conv", MAPS),
        ((9, 7, 5), "Conv_1/conv", None),
        ((9, 7, 5, 3), "mul", None),
        ((50_000, 8), "edges/mul", GRAPH),
        ((49_999, 8), "edges/mul", None),
        ((50_000, 8, 2), "edges/mul", GRAPH),
        ((50_000, 8, 2, 2), "edges/mul", None),
        ((50_000,), "edges/mul", None),
        ((50_000, 8), "mul", None),
        ((9, 7), "transpose(jvp(f))/fc/transpose[permutation=(1, 0)]", GRADIENTS),
        ((9, 7), "transpose(jvp(f))/fc/transpose", GRADIENTS),
        ((9, 7), "transpose(jvp(f))/fc/mul", None),
        ((9, 7, 5), "transpose(jvp(f))/fc/transpose", None),
    ],
)
def test_a_shape_and_a_name_make_a_kind(shape: tuple[int, ...], node: str, what: str | None) -> None:
    found = largest(buffer(shape, node))
    assert found is None if what is None else found is not None and found.what.startswith(what)


NAMED = [
    ((64, 5000), "lm_head/mul"), ((2, 64, 64), "softmax"), ((9, 7), "while/body/dynamic_update_slice"),
    ((1000, 1000), "sub"), ((64, 7), "vmap(f)/sin"), ((9, 7, 5), "router/mul"), ((9, 7), "net/gather"),
    ((9, 7, 5, 3), "Conv_1/conv"), ((50_000, 8), "edges/mul"),
]  # fmt: skip


@pytest.mark.parametrize("shape, node", NAMED)
def test_what_has_a_weights_shape_is_its_gradient_or_its_new_value(shape: Any, node: str) -> None:
    weight = buffer(shape, "params['w']", MIB, purpose="parameter")
    found = largest(buffer(shape, node), weight)
    assert found is not None and found.what.startswith(OF_WEIGHTS) and found.batch and found.recompute
    assert offered(found) == ["shard-arguments"]
    other = buffer((*shape, 2), "params['w']", MIB, purpose="parameter")
    apart = largest(buffer(shape, node), other)
    assert apart is not None and not apart.what.startswith(OF_WEIGHTS)


@pytest.mark.parametrize("results, of_weights", [(5, False), (0, True)])
def test_the_arguments_of_one_operation_may_be_anything(results: int, of_weights: bool) -> None:
    weight = buffer((64, 5000), "x", MIB, purpose="parameter")
    parts = (("parameter", 9), ("maybe_live_out", results), ("preallocated temp", 0))
    sections = tuple((name, exactly(size), at(1)) for name, size in parts)
    found = largest(buffer((64, 5000), "lm_head/mul"), weight, sections=sections)
    assert found is not None and found.what.startswith(OF_WEIGHTS if of_weights else LOGITS)


@pytest.mark.parametrize(
    "phase, op, shape, logits",
    [
        (Phase.GRADIENT, "dot_general", (64, 5000), False),
        (Phase.GRADIENT, "dot_general", (8, 8, 5000), True),
        (Phase.GRADIENT, "mul", (64, 5000), True),
        (FORWARD, "dot_general", (64, 5000), True),
    ],
)
def test_a_product_of_the_backward_pass_may_be_a_weights_gradient(
    phase: Phase, op: str, shape: Any, logits: bool
) -> None:
    assert (largest(buffer(shape, "lm_head", op=op, phase=phase)) is not None) is logits


def test_a_weight_is_no_value_of_pairs() -> None:
    assert largest(buffer((1000, 1000), "sub", kind=Kind.PARAMETER)) is None


def test_a_buffer_without_a_name_is_known_by_its_shape() -> None:
    found = largest(buffer((64, None, 30522), None, op="fusion"))
    assert found is not None and found.what == "logits over 30,522 classes"


@pytest.mark.parametrize(
    "size, others, needed, told",
    [
        (64 * MIB, (), None, True),
        (64 * MIB - 1, (), None, False),
        (300 * MIB, (700,), None, True),
        (299 * MIB, (701,), None, False),
        (100 * MIB, (), 10_000, True),  # of a list of one entry, a hundredth of the need
        (100 * MIB - 1, (), 10_000, False),
        (100 * MIB, (90, 90), 10_000, True),
        (400 * MIB, (90, 90, 90), 10_000, True),  # of a longer one, four of them
        (400 * MIB - 1, (90, 90, 90), 10_000, False),
        (100 * MIB, (70, 70, 70), 2_500, True),
    ],
)
def test_how_much_a_kind_must_be(size: int, others: tuple[int, ...], needed: int | None, told: bool) -> None:
    rest = [buffer((9, 7, 5), "mul", each * MIB) for each in others]
    account = {"needed": exactly(needed * MIB)} if needed else {}
    assert (largest(buffer((64, 5000), "lm_head", size), *rest, **account) is not None) is told


def test_of_several_kinds_the_one_that_holds_most_is_told() -> None:
    logits = [buffer((64, 5000), "lm_head", 300 * MIB), buffer((64, 6000), "lm_head", 300 * MIB)]
    found = largest(*logits, buffer((2, 64, 64), "softmax", 500 * MIB))
    assert found is not None and found.what.startswith(LOGITS) and found.bytes == 600 * MIB
    found = largest(*logits, buffer((2, 64, 64), "softmax", 601 * MIB))
    assert found is not None and found.what.startswith(SCORES) and found.bytes == 601 * MIB


@pytest.mark.parametrize(
    "shapes, words",
    [
        ([(64, 5000)], "[64,5000] float32 of 1.00 GiB"),
        ([(64, 5000), (64, 5000)], "2 x [64,5000] float32 of 1.00 GiB"),
        ([(64, 5000), (64, 5000), (64, 5001)], "2 x [64,5000] float32 of 1.00 GiB, and 1 more"),
        ([(64, 5000), (64, 5001)], "[64,5000] float32 of 1.00 GiB, and 1 more"),
    ],
)
def test_the_shape_that_holds_most_stands_for_the_others(shapes: Any, words: str) -> None:
    found = largest(*(buffer(shape, "lm_head") for shape in shapes))
    assert found is not None and found.listed == words


@pytest.mark.parametrize(
    "rows, more, slugs",
    [
        ([("lm_head", "float32")], "", ["part-of-positions", "narrow-logits"]),
        ([("lm_head", "bfloat16")], "", ["part-of-positions"]),
        (
            [("lm_head", "float32")] * 2,
            ", and copies of them for the loss",
            ["part-of-positions", "narrow-logits"],
        ),
        ([("one_hot", "bfloat16")], "", ["integer-labels", "part-of-positions"]),
        (
            [("lm_head", "bfloat16"), ("one_hot", "bfloat16")],
            ", labels as one-hot rows of the same size",
            ["integer-labels", "part-of-positions"],
        ),
        (
            [("lm_head", "bfloat16")] * 2 + [("one_hot", "bfloat16")],
            ", labels as one-hot rows of the same size, and copies of them for the loss",
            ["integer-labels", "part-of-positions"],
        ),
    ],
)
def test_what_is_beside_the_logits(rows: Any, more: str, slugs: list[str]) -> None:
    found = largest(*(buffer((64, 5000), node, dtype=dtype) for node, dtype in rows))
    assert found is not None and found.what == f"logits over 5,000 classes{more}"
    assert offered(found) == slugs and not found.recompute
    if "integer-labels" in slugs:
        assert (found.remedies[0].saves_bytes, found.remedies[0].certainty) == (GIB, Certainty.BOUND)


@pytest.mark.parametrize(
    "shape, node, what, slugs, batch",
    [
        (
            (9, 7),
            "while/body/dynamic_update_slice",
            "returns of all 9 steps",
            ["stack-less", "in-blocks"],
            False,
        ),
        (
            (9, 7, 5, 3),
            "while/body/dynamic_update_slice",
            "returns of all 9 steps",
            ["stack-less", "narrow-copy", "in-blocks"],
            False,
        ),
        (
            (9, 7, 5),
            "while/body/dynamic_update_slice",
            "returns of all 9 steps",
            ["stack-less", "in-blocks"],
            False,
        ),
        (
            (9, 7, 5, 3),
            "jvp(f)/while/body/mul",
            "keeps of all 9 steps for the backward pass",
            ["in-blocks", "recompute-body"],
            True,
        ),
        (
            (256, 7, 5, 3),
            "layers/while/body/dynamic_update_slice",
            "returns of all 256 layers",
            ["stack-less"],
            True,
        ),
        (
            (257, 7),
            "layers/while/body/dynamic_update_slice",
            "returns of all 257 steps",
            ["stack-less", "in-blocks"],
            False,
        ),
        (
            (256, 7),
            "jvp(f)/layers/while/body/mul",
            "keeps of all 256 layers for the backward pass",
            ["recompute-body"],
            True,
        ),
    ],
)
def test_what_a_scan_stacks(shape: Any, node: str, what: str, slugs: list[str], batch: bool) -> None:
    found = largest(buffer(shape, node))
    assert found is not None and found.what == STACK + what and not found.recompute
    assert offered(found) == slugs and found.batch is batch
    code = [remedy.code for remedy in found.remedies if remedy.slug == "recompute-body"]
    assert all(each and ("policy" in each) is ("layers" in what) for each in code)
    elsewhere = largest(buffer(shape, node), framework=TORCH_XLA)
    assert elsewhere is not None and not any(
        each.slug == "recompute-body" and each.code for each in elsewhere.remedies
    )


@pytest.mark.parametrize(
    "shape, node, slugs, of_a_loss",
    [
        ((1000, 1000), "sub", ["in-blocks"], False),
        ((1000, 1000, 3), "sub", ["matrix-product", "in-blocks"], False),
        ((1000, 1000, 3), "mul", ["in-blocks"], False),
        ((16384, 16384), "jvp(f)/mul", ["in-blocks"], True),
    ],
)
def test_values_for_every_pair(shape: Any, node: str, slugs: list[str], of_a_loss: bool) -> None:
    found = largest(buffer(shape, node))
    assert found is not None and offered(found) == slugs
    assert found.what == f"a value for every pair of {shape[0]:,} x {shape[1]:,} rows"
    assert ("compute the loss for blocks" in found.remedies[-1].text) is of_a_loss
    assert not found.recompute and not found.batch


@pytest.mark.parametrize(
    "shape, node, slugs",
    [
        ((18000, 18000), "jit(fit)/jvp(jit(cholesky))/cholesky", ["subsampling"]),
        ((18000, 18000), "jit(fit)/triangular_solve", ["subsampling"]),
        ((18000, 18000), "jit(fit)/jvp()/exp", ["in-blocks"]),
    ],
)
def test_a_matrix_that_is_factored_has_no_blocks_of_rows(shape: Any, node: str, slugs: list[str]) -> None:
    found = largest(buffer(shape, node))
    assert found is not None and found.what.startswith(PAIRS)
    assert offered(found) == slugs


@pytest.mark.parametrize("shape, node", NAMED)
def test_code_of_jax_is_offered_for_jax_alone(shape: Any, node: str) -> None:
    own, other = largest(buffer(shape, node)), largest(buffer(shape, node), framework=TORCH_XLA)
    assert own and other and offered(own) == offered(other) and own.what == other.what
    coded = [
        (mine.slug, bool(mine.code), bool(theirs.code))
        for mine, theirs in zip(own.remedies, other.remedies, strict=True)
    ]
    of_jax = {"sorted-tokens", "part-of-positions", "narrower-layer"}
    assert all(mine and not theirs for slug, mine, theirs in coded if slug in of_jax)


@pytest.mark.parametrize(
    "shape, node, recompute, batch",
    [
        ((9, 7, 5), "router/mul", False, True),
        ((2, 64, 64), "softmax", True, True),
        ((64, 7), "vmap(f)/sin", True, True),
        ((9, 7), "net/gather", True, True),
        ((9, 7, 5, 3), "Conv_1/conv", True, True),
        ((50_000, 8), "edges/mul", True, False),
        ((9, 7), "transpose(jvp(f))/fc/transpose", False, False),
    ],
)
def test_whether_a_smaller_batch_or_the_backward_pass_makes_less_of_it(
    shape: Any, node: str, recompute: bool, batch: bool
) -> None:
    found = largest(buffer(shape, node))
    assert found is not None and (found.recompute, found.batch) == (recompute, batch)


RUNS = "what a loop has in each turn, 6 times: vmap runs it for 6"


@pytest.mark.parametrize(
    "node, what",
    [
        ("jit(train)/vmap(while)/body/jvp(Net)/Dense_0/dot_general", RUNS),
        ("vmap(scan)/body/tanh", RUNS),
        ("jit(train)/vmap(jit(run))/while/body/jvp(Net)/Dense_0/dot_general", RUNS),
        ("jit(train)/vmap(jit(run))/jvp(Net)/Dense_0/dot_general", None),
        ("jit(train)/while/body/jvp(Net)/Dense_0/dot_general", None),  # one run, and no turn is kept
        ("jit(train)/while/body/transpose(jvp(Net))/Dense_0/mul", None),
        ("jit(train)/while/body/jvp(Net)/while/body/tanh", STACK + "keeps of all 6 steps"),
        ("jit(train)/vmap(while)/body/jvp(while)/body/tanh", STACK + "keeps of all 6 steps"),
        ("while/body/vmap(f)/sin", None),  # six rows of one turn's vmap, which are few
    ],
)
def test_a_run_of_a_vmapped_loop_is_no_step_that_a_gradient_keeps(node: str, what: str | None) -> None:
    found = largest(buffer((6, 900, 128), node))
    assert (found is None and what is None) or (found and what and found.what.startswith(what))


def test_a_state_that_is_written_in_place_is_no_activation() -> None:
    state = buffer((6, 5000, 64), "vmap(while)/body/while/body/scatter[mode=FILL_OR_DROP]", 3 * GIB)
    step = buffer((6, 900, 128), "vmap(while)/body/jvp(Net)/Dense_0/dot_general")
    found = largest(state, step)
    assert found and offered(found) == ["in-blocks", "smaller-replay"] and not found.recompute
    assert "[6,5000,64] is written in place" in found.remedies[1].text
    assert "batch_size=3" in str(found.remedies[0].code)
    alone = largest(step)
    assert alone and offered(alone) == ["in-blocks"] and alone.recompute
    several = largest(state, buffer((7, 900, 128), "vmap(while)/body/jvp(Net)/Dense_0/dot_general"))
    assert several and not offered(several) and "several times" in several.what


@pytest.mark.parametrize(
    "node, slugs",
    [
        ("jit(step)/jvp(Net)/vmap(jvp(Dense_1))/dot_general", ["recompute-body"]),
        ("jit(step)/transpose(jvp(vmap(f)))/mul", ["recompute-body"]),
        ("jit(infer)/vmap(f)/mul", ["in-blocks"]),
    ],
)
def test_parts_of_a_vmap_alone_free_nothing_that_a_gradient_saves(node: str, slugs: list[str]) -> None:
    found = largest(buffer((4096, 33), node))
    assert found is not None and offered(found) == slugs
    code = found.remedies[0].code or ""
    assert ("jax.checkpoint(f)" in code) is (slugs == ["recompute-body"]) and "batch_size=512" in code
