"""A dictionary of many entries is one holder, by the name that leads to it."""

from __future__ import annotations

from tfmemlens.recording.inside.living import _inside


def names(container: object) -> set[str]:
    return {name for name, _ in _inside("bank", container)}


def test_few_keys_are_names_and_many_are_one_place() -> None:
    assert names({"loss": 1, "late": 2}) == {"bank['loss']", "bank['late']"}
    assert names({f"night-{number}": number for number in range(8)}) == {
        f"bank['night-{number}']" for number in range(8)
    }
    assert names({f"night-{number}": number for number in range(9)}) == {"bank[…]"}
