"""Which scope each eager tensor was made in: Keras opens one for each layer that it calls, whose name stands
in no eager op. TensorFlow tells a listener of every tensor that it makes; ids of tensors only grow, so that
the ids at which the scope changes are all that is kept. No function of ours is on the stack while an op runs.
"""

import ctypes
import itertools
import sys
import threading
from bisect import bisect_right
from typing import Any, Callable, Dict, List, Optional, Tuple

from .after_import import stands_for
from .recorder import Recorder

MARK = "tfmemlens scope:"
"""How the events begin that are put into the record of a step, one for each tensor when it was made."""
GRADIENT = "gradient_tape/"
"""What TensorFlow calls the scope of a gradient in a graph; in eager execution it opens none."""
_MOST_CHANGES, _MOST_SCOPES = 100_000, 10_000
_MOST_FRAMES = 16
_SETTER = "TFE_Py_SetEagerTensorProfiler"
_MANGLED = "_Z%d%sP7_object" % (len(_SETTER), _SETTER)


class EagerScopes:
    """Of a process. `context` gives TensorFlow's own of the thread; `gradient` is the code of its function
    that differentiates one op.
    """

    def __init__(self, context: Callable[[], Any], gradient: Any = None) -> None:
        self._context, self._gradient_code = context, gradient
        self._ids: List[int] = []
        """Of the first tensor of each change."""
        self._scopes: List[Tuple[str, int]] = []
        """The scope of each change, and how often it had been left before."""
        self._last = ""
        self._over = False
        """Whether a call of that scope has ended since."""
        self._ended: Dict[str, int] = {}
        """How often each scope was left."""
        self._gradient: Optional[Tuple[int, int]] = None
        """Of the op that was differentiated last: the thread, and the id of its youngest tensor."""
        self._failed = ""
        self._left = ""
        """The scope that an error left last."""
        self.mark: Optional[Callable[[str], Any]] = None
        """What makes an event in the record of a step; None while none is recorded."""

    def created(self, tensor: Any) -> None:
        """TensorFlow calls this for each eager tensor, right after it was made."""
        try:
            scope = self._context().scope_name
            if self._gradient is not None:
                scope = self._of_gradient() or scope
            if scope != self._last or self._over:
                self._last, self._over = scope, False
                self._ids.append(tensor._id)
                self._scopes.append((sys.intern(scope), self._ended.get(scope, 0)))
                if len(self._ids) > 2 * _MOST_CHANGES:
                    del self._ids[:_MOST_CHANGES], self._scopes[:_MOST_CHANGES]
            if self.mark is not None:
                self.mark(MARK + scope).Stop()
        except Exception:  # the program goes on, whatever TensorFlow's objects have become
            pass

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
            self._gradient = (threading.get_ident(), youngest)

    def _of_gradient(self) -> Optional[str]:
        """The scope of a gradient, as long as one is computed on this thread."""
        thread, youngest = self._gradient or (0, -1)
        if thread != threading.get_ident():
            return None
        frame, left = sys._getframe(2), _MOST_FRAMES  # type: Any, int
        while frame is not None and left:
            if frame.f_code is self._gradient_code:
                return _gradient_of(self._at(youngest)[0])
            frame, left = frame.f_back, left - 1
        self._gradient = None
        return None

    def _at(self, number: int) -> Tuple[str, int]:
        """The scope of the tensor with this id, and which call of it."""
        at = bisect_right(self._ids, number) - 1
        return self._scopes[at] if at >= 0 else ("", -1)

    def of(self, tensor: Any) -> Optional[str]:
        """The scope that a tensor was made in: empty in none, None where it is too old to be known."""
        scope, call = self._at(getattr(tensor, "_id", -1))
        return scope.strip("/") if call >= 0 else None

    def call_of(self, tensor: Any) -> int:
        """A number that tensors of one scope share which were made in one call of it."""
        return self._at(getattr(tensor, "_id", -1))[1]

    def left(self, failed: bool) -> None:
        """A scope is left; `failed`, where an error leaves it. The first that one leaves is where it arose:
        those after it are around it.
        """
        context = self._context()
        scope = context.scope_name
        if failed:
            if scope == self._left or not self._left.startswith(scope):
                self._failed = scope
            self._left = scope
            return
        self._failed = self._left = ""
        if not scope or not context.executing_eagerly():
            return
        if scope == self._last:
            self._over = True
        if scope in self._ended or len(self._ended) < _MOST_SCOPES:
            self._ended[scope] = self._ended.get(scope, 0) + 1

    def failed(self, trace: Any) -> Optional[str]:
        """The scope of the op that failed; `trace` is the traceback of the error."""
        while trace is not None:
            if trace.tb_frame.f_code is self._gradient_code and self._gradient is not None:
                return _gradient_of(self._at(self._gradient[1])[0]).strip("/")
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
    gradient = getattr(getattr(module, "_gradient_function", None), "__code__", None)
    scopes = EagerScopes(module.context.context, gradient)
    if not _register(scopes, pywrap, sys.modules.get(root + "_pywrap_tensorflow_internal")):
        return
    recorder.scopes = scopes
    _patch_exit(ops.name_scope_v2, scopes, recorder)
    if gradient is not None and hasattr(module, "_MockOp"):
        _patch_op(module._MockOp, scopes, recorder)


def _register(scopes: EagerScopes, pywrap: Any, library: Any) -> bool:
    """Whether TensorFlow tells it of tensors. In 2.4 and 2.11 its binding takes no Python object, and the
    function is asked for in the library itself, under the name that holds its arguments' types.
    """
    setter = getattr(pywrap, _SETTER, None)
    if setter is None:
        return False
    try:
        setter(scopes)
        return True
    except TypeError:
        pass
    try:
        function = getattr(ctypes.PyDLL(library.__file__), _MANGLED)
    except (AttributeError, OSError):
        return False
    function.argtypes, function.restype = [ctypes.py_object], ctypes.py_object
    function(scopes)
    return True


def _patch_exit(scope: Any, scopes: EagerScopes, recorder: Recorder) -> None:
    original, left = scope.__exit__, recorder.guard(scopes.left)

    def leave(self: Any, *told: Any) -> Any:
        left(bool(told) and told[0] is not None)
        return original(self, *told)

    scope.__exit__ = stands_for(leave, original)


def _patch_op(op: Any, scopes: EagerScopes, recorder: Recorder) -> None:
    original, differentiated = op.__init__, recorder.guard(scopes.differentiated)

    def init(self: Any, attrs: Any, inputs: Any, outputs: Any, *more: Any) -> None:
        original(self, attrs, inputs, outputs, *more)
        differentiated(inputs, outputs)

    op.__init__ = stands_for(init, original)
