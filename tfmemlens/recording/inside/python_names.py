"""What a program itself calls an object that has no name of its own: a variable `w_in`, `weights[2]`,
`model.kernel`.
"""

import itertools
import sys
from typing import Any, Dict, Iterator, List, Tuple

from .living import Clock, may_hold, roots

SECONDS = 0.5
_OF_TENSORFLOW = ("_self_", "_unconditional_")
"""How attributes begin in which TensorFlow itself keeps what a module tracks."""
_MOST_INSIDE, _DEPTH = 1000, 3


def of(wanted: List[Any]) -> Dict[int, str]:
    """Names of these objects by their `id`: a variable's before a place in a container, near ones first."""
    left, names = {id(each) for each in wanted}, {}  # type: Any, Dict[int, str]
    clock = Clock(SECONDS)
    level: List[Tuple[str, Any]] = [
        (name, value) for name, value, _ in roots(getattr(sys, "last_traceback", None)) if name != "self"
    ]
    seen = set()
    for _ in range(_DEPTH):
        inner: List[Tuple[str, Any]] = []
        for name, value in level:
            if clock.is_over() or not left:
                return names
            if id(value) in left:
                names[id(value)] = name
                left.discard(id(value))
            elif id(value) not in seen and may_hold(value):
                seen.add(id(value))
                inner += _inside(name, value)
        level = inner
    return names


def attributes(owner: Any) -> Iterator[Tuple[str, Any]]:
    """What an object's attributes are, and what those that are containers hold."""
    for name, value in list(vars(owner).items()):
        if name.startswith(_OF_TENSORFLOW):
            continue
        yield name, value
        for pair in _elements(name, value):
            yield pair


def _inside(name: str, value: Any) -> List[Tuple[str, Any]]:
    try:
        if isinstance(value, (list, tuple, dict)):
            return list(_elements(name, value))
        return [
            ("%s.%s" % (name, key), each) for key, each in itertools.islice(attributes(value), _MOST_INSIDE)
        ]
    except Exception:  # of somebody else's objects
        return []


def _elements(name: str, value: Any) -> Iterator[Tuple[str, Any]]:
    if isinstance(value, dict):
        for key, each in list(value.items())[:_MOST_INSIDE]:
            if isinstance(key, (str, int)):
                yield "%s[%.40r]" % (name, key), each
    elif isinstance(value, (list, tuple)):
        for at, each in enumerate(list(value)[:_MOST_INSIDE]):
            yield "%s[%d]" % (name, at), each
