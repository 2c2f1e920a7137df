"""The C library's search and CPython's say the same of a block."""

from __future__ import annotations

import random
import sys

import pytest

from tfmemlens.readers.bytes import literals

WORDS = (b"OOM when allocating tensor ", b"ut of memory", b"x")


@pytest.fixture(params=["C", "CPython"])
def searched(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> literals.Literals:
    if request.param == "CPython":
        monkeypatch.setattr(literals, "_memmem", lambda: None)
    return literals.Literals(*WORDS)


def test_it_is_found_wherever_it_stands(searched: literals.Literals) -> None:
    chance = random.Random(1)
    quiet = bytes(chance.choice(b"OM when allocating tensor ut of memory\n\0\xff") for _ in range(5000))
    for word in WORDS:
        clean = quiet.replace(word, b"")
        assert not searched.stands_in(clean, word)
        for at in (0, 1, 255, 2500, len(clean)):
            assert searched.stands_in(clean[:at] + word + clean[at:], word)
            assert not searched.stands_in(clean[:at] + word[:-1], word) or len(word) == 1
    assert not searched.stands_in(b"", b"x")


def test_one_of_several_is_enough(searched: literals.Literals) -> None:
    assert searched.stand_in(b"... ut of memory")
    assert searched.stand_in(b"x")
    assert not searched.stand_in(b"OOM when allocating, out of memor")
    assert not searched.stand_in(b"")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the GNU C library alone is asked")
def test_an_old_c_library_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(literals, "_FAST_SINCE", (99, 0))
    literals._memmem.cache_clear()
    try:
        assert literals._memmem() is None
    finally:
        literals._memmem.cache_clear()
