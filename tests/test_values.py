"""Our `dataclass` does what the standard one does."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import pytest

from tfmemlens import values

FROZEN: dict[str, Any] = {"frozen": True, "slots": True}


def made(kit: Any, **options: bool) -> Any:
    """The same class by either module's decorator."""

    class Row:
        name: str
        size: int = 3
        parts: list[int] = kit.field(default_factory=list)
        seen_at: str = kit.field(default="", compare=False, repr=False)

    return kit.dataclass(**options)(Row)


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
    ours, theirs = made(values, **options), made(dataclasses, **options)
    for kind in (ours, theirs):
        assert kind("a") == kind("a", 3, []) != kind("a", 4)
        assert kind("a") != ("a", 3, [])
        assert kind("a").parts is not kind("b").parts
        assert hasattr(kind("a"), "__dict__") != options.get("slots", False)
        assert kind("a") == kind("a", seen_at="line 3")
        assert dataclasses.replace(kind("a"), size=4) == kind("a", size=4)
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
            kind()
        with pytest.raises(TypeError, match="unexpected keyword argument 'nmae'"):
            kind(nmae="a")
    assert values.replace(ours("a"), size=4) == ours("a", size=4)
    assert repr(ours("a")) == repr(theirs("a")) and dataclasses.asdict(ours("a")) == dataclasses.asdict(
        theirs("a")
    )
    assert (ours.__hash__ is None) == (theirs.__hash__ is None)


@pytest.mark.parametrize("slots", [False, True])
def test_a_class_takes_the_fields_of_its_base_first(slots: bool) -> None:
    for kit in (values, dataclasses):

        @kit.dataclass(slots=slots)  # type: ignore[misc, untyped-decorator]
        class Base:
            name: str
            size: int = 3

        @kit.dataclass(slots=slots, kw_only=True)  # type: ignore[misc, untyped-decorator]
        class Row(Base):
            kind: str
            size: int = 4

        assert [field.name for field in kit.fields(Row)] == ["name", "size", "kind"]
        row = Row("a", kind="b")
        assert (row.name, row.size, row.kind) == ("a", 4, "b")
        assert hasattr(row, "__dict__") != slots
        with pytest.raises(TypeError, match="positional argument"):
            Row("a", 1, "b")


def test_a_default_that_could_change_is_refused() -> None:
    for kit in (values, dataclasses):
        with pytest.raises(ValueError, match=r"parts.*default_factory"):

            @kit.dataclass  # type: ignore[misc, untyped-decorator]
            class Row:
                parts: list[int] = []  # noqa: RUF012 - what is refused


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


def test_a_value_prints_itself_briefly() -> None:
    assert repr(Kept("a", tuple(range(9)))) == "Kept(name='a', parts=<tuple of 9>)"
    assert repr(Kept("a", (Kept("b"),))) == "Kept(name='a', parts=(Kept(name='b', parts=()),))"
    assert len(repr(Kept("long" * 1000, (Kept("long" * 1000),)))) < 250
