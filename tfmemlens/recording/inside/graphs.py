"""TensorFlow 1 and `tf.compat.v1`: the list of live tensors at a failure, and now and then a traced step.

`Session.run` turns its options into bytes before a run and fills in its metadata after it. So what is changed
are the defaults of these two arguments: objects that give the bytes and take the metadata. No function of
ours is on the stack while a graph runs, and a traceback looks as it always does.

From 1.15 to before 2.4 an element-wise op of two inputs that could not allocate its output goes on with a
number that nobody set (BinaryOp::Compute), so that what else the thread did decides whether the process dies.
There no run that is likely to fail is asked for anything: no list of tensors, and only such steps are traced
as have run before, or the first of its kind that is given little more than the last. The same in old versions
for graphs with loops: a failure there reads allocators of a loop's turns that are gone
(StepStatsCollector::ReportAllocsOnResourceExhausted), and the process dies.
"""

import re
import sys
import threading
import time
import weakref
from typing import Any, Callable, Dict, List, Optional, Tuple, cast

from . import inputs, reserve, run_records, session_graphs
from .after_import import stands_for
from .recorder import Recorder

_MAX_NAMES = 40
_CRASHES = (1, 15), (2, 4)
"""From the version that lost the check of BinaryOp's status to one that is known to have it again."""
_LOOPS_ARE_SAFE = (1, 13)
"""The first version that is known to list the tensors of a graph with loops."""
_LOOPS = frozenset(("Enter", "RefEnter"))


class Options:
    """Stands where RunOptions would: TensorFlow asks for its truth and its bytes."""

    def __init__(self, runs: "Runs") -> None:
        self._runs = runs

    def __bool__(self) -> bool:
        return True

    def SerializeToString(self) -> bytes:  # noqa: N802
        """The list of tensors on a failure, and for a step that is due its allocations and graphs."""
        known = sys._getframe(1).f_locals
        fetches, session = known.get("fetches"), known.get("self")
        due = self._runs.begin(fetches, session, inputs.bytes_of_call(1))
        self._runs.last(session, fetches, known.get("feed_dict"), _names(fetches))
        if due or self._runs.is_first:
            self._runs.given(inputs.of_call(1))
        return cast(bytes, self._runs.options(bool(due)).SerializeToString())


class Metadata:
    """Stands where RunMetadata would: wanted only for a step that is due."""

    def __init__(
        self,
        runs: "Runs",
        always: str = "",
        after: Optional[Callable[[], Any]] = None,
        function: Optional[Callable[[], Any]] = None,
    ) -> None:
        self._runs, self._always, self._after, self._function = runs, always, after, function

    def __bool__(self) -> bool:
        if self._always:
            self._runs.begin_callable(self._always, self._function)
            return True  # a callable with a list of tensors but without metadata ends the process
        return self._runs.is_wanted

    def ParseFromString(self, data: bytes) -> None:  # noqa: N802
        """Called after the run with what TensorFlow recorded."""
        self._runs.end(data)
        if self._after is not None:
            self._after()


class TracedOnce:
    """A Keras function that must not ask for a list of tensors, and with it for no record of each run: its
    second run has a callable that traces, the others have those that they would have. There is one at a time,
    for each keeps the constants of its graph.
    """

    def __init__(self, function: Any, traced: Any) -> None:
        self._function, self._traced, self._count = weakref.ref(function), traced, 0

    def ran(self) -> None:
        """After a run: the callable of the next."""
        self._count += 1
        function = self._function()
        if self._count > 2 or function is None or function._callable_fn is None:
            return
        given = zip(function._feed_symbols, function._symbol_vals)
        if self._count == 1 and any(symbol.dtype != value.dtype for symbol, value in given):
            self._count = 2  # each callable would add a cast to the graph
            return
        function.run_options = self._traced if self._count == 1 else None
        function._callable_fn = None


class Runs:
    """The runs of all sessions of a process."""

    def __init__(
        self,
        recorder: Recorder,
        run_options: Any,
        run_metadata: Any = None,
        version: Tuple[int, int] = _CRASHES[1],
    ) -> None:
        self._recorder, self._local, self._version = recorder, threading.local(), version
        self._run_metadata, self._constants = run_metadata, run_records.Constants()
        recorder.constants = self._constants
        self._loops: Dict[int, Tuple[int, bool]] = {}
        """By the graph: its version when it was looked through, and whether it had loops."""
        self._options = {
            (due, lists): run_options(
                report_tensor_allocations_upon_oom=lists,
                trace_level=run_options.SOFTWARE_TRACE if due else run_options.NO_TRACE,
                output_partition_graphs=due,
            )  # all allocations, and no tracer of the device
            for due in (False, True)
            for lists in (False, True)
        }
        self.begin = recorder.guard(self._begin)
        self.begin_callable = recorder.guard(self._begin_callable)
        self.end = recorder.guard(self._end)
        self.given = recorder.guard(recorder.given)
        self.last = recorder.guard(recorder.last_run.begins)

    @property
    def is_due(self) -> bool:
        """Whether the run that this thread is in is traced."""
        return bool(getattr(self._local, "due", False))

    @property
    def is_wanted(self) -> bool:
        """Whether its record is asked for: of a run that is traced, and of the first of its kind, which the
        list of tensors makes TensorFlow write anyway.
        """
        return self.is_due or bool(getattr(self._local, "first", False))

    @property
    def is_first(self) -> bool:
        """Whether this run is the first of its kind."""
        return bool(getattr(self._local, "new", False))

    def options(self, due: bool) -> Any:
        """Of the run that this thread is in."""
        return self._options[due, getattr(self._local, "lists", True)]

    def traced(self, graph: Any) -> Any:
        """The options of a run that is traced."""
        return self._options[True, self.lists(graph)]

    def listed(self, graph: Any) -> Any:
        """The options of one that is not."""
        return self._options[False, self.lists(graph)]

    def lists(self, graph: Any) -> bool:
        """Whether a run of this graph may be asked for anything, though it may fail."""
        if _CRASHES[0] <= self._version < _CRASHES[1]:
            return False
        return self._version >= _LOOPS_ARE_SAFE or not self._has_loops(graph)

    def _has_loops(self, graph: Any) -> bool:
        """Whether it has, or cannot be asked."""
        version, operations = getattr(graph, "version", None), getattr(graph, "get_operations", None)
        if version is None or operations is None:
            return True
        known = self._loops.get(id(graph))
        if known is None or known[0] != version:
            known = version, any(each.type in _LOOPS for each in operations())
            self._loops[id(graph)] = known
        return known[1]

    def _begin(self, fetches: Any, session: Any = None, given_bytes: int = 0, graph: Any = None) -> bool:
        what, local = _names(fetches), self._local
        local.due, local.first, local.start = False, False, time.perf_counter()
        graph = getattr(session, "graph", None) if graph is None else graph
        local.lists, fills = self.lists(graph), session_graphs.fills_a_queue(fetches)
        if fills:  # its records would take the place of the steps'
            due = False
            self._recorder.counts(what)
        else:
            due = self._recorder.begins(what, given_bytes, only_as_before=not local.lists)
        local.due = due and not (_has_little_room() and self._has_loops(graph))
        new = self._recorder.steps.get(what) == 1
        local.new = new and not fills
        first = new and self._constants.wanted
        local.session = weakref.ref(session) if first and session is not None else None
        local.first = first and local.lists
        if first and not local.lists:
            self._constants.take_graph(fetches, local.session)
            self._recorder.keep_constants()
        return bool(local.due)

    def _begin_callable(self, what: str, function: Optional[Callable[[], Any]] = None) -> None:
        """A Keras function; its truth is asked for before the run and after it."""
        if getattr(self._local, "calling", None) == what:
            return
        self._local.calling = what
        known = function() if function is not None else None
        fetches = _fetches_of(known)
        self._begin(what, graph=getattr(fetches[0], "graph", None))
        self.last(fetches[0] if len(fetches) > 1 else None, fetches, None, what)

    def _end(self, data: bytes) -> None:
        local = self._local
        due, local.due, local.calling = self.is_due, False, None
        first, local.first = getattr(local, "first", False), False
        stats = run_records.stats(data, self._run_metadata) if due or first else None
        if first and stats is not None:
            self._constants.take(stats, local.session)
        self._recorder.first_step_done()
        if due:
            seconds = time.perf_counter() - local.start
            size = None if stats is None else run_records.allocated(stats)
            self._recorder.ended(run_records.kept(data), ".pb", seconds / 2, [], size)


def _names(fetches: Any) -> str:
    """What is fetched, as a text that tells kinds of steps apart."""
    if isinstance(fetches, dict):
        fetches = [fetches[key] for key in list(fetches)[:_MAX_NAMES]]
    if isinstance(fetches, (list, tuple)):
        return ",".join(_names(each) for each in fetches[:_MAX_NAMES])
    return str(getattr(fetches, "name", fetches))[:100]


def _runs(recorder: Recorder, module: Any) -> Runs:
    """One for the process. The module knows TensorFlow's RunOptions."""
    runs = getattr(recorder, "_runs", None)
    if runs is None:
        root = module.__name__.split(".")[0]
        config = getattr(module, "config_pb2", None) or sys.modules[root + ".core.protobuf.config_pb2"]
        version = _version(sys.modules.get(root + ".python.framework.versions"))
        runs = Runs(recorder, config.RunOptions, getattr(config, "RunMetadata", None), version)
        recorder._runs = runs  # type: ignore[attr-defined]
    return runs


def _version(versions: Any) -> Tuple[int, int]:
    """Of TensorFlow; the newest that differs where it is not told."""
    told = re.match(r"(\d+)\.(\d+)", str(getattr(versions, "VERSION", "")))
    return _CRASHES[1] if told is None else (int(told.group(1)), int(told.group(2)))


def _has_little_room() -> bool:
    """Whether addresses are limited: the record of thousands of turns may not fit beside the program."""
    return bool(reserve.address_limit())


def _fetches_of(function: Any) -> List[Any]:
    """Of a Keras function: its outputs, and the op that updates."""
    return list(getattr(function, "outputs", None) or ()) + [getattr(function, "updates_op", None)]


def sessions(module: Any, recorder: Recorder) -> None:
    """`tensorflow.python.client.session`."""
    runs = _runs(recorder, module)
    run = module.BaseSession.run
    if run.__defaults__ != (None, None, None) or run.__code__.co_varnames[3:5] != ("options", "run_metadata"):
        raise RuntimeError("another Session.run than is known")
    run.__defaults__ = (None, Options(runs), Metadata(runs))


class Hook:
    """A hook of every monitored session, whose options go into each run."""

    def __init__(self, runs: Runs, arguments: Callable[..., Any]) -> None:
        self._runs, self._arguments = runs, arguments

    def before_run(self, context: Any) -> Any:
        """The options for this run."""
        given, session = context.original_args, getattr(context, "session", None)
        due = self._runs.begin(given.fetches, session)
        self._runs.last(session, given.fetches, getattr(given, "feed_dict", None), _names(given.fetches))
        return self._arguments(None, options=self._runs.options(bool(due)))

    def after_run(self, context: Any, values: Any) -> None:
        """Keep what was recorded."""
        del context
        self._runs.end(values.run_metadata.SerializeToString() if self._runs.is_wanted else b"")


def monitored_sessions(module: Any, recorder: Recorder) -> None:
    """`tensorflow.python.training.monitored_session`: Estimators run through it."""
    runs = _runs(recorder, module)
    original = module._HookedSession.__init__

    def init(self: Any, sess: Any, hooks: Any) -> None:
        original(self, sess, hooks)
        self._hooks = list(hooks or []) + [Hook(runs, module.session_run_hook.SessionRunArgs)]

    module._HookedSession.__init__ = stands_for(init, original)


def keras_functions(module: Any, recorder: Recorder) -> None:
    """Keras on TensorFlow 1: its functions are callables with options of their own."""
    function = getattr(module, "GraphExecutionFunction", None) or getattr(module, "Function", None)
    if function is None:
        return
    runs, original = _runs(recorder, module), function.__init__
    made: List[int] = []

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if all(
            hasattr(self, name) and getattr(self, name) is None for name in ("run_options", "run_metadata")
        ):
            made.append(1)
            what = "%s %d" % (getattr(self, "name", None) or "function", len(made))
            graph = getattr(_fetches_of(self)[0], "graph", None)
            if runs.lists(graph):
                told = Metadata(runs, always=what, function=weakref.ref(self))
                self.run_metadata, self.run_options = told, runs.listed(graph)
            elif hasattr(self, "_symbol_vals"):
                after = recorder.guard(TracedOnce(self, runs.traced(graph)).ran)
                told = Metadata(runs, always=what, after=after, function=weakref.ref(self))
                self.run_metadata = told

    function.__init__ = stands_for(init, original)


PATCHES: Dict[str, Callable[..., Any]] = {
    "client.session": sessions,
    "training.monitored_session": monitored_sessions,
    "keras.backend": keras_functions,
}
