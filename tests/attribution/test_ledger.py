"""Rows of a moment with their births and deaths, and the stacked curve, event by event."""

from __future__ import annotations

import pytest

from tests.builders import MIB, row, timeline
from tfmemlens.attribution.moments import layers
from tfmemlens.attribution.moments.layers import summaries
from tfmemlens.attribution.moments.ledger import ledger_of, rows_of
from tfmemlens.attribution.moments.stacked_curve import BASELINE, OTHERS, stacked
from tfmemlens.model.allocation import BEFORE, Allocation, AllocationTable
from tfmemlens.model.attribution import Attribution, Kind, Owner, Phase
from tfmemlens.model.case import Balance, Candidate, Moment, Naming
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.tensor import TensorType
from tfmemlens.model.timeline import Timeline
from tfmemlens.values import replace


def owner(layer: str | None, kind: Kind = Kind.ACTIVATION) -> Owner:
    return Owner(layer, kind, Phase.FORWARD)


def moment(*rows: Allocation, **more: object) -> Moment:
    return replace(
        Moment(Attribution(AllocationTable.of(rows), [owner("net") for _ in rows]), Balance()), **more
    )


class TestLedgers:
    STEP = timeline(row("a", 1, 10, 30), row("z", 0, 20, 30), row("b", 2, 20, None, scratch=True))
    VARIABLE = Allocation("w", 64, shape=(4, 4), dtype="float32")

    def test_of_a_step_with_what_stood_before_it(self) -> None:
        found = rows_of(moment(row("a", 1, 10, 30), self.VARIABLE, timeline=self.STEP))
        assert [*found.table.node] == ["a", "z", "b", "w"]
        assert [*found.table.size_bytes] == [MIB, 0, 2 * MIB, 64]
        assert ([*found.birth], [*found.death]) == ([0, 1, 2, -1], [3, 4, 5, 5])
        float32 = "float32"
        assert found.tensors == [
            TensorType((MIB // 4,), float32), TensorType((0,), float32), None, TensorType((4, 4), float32),
        ]  # fmt: skip
        assert found.owners[3] == owner("net")
        assert (len(found.owners), [*found.last_reader]) == (4, [])

    @pytest.mark.parametrize("most, known", [(4, True), (3, False)])
    def test_who_read_last(self, monkeypatch: pytest.MonkeyPatch, most: int, known: bool) -> None:
        monkeypatch.setattr("tfmemlens.attribution.moments.ledger.MAX_ROWS", most)
        ran = timeline(*self.STEP.table, ran=(("a", 9, 10), ("reader", 20, 30)))
        graph = Graph({"a": Node("a", "MatMul"), "reader": Node("reader", "MatMul", ("a",))})
        asked = moment(self.VARIABLE, timeline=ran)
        expected = ["reader", None, None, None] if known else []
        assert [*ledger_of(asked, graph).last_reader] == expected
        assert [*ledger_of(asked).last_reader] == []
        labels = ["a = MatMul()", "reader = MatMul(a)"]
        labelled = replace(ran, executions=replace(ran.executions, label=labels))
        assert [*ledger_of(replace(asked, timeline=labelled)).last_reader] == expected

    def test_of_a_failure_what_was_held(self) -> None:
        measured, figure, nothing = self.VARIABLE, Allocation("x", 400), Allocation("y", 8)
        naming = Naming((Candidate(TensorType((10, 10), "float32"), 0),), "size")
        found = ledger_of(moment(measured, figure, nothing, namings=(None, naming, None)))
        assert found.tensors == [TensorType((4, 4), "float32"), TensorType((10, 10), "float32"), None]
        assert ([*found.birth], [*found.death]) == ([-1, -1, -1], [0, 0, 0])
        assert found.owners == [owner("net")] * 3
        assert ledger_of(moment(figure)).tensors == [None]


class TestStackedCurves:
    """By layer, in columns of 10 ms, the first event at 10 ms."""

    @staticmethod
    def of(*rows: Allocation, columns: int = 4, top: int = 8) -> tuple[list[float], dict[str, list[float]]]:
        owners = {str(each.node): owner(str(each.node)) for each in rows}
        made = replace(timeline(*rows, baseline_mib=7), owners=owners)
        found = stacked(made, "layer", columns, top)
        sizes = {name: [each / MIB for each in held] for name, held in found.bytes_by_group.items()}
        assert sizes.pop(BASELINE) == [7] * columns
        return [*found.micros], sizes

    def test_each_column_has_its_highest_instant(self) -> None:
        micros, held = self.of(row("a", 4, 10, 30), row("b", 2, 20, 50))
        assert micros == [5000, 15000, 25000, 35000]
        assert held == {"a": [4, 4, 4, 0], "b": [0, 2, 2, 2]}
        assert list(held) == ["a", "b"]

    def test_where_nothing_happened_what_was_held_goes_on(self) -> None:
        _, held = self.of(row("a", 4, 10, 20), row("b", 2, 40, 50))
        assert held == {"a": [4, 4, 0, 0], "b": [0, 0, 0, 2]}
        _, long = self.of(row("a", 4, 10, 50))
        assert long == {"a": [4, 4, 4, 4]}

    def test_of_instants_as_high_the_first(self) -> None:
        _, held = self.of(row("a", 4, 10, 50), row("b", 1, 12, 13), row("c", 1, 14, 15))
        assert (held["b"], held["c"], held["a"][0]) == ([1, 0, 0, 0], [0, 0, 0, 0], 4)

    def test_small_groups_are_others(self) -> None:
        _, held = self.of(row("a", 4, 10, 30), row("b", 2, 20, 50), top=1)
        assert held == {"a": [4, 4, 4, 0], OTHERS: [0, 2, 2, 2]}

    def test_a_single_event(self) -> None:
        micros, held = self.of(row("a", 4, 10, None), columns=2)
        assert (micros, held) == ([0.25, 0.75], {"a": [4, 0]})

    def test_six_hundred_columns_and_eight_groups_by_kind(self) -> None:
        owners = {f"n{kind.value}": owner(None, kind) for kind in [*Kind][:10]}
        step = replace(timeline(*(row(name, 1, 0, 10) for name in owners)), owners=owners)
        found = stacked(step)
        assert (len(found.micros), len(found.bytes_by_group)) == (600, 10)
        assert set(found.bytes_by_group) <= {BASELINE, OTHERS, *(kind.value for kind in Kind)}
        assert "(no layer)" in stacked(step, "layer").bytes_by_group
        assert stacked(timeline()).bytes_by_group == {BASELINE: ()}


class TestLayers:
    def test_a_variable_that_the_step_replaced_counts(self) -> None:
        freed = Allocation("net/w", 256, start_micros=0, end_micros=5, purpose=BEFORE)
        step = timeline(freed, row("net/conv/Relu", 1, 0, 1))
        node = Node("net/w", "VarHandleOp", attributes={"shape": (3, 4), "dtype": "float32"})
        (layer, *_) = [each for each in summaries([step], [[]], Graph({"net/w": node})) if each.parameters]
        assert (layer.parameters, layer.parameter_bytes) == (12, 48)
        for graph in (None, Graph({"other": node})):
            assert not any(each.parameters for each in summaries([step], [[]], graph))

    def test_three_largest_outputs_of_its_forward_ops(self) -> None:
        rows = [row(f"net/conv/Relu_{number}", number, 0, 1) for number in (1, 4, 3, 2)]
        backward = row("gradients/net/conv/Relu_grad/ReluGrad", 9, 0, 1)
        (layer,) = summaries([timeline(*rows, backward, row("net/conv/tmp", 8, 0, 1, scratch=True))], [[]])
        assert [(each.bytes or 0) // MIB for each in layer.outputs] == [4, 3, 2]

    def test_of_a_long_step_sixteen_of_each_family(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rows = [row(f"cell/mul_{number}", 1, 0, 1) for number in range(20)]
        rows += [row("cell/mul_20", 2, 0, 1), row("gradients/cell/mul_1", 1, 0, 1), Allocation(None, 64)]
        step: Timeline = timeline(*rows)
        monkeypatch.setattr(layers, "_MAX_ROWS", 23)
        assert [*layers._representatives(step)] == [*range(23)]
        monkeypatch.setattr(layers, "_MAX_ROWS", 22)
        assert [*layers._representatives(step)] == [*range(16), 20]
