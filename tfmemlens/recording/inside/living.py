"""Which tensors Python holds, and by what names: a leak is a list, a dictionary or an attribute that somebody
gave a name. Bounded in time and in number.
"""

import ast
import gc
import os
import sys
import sysconfig
import time
import weakref
from collections import deque
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Set, Tuple

from . import given, host_arrays
from .arrays import behind, is_array_type

KEY = "tfmemlens_living"
SECONDS = 3.0
MAX_OBJECTS = 3_000_000
MAX_GROUPS = 40
MAX_TYPES = 200
"""Of tensors that containers hold: a cache that is keyed by a length holds one type for each."""
MAX_KEYS = 8
MAX_HOLDERS, MAX_SCOPES = 12, 200
_DEPTH = 5
_TENSORS = {"EagerTensor": ("tensorflow",), "ArrayImpl": ("jax", "jaxlib")}
_MAX_SOURCE = 2 << 20


_MOST_BUSY = 5
"""So many times as long may pass on a machine that is busy with something else."""


class Clock:
    """What may still be looked at, in the time that this thread itself runs."""

    def __init__(self, seconds: float) -> None:
        self._time = getattr(time, "thread_time", time.perf_counter)
        self._end, self._left = self._time() + seconds, MAX_OBJECTS
        self._latest = time.perf_counter() + _MOST_BUSY * seconds

    def is_over(self) -> bool:
        """Whether the time or the number is used up; the time is asked for now and then."""
        self._left -= 1
        if self._left % 256 == 0 and (self._time() > self._end or time.perf_counter() > self._latest):
            self._left = 0
        return self._left <= 0


def living(
    trace: Any = None, seconds: float = SECONDS, scopes: Any = None, causes: Iterable[Any] = ()
) -> Dict[str, Any]:
    """The tensors that containers hold, grouped by shape and dtype, the most bytes first, with the names that
    lead to the containers. `trace` is the traceback of a failure, and `causes` are those of the errors that
    it was raised from: their frames' variables are names, too. `scopes` tells in which scope a tensor was
    made that no name leads to.
    """
    clock, held = Clock(seconds), Held(scopes)
    _TREES.clear()
    tape = None  # type: Optional[Place]
    for name, value, place in roots(trace, causes):
        if tape is None and _is_open_tape(value):
            tape = Place(place.file, place.function, place.first_line, name)
        held.add_data_set(name, value, place)
        _walk(name, value, place, held, clock)
    _add_given(trace, held)
    _add_of_calls(trace, causes, held)
    for each in objects(_is_data_set):
        held.add_data_set("", each, _calling(trace))
    tape = tape or (Place("", None, 0) if any(map(_is_open_tape, objects(_is_tape))) else None)
    held.add_hanging()
    attributes = []  # type: List[Any]
    for container in reversed(gc.get_objects()):  # a program's own are younger than the libraries'
        if clock.is_over():
            break
        if type(container) is dict and _LOGITS in container:
            attributes.append(container)
        elif issubclass(type(container), (list, dict, tuple, set, deque)):  # a proxy may have no `__class__`
            _add_all(container, held, tape)
    held.add_hanging()
    for container in attributes:
        _add_all(container, held, tape)
    held.add_waiting()
    return held.told(complete=not clock.is_over())


def objects(wanted: Callable[[type], Any]) -> List[Any]:
    """Live objects of the classes that are wanted: each class is asked once, and nothing of the others, of
    which a program has a million.
    """
    alive = gc.get_objects()
    kinds = {kind for kind in set(map(type, alive)) if wanted(kind)}
    return [each for each in alive if type(each) in kinds] if kinds else []


def standing() -> List[Dict[str, Any]]:
    """All eager tensors of TensorFlow, whoever holds them, by shape, dtype and device, the most bytes first:
    what a step finds in memory beside variables. Quick, and without names.
    """
    rows: Dict[Tuple[Any, ...], List[int]] = {}
    for each in objects(lambda kind: kind.__name__ == "EagerTensor"):
        known = tensor_type(each)
        if known is not None:
            row = rows.setdefault((*known[1:3], _device(each)), [0, 0])
            row[0] += 1
            row[1] += known[3]
    ordered = sorted(rows.items(), key=lambda pair: -pair[1][1])
    return [
        {"shape": list(shape), "dtype": dtype, "device": device, "count": count, "bytes": size}
        for (shape, dtype, device), (count, size) in ordered[:MAX_GROUPS]
    ]


def _device(tensor: Any) -> str:
    """`CPU:0`, empty where it is not told."""
    return str(getattr(tensor, "device", "")).rpartition("device:")[2]


def objects_of(trace: Any) -> List[Any]:
    """The objects in whose methods a failure happened, the innermost first."""
    frames = []
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    return [frame.f_locals["self"] for frame in reversed(frames) if "self" in frame.f_locals]


_LOGITS = "_keras_logits"
"""The attribute in which Keras hangs the input of a sigmoid or softmax on its output, for the loss."""

TAPE = "gradient tape"
"""Who holds what no name leads to, in tuples and lists, while a tape of TensorFlow's is open: the functions
of the backward pass, which are C++.
"""


GIVEN = "array given"
"""Who holds a copy of an array that was given to TensorFlow: the array's name."""


DATA_SET = "data set"
"""Who holds what `from_tensor_slices` was given: the name that leads to the data set, else the line that uses
it.
"""
_MOST_SOURCES = 200


def _is_data_set(kind: type) -> bool:
    return kind.__name__.endswith("Dataset") and (kind.__module__ or "").startswith("tensorflow.python.data")


CALL = "call"
"""Who holds what a library has made for itself, or was given: the line of the program that calls it."""


def _is_tape(kind: type) -> bool:
    return kind.__name__ == "GradientTape" and (kind.__module__ or "").startswith("tensorflow")


def _is_open_tape(value: Any) -> bool:
    """Whether a tape still keeps what it recorded."""
    return _is_tape(type(value)) and getattr(value, "_tape", None) is not None


class Place:
    """Where a name stands: a module or a function, and its source; `variable` is a name that is told nowhere
    else.
    """

    def __init__(
        self, file: str, function: Optional[str], first_line: int, variable: Optional[str] = None
    ) -> None:
        self.file, self.function, self.first_line, self.variable = file, function, first_line, variable
        self.call: Optional[given.GivenTo] = None
        """Of the line that runs, where no name is told."""

    @property
    def tree(self) -> Any:
        """The parsed source, None where there is none."""
        return _tree(self.file)

    def line_of(self, name: str) -> Optional[int]:
        """The line that puts something into what the name means, else the one that makes it."""
        tree = _tree(self.file)
        if tree is None:
            return None
        growing: List[int] = []
        making: List[int] = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr in ("append", "extend", "add", "insert", "appendleft", "setdefault"):
                    if name in _spellings(node.func.value):
                        growing.append(node.lineno)
            elif isinstance(node, ast.FunctionDef) and node.name == name:
                making.append(node.lineno)
            elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    if isinstance(target, ast.Subscript) and name in _spellings(target.value):
                        growing.append(node.lineno)
                    elif name in _spellings(target):
                        (growing if isinstance(node, ast.AugAssign) else making).append(node.lineno)
            elif isinstance(node, ast.With):
                if any(name in _spellings(item.optional_vars) for item in node.items):
                    making.append(node.lineno)
        lines = growing or making
        return min(lines, key=lambda line: (line < self.first_line, line)) if lines else None


def _spellings(node: Any) -> Set[str]:
    """`history`, and of `self.cache` the attribute; of `history["loss"]` that of the dictionary."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.Attribute):
        return {node.attr, "." + node.attr}
    return set()


_TREES: Dict[str, Any] = {}


def _tree(file: str) -> Any:
    """The parsed source of a file, None where there is none to be had."""
    if file not in _TREES:
        _TREES[file] = None
        try:
            if os.path.getsize(file) < _MAX_SOURCE:
                with open(file, "rb") as source:
                    _TREES[file] = ast.parse(source.read())
        except (OSError, SyntaxError, ValueError):
            pass
    return _TREES[file]


class Held:
    """Tensors, each once, under the first name that led to it: shorter names come first."""

    def __init__(self, scopes: Any = None) -> None:
        self._scopes = scopes
        self._seen: Dict[int, Optional[List[Any]]] = {}
        self.visited: Set[int] = set()
        """The containers that were looked into."""
        self.given = given.GivenArrays()
        self._of_data_sets: Dict[int, Tuple[str, Optional[Place]]] = {}
        self.host = host_arrays.HostArrays()
        self._hung: List[Tuple[Any, str, str, Optional[Place]]] = []
        self._waiting: List[Tuple[Any, str, Optional[Place], int]] = []
        """Those without a name, which a tensor with a name or an older one may be a view of."""
        self._addresses: Set[int] = set()
        self._rows: Dict[Tuple[Any, ...], List[Any]] = {}

    def add(self, value: Any, name: str, kind: str, place: Optional[Place]) -> None:
        """Count a tensor, or what is behind an array: all of it, however little of it the array shows. One
        without a name is counted later.
        """
        if id(value) in self._seen:
            return
        tensor, shown = (behind(value), int(value.nbytes)) if is_array_type(type(value)) else (value, 0)
        self._seen[id(value)] = None
        if tensor is not value:
            if id(tensor) in self._seen:
                row = self._seen[id(tensor)]
                if row is not None:
                    row[4] += shown  # another part of it
                return
            self._seen[id(tensor)] = None
        self._hung += [(each, name, kind, place) for each in _hanging(tensor)]
        if name:
            self._count(tensor, name, kind, place, shown)
        else:
            self._waiting.append((tensor, kind, place, shown))

    def add_data_set(self, name: str, value: Any, place: Optional[Place]) -> None:
        """Remember whose the tensors of a data set are, and of those that it reads from, where it is one."""
        waiting = [value] if _is_data_set(type(value)) else []
        while waiting and len(self._of_data_sets) < _MOST_SOURCES:
            each = vars(waiting.pop())
            inner = each.get("_input_datasets") or each.get("_input_dataset")
            waiting += [
                one for one in (inner if isinstance(inner, (list, tuple)) else [inner]) if one is not None
            ]
            for tensor in each.get("_tensors") or ():
                self._of_data_sets.setdefault(id(tensor), (name, place))

    def add_waiting(self) -> None:
        """Count those without a name, the oldest first: a view of another tensor's buffer is none."""
        for tensor, kind, place, shown in sorted(self._waiting, key=lambda each: getattr(each[0], "_id", 0)):
            self._count(tensor, "", kind, place, shown)
        del self._waiting[:]

    def _count(self, tensor: Any, name: str, kind: str, place: Optional[Place], shown: int) -> None:
        known = tensor_type(tensor)
        if known is None:
            return
        framework, shape, dtype, size = known
        address = _address(tensor) if framework == "tensorflow" else None
        if address is not None:
            if not name and address in self._addresses:
                return
            self._addresses.add(address)
        call: Optional[given.GivenTo] = None
        if not name and place is None and size >= given.LEAST_BYTES and framework == "tensorflow":
            name, kind, place, call = self._copied(tensor, shape) or (name, kind, place, call)
            if not name and id(tensor) in self._of_data_sets:
                name, place = self._of_data_sets[id(tensor)]
                kind = DATA_SET
        scoped = self._scopes is not None and not name and framework == "tensorflow"
        scope = self._scopes.of(tensor) if scoped else None
        key = framework, shape, dtype, name, kind, scope
        row = self._rows.setdefault(key, [0, 0, place, set(), 0, call])
        self._seen[id(tensor)] = row
        row[0] += 1
        row[1] += size
        if scope:
            row[3].add(self._scopes.call_of(tensor))
        row[4] += shown or size

    def _copied(
        self, tensor: Any, shape: Tuple[int, ...]
    ) -> Optional[Tuple[str, str, Place, Optional[given.GivenTo]]]:
        """Name, kind, place and call of the array that a tensor without a name is a copy of."""
        source = self.given.source_of(tensor, shape)
        return None if source is None else (source[0], GIVEN, source[1], source[2])

    def add_hanging(self) -> None:
        """Count what hangs on counted tensors as attributes and no name of its own led to: it lives as long
        as they do, so who keeps them keeps it.
        """
        while self._hung:
            self.add(*self._hung.pop())

    def told(self, complete: bool) -> Dict[str, Any]:
        """As a document."""
        groups: Dict[Tuple[Any, ...], Dict[str, Any]] = {}
        for (framework, shape, dtype, name, kind, scope), row in self._rows.items():
            count, size, place, calls, shown, call = row
            group = groups.setdefault(
                (framework, shape, dtype),
                {
                    "framework": framework,
                    "shape": list(shape),
                    "dtype": dtype,
                    "count": 0,
                    "bytes": 0,
                    "held_by": [],
                },
            )
            group["count"] += count
            group["bytes"] += size
            holder = {"name": name or None, "kind": kind, "count": count, "bytes": size}
            if scope:
                holder.update(scope=scope, calls=len(calls))
            if shown < size:
                holder["shown_bytes"] = shown
            call = call or (place.call if place is not None and not name else None)
            made_as = name or (place.variable if place is not None else None)
            if place is not None and (made_as or call is not None):
                line = call.line if call is not None else place.line_of(_last(made_as or ""))
                holder.update(file=place.file, function=place.function, line=line)
            if call is not None:
                holder["call"] = call.name
            group["held_by"].append(holder)
        ordered = sorted(groups.values(), key=lambda group: -group["bytes"])
        for group in ordered:
            ordered_by_bytes = sorted(group["held_by"], key=lambda each: -each["bytes"])
            scoped = [each for each in ordered_by_bytes if "scope" in each][:MAX_SCOPES]
            others = [each for each in ordered_by_bytes if "scope" not in each][:MAX_HOLDERS]
            group["held_by"] = sorted(scoped + others, key=lambda each: -each["bytes"])
        return {
            KEY: 1,
            "complete": complete,
            "count": sum(group["count"] for group in ordered),
            "bytes": sum(group["bytes"] for group in ordered),
            "groups": ordered[:MAX_TYPES],
            "arrays": self.host.told(lambda place, name: place.line_of(_last(name))),
            "resident_bytes": host_arrays.resident_bytes(),
        }


def _last(name: str) -> str:
    """What stands in the source: the last attribute of a path, or its only name."""
    return name.split("[")[0].split("(")[0].rpartition(".")[2]


def tensor_type(tensor: Any) -> Optional[Tuple[str, Tuple[int, ...], str, int]]:
    """Framework, shape, dtype and bytes; None for handles and for what was given away."""
    try:
        if type(tensor).__name__ == "EagerTensor":
            dtype = tensor.dtype
            if dtype.name in ("resource", "variant", "string"):
                return None
            shape, item = tuple(int(size) for size in tensor.shape), int(dtype.size)
            size = item
            for each in shape:
                size *= each
            return "tensorflow", shape, dtype.name, size
        if is_array_type(type(tensor)):
            return "numpy", tuple(int(size) for size in tensor.shape), str(tensor.dtype), int(tensor.nbytes)
        if tensor.is_deleted():
            return None
        return "jax", tuple(tensor.shape), str(tensor.dtype), int(tensor.nbytes)
    except Exception:
        return None


def _address(tensor: Any) -> Optional[int]:
    """Where an eager tensor's bytes lie in host RAM; None on a device, whose memory is left alone, and for a
    number.
    """
    try:
        if _device(tensor).startswith("CPU"):
            return int(tensor._numpy_internal().__array_interface__["data"][0])
    except Exception:
        pass
    return None


def _hanging(tensor: Any) -> List[Any]:
    """The tensors that are attributes of an eager one of TensorFlow's, such as Keras's logits and masks."""
    if type(tensor).__name__ != "EagerTensor":
        return []
    try:
        return [each for each in list(vars(tensor).values()) if _is_tensor(each)]
    except Exception:
        return []


_NEITHER, _TENSOR, _ARRAY = range(3)
_KINDS: Dict[type, int] = {}


def _is_tensor(value: Any) -> bool:
    """Whether it is a tensor, or an array that shows the memory of one."""
    kind = _KINDS.get(type(value))
    if kind is None:
        kind = _KINDS[type(value)] = _kind_of(type(value))
    return kind != _NEITHER and (kind == _TENSOR or _shows_one(value))


def _kind_of(kind: type) -> int:
    roots = _TENSORS.get(kind.__name__)
    if roots and (kind.__module__ or "").split(".")[0].startswith(roots):
        return _TENSOR
    return _ARRAY if is_array_type(kind) else _NEITHER


def _shows_one(array: Any) -> bool:
    tensor = behind(array)
    return tensor is not None and (is_array_type(type(tensor)) or _kind_of(type(tensor)) == _TENSOR)


def roots(trace: Any, causes: Iterable[Any] = ()) -> Iterator[Tuple[str, Any, Place]]:
    """Every name of the user's modules and of the functions that run or failed."""
    for module in list(sys.modules.values()):
        known = getattr(module, "__dict__", {})  # a module may load others where it is asked for more
        file = known.get("__file__")
        if known.get("__name__") == "__main__":
            file = file or _main_file(trace)
        elif not isinstance(file, str) or not is_users(file):
            continue
        for name, value in list(known.items()):
            if not name.startswith("__"):
                yield name, value, Place(file or "", None, 0)
    for frame in _frames([trace, *causes]):
        code = frame.f_code
        if code.co_name == "<module>" or not is_users(code.co_filename):
            continue
        for name, value in list(frame.f_locals.items()):
            yield name, value, Place(code.co_filename, code.co_name, code.co_firstlineno)


def _main_file(trace: Any) -> str:
    """The program's own file: Python forgets it before it ends."""
    if trace is not None and trace.tb_frame.f_code.co_name == "<module>":
        return str(trace.tb_frame.f_code.co_filename)
    return sys.argv[0] if sys.argv else ""


def _frames(traces: Iterable[Any]) -> Iterator[Any]:
    for trace in traces:
        while trace is not None:
            yield trace.tb_frame
            trace = trace.tb_next
    for frame in list(sys._current_frames().values()):
        walked: Optional[Any] = frame
        while walked is not None:
            yield walked
            walked = walked.f_back


_NEVER_HOLD = frozenset(
    (
        "tensorflow tensorflow_core tensorflow_estimator keras jax jaxlib numpy builtins module"
        " _tfmemlens_inside IPython ipykernel traitlets"
    ).split()
)
"""Whose objects are not looked into: a notebook's `exit` leads to all that its cells have named."""
_LIBRARIES = tuple(
    {
        os.path.realpath(sysconfig.get_path(name)) + os.sep
        for name in ("stdlib", "platstdlib", "purelib", "platlib")
    }
)


def is_users(file: Optional[str]) -> bool:
    """Whether a source file is the user's own: no library's, and none of ours."""
    if not file or file.startswith("<"):
        return bool(file) and str(file).startswith(("<ipython", "<stdin", "<string"))
    if "site-packages" in str(file):
        return False  # to follow links takes a while, of thousands of modules
    path = os.path.realpath(file)
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))) + os.sep
    return (
        not path.startswith(_LIBRARIES + (own,))
        and "site-packages" not in path
        and "dist-packages" not in path
    )


def _walk(name: str, value: Any, place: Place, held: Held, clock: Clock) -> None:
    """Everything that a name leads to, near things first."""
    if _is_tensor(value):
        held.add(value, name, "variable", place)
        return
    if _KINDS[type(value)] == _ARRAY:
        held.given.add(value, name, place)
        held.host.add(value, name, "variable", place)
        return
    waiting = deque([(name, value, 0)] if may_hold(value) else [])
    while waiting and not clock.is_over():
        path, container, depth = waiting.popleft()
        if id(container) in held.visited:
            continue
        held.visited.add(id(container))
        for inner, each in _inside(path, container):
            if clock.is_over():
                return
            within = path if inner.startswith(path + "[") else inner
            if _is_tensor(each):
                held.add(each, within, _word(container), place)
            elif _KINDS[type(each)] == _ARRAY:
                held.given.add(each, inner, place)
                held.host.add(each, within, _word(container), place)
            elif depth < _DEPTH and may_hold(each):
                waiting.append((inner, each, depth + 1))


def _add_given(trace: Any, held: Held) -> None:
    """The arrays that calls of a library's are given, which have not ended: by the program's names where they
    have any, else by the parameter's.
    """
    for stack in _stacks(trace):
        for value, name, frame, call in given.calls(stack, is_users):
            if value is None or not is_array_type(type(value)) or _is_tensor(value):
                continue
            code = frame.f_code
            function = None if code.co_name == "<module>" else code.co_name
            held.given.add(value, name, Place(code.co_filename, function, code.co_firstlineno))
            held.given.calls.setdefault(id(value), call)


def _add_of_calls(trace: Any, causes: Iterable[Any], held: Held) -> None:
    """The tensors of no name of the program's that the functions hold which a failure came through."""
    for stack in map(_whole_stack, [trace, *causes]):
        own = max(
            (at for at, (frame, _) in enumerate(stack) if is_users(frame.f_code.co_filename)), default=None
        )
        if own is None or own + 1 == len(stack):
            continue
        frame, line = stack[own]
        code = frame.f_code
        function = None if code.co_name == "<module>" else code.co_name
        place = Place(code.co_filename, function, code.co_firstlineno)
        place.call = given.GivenTo(function or "", line)
        for inner, _ in stack[own + 1 :]:
            for value in list(inner.f_locals.values()):
                parts = value if isinstance(value, (list, tuple)) and len(value) <= MAX_GROUPS else [value]
                for each in parts:
                    if _is_tensor(each):
                        held.add(each, "", CALL, place)


def _calling(trace: Any) -> Optional[Place]:
    """The line of the program in which a failure happened."""
    for frame, line in reversed(_whole_stack(trace)):
        code = frame.f_code
        if is_users(code.co_filename):
            function = None if code.co_name == "<module>" else code.co_name
            place = Place(code.co_filename, function, code.co_firstlineno)
            place.call = given.GivenTo(function or "", line)
            return place
    return None


def _whole_stack(trace: Any) -> List[Tuple[Any, int]]:
    """The frames that led to where an error was raised, those that have ended among them: TensorFlow leaves
    its own out of the traceback that it shows.
    """
    if trace is None:
        return []
    while trace.tb_next is not None:
        trace = trace.tb_next
    stack, frame = [(trace.tb_frame, trace.tb_lineno)], trace.tb_frame.f_back
    while frame is not None:
        stack.append((frame, frame.f_lineno))
        frame = frame.f_back
    return stack[::-1]


def _stacks(trace: Any) -> Iterator[List[Tuple[Any, int]]]:
    """The frames of a failure and of what runs, the outermost first, with their lines."""
    failed = []
    while trace is not None:
        failed.append((trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    yield failed
    for frame in list(sys._current_frames().values()):
        running = []
        walked: Optional[Any] = frame
        while walked is not None:
            running.append((walked, walked.f_lineno))
            walked = walked.f_back
        yield running[::-1]


def _add_all(container: Any, held: Held, tape: Optional[Place]) -> None:
    """What a container without a name holds itself, or the open tape. Asked is the collector: of a tuple that
    is still being made it leaves out what is not there yet, where a loop over it would end the process.
    """
    taped = tape if type(container) in (list, tuple) else None
    for each in gc.get_referents(container):
        if _is_tensor(each):
            held.add(each, "", _word(container) if taped is None else TAPE, taped)


def _inside(path: str, container: Any) -> Iterator[Tuple[str, Any]]:
    """What a container holds with the path to it; places in a list are one."""
    try:
        if isinstance(container, dict):
            items = list(container.items())
            named = len(items) <= MAX_KEYS  # a dictionary of more is a collection: its places are one
            pairs = [(path + (_key(key) if named else "[\u2026]"), value) for key, value in items]
        elif isinstance(container, (list, tuple, set, frozenset, deque)):
            inner = path + "[…]"
            pairs = [(inner, value) for value in gc.get_referents(container)]
        elif type(container).__name__ == _CACHED:
            results = gc.get_referents(container)
            pairs = [(path + "()", value) for value in results if value is not container.__wrapped__]
        elif type(container).__name__ == "function":
            cells = zip(container.__code__.co_freevars, container.__closure__ or ())
            pairs = [(name, cell.cell_contents) for name, cell in cells]
        else:
            pairs = [("%s.%s" % (path, key), value) for key, value in list(vars(container).items())]
    except Exception:
        return
    for pair in pairs:
        yield pair


def _key(key: Any) -> str:
    return "[%r]" % key if isinstance(key, str) and len(key) <= 40 else "[…]"


def _word(container: Any) -> str:
    return type(container).__name__


_PROXIES = (weakref.ProxyType, weakref.CallableProxyType)
_CACHED = "_lru_cache_wrapper"
"""A function under `functools.lru_cache` or `cache`, which the collector leads to the results of."""


def may_hold(value: Any) -> bool:
    """Whether an object is a container, a function with a closure, or of a class of the user's. A proxy holds
    nothing, and raises ReferenceError for whatever is asked of it when its object is gone.
    """
    kind = type(value)
    if kind in _PROXIES:
        return False
    if isinstance(value, (list, dict, tuple, set, frozenset, deque)):
        return bool(value)
    if kind.__name__ == "function":
        return bool(value.__closure__)
    root = (kind.__module__ or "").split(".")[0]
    return root not in _NEVER_HOLD and not isinstance(value, type) and hasattr(value, "__dict__")
