"""Batches and tensors of the live program among buffers without a name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import timeline
from tfmemlens.attribution.moments.live_inputs import named_inputs
from tfmemlens.attribution.moments.live_variables import named_in_larger_chunks, with_variables
from tfmemlens.attribution.moments.timelines import owners_of
from tfmemlens.model.allocation import BEFORE, PIPELINE, Allocation
from tfmemlens.model.attribution import NOBODY, Kind
from tfmemlens.model.live_model import (
    KeptConstant,
    LiveModel,
    LiveVariable,
    StandingTensors,
)
from tfmemlens.model.tensor import TensorType
from tfmemlens.values import replace

BATCH = TensorType((300,), "float32")
"""1200 bytes, 1280 in BFC's chunks."""


def model(**known: Any) -> LiveModel:
    return LiveModel((), (), **known)


def freed(size: int, node: str | None = None) -> Allocation:
    return Allocation(node, size, start_micros=0.0, end_micros=5.0, purpose=BEFORE)


def made(asked: int, size: int = 1280) -> Allocation:
    return Allocation(None, size, requested_bytes=asked, start_micros=1.0, end_micros=4.0)


def names(row: Allocation, live: LiveModel) -> list[str | None]:
    return list(named_inputs(timeline(row), live).table.node)


@pytest.mark.parametrize(
    "row, name",
    [
        (made(1200), "input batch"),
        (made(1204), None),
        (freed(1280), "input batch"),
        (freed(2559), "input batch"),  # a chunk is less than twice what it was asked for
        (freed(2560), None),
        (freed(1024), None),
    ],
)
def test_a_batch_is_known_by_its_bytes(row: Allocation, name: str | None) -> None:
    assert names(row, model(inputs=(BATCH,))) == [name]


@pytest.mark.parametrize(
    "row, name", [(made(1200), "EagerTensor"), (freed(1280), "EagerTensor"), (freed(1536), None)]
)
def test_a_tensor_that_python_held_has_its_class(row: Allocation, name: str | None) -> None:
    assert names(row, model(tensors=(StandingTensors(BATCH, 1),))) == [name]


def test_each_tensor_is_freed_once_and_then_stands_no_more() -> None:
    live = model(tensors=(StandingTensors(BATCH, 2),))
    step = replace(named_inputs(timeline(freed(1280), freed(1280), freed(1280)), live), baseline_bytes=9999)
    assert list(step.table.node) == ["EagerTensor", "EagerTensor", None]
    assert list(with_variables(step, [], live)) == []
    one = replace(named_inputs(timeline(freed(1280)), live), baseline_bytes=9999)
    assert len(with_variables(one, [], live)) == 1


def test_what_has_a_name_keeps_it_and_small_sizes_tell_nothing() -> None:
    assert names(freed(1280, "w"), model(inputs=(BATCH,))) == ["w"]
    small = TensorType((100,), "float32")
    assert names(freed(512), model(inputs=(small,))) == [None]
    step = timeline(made(1200))
    assert named_inputs(step, model()) is step and named_inputs(step, None) is step


def of_pipeline(node: str | None) -> Allocation:
    return Allocation(node, 1280, requested_bytes=1200, start_micros=1.0, purpose=PIPELINE)


@pytest.mark.parametrize("size, name", [(1280, "input batch"), (1536, None)])
def test_what_a_pipeline_makes_is_known_without_a_model(size: int, name: str | None) -> None:
    """And so is the batch before it, by its chunk."""
    step = named_inputs(timeline(of_pipeline(None), of_pipeline("GatherV2"), freed(size)), None)
    assert list(step.table.node) == ["input batch", "GatherV2", name]
    assert [owner.kind for owner in owners_of(step)][:2] == [Kind.INPUT] * 2
    assert owners_of(step)[1].layer is None


def test_an_owner_goes_with_the_name() -> None:
    owners = named_inputs(timeline(made(1200)), model(inputs=(BATCH,))).owners
    assert owners["input batch"].kind is Kind.INPUT


@pytest.mark.parametrize(
    "ahead, baseline, device, told",
    [
        (True, 1280, "/host:CPU", ["input batch"]),
        (True, 1279, "/host:CPU", []),
        (True, 9999, "/device:GPU:0", []),
        (False, 9999, "/host:CPU", []),
    ],
)
def test_an_iterator_has_the_next_batch_ready(
    ahead: bool, baseline: int, device: str, told: list[str]
) -> None:
    step = replace(timeline(), baseline_bytes=baseline, device=device)
    rows = with_variables(step, [], model(inputs=(BATCH,), ahead=ahead))
    assert [row.node for row, _ in rows] == told


def constant(name: str, size: int, allocator: str = "bfc") -> KeptConstant:
    return KeptConstant(name, TensorType((size // 4,), "float32"), size, size, allocator)


@pytest.mark.parametrize(
    "baseline, told",
    [
        (9999, ["a/w/Initializer/zeros", "c"]),
        (4096, ["a/w/Initializer/zeros"]),
        (4095, ["c"]),
        (2047, []),
    ],
)
def test_constants_of_other_graphs_stand_as_far_as_there_is_room(baseline: int, told: list[str]) -> None:
    kept = (constant("a/w/Initializer/zeros", 4096), constant("c", 2048), constant("d", 2048, "GPU_0_bfc"))
    step = replace(timeline(), baseline_bytes=baseline, allocator="bfc")
    rows = with_variables(step, [], model(constants=kept))
    assert [row.node for row, _ in rows] == told
    assert all(owner.kind is Kind.CONSTANT for _, owner in rows)


@pytest.mark.parametrize(
    "baseline, told",
    [(9999, ["step/x"] * 3), (3 * 2048, ["step/x"] * 3), (3 * 2048 - 1, ["step/x"] * 2), (2047, [])],
)
def test_constants_of_all_traces_of_a_function_stand_whatever_the_allocator(
    baseline: int, told: list[str]
) -> None:
    kept = (replace(constant("step/x", 2048, ""), count=3),)
    step = replace(timeline(), baseline_bytes=baseline, allocator="bfc")
    rows = with_variables(step, [], model(constants=kept))
    assert [row.node for row, _ in rows] == told
    assert all(owner.kind is Kind.CONSTANT for _, owner in rows)


@pytest.mark.parametrize(
    "baseline, sizes",
    [
        (9999, [3072, 2048, 2048]),
        (6144 + 1024, [3072, 2048, 2048]),
        (6144 + 1023, [2048] * 3),
        (6143, [3072, 2048]),
        (4096 + 1023, [2048] * 2),
    ],
)
def test_tensors_have_the_chunks_that_a_dump_shows(baseline: int, sizes: list[int]) -> None:
    """Three of 2000 bytes take 2048 each; the dump has one in a larger chunk."""
    held = (StandingTensors(TensorType((2000,), "int8"), 3),)
    chunks = (("bfc", 2000, 3072), ("other", 2000, 4096), ("bfc", 2001, 4096))
    step = replace(timeline(), baseline_bytes=baseline, allocator="bfc")
    rows = with_variables(step, [], model(tensors=held, chunks=chunks))
    assert [row.size_bytes for row, _ in rows] == sizes


def variable(name: str, count: int, device: str = "") -> LiveVariable:
    return LiveVariable(name, name.split("/")[0], Kind.PARAMETER, TensorType((count,), "float32"), device)


class TestVariablesThatAStepDoesNotShow:
    """Rows are looked up in a table, and its handle says nothing of its size."""

    @staticmethod
    def named(baseline: int, *known: Allocation, live: LiveModel, device: str = "/device:CPU:0") -> list[Any]:
        step = replace(timeline(), baseline_bytes=baseline, device=device)
        rows = [(row, replace(NOBODY, kind=Kind.PARAMETER)) for row in known]
        return [row.node for row, _ in with_variables(step, rows, live) if row.size_bytes]

    shown, table = Allocation("a/w", 1280), Allocation("b/table", 0)

    @pytest.mark.parametrize("baseline, told", [(1280 + 4096, ["a/w", "b/table"]), (1280 + 4095, ["a/w"])])
    def test_are_added_where_there_is_room(self, baseline: int, told: list[str]) -> None:
        live = model(variables=(variable("a/w", 300), variable("b/table", 1024)))
        assert self.named(baseline, self.shown, self.table, live=live) == told

    def test_not_where_the_step_has_other_names(self) -> None:
        live = model(variables=(variable("x/w", 300), variable("b/table", 1024)))
        assert self.named(99999, self.shown, live=live) == ["a/w"]

    @pytest.mark.parametrize("lies, told", [("CPU:0", 2), ("", 2), ("GPU:0", 1)])
    def test_not_of_another_device(self, lies: str, told: int) -> None:
        live = model(variables=(variable("a/w", 300), variable("b/table", 1024, lies)))
        assert len(self.named(99999, self.shown, live=live)) == told


class TestAVariableInALargerChunk:
    """262,144 bytes lay in a chunk of 499,712, and the step made a new buffer for it."""

    @staticmethod
    def named(old: int, *variables: LiveVariable, new: int = 262144, ends: float | None = None) -> Any:
        made = Allocation("Sub", new, requested_bytes=new, start_micros=1.0, end_micros=ends)
        return named_in_larger_chunks(timeline(freed(old), made), model(variables=variables)).table.node[0]

    kernel = variable("a/kernel", 65536)

    @pytest.mark.parametrize(
        "old, told",
        [(499712, "a/kernel"), (524287, "a/kernel"), (524288, None), (262143, None), (262144, "a/kernel")],
    )
    def test_is_named_by_its_size(self, old: int, told: str | None) -> None:
        assert self.named(old, self.kernel) == told

    def test_not_without_a_new_buffer_that_stays(self) -> None:
        assert self.named(499712, self.kernel, ends=4.0) is None
        assert self.named(499712, self.kernel, new=262400) is None

    def test_of_several_the_largest(self) -> None:
        assert self.named(499712, variable("b/w", 65535), self.kernel) == "a/kernel"

    def test_one_that_is_named_already_is_not_named_again(self) -> None:
        step = timeline(freed(499712), freed(262144, "a/kernel"))
        live = model(variables=(self.kernel,))
        assert list(named_in_larger_chunks(step, live).table.node) == [None, "a/kernel"]
        assert named_in_larger_chunks(step, None) is step
