"""TensorFlow 2: a call of a `tf.function`, or what lies between two gradient tapes, is a step; every so often
one is recorded by the profiler, in memory.

The first of a kind builds graphs and makes variables. It is recorded, too, in case that it fails: its record
is thrown away where it ends well; of one that takes long the last seconds are there.

A call of a function opens `Trace` for the profiler. That class is given a successor which is told of the
beginning and the end and is not on the stack in between.
"""

import os
import shutil
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Optional

from . import bundle, eager_scopes, inputs, living
from .after_import import Namespace, stands_for
from .function_graphs import Collector
from .recorder import Recorder, is_for_memory

_OPTIONS = {"host_tracer_level": 2, "python_tracer_level": 0, "device_tracer_level": 0}
"""Allocations are events of the host, also a GPU's; the tracer of the device costs much, if it is there."""
_TAKES_OPTIONS = "trace"
"""What TensorFlow's module has as long as it takes options: 2.21 warns of each on standard error, and records
the same without.
"""
_TAPE = "eager step"
_ABOVE = 3
"""Calls from a function's own to ours: Trace, the guard, what enters or leaves."""
_FIRST_SECONDS, _MOST_RENEWED, _MOST_FIRST = 30.0, 40, 12
"""After how long the record of a first step begins anew while Python builds the graph, how often it does, and
of how many kinds there is one.
"""
_MOST_RUNNING = 2
"""How often it goes on for as long while ops run. An allocator waits ten seconds before it fails."""
_RUNS = "quick_execute"
"""The function of TensorFlow's that is innermost then."""


class RecordedSteps:
    """The steps of a process; one at a time is recorded."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder, self._local = recorder, threading.local()
        self._lock = threading.Lock()
        self._session: Optional[Any] = None
        self._eager = False
        self._of_call = False
        self._first: Optional[threading.Timer] = None
        """Ends the record of a step that is the first of its kind; None while there is none."""
        self._firsts = self._renewed = self._running = self._thread = 0
        self._start = self._began = 0.0
        self._standing: List[Dict[str, Any]] = []
        self._graphs = Collector(recorder)
        self.enter, self.leave, self.tape, self.yield_to = (
            recorder.guard(each) for each in (self._enter, self._leave, self._tape, self._yield_to)
        )

    def _enter(self, name: str) -> None:
        depth = getattr(self._local, "depth", 0)
        self._local.depth = depth + 1
        if not depth and self._eager and self._first is not None:
            self.drop()  # what came after a program's only tape is no part of its step
        if depth or self._eager:
            return
        if self._session is not None and not self._recorder.active:  # begun by hand: this is its step
            self._recorder.guard(self._recorder.given)(inputs.of_call(_ABOVE))
            return
        if self._recorder.begins(name, inputs.bytes_of_call(_ABOVE)):
            self._recorder.guard(self._recorder.given)(inputs.of_call(_ABOVE))
            self._of_call = self.open()
        elif self._recorder.steps.get(name) == 1:
            self._recorder.guard(self._recorder.foresee)()
            self._graphs.open()
            self._recorder.guard(self._recorder.given)(inputs.of_call(_ABOVE))
            self._of_call = self._open_first()

    def _leave(self, name: str, error: Optional[BaseException], trace: Any) -> None:
        self._local.depth = getattr(self._local, "depth", 1) - 1
        if self._local.depth:
            return
        self._graphs.close()
        if error is not None:
            self._recorder.failing(inputs.of_call(_ABOVE))
        if self._first is not None and not (error is not None and is_for_memory(error)):
            self.drop()
        elif self._of_call:
            self.close(ended_well=error is None or not is_for_memory(error))
        if error is not None:
            self._recorder.failed(error, trace)
        elif self._recorder.steps.get(name, 0) == 1:
            self._recorder.first_step_done()

    def _tape(self) -> None:
        """A tape begins in eager execution: the step before it has ended."""
        if getattr(self._local, "depth", 0):
            return
        if self._first is not None:
            self.drop()
        elif self._eager:
            self.close()
        if self._recorder.begins(_TAPE):
            self._recorder.first_step_done()
            self._eager = self.open()
        elif self._recorder.steps.get(_TAPE) == 1:
            self._recorder.guard(self._recorder.foresee)()
            self._eager = self._open_first()

    def _yield_to(self) -> None:
        """The program's own profiler comes first."""
        if self._first is not None:
            self.drop()
        elif self._session is not None:
            self.close()

    def _open_first(self) -> bool:
        """Begin to record a step that is the first of its kind."""
        if self._firsts >= _MOST_FIRST or not self._recorder.active or not self.open():
            return False
        self._firsts += 1
        self._renewed = self._running = 0
        self._thread = threading.get_ident()
        self._first = self._timer()
        return True

    def _timer(self) -> threading.Timer:
        timer = threading.Timer(_FIRST_SECONDS, self._recorder.guard(self._renew))
        timer.daemon = True
        timer.start()
        return timer

    def _renew(self) -> None:
        """Begin the record of a first step anew, let it go on where ops run, or end it after a long time."""
        with self._lock:
            if self._first is None or self._session is None:
                return
            if self._eager or self._is_running():
                self._running += 1
                goes_on = self._running <= _MOST_RUNNING
            else:
                profiler = _profiler() if self._renewed < _MOST_RENEWED else None
                goes_on = profiler is not None
                if goes_on:
                    self._stop(self._session)
                    self._session, self._renewed = self._new_session(profiler), self._renewed + 1
            if goes_on:
                self._first = self._timer()
                return
        self.drop()

    def _is_running(self) -> bool:
        """Whether the thread of the step is in TensorFlow's own code, which runs it."""
        frame = sys._current_frames().get(self._thread)
        return frame is not None and frame.f_code.co_name == _RUNS

    def _new_session(self, profiler: Any) -> Any:
        """A session that records."""
        with self._recorder.own_lines:
            session = profiler.ProfilerSession()
            self._began = time.perf_counter()
            session.start(self._folder(), dict(_OPTIONS) if hasattr(profiler, _TAKES_OPTIONS) else {})
        return session

    def _stop(self, session: Any) -> None:
        with self._recorder.own_lines:
            session.stop()

    def drop(self) -> None:
        """End what was begun, and throw it away."""
        with self._lock:
            session = self._taken()
        if session is not None:
            self._stop(session)

    def _taken(self) -> Optional[Any]:
        """The session that records, which is then nobody's."""
        session, first = self._session, self._first
        self._session, self._first, self._eager, self._of_call = None, None, False, False
        self._mark(False)
        if first is not None:
            first.cancel()
        return session

    def _mark(self, wanted: bool) -> None:
        """Whether scopes of eager tensors are put into the record."""
        if self._recorder.scopes is not None:
            self._recorder.scopes.record(_mark_of() if wanted else None)

    def failed(self) -> None:
        """The program failed for memory: the step between tapes that runs ends here."""
        if self._eager:
            self.close(ended_well=False)

    def open(self) -> bool:
        """Begin to record; False where somebody does already, or where nothing can."""
        with self._lock:
            profiler = _profiler()
            if self._session is not None or profiler is None:
                return False
            self._start = time.perf_counter()
            self._standing = living.standing()
            self._session = self._new_session(profiler)
            self._mark(True)
        return True

    def close(self, ended_well: bool = True) -> None:
        """End what was begun, and keep it; it may be of the step that failed for memory."""
        with self._lock:
            of_first, session = self._first is not None, self._taken()
        if session is None:
            return
        stopping = time.perf_counter()
        data = self._exported(session)
        around = self._began - self._start + time.perf_counter() - stopping
        cost = around + (stopping - self._began) / 4
        self._recorder.ended(data, ".xplane.pb", cost, self._standing, failed=of_first, ended_well=ended_well)

    def _folder(self) -> str:
        return os.path.join(self._recorder.bundle.folder, ".window-%d" % os.getpid())

    def _exported(self, session: Any) -> bytes:
        """The record as XSpace: TensorFlow gives it by a folder only, what it hands over itself holds no
        memory.
        """
        try:
            with self._recorder.own_lines:
                session.export_to_tb()
            for folder, _, names in os.walk(self._folder()):
                for name in names:
                    if name.endswith(".xplane.pb"):
                        with open(os.path.join(folder, name), "rb") as file:
                            return file.read(bundle.MAX_TRACE_BYTES + 1)
        finally:
            shutil.rmtree(self._folder(), ignore_errors=True)
        return b""


def _profiler() -> Optional[Any]:
    """TensorFlow's own, unless the program profiles itself."""
    for root in ("tensorflow", "tensorflow_core"):
        own = sys.modules.get(root + ".python.profiler.profiler_v2")
        if own is not None:
            return None if own._profiler is not None else own._pywrap_profiler
    return None


def _mark_of() -> Optional[Any]:
    """The class of TensorFlow's events that a program names itself."""
    own = sys.modules.get("tensorflow.python.profiler.internal._pywrap_traceme")
    return getattr(own, "TraceMe", None)


def functions(module: Any, recorder: Recorder) -> None:
    """The module of `tf.function`."""
    if not hasattr(module, "trace") or not hasattr(module.trace, "Trace"):
        return
    windows = windows_of(recorder)

    class Trace(module.trace.Trace):  # type: ignore[misc]
        """TensorFlow's, and we are told."""

        def __init__(self, name: str, **kwargs: Any) -> None:
            self._tfmemlens = str(name)
            windows.enter(self._tfmemlens)
            super().__init__(name, **kwargs)

        def __exit__(self, kind: Any, error: Any, trace: Any) -> Any:
            try:
                return super().__exit__(kind, error, trace)
            finally:
                windows.leave(self._tfmemlens, error, trace)

    module.trace = Namespace(module.trace, Trace=Trace)


def tapes(module: Any, recorder: Recorder) -> None:
    """The module of `tf.GradientTape`."""
    windows, original = windows_of(recorder), module.GradientTape.__enter__

    def enter(self: Any) -> Any:
        if module.context.executing_eagerly():
            windows.tape()
        return original(self)

    module.GradientTape.__enter__ = stands_for(enter, original)
    recorder.guard(eager_scopes.listen)(module, recorder)


def profilers(module: Any, recorder: Recorder) -> None:
    """The program's own use of the profiler ends ours."""
    windows, original = windows_of(recorder), module.start

    def start(*args: Any, **kwargs: Any) -> Any:
        windows.yield_to()
        return original(*args, **kwargs)

    module.start = stands_for(start, original)


def windows_of(recorder: Recorder) -> RecordedSteps:
    """One for the process."""
    windows = getattr(recorder, "_windows", None)
    if windows is None:
        windows = RecordedSteps(recorder)
        recorder._windows = windows  # type: ignore[attr-defined]
    return windows


PATCHES: Dict[str, Callable[..., Any]] = {
    "eager.def_function": functions,
    "eager.polymorphic_function.polymorphic_function": functions,
    "eager.backprop": tapes,
    "profiler.profiler_v2": profilers,
}
