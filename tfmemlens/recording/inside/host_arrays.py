"""Arrays of NumPy's own memory that the program's names lead to: a buffer of samples or a list of results
fills the machine's RAM, not an allocator of TensorFlow's. NumPy is not imported for it.
"""

from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from .arrays import is_array_type
from .reserve import bytes_of_process

LEAST_BYTES = 1024
MAX_GROUPS, MAX_HOLDERS = 60, 12
_DEPTH = 8


class HostArrays:
    """Each array once, under the first name that led to it, or to a part of it."""

    def __init__(self) -> None:
        self._parts: Set[int] = set()
        self._wholes: Dict[int, List[Any]] = {}
        self._rows: Dict[Tuple[Any, ...], List[Any]] = {}

    def add(self, array: Any, name: str, kind: str, place: Any) -> None:
        """An array, or the one that it shows a part of."""
        owner = whole_of(array)
        if owner is None or id(array) in self._parts or int(owner.nbytes) < LEAST_BYTES:
            return
        self._parts.add(id(array))
        row = self._wholes.get(id(owner))
        if row is None:
            key = tuple(int(side) for side in owner.shape), str(owner.dtype), name, kind
            row = self._wholes[id(owner)] = self._rows.setdefault(key, [0, 0, 0, place])
            row[0] += 1
            row[1] += int(owner.nbytes)
        row[2] += int(array.nbytes)

    def told(self, line_of: Callable[[Any, str], Optional[int]]) -> List[Dict[str, Any]]:
        """As rows of a document, the most bytes first."""
        groups: Dict[Tuple[Any, ...], List[Dict[str, Any]]] = {}
        for (shape, dtype, name, kind), (count, size, shown, place) in self._rows.items():
            holder = {"name": name, "kind": kind, "count": count, "bytes": size}
            if shown < size:
                holder["shown_bytes"] = shown
            holder.update(file=place.file, function=place.function)
            groups.setdefault((shape, dtype), []).append(dict(holder, place=place))
        rows = [
            {
                "framework": "numpy",
                "shape": list(shape),
                "dtype": dtype,
                "count": sum(each["count"] for each in held),
                "bytes": sum(each["bytes"] for each in held),
                "held_by": sorted(held, key=lambda each: -each["bytes"])[:MAX_HOLDERS],
            }
            for (shape, dtype), held in groups.items()
        ]
        rows = sorted(rows, key=lambda row: -row["bytes"])[:MAX_GROUPS]
        for row in rows:
            for holder in row["held_by"]:
                holder["line"] = line_of(holder.pop("place"), holder["name"])
        return rows


def whole_of(array: Any) -> Optional[Any]:
    """The array that has the memory; None where a file or something else than NumPy has it."""
    for _ in range(_DEPTH):
        if type(array).__name__ == "memmap":
            return None
        base = array.base
        if base is None:
            return array
        if not is_array_type(type(base)):
            return None
        array = base
    return None


def resident_bytes() -> Optional[int]:
    """The RAM that the process has, where the system says it."""
    return bytes_of_process(1)
