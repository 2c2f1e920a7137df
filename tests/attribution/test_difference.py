"""What a comparison says: pairs of names, sentences and notes, each with its near miss."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import MIB, capture, row, timeline
from tfmemlens.attribution.difference import compared, difference, matched
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import Attribution, Kind, Owner, Phase
from tfmemlens.model.case import Balance, Case, Moment
from tfmemlens.model.difference import Difference
from tfmemlens.model.incident import FailedRequest, HolderBlock, Incident
from tfmemlens.units import Size
from tfmemlens.values import replace

STEP = timeline(row("a", 1, 0, 1))
LISTED = Incident(FailedRequest(), holders=(HolderBlock(None, None, AllocationTable()),))
BARE = Incident(FailedRequest())


def owner(layer: str | None, kind: Kind = Kind.ACTIVATION, **given: Any) -> Owner:
    return Owner(layer, kind, Phase.FORWARD, **given)


def case(*held: tuple[str | None, int, Owner], more: int = 0, error: int = 0, **given: Any) -> Case:
    """A case whose moment holds these (node, MiB, owner)."""
    rows = [Allocation(node, mib * MIB, error_bytes=error) for node, mib, _ in held]
    whose = Attribution(AllocationTable.of(rows), [each for _, _, each in held])
    moment = Moment(whose, Balance(limit=given.pop("limit", None)), **given)
    return Case(capture(), (moment,) * (1 + more))


def conv(
    mib: int, layer: str | None = "net/conv", node: str = "net/conv/Conv2D"
) -> tuple[str | None, int, Owner]:
    return node, mib, owner(layer, forward=node)


class TestTheVerdict:
    @pytest.mark.parametrize(
        "before, after, said",
        [
            (10, 10, "Nothing grew in sum: 10.00 MiB on both sides."),
            (10, 15, "Memory grew by 5.00 MiB (50 %), from 10.00 MiB to 15.00 MiB, most of it in net/conv."),
            (10, 5, "Memory shrank by 5.00 MiB (50 %), from 10.00 MiB to 5.00 MiB, most of it in net/conv."),
            (0, 5, "Memory grew by 5.00 MiB, from 0 B to 5.00 MiB, most of it in net/conv."),
        ],
    )
    def test_sums(self, before: int, after: int, said: str) -> None:
        assert difference(case(conv(before)), case(conv(after))).verdict == said

    def test_most_of_it_is_where_it_changed_the_same_way(self) -> None:
        found = difference(
            case(conv(9), ("other/x", 1, owner("other"))), case(conv(1), ("other/x", 20, owner("other")))
        )
        assert found.verdict.endswith("most of it in other.")
        nameless = difference(case(("x", 1, owner(None))), case(("x", 2, owner(None))))
        assert nameless.verdict.endswith("most of it in allocations without a layer.")

    @pytest.mark.parametrize("error, said", [(-1, "shrank by 1 B"), (1, "grew by 1 B")])
    def test_a_single_byte(self, error: int, said: str) -> None:
        one, other = (Allocation("net/x", MIB + more) for more in (0, error))
        sides = [
            Case(capture(), (Moment(Attribution(AllocationTable.of([row]), [owner("net")]), Balance()),))
            for row in (one, other)
        ]
        verdict = difference(*sides).verdict
        assert said in verdict
        assert verdict.endswith("most of it in net.")

    def test_a_case_without_figures_cannot_be_compared(self) -> None:
        with pytest.raises(LookupError):
            compared(Case(capture(), ()))


class TestSides:
    @pytest.mark.parametrize(
        "given, what",
        [
            ({"timeline": STEP}, "peak on GPU_0_bfc"),
            ({"timeline": replace(STEP, predicted=True)}, "predicted peak on GPU_0_bfc"),
            ({"incident": LISTED}, "listed when it ran out of memory"),
            ({"incident": BARE}, "in use when it ran out of memory"),
            ({}, "in use when it ran out of memory"),
        ],
    )
    def test_what_is_compared(self, given: dict[str, Any], what: str) -> None:
        side = difference(case(conv(1)), case(conv(2), **given)).after
        assert (side.what, side.total_bytes, side.limit_bytes) == (what, 2 * MIB, None)

    def test_limit_errors_and_kinds(self) -> None:
        one = case(conv(1), ("w", 2, owner("net", Kind.PARAMETER)), limit=Size.exactly(9), error=3)
        side = difference(one, one).before
        assert (side.limit_bytes, side.total_bytes) == (9, 3 * MIB)
        assert side.kinds == {Kind.ACTIVATION: MIB, Kind.PARAMETER: 2 * MIB}

    @pytest.mark.parametrize(
        "before, after, notes",
        [
            ({}, {}, []),
            ({"timeline": STEP}, {}, ["One side"]),
            ({}, {"timeline": STEP}, ["One side"]),
            ({"timeline": STEP}, {"timeline": STEP}, []),
            ({"more": 1}, {}, ["`before` has 2"]),
            ({}, {"more": 2}, ["`after` has 3"]),
            ({"error": 1}, {}, ["TensorFlow rounded"]),
            ({}, {"error": 1}, ["TensorFlow rounded"]),
            ({"error": 1}, {"error": 1}, ["TensorFlow rounded"]),
        ],
    )
    def test_notes(self, before: dict[str, Any], after: dict[str, Any], notes: list[str]) -> None:
        found = difference(case(conv(1), **before), case(conv(1), **after)).notes
        assert len(found) == len(notes)
        assert all(text.startswith(start) for text, start in zip(found, notes, strict=True))


class TestRows:
    @staticmethod
    def rows(found: Difference) -> list[tuple[str | None, str | None, int, int]]:
        return [
            (each.before, each.after, each.before_bytes // MIB, each.after_bytes // MIB)
            for each in found.allocations
        ]

    def test_nodes_of_a_renamed_layer(self) -> None:
        found = difference(
            case(conv(1, "net/conv", "net/conv/Conv2D")), case(conv(3, "net/conv_1", "net/conv_1/Conv2D"))
        )
        assert self.rows(found) == [("net/conv/Conv2D", "net/conv_1/Conv2D", 1, 3)]
        assert [(each.before, each.after) for each in found.layers] == [("net/conv", "net/conv_1")]

    def test_other_kinds_and_other_ops_are_other_rows(self) -> None:
        gradient = ("net/conv/Conv2D", 1, owner("net/conv", Kind.GRADIENT, forward="net/conv/Conv2D"))
        assert len(self.rows(difference(case(conv(1)), case(gradient)))) == 2
        relu = ("net/conv/Relu", 1, owner("net/conv", forward="net/conv/Relu"))
        assert self.rows(difference(case(conv(1)), case(relu))) == [
            (None, "net/conv/Relu", 0, 1), ("net/conv/Conv2D", None, 1, 0),
        ]  # fmt: skip

    def test_rows_of_a_node_are_summed(self) -> None:
        assert self.rows(difference(case(conv(1), conv(2)), case(conv(7)))) == [
            ("net/conv/Conv2D", "net/conv/Conv2D", 3, 7)
        ]

    def test_executions_of_a_node_are_counted(self) -> None:
        """Three executions of 1 MiB before, one of 3 MiB after: no change."""
        thrice = Attribution(AllocationTable.of([Allocation("net/x", MIB, count=3)]), [owner("net")])
        found = difference(Case(capture(), (Moment(thrice, Balance()),)), case(("net/x", 3, owner("net"))))
        assert self.rows(found) == [("net/x", "net/x", 3, 3)]

    def test_what_is_gone_keeps_its_layer(self) -> None:
        found = difference(case(conv(1)), case(("other/Relu", 2, owner("other"))))
        assert [(each.layer, each.before) for each in found.allocations] == [
            ("other", None), ("net/conv", "net/conv/Conv2D"),
        ]  # fmt: skip
        assert [(each.before, each.after, each.change_bytes) for each in found.layers] == [
            (None, "other", 2 * MIB), ("net/conv", None, -MIB),
        ]  # fmt: skip

    def test_without_a_layer_nodes_are_told_by_their_forward_op(self) -> None:
        one, same, other = (
            (name, 1, owner(None, forward=forward))
            for name, forward in (("a/Cast", "a"), ("a_1/Cast", "a_1"), ("b/Cast", "b"))
        )
        assert len(self.rows(difference(case(one), case(same)))) == 1
        assert len(self.rows(difference(case(one), case(other)))) == 2
        within, beside = (("x/Cast", 1, owner(layer, forward=f"{layer}/mul")) for layer in ("net", "net_1"))
        assert len(self.rows(difference(case(within), case(beside)))) == 1

    def test_what_a_pass_renamed(self) -> None:
        forward = "net/conv/mul"
        plain = ("net/conv/mul", 1, owner("net/conv", forward=forward))
        rewritten = ("net/conv/ArithmeticOptimizer/ReplaceX_mul", 2, owner("net/conv", forward=forward))
        assert len(self.rows(difference(case(plain), case(rewritten)))) == 1
        named = ("net/conv/MyOptimizer/ReplaceX_mul", 2, owner("net/conv", forward=forward))
        assert len(self.rows(difference(case(plain), case(named)))) == 2

    def test_copies_of_the_layout_pass_are_told_by_what_they_copy(self) -> None:
        one, same, other = (
            (name, 1, owner("net", Kind.LAYOUT_TRANSPOSE, forward="net/Relu", copy_of=of))
            for name, of in (
                ("net/Relu-0-0-T", "output"),
                ("net/Relu-1-0-T", "output"),
                ("net/Relu-0-T", "input"),
            )
        )
        assert len(self.rows(difference(case(one), case(same)))) == 1
        assert len(self.rows(difference(case(one), case(other)))) == 2

    def test_the_largest_change_first_then_the_largest_then_by_name(self) -> None:
        before = case(*((name, mib, owner(name)) for name, mib in (("a", 5), ("b", 5), ("c", 1), ("d", 9))))
        after = case(*((name, mib, owner(name)) for name, mib in (("a", 4), ("b", 6), ("c", 7), ("d", 9))))
        assert [each.name for each in difference(before, after).allocations] == ["c", "b", "a", "d"]

    def test_kinds_of_both_sides(self) -> None:
        weight = ("w", 3, owner("net", Kind.PARAMETER))
        gained, lost = difference(case(conv(1)), case(weight)).kinds
        assert (gained.before, gained.after, gained.after_bytes) == (None, "parameter", 3 * MIB)
        assert (lost.before, lost.after, lost.before_bytes) == ("activation", None, MIB)


@pytest.mark.parametrize(
    "left, right, pairs",
    [
        (["a"], ["a"], [("a", "a")]),
        (["a"], ["b"], [("a", None), (None, "b")]),
        (["a_2", "a_10"], ["a_9", "a_11"], [("a_2", "a_9"), ("a_10", "a_11")]),
        (["a", "a_1"], ["a_1"], [("a_1", "a_1"), ("a", None)]),
        (["a_3"], ["a", "a_1"], [("a_3", "a"), (None, "a_1")]),
        (["²_1", "²"], ["²", "²_1"], [("²", "²"), ("²_1", "²_1")]),  # a digit, but no decimal
        (["a_01"], ["a_02"], [("a_01", None), (None, "a_02")]),
        (["a_1/b"], ["a/b_2"], [("a_1/b", "a/b_2")]),
        (["a_1|x"], ["a|x"], [("a_1|x", "a|x")]),
        (["a_1x"], ["ax"], [("a_1x", None), (None, "ax")]),
    ],
)
def test_pairs_of_names(
    left: list[str], right: list[str], pairs: list[tuple[str | None, str | None]]
) -> None:
    assert sorted(matched(left, right), key=str) == sorted(pairs, key=str)
