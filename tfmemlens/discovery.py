"""Plug-ins by file name: a module in the right folder with the right functions is a reader, a rule, a
renderer or a command.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from types import ModuleType


def plugins(package: ModuleType, *functions: str, only: str | None = None) -> dict[str, ModuleType]:
    """The modules of a package that define all these functions, by slug: `fragmented_free_memory.py` is
    `fragmented-free-memory`.

    With the slug of one of them, that one alone is imported.
    """
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


def folders(package: ModuleType, member_name: str) -> dict[str, ModuleType]:
    """The folders of a package that have a module of this name, by slug."""
    rooms = {}
    for info in pkgutil.iter_modules(package.__path__):
        inside = [str(Path(folder, info.name)) for folder in package.__path__]
        if info.ispkg and member_name in {each.name for each in pkgutil.iter_modules(inside)}:
            rooms[slug(info.name)] = importlib.import_module(f"{package.__name__}.{info.name}")
    return dict(sorted(rooms.items()))


def member(folder: ModuleType, name: str) -> ModuleType:
    """The module of this name in a folder."""
    return importlib.import_module(f"{folder.__name__}.{name}")


def _modules(package: ModuleType) -> list[str]:
    return [
        info.name
        for info in pkgutil.iter_modules(package.__path__)
        if not info.name.startswith("_") and not info.ispkg
    ]


def slug(module_name: str) -> str:
    """The name users see."""
    return module_name.rpartition(".")[2].replace("_", "-")
