"""What one process records, whichever framework it uses: when a step is traced, and what is gathered at a
failure and at the end.
"""

import os
import sys
import threading
import time
from typing import Any, Dict, List, Mapping, Optional

from . import (
    bundle,
    function_constants,
    keras_models,
    living,
    lookout,
    op_places,
    own_lines,
    programs,
    reserve,
    session_graphs,
)
from .safely import Guard

SHARE = 0.05
"""Where no interval is asked for: tracing may cost this much of the time that passes."""
_LARGER = 2
"""A step with inputs of so many times those of all that were traced is traced at once: the next may fail."""
_SLIGHTLY = 1.5
"""So much more than the step before is no reason to leave the first record of its kind to a later one, which
never comes where each step is given more than the last.
"""
_FAILURES = ("ResourceExhaustedError", "MemoryError", "XlaRuntimeError", "JaxRuntimeError")
_STATISTICS = ("bytes_limit", "bytes_in_use", "peak_bytes_in_use", "largest_free_block_bytes")
_MOST_DEVICES = 64
_MOST_FORESEEN, _APART_SECONDS = 3, 2.0
"""How often variables are described before a first step, and how long apart."""
_LONGEST_WAIT = 5.0
"""Seconds for which a failure waits while owners are being noted."""
_MOST_CAUSES = 8
_MOST_STEPS = 1000
"""Kinds of steps that are counted."""
_WORDS = (
    "OOM when",
    "ut of memory",
    "RESOURCE_EXHAUSTED",
    "esource exhausted",
    "Unable to allocate",
    "bad_alloc",
    "Cannot parse tensor from",  # a constant that found no memory (InvalidArgumentError)
)


class Recorder:
    """Of one process: its bundle, its steps, its failure."""

    def __init__(self, folder: str, environment: Mapping[str, str], every: Optional[int]) -> None:
        self.guard = Guard()
        self.every = every
        self.steps: Dict[str, int] = {}
        self.traced = 0
        self.active = True
        self._root, self._environment = folder, environment
        self.own_lines = own_lines.OwnLines(environment)
        self._bundle: Optional[bundle.Bundle] = None
        self._pid = os.getpid()
        self._started = time.time()
        self._lock = threading.Lock()
        self._next = 0.0
        self.told = False
        """Whether a failure for memory was gathered."""
        self._models_written = 0.0
        self._standing: List[Dict[str, Any]] = []
        self.constants: Optional[Any] = None
        """What tells the constants that sessions keep, where there are sessions."""
        self._constants: List[Dict[str, Any]] = []
        """What it last told: a failure closes the session that a `with` has opened."""
        self._functions = function_constants.FunctionConstants()
        self._places = op_places.OpPlaces()
        self.last_run = session_graphs.LastRun()
        """Of a session, where there are such."""
        self._predictable: Dict[str, Any] = {}
        """What a prediction of the run that failed needs, where no step was traced."""
        self._inputs: Dict[str, Any] = {}
        """Of the step whose record is kept."""
        self._given: Dict[str, Any] = {}
        """Of the step that runs now, where it is traced."""
        self._failed: Dict[str, Any] = {}
        """Of the step that failed."""
        self._fed: List[Dict[str, Any]] = []
        """The arrays that the session's run was given that failed."""
        self._largest: Dict[str, int] = {}
        """The bytes of the inputs of the largest step that was traced, by its kind."""
        self._begun: Dict[str, int] = {}
        """The same of all steps that began, where only such as have run before may be traced."""
        self._kind = ""
        """Of the step that is traced now."""
        self._of_failure = False
        """Whether the record that is kept is of the first step of a kind, which failed."""
        self._until_failure = False
        """Whether the newest record that is kept ends with the failure."""
        self.scopes: Optional[Any] = None
        """Of eager tensors, where TensorFlow tells of them."""
        self._failed_scope: Optional[str] = None
        self._devices: List[Dict[str, Any]] = []
        """What JAX's devices held when the program failed."""
        self._foreseen, self._last_foreseen = 0, 0.0
        self._gathering = threading.RLock()
        self._reserve = reserve.Reserve()
        self.lookout = lookout.Lookout(environment, self.guard(self.waiting))

    def restart(self, folder: str, every: Optional[int]) -> None:
        """The same from the beginning, into another folder."""
        self._root, self._bundle, self.every = folder, None, every
        self.steps, self.traced, self._next, self.told, self._models_written = {}, 0, 0.0, False, 0.0
        self._largest, self._begun, self._standing = {}, {}, []
        self._inputs, self._given, self._failed, self._fed = {}, {}, {}, []
        self.active, self._of_failure, self._until_failure = True, False, False

    @property
    def bundle(self) -> bundle.Bundle:
        """Made when something is to be written; a process that was forked has one of its own."""
        if self._bundle is None or self._pid != os.getpid():
            self._pid = os.getpid()
            self._bundle = bundle.Bundle.of(self._root, self._environment)
        return self._bundle

    def begins(self, what: str, given_bytes: int = 0, only_as_before: bool = False) -> bool:
        """Whether this step is to be traced. The first of a kind builds graphs, so that the second is the
        first that is traced. Steps that are given much more than those before are not waited with.
        `only_as_before`, where tracing one that fails does harm, leaves steps alone that are given more than
        any before, and until one of its kind is traced only those that are given much more.
        """
        if not self.active:
            return False
        self._given = {}
        count = self.counts(what)
        if not count:
            return False
        with self._lock:
            before = self._begun.get(what, 0)
            self._begun[what] = max(before, given_bytes)
        most = before if what in self._largest else _SLIGHTLY * before
        if count < 2 or (only_as_before and given_bytes > most):
            return False
        due = count == 2 or (count % self.every == 0 if self.every else time.time() >= self._next)
        largest = self._largest.get(what, 0)
        due = due or (not self.every and 0 < _LARGER * largest <= given_bytes)
        if due:
            self._kind = what
            self._largest[what] = max(largest, given_bytes)
        return due

    def counts(self, what: str) -> int:
        """How many steps of its kind have begun with this one; 0 of a kind beyond those that are counted."""
        with self._lock:
            count = self.steps.get(what, 0) + 1
            if not self.active or (count == 1 and len(self.steps) > _MOST_STEPS):
                return 0
            self.steps[what] = count
            return count

    def ended(
        self,
        data: bytes,
        suffix: str,
        cost_seconds: float,
        standing: Optional[List[Dict[str, Any]]] = None,
        size: Optional[int] = None,
        failed: bool = False,
        ended_well: bool = True,
    ) -> None:
        """Keep the record of a traced step with the tensors that stood before it, and wait for as long as its
        cost demands. One that `failed` in its first step counts, however seldom its kind has run.
        """
        start = time.perf_counter()
        count = sum(self.steps.values())
        runs = count if failed else self.steps.get(self._kind, 0)
        kind = "" if self._failed else self._kind  # the record of a step that fails early is short
        if data and self.bundle.keep_trace(count, data, suffix, size, runs, kind):
            self.traced += 1
            self._inputs, self._of_failure, self._until_failure = self._given, failed, not ended_well
            if standing is not None:
                self._standing = standing
                self.describe_models()
        self._next = time.time() + (cost_seconds + time.perf_counter() - start) / SHARE

    def given(self, inputs: Dict[str, Any]) -> None:
        """What the step that is traced next is given."""
        self._given = inputs

    def failing(self, inputs: Optional[Dict[str, Any]] = None) -> None:
        """The step that runs now is about to fail, for whatever reason; `inputs` are what it was given, where
        that is known without its being traced.
        """
        self._failed = self._failed or inputs or self._given

    def first_step_done(self) -> None:
        """The model stands now: describe it once, for a process that will be killed cannot."""
        if not self._models_written:
            self.describe_models()
            self.write_record()

    def foresee(self) -> None:
        """A step of a new kind begins: describe what stands, for the process may end by a signal in it."""
        now = time.time()
        if self._foreseen < _MOST_FORESEEN and now >= self._last_foreseen + _APART_SECONDS:
            self._foreseen, self._last_foreseen = self._foreseen + 1, now
            written = self._models_written
            self.describe_models()
            self._models_written = written  # what the first step makes is described after it
            self.write_record()

    def keep_constants(self) -> None:
        """Remember what sessions keep: the first run of one may fail, and its session be closed by then."""
        if self.constants is not None:
            self._constants = self.constants.told() or self._constants

    def describe_models(
        self, models: Optional[List[Any]] = None, trace: Any = None, whole: bool = False
    ) -> None:
        """Write these models, or all that live; `trace` is the traceback of a failure. With `whole`, as Keras
        itself describes the largest, too.
        """
        self._models_written = time.time()
        described = self.guard(keras_models.describe)(models, living.objects_of(trace), whole)
        described = described or {keras_models.KEY: 1, "models": [], "variables": []}
        described.update(self._inputs, tensors=self._standing)
        described.update(self._predictable)
        if self.told:
            described["failed"] = True
        if self._of_failure:
            described["failed_step"] = True
        if self._until_failure:
            described["until_failure"] = True
        if self._failed_scope:
            described["failed_scope"] = self._failed_scope
        if self._failed.get("batch"):
            described["failed_batch"] = self._failed["batch"]
        if self._fed:
            described["fed"] = self._fed
        kept, functions = self.guard(self._functions.told)() or ([], [])
        self.keep_constants()
        kept = self._constants + kept
        if kept or functions:
            described.update(constants=kept, functions=functions)
        places = self.guard(self._places.told)(self.last_run.graph) or []
        if places:
            described["places"] = places
        told: List[Any] = [self._standing, kept, functions, places, self._predictable, self._fed]
        told += [self._of_failure, self._until_failure]
        if described["models"] or any(told):
            self.bundle.write_json(bundle.MODEL, described)

    def waiting(self) -> None:
        """An allocator most likely waits for memory: note who holds it, for the process may end by a signal
        before it can say more. A failure that is told writes all of it anew.
        """
        with self._gathering:
            if self.told or not self.active:
                return
            self._save_graph()
            self.describe_models()
            held = living.living(scopes=self.scopes)
            if held["groups"] or held["arrays"]:
                self.bundle.write_json(bundle.LIVING, held)
        self.write_record()

    def _save_graph(self) -> None:
        """That of the run which fails, unless one of its kind was recorded, which tells more; that may have
        given way to others.
        """
        kept = {kind for _, _, _, kind in self.bundle.traces}
        told = self._predictable
        self._predictable = {}  # of what only seemed to fail before
        if self.last_run.kind not in self._largest or self.last_run.kind not in kept:
            self._predictable = self.guard(self.last_run.saved)(self.bundle) or {}
        elif told:
            self.bundle.remove(session_graphs.NAME)

    def failed(self, error: Any, trace: Any = None) -> None:
        """Gather what explains a failure for memory, once; any other is left alone."""
        if self.told or not self.active or not is_for_memory(error):
            return
        self._reserve.release()
        alone = self._gathering.acquire(timeout=_LONGEST_WAIT)  # of a fork nobody may ever release it
        try:
            self._failed_with(error, trace)
        finally:
            if alone:
                self._gathering.release()

    def _failed_with(self, error: Any, trace: Any) -> None:
        self.told = True
        windows = getattr(self, "_windows", None)
        if windows is not None:
            self.guard(windows.failed)()
        trace_of_it = trace if trace is not None else getattr(error, "__traceback__", None)
        self.guard(self.last_run.failed)(trace_of_it)
        self._fed = self.last_run.fed
        batch = session_graphs.batch_of(self._fed)
        self.failing({"batch": batch} if batch else None)
        self._save_graph()
        if self.scopes is not None:
            self._failed_scope = self.guard(self.scopes.failed)(trace_of_it)
        self.describe_models(trace=trace_of_it, whole=True)
        causes = [each.__traceback__ for each in chain_of(error)[1:]]
        held = living.living(trace_of_it, scopes=self.scopes, causes=causes)
        if held["groups"] or held["arrays"]:
            self.bundle.write_json(bundle.LIVING, held)
        jax = sys.modules.get("jax")
        if jax is not None:
            save_device_memory(jax, os.path.join(self.bundle.folder, "device_memory.prof"))
            self._devices = self.guard(device_memory)(jax) or []
            self.guard(programs.save)(jax, str(error), self.bundle)

    def finish(self) -> None:
        """At the end of the program: its failure, if there was one, and what was recorded."""
        error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
        if error is not None:
            self.guard(self.failed)(error, getattr(sys, "last_traceback", None))
        if self.active and not self.told and bundle.is_dumped(self._environment):
            self.guard(self.describe_models)(
                whole=True
            )  # memory ran out, and a library raised something else
        self.guard(self.write_record)()

    def write_record(self) -> None:
        """What this process was, and what recording it cost."""
        own = self.bundle
        problems = self.guard.problems + ([own.problem] if own.problem else [])
        own.write_json(
            bundle.RECORDER,
            {
                bundle.KEY: 1,
                "pid": os.getpid(),
                "rank": bundle.rank_of(self._environment),
                "versions": bundle.versions(),
                "ended": bundle.clock(),
                "seconds": round(time.time() - self._started, 3),
                "recording_seconds": round(self.guard.seconds, 3),
                "steps": dict(sorted(self.steps.items(), key=lambda pair: -pair[1])[:20]),
                "traced_steps": self.traced,
                "devices": self._devices,
                "problems": problems,
            },
        )


def is_for_memory(error: Any) -> bool:
    """Whether an exception, or one that it was raised from, tells of memory that ran out."""
    for each in chain_of(error):
        name, text = type(each).__name__, ""
        if isinstance(each, MemoryError) or name in _FAILURES:
            return name not in ("XlaRuntimeError", "JaxRuntimeError") or _speaks(str(each))
        try:
            text = str(each)[:20000]
        except Exception:
            text = ""
        if _speaks(text):
            return True
    return False


def chain_of(error: Any) -> List[Any]:
    """An exception, and those that it was raised from."""
    chain: List[Any] = []
    while error is not None and len(chain) < _MOST_CAUSES:
        chain.append(error)
        error = error.__cause__ or error.__context__
    return chain


def _speaks(text: str) -> bool:
    return any(word in text for word in _WORDS)


def _has_backends() -> bool:
    """Whether JAX has begun to look for devices: asking it would make it begin."""
    return "jax._src.xla_bridge" in sys.modules


def save_device_memory(jax: Any, path: str) -> bool:
    """JAX's own profile of its devices' memory, where it has any; whether it was written."""
    if not _has_backends():
        return False
    jax.profiler.save_device_memory_profile(path)
    return True


def device_memory(jax: Any) -> List[Dict[str, Any]]:
    """Each device's own statistics, where it keeps any: of a CPU there are none (jax 0.11)."""
    if not _has_backends():
        return []
    told = []
    for device in jax.local_devices()[:_MOST_DEVICES]:
        stats = device.memory_stats() or {}
        if stats:
            known = {key: int(stats[key]) for key in _STATISTICS if key in stats}
            told.append(dict(known, name=str(device)))
    return told
