"""Our `dataclass` does what the standard one does."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from tfmemlens import values

FROZEN: dict[str, Any] = {"frozen": True, "slots": True}


def made(decorator: Callable[..., Any], **options: bool) -> Any:
    """The same class by either decorator."""

    class Row:
        name: str
        size: int = 3
        parts: list[int] = dataclasses.field(default_factory=list)

    return decorator(**options)(Row)


@values.dataclass(frozen=True, slots=True)
class Kept:
    """A value at module level, so that it can be pickled."""

    name: str
    parts: tuple[int, ...] = ()


@values.dataclass(frozen=True)
class Checked:
    """A value that looks at what it is given."""

    share: float

    def __post_init__(self) -> None:
        if self.share > 1:
            raise ValueError(self.share)


@pytest.mark.parametrize("options", [{}, {"frozen": True}, {"slots": True}, FROZEN], ids=str)
def test_it_prints_compares_and_hashes_as_the_standard_one(options: dict[str, bool]) -> None:
    ours, theirs = made(values.dataclass, **options), made(dataclasses.dataclass, **options)
    for kind in (ours, theirs):
        assert kind("a") == kind("a", 3, []) != kind("a", 4)
        assert kind("a") != ("a", 3, [])
        assert kind("a").parts is not kind("b").parts
        assert hasattr(kind("a"), "__dict__") != options.get("slots", False)
        assert dataclasses.replace(kind("a"), size=4) == kind("a", size=4)
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
            kind()
        with pytest.raises(TypeError, match="unexpected keyword argument 'nmae'"):
            kind(nmae="a")
    assert repr(ours("a")) == repr(theirs("a")) and dataclasses.asdict(ours("a")) == dataclasses.asdict(
        theirs("a")
    )
    assert (ours.__hash__ is None) == (theirs.__hash__ is None)


def test_a_frozen_value_stays_as_it_is() -> None:
    value = Kept("a", (1,))
    with pytest.raises(dataclasses.FrozenInstanceError, match="assign to field 'name'"):
        setattr(value, "name", "b")  # noqa: B010 - a plain assignment is refused by mypy already
    with pytest.raises(dataclasses.FrozenInstanceError, match="delete field 'name'"):
        del value.name
    assert len({value, Kept("a", (1,)), Kept("b")}) == 2
    assert pickle.loads(pickle.dumps(value)) == value


def test_what_is_done_after_init_is_done_each_time() -> None:
    assert Checked(1.0).share == 1.0
    for _ in range(2):
        with pytest.raises(ValueError, match="2"):
            Checked(2.0)
