"""Which TensorFlow and which front end an input betrays, each clue alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import row
from tfmemlens.attribution.names.api_detection import api_of
from tfmemlens.model.allocation import AllocationTable
from tfmemlens.model.capture import Capture, Source, Surroundings
from tfmemlens.model.case import FrontEnd
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.incident import FailedRequest, HolderBlock, Incident
from tfmemlens.model.line import Line
from tfmemlens.readers.program import read_file


def failed(*held: str, **request: Any) -> Incident:
    blocks = (HolderBlock(None, None, AllocationTable.of([row(name, 1, 0, None) for name in held])),)
    return Incident(FailedRequest(**request), holders=blocks if held else ())


@pytest.mark.parametrize(
    "incident, front_end",
    [
        (failed(), FrontEnd.UNKNOWN),
        (failed(node="net/conv/Conv2D", op="Conv2D"), FrontEnd.UNKNOWN),
        (failed(op="Conv2D"), FrontEnd.EAGER),
        (failed(node="x", function="__wrapped__Conv2D_device_CPU"), FrontEnd.EAGER),
        (failed(node="x", function="__inference_step_12"), FrontEnd.FUNCTION),
        (failed(node="gradient_tape/Conv2D"), FrontEnd.FUNCTION),
        (failed(node="net/PartitionedCall"), FrontEnd.FUNCTION),
        (failed(node="x", forward_node="gradient_tape/x"), FrontEnd.FUNCTION),
        (failed("a", "gradient_tape/b", node="x"), FrontEnd.FUNCTION),
        (failed("a", node="x"), FrontEnd.SESSION),
        (failed(node="gradients/x"), FrontEnd.SESSION),
        (failed(node="x", attributes=(("T", "float"),)), FrontEnd.SESSION),
        (failed(node="model/x"), FrontEnd.KERAS),
        (failed(node="sequential_1/x"), FrontEnd.KERAS),
        (failed(node="x", keras_layer=("a", "Dense")), FrontEnd.KERAS),
        (failed(node="x", function="__inference_train_function_12"), FrontEnd.KERAS),
        (failed(*["a"] * 39, "model/b", node="x"), FrontEnd.KERAS),
        (failed(*["a"] * 40, "model/b", node="x"), FrontEnd.SESSION),  # the first forty tell
    ],
)
def test_the_front_end_of_a_failure(incident: Incident, front_end: FrontEnd) -> None:
    assert api_of(Capture(Source("x"), (incident,))).front_end is front_end


@pytest.mark.parametrize(
    "version, incidents, session, expected",
    [
        (None, (), False, ((0, 5), (2, 99))),
        (("1.4", "1.15"), (), False, ((1, 4), (1, 15))),
        (("2.4", "2.21"), (), False, ((2, 4), (2, 99))),  # the newest that is known stands for all after it
        (("2.4", "2.20"), (), False, ((2, 4), (2, 20))),
        (None, (failed(op="Conv2D"),), False, ((1, 13), (2, 99))),
        (("1.15", "2.0"), (failed(op="Conv2D"),), False, ((1, 15), (2, 0))),
        (None, (failed(node="gradient_tape/x"),), False, ((2, 0), (2, 99))),
        (("2.4", "2.9"), (failed(node="gradient_tape/x"),), False, ((2, 4), (2, 9))),
        (None, (failed(node="x", function="__inference_train_function_1"),), False, ((2, 0), (2, 99))),
        (None, (failed(node="model/x"),), True, ((0, 5), (1, 15))),
        (("2.0", "2.9"), (failed(node="model/x"),), True, ((2, 0), (2, 9))),
        (("1.4", "1.9"), (failed(node="model/x"),), True, ((1, 4), (1, 9))),
        (None, (failed("a", node="x"),), True, ((0, 5), (2, 99))),
    ],
)
def test_versions(version: Any, incidents: tuple[Incident, ...], session: bool, expected: Any) -> None:
    seen = Surroundings(session=session)
    api = api_of(Capture(Source("x", version=version), incidents, surroundings=seen))
    assert (api.oldest, api.newest) == expected


def test_a_stack_trace_through_a_session_is_one() -> None:
    seen = Surroundings(session=True)
    assert api_of(Capture(Source("x"), surroundings=seen)).front_end is FrontEnd.SESSION
    keras = Capture(Source("x"), (failed(node="model/x"),), surroundings=seen)
    assert api_of(keras).front_end is FrontEnd.KERAS


@pytest.mark.parametrize(
    "name, op, version, expected",
    [
        ("a", "Add", None, ((0, 5), (2, 99))),
        ("a-0-0-TransposeNHWCToNCHW-LayoutOptimizer", "Transpose", None, ((0, 5), (2, 99))),
        ("LayoutOptimizer-x", "Const", None, ((1, 4), (1, 14))),
        ("net/LayoutOptimizer", "Const", None, ((1, 4), (1, 14))),
        ("PermConstNHWCToNCHW-LayoutOptimizer", "Const", None, ((1, 4), (1, 14))),
        ("a-1-VecPermuteNHWCToNCHW", "DataFormatVecPermute", None, ((1, 4), (1, 14))),
        ("a-0-PermConstNHWCToNCHW-x", "Const", None, ((1, 14), (2, 99))),
        ("a", "AddV2", None, ((1, 14), (2, 99))),
        ("a", "FusedBatchNormV3", None, ((1, 14), (2, 99))),
        ("a", "AddV2", ("1.4", "1.9"), ((1, 4), (1, 9))),  # what is stated is believed
    ],
)
def test_what_a_graph_tells(name: str, op: str, version: Any, expected: Any) -> None:
    api = api_of(Capture(Source("x", version=version), graph=Graph({name: Node(name, op)})))
    assert (api.oldest, api.newest, api.front_end) == (*expected, FrontEnd.UNKNOWN)


def test_a_graph_with_gradients_is_a_sessions() -> None:
    graph = Graph({"gradients/a": Node("gradients/a", "Add")})
    assert api_of(Capture(Source("x"), graph=graph)).front_end is FrontEnd.SESSION
    keras = api_of(Capture(Source("x"), (failed(node="model/x"),), graph=graph))
    assert keras.front_end is FrontEnd.KERAS


@pytest.mark.parametrize(
    "framework, front_end", [("jax", FrontEnd.JAX), ("torch_xla", FrontEnd.TORCH_XLA), ("xla", FrontEnd.XLA)]
)
def test_other_frameworks_are_told_by_their_logs(framework: str, front_end: FrontEnd) -> None:
    capture = Capture(Source("x", framework=framework), (failed(node="model/x"),))
    assert api_of(capture).front_end is front_end


@pytest.mark.parametrize(
    "code, request_, front_end",
    [
        ("import jax", {}, FrontEnd.JAX),
        ("from jax import numpy as jnp", {}, FrontEnd.JAX),
        ("import jax.numpy as jnp\nimport tensorflow as tf", {}, FrontEnd.UNKNOWN),
        ("import numpy as np", {}, FrontEnd.UNKNOWN),
        ("from . import jax", {}, FrontEnd.UNKNOWN),
        ("import jax", {"shape": (2, 3)}, FrontEnd.UNKNOWN),
        ("import jax", {"node": "net/x"}, FrontEnd.UNKNOWN),
        ("import jax", {"op": "Conv2D"}, FrontEnd.EAGER),
        ("import jax", {"node": "net/x", "function": "__inference_step_12"}, FrontEnd.FUNCTION),
    ],
)
def test_a_program_of_jax_beside_a_log_of_nobody(
    code: str, request_: dict[str, Any], front_end: FrontEnd
) -> None:
    lines = tuple(Line(number, text) for number, text in enumerate(code.splitlines(), 1))
    told = Surroundings(program=lambda: read_file(lines))
    assert api_of(Capture(Source("-"), (failed(**request_),), surroundings=told)).front_end is front_end
