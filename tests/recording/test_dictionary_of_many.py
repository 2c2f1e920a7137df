"""A dictionary of many entries is one holder, by the name that leads to it."""

from __future__ import annotations

import weakref

import pytest

from tests.recording.test_inside import AS_LONG_AS_IT_TAKES, EagerTensor
from tfmemlens.recording.inside import living


@pytest.mark.parametrize(
    "count, names",
    [(2, {"bank['a-0']", "bank['a-1']"}), (8, {f"bank['a-{at}']" for at in range(8)}), (9, {"bank[…]"})],
)
def test_few_keys_are_names_and_many_are_one_place(
    count: int, names: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(living, "MAX_OBJECTS", 10**9)
    bank = {f"a-{at}": (EagerTensor(3, 5, count), at) for at in range(count)}
    group = next(
        each
        for each in living.living(seconds=AS_LONG_AS_IT_TAKES)["groups"]
        if each["shape"] == [3, 5, count]
    )
    assert {holder["name"] for holder in group["held_by"]} == names
    assert bank


def test_proxies_of_what_is_gone_hide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """They raise ReferenceError for whatever is asked of them."""
    monkeypatch.setattr(living, "MAX_OBJECTS", 10**9)

    class Gone:
        pass

    gone = Gone()
    bank = [weakref.proxy(gone), EagerTensor(3, 5, 77)]
    alone = weakref.proxy(gone)
    del gone
    groups = living.living(seconds=AS_LONG_AS_IT_TAKES)["groups"]
    group = next(each for each in groups if each["shape"] == [3, 5, 77])
    assert [each["name"] for each in group["held_by"]] == ["bank"]
    assert len(bank) == 2 and type(alone) is weakref.ProxyType
