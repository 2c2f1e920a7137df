"""Where a function's ops are made: which have a place, whose line it is, and which graph tells."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import pytest

from tfmemlens.recording.inside import op_places
from tfmemlens.recording.inside.living import Clock

TF = "/env/site-packages/tensorflow/python/framework/ops.py"
KERAS = "/env/site-packages/keras/src/losses.py"


class Made:
    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


def op(name: str, *frames: tuple[str, int, str]) -> Any:
    """Frames from the outermost in."""
    return Made(name=name, traceback=[*frames, (TF, 1, "create")])


def graph(*ops: Any) -> Any:
    return Made(get_operations=lambda: list(ops))


@pytest.fixture
def program(tmp_path: Path) -> str:
    file = tmp_path / "net.py"
    file.write_text("x = tf.random.normal([2])\ny = x @ w\nz = head(y)\ng = tf.nn.gelu(z)\n")
    return str(file)


def told(*graphs: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[str, int]]:
    monkeypatch.setattr(op_places, "graphs", lambda: iter(graphs))
    rows = op_places.OpPlaces().told()
    return {name: (row["function"], row["line"]) for row in rows for name in row["ops"]}


def test_ops_in_no_scope_and_scopes_that_their_line_calls(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = graph(
        op("MatMul", (program, 9, "step"), (program, 2, "encode")),
        op("random_normal/mul", (program, 1, "encode")),
        op("head/MatMul", (program, 2, "encode")),  # a scope of the user's: its line calls no `head`
        op("trunk/add", (program, 3, "encode")),
        op("trunk/mul", (program, 2, "encode")),
        op("gradient_tape/MatMul", (program, 3, "step")),
    )
    assert told(made, monkeypatch=monkeypatch) == {"MatMul": ("encode", 2), "random_normal": ("encode", 1)}


def test_a_gradient_in_no_scope_is_of_the_line_that_it_differentiates(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a softmax TensorFlow multiplies and sums; `mul_5` may be a forward op, too."""
    softmax = op("Softmax", (program, 2, "attend"))
    mul = op("gradient_tape/mul_5", (program, 3, "step"))
    sub = op("gradient_tape/sub_1", (program, 3, "step"))
    other = op("gradient_tape/ones", (program, 3, "step"))
    mul.inputs = [Made(op=other), Made(op=softmax)]
    sub.inputs = [Made(op=other), Made(op=mul)]
    again = op("gradient_tape/gradient_tape/mul_6", (program, 3, "step"))
    again.inputs = [Made(op=mul)]
    forward = op("mul_5", (program, 3, "step"))
    made = graph(softmax, other, mul, sub, again, op("Gelu/mul", (program, 4, "encode")), forward)
    assert told(made, monkeypatch=monkeypatch) == {
        "Softmax": ("attend", 2), "gradient_tape/mul_5": ("attend", 2), "mul_5": ("step", 3),
        "gradient_tape/sub_1": ("attend", 2), "gradient_tape/mul_6": ("attend", 2), "Gelu": ("encode", 4),
    }  # fmt: skip


class Metric:
    """As Keras has it: `handle` is its variable's."""

    __module__ = "keras.metrics"

    def __init__(self, name: str, handle: Any) -> None:
        self.name, self.variables = name, [Made(_handle=handle)]


def test_what_a_metric_counts_goes_by_its_name(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Back from what it adds to its variable, as far as Keras updates it."""

    def made(name: str, *inputs: Any, function: str = "update_state", kind: str = "Mul") -> Any:
        each = op(name, (program, 3, "main"), (KERAS, 7, function))
        each.type, each.inputs = kind, [Made(op=other) for other in inputs]
        return each

    handle, other = Made(), Made()
    inside = made("total", kind="Placeholder"), made("weight", kind="Placeholder")
    logits = made("head/MatMul", function="call")
    tile = made("Tile_2", logits, made("y", function="call"))
    count = made("Sum_2", tile)
    adding = made("AssignAdd", inside[0], count, kind="AssignAddVariableOp")
    ops = [*inside, logits, tile, count, adding, made("step", inside[1], tile, kind="AssignSubVariableOp")]
    known = Made(
        get_operations=lambda: ops,
        external_captures=[handle, other],
        internal_captures=[Made(op=each) for each in inside],
    )
    metrics = [Metric("tag_auc", handle)]
    monkeypatch.setattr(op_places, "objects", lambda wanted: [one for one in metrics if wanted(type(one))])
    assert told(known, monkeypatch=monkeypatch) == {"Tile_2": ("tag_auc", 3), "Sum_2": ("tag_auc", 3)}
    for text, line in (
        ('z = head(y, "tag_auc")', 3),
        ("class Metric(M):\n m = Metric()", 2),
        ("Metric()\n" * 2, 3),
    ):
        Path(program).write_text(text.replace("z", "\n\nz"))
        linecache.clearcache()
        assert told(known, monkeypatch=monkeypatch)["Sum_2"] == ("tag_auc", line)
    metrics.clear()
    assert told(known, monkeypatch=monkeypatch) == {}


def test_what_keras_makes_is_not_the_programs(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = graph(
        op("Cast", (program, 3, "fit"), (KERAS, 7, "call")),
        op("Mean", (program, 3, "fit"), ("/env/site-packages/other/it.py", 7, "call")),
    )
    assert told(made, monkeypatch=monkeypatch) == {}


def test_of_one_name_the_larger_graph_tells(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    small = graph(op("MatMul", (program, 3, "evaluate")))
    large = graph(op("MatMul", (program, 2, "train")), op("Tanh", (program, 2, "train")))
    found = told(small, large, monkeypatch=monkeypatch)
    assert found == {"MatMul": ("train", 2), "Tanh": ("train", 2)}


def test_a_sessions_graph_is_looked_at_again_when_it_has_grown(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(op_places, "graphs", lambda: iter(()))
    places, ops = op_places.OpPlaces(), [op("MatMul", (program, 2, "train"))]
    session = Made(get_operations=lambda: ops, version=1)
    assert [row["ops"] for row in places.told(session)] == [["MatMul"]]
    ops.append(op("Tanh", (program, 2, "train")))
    assert [row["ops"] for row in places.told(session)] == [["MatMul"]]
    session.version = 2
    assert [row["ops"] for row in places.told(session)] == [["MatMul", "Tanh"]]
    assert places.told() == []


def test_it_is_bounded_in_time(program: str) -> None:
    clock = Clock(9.0)
    clock._left = 3
    ops = [op(f"MatMul_{number}", (program, 2, "encode")) for number in range(9)]
    assert len(list(op_places._places(graph(*ops), clock))) == 2
