"""The pictures of README and docs show what the program draws today."""

from __future__ import annotations

import importlib.util
import json
from types import ModuleType

import pytest

from tests.conftest import ROOT


def maker() -> ModuleType:
    """The script that draws them."""
    spec = importlib.util.spec_from_file_location("make_pictures", ROOT / "scripts" / "make_pictures.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["plot.png", "report.png"])
def test_a_picture_was_drawn_from_what_there_is_now(name: str) -> None:
    drawn_from = json.loads((ROOT / "docs" / "pictures.json").read_text(encoding="utf-8"))
    assert maker().digests()[name] == drawn_from[name], (
        f"docs/{name} is out of date: run scripts/make_pictures.py, look at it and commit it"
    )


def test_another_colour_figure_or_word_is_another_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    from tfmemlens.renderers import palette
    from tfmemlens.renderers.html import page

    script = maker()
    before = script.digests()
    monkeypatch.setattr(palette, "OTHER", "#000000")
    assert script.digests()["plot.png"] != before["plot.png"]
    monkeypatch.setattr(page, "style", lambda: "")
    assert script.digests()["report.png"] != before["report.png"]
