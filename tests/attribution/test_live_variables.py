"""The live model's variables in what stood before a step: which count, and when none do."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import timeline
from tfmemlens.attribution.moments.live_variables import named_before, with_variables
from tfmemlens.model.allocation import BEFORE, PERSISTENT, Allocation
from tfmemlens.model.attribution import NOBODY, Kind, Owner, Phase
from tfmemlens.model.live_model import KeptConstant, LiveModel, LiveVariable, StandingTensors
from tfmemlens.model.tensor import TensorType
from tfmemlens.model.timeline import Timeline
from tfmemlens.values import replace


def variable(name: str, count: int, kind: Kind = Kind.PARAMETER) -> LiveVariable:
    return LiveVariable(name, name.split("/")[0], kind, TensorType((count,), "float32"))


def model(*variables: LiveVariable) -> LiveModel:
    return LiveModel((), (), variables)


def freed(*sizes: int, node: str | None = None) -> Timeline:
    """A step that frees buffers of these sizes from before it."""
    rows = [Allocation(node, size, start_micros=0.0, end_micros=5.0, purpose=BEFORE) for size in sizes]
    return timeline(*rows)


class TestWhatTheStepFreed:
    def test_a_nameless_buffer_has_the_name_of_a_variable_of_its_size(self) -> None:
        """300 floats are 1200 bytes, which BFC rounds up to 1280."""
        found = named_before(freed(1280, 1536), model(variable("a/w", 300)))
        assert list(found.table.node) == ["a/w", None]
        assert found.owners["a/w"] == replace(NOBODY, layer="a", kind=Kind.PARAMETER, phase=Phase.NONE)

    def test_of_several_the_weights_first_each_once(self) -> None:
        slot, weight = variable("a/m", 300, Kind.OPTIMIZER_SLOT), variable("a/w", 300)
        assert list(named_before(freed(1280, 1280, 1280), model(slot, weight)).table.node) == [
            "a/w",
            "a/m",
            None,
        ]

    @pytest.mark.parametrize("count, named", [(256, True), (192, False)])
    def test_small_sizes_tell_nothing(self, count: int, named: bool) -> None:
        step = freed(4 * count)
        assert (named_before(step, model(variable("a/w", count))).table.node[0] == "a/w") is named

    def test_without_a_model_or_a_nameless_buffer_it_stays_the_same(self) -> None:
        step = freed(1280)
        assert named_before(step, None) is step
        known = freed(1280, node="x")
        assert named_before(known, model(variable("a/w", 300))) is known


class TestWhatStands:
    @staticmethod
    def named(baseline: int, *known: tuple[Allocation, Owner], live: LiveModel | None = None) -> list[Any]:
        live = live or model(variable("a/w", 300), variable("a/b", 10))
        step = replace(timeline(), baseline_bytes=baseline)
        return [row.node for row, _ in with_variables(step, known, live)]

    constant = Allocation("c", 256), Owner("a", Kind.CONSTANT, Phase.FORWARD)

    @pytest.mark.parametrize("baseline, names", [(1536, ["a/w", "a/b"]), (1535, [])])
    def test_all_or_none(self, baseline: int, names: list[str]) -> None:
        """1280 bytes and 256."""
        assert self.named(baseline) == names

    @pytest.mark.parametrize("baseline, names", [(1792, ["c", "a/w", "a/b"]), (1791, ["c"])])
    def test_beside_what_is_known(self, baseline: int, names: list[str]) -> None:
        assert self.named(baseline, self.constant) == names

    @pytest.mark.parametrize("kind", [Kind.PARAMETER, Kind.OPTIMIZER_SLOT])
    def test_where_variables_are_known_the_model_adds_none(self, kind: Kind) -> None:
        assert self.named(9999, (Allocation("x", 256), Owner("a", kind, Phase.NONE))) == ["x"]

    def test_what_the_step_freed_is_not_named_again(self) -> None:
        step = replace(freed(1280, node="a/w"), baseline_bytes=9999)
        live = model(variable("a/w", 300), variable("a/b", 10))
        ((row, owner),) = with_variables(step, [], live)
        assert (row.node, row.size_bytes, row.requested_bytes, row.shape) == ("a/b", 256, 40, (10,))
        assert (row.purpose, owner.layer, owner.kind) == (PERSISTENT, "a", Kind.PARAMETER)

    def test_without_a_model_what_is_known_stays(self) -> None:
        assert with_variables(timeline(), [self.constant], None) == [self.constant]


class TestChunksOfADump:
    """1200 bytes are 1280 in BFC's words."""

    @pytest.mark.parametrize(
        "baseline, chunks, sizes",
        [
            (9999, [2048, 1280], [1280, 2048]),
            (9999, [2304, 2048, 1536], [1536, 2048]),
            (1536 + 2304 + 256, [2304, 2048, 1536], [1536, 2304]),  # which leaves little without a name
            (1536 + 2304 + 257, [2304, 2048, 1536], [1536, 2048]),
            (2 * 1280 + 767, [2048], [1280, 1280]),
            (2 * 1280 + 768, [2048], [2048, 1280]),
            (9999, [1024], [1280, 1280]),
            (9999, [], [1280, 1280]),
        ],
    )
    def test_a_variable_has_the_smallest_chunk_that_was_asked_for_with_its_bytes(
        self, baseline: int, chunks: list[int], sizes: list[int]
    ) -> None:
        assert self.sizes(baseline, [("bfc", 1200, size) for size in chunks]) == sizes

    @pytest.mark.parametrize(("baseline", "names"), [(2560, ["a/w", "b/w"]), (2559, ["a/w"]), (1279, [])])
    def test_slots_that_were_made_since_are_left_out(self, baseline: int, names: list[str]) -> None:
        slot = variable("b/w", 300)
        live = model(variable("a/w", 300), replace(slot, kind=Kind.OPTIMIZER_SLOT))
        step = replace(timeline(), baseline_bytes=baseline)
        assert [row.node for row, _ in with_variables(step, [], live)] == names

    def test_of_another_allocator_or_for_another_size_none(self) -> None:
        assert self.sizes(9999, [("GPU_0_bfc", 1200, 2048), ("bfc", 1204, 2048)]) == [1280, 1280]

    @pytest.mark.parametrize(
        "left, constant, sizes",
        [
            (2 * 768, ("bfc", 1200, 2048), [2048, 2048]),
            (2 * 768 + 15, ("bfc", 1200, 2048), [2048, 2048]),
            (2 * 768 + 16, ("bfc", 1200, 2048), [1280, 1280]),  # more is there than the rests of chunks
            (2 * 768 - 16, ("bfc", 1200, 2048), [1280, 1280]),
            (2 * 768, ("GPU_0_bfc", 1200, 2048), [1280, 1280]),
            (2 * 768, ("bfc", 1204, 2048), [1280, 1280]),
            (0, ("bfc", 1200, 1280), [1280, 1280]),
        ],
    )
    def test_a_constant_of_as_many_bytes_shows_the_chunk(
        self, left: int, constant: tuple[str, int, int], sizes: list[int]
    ) -> None:
        allocator, asked, chunk = constant
        kept = KeptConstant("zeros", TensorType((asked,), "int8"), asked, chunk, allocator)
        live = replace(model(variable("a/w", 300), variable("b/w", 300)), constants=(kept,))
        beside = chunk if allocator == "bfc" else 0
        step = replace(timeline(), baseline_bytes=2 * 1280 + beside + left, allocator="bfc")
        rows = with_variables(step, [], live)
        assert [row.size_bytes for row, _ in rows if row.node != "zeros"] == sizes

    @staticmethod
    def sizes(baseline: int, chunks: list[tuple[str, int, int]]) -> list[int]:
        live = replace(model(variable("a/w", 300), variable("b/w", 300)), chunks=tuple(chunks))
        step = replace(timeline(), baseline_bytes=baseline, allocator="bfc")
        return [row.size_bytes for row, _ in with_variables(step, [], live)]


class TestTensorsThatPythonHeld:
    @staticmethod
    def held(baseline: int, *tensors: tuple[int, int, str], device: str = "") -> list[int]:
        live = LiveModel(
            (), (), (),
            tensors=tuple(
                StandingTensors(TensorType((size,), "int8"), count, on) for size, count, on in tensors
            ),
        )  # fmt: skip
        step = replace(timeline(), baseline_bytes=baseline, device=device)
        known = [(Allocation("known", 1024), NOBODY), (Allocation("less", -512), NOBODY)]
        rows = with_variables(step, known, live)[2:]
        assert {(row.node, owner.kind, row.purpose) for row, owner in rows} <= {
            ("EagerTensor", Kind.HELD, PERSISTENT)
        }
        return [row.size_bytes for row, _ in rows]

    @pytest.mark.parametrize(
        "baseline, sizes",
        [
            (1024, []),
            (1024 + 2047, []),
            (1024 + 2048, [2048]),
            (1024 + 4096, [2048, 2048]),
            (1024 + 8192, [2048, 2048, 2048]),
            (1024 + 6144 + 1024, [2048, 2048, 2048, 1024]),
            (1 << 20, [2048, 2048, 2048, 1024]),
        ],
    )
    def test_as_many_as_have_room(self, baseline: int, sizes: list[int]) -> None:
        """2000 bytes take 2048 of the allocator, 1000 take 1024."""
        found = self.held(baseline, (2000, 3, ""), (1000, 1, ""))
        assert found[: len(sizes)] == sizes
        assert sum(found) <= baseline - 1024

    @pytest.mark.parametrize(
        "on, device, counts",
        [
            ("", "/device:GPU:0", True), ("GPU:0", "/device:GPU:0", True), ("CPU:0", "/device:GPU:0", False),
            ("", "/device:CPU:0", True), ("GPU:0", "/device:CPU:0", False), ("CPU:0", "/device:CPU:0", True),
        ],
    )  # fmt: skip
    def test_of_the_step_s_device(self, on: str, device: str, counts: bool) -> None:
        assert bool(self.held(1 << 20, (2000, 1, on), device=device)) is counts

    def test_small_ones_tell_nothing_and_so_many_are_enough(self) -> None:
        assert self.held(1 << 20, (768, 1, ""), (769, 1, "")) == [1024]
        assert len(self.held(1 << 40, (1024, 2001, ""))) == 2000


def test_of_several_models_as_many_as_can_have_stood() -> None:
    """Their variables have the same names, those of the first model first."""
    live = model(*[variable(name, 1024) for _ in range(3) for name in ("a/w", "b/w")])
    for room, names in ((6, 6), (5, 4), (3, 2), (1, 0)):
        step = replace(timeline(), baseline_bytes=room * 4096)
        assert len(with_variables(step, [], live)) == names


def test_a_batch_that_python_holds_is_the_input() -> None:
    batch = TensorType((1024,), "float32")
    live = LiveModel((), (), tensors=(StandingTensors(batch, 3),), inputs=(batch,))
    rows = with_variables(replace(timeline(), baseline_bytes=1 << 20), [], live)
    assert [(row.node, owner.kind) for row, owner in rows] == [
        ("input batch", Kind.INPUT),
        ("EagerTensor", Kind.HELD),
        ("EagerTensor", Kind.HELD),
    ]
