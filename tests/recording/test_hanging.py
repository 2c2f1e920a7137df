"""What Keras hangs on a tensor as an attribute is kept by whoever keeps the tensor."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.recording.test_inside import AS_LONG_AS_IT_TAKES, EagerTensor, GradientTape
from tfmemlens.recording.inside import living


@pytest.fixture(autouse=True)
def _all_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(living, "MAX_OBJECTS", 10**9)


def _activated(*shape: int) -> EagerTensor:
    tensor = EagerTensor(*shape)
    tensor._keras_logits = EagerTensor(*shape)  # type: ignore[attr-defined]
    return tensor


def _names(*shape: int) -> dict[tuple[str | None, str], int]:
    told = living.living(seconds=AS_LONG_AS_IT_TAKES)
    (group,) = (each for each in told["groups"] if each["shape"] == list(shape))
    return {(each["name"], each["kind"]): each["count"] for each in group["held_by"]}


def test_logits_of_kept_outputs_are_of_the_container() -> None:
    gates = [_activated(7, 3, 11) for _ in range(4)]
    assert _names(7, 3, 11) == {("gates", "list"): 8}
    assert gates


def test_logits_with_a_name_of_their_own_keep_it() -> None:
    first = [_activated(7, 5, 11) for _ in range(4)]
    second = {"raw": [each._keras_logits for each in first]}  # type: ignore[attr-defined]
    assert _names(7, 5, 11) == {("first", "list"): 4, ("second['raw']", "list"): 4}
    assert second


def test_logits_of_what_a_tape_keeps_are_of_the_tape() -> None:
    loose = object.__new__(type("Loose", (), {"__slots__": ("kept",), "__module__": "tensorflow.core"}))
    loose.kept = (_activated(7, 6, 11), 1)  # type: ignore[attr-defined]
    with GradientTape():
        assert _names(7, 6, 11) == {(None, living.TAPE): 2}


def _at(address: int, number: int, *shape: int, device: str = "/device:CPU:0") -> EagerTensor:
    """A tensor whose bytes lie there."""
    tensor = EagerTensor(*shape)
    array = SimpleNamespace(__array_interface__={"data": (address, False)})
    vars(tensor).update(_id=number, device=device, _numpy_internal=lambda: array)
    return tensor


def test_a_view_is_no_tensor_of_its_own() -> None:
    loose = object.__new__(type("Loose", (), {"__slots__": ("kept",), "__module__": "tensorflow.core"}))
    other, view = _at(4096, 2, 7, 7, 13), _at(4096, 5, 7, 7, 13)
    on_gpu = [_at(4096, number, 7, 7, 17, device="/device:GPU:0") for number in (3, 4)]
    loose.kept = (view, other, *on_gpu, _at(8192, 6, 7, 7, 13))  # type: ignore[attr-defined]
    with GradientTape():
        del other, view, on_gpu
        assert _names(7, 7, 13) == {(None, living.TAPE): 2}
        assert _names(7, 7, 17) == {(None, living.TAPE): 2}  # a device's memory is not looked at


def test_a_view_of_what_has_a_name_is_of_the_name() -> None:
    loose = object.__new__(type("Loose", (), {"__slots__": ("kept",), "__module__": "tensorflow.core"}))
    given = _at(4096, 2, 7, 9, 13)
    loose.kept = (_at(4096, 3, 7, 9, 13), 1)  # type: ignore[attr-defined]
    with GradientTape():
        assert _names(7, 9, 13) == {("given", "variable"): 1}
    assert given
