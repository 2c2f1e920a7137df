"""What an installation contains: a folder without `__init__.py` works from the checkout and is missing once
installed.
"""

from __future__ import annotations

import configparser
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "tfmemlens"
SETTINGS = configparser.ConfigParser()
SETTINGS.read(PACKAGE.parent / "setup.cfg")
REQUIREMENTS = "\n".join(
    [SETTINGS["options"]["install_requires"], *SETTINGS["options.extras_require"].values()]
)


def test_every_folder_of_the_package_is_installed() -> None:
    folders = {file.parent for file in PACKAGE.rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_every_file_of_the_page_is_installed() -> None:
    patterns = SETTINGS["options.package_data"]
    covered = {
        file
        for package, names in patterns.items()
        if package != "*"
        for name in names.split()
        for file in PACKAGE.parent.glob(f"{package.replace('.', '/')}/{name}")
    }
    covered |= {file for name in patterns["*"].split() for file in PACKAGE.rglob(name)}
    others = {file for file in PACKAGE.rglob("*") if file.is_file() and file.suffix not in (".py", ".pyc")}
    assert others
    assert others - covered == set()


@pytest.mark.parametrize("requirement", sorted(filter(None, REQUIREMENTS.split("\n"))))
def test_every_requirement_has_a_lower_bound(requirement: str) -> None:
    """The oldest version that was tried: without it, pip may take one from ten years ago."""
    assert ">=" in requirement.partition(";")[0]
