"""Modules that load others are left alone while names are looked for."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from tfmemlens.recording.inside import living


def test_a_module_that_loads_others_when_it_is_asked_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `tensorflow.contrib` of 1.15 does: the import would print, and take what is left of the memory."""

    asked = []

    class Lazy(ModuleType):
        def __getattr__(self, name: str) -> Any:
            asked.append(name)
            raise AttributeError(name)

    lazy = Lazy("contrib")
    del lazy.__spec__, lazy.__loader__
    monkeypatch.setitem(sys.modules, "contrib", lazy)
    living.living()
    assert not asked
