"""Edges of rules that read the failed tensor: scores, logits, an embedding's gradient, one large tensor."""

from __future__ import annotations

from typing import Any

import pytest

from tests.findings.test_edges_of_support import at
from tests.findings.test_support import A, P, U, asked, case, exactly, held
from tfmemlens.findings import (
    attention_scores,
    dense_embedding_gradient,
    dropout_masks,
    earlier_cells,
    failing_op_is_a_bystander,
    histograms_of_weights,
    one_tensor_dominates,
    outside_the_report,
    vocabulary_logits,
)
from tfmemlens.model.attribution import Kind, Owner, Phase
from tfmemlens.model.case import Api, Balance, Moment
from tfmemlens.model.finding import Basis, Finding, Severity
from tfmemlens.model.incident import AllocatorState, Argument, Frame, Incident, RequestKind
from tfmemlens.units import human
from tfmemlens.values import replace

MIB, GIB = 1 << 20, 1 << 30
GRADIENT, UPDATE, FORWARD = Phase.GRADIENT, Phase.OPTIMIZER, Phase.FORWARD


def failed(
    shape: tuple[int | None, ...] | None = None,
    node: str | None = "a/b",
    rows: Any = (),
    phase: Phase = FORWARD,
    kind: Kind = A,
    books: Balance = Balance(),
    layer: str | None = None,
    what: RequestKind = RequestKind.TENSOR,
    state: AllocatorState = AllocatorState(),
    **facts: Any,
) -> Moment:
    """A request of this shape that failed; `kind` is its owner's, `what` its own."""
    facts = {"dtype": "float32", **facts}
    request = replace(
        asked(size=facts.pop("size", None), shape=shape, node=node, kind=what, **facts),
        owner=Owner(layer, kind, phase),
    )
    return held(*rows, request=request, books=books, incident=Incident(request.failed, state=state))


FIRST_ALONE = {
    "earlier_cells", "equal_arrays", "failed_in_evaluation", "growing_graph", "kept_by_a_loop",
    "longest_batch", "matrix_without_a_name", "models_kept", "parts_joined_at_once", "request_alone",
    "retraced_functions", "vectorised_jacobian", "weights_beyond_device", "weights_loaded",
}  # fmt: skip
"""Rules that speak of the first failure of an input alone."""
IN_PART = {"loop_state", "stale_graphs"}
"""They do where a name or a summary says it, and speak of each where its rows do."""


def found(rule: Any, moment: Moment, api: Api = Api(), **told: Any) -> list[Finding]:
    """What a rule says of a failure; where it failed so twice, of the first alone or of both."""
    seen = list(rule.check(replace(case(moment, **told), api=api)))
    both = [each.moment for each in rule.check(replace(case(moment, moment, **told), api=api))]
    name = rule.__name__.rpartition(".")[2]
    assert both.count(0) == len(seen), name
    assert both.count(1) == (0 if name in FIRST_ALONE else len(seen)) or name in IN_PART, name
    return seen


def slugs(findings: list[Finding]) -> list[str]:
    return [str(remedy.slug) for each in findings for remedy in each.remedies]


# ------------------------------------------------------------------ an embedding's gradient


@pytest.mark.parametrize(
    "shape, node, phase, fires",
    [
        ((5000, 64), "gradients/embedding/x", GRADIENT, True),
        ((5000, 64), "gradients/embedding/x", UPDATE, True),
        ((5000, 64), "gradients/embedding/x", FORWARD, False),
        ((4999, 64), "gradients/embedding/x", GRADIENT, False),
        ((5000, 52), "gradients/embedding/x", GRADIENT, False),  # less than a MiB
        ((8192, 32), "gradients/embedding/x", GRADIENT, True),  # just one
        ((5000, 5000), "gradients/embedding/x", GRADIENT, False),
        ((5001, 5000), "gradients/embedding/x", GRADIENT, True),
        ((5000, 64, 2), "gradients/embedding/x", GRADIENT, False),
        ((5000, 0), "gradients/embedding/x", GRADIENT, False),
        (None, "gradients/embedding/x", GRADIENT, False),
        ((5000, 64), "gradients/dense/x", GRADIENT, False),
        ((5000, 64), "embedding/Initializer/x", UPDATE, False),
        ((5000, 64), "embedding/table/Adam_1/Assign", UPDATE, False),  # its first value
        ((5000, 64), "embedding/table/Adam_1/Assign_2", UPDATE, False),
        ((5000, 64), "gradients/embedding/AssignSub/x", UPDATE, True),
    ],
)
def test_the_gradient_of_an_embedding_is_dense(shape: Any, node: str, phase: Phase, fires: bool) -> None:
    told = found(dense_embedding_gradient, failed(shape, node, phase=phase))
    assert bool(told) is fires
    for each in told:
        need = 4 * shape[0] * shape[1]
        assert f"is dense: {shape[0]:,} x {shape[1]} = {human(need)} each step" in each.headline
        known = [need, None] if phase is UPDATE else [need, need, None]  # where nothing shows clipping
        assert [remedy.saves_bytes for remedy in each.remedies] == known


@pytest.mark.parametrize("newest, coded", [((1, 15), True), ((2, 4), False)])
def test_a_table_goes_to_the_cpu_in_code_of_tensorflow_1(newest: Any, coded: bool) -> None:
    told = found(
        dense_embedding_gradient, failed((5000, 64), "embedding/x", phase=GRADIENT), Api(newest=newest)
    )
    assert (told[0].remedies[-1].code is not None) is coded
    assert "sparse-updates" in slugs(told) and told[0].explains == 5000 * 64 * 4


@pytest.mark.parametrize(
    ("node", "phase", "api", "told", "slugs_of"),
    [
        ("adam/UnsortedSegmentSum", UPDATE, Api(oldest=(2, 16)), {}, ["lighter-optimizer"]),
        ("adam/UnsortedSegmentSum", UPDATE, Api(oldest=(2, 15)), {}, ["sparse-updates"]),
        ("adam/UnsortedSegmentSum", GRADIENT, Api(oldest=(2, 16)), {}, ["keep-slices", "sparse-updates"]),
        ("sgd/UnsortedSegmentSum", UPDATE, Api(oldest=(2, 16)), {}, ["sparse-updates"]),
        ("clip/UnsortedSegmentSum", UPDATE, Api(), {}, ["keep-slices", "sparse-updates"]),
        ("adam/UnsortedSegmentSum", UPDATE, Api(), {"clipping": at(3)}, ["keep-slices", "sparse-updates"]),
    ],
)
def test_who_clips_is_told_of_slices_and_keras_3_of_slots(
    node: str, phase: Phase, api: Api, told: dict[str, Any], slugs_of: list[str]
) -> None:
    """Measured with Keras 3.15: a step with SGD needs half of what one with Adam does, and its gradient is
    dense, too.
    """
    seen = found(dense_embedding_gradient, failed((5000, 64), node, phase=phase), api, **told)
    assert slugs(seen) == [*slugs_of, "table-on-host"]
    if slugs_of == ["lighter-optimizer"]:
        assert seen[0].remedies[0].saves_bytes == 2 * 5000 * 64 * 4
        assert "Adam keeps two as large as the table" in seen[0].remedies[0].text


# ------------------------------------------------------------------ logits


@pytest.mark.parametrize(
    "shape, node, phase, fires",
    [
        ((1000, 5000), "logits/MatMul", FORWARD, True),
        ((1000, 4999), "logits/MatMul", FORWARD, False),
        ((838, 5000), "logits/MatMul", FORWARD, False),  # 15.98 MiB
        ((839, 5000), "logits/MatMul", FORWARD, True),
        ((1024, 4096), "logits/MatMul", FORWARD, False),
        ((512, 8192), "logits/MatMul", FORWARD, True),  # 16 MiB to the byte
        ((8192, 8192), "logits/MatMul", FORWARD, False),  # of every pair
        ((8191, 8192), "logits/MatMul", FORWARD, True),
        ((1, 8192, 8192), "logits/MatMul", FORWARD, True),
        ((499_999, 5000), "logits/MatMul", FORWARD, True),
        ((500_000, 5000), "logits/MatMul", FORWARD, False),
        ((2, 2, 500, 5000), "logits/MatMul", FORWARD, False),
        ((5_000_000,), "logits/MatMul", FORWARD, False),
        ((1000, 5000), "dense/MatMul", FORWARD, False),
        ((1000, 30522), "dense/MatMul", FORWARD, True),
        ((1000, 30522), "dense/Relu", FORWARD, False),
        ((1000, 30522), "dense/einsum", FORWARD, True),
        ((1000, 5000), "logits/MatMul_1", FORWARD, True),
        ((1000, 5000), "gradients/logits/MatMul_1", GRADIENT, False),
        ((1000, 5000), "gradients/logits/MatMul", GRADIENT, True),
        ((1000, 5000), "conv/logits/MatMul", FORWARD, False),
        ((1000, 5000), None, FORWARD, False),
    ],
)
def test_what_logits_over_a_vocabulary_are(shape: Any, node: str | None, phase: Phase, fires: bool) -> None:
    assert bool(found(vocabulary_logits, failed(shape, node, phase=phase))) is fires


def test_a_tensor_of_unknown_size_is_no_logits() -> None:
    assert not found(vocabulary_logits, failed((1000, 5000), "logits/MatMul", dtype=None))


@pytest.mark.parametrize(
    "more, offered",
    [
        (
            {},
            ["shorter-sequences", "sampled-loss", "sparse-labels", "part-of-positions", "smaller-vocabulary"],
        ),
        (
            {"node": "sparse_xent/logits"},
            ["shorter-sequences", "sampled-loss", "part-of-positions", "smaller-vocabulary"],
        ),
        (
            {"node": "bert/logits"},
            ["smaller-batch", "shorter-sequences", "sparse-labels", "part-of-positions"],
        ),
        (
            {"keras_call": "fit"},
            [
                "smaller-batch",
                "shorter-sequences",
                "sparse-labels",
                "part-of-positions",
                "smaller-vocabulary",
            ],
        ),
        (
            {"function": "__inference_train_function_7"},
            [
                "smaller-batch",
                "shorter-sequences",
                "sparse-labels",
                "part-of-positions",
                "smaller-vocabulary",
            ],
        ),
        (
            {"source_text": "model.fit(x, y)"},
            [
                "smaller-batch",
                "shorter-sequences",
                "sparse-labels",
                "part-of-positions",
                "smaller-vocabulary",
            ],
        ),
        (
            {"keras_call": "predict"},
            ["shorter-sequences", "sampled-loss", "sparse-labels", "part-of-positions", "smaller-vocabulary"],
        ),
    ],
    ids=str,
)
def test_what_makes_less_of_logits(more: Any, offered: list[str]) -> None:
    moment = failed((1000, 5000), **{"node": "logits/MatMul", **more})
    told = found(vocabulary_logits, moment)
    assert [slug for slug in slugs(told) if slug != "smaller-batch"] == [
        each for each in offered if each != "smaller-batch"
    ]
    half = {
        each.saves_bytes
        for each in told[0].remedies
        if each.slug in ("part-of-positions", "shorter-sequences")
    }
    assert half == {1000 * 5000 * 2}


@pytest.mark.parametrize(
    "node, op, words, slug, saved",
    [
        (
            "loss/one_hot",
            "OneHot",
            "1,000 labels as one-hot vectors of 5,000 numbers each take",
            "sparse-labels-alone",
            1,
        ),
        (
            "bert/embedding/one_hot",
            "OneHot",
            "1,000 tokens are looked up in the embedding",
            "look-up-by-index",
            1,
        ),
        ("logits/one_hot", "MatMul", "1,000 positions x 5,000 classes make", "part-of-positions", 2),
        ("input_layer/c_indicator/one_hot", "OneHot", "a feature of 5,000 values", "embed-the-feature", 1),
        ("hashing/one_hot", "OneHot", "a feature of 5,000 values", "embed-the-feature", 1),
    ],
)
def test_one_hot_vectors_by_what_they_are_of(node: str, op: str, words: str, slug: str, saved: int) -> None:
    (told,) = found(vocabulary_logits, failed((1000, 5000), node, op=op))
    assert words in told.because and told.explains == 20_000_000
    remedy = next(each for each in told.remedies if each.slug == slug)
    assert remedy.saves_bytes == 20_000_000 // saved
    if slug == "embed-the-feature":
        assert remedy.code and ("embedding_column" in remedy.code) is ("indicator" in node)


@pytest.mark.parametrize(
    "dtype, whole", [("float32", "3.9 KiB"), ("float16", "3.9 KiB"), ("float64", "7.8 KiB")]
)
def test_labels_as_integers_take_four_bytes_each(dtype: str, whole: str) -> None:
    (told,) = found(vocabulary_logits, failed((1000, 9000), "loss/one_hot", op="OneHot", dtype=dtype))
    assert told.because.endswith(f"as integers {whole}")
    code = [remedy.code for remedy in told.remedies]
    (older,) = found(
        vocabulary_logits, failed((1000, 9000), "loss/one_hot", op="OneHot", dtype=dtype), Api(newest=(1, 15))
    )
    assert "keras" in str(code) and "keras" not in str([remedy.code for remedy in older.remedies])


@pytest.mark.parametrize(
    "node, phase, purposes, decodes",
    [
        ("decoder/while/logits", FORWARD, ("decoding",), True),
        ("decoder/while/logits", FORWARD, (), False),
        ("decoder/while/logits", GRADIENT, ("decoding",), False),
        ("decoder/while/logits", FORWARD, ("decoding", "training"), False),
        ("logits", FORWARD, ("decoding",), False),
        ("beam_search/logits", FORWARD, ("decoding",), True),
    ],
)
def test_a_step_of_a_decoder(node: str, phase: Phase, purposes: tuple[str, ...], decodes: bool) -> None:
    told = tuple((each, at(4)) for each in purposes)
    (each,) = found(vocabulary_logits, failed((1000, 5000), node, phase=phase), purposes=told)
    assert ("a step of decoding makes 5,000 logits for each of 1,000 beams" in each.because) is decodes
    if decodes:
        assert slugs([each]) == ["smaller-prediction-batch"] and each.remedies[0].saves_bytes == 10_000_000
        assert len(each.evidence) == 2


# ------------------------------------------------------------------ attention


@pytest.mark.parametrize(
    "shape, facts, fires",
    [
        ((2, 64, 64), {"op": "Softmax"}, True),
        ((2, 63, 63), {"op": "Softmax"}, False),
        ((64, 64), {"op": "Softmax"}, False),
        ((2, 64, 65), {"op": "Softmax"}, False),
        ((2, None, 64), {"op": "Softmax"}, False),
        (None, {"op": "Softmax"}, False),
        ((2, 64, 64), {"op": "Mul"}, False),
        ((2, 64, 64), {"op": "Mul", "node": "net/attn/mul"}, True),
        ((2, 64, 64), {"op": "Mul", "keras_layer": ("mha", "MultiHeadAttention")}, True),
        ((2, 64, 64), {"op": "Mul", "source_text": "s = q @ k.T"}, True),
        ((2, 64, 64), {"op": "Mul", "source_text": "s = self.w(x)"}, False),
        ((2, 64, 64), {"op": "Softmax", "node": "net/Conv2D"}, False),
        ((2, 64, 64), {"op": "Softmax", "keras_layer": ("p", "MaxPooling2D")}, False),
        ((2, 64, 64), {"op": "Softmax", "keras_layer": ("p", "AttentionPooling")}, True),
    ],
    ids=str,
)
def test_what_attention_scores_are(shape: Any, facts: Any, fires: bool) -> None:
    assert bool(found(attention_scores, failed(shape, **facts))) is fires


def test_an_image_that_its_layer_was_called_with_is_no_scores() -> None:
    def of(*argument: int) -> bool:
        arguments = (Argument("x", argument, "float32", at(3)),)
        return bool(found(attention_scores, failed((2, 8, 64, 64), op="Softmax", arguments=arguments)))

    assert not of(2, 64, 64, 8) and of(2, 64, 64, 7) and of(2, 8, 64, 64)
    flat = failed((2, 64, 64), op="Softmax", arguments=(Argument("x", (2, 64, 64), "float32", at(3)),))
    assert found(attention_scores, flat)


@pytest.mark.parametrize(
    "name, fires", [("net/attention/x", True), ("net/softmax", True), ("net/mul", False)]
)
def test_scores_that_are_held_tell_what_failed(name: str, fires: bool) -> None:
    told = found(attention_scores, failed((2, 64, 64), op="Mul", rows=[(name, 5, A)] * 3))
    assert bool(told) is fires and all(len(each.evidence) == 3 for each in told)


@pytest.mark.parametrize(
    "shape, words, buckets",
    [
        ((32, 8, 128, 128), "here 128 x 128 for 32 samples × 8 heads", False),
        ((1, 1, 128, 128), "for 1 sample × 1 head", False),
        ((256, 128, 128), "for 256 (samples × heads)", False),
        ((4, 8, 16, 130, 130), "for 512 (samples × heads)", True),
    ],
)
def test_matrices_of_scores_in_words(shape: Any, words: str, buckets: bool) -> None:
    (told,) = found(attention_scores, failed(shape, op="Softmax"))
    assert told.because.endswith(words) and ("bucket-sequences" in slugs([told])) is buckets


@pytest.mark.parametrize(
    "node, length, words, part",
    [
        ("net/attn", 4096, "(4096 -> 2048)", 0.75),
        ("unet/attn", 4096, "64 x 64 = 4,096 positions", 15 / 16),
        ("unet/attn", 4104, "(4104 -> 2052)", 0.75),
    ],
)
def test_positions_of_an_image_are_a_square(node: str, length: int, words: str, part: float) -> None:
    shape = (2, 8, length, length)
    (told,) = found(attention_scores, failed(shape, node, op="Softmax"))
    remedy = next(each for each in told.remedies if each.slug == "smaller-input")
    assert words in remedy.text and remedy.saves_bytes == int(2 * 8 * length**2 * 4 * part)


@pytest.mark.parametrize(
    "shape, batch, offered",
    [
        ((2, 8, 64, 64), None, True),
        ((1, 8, 64, 64), None, False),
        ((8, 64, 64), None, True),
        ((1, 64, 64), None, True),
        ((2, 8, 64, 64), 1, False),
        ((1, 8, 2, 64, 64), None, True),
    ],
)
def test_a_batch_of_one_is_not_halved(shape: Any, batch: int | None, offered: bool) -> None:
    moment = failed(shape, op="Softmax")
    assert moment.request
    (told,) = found(attention_scores, replace(moment, request=replace(moment.request, batch=batch)))
    assert ("smaller-batch" in slugs([told])) is offered


# ------------------------------------------------------------------ one tensor


@pytest.mark.parametrize(
    "need, limit, kind, fires",
    [
        (300, 1000, RequestKind.TENSOR, True),
        (299, 1000, RequestKind.TENSOR, False),
        (1000, 1000, RequestKind.TENSOR, True),
        (1001, 1000, RequestKind.TENSOR, False),
        (300, 1000, RequestKind.DUMP, False),
        (2048, None, RequestKind.TENSOR, True),
        (2047, None, RequestKind.TENSOR, False),
        (192 * 1024, None, RequestKind.TENSOR, True),
        (192 * 1024 + 1, None, RequestKind.TENSOR, False),
    ],
)
def test_a_tensor_that_is_a_good_part_of_the_device(
    need: int, limit: int | None, kind: RequestKind, fires: bool
) -> None:
    books = Balance(limit=limit and exactly(limit * MIB))
    told = found(one_tensor_dominates, of_kind(need, kind, books))
    assert [each.explains for each in told] == ([need * MIB] if fires else [])
    assert all(("of the device's" in each.headline) is bool(limit) for each in told)


@pytest.mark.parametrize(
    "free, largest, ends",
    [
        (300, 299, "; 300.00 MiB was free, but the largest free block is 299.00 MiB"),
        (300, 300, " of the device's limit of 1000.00 MiB"),
        (299, 299, " of the device's limit of 1000.00 MiB"),
    ],
)
def test_a_large_tensor_that_found_no_block(free: int, largest: int, ends: str) -> None:
    sizes = {"limit": 1000, "free": free, "largest_free_chunk": largest}
    books = Balance(**{name: exactly(size * MIB) for name, size in sizes.items()})
    books = replace(books, requested=300 * MIB)
    (told,) = found(one_tensor_dominates, of_kind(300, RequestKind.TENSOR, books))
    assert told.because.endswith(ends)


def of_kind(need: int, kind: RequestKind, books: Balance) -> Moment:
    moment = failed((need, MIB // 4), books=books)
    assert moment.request
    return replace(moment, request=replace(moment.request, failed=replace(moment.request.failed, kind=kind)))


@pytest.mark.parametrize(
    "sizes, fires",
    [
        ([30, 35, 35], True),
        ([35, 33, 32], True),
        ([29, 28, 28, 15], False),
        ([60, 40], False),
        ([30, 25, 25, 20], True),
    ],
)
def test_a_row_that_is_a_good_part_of_what_is_held(sizes: list[int], fires: bool) -> None:
    rows = [(f"a{number}/x", size, A) for number, size in enumerate(sizes)]
    told = found(one_tensor_dominates, failed((2,), rows=rows))
    assert [each.explains for each in told] == ([max(sizes)] if fires else [])
    unnamed = found(one_tensor_dominates, failed((2,), rows=[(None, size, U) for size in sizes]))
    assert not unnamed


# ------------------------------------------------------------------ outside of the list


@pytest.mark.parametrize(
    "outside, in_use, limit, severity, words",
    [
        (40, 100, None, Severity.FACTOR, "only 60 % of the"),
        (39, 100, None, None, ""),
        (60, 100, None, Severity.CAUSE, "only 40 % of the"),
        (59, 100, None, Severity.FACTOR, "only 41 % of the"),
        (98, 100, None, Severity.CAUSE, "only 2 % of the"),
        (99, 100, None, Severity.CAUSE, "almost none of the"),
        (99, 100, 1980, Severity.CAUSE, "almost none of the"),
        (99, 100, 1981, None, ""),
        (0, 100, None, None, ""),
        (40, 0, None, None, ""),
        (None, 100, None, None, ""),
    ],
)
def test_so_much_is_in_no_line_of_the_list(
    outside: int | None, in_use: int, limit: int | None, severity: Severity | None, words: str
) -> None:
    sizes = [None if each is None else exactly(each * GIB) for each in (outside, in_use, limit)]
    books = Balance(outside_report=sizes[0], in_use=sizes[1], limit=sizes[2])
    told = found(outside_the_report, failed((2,), books=books))
    assert [each.severity for each in told] == ([severity] if severity else [])
    assert all(words in each.because for each in told)


@pytest.mark.parametrize(
    "need, severity, advised", [(160, Severity.CAUSE, True), (161, Severity.FACTOR, False)]
)
def test_what_is_small_beside_the_request_is_no_cause(need: int, severity: Severity, advised: bool) -> None:
    books = Balance(outside_report=exactly(80), in_use=exactly(100))
    (told,) = found(outside_the_report, failed((2,), size=need, books=books))
    assert (told.severity, bool(told.remedies)) == (severity, advised)


def test_a_summary_tells_how_many_weights_there_are() -> None:
    books = Balance(outside_report=exactly(90), in_use=exactly(100))
    (told,) = found(outside_the_report, failed((2,), books=books), parameters=(1 << 20, at(3)))
    assert "1,048,576 parameters, 4.00 MiB in float32, and 12.00 MiB with Adam" in told.remedies[0].text
    assert not found(outside_the_report, replace(failed((2,), books=books), incident=None))


# ------------------------------------------------------------------ a bystander


@pytest.mark.parametrize(
    "need, in_use, limit, severity",
    [
        (99, 10_000, None, Severity.FACTOR),
        (100, 10_000, None, None),
        (99, None, 10_000, Severity.CAUSE),
        (100, None, 10_000, None),
        (99, 10_000, 5, Severity.FACTOR),
        (MIB, None, None, Severity.CAUSE),
        (4 * MIB + 1, None, None, None),
        (None, 10_000, None, None),
    ],
)
def test_a_request_that_is_next_to_nothing(
    need: int | None, in_use: int | None, limit: int | None, severity: Severity | None
) -> None:
    sizes = [None if each is None else exactly(each) for each in (in_use, limit)]
    moment = failed(None, size=need, books=Balance(in_use=sizes[0], limit=sizes[1]))
    told = found(failing_op_is_a_bystander, moment)
    assert [each.severity for each in told] == ([severity] if severity else [])
    assert all(each.detail == "This input does not show what holds the memory." for each in told)


def test_three_layers_that_hold_the_memory_are_named() -> None:
    rows = [(f"{layer}/x", size, A) for layer, size in zip("abcd", (300, 200, 400, 100), strict=True)]
    (told,) = found(failing_op_is_a_bystander, failed(None, size=9, rows=rows))
    assert told.detail == "The memory is held by c (400 B), a (300 B), b (200 B)."


# ------------------------------------------------------------------ dropout, histograms, cells


@pytest.mark.parametrize(
    "node, size, rows, explains, basis",
    [
        ("net/dropout/Mul", MIB, [], MIB, Basis.SHAPE),
        ("net/dropout/Mul", MIB - 4, [], None, None),
        ("net/relu/Mul", MIB, [], None, None),
        ("net/relu/Mul", MIB, [("net/dropout/Cast", 5), ("a/x", 95)], 5, Basis.MEASURED),
        ("net/relu/Mul", MIB, [("net/dropout/Cast", 4), ("a/x", 96)], None, None),
        ("net/dropout/Mul", MIB, [("net/dropout/Cast", 4), ("a/x", 96)], 4, Basis.MEASURED),
    ],
)
def test_masks_of_dropout(node: str, size: int, rows: Any, explains: int | None, basis: Any) -> None:
    moment = failed((size // 4,), node, rows=[(name, size, A) for name, size in rows])
    told = found(dropout_masks, moment)
    assert [(each.explains, each.basis) for each in told] == ([] if explains is None else [(explains, basis)])
    assert all(each.remedies[0].saves_bytes == explains for each in told)


@pytest.mark.parametrize(
    "shape, dtype, op, fires",
    [
        ((1_000_000, 30), "float64", "OneHot", True),
        ((999_999, 30), "float64", "OneHot", False),
        ((1_000_000, 31), "float64", "OneHot", False),
        ((1_000_000, 30), "float32", "OneHot", False),
        ((1_000_000, 30), "float64", "Mul", False),
        ((1_000_000, 30), "float64", None, True),  # a message without its op
        ((1_000_000, 30, 1), "float64", "OneHot", False),
        (None, "float64", "OneHot", False),
    ],
)
def test_a_histogram_of_weights(shape: Any, dtype: str, op: str | None, fires: bool) -> None:
    assert bool(found(histograms_of_weights, failed(shape, dtype=dtype, op=op))) is fires


@pytest.mark.parametrize(
    "size, kind, cells, fires",
    [
        (GIB, P, [(3, "m = build(4)"), (5, "m = build(8)")], True),
        (GIB + 1, P, [(3, "m = build(4)"), (5, "m = build(8)")], False),
        (5, Kind.OPTIMIZER_SLOT, [(3, "m = build(4)"), (5, "m = build(8)")], True),
        (5, A, [(3, "m = build(4)"), (5, "m = build(8)")], False),
        (5, P, [(5, "m = build(4)"), (5, "m = build(8)")], False),
        (5, P, [(3, "print(4)"), (5, "print(8)")], False),
        (5, P, [(3, "m = make(4)"), (5, "m = build(8)")], False),
        (5, P, [(5, "m = build(8)")], False),
    ],
)
def test_an_earlier_cell_called_the_same(size: int, kind: Kind, cells: Any, fires: bool) -> None:
    books = Balance(limit=exactly(5))
    shown = tuple((number, code, at(number)) for number, code in cells)
    told = found(earlier_cells, failed(None, size=size, kind=kind, books=books), cells=shown)
    assert [each.explains for each in told] == ([2 * size] if fires else [])
    assert all("In[3]" in each.because and len(each.evidence) == 1 for each in told)


def test_the_last_earlier_cells_are_named() -> None:
    cells = tuple((number, "m = build(4)", at(number)) for number in (1, 2, 3, 4, 9))
    (told,) = found(earlier_cells, failed(None, size=5, kind=P), cells=cells)
    assert "(In[2], In[3], In[4])" in told.because
    assert [each.line.number for each in told.evidence if each.line] == [3, 4]


@pytest.mark.parametrize(
    "frames, source, books, fires",
    [
        (["<ipython-input-3-ab>:2"], None, Balance(), True),
        (["<ipython-input-2-ab>:2"], None, Balance(), False),
        ([], "Cell In[3], line 2", Balance(), True),
        (["In [2]:4", "In [7]:4"], None, Balance(), True),
        (["train.py:3"], None, Balance(), False),
        (["<ipython-input-3-ab>:2"], None, Balance(limit=exactly(5)), False),
        (["<ipython-input-3-ab>:2"], None, Balance(in_use=exactly(5)), False),
    ],
)
def test_a_weight_in_a_late_cell(frames: list[str], source: str | None, books: Balance, fires: bool) -> None:
    told = tuple(Frame(place) for place in frames)
    moment = failed(None, size=5, kind=P, frames=told, source=source, books=books)
    assert [each.severity for each in found(earlier_cells, moment)] == ([Severity.FACTOR] if fires else [])
