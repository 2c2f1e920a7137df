"""Arrays of the program of which TensorFlow made tensors: what `fit` and `from_tensor_slices` are given whole
is copied, and no name leads to the copy. It is told by its shape and a few of its numbers.
"""

import ast
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

LEAST_BYTES = 512
MAX_ARRAYS = 200
_COMPARED = 16
_TAKES = frozenset(
    "fit evaluate predict train_on_batch test_on_batch predict_on_batch from_tensor_slices from_tensors"
    " constant convert_to_tensor".split()
)
"""The calls that are looked for in the program's source."""


class GivenTo(NamedTuple):
    """What an array was given to."""

    name: str
    line: int


class GivenArrays:
    """The arrays that names of the program lead to, the nearest first, with what is known of each."""

    def __init__(self) -> None:
        self._arrays: Dict[int, Tuple[Any, str, Any]] = {}
        self.calls: Dict[int, GivenTo] = {}
        """Those that a call that has not ended was given."""

    def add(self, array: Any, name: str, place: Any) -> None:
        """One of NumPy's own, where it is large."""
        if len(self._arrays) < MAX_ARRAYS and int(array.nbytes) >= LEAST_BYTES:
            self._arrays.setdefault(id(array), (array, name, place))

    def source_of(self, tensor: Any, shape: Tuple[int, ...]) -> Optional[Tuple[str, Any, Optional[GivenTo]]]:
        """The name, its place and the call of the array that this tensor is a copy of, or its first rows."""
        for array, name, place in self._arrays.values():
            if is_copy(tensor, shape, array):
                call = self.calls.get(id(array))
                return name, place, call or _call_in(_scope(place), name.split("[")[0].rpartition(".")[2])
        return None


def is_copy(tensor: Any, shape: Tuple[int, ...], array: Any) -> bool:
    """Whether a tensor has the numbers of an array's first rows, as far as a few of them tell; where it lies
    on another device than the CPU, whether it has its shape and dtype.
    """
    own = tuple(array.shape)
    if not shape or not own or own[1:] != shape[1:] or not 0 < shape[0] <= own[0]:
        return False
    if "CPU" not in str(getattr(tensor, "device", "")):
        return own == shape and str(array.dtype) == tensor.dtype.name
    try:
        numbers = tensor._numpy()
        last = int(numbers.size) - 1
        places = [last * each // (_COMPARED - 1) for each in range(_COMPARED)]
        return all(_alike(array.flat[each].astype(numbers.dtype), numbers.flat[each]) for each in places)
    except Exception:  # of somebody else's objects, and nothing that a program may fail by
        return False


def _alike(one: Any, other: Any) -> bool:
    return bool(one == other or (one != one and other != other))


def calls(stack: List[Any], is_users: Any) -> Iterator[Tuple[Any, str, Any, GivenTo]]:
    """What the calls that have not ended were given by the program: array, parameter, the program's frame and
    the call. `stack` has the frames, the outermost first, with the line of each.
    """
    for number, (frame, line) in enumerate(stack[:-1]):
        if not is_users(frame.f_code.co_filename) or is_users(stack[number + 1][0].f_code.co_filename):
            continue
        for inner, _ in stack[number + 1 : number + 4]:
            code = inner.f_code
            for name in code.co_varnames[: code.co_argcount]:
                yield inner.f_locals.get(name), name, frame, GivenTo(code.co_name, line)


def _scope(place: Any) -> Any:
    """What of the source a name stands in: its function, else all of it."""
    tree = place.tree
    for node in ast.walk(tree) if tree is not None and place.function else ():
        if isinstance(node, ast.FunctionDef) and node.name == place.function:
            if node.lineno >= place.first_line:
                return node
    return tree


def _call_in(tree: Any, name: str) -> Optional[GivenTo]:
    """The call in the source that takes what has this name."""
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called in _TAKES and name in set(_names(node)):
                return GivenTo(called, node.lineno)
    return None


def _names(call: Any) -> Iterator[str]:
    """What stands for itself in a call, also in tuples and dictionaries."""
    waiting = list(call.args) + [each.value for each in call.keywords]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, (ast.Tuple, ast.List)):
            waiting += node.elts
        elif isinstance(node, ast.Dict):
            waiting += node.values
        elif isinstance(node, (ast.Subscript, ast.Starred)):
            waiting.append(node.value)
