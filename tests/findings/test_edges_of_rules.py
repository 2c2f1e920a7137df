"""Edges of single rules: each answer beside the one that a little more or less would give."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tests.findings.test_edges_of_support import account, at, keeping
from tests.findings.test_support import A, asked, case, held
from tfmemlens.findings import (
    clipped_by_global_norm,
    dense_kernel_gradient,
    fragmented_free_memory,
    kept_by_a_loop,
    limit_of_your_own,
    one_chunk_dominates,
    outside_the_report,
    shared_memory_board,
    xla_arena_too_large,
)
from tfmemlens.findings.support import code_snippets, kept_remedies, named_sizes, program_account
from tfmemlens.findings.support.kept_trees import Kept
from tfmemlens.findings.support.named_sizes import Meaning
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import Attribution, Kind, Owner, Phase
from tfmemlens.model.capture import StatedSize
from tfmemlens.model.case import Api, Request
from tfmemlens.model.finding import Severity
from tfmemlens.model.incident import CompilerMemory, FailedRequest, RequestKind
from tfmemlens.units import GIB, Size, human
from tfmemlens.values import replace

MIB = 1 << 20
exactly = Size.exactly


@pytest.mark.parametrize(
    "phase, kind, node, of_weights",
    [
        (Phase.OPTIMIZER, Kind.WORKSPACE, None, True),
        (Phase.OPTIMIZER, Kind.OPTIMIZER_SLOT, None, False),
        (Phase.GRADIENT, Kind.GRADIENT, "gradients/dense/MatMul_grad/MatMul_1", True),
        (Phase.GRADIENT, Kind.GRADIENT, "gradients/dense/Relu_grad", False),
        (Phase.FORWARD, Kind.ACTIVATION, "gradients/dense/MatMul_grad/MatMul_1", False),
        (Phase.GRADIENT, Kind.GRADIENT, None, False),
    ],
)
def test_what_a_clipped_step_asks_for_of_a_weight(
    phase: Phase, kind: Kind, node: str | None, of_weights: bool
) -> None:
    request = Request(FailedRequest(node=node), Owner("dense", kind, phase), 5)
    assert clipped_by_global_norm._of_weights(request) is of_weights


@pytest.mark.parametrize(
    "inputs, code, likely",
    [
        (7 * 7 * 512, "", True),
        (8 * 8 * 512, "", False),  # a power of two
        (8 * 8 * 512, "x = Flatten()(x)", True),
        (10_007, "x = Flatten()(x)", False),
    ],
)
def test_inputs_that_are_a_flattened_map(inputs: int, code: str, likely: bool) -> None:
    told = case(held(), code=(at(1, code),))
    assert dense_kernel_gradient._of_flatten(told, inputs) is likely


@pytest.mark.parametrize(
    "free, requested, limit, much",
    [
        (125, 100, None, True), (124, 100, None, False), (None, 100, None, False), (125, None, None, False),
        (125, 100, 1000, True), (125, 100, 100_000, False),
    ],
)  # fmt: skip
def test_so_much_was_free_that_its_pieces_are_the_cause(
    free: int | None, requested: int | None, limit: int | None, much: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = [None if each is None else exactly(each) for each in (free, limit)]
    moment: Any = held(request=asked(size=5))
    shown: Any = Made(
        balance=Made(available=sizes[0], requested=requested), request=moment.request, incident=None
    )
    monkeypatch.setattr(fragmented_free_memory, "device_limit", lambda case_, moment_: sizes[1])
    assert fragmented_free_memory._much(case(moment), shown) is much


@pytest.mark.parametrize("text, share", [("0.5", 0.5), (".90", 0.9), ("a half", 0.0), ("", 0.0)])
def test_a_share_as_it_is_written(text: str, share: float) -> None:
    assert limit_of_your_own._share(text) == share


@pytest.mark.parametrize(
    "settings, whole, limit, told",
    [
        ({"memory_limit": "1024"}, None, GIB, "memory_limit=1024"),
        ({"memory_limit": "1024"}, None, 2 * GIB, None),
        (
            {"per_process_gpu_memory_fraction": "0.5"},
            10 * GIB,
            5 * GIB,
            "per_process_gpu_memory_fraction=0.5",
        ),
        (
            {"per_process_gpu_memory_fraction": "0.5"},
            10 * GIB,
            4 * GIB,
            "per_process_gpu_memory_fraction=0.5",
        ),
        ({"per_process_gpu_memory_fraction": "0.5"}, 10 * GIB, 4 * GIB - MIB, None),
        ({"per_process_gpu_memory_fraction": "0.5"}, 8 * GIB, 5 * GIB, "per_process_gpu_memory_fraction=0.5"),
        ({"per_process_gpu_memory_fraction": "0.5"}, 8 * GIB, 5 * GIB + MIB, None),
        ({"per_process_gpu_memory_fraction": "0.5"}, None, 5 * GIB, None),
        ({}, 10 * GIB, GIB, None),
    ],
)
def test_the_setting_that_states_a_limit(
    settings: dict[str, str], whole: int | None, limit: int, told: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limit_of_your_own, "_whole", lambda case_: whole)

    def setting(name: str) -> Any:
        return (settings[name], at(3)) if name in settings else None

    shown: Any = Made(capture=Made(surroundings=Made(setting=setting)))
    assert limit_of_your_own._setting(shown, limit) == (told and (told, at(3)))


def test_parameters_that_the_text_counts_are_compared() -> None:
    counted, *_ = outside_the_report._remedies(case(held(), parameters=(1_000_000, at(2))))
    sizes = f"{human(4_000_000)} in float32, and {human(12_000_000)} with Adam's"
    assert "1,000,000 parameters, " + sizes in counted.text
    unknown, *_ = outside_the_report._remedies(case(held()))
    assert "print how much weights and slots take" in unknown.text


@pytest.mark.parametrize(
    "executable, said",
    [("gemm_fusion", "a kernel (gemm_fusion) does not fit"), (None, "a kernel does not fit")],
)
def test_a_kernel_that_does_not_fit_on_the_chip(executable: str | None, said: str) -> None:
    request = asked(size=5, kind=RequestKind.TPU, executable=executable, allocator="vmem")
    moment = replace(held(request=request), incident=Made(compiler=CompilerMemory(), state=None))
    (found,) = xla_arena_too_large.check(case(moment))
    assert found.headline == f"{said} vmem, memory on the chip"


@pytest.mark.parametrize(
    "limit, severity, explains",
    [
        (2 * GIB - 1, Severity.CAUSE, 2 * GIB - 1),
        (2 * GIB, Severity.FACTOR, None),
        (None, Severity.FACTOR, None),
    ],
)
def test_a_board_that_got_little(
    limit: int | None, severity: Severity, explains: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    board: Any = Made(model="Orin", limit=None if limit is None else exactly(limit), line=at(1))
    monkeypatch.setattr(shared_memory_board, "shares_ram", lambda model: model == "Orin")
    moment = held(request=asked(size=5))
    (found,) = shared_memory_board.check(case(moment, devices=(board,)))
    assert (found.severity, found.explains) == (severity, explains)
    assert ("TensorFlow got" in found.headline) is (limit is not None)


@pytest.mark.parametrize(
    "low, high, shape, reduced",
    [
        (20_000, 20_000, (50, 20), (50, 20, 5)),
        (17_000, 22_000, (50, 20), (50, 20, 5)),  # of 4,000 bytes each: five times alone
        (16_000, 20_000, (50, 20), None),  # or four
        (4_000, 4_000, (50, 20), None),
        (8_000, 8_000, (50, 20), (50, 20, 2)),
        (19_980, 19_980, (37, 27), None),  # fewer than a thousand numbers
        (20_000, 20_000, (50, None), None),
    ],
)
def test_the_tensor_that_an_op_sums_up(low: int, high: int, shape: Any, reduced: Any) -> None:
    size = 4 * shape[0] * (shape[1] or 1)
    made: Any = Made(failed=Made(shape=shape, tensor_bytes=size))
    assert one_chunk_dominates._reduced(made, low, high) == reduced
    made.failed.tensor_bytes = None
    assert one_chunk_dominates._reduced(made, low, high) is None


@pytest.mark.parametrize(
    "code, said", [("d = x[:, None] - y[None]", True), ("d = x - y", False), (None, False)]
)
def test_a_sum_over_every_pair_of_rows(code: str | None, said: bool) -> None:
    failed = {"shape": (50, 20), "dtype": "float32", "op": "Sum", "source_text": code}
    told = one_chunk_dominates._guess(asked(size=4000, **failed), 20_000, 20_000)
    assert told == ", most likely the [50,20,5] that this op sums up" + (
        ": every pair of rows" if said else ""
    )
    assert one_chunk_dominates._guess(asked(size=4000, **failed), 16_000, 20_000) == ""


@pytest.mark.parametrize(
    "low, high, op, shape, said",
    [
        (80_000, 84_000, "MatMul", (1000, 9), ", most likely a matrix of 1,000 columns and 20 to 21 rows"),
        (80_000, 88_000, "MatMul", (1000, 9), ""),  # 20 to 22: too open
        (4_000, 4_000, "MatMul", (1000, 9), ""),
        (80_000, 84_000, "MatMul", (9, 1000), ", most likely a matrix of 1,000 columns and 20 to 21 rows"),
        (80_000, 80_000, "MatMul", (999, 9), ""),
        (80_000, 80_000, "Relu", (1000, 9), ""),
        (80_000, 80_000, "MatMul", (1000, 9, 1), ""),
    ],
)
def test_a_matrix_that_a_product_reads(low: int, high: int, op: str, shape: Any, said: str) -> None:
    request = asked(size=36_000, shape=shape, dtype="float32", op=op)
    assert one_chunk_dominates._guess(request, low, high) == said


# ------------------------------------------------------------------ what a loop keeps


@pytest.mark.parametrize(
    "found, whole, fills",
    [
        (keeping("a", 10, most=10), 99, True),
        (keeping("a", 10, most=10), 100, False),
        (keeping("a", 10), 10_000, True),
        (keeping("a", 10, most=1), None, True),
        (keeping("a", most=10), 5, False),
        (keeping("a", 0), 5, False),
    ],
)
def test_whether_all_entries_are_more_than_the_device_has(found: Any, whole: int | None, fills: bool) -> None:
    assert kept_by_a_loop._fills(found, whole) is fills


@pytest.mark.parametrize(
    "found, size, count, need, proof",
    [
        (keeping("a", 5 * MIB), 5 * MIB, 99, 1, ("99 blocks of that size are in use", 495 * MIB, True)),
        (keeping("a", 4 * MIB), 5 * MIB, 99, 1, None),
        (keeping("a", 5 * MIB), 5 * MIB, 1, 1, None),
        (keeping("a"), MIB, 99, 1,
         ("most likely these are the 99 blocks of 1.00 MiB that are in use", 99 * MIB, True)),
        (keeping("a"), MIB, 99, MIB,
         ("most likely these are the 99 blocks of 1.00 MiB that are in use, and the next one failed",
          100 * MIB, True)),
        (keeping("a"), MIB - 1, 8, 1, None),
        (keeping("a"), MIB, 1, 1, None),
    ],
)  # fmt: skip
def test_chunks_of_the_size_of_one_entry(found: Any, size: int, count: int, need: int, proof: Any) -> None:
    moment = held(("a/x", size, A), request=asked(size=need))
    table = AllocationTable.of([Allocation("a/x", size, count=count)])
    moment = replace(moment, attribution=Attribution(table, moment.attribution.owners))
    assert moment.request is not None
    assert kept_by_a_loop._chunks(moment, moment.request, found) == proof


@pytest.mark.parametrize(
    "framework, code", [("tensorflow", "tf.linalg.global_norm(g)"), ("jax", "optax.global_norm(g)")]
)
def test_of_gradients_the_norm_is_kept(framework: str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_remedies, "framework_of", lambda case_: framework)
    moment = held(request=asked(size=5))
    found = Kept("norms", "g", at(2), at(1), gradients=True)
    remedy = next(iter(kept_remedies.instead(case(moment), moment, found, None)))
    assert (remedy.slug, remedy.code) == ("keep-numbers", f"norms.append(float({code}))")


# ------------------------------------------------------------------ what rules share


@pytest.mark.parametrize(
    "given, saves",
    [
        ({"arguments": 100, "results": 60, "shared": 29}, True),
        ({"arguments": 100, "results": 60, "shared": 30}, False),  # more than half of the smaller
        ({"arguments": 60, "results": 100, "shared": 29}, True),
        ({"arguments": 60, "results": 100, "shared": 60}, False),
    ],
)
def test_whether_donated_buffers_save_anything(given: dict[str, int], saves: bool) -> None:
    moment = held(request=asked(size=5))
    made = account(**given)
    assert program_account.could_donate(case(moment), moment, made) is saves
    large = held(request=asked(size=31 * 50 + 1))  # less than a fiftieth of the request is not worth it
    assert program_account.could_donate(case(large), large, made) is False
    made.one_operation = True
    assert program_account.could_donate(case(moment), moment, made) is False


@pytest.mark.parametrize(
    "sizes, image",
    [
        ((224, 224), True), ((224, 224, 3), True), ((64, 128, 128), True), ((64, 128, 128, 4), True),
        ((64, 128, 128, 5), False), ((224,), False), ((224, 3), False), ((16, 256), True), ((16, 257), False),
        ((4, 4, 3), False),
    ],
)  # fmt: skip
def test_the_shape_of_an_image(sizes: tuple[int, ...], image: bool) -> None:
    assert named_sizes._is_image(StatedSize("shape", sizes, at(1))) is image


@pytest.mark.parametrize(
    "meaning, axis, rank, may",
    [
        (Meaning.BATCH, 0, 2, True), (Meaning.BATCH, 1, 2, False), (Meaning.IMAGE, 1, 4, True),
        (Meaning.IMAGE, 0, 4, False), (Meaning.IMAGE, 1, 3, False), (Meaning.LENGTH, 1, 2, True),
        (Meaning.OTHER, 1, 2, False), (Meaning.WORDS, 0, 2, True),
    ],
)  # fmt: skip
def test_where_a_named_size_may_stand(meaning: Meaning, axis: int, rank: int, may: bool) -> None:
    assert named_sizes._may_stand(named_sizes.NamedSize(axis, 5, 5, "n", meaning, at(1)), rank) is may


@pytest.mark.parametrize(
    "meanings, alike",
    [
        ({Meaning.IMAGE}, True),
        ({Meaning.LENGTH, Meaning.BATCH}, True),
        ({Meaning.WORDS}, False),
        (set(), True),
    ],
)
def test_several_names_that_mean_one_thing(meanings: set[Meaning], alike: bool) -> None:
    assert named_sizes._alike(meanings) is alike


@pytest.mark.parametrize(
    "newest, has", [((1, 13), False), ((1, 14), True), ((1, 15), True), ((2, 3), True), ((2, 4), True)]
)
def test_half_precision_came_with_1_14(newest: tuple[int, int], has: bool) -> None:
    assert (code_snippets.mixed_precision(Api(newest, newest)) is not None) is has
    if newest == (1, 14):
        assert "tf.train.experimental" in (code_snippets.mixed_precision(Api(newest, newest)) or "")
    if newest == (1, 15):
        assert "tf.compat.v1.train.experimental" in (code_snippets.mixed_precision(Api(newest, newest)) or "")
    if newest >= (2, 0):
        asked_for = "mixed_precision.set_global_policy" if newest >= (2, 4) else "experimental.set_policy"
        assert asked_for in (code_snippets.mixed_precision(Api(newest, newest)) or "")
