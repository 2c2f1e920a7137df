"""Where a program's own code makes the ops of its `tf.function`s, and of a session's graph, that stand in no
scope: the function and the line. A step's record has their names alone, `MatMul_3`.
"""

import itertools
import linecache
import re
import weakref
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

from .function_constants import graphs
from .living import Clock, is_users, objects

MAX_OPS, SECONDS = 5000, 0.5
Place = Tuple[str, str, int]
"""The function, the file and the line."""
_NUMBER = re.compile(r"_\d+\Z")
_GRADIENT = "gradient_tape"
_ADDS = ("AssignAddVariableOp", "AssignVariableOp", "AssignSubVariableOp")
_KERAS, _UPDATES = ("tensorflow", "keras", "tf_keras"), "update_state"


class OpPlaces:
    """Those of a process; a graph is looked at once."""

    def __init__(self) -> None:
        self._known = weakref.WeakKeyDictionary()  # type: Any

    def told(self, of_session: Optional[Any] = None) -> List[Dict[str, Any]]:
        """The places with the names of their ops as rows of a document, a session's graph among the others'.
        Of graphs that have an op of one name the one with the most ops tells.
        """
        clock = Clock(SECONDS)
        places, metrics = [], _metrics()
        for graph in itertools.chain([] if of_session is None else [of_session], graphs()):
            if clock.is_over():
                break
            version, known = self._known.get(graph, (None, None))
            if known is None or version != getattr(graph, "version", None):  # a session's graph may grow
                known = dict(_places(graph, clock))
                known.update(_of_metrics(graph, clock, metrics))
                self._known[graph] = getattr(graph, "version", None), known
            places.append(known)
        rows = {}  # type: Dict[Place, List[str]]
        seen: Set[str] = set()
        for known in sorted(places, key=lambda each: -len(each)):
            for name, place in known.items():
                if name not in seen and len(seen) < MAX_OPS:
                    seen.add(name)
                    rows.setdefault(place, []).append(name)
        return [
            {"function": function, "file": file, "line": line, "ops": ops}
            for (function, file, line), ops in rows.items()
        ]


def _places(graph: Any, clock: Clock) -> Iterator[Tuple[str, Place]]:
    """The ops in no scope; and scopes that a call of one line opened itself, as `tf.random.normal` does."""
    scopes = {}  # type: Dict[str, Optional[Place]]
    told = {}  # type: Dict[str, Place]
    """Of the forward pass, and of gradients so far."""
    gradients = {}  # type: Dict[str, Place]
    for op in graph.get_operations():
        if clock.is_over():
            return
        name = str(op.name)
        root, _, inside = name.partition("/")
        if root == _GRADIENT:
            while inside.startswith(_GRADIENT + "/"):  # of a gradient
                inside = inside[len(_GRADIENT) + 1 :]
            place = _of_inputs(op, told) if "/" not in inside else None
            if place is not None:
                told[name] = gradients["%s/%s" % (_GRADIENT, inside)] = place
        if root == _GRADIENT or scopes.get(root, "") is None:
            continue
        place = _of_program(op)
        if not inside and place is not None:
            told[name] = place
            yield name, place
        elif inside:
            scopes[root] = place if scopes.get(root, place) == place else None
    for root, place in scopes.items():
        if place is not None and _calls(place, root):
            told[root] = place
            yield root, place
    for name, place in gradients.items():
        yield name, place


def _metrics() -> Dict[int, Tuple[str, str]]:
    """The names of Keras's metrics, and their classes', by the handles of their variables."""
    names = {}  # type: Dict[int, Tuple[str, str]]
    for metric in objects(_is_metric):
        for variable in list(getattr(metric, "variables", None) or ()):
            handle = getattr(getattr(variable, "_value", variable), "_handle", None)
            if handle is not None:
                names[id(handle)] = str(getattr(metric, "name", "")), type(metric).__name__
    return names


def _is_metric(kind: type) -> bool:
    return any(
        base.__name__ == "Metric" and (base.__module__ or "").split(".")[0] in _KERAS for base in kind.__mro__
    )


def _of_metrics(graph: Any, clock: Clock, metrics: Dict[int, Tuple[str, str]]) -> Iterator[Tuple[str, Place]]:
    """The ops in no scope of which a metric counts what it adds to its variables, by its name and the line
    of the program that makes it, else the one that trains or evaluates.
    """
    outside, inside = (list(getattr(graph, each, ())) for each in ("external_captures", "internal_captures"))
    owners = {
        str(inner.op.name): metrics[id(outer)]
        for outer, inner in zip(outside, inside)
        if id(outer) in metrics and metrics[id(outer)][0]
    }
    seen = set()  # type: Set[str]
    for op in graph.get_operations() if owners else ():
        inputs = list(getattr(op, "inputs", ()))
        name = owners.get(str(inputs[0].op.name)) if inputs and op.type in _ADDS else None
        waiting = [each.op for each in inputs[1:]] if name else []
        while name is not None and waiting and not clock.is_over():
            each = waiting.pop()
            if str(each.name) in seen or "/" in str(each.name):
                continue
            seen.add(str(each.name))
            place = _updating(each)
            if place is not None:
                yield str(each.name), (name[0], place[0], _making(place[0], *name) or place[1])
                waiting += [one.op for one in list(each.inputs)]


def _making(file: str, name: str, kind: str) -> Optional[int]:
    """The line that makes a metric: which has its name in quotes, or alone calls its class."""
    lines = list(enumerate(linecache.getlines(file), 1))
    named = [number for number, text in lines if "'%s'" % name in text or '"%s"' % name in text]
    calls = [number for number, text in lines if kind + "(" in text and not text.startswith("class ")]
    found = named or (calls if len(calls) == 1 else [])
    return found[0] if found else None


def _updating(op: Any) -> Optional[Tuple[str, int]]:
    """The program's line below which Keras updates a metric by this op; None of any other."""
    told, place = False, None  # type: bool, Optional[Tuple[str, int]]
    for frame in op.traceback:
        file, line, function = _frame(frame)
        if is_users(file):
            place = file.replace("\\", "/"), line
        told = told or (function == _UPDATES and "keras" in file)
    return place if told else None


def _frame(frame: Any) -> Tuple[str, int, str]:
    file, line, function = (
        (frame.filename, frame.lineno, frame.name) if hasattr(frame, "filename") else tuple(frame)[:3]
    )
    return str(file), int(line), str(function)


def _of_inputs(op: Any, told: Dict[str, Place]) -> Optional[Place]:
    """The line whose gradient an op computes that stands in the tape's scope alone, `gradient_tape/mul_5`:
    that of what it reads of the forward pass, else of what made the gradient that it reads.
    """
    names = [str(each.op.name) for each in list(getattr(op, "inputs", ()))]
    names.sort(key=lambda name: name.startswith(_GRADIENT + "/"))
    return next((told[name] for name in names if name in told), None)


def _of_program(op: Any) -> Optional[Place]:
    """The innermost line that is not TensorFlow's own, if that is the program's: of what Keras makes it is
    Keras's.
    """
    for frame in reversed(list(op.traceback)):
        file, line, function = _frame(frame)
        path = file.replace("\\", "/")
        if "/keras/" in path:
            return None
        if not re.search(r"/tensorflow(?:_core)?/", path):
            return (function, path, line) if is_users(file) else None
    return None


def _calls(place: Place, scope: str) -> bool:
    """Whether the line calls what the scope is named after: `tf.random.normal(…)` opens `random_normal`,
    `tf.nn.gelu(…)` `Gelu`.
    """
    name = _NUMBER.sub("", scope)
    words = r"[._]".join(re.escape(word) for word in name.split("_"))
    line = linecache.getline(place[1], place[2])
    return re.search(r"\b%s\s*\(" % words, line, re.IGNORECASE) is not None
