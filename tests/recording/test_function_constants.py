"""The variables that only the traces of a function still keep."""

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tfmemlens.recording.inside import function_constants
from tfmemlens.recording.inside.function_constants import FunctionConstants


class FuncGraph:
    """As TensorFlow's, as far as it is asked."""

    def __init__(self, name: str, *handles: Any) -> None:
        self.name, self.external_captures = name, handles
        self.internal_captures = [
            Made(name="model_dense_resource:0", consumers=lambda: [READ]) for _ in handles
        ]

    def get_operations(self) -> list[Any]:
        return []


READ = Made(type="ReadVariableOp", name="model/dense/MatMul/ReadVariableOp")


def handle(*shape: int, known: bool = True, dtype: str = "resource") -> Any:
    sizes = Made(dim=[Made(size=each) for each in shape], unknown_rank=not known)
    return Made(dtype=Made(name=dtype), _handle_data=Made(shape_and_type=[Made(shape=sizes, dtype=1)]))


def told(monkeypatch: pytest.MonkeyPatch, owned: set[int], *graphs: FuncGraph) -> Any:
    monkeypatch.setattr(function_constants, "graphs", lambda: iter(graphs))
    monkeypatch.setattr(function_constants, "_handles_of_variables", lambda: owned)
    return FunctionConstants().told()


def test_variables_that_traces_alone_keep_are_the_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    mine, shared, lost = handle(10, 100), handle(10, 100), handle(10, 100)
    rows, functions = told(
        monkeypatch, {id(mine)}, FuncGraph("step", mine, shared), FuncGraph("step", lost, shared)
    )
    assert [(row["name"], row["bytes"], row["count"], row["variable"]) for row in rows] == [
        ("step/model.dense.MatMul", 4000, 2, True)
    ]
    assert functions == [{"name": "step", "traces": 2, "bytes": 8000, "variables": 8000}]


@pytest.mark.parametrize(
    "each", [handle(10, 100, known=False), handle(10), handle(10, 100, dtype="variant"), Made()]
)
def test_what_is_small_unknown_or_no_variable_is_left(monkeypatch: pytest.MonkeyPatch, each: Any) -> None:
    assert told(monkeypatch, set(), FuncGraph("step", each)) == ([], [])


def op(name: str, kind: str, *inputs: Any, shape: tuple[int | None, ...] = (20, 20)) -> Any:
    sizes = type("Shape", (tuple,), {"rank": len(shape)})(shape)
    dtype = Made(name="float32", size=4, as_datatype_enum=1)
    made = Made(name=name, type=kind, inputs=[each.outputs[0] for each in inputs], control_inputs=[])
    made.outputs = [Made(op=made, dtype=dtype, shape=sizes)]
    return made


def test_what_constants_alone_tell_is_kept_where_the_step_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mask of ones: the ones are gone, the mask stays; of an input nothing is known before."""
    size, given = op("size", "Const", shape=(2,)), op("ids", "Placeholder")
    ones = op("ones", "Fill", size)
    mask, drawn = op("mask", "MatrixBandPart", ones), op("noise", "RandomStandardNormal", size)
    large, open_ = op("large", "Fill", size, shape=(2000, 2000)), op("open", "Fill", size, shape=(None, 9))
    readers = [op(f"mul_{each.name}", "Mul", given, each) for each in (mask, drawn, large, open_)]
    graph = FuncGraph("step")
    monkeypatch.setattr(
        graph, "get_operations", lambda: [size, given, ones, mask, drawn, large, open_, *readers]
    )
    rows, functions = told(monkeypatch, set(), graph, graph)
    assert [(row["name"], row["bytes"], row["count"], row["folded"]) for row in rows] == [
        ("step/mask", 1600, 2, True)
    ]
    assert functions == []


def test_a_variable_that_a_function_makes_has_its_handle() -> None:
    """An optimizer's, for example: nobody says that nothing else has it."""
    base = type("UninitializedVariable", (), {})
    kinds = [type("UnliftedInitializerVariable", (base,), {}), type("Layer", (), {})]
    assert [function_constants._is_variable(kind) for kind in (base, *kinds)] == [True, True, False]
