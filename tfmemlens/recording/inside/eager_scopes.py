"""Which scope each eager tensor was made in: Keras opens one for each layer that it calls, whose name stands
in no eager op. Ids of tensors only grow, so that the id of the last one at each change of the scope is all
that is kept. No function of ours is on the stack while an op runs.

TensorFlow tells a listener of every tensor that it makes, and dies of any error in it; a signal's handler may
raise one in whatever Python code runs. So the listener is made of functions of C alone.
"""

import ctypes
import functools
import itertools
import operator
import sys
import threading
from bisect import bisect_left
from collections import deque
from types import SimpleNamespace
from typing import Any, Callable, Deque, Dict, List, Optional, Tuple

from .after_import import Namespace, stands_for
from .recorder import Recorder

MARK = "tfmemlens scope:"
"""How the events begin that are put into the record of a step: they name the scope of what was made since the
last of them.
"""
GRADIENT = "gradient_tape/"
"""What TensorFlow calls the scope of a gradient in a graph; in eager execution it opens none."""
_MOST_CHANGES, _MOST_SCOPES = 100_000, 10_000
_MOST_FRAMES = 16
_SETTER = "TFE_Py_SetEagerTensorProfiler"
_MANGLED = "_Z%d%sP7_object" % (len(_SETTER), _SETTER)


class LastTensor:
    """TensorFlow calls `created` for each eager tensor, right after it was made, whose id is kept."""

    def __init__(self) -> None:
        self._ids: Deque[int] = deque([-1], maxlen=1)
        told = type("Told", (), {"__gt__": self._ids.append})()
        # min() compares the tensor's id to what is told: int knows no such object, and so asks its __gt__
        self.created: Callable[[Any], Any] = functools.partial(
            min, SimpleNamespace(_id=told), key=operator.attrgetter("_id")
        )

    @property
    def id(self) -> int:
        """-1 before any."""
        return self._ids[0]


class EagerScopes:
    """Of a process. `context` gives TensorFlow's own of the thread; `gradient` is the code of its function
    that differentiates one op.
    """

    def __init__(self, last: LastTensor, context: Callable[[], Any], gradient: Any = None) -> None:
        self._tensor, self._context, self._gradient_code = last, context, gradient
        self._changes: List[Tuple[int, str, int]] = []
        """The id of the last tensor before each, its scope, and how often that had been left before."""
        self._forgotten = -1
        """The last tensor whose scope is no longer known."""
        self._ended: Dict[str, int] = {}
        """How often each scope was left."""
        self._gradient: Optional[Tuple[int, str]] = None
        """Of the op that is differentiated: the thread, and the scope."""
        self._failed = ""
        self._left = ""
        """The scope that an error left last."""
        self._mark: Optional[Callable[[str], Any]] = None

    def record(self, mark: Optional[Callable[[str], Any]]) -> None:
        """A step is recorded from now on, and `mark` makes an event in its record; None: no longer."""
        if mark is None and self._mark is not None:
            self._changes_now()
        self._mark = mark

    def _now(self) -> str:
        thread, scope = self._gradient or (0, "")
        return scope if thread == threading.get_ident() else str(self._context().scope_name)

    def _changes_now(self) -> None:
        """What was made since the last change is of the scope that ends here, or gives way to another."""
        scope, last = self._now(), self._tensor.id
        if last > (self._changes[-1][0] if self._changes else -1):
            self._changes.append((last, sys.intern(scope), self._ended.get(scope, 0)))
            if len(self._changes) > 2 * _MOST_CHANGES:
                self._forgotten = self._changes[_MOST_CHANGES - 1][0]
                del self._changes[:_MOST_CHANGES]
        if self._mark is not None:
            self._mark(MARK + scope).Stop()

    def differentiated(self, *tensors: Any) -> None:
        """TensorFlow computes the gradient of an op with these inputs and outputs, lists or none. The
        youngest is of its own scope: an output, or the value of a variable that was read for it.
        """
        youngest = -1
        for each in itertools.chain(*filter(None, tensors)):
            number = getattr(each, "_id", -1)
            if number > youngest and type(each).__name__ == "EagerTensor":
                youngest = number
        if self._context().executing_eagerly():
            self._changes_now()
            self._gradient = (threading.get_ident(), _gradient_of(self._at(youngest)[0]))

    def differentiated_all(self) -> None:
        """The gradients that were asked for on this thread are computed."""
        if self._gradient is not None and self._gradient[0] == threading.get_ident():
            self._changes_now()
            self._gradient = None

    def _at(self, number: int) -> Tuple[str, int]:
        """The scope of the tensor with this id, and which call of it; -1 where it is not known."""
        if not self._forgotten < number <= self._tensor.id:
            return ("", -1)
        at = bisect_left(self._changes, (number,))
        if at < len(self._changes):
            return self._changes[at][1:]
        scope = self._now()
        return (scope, self._ended.get(scope, 0))

    def of(self, tensor: Any) -> Optional[str]:
        """The scope that a tensor was made in: empty in none, None where it is too old to be known."""
        scope, call = self._at(getattr(tensor, "_id", -1))
        return scope.strip("/") if call >= 0 else None

    def call_of(self, tensor: Any) -> int:
        """A number that tensors of one scope share which were made in one call of it."""
        return self._at(getattr(tensor, "_id", -1))[1]

    def entered(self) -> None:
        """A scope is about to be entered."""
        if self._context().executing_eagerly():
            self._changes_now()
            self._end_gradient()

    def left(self, failed: bool) -> None:
        """A scope is about to be left; `failed`, where an error leaves it. The first that one leaves is where
        it arose: those after it are around it.
        """
        context = self._context()
        scope, eager = context.scope_name, context.executing_eagerly()
        if eager:
            self._changes_now()
            self._end_gradient()
        if failed:
            if scope == self._left or not self._left.startswith(scope):
                self._failed = scope
            self._left = scope
            return
        self._failed = self._left = ""
        if scope and eager and (scope in self._ended or len(self._ended) < _MOST_SCOPES):
            self._ended[scope] = self._ended.get(scope, 0) + 1

    def _end_gradient(self) -> None:
        """An error may have ended it, of which nobody is told."""
        if self._gradient is None or self._gradient[0] != threading.get_ident():
            return
        frame, left = sys._getframe(2), _MOST_FRAMES  # type: Any, int
        while frame is not None and left:
            if frame.f_code is self._gradient_code:
                return
            frame, left = frame.f_back, left - 1
        self._gradient = None

    def failed(self, trace: Any) -> Optional[str]:
        """The scope of the op that failed; `trace` is the traceback of the error."""
        while trace is not None:
            if trace.tb_frame.f_code is self._gradient_code and self._gradient is not None:
                return self._gradient[1].strip("/")
            trace = trace.tb_next
        return self._failed.strip("/") or None


def _gradient_of(scope: str) -> str:
    return scope if scope.startswith(GRADIENT) else GRADIENT + scope


def listen(module: Any, recorder: Recorder) -> None:
    """`tensorflow.python.eager.backprop`, after which all that is needed is loaded."""
    root = module.__name__.split(".")[0] + ".python."
    pywrap, ops = getattr(module, "pywrap_tfe", None), sys.modules.get(root + "framework.ops")
    if pywrap is None or ops is None or not hasattr(ops, "name_scope_v2"):
        return
    last, gradient = LastTensor(), getattr(getattr(module, "_gradient_function", None), "__code__", None)
    if not _register(last, pywrap, sys.modules.get(root + "_pywrap_tensorflow_internal")):
        return
    scopes = recorder.scopes = EagerScopes(last, module.context.context, gradient)
    _patch_scope(ops.name_scope_v2, scopes, recorder)
    if gradient is not None and hasattr(module, "_MockOp") and hasattr(module, "nest"):
        _patch_op(module._MockOp, scopes, recorder)
        _patch_nest(module, scopes, recorder)


def _register(last: LastTensor, pywrap: Any, library: Any) -> bool:
    """Whether TensorFlow tells it of tensors. In 2.4 and 2.11 its binding takes no Python object, and the
    function is asked for in the library itself, under the name that holds its arguments' types.
    """
    setter = getattr(pywrap, _SETTER, None)
    if setter is None:
        return False
    try:
        setter(last)
        return True
    except TypeError:
        pass
    try:
        function = getattr(ctypes.PyDLL(library.__file__), _MANGLED)
    except (AttributeError, OSError):
        return False
    function.argtypes, function.restype = [ctypes.py_object], ctypes.py_object
    function(last)
    return True


def _patch_scope(scope: Any, scopes: EagerScopes, recorder: Recorder) -> None:
    original_enter, entered = scope.__enter__, recorder.guard(scopes.entered)
    original_exit, left = scope.__exit__, recorder.guard(scopes.left)

    def enter(self: Any) -> Any:
        entered()
        return original_enter(self)

    def leave(self: Any, *told: Any) -> Any:
        try:
            left(bool(told) and told[0] is not None)
        finally:  # also where Ctrl-C is pressed just then
            result = original_exit(self, *told)
        return result

    scope.__enter__ = stands_for(enter, original_enter)
    scope.__exit__ = stands_for(leave, original_exit)


def _patch_op(op: Any, scopes: EagerScopes, recorder: Recorder) -> None:
    original, differentiated = op.__init__, recorder.guard(scopes.differentiated)

    def init(self: Any, attrs: Any, inputs: Any, outputs: Any, *more: Any) -> None:
        original(self, attrs, inputs, outputs, *more)
        differentiated(inputs, outputs)

    op.__init__ = stands_for(init, original)


def _patch_nest(module: Any, scopes: EagerScopes, recorder: Recorder) -> None:
    """The function that arranges the gradients is the last that a tape calls."""
    original, arranged = module.nest.pack_sequence_as, recorder.guard(scopes.differentiated_all)

    def pack(*args: Any, **kwargs: Any) -> Any:
        arranged()
        return original(*args, **kwargs)

    module.nest = Namespace(module.nest, pack_sequence_as=stands_for(pack, original))
