"""NumPy arrays of which a framework has the memory: what `Session.run` returns is TensorFlow's own tensor in
the dress of an array, and as long as Python can reach the array, or a part of it, TensorFlow's allocator
keeps all of it. NumPy is not imported for it.
"""

from typing import Any, Optional

_RELEASES = "tensorflow_wrapper"
"""The class of what gives the memory of an array back to TensorFlow, in all its releases."""
_DEPTH = 8


def is_array_type(kind: type) -> bool:
    """Whether it is NumPy's class of arrays, or one made of it."""
    return any(each.__name__ == "ndarray" and each.__module__ == "numpy" for each in kind.__mro__)


def behind(value: Any) -> Optional[Any]:
    """What has the memory that an array shows: the array that TensorFlow made of a tensor, whole, or a tensor
    that it was made of; None where NumPy or something else has it.
    """
    for _ in range(_DEPTH):
        base = value.base
        if base is None:
            return None
        if type(base).__name__ == _RELEASES:
            return value
        if isinstance(base, memoryview):
            return base.obj
        if not is_array_type(type(base)):
            return base
        value = base
    return None
