"""Tensors that are copies of the program's arrays, which `fit` and others were given whole."""

from __future__ import annotations

from typing import Any

import pytest

from tests.recording.test_arrays import Array
from tests.recording.test_inside import AS_LONG_AS_IT_TAKES, EagerTensor
from tfmemlens.model.live_model import OF_A_CALL
from tfmemlens.recording.inside import given, living


@pytest.fixture(autouse=True)
def _all_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(living, "MAX_OBJECTS", 10**9)
    monkeypatch.setattr(given, "LEAST_BYTES", 1000)


class Number(float):
    """Looks like NumPy's."""

    def astype(self, kind: str) -> Number:
        return Number(round(self, 2)) if kind == "float32" else self


class Numbers(Array):
    """Its numbers count on from `start`."""

    def __init__(self, *shape: int, start: float = 0.0, dtype: str = "float32") -> None:
        super().__init__(*shape)
        self.dtype, self.size = dtype, self.nbytes // 4
        self.flat = [Number(start + each) for each in range(self.size)]


Numbers.__name__, Numbers.__module__ = "ndarray", "numpy"


class Copy(EagerTensor):
    """The numbers of an array, as TensorFlow has them."""

    def __init__(self, array: Numbers, rows: int | None = None, device: str = "/device:CPU:0") -> None:
        super().__init__(rows or array.shape[0], *array.shape[1:])
        self.device, self._array = device, array

    def _numpy(self) -> Any:
        shape = self.shape
        cast = Numbers(*shape)
        cast.flat = [each.astype("float32") for each in self._array.flat][: cast.size]
        return cast


Copy.__name__, Copy.__module__ = "EagerTensor", "tensorflow.python.framework.ops"


class Dataset:
    """A library's own object: no name leads into it."""

    __slots__ = ("tensors",)

    def __init__(self, *tensors: Any) -> None:
        self.tensors = list(tensors)


Dataset.__module__ = "tensorflow.data"


def from_tensor_slices(array: Numbers) -> Dataset:
    return Dataset(Copy(array))


def _holders(*shape: int) -> list[tuple[str | None, str, str | None]]:
    told = living.living(seconds=AS_LONG_AS_IT_TAKES)
    return [
        (each["name"], each["kind"], each.get("call"))
        for group in told["groups"]
        if group["shape"] == list(shape)
        for each in group["held_by"]
    ]


def test_a_copy_goes_by_the_name_of_the_array_and_the_line_of_the_call() -> None:
    frames = Numbers(9, 5, 17, start=0.001, dtype="float64")
    other = Numbers(9, 5, 17, start=7.0)
    kept = from_tensor_slices(frames)
    assert _holders(9, 5, 17) == [("frames", living.GIVEN, "from_tensor_slices")]
    assert kept and other


def test_the_first_rows_of_an_array_are_its_copy_too() -> None:
    frames = Numbers(9, 6, 17)
    kept = Dataset(Copy(frames, rows=6))
    assert _holders(6, 6, 17) == [("frames", living.GIVEN, None)]
    assert kept


def test_other_numbers_are_nobodys() -> None:
    frames = Numbers(9, 7, 17)
    kept = Dataset(Copy(Numbers(9, 7, 17, start=1.0)))
    assert _holders(9, 7, 17) == [(None, "list", None)]
    assert kept and frames


def test_a_tensor_with_a_name_of_its_own_keeps_it() -> None:
    frames = Numbers(9, 8, 17)
    reference = Copy(frames)
    assert _holders(9, 8, 17) == [("reference", "variable", None)]
    assert frames and reference


@pytest.mark.parametrize(("dtype", "same"), [("float32", True), ("float64", False)])
def test_on_another_device_no_number_is_read(dtype: str, same: bool) -> None:
    frames = Numbers(9, 9, dtype=dtype)
    tensor = Copy(Numbers(9, 9, start=5.0), device="/device:GPU:0")
    assert given.is_copy(tensor, (9, 9), frames) is same
    assert not given.is_copy(tensor, (8, 9), frames)


def test_what_a_call_that_runs_was_given_goes_by_its_parameter() -> None:
    """The frames of a call: the program's, then the library's."""
    array = Numbers(9, 10, 17)

    def fit(x: Any, y: Any = None) -> Any:
        import sys

        frame = sys._getframe()
        return list(given.calls([(frame.f_back, 41), (frame, 7)], lambda file: file == "train.py"))

    code = compile("told = fit(array)", "train.py", "exec")
    known: dict[str, Any] = {"fit": fit, "array": array}
    exec(code, known)
    (first, second) = known["told"]
    assert (first[0], first[1], first[3]) == (array, "x", given.GivenTo("fit", 41))
    assert second[0] is None


def test_calls_are_found_with_what_stands_in_tuples() -> None:
    import ast

    tree = ast.parse("a = f(frames)\nb = Dataset.from_tensor_slices(\n    (self.frames, labels))\n")
    assert given._call_in(tree, "labels") == given.GivenTo("from_tensor_slices", 2)
    assert given._call_in(tree, "frames") == given.GivenTo("from_tensor_slices", 2)
    assert given._call_in(tree, "a") is None
    assert given._call_in(None, "a") is None


def test_what_a_library_has_made_for_itself_goes_by_the_line_that_calls_it() -> None:
    """Also where its own frames are left out of the traceback: those of the error before have them."""
    source = """
def multiply(x):
    raise ValueError(x)
def normal(make):
    made = make()
    multiply([made])
"""
    known: dict[str, Any] = {}
    exec(compile(source, "/env/site-packages/tensorflow/ops.py", "exec"), known)
    try:
        known["normal"](lambda: EagerTensor(9, 31))
    except ValueError as error:
        inner = error.__traceback__
        while inner is not None and inner.tb_next is not None:
            inner = inner.tb_next
    told = living.living(seconds=AS_LONG_AS_IT_TAKES, causes=[inner])
    (holder,) = (group["held_by"][0] for group in told["groups"] if group["shape"] == [9, 31])
    called = test_what_a_library_has_made_for_itself_goes_by_the_line_that_calls_it.__code__
    expected = {"name": None, "kind": OF_A_CALL, "call": called.co_name}
    assert {key: holder[key] for key in expected} == expected
    assert holder["line"] > called.co_firstlineno


class TensorSliceDataset:
    """As TensorFlow has it: what it was given, or another that it reads from."""

    def __init__(self, *tensors: Any, source: Any = None) -> None:
        self._tensors, self._input_dataset = list(tensors), source


TensorSliceDataset.__module__ = "tensorflow.python.data.ops.dataset_ops"


def test_tensors_of_a_data_set_go_by_the_name_that_leads_to_it_and_arrays_by_theirs() -> None:
    labels = Numbers(9, 34, 17)
    batches = TensorSliceDataset(source=TensorSliceDataset(EagerTensor(9, 33, 17), Copy(labels)))
    assert _holders(9, 33, 17) == [("batches", living.DATA_SET, None)]
    assert [each[:2] for each in _holders(9, 34, 17)] == [("labels", living.GIVEN)]
    assert batches and labels


def test_a_data_set_that_no_name_leads_to_goes_by_the_line_that_failed() -> None:
    kept = [[[[[[TensorSliceDataset(EagerTensor(9, 35, 17))]]]]]]
    try:
        raise ValueError
    except ValueError as error:
        told = living.living(error.__traceback__, seconds=AS_LONG_AS_IT_TAKES)
    (holder,) = (group["held_by"][0] for group in told["groups"] if group["shape"] == [9, 35, 17])
    name = "test_a_data_set_that_no_name_leads_to_goes_by_the_line_that_failed"
    assert (holder["name"], holder["kind"], holder["call"]) == (None, living.DATA_SET, name)
    assert kept and holder["line"]
