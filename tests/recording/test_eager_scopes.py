"""In which scope each eager tensor was made, as the recorder learns it inside the program."""

from __future__ import annotations

import sys
from itertools import count
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tfmemlens.recording.inside import eager_scopes
from tfmemlens.recording.inside.eager_scopes import EagerScopes
from tfmemlens.recording.inside.recorder import Recorder


class EagerTensor:
    numbers = count(100)

    def __init__(self) -> None:
        self._id = next(self.numbers)


class Context:
    """Of TensorFlow's the part that is asked."""

    def __init__(self) -> None:
        self.scope_name, self.eager = "", True

    def executing_eagerly(self) -> bool:
        return self.eager


def _gradient_function(scopes: EagerScopes, make: Any, *tensors: Any) -> Any:
    scopes.differentiated(list(tensors), None)
    return make()


@pytest.fixture
def context() -> Context:
    return Context()


@pytest.fixture
def scopes(context: Context) -> EagerScopes:
    return EagerScopes(lambda: context, _gradient_function.__code__)


def made(scopes: EagerScopes, context: Context, scope: str = "") -> EagerTensor:
    tensor = EagerTensor()
    context.scope_name = scope
    scopes.created(tensor)
    return tensor


def test_a_tensor_is_of_the_scope_that_it_was_made_in(scopes: EagerScopes, context: Context) -> None:
    old = EagerTensor()
    tensors = [made(scopes, context, scope) for scope in ("net/a/", "net/a/", "net/b/", "", "net/a/")]
    assert [scopes.of(each) for each in tensors] == ["net/a", "net/a", "net/b", "", "net/a"]
    assert scopes.of(old) is None
    assert scopes.of(object()) is None


def test_calls_of_a_layer_are_told_apart(scopes: EagerScopes, context: Context) -> None:
    """Also one right after the other, and not what runs in a layer inside of it."""
    first = [made(scopes, context, "net/a/"), made(scopes, context, "net/a/b/")]
    scopes.left(failed=False)
    first.append(made(scopes, context, "net/a/"))
    scopes.left(failed=False)
    second = made(scopes, context, "net/a/")
    assert scopes.call_of(first[0]) == scopes.call_of(first[2]) != scopes.call_of(second)
    context.eager = False  # a graph is made: its scopes are no calls
    scopes.left(failed=False)
    assert scopes.call_of(made(scopes, context, "net/a/")) == scopes.call_of(second)


def test_the_oldest_changes_are_forgotten(
    scopes: EagerScopes, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eager_scopes, "_MOST_CHANGES", 4)
    tensors = [made(scopes, context, f"s{number}/") for number in range(9)]
    assert [scopes.of(each) for each in tensors] == [None] * 4 + [f"s{number}" for number in range(4, 9)]


def test_a_gradient_is_of_the_scope_of_its_op(scopes: EagerScopes, context: Context) -> None:
    given = made(scopes, context, "net/a/")
    kernel = made(scopes, context, "net/b/")
    result = _gradient_function(scopes, lambda: made(scopes, context), given, None, kernel)
    assert scopes.of(result) == "gradient_tape/net/b"
    again = _gradient_function(scopes, lambda: made(scopes, context), result)
    assert scopes.of(again) == "gradient_tape/net/b"
    assert scopes.of(made(scopes, context)) == ""  # the gradient is computed
    context.eager = False
    made(scopes, context, "net/c/")
    scopes.differentiated([given], None)
    assert scopes._gradient is None


class Trace:
    """A traceback of one frame."""

    tb_next = None

    def __init__(self, code: Any) -> None:
        self.tb_frame = SimpleNamespace(f_code=code)


def test_the_scope_that_failed_is_the_innermost(scopes: EagerScopes, context: Context) -> None:
    assert scopes.failed(None) is None
    for scope in ("net/block/dense/", "net/block/", "net/"):
        context.scope_name = scope
        scopes.left(failed=True)
    assert scopes.failed(None) == "net/block/dense"
    context.scope_name = "net/head/"
    scopes.left(failed=True)
    assert scopes.failed(None) == "net/head"


def test_an_error_that_was_caught_names_no_scope(scopes: EagerScopes, context: Context) -> None:
    context.scope_name = "net/a/"
    scopes.left(failed=True)
    context.scope_name = "net/"
    scopes.left(failed=False)
    assert scopes.failed(None) is None


def test_a_gradient_that_failed_is_known_by_its_frame(scopes: EagerScopes, context: Context) -> None:
    kernel = made(scopes, context, "net/b/")
    scopes.differentiated([kernel], ())
    assert scopes.failed(Trace(_gradient_function.__code__)) == "gradient_tape/net/b"
    assert scopes.failed(Trace(made.__code__)) is None


def test_while_a_step_is_recorded_each_tensor_is_marked(scopes: EagerScopes, context: Context) -> None:
    told: list[str] = []
    scopes.mark = lambda name: SimpleNamespace(Stop=lambda: told.append(name))
    made(scopes, context, "net/a/")
    made(scopes, context)
    assert told == ["tfmemlens scope:net/a/", "tfmemlens scope:"]


def test_nothing_that_goes_wrong_reaches_the_program(scopes: EagerScopes) -> None:
    scopes._context = lambda: None
    scopes.created(EagerTensor())


class Scope:
    def __exit__(self, *told: Any) -> str:
        return "as always"


class MockOp:
    def __init__(self, attrs: Any, inputs: Any, outputs: Any, kind: Any, skipped: Any) -> None:
        self.told = (attrs, inputs, outputs, kind, skipped)


def backprop(monkeypatch: pytest.MonkeyPatch, context: Context, setter: Any) -> Any:
    """TensorFlow's module with what is patched of it."""
    ops: Any = ModuleType("tensorflow.python.framework.ops")
    ops.name_scope_v2 = type("name_scope_v2", (Scope,), {"__exit__": Scope.__exit__})
    monkeypatch.setitem(sys.modules, ops.__name__, ops)
    module: Any = ModuleType("tensorflow.python.eager.backprop")
    module.context = SimpleNamespace(context=lambda: context)
    module.pywrap_tfe = SimpleNamespace(TFE_Py_SetEagerTensorProfiler=setter)
    module._gradient_function = _gradient_function
    module._MockOp = type("_MockOp", (MockOp,), {"__init__": MockOp.__init__})
    module.ops = ops
    return module


def test_tensorflow_is_listened_to(monkeypatch: pytest.MonkeyPatch, context: Context, tmp_path: Any) -> None:
    registered: list[Any] = []
    module, own = backprop(monkeypatch, context, registered.append), Recorder(str(tmp_path), {}, None)
    eager_scopes.listen(module, own)
    assert registered == [own.scopes]
    tensor = made(own.scopes, context, "net/a/")
    op = module._MockOp((), [tensor], None, "Relu", ())
    assert op.told == ((), [tensor], None, "Relu", ())
    assert own.scopes._gradient[1] == tensor._id
    leave = module.ops.name_scope_v2().__exit__
    assert leave(ValueError, ValueError(), None) == "as always"
    assert own.scopes.failed(None) == "net/a"
    assert own.guard.problems == []


def test_where_tensorflow_takes_no_listener_nothing_is_changed(
    monkeypatch: pytest.MonkeyPatch, context: Context, tmp_path: Any
) -> None:
    def refuses(listener: Any) -> None:
        raise TypeError("incompatible function arguments")

    module, own = backprop(monkeypatch, context, refuses), Recorder(str(tmp_path), {}, None)
    before = module._MockOp.__init__, module.ops.name_scope_v2.__exit__
    eager_scopes.listen(module, own)
    assert own.scopes is None
    assert (module._MockOp.__init__, module.ops.name_scope_v2.__exit__) == before
    del module.pywrap_tfe
    eager_scopes.listen(module, own)
    assert own.scopes is None
