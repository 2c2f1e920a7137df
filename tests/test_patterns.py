"""Patterns that are compiled late must still be right, and nothing else may compile early."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import re

import pytest

import tfmemlens
from tfmemlens import patterns
from tfmemlens.patterns import regex


def test_a_late_pattern_does_what_a_compiled_one_does() -> None:
    text = "a1, B22, c"
    late, compiled = regex(r"[a-z](\d+)", re.IGNORECASE), re.compile(r"[a-z](\d+)", re.IGNORECASE)
    assert late.findall(text) == compiled.findall(text) == ["1", "22"]
    assert [match[1] for match in late.finditer(text)] == ["1", "22"]
    assert late.sub("-", text) == compiled.sub("-", text)
    assert late.split(text) == compiled.split(text)
    assert late.fullmatch(text) is None is late.match(text, 2)
    assert (late.search(text, 2) or [""])[0] == "B22"
    assert not hasattr(late, "serach")


def test_a_wrong_pattern_is_refused_when_it_is_asked() -> None:
    late = regex("(")
    with pytest.raises(re.error, match="missing \\)"):
        late.search("")


def test_every_pattern_of_the_package_compiles() -> None:
    for module in pkgutil.walk_packages(tfmemlens.__path__, "tfmemlens."):
        if module.name != "tfmemlens.__main__" and not module.name.startswith("tfmemlens.recording."):
            importlib.import_module(module.name)
    made = [each for each in gc.get_objects() if type(each) is patterns.regex]
    assert len(made) > 150
    for each in made:
        each.match("" if isinstance(each.pattern, str) else b"")
