"""Plug-ins by file name: a module in the right folder with the right functions is a reader, a rule, a
renderer or a command.
"""

from __future__ import annotations

import importlib
import os
from functools import lru_cache
from pathlib import Path
from types import ModuleType


def plugins(package: ModuleType, *functions: str, only: str | None = None) -> dict[str, ModuleType]:
    """The modules of a package that define all these functions, by slug: `fragmented_free_memory.py` is
    `fragmented-free-memory`.

    With the slug of one of them, that one alone is imported.
    """
    changed = tuple(Path(folder).stat().st_mtime_ns for folder in package.__path__)
    return dict(_plugins(package, changed, functions, only))


@lru_cache(maxsize=64)
def _plugins(
    package: ModuleType, changed: tuple[int, ...], functions: tuple[str, ...], only: str | None
) -> dict[str, ModuleType]:
    """The same of folders that were changed at these times: a scan of many logs asks for each of them."""
    del changed
    modules = _modules(package)
    wanted = [name for name in modules if slug(name) == only]
    chosen = {}
    for name in wanted or modules:
        module = importlib.import_module(f"{package.__name__}.{name}")
        if all(callable(getattr(module, function, None)) for function in functions):
            chosen[slug(name)] = module
    return dict(sorted(chosen.items()))


def names(package: ModuleType) -> list[str]:
    """The slugs of a folder in which every module without an underscore is a plug-in, or the front door
    `main`.
    """
    return sorted(slug(name) for name in _modules(package) if name != "main")


def documentation(package: ModuleType, name: str) -> str:
    """The docstring that the module of this slug opens with, read from its source: it is not imported."""
    (folder,) = package.__path__
    with open(os.path.join(folder, f"{name.replace('-', '_')}.py"), encoding="utf-8") as source:
        return source.read().split('"""', 2)[1].strip()


def folders(package: ModuleType, member_name: str) -> dict[str, ModuleType]:
    """The folders of a package that have a module of this name, by slug."""
    rooms = {}
    for name in _listed(package):
        if any(os.path.isfile(os.path.join(path, name, f"{member_name}.py")) for path in package.__path__):
            rooms[slug(name)] = importlib.import_module(f"{package.__name__}.{name}")
    return dict(sorted(rooms.items()))


def member(folder: ModuleType, name: str) -> ModuleType:
    """The module of this name in a folder."""
    return importlib.import_module(f"{folder.__name__}.{name}")


def _modules(package: ModuleType) -> list[str]:
    files = [name for name in _listed(package) if name.endswith(".py") and not name.startswith("_")]
    return sorted(name.removesuffix(".py") for name in files)


def _listed(package: ModuleType) -> list[str]:
    """What lies in the folder of a package; `pkgutil` would import `inspect` to say it."""
    return [entry.name for folder in package.__path__ for entry in os.scandir(folder)]


def slug(module_name: str) -> str:
    """The name users see."""
    return module_name.rpartition(".")[2].replace("_", "-")
