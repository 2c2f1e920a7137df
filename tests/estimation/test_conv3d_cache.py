"""Which gradients of a Conv3D have a patch buffer, and what its size, or its want, tells of the cache."""

from __future__ import annotations

from typing import Any

import pytest

from tfmemlens.estimation.batch_scaling import conv3d_cache
from tfmemlens.estimation.batch_scaling.conv3d_cache import (
    MAX_CACHE_BYTES,
    Cache,
    Gradient,
    cache_of,
    gradient_of,
    most_and_least,
    remark,
    told,
    with_places,
)
from tfmemlens.knowledge.convolution.col_buffer import of_convolution
from tfmemlens.knowledge.convolution.cpu_backward import most_volumes
from tfmemlens.model.allocation import OUTPUT, TEMPORARY, Allocation, AllocationTable
from tfmemlens.model.convolution import Convolution, ConvolutionKind
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.tensor import TensorType
from tfmemlens.model.timeline import Executions, Timeline
from tfmemlens.values import replace

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
CONV = Convolution(ConvolutionKind.CONV3D, (4, 8, 8, 8, 4), (3, 3, 3), 8, (1, 1, 1), (1, 1, 1), "same")
"""512 positions, patches of 108 numbers: 221,184 bytes a volume."""
EACH = 512 * 108 * 4
UNIT = (512 * 108 + 512 * 8 + 108 * 8) * 4
FILTER, INPUT = "Conv3DBackpropFilterV2", "Conv3DBackpropInputV2"


def made(name: str, *shape: int | None, op: str = "Placeholder") -> Node:
    return Node(name, op, outputs=(TensorType(shape, "float32"),))


def graph_of(op: str = FILTER, **stated: Any) -> Graph:
    """A gradient `g` of CONV, with what its node states."""
    inputs = stated.pop("inputs", ("x", "s", "d") if op == FILTER else ("s", "w", "d"))
    shape = stated.pop("shape", (3, 3, 3, 4, 8) if op == FILTER else (4, 8, 8, 8, 4))
    attributes = {"strides": (1,) * 5, "padding": "SAME", **stated}
    nodes = (
        made("x", 4, 8, 8, 8, 4), made("w", 3, 3, 3, 4, 8), made("d", 4, 8, 8, 8, 8), made("s", 5),
        Node("g", op, inputs, CPU, attributes, (TensorType(shape, "float32"),)),
    )  # fmt: skip
    return Graph({node.name: node for node in nodes}, producer=stated.get("producer", "2.11"))


class TestGradients:
    @pytest.mark.parametrize("op, of_input", [(FILTER, False), (INPUT, True)])
    def test_its_convolution(self, op: str, of_input: bool) -> None:
        graph = graph_of(op)
        assert gradient_of(graph.nodes["g"], graph) == Gradient(CONV, of_input)

    @pytest.mark.parametrize(
        "stated, changed",
        [
            ({"strides": (1, 1, 2, 3, 1)}, {"strides": (1, 2, 3)}),
            ({"strides": (2, 2)}, {}),
            ({"dilations": (1, 1, 2, 3, 1)}, {"dilations": (1, 2, 3)}),
            ({"padding": "VALID"}, {"padding": "valid"}),
            ({"T": "float64"}, {"dtype": "float64"}),
            ({"inputs": ("x", "^w", "s", "d")}, {}),
            ({"data_format": "NDHWC"}, {}),
        ],
    )
    def test_what_it_states(self, stated: dict[str, Any], changed: dict[str, Any]) -> None:
        graph = graph_of(**stated)
        assert gradient_of(graph.nodes["g"], graph) == Gradient(replace(CONV, **changed), False)

    @pytest.mark.parametrize(
        "stated",
        [
            {"op": "Conv3D"},
            {"inputs": ("x", "s")},
            {"inputs": ("gone", "s", "d")},
            {"inputs": ("s", "x", "d")},
            {"data_format": "NCDHW"},
            {"shape": (3, 3, 3, 4)},
            {"shape": (3, 3, 3, 4, None)},
            {"shape": (3, 3, 3, 4, 0)},
            {"padding": "EXPLICIT"},
            {"T": "resource"},
        ],
    )
    def test_none_where_it_is_another_or_not_known(self, stated: dict[str, Any]) -> None:
        graph = graph_of(**stated)
        assert gradient_of(graph.nodes["g"], graph) is None


class TestWhatABufferTells:
    def test_none_means_a_cache_larger_than_what_is_allowed(self) -> None:
        assert of_convolution(CONV).image_bytes == EACH
        assert told(CONV, 0) == (most_volumes(CONV) * UNIT + 4, MAX_CACHE_BYTES)

    @pytest.mark.parametrize(
        "buffer, volumes",
        [
            (EACH, (1, 1)),
            (2 * EACH, (2, 2)),
            (2 * EACH - 1, (1, 1)),
            (3 * EACH, (2, 3)),  # a chunk may be almost twice the request
            (4 * EACH, (3, 4)),
        ],
    )
    def test_so_many_volumes_fill_it(self, buffer: int, volumes: tuple[int, int]) -> None:
        few, many = volumes
        assert told(CONV, buffer) == ((few - 1) * UNIT + 4, many * UNIT + 3)

    def test_what_no_number_of_volumes_takes(self) -> None:
        assert told(CONV, EACH - 1) == (1, 0)
        assert told(CONV, 1000 * EACH) == (1, 0)


def step(*buffers: int, name: str = "g", device: str = CPU, **more: Any) -> Timeline:
    rows = [Allocation(name, 1024, device=device, start_micros=5.0, end_micros=50.0, purpose=OUTPUT)]
    rows += [
        Allocation(name, size, device=device, start_micros=5.0, end_micros=9.0, purpose=TEMPORARY)
        for size in buffers
    ]
    ran = Executions([name], [5.0], [9.0])
    return Timeline(device, "cpu", AllocationTable.of(rows), executions=ran, **more)


class TestWhatAStepTells:
    def test_its_largest_buffer_counts(self) -> None:
        found = cache_of(step(2 * EACH, 64), graph_of())
        assert found == Cache(UNIT + 4, 2 * UNIT + 3, (UNIT + 4, 2 * UNIT + 3))
        assert found.volumes(CONV) == (2, 2)
        assert found.is_sure(Gradient(CONV, False))

    @pytest.mark.parametrize(
        "timeline, graph",
        [
            (step(2 * EACH, name="other"), graph_of()),
            (step(2 * EACH, device=CPU.replace("CPU", "GPU")), graph_of()),
            (step(2 * EACH, predicted=True), graph_of()),
            (step(2 * EACH), replace(graph_of(), producer="1.11")),
            (step(2 * EACH), graph_of("Conv3D")),
            (step(EACH - 1), graph_of()),
        ],
    )
    def test_nothing(self, timeline: Timeline, graph: Graph) -> None:
        assert cache_of(timeline, graph) is None

    @pytest.mark.parametrize("producer", ["1.12", "2.0", None, "x.1", "1"])
    def test_versions_that_have_it(self, producer: str | None) -> None:
        assert cache_of(step(2 * EACH), replace(graph_of(), producer=producer)) is not None

    @pytest.mark.parametrize(
        "likely, settled", [(UNIT + 3, False), (UNIT + 4, True), (2 * UNIT + 3, True), (2 * UNIT + 4, False)]
    )
    def test_what_is_likely_counts_where_the_step_allows_it(self, likely: int, settled: bool) -> None:
        found = cache_of(step(2 * EACH), graph_of(), likely)
        assert found is not None
        low, high = found.measured
        assert (low, high) == (UNIT + 4, 2 * UNIT + 3)
        expected = (likely, likely) if settled else (low, high)
        assert (found.low_bytes, found.high_bytes) == expected

    def test_what_a_reader_must_know(self) -> None:
        sure, open_cache = cache_of(step(2 * EACH), graph_of()), cache_of(step(), graph_of())
        assert open_cache is not None and sure is not None
        assert remark(step(2 * EACH), graph_of(), sure) is None
        said = remark(step(), graph_of(), open_cache)
        assert said is not None and "tells only that it has more than" in said
        likely = replace(open_cache, low_bytes=open_cache.low_bytes, high_bytes=open_cache.low_bytes)
        said = remark(step(), graph_of(), likely)
        assert said is not None and "taken to be this machine's" in said
        assert remark(step(), None, open_cache) is remark(step(), graph_of(), None) is None


class TestOtherBatches:
    def test_the_buffer_follows_the_cache(self) -> None:
        most, least = most_and_least(Gradient(CONV, False), Cache(UNIT + 4, 2 * UNIT + 3), 4)
        assert (most(4), least(4)) == (2 * EACH, 2 * EACH)
        open_most, open_least = most_and_least(Gradient(CONV, False), Cache(), 4)
        assert (open_most(4), open_least(4)) == (most_volumes(CONV) * EACH, 0)

    def test_of_an_input_of_one_image_one_volume(self) -> None:
        most, least = most_and_least(Gradient(CONV, True), Cache(UNIT + 4, 2 * UNIT + 3), 4)
        assert (most(1), least(1)) == (EACH, EACH)
        assert most(2) == 2 * EACH

    def test_an_empty_row_where_a_buffer_may_be(self) -> None:
        found = with_places(step(), graph_of())
        output, place = found.table
        assert (place.node, place.size_bytes, place.requested_bytes) == ("g", 0, 0)
        assert (place.start_micros, place.end_micros, place.purpose) == (5.0, 9.0, TEMPORARY)
        assert output.purpose == OUTPUT
        had = step(2 * EACH)
        assert with_places(had, graph_of()) is had
        assert with_places(had, None) is had


@pytest.mark.parametrize("stated, known", [(1 << 20, 1 << 20), (0, None)])
def test_this_machines_cache(monkeypatch: pytest.MonkeyPatch, stated: int, known: int | None) -> None:
    def answer(number: int) -> int:
        return stated if number == 194 else -1

    monkeypatch.setattr("os.sysconf", answer)
    assert conv3d_cache.this_machines_cache_bytes() == known


def test_a_machine_that_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.sysconf")
    assert conv3d_cache.this_machines_cache_bytes() is None
