"""Edges of rules that read the shape of what failed: pairs of rows, one large sample."""

from __future__ import annotations

from typing import Any

import pytest

from tests.findings.test_edges_of_support import at
from tests.findings.test_support import A, P, asked, case, exactly, held
from tfmemlens.findings import one_large_sample, pairwise_broadcast
from tfmemlens.model.attribution import Kind, Owner, Phase
from tfmemlens.model.capture import StatedSize
from tfmemlens.model.case import Balance
from tfmemlens.model.finding import Basis, Finding
from tfmemlens.model.incident import RequestKind
from tfmemlens.units import human
from tfmemlens.values import replace

MIB = 1 << 20


def pairs(
    shape: tuple[int, ...],
    op: str = "Sub",
    limit: int | None = None,
    told: dict[str, Any] | None = None,
    **facts: Any,
) -> list[Finding]:
    """What the rule of pairs says of a request of this shape."""
    facts = {"dtype": "float32", "node": "a/b", **facts}
    request = asked(op=op, shape=shape, **facts)
    books = Balance(requested=request.failed.tensor_bytes, limit=limit and exactly(limit))
    moment = held(request=request, books=books)
    return list(pairwise_broadcast.check(case(moment, **(told or {}))))


def slugs(found: list[Finding]) -> list[str]:
    return [str(remedy.slug) for each in found for remedy in each.remedies]


@pytest.mark.parametrize(
    "shape, op, node, fires",
    [
        ((4096, 4096), "Sub", "a/b", True),  # 64 MiB
        ((4095, 4096), "Sub", "a/b", False),
        ((4095, 4095), "Sub", "a/b", False),
        ((4096, 4096), "MatMul", "a/b", False),
        ((4096, 4096), "Subtract", "a/b", False),
        ((4096, 4096), "Sub", "a/attention/b", False),
        ((4096, 4096), "Sub", "a/Softmax", False),
        ((4096, 4097), "Sub", "a/b", False),
        ((4096, 4097), "Sub", "pairwise/b", True),
        ((256, 256, 256), "Sub", "a/b", True),
        ((256, 256, 257), "Sub", "a/b", True),
        ((255, 255, 512), "Sub", "a/b", False),
        ((256, 256, 256, 256), "Sub", "a/b", True),  # by mistake, as a rule
        ((256, 256, 256, 257), "Sub", "a/b", False),
        ((1 << 25,), "Sub", "a/b", False),
        ((255, 80_000), "Sub", "pairwise/b", False),
        ((80_000, 256), "Sub", "pairwise/b", True),
    ],
)
def test_when_a_request_is_of_every_pair(shape: Any, op: str, node: str, fires: bool) -> None:
    assert bool(pairs(shape, op, node=node)) is fires


def test_an_op_without_a_type_or_a_size_is_of_nothing() -> None:
    assert not pairs((4096, 4096), op="") and not pairs((4096, 4096), dtype=None)


@pytest.mark.parametrize(
    "limit, op, grown",
    [
        (64 * MIB, "Sub", True),
        ((64 << 20) + 16384, "Sub", False),
        ((64 << 20) + 16383, "Sub", True),
        (64 * MIB, "Cast", False),
        (None, "Sub", False),
    ],
)
def test_what_is_larger_than_the_device_has_no_operand_of_its_shape(
    limit: int | None, op: str, grown: bool
) -> None:
    found = pairs((4096, 4097), op, limit)
    assert bool(found) is grown and all(each.detail.startswith("Its operands") for each in found)
    assert pairs((4097, 4097), "Sub")[0].detail == ""


@pytest.mark.parametrize("side, blocks", [(4096, 4096), (8192, 2048), (8200, 2046), (1 << 25, 1)])
def test_pairs_go_in_blocks_of_64_mib(side: int, blocks: int) -> None:
    found = pairs((side, side))
    assert slugs(found) == ["in-blocks"] and f"in blocks of {blocks}," in found[0].remedies[0].text
    assert found[0].remedies[0].saves_bytes == 4 * side * (side - blocks) and found[0].explains == 4 * side**2
    assert (
        "grows with their square" in found[0].because
        and f"one row of it {human(4 * side)}" in found[0].headline
    )
    other = pairs((side, side + 1), source_text="d = a[:, None] - b[None, :]")
    assert "grows with their product" in other[0].because


@pytest.mark.parametrize(
    "shape, product, saved",
    [
        ((4096, 4096), False, 0),
        ((4096, 4096, 1), False, 0),
        ((4096, 4096, 2), True, 64 * MIB),
        ((4096, 4096, 4), True, 192 * MIB),
    ],
)
def test_distances_of_several_components_are_a_matrix_product(shape: Any, product: bool, saved: int) -> None:
    remedies = [each for each in pairs(shape)[0].remedies if each.slug == "matrix-product"]
    assert bool(remedies) is product and all(each.saves_bytes == saved for each in remedies)


def test_equal_sides_are_triplets() -> None:
    (found,) = pairs((512, 512, 512))
    assert (
        found.headline == "every triplet of 512 rows is made at once, which grows with their cube: 512.00 MiB"
    )
    assert "with 256 this takes 64.00 MiB" in found.remedies[0].text
    assert found.remedies[0].saves_bytes == 448 * MIB


@pytest.mark.parametrize(
    "shape, facts, training, one_shape",
    [
        ((4096, 4096), {}, False, False),
        ((4096, 4096), {"node": "loss/sub"}, False, True),
        ((4096, 4096, 2), {"node": "loss/sub"}, False, False),
        ((4096, 4097), {"node": "loss/sub", "source_text": "a[:, None] - b"}, False, False),
        ((4096, 4096), {"source_text": "d = y_true - y"}, False, True),
        ((4096, 4096), {"source_text": "d = tf.reduce_mean(a - b)"}, False, True),
        ((4096, 4096), {"source_text": "d = tf.reduce_mean(a - b)", "op": "Mul"}, False, False),
        ((4096, 4096), {"source_text": "d = tf.reduce_mean(a)", "op": "SquaredDifference"}, False, True),
        ((4096, 4096), {"node": "Sub_3"}, True, True),
        ((4096, 4096), {"node": "Sub_3"}, False, False),
        ((4096, 4096), {"node": None}, True, False),
    ],
)
def test_a_square_in_a_loss_most_likely_lacks_one_shape(
    shape: Any, facts: dict[str, Any], training: bool, one_shape: bool
) -> None:
    told = {"purposes": (("training", at(9)),)} if training else {}
    found = pairs(shape, told=told, **{"op": "Sub", **facts})
    assert ("one-shape" in slugs(found)) is one_shape
    assert ("most likely [4096,1] against [4096]" in found[0].because) is one_shape


@pytest.mark.parametrize(
    "code, quoted, of_pairs",
    [
        ("d = tf.expand_dims(a, 1) - tf.expand_dims(b, 0)", None, True),
        ("d = tf.expand_dims(a, 1) - tf.expand_dims(b, 1)", None, False),
        ("d = a - b", None, False),
        (None, None, False),
    ],
)
def test_two_axes_that_differ_make_pairs(code: str | None, quoted: str | None, of_pairs: bool) -> None:
    assert bool(pairs((4096, 4097), source_text=code)) is of_pairs


@pytest.mark.parametrize(
    "one, other, lines, found",
    [
        ((4096,), (4096, 1), (3, 15), True),
        ((4096,), (4096, 1), (3, 16), False),
        ((4096,), (4096, 1), (15, 3), True),
        ((4096,), (4096, 1), (16, 3), False),
        ((1, 4096), (4096, 1), (3, 3), True),
        ((4096,), (4096,), (3, 3), False),
        ((4096,), (4095, 1), (3, 3), False),
        ((4096, 256), (4096, 16), (3, 3), False),
        ((0,), (4096, 1), (3, 3), False),
    ],
)
def test_two_shapes_that_the_text_states(one: Any, other: Any, lines: Any, found: bool) -> None:
    sizes = tuple(StatedSize("x", each, at(line)) for each, line in zip((one, other), lines, strict=True))
    told = pairs((4096, 4096), told={"sizes": sizes})
    assert [each.basis for each in told] == ([Basis.MEASURED] if found else [None])


@pytest.mark.parametrize("side, small", [(16, True), (15, False)])
def test_operands_are_far_smaller_than_what_they_make(side: int, small: bool) -> None:
    sizes = (StatedSize("x", (1 << 20, 1), at(3)), StatedSize("y", (side,), at(3)))
    told = pairs((1 << 20, side), told={"sizes": sizes})
    assert bool(told) is (small and side * 4 >= 64)


@pytest.mark.parametrize(
    "one, other, lines, words, code",
    [
        ((4096,), (4096, 1), (3, 3), "[4096] (line 3) and [4096,1] broadcasts", "[..., tf.newaxis]"),
        ((4096, 1), (4096,), (3, 4), "[4096] (line 4) and [4096,1] (line 3) broadcasts", "[..., tf.newaxis]"),
        ((1, 4096), (4096, 1), (3, 3), "[1,4096] (line 3) and [4096,1] broadcasts", "tf.reshape("),
    ],
)
def test_stated_shapes_are_named_with_their_lines(
    one: Any, other: Any, lines: Any, words: str, code: str
) -> None:
    sizes = tuple(StatedSize("x", each, at(line)) for each, line in zip((one, other), lines, strict=True))
    (found,) = pairs((4096, 4096), told={"sizes": sizes})
    assert words in found.because and code in str(found.remedies[0].code)


# ------------------------------------------------------------------ one large sample


def sample(
    shape: tuple[int, ...],
    node: str = "net/conv1/Relu",
    kind: Kind = A,
    told: dict[str, Any] | None = None,
    fixed: bool = False,
    listed: bool = False,
    **facts: Any,
) -> list[Finding]:
    """What the rule of one large sample says of a request of this shape."""
    facts = {"dtype": "float32", "node": node, "op": "Relu", **facts}
    request = replace(asked(shape=shape, **facts), owner=Owner("net/conv1", kind, Phase.FORWARD), fixed=fixed)
    moment = held(*([("a/x", 5, A)] if listed else []), request=request)
    return list(one_large_sample.check(case(moment, **(told or {}))))


@pytest.mark.parametrize(
    "shape, told",
    [
        ((1, 1024, 1024, 32), "one image of 1024 x 1024 makes 128.00 MiB with 32 channels"),
        ((1, 1023, 1024, 32), None),
        ((2, 512, 1024, 64), "one image of 512 x 1024 makes 128.00 MiB with 64 channels"),
        ((2, 511, 2048, 64), None),
        ((3, 1024, 1024, 32), None),
        ((1, 48, 1024, 1024, 8), "one volume of 48 x 1024 x 1024"),
        ((1, 47, 1024, 1024, 8), None),
        ((1, 32, 1024, 1024), "one image of 1024 x 1024 makes 128.00 MiB with 32 channels"),
        ((1, 1024, 32768), None),
        ((1, 0, 1024, 1024), None),
        ((1, 4096, 4096, 4), "one image of 4096 x 4096 makes 256.00 MiB with 4 channels"),
        ((1, 4096, 4096, 5), None),
    ],
)
def test_what_one_large_sample_is(shape: Any, told: str | None) -> None:
    found = sample(shape)
    assert not found if told is None else bool(found) and told in found[0].because


@pytest.mark.parametrize(
    "more",
    [
        {"kind": P},
        {"kind": Kind.OPTIMIZER_SLOT},
        {"fixed": True},
        {"creating": True},
        {"updating": True},
        {"listed": True},
        {"node": "net/patches/Relu"},
    ],
    ids=str,
)
def test_what_is_no_sample(more: Any) -> None:
    assert sample((1, 1024, 1024, 32)) and not sample((1, 1024, 1024, 32), **more)


def test_only_a_tensor_is_a_sample() -> None:
    request = asked(shape=(1, 1024, 1024, 32), dtype="float32", node="net/conv1/Relu", op="Relu")
    for kind, fires in ((RequestKind.TENSOR, True), (RequestKind.DUMP, False)):
        moment = held(request=replace(request, failed=replace(request.failed, kind=kind)))
        assert bool(list(one_large_sample.check(case(moment)))) is fires


def test_only_the_first_failure_is_asked_for_its_sample() -> None:
    request = asked(shape=(1, 1024, 1024, 32), dtype="float32", node="net/conv1/Relu", op="Relu")
    small = asked(shape=(1, 2), dtype="float32", node="net/conv1/Relu", op="Relu")
    moments = held(request=request), held(request=small)
    assert [each.moment for each in one_large_sample.check(case(*moments))] == [0]
    assert not list(one_large_sample.check(case(*moments[::-1])))


@pytest.mark.parametrize(
    "shape, patches, saved",
    [
        ((1, 1024, 1024, 32), "512 x 512", 96 * MIB),
        ((1, 1056, 1056, 32), "528 x 528", None),
        ((1, 1058, 1058, 32), "544 x 544", None),
        ((2, 128, 128, 128, 32), "64 x 64 x 64", 448 * MIB),
    ],
)
def test_patches_have_half_the_sides_in_multiples_of_16(shape: Any, patches: str, saved: int | None) -> None:
    (found,) = sample(shape)
    first = next(each for each in found.remedies if each.slug == "smaller-input")
    assert patches in first.text and (saved is None or first.saves_bytes == saved)
    assert first.text.startswith("make it smaller, or ") is (len(shape) == 4)
    words = human(found.explains // shape[0]) if found.explains else ""
    assert f"makes {words} with" in found.because
