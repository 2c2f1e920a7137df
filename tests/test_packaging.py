"""What an installation contains: a folder without `__init__.py` works from the checkout and is missing once installed."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "tfmemlens"


def test_every_folder_of_the_package_is_installed() -> None:
    folders = {file.parent for file in PACKAGE.rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []
