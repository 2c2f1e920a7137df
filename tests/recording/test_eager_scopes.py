"""In which scope each eager tensor was made, as the recorder learns it inside the program."""

from __future__ import annotations

import sys
from itertools import count
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tfmemlens.recording.inside import eager_scopes
from tfmemlens.recording.inside.eager_scopes import EagerScopes, LastTensor
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
    return EagerScopes(LastTensor(), lambda: context, _gradient_function.__code__)


def made(scopes: EagerScopes, context: Context, scope: str = "") -> EagerTensor:
    """A tensor, in this scope, which is entered and left where it is not the present one."""
    before, tensor = context.scope_name, EagerTensor()
    if scope != before:
        scopes.entered()
        context.scope_name = scope
    scopes._tensor.created(tensor)
    if scope != before:
        scopes.left(failed=False)
        context.scope_name = before
    return tensor


def test_the_last_tensor_is_known_by_its_id_and_not_kept() -> None:
    last = LastTensor()
    assert last.id == -1
    tensor = EagerTensor()
    references = sys.getrefcount(tensor)
    last.created(tensor)
    assert (last.id, sys.getrefcount(tensor)) == (tensor._id, references)
    assert (LastTensor().id, last.id) == (-1, tensor._id)


def test_no_python_runs_where_tensorflow_tells_of_a_tensor() -> None:
    """It would die of what a signal's handler raises there."""
    ran: list[Any] = []
    last, tensor = LastTensor(), EagerTensor()
    sys.setprofile(lambda frame, event, argument: ran.append((event, frame.f_code.co_name)))
    last.created(tensor)
    sys.setprofile(None)
    assert last.id == tensor._id
    assert [each for each in ran if each[0] == "call"] == []


def test_a_tensor_is_of_the_scope_that_it_was_made_in(scopes: EagerScopes, context: Context) -> None:
    tensors = [made(scopes, context, scope) for scope in ("net/a/", "net/a/", "net/b/", "", "net/a/")]
    assert [scopes.of(each) for each in tensors] == ["net/a", "net/a", "net/b", "", "net/a"]
    assert scopes.of(object()) is None
    assert scopes.of(EagerTensor()) is None  # nobody has told of it


def test_a_scope_that_is_not_left_yet_is_known(scopes: EagerScopes, context: Context) -> None:
    context.scope_name = "net/a/"
    outer = made(scopes, context, "net/a/")
    inner, after = made(scopes, context, "net/a/b/"), made(scopes, context, "net/a/")
    assert [scopes.of(each) for each in (outer, inner, after)] == ["net/a", "net/a/b", "net/a"]


def test_calls_of_a_layer_are_told_apart(scopes: EagerScopes, context: Context) -> None:
    """Also one right after the other, and not what runs in a layer inside of it."""
    context.scope_name = "net/a/"
    first = [
        made(scopes, context, "net/a/"),
        made(scopes, context, "net/a/b/"),
        made(scopes, context, "net/a/"),
    ]
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
    again = _gradient_function(scopes, lambda: made(scopes, context), result)
    inner = _gradient_function(scopes, lambda: made(scopes, context, "custom/"), given)
    scopes.differentiated_all()
    after = made(scopes, context)
    assert [scopes.of(each) for each in (result, again)] == ["gradient_tape/net/b"] * 2
    assert scopes.of(inner) == "gradient_tape/net/a"
    assert scopes.of(after) == ""
    context.eager = False
    scopes.differentiated([given], None)
    assert scopes._gradient is None


def test_a_gradient_that_failed_ends_at_the_next_scope(scopes: EagerScopes, context: Context) -> None:
    given = made(scopes, context, "net/a/")
    _gradient_function(scopes, lambda: None, given)
    assert scopes.of(made(scopes, context, "net/c/")) == "net/c"
    assert scopes.of(made(scopes, context)) == ""


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


def test_while_a_step_is_recorded_each_change_is_marked(scopes: EagerScopes, context: Context) -> None:
    """With the scope that ends there, so that what was made is of the next mark's."""
    told: list[str] = []
    scopes.record(lambda name: SimpleNamespace(Stop=lambda: told.append(name)))
    made(scopes, context, "net/a/")
    made(scopes, context)
    scopes.record(None)
    made(scopes, context, "net/a/")
    assert told == ["tfmemlens scope:", "tfmemlens scope:net/a/", "tfmemlens scope:"]


class Scope:
    left = False

    def __enter__(self) -> str:
        return "entered"

    def __exit__(self, *told: Any) -> str:
        type(self).left = True
        return "as always"


class MockOp:
    def __init__(self, attrs: Any, inputs: Any, outputs: Any, kind: Any, skipped: Any) -> None:
        self.told = (attrs, inputs, outputs, kind, skipped)


def backprop(monkeypatch: pytest.MonkeyPatch, context: Context, setter: Any) -> Any:
    """TensorFlow's module with what is patched of it."""
    ops: Any = ModuleType("tensorflow.python.framework.ops")
    ops.name_scope_v2 = type("name_scope_v2", (Scope,), dict(vars(Scope)))
    monkeypatch.setitem(sys.modules, ops.__name__, ops)
    module: Any = ModuleType("tensorflow.python.eager.backprop")
    module.context = SimpleNamespace(context=lambda: context)
    module.pywrap_tfe = SimpleNamespace(TFE_Py_SetEagerTensorProfiler=setter)
    module._gradient_function = _gradient_function
    module._MockOp = type("_MockOp", (MockOp,), {"__init__": MockOp.__init__})
    module.ops, module.nest = ops, SimpleNamespace(pack_sequence_as=lambda *told: told, flatten=list)
    return module


def test_tensorflow_is_listened_to(monkeypatch: pytest.MonkeyPatch, context: Context, tmp_path: Any) -> None:
    registered: list[Any] = []
    module, own = backprop(monkeypatch, context, registered.append), Recorder(str(tmp_path), {}, None)
    eager_scopes.listen(module, own)
    assert [type(each) for each in registered] == [LastTensor]
    tensor = made(own.scopes, context, "net/a/")
    op = module._MockOp((), [tensor], None, "Relu", ())
    assert op.told == ((), [tensor], None, "Relu", ())
    assert own.scopes._gradient[1] == "gradient_tape/net/a/"
    assert (module.nest.pack_sequence_as([1], (2,)), module.nest.flatten((3,))) == (([1], (2,)), [3])
    assert own.scopes._gradient is None
    context.scope_name = "net/a/"
    leave = module.ops.name_scope_v2().__exit__
    assert leave(ValueError, ValueError(), None) == "as always"
    assert own.scopes.failed(None) == "net/a"
    assert module.ops.name_scope_v2().__enter__() == "entered"
    assert own.guard.problems == []


def test_a_scope_is_left_where_ctrl_c_interrupts_our_part(
    monkeypatch: pytest.MonkeyPatch, context: Context, tmp_path: Any
) -> None:
    def interrupted() -> Any:
        raise KeyboardInterrupt

    module, own = backprop(monkeypatch, context, lambda listener: None), Recorder(str(tmp_path), {}, None)
    eager_scopes.listen(module, own)
    own.scopes._context = interrupted
    scope = module.ops.name_scope_v2()
    with pytest.raises(KeyboardInterrupt):
        scope.__exit__(None, None, None)
    assert type(scope).left


def test_nothing_that_goes_wrong_reaches_the_program(
    monkeypatch: pytest.MonkeyPatch, context: Context, tmp_path: Any
) -> None:
    module, own = backprop(monkeypatch, context, lambda listener: None), Recorder(str(tmp_path), {}, None)
    eager_scopes.listen(module, own)
    own.scopes._context = lambda: None
    scope = module.ops.name_scope_v2()
    assert (scope.__enter__(), scope.__exit__(None, None, None)) == ("entered", "as always")
    assert len(own.guard.problems) == 2


def test_where_tensorflow_takes_no_listener_nothing_is_changed(
    monkeypatch: pytest.MonkeyPatch, context: Context, tmp_path: Any
) -> None:
    def refuses(listener: Any) -> None:
        raise TypeError("incompatible function arguments")

    module, own = backprop(monkeypatch, context, refuses), Recorder(str(tmp_path), {}, None)
    before = module._MockOp.__init__, module.ops.name_scope_v2.__exit__, module.nest
    eager_scopes.listen(module, own)
    assert own.scopes is None
    assert (module._MockOp.__init__, module.ops.name_scope_v2.__exit__, module.nest) == before
    del module.pywrap_tfe
    eager_scopes.listen(module, own)
    assert own.scopes is None
