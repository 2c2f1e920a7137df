"""The cycle collector is off only while the work runs."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tfmemlens.garbage import without_gc


@pytest.fixture(autouse=True)
def _collecting() -> Iterator[None]:
    """Whatever a test does, the collector is as before afterwards."""
    was_on = gc.isenabled()
    yield
    (gc.enable if was_on else gc.disable)()


def test_the_collector_is_off_while_the_work_runs_and_on_again_afterwards() -> None:
    gc.enable()
    assert without_gc(gc.isenabled)() is False
    assert gc.isenabled()


def test_it_is_on_again_after_an_error() -> None:
    @without_gc
    def fails() -> None:
        raise KeyError("x")

    gc.enable()
    with pytest.raises(KeyError):
        fails()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    without_gc(int)()
    assert not gc.isenabled()
