"""What a step is given: the shapes of its inputs, and the batch, as the call of a function or a session has
them. Nothing is kept of them but numbers.
"""

import sys
from typing import Any, Dict, Iterator, List, Optional, Tuple

_GIVEN = ("args", "kwds", "feed_dict")
"""What `tf.function` and `Session.run` call what they are given."""
_MOST = 12
_MOST_FRAMES = 14
_MOST_PARTS = 200


def of_call(depth: int) -> Dict[str, Any]:
    """The inputs of the function whose frame is so many calls above: its `args` and `kwds`, or a session's
    `feed_dict`. Empty where there are none.
    """
    try:
        frame = sys._getframe(depth + 1)
        known = frame.f_locals
        given = _given(known)
        types = [(shape, dtype) for shape, dtype in _types(given) if shape][:_MOST]
        shapes = [shape for shape, _ in types]
        batch = _first_sizes(shapes) or _of_frames(frame)
    except Exception:  # of somebody else's objects, and nothing that a program may fail by
        return {}
    if not shapes and not batch:
        return {}
    told = {"inputs": shapes, "types": [dtype for _, dtype in types], "batch": batch}
    return dict(told, ahead=True) if any(_are_ahead(each) for each in _each(given)) else told


def bytes_of_call(depth: int) -> int:
    """The bytes of the arrays and tensors that the function whose frame is so many calls above is given, 0
    where an iterator gives them, or where that is not known.
    """
    try:
        known = sys._getframe(depth + 1).f_locals
        return sum(_bytes(each) for each in _each(_given(known)))
    except Exception:  # of somebody else's objects, and nothing that a program may fail by
        return 0


class _Fed:
    """An array, or lists of such or of numbers, as what it is fed for takes it."""

    def __init__(self, shape: List[int], dtype: Any) -> None:
        self.shape, self.dtype = shape, dtype


def _given(known: Dict[str, Any]) -> List[Any]:
    """By the names that a frame has for it."""
    given = [known.get(name) for name in _GIVEN]
    feed = given[-1]
    return [*given[:-1], [_fed(*pair) for pair in feed.items()] if isinstance(feed, dict) else feed]


def _fed(key: Any, value: Any) -> Any:
    shape, dtype = shape_of(value), getattr(key, "dtype", None)
    return value if shape is None or dtype is None else _Fed(shape, getattr(dtype, "base_dtype", dtype))


def shape_of(value: Any) -> Optional[List[int]]:
    """The shape of an array, or of the one that is made of lists; None of what is something else."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        return [int(size) for size in tuple(shape)]
    if isinstance(value, (int, float)):
        return []
    if not isinstance(value, (list, tuple)) or not value or hasattr(value, "_fields"):
        return None
    inner = shape_of(value[0])
    return None if inner is None else [len(value), *inner]


def _bytes(each: Any) -> int:
    shape, dtype = getattr(each, "shape", None), getattr(each, "dtype", None)
    if shape is None or hasattr(each, "assign") or getattr(shape, "rank", 0) is None:
        return 0
    size = int(getattr(dtype, "size", 0) or getattr(dtype, "itemsize", 0))
    for dimension in tuple(shape):
        size *= 0 if dimension is None else int(dimension)
    return size


def _are_ahead(each: Any) -> bool:
    """Whether it is an iterator, whose data set makes batches before they are asked for."""
    return hasattr(each, "element_spec") and hasattr(each, "get_next")


def _each(value: Any) -> Iterator[Any]:
    """What is in containers, and what an iterator gives after it."""
    waiting, count = [value], 0
    while waiting and count < _MOST_PARTS:
        each, count = waiting.pop(0), count + 1
        if isinstance(each, dict):
            waiting += list(each.values())
        elif isinstance(each, (list, tuple)):
            waiting += each[:_MOST_PARTS]
        else:
            if hasattr(each, "element_spec"):
                waiting.append(each.element_spec)
            yield each


def _types(value: Any) -> Iterator[Tuple[List[Any], str]]:
    """Shapes and dtypes of tensors and arrays in containers, and of what an iterator gives."""
    for each in _each(value):
        if hasattr(each, "shape") and not hasattr(each, "assign") and not hasattr(each, "element_spec"):
            shape = each.shape
            rank = getattr(shape, "rank", 0)
            if rank is not None:
                dtype = getattr(each, "dtype", None)
                name = getattr(dtype, "name", None) or str(dtype or "")
                yield [None if size is None else int(size) for size in tuple(shape)], name


def _first_sizes(shapes: List[List[Any]]) -> Optional[int]:
    """The first size of all inputs, where it is one."""
    sizes = {shape[0] for shape in shapes}
    return sizes.pop() if len(sizes) == 1 else None


def _of_frames(frame: Any) -> Optional[int]:
    """What Keras's `fit` was told, or its data set."""
    for _ in range(_MOST_FRAMES):
        if frame is None:
            return None
        known = frame.f_locals
        for name in ("data_handler", "epoch_iterator"):
            adapter = known.get(name)
            adapter = getattr(adapter, "_adapter", getattr(adapter, "data_adapter", None))
            size = getattr(adapter, "batch_size", None)
            size = size() if callable(size) else size
            size = size or _of_data_set(getattr(adapter, "_dataset", None))
            if size:
                return int(size)
        frame = frame.f_back
    return None


def _of_data_set(data_set: Any) -> Optional[int]:
    """The batch of a data set, however it goes on after that."""
    for _ in range(20):
        if data_set is None:
            return None
        size = getattr(data_set, "_batch_size", None)
        if size is not None:
            return int(size.numpy())
        data_set = getattr(data_set, "_input_dataset", None)
    return None
